/* Updates of the server by gradients, and local steps of workers. */
#include "base/assert.h"
#include "learn/learner_private.h"

#include <math.h>
#include <string.h>

/* Weight of the running mean of staleness per update. source: choice, about the last 100 updates */
#define TAU_MEMORY 0.99

static gint by_worker (gconstpointer a, gconstpointer b) {
  const LsGradient *g = *(const LsGradient *const *) a, *h = *(const LsGradient *const *) b;

  if (g->worker != h->worker)
    return g->worker < h->worker ? -1 : 1;
  return g->number < h->number ? -1 : g->number > h->number;
}

static gint64 staleness_of (const LsLearner *l, const LsGradient *g, guint shard) {
  gint64 tau = l->versions[shard] - g->versions[shard];

  LS_REQUIRE (tau >= 0, "gradient %" G_GINT64_FORMAT " is from the future", g->number);
  return tau;
}

static double distance_of (const LsLearner *l, const LsGradient *g, guint shard) {
  const double *now = l->server[shard]->values, *read = g->copy[shard]->values;
  double sum = 0;

  for (gsize i = 0; i < l->server[shard]->n; i++)
    sum += (now[i] - read[i]) * (now[i] - read[i]);
  return sum;
}

/* Adds weight x gradient / scale of the shard to its mean. */
static void add_gradient (LsLearner *l, LsGradient *g, guint shard, double weight) {
  const gsize first = l->first[shard], n = l->first[shard + 1] - first;
  double *mean = l->mean + first, *own = l->scratch + first;

  for (gsize i = 0; i < n; i++)
    own[i] = g->values[first + i] / g->scale;
  if (l->settings->compensation.kind != LS_COMPENSATION_NONE)
    ls_compensate (&l->settings->compensation, n, l->server[shard]->values, g->copy[shard]->values,
                   l->mean_square != NULL ? l->mean_square + first : NULL, own);
  for (gsize i = 0; i < n; i++)
    mean[i] += weight * own[i];
  ls_learner_round_sum (l, mean, n);
}

/* The mean of the update's gradients in l->mean; FALSE when some value is not finite. */
static gboolean sum_up (LsLearner *l, guint shard, double lr) {
  const gsize first = l->first[shard], n = l->first[shard + 1] - first;
  GPtrArray *gradients = l->open[shard].gradients;
  const double k = (double) gradients->len;
  gboolean finite = TRUE;

  g_ptr_array_sort (gradients, by_worker);
  memset (l->mean + first, 0, n * sizeof (double));
  for (guint i = 0; i < gradients->len; i++) {
    LsGradient *g = gradients->pdata[i];
    gint64 tau = staleness_of (l, g, shard);
    double distance, weight;

    ls_learner_compute (l, g);
    finite = finite && g->finite;
    distance = ls_stale_needs_distance (&l->settings->stale_rate) ? distance_of (l, g, shard) : 0;
    weight = ls_stale_weight (&l->settings->stale_rate, tau, lr, distance);
    add_gradient (l, g, shard, weight);
    if (shard == 0)
      ls_learner_count_staleness (l, g->worker, tau);
    l->mean_tau = TAU_MEMORY * l->mean_tau + (1 - TAU_MEMORY) * (double) tau;
  }
  for (gsize i = first; i < first + n; i++)
    l->mean[i] /= k;
  ls_learner_round_sum (l, l->mean + first, n);
  return finite;
}

static LsDescentStep step_of (const LsLearner *l, guint shard, double lr, double last_lr) {
  LsDescentStep step = {.shard = shard,
                        .first = l->first[shard],
                        .n = l->first[shard + 1] - l->first[shard],
                        .lr = lr,
                        .momentum = l->optimizer.momentum,
                        .velocity_scale = 1,
                        .format = ls_learner_kept_format (l)};

  if (l->settings->momentum_correction == LS_MOMENTUM_CORRECTION_ASYNCHRONY)
    step.momentum = ls_stale_momentum (l->optimizer.momentum, l->mean_tau);
  /* Goyal et al. 2017: with w -= lr v, momentum keeps its meaning when v shrinks as lr grows. */
  if (l->settings->momentum_correction == LS_MOMENTUM_CORRECTION_LR && last_lr > 0)
    step.velocity_scale = last_lr / lr;
  return step;
}

static double rate_of (const LsLearner *l, const LsDescender *descender, guint shard) {
  return l->optimizer.lr *
         ls_rate_factor (&l->settings->schedule, ls_descender_steps (descender, shard));
}

