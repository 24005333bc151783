/* When components fail and are whole again, over one replication of a campaign.
 *
 * Model:      every component alternates between a lifetime and a repair. Sources whose lifetimes are
 *             exponential are drawn together: candidates come at the rate of all components, the victim is
 *             uniform, and a candidate that is down (or, for lemons, not chosen) is passed over, which
 *             is the same law. All others have one renewal process per component, new after a repair.
 * Determinism: a source draws from streams named by its name and the replication (and the component).
 * Cost:       O(log) per event; memory per component only where lifetimes are not exponential.
 *
 * Ownership: borrows the sources.
 */
#pragma once

#include "faults/campaign.h"

typedef struct LsFailures LsFailures;

typedef struct {
  gboolean repaired; /* else failed */
  gint64 t_us;
  guint source;
  guint component;           /* number within its source */
  guint first_node, n_nodes; /* that it takes along; 0 nodes with keeps_nodes */
  gint64 repair_us;          /* of a failure: how long */
} LsFailure;

/* Nothing is drawn beyond `horizon_us`. */
LsFailures *ls_failures_new (const LsFailureSource *sources, guint n_sources, guint n_nodes,
                             guint64 seed, guint replica, gint64 horizon_us);
void ls_failures_free (LsFailures *failures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsFailures, ls_failures_free)

/* Time of the next event; G_MAXINT64: there is none. */
gint64 ls_failures_next_us (LsFailures *failures);
/* Takes the next event, of which there is one. FALSE: a candidate that was passed over. */
gboolean ls_failures_take (LsFailures *failures, LsFailure *failure);
/* Components of a source in a cluster of `n_nodes`. */
guint ls_failures_components (const LsFailureSource *source, guint n_nodes);
