/* The cluster as resources: every link direction, memory and service with its capacity.
 *
 * Model:      per GPU its SMs and memory (a device of the engine), one up and one down direction into
 *             the switches of its node (or one resource per joined pair and direction in a mesh), one
 *             up and one down direction of PCIe; per group of GPUs behind one PCIe switch the shared
 *             link to the host; per node its cores and memory (a host device) and its drives; per
 *             adapter one direction each way; per leaf switch one trunk each way to the spines
 *             (spray: ideal spread over equal links makes them one), or one link per spine (ECMP);
 *             the storage service for reads and writes.
 * Capacity:   what payload of large messages reaches: data sheet x efficiency.
 * Left out:   switches inside (non-blocking), spines (as many ports as needed), sockets and NUMA.
 * Cost:       O(GPUs + links), once.
 */
#pragma once

#include "engine/engine.h"
#include "net/cluster.h"
#include "net/protocol.h"

#define LS_NO_NUMBER G_MAXUINT

/* id, word, tier, unit. */
#define LS_RESOURCE_KINDS(X)                    \
  X (SM, "sm", "device", "SM-s/s")              \
  X (HBM, "hbm", "device", "B/s")               \
  X (LINK, "link", "node", "B/s")               \
  X (PCIE, "pcie", "node", "B/s")               \
  X (PCIE_ROOT, "pcie-root", "node", "B/s")     \
  X (CORES, "cores", "node", "core-s/s")        \
  X (HOST_MEMORY, "host-memory", "node", "B/s") \
  X (NVME, "nvme", "node", "B/s")               \
  X (NIC, "nic", "fabric", "B/s")               \
  X (TRUNK, "trunk", "fabric", "B/s")           \
  X (STORAGE, "storage", "storage", "B/s")

#define LS_ENUM_RESOURCE(id, word, tier, unit) LS_RESOURCE_##id,
typedef enum { LS_RESOURCE_KINDS (LS_ENUM_RESOURCE) LS_N_RESOURCE_KINDS } LsResourceKind;

const char *ls_resource_kind_name (LsResourceKind kind);
const char *ls_resource_kind_tier (LsResourceKind kind);
const char *ls_resource_kind_unit (LsResourceKind kind);

/* What LsNetResource.part tells: a direction (towards switches, host, fabric, or from there), or the link
 * to the device `peer` of the same node. */
enum { LS_PART_UP, LS_PART_DOWN, LS_PART_PEER };

/* One resource. Its name is made when asked for: ls_topology_resource_name(). */
typedef struct {
  LsResourceKind kind;
  gint32 node, gpu;   /* < 0: none */
  guint32 number;     /* the engine's */
  guint32 part, peer; /* direction and other end, see topology_names.c */
  double per_s;       /* capacity */
} LsNetResource;

/* A chip's place in the torus of its node, row by row: the last dimension counts fastest. */
#define LS_MAX_TORUS_DIMENSIONS 4
typedef struct {
  guint first_gpu; /* of the torus */
  guint n_dimensions;
  guint size[LS_MAX_TORUS_DIMENSIONS];
  gboolean wrap[LS_MAX_TORUS_DIMENSIONS]; /* a ring; else a line */
  guint at[LS_MAX_TORUS_DIMENSIONS];
} LsTorusPlace;

/* Leaf and spine of one fabric. */
typedef struct {
  guint adapters_per_node;
  guint nodes_per_leaf, blocks; /* leaves of a rail = blocks */
  guint leaves;                 /* rails x blocks */
  guint spines;                 /* links of a leaf's trunk that are told apart: 1 with spray */
  guint trunk_up, trunk_down;   /* first resource: leaf x spines + spine; LS_NO_NUMBER: one leaf */
} LsFabricMap;

typedef struct {
  const LsCluster *cluster;
  GArray *resources; /* LsNetResource */
  guint n_gpus, n_nodes;
  guint *gpu_node, *gpu_local; /* by GPU */
  guint *sm, *hbm;             /* resource by GPU */
  guint *link_up, *link_down;  /* by GPU; LS_NO_NUMBER in meshes and PCIe nodes */
  guint *pcie_up, *pcie_down;
  guint *root_up, *root_down;        /* LS_NO_NUMBER: its own link to the host */
  guint **mesh;                      /* [gpu][local number of the other]; NULL: no mesh */
  guint *host_device;                /* engine device by node */
  guint *cores, *host_memory, *nvme; /* by node */
  guint (*nic)[LS_MAX_NIC_SETS];     /* first adapter's tx by node and set; rx follows tx */
  LsFabricMap *fabrics;
  guint storage_read, storage_write;
} LsTopology;

/* `engine` may be NULL: resources are then numbered as an engine would, for closed forms. */
LsTopology *ls_topology_new (const LsCluster *cluster, LsEngine *engine);
void ls_topology_free (LsTopology *topology);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsTopology, ls_topology_free)

const LsNetResource *ls_topology_resource (const LsTopology *topology, guint resource);
guint ls_topology_n_resources (const LsTopology *topology);
/* "main[3]/gpu5/link.up"; where its traffic comes from and goes to, NULL where that means nothing
 * (transfer full). */
char *ls_topology_resource_name (const LsTopology *topology, guint resource);
char *ls_topology_resource_source (const LsTopology *topology, guint resource);
char *ls_topology_resource_target (const LsTopology *topology, guint resource);

/* FALSE: the links of this GPU form no torus. */
gboolean ls_topology_torus (const LsTopology *topology, guint gpu, LsTorusPlace *place);
/* The link from `gpu` to its neighbour up or down a dimension of its torus; LS_NO_NUMBER: an edge. In a
 * ring of two, up and down are two links to one neighbour. */
guint ls_topology_torus_link (const LsTopology *topology, guint gpu, guint dimension, gboolean up);

/* Shares of a node's links and adapters that payload reaches. */
double ls_node_link_efficiency (const LsNodeSpec *node);
double ls_nic_set_efficiency (const LsCluster *cluster, const LsNodeSpec *node,
                              const LsNicSet *set);
/* "GPU 3 to GPU 17, ..." and every resource on the way (transfer full). */
char *ls_topology_describe_route (const LsTopology *topology, guint gpu_a, guint gpu_b);
