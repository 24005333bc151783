/* Reductions of gradients; see reduce_program.h.
 *
 * The compute stream's loops are not touched by buckets: a loop over buckets in the stream of
 * reductions waits for segment (step x bucket + offset) of the compute stream's loop over segments.
 *
 * Stage 2 limits what is under way: a segment's backward starts when the bucket before the one that fills is with its
 * shard. Which bucket that is takes a division, which loop maps cannot do; so the stream `reduced` counts segments, one
 * empty operation for each as its bucket ends, and a segment waits until all are counted but as many as fill its own
 * bucket up to it and the one before (waiting_at; in a loop, the most of its segments).
 */
#include "train/program/reduce_program.h"

#include "base/assert.h"
#include "train/program/offload_program.h"
#include "train/program/quantized_program.h"

/* A loop map's step has 8 bits. */
#define MAX_SEGMENTS_PER_BUCKET 127

/* Where gradients of a segment are claimed, and the segment's number in its section at counter 0 of its loop. */
typedef struct {
  LsMark mark;
  gboolean looped;
  gint64 number;
  gint64 waiting; /* segments up to it that may have gradients when it begins, itself among them */
} Claim;

struct LsReduceState {
  LsReduceWhen when;
  GArray *notes;     /* LsMark: compute operations of the segment's backward */
  GArray *starts;    /* LsMark: first operations of the layers' backwards (by layer) */
  GArray *units;     /* LsMark: their reductions */
  LsMark last_unit;  /* of the section */
  LsShared carry;    /* bytes of gradients that wait for their bucket to fill */
  LsMark carry_mark; /* the operation that completes them */
  gint64 carry_segment,
      carry_count; /* in its chunk; segments that wait, of this chunk and earlier ones */
  LsMark newest;   /* last reduction written */
  /* Stage 2: claims of the section's segments; its segments before this chunk; the operation
   * that counts the section's first. */
  GArray *claims; /* Claim */
  gint64 before_chunk;
  LsMark counted;
};

LsReduceState *ls_reduce_state_new (void) {
  LsReduceState *state = g_new0 (LsReduceState, 1);

  state->notes = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->starts = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->units = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->claims = g_array_new (FALSE, FALSE, sizeof (Claim));
  return state;
}

void ls_reduce_state_free (LsReduceState *state) {
  if (state == NULL)
    return;
  g_array_unref (state->notes);
  g_array_unref (state->starts);
  g_array_unref (state->units);
  g_array_unref (state->claims);
  g_free (state);
}

static const LsZero *zero_of (const LsBuilder *builder) {
  return &builder->spec->workload->zero;
}

/* Do other ranks hold the same parameters? */
static gboolean has_copies (const LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;

  return ls_layout_copies (&workload->layout) > 1 ||
         (ls_workload_has_experts (workload) && ls_workload_expert_copies (workload) > 1);
}

/* Do gradients go anywhere: to other ranks, to the host? */
static gboolean leave (const LsBuilder *builder) {
  return has_copies (builder) || ls_offload_updates (builder);
}

/* Are gradients scattered over ranks? */
static gboolean scatters (const LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;

  return zero_of (builder)->stage > 0 &&
         (ls_workload_has_experts (workload) ? has_copies (builder)
                                             : ls_workload_shards (workload) > 1);
}

/* Stage as far as it matters: 0 where one rank holds all of it and nothing leaves it. */
static int stage_of (const LsBuilder *builder) {
  return scatters (builder) || ls_offload_updates (builder) ? zero_of (builder)->stage : 0;
}

gboolean ls_reduce_by_layer (const LsBuilder *builder) {
  return stage_of (builder) >= 3 || (stage_of (builder) == 2 && ls_offload_updates (builder));
}

/* Is each layer reduced by itself as its backward ends, whatever its size? */
static gboolean by_unit (const LsBuilder *builder) {
  return ls_workload_unit_buckets (builder->spec->workload) && zero_of (builder)->overlap;
}

