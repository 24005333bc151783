/* SGD on quadratics under delay, against closed forms. f = h x^2 / 2, h = 1, so a = eta.
 *
 * Fixed delays come from round robin, random ones from exponential workers. Long forms (more draws,
 * tighter bars) run with LS_TEST_LONG=1 in the environment.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "toy.h"

static gboolean long_form (void) {
  const char *text = g_getenv ("LS_TEST_LONG");

  return text != NULL && *text != 0 && *text != '0';
}

/* A quadratic of @dimension independent replicas of the same x: the same workers, other noise. */
static void quadratic (Lesson *lesson, double eta, guint dimension, double noise,
                       const char *more) {
  g_autofree char *yaml = g_strdup_printf (
      "learn: {problem: {kind: quadratic, dimension: %u, noise: %.17g, start: 1}, "
      "optimizer: {kind: sgd, lr: %.17g}, evaluate: 100000000, diverged_above: 1e300%s}",
      dimension, noise, eta, more);

  lesson_init (lesson, yaml);
}

/* --- Q2: fixed delay ------------------------------------------------------------------------ */

/* Does x shrink under delay tau? Its size over the last stretch against the one before. */
static gboolean shrinks (double a, guint tau, gint64 updates) {
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  double before = 0, after = 0, x;
  Toy toy;

  quadratic (&lesson, a, 1, 0, "");
  learner = lesson_learner (&lesson, tau + 1, 1, 1);
  toy_init (&toy, learner, tau + 1, 1);
  for (gint64 u = 0; u < updates; u++) {
    toy_round_robin (&toy, 1);
    ls_learner_server (learner, &x);
    if (u >= updates / 3 && u < 2 * updates / 3)
      before = MAX (before, fabs (x));
    else if (u >= 2 * updates / 3)
      after = MAX (after, fabs (x));
  }
  toy_clear (&toy);
  return after < before || after < 1e-200;
}

START_TEST (fixed_delay_is_stable_up_to_the_sine_limit) {
  /* theory Q2: x_{t+1} = x_t - a x_{t-tau} is stable iff 0 < a < 2 sin (pi / (2 (2 tau + 1))). By
   * bisection to 1e-3 relative: near the edge the largest root is 1 + c (a - limit), c ~ 1 / tau, so
   * sizes of stretches of 200 (2 tau + 1) updates tell 1e-3 of a easily. */
  static const guint taus[] = {0, 1, 2, 3, 7, 15};

  for (guint i = 0; i < G_N_ELEMENTS (taus); i++) {
    const guint tau = taus[i];
    const double limit = 2 * sin (G_PI / (2 * (2 * (double) tau + 1)));
    const gint64 updates = (gint64) (600 * (2 * (double) tau + 1));
    double low = 0.5 * limit, high = 1.5 * limit;

    while (high - low > 2.5e-4 * limit) {
      double middle = (low + high) / 2;

      if (shrinks (middle, tau, updates))
        low = middle;
      else
        high = middle;
    }
    ck_assert_msg (fabs (low / limit - 1) < 1e-3, "tau %u: %g, not %g", tau, low, limit);
  }
}
END_TEST

/* Mean of x^2 over @dimension coordinates and the updates after @burn, every @every. */
typedef struct {
  double mean, error; /* error: one standard error, by batch means over coordinates */
} Floor;

typedef void (*Advance) (Toy *toy, gint64 updates, LsRandom *random);

static void round_robin (Toy *toy, gint64 updates, LsRandom *random) {
  (void) random;
  toy_round_robin (toy, updates);
}

static void async (Toy *toy, gint64 updates, LsRandom *random) {
  toy_async (toy, 1, updates, random);
}

static void sync_all (Toy *toy, gint64 updates, LsRandom *random) {
  (void) random;
  toy_k_sync (toy, toy->workers, updates, 1);
}

static void half_sync (Toy *toy, gint64 updates, LsRandom *random) {
  (void) random;
  toy_k_sync (toy, toy->workers / 2, updates, (guint64) toy->version);
}

static void local_4 (Toy *toy, gint64 updates, LsRandom *random) {
  (void) random;
  toy_local_sgd (toy, 4, updates);
}

static void local_16 (Toy *toy, gint64 updates, LsRandom *random) {
  (void) random;
  toy_local_sgd (toy, 16, updates);
}

