/* A job on an engine; see simulation.h. */
#include "train/simulation.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/time.h"

/* Between two looks at the clock on the wall. */
#define SLICE_WALL_US 50000
#define FIRST_SLICE_PS LS_PS_PER_MS

struct LsSimulation {
  const LsCluster *cluster;
  const LsWorkload *workload;
  const LsJob *job;
  guint64 seed;
  LsEngine *engine;
  LsNet *net;
  const LsRunOptions *options; /* while running */
  /* The step that is running: what each rank's account was at its start, what the step came to. */
  gint64 step_start_ps;
  guint ended; /* ranks that have met its end */
  gint64 *before_ps, *parts_ps;
  gint64 *before_caused_ps, *caused_ps, *peak_bytes;
  /* Over all steps. */
  GArray *step_ps; /* gint64 */
  LsInt128 total_ps[LS_N_PARTS];
  double flops, sent_bytes;
  double wall_s;
  gint stopped; /* set when a step function fails, so that the engine stops */
  GError *error;
};

static void install (LsSimulation *simulation) {
  const LsJob *job = simulation->job;
  guint n = ls_cluster_n_gpus (simulation->cluster);
  g_autofree guint *devices = g_new (guint, MAX (n, 1u));
  g_autofree guint *hosts = g_new (guint, MAX (n, 1u));

  for (guint gpu = 0; gpu < n; gpu++) {
    devices[gpu] = gpu;
    hosts[gpu] =
        ls_net_host_device (simulation->net, ls_cluster_gpu_node (simulation->cluster, gpu));
  }
  ls_job_install (job, simulation->engine, devices, hosts);
  ls_net_set_ranks (simulation->net, job->gpu_of_rank, job->n_ranks);
  ls_net_set_descriptors (simulation->net, ls_tables_descriptors (job->tables),
                          ls_tables_n_descriptors (job->tables));
  ls_engine_set_expander (simulation->engine, ls_net_expander (), simulation->net);
  ls_engine_set_idle_part (simulation->engine, LS_PART_OTHER);
}

/* A rank has met the end of the step: its account since the last one. */
static void take_account (LsSimulation *simulation, guint rank) {
  gint64 now_ps[LS_MAX_PARTS], *before_ps = &simulation->before_ps[rank * LS_N_PARTS];
  gint64 *parts_ps = &simulation->parts_ps[rank * LS_N_PARTS], sum_ps = 0;
  gint64 step_ps = ls_engine_now_ps (simulation->engine) - simulation->step_start_ps;

  ls_engine_account (simulation->engine, rank, now_ps);
  for (guint part = 0; part < LS_N_PARTS; part++) {
    parts_ps[part] = now_ps[part] - before_ps[part];
    before_ps[part] = now_ps[part];
    sum_ps += parts_ps[part];
    simulation->total_ps[part] += parts_ps[part];
  }
  LS_REQUIRE (sum_ps == step_ps,
              "rank %u: the parts of step %u sum to %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
              " ps",
              rank, simulation->step_ps->len, sum_ps, step_ps);
  gint64 caused_ps = ls_engine_caused_wait_ps (simulation->engine, rank);
  simulation->caused_ps[rank] = caused_ps - simulation->before_caused_ps[rank];
  simulation->before_caused_ps[rank] = caused_ps;
  simulation->peak_bytes[rank] = ls_engine_memory_peak (simulation->engine, rank, NULL);
}

static void end_step (LsSimulation *simulation) {
  gint64 now_ps = ls_engine_now_ps (simulation->engine);
  gint64 step_ps = now_ps - simulation->step_start_ps;
  const LsStepResult result = {.step = simulation->step_ps->len,
                               .start_ps = simulation->step_start_ps,
                               .end_ps = now_ps,
                               .n_ranks = simulation->job->n_ranks,
                               .parts_ps = simulation->parts_ps,
                               .caused_wait_ps = simulation->caused_ps,
                               .peak_bytes = simulation->peak_bytes};
  const LsRunOptions *options = simulation->options;

  simulation->flops = simulation->sent_bytes = 0;
  for (guint rank = 0; rank < result.n_ranks; rank++) {
    simulation->flops += ls_engine_flops (simulation->engine, rank);
    simulation->sent_bytes += (double) ls_engine_bytes_sent (simulation->engine, rank);
  }
  g_array_append_val (simulation->step_ps, step_ps);
  simulation->step_start_ps = now_ps;
  simulation->ended = 0;
  if (options != NULL && options->step != NULL && simulation->error == NULL &&
      !options->step (options->step_self, &result, &simulation->error))
    g_atomic_int_set (&simulation->stopped, 1);
}

static void on_mark (gpointer self, guint rank, const LsOp *op, const gint32 *counters,
                     gint64 t_ps) {
  LsSimulation *simulation = self;

  (void) op;
  (void) counters;
  (void) t_ps;
  take_account (simulation, rank);
  if (++simulation->ended == simulation->job->n_ranks)
    end_step (simulation);
}

