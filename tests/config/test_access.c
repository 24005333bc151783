/* Typed reading, positions, unused keys, files, indexes. */
#include "config/fixture.h"
#include "config/output.h"
#include "suite.h"

#include <glib/gstdio.h>
#include <signal.h>

START_TEST (values_and_defaults_are_read_in_base_units) {
  g_autoptr (Fixture) f = fixture_load (
      "seed: 18\n" FIXTURE_CLUSTER "workload: {model: {kind: layers, parameters: 70 B}, offset: "
      "-1.5, recompute: true, zero: {bucket: 1 MB}, parallel: {data: 4}}\n"
      "trace: {ranks: [9, 0-3, \"2,7\"]}\n",
      NULL);
  LsConfig *c = f->config;
  g_autoptr (GArray) ranks = ls_config_get_indexes (c, "trace.ranks");
  g_auto (GStrv) groups = ls_config_get_names (c, "cluster.groups");
  g_auto (GStrv) fabrics = ls_config_get_names (c, "cluster.fabrics");
  static const gint64 expected[] = {0, 1, 2, 3, 7, 9};

  fixture_expect (f, "");
  ck_assert_int_eq (ls_config_get_int (c, "seed"), 18);
  ck_assert_int_eq (ls_config_get_int (c, "cluster.nodes"), 8);
  ck_assert_int_eq (ls_config_get_int (c, "cluster.groups.main.nodes"), 8);
  ck_assert_int_eq (ls_config_get_int (c, "cluster.node.gpus"), 8);
  ck_assert_str_eq (ls_config_get_string (c, "cluster.node.preset"), "dgx");
  ck_assert_double_eq (ls_config_get_number (c, "workload.model.parameters"), 70e9);
  ck_assert_double_eq (ls_config_get_number (c, "workload.offset"), -1.5);
  ck_assert (ls_config_get_bool (c, "workload.recompute"));
  ck_assert_int_eq (ls_config_get_size_bytes (c, "workload.zero.bucket"), 1000000);
  ck_assert_int_eq (ls_config_get_time_ps (c, "cluster.fabrics.compute.latency"), 500000);
  ck_assert_double_eq (ls_config_get_quantity (c, "cluster.node.nics.compute.rate"), 5e10);
  ck_assert (!ls_config_is_word (c, "workload.parallel.data", "auto"));
  ck_assert_str_eq (ls_config_get_string (c, "trace.level"), "ops");
  ck_assert_ptr_null (ls_config_get_string (c, "title"));
  ck_assert (ls_config_has (c, "workload.model.kind") && !ls_config_has (c, "workload.sizes"));
  ck_assert_uint_eq (ranks->len, G_N_ELEMENTS (expected));
  for (guint i = 0; i < ranks->len; i++)
    ck_assert_int_eq (g_array_index (ranks, gint64, i), expected[i]);
  ck_assert_uint_eq (g_strv_length (groups), 1);
  ck_assert_str_eq (groups[0], "main");
  ck_assert_uint_eq (g_strv_length (fabrics), 0);
}
END_TEST

START_TEST (words_beside_numbers_and_shares) {
  g_autoptr (Fixture) f =
      fixture_load ("cluster: {nodes: 1, links: {z: {rate: 50 %}, a: {rate: 3 GB/s}, m.n: {rate: 1 "
                    "%}}}\n" FIXTURE_WORKLOAD "trace: {ranks: all}\n",
                    NULL);
  LsConfig *c = f->config;
  g_auto (GStrv) links = ls_config_get_names (c, "cluster.links");
  g_autofree char *path = ls_config_path ("cluster", "links", "m.n", "rate", NULL);

  fixture_expect (f, "");
  ck_assert (ls_config_is_word (c, "workload.parallel.data", "auto"));
  ck_assert (ls_config_is_word (c, "trace.ranks", "all"));
  ck_assert_ptr_null (ls_config_get_indexes (c, "trace.ranks"));
  ck_assert (ls_config_is_percent (c, "cluster.links.z.rate"));
  ck_assert_double_eq (ls_config_get_quantity (c, "cluster.links.z.rate"), 0.5);
  ck_assert (!ls_config_is_percent (c, "cluster.links.a.rate"));
  ck_assert_str_eq (path, "cluster.links.\"m.n\".rate");
  ck_assert_double_eq (ls_config_get_quantity (c, path), 0.01);
  /* Sorted, whatever the order of the file. */
  ck_assert_str_eq (links[0], "a");
  ck_assert_str_eq (links[1], "m.n");
  ck_assert_str_eq (links[2], "z");
}
END_TEST

