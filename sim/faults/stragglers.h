/* Stragglers: what of a cluster is slow, always, now and then, or at random. Reading them.
 *
 * Model:      a straggler has targets (ranks or links), a factor and a time.
 *             `compute`: every kernel of the ranks takes `time_factor` times as long: one factor for the
 *             run, or drawn anew for each step or each operation. With a time (from, until; normal_for and
 *             slow_for) it is a GPU at 1/factor of its clocks while slow (thermal throttling): kernels slow
 *             down in so far as SMs and not memory bind them.
 *             `input`: the same for host operations (the data loader), without a time.
 *             `host`: while slow the process stands still (garbage collection): the GPU gets no kernels.
 *             What is in flight on links goes on. An upper bound: kernels already queued would still run.
 *             `network`: links have 1/factor of their rate, in both directions.
 *             normal_for and slow_for alternate from `from` on, each drawn anew: two exponential ones are
 *             a two-state Markov process in time, two constants a pause every so often.
 *             Several stragglers on one target multiply.
 * Randomness: one stream per straggler (by its name) and rank or link, and in it one draw per ordinal of
 *             the operation or number of the step: adding a straggler leaves the draws of others as they are.
 *             A factor per run is drawn here, when the scenario is read.
 * Left out:   kernels that wait for their launch one by one; slow memory alone.
 *
 * Ownership: LsStragglers owns all of it.
 */
#pragma once

#include "base/distribution.h"
#include "net/cluster.h"
#include "train/run/simulation.h"

typedef enum {
  LS_STRAGGLER_COMPUTE,
  LS_STRAGGLER_INPUT,
  LS_STRAGGLER_HOST,
  LS_STRAGGLER_NETWORK
} LsStragglerPart;

typedef enum {
  LS_STRAGGLER_PER_RUN,
  LS_STRAGGLER_PER_STEP,
  LS_STRAGGLER_PER_OPERATION
} LsStragglerPer;

typedef struct {
  char *name;
  guint64 key; /* of its streams */
  LsStragglerPart part;
  LsStragglerPer per;
  LsDistribution factor;
  gboolean is_constant;        /* one factor for all targets and times */
  gboolean comes_and_goes;     /* normal_for and slow_for are given */
  gboolean is_timed;           /* slow only part of the time */
  gint64 from_ps, until_ps;    /* until G_MAXINT64: for ever */
  LsDistribution normal, slow; /* times */
  GArray *ranks;               /* guint, ascending, distinct; over all jobs */
  GArray *links;               /* guint, indexes in the net */
} LsStraggler;

typedef struct {
  guint n_ranks, n;
  LsStraggler *all;       /* by name */
  gint64 *factor_of_rank; /* of kernels, for the whole run: usage fixed point */
  guint64 *label_of_rank; /* ranks with equal ones are slow alike */
  gboolean draws;         /* some factor is of a step or an operation, or of host operations */
  gboolean has_timers, has_links;
} LsStragglers;

/* The keys under `faults`; ends with a row whose path is NULL. */
extern const LsConfigKey ls_stragglers_keys[];

/* NULL: there are no stragglers, or a fault was added to `errors`. */
LsStragglers *ls_stragglers_read (LsConfig *config, LsConfigErrors *errors,
                                  const LsCluster *cluster, const guint *gpu_of_rank, guint n_ranks,
                                  guint64 seed);
void ls_stragglers_free (LsStragglers *stragglers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsStragglers, ls_stragglers_free)

/* The factor of a straggler for a rank or link and an operation or step, from its stream; a pure function. */
double ls_straggler_factor (const LsStraggler *straggler, gsl_rng *rng, guint64 target,
                            guint64 index);