/* Bytes that fill a bucket; any where each layer is one. */
static gint64 bucket_of (const LsBuilder *builder) {
  if (by_unit (builder))
    return 1;
  /* Gradients that are sharded while they come do not wait for others. */
  const gint64 bucket =
      stage_of (builder) < 2 ? ls_builder_bucket_bytes (builder) : zero_of (builder)->bucket_bytes;
  return bucket > 0 ? MIN (bucket, G_MAXINT64 / 4) : G_MAXINT64 / 4;
}

/* Bytes of gradients, dense and of experts. */
static LsShared bytes_of (const LsBuilder *builder, gint64 dense, gint64 experts) {
  const LsShared shared = ls_builder_moved (builder, LS_OFFLOAD_OPTIMIZER, dense, experts);

  return (LsShared){ls_builder_reduce_bytes (builder, shared.dense),
                    ls_builder_reduce_bytes (builder, shared.experts)};
}

static LsShared layer_bytes (const LsBuilder *builder, const LsLayerPlan *plan) {
  return bytes_of (builder, plan->parameters, plan->expert_parameters);
}

static LsShared segment_bytes (const LsBuilder *builder, const LsChunk *chunk) {
  return bytes_of (builder, ls_chunk_parameters (chunk), ls_chunk_expert_parameters (chunk));
}

static gint64 sum (LsShared bytes) {
  return bytes.dense + bytes.experts;
}

static LsShared times (LsShared bytes, gint64 n) {
  return (LsShared){bytes.dense * n, bytes.experts * n};
}

static LsShared plus (LsShared a, LsShared b) {
  return (LsShared){a.dense + b.dense, a.experts + b.experts};
}

/* Part `part` of `parts` equal ones. */
static LsShared part_of (LsShared bytes, gint64 part, gint64 parts) {
  return (LsShared){bytes.dense * (part + 1) / parts - bytes.dense * part / parts,
                    bytes.experts * (part + 1) / parts - bytes.experts * part / parts};
}

/* Hybrid sharding: has each of its groups one copy of the experts, which is then not sharded but repeated? */
static gboolean is_repeated (const LsBuilder *builder, gboolean experts) {
  const LsWorkload *workload = builder->spec->workload;

  return experts && ls_workload_is_hybrid (workload) && ls_workload_expert_shards (workload) == 1;
}

static LsOp reduction (LsBuilder *builder, gint64 bytes, gboolean experts) {
  LsOp op;

  if (!scatters (builder) || is_repeated (builder, experts))
    op = ls_builder_collective (builder, experts ? "reduce_expert_gradients" : "reduce_gradients",
                                LS_COLLECTIVE_ALL_REDUCE, bytes,
                                !experts              ? LS_SLOT_DATA
                                : !scatters (builder) ? LS_SLOT_EXPERT_DATA
                                                      : LS_SLOT_EXPERT_REPLICATE,
                                LS_AXIS_DATA, LS_PART_EXPOSED_DATA);
  else
    op = ls_builder_collective (builder, experts ? "reduce_expert_gradients" : "reduce_gradients",
                                LS_COLLECTIVE_REDUCE_SCATTER, bytes,
                                experts ? LS_SLOT_EXPERT_REDUCE : LS_SLOT_ZERO_REDUCE, LS_AXIS_ZERO,
                                LS_PART_EXPOSED_ZERO);
  op.phase = LS_PHASE_BACKWARD;
  if (stage_of (builder) >= 2) {
    op.release_kind = LS_MEMORY_BUFFERS;
    op.release_bytes = bytes;
  }
  return op;
}

/* Hybrid sharding: behind a reduce-scatter in the stream, its shard is summed over the groups that repeat it.
 * Returns what ends last. */
static LsMark add_replication (LsBuilder *builder, guint stream, gint64 bytes, gboolean experts,
                               LsMark scattered) {
  const gint64 shards = ls_offload_shards (builder, experts);

  if (!ls_workload_is_hybrid (builder->spec->workload) || !scatters (builder) ||
      is_repeated (builder, experts))
    return scattered;
  LsOp op = ls_builder_collective (builder, experts ? "reduce_expert_shards" : "reduce_shards",
                                   LS_COLLECTIVE_ALL_REDUCE, (bytes + shards - 1) / shards,
                                   experts ? LS_SLOT_EXPERT_REPLICATE : LS_SLOT_ZERO_REPLICATE,
                                   LS_AXIS_DATA, LS_PART_EXPOSED_DATA);
  op.phase = LS_PHASE_BACKWARD;
  return ls_program_add (builder->program, stream, &op);
}

