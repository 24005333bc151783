/* Matrix products through the CBLAS interface, in double or in fp32.
 *
 * Model:      C (m x n) = op (A) op (B) [+ C], row-major. In fp64 this is one dgemm. Else operands
 *             are values of formats of at most fp32, hence exact as floats: they are copied to floats
 *             and multiplied by sgemm, whose sums are real fp32 sums; products of two 16-bit or 8-bit
 *             values are exact in fp32, so this is what a matrix unit that accumulates in fp32 does.
 * Library:    GSL's own CBLAS by default; OpenBLAS when built with -DLS_BLAS=openblas, held to one
 *             thread. Bits are the same for one library on one machine, at any number of our threads.
 */
#pragma once

#include <glib.h>

/* "gsl" or "openblas"; recorded in runs. */
const char *ls_blas_name (void);

typedef struct {
  float *values;
  gsize room;
} LsBlasScratch; /* zero-initialised; three of them per LsBlas */

typedef struct {
  gboolean single; /* fp32 products */
  LsBlasScratch a, b, c;
} LsBlas;

void ls_blas_clear (LsBlas *blas);

/* A is m x k (k x m when transposed), B is k x n (n x k when transposed), C is m x n; all dense. */
void ls_blas_product (LsBlas *blas, gboolean transpose_a, gboolean transpose_b, gsize m, gsize n,
                      gsize k, const double *a, const double *b, gboolean add, double *c);
