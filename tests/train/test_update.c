/* Update policies on drawn step times: closed forms, conservation laws, bounds, identities.
 *
 * Sources: times per update: Dutta et al. 2018 (PMLR v84), theorems 1 and 2; order statistics of
 * the exponential: Renyi 1953; staleness: the argument stands with each test. Tolerances are four
 * standard errors of the run, estimated from batches, unless another is given with its reason.
 * LS_TEST_SCALE makes runs longer or shorter.
 */
#include <gsl/gsl_randist.h>
#include <math.h>

#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "update_harness.h"

static double harmonic (guint m) {
  double sum = 0;

  for (guint i = 1; i <= m; i++)
    sum += 1.0 / i;
  return sum;
}

static double seconds (const UpdateCase *run) {
  return (double) run->totals.end_ps / 1e12;
}

/* Mean time per update over 8 independent runs, and its standard error. */
static double time_per_update (const LsUpdateSpec *spec, const LsDistribution *compute,
                               const double *factors, double *error) {
  enum { RUNS = 8 };
  double mean[RUNS], sum = 0, squares = 0;

  for (guint i = 0; i < RUNS; i++) {
    UpdateCase run = update_case (spec, compute, factors, 100 + i, NULL, NULL);
    mean[i] = seconds (&run) / (double) run.totals.updates;
    sum += mean[i];
    update_case_clear (&run);
  }
  for (guint i = 0; i < RUNS; i++)
    squares += (mean[i] - sum / RUNS) * (mean[i] - sum / RUNS);
  *error = sqrt (squares / (RUNS - 1) / RUNS);
  return sum / RUNS;
}

static void expect_time (const char *policy, guint n, guint k, const LsDistribution *compute,
                         const double *factors, double expected) {
  LsUpdateSpec spec = update_spec (policy, n, k, (gint64) test_scaled (2000));
  double error, mean = time_per_update (&spec, compute, factors, &error);

  /* 8 runs: the estimated error itself has 27 % spread, and a run ends in the middle of steps: at most one
   * of each worker is missing, n of all updates; short runs feel it. */
  double ends = MAX (2e-3, (double) n / test_scaled (2000));
  ck_assert_msg (fabs (mean - expected) < 5.2 * error + ends * expected,
                 "%s n=%u k=%u: %.6f per update, expected %.6f +- %.6f", policy, n, k, mean,
                 expected, error);
}

/* E[X_{k:n}] of exp(1): H_n - H_{n-k}. */
static double exponential_order (guint n, guint k) {
  return harmonic (n) - harmonic (n - k);
}

START_TEST (times_of_exponential_workers) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);

  ck_assert_double_eq_tol (exponential_order (8, 8), 2.717857, 1e-6);
  ck_assert_double_eq_tol (exponential_order (8, 4), 0.634524, 1e-6);
  expect_time ("sync", 8, 8, &d, NULL, exponential_order (8, 8));
  expect_time ("k-sync", 8, 4, &d, NULL, exponential_order (8, 4));
  expect_time ("k-sync", 100, 96, &d, NULL, 3.104044);
  expect_time ("k-batch-sync", 8, 4, &d, NULL, 4.0 / 8);
  expect_time ("k-async", 8, 4, &d, NULL, exponential_order (8, 4));
  expect_time ("k-batch-async", 8, 4, &d, NULL, 4.0 / 8);
  expect_time ("async", 8, 1, &d, NULL, 1.0 / 8);
}
END_TEST

