/* Optimisers, see optimizer.h. */
#include "learn/optimizer.h"

#include "base/assert.h"

#include <math.h>

struct LsDescender {
  const LsDescentSettings *settings;
  gsize n;
  LsNumber state_format;
  double *velocity; /* momentum, nesterov; adam: mean of g */
  double *square;   /* adam: mean of g^2 */
  gint64 *steps;    /* per shard */
};

/* A step turns gradients into changes (what is added to w), in place. */
typedef void (*ChangeFunc) (LsDescender *d, const LsDescentStep *step, const double *w, double *g);

static void decay_into (const LsDescentSettings *s, const LsDescentStep *step, const double *w,
                        double *g) {
  for (gsize i = 0; s->weight_decay > 0 && i < step->n; i++)
    g[i] += s->weight_decay * w[i];
}

static void change_sgd (LsDescender *d, const LsDescentStep *step, const double *w, double *g) {
  decay_into (d->settings, step, w, g);
  for (gsize i = 0; i < step->n; i++)
    g[i] = -step->lr * g[i];
}

/* v = mu (scale v) + g, rounded. */
static void accelerate (LsDescender *d, const LsDescentStep *step, const double *w, double *g) {
  const double keep = step->momentum * step->velocity_scale;
  double *v = d->velocity + step->first;

  decay_into (d->settings, step, w, g);
  for (gsize i = 0; i < step->n; i++)
    v[i] = keep * v[i] + g[i];
  ls_number_round_all (d->state_format, v, step->n, NULL);
}

static void change_momentum (LsDescender *d, const LsDescentStep *step, const double *w,
                             double *g) {
  const double *v = d->velocity + step->first;

  accelerate (d, step, w, g);
  for (gsize i = 0; i < step->n; i++)
    g[i] = -step->lr * v[i];
}

static void change_nesterov (LsDescender *d, const LsDescentStep *step, const double *w,
                             double *g) {
  const double *v = d->velocity + step->first;

  accelerate (d, step, w, g);
  for (gsize i = 0; i < step->n; i++)
    g[i] = -step->lr * (g[i] + step->momentum * v[i]);
}

static void adam (LsDescender *d, const LsDescentStep *step, const double *w, double *g,
                  gboolean beside) {
  const LsDescentSettings *s = d->settings;
  const double t = (double) (d->steps[step->shard] + 1);
  const double correct1 = 1 - pow (s->beta1, t), correct2 = 1 - pow (s->beta2, t);
  double *m = d->velocity + step->first, *q = d->square + step->first;

  if (!beside)
    decay_into (s, step, w, g);
  for (gsize i = 0; i < step->n; i++) {
    m[i] = s->beta1 * m[i] + (1 - s->beta1) * g[i];
    q[i] = s->beta2 * q[i] + (1 - s->beta2) * g[i] * g[i];
  }
  ls_number_round_all (d->state_format, m, step->n, NULL);
  ls_number_round_all (d->state_format, q, step->n, NULL);
  for (gsize i = 0; i < step->n; i++) {
    g[i] = -step->lr * (m[i] / correct1) / (sqrt (q[i] / correct2) + s->epsilon);
    if (beside)
      g[i] -= step->lr * s->weight_decay * w[i];
  }
}

static void change_adam (LsDescender *d, const LsDescentStep *step, const double *w, double *g) {
  adam (d, step, w, g, FALSE);
}

static void change_adamw (LsDescender *d, const LsDescentStep *step, const double *w, double *g) {
  adam (d, step, w, g, TRUE);
}

static const struct {
  const char *name;
  guint states; /* arrays per parameter */
  ChangeFunc change;
} kinds[] = {
    [LS_DESCENT_SGD] = {"sgd", 0, change_sgd},
    [LS_DESCENT_MOMENTUM] = {"momentum", 1, change_momentum},
    [LS_DESCENT_NESTEROV] = {"nesterov", 1, change_nesterov},
    [LS_DESCENT_ADAM] = {"adam", 2, change_adam},
    [LS_DESCENT_ADAMW] = {"adamw", 2, change_adamw},
};
G_STATIC_ASSERT (G_N_ELEMENTS (kinds) == LS_N_DESCENTS);

const char *ls_descent_name (LsDescent kind) {
  LS_REQUIRE ((guint) kind < LS_N_DESCENTS, "optimizer %d", (int) kind);
  return kinds[kind].name;
}

LsDescender *ls_descender_new (const LsDescentSettings *settings, gsize n, guint shards,
                               LsNumber state) {
  LsDescender *d = g_new0 (LsDescender, 1);

  d->settings = settings;
  d->n = n;
  d->state_format = state;
  d->steps = g_new0 (gint64, shards);
  return d;
}

void ls_descender_free (LsDescender *d) {
  if (d == NULL)
    return;
  g_free (d->velocity);
  g_free (d->square);
  g_free (d->steps);
  g_free (d);
}

gint64 ls_descender_steps (const LsDescender *d, guint shard) {
  return d->steps[shard];
}

gsize ls_descender_step (LsDescender *d, const LsDescentStep *step, double *w, double *g) {
  gsize lost = 0;

  LS_REQUIRE (step->first + step->n <= d->n, "parameters %" G_GSIZE_FORMAT " and on", step->first);
  if (d->velocity == NULL && kinds[d->settings->kind].states >= 1)
    d->velocity = g_new0 (double, d->n);
  if (d->square == NULL && kinds[d->settings->kind].states >= 2)
    d->square = g_new0 (double, d->n);
  kinds[d->settings->kind].change (d, step, w, g);
  d->steps[step->shard]++;
  if (step->format == LS_NUMBER_FP64) {
    for (gsize i = 0; i < step->n; i++)
      w[i] += g[i];
    return 0;
  }
  for (gsize i = 0; i < step->n; i++) {
    double now = ls_number_round (step->format, w[i] + g[i]);

    lost += now == w[i] && g[i] != 0 ? 1 : 0;
    w[i] = now;
  }
  return lost;
}
