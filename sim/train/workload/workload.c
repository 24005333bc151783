/* Workloads: defaults, and what is derived from them; see workload.h. */
#include "train/workload/workload.h"

#include "base/assert.h"
#include "train/model/flops.h"

LsWorkload *ls_workload_new_default (LsModel *model, guint ranks) {
  LsWorkload *workload = g_new0 (LsWorkload, 1);

  workload->name = g_strdup (model->name);
  workload->model = model;
  workload->precision = (LsPrecision){
      .compute = LS_FORMAT_BF16,
      .parameters = LS_FORMAT_BF16,
      .gradients = LS_FORMAT_FP32,
      .master = LS_FORMAT_FP32,
      .master_used = TRUE,
      .optimizer = LS_FORMAT_FP32,
      .communication = LS_FORMAT_FP32,
  };
  workload->software = ls_software_find ("generic", NULL);
  LS_REQUIRE (workload->software != NULL, "no software row \"generic\"");
  workload->attention = workload->software->attention;
  workload->layout = ls_layout (1, ranks, 1);
  workload->gpus = ranks;
  workload->micro_batch = 1;
  workload->global_batch = ranks;
  workload->seq_len = model->kind == LS_MODEL_TRANSFORMER ? model->transformer.max_seq : 1;
  workload->schedule = LS_SCHEDULE_1F1B;
  workload->virtual_stages = 1;
  workload->post_validation = TRUE;
  workload->zero =
      (LsZero){.overlap = TRUE, .bucket_bytes = 200000000, .prefetch = 1, .overlap_gather = -1};
  workload->recompute = (LsRecompute){.every = 1, .layers = G_MAXINT64};
  workload->optimizer = (LsOptimizer){.kind = LS_OPTIMIZER_ADAMW};
  workload->input.prefetch = 2;
  workload->steps = 1;
  return workload;
}

LsWorkload *ls_workload_copy (const LsWorkload *workload) {
  LsWorkload *copy = g_memdup2 (workload, sizeof *workload);

  copy->name = g_strdup (workload->name);
  copy->kernels = ls_kernel_table_ref (workload->kernels);
  copy->recompute.operations = g_strdupv (workload->recompute.operations);
  copy->traffic = g_memdup2 (workload->traffic, workload->traffic != NULL ? sizeof (LsTraffic) : 0);
  copy->model = ls_model_copy (workload->model);
  ls_update_plan_copy (&copy->update, &workload->update);
  if (workload->documents.kind != NULL)
    copy->documents = ls_distribution_copy (&workload->documents);
  copy->gpu_of_rank =
      g_memdup2 (workload->gpu_of_rank,
                 workload->gpu_of_rank != NULL ? workload->layout.ranks * sizeof (guint) : 0);
  copy->microbatches_of =
      g_memdup2 (workload->microbatches_of,
                 workload->microbatches_of != NULL ? workload->layout.data * sizeof (gint64) : 0);
  copy->layers_per_stage = g_memdup2 (
      workload->layers_per_stage,
      workload->layers_per_stage != NULL ? ls_workload_n_stages (workload) * sizeof (guint) : 0);
  return copy;
}

void ls_workload_free (LsWorkload *workload) {
  if (workload == NULL)
    return;
  ls_model_free (workload->model);
  ls_kernel_table_unref (workload->kernels);
  ls_update_plan_clear (&workload->update);
  g_strfreev (workload->recompute.operations);
  ls_distribution_clear (&workload->documents);
  g_free (workload->gpu_of_rank);
  g_free (workload->traffic);
  g_free (workload->microbatches_of);
  g_free (workload->layers_per_stage);
  g_free (workload->name);
  g_free (workload);
}

void ls_workload_deal_tables (LsWorkload *workload) {
  if (workload->model != NULL && ls_model_table_parameters (workload->model) > 0) {
    workload->layout.expert = workload->layout.data;
    workload->layout.expert_tensor = 1;
  }
}

gint64 ls_workload_sequence_parts (const LsWorkload *workload) {
  const LsLayout *layout = &workload->layout;
  const gboolean zigzag = workload->context_kind != LS_CONTEXT_ALL_TO_ALL &&
                          workload->model->kind == LS_MODEL_TRANSFORMER &&
                          workload->model->transformer.causal;

  return (gint64) layout->context * (layout->context > 1 && zigzag ? 2 : 1) *
         (workload->sequence_parallel ? layout->tensor : 1);
}

const LsPipeline *ls_workload_pipeline (const LsWorkload *workload) {
  return workload->layout.pipeline == 1 ? &ls_pipeline_1f1b : ls_pipeline_get (workload->schedule);
}

/* Does 1F1B, of one stage per device or of several interleaved, run in pairs? */
static gboolean pairs (const LsWorkload *workload) {
  const gboolean may =
      workload->layout.pipeline == 1 || workload->schedule == LS_SCHEDULE_INTERLEAVED;

  return may && workload->expert_overlap && workload->layout.expert > 1 &&
         workload->zero.stage < 2 && !workload->recompute.offload;
}

