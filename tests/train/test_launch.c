/* The host's clock beside the device's: lists of layers against the recurrence of launch_program.h, to the picosecond. */
#include "harness.h"

#include "fold_case.h"
#include "suite.h"

/* One launch, and what passes run and launch. */
#define LAUNCH_PS 1000
#define LAYERS 3

typedef struct {
  gint64 forward_ps, backward_ps;
  int forward_launches, backward_launches;
} Passes;

/* Both passes bound by the device; by the host; one by each, and the other way round. */
static const Passes passes[] = {{5000, 9000, 3, 7}, {2000, 4000, 3, 7}, {1000, 9000, 3, 7},
                                {5000, 4000, 3, 7}, {1000, 9000, 4, 2}, {8000, 1000, 1, 9}};

static LsSoftware software_of (gboolean by_list, gboolean synchronizes) {
  LsSoftware software = *ls_software_find ("megatron-2022", NULL);

  software.host_launch_s.value = 1e-12 * LAUNCH_PS;
  software.host_step_s.value = 0;
  software.launch_by_list = by_list;
  software.messages_synchronize = synchronizes;
  return software;
}

/* Of a step; a byte travels in a picosecond. */
static gint64 step_again_ps (const LsSoftware *software, LsRecomputeMode recompute,
                             const Passes *of, guint t, guint p, gint64 m, gint64 bytes) {
  LsWorkload *workload = test_workload (t, 1, p, p * LAYERS, m);
  const TestLayer layer = {.forward_ps = of->forward_ps,
                           .backward_ps = of->backward_ps,
                           .forward_launches = of->forward_launches,
                           .backward_launches = of->backward_launches,
                           .boundary_bytes = bytes,
                           .tensor_collectives = TRUE};
  const TestNet net = {.latency_ps = 0, .bytes_per_s = t > 1 ? 1e12 : 0};
  gint64 sum_ps = 0;

  workload->software = software;
  workload->recompute.mode = recompute;
  workload->steps = 2;
  g_autoptr (TestRun) run = test_run (workload, &layer, &net);
  for (guint part = 0; part < LS_N_PARTS; part++)
    sum_ps += test_part_ps (run, 0, (LsPart) part);
  ck_assert_int_eq (sum_ps % 2, 0); /* each step is like the other: its lead is gone */
  return sum_ps / 2;
}

static gint64 step_ps (const LsSoftware *software, const Passes *of, guint t, guint p, gint64 m,
                       gint64 bytes) {
  return step_again_ps (software, LS_RECOMPUTE_NONE, of, t, p, m, bytes);
}

/* Of the sum of the squares of gradients, 4 bytes, over two tensor ranks. */
#define NORM_PS 4

/* host += H, device = max (device + D + collective, host), list by list. */
static gint64 recurrence_ps (const Passes *of, gint64 m, gint64 sum_ps) {
  const int launches = sum_ps > 0 ? 1 : 0;
  gint64 host = 0, device = 0;

  for (gint64 list = 0; list < 2 * m * LAYERS; list++) {
    const gboolean forward = list / LAYERS % 2 == 0;

    host += LAUNCH_PS * (launches + (forward ? of->forward_launches : of->backward_launches));
    device = MAX (device + (forward ? of->forward_ps : of->backward_ps) + sum_ps, host);
  }
  return device + launches * NORM_PS;
}

START_TEST (a_lead_is_used_later)
/* One device, any number of micro-batches: the recurrence, and max (H, D) of each list where leads are lost. Never longer
 * than that, and shorter where one pass is bound by the host and the other not. */
{
  const LsSoftware clock = software_of (FALSE, FALSE), lists = software_of (TRUE, FALSE);

  for (guint i = 0; i < G_N_ELEMENTS (passes); i++)
    for (gint64 m = 1; m <= 4; m++) {
      const Passes *of = &passes[i];
      const gint64 forward_ps = MAX (of->forward_ps, LAUNCH_PS * of->forward_launches);
      const gint64 backward_ps = MAX (of->backward_ps, LAUNCH_PS * of->backward_launches);
      const gint64 took_ps = step_ps (&clock, of, 1, 1, m, 0);
      const gint64 by_list_ps = step_ps (&lists, of, 1, 1, m, 0);

      ck_assert_int_eq (took_ps, recurrence_ps (of, m, 0));
      ck_assert_int_eq (by_list_ps, m * LAYERS * (forward_ps + backward_ps));
      ck_assert_int_le (took_ps, by_list_ps);
      if (i >= 3 && i != 4)
        ck_assert_int_lt (took_ps, by_list_ps);
    }
}
END_TEST

