/* Launches as operations of a program; see launch_program.h. */
#include "train/program/launch_program.h"

#include "base/time.h"
#include "train/workload/workload.h"

typedef struct {
  const LsBuilder *builder;
  const LsLayerOp *ops;
  guint n;
  const LsLayerPlan *selected;
  LsLaunchFilter runs;
  LsPass pass;
} List;

typedef struct {
  gint64 host_ps, device_ps;
  gint64 kernels; /* launches, of a kernel each */
} Times;

static gboolean does_run (const List *list, guint i) {
  return list->runs == NULL || list->runs (list->builder, &list->ops[i]);
}

static gboolean is_exchange (const LsLayerOp *op) {
  return op->is_collective && op->axis == LS_AXIS_EXPERT &&
         op->collective == LS_COLLECTIVE_ALL_TO_ALL;
}

static gboolean is_graphed (const List *list, const LsLayerOp *op) {
  const LsLayerGraphs graphs = list->builder->spec->workload->software->layer_graphs;

  return (op->part == LS_PART_ROUTER && graphs >= LS_LAYER_GRAPHS_ROUTER) ||
         (op->part == LS_PART_ATTENTION && graphs >= LS_LAYER_GRAPHS_ATTENTION);
}

/* Is the graph launched with operation `i`, the first of its list that is in it? */
static gboolean starts_graph (const List *list, guint i) {
  for (guint before = 0; before < i; before++)
    if (!list->ops[before].is_collective && does_run (list, before) &&
        is_graphed (list, &list->ops[before]))
      return FALSE;
  return TRUE;
}

/* Of operation `i`: its launches and, but for collectives, its run; zero when it does not run. */
static Times times_of (const List *list, guint i) {
  const LsLayerOp *op = &list->ops[i];
  const LsSoftware *software = list->builder->spec->workload->software;
  Times times = {0, 0, 0};

  if (!does_run (list, i))
    return times;
  if (op->is_collective) {
    if (software->serial_launches || list->builder->host_clock)
      times.host_ps = ls_kernel_launch_ps (software, list->pass);
    return times;
  }
  if (list->selected != NULL && !ls_layer_op_repeated (list->selected, i))
    return times;
  const LsKernelCost *cost = list->selected != NULL ? ls_layer_op_again (op) : &op->cost;
  times.host_ps = ls_kernel_host_ps (cost, software, list->pass);
  times.device_ps = software->serial_launches ? 0 : cost->alone_ps;
  times.kernels = cost->kernels;
  if (is_graphed (list, op)) {
    times.kernels = starts_graph (list, i) ? 1 : 0;
    times.host_ps = times.kernels * ls_kernel_launch_ps (software, list->pass);
  }
  return times;
}

/* An all-to-all of tokens alone, over all links of the accelerator. */
static gint64 exchange_ps (const LsBuilder *builder, const LsLayerOp *op) {
  const double rate = builder->spec->device->accelerator->link_bytes_per_s;
  const double ranks = builder->spec->workload->layout.expert;

  return rate > 0
             ? ls_time_ps_from_s_checked ((double) op->collective_bytes * (1 - 1 / ranks) / rate)
             : 0;
}

/* Does the host wait in this list, and before which operation? */
static gboolean find_wait (const List *list, guint *at) {
  const LsWorkload *workload = list->builder->spec->workload;

  if (!workload->software->expert_sync || list->selected != NULL || list->builder->script != NULL ||
      !ls_workload_has_experts (workload) ||
      workload->model->transformer.experts.capacity_factor > 0)
    return FALSE;
  for (guint i = 0; i < list->n; i++)
    if (is_exchange (&list->ops[i])) {
      *at = i;
      return TRUE;
    }
  return FALSE;
}

/* From the launch of an operation's first kernel to the start of its last, less the run of those before it; or to the start
 * of its first, if that is longer. */
static gint64 ahead_ps (const Times *times) {
  if (times->kernels == 0)
    return 0;
  return MAX (times->host_ps / times->kernels,
              times->host_ps - times->device_ps / times->kernels * (times->kernels - 1));
}

/* By how much a list takes longer than its kernels (and all-to-alls) when the host's lead is gone before operation `at`, and
 * comes back from there: max over k of (H_k - D_before k), all of it in the order from there round to there. */
static gint64 behind_wait (const List *list, guint at) {
  gint64 host_ps = 0, device_ps = 0, most_ps = 0;

  for (guint step = 0; step < list->n; step++) {
    const guint i = (at + step) % list->n;
    const Times times = times_of (list, i);

    most_ps = MAX (most_ps, host_ps + ahead_ps (&times) - device_ps);
    host_ps += times.host_ps;
    device_ps += times.device_ps;
    if (is_exchange (&list->ops[i]) && does_run (list, i))
      device_ps += exchange_ps (list->builder, &list->ops[i]);
  }
  return most_ps;
}

