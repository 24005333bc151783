/* Exact gradients against central differences, for every kind of problem. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "learn/problem.h"
#include "suite.h"
#include "toy.h"

/* Largest error of the gradient at random parameters, relative to its norm; @step is that of the
 * differences (truncation ~ step^2, rounding ~ 1e-16 / step). */
static double worst_error (const Lesson *lesson, gsize rows, double size) {
  const LsProblem *problem = lesson->task->problem;
  const double step = 1e-6;
  gsize n = ls_problem_n_parameters (problem);
  g_autofree double *w = g_new (double, n), *g = g_new (double, n);
  g_autoptr (LsWorkspace) workspace = ls_workspace_new (problem);
  LsBatch batch = {.rows = lesson->task->rows, .n = rows, .worker = 1};
  double worst = 0, norm = 0;
  LsRandom random;

  ls_random_init (&random, 7, "parameters", 0);
  for (gsize i = 0; i < n; i++)
    w[i] = size * (2 * ls_random_uniform (&random) - 1);
  ls_problem_evaluate (problem, workspace, &ls_arithmetic_exact, w, &batch, g, NULL);
  for (gsize i = 0; i < n; i++)
    norm += g[i] * g[i];
  norm = sqrt (norm);
  ck_assert (norm > 0);
  for (gsize i = 0; i < n; i++) {
    double at = w[i], up, down;

    w[i] = at + step;
    up = ls_problem_evaluate (problem, workspace, &ls_arithmetic_exact, w, &batch, NULL, NULL);
    w[i] = at - step;
    down = ls_problem_evaluate (problem, workspace, &ls_arithmetic_exact, w, &batch, NULL, NULL);
    w[i] = at;
    worst = MAX (worst, fabs ((up - down) / (2 * step) - g[i]));
  }
  return worst / norm;
}

/* Tolerance 1e-6 of the norm: what differences of step 1e-6 in double can tell (error ~ 1e-9). For relu
 * and max pooling the random parameters keep all kinks farther away than the step. */
static void check (const char *yaml, gsize rows, double size) {
  g_auto (Lesson) lesson = {0};

  lesson_init (&lesson, yaml);
  ck_assert_msg (worst_error (&lesson, rows, size) < 1e-6, "%s: %g", yaml,
                 worst_error (&lesson, rows, size));
}

START_TEST (every_kind_of_problem_agrees_with_differences) {
  guint kinds = 0;

  while (ls_problem_kinds ()[kinds] != NULL)
    kinds++;
  ck_assert_uint_eq (kinds, 6); /* all of them below */
  check ("learn: {problem: {kind: quadratic, dimension: 5, condition: 100, optimum_spread: 1, "
         "curvature_spread: 0.3}}",
         1, 1);
  check ("learn: {problem: linear, l2: 0.1, data: {kind: synthetic, generator: linear, rows: 60}}",
         17, 1);
  check ("learn: {problem: logistic, l2: 0.01, data: {kind: synthetic, generator: logistic, rows: "
         "60}}",
         17, 1);
  check ("learn: {problem: softmax, l2: 0.05, data: {kind: synthetic, rows: 60, classes: 4}}", 17,
         1);
  check ("learn: {problem: {kind: mlp, hidden: [7, 5], activation: tanh}, l2: 0.01, "
         "data: {kind: synthetic, rows: 60, classes: 4}}",
         17, 0.7);
  check ("learn: {problem: {kind: mlp, hidden: [7, 6, 5], activation: relu}, "
         "data: {kind: synthetic, rows: 60, classes: 4}}",
         17, 0.7);
  check ("learn: {problem: {kind: conv, hidden: [3, 4], activation: tanh}, l2: 0.01, "
         "data: {kind: synthetic, generator: bars, features: 8, rows: 40}}",
         9, 0.5);
  check ("learn: {problem: {kind: conv, hidden: [2], kernel: 5, pool: 1, activation: relu}, "
         "data: {kind: synthetic, generator: bars, features: 6, rows: 40}}",
         9, 0.5);
}
END_TEST

