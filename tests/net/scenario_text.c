/* Reading the scenarios of scenario_text.h. */
#include "scenario_text.h"

#include "config/tables.h"

TestScenario test_scenario (const char *file, const char *text, const char *const *sets) {
  static const LsConfigKey *const tables[] = {ls_config_keys, ls_config_later_keys, ls_cluster_keys,
                                              NULL};
  TestScenario scenario = {.schema = ls_config_schema_new (tables),
                           .errors = ls_config_errors_new ()};
  scenario.builder = ls_config_builder_new (scenario.schema);
  if (file != NULL) {
    g_autofree char *path = g_build_filename (LS_TEST_SOURCE_DIR, file, NULL);
    ls_config_builder_add_file (scenario.builder, path);
  }
  if (text != NULL)
    ls_config_builder_add_text (scenario.builder, "test.yaml", text, -1);
  for (guint i = 0; sets != NULL && sets[i] != NULL; i++)
    ls_config_builder_set (scenario.builder, sets[i]);
  ls_config_builder_optional (scenario.builder, "lockstep");
  ls_config_builder_optional (scenario.builder, "jobs");
  scenario.config = ls_config_builder_build (scenario.builder, scenario.errors);
  if (scenario.config != NULL && ls_config_is_readable (scenario.config))
    scenario.cluster = ls_cluster_new (scenario.config, scenario.errors);
  if (scenario.cluster != NULL && ls_config_has (scenario.config, "lockstep"))
    ls_config_get_int (scenario.config, "lockstep"); /* the command line reads it */
  return scenario;
}

char *test_scenario_faults (TestScenario *scenario) {
  if (scenario->config != NULL && scenario->cluster != NULL)
    ls_config_warn_unused (scenario->config, scenario->errors);
  return ls_config_errors_text (scenario->errors);
}

void test_scenario_clear (TestScenario *scenario) {
  ls_cluster_free (scenario->cluster);
  ls_config_free (scenario->config);
  ls_config_builder_free (scenario->builder);
  ls_config_errors_free (scenario->errors);
  ls_config_schema_free (scenario->schema);
}