LsSimulation *ls_simulation_new (const LsCluster *cluster, const LsWorkload *workload,
                                 const LsJob *job, guint64 seed) {
  static const LsObserver observer = {.mark = on_mark};
  LsSimulation *simulation = g_new0 (LsSimulation, 1);
  gsize n = job->n_ranks;

  simulation->cluster = cluster;
  simulation->workload = workload;
  simulation->job = job;
  simulation->seed = seed;
  simulation->engine = ls_engine_new ();
  simulation->net = ls_net_new (cluster, simulation->engine);
  simulation->before_ps = g_new0 (gint64, n * LS_N_PARTS);
  simulation->parts_ps = g_new0 (gint64, n * LS_N_PARTS);
  simulation->before_caused_ps = g_new0 (gint64, n);
  simulation->caused_ps = g_new0 (gint64, n);
  simulation->peak_bytes = g_new0 (gint64, n);
  simulation->step_ps = g_array_new (FALSE, FALSE, sizeof (gint64));
  install (simulation);
  ls_engine_add_observer (simulation->engine, &observer, simulation);
  return simulation;
}

void ls_simulation_free (LsSimulation *simulation) {
  if (simulation == NULL)
    return;
  /* In this order: the engine uses the net's templates. */
  ls_engine_free (simulation->engine);
  ls_net_free (simulation->net);
  g_free (simulation->before_ps);
  g_free (simulation->parts_ps);
  g_free (simulation->before_caused_ps);
  g_free (simulation->caused_ps);
  g_free (simulation->peak_bytes);
  g_array_unref (simulation->step_ps);
  g_clear_error (&simulation->error);
  g_free (simulation);
}

/* Runs up to `until_ps` unless somebody wants it to stop. */
static gboolean run_until (LsSimulation *simulation, gint64 until_ps, GError **error) {
  const volatile gint *stop = simulation->options->stop;

  if (simulation->error == NULL &&
      ls_engine_run (simulation->engine, until_ps, stop != NULL ? stop : &simulation->stopped,
                     error))
    return simulation->error == NULL;
  return FALSE;
}

/* In slices of simulated time that take about SLICE_WALL_US each, to report in between. Slices change
 * nothing: the engine goes on where it stopped. */
static gboolean run_sliced (LsSimulation *simulation, GError **error) {
  const LsRunOptions *options = simulation->options;
  double all = (double) ls_job_n_operations (simulation->job);
  gint64 slice_ps = FIRST_SLICE_PS;

  for (;;) {
    gint64 wall_us = g_get_monotonic_time ();
    if (!run_until (simulation, ls_engine_now_ps (simulation->engine) + slice_ps, error))
      return FALSE;
    double done = (double) ls_engine_n_operations (simulation->engine);
    if (options->progress != NULL)
      options->progress (options->progress_self, MIN (done / all, 1.0));
    if (done >= all)
      return TRUE;
    wall_us = g_get_monotonic_time () - wall_us;
    if (wall_us < SLICE_WALL_US / 2 && slice_ps < G_MAXINT64 / 8)
      slice_ps *= 2;
    else if (wall_us > SLICE_WALL_US * 2 && slice_ps > 1)
      slice_ps /= 2;
  }
}

static void check_bytes (const LsSimulation *simulation) {
  LsInt128 sent = 0, received = 0;

  for (guint rank = 0; rank < simulation->job->n_ranks; rank++) {
    sent += ls_engine_bytes_sent (simulation->engine, rank);
    received += ls_engine_bytes_received (simulation->engine, rank);
  }
  LS_REQUIRE (sent == received, "bytes sent and received differ");
}

gboolean ls_simulation_run (LsSimulation *simulation, const LsRunOptions *options, GError **error) {
  static const LsRunOptions none = {0};
  gint64 wall_us = g_get_monotonic_time ();
  g_autoptr (GError) fault = NULL;

  simulation->options = options != NULL ? options : &none;
  gboolean good = run_sliced (simulation, &fault);
  simulation->options = NULL;
  simulation->wall_s += (double) (g_get_monotonic_time () - wall_us) / 1e6;
  if (simulation->error != NULL)
    g_propagate_error (error, g_steal_pointer (&simulation->error));
  else if (fault != NULL)
    g_propagate_error (error, g_steal_pointer (&fault));
  if (!good)
    return FALSE;
  check_bytes (simulation);
  ls_engine_check (simulation->engine);
  return TRUE;
}

LsEngine *ls_simulation_engine (LsSimulation *simulation) {
  return simulation->engine;
}

LsNet *ls_simulation_net (LsSimulation *simulation) {
  return simulation->net;
}

const LsJob *ls_simulation_job (const LsSimulation *simulation) {
  return simulation->job;
}

const LsWorkload *ls_simulation_workload (const LsSimulation *simulation) {
  return simulation->workload;
}

const LsCluster *ls_simulation_cluster (const LsSimulation *simulation) {
  return simulation->cluster;
}

guint64 ls_simulation_seed (const LsSimulation *simulation) {
  return simulation->seed;
}

guint ls_simulation_n_steps (const LsSimulation *simulation) {
  return simulation->step_ps->len;
}

gint64 ls_simulation_step_ps (const LsSimulation *simulation, guint step) {
  LS_REQUIRE (step < simulation->step_ps->len, "step %u of %u", step, simulation->step_ps->len);
  return g_array_index (simulation->step_ps, gint64, step);
}

LsInt128 ls_simulation_part_ps (const LsSimulation *simulation, LsPart part) {
  return simulation->total_ps[part];
}

double ls_simulation_flops (const LsSimulation *simulation) {
  return simulation->flops;
}

double ls_simulation_sent_bytes (const LsSimulation *simulation) {
  return simulation->sent_bytes;
}

double ls_simulation_wall_s (const LsSimulation *simulation) {
  return simulation->wall_s;
}
