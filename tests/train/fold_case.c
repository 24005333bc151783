/* See fold_case.h. */
#include "fold_case.h"

#include "base/random.h"
#include "hw/nodes.h"
#include "train/pipeline/pipeline.h"
#include "train/run/summary.h"

static LsCluster *new_cluster (const FoldCase *test) {
  const LsFabricSpec fabric = {
      .name = (char *) "compute",
      .kind = test->kind,
      .routing = test->routing,
      .hop_latency_ps = 500000,
      .rails = MAX (test->rails, 1u),
      .leaf_radix = test->leaf_radix > 0 ? test->leaf_radix : 64,
      .oversubscription = test->oversubscription > 0 ? test->oversubscription : 1,
      .spine_oversubscription = test->spine_oversubscription > 0 ? test->spine_oversubscription : 1,
      .tiers = test->tiers,
      .spine_radix = test->spine_radix,
      .hop_ps = -1};
  const LsStorageSpec storage = {
      .present = TRUE, .read_bytes_per_s = 2e9, .write_bytes_per_s = 1e9, .latency_ps = 1000000000};
  LsNodeGroup group = {.name = (char *) "main", .nodes = test->nodes};
  ls_node_spec_from_preset (&group.node, ls_node_find (test->preset, NULL));
  if (test->gpus > 0)
    group.node.gpus = test->gpus;
  LsCluster *cluster = ls_cluster_new_from (&group, 1, &fabric, 1, test->input ? &storage : NULL);
  if (test->slow != NULL)
    ls_cluster_add_override (
        cluster,
        &(LsLinkOverride){.name = (char *) "slow", .target = (char *) test->slow, .share = 0.5});
  return cluster;
}

/* The n-th permutation of the usual order. */
static void permute (LsLayout *layout, guint n) {
  LsAxis left[LS_LAYOUT_AXES];

  memcpy (left, layout->order, sizeof left);
  for (guint i = 0, size = LS_LAYOUT_AXES; i < LS_LAYOUT_AXES; i++, size--) {
    guint taken = n % size;

    n /= size;
    layout->order[i] = left[taken];
    memmove (&left[taken], &left[taken + 1], (size - taken - 1) * sizeof *left);
  }
}

static guint ranks_of (const FoldCase *test) {
  return test->tensor * MAX (test->context, 1u) * test->data * test->pipeline;
}

static LsWorkload *new_workload (const FoldCase *test) {
  guint ranks = ranks_of (test);
  LsModel *model =
      test->new_model != NULL ? test->new_model () : ls_model_new_preset (test->model, NULL);
  LsWorkload *workload = ls_workload_new_default (model, ranks);
  workload->gpus = MAX (workload->gpus, ranks);
  workload->layout = ls_layout (test->tensor, test->data, test->pipeline);
  workload->layout.expert = MAX (test->expert, 1u);
  workload->layout.expert_tensor = test->expert_tensor;
  workload->layout.context = MAX (test->context, 1u);
  workload->context_kind = test->context_kind;
  permute (&workload->layout, test->order);
  workload->zero.shard_group = test->shard_group;
  if (test->documents) {
    workload->documents = ls_distribution ("exponential", 60, 0, 0);
    workload->evaluation = (LsPause){.every = 2, .steps = 1, .time_ps = -1};
    workload->logging = (LsPause){.every = 1, .steps = 1, .time_ps = 1000000};
  }
  workload->seq_len = 512;
  workload->global_batch = test->microbatches * test->data;
  workload->steps = test->steps;
  if (test->software != NULL)
    workload->software = test->software;
  workload->zero.stage = test->zero;
  workload->zero.overlap = test->overlap;
  workload->zero.overlap_gather = test->overlap_gather;
  if (test->bucket_bytes > 0)
    workload->zero.bucket_bytes = test->bucket_bytes;
  workload->zero.offload = test->zero > 0 ? test->offload : LS_OFFLOAD_NONE;
  workload->sequence_parallel = test->sequence_parallel && test->tensor > 1;
  workload->schedule = test->schedule;
  if (test->input)
    workload->input = (LsInput){.threads = 2,
                                .bytes_per_sample = 4000000,
                                .cpu_s_per_sample = 2e-3,
                                .prefetch = 2,
                                .device_bytes_per_sample = 600000};
  return workload;
}

typedef struct {
  LsSimulation *simulation;
  GArray *rows; /* gint64: all steps of all places */
} Side;

