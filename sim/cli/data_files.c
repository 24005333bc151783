/* Files that come with the program; see data_files.h. */
#include "cli/data_files.h"

char *ls_data_dir (void) {
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = program ? g_path_get_dirname (program) : NULL;
  g_autofree char *beside = folder ? g_build_filename (folder, LS_DATA_DIR_RELATIVE, NULL) : NULL;
  const char *const places[] = {beside, LS_DATA_DIR_BUILD, LS_DATA_DIR_INSTALL};

  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_autofree char *probe =
        places[i] ? g_build_filename (places[i], "tools", "queries", NULL) : NULL;

    if (probe && g_file_test (probe, G_FILE_TEST_IS_DIR))
      return g_canonicalize_filename (places[i], NULL);
  }
  return NULL;
}

char *ls_data_find_file (const char *path) {
  g_autofree char *folder = NULL;

  if (g_path_is_absolute (path) || g_file_test (path, G_FILE_TEST_EXISTS))
    return g_strdup (path);
  folder = ls_data_dir ();
  if (folder) {
    g_autofree char *shipped = g_build_filename (folder, path, NULL);

    if (g_file_test (shipped, G_FILE_TEST_IS_REGULAR))
      return g_steal_pointer (&shipped);
  }
  return g_strdup (path);
}