START_TEST (all_rows_at_once_are_the_mean_of_their_blocks) {
  /* 700 rows go in blocks of 256: loss and gradient equal one batch of 700 to rounding (1e-12). */
  g_auto (Lesson) lesson = {0};
  double loss, whole;

  lesson_init (&lesson, "learn: {problem: softmax, l2: 0.1, data: {kind: synthetic, rows: 1000}}");
  const LsProblem *problem = lesson.task->problem;
  gsize n = ls_problem_n_parameters (problem), right, right_whole;
  g_autofree double *w = g_new (double, n), *g = g_new (double, n), *h = g_new (double, n);
  g_autoptr (LsWorkspace) workspace = ls_workspace_new (problem);
  const LsBatch batch = {.rows = lesson.task->rows, .n = 700, .worker = -1};

  for (gsize i = 0; i < n; i++)
    w[i] = sin ((double) i);
  loss = ls_problem_evaluate_all (problem, workspace, w, lesson.task->rows, 700, g, &right);
  whole =
      ls_problem_evaluate (problem, workspace, &ls_arithmetic_exact, w, &batch, h, &right_whole);
  ck_assert_double_eq_tol (loss, whole, 1e-12 * whole);
  ck_assert_uint_eq (right, right_whole);
  for (gsize i = 0; i < n; i++)
    ck_assert_double_eq_tol (g[i], h[i], 1e-12);
}
END_TEST

START_TEST (scaling_the_loss_scales_the_gradient) {
  /* A power of two scales doubles exactly, so dividing gives the same bits back. */
  g_auto (Lesson) lesson = {0};

  lesson_init (&lesson, "learn: {problem: {kind: mlp, hidden: 6}, l2: 0.1, data: {kind: synthetic, "
                        "rows: 50}}");
  const LsProblem *problem = lesson.task->problem;
  gsize n = ls_problem_n_parameters (problem);
  g_autofree double *w = g_new (double, n), *g = g_new (double, n), *h = g_new (double, n);
  g_autoptr (LsWorkspace) workspace = ls_workspace_new (problem);
  const LsBatch batch = {.rows = lesson.task->rows, .n = 10, .worker = -1};
  LsArithmetic scaled = ls_arithmetic_exact;

  scaled.loss_scale = 1024;
  ls_problem_start (problem, 1, w);
  ls_problem_evaluate (problem, workspace, &ls_arithmetic_exact, w, &batch, g, NULL);
  ls_problem_evaluate (problem, workspace, &scaled, w, &batch, h, NULL);
  for (gsize i = 0; i < n; i++)
    ck_assert (g[i] == h[i] / 1024 || fabs (g[i] - h[i] / 1024) < 1e-15 * fabs (g[i]));
}
END_TEST

START_TEST (fp32_sums_are_close_and_narrow_formats_are_coarser) {
  /* Error of the gradient against fp64, relative to its norm: fp32 ~ 1e-7 (24 bits, sums of 10 terms),
   * fp16 ~ 2^-11, bf16 ~ 2^-8; factor 8 of room for cancellation. */
  static const struct {
    LsNumber number;
    double least, most;
  } cases[] = {{LS_NUMBER_FP32, 1e-10, 8 * 0x1p-24},
               {LS_NUMBER_FP16, 0x1p-16, 8 * 0x1p-11},
               {LS_NUMBER_BF16, 0x1p-13, 8 * 0x1p-8}};
  g_auto (Lesson) lesson = {0};

  lesson_init (&lesson, "learn: {problem: {kind: mlp, hidden: 12, activation: tanh}, data: {kind: "
                        "synthetic, rows: 50}}");
  const LsProblem *problem = lesson.task->problem;
  gsize n = ls_problem_n_parameters (problem);
  g_autofree double *w = g_new (double, n), *g = g_new (double, n), *h = g_new (double, n);
  g_autoptr (LsWorkspace) workspace = ls_workspace_new (problem);
  const LsBatch batch = {.rows = lesson.task->rows, .n = 10, .worker = -1};

  ls_problem_start (problem, 1, w);
  ls_problem_evaluate (problem, workspace, &ls_arithmetic_exact, w, &batch, g, NULL);
  for (guint c = 0; c < G_N_ELEMENTS (cases); c++) {
    const LsArithmetic a = {cases[c].number, cases[c].number, cases[c].number, 1};
    double off = 0, norm = 0;

    ls_problem_evaluate (problem, workspace, &a, w, &batch, h, NULL);
    for (gsize i = 0; i < n; i++) {
      ck_assert (h[i] == ls_number_round (cases[c].number, h[i]));
      off += (g[i] - h[i]) * (g[i] - h[i]);
      norm += g[i] * g[i];
    }
    off = sqrt (off / norm);
    ck_assert_msg (off > cases[c].least && off < cases[c].most, "%s: %g",
                   ls_number_name (cases[c].number), off);
  }
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, every_kind_of_problem_agrees_with_differences);
  tcase_add_test (tcase, all_rows_at_once_are_the_mean_of_their_blocks);
  tcase_add_test (tcase, scaling_the_loss_scales_the_gradient);
  tcase_add_test (tcase, fp32_sums_are_close_and_narrow_formats_are_coarser);
}

LS_TEST_MAIN ("gradients", add_tests)
