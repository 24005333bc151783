/* What keys that a scenario leaves open came to, for `check --explain`: of the framework (a software generation), of the
 * model's preset, of the precision's word, of what else is given.
 *
 * Invariants: nothing is decided here: values are read back from the workload as it will be simulated.
 * Left out:   keys with a default of their own, which the schema says.
 */
#include "train/read/workload_reader.h"

#define W "workload."
#define M W "model."

static void say (LsWorkloadReader *r, const char *path, const char *from, const char *value) {
  ls_config_settled (r->config, path, from, "%s", value);
}

static void say_flag (LsWorkloadReader *r, const char *path, const char *from, gboolean value) {
  say (r, path, from, value ? "true" : "false");
}

static void say_count (LsWorkloadReader *r, const char *path, const char *from, gint64 value) {
  ls_config_settled (r->config, path, from, "%" G_GINT64_FORMAT, value);
}

static void settle_framework (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const LsSoftware *software = w->software;
  g_autofree char *from = g_strdup_printf ("software generation %s", software->name);
  g_autofree char *unless = g_strdup_printf ("%s, and zero.overlap false", from);

  say (r, W "parallel.tensor_overlap", from,
       ls_tensor_overlap_name (ls_workload_tensor_overlap (w)));
  say (r, W "parallel.context_overlap", from,
       ls_context_overlap_name (ls_workload_context_waits (w) ? LS_CONTEXT_OVERLAP_NONE
                                                              : LS_CONTEXT_OVERLAP_BESIDE));
  say_flag (r, W "zero.overlap_gather", w->zero.overlap ? from : unless,
            ls_workload_gathers_ahead (w));
  say_flag (r, W "recompute.offload_overlap", from, !software->deepspeed_copies);
  say_flag (r, W "software.cuda_graphs", from, software->cuda_graphs);
  say_flag (r, W "software.compile", from, software->compiled);
  say_flag (r, W "software.fused_optimizer", from, software->fused_optimizer);
  say_flag (r, W "software.expert_sync", from, software->expert_sync);
  say (r, W "software.attention", from, ls_attention_name (w->attention));
}

static void settle_recipe (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  g_autofree char *from =
      g_strdup_printf ("recipes with optimizer.kind %s", ls_optimizer_name (w->optimizer.kind));

  say (r, W "optimizer.clip", from, ls_workload_clips (w) ? "1" : "none");
}

static void settle_precision (LsWorkloadReader *r) {
  const LsPrecision *p = &r->workload->precision;
  const char *word = ls_config_has (r->config, W "precision.preset")
                         ? ls_config_get_string (r->config, W "precision.preset")
                     : ls_config_has (r->config, W "precision.compute")
                         ? ls_config_get_string (r->config, W "precision.compute")
                         : "bf16";
  g_autofree char *from = g_strdup_printf ("precision %s", word);

  say (r, W "precision.compute", from, word);
  say (r, W "precision.activations", from, ls_format_name (p->compute));
  say (r, W "precision.activation_input", "as the activations",
       ls_format_name (p->activation_input));
  say (r, W "precision.parameters", from, ls_format_name (p->parameters));
  say (r, W "precision.frozen", "as precision.parameters", ls_format_name (p->frozen));
  say (r, W "precision.gradients", from, ls_format_name (p->gradients));
  say (r, W "precision.master", from, p->master_used ? ls_format_name (p->master) : "none");
  say (r, W "precision.optimizer", from, ls_format_name (p->optimizer));
  say (r, W "precision.communication", "as precision.gradients", ls_format_name (p->communication));
  say (r, W "precision.loss_scaling.kind", from,
       ls_loss_scale_name (r->workload->loss_scaling.scaler.kind));
}

static void settle_sizes (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  g_autofree char *schedule = g_strdup_printf ("schedule %s", ls_schedule_name (w->schedule));

  say_flag (r, W "parallel.expert_overlap", schedule, w->expert_overlap);
  say (r, W "recompute.mode", "recompute.unit, every, layers and operations",
       ls_recompute_mode_name (w->recompute.mode));
  say_count (r, W "batch.global", "batch.micro x data ranks", w->global_batch);
  say_count (r, W "parallel.data", "all GPUs over tensor x context x pipeline", w->layout.data);
  if (w->layout.expert_tensor > 0)
    say_count (r, W "parallel.expert_tensor", "as parallel.tensor", w->layout.expert_tensor);
  if (w->model->kind == LS_MODEL_TRANSFORMER)
    say_count (r, W "batch.seq_len", "model.max_seq", w->seq_len);
}

