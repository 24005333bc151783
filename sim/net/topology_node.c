/* The resources inside a node: links of every joint, PCIe with its switches, sockets, drives, adapters. */
#include "base/assert.h"
#include "net/topology_build.h"

double ls_node_link_efficiency (const LsNodeSpec *node) {
  if (node->efficiency > 0)
    return node->efficiency;
  if (node->ideal)
    return 1;
  const LsLinkTuning *tuning = ls_link_tuning_find (node->link);
  if (tuning->share.value > 0)
    return tuning->share.value;
  return node->link != NULL ? node->link->efficiency.value : node->pcie_efficiency;
}

double ls_nic_set_efficiency (const LsCluster *cluster, const LsNodeSpec *node,
                              const LsNicSet *set) {
  const LsFabricSpec *fabric = ls_cluster_fabric (cluster, set->fabric);
  if (fabric->efficiency > 0)
    return fabric->efficiency;
  if (node->ideal)
    return 1;
  /* assumption: an adapter given by its rate alone is like InfiniBand's */
  return set->nic != NULL ? set->nic->efficiency.value : 0.95;
}

double ls_topology_port_bytes_per_s (const LsFabricSpec *fabric, const LsNicSet *set) {
  return fabric->link_bytes_per_s > 0 ? MIN (fabric->link_bytes_per_s, set->bytes_per_s)
                                      : set->bytes_per_s;
}

guint ls_topology_node_size (const LsNodeSpec *node) {
  guint64 n = 3 * (guint64) node->gpus + 1 + 2 * (guint64) node->sockets;
  n += node->gpus_per_pcie_root > 1 ? 2 * (guint64) node->gpus / node->gpus_per_pcie_root + 2 : 0;
  for (guint i = 0; i < node->n_nic_sets; i++)
    n += 2 * (guint64) node->nic_sets[i].count;
  if (node->joint == LS_JOINT_SWITCH)
    n += 2 * (guint64) node->gpus;
  else if (node->joint == LS_JOINT_TORUS)
    n += 2 * (guint64) node->gpus * node->n_dimensions;
  else if (node->joint != LS_JOINT_NONE)
    n += (guint64) node->gpus * MIN (node->gpus, node->links + 1);
  return (guint) n;
}

/* --- links ------------------------------------------------------------------------------------ */

static double link_per_s (const LsNodeSpec *node) {
  return node->link_bytes_per_s * ls_node_link_efficiency (node);
}

/* One resource per joined pair and direction. */
static void add_mesh (LsTopology *topology, const LsNodeSpec *node, guint number, guint first) {
  double link = link_per_s (node);
  for (guint a = 0; a < node->gpus; a++) {
    topology->mesh[first + a] = g_new (guint, node->gpus);
    for (guint b = 0; b < node->gpus; b++) {
      int links = ls_node_links_between (node->joint, (int) node->gpus, (int) node->links, (int) a,
                                         (int) b);
      topology->mesh[first + a][b] = LS_NO_NUMBER;
      if (links == 0)
        continue;
      LsNetResource pair = {.kind = LS_RESOURCE_LINK,
                            .node = (gint32) number,
                            .gpu = (gint32) (first + a),
                            .part = LS_PART_PEER,
                            .peer = b,
                            .per_s = link * links};
      topology->mesh[first + a][b] = ls_topology_add (topology, pair);
    }
  }
}

/* The neighbour of device `a` one step along a dimension; LS_NO_NUMBER at an edge. A dimension of one has
 * no links; the ring of two has two between its devices. */
static guint torus_neighbour (const LsNodeSpec *node, guint a, guint dimension, gboolean down) {
  guint stride = 1, size = node->size[dimension];
  for (guint i = dimension + 1; i < node->n_dimensions; i++)
    stride *= node->size[i];
  guint at = a / stride % size;
  if (size < 2)
    return LS_NO_NUMBER;
  if (!node->wrap[dimension] && (down ? at == 0 : at + 1 == size))
    return LS_NO_NUMBER;
  guint next = down ? (at + size - 1) % size : (at + 1) % size;
  return a - at * stride + next * stride;
}

