/* Templates of collectives alone against the alpha-beta formulas.
 *
 * T = alpha per message + beta per byte (Hockney), formulas of Thakur, Rabenseifner, Gropp, IJHPCA 19
 * (2005); sizes as nccl-tests count them. N is divisible by every group size, so that only the fixed
 * point of usages (2^-40) and of rates is between template and formula: tolerance 1e-6. */
#include <check.h>
#include <math.h>

#include "clusters.h"
#include "net/algorithms.h"

#define N G_GINT64_CONSTANT (232792560000) /* lcm (1 .. 20) x 1000 */
#define ALPHA_S 3e-6
#define ALPHA_PS 3000000
#define RATE 10e9
#define BETA (1 / RATE)

static const guint sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17};

static double alone (LsNet *net, guint n, LsCollectiveOp op, LsAlgorithm algorithm, gint64 bytes) {
  g_autofree guint *gpus = test_range (n);
  LsDescriptor descriptor = {.op = op, .algorithm = algorithm, .bytes = bytes};
  return ls_net_estimate (net, gpus, n, &descriptor).time_s;
}

static void assert_close (double got, double expected, const char *what, guint n) {
  ck_assert_msg (fabs (got / expected - 1) < 1e-6, "%s of %u: %.9g s, formula %.9g s", what, n, got,
                 expected);
}

/* Ring, pairwise and trees on one switch of equal ports: once as GPUs of one node, once as nodes. */
static void check_on_one_switch (gboolean inside) {
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    guint p = sizes[i];
    double n = p, share = (n - 1) / n, bytes = (double) N;
    TestCluster test = {.nodes = inside ? 1 : p,
                        .gpus = inside ? p : 1,
                        .inside_bytes_per_s = RATE,
                        .across_bytes_per_s = RATE,
                        .alpha_inside_ps = ALPHA_PS,
                        .alpha_across_ps = ALPHA_PS,
                        .joint = LS_JOINT_SWITCH,
                        .kind = LS_FABRIC_SINGLE_SWITCH};
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
    assert_close (alone (net, p, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_RING, N),
                  2 * (n - 1) * ALPHA_S + 2 * share * bytes * BETA, "ring all-reduce", p);
    assert_close (alone (net, p, LS_COLLECTIVE_ALL_GATHER, LS_ALGORITHM_RING, N),
                  (n - 1) * ALPHA_S + share * bytes * BETA, "ring all-gather", p);
    assert_close (alone (net, p, LS_COLLECTIVE_REDUCE_SCATTER, LS_ALGORITHM_RING, N),
                  (n - 1) * ALPHA_S + share * bytes * BETA, "ring reduce-scatter", p);
    assert_close (alone (net, p, LS_COLLECTIVE_ALL_TO_ALL, LS_ALGORITHM_PAIRWISE, N),
                  (n - 1) * ALPHA_S + share * bytes * BETA, "pairwise all-to-all", p);
    assert_close (alone (net, p, LS_COLLECTIVE_BROADCAST, LS_ALGORITHM_RING, N),
                  (n - 1) * ALPHA_S + bytes * BETA, "pipelined chain broadcast", p);
    assert_close (alone (net, p, LS_COLLECTIVE_REDUCE, LS_ALGORITHM_RING, N),
                  (n - 1) * ALPHA_S + bytes * BETA, "pipelined chain reduce", p);
    double depth = ceil (log2 (n));
    assert_close (alone (net, p, LS_COLLECTIVE_BROADCAST, LS_ALGORITHM_BINOMIAL, N),
                  depth * (ALPHA_S + bytes * BETA), "binomial broadcast", p);
    assert_close (alone (net, p, LS_COLLECTIVE_REDUCE, LS_ALGORITHM_BINOMIAL, N),
                  depth * (ALPHA_S + bytes * BETA), "binomial reduce", p);
    assert_close (alone (net, 2, LS_COLLECTIVE_SEND_RECV, LS_ALGORITHM_AUTO, N),
                  ALPHA_S + bytes * BETA, "message", 2);
  }
}

START_TEST (collectives_inside_a_node) {
  check_on_one_switch (TRUE);
}
END_TEST

START_TEST (collectives_across_nodes) {
  check_on_one_switch (FALSE);
}
END_TEST

/* Double binary tree: 2 ceil (lg p) alpha + 2 N beta; no rank sends more than 2 N (Sanders et al.,
 * 2009: inside one tree, leaf of the other: N/2 up and 2 x N/2 down, and N/2 up). With p = 2 each
 * tree is one edge: N. With p = 3 each rank is inside at most once: at most 2 N. */
