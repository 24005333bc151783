/* Reductions of gradients; see reduce_program.h.
 *
 * The compute stream's loops are not touched by buckets: a loop over buckets in the stream of
 * reductions waits for segment (step x bucket + offset) of the compute stream's loop over segments.
 */
#include "train/reduce_program.h"

#include "base/assert.h"

/* A loop map's step has 8 bits. */
#define MAX_SEGMENTS_PER_BUCKET 127

struct LsReduceState {
  LsReduceWhen when;
  GArray *notes;      /* LsMark: compute operations of the segment's backward */
  GArray *starts;     /* LsMark: first operations of the layers' backwards (stage 3) */
  GArray *units;      /* LsMark: their reductions */
  gint64 carry_bytes; /* gradients that wait for their bucket to fill */
  LsMark carry_mark;  /* the operation that completes them */
  gint64 carry_segment;
  LsMark newest; /* last reduction written */
};

LsReduceState *ls_reduce_state_new (void) {
  LsReduceState *state = g_new0 (LsReduceState, 1);

  state->notes = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->starts = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->units = g_array_new (FALSE, FALSE, sizeof (LsMark));
  return state;
}

void ls_reduce_state_free (LsReduceState *state) {
  if (state == NULL)
    return;
  g_array_unref (state->notes);
  g_array_unref (state->starts);
  g_array_unref (state->units);
  g_free (state);
}

static const LsZero *zero_of (const LsBuilder *builder) {
  return &builder->spec->workload->zero;
}

/* Do other ranks hold the same parameters? */
static gboolean has_copies (const LsBuilder *builder) {
  return ls_layout_copies (&builder->spec->workload->layout) > 1;
}

/* Stage as far as it matters: 0 on a single data-parallel rank. */
static int stage_of (const LsBuilder *builder) {
  return has_copies (builder) ? zero_of (builder)->stage : 0;
}

static gint64 bucket_of (const LsBuilder *builder) {
  gint64 bucket = zero_of (builder)->bucket_bytes;
  return bucket > 0 ? bucket : G_MAXINT64 / 4;
}

static gint64 segment_bytes (const LsBuilder *builder, const LsChunk *chunk) {
  return ls_builder_reduce_bytes (builder, chunk->plan->parameters * chunk->size);
}

static LsOp reduction (LsBuilder *builder, gint64 bytes) {
  LsOp op;

  if (stage_of (builder) == 0)
    op = ls_builder_collective (builder, "reduce_gradients", LS_COLLECTIVE_ALL_REDUCE, bytes,
                                LS_SLOT_DATA, LS_AXIS_DATA, LS_PART_EXPOSED_DATA);
  else
    op = ls_builder_collective (builder, "reduce_gradients", LS_COLLECTIVE_REDUCE_SCATTER, bytes,
                                LS_SLOT_ZERO_REDUCE, LS_AXIS_ZERO, LS_PART_EXPOSED_ZERO);
  op.phase = LS_PHASE_BACKWARD;
  if (stage_of (builder) >= 2) {
    op.release_kind = LS_MEMORY_BUFFERS;
    op.release_bytes = bytes;
  }
  return op;
}

void ls_reduce_begin_section (LsBuilder *builder, gboolean last) {
  LsReduceState *state = builder->reduce;

  state->when = LS_REDUCE_NONE;
  if (!has_copies (builder))
    return;
  if (stage_of (builder) >= 2)
    state->when = LS_REDUCE_EVERY;
  else if (last && zero_of (builder)->overlap)
    state->when = LS_REDUCE_LAST;
}

/* Loops that the stream of reductions shares with compute in this section. */
static guint shared_depth (const LsBuilder *builder) {
  return builder->reduce->when == LS_REDUCE_EVERY ? LS_LEVEL_MICROBATCH + 1 : LS_LEVEL_STEP + 1;
}

/* `waiter` waits for `target`, an operation of a segment's backward, in the segment that `segment`
 * chooses from the waiter's counters. */
static void wait_for_segment (LsBuilder *builder, LsMark waiter, LsMark target, LsLoopMap segment) {
  gboolean every = builder->reduce->when == LS_REDUCE_EVERY;
  gint64 last = builder->counts[LS_LEVEL_MICROBATCH] - 1;
  const LsLoopMap maps[] = {LS_LOOP_SAME (LS_LEVEL_STEP),
                            every ? LS_LOOP_SAME (LS_LEVEL_MICROBATCH) : LS_LOOP_AT (last),
                            segment};

  ls_program_wait (builder->program, waiter, target, maps,
                   ls_program_depth (builder->program, target));
}

