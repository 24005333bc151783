/* Topologies against their formulas: bisections, path lengths, shares, order of keys, links that are down. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "net/ample.h"
#include "net/route_list.h"
#include "scenario_text.h"

/* Efficiencies are 1 (protocol ideal), so that rates are those written. */
#define NODE(gpus, nics)                                           \
  "{gpu: h100-sxm-80gb, gpus: " #gpus                              \
  ", intra: switch, nics: {compute: {rate: 10 GB/s, count: " #nics \
  "}}, tuning: {protocol: ideal}}"

typedef struct {
  TestScenario scenario;
  LsTopology *topology;
} Built;

static Built build (const char *text) {
  Built built = {.scenario = test_scenario (NULL, text, NULL)};
  g_autofree char *faults = test_scenario_faults (&built.scenario);
  ck_assert_msg (built.scenario.cluster != NULL && faults[0] == '\0', "%s\n%s", text, faults);
  built.topology = ls_topology_new (built.scenario.cluster, NULL);
  return built;
}

static void finish (Built *built) {
  ls_topology_free (built->topology);
  test_scenario_clear (&built->scenario);
}

static guint fabric_of (const Built *built) {
  const LsCluster *cluster = built->scenario.cluster;
  guint fabric = 0;

  while (!g_str_equal (ls_cluster_fabric (cluster, fabric)->name, "compute"))
    fabric++;
  return fabric;
}

/* Bisection of the fabric `compute` in units of one port (10 GB/s). Formulas: single switch and
 * non-blocking trees n/2 ports; oversubscribed by o: n/2/o where the halves are whole leaves; torus of even
 * length k in its first dimension: 2 (ring) or 1 (line) x nodes / k links; dragonfly+ of even g groups:
 * (g/2)^2 x global links. Dally, Towles, "Principles and practices of interconnection networks", 2004. */
START_TEST (bisections) {
  static const struct {
    const char *text;
    double ports;
  } rows[] = {
      {"cluster: {nodes: 8, node: " NODE (1, 1) ", fabric: {kind: single-switch}}", 4},
      {"cluster: {nodes: 16, node: " NODE (1, 1) ", fabric: {leaf_radix: 8}}", 8},
      {"cluster: {nodes: 16, node: " NODE (
           1, 1) ", fabric: {leaf_radix: 6, spine_radix: 8, oversubscription: 2}}",
       4},
      {"cluster: {nodes: 48, node: " NODE (1, 1) ", fabric: {leaf_radix: 4, tiers: 3, "
                                                 "spine_radix: 16, spine_oversubscription: 3}}",
       8},
      {"cluster: {nodes: 16, node: " NODE (4, 4) ", fabric: {leaf_radix: 8, rail_only: true}}", 32},
      {"cluster: {nodes: 16, node: " NODE (1, 4) ", fabric: {kind: torus, dims: [4, 4]}}", 8},
      {"cluster: {nodes: 16, node: " NODE (1,
                                           4) ", fabric: {kind: torus, dims: [4, 4], wrap: false}}",
       4},
      {"cluster: {nodes: 64, node: " NODE (1, 4) ", fabric: {kind: torus, dims: [4, 4, 4]}}", 32},
      {"cluster: {nodes: 32, node: " NODE (
           1, 1) ", fabric: {kind: dragonfly+, groups: 4, leaves: 2, spines: 2, nodes_per_leaf: 4, "
                 "global_links: 3}}",
       12},
      {"cluster: {nodes: 4, node: " NODE (
           1,
           1) ", fabric: {kind: custom, nodes: {a: {}, b: {}}, links: {up: {from: a, to: b, "
              "rate: 15 GB/s}, l: {from: \"main[0-1]\", to: a}, r: {from: \"main[2-3]\", to: b}}}}",
       1.5},
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Built built = build (rows[i].text);
    double sent, got = ls_topology_bisection (built.topology, fabric_of (&built), &sent);
    ck_assert_msg (fabs (got / (rows[i].ports * 10e9) - 1) < 1e-9, "%s: %g, not %g ports",
                   rows[i].text, got / 10e9, rows[i].ports);
    ck_assert (got <= sent * (1 + 1e-12));
    finish (&built);
  }
}
END_TEST

