/* What a campaign asks about steps and checkpoints, answered by the step's own simulation.
 *
 * Model:      the smallest part of a job that can be dropped is a *unit*: data-parallel replicas and the
 *             nodes under them that hang together (a node with ranks of two replicas ties them). Health is
 *             canonical: how many units run, how many have a slow node and how slow the slowest is (to 1 %),
 *             whether a checkpoint is being written; not which names. Each health is simulated once, all
 *             ranks or one per class, the second of two steps; then it is remembered.
 *             Slow: all ranks of the first node of each slow unit. Draining: the ranks' shares go to storage
 *             beside the step, again and again.
 *             With fewer units the global batch stays (each replica takes more micro-batches, rounded up)
 *             or shrinks with them.
 * Threads:    any number may ask; a health is simulated by one of them.
 * Determinism: answers depend on the scenario alone.
 *
 * Ownership: borrows cluster, workload and plan.
 */
#pragma once

#include "faults/campaign_keys.h"
#include "faults/checkpoint.h"

typedef struct LsStepTimes LsStepTimes;

/* Completes plan->spec: units, tokens, interval, times. NULL after adding faults. */
LsStepTimes *ls_step_times_new (LsConfig *config, LsConfigErrors *errors, const LsCluster *cluster,
                                const LsWorkload *workload, LsCampaignPlan *plan);
void ls_step_times_free (LsStepTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsStepTimes, ls_step_times_free)

const LsCheckpointTimes *ls_step_times_checkpoint (const LsStepTimes *times);
/* Healths that were simulated. */
guint ls_step_times_n_simulated (LsStepTimes *times);
