/* Pipeline schedules that are lists of actions: order, idle time, activations, on a network that costs nothing;
 * and that their messages pair up on one that costs. */
#include "harness.h"
#include "suite.h"

#include "base/time.h"
#include "train/memory/memory_actions.h"
#include "train/pipeline/action_loops.h"
#include "train/program/schedule.h"

/* Times of one micro-batch through one stage of the model; B the whole backward. */
typedef struct {
  gint64 f_ps, b_ps, w_ps;
} Times;
static const Times equal = {10000, 20000, 10000};
static const Times odd[] = {{10000, 22000, 9000}, {13000, 31000, 4000}, {7000, 12000, 7500}};
static const TestNet free_net = {0, 0};

static const LsScheduleKind listed[] = {LS_SCHEDULE_INTERLEAVED, LS_SCHEDULE_ZB_H1,
                                        LS_SCHEDULE_ZB_H2,       LS_SCHEDULE_ZB_V,
                                        LS_SCHEDULE_DUALPIPE,    LS_SCHEDULE_DUALPIPEV};

static LsWorkload *workload_of (LsScheduleKind kind, guint p, guint v, gint64 m) {
  LsWorkload *workload = test_workload (1, 1, p, 8 * p * v, m);

  test_set_schedule (workload, kind, v);
  for (guint stage = 0; stage < ls_workload_n_stages (workload); stage++)
    workload->layers_per_stage[stage] = 1;
  workload->steps = 1;
  return workload;
}

static gboolean is_legal (LsScheduleKind kind, guint p, guint v, gint64 m) {
  const LsPipelineSize size = {p, v, m, FALSE};

  return ls_pipeline_fault (ls_pipeline_get (kind), &size) == NULL &&
         (v == 1 || kind == LS_SCHEDULE_INTERLEAVED);
}

/* --- a list schedule, of the test's own ------------------------------------------------------ */

typedef struct {
  const LsPipeline *pipeline;
  LsPipelineSize size;
  guint stages, parts;
  Times times;
  GArray **actions;  /* by device */
  gint64 *done[2];   /* [backward][((flow x stages) + stage) x m + micro-batch]: end, or -1 */
  gint64 *idle_ps;   /* by device, to the end of all */
  gint64 *inside_ps; /* by device, between its first and its last action */
  gint64 end_ps;
} List;

static gint64 *cell (List *l, gboolean backward, guint flow, guint stage, gint64 microbatch) {
  return &l->done[backward]
                 [((gint64) (flow * l->stages + stage)) * l->size.microbatches + microbatch];
}

static guint flow_of (const List *l, guint part) {
  return l->pipeline->shape == LS_SHAPE_MIRROR ? part : 0;
}

/* When what the half of an action needs is there; -1: not yet known. */
static gint64 ready_ps (List *l, guint device, gboolean backward, guint part, gint64 microbatch) {
  const guint stage = ls_pipeline_stage (l->pipeline, &l->size, device, part);
  const guint flow = flow_of (l, part);

  if (!backward)
    return stage == 0 ? 0 : *cell (l, FALSE, flow, stage - 1, microbatch);
  const gint64 own = *cell (l, FALSE, flow, stage, microbatch);
  const gint64 next = stage + 1 == l->stages ? 0 : *cell (l, TRUE, flow, stage + 1, microbatch);
  return own < 0 || next < 0 ? -1 : MAX (own, next);
}