static Floor floor_of (double a, guint workers, guint dimension, gint64 burn, gint64 every,
                       guint draws, Advance advance) {
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  g_autofree double *x = g_new (double, dimension), *sums = g_new0 (double, dimension);
  /* Batches of coordinates share timing, so the runs are repeated over several timings too. */
  Floor floor = {0, 0};
  LsRandom random;
  double squares = 0;
  Toy toy;

  quadratic (&lesson, a, dimension, 1, "");
  learner = lesson_learner (&lesson, workers, 1, 11);
  toy_init (&toy, learner, workers, 1);
  ls_random_init (&random, 3, "arrivals", workers);
  advance (&toy, burn, &random);
  for (guint d = 0; d < draws; d++) {
    double mean = 0;

    advance (&toy, every, &random);
    ls_learner_server (learner, x);
    for (guint i = 0; i < dimension; i++)
      mean += x[i] * x[i];
    mean /= dimension;
    floor.mean += mean;
    squares += mean * mean;
  }
  toy_clear (&toy);
  floor.mean /= draws;
  floor.error = sqrt ((squares / draws - floor.mean * floor.mean) / draws);
  return floor;
}

static void near_floor (Floor floor, double eta, double wanted, const char *what) {
  /* 4 standard errors; and these small enough to mean something: 3 %. */
  const double scale = eta * eta;

  ck_assert_msg (fabs (floor.mean - scale * wanted) < 4 * floor.error &&
                     floor.error < 0.03 * scale * wanted,
                 "%s: %g +- %g, not %g", what, floor.mean / scale, floor.error / scale, wanted);
}

START_TEST (fixed_delay_has_its_noise_floor) {
  /* theory Q2, E x^2 / (eta sigma)^2: tau = 1, a = .5: 2.4 by (1 + a) / (a (1 - a) (2 + a)); tau = 3,
   * a = .2: 5.40973; tau = 7, a = .1: 11.5108 by the integral over the spectrum. */
  const guint draws = long_form () ? 4000 : 300;

  near_floor (floor_of (0.5, 2, 250, 200, 20, draws, round_robin), 0.5, 2.4, "tau 1");
  near_floor (floor_of (0.2, 4, 250, 400, 60, draws, round_robin), 0.2, 5.40973, "tau 3");
  near_floor (floor_of (0.1, 8, 250, 800, 120, draws, round_robin), 0.1, 11.5108, "tau 7");
}
END_TEST

START_TEST (exponential_async_has_its_noise_floor) {
  /* theory Q4: E x^2 = eta^2 sigma^2 (1 + n a) / (a (2 + a - n a^2)). Coordinates share the arrivals, so
   * draws far apart (10 / a updates) count, not coordinates. Sequential, n = 1: 1 / (a (2 - a)). */
  static const struct {
    guint n;
    double a;
  } cases[] = {{1, 0.1}, {4, 0.2}, {8, 0.1}, {8, 0.3}, {16, 0.1}};
  const guint draws = long_form () ? 6000 : 500;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const double a = cases[i].a, n = cases[i].n;
    const double wanted = (1 + n * a) / (a * (2 + a - n * a * a));
    g_autofree char *what = g_strdup_printf ("n %u, a %g", cases[i].n, a);

    near_floor (
        floor_of (a, cases[i].n, 100, (gint64) (20 / a) * 4, (gint64) (8 / a), draws, async), a,
        wanted, what);
  }
}
END_TEST

START_TEST (sync_k_sync_and_local_sgd_share_the_floor) {
  /* theory Q1, Q7: E x^2 = eta^2 (sigma^2 / n) / (a (2 - a)) for sync and, on equal quadratics, for local
   * SGD at any H; K-sync has sigma^2 / K. */
  const double a = 0.2, one = 1 / (a * (2 - a));
  const guint draws = long_form () ? 2000 : 200;

  near_floor (floor_of (a, 4, 250, 100, 20, draws, sync_all), a, one / 4, "sync");
  near_floor (floor_of (a, 4, 250, 100, 20, draws, half_sync), a, one / 2, "2 of 4");
  near_floor (floor_of (a, 4, 250, 25, 5, draws, local_4), a, one / 4, "local H = 4");
  near_floor (floor_of (a, 4, 250, 7, 2, draws, local_16), a, one / 4, "local H = 16");
}
END_TEST

