/* Paths through fabrics; see route_fabric.h. */
#include "net/route_fabric.h"

#include "base/assert.h"
#include "base/random.h"
#include "net/topology_build.h"

typedef struct {
  const LsTopology *topology;
  LsUsages *usages; /* NULL: look only */
  const LsFabricSpec *fabric;
  const LsFabricMap *map;
  LsAdapter from, to;
  double amount;
} Flow;

static const LsNicSet *set_of (const LsTopology *topology, LsAdapter adapter) {
  return &ls_cluster_node (topology->cluster, adapter.node)->nic_sets[adapter.set];
}

static const LsFabricGroup *place_of (const LsTopology *topology, const LsFabricMap *map,
                                      guint node, guint *index) {
  guint g = ls_cluster_node_group (topology->cluster, node);
  *index = node - ls_cluster_group (topology->cluster, g)->first_node;
  return &map->groups[g];
}

/* Number of an adapter on its fabric, over all sets of the node that are plugged into it. */
static guint port_of (const LsTopology *topology, LsAdapter adapter) {
  const LsNodeSpec *node = ls_cluster_node (topology->cluster, adapter.node);
  guint port = adapter.nic;
  for (guint i = 0; i < adapter.set; i++)
    if (node->nic_sets[i].fabric == node->nic_sets[adapter.set].fabric)
      port += node->nic_sets[i].count;
  return port;
}

guint ls_route_hash (guint node_a, guint nic_a, guint node_b, guint nic_b, guint n) {
  guint64 from = (guint64) node_a << 32 | nic_a, to = (guint64) node_b << 32 | nic_b;
  return (guint) (ls_random_hash (0, from, to) % n);
}

guint ls_route_rail_of (const LsTopology *topology, LsAdapter adapter) {
  guint f = set_of (topology, adapter)->fabric;
  return port_of (topology, adapter) % ls_cluster_fabric (topology->cluster, f)->rails;
}

guint ls_route_switch_of (const LsTopology *topology, LsAdapter adapter) {
  guint f = set_of (topology, adapter)->fabric, index;
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  const LsFabricMap *map = &topology->fabrics[f];
  const LsFabricGroup *place = place_of (topology, map, adapter.node, &index);
  switch (fabric->kind) {
  case LS_FABRIC_FAT_TREE:
    return ls_route_rail_of (topology, adapter) * map->blocks + place->first_block +
           index / place->nodes_per_leaf;
  case LS_FABRIC_DRAGONFLY: { /* leaves of all groups in turn; a group's spines come between */
    guint leaf = (place->first_position + index) / fabric->nodes_per_leaf;
    return leaf / fabric->group_leaves * (fabric->group_leaves + fabric->group_spines) +
           leaf % fabric->group_leaves;
  }
  case LS_FABRIC_TORUS:
    return place->first_position + index;
  case LS_FABRIC_CUSTOM:
    return map->port_vertex[map->port_first[adapter.node] + port_of (topology, adapter)];
  default:
    return 0;
  }
}

static gint64 cable_ps (const LsTopology *topology, const LsFabricMap *map, LsAdapter adapter) {
  return map->port_latency_ps == NULL
             ? 0
             : map->port_latency_ps[map->port_first[adapter.node] + port_of (topology, adapter)];
}

gint64 ls_route_cable_ps (const LsTopology *topology, LsAdapter adapter) {
  return cable_ps (topology, &topology->fabrics[set_of (topology, adapter)->fabric], adapter);
}

static guint nic_of (const LsTopology *topology, LsAdapter adapter) {
  return topology->nic[adapter.node][adapter.set] + 2 * adapter.nic;
}

static gboolean is_down (const LsTopology *topology, guint resource) {
  return ls_topology_resource (topology, resource)->per_s <= 0;
}

static void add (const Flow *flow, guint resource, double share) {
  if (flow->usages != NULL)
    ls_usages_add (flow->usages, resource, flow->amount * share);
}

static guint64 hash_of (const Flow *flow, guint n) {
  return ls_route_hash (flow->from.node, flow->from.nic, flow->to.node, flow->to.nic, n);
}

/* The destination's number: what InfiniBand's static routes spread by. */
static guint64 destination_of (const Flow *flow) {
  return (guint64) flow->to.node * set_of (flow->topology, flow->to)->count + flow->to.nic;
}

/* --- trees ------------------------------------------------------------------------------------ */