START_TEST (a_layer_that_runs_again_is_launched_with_its_backward)
/* Launches of h forward and g backward. Leads lost at the end of lists: max (F, h nF) forward and, as autograd runs both in one
 * go, max (F + B, h nF + g nB) behind: never more than list by list, and less where one of the two is bound by the host alone. */
{
  LsSoftware lists = software_of (TRUE, FALSE);

  for (gint64 backward_ps = LAUNCH_PS / 4; backward_ps <= 2 * LAUNCH_PS; backward_ps *= 2)
    for (guint i = 0; i < G_N_ELEMENTS (passes); i++)
      for (gint64 m = 1; m <= 3; m++) {
        const Passes *of = &passes[i];
        const gint64 forward_host_ps = LAUNCH_PS * of->forward_launches;
        const gint64 backward_host_ps = backward_ps * of->backward_launches;
        const gint64 forward_ps = MAX (of->forward_ps, forward_host_ps);

        lists.host_backward_launch_s.value = 1e-12 * (double) backward_ps;
        ck_assert_int_eq (step_ps (&lists, of, 1, 1, m, 0),
                          m * LAYERS * (forward_ps + MAX (of->backward_ps, backward_host_ps)));
        ck_assert_int_eq (step_again_ps (&lists, LS_RECOMPUTE_FULL, of, 1, 1, m, 0),
                          m * LAYERS *
                              (forward_ps + MAX (of->forward_ps + of->backward_ps,
                                                 forward_host_ps + backward_host_ps)));
      }
}
END_TEST

START_TEST (collectives_hide_launches)
/* Two tensor ranks, one all-reduce of b bytes a pass, which takes b: launches go on meanwhile, and its own is one of them. With a
 * long one the host bounds nothing. */
{
  const LsSoftware clock = software_of (FALSE, FALSE);
  const Passes *of = &passes[1];

  for (gint64 sum_ps = 500; sum_ps <= 8000; sum_ps += 1500)
    ck_assert_int_eq (step_ps (&clock, of, 2, 1, 2, sum_ps), recurrence_ps (of, 2, sum_ps));
  ck_assert_int_eq (step_ps (&clock, of, 2, 1, 2, 8000),
                    2 * LAYERS * (of->forward_ps + of->backward_ps + 2 * 8000) + NORM_PS);
}
END_TEST

START_TEST (messages_that_synchronize_cost_the_lead)
/* Two stages, one micro-batch, messages that take nothing: the second stage's host has launched its forward while the
 * first ran, unless it waits for the message; H = 3000 a layer then comes after it. */
{
  const LsSoftware ahead = software_of (FALSE, FALSE), waits = software_of (FALSE, TRUE);
  const Passes *of = &passes[2];
  const gint64 launch_ps = LAUNCH_PS * of->forward_launches;

  ck_assert_int_eq (step_ps (&ahead, of, 1, 2, 1, 0),
                    LAYERS * (launch_ps + of->forward_ps + 2 * of->backward_ps));
  ck_assert_int_eq (step_ps (&waits, of, 1, 2, 1, 0),
                    LAYERS * (2 * launch_ps + 2 * of->backward_ps));
}
END_TEST

START_TEST (nothing_is_written_where_the_host_bounds_no_list) {
  const LsSoftware clock = software_of (FALSE, FALSE);
  const TestNet net = {0, 0};

  for (guint i = 0; i < 2; i++) {
    LsWorkload *workload = test_workload (1, 1, 1, LAYERS, 2);
    const TestLayer layer = {.forward_ps = passes[i].forward_ps,
                             .backward_ps = passes[i].backward_ps,
                             .forward_launches = passes[i].forward_launches,
                             .backward_launches = passes[i].backward_launches};

    workload->software = &clock;
    g_autoptr (TestRun) run = test_run (workload, &layer, &net);
    ck_assert_uint_eq (ls_program_n_streams (run->job->kinds[0].program) > 1, i == 1);
  }
}
END_TEST

START_TEST (folds_exactly)
/* Hosts of 50 us a launch, ranks of every axis: folded and unfolded runs agree to the bit. */
{
  LsSoftware software = software_of (FALSE, _i == 1);
  const FoldCase test = {.preset = "dgx-a100",
                         .nodes = 2,
                         .kind = LS_FABRIC_SINGLE_SWITCH,
                         .rails = 1,
                         .leaf_radix = 64,
                         .oversubscription = 1,
                         .tensor = 2,
                         .data = 4,
                         .pipeline = 2,
                         .zero = 1,
                         .schedule = LS_SCHEDULE_1F1B,
                         .microbatches = 3,
                         .steps = 2,
                         .straggler = _i == 2 ? 5 : -1,
                         .factor = 1.5,
                         .model = "gpt2-small",
                         .software = &software};

  software.host_launch_s.value = 50e-6;
  const FoldResult result = fold_compare (&test);
  ck_assert_msg (result.differs == NULL, "%s", result.differs);
  ck_assert_uint_eq (result.ranks, 16);
  ck_assert_uint_lt (result.classes, 16);
  const FoldResult convoys = fold_compare_convoys (&test);
  ck_assert_msg (convoys.differs == NULL, "%s", convoys.differs);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, a_lead_is_used_later);
  tcase_add_test (tcase, a_layer_that_runs_again_is_launched_with_its_backward);
  tcase_add_test (tcase, collectives_hide_launches);
  tcase_add_test (tcase, messages_that_synchronize_cost_the_lead);
  tcase_add_test (tcase, nothing_is_written_where_the_host_bounds_no_list);
  tcase_add_loop_test (tcase, folds_exactly, 0, 3);
}

LS_TEST_MAIN ("launch", add_tests)