START_TEST (lists_are_read_by_index) {
  g_autoptr (Fixture) f = fixture_load (
      FIXTURE_CLUSTER "workload: {model: {layers: [{width: 3}, {width: 4, bias: false}]}, sizes: "
                      "7, extra: {a: [1]}}\n",
      NULL);
  LsConfig *c = f->config;

  fixture_expect (f, "");
  ck_assert_uint_eq (ls_config_get_length (c, "workload.model.layers"), 2);
  ck_assert_int_eq (ls_config_get_int (c, "workload.model.layers.1.width"), 4);
  ck_assert (ls_config_get_bool (c, "workload.model.layers.0.bias"));
  ck_assert (!ls_config_get_bool (c, "workload.model.layers.1.bias"));
  ck_assert_uint_eq (ls_config_get_length (c, "workload.sizes"), 1);
  ck_assert_int_eq (ls_config_get_int (c, "workload.sizes.0"), 7);
  ck_assert_int_eq (ls_config_get_node (c, "workload.extra")->kind, LS_CONFIG_NODE_MAP);
  ck_assert_ptr_null (ls_config_get_node (c, "workload.span"));
}
END_TEST

START_TEST (unknown_paths_are_bugs) {
  g_autoptr (Fixture) f = fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD, NULL);

  ls_config_get_int (f->config, "workload.nothing");
}
END_TEST

START_TEST (wrong_getters_are_bugs) {
  g_autoptr (Fixture) f = fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD, NULL);

  ls_config_get_bool (f->config, "seed");
}
END_TEST

START_TEST (faults_of_meaning_point_at_the_key) {
  g_autoptr (Fixture) f =
      fixture_load (FIXTURE_CLUSTER "workload:\n  model: llama\n  parallel: {tensor: 3}\n",
                    "--set workload.zero.stage=1", NULL);

  ls_config_error_at (f->config, f->errors, "workload.parallel.tensor",
                      "%d does not divide %d heads; use a divisor", 3, 32);
  ls_config_warning_at (f->config, f->errors, "workload.zero.stage", "is odd");
  /* Not given: the nearest map that was. */
  ls_config_error_at (f->config, f->errors, "workload.parallel.data", "is wrong");
  ls_config_error_at (f->config, f->errors, "trace.level", "is wrong");
  fixture_expect (f,
                  "1.yaml:1:1: error: trace.level: is wrong\n"
                  "1.yaml:4:3: error: workload.parallel.data: is wrong\n"
                  "1.yaml:4:22: error: workload.parallel.tensor: 3 does not divide 32 heads; use "
                  "a divisor\n"
                  "--set #1:21: warning: workload.zero.stage: is odd\n");
}
END_TEST

START_TEST (keys_that_nobody_reads_are_warned_about) {
  g_autoptr (Fixture) f =
      fixture_load ("title: x\n" FIXTURE_CLUSTER "workload:\n"
                    "  model: {preset: llama, layers: [{width: 1, bias: true}]}\n"
                    "  parallel: {tensor: 2, data: 1, context: 1}\n"
                    "  zero: {stage: 0, bucket: 1 MB}\n"
                    "  recompute: true\n"
                    "  sizes: []\n  extra: {a: {b: 1}}\n",
                    NULL);
  LsConfig *c = f->config;

  ls_config_get_string (c, "cluster.node.preset");
  ls_config_get_int (c, "cluster.nodes");
  ls_config_get_string (c, "workload.model.preset");
  ls_config_get_int (c, "workload.model.layers.0.width");
  ls_config_get_int (c, "workload.parallel.tensor");
  ls_config_get_int (c, "workload.zero.stage");
  ls_config_get_bool (c, "workload.recompute");
  ls_config_no_effect (c, "workload.recompute", "nothing is saved");
  ls_config_no_effect (c, "workload.offset", "not given, so no warning");
  ls_config_warn_unused (c, f->errors);
  fixture_expect (
      f,
      "1.yaml:1:1: warning: title has no effect here\n"
      "1.yaml:4:46: warning: workload.model.layers.0.bias has no effect here\n"
      "1.yaml:5:25: warning: workload.parallel.data has no effect here\n"
      "1.yaml:6:20: warning: workload.zero.bucket has no effect here; only with zero.stage >= 1\n"
      "1.yaml:7:3: warning: workload.recompute has no effect here; nothing is saved\n"
      "1.yaml:8:3: warning: workload.sizes has no effect here\n"
      "1.yaml:9:3: warning: workload.extra has no effect here\n");
}
END_TEST

