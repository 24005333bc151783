/* Every kind of wrong value, each with its place, what is allowed and what was meant. */
#include "config/fixture.h"
#include "suite.h"

typedef struct {
  const char *text; /* one workload key, put on line 2 at column 11 */
  const char *fault;
} Wrong;

/* The text stands in "workload: {TEXT, model: llama}". */
static const Wrong values[] = {
    {"parallel: {tensor: 2.5}",
     "2:31: error: workload.parallel.tensor: '2.5' is not whole; takes a "
     "whole number, more than 0\n"},
    {"parallel: {tensor: 0}", "2:31: error: workload.parallel.tensor: '0' is zero; takes a whole "
                              "number, more than 0\n"},
    {"parallel: {tensor: -1}", "2:31: error: workload.parallel.tensor: '-1' is negative; takes a "
                               "whole number, more than 0\n"},
    {"parallel: {tensor: 1e300}", "2:31: error: workload.parallel.tensor: '1e300' is beyond "
                                  "9007199254740992 (2^53); takes a whole "
                                  "number, more than 0\n"},
    {"parallel: {tensor: .nan}", "2:31: error: workload.parallel.tensor: '.nan' is not finite; "
                                 "takes a whole number, more than 0\n"},
    {"parallel: {tensor: [1]}",
     "2:31: error: workload.parallel.tensor: a list stands here; takes a "
     "whole number, more than 0\n"},
    {"parallel: {tensor: {a: 1}}",
     "2:31: error: workload.parallel.tensor: a map stands here; takes "
     "a whole number, more than 0\n"},
    {"parallel: {data: some}", "2:29: error: workload.parallel.data: 'some' is no number; takes a "
                               "whole number, at least 0 or auto\n"},
    {"parallel: {data: aut}", "2:29: error: workload.parallel.data: 'aut' is no number; takes a "
                              "whole number, at least 0 or auto; did you mean 'auto'?\n"},
    {"zero: {stage: 4}",
     "2:26: error: workload.zero.stage: '4' is too large; takes a whole number, "
     "at least 0, at most 3\n"},
    {"zero: {bucket: 5}", "2:27: error: workload.zero.bucket: '5' has no unit; a size takes B, kB, "
                          "MB, GB, TB, PB or KiB, MiB, GiB, TiB (or bits: Gb)\n"},
    {"zero: {bucket: 5 s}",
     "2:27: error: workload.zero.bucket: 's' is a unit of time; a size takes "
     "B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB (or bits: Gb)\n"},
    {"zero: {bucket: inf}", "2:27: error: workload.zero.bucket: 'inf' is not finite; takes a size "
                            "with a unit (B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB (or bits: "
                            "Gb)), at least 1.024 kB\n"},
    {"zero: {bucket: 1 B}", "2:27: error: workload.zero.bucket: '1 B' is too small; takes a size "
                            "with a unit (B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB (or bits: "
                            "Gb)), at least 1.024 kB\n"},
    {"recompute: yes", "2:23: error: workload.recompute: 'yes' is neither true nor false; takes "
                       "true or false; did you mean 'true'?\n"},
    {"offset: -2.5",
     "2:20: error: workload.offset: '-2.5' is too small; takes a number, at least -2, at most 2\n"},
    {"offset: fast",
     "2:20: error: workload.offset: 'fast' is no number; takes a number, at least -2, at most 2\n"},
    {"sizes: [1, two]",
     "2:23: error: workload.sizes.1: 'two' is no number; takes one or a list of: "
     "a whole number, at least 0\n"},
    {"sizes: {a: 1}", "2:19: error: workload.sizes: a map stands here; takes one or a list of: a "
                      "whole number, at least 0\n"},
    {"data: none.bin",
     "2:18: error: workload.data: there is no file 'none.bin'; names are relative "
     "to the file that holds them\n"},
    {"span: {from: 1, to: 2}", "2:18: error: workload.span: not a range; takes a range {from, to, "
                               "step} or {from, to, times}\n"},
    {"span: {from: 1, to: 2, by: 1}",
     "2:18: error: workload.span: not a range; takes a range {from, to, step} or {from, to, "
     "times}\n1.yaml:2:35: error: workload.span: unknown key 'by'; takes a range {from, to, step} "
     "or "
     "{from, to, times}\n"},
    {"parallel: {tenosr: 2}",
     "2:23: error: unknown key 'tenosr' in workload.parallel; did you mean 'tensor'?\n"},
    {"tensor: 2",
     "2:12: error: unknown key 'tensor' in workload; did you mean workload.parallel.tensor?\n"},
    {"parallel: {zzz: 2}", "2:23: error: unknown key 'zzz' in workload.parallel; keys here are "
                           "tensor, context, data\n"},
    {"parallel: {context: 2}",
     "2:23: error: workload.parallel.context: not yet: context parallelism\n"},
};

