/* Optimisers, schedules, mitigations and loss scaling, against their formulas written out here. */
#include <math.h>
#include <string.h>

#include "base/loss_scale.h"
#include "learn/optimizer.h"
#include "learn/rate.h"
#include "learn/staleness.h"
#include "suite.h"
#include "toy.h"

START_TEST (the_loss_scale_follows_the_gradscaler) {
  /* PyTorch GradScaler with scripted infinities: starts at 2^16; an infinity halves it and skips; 2000
   * good steps in a row double it; the count starts anew after each change. Exact. */
  const LsLossScaleSettings settings = {LS_LOSS_SCALE_DYNAMIC, 65536, 2, 0.5, 2000};
  LsLossScale state;

  ls_loss_scale_init (&state, &settings);
  ck_assert (state.scale == 65536);
  ck_assert (!ls_loss_scale_update (&state, &settings, FALSE));
  ck_assert (state.scale == 32768);
  for (guint i = 0; i < 1999; i++)
    ck_assert (ls_loss_scale_update (&state, &settings, TRUE));
  ck_assert (state.scale == 32768);
  ck_assert (!ls_loss_scale_update (&state, &settings, FALSE)); /* one short: the count is lost */
  ck_assert (state.scale == 16384);
  for (guint i = 0; i < 2000; i++)
    ls_loss_scale_update (&state, &settings, TRUE);
  ck_assert (state.scale == 32768);
  ck_assert_int_eq (state.skipped, 2);
  /* Steady state under an overflow threshold S* = 2^15: one skipped step in 2001. */
  ls_loss_scale_init (&state, &settings);
  for (guint i = 0; i < 20 * 2001 + 1; i++)
    ls_loss_scale_update (&state, &settings, state.scale <= 32768);
  ck_assert_int_eq (state.skipped, 21);
}
END_TEST

START_TEST (a_skipped_step_moves_nothing_and_no_count) {
  /* fp16 with a loss scale of 2^40: every gradient overflows. No parameter moves, the schedule's t stays,
   * versions and time go on. */
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  LsLearnResult r;
  const LsLearnRow *last;
  Toy toy;

  lesson_init (&lesson, "learn: {problem: softmax, precision: fp16, evaluate: 10, schedule: {kind: "
                        "step, every: 1, factor: 0.5}, loss_scaling: {kind: static, initial: "
                        "1.1e12}, data: {kind: synthetic, rows: 100, classes: 3}}");
  learner = lesson_learner (&lesson, 2, 1, 1);
  toy_init (&toy, learner, 2, 4);
  toy_round_robin (&toy, 20);
  toy_clear (&toy);
  ls_learner_finish (learner);
  r = ls_learner_result (learner);
  last = ls_learner_row (learner, ls_learner_n_rows (learner) - 1);
  ck_assert_int_eq (r.updates, 20);
  ck_assert_int_eq (last->skipped, 20);
  ck_assert (last->loss == ls_learner_row (learner, 0)->loss);
  ck_assert (last->lr == 0.1);
  ck_assert_uint_gt (last->overflows, 0);
}
END_TEST

/* One parameter, gradients 1, -2, 0.5, ...; the formulas as the papers have them. */
typedef struct {
  double m, q, w;
  guint t;
} Shadow;

static void shadow_step (Shadow *s, const LsDescentSettings *o, double g) {
  const double lr = o->lr, d = o->weight_decay;

  s->t++;
  if (o->kind == LS_DESCENT_ADAMW)
    s->w *= 1 - lr * d;
  else
    g += d * s->w;
  switch (o->kind) {
  case LS_DESCENT_SGD:
    s->w -= lr * g;
    break;
  case LS_DESCENT_MOMENTUM:
    s->m = o->momentum * s->m + g;
    s->w -= lr * s->m;
    break;
  case LS_DESCENT_NESTEROV:
    s->m = o->momentum * s->m + g;
    s->w -= lr * (g + o->momentum * s->m);
    break;
  default:
    s->m = o->beta1 * s->m + (1 - o->beta1) * g;
    s->q = o->beta2 * s->q + (1 - o->beta2) * g * g;
    s->w -= lr * (s->m / (1 - pow (o->beta1, s->t))) /
            (sqrt (s->q / (1 - pow (o->beta2, s->t))) + o->epsilon);
    break;
  }
}

