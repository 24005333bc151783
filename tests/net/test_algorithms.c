/* Every algorithm on every kind of network, in both models, on the engine: closed forms of tori and of
 * switches that reduce, sums of phases and the recurrence of messages on tiers, and what no algorithm beats. */
#include <check.h>
#include <math.h>

#include "base/time.h"
#include "group_run.h"
#include "recurrence.h"
#include "scenario_text.h"

#define IDEAL "tuning: {protocol: ideal, hop: 0 s}"
#define LCM G_GINT64_CONSTANT (720720) /* lcm (1 .. 16) */

static double both_s (const LsCluster *cluster, const guint *gpus, guint n,
                      const LsDescriptor *what, LsNetModel model) {
  return ls_time_s_from_ps (group_run_ps (cluster, gpus, n, what, model));
}

/* --- tori ------------------------------------------------------------------------------------- */

typedef struct {
  guint x[3], d; /* dimensions */
  gboolean wrap;
} Torus;

static const Torus tori[] = {
    {{4}, 1, TRUE},        {{5}, 1, TRUE},       {{6}, 1, FALSE},
    {{4, 4}, 2, TRUE},     {{3, 3}, 2, TRUE},    {{4, 4}, 2, FALSE},
    {{2, 2, 2}, 3, FALSE}, {{4, 4, 4}, 3, TRUE}, {{8, 8}, 2, TRUE},
};

static TestScenario torus_scenario (const Torus *torus, guint *n) {
  g_autoptr (GString) dims = g_string_new (NULL);
  *n = 1;
  for (guint i = 0; i < torus->d; i++) {
    g_string_append_printf (dims, "%s%u", i > 0 ? ", " : "", torus->x[i]);
    *n *= torus->x[i];
  }
  g_autofree char *text =
      g_strdup_printf ("cluster:\n  nodes: 1\n  node:\n    gpu: tpu-v5p\n    gpus: %u\n"
                       "    intra: {kind: torus, rate: 40 GB/s, dims: [%s], wrap: %s}\n"
                       "    tuning: {protocol: ideal, hop: 3 us, efficiency: 100 %%}\n",
                       *n, dims->str, torus->wrap ? "true" : "false");
  return test_scenario (NULL, text, NULL);
}

/* d rings of X: an all-gather takes d floor (X/2) rounds and N (n-1)/n / (2 d) over every link, both ways round
 * and all dimensions at once; a line, where the end has one link, d rounds and twice that. An all-reduce
 * takes both ways. A ring of two has one cable, which counts as a line here. source: torus.c */
START_TEST (torus_closed_forms) {
  double a = 3e-6, b = 1 / 40e9;
  for (guint i = 0; i < G_N_ELEMENTS (tori); i++) {
    const Torus *torus = &tori[i];
    guint n;
    TestScenario scenario = torus_scenario (torus, &n);
    g_autofree char *faults = test_scenario_faults (&scenario);
    ck_assert_msg (scenario.cluster != NULL, "%s", faults);
    g_autoptr (LsNet) net = ls_net_new (scenario.cluster, NULL);
    g_autofree guint *gpus = test_range (n);
    LsDescriptor what = {.op = LS_COLLECTIVE_ALL_GATHER,
                         .algorithm = LS_ALGORITHM_TORUS,
                         .timed = TRUE,
                         .bytes = 1000 * LCM * n};
    double rounds = torus->d * (torus->wrap ? torus->x[0] / 2 : torus->x[0] - 1);
    double bytes = (double) what.bytes * (n - 1) / n / torus->d / (torus->wrap ? 2 : 1);
    for (guint twice = 0; twice < 2; twice++) {
      what.op = twice ? LS_COLLECTIVE_ALL_REDUCE : LS_COLLECTIVE_ALL_GATHER;
      double expected = (twice ? 2 : 1) * (rounds * a + bytes * b);
      double alone = ls_net_estimate (net, gpus, n, &what).time_s;
      double fluid = both_s (scenario.cluster, gpus, n, &what, LS_NET_MODEL_FLUID);
      double message = both_s (scenario.cluster, gpus, n, &what, LS_NET_MODEL_MESSAGE);
      /* usages are rounded at 2^-40, rates at 2^-10 B/s, phases to 1 ps */
      ck_assert_msg (fabs (alone / expected - 1) < 1e-6 && fabs (fluid / expected - 1) < 1e-6 &&
                         fabs (message / expected - 1) < 1e-6,
                     "%s on torus %u: %.9g s, fluid %.9g, message %.9g, expected %.9g",
                     ls_collective_op_name (what.op), i, alone, fluid, message, expected);
    }
    test_scenario_clear (&scenario);
  }
}
END_TEST

