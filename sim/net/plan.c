/* Laying algorithms over groups, and choosing among them. */
#include "net/plan.h"

#include <math.h>

#include "base/assert.h"

LsGroupPlans *ls_group_plans_new (const LsTopology *topology, const guint *gpus, guint n) {
  LsGroupPlans *plans = g_new0 (LsGroupPlans, 1);
  plans->shape = ls_group_shape_new (topology, gpus, n);
  return plans;
}

void ls_plan_free (LsPlan *plan) {
  if (plan == NULL)
    return;
  for (guint protocol = 0; protocol < LS_N_PROTOCOLS; protocol++) {
    for (guint i = 0; plan->usages[protocol] != NULL && i < plan->n_runs; i++)
      g_free (plan->usages[protocol][i]);
    g_free (plan->usages[protocol]);
  }
  for (guint i = 0; i < plan->n_runs; i++)
    g_free (plan->runs[i].amounts);
  g_free (plan->runs);
  g_free (plan);
}

void ls_group_plans_free (LsGroupPlans *plans) {
  if (plans == NULL)
    return;
  for (guint op = 0; op < G_N_ELEMENTS (plans->plans); op++)
    for (guint algorithm = 0; algorithm < LS_N_ALGORITHMS; algorithm++)
      ls_plan_free (plans->plans[op][algorithm]);
  ls_plan_free (plans->message);
  ls_group_shape_free (plans->shape);
  g_free (plans);
}

static LsPlan *plan_new (const LsGroupShape *shape, LsUsages *usages, const LsRun *runs, guint n) {
  LsPlan *plan = g_new0 (LsPlan, 1);
  plan->n_runs = n;
  plan->runs = g_new0 (LsRunLoad, n);
  for (guint i = 0; i < n; i++)
    ls_run_load (shape, &runs[i], usages, &plan->runs[i]);
  return plan;
}

/* The plan of an algorithm, NULL when it does not apply. */
static LsPlan *find_plan (LsGroupPlans *plans, LsUsages *usages, LsCollectiveOp op,
                          const LsAlgorithmRecord *algorithm) {
  LsPlan **plan = &plans->plans[op][algorithm->id];
  if (*plan == NULL && algorithm->applies (plans->shape, op)) {
    LsRun runs[LS_MAX_RUNS];
    guint n = algorithm->runs (plans->shape, op, runs);
    LS_REQUIRE (n > 0 && n <= LS_MAX_RUNS, "%s has %u runs", algorithm->name, n);
    *plan = plan_new (plans->shape, usages, runs, n);
    (*plan)->algorithm = algorithm;
  }
  return *plan;
}

/* Time alone; INFINITY when the protocol cannot run it. No flow is taken to be faster than `limit`. */
static double time_s (const LsGroupShape *shape, const LsPlan *plan, LsProtocol protocol,
                      gint64 bytes, double limit) {
  double sum = 0;
  for (guint i = 0; i < plan->n_runs; i++) {
    if (!ls_cost_allows (shape, &plan->runs[i], protocol))
      return INFINITY;
    LsRunCost cost = ls_cost_run (shape, &plan->runs[i], protocol, bytes);
    cost.rate = MIN (cost.rate, limit);
    sum += ls_cost_run_s (&plan->runs[i], &cost, bytes);
  }
  return sum;
}

static void consider (LsChoice *best, const LsGroupShape *shape, LsPlan *plan, gint64 bytes,
                      double limit) {
  for (guint protocol = 0; protocol < LS_N_PROTOCOLS; protocol++) {
    double t = time_s (shape, plan, (LsProtocol) protocol, bytes, limit);
    if (t < best->time_s)
      *best = (LsChoice){.plan = plan, .protocol = (LsProtocol) protocol, .time_s = t};
  }
}

/* NCCL takes a tree of all-reduce for half as fast as the ring's bus bandwidth, whatever the links, and
 * so keeps to rings for large messages even where trees would spare the network: its choice is
 * followed. source: NCCL @5067397 src/graph/tuning.cc */
