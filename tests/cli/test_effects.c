/* No key is silently ignored: given a legal value that is not its default, each key of workload, cluster and stragglers
 * either changes what is simulated or is told to have no effect, in a few small scenarios.
 *
 * Model:      those of the cluster in one of the scenarios, the others in every one. The answer of a scenario is its summary, its memory and, of a run of updates, what each worker did; what it says
 *             is its faults and warnings. Values are made from the row of the schema: other words, both truth values, numbers
 *             around the default. A key passes in a scenario when one of its legal values changes the answer or what is said.
 * Left out:   keys whose value must name something (files, nodes, elements), of learning, campaigns, costs and traces.
 */
#include <string.h>

#include "outcomes.h"
#include "suite.h"

static const char *const bases[] = {"dense", "zero3", "moe", "context", "async", "traffic"};

static const char *const parts[] = {"workload.", "cluster.", "faults.stragglers.", NULL};
static const char *const stars[][2] = {{"groups.*", "groups.main"},
                                       {"fabrics.*", "fabrics.compute"},
                                       {"nics.*", "nics.compute"},
                                       {"stragglers.*", "stragglers.slow"},
                                       {NULL, NULL}};

/* What a scenario says and answers; NULL: it is refused. */
static char *outcome (const char *base, const char *setting) {
  g_autoptr (LsScenario) scenario = outcome_scenario (base, setting);
  g_autofree char *said = outcome_said (scenario), *answer = outcome_of (scenario);

  return answer != NULL ? g_strconcat (said, answer, NULL) : NULL;
}

/* Why a key may be silent where it is legal. NULL: anywhere; cluster keys describe machines and must be heard somewhere only. */
static const OutcomeInert inert[] = {
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
    {"moe", "workload.software.layer_graphs", "collectives hide the launches that they save"},
    {NULL, "workload.parallel.sequence_parallel", "what is not the default is given"},
    {"moe", "workload.parallel.data", "only what is given is legal"},
    {"context", "workload.model.causal", "only what is given is legal"},
    {"context", "workload.zero.bucket", "adapters fill no bucket"},
    {NULL, NULL, NULL},
};

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
      g_autofree char *path = outcome_path (key, parts, stars);
      g_autoptr (GPtrArray) values = outcome_values (key);

      if (path == NULL || values->len == 0)
        continue;
      keys++;
      if (outcome_is_heard (outcome, bases[b], before, path, values))
        continue;
      silent_in[i]++;
      if (!g_str_has_prefix (path, "cluster.") && !outcome_may_be_silent (inert, bases[b], path))
        g_string_append_printf (silent, "%s in %s\n", path, bases[b]);
    }
  }
  for (guint i = 0; i < ls_config_schema_size (schema); i++)
    if (silent_in[i] == G_N_ELEMENTS (bases)) {
      g_autofree char *path = outcome_path (ls_config_schema_row (schema, i), parts, stars);
      if (!outcome_may_be_silent (inert, NULL, path))
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
