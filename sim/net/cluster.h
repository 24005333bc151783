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
#include "hw/mig.h"
#include "hw/nodes.h"
#include "net/fabric.h"

#define LS_MAX_NIC_SETS 4

/* Adapters of a node on one fabric. */
typedef struct {
  char *name;
  const LsNic *nic; /* lends latency and efficiency; NULL: given by rate only */
  double bytes_per_s;
  guint count;
  guint fabric; /* index into the cluster's fabrics */
} LsNicSet;

typedef struct {
  const LsNode *preset;     /* NULL: none */
  const LsAccelerator *gpu; /* NULL without GPUs */
  LsDevice device;          /* achievable rates of the GPU, sustained clocks */
  guint gpus;               /* devices, under MIG instances; 0: a host with adapters only */
  LsMig *mig;               /* GPUs are partitioned; NULL: they are whole */
  LsJoint joint;
  const LsLink *link;      /* NULL with LS_JOINT_NONE */
  guint links;             /* per GPU */
  double link_bytes_per_s; /* one link */
  gboolean in_network;     /* the switches reduce */
  guint n_dimensions;      /* LS_JOINT_TORUS: devices are numbered row by row, the last fastest */
  guint size[LS_MAX_DIMENSIONS];
  gboolean wrap[LS_MAX_DIMENSIONS];
  guint hosts;               /* machines that the node is made of: 18 trays of an NVL72 rack */
  guint sockets;             /* of all hosts; device k of g hangs on socket k x sockets / g */
  double socket_bytes_per_s; /* out of one socket to the others of its host */
  double socket_efficiency;
  guint gpus_per_pcie_root;
  double pcie_bytes_per_s; /* of a GPU's x16 link */
  double pcie_efficiency;
  guint n_nic_sets;
  LsNicSet nic_sets[LS_MAX_NIC_SETS];
  guint host_cores;
  gint64 host_memory_bytes;
  double host_memory_bytes_per_s;
  double nvme_bytes_per_s;       /* of all drives, read; 0: none */
  double nvme_write_bytes_per_s; /* 0: as they read */
  gint64 nvme_bytes;             /* 0: unknown */
  /* Tuning of collectives inside the node. */
  gboolean ideal;    /* protocol "ideal": alpha-beta */
  double efficiency; /* of links; 0: as fitted for the link */
  gint64 launch_ps;  /* < 0: as fitted */
  gint64 hop_ps;     /* one round inside the node; < 0: the protocol's */
  double ll_efficiency, ll128_efficiency, nvls_efficiency; /* of links; 0: as fitted */
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

/* Links that are not as their kind: slower, or down. */
typedef struct {
  char *name;         /* of the override */
  char *target;       /* name of a resource, with or without its direction: "main[3]/nic5" */
  gboolean down;      /* nothing passes */
  double share;       /* of the capacity; 0: see bytes_per_s */
  double bytes_per_s; /* instead of the data sheet's; 0: none */
} LsLinkOverride;

/* Factors on what the cluster would have: for what-if questions and laws; 1: as it is. */
typedef struct {
  double link;    /* rates of links between GPUs of a node, */
  double pcie;    /* of PCIe, its switches, sockets and copy engines, */
  double nic;     /* of adapters and the ports that they are plugged into, */
  double trunk;   /* of links between switches, */
  double host;    /* of the memory of hosts, */
  double storage; /* and of storage and drives; as the resources of a topology */
  double latency; /* of every round, launch and copy of communication */
} LsClusterScale;

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
/* Takes a copy; before topologies are made of the cluster. */
void ls_cluster_add_override (LsCluster *cluster, const LsLinkOverride *override);
/* Takes a copy; before topologies are made of the cluster. All are 1 in a new one. */
void ls_cluster_set_scale (LsCluster *cluster, const LsClusterScale *scale);
const LsClusterScale *ls_cluster_scale (const LsCluster *cluster);
void ls_cluster_free (LsCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCluster, ls_cluster_free)

/* Fills `spec` from a row of hw/nodes.h; adapters go to one set named "compute" on fabric 0. */
void ls_node_spec_from_preset (LsNodeSpec *spec, const LsNode *preset);

guint ls_cluster_n_gpus (const LsCluster *cluster);
/* How many of these are instances of a GPU (MIG). */
guint ls_cluster_n_instances (const LsCluster *cluster);
guint ls_cluster_n_nodes (const LsCluster *cluster);
guint ls_cluster_n_groups (const LsCluster *cluster);
guint ls_cluster_n_fabrics (const LsCluster *cluster);
const LsNodeGroup *ls_cluster_group (const LsCluster *cluster, guint group);
const LsFabricSpec *ls_cluster_fabric (const LsCluster *cluster, guint fabric);
const LsStorageSpec *ls_cluster_storage (const LsCluster *cluster);
guint ls_cluster_n_overrides (const LsCluster *cluster);
const LsLinkOverride *ls_cluster_override (const LsCluster *cluster, guint i);
/* What the device is: the accelerator, under MIG the slice of it. */
const LsAccelerator *ls_cluster_gpu (const LsCluster *cluster, guint gpu);
const LsDevice *ls_cluster_device (const LsCluster *cluster, guint gpu);
guint ls_cluster_gpu_node (const LsCluster *cluster, guint gpu);
guint ls_cluster_gpu_local (const LsCluster *cluster, guint gpu); /* number inside its node */
guint ls_cluster_node_group (const LsCluster *cluster, guint node);
guint ls_cluster_node_first_gpu (const LsCluster *cluster, guint node);
const LsNodeSpec *ls_cluster_node (const LsCluster *cluster, guint node);
/* GPUs as one buys them, and the one that device `local` is or lies on. */
guint ls_node_n_physical (const LsNodeSpec *node);
guint ls_node_physical (const LsNodeSpec *node, guint local);
/* The first device of a GPU. */
guint ls_node_first_device (const LsNodeSpec *node, guint physical);
/* "gpu5"; "gpu5/mig2" (transfer full). */
char *ls_node_device_name (const LsNodeSpec *node, guint local);
/* "main[3]/gpu5/mig2" (transfer full). */
char *ls_cluster_device_name (const LsCluster *cluster, guint gpu);
/* "main[3]" (transfer full). */
char *ls_cluster_node_name (const LsCluster *cluster, guint node);
/* The adapters that collectives use: the set named "compute", else the first; NULL: none. */
const LsNicSet *ls_node_compute_nics (const LsNodeSpec *node);
/* Adapters of a node of this shape on a fabric. */
guint ls_node_adapters (const LsNodeSpec *node, guint fabric);
/* Socket on which device `local` hangs, adapter `nic` of a set; 0 with one socket. */
guint ls_node_gpu_socket (const LsNodeSpec *node, guint local);
guint ls_node_nic_socket (const LsNodeSpec *node, const LsNicSet *set, guint nic);