START_TEST (times_of_other_laws) {
  const LsDistribution shifted = ls_distribution ("shifted-exponential", 1, 1, 0);
  const LsDistribution pareto = ls_distribution ("pareto", 2, 3, 0);

  expect_time ("sync", 8, 8, &shifted, NULL, 3.717857);
  expect_time ("k-sync", 8, 4, &shifted, NULL, 1.634524);
  expect_time ("k-batch-async", 8, 4, &shifted, NULL, 4 * 2.0 / 8);
  expect_time ("async", 8, 1, &shifted, NULL, 2.0 / 8);
  /* No closed form: 1.2406 and 1.631 by an independent Monte Carlo run, three digits of it. */
  expect_time ("k-async", 8, 4, &shifted, NULL, 1.2406);
  expect_time ("k-batch-sync", 8, 4, &shifted, NULL, 1.631);
  expect_time ("k-sync", 8, 4, &pareto, NULL, 2.485934);
  expect_time ("k-async", 8, 4, &pareto, NULL, 1.883);
  expect_time ("async", 8, 1, &pareto, NULL, 3.0 / 8);
}
END_TEST

/* The maximum of 8 lognormal(0, s) by numerical integration: 2.138940 and 1.155160. */
START_TEST (times_of_lognormal_workers) {
  const LsDistribution wide = ls_distribution ("lognormal", 1, 0.5, 0);
  const LsDistribution narrow = ls_distribution ("lognormal", 1, 0.1, 0);

  expect_time ("sync", 8, 8, &wide, NULL, 2.138940);
  expect_time ("sync", 8, 8, &narrow, NULL, 1.155160);
}
END_TEST

/* Different speeds: updates per second are the sum of everybody's, sum_i 1/E X_i (renewal theorem). */
START_TEST (rates_of_unlike_workers_add_up) {
  const double factors[] = {1, 1, 2, 4, 8, 0.5, 3, 1.5};
  const LsDistribution laws[] = {ls_distribution ("exponential", 1, 0, 0),
                                 ls_distribution ("uniform", 0.5, 1.5, 0),
                                 ls_distribution ("constant", 1, 0, 0)};
  double rate = 0;

  for (guint i = 0; i < 8; i++)
    rate += 1 / factors[i];
  for (guint i = 0; i < G_N_ELEMENTS (laws); i++)
    expect_time ("async", 8, 1, &laws[i], factors, 1 / rate);
}
END_TEST

/* Gradients per second of k-sync on 1 + exp(1) have an interior optimum: K / (1 + H_n - H_{n-K}). */
START_TEST (backup_workers_have_an_interior_optimum) {
  const LsDistribution d = ls_distribution ("shifted-exponential", 1, 1, 0);
  double best = 0;
  guint best_k = 0;

  for (guint k = 1; k <= 8; k++) {
    LsUpdateSpec spec = update_spec ("k-sync", 8, k, (gint64) test_scaled (10000));
    UpdateCase run = update_case (&spec, &d, NULL, 1, NULL, NULL);
    double rate = k * (double) run.totals.updates / seconds (&run);
    double expected = k / (1 + exponential_order (8, k));
    ck_assert_double_eq_tol (rate, expected, 0.02 * expected);
    if (rate > best) {
      best = rate;
      best_k = k;
    }
    update_case_clear (&run);
  }
  ck_assert_uint_eq (best_k, 6);
}
END_TEST

/* --- staleness ------------------------------------------------------------------------------- */

/* Every update makes each gradient in flight one older, and n - 1 are in flight beside the applied one
 * when the answer carries the model: the mean over applied gradients is (n - 1)/K for any law of
 * times. K-async: n - K (the K in the update do not age each other): (n - K)/K. What is in flight at the
 * end has aged without being counted: some n^2 / updates, far below 1e-3 here. */
