/* How many layers may be gathered at once with ZeRO stage 3.
 *
 * Model:      prefetch + 1 layers (one without overlap), no more than there are (a layer that is still
 *             gathered is not gathered again), or fewer where zero.max_gathered bounds the
 *             parameters: the most n such that no n layers gathered one after another, forward, back,
 *             and forward again, have more together. One layer is gathered whatever the limit.
 *             source of the limit: DeepSpeed's stage3_max_live_parameters.
 * Left out:   DeepSpeed decides layer by layer, so that small layers beside a large one may be gathered
 *             further ahead than here; layers that stay gathered (persistence threshold, reuse distance).
 */
#pragma once

#include "train/layer/stage.h"

guint ls_gather_depth (const LsWorkload *workload, const LsStage *stage);
