/* Fabrics as resources: where nodes are plugged in, and the trunks of trees.
 *
 * Trees: adapter p of a node is on rail p modulo rails. Each rail has leaf switches of its own; nodes of one
 * group fill them block by block, and a group begins with a new block, so that all ports of a leaf are
 * alike. The leaves of a pod meet in its spines, pods meet in cores. With rail_only each rail has pods and
 * cores of its own. */
#include <math.h>

#include "base/assert.h"
#include "net/topology_build.h"

/* Ports towards the nodes of a switch whose uplinks carry 1 / oversubscription of them. */
static guint ports_down (guint radix, double oversubscription) {
  return (guint) MAX (1, radix * oversubscription / (1 + oversubscription) + 1e-9);
}

static void plug_in (LsTopology *topology, const LsFabricSpec *fabric, guint f, LsFabricMap *map) {
  const LsCluster *cluster = topology->cluster;
  guint down = ports_down (fabric->leaf_radix, fabric->oversubscription);
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, g);
    LsFabricGroup *place = &map->groups[g];
    place->adapters = ls_node_adapters (&group->node, f);
    if (place->adapters == 0)
      continue;
    place->per_rail = (place->adapters + fabric->rails - 1) / fabric->rails;
    place->nodes_per_leaf = MAX (1, down / place->per_rail);
    place->first_position = map->positions;
    place->first_block = map->blocks;
    map->positions += group->nodes;
    map->blocks += (group->nodes + place->nodes_per_leaf - 1) / place->nodes_per_leaf;
  }
}

/* What the adapters under one full leaf of a group can send. */
static double leaf_load (LsTopology *topology, const LsFabricSpec *fabric, guint f, guint g,
                         const LsFabricGroup *place) {
  const LsNodeSpec *node = &ls_cluster_group (topology->cluster, g)->node;
  double port_per_s = 0;
  for (guint s = 0; s < node->n_nic_sets; s++)
    if (node->nic_sets[s].fabric == f)
      port_per_s =
          MAX (port_per_s, ls_topology_port_bytes_per_s (fabric, &node->nic_sets[s]) *
                               ls_nic_set_efficiency (topology->cluster, node, &node->nic_sets[s]));
  return place->nodes_per_leaf * place->per_rail * port_per_s;
}

/* As few tiers as the radix allows; three when nothing does (reading refuses that). */
static guint tiers_of (const LsFabricSpec *fabric, const LsFabricMap *map) {
  guint below = fabric->rail_only ? map->blocks : map->leaves;
  if (map->leaves < 2 || (fabric->rail_only && map->blocks < 2))
    return 1;
  if (fabric->tiers > 0)
    return fabric->tiers;
  return fabric->spine_radix == 0 || below <= fabric->spine_radix ? 2 : 3;
}

/* Single links are told apart where a flow takes one of them or one of them may be special. */
static gboolean tells_apart (const LsFabricSpec *fabric) {
  return fabric->single_links || fabric->routing == LS_ROUTING_ECMP ||
         fabric->routing == LS_ROUTING_STATIC;
}

/* No resource of the engine may be larger than 128 TB/s (fixed.h): such a trunk is several, evenly used. */
#define MOST_PER_S 100e12

static guint parts_of (double per_s) {
  return (guint) ceil (MAX (1, per_s / MOST_PER_S));
}

/* What all trunks of one leaf and of one pod carry, the most of all groups: a leaf's = what its nodes can
 * send / oversubscription; a pod's = its leaves' trunks / spine_oversubscription, had it as many leaves as
 * it may have. */
static void plan_rates (LsTopology *topology, guint f, const LsFabricSpec *fabric,
                        LsFabricMap *map) {
  guint leaves_per_pod = map->blocks_per_pod * (fabric->rail_only ? 1 : fabric->rails);
  for (guint g = 0; g < ls_cluster_n_groups (topology->cluster); g++)
    if (map->groups[g].adapters > 0)
      map->leaf_per_s = MAX (map->leaf_per_s, leaf_load (topology, fabric, f, g, &map->groups[g]) /
                                                  fabric->oversubscription);
  if (map->tiers > 2)
    map->pod_per_s = map->leaf_per_s * leaves_per_pod / fabric->spine_oversubscription;
}