/* Latency of a path = switches on it x hop latency (+ cables): 1, 3, 5 in trees; distance + 1 routers in a
 * torus; leaf, spine, spine, leaf between groups of a dragonfly+; up, WAN, down between sites. */
START_TEST (path_lengths) {
  static const struct {
    const char *text;
    guint from, to;
    double us;
  } rows[] = {
      {"cluster: {nodes: 8, node: " NODE (1,
                                          1) ", fabric: {kind: single-switch, hop_latency: 1 us}}",
       0, 7, 1},
      {"cluster: {nodes: 32, node: " NODE (1, 1) ", fabric: {leaf_radix: 4, tiers: 3, spine_radix: "
                                                 "16, hop_latency: 1 us}}",
       0, 1, 1},
      {"cluster: {nodes: 32, node: " NODE (1, 1) ", fabric: {leaf_radix: 4, tiers: 3, spine_radix: "
                                                 "16, hop_latency: 1 us}}",
       0, 15, 3},
      {"cluster: {nodes: 32, node: " NODE (1, 1) ", fabric: {leaf_radix: 4, tiers: 3, spine_radix: "
                                                 "16, hop_latency: 1 us}}",
       0, 31, 5},
      {"cluster: {nodes: 16, node: " NODE (
           1, 1) ", fabric: {kind: torus, dims: [4, 4], hop_latency: 1 us}}",
       0, 10, 5},
      {"cluster: {nodes: 16, node: " NODE (
           1, 1) ", fabric: {kind: torus, dims: [4, 4], hop_latency: 1 us}}",
       0, 15, 3},
      {"cluster: {nodes: 16, node: " NODE (
           1, 1) ", fabric: {kind: torus, dims: [4, 4], wrap: false, hop_latency: 1 us}}",
       0, 15, 7},
      {"cluster: {nodes: 8, node: " NODE (
           1, 1) ", fabric: {kind: dragonfly+, groups: 2, leaves: 2, spines: 2, nodes_per_leaf: 2, "
                 "global_links: 2, hop_latency: 1 us}}",
       0, 7, 4},
      {"cluster: {groups: {a: {nodes: 2, node: {preset: dgx-h100, nics: {compute: {fabric: a}}}}, "
       "b: {nodes: 2, node: {preset: dgx-h100, nics: {compute: {fabric: b}}}}}, fabrics: "
       "{a: {kind: single-switch, hop_latency: 1 us}, b: {kind: single-switch, hop_latency: 1 us}, "
       "w: {kind: wan, sites: {x: a, y: b}, links: {l: {from: x, to: y, rate: 10 GB/s, latency: 5 "
       "ms}}}}}",
       0, 31, 5002},
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Built built = build (rows[i].text);
    gint64 got = ls_route_latency_ps (built.topology, rows[i].from, rows[i].to);
    ck_assert_msg (got == llround (rows[i].us * 1e6), "%s: %u to %u takes %g us, not %g",
                   rows[i].text, rows[i].from, rows[i].to, (double) got / 1e6, rows[i].us);
    finish (&built);
  }
}
END_TEST

/* Over any pair the trunks of one stage carry the whole flow: shares of a stage sum to 1. */
static void check_stages (const Built *built, guint from, guint to) {
  g_autoptr (LsRouteList) list = ls_route_list_new (built->topology, from, to);
  for (guint i = 0; i < list->hops->len;) {
    const LsRouteHop *first = &g_array_index (list->hops, LsRouteHop, i);
    double sum = 0;
    guint k = i;
    for (; k < list->hops->len && g_array_index (list->hops, LsRouteHop, k).stage == first->stage;
         k++)
      sum += g_array_index (list->hops, LsRouteHop, k).share;
    if (ls_topology_resource (built->topology, first->resource)->kind == LS_RESOURCE_TRUNK)
      ck_assert_msg (fabs (sum - 1) < 1e-9, "%u to %u: a stage carries %g", from, to, sum);
    i = k;
  }
}