START_TEST (mean_staleness_is_a_conservation_law) {
  const LsDistribution laws[] = {
      ls_distribution ("exponential", 1, 0, 0), ls_distribution ("uniform", 0.5, 1.5, 0),
      ls_distribution ("pareto", 2, 3, 0), ls_distribution ("constant", 1, 0, 0)};
  const struct {
    const char *policy;
    guint k;
    double mean;
  } cases[] = {{"async", 1, 7},       {"k-batch-async", 4, 7.0 / 4},
               {"k-async", 4, 1},     {"k-async", 2, 3},
               {"sync", 8, 0},        {"k-sync", 3, 0},
               {"k-batch-sync", 3, 0}};

  for (guint law = 0; law < G_N_ELEMENTS (laws); law++)
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
      guint updates = MAX (test_scaled (100000), 100000) / cases[i].k;
      LsUpdateSpec spec = update_spec (cases[i].policy, 8, cases[i].k, (gint64) updates);
      UpdateCase run = update_case (&spec, &laws[law], NULL, 3, NULL, NULL);
      ck_assert_msg (fabs (run.totals.staleness_mean - cases[i].mean) < 1e-3,
                     "%s k=%u, %s: mean staleness %.6f, not %.6f", cases[i].policy, cases[i].k,
                     laws[law].kind->name, run.totals.staleness_mean, cases[i].mean);
      update_case_clear (&run);
    }
}
END_TEST

/* n exponential workers: whoever ends next is anyone with probability 1/n, so P(tau = j) =
 * (1/n)(1 - 1/n)^j; K-async: (K/n)(1 - K/n)^j. Chi-square with bins of at least 20, against the 0.1 %
 * point by Wilson and Hilferty. Gradients of a run depend weakly on each other: thinned by the bins'
 * independence over workers; the factor 1.3 covers it (measured over 20 seeds: mean chi2/df below 1.1). */
static void expect_geometric (const char *policy, guint n, guint k) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);
  LsUpdateSpec spec = update_spec (policy, n, k, (gint64) test_scaled (100000));
  UpdateCase run = update_case (&spec, &d, NULL, 17, NULL, NULL);
  guint n_bins;
  const guint64 *bins = ls_update_histogram (run.update, -1, &n_bins);
  double p = (double) k / n, total = (double) run.totals.applied, chi = 0, left = 1, seen = 0;
  guint degrees = 0;

  for (guint j = 0;; j++) {
    double share = p * pow (1 - p, j), expected = total * share;
    if (total * (left - share) < 20) {
      chi += pow (total - seen - total * left, 2) / (total * left);
      break;
    }
    double count = j < n_bins ? (double) bins[j] : 0;
    chi += pow (count - expected, 2) / expected;
    seen += count;
    left -= share;
    degrees++;
  }
  double z = 3.09, f = 2.0 / (9 * degrees), limit = degrees * pow (1 - f + z * sqrt (f), 3);
  ck_assert_msg (chi < 1.3 * limit, "%s n=%u k=%u: chi-square %.1f of %u degrees (limit %.1f)",
                 policy, n, k, chi, degrees, limit);
  update_case_clear (&run);
}

START_TEST (staleness_of_exponential_workers_is_geometric) {
  const guint sizes[] = {2, 4, 8, 16};

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    expect_geometric ("async", sizes[i], 1);
  expect_geometric ("k-async", 8, 4);
  expect_geometric ("k-async", 8, 2);
}
END_TEST

/* Identical workers with constant steps go round: staleness n - 1 from the second round on. */
START_TEST (constant_workers_go_round) {
  const LsDistribution d = ls_distribution ("constant", 1, 0, 0);
  LsUpdateSpec spec = update_spec ("async", 8, 1, 8000);
  UpdateCase run = update_case (&spec, &d, NULL, 1, NULL, NULL);
  guint n;
  const guint64 *bins = ls_update_histogram (run.update, -1, &n);

  ck_assert_uint_eq (n, 8);
  for (guint j = 0; j < 7; j++)
    ck_assert_uint_eq (bins[j], 1); /* the first round reads version 0 */
  ck_assert_uint_eq (bins[7], 8000 - 7);
  update_case_clear (&run);
}
END_TEST

/* --- SSP -------------------------------------------------------------------------------------- */

/* Immediate application and the rule c_i - min c <= s: tau <= (n - 1)(2s + 1), the lead at a start
 * <= s. Both are attained, at s = 0 and 1 within 2e5 updates (LS_TEST_SCALE=5 runs 1e6). */
