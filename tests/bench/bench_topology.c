/* What a cluster of 131,072 GPUs costs before anything runs: 16,384 DGX H100 on a fat tree of three tiers of
 * 128 ports, without an engine (check, folding) and with one; and a route through it. */
#include "bench.h"

#include "base/assert.h"
#include "net/route.h"

#define NODES 16384

static LsCluster *make_cluster (void) {
  const LsNode *row = ls_node_find ("dgx-h100", NULL);
  LS_REQUIRE (row != NULL, "the catalogue has a DGX H100");
  LsNodeGroup group = {.name = (char *) "main", .nodes = NODES};
  ls_node_spec_from_preset (&group.node, row);
  LsFabricSpec fabric = {.name = (char *) "compute",
                         .hop_latency_ps = 600000,
                         .rails = 8,
                         .tiers = 3,
                         .leaf_radix = 128,
                         .spine_radix = 128,
                         .oversubscription = 1,
                         .spine_oversubscription = 1,
                         .hop_ps = -1};
  return ls_cluster_new_from (&group, 1, &fabric, 1, NULL);
}

/* Bytes that the process holds now, from the kernel; 0 where it does not tell. */
static double resident_bytes (void) {
  g_autofree char *text = NULL;
  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, NULL))
    return 0;
  g_auto (GStrv) words = g_strsplit (text, " ", 3);
  return words[0] != NULL && words[1] != NULL
             ? (double) g_ascii_strtoull (words[1], NULL, 10) * 4096
             : 0;
}

static void measure_routes (const LsTopology *topology) {
  LsUsages usages;
  guint n = 0;
  double start = bench_cpu_s ();
  ls_usages_init (&usages, ls_topology_n_resources (topology));
  for (guint gpu = 0; gpu < topology->n_gpus; gpu++, n++)
    ls_route_gpus (topology, &usages, gpu, (gpu + 4321) % topology->n_gpus, 1);
  bench_line ("routes between nodes, 131,072 of them", (bench_cpu_s () - start) * 1e9 / n,
              "ns each");
  ls_usages_clear (&usages);
}

static void run (guint repeats) {
  g_autoptr (LsCluster) cluster = make_cluster ();
  g_autofree double *alone = g_new (double, repeats);
  g_autofree double *with_engine = g_new (double, repeats);
  double before = resident_bytes (), bytes[2] = {0, 0};
  for (guint i = 0; i < repeats; i++) {
    double start = bench_cpu_s ();
    g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
    alone[i] = bench_cpu_s () - start;
    if (i == 0) {
      bytes[0] = resident_bytes () - before;
      measure_routes (topology);
    }
  }
  before = resident_bytes ();
  for (guint i = 0; i < repeats; i++) {
    g_autoptr (LsEngine) engine = ls_engine_new ();
    double start = bench_cpu_s ();
    g_autoptr (LsTopology) topology = ls_topology_new (cluster, engine);
    with_engine[i] = bench_cpu_s () - start;
    if (i == 0)
      bytes[1] = resident_bytes () - before;
  }
  bench_ratio ("CPU seconds, 131,072 GPUs, no engine", bench_median (alone, repeats), 0.15, FALSE);
  bench_ratio ("MB, no engine", bytes[0] / 1e6, 150, FALSE);
  bench_line ("CPU seconds, with an engine's resources", bench_median (with_engine, repeats), "s");
  bench_line ("MB more, with an engine's resources", bytes[1] / 1e6, "MB");
}

const BenchSection bench_topology = {
    .name = "topology", .summary = "building the network of 131,072 GPUs", .run = run};
