/* Observers: how the engine tells others what happened. Callbacks may read and schedule, never re-enter.
 *
 * Records are handed over when an operation has ended (a block of kernels at once), so row order is
 * by the time of hand-over, not by start. Pointers in a record are valid during the call only.
 */
#pragma once

#include "engine/program.h"
#include "engine/transfer.h"

#define LS_NO_RANK G_MAXUINT32
#define LS_NO_RESOURCE G_MAXUINT32
#define LS_NO_GROUP G_MAXUINT32

/* Names one executed operation. ordinal < 0: none. */
typedef struct {
  guint32 rank;
  guint16 stream;
  gint64 ordinal;
} LsCause;

typedef struct {
  guint32 rank;
  guint16 stream;
  gint64 ordinal; /* position in its stream */
  const LsOp *op;
  const gint32 *counters; /* loop counters, outermost first */
  gint64 ready_ps;        /* its stream had reached it and its waits were passed */
  gint64 start_ps;        /* it began to run (a collective: when the last member came) */
  gint64 end_ps;
  gint64 alone_ps;        /* how long start to end takes with nobody else there */
  gint64 exposed_ps;      /* part of start..end in which the main stream of the rank did not run */
  LsCause cause;          /* the operation whose end let this one start when it did */
  guint32 cause_resource; /* resource it waited for, LS_NO_RESOURCE if none */
  guint32 bottleneck;     /* resource that held its rate down, LS_NO_RESOURCE if none */
  guint32 group;          /* collective, send, recv: group number, else LS_NO_GROUP */
  gint64 sequence;        /* of the collective within its group */
  gint64 first_ready_ps, last_ready_ps; /* of the collective's members */
  guint32 last_rank;                    /* the member that came last (the lowest of equals) */
  guint32 peer;                         /* send, recv: the other rank, else LS_NO_RANK */
  const LsTransfer *transfer;           /* NULL for kernels */
  gint64 transfer_bytes;                /* bytes actually moved per flow */
} LsOpRecord;

/* One message of a collective that runs as messages. */
typedef struct {
  guint32 group;
  gint64 sequence; /* of the collective within its group */
  guint32 round;
  guint32 from, to; /* ranks */
  guint16 stream;   /* of the sender, and what it runs there: the collective */
  const LsOp *op;
  const gint32 *counters;
  const LsTransfer *transfer;
  gint64 bytes;
  gint64 start_ps, end_ps; /* latency included */
  gint64 alone_ps;         /* how long it takes with nobody else on its path */
  guint32 bottleneck;      /* resource that held its rate down, LS_NO_RESOURCE if none */
  gint64 first_ready_ps, last_ready_ps; /* of the collective's members */
  guint32 last_rank;
} LsMessageRecord;

typedef struct {
  /* an operation of an observed rank has ended */
  void (*op) (gpointer self, const LsOpRecord *record);
  /* memory of an observed rank: `kind` now holds `bytes` (after a claim or release at t) */
  void (*memory) (gpointer self, guint rank, guint kind, gint64 t_ps, gint64 bytes);
  /* a message that an observed rank sent has arrived */
  void (*message) (gpointer self, const LsMessageRecord *record);
  /* a resource now carries `rate` (fixed point, units per ps), from t on */
  void (*rate) (gpointer self, guint resource, gint64 t_ps, gint64 rate);
  /* an operation with LS_OP_MARK has ended on any rank, observed or not */
  void (*mark) (gpointer self, guint rank, const LsOp *op, const gint32 *counters, gint64 t_ps);
} LsObserver;
