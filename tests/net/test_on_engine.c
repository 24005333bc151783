/* The network on the engine: what a group takes alone, and what groups that meet take together. */
#include <check.h>
#include <math.h>

#include "base/time.h"
#include "clusters.h"
#include "net/algorithm.h"

#define RATE 10e9

/* Every rank runs its list of operations on one stream, one after another. */
typedef struct {
  LsCluster *cluster;
  LsEngine *engine;
  LsNet *net;
} Run;

static LsNetModel model; /* of the runs that follow */

static Run run_new (LsCluster *cluster, LsProgram *const *programs) {
  Run run = {.cluster = cluster, .engine = ls_engine_new ()};
  run.net = ls_net_new (cluster, run.engine);
  ls_net_set_model (run.net, model);
  for (guint rank = 0; rank < ls_cluster_n_gpus (cluster); rank++)
    ls_engine_add_rank (run.engine, programs[rank], rank,
                        ls_net_host_device (run.net, ls_cluster_gpu_node (cluster, rank)));
  ls_engine_set_expander (run.engine, ls_net_expander (), run.net);
  return run;
}

static gint64 run_to_end_ps (Run *run) {
  g_autoptr (GError) error = NULL;
  gboolean ok = ls_engine_run (run->engine, G_MAXINT64, NULL, &error);
  ck_assert_msg (ok, "%s", error != NULL ? error->message : "");
  ls_engine_check (run->engine);
  return ls_engine_now_ps (run->engine);
}

static void run_clear (Run *run) {
  ls_engine_free (run->engine);
  ls_net_free (run->net);
  ls_cluster_free (run->cluster);
}

/* One operation with `descriptor` in group slot 0; LS_OP_END: none. */
static LsProgram *one_op (LsOpKind kind, guint descriptor, gint32 peer) {
  LsProgram *program = ls_program_new ("test");
  guint stream = ls_program_add_stream (program, "compute");
  LsOp op = LS_OP_INIT;
  op.kind = (guint8) kind;
  op.slot = kind == LS_OP_COPY ? LS_NO_INDEX : 0;
  op.descriptor = (guint16) descriptor;
  op.peer = peer;
  if (kind != LS_OP_END)
    ls_program_add (program, stream, &op);
  ck_assert (ls_program_freeze (program, NULL));
  return program;
}

static LsCluster *four_by_four (void) {
  TestCluster test = {.nodes = 4,
                      .gpus = 4,
                      .inside_bytes_per_s = 40e9,
                      .across_bytes_per_s = RATE,
                      .alpha_inside_ps = 1000000,
                      .alpha_across_ps = 4000000,
                      .joint = LS_JOINT_SWITCH};
  return test_cluster (&test);
}

/* Runs `descriptor` in groups of `size` GPUs, `stride` apart, all at once. */
static gint64 groups_ps (guint size, guint stride, const LsDescriptor *descriptor, gint64 *sent) {
  LsProgram *programs[16];
  g_autoptr (LsProgram) program = one_op (LS_OP_COLLECTIVE, 0, 0);
  for (guint i = 0; i < 16; i++)
    programs[i] = program;
  Run run = run_new (four_by_four (), programs);
  for (guint first = 0; first < 16; first++) {
    guint block = first / (size * stride), at = first % (size * stride), ranks[16];
    if (at >= stride)
      continue;
    for (guint i = 0; i < size; i++)
      ranks[i] = block * size * stride + at + i * stride;
    guint group = ls_engine_add_group (run.engine, ranks, size, 0);
    for (guint i = 0; i < size; i++)
      ls_engine_set_slot (run.engine, ranks[i], 0, group);
  }
  ls_net_set_descriptors (run.net, descriptor, 1);
  gint64 end_ps = run_to_end_ps (&run);
  *sent = ls_engine_bytes_sent (run.engine, 0);
  if (model != LS_NET_MODEL_MESSAGE) /* the account of single messages is the engine's own test */
    ck_assert_int_eq (*sent, ls_engine_bytes_received (run.engine, 0));
  run_clear (&run);
  return end_ps;
}

