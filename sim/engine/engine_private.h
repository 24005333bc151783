/* State of a running engine, shared by the engine's own files only.
 *
 * executor.c moves streams through their programs; device.c runs kernels on devices (second layer of
 * sharing); activity.c runs transfers (first layer); group.c and message.c pair ranks up; account.c
 * keeps time and memory per rank; control.c changes things from outside; deadlock.c explains.
 */
#pragma once

#include "base/assert.h"
#include "engine/engine.h"
#include "engine/event_queue.h"
#include "engine/program_private.h"
#include "engine/sharing.h"

#define LS_NONE G_MAXUINT32
#define LS_HISTORY 8u

typedef enum {
  LS_EVENT_BLOCK_END = 1, /* a: rank, b: stream */
  LS_EVENT_DELAY_END,     /* a: rank, b: stream */
  LS_EVENT_LATENCY_END,   /* a: activity */
  LS_EVENT_TRANSFER_END,  /* a: activity */
  LS_EVENT_TIMER,         /* which: by its slot */
} LsEventKind;

typedef enum {
  LS_STREAM_READY,    /* to be advanced */
  LS_STREAM_BLOCKED,  /* waits for another stream of its rank */
  LS_STREAM_RUNNING,  /* a block of kernels is on the device */
  LS_STREAM_MEETING,  /* in a collective, from its arrival to the end */
  LS_STREAM_MESSAGE,  /* in a send, receive, put or copy, or a bundle of them */
  LS_STREAM_DELAYED,
  LS_STREAM_FINISHED,
} LsStreamState;

/* A past operation of a stream that was not a kernel: what idle time behind it is charged to. */
typedef struct {
  gint64 ordinal; /* -1: empty */
  gint64 ready_ps, start_ps, end_ps;
  LsCause cause;
  guint8 part;  /* for start..end */
  guint8 blame; /* for ready..start */
} LsHistory;

typedef struct {
  gint64 position; /* operations ended */
  guint32 pc;
  guint8 state;
  guint8 wait_index;
  guint8 device_kind; /* running: 0 the rank's device, 1 its host device */
  guint8 queued;      /* in the list of streams to advance */
  gint32 counters[LS_MAX_LOOP_DEPTH];
  gint64 ready_ps, start_ps;
  LsCause cause;
  gint64 busy_at_start_ps; /* busy time of the main stream when it started */
  guint32 event;           /* slot of its end event, LS_EVENT_NONE */
  guint32 pending;         /* open children of a bundle, or 1 */
  guint32 activity;        /* of a message or copy (not of bundles) */
  guint32 waiters;         /* bit mask of streams of this rank blocked on this one */
  gint64 last_ordinal;     /* the operation that ended last: cause of the next */
  guint32 history_next;
  /* a running block */
  guint32 run_pc;       /* current kernel */
  gint64 run_time_ps;   /* progress is accounted up to here */
  gint64 kernel_start_ps;
  gint64 kernel_work_ps;
  gint64 run_start_ps;
  gint64 sm_share, hbm_share; /* what is left for it (usage fixed point), < 0: not yet known */
  gint64 rate;                /* with several kernels on the device: of the current kernel, else -1 */
  LsInt128 remaining;         /* of the current kernel */
  gboolean pristine;          /* never cut: the block's sums are right */
  gboolean claimed;           /* the current kernel's memory is claimed */
} LsStream;

typedef struct {
  LsProgram *program; /* NULL: passive */
  guint32 device, host_device;
  guint32 first_stream;
  guint16 n_streams, n_open; /* streams not finished */
  gboolean observed;
  GArray *slots; /* LsSlotEntry */
  /* account of the main stream */
  gint64 parts_ps[LS_MAX_PARTS];
  gint64 accounted_ps; /* parts sum to this */
  gint64 busy_ps;      /* of ended blocks */
  gint64 caused_wait_ps;
  LsInt128 flops;
  gint64 sent_bytes, received_bytes;
  /* memory */
  gint64 memory[LS_MEMORY_KINDS], memory_total;
  gint64 peak_total, peak_by_kind[LS_MEMORY_KINDS];
  gint64 memory_time_ps;
} LsRankState;

typedef struct {
  guint32 group, position;
} LsSlotEntry;

typedef struct {
  guint32 rank;
  guint16 stream;
} LsStreamRef;

typedef struct {
  guint32 sm, hbm;       /* resources */
  gint64 hbm_rate;       /* whole bandwidth */
  gint64 hbm_used;       /* by transfers, at most half */
  gint64 held;           /* SMs held by transfers, sum of fractions */
  gint64 speed;          /* fraction of nominal */
  GArray *active;        /* LsStreamRef */
  gboolean dirty;
} LsDevice;

/* A template with what the engine knows of it. */
typedef struct {
  const LsTransfer *transfer;
  gint64 *alone_rate;
  guint32 *bottleneck;
  guint64 epoch; /* of capacities for which alone_rate holds */
} LsCachedTransfer;

