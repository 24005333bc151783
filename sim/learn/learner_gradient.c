/* Gradients of the learner: their mini-batches, their values, and what becomes of them. */
#include "base/assert.h"
#include "base/random.h"
#include "learn/learner_private.h"

#include <math.h>
#include <string.h>

static gboolean is_exact (const LsLearner *l) {
  return l->settings->precision.optimizer == LS_NUMBER_FP64;
}

LsNumber ls_learner_kept_format (const LsLearner *l) {
  const LsLearnPrecision *p = &l->settings->precision;

  if (p->optimizer == LS_NUMBER_FP64)
    return LS_NUMBER_FP64;
  return p->master ? LS_NUMBER_FP32 : p->parameters;
}

void ls_learner_round_sum (const LsLearner *l, double *values, gsize n) {
  if (!is_exact (l))
    ls_number_round_all (LS_NUMBER_FP32, values, n, NULL);
}

double ls_learner_norm (const double *values, gsize n) {
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += values[i] * values[i];
  return sqrt (sum);
}

void ls_learner_clip (double *values, gsize n, double norm) {
  double length = ls_learner_norm (values, n);

  for (gsize i = 0; length > norm && i < n; i++)
    values[i] *= norm / length;
}

/* --- mini-batches --------------------------------------------------------------------------- */

/* The order of the worker's rows in an epoch, as positions among its rows. */
static const guint32 *order_of (LsLearner *l, guint w, gsize n, gint64 epoch) {
  LsLearnWorker *worker = &l->workers[w];
  LsRandom random;

  if (worker->epoch == epoch)
    return worker->order;
  if (worker->order == NULL)
    worker->order = g_new (guint32, n);
  ls_random_init (&random, ls_random_key (l->options.seed, "epoch-order", w), "epoch",
                  (guint64) epoch);
  for (gsize i = 0; i < n; i++) {
    gsize j = (gsize) ls_random_below (&random, i + 1);

    worker->order[i] = worker->order[j];
    worker->order[j] = (guint32) i;
  }
  worker->epoch = epoch;
  return worker->order;
}

static void draw_rows (LsLearner *l, const LsGradient *g, gsize m) {
  const guint64 key = ls_random_key (l->options.seed, "mini-batch", g->worker);
  gsize n;
  const guint32 *own = ls_parts_of (l->parts, g->worker, &n);

  if (l->rows_room < m) {
    l->rows = g_renew (guint32, l->rows, m);
    l->rows_room = m;
  }
  for (gsize j = 0; j < m; j++) {
    if (l->settings->data.sampling == LS_SAMPLING_REPLACEMENT) {
      /* The upper half of hash x n: uniform to n / 2^64. */
      const unsigned __int128 product =
          (unsigned __int128) ls_random_hash (key, g->batch, j) * (unsigned __int128) n;

      l->rows[j] = own[(gsize) (product >> 64)];
    } else {
      guint64 at = g->position + j;

      l->rows[j] = own[order_of (l, g->worker, n, (gint64) (at / n))[at % n]];
    }
  }
}

/* --- life ----------------------------------------------------------------------------------- */

LsGradient *ls_learner_gradient_new (LsLearner *l, const LsUpdateRecord *record) {
  LsLearnWorker *worker = &l->workers[record->worker];
  LsGradient *g = g_new0 (LsGradient, 1);

  LS_REQUIRE (record->gradient == l->next_gradient,
              "gradient %" G_GINT64_FORMAT " where %" G_GINT64_FORMAT " comes next",
              record->gradient, l->next_gradient);
  l->next_gradient++;
  g->number = record->gradient;
  g->worker = (guint) record->worker;
  g->samples = l->settings->batch > 0 ? l->settings->batch : record->samples;
  LS_REQUIRE (g->samples > 0, "gradient %" G_GINT64_FORMAT " of no samples", g->number);
  g->batch = worker->batches++;
  g->position = worker->position;
  worker->position += (guint64) g->samples;
  g->shards_left = l->options.shards;
  g->done = g_new0 (guint8, l->options.shards);
  g->versions = g_memdup2 (worker->versions, l->options.shards * sizeof (gint64));
  g->copy = g_new0 (LsPiece *, l->options.shards);
  for (guint s = 0; s < l->options.shards; s++)
    ls_piece_set (&g->copy[s], worker->copy[s]);
  g->scale = record->operation == LS_UPDATE_LOCAL_STEP ? worker->scale.scale : l->scales[0].scale;
  return g;
}

