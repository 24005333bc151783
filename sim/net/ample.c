/* See ample.h. */
#include "net/ample.h"

static gboolean spreads (const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  return fabric->kind == LS_FABRIC_FAT_TREE && fabric->routing == LS_ROUTING_SPRAY &&
         topology->fabrics[f].spines == 1;
}

gboolean ls_topology_is_ample (const LsTopology *topology, guint resource) {
  const LsNetResource *trunk = ls_topology_resource (topology, resource);
  if (trunk->kind != LS_RESOURCE_TRUNK || !spreads (topology, trunk->peer))
    return FALSE;
  return ls_cluster_fabric (topology->cluster, trunk->peer)->oversubscription <= 1;
}

gboolean ls_topology_stand (const LsTopology *topology, guint node, LsStand *stand) {
  const LsNicSet *set = ls_node_compute_nics (ls_cluster_node (topology->cluster, node));
  if (set == NULL)
    return FALSE;
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, set->fabric);
  const LsFabricMap *map = &topology->fabrics[set->fabric];
  *stand = (LsStand){.fabric = set->fabric};
  if (fabric->kind == LS_FABRIC_SINGLE_SWITCH)
    return TRUE;
  stand->block = node / map->nodes_per_leaf;
  return spreads (topology, set->fabric);
}