static double tree_limit (LsGroupPlans *plans, LsUsages *usages, LsCollectiveOp op,
                          const LsAlgorithmRecord *algorithm) {
  if (algorithm->id != LS_ALGORITHM_TREE || op != LS_COLLECTIVE_ALL_REDUCE ||
      ls_group_spec (plans->shape, 0)->ideal)
    return INFINITY;
  const LsPlan *ring = find_plan (plans, usages, op, ls_algorithm_find (LS_ALGORITHM_RING));
  return 0.5 * LS_TREE_SHARE * ring->runs[0].rate;
}

/* NCCL knows no two-level collectives: all-gathers and reduce-scatters across nodes are flat rings, with a
 * hop per rank. So hierarchical runs only where a scenario asks for it or has ideal latencies. source:
 * NCCL @5067397 src/graph/tuning.cc: ring, tree, collnet, nvls */
static gboolean is_offered (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm) {
  return algorithm->id != LS_ALGORITHM_HIERARCHICAL || ls_group_spec (shape, 0)->ideal;
}

LsChoice ls_group_plans_choose (LsGroupPlans *plans, LsUsages *usages, LsCollectiveOp op,
                                LsAlgorithm algorithm, gint64 bytes) {
  LS_REQUIRE (ls_collective_is_group (op) && plans->shape->n > 1, "%s of %u members",
              ls_collective_op_name (op), plans->shape->n);
  LsChoice best = {.time_s = INFINITY};
  const LsAlgorithmRecord *wanted = ls_algorithm_find (algorithm);
  if (wanted != NULL && !wanted->applies (plans->shape, op))
    wanted = NULL;
  for (guint i = 0; i < ls_algorithm_count (); i++) {
    const LsAlgorithmRecord *record = ls_algorithm_get (i);
    if (wanted != NULL ? record != wanted : !is_offered (plans->shape, record))
      continue;
    LsPlan *plan = find_plan (plans, usages, op, record);
    if (plan != NULL)
      consider (&best, plans->shape, plan, bytes, tree_limit (plans, usages, op, record));
  }
  LS_REQUIRE (best.plan != NULL, "no algorithm for %s", ls_collective_op_name (op));
  return best;
}

LsChoice ls_group_plans_choose_message (LsGroupPlans *plans, LsUsages *usages, gint64 bytes) {
  LS_REQUIRE (plans->shape->n == 2, "a message between %u", plans->shape->n);
  LsChoice best = {.time_s = INFINITY};
  if (plans->message == NULL) {
    LsRun run = {
        .pattern = LS_PATTERN_BINOMIAL, .launches = TRUE, .rounds = 1, .stride = 1, .flow = 1};
    plans->message = plan_new (plans->shape, usages, &run, 1);
  }
  consider (&best, plans->shape, plans->message, bytes, INFINITY);
  return best;
}

LsPlan *ls_plan_new_copy (const LsTopology *topology, LsUsages *usages) {
  LsPlan *plan = g_new0 (LsPlan, 1);
  plan->n_runs = 1;
  plan->runs = g_new0 (LsRunLoad, 1);
  plan->runs[0].run.flow = 1;
  usages->sent = usages->received = 1;
  ls_run_load_take (topology, usages, &plan->runs[0]);
  return plan;
}

const LsUsage *ls_plan_usages (LsPlan *plan, const LsTopology *topology, guint run,
                               LsProtocol protocol, double wire) {
  if (plan->usages[protocol] == NULL)
    plan->usages[protocol] = g_new0 (LsUsage *, plan->n_runs);
  LsUsage **usages = &plan->usages[protocol][run];
  const LsRunLoad *load = &plan->runs[run];
  if (*usages != NULL)
    return *usages;
  *usages = g_new (LsUsage, MAX (1, load->n_amounts));
  for (guint i = 0; i < load->n_amounts; i++) {
    const LsNetResource *resource = ls_topology_resource (topology, load->amounts[i].resource);
    gboolean memory =
        resource->kind == LS_RESOURCE_HBM || resource->kind == LS_RESOURCE_HOST_MEMORY;
    double amount = load->amounts[i].amount * (memory ? 1 : wire);
    (*usages)[i] =
        (LsUsage){.resource = resource->number, .usage = MAX (1, ls_usage_from_double (amount))};
  }
  return *usages;
}
