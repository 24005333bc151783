/* Several learners on one log: replications over seeds, times learning rates to try.
 *
 * Model:      records are gathered in blocks of a quarter of a second's learning; each block goes through all learners,
 *             spread over threads, before the next one is gathered, so memory does not grow with the log. One learner
 *             alone eats records as they come. Learners share nothing that changes: results are the same bits
 *             at any number of threads.
 * Seeds:      replication i has seed + i, the same for every learning rate and policy.
 * Best rate:  with a target, the one that most replications reach, then the earliest in mean simulated
 *             time; else the one with the lowest mean final loss. Rates of which a replication diverged
 *             come after those of which none did.
 * Bands:      mean over the replications that did not diverge, and half the width of its 95 % interval
 *             by Student's t.
 *
 * Ownership: borrows settings and task; owns its learners.
 */
#pragma once

#include "learn/learner.h"

typedef struct LsEnsemble LsEnsemble;

/* @threads 0: as many as there are cores. */
LsEnsemble *ls_ensemble_new (const LsLearnSettings *settings, const LsLearnTask *task,
                             guint workers, guint shards, guint64 seed, guint threads,
                             GError **error);
void ls_ensemble_free (LsEnsemble *ensemble);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsEnsemble, ls_ensemble_free)

/* The ensemble as a listener, `self` being the LsEnsemble. */
extern const LsUpdateSink ls_ensemble_sink;
/* Ends what is under way when *stop becomes non-zero, in the middle of a block too; the ensemble has no results then. */
void ls_ensemble_set_stop (LsEnsemble *ensemble, const volatile gint *stop);
/* After the last record: what is gathered is learned, and measured. Once. FALSE: it was stopped. */
gboolean ls_ensemble_finish (LsEnsemble *ensemble);

guint ls_ensemble_n_rates (const LsEnsemble *ensemble);
guint ls_ensemble_n_replications (const LsEnsemble *ensemble);
double ls_ensemble_rate (const LsEnsemble *ensemble, guint rate);
const LsLearner *ls_ensemble_learner (const LsEnsemble *ensemble, guint rate, guint replication);
/* Number of the best rate. */
guint ls_ensemble_best (const LsEnsemble *ensemble);

typedef struct {
  guint n;           /* values that count */
  double mean;       /* NaN when n is 0 */
  double half_width; /* of the 95 % interval; NaN when n < 2 */
} LsBand;

/* Over finite values only. */
LsBand ls_band (const double *values, guint n);

/* What a band is taken of. */
typedef double (*LsRowFunc) (const LsLearnRow *row);
/* Over replications of a rate, at measurement @row; those that diverged are left out of all rows. */
LsBand ls_ensemble_band (const LsEnsemble *ensemble, guint rate, guint row, LsRowFunc value);
/* Measurements of a rate: those of the replication that has most. */
guint ls_ensemble_n_rows (const LsEnsemble *ensemble, guint rate);

typedef struct {
  guint diverged, reached; /* replications */
  LsBand final_loss, final_accuracy;
  LsBand target_s, target_updates, target_samples; /* of those that reached it */
} LsEnsembleResult;

LsEnsembleResult ls_ensemble_result (const LsEnsemble *ensemble, guint rate);