START_TEST (double_tree_all_reduce) {
  static const guint nodes[] = {2, 4, 5, 6, 7, 8, 12, 16, 33, 64};
  for (guint i = 0; i < G_N_ELEMENTS (nodes); i++) {
    guint p = nodes[i];
    TestCluster test = {.nodes = p,
                        .gpus = 1,
                        .inside_bytes_per_s = RATE,
                        .across_bytes_per_s = RATE,
                        .alpha_across_ps = ALPHA_PS,
                        .joint = LS_JOINT_SWITCH,
                        .kind = LS_FABRIC_SINGLE_SWITCH};
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
    double traffic = p == 2 ? 1 : 2;
    assert_close (alone (net, p, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_TREE, N),
                  2 * ceil (log2 (p)) * ALPHA_S + traffic * (double) N * BETA, "double tree", p);
  }
}
END_TEST

/* Each node is inside at most one of the two trees, has one parent in each, and reaches the root. */
START_TEST (double_tree_is_two_trees) {
  for (guint n = 1; n <= 130; n++) {
    g_autofree guint *children = g_new0 (guint, 2 * n);
    for (guint tree = 0; tree < 2; tree++) {
      guint roots = 0;
      for (guint r = 0; r < n; r++) {
        guint parent = ls_double_tree_parent (tree, r, n), steps = 0;
        ck_assert_uint_lt (parent, n);
        roots += parent == r;
        if (parent != r)
          children[tree * n + parent]++;
        for (guint at = r; ls_double_tree_parent (tree, at, n) != at; steps++)
          at = ls_double_tree_parent (tree, at, n);
        ck_assert_uint_le (steps, ls_log2_ceil (n) + 1);
      }
      ck_assert_uint_eq (roots, 1);
    }
    for (guint r = 0; n > 2 && r < n; r++) {
      ck_assert_uint_le (children[r], 2);
      ck_assert_msg (children[r] == 0 || children[n + r] == 0 || n % 2 == 1 || r == 0 || r == n - 1,
                     "node %u of %u is inside both trees", r, n);
    }
  }
}
END_TEST

/* Hierarchical, m per node, q nodes, one adapter per GPU (theory: per level):
 * all-reduce 2 (m-1) a1 + 2 (m-1)/m N b1 + 2 (q-1) a2 + 2 (q-1)/q (N/m) b2; the others half of it. */
START_TEST (hierarchical_per_level) {
  static const guint shapes[][2] = {{2, 2}, {4, 3}, {8, 2}, {3, 5}, {8, 8}};
  double a1 = 2e-6, a2 = 9e-6, b1 = 1 / 40e9, b2 = 1 / 5e9, bytes = (double) N;
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    double m = shapes[i][0], q = shapes[i][1];
    guint n = shapes[i][0] * shapes[i][1];
    TestCluster test = {.nodes = shapes[i][1],
                        .gpus = shapes[i][0],
                        .inside_bytes_per_s = 40e9,
                        .across_bytes_per_s = 5e9,
                        .alpha_inside_ps = 2000000,
                        .alpha_across_ps = 9000000,
                        .joint = LS_JOINT_SWITCH,
                        .kind = LS_FABRIC_SINGLE_SWITCH};
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
    double inside = (m - 1) * a1 + (m - 1) / m * bytes * b1;
    double across = (q - 1) * a2 + (q - 1) / q * bytes / m * b2;
    assert_close (alone (net, n, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_HIERARCHICAL, N),
                  2 * inside + 2 * across, "hierarchical all-reduce", n);
    assert_close (alone (net, n, LS_COLLECTIVE_ALL_GATHER, LS_ALGORITHM_HIERARCHICAL, N),
                  inside + across, "hierarchical all-gather", n);
    assert_close (alone (net, n, LS_COLLECTIVE_REDUCE_SCATTER, LS_ALGORITHM_HIERARCHICAL, N),
                  inside + across, "hierarchical reduce-scatter", n);
  }
}
END_TEST

/* The ring over nodes uses every adapter of its members: m rings of N/m, each at the adapter's rate,
 * so 2 (n-1)/n N / (m B2) unless the links inside are slower: N (n-1)/n x 2 / B1. Latency: of the n-1
 * hops of a tour q-1 are between nodes. */
START_TEST (ring_over_nodes_uses_all_adapters) {
  double n = 32, m = 8, bytes = (double) N;
  TestCluster test = {.nodes = 4,
                      .gpus = 8,
                      .inside_bytes_per_s = 300e9,
                      .across_bytes_per_s = 25e9,
                      .alpha_inside_ps = 1000000,
                      .alpha_across_ps = 4000000,
                      .joint = LS_JOINT_SWITCH};
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  assert_close (alone (net, 32, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_RING, N),
                2 * (28 * 1e-6 + 3 * 4e-6) + 2 * (n - 1) / n * bytes / (m * 25e9), "ring", 32);
}
END_TEST

/* In-network inside a node: alpha + (1 + 1/m) N beta: each buffer goes up once, its reduced m-th part
 * is written back once. Bus bandwidth as nccl-tests count it then exceeds the link's rate. */
