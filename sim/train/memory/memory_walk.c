/* Counting bytes through a micro-batch; see memory_walk.h.
 *
 * Invariants: what the forward pass adds and the backward pass takes away is the same: the walk ends at
 *             nothing. Each pass is walked through twice: first to list the layers in the order in which they
 *             are gathered, then to count.
 */
#include "train/memory/memory_walk.h"

#include "base/assert.h"
#include "train/layer/chunk.h"
#include "train/memory/gathered_bytes.h"

typedef struct {
  const LsMemoryBuffers *buffers;
  LsMemoryWalk *walk;
  LsMemoryPeak *peak; /* of what is walked through */
  LsActionKind half;  /* of the backward: BACKWARD (all of it), INPUT, WEIGHT */
  GArray *units;      /* gint64 bytes, in order of gathering, of the pass and of what follows */
  gboolean listing;   /* the units, and counts nothing */
  guint unit;         /* the first that is not let go */
  gint64 live, gathered, reduced;
  /* Of the operation before, which still runs: a collective behind the next kernel, a pair in pieces. */
  gint64 beside;
  gint64 before;  /* gradients of the layer, or of the whole bucket, before this one */
  gint64 filling; /* gradients of the bucket that fills */
} Walker;

static void run (Walker *w, gint64 passing, gint64 kept) {
  const gint64 sum = w->live + w->beside + passing + kept + w->gathered + w->reduced;

  if (sum > w->peak->bytes)
    *w->peak = (LsMemoryPeak){sum, w->gathered, w->reduced};
  w->live += kept;
}

/* Operation `op` of a list; `next`: the one behind it runs too. What it holds while it runs is held until that ends
 * where the two overlap (layer_operation.h). */
static void run_op (Walker *w, const LsLayerOp *op, gboolean next, gint64 passing, gint64 kept) {
  run (w, passing, kept);
  w->beside =
      next && ((op->is_collective && op->overlaps_next) || ls_layer_is_cut (op)) ? passing : 0;
}

/* Those of so many parameters that travel. */
static gint64 shared (const Walker *w, gint64 dense, gint64 experts) {
  return (w->buffers->dense ? dense : 0) + (w->buffers->experts ? experts : 0);
}

/* Bytes that are gathered of it. */
static gint64 gathered_of (const Walker *w, const LsLayerPlan *plan) {
  if (w->buffers->gathers == NULL)
    return 0;
  const LsGatheredBytes bytes = ls_gathered_bytes (plan, w->buffers->gathers);

  return (w->buffers->dense ? bytes.dense : 0) +
         (w->buffers->experts && !w->buffers->repeats_experts ? bytes.experts : 0);
}

/* All that may be there: a layer is gathered once the one so many before it is let go, whatever runs. */
static void gather_ahead (Walker *w) {
  w->gathered = 0;
  for (guint i = w->unit; i < w->unit + w->buffers->gathered_layers && i < w->units->len; i++)
    w->gathered += g_array_index (w->units, gint64, i);
}

/* The layer's parameters, which its pass needs no more. */
static void let_go (Walker *w, const LsLayerPlan *plan) {
  const gint64 all = gathered_of (w, plan), bytes = plan->is_root ? 0 : all;

  if (all == 0)
    return;
  if (w->listing) {
    g_array_append_val (w->units, bytes);
    return;
  }
  w->unit++;
  gather_ahead (w);
}

/* The gradients of a layer (stage 3) or of a segment (stage 2) come into being. */
static void reduce (Walker *w, gint64 parameters) {
  const gint64 bytes = parameters * w->buffers->reduce_bytes;

  if (w->buffers->by_layer) {
    if (bytes == 0)
      return;
    w->reduced = w->before + bytes;
    w->before = w->buffers->in_turn ? 0 : bytes;
    return;
  }
  /* The bucket that fills, and the one before it that is under way (reduce_program.c). */
  w->filling += bytes;
  w->reduced = w->before + w->filling;
  if (w->filling >= w->buffers->bucket_bytes) {
    w->before = w->filling;
    w->filling = 0;
  }
}