/* One reduction of `bytes` once `target` has ended in segment `segment`. */
static void add_single (LsBuilder *builder, gint64 bytes, LsMark target, gint64 segment) {
  LsOp op = reduction (builder, bytes);
  guint stream = ls_builder_stream (builder, LS_ROLE_REDUCE, shared_depth (builder));
  LsMark mark = ls_program_add (builder->program, stream, &op);

  wait_for_segment (builder, mark, target, LS_LOOP_AT (segment));
  builder->reduce->newest = mark;
}

/* `count` buckets of `per_bucket` segments each, from segment `from` on; a bucket is cut into equal
 * parts when it is a single segment with more than bucket_bytes. */
static void add_buckets (LsBuilder *builder, gint64 count, gint64 per_bucket, gint64 from,
                         gint64 bytes, LsMark target) {
  GArray *notes = builder->reduce->notes;
  gint64 bucket = bucket_of (builder);
  gint64 parts = CLAMP ((bytes + bucket - 1) / bucket, 1, MAX ((gint64) notes->len, 1));
  guint depth = shared_depth (builder);
  guint stream = ls_builder_stream (builder, LS_ROLE_REDUCE, depth);

  if (count == 0)
    return;
  guint level = ls_program_repeat (builder->program, stream, count);
  const LsLoopMap segment = {(gint8) level, (gint8) per_bucket, from + per_bucket - 1};
  for (gint64 part = 0; part < parts; part++) {
    gint64 size = bytes * (part + 1) / parts - bytes * part / parts;
    LsMark done = part == parts - 1
                      ? target
                      : g_array_index (notes, LsMark, (gint64) notes->len * (part + 1) / parts - 1);
    LsOp op = reduction (builder, size);
    LsMark mark = ls_program_add (builder->program, stream, &op);
    wait_for_segment (builder, mark, done, segment);
    builder->reduce->newest = mark;
  }
  ls_program_end_repeat (builder->program, stream);
}

/* Fills buckets with the segments of a chunk, in the order in which their backwards end. */
static void fill_buckets (LsBuilder *builder, const LsChunk *chunk, LsMark target) {
  LsReduceState *state = builder->reduce;
  gint64 bytes = segment_bytes (builder, chunk), bucket = bucket_of (builder);
  gint64 segments = chunk->segments, from = 0;

  if (state->carry_bytes > 0) {
    gint64 needed = MAX ((bucket - state->carry_bytes + bytes - 1) / bytes, 0);
    if (needed > segments) {
      state->carry_bytes += segments * bytes;
      state->carry_mark = target;
      state->carry_segment = segments - 1;
      return;
    }
    gint64 carried = state->carry_bytes;
    state->carry_bytes = 0;
    if (needed == 0)
      add_single (builder, carried, state->carry_mark, state->carry_segment);
    else
      add_single (builder, carried + needed * bytes, target, needed - 1);
    from = needed;
  }
  gint64 per_bucket = CLAMP ((bucket + bytes - 1) / bytes, 1, MAX_SEGMENTS_PER_BUCKET);
  gint64 whole = (segments - from) / per_bucket, rest = (segments - from) % per_bucket;
  add_buckets (builder, whole, per_bucket, from, per_bucket * bytes, target);
  if (rest > 0) {
    state->carry_bytes = rest * bytes;
    state->carry_mark = target;
    state->carry_segment = segments - 1;
  }
}

void ls_reduce_begin_segment (LsBuilder *builder, const LsChunk *chunk) {
  g_array_set_size (builder->reduce->notes, 0);
  g_array_set_size (builder->reduce->starts, 0);
  g_array_set_size (builder->reduce->units, 0);
  gint64 bytes = segment_bytes (builder, chunk);
  if (stage_of (builder) == 2 && bytes > 0)
    ls_builder_claim (builder, "gradients", LS_MEMORY_BUFFERS, bytes);
}

void ls_reduce_note (LsBuilder *builder, LsMark mark) {
  g_array_append_val (builder->reduce->notes, mark);
}

