/* Ordering the resources of a route; see route_list.h. Cost O(n^2) in the resources of the route. */
#include "net/route_list.h"

#include <math.h>

#include "base/assert.h"

#define LONG_ROUTE 2000 /* resources beyond which they are not put in order */

/* --- latency ---------------------------------------------------------------------------------- */

static gint64 vertex_ps (const LsTopology *topology, guint f, guint vertex) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  if (fabric->kind == LS_FABRIC_WAN) /* the top of the site's own fabric */
    return ls_cluster_fabric (topology->cluster, fabric->vertices[vertex].fabric)->hop_latency_ps;
  if (fabric->kind == LS_FABRIC_CUSTOM && fabric->vertices[vertex].latency_ps >= 0)
    return fabric->vertices[vertex].latency_ps;
  return fabric->hop_latency_ps;
}

static gint64 trunk_ps (const LsTopology *topology, const LsNetResource *resource, guint index) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, resource->peer);
  const LsFabricMap *map = &topology->fabrics[resource->peer];
  guint a, b;
  if (map->graph == NULL)
    return fabric->hop_latency_ps;
  guint edge = (index - map->trunk_up) / 2;
  ls_graph_ends (map->graph, edge, &a, &b);
  return ls_graph_latency_ps (map->graph, edge) +
         vertex_ps (topology, resource->peer, resource->part == LS_PART_DOWN ? a : b);
}

static gint64 nic_ps (const LsTopology *topology, const LsNetResource *resource) {
  LsAdapter adapter = {(guint) resource->node, resource->peer >> 16, resource->peer & 0xffff};
  guint f = ls_cluster_node (topology->cluster, adapter.node)->nic_sets[adapter.set].fabric;
  gint64 cable_ps = ls_route_cable_ps (topology, adapter);
  guint vertex = ls_route_switch_of (topology, adapter);
  if (resource->part == LS_PART_DOWN || vertex == LS_NO_NUMBER)
    return cable_ps;
  return cable_ps + (topology->fabrics[f].graph != NULL
                         ? vertex_ps (topology, f, vertex)
                         : ls_cluster_fabric (topology->cluster, f)->hop_latency_ps);
}

/* --- order ------------------------------------------------------------------------------------ */

typedef struct {
  const LsTopology *topology;
  guint node_a, node_b;
  gint64 fabric_a, fabric_b; /* < 0: inside a node */
} Ends;

/* A coarse rank by what it is and at which end; links of one rank are then put in order by their ends. */
static guint rank_of (const Ends *ends, const LsNetResource *resource) {
  gboolean there = ends->node_a != ends->node_b && resource->node == (gint32) ends->node_b;
  gboolean down = resource->part == LS_PART_DOWN;
  switch (resource->kind) {
  case LS_RESOURCE_LINK:
    return resource->part == LS_PART_DOWN ? 1 : 0;
  case LS_RESOURCE_PCIE:
    return down ? 90 : 2;
  case LS_RESOURCE_PCIE_ROOT:
    return down ? 89 : 3;
  case LS_RESOURCE_SOCKET:
    return (there ? 80u : 4u) + (down ? 1u : 0u);
  case LS_RESOURCE_HOST_MEMORY:
    return 6;
  case LS_RESOURCE_NIC:
    return down ? 70 : 10;
  case LS_RESOURCE_TRUNK:
    return resource->peer == ends->fabric_a ? 20 : resource->peer == ends->fabric_b ? 40 : 30;
  default:
    return 99;
  }
}

/* Longest chain of links of the same rank that leads to each one. */
static void find_depths (const LsTopology *topology, LsRouteHop *hops, const guint *ranks, guint n,
                         guint *depths) {
  g_auto (GStrv) sources = g_new0 (char *, n + 1);
  g_auto (GStrv) targets = g_new0 (char *, n + 1);
  gboolean changed = n <= LONG_ROUTE;
  for (guint i = 0; i < n; i++) {
    depths[i] = 0;
    sources[i] = changed ? ls_topology_resource_source (topology, hops[i].resource) : NULL;
    targets[i] = changed ? ls_topology_resource_target (topology, hops[i].resource) : NULL;
    sources[i] = sources[i] != NULL ? sources[i] : g_strdup ("");
    targets[i] = targets[i] != NULL ? targets[i] : g_strdup ("?");
  }
  for (guint pass = 0; changed && pass < n; pass++) {
    changed = FALSE;
    for (guint i = 0; i < n; i++)
      for (guint k = 0; k < n; k++)
        if (ranks[i] == ranks[k] && depths[i] <= depths[k] && i != k && depths[k] + 1 < n &&
            g_str_equal (targets[k], sources[i])) {
          depths[i] = depths[k] + 1;
          changed = TRUE;
        }
  }
}

