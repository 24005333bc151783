/* Pipeline stages: which layers, in runs of equal ones.
 *
 * Model:      stage s of a transformer holds blocks [sum of layers_per_stage before s, + its own);
 *             stage 0 also the embedding, the last also the head. Stages of a layer list hold its
 *             blocks, each a run of its own. A tied embedding whose two ends lie on one device (V,
 *             MIRROR) is stored once there.
 */
#include "train/layer/stage.h"

#include <string.h>

#include "base/assert.h"
#include "train/layer/layer_plans.h"
#include "train/pipeline/pipeline.h"

static void add_run (LsStage *stage, LsLayerPlan *plan, guint count, gint32 first,
                     gboolean is_block) {
  stage->runs = g_renew (LsLayerRun, stage->runs, stage->n_runs + 1);
  stage->runs[stage->n_runs++] = (LsLayerRun){plan, count, first, is_block};
}

/* What crosses to the next stage. Ranks of a tensor group hold the same activation: each sends 1/t of
 * it and the receivers gather (Narayanan et al., SC21, section 4.1); with sequence parallelism each
 * holds only its own part and nothing is gathered. */
static void set_boundary (LsStage *stage, const LsWorkload *workload, guint number) {
  const LsLayerPlan *last = stage->runs[stage->n_runs - 1].plan;
  const guint tensor = workload->layout.tensor;

  if (workload->layout.pipeline == 1)
    return;
  if (number + 1 == ls_workload_n_stages (workload)) {
    /* The last stage sends gradients of its input, as large as its first layer's input. */
    last = stage->runs[0].plan;
    stage->boundary_bytes = last->input_bytes;
  } else {
    stage->boundary_bytes = last->output_bytes;
  }
  if (tensor > 1 && !workload->sequence_parallel) {
    stage->boundary_gather_bytes = stage->boundary_bytes;
    stage->boundary_bytes = (stage->boundary_bytes + tensor - 1) / tensor;
  }
}

/* The plan of a block like this one that the stage has already; NULL: none. */
static LsLayerPlan *plan_of_alike (const LsStage *stage, const LsTransformer *t, gint32 block) {
  for (guint i = 0; i < stage->n_runs; i++)
    if (stage->runs[i].is_block && ls_layer_block_alike (t, stage->runs[i].first, block))
      return stage->runs[i].plan;
  return NULL;
}

/* Does the run bring its plan along, or an earlier one? */
static gboolean brings_plan (const LsStage *stage, guint run) {
  for (guint i = 0; i < run; i++)
    if (stage->runs[i].plan == stage->runs[run].plan)
      return FALSE;
  return TRUE;
}

/* Blocks `first` on, as runs of equal ones: dense or with experts, with or without a window. */
static void add_blocks (LsStage *stage, const LsWorkload *workload,
                        const LsAccelerator *accelerator, gint32 first, guint count) {
  const LsTransformer *t = &workload->model->transformer;

  for (guint i = 0, n = 0; i < count; i += n) {
    const gint32 block = first + (gint32) i;

    for (n = 1; i + n < count && ls_layer_block_alike (t, block, block + (gint32) n);)
      n++;
    LsLayerPlan *plan = plan_of_alike (stage, t, block);
    if (plan == NULL)
      plan = ls_layer_block_new (workload, accelerator, block);
    add_run (stage, plan, n, block, TRUE);
  }
}

/* Of a layer without adapters: all trained, or all frozen. */
static gint64 *own_parameters (LsLayerPlan *plan) {
  return plan->frozen_parameters > 0 ? &plan->frozen_parameters : &plan->parameters;
}

/* Blocks that predict further tokens, behind the head: each joins what the last block made with the next
 * token's embedding, and has the head once more, of which only the norm is its own. Embedding and output
 * matrix are those of the model (DeepSeek-V3, arXiv 2412.19437, section 2.2); that a pipeline holds a second
 * copy of the embedding on the last stage is left out. */
