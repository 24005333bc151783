/* Running a job on a cluster: the engine with everything on it, step by step.
 *
 * Model:      a step is the window between two ends of the barrier that all ranks meet in (job.h); each
 *             rank is charged for all of it, so a rank's parts of a step sum to the step. The step times
 *             of a run count from the very first, whose input and gathers are not yet prefetched.
 * Call order: new; observers and work functions on the engine, if any; run; summary; free.
 * Invariants: asserted in every run: a step's parts sum to it on every rank; bytes sent = received.
 * Cost:       two account records per rank beside the engine; one number per step.
 *
 * Ownership: a simulation owns its engine and net and borrows cluster, workload and job.
 */
#pragma once

#include "net/net.h"
#include "train/job.h"

typedef struct LsSimulation LsSimulation;

/* One step of all ranks; valid during the call. */
typedef struct {
  gint64 step; /* from 0 */
  gint64 start_ps, end_ps;
  guint n_ranks;
  const gint64 *parts_ps;       /* [rank * LS_N_PARTS + part]; sum to end - start for each rank */
  const gint64 *caused_wait_ps; /* [rank]: that others waited for it in this step */
  const gint64 *peak_bytes;     /* [rank]: most memory held so far */
} LsStepResult;

/* Called when a step has ended on all ranks, from inside the engine: may read, not run it. FALSE ends
 * the run with the error. */
typedef gboolean (*LsStepFunc) (gpointer self, const LsStepResult *step, GError **error);
/* Share of the run's operations that have ended, 0 to 1; some 20 times per second. */
typedef void (*LsProgressFunc) (gpointer self, double share);

typedef struct {
  LsStepFunc step; /* NULL: nobody asks */
  gpointer step_self;
  LsProgressFunc progress; /* NULL: nobody asks */
  gpointer progress_self;
  volatile gint *stop; /* set from outside: stops between events; or NULL */
} LsRunOptions;

LsSimulation *ls_simulation_new (const LsCluster *cluster, const LsWorkload *workload,
                                 const LsJob *job, guint64 seed);
void ls_simulation_free (LsSimulation *simulation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsSimulation, ls_simulation_free)

/* Runs all steps. LS_ERROR_INTERRUPTED when stopped, LS_ERROR_RUN on a deadlock. `options` may be NULL. */
gboolean ls_simulation_run (LsSimulation *simulation, const LsRunOptions *options, GError **error);

LsEngine *ls_simulation_engine (LsSimulation *simulation); /* (transfer none) */
LsNet *ls_simulation_net (LsSimulation *simulation);       /* (transfer none) */
const LsJob *ls_simulation_job (const LsSimulation *simulation);
const LsWorkload *ls_simulation_workload (const LsSimulation *simulation);
const LsCluster *ls_simulation_cluster (const LsSimulation *simulation);
guint64 ls_simulation_seed (const LsSimulation *simulation);

/* Steps that have ended, how long each took, and all their parts summed over ranks and steps. */
guint ls_simulation_n_steps (const LsSimulation *simulation);
gint64 ls_simulation_step_ps (const LsSimulation *simulation, guint step);
LsInt128 ls_simulation_part_ps (const LsSimulation *simulation, LsPart part);
/* FLOPs run and bytes sent by all ranks in the steps that have ended. */
double ls_simulation_flops (const LsSimulation *simulation);
double ls_simulation_sent_bytes (const LsSimulation *simulation);
double ls_simulation_wall_s (const LsSimulation *simulation); /* of ls_simulation_run() */
