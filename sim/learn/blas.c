/* Matrix products, see blas.h. */
#include "learn/blas.h"

#ifdef LS_BLAS_OPENBLAS
#include <cblas.h>
#else
#include <gsl/gsl_cblas.h>
#endif

const char *ls_blas_name (void) {
#ifdef LS_BLAS_OPENBLAS
  /* One thread: its sums would depend on their number. Setting it again costs nothing. */
  openblas_set_num_threads (1);
  return "openblas";
#else
  return "gsl";
#endif
}

void ls_blas_clear (LsBlas *blas) {
  g_free (blas->a.values);
  g_free (blas->b.values);
  g_free (blas->c.values);
  blas->a = blas->b = blas->c = (LsBlasScratch){0};
}

static float *room_for (LsBlasScratch *scratch, gsize n) {
  if (scratch->room < n) {
    scratch->values = g_realloc_n (scratch->values, n, sizeof (float));
    scratch->room = n;
  }
  return scratch->values;
}

static const float *as_floats (LsBlasScratch *scratch, const double *values, gsize n) {
  float *out = room_for (scratch, n);

  for (gsize i = 0; i < n; i++)
    out[i] = (float) values[i];
  return out;
}

static enum CBLAS_TRANSPOSE transposed (gboolean transpose) {
  return transpose ? CblasTrans : CblasNoTrans;
}

static void product_single (LsBlas *blas, gboolean transpose_a, gboolean transpose_b, gsize m,
                            gsize n, gsize k, const double *a, const double *b, gboolean add,
                            double *c) {
  const float *fa = as_floats (&blas->a, a, m * k);
  const float *fb = as_floats (&blas->b, b, k * n);
  float *fc = room_for (&blas->c, m * n);

  if (add)
    as_floats (&blas->c, c, m * n);
  cblas_sgemm (CblasRowMajor, transposed (transpose_a), transposed (transpose_b), (int) m, (int) n,
               (int) k, 1.0F, fa, (int) (transpose_a ? m : k), fb, (int) (transpose_b ? k : n),
               add ? 1.0F : 0.0F, fc, (int) n);
  for (gsize i = 0; i < m * n; i++)
    c[i] = (double) fc[i];
}

void ls_blas_product (LsBlas *blas, gboolean transpose_a, gboolean transpose_b, gsize m, gsize n,
                      gsize k, const double *a, const double *b, gboolean add, double *c) {
  if (blas->single) {
    product_single (blas, transpose_a, transpose_b, m, n, k, a, b, add, c);
    return;
  }
  cblas_dgemm (CblasRowMajor, transposed (transpose_a), transposed (transpose_b), (int) m, (int) n,
               (int) k, 1.0, a, (int) (transpose_a ? m : k), b, (int) (transpose_b ? k : n),
               add ? 1.0 : 0.0, c, (int) n);
}