START_TEST (every_optimiser_is_its_formula) {
  static const double gradients[] = {1, -2, 0.5, 3, -0.1, 0, 2};

  for (guint kind = 0; kind < LS_N_DESCENTS; kind++) {
    const LsDescentSettings o = {.kind = (LsDescent) kind,
                                 .lr = 0.1,
                                 .momentum = 0.9,
                                 .beta1 = 0.9,
                                 .beta2 = 0.99,
                                 .epsilon = 1e-8,
                                 .weight_decay = 0.05};
    g_autoptr (LsDescender) d = ls_descender_new (&o, 1, 1, LS_NUMBER_FP64);
    Shadow shadow = {.w = 1};
    double w = 1;

    for (guint i = 0; i < G_N_ELEMENTS (gradients); i++) {
      const LsDescentStep step = {
          .n = 1, .lr = 0.1, .momentum = 0.9, .velocity_scale = 1, .format = LS_NUMBER_FP64};
      double g = gradients[i];

      ls_descender_step (d, &step, &w, &g);
      shadow_step (&shadow, &o, gradients[i]);
      ck_assert_msg (fabs (w - shadow.w) < 1e-14, "%s, step %u: %.17g, not %.17g",
                     ls_descent_name (o.kind), i, w, shadow.w);
    }
    ck_assert_int_eq (ls_descender_steps (d, 0), G_N_ELEMENTS (gradients));
  }
}
END_TEST

START_TEST (small_changes_are_lost_in_narrow_parameters) {
  /* bf16 at 1: neighbours are 2^-7 above and 2^-8 below; a change of -2^-10 is lost, of -2^-8 not. */
  const LsDescentSettings o = {.kind = LS_DESCENT_SGD, .lr = 1};
  g_autoptr (LsDescender) d = ls_descender_new (&o, 2, 1, LS_NUMBER_FP32);
  const LsDescentStep step = {.n = 2, .lr = 1, .velocity_scale = 1, .format = LS_NUMBER_BF16};
  double w[] = {1, 1}, g[] = {0x1p-10, 0x1p-8};

  ck_assert_uint_eq (ls_descender_step (d, &step, w, g), 1);
  ck_assert (w[0] == 1 && w[1] == 1 - 0x1p-8);
}
END_TEST

START_TEST (schedules_are_their_formulas) {
  const LsRateSchedule step = {.kind = LS_RATE_STEP, .every = 10, .factor = 0.5};
  const LsRateSchedule cosine = {.kind = LS_RATE_COSINE, .updates = 100, .floor = 0.1};
  const LsRateSchedule linear = {.kind = LS_RATE_LINEAR, .updates = 100, .floor = 0.2};
  const LsRateSchedule root = {.kind = LS_RATE_INVERSE_SQRT, .every = 1};
  const LsRateSchedule ramp = {.kind = LS_RATE_RAMP, .updates = 10, .floor = 0.1};
  const LsRateSchedule warm = {.kind = LS_RATE_CONSTANT, .warmup = 4};

  ck_assert (ls_rate_factor (&step, 9) == 1 && ls_rate_factor (&step, 25) == 0.25);
  ck_assert_double_eq_tol (ls_rate_factor (&cosine, 0), 1, 1e-15);
  ck_assert_double_eq_tol (ls_rate_factor (&cosine, 50), 0.55, 1e-15);
  ck_assert_double_eq_tol (ls_rate_factor (&cosine, 1000), 0.1, 1e-15);
  ck_assert_double_eq_tol (ls_rate_factor (&linear, 50), 0.6, 1e-15);
  ck_assert_double_eq_tol (ls_rate_factor (&root, 3), 0.5, 1e-15);
  ck_assert_double_eq_tol (ls_rate_factor (&ramp, 5), 0.55, 1e-15);
  ck_assert (ls_rate_factor (&warm, 0) == 0.25 && ls_rate_factor (&warm, 3) == 1 &&
             ls_rate_factor (&warm, 9) == 1);
}
END_TEST

