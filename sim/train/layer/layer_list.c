/* One block of a layer list: convolutions, linear maps, norms, pools and what lies between.
 *
 * Model:      tensors kept for the backward pass, per element of a block:
 *               convolution, linear, norms   their input, unless an earlier element keeps the same
 *                                            tensor (a projection reads what the block reads)
 *               ReLU                         works in place: its output is kept by whoever reads it;
 *                                            by itself when the reader keeps nothing
 *               GELU                         its input
 *               max pool                     its input, and an 8-byte index per output
 *               dropout                      a mask of one byte
 *               cross entropy                log-softmax in fp32
 *             This is what PyTorch's autograd keeps for torchvision's networks.
 *             Backward runs the elements in reverse: convolution and linear make the gradient of
 *             their input (not the first of the model) and of their weights.
 * Left out:   tensor parallelism of layer lists; running statistics of batch norms (some bytes).
 */
#include <string.h>

#include "base/assert.h"
#include "train/layer/layer_builder.h"
#include "train/layer/layer_plans.h"
#include "train/model/flops.h"

#define INDEX_BYTES 8 /* PyTorch's int64 indices of a max pool */

static gint64 in_elements (const LsLayerBuilder *b, const LsElement *e) {
  return b->batch * e->in_channels * e->in_height * e->in_width;
}

static gint64 out_elements (const LsLayerBuilder *b, const LsElement *e) {
  return b->batch * e->out_channels * e->out_height * e->out_width;
}

static LsConvolution convolution (const LsLayerBuilder *b, const LsElement *e) {
  return (LsConvolution){
      .batch = b->batch,
      .in_channels = e->in_channels,
      .height = e->in_height,
      .width = e->in_width,
      .out_channels = e->out_channels,
      .out_height = e->out_height,
      .out_width = e->out_width,
      .kernel_height = e->kernel_height,
      .kernel_width = e->kernel_width,
      .groups = e->groups,
      .format = b->format,
  };
}

/* Does this element keep its input anyway? */
static gboolean keeps_input (const LsElement *e) {
  switch (e->kind) {
  case LS_ELEMENT_CONVOLUTION:
  case LS_ELEMENT_LINEAR:
  case LS_ELEMENT_BATCH_NORM:
  case LS_ELEMENT_LAYER_NORM:
  case LS_ELEMENT_GELU:
  case LS_ELEMENT_MAX_POOL:
  case LS_ELEMENT_INTERACTION:
    return TRUE;
  default:
    return FALSE;
  }
}

static gint64 saved_bytes (const LsLayerBuilder *b, const LsElement *e, const LsElement *next) {
  if (keeps_input (e)) {
    const gint64 input = e->shares_input ? 0 : ls_layer_bytes (b, in_elements (b, e));

    return input + (e->kind == LS_ELEMENT_MAX_POOL ? out_elements (b, e) * INDEX_BYTES : 0);
  }
  switch (e->kind) {
  case LS_ELEMENT_RELU:
    return next != NULL && keeps_input (next) ? 0 : ls_layer_bytes (b, out_elements (b, e));
  case LS_ELEMENT_DROPOUT:
    return out_elements (b, e);
  case LS_ELEMENT_CROSS_ENTROPY:
    return out_elements (b, e) * 4;
  default:
    return 0;
  }
}

static LsKernelCost norm_cost (const LsLayerBuilder *b, const LsElement *e, LsPass pass) {
  return ls_kernel_norm (&b->device, out_elements (b, e) / e->out_channels, e->out_channels,
                         b->format, b->workload->software->fused_norm, pass);
}

/* A pass that reads the input and writes the output. */
static LsKernelCost pool_cost (const LsLayerBuilder *b, const LsElement *e) {
  const gint64 elements = in_elements (b, e) + out_elements (b, e);

  return ls_kernel_stream (&b->device, ls_layer_bytes (b, elements),
                           (double) (out_elements (b, e) * e->kernel_height * e->kernel_width));
}

static void exchange (LsLayerBuilder *b, const char *name, gint64 bytes) {
  ls_layer_add_collective_on (b, name, LS_COLLECTIVE_ALL_TO_ALL, bytes, LS_AXIS_EXPERT);
}

