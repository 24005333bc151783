/* Workers that run the workload's own programs: each step of a worker is the simulated step of one
 * data-parallel replica, however many ranks split it.
 *
 * Model:      a replica's ranks run the programs of a workload with one replica; a gate at the head of
 *             each step holds them until the policy lets the worker go on. The step ends when all ranks
 *             of the replica have met. What servers update is not updated by the workers: placing the
 *             received model costs a pass over the parameters.
 * Left out:   ending a step in its middle (policies that cancel are refused when the scenario is read).
 * Cost:       that of the engine's programs; jobs are shared by replicas on equal accelerators.
 *
 * Ownership: borrows engine, net, cluster and workload; free it after the engine.
 */
#pragma once

#include "net/net.h"
#include "train/program/job.h"

typedef struct LsReplicas LsReplicas;

/* Adds ranks and groups to the engine, worker by worker: rank = worker x per_worker + i. LS_ERROR_RUN
 * when a program is malformed (a bug). */
LsReplicas *ls_replicas_new (const LsCluster *cluster, const LsWorkload *workload, LsEngine *engine,
                             LsNet *net, const guint *gpus, guint per_worker, GError **error);
void ls_replicas_free (LsReplicas *replicas);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsReplicas, ls_replicas_free)

/* What the worker runs; its ranks are those of the job, in order. Names are shared by all workers. */
const LsJob *ls_replicas_job (const LsReplicas *replicas, guint worker);
LsTables *ls_replicas_tables (LsReplicas *replicas);

/* `compute` of an LsUpdateHost. */
void ls_replicas_compute (LsReplicas *replicas, LsUpdate *update, guint worker);
