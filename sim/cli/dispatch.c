/* The way of a command line; see dispatch.h. */
#include "cli/dispatch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/distance.h"
#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/scenario.h"
#include "config/output.h"
#include "config/position.h"

/* Set once the line is parsed; before, --json and -q are looked for by eye, so that a faulty line
 * is reported in the form that was asked for. */
static void apply_common (LsCli *cli, const char *const *argv) {
  const char *color = cli->args ? ls_args_string (cli->args, "color") : NULL;
  gboolean no_color = g_getenv ("NO_COLOR") && *g_getenv ("NO_COLOR");

  if (cli->args) {
    cli->json = ls_args_has (cli->args, "json");
    cli->quiet = ls_args_has (cli->args, "quiet");
  } else {
    cli->json = g_strv_contains (argv, "--json");
    cli->quiet = g_strv_contains (argv, "-q") || g_strv_contains (argv, "--quiet");
  }
  cli->progress = isatty (STDERR_FILENO) && !cli->quiet &&
                  !(cli->args && ls_args_has (cli->args, "no-progress"));
  cli->color = isatty (STDERR_FILENO) && !no_color;
  cli->color_output = isatty (STDOUT_FILENO) && !no_color;
  if (color && !g_str_equal (color, "auto"))
    cli->color = cli->color_output = g_str_equal (color, "always");
}

static void print_stdout (const char *text) {
  fputs (text, stdout);
  fflush (stdout);
}

/* {"error": [...]} with one entry per line of the message that names a place, or one for the whole
 * (transfer full). */
static char *error_json (const GError *error) {
  g_autoptr (LsConfigErrors) faults = ls_config_errors_new ();
  g_autoptr (GRegex) placed = g_regex_new (
      "^(.+?):([0-9]{1,9}):([0-9]{1,9}): (?:(error|warning): )?(.*)$", G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  for (g_regex_match (placed, error->message, 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL)) {
    g_auto (GStrv) part = g_match_info_fetch_all (match);
    const LsConfigPosition at = {part[1], (int) g_ascii_strtoll (part[2], NULL, 10),
                                 (int) g_ascii_strtoll (part[3], NULL, 10)};

    ls_config_errors_add (
        faults, g_str_equal (part[4], "warning") ? LS_CONFIG_FAULT_WARNING : LS_CONFIG_FAULT_ERROR,
        at, "%s", part[5]);
  }
  if (!ls_config_errors_any (faults))
    ls_config_errors_add (faults, LS_CONFIG_FAULT_ERROR, (LsConfigPosition){NULL, 0, 0}, "%s",
                          error->message);
  const char *code = error->domain == LS_ERROR ? ls_error_name ((LsError) error->code) : "io";
  g_autofree char *list = ls_config_errors_json (faults, code, 0);
  return g_strdup_printf ("{\"error\": %s}\n", list);
}

/* Faults of a data file name their place and say "error" themselves, one a line. */
static int show_error (const LsCli *cli, const GError *error) {
  if (g_regex_match_simple ("^[^\n]+?:[0-9]+:[0-9]+: error: ", error->message, 0, 0))
    fprintf (stderr, "%s\n", error->message);
  else
    ls_cli_tell (cli, "lockstep", "error", "31", error->message);
  if (error->domain == LS_ERROR && error->code == LS_ERROR_USAGE && cli->command) {
    g_autofree char *usage = ls_help_usage (cli->command);

    fprintf (stderr, "%s\nTry 'lockstep %s -h'.\n", usage, cli->command->name);
  }
  if (cli->json) {
    g_autofree char *json = error_json (error);

    print_stdout (json);
  }
  return ls_error_exit_status (error);
}

/* Index of the command's name in argv: the first word that is neither an option nor the argument
 * of one; 0 when there is none. */
static int find_command (int argc, char **argv) {
  const LsOption *const tables[] = {ls_options_common, ls_options_scenario, NULL};

  for (int i = 1; i < argc; i++) {
    const LsOption *option;

    if (argv[i][0] != '-')
      return i;
    if (g_str_equal (argv[i], "--"))
      return 0;
    option = g_str_has_prefix (argv[i], "--") ? ls_option_find (tables, argv[i] + 2) : NULL;
    if (g_str_equal (argv[i], "-o") || (option && option->kind != LS_OPTION_FLAG))
      i++;
  }
  return 0;
}

static int run_without_command (LsCli *cli, int argc, char **argv) {
  g_autofree char *text = NULL;

  if (g_strv_contains ((const char *const *) argv, "--version"))
    text = ls_help_version (cli->json);
  else if (argc > 1 && (g_str_equal (argv[1], "--help") || g_str_equal (argv[1], "-h")))
    text = ls_help_text (NULL, g_str_equal (argv[1], "--help"));
  if (text) {
    print_stdout (text);
    return 0;
  }
  if (argc > 1) {
    g_autoptr (GError) error =
        g_error_new (LS_ERROR, LS_ERROR_USAGE, "no command given, only %s", argv[1]);

    return show_error (cli, error);
  }
  text = ls_help_text (NULL, FALSE);
  fputs (text, stderr);
  return 2;
}

static gboolean looks_like_scenario (const char *name) {
  return g_str_has_suffix (name, ".yaml") || g_str_has_suffix (name, ".yml") ||
         g_str_has_suffix (name, ".json") || g_file_test (name, G_FILE_TEST_IS_REGULAR);
}

static void set_unknown_command (const char *name, GError **error) {
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *near;

  if (looks_like_scenario (name)) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "'%s' is a file, not a command; did you mean 'lockstep run %s'?", name, name);
    return;
  }
  for (const LsCommand *const *c = ls_commands (); *c; c++)
    g_ptr_array_add (names, (gpointer) (*c)->name);
  g_ptr_array_add (names, NULL);
  near = ls_nearest (name, (const char *const *) names->pdata);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "unknown command '%s'%s%s%s; 'lockstep help' lists them", name,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* What is no option may be a key of the scenario: --tensor is workload.parallel.tensor. */
