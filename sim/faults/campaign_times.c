/* Step times by health; see campaign_times.h. */
#include "faults/campaign_times.h"

#include <math.h>

#include "base/assert.h"
#include "base/quantity.h"
#include "base/time.h"
#include "faults/failures.h"
#include "faults/stragglers_run.h"
#include "train/memory/memory.h"
#include "train/run/simulation.h"

/* Steps of a health whose steps differ: their mean is what a campaign uses. source: the budget; the
 * relative error of the mean is that of one step / sqrt (20). */
#define SAMPLED_STEPS 20
/* Of one replication, in storage or in memory. source: choice, ten seconds or so of campaign */
#define MOST_CHECKPOINTS 1e7
/* Failures of one cause in one replication. source: the same */
#define MOST_FAILURES 1e7

struct LsStepTimes {
  const LsCluster *cluster;
  const LsWorkload *workload;
  const LsCampaignPlan *plan;
  LsStragglers stragglers; /* those that last for months; arrays of the scenario's but `all` */
  gboolean sampled;        /* steps of one health differ */
  guint units, nodes_per_unit, replicas_per_unit;
  LsCheckpointTimes checkpoint;
  GMutex lock;
  GHashTable *known;    /* packed health -> gint64 * ps */
  GHashTable *reshards; /* units before << 32 | after -> gint64 * us */
};

/* --- units ------------------------------------------------------------------------------------ */

static guint find (guint *parent, guint i) {
  while (parent[i] != i)
    i = parent[i] = parent[parent[i]];
  return i;
}

/* Replicas and nodes that hang together, counted. */
static void find_units (LsStepTimes *times) {
  const LsLayout *layout = &times->workload->layout;
  guint nodes = ls_cluster_n_nodes (times->cluster), used = 0, units = 0;
  g_autofree guint *parent = g_new0 (guint, layout->data + nodes);
  g_autofree guint8 *seen = g_new0 (guint8, nodes);

  for (guint i = 0; i < layout->data + nodes; i++)
    parent[i] = i;
  for (guint rank = 0; rank < layout->ranks; rank++) {
    guint replica = ls_layout_coordinates (layout, rank).data;
    guint node = ls_cluster_gpu_node (times->cluster, times->workload->gpu_of_rank[rank]);
    parent[find (parent, layout->data + node)] = find (parent, replica);
    used += !seen[node];
    seen[node] = 1;
  }
  for (guint i = 0; i < layout->data; i++)
    units += find (parent, i) == i;
  LS_ASSERT (units > 0); /* a layout has a replica, a replica a root */
  if (layout->data % units != 0 || used % units != 0)
    units = 1; /* units of different sizes: only the whole can be counted on */
  times->units = units;
  times->replicas_per_unit = layout->data / units;
  times->nodes_per_unit = used / units;
}

/* --- one health -------------------------------------------------------------------------------- */

/* The workload on fewer replicas. LS_ERROR_CONFIG when it does not work out. */
static LsWorkload *workload_for (const LsStepTimes *times, guint units, GError **error) {
  g_autoptr (LsWorkload) workload = ls_workload_copy (times->workload);
  guint data = units * times->replicas_per_unit;

  workload->steps = times->sampled ? 1 + SAMPLED_STEPS : 2;
  if (data != workload->layout.data) {
    gint64 batch = times->workload->global_batch, per_round = workload->micro_batch * data;
    gint64 rounds = times->plan->spec.scale_batch ? times->workload->microbatches
                                                  : (batch + per_round - 1) / per_round;
    workload->layout.data = data;
    workload->layout.ranks = 0;
    workload->global_batch = rounds * per_round;
    g_clear_pointer (&workload->gpu_of_rank, g_free);
    if (!ls_workload_resolve (workload, error))
      return NULL;
  }
  return g_steal_pointer (&workload);
}

static void make_slow (const LsStepTimes *times, const LsWorkload *workload, const LsHealth *health,
                       gint64 *factors) {
  const LsLayout *layout = &workload->layout;

  for (guint slow = 0; slow < health->slow; slow++) {
    guint replica = slow * times->replicas_per_unit;
    guint first = ls_layout_rank (layout, (LsCoordinates){.data = replica});
    guint node = ls_cluster_gpu_node (times->cluster, workload->gpu_of_rank[first]);
    for (guint rank = 0; rank < layout->ranks; rank++)
      if (ls_cluster_gpu_node (times->cluster, workload->gpu_of_rank[rank]) == node)
        factors[rank] = (gint64) (((LsInt128) factors[rank] * health->slow_percent + 50) / 100);
  }
}

