/* Shortest paths with shares; see graph.h. The largest flow is in graph_flow.c. */
#include "net/graph_private.h"

#include "base/assert.h"

static void paths_free (gpointer data) {
  LsGraphPaths *paths = data;
  g_free (paths->hops);
  g_free (paths);
}

static void vertex_clear (gpointer data) {
  LsGraphVertex *vertex = data;
  g_free (vertex->name);
  g_array_unref (vertex->out);
}

static void edge_clear (gpointer data) {
  g_free (((LsGraphEdge *) data)->name);
}

LsGraph *ls_graph_new (void) {
  LsGraph *graph = g_new0 (LsGraph, 1);
  graph->vertices = g_array_new (FALSE, TRUE, sizeof (LsGraphVertex));
  g_array_set_clear_func (graph->vertices, vertex_clear);
  graph->edges = g_array_new (FALSE, TRUE, sizeof (LsGraphEdge));
  g_array_set_clear_func (graph->edges, edge_clear);
  graph->known = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, paths_free);
  graph->distance_to = G_MAXUINT;
  return graph;
}

void ls_graph_free (LsGraph *graph) {
  if (graph == NULL)
    return;
  g_array_unref (graph->vertices);
  g_array_unref (graph->edges);
  g_hash_table_unref (graph->known);
  g_free (graph->distance);
  g_free (graph->ways);
  g_free (graph->order);
  g_free (graph);
}

guint ls_graph_add_vertex (LsGraph *graph, const char *name, gint64 latency_ps) {
  LsGraphVertex vertex = {.name = g_strdup (name),
                          .latency_ps = latency_ps,
                          .out = g_array_new (FALSE, FALSE, sizeof (LsGraphOut))};
  g_array_append_val (graph->vertices, vertex);
  return graph->vertices->len - 1;
}

guint ls_graph_add_edge (LsGraph *graph, const char *name, guint a, guint b, double per_s,
                         gint64 latency_ps) {
  LS_REQUIRE (a < graph->vertices->len && b < graph->vertices->len && a != b && per_s > 0,
              "edge %u - %u", a, b);
  LsGraphEdge edge = {
      .name = g_strdup (name), .a = a, .b = b, .per_s = per_s, .latency_ps = latency_ps};
  LsGraphOut forth = {.edge = graph->edges->len, .to = b, .back = FALSE};
  LsGraphOut back = {.edge = graph->edges->len, .to = a, .back = TRUE};
  g_array_append_val (graph->edges, edge);
  g_array_append_val (ls_graph_vertex (graph, a)->out, forth);
  g_array_append_val (ls_graph_vertex (graph, b)->out, back);
  return graph->edges->len - 1;
}

void ls_graph_set_down (LsGraph *graph, guint edge, gboolean back) {
  LS_REQUIRE (g_hash_table_size (graph->known) == 0, "links fail before routes are asked for");
  ls_graph_edge (graph, edge)->down[back ? 1 : 0] = TRUE;
}

gboolean ls_graph_is_down (const LsGraph *graph, guint edge, gboolean back) {
  return ls_graph_edge (graph, edge)->down[back ? 1 : 0];
}

guint ls_graph_n_vertices (const LsGraph *graph) {
  return graph->vertices->len;
}

guint ls_graph_n_edges (const LsGraph *graph) {
  return graph->edges->len;
}

const char *ls_graph_name (const LsGraph *graph, guint vertex) {
  return ls_graph_vertex (graph, vertex)->name;
}

guint ls_graph_find (const LsGraph *graph, const char *name) {
  for (guint i = 0; i < graph->vertices->len; i++)
    if (g_str_equal (ls_graph_vertex (graph, i)->name, name))
      return i;
  return G_MAXUINT;
}

void ls_graph_ends (const LsGraph *graph, guint edge, guint *a, guint *b) {
  *a = ls_graph_edge (graph, edge)->a;
  *b = ls_graph_edge (graph, edge)->b;
}

const char *ls_graph_edge_name (const LsGraph *graph, guint edge) {
  return ls_graph_edge (graph, edge)->name;
}

gint64 ls_graph_latency_ps (const LsGraph *graph, guint edge) {
  return ls_graph_edge (graph, edge)->latency_ps;
}

double ls_graph_rate (const LsGraph *graph, guint edge) {
  return ls_graph_edge (graph, edge)->per_s;
}

/* --- shortest paths --------------------------------------------------------------------------- */

static gboolean leads (const LsGraph *graph, const LsGraphOut *out) {
  return !ls_graph_edge (graph, out->edge)->down[out->back ? 1 : 0];
}

