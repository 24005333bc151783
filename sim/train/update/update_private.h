/* State of a run of updates, shared by the update*.c files only. */
#pragma once

#include "base/assert.h"
#include "train/update/update.h"

#define LS_NO_GRADIENT G_MAXUINT32

typedef enum {
  LS_GRADIENT_FREE,
  LS_GRADIENT_COMING, /* on its way to the shard */
  LS_GRADIENT_QUEUED, /* at the shard, which is busy */
  LS_GRADIENT_ADDED,  /* in the sum of the next update */
  LS_GRADIENT_DONE,   /* applied or dropped */
} LsGradientState;

typedef struct {
  gint64 number, clock;
  guint32 worker;
  guint32 coming; /* shards that it has not come to */
  guint32 adding; /* shards that have not added it */
  guint32 open;   /* shards that have neither applied nor dropped it */
  gboolean live;
  gboolean exchange; /* no gradient: a model on its way to be drawn to the server's (elastic) */
  gint64 read_ps, computed_ps, arrived_ps, applied_ps;
  gint64 read_version, applied_version, staleness; /* of the shard where it was stalest */
  const char *reason;
} LsUpdateGradient;

/* Of one gradient on one shard: gradient x shards + shard. */
typedef struct {
  guint64 flow; /* transfer under way, 0: none */
  gint64 read_version;
  guint8 state;
} LsGradientPart;

typedef struct {
  LsUpdate *update;
  guint32 number;
  guint32 pending; /* gradients that some shard has not added */
  guint32 reading; /* shards whose model has not come */
  gboolean computing;
  gboolean held; /* by the policy: may not start yet */
  gboolean away;
  gboolean joining; /* back, but away until the next update */
  guint8 span;
  gint64 span_ps; /* since when */
  gint64 clock;   /* steps ended */
  gint64 done;    /* gradients that the server has dealt with (SSP clock) */
  gint64 local;   /* steps since the last average */
  gint64 read_ps;
  gint64 spans_ps[LS_N_SPANS];
  guint64 *bins;
  guint n_bins;
} LsUpdateWorker;

typedef struct {
  gint64 version;
  guint32 *queue; /* ring of gradient slots that wait for the server */
  guint queue_first, queue_length, queue_size;
  guint32 *sum; /* slots added since the last update */
  guint n_sum;
  gboolean busy, stepping; /* stepping: `whole`, the update itself */
  guint32 current;
} LsUpdateShard;

struct LsUpdate {
  LsUpdateSpec spec;
  LsEngine *engine;
  LsUpdateHost host;
  const LsUpdateSink *sinks[LS_UPDATE_MAX_SINKS];
  gpointer sink_selves[LS_UPDATE_MAX_SINKS];
  guint n_sinks;
  LsUpdateSpanFunc span_func;
  gpointer span_self;
  LsUpdateWorker *workers;
  gint64 *read_version; /* worker x shards + shard */
  guint64 *reads;       /* transfers of models under way, likewise */
  LsUpdateShard *shards;
  GArray *gradients;      /* LsUpdateGradient */
  LsGradientPart *parts;  /* gradients x shards */
  guint parts_size;       /* gradients */
  GArray *free_gradients; /* guint32 */
  GArray *whole;          /* guint32: gradients that all shards have added, not yet in an update */
  guint32 *batch;         /* of the update that is being made */
  guint32 *batch_workers;
  guint n_batch;
  guint steps_open; /* shards that are at it */
  gboolean stepping;
  guint n_waiting;  /* workers at a barrier */
  guint32 *members; /* 0 .. n - 1 */
  gint64 next_gradient;
  guint32 waiting_peer; /* gossip: who waits for a partner, or LS_NO_GRADIENT */
  guint reducing;       /* collectives under way */
  gint64 last_sync;     /* updates at the last full stop */
  guint n_held;
  guint n_away, n_joining;
  guint n_slowest; /* SSP: workers at the least clock */
  gint64 slowest, largest_lead;
  guint64 updates;
  LsUpdateTotals totals;
  double staleness_sum;
  guint64 *bins;
  guint n_bins;
  gint64 begin_ps;
  gboolean stopped, finished;
  LsUpdateProgress progress;
  gpointer progress_self;
  /* On the wall: when to report progress next. */
  gint64 report_us;
};

static inline LsUpdateGradient *ls_gradient_at (LsUpdate *u, guint32 gradient) {
  return &((LsUpdateGradient *) (gpointer) u->gradients->data)[gradient];
}
static inline LsGradientPart *ls_gradient_part (LsUpdate *u, guint32 gradient, guint shard) {
  return &u->parts[gradient * u->spec.shards + shard];
}

/* update.c: time, steps, records. */
void ls_update_span (LsUpdate *u, guint worker, LsUpdateSpan span);
void ls_update_compute (LsUpdate *u, guint worker);
/* Stops what the worker computes and drops its gradients that are not on all shards. */
void ls_update_abandon (LsUpdate *u, guint worker, const char *reason);
/* Workers that have come back while an update was made take part from now on. */
void ls_update_join (LsUpdate *u);
void ls_update_count (LsUpdate *u); /* one more update of the shared model */
void ls_update_tell (LsUpdate *u, LsUpdateRecord *record);

/* update_gradient.c */
guint32 ls_update_new_gradient (LsUpdate *u, LsUpdateWorker *worker);
/* A slot for a model that is pushed in place of a gradient. */
guint32 ls_update_new_exchange (LsUpdate *u, guint worker);
/* What becomes of a gradient on one shard: applied to its version now, or dropped. The caller writes
 * the log and then lets the version grow. */
void ls_update_settle (LsUpdate *u, guint32 gradient, guint shard, const char *reason);
/* A local step never goes to the server. */
void ls_update_local_ended (LsUpdate *u, guint32 gradient);
/* Gradients that are neither applied nor dropped stay open: no row of the log, one of gradients. */
void ls_update_tell_in_flight (LsUpdate *u);

/* update_server.c */
void ls_update_push (LsUpdate *u, guint32 gradient);
/* Answers the worker from one shard: the model, or an acknowledgement that leads to a request. */
void ls_update_reply (LsUpdate *u, guint worker, guint shard);
void ls_update_reply_all (LsUpdate *u, guint worker);
void ls_update_drop (LsUpdate *u, guint32 gradient, const char *reason);
/* The same for what no shard has added; what some have stays with them. */
void ls_update_withdraw (LsUpdate *u, guint32 gradient, const char *reason);
/* With `whole`: makes an update when enough gradients are there. */
void ls_update_try_whole (LsUpdate *u);
/* Without servers: one update from the gradients in `whole`, and everybody reads it. */
void ls_update_apply_whole (LsUpdate *u);
/* The worker's copy is the shared model, at once. */
void ls_update_take (LsUpdate *u, guint worker);

/* update_average.c */
void ls_update_reduce (LsUpdate *u);
void ls_update_exchange (LsUpdate *u, guint a, guint b);