/* The action's duration, when it may start (-1: unknown), and the cells that its end fills. */
static gint64 plan (List *l, guint device, const LsAction *a, gint64 *from_ps, gint64 **f,
                    gint64 **b) {
  const gboolean pair = a->kind == LS_ACTION_PAIR;
  const gboolean forward = a->kind == LS_ACTION_FORWARD || pair;
  const gboolean back = a->kind == LS_ACTION_BACKWARD || a->kind == LS_ACTION_INPUT || pair;
  const guint back_part = pair ? a->other_part : a->part;
  const gint64 back_microbatch = pair ? a->other : a->microbatch;
  gint64 duration_ps = 0;

  *f = *b = NULL;
  *from_ps = 0;
  if (forward) {
    *from_ps = ready_ps (l, device, FALSE, a->part, a->microbatch);
    *f = cell (l, FALSE, flow_of (l, a->part),
               ls_pipeline_stage (l->pipeline, &l->size, device, a->part), a->microbatch);
    duration_ps += l->times.f_ps;
  }
  if (back) {
    const gint64 ready = ready_ps (l, device, TRUE, back_part, back_microbatch);
    *from_ps = ready < 0 || *from_ps < 0 ? -1 : MAX (*from_ps, ready);
    *b = cell (l, TRUE, flow_of (l, back_part),
               ls_pipeline_stage (l->pipeline, &l->size, device, back_part), back_microbatch);
    duration_ps += a->kind == LS_ACTION_INPUT ? l->times.b_ps - l->times.w_ps : l->times.b_ps;
  }
  return a->kind == LS_ACTION_WEIGHT ? l->times.w_ps : duration_ps;
}

/* Runs the lists; FALSE when they block each other. */
static gboolean list_run (List *l) {
  const guint p = l->size.devices;
  g_autofree guint *at = g_new0 (guint, p);
  g_autofree gint64 *now = g_new0 (gint64, p), *busy = g_new0 (gint64, p),
                    *first = g_new0 (gint64, p);
  gboolean moved = TRUE, all = TRUE;

  while (moved) {
    moved = FALSE;
    for (guint d = 0; d < p; d++)
      while (at[d] < l->actions[d]->len) {
        gint64 from_ps, *f, *b;
        const gint64 ps =
            plan (l, d, &g_array_index (l->actions[d], LsAction, at[d]), &from_ps, &f, &b);
        if (from_ps < 0)
          break;
        if (at[d] == 0)
          first[d] = from_ps;
        now[d] = MAX (now[d], from_ps) + ps;
        busy[d] += ps;
        if (f != NULL)
          *f = now[d];
        if (b != NULL)
          *b = now[d];
        at[d]++;
        moved = TRUE;
      }
  }
  for (guint d = 0; d < p; d++) {
    all = all && at[d] == l->actions[d]->len;
    l->end_ps = MAX (l->end_ps, now[d]);
  }
  for (guint d = 0; d < p; d++) {
    l->idle_ps[d] = l->end_ps - busy[d];
    l->inside_ps[d] = now[d] - first[d] - busy[d];
  }
  return all;
}

static List *list_of (LsScheduleKind kind, LsPipelineSize size, Times times) {
  const guint p = size.devices;
  const gint64 m = size.microbatches;
  List *l = g_new0 (List, 1);

  l->pipeline = ls_pipeline_get (kind);
  l->size = size;
  l->stages = ls_pipeline_n_stages (l->pipeline, &l->size);
  l->parts = ls_pipeline_n_parts (l->pipeline, &l->size);
  l->times = times;
  l->actions = g_new0 (GArray *, p);
  l->idle_ps = g_new0 (gint64, p);
  l->inside_ps = g_new0 (gint64, p);
  for (guint back = 0; back < 2; back++) {
    l->done[back] = g_new (gint64, 2 * l->stages * (gsize) m);
    for (gsize i = 0; i < 2 * l->stages * (gsize) m; i++)
      l->done[back][i] = -1;
  }
  for (guint d = 0; d < p; d++)
    l->actions[d] = ls_pipeline_actions (l->pipeline, &l->size, d);
  return l;
}

static List *list_new (LsScheduleKind kind, guint p, guint v, gint64 m, Times times) {
  return list_of (kind, (LsPipelineSize){.devices = p, .virtual_stages = v, .microbatches = m},
                  times);
}

