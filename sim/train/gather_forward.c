/* Gathers beside the next forward pass; see gather_forward.h.
 *
 * Of a chunk with more than a bucket the stream of gathers has, with k segments to a bucket and c collectives for each:
 *
 *   c x gather | (k - 1) x [c x nothing] | (n/k - 1) x [c x gather | (k - 1) x [c x nothing]] | the rest alike
 *
 * so that operation c s + c - 1 of the chunk ends what segment s needs. Waits count from the first loop of the chunk:
 * ordinals run through loops.
 */
#include "train/gather_forward.h"

#include "base/assert.h"
#include "train/gather_program.h"

/* A loop map's step has 8 bits. */
#define MAX_SEGMENTS_PER_BUCKET 127

/* The last compute operation before the first segment of a bucket. The next bucket starts when it has ended: it is in
 * the same stream as this one, so not before compute has what it waits for here. */
typedef struct {
  LsMark mark;
  guint section_depth; /* loops around the section that it is in */
  gint64 segment;      /* in the loop over segments, if it is in one; -1: before the first */
} Start;

/* First operation of a bucket and the segment of its own chunk whose end it waits for. */
typedef struct {
  LsMark mark;
  LsLoopMap segment;
} Head;

struct LsGatherForward {
  GPtrArray *done; /* LsChunks: parts whose first forward has been written */
  gboolean active; /* one is being written */
  Start newest;    /* of the newest bucket; at first the start of the step */
  gint64 covered;  /* bytes of chunks to come that the newest bucket holds as well */
  /* Of the chunk that is being written. */
  gboolean waits; /* its segments do, one by one: */
  LsMark target;  /* for this, */
  LsLoopMap map;  /* in the iteration of its loop, if it is in one, that their number says */
  Head heads[2];  /* of buckets after its first */
  guint n_heads;
  gint64 last; /* first segment of its last bucket */
};

LsGatherForward *ls_gather_forward_new (void) {
  LsGatherForward *state = g_new0 (LsGatherForward, 1);

  state->done = g_ptr_array_new ();
  return state;
}

void ls_gather_forward_free (LsGatherForward *state) {
  if (state == NULL)
    return;
  g_ptr_array_unref (state->done);
  g_free (state);
}

/* --- bytes ---------------------------------------------------------------------------------- */

static LsShared bytes_of (const LsBuilder *builder, const LsChunk *chunk, gint64 segments) {
  const LsLayerPlan *plan = chunk->plan;

  return ls_gather_updated_bytes (builder, plan->parameters, plan->expert_parameters,
                                  plan->narrow_parameters, segments * chunk->size);
}

static gint64 total (const LsBuilder *builder, const LsChunk *chunk) {
  const LsShared bytes = bytes_of (builder, chunk, chunk->segments);

  return bytes.dense + bytes.experts;
}

static LsShared part_of (LsShared bytes, gint64 part, gint64 parts) {
  return (LsShared){bytes.dense * (part + 1) / parts - bytes.dense * part / parts,
                    bytes.experts * (part + 1) / parts - bytes.experts * part / parts};
}

/* A bucket holds as many parameters as gradients. */
static gint64 bucket_of (const LsBuilder *builder) {
  const gint64 bytes = ls_builder_bucket_bytes (builder);

  /* What is noted down has no segments to wait by. */
  if (bytes == G_MAXINT64 || builder->script != NULL)
    return G_MAXINT64;
  return MAX (ls_builder_gather_bytes (builder, bytes / ls_builder_reduce_bytes (builder, 1)), 1);
}

/* --- operations ----------------------------------------------------------------------------- */

static guint stream_of (LsBuilder *builder) {
  return ls_builder_stream (builder, LS_ROLE_GATHER, LS_LEVEL_STEP + 1);
}