/* What sums a bucket up over its shards, or all that hold it. As above; *first begins it. */
static LsMark add_sum (LsBuilder *builder, guint stream, gint64 bytes, gboolean experts,
                       LsMark *first) {
  if (!experts && zero_of (builder)->quantized_gradients)
    return ls_quantized_reduce (builder, stream, bytes, first);
  LsOp op = reduction (builder, bytes, experts);
  return *first = ls_program_add (builder->program, stream, &op);
}

/* One kind of a bucket: its sum over the ranks that hold it too, and its way to the host. As above. */
static LsMark add_reduction (LsBuilder *builder, guint stream, gint64 bytes, gboolean experts,
                             LsMark *first) {
  LsMark mark = {0};

  *first = mark;
  if (ls_offload_has_copies (builder, experts)) {
    mark = add_sum (builder, stream, bytes, experts, first);
    mark = add_replication (builder, stream, bytes, experts, mark);
  }
  if (ls_offload_updates (builder)) {
    LsOp op = ls_offload_drain (builder, bytes, experts);
    if (!mark.valid && stage_of (builder) >= 2) {
      op.release_kind = LS_MEMORY_BUFFERS;
      op.release_bytes = bytes;
    }
    LsMark copied = ls_program_add (builder->program, stream, &op);
    if (!mark.valid)
      *first = copied;
    mark = ls_workload_drops_gradients (builder->spec->workload)
               ? ls_offload_drop (builder, op.bytes, copied)
               : copied;
  }
  return mark;
}

/* Appends the collectives of a bucket to the stream of reductions; *first is what has to wait for its
 * gradients. Returns the last. */
static LsMark add_reductions (LsBuilder *builder, guint stream, LsShared bytes, LsMark *first) {
  LsMark mark = {0};

  *first = mark;
  for (guint experts = 0; experts < 2; experts++) {
    const gint64 size = experts == 1 ? bytes.experts : bytes.dense;
    LsMark begun;
    if (size == 0)
      continue;
    mark = add_reduction (builder, stream, size, experts == 1, &begun);
    if (!first->valid)
      *first = begun;
  }
  return mark;
}

/* Stage 2 with buckets beside the backward: no more than two of them are live. */
static gboolean is_limited (const LsBuilder *builder) {
  return stage_of (builder) == 2 && !ls_reduce_by_layer (builder) && zero_of (builder)->overlap;
}

/* The segments that may have gradients when segment `number` of the section begins, it among them: those of the bucket under
 * way and of the one that fills. Of `segments` in a row, the most. */
static gint64 waiting_at (const LsBuilder *builder, gint64 number, gint64 segments) {
  const LsChunks *chunks = builder->current;
  const gint64 bucket = bucket_of (builder);
  gint64 count = 0, before = 0, filling = 0, filling_bytes = 0, most = 1;

  for (guint i = chunks->n; i-- > 0;) {
    const gint64 bytes = sum (segment_bytes (builder, &chunks->chunk[i]));
    for (guint segment = 0; bytes > 0 && segment < chunks->chunk[i].segments; segment++, count++) {
      filling_bytes += bytes;
      filling++;
      if (count >= number && count < number + segments)
        most = MAX (most, before + filling);
      if (filling_bytes < bucket)
        continue;
      before = filling;
      filling = filling_bytes = 0;
    }
  }
  return most;
}

void ls_reduce_begin_section (LsBuilder *builder, gboolean last) {
  LsReduceState *state = builder->reduce;

  state->when = LS_REDUCE_NONE;
  state->last_unit.valid = FALSE;
  if (!leave (builder))
    return;
  if (stage_of (builder) >= 2)
    state->when = LS_REDUCE_EVERY;
  else if (last && zero_of (builder)->overlap)
    state->when = LS_REDUCE_LAST;
  state->before_chunk = 0;
  state->counted.valid = FALSE;
  g_array_set_size (state->claims, 0);
}

