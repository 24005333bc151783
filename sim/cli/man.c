/* The man page (docs/lockstep.1), made from the same tables as the help. Classic man macros only. */
#include <string.h>

#include "cli/cli.h"

/* Text in roff: backslashes and hyphens escaped, a leading dot or quote made harmless. */
static void append_roff (GString *out, const char *text) {
  if (*text == '.' || *text == '\'')
    g_string_append (out, "\\&");
  for (const char *p = text; *p; p++) {
    if (*p == '\\')
      g_string_append (out, "\\e");
    else if (*p == '-')
      g_string_append (out, "\\-");
    else
      g_string_append_c (out, *p);
  }
}

static void append_man_options (GString *out, const LsOption *table) {
  for (const LsOption *option = table; option && option->name; option++) {
    gboolean letter_only = g_str_equal (option->name, "short-help");

    g_string_append (out, ".TP\n.B ");
    if (option->letter)
      g_string_append_printf (out, "\\-%c%s", option->letter, letter_only ? "" : ", ");
    if (!letter_only) {
      g_string_append (out, "\\-\\-");
      append_roff (out, option->name);
    }
    if (option->argument)
      g_string_append_printf (out, " \\fI%s\\fR", option->argument);
    g_string_append_c (out, '\n');
    append_roff (out, option->help);
    g_string_append (out, ".\n");
  }
}

static void append_man_command (GString *out, const LsCommand *command) {
  g_auto (GStrv) paragraphs = g_strsplit (command->description, "\n", -1);
  g_auto (GStrv) examples = g_strsplit (command->examples, "\n", -1);

  g_string_append (out, ".SS ");
  append_roff (out, command->name);
  g_string_append (out, "\n.B lockstep ");
  append_roff (out, command->name);
  g_string_append_c (out, '\n');
  append_roff (out, command->usage);
  g_string_append (out, "\n");
  for (guint i = 0; paragraphs[i]; i++)
    if (*paragraphs[i]) {
      g_string_append (out, ".PP\n");
      append_roff (out, paragraphs[i]);
      g_string_append_c (out, '\n');
    }
  append_man_options (out, command->options);
  for (guint i = 0; examples[i] && *examples[i]; i++) {
    g_auto (GStrv) parts = g_strsplit (examples[i], "\t", 2);

    g_string_append (out, ".PP\nExample: ");
    append_roff (out, parts[0]);
    g_string_append (out, "\n.PP\n.RS 4\n.nf\n");
    append_roff (out, parts[1]);
    g_string_append (out, "\n.fi\n.RE\n");
  }
}

static const char man_head[] =
    ".\\\" Made by `lockstep help --man`; a test keeps it up to date.\n"
    ".TH LOCKSTEP 1 \"\" \"Lockstep " LS_VERSION "\" \"User Commands\"\n"
    ".SH NAME\nlockstep \\- simulate GPU clusters that train neural networks\n"
    ".SH SYNOPSIS\n.B lockstep\n.I COMMAND\n[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n"
    ".SH DESCRIPTION\nLockstep simulates training steps on a described cluster, event by event, "
    "writes every\n"
    "operation to an SQLite database, and answers questions about it.\nA scenario is one or more "
    "YAML files,\n"
    "layered in the order given.\nOptions may stand anywhere; \\fB\\-\\-\\fR ends them.\n.SH "
    "COMMANDS\n";

static const char man_tail[] =
    ".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nThe run failed.\n.TP\n.B 2\nBad usage or bad "
    "input; nothing was "
    "written.\n.TP\n.B 3\nThe scenario is valid but does not fit in memory; \\fBrun\\fR still "
    "simulates it and writes "
    "the trace.\n.TP\n.B 130\nInterrupted; the database of what was done is readable.\n"
    ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nNo colours when set.\n"
    ".SH FILES\n.TP\n.I results/NAME\\-SEED.db\nDefault place of a trace, under the working "
    "directory.\n"
    ".TP\n.I results/last\nName of the database that \\fB@last\\fR means.\n"
    ".SH SEE ALSO\n.BR sqlite3 (1)\n";

char *ls_help_man (void) {
  GString *out = g_string_new (man_head);

  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if ((*command)->run)
      append_man_command (out, *command);
  g_string_append (out, ".SH OPTIONS OF EVERY COMMAND\n");
  append_man_options (out, ls_options_common);
  g_string_append (out, ".SH OPTIONS OF COMMANDS THAT READ SCENARIOS\n");
  append_man_options (out, ls_options_scenario);
  g_string_append (
      out, ".SH COMMANDS OF LATER VERSIONS\nThese are known and answer \\(lqnot yet\\(rq.\n");
  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if (!(*command)->run) {
      g_string_append (out, ".TP\n.B ");
      append_roff (out, (*command)->name);
      g_string_append_c (out, '\n');
      append_roff (out, (*command)->summary);
      g_string_append (out, ".\n");
    }
  return g_string_free (g_string_append (out, man_tail), FALSE);
}
