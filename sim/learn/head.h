/* Losses on the outputs of a network. Private to sim/learn.
 *
 * `squared`   (z - y)^2 / 2, one output
 * `logistic`  log (1 + exp (-(2 y - 1) z)), one output, y in {0, 1}
 * `softmax`   log sum_j exp (z_j) - z_y, one output per class
 */
#pragma once

#include "learn/dataset.h"

/* Mean loss of the rows; d_outputs (may be NULL) gets d (mean loss) / d outputs x @scale, which may be
 * the outputs' own array; *correct counts rows whose class is the likeliest. */
typedef double (*LsHead) (const LsDataset *data, const guint32 *rows, gsize n, gsize outputs,
                          const double *z, double scale, double *d_z, gsize *correct);

double ls_head_squared (const LsDataset *data, const guint32 *rows, gsize n, gsize outputs,
                        const double *z, double scale, double *d_z, gsize *correct);
double ls_head_logistic (const LsDataset *data, const guint32 *rows, gsize n, gsize outputs,
                         const double *z, double scale, double *d_z, gsize *correct);
double ls_head_softmax (const LsDataset *data, const guint32 *rows, gsize n, gsize outputs,
                        const double *z, double scale, double *d_z, gsize *correct);
