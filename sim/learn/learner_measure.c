/* Measurements of the learner: loss, accuracy, gradient norm, staleness; divergence and target. */
#include "base/assert.h"
#include "learn/learner_private.h"

#include <math.h>
#include <string.h>

gint64 ls_learner_updates (const LsLearner *l) {
  gint64 least = l->versions[0];

  if (l->pairs)
    return l->pair_averages;
  for (guint s = 1; s < l->options.shards; s++)
    least = MIN (least, l->versions[s]);
  return least;
}

void ls_learner_count_staleness (LsLearner *l, guint w, gint64 tau) {
  LsLearnWorker *worker = &l->workers[w];
  gint64 bin = MIN (tau, LS_STALENESS_BINS - 1);

  if (worker->staleness == NULL)
    worker->staleness = g_new0 (guint64, LS_STALENESS_BINS);
  worker->staleness[bin]++;
  l->staleness[bin]++;
  l->tau_sum += (double) tau;
  l->tau_count++;
  l->tau_max = MAX (l->tau_max, tau);
}

/* The parameters that count, in l->gathered: a mean over time, over workers, or the server's. */
static const double *evaluated (LsLearner *l) {
  if (l->average != NULL)
    return l->average;
  if (!l->pairs) {
    if (l->options.shards == 1)
      return l->server[0]->values;
    ls_learner_server (l, l->gathered);
    return l->gathered;
  }
  memset (l->gathered, 0, l->n * sizeof (double));
  for (guint w = 0; w < l->options.workers; w++)
    for (guint s = 0; s < l->options.shards; s++)
      for (gsize i = 0; i < l->workers[w].copy[s]->n; i++)
        l->gathered[l->first[s] + i] += l->workers[w].copy[s]->values[i];
  for (gsize i = 0; i < l->n; i++)
    l->gathered[i] /= l->options.workers;
  return l->gathered;
}

static void measure_model (LsLearner *l, LsLearnRow *row) {
  const LsLearnTask *task = l->task;
  const double *parameters = evaluated (l);
  gsize n = task->n_train, correct = 0;

  if (l->settings->evaluate_rows > 0)
    n = MIN (n, (gsize) l->settings->evaluate_rows);
  row->loss = ls_problem_evaluate_all (task->problem, l->workspace, parameters, task->rows, n,
                                       l->mean, NULL);
  row->grad_norm = ls_learner_norm (l->mean, l->n);
  row->test_loss = row->accuracy = (double) NAN;
  if (task->n_test > 0) {
    row->test_loss =
        ls_problem_evaluate_all (task->problem, l->workspace, parameters,
                                 task->rows + task->n_train, task->n_test, NULL, &correct);
    if (ls_problem_has_accuracy (task->problem))
      row->accuracy = (double) correct / (double) task->n_test;
  }
}

static void check_divergence (LsLearner *l, const LsLearnRow *row) {
  double first = l->results->len > 0 ? g_array_index (l->results, LsLearnRow, 0).loss : row->loss;

  if (isfinite (row->loss) && isfinite (row->grad_norm) &&
      !(first > 0 && row->loss > first * l->settings->diverged_above))
    return;
  l->result.diverged = TRUE;
  l->result.diverged_update = row->updates;
}

static void check_target (LsLearner *l, const LsLearnRow *row) {
  const LsLearnSettings *s = l->settings;
  LsLearnResult *r = &l->result;
  gboolean loss = isnan (s->target_loss) || row->loss <= s->target_loss;
  gboolean accuracy = isnan (s->target_accuracy) || row->accuracy >= s->target_accuracy;

  if (r->reached || (isnan (s->target_loss) && isnan (s->target_accuracy)) || !loss || !accuracy)
    return;
  r->reached = TRUE;
  r->target_updates = row->updates;
  r->target_samples = row->samples;
  r->target_ps = row->t_ps;
}

static double current_rate (const LsLearner *l) {
  const LsDescender *d = l->workers[0].descender != NULL ? l->workers[0].descender : l->descender;

  return l->optimizer.lr * ls_rate_factor (&l->settings->schedule, ls_descender_steps (d, 0));
}