static gboolean on_step (gpointer self, const LsStepResult *step, GError **error) {
  Side *side = self;
  (void) error;
  for (guint place = 0; place < step->n_places; place++) {
    gint64 row[LS_N_PARTS + 4] = {step->start_ps, step->end_ps, step->peak_bytes[place],
                                  step->caused_wait_ps[place]};
    for (guint part = 0; part < LS_N_PARTS; part++)
      row[4 + part] = step->parts_ps[place * LS_N_PARTS + part];
    g_array_append_vals (side->rows, row, G_N_ELEMENTS (row));
  }
  return TRUE;
}

/* What a trace sees, thrown away. */
static void on_op (gpointer self, const LsOpRecord *record) {
  (void) self, (void) record;
}

/* `observe` > 0: every so-many-th rank is watched, as for a trace, which makes each of its kernels an event. */
static void run_side (Side *side, const LsCluster *cluster, const LsWorkload *workload,
                      const LsJob *job, const LsSimulationOptions *options, gboolean convoys,
                      guint observe) {
  static const LsObserver observer = {.op = on_op};
  const LsSimulationJob one = {.workload = workload, .job = job};
  const LsRunOptions how = {.step = on_step, .step_self = side};
  g_autoptr (GError) error = NULL;
  side->rows = g_array_new (FALSE, FALSE, sizeof (gint64));
  side->simulation = ls_simulation_new_with (cluster, &one, 1, 1, options);
  LsEngine *engine = ls_simulation_engine (side->simulation);
  ls_engine_set_convoys (engine, convoys);
  ls_engine_add_observer (engine, &observer, NULL);
  for (guint rank = 0; observe > 0 && rank < ls_engine_n_ranks (engine); rank += observe)
    ls_engine_observe_rank (engine, rank, TRUE);
  if (!ls_simulation_run (side->simulation, &how, &error))
    g_error ("%s", error->message);
}

static char *compare_rank (const Side *all, const Side *folded, guint rank) {
  LsEngine *a = ls_simulation_engine (all->simulation);
  LsEngine *b = ls_simulation_engine (folded->simulation);
  guint place = ls_simulation_place (folded->simulation, rank);
  guint n = ls_simulation_n_places (all->simulation),
        m = ls_simulation_n_places (folded->simulation);
  guint width = LS_N_PARTS + 4;
  for (guint step = 0; step < ls_simulation_n_steps (all->simulation, 0); step++)
    for (guint k = 0; k < width; k++) {
      gint64 x = g_array_index (all->rows, gint64, (step * n + rank) * width + k);
      gint64 y = g_array_index (folded->rows, gint64, (step * m + place) * width + k);
      /* Of equals that come last, the lowest rank is charged with the wait. */
      if (k == 3 && ls_simulation_rank (folded->simulation, place) != rank)
        continue;
      if (x != y)
        return g_strdup_printf ("rank %u, step %u, %s: %" G_GINT64_FORMAT
                                " unfolded, %" G_GINT64_FORMAT " folded",
                                rank, step,
                                k == 0   ? "start"
                                : k == 1 ? "end"
                                : k == 2 ? "peak"
                                : k == 3 ? "caused wait"
                                         : ls_part_name ((LsPart) (k - 4)),
                                x, y);
    }
  gint64 memory_a[LS_MEMORY_KINDS], memory_b[LS_MEMORY_KINDS];
  gboolean same =
      ls_engine_bytes_sent (a, rank) == ls_engine_bytes_sent (b, place) &&
      ls_engine_bytes_received (a, rank) == ls_engine_bytes_received (b, place) &&
      !(ls_engine_flops (a, rank) < ls_engine_flops (b, place)) &&
      !(ls_engine_flops (a, rank) > ls_engine_flops (b, place)) &&
      ls_engine_memory_peak (a, rank, memory_a) == ls_engine_memory_peak (b, place, memory_b) &&
      memcmp (memory_a, memory_b, sizeof memory_a) == 0;
  if (same)
    return NULL;
  return g_strdup_printf (
      "rank %u: bytes sent %g and %g, received %g and %g, FLOPs %g and %g, or memory", rank,
      (double) ls_engine_bytes_sent (a, rank), (double) ls_engine_bytes_sent (b, place),
      (double) ls_engine_bytes_received (a, rank), (double) ls_engine_bytes_received (b, place),
      ls_engine_flops (a, rank), ls_engine_flops (b, place));
}

