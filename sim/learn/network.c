/* Problems that are networks: linear, logistic and softmax regression, MLP, small convolutional net.
 *
 * Model:      a list of layers (layer.h) and a head (head.h). Regressions are one dense layer; an MLP
 *             has dense layers with an activation between; the convolutional net repeats (convolution,
 *             activation, max pooling) and ends in one dense layer.
 * Start:      regressions from 0 (they are convex); else weights normal with deviation sqrt (2 / inputs)
 *             for relu (He et al. 2015), sqrt (2 / (inputs + outputs)) for tanh (Glorot, Bengio 2010),
 *             biases 0.
 * Cost:       memory of a workspace: two arrays per layer and row of the largest batch.
 */
#include "base/assert.h"
#include "base/error.h"
#include "learn/head.h"
#include "learn/layer.h"
#include "learn/normal.h"

#include <string.h>

#define MAX_LAYERS (3 * LS_MAX_HIDDEN + 1)

typedef struct {
  LsProblem base;
  LsNetworkLayer layers[MAX_LAYERS];
  guint n_layers;
  gboolean from_zero;
  LsHead head;
} Network;

typedef struct {
  LsWorkspace base;
  LsBuffer values[MAX_LAYERS + 1]; /* inputs of layer i; the last: the outputs */
  LsBuffer slopes[2];              /* d loss / d values, in turn */
  LsBuffer parameters;             /* rounded */
  LsBuffer scratch;
} NetworkWorkspace;

/* --- building ------------------------------------------------------------------------------- */

static LsNetworkLayer *add_layer (Network *net, const LsLayerKind *kind, gsize inputs,
                                  gsize outputs, gsize n_weights, gsize n_biases) {
  LsNetworkLayer *layer = &net->layers[net->n_layers++];

  LS_REQUIRE (net->n_layers <= MAX_LAYERS, "a network of too many layers");
  *layer = (LsNetworkLayer){.kind = kind,
                            .inputs = inputs,
                            .outputs = outputs,
                            .n_weights = n_weights,
                            .n_parameters = n_weights + n_biases,
                            .offset = net->base.n_parameters,
                            .activation = net->base.settings.activation};
  net->base.n_parameters += layer->n_parameters;
  return layer;
}

static gsize add_dense (Network *net, gsize inputs, gsize outputs) {
  add_layer (net, &ls_layer_dense, inputs, outputs, inputs * outputs, outputs);
  return outputs;
}

static void network_free (LsProblem *problem) {
  g_free (problem);
}

static void network_start (const LsProblem *problem, guint64 seed, double *parameters) {
  const Network *net = (const Network *) problem;
  guint64 key = ls_random_key (seed, "learn-start", 0);

  memset (parameters, 0, problem->n_parameters * sizeof *parameters);
  if (net->from_zero)
    return;
  for (guint l = 0; l < net->n_layers; l++) {
    const LsNetworkLayer *layer = &net->layers[l];
    gsize outputs = layer->n_parameters - layer->n_weights;
    gsize inputs = outputs > 0 ? layer->n_weights / outputs : 0;
    double deviation;

    if (layer->n_weights == 0)
      continue;
    deviation =
        sqrt (2 / (double) (layer->activation == LS_ACTIVATION_TANH ? inputs + outputs : inputs));
    for (gsize i = 0; i < layer->n_weights; i++)
      parameters[layer->offset + i] = deviation * ls_normal_at (key, layer->offset + i);
  }
}

static LsWorkspace *network_workspace_new (const LsProblem *problem) {
  NetworkWorkspace *workspace = g_new0 (NetworkWorkspace, 1);

  (void) problem;
  return &workspace->base;
}

static void network_workspace_free (LsWorkspace *workspace) {
  NetworkWorkspace *w = (NetworkWorkspace *) workspace;

  for (guint i = 0; i < G_N_ELEMENTS (w->values); i++)
    g_free (w->values[i].values);
  for (guint i = 0; i < G_N_ELEMENTS (w->slopes); i++)
    g_free (w->slopes[i].values);
  g_free (w->parameters.values);
  g_free (w->scratch.values);
  g_free (w);
}

/* --- evaluation ----------------------------------------------------------------------------- */

