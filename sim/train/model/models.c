/* Models: making, copying and counting them.
 *
 * Model:      parameters of a GPT block, h hidden, d_q = heads x head_dim, d_kv = kv_heads x head_dim,
 *             f = ffn:  h (d_q + 2 d_kv) + d_q h + 2 h f  (3 h f when gated), plus biases
 *             d_q + 2 d_kv + h + f + h, plus two norms of h weights (and h biases for LayerNorm).
 *             With d_q = d_kv = h and f = 4 h that is 12 h^2 + 13 h.
 *             source: Narayanan et al., SC21, eq. (2); the preset table holds the published sums.
 *             Experts: E MLPs of their own width, the router's h E, shared experts as one MLP.
 *             Latent attention of ranks r_q, r_kv: h r_q + r_q (d_q + 1) + h (r_kv + rope) + r_kv +
 *             r_kv heads (nope + value) + heads value h. source: DeepSeek-V2, section 2.1 and its
 *             released modelling code; counts of the released checkpoints.
 */
#include "train/model/models.h"

#include <string.h>

#include "base/assert.h"

LsModel *ls_model_new_transformer (const char *name, const LsTransformer *transformer) {
  LsModel *model = g_new0 (LsModel, 1);

  model->name = g_strdup (name);
  model->kind = LS_MODEL_TRANSFORMER;
  model->transformer = *transformer;
  return model;
}

LsModel *ls_model_new_layers (const char *name) {
  LsModel *model = g_new0 (LsModel, 1);

  model->name = g_strdup (name);
  model->kind = LS_MODEL_LAYERS;
  return model;
}

void ls_model_append (LsModel *model, const LsElement *element) {
  LS_REQUIRE (model->kind == LS_MODEL_LAYERS, "%s is no layer list", model->name);
  model->elements = g_renew (LsElement, model->elements, model->n_elements + 1);
  model->elements[model->n_elements] = *element;
  model->elements[model->n_elements].name = g_strdup (element->name);
  model->elements[model->n_elements].block = g_strdup (element->block);
  model->n_elements++;
}

LsModel *ls_model_copy (const LsModel *model) {
  LsModel *copy = g_new0 (LsModel, 1);

  copy->name = g_strdup (model->name);
  copy->kind = model->kind;
  copy->transformer = model->transformer;
  copy->timed_parameters = model->timed_parameters;
  for (guint i = 0; i < model->n_elements; i++)
    ls_model_append (copy, &model->elements[i]);
  return copy;
}

void ls_model_free (LsModel *model) {
  if (model == NULL)
    return;
  for (guint i = 0; i < model->n_elements; i++) {
    g_free (model->elements[i].name);
    g_free (model->elements[i].block);
  }
  g_free (model->elements);
  g_free (model->name);
  g_free (model);
}

guint ls_model_n_layers (const LsModel *model) {
  guint n = 0;

  if (model->kind == LS_MODEL_TRANSFORMER)
    return (guint) model->transformer.layers;
  if (model->kind == LS_MODEL_TIMED)
    return 1;
  for (guint i = 0; i < model->n_elements; i++)
    if (i == 0 || strcmp (model->elements[i].block, model->elements[i - 1].block) != 0)
      n++;
  return n;
}

gboolean ls_transformer_is_expert_block (const LsTransformer *t, gint64 block) {
  const LsExperts *e = &t->experts;

  return e->count > 0 && block >= e->dense_first &&
         (block - e->dense_first + 1) % MAX (e->every, 1) == 0;
}

gint64 ls_transformer_expert_blocks (const LsTransformer *t, gint64 blocks) {
  return t->experts.count > 0 && blocks > t->experts.dense_first
             ? (blocks - t->experts.dense_first) / MAX (t->experts.every, 1)
             : 0;
}

gint64 ls_transformer_window (const LsTransformer *t, gint64 block) {
  return t->full_every > 0 && (block + 1) % t->full_every == 0 ? 0 : t->window;
}

gint64 ls_transformer_query_width (const LsTransformer *t) {
  return t->heads * (t->latent.kv_rank > 0 ? t->latent.nope + t->latent.rope : t->head_dim);
}

gint64 ls_transformer_value_width (const LsTransformer *t) {
  return t->heads * (t->latent.kv_rank > 0 ? t->latent.value : t->head_dim);
}

static gint64 latent_parameters (const LsTransformer *t) {
  const LsLatent *l = &t->latent;
  const gint64 q = ls_transformer_query_width (t), v = ls_transformer_value_width (t);
  const gint64 queries =
      l->q_rank > 0 ? t->hidden * l->q_rank + l->q_rank /* norm */ + l->q_rank * q : t->hidden * q;

  return queries + t->hidden * (l->kv_rank + l->rope) + l->kv_rank /* norm */ +
         l->kv_rank * (t->heads * l->nope + v) + v * t->hidden;
}

gint64 ls_transformer_attention_parameters (const LsTransformer *t) {
  const gint64 q = t->heads * t->head_dim, kv = t->kv_heads * t->head_dim;

  if (t->latent.kv_rank > 0)
    return latent_parameters (t);
  return t->hidden * (q + 2 * kv) + q * t->hidden + (t->biases || t->qkv_biases ? q + 2 * kv : 0) +
         (t->biases ? t->hidden : 0) + (t->qk_norm ? 2 * t->head_dim : 0);
}

static gint64 block_norms (const LsTransformer *t) {
  return 2 * (t->rms_norm ? t->hidden : 2 * t->hidden);
}

/* An MLP of width `ffn`. */
static gint64 mlp_parameters (const LsTransformer *t, gint64 ffn) {
  const gint64 matrices = t->gated ? 3 : 2;

  return matrices * t->hidden * ffn + (t->biases ? (matrices - 1) * ffn + t->hidden : 0);
}

