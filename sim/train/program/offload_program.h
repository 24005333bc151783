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
 *             Drives (zero.nvme, stage 3): the host reads states in groups of zero.sub_group parameters, updates and
 *             writes them back; with overlap the next is read and the last written beside the update of one, so that n
 *             groups take what the drives or the host need for all of them, whichever is longer, and what shows of the
 *             first read and the last write; without overlap n (r + u + w) of each. Gradients of one micro-batch
 *             follow their shard's copy to the host onto the drives and are read with the states: with fp32 gradients
 *             and Adam 2 x 16 bytes per parameter and step. Those of several micro-batches are summed in the host's
 *             memory and stay there. Parameters on drives are read LS_READ_AHEAD layers ahead of their gathers, in a
 *             stream of their own, and written with the states. Drives are one resource of the node that reads and
 *             writes of all its ranks share; what they carry passes through the memory of the host.
 *             source: Rajbhandari et al. 2021, ZeRO-Infinity (arXiv 2104.07857), sections 4 to 6 (2 x 16 bytes;
 *             overlap of drives, PCIe and network); DeepSpeed, runtime/swap_tensor/pipelined_optimizer_swapper.py and
 *             partitioned_param_coordinator.py (__prefetch_nvme_param_partitions).
 * Left out:   the delayed update (one step behind, beside compute); tiles of the copy back beside the update; sums of
 *             micro-batches' gradients on the host, its DRAM traffic; NUMA; pinned buffers of copies; alignment and queue depth of drives.
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
/* Do the node's drives hold them? */
gboolean ls_offload_reads (const LsBuilder *builder);
/* Ranks that the states are sharded over; do others hold the same parameters? */
guint ls_offload_shards (const LsBuilder *builder, gboolean experts);
gboolean ls_offload_has_copies (const LsBuilder *builder, gboolean experts);

/* A copy between the device and its host; waiting for it is exposed_offload. */
LsOp ls_offload_copy (LsBuilder *builder, const char *name, LsCollectiveOp what, gint64 bytes,
                      LsPhaseName phase);
/* The rank's shard of reduced gradients, `bytes` before they are scattered, to the host. */
LsOp ls_offload_drain (LsBuilder *builder, gint64 bytes, gboolean experts);
/* Of drained gradients `bytes` to the drives, once they are on the host; returns what ends it. */
LsMark ls_offload_drop (LsBuilder *builder, gint64 bytes, LsMark drained);
/* The rank's shards of a layer's parameters, so many bytes when they are gathered, from the drives to the host; */
LsMark ls_offload_read (LsBuilder *builder, gint64 dense, gint64 experts, LsPhaseName phase);
/* of `bytes` of them to the device. */
LsOp ls_offload_fetch (LsBuilder *builder, gint64 bytes, gboolean experts);

/* A pass over `bytes` of the host's memory, behind all compute so far, which waits for it. */
void ls_offload_pass (LsBuilder *builder, const char *name, double bytes);
/* The update of `parameters`, and what it changed back to the device. */
void ls_offload_update (LsBuilder *builder, gint64 parameters);