/* Loops that the stream of reductions shares with compute in this section. */
static guint shared_depth (const LsBuilder *builder) {
  return builder->reduce->when == LS_REDUCE_EVERY ? builder->section_depth : LS_LEVEL_STEP + 1;
}

/* `waiter` waits for `target`, an operation of a segment's backward, in the segment that `segment`
 * chooses from the waiter's counters. */
static void wait_for_segment (LsBuilder *builder, LsMark waiter, LsMark target, LsLoopMap segment) {
  gboolean every = builder->reduce->when == LS_REDUCE_EVERY;
  LsLoopMap maps[LS_MAX_LOOP_DEPTH] = {LS_LOOP_SAME (LS_LEVEL_STEP)};

  for (guint level = 1; level < builder->section_depth; level++)
    maps[level] = every ? LS_LOOP_SAME ((gint8) level) : LS_LOOP_AT (builder->counts[level] - 1);
  maps[builder->section_depth] = segment;
  ls_program_wait (builder->program, waiter, target, maps,
                   ls_program_depth (builder->program, target));
}

/* `segments` are with their shard once `done` has ended; in the loops that are open in the stream of reductions. */
static void count_reduced (LsBuilder *builder, guint stream, gint64 segments, LsMark done) {
  const LsOp op = ls_builder_memory (builder, "reduced");

  ls_program_repeat (builder->program, stream, segments);
  LsMark mark = ls_program_add (builder->program, stream, &op);
  ls_program_wait_same (builder->program, mark, done);
  ls_program_end_repeat (builder->program, stream);
  if (!builder->reduce->counted.valid)
    builder->reduce->counted = mark;
}

/* One reduction of `bytes`, those of `segments` segments, once `target` has ended in segment `segment`. */
static void add_single (LsBuilder *builder, LsShared bytes, LsMark target, gint64 segment,
                        gint64 segments) {
  guint stream = ls_builder_stream (builder, LS_ROLE_REDUCE, shared_depth (builder));
  LsMark first, mark = add_reductions (builder, stream, bytes, &first);

  wait_for_segment (builder, first, target, LS_LOOP_AT (segment));
  builder->reduce->newest = mark;
  if (is_limited (builder))
    count_reduced (builder, ls_builder_stream (builder, LS_ROLE_REDUCED, shared_depth (builder)),
                   segments, mark);
}

/* FSDP's flat parameters: is each layer's gradient one tensor? */
static gboolean is_flat (const LsBuilder *builder) {
  return builder->spec->workload->software->flat_gradients &&
         (ls_reduce_by_layer (builder) || (stage_of (builder) == 2 && by_unit (builder)));
}

static LsOp stream_op (LsBuilder *builder, const char *name, gint64 bytes) {
  LsKernelCost cost = ls_kernel_stream (builder->spec->device, bytes, 0);

  ls_kernel_finish (&cost, builder->spec->workload->software);
  return ls_builder_kernel (builder, name, LS_KIND_ELEMENTWISE, LS_PHASE_BACKWARD, &cost);
}

