/* Campaigns per second: step times are constants here, so only the campaign itself is measured. */
#include "bench.h"
#include "faults/campaign.h"

#define S_US G_GINT64_CONSTANT (1000000)
#define DAY_US (86400 * S_US)
#define HOUR_S 3600.0

static gint64 step_ps (gpointer self, const LsHealth *health) {
  (void) self;
  return G_GINT64_CONSTANT (5000000000000) / 100 * health->slow_percent;
}

static LsCheckpointCost checkpoint (gpointer self, guint replicas) {
  (void) self;
  (void) replicas;
  return (LsCheckpointCost){.blocking_us = 5 * S_US, .drain_us = 60 * S_US};
}

static gint64 restore_us (gpointer self, guint from, guint to, LsCheckpointPlace place) {
  (void) self;
  (void) from;
  (void) to;
  return (place != LS_KEPT_IN_STORAGE ? 10 : 90) * S_US;
}

static LsFailureSource source (const char *name, guint per_node, double mean_h) {
  return (LsFailureSource){.name = name,
                           .per_node = per_node,
                           .lifetime = ls_distribution ("exponential", mean_h * HOUR_S, 0, 0),
                           .repair = ls_distribution ("lognormal", 4 * HOUR_S, 1, 0)};
}

static LsCampaignSpec campaign (guint nodes, const LsFailureSource *sources, guint n, gint64 days) {
  return (LsCampaignSpec){.replicas = nodes / 16,
                          .nodes_per_replica = 16,
                          .spares = nodes / 100,
                          .gpus_per_node = 8,
                          .tokens_per_step = 16000000,
                          .n_sources = n,
                          .sources = sources,
                          .times = {step_ps, checkpoint, NULL, restore_us, NULL},
                          .interval_us = 600 * S_US,
                          .policy = LS_RECOVERY_SPARES,
                          .detect_us = 300 * S_US,
                          .swap_us = 120 * S_US,
                          .restart_us = 240 * S_US,
                          .until_us = days * DAY_US,
                          .seed = 1};
}

static void run (guint repeats) {
  /* Rates that give about 420 failures in 54 days on 16,384 GPUs. */
  LsFailureSource sources[] = {source ("gpu", 8, 90000), source ("nic", 8, 1e6),
                               source ("host", 1, 60000)};
  LsFailureSource weibull = source ("host", 1, 1);
  LsCampaignSpec one = campaign (2048, sources, 3, 54), many = campaign (12496, sources, 3, 90);
  LsReplica result;
  double *times = g_new (double, repeats);

  for (guint i = 0; i < repeats; i++) {
    double start = bench_cpu_s ();
    ls_campaign_run (&one, i, NULL, &result);
    times[i] = bench_cpu_s () - start;
    if (i == 0)
      bench_line ("interruptions of 16,384 GPUs in 54 days", result.interruptions, "");
    ls_replica_clear (&result);
  }
  bench_ratio ("CPU s, 54 days of 16,384 GPUs", bench_median (times, repeats), 2, FALSE);
  for (guint form = 0; form < 2; form++) {
    double start = bench_cpu_s (), wall = bench_wall_s ();
    g_autoptr (LsCampaignResult) all = ls_campaign_replicate (&many, 1000, 1000, 0, 0.95, 2, NULL);
    double seconds = bench_wall_s () - wall;
    bench_ratio (form == 0 ? "wall s on 2 threads, 1,000 x 90 days, 99,968 GPUs"
                           : "the same with Weibull lifetimes of hosts",
                 seconds, 60, FALSE);
    bench_line ("campaigns per second", 1000 / seconds, "1/s");
    bench_line ("CPU s", bench_cpu_s () - start, "s");
    bench_line ("interruptions of the first", all->replicas[0].interruptions, "");
    weibull.lifetime = ls_distribution ("weibull", 80000 * HOUR_S, 0.8, 0);
    sources[2] = weibull;
  }
  bench_ratio ("peak MB", (double) bench_peak_bytes () / 1e6, 500, FALSE);
  g_free (times);
}

const BenchSection bench_campaign = {"campaign", "months of training per second", run};
