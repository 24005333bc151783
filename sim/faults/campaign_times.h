/* What a campaign asks about steps and checkpoints, answered by the step's own simulation.
 *
 * Model:      the smallest part of a job that can be dropped is a *unit*: data-parallel replicas and the
 *             nodes under them that hang together (a node with ranks of two replicas ties them). Health is
 *             canonical: how many units run, how many have a slow node and how slow the slowest is (to 1 %),
 *             whether a checkpoint is being written; not which names. Each health is simulated once, all
 *             ranks or one per class, the second of two steps; then it is remembered.
 *             Slow: all ranks of the first node of each slow unit. The scenario's stragglers take part in every
 *             health; where they draw, or come and go, the time of a step is the mean of 20 steps (with
 *             drawn steps of deviation s it is known to s / sqrt (20)). Those that happen once, from one time
 *             to another, belong to the run of steps and not to months. After shrinking they hit the ranks
 *             that have their numbers. Draining: the ranks' shares go to storage
 *             beside the step, again and again.
 *             With fewer units the global batch stays (each replica takes more micro-batches, rounded up)
 *             or shrinks with them.
 * Threads:    any number may ask; a health is simulated by one of them.
 * Determinism: answers depend on the scenario alone.
 *
 * Ownership: borrows cluster, workload, stragglers and plan.
 */
#pragma once

#include "faults/campaign_keys.h"
#include "faults/checkpoint.h"
#include "faults/stragglers.h"

typedef struct LsStepTimes LsStepTimes;

/* Completes plan->spec: units, tokens, interval, times. NULL after adding faults. `stragglers`: NULL: none. */
LsStepTimes *ls_step_times_new (LsConfig *config, LsConfigErrors *errors, const LsCluster *cluster,
                                const LsWorkload *workload, const LsStragglers *stragglers,
                                LsCampaignPlan *plan);
void ls_step_times_free (LsStepTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsStepTimes, ls_step_times_free)

const LsCheckpointTimes *ls_step_times_checkpoint (const LsStepTimes *times);
/* Healths that were simulated. */
guint ls_step_times_n_simulated (LsStepTimes *times);
