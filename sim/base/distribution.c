/* Distributions by name; model and ownership are in distribution.h. One record per kind; all draw
 * through the GSL on a stream of base/random.h. */
#include "base/distribution.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/quantity.h"

#define V(i) (d->values[i])
#define TIME(key, text) \
  { key, LS_PARAMETER_TIME, TRUE, text }
#define TIME_OR_ZERO(key, text) \
  { key, LS_PARAMETER_TIME, FALSE, text }
#define NUMBER(key, text) \
  { key, LS_PARAMETER_NUMBER, TRUE, text }
#define SHARE(key, text) \
  { key, LS_PARAMETER_SHARE, FALSE, text }
#define BOOK "Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions; drawn by the GSL"

static double constant_mean (const LsDistribution *d) {
  return V (0);
}

static double constant_draw (const LsDistribution *d, gsl_rng *rng) {
  (void) rng;
  return V (0);
}

static double exponential_mean (const LsDistribution *d) {
  return V (0);
}

static double exponential_draw (const LsDistribution *d, gsl_rng *rng) {
  return gsl_ran_exponential (rng, V (0));
}

static double shifted_mean (const LsDistribution *d) {
  return V (0) + V (1);
}

static double shifted_draw (const LsDistribution *d, gsl_rng *rng) {
  return V (0) + gsl_ran_exponential (rng, V (1));
}

static double uniform_mean (const LsDistribution *d) {
  return (V (0) + V (1)) / 2;
}

static double uniform_draw (const LsDistribution *d, gsl_rng *rng) {
  return gsl_ran_flat (rng, V (0), V (1));
}

static char *uniform_check (const LsDistribution *d) {
  return V (1) >= V (0) ? NULL : g_strdup ("high is below low");
}

static double lognormal_mean (const LsDistribution *d) {
  return V (0) * exp (V (1) * V (1) / 2);
}

static double lognormal_draw (const LsDistribution *d, gsl_rng *rng) {
  return V (0) * exp (gsl_ran_gaussian_ziggurat (rng, V (1)));
}

static double gamma_mean (const LsDistribution *d) {
  return V (0);
}

static double gamma_draw (const LsDistribution *d, gsl_rng *rng) {
  return gsl_ran_gamma (rng, V (1), V (0) / V (1));
}

static double weibull_mean (const LsDistribution *d) {
  return V (0) * tgamma (1 + 1 / V (1));
}

static double weibull_draw (const LsDistribution *d, gsl_rng *rng) {
  return gsl_ran_weibull (rng, V (0), V (1));
}

static double pareto_mean (const LsDistribution *d) {
  return V (1) > 1 ? V (0) * V (1) / (V (1) - 1) : INFINITY;
}

static double pareto_draw (const LsDistribution *d, gsl_rng *rng) {
  return gsl_ran_pareto (rng, V (1), V (0));
}

static double bimodal_mean (const LsDistribution *d) {
  return V (0) + V (2) * (V (1) - V (0));
}

static double bimodal_draw (const LsDistribution *d, gsl_rng *rng) {
  return gsl_rng_uniform (rng) < V (2) ? V (1) : V (0);
}

static double empirical_mean (const LsDistribution *d) {
  double sum = 0;

  for (guint i = 0; i < d->n_samples; i++)
    sum += d->samples[i];
  return sum / d->n_samples;
}

static double empirical_draw (const LsDistribution *d, gsl_rng *rng) {
  return d->samples[gsl_rng_uniform_int (rng, d->n_samples)];
}

static const LsDistributionKind kinds[] = {
    {.name = "constant",
     .parameters = {TIME_OR_ZERO ("value", "the time")},
     .law = "X = value",
     .use = "identical machines",
     .source = "definition",
     .mean = constant_mean,
     .draw = constant_draw},
    {.name = "exponential",
     .parameters = {TIME ("mean", "the mean")},
     .law = "P(X > x) = exp(-x/mean)",
     .use = "the memoryless standard of the literature on delays; lifetimes",
     .source = BOOK,
     .mean = exponential_mean,
     .draw = exponential_draw},
    {.name = "shifted-exponential",
     .parameters = {TIME_OR_ZERO ("shift", "the least time"), TIME ("mean", "mean of the rest")},
     .law = "X = shift + exponential(mean)",
     .use = "work that nobody does faster, and random delay on top (Dutta et al. 2018)",
     .source = BOOK,
     .mean = shifted_mean,
     .draw = shifted_draw},
    {.name = "uniform",
     .parameters = {TIME_OR_ZERO ("low", "the least time"), TIME ("high", "the longest time")},
     .law = "density 1/(high - low) between low and high",
     .use = "nearly homogeneous machines",
     .source = BOOK,
     .mean = uniform_mean,
     .draw = uniform_draw,
     .check = uniform_check},
    {.name = "lognormal",
     .parameters = {TIME ("median", "half are shorter"),
                    NUMBER ("sigma", "standard deviation of the logarithm")},
     .law = "ln X ~ normal(ln median, sigma)",
     .use = "measured step and repair times",
     .source = BOOK,
     .mean = lognormal_mean,
     .draw = lognormal_draw},
    {.name = "gamma",
     .parameters = {TIME ("mean", "the mean"),
                    NUMBER ("shape", "1: exponential; large: nearly constant")},
     .law = "density x^(shape-1) exp(-x shape/mean), normalised",
     .use = "sums of stages; variance mean^2/shape",
     .source = BOOK,
     .mean = gamma_mean,
     .draw = gamma_draw},
    {.name = "weibull",
     .parameters = {TIME ("scale", "63.2 % are shorter"),
                    NUMBER ("shape", "below 1: infant mortality; 1: exponential; above: wear")},
     .law = "P(X > x) = exp(-(x/scale)^shape)",
     .use = "lifetimes of hardware",
     .source = BOOK,
     .mean = weibull_mean,
     .draw = weibull_draw},
    {.name = "pareto",
     .parameters = {TIME ("minimum", "the least time"),
                    NUMBER ("shape", "tail index; at most 1: no mean; at most 2: no variance")},
     .law = "P(X > x) = (minimum/x)^shape for x >= minimum",
     .use = "heavy tails (Dutta et al. 2018)",
     .source = BOOK,
     .mean = pareto_mean,
     .draw = pareto_draw},
    {.name = "bimodal",
     .parameters = {TIME_OR_ZERO ("fast", "the usual time"), TIME ("slow", "the other time"),
                    SHARE ("slow_share", "how often the other")},
     .law = "X = slow with probability slow_share, else fast",
     .use = "machines that stall now and then",
     .source = "definition",
     .mean = bimodal_mean,
     .draw = bimodal_draw},
    {.name = "empirical",
     .from_file = TRUE,
     .law = "one of the samples of a file, all equally likely",
     .use = "measured step times",
     .source = "bootstrap (Efron 1979)",
     .mean = empirical_mean,
     .draw = empirical_draw},
};

