/* Steps that overflow; see loss_scaling.h. */
#include "train/workload/loss_scaling.h"

#include <math.h>

#include <gsl/gsl_randist.h>

#include "base/random.h"

guint8 *ls_loss_scaling_skips (const LsLossScaling *scaling, gint64 steps, guint64 seed,
                               const char *job, LsLossScale *end) {
  guint8 *skips = NULL;
  LsLossScale state;
  g_autofree char *name = g_strconcat ("loss_scaling/", job, NULL);

  ls_loss_scale_init (&state, &scaling->scaler);
  if (scaling->scaler.kind != LS_LOSS_SCALE_NONE) {
    gsl_rng *stream = ls_random_gsl_new (seed, name, 0);

    skips = g_new0 (guint8, (gsize) steps);
    for (gint64 i = 0; i < steps; i++) {
      const double z = gsl_ran_gaussian_ziggurat (stream, 1.0);
      const gboolean finite = state.scale <= scaling->threshold * exp (-scaling->spread * z);

      skips[i] = ls_loss_scale_update (&state, &scaling->scaler, finite) ? 0 : 1;
    }
    gsl_rng_free (stream);
  }
  if (end != NULL)
    *end = state;
  return skips;
}