static void add_mtp (LsStage *stage, const LsWorkload *workload, const LsAccelerator *accelerator) {
  const LsTransformer *t = &workload->model->transformer;

  for (gint64 i = 0; i < t->mtp; i++) {
    LsLayerPlan *head = ls_layer_head_new (workload, accelerator);

    *own_parameters (head) = t->rms_norm ? t->hidden : 2 * t->hidden;
    add_run (stage, ls_layer_mtp_new (workload, accelerator), 1, -1, FALSE);
    add_run (stage, ls_layer_block_new (workload, accelerator, t->layers + i), 1,
             (gint32) (t->layers + i), TRUE);
    add_run (stage, head, 1, -1, FALSE);
  }
}

/* Do the model's first and last stage lie on one device? */
static gboolean ends_meet (const LsWorkload *workload) {
  const LsPipelineShape shape = ls_workload_pipeline (workload)->shape;
  return shape == LS_SHAPE_V || shape == LS_SHAPE_MIRROR;
}

/* The copy of a tied embedding at the model's end. */
static void tie_embedding (LsStage *stage, const LsWorkload *workload, gboolean last) {
  const gint64 elements =
      workload->vocab / workload->layout.tensor * workload->model->transformer.hidden;

  if (!ends_meet (workload) && workload->model->transformer.lora.rank == 0)
    stage->embedding_gradient_elements = elements;
  for (guint i = 0; ends_meet (workload) && last && i < stage->n_runs; i++)
    if (strcmp (stage->runs[i].plan->name, "head") == 0) {
      *own_parameters (stage->runs[i].plan) -= elements;
      return;
    }
}

/* One for each shape on the device, in the format of the weights. */
static void count_placeholders (LsStage *stage, const LsWorkload *workload) {
  LsLayerPlan all = {0};

  for (guint i = 0; i < stage->n_runs; i++)
    for (guint k = 0; stage->runs[i].is_block && k < stage->runs[i].plan->n_shapes; k++)
      ls_layer_plan_note_shape (&all, stage->runs[i].plan->shapes[k]);
  for (guint i = 0; i < all.n_shapes; i++)
    stage->placeholder_bytes +=
        all.shapes[i].in * all.shapes[i].out * ls_format_bytes (workload->precision.parameters);
  g_free (all.shapes);
}

static void count_parameters (LsStage *stage) {
  for (guint i = 0; i < stage->n_runs; i++) {
    const LsLayerRun *run = &stage->runs[i];

    stage->parameters += run->plan->parameters * run->count;
    stage->frozen_parameters += run->plan->frozen_parameters * run->count;
    stage->frozen_map_parameters += run->plan->frozen_map_parameters * run->count;
    stage->frozen_expert_parameters += run->plan->frozen_expert_parameters * run->count;
    stage->expert_parameters += run->plan->expert_parameters * run->count;
    stage->table_parameters += run->plan->table_parameters * run->count;
    stage->narrow_parameters += run->plan->narrow_parameters * run->count;
    stage->narrow_bytes += run->plan->narrow_bytes * run->count;
  }
}

static void select_operations (LsStage *stage, const LsWorkload *workload) {
  const LsRecompute *recompute = &workload->recompute;
  /* What a compiler sees to be unread is not kept. */
  const gint64 unread =
      workload->software->compiled ? 0 : ls_format_bytes (workload->precision.compute);

  for (guint i = 0; i < stage->n_runs; i++) {
    LsLayerPlan *plan = stage->runs[i].plan;

    if (!stage->runs[i].is_block || !brings_plan (stage, i))
      continue;
    if (recompute->mode == LS_RECOMPUTE_SELECTIVE)
      ls_layer_plan_select (plan, (const char *const *) recompute->operations);
    else if (recompute->mode == LS_RECOMPUTE_MATMULS)
      ls_layer_plan_select_matmuls (plan, unread);
  }
}