gint64 ls_transformer_block_parameters (const LsTransformer *t) {
  return ls_transformer_attention_parameters (t) + mlp_parameters (t, t->ffn) + block_norms (t);
}

gint64 ls_transformer_expert_parameters (const LsTransformer *t) {
  return mlp_parameters (t, t->experts.ffn);
}

/* With `routed` of its routed experts. */
static gint64 expert_block (const LsTransformer *t, gint64 routed) {
  const LsExperts *e = &t->experts;

  return ls_transformer_attention_parameters (t) + block_norms (t) + t->hidden * e->count +
         (e->selection_bias ? e->count : 0) + (e->shared_gate ? t->hidden : 0) +
         (e->shared_ffn > 0 ? mlp_parameters (t, e->shared_ffn) : 0) +
         routed * ls_transformer_expert_parameters (t);
}

gint64 ls_element_parameters (const LsElement *e) {
  switch (e->kind) {
  case LS_ELEMENT_CONVOLUTION:
    return e->kernel_height * e->kernel_width * e->in_channels / e->groups * e->out_channels +
           (e->bias ? e->out_channels : 0);
  case LS_ELEMENT_LINEAR:
    return e->in_channels * e->out_channels + (e->bias ? e->out_channels : 0);
  case LS_ELEMENT_BATCH_NORM:
  case LS_ELEMENT_LAYER_NORM:
    return 2 * e->out_channels;
  case LS_ELEMENT_EMBEDDING_TABLES:
    return e->rows * e->width;
  default:
    return 0;
  }
}

/* What lies outside the blocks. */
static gint64 end_parameters (const LsTransformer *t) {
  gint64 parameters = t->extra_parameters + (t->rms_norm ? t->hidden : 2 * t->hidden);

  if (t->patch > 0)
    parameters += (t->patch + 1) * t->hidden + (t->hidden + 1) * t->vocab;
  else
    parameters += (t->tied_embeddings ? 1 : 2) * t->vocab * t->hidden;
  return parameters + (t->learned_positions ? t->max_seq * t->hidden : 0) +
         (t->embedding_norm ? 2 * t->hidden : 0);
}

/* A block that predicts a further token: two norms, a map of both halves together, and a block. */
static gint64 mtp_parameters (const LsTransformer *t, gint64 block) {
  return t->mtp * (2 * t->hidden * t->hidden + 3 * t->hidden + block);
}

static gint64 transformer_parameters (const LsTransformer *t, gint64 routed) {
  const gint64 sparse = ls_transformer_expert_blocks (t, t->layers);
  const gint64 last =
      t->experts.count > 0 ? expert_block (t, routed) : ls_transformer_block_parameters (t);

  return (t->layers - sparse) * ls_transformer_block_parameters (t) +
         (sparse > 0 ? sparse * expert_block (t, routed) : 0) + mtp_parameters (t, last) +
         (t->layers + t->mtp) * ls_transformer_adapter_parameters (t) + end_parameters (t);
}

gint64 ls_transformer_adapter_parameters (const LsTransformer *t) {
  const gint64 h = t->hidden, q = ls_transformer_query_width (t), kv = t->kv_heads * t->head_dim;
  const gint64 widths[LS_N_LORA_TARGETS] = {
      [LS_LORA_QKV] = h + q + 2 * kv,
      [LS_LORA_PROJ] = ls_transformer_value_width (t) + h,
      [LS_LORA_FC1] = h + (t->gated ? 2 : 1) * t->ffn,
      [LS_LORA_FC2] = t->ffn + h,
  };
  gint64 parameters = 0;

  for (guint i = 0; i < LS_N_LORA_TARGETS; i++)
    if (ls_lora_has (&t->lora, (LsLoraTarget) i))
      parameters += t->lora.rank * widths[i];
  return parameters;
}

gint64 ls_model_trained_parameters (const LsModel *model) {
  const LsTransformer *t = &model->transformer;

  if (model->kind != LS_MODEL_TRANSFORMER || t->lora.rank == 0)
    return ls_model_parameters (model);
  return (t->layers + t->mtp) * ls_transformer_adapter_parameters (t);
}

gint64 ls_model_parameters (const LsModel *model) {
  gint64 parameters = 0;

  if (model->kind == LS_MODEL_TIMED)
    return model->timed_parameters;
  if (model->kind == LS_MODEL_TRANSFORMER)
    return transformer_parameters (&model->transformer, model->transformer.experts.count);
  for (guint i = 0; i < model->n_elements; i++)
    parameters += ls_element_parameters (&model->elements[i]);
  return parameters;
}

gint64 ls_model_active_parameters (const LsModel *model) {
  if (model->kind == LS_MODEL_TRANSFORMER)
    return transformer_parameters (&model->transformer, model->transformer.experts.top_k);
  return ls_model_parameters (model);
}

gint64 ls_model_table_parameters (const LsModel *model) {
  gint64 parameters = 0;

  for (guint i = 0; model->kind == LS_MODEL_LAYERS && i < model->n_elements; i++)
    if (model->elements[i].kind == LS_ELEMENT_EMBEDDING_TABLES)
      parameters += ls_element_parameters (&model->elements[i]);
  return parameters;
}

gboolean ls_model_has_tokens (const LsModel *model) {
  return model->kind == LS_MODEL_TRANSFORMER && model->transformer.patch == 0;
}

const char *ls_element_name (LsElementKind kind) {
#define NAME_ENTRY(id, name) name,
  static const char *const names[] = {LS_ELEMENTS (NAME_ENTRY)};
#undef NAME_ENTRY

  LS_REQUIRE ((guint) kind < LS_N_ELEMENTS, "element %d", (int) kind);
  return names[kind];
}
