/* Activations in the memory of the host (recompute.offload): inputs of recomputed segments on their way there and back.
 *
 * Model:      with full recompute a segment of layers (chunk.h) keeps its input alone. That input, c seconds of copy, goes
 *             to the host while the segment's forward (f) runs, which does not end before it is there; it comes back
 *             before the segment runs again (b: second forward and backward), one segment ahead. With n segments and the
 *             rank's PCIe link to itself
 *               beside compute:     forward n max (f, c),   backward n b + c where c <= b, n c + b where c > b
 *               beside nothing:     forward n (f + c),      backward n (b + c)
 *             On the device remain the input of the segment at work and, beside compute, of the next one. The host holds
 *             n inputs for each micro-batch in flight.
 *             The first input of a micro-batch's backward is fetched once the device's work before it has ended.
 *             source: DeepSpeed, runtime/activation_checkpointing/checkpointing.py: cpu_checkpointing copies arguments
 *             with .to (device), which the host waits for, both ways; beside compute as PyTorch's save_on_cpu does with
 *             pinned memory and streams of its own.
 * Left out:   pageable memory (DeepSpeed's own copies are not pinned: slower); one copy for all ranks of a tensor group
 *             (partition_activations): use sequence parallelism; activations of layers that are not recomputed.
 */
#pragma once

#include "train/layer/chunk.h"

/* Does the chunk's input go to the host? */
gboolean ls_activations_leave (const LsWorkload *workload, const LsChunk *chunk);
/* Of a device, in the memory of its host, at the most. */
gint64 ls_activations_host_bytes (const LsWorkload *workload, guint device, const LsStage *stage);