/* Flat parameters: gradients of `bytes` as they are computed are joined by the backward pass. */
static void join_flat (LsBuilder *builder, gint64 bytes) {
  LsOp op;

  if (!is_flat (builder))
    return;
  op = stream_op (builder, "join_gradients", 2 * bytes);
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

/* ...then converted to `sent` bytes and divided, before they are sent. Invalid where software does not. */
static LsMark prepare_flat (LsBuilder *builder, guint stream, gint64 bytes, gint64 sent) {
  LsOp op;

  if (!is_flat (builder))
    return (LsMark){0};
  op = stream_op (builder, "divide_gradients", 2 * sent + (sent == bytes ? 0 : bytes + sent));
  op.part = op.wait_part = LS_PART_EXPOSED_ZERO;
  return ls_program_add (builder->program, stream, &op);
}

/* Bytes of gradients as they are computed, of those that are sent. */
static gint64 made_bytes (const LsBuilder *builder, LsShared sent) {
  const LsPrecision *precision = &builder->spec->workload->precision;

  return sum (sent) / ls_format_bytes (precision->communication) *
         ls_format_bytes (precision->compute);
}

/* Collectives that a bucket is cut into when it is a single segment: of its layers where each is a bucket, else of
 * bucket_bytes at most. Not by its kernels, of which other ranks, on other accelerators, may run other numbers. */
static gint64 parts_of (const LsBuilder *builder, const LsChunk *chunk, LsShared bytes) {
  const gint64 bucket = bucket_of (builder);

  return by_unit (builder) ? chunk->size : MAX ((sum (bytes) + bucket - 1) / bucket, 1);
}

/* `count` buckets of `per_bucket` segments each, from segment `from` on. */
static void add_buckets (LsBuilder *builder, const LsChunk *chunk, gint64 count, gint64 per_bucket,
                         gint64 from, LsShared bytes, LsMark target) {
  GArray *notes = builder->reduce->notes;
  const gint64 parts = parts_of (builder, chunk, bytes);
  guint depth = shared_depth (builder);
  guint stream = ls_builder_stream (builder, LS_ROLE_REDUCE, depth);

  if (count == 0)
    return;
  guint level = ls_program_repeat (builder->program, stream, count);
  const LsLoopMap segment = {(gint8) level, (gint8) per_bucket, from + per_bucket - 1};
  for (gint64 part = 0; part < parts; part++) {
    LsMark first,
        done = part == parts - 1
                   ? target
                   : g_array_index (notes, LsMark,
                                    MAX ((gint64) notes->len * (part + 1) / parts - 1, 0));
    LsShared size = part_of (bytes, part, parts);
    if (sum (size) == 0)
      continue;
    const LsMark ready = prepare_flat (builder, stream, made_bytes (builder, size), sum (size));
    builder->reduce->newest = add_reductions (builder, stream, size, &first);
    wait_for_segment (builder, ready.valid ? ready : first, done, segment);
  }
  ls_program_end_repeat (builder->program, stream);
  if (!is_limited (builder))
    return;
  stream = ls_builder_stream (builder, LS_ROLE_REDUCED, depth);
  ls_program_repeat (builder->program, stream, count);
  count_reduced (builder, stream, per_bucket, builder->reduce->newest);
  ls_program_end_repeat (builder->program, stream);
}

/* Fills buckets with the segments of a chunk, in the order in which their backwards end. */
static void fill_buckets (LsBuilder *builder, const LsChunk *chunk, LsMark target) {
  LsReduceState *state = builder->reduce;
  LsShared of_segment = segment_bytes (builder, chunk);
  gint64 bytes = sum (of_segment), bucket = bucket_of (builder);
  gint64 segments = chunk->segments, from = 0;

  if (sum (state->carry) > 0) {
    gint64 needed = MAX ((bucket - sum (state->carry) + bytes - 1) / bytes, 0);
    if (needed > segments) {
      state->carry = plus (state->carry, times (of_segment, segments));
      state->carry_mark = target;
      state->carry_segment = segments - 1;
      state->carry_count += segments;
      return;
    }
    LsShared carried = state->carry;
    state->carry = (LsShared){0, 0};
    if (needed == 0)
      add_single (builder, carried, state->carry_mark, state->carry_segment, state->carry_count);
    else
      add_single (builder, plus (carried, times (of_segment, needed)), target, needed - 1,
                  state->carry_count + needed);
    from = needed;
  }
  gint64 per_bucket = CLAMP ((bucket + bytes - 1) / bytes, 1, MAX_SEGMENTS_PER_BUCKET);
  gint64 whole = (segments - from) / per_bucket, rest = (segments - from) % per_bucket;
  add_buckets (builder, chunk, whole, per_bucket, from, times (of_segment, per_bucket), target);
  if (rest > 0) {
    state->carry = times (of_segment, rest);
    state->carry_mark = target;
    state->carry_segment = segments - 1;
    state->carry_count = rest;
  }
}

void ls_reduce_begin_segment (LsBuilder *builder, const LsChunk *chunk) {
  g_array_set_size (builder->reduce->notes, 0);
  g_array_set_size (builder->reduce->starts, 0);
  g_array_set_size (builder->reduce->units, 0);
  gint64 bytes = sum (segment_bytes (builder, chunk));
  if (stage_of (builder) != 2 || ls_reduce_by_layer (builder) || bytes == 0)
    return;
  const gboolean looped = builder->depth > builder->section_depth;
  const gint64 number = builder->reduce->before_chunk + builder->segment;
  const Claim claim = {
      .mark = ls_builder_claim (builder, "gradients", LS_MEMORY_BUFFERS, bytes),
      .looped = looped,
      .number = number,
      .waiting =
          is_limited (builder) ? waiting_at (builder, number, looped ? chunk->segments : 1) : 0,
  };
  g_array_append_val (builder->reduce->claims, claim);
}

void ls_reduce_note (LsBuilder *builder, LsMark mark) {
  g_array_append_val (builder->reduce->notes, mark);
}

void ls_reduce_begin_layer (LsBuilder *builder, const LsLayerPlan *plan) {
  const gint64 bytes = sum (layer_bytes (builder, plan));

  if (!ls_reduce_by_layer (builder) || bytes == 0)
    return;
  LsMark start = ls_builder_claim (builder, "gradients", LS_MEMORY_BUFFERS, bytes);
  g_array_append_val (builder->reduce->starts, start);
}

void ls_reduce_end_layer (LsBuilder *builder, const LsLayerPlan *plan) {
  const LsShared bytes = layer_bytes (builder, plan);
  const gint64 made = (plan->parameters + plan->expert_parameters) *
                      ls_format_bytes (builder->spec->workload->precision.compute);

  if (sum (bytes) == 0)
    return;
  if (!ls_reduce_by_layer (builder)) {
    join_flat (builder, made);
    if (is_flat (builder))
      ls_reduce_note (builder, ls_builder_last (builder));
    return;
  }
  /* Read as they were computed, written as they are sent. */
  ls_builder_shard_copy (builder, "copy_gradients", sum (bytes) + made, LS_PHASE_BACKWARD);
  join_flat (builder, made);
  LsMark last = ls_builder_last (builder), mark = {0}, first;
  guint parts = ls_builder_zero_parts (builder, plan);
  guint stream = ls_builder_stream (builder, LS_ROLE_REDUCE, builder->depth);
  const LsMark ready = prepare_flat (builder, stream, made, sum (bytes));

  for (guint part = 0; part < parts; part++) {
    mark = add_reductions (builder, stream, part_of (bytes, part, parts), &first);
    if (part == 0 && ready.valid)
      first = ready;
    if (part == 0)
      ls_program_wait_same (builder->program, first, last);
    mark = ls_builder_zero_pieces (builder, LS_ROLE_REDUCE, mark);
  }
  g_array_append_val (builder->reduce->units, mark);
  builder->reduce->newest = builder->reduce->last_unit = mark;
  if (!zero_of (builder)->overlap)
    ls_builder_wait (builder, mark);
}

void ls_reduce_end_segment (LsBuilder *builder) {
  GArray *starts = builder->reduce->starts, *units = builder->reduce->units;
  const gint64 distance = 2;
  gint64 n = units->len;

  LS_REQUIRE (starts->len == units->len);
  for (gint64 i = 0; i < n; i++) {
    /* As in gather_program.c: unit i - 2 of this iteration, counted through all loops. */
    gint64 back = distance > i ? (distance - i + n - 1) / n : 0;
    gint64 unit = i - distance + back * n;
    LsLoopMap maps[LS_MAX_LOOP_DEPTH];
    ls_builder_map_back (builder, back, maps);
    ls_program_wait (builder->program, g_array_index (starts, LsMark, i),
                     g_array_index (units, LsMark, unit), maps, builder->depth);
  }
}

void ls_reduce_end_chunk (LsBuilder *builder, const LsChunk *chunk) {
  GArray *notes = builder->reduce->notes;

  if (builder->reduce->when == LS_REDUCE_NONE || ls_reduce_by_layer (builder) ||
      !zero_of (builder)->overlap || sum (segment_bytes (builder, chunk)) == 0)
    return;
  LS_REQUIRE (notes->len > 0, "layer %s has parameters and no backward", chunk->plans[0]->name);
  fill_buckets (builder, chunk, g_array_index (notes, LsMark, notes->len - 1));
  builder->reduce->before_chunk += chunk->segments;
}

static LsShared total_bytes (const LsBuilder *builder) {
  LsShared bytes = {0, 0};

  for (guint i = 0; i < builder->current->n; i++)
    bytes = plus (bytes, times (segment_bytes (builder, &builder->current->chunk[i]),
                                builder->current->chunk[i].segments));
  return bytes;
}

/* All gradients of one kind in buckets, once `before` has ended. */
static void reduce_kind (LsBuilder *builder, gint64 bytes, gboolean experts, LsMark before) {
  gint64 bucket = MIN (bucket_of (builder), bytes);

  if (bytes == 0)
    return;
  guint stream = ls_builder_stream (builder, LS_ROLE_REDUCE, builder->depth);
  const gint64 counts[] = {bytes / bucket, 1}, sizes[] = {bucket, bytes % bucket};
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++) {
    if (sizes[i] == 0)
      continue;
    LsMark first;
    ls_program_repeat (builder->program, stream, counts[i]);
    builder->reduce->newest = add_reduction (builder, stream, sizes[i], experts, &first);
    ls_program_wait_same (builder->program, first, before);
    ls_program_end_repeat (builder->program, stream);
  }
}

