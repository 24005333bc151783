/* Updated parameters that are gathered beside the next forward pass (zero.overlap_gather, ZeRO stages 1 and 2).
 *
 * Model:      an update leaves each rank the new values of its shard. They are gathered at the start of the step that
 *             follows, in buckets, in the order in which the forward pass meets them: the first micro-batch's forward
 *             of a segment waits for the bucket that its parameters are in, and when it has it the next bucket starts,
 *             so that one is under way beside the compute of the one before. Of n equal buckets of t each, whose
 *             forward takes f each, t + (n - 1) max (0, t - f) is exposed. Later micro-batches find them there.
 *             A step counts the gathers of its own start, the first one too: its time is one period.
 *             Buckets are those of the reductions (gather_buckets.h), of the same parameters: as many segments as fill
 *             zero.bucket, counted from behind. A segment with several is gathered in as many equal parts and waits for
 *             all. Where the software has buckets on the first stage only, others gather a part (a stage of the model)
 *             in one.
 *             source: Megatron-Core, param_and_grad_buffer.py (finish_param_sync waits for its bucket and starts
 *             next_param_gather_bucket_group), distributed_data_parallel.py (forward pre-hooks; bucket_size None on
 *             later pipeline stages and model chunks); PyTorch FSDP does so with SHARD_GRAD_OP and
 *             reshard_after_forward=False, a block a bucket.
 * Invariants: bytes of a step = parameters of the device, as at the end of the step. The stream of gathers has as many
 *             operations per segment, empty ones included, wherever the segment lies in its bucket: the wait of a
 *             segment is affine in its number. Waits of one bucket for the one before are on this rank only.
 * Cost:       a few operations per chunk; a wait per segment that later micro-batches pass at once.
 * Left out:   an update that is gathered while others still run (Megatron-Core's
 *             overlap_param_gather_with_optimizer_step).
 */
#pragma once

#include "train/program/builder.h"

LsGatherForward *ls_gather_forward_new (void);
void ls_gather_forward_free (LsGatherForward *state);

/* At the start of a step. */
void ls_gather_forward_begin_step (LsBuilder *builder);
/* Around the forward pass of a part; only the first one of a step does anything. */
void ls_gather_forward_begin (LsBuilder *builder);
void ls_gather_forward_end (LsBuilder *builder);
/* Before the loop over the segments of a chunk is opened. */
void ls_gather_forward_chunk (LsBuilder *builder, const LsChunk *chunk);
/* Around a segment, inside the loop. */
void ls_gather_forward_begin_segment (LsBuilder *builder);
void ls_gather_forward_end_segment (LsBuilder *builder);
