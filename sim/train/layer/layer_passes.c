/* The small kernels of a transformer block as Megatron-LM runs them: biases, copies, sums.
 *
 * Model:      values of h moved per token on t ranks beside products, norms and scores (GPT, plain attention,
 *             Megatron-LM v2.4 on PyTorch 1.x, megatron/model/transformer.py and mpu/layers.py):
 *               forward    bias of qkv 6/t, copy of the context 2/t; with what layer_transformer.c writes itself, bias-gelu
 *                          8/t and two bias-dropout-adds 3.5 each (a mask is a byte)
 *               backward   sums over the tokens for the biases 2 + 7/t, gradients of q and k scaled 4/t and joined with v's
 *                          6/t; gelu 12/t, two dropouts 2.5 each, residuals 6
 *             TransformerEngine takes the bias of qkv into its product, forward and backward, and a flash kernel reads and
 *             writes in the order of tokens.
 * Left out:   casts and copies of single launches that move a few bytes (scales, masks of positions, random states).
 */
#include "train/layer/layer_block.h"

/* Where attention is a chain of products its result is put back into the order of tokens, in a copy; the products read
 * queries, keys and values as slices of what the map made, and write into whatever order, in place.
 * source: Megatron-LM v2.4 to v3.0, megatron/model/transformer.py: context_layer.permute (2, 0, 1, 3).contiguous (). */
void ls_block_copy_context (LsBlock *k, gint64 columns) {
  if (k->flash)
    return;
  ls_layer_add_pass (&k->b, "context_copy", k->b.tokens * columns, 1, 1)->core = TRUE;
}

/* ...and its gradients, those of queries and keys times the 1 / sqrt (d) of the product (PyTorch, derivatives.yaml,
 * baddbmm: maybe_multiply), are joined to one tensor, as the three were split off one (torch.split's backward). */
void ls_block_join_gradients (LsBlock *k) {
  if (k->flash)
    return;
  ls_layer_add_pass (&k->b, "scale_query_grad", k->b.tokens * k->q, 1, 1);
  ls_layer_add_pass (&k->b, "scale_key_grad", k->b.tokens * k->kv, 1, 1);
  ls_layer_add_pass (&k->b, "join_qkv_grad", k->b.tokens * (k->q + 2 * k->kv), 1, 1);
}

static gboolean has_qkv_biases (const LsBlock *k) {
  return k->t->latent.kv_rank == 0 && (k->t->biases || k->t->qkv_biases);
}

/* Gradient of a bias: a sum over the tokens. */
void ls_block_bias_gradient (LsBlock *k, const char *name, gint64 elements) {
  if (k->b.frozen)
    return;
  ls_layer_add_pass (&k->b, name, elements, 1, 0);
}

void ls_block_qkv_bias (LsBlock *k) {
  if (has_qkv_biases (k) && k->b.workload->software->bias_passes)
    ls_layer_add_pass (&k->b, "qkv_bias", k->b.tokens * (k->q + 2 * k->kv), 1, 1);
}

void ls_block_qkv_bias_grad (LsBlock *k) {
  if (has_qkv_biases (k) && !k->b.workload->software->fused_bias_gradient)
    ls_block_bias_gradient (k, "qkv_bias_grad", k->b.tokens * (k->q + 2 * k->kv));
}

/* Scaled (YaRN), which TransformerEngine's kernel does not do: of queries and of keys x cos + turned x sin, where
 * "turned" negates one half and joins it with the other, and the sum is joined with what has no positions (nothing).
 * In halves of the elements: a product, half a negation, a join, a product, a sum, a join; backward a product, half a
 * negation, the gradients of the halves joined, a product, the sum of both, zeros for what has no positions and the
 * sum with them. The first four of either read halves, or tables that are repeated for each head: views. source: Megatron-Core, models/common/embeddings/rope_utils.py, apply_rotary_pos_emb (mscale != 1.0: "is
 * not supported by TE's fused RoPE. Using unfused implementation.") and _apply_rotary_pos_emb_bshd; its backward is
 * autograd's. Left out: tables of cosines and sines. */
