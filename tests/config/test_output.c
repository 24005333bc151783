/* Resolved YAML and JSON, explanations, differences, completion, documents. */
#include "base/error.h"
#include "base/random.h"
#include "config/fixture.h"
#include "config/output.h"
#include "config/path.h"
#include "suite.h"

#include <math.h>

/* Texts that YAML 1.1 readers take for booleans, numbers, dates, sexagesimals or nothing. */
static const char *const tricky[] = {
    "yes",  "no",    "on",   "off",   "y",        "N",         "true",       "null",        "~",
    "1e5",  "15e12", "0x1f", "010",   "12:30:45", "1_000",     "2026-12-01", ".inf",        "-",
    "a: b", "a #b",  "'q'",  "\"q\"", "[x]",      "{x}",       "*x",         "&x",          "!x",
    "%x",   "@x",    "`x",   " x",    "x ",       "line\ntwo", "tab\t",      "caf\xc3\xa9", "50 %",
    "0.5",  "-1",    "=",    "<<",    "|",        ">",         "? x",        "main[0-7]"};

/* Whatever is in quotes comes back as the same text, never as something else, and a second
 * writing is the same as the first. */
START_TEST (tricky_texts_survive) {
  g_autoptr (GString) text = g_string_new (FIXTURE_CLUSTER FIXTURE_WORKLOAD "title: ");
  g_autoptr (Fixture) first = NULL;
  g_autoptr (Fixture) second = NULL;
  g_autofree char *yaml = NULL;
  g_autofree char *again = NULL;

  g_string_append_c (text, '\'');
  for (const char *p = tricky[_i]; *p != '\0'; p++)
    g_string_append (text, *p == '\'' ? "''" : (char[]){*p, '\0'});
  g_string_append (text, "'\n");
  /* A line break inside single quotes folds to a blank; such texts go in by an escape. */
  if (strchr (tricky[_i], '\n') != NULL)
    g_string_assign (text, FIXTURE_CLUSTER FIXTURE_WORKLOAD "title: \"line\\ntwo\"\n");
  first = fixture_load (text->str, NULL);
  fixture_expect (first, "");
  ck_assert_str_eq (ls_config_get_string (first->config, "title"), tricky[_i]);
  yaml = ls_config_to_yaml (first->config, LS_CONFIG_WRITE_GIVEN);
  second = fixture_load (yaml, NULL);
  fixture_expect (second, "");
  ck_assert_str_eq (ls_config_get_string (second->config, "title"), tricky[_i]);
  again = ls_config_to_yaml (second->config, LS_CONFIG_WRITE_GIVEN);
  ck_assert_str_eq (yaml, again);
}
END_TEST

/* A float of YAML 1.1 needs a point, and a sign in its exponent (yaml.org/type/float.html). */
static gboolean is_yaml11_number (const char *text) {
  return g_regex_match_simple ("^[-+]?[0-9]+(\\.[0-9]+(e[-+][0-9]+)?)?$", text, 0, 0) &&
         !g_regex_match_simple ("^[-+]?0[0-9]", text, 0, 0);
}

START_TEST (numbers_read_the_same_in_both_versions) {
  LsRandom random;

  ls_random_init (&random, 3, "numbers", 0);
  for (guint i = 0; i < test_scaled (300); i++) {
    double value = pow (10, ls_random_uniform (&random) * 30 - 12);
    char digits[64];
    g_autofree char *text = NULL;
    g_autoptr (Fixture) fixture = NULL;
    g_autofree char *yaml = NULL;
    g_autofree char *number = NULL;

    g_ascii_formatd (digits, sizeof digits, "%.17g", value);
    text = g_strdup_printf (FIXTURE_CLUSTER "workload: {model: {kind: layers, parameters: %s}}\n",
                            digits);
    fixture = fixture_load (text, NULL);
    fixture_expect (fixture, "");
    yaml = ls_config_to_yaml (fixture->config, LS_CONFIG_WRITE_GIVEN);
    number = g_strchomp (g_strdup (strstr (yaml, "parameters: ") + strlen ("parameters: ")));
    ck_assert_msg (is_yaml11_number (number), "%s", number);
    ck_assert_double_eq (g_ascii_strtod (number, NULL), value);
  }
}
END_TEST

static Fixture *rich (void) {
  return fixture_load (
      "title: \"on\"\n"
      "cluster: {nodes: 8, node: dgx, links: {\"m.n\": {rate: 50 %}}}\n"
      "workload:\n"
      "  model: {kind: layers, parameters: \"15e12\", layers: [{width: 1}, {width: "
      "2, bias: false}]}\n"
      "  zero: {stage: 1, bucket: 1 MB}\n"
      "  sizes: [3, 4]\n"
      "  recompute: TRUE\n"
      "  extra: {x: [1, a, null]}\n"
      "trace: steps\n",
      NULL);
}

