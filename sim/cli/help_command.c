/* `lockstep help`: the texts of help.c and man.c, and the documentation of scenario keys. */
#include "base/error.h"
#include "cli/cli.h"
#include "cli/scenario.h"
#include "config/output.h"

static const LsOption options[] = {
    {"man", 0, LS_OPTION_FLAG, NULL, "print the man page (docs/lockstep.1)", NULL},
    {"scenario", 0, LS_OPTION_FLAG, NULL,
     "print the reference of all scenario keys (docs/scenario.md)", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

/* Of a word that is no command: the key of scenarios that it may mean (transfer full). */
static char *hint_of (const char *word) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *key = ls_config_find_key (schema, word);

  return key != NULL ? g_strdup_printf ("; of a key: 'lockstep check --explain %s'", key)
                     : g_strdup ("");
}

static int run_help (LsCli *cli, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);
  const LsCommand *command = NULL;
  g_autofree char *text = NULL;

  if (words->len > 0) {
    command = ls_command_find (words->pdata[0]);
    if (!command || words->len > 1) {
      const char *word = words->pdata[words->len - 1];
      g_autofree char *hint = hint_of (word);

      g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "no command '%s'; 'lockstep help' lists them%s",
                   word, hint);
      return 2;
    }
  }
  if (ls_args_has (cli->args, "man"))
    text = ls_help_man ();
  else if (ls_args_has (cli->args, "scenario"))
    text = ls_scenario_reference ();
  else
    text = ls_help_text (command, TRUE);
  return ls_cli_write (cli, text, error) ? 0 : 2;
}

const LsCommand ls_command_help = {
    .name = "help",
    .usage = "[COMMAND] [--man | --scenario]",
    .summary = "explain the program or a command",
    .description =
        "Without a word, lists commands and common options. With --man or --scenario, prints the "
        "man page or "
        "the reference of scenario keys, from which docs/lockstep.1 and docs/scenario.md are made.",
    .examples = "everything about one command\tlockstep help run\n"
                "every key of a scenario file\tlockstep help --scenario\n",
    .positional = "run check collective new validate query explain concepts learn list help "
                  "completion",
    .options = options,
    .run = run_help,
};
