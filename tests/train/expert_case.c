/* The small mixture of experts of the tests. */
#include "expert_case.h"

#include <check.h>

LsModel *expert_case_new_model (void) {
  const LsTransformer t = {
      .layers = 4,
      .hidden = H,
      .heads = 8,
      .kv_heads = 8,
      .head_dim = 48,
      .ffn = 1024,
      .vocab = 8192,
      .max_seq = SEQ,
      .gated = TRUE,
      .rms_norm = TRUE,
      .rotary = TRUE,
      .causal = TRUE,
      .latent = {.q_rank = 128, .kv_rank = 64, .nope = 32, .rope = 16, .value = 32},
      .experts = {.count = 8, .top_k = 2, .ffn = 256, .shared_ffn = 256, .dense_first = 1}};

  return ls_model_new_transformer ("small", &t);
}

LsWorkload *expert_case_new_workload (guint tensor, guint data, guint expert, guint expert_tensor) {
  LsWorkload *w = ls_workload_new_default (expert_case_new_model (), tensor * data);

  w->layout = ls_layout (tensor, data, 1);
  w->layout.expert = expert;
  w->layout.expert_tensor = expert_tensor;
  w->sequence_parallel = tensor > 1;
  w->global_batch = data;
  w->seq_len = SEQ;
  ck_assert (ls_workload_resolve (w, NULL));
  return w;
}

const LsLayerPlan *expert_case_block (const LsStage *stage) {
  for (guint i = 0; i < stage->n_runs; i++)
    if (stage->runs[i].plan->expert_parameters > 0)
      return stage->runs[i].plan;
  return NULL;
}
