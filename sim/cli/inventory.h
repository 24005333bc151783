/* What a trace is told of the machine, whoever runs on it: nodes, streams, where a rank sits, resources.
 *
 * Used by the recordings of steps (recording.h) and of updates (update_recording.h).
 * Ownership: an inventory owns its texts and its array of nodes; `meta` borrows both, and arrays of its user.
 */
#pragma once

#include "engine/engine.h"
#include "net/topology.h"
#include "trace/meta.h"
#include "train/program/builder.h"

G_BEGIN_DECLS

typedef struct {
  /* For the recorder; nodes and streams are filled in here, the rest by the user. */
  LsTraceMeta meta;
  LsTraceNode *nodes;
  /* Streams of programs, and one of the update policy's own. */
  const char *streams[LS_N_ROLES + 2];
  /* What g_free() frees with the inventory. */
  GPtrArray *owned;
} LsInventory;

/* Begins with the nodes of the cluster (borrowed). */
void ls_inventory_init (LsInventory *inventory, const LsCluster *cluster);
void ls_inventory_clear (LsInventory *inventory);

/* The number of a stream's name (borrowed) in the trace; a new name is added. */
guint16 ls_inventory_stream (LsInventory *inventory, const char *name);
/* Node, device and MIG instance of the rank on GPU `gpu`. */
void ls_inventory_place (LsInventory *inventory, const LsCluster *cluster, guint gpu,
                         LsTraceRank *rank);
/* The engine's resource `i`, which is `resource` of the topology, numbered `index` (NULL: of no topology). Its rank is absent. */
LsTraceResource ls_inventory_resource (LsInventory *inventory, const LsEngine *engine, guint i,
                                       const LsTopology *topology, guint index,
                                       const LsNetResource *resource);

G_END_DECLS
