/* Pipeline stages: which layers, in runs of equal ones.
 *
 * Model:      stage p of a transformer holds blocks [sum of layers_per_stage before p, + its own);
 *             stage 0 also the embedding, the last also the head. Stages of a layer list hold its
 *             blocks, each a run of its own.
 */
#include "train/stage.h"

#include "base/assert.h"
#include "train/layer_plans.h"

static void add_run (LsStage *stage, LsLayerPlan *plan, guint count, gint32 first,
                     gboolean is_block) {
  stage->runs = g_renew (LsLayerRun, stage->runs, stage->n_runs + 1);
  stage->runs[stage->n_runs++] = (LsLayerRun){plan, count, first, is_block};
  stage->parameters += plan->parameters * count;
  stage->expert_parameters += plan->expert_parameters * count;
  stage->narrow_parameters += plan->narrow_parameters * count;
  stage->narrow_bytes += plan->narrow_bytes * count;
}

/* What crosses to the next stage. Ranks of a tensor group hold the same activation: each sends 1/t of
 * it and the receivers gather (Narayanan et al., SC21, section 4.1); with sequence parallelism each
 * holds only its own part and nothing is gathered. */
static void set_boundary (LsStage *stage, const LsWorkload *workload, guint number) {
  const LsLayerPlan *last = stage->runs[stage->n_runs - 1].plan;
  const guint tensor = workload->layout.tensor;

  if (workload->layout.pipeline == 1)
    return;
  if (number + 1 == workload->layout.pipeline) {
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

/* Blocks `first` on, as runs of equal ones: dense, or with experts. */
static void add_blocks (LsStage *stage, const LsWorkload *workload,
                        const LsAccelerator *accelerator, gint32 first, guint count) {
  const LsTransformer *t = &workload->model->transformer;

  for (guint i = 0, n = 0; i < count; i += n) {
    const gboolean experts = ls_transformer_is_expert_block (t, first + (gint32) i);

    for (n = 1;
         i + n < count && ls_transformer_is_expert_block (t, first + (gint32) (i + n)) == experts;)
      n++;
    add_run (stage,
             experts ? ls_layer_expert_block_new (workload, accelerator)
                     : ls_layer_block_new (workload, accelerator),
             n, first + (gint32) i, TRUE);
  }
}

/* Blocks that predict further tokens, behind the head: each joins what the last block made with the next
 * token's embedding, and has the head once more, of which only the norm is its own. Embedding and output
 * matrix are those of the model (DeepSeek-V3, arXiv 2412.19437, section 2.2); that a pipeline holds a second
 * copy of the embedding on the last stage is left out. */
static void add_mtp (LsStage *stage, const LsWorkload *workload, const LsAccelerator *accelerator) {
  const LsTransformer *t = &workload->model->transformer;

  for (gint64 i = 0; i < t->mtp; i++) {
    LsLayerPlan *head = ls_layer_head_new (workload, accelerator);

    head->parameters = t->rms_norm ? t->hidden : 2 * t->hidden;
    add_run (stage, ls_layer_mtp_new (workload, accelerator), 1, -1, FALSE);
    add_run (stage,
             t->experts.count > 0 ? ls_layer_expert_block_new (workload, accelerator)
                                  : ls_layer_block_new (workload, accelerator),
             1, (gint32) (t->layers + i), TRUE);
    add_run (stage, head, 1, -1, FALSE);
  }
}

LsStage *ls_stage_new (const LsWorkload *workload, guint number, const LsAccelerator *accelerator) {
  LsStage *stage = g_new0 (LsStage, 1);
  const LsModel *model = workload->model;
  const gboolean last = number + 1 == workload->layout.pipeline;
  const guint count = workload->layers_per_stage[number];
  gint32 first = 0;

  LS_REQUIRE (number < workload->layout.pipeline, "stage %u", number);
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
      stage->embedding_gradient_elements =
          workload->vocab / workload->layout.tensor * model->transformer.hidden;
  }
  LS_REQUIRE (stage->n_runs > 0, "stage %u has no layer", number);
  set_boundary (stage, workload, number);
  return stage;
}

void ls_stage_free (LsStage *stage) {
  if (stage == NULL)
    return;
  for (guint i = 0; i < stage->n_runs; i++)
    ls_layer_plan_free (stage->runs[i].plan);
  g_free (stage->runs);
  g_free (stage);
}
