/* Policies that must agree, bit for bit or to rounding, whatever the problem. */
#include <math.h>
#include <string.h>

#include "suite.h"
#include "toy.h"

#define UPDATES 40

static const char softmax[] =
    "learn: {problem: softmax, l2: 0.01, optimizer: {kind: %s, lr: 0.2}, evaluate: 1000, "
    "data: {kind: synthetic, rows: 300, classes: 3}}";

static const char *const optimizers[] = {"sgd", "momentum", "nesterov", "adam", "adamw"};

static double *server_of (LsLearner *learner) {
  double *w = g_new (double, ls_learner_n_parameters (learner));

  ls_learner_server (learner, w);
  return w;
}

static void same_bits (const double *a, const double *b, gsize n) {
  ck_assert_int_eq (memcmp (a, b, n * sizeof (double)), 0);
}

static double largest_gap (const double *a, const double *b, gsize n) {
  double gap = 0;

  for (gsize i = 0; i < n; i++)
    gap = MAX (gap, fabs (a[i] - b[i]));
  return gap;
}

typedef void (*Schedule) (Toy *toy);

static void sequential (Toy *toy) {
  toy_sequential (toy, UPDATES);
}

static void one_sync (Toy *toy) {
  toy_k_sync (toy, 1, UPDATES, 1);
}

static void one_async (Toy *toy) {
  LsRandom random;

  ls_random_init (&random, 1, "toy", 0);
  toy_async (toy, 1, UPDATES, &random);
}

static void one_local (Toy *toy) {
  toy_local_sgd (toy, 1, UPDATES);
}

static void four_local (Toy *toy) {
  toy_local_sgd (toy, 4, UPDATES / 4);
}

static double *run (const Lesson *lesson, guint workers, guint shards, gint64 samples,
                    Schedule schedule) {
  g_autoptr (LsLearner) learner = lesson_learner (lesson, workers, shards, 5);
  Toy toy;

  toy_init (&toy, learner, workers, samples);
  schedule (&toy);
  toy_clear (&toy);
  ls_learner_finish (learner);
  return server_of (learner);
}

START_TEST (one_worker_is_sequential_sgd_under_every_policy) {
  /* theory: n = 1, every policy equals sequential SGD bit for bit, with every optimiser; sharding the
   * server changes nothing either. (k = 1; an average over one copy is that copy.) */
  static const Schedule policies[] = {one_sync, one_async, one_local, four_local};

  for (guint o = 0; o < G_N_ELEMENTS (optimizers); o++) {
    g_autofree char *yaml = g_strdup_printf (softmax, optimizers[o]);
    g_autofree double *wanted = NULL;
    g_auto (Lesson) lesson = {0};
    gsize n;

    lesson_init (&lesson, yaml);
    n = ls_problem_n_parameters (lesson.task->problem);
    wanted = run (&lesson, 1, 1, 8, sequential);
    for (guint p = 0; p < G_N_ELEMENTS (policies); p++) {
      g_autofree double *whole = run (&lesson, 1, 1, 8, policies[p]);
      g_autofree double *pieces = run (&lesson, 1, 3, 8, policies[p]);

      same_bits (whole, wanted, n);
      same_bits (pieces, wanted, n);
    }
  }
}
END_TEST

START_TEST (sequential_sgd_is_the_textbook_loop) {
  /* Quadratic without noise: w_t = (1 - eta h)^t w_0 by repeated multiplication; 1e-12 relative. */
  g_auto (Lesson) lesson = {0};
  g_autofree double *w = NULL;

  lesson_init (&lesson, "learn: {problem: {kind: quadratic, curvatures: [1, 0.5, 0.1], noise: 0, "
                        "start: 2}, optimizer: {lr: 0.3}, evaluate: 1000}");
  w = run (&lesson, 1, 1, 1, sequential);
  ck_assert_double_eq_tol (w[0] / (2 * pow (0.7, UPDATES)), 1, 1e-12);
  ck_assert_double_eq_tol (w[1] / (2 * pow (0.85, UPDATES)), 1, 1e-12);
  ck_assert_double_eq_tol (w[2] / (2 * pow (0.97, UPDATES)), 1, 1e-12);
}
END_TEST

static void sync_of_4 (Toy *toy) {
  toy_k_sync (toy, 4, UPDATES, 1);
}

static void sync_of_4_in_another_order (Toy *toy) {
  toy_k_sync (toy, 4, UPDATES, 99);
}

static void in_rank_order (Toy *toy) {
  for (guint u = 0; u < UPDATES; u++) {
    gint64 g[4];

    for (guint w = 0; w < 4; w++) {
      toy_read (toy, w);
      g[w] = toy_gradient (toy, w);
    }
    for (guint w = 0; w < 4; w++)
      toy_apply (toy, w, g[w], w == 3);
  }
}

