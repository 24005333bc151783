/* Shortest paths with shares on random graphs, against their definition; the largest flow against cuts. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "net/graph.h"

#define GRAPHS 300

/* A random graph of n vertices: a tree (so that all hang together) and some more edges; now and then two
 * between the same ends, now and then one direction down. */
static LsGraph *random_graph (guint number, guint n) {
  LsRandom random;
  LsGraph *graph = ls_graph_new ();
  ls_random_init (&random, 7, "random-graph", number);
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("v%u", i);
    ls_graph_add_vertex (graph, name, (gint64) ls_random_below (&random, 1000));
  }
  guint edges = n - 1 + (guint) ls_random_below (&random, 2 * n);
  for (guint i = 0; i < edges; i++) {
    guint a = i + 1 < n ? i + 1 : (guint) ls_random_below (&random, n);
    guint b = (guint) ls_random_below (&random, i + 1 < n ? i + 1 : n);
    if (a == b)
      continue;
    guint edge = ls_graph_add_edge (graph, "e", a, b, 1 + (double) ls_random_below (&random, 9),
                                    (gint64) ls_random_below (&random, 1000));
    if (i >= n && ls_random_below (&random, 8) == 0)
      ls_graph_set_down (graph, edge, ls_random_below (&random, 2) == 0);
  }
  return graph;
}

/* Distances by relaxation of all edges, without a queue: another algorithm than the one under test. */
static void slow_distances (LsGraph *graph, guint to, guint *distance) {
  guint n = ls_graph_n_vertices (graph);
  for (guint i = 0; i < n; i++)
    distance[i] = i == to ? 0 : G_MAXUINT;
  for (guint pass = 0; pass < n; pass++)
    for (guint e = 0; e < ls_graph_n_edges (graph); e++) {
      guint a, b;
      ls_graph_ends (graph, e, &a, &b);
      if (!ls_graph_is_down (graph, e, FALSE) && distance[b] != G_MAXUINT)
        distance[a] = MIN (distance[a], distance[b] + 1);
      if (!ls_graph_is_down (graph, e, TRUE) && distance[a] != G_MAXUINT)
        distance[b] = MIN (distance[b], distance[a] + 1);
    }
}

/* Shares leave the start as 1, reach the end as 1, and what enters any other vertex leaves it; every hop
 * comes one nearer; no share is above 1. Tolerance: rounding of sums of shares. */
static void check_shares (LsGraph *graph, guint from, guint to, const guint *distance) {
  const LsGraphPaths *paths = ls_graph_paths (graph, from, to);
  guint n = ls_graph_n_vertices (graph);
  g_autofree double *balance = g_new0 (double, n);
  ck_assert (paths->reachable == (distance[from] != G_MAXUINT));
  if (!paths->reachable || from == to)
    return;
  ck_assert_uint_eq (paths->length, distance[from]);
  for (guint i = 0; i < paths->n_hops; i++) {
    const LsGraphHop *hop = &paths->hops[i];
    guint a, b;
    ls_graph_ends (graph, hop->edge, &a, &b);
    guint tail = hop->back ? b : a, head = hop->back ? a : b;
    ck_assert_uint_eq (distance[tail], distance[head] + 1);
    ck_assert (hop->share > 0 && hop->share < 1 + 1e-12);
    ck_assert (!ls_graph_is_down (graph, hop->edge, hop->back));
    balance[tail] -= hop->share;
    balance[head] += hop->share;
  }
  for (guint i = 0; i < n; i++) {
    double wanted = i == from ? -1 : i == to ? 1 : 0;
    ck_assert_msg (fabs (balance[i] - wanted) < 1e-9, "vertex %u keeps %g", i, balance[i] - wanted);
  }
}

/* The k-th choices, k = 0 .. n_paths - 1, are shortest, connected, and all different; each edge is on
 * share x n_paths of them. */