START_TEST (ssp_keeps_its_bound) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);
  gint64 updates = (gint64) test_scaled (200000);

  for (gint64 s = 0; s <= 2; s++) {
    const guint n = s == 1 ? 3 : 4;
    LsUpdateSpec spec = update_spec ("ssp", n, 1, updates);
    spec.staleness_bound = s;
    UpdateCase run = update_case (&spec, &d, NULL, 5, NULL, NULL);
    gint64 bound = (n - 1) * (2 * s + 1);
    ck_assert_int_le (run.totals.staleness_max, bound);
    ck_assert_int_le (ls_update_largest_lead (run.update), s);
    if (s <= 1 && updates >= 200000)
      ck_assert_int_eq (run.totals.staleness_max, bound);
    ck_assert_int_eq (ls_update_largest_lead (run.update), s);
    update_case_clear (&run);
  }
}
END_TEST

/* Rate per worker and mean staleness at n = 8, exp(1), by an independent Monte Carlo run (0.3 %);
 * s = 0: 1/H_8 and (n - 1)/2 exactly; no bound: 1 and n - 1. */
START_TEST (ssp_lies_between_sync_and_async) {
  const struct {
    gint64 bound;
    double rate, staleness;
  } rows[] = {{0, 0.36794, 3.5}, {1, 0.5575, 4.60},  {2, 0.6619, 5.16}, {4, 0.7716, 5.74},
              {8, 0.8616, 6.21}, {16, 0.9210, 6.54}, {-1, 1, 7}};
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    LsUpdateSpec spec = update_spec ("ssp", 8, 1, (gint64) MAX (test_scaled (150000), 150000));
    spec.staleness_bound = rows[i].bound;
    UpdateCase run = update_case (&spec, &d, NULL, 9, NULL, NULL);
    double rate = (double) run.totals.updates / seconds (&run) / 8;
    ck_assert_double_eq_tol (rate, rows[i].rate, 0.008 * rows[i].rate);
    ck_assert_double_eq_tol (run.totals.staleness_mean, rows[i].staleness,
                             0.008 * rows[i].staleness);
    update_case_clear (&run);
  }
}
END_TEST

/* --- identities ------------------------------------------------------------------------------- */

static char *log_of (const char *policy, guint k, gint64 bound, gint64 local_steps) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);
  LsUpdateSpec spec = update_spec (policy, 8, k, 500);
  GString *text = g_string_new (NULL);

  spec.staleness_bound = bound;
  spec.local_steps = local_steps;
  UpdateCase run = update_case (&spec, &d, NULL, 2, &update_log_sink, text);
  update_case_clear (&run);
  return g_string_free (text, FALSE);
}

static void expect_same_log (const char *a, guint k_a, const char *b, guint k_b) {
  g_autofree char *first = log_of (a, k_a, -1, 1);
  g_autofree char *second = log_of (b, k_b, -1, 1);

  ck_assert_msg (g_str_equal (first, second), "%s k=%u is not %s k=%u", a, k_a, b, k_b);
}

START_TEST (identities_hold_bit_for_bit) {
  expect_same_log ("k-sync", 8, "sync", 8);
  expect_same_log ("k-batch-async", 1, "async", 1);
  expect_same_log ("ssp", 1, "async", 1);
  expect_same_log ("k-async", 1, "async", 1);
}
END_TEST

/* Without servers sync is the same log: the mean of the same gradients at the same times. */
START_TEST (sync_by_collectives_is_sync_by_servers) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);
  LsUpdateSpec spec = update_spec ("sync", 8, 8, 500);
  GString *text[2];

  for (guint i = 0; i < 2; i++) {
    text[i] = g_string_new (NULL);
    spec.collective = i == 1;
    UpdateCase run = update_case (&spec, &d, NULL, 2, &update_log_sink, text[i]);
    update_case_clear (&run);
  }
  ck_assert_str_eq (text[0]->str, text[1]->str);
  g_string_free (text[0], TRUE);
  g_string_free (text[1], TRUE);
}
END_TEST

