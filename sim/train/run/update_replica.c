/* Workers that run programs; see update_replica.h. */
#include "train/run/update_replica.h"

#include "base/assert.h"

/* How long a gate stays shut if nobody opens it: longer than any run. */
#define SHUT_PS ((gint64) 1 << 61)
/* Steps of a program; a run ends long before. */
#define STEPS ((gint64) 1 << 30)

struct LsReplicas {
  const LsCluster *cluster;
  LsEngine *engine;
  LsUpdate *update;
  LsTables *tables;
  guint n_workers, per_worker;
  GPtrArray *jobs; /* LsJob: one per kind of replica */
  guint *job_of;   /* worker */
  gint64 *gate_ps; /* by rank: the engine's table 0 */
  guint *ended;    /* worker: ranks that have met the end of its step */
};

/* The workload as one replica sees it. */
static LsWorkload *of_one_replica (const LsWorkload *workload, const guint *gpus,
                                   guint per_worker) {
  LsWorkload *one = ls_workload_copy (workload);

  one->layout.data = 1;
  one->layout.ranks = per_worker;
  g_free (one->gpu_of_rank);
  one->gpu_of_rank = g_memdup2 (gpus, per_worker * sizeof *gpus);
  one->global_batch = workload->update.spec.samples;
  one->microbatches = MAX (1, one->global_batch / one->micro_batch);
  one->zero.stage = 0;
  one->steps = STEPS;
  if (!workload->update.spec.policy->local && workload->update.n_server_nodes > 0) {
    one->optimizer = (LsOptimizer){.kind = LS_OPTIMIZER_SGD};
    one->precision.master_used = FALSE;
  }
  return one;
}

static gboolean same_accelerators (const LsReplicas *r, const guint *a, const guint *b) {
  for (guint i = 0; i < r->per_worker; i++)
    if (ls_cluster_gpu (r->cluster, a[i]) != ls_cluster_gpu (r->cluster, b[i]))
      return FALSE;
  return TRUE;
}

/* Compiles one job per kind of replica; job_of. */
static gboolean build_jobs (LsReplicas *r, const LsWorkload *workload, const guint *gpus,
                            GError **error) {
  for (guint w = 0; w < r->n_workers; w++) {
    const guint *own = &gpus[w * r->per_worker];
    guint k = 0;
    while (k < r->jobs->len &&
           !same_accelerators (r, own, ((LsJob *) r->jobs->pdata[k])->gpu_of_rank))
      k++;
    r->job_of[w] = k;
    if (k < r->jobs->len)
      continue;
    g_autoptr (LsWorkload) one = of_one_replica (workload, own, r->per_worker);
    LsJob *job = ls_job_build_with (one, r->cluster, r->tables, error);
    if (job == NULL)
      return FALSE;
    g_ptr_array_add (r->jobs, job);
  }
  return TRUE;
}

static void install (LsReplicas *r, LsNet *net, const guint *gpus) {
  guint n = ls_cluster_n_gpus (r->cluster);
  g_autofree guint *devices = g_new0 (guint, MAX (n, 1u));
  g_autofree guint *hosts = g_new0 (guint, MAX (n, 1u));

  for (guint w = 0; w < r->n_workers; w++) {
    const LsJob *job = r->jobs->pdata[r->job_of[w]];
    for (guint i = 0; i < r->per_worker; i++) {
      guint gpu = gpus[w * r->per_worker + i], as = job->gpu_of_rank[i];
      devices[as] = gpu;
      hosts[as] = ls_net_host_device (net, ls_cluster_gpu_node (r->cluster, gpu));
    }
    ls_job_install (job, r->engine, devices, hosts);
  }
  ls_net_set_ranks (net, gpus, r->n_workers * r->per_worker);
  ls_net_set_descriptors (net, ls_tables_descriptors (r->tables),
                          ls_tables_n_descriptors (r->tables));
  ls_engine_set_expander (r->engine, ls_net_expander (), net);
}

/* A rank has met the end of its replica's step: before any of them begins the next. */
static void on_mark (gpointer self, guint rank, const LsOp *op, const gint32 *counters,
                     gint64 t_ps) {
  LsReplicas *r = self;
  guint worker = rank / r->per_worker;

  (void) op;
  (void) counters;
  (void) t_ps;
  r->gate_ps[rank] = SHUT_PS;
  if (++r->ended[worker] < r->per_worker)
    return;
  r->ended[worker] = 0;
  ls_update_computed (r->update, worker);
}

LsReplicas *ls_replicas_new (const LsCluster *cluster, const LsWorkload *workload, LsEngine *engine,
                             LsNet *net, const guint *gpus, guint per_worker, GError **error) {
  static const LsObserver observer = {.mark = on_mark};
  g_autoptr (LsReplicas) r = g_new0 (LsReplicas, 1);

  r->cluster = cluster;
  r->engine = engine;
  r->n_workers = workload->update.spec.workers;
  r->per_worker = per_worker;
  r->tables = ls_tables_new ();
  r->jobs = g_ptr_array_new_with_free_func ((GDestroyNotify) ls_job_free);
  r->job_of = g_new0 (guint, r->n_workers);
  r->gate_ps = g_new0 (gint64, r->n_workers * per_worker);
  r->ended = g_new0 (guint, r->n_workers);
  if (!build_jobs (r, workload, gpus, error))
    return NULL;
  install (r, net, gpus);
  guint table = ls_engine_add_table (engine, r->gate_ps);
  LS_REQUIRE (table == 0, "the gates of replicas are table 0");
  ls_engine_add_observer (engine, &observer, r);
  return g_steal_pointer (&r);
}

void ls_replicas_free (LsReplicas *r) {
  if (r == NULL)
    return;
  g_ptr_array_unref (r->jobs);
  g_clear_pointer (&r->tables, ls_tables_free);
  g_free (r->job_of);
  g_free (r->gate_ps);
  g_free (r->ended);
  g_free (r);
}

const LsJob *ls_replicas_job (const LsReplicas *r, guint worker) {
  return r->jobs->pdata[r->job_of[worker]];
}

LsTables *ls_replicas_tables (LsReplicas *r) {
  return r->tables;
}

void ls_replicas_compute (LsReplicas *r, LsUpdate *update, guint worker) {
  r->update = update;
  for (guint i = 0; i < r->per_worker; i++) {
    guint rank = worker * r->per_worker + i;
    r->gate_ps[rank] = 0;
    ls_engine_end_delay (r->engine, rank, LS_MAIN_STREAM);
  }
}