/* Whom they are charged to may differ among equals; their sum does not. */
static LsInt128 all_waits_ps (LsSimulation *simulation) {
  LsInt128 sum_ps = 0;
  for (guint place = 0; place < ls_simulation_n_places (simulation); place++)
    sum_ps += ls_engine_all_caused_wait_ps (ls_simulation_engine (simulation), place);
  return sum_ps;
}

/* The summary but for what counts events and the wall clock, and for the names of resources that held
 * transfers down: of those that are alike, a folded run has one. */
static char *lasting (LsSimulation *simulation, gboolean names) {
  LsSummary *summary = ls_summary_new (simulation);
  summary->events = 0;
  summary->wall_s = 0;
  if (!names)
    g_ptr_array_set_size (summary->bottlenecks, 0);
  for (guint j = 0; j < summary->n_jobs && !names; j++)
    g_ptr_array_set_size (summary->jobs[j]->bottlenecks, 0);
  char *json = ls_summary_to_json (summary);
  ls_summary_free (summary);
  return json;
}

static void side_clear (Side *side) {
  ls_simulation_free (side->simulation);
  g_array_unref (side->rows);
}

/* The second way against all ranks, one event at a time (traced, if the second does not fold; some are then traced
 * there too). */
static FoldResult compare_ways (const FoldCase *test, gboolean folds) {
  FoldResult result = {0};
  g_autoptr (GError) error = NULL;
  g_autoptr (LsCluster) cluster = new_cluster (test);
  g_autoptr (LsWorkload) workload = new_workload (test);
  if (!ls_workload_resolve (workload, &error))
    return result;
  g_autoptr (LsJob) job = ls_job_build (workload, cluster, &error);
  if (job == NULL)
    return result;
  result.ranks = job->n_ranks;
  g_autofree gint64 *factors = g_new (gint64, job->n_ranks);
  for (guint rank = 0; rank < job->n_ranks; rank++)
    factors[rank] =
        test->straggler == (gint64) rank ? ls_usage_from_double (test->factor) : LS_USAGE_ONE;
  LsSimulationOptions options = {.factor_of_rank = test->straggler >= 0 ? factors : NULL};
  Side all, folded;
  run_side (&all, cluster, workload, job, &options, FALSE, folds ? 0 : 1);
  options.fold = folds;
  run_side (&folded, cluster, workload, job, &options, TRUE, folds || test->data % 3 > 0 ? 0 : 5);
  result.why = ls_simulation_unfolded_why (folded.simulation);
  result.classes = ls_simulation_n_places (folded.simulation);
  result.events = ls_engine_n_events (ls_simulation_engine (all.simulation));
  result.folded_events = ls_engine_n_events (ls_simulation_engine (folded.simulation));
  for (guint rank = 0; rank < job->n_ranks && result.differs == NULL; rank++)
    result.differs = compare_rank (&all, &folded, rank);
  if (result.differs == NULL && all_waits_ps (all.simulation) != all_waits_ps (folded.simulation))
    result.differs =
        g_strdup_printf ("all waits: %g and %g ps", (double) all_waits_ps (all.simulation),
                         (double) all_waits_ps (folded.simulation));
  g_autofree char *a = lasting (all.simulation, !folds);
  g_autofree char *b = lasting (folded.simulation, !folds);
  if (result.differs == NULL && !g_str_equal (a, b))
    result.differs = g_strdup_printf ("summaries: %s\n%s", a, b);
  side_clear (&all);
  side_clear (&folded);
  return result;
}

FoldResult fold_compare (const FoldCase *test) {
  return compare_ways (test, TRUE);
}

FoldResult fold_compare_convoys (const FoldCase *test) {
  return compare_ways (test, FALSE);
}

static guint pick (LsRandom *random, const guint *from, guint n) {
  return from[ls_random_below (random, n)];
}
#define PICK(random, ...)                     \
  pick (random, (const guint[]){__VA_ARGS__}, \
        sizeof ((const guint[]){__VA_ARGS__}) / sizeof (guint))

