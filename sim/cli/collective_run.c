/* Running one collective on the engine; see collective_run.h. */
#include "cli/collective_run.h"

#include "base/assert.h"
#include "base/time.h"
#include "cli/interrupt.h"

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

static gboolean run_model (const LsCollectiveJob *job, const LsDescriptor *descriptor,
                           LsNetModel model, double *seconds, GError **error) {
  g_autoptr (LsEngine) engine = ls_engine_new ();
  g_autoptr (LsNet) net = ls_net_new (job->cluster, engine);
  g_autoptr (LsProgram) program = program_new (job->iterations);
  g_autofree guint *ranks = g_new (guint, job->n);
  gboolean good;

  ls_net_set_model (net, model);
  ls_net_set_ranks (net, job->gpus, job->n);
  ls_net_set_descriptors (net, descriptor, 1);
  for (guint i = 0; i < job->n; i++)
    ranks[i] = ls_engine_add_rank (
        engine, program, job->gpus[i],
        ls_net_host_device (net, ls_cluster_gpu_node (job->cluster, job->gpus[i])));
  guint group = ls_engine_add_group (engine, ranks, job->n, 0);
  for (guint i = 0; i < job->n; i++)
    ls_engine_set_slot_at (engine, ranks[i], 0, group, i);
  ls_engine_set_expander (engine, ls_net_expander (), net);
  /* Laid before the engine looks for signals, which end the command at once until then: among very many ranks it takes
   * seconds, and the engine looks between instants. */
  const LsTransfer *transfer = ls_net_expander ()->collective (net, group, 0);
  good = ls_engine_run (engine, G_MAXINT64, ls_interrupt_flag (), error);
  *seconds = ls_time_s_from_ps (ls_engine_now_ps (engine)) / job->iterations;
  if (good)
    check_links (net, transfer, *seconds);
  g_clear_pointer (&engine, ls_engine_free);
  return good;
}

gboolean ls_collective_run (const LsCollectiveJob *job, const LsDescriptor *descriptor,
                            LsCollectiveResult *result, GError **error) {
  g_autoptr (LsNet) net = ls_net_new (job->cluster, NULL);

  *result = (LsCollectiveResult){.fluid_s = -1, .message_s = -1};
  result->estimate = ls_net_estimate (net, job->gpus, job->n, descriptor);
  if (!job->fluid && !job->message)
    return run_model (job, descriptor, LS_NET_MODEL_TUNED, &result->fluid_s, error);
  if (job->fluid && !run_model (job, descriptor, LS_NET_MODEL_FLUID, &result->fluid_s, error))
    return FALSE;
  return !job->message ||
         run_model (job, descriptor, LS_NET_MODEL_MESSAGE, &result->message_s, error);
}