/* Each of e data ranks has 1/e of the columns of all tables and looks up the samples of all: as many numbers
 * as those of its own samples. Indices go out, rows come back; gradients go out and are added where they
 * belong, by SGD on the touched rows. */
static void tables (LsLayerBuilder *b, const LsElement *e) {
  const gint64 numbers = b->batch * e->tables * e->width;
  LsLayerOp *op = NULL;

  exchange (b, "exchange_indices", b->batch * e->tables * INDEX_BYTES);
  op = ls_layer_add_kernel (
      b, "lookup", LS_KIND_EMBEDDING,
      ls_kernel_embedding (&b->device, b->batch * e->tables, e->width, b->format, LS_PASS_FORWARD));
  op->saved_bytes = b->batch * e->tables * INDEX_BYTES;
  op->workspace_bytes = ls_layer_bytes (b, numbers);
  exchange (b, "exchange_rows", ls_layer_bytes (b, numbers));
}

static void tables_grad (LsLayerBuilder *b, const LsElement *e) {
  const gint64 numbers = b->batch * e->tables * e->width;
  LsLayerOp *op = NULL;

  exchange (b, "exchange_row_gradients", ls_layer_bytes (b, numbers));
  op = ls_layer_add_kernel (b, "update_rows", LS_KIND_EMBEDDING,
                            ls_kernel_embedding (&b->device, b->batch * e->tables, e->width,
                                                 LS_FORMAT_FP32, LS_PASS_BACKWARD));
  op->phase = LS_PHASE_WEIGHT_GRAD;
  op->workspace_bytes = ls_layer_bytes (b, numbers);
}

/* [F, w] x [w, F] per sample; backward the symmetric gradient [F, F] x [F, w], twice. */
static LsKernelCost interaction_cost (const LsLayerBuilder *b, const LsElement *e, LsPass pass) {
  const LsMatmul forward = {.m = e->tables,
                            .n = e->tables,
                            .k = e->width,
                            .batch = b->batch,
                            .format = b->format,
                            .output = b->format};
  LsMatmul gradient = forward;
  LsKernelCost cost;

  gradient.n = e->width;
  gradient.k = e->tables;
  cost = ls_kernel_matmul (&b->device, pass == LS_PASS_FORWARD ? &forward : &gradient);
  return pass == LS_PASS_FORWARD ? cost : ls_kernel_times (&cost, 2);
}

/* The kernel of an element whose two passes are costed alike; NULL: the passes of this kind differ. */
static LsLayerOp *either_pass (LsLayerBuilder *b, const LsElement *e, const char *name,
                               LsPass pass) {
  switch (e->kind) {
  case LS_ELEMENT_INTERACTION:
    return ls_layer_add_kernel (b, name, LS_KIND_MATMUL, interaction_cost (b, e, pass));
  case LS_ELEMENT_BATCH_NORM:
  case LS_ELEMENT_LAYER_NORM:
    return ls_layer_add_kernel (b, name, LS_KIND_NORM, norm_cost (b, e, pass));
  case LS_ELEMENT_CROSS_ENTROPY:
    return ls_layer_add_kernel (b, name, LS_KIND_LOSS,
                                ls_kernel_cross_entropy (&b->device, b->batch, e->out_channels,
                                                         b->format, LS_LOSS_KERNEL_PASSES, pass));
  case LS_ELEMENT_MAX_POOL:
  case LS_ELEMENT_AVERAGE_POOL:
    return ls_layer_add_kernel (b, name, LS_KIND_ELEMENTWISE, pool_cost (b, e));
  default:
    return NULL;
  }
}

