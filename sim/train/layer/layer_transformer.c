/* A transformer block on one tensor rank: kernels, collectives, saved tensors.
 *
 * Model:      with T = s b tokens, h hidden, q = heads x head_dim, kv = kv_heads x head_dim, f = ffn,
 *             t tensor ranks, and [/t] for what is split only with sequence parallelism. Tensors kept
 *             for the backward pass, in elements unless said otherwise:
 *               norms 1, 2       T h [/t] each: their inputs
 *               qkv              T h [/t] input, T (q + 2 kv) / t outputs
 *               attention core   softmax output a s^2 b / t; with dropout also its mask (1 byte) and
 *                                the dropped output; nothing with a flash kernel
 *               projection       T q / t input
 *               dropout-adds     T h [/t] masks of 1 byte each, when there is dropout
 *               up               T h [/t] input
 *               activation       GeLU: T f / t input. SwiGLU: gate and up, 2 T f / t; when software
 *                                does not fuse it, also the activated gate
 *               down             T f / t input
 *             For GPT in 16 bits the sum is s b h (10 + 24/t + 5 a s / (h t)), and
 *             s b h / t (34 + 5 a s / h) with sequence parallelism.
 *             source: Korthikanti et al. 2022 (arXiv 2205.05198), eqs. (2) to (4).
 *             Collectives: Megatron's f and g: an all-reduce of T h after projection and down in the
 *             forward pass and after the input gradients of qkv and up in the backward pass. With
 *             sequence parallelism each is a reduce-scatter, the other end of each pair is an
 *             all-gather, and qkv and up gather their input once more in the backward pass, because
 *             only a shard of it was kept (ibid., section 4.2.2).
 *             Attention over a split sequence: layer_context.c.
 *             What moves bytes beside products: layer_passes.c too.
 * Left out:   the log-sum-exp of flash attention (4 bytes per head and token, under 0.2 % of a layer)
 *             and the statistics of norms; parallel attention and MLP.
 */
#include "train/layer/layer_block.h"
#include "train/layer/layer_context.h"
#include "train/layer/layer_plans.h"
#include "train/model/flops.h"

typedef LsBlock Block;

/* Row-parallel map in pieces: each rank makes the rows of one rank after the other, its own last, and sends them
 * off while it makes the next; what came is summed in the end.
 * source: Transformer Engine, CommOverlapP2PBase::split_overlap_rs (ring exchange). */
static void forward_row_pieces (Block *k, const char *name, gint64 in, const char *reduce) {
  k->b.pieces = k->pieces;
  ls_layer_add_linear (&k->b, name, in, k->t->hidden)->workspace_bytes = k->wide;
  ls_layer_add_collective (&k->b, reduce, LS_COLLECTIVE_REDUCE_SCATTER, k->wide)->pieces =
      k->pieces;
  k->b.pieces = 0;
  ls_layer_add_pass (&k->b, "sum_pieces", k->rows * k->t->hidden, (int) k->pieces, 1)
      ->workspace_bytes = k->wide;
}

/* Row-parallel linear map (projection, down) and the collective behind it. If ideal both run at once, and
 * what follows waits for both. */
static void forward_row (Block *k, const char *name, gint64 in, const char *reduce) {
  const LsCollectiveOp op =
      k->b.sequence_parallel ? LS_COLLECTIVE_REDUCE_SCATTER : LS_COLLECTIVE_ALL_REDUCE;
  LsLayerOp *collective = NULL;

  ls_layer_scale_operands (&k->b, k->b.tokens, in, k->t->hidden);
  if (k->pieces > 0) {
    forward_row_pieces (k, name, in, reduce);
    return;
  }
  if (k->chunked)
    collective = ls_layer_add_collective (&k->b, reduce, op, k->wide);
  if (collective != NULL)
    collective->overlaps_next = TRUE;
  ls_layer_add_linear (&k->b, name, in, k->t->hidden)->workspace_bytes = k->wide;
  if (k->chunked) {
    ls_block_sum_partials (k);
    return;
  }
  ls_block_order_partials (k);
  ls_layer_add_collective (&k->b, reduce, op, k->wide);
}

/* Of all tokens, as products read them. */
static gint64 operand_bytes (const Block *k) {
  return k->b.gathers_narrow ? ls_layer_linear_bytes (&k->b, k->b.tokens * k->t->hidden) : k->wide;
}