typedef enum { LS_OWNER_GROUP, LS_OWNER_MESSAGE, LS_OWNER_COPY } LsOwnerKind;

typedef enum { LS_ACTIVITY_FREE, LS_ACTIVITY_LATENCY, LS_ACTIVITY_STARTING, LS_ACTIVITY_LOADING } LsActivityState;

typedef struct {
  LsCachedTransfer *cached;
  guint8 state;
  guint8 owner_kind;
  guint32 owner;        /* group, message, or rank of a copy */
  guint32 owner_stream; /* copy: its stream */
  guint32 phase;
  guint32 flow, event;
  guint32 bottleneck;
  gint64 factor;         /* beside compute; 0: not yet fixed */
  gint64 bytes_override; /* < 0: as the template says */
  gint64 last_ps, start_ps;
  gint64 alone_ps; /* of the phases begun so far */
  LsInt128 remaining;
} LsActivity;

typedef struct {
  guint32 n, axis;
  guint32 *ranks;
  guint16 *streams;       /* of the arrived members */
  guint8 *here;           /* arrived */
  gint64 sequence;
  guint32 arrived;
  guint16 descriptor;
  gboolean cancelled;
  gint64 first_ready_ps, last_ready_ps;
  LsInt128 sum_ready_ps;
  guint32 last_rank;
  guint8 blame;
  gint64 start_ps;
  guint32 activity;
  GPtrArray *cached; /* LsCachedTransfer by descriptor */
} LsGroup;

typedef struct {
  guint32 group, from, to; /* ranks */
  guint32 first_send, last_send; /* messages without a receive */
  guint32 first_recv, last_recv; /* messages without a send */
  gint64 sequence;
  GPtrArray *cached;
} LsChannel;

typedef struct {
  guint32 channel, next;
  guint32 activity;
  gboolean sent, posted, eager, delivered;
  gboolean ended; /* in the free list */
  guint16 send_stream, recv_stream;
  guint32 send_pc, recv_pc;     /* of the operation itself (a child of a bundle, maybe) */
  gint64 send_ordinal, recv_ordinal;
  gint64 send_ready_ps, recv_ready_ps, start_ps;
  gint64 sequence;
  gint64 send_busy_ps, recv_busy_ps; /* busy time of the main streams at the start */
  guint8 send_blame, recv_blame;
  gboolean put; /* one-sided: no receive */
} LsMessage;

typedef struct {
  LsTimerFunc func;
  gpointer self;
} LsTimer;

struct LsEngine {
  gint64 now_ps;
  LsEventQueue *queue;
  LsSharing *sharing;
  guint64 capacity_epoch;
  GPtrArray *resource_names;
  GArray *resource_per_s;   /* double */
  GArray *resource_device;  /* guint32: device whose memory it is */
  GArray *resource_carried; /* LsInt128: bytes x usage */
  GArray *resource_watched; /* guint8: rate observers want it */
  GArray *devices;          /* LsDevice */
  GArray *dirty_devices;    /* guint32 */
  GArray *ranks;            /* LsRankState */
  GArray *streams;          /* LsStream */
  GArray *history;          /* LsHistory, LS_HISTORY per stream */
  GArray *groups;           /* LsGroup */
  GArray *channels;         /* LsChannel */
  GHashTable *channel_of;
  GArray *messages; /* LsMessage */
  GArray *free_messages;
  GArray *activities; /* LsActivity */
  GArray *free_activities;
  GArray *starting;   /* guint32 activities that begin to load at this instant */
  GPtrArray *copies;  /* LsCachedTransfer by rank x descriptor */
  GHashTable *copy_of;
  GArray *timers; /* LsTimer by event slot */
  GPtrArray *tables; /* const gint64 * */
  GArray *todo;      /* LsStreamRef to advance */
  const LsExpander *expander;
  gpointer expander_self;
  const LsObserver *observers[4];
  gpointer observer_selves[4];
  guint n_observers;
  gboolean wants_rates;
  LsWorkFunc work_func;
  gpointer work_self;
  LsPutHandler put_handler;
  gpointer put_self;
  guint8 idle_part;
  gboolean started, in_callback, running;
  guint64 n_open; /* streams not finished */
  guint64 n_events, n_operations;
  GError *fault; /* found while running: mismatched collectives */
};

