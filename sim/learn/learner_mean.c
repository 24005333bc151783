/* Averages of copies: over sets, elastic, in pairs, and outer steps.
 *
 * Sums run over the members in ascending order of workers, in double or rounded to fp32 each time.
 */
#include "base/assert.h"
#include "learn/learner_private.h"

#include <string.h>

static guint n_members (const LsLearner *l, const LsUpdateRecord *record) {
  return record->members != NULL ? record->n_members : l->options.workers;
}

static guint member (const LsLearner *l, const LsUpdateRecord *record, guint i) {
  guint worker = record->members != NULL ? record->members[i] : i;

  LS_REQUIRE (worker < l->options.workers, "member %u of %u workers", worker, l->options.workers);
  return worker;
}

/* What stands now is the agreed state: versions of the shared model and of the members' copies. */
static void set_versions (LsLearner *l, const LsUpdateRecord *record, guint first, guint end) {
  for (guint s = first; s < end; s++) {
    LS_REQUIRE (record->version < 0 || record->version > l->versions[s],
                "a %s makes version %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
                ls_update_operation_name (record->operation), record->version, l->versions[s]);
    l->versions[s] = record->version < 0 ? l->versions[s] + 1 : record->version;
  }
}

/* Elastic pulls need the copy before a step; policies that average whole copies do not. */
static void no_elastic (LsLearner *l) {
  if (!l->keep_before)
    return;
  l->keep_before = FALSE;
  for (guint w = 0; w < l->options.workers; w++)
    for (guint s = 0; s < l->options.shards; s++)
      ls_piece_set (&l->workers[w].before[s], NULL);
}

void ls_learner_average (LsLearner *l, const LsUpdateRecord *record) {
  const guint k = n_members (l, record);

  LS_REQUIRE (k > 0, "an average of nobody");
  no_elastic (l);
  set_versions (l, record, 0, l->options.shards);
  for (guint s = 0; s < l->options.shards; s++) {
    LsPiece *mean = ls_piece_new (l->server[s]->n);

    memset (mean->values, 0, mean->n * sizeof (double));
    for (guint m = 0; m < k; m++) {
      const double *copy = l->workers[member (l, record, m)].copy[s]->values;

      for (gsize i = 0; i < mean->n; i++)
        mean->values[i] += copy[i];
      ls_learner_round_sum (l, mean->values, mean->n);
    }
    for (gsize i = 0; i < mean->n; i++)
      mean->values[i] /= k;
    ls_number_round_all (ls_learner_kept_format (l), mean->values, mean->n, NULL);
    ls_piece_set (&l->server[s], mean);
    for (guint m = 0; m < k; m++) {
      LsLearnWorker *worker = &l->workers[member (l, record, m)];

      ls_piece_set (&worker->copy[s], mean);
      worker->versions[s] = l->versions[s];
    }
    ls_piece_unref (mean);
  }
  ls_learner_updated (l, 0, l->options.shards);
}

static double alpha_of (const LsLearner *l) {
  if (l->settings->elastic_alpha > 0)
    return l->settings->elastic_alpha;
  return l->settings->elastic_beta / l->options.workers;
}

/* x -= d, returns sum + d, with d = alpha (x' - server) and x' the copy or the one before its step. */
static void pull (LsLearner *l, LsLearnWorker *worker, guint s, double *sum) {
  const double alpha = alpha_of (l);
  const double *server = l->server[s]->values;
  LsPiece *at = ls_piece_ref (worker->before[s] != NULL ? worker->before[s] : worker->copy[s]);
  double *copy = ls_piece_write (&worker->copy[s]);

  for (gsize i = 0; i < at->n; i++) {
    double d = alpha * (at->values[i] - server[i]);

    copy[i] -= d;
    sum[i] += d;
  }
  ls_number_round_all (ls_learner_kept_format (l), copy, at->n, NULL);
  ls_learner_round_sum (l, sum, at->n);
  ls_piece_set (&worker->before[s], NULL);
  ls_piece_unref (at);
}

void ls_learner_elastic (LsLearner *l, const LsUpdateRecord *record) {
  const gboolean one = record->worker >= 0;
  const guint k = one ? 1 : n_members (l, record);
  const guint first = record->shard < 0 ? 0 : (guint) record->shard;
  const guint end = record->shard < 0 ? l->options.shards : first + 1;

  for (guint s = first; s < end && !l->result.diverged; s++) {
    double *server;

    memset (l->mean, 0, l->server[s]->n * sizeof (double));
    for (guint m = 0; m < k; m++)
      pull (l, &l->workers[one ? (guint) record->worker : member (l, record, m)], s, l->mean);
    server = ls_piece_write (&l->server[s]);
    for (gsize i = 0; i < l->server[s]->n; i++)
      server[i] += l->mean[i];
    ls_number_round_all (ls_learner_kept_format (l), server, l->server[s]->n, NULL);
  }
  set_versions (l, record, first, end);
  ls_learner_updated (l, first, end);
}

void ls_learner_pair_average (LsLearner *l, const LsUpdateRecord *record) {
  LsLearnWorker *a, *b;

  LS_REQUIRE (record->worker >= 0 && record->peer >= 0 && record->worker != record->peer &&
                  record->peer < (gint32) l->options.workers,
              "workers %d and %d average", record->worker, record->peer);
  no_elastic (l);
  l->pairs = TRUE;
  l->pair_averages++;
  a = &l->workers[MIN (record->worker, record->peer)];
  b = &l->workers[MAX (record->worker, record->peer)];
  for (guint s = 0; s < l->options.shards; s++) {
    LsPiece *mean = ls_piece_new (l->server[s]->n);

    for (gsize i = 0; i < mean->n; i++)
      mean->values[i] = (a->copy[s]->values[i] + b->copy[s]->values[i]) / 2;
    ls_number_round_all (ls_learner_kept_format (l), mean->values, mean->n, NULL);
    ls_piece_set (&a->copy[s], mean);
    ls_piece_set (&b->copy[s], mean);
    ls_piece_unref (mean);
  }
  ls_learner_updated (l, 0, 0);
}

void ls_learner_outer_step (LsLearner *l, const LsUpdateRecord *record) {
  const guint k = n_members (l, record);

  LS_REQUIRE (k > 0, "an outer step by nobody");
  no_elastic (l);
  set_versions (l, record, 0, l->options.shards);
  if (l->outer == NULL)
    l->outer = ls_descender_new (&l->settings->outer, l->n, l->options.shards,
                                 l->settings->precision.optimizer);
  for (guint s = 0; s < l->options.shards && !l->result.diverged; s++) {
    const gsize n = l->server[s]->n;
    const LsDescentStep step = {.shard = s,
                                .first = l->first[s],
                                .n = n,
                                .lr = l->settings->outer.lr,
                                .momentum = l->settings->outer.momentum,
                                .velocity_scale = 1,
                                .format = ls_learner_kept_format (l)};

    memset (l->mean, 0, n * sizeof (double));
    for (guint m = 0; m < k; m++) {
      const double *copy = l->workers[member (l, record, m)].copy[s]->values;

      for (gsize i = 0; i < n; i++)
        l->mean[i] += l->server[s]->values[i] - copy[i];
      ls_learner_round_sum (l, l->mean, n);
    }
    for (gsize i = 0; i < n; i++)
      l->mean[i] /= k;
    l->lost += ls_descender_step (l->outer, &step, ls_piece_write (&l->server[s]), l->mean);
  }
  ls_learner_updated (l, 0, l->options.shards);
}