/* Tokens of a column-parallel map's input that are kept for its backward pass. */
static gint64 kept_rows (const Block *k) {
  return k->b.workload->software->splits_second ? k->b.tokens : k->rows;
}

/* All-gather before a map that needs all tokens; `overlap`: the next kernel does not need it, or not at its
 * start (in chunks). Operands of narrow products travel in the narrow format: each rank has scaled its own rows.
 * source: TransformerEngine, module/layernorm_linear.py and base.py, grad_output_preprocess (quantized, then
 * gather_along_first_dim); torchao, float8/float8_tensor_parallel.py (cast before the all-gather). */
static LsLayerOp *gather (Block *k, const char *name, gboolean overlap) {
  LsLayerOp *op = NULL;

  if (k->b.sequence_parallel)
    op = ls_layer_add_collective (&k->b, name, LS_COLLECTIVE_ALL_GATHER, operand_bytes (k));
  if (op != NULL) {
    op->workspace_bytes = operand_bytes (k);
    op->overlaps_next = overlap;
  }
  return op;
}

/* PyTorch's compiler finds no gather with its product where scales per row are made in between (PyTorch issue 149990, of
 * March 2025). */
static guint gathered_pieces (const Block *k) {
  return k->b.by_row ? 0 : k->pieces;
}

/* All-gather before a map, that is cut with it where such are. Transformer Engine, split_overlap_ag: a rank maps its
 * own rows while those of the rank before come, and passes them on. */
static void gather_beside (Block *k, const char *name) {
  LsLayerOp *op = NULL;

  if (gathered_pieces (k) > 0)
    ls_block_copy_shard (k, operand_bytes (k));
  op = gather (k, name, k->chunked && !k->b.by_row);
  if (op != NULL)
    op->pieces = gathered_pieces (k);
  if (!k->chunked && gathered_pieces (k) == 0)
    ls_block_order_gathered (k, operand_bytes (k));
}

static LsAttentionShape attention_shape (const Block *k) {
  LsAttentionShape shape = {
      .batch = k->b.batch,
      .heads = k->t->heads / k->b.tensor,
      .kv_heads = k->t->kv_heads / k->b.tensor,
      .query_length = k->b.seq,
      .kv_length = k->b.seq,
      .head_dim = ls_transformer_query_width (k->t) / k->t->heads,
      .value_dim = ls_transformer_value_width (k->t) / k->t->heads,
      .causal = k->t->causal,
      .window = k->window,
      .dropout = k->t->dropout,
      .format = ls_layer_heads_format (&k->b),
  };

  /* Of software whose own kernel it is: others have none, and no such limits. */
  shape.plain_softmax = k->b.attention == LS_ATTENTION_FUSED_SOFTMAX &&
                        k->b.workload->software->attention == LS_ATTENTION_FUSED_SOFTMAX &&
                        !ls_kernel_fused_softmax_takes (&shape);
  return shape;
}

static LsKernelCost attention_cost (const Block *k, LsPass pass) {
  const LsAttentionShape shape = attention_shape (k);

  return ls_kernel_attention (&k->b.device, k->b.attention, &shape, pass);
}

static gboolean has_plain_softmax (const Block *k) {
  return attention_shape (k).plain_softmax;
}

/* Elements of one score matrix on this rank. */
static gint64 scores (const Block *k) {
  return k->t->heads / k->b.tensor * k->b.seq * k->b.seq * k->b.batch;
}

/* The heads' values, that the projection maps back to the residual stream. */
static gint64 value_columns (const Block *k) {
  return ls_transformer_value_width (k->t) / k->b.tensor;
}

/* Attention whose sequence is split over a context group. Latent attention exchanges the keys and values of
 * all heads, not the latent. */
static LsContextAttention split_attention (const Block *k) {
  const gint64 heads = k->t->heads / k->b.tensor, kv_heads = k->t->kv_heads / k->b.tensor;
  const gint64 head = ls_transformer_query_width (k->t) / k->t->heads;
  const gint64 value = ls_transformer_value_width (k->t) / k->t->heads;

  return (LsContextAttention){
      .heads = heads,
      .kv_heads = kv_heads,
      .head_dim = head,
      .value_dim = value,
      .query_width = heads * head,
      .output_width = heads * value,
      .key_value_width = kv_heads * (head + value),
      .causal = k->t->causal,
      .window = k->window,
      .dropout = k->t->dropout,
  };
}

