/* What of a workload follows from the rest, and whether it fits together; see workload.h.
 *
 * Invariants after ls_workload_resolve: tensor x context x data x pipeline = ranks <= gpus, global batch =
 *             micro x microbatches x data, layers_per_stage sums to the model's layers.
 */
#include "train/workload/workload.h"

#include "base/error.h"

/* Bytes that one tensor core instruction of a GEMM wants aligned: Megatron pads the vocabulary to a
 * multiple of 128 per tensor rank. source: Megatron-LM, --make-vocab-size-divisible-by. */
#define VOCAB_MULTIPLE 128

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
