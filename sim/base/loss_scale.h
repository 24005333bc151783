/* Loss scaling: the loss is multiplied by S before the backward pass, so that small gradients are
 * not lost in a narrow format, and gradients are divided by S before they are used.
 *
 * Model:      the automaton of PyTorch's GradScaler: S starts at 2^16; a gradient with an infinity
 *             or NaN skips the step and halves S; 2000 good steps in a row double it. A schedule and
 *             Adam's count of steps do not advance on a skipped step (whoever steps sees to that).
 *             source: Micikevicius et al. 2018 (arXiv 1710.03740); constants: PyTorch GradScaler.
 */
#pragma once

#include <glib.h>

#define LS_LOSS_SCALES(X)                                                                    \
  X (NONE, "none", "gradients as they are")                                                  \
  X (STATIC, "static", "always the same scale; a step with an infinite gradient is skipped") \
  X (DYNAMIC, "dynamic", "halved when a gradient is infinite, doubled after many good steps")

typedef enum {
#define LS_LOSS_SCALE_ID(id, ...) LS_LOSS_SCALE_##id,
  LS_LOSS_SCALES (LS_LOSS_SCALE_ID)
#undef LS_LOSS_SCALE_ID
      LS_N_LOSS_SCALES
} LsLossScaleKind;

typedef struct {
  LsLossScaleKind kind;
  double initial, growth, backoff;
  gint64 interval; /* good steps in a row until it grows */
} LsLossScaleSettings;

typedef struct {
  double scale;
  gint64 good;    /* steps since the last change */
  gint64 skipped; /* steps in all */
} LsLossScale;

void ls_loss_scale_init (LsLossScale *state, const LsLossScaleSettings *settings);
/* What one step's gradients say. TRUE: do the step (with gradients / the scale that they were made
 * with); FALSE: skip it. Without scaling every step is done. */
gboolean ls_loss_scale_update (LsLossScale *state, const LsLossScaleSettings *settings,
                               gboolean finite);
const char *ls_loss_scale_name (LsLossScaleKind kind);