START_TEST (stages_carry_all) {
  static const char *const texts[] = {
      "cluster: {nodes: 32, node: " NODE (
          2, 2) ", fabric: {leaf_radix: 4, tiers: 3, spine_radix: 64}}",
      "cluster: {nodes: 16, node: " NODE (2, 2) ", fabric: {kind: torus, dims: [4, 4]}}",
      "cluster: {nodes: 16, node: " NODE (
          2, 2) ", fabric: {kind: dragonfly+, groups: 4, leaves: 2, spines: 2, nodes_per_leaf: 2, "
                "global_links: 2}}",
      "cluster: {nodes: 8, node: " NODE (2,
                                         2) ", fabric: {leaf_radix: 8, rails: 1, routing: ecmp}}",
      "cluster: {nodes: 8, node: " NODE (2,
                                         2) ", fabric: {leaf_radix: 8, rails: 1, spine_radix: 8}, "
                                            "links: {x: {target: compute/leaf0.spine1, state: "
                                            "down}}}",
  };
  for (guint t = 0; t < G_N_ELEMENTS (texts); t++) {
    Built built = build (texts[t]);
    for (guint to = 2; to < built.topology->n_gpus; to += 3)
      check_stages (&built, 0, to);
    finish (&built);
  }
}
END_TEST

/* The order of keys changes no bit: every resource, its name and its rate, and every route. */
START_TEST (order_does_not_matter) {
  static const char *const one = "cluster:\n  groups:\n    a: {nodes: 2, node: " NODE (
      2, 2) "}\n    b: {nodes: 2, node: " NODE (2,
                                                2) "}\n  fabrics:\n    compute:\n      kind: "
                                                   "custom\n      nodes: {s: {}, t: {}, u: "
                                                   "{}}\n      links:\n        p: {from: s, to: "
                                                   "t}\n        q: {from: s, to: u}\n        r: "
                                                   "{from: u, to: t}\n        x: {from: a, to: s, "
                                                   "count: 2}\n        y: {from: b, to: t, "
                                                   "count: 2}\n    other: {kind: single-switch}\n";
  static const char *const two =
      "cluster:\n  fabrics:\n    other: {kind: single-switch}\n    compute:\n      links:\n        "
      "y: "
      "{to: t, count: 2, from: b}\n        r: {to: t, from: u}\n        x: {from: a, to: s, count: "
      "2}\n        q: {from: s, to: u}\n        p: {to: t, from: s}\n      nodes: {u: {}, t: {}, "
      "s: "
      "{}}\n      kind: custom\n  groups:\n    b: {node: " NODE (
          2, 2) ", nodes: 2}\n    a: {node: " NODE (2, 2) ", nodes: 2}\n";
  Built a = build (one), b = build (two);
  ck_assert_uint_eq (ls_topology_n_resources (a.topology), ls_topology_n_resources (b.topology));
  for (guint i = 0; i < ls_topology_n_resources (a.topology); i++) {
    g_autofree char *x = ls_topology_resource_name (a.topology, i);
    g_autofree char *y = ls_topology_resource_name (b.topology, i);
    ck_assert_str_eq (x, y);
    ck_assert (memcmp (&ls_topology_resource (a.topology, i)->per_s,
                       &ls_topology_resource (b.topology, i)->per_s, sizeof (double)) == 0);
  }
  for (guint to = 1; to < 8; to++) {
    g_autofree char *x = ls_topology_describe_route (a.topology, 0, to);
    g_autofree char *y = ls_topology_describe_route (b.topology, 0, to);
    ck_assert_str_eq (x, y);
  }
  finish (&a);
  finish (&b);
}
END_TEST

static double amount_of (const Built *built, guint from, guint to, const char *name) {
  g_autoptr (LsRouteList) list = ls_route_list_new (built->topology, from, to);
  for (guint i = 0; i < list->hops->len; i++) {
    const LsRouteHop *hop = &g_array_index (list->hops, LsRouteHop, i);
    g_autofree char *other = ls_topology_resource_name (built->topology, hop->resource);
    if (g_str_equal (other, name))
      return hop->share;
  }
  return 0;
}

/* A cable at half speed halves its capacity; over a spine that is down nothing goes and the others carry
 * 1 / (k - 1); a dead adapter's GPU takes the next. */
