/* Laying algorithms over groups, and choosing among them. */
#include "net/plan.h"

#include <math.h>

#include "base/assert.h"
#include "net/algorithms.h"
#include "net/all_pairs.h"

static void plan_free (gpointer data) {
  ls_plan_free (data);
}

LsGroupPlans *ls_group_plans_new (const LsTopology *topology, const guint *gpus, guint n) {
  LsGroupPlans *plans = g_new0 (LsGroupPlans, 1);
  g_autoptr (GHashTable) place = g_hash_table_new (NULL, NULL);
  plans->shape = ls_group_shape_new (topology, gpus, n);
  plans->plans = g_ptr_array_new_with_free_func (plan_free);
  plans->member_of = g_new (guint, n);
  plans->place_of = g_new (guint, n);
  for (guint i = 0; i < n; i++)
    g_hash_table_insert (place, GUINT_TO_POINTER (gpus[i] + 1), GUINT_TO_POINTER (i));
  for (guint i = 0; i < n; i++) {
    plans->place_of[i] = GPOINTER_TO_UINT (
        g_hash_table_lookup (place, GUINT_TO_POINTER (plans->shape->gpus[i] + 1)));
    plans->member_of[plans->place_of[i]] = i;
  }
  return plans;
}

void ls_plan_free (LsPlan *plan) {
  if (plan == NULL)
    return;
  for (guint protocol = 0; protocol < LS_N_PROTOCOLS; protocol++) {
    for (guint i = 0; plan->usages[protocol] != NULL && i < plan->n_phases; i++)
      g_free (plan->usages[protocol][i]);
    g_free (plan->usages[protocol]);
  }
  ls_phases_free (plan->phases, plan->n_phases);
  g_free (plan->bounds);
  g_free (plan);
}

void ls_group_plans_free (LsGroupPlans *plans) {
  if (plans == NULL)
    return;
  g_ptr_array_unref (plans->plans);
  g_free (plans->member_of);
  g_free (plans->place_of);
  ls_group_shape_free (plans->shape);
  g_free (plans);
}

/* --- plans of algorithms ---------------------------------------------------------------------- */

LsSchedule *ls_plan_schedule (const LsPlan *plan, const LsGroupShape *shape) {
  if (plan->algorithm != NULL)
    return ls_algorithm_schedule (plan->algorithm, shape, plan->op, plan->bounds);
  LsSchedule *schedule = ls_schedule_new (1);
  ls_schedule_segment (schedule, TRUE);
  ls_schedule_round (schedule, LS_WAY_PATH, 1);
  ls_schedule_move (schedule, 0, 1, 0, 1, 0);
  return schedule;
}

/* Where the blocks of all_to_allv begin: from i to j at i n + j in the order of the shape; what a member
 * has for itself stays where it is and counts as nothing. */
static gint64 *bounds_new (const LsGroupPlans *plans, const gint64 *splits) {
  guint n = plans->shape->n;
  gint64 *bounds = g_new (gint64, (gsize) n * n + 1);
  bounds[0] = 0;
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++) {
      gsize at = (gsize) i * n + j;
      gint64 bytes = i == j ? 0 : splits[(gsize) plans->place_of[i] * n + plans->place_of[j]];
      bounds[at + 1] = bounds[at] + bytes;
    }
  return bounds;
}

static void lay (LsPlan *plan, const LsGroupShape *shape, LsUsages *usages) {
  if (plan->algorithm != NULL && plan->algorithm->id == LS_ALGORITHM_DIRECT &&
      ls_all_pairs_apply (shape, plan->op)) {
    plan->n_phases = 1;
    plan->phases = ls_all_pairs_new (shape, ls_exchange_window (shape), usages);
    return;
  }
  g_autoptr (LsSchedule) schedule = ls_plan_schedule (plan, shape);
  plan->phases = ls_phases_new (shape, plan->op, schedule, usages, &plan->n_phases);
}

/* The plan of an algorithm, made when first asked for. */
static LsPlan *find_plan (LsGroupPlans *plans, LsUsages *usages, LsCollectiveOp op,
                          const LsAlgorithmRecord *algorithm, const gint64 *splits) {
  for (guint i = 0; i < plans->plans->len; i++) {
    LsPlan *plan = plans->plans->pdata[i];
    if (plan->op == op && plan->algorithm == algorithm && plan->splits == splits)
      return plan;
  }
  LsPlan *plan = g_new0 (LsPlan, 1);
  plan->op = op;
  plan->algorithm = algorithm;
  plan->splits = splits;
  if (op == LS_COLLECTIVE_ALL_TO_ALLV) {
    LS_REQUIRE (splits != NULL, "an all_to_allv without splits");
    plan->bounds = bounds_new (plans, splits);
  }
  lay (plan, plans->shape, usages);
  g_ptr_array_add (plans->plans, plan);
  return plan;
}

/* --- choice ----------------------------------------------------------------------------------- */

/* Time alone, no faster than bytes / `limit`. */
static double time_s (const LsGroupShape *shape, const LsPlan *plan, LsProtocol protocol,
                      gint64 bytes, double limit) {
  double sum = 0, latency = 0;
  for (guint i = 0; i < plan->n_phases; i++) {
    LsPhaseCost cost = ls_cost_phase (shape, plan->algorithm, &plan->phases[i], protocol, bytes);
    latency += cost.latency_s;
    sum += ls_cost_phase_s (&plan->phases[i], &cost, bytes);
  }
  return MAX (sum, latency + (double) bytes / limit);
}

