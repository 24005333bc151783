/* Learning-rate schedules, see rate.h. */
#include "learn/rate.h"

#include "base/assert.h"

#include <math.h>

double ls_rate_factor (const LsRateSchedule *s, gint64 t) {
  const double warm = s->warmup > 0 && t < s->warmup ? (double) (t + 1) / (double) s->warmup : 1;
  const double share = s->updates > 0 ? MIN (1, (double) t / (double) s->updates) : 1;

  LS_REQUIRE (t >= 0, "step %" G_GINT64_FORMAT, t);
  switch (s->kind) {
  case LS_RATE_STEP: {
    gint64 stairs = t / s->every;
    return warm * pow (s->factor, (double) stairs);
  }
  case LS_RATE_COSINE:
    return warm * (s->floor + (1 - s->floor) * (1 + cos (G_PI * share)) / 2);
  case LS_RATE_LINEAR:
    return warm * (1 - (1 - s->floor) * share);
  case LS_RATE_INVERSE_SQRT:
    return warm / sqrt (1 + (double) t / (double) s->every);
  case LS_RATE_RAMP:
    return warm * (s->floor + (1 - s->floor) * share);
  case LS_RATE_CONSTANT:
  case LS_N_RATES:
    break;
  }
  return warm;
}
