/* Keys that a workload has and that nothing of it can hear, said once it is whole: tests/cli/test_effects.c finds such. */
#include "train/read/workload_reader.h"

#define W "workload."

static void unheard_by_experts (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const char *const key = W "software.expert_sync";

  if (w->model->kind != LS_MODEL_TRANSFORMER || w->model->transformer.experts.count == 0)
    ls_reader_no_effect (r, key, "the model has no experts");
  else if (w->model->transformer.experts.capacity_factor > 0)
    ls_reader_no_effect (r, key, "experts are padded to a capacity that the host knows");
  else if (w->software->cuda_graphs)
    ls_reader_no_effect (r, key, "launches are replayed from graphs");
}

static void unheard_graphs (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const char *const key = W "software.layer_graphs";

  if (w->model->kind != LS_MODEL_TRANSFORMER)
    ls_reader_no_effect (r, key, "the model is no transformer");
  else if (w->software->cuda_graphs)
    ls_reader_no_effect (r, key, "whole steps are replayed from graphs");
  else if (w->software->serial_launches)
    ls_reader_no_effect (r, key, "every launch is waited for");
  else if (w->model->transformer.experts.count == 0 &&
           w->software->layer_graphs == LS_LAYER_GRAPHS_ROUTER)
    ls_reader_no_effect (r, key, "the model has no experts");
}

void ls_reader_unheard (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const LsModel *model = w->model;

  if (model->kind == LS_MODEL_TIMED) {
    ls_reader_no_effect (r, W "precision.activation_input", "timed workers run no kernels");
    ls_reader_no_effect (r, W "optimizer.clip", "timed workers have no gradients to clip");
    return;
  }
  unheard_by_experts (r);
  unheard_graphs (r);
  if (model->kind == LS_MODEL_TRANSFORMER && model->transformer.biases)
    ls_reader_no_effect (r, W "model.qkv_biases", "model.biases gives all maps theirs");
  if (w->zero.stage > 0 && w->zero.offload != LS_OFFLOAD_NONE)
    ls_reader_no_effect (r, W "software.fused_optimizer", "the update runs on the host");
}