/* The mean of all steps but the first, which fills pipelines. */
static gint64 mean_step_ps (const LsJobRun *run) {
  LsInt128 sum = 0;
  guint n = run->step_ps->len;

  for (guint step = 1; step < n; step++)
    sum += g_array_index (run->step_ps, gint64, step);
  return (gint64) ((sum + (n - 1) / 2) / (n - 1));
}

/* Steps of the job, alone. */
static gint64 simulate (const LsStepTimes *times, const LsWorkload *workload,
                        const LsHealth *health) {
  g_autoptr (GError) error = NULL;
  g_autoptr (LsJob) job = ls_job_build (workload, times->cluster, &error);
  LS_REQUIRE (job != NULL, "health of a campaign: %s", error->message);
  g_autofree gint64 *factors = g_new (gint64, workload->layout.ranks);
  const LsSimulationJob jobs[] = {{.workload = workload, .job = job}};
  LsSimulationOptions options = {.fold = TRUE, .factor_of_rank = factors};
  LsStragglers stragglers = times->stragglers;
  gboolean any = stragglers.n > 0 && !health->plain;

  for (guint rank = 0; rank < workload->layout.ranks; rank++)
    factors[rank] = any ? stragglers.factor_of_rank[rank] : LS_USAGE_ONE;
  make_slow (times, workload, health, factors);
  stragglers.factor_of_rank = factors;
  if (any)
    ls_stragglers_set_options (&stragglers, &options);
  g_autoptr (LsSimulation) simulation =
      ls_simulation_new_with (times->cluster, jobs, 1, times->plan->spec.seed, &options);
  g_autoptr (LsStragglersRun) slow = any ? ls_stragglers_install (&stragglers, simulation) : NULL;
  gboolean good = ls_simulation_run (simulation, NULL, &error);
  LS_REQUIRE (good, "health of a campaign: %s", error->message);
  return mean_step_ps (ls_simulation_job (simulation, 0));
}

static gint64 step_ps (gpointer self, const LsHealth *health) {
  LsStepTimes *times = self;
  guint64 key = (guint64) health->replicas << 40 | (guint64) health->slow << 16 |
                (guint64) MIN (health->slow_percent, 32767u) << 1 | (health->draining ? 1u : 0u);

  if (health->plain && times->stragglers.n > 0)
    key |= (guint64) 1 << 63;

  g_mutex_lock (&times->lock);
  gint64 *known = g_hash_table_lookup (times->known, &key);
  if (known == NULL) {
    g_autoptr (GError) error = NULL;
    g_autoptr (LsWorkload) workload = workload_for (times, health->replicas, &error);
    LS_REQUIRE (workload != NULL, "health of a campaign: %s", error->message);
    if (health->draining)
      workload->drain_bytes = times->checkpoint.most_rank_bytes;
    gint64 ps = simulate (times, workload, health);
    known = g_memdup2 (&ps, sizeof ps);
    g_hash_table_insert (times->known, g_memdup2 (&key, sizeof key), known);
  }
  gint64 ps = *known;
  g_mutex_unlock (&times->lock);
  return ps;
}

static LsCheckpointCost checkpoint_cost (gpointer self, guint replicas) {
  const LsStepTimes *times = self;

  (void) replicas; /* the same bytes to the same storage, whoever writes them */
  return (LsCheckpointCost){
      .blocking_us = ls_checkpoint_blocking_us (&times->checkpoint, times->plan->async),
      .drain_us = ls_checkpoint_drain_us (&times->checkpoint, times->plan->async)};
}

/* To the hosts' memory, and on to a peer's. */
static gint64 memory_us (gpointer self, guint replicas) {
  const LsStepTimes *times = self;
  const LsCheckpointTimes *checkpoint = &times->checkpoint;

  (void) replicas; /* as above */
  return checkpoint->gather_us + checkpoint->snapshot_us +
         (times->plan->spec.peer_memory ? checkpoint->peer_us - checkpoint->load_us : 0);
}

