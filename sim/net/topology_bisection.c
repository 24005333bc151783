/* What halves of a network can exchange: closed forms of trees, the largest flow through graphs. */
#include "base/assert.h"
#include "net/route_fabric.h"
#include "net/topology_build.h"

/* What the live adapters of a node on a fabric send, each added to `at` (by switch) if not NULL. */
static double load_node (const LsTopology *topology, guint f, guint node, double *at) {
  const LsNodeSpec *spec = ls_cluster_node (topology->cluster, node);
  double sum = 0;
  for (guint s = 0; s < spec->n_nic_sets; s++)
    for (guint i = 0; spec->nic_sets[s].fabric == f && i < spec->nic_sets[s].count; i++) {
      guint vertex = ls_route_switch_of (topology, (LsAdapter){node, s, i});
      double per_s = ls_topology_resource (topology, topology->nic[node][s] + 2 * i)->per_s;
      if (vertex == LS_NO_NUMBER)
        continue;
      sum += per_s;
      if (at != NULL)
        at[vertex] += per_s;
    }
  return sum;
}

/* Trees: a half is whole leaf switches but for the one that the cut passes through, which is counted as
 * whole with the half that has more of it. Each leaf gives what its trunk lets through, each pod what its
 * own does. */
static double through_tree (const LsTopology *topology, guint f, const double *low,
                            const double *high) {
  const LsFabricMap *map = &topology->fabrics[f];
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  g_autofree double *pods = g_new0 (double, 2 * map->pods);
  double direct = 0, sums[2] = {0, 0};
  guint pods_per_plane = fabric->rail_only ? map->pods / fabric->rails : map->pods;
  for (guint leaf = 0; leaf < map->leaves; leaf++) {
    guint pod = leaf % map->blocks / map->blocks_per_pod +
                (fabric->rail_only ? leaf / map->blocks * pods_per_plane : 0);
    double trunk = 0, one = MIN (low[leaf], high[leaf]);
    for (guint s = 0; map->tiers > 1 && s < map->spines; s++)
      trunk += ls_topology_resource (topology, map->trunk_up + leaf * map->spines + s)->per_s;
    direct += one; /* both halves under one leaf: without its trunk */
    pods[2 * pod] += MIN (low[leaf] - one, trunk);
    pods[2 * pod + 1] += MIN (high[leaf] - one, trunk);
  }
  for (guint pod = 0; map->tiers > 1 && pod < map->pods; pod++) {
    double both = MIN (pods[2 * pod], pods[2 * pod + 1]), rest[2];
    direct += both;
    for (guint half = 0; map->tiers > 2 && half < 2; half++) {
      rest[half] = MIN (pods[2 * pod + half] - both, map->pod_per_s);
      sums[half] += rest[half];
    }
  }
  return direct + MIN (sums[0], sums[1]);
}

double ls_topology_bisection (const LsTopology *topology, guint f, double *sent) {
  const LsFabricMap *map = &topology->fabrics[f];
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  guint n = map->graph != NULL ? ls_graph_n_vertices (map->graph) : MAX (1, map->leaves);
  g_autofree double *low = g_new0 (double, n);
  g_autofree double *high = g_new0 (double, n);
  double sums[2] = {0, 0};
  guint position = 0, half = map->positions / 2;
  for (guint node = 0; node < topology->n_nodes; node++) {
    if (map->groups[ls_cluster_node_group (topology->cluster, node)].adapters == 0)
      continue;
    gboolean is_low = position < half;
    if (!(map->positions % 2 != 0 && position == half)) /* an odd one in the middle is left out */
      sums[is_low ? 0 : 1] += load_node (topology, f, node, is_low ? low : high);
    position++;
  }
  *sent = MIN (sums[0], sums[1]);
  if (map->graph != NULL)
    return ls_graph_max_flow (map->graph, low, high);
  if (fabric->kind != LS_FABRIC_FAT_TREE)
    return *sent;
  return through_tree (topology, f, low, high);
}