/* One local step and an average: the times of sync. H steps: the maximum of n sums of H draws,
 * once per average. */
START_TEST (local_steps_wait_less) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);
  double previous = 0;

  expect_time ("local-sgd", 8, 8, &d, NULL, exponential_order (8, 8));
  for (gint64 h = 1; h <= 64; h *= 4) {
    LsUpdateSpec spec = update_spec ("local-sgd", 8, 8, 2000);
    spec.local_steps = h;
    UpdateCase run = update_case (&spec, &d, NULL, 2, NULL, NULL);
    double steps_per_s = (double) (2000 * h) / seconds (&run);
    ck_assert_uint_eq (run.totals.local, (guint64) (2000 * 8 * h));
    ck_assert_double_gt (steps_per_s, previous);
    ck_assert_double_lt (steps_per_s, 1);
    previous = steps_per_s;
    update_case_clear (&run);
  }
}
END_TEST

/* --- the books -------------------------------------------------------------------------------- */

typedef struct {
  gint64 read[64];      /* version that each worker's copy has */
  gboolean reading[64]; /* has read and not yet been applied or dropped since */
  GHashTable *held;     /* gradient -> version read */
  gint64 version;
  gint64 sum_staleness, sum_outstanding;
  guint64 applied, dropped;
  guint n;
} Books;

static void keep_books (gpointer self, const LsUpdateRecord *r) {
  Books *books = self;

  switch (r->operation) {
  case LS_UPDATE_READ:
    ck_assert_int_eq (r->version, books->version);
    books->read[r->worker] = r->version;
    books->reading[r->worker] = TRUE;
    break;
  case LS_UPDATE_GRADIENT:
    books->reading[r->worker] = FALSE;
    ck_assert (!g_hash_table_contains (books->held, GINT_TO_POINTER ((gint) r->gradient + 1)));
    g_hash_table_insert (books->held, GINT_TO_POINTER ((gint) r->gradient + 1),
                         GINT_TO_POINTER ((gint) books->read[r->worker]));
    break;
  case LS_UPDATE_APPLY:
  case LS_UPDATE_DROP: {
    gpointer version;
    ck_assert_msg (g_hash_table_steal_extended (
                       books->held, GINT_TO_POINTER ((gint) r->gradient + 1), NULL, &version),
                   "gradient %d is applied or dropped twice", (int) r->gradient);
    books->sum_staleness += books->version - GPOINTER_TO_INT (version);
    if (r->operation == LS_UPDATE_DROP) {
      books->dropped++;
      break;
    }
    books->applied++;
    ck_assert_int_eq (r->version, books->version + 1);
    if (r->closes) {
      books->version++;
      books->sum_outstanding += g_hash_table_size (books->held);
      for (guint w = 0; w < books->n; w++)
        books->sum_outstanding += books->reading[w] ? 1 : 0;
    }
    break;
  }
  default:
    ck_abort_msg ("%s in a log of servers", ls_update_operation_name (r->operation));
  }
}

/* The law that always holds: the staleness of all gradients, applied, dropped and in flight, is the sum
 * over updates of how many were in flight. Exactly: both are counts. */
static void expect_ages_to_add_up (const Books *books, const char *policy) {
  gint64 sum = books->sum_staleness;
  GHashTableIter iter;
  gpointer version;

  g_hash_table_iter_init (&iter, books->held);
  while (g_hash_table_iter_next (&iter, NULL, &version))
    sum += books->version - GPOINTER_TO_INT (version);
  for (guint w = 0; w < books->n; w++)
    sum += books->reading[w] ? books->version - books->read[w] : 0;
  ck_assert_msg (sum == books->sum_outstanding,
                 "%s: ages sum to %" G_GINT64_FORMAT ", gradients in flight to %" G_GINT64_FORMAT,
                 policy, sum, books->sum_outstanding);
}

