/* The registry of commands. Those without a function belong to later versions; they are listed so
 * that using one says "not yet" instead of "unknown". */
#include "cli/command.h"

#include <string.h>

#define LS_LATER_COMMANDS(X)                                              \
  X (sweep, "FILE... [options]", "run a grid of scenarios on all cores")  \
  X (plan, "FILE... [options]", "search for the best parallel layout")    \
  X (compare, "A.db B.db", "compare two runs or studies, with intervals") \
  X (merge, "DB... -o DB", "join the shards of a study")                  \
  X (show, "DB", "draw a timeline as text")                               \
  X (report, "DB...", "write a self-contained HTML report")               \
  X (view, "DB", "look at a trace in the browser")                        \
  X (export, "DB --to FORMAT", "write a trace in other tools' formats")   \
  X (import, "FILE...", "read other tools' files as scenarios")           \
  X (calibrate, "--from FILE...", "fit device constants to measurements")

#define LATER_RECORD(id, words, what) \
  static const LsCommand later_##id = {.name = #id, .usage = words, .summary = what};
LS_LATER_COMMANDS (LATER_RECORD)
#undef LATER_RECORD

static const LsCommand *const commands[] = {
    &ls_command_run,
    &ls_command_check,
    &ls_command_collective,
    &ls_command_new,
    &ls_command_validate,
    &ls_command_query,
    &ls_command_explain,
    &ls_command_concepts,
    &ls_command_learn,
    &ls_command_list,
    &ls_command_help,
    &ls_command_completion,
#define LATER_ROW(id, words, what) &later_##id,
    LS_LATER_COMMANDS (LATER_ROW)
#undef LATER_ROW
        NULL,
};

const LsCommand *const *ls_commands (void) {
  return commands;
}

const LsCommand *ls_command_find (const char *name) {
  for (const LsCommand *const *command = commands; *command; command++)
    if (g_str_equal ((*command)->name, name))
      return *command;
  return NULL;
}

void ls_command_tables (const LsCommand *command, const LsOption *tables[4]) {
  guint n = 0;

  if (command->options)
    tables[n++] = command->options;
  if (command->takes_scenario)
    tables[n++] = ls_options_scenario;
  tables[n++] = ls_options_common;
  tables[n] = NULL;
}