/* The links of path (spine, core) between two leaves; `n` of them. */
static guint tree_links (const LsFabricMap *map, guint leaf_a, guint leaf_b, guint pod_a,
                         guint pod_b, guint spine, guint core, guint *links) {
  guint n = 0;
  links[n++] = map->trunk_up + leaf_a * map->spines + spine;
  if (pod_a != pod_b) {
    links[n++] = map->core_up + (pod_a * map->spines + spine) * map->cores + core;
    links[n++] = map->core_down + (pod_b * map->spines + spine) * map->cores + core;
  }
  links[n++] = map->trunk_down + leaf_b * map->spines + spine;
  return n;
}

typedef struct {
  guint leaf_a, leaf_b, pod_a, pod_b;
  guint n; /* paths: spines, x cores between pods */
} TreeWay;

static guint pod_of (const LsFabricSpec *fabric, const LsFabricMap *map, guint leaf) {
  guint pod = leaf % map->blocks / map->blocks_per_pod;
  if (!fabric->rail_only)
    return pod;
  return leaf / map->blocks * (map->pods / fabric->rails) + pod;
}

static gboolean is_live (const Flow *flow, const TreeWay *way, guint path) {
  guint links[4], cores = way->pod_a != way->pod_b ? flow->map->cores : 1;
  guint n = tree_links (flow->map, way->leaf_a, way->leaf_b, way->pod_a, way->pod_b, path / cores,
                        path % cores, links);
  for (guint i = 0; i < n; i++)
    if (is_down (flow->topology, links[i]))
      return FALSE;
  return TRUE;
}

static void lay (const Flow *flow, const TreeWay *way, guint path, double share) {
  guint links[4], cores = way->pod_a != way->pod_b ? flow->map->cores : 1;
  guint n = tree_links (flow->map, way->leaf_a, way->leaf_b, way->pod_a, way->pod_b, path / cores,
                        path % cores, links);
  for (guint i = 0; i < n; i++)
    add (flow, links[i], share);
}

static guint count_live (const Flow *flow, const TreeWay *way) {
  guint live = 0;
  if (!flow->fabric->single_links)
    return way->n;
  for (guint path = 0; path < way->n; path++)
    live += is_live (flow, way, path) ? 1 : 0;
  return live;
}

/* The `rest`-th of the live paths. */
static guint live_path (const Flow *flow, const TreeWay *way, guint rest) {
  if (!flow->fabric->single_links)
    return rest;
  for (guint path = 0; path < way->n; path++)
    if (is_live (flow, way, path) && rest-- == 0)
      return path;
  LS_REQUIRE (FALSE, "a path of %u is gone", way->n);
  return 0;
}

/* One path: a hash, or by destination unless a route was given. */
static guint chosen_path (const Flow *flow, const TreeWay *way, guint live) {
  if (flow->fabric->routing == LS_ROUTING_ECMP)
    return live_path (flow, way, (guint) hash_of (flow, live));
  const LsStaticRoute *route = ls_topology_static_route (flow->map, way->leaf_a, way->leaf_b);
  guint cores = way->pod_a != way->pod_b ? flow->map->cores : 1;
  guint path = route != NULL ? route->spine * cores + route->core : G_MAXUINT;
  if (path < way->n && is_live (flow, way, path))
    return path;
  return live_path (flow, way, (guint) (destination_of (flow) % live));
}

static gboolean tree_way (const Flow *flow, TreeWay *way) {
  const LsFabricMap *map = flow->map;
  way->leaf_a = ls_route_switch_of (flow->topology, flow->from);
  way->leaf_b = ls_route_switch_of (flow->topology, flow->to);
  way->pod_a = pod_of (flow->fabric, map, way->leaf_a);
  way->pod_b = pod_of (flow->fabric, map, way->leaf_b);
  way->n = way->pod_a == way->pod_b ? map->spines : map->spines * map->cores;
  return way->leaf_a == way->leaf_b || !flow->fabric->rail_only ||
         way->leaf_a / map->blocks == way->leaf_b / map->blocks;
}

static gboolean through_tree (const Flow *flow, gint64 *latency_ps) {
  TreeWay way;
  if (!tree_way (flow, &way))
    return FALSE;
  guint switches = way.leaf_a == way.leaf_b ? 1 : way.pod_a == way.pod_b ? 3 : 5;
  *latency_ps = switches * flow->fabric->hop_latency_ps;
  if (switches == 1)
    return TRUE;
  LS_REQUIRE (flow->map->tiers > 1 && (switches == 3 || flow->map->tiers > 2), "tiers of %s",
              flow->fabric->name);
  guint live = count_live (flow, &way);
  if (live == 0)
    return FALSE;
  if (flow->fabric->routing == LS_ROUTING_ECMP || flow->fabric->routing == LS_ROUTING_STATIC) {
    lay (flow, &way, chosen_path (flow, &way, live), 1);
    return TRUE;
  }
  for (guint path = 0; path < way.n; path++)
    if (live == way.n || is_live (flow, &way, path))
      lay (flow, &way, path, 1.0 / live);
  return TRUE;
}