START_TEST (no_gradient_is_lost_or_applied_twice) {
  static const LsUpdateSink sink = {.update = keep_books};
  const char *const names[] = {"sync",          "k-sync", "k-batch-sync", "k-async",
                               "k-batch-async", "async",  "ssp"};
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (gint64 discard = -1; discard <= 4; discard += 5) {
      Books books = {.held = g_hash_table_new (NULL, NULL), .n = 8};
      LsUpdateSpec spec = update_spec (names[i], 8, 3, 3000);
      spec.staleness_bound = 2;
      spec.discard_above = discard;
      UpdateCase run = update_case (&spec, &d, NULL, 4, &sink, &books);
      ck_assert_uint_eq (books.applied, run.totals.applied);
      ck_assert_uint_eq (books.dropped, run.totals.dropped);
      ck_assert_uint_eq (g_hash_table_size (books.held), run.totals.in_flight);
      if (i >= 3)
        expect_ages_to_add_up (&books, names[i]);
      if (discard >= 0)
        ck_assert_int_le (run.totals.staleness_max, discard);
      update_case_clear (&run);
      g_hash_table_unref (books.held);
    }
}
END_TEST

/* --- workers that fail and come back ------------------------------------------------------------ */

/* Leaves after a time of mean `up`, is back after one of mean `down`, both exponential. */
typedef struct {
  LsUpdate *update;
  guint worker;
  gsl_rng *rng;
  double up_s, down_s;
  gboolean away;
} Goer;

static void come_or_go (gpointer self, LsEngine *engine);

static void schedule_goer (Goer *goer, LsEngine *engine) {
  double s = gsl_ran_exponential (goer->rng, goer->away ? goer->down_s : goer->up_s);

  ls_engine_schedule (engine, ls_engine_now_ps (engine) + 1 + ls_time_ps_from_s_checked (s), 0,
                      come_or_go, goer);
}

static void come_or_go (gpointer self, LsEngine *engine) {
  Goer *goer = self;

  goer->away = !goer->away;
  if (goer->away)
    ls_update_leave (goer->update, goer->worker);
  else
    ls_update_return (goer->update, goer->worker);
  schedule_goer (goer, engine);
}

/* Runs with `n_goers` workers that come and go. */
static UpdateCase update_case_with_goers (const LsUpdateSpec *spec, double up_s, double down_s,
                                          guint n_goers, const LsUpdateSink *sink, gpointer self) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);
  UpdateCase run = {.engine = ls_engine_new ()};
  LsUpdateHost host = {.compute = ls_timed_workers_compute, .abandon = ls_timed_workers_abandon};
  g_autofree Goer *goers = g_new0 (Goer, spec->workers);
  g_autoptr (GError) error = NULL;

  run.timed = host.self = ls_timed_workers_new (&d, NULL, spec->workers, 5);
  run.update = ls_update_new (spec, run.engine, &host);
  if (sink != NULL)
    ls_update_add_sink (run.update, sink, self);
  for (guint w = 0; w < n_goers; w++) {
    goers[w] = (Goer){.update = run.update,
                      .worker = w,
                      .rng = ls_random_gsl_new (9, "goers", w),
                      .up_s = up_s,
                      .down_s = down_s};
    schedule_goer (&goers[w], run.engine);
  }
  ls_update_begin (run.update);
  ck_assert_msg (ls_update_run (run.update, NULL, NULL, NULL, &error), "%s: %s", spec->policy->name,
                 error != NULL ? error->message : "");
  ls_update_finish (run.update);
  run.totals = ls_update_totals (run.update);
  for (guint w = 0; w < n_goers; w++)
    gsl_rng_free (goers[w].rng);
  return run;
}

static const char *const server_policies[] = {"sync",          "k-sync", "k-batch-sync", "k-async",
                                              "k-batch-async", "async",  "ssp"};