static gint by_stage (gconstpointer a, gconstpointer b) {
  const LsRouteHop *x = a, *y = b;
  if (x->stage != y->stage)
    return x->stage < y->stage ? -1 : 1;
  return (x->resource > y->resource) - (x->resource < y->resource);
}

static void put_in_order (const LsTopology *topology, LsRouteList *list, const Ends *ends) {
  guint n = list->hops->len;
  LsRouteHop *hops = (LsRouteHop *) (gpointer) list->hops->data;
  g_autofree guint *ranks = g_new (guint, n + 1);
  g_autofree guint *depths = g_new (guint, n + 1);
  for (guint i = 0; i < n; i++)
    ranks[i] = rank_of (ends, ls_topology_resource (topology, hops[i].resource));
  find_depths (topology, hops, ranks, n, depths);
  for (guint i = 0; i < n; i++)
    hops[i].stage = ranks[i] * (LONG_ROUTE + 1) + MIN (depths[i], LONG_ROUTE);
  g_array_sort (list->hops, by_stage);
}

/* --- the list --------------------------------------------------------------------------------- */

static void count_paths (const LsTopology *topology, LsRouteList *list, guint from, guint to,
                         Ends *ends) {
  const LsNodeSpec *spec_a = ls_cluster_node (topology->cluster, ends->node_a);
  const LsNodeSpec *spec_b = ls_cluster_node (topology->cluster, ends->node_b);
  const LsNicSet *set_a = ls_node_compute_nics (spec_a), *set_b = ls_node_compute_nics (spec_b);
  const LsLiveNics nics_a = ls_route_live_nics (topology, from);
  const LsLiveNics nics_b = ls_route_live_nics (topology, to);
  ends->fabric_a = set_a->fabric;
  ends->fabric_b = set_b->fabric;
  double n_paths = ls_route_n_paths (
      topology, (LsAdapter){ends->node_a, (guint) (set_a - spec_a->nic_sets), nics_a.nics[0]},
      (LsAdapter){ends->node_b, (guint) (set_b - spec_b->nic_sets), nics_b.nics[0]});
  list->n_paths = MAX (1, n_paths); /* 0: over the rail of another device, or another fabric */
}

LsRouteList *ls_route_list_new (const LsTopology *topology, guint from, guint to) {
  LsRouteList *list = g_new0 (LsRouteList, 1);
  Ends ends = {.topology = topology,
               .node_a = topology->gpu_node[from],
               .node_b = topology->gpu_node[to],
               .fabric_a = -1,
               .fabric_b = -1};
  LsUsages usages;
  guint n;
  double sent, received;
  list->hops = g_array_new (FALSE, TRUE, sizeof (LsRouteHop));
  ls_usages_init (&usages, ls_topology_n_resources (topology));
  list->kind = ls_route_gpus (topology, &usages, from, to, 1);
  g_autofree LsAmount *amounts = ls_usages_take (&usages, &n, &sent, &received);
  ls_usages_clear (&usages);
  list->latency_ps = ls_route_latency_ps (topology, from, to);
  list->n_paths = 1;
  list->bytes_per_s = INFINITY;
  if (ends.node_a != ends.node_b)
    count_paths (topology, list, from, to, &ends);
  for (guint i = 0; i < n; i++) {
    const LsNetResource *resource = ls_topology_resource (topology, amounts[i].resource);
    LsRouteHop hop = {.resource = amounts[i].resource, .share = amounts[i].amount};
    if (resource->kind == LS_RESOURCE_TRUNK)
      hop.latency_ps = trunk_ps (topology, resource, hop.resource);
    else if (resource->kind == LS_RESOURCE_NIC)
      hop.latency_ps = nic_ps (topology, resource);
    list->bytes_per_s = MIN (list->bytes_per_s, resource->per_s / amounts[i].amount);
    g_array_append_val (list->hops, hop);
  }
  put_in_order (topology, list, &ends);
  return list;
}

void ls_route_list_free (LsRouteList *list) {
  if (list == NULL)
    return;
  g_array_unref (list->hops);
  g_free (list);
}
