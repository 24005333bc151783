/* The activation between the two maps of an MLP, and its gradient.
 *
 * Model:      passes over f columns per token: SwiGLU reads gate and up and writes one, its gradient reads those and the
 *             gradient and writes two; GeLU one and one, two and one. Of a dense MLP they may write the format of products
 *             (train/workload/precision.h); of experts in MXFP8, gated, they are then part of the products before them and take no
 *             time of their own (Transformer Engine, ForwardGroupedMLP_CuTeGEMMSwiGLU_MXFP8 and its backward, pull request
 *             2769). Its input is kept, in 8 bits if so asked, with a pass each way. A clamped one (GPT-OSS) under
 *             Megatron-Core is first held within limits by kernels of their own (clamp).
 */
#include "train/layer/layer_block.h"

/* Keeps `elements` of the activation's input, or fetches them, where they are kept narrower than they are made.
 * source: megatron/core/fusions/fused_bias_swiglu.py (fp8_input_store: a cast before saving, and one back). */
static void convert_input (LsBlock *k, gint64 elements, gboolean store) {
  const LsPrecision *p = &k->b.workload->precision;
  const double size = ls_format_size (p->activation_input);
  const int reads = store && p->narrow.fused && k->b.narrow && !k->routed ? 2 : 1;
  LsLayerOp *op = NULL;

  if (!p->activation_input_used)
    return;
  op = ls_layer_add_kernel (
      &k->b, store ? "store_activation_input" : "restore_activation_input", LS_KIND_ELEMENTWISE,
      ls_kernel_stream (
          &k->b.device,
          (gint64) ((double) elements * (size + (double) (reads * k->b.element_bytes))),
          2.0 * (double) elements));
  if (store)
    op->saved_bytes = (gint64) ((double) elements * size);
  else
    op->workspace_bytes = ls_layer_bytes (&k->b, elements);
}

/* What the activation itself keeps of its input. */
static void keep_input (const LsBlock *k, LsLayerOp *op, gint64 elements) {
  if (!k->b.workload->precision.activation_input_used)
    op->saved_input_bytes = op->saved_bytes = ls_layer_bytes (&k->b, elements);
}

gboolean ls_block_activates_in_product (const LsBlock *k) {
  return k->routed && k->t->gated && k->b.narrow && k->b.narrow_forward == LS_FORMAT_MXFP8 &&
         k->b.workload->precision.narrow.fused;
}

static LsLayerOp *add_in_product (LsBlock *k, const char *name) {
  k->b.fused = TRUE;
  return ls_layer_add_kernel (&k->b, name, LS_KIND_ELEMENTWISE, (LsKernelCost){.alone_ps = 0});
}

/* The pass that makes the input of the map down, of a dense MLP fused with its scaling. */
static LsLayerOp *activate (LsBlock *k, const char *name, gint64 elements, int reads) {
  if (ls_block_activates_in_product (k))
    return add_in_product (k, name);
  return k->routed || ls_lora_has (&k->t->lora, LS_LORA_FC2)
             ? ls_layer_add_pass (&k->b, name, elements, reads, 1)
             : ls_layer_add_fused_pass (&k->b, name, elements, reads, 1);
}

/* The pass that makes the gradient of what the map up made. */
static LsLayerOp *activate_grad (LsBlock *k, const char *name, gint64 elements, int reads,
                                 int writes) {
  if (ls_block_activates_in_product (k) && !k->t->biases)
    return add_in_product (k, name);
  return k->routed || k->t->biases || ls_lora_has (&k->t->lora, LS_LORA_FC1)
             ? ls_layer_add_pass (&k->b, name, elements, reads, writes)
             : ls_layer_add_fused_pass (&k->b, name, elements, reads, writes);
}

/* Kernels that hold gate and up within limits, before an activation that is fused without them; none where a compiler or the
 * product does it. Of `elements` of each half, in values and bytes of masks: forward a clamp of either (2 and 2 values) and
 * torch.cat of both (4); backward a mask (1, and 1 byte) and where (2, 1) for the gate, two masks (1, 1 each), their `and` (0, 3)
 * and where (2, 1) for up, which has two limits, and torch.cat of both (4). All but `and` and torch.cat read one half of a tensor,
 * a view. What is clamped is kept beside what comes of it.
 * source: Megatron-Core @034fd2d, fusions/fused_bias_geglu.py, weighted_bias_quick_geglu_impl, outside its jit_fuser; PyTorch,
 * derivatives.yaml and FunctionsManual.cpp, clamp_backward. */
