/* States in the memory of the host (zero.offload): their way there and back, and the host's update.
 *
 * Model:      gradients: each shard goes to the host as soon as it is reduced, in precision.gradients, behind the
 *             reduction and in its stream (reduce_program.h). Update: when all are there, the host reads gradients,
 *             master copy and moments and writes the latter, at a share of the bandwidth of its memory; all ranks of
 *             a node share that memory, as their copies do. Parameters: the updated shard goes back, once, behind the
 *             update; with parameters on the host there is nothing to bring, and each layer's shard is fetched before
 *             it is gathered (gather_program.h). Copies are transfers over the rank's PCIe link and whatever it
 *             shares, GPU memory and host memory. Norms are taken on the GPU while the shards pass.
 *             source: Ren et al. 2021, ZeRO-Offload (arXiv 2101.06840), sections 4 and 5; DeepSpeed,
 *             stage_1_and_2.py and stage3.py (optimizer step, then the copy back, one behind the other).
 * Left out:   the delayed update (one step behind, beside compute); tiles of the copy back beside the update; sums of
 *             micro-batches' gradients on the host, its DRAM traffic; NUMA; pinned staging buffers; drives.
 */
#pragma once

#include "train/program/builder.h"

/* Of the data-sheet bandwidth of a host's memory, what an update reaches. RECALLED: Ren et al. 2021 (arXiv 2101.06840),
 * table of CPU-Adam on a DGX-2 (255.9 GB/s): 0.22, 0.51, 1.03, 2.41, 2.57 s for 1, 2, 4, 8, 10 G parameters, at 30 bytes
 * of each 136, 118, 117, 100, 117 GB/s; their median. The STREAM benchmark reaches some 80 %: the rest is not a law. */
#define LS_OFFLOAD_UPDATE_SHARE 0.457

/* Does the host update? Does it hold the parameters? */
gboolean ls_offload_updates (const LsBuilder *builder);
gboolean ls_offload_fetches (const LsBuilder *builder);
/* Ranks that the states are sharded over; do others hold the same parameters? */
guint ls_offload_shards (const LsBuilder *builder, gboolean experts);
gboolean ls_offload_has_copies (const LsBuilder *builder, gboolean experts);

/* A copy between the device and its host; waiting for it is exposed_offload. */
LsOp ls_offload_copy (LsBuilder *builder, const char *name, LsCollectiveOp what, gint64 bytes,
                      LsPhaseName phase);
/* The rank's shard of reduced gradients, `bytes` before they are scattered, to the host. */
LsOp ls_offload_drain (LsBuilder *builder, gint64 bytes, gboolean experts);
/* The rank's shard of parameters, `bytes` when they are gathered, to the device. */
LsOp ls_offload_fetch (LsBuilder *builder, gint64 bytes, gboolean experts);

/* A pass over `bytes` of the host's memory, behind all compute so far, which waits for it. */
void ls_offload_pass (LsBuilder *builder, const char *name, double bytes);
/* The update of `parameters`, and what it changed back to the device. */
void ls_offload_update (LsBuilder *builder, gint64 parameters);