/* Walking over all shards takes milliseconds, and every recovery asks: each pair of sizes is worked out once. */
static gint64 reshard_us (LsStepTimes *times, guint from, guint to) {
  gint64 key = (gint64) from << 32 | to;

  g_mutex_lock (&times->lock);
  gint64 *known = g_hash_table_lookup (times->reshards, &key);
  if (known == NULL) {
    LsReshardCost cost;
    ls_checkpoint_reshard (times->cluster, times->workload, times->plan->layout,
                           from * times->replicas_per_unit, to * times->replicas_per_unit, &cost);
    known = g_memdup2 (&cost.us, sizeof cost.us);
    g_hash_table_insert (times->reshards, g_memdup2 (&key, sizeof key), known);
  }
  gint64 us = *known;
  g_mutex_unlock (&times->lock);
  return us;
}

static gint64 restore_us (gpointer self, guint from, guint to, LsCheckpointPlace place) {
  LsStepTimes *times = self;
  const LsCheckpointTimes *checkpoint = &times->checkpoint;

  if (!times->plan->checkpoints)
    return 0; /* nothing is read: the run begins anew */
  gint64 read_us = place == LS_KEPT_IN_PEER   ? checkpoint->peer_us
                   : place == LS_KEPT_IN_HOST ? checkpoint->load_us
                                              : checkpoint->read_us + checkpoint->load_us;
  return read_us + checkpoint->spread_us + reshard_us (times, from, to);
}

/* --- checks before the campaign ---------------------------------------------------------------- */

/* Every size that an elastic job may come to has to work out and to fit, old and new shards together. */
static void check_sizes (LsConfig *config, LsConfigErrors *errors, const LsStepTimes *times) {
  const LsCampaignSpec *spec = &times->plan->spec;
  const char *path = "campaign.recovery.least_replicas";

  if (spec->least_replicas > times->units) {
    ls_config_error_at (config, errors, path, "there are %u units of %u replicas to begin with",
                        times->units, times->replicas_per_unit);
    return;
  }
  for (guint units = times->units - 1; units >= MAX (spec->least_replicas, 1u); units--) {
    g_autoptr (GError) error = NULL;
    g_autoptr (LsWorkload) workload = workload_for (times, units, &error);
    if (workload == NULL) {
      ls_config_error_at (config, errors, path,
                          "on %u replicas the job cannot run: %s; ask for more",
                          units * times->replicas_per_unit, error->message);
      return;
    }
    LsRestoreLedger ledger = ls_checkpoint_restore_ledger (
        times->cluster, workload, times->plan->layout, times->workload->layout.data);
    if (!ledger.fits) {
      ls_config_error_at (
          config, errors, path,
          "on %u replicas the job needs %.1f GB of the %.1f GB of a GPU, with %.1f GB "
          "of old shards while it is restored; ask for more replicas",
          units * times->replicas_per_unit,
          (double) MAX (ledger.total_bytes, ledger.training_bytes) / 1e9,
          (double) ledger.capacity_bytes / 1e9, (double) ledger.old_shards_bytes / 1e9);
      return;
    }
  }
}

static void check_storage (LsConfig *config, LsConfigErrors *errors, const LsStepTimes *times) {
  if (times->plan->checkpoints && !times->checkpoint.storage)
    ls_config_error_at (
        config, errors, "campaign.checkpoint",
        "there is nowhere to write to; give cluster.storage, or drives (host.nvme), "
        "or checkpoint.interval: none");
  else if (times->plan->checkpoints && times->checkpoint.drives)
    ls_config_warning_at (config, errors, "campaign.checkpoint",
                          "checkpoints are written to the nodes' own drives, since there is no "
                          "cluster.storage; a lost node takes its shards along, and the campaign "
                          "restores as if they were there");
}

