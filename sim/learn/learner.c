/* The learner: its life and what each record asks for. See learner.h. */
#include "base/assert.h"
#include "learn/learner_private.h"

#include <math.h>
#include <string.h>

static void share_out (LsLearner *l) {
  const guint shards = l->options.shards;

  l->first = g_new (gsize, (gsize) shards + 1);
  for (guint s = 0; s <= shards; s++)
    l->first[s] = (gsize) ((guint64) l->n * s / shards);
  l->server = g_new0 (LsPiece *, shards);
  l->versions = g_new0 (gint64, shards);
  l->open = g_new0 (LsOpenUpdate, shards);
  l->scales = g_new0 (LsLossScale, shards);
  l->last_lr = g_new0 (double, shards);
  for (guint s = 0; s < shards; s++) {
    l->server[s] = ls_piece_new (l->first[s + 1] - l->first[s]);
    memcpy (l->server[s]->values, l->scratch + l->first[s], l->server[s]->n * sizeof (double));
    l->open[s].gradients = g_ptr_array_new ();
    ls_loss_scale_init (&l->scales[s], &l->settings->loss_scale);
  }
}

static void make_workers (LsLearner *l) {
  l->workers = g_new0 (LsLearnWorker, l->options.workers);
  for (guint w = 0; w < l->options.workers; w++) {
    LsLearnWorker *worker = &l->workers[w];

    worker->copy = g_new0 (LsPiece *, l->options.shards);
    worker->before = g_new0 (LsPiece *, l->options.shards);
    worker->versions = g_new0 (gint64, l->options.shards);
    worker->epoch = -1;
    ls_loss_scale_init (&worker->scale, &l->settings->loss_scale);
    for (guint s = 0; s < l->options.shards; s++)
      ls_piece_set (&worker->copy[s], l->server[s]);
  }
}

static gboolean make_parts (LsLearner *l, GError **error) {
  const LsLearnTask *task = l->task;

  if (task->data == NULL)
    return TRUE;
  l->parts = ls_parts_new (task->data, task->rows, task->n_train, l->settings->data.partition,
                           l->settings->data.alpha, l->options.workers, l->options.seed, error);
  return l->parts != NULL;
}

LsLearner *ls_learner_new (const LsLearnSettings *settings, const LsLearnTask *task,
                           const LsLearnerOptions *options, GError **error) {
  g_autoptr (LsLearner) l = g_new0 (LsLearner, 1);

  LS_REQUIRE (options->workers > 0 && options->shards > 0, "a learner without workers or shards");
  l->settings = settings;
  l->task = task;
  l->options = *options;
  l->n = ls_problem_n_parameters (task->problem);
  l->options.shards = (guint) MIN ((gsize) options->shards, l->n);
  l->optimizer = settings->optimizer;
  if (options->lr > 0)
    l->optimizer.lr = options->lr;
  if (!make_parts (l, error))
    return NULL;
  (void) ls_blas_name (); /* one thread per product */
  l->workspace = ls_workspace_new (task->problem);
  l->mean = g_new (double, l->n);
  l->scratch = g_new (double, l->n);
  l->gathered = g_new (double, l->n);
  l->staleness = g_new0 (guint64, LS_STALENESS_BINS);
  ls_problem_start (task->problem, options->seed, l->scratch);
  ls_number_round_all (ls_learner_kept_format (l), l->scratch, l->n, NULL);
  share_out (l);
  make_workers (l);
  l->descender =
      ls_descender_new (&l->optimizer, l->n, l->options.shards, settings->precision.optimizer);
  l->pending = g_ptr_array_new ();
  l->results = g_array_new (FALSE, TRUE, sizeof (LsLearnRow));
  l->keep_before = settings->pull == LS_PULL_BEFORE;
  if (settings->compensation.kind == LS_COMPENSATION_ADAPTIVE)
    l->mean_square = g_new0 (double, l->n);
  if (settings->averaging != LS_AVERAGING_NONE) {
    l->average = g_memdup2 (l->scratch, l->n * sizeof (double));
    l->averaged = g_new0 (gint64, l->options.shards);
  }
  ls_learner_measure (l);
  return g_steal_pointer (&l);
}

static void free_workers (LsLearner *l) {
  for (guint w = 0; l->workers != NULL && w < l->options.workers; w++) {
    LsLearnWorker *worker = &l->workers[w];

    for (guint s = 0; s < l->options.shards; s++) {
      ls_piece_unref (worker->copy[s]);
      ls_piece_unref (worker->before[s]);
    }
    g_free (worker->copy);
    g_free (worker->before);
    g_free (worker->versions);
    g_free (worker->order);
    g_free (worker->staleness);
    ls_descender_free (worker->descender);
  }
  g_free (l->workers);
}

static void free_server (LsLearner *l) {
  for (guint s = 0; l->server != NULL && s < l->options.shards; s++) {
    ls_piece_unref (l->server[s]);
    g_ptr_array_unref (l->open[s].gradients);
  }
  g_free (l->server);
  g_free (l->versions);
  g_free (l->open);
  g_free (l->scales);
  g_free (l->last_lr);
  g_free (l->first);
  ls_descender_free (l->descender);
  ls_descender_free (l->outer);
}

