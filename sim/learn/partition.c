/* Splits, scales and partitions of data sets, see dataset.h.
 *
 * Partitions: iid deals shuffled rows round robin; label gives worker w the w-th stretch of the rows
 * sorted by class; Dirichlet draws for every class the workers' shares of it (Hsu, Qi, Brown 2019,
 * arXiv 1909.06335, with the roles of classes and workers as in Li et al. 2021) and cuts its rows so.
 */
#include "base/assert.h"
#include "base/error.h"
#include "base/random.h"
#include "learn/dataset.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

/* Where the split starts: the same for every run, so that tests of two runs compare. */
#define SPLIT_SEED 1
/* Draws of a Dirichlet partition until every worker has a row. source: choice */
#define DIRICHLET_TRIES 1000

static void shuffle (guint32 *rows, gsize n, LsRandom *random) {
  for (gsize i = n; i > 1; i--) {
    gsize j = (gsize) ls_random_below (random, i);
    guint32 swap = rows[i - 1];

    rows[i - 1] = rows[j];
    rows[j] = swap;
  }
}

guint32 *ls_dataset_split (const LsDataset *data, double share, gsize *n_train) {
  guint32 *rows = g_new (guint32, data->rows);
  gsize n_test = (gsize) floor (share * (double) data->rows + 0.5);
  LsRandom random;

  for (gsize i = 0; i < data->rows; i++)
    rows[i] = (guint32) i;
  ls_random_init (&random, SPLIT_SEED, "data-split", 0);
  shuffle (rows, data->rows, &random);
  *n_train = data->rows - MIN (n_test, data->rows - 1);
  return rows;
}

static void scale_by_maximum (LsDataset *data, const guint32 *rows, gsize n) {
  double largest = 0;

  for (gsize i = 0; i < n; i++)
    for (gsize j = 0; j < data->features; j++)
      largest = MAX (largest, fabs (data->x[rows[i] * data->features + j]));
  for (gsize i = 0; largest > 0 && i < data->rows * data->features; i++)
    data->x[i] /= largest;
}

static void standardise (LsDataset *data, const guint32 *rows, gsize n) {
  for (gsize j = 0; j < data->features; j++) {
    double mean = 0, square = 0, deviation;

    for (gsize i = 0; i < n; i++)
      mean += data->x[rows[i] * data->features + j];
    mean /= (double) n;
    for (gsize i = 0; i < n; i++) {
      double d = data->x[rows[i] * data->features + j] - mean;

      square += d * d;
    }
    deviation = sqrt (square / (double) n);
    for (gsize i = 0; i < data->rows; i++) {
      double *x = &data->x[i * data->features + j];

      *x = deviation > 0 ? (*x - mean) / deviation : 0;
    }
  }
}

void ls_dataset_scale (LsDataset *data, LsScaling scaling, const guint32 *rows, gsize n) {
  if (scaling == LS_SCALING_MAXIMUM)
    scale_by_maximum (data, rows, n);
  else if (scaling == LS_SCALING_STANDARD)
    standardise (data, rows, n);
}

/* --- partitions ----------------------------------------------------------------------------- */

void ls_parts_free (LsParts *parts) {
  if (parts == NULL)
    return;
  g_free (parts->rows);
  g_free (parts->start);
  g_free (parts);
}

static void deal_evenly (LsParts *parts, gsize n) {
  for (guint32 w = 0; w <= parts->workers; w++)
    parts->start[w] = (gsize) ((guint64) n * w / parts->workers);
}

/* Sorted by class, rows of one class in the order they have. */
static void sort_by_class (const LsDataset *data, guint32 *rows, gsize n) {
  g_autofree guint32 *sorted = g_new (guint32, n);
  gsize at = 0;

  for (guint32 c = 0; c < data->classes; c++)
    for (gsize i = 0; i < n; i++)
      if (data->label[rows[i]] == c)
        sorted[at++] = rows[i];
  LS_REQUIRE (at == n, "rows of %u classes", data->classes);
  memcpy (rows, sorted, n * sizeof *rows);
}