START_TEST (links_that_are_not_as_their_kind) {
  Built built = build ("cluster: {nodes: 8, node: " NODE (
      2, 2) ", fabric: {leaf_radix: 8, rails: 1, spine_radix: 8}, links: {slow: {target: "
            "\"main[3]/nic1\", rate: 50 %}, dead: {target: compute/leaf0.spine1, state: down}, "
            "port: {target: \"main[0]/nic1\", state: down}, given: {target: "
            "compute/leaf1.spine0.up, rate: 4 GB/s}}}");
  g_autoptr (GArray) slow = ls_topology_find_links (built.topology, "main[3]/nic1", NULL);
  ck_assert_uint_eq (slow->len, 2);
  for (guint i = 0; i < 2; i++)
    ck_assert (fabs (ls_topology_resource (built.topology, g_array_index (slow, guint, i))->per_s -
                     5e9) < 1);
  ck_assert (fabs (amount_of (&built, 0, 15, "compute/leaf0.spine0.up") - 1 / 3.0) < 1e-12);
  ck_assert (amount_of (&built, 0, 15, "compute/leaf0.spine1.up") <= 0);
  ck_assert (fabs (amount_of (&built, 1, 14, "main[0]/nic0.tx") - 1) < 1e-12);
  g_autoptr (GArray) given =
      ls_topology_find_links (built.topology, "compute/leaf1.spine0.up", NULL);
  ck_assert (fabs (ls_topology_resource (built.topology, g_array_index (given, guint, 0))->per_s -
                   4e9) < 1);
  char *near = NULL;
  ck_assert_ptr_null (ls_topology_find_links (built.topology, "main[3]/nik1", &near));
  ck_assert_str_eq (near, "main[3]/nic1");
  g_free (near);
  finish (&built);
}
END_TEST

/* Trunks that all below them together cannot fill are left out of what is shared: those of leaves and of spines of a tree whose
 * traffic is spread, as far down as nothing is oversubscribed. Where a leaf has less bandwidth up than down both tiers may be
 * full, where a spine has, its own; with a route per flow, a link of its own each, or one that is not as its kind, any. */
START_TEST (trunks_that_nobody_can_fill) {
#define TREE(keys)                                                                              \
  "cluster: {nodes: 32, node: " NODE (1, 1) ", fabric: {leaf_radix: 4, tiers: 3, spine_radix: " \
                                            "16" keys "}}"
  static const struct {
    const char *text;
    gboolean leaves, spines;
  } rows[] = {
      {TREE (""), TRUE, TRUE},
      {TREE (", spine_oversubscription: 3"), TRUE, FALSE},
      {TREE (", oversubscription: 3"), FALSE, FALSE},
      {TREE (", oversubscription: 3, spine_oversubscription: 3"), FALSE, FALSE},
      {TREE (", routing: ecmp"), FALSE, FALSE},
      {"cluster: {nodes: 32, node: " NODE (1, 1) ", fabric: {leaf_radix: 4, tiers: 3, spine_radix: "
                                                 "16}, links: {slow: {target: \"main[3]/nic0\", "
                                                 "rate: 50 %}}}",
       FALSE, FALSE},
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Built built = build (rows[i].text);
    guint n[2] = {0, 0};
    for (guint r = 0; r < ls_topology_n_resources (built.topology); r++) {
      g_autofree char *name = ls_topology_resource_name (built.topology, r);
      const gboolean spine = strstr (name, "core") != NULL;
      const gboolean trunk = ls_topology_resource (built.topology, r)->kind == LS_RESOURCE_TRUNK;
      ck_assert_msg (ls_topology_is_ample (built.topology, r) ==
                         (trunk && (spine ? rows[i].spines : rows[i].leaves)),
                     "%s: %s", rows[i].text, name);
      n[spine] += trunk ? 1 : 0;
    }
    ck_assert_msg (n[0] > 0 && n[1] > 0, "%s: %u and %u trunks", rows[i].text, n[0], n[1]);
    finish (&built);
  }
#undef TREE
}
END_TEST

