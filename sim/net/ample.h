/* What of a fabric cannot matter: trunks that all ports below them together cannot fill, and where two nodes
 * stand in it, as far as paths depend on it.
 */
#pragma once

#include "net/topology.h"

/* Can nothing that its ports let through overfill the resource? TRUE for trunks of fat trees that are not
 * oversubscribed and whose traffic is spread evenly. They never hold a transfer up, whoever else is there. */
gboolean ls_topology_is_ample (const LsTopology *topology, guint resource);

/* Paths between the adapters of nodes depend on equality of these numbers alone: leaf block and pod. */
typedef struct {
  guint fabric, block, pod;
} LsStand;
/* FALSE: paths of this node's fabric depend on more. */
gboolean ls_topology_stand (const LsTopology *topology, guint node, LsStand *stand);