static void attention_forward (Block *k) {
  const gint64 element = k->b.element_bytes;
  const LsContextAttention split = split_attention (k);
  LsLayerOp *op = NULL;

  ls_block_scale_heads (k, split.query_width + split.key_value_width);
  if (k->b.workload->layout.context > 1) {
    ls_context_forward (&k->b, &split);
    ls_layer_widen_heads (&k->b, "widen_attention", k->b.tokens * value_columns (k));
    return;
  }
  op = ls_layer_add_kernel (&k->b, "attention", LS_KIND_ATTENTION,
                            attention_cost (k, LS_PASS_FORWARD));
  if (!k->flash) {
    op->core = TRUE;
    op->saved_bytes = scores (k) * (k->t->dropout ? 2 * element + 1 : element);
    op->workspace_bytes = scores (k) * element;
    /* The softmax keeps its output in fp32; a dropout keeps no input beside its mask. */
    if (has_plain_softmax (k)) {
      op->saved_bytes += scores (k) * (k->t->dropout ? 4 - element : 4);
      op->workspace_bytes += scores (k) * 4;
    }
  }
  ls_block_copy_context (k, value_columns (k));
  ls_layer_widen_heads (&k->b, "widen_attention", k->b.tokens * value_columns (k));
}

/* A flash kernel's backward pass reads what it made, which a frozen projection does not keep for it. An exchange of
 * heads has kept it. */
static void keep_attention (Block *k) {
  const LsWorkload *workload = k->b.workload;
  const gint64 bytes = ls_layer_kept_context_bytes (&k->b, k->b.tokens * value_columns (k));
  guint at = k->b.plan->n_forward;

  if (!k->b.frozen || !k->flash ||
      (workload->layout.context > 1 && workload->context_kind == LS_CONTEXT_ALL_TO_ALL))
    return;
  while (at > 0 && k->b.plan->forward[at - 1].is_collective)
    at--;
  k->b.plan->forward[at - 1].saved_bytes += bytes;
  k->b.plan->forward[at - 1].saved_output_bytes += bytes;
}

static void attention_backward (Block *k) {
  const LsContextAttention split = split_attention (k);
  LsLayerOp *op = NULL;

  ls_layer_scale_heads (&k->b, "scale_attention_grad", k->b.tokens * value_columns (k));
  if (k->b.workload->layout.context > 1) {
    ls_context_backward (&k->b, &split);
    ls_block_widen_gradients (k, split.query_width + split.key_value_width);
    return;
  }
  op = ls_layer_add_kernel (&k->b, "attention_grad", LS_KIND_ATTENTION,
                            attention_cost (k, LS_PASS_BACKWARD));
  op->workspace_bytes = ls_layer_bytes (&k->b, k->b.tokens * 2 * (k->q + k->kv));
  if (!k->flash)
    op->workspace_bytes += 2 * scores (k) * (has_plain_softmax (k) ? 4 : k->b.element_bytes);
  ls_block_join_gradients (k);
  ls_block_widen_gradients (k, split.query_width + split.key_value_width);
}

static void forward_norm (Block *k, const char *norm, gboolean fused) {
  LsLayerOp *op = fused ? ls_layer_add_fused_norm (&k->b, norm, k->rows, k->t->hidden)
                        : ls_layer_add_norm (&k->b, norm, k->rows, k->t->hidden, LS_PASS_FORWARD);

  op->saved_bytes = ls_layer_bytes (&k->b, k->rows * k->t->hidden);
  op->saved_input_bytes = op->saved_bytes;
}

/* Column-parallel map from the norm's output; keeps only this rank's rows of it. */
static LsLayerOp *forward_column (Block *k, const char *gather_name, const char *name,
                                  const gint64 *outs, guint n) {
  LsLayerOp *op = NULL;
  gint64 out = 0;

  for (guint i = 0; i < n; i++)
    out += outs[i];
  if (k->b.gathers_narrow)
    ls_layer_scale_operands (&k->b, k->rows, k->t->hidden, out);
  gather_beside (k, gather_name);

  k->b.pieces = gathered_pieces (k);
  op = ls_layer_add_linears (&k->b, name, k->t->hidden, outs, n);
  if (k->b.pieces > 0)
    ls_layer_move_collective (&k->b);
  k->b.pieces = 0;
  op->saved_bytes = ls_layer_kept_bytes (&k->b, kept_rows (k) * k->t->hidden);
  op->saved_input_bytes = op->saved_bytes;
  if (k->b.sequence_parallel)
    op->workspace_bytes = operand_bytes (k);
  return op;
}