static void forward (LsLayerBuilder *b, const LsElement *e, const LsElement *next) {
  const char *name = ls_element_name (e->kind);
  const LsConvolution shape = convolution (b, e);
  LsLayerOp *op = NULL;

  switch (e->kind) {
  case LS_ELEMENT_EMBEDDING_TABLES:
    tables (b, e);
    return;
  case LS_ELEMENT_CONVOLUTION:
    op = ls_layer_add_kernel (b, name, LS_KIND_CONVOLUTION,
                              ls_kernel_convolution (&b->device, &shape, LS_PASS_FORWARD, FALSE));
    break;
  case LS_ELEMENT_LINEAR:
    op = ls_layer_add_linear (b, name, e->in_channels, e->out_channels);
    break;
  default:
    op = either_pass (b, e, name, LS_PASS_FORWARD);
    if (op == NULL)
      op = ls_layer_add_pass (b, name, out_elements (b, e), e->kind == LS_ELEMENT_ADD ? 2 : 1, 1);
    break;
  }
  op->saved_bytes = saved_bytes (b, e, next);
  op->saved_input_bytes =
      keeps_input (e) && !e->shares_input ? ls_layer_bytes (b, in_elements (b, e)) : 0;
  if (!keeps_input (next != NULL ? next : e))
    op->workspace_bytes = ls_layer_bytes (b, out_elements (b, e));
}

static void backward (LsLayerBuilder *b, const LsElement *e, gboolean input_gradient) {
  static const char *const names[] = {
#define GRADIENT_NAME(id, name) name "_grad",
      LS_ELEMENTS (GRADIENT_NAME)
#undef GRADIENT_NAME
  };
  const char *name = names[e->kind];
  const LsConvolution shape = convolution (b, e);
  LsLayerOp *op = NULL;

  switch (e->kind) {
  case LS_ELEMENT_EMBEDDING_TABLES:
    tables_grad (b, e);
    return;
  case LS_ELEMENT_CONVOLUTION:
    op = ls_layer_add_kernel (
        b, name, LS_KIND_CONVOLUTION,
        ls_kernel_convolution (&b->device, &shape, LS_PASS_BACKWARD, input_gradient));
    break;
  case LS_ELEMENT_LINEAR:
    if (input_gradient)
      ls_layer_add_input_gradient (b, name, e->in_channels, e->out_channels);
    ls_layer_add_weight_gradient (b, "linear_weight_grad", e->in_channels, e->out_channels);
    return;
  default:
    op = either_pass (b, e, name, LS_PASS_BACKWARD);
    if (op == NULL)
      op = ls_layer_add_pass (b, name, in_elements (b, e), 2, 1);
    break;
  }
  op->workspace_bytes = ls_layer_bytes (b, in_elements (b, e) + out_elements (b, e));
}

/* First and past-last element of block `index`. */
static void block_range (const LsModel *model, guint index, guint *from, guint *to) {
  guint block = 0, i = 0;

  for (; block < index; block++)
    do
      i++;
    while (i < model->n_elements &&
           strcmp (model->elements[i].block, model->elements[i - 1].block) == 0);
  LS_REQUIRE (i < model->n_elements, "block %u of %s", index, model->name);
  *from = i;
  do
    i++;
  while (i < model->n_elements &&
         strcmp (model->elements[i].block, model->elements[i - 1].block) == 0);
  *to = i;
}

LsLayerPlan *ls_layer_list_new (const LsWorkload *workload, guint index,
                                const LsAccelerator *accelerator) {
  const LsModel *model = workload->model;
  LsLayerBuilder b;
  const gint64 ranks = ls_layout_size (&workload->layout, LS_AXIS_EXPERT);
  guint from = 0, to = 0;

  block_range (model, index, &from, &to);
  ls_layer_builder_init (&b, workload, accelerator, model->elements[from].block);
  for (guint i = from; i < to; i++)
    forward (&b, &model->elements[i], i + 1 < model->n_elements ? &model->elements[i + 1] : NULL);
  ls_layer_builder_side (&b, LS_SIDE_BACKWARD);
  for (guint i = to; i-- > from;)
    backward (&b, &model->elements[i], i > 0);
  for (guint i = from; i < to; i++) {
    if (model->elements[i].kind == LS_ELEMENT_EMBEDDING_TABLES)
      b.plan->table_parameters += (ls_element_parameters (&model->elements[i]) + ranks - 1) / ranks;
    else
      b.plan->parameters += ls_element_parameters (&model->elements[i]);
    ls_layer_count_flops (&b, ls_element_flops (&model->elements[i], workload->micro_batch));
  }
  b.plan->input_bytes = ls_layer_bytes (&b, in_elements (&b, &model->elements[from]));
  b.plan->output_bytes = ls_layer_bytes (&b, out_elements (&b, &model->elements[to - 1]));
  return ls_layer_builder_finish (&b);
}
