/* Flow churn: on a fat tree of 1,024 hosts one flow leaves and another arrives, between random pairs, and the
 * shares are solved after each such change: beside a solve from nothing each time, in the same run.
 *
 * The tree: 32 leaves of 32 hosts, 32 spines; every link carries one unit each way. Flows are spread over all
 * spines (the uplinks of a leaf are one resource of 32 units, as for routing by spray), or each takes one spine
 * drawn with its pair. The figures per host count a flow at both of its hosts. */
#include "bench.h"

#include "base/assert.h"
#include "engine/sharing.h"

#define HOSTS 1024u
#define LEAVES 32u
#define SPINES 32u
/* Resources: up links of hosts, down links of hosts, up links of leaves, down links of leaves. */
#define LEAF_LINKS (LEAVES * SPINES)

typedef struct {
  const char *name;
  guint flows_per_host, n_changes;
  gboolean spread;
  double wanted; /* changes per CPU second; 0: not asked for */
} Case;

typedef struct {
  LsSharing *sharing;
  LsUsage *usages; /* four per flow */
  guint32 *flows;
  guint n;
  gboolean spread;
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
  guint spine = churn->spread ? 0 : below (churn, SPINES), n = 0;
  LsUsage *usages = &churn->usages[4 * f];

  usages[n++] = (LsUsage){from, LS_USAGE_ONE};
  usages[n++] = (LsUsage){HOSTS + to, LS_USAGE_ONE};
  if (leaf_from != leaf_to) {
    usages[n++] = (LsUsage){2 * HOSTS + leaf_from * SPINES + spine, LS_USAGE_ONE};
    usages[n++] = (LsUsage){2 * HOSTS + LEAF_LINKS + leaf_to * SPINES + spine, LS_USAGE_ONE};
  }
  churn->flows[f] = ls_sharing_add_flow (churn->sharing, LS_RATE_ONE, from, n, usages, f);
}

static void begin (Churn *churn, const Case *how) {
  const LsRateChange *changes;

  churn->n = how->flows_per_host * HOSTS / 2;
  churn->spread = how->spread;
  churn->state = G_GUINT64_CONSTANT (88172645463325252);
  churn->usages = g_new (LsUsage, 4 * churn->n);
  churn->flows = g_new (guint32, churn->n);
  churn->sharing = ls_sharing_new ();
  for (guint link = 0; link < 2 * HOSTS; link++)
    ls_sharing_add_resource (churn->sharing, LS_RATE_ONE);
  for (guint link = 0; link < 2 * LEAF_LINKS; link++)
    ls_sharing_add_resource (churn->sharing, how->spread ? SPINES * LS_RATE_ONE : LS_RATE_ONE);
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

static void run_case (const Case *how, guint repeats) {
  g_autofree double *ours = g_new (double, repeats);
  g_autofree double *whole = g_new (double, repeats);
  LsSharingCounters before = {0}, after = {0};
  Churn churn;

  begin (&churn, how);
  for (guint i = 0; i < repeats; i++) {
    whole[i] = changes_per_s (&churn, 50, TRUE);
    before = ls_sharing_counters (churn.sharing);
    ours[i] = changes_per_s (&churn, how->n_changes, FALSE);
    after = ls_sharing_counters (churn.sharing);
  }
  double rate = bench_median (ours, repeats);
  double changed = (double) (after.flows_changed - before.flows_changed);
  g_print (" %s\n", how->name);
  if (how->wanted > 0)
    bench_ratio ("changes per CPU second", rate, how->wanted, TRUE);
  else
    bench_line ("changes per CPU second", rate, "");
  bench_line ("beside a solve from nothing each time", rate / bench_median (whole, repeats), "x");
  bench_line ("flows whose rate changes, per change", changed / how->n_changes, "");
  bench_line ("flows touched per flow whose rate changes",
              (double) (after.flows_touched - before.flows_touched) / changed, "");
  bench_line ("links reached, per change",
              (double) (after.resources_reached - before.resources_reached) / how->n_changes, "");
  end (&churn);
}

static void run (guint repeats) {
  static const Case cases[] = {
      {"2 flows per host, spread", 2, 100000, TRUE, 200000},
      {"10 flows per host, spread", 10, 5000, TRUE, 10000},
      {"2 flows per host, one spine each", 2, 50000, FALSE, 0},
      {"10 flows per host, one spine each", 10, 2000, FALSE, 0},
      {"20 flows per host, spread", 20, 300, TRUE, 0},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    run_case (&cases[i], repeats);
}

const BenchSection bench_churn = {
    "churn", "flows that come and go on a fat tree of 1,024 hosts, solved after each change", run};
