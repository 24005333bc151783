/*
 * Conversions between seconds and picosecond ticks; see time.h for the rule of rounding.
 *
 * A double has 53 bits, a tick count 63: above 2^53 ps (2.5 hours) the nearest representable double
 * is converted, which is exact in the sense that equal doubles give equal ticks.
 */
#include "base/time.h"

#include "base/assert.h"
#include "base/error.h"

#include <math.h>

/* 2^63 as a double: the first value that does not fit. */
#define TICKS_END 9223372036854775808.0

static gboolean convert (double s, gint64 *ps) {
  double ticks = round (s * (double) LS_PS_PER_S);

  if (!isfinite (ticks) || ticks >= TICKS_END || ticks <= -TICKS_END)
    return FALSE;
  *ps = (gint64) ticks;
  return TRUE;
}

gboolean ls_time_ps_from_s (double s, gint64 *ps, GError **error) {
  if (convert (s, ps))
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_OVERFLOW,
               "%g s cannot be simulated: times lie within +-%.0f s (106 days)", s, LS_TIME_MAX_S);
  return FALSE;
}

gint64 ls_time_ps_from_s_checked (double s) {
  gint64 ps = 0;

  LS_REQUIRE (convert (s, &ps), "%g s does not fit into picoseconds", s);
  return ps;
}

double ls_time_s_from_ps (gint64 ps) {
  return (double) ps / (double) LS_PS_PER_S;
}

gint64 ls_time_ns_from_ps (gint64 ps) {
  gint64 ns = ps / LS_PS_PER_NS;
  gint64 rest = ps % LS_PS_PER_NS;

  if (rest >= LS_PS_PER_NS / 2)
    ns++;
  else if (rest <= -LS_PS_PER_NS / 2)
    ns--;
  return ns;
}