static void let_go (LsGradient *g, guint shards) {
  for (guint s = 0; s < shards; s++)
    ls_piece_set (&g->copy[s], NULL);
}

void ls_learner_gradient_free (LsGradient *g, guint shards) {
  if (g == NULL)
    return;
  let_go (g, shards); /* of what was still on its way */
  g_free (g->done);
  g_free (g->versions);
  g_free (g->copy);
  g_free (g->values);
  g_free (g);
}

LsGradient *ls_learner_pending (LsLearner *l, gint64 number) {
  gint64 at = number - l->first_pending;

  LS_REQUIRE (number >= 0 && number < l->next_gradient,
              "gradient %" G_GINT64_FORMAT " was never taken", number);
  LS_REQUIRE (at >= 0 && l->pending->pdata[at] != NULL,
              "gradient %" G_GINT64_FORMAT " is used again", number);
  return l->pending->pdata[at];
}

/* Forgets the settled gradients at the front, now and then. */
static void forget_front (LsLearner *l) {
  guint settled = 0;

  while (settled < l->pending->len && l->pending->pdata[settled] == NULL)
    settled++;
  if (settled < 64 || settled < l->pending->len / 2)
    return;
  g_ptr_array_remove_range (l->pending, 0, settled);
  l->first_pending += settled;
}

void ls_learner_settle (LsLearner *l, LsGradient *g, guint shard, gboolean applied) {
  LS_REQUIRE (!g->done[shard],
              "shard %u of gradient %" G_GINT64_FORMAT " is applied or dropped twice", shard,
              g->number);
  g->done[shard] = 1;
  g->used = g->used || applied;
  if (g->computed) /* else another shard may still ask for its value */
    ls_piece_set (&g->copy[shard], NULL);
  if (--g->shards_left > 0)
    return;
  if (g->used) {
    l->applied++;
    l->samples += g->samples;
  } else
    l->dropped++;
  l->pending->pdata[g->number - l->first_pending] = NULL;
  ls_learner_gradient_free (g, l->options.shards);
  forget_front (l);
}

/* --- values --------------------------------------------------------------------------------- */

static const double *parameters_of (LsLearner *l, const LsGradient *g) {
  if (l->options.shards == 1)
    return g->copy[0]->values;
  for (guint s = 0; s < l->options.shards; s++)
    memcpy (l->gathered + l->first[s], g->copy[s]->values, g->copy[s]->n * sizeof (double));
  return l->gathered;
}

void ls_learner_compute (LsLearner *l, LsGradient *g) {
  const LsLearnPrecision *p = &l->settings->precision;
  const LsArithmetic arithmetic = {p->parameters, p->activations, p->gradients, g->scale};
  LsBatch batch = {.n = (gsize) g->samples, .worker = g->worker, .noise_index = g->batch};

  if (g->computed)
    return;
  g->computed = TRUE;
  g->finite = TRUE;
  g->values = g_new (double, l->n);
  if (l->result.diverged) {
    memset (g->values, 0, l->n * sizeof (double));
    return;
  }
  batch.noise_key = ls_random_key (l->options.seed, "gradient-noise", g->worker);
  if (l->parts != NULL) {
    draw_rows (l, g, batch.n);
    batch.rows = l->rows;
  }
  ls_problem_evaluate (l->task->problem, l->workspace, &arithmetic, parameters_of (l, g), &batch,
                       g->values, NULL);
  for (gsize i = 0; i < l->n && g->finite; i++)
    g->finite = isfinite (g->values[i]);
  if (l->settings->clip == LS_CLIP_WORKER && g->finite)
    ls_learner_clip (g->values, l->n, l->settings->clip_norm * g->scale);
  if (l->options.shards == 1 && !ls_stale_needs_distance (&l->settings->stale_rate) &&
      l->settings->compensation.kind == LS_COMPENSATION_NONE)
    let_go (g, 1);
}
