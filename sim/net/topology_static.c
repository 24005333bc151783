/* Routes that people give: resolved from names to links once, when a topology is made. */
#include <string.h>

#include "base/assert.h"
#include "net/topology_build.h"

static void route_clear (gpointer data) {
  g_free (((LsStaticRoute *) data)->hops);
}

/* "leaf12" with stem "leaf" -> 12; FALSE: another word, or n or more. */
static gboolean numbered (const char *word, const char *stem, guint n, guint *number) {
  guint64 value;
  gsize length = strlen (stem);
  if (n == 0 || strncmp (word, stem, length) != 0 ||
      !g_ascii_string_to_unsigned (word + length, 10, 0, n - 1, &value, NULL))
    return FALSE;
  *number = (guint) value;
  return TRUE;
}

static char *read_tree (const LsFabricMap *map, const LsFabricRoute *route, LsStaticRoute *out) {
  guint pod_from, pod_to;
  if (!numbered (route->from, "leaf", map->leaves, &out->from))
    return g_strdup_printf ("%s is no leaf switch; they are leaf0 to leaf%u", route->from,
                            map->leaves - 1);
  if (!numbered (route->to, "leaf", map->leaves, &out->to))
    return g_strdup_printf ("%s is no leaf switch; they are leaf0 to leaf%u", route->to,
                            map->leaves - 1);
  pod_from = out->from % map->blocks / map->blocks_per_pod;
  pod_to = out->to % map->blocks / map->blocks_per_pod;
  guint n = g_strv_length (route->via), wanted = pod_from == pod_to ? 1 : 2;
  if (n != wanted)
    return g_strdup_printf ("does not connect: from %s to %s a route goes via %s", route->from,
                            route->to,
                            wanted == 1 ? "one spine, such as [spine0]"
                                        : "a spine and a core, such as [spine0, core0]");
  if (!numbered (route->via[0], "spine", map->spines, &out->spine))
    return g_strdup_printf ("does not connect: %s is no spine; they are spine0 to spine%u",
                            route->via[0], map->spines - 1);
  if (n == 2 && !numbered (route->via[1], "core", map->cores, &out->core))
    return g_strdup_printf ("does not connect: %s is no core; they are core0 to core%u",
                            route->via[1], map->cores - 1);
  return NULL;
}

/* The first edge from a to b; FALSE: none. */
static gboolean find_edge (const LsGraph *graph, guint a, guint b, LsGraphHop *hop) {
  for (guint i = 0; i < ls_graph_n_edges (graph); i++) {
    guint from, to;
    ls_graph_ends (graph, i, &from, &to);
    if ((from == a && to == b) || (from == b && to == a)) {
      *hop = (LsGraphHop){.edge = i, .back = from == b, .share = 1};
      return TRUE;
    }
  }
  return FALSE;
}

static char *read_graph (const LsFabricMap *map, const LsFabricRoute *route, LsStaticRoute *out) {
  const LsGraph *graph = map->graph;
  guint n = g_strv_length (route->via), at;
  out->from = at = ls_graph_find (graph, route->from);
  out->to = ls_graph_find (graph, route->to);
  if (out->from == G_MAXUINT || out->to == G_MAXUINT)
    return g_strdup_printf ("no switch of this fabric is called %s",
                            out->from == G_MAXUINT ? route->from : route->to);
  out->hops = g_new (LsGraphHop, n + 1);
  for (guint i = 0; i <= n; i++) {
    const char *name = i < n ? route->via[i] : route->to;
    guint next = ls_graph_find (graph, name);
    if (next == G_MAXUINT)
      return g_strdup_printf ("no switch of this fabric is called %s", name);
    if (!find_edge (graph, at, next, &out->hops[out->n_hops++]))
      return g_strdup_printf ("does not connect: no link joins %s and %s",
                              ls_graph_name (graph, at), name);
    at = next;
  }
  return NULL;
}

char *ls_topology_route_problem (const LsTopology *topology, guint f, guint i) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  const LsFabricMap *map = &topology->fabrics[f];
  LsStaticRoute out = {.from = 0};
  char *problem = map->graph != NULL ? read_graph (map, &fabric->routes[i], &out)
                                     : read_tree (map, &fabric->routes[i], &out);
  g_free (out.hops);
  return problem;
}

void ls_topology_add_static (LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  LsFabricMap *map = &topology->fabrics[f];
  if (fabric->routing != LS_ROUTING_STATIC)
    return;
  map->static_routes = g_array_new (FALSE, TRUE, sizeof (LsStaticRoute));
  g_array_set_clear_func (map->static_routes, route_clear);
  for (guint i = 0; i < fabric->n_routes; i++) {
    LsStaticRoute out = {.from = 0};
    g_autofree char *problem = map->graph != NULL ? read_graph (map, &fabric->routes[i], &out)
                                                  : read_tree (map, &fabric->routes[i], &out);
    if (problem == NULL)
      g_array_append_val (map->static_routes, out);
    else
      g_free (out.hops);
  }
}

const LsStaticRoute *ls_topology_static_route (const LsFabricMap *map, guint from, guint to) {
  for (guint i = 0; map->static_routes != NULL && i < map->static_routes->len; i++) {
    const LsStaticRoute *route = &g_array_index (map->static_routes, LsStaticRoute, i);
    if (route->from == from && route->to == to)
      return route;
  }
  return NULL;
}