static void list_free (List *l) {
  for (guint d = 0; d < l->size.devices; d++)
    g_array_unref (l->actions[d]);
  g_free (l->actions);
  g_free (l->done[0]);
  g_free (l->done[1]);
  g_free (l->idle_ps);
  g_free (l->inside_ps);
  g_free (l);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (List, list_free)

/* --- orders ---------------------------------------------------------------------------------- */

/* Every micro-batch of a part goes forward once, backward once (whole, or in both halves), and each kind in
 * order of micro-batches. */
static void check_counts (const List *l, guint device) {
  const gint64 per_part = ls_pipeline_part_microbatches (l->pipeline, &l->size);

  for (guint part = 0; part < l->parts; part++) {
    const gint64 begin =
        l->pipeline->shape == LS_SHAPE_MIRROR && part == 1 ? l->size.microbatches / 2 : 0;
    gint64 forward = begin, back = begin, weight = begin, whole = 0, last = 0;
    for (guint i = 0; i < l->actions[device]->len; i++) {
      const LsAction *a = &g_array_index (l->actions[device], LsAction, i);
      const gboolean pair = a->kind == LS_ACTION_PAIR;
      if (a->part == part && (a->kind == LS_ACTION_FORWARD || pair))
        ck_assert_int_eq (a->microbatch, forward++);
      if (a->part == part && (a->kind == LS_ACTION_BACKWARD || a->kind == LS_ACTION_INPUT))
        ck_assert_int_eq (a->microbatch, back++);
      if (pair && a->other_part == part)
        ck_assert_int_eq (a->other, back++);
      whole +=
          (a->part == part && a->kind == LS_ACTION_BACKWARD) || (pair && a->other_part == part);
      if (a->part == part && a->kind == LS_ACTION_WEIGHT) {
        weight++;
        ck_assert_int_lt (a->microbatch, back); /* after the other half */
      }
      if ((pair ? a->other_part : a->part) == part)
        last += a->last;
    }
    ck_assert_int_eq (forward - begin, per_part);
    ck_assert_int_eq (back - begin, per_part);
    ck_assert_int_eq (weight - begin + whole, per_part);
    ck_assert_int_eq (last, 1);
  }
}

/* The k-th message of a kind that a device sends to a side is the k-th that the neighbour expects. */
static void check_messages (const List *l, guint device, gint side, gboolean forward) {
  const guint p = l->size.devices, other = (guint) ((gint) (device + p) + side) % p;
  g_autoptr (GArray) sent = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint expected = 0;

  for (guint turn = 0; turn < 2; turn++) {
    const guint d = turn == 0 ? device : other;
    for (guint i = 0; i < l->actions[d]->len; i++) {
      const LsAction *a = &g_array_index (l->actions[d], LsAction, i);
      const gboolean pair = a->kind == LS_ACTION_PAIR;
      if (!pair && forward != (a->kind == LS_ACTION_FORWARD))
        continue;
      if (a->kind == LS_ACTION_WEIGHT)
        continue;
      const guint part = pair && !forward ? a->other_part : a->part;
      const gint64 microbatch = pair && !forward ? a->other : a->microbatch;
      const guint stage = ls_pipeline_stage (l->pipeline, &l->size, d, part);
      const gboolean leaves = turn == 0;
      const gboolean to_next = leaves == forward; /* the partner is the stage after this one */
      if (to_next ? stage + 1 == l->stages : stage == 0)
        continue;
      const gint step = to_next ? ls_pipeline_to_next (l->pipeline, &l->size, d, part)
                                : ls_pipeline_to_previous (l->pipeline, &l->size, d, part);
      if (step != (leaves ? side : -side))
        continue;
      /* The micro-batch and the stage whose output it is, or whose input's gradient. */
      const guint link = to_next ? stage : stage - 1;
      const gint64 name = microbatch * 1000 + link;
      if (leaves) {
        g_array_append_val (sent, name);
      } else {
        ck_assert_uint_lt (expected, sent->len);
        ck_assert_int_eq (g_array_index (sent, gint64, expected), name);
        expected++;
      }
    }
  }
  ck_assert_uint_eq (expected, sent->len);
}

static void expand (const GArray *code, guint *at, gint64 moved, GArray *out) {
  for (; *at < code->len; (*at)++) {
    const LsActionCode *one = &g_array_index (code, LsActionCode, *at);
    if (one->kind == LS_CODE_END)
      return;
    if (one->kind == LS_CODE_ACTION) {
      LsAction action = one->action;
      action.microbatch += (gint32) moved;
      action.other += action.kind == LS_ACTION_PAIR ? (gint32) moved : 0;
      g_array_append_val (out, action);
      continue;
    }
    guint begin = *at + 1;
    for (gint64 i = 0; i < one->count; i++) {
      *at = begin;
      expand (code, at, moved + i * one->step, out);
    }
  }
}

/* Loops yield the list again, and are shorter. */
static void check_loops (const GArray *actions) {
  g_autoptr (GArray) code = ls_action_loops (actions);
  g_autoptr (GArray) out = g_array_new (FALSE, TRUE, sizeof (LsAction));
  guint at = 0;

  expand (code, &at, 0, out);
  ck_assert_uint_eq (out->len, actions->len);
  ck_assert_mem_eq (out->data, actions->data, actions->len * sizeof (LsAction));
  ck_assert_uint_le (code->len, actions->len);
}

START_TEST (orders_are_complete_and_never_block)
/* For p = 2..16, v = 1..4, m up to 64: every action once, messages pair up in order on every link, no cycle,
 * and loops yield the list. */
{
  const LsScheduleKind kind = listed[_i];
  guint nth = 0;

  for (guint p = 2; p <= 16; p++)
    for (guint v = 1; v <= 4; v++)
      for (gint64 m = 1; m <= 64; m += m < 12 || kind == LS_SCHEDULE_INTERLEAVED ? 1 : 7) {
        if (!is_legal (kind, p, v, m) || nth++ % test_stride () != 0)
          continue;
        g_autoptr (List) l = list_new (kind, p, v, m, equal);
        for (guint d = 0; d < p; d++) {
          check_counts (l, d);
          if (d == m % p)
            check_loops (l->actions[d]);
          for (guint back = 0; back < 2; back++) {
            check_messages (l, d, 1, back == 0);
            if (p > 2)
              check_messages (l, d, -1, back == 0);
          }
        }
        ck_assert_msg (list_run (l), "%s blocks with p %u, v %u, m %d", ls_schedule_name (kind), p,
                       v, (int) m);
      }
}
END_TEST

/* All that is asked of an order. */
static void check_order (List *l) {
  const guint p = l->size.devices;

  for (guint d = 0; d < p; d++) {
    check_counts (l, d);
    check_loops (l->actions[d]);
    for (guint back = 0; back < 2 && p > 1; back++) {
      check_messages (l, d, 1, back == 0);
      if (p > 2)
        check_messages (l, d, -1, back == 0);
    }
  }
  ck_assert_msg (list_run (l), "blocks with p %u, v %u, m %d", p, l->size.virtual_stages,
                 (int) l->size.microbatches);
}

START_TEST (pairs_are_complete_and_never_block)
/* 1F1B in pairs, on one device and interleaved: as many pairs as forwards that follow the warm-up, T - w - 1 of T. */
{
  for (guint p = 1; p <= 8; p++)
    for (guint v = 1; v <= 3; v++)
      for (gint64 m = p; m <= 32; m += p) {
        const LsPipelineSize size = {p, v, m, TRUE};
        const gboolean ring = p > 1;
        if (!ring && v > 1)
          continue;
        g_autoptr (List) l =
            list_of (ring ? LS_SCHEDULE_INTERLEAVED : LS_SCHEDULE_1F1B, size, equal);
        check_order (l);
        const gint64 warm = 2 * ((gint64) p - 1) + ((gint64) v - 1) * p + 1;
        gint64 pairs = 0;
        for (guint i = 0; i < l->actions[0]->len; i++)
          pairs += g_array_index (l->actions[0], LsAction, i).kind == LS_ACTION_PAIR;
        ck_assert_int_eq (pairs, MAX (m * v - warm, 0));
      }
}
END_TEST

START_TEST (long_lists_become_short_programs)
/* 1,000 micro-batches take no more code than 100, but for the odd ends of loops. */
{
  const LsScheduleKind kind = listed[_i];
  const guint p = 8, v = kind == LS_SCHEDULE_INTERLEAVED ? 4 : 1;
  guint length[2];

  for (guint k = 0; k < 2; k++) {
    const LsPipelineSize size = {
        .devices = p, .virtual_stages = v, .microbatches = k == 0 ? 96 : 1000};
    g_autoptr (GArray) actions = ls_pipeline_actions (ls_pipeline_get (kind), &size, 3);
    g_autoptr (GArray) code = ls_action_loops (actions);
    length[k] = code->len;
  }
  ck_assert_uint_le (length[1], length[0] + 8);
  ck_assert_uint_lt (length[1], 200);
}
END_TEST

/* --- idle time -------------------------------------------------------------------------------- */

static TestRun *run_times (LsScheduleKind kind, guint p, guint v, gint64 m, Times t, gint64 steps,
                           gboolean post_validation) {
  LsWorkload *workload = workload_of (kind, p, v, m);
  const TestLayer layer = {.forward_ps = t.f_ps,
                           .backward_ps = t.b_ps,
                           .weight_ps = t.w_ps,
                           .saved_bytes = 100,
                           .put_off_bytes = 100};

  workload->steps = steps;
  workload->post_validation = post_validation;
  return test_run (workload, &layer, &free_net);
}

/* The framework's own time between steps. */
static gint64 host_ps (const TestRun *run, gint64 steps) {
  return steps * ls_time_ps_from_s_checked (run->workload->software->host_step_s.value);
}

START_TEST (interleaved_idles_a_vth)
/* (p - 1)(t_f + t_b)/v in every device for any times, t of a whole device, when m is a multiple of p.
 * source: Narayanan et al., Megatron-LM (SC21), section 2.2.2. A stage's times are 1/v of the device's: exact. */
{
  for (guint p = 2; p <= 8; p += p == 4 ? 4 : 1)
    for (guint v = 1; v <= 4; v++)
      for (gint64 m = p; m <= 4 * (gint64) p; m += p) {
        const Times t = odd[(p + v) % G_N_ELEMENTS (odd)];
        g_autoptr (TestRun) run = run_times (LS_SCHEDULE_INTERLEAVED, p, v, m, t, 2, TRUE);
        for (guint rank = 0; rank < p; rank++) {
          ck_assert_int_eq (test_part_ps (run, rank, LS_PART_COMPUTE),
                            2 * m * v * (t.f_ps + t.b_ps));
          ck_assert_msg (test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE) ==
                             2 * (p - 1) * (t.f_ps + t.b_ps),
                         "p %u, v %u, m %d, device %u: %" G_GINT64_FORMAT, p, v, (int) m, rank,
                         test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE));
        }
      }
}
END_TEST