/* All-to-all, shortest ways: a chip sends N / n to each other, on average X/4 hops along each dimension of even
 * size, over 2 links: N X / 8 over every link. source: torus.c; Scaling Book */
START_TEST (torus_all_to_all) {
  for (guint i = 0; i < G_N_ELEMENTS (tori); i++) {
    const Torus *torus = &tori[i];
    guint n;
    if (!torus->wrap || torus->x[0] % 2 != 0)
      continue;
    TestScenario scenario = torus_scenario (torus, &n);
    g_autofree guint *gpus = test_range (n);
    LsDescriptor what = {.op = LS_COLLECTIVE_ALL_TO_ALL,
                         .algorithm = LS_ALGORITHM_TORUS,
                         .timed = TRUE,
                         .bytes = 10000 * LCM * n};
    double expected = (double) what.bytes * torus->x[0] / 8 / 40e9;
    double fluid = both_s (scenario.cluster, gpus, n, &what, LS_NET_MODEL_FLUID);
    /* latency: at most 3 us per hop of the longest way */
    ck_assert_msg (fluid >= expected * (1 - 1e-6) && fluid <= expected * (1 + 1e-6) + 36e-6,
                   "torus %u: %.9g s, expected %.9g", i, fluid, expected);
    test_scenario_clear (&scenario);
  }
}
END_TEST

/* --- switches of a fabric that reduce --------------------------------------------------------- */

static TestScenario sharp_scenario (guint nodes, guint gpus) {
  g_autofree char *text = g_strdup_printf (
      "cluster:\n  nodes: %u\n  node:\n    gpu: h100-sxm-80gb\n    gpus: %u\n"
      "    intra: {kind: switch, rate: 40 GB/s, links: 1, in_network: false}\n"
      "    nics: {compute: {rate: 40 Gb/s, count: %u}}\n"
      "    tuning: {protocol: ideal, hop: 2 us}\n"
      "  fabric: {kind: single-switch, link: 40 Gb/s, in_network: true, tuning: {hop: 9 us, "
      "efficiency: 100 %%}}\n",
      nodes, gpus, gpus);
  return test_scenario (NULL, text, NULL);
}

/* q nodes of m: members reduce their parts to each other (m-1)/m N, each sends N/m into the fabric once and gets
 * as much, and gives it to the others; a pipeline, so that the slower of links (both ways through: 2 (m-1)/m N)
 * and adapters (N/m) rules. Latency: one exchange inside before and after, one pass. It does not grow with q. */
START_TEST (sharp_closed_form) {
  static const guint shapes[][2] = {{2, 1}, {4, 1}, {33, 1}, {2, 4}, {8, 4}, {16, 2}};
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    guint q = shapes[i][0], m = shapes[i][1];
    TestScenario scenario = sharp_scenario (q, m);
    g_autofree char *faults = test_scenario_faults (&scenario);
    ck_assert_msg (scenario.cluster != NULL, "%s", faults);
    g_autofree guint *gpus = test_range (q * m);
    LsDescriptor what = {.op = LS_COLLECTIVE_ALL_REDUCE,
                         .algorithm = LS_ALGORITHM_SHARP,
                         .timed = TRUE,
                         .bytes = 1000 * LCM};
    double bytes = (double) what.bytes;
    double expected =
        9e-6 + (m > 1 ? 2 * 2e-6 : 0) + MAX (bytes / m / 5e9, 2 * (m - 1.0) / m * bytes / 40e9);
    double fluid = both_s (scenario.cluster, gpus, q * m, &what, LS_NET_MODEL_FLUID);
    double message = both_s (scenario.cluster, gpus, q * m, &what, LS_NET_MODEL_MESSAGE);
    ck_assert_msg (fabs (fluid / expected - 1) < 1e-6, "%u x %u: %.9g s, expected %.9g", q, m,
                   fluid, expected);
    /* chunks of single messages pay latencies that the unbroken stream hides */
    ck_assert_msg (message >= expected * (1 - 1e-6) && message <= 1.25 * expected,
                   "%u x %u: messages %.9g s, expected %.9g", q, m, message, expected);
    test_scenario_clear (&scenario);
  }
}
END_TEST

