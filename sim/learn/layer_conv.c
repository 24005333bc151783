/* Convolutions (stride 1, zero padding that keeps the size, odd kernels) and max pooling.
 *
 * A convolution is a matrix product: every output place becomes a row of the kernel x kernel x channels
 * inputs that it sees, times the weights. The gradient with respect to the input sums the rows back.
 */
#include "learn/layer.h"

#include <string.h>

/* The inputs that output place (y, x) sees, as one row; what lies outside is 0. */
static void gather_row (const LsNetworkLayer *l, const double *picture, guint y, guint x,
                        double *row) {
  const gint side = (gint) l->kernel, half = side / 2;

  for (gint dy = -half; dy <= half; dy++)
    for (gint dx = -half; dx <= half; dx++, row += l->channels) {
      gint at_y = (gint) y + dy, at_x = (gint) x + dx;

      if (at_y < 0 || at_x < 0 || at_y >= (gint) l->height || at_x >= (gint) l->width)
        memset (row, 0, l->channels * sizeof *row);
      else
        memcpy (row, picture + ((gsize) at_y * l->width + (gsize) at_x) * l->channels,
                l->channels * sizeof *row);
    }
}

static void scatter_row (const LsNetworkLayer *l, const double *row, guint y, guint x,
                         double *picture) {
  const gint side = (gint) l->kernel, half = side / 2;

  for (gint dy = -half; dy <= half; dy++)
    for (gint dx = -half; dx <= half; dx++, row += l->channels) {
      gint at_y = (gint) y + dy, at_x = (gint) x + dx;
      double *to;

      if (at_y < 0 || at_x < 0 || at_y >= (gint) l->height || at_x >= (gint) l->width)
        continue;
      to = picture + ((gsize) at_y * l->width + (gsize) at_x) * l->channels;
      for (guint c = 0; c < l->channels; c++)
        to[c] += row[c];
    }
}

static gsize patch (const LsNetworkLayer *l) {
  return (gsize) l->kernel * l->kernel * l->channels;
}

static void gather (const LsNetworkLayer *l, gsize rows, const double *in, double *columns) {
  for (gsize i = 0; i < rows; i++)
    for (guint y = 0; y < l->height; y++)
      for (guint x = 0; x < l->width; x++, columns += patch (l))
        gather_row (l, in + i * l->inputs, y, x, columns);
}

static void conv_forward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                          const double *parameters, gsize rows, const double *in, double *out) {
  gsize places = rows * l->height * l->width;
  double *columns = ls_buffer_room (scratch, places * patch (l));
  const double *bias = parameters + l->n_weights;

  gather (l, rows, in, columns);
  for (gsize i = 0; i < places; i++)
    memcpy (out + i * l->out_channels, bias, l->out_channels * sizeof *out);
  ls_blas_product (blas, FALSE, FALSE, places, l->out_channels, patch (l), columns, parameters,
                   TRUE, out);
}

static void conv_backward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                           const double *parameters, gsize rows, const double *in,
                           const double *out, double *d_out, double *d_in, double *d_parameters) {
  gsize places = rows * l->height * l->width;
  double *columns = ls_buffer_room (scratch, places * patch (l));
  double *d_bias = d_parameters + l->n_weights;

  (void) out;
  gather (l, rows, in, columns);
  ls_blas_product (blas, TRUE, FALSE, patch (l), l->out_channels, places, columns, d_out, FALSE,
                   d_parameters);
  memset (d_bias, 0, l->out_channels * sizeof *d_bias);
  for (gsize i = 0; i < places; i++)
    for (guint c = 0; c < l->out_channels; c++)
      d_bias[c] += d_out[i * l->out_channels + c];
  if (d_in == NULL)
    return;
  ls_blas_product (blas, FALSE, TRUE, places, patch (l), l->out_channels, d_out, parameters, FALSE,
                   columns);
  memset (d_in, 0, rows * l->inputs * sizeof *d_in);
  for (gsize i = 0; i < rows; i++)
    for (guint y = 0; y < l->height; y++)
      for (guint x = 0; x < l->width; x++, columns += patch (l))
        scatter_row (l, columns, y, x, d_in + i * l->inputs);
}

const LsLayerKind ls_layer_convolution = {conv_forward, conv_backward};

/* Place in the input picture of the largest of a window; the first of equals. */
static gsize largest_of (const LsNetworkLayer *l, const double *picture, guint y, guint x,
                         guint channel) {
  gsize best = ((gsize) y * l->window * l->width + (gsize) x * l->window) * l->channels + channel;

  for (guint dy = 0; dy < l->window; dy++)
    for (guint dx = 0; dx < l->window; dx++) {
      gsize at =
          ((gsize) (y * l->window + dy) * l->width + x * l->window + dx) * l->channels + channel;

      if (picture[at] > picture[best])
        best = at;
    }
  return best;
}

static void pool_forward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                          const double *parameters, gsize rows, const double *in, double *out) {
  (void) blas;
  (void) scratch;
  (void) parameters;
  for (gsize i = 0; i < rows; i++)
    for (guint y = 0; y < l->out_height; y++)
      for (guint x = 0; x < l->out_width; x++)
        for (guint c = 0; c < l->channels; c++)
          *out++ = in[i * l->inputs + largest_of (l, in + i * l->inputs, y, x, c)];
}

static void pool_backward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                           const double *parameters, gsize rows, const double *in,
                           const double *out, double *d_out, double *d_in, double *d_parameters) {
  (void) blas;
  (void) scratch;
  (void) parameters;
  (void) out;
  (void) d_parameters;
  if (d_in == NULL)
    return;
  memset (d_in, 0, rows * l->inputs * sizeof *d_in);
  for (gsize i = 0; i < rows; i++)
    for (guint y = 0; y < l->out_height; y++)
      for (guint x = 0; x < l->out_width; x++)
        for (guint c = 0; c < l->channels; c++)
          d_in[i * l->inputs + largest_of (l, in + i * l->inputs, y, x, c)] += *d_out++;
}

const LsLayerKind ls_layer_pool = {pool_forward, pool_backward};
