/* Learning for commands: the data and the learners of a scenario's `learn` section, and how their
 * results are told as text, CSV, JSON and rows of the trace.
 *
 * Call order: new; give ls_ensemble_sink with ls_learning_ensemble() to whoever makes the log; finish;
 *             results; free.
 * Ownership: borrows the settings; owns data and learners.
 */
#pragma once

#include "cli/json.h"
#include "learn/ensemble.h"

G_BEGIN_DECLS

typedef struct LsLearning LsLearning;

/* Reads or makes the data (LS_ERROR_CONFIG with the place in a file). The task may serve several
 * learnings (transfer full: ls_learn_task_free). */
LsLearnTask *ls_learning_task (const LsLearnSettings *settings, GError **error);

/* FALSE: a data set that comes with the program is not on this machine. */
gboolean ls_learning_has_data (const LsLearnSettings *settings);
/* Can the rows be dealt out to so many workers, in every replication? Nothing is learned. */
gboolean ls_learning_deal (const LsLearnSettings *settings, const LsLearnTask *task, guint workers,
                           guint64 seed, GError **error);

/* Which keys have no effect under an update policy: a learner follows it. */
void ls_learning_mark (LsConfig *config, const char *policy);

/* @policy and @run are words for the output (copied). */
LsLearning *ls_learning_new (const LsLearnSettings *settings, const LsLearnTask *task,
                             const char *run, const char *policy, guint workers, guint shards,
                             guint64 seed, guint threads, GError **error);
void ls_learning_free (LsLearning *learning);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsLearning, ls_learning_free)

/* What the run costs per second of simulated time: a column of money beside that of time. 0: none. */
void ls_learning_set_price (LsLearning *learning, double usd_per_s);
LsEnsemble *ls_learning_ensemble (LsLearning *learning);
/* FALSE: it was stopped (ls_ensemble_set_stop), and has no results. */
gboolean ls_learning_finish (LsLearning *learning);

/* The best rate's measurements and what they come to, for people. */
void ls_learning_text (const LsLearning *learning, GString *out);
/* One object with key @key. */
void ls_learning_json (const LsLearning *learning, LsJson *json, const char *key);
/* The header of the CSV, and one row per measurement of every learner. */
void ls_learning_csv_header (GString *out);
void ls_learning_csv (const LsLearning *learning, GString *out);

/* Each measurement of the best rate as rows (name, value) of the trace's table `metric`. */
typedef void (*LsMetricFunc) (gpointer self, guint replica, const char *name, gint64 updates,
                              gint64 samples, gint64 t_ps, double value);
void ls_learning_metrics (const LsLearning *learning, LsMetricFunc func, gpointer self);

/* Loss and accuracy at the end, means over replications; NaN: none. */
double ls_learning_loss (const LsLearning *learning);
double ls_learning_accuracy (const LsLearning *learning);

G_END_DECLS
