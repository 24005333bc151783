/* Running one collective on the engine; see collective_run.h. */
#include "cli/collective_run.h"

#include "base/assert.h"
#include "base/time.h"
#include "cli/interrupt.h"

/* A net whose plans the runs take: its engine never runs, but numbers resources as theirs do. */
struct LsCollectiveBench {
  const LsCluster *cluster;
  LsEngine *engine;
  LsNet *net;
};

LsCollectiveBench *ls_collective_bench_new (const LsCluster *cluster) {
  LsCollectiveBench *bench = g_new0 (LsCollectiveBench, 1);

  bench->cluster = cluster;
  bench->engine = ls_engine_new ();
  bench->net = ls_net_new (cluster, bench->engine);
  return bench;
}

void ls_collective_bench_free (LsCollectiveBench *bench) {
  if (bench == NULL)
    return;
  ls_engine_free (bench->engine);
  ls_net_free (bench->net);
  g_free (bench);
}

/* Every rank meets the others `iterations` times in a row. */
static LsProgram *program_new (guint iterations) {
  LsProgram *program = ls_program_new ("collective");
  guint stream = ls_program_add_stream (program, "communication");
  LsOp op = LS_OP_INIT;

  op.kind = LS_OP_COLLECTIVE;
  op.slot = 0;
  op.descriptor = 0;
  for (guint i = 0; i < iterations; i++)
    ls_program_add (program, stream, &op);
  LS_REQUIRE (ls_program_freeze (program, NULL), "a program of one operation");
  return program;
}

/* What went through each resource fits its capacity, whatever models and protocols say: bandwidth comes
 * from links. */
static void check_links (LsNet *net, const LsTransfer *transfer, double seconds) {
  g_autofree double *used = g_new0 (double, ls_net_n_resources (net));

  for (guint p = 0; p < transfer->n_phases; p++)
    for (guint u = 0; u < transfer->phases[p].n_usages; u++) {
      const LsUsage *usage = &transfer->phases[p].usages[u];
      used[ls_net_resource_index (net, usage->resource)] +=
          (double) usage->usage / (double) LS_USAGE_ONE * (double) transfer->phases[p].work_bytes;
    }
  for (guint i = 0; i < ls_net_n_resources (net); i++)
    LS_REQUIRE (used[i] <= ls_net_resource (net, i)->per_s * seconds * (1 + 1e-6) + 1,
                "%g bytes in %g s through resource %u of %g B/s", used[i], seconds, i,
                ls_net_resource (net, i)->per_s);
}

/* The expander of a run, in which there is one collective: `self` is its transfer. */
static const LsTransfer *the_transfer (gpointer self, guint group, guint descriptor) {
  (void) group;
  (void) descriptor;
  return self;
}

static const LsExpander expander = {.collective = the_transfer};

/* An engine with the cluster's resources, under the numbers of the bench. */
static LsNet *register_cluster (const LsCollectiveBench *bench, LsEngine *engine) {
  LsNet *net = ls_net_new (bench->cluster, engine);

  for (guint i = 0; i < ls_net_n_resources (net); i++)
    LS_REQUIRE (ls_net_resource (net, i)->number == ls_net_resource (bench->net, i)->number,
                "resource %u has two numbers", i);
  return net;
}

static void add_ranks (LsEngine *engine, const LsNet *net, const LsCollectiveBench *bench,
                       const LsCollectiveJob *job, LsProgram *program) {
  g_autofree guint *ranks = g_new (guint, job->n);

  for (guint i = 0; i < job->n; i++)
    ranks[i] = ls_engine_add_rank (
        engine, program, job->gpus[i],
        ls_net_host_device (net, ls_cluster_gpu_node (bench->cluster, job->gpus[i])));
  guint group = ls_engine_add_group (engine, ranks, job->n, 0);
  for (guint i = 0; i < job->n; i++)
    ls_engine_set_slot_at (engine, ranks[i], 0, group, i);
}

static gboolean run_model (LsCollectiveBench *bench, const LsCollectiveJob *job,
                           const LsDescriptor *descriptor, LsNetModel model, double *seconds,
                           GError **error) {
  g_autoptr (LsEngine) engine = ls_engine_new ();
  g_autoptr (LsNet) net = register_cluster (bench, engine);
  g_autoptr (LsProgram) program = program_new (job->iterations);
  gboolean good;

  add_ranks (engine, net, bench, job, program);
  /* Laid before the engine looks for signals, which end the command at once until then: among very many ranks it takes
   * seconds, and the engine looks between instants. */
  ls_net_set_model (bench->net, model);
  const LsTransfer *transfer = ls_net_group_transfer (bench->net, job->gpus, job->n, descriptor);
  ls_engine_set_expander (engine, &expander, (gpointer) transfer);
  good = ls_engine_run (engine, G_MAXINT64, ls_interrupt_flag (), error);
  *seconds = ls_time_s_from_ps (ls_engine_now_ps (engine)) / job->iterations;
  if (good)
    check_links (net, transfer, *seconds);
  g_clear_pointer (&engine, ls_engine_free);
  return good;
}

gboolean ls_collective_run (LsCollectiveBench *bench, const LsCollectiveJob *job,
                            const LsDescriptor *descriptor, LsCollectiveResult *result,
                            GError **error) {
  *result = (LsCollectiveResult){.fluid_s = -1, .message_s = -1};
  ls_net_drop_transfers (bench->net);
  ls_net_set_model (bench->net, LS_NET_MODEL_TUNED);
  result->estimate = ls_net_estimate (bench->net, job->gpus, job->n, descriptor);
  if (!job->fluid && !job->message)
    return run_model (bench, job, descriptor, LS_NET_MODEL_TUNED, &result->fluid_s, error);
  if (job->fluid &&
      !run_model (bench, job, descriptor, LS_NET_MODEL_FLUID, &result->fluid_s, error))
    return FALSE;
  return !job->message ||
         run_model (bench, job, descriptor, LS_NET_MODEL_MESSAGE, &result->message_s, error);
}
