/* A learner beside `lockstep run`: in step with synchronous training, or fed by a run of updates.
 *
 * Call order: new; for synchronous steps ls_run_learn_step() with each, for a run of updates give
 *             ls_ensemble_sink and ls_run_learn_ensemble() to it; finish; results; free.
 * Ownership: borrows the scenario.
 */
#pragma once

#include "cli/learning.h"
#include "cli/scenario.h"
#include "trace/recorder.h"
#include "train/run/simulation.h"

G_BEGIN_DECLS

typedef struct LsRunLearn LsRunLearn;

/* @policy, @workers, @shards: of the run. LS_ERROR_CONFIG for faulty data. */
LsRunLearn *ls_run_learn_new (const LsScenario *scenario, const char *policy, guint workers,
                              guint shards, GError **error);
/* The same for synchronous steps of the scenario's only job. */
LsRunLearn *ls_run_learn_new_sync (const LsScenario *scenario, GError **error);
/* What `check` knows of it: the data are read and dealt out, nothing is learned. FALSE: the run would end so. @missing:
 * set when that cannot be told because a data set is not on this machine. */
gboolean ls_run_learn_check (const LsScenario *scenario, gboolean *missing, GError **error);
void ls_run_learn_free (LsRunLearn *learn);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsRunLearn, ls_run_learn_free)

LsEnsemble *ls_run_learn_ensemble (LsRunLearn *learn);
/* One update: all replicas read at the start of the step and are applied at its end. */
void ls_run_learn_step (LsRunLearn *learn, const LsStepResult *step);
/* What is gathered is learned; with a recorder, measurements become rows of `metric`. */
void ls_run_learn_finish (LsRunLearn *learn, LsRecorder *recorder);

/* @json, an object as text, with `loss`, `accuracy` and `learning` added (transfer full). */
char *ls_run_learn_extend_json (const LsRunLearn *learn, const char *json);
/* @text with the learner's tables after it (transfer full). */
char *ls_run_learn_extend_text (const LsRunLearn *learn, const char *text);

G_END_DECLS
