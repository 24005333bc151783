/* Building the resources of a cluster, in one fixed order: GPUs (so that device = GPU number), hosts,
 * links of each node, adapters, links of fabrics, storage. The engine gets them when all are known. */
#include "net/topology.h"

#include "base/assert.h"
#include "base/memory.h"
#include "net/topology_build.h"

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

guint ls_topology_add_pair (LsTopology *topology, LsNetResource what) {
  what.part = LS_PART_UP;
  guint first = ls_topology_add (topology, what);
  what.part = LS_PART_DOWN;
  ls_topology_add (topology, what);
  return first;
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Compute and memory of a device; returns the first. */
static guint add_device (LsTopology *topology, LsNetResource what, LsResourceKind memory,
                         double bytes_per_s) {
  what.per_s = 1;
  guint first = ls_topology_add (topology, what);
  what.kind = memory;
  what.per_s = bytes_per_s;
  ls_topology_add (topology, what);
  return first;
}

static void add_devices (LsTopology *topology) {
  const LsCluster *cluster = topology->cluster;
  guint gpu = 0, node = 0;
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, g);
    for (guint i = 0; i < group->nodes * group->node.gpus; i++, gpu++) {
      topology->gpu_node[gpu] = group->first_node + i / group->node.gpus;
      topology->gpu_local[gpu] = i % group->node.gpus;
      topology->sm[gpu] =
          add_device (topology,
                      (LsNetResource){.kind = LS_RESOURCE_SM,
                                      .node = (gint32) topology->gpu_node[gpu],
                                      .gpu = (gint32) gpu},
                      LS_RESOURCE_HBM, ls_cluster_device (cluster, gpu)->hbm_bytes_per_s);
      topology->hbm[gpu] = topology->sm[gpu] + 1;
    }
  }
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, g);
    for (guint i = 0; i < group->nodes; i++, node++) {
      topology->host_device[node] = topology->n_gpus + node;
      topology->cores[node] = add_device (
          topology, (LsNetResource){.kind = LS_RESOURCE_CORES, .node = (gint32) node, .gpu = -1},
          LS_RESOURCE_HOST_MEMORY, group->node.host_memory_bytes_per_s);
      topology->host_memory[node] = topology->cores[node] + 1;
    }
  }
}

static void add_storage (LsTopology *topology) {
  const LsStorageSpec *storage = ls_cluster_storage (topology->cluster);
  topology->storage_read = topology->storage_write = LS_NO_NUMBER;
  if (!storage->present)
    return;
  LsNetResource service = {.kind = LS_RESOURCE_STORAGE, .node = -1, .gpu = -1};
  service.part = LS_PART_UP;
  service.per_s = storage->read_bytes_per_s;
  topology->storage_read = ls_topology_add (topology, service);
  service.part = LS_PART_DOWN;
  service.per_s = storage->write_bytes_per_s;
  topology->storage_write = ls_topology_add (topology, service);
}

/* --- the engine ------------------------------------------------------------------------------- */

/* Both resources of a device are the engine's own; it names the first `device`. */
static void register_device (LsTopology *topology, LsEngine *engine, guint first, guint device) {
  LsNetResource *compute = ls_topology_resource_at (topology, first);
  guint got = ls_engine_add_device (engine, NULL, compute[1].per_s);
  LS_REQUIRE (got == device, "the engine has devices of others");
  compute[0].number = ls_engine_device_sm (engine, got);
  compute[1].number = ls_engine_device_memory (engine, got);
}

static void register_all (LsTopology *topology, LsEngine *engine) {
  for (guint gpu = 0; gpu < topology->n_gpus; gpu++)
    register_device (topology, engine, topology->sm[gpu], gpu);
  for (guint node = 0; node < topology->n_nodes; node++)
    register_device (topology, engine, topology->cores[node], topology->host_device[node]);
  for (guint i = 2 * (topology->n_gpus + topology->n_nodes); i < topology->resources->len; i++) {
    LsNetResource *resource = ls_topology_resource_at (topology, i);
    resource->number = ls_engine_add_resource (engine, NULL, resource->per_s);
  }
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Memory for all resources but those of fabrics. */
static guint expected_size (const LsCluster *cluster) {
  guint64 n =
      2 * (guint64) ls_cluster_n_gpus (cluster) + 2 * (guint64) ls_cluster_n_nodes (cluster);
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, g);
    n += (guint64) group->nodes * ls_topology_node_size (&group->node);
  }
  return (guint) MIN (n, G_MAXUINT / 2);
}

static guint trunks_of (const LsFabricMap *map) {
  guint64 n = map->tiers > 1 ? 2 * (guint64) map->leaves * map->spines : 0;
  if (map->tiers > 2)
    n += 2 * (guint64) map->pods * map->spines * map->cores;
  return (guint) n;
}

