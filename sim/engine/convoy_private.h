/* A convoy as convoy.c and convoy_walk.c see it: who goes, where they are, and what they did on the way. */
#pragma once

#include "engine/engine_private.h"

/* Kinds of collectives in one convoy; more end it. */
#define LS_CONVOY_MAX_USED 8
/* Collectives one right after the other that an account can still tell apart (LS_HISTORY). */
#define LS_CONVOY_MAX_GAPS 6

/* Different waits on the way that are remembered with it. */
#define LS_CONVOY_MAX_ASKED 32

/* A stream of the first member; the others are where it is. */
typedef struct {
  gint64 position;
  gint64 cause_ordinal;
  guint32 pc, waiters;
  gint32 counters[LS_MAX_LOOP_DEPTH];
  guint16 cause_stream;
  guint8 state, wait_index;
} LsCursor;

/* What runs: a block of kernels on each member, or a collective of all of them. */
typedef struct {
  gint64 start_ps, end_ps;
  const LsOp *op;             /* the first kernel, or the collective */
  const LsKernelBlock *block; /* NULL: a collective */
  guint32 n;                  /* operations */
  guint32 used;               /* collective: index in LsConvoy.used */
  guint8 blame;
} LsLeg;

/* Claims and releases since the start, relative to what was held then. */
typedef struct {
  gint64 now[LS_MEMORY_KINDS], total;
  gint64 at_peak[LS_MEMORY_KINDS], peak; /* the most that lasted, from the second instant on */
  gint64 first_ps, last_ps;              /* instants; last < 0: none */
} LsConvoyMemory;

/* A way through the program: the leg that runs, and sums over those that have ended. */
typedef struct {
  /* The main stream, and that of the collectives (may be the same: [0] alone) */
  LsCursor cursor[2];
  LsLeg leg;
  guint32 n_legs;
  gint64 first_end_ps; /* of the collective with which it begins */
  gint64 n_operations, n_collectives, wire_bytes;
  gint64 busy_ps, accounted_ps, parts_ps[LS_MAX_PARTS];
  gint64 resumed_ps; /* as in LsRankState; 0: no pause after the first collective */
  LsInt128 flops;
  LsConvoyMemory memory;
  LsHistory history[LS_HISTORY]; /* of collectives after the first; [k % LS_HISTORY] */
  guint32 n_history;
  guint32 n_gaps; /* collectives since the main stream last ran */
  struct {
    gint64 ps;
    guint8 part;
  } gaps[LS_CONVOY_MAX_GAPS + 1];
  gint64 times[LS_CONVOY_MAX_USED]; /* ended collectives, by kind */
  gboolean stuck, issued;           /* while a boundary is crossed */
} LsWalk;

/* A wait that was met. */
typedef struct {
  guint32 wait;        /* index in the program's */
  guint8 which, depth; /* the waiter's cursor; loops around it */
  guint8 inside;       /* on the other cursor's stream */
  gint64 furthest;     /* ordinal that it asked for */
} LsAsked;

/* A walk that may come again (convoy_memo.c). */
typedef struct LsConvoyMemo {
  gint64 key;
  const LsProgram *program;
  guint16 stream, slot;
  LsCursor start[2];
  guint32 turned[2]; /* bit mask of loop levels that the cursors went round */
  gint64 start_ps;
  LsAsked asked[LS_CONVOY_MAX_ASKED];
  guint n_asked;
  guint16 descriptors[LS_CONVOY_MAX_USED];
  gint64 solo_ps[LS_CONVOY_MAX_USED];
  guint n_used;
  gboolean limited, useless;
  LsWalk walk;
} LsConvoyMemo;

typedef struct {
  LsEngine *e;
  guint32 number;      /* in LsEngine.convoys, from 1 */
  guint32 group, rank; /* `rank`: the first member */
  guint16 stream[2];   /* as the cursors */
  guint n_cursors;
  guint16 slot; /* of the group, for all its members */
  const LsProgram *program;
  gint64 bound[2]; /* positions that wake a third stream are above it */
  LsCachedTransfer *used[LS_CONVOY_MAX_USED];
  guint16 descriptors[LS_CONVOY_MAX_USED]; /* of them */
  guint n_used;
  /* While planning, when new kinds of collectives may join `used`; else NULL */
  LsConvoyMemo *watching;
  gboolean live;
  guint32 event;
  gint64 start_ps, end_ps;
  LsWalk walk; /* as planned: at its last leg */
} LsConvoy;

/* convoy.c: the collective loads resources that nobody else uses; they are now the convoy's. */
gboolean ls_convoy_claim (LsConvoy *convoy, LsCachedTransfer *cached);

/* convoy_memo.c */
/* The way from where the convoy is, if it is remembered: it is now the convoy's walk. */
gboolean ls_convoy_recall (LsConvoy *convoy, guint32 limit);
/* (transfer none): what is walked from here is noted in it, until ls_convoy_remember(). */
LsConvoyMemo *ls_convoy_watch (const LsConvoy *convoy);
void ls_convoy_ask (LsConvoyMemo *memo, guint which, guint32 wait, guint depth, gboolean inside,
                    gint64 ordinal);
void ls_convoy_remember (LsConvoy *convoy, LsConvoyMemo *memo, guint32 limit);

/* convoy_walk.c */
/* The position of a stream outside the convoy: that of the member who is least far. */
gint64 ls_convoy_outer_position (const LsConvoy *convoy, guint stream);
/* At the collective that the group has just begun. */
void ls_convoy_walk_start (const LsConvoy *convoy, LsWalk *walk);
/* Ends the leg and begins the next; FALSE: what comes next is not for a convoy, nothing has changed. */
gboolean ls_convoy_cross (LsConvoy *convoy, LsWalk *walk);
/* The member has done what the walk did; its streams are at the walk's leg. */
void ls_convoy_commit (const LsConvoy *convoy, const LsWalk *walk, guint32 rank, guint8 blame);