/* --- graphs ----------------------------------------------------------------------------------- */

static void lay_hops (const Flow *flow, const LsGraphHop *hops, guint n) {
  for (guint i = 0; i < n; i++)
    add (flow, flow->map->trunk_up + 2 * hops[i].edge + (hops[i].back ? 1 : 0), hops[i].share);
}

static gboolean between_vertices (const Flow *flow, guint a, guint b, gint64 *latency_ps) {
  LsGraph *graph = flow->map->graph;
  const LsStaticRoute *route = ls_topology_static_route (flow->map, a, b);
  const LsGraphPaths *paths = ls_graph_paths (graph, a, b);
  *latency_ps = paths->latency_ps;
  if (!paths->reachable)
    return FALSE;
  if (route != NULL)
    lay_hops (flow, route->hops, route->n_hops);
  else if (flow->fabric->routing == LS_ROUTING_ECMP || flow->fabric->routing == LS_ROUTING_STATIC) {
    g_autofree LsGraphHop *hops = g_new (LsGraphHop, paths->length + 1);
    guint64 number = flow->fabric->routing == LS_ROUTING_ECMP ? hash_of (flow, G_MAXINT32)
                                                              : destination_of (flow);
    ls_graph_choose (graph, a, b, number, hops);
    lay_hops (flow, hops, paths->length);
  } else
    lay_hops (flow, paths->hops, paths->n_hops);
  return TRUE;
}

static gboolean through_graph (const Flow *flow, gint64 *latency_ps) {
  guint a = ls_route_switch_of (flow->topology, flow->from);
  guint b = ls_route_switch_of (flow->topology, flow->to);
  if (a == LS_NO_NUMBER || b == LS_NO_NUMBER || !between_vertices (flow, a, b, latency_ps))
    return FALSE;
  *latency_ps += cable_ps (flow->topology, flow->map, flow->from) +
                 cable_ps (flow->topology, flow->map, flow->to);
  return TRUE;
}

/* --- to the top, and beyond ------------------------------------------------------------------- */

/* From a leaf to the top of a tree (or back), evenly over what is alive; graphs: to a vertex. */
static gboolean to_top (const Flow *flow, LsAdapter adapter, gboolean out, const char *gateway,
                        gint64 *latency_ps) {
  const LsFabricMap *map = flow->map;
  *latency_ps = flow->fabric->hop_latency_ps;
  guint at = ls_route_switch_of (flow->topology, adapter);
  if (map->graph != NULL) {
    guint end = gateway != NULL ? ls_graph_find (map->graph, gateway) : 0;
    return at != LS_NO_NUMBER && end != G_MAXUINT &&
           between_vertices (flow, out ? at : end, out ? end : at, latency_ps);
  }
  if (map->tiers < 2)
    return TRUE;
  guint live = 0, pod = pod_of (flow->fabric, map, at);
  guint first = (out ? map->trunk_up : map->trunk_down) + at * map->spines;
  for (guint s = 0; s < map->spines; s++)
    live += is_down (flow->topology, first + s) ? 0 : 1;
  for (guint s = 0; s < map->spines; s++) {
    if (is_down (flow->topology, first + s))
      continue;
    add (flow, first + s, 1.0 / live);
    for (guint c = 0; map->tiers > 2 && c < map->cores; c++)
      add (flow, (out ? map->core_up : map->core_down) + (pod * map->spines + s) * map->cores + c,
           1.0 / live / map->cores);
  }
  *latency_ps = map->tiers * flow->fabric->hop_latency_ps;
  return live > 0;
}

/* The WAN that has both fabrics as sites, and which sites they are. */
static gboolean find_wan (const LsTopology *topology, guint a, guint b, guint *wan, guint *site_a,
                          guint *site_b) {
  for (guint f = 0; f < ls_cluster_n_fabrics (topology->cluster); f++) {
    const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
    *site_a = *site_b = LS_NO_NUMBER;
    for (guint i = 0; fabric->kind == LS_FABRIC_WAN && i < fabric->n_vertices; i++) {
      if (fabric->vertices[i].fabric == a)
        *site_a = i;
      if (fabric->vertices[i].fabric == b)
        *site_b = i;
    }
    *wan = f;
    if (*site_a != LS_NO_NUMBER && *site_b != LS_NO_NUMBER)
      return TRUE;
  }
  return FALSE;
}

