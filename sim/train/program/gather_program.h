/* Parameters that are gathered: per layer and pass with ZeRO stage 3 (FSDP), once after the optimizer
 * with stages 1 and 2.
 *
 * Model:      a layer is a unit. Unit q (counted over forward and backward passes, micro-batches and
 *             steps) may be gathered when unit q - prefetch - 1 has been freed, so at most prefetch
 *             + 1 are live; its compute waits for it; a stream of its own frees it when the compute
 *             has passed. Without overlap prefetch counts as 0 and so nothing runs beside compute.
 *             Where the software gathers matrix by matrix, a layer is as many collectives of equal
 *             size, each followed by the host's time for the pieces of the ranks: latency is per
 *             collective and the rest per byte, so only their number and sum matter.
 *             With parameters on the host (zero.offload) the rank's shard is copied to the device first, in the
 *             same stream, as DeepSpeed and FSDP do; on one rank that is all of it.
 *             Quantised (zero.quantized_weights): see quantized_program.h.
 *             Secondary partition (zero.secondary_group, ZeRO++ hpZ): each group of so many ranks keeps the parameters,
 *             as the forward pass gathered them, in shards of its own, and gathers from them whenever layers are needed
 *             after that: recomputed and backward. Not those of routed experts. source: Wang et al. 2023 (arXiv
 *             2306.10209), section 3.2; DeepSpeed, zero/partition_parameters.py (ds_secondary_tensor, used when not in
 *             a forward pass; later versions also in the forward passes of later micro-batches, which is not modelled).
 * Invariants: each gather has one release, in the same order, in the same loops: a limit is an
 *             ordinal in the release stream that is affine in the loop counters, whatever the loops.
 */
#pragma once

#include "train/program/builder.h"

LsGatherState *ls_gather_state_new (void);
void ls_gather_state_free (LsGatherState *state);

/* At the start of a step: nothing is gathered before the compute stream is here, so not before the
 * parameters of the step before are updated. */
void ls_gather_begin_step (LsBuilder *builder);

/* Around the compute of one layer; nothing without stage 3 or parameters. */
void ls_gather_begin_layer (LsBuilder *builder, const LsLayerPlan *plan, LsPhaseName phase);
void ls_gather_end_layer (LsBuilder *builder, const LsLayerPlan *plan);
/* Before the loop over segments is closed: puts the limits on its gathers. */
void ls_gather_end_segment (LsBuilder *builder);

/* A gather of `bytes` in all. */
LsOp ls_gather_op (LsBuilder *builder, gint64 bytes, gboolean experts);

/* Bytes of updated parameters of `n` layers (or stages) that are gathered: of each, dense ones and experts', of which
 * together so many are of linear maps in a narrow format. */
LsShared ls_gather_updated_bytes (const LsBuilder *builder, gint64 dense, gint64 experts,
                                  gint64 narrow, gint64 n);
/* Stages 1 and 2: are updated shards gathered at the start of the next step (gather_forward.h)? */
gboolean ls_gather_is_ahead (const LsBuilder *builder);
/* Otherwise: in buckets, after the last compute operation. */
void ls_gather_updated (LsBuilder *builder);
