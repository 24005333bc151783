/* Frozen form of a program, for the executor only. */
#pragma once

#include "engine/program.h"

/* The target is passed when its stream's position exceeds base + sum of coefficient x counter. */
typedef struct {
  guint16 stream;
  gint64 base;
  gint64 coefficient[LS_MAX_LOOP_DEPTH];
} LsWait;

/* What the waiter waits for, `depth` loops around it being at `counters`. */
static inline gint64 ls_wait_ordinal (const LsWait *wait, const gint32 *counters, guint depth) {
  gint64 ordinal = wait->base;
  for (guint level = 0; level < depth; level++)
    ordinal += wait->coefficient[level] * counters[level];
  return ordinal;
}

#define LS_BLOCK_MAX_PARTS 4

/* A maximal run of kernels (and memory operations) without waits, none but the last waited for. */
typedef struct {
  guint32 begin, end; /* index of the first operation, and after the last */
  guint8 varying;     /* some work comes from a per-rank table: no sums */
  guint8 n_parts;     /* sums of work by account part */
  guint8 part[LS_BLOCK_MAX_PARTS];
  gint64 part_ps[LS_BLOCK_MAX_PARTS];
  gint64 total_ps;
  LsInt128 flops;
  guint32 first_memory, n_memory; /* claims and releases in order of time */
} LsKernelBlock;

typedef struct {
  gint64 offset_ps; /* from the start of the block */
  guint8 kind;
  gint64 bytes;
} LsBlockMemory;

typedef struct {
  LsOp op;
  guint32 first_wait;
  guint16 n_waits;
  guint8 watched; /* some wait targets it */
  guint8 depth;   /* loop levels around it */
  guint32 jump;   /* REPEAT: index after its END; END: index after its REPEAT */
  gint64 count;   /* REPEAT and END: iterations */
  gint64 offset;  /* its ordinal in the first iteration of all loops */
  guint32 block;  /* LS_NO_BLOCK, or the block that starts or runs here */
} LsInstruction;

#define LS_NO_BLOCK G_MAXUINT32

typedef struct {
  char *name;
  guint32 n_instructions;
  LsInstruction *instructions;
  gint64 n_executed;
} LsStreamCode;

struct LsProgram {
  gatomicrefcount refs;
  char *name;
  gboolean frozen;
  guint n_streams;
  LsStreamCode streams[LS_MAX_STREAMS];
  guint32 n_waits;
  LsWait *waits;
  guint32 n_blocks;
  LsKernelBlock *blocks;
  guint32 n_memory;
  LsBlockMemory *memory;
  struct LsProgramBuild *build; /* NULL once frozen */
};

static inline gboolean ls_op_is_kernel (guint8 kind) {
  return kind == LS_OP_KERNEL || kind == LS_OP_MEMORY;
}
