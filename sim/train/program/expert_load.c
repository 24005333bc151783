/* Unequal experts; see expert_load.h. */
#include "train/program/expert_load.h"

#include <math.h>

#include <gsl/gsl_randist.h>

#include "base/assert.h"
#include "hw/kernel.h"

#define SPLITS_MOST (64 << 20) /* bytes */
#define DRAWS_MOST 1024
#define TINY 1e-300

struct LsExpertLoad {
  LsSkew skew;
  gint64 top_k, row_bytes; /* of one sender */
  guint experts, ranks, layers, n_draws;
  gint64 *factors; /* [draw * ranks + position] */
  gint64 *splits;  /* [(2 draw + back) * ranks^2] */
  guint16 first;   /* descriptors: n_draws of dispatch, n_draws of combine */
  LsTables *tables;
};

/* --- shares ----------------------------------------------------------------------------------- */

static void scale (double *shares, guint n) {
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += shares[i];
  for (guint i = 0; i < n; i++)
    shares[i] /= sum;
}

/* What is above `most` goes to the rest in proportion, or evenly where they have nothing, until nothing is above. */
static void limit (double *shares, guint n, double most) {
  for (guint round = 0; round < n; round++) {
    double above = 0, below = 0;
    guint n_below = 0;

    for (guint i = 0; i < n; i++) {
      if (shares[i] > most) {
        above += shares[i] - most;
        shares[i] = most;
      } else if (shares[i] < most) {
        below += shares[i];
        n_below++;
      }
    }
    if (above <= 0 || n_below == 0)
      return;
    for (guint i = 0; i < n; i++)
      if (shares[i] < most)
        shares[i] = below > TINY ? shares[i] * (1 + above / below) : above / n_below;
  }
}

/* Gamma draws of one shape; those of a tiny one may all underflow: then one expert, any, has everything. */
static void draw_gamma (double *shares, guint n, double shape, gsl_rng *rng) {
  double sum = 0;

  for (guint i = 0; i < n; i++) {
    shares[i] = gsl_ran_gamma (rng, shape, 1);
    sum += shares[i];
  }
  if (sum <= TINY)
    shares[gsl_rng_uniform_int (rng, n)] = 1;
}

void ls_expert_shares (const LsSkew *skew, guint n, gint64 top_k, gsl_rng *rng, double *shares) {
  for (guint i = 0; i < n; i++)
    shares[i] = 1.0 / n;
  if (skew->ratio > 0) {
    const double most = MIN (skew->ratio / n, 1.0 / (double) top_k);

    for (guint i = 0; i < n; i++)
      shares[i] = n > 1 ? (1 - most) / (n - 1) : 1;
    shares[gsl_rng_uniform_int (rng, n)] = n > 1 ? most : 1;
    return;
  }
  if (skew->exponent > 0) {
    for (guint i = 0; i < n; i++)
      shares[i] = pow (i + 1.0, -skew->exponent);
    gsl_ran_shuffle (rng, shares, n, sizeof *shares);
  } else if (skew->concentration > 0) {
    draw_gamma (shares, n, skew->concentration, rng);
  } else {
    return;
  }
  scale (shares, n);
  limit (shares, n, 1.0 / (double) top_k);
}

static gboolean is_skewed (const LsSkew *skew) {
  return skew->ratio > 1 || skew->exponent > 0 || skew->concentration > 0;
}

double ls_expert_dropped (const LsExperts *experts, guint64 seed, guint draws) {
  const guint n = (guint) experts->count;
  const double slots = experts->capacity_factor / (double) n;
  g_autofree double *shares = g_new (double, n);
  double dropped = 0;

  for (guint draw = 0; draw < draws; draw++) {
    gsl_rng *rng = ls_random_gsl_new (seed, "expert-load", draw);

    ls_expert_shares (&experts->skew, n, experts->top_k, rng, shares);
    gsl_rng_free (rng);
    for (guint i = 0; i < n; i++)
      dropped += MAX (0.0, shares[i] - slots);
  }
  return dropped / draws;
}

