/* Update policies: who computes on which model when, and when gradients become updates.
 *
 * Model:      n *workers*, each one data-parallel replica, compute steps; a policy decides what happens
 *             when a step has ended, when a gradient has come to a server, when an update is made and
 *             when a model has come back. Between them lie transfers on real links and the servers' own
 *             work. All of it runs on one engine; what happened is told as an update log
 *             (update_log.h). Definitions: docs/async.md.
 * Invariants: asserted: every gradient is applied or dropped once per shard, or in flight at the end;
 *             versions grow by one; staleness >= 0; a worker's parts of time sum to the run.
 *             The i-th step that worker w starts takes the i-th draw of its own stream, whatever the
 *             policy (common random numbers).
 * Call order: ls_update_new(); sinks; ls_update_run(); results; free.
 * Cost:       one event per step where transfers take no time; no allocation once warm.
 *             Workers may leave and return (failures): what they compute or send is dropped, and on their
 *             return they read the model of then.
 * Left out:   what a gradient is: sim/learn reads the log. Servers do not fail.
 *
 * Ownership: an LsUpdate borrows spec->policy and the cluster's net, owns the rest of what it makes.
 */
#pragma once

#include "base/distribution.h"
#include "engine/engine.h"
#include "train/update/update_log.h"
#include "train/update/update_policy.h"
#include "train/vocabulary.h"

#define LS_UPDATE_MAX_SINKS 4

/* What a scenario says of updates: all that changes timing. Numbers < 0: none. */
typedef struct {
  const LsUpdatePolicy *policy;
  guint workers;
  guint k;                /* gradients per update, 1..workers */
  gint64 local_steps;     /* steps between averages */
  gint64 staleness_bound; /* SSP: iterations that a worker may lead; < 0: no bound */
  gint64 discard_above;   /* versions; gradients that are staler are dropped; < 0: never */
  gint64 sync_every;      /* updates after which all wait for all; 0: never */
  gboolean collective;    /* no servers: all workers meet in collectives */
  gboolean reply_ack;     /* a push is answered without the model, which is then asked for */
  gboolean skip_away;     /* nobody waits for workers that have left */
  guint shards;           /* pieces of the model on servers of their own, >= 1 */
  gint64 samples;         /* in one step of one worker */
  gint64 stop_updates, stop_samples, stop_ps; /* whichever comes first; < 0: not asked for */
} LsUpdateSpec;

/* One share of a worker's time. */
typedef enum {
  LS_SPAN_COMPUTE, /* a step */
  LS_SPAN_PUSH,    /* from the end of a step until the server has dealt with its gradient */
  LS_SPAN_WAIT,    /* for other workers, because the policy says so */
  LS_SPAN_PULL,    /* from the answer's start until the model is there */
  LS_SPAN_AVERAGE, /* in a collective or an exchange with a peer */
  LS_SPAN_AWAY,    /* it has left and not returned */
  LS_N_SPANS
} LsUpdateSpan;

const char *ls_update_span_name (LsUpdateSpan span);
LsPart ls_update_span_part (LsUpdateSpan span);

/* What workers are made of and what lies between them. Every function may be NULL: a timed worker
 * whose transfers take no time needs only `compute`. Returned numbers are of
 * ls_engine_add_transfer(); LS_UPDATE_NOTHING: takes no time. */
#define LS_UPDATE_NOTHING G_MAXUINT
typedef enum {
  LS_UPDATE_WAY_PUSH,    /* worker to server, a gradient or model */
  LS_UPDATE_WAY_MODEL,   /* server to worker, the model */
  LS_UPDATE_WAY_ACK,     /* server to worker, a few bytes */
  LS_UPDATE_WAY_REQUEST, /* worker to server, a few bytes */
  LS_N_UPDATE_WAYS
} LsUpdateWay;

typedef struct LsUpdate LsUpdate;

