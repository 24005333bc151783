/* Stale gradients in arithmetic, see staleness.h. */
#include "learn/staleness.h"

#include "base/assert.h"

#include <math.h>

#define ADAPTIVE_EPSILON 1e-7 /* source: Zheng et al. 2017, section 6 */

double ls_stale_weight (const LsStaleRateSettings *s, gint64 tau, double lr, double distance) {
  LS_REQUIRE (tau >= 0, "staleness %" G_GINT64_FORMAT, tau);
  switch (s->kind) {
  case LS_STALE_RATE_INVERSE:
    return 1 / (double) MAX (tau, 1);
  case LS_STALE_RATE_INVERSE_PLUS_ONE:
    return 1 / (1 + (double) tau);
  case LS_STALE_RATE_EXPONENTIAL:
    return exp (-s->rate * (double) tau);
  case LS_STALE_RATE_DISTANCE:
    return distance > 0 && lr > 0 ? MIN (1, s->c / (lr * distance)) : 1;
  case LS_STALE_RATE_NONE:
  case LS_N_STALE_RATES:
    break;
  }
  return 1;
}

gboolean ls_stale_needs_distance (const LsStaleRateSettings *settings) {
  return settings->kind == LS_STALE_RATE_DISTANCE;
}

void ls_compensate (const LsCompensation *s, gsize n, const double *now, const double *read,
                    double *mean_square, double *g) {
  if (s->kind == LS_COMPENSATION_NONE)
    return;
  for (gsize i = 0; i < n; i++) {
    double lambda = s->lambda;

    if (s->kind == LS_COMPENSATION_ADAPTIVE) {
      mean_square[i] = s->decay * mean_square[i] + (1 - s->decay) * g[i] * g[i];
      lambda /= sqrt (mean_square[i] + ADAPTIVE_EPSILON);
    }
    g[i] += lambda * g[i] * g[i] * (now[i] - read[i]);
  }
}

double ls_stale_momentum (double momentum, double mean_tau) {
  /* 1 - implicit = 1 / (1 + tau) */
  return MAX (0, 1 - (1 - momentum) * (1 + mean_tau));
}
