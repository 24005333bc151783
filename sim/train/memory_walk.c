/* Counting activations through a micro-batch; see memory_walk.h.
 *
 * Invariants: what the forward pass adds and the backward pass takes away is the same: the walk ends at
 *             nothing.
 */
#include "train/memory_walk.h"

#include "base/assert.h"
#include "train/chunk.h"

typedef struct {
  gint64 live;
  LsMemoryWalk *walk;
} Walker;

static void run (Walker *w, gint64 passing, gint64 kept) {
  w->walk->peak = MAX (w->walk->peak, w->live + passing + kept);
  w->live += kept;
}

/* The forward list; `keep` FALSE keeps nothing, `core` FALSE nothing of the attention core. */
static void forward (Walker *w, const LsLayerPlan *plan, gboolean keep, gboolean core) {
  for (guint i = 0; i < plan->n_forward; i++) {
    const LsLayerOp *op = &plan->forward[i];
    const gboolean kept = keep && (core || !op->core);

    run (w, op->workspace_bytes + (kept ? 0 : op->saved_bytes), kept ? op->saved_bytes : 0);
  }
  w->walk->forward_layers++;
}

static void run_core (Walker *w, const LsLayerPlan *plan) {
  for (guint i = 0; i < plan->n_forward; i++)
    if (plan->forward[i].core)
      run (w, plan->forward[i].workspace_bytes, plan->forward[i].saved_bytes);
}

static void backward (Walker *w, const LsLayerPlan *plan) {
  for (guint i = 0; i < plan->n_backward; i++)
    run (w, plan->backward[i].workspace_bytes, 0);
  w->live -= ls_layer_plan_saved_bytes (plan);
}

static void chunk_forward (Walker *w, const LsChunk *chunk) {
  for (guint segment = 0; segment < chunk->segments; segment++) {
    if (chunk->mode == LS_CHUNK_FULL)
      run (w, 0, chunk->plan->input_bytes);
    for (guint layer = 0; layer < chunk->size; layer++) {
      const gboolean last = layer + 1 == chunk->size;

      forward (w, chunk->plan,
               chunk->mode != LS_CHUNK_FULL && (chunk->mode != LS_CHUNK_CHAIN || last),
               chunk->mode != LS_CHUNK_SELECTIVE);
    }
  }
}

static void chunk_backward (Walker *w, const LsChunk *chunk) {
  const guint again = chunk->mode == LS_CHUNK_FULL    ? chunk->size
                      : chunk->mode == LS_CHUNK_CHAIN ? chunk->size - 1
                                                      : 0;

  for (guint segment = 0; segment < chunk->segments; segment++) {
    for (guint layer = 0; layer < again; layer++)
      forward (w, chunk->plan, TRUE, TRUE);
    for (guint layer = 0; layer < chunk->size; layer++) {
      if (chunk->mode == LS_CHUNK_SELECTIVE)
        run_core (w, chunk->plan);
      backward (w, chunk->plan);
    }
    if (chunk->mode == LS_CHUNK_FULL)
      w->live -= chunk->plan->input_bytes;
  }
}

void ls_memory_walk (const LsStage *stage, const LsRecompute *recompute, LsMemoryWalk *walk) {
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, recompute);
  Walker w = {0, walk};

  *walk = (LsMemoryWalk){0};
  for (guint i = 0; i < chunks->n; i++)
    chunk_forward (&w, &chunks->chunk[i]);
  walk->kept = w.live;
  for (guint i = chunks->n; i-- > 0;)
    chunk_backward (&w, &chunks->chunk[i]);
  LS_REQUIRE (w.live == 0, "%" G_GINT64_FORMAT " bytes of activations left", w.live);
}