/* The forward list; `keep` FALSE keeps nothing, `all` FALSE not what selective recompute drops. */
static void forward (Walker *w, const LsLayerPlan *plan, gboolean keep, gboolean all) {
  for (guint i = 0; i < plan->n_forward; i++) {
    const LsLayerOp *op = &plan->forward[i];
    const gint64 dropped = !keep ? op->saved_bytes : all ? 0 : ls_layer_op_dropped_bytes (plan, i);

    run_op (w, op, i + 1 < plan->n_forward, op->workspace_bytes + dropped,
            op->saved_bytes - dropped);
  }
  w->walk->forward_layers++;
}

/* The forward list once more. Where the software stops early it ends with the last operation that saves
 * something; a matmul's input is kept without running it. */
static void again (Walker *w, const LsLayerPlan *plan, gboolean last) {
  const guint n = w->buffers->stops_early && last ? ls_layer_plan_needed (plan) : plan->n_forward;

  for (guint i = 0; i < n; i++)
    run_op (w, &plan->forward[i], i + 1 < n, plan->forward[i].workspace_bytes,
            plan->forward[i].saved_bytes);
  if (n < plan->n_forward)
    run (w, 0, plan->forward[n].saved_bytes);
  w->walk->forward_layers++;
}

static void run_selected (Walker *w, const LsLayerPlan *plan) {
  for (guint i = 0; i < plan->n_forward; i++)
    if (ls_layer_op_repeated (plan, i))
      run_op (w, &plan->forward[i], i + 1 < plan->n_forward && ls_layer_op_repeated (plan, i + 1),
              plan->forward[i].workspace_bytes, ls_layer_op_remade_bytes (plan, i));
}

static gboolean is_in_half (const Walker *w, const LsLayerOp *op) {
  return w->half == LS_ACTION_BACKWARD ||
         (op->phase == LS_PHASE_WEIGHT_GRAD) == (w->half == LS_ACTION_WEIGHT);
}

/* As in layer_program.c: the last operation claims what is put off beyond what was saved. */
static void backward (Walker *w, const LsLayerPlan *plan, gint64 input_bytes) {
  const gint64 saved = ls_layer_plan_saved_bytes (plan) + input_bytes;
  const gint64 put_off = ls_layer_plan_put_off_bytes (plan);
  const gint64 more = w->half == LS_ACTION_INPUT ? MAX (put_off - saved, 0) : 0;
  guint n = plan->n_backward;

  while (n > 0 && !is_in_half (w, &plan->backward[n - 1]))
    n--;
  for (guint i = 0; i < n; i++) {
    const LsLayerOp *op = &plan->backward[i];
    const gint64 kept = w->half == LS_ACTION_WEIGHT ? op->output_gradient_bytes : 0;

    if (is_in_half (w, op))
      run_op (w, op, i + 1 < n && is_in_half (w, op + 1), MAX (op->workspace_bytes - kept, 0),
              i + 1 == n ? more : 0);
  }
  if (n == 0)
    run (w, 0, more);
  w->live -= more;
  w->live -= w->half == LS_ACTION_WEIGHT ? put_off : saved;
  w->live += w->half == LS_ACTION_INPUT ? put_off : 0;
}

/* Do inputs of the chunk's segments go to the host? */
static gboolean leaves (const Walker *w, const LsChunk *chunk) {
  return w->buffers->stores_inputs && chunk->mode == LS_CHUNK_FULL;
}

static void chunk_forward (Walker *w, const LsChunk *chunk) {
  for (guint segment = 0; segment < chunk->segments; segment++) {
    for (guint layer = 0; layer < chunk->size; layer++) {
      const gboolean last = layer + 1 == chunk->size;

      if (chunk->mode == LS_CHUNK_FULL && layer == 0)
        run (w, 0, ls_chunk_input_bytes (chunk));
      forward (w, chunk->plans[layer],
               chunk->mode != LS_CHUNK_FULL && (chunk->mode != LS_CHUNK_CHAIN || last),
               chunk->mode != LS_CHUNK_SELECTIVE);
      let_go (w, chunk->plans[layer]);
    }
    w->live -= leaves (w, chunk) ? ls_chunk_input_bytes (chunk) : 0;
  }
}

