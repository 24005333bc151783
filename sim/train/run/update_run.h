/* A run of updates on a cluster: engine, network, workers and policy together.
 *
 * Model:      update.h and update_net.h. Workers are timed (update_timed.h) or replicas that run the
 *             workload's own programs step by step (update_replica.h).
 * Call order: new; sinks and observers; run; summary; free.
 *
 * Ownership: owns engine, net and workers; borrows cluster and workload.
 */
#pragma once

#include "train/run/update_replica.h"

typedef struct LsUpdateRun LsUpdateRun;

/* LS_ERROR_RUN when a program is malformed (a bug). */
LsUpdateRun *ls_update_run_new (const LsCluster *cluster, const LsWorkload *workload, guint64 seed,
                                GError **error);
void ls_update_run_free (LsUpdateRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsUpdateRun, ls_update_run_free)

/* Runs to its end and closes the books, also when it was interrupted (LS_ERROR_INTERRUPTED). */
gboolean ls_update_run_go (LsUpdateRun *run, const volatile gint *stop, LsUpdateProgress progress,
                           gpointer progress_self, GError **error);

LsUpdate *ls_update_run_update (LsUpdateRun *run);
LsEngine *ls_update_run_engine (LsUpdateRun *run);
/* NULL: the workers are timed. */
LsReplicas *ls_update_run_replicas (LsUpdateRun *run);
LsNet *ls_update_run_net (LsUpdateRun *run);
const LsCluster *ls_update_run_cluster (const LsUpdateRun *run);
const LsWorkload *ls_update_run_workload (const LsUpdateRun *run);
guint64 ls_update_run_seed (const LsUpdateRun *run);
double ls_update_run_wall_s (const LsUpdateRun *run);
/* GPUs of one worker, and which. */
guint ls_update_run_gpus_per_worker (const LsUpdateRun *run);
const guint *ls_update_run_gpus (const LsUpdateRun *run, guint worker);
/* Bytes that have gone to and from servers and between workers, of ended transfers. */
double ls_update_run_sent_bytes (const LsUpdateRun *run);
