/* See outcomes.h. */
#include "outcomes.h"

#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "faults/stragglers_run.h"
#include "suite.h"
#include "train/run/summary.h"

LsScenario *outcome_scenario (const char *base, const char *setting) {
  const char *const settings[] = {setting, NULL};
  g_autofree char *path =
      g_strdup_printf ("%s/tests/cli/effects/%s.yaml", LS_TEST_SOURCE_DIR, base);

  return ls_scenario_from_path (path, settings);
}

char *outcome_said (const LsScenario *scenario) {
  GString *said = g_string_new (NULL);

  for (guint i = 0; i < ls_config_errors_length (scenario->errors); i++) {
    const LsConfigFault fault = ls_config_errors_get (scenario->errors, i);

    if (strstr (said->str, fault.message) == NULL)
      g_string_append_printf (said, "%s\n", fault.message);
  }
  g_string_replace (said, "cluster.groups.main.", "cluster.", 0);
  g_string_replace (said, "cluster.fabrics.compute", "cluster.fabric", 0);
  return g_string_free (said, FALSE);
}

static void append_updates (GString *out, const LsScenario *scenario) {
  g_autoptr (LsUpdateRun) run =
      ls_update_run_new (scenario->cluster, scenario->workload, scenario->seed, NULL);
  g_autoptr (LsStragglersRun) slow = ls_stragglers_install_updates (scenario->stragglers, run);
  LsUpdate *update = ls_update_run_update (run);

  if (!ls_update_run_go (run, NULL, NULL, NULL, NULL))
    return;
  const LsUpdateTotals t = ls_update_totals (update);
  g_string_append_printf (out, "%d %d %d %g %d %g", (int) t.updates, (int) t.evaluated,
                          (int) t.applied, (double) t.end_ps, (int) t.samples, t.staleness_mean);
  for (guint w = 0; w < ls_update_spec (update)->workers; w++)
    g_string_append_printf (out, " %g", ls_update_idle_fraction (update, w));
}

static void append_steps (GString *out, const LsScenario *scenario) {
  g_autoptr (LsJob) job = ls_job_build (scenario->workload, scenario->cluster, NULL);
  const LsSimulationJob one = {.workload = scenario->workload, .job = job};
  LsSimulationOptions how = {.fold = TRUE};

  ls_stragglers_set_options (scenario->stragglers, &how);
  LsSimulation *simulation =
      ls_simulation_new_with (scenario->cluster, &one, 1, scenario->seed, &how);
  LsStragglersRun *slow = ls_stragglers_install (scenario->stragglers, simulation);
  if (ls_simulation_run (simulation, NULL, NULL)) {
    g_autoptr (LsSummary) summary = ls_summary_new (simulation);
    g_autofree char *json = NULL;

    summary->wall_s = 0;
    json = ls_summary_to_json (summary);
    g_string_append (out, json);
  }
  ls_stragglers_run_free (slow);
  ls_simulation_free (simulation);
}

char *outcome_of (const LsScenario *scenario) {
  GString *out;

  if (ls_config_errors_any (scenario->errors) || scenario->workload == NULL)
    return NULL;
  out = g_string_new (NULL);
  if (scenario->workload->update.active)
    append_updates (out, scenario);
  else
    append_steps (out, scenario);
  if (ls_scenario_has_memory (scenario, 0)) {
    const LsMemoryEstimate memory = ls_scenario_fullest (scenario, 0);
    g_string_append_printf (out, " %g %g", (double) memory.reserved_bytes,
                            (double) memory.communication_bytes);
  }
  return g_string_free (out, FALSE);
}

/* --- values ------------------------------------------------------------------------------------- */

static void add_words (GPtrArray *values, const LsConfigKey *key) {
  const char *const *words = ls_config_key_choices (key);

  for (guint i = 0; words != NULL && words[i] != NULL; i++)
    if (g_strcmp0 (words[i], key->default_text) != 0)
      g_ptr_array_add (values, g_strdup (words[i]));
}

