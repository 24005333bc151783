/* The ends of a transformer: embedding, and head with the loss.
 *
 * Model:      the vocabulary is split over the tensor ranks. Embedding: each rank looks up what it
 *             has, then an all-reduce (reduce-scatter with sequence parallelism) of T h. Head: final
 *             norm, logits T x V / t, and a cross entropy over the split vocabulary that exchanges
 *             the maximum, the picked logit and the sum of exponentials, 4 bytes per token each.
 *             source: Shoeybi et al. 2019 (arXiv 1909.08053), section 3.
 *             Saved: embedding the token numbers (8 bytes) and the dropout mask; head the inputs of
 *             norm and matrix, and of the logits what hw/software.h says (LsLossKeeps). The gradient of
 *             the output matrix needs those of logits and input, the input as gathered, and a
 *             placeholder where the software makes one.
 *             Its products are in the activations' format, or narrow as those of blocks (narrow_logits).
 * Left out:   what a data loader keeps on the device (labels, masks): some bytes per token.
 */
#include "train/layer/layer_builder.h"
#include "train/layer/layer_plans.h"
#include "train/model/flops.h"

#define TOKEN_BYTES 8     /* PyTorch's int64 token numbers */
#define STATISTIC_BYTES 4 /* fp32 per token */
#define WIDE_BYTES 4      /* fp32 per logit */

static gint64 split_rows (const LsLayerBuilder *b) {
  return b->sequence_parallel ? b->tokens / b->tensor : b->tokens;
}

static LsCollectiveOp reduction (const LsLayerBuilder *b) {
  return b->sequence_parallel ? LS_COLLECTIVE_REDUCE_SCATTER : LS_COLLECTIVE_ALL_REDUCE;
}

/* The embedding of a picture: one linear map of each patch, whole on every tensor rank; with sequence
 * parallelism each rank maps its own. Weights need no gradient of the picture. */
static LsLayerPlan *patches (LsLayerBuilder *b, const LsTransformer *t) {
  const gint64 rows = split_rows (b);

  b->tokens = rows;
  ls_layer_add_linear (b, "embedding", t->patch, t->hidden);
  if (t->learned_positions)
    ls_layer_add_pass (b, "positions", rows * t->hidden, 2, 1);
  ls_layer_builder_side (b, LS_SIDE_BACKWARD);
  ls_layer_add_weight_gradient (b, "embedding_weight_grad", t->patch, t->hidden);
  b->plan->parameters =
      (t->patch + 1) * t->hidden + (t->learned_positions ? t->max_seq * t->hidden : 0);
  b->plan->input_bytes = ls_layer_bytes (b, rows * t->patch);
  b->plan->output_bytes = ls_layer_bytes (b, rows * t->hidden);
  ls_layer_count_flops (b, ls_transformer_embedding_flops (t, b->batch, b->seq));
  return ls_layer_builder_finish (b);
}

static void embedding_backward (LsLayerBuilder *b, const LsTransformer *t, gint64 wide,
                                gint64 elements) {
  LsLayerOp *op = NULL;

  if (t->dropout)
    ls_layer_add_pass (b, "embedding_dropout_grad", elements, 1, 1);
  if (t->embedding_norm)
    ls_layer_add_norm (b, "embedding_norm_grad", split_rows (b), t->hidden, LS_PASS_BACKWARD);
  if (b->sequence_parallel)
    ls_layer_add_collective (b, "gather_embedding_grad", LS_COLLECTIVE_ALL_GATHER, wide);
  op = ls_layer_add_kernel (
      b, "embedding_grad", LS_KIND_EMBEDDING,
      ls_kernel_embedding (&b->device, b->tokens, t->hidden, b->format, LS_PASS_BACKWARD));
  op->phase = LS_PHASE_WEIGHT_GRAD;
  op->output_gradient_bytes = wide;
}