START_TEST (a_map_that_nobody_reads_is_one_warning) {
  g_autoptr (Fixture) f =
      fixture_load (FIXTURE_CLUSTER FIXTURE_WORKLOAD "trace: {level: ops, ranks: all}\n", NULL);

  ls_config_get_string (f->config, "cluster.node.preset");
  ls_config_get_int (f->config, "cluster.nodes");
  ls_config_get_string (f->config, "workload.model.preset");
  ls_config_warn_unused (f->config, f->errors);
  fixture_expect (f, "1.yaml:3:1: warning: trace has no effect here\n");
}
END_TEST

/* A file is looked for beside the file that names it; from an option, in the working directory. */
START_TEST (files_are_relative_to_the_file_that_names_them) {
  g_autofree char *folder = g_dir_make_tmp ("lockstep-XXXXXX", NULL);
  g_autofree char *data = g_build_filename (folder, "data.bin", NULL);
  g_autofree char *scenario = g_build_filename (folder, "s.yaml", NULL);
  g_autofree char *file = NULL;
  g_autoptr (LsConfigSchema) schema = fixture_schema ();
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);
  g_autoptr (LsConfig) config = NULL;

  ck_assert (g_file_set_contents (data, "x", 1, NULL));
  ck_assert (g_file_set_contents (
      scenario, FIXTURE_CLUSTER "workload: {model: llama, data: data.bin}\n", -1, NULL));
  ls_config_builder_add_file (builder, scenario);
  config = ls_config_builder_build (builder, errors);
  ck_assert (!ls_config_errors_any (errors));
  file = ls_config_get_file (config, "workload.data");
  ck_assert_str_eq (file, data);
  g_unlink (scenario);
  g_unlink (data);
  g_rmdir (folder);
}
END_TEST

START_TEST (a_builder_can_be_built_again) {
  g_autoptr (LsConfigSchema) schema = fixture_schema ();
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);

  ls_config_builder_add_text (builder, "1.yaml", FIXTURE_CLUSTER FIXTURE_WORKLOAD, -1);
  for (int i = 1; i <= 3; i++) {
    g_autofree char *set = g_strdup_printf ("cluster.nodes=%d", i);
    g_autoptr (LsConfig) config = NULL;

    ls_config_builder_set (builder, set);
    config = ls_config_builder_build (builder, errors);
    ck_assert_int_eq (ls_config_get_int (config, "cluster.nodes"), i);
  }
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, values_and_defaults_are_read_in_base_units);
  tcase_add_test (tcase, words_beside_numbers_and_shares);
  tcase_add_test (tcase, lists_are_read_by_index);
  tcase_add_test_raise_signal (tcase, unknown_paths_are_bugs, SIGABRT);
  tcase_add_test_raise_signal (tcase, wrong_getters_are_bugs, SIGABRT);
  tcase_add_test (tcase, faults_of_meaning_point_at_the_key);
  tcase_add_test (tcase, keys_that_nobody_reads_are_warned_about);
  tcase_add_test (tcase, a_map_that_nobody_reads_is_one_warning);
  tcase_add_test (tcase, files_are_relative_to_the_file_that_names_them);
  tcase_add_test (tcase, a_builder_can_be_built_again);
}

LS_TEST_MAIN ("access", add)