START_TEST (json_has_bare_numbers_and_texts_for_quantities) {
  g_autoptr (Fixture) f = rich ();
  g_autofree char *json = ls_config_to_json (f->config, LS_CONFIG_WRITE_GIVEN, 0);

  fixture_expect (f, "");
  ck_assert_str_eq (
      json,
      "{\"title\": \"on\", \"cluster\": {\"links\": {\"m.n\": {\"rate\": \"50 %\"}}, \"groups\": "
      "{\"main\": {\"nodes\": 8, \"node\": {\"preset\": \"dgx\"}}}}, \"trace\": {\"level\": "
      "\"steps\"}, \"jobs\": {\"main\": {\"workload\": {\"model\": {\"kind\": \"layers\", "
      "\"parameters\": 15000000000000, \"layers\": [{\"width\": 1}, {\"width\": 2, \"bias\": "
      "false}]}, \"zero\": {\"stage\": 1, \"bucket\": \"1 MB\"}, \"sizes\": [3, 4], \"recompute\": "
      "true, \"extra\": {\"x\": [1, \"a\", null]}}}}}");
}
END_TEST

/* YAML, JSON and indented JSON of a scenario are the same scenario. */
START_TEST (what_is_written_reads_back_the_same) {
  g_autoptr (Fixture) f = rich ();
  g_autofree char *texts[3] = {ls_config_to_yaml (f->config, LS_CONFIG_WRITE_GIVEN),
                               ls_config_to_json (f->config, LS_CONFIG_WRITE_GIVEN, 0),
                               ls_config_to_json (f->config, LS_CONFIG_WRITE_GIVEN, 2)};

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_autoptr (Fixture) again = fixture_load (texts[i], NULL);
    g_autofree char *diff = NULL;
    g_autofree char *yaml = NULL;

    fixture_expect (again, "");
    diff = ls_config_diff (f->config, again->config);
    ck_assert_str_eq (diff, "");
    yaml = ls_config_to_yaml (again->config, LS_CONFIG_WRITE_GIVEN);
    ck_assert_str_eq (yaml, texts[0]);
  }
  g_free (texts[1]);
  g_free (texts[2]);
}
END_TEST

START_TEST (defaults_that_were_read_are_written) {
  g_autoptr (Fixture) f = fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD, NULL);
  g_autoptr (Fixture) again = NULL;
  g_autofree char *yaml = NULL;
  g_autofree char *second = NULL;

  ls_config_get_int (f->config, "workload.zero.stage");
  ls_config_get_quantity (f->config, "workload.zero.bucket");
  ls_config_no_effect (f->config, "workload.zero.bucket", "stage 0");
  ls_config_get_int (f->config, "cluster.node.gpus");
  ls_config_get_length (f->config, "workload.sizes");
  yaml = ls_config_to_yaml (f->config, LS_CONFIG_WRITE_DEFAULTS);
  ck_assert_str_eq (yaml, "cluster:\n"
                          "  groups:\n"
                          "    main:\n"
                          "      nodes: 8\n"
                          "      node:\n"
                          "        preset: dgx\n"
                          "        gpus: 8  # default\n"
                          "jobs:\n"
                          "  main:\n"
                          "    workload:\n"
                          "      model:\n"
                          "        preset: llama\n"
                          "      sizes: [1, 2]  # default\n"
                          "      zero:\n"
                          "        stage: 0  # default\n");
  again = fixture_load (yaml, NULL);
  fixture_expect (again, "");
  second = ls_config_diff (f->config, again->config);
  ck_assert_str_eq (second, "");
}
END_TEST

START_TEST (differences_compare_values_not_spellings) {
  g_autoptr (Fixture) a =
      fixture_load (FIXTURE_CLUSTER "workload: {model: llama, zero: {stage: 1, bucket: 1 GB}, "
                                    "recompute: false, sizes: [1, 2]}\n",
                    NULL);
  g_autoptr (Fixture) b = fixture_load (
      "cluster: {nodes: 16, node: dgx, links: {x: {rate: 1 %}}}\n"
      "workload: {model: llama, zero: {stage: \"1.0\", bucket: 1000 MB}, sizes: [1, 3]}\n",
      NULL);
  g_autofree char *text = ls_config_diff (a->config, b->config);
  g_autofree char *json = ls_config_diff_json (a->config, b->config, 0);

  ck_assert_str_eq (text, "cluster.groups.main.nodes: 8 -> 16\n"
                          "cluster.links.x.rate: (none) -> 1 %\n"
                          "workload.sizes: [1, 2] -> [1, 3]\n");
  ck_assert_str_eq (json, "[{\"key\": \"cluster.groups.main.nodes\", \"a\": \"8\", \"b\": \"16\"}, "
                          "{\"key\": \"cluster.links.x.rate\", \"a\": \"(none)\", \"b\": \"1 %\"}, "
                          "{\"key\": \"workload.sizes\", \"a\": \"[1, 2]\", \"b\": \"[1, 3]\"}]");
}
END_TEST