static void allocate (LsTopology *topology) {
  guint n = topology->n_gpus, nodes = topology->n_nodes;
  guint **by_gpu[] = {&topology->gpu_node,  &topology->gpu_local, &topology->sm,
                      &topology->hbm,       &topology->link_up,   &topology->link_down,
                      &topology->pcie_up,   &topology->pcie_down, &topology->root_up,
                      &topology->root_down, &topology->copy};
  guint **by_node[] = {&topology->host_device, &topology->cores, &topology->host_memory,
                       &topology->nvme, &topology->socket};
  for (guint i = 0; i < G_N_ELEMENTS (by_gpu); i++)
    *by_gpu[i] = g_new (guint, n);
  for (guint i = 0; i < G_N_ELEMENTS (by_node); i++)
    *by_node[i] = g_new (guint, nodes);
  topology->mesh = g_new0 (guint *, n);
  topology->torus = g_new0 (guint *, n);
  topology->node_first = g_new (guint, (gsize) nodes + 1);
  topology->nic = g_malloc0_n (nodes, sizeof *topology->nic);
  topology->fabrics = g_new0 (LsFabricMap, MAX (1, ls_cluster_n_fabrics (topology->cluster)));
}

/* What the cluster would have; SMs and HBM are those of its accelerators. */
static void apply_scale (LsTopology *topology) {
  const LsClusterScale *scale = ls_cluster_scale (topology->cluster);
  const double factors[LS_N_RESOURCE_KINDS] = {[LS_RESOURCE_SM] = 1,
                                               [LS_RESOURCE_HBM] = 1,
                                               [LS_RESOURCE_LINK] = scale->link,
                                               [LS_RESOURCE_PCIE] = scale->pcie,
                                               [LS_RESOURCE_PCIE_ROOT] = scale->pcie,
                                               [LS_RESOURCE_SOCKET] = scale->pcie,
                                               [LS_RESOURCE_COPY] = scale->pcie,
                                               [LS_RESOURCE_CORES] = 1,
                                               [LS_RESOURCE_HOST_MEMORY] = scale->host,
                                               [LS_RESOURCE_NVME] = scale->storage,
                                               [LS_RESOURCE_STORAGE] = scale->storage,
                                               [LS_RESOURCE_NIC] = scale->nic,
                                               [LS_RESOURCE_TRUNK] = scale->trunk};
  for (guint i = 0; i < topology->resources->len; i++) {
    LsNetResource *resource = ls_topology_resource_at (topology, i);
    LS_REQUIRE (factors[resource->kind] > 0, "kind %d has no factor", (int) resource->kind);
    resource->per_s *= factors[resource->kind];
  }
}

LsTopology *ls_topology_new (const LsCluster *cluster, LsEngine *engine) {
  LsTopology *topology = g_new0 (LsTopology, 1);
  guint n_fabrics = ls_cluster_n_fabrics (cluster), size = expected_size (cluster);
  topology->cluster = cluster;
  topology->n_gpus = ls_cluster_n_gpus (cluster);
  topology->n_nodes = ls_cluster_n_nodes (cluster);
  topology->n_fabrics = n_fabrics;
  allocate (topology);
  for (guint f = 0; f < n_fabrics; f++) {
    ls_topology_plan_fabric (topology, f);
    size += trunks_of (&topology->fabrics[f]);
  }
  topology->resources = g_array_new (FALSE, FALSE, sizeof (LsNetResource));
  ls_memory_reserve (topology->resources, size + 2);
  add_devices (topology);
  for (guint node = 0; node < topology->n_nodes; node++) {
    topology->node_first[node] = topology->resources->len;
    ls_topology_add_node (topology, node);
  }
  topology->node_first[topology->n_nodes] = topology->resources->len;
  for (guint f = 0; f < n_fabrics; f++)
    ls_topology_add_fabric (topology, f);
  add_storage (topology);
  ls_topology_apply_overrides (topology);
  apply_scale (topology);
  ls_topology_find_live_nics (topology);
  if (engine != NULL)
    register_all (topology, engine);
  return topology;
}

void ls_topology_free (LsTopology *topology) {
  if (topology == NULL)
    return;
  for (guint gpu = 0; gpu < topology->n_gpus; gpu++) {
    g_free (topology->mesh[gpu]);
    g_free (topology->torus[gpu]);
  }
  for (guint f = 0; f < topology->n_fabrics; f++)
    ls_topology_clear_fabric (&topology->fabrics[f]);
  gpointer arrays[] = {
      topology->gpu_node,    topology->gpu_local,  topology->sm,          topology->hbm,
      topology->link_up,     topology->link_down,  topology->pcie_up,     topology->pcie_down,
      topology->root_up,     topology->root_down,  topology->host_device, topology->cores,
      topology->host_memory, topology->nvme,       topology->socket,      topology->mesh,
      topology->torus,       topology->nic,        topology->fabrics,     topology->copy,
      topology->node_first,  topology->live_first, topology->live_nics};
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