START_TEST (any_times_as_the_list_schedule)
/* Every device idles as long as in the list schedule of the same order, whatever the times; all meet at the
 * step's end. */
{
  const LsScheduleKind kind = listed[_i];

  for (guint p = 2; p <= 8; p += 2)
    for (guint k = 0; k < G_N_ELEMENTS (odd); k++) {
      const gint64 m = 2 * p + (kind == LS_SCHEDULE_INTERLEAVED ? (gint64) p : 2);
      const guint v = kind == LS_SCHEDULE_INTERLEAVED ? 3 : 1;
      g_autoptr (List) l = list_new (kind, p, v, m, odd[k]);
      g_autoptr (TestRun) run = run_times (kind, p, v, m, odd[k], 1, FALSE);
      ck_assert (list_run (l));
      ck_assert_int_eq (ls_engine_now_ps (run->engine) - host_ps (run, 1), l->end_ps);
      for (guint rank = 0; rank < p; rank++)
        ck_assert_msg (test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE) == l->idle_ps[rank],
                       "%s, p %u, device %u: %" G_GINT64_FORMAT
                       " ps, list schedule %" G_GINT64_FORMAT,
                       ls_schedule_name (kind), p, rank,
                       test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE), l->idle_ps[rank]);
    }
}
END_TEST