static gint64 interval_us (const LsStepTimes *times) {
  const LsCampaignPlan *plan = times->plan;
  double cost_s =
      (double) MAX (1, ls_checkpoint_blocking_us (&times->checkpoint, plan->async)) / 1e6;
  double rate = ls_campaign_plan_rate_per_s (plan, times->units * times->nodes_per_unit);

  if (!plan->checkpoints)
    return 0;
  if (plan->rule == LS_INTERVAL_FIXED || rate <= 0)
    return plan->rule == LS_INTERVAL_FIXED ? plan->interval_us : LS_CAMPAIGN_LONGEST_US;
  double s = plan->rule == LS_INTERVAL_YOUNG  ? ls_interval_young (1 / rate, cost_s)
             : plan->rule == LS_INTERVAL_DALY ? ls_interval_daly (1 / rate, cost_s)
                                              : ls_interval_optimal (1 / rate, cost_s);
  return MAX (1, (gint64) llround (s * 1e6));
}

/* How long a replication lasts at most, for what checkpoints that are `interval_us` apart and cost `cost_us` are counted
 * on; 0: so few that it need not be known. A step is simulated only where duration and steps alone do not tell. */
static double longest_us (LsStepTimes *times, double interval_us, double cost_us, double *step_us) {
  const LsCampaignSpec *spec = &times->plan->spec;
  const LsHealth healthy = {.replicas = times->units, .slow_percent = 100, .plain = TRUE};
  double steps = spec->until_steps > 0 ? (double) spec->until_steps : INFINITY;
  double wall_us = spec->until_us > 0 ? (double) spec->until_us : INFINITY;

  if (spec->until_tokens > 0)
    steps = MIN (steps, (double) spec->until_tokens / (double) spec->tokens_per_step);
  if (MIN (steps, wall_us / (interval_us + cost_us)) <= MOST_CHECKPOINTS)
    return 0;
  *step_us = (double) step_ps (times, &healthy) / 1e6;
  return MIN (wall_us, steps * (*step_us + cost_us));
}

/* A campaign goes from event to event: so many would take hours. */
static void check_checkpoints (LsConfig *config, LsConfigErrors *errors, LsStepTimes *times,
                               const char *path, gint64 interval, gint64 cost) {
  double interval_us = (double) interval, cost_us = (double) cost, step_us = 0;
  double wall_us = interval > 0 ? longest_us (times, interval_us, cost_us, &step_us) : 0;
  double count = wall_us / (MAX (interval_us, step_us) + cost_us);
  g_autofree char *each = NULL, *most = NULL, *least = NULL;

  if (wall_us <= 0 || count <= MOST_CHECKPOINTS)
    return;
  each = ls_quantity_format (interval_us / 1e6, LS_DIMENSION_TIME);
  most = ls_quantity_format (count, LS_DIMENSION_COUNT);
  least = ls_quantity_format (1.01 * wall_us / MOST_CHECKPOINTS / 1e6, LS_DIMENSION_TIME);
  ls_config_error_at (config, errors, path,
                      "after every %s of training makes %s checkpoints in one replication, and at "
                      "most 10 million are simulated; give %s or more",
                      each, most, least);
}

static void check_counts (LsConfig *config, LsConfigErrors *errors, LsStepTimes *times) {
  const LsCampaignSpec *spec = &times->plan->spec;

  check_checkpoints (config, errors, times, "campaign.checkpoint.every", spec->interval_us,
                     ls_checkpoint_blocking_us (&times->checkpoint, times->plan->async));
  check_checkpoints (config, errors, times, "campaign.checkpoint.memory_every",
                     spec->memory_interval_us, memory_us (times, times->units));
}

/* The same of failures: exponential lifetimes are drawn at their rate, others start after a repair. */
static void check_failures (LsConfig *config, LsConfigErrors *errors, const LsStepTimes *times) {
  const LsCampaignPlan *plan = times->plan;
  guint nodes = times->units * times->nodes_per_unit + plan->spec.spares;

  for (guint i = 0; plan->spec.until_us > 0 && i < plan->spec.n_sources; i++) {
    const LsFailureSource *source = &plan->sources[i];
    gboolean candidates = source->lifetime.kind == ls_distribution_kind_find ("exponential");
    double each_s = ls_distribution_mean (&source->lifetime) +
                    (candidates ? 0 : ls_distribution_mean (&source->repair));
    double n = ls_failures_components (source, nodes);
    double count = n * (double) plan->spec.until_us / 1e6 / each_s;
    g_autofree char *path = NULL, *life = NULL, *most = NULL;

    if (!isfinite (each_s) || count <= MOST_FAILURES)
      continue;
    path = ls_config_path ("faults", "failures", source->name, "lifetime", NULL);
    life = ls_quantity_format (ls_distribution_mean (&source->lifetime), LS_DIMENSION_TIME);
    most = ls_quantity_format (count, LS_DIMENSION_COUNT);
    ls_config_error_at (
        config, errors, path,
        "%.0f components that last %s each fail %s times in one replication, and at "
        "most 10 million failures of a cause are simulated; give longer lives",
        n, life, most);
  }
}