START_TEST (wrong_values_say_what_is_allowed) {
  g_autofree char *text =
      g_strdup_printf (FIXTURE_CLUSTER "workload: {%s, model: llama}\n", values[_i].text);
  g_autofree char *expected = g_strdup_printf ("1.yaml:%s", values[_i].fault);
  g_autoptr (Fixture) fixture = fixture_load (text, NULL);

  fixture_expect (fixture, expected);
}
END_TEST

START_TEST (wrong_words_are_told_apart_from_later_ones) {
  g_autoptr (Fixture) fixture =
      fixture_load ("cluster: {nodes: 1, fabrics: {a: {kind: torus}, b: {kind: fattree}}}\n"
                    "workload: {model: lama}\n",
                    NULL);

  fixture_expect (fixture,
                  "1.yaml:1:41: error: cluster.fabrics.a.kind: not yet: 'torus'; takes fat-tree, "
                  "crossbar\n"
                  "1.yaml:1:59: error: cluster.fabrics.b.kind: 'fattree' is not known; takes "
                  "fat-tree, crossbar; did you mean 'fat-tree'?\n"
                  "1.yaml:2:19: error: workload.model.preset: 'lama' is not known; takes llama, "
                  "gpt3, 3d-unet; did you mean 'llama'?\n");
}
END_TEST

START_TEST (missing_keys_are_asked_for_where_they_belong) {
  g_autoptr (Fixture) fixture = fixture_load ("lockstep: 1\n"
                                              "cluster: {}\n"
                                              "workload:\n"
                                              "  parallel: {tensor: 1}\n",
                                              NULL);

  fixture_expect (fixture, "1.yaml:2:10: error: cluster.groups is missing (short: nodes, node); "
                           "takes a map\n"
                           "1.yaml:4:3: error: workload.model is missing; takes a map or a word "
                           "(its preset)\n");
}
END_TEST

START_TEST (a_misspelt_key_is_not_missing_as_well) {
  g_autoptr (Fixture) fixture = fixture_load (FIXTURE_CLUSTER "workload: {modle: llama}\n", NULL);

  fixture_expect (fixture, "1.yaml:2:12: error: unknown key 'modle' in workload; did you mean "
                           "'model'?\n");
}
END_TEST

START_TEST (whole_sections_can_be_optional) {
  g_autoptr (LsConfigSchema) schema = fixture_schema ();
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);
  g_autoptr (LsConfig) config = NULL;

  ls_config_builder_add_text (builder, "1.yaml", FIXTURE_CLUSTER, -1);
  ls_config_builder_optional (builder, "workload");
  config = ls_config_builder_build (builder, errors);
  ck_assert (!ls_config_errors_any (errors));
  ck_assert (ls_config_is_readable (config));
}
END_TEST

/* Sections of later features are refused whole, without a word about what is in them. */
START_TEST (later_sections_are_refused_at_their_key) {
  g_autoptr (Fixture) fixture =
      fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD "study: {what: [ever]}\n", NULL);

  fixture_expect (fixture, "1.yaml:3:1: error: study: not yet: studies over many cases\n");
}
END_TEST

/* `workload` is short for jobs.main.workload, which is not there when jobs have other names; and a
 * job without a workload is missing one, whatever its name. */
START_TEST (jobs_are_named_or_one) {
  g_autoptr (Fixture) both = fixture_load (
      FIXTURE_CLUSTER FIXTURE_WORKLOAD "jobs: {second: {workload: {model: llama}}}\n", NULL);
  g_autoptr (Fixture) named = fixture_load (
      FIXTURE_CLUSTER "jobs: {a: {workload: {model: llama}}, b: {start: 1 s}}\n", NULL);

  fixture_expect (both, "1.yaml:2:1: error: 'workload' is short for a key of jobs.main, but jobs "
                        "has second; write jobs.second.workload.model\n");
  fixture_expect (named, "1.yaml:2:42: error: jobs.b.workload is missing; takes a map\n");
}
END_TEST

