/* Building the resources of a cluster, in one fixed order: GPUs (so that device = GPU number), hosts,
 * links of each node, adapters, trunks, storage. */
#include "net/topology.h"

#include "base/assert.h"

#define KIND_NAME(id, word, tier, unit) word,
#define KIND_TIER(id, word, tier, unit) tier,
#define KIND_UNIT(id, word, tier, unit) unit,

const char *ls_resource_kind_name (LsResourceKind kind) {
  static const char *const names[] = {LS_RESOURCE_KINDS (KIND_NAME)};
  return names[kind];
}

const char *ls_resource_kind_tier (LsResourceKind kind) {
  static const char *const tiers[] = {LS_RESOURCE_KINDS (KIND_TIER)};
  return tiers[kind];
}

const char *ls_resource_kind_unit (LsResourceKind kind) {
  static const char *const units[] = {LS_RESOURCE_KINDS (KIND_UNIT)};
  return units[kind];
}

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

/* --- single resources ------------------------------------------------------------------------- */

static guint add (LsTopology *topology, LsEngine *engine, LsNetResource resource) {
  guint index = topology->resources->len;
  resource.number = engine != NULL ? ls_engine_add_resource (engine, NULL, resource.per_s) : index;
  g_array_append_val (topology->resources, resource);
  return index;
}

/* Both resources of a device; returns the first, the other follows. */
static guint add_device (LsTopology *topology, LsEngine *engine, double bytes_per_s,
                         LsNetResource what, LsResourceKind memory_kind, guint *device) {
  guint index = topology->resources->len;
  LsNetResource memory = what;
  memory.kind = memory_kind;
  memory.per_s = bytes_per_s;
  what.per_s = 1;
  what.number = index;
  memory.number = index + 1;
  *device = index / 2;
  if (engine != NULL) {
    *device = ls_engine_add_device (engine, NULL, bytes_per_s);
    what.number = ls_engine_device_sm (engine, *device);
    memory.number = ls_engine_device_memory (engine, *device);
  }
  g_array_append_val (topology->resources, what);
  g_array_append_val (topology->resources, memory);
  return index;
}

static void add_gpus (LsTopology *topology, LsEngine *engine) {
  for (guint gpu = 0; gpu < topology->n_gpus; gpu++) {
    guint node = topology->gpu_node[gpu], device;
    LsNetResource what = {.kind = LS_RESOURCE_SM, .node = (gint32) node, .gpu = (gint32) gpu};
    topology->sm[gpu] = add_device (
        topology, engine, ls_cluster_node (topology->cluster, node)->device.hbm_bytes_per_s, what,
        LS_RESOURCE_HBM, &device);
    topology->hbm[gpu] = topology->sm[gpu] + 1;
    LS_REQUIRE (device == gpu, "the engine has devices of others");
  }
  for (guint node = 0; node < topology->n_nodes; node++) {
    LsNetResource what = {.kind = LS_RESOURCE_CORES, .node = (gint32) node, .gpu = -1};
    topology->cores[node] = add_device (
        topology, engine, ls_cluster_node (topology->cluster, node)->host_memory_bytes_per_s, what,
        LS_RESOURCE_HOST_MEMORY, &topology->host_device[node]);
    topology->host_memory[node] = topology->cores[node] + 1;
  }
}

/* Two directions between a GPU and something of its node; returns up, down follows. */
static guint add_pair (LsTopology *topology, LsEngine *engine, LsNetResource what) {
  what.part = LS_PART_UP;
  guint first = add (topology, engine, what);
  what.part = LS_PART_DOWN;
  add (topology, engine, what);
  return first;
}

/* --- inside a node ---------------------------------------------------------------------------- */

/* One resource per joined pair and direction. */
static void add_mesh (LsTopology *topology, LsEngine *engine, const LsNodeSpec *node, guint first) {
  double link = node->link_bytes_per_s * ls_node_link_efficiency (node);
  guint number = topology->gpu_node[first];
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
      topology->mesh[first + a][b] = add (topology, engine, pair);
    }
  }
}