static inline LsRankState *
ls_rank_at (LsEngine *e, guint32 rank) {
  return &((LsRankState *) (gpointer) e->ranks->data)[rank];
}
static inline LsStream *
ls_stream_at (LsEngine *e, guint32 rank, guint stream) {
  return &((LsStream *) (gpointer) e->streams->data)[ls_rank_at (e, rank)->first_stream + stream];
}
static inline LsDevice *
ls_device_at (LsEngine *e, guint32 device) {
  return &((LsDevice *) (gpointer) e->devices->data)[device];
}
static inline LsGroup *
ls_group_at (LsEngine *e, guint32 group) {
  return &((LsGroup *) (gpointer) e->groups->data)[group];
}
static inline LsActivity *
ls_activity_at (LsEngine *e, guint32 activity) {
  return &((LsActivity *) (gpointer) e->activities->data)[activity];
}
static inline LsMessage *
ls_message_at (LsEngine *e, guint32 message) {
  return &((LsMessage *) (gpointer) e->messages->data)[message];
}
static inline LsChannel *
ls_channel_at (LsEngine *e, guint32 channel) {
  return &((LsChannel *) (gpointer) e->channels->data)[channel];
}
static inline const LsInstruction *
ls_instruction_at (LsEngine *e, guint32 rank, guint stream, guint32 pc) {
  return &ls_rank_at (e, rank)->program->streams[stream].instructions[pc];
}

/* executor.c */
void ls_executor_start (LsEngine *e);
void ls_executor_queue (LsEngine *e, guint32 rank, guint stream);
void ls_executor_drain (LsEngine *e);
/* `n` operations of the stream have ended now, the last with ordinal position + n - 1; it goes on. */
void ls_executor_complete (LsEngine *e, guint32 rank, guint stream, guint32 n);
gint64 ls_executor_work_ps (LsEngine *e, guint32 rank, guint stream, gint64 ordinal, const LsOp *op);
/* Group and position that the operation means. */
LsSlotEntry ls_executor_slot (LsEngine *e, guint32 rank, const LsOp *op);
guint32 ls_executor_peer (LsEngine *e, guint32 rank, const LsOp *op, LsSlotEntry slot);

/* device.c */
void ls_device_start_block (LsEngine *e, guint32 rank, guint stream);
void ls_device_block_end (LsEngine *e, guint32 rank, guint stream);
void ls_device_touch (LsEngine *e, guint32 device);
void ls_device_settle (LsEngine *e);
void ls_device_hold (LsEngine *e, guint32 rank, gint64 sm_held); /* negative: let go */
/* Brings the progress of all running blocks of the rank but that of `except` up to now. */
void ls_device_sync_rank (LsEngine *e, guint32 rank, guint except);
void ls_device_drop (LsEngine *e, guint32 rank, guint stream);

/* activity.c */
LsCachedTransfer *ls_cached_transfer_new (const LsTransfer *transfer);
void ls_cached_transfer_free (LsCachedTransfer *cached);
LsCachedTransfer *ls_cached_transfer_at (GPtrArray *list, guint index);
/* Starts it now; may end at once (work of nothing). */
guint32 ls_activity_start (LsEngine *e, LsCachedTransfer *cached, LsOwnerKind kind, guint32 owner, guint32 stream,
                           gint64 bytes_override);
void ls_activity_go (LsEngine *e, guint32 activity);
void ls_activity_latency_end (LsEngine *e, guint32 activity);
void ls_activity_transfer_end (LsEngine *e, guint32 activity);
void ls_activity_settle (LsEngine *e);
void ls_activity_free (LsEngine *e, guint32 activity);
void ls_activity_drop (LsEngine *e, guint32 activity);
gint64 ls_activity_bytes (const LsActivity *activity);

/* group.c */
void ls_group_arrive (LsEngine *e, guint32 rank, guint stream);
void ls_group_ended (LsEngine *e, guint32 group);
void ls_group_drop (LsEngine *e, guint32 group);

/* message.c */
void ls_message_issue (LsEngine *e, guint32 rank, guint stream);
void ls_message_ended (LsEngine *e, guint32 message);
void ls_copy_issue (LsEngine *e, guint32 rank, guint stream);
void ls_copy_ended (LsEngine *e, guint32 rank, guint32 stream, guint32 activity);
void ls_message_drop (LsEngine *e, guint32 rank, guint stream);

/* account.c */
void ls_account_main_start (LsEngine *e, guint32 rank);
void ls_account_busy (LsEngine *e, guint32 rank, guint part, gint64 ps);
gint64 ls_account_busy_ps (LsEngine *e, guint32 rank);
/* Writes the history entry of an operation that is not a kernel; on the main stream charges its time. */
void ls_account_ended (LsEngine *e, guint32 rank, guint stream, const LsHistory *entry);
const LsHistory *ls_account_find (LsEngine *e, LsCause cause);
/* What a wait on `rank` that arrived because of `cause` is charged to. */
guint8 ls_account_blame (LsEngine *e, LsCause cause, guint8 wait_part);
void ls_account_memory (LsEngine *e, guint32 rank, guint kind, gint64 bytes, gint64 t_ps);
void ls_account_claim (LsEngine *e, guint32 rank, guint stream, const LsOp *op);
void ls_account_release (LsEngine *e, guint32 rank, guint stream, const LsOp *op);
void ls_account_record (LsEngine *e, LsOpRecord *record);
void ls_account_mark (LsEngine *e, guint32 rank, const LsOp *op, const gint32 *counters);

/* deadlock.c */
GError *ls_deadlock_error (LsEngine *e);
