/* The frame that every command runs in: the parsed line, where output goes, how errors and warnings
 * are shown, and the way out.
 *
 * Rules it keeps: documents go to standard output (or the file of -o) in one piece at the end;
 * progress and warnings go to standard error; with --json, standard output holds one JSON document
 * and nothing else, for errors too. Only sim/cli prints.
 * Ownership: an LsCli lives for one command and owns its parts.
 */
#pragma once

#include <glib.h>

#include "cli/command.h"

G_BEGIN_DECLS

struct LsCli {
  const LsCommand *command; /* NULL before it is known */
  LsArgs *args;
  gboolean json;
  gboolean quiet;
  gboolean progress;     /* standard error is a terminal and nobody forbade it */
  gboolean color;        /* of standard error */
  gboolean color_output; /* of standard output */
  GPtrArray *warnings;   /* char *, in the order they came */
};

/* Writes a finished document to standard output, or to the file of -o (which must not exist unless
 * --force), whole or not at all. */
gboolean ls_cli_write (LsCli *cli, const char *text, GError **error);
/* The same to another file than that of -o: a regular file is replaced whole, also behind a link; a
 * device or a pipe is written to. */
gboolean ls_cli_write_file (LsCli *cli, const char *path, const char *text, GError **error);
/* Columns of the terminal that standard output is; 0: text goes elsewhere, and lines stay whole. */
guint ls_cli_columns (const LsCli *cli);
/* Whether -o PATH may be written: not "-", no folder, not there already unless --force. */
gboolean ls_cli_may_write (LsCli *cli, const char *path, GError **error);
/* One line on standard error, "place: tag: message", the tag in this shade of the terminal where it has any. */
void ls_cli_tell (const LsCli *cli, const char *place, const char *tag, const char *shade,
                  const char *message);
/* Shows a warning (unless -q) and keeps it for the JSON document. */
void ls_cli_warn (LsCli *cli, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* The same about a place in a file. */
void ls_cli_warn_at (LsCli *cli, const char *file, int line, int column, const char *message);
/* A remark on standard error, not kept (unless -q). */
void ls_cli_note (LsCli *cli, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* For g_ptr_array_sort() of char *, bytewise. */
gint ls_cli_compare_strings (gconstpointer a, gconstpointer b);

/* Short help (one screen) and full help of a command, or of the program (NULL). (transfer full) */
char *ls_help_text (const LsCommand *command, gboolean full);
/* "usage: lockstep NAME ..." without newline. (transfer full) */
char *ls_help_usage (const LsCommand *command);
/* The man page, mdoc-free plain man macros. (transfer full) */
char *ls_help_man (void);
/* Program and library versions. (transfer full) */
char *ls_help_version (gboolean json);

G_END_DECLS