START_TEST (stale_gradients_weigh_as_said) {
  const LsStaleRateSettings inverse = {.kind = LS_STALE_RATE_INVERSE};
  const LsStaleRateSettings plus = {.kind = LS_STALE_RATE_INVERSE_PLUS_ONE};
  const LsStaleRateSettings exponential = {.kind = LS_STALE_RATE_EXPONENTIAL, .rate = 0.5};
  const LsStaleRateSettings distance = {.kind = LS_STALE_RATE_DISTANCE, .c = 0.005};

  ck_assert (ls_stale_weight (&inverse, 0, 1, 0) == 1 &&
             ls_stale_weight (&inverse, 4, 1, 0) == 0.25);
  ck_assert (ls_stale_weight (&plus, 0, 1, 0) == 1 && ls_stale_weight (&plus, 4, 1, 0) == 0.2);
  ck_assert_double_eq_tol (ls_stale_weight (&exponential, 2, 1, 0), exp (-1), 1e-15);
  /* Dutta et al. 2018, (13): eta' = min (C / |dw|^2, eta_max), as a share of eta_max = 0.01. */
  ck_assert_double_eq_tol (ls_stale_weight (&distance, 2, 0.01, 1.0), 0.5, 1e-15);
  ck_assert (ls_stale_weight (&distance, 2, 0.01, 0.1) == 1);
  /* (1 - mu') (1 - implicit) = 1 - mu with implicit = 1 - 1 / (1 + tau). */
  ck_assert_double_eq_tol (ls_stale_momentum (0.9, 4), 0.5, 1e-15);
  ck_assert (ls_stale_momentum (0.9, 0) == 0.9 && ls_stale_momentum (0.9, 100) == 0);
}
END_TEST

START_TEST (a_fixed_delay_under_one_over_tau_is_slower_by_tau) {
  /* Round robin of 5, staleness 4 (0..3 for the first four): weights 1/max(tau,1). Shadowed. */
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  double x[31] = {1}, got;
  Toy toy;

  lesson_init (&lesson, "learn: {problem: {kind: quadratic, noise: 0}, optimizer: {lr: 0.3}, "
                        "lr_by_staleness: inverse, evaluate: 1000}");
  learner = lesson_learner (&lesson, 5, 1, 1);
  toy_init (&toy, learner, 5, 1);
  for (guint t = 0; t < 30; t++) {
    guint tau = MIN (t, 4);

    x[t + 1] = x[t] - 0.3 / MAX (tau, 1) * x[t - tau];
    toy_round_robin (&toy, 1);
    ls_learner_server (learner, &got);
    ck_assert_double_eq_tol (got, x[t + 1], 1e-14);
  }
  toy_clear (&toy);
}
END_TEST

START_TEST (delay_compensation_is_its_formula) {
  /* g + lambda g^2 (w - w_read), round robin of 3 on a quadratic. Shadowed. */
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  double x[31] = {1}, got;
  Toy toy;

  lesson_init (&lesson, "learn: {problem: {kind: quadratic, noise: 0}, optimizer: {lr: 0.3}, "
                        "delay_compensation: {kind: constant, lambda: 0.5}, evaluate: 1000}");
  learner = lesson_learner (&lesson, 3, 1, 1);
  toy_init (&toy, learner, 3, 1);
  for (guint t = 0; t < 30; t++) {
    double read = x[t - MIN (t, 2)];

    x[t + 1] = x[t] - 0.3 * (read + 0.5 * read * read * (x[t] - read));
    toy_round_robin (&toy, 1);
    ls_learner_server (learner, &got);
    ck_assert_double_eq_tol (got, x[t + 1], 1e-14);
  }
  toy_clear (&toy);
}
END_TEST