/* Two nodes may stand for each other in a tree as far as their leaf and their pod are told apart: four of a leaf, two leaves of
 * a pod here; on one switch all stand alike. Links of their own, or one that is not as its kind, tell more. */
START_TEST (where_nodes_stand) {
  LsStand stand, first;
  Built tree = build ("cluster: {nodes: 32, node: " NODE (
      1, 1) ", fabric: {leaf_radix: 8, tiers: 3, spine_radix: 4}}");
  Built one = build ("cluster: {nodes: 8, node: " NODE (1, 1) ", fabric: {kind: single-switch}}");
  Built slow = build ("cluster: {nodes: 8, node: " NODE (
      1,
      1) ", fabric: {kind: single-switch}, links: {slow: {target: \"main[3]/nic0\", rate: 50 %}}}");
  for (guint node = 0; node < 32; node++) {
    ck_assert (ls_topology_stand (tree.topology, node, &stand));
    ck_assert_uint_eq (stand.block, node / 4);
    ck_assert_uint_eq (stand.pod, node / 8);
  }
  ck_assert (ls_topology_stand (one.topology, 0, &first));
  ck_assert (ls_topology_stand (one.topology, 7, &stand));
  ck_assert (stand.block == first.block && stand.pod == first.pod);
  ck_assert (!ls_topology_stand (slow.topology, 0, &stand));
  finish (&tree);
  finish (&one);
  finish (&slow);
}
END_TEST

/* Rails: a flow to another rail changes inside the sending node, and no trunk is used under one leaf per
 * rail; with rail_only every pair is reached that way. */
START_TEST (rails_are_changed_inside) {
  static const char *const texts[] = {
      "cluster: {nodes: 4, node: " NODE (4, 4) ", fabric: {leaf_radix: 8, routing: rail}}",
      "cluster: {nodes: 4, node: " NODE (4, 4) ", fabric: {leaf_radix: 8, rail_only: true}}",
  };
  for (guint t = 0; t < 2; t++) {
    Built built = build (texts[t]);
    ck_assert (fabs (amount_of (&built, 0, 7, "main[0]/gpu0/link.up") - 1) < 1e-12);
    ck_assert (fabs (amount_of (&built, 0, 7, "main[0]/gpu3/pcie.up") - 1) < 1e-12);
    ck_assert (fabs (amount_of (&built, 0, 7, "main[0]/nic3.tx") - 1) < 1e-12);
    ck_assert (fabs (amount_of (&built, 0, 7, "main[1]/nic3.rx") - 1) < 1e-12);
    for (guint to = 4; to < 16; to++)
      ck_assert_int_eq (ls_route_latency_ps (built.topology, 0, to), 500000);
    finish (&built);
  }
}
END_TEST

/* A route by hand is taken both in a tree and in a graph; ECMP lays a flow on one path of the shortest. */
START_TEST (routes_by_hand_and_by_hash) {
  Built built = build ("cluster: {nodes: 8, node: " NODE (
      1, 1) ", fabric: {leaf_radix: 8, spine_radix: 8, routing: static, routes: {r: {from: leaf0, "
            "to: leaf1, via: [spine2]}}}}");
  for (guint to = 4; to < 8; to++)
    ck_assert (fabs (amount_of (&built, 0, to, "compute/leaf0.spine2.up") - 1) < 1e-12);
  ck_assert (fabs (amount_of (&built, 4, 0, "compute/leaf1.spine0.up") - 1) < 1e-12);
  finish (&built);
  built = build ("cluster: {nodes: 2, node: " NODE (
      1,
      1) ", fabric: {kind: custom, routing: static, nodes: {a: {}, b: {}, c: {}}, links: {ab: "
         "{from: a, to: b}, bc: {from: b, to: c}, ac: {from: a, to: c}, x: {from: \"main[0]\", to: "
         "a}, y: {from: \"main[1]\", to: c}}, routes: {long: {from: a, to: c, via: [b]}}}}");
  ck_assert (fabs (amount_of (&built, 0, 1, "compute/ab.up") - 1) < 1e-12);
  ck_assert (fabs (amount_of (&built, 1, 0, "compute/ac.down") - 1) < 1e-12);
  finish (&built);
  built = build ("cluster: {nodes: 32, node: " NODE (
      1, 1) ", fabric: {leaf_radix: 4, tiers: 3, spine_radix: 16, routing: ecmp}}");
  guint used = 0, n = ls_topology_n_resources (built.topology);
  g_autofree guint8 *seen = g_new0 (guint8, n);
  for (guint to = 16; to < 32; to++) {
    g_autoptr (LsRouteList) list = ls_route_list_new (built.topology, 0, to);
    ck_assert_uint_eq (list->hops->len, 8); /* PCIe, adapter, 2 up, 2 down, adapter, PCIe */
    ck_assert_int_eq (list->latency_ps, 5 * 500000);
    for (guint i = 0; i < list->hops->len; i++) {
      guint resource = g_array_index (list->hops, LsRouteHop, i).resource;
      used += ls_topology_resource (built.topology, resource)->kind == LS_RESOURCE_TRUNK &&
                      !seen[resource]
                  ? 1
                  : 0;
      seen[resource] = 1;
    }
  }
  ck_assert_uint_gt (used, 16 + 4); /* 16 leaves end 2 apart; several uplinks are used */
  finish (&built);
}
END_TEST

