/* Models: making, copying and counting them.
 *
 * Model:      parameters of a GPT block, h hidden, d_q = heads x head_dim, d_kv = kv_heads x head_dim,
 *             f = ffn:  h (d_q + 2 d_kv) + d_q h + 2 h f  (3 h f when gated), plus biases
 *             d_q + 2 d_kv + h + f + h, plus two norms of h weights (and h biases for LayerNorm).
 *             With d_q = d_kv = h and f = 4 h that is 12 h^2 + 13 h.
 *             source: Narayanan et al., SC21, eq. (2); the preset table holds the published sums.
 * Left out:   what some checkpoints add outside the trunk: segment embeddings, poolers, heads of
 *             other tasks, the norm after BLOOM's embedding.
 */
#include "train/models.h"

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

gint64 ls_transformer_block_parameters (const LsTransformer *t) {
  const gint64 q = t->heads * t->head_dim, kv = t->kv_heads * t->head_dim;
  const gint64 matrices = t->gated ? 3 : 2;
  gint64 parameters = t->hidden * (q + 2 * kv) + q * t->hidden + matrices * t->hidden * t->ffn;

  if (t->biases)
    parameters += q + 2 * kv + t->hidden + (matrices - 1) * t->ffn + t->hidden;
  return parameters + 2 * (t->rms_norm ? t->hidden : 2 * t->hidden);
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
  default:
    return 0;
  }
}

gint64 ls_model_parameters (const LsModel *model) {
  const LsTransformer *t = &model->transformer;
  gint64 parameters = 0;

  if (model->kind == LS_MODEL_TIMED)
    return model->timed_parameters;
  if (model->kind == LS_MODEL_LAYERS) {
    for (guint i = 0; i < model->n_elements; i++)
      parameters += ls_element_parameters (&model->elements[i]);
    return parameters;
  }
  parameters = t->layers * ls_transformer_block_parameters (t);
  parameters += (t->tied_embeddings ? 1 : 2) * t->vocab * t->hidden;
  parameters += t->learned_positions ? t->max_seq * t->hidden : 0;
  return parameters + (t->rms_norm ? t->hidden : 2 * t->hidden);
}

gboolean ls_model_has_tokens (const LsModel *model) {
  return model->kind == LS_MODEL_TRANSFORMER;
}

const char *ls_element_name (LsElementKind kind) {
#define NAME_ENTRY(id, name) name,
  static const char *const names[] = {LS_ELEMENTS (NAME_ENTRY)};
#undef NAME_ENTRY

  LS_REQUIRE ((guint) kind < LS_N_ELEMENTS, "element %d", (int) kind);
  return names[kind];
}