static void clamp (LsBlock *k, const char *name) {
  typedef struct {
    gint64 values, masks;
    guint kernels;
  } Passes;
  static const Passes views[] = {[LS_SIDE_FORWARD] = {4, 0, 2}, [LS_SIDE_BACKWARD] = {7, 5, 5}},
                      whole[] = {[LS_SIDE_FORWARD] = {4, 0, 1}, [LS_SIDE_BACKWARD] = {4, 3, 2}};
  const Passes v = views[k->b.side], w = whole[k->b.side];
  const gint64 elements = k->b.tokens * k->f, size = k->b.element_bytes;
  const LsKernelCost one[] = {
      ls_kernel_value_by_value (&k->b.device, elements * (v.values + v.masks) / v.kernels,
                                elements * (v.values * size + v.masks) / v.kernels),
      ls_kernel_stream (&k->b.device, elements * (w.values * size + w.masks) / w.kernels, 0)};
  const LsKernelCost all[] = {ls_kernel_times (&one[0], v.kernels),
                              ls_kernel_times (&one[1], w.kernels)};
  LsLayerOp *op = NULL;

  if (!k->t->clamped || k->b.workload->software->compiled || ls_block_activates_in_product (k))
    return;
  op = ls_layer_add_kernel (&k->b, name, LS_KIND_ELEMENTWISE,
                            ls_kernel_sequence (all, G_N_ELEMENTS (all)));
  op->workspace_bytes = ls_layer_bytes (&k->b, 2 * elements);
  if (k->b.side == LS_SIDE_FORWARD)
    op->saved_input_bytes = op->saved_bytes = ls_layer_bytes (&k->b, 2 * elements);
}

void ls_block_activation (LsBlock *k) {
  const LsSoftware *software = k->b.workload->software;
  const gint64 elements = k->b.tokens * k->f;
  LsLayerOp *op = NULL;

  if (k->t->gated && software->fused_bias_gelu) {
    clamp (k, "clamp");
    keep_input (k, activate (k, "swiglu", elements, 2), 2 * elements);
  } else if (k->t->gated) {
    /* Both halves of what mlp_up made, of which the gate reads the other one. */
    keep_input (k, ls_layer_add_pass (&k->b, "silu", elements, 1, 1), 2 * elements);
    op = ls_layer_add_pass (&k->b, "gate", elements, 2, 1);
    op->saved_input_bytes = op->saved_bytes = ls_layer_bytes (&k->b, elements);
  } else {
    if (k->t->biases && !software->fused_bias_gelu)
      ls_layer_add_pass (&k->b, "bias", elements, 1, 1);
    keep_input (k, activate (k, "gelu", elements, 1), elements);
  }
  convert_input (k, k->t->gated ? 2 * elements : elements, TRUE);
}

/* Of experts: a part of the product for the weights' gradient, or of the pass that scales what is multiplied.
 * source: TransformerEngine 2, pytorch/module/grouped_linear.py (use_bias of the products; bgrad_quantize). */
static gboolean bias_gradient_in_product (const LsBlock *k) {
  return k->routed && k->b.workload->software->fused_bias_gradient &&
         !ls_block_activates_in_product (k);
}

void ls_block_activation_grad (LsBlock *k) {
  const LsSoftware *software = k->b.workload->software;
  const gint64 elements = k->b.tokens * k->f;
  LsLayerOp *op = NULL;

  convert_input (k, k->t->gated ? 2 * elements : elements, FALSE);
  if (k->t->gated && software->fused_bias_gelu) {
    op = activate_grad (k, "swiglu_grad", elements, 3, 2);
  } else if (k->t->gated) {
    /* A product for each factor. */
    ls_layer_add_pass (&k->b, "gate_grad", elements, 2, 1);
    ls_layer_add_pass (&k->b, "gate_grad", elements, 2, 1);
    op = ls_layer_add_pass (&k->b, "silu_grad", elements, 2, 1);
  } else {
    op = activate_grad (k, "gelu_grad", elements, 2, 1);
  }
  op->workspace_bytes = ls_layer_bytes (&k->b, (k->t->gated ? 3 : 2) * elements);
  if (k->t->gated && software->fused_bias_gelu)
    clamp (k, "clamp_grad");
  if (k->t->biases && !bias_gradient_in_product (k))
    ls_block_bias_gradient (k, "up_bias_grad", (k->t->gated ? 2 : 1) * elements);
}
