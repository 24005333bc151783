/* FLOPs from shapes, and the published closed forms that they must agree with.
 *
 * Cost:       O(blocks) for transformers, O(elements) for layer lists.
 */
#include "train/model/flops.h"

/* Scores of query against key width, and weighting of the values, in full: of a window, all its keys. */
static double attention_core (const LsTransformer *t, double tokens, gint64 seq, gint64 window) {
  const gint64 keys = window > 0 && window < seq ? window : seq;

  return 2 * tokens * (double) keys *
         (double) (ls_transformer_query_width (t) + ls_transformer_value_width (t));
}

/* Weights of the linear maps of attention: norms and biases multiply nothing. */
static double attention_weights (const LsTransformer *t) {
  LsTransformer plain = *t;

  plain.biases = plain.qkv_biases = plain.qk_norm = FALSE;
  return (double) (ls_transformer_attention_parameters (&plain) -
                   (t->latent.kv_rank > 0 ? t->latent.q_rank + t->latent.kv_rank : 0));
}

static double adapters (const LsTransformer *t) {
  return (double) ls_transformer_adapter_parameters (t);
}

double ls_transformer_block_flops (const LsTransformer *t, gint64 window, gint64 batch,
                                   gint64 seq) {
  const double tokens = (double) batch * (double) seq;
  const double mlp = (t->gated ? 3 : 2) * (double) t->hidden * (double) t->ffn;

  return 2 * tokens * (attention_weights (t) + mlp + adapters (t)) +
         attention_core (t, tokens, seq, window);
}

double ls_transformer_expert_block_flops (const LsTransformer *t, gint64 window, gint64 batch,
                                          gint64 seq) {
  const LsExperts *e = &t->experts;
  const double tokens = (double) batch * (double) seq, h = (double) t->hidden;
  const double width = (double) (e->top_k * e->ffn + e->shared_ffn);
  const double mlp = (t->gated ? 3 : 2) * h * width + h * (double) e->count;

  return 2 * tokens * (attention_weights (t) + mlp + adapters (t)) +
         attention_core (t, tokens, seq, window);
}

double ls_transformer_head_flops (const LsTransformer *t, gint64 vocab, gint64 batch, gint64 seq) {
  /* Classes of a picture are read off one token. */
  return 2 * (double) batch * (t->patch > 0 ? 1 : (double) seq) * (double) t->hidden *
         (double) vocab;
}

double ls_transformer_embedding_flops (const LsTransformer *t, gint64 batch, gint64 seq) {
  return 2 * (double) batch * (double) seq * (double) t->patch * (double) t->hidden;
}

/* Further tokens predicted: a map of two vectors to one, a block, and the logits once more. */
static double mtp_flops (const LsTransformer *t, gint64 vocab, gint64 batch, gint64 seq) {
  const double map = 4 * (double) batch * (double) seq * (double) t->hidden * (double) t->hidden;

  return (double) t->mtp *
         (map + ls_transformer_head_flops (t, vocab, batch, seq) +
          (t->experts.count > 0
               ? ls_transformer_expert_block_flops (t, ls_transformer_window (t, t->layers), batch,
                                                    seq)
               : ls_transformer_block_flops (t, ls_transformer_window (t, t->layers), batch, seq)));
}

static double transformer_flops (const LsTransformer *t, gint64 batch, gint64 seq) {
  double blocks = 0;

  for (gint64 i = 0; i < t->layers; i++) {
    const gint64 window = ls_transformer_window (t, i);
    blocks += ls_transformer_is_expert_block (t, i)
                  ? ls_transformer_expert_block_flops (t, window, batch, seq)
                  : ls_transformer_block_flops (t, window, batch, seq);
  }
  return blocks + mtp_flops (t, t->vocab, batch, seq) +
         ls_transformer_embedding_flops (t, batch, seq) +
         ls_transformer_head_flops (t, t->vocab, batch, seq);
}

double ls_element_flops (const LsElement *e, gint64 batch) {
  const double in = (double) e->in_channels, out = (double) e->out_channels;

  switch (e->kind) {
  case LS_ELEMENT_CONVOLUTION:
    return 2 * (double) batch * (double) (e->out_height * e->out_width) * out * in /
           (double) e->groups * (double) (e->kernel_height * e->kernel_width);
  case LS_ELEMENT_LINEAR:
    return 2 * (double) batch * in * out;
  case LS_ELEMENT_INTERACTION:
    return 2 * (double) batch * (double) (e->tables * e->tables) * (double) e->width;
  default:
    return 0;
  }
}

double ls_model_forward_flops (const LsModel *model, gint64 batch, gint64 seq) {
  double flops = 0;

  if (model->kind == LS_MODEL_TRANSFORMER)
    return transformer_flops (&model->transformer, batch, seq);
  for (guint i = 0; i < model->n_elements; i++)
    flops += ls_element_flops (&model->elements[i], batch);
  return flops;
}

double ls_model_attention_flops (const LsModel *model, gint64 batch, gint64 seq) {
  const LsTransformer *t = &model->transformer;
  double flops = 0;

  if (model->kind != LS_MODEL_TRANSFORMER)
    return 0;
  for (gint64 i = 0; i < t->layers + t->mtp; i++)
    flops += attention_core (t, (double) batch * (double) seq, seq, ls_transformer_window (t, i));
  return 3 * flops;
}

double ls_model_training_flops (const LsModel *model, gint64 batch, gint64 seq) {
  const LsTransformer *t = &model->transformer;
  const double forward = ls_model_forward_flops (model, batch, seq);
  const double tokens = (double) batch * (double) seq;

  if (model->kind != LS_MODEL_TRANSFORMER || t->lora.rank == 0)
    return 3 * forward;
  double trained = 0;
  for (gint64 i = 0; i < t->layers + t->mtp; i++)
    trained +=
        2 * tokens * adapters (t) + attention_core (t, tokens, seq, ls_transformer_window (t, i));
  return 2 * (forward - trained) + 3 * trained;
}

double ls_flops_megatron (gint64 batch, gint64 seq, gint64 layers, gint64 hidden, gint64 vocab) {
  const double b = (double) batch, s = (double) seq, l = (double) layers, h = (double) hidden;

  return 72 * b * s * l * h * h * (1 + s / (6 * h) + (double) vocab / (12 * l * h));
}

double ls_flops_megatron_recompute (gint64 batch, gint64 seq, gint64 layers, gint64 hidden,
                                    gint64 vocab) {
  const double b = (double) batch, s = (double) seq, l = (double) layers, h = (double) hidden;

  return 96 * b * s * l * h * h * (1 + s / (6 * h) + (double) vocab / (16 * l * h));
}

double ls_flops_per_token_6n (double parameters, gint64 layers, gint64 hidden, gint64 seq) {
  return 6 * parameters + 12 * (double) layers * (double) hidden * (double) seq;
}
