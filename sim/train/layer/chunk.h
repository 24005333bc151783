/* A stage's layers as chunks: runs of equal segments of layers that are treated alike by recompute.
 *
 * Model:      a segment is the unit of recompute: `size` layers, alike or not, whose forward is run again
 *             together before their backward. Without full recompute a segment is one layer. By the
 *             square-root rule a segment has round (sqrt (n)) of the stage's n layers that are recomputed.
 *             A device with several stages of the model treats each by itself, as Megatron-LM does.
 *             FULL:  the segment's input is kept, nothing inside; all of it is run again.
 *             CHAIN: the last layer keeps all it saves, the others nothing; those are run again.
 * Invariants: chunks cover the stage's layers in order, each once; layer i of every segment of a chunk has
 *             the same plan.
 *
 * Ownership: chunks own their arrays and borrow the plans of the stage.
 */
#pragma once

#include "train/layer/stage.h"

typedef enum {
  LS_CHUNK_KEEP,      /* all that is saved is kept */
  LS_CHUNK_SELECTIVE, /* the selected operations run again (layer.h) */
  LS_CHUNK_FULL,
  LS_CHUNK_CHAIN,
} LsChunkMode;

typedef struct {
  const LsLayerPlan **plans; /* of a segment's layers; owned, but not what it points to */
  LsChunkMode mode;
  guint segments;
  guint size;   /* layers per segment */
  gint32 first; /* number of the first layer; -1 for embedding and head */
} LsChunk;

typedef struct {
  guint n;
  LsChunk *chunk;
} LsChunks;

/* Of one segment. */
gint64 ls_chunk_parameters (const LsChunk *chunk);
gint64 ls_chunk_expert_parameters (const LsChunk *chunk);
gint64 ls_chunk_narrow_parameters (const LsChunk *chunk);
gint64 ls_chunk_input_bytes (const LsChunk *chunk);

/* Forward FLOPs that recomputing adds per micro-batch, over all tensor ranks, by the convention of
 * model FLOPs: matrix products only, attention in full. */
double ls_chunks_recomputed_flops (const LsChunks *chunks, const LsWorkload *workload);
LsChunks *ls_chunks_new (const LsStage *stage, const LsRecompute *recompute);
void ls_chunks_free (LsChunks *chunks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsChunks, ls_chunks_free)
