/* Loads on links: conservation, oversubscription, ECMP, rails, meshes, PCIe, odd groups. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "clusters.h"
#include "net/plan.h"

#define RATE 10e9
#define N G_GINT64_CONSTANT (232792560000)

static LsNetEstimate estimate (LsNet *net, const guint *gpus, guint n, LsCollectiveOp op,
                               LsAlgorithm algorithm, gint64 bytes) {
  LsDescriptor descriptor = {.op = op, .algorithm = algorithm, .bytes = bytes};
  return ls_net_estimate (net, gpus, n, &descriptor);
}

static double time_of (LsNet *net, guint n, LsCollectiveOp op, LsAlgorithm algorithm) {
  g_autofree guint *gpus = test_range (n);
  return estimate (net, gpus, n, op, algorithm, N).time_s;
}

/* What goes onto the wires comes off them: up = down over all links of nodes, tx = rx over all
 * adapters, trunks up = trunks down, for every algorithm, operation and group size. */
static void assert_conserved (const LsTopology *topology, const LsPhaseLoad *load) {
  double in[LS_N_RESOURCE_KINDS] = {0}, out[LS_N_RESOURCE_KINDS] = {0};
  for (guint i = 0; i < load->n_amounts; i++) {
    const LsNetResource *resource = ls_topology_resource (topology, load->amounts[i].resource);
    gboolean first = resource->part == LS_PART_UP;
    ck_assert (load->amounts[i].amount > 0);
    if (first)
      in[resource->kind] += load->amounts[i].amount;
    else
      out[resource->kind] += load->amounts[i].amount;
  }
  static const LsResourceKind kinds[] = {LS_RESOURCE_LINK, LS_RESOURCE_NIC, LS_RESOURCE_TRUNK};
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    ck_assert_msg (fabs (in[kinds[i]] - out[kinds[i]]) <= 1e-9 * (1 + in[kinds[i]]),
                   "%s: %.12g on, %.12g off", ls_resource_kind_name (kinds[i]), in[kinds[i]],
                   out[kinds[i]]);
}

static void check_phases (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                          LsCollectiveOp op, LsUsages *usages) {
  guint n_phases;
  if (!ls_algorithm_applies (algorithm, shape, op) || op == LS_COLLECTIVE_ALL_TO_ALLV)
    return;
  g_autoptr (LsSchedule) schedule = ls_algorithm_schedule (algorithm, shape, op, NULL);
  LsPhaseLoad *phases = ls_phases_new (shape, op, schedule, usages, &n_phases);
  for (guint i = 0; i < n_phases; i++) {
    if (!algorithm
             ->in_network) /* copies and reductions end in more or fewer links than they began */
      assert_conserved (shape->topology, &phases[i]);
    ck_assert (phases[i].sent > 0 && isfinite (phases[i].rate) && phases[i].n_latencies > 0);
  }
  ls_phases_free (phases, n_phases);
}

START_TEST (bytes_are_conserved) {
  TestCluster test = {.nodes = 6,
                      .gpus = 4,
                      .inside_bytes_per_s = 40e9,
                      .across_bytes_per_s = RATE,
                      .joint = LS_JOINT_SWITCH,
                      .in_network = TRUE,
                      .leaf_radix = 4};
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  LsUsages usages;
  ls_usages_init (&usages, ls_topology_n_resources (topology));
  for (guint n = 2; n <= 24; n++)
    for (guint step = 1; step <= 24 / n; step++) {
      guint gpus[24];
      for (guint i = 0; i < n; i++)
        gpus[i] = i * step;
      g_autoptr (LsGroupShape) shape = ls_group_shape_new (topology, gpus, n);
      for (guint a = 0; a < ls_algorithm_count (); a++)
        for (guint op = 0; op <= LS_COLLECTIVE_SEND_RECV; op++)
          check_phases (shape, ls_algorithm_get (a), (LsCollectiveOp) op, &usages);
    }
  ls_usages_clear (&usages);
}
END_TEST

/* 8 nodes, 4 under a leaf (radix 8 at 1:1). Pairs i -> i + 4 by all-to-all of two: each crosses the
 * spine. Alone a pair has a whole port; an all-to-all of all 8 puts 4 x 4 flows on each trunk of
 * capacity 4 ports / oversubscription. */
