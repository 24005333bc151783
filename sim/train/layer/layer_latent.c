/* Multi-head latent attention on one tensor rank: from the norm to queries, keys and values.
 *
 * Model:      with ranks r_q, r_kv of the latents, a heads of (nope + rope) for queries and keys and of
 *             `value` for values: two maps down, h -> r_q and h -> r_kv + rope, whole on every tensor rank
 *             (with sequence parallelism each maps its own tokens, and the latents are gathered, which are
 *             narrower than the residual stream); a norm of each latent; two maps up, split over heads;
 *             rotary positions on `rope` numbers of each query head and on one key that all heads share;
 *             keys are put together. r_q = 0: queries straight from the residual stream.
 *             source: DeepSeek-V2 (arXiv 2405.04434), section 2.1; Megatron-core,
 *             transformer/multi_latent_attention.py.
 *             Kept: norm's output n h, latents before and after their norms, and T (q + k + v) / t of what
 *             the maps up make. The latter are marked as part of the attention core: with
 *             `recompute: selective` only the latents are kept, and the maps up are run again, as DeepSeek-V3
 *             trains (arXiv 2412.19437, section 3.2.3).
 * Left out:   absorbing the maps up into queries and output, which pays in inference only.
 */
#include "train/layer/layer_block.h"

static gint64 heads_of (const LsBlock *k) {
  return k->t->heads / k->b.tensor;
}

/* Columns of the map to keys and values on this rank. */
static gint64 kv_columns (const LsBlock *k) {
  return heads_of (k) * (k->t->latent.nope + k->t->latent.value);
}

static gint64 latent_width (const LsBlock *k) {
  return k->t->latent.q_rank + k->t->latent.kv_rank + k->t->latent.rope;
}

static void down (LsBlock *k) {
  const LsLatent *l = &k->t->latent;
  const gint64 tokens = k->b.tokens;

  k->b.tokens = k->rows;
  if (l->q_rank > 0)
    ls_layer_op_keeps_nothing (ls_layer_add_linear (&k->b, "q_down", k->t->hidden, l->q_rank));
  ls_layer_add_linear (&k->b, "kv_down", k->t->hidden,
                       l->kv_rank + l->rope); /* keeps both's input */
  if (l->q_rank > 0)
    ls_layer_add_norm (&k->b, "q_norm", k->rows, l->q_rank, LS_PASS_FORWARD)->saved_bytes =
        ls_layer_bytes (&k->b, k->rows * l->q_rank) +
        ls_layer_linear_bytes (&k->b, k->rows * l->q_rank);
  ls_layer_add_norm (&k->b, "kv_norm", k->rows, l->kv_rank, LS_PASS_FORWARD)->saved_bytes =
      ls_layer_bytes (&k->b, k->rows * (l->kv_rank + l->rope)) +
      ls_layer_linear_bytes (&k->b, k->rows * l->kv_rank);
  k->b.tokens = tokens;
}

/* A map from a latent, which its norm has kept, to heads. */
static void up (LsBlock *k, const char *name, gint64 in, gint64 out) {
  LsLayerOp *op = ls_layer_add_linear (&k->b, name, in, out);

  ls_layer_op_keeps_nothing (op);
  op->core = TRUE;
}

/* A pass over what the maps up made, `kept` of which the backward pass of attention reads. */
static void heads (LsBlock *k, const char *name, gint64 elements, gint64 kept) {
  LsLayerOp *op = ls_layer_add_pass (&k->b, name, elements, 1, 1);

  op->saved_bytes = k->b.attends_narrow ? 0 : ls_layer_bytes (&k->b, kept);
  op->core = TRUE;
}

void ls_block_latent (LsBlock *k) {
  const LsLatent *l = &k->t->latent;
  const gint64 a = heads_of (k), keys = a * (l->nope + l->rope), values = a * l->value;

  down (k);
  if (k->b.sequence_parallel)
    ls_layer_add_collective (&k->b, "gather_latent", LS_COLLECTIVE_ALL_GATHER,
                             ls_layer_bytes (&k->b, k->b.tokens * latent_width (k)));
  if (l->q_rank == 0 && k->b.sequence_parallel)
    ls_layer_add_collective (&k->b, "gather_q", LS_COLLECTIVE_ALL_GATHER, k->wide);
  up (k, "q_up", l->q_rank > 0 ? l->q_rank : k->t->hidden, k->q);
  up (k, "kv_up", l->kv_rank, kv_columns (k));
  heads (k, "rotary", k->b.tokens * a * l->rope, k->b.tokens * k->q);
  heads (k, "join_heads", k->b.tokens * (keys + values), k->b.tokens * (keys + values));
}

static void up_grad (LsBlock *k, const char *input, const char *weight, gint64 in, gint64 out) {
  ls_layer_scale_gradient (&k->b, k->b.tokens * out);
  ls_layer_add_input_gradient (&k->b, input, in, out);
  ls_layer_add_weight_gradient (&k->b, weight, in, out);
}

static void down_grad (LsBlock *k) {
  const LsLatent *l = &k->t->latent;
  const gint64 tokens = k->b.tokens, h = k->t->hidden;

  k->b.tokens = k->rows;
  ls_layer_add_norm (&k->b, "kv_norm_grad", k->rows, l->kv_rank, LS_PASS_BACKWARD);
  up_grad (k, "kv_down_grad", "kv_down_weight_grad", h, l->kv_rank + l->rope);
  if (l->q_rank > 0) {
    ls_layer_add_norm (&k->b, "q_norm_grad", k->rows, l->q_rank, LS_PASS_BACKWARD);
    up_grad (k, "q_down_grad", "q_down_weight_grad", h, l->q_rank);
  }
  k->b.tokens = tokens;
}

void ls_block_latent_grad (LsBlock *k) {
  const LsLatent *l = &k->t->latent;
  const gint64 a = heads_of (k);
  const LsCollectiveOp reduce =
      k->b.sequence_parallel ? LS_COLLECTIVE_REDUCE_SCATTER : LS_COLLECTIVE_ALL_REDUCE;

  ls_layer_add_pass (&k->b, "join_heads_grad", k->b.tokens * a * (l->nope + l->rope + l->value), 1,
                     1);
  ls_layer_add_pass (&k->b, "rotary_grad", k->b.tokens * a * l->rope, 1, 1);
  up_grad (k, "kv_up_grad", "kv_up_weight_grad", l->kv_rank, kv_columns (k));
  up_grad (k, "q_up_grad", "q_up_weight_grad", l->q_rank > 0 ? l->q_rank : k->t->hidden, k->q);
  ls_layer_add_collective (&k->b, "reduce_latent_grad", reduce,
                           ls_layer_bytes (&k->b, k->b.tokens * latent_width (k)));
  if (l->q_rank == 0)
    ls_layer_add_collective (&k->b, "reduce_q_grad", reduce, k->wide);
  down_grad (k);
  ls_layer_add_norm (&k->b, "norm1_grad", k->rows, k->t->hidden, LS_PASS_BACKWARD);
  ls_layer_add_pass (&k->b, "attention_add_grad", k->rows * k->t->hidden, 2, 1);
}

gint64 ls_block_latent_parameters (const LsBlock *k) {
  const LsLatent *l = &k->t->latent;
  const gint64 h = k->t->hidden;
  const gint64 queries = l->q_rank > 0 ? h * l->q_rank + l->q_rank + l->q_rank * k->q : h * k->q;

  return queries + h * (l->kv_rank + l->rope) + l->kv_rank + l->kv_rank * kv_columns (k);
}
