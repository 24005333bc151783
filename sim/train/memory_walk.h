/* One micro-batch through a stage, forward and backward, counting activations operation by operation.
 *
 * Model:      an operation's workspace lives while it runs; what it saves lives from its end to the end
 *             of its layer's backward, unless recompute drops it; a recomputed segment runs again
 *             before its backward and then keeps all (see chunk.h for the modes).
 * Cost:       O(layers of the stage x operations of a layer).
 *
 * Ownership: plain records.
 */
#pragma once

#include "train/stage.h"

typedef struct {
  gint64 kept;           /* live between forward and backward */
  gint64 peak;           /* most that is live at once, from nothing before the forward */
  gint64 forward_layers; /* layers whose forward list ran in full, recomputation included */
} LsMemoryWalk;

void ls_memory_walk (const LsStage *stage, const LsRecompute *recompute, LsMemoryWalk *walk);