LsPipelineSize ls_workload_pipeline_size (const LsWorkload *workload) {
  return (LsPipelineSize){.devices = workload->layout.pipeline,
                          .virtual_stages = MAX (workload->virtual_stages, 1),
                          .microbatches = workload->microbatches,
                          .paired = pairs (workload)};
}

guint ls_workload_shards (const LsWorkload *workload) {
  const guint copies = ls_layout_copies (&workload->layout);

  return workload->zero.shard_group > 0 ? MIN (workload->zero.shard_group, copies) : copies;
}

guint ls_workload_backward_shards (const LsWorkload *workload) {
  const guint shards = ls_workload_shards (workload);

  return workload->zero.stage >= 3 && workload->zero.secondary_group > 0
             ? MIN (workload->zero.secondary_group, shards)
             : shards;
}

LsOffload ls_workload_nvme (const LsWorkload *workload) {
  const LsZero *zero = &workload->zero;

  return zero->stage >= 3 ? MIN (zero->nvme, zero->offload) : LS_OFFLOAD_NONE;
}

gboolean ls_workload_drops_gradients (const LsWorkload *workload) {
  return ls_workload_nvme (workload) != LS_OFFLOAD_NONE && workload->microbatches == 1;
}

gint64 ls_workload_sub_groups (const LsWorkload *workload, gint64 parameters) {
  const gint64 size = workload->zero.sub_group;

  return size > 0 ? MAX ((parameters + size - 1) / size, 1) : 1;
}

gboolean ls_workload_reduces_in_hops (const LsWorkload *workload) {
  const LsZero *zero = &workload->zero;

  return zero->quantized_gradients && zero->stage >= 3 && zero->node_group > 1 &&
         zero->node_group < ls_workload_shards (workload);
}

gint64 ls_workload_owned (const LsWorkload *workload, gint64 parameters, gint64 expert_parameters) {
  const gint64 shards = ls_workload_shards (workload);
  const gint64 expert_shards = ls_workload_expert_shards (workload);

  if (workload->zero.stage < 1)
    return parameters + expert_parameters;
  return (parameters + shards - 1) / shards +
         (expert_parameters + expert_shards - 1) / expert_shards;
}

gboolean ls_workload_gathers (const LsWorkload *workload) {
  return workload->zero.stage >= 3 &&
         (workload->zero.offload == LS_OFFLOAD_PARAMETERS || ls_workload_shards (workload) > 1 ||
          (ls_workload_has_experts (workload) && ls_workload_expert_shards (workload) > 1));
}

gboolean ls_workload_is_hybrid (const LsWorkload *workload) {
  const guint shards = ls_workload_shards (workload);

  return workload->zero.stage > 0 && shards > 1 && shards < ls_layout_copies (&workload->layout);
}

gboolean ls_workload_clips (const LsWorkload *workload) {
  return workload->optimizer.clip == LS_NORM_CLIP_ON ||
         (workload->optimizer.clip == LS_NORM_CLIP_AUTO &&
          workload->optimizer.kind != LS_OPTIMIZER_SGD &&
          workload->optimizer.kind != LS_OPTIMIZER_LARS);
}

guint ls_workload_replicas (const LsWorkload *workload) {
  return workload->zero.stage > 0
             ? ls_layout_copies (&workload->layout) / ls_workload_shards (workload)
             : 1;
}

guint ls_workload_expert_copies (const LsWorkload *workload) {
  return ls_layout_size (&workload->layout, LS_AXIS_EXPERT_DATA);
}

guint ls_workload_expert_shards (const LsWorkload *workload) {
  return MAX (ls_workload_expert_copies (workload) / ls_workload_replicas (workload), 1u);
}

gboolean ls_workload_has_experts (const LsWorkload *workload) {
  return workload->model != NULL && ((workload->model->kind == LS_MODEL_TRANSFORMER &&
                                      workload->model->transformer.experts.count > 0) ||
                                     ls_model_table_parameters (workload->model) > 0);
}

gboolean ls_workload_scales_delayed (const LsWorkload *workload) {
  const LsNarrow *narrow = &workload->precision.narrow;

  return narrow->used && narrow->recipe == LS_FP8_DELAYED &&
         workload->model->kind == LS_MODEL_TRANSFORMER;
}

gboolean ls_workload_syncs_copies (const LsWorkload *workload) {
  const gboolean flag =
      workload->loss_scaling.scaler.kind != LS_LOSS_SCALE_NONE && workload->zero.stage >= 1;

  return ls_layout_copies (&workload->layout) > 1 &&
         (flag || ls_workload_scales_delayed (workload));
}

gboolean ls_workload_packs (const LsWorkload *workload) {
  return workload->documents.kind != NULL;
}

gint64 ls_workload_microbatches (const LsWorkload *workload, guint data) {
  return workload->microbatches_of != NULL ? workload->microbatches_of[data]
                                           : workload->microbatches;
}