START_TEST (clipping_and_averaging_are_their_formulas) {
  /* |g| = sqrt (2) |x| clipped to 0.5; swa from update 10 on, every second; evaluated is the mean. */
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  double x = 1, sum = 0;
  guint n = 0;
  Toy toy;

  lesson_init (&lesson,
               "learn: {problem: {kind: quadratic, dimension: 2, noise: 0}, optimizer: {lr: "
               "0.1}, clip: 0.5, averaging: {kind: swa, start: 10, every: 2}, evaluate: "
               "20}");
  learner = lesson_learner (&lesson, 1, 1, 1);
  toy_init (&toy, learner, 1, 1);
  toy_round_robin (&toy, 20);
  toy_clear (&toy);
  for (guint t = 1; t <= 20; t++) {
    double norm = sqrt (2) * x;

    x -= 0.1 * x * (norm > 0.5 ? 0.5 / norm : 1);
    if (t >= 10 && t % 2 == 0) {
      sum += x;
      n++;
    }
  }
  ck_assert_double_eq_tol (ls_learner_row (learner, 1)->loss, sum / n * sum / n, 1e-14);
}
END_TEST

START_TEST (divergence_is_flagged_and_no_value_is_infinite) {
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  LsLearnResult r;
  Toy toy;

  lesson_init (&lesson, "learn: {problem: {kind: quadratic, noise: 0}, optimizer: {lr: 2.5}, "
                        "evaluate: 1, diverged_above: 100}");
  learner = lesson_learner (&lesson, 1, 1, 1);
  toy_init (&toy, learner, 1, 1);
  toy_round_robin (&toy, 5000);
  toy_clear (&toy);
  ls_learner_finish (learner);
  r = ls_learner_result (learner);
  ck_assert (r.diverged);
  ck_assert_int_eq (r.diverged_update, 6); /* 1.5^(2 t) > 100 first at t = 6 */
  ck_assert_int_eq (r.updates, 5000);
  ck_assert (isnan (r.final_loss));
  for (guint i = 0; i < ls_learner_n_rows (learner); i++)
    ck_assert (isfinite (ls_learner_row (learner, i)->loss));
}
END_TEST

START_TEST (targets_are_the_first_measurement_that_reaches_them) {
  g_auto (Lesson) lesson = {0};
  g_autoptr (LsLearner) learner = NULL;
  LsLearnResult r;
  Toy toy;

  /* loss_t = 0.9^(2 t) / 2 <= 0.1 first at t = 8. */
  lesson_init (&lesson, "learn: {problem: {kind: quadratic, noise: 0}, optimizer: {lr: 0.1}, "
                        "evaluate: 1, target: {loss: 0.1}}");
  learner = lesson_learner (&lesson, 1, 1, 1);
  toy_init (&toy, learner, 1, 3);
  toy_round_robin (&toy, 30);
  toy_clear (&toy);
  r = ls_learner_result (learner);
  ck_assert (r.reached);
  ck_assert_int_eq (r.target_updates, 8);
  ck_assert_int_eq (r.target_samples, 24);
  ck_assert_int_eq (r.target_ps, 8000000);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, the_loss_scale_follows_the_gradscaler);
  tcase_add_test (tcase, a_skipped_step_moves_nothing_and_no_count);
  tcase_add_test (tcase, every_optimiser_is_its_formula);
  tcase_add_test (tcase, small_changes_are_lost_in_narrow_parameters);
  tcase_add_test (tcase, schedules_are_their_formulas);
  tcase_add_test (tcase, stale_gradients_weigh_as_said);
  tcase_add_test (tcase, a_fixed_delay_under_one_over_tau_is_slower_by_tau);
  tcase_add_test (tcase, delay_compensation_is_its_formula);
  tcase_add_test (tcase, clipping_and_averaging_are_their_formulas);
  tcase_add_test (tcase, divergence_is_flagged_and_no_value_is_infinite);
  tcase_add_test (tcase, targets_are_the_first_measurement_that_reaches_them);
}

LS_TEST_MAIN ("steps", add_tests)
