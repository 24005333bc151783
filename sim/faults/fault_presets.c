/* Tables of published failures. */
#include "faults/fault_presets.h"

#include <string.h>

#include "base/assert.h"

/* Lognormal with the median and mean of a table: sigma = sqrt (2 ln (mean / median)). */
static const LsFaultCause llama3[] = {
    {"faulty-gpu", LS_COMPONENT_GPU, 148, 0, 0},
    {"hbm3", LS_COMPONENT_HBM, 72, 0, 0},
    {"software-bug", LS_COMPONENT_SOFTWARE, 54, 0, 0},
    {"switch-or-cable", LS_COMPONENT_CABLE, 35, 0, 0},
    {"host-maintenance", LS_COMPONENT_HOST, 32, 0, 0},
    {"gpu-sram", LS_COMPONENT_GPU, 19, 0, 0},
    {"gpu-system-processor", LS_COMPONENT_GPU, 17, 0, 0},
    {"nic", LS_COMPONENT_NIC, 7, 0, 0},
    {"nccl-watchdog", LS_COMPONENT_SOFTWARE, 7, 0, 0},
    {"silent-data-corruption", LS_COMPONENT_GPU, 6, 0, 0},
    {"gpu-thermal", LS_COMPONENT_GPU, 6, 0, 0},
    {"ssd", LS_COMPONENT_HOST, 3, 0, 0},
    {"power-supply", LS_COMPONENT_HOST, 3, 0, 0},
    {"chassis", LS_COMPONENT_HOST, 2, 0, 0},
    {"io-expansion-board", LS_COMPONENT_HOST, 2, 0, 0},
    {"dependency", LS_COMPONENT_SOFTWARE, 2, 0, 0},
    {"cpu", LS_COMPONENT_HOST, 2, 0, 0},
    {"system-memory", LS_COMPONENT_HOST, 2, 0, 0},
};
static const LsFaultCause rsc1[] = {{"node", LS_COMPONENT_HOST, 6.50, 0, 0}};
static const LsFaultCause rsc2[] = {{"node", LS_COMPONENT_HOST, 2.34, 0, 0}};
static const LsFaultCause stepfun[] = {
    {"gpu", LS_COMPONENT_HOST, 1.1135, 18.59, 2.095},
    {"stress-test", LS_COMPONENT_HOST, 0.6322, 17.489, 1.984},
    {"fan", LS_COMPONENT_HOST, 0.2371, 73.522, 1.472},
    {"nic", LS_COMPONENT_HOST, 0.2155, 12.691, 2.452},
    {"troubleshooting", LS_COMPONENT_HOST, 0.1006, 19.524, 0.760},
    {"software-tool", LS_COMPONENT_HOST, 0.0503, 16.93, 1.343},
};

#define LLAMA3                                                                          \
  "Llama Team, The Llama 3 Herd of Models (arXiv 2407.21783), table 5: 419 unexpected " \
  "interruptions of 16,384 H100 in 54 days"
#define STEPFUN                                                                                \
  "InfiniteHBD trace (StepFun), 400 servers of 8 GPUs, 348 days: faults per 1,000 node-days, " \
  "median and mean repair time by class"
#define KOKOLIS                                                                               \
  "Kokolis et al., Revisiting Reliability in Large-Scale Machine Learning Research Clusters " \
  "(HPCA 2025, arXiv 2410.21680): failures per 1,000 node-days"
#define BORROWED "repair times of all faults of the StepFun trace (median 23.8 h, mean 152 h)"

