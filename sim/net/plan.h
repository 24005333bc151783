/* Plans: an operation of a group under one algorithm, laid over the cluster, for any size.
 *
 * The phases of a plan do not depend on the number of bytes, so all descriptors of a group share them;
 * the choice among algorithms and protocols, by predicted time alone, depends on it. Of equals the
 * earlier in the registry wins, then the earlier protocol.
 *
 * Ownership: plans own their phases and borrow the shape's topology.
 */
#pragma once

#include "net/algorithm.h"
#include "net/cost.h"

typedef struct {
  LsCollectiveOp op;
  const LsAlgorithmRecord *algorithm; /* NULL: a message or a copy */
  const gint64 *splits;               /* of all_to_allv, borrowed */
  gint64 *bounds;                     /* the same as blocks in the order of the shape */
  guint n_phases;
  LsPhaseLoad *phases;
  LsUsage **usages[LS_N_PROTOCOLS]; /* [protocol][phase] for the engine, made when first used */
} LsPlan;

typedef struct {
  LsGroupShape *shape;
  guint *member_of; /* by place in the group: position in the shape */
  guint *place_of;  /* and back */
  GPtrArray *plans; /* LsPlan, as they were needed */
} LsGroupPlans;

typedef struct {
  LsPlan *plan;
  LsProtocol protocol;
  double time_s;
} LsChoice;

LsGroupPlans *ls_group_plans_new (const LsTopology *topology, const guint *gpus, guint n);
void ls_group_plans_free (LsGroupPlans *plans);

/* `usages`: an empty accumulator. An algorithm that does not apply, and protocols of which none can run
 * it, count as AUTO. The group has two members or more. */
LsChoice ls_group_plans_choose (LsGroupPlans *plans, LsUsages *usages,
                                const LsDescriptor *descriptor);
/* From the first of two members to the other. */
LsChoice ls_group_plans_choose_message (LsGroupPlans *plans, LsUsages *usages,
                                        const LsDescriptor *descriptor);
/* The round table that the phases of a plan were derived from (transfer full). */
LsSchedule *ls_plan_schedule (const LsPlan *plan, const LsGroupShape *shape);

/* A plan of one phase out of what has been added to `usages` (copies). */
LsPlan *ls_plan_new_copy (const LsTopology *topology, LsUsages *usages);
void ls_plan_free (LsPlan *plan);
/* The phase's usages with the engine's numbers, times `wire` on links (not on memories). Kept. */
const LsUsage *ls_plan_usages (LsPlan *plan, const LsTopology *topology, guint phase,
                               LsProtocol protocol, double wire);
/* Amounts as usages of the engine (transfer full). */
LsUsage *ls_usages_of_amounts (const LsTopology *topology, const LsAmount *amounts, guint n,
                               double wire);
