/* Random streams: the reference sequence, independence of streams, uniformity. */
#include "base/random.h"
#include "suite.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

/* First outputs of SplitMix64 from state 0, as published with the reference implementation of
 * Vigna (splitmix64.c); a stream with key 0 is that sequence. */
START_TEST (outputs_are_those_of_splitmix64) {
  LsRandom random = {0, 0};

  ck_assert_uint_eq (ls_random_u64 (&random), G_GUINT64_CONSTANT (0xe220a8397b1dcdaf));
  ck_assert_uint_eq (ls_random_u64 (&random), G_GUINT64_CONSTANT (0x6e789e6aa1b965f4));
  ck_assert_uint_eq (ls_random_u64 (&random), G_GUINT64_CONSTANT (0x06c45d188009454f));
}
END_TEST

START_TEST (a_stream_is_named_by_seed_purpose_and_entity) {
  LsRandom a, b, c, d, e;
  guint64 first;

  ls_random_init (&a, 1, "jitter", 0);
  ls_random_init (&b, 1, "jitter", 1);
  ls_random_init (&c, 1, "failure", 0);
  ls_random_init (&d, 2, "jitter", 0);
  /* Upper halves of seeds count, unlike in several generators of GSL. */
  ls_random_init (&e, 1 + (G_GUINT64_CONSTANT (7) << 32), "jitter", 0);
  first = ls_random_u64 (&a);
  ck_assert_uint_ne (first, ls_random_u64 (&b));
  ck_assert_uint_ne (first, ls_random_u64 (&c));
  ck_assert_uint_ne (first, ls_random_u64 (&d));
  ck_assert_uint_ne (first, ls_random_u64 (&e));
  ls_random_init (&b, 1, "jitter", 0);
  ck_assert_uint_eq (first, ls_random_u64 (&b));
}
END_TEST

/* Chi-square over 1000 cells; with a right generator p < 1e-6 once in a million seeds, and the
 * seed is fixed. */
static double chi_square_p (LsRandom *random, guint draws) {
  enum { CELLS = 1000 };
  guint counts[CELLS] = {0};
  double expected = (double) draws / CELLS, sum = 0;

  for (guint i = 0; i < draws; i++) {
    double u = ls_random_uniform (random);

    if (!(u >= 0 && u < 1)) /* no ck_assert here: each one costs a system call */
      ck_abort_msg ("%g", u);
    counts[(guint) (u * CELLS)]++;
  }
  for (guint i = 0; i < CELLS; i++)
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  return gsl_cdf_chisq_Q (sum, CELLS - 1);
}

START_TEST (uniform_is_uniform) {
  LsRandom random;
  double p;

  ls_random_init (&random, 42, "uniform", (guint64) _i);
  p = chi_square_p (&random, MAX (test_scaled (1000000), 20000));
  ck_assert_msg (p > 1e-6 && p < 1 - 1e-6, "p = %g", p);
}
END_TEST

/* The first outputs of neighbouring entities are as good as one stream. */
START_TEST (neighbouring_streams_are_uncorrelated) {
  const guint draws = 100000;
  double sum = 0;

  for (guint i = 0; i < draws; i++) {
    LsRandom a, b;

    ls_random_init (&a, 5, "entity", i);
    ls_random_init (&b, 5, "entity", i + 1);
    sum += (ls_random_uniform (&a) - 0.5) * (ls_random_uniform (&b) - 0.5);
  }
  /* Variance of one product of centred uniforms is 1/144; five standard deviations. */
  ck_assert_double_lt (fabs (sum), 5 * sqrt (draws / 144.0));
}
END_TEST

START_TEST (below_stays_below_and_covers_all) {
  LsRandom random;
  guint seen[7] = {0};

  ls_random_init (&random, 1, "below", 0);
  for (guint i = 0; i < 7000; i++) {
    guint64 value = ls_random_below (&random, 7);

    if (value >= 7)
      ck_abort_msg ("%u", (guint) value);
    seen[value]++;
  }
  /* Binomial, mean 1000, standard deviation 29: within six of them. */
  for (guint i = 0; i < 7; i++)
    ck_assert (seen[i] > 825 && seen[i] < 1175);
  ck_assert_uint_eq (ls_random_below (&random, 1), 0);
}
END_TEST

START_TEST (hash_is_a_pure_function_of_its_arguments) {
  guint64 value = ls_random_hash (1, 2, 3);

  ck_assert_uint_eq (value, ls_random_hash (1, 2, 3));
  ck_assert_uint_ne (value, ls_random_hash (1, 2, 4));
  ck_assert_uint_ne (value, ls_random_hash (1, 3, 2));
  ck_assert_uint_ne (value, ls_random_hash (2, 1, 3));
}
END_TEST

/* Mean of an exponential variable through GSL: 1, standard error 1/sqrt(n); five of them. */
START_TEST (gsl_draws_from_our_streams) {
  gsl_rng *rng = ls_random_gsl_new (9, "exponential", 0);
  LsRandom random;
  const guint draws = 100000;
  double sum = 0;

  ls_random_init (&random, 9, "exponential", 0);
  ck_assert_uint_eq (gsl_rng_get (rng), ls_random_u64 (&random));
  for (guint i = 0; i < draws; i++)
    sum += gsl_ran_exponential (rng, 1);
  ck_assert_double_lt (fabs (sum / draws - 1), 5 / sqrt (draws));
  gsl_rng_set (rng, 3);
  gsl_rng_free (rng);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, outputs_are_those_of_splitmix64);
  tcase_add_test (tcase, a_stream_is_named_by_seed_purpose_and_entity);
  tcase_add_loop_test (tcase, uniform_is_uniform, 0, 5);
  tcase_add_test (tcase, neighbouring_streams_are_uncorrelated);
  tcase_add_test (tcase, below_stays_below_and_covers_all);
  tcase_add_test (tcase, hash_is_a_pure_function_of_its_arguments);
  tcase_add_test (tcase, gsl_draws_from_our_streams);
}

LS_TEST_MAIN ("random", add)
