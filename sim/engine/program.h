/* Programs of streams: what a rank does in a training step, as code and not as a list of events.
 *
 * Model:      a program has a few in-order streams (as CUDA and NCCL have); each is a list of
 *             operations with nested repeats. Completed operations of a stream are counted by its
 *             position, a 64-bit ordinal from 0. An operation may wait until other streams of its
 *             rank have passed given operations; the ordinal waited for is affine in the waiter's
 *             loop counters, so one static wait serves every iteration; a negative ordinal counts
 *             as passed, so that a prefetch may reach across iterations.
 * Invariants: one program serves all ranks of a kind; a rank at run time is a position per stream
 *             and its loop counters. Frozen programs are immutable.
 * Call order: new, streams, operations and waits in any order of streams, freeze, hand to engine.
 * Cost:       memory of one record per static operation; nothing per executed operation.
 * Left out:   branches. What depends on data (who is next) is a policy that moves the rank.
 *
 * Ownership: the program owns what is added; callers own what they pass (operations are copied).
 */
#pragma once

#include "engine/fixed.h"

#define LS_MAX_LOOP_DEPTH 6
#define LS_MAX_STREAMS 48
#define LS_NO_INDEX G_MAXUINT16
/* Stream 0 is the one whose time is accounted (the compute stream of a GPU). */
#define LS_MAIN_STREAM 0

typedef enum {
  LS_OP_KERNEL,     /* work_ps alone on the rank's device, with sm_usage and hbm_usage */
  LS_OP_COLLECTIVE, /* with all members of group `slot`; `descriptor` says what */
  LS_OP_SEND,       /* to position `peer` of group `slot`; pairs with the receive by sequence */
  LS_OP_RECV,       /* from position `peer` of group `slot` */
  LS_OP_PUT,        /* one-sided: transfer to `peer`, then the engine's put handler is called */
  LS_OP_COPY,       /* transfer of this rank alone (PCIe, storage); `descriptor` says what */
  LS_OP_HOST,       /* like a kernel, on the rank's host device (cores, DRAM) */
  LS_OP_DELAY,      /* work_ps of fixed time that loads nothing */
  LS_OP_MEMORY,     /* claim and release only; takes no time */
  LS_OP_BUNDLE,     /* the next `descriptor` operations are issued together and end together */
  LS_OP_REPEAT,     /* control: made by ls_program_repeat() */
  LS_OP_END,        /* control: made by ls_program_end_repeat() */
} LsOpKind;

enum {
  LS_OP_EAGER = 1 << 0,      /* send: completes at once, the message travels on its own */
  LS_OP_MARK = 1 << 1,       /* observers' mark() is called when it ends (end of a step) */
  LS_OP_WORK_TABLE = 1 << 2, /* work_ps / bytes of the transfer come from per-rank table `table` */
  LS_OP_PEER_TABLE = 1 << 3, /* peer (a group position) comes from per-rank table `peer` */
  LS_OP_OPTIONAL = 1 << 5,   /* left out in iterations of the outermost loop that the rank skips */
  LS_OP_PEER_RELATIVE = 1 << 4, /* peer is added to the rank's own group position */
  LS_OP_DRAWN = 1 << 6,       /* kernel: work, collective: descriptor come from the draw function */
  LS_OP_TABLE_FOLDS = 1 << 7, /* ranks that may stand for each other read the same from `table` */
};

/* label = first + step x counter[level] + step2 x counter[level2]; level < 0: the constant `first`; first < 0
 * and level < 0: none. */
typedef struct {
  gint32 first;
  gint8 step;
  gint8 level;
  gint8 step2;
  gint8 level2;
} LsLabel;
#define LS_LABEL_NONE ((LsLabel){-1, 0, -1, 0, 0})

static inline LsLabel ls_label (gint32 first, gint8 step, gint8 level) {
  return (LsLabel){.first = first, .step = step, .level = level};
}

