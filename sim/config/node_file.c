/*
 * Scenario files from disk: what can go wrong before a byte is parsed.
 */
#include "config/node.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

#include "base/file.h"

/* What is wrong with the file as such, NULL when it can be read (transfer full). */
static char *file_fault (const char *path) {
  GStatBuf info;

  if (g_stat (path, &info) != 0)
    return g_strdup_printf ("cannot be read: %s", g_strerror (errno));
  if (S_ISDIR (info.st_mode))
    return g_strdup ("is a directory; name the scenario file in it");
  if (info.st_size > LS_CONFIG_FILE_MAX)
    return g_strdup_printf ("is %" G_GINT64_FORMAT " bytes large; a scenario has at most %d",
                            (gint64) info.st_size, LS_CONFIG_FILE_MAX);
  return NULL;
}

LsConfigNode *ls_config_node_read_file (const char *path, GStringChunk *names,
                                        LsConfigErrors *errors) {
  LsConfigPosition whole = {g_string_chunk_insert_const (names, path), 0, 0};
  g_autofree char *fault = file_fault (path);
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize length = 0;

  if (fault == NULL && !ls_file_read (path, LS_CONFIG_FILE_MAX, &text, &length, &error))
    fault = g_strdup (error->message);
  if (fault != NULL) {
    ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, whole, "%s", fault);
    return NULL;
  }
  return ls_config_node_read_text (path, text, length, names, errors);
}
