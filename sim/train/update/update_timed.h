/* Workers whose step is a draw: the model of studies on delay.
 *
 * Model:      worker w's i-th started step takes factor_w x X_wi, X_wi being the i-th draw of the
 *             stream ("update-compute", w) from one distribution; at least 1 ps.
 * Cost:       one timer per step.
 *
 * Ownership: copies the distribution and the factors.
 */
#pragma once

#include "train/update/update.h"

typedef struct LsTimedWorkers LsTimedWorkers;

/* `factors`: of each worker; NULL: all 1. */
LsTimedWorkers *ls_timed_workers_new (const LsDistribution *compute, const double *factors,
                                      guint n_workers, guint64 seed);
void ls_timed_workers_free (LsTimedWorkers *timed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsTimedWorkers, ls_timed_workers_free)

/* `compute` and `abandon` of an LsUpdateHost, with `self` the workers. */
void ls_timed_workers_compute (gpointer self, LsUpdate *update, guint worker);
void ls_timed_workers_abandon (gpointer self, LsUpdate *update, guint worker);
