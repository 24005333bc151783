/* Delayed scaling: the largest values that each rank saw of inputs, weights and gradients, over the ranks that hold parts
 * and copies of a stage.
 *
 * Model:      a small sum at the end of the step; with software that asks for it (sums_largest_each_pass), behind every forward
 *             and every backward pass of a stage's layers, on the compute stream, which waits: so all replicas meet in every
 *             pass. Behind it the scales of each linear map are found anew: LAUNCHES_PER_MAP small kernels.
 *             source: Megatron-Core, the group for amax reduction (tensor x context x data); TransformerEngine 0.8, fp8.py:
 *             global_amax_reduction at the exit of fp8_autocast, which NeMo opens around the layers of a stage, and of
 *             the backward pass (all_reduce with async_op=False); amax_and_scale_update.
 * Left out:   one group of all those ranks: the sum is over tensor ranks, then over copies.
 */
#pragma once

#include "train/program/builder.h"

/* Behind a pass over the builder's current part. */
void ls_largest_end_pass (LsBuilder *builder, LsPhaseName phase);
/* At the end of a step. */
void ls_largest_end_step (LsBuilder *builder);