/* "context: 1" says what holds anyway, in any spelling. */
START_TEST (neutral_values_of_later_keys_pass) {
  g_autoptr (Fixture) fixture = fixture_load (
      FIXTURE_CLUSTER "workload: {model: llama, parallel: {context: \"1.0\"}}\n", NULL);

  fixture_expect (fixture, "");
  ls_config_get_string (fixture->config, "workload.model.preset");
}
END_TEST

START_TEST (quoted_numbers_are_numbers) {
  g_autoptr (Fixture) fixture = fixture_load (
      FIXTURE_CLUSTER "workload: {model: {preset: llama, parameters: \"15e12\"}, parallel: "
                      "{tensor: '8'}, zero: {bucket: \"1 MiB\"}}\n",
      NULL);

  fixture_expect (fixture, "");
  ck_assert_int_eq (ls_config_get_int (fixture->config, "workload.parallel.tensor"), 8);
  ck_assert_double_eq (ls_config_get_number (fixture->config, "workload.model.parameters"), 15e12);
  ck_assert_int_eq (ls_config_get_size_bytes (fixture->config, "workload.zero.bucket"), 1048576);
}
END_TEST

/* Unknown keys and later keys leave the rest readable; a wrong value does not. */
START_TEST (readable_means_that_known_keys_are_legal) {
  g_autoptr (Fixture) unknown = fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD "x: 1\n", NULL);
  g_autoptr (Fixture) later = fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD "study: {}\n", NULL);
  g_autoptr (Fixture) wrong = fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD "seed: x\n", NULL);

  ck_assert (ls_config_errors_any (unknown->errors));
  ck_assert (ls_config_is_readable (unknown->config));
  ck_assert (ls_config_errors_any (later->errors));
  ck_assert (ls_config_is_readable (later->config));
  ck_assert (!ls_config_is_readable (wrong->config));
  ck_assert_int_eq (ls_config_get_int (wrong->config, "seed"), 1);
}
END_TEST

START_TEST (faults_have_a_json_form) {
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;

  ls_config_errors_add (errors, LS_CONFIG_FAULT_WARNING, (LsConfigPosition){"b", 2, 3}, "w \"x\"");
  ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, (LsConfigPosition){"b", 1, 1},
                        "wrong; takes this; did you mean that");
  ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, (LsConfigPosition){"b", 1, 1},
                        "wrong; takes this; did you mean that");
  json = ls_config_errors_json (errors, "config", 0);
  ck_assert_str_eq (
      json,
      "[{\"code\": \"config\", \"kind\": \"error\", \"file\": \"b\", \"line\": 1, \"column\": 1, "
      "\"message\": \"wrong\", \"hint\": \"takes this; did you mean that\"}, "
      "{\"code\": \"config\", \"kind\": \"warning\", \"file\": \"b\", \"line\": 2, \"column\": 3, "
      "\"message\": \"w \\\"x\\\"\", \"hint\": null}]");
  ck_assert (!ls_config_errors_check (errors, &error));
  ck_assert_str_eq (error->message, "b:1:1: error: wrong; takes this; did you mean that\n"
                                    "b:2:3: warning: w \"x\"");
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_loop_test (tcase, wrong_values_say_what_is_allowed, 0, G_N_ELEMENTS (values));
  tcase_add_test (tcase, wrong_words_are_told_apart_from_later_ones);
  tcase_add_test (tcase, missing_keys_are_asked_for_where_they_belong);
  tcase_add_test (tcase, a_misspelt_key_is_not_missing_as_well);
  tcase_add_test (tcase, whole_sections_can_be_optional);
  tcase_add_test (tcase, later_sections_are_refused_at_their_key);
  tcase_add_test (tcase, jobs_are_named_or_one);
  tcase_add_test (tcase, neutral_values_of_later_keys_pass);
  tcase_add_test (tcase, quoted_numbers_are_numbers);
  tcase_add_test (tcase, readable_means_that_known_keys_are_legal);
  tcase_add_test (tcase, faults_have_a_json_form);
}

LS_TEST_MAIN ("check", add)
