/* Plans: an operation of a group under one algorithm, laid over the cluster, for any size.
 *
 * The loads of a plan do not depend on the number of bytes, so all descriptors of a group share them;
 * the choice among algorithms and protocols, by predicted time alone, depends on it. Of equals the
 * earlier in the registry wins, then the earlier protocol.
 *
 * Ownership: plans own their loads and borrow the shape's topology.
 */
#pragma once

#include "net/algorithm.h"
#include "net/cost.h"

typedef struct {
  const LsAlgorithmRecord *algorithm; /* NULL: a message or a copy */
  guint n_runs;
  LsRunLoad *runs;
  LsUsage **usages[LS_N_PROTOCOLS]; /* [protocol][run] for the engine, made when first used */
} LsPlan;

typedef struct {
  LsGroupShape *shape;
  LsPlan *plans[LS_COLLECTIVE_ALL_TO_ALL + 1][LS_N_ALGORITHMS];
  LsPlan *message; /* from the first of two members to the other */
} LsGroupPlans;

typedef struct {
  LsPlan *plan;
  LsProtocol protocol;
  double time_s;
} LsChoice;

LsGroupPlans *ls_group_plans_new (const LsTopology *topology, const guint *gpus, guint n);
void ls_group_plans_free (LsGroupPlans *plans);

/* `usages`: an empty accumulator. An algorithm that does not apply counts as AUTO. The group has two
 * members or more. */
LsChoice ls_group_plans_choose (LsGroupPlans *plans, LsUsages *usages, LsCollectiveOp op,
                                LsAlgorithm algorithm, gint64 bytes);
LsChoice ls_group_plans_choose_message (LsGroupPlans *plans, LsUsages *usages, gint64 bytes);

/* A plan of one run out of what has been added to `usages` (copies). */
LsPlan *ls_plan_new_copy (const LsTopology *topology, LsUsages *usages);
void ls_plan_free (LsPlan *plan);
/* The run's usages with the engine's numbers, times `wire` on links (not on memories). Kept. */
const LsUsage *ls_plan_usages (LsPlan *plan, const LsTopology *topology, guint run,
                               LsProtocol protocol, double wire);
