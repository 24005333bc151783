/* FLOPs from shapes, and the published closed forms that they must agree with.
 *
 * Cost:       O(1) for transformers, O(elements) for layer lists.
 */
#include "train/flops.h"

double ls_transformer_block_flops (const LsTransformer *t, gint64 batch, gint64 seq) {
  const double tokens = (double) batch * (double) seq;
  const double h = (double) t->hidden, f = (double) t->ffn;
  const double q = (double) (t->heads * t->head_dim), kv = (double) (t->kv_heads * t->head_dim);
  const double matrices = h * (q + 2 * kv) + q * h + (t->gated ? 3 : 2) * h * f;

  /* Two products of s x s x head_dim per head: scores and weighting. */
  return 2 * tokens * matrices + 4 * tokens * (double) seq * q;
}

double ls_transformer_head_flops (const LsTransformer *t, gint64 vocab, gint64 batch, gint64 seq) {
  return 2 * (double) batch * (double) seq * (double) t->hidden * (double) vocab;
}

double ls_element_flops (const LsElement *e, gint64 batch) {
  const double in = (double) e->in_channels, out = (double) e->out_channels;

  switch (e->kind) {
  case LS_ELEMENT_CONVOLUTION:
    return 2 * (double) batch * (double) (e->out_height * e->out_width) * out * in /
           (double) e->groups * (double) (e->kernel_height * e->kernel_width);
  case LS_ELEMENT_LINEAR:
    return 2 * (double) batch * in * out;
  default:
    return 0;
  }
}

double ls_model_forward_flops (const LsModel *model, gint64 batch, gint64 seq) {
  const LsTransformer *t = &model->transformer;
  double flops = 0;

  if (model->kind == LS_MODEL_TRANSFORMER)
    return (double) t->layers * ls_transformer_block_flops (t, batch, seq) +
           ls_transformer_head_flops (t, t->vocab, batch, seq);
  for (guint i = 0; i < model->n_elements; i++)
    flops += ls_element_flops (&model->elements[i], batch);
  return flops;
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
