/* The learner: real SGD in the order that an update log gives.
 *
 * Model:      eats LsUpdateRecord one by one (train/update/update_log.h says what each means) and never sees
 *             the engine, so any problem can be learned on any timing. Server and workers start from
 *             the same parameters, version 0. A gradient is taken at the worker's copy as it is at its
 *             record; it is computed when it is first needed, so that a dropped one costs nothing.
 *             Updates take the mean of their gradients, summed by worker, then by number.
 * Random:     mini-batch k of worker w is a function of seed, w and k alone (k counts the worker's
 *             gradients): policies compare on the same draws.
 * Versions:   the learner checks that the log's versions are its own. The number of updates is the
 *             version of the slowest shard; without a server (pair averages) it counts the averages.
 * Invariants: every gradient is evaluated once and, per shard, applied or dropped once; violations are
 *             bugs and abort. Nothing that is not finite enters a mean: a run is *diverged* from the
 *             measurement that finds a loss that is not finite or far above the first; from then on the
 *             log is still checked, but nothing is computed.
 * Arithmetic: learn/problem.h; sums over gradients and copies in double (fp64) or rounded to fp32.
 * Cost:       memory by learn/piece.h. Measurements cost a pass over the training rows each.
 *
 * Ownership: borrows settings and task, which threads may share; a learner belongs to one thread.
 */
#pragma once

#include "learn/settings.h"
#include "train/update/update_log.h"

typedef struct LsLearner LsLearner;

typedef struct {
  guint workers, shards;
  guint64 seed;
  double lr; /* of the optimizer; <= 0: the setting's */
} LsLearnerOptions;

/* LS_ERROR_CONFIG when the data cannot be dealt to so many workers. */
LsLearner *ls_learner_new (const LsLearnSettings *settings, const LsLearnTask *task,
                           const LsLearnerOptions *options, GError **error);
void ls_learner_free (LsLearner *learner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsLearner, ls_learner_free)

void ls_learner_update (LsLearner *learner, const LsUpdateRecord *record);
/* After the last record: a last measurement. */
void ls_learner_finish (LsLearner *learner);

/* --- results -------------------------------------------------------------------------------- */

/* One measurement. NaN: does not apply. Counts are since the start. */
typedef struct {
  gint64 updates, samples, t_ps;
  double loss;                /* of training rows, with l2 */
  double test_loss, accuracy; /* of test rows */
  double grad_norm;           /* of the exact gradient of loss */
  double lr;
  double staleness; /* mean over gradients applied since the last measurement */
  gint64 staleness_max;
  double loss_scale;
  gint64 skipped;                /* steps, by loss scaling */
  guint64 overflows, underflows; /* of gradients and activations */
  guint64 lost;                  /* parameters that a step did not move though it should have */
} LsLearnRow;

guint ls_learner_n_rows (const LsLearner *learner);
const LsLearnRow *ls_learner_row (const LsLearner *learner, guint index);

typedef struct {
  gint64 updates, samples, t_ps;
  gint64 evaluated, applied, dropped, in_flight; /* gradients; local steps count as applied */
  gboolean diverged;
  gint64 diverged_update; /* at which it was found */
  gboolean reached;       /* the target; without one FALSE */
  gint64 target_updates, target_samples, target_ps;
  double final_loss, final_accuracy; /* NaN when diverged or without classes */
  double best_loss, best_accuracy;
  LsArithmeticCounts counts;
} LsLearnResult;

LsLearnResult ls_learner_result (const LsLearner *learner);

/* Applied gradients of a worker (< 0: of all) by staleness 0, 1, ...; the last of @n counts all that
 * are larger. */
const guint64 *ls_learner_staleness (const LsLearner *learner, gint worker, guint *n);

/* The parameters, for tests and output: of the server, or of a worker's copy. */
void ls_learner_server (const LsLearner *learner, double *parameters);
void ls_learner_copy (const LsLearner *learner, guint worker, double *parameters);
gsize ls_learner_n_parameters (const LsLearner *learner);