START_TEST (oversubscription_halves_the_rate) {
  double at[3];
  for (guint o = 1; o <= 2; o++) {
    TestCluster test = {.nodes = 8,
                        .gpus = 1,
                        .inside_bytes_per_s = RATE,
                        .across_bytes_per_s = RATE,
                        .joint = LS_JOINT_SWITCH,
                        .leaf_radix = o == 1 ? 8 : 6, /* 4 ports down in both */
                        .oversubscription = o};
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
    at[o] = time_of (net, 8, LS_COLLECTIVE_ALL_TO_ALL, LS_ALGORITHM_AUTO);
  }
  /* 1:1: the port: 7/8 N / B. 2:1: the trunk: 16 flows of N/8 over 2 ports: N / B. */
  ck_assert (fabs (at[1] / (7.0 / 8 * (double) N / RATE) - 1) < 1e-6);
  ck_assert (fabs (at[2] / ((double) N / RATE) - 1) < 1e-6);
}
END_TEST

/* A ring crosses each leaf border once, so 4:1 on 4 ports still carries it; 8:1 halves it. */
START_TEST (ring_meets_the_trunk) {
  double at[3];
  for (guint i = 0; i < 2; i++) {
    TestCluster test = {.nodes = 8,
                        .gpus = 1,
                        .inside_bytes_per_s = RATE,
                        .across_bytes_per_s = RATE,
                        .joint = LS_JOINT_SWITCH,
                        .leaf_radix = 5,
                        .oversubscription = i == 0 ? 4 : 8};
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
    at[i] = time_of (net, 8, LS_COLLECTIVE_ALL_GATHER, LS_ALGORITHM_RING);
  }
  ck_assert (fabs (at[1] / at[0] - 2) < 1e-6);
}
END_TEST

/* ECMP: the spine depends on the two adapters alone, the same every time, and of 8 flows through 8
 * spines some meet (the chance that none does is 8!/8^8 = 0.24 %); two that meet halve each other. */
START_TEST (ecmp_is_deterministic_and_collides) {
  guint used[8] = {0}, most = 0;
  for (guint i = 0; i < 8; i++) {
    guint spine = ls_route_hash (i, 0, i + 8, 0, 8);
    ck_assert_uint_eq (spine, ls_route_hash (i, 0, i + 8, 0, 8));
    ck_assert_uint_lt (spine, 8);
    used[spine]++;
    most = MAX (most, used[spine]);
  }
  ck_assert_uint_gt (most, 1);
  double at[2];
  for (guint i = 0; i < 2; i++) {
    TestCluster test = {.nodes = 16,
                        .gpus = 1,
                        .inside_bytes_per_s = RATE,
                        .across_bytes_per_s = RATE,
                        .joint = LS_JOINT_SWITCH,
                        .leaf_radix = 16,
                        .routing = i == 0 ? LS_ROUTING_SPRAY : LS_ROUTING_ECMP};
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
    LsUsages usages;
    ls_usages_init (&usages, ls_topology_n_resources (topology));
    for (guint flow = 0; flow < 8; flow++)
      ls_route_gpus (topology, &usages, flow, flow + 8, 1);
    LsPhaseLoad load = {.flow = 1};
    ls_phase_take (topology, &usages, &load);
    at[i] = load.rate;
    g_free (load.amounts);
    ls_usages_clear (&usages);
  }
  ck_assert (fabs (at[0] / RATE - 1) < 1e-9);
  ck_assert_msg (fabs (at[1] * most / RATE - 1) < 1e-9, "%g with %u on a spine", at[1], most);
}
END_TEST

/* Eight data-parallel groups, one GPU of each node each, use eight adapters: none meets another. */
START_TEST (rails_stay_apart) {
  g_autoptr (LsCluster) cluster = test_preset ("dgx-a100", 8);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  g_autofree guint *users = g_new0 (guint, ls_net_n_resources (net));
  for (guint local = 0; local < 8; local++) {
    guint gpus[8];
    for (guint node = 0; node < 8; node++)
      gpus[node] = node * 8 + local;
    LsDescriptor what = {.op = LS_COLLECTIVE_ALL_REDUCE, .bytes = 1 << 28};
    const LsTransfer *transfer = ls_net_transfer (net, gpus, 8, &what);
    for (guint p = 0; p < transfer->n_phases; p++)
      for (guint u = 0; u < transfer->phases[p].n_usages; u++) {
        guint number = transfer->phases[p].usages[u].resource;
        if (ls_net_resource_of (net, number)->kind == LS_RESOURCE_NIC)
          users[number]++;
      }
  }
  for (guint i = 0; i < ls_net_n_resources (net); i++)
    ck_assert_uint_le (users[i], 1);
}
END_TEST

