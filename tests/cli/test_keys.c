/* Keys of the schema, all of them: those whose value comes from a preset or a framework say it, and from where. */
#include "cli/scenario.h"
#include "config/output.h"
#include "suite.h"

#include <string.h>

/* One that leaves to its presets and its framework whatever can be left to them. */
static const char *const open_scenario =
    "lockstep: 1\n"
    "cluster: {nodes: 4, node: dgx-h100, fabric: single-switch}\n"
    "workload:\n"
    "  model: deepseek-v2-lite\n"
    "  batch: {global: 32}\n"
    "  parallel: {expert: 8}\n"
    "  zero: 1\n"
    "  software: {generation: megatron-core}\n";

static gboolean is_left_open (const LsConfigKey *key) {
  static const char *const words[] = {"of the preset", "of the generation", "of the framework",
                                      "of the accelerator"};

  if (key->type == LS_CONFIG_MAP || key->meaning == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (strstr (key->meaning, words[i]) != NULL)
      return TRUE;
  return key->source != NULL && g_str_has_prefix (key->source, "as the framework");
}

/* Names in place of the stars. */
static char *real_path (const LsConfigKey *key) {
  g_auto (GStrv) halves = g_strsplit (key->path, ".groups.*", 2);
  g_autofree char *path = g_strjoinv (".groups.main", halves);
  g_auto (GStrv) nics = g_strsplit (path, ".nics.*", 2);

  return g_strjoinv (".nics.compute", nics);
}

START_TEST (what_is_left_open_is_told) {
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("open.yaml", open_scenario);
  g_autofree char *faults = ls_config_errors_text (scenario->errors);
  guint told = 0;

  ck_assert_str_eq (faults, "");
  for (guint i = 0; i < ls_config_schema_size (scenario->schema); i++) {
    const LsConfigKey *key = ls_config_schema_row (scenario->schema, i);
    g_autofree char *path = real_path (key), *text = NULL;

    /* Sizes of a torus, which this node is not. */
    if (!is_left_open (key) || strstr (path, "intra.wrap") != NULL)
      continue;
    text = ls_config_explain (scenario->schema, scenario->config, path, NULL);
    ck_assert_msg (strstr (text, "\n  value  ") != NULL, "the value of %s is not told:\n%s", path,
                   text);
    told++;
  }
  ck_assert_uint_ge (told, 30);
}
END_TEST

/* The value is this scenario's: of one framework and of another. */
START_TEST (the_framework_is_named) {
  static const char *const key = "workload.zero.overlap_gather";
  g_auto (GStrv) halves = g_strsplit (open_scenario, "megatron-core", 2);
  g_autofree char *other = g_strjoinv ("generic", halves);
  g_autoptr (LsScenario) core = ls_scenario_from_text ("open.yaml", open_scenario);
  g_autoptr (LsScenario) generic = ls_scenario_from_text ("open.yaml", other);
  g_autofree char *of_core = ls_config_explain (core->schema, core->config, key, NULL);
  g_autofree char *of_generic = ls_config_explain (generic->schema, generic->config, key, NULL);

  ck_assert_ptr_nonnull (strstr (
      of_core, "  value         true\n  from          software generation megatron-core\n"));
  ck_assert_ptr_nonnull (
      strstr (of_generic, "  value         false\n  from          software generation generic\n"));
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, what_is_left_open_is_told);
  tcase_add_test (tcase, the_framework_is_named);
}

LS_TEST_MAIN ("keys", add)
