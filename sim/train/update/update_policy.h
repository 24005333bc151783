/* The registry of update policies, and what a policy may ask of the run.
 *
 * A policy is a constant record: which keys it takes, what it needs, and what it does at each of the
 * moments below. It keeps no state of its own: counters live in the run (update_private.h).
 */
#pragma once

#include <glib.h>

typedef struct LsUpdate LsUpdate;
typedef struct _LsUpdatePolicy LsUpdatePolicy;

/* Keys of `workload.update` that a policy takes, beside policy, servers and network. X (ID, key) */
#define LS_UPDATE_KEYS(X)        \
  X (K, "k")                     \
  X (LOCAL_STEPS, "local_steps") \
  X (BOUND, "staleness_bound")   \
  X (DISCARD, "discard_above")   \
  X (SYNC_EVERY, "sync_every")   \
  X (REPLY, "reply")

#define LS_ENUM_UPDATE_KEY(id, key) LS_UPDATE_KEY_##id,
typedef enum { LS_UPDATE_KEYS (LS_ENUM_UPDATE_KEY) LS_N_UPDATE_KEYS } LsUpdateKey;
const char *ls_update_key_name (LsUpdateKey key);
#define LS_UPDATE_TAKES(id) (1u << LS_UPDATE_KEY_##id)

typedef enum {
  LS_NEEDS_SERVERS,     /* the shared model lies on servers */
  LS_NEEDS_COLLECTIVES, /* workers average among all of them */
  LS_NEEDS_EITHER,      /* servers when the scenario names some, else collectives */
  LS_NEEDS_PEERS,       /* workers exchange in pairs */
} LsUpdateNeeds;

struct _LsUpdatePolicy {
  const char *name;
  const char *title;      /* one line, no full stop */
  const char *definition; /* what exactly is done */
  const char *source;
  guint keys; /* LS_UPDATE_TAKES bits */
  LsUpdateNeeds needs;
  gboolean local;   /* workers step copies of their own */
  gboolean stale;   /* gradients may be older than the model that they are added to */
  gboolean whole;   /* a gradient counts when all shards have it, and all shards update together */
  gboolean all;     /* every update takes one gradient of every worker (k = n) */
  gboolean goes_on; /* a worker computes while its gradient waits for the update */
  gboolean elastic; /* what is pushed is a model, which the server and the worker draw together */
  /* A worker's step has ended; `gradient` is its slot. */
  void (*computed) (LsUpdate *update, guint worker, guint gradient);
  /* A shard (all of them if `whole`) has added a gradient, and updated if that was due. */
  void (*added) (LsUpdate *update, guint worker, guint gradient, guint shard);
  /* With `whole`: an update is due, its K gradients are there; before the servers' work. */
  void (*due) (LsUpdate *update);
  /* With `whole`: the update is made, from the gradients of `workers` (ascending). */
  void (*updated) (LsUpdate *update, const guint32 *workers, guint n);
  /* A worker has left, or is back and takes part (it starts unless it is held); NULL: nothing to do. */
  void (*left) (LsUpdate *update, guint worker);
  void (*returned) (LsUpdate *update, guint worker);
  /* A collective over all workers, or an exchange of two, has ended. */
  void (*averaged) (LsUpdate *update, guint worker, guint peer);
};

guint ls_update_policy_count (void);
const LsUpdatePolicy *ls_update_policy_get (guint i);
const LsUpdatePolicy *ls_update_policy_find (const char *name); /* NULL: none */
const char *const *ls_update_policy_names (void);               /* ended by NULL */