static void add_quantities (GPtrArray *values, const LsConfigKey *key) {
  static const double factors[] = {2, 0.5, 1e3};
  double base = 1, least = MAX (key->minimum, 1e-9);

  if (key->default_text != NULL &&
      !ls_quantity_parse (key->default_text, key->dimension, &base, NULL))
    return;
  if (base == 0 || key->default_text == NULL)
    base = key->dimension == LS_DIMENSION_TIME       ? 0.001
           : key->dimension == LS_DIMENSION_FRACTION ? 0.5
           : key->dimension == LS_DIMENSION_POWER    ? 200
                                                     : 1e9;
  for (guint i = 0; i < G_N_ELEMENTS (factors); i++) {
    double value = MAX (base * factors[i], least);

    if (key->maximum > 0)
      value = MIN (value, key->maximum);
    g_ptr_array_add (values, ls_quantity_format_exact (value, key->dimension));
  }
}

static void add_numbers (GPtrArray *values, const LsConfigKey *key) {
  static const char *const numbers[] = {"2", "3", "4", "8", "1", "0", "0.5", "16", "512"};

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (g_strcmp0 (numbers[i], key->default_text) != 0 &&
        (key->type == LS_CONFIG_NUMBER || strchr (numbers[i], '.') == NULL))
      g_ptr_array_add (values, g_strdup (numbers[i]));
}

GPtrArray *outcome_values (const LsConfigKey *key) {
  GPtrArray *values = g_ptr_array_new_with_free_func (g_free);

  if (key->flags & LS_CONFIG_LIST || key->later != NULL || key->type == LS_CONFIG_ALIAS)
    return values;
  if (key->type == LS_CONFIG_BOOLEAN && g_strcmp0 (key->default_text, "true") != 0)
    g_ptr_array_add (values, g_strdup ("true"));
  if (key->type == LS_CONFIG_BOOLEAN && g_strcmp0 (key->default_text, "false") != 0)
    g_ptr_array_add (values, g_strdup ("false"));
  if (key->type == LS_CONFIG_QUANTITY)
    add_quantities (values, key);
  if (key->type == LS_CONFIG_INTEGER || key->type == LS_CONFIG_NUMBER)
    add_numbers (values, key);
  if (key->type != LS_CONFIG_STRING)
    add_words (values, key);
  return values;
}

gboolean outcome_is_refused (const LsScenario *scenario) {
  return ls_config_errors_any (scenario->errors);
}

char *outcome_path (const LsConfigKey *key, const char *const *parts,
                    const char *const (*stars)[2]) {
  g_autoptr (GString) path = g_string_new (key->path);
  gboolean wanted = FALSE;

  for (; *parts != NULL; parts++)
    wanted = wanted || g_str_has_prefix (key->path, *parts);
  for (; (*stars)[0] != NULL; stars++)
    g_string_replace (path, (*stars)[0], (*stars)[1], 1);
  return wanted && strchr (path->str, '*') == NULL ? g_string_free (g_steal_pointer (&path), FALSE)
                                                   : NULL;
}

gboolean outcome_is_heard (OutcomeFunc outcome, const char *base, const char *before,
                           const char *path, const GPtrArray *values) {
  gboolean legal = FALSE;

  for (guint i = 0; i < values->len; i++) {
    g_autofree char *setting = g_strdup_printf ("%s=%s", path, (char *) values->pdata[i]);
    g_autofree char *after = outcome (base, setting);

    if (after != NULL && strcmp (after, before) != 0)
      return TRUE;
    legal = legal || after != NULL;
  }
  return !legal;
}

gboolean outcome_may_be_silent (const OutcomeInert *inert, const char *base, const char *path) {
  for (; inert->path != NULL; inert++)
    if (g_str_equal (inert->path, path) &&
        (inert->base == NULL || base == NULL || g_str_equal (inert->base, base)))
      return TRUE;
  return FALSE;
}
