/* The quadratic f (w) = sum_i h_i (w_i - b_i)^2 / 2 with normal gradient noise.
 *
 * In the basis of its eigenvectors the Hessian is diagonal, and SGD with momentum does not depend on
 * the basis; so nothing is lost by keeping it diagonal (Adam does depend on it: its axes are then the
 * eigenvectors, its best case). Workers may have optima and curvatures of their own: the mean problem
 * is the one with the mean curvature and the weighted mean optimum of the first workers asked for; it
 * is evaluated as the problem without spread.
 */
#include "base/assert.h"
#include "learn/normal.h"
#include "learn/problem_private.h"

#include <string.h>

typedef struct {
  LsProblem base;
  double *curvatures;
  guint64 optimum_key, curvature_key;
} Quadratic;

static void quadratic_free (LsProblem *problem) {
  Quadratic *q = (Quadratic *) problem;

  g_free (q->curvatures);
  g_free (q);
}

static void quadratic_start (const LsProblem *problem, guint64 seed, double *parameters) {
  (void) seed;
  for (gsize i = 0; i < problem->n_parameters; i++)
    parameters[i] = problem->settings.start;
}

static LsWorkspace *quadratic_workspace_new (const LsProblem *problem) {
  (void) problem;
  return g_new0 (LsWorkspace, 1);
}

static void quadratic_workspace_free (LsWorkspace *workspace) {
  g_free (workspace);
}

static double quadratic_evaluate (const LsProblem *problem, LsWorkspace *workspace,
                                  const LsArithmetic *a, const double *parameters,
                                  const LsBatch *batch, double *gradient, gsize *correct) {
  const Quadratic *q = (const Quadratic *) problem;
  const LsProblemSettings *s = &problem->settings;
  const double noise = batch->noise_key == 0 ? 0 : s->noise / sqrt ((double) batch->n);
  const gsize n = problem->n_parameters;
  const guint64 own = batch->worker < 0 ? 0 : (guint64) batch->worker * n;
  double loss = 0;

  for (gsize i = 0; i < n; i++) {
    double h = q->curvatures[i], b = 0, w, g;

    if (batch->worker >= 0 && s->curvature_spread > 0)
      h *= exp (s->curvature_spread * ls_normal_at (q->curvature_key, own + i));
    if (batch->worker >= 0 && s->optimum_spread > 0)
      b = s->optimum_spread * ls_normal_at (q->optimum_key, own + i);
    w = ls_number_round (a->parameters, parameters[i]) - b;
    g = h * w;
    loss += g * w / 2;
    if (noise > 0)
      g += noise * ls_normal_at (batch->noise_key, batch->noise_index * n + i);
    if (gradient != NULL)
      gradient[i] = g * a->loss_scale;
  }
  if (gradient != NULL)
    ls_number_round_all (a->gradients, gradient, n, &workspace->counts.gradients);
  if (correct != NULL)
    *correct = 0;
  return loss;
}

static const LsProblemClass quadratic_class = {quadratic_free, quadratic_start,
                                               quadratic_workspace_new, quadratic_workspace_free,
                                               quadratic_evaluate};

static LsProblem *quadratic_new (const LsProblemSettings *settings, const LsDataset *data,
                                 GError **error) {
  Quadratic *q = g_new0 (Quadratic, 1);

  (void) error;
  LS_REQUIRE (settings->dimension > 0, "a quadratic of no dimension");
  q->base = (LsProblem){.class = &quadratic_class,
                        .settings = *settings,
                        .data = data,
                        .n_parameters = settings->dimension};
  q->curvatures = g_memdup2 (settings->curvatures, settings->dimension * sizeof (double));
  q->base.settings.curvatures = q->curvatures;
  q->optimum_key = ls_random_key (settings->worker_seed, "quadratic-optimum", 0);
  q->curvature_key = ls_random_key (settings->worker_seed, "quadratic-curvature", 0);
  return &q->base;
}

const LsProblemKind ls_problem_quadratic = {
    .name = "quadratic",
    .meaning = "sum of h x^2 / 2 with a spectrum of your choice and normal gradient noise",
    .create = quadratic_new,
};
