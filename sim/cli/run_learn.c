/* A learner beside `lockstep run`, see run_learn.h. */
#include "cli/run_learn.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/update/sync_log.h"

struct LsRunLearn {
  LsLearnTask *task;
  LsLearning *learning;
  LsSyncLog log;
};

LsRunLearn *ls_run_learn_new (const LsScenario *scenario, const char *policy, guint workers,
                              guint shards, GError **error) {
  g_autoptr (LsRunLearn) learn = g_new0 (LsRunLearn, 1);

  learn->task = ls_learning_task (scenario->learn, error);
  if (!learn->task)
    return NULL;
  learn->learning = ls_learning_new (scenario->learn, learn->task, scenario->name, policy, workers,
                                     shards, scenario->seed, 0, error);
  if (!learn->learning)
    return NULL;
  if (scenario->cost != NULL && scenario->campaign == NULL)
    ls_learning_set_price (
        learn->learning,
        ls_cost_job_usd_per_s (scenario->cost, scenario->cluster, scenario->workload));
  return g_steal_pointer (&learn);
}

static gboolean follows_one_job (const LsScenario *scenario, GError **error) {
  if (scenario->n_jobs != 1)
    g_set_error_literal (error, LS_ERROR, LS_ERROR_UNSUPPORTED,
                         "learn: a learner follows the only job of a scenario, and this one has "
                         "several");
  return scenario->n_jobs == 1;
}

gboolean ls_run_learn_check (const LsScenario *scenario, gboolean *missing, GError **error) {
  const LsWorkload *workload = scenario->workload;
  g_autoptr (LsLearnTask) task = NULL;

  *missing = FALSE;
  if (!follows_one_job (scenario, error))
    return FALSE;
  if (!ls_learning_has_data (scenario->learn)) {
    *missing = TRUE;
    return TRUE;
  }
  task = ls_learning_task (scenario->learn, error);
  return task != NULL && ls_learning_deal (scenario->learn, task,
                                           workload->update.active ? workload->update.spec.workers
                                                                   : workload->layout.data,
                                           scenario->seed, error);
}

LsRunLearn *ls_run_learn_new_sync (const LsScenario *scenario, GError **error) {
  const LsWorkload *workload = scenario->workload;
  LsRunLearn *learn;

  if (!follows_one_job (scenario, error))
    return NULL;
  learn = ls_run_learn_new (scenario, "sync", workload->layout.data, 1, error);
  if (learn)
    learn->log = (LsSyncLog){.workers = workload->layout.data,
                             .samples = workload->global_batch / workload->layout.data,
                             .sink = &ls_ensemble_sink,
                             .self = ls_learning_ensemble (learn->learning)};
  return learn;
}

void ls_run_learn_free (LsRunLearn *learn) {
  if (!learn)
    return;
  ls_learning_free (learn->learning);
  ls_learn_task_free (learn->task);
  g_free (learn);
}

LsEnsemble *ls_run_learn_ensemble (LsRunLearn *learn) {
  return ls_learning_ensemble (learn->learning);
}

void ls_run_learn_step (LsRunLearn *learn, const LsStepResult *step) {
  ls_sync_log_step (&learn->log, step->start_ps, step->end_ps);
}

static void write_metric (gpointer self, guint replica, const char *name, gint64 updates,
                          gint64 samples, gint64 t_ps, double value) {
  ls_recorder_metric (self, replica, 0, name, updates, samples, t_ps, value);
}

void ls_run_learn_finish (LsRunLearn *learn, LsRecorder *recorder) {
  ls_learning_finish (learn->learning);
  if (!recorder)
    return;
  ls_learning_metrics (learn->learning, write_metric, recorder);
  ls_recorder_set_text (recorder, "blas", ls_blas_name ());
}

char *ls_run_learn_extend_json (const LsRunLearn *learn, const char *json) {
  const char *end = strrchr (json, '}');
  g_autofree char *own = NULL;
  LsJson *writer = ls_json_new ();
  double loss = ls_learning_loss (learn->learning),
         accuracy = ls_learning_accuracy (learn->learning);
  const char *start;

  ls_json_open_object (writer, NULL);
  if (isfinite (loss))
    ls_json_number (writer, "loss", loss);
  if (isfinite (accuracy))
    ls_json_number (writer, "accuracy", accuracy);
  ls_learning_json (learn->learning, writer, "learning");
  ls_json_close (writer);
  own = g_strchomp (ls_json_finish (writer));
  start = strchr (own, '{') + 1;
  return g_strdup_printf ("%.*s, %s", (int) (end - json), json, start);
}

char *ls_run_learn_extend_text (const LsRunLearn *learn, const char *text) {
  GString *out = g_string_new (text);

  g_string_append_c (out, '\n');
  ls_learning_text (learn->learning, out);
  return g_string_free (out, FALSE);
}