guint ls_workload_n_stages (const LsWorkload *workload) {
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  return ls_pipeline_n_stages (ls_workload_pipeline (workload), &size);
}

guint ls_workload_n_parts (const LsWorkload *workload) {
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  return ls_pipeline_n_parts (ls_workload_pipeline (workload), &size);
}

guint ls_workload_stage_of (const LsWorkload *workload, guint device, guint part) {
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  return ls_pipeline_stage (ls_workload_pipeline (workload), &size, device, part);
}

/* Passes beyond one over gradient, states and parameters: per tensor norms of weights and of the update (LAMB,
 * which writes it and reads it back in fp32) or of weights and gradient (LARS); means of the squared gradient
 * over rows and columns before it is used (Adafactor). */
static int optimizer_extra_bytes (const LsWorkload *workload) {
  const LsPrecision *p = &workload->precision;
  const int weight = ls_format_bytes (p->master_used ? p->master : p->parameters);

  switch (workload->optimizer.kind) {
  case LS_OPTIMIZER_LAMB:
    return weight + 2 * 4;
  case LS_OPTIMIZER_LARS:
    return weight + ls_format_bytes (p->gradients);
  case LS_OPTIMIZER_ADAFACTOR:
    return ls_format_bytes (p->gradients);
  default:
    return 0;
  }
}

/* Adam in plain tensor code: reads and writes of whole tensors by weight decay (2), first moment (3), second
 * moment scaled (2) and added to (4), its root (2), bias correction (2), epsilon (2) and the step (4).
 * source: counted in torch.optim.adam, _single_tensor_adam. */
#define PLAIN_ADAM_PASSES 21

double ls_workload_fused_traffic (const LsWorkload *workload) {
  const LsPrecision *p = &workload->precision;
  const int parameter = ls_format_bytes (p->parameters);
  const int moment = ls_format_bytes (p->optimizer);
  /* Read the gradient, read and write each moment and the master copy, write the parameter (which is
   * read too when it is its own master). */
  int bytes = ls_format_bytes (p->gradients) +
              2 * moment * (int) ls_optimizer_moments (&workload->optimizer);

  bytes += p->master_used ? 2 * ls_format_bytes (p->master) + parameter : 2 * parameter;
  return bytes + optimizer_extra_bytes (workload);
}

double ls_workload_optimizer_traffic (const LsWorkload *workload) {
  const LsPrecision *p = &workload->precision;
  const int plain = PLAIN_ADAM_PASSES * ls_format_bytes (p->optimizer) +
                    (p->master_used ? ls_format_bytes (p->parameters) : 0);
  const double bytes = ls_workload_fused_traffic (workload);

  return workload->software->fused_optimizer || ls_optimizer_moments (&workload->optimizer) != 2
             ? bytes
             : MAX (bytes, plain);
}

double ls_workload_model_flops (const LsWorkload *workload) {
  LsModel model = *workload->model;

  if (model.kind == LS_MODEL_TRANSFORMER)
    model.transformer.vocab = workload->vocab;
  return ls_model_training_flops (&model, workload->global_batch, workload->seq_len);
}

double ls_workload_peak_flops_per_s (const LsWorkload *workload, const LsAccelerator *accelerator) {
  return ls_accelerator_peak (accelerator, ls_precision_matmul (&workload->precision));
}

gboolean ls_workload_context_waits (const LsWorkload *workload) {
  return workload->context_overlap == LS_CONTEXT_OVERLAP_NONE ||
         (workload->context_overlap == LS_CONTEXT_OVERLAP_AUTO &&
          workload->software->context_waits);
}

gboolean ls_workload_tensor_bulk (const LsWorkload *workload) {
  const LsSoftware *software = workload->software;

  if (workload->tensor_overlap != LS_TENSOR_OVERLAP_AUTO)
    return workload->tensor_overlap != LS_TENSOR_OVERLAP_NONE;
  /* Megatron-LM got it with its fused weight gradient. */
  return software->fused_weight_gradient && !software->waits_for_tensor;
}

LsTensorOverlap ls_workload_tensor_overlap (const LsWorkload *workload) {
  if (workload->tensor_overlap != LS_TENSOR_OVERLAP_AUTO)
    return workload->tensor_overlap;
  if (workload->software->overlaps_tensor && workload->sequence_parallel)
    return workload->software->splits_second ? LS_TENSOR_OVERLAP_PIECES : LS_TENSOR_OVERLAP_IDEAL;
  return ls_workload_tensor_bulk (workload) ? LS_TENSOR_OVERLAP_BULK : LS_TENSOR_OVERLAP_NONE;
}

gboolean ls_workload_gathers_ahead (const LsWorkload *workload) {
  const LsZero *zero = &workload->zero;

  return zero->overlap &&
         (zero->overlap_gather < 0 ? workload->software->gathers_ahead : zero->overlap_gather > 0);
}

gboolean ls_workload_unit_buckets (const LsWorkload *workload) {
  return workload->software->unit_buckets && workload->zero.stage >= 1 && workload->zero.stage <= 2;
}
