/* The end of a step: sums over the whole model, the update, and the meeting of all ranks.
 *
 * Model:      with loss scaling, the pass that unscales gradients and the sum of its flag; all that
 *             follows but the clearing is optional: a step that overflowed leaves it out.
 *             Gradient norm (a pass over the rank's gradients and a sum over tensor and pipeline
 *             ranks, which is where the stages of a pipeline wait for each other); the update of the
 *             rank's share of the parameters; the gather of updated shards; clearing of gradients.
 *             The step ends for all ranks at one barrier, as training loops read the loss there.
 */
#pragma once

#include "train/builder.h"

/* Writes all of it, at loop depth 1; its last operation ends the step. */
void ls_optimizer_write (LsBuilder *builder);
