/* Runs of updates on a cluster; see update_run.h. */
#include "train/run/update_run.h"

#include "base/assert.h"
#include "base/error.h"
#include "train/run/update_net.h"
#include "train/update/update_timed.h"

struct LsUpdateRun {
  const LsCluster *cluster;
  const LsWorkload *workload;
  guint64 seed;
  LsEngine *engine;
  LsNet *net;
  LsUpdateNet *transfers; /* NULL: they take no time */
  LsTimedWorkers *timed;  /* or replicas */
  LsReplicas *replicas;
  LsUpdate *update;
  guint *gpus; /* worker x per_worker */
  guint per_worker;
  double sent_bytes;
  double wall_s;
};

static void compute (gpointer self, LsUpdate *update, guint worker) {
  LsUpdateRun *run = self;

  if (run->timed != NULL)
    ls_timed_workers_compute (run->timed, update, worker);
  else
    ls_replicas_compute (run->replicas, update, worker);
}

static void abandon (gpointer self, LsUpdate *update, guint worker) {
  LsUpdateRun *run = self;

  LS_REQUIRE (run->timed != NULL, "a replica's step cannot be ended in its middle");
  ls_timed_workers_abandon (run->timed, update, worker);
}

static guint transfer (gpointer self, LsUpdateWay way, guint worker, guint shard) {
  LsUpdateRun *run = self;

  run->sent_bytes += (double) ls_update_net_bytes (run->transfers, way);
  return ls_update_net_transfer (run->transfers, way, worker, shard);
}

static guint work (gpointer self, guint shard, gboolean step) {
  return ls_update_net_work (((LsUpdateRun *) self)->transfers, shard, step);
}

static const guint *reduce (gpointer self, guint *n) {
  LsUpdateRun *run = self;
  const LsUpdatePlan *plan = &run->workload->update;

  /* A ring sends 2 (n - 1) / n of the buffer per member. */
  run->sent_bytes += 2.0 * (plan->spec.workers - 1) * (double) plan->push_bytes;
  return ls_update_net_reduce (run->transfers, n);
}

static guint exchange (gpointer self, guint from, guint to) {
  LsUpdateRun *run = self;

  run->sent_bytes += (double) run->workload->update.model_bytes;
  return ls_update_net_exchange (run->transfers, from, to);
}

/* Worker w is the w-th replica: its ranks in order. */
static void deal_gpus (LsUpdateRun *run) {
  const LsWorkload *workload = run->workload;
  const LsLayout *layout = &workload->layout;
  guint *filled;

  run->per_worker = ls_layout_replica (layout);
  run->gpus = g_new0 (guint, layout->data * run->per_worker);
  filled = g_new0 (guint, layout->data);
  for (guint rank = 0; rank < layout->ranks; rank++) {
    guint worker = ls_layout_coordinates (layout, rank).data;
    run->gpus[worker * run->per_worker + filled[worker]++] = workload->gpu_of_rank[rank];
  }
  g_free (filled);
}

LsUpdateRun *ls_update_run_new (const LsCluster *cluster, const LsWorkload *workload, guint64 seed,
                                GError **error) {
  g_autoptr (LsUpdateRun) run = g_new0 (LsUpdateRun, 1);
  const LsUpdatePlan *plan = &workload->update;
  LsUpdateHost host = {.compute = compute, .abandon = abandon, .self = run};

  run->cluster = cluster;
  run->workload = workload;
  run->seed = seed;
  run->engine = ls_engine_new ();
  run->net = ls_net_new (cluster, run->engine);
  deal_gpus (run);
  if (plan->network) {
    run->transfers =
        ls_update_net_new (plan, run->net, run->engine, cluster, run->gpus, run->per_worker);
    host.reduce = reduce;
    host.exchange = exchange;
    if (plan->n_server_nodes > 0) {
      host.transfer = transfer;
      host.work = work;
    }
  }
  if (plan->timed) {
    run->timed = ls_timed_workers_new (&plan->compute, plan->factors, plan->spec.workers, seed);
  } else {
    run->replicas = ls_replicas_new (cluster, workload, run->engine, run->net, run->gpus,
                                     run->per_worker, error);
    if (run->replicas == NULL)
      return NULL;
  }
  run->update = ls_update_new (&plan->spec, run->engine, &host);
  return g_steal_pointer (&run);
}

void ls_update_run_free (LsUpdateRun *run) {
  if (run == NULL)
    return;
  ls_update_free (run->update);
  ls_timed_workers_free (run->timed);
  ls_engine_free (run->engine);
  ls_replicas_free (run->replicas);
  ls_update_net_free (run->transfers);
  ls_net_free (run->net);
  g_free (run->gpus);
  g_free (run);
}

gboolean ls_update_run_go (LsUpdateRun *run, const volatile gint *stop, LsUpdateProgress progress,
                           gpointer progress_self, GError **error) {
  gint64 wall_us = g_get_monotonic_time ();

  ls_update_begin (run->update);
  gboolean good = ls_update_run (run->update, stop, progress, progress_self, error);
  ls_update_finish (run->update);
  run->wall_s += (double) (g_get_monotonic_time () - wall_us) / 1e6;
  if (good)
    ls_engine_check (run->engine);
  return good;
}

LsUpdate *ls_update_run_update (LsUpdateRun *run) {
  return run->update;
}

LsEngine *ls_update_run_engine (LsUpdateRun *run) {
  return run->engine;
}

LsReplicas *ls_update_run_replicas (LsUpdateRun *run) {
  return run->replicas;
}

LsNet *ls_update_run_net (LsUpdateRun *run) {
  return run->net;
}

const LsCluster *ls_update_run_cluster (const LsUpdateRun *run) {
  return run->cluster;
}

const LsWorkload *ls_update_run_workload (const LsUpdateRun *run) {
  return run->workload;
}

guint64 ls_update_run_seed (const LsUpdateRun *run) {
  return run->seed;
}

double ls_update_run_wall_s (const LsUpdateRun *run) {
  return run->wall_s;
}

guint ls_update_run_gpus_per_worker (const LsUpdateRun *run) {
  return run->per_worker;
}

const guint *ls_update_run_gpus (const LsUpdateRun *run, guint worker) {
  return &run->gpus[worker * run->per_worker];
}

double ls_update_run_sent_bytes (const LsUpdateRun *run) {
  return run->sent_bytes;
}
