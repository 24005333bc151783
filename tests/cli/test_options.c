/* Options from tables: order, `--`, pairs, suggestions; and that help, the man page and completion
 * say the same as the tables. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"

static LsArgs *parse (const char *command, const char *line, GError **error) {
  g_auto (GStrv) words = g_strsplit (line, " ", -1);
  const LsOption **tables = g_new0 (const LsOption *, 4);
  LsArgs *args;

  ls_command_tables (ls_command_find (command), tables);
  args = ls_args_parse (tables, (const char *const *) words, error);
  g_free (tables);
  return args;
}

START_TEST (options_stand_anywhere) {
  g_autoptr (LsArgs) args =
      parse ("run", "a.yaml --set x=1 -q b.yaml --unset=y --set z.w=2 -- --set", NULL);
  const GPtrArray *files, *settings;

  ck_assert_ptr_nonnull (args);
  files = ls_args_positional (args);
  settings = ls_args_settings (args);
  ck_assert_uint_eq (files->len, 3);
  ck_assert_str_eq (files->pdata[1], "b.yaml");
  ck_assert_str_eq (files->pdata[2], "--set");
  ck_assert (ls_args_has (args, "quiet"));
  ck_assert (!ls_args_has (args, "json"));
  ck_assert_uint_eq (settings->len, 3);
  ck_assert_str_eq (((LsSetting *) settings->pdata[0])->text, "x=1");
  ck_assert (((LsSetting *) settings->pdata[1])->unset);
  ck_assert_uint_eq (((LsSetting *) settings->pdata[1])->number, 1);
  ck_assert_uint_eq (((LsSetting *) settings->pdata[2])->number, 2);
}
END_TEST

START_TEST (pairs_take_two) {
  g_autoptr (LsArgs) args = parse ("check", "--route a b c.yaml", NULL);
  g_autoptr (GPtrArray) list = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (LsArgs) lone = parse ("check", "--route a", &error);

  ck_assert_ptr_nonnull (args);
  list = ls_args_list (args, "route");
  ck_assert_uint_eq (list->len, 2);
  ck_assert_str_eq (list->pdata[1], "b");
  ck_assert_str_eq (ls_args_positional (args)->pdata[0], "c.yaml");
  ck_assert_ptr_null (lone);
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_USAGE));
}
END_TEST

static const struct {
  const char *command, *line, *says;
} wrong[] = {
    {"run", "--jsno", "did you mean --json"},
    {"run", "--seed x", "whole number"},
    {"run", "--seed -1", "whole number"},
    {"run", "--set", "--set"},
    {"run", "--color blue", "auto always"},
    {"run", "-Z", "unknown option -Z"},
    {"run", "--trace op", "did you mean 'ops'"},
    {"list", "--set a=1", "unknown option"},
    {"run", "--force=no", "--force takes no value"},
    {"query", "--json=3", "takes no value"},
};

START_TEST (wrong_lines) {
  g_autoptr (GError) error = NULL;
  g_autoptr (LsArgs) args = parse (wrong[_i].command, wrong[_i].line, &error);

  ck_assert_ptr_null (args);
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_USAGE));
  ck_assert_msg (strstr (error->message, wrong[_i].says) != NULL, "%s", error->message);
}
END_TEST

/* Every option of every command is in its full help, in the man page and in each completion script;
 * long and short names are unique per command; every command has what help needs. */
START_TEST (tables_help_and_man_agree) {
  g_autofree char *man = ls_help_man ();

  for (const LsCommand *const *command = ls_commands (); *command; command++) {
    g_autofree char *help = ls_help_text (*command, TRUE);
    const LsOption *tables[4];
    char letters[256] = {0};

    ck_assert_ptr_nonnull ((*command)->summary);
    if (!(*command)->run)
      continue;
    ck_assert_ptr_nonnull ((*command)->description);
    ck_assert_ptr_nonnull ((*command)->examples);
    ls_command_tables (*command, tables);
    for (guint t = 0; tables[t]; t++)
      for (const LsOption *option = tables[t]; option->name; option++) {
        g_autofree char *label = g_str_equal (option->name, "short-help")
                                     ? g_strdup ("-h")
                                     : g_strconcat ("--", option->name, NULL);
        g_auto (GStrv) parts = g_strsplit (label, "-", -1);
        g_autofree char *roff = g_strjoinv ("\\-", parts);

        ck_assert_msg (strstr (help, label) != NULL, "%s lacks %s in its help", (*command)->name,
                       label);
        ck_assert_msg (strstr (man, roff) != NULL, "the man page lacks %s", label);
        ck_assert_ptr_eq (ls_option_find (tables, option->name), option);
        ck_assert ((option->kind == LS_OPTION_FLAG) == (option->argument == NULL));
        if (option->letter) {
          ck_assert_msg (!letters[(guchar) option->letter], "%s has -%c twice", (*command)->name,
                         option->letter);
          letters[(guchar) option->letter] = 1;
        }
      }
  }
}
END_TEST

/* Short help fits one screen of 80 x 50. */
START_TEST (short_help_fits_a_screen) {
  for (const LsCommand *const *command = ls_commands (); *command; command++) {
    g_autofree char *help = ls_help_text (*command, FALSE);
    g_auto (GStrv) lines = g_strsplit (help, "\n", -1);

    ck_assert_msg (g_strv_length (lines) <= 50, "%s: %u lines", (*command)->name,
                   g_strv_length (lines));
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("options");
  TCase *all = tcase_create ("all");
  SRunner *runner;
  int failed;

  tcase_add_test (all, options_stand_anywhere);
  tcase_add_test (all, pairs_take_two);
  tcase_add_loop_test (all, wrong_lines, 0, G_N_ELEMENTS (wrong));
  tcase_add_test (all, tables_help_and_man_agree);
  tcase_add_test (all, short_help_fits_a_screen);
  suite_add_tcase (suite, all);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
