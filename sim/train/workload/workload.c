/* Workloads: defaults, resolution of what follows from the rest, and what is derived from them.
 *
 * Invariants after ls_workload_resolve: tensor x context x data x pipeline = ranks <= gpus, global batch =
 *             micro x microbatches x data, layers_per_stage sums to the model's layers.
 */
#include "train/workload/workload.h"

#include "base/assert.h"
#include "base/error.h"
#include "train/model/flops.h"

#define NAME_ENTRY(id, name) name,
/* Bytes that one tensor core instruction of a GEMM wants aligned: Megatron pads the vocabulary to a
 * multiple of 128 per tensor rank. source: Megatron-LM, --make-vocab-size-divisible-by. */
#define VOCAB_MULTIPLE 128

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

/* The first size of the model that the tensor ranks cannot split, or NULL. */
static const char *unsplit_size (const LsWorkload *workload, gint64 *size) {
  const LsTransformer *t = &workload->model->transformer;
  const struct {
    const char *name;
    gint64 size;
  } sizes[] = {
      {"heads", t->heads}, {"kv_heads", t->kv_heads}, {"ffn", t->ffn}, {"lora.rank", t->lora.rank}};

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (sizes[i].size % workload->layout.tensor != 0) {
      *size = sizes[i].size;
      return sizes[i].name;
    }
  return NULL;
}

void ls_workload_deal_tables (LsWorkload *workload) {
  if (workload->model != NULL && ls_model_table_parameters (workload->model) > 0) {
    workload->layout.expert = workload->layout.data;
    workload->layout.expert_tensor = 1;
  }
}

static gboolean experts_split (const LsWorkload *workload, GError **error) {
  const LsExperts *e = &workload->model->transformer.experts;
  const guint split = ls_layout_size (&workload->layout, LS_AXIS_EXPERT_TENSOR);

  if (e->count % workload->layout.expert == 0 && e->ffn % split == 0 &&
      (workload->layout.tensor == 1 || workload->sequence_parallel))
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
               "%" G_GINT64_FORMAT " experts of %" G_GINT64_FORMAT
               " columns do not split over expert %u x expert_tensor %u, or tensor parallelism "
               "lacks sequence parallelism",
               e->count, e->ffn, workload->layout.expert, split);
  return FALSE;
}

static gboolean resolve_layout (LsWorkload *workload, GError **error) {
  LsLayout *layout = &workload->layout;
  const guint replica = ls_layout_replica (layout);

  if (layout->data == 0)
    layout->data = workload->gpus / replica;
  layout->ranks = replica * layout->data;
  ls_workload_deal_tables (workload);
  if (layout->ranks == 0 || layout->ranks > workload->gpus) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "tensor %u x context %u x pipeline %u x data %u needs %u GPUs; the cluster has %u",
                 layout->tensor, layout->context, layout->pipeline, MAX (layout->data, 1),
                 replica * MAX (layout->data, 1), workload->gpus);
    return FALSE;
  }
  if (workload->zero.shard_group > 0 &&
      ls_layout_copies (layout) % workload->zero.shard_group != 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "shard_group %u does not divide data x context = %u", workload->zero.shard_group,
                 ls_layout_copies (layout));
    return FALSE;
  }
  if (ls_workload_has_experts (workload) &&
      ls_workload_expert_copies (workload) % ls_workload_replicas (workload) != 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%u groups of shards do not divide the %u ranks that hold the same experts",
                 ls_workload_replicas (workload), ls_workload_expert_copies (workload));
    return FALSE;
  }
  if (!ls_layout_experts_fit (layout)) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "expert %u x expert_tensor %u does not divide tensor x context x data = %u",
                 layout->expert, ls_layout_size (layout, LS_AXIS_EXPERT_TENSOR),
                 layout->ranks / layout->pipeline);
    return FALSE;
  }
  if (workload->model->transformer.experts.count > 0 && !experts_split (workload, error))
    return FALSE;
  if (workload->gpu_of_rank == NULL) {
    workload->gpu_of_rank = g_new (guint, layout->ranks);
    for (guint rank = 0; rank < layout->ranks; rank++)
      workload->gpu_of_rank[rank] = rank;
  }
  return TRUE;
}

