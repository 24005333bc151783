/* What DeepSpeed's optimizers and its pipeline engine keep beside parameters, gradients and states (software
 * generations with `deepspeed_copies`, ZeRO stages 0 to 2).
 *
 * Model:      with P parameters on the rank and S = P / d of its own:
 *               fp16, stage 0     8 P: gradients in fp32, one by one, and the flat tensor made of them (update)
 *               fp16, stage 1, 2  8 S: the shard's gradients one behind the other (2), made flat (2), in fp32 (4);
 *                                 and a bucket of 5e8 gradients, whatever P is
 *               bf16, stage 0, 1  2 P: gradients of autograd, set to zero and kept beside the sums in fp32;
 *                                 2 S: a clone of the shard, from which the master copy is made
 *             These come and go at other times than activations do, in pieces of other sizes, so the allocator
 *             holds both while there is room (memory.h); the 2 P stay allocated.
 *             Pipeline: each micro-batch in flight keeps the output that was sent until its backward, with tensor
 *             parallelism the rank's part of it; without, also its input, since the forward pass gets a clone.
 *             source: DeepSpeed, deepspeed/runtime: fp16/fused_optimizer.py, step(); zero/stage_1_and_2.py,
 *             reduce_gradients(), copy_grads_in_partition(), step(), reduce_bucket_size (default 5e8);
 *             bf16_optimizer.py, update_hp_grads(), clear_lp_grads(); pipe/engine.py, _exec_forward_pass(),
 *             is_pipe_partitioned.
 * Left out:   activations that the allocator puts into the holes of those copies; stage 3; offloaded states.
 */
#pragma once

#include "train/layer/stage.h"

/* Of flat copies, held by the allocator and by no tensor at the peak. */
gint64 ls_deepspeed_apart (const LsWorkload *workload, const LsStage *stage);
/* Of gradients that autograd leaves beside those that are summed up. */
gint64 ls_deepspeed_narrow_gradients (const LsWorkload *workload, gint64 parameters);
/* Of messages that are kept, `sent_bytes` to the next device and `received_bytes` from the one before. */
gint64 ls_deepspeed_messages (const LsWorkload *workload, guint device, gint64 sent_bytes,
                              gint64 received_bytes);