START_TEST (zb_h1_idles_a_third)
/* (p - 1)(F + I - W) per step at F = I = W, a third of 1F1B's (p - 1)(F + I + W).
 * source: Qi et al. 2023 (arXiv 2401.10241), table 2. */
{
  for (guint p = 2; p <= 16; p *= 2) {
    g_autoptr (TestRun) run = run_times (LS_SCHEDULE_ZB_H1, p, 1, 2 * p, equal, 1, FALSE);
    for (guint rank = 0; rank < p; rank++)
      ck_assert_int_eq (test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE), (p - 1) * equal.f_ps);
  }
}
END_TEST

START_TEST (zb_h2_and_zb_v_idle_nothing)
/* At F = I = W, m >= 2 p - 1, with post-validation: a further step adds no bubble to any device. Without, the
 * devices meet after each step: (p - 1) F for H2, whose device d begins d F later. */
{
  const LsScheduleKind kinds[] = {LS_SCHEDULE_ZB_H2, LS_SCHEDULE_ZB_V};

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint p = 2; p <= 16; p *= 2) {
      const gint64 m = 2 * p - 1 + p / 4;
      g_autoptr (TestRun) two = run_times (kinds[k], p, 1, m, equal, 2, TRUE);
      g_autoptr (TestRun) three = run_times (kinds[k], p, 1, m, equal, 3, TRUE);
      g_autoptr (TestRun) meets = run_times (kinds[k], p, 1, m, equal, 1, FALSE);
      for (guint rank = 0; rank < p; rank++) {
        ck_assert_int_eq (test_part_ps (three, rank, LS_PART_PIPELINE_BUBBLE),
                          test_part_ps (two, rank, LS_PART_PIPELINE_BUBBLE));
        ck_assert_int_eq (test_part_ps (meets, rank, LS_PART_PIPELINE_BUBBLE),
                          (p - 1) * equal.f_ps);
      }
      ck_assert_int_eq (
          ls_engine_now_ps (three->engine) - ls_engine_now_ps (two->engine) - host_ps (two, 1),
          m * (gint64) ls_workload_n_parts (two->workload) * (equal.f_ps + equal.b_ps));
    }
}
END_TEST

