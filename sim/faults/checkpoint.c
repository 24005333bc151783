/* Checkpoints on the engine; see checkpoint.h. */
#include "faults/checkpoint.h"

#include <math.h>

#include "base/assert.h"
#include "base/time.h"
#include "faults/reshard.h"
#include "net/fold.h"
#include "train/layer/stage.h"
#include "train/memory/memory.h"

/* What the ranks of a stage write. */
typedef struct {
  gint64 parameters_bytes; /* of one model-parallel rank, over all its replicas once */
  gint64 optimizer_bytes;
  gint64 tables_bytes;    /* embedding tables, each column on one rank */
  gint64 shared_bytes;    /* of the parameters, those of a rank that others hold too */
  LsStaticMemory experts; /* of both, what is of routed experts */
} Part;

static gint64 share (gint64 bytes, guint n) {
  return (bytes + n - 1) / n;
}

static gint64 us_of (gint64 ps) {
  return (ps + LS_PS_PER_US / 2) / LS_PS_PER_US;
}

/* What one rank of a stage would hold without ZeRO. */
static Part part_of (const LsWorkload *workload, guint stage, const LsAccelerator *accelerator) {
  g_autoptr (LsStage) plan = ls_stage_new (workload, stage, accelerator);
  g_autoptr (LsWorkload) whole = ls_workload_copy (workload);

  whole->zero.stage = 0;
  whole->zero.offload = LS_OFFLOAD_NONE;
  whole->zero.secondary_group = 0;
  /* An embedding that the head shares is written by the first stage only. */
  gint64 twice = stage > 0 ? plan->embedding_gradient_elements : 0;
  /* All experts of the stage, dealt over its tensor ranks: who writes which makes no difference here. */
  gint64 experts = plan->expert_parameters * ls_layout_size (&workload->layout, LS_AXIS_EXPERT) *
                   ls_layout_size (&workload->layout, LS_AXIS_EXPERT_TENSOR) /
                   workload->layout.tensor;
  const gint64 shared_experts =
      ls_workload_expert_copies (workload) > 1 ? plan->expert_parameters : 0;
  LsStaticMemory memory = ls_memory_static (whole, plan->parameters - twice + experts);
  LsStaticMemory shared = ls_memory_static (whole, plan->parameters - twice + shared_experts);
  return (Part){.parameters_bytes = memory.parameters_bytes,
                .optimizer_bytes = memory.optimizer_bytes,
                .tables_bytes = plan->table_parameters * ls_format_bytes (LS_FORMAT_FP32) *
                                ls_layout_size (&workload->layout, LS_AXIS_EXPERT),
                .shared_bytes = shared.parameters_bytes,
                .experts = ls_memory_static (whole, experts)};
}

/* --- on the engine ---------------------------------------------------------------------------- */

/* One operation of every rank at once, and how long it takes until the last one is done. */
typedef struct {
  const LsCluster *cluster;
  const LsWorkload *workload;
  const Part *parts;
} Bench;

static LsProgram *program_new (LsOpKind kind, guint16 descriptor) {
  LsProgram *program = ls_program_new ("checkpoint");
  LsOp op = LS_OP_INIT;
  g_autoptr (GError) error = NULL;
  guint stream = ls_program_add_stream (program, "main");

  op.kind = (guint8) kind;
  op.descriptor = descriptor;
  op.slot = 0;
  ls_program_add (program, stream, &op);
  gboolean good = ls_program_freeze (program, &error);
  LS_REQUIRE (good, "checkpoint program: %s", error->message);
  return program;
}

/* What does nothing: ranks that others write for. */
static LsProgram *idle_program_new (void) {
  return program_new (LS_OP_MEMORY, LS_NO_INDEX);
}

/* The groups of ranks that hold the same parameters; their members' lists go to `lists`. */
static LsFoldGroup *groups_new (const LsLayout *layout, guint *lists, guint *n) {
  const guint size = ls_layout_copies (layout);

  *n = ls_layout_n_groups (layout, LS_AXIS_DATA_CONTEXT);
  LsFoldGroup *groups = g_new0 (LsFoldGroup, MAX (*n, 1u));

  for (guint i = 0; i < *n; i++) {
    guint *members = &lists[(gsize) i * size];
    ls_layout_members (layout, LS_AXIS_DATA_CONTEXT, i, members);
    groups[i] = (LsFoldGroup){.n = size, .ranks = members, .axis = LS_AXIS_DATA};
  }
  return groups;
}