/* --- Q3: asynchrony begets momentum --------------------------------------------------------- */

START_TEST (the_mean_follows_the_momentum_recursion) {
  /* theory Q3: m_{t+1} = m_t + (1 - 1/n) (m_t - m_{t-1}) - (a / n) m_t exactly from t = 0, m_1 = (1 - a)
   * m_0. Mean over replicas of arrivals without noise; 4 standard errors. The recursion itself is held
   * to the published digits first. */
  static const struct {
    guint n;
    double a, at[4]; /* m_8, m_16, m_24, m_32 */
  } cases[] = {{4, 0.2, {-.0861, -.1017, .0067, .0103}}, {8, 0.5, {-1.1786, .2351, .2896, -.2229}}};
  const guint replicas = long_form () ? 200000 : 3000;

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    const guint n = cases[c].n;
    const double a = cases[c].a;
    double m[33], sum[33] = {0}, square[33] = {0};
    g_auto (Lesson) lesson = {0};

    m[0] = 1;
    m[1] = 1 - a;
    for (guint t = 1; t < 32; t++)
      m[t + 1] = m[t] + (1 - 1.0 / n) * (m[t] - m[t - 1]) - a / n * m[t];
    for (guint i = 0; i < 4; i++)
      ck_assert_double_eq_tol (m[8 * (i + 1)], cases[c].at[i], 5e-5);
    quadratic (&lesson, a, 1, 0, "");
    for (guint r = 0; r < replicas; r++) {
      g_autoptr (LsLearner) learner = lesson_learner (&lesson, n, 1, 1);
      LsRandom random;
      Toy toy;

      ls_random_init (&random, 17, "replica", r);
      toy_init (&toy, learner, n, 1);
      for (guint t = 1; t <= 32; t++) {
        double x;

        toy_async (&toy, 1, 1, &random);
        ls_learner_server (learner, &x);
        sum[t] += x;
        square[t] += x * x;
      }
      toy_clear (&toy);
    }
    for (guint t = 1; t <= 32; t++) {
      double mean = sum[t] / replicas;
      double error = sqrt (MAX (square[t] / replicas - mean * mean, 0) / replicas);

      ck_assert_msg (fabs (mean - m[t]) <= 4 * error + 1e-12, "n %u, t %u: %g +- %g, not %g", n, t,
                     mean, error, m[t]);
    }
  }
}
END_TEST

/* --- Q4: edge of mean-square stability ------------------------------------------------------ */

/* Growth per update of the second moments (A = E x^2, B = E x r, C = E r^2, D = E r r') of exponential
 * async without noise, by power iteration: x' = x - a r_i, the worker i drawn at random then holds x'. */
static double growth (guint workers, double a) {
  const double n = workers;
  double A = 1, B = 1, C = 1, D = 1, rate = 1;

  for (guint t = 0; t < 20000; t++) {
    /* r_i is any of the n held values; r' any other. */
    const double A1 = A - 2 * a * B + a * a * C;
    /* x' r_j: the drawn worker (1/n) holds x' now; another j holds the old r_j, and r_i is another. */
    const double B1 = A1 / n + (1 - 1 / n) * (B - a * D);
    const double C1 = A1 / n + (1 - 1 / n) * C;
    const double D1 = n > 1 ? 2 / n * (B - a * D) + (1 - 2 / n) * D : 0;

    rate = A1 / A;
    A = 1;
    B = B1 / A1;
    C = C1 / A1;
    D = D1 / A1;
    if (!(A1 > 0) || !isfinite (rate))
      break;
  }
  return rate;
}