void ls_reduce_begin_layer (LsBuilder *builder, gint64 parameters) {
  if (stage_of (builder) < 3 || parameters == 0)
    return;
  LsMark start = ls_builder_claim (builder, "gradients", LS_MEMORY_BUFFERS,
                                   ls_builder_reduce_bytes (builder, parameters));
  g_array_append_val (builder->reduce->starts, start);
}

void ls_reduce_end_layer (LsBuilder *builder, const LsLayerPlan *plan) {
  if (stage_of (builder) < 3 || plan->parameters == 0)
    return;
  LsMark last = ls_builder_last (builder), mark = {0};
  gint64 bytes = ls_builder_reduce_bytes (builder, plan->parameters);
  guint parts = ls_builder_zero_parts (builder, plan);

  for (guint part = 0; part < parts; part++) {
    LsOp op = reduction (builder, bytes * (part + 1) / parts - bytes * part / parts);
    mark = ls_builder_add (builder, LS_ROLE_REDUCE, &op);
    if (part == 0)
      ls_program_wait_same (builder->program, mark, last);
    mark = ls_builder_zero_pieces (builder, LS_ROLE_REDUCE, mark);
  }
  g_array_append_val (builder->reduce->units, mark);
  builder->reduce->newest = mark;
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
    const LsLoopMap maps[] = {LS_LOOP_SAME (LS_LEVEL_STEP), LS_LOOP_SAME (LS_LEVEL_MICROBATCH),
                              LS_LOOP_SHIFT (LS_LEVEL_SEGMENT, -back)};
    ls_program_wait (builder->program, g_array_index (starts, LsMark, i),
                     g_array_index (units, LsMark, unit), maps, G_N_ELEMENTS (maps));
  }
}

void ls_reduce_end_chunk (LsBuilder *builder, const LsChunk *chunk) {
  GArray *notes = builder->reduce->notes;

  if (builder->reduce->when == LS_REDUCE_NONE || stage_of (builder) >= 3 ||
      !zero_of (builder)->overlap || segment_bytes (builder, chunk) == 0)
    return;
  LS_REQUIRE (notes->len > 0, "layer %s has parameters and no backward", chunk->plan->name);
  fill_buckets (builder, chunk, g_array_index (notes, LsMark, notes->len - 1));
}

static gint64 total_bytes (const LsBuilder *builder) {
  gint64 bytes = 0;

  for (guint i = 0; i < builder->chunks->n; i++)
    bytes +=
        segment_bytes (builder, &builder->chunks->chunk[i]) * builder->chunks->chunk[i].segments;
  return bytes;
}

/* All gradients of the stage in buckets, once the compute stream is here. */
static void reduce_all (LsBuilder *builder) {
  gint64 bytes = total_bytes (builder);
  gint64 bucket = MIN (bucket_of (builder), bytes);
  LsMark before = ls_builder_last (builder);
  guint stream = ls_builder_stream (builder, LS_ROLE_REDUCE, builder->depth);

  if (bytes == 0)
    return;
  const gint64 counts[] = {bytes / bucket, 1}, sizes[] = {bucket, bytes % bucket};
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++) {
    if (sizes[i] == 0)
      continue;
    LsOp op = reduction (builder, sizes[i]);
    ls_program_repeat (builder->program, stream, counts[i]);
    builder->reduce->newest = ls_program_add (builder->program, stream, &op);
    ls_program_wait_same (builder->program, builder->reduce->newest, before);
    ls_program_end_repeat (builder->program, stream);
  }
  ls_builder_wait (builder, builder->reduce->newest);
}

void ls_reduce_end_section (LsBuilder *builder) {
  LsReduceState *state = builder->reduce;

  if (state->when == LS_REDUCE_NONE || stage_of (builder) >= 3)
    return;
  if (!zero_of (builder)->overlap)
    reduce_all (builder);
  else if (state->carry_bytes > 0)
    add_single (builder, state->carry_bytes, state->carry_mark, state->carry_segment);
  state->carry_bytes = 0;
}

void ls_reduce_finish (LsBuilder *builder) {
  if (!has_copies (builder))
    return;
  if (stage_of (builder) < 2 && !zero_of (builder)->overlap)
    reduce_all (builder);
  else if (builder->reduce->newest.valid)
    ls_builder_wait (builder, builder->reduce->newest);
}
