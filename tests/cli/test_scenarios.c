/* The shipped topologies and workloads: legal as they stand, without a warning, and never a crash when
 * they are cut at any byte or mutated; either everything is built or there is a fault. */
#include "base/random.h"
#include "cli/scenario.h"
#include "config/output.h"
#include "suite.h"

#include <string.h>

/* A topology and a workload that go together. */
typedef struct {
  const char *topology;
  const char *workload;
  const char *set;
} Pair;

static const Pair pairs[] = {
    {"dgx1-v100", "resnet50", NULL},         {"dgx-h100", "llama2-7b-zero3", "cluster.nodes=1"},
    {"dgx-h100", "llama2-70b", NULL},        {"dgx-a100", "gpt3-175b", "cluster.nodes=128"},
    {"cloud-8gpu", "llama2-7b-zero3", NULL}, {"pcie-workstation", "llama2-7b-zero3", NULL},
};

static char *read_file (const char *folder, const char *name) {
  g_autofree char *path = g_strdup_printf ("%s/%s/%s.yaml", LS_TEST_SOURCE_DIR, folder, name);
  char *text = NULL;

  ck_assert_msg (g_file_get_contents (path, &text, NULL, NULL), "%s", path);
  return text;
}

/* Loads, builds and writes; returns the faults as text. */
static char *load (const LsConfigSchema *schema, const char *topology, const char *workload,
                   const char *set) {
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);
  g_autoptr (LsConfig) config = NULL;

  ls_config_builder_add_text (builder, "topology.yaml", topology, -1);
  ls_config_builder_add_text (builder, "workload.yaml", workload, -1);
  if (set != NULL)
    ls_config_builder_set (builder, set);
  config = ls_config_builder_build (builder, errors);
  if (config != NULL && ls_config_is_readable (config)) {
    LsCluster *cluster = ls_cluster_new (config, errors);
    LsWorkload *built = cluster != NULL ? ls_workload_new (config, cluster, errors) : NULL;

    if (built == NULL && !ls_config_errors_any (errors))
      ck_abort_msg ("neither built nor refused:\n%s\n%s", topology, workload);
    ls_workload_free (built);
    ls_cluster_free (cluster);
  }
  if (config != NULL) {
    g_autofree char *yaml = ls_config_to_yaml (config, LS_CONFIG_WRITE_DEFAULTS);

    if (yaml == NULL)
      ck_abort_msg ("nothing written");
  }
  return ls_config_errors_text (errors);
}

START_TEST (shipped_scenarios_are_legal) {
  const Pair *pair = &pairs[_i];
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *topology = read_file ("topologies", pair->topology);
  g_autofree char *workload = read_file ("workloads", pair->workload);
  g_autofree char *faults = load (schema, topology, workload, pair->set);

  ck_assert_str_eq (faults, "");
}
END_TEST

/* A scaled-down run takes every tenth length, starting anywhere. */
static gsize stride (void) {
  return MAX (1, 10 / test_scaled (10));
}

START_TEST (truncated_scenarios_never_crash) {
  const Pair *pair = &pairs[_i];
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *topology = read_file ("topologies", pair->topology);
  g_autofree char *workload = read_file ("workloads", pair->workload);

  for (gsize length = 0; length < strlen (topology); length += stride ()) {
    g_autofree char *cut = g_strndup (topology, length);
    g_autofree char *faults = load (schema, cut, workload, "cluster.nodes=1");
  }
  for (gsize length = 0; length < strlen (workload); length += stride ()) {
    g_autofree char *cut = g_strndup (workload, length);
    g_autofree char *faults = load (schema, topology, cut, "cluster.nodes=1");
  }
}
END_TEST

/* Swaps words and numbers of a text for others that are legal somewhere, so that what comes out is
 * mostly well formed and reaches the checks of the parts. */
static char *mutate (LsRandom *random, const char *text) {
  static const char *const values[] = {"0",    "1",   "-1",     "3",    "1e9",  "400 Gb/s", "1 us",
                                       "50 %", "all", "auto",   "[]",   "{}",   "null",     "true",
                                       "8",    "64",  "fp16",   "bf16", "full", "[1, 2]",   "gpipe",
                                       "7",    "5",   "100000", "2",    "none", "layers",   "sgd"};
  g_autoptr (GRegex) regex = g_regex_new ("(?<=: )[^,{}\\[\\]#\n]+", 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  GString *out = g_string_new (NULL);
  int end = 0;

  g_regex_match (regex, text, 0, &match);
  for (; g_match_info_matches (match); g_match_info_next (match, NULL)) {
    int first = 0, last = 0;

    g_match_info_fetch_pos (match, 0, &first, &last);
    if (ls_random_below (random, 12) != 0)
      continue;
    g_string_append_len (out, text + end, first - end);
    g_string_append (out, values[ls_random_below (random, G_N_ELEMENTS (values))]);
    end = last;
  }
  g_string_append (out, text + end);
  return g_string_free (out, FALSE);
}

START_TEST (mutated_scenarios_never_crash) {
  const Pair *pair = &pairs[_i];
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *topology = read_file ("topologies", pair->topology);
  g_autofree char *workload = read_file ("workloads", pair->workload);
  LsRandom random;

  ls_random_init (&random, 11, "mutate-scenario", (guint64) _i);
  for (guint i = 0; i < test_scaled (400); i++) {
    g_autofree char *other_topology = mutate (&random, topology);
    g_autofree char *other_workload = mutate (&random, workload);
    g_autofree char *faults = load (schema, other_topology, other_workload, NULL);
  }
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 300);
  tcase_add_loop_test (tcase, shipped_scenarios_are_legal, 0, G_N_ELEMENTS (pairs));
  tcase_add_loop_test (tcase, truncated_scenarios_never_crash, 0, G_N_ELEMENTS (pairs));
  tcase_add_loop_test (tcase, mutated_scenarios_never_crash, 0, G_N_ELEMENTS (pairs));
}

LS_TEST_MAIN ("scenarios", add)