/* --- draws ------------------------------------------------------------------------------------ */

LsExpertLoad *ls_expert_load_new (const LsWorkload *workload, gint64 row_bytes, LsTables *tables) {
  const LsTransformer *t = &workload->model->transformer;
  const guint ranks = ls_layout_size (&workload->layout, LS_AXIS_EXPERT);
  LsExpertLoad *load = NULL;
  gint64 fit;

  if (!ls_workload_has_experts (workload) || ranks == 1 || t->experts.capacity_factor > 0 ||
      !is_skewed (&t->experts.skew))
    return NULL;
  load = g_new0 (LsExpertLoad, 1);
  load->skew = t->experts.skew;
  load->top_k = t->experts.top_k;
  load->row_bytes = row_bytes;
  load->experts = (guint) t->experts.count;
  load->ranks = ranks;
  load->layers = (guint) (t->layers + t->mtp);
  fit = SPLITS_MOST / (2 * (gint64) sizeof (gint64) * ranks * ranks);
  load->n_draws =
      (guint) CLAMP (workload->steps * (gint64) load->layers, 1, CLAMP (fit, 1, DRAWS_MOST));
  load->factors = g_new0 (gint64, (gsize) load->n_draws * ranks);
  load->splits = g_new0 (gint64, (gsize) load->n_draws * 2 * ranks * ranks);
  load->tables = ls_tables_ref (tables);
  load->first = ls_tables_add_splits (tables, 2 * load->n_draws);
  return load;
}

void ls_expert_load_free (LsExpertLoad *load) {
  if (load == NULL)
    return;
  ls_tables_free (load->tables);
  g_free (load->factors);
  g_free (load->splits);
  g_free (load);
}

/* Splits of one draw, to the experts or back, and their sum without what stays on its rank. */
static void write_splits (LsExpertLoad *load, guint draw, const double *of_rank, gboolean back) {
  const guint n = load->ranks;
  const gsize number = (gsize) 2 * draw + (back ? 1 : 0);
  gint64 *splits = load->splits + number * n * n, sum = 0;

  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++) {
      const gint64 bytes = (gint64) ((double) load->row_bytes * of_rank[j]);

      splits[back ? j * n + i : i * n + j] = bytes;
      sum += i == j ? 0 : bytes;
    }
  ls_tables_set_splits (load->tables, (guint16) (load->first + (back ? load->n_draws : 0) + draw),
                        splits, sum);
}

void ls_expert_load_draw (LsExpertLoad *load, guint64 seed) {
  const guint local = load->experts / load->ranks;
  g_autofree double *shares = g_new0 (double, load->experts);
  g_autofree double *of_rank = g_new (double, load->ranks);

  for (guint draw = 0; draw < load->n_draws; draw++) {
    gsl_rng *rng = ls_random_gsl_new (seed, "expert-load", draw);

    ls_expert_shares (&load->skew, load->experts, load->top_k, rng, shares);
    gsl_rng_free (rng);
    for (guint rank = 0; rank < load->ranks; rank++) {
      of_rank[rank] = 0;
      for (guint i = 0; i < local; i++)
        of_rank[rank] += shares[rank * local + i];
      load->factors[(gsize) draw * load->ranks + rank] =
          (gint64) (of_rank[rank] * load->ranks * (double) LS_USAGE_ONE);
    }
    write_splits (load, draw, of_rank, FALSE);
    write_splits (load, draw, of_rank, TRUE);
  }
}

guint16 ls_expert_load_descriptor (const LsExpertLoad *load, gboolean back) {
  return (guint16) (load->first + (back ? load->n_draws : 0));
}

guint ls_expert_load_number (const LsExpertLoad *load, gint64 step, gint64 layer) {
  return (guint) ((step * load->layers + MAX (layer, 0)) % load->n_draws);
}

gint64 ls_expert_load_factor (const LsExpertLoad *load, guint draw, guint position) {
  LS_REQUIRE (draw < load->n_draws && position < load->ranks, "draw %u, position %u", draw,
              position);
  return load->factors[(gsize) draw * load->ranks + position];
}