static void check_choices (LsGraph *graph, guint from, guint to) {
  const LsGraphPaths *paths = ls_graph_paths (graph, from, to);
  g_autofree double *uses = g_new0 (double, 2 * ls_graph_n_edges (graph) + 2);
  g_autofree LsGraphHop *hops = g_new (LsGraphHop, paths->length + 1);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (!paths->reachable || from == to || paths->n_paths > 500)
    return;
  for (guint k = 0; k < (guint) paths->n_paths; k++) {
    GString *text = g_string_new (NULL);
    guint at = from;
    ck_assert (ls_graph_choose (graph, from, to, k, hops));
    for (guint i = 0; i < paths->length; i++) {
      guint a, b;
      ls_graph_ends (graph, hops[i].edge, &a, &b);
      ck_assert_uint_eq (hops[i].back ? b : a, at);
      at = hops[i].back ? a : b;
      uses[2 * hops[i].edge + (hops[i].back ? 1 : 0)]++;
      g_string_append_printf (text, "%u ", hops[i].edge);
    }
    ck_assert_uint_eq (at, to);
    ck_assert_msg (g_hash_table_add (seen, g_string_free (text, FALSE)), "path %u comes twice", k);
  }
  for (guint i = 0; i < paths->n_hops; i++)
    ck_assert (fabs (uses[2 * paths->hops[i].edge + (paths->hops[i].back ? 1 : 0)] -
                     paths->hops[i].share * paths->n_paths) < 1e-6);
}

START_TEST (random_graphs) {
  for (guint number = 0; number < GRAPHS; number++) {
    guint n = 2 + number % 19;
    g_autoptr (LsGraph) graph = random_graph (number, n);
    g_autofree guint *distance = g_new (guint, n);
    for (guint to = 0; to < n; to += 3) {
      slow_distances (graph, to, distance);
      for (guint from = 0; from < n; from++) {
        check_shares (graph, from, to, distance);
        check_choices (graph, from, to);
      }
    }
  }
}
END_TEST

/* k equal paths carry 1/k each. */
START_TEST (equal_paths_share_evenly) {
  for (guint k = 1; k <= 12; k++) {
    g_autoptr (LsGraph) graph = ls_graph_new ();
    for (guint i = 0; i < k + 2; i++)
      ls_graph_add_vertex (graph, "v", 100);
    for (guint i = 0; i < k; i++) {
      ls_graph_add_edge (graph, "up", 0, 2 + i, 1, 7);
      ls_graph_add_edge (graph, "down", 2 + i, 1, 1, 7);
    }
    const LsGraphPaths *paths = ls_graph_paths (graph, 0, 1);
    ck_assert (fabs (paths->n_paths - k) < 1e-12);
    ck_assert_int_eq (paths->latency_ps, 3 * 100 + 2 * 7);
    ck_assert_uint_eq (paths->n_hops, 2 * k);
    for (guint i = 0; i < paths->n_hops; i++)
      ck_assert (fabs (paths->hops[i].share * k - 1) < 1e-12);
  }
}
END_TEST

/* Max flow = min cut (Ford and Fulkerson): on graphs small enough to try all cuts. */
START_TEST (largest_flow_is_smallest_cut) {
  for (guint number = 0; number < GRAPHS; number++) {
    guint n = 2 + number % 7;
    g_autoptr (LsGraph) graph = random_graph (number, n);
    g_autofree double *sources = g_new0 (double, n);
    g_autofree double *sinks = g_new0 (double, n);
    sources[0] = 5;
    sinks[n - 1] = 7;
    if (n > 3)
      sources[1] = 3;
    double least = INFINITY;
    for (guint set = 0; set < 1u << n; set++) { /* bit: on the side of the sources */
      double cut = 0;
      for (guint i = 0; i < n; i++)
        cut += (set >> i & 1) ? sinks[i] : sources[i];
      for (guint e = 0; e < ls_graph_n_edges (graph); e++) {
        guint a, b;
        ls_graph_ends (graph, e, &a, &b);
        if ((set >> a & 1) && !(set >> b & 1) && !ls_graph_is_down (graph, e, FALSE))
          cut += ls_graph_rate (graph, e);
        if ((set >> b & 1) && !(set >> a & 1) && !ls_graph_is_down (graph, e, TRUE))
          cut += ls_graph_rate (graph, e);
      }
      least = MIN (least, cut);
    }
    double flow = ls_graph_max_flow (graph, sources, sinks);
    ck_assert_msg (fabs (flow - least) < 1e-9, "graph %u: flow %g, cut %g", number, flow, least);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net graph");
  TCase *tests = tcase_create ("graph");
  tcase_set_timeout (tests, 60);
  tcase_add_test (tests, random_graphs);
  tcase_add_test (tests, equal_paths_share_evenly);
  tcase_add_test (tests, largest_flow_is_smallest_cut);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
