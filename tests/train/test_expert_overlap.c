/* Pairs of a forward and a backward as one block, DualPipe's and 1F1B's: what is hidden of the experts' all-to-alls, and
 * that nothing else changes. */
#include <check.h>

#include "harness.h"
#include "train/pipeline/pipeline.h"

#define HALF_PS \
  1000 /* each kernel of a layer: two forward, gradients of inputs, gradients of weights */
#define LAYERS 3 /* of each stage */

typedef struct {
  gint64 exposed_ps[8]; /* by device */
  gint64 end_ps;
} Outcome;

static void set_pairs (LsWorkload *workload, LsScheduleKind kind, gboolean overlap) {
  test_set_schedule (workload, kind, kind == LS_SCHEDULE_INTERLEAVED ? 2 : 1);
  workload->layout.expert = 2;
  workload->expert_overlap = overlap;
}

static gint64 order_ps, order_sms; /* of the kernel that orders rows with each all-to-all */
static const LsSoftware *software; /* NULL: the harness's */

/* Two replicas that are each other's expert ranks; an all-to-all takes `exchange_ps`, messages between stages
 * nothing. */
static Outcome run_with (LsScheduleKind kind, guint p, gint64 m, gint64 exchange_ps,
                         gboolean overlap) {
  const gboolean twice = kind == LS_SCHEDULE_DUALPIPEV || kind == LS_SCHEDULE_INTERLEAVED;
  const guint stages = twice ? 2 * p : p;
  LsWorkload *workload = test_workload (1, 2, p, LAYERS * stages, m);
  /* Half of its bytes leave a rank, at a byte per picosecond. */
  const TestLayer layer = {.forward_ps = 2 * HALF_PS,
                           .backward_ps = 2 * HALF_PS,
                           .weight_ps = HALF_PS,
                           .exchange_bytes = 2 * exchange_ps,
                           .order_ps = order_ps,
                           .order_sms = order_sms};
  const TestNet net = {.bytes_per_s = 1e12};
  Outcome outcome = {0};

  set_pairs (workload, kind, overlap);
  workload->model->kind = LS_MODEL_TRANSFORMER; /* of which the harness asks for experts alone */
  workload->model->transformer.experts.count = 2;
  workload->steps = 1;
  if (software != NULL)
    workload->software = software;
  g_autoptr (TestRun) run = test_run (workload, &layer, &net);
  for (guint device = 0; device < p; device++)
    outcome.exposed_ps[device] =
        test_part_ps (run, 2 * device, LS_PART_EXPOSED_EXPERT); /* data ranks are neighbours */
  outcome.end_ps = ls_engine_now_ps (run->engine);
  return outcome;
}

typedef struct {
  gint64 alone, pairs; /* forwards and backwards outside of pairs; pairs */
} Counts;

static Counts count (LsScheduleKind kind, guint p, gint64 m, guint device) {
  LsWorkload *workload = test_workload (1, 2, p, 2 * p, m);
  Counts counts = {0};

  set_pairs (workload, kind, TRUE);
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  g_autoptr (GArray) actions = ls_pipeline_actions (ls_workload_pipeline (workload), &size, device);
  for (guint i = 0; i < actions->len; i++) {
    const LsAction *action = &g_array_index (actions, LsAction, i);

    counts.pairs += action->kind == LS_ACTION_PAIR;
    counts.alone += action->kind != LS_ACTION_PAIR && action->kind != LS_ACTION_WEIGHT;
  }
  ls_workload_free (workload);
  return counts;
}

static const struct {
  LsScheduleKind kind;
  guint p;
  gint64 m;
} cases[] = {{LS_SCHEDULE_DUALPIPE, 2, 8},    {LS_SCHEDULE_DUALPIPE, 4, 12},
             {LS_SCHEDULE_DUALPIPEV, 2, 9},   {LS_SCHEDULE_DUALPIPEV, 4, 16},
             {LS_SCHEDULE_1F1B, 1, 8},        {LS_SCHEDULE_INTERLEAVED, 2, 8},
             {LS_SCHEDULE_INTERLEAVED, 4, 12}};

START_TEST (pairs_hide_all_that_is_shorter_than_compute)
/* An all-to-all of c <= the kernel that the other computes meanwhile is hidden whole in a pair, so that what is
 * exposed is that of actions alone: 2 c per layer each. One after the other exposes 4 c per layer and pair as
 * well. Integers, exact. */
{
  static const gint64 exchanges_ps[] = {1, 400, HALF_PS};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint e = 0; e < G_N_ELEMENTS (exchanges_ps); e++) {
      const gint64 c = exchanges_ps[e];
      const Outcome block = run_with (cases[i].kind, cases[i].p, cases[i].m, c, TRUE);
      const Outcome serial = run_with (cases[i].kind, cases[i].p, cases[i].m, c, FALSE);

      for (guint device = 0; device < cases[i].p; device++) {
        const Counts n = count (cases[i].kind, cases[i].p, cases[i].m, device);

        ck_assert_int_gt (n.pairs, 0);
        ck_assert_int_eq (block.exposed_ps[device], 2 * c * LAYERS * n.alone);
        ck_assert_int_eq (serial.exposed_ps[device], 2 * c * LAYERS * (n.alone + 2 * n.pairs));
      }
      ck_assert_int_lt (block.end_ps, serial.end_ps);
    }
}
END_TEST