static Times sum_of (const List *list) {
  Times sum = {0, 0, 0};

  for (guint i = 0; i < list->n; i++) {
    const Times times = times_of (list, i);

    sum.host_ps += times.host_ps;
    sum.device_ps += times.device_ps;
  }
  return sum;
}

static gboolean is_bound (const LsBuilder *builder, const LsLayerOp *ops, guint n,
                          const LsLayerPlan *selected, LsPass pass) {
  const List list = {builder, ops, n, selected, NULL, pass};
  const Times sum = sum_of (&list);

  return sum.host_ps > sum.device_ps;
}

/* Is what the host is ahead by lost in every list, or not more than a list's? */
static gboolean lead_is_lost (const LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const LsSoftware *software = workload->software;

  return software->serial_launches || software->launch_by_list || ls_builder_gathers (builder) ||
         (software->expert_sync && ls_workload_has_experts (workload));
}

/* Whether a pass over the plan's lists is bound by the launches of one of them. */
static gboolean is_bound_in (const LsBuilder *builder, const LsLayerPlan *plan, LsChunkMode mode) {
  return is_bound (builder, plan->forward, plan->n_forward, NULL, LS_PASS_FORWARD) ||
         is_bound (builder, plan->backward, plan->n_backward, NULL, LS_PASS_BACKWARD) ||
         (mode == LS_CHUNK_SELECTIVE &&
          is_bound (builder, plan->forward, plan->n_forward, plan, LS_PASS_FORWARD));
}

gboolean ls_launch_needs_clock (const LsBuilder *builder) {
  if (lead_is_lost (builder))
    return FALSE;
  for (guint i = 0; i < builder->chunks->n; i++) {
    const LsChunk *chunk = &builder->chunks->chunk[i];

    for (guint layer = 0; layer < chunk->size; layer++)
      if (is_bound_in (builder, chunk->plans[layer], chunk->mode))
        return TRUE;
  }
  return FALSE;
}

static void synchronize (LsBuilder *builder, LsMark point) {
  const LsOp op = ls_builder_memory (builder, "synchronize");
  const LsMark mark = ls_builder_add (builder, LS_ROLE_HOST, &op);

  ls_program_wait_same (builder->program, mark, point);
}

void ls_launch_message (LsBuilder *builder, LsMark point) {
  const LsWorkload *workload = builder->spec->workload;

  if (builder->host_clock && workload->software->messages_synchronize &&
      workload->layout.pipeline > 1)
    synchronize (builder, point);
}

void ls_launch_end_step (LsBuilder *builder) {
  if (builder->host_clock)
    synchronize (builder, ls_builder_last (builder));
}

void ls_launch_pair (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const LsSoftware *software = workload->software;
  const LsSourced *time =
      workload->precision.narrow.used ? &software->host_pair_8_s : &software->host_pair_s;

  if (!software->cuda_graphs && time->value > 0)
    ls_builder_delay (builder, "host_pair", ls_time_ps_from_s_checked (time->value), LS_PART_OTHER);
}

static void put (LsBuilder *builder, const char *name, gint64 delay_ps, gint64 host_ps) {
  const LsLayerItem item = {.name = name, .delay_ps = delay_ps, .host_ps = host_ps};

  ls_layer_item_put (builder, &item, NULL);
}

void ls_launch_gap (LsBuilder *builder, const LsLayerOp *ops, guint n, const LsLayerPlan *selected,
                    LsLaunchFilter runs, LsLaunchList kind) {
  const LsPass pass = kind == LS_LAUNCH_BACKWARD ? LS_PASS_BACKWARD : LS_PASS_FORWARD;
  const List list = {builder, ops, n, selected, runs, pass};
  const Times sum = sum_of (&list);
  const gint64 behind_ps = builder->behind_ps + sum.host_ps - sum.device_ps;
  const gint64 launch_ps = MAX (behind_ps, 0);
  guint at = 0;

  if (builder->host_clock) {
    put (builder, "launch", 0, sum.host_ps);
    return;
  }
  const gboolean waits = pass == LS_PASS_FORWARD && sum.host_ps > 0 && find_wait (&list, &at);
  const gboolean goes_on =
      kind == LS_LAUNCH_AGAIN && builder->spec->workload->software->launch_by_list && !waits;
  builder->behind_ps = goes_on ? behind_ps : 0;
  if (!goes_on)
    put (builder, "launch", launch_ps, 0);
  if (waits)
    put (builder, "host_sync", MAX (behind_wait (&list, at) - launch_ps, 0), 0);
}