static void add_switch (LsTopology *topology, LsEngine *engine, const LsNodeSpec *node, guint gpu) {
  LsNetResource what = {.kind = LS_RESOURCE_LINK,
                        .node = (gint32) topology->gpu_node[gpu],
                        .gpu = (gint32) gpu,
                        .peer = LS_NO_NUMBER,
                        .per_s =
                            node->links * node->link_bytes_per_s * ls_node_link_efficiency (node)};
  topology->link_up[gpu] = add_pair (topology, engine, what);
  topology->link_down[gpu] = topology->link_up[gpu] + 1;
}

static void add_pcie (LsTopology *topology, LsEngine *engine, const LsNodeSpec *node, guint gpu) {
  guint local = topology->gpu_local[gpu];
  gboolean shared = node->gpus_per_pcie_root > 1;
  LsNetResource what = {.kind = LS_RESOURCE_PCIE,
                        .node = (gint32) topology->gpu_node[gpu],
                        .gpu = (gint32) gpu,
                        .peer = shared ? local / node->gpus_per_pcie_root : LS_NO_NUMBER,
                        .per_s =
                            node->pcie_bytes_per_s * (node->ideal ? 1 : node->pcie_efficiency)};
  topology->pcie_up[gpu] = add_pair (topology, engine, what);
  topology->pcie_down[gpu] = topology->pcie_up[gpu] + 1;
  topology->root_up[gpu] = topology->root_down[gpu] = LS_NO_NUMBER;
  if (!shared)
    return;
  if (local % node->gpus_per_pcie_root == 0) {
    what.kind = LS_RESOURCE_PCIE_ROOT;
    what.gpu = -1;
    topology->root_up[gpu] = add_pair (topology, engine, what);
    topology->root_down[gpu] = topology->root_up[gpu] + 1;
  } else {
    topology->root_up[gpu] = topology->root_up[gpu - 1];
    topology->root_down[gpu] = topology->root_down[gpu - 1];
  }
}

static void add_node (LsTopology *topology, LsEngine *engine, guint number) {
  const LsNodeSpec *node = ls_cluster_node (topology->cluster, number);
  guint first = ls_cluster_node_first_gpu (topology->cluster, number);
  for (guint gpu = first; gpu < first + node->gpus; gpu++) {
    topology->link_up[gpu] = topology->link_down[gpu] = LS_NO_NUMBER;
    if (node->joint == LS_JOINT_SWITCH)
      add_switch (topology, engine, node, gpu);
    add_pcie (topology, engine, node, gpu);
  }
  if (node->joint != LS_JOINT_SWITCH && node->joint != LS_JOINT_NONE)
    add_mesh (topology, engine, node, first);
  topology->nvme[number] = LS_NO_NUMBER;
  if (node->nvme_bytes_per_s > 0) {
    LsNetResource nvme = {.kind = LS_RESOURCE_NVME,
                          .node = (gint32) number,
                          .gpu = -1,
                          .per_s = node->nvme_bytes_per_s};
    topology->nvme[number] = add (topology, engine, nvme);
  }
}

/* --- fabrics ---------------------------------------------------------------------------------- */

/* Rate of a port: the adapter's or the fabric's, whichever is less. */
static double port_bytes_per_s (const LsFabricSpec *fabric, const LsNicSet *set) {
  return fabric->link_bytes_per_s > 0 ? MIN (fabric->link_bytes_per_s, set->bytes_per_s)
                                      : set->bytes_per_s;
}