void ls_learner_measure (LsLearner *l) {
  const LsArithmeticCounts *counts = ls_workspace_counts (l->workspace);
  LsLearnRow row = {
      .updates = ls_learner_updates (l),
      .samples = l->samples,
      .t_ps = l->t_ps,
      .lr = current_rate (l),
      .staleness = l->tau_count > 0 ? l->tau_sum / (double) l->tau_count : (double) NAN,
      .staleness_max = l->tau_max,
      .loss_scale = l->scales[0].scale,
      .skipped = l->skipped,
      .overflows = counts->gradients.overflows + counts->activations.overflows,
      .underflows = counts->gradients.underflows + counts->activations.underflows,
      .lost = l->lost,
  };

  if (l->workers[0].descender != NULL)
    row.loss_scale = l->workers[0].scale.scale;
  measure_model (l, &row);
  check_divergence (l, &row);
  l->next_evaluation =
      row.updates - row.updates % l->settings->evaluate_every + l->settings->evaluate_every;
  l->tau_sum = 0;
  l->tau_count = l->tau_max = 0;
  if (l->result.diverged)
    return;
  g_array_append_val (l->results, row);
  check_target (l, &row);
}

static void take_into_mean (LsLearner *l, guint s) {
  const LsLearnSettings *settings = l->settings;
  double *mean = l->average + l->first[s];
  const double *now = l->server[s]->values;
  const gint64 update = l->versions[s];
  double keep = settings->average_decay;

  if (settings->averaging == LS_AVERAGING_SWA) {
    if (update < settings->average_start) {
      memcpy (mean, now, l->server[s]->n * sizeof (double));
      return;
    }
    if ((update - settings->average_start) % settings->average_every != 0)
      return;
    l->averaged[s]++;
    keep = (double) (l->averaged[s] - 1) / (double) l->averaged[s];
  }
  for (gsize i = 0; i < l->server[s]->n; i++)
    mean[i] = keep * mean[i] + (1 - keep) * now[i];
}

void ls_learner_updated (LsLearner *l, guint first, guint end) {
  if (l->result.diverged)
    return;
  for (guint s = first; l->average != NULL && s < end; s++)
    take_into_mean (l, s);
  if (ls_learner_updates (l) >= l->next_evaluation)
    ls_learner_measure (l);
}

/* --- results -------------------------------------------------------------------------------- */

guint ls_learner_n_rows (const LsLearner *l) {
  return l->results->len;
}

const LsLearnRow *ls_learner_row (const LsLearner *l, guint index) {
  LS_REQUIRE (index < l->results->len, "row %u of %u", index, l->results->len);
  return &g_array_index (l->results, LsLearnRow, index);
}

LsLearnResult ls_learner_result (const LsLearner *l) {
  LsLearnResult r = l->result;

  r.updates = ls_learner_updates (l);
  r.samples = l->samples;
  r.t_ps = l->t_ps;
  r.evaluated = l->next_gradient;
  r.applied = l->applied;
  r.dropped = l->dropped;
  r.in_flight = r.evaluated - r.applied - r.dropped;
  LS_REQUIRE (r.in_flight >= 0, "more gradients are used than were taken");
  r.counts = *ls_workspace_counts (l->workspace);
  r.final_loss = r.final_accuracy = r.best_loss = r.best_accuracy = (double) NAN;
  for (guint i = 0; i < l->results->len; i++) {
    const LsLearnRow *row = ls_learner_row (l, i);

    if (!(r.best_loss <= row->loss))
      r.best_loss = row->loss;
    if (!(r.best_accuracy >= row->accuracy))
      r.best_accuracy = row->accuracy;
    r.final_loss = r.diverged ? (double) NAN : row->loss;
    r.final_accuracy = r.diverged ? (double) NAN : row->accuracy;
  }
  return r;
}

const guint64 *ls_learner_staleness (const LsLearner *l, gint worker, guint *n) {
  *n = LS_STALENESS_BINS;
  if (worker < 0)
    return l->staleness;
  LS_REQUIRE (worker < (gint) l->options.workers, "worker %d of %u", worker, l->options.workers);
  return l->workers[worker].staleness;
}
