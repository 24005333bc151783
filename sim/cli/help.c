/* Help texts and the man page, all made from the registry of commands and their option tables. */
#include "cli/cli.h"

#include <gsl/gsl_version.h>
#include <string.h>

#include "base/prose.h"
#include "cli/json.h"

#define HELP_WIDTH 80
#define SHORT_OPTIONS_MAX 14

static void append_paragraphs (GString *out, const char *text) {
  g_auto (GStrv) paragraphs = g_strsplit (text, "\n", -1);

  for (guint i = 0; paragraphs[i]; i++)
    ls_prose_append (out, paragraphs[i], HELP_WIDTH, 0, 0);
}

/* "-o, --output FILE", "--help", "-h". */
static char *option_label (const LsOption *option) {
  GString *label = g_string_new (NULL);

  if (option->letter)
    g_string_append_printf (label, "-%c", option->letter);
  if (!g_str_equal (option->name, "short-help"))
    g_string_append_printf (label, "%s--%s", option->letter ? ", " : "", option->name);
  if (option->argument)
    g_string_append_printf (label, " %s", option->argument);
  return g_string_free (label, FALSE);
}

static void append_options (GString *out, const LsOption *table) {
  for (const LsOption *option = table; option && option->name; option++) {
    g_autofree char *label = option_label (option);
    guint width = (guint) strlen (label) + 4;

    g_string_append_printf (out, "  %s", label);
    if (width > 26) {
      g_string_append_printf (out, "\n%26s", "");
    } else {
      g_string_append_printf (out, "%*s", (int) (26 - width + 2), "");
    }
    ls_prose_append (out, option->help, HELP_WIDTH, 26, 26);
  }
}

static void append_examples (GString *out, const LsCommand *command) {
  g_auto (GStrv) lines = g_strsplit (command->examples, "\n", -1);

  g_string_append (out, "\nExamples:\n");
  for (guint i = 0; lines[i] && *lines[i]; i++) {
    g_auto (GStrv) parts = g_strsplit (lines[i], "\t", 2);

    g_string_append_printf (out, "  # %s\n  %s\n", parts[0], parts[1]);
  }
}

char *ls_help_usage (const LsCommand *command) {
  return g_strdup_printf ("usage: lockstep %s %s", command->name, command->usage);
}

static const char exit_statuses[] =
    "Exit status: 0 done; 1 the run failed; 2 bad usage or bad input; 3 valid but does not fit in "
    "memory; 130 interrupted.";

static char *program_help (gboolean full) {
  GString *out = g_string_new ("Lockstep simulates GPU clusters that train neural networks.\n\n"
                               "usage: lockstep COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n");

  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if ((*command)->run) {
      g_string_append_printf (out, "  %-12s", (*command)->name);
      ls_prose_append (out, (*command)->summary, HELP_WIDTH, 14, 14);
    }
  if (full) {
    g_string_append (out, "\nCommands of later versions (they answer \"not yet\"):\n");
    for (const LsCommand *const *command = ls_commands (); *command; command++)
      if (!(*command)->run)
        g_string_append_printf (out, "  %-12s%s\n", (*command)->name, (*command)->summary);
    g_string_append (out, "\nOptions of every command:\n");
    append_options (out, ls_options_common);
    g_string_append (out, "\nOptions of commands that read scenarios:\n");
    append_options (out, ls_options_scenario);
    g_string_append (out, "\nEnvironment:\n  NO_COLOR                no colours when set\n\n");
    ls_prose_append (out, exit_statuses, HELP_WIDTH, 0, 0);
  }
  g_string_append (
      out, "\nExamples:\n"
           "  # simulate a shipped scenario, then ask its trace where the time went\n"
           "  lockstep run topologies/dgx-h100.yaml workloads/llama2-7b-zero3.yaml\n"
           "  lockstep query @last time_breakdown\n"
           "  # a scenario of your own, to edit\n"
           "  lockstep new --gpu h100-sxm-80gb --nodes 8 --model llama3-70b -o mine.yaml\n\n"
           "'lockstep COMMAND -h' explains a command, 'lockstep --help' shows everything.\n");
  return g_string_free (out, FALSE);
}

char *ls_help_text (const LsCommand *command, gboolean full) {
  GString *out;

  if (!command)
    return program_help (full);
  out = g_string_new (NULL);
  g_string_append_printf (out, "lockstep %s: %s\n\nusage: lockstep %s %s\n", command->name,
                          command->summary, command->name, command->usage);
  if (!command->run)
    return g_string_free (
        g_string_append (out, "\nNot yet: this command comes with a later version.\n"), FALSE);
  if (full) {
    g_string_append_c (out, '\n');
    append_paragraphs (out, command->description);
  }
  if (command->options) {
    g_string_append (out, "\nOptions:\n");
    append_options (out, command->options);
  }
  if (full) {
    if (command->takes_scenario) {
      g_string_append (out, "\nScenario options:\n");
      append_options (out, ls_options_scenario);
    }
    g_string_append (out, "\nCommon options:\n");
    append_options (out, ls_options_common);
    g_string_append_c (out, '\n');
    ls_prose_append (out, exit_statuses, HELP_WIDTH, 0, 0);
  } else {
    g_string_append_printf (out, "  (and %s--json, -o FILE, -q; --help shows all)\n",
                            command->takes_scenario ? "--set PATH=VALUE, --unset PATH, --seed N, "
                                                    : "");
  }
  append_examples (out, command);
  return g_string_free (out, FALSE);
}

char *ls_help_version (gboolean as_json) {
  LsJson *json;

  if (!as_json)
    return g_strdup ("lockstep " LS_VERSION "\n");
  json = ls_json_new ();
  ls_json_open_object (json, NULL);
  ls_json_string (json, "lockstep", LS_VERSION);
  ls_json_open_object (json, "libraries");
  {
    g_autofree char *glib =
        g_strdup_printf ("%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);

    ls_json_string (json, "glib", glib);
  }
  ls_json_string (json, "gsl", gsl_version);
  ls_json_close (json);
  ls_json_close (json);
  return ls_json_finish (json);
}