static void add_adapters (LsTopology *topology, LsEngine *engine, guint number) {
  const LsNodeSpec *node = ls_cluster_node (topology->cluster, number);
  for (guint s = 0; s < node->n_nic_sets; s++) {
    const LsNicSet *set = &node->nic_sets[s];
    const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, set->fabric);
    double per_s =
        port_bytes_per_s (fabric, set) * ls_nic_set_efficiency (topology->cluster, node, set);
    topology->nic[number][s] = topology->resources->len;
    for (guint i = 0; i < set->count; i++)
      add_pair (topology, engine,
                (LsNetResource){.kind = LS_RESOURCE_NIC,
                                .node = (gint32) number,
                                .gpu = -1,
                                .peer = s << 16 | i,
                                .per_s = per_s});
  }
}

/* Trunks of a fat tree of more than one leaf: capacity = what its nodes can send / oversubscription. */
static void add_trunks (LsTopology *topology, LsEngine *engine, LsFabricMap *map,
                        const LsFabricSpec *fabric, double port_per_s) {
  guint ports = map->nodes_per_leaf * (map->adapters_per_node / fabric->rails);
  double per_s = MAX (1, ports) * port_per_s / fabric->oversubscription;
  map->spines = 1;
  if (fabric->routing == LS_ROUTING_ECMP)
    map->spines = (guint) MAX (1, (double) ports / fabric->oversubscription + 1e-9);
  map->trunk_up = topology->resources->len;
  map->trunk_down = map->trunk_up + map->leaves * map->spines;
  for (guint down = 0; down < 2; down++)
    for (guint i = 0; i < map->leaves * map->spines; i++) {
      LsNetResource trunk = {.kind = LS_RESOURCE_TRUNK,
                             .node = -1,
                             .gpu = -1,
                             .part = down ? LS_PART_DOWN : LS_PART_UP,
                             .peer = (guint) (map - topology->fabrics),
                             .per_s = per_s / map->spines};
      add (topology, engine, trunk);
    }
}

static void add_fabric (LsTopology *topology, LsEngine *engine, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  LsFabricMap *map = &topology->fabrics[f];
  double port_per_s = 0;
  *map = (LsFabricMap){.spines = 1, .trunk_up = LS_NO_NUMBER, .trunk_down = LS_NO_NUMBER};
  for (guint g = 0; g < ls_cluster_n_groups (topology->cluster); g++) {
    const LsNodeSpec *node = &ls_cluster_group (topology->cluster, g)->node;
    guint adapters = 0;
    for (guint s = 0; s < node->n_nic_sets; s++)
      if (node->nic_sets[s].fabric == f) {
        adapters += node->nic_sets[s].count;
        port_per_s = MAX (port_per_s,
                          port_bytes_per_s (fabric, &node->nic_sets[s]) *
                              ls_nic_set_efficiency (topology->cluster, node, &node->nic_sets[s]));
      }
    map->adapters_per_node = MAX (map->adapters_per_node, adapters);
  }
  guint per_rail = MAX (1, (map->adapters_per_node + fabric->rails - 1) / fabric->rails);
  double down = fabric->leaf_radix * fabric->oversubscription / (1 + fabric->oversubscription);
  map->nodes_per_leaf = MAX (1, (guint) (down / per_rail + 1e-9));
  map->blocks = (topology->n_nodes + map->nodes_per_leaf - 1) / map->nodes_per_leaf;
  map->leaves = fabric->kind == LS_FABRIC_FAT_TREE ? fabric->rails * map->blocks : 1;
  map->adapters_per_node = per_rail * fabric->rails;
  if (map->leaves > 1 && port_per_s > 0)
    add_trunks (topology, engine, map, fabric, port_per_s);
}

static void add_storage (LsTopology *topology, LsEngine *engine) {
  const LsStorageSpec *storage = ls_cluster_storage (topology->cluster);
  topology->storage_read = topology->storage_write = LS_NO_NUMBER;
  if (!storage->present)
    return;
  LsNetResource reads = {
      .kind = LS_RESOURCE_STORAGE, .node = -1, .gpu = -1, .per_s = storage->read_bytes_per_s};
  LsNetResource writes = reads;
  writes.part = LS_PART_DOWN;
  writes.per_s = storage->write_bytes_per_s;
  topology->storage_read = add (topology, engine, reads);
  topology->storage_write = add (topology, engine, writes);
}

