/* Seconds to picoseconds and back: rounding, range, sums. */
#include "base/error.h"
#include "base/time.h"
#include "suite.h"

#include <math.h>
#include <signal.h>

START_TEST (seconds_round_to_the_nearest_picosecond) {
  static const struct {
    double s;
    gint64 ps;
  } rows[] = {
      {0, 0},       {1, LS_PS_PER_S},
      {1e-12, 1},   {0.4e-12, 0},
      {0.6e-12, 1}, {-0.6e-12, -1},
      {2.2e-12, 2}, {86400.0 * 100, G_GINT64_CONSTANT (8640000) * LS_PS_PER_S},
  };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    gint64 ps = -1;

    ck_assert (ls_time_ps_from_s (rows[i].s, &ps, &error));
    ck_assert_int_eq (ps, rows[i].ps);
    ck_assert_int_eq (ls_time_ps_from_s_checked (rows[i].s), rows[i].ps);
  }
}
END_TEST

START_TEST (what_does_not_fit_is_an_overflow) {
  static const double values[] = {NAN, INFINITY, -INFINITY, 9.3e6, -9.3e6, 1e300};
  gint64 ps = 7;

  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    g_autoptr (GError) error = NULL;

    ck_assert (!ls_time_ps_from_s (values[i], &ps, &error));
    ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_OVERFLOW));
    ck_assert_int_eq (ps, 7);
  }
}
END_TEST

START_TEST (checked_conversion_aborts_on_nonsense) {
  ls_time_ps_from_s_checked (NAN);
}
END_TEST

/* Halves go away from zero, at both signs and at the ends of the range. */
START_TEST (picoseconds_round_to_the_nearest_nanosecond) {
  ck_assert_int_eq (ls_time_ns_from_ps (0), 0);
  ck_assert_int_eq (ls_time_ns_from_ps (499), 0);
  ck_assert_int_eq (ls_time_ns_from_ps (500), 1);
  ck_assert_int_eq (ls_time_ns_from_ps (-499), 0);
  ck_assert_int_eq (ls_time_ns_from_ps (-500), -1);
  ck_assert_int_eq (ls_time_ns_from_ps (G_MAXINT64), G_MAXINT64 / 1000 + 1);
  ck_assert_int_eq (ls_time_ns_from_ps (G_MININT64), G_MININT64 / 1000 - 1);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, seconds_round_to_the_nearest_picosecond);
  tcase_add_test (tcase, what_does_not_fit_is_an_overflow);
  tcase_add_test_raise_signal (tcase, checked_conversion_aborts_on_nonsense, SIGABRT);
  tcase_add_test (tcase, picoseconds_round_to_the_nearest_nanosecond);
}

LS_TEST_MAIN ("time", add)