/* --- tiers ------------------------------------------------------------------------------------ */

typedef struct {
  guint checked, qualified;
  guint of_algorithm[LS_N_ALGORITHMS];
} Counts;

static double sum_of_phases_s (const LsTransfer *transfer, const World *world) {
  double sum = 0;
  for (guint p = 0; p < transfer->n_phases; p++) {
    const LsPhase *phase = &transfer->phases[p];
    double rate = phase->rate_cap > 0 ? ls_rate_to_per_s (phase->rate_cap) : INFINITY;
    for (guint u = 0; u < phase->n_usages; u++)
      rate = MIN (rate, world->by_number[phase->usages[u].resource]->per_s /
                            ((double) phase->usages[u].usage / (double) LS_USAGE_ONE));
    sum += ls_time_s_from_ps (phase->latency_ps) +
           (phase->work_bytes > 0 ? (double) phase->work_bytes / rate : 0);
  }
  return sum;
}

static void check_tiers (World *world, const guint *gpus, guint n,
                         const LsAlgorithmRecord *algorithm, LsCollectiveOp op, Counts *counts) {
  LsDescriptor what = {.op = op,
                       .algorithm = algorithm->id,
                       .bytes = op == LS_COLLECTIVE_BARRIER ? 0 : 1000 * LCM,
                       .timed = TRUE};
  g_autoptr (LsNet) net = ls_net_new (world->cluster, NULL);
  double sum = sum_of_phases_s (ls_net_transfer (net, gpus, n, &what), world);
  double fluid = both_s (world->cluster, gpus, n, &what, LS_NET_MODEL_FLUID);
  ck_assert_msg (fabs (fluid - sum) <= 20e-12 + 1e-9 * sum, "%s by %s: %.12g s, phases %.12g",
                 ls_collective_op_name (op), algorithm->name, fluid, sum);
  LsGroupPlans *plans = ls_group_plans_new (world->topology, gpus, n);
  LsChoice choice = ls_group_plans_choose (plans, &world->usages, &what);
  LsMessages *messages = ls_messages_new (plans->shape, plans->place_of, choice.plan,
                                          choice.protocol, what.bytes, &world->usages);
  const LsRoundTable *table = ls_messages_table (messages);
  gboolean disjoint;
  double expected = recurrence_s (world, table, n, &disjoint);
  counts->checked++;
  if (disjoint) {
    double got = both_s (world->cluster, gpus, n, &what, LS_NET_MODEL_MESSAGE);
    counts->qualified++;
    counts->of_algorithm[algorithm->id]++;
    /* half a picosecond per round of each of two ends, 1e-9 of the rates */
    ck_assert_msg (fabs (got - expected) <= 1e-12 * table->n_rounds + 1e-9 * expected + 2e-12,
                   "%s by %s of %u: %.12g s, recurrence %.12g", ls_collective_op_name (op),
                   algorithm->name, n, got, expected);
  }
  ls_messages_free (messages);
  ls_group_plans_free (plans);
}

/* Two tiers, links eight times as fast as adapters, latencies of their own. Fluid = the sum of its phases for
 * everything; messages = the recurrence wherever no two messages move over one link at a time. */
