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

static guint place_of (const LsLayout *layout, LsAxis axis) {
  guint i = 0;

  while (layout->order[i] != axis)
    i++;
  return i;
}

/* Experts are dealt to the ranks of one stage: where pipeline stands before data, those are apart whatever stands before
 * both. */
static void unheard_order (LsWorkloadReader *r) {
  const LsLayout *layout = &r->workload->layout;
  const guint stages = place_of (layout, LS_AXIS_PIPELINE);
  g_autofree guint *ranks = g_new (guint, layout->expert);

  if (layout->expert == 1 || layout->pipeline == 1 || place_of (layout, LS_AXIS_EXPERT) > stages ||
      place_of (layout, LS_AXIS_DATA) < stages)
    return;
  ls_layout_members (layout, LS_AXIS_EXPERT, 0, ranks);
  ls_config_warning_at (
      r->config, r->errors, W "parallel.order",
      "experts are dealt to the ranks of one stage, and pipeline stands before data: the first two "
      "of a group are ranks %u and %u; with data before pipeline expert is what neighbours share",
      ranks[0], ranks[1]);
}

/* Words that ask for nothing as they stand, with the key that would make them ask for something. */
static void unheard_words (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;

  if (w->schedule == LS_SCHEDULE_INTERLEAVED && w->layout.pipeline > 1 && w->virtual_stages == 1)
    ls_config_warning_at (r->config, r->errors, W "parallel.schedule",
                          "one stage per device leaves 1f1b's bubble and keeps more activations; "
                          "interleaved-1f1b needs parallel.virtual_stages of 2 or more");
  if (w->recompute.mode == LS_RECOMPUTE_FULL && w->recompute.unit == LS_RECOMPUTE_UNIT_OPERATION &&
      w->recompute.every == 1)
    ls_config_warning_at (r->config, r->errors, W "recompute.unit",
                          "operation keeps every layer whole with recompute.every 1, so that "
                          "nothing runs again; 2 or more, or sqrt, recompute the layers between");
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
  unheard_order (r);
  unheard_words (r);
  if (model->kind == LS_MODEL_TRANSFORMER && model->transformer.biases)
    ls_reader_no_effect (r, W "model.qkv_biases", "model.biases gives all maps theirs");
  if (w->zero.stage > 0 && w->zero.offload != LS_OFFLOAD_NONE)
    ls_reader_no_effect (r, W "software.fused_optimizer", "the update runs on the host");
}