static void turn_scaled (LsBlock *k, const char *name) {
  static const int forward[][2] = {{2, 2}, {1, 1}, {2, 2}, {2, 2}, {4, 2}, {2, 2}};
  static const int backward[][2] = {{2, 2}, {1, 1}, {2, 2}, {2, 2}, {4, 2}, {0, 2}, {4, 2}};
  static const guint views = 4;
  const gboolean back = k->b.side == LS_SIDE_BACKWARD;
  const int (*passes)[2] = back ? backward : forward;
  const guint n = back ? G_N_ELEMENTS (backward) : G_N_ELEMENTS (forward);
  const gint64 columns[] = {k->q, k->kv};

  for (guint i = 0; i < 2 * n; i++)
    (i % n < views ? ls_layer_add_view_pass : ls_layer_add_pass) (
        &k->b, name, k->b.tokens * columns[i / n] / 2, passes[i % n][0], passes[i % n][1]);
}

/* Rotary positions, or their gradient. Not fused: to fp32 (twice as wide), a complex product, and back.
 * source: torchtitan, models/llama/model.py, apply_rotary_emb. */
void ls_block_turn (LsBlock *k, const char *name) {
  static const int unfused[][2] = {{1, 2}, {2, 2}, {2, 1}};
  const gint64 elements = k->b.tokens * (k->q + k->kv);

  if (!k->t->rotary)
    return;
  if (k->fused_rotary && k->t->yarn && !k->b.workload->software->compiled) {
    turn_scaled (k, name);
    return;
  }
  if (k->fused_rotary)
    ls_layer_add_pass (&k->b, name, elements, 1, 1);
  for (guint i = 0; !k->fused_rotary && i < G_N_ELEMENTS (unfused); i++)
    ls_layer_add_pass (&k->b, name, elements, unfused[i][0], unfused[i][1]);
}

/* Keys and values for each head of the queries, or their gradients added up again: read in one size and written in the
 * other. A compiler does the keys' in the pass of the rotary positions. */
void ls_block_repeat_keys (LsBlock *k, const char *name) {
  const LsSoftware *software = k->b.workload->software;
  const gint64 elements = software->compiled && k->t->rotary ? 2 * k->q : 2 * (k->q + k->kv);

  if (software->separate_maps && k->t->kv_heads < k->t->heads)
    ls_layer_add_pass (&k->b, name, k->b.tokens * elements, 1, 0);
}

static gboolean splits_second (const LsBlock *k) {
  return k->b.sequence_parallel && k->b.workload->software->splits_second;
}

void ls_block_order_gathered (LsBlock *k, gint64 bytes) {
  if (splits_second (k))
    ls_layer_add_kernel (&k->b, "order_gathered", LS_KIND_ELEMENTWISE,
                         ls_kernel_stream (&k->b.device, 2 * bytes, 0));
}

void ls_block_copy_shard (LsBlock *k, gint64 bytes) {
  if (splits_second (k))
    ls_layer_add_kernel (&k->b, "copy_shard", LS_KIND_ELEMENTWISE,
                         ls_kernel_stream (&k->b.device, 2 * bytes / (gint64) k->b.tensor, 0));
}

void ls_block_order_partials (LsBlock *k) {
  if (splits_second (k))
    ls_layer_add_pass (&k->b, "order_partials", k->b.tokens * k->t->hidden, 1, 1);
}

void ls_block_sum_partials (LsBlock *k) {
  if (splits_second (k))
    ls_layer_add_pass (&k->b, "sum_partials", k->rows * k->t->hidden, (int) k->b.tensor, 1);
}

/* Norms and biases: their gradients are added to what was accumulated tensor by tensor, which costs launches. */
void ls_block_accumulate_vectors (LsBlock *k, gint64 up) {
  const gint64 h = k->t->hidden;
  gint64 elements = (k->t->rms_norm ? 2 : 4) * h;
  int tensors = k->t->rms_norm ? 2 : 4;

  if (k->t->biases && !k->routed) {
    elements += k->q + 2 * k->kv + up + 2 * h;
    tensors += 4;
  }
  ls_layer_add_accumulation (&k->b, "accumulate_vectors", elements, tensors);
}

/* Of latent attention they are made anew with what they are made of. */
void ls_block_scale_heads (LsBlock *k, gint64 columns) {
  LsLayerOp *op = ls_layer_scale_heads (&k->b, "scale_heads", k->b.tokens * columns);

  if (op != NULL)
    op->core = k->t->latent.kv_rank > 0;
}

void ls_block_widen_gradients (LsBlock *k, gint64 columns) {
  ls_layer_widen_heads (&k->b, "widen_heads_grad", k->b.tokens * columns);
}
