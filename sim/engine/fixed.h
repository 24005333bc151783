/* Fixed-point arithmetic of rates: the reason why neither the order of events, nor folding, nor the
 * compiler shows in a result.
 *
 * Model:      a rate or a capacity is an integer count of 2^-56 units per picosecond (units are
 *             bytes on links, seconds-of-running-alone times 1e12 for kernels); a usage is an
 *             integer count of 2^-40 units of a resource per unit of progress; remaining work is a
 *             128-bit count of 2^-56 units, so progress = rate x dt is exact.
 * Invariants: divisions round down, except the end of an activity, which rounds to the nearest
 *             picosecond and comes at least 1 ps after the start.
 * Range:      rates below 128 units/ps (128 TB/s), resolution 1.4e-5 units/s; usages below 2^23.
 * Left out:   negative quantities: none of these is ever below zero.
 */
#pragma once

#include <glib.h>

__extension__ typedef __int128 LsInt128;
__extension__ typedef unsigned __int128 LsUint128;

#define LS_RATE_BITS 56
#define LS_USAGE_BITS 40
/* A rate of one unit per picosecond; for kernels: running alone. */
#define LS_RATE_ONE (G_GINT64_CONSTANT (1) << LS_RATE_BITS)
/* A usage of one unit of the resource per unit of progress; as a fraction: all of it. */
#define LS_USAGE_ONE (G_GINT64_CONSTANT (1) << LS_USAGE_BITS)
#define LS_RATE_MAX G_MAXINT64

/* Capacity in units per second (finite, >= 0) -> fixed point, rounded to nearest; 1.28e14 (the trunks of a
 * pod of thousands of GPUs, taken together) and more is the greatest that there is. */
gint64 ls_rate_from_per_s (double units_per_s);
double ls_rate_to_per_s (gint64 rate);
/* A fraction or multiple (finite, >= 0, below 8e6) -> fixed point, rounded to nearest. */
gint64 ls_usage_from_double (double usage);

/* Remaining work of `units` whole units. */
static inline LsInt128 ls_work_from_units (gint64 units) {
  return (LsInt128) units << LS_RATE_BITS;
}

/* A longer duration is not told apart from this one, 26 days; an event at the end of it never comes. */
#define LS_LONGEST_PS (G_MAXINT64 / 4)
/* The clock goes no further, 80 days; what begins now and lasts no longer than LS_LONGEST_PS ends inside
 * 64 bits. */
#define LS_LATEST_PS (G_MAXINT64 / 4 * 3)

/* Picoseconds to do `work` at `rate`: to nearest, at least 1; 0 for no work; `rate` > 0. At most
 * LS_LONGEST_PS. */
static inline gint64 ls_work_duration_ps (LsInt128 work, gint64 rate) {
  if (work <= 0)
    return 0;
  /* At the rate of a kernel alone it is a shift. */
  LsInt128 duration =
      rate == LS_RATE_ONE ? (work + rate / 2) >> LS_RATE_BITS : (work + rate / 2) / rate;
  if (duration < 1)
    return 1;
  return duration > LS_LONGEST_PS ? LS_LONGEST_PS : (gint64) duration;
}

/* The time a duration from now, as ls_work_duration_ps() gives it; behind the last time for the longest,
 * which stands for any longer one. */
static inline gint64 ls_time_after (gint64 now_ps, gint64 duration_ps) {
  return duration_ps >= LS_LONGEST_PS ? G_MAXINT64 : now_ps + duration_ps;
}

/* Share of a capacity that `usage` x `rate` takes, rounded up so that sums never undercount. */
static inline gint64 ls_rate_times_usage (gint64 rate, gint64 usage) {
  LsInt128 product = (LsInt128) rate * usage;
  return (gint64) ((product + (LS_USAGE_ONE - 1)) >> LS_USAGE_BITS);
}