static void turn_to (Flow *flow, guint f) {
  flow->fabric = ls_cluster_fabric (flow->topology->cluster, f);
  flow->map = &flow->topology->fabrics[f];
}

static gboolean over_wan (Flow *flow, guint f_a, guint f_b, gint64 *latency_ps) {
  guint wan, site_a, site_b;
  gint64 parts_ps[3];
  if (!find_wan (flow->topology, f_a, f_b, &wan, &site_a, &site_b))
    return FALSE;
  const LsFabricVertex *sites = ls_cluster_fabric (flow->topology->cluster, wan)->vertices;
  turn_to (flow, f_a);
  if (!to_top (flow, flow->from, TRUE, sites[site_a].gateway, &parts_ps[0]))
    return FALSE;
  turn_to (flow, wan);
  if (!between_vertices (flow, site_a, site_b, &parts_ps[1]))
    return FALSE;
  turn_to (flow, f_b);
  if (!to_top (flow, flow->to, FALSE, sites[site_b].gateway, &parts_ps[2]))
    return FALSE;
  *latency_ps = parts_ps[0] + parts_ps[1] + parts_ps[2];
  return TRUE;
}

static gboolean through (Flow *flow, gint64 *latency_ps) {
  guint f_a = set_of (flow->topology, flow->from)->fabric;
  guint f_b = set_of (flow->topology, flow->to)->fabric;
  if (f_a != f_b)
    return over_wan (flow, f_a, f_b, latency_ps);
  turn_to (flow, f_a);
  *latency_ps = flow->fabric->hop_latency_ps;
  if (flow->fabric->kind == LS_FABRIC_SINGLE_SWITCH)
    return TRUE;
  return flow->map->graph != NULL ? through_graph (flow, latency_ps)
                                  : through_tree (flow, latency_ps);
}

gboolean ls_route_adapters (const LsTopology *topology, LsUsages *usages, LsAdapter from,
                            LsAdapter to, double amount, gint64 *latency_ps) {
  Flow flow = {.topology = topology, .from = from, .to = to, .amount = amount};
  guint tx = nic_of (topology, from), rx = nic_of (topology, to) + 1;
  gint64 ignored = 0;
  gboolean look_first =
      usages != NULL && set_of (topology, from)->fabric != set_of (topology, to)->fabric;
  latency_ps = latency_ps != NULL ? latency_ps : &ignored;
  if (is_down (topology, tx) || is_down (topology, rx))
    return FALSE;
  if (look_first && !through (&flow, latency_ps))
    return FALSE;
  flow.usages = usages;
  if (usages != NULL)
    ls_usages_add (usages, tx, amount);
  gboolean reached = through (&flow, latency_ps);
  LS_REQUIRE (reached || usages == NULL, "node %u cannot reach node %u", from.node, to.node);
  if (usages != NULL)
    ls_usages_add (usages, rx, amount);
  return reached;
}

gboolean ls_route_switches (const LsTopology *topology, LsUsages *usages, LsAdapter from,
                            LsAdapter to, double amount) {
  Flow flow = {.topology = topology, .usages = usages, .from = from, .to = to, .amount = amount};
  gint64 ignored = 0;
  return through (&flow, &ignored);
}

void ls_route_adapter_top (const LsTopology *topology, LsUsages *usages, LsAdapter adapter,
                           gboolean out, double amount) {
  Flow flow = {
      .topology = topology, .usages = usages, .from = adapter, .to = adapter, .amount = amount};
  gint64 latency_ps;
  turn_to (&flow, set_of (topology, adapter)->fabric);
  ls_usages_add (usages, nic_of (topology, adapter) + (out ? 0 : 1), amount);
  if (flow.fabric->kind == LS_FABRIC_FAT_TREE)
    to_top (&flow, adapter, out, NULL, &latency_ps);
}

double ls_route_n_paths (const LsTopology *topology, LsAdapter from, LsAdapter to) {
  Flow flow = {.topology = topology, .from = from, .to = to, .amount = 1};
  guint f = set_of (topology, from)->fabric;
  TreeWay way;
  if (f != set_of (topology, to)->fabric)
    return 1;
  turn_to (&flow, f);
  if (flow.fabric->kind == LS_FABRIC_SINGLE_SWITCH)
    return 1;
  if (flow.map->graph != NULL) {
    guint a = ls_route_switch_of (topology, from), b = ls_route_switch_of (topology, to);
    return a == LS_NO_NUMBER || b == LS_NO_NUMBER ? 0
                                                  : ls_graph_paths (flow.map->graph, a, b)->n_paths;
  }
  if (!tree_way (&flow, &way))
    return 0;
  return way.leaf_a == way.leaf_b ? 1 : count_live (&flow, &way);
}