/* One draw: owner[i] of the i-th row (sorted by class). TRUE when every worker has one. */
static gboolean draw_owners (const LsDataset *data, const guint32 *rows, gsize n, double alpha,
                             guint32 workers, gsl_rng *rng, guint32 *owner) {
  g_autofree double *alphas = g_new (double, workers), *share = g_new (double, workers);
  g_autofree gsize *has = g_new0 (gsize, workers);
  gsize first = 0;

  for (guint32 w = 0; w < workers; w++)
    alphas[w] = alpha;
  while (first < n) {
    gsize last = first;
    double sum = 0;
    guint32 w = 0;

    while (last < n && data->label[rows[last]] == data->label[rows[first]])
      last++;
    gsl_ran_dirichlet (rng, workers, alphas, share);
    for (gsize i = first; i < last; i++) {
      double at = ((double) (i - first) + 0.5) / (double) (last - first);

      while (w + 1 < workers && !(at <= sum + share[w]))
        sum += share[w++];
      owner[i] = w;
      has[w]++;
    }
    first = last;
  }
  for (guint32 w = 0; w < workers; w++)
    if (has[w] == 0)
      return FALSE;
  return TRUE;
}

static gboolean deal_by_dirichlet (const LsDataset *data, LsParts *parts, gsize n, double alpha,
                                   guint64 seed, GError **error) {
  gsl_rng *rng = ls_random_gsl_new (seed, "data-dirichlet", 0);
  g_autofree guint32 *owner = g_new (guint32, n), *sorted = NULL;
  gboolean fine = FALSE;
  gsize at = 0;

  sort_by_class (data, parts->rows, n);
  for (guint i = 0; i < DIRICHLET_TRIES && !fine; i++)
    fine = draw_owners (data, parts->rows, n, alpha, parts->workers, rng, owner);
  gsl_rng_free (rng);
  if (!fine) {
    g_set_error (
        error, LS_ERROR, LS_ERROR_CONFIG,
        "Dirichlet (%g) over %u workers leaves some without a row; a larger alpha or fewer "
        "workers",
        alpha, parts->workers);
    return FALSE;
  }
  sorted = g_memdup2 (parts->rows, n * sizeof *sorted);
  for (guint32 w = 0; w < parts->workers; w++) {
    parts->start[w] = at;
    for (gsize i = 0; i < n; i++)
      if (owner[i] == w)
        parts->rows[at++] = sorted[i];
  }
  parts->start[parts->workers] = at;
  return TRUE;
}

LsParts *ls_parts_new (const LsDataset *data, const guint32 *rows, gsize n, LsPartition kind,
                       double alpha, guint32 workers, guint64 seed, GError **error) {
  g_autoptr (LsParts) parts = g_new0 (LsParts, 1);
  LsRandom random;

  if (kind != LS_PARTITION_SHARED && n < workers) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%" G_GSIZE_FORMAT " training rows cannot be dealt to %u workers; "
                 "learn.data.partition: shared lets all draw from all",
                 n, workers);
    return NULL;
  }
  parts->workers = workers;
  parts->rows = g_memdup2 (rows, n * sizeof *rows);
  parts->n = n;
  if (kind == LS_PARTITION_SHARED)
    return g_steal_pointer (&parts);
  parts->start = g_new0 (gsize, (gsize) workers + 1);
  ls_random_init (&random, seed, "data-deal", 0);
  if (kind == LS_PARTITION_DIRICHLET) {
    if (!deal_by_dirichlet (data, parts, n, alpha, seed, error))
      return NULL;
    return g_steal_pointer (&parts);
  }
  if (kind == LS_PARTITION_IID)
    shuffle (parts->rows, n, &random);
  else
    sort_by_class (data, parts->rows, n);
  deal_evenly (parts, n);
  return g_steal_pointer (&parts);
}

const guint32 *ls_parts_of (const LsParts *parts, guint32 worker, gsize *n) {
  LS_REQUIRE (worker < parts->workers, "worker %u of %u", worker, parts->workers);
  if (parts->start == NULL) {
    *n = parts->n;
    return parts->rows;
  }
  *n = parts->start[worker + 1] - parts->start[worker];
  return parts->rows + parts->start[worker];
}