FoldCase fold_random (guint64 seed) {
  static const char *const presets[] = {"dgx-h100",     "dgx-a100",    "dgx-1-v100",
                                        "pcie-8x-h100", "mi300x-node", "cloud-8x-l40s"};
  LsRandom random;
  ls_random_init (&random, seed, "fold", 0);
  FoldCase test = {
      .preset = presets[ls_random_below (&random, G_N_ELEMENTS (presets))],
      .model = "gpt2-medium",
      .kind = PICK (&random, LS_FABRIC_FAT_TREE, LS_FABRIC_FAT_TREE, LS_FABRIC_SINGLE_SWITCH),
      .routing = PICK (&random, LS_ROUTING_SPRAY, LS_ROUTING_SPRAY, LS_ROUTING_ECMP),
      .rails = PICK (&random, 1, 2, 4, 8),
      .leaf_radix = PICK (&random, 4, 6, 8, 12, 16, 64),
      .oversubscription = PICK (&random, 1, 2, 3),
      .tensor = PICK (&random, 1, 2, 4, 8),
      .data = PICK (&random, 1, 2, 3, 4, 6, 8),
      .pipeline = PICK (&random, 1, 1, 2, 3, 4),
      .zero = (int) ls_random_below (&random, 4),
      .overlap = ls_random_below (&random, 2) == 0,
      .sequence_parallel = ls_random_below (&random, 2) == 0,
      .schedule = (LsScheduleKind) ls_random_below (&random, LS_N_SCHEDULES),
      .microbatches = PICK (&random, 1, 2, 3, 4),
      .steps = 2,
      .input = ls_random_below (&random, 4) == 0,
      .straggler = -1,
      .factor = 1.5};
  const LsPipelineSize size = {
      .devices = test.pipeline, .virtual_stages = 1, .microbatches = test.microbatches};
  const guint stages = ls_pipeline_n_stages (ls_pipeline_get (test.schedule), &size);
  if (ls_pipeline_fault (ls_pipeline_get (test.schedule), &size) != NULL || 24 % stages != 0)
    test.schedule = LS_SCHEDULE_1F1B; /* not for this size */
  guint ranks = test.tensor * test.data * test.pipeline;
  test.nodes = (ranks + 7) / 8 + (guint) ls_random_below (&random, 2);
  if (ls_random_below (&random, 3) == 0)
    test.straggler = (gint64) ls_random_below (&random, ranks);
  return test;
}

FoldCase fold_random_axes (guint64 seed) {
  FoldCase test = fold_random (seed);
  LsRandom random;

  ls_random_init (&random, seed, "axes", 0);
  test.preset = "dgx-h100";
  test.model = "gpt2-medium";
  test.kind = LS_FABRIC_SINGLE_SWITCH;
  test.tensor = PICK (&random, 1, 1, 2, 4);
  test.context = PICK (&random, 1, 2, 2, 4);
  test.context_kind = (LsContextKind) ls_random_below (&random, LS_N_CONTEXT_KINDS);
  test.data = PICK (&random, 1, 2, 3);
  test.pipeline = PICK (&random, 1, 1, 2, 3);
  test.expert = PICK (&random, 1, test.context, test.data, test.context * test.data);
  test.schedule = ls_random_below (&random, 2) == 0 ? LS_SCHEDULE_GPIPE : LS_SCHEDULE_1F1B;
  test.order = (guint) ls_random_below (&random, 120);
  test.documents = ls_random_below (&random, 3) == 0;
  test.shard_group = PICK (&random, 0, 0, test.context, test.data);
  test.nodes = (ranks_of (&test) + 7) / 8;
  test.straggler =
      ls_random_below (&random, 4) == 0 ? (gint64) ls_random_below (&random, ranks_of (&test)) : -1;
  return test;
}

char *fold_describe (const FoldCase *test) {
  return g_strdup_printf (
      "%u x %s, %s %s rails %u radix %u over %g, t%u c%u (%s) e%u d%u p%u order %u zero %d%s%s %s "
      "m %" G_GINT64_FORMAT "%s straggler %" G_GINT64_FORMAT,
      test->nodes, test->preset, ls_fabric_kind_name (test->kind), ls_routing_name (test->routing),
      test->rails, test->leaf_radix, test->oversubscription, test->tensor, MAX (test->context, 1u),
      ls_context_kind_name (test->context_kind), MAX (test->expert, 1u), test->data, test->pipeline,
      test->order, test->zero,
      test->overlap_gather ? " ahead"
      : test->overlap      ? " overlap"
                           : "",
      test->sequence_parallel ? " sp" : "", ls_schedule_name (test->schedule), test->microbatches,
      test->input ? " input" : "", test->straggler);
}