LsLayerPlan *ls_layer_embedding_new (const LsWorkload *workload, const LsAccelerator *accelerator) {
  const LsTransformer *t = &workload->model->transformer;
  LsLayerBuilder b;
  LsLayerOp *op = NULL;
  gint64 wide = 0, elements = 0;

  ls_layer_builder_init (&b, workload, accelerator, "embedding");
  b.plan->is_root = workload->software->root_stays_gathered;
  if (t->patch > 0)
    return patches (&b, t);
  wide = ls_layer_bytes (&b, b.tokens * t->hidden);
  elements = split_rows (&b) * t->hidden;
  op = ls_layer_add_kernel (
      &b, "embedding", LS_KIND_EMBEDDING,
      ls_kernel_embedding (&b.device, b.tokens, t->hidden, b.format, LS_PASS_FORWARD));
  op->saved_bytes = b.tokens * TOKEN_BYTES;
  ls_layer_add_collective (&b, "reduce_embedding", reduction (&b), wide);
  if (t->learned_positions)
    ls_layer_add_pass (&b, "positions", elements, 2, 1);
  if (t->embedding_norm)
    ls_layer_add_norm (&b, "embedding_norm", split_rows (&b), t->hidden, LS_PASS_FORWARD)
        ->saved_bytes = ls_layer_bytes (&b, elements);
  if (t->dropout)
    ls_layer_add_pass (&b, "embedding_dropout", elements, 1, 1)->saved_bytes = elements;
  ls_layer_builder_side (&b, LS_SIDE_BACKWARD);
  if (b.frozen)
    ls_layer_forget (&b);
  else
    embedding_backward (&b, t, wide, elements);
  b.plan->parameters = workload->vocab / b.tensor * t->hidden +
                       (t->learned_positions ? t->max_seq * t->hidden : 0) +
                       (t->embedding_norm ? 2 * t->hidden : 0);
  b.plan->input_bytes = b.tokens * TOKEN_BYTES;
  b.plan->output_bytes = ls_layer_bytes (&b, elements);
  return ls_layer_builder_finish (&b);
}

/* PyTorch's plain loss over a vocabulary that tensor ranks share (loss_parallel). */
static gboolean is_split (const LsLayerBuilder *b, const LsTransformer *t) {
  return b->tensor > 1 && t->patch == 0 && b->workload->software->loss_keeps == LS_LOSS_LOG_SOFTMAX;
}

static LsLossKernel loss_kernel (const LsLayerBuilder *b, const LsTransformer *t) {
  const LsSoftware *software = b->workload->software;

  if (!software->fused_cross_entropy && is_split (b, t))
    return LS_LOSS_KERNEL_SPLIT;
  if (!software->fused_cross_entropy)
    return software->loss_keeps == LS_LOSS_SOFTMAX ? LS_LOSS_KERNEL_PARALLEL
                                                   : LS_LOSS_KERNEL_PASSES;
  return software->loss_keeps == LS_LOSS_NOTHING ? LS_LOSS_KERNEL_IN_PLACE : LS_LOSS_KERNEL_FUSED;
}

static void head_forward (LsLayerBuilder *b, const LsTransformer *t, gint64 vocab) {
  const LsLossKernel kernel = loss_kernel (b, t);
  const LsLossKeeps keeps = b->workload->software->loss_keeps;
  const gint64 rows = split_rows (b), wide = ls_layer_bytes (b, b->tokens * t->hidden);
  const gint64 logits = b->tokens * vocab;
  LsLayerOp *op = ls_layer_add_norm (b, "final_norm", rows, t->hidden, LS_PASS_FORWARD);

  op->saved_bytes = ls_layer_bytes (b, rows * t->hidden);
  if (b->sequence_parallel)
    ls_layer_add_collective (b, "gather_logits", LS_COLLECTIVE_ALL_GATHER, wide);
  op = ls_layer_add_linear (b, "logits", t->hidden, vocab);
  op->saved_input_bytes = ls_layer_kept_bytes (b, rows * t->hidden);
  op->saved_output_bytes = keeps == LS_LOSS_LOG_SOFTMAX ? 0 : ls_layer_bytes (b, logits);
  op->saved_bytes = op->saved_input_bytes + op->saved_output_bytes;
  ls_layer_add_collective (b, "loss_max", LS_COLLECTIVE_ALL_REDUCE, b->tokens * STATISTIC_BYTES);
  op = ls_layer_add_kernel (
      b, "loss", LS_KIND_LOSS,
      ls_kernel_cross_entropy (&b->device, b->tokens, vocab, b->format, kernel, LS_PASS_FORWARD));
  if (keeps == LS_LOSS_SOFTMAX || keeps == LS_LOSS_LOG_SOFTMAX)
    op->saved_bytes = logits * WIDE_BYTES;
  /* Beside it the logits and their copy in fp32; over a split vocabulary what was subtracted from, too. */
  if (keeps == LS_LOSS_LOG_SOFTMAX)
    op->workspace_bytes =
        ls_layer_bytes (b, logits) + (is_split (b, t) ? 2 : 1) * logits * WIDE_BYTES;
  else if (keeps == LS_LOSS_SOFTMAX && kernel == LS_LOSS_KERNEL_PARALLEL)
    op->workspace_bytes = logits * WIDE_BYTES;
  ls_layer_add_collective (b, "loss_pick", LS_COLLECTIVE_ALL_REDUCE, b->tokens * STATISTIC_BYTES);
  ls_layer_add_collective (b, "loss_sum", LS_COLLECTIVE_ALL_REDUCE, b->tokens * STATISTIC_BYTES);
}