/* With failures and elastic workers too: every gradient is applied once or dropped once, whoever waits for whom. */
START_TEST (no_gradient_is_lost_when_workers_fail) {
  static const LsUpdateSink sink = {.update = keep_books};

  for (guint i = 0; i < G_N_ELEMENTS (server_policies); i++)
    for (guint mode = 0; mode < 4; mode++) {
      Books books = {.held = g_hash_table_new (NULL, NULL), .n = 8};
      LsUpdateSpec spec = update_spec (server_policies[i], 8, 3, (gint64) test_scaled (3000));
      spec.staleness_bound = 2;
      spec.skip_away = mode % 2 != 0;
      spec.sync_every = mode >= 2 && (i == 4 || i == 5) ? 50 : 0;
      UpdateCase run = update_case_with_goers (&spec, 5, 2, 8, &sink, &books);
      ck_assert_uint_eq (books.applied, run.totals.applied);
      ck_assert_uint_eq (books.dropped, run.totals.dropped);
      ck_assert_uint_eq (g_hash_table_size (books.held), run.totals.in_flight);
      ck_assert_uint_gt (run.totals.left, 100);
      ck_assert_int_gt (ls_update_span_ps (run.update, 0, LS_SPAN_AWAY), 0);
      if (i == 6) { /* Ho et al.: no lead beyond the bound; staleness as in ssp_keeps_its_bound */
        ck_assert_int_le (ls_update_largest_lead (run.update), 2);
        ck_assert_int_le (run.totals.staleness_max, (8 - 1) * (2 * 2 + 1));
      }
      update_case_clear (&run);
      g_hash_table_unref (books.held);
    }
}
END_TEST

/* Exponential steps have no memory, so the steps that end are a Poisson process of the time spent computing:
 * updates - seconds of computing is a martingale of variance `updates`. And a worker is there for
 * up / (up + down) of the time. */
START_TEST (workers_that_fail_compute_while_they_are_there) {
  LsUpdateSpec spec = update_spec ("async", 8, 1, (gint64) test_scaled (60000));
  UpdateCase run = update_case_with_goers (&spec, 10, 5, 8, NULL, NULL);
  double compute_s = 0, away_s = 0, all_s = 8 * seconds (&run), n = (double) run.totals.updates;

  for (guint w = 0; w < 8; w++) {
    compute_s += ls_time_s_from_ps (ls_update_span_ps (run.update, w, LS_SPAN_COMPUTE));
    away_s += ls_time_s_from_ps (ls_update_span_ps (run.update, w, LS_SPAN_AWAY));
  }
  ck_assert_double_eq_tol (n, compute_s, 4 * sqrt (n));
  ck_assert_double_eq_tol (compute_s + away_s, all_s, 1e-6 * all_s);
  /* Renewal: the variance of the share of a two-state process over a time t is 2 u^2 d^2 / ((u + d)^3 t). */
  double error = sqrt (2 * 100 * 25 / (15.0 * 15 * 15 * all_s));
  ck_assert_double_eq_tol (away_s / all_s, 1.0 / 3, 4 * error);
  update_case_clear (&run);
}
END_TEST

static void leave_for_good (gpointer self, LsEngine *engine) {
  (void) engine;
  ls_update_leave (self, 3);
}