START_TEST (tiers_on_the_engine) {
  static const guint shapes[][2] = {{1, 8}, {1, 7}, {2, 4}, {4, 4}, {8, 2}, {3, 5}};
  Counts counts = {0};
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    TestCluster test = {.nodes = shapes[i][1],
                        .gpus = shapes[i][0],
                        .inside_bytes_per_s = 40e9,
                        .across_bytes_per_s = 5e9,
                        .alpha_inside_ps = 2000000,
                        .alpha_across_ps = 9000000,
                        .joint = LS_JOINT_SWITCH,
                        .kind = LS_FABRIC_SINGLE_SWITCH};
    World world = world_new (test_cluster (&test));
    guint n = shapes[i][0] * shapes[i][1];
    g_autofree guint *gpus = test_range (n);
    g_autoptr (LsGroupShape) shape = ls_group_shape_new (world.topology, gpus, n);
    for (guint a = 0; a < ls_algorithm_count (); a++)
      for (guint op = 0; op <= LS_COLLECTIVE_BARRIER; op++)
        if (op != LS_COLLECTIVE_ALL_TO_ALLV && op != LS_COLLECTIVE_SEND_RECV &&
            ls_algorithm_applies (ls_algorithm_get (a), shape, (LsCollectiveOp) op))
          check_tiers (&world, gpus, n, ls_algorithm_get (a), (LsCollectiveOp) op, &counts);
    world_clear (&world);
  }
  if (g_getenv ("LS_TEST_VERBOSE") != NULL)
    for (guint a = 0; a < ls_algorithm_count (); a++)
      g_print ("%s: %u\n", ls_algorithm_get (a)->name,
               counts.of_algorithm[ls_algorithm_get (a)->id]);
  static const LsAlgorithm some[] = {
      LS_ALGORITHM_RING,  LS_ALGORITHM_BINOMIAL, LS_ALGORITHM_HALVING,     LS_ALGORITHM_DOUBLING,
      LS_ALGORITHM_BRUCK, LS_ALGORITHM_PAIRWISE, LS_ALGORITHM_HIERARCHICAL};
  for (guint i = 0; i < G_N_ELEMENTS (some); i++)
    ck_assert_msg (counts.of_algorithm[some[i]] > 0, "no operation by %s qualifies",
                   ls_algorithm_name (some[i]));
  ck_assert_uint_gt (counts.qualified, counts.checked / 4);
}
END_TEST

/* --- bisection -------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *text;
} Network;

#define NODE                                                                                       \
  "cluster:\n  nodes: 8\n  node:\n    gpu: h100-sxm-80gb\n    gpus: 2\n    intra: {kind: switch, " \
  "rate: 100 GB/s, links: 1, in_network: true}\n    nics: {compute: {rate: 40 Gb/s, count: 2}}\n"  \
  "    " IDEAL "\n  fabric: "

static const Network networks[] = {
    {"single switch", NODE "{kind: single-switch, link: 40 Gb/s, in_network: true}\n"},
    {"two tiers, 4 to 1",
     NODE "{kind: fat-tree, link: 40 Gb/s, leaf_radix: 5, oversubscription: 4, "
          "rails: 1, in_network: true}\n"},
    {"two rails", NODE "{kind: fat-tree, link: 40 Gb/s, leaf_radix: 8, rails: 2}\n"},
    {"dragonfly+", NODE "{kind: dragonfly+, link: 40 Gb/s, groups: 2, leaves: 2, spines: 2, "
                        "nodes_per_leaf: 2, global_links: 2, leaf_radix: 16}\n"},
    {"torus of nodes", NODE "{kind: torus, link: 40 Gb/s, dims: [4, 2], wrap: true}\n"},
};

/* Bytes of N that must cross from the lower half to the upper: everything of a rooted operation, the sums of a
 * half, half of what is gathered or scattered, a quarter of n N where everybody sends to everybody. */
static double crossing (LsCollectiveOp op, double n, double bytes) {
  switch (op) {
  case LS_COLLECTIVE_ALL_REDUCE:
  case LS_COLLECTIVE_BROADCAST:
  case LS_COLLECTIVE_REDUCE:
    return bytes;
  case LS_COLLECTIVE_ALL_TO_ALL:
    return n * bytes / 4;
  case LS_COLLECTIVE_BARRIER:
    return 0;
  default:
    return bytes / 2;
  }
}

/* Every algorithm and operation in both models: never faster than the bytes that must cross the middle, at what
 * the middle lets through, and ports (what in-network ones move once is counted once). */