static void hint_at_key (const LsCommand *command, GError **error) {
  static const char unknown[] = "unknown option --";
  g_autoptr (LsConfigSchema) schema = NULL;
  g_autofree char *name = NULL, *path = NULL;

  if (!command->takes_scenario || !error || !*error ||
      !g_str_has_prefix ((*error)->message, unknown) || strstr ((*error)->message, "; "))
    return;
  name = g_strdelimit (g_strdup ((*error)->message + strlen (unknown)), "-", '_');
  name[strcspn (name, "=")] = '\0';
  schema = ls_scenario_schema ();
  path = ls_config_find_key (schema, name);
  if (path) {
    g_autofree char *message =
        g_strdup_printf ("%s; a scenario has such a key: --set %s=VALUE", (*error)->message, path);

    g_clear_error (error);
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, message);
  }
}

static int run_command (LsCli *cli, const char *name, const char *const *argv, GError **error) {
  const LsOption *tables[4];

  cli->command = ls_command_find (name);
  if (!cli->command) {
    set_unknown_command (name, error);
    return 2;
  }
  if (!cli->command->run) {
    g_set_error (error, LS_ERROR, LS_ERROR_UNSUPPORTED, "%s: not yet: %s (a later version)", name,
                 cli->command->summary);
    return 2;
  }
  ls_command_tables (cli->command, tables);
  cli->args = ls_args_parse (tables, argv, error);
  if (!cli->args) {
    hint_at_key (cli->command, error);
    return 2;
  }
  apply_common (cli, argv);
  if (ls_args_has (cli->args, "help") || ls_args_has (cli->args, "short-help")) {
    g_autofree char *text = ls_help_text (cli->command, ls_args_has (cli->args, "help"));

    print_stdout (text);
    return 0;
  }
  return cli->command->run (cli, error);
}

/* What a command printed is an answer only if it arrived: a full disk behind standard output fails a run
 * that went well. */
static int check_output (const LsCli *cli, int status) {
  if (fflush (stdout) == 0 && !ferror (stdout))
    return status;
  if (status == 0 || status == 3) {
    ls_cli_tell (cli, "lockstep", "error", "31", "standard output: cannot write");
    status = 1;
  }
  return status;
}

int ls_cli_main (int argc, char **argv) {
  LsCli cli = {0};
  g_autoptr (GPtrArray) rest = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  int at = find_command (argc, argv);
  int status;

  ls_interrupt_install ();
  cli.warnings = g_ptr_array_new_with_free_func (g_free);
  for (int i = 1; i < argc; i++)
    if (i != at)
      g_ptr_array_add (rest, argv[i]);
  g_ptr_array_add (rest, NULL);
  apply_common (&cli, (const char *const *) rest->pdata);
  if (at == 0)
    status = run_without_command (&cli, argc, argv);
  else
    status = run_command (&cli, argv[at], (const char *const *) rest->pdata, &error);
  if (error)
    status = show_error (&cli, error);
  status = check_output (&cli, status);
  ls_args_free (cli.args);
  g_ptr_array_unref (cli.warnings);
  return status;
}
