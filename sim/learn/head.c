/* Losses, see head.h. */
#include "learn/head.h"

#include <math.h>

double ls_head_squared (const LsDataset *data, const guint32 *rows, gsize n, gsize outputs,
                        const double *z, double scale, double *d_z, gsize *correct) {
  double loss = 0;

  (void) outputs;
  for (gsize i = 0; i < n; i++) {
    double off = z[i] - data->y[rows[i]];

    loss += off * off / 2;
    if (d_z != NULL)
      d_z[i] = off * scale / (double) n;
  }
  if (correct != NULL)
    *correct = 0;
  return loss / (double) n;
}

double ls_head_logistic (const LsDataset *data, const guint32 *rows, gsize n, gsize outputs,
                         const double *z, double scale, double *d_z, gsize *correct) {
  double loss = 0;
  gsize right = 0;

  (void) outputs;
  for (gsize i = 0; i < n; i++) {
    const gboolean one = data->label[rows[i]] == 1;
    const double sign = one ? 1 : -1, margin = sign * z[i];
    const double e = exp (-fabs (margin));

    /* log (1 + exp (-m)) without overflow */
    loss += (margin < 0 ? -margin : 0) + log1p (e);
    /* Of equals the first, as in softmax. */
    right += (one ? z[i] > 0 : z[i] <= 0) ? 1 : 0;
    if (d_z != NULL)
      d_z[i] = -sign * (margin < 0 ? 1 / (1 + e) : e / (1 + e)) * scale / (double) n;
  }
  if (correct != NULL)
    *correct = right;
  return loss / (double) n;
}

double ls_head_softmax (const LsDataset *data, const guint32 *rows, gsize n, gsize outputs,
                        const double *z, double scale, double *d_z, gsize *correct) {
  double loss = 0;
  gsize right = 0;

  for (gsize i = 0; i < n; i++, z += outputs) {
    const guint32 label = data->label[rows[i]];
    double sum = 0;
    gsize best = 0;

    for (gsize j = 1; j < outputs; j++)
      if (z[j] > z[best])
        best = j;
    const double top = z[best], own = z[label];

    right += best == label ? 1 : 0;
    if (d_z == NULL) {
      for (gsize j = 0; j < outputs; j++)
        sum += exp (z[j] - top);
    } else {
      double *d = d_z + i * outputs, factor;

      for (gsize j = 0; j < outputs; j++)
        sum += d[j] = exp (z[j] - top);
      factor = scale / (sum * (double) n);
      for (gsize j = 0; j < outputs; j++)
        d[j] *= factor;
      d[label] -= scale / (double) n;
    }
    loss += log (sum) + top - own;
  }
  if (correct != NULL)
    *correct = right;
  return loss / (double) n;
}
