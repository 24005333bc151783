/* One micro-batch through a stage, forward and backward, counting bytes operation by operation.
 *
 * Model:      an operation's workspace lives while it runs; what it saves lives from its end to the end
 *             of its layer's backward, unless recompute drops it; a recomputed segment runs again
 *             before its backward and then keeps all (see chunk.h for the modes).
 *             Beside them live, with ZeRO stage 3, the parameters of the layer at work and of those
 *             gathered ahead, and the gradients of the layer and of the one before it; with stage 2
 *             the gradients of the segments since the bucket began. Gathers know no end of a pass: behind its
 *             last layers those of the pass that follows are ahead, whichever that is, and a pass that
 *             gathers nothing (the weights' half) has the next pass's first layers beside it. Gradients do:
 *             a backward pass ends with its reductions (reduce_program.h).
 * Cost:       O(layers of the stage x operations of a layer), for each pass.
 *
 * Ownership: plain records.
 */
#pragma once

#include "train/layer/stage.h"
#include "train/pipeline/pipeline.h"

/* What travels beside the activations. All zero: nothing. */
typedef struct {
  gboolean dense, experts;    /* which parameters other ranks have too: only those travel */
  const LsPrecision *gathers; /* formats of what is gathered; NULL: nothing is */
  gboolean repeats_experts;   /* experts are not: each rank holds its own whole */
  guint gathered_layers;      /* at once: the one at work and those ahead */
  gboolean
      gathers_apart; /* for its second forward pass and for its backward a layer is gathered each */
  gint64 reduce_bytes;    /* per parameter, of gradients that wait to be reduced; 0: none */
  gboolean by_layer;      /* stage 3: at most two layers wait; else see bucket_bytes */
  gboolean in_turn;       /* by layer: what a layer has is sent before the next one begins */
  gint64 bucket_bytes;    /* stage 2: sent when so many wait, while the next as many gather */
  gboolean stores_inputs; /* of recomputed segments, on the host (activation_offload.h), */
  gboolean fetches_ahead; /* and fetches them one ahead */
  gboolean stops_early;   /* a second forward pass runs only what the backward pass needs */
} LsMemoryBuffers;

/* Most that is live at once, buffers included, from nothing of other micro-batches; and its parts that are
 * buffers. */
typedef struct {
  gint64 bytes, gathered, reduced;
} LsMemoryPeak;

typedef struct {
  gint64 kept;           /* activations that live between forward and backward */
  gint64 put_off;        /* that live between the backward's two halves */
  LsMemoryPeak forward;  /* from nothing */
  LsMemoryPeak backward; /* from `kept` */
  LsMemoryPeak input;    /* the half that makes the gradients of inputs, from `kept` */
  LsMemoryPeak weight;   /* the other, from `put_off` */
  gint64 peak;           /* the larger of forward and backward, and its parts */
  gint64 gathered, reduced;
  gint64 forward_layers; /* layers whose forward list ran in full, recomputation included */
} LsMemoryWalk;

/* A micro-batch that is the only one. `buffers` may be NULL. */
void ls_memory_walk (const LsStage *stage, const LsRecompute *recompute,
                     const LsMemoryBuffers *buffers, LsMemoryWalk *walk);
/* What a pass gathers: gint64 bytes, in order. */
GArray *ls_memory_units (const LsStage *stage, const LsRecompute *recompute,
                         const LsMemoryBuffers *buffers, LsActionKind pass);
/* One pass of `walk`, the same stage's, with other gathers behind its own. */
LsMemoryPeak ls_memory_pass (const LsStage *stage, const LsRecompute *recompute,
                             const LsMemoryBuffers *buffers, const LsMemoryWalk *walk,
                             LsActionKind pass, const GArray *ahead);