static guint check_bisection (const Network *network, const LsCluster *cluster) {
  guint n = ls_cluster_n_gpus (cluster), checked = 0;
  g_autofree guint *gpus = test_range (n);
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  g_autoptr (LsGroupShape) shape = ls_group_shape_new (topology, gpus, n);
  double sent, rate = ls_topology_bisection (topology, 0, &sent);
  ck_assert (rate > 0);
  for (guint a = 0; a < ls_algorithm_count (); a++)
    for (guint op = 0; op <= LS_COLLECTIVE_BARRIER; op++) {
      const LsAlgorithmRecord *algorithm = ls_algorithm_get (a);
      LsDescriptor what = {.op = (LsCollectiveOp) op,
                           .algorithm = algorithm->id,
                           .timed = TRUE,
                           .bytes = op == LS_COLLECTIVE_BARRIER ? 0 : 100 * LCM};
      if (!ls_algorithm_applies (algorithm, shape, what.op) || op == LS_COLLECTIVE_ALL_TO_ALLV ||
          op == LS_COLLECTIVE_SEND_RECV)
        continue;
      double least = crossing (what.op, n, (double) what.bytes) / rate * (1 - 1e-6);
      for (guint model = LS_NET_MODEL_FLUID; model <= LS_NET_MODEL_MESSAGE; model++) {
        double got = both_s (cluster, gpus, n, &what, (LsNetModel) model);
        ck_assert_msg (got >= least, "%s: %s by %s takes %.9g s in model %u, at least %.9g",
                       network->name, ls_collective_op_name (what.op), algorithm->name, got, model,
                       least);
        checked++;
      }
    }
  return checked;
}

START_TEST (bisection_bounds) {
  for (guint i = 0; i < G_N_ELEMENTS (networks); i++) {
    TestScenario scenario = test_scenario (NULL, networks[i].text, NULL);
    g_autofree char *faults = test_scenario_faults (&scenario);
    ck_assert_msg (scenario.cluster != NULL, "%s: %s", networks[i].name, faults);
    ck_assert_uint_gt (check_bisection (&networks[i], scenario.cluster), 60);
    test_scenario_clear (&scenario);
  }
}
END_TEST

/* --- switches of a node that reduce: their own bound ------------------------------------------ */

/* In both models: a member sends all of its N once and receives the result once. source: in_network.c */
START_TEST (in_network_bounds) {
  static const guint members[] = {3, 4, 8, 16};
  for (guint i = 0; i < G_N_ELEMENTS (members); i++) {
    guint n = members[i];
    TestCluster test = {.nodes = 1,
                        .gpus = n,
                        .inside_bytes_per_s = 40e9,
                        .across_bytes_per_s = 5e9,
                        .alpha_inside_ps = 2000000,
                        .joint = LS_JOINT_SWITCH,
                        .in_network = TRUE};
    g_autoptr (LsCluster) cluster = test_cluster (&test);
    g_autofree guint *gpus = test_range (n);
    LsDescriptor what = {.op = LS_COLLECTIVE_ALL_REDUCE,
                         .algorithm = LS_ALGORITHM_NVLS,
                         .timed = TRUE,
                         .bytes = 1000 * LCM};
    double least = (double) what.bytes / 40e9;
    double expected = 2e-6 + (1 + 1.0 / n) * least;
    double fluid = both_s (cluster, gpus, n, &what, LS_NET_MODEL_FLUID);
    double message = both_s (cluster, gpus, n, &what, LS_NET_MODEL_MESSAGE);
    ck_assert_msg (fabs (fluid / expected - 1) < 1e-6 && message >= least * (1 - 1e-6) &&
                       message <= 1.25 * expected,
                   "%u: %.9g s, messages %.9g, expected %.9g", n, fluid, message, expected);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net algorithms");
  TCase *tests = tcase_create ("algorithms");
  tcase_add_test (tests, torus_closed_forms);
  tcase_add_test (tests, torus_all_to_all);
  tcase_add_test (tests, sharp_closed_form);
  tcase_add_test (tests, tiers_on_the_engine);
  tcase_add_test (tests, bisection_bounds);
  tcase_add_test (tests, in_network_bounds);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