/* Stragglers that last: those that happen once are told and left out. */
static void take_stragglers (LsConfig *config, LsConfigErrors *errors, const LsStragglers *given,
                             LsStepTimes *times) {
  if (given == NULL)
    return;
  times->stragglers = *given;
  times->stragglers.all = g_new0 (LsStraggler, MAX (given->n, 1u));
  times->stragglers.n = 0;
  times->stragglers.has_timers = FALSE;
  for (guint i = 0; i < given->n; i++) {
    const LsStraggler *one = &given->all[i];
    if (one->is_timed && !one->comes_and_goes) {
      g_autofree char *path = ls_config_path ("faults", "stragglers", one->name, NULL);
      ls_config_warning_at (config, errors, path,
                            "no effect on the campaign: it happens once, in the first steps");
      continue;
    }
    times->stragglers.all[times->stragglers.n++] = *one;
    times->stragglers.has_timers |= one->is_timed;
  }
  times->sampled =
      times->stragglers.n > 0 && (times->stragglers.draws || times->stragglers.has_timers);
}

LsStepTimes *ls_step_times_new (LsConfig *config, LsConfigErrors *errors, const LsCluster *cluster,
                                const LsWorkload *workload, const LsStragglers *stragglers,
                                LsCampaignPlan *plan) {
  g_autoptr (LsStepTimes) times = g_new0 (LsStepTimes, 1);
  guint faults = ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR);
  LsCampaignSpec *spec = &plan->spec;

  times->cluster = cluster;
  times->workload = workload;
  times->plan = plan;
  times->known = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  times->reshards = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  g_mutex_init (&times->lock);
  find_units (times);
  take_stragglers (config, errors, stragglers, times);
  ls_checkpoint_times (cluster, workload, plan->layout, &times->checkpoint);
  spec->replicas = times->units;
  spec->nodes_per_replica = times->nodes_per_unit;
  spec->workers_per_replica = times->replicas_per_unit;
  spec->samples_per_step = workload->global_batch;
  spec->tokens_per_step = ls_model_has_tokens (workload->model)
                              ? workload->global_batch * workload->seq_len
                              : workload->global_batch;
  spec->interval_us = interval_us (times);
  spec->times = (LsCampaignTimes){step_ps, checkpoint_cost, memory_us, restore_us, times};
  check_storage (config, errors, times);
  if (spec->policy == LS_RECOVERY_ELASTIC)
    check_sizes (config, errors, times);
  if (ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR) == faults)
    check_counts (config, errors, times);
  check_failures (config, errors, times);
  guint left = ls_cluster_n_nodes (cluster) - times->units * times->nodes_per_unit;
  if (plan->spares_from_cluster && spec->spares > left)
    ls_config_error_at (config, errors, "campaign.spares.nodes",
                        "the job leaves %u nodes of the cluster; take fewer, or from: extra", left);
  if (ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR) != faults)
    return NULL;
  return g_steal_pointer (&times);
}

void ls_step_times_free (LsStepTimes *times) {
  if (times == NULL)
    return;
  g_hash_table_unref (times->known);
  g_hash_table_unref (times->reshards);
  g_free (times->stragglers.all);
  g_mutex_clear (&times->lock);
  g_free (times);
}

const LsCheckpointTimes *ls_step_times_checkpoint (const LsStepTimes *times) {
  return &times->checkpoint;
}

guint ls_step_times_n_simulated (LsStepTimes *times) {
  g_mutex_lock (&times->lock);
  guint n = g_hash_table_size (times->known);
  g_mutex_unlock (&times->lock);
  return n;
}