/* Chips of a 3D torus: the shortest way, halves both ways round where equal; places are row by row. */
START_TEST (torus_of_chips) {
  Built built = build ("cluster: {node: {preset: tpu-v4-slice, tuning: {protocol: ideal}}}");
  LsTorusPlace place;
  ck_assert (ls_topology_torus (built.topology, 27, &place));
  ck_assert (place.n_dimensions == 3 && place.at[0] == 1 && place.at[1] == 2 && place.at[2] == 3);
  ck_assert (fabs (amount_of (&built, 0, 2, "main[0]/gpu0/link.z+") - 0.5) < 1e-12);
  ck_assert (fabs (amount_of (&built, 0, 2, "main[0]/gpu0/link.z-") - 0.5) < 1e-12);
  ck_assert (fabs (amount_of (&built, 0, 3, "main[0]/gpu0/link.z-") - 1) < 1e-12);
  guint up = ls_topology_torus_link (built.topology, 0, 0, TRUE);
  ck_assert_uint_eq (ls_topology_resource (built.topology, up)->peer & 0xffffff, 16);
  ck_assert (fabs (ls_topology_resource (built.topology, up)->per_s - 45e9) < 1);
  finish (&built);
  built = build ("cluster: {node: tpu-v4-host}");
  ck_assert_uint_eq (ls_topology_torus_link (built.topology, 0, 0, FALSE), LS_NO_NUMBER);
  ck_assert_uint_eq (ls_topology_torus_link (built.topology, 0, 2, TRUE), LS_NO_NUMBER);
  finish (&built);
}
END_TEST

/* Sockets: PCIe traffic from one to the other crosses their link; beside each other it does not. */
START_TEST (sockets) {
  Built built =
      build ("cluster: {node: {gpu: l4, gpus: 4, host: {sockets: 2, socket_link: 20 GB/s}}}");
  ck_assert (fabs (amount_of (&built, 0, 3, "main[0]/socket0/link.up") - 1) < 1e-12);
  ck_assert (fabs (amount_of (&built, 0, 3, "main[0]/socket1/link.down") - 1) < 1e-12);
  ck_assert (amount_of (&built, 0, 1, "main[0]/socket0/link.up") <= 0);
  finish (&built);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net topologies");
  TCase *tests = tcase_create ("topologies");
  tcase_add_test (tests, bisections);
  tcase_add_test (tests, path_lengths);
  tcase_add_test (tests, stages_carry_all);
  tcase_add_test (tests, order_does_not_matter);
  tcase_add_test (tests, links_that_are_not_as_their_kind);
  tcase_add_test (tests, trunks_that_nobody_can_fill);
  tcase_add_test (tests, where_nodes_stand);
  tcase_add_test (tests, rails_are_changed_inside);
  tcase_add_test (tests, routes_by_hand_and_by_hash);
  tcase_add_test (tests, torus_of_chips);
  tcase_add_test (tests, sockets);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