START_TEST (dualpipe_idles_its_formula)
/* (p/2 - 1)(F&B + B - 3 W) for DualPipe, (p - 1)(F&B + B - 3 W) for DualPipeV, F&B = F + B, at F = B - W = W.
 * source: README of deepseek-ai/DualPipe. */
{
  for (guint p = 2; p <= 16; p *= 2) {
    const gint64 one = equal.f_ps + 2 * equal.b_ps - 3 * equal.w_ps;
    g_autoptr (TestRun) dual = run_times (LS_SCHEDULE_DUALPIPE, p, 1, 2 * p + 4, equal, 1, TRUE);
    g_autoptr (TestRun) v = run_times (LS_SCHEDULE_DUALPIPEV, p, 1, 2 * p + 3, equal, 1, TRUE);
    for (guint rank = 0; rank < p; rank++) {
      ck_assert_int_eq (test_part_ps (dual, rank, LS_PART_PIPELINE_BUBBLE), (p / 2 - 1) * one);
      ck_assert_int_eq (test_part_ps (v, rank, LS_PART_PIPELINE_BUBBLE), (p - 1) * one);
    }
  }
}
END_TEST

START_TEST (dualpipe_idles_otherwise_at_other_times)
/* F, B, W = 1, 2.2, 0.9: the order idles 7.20 (p = 8) and 17.90 (p = 16), where the formula says 8.10 and 18.90.
 * source: a list schedule of the order, made before this one and apart from it. */
{
  const Times t = odd[0];
  const guint sizes[] = {8, 16};
  const gint64 idle_ps[] = {72000, 179000};

  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++) {
    g_autoptr (TestRun) run =
        run_times (LS_SCHEDULE_DUALPIPE, sizes[k], 1, 2 * sizes[k] + 4, t, 1, TRUE);
    for (guint rank = 0; rank < sizes[k]; rank++)
      ck_assert_int_eq (test_part_ps (run, rank, LS_PART_PIPELINE_BUBBLE), idle_ps[k]);
  }
}
END_TEST

/* --- activations ------------------------------------------------------------------------------ */

/* Stages' worth of activations that device d holds at most, in the schedule's own stages. */
static gint64 in_flight (LsScheduleKind kind, guint p, guint v, gint64 m, guint d) {
  switch (kind) {
  case LS_SCHEDULE_INTERLEAVED:
    return MIN (2 * ((gint64) p - 1 - d) + (v - 1) * (gint64) p + 1, m * v);
  case LS_SCHEDULE_ZB_H1:
    return p;
  case LS_SCHEDULE_ZB_H2:
    return 2 * p - 1;
  case LS_SCHEDULE_ZB_V:
    return 2 * p;
  case LS_SCHEDULE_DUALPIPE:
    return p + 1;
  default:
    return 2 * p + 1;
  }
}