static gint64 up_columns (const Block *k) {
  return k->t->gated ? 2 * k->f : k->f;
}

/* The maps of an MLP, with the gate. */
static guint up_maps (const Block *k, gint64 outs[3]) {
  outs[0] = outs[1] = k->f;
  return k->t->gated ? 2 : 1;
}

static LsLayerOp *forward_up (Block *k, const char *gather_name, const char *name) {
  gint64 outs[3];
  const guint n = up_maps (k, outs);

  return forward_column (k, gather_name, name, outs, n);
}

/* Bias, dropout and residual in one pass, or in two. */
static void forward_add (Block *k, const char *dropout, const char *add) {
  const gint64 elements = k->rows * k->t->hidden;
  const gboolean fused = k->b.workload->software->fused_dropout_add;
  LsLayerOp *op = NULL;

  if (k->t->dropout && !fused) {
    op = ls_layer_add_masked (&k->b, dropout, elements, 1, 1);
    op->saved_bytes = elements; /* the mask, one byte each */
  }
  if (!k->t->dropout || !fused) {
    ls_layer_add_pass (&k->b, add, elements, 2, 1);
    return;
  }
  ls_layer_add_masked (&k->b, add, elements, 2, 1)->saved_bytes = elements;
}

/* Columns of the maps that the norm's output is multiplied by. */
static guint qkv_columns (const Block *k, gint64 outs[3]) {
  outs[0] = k->q;
  outs[1] = outs[2] = k->kv;
  return 3;
}

/* From the residual stream to queries, keys and values. */
static void forward_qkv (Block *k) {
  const gint64 heads =
      k->b.attends_narrow ? 0 : ls_layer_bytes (&k->b, k->b.tokens * (k->q + 2 * k->kv));
  gint64 outs[3];
  const guint n = qkv_columns (k, outs);
  LsLayerOp *op = NULL;

  forward_norm (k, "norm1", FALSE);
  op = forward_column (k, "gather_qkv", "qkv", outs, n);
  op->saved_output_bytes = heads;
  op->saved_bytes += heads; /* that attention reads */
  ls_block_qkv_bias (k);
  ls_block_adapter (k, LS_LORA_QKV, k->t->hidden, k->q + 2 * k->kv);
  if (k->t->qk_norm) { /* its input is the output of qkv, which attention reads normed */
    op = ls_layer_add_norm (&k->b, "qk_norm", k->b.tokens * (k->q + k->kv) / k->t->head_dim,
                            k->t->head_dim, LS_PASS_FORWARD);
    op->saved_bytes = ls_layer_bytes (&k->b, k->b.tokens * (k->q + k->kv));
    op->saved_input_bytes = op->saved_bytes;
  }
  ls_block_turn (k, "rotary");
  ls_block_repeat_keys (k, "repeat_keys");
}

static void forward_attention (Block *k) {
  k->b.part = LS_PART_ATTENTION;
  if (k->t->latent.kv_rank > 0) {
    forward_norm (k, "norm1", FALSE);
    ls_block_latent (k);
  } else {
    forward_qkv (k);
  }
  attention_forward (k);
  keep_attention (k);
  forward_row (k, "projection", value_columns (k), "reduce_attention");
  ls_block_adapter (k, LS_LORA_PROJ, value_columns (k), k->t->hidden);
  forward_add (k, "attention_dropout", "attention_add");
  k->b.part = LS_PART_REST;
}

/* Experts that every token passes: an MLP on the input that the router has kept. */
static void forward_shared (Block *k) {
  k->f = k->t->experts.shared_ffn / k->b.tensor;
  ls_layer_op_keeps_nothing (forward_up (k, "gather_shared", "shared_up"));
  ls_block_activation (k);
  forward_row (k, "shared_down", k->f, "reduce_shared");
  if (k->t->experts.shared_gate)
    ls_layer_add_pass (&k->b, "shared_gate", k->rows * k->t->hidden, 1, 1)->saved_bytes =
        ls_layer_bytes (&k->b, k->rows * k->t->hidden);
  ls_layer_add_pass (&k->b, "shared_add", k->rows * k->t->hidden, 2, 1);
}