/* One operation. Plain record: start from LS_OP_INIT and set what applies. */
typedef struct {
  guint8 kind; /* LsOpKind */
  guint8 flags;
  guint8 part;       /* account part that its running time (as exposed time) is charged to */
  guint8 wait_part;  /* account part for waiting on a rank that computes (collective, send, recv) */
  guint8 axis;       /* caller's numbering, for the trace */
  guint8 phase;      /* caller's numbering, for the trace */
  guint8 claim_kind; /* memory kind (0..LS_MEMORY_KINDS-1) of claim_bytes */
  guint8 release_kind;
  guint16 slot;       /* group slot of the rank */
  guint16 descriptor; /* which collective, message or copy: the expander's numbering */
  guint16 table;      /* per-rank table for LS_OP_WORK_TABLE */
  guint16 trace_kind; /* caller's numbering of the trace's `kind` table */
  gint32 peer;
  guint32 name;         /* caller's string number, for the trace */
  gint64 work_ps;       /* kernel, host, delay: time alone */
  gint64 sm_usage;      /* fraction of the SMs (or cores) while running alone, LS_USAGE_ONE = all */
  gint64 hbm_usage;     /* fraction of the memory bandwidth while running alone */
  gint64 claim_bytes;   /* memory claimed when it starts */
  gint64 release_bytes; /* memory released when it ends */
  double flops;         /* for the trace and for HFU */
  gint64 bytes;         /* for the trace */
  LsLabel layer, microbatch, chunk;
} LsOp;
#define LS_OP_INIT                     \
  ((LsOp){.slot = LS_NO_INDEX,         \
          .descriptor = LS_NO_INDEX,   \
          .table = LS_NO_INDEX,        \
          .layer = LS_LABEL_NONE,      \
          .microbatch = LS_LABEL_NONE, \
          .chunk = LS_LABEL_NONE})

#define LS_MEMORY_KINDS 8

/* Names one static operation. */
typedef struct {
  guint16 stream;
  guint16 valid;
  guint32 index;
} LsMark;

/* How a waiter's loop counters choose the iteration of the target, one entry per loop level of the
 * target: counter = step x waiter's counter[from_level] + offset, or offset alone if from_level < 0. */
typedef struct {
  gint8 from_level;
  gint8 step;
  gint64 offset;
} LsLoopMap;
#define LS_LOOP_SAME(level) ((LsLoopMap){(level), 1, 0})
#define LS_LOOP_SHIFT(level, by) ((LsLoopMap){(level), 1, (by)})
#define LS_LOOP_AT(iteration) ((LsLoopMap){-1, 0, (iteration)})

typedef struct LsProgram LsProgram;

LsProgram *ls_program_new (const char *name);
LsProgram *ls_program_ref (LsProgram *program);
void ls_program_unref (LsProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsProgram, ls_program_unref)

/* Returns the stream's number, counted from 0; number 0 is the accounted main stream. */
guint ls_program_add_stream (LsProgram *program, const char *name);
/* Opens a repeat of `count` >= 0 iterations in `stream`; returns its loop level (outermost is 0). */
guint ls_program_repeat (LsProgram *program, guint stream, gint64 count);
void ls_program_end_repeat (LsProgram *program, guint stream);
/* Appends a copy of `op`. A bundle is an LS_OP_BUNDLE whose descriptor = n, then its n operations;
 * waits of the whole bundle are put on the LS_OP_BUNDLE's mark, marks to wait for on the last child. */
LsMark ls_program_add (LsProgram *program, guint stream, const LsOp *op);
/* `waiter` may not start before `target` (in another stream) has ended in the iteration that `maps`
 * (one per loop level of the target, outermost first) chooses. `n_maps` may be smaller than the
 * target's depth: missing inner levels mean the last iteration; it is an error (assertion) to give more. */
void ls_program_wait (LsProgram *program, LsMark waiter, LsMark target, const LsLoopMap *maps,
                      guint n_maps);
/* The common case: same counters on the loop levels that both have, last iteration of deeper ones. */
void ls_program_wait_same (LsProgram *program, LsMark waiter, LsMark target);

/* `waiter` waits until `stream` has ended more than base + sum of coefficient[level] x counter[level] of the
 * waiter's first n levels; for streams without kernels, whose operations are counted and not named. */
void ls_program_wait_count (LsProgram *program, LsMark waiter, guint stream, gint64 base,
                            const gint64 *coefficients, guint n);

/* Checks and compiles; nothing may be added later. LS_ERROR_RUN with the reason when it is malformed. */
gboolean ls_program_freeze (LsProgram *program, GError **error);

guint ls_program_n_streams (const LsProgram *program);
const char *ls_program_stream_name (const LsProgram *program, guint stream);
/* The operations of a stream of a frozen program as written, control instructions included. */
guint32 ls_program_n_operations (const LsProgram *program, guint stream);
const LsOp *ls_program_operation (const LsProgram *program, guint stream, guint32 i);
/* Operations that one rank executes in all, over all streams; bytes the program occupies. */
gint64 ls_program_n_executed (const LsProgram *program);
gsize ls_program_size_bytes (const LsProgram *program);
/* Loop level depth of a mark, for builders. */
guint ls_program_depth (const LsProgram *program, LsMark mark);
/* Value of a label for given loop counters; -1 if none. */
gint32 ls_label_value (const LsLabel *label, const gint32 *counters);
