/* What stragglers cost: a run compared with the same run without them.
 *
 * Model:      S = mean step time with / without, over the steps that ended in both; of steps also the
 *             largest ratio. A worker's own slow-down: its time in kernels (compute, memory_bound,
 *             optimizer parts) with / without. Waiting is charged to the rank that came last to a
 *             collective or message (engine.h); per step it may exceed the step, as many wait at once.
 *
 * Ownership: plain records.
 */
#pragma once

#include "train/run/simulation.h"

/* Ranks that are listed: those that others waited for most. */
#define LS_SLOWDOWN_RANKS 8

typedef struct {
  guint rank;           /* of the run, across jobs; the lowest of a class when folded */
  guint alike;          /* ranks of that class, itself included; 1 when it runs alone */
  double caused_wait_s; /* per step, over all that waited */
  double caused_share;  /* of what all ranks caused */
  double slowdown;      /* of its own kernels; 0: it has none */
} LsSlowRank;

typedef struct {
  gboolean known;
  double slowdown, slowdown_p50, slowdown_max; /* of the mean step; of single steps */
  double without_s;                            /* step time without stragglers */
  double caused_wait_s;                        /* per step, by all ranks */
  guint n_ranks;
  LsSlowRank ranks[LS_SLOWDOWN_RANKS]; /* by falling wait, the lowest rank of equals first */
} LsSlowdown;

/* `without`: the same jobs, run to the end; it may be folded otherwise. Not known when no step has ended. */
LsSlowdown ls_slowdown (LsSimulation *with, LsSimulation *without, guint job);
