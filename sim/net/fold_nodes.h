/* Nodes and their resources, told apart by how units use them; the model is in fold_nodes.c.
 *
 * Call order: ls_fold_start_nodes (); of each unit, one after another, ls_fold_use_node () for each node that it
 *             uses and ls_fold_use_shared (); ls_fold_end_nodes (). What is known of resources, their
 *             vertices among it, may be asked for after that.
 * Ownership:  the fold owns everything.
 */
#pragma once

#include "net/fold.h"

#define LS_FOLD_NONE G_MAXUINT32

/* The transfers of a unit use a resource. */
typedef struct {
  guint32 at;    /* its number in its node; of what is in no node, in the net */
  guint32 owner; /* the one GPU of the node whose rank uses it; LS_FOLD_NONE: none or several */
  guint64 hash;  /* how much, in which phases of which transfers */
  guint64 need;  /* the greatest rate at which the unit can load it, saturating */
} LsFoldTouch;

/* What a unit uses of one node: one record for all that are alike. */
typedef struct {
  guint32 n;
  LsFoldTouch *touches; /* by number in the node */
} LsFoldFootprint;

/* What is known of a resource: of one that all nodes of a class have, or of one that is in no node. */
typedef struct {
  guint64 demand;  /* of all units at full rate, saturating */
  gint64 capacity; /* fixed point; of memories, half */
  guint32 owner;   /* the GPU of the node whose rank's units alone use it; LS_FOLD_NONE: several */
  guint32 role;    /* which of its owner's */
  guint32 vertex;  /* of the graph, counted from the node's first; LS_FOLD_NONE: none */
  guint8 used;     /* some unit uses it */
  guint8 ample;    /* it cannot matter */
  guint8 counts;   /* it can: it is in the graph */
} LsFoldResource;

/* Nodes of one type that units use alike, one after another; see fold_nodes.c. */
typedef struct {
  guint32 n_resources, n_vertices;
  LsFoldResource *resource; /* by number in the node */
} LsFoldNodeClass;

typedef struct LsFoldStates LsFoldStates;

/* A resource of the net by its node and its number in there; LS_FOLD_NONE: in no node, numbered by the net. */
typedef struct {
  guint32 node, at;
} LsFoldSpot;

void ls_fold_start_nodes (LsFold *fold);
/* Nodes of one type have the same resources of the same capacities. */
guint32 ls_fold_node_type (const LsFold *fold, guint32 node);
guint32 ls_fold_intern_footprint (LsFold *fold, const LsFoldTouch *touches, guint32 n);
void ls_fold_use_node (LsFold *fold, guint32 node, guint32 footprint);
void ls_fold_use_shared (LsFold *fold, const LsFoldTouch *touch);
void ls_fold_end_nodes (LsFold *fold);
void ls_fold_clear_nodes (LsFold *fold);
/* The memory of a device, of which transfers use half at most (engine.h)? */
gboolean ls_fold_is_memory (const LsFold *fold, guint32 resource);
/* For transfers. */
gint64 ls_fold_capacity (const LsFold *fold, guint32 resource);
LsFoldSpot ls_fold_spot (const LsFold *fold, guint32 resource);
guint32 ls_fold_number (const LsFold *fold, LsFoldSpot spot);
const LsFoldResource *ls_fold_known (const LsFold *fold, LsFoldSpot spot);
/* The rank whose units alone use it. */
guint32 ls_fold_owner (const LsFold *fold, LsFoldSpot spot);
guint32 ls_fold_vertex (const LsFold *fold, LsFoldSpot spot);
/* Of a node's cores; its memory is the next. */
LsFoldSpot ls_fold_cores (const LsFold *fold, guint32 node);
