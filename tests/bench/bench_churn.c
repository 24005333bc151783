/* Flow churn: on a fat tree of 1,024 hosts one flow leaves and another arrives, between random pairs, and the
 * shares are solved after each such change: beside a solve from nothing each time, in the same run.
 *
 * The tree: 32 leaves of 32 hosts, 32 spines; every link carries one unit each way; the spine of a flow is drawn
 * with its pair. */
#include "bench.h"

#include "base/assert.h"
#include "engine/sharing.h"

#define HOSTS 1024u
#define LEAVES 32u
#define SPINES 32u
#define LINKS (2 * HOSTS + 2 * LEAVES)

typedef struct {
  LsSharing *sharing;
  LsUsage *usages; /* four per flow */
  guint32 *flows;
  guint n;
  guint64 state;
} Churn;

/* xorshift64* */
static guint below (Churn *churn, guint n) {
  churn->state ^= churn->state >> 12;
  churn->state ^= churn->state << 25;
  churn->state ^= churn->state >> 27;
  return (guint) ((churn->state * G_GUINT64_CONSTANT (2685821657736338717)) >> 33) % n;
}

static void start (Churn *churn, guint f) {
  guint from = below (churn, HOSTS), to = (from + 1 + below (churn, HOSTS - 1)) % HOSTS;
  guint leaf_from = from / (HOSTS / LEAVES), leaf_to = to / (HOSTS / LEAVES);
  guint n = 0;
  LsUsage *usages = &churn->usages[4 * f];

  usages[n++] = (LsUsage){from, LS_USAGE_ONE};
  usages[n++] = (LsUsage){HOSTS + to, LS_USAGE_ONE};
  if (leaf_from != leaf_to) {
    usages[n++] = (LsUsage){2 * HOSTS + leaf_from, LS_USAGE_ONE};
    usages[n++] = (LsUsage){2 * HOSTS + LEAVES + leaf_to, LS_USAGE_ONE};
  }
  churn->flows[f] = ls_sharing_add_flow (churn->sharing, LS_RATE_ONE, from, n, usages, f);
}

static void begin (Churn *churn, guint flows_per_host) {
  const LsRateChange *changes;

  churn->n = flows_per_host * HOSTS;
  churn->state = G_GUINT64_CONSTANT (88172645463325252);
  churn->usages = g_new (LsUsage, 4 * churn->n);
  churn->flows = g_new (guint32, churn->n);
  churn->sharing = ls_sharing_new ();
  for (guint link = 0; link < LINKS; link++)
    ls_sharing_add_resource (churn->sharing, link < 2 * HOSTS ? LS_RATE_ONE : 32 * LS_RATE_ONE);
  for (guint f = 0; f < churn->n; f++)
    start (churn, f);
  ls_sharing_solve (churn->sharing, &changes);
}

static void end (Churn *churn) {
  ls_sharing_free (churn->sharing);
  g_free (churn->usages);
  g_free (churn->flows);
}

/* Changes per CPU second; `whole`: every solve begins from nothing. */
static double changes_per_s (Churn *churn, guint n_changes, gboolean whole) {
  const LsRateChange *changes;
  double start_s = bench_cpu_s ();

  for (guint i = 0; i < n_changes; i++) {
    guint f = below (churn, churn->n);
    ls_sharing_remove_flow (churn->sharing, churn->flows[f]);
    start (churn, f);
    if (whole)
      ls_sharing_reopen (churn->sharing);
    ls_sharing_solve (churn->sharing, &changes);
  }
  return n_changes / (bench_cpu_s () - start_s);
}

static void run_with (guint flows_per_host, guint n_changes, double wanted, guint repeats) {
  g_autofree double *ours = g_new (double, repeats);
  g_autofree double *whole = g_new (double, repeats);
  Churn churn;

  begin (&churn, flows_per_host);
  LsSharingCounters before = {0}, after = {0};
  for (guint i = 0; i < repeats; i++) {
    whole[i] = changes_per_s (&churn, 100, TRUE);
    before = ls_sharing_counters (churn.sharing);
    ours[i] = changes_per_s (&churn, n_changes, FALSE);
    after = ls_sharing_counters (churn.sharing);
  }
  double rate = bench_median (ours, repeats);
  g_print ("  %u flows per host\n", flows_per_host);
  bench_ratio ("changes per CPU second", rate, wanted, TRUE);
  bench_line ("beside a solve from nothing each time", rate / bench_median (whole, repeats), "x");
  double changed = (double) (after.flows_changed - before.flows_changed);
  bench_line ("flows whose rate changes, per change", changed / n_changes, "");
  bench_line ("flows touched per flow whose rate changes",
              (double) (after.flows_touched - before.flows_touched) / changed, "");
  bench_line ("links measured, per change",
              (double) (after.resources_reached - before.resources_reached) / n_changes, "");
  end (&churn);
}

static void run (guint repeats) {
  run_with (2, 200000, 200000, repeats);
  run_with (10, 10000, 10000, repeats);
}

const BenchSection bench_churn = {
    "churn", "flows that come and go on a fat tree of 1,024 hosts, solved after each change", run};
