/* GPipe and 1F1B on a network that costs nothing: bubble, total time, activations in flight. The other
 * schedules are in test_pipelines.c. */
#include "harness.h"

#include "train/pipeline/pipeline.h"

/* Two layers per stage; times of one stage's forward and backward of one micro-batch. */
#define FORWARD_PS 14000
#define BACKWARD_PS 26000
static const TestLayer layer = {.forward_ps = FORWARD_PS / 2,
                                .backward_ps = BACKWARD_PS / 2,
                                .saved_bytes = 100,
                                .boundary_bytes = 0};
static const TestNet free_net = {0, 0};
/* GPipe and 1F1B. */
#define N_KINDS (LS_SCHEDULE_1F1B + 1)

static TestRun *run_schedule (LsScheduleKind kind, guint p, gint64 m, gint64 steps) {
  LsWorkload *workload = test_workload (1, 1, p, 2 * p, m);

  workload->schedule = kind;
  workload->steps = steps;
  return test_run (workload, &layer, &free_net);
}

static const guint stages[] = {1, 2, 3, 4, 8};
static const gint64 microbatches[] = {1, 2, 3, 4, 7, 8, 32};

START_TEST (bubble_is_p_minus_1_times_forward_and_backward)
/* Idle time of every stage in a step is (p - 1)(t_f + t_b), whatever m: a fraction (p - 1)/m of the ideal
 * m (t_f + t_b). Narayanan et al., Megatron-LM (SC21), section 2.2, for GPipe and for 1F1B alike.
 * Integer arithmetic: exact. */
{
  const LsScheduleKind kind = (LsScheduleKind) _i;

  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    for (guint k = 0; k < G_N_ELEMENTS (microbatches); k++) {
      const guint p = stages[i];
      const gint64 m = microbatches[k], steps = 2;
      g_autoptr (TestRun) run = run_schedule (kind, p, m, steps);
      for (guint rank = 0; rank < p; rank++) {
        ck_assert_int_eq (test_part_ps (run, rank, LS_PART_COMPUTE),
                          steps * m * (FORWARD_PS + BACKWARD_PS));
        ck_assert_msg (test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE) ==
                           steps * (p - 1) * (FORWARD_PS + BACKWARD_PS),
                       "%s, p %u, m %d, stage %u: bubble %" G_GINT64_FORMAT " ps",
                       ls_schedule_name (kind), p, (int) m, rank,
                       test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE));
      }
    }
}
END_TEST

START_TEST (both_schedules_take_equally_long)
/* (m + p - 1)(t_f + t_b) per step, same source; and the same end of the run to the picosecond. */
{
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    for (guint k = 0; k < G_N_ELEMENTS (microbatches); k++) {
      g_autoptr (TestRun) gpipe = run_schedule (LS_SCHEDULE_GPIPE, stages[i], microbatches[k], 1);
      g_autoptr (TestRun) f1b1 = run_schedule (LS_SCHEDULE_1F1B, stages[i], microbatches[k], 1);
      ck_assert_int_eq (ls_engine_now_ps (gpipe->engine), ls_engine_now_ps (f1b1->engine));
    }
}
END_TEST

START_TEST (activations_in_flight)
/* GPipe holds the activations of all m micro-batches, 1F1B those of min (p - stage, m). Same source. */
{
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    for (guint k = 0; k < G_N_ELEMENTS (microbatches); k++) {
      const guint p = stages[i];
      const gint64 m = microbatches[k];
      g_autoptr (TestRun) gpipe = run_schedule (LS_SCHEDULE_GPIPE, p, m, 2);
      g_autoptr (TestRun) f1b1 = run_schedule (LS_SCHEDULE_1F1B, p, m, 2);
      for (guint rank = 0; rank < p; rank++) {
        const gint64 per_microbatch = 2 * layer.saved_bytes;
        ck_assert_int_eq (test_peak_activations (gpipe, rank), (p == 1 ? 1 : m) * per_microbatch);
        ck_assert_int_eq (test_peak_activations (f1b1, rank),
                          MIN ((gint64) (p - rank), m) * per_microbatch);
        ck_assert_int_eq (ls_engine_memory_now (f1b1->engine, rank, LS_MEMORY_ACTIVATIONS), 0);
      }
    }
}
END_TEST

START_TEST (uneven_stages_wait_for_the_slowest)
/* With n_s layers on stage s, m micro-batches take at least sum over stages of one forward and backward
 * (fill and drain) + (m - 1) of the slowest stage; GPipe and 1F1B reach it when messages are free and the
 * slowest stage is the last: nobody behind it can delay it. */
{
  const guint p = 4;
  const gint64 m = 6;
  for (guint kind = 0; kind < N_KINDS; kind++) {
    LsWorkload *workload = test_workload (1, 1, p, 8, m);
    const guint counts[] = {1, 1, 2, 4};
    for (guint s = 0; s < p; s++)
      workload->layers_per_stage[s] = counts[s];
    workload->schedule = (LsScheduleKind) kind;
    workload->steps = 1;
    g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
    const gint64 one = layer.forward_ps + layer.backward_ps;
    const gint64 busy = test_part_ps (run, p - 1, LS_PART_COMPUTE);
    ck_assert_int_eq (busy, m * 4 * one);
    ck_assert_int_eq (test_part_ps (run, p - 1, LS_PART_PIPELINE_BUBBLE), 4 * one);
  }
}
END_TEST

START_TEST (messages_are_exposed_or_hidden)
/* p = 2, m = 1: one activation forward and one gradient back, each latency + bytes / rate, both on the
 * critical path: the step grows by exactly their sum. Powers of two make the division exact. */
{
  const TestNet net = {.latency_ps = 5000, .bytes_per_s = 1e12};
  TestLayer with_messages = layer;
  with_messages.boundary_bytes = 3000;
  for (guint kind = 0; kind < N_KINDS; kind++) {
    LsWorkload *workload = test_workload (1, 1, 2, 4, 1);
    workload->schedule = (LsScheduleKind) kind;
    workload->steps = 1;
    g_autoptr (TestRun) run = test_run (workload, &with_messages, &net);
    ck_assert_int_eq (test_part_ps (run, 0, LS_PART_PIPELINE_BUBBLE), FORWARD_PS + BACKWARD_PS);
    ck_assert_int_ge (test_part_ps (run, 0, LS_PART_EXPOSED_PIPELINE), 2 * (5000 + 3000));
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("schedules");
  TCase *tcase = tcase_create ("schedules");
  tcase_set_timeout (tcase, 300);
  tcase_add_loop_test (tcase, bubble_is_p_minus_1_times_forward_and_backward, 0, N_KINDS);
  tcase_add_test (tcase, both_schedules_take_equally_long);
  tcase_add_test (tcase, activations_in_flight);
  tcase_add_test (tcase, uneven_stages_wait_for_the_slowest);
  tcase_add_test (tcase, messages_are_exposed_or_hidden);
  suite_add_tcase (suite, tcase);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