static void forward (const Network *net, NetworkWorkspace *w, const LsArithmetic *a,
                     const double *parameters, const LsBatch *batch) {
  const LsDataset *data = net->base.data;
  double *in = ls_buffer_room (&w->values[0], batch->n * data->features);

  for (gsize i = 0; i < batch->n; i++)
    memcpy (in + i * data->features, data->x + batch->rows[i] * data->features,
            data->features * sizeof *in);
  ls_number_round_all (a->activations, in, batch->n * data->features, NULL);
  for (guint l = 0; l < net->n_layers; l++) {
    const LsNetworkLayer *layer = &net->layers[l];
    double *out = ls_buffer_room (&w->values[l + 1], batch->n * layer->outputs);

    layer->kind->forward (layer, &w->base.blas, &w->scratch, parameters + layer->offset, batch->n,
                          w->values[l].values, out);
    ls_number_round_all (a->activations, out, batch->n * layer->outputs,
                         &w->base.counts.activations);
  }
}

static void backward (const Network *net, NetworkWorkspace *w, const LsArithmetic *a,
                      const double *parameters, const LsBatch *batch, double *gradient) {
  guint turn = 0;

  for (guint l = net->n_layers; l-- > 0;) {
    const LsNetworkLayer *layer = &net->layers[l];
    double *d_out = w->slopes[turn].values, *d_in = NULL;

    ls_number_round_all (a->gradients, d_out, batch->n * layer->outputs, &w->base.counts.gradients);
    if (l > 0)
      d_in = ls_buffer_room (&w->slopes[1 - turn], batch->n * layer->inputs);
    layer->kind->backward (layer, &w->base.blas, &w->scratch, parameters + layer->offset, batch->n,
                           w->values[l].values, w->values[l + 1].values, d_out, d_in,
                           gradient + layer->offset);
    turn = 1 - turn;
  }
}

/* Adds l2/2 |weights|^2 and its slope. */
static double regularise (const Network *net, double l2, double scale, const double *parameters,
                          double *gradient) {
  double sum = 0;

  for (guint l = 0; l < net->n_layers && l2 > 0; l++)
    for (gsize i = net->layers[l].offset; i < net->layers[l].offset + net->layers[l].n_weights;
         i++) {
      sum += parameters[i] * parameters[i];
      if (gradient != NULL)
        gradient[i] += scale * l2 * parameters[i];
    }
  return l2 / 2 * sum;
}

static double network_evaluate (const LsProblem *problem, LsWorkspace *workspace,
                                const LsArithmetic *a, const double *parameters,
                                const LsBatch *batch, double *gradient, gsize *correct) {
  const Network *net = (const Network *) problem;
  NetworkWorkspace *w = (NetworkWorkspace *) workspace;
  const gsize outputs = net->layers[net->n_layers - 1].outputs;
  double *d_outputs = NULL, loss;

  if (a->parameters != LS_NUMBER_FP64) {
    double *rounded = ls_buffer_room (&w->parameters, problem->n_parameters);

    memcpy (rounded, parameters, problem->n_parameters * sizeof *rounded);
    ls_number_round_all (a->parameters, rounded, problem->n_parameters, &w->base.counts.parameters);
    parameters = rounded;
  }
  forward (net, w, a, parameters, batch);
  if (gradient != NULL)
    d_outputs = ls_buffer_room (&w->slopes[0], batch->n * outputs);
  loss = net->head (problem->data, batch->rows, batch->n, outputs, w->values[net->n_layers].values,
                    a->loss_scale, d_outputs, correct);
  if (gradient != NULL)
    backward (net, w, a, parameters, batch, gradient);
  loss += regularise (net, problem->settings.l2, a->loss_scale, parameters, gradient);
  if (gradient != NULL)
    ls_number_round_all (a->gradients, gradient, problem->n_parameters, &w->base.counts.gradients);
  return loss;
}

static const LsProblemClass network_class = {network_free, network_start, network_workspace_new,
                                             network_workspace_free, network_evaluate};

/* --- kinds ---------------------------------------------------------------------------------- */

static Network *network_new (const LsProblemSettings *settings, const LsDataset *data,
                             LsHead head) {
  Network *net = g_new0 (Network, 1);

  net->base = (LsProblem){.class = &network_class,
                          .settings = *settings,
                          .data = data,
                          .has_accuracy = head != ls_head_squared};
  net->head = head;
  return net;
}

static LsProblem *regression (const LsProblemSettings *settings, const LsDataset *data, LsHead head,
                              gsize outputs) {
  Network *net = network_new (settings, data, head);

  net->from_zero = TRUE;
  add_dense (net, data->features, outputs);
  return &net->base;
}

