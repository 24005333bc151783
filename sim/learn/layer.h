/* Layers of networks: forward, and backward by the chain rule. Private to sim/learn.
 *
 * Model:      rows of a batch one after another, pictures as height x width x channels. `forward`
 *             fills `out` from `in`; `backward` gets d loss / d out, adds nothing: it fills d_in (NULL
 *             for the first layer) and d_parameters. Parameters of a layer: weights (inputs x outputs,
 *             row-major), then biases.
 * Ownership: a layer is a plain record; scratch is the workspace's.
 */
#pragma once

#include "learn/problem_private.h"

typedef struct LsLayerKind LsLayerKind;

typedef struct {
  const LsLayerKind *kind;
  gsize inputs, outputs;              /* per row */
  guint height, width, channels;      /* of the input picture */
  guint out_height, out_width;        /* of the output picture */
  guint out_channels, kernel, window; /* convolution; pooling */
  LsActivation activation;
  gsize n_weights, n_parameters, offset;
} LsNetworkLayer;

typedef struct {
  double *values;
  gsize room;
} LsBuffer;

double *ls_buffer_room (LsBuffer *buffer, gsize n);

struct LsLayerKind {
  void (*forward) (const LsNetworkLayer *layer, LsBlas *blas, LsBuffer *scratch,
                   const double *parameters, gsize rows, const double *in, double *out);
  void (*backward) (const LsNetworkLayer *layer, LsBlas *blas, LsBuffer *scratch,
                    const double *parameters, gsize rows, const double *in, const double *out,
                    double *d_out, double *d_in, double *d_parameters);
};

extern const LsLayerKind ls_layer_dense, ls_layer_activation, ls_layer_convolution, ls_layer_pool;