typedef struct {
  /* Starts the worker's next step; ls_update_computed() is called when it has ended, later. */
  void (*compute) (gpointer self, LsUpdate *update, guint worker);
  /* Ends a step that runs, without ls_update_computed(). */
  void (*abandon) (gpointer self, LsUpdate *update, guint worker);
  guint (*transfer) (gpointer self, LsUpdateWay way, guint worker, guint shard);
  /* The server's work: adding one gradient, and, with `step`, updating its shard. */
  guint (*work) (gpointer self, guint shard, gboolean step);
  /* Averaging over all workers: `n` transfers that run at once. */
  const guint *(*reduce) (gpointer self, guint *n);
  guint (*exchange) (gpointer self, guint from, guint to);
  gpointer self;
} LsUpdateHost;

/* `engine` and the host are borrowed. */
LsUpdate *ls_update_new (const LsUpdateSpec *spec, LsEngine *engine, const LsUpdateHost *host);
void ls_update_free (LsUpdate *update);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsUpdate, ls_update_free)
void ls_update_add_sink (LsUpdate *update, const LsUpdateSink *sink, gpointer self);
/* Called for every span of a worker's time that has ended. */
typedef void (*LsUpdateSpanFunc) (gpointer self, guint worker, LsUpdateSpan span, gint64 clock,
                                  gint64 start_ps, gint64 end_ps);
void ls_update_set_span_func (LsUpdate *update, LsUpdateSpanFunc func, gpointer self);

/* For the host: the worker's step has ended now. */
void ls_update_computed (LsUpdate *update, guint worker);
/* A worker leaves, or is back; nothing when it is so already. Policies of ls_update_may_leave() only. */
void ls_update_leave (LsUpdate *update, guint worker);
void ls_update_return (LsUpdate *update, guint worker);
/* Policies whose workers share nothing but servers. */
gboolean ls_update_may_leave (const LsUpdateSpec *spec);
const LsUpdateSpec *ls_update_spec (const LsUpdate *update);
LsEngine *ls_update_engine (LsUpdate *update);

/* Starts all workers at the engine's time now. */
void ls_update_begin (LsUpdate *update);
/* Runs the engine until the spec's stop. LS_ERROR_INTERRUPTED when *stop became non-zero (the results
 * up to then are good), LS_ERROR_RUN when nobody can go on. `progress` may be NULL. */
typedef void (*LsUpdateProgress) (gpointer self, double share);
gboolean ls_update_run (LsUpdate *update, const volatile gint *stop, LsUpdateProgress progress,
                        gpointer progress_self, GError **error);
/* Closes the books at the time now: gradients in flight are told to the sinks. Once. */
void ls_update_finish (LsUpdate *update);

/* Results, after ls_update_finish(). */
typedef struct {
  guint64 updates, evaluated, applied, dropped, cancelled, in_flight, local;
  guint64 left;   /* times that a worker has left */
  gint64 samples; /* of gradients evaluated */
  gint64 end_ps;
  double staleness_mean; /* over applied gradients; 0 without any */
  gint64 staleness_p50, staleness_p99, staleness_max;
} LsUpdateTotals;
LsUpdateTotals ls_update_totals (const LsUpdate *update);
/* Gradients applied with each staleness 0 .. *n - 1, of one worker or (worker < 0) of all. The last
 * bin of LS_UPDATE_MAX_BINS counts all from there on. */
#define LS_UPDATE_MAX_BINS 65536
const guint64 *ls_update_histogram (const LsUpdate *update, gint worker, guint *n);
gint64 ls_update_span_ps (const LsUpdate *update, guint worker, LsUpdateSpan span);
gint64 ls_update_clock (const LsUpdate *update, guint worker); /* steps finished */
/* Share of the run in which the worker did not compute. */
double ls_update_idle_fraction (const LsUpdate *update, guint worker);
/* Largest lead of any worker over the slowest ever seen at the start of a step (SSP). */
gint64 ls_update_largest_lead (const LsUpdate *update);
