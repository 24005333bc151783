/* The keys `faults.preset`, `faults.failures` and `campaign`, and reading them.
 *
 * What is read here knows no step times: campaign_times.h gives them.
 * Ownership: a plan owns its sources and strings.
 */
#pragma once

#include "config/config.h"
#include "faults/campaign.h"
#include "faults/interval.h"
#include "net/cluster.h"
#include "train/workload/workload.h"

/* End with a row whose path is NULL. */
extern const LsConfigKey ls_failure_keys[];
extern const LsConfigKey ls_campaign_keys[];

typedef enum { LS_CHECKPOINT_SHARDED, LS_CHECKPOINT_UNIFIED } LsCheckpointLayout;

typedef struct {
  LsCampaignSpec spec; /* without times, replicas, nodes_per_replica, tokens_per_step, interval */
  LsFailureSource *sources;
  GPtrArray *names; /* of sources */
  LsIntervalRule rule;
  gint64 interval_us;   /* with LS_INTERVAL_FIXED */
  gboolean checkpoints; /* FALSE: none are written */
  LsCheckpointLayout layout;
  gboolean async;
  guint replications, most_replications;
  double precision, confidence;
  gboolean spares_from_cluster; /* else beside the cluster's nodes */
} LsCampaignPlan;

/* NULL after adding faults, or when the scenario has no `campaign`. */
LsCampaignPlan *ls_campaign_plan_new (LsConfig *config, LsConfigErrors *errors,
                                      const LsCluster *cluster, const LsWorkload *workload);
/* Failures of a run of updates: a plan that has sources only. NULL: none are given, or after adding faults. */
LsCampaignPlan *ls_campaign_plan_new_failures (LsConfig *config, LsConfigErrors *errors,
                                               const LsCluster *cluster,
                                               const LsWorkload *workload);
void ls_campaign_plan_free (LsCampaignPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCampaignPlan, ls_campaign_plan_free)
/* Failures per second of all components of `nodes` nodes that stop the job. */
double ls_campaign_plan_rate_per_s (const LsCampaignPlan *plan, guint nodes);
const char *ls_interval_rule_name (LsIntervalRule rule);