gboolean ls_topology_torus (const LsTopology *topology, guint gpu, LsTorusPlace *place) {
  LS_REQUIRE (gpu < topology->n_gpus, "GPU %u", gpu);
  *place = (LsTorusPlace){.first_gpu = gpu};
  return FALSE;
}

guint ls_topology_torus_link (const LsTopology *topology, guint gpu, guint dimension, gboolean up) {
  LS_REQUIRE (gpu < topology->n_gpus && dimension < LS_MAX_TORUS_DIMENSIONS, "GPU %u", gpu);
  (void) up;
  return LS_NO_NUMBER;
}

/* --- all of it -------------------------------------------------------------------------------- */

LsTopology *ls_topology_new (const LsCluster *cluster, LsEngine *engine) {
  LsTopology *topology = g_new0 (LsTopology, 1);
  guint n = ls_cluster_n_gpus (cluster), nodes = ls_cluster_n_nodes (cluster);
  topology->cluster = cluster;
  topology->n_gpus = n;
  topology->n_nodes = nodes;
  topology->resources = g_array_new (FALSE, FALSE, sizeof (LsNetResource));
  guint **by_gpu[] = {&topology->gpu_node, &topology->gpu_local, &topology->sm,
                      &topology->hbm,      &topology->link_up,   &topology->link_down,
                      &topology->pcie_up,  &topology->pcie_down, &topology->root_up,
                      &topology->root_down};
  guint **by_node[] = {&topology->host_device, &topology->cores, &topology->host_memory,
                       &topology->nvme};
  for (guint i = 0; i < G_N_ELEMENTS (by_gpu); i++)
    *by_gpu[i] = g_new0 (guint, n);
  for (guint i = 0; i < G_N_ELEMENTS (by_node); i++)
    *by_node[i] = g_new0 (guint, nodes);
  topology->mesh = g_new0 (guint *, n);
  topology->nic = g_malloc0_n (nodes, sizeof *topology->nic);
  topology->fabrics = g_new0 (LsFabricMap, MAX (1, ls_cluster_n_fabrics (cluster)));
  for (guint gpu = 0; gpu < n; gpu++) {
    topology->gpu_node[gpu] = ls_cluster_gpu_node (cluster, gpu);
    topology->gpu_local[gpu] = ls_cluster_gpu_local (cluster, gpu);
  }
  add_gpus (topology, engine);
  for (guint node = 0; node < nodes; node++) {
    add_node (topology, engine, node);
    add_adapters (topology, engine, node);
  }
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++)
    add_fabric (topology, engine, f);
  add_storage (topology, engine);
  return topology;
}

void ls_topology_free (LsTopology *topology) {
  if (topology == NULL)
    return;
  for (guint gpu = 0; gpu < topology->n_gpus; gpu++)
    g_free (topology->mesh[gpu]);
  gpointer arrays[] = {topology->gpu_node,    topology->gpu_local,   topology->sm,
                       topology->hbm,         topology->link_up,     topology->link_down,
                       topology->pcie_up,     topology->pcie_down,   topology->root_up,
                       topology->root_down,   topology->host_device, topology->cores,
                       topology->host_memory, topology->nvme,        topology->mesh,
                       topology->nic,         topology->fabrics};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_free (arrays[i]);
  g_array_unref (topology->resources);
  g_free (topology);
}

const LsNetResource *ls_topology_resource (const LsTopology *topology, guint resource) {
  LS_REQUIRE (resource < topology->resources->len, "resource %u", resource);
  return &g_array_index (topology->resources, LsNetResource, resource);
}

guint ls_topology_n_resources (const LsTopology *topology) {
  return topology->resources->len;
}
