/* What GPU time costs: the keys `cost.gpu` and `cost.spares_billed`.
 *
 * Model:      GPU-hours x price of the group that the GPUs belong to; of a MIG instance its share of the
 *             memory slices. Spare nodes of a campaign cost as the
 *             job's first group does, unless they are not billed. A run of steps or updates costs the time
 *             that it takes; GPUs on which nothing runs are not counted.
 * Left out:   storage, power and carbon (known keys, "not yet").
 *
 * Ownership: a cost owns its prices.
 */
#pragma once

#include "config/config.h"
#include "net/cluster.h"
#include "train/workload/workload.h"

/* Ends with a row whose path is NULL. */
extern const LsConfigKey ls_cost_keys[];

typedef struct {
  double *usd_per_gpu_s; /* by node group of the cluster; 0: no price given */
  guint n_groups;
  gboolean spares_billed;
} LsCost;

/* NULL when the scenario has no `cost.gpu`, or after adding faults. */
LsCost *ls_cost_new (LsConfig *config, LsConfigErrors *errors, const LsCluster *cluster);
void ls_cost_free (LsCost *cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCost, ls_cost_free)

/* Dollars per second of all GPUs on which the workload has ranks. */
double ls_cost_job_usd_per_s (const LsCost *cost, const LsCluster *cluster,
                              const LsWorkload *workload);
/* Dollars per second of one GPU of a spare node. */
double ls_cost_spare_usd_per_s (const LsCost *cost, const LsCluster *cluster,
                                const LsWorkload *workload);
