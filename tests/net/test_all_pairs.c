/* All pairs at once are the pairs one by one: the phase of all_pairs.h against that of the round table. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "clusters.h"
#include "net/algorithms.h"
#include "net/all_pairs.h"
#include "scenario_text.h"

static void assert_near (double a, double b, const char *what) {
  ck_assert_msg (fabs (a - b) <= 1e-12 * fabs (b) || (isinf (a) && isinf (b)),
                 "%s: %.17g for %.17g", what, a, b);
}

static void assert_same (const LsPhaseLoad *a, const LsPhaseLoad *b) {
  ck_assert_uint_eq (a->n_amounts, b->n_amounts);
  for (guint i = 0; i < a->n_amounts; i++) {
    ck_assert_uint_eq (a->amounts[i].resource, b->amounts[i].resource);
    assert_near (a->amounts[i].amount, b->amounts[i].amount, "an amount");
  }
  assert_near (a->flow, b->flow, "flow");
  assert_near (a->sent, b->sent, "sent");
  assert_near (a->rate, b->rate, "rate");
  assert_near (a->link_rate, b->link_rate, "link rate");
  ck_assert (a->launches == b->launches && a->in_network == b->in_network &&
             a->inside_hop == b->inside_hop);
  ck_assert_uint_eq (a->n_latencies, b->n_latencies);
  for (guint i = 0; i < a->n_latencies; i++) {
    ck_assert_uint_eq (a->latencies[i].hop, b->latencies[i].hop);
    ck_assert_uint_eq (a->latencies[i].count, b->latencies[i].count);
    assert_near (a->latencies[i].chunk, b->latencies[i].chunk, "chunk");
  }
}

/* The group of every GPU, of every second, and of all but a few (nodes of other size). */
static void check_group (const LsTopology *topology, guint skip) {
  g_autoptr (GArray) gpus = g_array_new (FALSE, FALSE, sizeof (guint));
  LsUsages usages;
  guint n_phases;

  for (guint i = 0; i < topology->n_gpus; i++)
    if (skip == 0 ? TRUE : skip == 2 ? i % 2 == 0 : i % 7 != 3 || i % 3 == 0)
      g_array_append_val (gpus, i);
  ls_usages_init (&usages, ls_topology_n_resources (topology));
  g_autoptr (LsGroupShape) shape =
      ls_group_shape_new (topology, (const guint *) (gconstpointer) gpus->data, gpus->len);
  ck_assert (ls_all_pairs_apply (shape, LS_COLLECTIVE_ALL_TO_ALL) ==
             (gpus->len >= LS_ALL_PAIRS_MIN));
  g_autoptr (LsSchedule) schedule = ls_algorithm_schedule (ls_algorithm_find (LS_ALGORITHM_DIRECT),
                                                           shape, LS_COLLECTIVE_ALL_TO_ALL, NULL);
  LsPhaseLoad *pairs =
      ls_phases_new (shape, LS_COLLECTIVE_ALL_TO_ALL, schedule, &usages, &n_phases);
  LsPhaseLoad *once = ls_all_pairs_new (shape, ls_exchange_window (shape), &usages);
  ck_assert_uint_eq (n_phases, 1);
  ck_assert_uint_eq (usages.n_touched, 0);
  assert_same (once, pairs);
  ls_phases_free (pairs, n_phases);
  ls_phases_free (once, 1);
  ls_usages_clear (&usages);
}

/* One switch, trees of two and three tiers, rails or not, oversubscribed or not, adapters one per GPU, shared by two
 * or two per GPU, GPUs joined by switches, a mesh or PCIe alone. */
static const TestCluster made[] = {
    {.nodes = 40, .gpus = 8, .joint = LS_JOINT_SWITCH},
    {.nodes = 40, .gpus = 8, .joint = LS_JOINT_SWITCH, .kind = LS_FABRIC_SINGLE_SWITCH},
    {.nodes = 40, .gpus = 8, .joint = LS_JOINT_SWITCH, .leaf_radix = 8},
    {.nodes = 39, .gpus = 8, .joint = LS_JOINT_SWITCH, .rails = 1, .leaf_radix = 32},
    {.nodes = 40, .gpus = 8, .joint = LS_JOINT_SWITCH, .leaf_radix = 12, .oversubscription = 3},
    {.nodes = 39, .gpus = 8, .joint = LS_JOINT_SWITCH, .nics = 4, .leaf_radix = 10},
    {.nodes = 40, .gpus = 8, .joint = LS_JOINT_SWITCH, .nics = 16, .leaf_radix = 10},
    {.nodes = 80, .gpus = 4, .joint = LS_JOINT_FULL_MESH, .nics = 1, .leaf_radix = 10},
    {.nodes = 80, .gpus = 4, .joint = LS_JOINT_BRIDGE, .nics = 2, .leaf_radix = 10},
};