/* All gradients of the stage, once the compute stream is here. */
static void reduce_all (LsBuilder *builder) {
  const LsShared bytes = total_bytes (builder);
  LsMark before = ls_builder_last (builder);

  if (sum (bytes) == 0)
    return;
  reduce_kind (builder, bytes.dense, FALSE, before);
  reduce_kind (builder, bytes.experts, TRUE, before);
  ls_builder_wait (builder, builder->reduce->newest);
}

/* Segments wait until all but those of the bucket under way and of the one that fills are with their shard; numbers
 * below 0 are those of earlier sections, which are done: frameworks end each backward pass with its reductions. */
static void limit_buckets (LsBuilder *builder) {
  const LsReduceState *state = builder->reduce;
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];

  if (!state->counted.valid)
    return;
  const guint depth = ls_program_depth (builder->program, state->counted);
  for (guint level = 0; level < depth; level++)
    maps[level] = level < builder->section_depth ? LS_LOOP_SAME ((gint8) level) : LS_LOOP_AT (0);
  for (guint i = 0; i < state->claims->len; i++) {
    const Claim *claim = &g_array_index (state->claims, Claim, i);
    const gint64 number = claim->number - claim->waiting;
    maps[depth - 1] = claim->looped ? (LsLoopMap){(gint8) builder->section_depth, 1, number}
                                    : LS_LOOP_AT (number);
    ls_program_wait (builder->program, claim->mark, state->counted, maps, depth);
  }
  ls_builder_wait (builder, state->newest);
  ls_builder_join (builder); /* inside the loop over micro-batches */
}

void ls_reduce_end_section (LsBuilder *builder) {
  LsReduceState *state = builder->reduce;

  if (state->when == LS_REDUCE_NONE)
    return;
  if (ls_reduce_by_layer (builder)) {
    if (state->last_unit.valid) {
      ls_builder_wait (builder, state->last_unit);
      ls_builder_join (builder); /* inside the loop over micro-batches */
    }
    return;
  }
  if (!zero_of (builder)->overlap)
    reduce_all (builder);
  else if (sum (state->carry) > 0)
    add_single (builder, state->carry, state->carry_mark, state->carry_segment, state->carry_count);
  state->carry = (LsShared){0, 0};
  if (is_limited (builder))
    limit_buckets (builder);
}

void ls_reduce_finish (LsBuilder *builder) {
  if (!leave (builder))
    return;
  if (stage_of (builder) < 2 && !zero_of (builder)->overlap)
    reduce_all (builder);
  else if (builder->reduce->newest.valid)
    ls_builder_wait (builder, builder->reduce->newest);
}