START_TEST (exponential_async_is_stable_up_to_its_edge) {
  /* theory Q4: stable in mean square iff a < (1 + sqrt (1 + 8 n)) / (2 n). (a) The moment recursion
   * above has growth 1 there, to 1e-3. (b) The learner, over many replicas without noise: E x^2 after
   * T updates against the recursion's own prediction, at 0.8 of the edge, 4 standard errors. At 1.5 x
   * the edge a single path grows. */
  static const guint sizes[] = {2, 4, 8, 16};
  const guint replicas = long_form () ? 100000 : 1500;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const guint n = sizes[i];
    const double edge = (1 + sqrt (1 + 8 * (double) n)) / (2 * (double) n), a = 0.8 * edge;
    g_auto (Lesson) lesson = {0};
    double A = 1, B = 1, C = 1, D = 1, sum = 0, square = 0, mean, error;
    const guint steps = 2 * n;

    ck_assert_msg (growth (n, 0.999 * edge) < 1 && growth (n, 1.001 * edge) > 1, "n %u", n);
    for (guint t = 0; t < steps; t++) {
      const double A1 = A - 2 * a * B + a * a * C;
      const double B1 = A1 / n + (1 - 1.0 / n) * (B - a * D);
      const double C1 = A1 / n + (1 - 1.0 / n) * C;
      const double D1 = 2.0 / n * (B - a * D) + (1 - 2.0 / n) * D;

      A = A1, B = B1, C = C1, D = D1;
    }
    quadratic (&lesson, a, 1, 0, "");
    for (guint r = 0; r < replicas; r++) {
      g_autoptr (LsLearner) learner = lesson_learner (&lesson, n, 1, 1);
      LsRandom random;
      double x;
      Toy toy;

      ls_random_init (&random, 23, "replica", r);
      toy_init (&toy, learner, n, 1);
      toy_async (&toy, 1, steps, &random);
      ls_learner_server (learner, &x);
      toy_clear (&toy);
      sum += x * x;
      square += x * x * x * x;
    }
    mean = sum / replicas;
    error = sqrt ((square / replicas - mean * mean) / replicas);
    ck_assert_msg (fabs (mean - A) < 4 * error && error < 0.3 * A, "n %u: %g +- %g, not %g", n,
                   mean, error, A);
  }
}
END_TEST

START_TEST (far_above_the_edge_a_single_path_grows) {
  static const guint sizes[] = {2, 8};

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const guint n = sizes[i];
    const double edge = (1 + sqrt (1 + 8 * (double) n)) / (2 * (double) n);
    g_auto (Lesson) lesson = {0};
    g_autoptr (LsLearner) learner = NULL;
    LsRandom random;
    double x;
    Toy toy;

    quadratic (&lesson, 1.5 * edge, 1, 0, "");
    learner = lesson_learner (&lesson, n, 1, 1);
    ls_random_init (&random, 29, "path", n);
    toy_init (&toy, learner, n, 1);
    toy_async (&toy, 1, 3000, &random);
    ls_learner_server (learner, &x);
    toy_clear (&toy);
    ck_assert_msg (fabs (x) > 1e6, "n %u: %g", n, x);
  }
}
END_TEST

/* --- Q7, Q9 --------------------------------------------------------------------------------- */

START_TEST (local_sgd_on_unlike_workers_has_a_biased_fixed_point) {
  /* theory Q7: x* = sum (1 - (1 - eta h_i)^H) b_i / sum (1 - (1 - eta h_i)^H), from the workers' own b_i
   * and h_i, which are read off the problem: gradient at 0 is -h_i b_i, at 1 h_i (1 - b_i). 1e-10. */
  const guint n = 4, steps = 8;
  const double eta = 0.2;
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  g_autoptr (LsWorkspace) workspace = NULL;
  double top = 0, bottom = 0, x;
  Toy toy;

  lesson_init (&lesson, "learn: {problem: {kind: quadratic, noise: 0, optimum_spread: 1, "
                        "curvature_spread: 0.5}, optimizer: {lr: 0.2}, evaluate: 100000}");
  workspace = ls_workspace_new (lesson.task->problem);
  for (guint w = 0; w < n; w++) {
    const LsBatch batch = {.n = 1, .worker = w};
    double zero = 0, one = 1, at_0, at_1, h, b, share;

    ls_problem_evaluate (lesson.task->problem, workspace, &ls_arithmetic_exact, &zero, &batch,
                         &at_0, NULL);
    ls_problem_evaluate (lesson.task->problem, workspace, &ls_arithmetic_exact, &one, &batch, &at_1,
                         NULL);
    h = at_1 - at_0;
    b = -at_0 / h;
    share = 1 - pow (1 - eta * h, steps);
    top += share * b;
    bottom += share;
  }
  learner = lesson_learner (&lesson, n, 1, 1);
  toy_init (&toy, learner, n, 1);
  toy_local_sgd (&toy, steps, 400);
  ls_learner_server (learner, &x);
  toy_clear (&toy);
  ck_assert_double_eq_tol (x, top / bottom, 1e-10);
}
END_TEST