static void forward_experts (Block *k) {
  k->b.part = LS_PART_ROUTER;
  forward_norm (k, "norm2", FALSE);
  ls_block_experts (k);
  k->b.part = LS_PART_ROUTER;
  if (k->t->experts.shared_ffn > 0)
    forward_shared (k);
  k->b.part = LS_PART_REST;
  forward_add (k, "mlp_dropout", "mlp_add");
}

static void forward_mlp (Block *k) {
  forward_norm (k, "norm2", !ls_lora_has (&k->t->lora, LS_LORA_FC1));
  forward_up (k, "gather_mlp", "mlp_up");
  ls_block_adapter (k, LS_LORA_FC1, k->t->hidden, up_columns (k));
  ls_block_activation (k);
  forward_row (k, "mlp_down", k->f, "reduce_mlp");
  ls_block_adapter (k, LS_LORA_FC2, k->f, k->t->hidden);
  forward_add (k, "mlp_dropout", "mlp_add");
}

#define NO_TARGET LS_N_LORA_TARGETS

/* Gradients of a row-parallel map (projection, down): of its dropout, gathered, of its input, of its weights. */
static void backward_row (Block *k, LsLoraTarget target, const char *const *names, gint64 in) {
  if (k->t->dropout)
    ls_layer_add_masked (&k->b, names[0], k->rows * k->t->hidden, 1, 1);
  if (k->t->biases)
    ls_block_bias_gradient (k, names[4], k->rows * k->t->hidden);
  if (!ls_block_goes_below (k, target)) {
    ls_block_adapter_grad (k, target, in, k->t->hidden);
    return;
  }
  if (k->b.gathers_narrow)
    ls_layer_scale_gradient (&k->b, k->rows * k->t->hidden);
  gather_beside (k, names[1]);
  if (!k->b.gathers_narrow)
    ls_layer_scale_gradient (&k->b, k->b.tokens * k->t->hidden);
  k->b.pieces = gathered_pieces (k);
  ls_layer_add_input_gradient (&k->b, names[2], in, k->t->hidden);
  if (k->b.pieces > 0)
    ls_layer_move_collective (&k->b);
  k->b.pieces = 0;
  ls_layer_add_weight_gradient (&k->b, names[3], in, k->t->hidden);
  ls_block_adapter_grad (k, target, in, k->t->hidden);
}

/* Gradients of a column-parallel map (qkv, up), of the norm before it, and of the residual, if these are
 * named. */
static void backward_column (Block *k, LsLoraTarget target, const char *const *names,
                             const gint64 *outs, guint n) {
  LsLayerOp *op = NULL;
  gint64 out = 0;

  for (guint i = 0; i < n; i++)
    out += outs[i];

  if (!ls_block_goes_below (k, target)) {
    ls_block_adapter_grad (k, target, k->t->hidden, out);
    return;
  }
  ls_layer_scale_gradient (&k->b, k->b.tokens * out);
  op = k->b.frozen || kept_rows (k) > k->rows ? NULL : gather (k, names[0], k->async);
  if (op != NULL)
    op->phase = LS_PHASE_WEIGHT_GRAD; /* only that needs it */
  ls_layer_add_input_gradients (&k->b, names[1], k->t->hidden, outs, n);
  /* A compiler puts them in order as it adds them up. */
  if (n == 1 || !k->b.workload->software->compiled)
    ls_block_order_partials (k);
  ls_block_adapter_grad (k, target, k->t->hidden, out);
  op = ls_layer_add_collective (
      &k->b, names[2],
      k->b.sequence_parallel ? LS_COLLECTIVE_REDUCE_SCATTER : LS_COLLECTIVE_ALL_REDUCE, k->wide);
  if (op != NULL)
    op->overlaps_next = k->async && !k->b.frozen;
  op = ls_layer_add_weight_gradients (&k->b, names[3], k->t->hidden, outs, n);
  if (op != NULL)
    op->operand_bytes = ls_layer_bytes (&k->b, kept_rows (k) * k->t->hidden);
  if (names[4] == NULL)
    return;
  ls_layer_add_norm (&k->b, names[4], k->rows, k->t->hidden, LS_PASS_BACKWARD);
  ls_layer_add_pass (&k->b, names[5], k->rows * k->t->hidden, 2, 1);
}

static void backward_up (Block *k, LsLoraTarget target, const char *const *names) {
  gint64 outs[3];

  backward_column (k, target, names, outs, up_maps (k, outs));
}

