/* ZeRO++: parameters that are gathered and gradients that are reduced in few bits (ZeRO stage 3).
 *
 * Model:      values are cut into blocks with a scale of 4 bytes each. Gathers (zero.quantized_weights, qwZ): a kernel
 *             makes the shard int8, all shards travel, a kernel restores the layer. Reductions
 *             (zero.quantized_gradients, qgZ): no ring, which would round at each of its steps, but an exchange of all
 *             with all in int4: a kernel makes all gradients narrow, each rank sends every other its part, and a kernel
 *             restores what came, sums it and leaves the shard in the format of communication. Where the ranks of a
 *             node are several of many the exchange has two hops, so that each sum crosses between nodes once: inside
 *             the node, restored, summed and made narrow again, then across. Of n gradients on k ranks of each of N
 *             nodes, with q = 1/2 byte + scales, a rank sends q n (k - 1) / k inside and q n / k (N - 1) / N across.
 *             All steps follow one another in the stream of gathers or reductions; kernels share the SMs with compute.
 *             source: Wang et al. 2023, ZeRO++ (arXiv 2306.10209), sections 3.1 and 3.3; DeepSpeed,
 *             runtime/comm/coalesced_collectives.py (all_to_all_quant_reduce): swizzle_quant, all_to_all_single,
 *             quantized_reduction, all_to_all_single, dequantize, sum.
 * Left out:   vectors (norms, biases), which DeepSpeed reduces as they are: some 1e-4 of the parameters; memory of the
 *             narrow copies; the paper's overlap of both hops, which that source has not.
 */
#pragma once

#include "train/program/builder.h"

/* Parameters of `size` bytes in the compute format: their size as they are gathered, the kernel that makes a shard of
 * them narrow, and that which makes all of them wide. */
gint64 ls_quantized_size (const LsBuilder *builder, gint64 size);
LsOp ls_quantized_shard (LsBuilder *builder, gint64 size, guint shards);
LsOp ls_quantized_restore (LsBuilder *builder, gint64 size);
/* Appends the reduction of `bytes` of gradients to the stream; *first begins it. Returns what ends it. */
LsMark ls_quantized_reduce (LsBuilder *builder, guint stream, gint64 bytes, LsMark *first);