/* Tensors of the logits' size that the backward pass of the loss makes. */
static gint64 loss_gradient_bytes (const LsLayerBuilder *b, const LsTransformer *t, gint64 vocab) {
  switch (b->workload->software->loss_keeps) {
  case LS_LOSS_NOTHING:
    return 0;
  case LS_LOSS_LOG_SOFTMAX:
    /* Split: zeros and picks, an exponential, and their sum (or the gradient), at once. */
    return (is_split (b, t) ? 3 : 2) * b->tokens * vocab * WIDE_BYTES;
  case LS_LOSS_SOFTMAX:
  case LS_LOSS_LOGITS:
  default:
    return ls_layer_bytes (b, b->tokens * vocab);
  }
}

/* Beside the gradient of the logits, unless they lie in the same place: the gradient of the input, the input
 * itself where it was gathered, and the placeholder. */
static gint64 output_gradient_workspace (const LsLayerBuilder *b, const LsTransformer *t,
                                         gint64 vocab) {
  const LsSoftware *software = b->workload->software;
  gint64 elements = b->tokens * t->hidden * (b->sequence_parallel ? 2 : 1);

  if (software->loss_keeps != LS_LOSS_NOTHING)
    elements += b->tokens * vocab;
  if (software->gradient_placeholders && b->workload->zero.stage < 2)
    elements += vocab * t->hidden;
  return ls_layer_bytes (b, elements);
}

static void head_backward (LsLayerBuilder *b, const LsTransformer *t, gint64 vocab) {
  const LsLossKernel kernel = loss_kernel (b, t);
  const gboolean async = b->workload->tensor_overlap == LS_TENSOR_OVERLAP_AUTO
                             ? b->workload->software->fused_weight_gradient
                             : ls_workload_tensor_bulk (b->workload);
  const gint64 wide = ls_layer_bytes (b, b->tokens * t->hidden);
  LsLayerOp *op = ls_layer_add_kernel (
      b, "loss_grad", LS_KIND_LOSS,
      ls_kernel_cross_entropy (&b->device, b->tokens, vocab, b->format, kernel, LS_PASS_BACKWARD));

  op->workspace_bytes = loss_gradient_bytes (b, t, vocab);
  ls_layer_scale_gradient (b, b->tokens * vocab);
  if (b->sequence_parallel && !b->frozen) {
    op = ls_layer_add_collective (b, "gather_logits_input", LS_COLLECTIVE_ALL_GATHER, wide);
    if (op != NULL) {
      op->overlaps_next = async;
      op->phase = LS_PHASE_WEIGHT_GRAD;
    }
  }
  op = ls_layer_add_input_gradient (b, "logits_grad", t->hidden, vocab);
  if (b->workload->software->loss_keeps == LS_LOSS_NOTHING)
    op->workspace_bytes = wide;
  op = ls_layer_add_collective (b, "reduce_logits_grad", reduction (b), wide);
  if (op != NULL)
    op->overlaps_next = async && !b->frozen;
  op = ls_layer_add_weight_gradient (b, "logits_weight_grad", t->hidden, vocab);
  if (op != NULL) {
    op->operand_bytes = ls_layer_bytes (b, split_rows (b) * t->hidden);
    op->workspace_bytes += output_gradient_workspace (b, t, vocab) - op->output_gradient_bytes;
  }
  ls_layer_add_norm (b, "final_norm_grad", split_rows (b), t->hidden, LS_PASS_BACKWARD);
}

