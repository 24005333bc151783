/* The end of a step: sums over the whole model, the update, and the meeting of all ranks.
 *
 * Model:      with loss scaling, the pass that unscales gradients and the sum of its flag; all that
 *             follows but the clearing is optional: a step that overflowed leaves it out.
 *             Gradient norm (a pass over the rank's gradients and a sum over tensor and pipeline
 *             ranks, which is where the stages of a pipeline wait for each other); the update of the
 *             rank's share of the parameters; the gather of updated shards; clearing of gradients.
 *             The step ends for all ranks at one barrier, as training loops read the loss there.
 *             Not so in zero-bubble schedules with post-validation: a rank goes on to its next step when its
 *             own update is done, and only the last step ends with the barrier. Its steps are then its own
 *             windows: marks stand at their beginnings, and the first of them opens nothing.
 *             source: Qi et al. 2023 (arXiv 2401.10241), section 4. A wrong guess (a clipped or bad step)
 *             would be taken back, and small sums over all ranks travel beside the next step; neither is
 *             simulated.
 */
#pragma once

#include "train/program/builder.h"

/* At the beginning of a step, at loop depth 1. */
void ls_optimizer_begin_step (LsBuilder *builder);
/* Behind the loop over steps. */
void ls_optimizer_finish (LsBuilder *builder);
/* Writes all of it, at loop depth 1; its last operation ends the step. */
void ls_optimizer_write (LsBuilder *builder);
