/* State of ranks, their streams and devices in a running engine: plain records of the engine's own files.
 *
 * Arrays are addressed by number, never by pointers kept across calls: they may move when they grow.
 */
#pragma once

#include "engine/engine.h"
#include "engine/list.h"
#include "engine/observer.h"
#include "engine/program_private.h"

#define LS_NONE G_MAXUINT32
/* Past operations remembered per stream, for blaming idle time. */
#define LS_HISTORY 8u

typedef enum {
  LS_STREAM_READY,   /* to be advanced */
  LS_STREAM_BLOCKED, /* waits for another stream of its rank */
  LS_STREAM_RUNNING, /* a block of kernels is on the device */
  LS_STREAM_MEETING, /* in a collective, from its arrival to the end */
  LS_STREAM_MESSAGE, /* in a send, receive, put or copy, or a bundle of them */
  LS_STREAM_DELAYED,
  LS_STREAM_FINISHED,
} LsStreamState;

/* A past operation of a stream that was not a kernel: what idle time behind it is charged to. */
typedef struct {
  gint64 ordinal;
  gint64 ready_ps, start_ps, end_ps;
  LsCause cause;
  guint8 part;    /* for start..end */
  guint8 blame;   /* for ready..start */
  guint8 known;   /* FALSE: empty */
  guint8 covered; /* the rank that came last computed from start to end without a pause */
  gint64 late_ps; /* for how long, without a pause, it had done so at the start; 0: not known */
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
  guint32 run_pc;     /* current kernel */
  gint64 run_time_ps; /* progress is accounted up to here */
  gint64 kernel_start_ps;
  gint64 kernel_work_ps;
  gint64 run_start_ps;
  gint64 sm_share, hbm_share; /* what is left for it (usage fixed point), < 0: not yet known */
  gint64 rate;        /* with several kernels on the device: of the current kernel, else -1 */
  LsInt128 remaining; /* of the current kernel */
  gboolean pristine;  /* never cut: the block's sums are right */
  gboolean claimed;   /* the current kernel's memory is claimed */
} LsStream;

typedef struct {
  LsProgram *program; /* NULL: passive */
  guint32 device, host_device;
  guint32 host_weight; /* ranks on that host that this one stands for */
  guint32 n_alike;     /* ranks in all that it stands for, itself too */
  guint32 first_stream;
  guint16 n_streams, n_open; /* streams not finished */
  guint16 n_running;         /* streams whose kernels are on a device */
  gboolean observed;
  gboolean steady; /* the work function need not be asked */
  /* [iteration of the outermost loop]: optional operations are left out; or NULL */
  const guint8 *skips;
  gint64 start_ps;             /* its streams begin */
  guint32 tag;                 /* for holding.h */
  guint32 convoy;              /* that it is in (convoy.c); 0: none */
  guint32 first_slot, n_slots; /* in LsEngine.slots */
  /* account of the main stream */
  gint64 parts_ps[LS_MAX_PARTS];
  gint64 accounted_ps; /* parts sum to this */
  gint64 busy_ps;      /* of ended blocks */
  gint64 resumed_ps;   /* end of its last pause: the main stream waited for another */
  gint64 caused_wait_ps;
  LsInt128 all_caused_ps; /* the same by all that it stands for */
  LsInt128 flops;
  gint64 sent_bytes, received_bytes;
} LsRankState;

/* What the memory of a rank holds. Apart, so that ranks that claim nothing cost nothing. */
typedef struct {
  gint64 now[LS_MEMORY_KINDS], total;
  gint64 peak_total, peak_by_kind[LS_MEMORY_KINDS];
  gint64 time_ps; /* of the last claim or release */
} LsRankMemory;

typedef struct {
  guint32 group, position;
} LsSlotEntry;

typedef struct {
  guint32 rank;
  guint16 stream;
} LsStreamRef;

LS_LIST (LsStreamRefs, ls_stream_refs, LsStreamRef)

typedef struct {
  guint32 sm, hbm;   /* resources */
  gint64 hbm_rate;   /* whole bandwidth */
  LsInt128 hbm_used; /* by transfers, at most half: sum of rate x usage, exact */
  gint64 held;       /* SMs held by transfers, sum of fractions */
  gint64 speed;      /* fraction of nominal */
  LsStreamRefs active;
  guint32 convoy; /* that has it; 0: none */
  gboolean dirty;
} LsEngineDevice;

/* A kernel among several on one device, while their shares are worked out. */
typedef struct {
  const LsOp *op;
  guint32 weight; /* kernels like this one on the device */
  gint64 rate;
  gboolean fixed, chosen;
} LsSharer;
