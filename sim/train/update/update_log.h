/* The update log: what timing tells learning. Typed operations in the order in which they happened, from
 * which every update policy can be replayed on any problem; neither side sees the other.
 *
 * Model:      a *worker* is one data-parallel replica with a copy of the model of its own; the *server* is
 *             the shared model, in `shards` pieces whose versions count its updates from 0. Policies without
 *             a server (local SGD, averaging, gossip) use the shared model as the mean that was agreed last.
 *             Definitions of version and staleness: Zhang et al. 2015 (arXiv 1511.05950), section 2.1.
 * Order:      records come in the order of time; at equal times in the order in which the policy acts.
 *             What a record needs (the copy a gradient is taken at, the state a mean is taken of) is the
 *             state after all records before it.
 * Invariants: a gradient is evaluated once (GRADIENT or LOCAL_STEP) and then, per shard, applied or
 *             dropped once; versions of a shard grow by one per update.
 *
 * Ownership: records are valid during the call only.
 */
#pragma once

#include <glib.h>

/* id, name in the trace, meaning. */
#define LS_UPDATE_OPERATIONS(X)                                                                   \
  X (READ, "read", "the worker's copy of `shard` becomes the server's, which has `version`")      \
  X (GRADIENT, "gradient", "the worker takes `gradient` at its copy as it is now")                \
  X (LOCAL_STEP, "local_step",                                                                    \
     "the worker takes `gradient` at its copy and steps its copy by it with its own optimizer")   \
  X (APPLY, "apply",                                                                              \
     "`gradient` enters the update that makes `version` of `shard`; records of one version are "  \
     "one "                                                                                       \
     "step with the mean of their gradients, summed by worker; the last of them has `closes`")    \
  X (DROP, "drop", "`gradient` is thrown away")                                                   \
  X (AVERAGE, "average",                                                                          \
     "the copies of the workers in `peer_set` and the server become the mean of those copies, "   \
     "which is `version`")                                                                        \
  X (ELASTIC, "elastic",                                                                          \
     "the copies of `worker`, or of all in `peer_set`, and the server pull each other; the "      \
     "server "                                                                                    \
     "then has `version`")                                                                        \
  X (PAIR_AVERAGE, "pair_average", "the copies of `worker` and `peer` become their mean")         \
  X (OUTER_STEP, "outer_step",                                                                    \
     "the server steps by its outer optimizer with the mean over `peer_set` of (server - copy), " \
     "which makes `version`")

#define LS_ENUM_UPDATE(id, name, meaning) LS_UPDATE_##id,
typedef enum { LS_UPDATE_OPERATIONS (LS_ENUM_UPDATE) LS_N_UPDATE_OPERATIONS } LsUpdateOperation;

const char *ls_update_operation_name (LsUpdateOperation operation);
/* FALSE when no such name. */
gboolean ls_update_operation_parse (const char *name, LsUpdateOperation *operation);

/* One operation. Fields that do not apply are negative. */
typedef struct {
  LsUpdateOperation operation;
  gint32 worker;
  gint32 shard; /* < 0: all shards (always so when there is one) */
  gint32 peer;  /* PAIR_AVERAGE */
  gint64 version;
  gint32 peer_set; /* number of a set of workers; its members are in `members` */
  guint32 n_members;
  const guint32 *members; /* ascending; NULL without a set */
  gint64 gradient;        /* its number, from 0 in order of evaluation */
  gint64 clock;    /* GRADIENT, LOCAL_STEP: iterations that the worker had finished before it */
  gint64 samples;  /* GRADIENT, LOCAL_STEP: in its mini-batch */
  gboolean closes; /* APPLY */
  gint64 t_ps;
} LsUpdateRecord;

/* What became of a gradient, once it is known: a row of the trace's table `gradient`. Times < 0: never. */
typedef struct {
  gint64 gradient;
  gint32 worker;
  gint64 clock;
  gint64 read_version;
  gint64 applied_version; /* the server's version before the update; < 0: dropped */
  gint64 staleness;       /* version at application (or drop) - read_version, >= 0 */
  gint64 read_ps, computed_ps, arrived_ps, applied_ps;
  const char *reason; /* of a drop; static; NULL: applied */
  gint64 samples;
  gboolean local; /* of a LOCAL_STEP: it never met the server; staleness is 0 */
} LsGradientRecord;

/* Who listens. Either may be NULL. */
typedef struct {
  void (*update) (gpointer self, const LsUpdateRecord *record);
  void (*gradient) (gpointer self, const LsGradientRecord *record);
} LsUpdateSink;
