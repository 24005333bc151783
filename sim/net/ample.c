/* See ample.h. */
#include "net/ample.h"

/* An even spread over all paths of a tree whose links are all alike; a trunk of several parts, for its rate
 * is more than one resource holds, has them filled evenly. */
static gboolean spreads (const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  return fabric->kind == LS_FABRIC_FAT_TREE && fabric->routing == LS_ROUTING_SPRAY &&
         !fabric->single_links && ls_cluster_n_overrides (topology->cluster) == 0;
}

gboolean ls_topology_is_ample (const LsTopology *topology, guint resource) {
  const LsNetResource *trunk = ls_topology_resource (topology, resource);
  if (trunk->kind != LS_RESOURCE_TRUNK || !spreads (topology, trunk->peer))
    return FALSE;
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, trunk->peer);
  const LsFabricMap *map = &topology->fabrics[trunk->peer];
  if (map->core_up != LS_NO_NUMBER && resource >= map->core_up)
    return fabric->oversubscription <= 1 && fabric->spine_oversubscription <= 1;
  return fabric->oversubscription <= 1;
}

gboolean ls_topology_stand (const LsTopology *topology, guint node, LsStand *stand) {
  const LsNicSet *set = ls_node_compute_nics (ls_cluster_node (topology->cluster, node));
  *stand = (LsStand){.fabric = 0};
  if (set == NULL)
    return FALSE;
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, set->fabric);
  const LsFabricMap *map = &topology->fabrics[set->fabric];
  stand->fabric = set->fabric;
  if (fabric->kind == LS_FABRIC_SINGLE_SWITCH)
    return ls_cluster_n_overrides (topology->cluster) == 0;
  if (!spreads (topology, set->fabric))
    return FALSE;
  guint g = ls_cluster_node_group (topology->cluster, node);
  const LsFabricGroup *place = &map->groups[g];
  guint first = ls_cluster_group (topology->cluster, g)->first_node;
  stand->block = place->first_block + (node - first) / MAX (place->nodes_per_leaf, 1u);
  stand->pod = stand->block / MAX (map->blocks_per_pod, 1u);
  return TRUE;
}