/* What the step is shorter by. */
static gint64 saved_ps (guint i, gint64 m, gint64 c) {
  return run_with (cases[i].kind, cases[i].p, m, c, FALSE).end_ps -
         run_with (cases[i].kind, cases[i].p, m, c, TRUE).end_ps;
}

START_TEST (steady_steps_shorten_by_what_is_hidden)
/* Four micro-batches more are so many pairs more on every device, and in the steady phase no device waits: the step
 * shortens by 4 c L for each, exactly. */
{
  const gint64 c = 700, more = 4;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gint64 m = cases[i].m;
    const gint64 pairs = count (cases[i].kind, cases[i].p, m + more, 0).pairs -
                         count (cases[i].kind, cases[i].p, m, 0).pairs;

    ck_assert_int_gt (pairs, 0);
    ck_assert_int_eq (saved_ps (i, m + more, c) - saved_ps (i, m, c), 4 * c * LAYERS * pairs);
  }
}
END_TEST

START_TEST (host_takes_its_time_for_each_pair)
/* C for each pair, in bf16 that of 16 bits: a steady step shortens by 4 c L - C for each, and by 4 c L where launches are
 * replayed. */
{
  const gint64 c = 700, more = 4, host_ps = 500;
  LsSoftware slow = *ls_software_find ("generic", NULL);

  slow.gap_s.value = slow.host_launch_s.value = slow.host_step_s.value = 0;
  slow.host_pair_s.value = 1e-12 * (double) host_ps;
  slow.host_pair_8_s.value = 1;
  software = &slow;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint replayed = 0; replayed < 2; replayed++) {
      const gint64 m = cases[i].m, lost_ps = replayed > 0 ? 0 : host_ps;
      const gint64 pairs = count (cases[i].kind, cases[i].p, m + more, 0).pairs -
                           count (cases[i].kind, cases[i].p, m, 0).pairs;

      slow.cuda_graphs = replayed > 0;
      ck_assert_int_eq (saved_ps (i, m + more, c) - saved_ps (i, m, c),
                        (4 * c * LAYERS - lost_ps) * pairs);
    }
  software = NULL;
}
END_TEST

START_TEST (rows_are_ordered_beside_compute)
/* The dispatcher's kernels, o each, travel with its all-to-alls (Megatron-Core's pairs run HybridEP's permutations in the
 * stream of its messages): a pair is shorter by 4 (c + o) L where they hold no SM, and by 4 (c + o / 2) L where they hold
 * half, which compute then lacks. */
{
  const gint64 c = 300, o = 200, more = 4;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int holds = 0; holds < 2; holds++) {
      const gint64 m = cases[i].m;
      const gint64 pairs = count (cases[i].kind, cases[i].p, m + more, 0).pairs -
                           count (cases[i].kind, cases[i].p, m, 0).pairs;

      order_ps = o;
      order_sms = holds ? LS_USAGE_ONE : 0;
      ck_assert_int_eq (saved_ps (i, m + more, c) - saved_ps (i, m, c),
                        4 * (c + (holds ? o / 2 : o)) * LAYERS * pairs);
      order_ps = 0;
    }
}
END_TEST

START_TEST (longer_messages_are_the_bound)
/* With c above the kernels something is hidden, in the steady phase no more than the kernels of a pair: four per
 * layer. */
{
  const gint64 c = 5 * HALF_PS, more = 4;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gint64 m = cases[i].m;
    const gint64 pairs = count (cases[i].kind, cases[i].p, m + more, 0).pairs -
                         count (cases[i].kind, cases[i].p, m, 0).pairs;
    const gint64 hidden_ps = saved_ps (i, m + more, c) - saved_ps (i, m, c);

    ck_assert_int_gt (hidden_ps, 0);
    ck_assert_int_le (hidden_ps, 4 * HALF_PS * LAYERS * pairs);
  }
}
END_TEST

START_TEST (nothing_changes_without_experts) {
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Outcome on = run_with (cases[i].kind, cases[i].p, cases[i].m, 0, TRUE);
    const Outcome off = run_with (cases[i].kind, cases[i].p, cases[i].m, 0, FALSE);

    ck_assert_int_eq (on.end_ps, off.end_ps);
    ck_assert_int_eq (on.exposed_ps[0] + off.exposed_ps[0], 0);
  }
}
END_TEST

int main (void) {
  const TTest *const tests[] = {pairs_hide_all_that_is_shorter_than_compute,
                                steady_steps_shorten_by_what_is_hidden,
                                host_takes_its_time_for_each_pair,
                                rows_are_ordered_beside_compute,
                                longer_messages_are_the_bound,
                                nothing_changes_without_experts};

  return test_main ("expert_overlap", tests, G_N_ELEMENTS (tests));
}
