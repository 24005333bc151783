/* The cluster as the scenario describes it: groups of nodes, what is in a node, fabrics, storage.
 *
 * A plain, validated record without an engine: memory checks, layouts and `check` need no more.
 * GPUs are numbered node by node, nodes group by group. Rates are bytes per second in ONE direction,
 * as the data sheet has them; what collectives reach of them is `..._efficiency`.
 *
 * Ownership: a cluster owns its arrays and strings; catalogue rows are static.
 */
#pragma once

#include "config/config.h"
#include "hw/device.h"
#include "hw/nodes.h"

#define LS_MAX_NIC_SETS 4

/* id, word, meaning. */
#define LS_FABRIC_KINDS(X)                                                                  \
  X (FAT_TREE, "fat-tree", "leaf and spine switches, one leaf per rail and group of nodes") \
  X (SINGLE_SWITCH, "single-switch", "one crossbar that never blocks inside")

#define LS_ROUTINGS(X)                                       \
  X (SPRAY, "spray", "ideal spread over all shortest paths") \
  X (ECMP, "ecmp", "one path per pair of adapters, chosen by a hash: collisions happen")

#define LS_ENUM_FABRIC(id, word, meaning) LS_FABRIC_##id,
typedef enum { LS_FABRIC_KINDS (LS_ENUM_FABRIC) LS_N_FABRIC_KINDS } LsFabricKind;
#define LS_ENUM_ROUTING(id, word, meaning) LS_ROUTING_##id,
typedef enum { LS_ROUTINGS (LS_ENUM_ROUTING) LS_N_ROUTINGS } LsRouting;

typedef struct {
  char *name;
  LsFabricKind kind;
  LsRouting routing;
  double link_bytes_per_s; /* one port; 0: as the adapter behind it */
  gint64 hop_latency_ps;   /* through one switch */
  guint rails;             /* leaf groups that the adapters of a node are dealt to */
  guint leaf_radix;        /* ports of a leaf switch */
  double oversubscription; /* bandwidth to nodes / bandwidth to spines of a leaf */
  gboolean in_network;     /* the switches reduce and copy (SHARP) */
  double efficiency;       /* of adapters on it; 0: the adapter's own */
  gint64 hop_ps;           /* one round over it, all included; < 0: the protocol's plus the path */
  gboolean messages;       /* collectives over it run as single messages */
} LsFabricSpec;

/* Adapters of a node on one fabric. */
typedef struct {
  char *name;
  const LsNic *nic; /* lends latency and efficiency; NULL: given by rate only */
  double bytes_per_s;
  guint count;
  guint fabric; /* index into the cluster's fabrics */
} LsNicSet;

typedef struct {
  const LsNode *preset; /* NULL: none */
  const LsAccelerator *gpu;
  LsDevice device; /* achievable rates of the GPU, sustained clocks */
  guint gpus;
  LsJoint joint;
  const LsLink *link;      /* NULL with LS_JOINT_NONE */
  guint links;             /* per GPU */
  double link_bytes_per_s; /* one link */
  gboolean in_network;     /* the switches reduce */
  guint gpus_per_pcie_root;
  double pcie_bytes_per_s; /* of a GPU's x16 link */
  double pcie_efficiency;
  guint n_nic_sets;
  LsNicSet nic_sets[LS_MAX_NIC_SETS];
  guint host_cores;
  gint64 host_memory_bytes;
  double host_memory_bytes_per_s;
  double nvme_bytes_per_s; /* 0: none */
  /* Tuning of collectives inside the node. */
  gboolean ideal;    /* protocol "ideal": alpha-beta */
  double efficiency; /* of links; 0: as fitted for the link */
  gint64 launch_ps;  /* < 0: as fitted */
  gint64 hop_ps;     /* one round inside the node; < 0: the protocol's */
  gboolean messages; /* collectives inside it run as single messages */
} LsNodeSpec;

typedef struct {
  char *name;
  guint nodes;
  guint first_node, first_gpu;
  LsNodeSpec node;
} LsNodeGroup;

typedef struct {
  gboolean present;
  double read_bytes_per_s, write_bytes_per_s; /* of the service as a whole */
  gint64 latency_ps;
  guint fabric;
} LsStorageSpec;

typedef struct LsCluster LsCluster;

/* The keys under `cluster`; ends with a row whose path is NULL. */
extern const LsConfigKey ls_cluster_keys[];

/* Reads and checks `cluster`. All faults go to `errors`; NULL when there is one (transfer full).
 * `config` must be readable. */
LsCluster *ls_cluster_new (LsConfig *config, LsConfigErrors *errors);
/* From records, for tests and builders; takes copies. Strings may be literals. Asserts validity. */
LsCluster *ls_cluster_new_from (const LsNodeGroup *groups, guint n_groups,
                                const LsFabricSpec *fabrics, guint n_fabrics,
                                const LsStorageSpec *storage);
void ls_cluster_free (LsCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCluster, ls_cluster_free)

/* Fills `spec` from a row of hw/nodes.h; adapters go to one set named "compute" on fabric 0. */
void ls_node_spec_from_preset (LsNodeSpec *spec, const LsNode *preset);

guint ls_cluster_n_gpus (const LsCluster *cluster);
guint ls_cluster_n_nodes (const LsCluster *cluster);
guint ls_cluster_n_groups (const LsCluster *cluster);
guint ls_cluster_n_fabrics (const LsCluster *cluster);
const LsNodeGroup *ls_cluster_group (const LsCluster *cluster, guint group);
const LsFabricSpec *ls_cluster_fabric (const LsCluster *cluster, guint fabric);
const LsStorageSpec *ls_cluster_storage (const LsCluster *cluster);
const LsAccelerator *ls_cluster_gpu (const LsCluster *cluster, guint gpu);
guint ls_cluster_gpu_node (const LsCluster *cluster, guint gpu);
guint ls_cluster_gpu_local (const LsCluster *cluster, guint gpu); /* number inside its node */
guint ls_cluster_node_group (const LsCluster *cluster, guint node);
guint ls_cluster_node_first_gpu (const LsCluster *cluster, guint node);
const LsNodeSpec *ls_cluster_node (const LsCluster *cluster, guint node);
/* "main[3]" (transfer full). */
char *ls_cluster_node_name (const LsCluster *cluster, guint node);
/* The adapters that collectives use: the set named "compute", else the first; NULL: none. */
const LsNicSet *ls_node_compute_nics (const LsNodeSpec *node);
const char *ls_fabric_kind_name (LsFabricKind kind);
const char *ls_routing_name (LsRouting routing);