static void backward_experts (Block *k) {
  static const char *const shared[] = {"gather_shared_input",
                                       "shared_up_grad",
                                       "reduce_shared_grad",
                                       "shared_up_weight_grad",
                                       NULL,
                                       NULL};
  static const char *const down[] = {NULL, "gather_shared_grad", "shared_down_grad",
                                     "shared_down_weight_grad", "shared_down_bias_grad"};

  if (k->t->dropout)
    ls_layer_add_masked (&k->b, "mlp_dropout_grad", k->rows * k->t->hidden, 1, 1);
  if (k->t->experts.shared_ffn > 0) {
    Block of_shared = *k; /* its residual stream has no dropout of its own */
    LsTransformer t = *k->t;

    of_shared.b.part = LS_PART_ROUTER;
    t.dropout = FALSE;
    of_shared.t = &t;
    of_shared.f = t.experts.shared_ffn / k->b.tensor;
    if (t.experts.shared_gate)
      ls_layer_add_pass (&of_shared.b, "shared_gate_grad", k->rows * t.hidden, 2, 1);
    backward_row (&of_shared, NO_TARGET, down, of_shared.f);
    ls_block_activation_grad (&of_shared);
    backward_up (&of_shared, NO_TARGET, shared);
    k->b = of_shared.b;
  }
  k->b.part = LS_PART_REST;
  ls_block_experts_grad (k);
  ls_layer_add_norm (&k->b, "norm2_grad", k->rows, k->t->hidden, LS_PASS_BACKWARD);
  ls_layer_add_pass (&k->b, "mlp_add_grad", k->rows * k->t->hidden, 2, 1);
}

/* Each part of the backward pass is FALSE when nothing below it needs a gradient. */
static gboolean backward_mlp (Block *k) {
  static const char *const up[] = {"gather_mlp_input",   "mlp_up_grad", "reduce_mlp_grad",
                                   "mlp_up_weight_grad", "norm2_grad",  "mlp_add_grad"};
  static const char *const down[] = {"mlp_dropout_grad", "gather_mlp_grad", "mlp_down_grad",
                                     "mlp_down_weight_grad", "mlp_down_bias_grad"};

  backward_row (k, LS_LORA_FC2, down, k->f);
  if (!ls_block_goes_below (k, LS_LORA_FC2))
    return FALSE;
  ls_block_activation_grad (k);
  backward_up (k, LS_LORA_FC1, up);
  return ls_block_goes_below (k, LS_LORA_FC1);
}

static void backward_attention (Block *k) {
  static const char *const qkv[] = {"gather_qkv_input", "qkv_grad",   "reduce_attention_grad",
                                    "qkv_weight_grad",  "norm1_grad", "attention_add_grad"};
  static const char *const projection[] = {"attention_dropout_grad", "gather_attention_grad",
                                           "projection_grad", "projection_weight_grad",
                                           "projection_bias_grad"};
  gint64 outs[3];

  backward_row (k, LS_LORA_PROJ, projection, value_columns (k));
  if (!ls_block_goes_below (k, LS_LORA_PROJ))
    return;
  attention_backward (k);
  if (k->t->latent.kv_rank > 0) {
    ls_block_latent_grad (k);
    return;
  }
  ls_block_repeat_keys (k, "sum_repeated_keys");
  ls_block_turn (k, "rotary_grad");
  if (k->t->qk_norm)
    ls_layer_add_norm (&k->b, "qk_norm_grad", k->b.tokens * (k->q + k->kv) / k->t->head_dim,
                       k->t->head_dim, LS_PASS_BACKWARD);
  ls_block_qkv_bias_grad (k);
  backward_column (k, LS_LORA_QKV, qkv, outs, qkv_columns (k, outs));
}

static void backward (Block *k) {
  gboolean below = TRUE;

  if (k->routed)
    backward_experts (k);
  else
    below = backward_mlp (k);
  k->b.part = LS_PART_ATTENTION;
  if (below)
    backward_attention (k);
  k->b.part = LS_PART_REST;
  ls_block_accumulate_vectors (k, up_columns (k));
}

/* Parameters of this rank: matrices and the biases of column-parallel maps are split, norms and the
 * biases of row-parallel maps are whole on every rank. */
