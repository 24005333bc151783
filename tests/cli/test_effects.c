/* No key is silently ignored: given a legal value that is not its default, each key of workload, cluster and stragglers
 * either changes what is simulated or is told to have no effect, in a few small scenarios.
 *
 * Model:      those of the cluster in one of the scenarios, the others in every one. The answer of a scenario is its summary, its memory and, of a run of updates, what each worker did; what it says
 *             is its faults and warnings. Values are made from the row of the schema: other words, both truth values, numbers
 *             around the default. A key passes in a scenario when one of its legal values changes the answer or what is said.
 * Left out:   keys whose value must name something (files, nodes, elements), of learning, campaigns, costs and traces.
 */
#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/scenario.h"
#include "faults/stragglers_run.h"
#include "suite.h"
#include "train/summary.h"

static const char *const bases[] = {"dense", "zero3", "moe", "context", "async", "traffic"};

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

/* What a scenario says and answers; NULL: it is refused. */
static char *outcome (const char *base, const char *setting) {
  const char *const settings[] = {setting, NULL};
  g_autofree char *path =
      g_strdup_printf ("%s/tests/cli/effects/%s.yaml", LS_TEST_SOURCE_DIR, base);
  g_autoptr (LsScenario) scenario = ls_scenario_from_path (path, settings);
  g_autofree char *said = ls_config_errors_text (scenario->errors);
  GString *out;

  if (ls_config_errors_any (scenario->errors) || scenario->workload == NULL)
    return NULL;
  out = g_string_new (said);
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

static GPtrArray *values_of (const LsConfigKey *key) {
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

/* Names in place of stars, as the scenarios have them; NULL: of a key that is not looked at. */
static char *path_of (const LsConfigKey *key) {
  static const char *const parts[] = {"workload.", "cluster.", "faults.stragglers."};
  static const char *const stars[][2] = {{"groups.*", "groups.main"},
                                         {"fabrics.*", "fabrics.compute"},
                                         {"nics.*", "nics.compute"},
                                         {"stragglers.*", "stragglers.slow"}};
  g_autoptr (GString) path = g_string_new (key->path);
  gboolean wanted = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    wanted = wanted || g_str_has_prefix (key->path, parts[i]);
  for (guint i = 0; i < G_N_ELEMENTS (stars); i++)
    g_string_replace (path, stars[i][0], stars[i][1], 1);
  if (!wanted || strchr (path->str, '*') != NULL)
    return NULL;
  return g_string_free (g_steal_pointer (&path), FALSE);
}

/* Is one of the values told or felt, where one is legal at all? */
static gboolean is_heard (const char *base, const char *before, const char *path,
                          const GPtrArray *values) {
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

/* Why a key may be silent where it is legal. NULL: anywhere; cluster keys describe machines and must be heard somewhere only. */
static const struct {
  const char *base, *path, *why;
} inert[] = {
    {NULL, "cluster.fabrics.compute.kind", "other kinds need more keys"},
    {NULL, "cluster.groups.main.node.host.cores", "no loader here needs a core's whole time"},
    {NULL, "cluster.groups.main.node.host.count", "of racks"},
    {NULL, "cluster.groups.main.node.host.sockets", "of nodes without NVLink"},
    {NULL, "cluster.groups.main.node.host.socket_link", "of nodes without NVLink"},
    {NULL, "cluster.groups.main.node.host.nvme", "of checkpoints"},
    {NULL, "cluster.storage.write", "of checkpoints"},
    {NULL, "workload.model.kind", "other kinds need more keys"},
    {NULL, "workload.model.compute.dist", "other ones need more keys"},
    {NULL, "workload.batch.documents.dist", "other ones need more keys"},
    {NULL, "faults.stragglers.slow.time_factor.dist", "other ones need more keys"},
    {"dense", "workload.input.threads", "so few bytes that one thread is enough"},
    {"zero3", "workload.precision.loss_scaling.growth", "after 2000 steps"},
    {"zero3", "workload.precision.loss_scaling.backoff", "after an overflow"},
    {"moe", "workload.parallel.tensor", "only what is given is legal"},
    {NULL, "workload.parallel.sequence_parallel", "what is not the default is given"},
    {"moe", "workload.parallel.data", "only what is given is legal"},
    {"context", "workload.model.causal", "only what is given is legal"},
    {"context", "workload.zero.bucket", "adapters fill no bucket"},
};

static gboolean may_be_silent (const char *base, const char *path) {
  for (guint i = 0; i < G_N_ELEMENTS (inert); i++)
    if (g_str_equal (inert[i].path, path) &&
        (inert[i].base == NULL || base == NULL || g_str_equal (inert[i].base, base)))
      return TRUE;
  return FALSE;
}

START_TEST (no_key_is_ignored_in_silence) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree guint *silent_in = g_new0 (guint, ls_config_schema_size (schema));
  g_autoptr (GString) silent = g_string_new (NULL);
  guint keys = 0;

  for (guint b = 0; b < G_N_ELEMENTS (bases); b++) {
    g_autofree char *before = outcome (bases[b], "seed=1");

    ck_assert_msg (before != NULL, "%s is refused", bases[b]);
    for (guint i = 0; i < ls_config_schema_size (schema); i++) {
      const LsConfigKey *key = ls_config_schema_row (schema, i);
      g_autofree char *path = path_of (key);
      g_autoptr (GPtrArray) values = values_of (key);

      if (path == NULL || values->len == 0)
        continue;
      keys++;
      if (is_heard (bases[b], before, path, values))
        continue;
      silent_in[i]++;
      if (!g_str_has_prefix (path, "cluster.") && !may_be_silent (bases[b], path))
        g_string_append_printf (silent, "%s in %s\n", path, bases[b]);
    }
  }
  for (guint i = 0; i < ls_config_schema_size (schema); i++)
    if (silent_in[i] == G_N_ELEMENTS (bases)) {
      g_autofree char *path = path_of (ls_config_schema_row (schema, i));
      if (!may_be_silent (NULL, path))
        g_string_append_printf (silent, "%s everywhere\n", path);
    }
  ck_assert_str_eq (silent->str, "");
  ck_assert_uint_ge (keys, 1000);
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, no_key_is_ignored_in_silence);
}

LS_TEST_MAIN ("effects", add)
