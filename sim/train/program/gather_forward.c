/* Gathers beside the next forward pass; see gather_forward.h.
 *
 * Of a chunk in which a bucket starts, the stream of gathers has c operations for each of its segments: for the first of
 * a bucket its collectives, filled up with operations that are nothing where it has fewer, for the others c times
 * nothing. So operation c s + c - 1 of the chunk ends what segment s needs, and that is counted from the first loop of
 * the chunk, which steps by c: ordinals run through loops.
 *
 *   head | first whole bucket | (whole - 1) x [c x gather | (k - 1) x [c x nothing]] | tail
 *
 * where the others are 1 x [c x gather] | (n - 1) x [c x nothing], or n x [c x nothing] of a bucket that has started.
 */
#include "train/program/gather_forward.h"

#include "base/assert.h"
#include "train/program/gather_buckets.h"
#include "train/program/gather_program.h"

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

/* A bucket that chunks may share. */
typedef struct {
  LsShared bytes;
  gboolean started;
} Bucket;

struct LsGatherForward {
  GPtrArray *done; /* LsChunks: parts whose first forward has been written */
  gboolean active; /* one is being written: */
  GArray *cuts;    /* LsBucketCut of its chunks */
  GArray *buckets; /* Bucket: shared ones */
  guint kinds;     /* of collectives: dense, experts */
  Start newest;    /* of the newest bucket; at first the start of the step */
  /* Of the chunk that is being written, in which a bucket starts or several do. */
  gboolean waits; /* its segments do, one by one: */
  guint each;     /* operations for each; */
  LsMark target;  /* for this, */
  LsLoopMap map;  /* in the iteration of its loop that their number says */
  gint64 at;      /* the next segment */
  gint64 last;    /* first segment of the newest bucket that starts here; -1: none yet */
  Head heads[3];  /* of the buckets after the first one that starts here */
  guint n_heads;
};

LsGatherForward *ls_gather_forward_new (void) {
  LsGatherForward *state = g_new0 (LsGatherForward, 1);

  state->done = g_ptr_array_new ();
  state->cuts = g_array_new (FALSE, TRUE, sizeof (LsBucketCut));
  state->buckets = g_array_new (FALSE, TRUE, sizeof (Bucket));
  return state;
}

void ls_gather_forward_free (LsGatherForward *state) {
  if (state == NULL)
    return;
  g_ptr_array_unref (state->done);
  g_array_unref (state->cuts);
  g_array_unref (state->buckets);
  g_free (state);
}

/* --- bytes ---------------------------------------------------------------------------------- */

static LsShared bytes_of (const LsBuilder *builder, const LsChunk *chunk, gint64 segments) {
  return ls_gather_updated_bytes (builder, ls_chunk_parameters (chunk),
                                  ls_chunk_expert_parameters (chunk),
                                  ls_chunk_narrow_parameters (chunk), segments);
}

/* Of one segment, as its reduction counts them. */
static gint64 gradients_of (const LsBuilder *builder, const LsChunk *chunk) {
  const LsShared shared =
      ls_builder_shared (builder, ls_chunk_parameters (chunk), ls_chunk_expert_parameters (chunk));

  return ls_builder_reduce_bytes (builder, shared.dense + shared.experts);
}

/* What is noted down has no segments to wait by: one bucket. */
static gint64 bucket_of (const LsBuilder *builder) {
  if (builder->script != NULL)
    return G_MAXINT64 / 4;
  return ls_workload_unit_buckets (builder->spec->workload)
             ? 1
             : MIN (ls_builder_bucket_bytes (builder), G_MAXINT64 / 4);
}

/* Collectives that gather a segment which fills a bucket alone. */
static gint64 parts_of (const LsBuilder *builder, const LsChunk *chunk) {
  if (builder->script == NULL && ls_workload_unit_buckets (builder->spec->workload))
    return chunk->size;
  return MAX (gradients_of (builder, chunk) / bucket_of (builder), 1);
}

static LsShared part_of (LsShared bytes, gint64 part, gint64 parts) {
  return (LsShared){bytes.dense * (part + 1) / parts - bytes.dense * part / parts,
                    bytes.experts * (part + 1) / parts - bytes.experts * part / parts};
}

/* --- operations ----------------------------------------------------------------------------- */

static guint stream_of (LsBuilder *builder) {
  return ls_builder_stream (builder, LS_ROLE_GATHER, LS_LEVEL_STEP + 1);
}

static LsMark add_nothing (LsBuilder *builder, guint n) {
  const LsOp op = ls_builder_memory (builder, "in_bucket");
  LsMark mark = {0};

  for (guint i = 0; i < n; i++)
    mark = ls_program_add (builder->program, stream_of (builder), &op);
  return mark;
}

