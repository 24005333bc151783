/* Running the groups of group_run.h. */
#include "group_run.h"

#include <check.h>

gint64 group_run_ps (const LsCluster *cluster, const guint *gpus, guint n,
                     const LsDescriptor *descriptor, LsNetModel model) {
  g_autoptr (LsEngine) engine = ls_engine_new ();
  g_autoptr (LsNet) net = ls_net_new (cluster, engine);
  g_autoptr (LsProgram) program = ls_program_new ("group");
  g_autoptr (GError) error = NULL;
  g_autofree guint *ranks = g_new (guint, n);
  LsOp op = LS_OP_INIT;
  op.kind = LS_OP_COLLECTIVE;
  op.slot = 0;
  op.descriptor = 0;
  ls_program_add (program, ls_program_add_stream (program, "communication"), &op);
  ck_assert (ls_program_freeze (program, NULL));
  ls_net_set_model (net, model);
  ls_net_set_ranks (net, gpus, n);
  ls_net_set_descriptors (net, descriptor, 1);
  for (guint i = 0; i < n; i++)
    ranks[i] = ls_engine_add_rank (
        engine, program, gpus[i], ls_net_host_device (net, ls_cluster_gpu_node (cluster, gpus[i])));
  guint group = ls_engine_add_group (engine, ranks, n, 0);
  for (guint i = 0; i < n; i++)
    ls_engine_set_slot (engine, ranks[i], 0, group);
  ls_engine_set_expander (engine, ls_net_expander (), net);
  ck_assert_msg (ls_engine_run (engine, G_MAXINT64, NULL, &error), "%s",
                 error != NULL ? error->message : "");
  ls_engine_check (engine);
  gint64 end_ps = ls_engine_now_ps (engine);
  g_clear_pointer (&engine, ls_engine_free); /* before the net */
  return end_ps;
}
