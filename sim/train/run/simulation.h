/* Running jobs on a cluster: the engine with everything on it, step by step.
 *
 * Model:      one or several jobs, each on GPUs of its own, share the network, hosts and storage of one
 *             cluster on one engine. A job begins at its start time; its ranks are numbered after those
 *             of the jobs before it. A step of a job is the window between two ends of the barrier that
 *             all its ranks meet in (job.h), the first one from the job's start; each rank is charged
 *             for all of it, so a rank's parts of a step sum to the step. The step times of a run count
 *             from the very first, whose input and gathers are not yet prefetched.
 * Call order: new; observers and work functions on the engine, if any; run; summary; free.
 * Folding:    where ranks are alike, one of each class runs (net/fold.h): the engine's rank is then the number
 *             of a class, and ls_simulation_rank() the lowest of its ranks. Every result is the same to the
 *             bit but for the number of events.
 * Invariants: asserted in every run: a step's parts sum to it on every rank; bytes sent = received.
 *             The order of jobs changes rank numbers, nothing else.
 * Cost:       two account records per rank beside the engine; one number per step.
 *
 * Ownership: a simulation owns its engine and net and borrows cluster, workloads, jobs and names.
 */
#pragma once

#include "net/fold.h"
#include "train/program/job.h"

typedef struct LsSimulation LsSimulation;

/* One job to be run. */
typedef struct {
  const char *name; /* of the job in the scenario; NULL: the workload's */
  const LsWorkload *workload;
  const LsJob *job;
  gint64 start_ps;
} LsSimulationJob;

/* One job while it runs, and what it came to. */
typedef struct {
  const char *name;
  const LsWorkload *workload;
  const LsJob *job;
  guint first_rank;            /* job rank r is first_rank + r */
  guint first_place, n_places; /* its ranks on the engine: all, or one per class */
  gint64 start_ps;
  gint64 end_ps;                 /* of the last step that ended; start_ps before */
  GArray *step_ps;               /* gint64: how long each ended step took */
  LsInt128 parts_ps[LS_N_PARTS]; /* over all ranks and ended steps */
  guint8 *skips;                 /* [step] 1: its gradients overflowed; NULL: no loss scaling */
  double flops, sent_bytes;      /* by all its ranks in the steps that have ended */
} LsJobRun;

/* One step of all ranks of a job; valid during the call. */
typedef struct {
  guint job;
  gint64 step; /* from 0 */
  gint64 start_ps, end_ps;
  guint n_places;               /* of the job, on the engine */
  const guint32 *ranks;         /* [place]: the lowest rank that runs there */
  const guint32 *sizes;         /* [place]: ranks that it stands for, 1 when nothing is folded */
  const gint64 *parts_ps;       /* [place * LS_N_PARTS + part]; sum to end - start for each rank */
  const gint64 *caused_wait_ps; /* [place]: that others waited for that lowest rank in this step */
  const gint64 *peak_bytes;     /* [place]: most memory held so far */
} LsStepResult;

/* Called when a step has ended on all ranks of a job, from inside the engine: may read, not run it.
 * FALSE ends the run with the error. */
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

/* One job from time 0. */
LsSimulation *ls_simulation_new (const LsCluster *cluster, const LsWorkload *workload,
                                 const LsJob *job, guint64 seed);
typedef struct {
  gboolean fold; /* run one rank of each class, where that is possible */
  /* [rank]: kernels take this many times as long (usage fixed point; LS_USAGE_ONE: as they are); copied.
   * NULL: none does. */
  const gint64 *factor_of_rank;
  /* [rank]: only ranks with equal labels may stand for each other; borrowed until it is built. NULL: none. */
  const guint64 *label_of_rank;
} LsSimulationOptions;
/* Several jobs: their LsJobs share tables (ls_job_build_with()), and no GPU has ranks of two. `options` NULL:
 * none. */
LsSimulation *ls_simulation_new_with (const LsCluster *cluster, const LsSimulationJob *jobs,
                                      guint n_jobs, guint64 seed,
                                      const LsSimulationOptions *options);
void ls_simulation_free (LsSimulation *simulation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsSimulation, ls_simulation_free)

/* Runs all steps of all jobs. LS_ERROR_INTERRUPTED when stopped, LS_ERROR_RUN on a deadlock, with the
 * jobs that cannot go on. `options` may be NULL. */
gboolean ls_simulation_run (LsSimulation *simulation, const LsRunOptions *options, GError **error);

LsEngine *ls_simulation_engine (LsSimulation *simulation); /* (transfer none) */
LsNet *ls_simulation_net (LsSimulation *simulation);       /* (transfer none) */
const LsCluster *ls_simulation_cluster (const LsSimulation *simulation);
guint64 ls_simulation_seed (const LsSimulation *simulation);
guint ls_simulation_n_jobs (const LsSimulation *simulation);
const LsJobRun *ls_simulation_job (const LsSimulation *simulation, guint job);
/* Is it folded? If not, though it should be: why (a static string), else NULL. */
gboolean ls_simulation_is_folded (const LsSimulation *simulation);
const char *ls_simulation_unfolded_why (const LsSimulation *simulation);
/* Ranks of the engine: the lowest of the ranks that each stands for, and how many they are. */
guint ls_simulation_n_places (const LsSimulation *simulation);
guint ls_simulation_rank (const LsSimulation *simulation, guint place);
guint ls_simulation_place (const LsSimulation *simulation, guint rank);
/* NULL: not folded. */
const LsFold *ls_simulation_fold (const LsSimulation *simulation);
/* Index in the net of a resource of the engine; LS_NO_NUMBER: not of the net. */
guint ls_simulation_resource (const LsSimulation *simulation, guint number);
/* Operations that have ended, over all ranks. */
guint64 ls_simulation_n_ended (const LsSimulation *simulation);
/* Ranks of all jobs, and the job of each. */
guint ls_simulation_n_ranks (const LsSimulation *simulation);
guint ls_simulation_job_of_rank (const LsSimulation *simulation, guint rank);
/* Operations that all jobs execute in all. */
gint64 ls_simulation_n_operations (const LsSimulation *simulation);
/* Steps of a job that have ended. */
guint ls_simulation_n_steps (const LsSimulation *simulation, guint job);
double ls_simulation_wall_s (const LsSimulation *simulation); /* of ls_simulation_run() */