static void add_torus (LsTopology *topology, const LsNodeSpec *node, guint number, guint first) {
  for (guint a = 0; a < node->gpus; a++) {
    topology->torus[first + a] = g_new (guint, 2 * LS_MAX_DIMENSIONS);
    for (guint way = 0; way < 2 * LS_MAX_DIMENSIONS; way++) {
      guint to = way / 2 < node->n_dimensions ? torus_neighbour (node, a, way / 2, way % 2 != 0)
                                              : LS_NO_NUMBER;
      topology->torus[first + a][way] = LS_NO_NUMBER;
      if (to == LS_NO_NUMBER)
        continue;
      LsNetResource link = {.kind = LS_RESOURCE_LINK,
                            .node = (gint32) number,
                            .gpu = (gint32) (first + a),
                            .part = LS_PART_PEER,
                            .peer = to | (way << 24),
                            .per_s = link_per_s (node)};
      topology->torus[first + a][way] = ls_topology_add (topology, link);
    }
  }
}

gboolean ls_topology_torus (const LsTopology *topology, guint gpu, LsTorusPlace *place) {
  LS_REQUIRE (gpu < topology->n_gpus, "GPU %u", gpu);
  const LsNodeSpec *node = ls_cluster_node (topology->cluster, topology->gpu_node[gpu]);
  guint rest = topology->gpu_local[gpu];
  *place = (LsTorusPlace){.first_gpu = gpu - rest, .n_dimensions = node->n_dimensions};
  if (topology->torus[gpu] == NULL)
    return FALSE;
  for (guint i = node->n_dimensions; i-- > 0;) {
    place->size[i] = node->size[i];
    place->wrap[i] = node->wrap[i];
    place->at[i] = rest % node->size[i];
    rest /= node->size[i];
  }
  return TRUE;
}

guint ls_topology_torus_link (const LsTopology *topology, guint gpu, guint dimension, gboolean up) {
  LS_REQUIRE (gpu < topology->n_gpus && dimension < LS_MAX_DIMENSIONS, "GPU %u", gpu);
  return topology->torus[gpu] == NULL ? LS_NO_NUMBER
                                      : topology->torus[gpu][2 * dimension + (up ? 0 : 1)];
}

/* --- host ------------------------------------------------------------------------------------- */

/* The copy engines of an instance. TRUE: it shares the PCIe link of the instance before it. One engine keeps
 * one direction of the link full (assumption). */
static gboolean add_instance (LsTopology *topology, const LsNodeSpec *node, guint number,
                              guint gpu) {
  const LsMigInstance *instance = &node->mig->instances[topology->gpu_local[gpu]];
  double link = node->pcie_bytes_per_s * (node->ideal ? 1 : node->pcie_efficiency);
  topology->copy[gpu] =
      ls_topology_add (topology, (LsNetResource){.kind = LS_RESOURCE_COPY,
                                                 .node = (gint32) number,
                                                 .gpu = (gint32) gpu,
                                                 .per_s = instance->profile->copy_engines * link});
  if (instance->number == 0)
    return FALSE;
  topology->pcie_up[gpu] = topology->pcie_up[gpu - 1];
  topology->pcie_down[gpu] = topology->pcie_down[gpu - 1];
  topology->root_up[gpu] = topology->root_up[gpu - 1];
  topology->root_down[gpu] = topology->root_down[gpu - 1];
  return TRUE;
}

