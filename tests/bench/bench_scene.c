/* Building clusters and workloads without scenario files. */
#include "bench_scene.h"

#include "base/assert.h"
#include "base/random.h"
#include "bench.h"
#include "hw/nodes.h"

static LsCluster *new_pod (const char *preset, guint gpus) {
  const LsNode *row = ls_node_find (preset, NULL);
  LsNodeGroup group = {.name = (char *) "main"};
  LsFabricSpec fabric = {.name = (char *) "compute",
                         .kind = LS_FABRIC_FAT_TREE,
                         .routing = LS_ROUTING_SPRAY,
                         .hop_latency_ps = 500000,
                         .rails = 8,
                         .leaf_radix = 64,
                         .oversubscription = 1,
                         .hop_ps = -1};

  LS_REQUIRE (row != NULL, "no node %s", preset);
  ls_node_spec_from_preset (&group.node, row);
  group.nodes = (gpus + group.node.gpus - 1) / group.node.gpus;
  return ls_cluster_new_from (&group, 1, &fabric, 1, NULL);
}

static void finish_scene (BenchScene *scene) {
  g_autoptr (GError) error = NULL;

  LS_REQUIRE (ls_workload_resolve (scene->workload, &error), "%s", error ? error->message : "");
  scene->job = ls_job_build (scene->workload, scene->cluster, &error);
  LS_REQUIRE (scene->job != NULL, "%s", error ? error->message : "");
  scene->simulation = ls_simulation_new (scene->cluster, scene->workload, scene->job, 1);
}

void bench_scene_gpt (BenchScene *scene, const char *model, guint t, guint d, guint p, gint64 m,
                      gboolean recompute) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset (model, NULL), t * d * p);

  scene->cluster = new_pod ("dgx-a100", t * d * p);
  scene->workload = workload;
  workload->layout = ls_layout (t, d, p);
  workload->seq_len = 2048;
  workload->micro_batch = 1;
  workload->global_batch = m * d;
  workload->steps = 1;
  workload->recompute.mode = recompute ? LS_RECOMPUTE_FULL : LS_RECOMPUTE_NONE;
  finish_scene (scene);
}

/* +- 5 %, a pure function of rank, stream and ordinal. */
static gint64 jittered (gpointer self, guint rank, guint stream, gint64 ordinal, const LsOp *op,
                        gint64 work_ps) {
  guint64 bits = ls_random_hash (7, ((guint64) rank << 8) | stream, (guint64) ordinal);

  (void) self;
  (void) op;
  return work_ps + (gint64) ((double) work_ps * ((double) (bits >> 11) * 0x1p-53 - 0.5) * 0.1);
}

void bench_scene_fsdp (BenchScene *scene, guint ranks, gboolean jitter) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset ("llama2-7b", NULL), ranks);

  scene->cluster = new_pod ("dgx-h100", ranks);
  scene->workload = workload;
  workload->layout = ls_layout (1, ranks, 1);
  workload->seq_len = 4096;
  workload->micro_batch = 1;
  workload->global_batch = 4 * (gint64) ranks;
  workload->steps = ranks > 256 ? 1 : 8;
  workload->zero.stage = 3;
  workload->zero.overlap = TRUE;
  workload->zero.prefetch = 1;
  finish_scene (scene);
  if (jitter)
    ls_engine_set_work_func (ls_simulation_engine (scene->simulation), jittered, NULL);
}

void bench_scene_clear (BenchScene *scene) {
  ls_simulation_free (scene->simulation);
  ls_job_free (scene->job);
  ls_workload_free (scene->workload);
  ls_cluster_free (scene->cluster);
}

double bench_scene_run (BenchScene *scene) {
  g_autoptr (GError) error = NULL;
  double start_s = bench_cpu_s ();

  gboolean good = ls_simulation_run (scene->simulation, NULL, &error);
  LS_REQUIRE (good, "%s", error ? error->message : "");
  return bench_cpu_s () - start_s;
}