START_TEST (in_network_all_reduce) {
  TestCluster test = {.nodes = 1,
                      .gpus = 8,
                      .inside_bytes_per_s = RATE,
                      .across_bytes_per_s = RATE,
                      .alpha_inside_ps = ALPHA_PS,
                      .joint = LS_JOINT_SWITCH,
                      .in_network = TRUE};
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  assert_close (alone (net, 8, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_NVLS, N),
                ALPHA_S + 1.125 * (double) N * BETA, "in-network all-reduce", 8);
}
END_TEST

/* Nothing to do costs nothing; a group of one neither. */
START_TEST (nothing_is_free) {
  TestCluster test = {.nodes = 1,
                      .gpus = 4,
                      .inside_bytes_per_s = RATE,
                      .across_bytes_per_s = RATE,
                      .alpha_inside_ps = ALPHA_PS,
                      .joint = LS_JOINT_SWITCH};
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  ck_assert (alone (net, 1, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_AUTO, N) <= 0);
  ck_assert (alone (net, 4, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_AUTO, 0) <= 0);
  ck_assert (alone (net, 4, LS_COLLECTIVE_BARRIER, LS_ALGORITHM_AUTO, 0) <= 0);
}
END_TEST

/* AUTO is the fastest of all algorithms that it is offered, at every size. (Under NCCL's protocols trees of
 * all-reduce count as NCCL counts them, see plan.c.) */
START_TEST (auto_is_the_fastest) {
  TestCluster test = {.nodes = 4,
                      .gpus = 8,
                      .inside_bytes_per_s = 300e9,
                      .across_bytes_per_s = 25e9,
                      .alpha_inside_ps = 1000000,
                      .alpha_across_ps = 5000000,
                      .joint = LS_JOINT_SWITCH};
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  for (gint64 bytes = 1024; bytes < G_GINT64_CONSTANT (1) << 33; bytes *= 4)
    for (guint op = 0; op <= LS_COLLECTIVE_ALL_TO_ALL; op++) {
      double best = INFINITY;
      for (guint i = 0; i < ls_algorithm_count (); i++)
        if ((ls_algorithm_get (i)->offered_flat & LS_OP_BIT (op)) != 0)
          best = MIN (best, alone (net, 32, (LsCollectiveOp) op, ls_algorithm_get (i)->id, bytes));
      double chosen = alone (net, 32, (LsCollectiveOp) op, LS_ALGORITHM_AUTO, bytes);
      ck_assert_msg (fabs (chosen / best - 1) < 1e-9, "%s of %" G_GINT64_FORMAT ": %g, best %g",
                     ls_collective_op_name ((LsCollectiveOp) op), bytes, chosen, best);
    }
}
END_TEST

/* Bus bandwidth over what a size and a time give: 2 (n - 1) / n for all-reduce, (n - 1) / n where a rank has its own part of the
 * size already, 1 for what passes through every link whole. source: nccl-tests, doc/PERFORMANCE.md. */
START_TEST (bus_factors) {
  static const struct {
    LsCollectiveOp op;
    double of_two, of_eight;
  } rows[] = {{LS_COLLECTIVE_ALL_REDUCE, 1, 1.75},
              {LS_COLLECTIVE_ALL_GATHER, 0.5, 0.875},
              {LS_COLLECTIVE_REDUCE_SCATTER, 0.5, 0.875},
              {LS_COLLECTIVE_ALL_TO_ALL, 0.5, 0.875},
              {LS_COLLECTIVE_GATHER, 0.5, 0.875},
              {LS_COLLECTIVE_SCATTER, 0.5, 0.875},
              {LS_COLLECTIVE_BROADCAST, 1, 1},
              {LS_COLLECTIVE_REDUCE, 1, 1},
              {LS_COLLECTIVE_SEND_RECV, 1, 1}};
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    ck_assert_double_eq (ls_collective_bus_factor (rows[i].op, 2), rows[i].of_two);
    ck_assert_double_eq (ls_collective_bus_factor (rows[i].op, 8), rows[i].of_eight);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net closed forms");
  TCase *tests = tcase_create ("closed forms");
  tcase_add_test (tests, collectives_inside_a_node);
  tcase_add_test (tests, collectives_across_nodes);
  tcase_add_test (tests, double_tree_all_reduce);
  tcase_add_test (tests, double_tree_is_two_trees);
  tcase_add_test (tests, hierarchical_per_level);
  tcase_add_test (tests, ring_over_nodes_uses_all_adapters);
  tcase_add_test (tests, in_network_all_reduce);
  tcase_add_test (tests, nothing_is_free);
  tcase_add_test (tests, auto_is_the_fastest);
  tcase_add_test (tests, bus_factors);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