static LsProblem *linear_new (const LsProblemSettings *settings, const LsDataset *data,
                              GError **error) {
  (void) error;
  return regression (settings, data, ls_head_squared, 1);
}

static LsProblem *logistic_new (const LsProblemSettings *settings, const LsDataset *data,
                                GError **error) {
  if (data->classes != 2) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "problem logistic tells two classes apart, and the data has %u; use softmax",
                 data->classes);
    return NULL;
  }
  return regression (settings, data, ls_head_logistic, 1);
}

static LsProblem *softmax_new (const LsProblemSettings *settings, const LsDataset *data,
                               GError **error) {
  (void) error;
  return regression (settings, data, ls_head_softmax, data->classes);
}

static LsProblem *mlp_new (const LsProblemSettings *settings, const LsDataset *data,
                           GError **error) {
  Network *net = network_new (settings, data, ls_head_softmax);
  gsize width = data->features;

  (void) error;
  for (guint i = 0; i < settings->n_hidden; i++) {
    width = add_dense (net, width, settings->hidden[i]);
    add_layer (net, &ls_layer_activation, width, width, 0, 0);
  }
  add_dense (net, width, data->classes);
  return &net->base;
}

/* One convolution, its activation and its pooling; height and width become those after it. */
static void add_stage (Network *net, guint *height, guint *width, guint *channels, guint out) {
  const LsProblemSettings *s = &net->base.settings;
  gsize places = (gsize) *height * *width, patch = (gsize) s->kernel * s->kernel * *channels;
  LsNetworkLayer *layer =
      add_layer (net, &ls_layer_convolution, places * *channels, places * out, patch * out, out);

  layer->height = *height;
  layer->width = *width;
  layer->channels = *channels;
  layer->out_channels = out;
  layer->kernel = s->kernel;
  *channels = out;
  add_layer (net, &ls_layer_activation, places * out, places * out, 0, 0);
  if (s->pool == 1)
    return;
  layer = add_layer (net, &ls_layer_pool, places * out,
                     (gsize) (*height / s->pool) * (*width / s->pool) * out, 0, 0);
  layer->height = *height;
  layer->width = *width;
  layer->channels = out;
  layer->window = s->pool;
  layer->out_height = *height /= s->pool;
  layer->out_width = *width /= s->pool;
}

static LsProblem *conv_new (const LsProblemSettings *settings, const LsDataset *data,
                            GError **error) {
  Network *net = network_new (settings, data, ls_head_softmax);
  guint height = data->height, width = data->width, channels = data->channels;

  for (guint i = 0; i < settings->n_hidden; i++) {
    if (height < settings->pool || width < settings->pool) {
      g_set_error (
          error, LS_ERROR, LS_ERROR_CONFIG,
          "problem conv: after %u stages a picture is %u x %u, too small for pooling by %u", i,
          height, width, settings->pool);
      network_free (&net->base);
      return NULL;
    }
    add_stage (net, &height, &width, &channels, settings->hidden[i]);
  }
  add_dense (net, (gsize) height * width * channels, data->classes);
  return &net->base;
}

const LsProblemKind ls_problem_linear = {.name = "linear",
                                         .meaning = "linear regression, loss (z - y)^2 / 2",
                                         .needs_data = TRUE,
                                         .create = linear_new};
const LsProblemKind ls_problem_logistic = {.name = "logistic",
                                           .meaning = "logistic regression of two classes",
                                           .needs_data = TRUE,
                                           .needs_classes = TRUE,
                                           .create = logistic_new};
const LsProblemKind ls_problem_softmax = {.name = "softmax",
                                          .meaning = "softmax regression, one output per class",
                                          .needs_data = TRUE,
                                          .needs_classes = TRUE,
                                          .create = softmax_new};
const LsProblemKind ls_problem_mlp = {.name = "mlp",
                                      .meaning = "dense layers with an activation between, softmax",
                                      .needs_data = TRUE,
                                      .needs_classes = TRUE,
                                      .create = mlp_new};
const LsProblemKind ls_problem_conv = {
    .name = "conv",
    .meaning = "stages of convolution, activation and max pooling, then softmax",
    .needs_data = TRUE,
    .needs_classes = TRUE,
    .needs_pictures = TRUE,
    .create = conv_new};