START_TEST (the_order_of_arrival_within_an_update_does_not_matter) {
  /* k-sync with k = n is sync, bit for bit: sums run by worker, not by arrival. */
  g_autofree char *yaml = g_strdup_printf (softmax, "momentum");
  g_autofree double *a = NULL, *b = NULL, *c = NULL;
  g_auto (Lesson) lesson = {0};
  gsize n;

  lesson_init (&lesson, yaml);
  n = ls_problem_n_parameters (lesson.task->problem);
  a = run (&lesson, 4, 1, 8, in_rank_order);
  b = run (&lesson, 4, 1, 8, sync_of_4);
  c = run (&lesson, 4, 2, 8, sync_of_4_in_another_order);
  same_bits (a, b, n);
  same_bits (a, c, n);
}
END_TEST

START_TEST (local_sgd_of_one_step_is_sync_to_rounding) {
  /* mean (w - eta g_i) = w - eta mean (g_i): to rounding for plain SGD (1e-12), not for Adam. */
  g_autofree char *plain = g_strdup_printf (softmax, "sgd");
  g_autofree char *adam = g_strdup_printf (softmax, "adam");

  for (guint i = 0; i < 2; i++) {
    g_auto (Lesson) lesson = {0};
    g_autofree double *a = NULL, *b = NULL;
    double gap;

    lesson_init (&lesson, i == 0 ? plain : adam);
    a = run (&lesson, 4, 1, 8, sync_of_4);
    b = run (&lesson, 4, 1, 8, one_local);
    gap = largest_gap (a, b, ls_problem_n_parameters (lesson.task->problem));
    ck_assert_msg (i == 0 ? gap < 1e-12 : gap > 1e-3, "gap %g", gap);
  }
}
END_TEST

static void outer_rounds (Toy *toy, guint steps) {
  for (gint64 r = 0; r < UPDATES; r++) {
    for (guint w = 0; w < toy->workers; w++) {
      toy_read (toy, w);
      for (guint h = 0; h < steps; h++)
        toy_local_step (toy, w);
    }
    toy_outer (toy);
  }
}

static void diloco_3 (Toy *toy) {
  outer_rounds (toy, 3);
}

static void diloco_1 (Toy *toy) {
  outer_rounds (toy, 1);
}

static void local_3 (Toy *toy) {
  toy_local_sgd (toy, 3, UPDATES);
}

START_TEST (diloco_contains_local_sgd_and_minibatch_momentum) {
  /* theory Q8: inner SGD with outer rate 1 and momentum 0 is local SGD; H = 1 with inner SGD of rate eta
   * and outer Nesterov (rate 1, mu) is mini-batch Nesterov of rate eta. Equal to rounding: 1e-11. */
  static const char data[] = "evaluate: 1000, data: {kind: synthetic, rows: 300, classes: 3}}";
  g_autofree char *plain = g_strconcat (
      "learn: {problem: softmax, optimizer: {kind: sgd, lr: 0.2}, outer: {kind: sgd, lr: 1}, ",
      data, NULL);
  g_autofree char *outer = g_strconcat ("learn: {problem: softmax, optimizer: {kind: sgd, lr: 0.2},"
                                        " outer: {kind: nesterov, lr: 1, momentum: 0.8}, ",
                                        data, NULL);
  g_autofree char *nesterov = g_strconcat ("learn: {problem: softmax, optimizer: {kind: nesterov, "
                                           "lr: 0.2, momentum: 0.8}, ",
                                           data, NULL);
  g_auto (Lesson) a = {0}, b = {0}, c = {0};
  gsize n;

  lesson_init (&a, plain);
  lesson_init (&b, outer);
  lesson_init (&c, nesterov);
  n = ls_problem_n_parameters (a.task->problem);
  {
    g_autofree double *w = run (&a, 4, 1, 8, diloco_3), *v = run (&a, 4, 1, 8, local_3);
    g_autofree double *x = run (&b, 4, 1, 8, diloco_1), *y = run (&c, 4, 1, 8, sync_of_4);

    ck_assert (largest_gap (w, v, n) < 1e-11);
    ck_assert (largest_gap (x, y, n) < 1e-11);
    ck_assert (largest_gap (w, x, n) > 1e-3);
  }
}
END_TEST

