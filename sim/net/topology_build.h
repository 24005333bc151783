/* What the files that build a topology offer each other. Order of building: topology.c: GPUs and hosts,
 * then node by node (topology_node.c) and fabric by fabric (topology_fabric.c), storage, overrides; last
 * the engine gets them all. */
#pragma once

#include "net/topology.h"

/* Appends; returns the index. */
static inline guint ls_topology_add (LsTopology *topology, LsNetResource resource) {
  resource.number = topology->resources->len;
  g_array_append_val (topology->resources, resource);
  return resource.number;
}
/* Two directions, up first; returns the first. */
guint ls_topology_add_pair (LsTopology *topology, LsNetResource what);

/* topology_node.c: links, PCIe, sockets, drives, adapters of one node. */
void ls_topology_add_node (LsTopology *topology, guint node);
/* Resources that a node has beside its devices and its host. */
guint ls_topology_node_size (const LsNodeSpec *node);
/* Rate of a port: the adapter's or the fabric's, whichever is less. */
double ls_topology_port_bytes_per_s (const LsFabricSpec *fabric, const LsNicSet *set);

/* topology_fabric.c: where nodes are plugged in, how many switches there are; then their links. */
void ls_topology_plan_fabric (LsTopology *topology, guint fabric);
void ls_topology_add_fabric (LsTopology *topology, guint fabric);
void ls_topology_clear_fabric (LsFabricMap *map);
/* topology_graph.c: fabrics that are graphs. */
void ls_topology_add_graph (LsTopology *topology, guint fabric);

/* route.c: the adapters that each GPU uses, once all capacities are known. */
void ls_topology_find_live_nics (LsTopology *topology);

/* topology_static.c: routes given by people. In trees by spine (of the pod) and core, in graphs by hops. */
typedef struct {
  guint from, to; /* leaf or vertex */
  guint spine, core;
  guint n_hops;
  LsGraphHop *hops;
} LsStaticRoute;
/* Takes those that make sense; with static routing only. */
void ls_topology_add_static (LsTopology *topology, guint fabric);
/* What is wrong with route i of a fabric (transfer full); NULL: nothing. */
char *ls_topology_route_problem (const LsTopology *topology, guint fabric, guint i);
/* NULL: none from here to there. */
const LsStaticRoute *ls_topology_static_route (const LsFabricMap *map, guint from, guint to);

/* topology_override.c: to be done before the engine and before any route. */
void ls_topology_apply_overrides (LsTopology *topology);

static inline LsNetResource *ls_topology_resource_at (LsTopology *topology, guint index) {
  return &g_array_index (topology->resources, LsNetResource, index);
}