static void consider (LsChoice *best, const LsGroupShape *shape, LsPlan *plan,
                      const LsDescriptor *descriptor, double limit) {
  for (guint protocol = 0; protocol < LS_N_PROTOCOLS; protocol++) {
    if (!ls_cost_allows (shape, plan->algorithm, (LsProtocol) protocol) ||
        (descriptor->protocols != 0 && (descriptor->protocols & 1u << protocol) == 0))
      continue;
    double t = time_s (shape, plan, (LsProtocol) protocol, descriptor->bytes, limit);
    /* Over a link of next to no rate it is not finite: still a plan. */
    if (best->plan == NULL || t < best->time_s)
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
  const LsPlan *ring = find_plan (plans, usages, op, ls_algorithm_find (LS_ALGORITHM_RING), NULL);
  return 0.5 * LS_TREE_SHARE * ring->phases[0].rate;
}

LsChoice ls_group_plans_choose (LsGroupPlans *plans, LsUsages *usages,
                                const LsDescriptor *descriptor) {
  LsCollectiveOp op = descriptor->op;
  LsChoice best = {.time_s = INFINITY};
  const LsAlgorithmRecord *wanted = ls_algorithm_find (descriptor->algorithm);
  LS_REQUIRE (op <= LS_COLLECTIVE_BARRIER && plans->shape->n > 1, "%s of %u members",
              ls_collective_op_name (op), plans->shape->n);
  if (wanted != NULL && !ls_algorithm_applies (wanted, plans->shape, op))
    wanted = NULL;
  gboolean ideal = ls_group_spec (plans->shape, 0)->ideal;
  for (guint i = 0; i < ls_algorithm_count (); i++) {
    const LsAlgorithmRecord *record = ls_algorithm_get (i);
    guint offered = ideal ? record->offered_flat : record->offered;
    if (wanted != NULL
            ? record != wanted
            : (offered & LS_OP_BIT (op)) == 0 || !ls_algorithm_applies (record, plans->shape, op))
      continue;
    LsPlan *plan = find_plan (plans, usages, op, record, descriptor->splits);
    consider (&best, plans->shape, plan, descriptor,
              wanted != NULL ? INFINITY : tree_limit (plans, usages, op, record));
  }
  if (best.plan == NULL && (wanted != NULL || descriptor->protocols != 0)) {
    LsDescriptor free = *descriptor;
    free.algorithm = wanted != NULL && descriptor->protocols != 0 ? wanted->id : LS_ALGORITHM_AUTO;
    free.protocols = 0;
    return ls_group_plans_choose (plans, usages, &free);
  }
  LS_REQUIRE (best.plan != NULL, "no algorithm for %s", ls_collective_op_name (op));
  return best;
}

LsChoice ls_group_plans_choose_message (LsGroupPlans *plans, LsUsages *usages,
                                        const LsDescriptor *descriptor) {
  LS_REQUIRE (plans->shape->n == 2, "a message between %u", plans->shape->n);
  LsChoice best = {.time_s = INFINITY};
  LsPlan *plan = find_plan (plans, usages, LS_COLLECTIVE_SEND_RECV, NULL, NULL);
  consider (&best, plans->shape, plan, descriptor, INFINITY);
  if (best.plan == NULL) {
    LsDescriptor free = *descriptor;
    free.protocols = 0;
    consider (&best, plans->shape, plan, &free, INFINITY);
  }
  return best;
}

/* --- usages ----------------------------------------------------------------------------------- */

LsPlan *ls_plan_new_copy (const LsTopology *topology, LsUsages *usages) {
  LsPlan *plan = g_new0 (LsPlan, 1);
  plan->n_phases = 1;
  plan->phases = g_new0 (LsPhaseLoad, 1);
  plan->phases[0].flow = 1;
  usages->sent = usages->received = 1;
  ls_phase_take (topology, usages, &plan->phases[0]);
  return plan;
}

LsUsage *ls_usages_of_amounts (const LsTopology *topology, const LsAmount *amounts, guint n,
                               double wire) {
  LsUsage *usages = g_new (LsUsage, MAX (1, n));
  for (guint i = 0; i < n; i++) {
    const LsNetResource *resource = ls_topology_resource (topology, amounts[i].resource);
    gboolean memory =
        resource->kind == LS_RESOURCE_HBM || resource->kind == LS_RESOURCE_HOST_MEMORY;
    double amount = amounts[i].amount * (memory ? 1 : wire);
    usages[i] =
        (LsUsage){.resource = resource->number, .usage = MAX (1, ls_usage_from_double (amount))};
  }
  return usages;
}

const LsUsage *ls_plan_usages (LsPlan *plan, const LsTopology *topology, guint phase,
                               LsProtocol protocol, double wire) {
  if (plan->usages[protocol] == NULL)
    plan->usages[protocol] = g_new0 (LsUsage *, plan->n_phases);
  LsUsage **usages = &plan->usages[protocol][phase];
  const LsPhaseLoad *load = &plan->phases[phase];
  if (*usages == NULL)
    *usages = ls_usages_of_amounts (topology, load->amounts, load->n_amounts, wire);
  return *usages;
}
