/* The recorder: an observer of the engine that writes the trace database.
 *
 * Model:      levels: `none` writes no file; `steps` the tables step and step_rank; `ops` also a row
 *             per operation of the ranks that have rows (trace/selection.h), collectives with who came
 *             last, and series of memory and of the use of links (trace/series.h); `messages` also a row
 *             per message that a traced rank sends in a collective that runs as messages. Rows are written by
 *             a second thread; indexes are built by ls_recorder_finish().
 *             A cause on a rank without rows becomes its representative's operation of the same stream
 *             and ordinal, and cause_rank names the real rank; it may come later than the event that
 *             names it and is then filled in after it came.
 * Invariants: the content depends on the simulation alone; only the `run` rows whose key begins with
 *             "wall_" (and those that the caller makes so) differ between equal runs. Operations that
 *             share an instant share it in the trace too, and the parts of a step sum to it exactly.
 * Call order: new; set values; ls_engine_add_observer() with ls_recorder_observer(), observe the
 *             ranks of ls_recorder_has_rank(); run; ls_recorder_step() after each step; finish; free.
 *             Without a successful finish, free removes the file: never a partial database. A killed
 *             program leaves a readable one, without indexes and with run.status = 'running'.
 * Cost:       about 60 ns per event on the simulating thread, 4 bytes of memory per event of each job's
 *             last two steps, and the writer's queue (7 MB).
 * Left out:   rows of faults, campaigns and learning.
 *
 * Ownership: borrows the metadata (until freed); errors are LS_ERROR_IO.
 */
#pragma once

#include "engine/observer.h"
#include "trace/meta.h"
#include "trace/selection.h"
#include "train/update/update_log.h"

/* X (ID, name in scenarios, what is written) */
#define LS_TRACE_LEVELS(X)                                               \
  X (NONE, "none", "no trace")                                           \
  X (STEPS, "steps", "steps and their time breakdown per rank")          \
  X (OPS, "ops", "every operation of the traced ranks, and time series") \
  X (MESSAGES, "messages", "as ops, and every message of collectives that run as messages")

#define LS_ENUM_TRACE_LEVEL(id, name, meaning) LS_TRACE_##id,
typedef enum { LS_TRACE_LEVELS (LS_ENUM_TRACE_LEVEL) LS_N_TRACE_LEVELS } LsTraceLevel;

typedef struct {
  LsTraceLevel level; /* STEPS or above */
  gboolean force;     /* replace an old database, when the new one is finished */
  gboolean all_ranks;
  const guint *ranks; /* exactly these, if n_ranks > 0; borrowed during the call */
  guint n_ranks;
  gboolean filter_steps;        /* rows only of the steps below; FALSE: of all */
  gint64 first_step, last_step; /* with filter_steps: from..to */
  const gint64 *steps; /* with n_steps > 0: of these instead; borrowed as the metadata is */
  guint n_steps;
  volatile gint *stop; /* set to 1 when writing fails (for ls_engine_run), or NULL */
  const char *vfs;     /* SQLite file system, NULL: the usual one */
} LsRecorderOptions;

/* One rank's share of a step. */
typedef struct {
  guint rank;
  guint weight;                /* ranks it stands for in the step's means; 0 counts as 1 */
  gint64 parts_ps[LS_N_PARTS]; /* sum to the step */
  gint64 caused_wait_ps;       /* that others waited for it; -1: from the rows, at level ops */
  gint64 peak_bytes;           /* -1: not known */
} LsTraceStepRank;

typedef struct {
  guint job;
  gint64 step; /* as LsOpRecord.counters[0] */
  gint64 start_ps, end_ps;
  gint64 tokens; /* -1: does not apply */
} LsTraceStep;

typedef struct LsRecorder LsRecorder;

LsRecorder *ls_recorder_new (const char *path, const LsTraceMeta *meta,
                             const LsRecorderOptions *options, GError **error);
/* NULL is legal. */
void ls_recorder_free (LsRecorder *recorder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsRecorder, ls_recorder_free)

/* To be given to the engine with the recorder as `self`. */
const LsObserver *ls_recorder_observer (const LsRecorder *recorder);
gboolean ls_recorder_has_rank (const LsRecorder *recorder, guint rank);
/* Writes the step's row (the mean over `ranks`) and a row for each of them. After the last step comes
 * finish. FALSE when writing has failed, here or before. */
gboolean ls_recorder_step (LsRecorder *recorder, const LsTraceStep *step,
                           const LsTraceStepRank *ranks, guint n_ranks, GError **error);
/* Rows of `gradient`, `update_log` and `peer_set`: to be given to a run of updates, with the recorder as
 * `self`. They belong to job 0. */
extern const LsUpdateSink ls_recorder_update_sink;
/* Values of table `run`: scenario, version, seed, summary, command, wall_s... Later ones replace. */
void ls_recorder_set_text (LsRecorder *recorder, const char *key, const char *value);
void ls_recorder_set_integer (LsRecorder *recorder, const char *key, gint64 value);
void ls_recorder_set_real (LsRecorder *recorder, const char *key, double value);
/* job.summary: JSON. */
void ls_recorder_set_job_summary (LsRecorder *recorder, guint job, const char *summary);
/* A row of `metric`; @name is a string that outlives the recorder. */
void ls_recorder_metric (LsRecorder *recorder, guint replica, guint job, const char *name,
                         gint64 updates, gint64 samples, gint64 t_ps, double value);
/* FALSE when writing has failed. */
gboolean ls_recorder_check (LsRecorder *recorder, GError **error);
/* Ends the series at `end_ps`, writes what is left, builds the indexes and closes the file as one.
 * `status` goes to run.status ("complete", "interrupted", ...). On failure the file is removed. */
gboolean ls_recorder_finish (LsRecorder *recorder, const char *status, gint64 end_ps,
                             GError **error);

typedef struct {
  guint64 events, samples, collectives, steps; /* rows */
  double index_s; /* wall time that ls_recorder_finish() spent on indexes */
} LsRecorderStats;
LsRecorderStats ls_recorder_stats (const LsRecorder *recorder);

/* Whether rows of this step are written; -1: of no step. */
gboolean ls_recorder_has_step (const LsRecorderOptions *options, gint64 step);
const char *ls_trace_level_name (LsTraceLevel level);
/* FALSE: no level of that name. */
gboolean ls_trace_level_from_name (const char *name, LsTraceLevel *level);
/* Size of a closed database, in bytes, within some 20 %. */
gint64 ls_trace_estimate_bytes (LsTraceLevel level, gint64 n_events, guint n_ranks,
                                guint n_resources, gint64 n_steps);
