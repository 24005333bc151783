/* Names of databases, see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <glib/gstdio.h>

#include "base/error.h"

#define RESULTS "results"
#define NAME_MAX_BYTES 120
#define TRIES_MAX 100000

static gboolean make_results (GError **error) {
  if (g_mkdir_with_parents (RESULTS, 0777) == 0)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_IO,
               "cannot make the folder " RESULTS "/ here: %s; name a database with -o",
               g_strerror (errno));
  return FALSE;
}

/* A file name without surprises: letters, digits, dots, dashes and underscores, not too long. */
static char *plain_name (const char *name) {
  char *plain = g_strndup (name, NAME_MAX_BYTES);

  g_strcanon (plain, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._-", '_');
  return plain;
}

char *ls_output_choose (LsCli *cli, const char *name, guint64 seed, GError **error) {
  const char *given = ls_args_string (cli->args, "output");
  g_autofree char *plain = plain_name (name);

  if (given)
    return ls_cli_may_write (cli, given, error) ? g_strdup (given) : NULL;
  if (!make_results (error))
    return NULL;
  for (guint i = 1; i < TRIES_MAX; i++) {
    g_autofree char *suffix = i > 1 ? g_strdup_printf ("-%u", i) : g_strdup ("");
    g_autofree char *path =
        g_strdup_printf (RESULTS "/%s-%" G_GUINT64_FORMAT "%s.db", plain, seed, suffix);

    if (!g_file_test (path, G_FILE_TEST_EXISTS))
      return g_steal_pointer (&path);
  }
  g_set_error (error, LS_ERROR, LS_ERROR_IO,
               RESULTS "/ is full of databases of this name; name one with -o");
  return NULL;
}

void ls_output_remember (const char *path) {
  g_autofree char *absolute = g_canonicalize_filename (path, NULL);
  g_autofree char *line = g_strconcat (absolute, "\n", NULL);

  if (make_results (NULL))
    g_file_set_contents (RESULTS "/last", line, -1, NULL);
}

char *ls_output_resolve (const char *path, GError **error) {
  g_autofree char *text = NULL;

  if (!g_str_equal (path, "@last"))
    return g_strdup (path);
  if (!g_file_get_contents (RESULTS "/last", &text, NULL, NULL)) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "@last: no run has been made in this folder yet (" RESULTS
                         "/last is not there)");
    return NULL;
  }
  g_strchomp (text);
  if (!g_file_test (text, G_FILE_TEST_IS_REGULAR)) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "@last: the last run's database, %s, is gone",
                 text);
    return NULL;
  }
  return g_steal_pointer (&text);
}