START_TEST (keys_are_explained) {
  g_autoptr (Fixture) f = rich ();
  g_autofree char *given = ls_config_explain (f->schema, f->config, "workload.zero.bucket", NULL);
  g_autofree char *absent = ls_config_explain (f->schema, f->config, "workload.offset", NULL);
  g_autofree char *pattern = ls_config_explain (f->schema, NULL, "cluster.groups.*.nodes", NULL);
  g_autofree char *json =
      ls_config_explain_json (f->schema, f->config, "workload.parallel.context", NULL);
  g_autoptr (GError) error = NULL;

  ck_assert_str_eq (given, "workload.zero.bucket\n"
                           "  meaning       bucket\n"
                           "  takes         a size with a unit (B, kB, MB, GB, TB, PB or KiB, MiB, "
                           "GiB, TiB (or bits: Gb)), at\n"
                           "                least 1.024 kB\n"
                           "  unit          B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB (or bits: "
                           "Gb)\n"
                           "  default       200 MB\n"
                           "  effect        only with zero.stage >= 1\n"
                           "  short for     jobs.main.workload.zero.bucket\n"
                           "  value         1 MB\n"
                           "  from          1.yaml:5:28\n");
  ck_assert_ptr_nonnull (strstr (absent, "  value         0\n  from          default\n"));
  ck_assert_ptr_nonnull (strstr (pattern, "  needed        yes\n"));
  ck_assert_ptr_nonnull (strstr (json, "\"not_yet\": \"context parallelism\""));
  ck_assert_ptr_null (ls_config_explain (f->schema, f->config, "workload.zero.buckt", &error));
  ck_assert_str_eq (error->message,
                    "there is no key 'workload.zero.buckt'; did you mean 'bucket'?");
}
END_TEST

START_TEST (every_row_is_in_the_documents) {
  g_autoptr (LsConfigSchema) schema = fixture_schema ();
  g_autofree char *markdown = ls_config_schema_markdown (schema);

  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    const LsConfigKey *row = ls_config_schema_row (schema, i);
    g_autofree char *cell = g_strdup_printf ("| `%s` |", row->path);

    ck_assert_msg (strstr (markdown, cell) != NULL, "%s", cell);
  }
  ck_assert_ptr_nonnull (strstr (markdown, "| `cluster.nodes` | short for "
                                           "`cluster.groups.main.nodes` | | |\n"));
}
END_TEST

/* Splitting what was joined gives the same segments, for random segments over nasty letters. */
START_TEST (paths_join_and_split) {
  static const char letters[] = "ab.\"\\ =-0";
  LsRandom random;

  ls_random_init (&random, 1, "paths", 0);
  for (guint i = 0; i < test_scaled (5000); i++) {
    g_autoptr (GPtrArray) segments = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GString) path = g_string_new (NULL);
    g_auto (GStrv) back = NULL;
    guint count = 1 + (guint) ls_random_below (&random, 4);

    for (guint s = 0; s < count; s++) {
      char *segment = g_new0 (char, 8);

      for (guint c = (guint) ls_random_below (&random, 7) + 1; c-- > 0;)
        segment[c] = letters[ls_random_below (&random, sizeof letters - 1)];
      g_ptr_array_add (segments, segment);
      ls_config_path_append (path, segment);
    }
    g_ptr_array_add (segments, NULL);
    back = ls_config_path_split (path->str, NULL, NULL);
    if (back == NULL ||
        !g_strv_equal ((const char *const *) back, (const char *const *) segments->pdata))
      ck_abort_msg ("%s", path->str);
  }
}
END_TEST

START_TEST (malformed_paths_have_a_column) {
  static const struct {
    const char *path;
    int column;
  } rows[] = {{"", 0},      {".a", 0},       {"a..b", 2}, {"a.", 2},
              {"a.\"b", 2}, {"a.\"b\"c", 2}, {"a\"b", 0}};

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (GError) error = NULL;
    int column = -1;

    ck_assert_ptr_null (ls_config_path_split (rows[i].path, &column, &error));
    ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_CONFIG));
    ck_assert_int_eq (column, rows[i].column);
  }
  ck_assert_int_eq (ls_config_path_end ("a.\"b=c\".d=3=4"), 9);
  ck_assert_int_eq (ls_config_path_end ("a.b"), -1);
  ck_assert_int_eq (ls_config_path_index ("17"), 17);
  ck_assert_int_eq (ls_config_path_index ("01"), -1);
  ck_assert_int_eq (ls_config_path_index ("-1"), -1);
  ck_assert_int_eq (ls_config_path_index ("99999999999"), -1);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_loop_test (tcase, tricky_texts_survive, 0, G_N_ELEMENTS (tricky));
  tcase_add_test (tcase, numbers_read_the_same_in_both_versions);
  tcase_add_test (tcase, json_has_bare_numbers_and_texts_for_quantities);
  tcase_add_test (tcase, what_is_written_reads_back_the_same);
  tcase_add_test (tcase, defaults_that_were_read_are_written);
  tcase_add_test (tcase, differences_compare_values_not_spellings);
  tcase_add_test (tcase, keys_are_explained);
  tcase_add_test (tcase, every_row_is_in_the_documents);
  tcase_add_test (tcase, paths_join_and_split);
  tcase_add_test (tcase, malformed_paths_have_a_column);
}

LS_TEST_MAIN ("output", add)
