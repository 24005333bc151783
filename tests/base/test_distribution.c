/* Distributions: moments against closed forms, the list of names, what is refused. */
#include "base/distribution.h"
#include "base/random.h"
#include "suite.h"

#include <math.h>

/* Mean and variance; source: Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions. */
static const struct {
  const char *name;
  double values[LS_DISTRIBUTION_PARAMETERS];
  double mean, variance;
} cases[] = {
    {"constant", {2, 0, 0}, 2, 0},
    {"exponential", {3, 0, 0}, 3, 9},
    {"shifted-exponential", {1, 2, 0}, 3, 4},
    {"uniform", {0.5, 1.5, 0}, 1, 1.0 / 12},
    /* exp (s^2/2); (exp (s^2) - 1) exp (s^2) at s = 0.5 */
    {"lognormal", {1, 0.5, 0}, 1.1331484530668263, 0.36469580968473195},
    {"gamma", {2, 4, 0}, 2, 1},
    /* Gamma (1.5) = sqrt (pi)/2; 1 - pi/4 */
    {"weibull", {1, 2, 0}, 0.8862269254527580, 0.2146018366025517},
    /* a/(a - 1) = 1.2; a/((a - 1)^2 (a - 2)) = 6/(25 x 4): the fourth moment exists */
    {"pareto", {1, 6, 0}, 1.2, 0.06},
    {"bimodal", {1, 5, 0.25}, 2, 3},
};

/* 4 standard errors, those of the variance from the drawn fourth moment; rounding for a constant. */
START_TEST (draws_have_the_moments_of_their_law) {
  const guint n = 400000;
  LsDistribution d = ls_distribution (cases[_i].name, cases[_i].values[0], cases[_i].values[1],
                                      cases[_i].values[2]);
  gsl_rng *rng = ls_random_gsl_new (11, "moments", (guint) _i);
  double sum = 0, squares = 0, fourths = 0;
  gboolean times = TRUE;

  ck_assert_double_eq_tol (ls_distribution_mean (&d), cases[_i].mean, 1e-12);
  for (guint i = 0; i < n; i++) {
    double x = ls_distribution_draw (&d, rng), off = x - cases[_i].mean;
    times = times && isfinite (x) && x >= 0;
    sum += off;
    squares += off * off;
    fourths += off * off * off * off;
  }
  ck_assert (times);
  double variance = cases[_i].variance;
  double spread = fourths / n - (squares / n) * (squares / n);
  ck_assert_double_le (fabs (sum / n), 4 * sqrt (variance / n) + 1e-12);
  ck_assert_double_le (fabs (squares / n - variance), 4 * sqrt (MAX (spread, 0) / n) + 1e-12);
  gsl_rng_free (rng);
  ls_distribution_clear (&d);
}
END_TEST

/* Every kind is in the list of names, in its order, can be found, and but for samples is tried above. */
START_TEST (names_are_those_of_the_kinds) {
  const char *const *names = ls_distribution_names ();
  guint tried = 0;

  for (guint i = 0; i < ls_distribution_kind_count (); i++) {
    const LsDistributionKind *kind = ls_distribution_kind_get (i);
    ck_assert_str_eq (names[i], kind->name);
    ck_assert_ptr_eq (ls_distribution_kind_find (kind->name), kind);
    ck_assert (kind->law != NULL && kind->use != NULL && kind->source != NULL);
    for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
      tried += g_strcmp0 (cases[c].name, kind->name) == 0;
  }
  ck_assert_ptr_null (names[ls_distribution_kind_count ()]);
  ck_assert_uint_eq (tried + 1, ls_distribution_kind_count ());
  ck_assert_ptr_null (ls_distribution_kind_find ("normal"));
  ck_assert_int_eq (ls_distribution_parameter (ls_distribution_kind_find ("pareto"), "shape"), 1);
  ck_assert_int_eq (ls_distribution_parameter (ls_distribution_kind_find ("pareto"), "mean"), -1);
}
END_TEST

static const struct {
  const char *name;
  double values[LS_DISTRIBUTION_PARAMETERS];
  const char *says;
} faults[] = {
    {"constant", {-1, 0, 0}, "value must be at least 0"},
    {"exponential", {0, 0, 0}, "mean must be above zero"},
    {"exponential", {NAN, 0, 0}, "mean must be above zero"},
    {"shifted-exponential", {-1, 1, 0}, "shift must be at least 0"},
    {"uniform", {2, 1, 0}, "high is below low"},
    {"lognormal", {1, 0, 0}, "sigma must be above zero"},
    {"gamma", {1, -2, 0}, "shape must be above zero"},
    {"weibull", {INFINITY, 1, 0}, "scale must be above zero"},
    {"pareto", {1, 0, 0}, "shape must be above zero"},
    {"bimodal", {1, 2, 1.5}, "slow_share must be at most 100 %"},
};

START_TEST (values_that_make_no_law_are_refused) {
  LsDistribution d = {.kind = ls_distribution_kind_find (faults[_i].name)};

  for (guint i = 0; i < LS_DISTRIBUTION_PARAMETERS; i++)
    d.values[i] = faults[_i].values[i];
  g_autofree char *fault = ls_distribution_fault (&d);
  ck_assert_ptr_nonnull (fault);
  ck_assert_str_eq (fault, faults[_i].says);
}
END_TEST

START_TEST (samples_are_drawn_alike_and_copied) {
  const double samples[] = {3, 1, 2};
  LsDistribution d = ls_distribution_empirical (samples, 3), copy = ls_distribution_copy (&d);
  gsl_rng *rng = ls_random_gsl_new (3, "samples", 0);
  guint counts[4] = {0};
  const guint n = 30000;

  ls_distribution_clear (&d);
  ck_assert_double_eq (ls_distribution_mean (&copy), 2);
  for (guint i = 0; i < n; i++)
    counts[(guint) ls_distribution_draw (&copy, rng)]++;
  for (guint i = 1; i <= 3; i++) /* 4 standard errors of a share of one third */
    ck_assert_double_le (fabs (counts[i] - n / 3.0), 4 * sqrt (n * 2.0 / 9));
  copy.samples[1] = -1;
  g_autofree char *fault = ls_distribution_fault (&copy);
  ck_assert_str_eq (fault, "sample 2 is no time");
  copy.n_samples = 0;
  g_autofree char *none = ls_distribution_fault (&copy);
  ck_assert_str_eq (none, "there are no samples");
  gsl_rng_free (rng);
  ls_distribution_clear (&copy);
}
END_TEST

/* No mean where there is none. */
START_TEST (a_heavy_tail_has_no_mean) {
  LsDistribution d = ls_distribution ("pareto", 1, 1, 0);

  ck_assert (isinf (ls_distribution_mean (&d)));
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_loop_test (tcase, draws_have_the_moments_of_their_law, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, names_are_those_of_the_kinds);
  tcase_add_loop_test (tcase, values_that_make_no_law_are_refused, 0, G_N_ELEMENTS (faults));
  tcase_add_test (tcase, samples_are_drawn_alike_and_copied);
  tcase_add_test (tcase, a_heavy_tail_has_no_mean);
}

LS_TEST_MAIN ("distribution", add)
