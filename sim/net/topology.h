/* The cluster as resources: every link direction, memory and service with its capacity.
 *
 * Model:      per GPU its SMs and memory (a device of the engine), one up and one down direction into
 *             the switches of its node (or one resource per joined pair and direction in a mesh or a
 *             torus), one up and one down direction of PCIe; per group of GPUs behind one PCIe switch the
 *             shared link to the host; per socket its links to the other sockets; per node its cores and
 *             memory (a host device) and its drives; per adapter one direction each way; per fabric its
 *             links between switches; the storage service for reads and writes.
 * Trees:      with ideal spread the equal links of a leaf switch are one resource each way, and so are
 *             those of a pod of leaves to the third tier; where a flow takes one of them (ECMP, static) or
 *             one is named by an override, every link is a resource.
 * Capacity:   what payload of large messages reaches: data sheet x efficiency; 0: the link is down.
 * Left out:   switches inside (non-blocking).
 * Cost:       O(GPUs + links), once; no strings: names are made when asked for.
 */
#pragma once

#include "engine/engine.h"
#include "net/cluster.h"
#include "net/graph.h"
#include "net/protocol.h"

#define LS_NO_NUMBER G_MAXUINT

/* id, word, tier, unit. */
#define LS_RESOURCE_KINDS(X)                    \
  X (SM, "sm", "device", "SM-s/s")              \
  X (HBM, "hbm", "device", "B/s")               \
  X (LINK, "link", "node", "B/s")               \
  X (PCIE, "pcie", "node", "B/s")               \
  X (PCIE_ROOT, "pcie-root", "node", "B/s")     \
  X (SOCKET, "socket", "node", "B/s")           \
  X (CORES, "cores", "node", "core-s/s")        \
  X (HOST_MEMORY, "host-memory", "node", "B/s") \
  X (NVME, "nvme", "node", "B/s")               \
  X (COPY, "copy", "device", "B/s")             \
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
  guint8 kind;      /* LsResourceKind */
  guint8 part;      /* direction, */
  guint32 peer;     /* and other end, see topology_names.c */
  gint32 node, gpu; /* < 0: none */
  guint32 number;   /* the engine's */
  double per_s;     /* capacity */
} LsNetResource;

#define LS_MAX_TORUS_DIMENSIONS LS_MAX_DIMENSIONS
/* A chip's place in the torus of its node, row by row: the last dimension counts fastest. */
typedef struct {
  guint first_gpu; /* of the torus */
  guint n_dimensions;
  guint size[LS_MAX_DIMENSIONS];
  gboolean wrap[LS_MAX_DIMENSIONS]; /* a ring; else a line */
  guint at[LS_MAX_DIMENSIONS];
} LsTorusPlace;

/* Where the nodes of one group are plugged into a fabric. */
typedef struct {
  guint adapters;       /* per node; 0: not on this fabric */
  guint per_rail;       /* of them on one rail */
  guint first_position; /* of its first node among all nodes on the fabric */
  guint first_block;    /* trees: of leaf switches */
  guint nodes_per_leaf;
} LsFabricGroup;

/* The switches of one fabric. Leaf = rail x blocks + block; links are numbered leaf x spines + spine and
 * (pod x spines + spine) x cores + core. */
typedef struct {
  LsFabricGroup *groups; /* by group of nodes */
  guint positions;       /* nodes on it */
  guint blocks, leaves;
  guint tiers;                  /* 1: one leaf switch per rail and no trunks */
  guint blocks_per_pod, pods;   /* a pod: leaves that meet in the second tier */
  guint spines, cores;          /* told apart: spines of a pod, cores above one spine */
  guint trunk_up, trunk_down;   /* first resource; LS_NO_NUMBER: one leaf. Graphs: link 0 forth */
  guint core_up, core_down;     /* LS_NO_NUMBER: no third tier */
  double leaf_per_s, pod_per_s; /* capacity of all trunks of one */
  LsGraph *graph;               /* NULL: a tree or a single switch */
  guint *port_first;            /* custom: by node, index of its first adapter in... */
  guint *port_vertex;           /* ... the vertex that it is plugged into; LS_NO_NUMBER: none */
  gint64 *port_latency_ps;
  GArray *static_routes; /* LsStaticRoute, topology_static.c */
} LsFabricMap;

typedef struct {
  const LsCluster *cluster;
  GArray *resources; /* LsNetResource */
  guint n_gpus, n_nodes, n_fabrics;
  guint *gpu_node, *gpu_local; /* by GPU */
  guint *sm, *hbm;             /* resource by GPU */
  guint *link_up, *link_down;  /* by GPU; LS_NO_NUMBER in meshes and PCIe nodes */
  guint *pcie_up, *pcie_down;  /* instances of a GPU share them */
  guint *copy;                 /* copy engines of an instance; LS_NO_NUMBER: no MIG */
  guint *root_up, *root_down;  /* LS_NO_NUMBER: its own link to the host */
  guint **mesh;                /* [gpu][local number of the other]; NULL: no mesh */
  guint **torus;               /* [gpu][2 x dimension + (1: down)]; NULL: no torus */
  guint *host_device;          /* engine device by node */
  guint *cores, *host_memory, *nvme, *socket; /* by node; socket: up of socket 0, then down, ... */
  guint *node_first; /* by node: its resources beside devices and host; one more at the end */
  guint (*nic)[LS_MAX_NIC_SETS]; /* first adapter's tx by node and set; rx follows tx */
  LsFabricMap *fabrics;
  guint storage_read, storage_write;
  /* Adapters that GPU g uses, live ones: from [live_first[g]] to before [live_first[g + 1]] */
  guint *live_first, *live_nics;
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
/* The links that `target` names: a resource's name, or that without its direction for all of them.
 * NULL: there are none, and *near (transfer full) is what was perhaps meant, or NULL. */
GArray *ls_topology_find_links (const LsTopology *topology, const char *target, char **near);

/* FALSE: the links of this GPU form no torus. */
gboolean ls_topology_torus (const LsTopology *topology, guint gpu, LsTorusPlace *place);
/* The link from `gpu` to its neighbour up or down a dimension of its torus; LS_NO_NUMBER: an edge. In a
 * ring of two, up and down are two links to one neighbour. */
guint ls_topology_torus_link (const LsTopology *topology, guint gpu, guint dimension, gboolean up);

/* Shares of a node's links and adapters that payload reaches. */
double ls_node_link_efficiency (const LsNodeSpec *node);
double ls_nic_set_efficiency (const LsCluster *cluster, const LsNodeSpec *node,
                              const LsNicSet *set);
/* What one half of the nodes on a fabric can send to the other at once, by position: the first half
 * to the second, in bytes per second of payload; *sent: what their adapters alone would. */
double ls_topology_bisection (const LsTopology *topology, guint fabric, double *sent);
/* Text of a route (transfer full). */
char *ls_topology_describe_route (const LsTopology *topology, guint gpu_a, guint gpu_b);