static void add_pcie (LsTopology *topology, const LsNodeSpec *node, guint number, guint gpu) {
  guint local = ls_node_physical (node, topology->gpu_local[gpu]);
  gboolean shared = node->gpus_per_pcie_root > 1;
  LsNetResource what = {.kind = LS_RESOURCE_PCIE,
                        .node = (gint32) number,
                        .gpu = (gint32) gpu,
                        .peer = shared ? local / node->gpus_per_pcie_root : LS_NO_NUMBER,
                        .per_s =
                            node->pcie_bytes_per_s * (node->ideal ? 1 : node->pcie_efficiency)};
  topology->copy[gpu] = LS_NO_NUMBER;
  if (node->mig != NULL && add_instance (topology, node, number, gpu))
    return;
  topology->pcie_up[gpu] = ls_topology_add_pair (topology, what);
  topology->pcie_down[gpu] = topology->pcie_up[gpu] + 1;
  topology->root_up[gpu] = topology->root_down[gpu] = LS_NO_NUMBER;
  if (!shared)
    return;
  if (local % node->gpus_per_pcie_root == 0) {
    what.kind = LS_RESOURCE_PCIE_ROOT;
    what.gpu = -1;
    topology->root_up[gpu] = ls_topology_add_pair (topology, what);
    topology->root_down[gpu] = topology->root_up[gpu] + 1;
  } else {
    topology->root_up[gpu] = topology->root_up[gpu - 1];
    topology->root_down[gpu] = topology->root_down[gpu - 1];
  }
}

static void add_host (LsTopology *topology, const LsNodeSpec *node, guint number) {
  topology->nvme[number] = topology->socket[number] = LS_NO_NUMBER;
  for (guint i = 0; node->sockets > 1 && i < node->sockets; i++) {
    LsNetResource socket = {.kind = LS_RESOURCE_SOCKET,
                            .node = (gint32) number,
                            .gpu = -1,
                            .peer = i,
                            .per_s = node->socket_bytes_per_s *
                                     (node->ideal ? 1 : node->socket_efficiency)};
    guint first = ls_topology_add_pair (topology, socket);
    if (i == 0)
      topology->socket[number] = first;
  }
  if (node->nvme_bytes_per_s > 0)
    topology->nvme[number] =
        ls_topology_add (topology, (LsNetResource){.kind = LS_RESOURCE_NVME,
                                                   .node = (gint32) number,
                                                   .gpu = -1,
                                                   .per_s = node->nvme_bytes_per_s});
}

static void add_adapters (LsTopology *topology, const LsNodeSpec *node, guint number) {
  for (guint s = 0; s < node->n_nic_sets; s++) {
    const LsNicSet *set = &node->nic_sets[s];
    const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, set->fabric);
    LsNetResource what = {.kind = LS_RESOURCE_NIC,
                          .node = (gint32) number,
                          .gpu = -1,
                          .per_s = ls_topology_port_bytes_per_s (fabric, set) *
                                   ls_nic_set_efficiency (topology->cluster, node, set)};
    topology->nic[number][s] = topology->resources->len;
    for (guint i = 0; i < set->count; i++) {
      what.peer = s << 16 | i;
      ls_topology_add_pair (topology, what);
    }
  }
}

void ls_topology_add_node (LsTopology *topology, guint number) {
  const LsNodeSpec *node = ls_cluster_node (topology->cluster, number);
  guint first = ls_cluster_node_first_gpu (topology->cluster, number);
  LsNetResource link = {.kind = LS_RESOURCE_LINK,
                        .node = (gint32) number,
                        .peer = LS_NO_NUMBER,
                        .per_s = node->links * link_per_s (node)};
  for (guint gpu = first; gpu < first + node->gpus; gpu++) {
    topology->link_up[gpu] = topology->link_down[gpu] = LS_NO_NUMBER;
    if (node->joint == LS_JOINT_SWITCH) {
      link.gpu = (gint32) gpu;
      topology->link_up[gpu] = ls_topology_add_pair (topology, link);
      topology->link_down[gpu] = topology->link_up[gpu] + 1;
    }
    add_pcie (topology, node, number, gpu);
  }
  if (node->joint == LS_JOINT_TORUS)
    add_torus (topology, node, number, first);
  else if (node->joint != LS_JOINT_SWITCH && node->joint != LS_JOINT_NONE)
    add_mesh (topology, node, number, first);
  add_host (topology, node, number);
  add_adapters (topology, node, number);
}
