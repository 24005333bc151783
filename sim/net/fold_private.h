/* What the files of folding share: fold_uses.c reads programs, fold_units.c makes the transfers of groups and
 * notes what they use, fold.c finds the classes, fold_install.c puts them on an engine. */
#pragma once

#include "net/fold_nodes.h"

typedef struct {
  gint32 peer;
  gboolean relative; /* to the sender's position */
  guint16 descriptor;
} LsFoldSend;

/* What the ranks of a kind do with the group in a slot. */
typedef struct {
  GArray *collectives; /* guint16 descriptors, ascending */
  GArray *sends;       /* LsFoldSend */
  gboolean receives;
  guint at_once;      /* most sends of one bundle */
  gboolean unbounded; /* eager sends or puts: any number may be under way */
  guint64 content;    /* a hash of all that: ranks of different kinds often do alike with a group */
} LsFoldUse;

typedef struct {
  guint n_slots;
  LsFoldUse *uses; /* [slot] */
  GArray *copies;  /* guint16 descriptors */
  guint64 copied;  /* a hash of them */
  gboolean host;   /* runs operations on its host */
} LsFoldKind;

typedef struct {
  guint32 member; /* of the unit, the last on the node; LS_FOLD_NONE: of node `node` none is */
  guint32 node;
  guint32 footprint;
} LsFoldStep;

/* What a unit uses: one record for all units that are alike. */
typedef struct {
  guint64 label; /* what its transfers are */
  guint32 n_steps, n_shared;
  LsFoldStep *steps;   /* node by node */
  LsFoldTouch *shared; /* in no node */
} LsFoldTouches;

/* A group whose members communicate, or one rank that copies. */
typedef struct {
  guint32 group; /* of the input; LS_FOLD_NONE: copies of `rank` */
  guint32 rank;
  const LsFoldTouches *touches;
  gboolean sends;
} LsFoldUnit;

typedef struct {
  guint32 node, local; /* the GPU's */
} LsFoldPlace;

struct LsFold {
  const LsCluster *cluster;
  LsFoldInput input; /* arrays borrowed */
  LsNet *net;
  LsFoldKind *kinds;
  GArray *units;        /* LsFoldUnit */
  GPtrArray *touches;   /* LsFoldTouches */
  const char *why;      /* it cannot be folded */
  LsFoldPlace *place;   /* by rank */
  guint32 *rank_of_gpu; /* LS_FOLD_NONE: none */
  guint32 *first_gpu;   /* by node */
  /* nodes and their resources */
  GArray *footprints;     /* LsFoldFootprint */
  LsFoldStates *states;   /* what each node has been used for so far */
  GArray *node_classes;   /* LsFoldNodeClass */
  guint32 *class_of_node; /* set when all units are known */
  guint32 *first_vertex;  /* by node; one more at the end */
  guint32 *host_vertex;   /* by node: of cores that only operations use; NULL without any */
  guint32 first_shared;   /* in the net; the rest are in no node */
  guint32 n_shared;
  LsFoldResource *shared;
  gboolean any_host;
  gboolean any_narrow; /* a trunk that is not ample */
  /* the classes */
  guint n_classes;
  guint32 *class_of; /* of vertices: ranks, then units, then resources */
  guint32 *lowest;   /* vertex, by class of vertices */
  guint n_vertices, n_vertex_classes;
  guint32 *rank_of_class, *size_of_class;
  /* on the engine */
  GArray *resources;       /* guint32: index in the net by engine number */
  GHashTable *stand_ins;   /* engine numbers by kind and capacity, see fold_install.c */
  guint32 *engine_number;  /* + 1, by resource; 0: not there */
  guint8 *is_busy;         /* by node: some of it runs */
  GArray *groups;          /* guint32: unit by engine group */
  GPtrArray *contributors; /* by class of vertices: GArray of guint32 units; NULL: none */
  GHashTable *channels;    /* from class << 32 | to class -> LsFoldChannel */
  GPtrArray *transfers;
  guint32 *copies_of_class; /* unit by class; LS_FOLD_NONE */
};

typedef struct {
  guint32 unit, from, to; /* positions in the unit's group */
} LsFoldChannel;

/* What one transfer of a unit is: a collective (from = LS_FOLD_NONE), a message between positions, a copy. */
typedef struct {
  guint16 descriptor;
  guint32 from, to;
} LsFoldKey;

static inline const LsFoldUnit *ls_fold_unit (const LsFold *fold, guint32 unit) {
  return &g_array_index (fold->units, LsFoldUnit, unit);
}
static inline guint32 ls_fold_unit_vertex (const LsFold *fold, guint32 unit) {
  return fold->input.n_ranks + unit;
}
/* Members of a unit. */
static inline guint ls_fold_unit_size (const LsFold *fold, const LsFoldUnit *unit) {
  return unit->group == LS_FOLD_NONE ? 1 : fold->input.groups[unit->group].n;
}
static inline guint ls_fold_unit_member (const LsFold *fold, const LsFoldUnit *unit, guint i) {
  return unit->group == LS_FOLD_NONE ? unit->rank : fold->input.groups[unit->group].ranks[i];
}

static inline guint32 ls_fold_step_node (const LsFold *fold, const LsFoldUnit *unit,
                                         const LsFoldStep *step) {
  return step->member == LS_FOLD_NONE
             ? step->node
             : fold->place[ls_fold_unit_member (fold, unit, step->member)].node;
}
static inline const LsFoldFootprint *ls_fold_footprint (const LsFold *fold, guint32 number) {
  return &g_array_index (fold->footprints, LsFoldFootprint, number);
}
static inline const LsFoldNodeClass *ls_fold_node_class (const LsFold *fold, guint32 node) {
  return &g_array_index (fold->node_classes, LsFoldNodeClass, fold->class_of_node[node]);
}

/* fold_uses.c */
LsFoldKind *ls_fold_kinds_new (const LsFoldInput *input, const char **why);
void ls_fold_kinds_free (LsFoldKind *kinds, guint n);
const LsFoldUse *ls_fold_use (const LsFold *fold, const LsFoldGroup *group, guint position);

/* fold_units.c */
void ls_fold_add_units (LsFold *fold);
const LsTransfer *ls_fold_transfer (LsFold *fold, const LsFoldUnit *unit, LsFoldKey key);
/* Rate of a phase alone, as the engine's ls_sharing_alone_rate(); *bottleneck: index in the net. */
gint64 ls_fold_alone_rate (const LsFold *fold, const LsPhase *phase, guint32 *bottleneck);