static gboolean resolve_model (LsWorkload *workload, GError **error) {
  const LsTransformer *t = &workload->model->transformer;
  const gint64 multiple = VOCAB_MULTIPLE * (gint64) workload->layout.tensor;
  gint64 size = 0;
  const char *name = NULL;

  workload->vocab = 0;
  if (workload->model->kind != LS_MODEL_TRANSFORMER) {
    workload->seq_len = 1;
    if (workload->layout.tensor * workload->layout.context == 1)
      return TRUE;
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "a layer list cannot be split over %u tensor and %u context ranks; use 1",
                 workload->layout.tensor, workload->layout.context);
    return FALSE;
  }
  workload->vocab = workload->layout.tensor == 1 || t->vocab % workload->layout.tensor == 0
                        ? t->vocab
                        : (t->vocab + multiple - 1) / multiple * multiple;
  name = unsplit_size (workload, &size);
  if (name == NULL)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "tensor %u does not divide %s = %" G_GINT64_FORMAT,
               workload->layout.tensor, name, size);
  return FALSE;
}

/* Layers dealt evenly. A transformer's must divide; blocks of a layer list need not. */
static gboolean resolve_stages (LsWorkload *workload, GError **error) {
  const guint stages = ls_workload_n_stages (workload),
              layers = ls_model_n_layers (workload->model);
  guint sum = 0;

  if (workload->layers_per_stage == NULL) {
    if (layers < stages ||
        (workload->model->kind == LS_MODEL_TRANSFORMER && layers % stages != 0)) {
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                   "%u stages do not divide the %u layers; give layers_per_stage", stages, layers);
      return FALSE;
    }
    workload->layers_per_stage = g_new (guint, stages);
    for (guint i = 0; i < stages; i++)
      workload->layers_per_stage[i] = layers * (i + 1) / stages - layers * i / stages;
  }
  for (guint i = 0; i < stages; i++)
    sum += workload->layers_per_stage[i];
  if (sum == layers)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
               "layers_per_stage adds up to %u, the model has %u layers", sum, layers);
  return FALSE;
}

gint64 ls_workload_sequence_parts (const LsWorkload *workload) {
  const LsLayout *layout = &workload->layout;
  const gboolean zigzag = workload->context_kind != LS_CONTEXT_ALL_TO_ALL &&
                          workload->model->kind == LS_MODEL_TRANSFORMER &&
                          workload->model->transformer.causal;

  return (gint64) layout->context * (layout->context > 1 && zigzag ? 2 : 1) *
         (workload->sequence_parallel ? layout->tensor : 1);
}

/* The sequence over context and tensor ranks; heads over both where the context group exchanges them. */
static gboolean resolve_context (const LsWorkload *workload, GError **error) {
  const LsTransformer *t = &workload->model->transformer;
  const gint64 parts = ls_workload_sequence_parts (workload);
  const gint64 ranks = (gint64) workload->layout.tensor * workload->layout.context;

  if (workload->seq_len % parts != 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "the split of a sequence over tensor %u and context %u needs a seq_len that "
                 "%" G_GINT64_FORMAT " divides, not %" G_GINT64_FORMAT,
                 workload->layout.tensor, workload->layout.context, parts, workload->seq_len);
    return FALSE;
  }
  if (workload->layout.context > 1 && workload->context_kind == LS_CONTEXT_ALL_TO_ALL &&
      (t->heads % ranks != 0 || t->kv_heads % ranks != 0)) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "tensor x context = %" G_GINT64_FORMAT " does not divide %s = %" G_GINT64_FORMAT,
                 ranks, t->heads % ranks != 0 ? "heads" : "kv_heads",
                 t->heads % ranks != 0 ? t->heads : t->kv_heads);
    return FALSE;
  }
  return TRUE;
}

static gboolean resolve_batch (LsWorkload *workload, GError **error) {
  const gint64 one = workload->micro_batch * (gint64) workload->layout.data;

  if (workload->microbatches_of != NULL) {
    workload->microbatches = 0;
    for (guint data = 0; data < workload->layout.data; data++)
      workload->microbatches = MAX (workload->microbatches, workload->microbatches_of[data]);
  } else if (one <= 0 || workload->global_batch < one || workload->global_batch % one != 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "global batch %" G_GINT64_FORMAT " is no multiple of micro-batch %" G_GINT64_FORMAT
                 " x data %u",
                 workload->global_batch, workload->micro_batch, workload->layout.data);
    return FALSE;
  } else {
    workload->microbatches = workload->global_batch / one;
  }
  return resolve_context (workload, error);
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