static gboolean elastic_shrinks (double eta, double alpha) {
  g_autofree char *more = g_strdup_printf (", elastic: {alpha: %.17g}", alpha);
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  double before = 0, after = 0, x, centre;
  Toy toy;

  quadratic (&lesson, eta, 1, 0, more);
  learner = lesson_learner (&lesson, 1, 1, 1);
  toy_init (&toy, learner, 1, 1);
  for (guint u = 0; u < 9000; u++) {
    toy_local_step (&toy, 0);
    toy_elastic (&toy, 0);
    ls_learner_copy (learner, 0, &x);
    ls_learner_server (learner, &centre);
    if (u >= 3000 && u < 6000)
      before = MAX (before, fabs (x) + fabs (centre));
    else if (u >= 6000)
      after = MAX (after, fabs (x) + fabs (centre));
  }
  toy_clear (&toy);
  return after < before || after < 1e-200;
}

START_TEST (easgd_is_stable_up_to_its_edge) {
  /* theory Q9: x <- x - eta x - alpha (x - c), c <- c + alpha (x - c), old values in both: stable iff
   * alpha <= (4 - 2 eta) / (4 - eta): .857, .667, .4 at eta .5, 1, 1.5. By bisection, 1e-3. */
  static const double etas[] = {0.5, 1, 1.5};

  for (guint i = 0; i < G_N_ELEMENTS (etas); i++) {
    const double eta = etas[i], edge = (4 - 2 * eta) / (4 - eta);
    double low = 0.5 * edge, high = MIN (1.5 * edge, 1);

    while (high - low > 2e-4) {
      double middle = (low + high) / 2;

      if (elastic_shrinks (eta, middle))
        low = middle;
      else
        high = middle;
    }
    ck_assert_msg (fabs (low - edge) < 1e-3, "eta %g: %g, not %g", eta, low, edge);
  }
}
END_TEST

START_TEST (synchronous_easgd_is_its_formula) {
  /* x_i <- x_i - eta x_i - alpha (x_i - c), c <- c + alpha sum (x_i - c), three unlike workers; 1e-14. */
  const double eta = 0.3, alpha = 0.2;
  double x[3] = {1, 1, 1}, c = 1, got, centre;
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  Toy toy;

  quadratic (&lesson, eta, 1, 0, ", elastic: {alpha: 0.2}");
  learner = lesson_learner (&lesson, 3, 1, 1);
  toy_init (&toy, learner, 3, 1);
  toy_local_step (&toy, 2); /* one more step than the others: unlike from here on */
  x[2] -= eta * x[2];
  for (guint t = 0; t < 10; t++) {
    double sum = 0;

    for (guint w = 0; w < 3; w++)
      toy_local_step (&toy, w);
    toy_elastic_all (&toy);
    for (guint w = 0; w < 3; w++) {
      sum += x[w] - c;
      x[w] = x[w] - eta * x[w] - alpha * (x[w] - c);
    }
    c += alpha * sum;
  }
  ls_learner_server (learner, &centre);
  ck_assert_double_eq_tol (centre, c, 1e-14);
  for (guint w = 0; w < 3; w++) {
    ls_learner_copy (learner, w, &got);
    ck_assert_double_eq_tol (got, x[w], 1e-14);
  }
  toy_clear (&toy);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_set_timeout (tcase, 600);
  tcase_add_test (tcase, fixed_delay_is_stable_up_to_the_sine_limit);
  tcase_add_test (tcase, fixed_delay_has_its_noise_floor);
  tcase_add_test (tcase, exponential_async_has_its_noise_floor);
  tcase_add_test (tcase, sync_k_sync_and_local_sgd_share_the_floor);
  tcase_add_test (tcase, the_mean_follows_the_momentum_recursion);
  tcase_add_test (tcase, exponential_async_is_stable_up_to_its_edge);
  tcase_add_test (tcase, far_above_the_edge_a_single_path_grows);
  tcase_add_test (tcase, local_sgd_on_unlike_workers_has_a_biased_fixed_point);
  tcase_add_test (tcase, easgd_is_stable_up_to_its_edge);
  tcase_add_test (tcase, synchronous_easgd_is_its_formula);
}

LS_TEST_MAIN ("delays", add_tests)