void ls_learner_free (LsLearner *l) {
  if (l == NULL)
    return;
  for (guint i = 0; l->pending != NULL && i < l->pending->len; i++)
    ls_learner_gradient_free (l->pending->pdata[i], l->options.shards);
  if (l->pending != NULL)
    g_ptr_array_unref (l->pending);
  free_workers (l);
  free_server (l);
  ls_parts_free (l->parts);
  ls_workspace_free (l->workspace);
  g_free (l->mean);
  g_free (l->scratch);
  g_free (l->gathered);
  g_free (l->mean_square);
  g_free (l->average);
  g_free (l->averaged);
  g_free (l->rows);
  g_free (l->staleness);
  if (l->results != NULL)
    g_array_unref (l->results);
  g_free (l);
}

/* --- records -------------------------------------------------------------------------------- */

static void shards_of (const LsLearner *l, const LsUpdateRecord *record, guint *first, guint *end) {
  LS_REQUIRE (record->shard < (gint32) l->options.shards, "shard %d of %u", record->shard,
              l->options.shards);
  *first = record->shard < 0 ? 0 : (guint) record->shard;
  *end = record->shard < 0 ? l->options.shards : *first + 1;
}

static void read_copy (LsLearner *l, const LsUpdateRecord *record) {
  LsLearnWorker *worker = &l->workers[record->worker];
  guint first, end;

  shards_of (l, record, &first, &end);
  for (guint s = first; s < end; s++) {
    LS_REQUIRE (record->version < 0 || record->version == l->versions[s],
                "worker %d reads version %" G_GINT64_FORMAT
                " of shard %u, which has %" G_GINT64_FORMAT,
                record->worker, record->version, s, l->versions[s]);
    ls_piece_set (&worker->copy[s], l->server[s]);
    ls_piece_set (&worker->before[s], NULL);
    worker->versions[s] = l->versions[s];
  }
}

static void take_gradient (LsLearner *l, const LsUpdateRecord *record) {
  g_ptr_array_add (l->pending, ls_learner_gradient_new (l, record));
}

static void drop (LsLearner *l, const LsUpdateRecord *record) {
  LsGradient *g = ls_learner_pending (l, record->gradient);
  guint first, end;

  shards_of (l, record, &first, &end);
  for (guint s = first; s < end; s++)
    ls_learner_settle (l, g, s, FALSE);
}

typedef void (*RecordFunc) (LsLearner *l, const LsUpdateRecord *record);

static const RecordFunc functions[] = {
    [LS_UPDATE_READ] = read_copy,
    [LS_UPDATE_GRADIENT] = take_gradient,
    [LS_UPDATE_LOCAL_STEP] = ls_learner_local_step,
    [LS_UPDATE_APPLY] = ls_learner_apply,
    [LS_UPDATE_DROP] = drop,
    [LS_UPDATE_AVERAGE] = ls_learner_average,
    [LS_UPDATE_ELASTIC] = ls_learner_elastic,
    [LS_UPDATE_PAIR_AVERAGE] = ls_learner_pair_average,
    [LS_UPDATE_OUTER_STEP] = ls_learner_outer_step,
};
G_STATIC_ASSERT (G_N_ELEMENTS (functions) == LS_N_UPDATE_OPERATIONS);

void ls_learner_update (LsLearner *l, const LsUpdateRecord *record) {
  LS_REQUIRE ((guint) record->operation < LS_N_UPDATE_OPERATIONS, "operation %d",
              (int) record->operation);
  LS_REQUIRE (record->worker < (gint32) l->options.workers, "worker %d of %u", record->worker,
              l->options.workers);
  if (record->shard >= (gint32) l->options.shards)
    return; /* of a model with more parameters: none of this problem's lies there */
  LS_REQUIRE (record->worker >= 0 ||
                  (record->operation != LS_UPDATE_READ && record->operation != LS_UPDATE_GRADIENT &&
                   record->operation != LS_UPDATE_LOCAL_STEP),
              "a %s without its worker", ls_update_operation_name (record->operation));
  LS_REQUIRE (record->t_ps >= l->t_ps, "a record of the past");
  l->t_ps = record->t_ps;
  functions[record->operation](l, record);
}

void ls_learner_finish (LsLearner *l) {
  const LsLearnRow *last = &g_array_index (l->results, LsLearnRow, l->results->len - 1);

  if (!l->result.diverged && last->updates < ls_learner_updates (l))
    ls_learner_measure (l);
}

static void copy_out (const LsLearner *l, LsPiece *const *pieces, double *parameters) {
  for (guint s = 0; s < l->options.shards; s++)
    memcpy (parameters + l->first[s], pieces[s]->values, pieces[s]->n * sizeof (double));
}

void ls_learner_server (const LsLearner *l, double *parameters) {
  copy_out (l, l->server, parameters);
}

void ls_learner_copy (const LsLearner *l, guint worker, double *parameters) {
  LS_REQUIRE (worker < l->options.workers, "worker %u of %u", worker, l->options.workers);
  copy_out (l, l->workers[worker].copy, parameters);
}

gsize ls_learner_n_parameters (const LsLearner *l) {
  return l->n;
}