static const char *positions_word (const LsTransformer *t) {
  return t->learned_positions ? "learned" : t->yarn ? "yarn" : t->rotary ? "rotary" : "none";
}

/* The numbers of a model; `from` is who gave them. */
static void settle_model_sizes (LsWorkloadReader *r, const LsTransformer *t, const char *from) {
  const struct {
    const char *path;
    gint64 value;
  } counts[] = {
      {M "layers", t->layers},
      {M "hidden", t->hidden},
      {M "heads", t->heads},
      {M "kv_heads", t->kv_heads},
      {M "head_dim", t->head_dim},
      {M "ffn", t->ffn},
      {M "vocab", t->vocab},
      {M "max_seq", t->max_seq},
      {M "mtp", t->mtp},
      {M "window", t->window},
      {M "full_every", t->full_every},
      {M "experts.count", t->experts.count},
      {M "experts.top_k", t->experts.top_k},
      {M "experts.groups", MAX (t->experts.groups, 1)},
      {M "experts.top_groups", MAX (t->experts.top_groups, 1)},
      {M "experts.ffn", t->experts.ffn},
      {M "experts.shared_ffn", t->experts.shared_ffn},
      {M "experts.dense_layers_first", t->experts.dense_first},
      {M "experts.every", MAX (t->experts.every, 1)},
      {M "latent.kv_rank", t->latent.kv_rank},
      {M "latent.q_rank", t->latent.q_rank},
      {M "latent.nope_head_dim", t->latent.nope},
      {M "latent.rope_head_dim", t->latent.rope},
      {M "latent.value_head_dim", t->latent.value},
  };
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    say_count (r, counts[i].path, from, counts[i].value);
  g_autofree char *together = g_strdup_printf ("%s, shared experts taken as one", from);
  say_count (r, M "experts.shared", together, t->experts.shared_ffn > 0 ? 1 : 0);
}

/* Its words and flags. */
static void settle_model_kinds (LsWorkloadReader *r, const LsTransformer *t, const char *from) {
  say (r, M "activation", from, t->clamped ? "clamped-swiglu" : t->gated ? "swiglu" : "gelu");
  say (r, M "norm", from, t->rms_norm ? "rmsnorm" : "layernorm");
  say (r, M "positions", from, positions_word (t));
  say_flag (r, M "qkv_biases", from, t->qkv_biases);
  say_flag (r, M "qk_norm", from, t->qk_norm);
  say_flag (r, M "embedding_norm", from, t->embedding_norm);
  if (t->experts.capacity_factor > 0)
    ls_config_settled (r->config, M "experts.capacity_factor", from, "%g",
                       t->experts.capacity_factor);
  else
    say (r, M "experts.capacity_factor", from, "none");
  say_flag (r, M "tied_embeddings", from, t->tied_embeddings);
  say_flag (r, M "biases", from, t->biases);
  say_flag (r, M "dropout", from, t->dropout);
  say_flag (r, M "causal", from, t->causal);
}

static void settle_model (LsWorkloadReader *r) {
  const char *preset =
      ls_config_has (r->config, M "preset") ? ls_config_get_string (r->config, M "preset") : NULL;
  g_autofree char *from = preset != NULL ? g_strdup_printf ("model preset %s", preset)
                                         : g_strdup ("the sizes that are given");

  if (r->workload->model->kind != LS_MODEL_TRANSFORMER)
    return;
  settle_model_sizes (r, &r->workload->model->transformer, from);
  settle_model_kinds (r, &r->workload->model->transformer, from);
}

void ls_reader_settled (LsWorkloadReader *r) {
  settle_precision (r);
  settle_recipe (r);
  settle_model (r);
  if (r->workload->model->kind == LS_MODEL_TIMED)
    return;
  settle_framework (r);
  settle_sizes (r);
}