static gint64 alone_ps (guint size, guint stride, const LsDescriptor *descriptor) {
  g_autoptr (LsCluster) cluster = four_by_four ();
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  guint gpus[16];
  for (guint i = 0; i < size; i++)
    gpus[i] = i * stride;
  return ls_time_ps_from_s_checked (ls_net_estimate (net, gpus, size, descriptor).time_s);
}

/* Groups inside nodes, and groups of the k-th GPU of each node, never meet: all of them together take
 * what one takes alone, the closed form (1 ps per phase of rounding, and 1e-9 of the rates'). */
START_TEST (groups_that_do_not_meet) {
  for (guint op = 0; op <= LS_COLLECTIVE_SCATTER; op++)
    for (guint a = 0; a < LS_N_ALGORITHMS && op != LS_COLLECTIVE_ALL_TO_ALLV; a++) {
      LsDescriptor descriptor = {
          .op = (LsCollectiveOp) op, .algorithm = (LsAlgorithm) a, .bytes = 64000000};
      gint64 sent;
      gint64 inside_ps = groups_ps (4, 1, &descriptor, &sent);
      gint64 expected_ps = alone_ps (4, 1, &descriptor);
      ck_assert_msg (ABS (inside_ps - expected_ps) <= 8 + expected_ps / 1000000000,
                     "%s %s: %" G_GINT64_FORMAT " ps, alone %" G_GINT64_FORMAT,
                     ls_collective_op_name ((LsCollectiveOp) op),
                     ls_algorithm_name ((LsAlgorithm) a), inside_ps, expected_ps);
      gint64 rails_ps = groups_ps (4, 4, &descriptor, &sent);
      expected_ps = alone_ps (4, 4, &descriptor);
      ck_assert_int_le (ABS (rails_ps - expected_ps), 8 + expected_ps / 1000000000);
      ck_assert_int_gt (sent, 0);
    }
}
END_TEST

/* One all-reduce over all: the closed form again, and 2 (n-1)/n N sent by each member. */
START_TEST (one_large_group) {
  LsDescriptor descriptor = {
      .op = LS_COLLECTIVE_ALL_REDUCE, .algorithm = LS_ALGORITHM_RING, .bytes = 160000000};
  gint64 sent;
  gint64 end_ps = groups_ps (16, 1, &descriptor, &sent);
  gint64 expected_ps = alone_ps (16, 1, &descriptor);
  ck_assert_int_le (ABS (end_ps - expected_ps), 8 + expected_ps / 1000000000);
  ck_assert_int_eq (sent, 300000000);
}
END_TEST

/* Four senders of different nodes to one receiver: its adapter is shared, four times as long. */
START_TEST (incast_shares_the_port) {
  gint64 took_ps[2];
  for (guint many = 0; many < 2; many++) {
    LsProgram *programs[16];
    g_autoptr (LsProgram) idle = one_op (LS_OP_END, 0, 0);
    g_autoptr (LsProgram) sender = one_op (LS_OP_SEND, 0, 0);
    g_autoptr (LsProgram) receiver = ls_program_new ("receiver");
    guint senders = many ? 3 : 1;
    guint streams[3];
    for (guint i = 0; i < senders; i++) {
      LsOp op = LS_OP_INIT;
      op.kind = LS_OP_RECV;
      op.slot = 0;
      op.descriptor = 0;
      op.peer = (gint32) i + 1;
      streams[i] = ls_program_add_stream (receiver, i == 0 ? "a" : i == 1 ? "b" : "c");
      ls_program_add (receiver, streams[i], &op);
    }
    ck_assert (ls_program_freeze (receiver, NULL));
    for (guint i = 0; i < 16; i++)
      programs[i] = i == 0 ? receiver : i % 4 == 0 && i / 4 <= senders ? sender : idle;
    Run run = run_new (four_by_four (), programs);
    guint ranks[] = {0, 4, 8, 12};
    guint group = ls_engine_add_group (run.engine, ranks, 4, 0);
    for (guint i = 0; i < 4; i++)
      ls_engine_set_slot (run.engine, ranks[i], 0, group);
    LsDescriptor descriptor = {.op = LS_COLLECTIVE_SEND_RECV, .bytes = 10000000};
    ls_net_set_descriptors (run.net, &descriptor, 1);
    took_ps[many] = run_to_end_ps (&run);
    run_clear (&run);
  }
  /* alpha 4 us + 10 MB at 10 GB/s, and three of them through one port */
  ck_assert_int_le (ABS (took_ps[0] - 1004000000), 2);
  ck_assert_int_le (ABS (took_ps[1] - 3004000000), 4);
}
END_TEST

