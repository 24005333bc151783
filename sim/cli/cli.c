/* The frame of every command; see cli.h. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text_faults.h"
#include "config/position.h"

void ls_cli_tell (const LsCli *cli, const char *place, const char *tag, const char *shade,
                  const char *message) {
  g_autofree char *plain = ls_text_plain (message, TRUE);

  if (cli->color)
    fprintf (stderr, "%s: \033[1;%sm%s:\033[0m %s\n", place, shade, tag, plain);
  else
    fprintf (stderr, "%s: %s: %s\n", place, tag, plain);
}

void ls_cli_warn (LsCli *cli, const char *format, ...) {
  va_list list;
  char *text;

  va_start (list, format);
  text = g_strdup_vprintf (format, list);
  va_end (list);
  g_ptr_array_add (cli->warnings, text);
  if (!cli->quiet)
    ls_cli_tell (cli, "lockstep", "warning", "35", text);
}

void ls_cli_warn_at (LsCli *cli, const char *file, int line, int column, const char *message) {
  const LsConfigPosition position = {file ? file : "lockstep", line, column};
  g_autofree char *place = ls_config_position_text (position);

  g_ptr_array_add (cli->warnings, g_strdup_printf ("%s: %s", place, message));
  if (!cli->quiet)
    ls_cli_tell (cli, place, "warning", "35", message);
}

void ls_cli_note (LsCli *cli, const char *format, ...) {
  va_list list;

  if (cli->quiet)
    return;
  va_start (list, format);
  vfprintf (stderr, format, list);
  va_end (list);
  fputc ('\n', stderr);
}

/* The text as a whole or not at all: a full disk leaves what was there before. The reason stands at the
 * end of GLib's message, behind the name of its temporary file. */
static gboolean replace_file (const char *path, const char *text, GError **error) {
  g_autoptr (GError) failure = NULL;
  const char *reason;

  if (g_file_set_contents_full (path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0666, &failure))
    return TRUE;
  reason = strrchr (failure->message, ':');
  g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: cannot write: %s", path,
               reason ? reason + 2 : failure->message);
  return FALSE;
}

/* Onto a stream: standard output, a device, a pipe. `name` is what a message calls it. */
static gboolean print_to (FILE *file, const char *name, const char *text, GError **error) {
  if (file && fputs (text, file) >= 0 && fflush (file) == 0)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: cannot write: %s", name, g_strerror (errno));
  return FALSE;
}

static gboolean print_to_device (const char *path, const char *text, GError **error) {
  FILE *file = fopen (path, "w");
  gboolean good = print_to (file, path, text, error);

  if (file && fclose (file) != 0 && good) {
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: cannot write: %s", path, g_strerror (errno));
    return FALSE;
  }
  return good;
}

gboolean ls_cli_write_file (LsCli *cli, const char *path, const char *text, GError **error) {
  if (!ls_cli_may_write (cli, path, error))
    return FALSE;
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return print_to_device (path, text, error);
  if (!g_file_test (path, G_FILE_TEST_IS_SYMLINK))
    return replace_file (path, text, error);
  /* The link stays, and what it leads to is replaced; one that leads nowhere is filled as it is. */
  char *target = realpath (path, NULL);
  gboolean good = target ? replace_file (target, text, error) : print_to_device (path, text, error);

  free (target);
  return good;
}

gboolean ls_cli_write (LsCli *cli, const char *text, GError **error) {
  const char *path = ls_args_string (cli->args, "output");

  return path ? ls_cli_write_file (cli, path, text, error)
              : print_to (stdout, "standard output", text, error);
}

guint ls_cli_columns (const LsCli *cli) {
  struct winsize size;

  return ls_args_has (cli->args, "output") || ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) != 0
             ? 0
             : size.ws_col;
}

gboolean ls_cli_may_write (LsCli *cli, const char *path, GError **error) {
  if (g_str_equal (path, "-")) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "-o -: a file name is needed; without -o, text goes to standard output");
    return FALSE;
  }
  if (g_file_test (path, G_FILE_TEST_IS_DIR)) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "-o %s: is a folder; name a file in it", path);
    return FALSE;
  }
  if (g_file_test (path, G_FILE_TEST_IS_REGULAR) && !ls_args_has (cli->args, "force")) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "-o %s: exists already; --force overwrites it, or choose another name", path);
    return FALSE;
  }
  return TRUE;
}

gint ls_cli_compare_strings (gconstpointer a, gconstpointer b) {
  return g_strcmp0 (*(const char *const *) a, *(const char *const *) b);
}
