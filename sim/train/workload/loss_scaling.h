/* Loss scaling of a job: which of its steps overflow and are skipped.
 *
 * Model:      the automaton is base/loss_scale.h (PyTorch's GradScaler). What it needs of a step is
 *             whether a gradient, multiplied by the scale S, left the format: step i overflows when
 *                 S > threshold x exp (-spread Z_i),   Z_i standard normal,
 *             that is when the largest gradient of the step, lognormal around 65504 / threshold, times
 *             S is more than fp16 holds. With spread 0 the scale climbs to the largest power of two
 *             within the threshold and then skips one step in interval + 1 (2,001).
 *             The draws come from a stream of their own, by job: nothing else shifts them.
 * Cost of a step that is scaled: a pass that divides the gradients and looks for infinities (reads and
 *             writes them), and the sums of one flag over tensor and pipeline ranks and, where gradients
 *             are sharded, over the shards (else the sum of gradients has spread the infinity). A skipped step has both and its
 *             forward and backward passes, but no gradient norm, no update, no gather of parameters.
 *             source: PyTorch GradScaler (unscale_, step); the decision is global.
 * Left out:   that gradients shrink as training goes on; the copy of the flag to the host.
 *
 * Ownership: plain values; arrays are (transfer full).
 */
#pragma once

#include "base/loss_scale.h"

/* GradScaler's constants. The threshold is assumed: no run's is published; S then stays at the initial
 * value but for the step in 2,001 that tries its double. */
#define LS_LOSS_SCALING_THRESHOLD 65536.0

typedef struct {
  LsLossScaleSettings scaler; /* kind none: nothing is scaled */
  double threshold;           /* largest scale at which the typical step does not overflow */
  double spread;              /* of the logarithm of the largest gradient, from step to step */
} LsLossScaling;

/* For each of `steps` steps 1 when it is skipped (transfer full); NULL without scaling. `end`, if not NULL,
 * gets the state after the last. */
guint8 *ls_loss_scaling_skips (const LsLossScaling *scaling, gint64 steps, guint64 seed,
                               const char *job, LsLossScale *end);
