/* Failures in a run of updates: workers leave with their nodes and come back when these are repaired.
 *
 * Model:      sources are those of campaigns (campaign.h) whose effect is to stop and that take nodes along.
 *             A worker leaves when its node goes down and is back when all that broke there is whole: what
 *             it computed, sent or was sent is dropped (update.h). `repair` is all of the time
 *             that it is away. Components are those of the nodes that hold workers.
 * Determinism: as failures.h: one stream per source; other sources and policies leave the times as they are.
 * Cost:       one event per failure and repair.
 * Left out:   servers that fail; failures of software and storage; slow nodes; retries.
 *
 * Ownership: borrows sources and run; free it before the run.
 */
#pragma once

#include "faults/failures.h"
#include "train/run/update_run.h"

typedef struct LsUpdateFailures LsUpdateFailures;

/* Before the run begins; times count from then. `sources` may be NULL with n 0. */
LsUpdateFailures *ls_update_failures_new (const LsFailureSource *sources, guint n_sources,
                                          LsUpdateRun *run);
void ls_update_failures_free (LsUpdateFailures *failures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsUpdateFailures, ls_update_failures_free)

/* Those that came, in order of time; first_node is the cluster's number of a node. */
const LsFailure *ls_update_failures_list (const LsUpdateFailures *failures, guint *n);
