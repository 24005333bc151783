/*
 * Simulated time: a signed 64-bit count of picoseconds (range 106.75 days).
 *
 * The model in one formula: ps = round_half_away (seconds x 1e12). Only the functions here convert
 * between seconds and ticks, so rounding and overflow are decided in one place. Durations that
 * come from a scenario go through ls_time_ps_from_s(), which reports; values that the program
 * computed itself go through ls_time_ps_from_s_checked(), which asserts.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define LS_PS_PER_S G_GINT64_CONSTANT (1000000000000)
#define LS_PS_PER_MS G_GINT64_CONSTANT (1000000000)
#define LS_PS_PER_US G_GINT64_CONSTANT (1000000)
#define LS_PS_PER_NS G_GINT64_CONSTANT (1000)

/* The longest time that still fits, in seconds. */
#define LS_TIME_MAX_S 9223372.036854775

/* Nearest picosecond. Fails with LS_ERROR_OVERFLOW on NaN, infinity and what does not fit; *ps is
 * then untouched. Negative times convert as well: whoever forbids them says so with a range. */
gboolean ls_time_ps_from_s (double s, gint64 *ps, GError **error);

/* The same for values that cannot be wrong; a bad one is a bug and aborts. */
gint64 ls_time_ps_from_s_checked (double s);

double ls_time_s_from_ps (gint64 ps);

/* Nearest nanosecond, halves away from zero; what the trace stores. */
gint64 ls_time_ns_from_ps (gint64 ps);

G_END_DECLS