START_TEST (easgd_without_pull_leaves_workers_alone) {
  /* n = 1 and alpha -> 0: the worker is sequential SGD. The key wants alpha > 0: 1e-300 pulls by
   * less than a rounding error, so bits agree. */
  g_autofree double *wanted = NULL, *got = NULL;
  g_auto (Lesson) plain = {0}, elastic = {0};
  Toy toy;

  lesson_init (&plain, "learn: {problem: softmax, optimizer: {lr: 0.2}, evaluate: 1000, "
                       "data: {kind: synthetic, rows: 300, classes: 3}}");
  lesson_init (&elastic, "learn: {problem: softmax, optimizer: {lr: 0.2}, evaluate: 1000, "
                         "elastic: {alpha: 1e-300}, data: {kind: synthetic, rows: 300, classes: "
                         "3}}");
  wanted = run (&plain, 1, 1, 8, sequential);
  {
    g_autoptr (LsLearner) learner = lesson_learner (&elastic, 1, 1, 5);

    toy_init (&toy, learner, 1, 8);
    for (guint u = 0; u < UPDATES; u++) {
      toy_local_step (&toy, 0);
      toy_elastic_all (&toy);
    }
    toy_clear (&toy);
    got = g_new (double, ls_learner_n_parameters (learner));
    ls_learner_copy (learner, 0, got);
    same_bits (wanted, got, ls_learner_n_parameters (learner));
  }
}
END_TEST

START_TEST (an_elastic_pull_shard_by_shard_is_the_pull) {
  /* Two servers hold half of the model each, and a worker meets one after the other (a learner took either meeting
   * for one with both, and a trace of two servers ended in an assertion). */
  g_autofree double *whole = NULL;
  g_auto (Lesson) lesson = {0};

  lesson_init (&lesson, "learn: {problem: softmax, optimizer: {lr: 0.2}, evaluate: 1000, "
                        "elastic: {alpha: 0.3}, data: {kind: synthetic, rows: 300, classes: 3}}");
  for (guint by_shard = 0; by_shard < 2; by_shard++) {
    g_autoptr (LsLearner) learner = lesson_learner (&lesson, 1, 2, 5);
    const gsize n = ls_learner_n_parameters (learner);
    g_autofree double *got = g_new (double, n);
    Toy toy;

    toy_init (&toy, learner, 1, 8);
    for (gint u = 0; u < 50; u++) {
      toy_local_step (&toy, 0);
      for (gint shard = by_shard ? 0 : -1; shard < (gint) (2 * by_shard); shard++) {
        const LsUpdateRecord pull = {.operation = LS_UPDATE_ELASTIC,
                                     .shard = shard,
                                     .peer = -1,
                                     .version = u + 1,
                                     .peer_set = -1,
                                     .gradient = -1,
                                     .t_ps = toy.t_ps};
        ls_learner_update (learner, &pull);
      }
    }
    toy_clear (&toy);
    ls_learner_server (learner, got);
    if (by_shard)
      same_bits (whole, got, n);
    else
      whole = g_steal_pointer (&got);
  }
}
END_TEST

START_TEST (dropped_gradients_change_nothing_but_the_draws) {
  /* k-sync with k < n: worker 0's mini-batch k is the same in every policy, so a run in which only
   * worker 0 is ever applied equals sequential SGD of worker 0 (of the same partition) bit for bit. */
  g_autofree char *yaml = g_strdup_printf (softmax, "sgd");
  g_autofree double *a = NULL, *b = NULL;
  g_auto (Lesson) lesson = {0};

  lesson_init (&lesson, yaml);
  for (guint i = 0; i < 2; i++) {
    g_autoptr (LsLearner) learner = lesson_learner (&lesson, 3, 1, 5);
    LsLearnResult result;
    Toy toy;

    toy_init (&toy, learner, 3, 8);
    for (guint u = 0; u < UPDATES; u++) {
      gint64 g;

      if (i == 1) {
        toy_read (&toy, 2);
        toy_drop (&toy, 2, toy_gradient (&toy, 2));
      }
      toy_read (&toy, 0);
      g = toy_gradient (&toy, 0);
      toy_apply (&toy, 0, g, TRUE);
    }
    toy_clear (&toy);
    result = ls_learner_result (learner);
    ck_assert_int_eq (result.applied, UPDATES);
    ck_assert_int_eq (result.dropped, i == 1 ? UPDATES : 0);
    ck_assert_int_eq (result.in_flight, 0);
    ck_assert_int_eq (result.samples, 8 * UPDATES);
    if (i == 0)
      a = server_of (learner);
    else
      b = server_of (learner);
  }
  same_bits (a, b, ls_problem_n_parameters (lesson.task->problem));
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, one_worker_is_sequential_sgd_under_every_policy);
  tcase_add_test (tcase, sequential_sgd_is_the_textbook_loop);
  tcase_add_test (tcase, the_order_of_arrival_within_an_update_does_not_matter);
  tcase_add_test (tcase, local_sgd_of_one_step_is_sync_to_rounding);
  tcase_add_test (tcase, diloco_contains_local_sgd_and_minibatch_momentum);
  tcase_add_test (tcase, easgd_without_pull_leaves_workers_alone);
  tcase_add_test (tcase, an_elastic_pull_shard_by_shard_is_the_pull);
  tcase_add_test (tcase, dropped_gradients_change_nothing_but_the_draws);
}

LS_TEST_MAIN ("identities", add_tests)
