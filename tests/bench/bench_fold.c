/* Folding: one step of Llama-3 405B in the layout of its training (tensor 8, pipeline 16), every layer of every
 * micro-batch as events, from cluster and workload to the last event; files are not read. */
#include "bench.h"
#include "hw/nodes.h"
#include "train/run/summary.h"

typedef struct {
  LsCluster *cluster;
  LsWorkload *workload;
} Pod;

static Pod new_pod (guint nodes) {
  const LsFabricSpec fabric = {.name = (char *) "compute",
                               .kind = LS_FABRIC_FAT_TREE,
                               .routing = LS_ROUTING_SPRAY,
                               .hop_latency_ps = 500000,
                               .rails = 8,
                               .leaf_radix = 128,
                               .oversubscription = 1,
                               .spine_oversubscription = 1,
                               .hop_ps = -1};
  LsNodeGroup group = {.name = (char *) "main", .nodes = nodes};
  ls_node_spec_from_preset (&group.node, ls_node_find ("dgx-h100", NULL));
  Pod pod = {.cluster = ls_cluster_new_from (&group, 1, &fabric, 1, NULL),
             .workload =
                 ls_workload_new_default (ls_model_new_preset ("llama3-405b", NULL), nodes * 8)};
  pod.workload->gpus = nodes * 8;
  pod.workload->layout = ls_layout (8, nodes / 16, 16);
  pod.workload->seq_len = 8192;
  pod.workload->global_batch = nodes;
  pod.workload->sequence_parallel = TRUE;
  pod.workload->zero.stage = 1;
  pod.workload->schedule = LS_SCHEDULE_1F1B;
  pod.workload->layers_per_stage = g_new (guint, 16);
  for (guint stage = 0; stage < 16; stage++)
    pod.workload->layers_per_stage[stage] = stage == 0 || stage == 15 ? 7 : 8;
  return pod;
}

/* CPU seconds of everything but the pod itself's records. */
static double step_cpu_s (guint nodes, gboolean straggler, guint *classes) {
  g_autoptr (GError) error = NULL;
  double start_s = bench_cpu_s ();
  Pod pod = new_pod (nodes);
  if (!ls_workload_resolve (pod.workload, &error))
    g_error ("%s", error->message);
  LsJob *job = ls_job_build (pod.workload, pod.cluster, &error);
  g_autofree gint64 *factors = g_new (gint64, job->n_ranks);
  for (guint rank = 0; rank < job->n_ranks; rank++)
    factors[rank] = rank == 3 ? LS_USAGE_ONE * 3 / 2 : LS_USAGE_ONE;
  const LsSimulationJob one = {.workload = pod.workload, .job = job};
  const LsSimulationOptions how = {.fold = TRUE, .factor_of_rank = straggler ? factors : NULL};
  LsSimulation *simulation = ls_simulation_new_with (pod.cluster, &one, 1, 1, &how);
  if (!ls_simulation_run (simulation, NULL, &error))
    g_error ("%s", error->message);
  *classes = ls_simulation_n_places (simulation);
  ls_simulation_free (simulation);
  ls_job_free (job);
  ls_workload_free (pod.workload);
  ls_cluster_free (pod.cluster);
  return bench_cpu_s () - start_s;
}

static void run_fold (guint repeats) {
  guint classes, with;
  (void) repeats;
  double small_s = step_cpu_s (2048, FALSE, &classes);
  bench_ratio ("16,384 GPUs, CPU s", small_s, 0.3, FALSE);
  bench_line ("classes of ranks", classes, "");
  bench_ratio ("peak memory, MB", (double) bench_peak_bytes () / 1e6, 200, FALSE);
  double slow_s = step_cpu_s (2048, TRUE, &with);
  bench_ratio ("one straggler / none, CPU", slow_s / small_s, 6, FALSE);
  bench_line ("classes with a straggler", with, "");
  double large_s = step_cpu_s (16384, FALSE, &classes);
  bench_ratio ("131,072 GPUs, CPU s", large_s, 1, FALSE);
  bench_line ("classes of ranks", classes, "");
  bench_ratio ("peak memory, MB", (double) bench_peak_bytes () / 1e6, 400, FALSE);
}

const BenchSection bench_fold = {
    "fold", "Llama-3 405B, tensor 8 x pipeline 16, one whole step, alike ranks once", run_fold};