/* The engine's host devices are where the net says, and a copy to the host takes bytes / PCIe. */
START_TEST (copies_use_pcie) {
  LsProgram *programs[16];
  g_autoptr (LsProgram) idle = one_op (LS_OP_END, 0, 0);
  g_autoptr (LsProgram) copy = one_op (LS_OP_COPY, 0, 0);
  for (guint i = 0; i < 16; i++)
    programs[i] = i == 5 ? copy : idle;
  Run run = run_new (four_by_four (), programs);
  LsDescriptor descriptor = {.op = LS_COLLECTIVE_DEVICE_TO_HOST, .bytes = 1000000000};
  ls_net_set_descriptors (run.net, &descriptor, 1);
  gint64 end_ps = run_to_end_ps (&run);
  ck_assert_int_le (ABS (end_ps - 1000000 - 1000000000), 2); /* hop 1 us, 1 TB/s */
  guint device = ls_net_host_device (run.net, 3);
  const LsNetResource *memory =
      ls_net_resource_of (run.net, ls_engine_device_memory (run.engine, device));
  ck_assert_int_eq (memory->kind, LS_RESOURCE_HOST_MEMORY);
  ck_assert_int_eq (memory->node, 3);
  run_clear (&run);
}
END_TEST

/* Ranks need not be GPUs in order. */
START_TEST (ranks_on_other_gpus) {
  gint64 took_ps[2];
  for (guint reversed = 0; reversed < 2; reversed++) {
    LsProgram *programs[16];
    g_autoptr (LsProgram) program = one_op (LS_OP_COLLECTIVE, 0, 0);
    g_autoptr (LsProgram) idle = one_op (LS_OP_END, 0, 0);
    for (guint i = 0; i < 16; i++)
      programs[i] = i < 4 ? program : idle;
    Run run = run_new (four_by_four (), programs);
    guint ranks[] = {0, 1, 2, 3}, gpus[16];
    for (guint i = 0; i < 16; i++)
      gpus[i] = reversed ? i % 4 * 4 + i / 4 : i;
    ls_net_set_ranks (run.net, gpus, 16);
    guint group = ls_engine_add_group (run.engine, ranks, 4, 0);
    for (guint i = 0; i < 4; i++)
      ls_engine_set_slot (run.engine, i, 0, group);
    LsDescriptor descriptor = {.op = LS_COLLECTIVE_ALL_GATHER, .bytes = 40000000};
    ls_net_set_descriptors (run.net, &descriptor, 1);
    took_ps[reversed] = run_to_end_ps (&run);
    run_clear (&run);
  }
  /* 3 alpha + 3/4 N beta, inside one node and then across four */
  ck_assert_int_le (ABS (took_ps[0] - 3000000 - 750000000), 2);
  ck_assert_int_le (ABS (took_ps[1] - 12000000 - 3000000000), 2);
}
END_TEST

/* On one switch single messages take what the phases take, on the engine too: half a picosecond per round
 * (at most 6 here), and 1e-9 of the rates'. */
