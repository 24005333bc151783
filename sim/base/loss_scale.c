/* The automaton of dynamic loss scaling, see loss_scale.h. */
#include "base/loss_scale.h"

#include "base/assert.h"

const char *ls_loss_scale_name (LsLossScaleKind kind) {
  static const char *const names[] = {
#define LOSS_SCALE_NAME(id, name, meaning) name,
      LS_LOSS_SCALES (LOSS_SCALE_NAME)
#undef LOSS_SCALE_NAME
  };

  LS_REQUIRE ((guint) kind < LS_N_LOSS_SCALES, "loss scaling %d", (int) kind);
  return names[kind];
}

void ls_loss_scale_init (LsLossScale *state, const LsLossScaleSettings *settings) {
  *state = (LsLossScale){.scale = settings->kind == LS_LOSS_SCALE_NONE ? 1 : settings->initial};
}

gboolean ls_loss_scale_update (LsLossScale *state, const LsLossScaleSettings *settings,
                               gboolean finite) {
  if (settings->kind == LS_LOSS_SCALE_NONE)
    return TRUE;
  if (!finite)
    state->skipped++;
  if (settings->kind == LS_LOSS_SCALE_STATIC)
    return finite;
  if (!finite) {
    state->scale *= settings->backoff;
    state->good = 0;
    return FALSE;
  }
  if (++state->good >= settings->interval) {
    state->scale *= settings->growth;
    state->good = 0;
  }
  return TRUE;
}
