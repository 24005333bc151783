/* Gradients that are summed over the data-parallel ranks.
 *
 * Model:      stage 0 all-reduces the accumulated gradients once per step; stage 1 reduce-scatters
 *             them once; stage 2 reduce-scatters those of every micro-batch; stage 3 (FSDP) those of
 *             every layer and micro-batch. With overlap, stages 0 to 2 reduce bucket by bucket as the
 *             backward of the (last) micro-batch completes them; a bucket is as many segments of
 *             layers as fill bucket_bytes, and a segment with more is cut into equal parts along its
 *             backward. Where the software reduces by units (unit_buckets: FSDP), a layer of stages 1 and 2 is one.
 *             Without overlap all of it follows the backward.
 *             Unsharded gradients of stages 2 and 3 are claimed when a segment's backward starts and
 *             released by their reduction. Stage 3 lets a backward start only when the reduction
 *             two layers before has ended, as PyTorch's FSDP does. Stage 2 has one bucket under way while
 *             the next fills (a backward waits for the one before). Both end each backward pass with its
 *             reductions. source: DeepSpeed, stage_1_and_2.py (average_tensor: the streams wait for each
 *             other; independent_gradient_partition_epilogue: synchronize); PyTorch, distributed/fsdp/
 *             _runtime_utils.py (_post_backward_final_callback: the current stream waits for the one of
 *             reductions), distributed/pipelining/stage.py (run_post_backward: so in pipelines).
 *             source of the order of reductions: Rajbhandari et al., ZeRO (SC20), sections 5, 7;
 *             Li et al., PyTorch Distributed (VLDB 2020), section 3.2.3 (buckets).
 *             Gradients of routed experts are summed over the expert-data ranks, those of all else over
 *             data x context: a bucket that holds both is two collectives, one behind the other.
 *             Hybrid sharding (zero.shard_group): each reduce-scatter is over the shard group, and an
 *             all-reduce of the shard over the groups follows it in the stream, after every micro-batch where
 *             the stage reduces every micro-batch, as PyTorch's HYBRID_SHARD does outside no_sync().
 *             source: Zhao et al., PyTorch FSDP (VLDB 2023), section 3.2.2.
 *             Where the host updates (zero.offload) each reduction is followed, in the same stream, by the copy of
 *             the rank's shard to the host; on one rank there is the copy alone. source: DeepSpeed,
 *             stage_1_and_2.py and stage3.py (copies on the reduction stream). Stage 2 then reduces layer by layer as
 *             stage 3 does.
 *             Quantised (zero.quantized_gradients, stage 3): dense gradients are exchanged in int4 instead of
 *             reduce-scattered, see quantized_program.h; what follows is the same.
 * Invariants: bytes reduced in a step = gradients (stages 0, 1) or micro-batches x gradients.
 */
#pragma once

#include "train/program/builder.h"

typedef enum {
  LS_REDUCE_NONE, /* gradients stay where they are */
  LS_REDUCE_LAST, /* after the last micro-batch of the section that is being written */
  LS_REDUCE_EVERY /* after each */
} LsReduceWhen;

LsReduceState *ls_reduce_state_new (void);
void ls_reduce_state_free (LsReduceState *state);

/* Do gradients leave layer by layer, with a limit on those under way? In stage 3; and in stage 2 on their way to the
 * host, which may be slower than the backward pass (DeepSpeed fills two buckets and waits). The limit is stated by
 * iterations of the loop over segments, so it is there even for one. */
gboolean ls_reduce_by_layer (const LsBuilder *builder);

/* How the backwards of a section are reduced; `last` when it has the step's last micro-batch. */
void ls_reduce_begin_section (LsBuilder *builder, gboolean last);
/* After the last backward of a micro-batch, inside the loop over micro-batches. */
void ls_reduce_end_section (LsBuilder *builder);

/* Around the backward of the segment of a chunk, inside the loop over segments. */
void ls_reduce_begin_segment (LsBuilder *builder, const LsChunk *chunk);
/* Notes a compute operation of the backward, for buckets smaller than the segment. */
void ls_reduce_note (LsBuilder *builder, LsMark mark);
/* Around the backward of one layer (stage 3). */
void ls_reduce_begin_layer (LsBuilder *builder, const LsLayerPlan *plan);
void ls_reduce_end_layer (LsBuilder *builder, const LsLayerPlan *plan);
void ls_reduce_end_segment (LsBuilder *builder);
/* After the loop over segments has been closed. */
void ls_reduce_end_chunk (LsBuilder *builder, const LsChunk *chunk);

/* After all backwards: what is left to reduce, and compute waits for all of it. */
void ls_reduce_finish (LsBuilder *builder);