static void plan_tree (LsTopology *topology, guint f, const LsFabricSpec *fabric,
                       LsFabricMap *map) {
  guint rails = fabric->rails, ports = 1;
  map->leaves = rails * map->blocks;
  map->tiers = tiers_of (fabric, map);
  map->blocks_per_pod = map->blocks;
  map->pods = fabric->rail_only ? rails : 1;
  if (map->tiers == 3) {
    guint leaves_per_pod = fabric->spine_radix > 0
                               ? ports_down (fabric->spine_radix, fabric->spine_oversubscription)
                               : map->leaves;
    map->blocks_per_pod = MAX (1, fabric->rail_only ? leaves_per_pod : leaves_per_pod / rails);
    guint pods = (map->blocks + map->blocks_per_pod - 1) / map->blocks_per_pod;
    map->pods = fabric->rail_only ? rails * pods : pods;
  }
  plan_rates (topology, f, fabric, map);
  for (guint g = 0; map->groups[g].nodes_per_leaf != G_MAXUINT; g++)
    if (map->groups[g].adapters > 0)
      ports = MAX (ports, map->groups[g].nodes_per_leaf * map->groups[g].per_rail);
  if (!tells_apart (fabric)) {
    map->cores = parts_of (map->pod_per_s);
    return;
  }
  map->spines = (guint) MAX (1, ports / fabric->oversubscription + 1e-9);
  if (map->tiers == 3) {
    double down = map->blocks_per_pod * (fabric->rail_only ? 1.0 : rails);
    map->cores = (guint) MAX (1, down / fabric->spine_oversubscription + 1e-9);
  }
}

void ls_topology_plan_fabric (LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  LsFabricMap *map = &topology->fabrics[f];
  guint n_groups = ls_cluster_n_groups (topology->cluster);
  *map = (LsFabricMap){.groups = g_new0 (LsFabricGroup, n_groups + 1),
                       .tiers = 1,
                       .pods = 1,
                       .spines = 1,
                       .cores = 1,
                       .trunk_up = LS_NO_NUMBER,
                       .trunk_down = LS_NO_NUMBER,
                       .core_up = LS_NO_NUMBER,
                       .core_down = LS_NO_NUMBER};
  map->groups[n_groups].nodes_per_leaf = G_MAXUINT; /* ends the list */
  plug_in (topology, fabric, f, map);
  map->leaves = 1;
  if (fabric->kind == LS_FABRIC_FAT_TREE)
    plan_tree (topology, f, fabric, map);
}

/* `n` resources each way of the same capacity; returns the first of each way. */
static void add_trunks (LsTopology *topology, guint f, guint n, guint *up, guint *down) {
  LsNetResource trunk = {.kind = LS_RESOURCE_TRUNK, .node = -1, .gpu = -1, .peer = f};
  *up = topology->resources->len;
  *down = *up + n;
  for (guint way = 0; way < 2; way++) {
    trunk.part = way == 0 ? LS_PART_UP : LS_PART_DOWN;
    for (guint i = 0; i < n; i++)
      ls_topology_add (topology, trunk);
  }
}

static void set_both (LsTopology *topology, guint up, guint down, guint first, guint n,
                      double per_s) {
  for (guint i = first; i < first + n; i++) {
    ls_topology_resource_at (topology, up + i)->per_s = per_s;
    ls_topology_resource_at (topology, down + i)->per_s = per_s;
  }
}

static void add_tree (LsTopology *topology, guint f, const LsFabricSpec *fabric, LsFabricMap *map) {
  add_trunks (topology, f, map->leaves * map->spines, &map->trunk_up, &map->trunk_down);
  for (guint g = 0; g < ls_cluster_n_groups (topology->cluster); g++) {
    const LsFabricGroup *place = &map->groups[g];
    if (place->adapters == 0)
      continue;
    guint nodes = ls_cluster_group (topology->cluster, g)->nodes;
    guint blocks = (nodes + place->nodes_per_leaf - 1) / place->nodes_per_leaf;
    double per_s = leaf_load (topology, fabric, f, g, place) / fabric->oversubscription;
    for (guint rail = 0; rail < fabric->rails; rail++)
      set_both (topology, map->trunk_up, map->trunk_down,
                (rail * map->blocks + place->first_block) * map->spines, blocks * map->spines,
                per_s / map->spines);
  }
  if (map->tiers < 3)
    return;
  guint n = map->pods * map->spines * map->cores;
  add_trunks (topology, f, n, &map->core_up, &map->core_down);
  set_both (topology, map->core_up, map->core_down, 0, n,
            map->pod_per_s / map->spines / map->cores);
}

void ls_topology_add_fabric (LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  LsFabricMap *map = &topology->fabrics[f];
  if (fabric->kind == LS_FABRIC_FAT_TREE && map->tiers > 1)
    add_tree (topology, f, fabric, map);
  else if (fabric->kind != LS_FABRIC_FAT_TREE && fabric->kind != LS_FABRIC_SINGLE_SWITCH)
    ls_topology_add_graph (topology, f);
  ls_topology_add_static (topology, f);
}

void ls_topology_clear_fabric (LsFabricMap *map) {
  g_free (map->groups);
  ls_graph_free (map->graph);
  g_free (map->port_first);
  g_free (map->port_vertex);
  g_free (map->port_latency_ps);
  if (map->static_routes != NULL)
    g_array_unref (map->static_routes);
}
