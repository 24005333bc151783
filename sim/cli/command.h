/* Commands as data: a constant record per command in one registry that dispatch, help, the man page
 * and completion walk.
 *
 * A command's function gets the parsed line in an LsCli and returns the exit status, or sets @error
 * (then the status follows from the error, see base/error.h). Commands of later versions are in the
 * registry with `run` NULL: they are known, and say so.
 */
#pragma once

#include <glib.h>

#include "cli/option.h"

G_BEGIN_DECLS

typedef struct LsCli LsCli;

typedef struct {
  const char *name;
  const char *usage;       /* what follows "lockstep NAME " */
  const char *summary;     /* one line, no final stop */
  const char *description; /* paragraphs for --help and the man page; NULL for later commands */
  const char *examples;    /* up to three lines "what it does\tcommand line\n" */
  /* What completion offers for plain arguments: "@scenario", "@db @query", ... */
  const char *positional;
  const LsOption *options; /* the command's own; may be NULL */
  gboolean takes_scenario; /* adds --set, --unset, --seed */
  int (*run) (LsCli *cli, GError **error);
} LsCommand;

/* All commands, ends with a NULL pointer. */
const LsCommand *const *ls_commands (void);
const LsCommand *ls_command_find (const char *name);
/* The option tables of a command, own ones first: fills @tables (room for 4, NULL-terminated). */
void ls_command_tables (const LsCommand *command, const LsOption *tables[4]);

extern const LsCommand ls_command_run, ls_command_check, ls_command_collective, ls_command_new,
    ls_command_validate, ls_command_query, ls_command_learn, ls_command_list, ls_command_help,
    ls_command_completion, ls_command_explain, ls_command_concepts;

G_END_DECLS