static const LsFaultPreset presets[] = {
    {.name = "llama3-405b",
     .summary = "causes of the 54 days of Llama 3 405B on 16,384 H100",
     .nodes = 2048,
     .gpus_per_node = 8,
     .days = 54,
     .repair_median_h = 23.772,
     .repair_sigma = 1.926,
     .source = LLAMA3,
     .repair_source = BORROWED,
     .causes = llama3,
     .n_causes = G_N_ELEMENTS (llama3)},
    {.name = "rsc-1",
     .summary = "Meta's RSC-1, 16,000 A100: 6.50 failures per 1,000 node-days",
     .gpus_per_node = 8,
     .repair_median_h = 23.772,
     .repair_sigma = 1.926,
     .source = KOKOLIS,
     .repair_source = BORROWED,
     .causes = rsc1,
     .n_causes = G_N_ELEMENTS (rsc1)},
    {.name = "rsc-2",
     .summary = "Meta's RSC-2, 8,000 A100: 2.34 failures per 1,000 node-days",
     .gpus_per_node = 8,
     .repair_median_h = 23.772,
     .repair_sigma = 1.926,
     .source = KOKOLIS,
     .repair_source = BORROWED,
     .causes = rsc2,
     .n_causes = G_N_ELEMENTS (rsc2)},
    {.name = "stepfun",
     .summary = "StepFun's pre-training cluster: faults by class with their repair times",
     .gpus_per_node = 8,
     .repair_median_h = 23.772,
     .repair_sigma = 1.926,
     .source = STEPFUN,
     .repair_source = STEPFUN,
     .causes = stepfun,
     .n_causes = G_N_ELEMENTS (stepfun)},
};

guint ls_fault_preset_count (void) {
  return G_N_ELEMENTS (presets);
}

const LsFaultPreset *ls_fault_preset_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (presets), "preset %u of failures", i);
  return &presets[i];
}

const LsFaultPreset *ls_fault_preset_find (const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    if (g_strcmp0 (presets[i].name, name) == 0)
      return &presets[i];
  return NULL;
}

const char *const *ls_fault_preset_names (void) {
  /* In the order of the table; a test compares the two. */
  static const char *const names[] = {"llama3-405b", "rsc-1", "rsc-2", "stepfun", NULL};

  return names;
}

guint ls_component_per_node (LsComponent component, guint gpus_per_node) {
  switch (component) {
  case LS_COMPONENT_GPU:
  case LS_COMPONENT_HBM:
  case LS_COMPONENT_NVLINK:
  case LS_COMPONENT_NIC:   /* one per GPU, as in the machines of the presets */
  case LS_COMPONENT_CABLE: /* of its adapter */
    return gpus_per_node;
  case LS_COMPONENT_HOST:
    return 1;
  default:
    return 0;
  }
}

gboolean ls_component_keeps_nodes (LsComponent component) {
  return component == LS_COMPONENT_STORAGE || component == LS_COMPONENT_SOFTWARE;
}

/* Causes without a machine of their own (software) belong to the job: their rate is that of the window's
 * job, in proportion to its nodes. */
LsFailureSource ls_fault_preset_source (const LsFaultPreset *preset, guint cause,
                                        guint gpus_per_node) {
  LS_REQUIRE (cause < preset->n_causes, "cause %u of %s", cause, preset->name);
  const LsFaultCause *row = &preset->causes[cause];
  double node_days = preset->days > 0 ? preset->nodes * preset->days : 1000;
  guint own = ls_component_per_node (row->component, preset->gpus_per_node);
  guint per_node = MAX (own, 1u);
  double mean_s = node_days * per_node / row->count * 86400;
  double median_h = row->repair_median_h > 0 ? row->repair_median_h : preset->repair_median_h;
  double sigma = row->repair_sigma > 0 ? row->repair_sigma : preset->repair_sigma;
  LsFailureSource source = {.name = row->name,
                            .component = row->component,
                            .per_node = own > 1 ? gpus_per_node : 1,
                            .keeps_nodes = ls_component_keeps_nodes (row->component),
                            .lifetime = ls_distribution ("exponential", mean_s, 0, 0),
                            .repair = ls_distribution ("lognormal", median_h * 3600, sigma, 0)};

  if (source.keeps_nodes)
    source.repair = ls_distribution ("constant", 1e-6, 0, 0);
  return source;
}