static void settle_all (LsLearner *l, guint shard) {
  GPtrArray *gradients = l->open[shard].gradients;

  for (guint i = 0; i < gradients->len; i++)
    ls_learner_settle (l, gradients->pdata[i], shard, TRUE);
  g_ptr_array_set_size (gradients, 0);
}

/* One step of the server by what its shards have gathered. */
static void close_update (LsLearner *l, guint first, guint end) {
  const gsize from = l->first[first], n = l->first[end] - from;
  gboolean finite = TRUE;

  for (guint s = first; s < end; s++)
    finite = sum_up (l, s, rate_of (l, l->descender, s)) && finite;
  if (l->settings->clip == LS_CLIP_UPDATE && finite)
    ls_learner_clip (l->mean + from, n, l->settings->clip_norm);
  for (guint s = first; s < end; s++) {
    const double lr = rate_of (l, l->descender, s);

    if (!ls_loss_scale_update (&l->scales[s], &l->settings->loss_scale, finite))
      l->skipped += s == 0 ? 1 : 0;
    else if (!l->result.diverged) {
      const LsDescentStep step = step_of (l, s, lr, l->last_lr[s]);

      l->lost += ls_descender_step (l->descender, &step, ls_piece_write (&l->server[s]),
                                    l->mean + l->first[s]);
      l->last_lr[s] = lr;
    }
    settle_all (l, s);
    l->versions[s]++;
  }
  ls_learner_updated (l, first, end);
}

void ls_learner_apply (LsLearner *l, const LsUpdateRecord *record) {
  LsGradient *g = ls_learner_pending (l, record->gradient);
  guint first = record->shard < 0 ? 0 : (guint) record->shard;
  guint end = record->shard < 0 ? l->options.shards : first + 1;

  LS_REQUIRE (record->shard < (gint32) l->options.shards, "shard %d of %u", record->shard,
              l->options.shards);
  for (guint s = first; s < end; s++) {
    LS_REQUIRE (record->version < 0 || record->version == l->versions[s] + 1,
                "an update makes version %" G_GINT64_FORMAT
                " of shard %u, which has %" G_GINT64_FORMAT,
                record->version, s, l->versions[s]);
    LS_REQUIRE (!g->done[s] && !g_ptr_array_find (l->open[s].gradients, g, NULL),
                "shard %u of gradient %" G_GINT64_FORMAT " is applied twice", s, g->number);
    g_ptr_array_add (l->open[s].gradients, g);
  }
  if (record->closes)
    close_update (l, first, end);
}

/* --- local steps ---------------------------------------------------------------------------- */

static void step_worker (LsLearner *l, LsLearnWorker *worker, const LsGradient *g) {
  LsDescentStep step;
  double lr;

  for (gsize i = 0; i < l->n; i++)
    l->mean[i] = g->values[i] / g->scale;
  ls_learner_round_sum (l, l->mean, l->n);
  if (l->settings->clip == LS_CLIP_UPDATE)
    ls_learner_clip (l->mean, l->n, l->settings->clip_norm);
  for (guint s = 0; s < l->options.shards; s++) {
    if (l->keep_before)
      ls_piece_set (&worker->before[s], worker->copy[s]);
    lr = rate_of (l, worker->descender, s);
    step = step_of (l, s, lr, worker->last_lr);
    l->lost += ls_descender_step (worker->descender, &step, ls_piece_write (&worker->copy[s]),
                                  l->mean + l->first[s]);
    if (s + 1 == l->options.shards)
      worker->last_lr = lr;
  }
}

void ls_learner_local_step (LsLearner *l, const LsUpdateRecord *record) {
  LsLearnWorker *worker = &l->workers[record->worker];
  LsGradient *g = ls_learner_gradient_new (l, record);

  g_ptr_array_add (l->pending, g);
  if (worker->descender == NULL)
    worker->descender =
        ls_descender_new (&l->optimizer, l->n, l->options.shards, l->settings->precision.optimizer);
  ls_learner_compute (l, g);
  for (guint s = 0; s < l->options.shards; s++)
    ls_piece_set (&g->copy[s], NULL);
  if (!ls_loss_scale_update (&worker->scale, &l->settings->loss_scale, g->finite))
    l->skipped++;
  else if (!l->result.diverged)
    step_worker (l, worker, g);
  for (guint s = 0; s < l->options.shards; s++)
    ls_learner_settle (l, g, s, TRUE);
}