/* Layers of a segment whose whole forward list runs again. */
static guint layers_again (const LsChunk *chunk) {
  if (chunk->mode == LS_CHUNK_FULL)
    return chunk->size;
  return chunk->mode == LS_CHUNK_CHAIN ? chunk->size - 1 : 0;
}

/* As in layer_program.c: is the segment gathered for its second forward pass and then again? */
static gboolean gathers_apart (const Walker *w, const LsChunk *chunk) {
  return chunk->size > 1 || (w->buffers->gathers_apart && chunk->mode == LS_CHUNK_FULL);
}

static void run_again (Walker *w, const LsChunk *chunk) {
  const guint n = layers_again (chunk);

  for (guint layer = 0; layer < n; layer++) {
    again (w, chunk->plans[layer], chunk->mode == LS_CHUNK_FULL && layer + 1 == n);
    if (gathers_apart (w, chunk))
      let_go (w, chunk->plans[layer]);
  }
  if (chunk->mode == LS_CHUNK_SELECTIVE)
    run_selected (w, chunk->plans[0]);
}

static void layer_backward (Walker *w, const LsChunk *chunk, guint layer) {
  const gboolean inputs = w->half != LS_ACTION_WEIGHT, weights = w->half != LS_ACTION_INPUT;
  const LsLayerPlan *plan = chunk->plans[layer];

  if (weights && w->buffers->by_layer)
    reduce (w, shared (w, plan->parameters, plan->expert_parameters));
  if (inputs && !gathers_apart (w, chunk))
    run_again (w, chunk);
  backward (w, plan,
            layer == 0 && inputs && chunk->mode == LS_CHUNK_FULL ? ls_chunk_input_bytes (chunk)
                                                                 : 0);
  if (weights && w->buffers->in_turn)
    w->reduced = 0;
  if (inputs)
    let_go (w, plan);
}

static void segment_backward (Walker *w, const LsChunk *chunk) {
  if (w->half != LS_ACTION_INPUT && !w->buffers->by_layer)
    reduce (w, shared (w, ls_chunk_parameters (chunk), ls_chunk_expert_parameters (chunk)));
  if (w->half != LS_ACTION_WEIGHT && gathers_apart (w, chunk))
    run_again (w, chunk);
  for (guint layer = chunk->size; layer-- > 0;)
    layer_backward (w, chunk, layer);
}

/* Comes back from the host: the segment's input, and the next one's ahead. */
static void fetch_input (Walker *w, const LsChunk *chunk, guint segment) {
  if (!leaves (w, chunk) || w->half == LS_ACTION_WEIGHT)
    return;
  if (segment == 0 || !w->buffers->fetches_ahead)
    run (w, 0, ls_chunk_input_bytes (chunk));
  if (w->buffers->fetches_ahead && segment + 1 < chunk->segments)
    run (w, 0, ls_chunk_input_bytes (chunk));
}

/* The pass `kind` from `live` on, with its units and those behind it. */
static void walk_through (Walker *w, const LsChunks *chunks, LsActionKind kind, gint64 live,
                          LsMemoryPeak *peak) {
  w->live = live;
  w->half = kind;
  w->peak = peak;
  w->before = w->filling = w->reduced = 0;
  w->unit = 0;
  gather_ahead (w);
  for (guint i = 0; kind == LS_ACTION_FORWARD && i < chunks->n; i++)
    chunk_forward (w, &chunks->chunk[i]);
  for (guint i = chunks->n; kind != LS_ACTION_FORWARD && i-- > 0;)
    for (guint segment = 0; segment < chunks->chunk[i].segments; segment++) {
      fetch_input (w, &chunks->chunk[i], segment);
      segment_backward (w, &chunks->chunk[i]);
    }
}

