/* Bottleneck residual networks of He et al. 2016, in the v1.5 form that everybody trains (the stride
 * of a bottleneck is in its 3 x 3 convolution), and a perceptron.
 *
 * Model:      stem 7 x 7/2 convolution of 64, 3 x 3/2 max pool; four stages of bottlenecks
 *             (1 x 1 w, 3 x 3 w, 1 x 1 4w; w = 64, 128, 256, 512), a projection where the shape
 *             changes; global average pool; linear 2048 x 1000. Each bottleneck is one block.
 */
#include "train/model/resnet.h"

typedef struct {
  LsModel *model;
  const char *block;
  gint64 channels, size; /* current activation: channels x size x size */
} Chain;

/* Appends one element; out = 0 keeps the channels. Convolutions and pools pad to size/stride. */
static void add (Chain *chain, const char *name, LsElementKind kind, gint64 out, gint64 kernel,
                 gint64 stride) {
  const gint64 out_size = kind == LS_ELEMENT_AVERAGE_POOL ? 1 : (chain->size + stride - 1) / stride;
  g_autofree char *full = g_strdup_printf ("%s.%s", chain->block, name);
  const LsElement element = {
      .kind = kind,
      .name = full,
      .block = (char *) chain->block,
      .in_channels = chain->channels,
      .in_height = chain->size,
      .in_width = chain->size,
      .out_channels = out > 0 ? out : chain->channels,
      .out_height = out_size,
      .out_width = out_size,
      .kernel_height = kernel,
      .kernel_width = kernel,
      .stride = stride,
      .groups = 1,
      .bias = kind == LS_ELEMENT_LINEAR,
  };

  ls_model_append (chain->model, &element);
  chain->channels = element.out_channels;
  chain->size = out_size;
}

static void add_convolution (Chain *chain, const char *name, gint64 out, gint64 kernel,
                             gint64 stride, gboolean relu) {
  g_autofree char *norm = g_strdup_printf ("%s_norm", name);
  g_autofree char *activation = g_strdup_printf ("%s_relu", name);

  add (chain, name, LS_ELEMENT_CONVOLUTION, out, kernel, stride);
  add (chain, norm, LS_ELEMENT_BATCH_NORM, 0, 1, 1);
  if (relu)
    add (chain, activation, LS_ELEMENT_RELU, 0, 1, 1);
}

static void add_bottleneck (Chain *chain, gint64 width, gint64 stride) {
  const Chain input = *chain;

  add_convolution (chain, "conv1", width, 1, 1, TRUE);
  add_convolution (chain, "conv2", width, 3, stride, TRUE);
  add_convolution (chain, "conv3", 4 * width, 1, 1, FALSE);
  if (input.channels != 4 * width || stride != 1) {
    /* The projection reads the block's input; its output has the shape of the main path's. */
    chain->channels = input.channels;
    chain->size = input.size;
    add_convolution (chain, "projection", 4 * width, 1, stride, FALSE);
    /* The last two are the convolution and its norm. */
    chain->model->elements[chain->model->n_elements - 2].shares_input = TRUE;
  }
  add (chain, "add", LS_ELEMENT_ADD, 0, 1, 1);
  add (chain, "relu", LS_ELEMENT_RELU, 0, 1, 1);
}

static LsModel *resnet_new (const char *name, const guint *depths) {
  Chain chain = {ls_model_new_layers (name), "stem", 3, 224};

  add_convolution (&chain, "conv", 64, 7, 2, TRUE);
  add (&chain, "pool", LS_ELEMENT_MAX_POOL, 0, 3, 2);
  for (guint stage = 0; stage < 4; stage++)
    for (guint i = 0; i < depths[stage]; i++) {
      g_autofree char *block = g_strdup_printf ("stage%u_block%u", stage + 1, i + 1);

      chain.block = block;
      add_bottleneck (&chain, G_GINT64_CONSTANT (64) << stage, stage > 0 && i == 0 ? 2 : 1);
    }
  chain.block = "head";
  add (&chain, "pool", LS_ELEMENT_AVERAGE_POOL, 0, chain.size, 1);
  add (&chain, "linear", LS_ELEMENT_LINEAR, 1000, 1, 1);
  add (&chain, "loss", LS_ELEMENT_CROSS_ENTROPY, 0, 1, 1);
  return chain.model;
}

LsModel *ls_resnet_50_new (const char *name) {
  return resnet_new (name, (const guint[]){3, 4, 6, 3});
}

LsModel *ls_resnet_101_new (const char *name) {
  return resnet_new (name, (const guint[]){3, 4, 23, 3});
}

LsModel *ls_resnet_152_new (const char *name) {
  return resnet_new (name, (const guint[]){3, 8, 36, 3});
}

LsModel *ls_mlp_mnist_new (const char *name) {
  Chain chain = {ls_model_new_layers (name), "hidden1", 784, 1};

  add (&chain, "linear", LS_ELEMENT_LINEAR, 1024, 1, 1);
  add (&chain, "relu", LS_ELEMENT_RELU, 0, 1, 1);
  chain.block = "hidden2";
  add (&chain, "linear", LS_ELEMENT_LINEAR, 1024, 1, 1);
  add (&chain, "relu", LS_ELEMENT_RELU, 0, 1, 1);
  chain.block = "head";
  add (&chain, "linear", LS_ELEMENT_LINEAR, 10, 1, 1);
  add (&chain, "loss", LS_ELEMENT_CROSS_ENTROPY, 0, 1, 1);
  return chain.model;
}