guint ls_distribution_kind_count (void) {
  return G_N_ELEMENTS (kinds);
}

const LsDistributionKind *ls_distribution_kind_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (kinds), "distribution %u", i);
  return &kinds[i];
}

const LsDistributionKind *ls_distribution_kind_find (const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_strcmp0 (kinds[i].name, name) == 0)
      return &kinds[i];
  return NULL;
}

const char *const *ls_distribution_names (void) {
  /* In the order of the table; a test compares the two. */
  static const char *const names[] = {
      "constant", "exponential", "shifted-exponential", "uniform", "lognormal", "gamma", "weibull",
      "pareto",   "bimodal",     "empirical",           NULL};

  return names;
}

gint ls_distribution_parameter (const LsDistributionKind *kind, const char *name) {
  for (gint i = 0; i < LS_DISTRIBUTION_PARAMETERS; i++)
    if (g_strcmp0 (kind->parameters[i].name, name) == 0)
      return i;
  return -1;
}

char *ls_distribution_fault (const LsDistribution *d) {
  if (d->kind->from_file) {
    for (guint i = 0; i < d->n_samples; i++)
      if (!isfinite (d->samples[i]) || d->samples[i] < 0)
        return g_strdup_printf ("sample %u is no time", i + 1);
    return d->n_samples > 0 ? NULL : g_strdup ("there are no samples");
  }
  for (guint i = 0; i < LS_DISTRIBUTION_PARAMETERS; i++) {
    const LsDistributionParameter *p = &d->kind->parameters[i];
    if (p->name == NULL)
      continue;
    if (!isfinite (V (i)) || V (i) < 0 || (p->positive && V (i) <= 0))
      return g_strdup_printf ("%s must be %s", p->name, p->positive ? "above zero" : "at least 0");
    if (p->kind == LS_PARAMETER_SHARE && V (i) > 1)
      return g_strdup_printf ("%s must be at most 100 %%", p->name);
  }
  return d->kind->check != NULL ? d->kind->check (d) : NULL;
}

LsDistribution ls_distribution (const char *name, double a, double b, double c) {
  LsDistribution d = {.kind = ls_distribution_kind_find (name), .values = {a, b, c}};

  LS_REQUIRE (d.kind != NULL && !d.kind->from_file, "distribution %s", name);
  g_autofree char *fault = ls_distribution_fault (&d);
  LS_REQUIRE (fault == NULL, "%s: %s", name, fault);
  return d;
}

static int compare_samples (gconstpointer a, gconstpointer b, gpointer data) {
  double x = *(const double *) a, y = *(const double *) b;

  (void) data;
  return (x > y) - (x < y);
}

LsDistribution ls_distribution_empirical (const double *samples, guint n) {
  LsDistribution d = {.kind = ls_distribution_kind_find ("empirical"),
                      .samples = g_memdup2 (samples, n * sizeof *samples),
                      .n_samples = n};

  LS_REQUIRE (n > 0, "no samples");
  g_qsort_with_data (d.samples, (gint) n, sizeof *samples, compare_samples, NULL);
  return d;
}

LsDistribution ls_distribution_copy (const LsDistribution *d) {
  LsDistribution copy = *d;

  copy.samples = g_memdup2 (d->samples, d->n_samples * sizeof *d->samples);
  return copy;
}

void ls_distribution_clear (LsDistribution *d) {
  g_clear_pointer (&d->samples, g_free);
  *d = (LsDistribution){0};
}

double ls_distribution_mean (const LsDistribution *d) {
  return d->kind->mean (d);
}

double ls_distribution_draw (const LsDistribution *d, gsl_rng *rng) {
  return d->kind->draw (d, rng);
}
