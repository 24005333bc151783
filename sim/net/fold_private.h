/* What the files of folding share: fold_uses.c reads programs, fold_units.c makes the transfers of groups and
 * notes what they use, fold.c finds the classes, fold_install.c puts them on an engine. */
#pragma once

#include "net/fold.h"

#define LS_FOLD_NONE G_MAXUINT32

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

/* The transfers of a unit use a resource. */
typedef struct {
  guint32
      member;    /* of the unit, on whose node it is; LS_FOLD_NONE: `at` is its number in the net */
  guint32 at;    /* its number in the node */
  guint32 owner; /* the one member that uses it; LS_FOLD_NONE: several, or nobody's */
  guint64 hash;  /* how much, in which phases of which transfers */
  guint64 need;  /* the greatest rate at which the unit can load it, saturating */
} LsFoldTouch;

/* What a unit uses: one record for all units that are alike. */
typedef struct {
  guint64 label; /* what its transfers are */
  guint32 n;
  LsFoldTouch *touches; /* by member */
} LsFoldTouches;

/* A group whose members communicate, or one rank that copies. */
typedef struct {
  guint32 group; /* of the input; LS_FOLD_NONE: copies of `rank` */
  guint32 rank;
  const LsFoldTouches *touches;
  gboolean sends;
} LsFoldUnit;

/* What is known of a resource of the net; small, because each unit looks at those that it uses. */
typedef struct {
  guint64 demand;  /* of all units at full rate, saturating */
  gint64 capacity; /* fixed point; of memories, half */
  guint32 owner;   /* the rank whose units alone use it; LS_FOLD_NONE: several */
  guint32 role;    /* which of its owner's */
  guint32 vertex;  /* of the graph; LS_FOLD_NONE: none */
  guint8 used;     /* some unit uses it */
  guint8 ample;    /* it cannot matter */
  guint8 counts;   /* it can: it is in the graph */
  guint8 runs;     /* it stands for its class on the engine */
} LsFoldResource;

struct LsFold {
  const LsCluster *cluster;
  LsFoldInput input; /* arrays borrowed */
  LsNet *net;
  LsFoldKind *kinds;
  GArray *units;            /* LsFoldUnit */
  GPtrArray *touches;       /* LsFoldTouches */
  const char *why;          /* it cannot be folded */
  guint n_resources;        /* of the net */
  LsFoldResource *resource; /* by number in the net */
  guint32 *of_node;         /* resources by node: those of node i from first_of_node[i] on */
  guint32 *first_of_node;
  guint32 *cores; /* by node: its cores */
  guint32 *sm;    /* by GPU */
  gboolean any_host;
  gboolean any_narrow; /* a trunk that is not ample */
  /* the classes */
  guint n_classes;
  guint32 *class_of; /* of vertices: ranks, then units, then resources */
  guint32 *lowest;   /* vertex, by class of vertices */
  guint n_vertex_classes;
  guint32 *rank_of_class, *size_of_class;
  /* on the engine */
  GArray *resources;       /* guint32: index in the net by engine number */
  guint32 *engine_number;  /* by resource; LS_FOLD_NONE */
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

/* The resource that a touch of the unit means. */
static inline guint32 ls_fold_touched (const LsFold *fold, const LsFoldUnit *unit,
                                       const LsFoldTouch *touch) {
  if (touch->member == LS_FOLD_NONE)
    return touch->at;
  guint gpu = fold->input.gpu_of_rank[ls_fold_unit_member (fold, unit, touch->member)];
  return fold->of_node[fold->first_of_node[ls_cluster_gpu_node (fold->cluster, gpu)] + touch->at];
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