LsLayerPlan *ls_layer_mtp_new (const LsWorkload *workload, const LsAccelerator *accelerator) {
  const LsTransformer *t = &workload->model->transformer;
  const gint64 h = t->hidden;
  LsLayerBuilder b;

  ls_layer_builder_init (&b, workload, accelerator, "mtp");
  b.tokens = split_rows (&b);
  ls_layer_add_kernel (&b, "mtp_embedding", LS_KIND_EMBEDDING,
                       ls_kernel_embedding (&b.device, b.tokens, h, b.format, LS_PASS_FORWARD));
  ls_layer_add_norm (&b, "mtp_norm", 2 * b.tokens, h, LS_PASS_FORWARD)->saved_bytes =
      ls_layer_bytes (&b, 2 * b.tokens * h);
  ls_layer_add_linear (&b, "mtp_join", 2 * h, h);
  ls_layer_builder_side (&b, LS_SIDE_BACKWARD);
  ls_layer_add_input_gradient (&b, "mtp_join_grad", 2 * h, h);
  ls_layer_add_weight_gradient (&b, "mtp_join_weight_grad", 2 * h, h);
  ls_layer_add_norm (&b, "mtp_norm_grad", 2 * b.tokens, h, LS_PASS_BACKWARD);
  b.plan->parameters = 2 * h * h + 2 * h;
  b.plan->input_bytes = b.plan->output_bytes = ls_layer_bytes (&b, b.tokens * h);
  ls_layer_count_flops (&b, 4 * (double) b.batch * (double) workload->seq_len * (double) h *
                                (double) h);
  return ls_layer_builder_finish (&b);
}

/* The head of a picture model: the norm of all tokens, then classes from the first one of each picture. */
static LsLayerPlan *classes (LsLayerBuilder *b, const LsTransformer *t, gint64 vocab) {
  const LsLossKernel kernel = loss_kernel (b, t);
  const gint64 rows = split_rows (b);
  LsLayerOp *op = ls_layer_add_norm (b, "final_norm", rows, t->hidden, LS_PASS_FORWARD);

  op->saved_bytes = ls_layer_bytes (b, rows * t->hidden);
  b->tokens = b->batch;
  ls_layer_add_linear (b, "classes", t->hidden, vocab);
  op = ls_layer_add_kernel (
      b, "loss", LS_KIND_LOSS,
      ls_kernel_cross_entropy (&b->device, b->tokens, vocab, b->format, kernel, LS_PASS_FORWARD));
  op->saved_bytes = b->tokens * vocab * 4;
  ls_layer_builder_side (b, LS_SIDE_BACKWARD);
  ls_layer_add_kernel (
      b, "loss_grad", LS_KIND_LOSS,
      ls_kernel_cross_entropy (&b->device, b->tokens, vocab, b->format, kernel, LS_PASS_BACKWARD));
  ls_layer_add_input_gradient (b, "classes_grad", t->hidden, vocab);
  ls_layer_add_weight_gradient (b, "classes_weight_grad", t->hidden, vocab);
  ls_layer_add_norm (b, "final_norm_grad", rows, t->hidden, LS_PASS_BACKWARD);
  b->plan->parameters =
      (t->rms_norm ? t->hidden : 2 * t->hidden) + t->extra_parameters + (t->hidden + 1) * vocab;
  b->plan->input_bytes = ls_layer_bytes (b, rows * t->hidden);
  ls_layer_count_flops (b, ls_transformer_head_flops (t, vocab, b->batch, b->seq));
  return ls_layer_builder_finish (b);
}

LsLayerPlan *ls_layer_head_new (const LsWorkload *workload, const LsAccelerator *accelerator) {
  const LsTransformer *t = &workload->model->transformer;
  /* The few classes of a picture model are whole on every rank. */
  const gint64 vocab = t->patch > 0 ? t->vocab : workload->vocab / workload->layout.tensor;
  const gboolean own = !t->tied_embeddings || workload->layout.pipeline > 1;
  LsLayerBuilder b;

  ls_layer_builder_init (&b, workload, accelerator, "head");
  b.plan->is_root = workload->software->root_stays_gathered;
  if (t->patch > 0)
    return classes (&b, t, vocab);
  if (workload->precision.narrow_logits) {
    ls_layer_builder_narrow (&b);
    b.maps = FALSE; /* adapters stand beside blocks' alone */
  }
  head_forward (&b, t, vocab);
  ls_layer_builder_side (&b, LS_SIDE_BACKWARD);
  head_backward (&b, t, vocab);
  b.plan->parameters = (t->rms_norm ? t->hidden : 2 * t->hidden) + t->extra_parameters +
                       (own ? vocab * t->hidden : 0);
  b.plan->input_bytes = ls_layer_bytes (&b, split_rows (&b) * t->hidden);
  ls_layer_count_flops (
      &b, ls_transformer_head_flops (t, workload->vocab, workload->micro_batch, workload->seq_len));
  return ls_layer_builder_finish (&b);
}