START_TEST (one_sum_is_the_sum_over_pairs) {
  TestCluster test = made[_i];

  test.inside_bytes_per_s = 40e9;
  test.across_bytes_per_s = 10e9;
  g_autoptr (LsCluster) cluster = test_cluster (&test);
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  for (guint skip = 0; skip < 3; skip++)
    check_group (topology, skip);
}
END_TEST

/* Two kinds of nodes, with adapters of other numbers. */
static const char *const texts[] = {
    "{cluster: {groups: {a: {nodes: 20, node: dgx-h100}, b: {nodes: 20, node: {preset: dgx-a100, "
    "nics: {compute: "
    "{count: 4}}}}}, fabric: {kind: fat-tree, link: 400 Gb/s, leaf_radix: 16, oversubscription: "
    "2}}}",
    "{cluster: {nodes: 40, node: dgx-h100, fabric: {kind: fat-tree, link: 400 Gb/s, leaf_radix: "
    "16}}}",
};

START_TEST (shipped_nodes) {
  TestScenario scenario = test_scenario (NULL, texts[_i], NULL);
  g_autofree char *faults = test_scenario_faults (&scenario);

  ck_assert_msg (scenario.cluster != NULL, "%s", faults);
  LsTopology *topology = ls_topology_new (scenario.cluster, NULL);
  for (guint skip = 0; skip < 3; skip++)
    check_group (topology, skip);
  ls_topology_free (topology);
  test_scenario_clear (&scenario);
}
END_TEST

/* What looks at more than switches is left to the pairs, and then no group is larger than pairs allow. */
START_TEST (other_routings_go_pair_by_pair) {
  TestCluster test = {.nodes = 40,
                      .gpus = 8,
                      .joint = LS_JOINT_SWITCH,
                      .inside_bytes_per_s = 40e9,
                      .across_bytes_per_s = 10e9,
                      .leaf_radix = 8};
  static const LsRouting routings[] = {LS_ROUTING_ECMP, LS_ROUTING_RAIL, LS_ROUTING_STATIC};

  for (guint i = 0; i < G_N_ELEMENTS (routings); i++) {
    test.routing = routings[i];
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
    g_autofree guint *gpus = test_range (320);
    g_autoptr (LsGroupShape) shape = ls_group_shape_new (topology, gpus, 320);
    ck_assert (!ls_all_pairs_apply (shape, LS_COLLECTIVE_ALL_TO_ALL));
    ck_assert_uint_eq (ls_pairs_most (cluster, LS_COLLECTIVE_ALL_TO_ALL, LS_ALGORITHM_AUTO, FALSE),
                       LS_PAIRS_MOST);
    ck_assert_uint_eq (ls_pairs_most (cluster, LS_COLLECTIVE_ALL_REDUCE, LS_ALGORITHM_AUTO, FALSE),
                       G_MAXUINT);
  }
  test.routing = LS_ROUTING_SPRAY;
  g_autoptr (LsCluster) even = test_cluster (&test);
  ck_assert_uint_eq (ls_pairs_most (even, LS_COLLECTIVE_ALL_TO_ALL, LS_ALGORITHM_AUTO, FALSE),
                     G_MAXUINT);
  ck_assert_uint_eq (ls_pairs_most (even, LS_COLLECTIVE_ALL_TO_ALL, LS_ALGORITHM_AUTO, TRUE),
                     LS_PAIRS_MOST);
  ck_assert_uint_eq (ls_pairs_most (even, LS_COLLECTIVE_ALL_TO_ALL, LS_ALGORITHM_PAIRWISE, FALSE),
                     LS_PAIRS_MOST);
  ck_assert_uint_eq (ls_pairs_most (even, LS_COLLECTIVE_ALL_TO_ALLV, LS_ALGORITHM_AUTO, FALSE),
                     LS_PAIRS_MOST);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("all pairs");
  TCase *all = tcase_create ("all");
  SRunner *runner;
  int failed;

  tcase_set_timeout (all, 60);
  tcase_add_loop_test (all, one_sum_is_the_sum_over_pairs, 0, G_N_ELEMENTS (made));
  tcase_add_loop_test (all, shipped_nodes, 0, G_N_ELEMENTS (texts));
  tcase_add_test (all, other_routings_go_pair_by_pair);
  suite_add_tcase (suite, all);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