/* Appends the collectives of `bytes` in `parts`; *first and *last of them. Returns how many. */
static guint add_gathers (LsBuilder *builder, LsShared bytes, gint64 parts, LsMark *first,
                          LsMark *last) {
  const guint stream = stream_of (builder);
  guint n = 0;

  for (gint64 part = 0; part < 2 * parts; part++) {
    const gboolean experts = part % 2 == 1;
    const LsShared own = part_of (bytes, part / 2, parts);
    const gint64 size = experts ? own.experts : own.dense;
    if (size == 0)
      continue;
    LsOp op = ls_gather_op (builder, size, experts);
    op.phase = LS_PHASE_FORWARD;
    *last = ls_program_add (builder->program, stream, &op);
    if (n++ == 0)
      *first = *last;
  }
  return n;
}

/* `n` operations that are nothing for each of `segments`; returns the last. */
static LsMark add_nothing (LsBuilder *builder, gint64 segments, guint n) {
  const guint stream = stream_of (builder);
  const LsOp op = ls_builder_memory (builder, "in_bucket");
  LsMark mark = {0};

  if (segments == 0)
    return mark;
  ls_program_repeat (builder->program, stream, segments);
  for (guint i = 0; i < n; i++)
    mark = ls_program_add (builder->program, stream, &op);
  ls_program_end_repeat (builder->program, stream);
  return mark;
}

/* `waiter`, a gather, waits for the end of `start` in the first micro-batch, in the segment that `segment` says. */
static void wait_for_start (LsBuilder *builder, LsMark waiter, const Start *start,
                            LsLoopMap segment) {
  LsLoopMap maps[LS_MAX_LOOP_DEPTH] = {LS_LOOP_SAME (LS_LEVEL_STEP)};
  const guint depth = ls_program_depth (builder->program, start->mark);

  for (guint level = 1; level < depth; level++)
    maps[level] = level < start->section_depth ? LS_LOOP_AT (0) : segment;
  ls_program_wait (builder->program, waiter, start->mark, maps, depth);
}

static void wait_for_newest (LsBuilder *builder, LsMark waiter) {
  const Start *newest = &builder->forward->newest;

  wait_for_start (builder, waiter, newest, LS_LOOP_AT (newest->segment));
}

/* --- buckets -------------------------------------------------------------------------------- */

/* Bytes of this chunk and the ones after it that one bucket holds whole; 0: not even this one. */
static LsShared whole_chunks (const LsBuilder *builder, const LsChunk *chunk) {
  const LsChunk *end = builder->current->chunk + builder->current->n;
  const gint64 bucket = bucket_of (builder);
  LsShared sum = {0, 0};

  for (; chunk < end; chunk++) {
    const LsShared more = bytes_of (builder, chunk, chunk->segments);
    if (more.dense + more.experts > bucket - sum.dense - sum.experts)
      break;
    sum = (LsShared){sum.dense + more.dense, sum.experts + more.experts};
  }
  return sum;
}

/* One bucket for whole chunks, of which this is the first: compute waits before its loop. */
static void share_bucket (LsBuilder *builder, LsShared bytes) {
  LsMark first = {0}, last = {0};

  add_gathers (builder, bytes, 1, &first, &last);
  wait_for_newest (builder, first);
  ls_builder_wait (builder, last);
}

static void put_head (LsGatherForward *state, LsMark mark, LsLoopMap segment) {
  LS_REQUIRE (state->n_heads < G_N_ELEMENTS (state->heads));
  state->heads[state->n_heads++] = (Head){mark, segment};
}

