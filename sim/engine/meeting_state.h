/* State of what several ranks meet in: groups, channels between two ranks and their messages. Plain
 * records, shared by the engine's own files only (see engine_state.h).
 */
#pragma once

#include "engine/engine.h"
#include "engine/rounds_state.h"

typedef struct {
  guint32 n, axis;
  guint32 size;    /* members that there are; n of them run, the others are like them */
  guint32 *counts; /* how many members each of the n stands for; NULL: one */
  guint32 *peers;  /* [member x size + position]: rank that runs for the position; NULL: `ranks` */
  guint32 *positions; /* of the n among the `size`; NULL: 0 .. n - 1 */
  guint32 *ranks;
  guint16 *streams; /* of the arrived members */
  guint8 *here;     /* arrived */
  gint64 sequence;
  guint32 arrived;
  guint16 descriptor;
  gint64 first_ready_ps, last_ready_ps;
  LsInt128 sum_ready_ps;
  guint32 last_rank, last_member;
  LsCause last_cause; /* what let the last member come */
  guint8 blame;
  gint64 late_ps; /* as in LsHistory */
  guint32 activity;
  GPtrArray *cached;      /* LsCachedTransfer by descriptor */
  guint16 convoy_limit;   /* legs that its next convoy may have (convoy.c); 0: nothing known */
  guint8 convoy_rest;     /* collectives to pass over before the next is tried */
  guint8 convoy_failures; /* convoys that were not worth while, in a row */
  LsRounds *rounds;       /* NULL: it has never run a collective as messages */
} LsGroup;

typedef struct {
  guint32 group, from, to;       /* ranks */
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
  guint32 send_pc, recv_pc; /* of the operation itself (a child of a bundle, maybe) */
  gint64 send_ordinal, recv_ordinal;
  gint64 send_ready_ps, recv_ready_ps, start_ps;
  gint64 sequence;
  gint64 send_busy_ps, recv_busy_ps; /* busy time of the main streams at the start */
  guint8 send_blame, recv_blame;
  gboolean put; /* one-sided: no receive */
} LsMessage;
