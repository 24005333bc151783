/* `lockstep completion SHELL`: completion scripts for bash, zsh and fish, made from the registry.
 *
 * Words that depend on the installation (scenario keys, query names, catalogue names) are not in
 * the script: it asks `lockstep list KIND --names` when they are needed.
 */
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"

/* What follows an option or a command as a bash word list: "compgen" arguments. */
static char *bash_words (const char *values) {
  if (!values || g_str_has_prefix (values, "@file"))
    return g_strdup ("-f");
  if (values[0] == '@')
    return g_strdup_printf ("-W \"$(lockstep list %s --names 2>/dev/null)\"", values + 1);
  return g_strdup_printf ("-W '%s'", values);
}

static void append_bash_command (GString *out, const LsCommand *command) {
  const LsOption *tables[4];
  GString *all = g_string_new (NULL);
  g_autofree char *positional = bash_words (command->positional);

  ls_command_tables (command, tables);
  g_string_append_printf (out, "    %s)\n      case $prev in\n", command->name);
  for (guint t = 0; tables[t]; t++)
    for (const LsOption *option = tables[t]; option->name; option++) {
      g_autofree char *words = bash_words (option->values);

      if (g_str_equal (option->name, "short-help")) {
        g_string_append (all, " -h");
        continue;
      }
      g_string_append_printf (all, " --%s", option->name);
      if (option->kind == LS_OPTION_FLAG)
        continue;
      g_string_append_printf (out, "        --%s", option->name);
      if (option->letter)
        g_string_append_printf (out, " | -%c", option->letter);
      g_string_append_printf (out, ") COMPREPLY=($(compgen %s -- \"$cur\")); return ;;\n", words);
    }
  g_string_append_printf (
      out,
      "      esac\n      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n"
      "      else COMPREPLY=($(compgen %s -- \"$cur\")); fi ;;\n",
      all->str + 1, positional);
  g_string_free (all, TRUE);
}

static char *bash_script (void) {
  GString *out = g_string_new (
      "# bash completion for lockstep; load with: source <(lockstep completion bash)\n"
      "_lockstep() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in -*) ;; *) cmd=${COMP_WORDS[i]}; break ;; esac\n"
      "  done\n  compopt +o nospace 2>/dev/null\n"
      "  case $prev in --set | --unset) compopt -o nospace 2>/dev/null ;; esac\n"
      "  case $cmd in\n    '') COMPREPLY=($(compgen -W '");

  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if ((*command)->run)
      g_string_append_printf (out, "%s ", (*command)->name);
  g_string_append (out, "--help --version' -- \"$cur\")) ;;\n");
  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if ((*command)->run)
      append_bash_command (out, *command);
  g_string_append (out, "  esac\n}\ncomplete -o filenames -F _lockstep lockstep\n");
  return g_string_free (out, FALSE);
}

/* Text inside single quotes of zsh's _arguments or fish: quotes and brackets out of the way. */
static char *plain_help (const char *help) {
  char *text = g_strdup (help);

  return g_strdelimit (text, "'[]:\\`$\"", ' ');
}

static char *zsh_action (const char *values) {
  if (!values || g_str_has_prefix (values, "@file"))
    return g_strdup ("_files");
  if (values[0] == '@')
    return g_strdup_printf ("_lockstep_list %s", values + 1);
  return g_strdup_printf ("(%s)", values);
}

static void append_zsh_option (GString *out, const LsOption *option) {
  g_autofree char *help = plain_help (option->help);
  g_autofree char *action = zsh_action (option->values);
  const char *repeat =
      option->kind == LS_OPTION_LIST || option->kind == LS_OPTION_SETTING ? "*" : "";

  if (g_str_equal (option->name, "short-help")) {
    g_string_append_printf (out, " \\\n        '-h[%s]'", help);
    return;
  }
  if (option->letter)
    g_string_append_printf (out, " \\\n        '-%c[%s]%s%s%s%s'", option->letter, help,
                            option->argument ? ":" : "", option->argument ? option->argument : "",
                            option->argument ? ":" : "", option->argument ? action : "");
  g_string_append_printf (out, " \\\n        '%s--%s[%s]%s%s%s%s'", repeat, option->name, help,
                          option->argument ? ":" : "", option->argument ? option->argument : "",
                          option->argument ? ":" : "", option->argument ? action : "");
}