/* Buckets of `k` segments each, all but the first and the rest in a loop. */
static void fill_buckets (LsBuilder *builder, const LsChunk *chunk, gint64 k, gint64 parts) {
  LsGatherForward *state = builder->forward;
  const gint64 n = chunk->segments, rest = n % k, looped = n / k - 1;
  LsMark first = {0}, last = {0}, nothing;

  const guint c = add_gathers (builder, bytes_of (builder, chunk, k), parts, &first, &last);
  wait_for_newest (builder, first);
  nothing = add_nothing (builder, k - 1, c);
  state->target = nothing.valid ? nothing : last;
  state->map = (LsLoopMap){(gint8) builder->section_depth, 1, -1};
  if (looped > 0) {
    guint level = ls_program_repeat (builder->program, stream_of (builder), looped);
    add_gathers (builder, bytes_of (builder, chunk, k), parts, &first, &last);
    add_nothing (builder, k - 1, c);
    ls_program_end_repeat (builder->program, stream_of (builder));
    put_head (state, first, (LsLoopMap){(gint8) level, (gint8) k, -1});
    if (k == 1)
      state->target = last;
  }
  if (rest > 0) {
    add_gathers (builder, bytes_of (builder, chunk, rest), parts, &first, &last);
    add_nothing (builder, rest - 1, c);
    put_head (state, first, LS_LOOP_AT (looped * k - 1));
  }
  state->last = rest > 0 ? n - rest : n - k;
  state->waits = TRUE;
}

static void write_chunk (LsBuilder *builder, const LsChunk *chunk) {
  LsGatherForward *state = builder->forward;
  const gint64 bytes = total (builder, chunk), bucket = bucket_of (builder);
  const LsShared whole = whole_chunks (builder, chunk);
  const Start start = {ls_builder_last (builder), builder->section_depth, 0};

  if (whole.dense + whole.experts > 0) {
    state->covered = whole.dense + whole.experts - bytes;
    share_bucket (builder, whole);
    state->newest = start;
    return;
  }
  const gint64 of_segment = MAX (bytes / chunk->segments, 1);
  const gint64 most = MIN ((gint64) chunk->segments, MAX_SEGMENTS_PER_BUCKET);
  fill_buckets (builder, chunk, CLAMP ((bucket + of_segment - 1) / of_segment, 1, most),
                MAX (of_segment / bucket, 1));
  state->newest = start;
}

/* --- the forward pass ----------------------------------------------------------------------- */

void ls_gather_forward_begin_step (LsBuilder *builder) {
  if (ls_gather_is_ahead (builder))
    builder->forward->newest = (Start){ls_builder_last (builder), builder->depth, 0};
}

void ls_gather_forward_begin (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;

  if (!ls_gather_is_ahead (builder) || g_ptr_array_find (state->done, builder->current, NULL))
    return;
  g_ptr_array_add (state->done, (gpointer) builder->current);
  state->active = TRUE;
  state->covered = 0;
}

void ls_gather_forward_end (LsBuilder *builder) {
  builder->forward->active = FALSE;
}

void ls_gather_forward_chunk (LsBuilder *builder, const LsChunk *chunk) {
  LsGatherForward *state = builder->forward;
  const LsLabel microbatch = builder->microbatch;
  const gint64 bytes = state->active ? total (builder, chunk) : 0;

  state->waits = FALSE;
  state->n_heads = 0;
  if (bytes == 0)
    return;
  if (state->covered > 0) {
    state->covered -= bytes;
    return;
  }
  /* Labels are counted by the loops of their own stream. */
  builder->microbatch = LS_LABEL_NONE;
  write_chunk (builder, chunk);
  builder->microbatch = microbatch;
}

void ls_gather_forward_begin_segment (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;
  LsLoopMap maps[LS_MAX_LOOP_DEPTH] = {LS_LOOP_SAME (LS_LEVEL_STEP), state->map};

  if (state->active && state->waits)
    ls_builder_wait_maps (builder, state->target, maps,
                          ls_program_depth (builder->program, state->target));
}

void ls_gather_forward_end_segment (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;

  if (!state->active || state->n_heads == 0)
    return;
  state->newest = (Start){ls_builder_last (builder), builder->section_depth, state->last - 1};
  for (guint i = 0; i < state->n_heads; i++)
    wait_for_start (builder, state->heads[i].mark, &state->newest, state->heads[i].segment);
}
