/* Asynchronous updates: how many per second of CPU, timing only.
 *
 * 64 workers, async. Alone: transfers take no time. Apart: pushes and models take real time and load
 * links, but hardly ever two at once (the port is used for 0.3 % of the time). Shared: the port is full for
 * some nine tenths of the time, so that each start and end changes the rates of all; how many pushes and
 * how many models share it on average is printed (Little's law: who does not compute is on the way).
 */
#include "bench.h"

#include "train/update/update_timed.h"

#define WORKERS 64u
#define LINK_BYTES_PER_S 50e9
#define LATENCY_PS 20000000
#define COMPUTE_S 0.05

typedef struct {
  double per_cpu_s; /* updates */
  double flows;     /* under way in each direction, on average */
} Measured;

typedef struct {
  LsTimedWorkers *timed;
  guint push[WORKERS], model[WORKERS];
  LsTransfer transfers[2 * WORKERS];
  LsPhase phases[2 * WORKERS];
  LsUsage usages[2 * WORKERS][2];
} Scene;

static void compute (gpointer self, LsUpdate *update, guint worker) {
  ls_timed_workers_compute (((Scene *) self)->timed, update, worker);
}

static void abandon (gpointer self, LsUpdate *update, guint worker) {
  ls_timed_workers_abandon (((Scene *) self)->timed, update, worker);
}

static guint transfer (gpointer self, LsUpdateWay way, guint worker, guint shard) {
  const Scene *scene = self;

  (void) shard;
  return way == LS_UPDATE_WAY_PUSH    ? scene->push[worker]
         : way == LS_UPDATE_WAY_MODEL ? scene->model[worker]
                                      : LS_UPDATE_NOTHING;
}

/* One flow per worker and direction over the server's port and the worker's. */
static void add_transfers (Scene *scene, LsEngine *engine, gint64 bytes) {
  guint port[2] = {ls_engine_add_resource (engine, "server.in", LINK_BYTES_PER_S),
                   ls_engine_add_resource (engine, "server.out", LINK_BYTES_PER_S)};

  for (guint i = 0; i < 2 * WORKERS; i++) {
    guint own = ls_engine_add_resource (engine, "worker", LINK_BYTES_PER_S);
    scene->usages[i][0] = (LsUsage){port[i % 2], LS_USAGE_ONE};
    scene->usages[i][1] = (LsUsage){own, LS_USAGE_ONE};
    scene->phases[i] = (LsPhase){
        .latency_ps = LATENCY_PS, .work_bytes = bytes, .n_usages = 2, .usages = scene->usages[i]};
    scene->transfers[i] = (LsTransfer){.n_phases = 1,
                                       .phases = &scene->phases[i],
                                       .beside_compute = LS_USAGE_ONE,
                                       .message_bytes = bytes};
    *(i % 2 == 0 ? &scene->push[i / 2] : &scene->model[i / 2]) =
        ls_engine_add_transfer (engine, &scene->transfers[i]);
  }
}

static Measured measure (gint64 bytes, gint64 updates) {
  const LsDistribution law = ls_distribution ("exponential", COMPUTE_S, 0, 0);
  LsUpdateSpec spec = {.policy = ls_update_policy_find ("async"),
                       .workers = WORKERS,
                       .k = 1,
                       .local_steps = 1,
                       .staleness_bound = -1,
                       .discard_above = -1,
                       .shards = 1,
                       .samples = 1,
                       .stop_updates = updates,
                       .stop_samples = -1,
                       .stop_ps = -1};
  g_autofree Scene *scene = g_new0 (Scene, 1);
  LsUpdateHost host = {.compute = compute, .abandon = abandon, .self = scene};
  LsEngine *engine = ls_engine_new ();

  scene->timed = ls_timed_workers_new (&law, NULL, WORKERS, 1);
  if (bytes > 0) {
    add_transfers (scene, engine, bytes);
    host.transfer = transfer;
  }
  LsUpdate *update = ls_update_new (&spec, engine, &host);
  double cpu_s = bench_cpu_s ();
  ls_update_begin (update);
  ls_update_run (update, NULL, NULL, NULL, NULL);
  cpu_s = bench_cpu_s () - cpu_s;
  double updates_per_s = (double) updates / (1e-12 * (double) ls_engine_now_ps (engine));
  ls_update_free (update);
  ls_timed_workers_free (scene->timed);
  ls_engine_free (engine);
  return (Measured){(double) updates / cpu_s, (WORKERS - updates_per_s * COMPUTE_S) / 2};
}

static Measured median_of (guint repeats, gint64 bytes, gint64 updates) {
  g_autofree double *values = g_new (double, repeats);
  Measured last = {0, 0};

  for (guint i = 0; i < repeats; i++) {
    last = measure (bytes, updates);
    values[i] = last.per_cpu_s / 1e6;
  }
  return (Measured){bench_median (values, repeats), last.flows};
}

static void run (guint repeats) {
  Measured alone = median_of (repeats, 0, 2000000), apart = median_of (repeats, 100000, 1000000),
           shared = median_of (repeats, 50000000, 300000);

  bench_ratio ("no transfers, M updates/s", alone.per_cpu_s, 1.5, TRUE);
  bench_ratio ("transfers that hardly meet, M updates/s", apart.per_cpu_s, 1.5, TRUE);
  bench_line ("  under way each way, latency included", apart.flows, "transfers");
  bench_ratio ("sharing the server's port, M updates/s", shared.per_cpu_s, 0.3, TRUE);
  bench_line ("  under way each way, latency included", shared.flows, "transfers");
}

const BenchSection bench_updates = {"updates", "asynchronous updates per second of CPU", run};
