/* A forward and a backward of two micro-batches as one block, each behind the other's messages to experts.
 *
 * Model:      both lists are noted down (LsLayerItem) and written alternately: where one comes to an all-to-all of
 *             tokens, that is posted and the other goes on; the first waits for it when its turn comes again. The
 *             backward begins, as an all-to-all is the first thing of weight in it:
 *               compute                   | attention F | MLP B and W | MLP F      | attention B and W | ...
 *               all-to-alls  posted first | combine B   | dispatch F  | dispatch B | combine F         | ...
 *             so that an all-to-all is hidden when it is no longer than what the other computes meanwhile. When
 *             one list is done the other runs on alone, waiting as usual. Messages and kernels share SMs and HBM
 *             as everywhere.
 *             source: DeepSeek-V3 technical report (arXiv 2412.19437), section 3.2.1 and figure 4.
 *             What the dispatcher does with rows before and after an all-to-all (HybridEP's permutations) runs in its
 *             stream: Megatron-Core's nodes of dispatch and combine call dispatch_with_permute and combine_with_unpermute
 *             on the stream of messages (models/gpt/fine_grained_callables.py; moe/fused_a2a.py @02ad939).
 * Invariants: each list runs in its own order; all-to-alls are posted in the same order on all ranks of a group,
 *             which run the same program.
 * Cost:       loops over layers are unrolled: a program grows by all layers of a stage per pair.
 * Left out:   the split of SMs that DeepSeek tunes by hand (20 of 132 for messages). Pairs whose gradients or
 *             parameters are sharded (ZeRO 2 and 3), and one that reduces gradients along its backward, run one
 *             after the other.
 */
#pragma once

#include "train/program/layer_operation.h"

/* Has one of these chunks all-to-alls of tokens? */
gboolean ls_pair_exchanges (const LsChunks *chunks);
/* Writes what was noted down of a forward and of a backward. */
void ls_pair_write (LsBuilder *builder, const GArray *forward, LsLabel forward_microbatch,
                    const GArray *backward, LsLabel backward_microbatch);
