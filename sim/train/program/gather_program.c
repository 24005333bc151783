/* All-gathers of parameters; see gather_program.h. */
#include "train/program/gather_program.h"

#include "base/assert.h"
#include "train/memory/gather_depth.h"
#include "train/memory/gathered_bytes.h"
#include "train/program/offload_program.h"
#include "train/program/quantized_program.h"

struct LsGatherState {
  GArray *gathers;  /* LsMark of the units of one segment, in order */
  GArray *releases; /* the same */
  GArray *reads;    /* the same, from drives */
};

LsGatherState *ls_gather_state_new (void) {
  LsGatherState *state = g_new0 (LsGatherState, 1);

  state->gathers = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->releases = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->reads = g_array_new (FALSE, FALSE, sizeof (LsMark));
  return state;
}

void ls_gather_state_free (LsGatherState *state) {
  if (state == NULL)
    return;
  g_array_unref (state->gathers);
  g_array_unref (state->releases);
  g_array_unref (state->reads);
  g_free (state);
}

void ls_gather_begin_step (LsBuilder *builder) {
  if (!ls_builder_gathers (builder))
    return;
  LsMark before = ls_builder_last (builder);
  LsOp op = ls_builder_memory (builder, "step");
  LsMark start = ls_builder_add (builder, LS_ROLE_GATHER, &op);
  ls_program_wait_same (builder->program, start, before);
  if (!ls_offload_reads (builder))
    return;
  start = ls_builder_add (builder, LS_ROLE_NVME_READ, &op);
  ls_program_wait_same (builder->program, start, before);
}

LsOp ls_gather_op (LsBuilder *builder, gint64 bytes, gboolean experts) {
  return ls_builder_collective (builder, experts ? "gather_expert_parameters" : "gather_parameters",
                                LS_COLLECTIVE_ALL_GATHER, bytes,
                                experts ? LS_SLOT_EXPERT_GATHER : LS_SLOT_ZERO_GATHER, LS_AXIS_ZERO,
                                LS_PART_EXPOSED_ZERO);
}

/* Bytes of a layer that are gathered. */
static LsShared layer_bytes (const LsBuilder *builder, const LsLayerPlan *plan) {
  const LsGatheredBytes all = ls_gathered_bytes (plan, &builder->spec->workload->precision);

  if (ls_offload_fetches (builder))
    return (LsShared){all.dense, all.experts};
  return ls_builder_sharded (builder, all.dense, all.experts);
}

/* Over the ranks that the pass gathers from. */
static LsOp layer_gather (LsBuilder *builder, gint64 size, gboolean experts, gboolean secondary) {
  LsOp op = ls_gather_op (builder, size, experts);

  if (secondary)
    op.slot = LS_SLOT_ZERO_SECONDARY;
  return op;
}

/* From the host what lies there, and from other ranks what they hold. Returns what begins it; *last ends it. */
static LsMark gather_part (LsBuilder *builder, const LsLayerPlan *plan, gint64 size,
                           gboolean experts, LsPhaseName phase, LsMark *last) {
  const LsWorkload *workload = builder->spec->workload;
  const gboolean secondary = !experts && phase != LS_PHASE_FORWARD &&
                             ls_workload_backward_shards (workload) < ls_workload_shards (workload);
  const guint shards =
      secondary ? ls_workload_backward_shards (workload) : ls_offload_shards (builder, experts);
  const gboolean quantized = shards > 1 && workload->zero.quantized_weights;
  LsMark begun = {0};
  LsOp ops[4];
  guint n = 0;

  if (ls_offload_fetches (builder))
    ops[n++] = ls_offload_fetch (builder, size, experts);
  if (quantized)
    ops[n++] = ls_quantized_shard (builder, size, shards);
  if (shards > 1)
    ops[n++] = layer_gather (builder, quantized ? ls_quantized_size (builder, size) : size, experts,
                             secondary);
  if (quantized)
    ops[n++] = ls_quantized_restore (builder, size);
  LS_REQUIRE (n > 0, "parameters that nobody else has");
  ops[0].claim_kind = LS_MEMORY_BUFFERS;
  ops[0].claim_bytes = plan->is_root ? 0 : size; /* the root's is there from the start */
  for (guint i = 0; i < n; i++) {
    ops[i].phase = (guint8) phase;
    *last = ls_builder_add (builder, LS_ROLE_GATHER, &ops[i]);
    begun = i == 0 ? *last : begun;
  }
  *last = ls_builder_zero_pieces (builder, LS_ROLE_GATHER, *last);
  return begun;
}

void ls_gather_begin_layer (LsBuilder *builder, const LsLayerPlan *plan, LsPhaseName phase) {
  const LsShared bytes = layer_bytes (builder, plan);
  guint parts = ls_builder_zero_parts (builder, plan);
  LsMark gather = {0}, read = {0};
  gboolean first = TRUE;

  if (!ls_builder_gathers (builder) || bytes.dense + bytes.experts == 0)
    return;
  if (ls_offload_reads (builder)) {
    read = ls_offload_read (builder, bytes.dense, bytes.experts, phase);
    g_array_append_val (builder->gather->reads, read);
  }
  for (guint part = 0; part < 2 * parts; part++) {
    const gboolean experts = part % 2 == 1;
    const gint64 of = experts ? bytes.experts : bytes.dense, at = part / 2;
    const gint64 size = of * (at + 1) / parts - of * at / parts;
    if (size == 0)
      continue;
    const LsMark begun = gather_part (builder, plan, size, experts, phase, &gather);
    if (first)
      g_array_append_val (builder->gather->gathers, begun);
    if (first && read.valid)
      ls_program_wait_same (builder->program, begun, read);
    first = FALSE;
  }
  ls_builder_wait (builder, gather);
  ls_builder_shard_copy (builder, "copy_parameters", 2 * (bytes.dense + bytes.experts), phase);
}