/* DGX-1: all-reduce of 8 uses 6 links of each GPU, of GPUs 0-3 4 links, of a pair 1 or 2: bus
 * bandwidth as links x rate (ring); 0 and 5 have no link and go over PCIe. */
START_TEST (cube_mesh) {
  TestCluster test = {.nodes = 1,
                      .gpus = 8,
                      .inside_bytes_per_s = RATE,
                      .across_bytes_per_s = RATE,
                      .joint = LS_JOINT_CUBE_MESH};
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  static const struct {
    guint gpus[8], n, links;
  } rows[] = {
      {{0, 1, 2, 3, 4, 5, 6, 7}, 8, 6}, {{0, 1, 2, 3}, 4, 4}, {{0, 1}, 2, 1}, {{0, 3}, 2, 2}};
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    LsNetEstimate got =
        estimate (net, rows[i].gpus, rows[i].n, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_RING, N);
    ck_assert_msg (fabs (got.busbw_bytes_per_s / (rows[i].links * RATE) - 1) < 1e-6,
                   "%u members: %g", rows[i].n, got.busbw_bytes_per_s);
  }
  g_autofree char *route = ls_topology_describe_route (ls_net_topology (net), 0, 5);
  ck_assert_ptr_nonnull (strstr (route, "PCIe"));
}
END_TEST

/* Without links a ring of 4 goes up and down PCIe and twice through host memory: per byte of progress
 * 4 hops x 2 of 8 bytes of a memory of which transfers may have half. */
START_TEST (pcie_node_shares_host_memory) {
  g_autoptr (LsCluster) cluster = test_preset ("pcie-workstation", 1);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  const LsNodeSpec *node = ls_cluster_node (cluster, 0);
  guint gpus[] = {0, 1, 2, 3};
  LsNetEstimate got =
      estimate (net, gpus, 4, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_RING, (gint64) 1 << 32);
  double pcie = node->pcie_bytes_per_s * node->pcie_efficiency;
  double host = node->host_memory_bytes_per_s / 2 / 8;
  ck_assert (fabs (got.busbw_bytes_per_s / MIN (pcie, host) - 1) < 0.01);
}
END_TEST

/* Any group works: sizes that are no powers of two, members here and there, one or more per node.
 * Never faster than alpha-free lower bounds: all-reduce 2 (p-1)/p N / (fastest way out of a GPU)
 * unless switches reduce, and then N / that. */
START_TEST (odd_groups_respect_lower_bounds) {
  g_autoptr (LsCluster) cluster = test_preset ("dgx-h100", 5);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  static const guint groups[][8] = {{0, 1, 2},           {0, 1, 2, 3, 4},
                                    {0, 8, 16},          {0, 1, 8, 9, 16},
                                    {0, 1, 2, 8, 39},    {7, 3, 12, 33, 34, 35, 20},
                                    {38, 39, 0, 1, 2, 3}};
  static const guint counts[] = {3, 5, 3, 5, 5, 7, 6};
  for (guint i = 0; i < G_N_ELEMENTS (groups); i++)
    for (guint op = 0; op <= LS_COLLECTIVE_SEND_RECV; op++)
      for (guint a = 0; a < LS_N_ALGORITHMS && op != LS_COLLECTIVE_ALL_TO_ALLV; a++) {
        LsNetEstimate got = estimate (net, groups[i], counts[i], (LsCollectiveOp) op,
                                      (LsAlgorithm) a, (gint64) 1 << 30);
        gboolean in_network = g_str_equal (got.algorithm, "nvls");
        ck_assert (got.time_s > 0 && isfinite (got.time_s));
        double bound = in_network ? 2 : 1;
        ck_assert_msg (got.busbw_bytes_per_s <= bound * 450e9, "%s by %s of %u: %g B/s",
                       ls_collective_op_name ((LsCollectiveOp) op), got.algorithm, counts[i],
                       got.busbw_bytes_per_s);
      }
}
END_TEST

/* The order of a group's members beside its first is of no account to a symmetric operation. */
START_TEST (order_of_members_does_not_matter) {
  g_autoptr (LsCluster) cluster = test_preset ("dgx-h100", 4);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  guint one[] = {0, 5, 9, 17, 30}, two[] = {0, 30, 17, 9, 5};
  for (guint op = 0; op <= LS_COLLECTIVE_ALL_GATHER; op++) {
    double a = estimate (net, one, 5, (LsCollectiveOp) op, LS_ALGORITHM_AUTO, 1 << 26).time_s;
    double b = estimate (net, two, 5, (LsCollectiveOp) op, LS_ALGORITHM_AUTO, 1 << 26).time_s;
    ck_assert (fabs (a - b) <= 0);
  }
}
END_TEST