/* All ranks on an engine, without folding. */
static void install (const LsFoldInput *input, LsEngine *engine) {
  for (guint rank = 0; rank < input->n_ranks; rank++)
    ls_engine_add_rank (engine, input->programs[input->kind_of_rank[rank]],
                        input->gpu_of_rank[rank], LS_NO_INDEX);
  for (guint i = 0; i < input->n_groups; i++) {
    const LsFoldGroup *group = &input->groups[i];
    guint number = ls_engine_add_group (engine, group->ranks, group->n, group->axis);
    for (guint k = 0; k < group->n; k++)
      ls_engine_set_slot (engine, group->ranks[k], 0, number);
  }
}

/* Until the last one is done: one rank of each class, or all where they cannot be folded. */
static gint64 run_us (const LsCluster *cluster, const LsFoldInput *input) {
  const char *why;
  g_autoptr (GError) error = NULL;
  LsFold *fold = ls_fold_new (cluster, input, &why);
  LsEngine *engine = ls_engine_new ();
  LsNet *net = NULL;

  if (fold != NULL)
    ls_fold_install (fold, engine);
  else {
    net = ls_net_new (cluster, engine);
    install (input, engine);
    ls_net_set_ranks (net, input->gpu_of_rank, input->n_ranks);
    ls_net_set_descriptors (net, input->descriptors, input->n_descriptors);
    ls_engine_set_expander (engine, ls_net_expander (), net);
  }
  gboolean good = ls_engine_run (engine, G_MAXINT64, NULL, &error);
  LS_REQUIRE (good, "checkpoint: %s", error->message);
  gint64 us = us_of (ls_engine_now_ps (engine));
  ls_engine_free (engine);
  ls_net_free (net);
  ls_fold_free (fold);
  return us;
}

/* Bytes of a stage's operation; 0: none. */
typedef gint64 (*BytesFunc) (const Bench *bench, const Part *part);

/* `first_only`: only the first copy of each parameter takes part. */
static gint64 measure_us (const Bench *bench, LsCollectiveOp op, BytesFunc bytes,
                          gboolean first_only) {
  const LsLayout *layout = &bench->workload->layout;
  gboolean group = op <= LS_COLLECTIVE_BARRIER;
  g_autofree LsDescriptor *descriptors = g_new0 (LsDescriptor, layout->pipeline);
  g_autofree guint *kinds = g_new (guint, layout->ranks), *lists = g_new (guint, layout->ranks);
  g_autofree LsFoldGroup *groups = NULL;
  g_autoptr (GPtrArray) programs =
      g_ptr_array_new_with_free_func ((GDestroyNotify) ls_program_unref);
  guint n_groups = 0;

  if (group && ls_layout_copies (layout) == 1)
    return 0;
  for (guint stage = 0; stage < layout->pipeline; stage++) {
    descriptors[stage] = (LsDescriptor){.op = op, .bytes = bytes (bench, &bench->parts[stage])};
    g_ptr_array_add (programs,
                     program_new (group ? LS_OP_COLLECTIVE : LS_OP_COPY, (guint16) stage));
  }
  g_ptr_array_add (programs, idle_program_new ());
  for (guint rank = 0; rank < layout->ranks; rank++) {
    LsCoordinates at = ls_layout_coordinates (layout, rank);
    kinds[rank] = first_only && at.data + at.context > 0 ? layout->pipeline : at.stage;
  }
  if (group)
    groups = groups_new (layout, lists, &n_groups);
  const LsFoldInput input = {.n_ranks = layout->ranks,
                             .gpu_of_rank = bench->workload->gpu_of_rank,
                             .kind_of_rank = kinds,
                             .n_kinds = programs->len,
                             .programs = (LsProgram *const *) programs->pdata,
                             .n_groups = n_groups,
                             .groups = groups,
                             .n_descriptors = layout->pipeline,
                             .descriptors = descriptors};
  return run_us (bench->cluster, &input);
}