START_TEST (activations_in_flight)
/* Interleaved: 2 (p - 1 - d) + (v - 1) p + 1 chunks of 1/v, on device 0 that is p (1 + (p - 1)/(p v)) stages;
 * ZB-H1 p and ZB-H2 2 p - 1 micro-batches, ZB-V 2 p half-stages, DualPipe p + 1, DualPipeV 2 p + 1 half-stages.
 * source: Korthikanti et al. 2022, section 4.2.3; Qi et al. 2023, table 2; README of deepseek-ai/DualPipe. The
 * ledger of the run, and the estimate that `check` prints, say the same. */
{
  const LsScheduleKind kind = listed[_i];
  const guint v = kind == LS_SCHEDULE_INTERLEAVED ? 3 : 1;

  for (guint p = 2; p <= 8; p *= 2) {
    const gint64 m = 3 * p;
    g_autoptr (TestRun) run = run_times (kind, p, v, m, equal, 2, TRUE);
    for (guint rank = 0; rank < p; rank++) {
      const LsStage *stage = ls_job_kind (run->job, rank)->stage;
      LsMemoryWalk walks[3];
      for (guint part = 0; part < ls_workload_n_parts (run->workload); part++)
        ls_memory_walk (ls_stage_part (stage, part), &run->workload->recompute, NULL, &walks[part]);
      ck_assert_int_eq (test_peak_activations (run, rank), 100 * in_flight (kind, p, v, m, rank));
      ck_assert_int_eq (ls_memory_actions (run->workload, rank, walks, NULL).bytes,
                        test_peak_activations (run, rank));
      ck_assert_int_eq (ls_engine_memory_now (run->engine, rank, LS_MEMORY_ACTIVATIONS), 0);
    }
  }
}
END_TEST

START_TEST (what_is_put_off_counts)
/* Between its halves a backward holds what the weight gradients need, more or less than what was saved; estimate
 * and ledger agree, with recomputation too. */
{
  const LsScheduleKind kind = listed[_i];
  const gint64 put_off[] = {30, 160};

  for (guint k = 0; k < 4; k++) {
    LsWorkload *workload = workload_of (kind, 4, 1, 12);
    const TestLayer layer = {.forward_ps = 1000,
                             .backward_ps = 2000,
                             .weight_ps = 1000,
                             .saved_bytes = 100,
                             .input_bytes = 10,
                             .put_off_bytes = put_off[k % 2]};
    if (k >= 2)
      workload->recompute.mode = LS_RECOMPUTE_FULL;
    g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
    for (guint rank = 0; rank < 4; rank++) {
      const LsStage *stage = ls_job_kind (run->job, rank)->stage;
      LsMemoryWalk walks[2];
      for (guint part = 0; part < ls_workload_n_parts (workload); part++)
        ls_memory_walk (ls_stage_part (stage, part), &workload->recompute, NULL, &walks[part]);
      ck_assert_int_eq (ls_memory_actions (workload, rank, walks, NULL).bytes,
                        test_peak_activations (run, rank));
    }
  }
}
END_TEST

/* --- messages, sharding ------------------------------------------------------------------------ */

START_TEST (messages_pair_up_on_a_slow_network)
/* Runs end, with messages that take longer than stages, for many sizes; bytes sent on all links are what the
 * schedule needs: one message per micro-batch, direction and border between stages on two devices. */
{
  const LsScheduleKind kind = listed[_i];
  const TestNet net = {.latency_ps = 3000, .bytes_per_s = 1e12};
  const TestLayer layer = {.forward_ps = 10000,
                           .backward_ps = 20000,
                           .weight_ps = 9000,
                           .saved_bytes = 10,
                           .boundary_bytes = 4000};

  guint nth = 0;

  for (guint p = 2; p <= 16; p += p < 4 ? 1 : 4)
    for (guint v = 1; v <= 4; v += p > 8 ? 3 : 1)
      for (gint64 m = p; m <= 64; m *= 2) {
        if (!is_legal (kind, p, v, m) || nth++ % MIN (test_stride (), 3) != 0)
          continue;
        LsWorkload *workload = workload_of (kind, p, v, m);
        workload->steps = 2;
        g_autoptr (TestRun) run = test_run (workload, &layer, &net);
        const LsPipelineShape shape = ls_pipeline_get (kind)->shape;
        const gint64 stages = ls_workload_n_stages (workload);
        const gint64 borders = stages - 1 - (shape == LS_SHAPE_V ? 1 : 0);
        gint64 sent = 0;
        for (guint rank = 0; rank < p; rank++)
          sent += ls_engine_bytes_sent (run->engine, rank);
        ck_assert_int_ge (sent, 2 * 2 * m * borders * 4000);
        ck_assert_int_le (sent, 2 * (2 * m * borders * 4000 + 64 * (gint64) p));
      }
}
END_TEST