/* Sync of eight without one is sync of seven, H_7 per update, where it is skipped; else nobody goes on. */
START_TEST (a_barrier_skips_or_waits_for_who_has_left) {
  const LsDistribution d = ls_distribution ("exponential", 1, 0, 0);

  for (guint skip = 0; skip < 2; skip++) {
    LsUpdateSpec spec = update_spec ("sync", 8, 8, (gint64) test_scaled (20000));
    LsUpdateHost host = {.compute = ls_timed_workers_compute, .abandon = ls_timed_workers_abandon};
    UpdateCase run = {.engine = ls_engine_new ()};
    g_autoptr (GError) error = NULL;
    spec.skip_away = skip > 0;
    run.timed = host.self = ls_timed_workers_new (&d, NULL, 8, 6);
    run.update = ls_update_new (&spec, run.engine, &host);
    ls_engine_schedule (run.engine, 1000, 0, leave_for_good, run.update);
    ls_update_begin (run.update);
    ck_assert_int_eq (ls_update_run (run.update, NULL, NULL, NULL, &error), skip > 0);
    ls_update_finish (run.update);
    run.totals = ls_update_totals (run.update);
    if (skip > 0) {
      double n = (double) run.totals.updates;
      ck_assert_double_eq_tol (seconds (&run) / n, exponential_order (7, 7), 4 * 1.23 / sqrt (n));
      ck_assert_uint_eq (run.totals.applied, 7 * run.totals.updates);
    } else {
      ck_assert_uint_eq (run.totals.updates, 0);
      ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_RUN));
    }
    update_case_clear (&run);
  }
}
END_TEST

/* `sync_every`: all stand still, so that the version read right after is read by all. */
START_TEST (full_stops_bound_staleness) {
  const LsDistribution d = ls_distribution ("pareto", 2, 1.5, 0);
  LsUpdateSpec spec = update_spec ("async", 8, 1, 20000);

  spec.sync_every = 16;
  UpdateCase run = update_case (&spec, &d, NULL, 4, NULL, NULL);
  ck_assert_int_lt (run.totals.staleness_max, 16 + 8);
  update_case_clear (&run);
}
END_TEST

START_TEST (every_policy_runs_and_repeats) {
  const LsDistribution d = ls_distribution ("gamma", 1, 2, 0);

  for (guint i = 0; i < ls_update_policy_count (); i++) {
    const LsUpdatePolicy *policy = ls_update_policy_get (i);
    GString *text[2];
    ck_assert_str_eq (policy->name, ls_update_policy_names ()[i]);
    for (guint again = 0; again < 2; again++) {
      LsUpdateSpec spec = update_spec (policy->name, 5, 2, 300);
      spec.local_steps = 3;
      spec.collective = policy->needs == LS_NEEDS_COLLECTIVES;
      text[again] = g_string_new (NULL);
      UpdateCase run = update_case (&spec, &d, NULL, 11, &update_log_sink, text[again]);
      ck_assert_uint_eq (run.totals.updates, 300);
      update_case_clear (&run);
    }
    ck_assert_str_eq (text[0]->str, text[1]->str);
    g_string_free (text[0], TRUE);
    g_string_free (text[1], TRUE);
  }
  ck_assert_ptr_null (ls_update_policy_names ()[ls_update_policy_count ()]);
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, times_of_exponential_workers);
  tcase_add_test (tcase, times_of_other_laws);
  tcase_add_test (tcase, times_of_lognormal_workers);
  tcase_add_test (tcase, rates_of_unlike_workers_add_up);
  tcase_add_test (tcase, backup_workers_have_an_interior_optimum);
  tcase_add_test (tcase, mean_staleness_is_a_conservation_law);
  tcase_add_test (tcase, staleness_of_exponential_workers_is_geometric);
  tcase_add_test (tcase, constant_workers_go_round);
  tcase_add_test (tcase, ssp_keeps_its_bound);
  tcase_add_test (tcase, ssp_lies_between_sync_and_async);
  tcase_add_test (tcase, identities_hold_bit_for_bit);
  tcase_add_test (tcase, sync_by_collectives_is_sync_by_servers);
  tcase_add_test (tcase, local_steps_wait_less);
  tcase_add_test (tcase, no_gradient_is_lost_or_applied_twice);
  tcase_add_test (tcase, no_gradient_is_lost_when_workers_fail);
  tcase_add_test (tcase, workers_that_fail_compute_while_they_are_there);
  tcase_add_test (tcase, a_barrier_skips_or_waits_for_who_has_left);
  tcase_add_test (tcase, full_stops_bound_staleness);
  tcase_add_test (tcase, every_policy_runs_and_repeats);
}

LS_TEST_MAIN ("update", add)