static gint64 whole_bytes (const Bench *bench, const Part *part) {
  (void) bench;
  return part->parameters_bytes + part->optimizer_bytes + part->tables_bytes;
}

static gint64 shard_bytes (const Bench *bench, const Part *part) {
  return share (whole_bytes (bench, part), ls_layout_copies (&bench->workload->layout));
}

static gint64 spread_bytes (const Bench *bench, const Part *part) {
  return bench->workload->zero.stage < 3 ? part->shared_bytes : 0;
}

/* A node's ranks get their shares from the memory of another node; then everybody loads. */
static gint64 peer_us (const Bench *bench, gint64 load_us) {
  const LsWorkload *workload = bench->workload;
  const LsCluster *cluster = bench->cluster;
  guint first = workload->gpu_of_rank[0], node = ls_cluster_gpu_node (cluster, first);
  const LsNodeSpec *spec = ls_cluster_node (cluster, node);
  const LsNicSet *nics = ls_node_compute_nics (spec);
  gint64 bytes = 0;

  if (nics == NULL)
    return load_us;
  for (guint rank = 0; rank < workload->layout.ranks; rank++)
    if (ls_cluster_gpu_node (cluster, workload->gpu_of_rank[rank]) == node)
      bytes +=
          shard_bytes (bench, &bench->parts[ls_layout_coordinates (&workload->layout, rank).stage]);
  double per_s = nics->count * nics->bytes_per_s * ls_nic_set_efficiency (cluster, spec, nics);
  return load_us + (gint64) llround ((double) bytes / per_s * 1e6);
}

void ls_checkpoint_times (const LsCluster *cluster, const LsWorkload *workload,
                          LsCheckpointLayout layout, LsCheckpointTimes *times) {
  const LsLayout *axes = &workload->layout;
  g_autofree Part *parts = g_new0 (Part, axes->pipeline);
  Bench bench = {.cluster = cluster, .workload = workload, .parts = parts};
  gboolean unified = layout == LS_CHECKPOINT_UNIFIED;
  const LsNodeSpec *node =
      ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, workload->gpu_of_rank[0]));

  *times = (LsCheckpointTimes){0};
  for (guint stage = 0; stage < axes->pipeline; stage++) {
    guint rank = ls_layout_rank (axes, (LsCoordinates){.stage = stage});
    parts[stage] = part_of (workload, stage, ls_cluster_gpu (cluster, workload->gpu_of_rank[rank]));
    times->parameters_bytes += axes->tensor * parts[stage].parameters_bytes;
    times->tables_bytes += axes->tensor * parts[stage].tables_bytes;
    times->experts_bytes += axes->tensor * parts[stage].experts.parameters_bytes;
    times->experts_optimizer_bytes += axes->tensor * parts[stage].experts.optimizer_bytes;
    gint64 whole = whole_bytes (&bench, &parts[stage]);
    times->bytes += axes->tensor * whole;
    times->most_rank_bytes =
        MAX (times->most_rank_bytes, unified ? whole : shard_bytes (&bench, &parts[stage]));
    if (unified)
      times->network_bytes += axes->tensor * (whole - share (whole, ls_layout_copies (axes)));
  }
  times->bytes_per_parameter =
      (double) times->bytes / (double) MAX (1, ls_model_trained_parameters (workload->model));
  times->writers = unified ? axes->tensor * axes->pipeline : axes->ranks;
  times->storage = ls_cluster_storage (cluster)->present || node->nvme_bytes_per_s > 0;
  times->drives = times->storage && !ls_cluster_storage (cluster)->present;
  BytesFunc written = unified ? whole_bytes : shard_bytes;
  if (unified)
    times->gather_us = measure_us (&bench, LS_COLLECTIVE_GATHER, whole_bytes, FALSE);
  times->snapshot_us = measure_us (&bench, LS_COLLECTIVE_DEVICE_TO_HOST, written, unified);
  times->load_us = measure_us (&bench, LS_COLLECTIVE_HOST_TO_DEVICE, written, unified);
  if (times->storage) {
    times->write_us = measure_us (&bench, LS_COLLECTIVE_STORAGE_WRITE, written, unified);
    times->read_us = measure_us (&bench, LS_COLLECTIVE_STORAGE_READ, written, unified);
  }
  times->spread_us = unified ? measure_us (&bench, LS_COLLECTIVE_SCATTER, whole_bytes, FALSE)
                             : measure_us (&bench, LS_COLLECTIVE_ALL_GATHER, spread_bytes, FALSE);
  times->peer_us = peer_us (&bench, times->load_us);
}