static GArray *list_units (const LsChunks *chunks, const LsMemoryBuffers *buffers,
                           LsActionKind pass) {
  const LsMemoryBuffers nothing_ahead = {.dense = buffers->dense,
                                         .experts = buffers->experts,
                                         .gathers = buffers->gathers,
                                         .repeats_experts = buffers->repeats_experts,
                                         .gathers_apart = buffers->gathers_apart};
  LsMemoryWalk walk = {0};
  LsMemoryPeak peak = {0};
  Walker list = {.buffers = &nothing_ahead,
                 .walk = &walk,
                 .units = g_array_new (FALSE, FALSE, sizeof (gint64)),
                 .listing = TRUE};

  if (buffers->gathers != NULL)
    walk_through (&list, chunks, pass, 0, &peak);
  return list.units;
}

static void append_units (GArray *units, const GArray *more) {
  g_array_append_vals (units, more->data, more->len);
}

/* The walk with the backward as a whole: what it leaves is nothing. */
static void walk_once (Walker *w, const LsChunks *chunks) {
  g_autoptr (GArray) forward = list_units (chunks, w->buffers, LS_ACTION_FORWARD);
  g_autoptr (GArray) backward = list_units (chunks, w->buffers, LS_ACTION_BACKWARD);

  append_units (forward, backward);
  w->units = forward;
  walk_through (w, chunks, LS_ACTION_FORWARD, 0, &w->walk->forward);
  w->walk->kept = w->live;
  w->units = backward;
  walk_through (w, chunks, LS_ACTION_BACKWARD, w->live, &w->walk->backward);
  LS_REQUIRE (w->live == 0, "%" G_GINT64_FORMAT " bytes of activations left", w->live);
}

/* The same in halves, which together leave nothing. */
static void walk_halves (Walker *w, const LsChunks *chunks) {
  g_autoptr (GArray) backward = list_units (chunks, w->buffers, LS_ACTION_INPUT);
  g_autoptr (GArray) nothing = g_array_new (FALSE, FALSE, sizeof (gint64));
  const gint64 layers = w->walk->forward_layers;

  w->units = backward;
  walk_through (w, chunks, LS_ACTION_INPUT, w->walk->kept, &w->walk->input);
  w->walk->put_off = w->live;
  w->units = nothing;
  walk_through (w, chunks, LS_ACTION_WEIGHT, w->live, &w->walk->weight);
  LS_REQUIRE (w->live == 0, "%" G_GINT64_FORMAT " bytes of activations left", w->live);
  w->walk->forward_layers = layers;
}

void ls_memory_walk (const LsStage *stage, const LsRecompute *recompute,
                     const LsMemoryBuffers *buffers, LsMemoryWalk *walk) {
  static const LsMemoryBuffers nothing = {0};
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, recompute);
  Walker count = {.buffers = buffers != NULL ? buffers : &nothing, .walk = walk};

  *walk = (LsMemoryWalk){0};
  walk_once (&count, chunks);
  const LsMemoryPeak *peak =
      walk->forward.bytes >= walk->backward.bytes ? &walk->forward : &walk->backward;
  walk->peak = peak->bytes;
  walk->gathered = peak->gathered;
  walk->reduced = peak->reduced;
  walk_halves (&count, chunks);
}

GArray *ls_memory_units (const LsStage *stage, const LsRecompute *recompute,
                         const LsMemoryBuffers *buffers, LsActionKind pass) {
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, recompute);

  return list_units (chunks, buffers, pass);
}

LsMemoryPeak ls_memory_pass (const LsStage *stage, const LsRecompute *recompute,
                             const LsMemoryBuffers *buffers, const LsMemoryWalk *walk,
                             LsActionKind pass, const GArray *ahead) {
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, recompute);
  g_autoptr (GArray) units = list_units (chunks, buffers, pass);
  LsMemoryWalk unused = {0};
  LsMemoryPeak peak = {0};
  Walker count = {.buffers = buffers, .walk = &unused, .units = units};

  append_units (units, ahead);
  walk_through (&count, chunks, pass,
                pass == LS_ACTION_FORWARD  ? 0
                : pass == LS_ACTION_WEIGHT ? walk->put_off
                                           : walk->kept,
                &peak);
  return peak;
}