/* For the micro-batches of every replica. */
static gboolean resolve_schedule (const LsWorkload *workload, GError **error) {
  const LsPipeline *pipeline = ls_workload_pipeline (workload);

  for (guint data = 0; data < workload->layout.data; data++) {
    LsPipelineSize size = ls_workload_pipeline_size (workload);
    size.microbatches = ls_workload_microbatches (workload, data);
    const char *fault = ls_pipeline_fault (pipeline, &size);
    if (fault == NULL)
      continue;
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "schedule %s %s; there are %" G_GINT64_FORMAT " and %u devices",
                 ls_schedule_name (workload->schedule), fault, size.microbatches, size.devices);
    return FALSE;
  }
  return TRUE;
}

gboolean ls_workload_resolve (LsWorkload *workload, GError **error) {
  if (workload->layout.tensor == 1)
    workload->sequence_parallel = FALSE;
  return resolve_layout (workload, error) && resolve_model (workload, error) &&
         resolve_stages (workload, error) && resolve_batch (workload, error) &&
         resolve_schedule (workload, error);
}

guint ls_workload_shards (const LsWorkload *workload) {
  const guint copies = ls_layout_copies (&workload->layout);

  return workload->zero.shard_group > 0 ? MIN (workload->zero.shard_group, copies) : copies;
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

const char *ls_share_name (LsShare share) {
  static const char *const names[] = {LS_SHARES (NAME_ENTRY)};

  LS_REQUIRE ((guint) share < LS_N_SHARES, "share %d", (int) share);
  return names[share];
}

const char *ls_offload_name (LsOffload offload) {
  static const char *const names[] = {LS_OFFLOADS (NAME_ENTRY)};

  LS_REQUIRE ((guint) offload < LS_N_OFFLOADS, "offload %d", (int) offload);
  return names[offload];
}

const char *ls_context_kind_name (LsContextKind kind) {
  static const char *const names[] = {LS_CONTEXT_KINDS (NAME_ENTRY)};

  LS_REQUIRE ((guint) kind < LS_N_CONTEXT_KINDS, "context kind %d", (int) kind);
  return names[kind];
}

const char *ls_context_overlap_name (LsContextOverlap overlap) {
  static const char *const names[] = {LS_CONTEXT_OVERLAPS (NAME_ENTRY)};

  LS_REQUIRE ((guint) overlap < LS_N_CONTEXT_OVERLAPS, "overlap %d", (int) overlap);
  return names[overlap];
}

gboolean ls_workload_context_waits (const LsWorkload *workload) {
  return workload->context_overlap == LS_CONTEXT_OVERLAP_NONE ||
         (workload->context_overlap == LS_CONTEXT_OVERLAP_AUTO &&
          workload->software->context_waits);
}

const char *ls_tensor_overlap_name (LsTensorOverlap overlap) {
  static const char *const names[] = {LS_TENSOR_OVERLAPS (NAME_ENTRY)};

  LS_REQUIRE ((guint) overlap < LS_N_TENSOR_OVERLAPS, "overlap %d", (int) overlap);
  return names[overlap];
}

const char *ls_expert_dispatch_name (LsExpertDispatch dispatch) {
  static const char *const names[] = {LS_EXPERT_DISPATCHES (NAME_ENTRY)};

  LS_REQUIRE ((guint) dispatch < LS_N_EXPERT_DISPATCHES, "dispatch %d", (int) dispatch);
  return names[dispatch];
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

const char *ls_recompute_mode_name (LsRecomputeMode mode) {
  static const char *const names[] = {LS_RECOMPUTE_MODES (NAME_ENTRY)};

  LS_REQUIRE ((guint) mode < LS_N_RECOMPUTE_MODES, "mode %d", (int) mode);
  return names[mode];
}

const char *ls_recompute_unit_name (LsRecomputeUnit unit) {
  static const char *const names[] = {LS_RECOMPUTE_UNITS (NAME_ENTRY)};

  LS_REQUIRE ((guint) unit < LS_N_RECOMPUTE_UNITS, "unit %d", (int) unit);
  return names[unit];
}
