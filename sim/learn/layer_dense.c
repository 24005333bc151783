/* Dense layers and activations, see layer.h. */
#include "learn/layer.h"

#include <math.h>
#include <string.h>

double *ls_buffer_room (LsBuffer *buffer, gsize n) {
  if (buffer->room < n) {
    g_free (buffer->values);
    buffer->values = g_new (double, n);
    buffer->room = n;
  }
  return buffer->values;
}

static void dense_forward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                           const double *parameters, gsize rows, const double *in, double *out) {
  const double *bias = parameters + l->n_weights;

  (void) scratch;
  for (gsize i = 0; i < rows; i++)
    memcpy (out + i * l->outputs, bias, l->outputs * sizeof *out);
  ls_blas_product (blas, FALSE, FALSE, rows, l->outputs, l->inputs, in, parameters, TRUE, out);
}

static void dense_backward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                            const double *parameters, gsize rows, const double *in,
                            const double *out, double *d_out, double *d_in, double *d_parameters) {
  double *d_bias = d_parameters + l->n_weights;

  (void) scratch;
  (void) out;
  ls_blas_product (blas, TRUE, FALSE, l->inputs, l->outputs, rows, in, d_out, FALSE, d_parameters);
  memset (d_bias, 0, l->outputs * sizeof *d_bias);
  for (gsize i = 0; i < rows; i++)
    for (gsize j = 0; j < l->outputs; j++)
      d_bias[j] += d_out[i * l->outputs + j];
  if (d_in != NULL)
    ls_blas_product (blas, FALSE, TRUE, rows, l->inputs, l->outputs, d_out, parameters, FALSE,
                     d_in);
}

const LsLayerKind ls_layer_dense = {dense_forward, dense_backward};

static void activation_forward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                                const double *parameters, gsize rows, const double *in,
                                double *out) {
  gsize n = rows * l->inputs;

  (void) blas;
  (void) scratch;
  (void) parameters;
  if (l->activation == LS_ACTIVATION_TANH)
    for (gsize i = 0; i < n; i++)
      out[i] = tanh (in[i]);
  else
    for (gsize i = 0; i < n; i++)
      out[i] = in[i] > 0 || isnan (in[i]) ? in[i] : 0;
}

static void activation_backward (const LsNetworkLayer *l, LsBlas *blas, LsBuffer *scratch,
                                 const double *parameters, gsize rows, const double *in,
                                 const double *out, double *d_out, double *d_in,
                                 double *d_parameters) {
  gsize n = rows * l->inputs;

  (void) blas;
  (void) scratch;
  (void) parameters;
  (void) d_parameters;
  if (d_in == NULL)
    return;
  for (gsize i = 0; i < n; i++)
    d_in[i] = l->activation == LS_ACTIVATION_TANH ? d_out[i] * (1 - out[i] * out[i])
              : in[i] > 0                         ? d_out[i]
                                                  : 0;
}

const LsLayerKind ls_layer_activation = {activation_forward, activation_backward};