gint64 ls_checkpoint_blocking_us (const LsCheckpointTimes *times, gboolean async) {
  return times->gather_us + times->snapshot_us + (async ? 0 : times->write_us);
}

gint64 ls_checkpoint_drain_us (const LsCheckpointTimes *times, gboolean async) {
  return async ? times->write_us : 0;
}

void ls_checkpoint_reshard (const LsCluster *cluster, const LsWorkload *workload,
                            LsCheckpointLayout layout, guint from, guint to, LsReshardCost *cost) {
  const LsLayout *axes = &workload->layout;
  const LsNodeSpec *node =
      ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, workload->gpu_of_rank[0]));
  const LsNicSet *nics = ls_node_compute_nics (node);
  guint model_ranks = axes->tensor * axes->pipeline;
  gint64 most = 0;

  *cost = (LsReshardCost){0};
  for (guint stage = 0; stage < axes->pipeline; stage++) {
    guint rank = ls_layout_rank (axes, (LsCoordinates){.stage = stage});
    Part part = part_of (workload, stage, ls_cluster_gpu (cluster, workload->gpu_of_rank[rank]));
    gint64 whole = part.parameters_bytes + part.optimizer_bytes + part.tables_bytes;
    LsReshard moved = ls_reshard (whole, from, to, FALSE);
    cost->read_bytes += axes->tensor * whole;
    cost->stays_bytes += axes->tensor * moved.stays_bytes;
    cost->moves_bytes += axes->tensor * moved.moves_bytes;
    most = MAX (most, moved.most_moved_bytes);
    /* While it sorts out the old shards that it reads, a rank holds the largest of them whole. */
    cost->temporary_bytes =
        MAX (cost->temporary_bytes, layout == LS_CHECKPOINT_UNIFIED ? 0 : share (whole, from));
  }
  if (from == to || layout == LS_CHECKPOINT_UNIFIED || nics == NULL || model_ranks == 0) {
    if (from == to)
      cost->moves_bytes = cost->temporary_bytes = 0;
    return;
  }
  double per_gpu_s =
      nics->count * nics->bytes_per_s * ls_nic_set_efficiency (cluster, node, nics) / node->gpus;
  cost->us = (gint64) llround ((double) most / per_gpu_s * 1e6);
}

LsRestoreLedger ls_checkpoint_restore_ledger (const LsCluster *cluster, const LsWorkload *workload,
                                              LsCheckpointLayout layout, guint from) {
  LsReshardCost cost;
  LsMemoryEstimate memory;
  LsRestoreLedger ledger;

  ls_memory_estimate (workload, 0, ls_cluster_gpu (cluster, workload->gpu_of_rank[0]), &memory);
  ls_checkpoint_reshard (cluster, workload, layout, from, workload->layout.data, &cost);
  ledger = (LsRestoreLedger){.parameters_bytes = memory.bytes[LS_MEMORY_PARAMETERS],
                             .gradients_bytes = memory.bytes[LS_MEMORY_GRADIENTS],
                             .optimizer_bytes = memory.bytes[LS_MEMORY_OPTIMIZER],
                             .old_shards_bytes = cost.temporary_bytes,
                             .training_bytes = memory.reserved_bytes,
                             .capacity_bytes = memory.capacity_bytes};
  ledger.total_bytes = ledger.parameters_bytes + ledger.gradients_bytes + ledger.optimizer_bytes +
                       ledger.old_shards_bytes;
  ledger.fits = MAX (ledger.total_bytes, ledger.training_bytes) <= ledger.capacity_bytes;
  return ledger;
}