START_TEST (sharding_works_with_every_schedule)
/* ZeRO 0 to 3 on two replicas: the run ends; stages 0 and 1 reduce each gradient once per step, 2 and 3 once per
 * micro-batch; nothing stays claimed. */
{
  const LsScheduleKind kind = listed[_i];
  const TestNet net = {.latency_ps = 100, .bytes_per_s = 1e12};
  const TestLayer layer = {.forward_ps = 10000,
                           .backward_ps = 20000,
                           .weight_ps = 9000,
                           .saved_bytes = 10,
                           .put_off_bytes = 8,
                           .parameters = 500,
                           .boundary_bytes = 0};

  for (int zero = 0; zero <= 3; zero++)
    for (gint overlap = 0; overlap < 2; overlap++) {
      const guint p = 4, v = kind == LS_SCHEDULE_INTERLEAVED ? 2 : 1;
      const gint64 m = 8;
      LsWorkload *workload = test_workload (1, 2, p, 3 * p * v * 2, m);
      test_set_schedule (workload, kind, v);
      workload->zero.stage = zero;
      workload->zero.overlap = overlap;
      workload->steps = 2;
      g_autoptr (TestRun) run = test_run (workload, &layer, &net);
      for (guint rank = 0; rank < 2 * p; rank++) {
        ck_assert_int_eq (ls_engine_memory_now (run->engine, rank, LS_MEMORY_ACTIVATIONS), 0);
        const gint64 parameters = ls_job_kind (run->job, rank)->stage->parameters;
        const gint64 of_part = kind == LS_SCHEDULE_DUALPIPE ? m / 2 : m;
        const gint64 reductions = zero >= 2 ? of_part : 1;
        const gint64 gathers = zero == 0 ? 1 : zero < 3 ? 1 : 2 * of_part;
        const gint64 wire = 2 * parameters / 2; /* of one collective: 2 bytes, (n - 1)/n = 1/2 */
        gint64 least = 2 * wire * (reductions + gathers);
        ck_assert_msg (ls_engine_bytes_sent (run->engine, rank) >= least - 4,
                       "%s, ZeRO %d: %" G_GINT64_FORMAT " bytes, at least %" G_GINT64_FORMAT,
                       ls_schedule_name (kind), zero, ls_engine_bytes_sent (run->engine, rank),
                       least);
      }
    }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("pipelines");
  TCase *tcase = tcase_create ("pipelines");
  const int n = G_N_ELEMENTS (listed);
  tcase_set_timeout (tcase, 300);
  tcase_add_loop_test (tcase, orders_are_complete_and_never_block, 0, n);
  tcase_add_loop_test (tcase, long_lists_become_short_programs, 0, n);
  tcase_add_test (tcase, pairs_are_complete_and_never_block);
  tcase_add_test (tcase, interleaved_idles_a_vth);
  tcase_add_loop_test (tcase, any_times_as_the_list_schedule, 0, n);
  tcase_add_test (tcase, zb_h1_idles_a_third);
  tcase_add_test (tcase, zb_h2_and_zb_v_idle_nothing);
  tcase_add_test (tcase, dualpipe_idles_its_formula);
  tcase_add_test (tcase, dualpipe_idles_otherwise_at_other_times);
  tcase_add_loop_test (tcase, activations_in_flight, 0, n);
  tcase_add_loop_test (tcase, what_is_put_off_counts, 0, n);
  tcase_add_loop_test (tcase, messages_pair_up_on_a_slow_network, 0, n);
  tcase_add_loop_test (tcase, sharding_works_with_every_schedule, 0, n);
  suite_add_tcase (suite, tcase);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