/* One stage of the model. */
static LsStage *new_part (const LsWorkload *workload, guint number,
                          const LsAccelerator *accelerator) {
  LsStage *stage = g_new0 (LsStage, 1);
  const LsModel *model = workload->model;
  const guint stages = ls_workload_n_stages (workload);
  const gboolean last = number + 1 == stages;
  const guint count = workload->layers_per_stage[number];
  gint32 first = 0;

  LS_REQUIRE (number < stages, "stage %u", number);
  for (guint i = 0; i < number; i++)
    first += (gint32) workload->layers_per_stage[i];
  if (model->kind == LS_MODEL_LAYERS) {
    for (guint i = 0; i < count; i++)
      add_run (stage, ls_layer_list_new (workload, (guint) first + i, accelerator), 1,
               first + (gint32) i, TRUE);
  } else {
    if (number == 0)
      add_run (stage, ls_layer_embedding_new (workload, accelerator), 1, -1, FALSE);
    add_blocks (stage, workload, accelerator, first, count);
    if (last)
      add_run (stage, ls_layer_head_new (workload, accelerator), 1, -1, FALSE);
    if (last)
      add_mtp (stage, workload, accelerator);
    if (model->transformer.tied_embeddings && workload->layout.pipeline > 1 &&
        (number == 0 || last))
      tie_embedding (stage, workload, last);
  }
  LS_REQUIRE (stage->n_runs > 0, "stage %u has no layer", number);
  count_parameters (stage);
  count_placeholders (stage, workload);
  set_boundary (stage, workload, number);
  select_operations (stage, workload);
  return stage;
}

LsStage *ls_stage_new_of_parts (const LsWorkload *workload, LsStage **parts, guint n_parts) {
  LsStage *stage = g_new0 (LsStage, 1);

  stage->parts = parts;
  stage->n_parts = n_parts;
  for (guint i = 0; i < n_parts; i++) {
    for (guint run = 0; run < parts[i]->n_runs; run++) {
      stage->runs = g_renew (LsLayerRun, stage->runs, stage->n_runs + 1);
      stage->runs[stage->n_runs++] = parts[i]->runs[run];
    }
    stage->embedding_gradient_elements += parts[i]->embedding_gradient_elements;
  }
  count_parameters (stage);
  count_placeholders (stage, workload);
  return stage;
}

LsStage *ls_stage_new (const LsWorkload *workload, guint device, const LsAccelerator *accelerator) {
  const guint n = ls_workload_n_parts (workload);

  LS_REQUIRE (device < workload->layout.pipeline, "device %u", device);
  if (n == 1)
    return new_part (workload, device, accelerator);
  LsStage **parts = g_new (LsStage *, n);
  for (guint part = 0; part < n; part++)
    parts[part] = new_part (workload, ls_workload_stage_of (workload, device, part), accelerator);
  return ls_stage_new_of_parts (workload, parts, n);
}

/* Launches of an update that is not fused, per tensor (see hw/software.h), and tensors of a layer: a GPT
 * block has four matrices, their biases and two norms of two vectors. source: Megatron-LM's
 * transformer layer; layer lists are taken to be alike (assumption). */
#define UNFUSED_LAUNCHES_PER_TENSOR 9
#define TENSORS_PER_LAYER 12

LsKernelCost ls_stage_update (const LsStage *stage, const LsWorkload *workload,
                              const LsDevice *device) {
  guint layers = 0;

  for (guint run = 0; run < stage->n_runs; run++)
    layers += stage->runs[run].count;
  const int launches = workload->software->fused_optimizer
                           ? 1
                           : UNFUSED_LAUNCHES_PER_TENSOR * TENSORS_PER_LAYER * (int) layers;
  return ls_kernel_optimizer (
      device, ls_workload_owned (workload, stage->parameters, stage->expert_parameters),
      workload->precision.parameters, ls_workload_optimizer_traffic (workload), launches);
}

const LsStage *ls_stage_part (const LsStage *stage, guint part) {
  return stage->n_parts > 0 ? stage->parts[part] : stage;
}

void ls_stage_free (LsStage *stage) {
  if (stage == NULL)
    return;
  for (guint i = 0; i < stage->n_parts; i++)
    ls_stage_free (stage->parts[i]);
  for (guint i = stage->n_runs; i-- > 0 && stage->n_parts == 0;)
    if (brings_plan (stage, i))
      ls_layer_plan_free (stage->runs[i].plan);
  g_free (stage->parts);
  g_free (stage->runs);
  g_free (stage);
}