/* The collectives of `bytes` in `parts`, and nothing up to what a segment has; returns the last, *first is the first. */
static LsMark add_gathers (LsBuilder *builder, LsShared bytes, gint64 parts, LsMark *first) {
  LsMark last = {0};
  guint n = 0;

  for (gint64 part = 0; part < 2 * parts; part++) {
    const gboolean experts = part % 2 == 1;
    const LsShared own = part_of (bytes, part / 2, parts);
    const gint64 size = experts ? own.experts : own.dense;
    if (size == 0)
      continue;
    LsOp op = ls_gather_op (builder, size, experts);
    op.phase = LS_PHASE_FORWARD;
    last = ls_program_add (builder->program, stream_of (builder), &op);
    if (n++ == 0)
      *first = last;
  }
  LS_REQUIRE (n > 0 && n <= builder->forward->each, "%u collectives", n);
  return n < builder->forward->each ? add_nothing (builder, builder->forward->each - n) : last;
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

static void put_head (LsGatherForward *state, LsMark mark, LsLoopMap segment) {
  LS_REQUIRE (state->n_heads < G_N_ELEMENTS (state->heads));
  state->heads[state->n_heads++] = (Head){mark, segment};
}

/* A bucket starts with the next segment: after compute has come to the one before. */
static void start_bucket (LsBuilder *builder, LsMark first) {
  LsGatherForward *state = builder->forward;

  if (state->last < 0)
    wait_for_start (builder, first, &state->newest, LS_LOOP_AT (state->newest.segment));
  else
    put_head (state, first, LS_LOOP_AT (state->last - 1));
  state->last = state->at;
}

/* The segments wait for `mark`, the last operation of its loop's iteration, which is the next segment's. */
static void set_target (LsBuilder *builder, const LsChunk *chunk, LsMark mark) {
  LsGatherForward *state = builder->forward;

  if (state->target.valid)
    return;
  state->target = mark;
  state->map = chunk->segments > 1 ? (LsLoopMap){(gint8) builder->section_depth, 1, -state->at}
                                   : LS_LOOP_AT (0);
}

/* --- buckets -------------------------------------------------------------------------------- */

/* The next `n` segments, in one bucket: with its collectives, if it starts here. */
static void add_segments (LsBuilder *builder, const LsChunk *chunk, gint64 n,
                          const LsShared *starts, gint64 parts) {
  LsGatherForward *state = builder->forward;
  const guint stream = stream_of (builder);
  gint64 rest = n;

  if (starts != NULL && n > 0) {
    LsMark first = {0};
    ls_program_repeat (builder->program, stream, 1);
    set_target (builder, chunk, add_gathers (builder, *starts, parts, &first));
    ls_program_end_repeat (builder->program, stream);
    start_bucket (builder, first);
    rest--;
    state->at++;
  }
  if (rest > 0) {
    ls_program_repeat (builder->program, stream, rest);
    set_target (builder, chunk, add_nothing (builder, state->each));
    ls_program_end_repeat (builder->program, stream);
  }
  state->at += rest;
}

/* Segments of a shared bucket. */
static void add_shared (LsBuilder *builder, const LsChunk *chunk, gint64 n, guint number) {
  if (n == 0)
    return;
  Bucket *bucket = &g_array_index (builder->forward->buckets, Bucket, number);

  add_segments (builder, chunk, n, bucket->started ? NULL : &bucket->bytes, 1);
  bucket->started = TRUE;
}

/* Buckets of the chunk's own after the first of them. */
static void add_looped (LsBuilder *builder, const LsChunk *chunk, gint64 count, gint64 k,
                        gint64 parts) {
  LsGatherForward *state = builder->forward;
  const guint stream = stream_of (builder);
  LsMark first = {0};

  if (count < 1)
    return;
  const guint level = ls_program_repeat (builder->program, stream, count);
  add_gathers (builder, bytes_of (builder, chunk, k), parts, &first);
  if (k > 1) {
    ls_program_repeat (builder->program, stream, k - 1);
    add_nothing (builder, state->each);
    ls_program_end_repeat (builder->program, stream);
  }
  ls_program_end_repeat (builder->program, stream);
  put_head (state, first, (LsLoopMap){(gint8) level, (gint8) k, state->last - 1});
  state->at += count * k;
  state->last = state->at - k;
}

static gboolean is_started (const LsGatherForward *state, gint64 segments, guint number) {
  return segments == 0 || g_array_index (state->buckets, Bucket, number).started;
}

static void write_chunk (LsBuilder *builder, const LsChunk *chunk, const LsBucketCut *cut) {
  LsGatherForward *state = builder->forward;
  const gint64 k = cut->per_bucket, parts = parts_of (builder, chunk);
  const Start start = {ls_builder_last (builder), builder->section_depth, -1};
  const LsShared own = bytes_of (builder, chunk, k);

  state->waits = TRUE;
  state->each = state->kinds * (guint) parts;
  add_shared (builder, chunk, cut->head, cut->head_bucket);
  if (cut->whole > 0)
    add_segments (builder, chunk, k, &own, parts);
  add_looped (builder, chunk, cut->whole - 1, k, parts);
  add_shared (builder, chunk, cut->tail, cut->tail_bucket);
  LS_REQUIRE (state->at == chunk->segments && state->last >= 0);
  state->newest = start;
}

/* --- the forward pass ----------------------------------------------------------------------- */

void ls_gather_forward_begin_step (LsBuilder *builder) {
  if (ls_gather_is_ahead (builder))
    builder->forward->newest = (Start){ls_builder_last (builder), builder->depth, -1};
}

static void add_to (LsGatherForward *state, const LsBuilder *builder, const LsChunk *chunk,
                    gint64 segments, guint number) {
  if (segments == 0)
    return;
  Bucket *bucket = &g_array_index (state->buckets, Bucket, number);
  const LsShared more = bytes_of (builder, chunk, segments);

  bucket->bytes =
      (LsShared){bucket->bytes.dense + more.dense, bucket->bytes.experts + more.experts};
}

/* The buckets of the part. */
static void cut_part (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;
  const LsChunks *chunks = builder->current;
  g_autofree gint64 *segments = g_new (gint64, chunks->n), *bytes = g_new (gint64, chunks->n);

  state->kinds = 1;
  for (guint i = 0; i < chunks->n; i++) {
    segments[i] = chunks->chunk[i].segments;
    bytes[i] = gradients_of (builder, &chunks->chunk[i]);
    if (bytes_of (builder, &chunks->chunk[i], 1).experts > 0)
      state->kinds = 2;
  }
  g_array_set_size (state->cuts, chunks->n);
  g_array_set_size (state->buckets, 0);
  g_array_set_size (state->buckets, ls_buckets_cut (segments, bytes, chunks->n, bucket_of (builder),
                                                    (LsBucketCut *) (gpointer) state->cuts->data));
  for (guint i = 0; i < chunks->n; i++) {
    const LsBucketCut *cut = &g_array_index (state->cuts, LsBucketCut, i);
    add_to (state, builder, &chunks->chunk[i], cut->head, cut->head_bucket);
    add_to (state, builder, &chunks->chunk[i], cut->tail, cut->tail_bucket);
  }
}

void ls_gather_forward_begin (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;

  if (!ls_gather_is_ahead (builder) || g_ptr_array_find (state->done, builder->current, NULL))
    return;
  g_ptr_array_add (state->done, (gpointer) builder->current);
  state->active = TRUE;
  cut_part (builder);
}

void ls_gather_forward_end (LsBuilder *builder) {
  builder->forward->active = FALSE;
}

/* Segments that are noted down do not wait one by one: all of the part is one bucket. */
static void wait_before (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;
  const LsLoopMap maps[] = {LS_LOOP_SAME (LS_LEVEL_STEP), LS_LOOP_AT (0)};

  ls_builder_wait_maps (builder, state->target, maps, G_N_ELEMENTS (maps));
  state->waits = FALSE;
  state->last = -1;
}

void ls_gather_forward_chunk (LsBuilder *builder, const LsChunk *chunk) {
  LsGatherForward *state = builder->forward;
  const LsLabel microbatch = builder->microbatch;

  state->waits = FALSE;
  state->n_heads = 0;
  state->at = 0;
  state->last = -1;
  state->target.valid = FALSE;
  if (!state->active)
    return;
  const LsBucketCut *cut =
      &g_array_index (state->cuts, LsBucketCut, (guint) (chunk - builder->current->chunk));
  /* Nothing starts here: compute has waited for it all. */
  if (cut->whole == 0 && is_started (state, cut->head, cut->head_bucket) &&
      is_started (state, cut->tail, cut->tail_bucket))
    return;
  /* Labels are counted by the loops of their own stream. */
  builder->microbatch = LS_LABEL_NONE;
  write_chunk (builder, chunk, cut);
  builder->microbatch = microbatch;
  if (builder->script != NULL)
    wait_before (builder);
}

void ls_gather_forward_begin_segment (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;
  const LsLoopMap maps[] = {LS_LOOP_SAME (LS_LEVEL_STEP), state->map};

  if (state->active && state->waits)
    ls_builder_wait_maps (builder, state->target, maps, G_N_ELEMENTS (maps));
}

void ls_gather_forward_end_segment (LsBuilder *builder) {
  LsGatherForward *state = builder->forward;

  if (!state->active || (state->n_heads == 0 && state->last <= 0))
    return;
  state->newest = (Start){ls_builder_last (builder), builder->section_depth, state->last - 1};
  for (guint i = 0; i < state->n_heads; i++)
    wait_for_start (builder, state->heads[i].mark, &state->newest, state->heads[i].segment);
}