START_TEST (messages_as_phases) {
  for (guint a = 0; a < ls_algorithm_count (); a++)
    for (guint op = 0; op <= LS_COLLECTIVE_SCATTER; op++) {
      const LsAlgorithmRecord *algorithm = ls_algorithm_get (a);
      gboolean pipelined = algorithm->id == LS_ALGORITHM_RING && op >= LS_COLLECTIVE_BROADCAST;
      if (algorithm->closed_form == NULL || (algorithm->ops & LS_OP_BIT (op)) == 0 || pipelined ||
          op == LS_COLLECTIVE_ALL_TO_ALLV)
        continue;
      LsDescriptor descriptor = {
          .op = (LsCollectiveOp) op, .algorithm = algorithm->id, .bytes = 64000000};
      gint64 sent, expected_ps = alone_ps (4, 1, &descriptor);
      model = LS_NET_MODEL_MESSAGE;
      gint64 got_ps = groups_ps (4, 1, &descriptor, &sent);
      model = LS_NET_MODEL_TUNED;
      ck_assert_msg (ABS (got_ps - expected_ps) <= 8 + expected_ps / 1000000000,
                     "%s by %s: %" G_GINT64_FORMAT " ps, phases %" G_GINT64_FORMAT,
                     ls_collective_op_name ((LsCollectiveOp) op), algorithm->name, got_ps,
                     expected_ps);
    }
}
END_TEST

/* Two rings of four nodes each, one node of a ring under each of four leaves whose trunk is one port wide:
 * they share every trunk. 256 MB: the fluid model gives each half, messages meet or miss each other; the
 * two models are within 5 %. Beside them a third group inside one leaf meets nobody. */
START_TEST (models_under_contention) {
  gint64 took_ps[2];
  for (guint message = 0; message < 2; message++) {
    TestCluster test = {.nodes = 16,
                        .gpus = 1,
                        .inside_bytes_per_s = RATE,
                        .across_bytes_per_s = RATE,
                        .alpha_across_ps = 5000000,
                        .joint = LS_JOINT_SWITCH,
                        .leaf_radix = 5,
                        .oversubscription = 4};
    LsProgram *programs[16];
    g_autoptr (LsProgram) program = one_op (LS_OP_COLLECTIVE, 0, 0);
    g_autoptr (LsProgram) idle = one_op (LS_OP_END, 0, 0);
    for (guint i = 0; i < 16; i++)
      programs[i] = i % 4 < 2 ? program : idle;
    Run run = run_new (test_cluster (&test), programs);
    ls_net_set_model (run.net, message ? LS_NET_MODEL_MESSAGE : LS_NET_MODEL_FLUID);
    for (guint ring = 0; ring < 2; ring++) {
      guint ranks[] = {ring, 4 + ring, 8 + ring, 12 + ring};
      guint group = ls_engine_add_group (run.engine, ranks, 4, 0);
      for (guint i = 0; i < 4; i++)
        ls_engine_set_slot (run.engine, ranks[i], 0, group);
    }
    LsDescriptor descriptor = {
        .op = LS_COLLECTIVE_ALL_REDUCE, .algorithm = LS_ALGORITHM_RING, .bytes = 256000000};
    ls_net_set_descriptors (run.net, &descriptor, 1);
    took_ps[message] = run_to_end_ps (&run);
    run_clear (&run);
  }
  /* 6 hops of 5 us, and 2 x 3/4 x 256 MB at half of 10 GB/s */
  ck_assert_int_le (ABS (took_ps[0] - 30000000 - 76800000000), 100);
  ck_assert_msg (ABS (took_ps[1] - took_ps[0]) * 20 <= took_ps[0],
                 "messages %" G_GINT64_FORMAT " ps, phases %" G_GINT64_FORMAT, took_ps[1],
                 took_ps[0]);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net on the engine");
  TCase *tests = tcase_create ("engine");
  tcase_add_test (tests, groups_that_do_not_meet);
  tcase_add_test (tests, one_large_group);
  tcase_add_test (tests, incast_shares_the_port);
  tcase_add_test (tests, copies_use_pcie);
  tcase_add_test (tests, ranks_on_other_gpus);
  tcase_add_test (tests, messages_as_phases);
  tcase_add_test (tests, models_under_contention);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