static char *zsh_script (void) {
  GString *out = g_string_new (
      "#compdef lockstep\n# zsh completion; save as _lockstep in a folder of $fpath\n"
      "_lockstep_list() { compadd -- ${(f)\"$(lockstep list $1 --names 2>/dev/null)\"} }\n"
      "_lockstep() {\n  if (( CURRENT == 2 )); then\n    local -a commands=(");

  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if ((*command)->run) {
      g_autofree char *summary = plain_help ((*command)->summary);

      g_string_append_printf (out, "\n      '%s:%s'", (*command)->name, summary);
    }
  g_string_append (out,
                   ")\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n");
  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if ((*command)->run) {
      const LsOption *tables[4];
      g_autofree char *action = zsh_action ((*command)->positional);

      ls_command_tables (*command, tables);
      g_string_append_printf (out, "    %s)\n      _arguments", (*command)->name);
      for (guint t = 0; tables[t]; t++)
        for (const LsOption *option = tables[t]; option->name; option++)
          append_zsh_option (out, option);
      g_string_append_printf (out, " \\\n        '*:argument:%s' ;;\n", action);
    }
  g_string_append (out, "  esac\n}\n_lockstep \"$@\"\n");
  return g_string_free (out, FALSE);
}

static char *fish_words (const char *values) {
  if (!values || g_str_has_prefix (values, "@file"))
    return g_strdup ("-F");
  if (values[0] == '@')
    return g_strdup_printf ("-a '(lockstep list %s --names 2>/dev/null)'", values + 1);
  return g_strdup_printf ("-a '%s'", values);
}

static void append_fish_command (GString *out, const LsCommand *command) {
  const LsOption *tables[4];
  g_autofree char *positional = fish_words (command->positional);
  g_autofree char *summary = plain_help (command->summary);

  ls_command_tables (command, tables);
  g_string_append_printf (out, "complete -c lockstep -n __fish_use_subcommand -f -a %s -d '%s'\n",
                          command->name, summary);
  g_string_append_printf (out, "complete -c lockstep -n '__fish_seen_subcommand_from %s' %s\n",
                          command->name, positional);
  for (guint t = 0; tables[t]; t++)
    for (const LsOption *option = tables[t]; option->name; option++) {
      g_autofree char *help = plain_help (option->help);
      g_autofree char *words = fish_words (option->values);

      g_string_append_printf (out, "complete -c lockstep -n '__fish_seen_subcommand_from %s'",
                              command->name);
      if (option->letter)
        g_string_append_printf (out, " -s %c", option->letter);
      if (!g_str_equal (option->name, "short-help"))
        g_string_append_printf (out, " -l %s", option->name);
      if (option->kind != LS_OPTION_FLAG)
        g_string_append_printf (out, " -r %s", words);
      g_string_append_printf (out, " -d '%s'\n", help);
    }
}

static char *fish_script (void) {
  GString *out = g_string_new ("# fish completion; load with: lockstep completion fish | source\n");

  for (const LsCommand *const *command = ls_commands (); *command; command++)
    if ((*command)->run)
      append_fish_command (out, *command);
  return g_string_free (out, FALSE);
}

static int run_completion (LsCli *cli, GError **error) {
  static const struct {
    const char *shell;
    char *(*script) (void);
  } shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
  const GPtrArray *words = ls_args_positional (cli->args);

  for (guint i = 0; i < G_N_ELEMENTS (shells) && words->len == 1; i++)
    if (g_str_equal (words->pdata[0], shells[i].shell)) {
      g_autofree char *text = shells[i].script ();

      return ls_cli_write (cli, text, error) ? 0 : 2;
    }
  g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, "name one shell: bash, zsh or fish");
  return 2;
}

const LsCommand ls_command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .summary = "print a shell completion script",
    .description = "Prints a script that completes commands, options, file names, scenario keys "
                   "after --set and the "
                   "names of queries.",
    .examples =
        "for this shell\tsource <(lockstep completion bash)\n"
        "for every fish\tlockstep completion fish > ~/.config/fish/completions/lockstep.fish\n",
    .positional = "bash zsh fish",
    .run = run_completion,
};
