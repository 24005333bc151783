/* What FSDP2 and torch.distributed.pipelining hold beside the states (software generations with `root_stays_gathered` and
 * `posts_all_receives`).
 *
 * Model:      Flat buffers. A gather arrives in a buffer that is allocated for a stream of its own and copied out of there;
 *             in the forward pass the one before is let go when the next has arrived. So that stream's part of the
 *             allocator comes to the root and a block, R + B, or, where the root is smaller than a block and leaves no room
 *             for one, to R + 2 B. With stage 1 (parameters stay gathered, gradients are reduced once, as torchtitan
 *             runs pipelines) shards of the gradients are made in the stream of the reductions when whole gradients
 *             still have their place in another's: P / d more.
 *             Messages. A stage has a buffer for each of the m micro-batches and message that comes, from the first step
 *             to the last, and keeps each output until its backward pass. The input of a micro-batch in flight is its buffer
 *             and counted with what its first block keeps: with f in flight
 *                 m (came + sent) + f sent - f came       (the gradient of what was sent comes)
 *             source: PyTorch, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_all_gather() and
 *             foreach_reduce(); _fsdp_param_group.py, wait_for_unshard(); torch/distributed/pipelining/stage.py,
 *             _prepare_forward_infra(), _prepare_backward_infra(), forward_one_chunk(), _post_backward(); torchtitan,
 *             parallelize_llama.py, apply_fsdp() (reshard_after_forward).
 * Invariants: nothing where nothing is sharded or sent; messages of a middle stage do not depend on f.
 * Cost:       O(runs).
 * Left out:   gradients of inputs, kept until the next step begins: as large as one block's input, of which each
 *             micro-batch lets go of more; whole gradients, which are there from the first backward pass of their stage
 *             on, are counted throughout.
 */
#pragma once

#include "train/layer/stage.h"

/* Held by the allocator for gathers and reductions and by no tensor at the peak. */
gint64 ls_fsdp2_apart (const LsWorkload *workload, const LsStage *stage);
/* Of messages: `sent_bytes` to the next device and `received_bytes` from the one before, of one micro-batch. */
gint64 ls_fsdp2_messages (const LsWorkload *workload, guint device, gint64 sent_bytes,
                          gint64 received_bytes);
