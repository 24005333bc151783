/* Conversions between physical quantities and the engine's fixed point; see fixed.h for the formats. */
#include "engine/fixed.h"

#include <math.h>

#include "base/assert.h"

gint64 ls_rate_from_per_s (double units_per_s) {
  LS_REQUIRE (isfinite (units_per_s) && units_per_s >= 0, "capacity of %g units/s is out of range",
              units_per_s);
  if (units_per_s >= 1.28e14)
    return LS_RATE_MAX;
  return (gint64) rint (units_per_s * 1e-12 * (double) LS_RATE_ONE);
}

double ls_rate_to_per_s (gint64 rate) {
  return (double) rate / (double) LS_RATE_ONE * 1e12;
}

gint64 ls_usage_from_double (double usage) {
  LS_REQUIRE (isfinite (usage) && usage >= 0 && usage < 8e6, "usage of %g is out of range", usage);
  return (gint64) rint (usage * (double) LS_USAGE_ONE);
}