void ls_gather_end_layer (LsBuilder *builder, const LsLayerPlan *plan) {
  const LsShared shared = layer_bytes (builder, plan);
  const gint64 bytes = shared.dense + shared.experts;

  if (!ls_builder_gathers (builder) || bytes == 0)
    return;
  LsMark last = ls_builder_last (builder);
  LsOp op = ls_builder_memory (builder, "release_parameters");
  op.release_kind = LS_MEMORY_BUFFERS;
  op.release_bytes = plan->is_root ? 0 : bytes;
  op.bytes = bytes;
  LsMark release = ls_builder_add (builder, LS_ROLE_RELEASE, &op);
  g_array_append_val (builder->gather->releases, release);
  ls_program_wait_same (builder->program, release, last);
}

/* The i-th of `marks`, a unit of this segment, waits until the unit `distance` before it has been freed. */
static void limit (LsBuilder *builder, const GArray *marks, gint64 distance) {
  const GArray *releases = builder->gather->releases;
  const gint64 n = marks->len;

  LS_REQUIRE (marks->len == releases->len);
  for (gint64 i = 0; i < n; i++) {
    /* Unit i - distance of this iteration lies `back` iterations before it. */
    gint64 back = distance > i ? (distance - i + n - 1) / n : 0;
    gint64 unit = i - distance + back * n;
    LsLoopMap maps[LS_MAX_LOOP_DEPTH];
    ls_builder_map_back (builder, back, maps);
    ls_program_wait (builder->program, g_array_index (marks, LsMark, i),
                     g_array_index (releases, LsMark, unit), maps, builder->depth);
  }
}

void ls_gather_end_segment (LsBuilder *builder) {
  LsGatherState *state = builder->gather;
  const gint64 depth = ls_gather_depth (builder->spec->workload, builder->spec->stage);

  limit (builder, state->gathers, depth);
  if (ls_offload_reads (builder))
    limit (builder, state->reads, depth + LS_READ_AHEAD);
  g_array_set_size (state->gathers, 0);
  g_array_set_size (state->reads, 0);
  g_array_set_size (state->releases, 0);
}

/* All parameters of one kind, in buckets, once `before` has ended. */
static LsMark gather_updated (LsBuilder *builder, gint64 bytes, gboolean experts, LsMark before) {
  const LsZero *zero = &builder->spec->workload->zero;
  const gint64 bucket = zero->bucket_bytes > 0 ? zero->bucket_bytes : MAX (bytes, 1);
  const gint64 counts[] = {bytes / bucket, 1}, sizes[] = {bucket, bytes % bucket};
  LsMark gathered = {0};

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++) {
    if (counts[i] == 0 || sizes[i] == 0)
      continue;
    guint stream = ls_builder_stream (builder, LS_ROLE_GATHER, builder->depth);
    LsOp op = ls_gather_op (builder, sizes[i], experts);
    op.phase = LS_PHASE_OPTIMIZER;
    if (i == 0)
      ls_program_repeat (builder->program, stream, counts[i]);
    gathered = ls_program_add (builder->program, stream, &op);
    ls_program_wait_same (builder->program, gathered, before);
    if (i == 0)
      ls_program_end_repeat (builder->program, stream);
  }
  return gathered;
}

LsShared ls_gather_updated_bytes (const LsBuilder *builder, gint64 dense, gint64 experts,
                                  gint64 narrow, gint64 n) {
  /* Experts are linear maps. */
  const gint64 of_experts = MIN (narrow, experts);
  const LsShared shared = ls_builder_sharded (builder, dense, experts);
  const LsPrecision *precision = &builder->spec->workload->precision;

  return (LsShared){n * ls_precision_gathered_bytes (precision, shared.dense, narrow - of_experts),
                    n * ls_precision_gathered_bytes (precision, shared.experts, of_experts)};
}

static LsShared stage_bytes (const LsBuilder *builder) {
  const LsStage *stage = builder->spec->stage;

  return ls_gather_updated_bytes (builder, stage->parameters, stage->expert_parameters,
                                  stage->narrow_parameters, 1);
}

/* Stages 1 and 2: are updated shards gathered at all? */
static gboolean gathers_updated (const LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const LsShared bytes = stage_bytes (builder);

  if (!ls_workload_has_experts (workload) && ls_workload_shards (workload) == 1)
    return FALSE;
  return bytes.dense + bytes.experts > 0 && workload->zero.stage >= 1 && workload->zero.stage <= 2;
}

gboolean ls_gather_is_ahead (const LsBuilder *builder) {
  return gathers_updated (builder) && ls_workload_gathers_ahead (builder->spec->workload);
}

void ls_gather_updated (LsBuilder *builder) {
  const LsShared bytes = stage_bytes (builder);
  LsMark before, dense, experts;

  if (!gathers_updated (builder) || ls_gather_is_ahead (builder))
    return;
  before = ls_builder_last (builder);
  dense = gather_updated (builder, bytes.dense, FALSE, before);
  experts = gather_updated (builder, bytes.experts, TRUE, before);
  ls_builder_wait (builder, experts.valid ? experts : dense);
}