static gint64 parameters (const Block *k) {
  const gint64 h = k->t->hidden;
  const gint64 f = k->routed ? k->t->experts.shared_ffn / k->b.tensor : k->f;
  const gint64 up = k->t->gated ? 2 * f : f;
  gint64 n = value_columns (k) * h + up * h + f * h;

  n += k->t->latent.kv_rank > 0 ? ls_block_latent_parameters (k) : h * (k->q + 2 * k->kv);
  n += k->routed ? ls_block_router_parameters (k) : 0;
  if (k->t->biases)
    n += k->q + 2 * k->kv + (f > 0 ? up + h : 0) + h;
  else if (k->t->qkv_biases)
    n += k->q + 2 * k->kv;
  n += k->t->qk_norm ? 2 * k->t->head_dim : 0;
  return n + 2 * (k->t->rms_norm ? h : 2 * h);
}

static guint adapter_matrices (const LsTransformer *t) {
  guint n = 0;

  for (guint i = 0; i < LS_N_LORA_TARGETS; i++)
    n += ls_lora_has (&t->lora, (LsLoraTarget) i) ? 2 : 0;
  return n;
}

static gboolean is_routed (const LsTransformer *t, gint64 block) {
  return block < t->layers ? ls_transformer_is_expert_block (t, block) : t->experts.count > 0;
}

gboolean ls_layer_block_alike (const LsTransformer *t, gint64 block, gint64 other) {
  return is_routed (t, block) == is_routed (t, other) &&
         ls_transformer_window (t, block) == ls_transformer_window (t, other) &&
         (t->lora.rank == 0 || (block == 0) == (other == 0));
}

LsLayerPlan *ls_layer_block_new (const LsWorkload *workload, const LsAccelerator *accelerator,
                                 gint64 block) {
  const LsTransformer *t = &workload->model->transformer;
  const gboolean routed = is_routed (t, block);
  Block k = {.t = t,
             .routed = routed,
             .window = ls_transformer_window (t, block),
             .lowest = t->lora.rank > 0 && block == 0};
  const LsTensorOverlap overlap = ls_workload_tensor_overlap (workload);
  const guint tensor_ranks = workload->layout.tensor;
  gint64 tensor = 0;

  ls_layer_builder_init (&k.b, workload, accelerator, "block");
  ls_layer_builder_narrow (&k.b);
  tensor = k.b.tensor;
  k.q = ls_transformer_query_width (t) / tensor;
  k.kv = t->latent.kv_rank > 0 ? k.q : t->kv_heads * t->head_dim / tensor;
  k.f = t->ffn / tensor;
  k.rows = k.b.sequence_parallel ? k.b.tokens / tensor : k.b.tokens;
  k.wide = ls_layer_bytes (&k.b, k.b.tokens * t->hidden);
  k.flash = ls_attention_is_flash (k.b.attention);
  k.fused_rotary = workload->software->fused_bias_gelu;
  k.async = ls_workload_tensor_bulk (workload);
  k.chunked = overlap == LS_TENSOR_OVERLAP_IDEAL && k.b.sequence_parallel;
  k.pieces = overlap == LS_TENSOR_OVERLAP_PIECES && k.b.sequence_parallel ? tensor_ranks : 0;
  forward_attention (&k);
  if (routed)
    forward_experts (&k);
  else
    forward_mlp (&k);
  ls_layer_builder_side (&k.b, LS_SIDE_BACKWARD);
  backward (&k);
  k.b.plan->parameters = parameters (&k);
  k.b.plan->n_matrices = 4; /* qkv, projection, up (with the gate), down */
  if (t->latent.kv_rank > 0)
    k.b.plan->n_matrices += t->latent.q_rank > 0 ? 3 : 2;
  k.b.plan->n_matrices += adapter_matrices (t);
  if (routed) {
    /* the router, and no dense MLP where no expert is shared */
    k.b.plan->n_matrices =
        t->experts.shared_ffn > 0 ? k.b.plan->n_matrices + 1 : k.b.plan->n_matrices - 1;
    k.b.plan->expert_parameters = ls_block_expert_parameters (&k);
    k.b.plan->n_expert_matrices =
        2 * (guint) (t->experts.count / ls_layout_size (&workload->layout, LS_AXIS_EXPERT));
  }
  k.b.plan->input_bytes = ls_layer_bytes (&k.b, k.rows * t->hidden);
  k.b.plan->output_bytes = k.b.plan->input_bytes;
  ls_layer_count_flops (&k.b, routed ? ls_transformer_expert_block_flops (
                                           t, k.window, workload->micro_batch, workload->seq_len)
                                     : ls_transformer_block_flops (
                                           t, k.window, workload->micro_batch, workload->seq_len));
  return ls_layer_builder_finish (&k.b);
}