/* Where links inside are much faster than adapters, hierarchical moves the same bytes over each
 * adapter as the ring but in fewer rounds across: it wins when latency rules, and the ring, whose
 * levels overlap, when bandwidth does. */
START_TEST (hierarchical_against_ring) {
  TestCluster test = {.nodes = 16,
                      .gpus = 8,
                      .inside_bytes_per_s = 300e9,
                      .across_bytes_per_s = 25e9,
                      .alpha_inside_ps = 1000000,
                      .alpha_across_ps = 10000000,
                      .joint = LS_JOINT_SWITCH};
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  g_autofree guint *gpus = test_range (128);
  for (guint large = 0; large < 2; large++) {
    gint64 bytes = large ? N : 65536;
    double ring =
        estimate (net, gpus, 128, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_RING, bytes).time_s;
    double levels =
        estimate (net, gpus, 128, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_HIERARCHICAL, bytes)
            .time_s;
    ck_assert (large ? ring < levels : levels < ring);
  }
}
END_TEST

/* Copies use PCIe, host memory and the drives or the storage service. */
/* Beside products a gather inside a node of eight H100 keeps 0.87 of its rate (PyTorch pull request 172714), one over
 * nodes half (NCCL issue 1433: up to twice the time): of whoever crosses adapters, on however many nodes. */
START_TEST (computing_slows_networks_more_than_links) {
  g_autoptr (LsCluster) cluster = test_preset ("dgx-h100", 3);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  const guint gpus[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16};
  const guint pair[] = {3, 11};
  const LsDescriptor gather = {.op = LS_COLLECTIVE_ALL_GATHER, .bytes = N};
  const gint64 inside = ls_net_transfer (net, gpus, 8, &gather)->beside_compute;

  ck_assert_int_eq (inside, ls_usage_from_double (0.87));
  ck_assert_int_eq (ls_net_transfer (net, gpus, 2, &gather)->beside_compute, inside);
  ck_assert_int_eq (ls_net_transfer (net, gpus, 9, &gather)->beside_compute, LS_USAGE_ONE / 2);
  ck_assert_int_eq (ls_net_transfer (net, gpus, 10, &gather)->beside_compute, LS_USAGE_ONE / 2);
  ck_assert_int_eq (ls_net_transfer (net, pair, 2, &gather)->beside_compute, LS_USAGE_ONE / 2);
}
END_TEST

START_TEST (copies) {
  g_autoptr (LsCluster) cluster = test_preset ("dgx-a100", 1);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  guint gpu = 3;
  const LsNodeSpec *node = ls_cluster_node (cluster, 0);
  LsNetEstimate up =
      estimate (net, &gpu, 1, LS_COLLECTIVE_DEVICE_TO_HOST, LS_ALGORITHM_AUTO, (gint64) 1 << 34);
  ck_assert (fabs (up.algbw_bytes_per_s / (node->pcie_bytes_per_s * node->pcie_efficiency) - 1) <
             0.001);
  LsNetEstimate read =
      estimate (net, &gpu, 1, LS_COLLECTIVE_STORAGE_READ, LS_ALGORITHM_AUTO, (gint64) 1 << 34);
  ck_assert (fabs (read.algbw_bytes_per_s / node->nvme_bytes_per_s - 1) < 0.001);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net fabric");
  TCase *tests = tcase_create ("fabric");
  tcase_add_test (tests, bytes_are_conserved);
  tcase_add_test (tests, oversubscription_halves_the_rate);
  tcase_add_test (tests, ring_meets_the_trunk);
  tcase_add_test (tests, ecmp_is_deterministic_and_collides);
  tcase_add_test (tests, rails_stay_apart);
  tcase_add_test (tests, cube_mesh);
  tcase_add_test (tests, pcie_node_shares_host_memory);
  tcase_add_test (tests, odd_groups_respect_lower_bounds);
  tcase_add_test (tests, order_of_members_does_not_matter);
  tcase_add_test (tests, hierarchical_against_ring);
  tcase_add_test (tests, copies);
  tcase_add_test (tests, computing_slows_networks_more_than_links);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