/* Distances to `to` and the number of shortest ways there, of every vertex. */
static void measure (LsGraph *graph, guint to) {
  guint n = graph->vertices->len, head = 0, tail = 0;
  if (graph->distance_to == to)
    return;
  if (graph->distance == NULL) {
    graph->distance = g_new (guint, n);
    graph->order = g_new (guint, n);
    graph->ways = g_new (double, n);
  }
  for (guint i = 0; i < n; i++) {
    graph->distance[i] = G_MAXUINT;
    graph->ways[i] = 0;
  }
  graph->distance[to] = 0;
  graph->ways[to] = 1;
  graph->order[tail++] = to;
  while (head < tail) {
    guint at = graph->order[head++];
    const GArray *out = ls_graph_vertex (graph, at)->out;
    for (guint i = 0; i < out->len; i++) {
      const LsGraphOut *way = &g_array_index (out, LsGraphOut, i);
      LsGraphOut reverse = {.edge = way->edge, .to = at, .back = !way->back};
      if (!leads (graph, &reverse))
        continue;
      if (graph->distance[way->to] == G_MAXUINT) {
        graph->distance[way->to] = graph->distance[at] + 1;
        graph->order[tail++] = way->to;
      }
      if (graph->distance[way->to] == graph->distance[at] + 1)
        graph->ways[way->to] += graph->ways[at];
    }
  }
  graph->distance_to = to;
}

static gboolean is_on_the_way (const LsGraph *graph, guint at, const LsGraphOut *out) {
  return leads (graph, out) && graph->distance[out->to] != G_MAXUINT &&
         graph->distance[out->to] + 1 == graph->distance[at];
}

/* Lays a unit from `from` level by level: each vertex passes on what it has in proportion to the ways. */
static void spread (LsGraph *graph, guint from, LsGraphPaths *paths) {
  guint n = graph->vertices->len, head = 0, tail = 0;
  g_autofree double *has = g_new0 (double, n);
  g_autofree gint64 *late = g_new0 (gint64, n);
  g_autofree guint *queue = g_new (guint, n);
  g_autofree guint8 *seen = g_new0 (guint8, n);
  GArray *hops = g_array_new (FALSE, FALSE, sizeof (LsGraphHop));
  has[from] = seen[from] = 1;
  late[from] = ls_graph_vertex (graph, from)->latency_ps;
  queue[tail++] = from;
  while (head < tail) {
    guint at = queue[head++];
    const GArray *out = ls_graph_vertex (graph, at)->out;
    paths->latency_ps = MAX (paths->latency_ps, late[at]);
    for (guint i = 0; i < out->len; i++) {
      const LsGraphOut *way = &g_array_index (out, LsGraphOut, i);
      if (!is_on_the_way (graph, at, way))
        continue;
      LsGraphHop hop = {.edge = way->edge,
                        .back = way->back,
                        .share = has[at] * graph->ways[way->to] / graph->ways[at]};
      g_array_append_val (hops, hop);
      has[way->to] += hop.share;
      late[way->to] = MAX (late[way->to], late[at] + ls_graph_edge (graph, way->edge)->latency_ps +
                                              ls_graph_vertex (graph, way->to)->latency_ps);
      if (!seen[way->to])
        queue[tail++] = way->to;
      seen[way->to] = 1;
    }
  }
  paths->n_hops = hops->len;
  paths->hops = (LsGraphHop *) (gpointer) g_array_free (hops, FALSE);
}

const LsGraphPaths *ls_graph_paths (LsGraph *graph, guint from, guint to) {
  LS_REQUIRE (from < graph->vertices->len && to < graph->vertices->len, "path %u - %u", from, to);
  gint64 key = (gint64) from << 32 | to;
  LsGraphPaths *paths = g_hash_table_lookup (graph->known, &key);
  if (paths != NULL)
    return paths;
  paths = g_new0 (LsGraphPaths, 1);
  g_hash_table_insert (graph->known, g_memdup2 (&key, sizeof key), paths);
  if (from == to) {
    paths->reachable = TRUE;
    paths->n_paths = 1;
    paths->latency_ps = ls_graph_vertex (graph, from)->latency_ps;
    return paths;
  }
  measure (graph, to);
  if (graph->distance[from] == G_MAXUINT)
    return paths;
  paths->reachable = TRUE;
  paths->length = graph->distance[from];
  paths->n_paths = graph->ways[from];
  spread (graph, from, paths);
  return paths;
}

gboolean ls_graph_choose (LsGraph *graph, guint from, guint to, guint64 number, LsGraphHop *hops) {
  measure (graph, to);
  if (graph->distance[from] == G_MAXUINT)
    return FALSE;
  /* The `rest`-th path in the order of edges; more than 2^53 equal paths are cut. */
  guint64 n = (guint64) MIN (graph->ways[from], 9007199254740992.0);
  double rest = (double) (number % n);
  guint at = from;
  for (guint length = 0; at != to; length++) {
    const GArray *out = ls_graph_vertex (graph, at)->out;
    const LsGraphOut *taken = NULL;
    for (guint i = 0; i < out->len; i++) {
      const LsGraphOut *way = &g_array_index (out, LsGraphOut, i);
      if (!is_on_the_way (graph, at, way))
        continue;
      taken = way;
      if (rest < graph->ways[way->to])
        break;
      rest -= graph->ways[way->to];
    }
    LS_REQUIRE (taken != NULL, "a way from %s", ls_graph_name (graph, at));
    hops[length] = (LsGraphHop){.edge = taken->edge, .back = taken->back, .share = 1};
    at = taken->to;
  }
  return TRUE;
}
