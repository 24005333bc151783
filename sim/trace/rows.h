/* Rows on their way from the simulating thread to the writing one. Private to sim/trace.
 *
 * Model:      a row is a table number followed by one cell per column of that table; rows lie one
 *             after another in chunks of cells, of mixed tables and in the order of hand-over.
 * Invariants: a NULL is LS_CELL_NULL. Its bits read as a double are -0.0, which no row contains.
 */
#pragma once

#include "train/vocabulary.h"

typedef union {
  gint64 i;
  double r;
} LsCell;

#define LS_CELL_NULL G_MININT64

/* X (ID, table it is inserted into or NULL, number of columns, bit mask of those that hold doubles,
 * of those that hold addresses of static strings) */
#define LS_ROW_TABLES(X)                                              \
  X (EVENT, "event", 24, 1 << 18, 0)                                  \
  X (SAMPLE, "sample", 5, 1 << 4, 0)                                  \
  X (COLLECTIVE, "collective", 9, 0, 1 << 3 | 1 << 4)                 \
  X (GROUP, "comm_group", 4, 0, 0)                                    \
  X (MEMBER, "comm_member", 3, 0, 0)                                  \
  X (STEP, "step", 5 + LS_N_PARTS, 0, 0)                              \
  X (STEP_RANK, "step_rank", 5 + LS_N_PARTS, 0, 0)                    \
  X (GRADIENT, "gradient", 16, 1 << 14, 1 << 12 | 1 << 13)            \
  X (UPDATE, "update_log", 12, 0, 1 << 3)                             \
  X (PEER, "peer_set", 3, 0, 0)                                       \
  X (METRIC, "metric", 7, 1 << 6, 1 << 2)                             \
  X (FAULT, "fault", 14, 1 << 11, 1 << 3 | 1 << 4 | 1 << 8 | 1 << 12) \
  X (INTERVAL, "interval", 11, 0, 1 << 3)                             \
  X (KEPT, "kept_steps", 7, 0, 0)                                     \
  X (CAUSE, NULL, 2, 0, 0)

typedef enum {
#define LS_ROW_ENUM(id, target, columns, doubles, texts) LS_ROW_##id,
  LS_ROW_TABLES (LS_ROW_ENUM)
#undef LS_ROW_ENUM
      LS_N_ROWS
} LsRowTable;

/* The longest row: STEP and STEP_RANK stay below the event's 24 columns by a static assertion. */
#define LS_ROW_MAX_COLUMNS 24
G_STATIC_ASSERT (5 + LS_N_PARTS <= LS_ROW_MAX_COLUMNS);

/* Columns of an event row, in the order of the table. */
enum {
  LS_EVENT_ID,
  LS_EVENT_STEP,
  LS_EVENT_RANK,
  LS_EVENT_STREAM,
  LS_EVENT_KIND,
  LS_EVENT_AXIS,
  LS_EVENT_PHASE,
  LS_EVENT_NAME,
  LS_EVENT_LAYER,
  LS_EVENT_MICROBATCH,
  LS_EVENT_CHUNK,
  LS_EVENT_COLLECTIVE,
  LS_EVENT_PEER,
  LS_EVENT_START,
  LS_EVENT_END,
  LS_EVENT_WAIT,
  LS_EVENT_SLOWED,
  LS_EVENT_EXPOSED,
  LS_EVENT_FLOPS,
  LS_EVENT_BYTES,
  LS_EVENT_CAUSE,
  LS_EVENT_CAUSE_RANK,
  LS_EVENT_CAUSE_RESOURCE,
  LS_EVENT_BOTTLENECK
};

static inline LsCell ls_cell (gint64 value) {
  return (LsCell){.i = value};
}

static inline LsCell ls_cell_real (double value) {
  return (LsCell){.r = value + 0.0}; /* + 0.0 turns -0.0 into 0.0 */
}

/* A string that outlives the writer; NULL is NULL. */
static inline LsCell ls_cell_text (const char *text) {
  return (LsCell){.i = text == NULL ? LS_CELL_NULL : (gint64) GPOINTER_TO_SIZE (text)};
}

/* NULL where `value` is negative. */
static inline LsCell ls_cell_positive (gint64 value) {
  return (LsCell){.i = value < 0 ? LS_CELL_NULL : value};
}

static inline LsCell ls_cell_unless (gint64 value, gint64 absent) {
  return (LsCell){.i = value == absent ? LS_CELL_NULL : value};
}
