#pragma once
/* Node shapes: which accelerators, how they are joined, and what the host has.
 * Ownership: rows and strings are static. */
#include <glib.h>

#include "hw/accelerators.h"
#include "hw/facts.h"
#include "hw/links.h"
#include "hw/nics.h"

/* How the accelerators of a node are joined. id, word, meaning. */
#define LS_JOINTS(X)                                                                     \
  X (NONE, "pcie", "over PCIe and the host only")                                        \
  X (SWITCH, "switch", "every link into crossbar switches: any pair at full rate")       \
  X (CUBE_MESH, "cube-mesh", "hybrid cube mesh of 8 without switches")                   \
  X (FULL_MESH, "full-mesh", "links shared out evenly, one bundle to each other device") \
  X (BRIDGE, "bridge", "pairs of neighbours (0-1, 2-3, ...) joined, the rest over PCIe") \
  X (TORUS, "torus", "each device joined to its neighbours in every dimension of a torus")

typedef enum {
#define LS_JOINT_ID(id, word, meaning) LS_JOINT_##id,
  LS_JOINTS (LS_JOINT_ID)
#undef LS_JOINT_ID
      LS_N_JOINTS
} LsJoint;

typedef struct {
  const char *name; /* "dgx-h100" */
  const char *aliases;
  const char *title;
  const char *gpu; /* row of accelerators.h */
  int gpus;
  LsJoint joint;
  const char *link;       /* row of links.h; NULL with LS_JOINT_NONE */
  int switches;           /* crossbar chips */
  int gpus_per_pcie_root; /* that share one x16 link to the host; 1: each its own */
  gboolean in_network;    /* the crossbars reduce (NVLink SHARP) */
  const char *nic;        /* row of nics.h for the compute fabric; NULL none */
  int nics;               /* how many, all on the compute fabric */
  int pcie_generation;
  int hosts;        /* machines that the node is made of (trays of a rack); 0: one */
  int torus[3];     /* LS_JOINT_TORUS: size per dimension, 0 ends the list */
  gboolean wrapped; /* its dimensions are rings */
  int host_sockets; /* of all hosts */
  int host_cores;   /* physical, all sockets */
  gint64 host_memory_bytes;
  double host_memory_bytes_per_s;
  double nvme_bytes_per_s; /* read, all local drives; 0 none */
  gint64 nvme_bytes;
  const char *source;
  LsFactStatus status;      /* of gpu, gpus, joint, nics */
  LsFactStatus host_status; /* of the host and the drives */
  const char *notes;
} LsNode;

guint ls_node_count (void);
const LsNode *ls_node_get (guint i);
/* "no node preset has 1 of tpu-v6e; there are nodes of 4, 256" (transfer full). */
char *ls_node_none (int gpus, const char *gpu);
const LsNode *ls_node_find (const char *name, GError **error);
gboolean ls_node_fact (const LsNode *node, guint i, LsFact *fact);
const char *ls_joint_name (LsJoint joint);
const char *ls_joint_meaning (LsJoint joint);
/* Links between devices a and b (0 none): from the joint, the number of devices and links each. */
int ls_node_links_between (LsJoint joint, int gpus, int links, int a, int b);
