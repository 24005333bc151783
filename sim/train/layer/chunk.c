/* Cutting a stage's layers into chunks; see chunk.h.
 *
 * The first `recompute.layers` blocks of the stage are recomputed, `every` at a time, whether they are alike or
 * not; what does not divide is a shorter segment at the end. A segment of more than 127 layers is a chunk of
 * its own, because a label steps by at most that much per loop iteration.
 */
#include "train/layer/chunk.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"

#define MAX_LOOPED_SIZE 127

static gboolean goes_on (const LsChunk *chunk, const LsLayerPlan *const *plans, LsChunkMode mode,
                         guint size, gint32 first) {
  const gint32 next = chunk->first + (gint32) (chunk->segments * chunk->size);

  return chunk->mode == mode && chunk->size == size && chunk->first >= 0 && first == next &&
         size <= MAX_LOOPED_SIZE &&
         memcmp (chunk->plans, plans, size * sizeof (const LsLayerPlan *)) == 0;
}

/* One more segment, of layers from number `first` on; equal ones in a row are one chunk. */
static void append (GArray *chunks, const LsLayerPlan *const *plans, LsChunkMode mode, guint size,
                    gint32 first) {
  LsChunk *newest = chunks->len > 0 ? &g_array_index (chunks, LsChunk, chunks->len - 1) : NULL;

  if (newest != NULL && goes_on (newest, plans, mode, size, first)) {
    newest->segments++;
    return;
  }
  const LsChunk chunk = {
      .plans = g_memdup2 (plans, size * sizeof (const LsLayerPlan *)),
      .mode = mode,
      .segments = 1,
      .size = size,
      .first = first,
  };
  g_array_append_val (chunks, chunk);
}

static LsChunkMode mode_of (const LsRecompute *recompute) {
  if (recompute->mode == LS_RECOMPUTE_SELECTIVE || recompute->mode == LS_RECOMPUTE_MATMULS)
    return LS_CHUNK_SELECTIVE;
  return recompute->unit == LS_RECOMPUTE_UNIT_OPERATION ? LS_CHUNK_CHAIN : LS_CHUNK_FULL;
}

/* Layers per segment of `again` recomputed ones. */
static guint size_of (const LsRecompute *recompute, guint again) {
  const gint64 every = recompute->every == LS_RECOMPUTE_SQRT
                           ? (gint64) round (sqrt ((double) again))
                           : recompute->every;

  return mode_of (recompute) == LS_CHUNK_SELECTIVE
             ? 1
             : (guint) CLAMP (every, 1, (gint64) MAX (again, 1));
}

/* Blocks in a row, the first of which has the number `first`; *left of the stage's may still be recomputed. */
static void append_blocks (GArray *chunks, const GPtrArray *blocks, gint32 first,
                           const LsRecompute *recompute, gint64 *left) {
  const LsLayerPlan *const *plans = (const LsLayerPlan *const *) blocks->pdata;
  const guint again = (guint) CLAMP (*left, 0, (gint64) blocks->len);
  const guint size = size_of (recompute, again);

  for (guint i = 0, n = 0; i < blocks->len; i += n) {
    n = i < again ? MIN (size, again - i) : 1;
    append (chunks, &plans[i], i < again ? mode_of (recompute) : LS_CHUNK_KEEP, n,
            first + (gint32) i);
  }
  *left -= again;
}

/* Layers of one stage of the model. */
static void append_stage (GArray *chunks, const LsStage *stage, const LsRecompute *recompute) {
  gint64 left = recompute->mode == LS_RECOMPUTE_NONE ? 0 : recompute->layers;
  g_autoptr (GPtrArray) blocks = g_ptr_array_new ();

  for (guint i = 0; i < stage->n_runs; i++) {
    const LsLayerRun *run = &stage->runs[i];
    const gboolean ends = i + 1 == stage->n_runs || !stage->runs[i + 1].is_block;

    if (!run->is_block) {
      append (chunks, (const LsLayerPlan *const *) &run->plan, LS_CHUNK_KEEP, 1, run->first);
      continue;
    }
    for (guint layer = 0; layer < run->count; layer++)
      g_ptr_array_add (blocks, run->plan);
    if (!ends)
      continue;
    append_blocks (chunks, blocks, run->first + (gint32) run->count - (gint32) blocks->len,
                   recompute, &left);
    g_ptr_array_set_size (blocks, 0);
  }
}

LsChunks *ls_chunks_new (const LsStage *stage, const LsRecompute *recompute) {
  GArray *list = g_array_new (FALSE, TRUE, sizeof (LsChunk));

  for (guint part = 0; part < stage->n_parts; part++)
    append_stage (list, stage->parts[part], recompute);
  if (stage->n_parts == 0)
    append_stage (list, stage, recompute);
  LsChunks *chunks = g_new0 (LsChunks, 1);
  chunks->n = list->len;
  chunks->chunk = (LsChunk *) (gpointer) g_array_free (list, FALSE);
  return chunks;
}

void ls_chunks_free (LsChunks *chunks) {
  if (chunks == NULL)
    return;
  for (guint i = 0; i < chunks->n; i++)
    g_free (chunks->chunk[i].plans);
  g_free (chunks->chunk);
  g_free (chunks);
}

gint64 ls_chunk_parameters (const LsChunk *chunk) {
  gint64 parameters = 0;

  for (guint i = 0; i < chunk->size; i++)
    parameters += chunk->plans[i]->parameters;
  return parameters;
}

gint64 ls_chunk_expert_parameters (const LsChunk *chunk) {
  gint64 parameters = 0;

  for (guint i = 0; i < chunk->size; i++)
    parameters += chunk->plans[i]->expert_parameters;
  return parameters;
}

gint64 ls_chunk_narrow_parameters (const LsChunk *chunk) {
  gint64 parameters = 0;

  for (guint i = 0; i < chunk->size; i++)
    parameters += chunk->plans[i]->narrow_parameters;
  return parameters;
}

gint64 ls_chunk_input_bytes (const LsChunk *chunk) {
  return chunk->plans[0]->input_bytes;
}

/* The core of a block: scores and their product with the values, 4 B s^2 h.
 * source: Narayanan et al., Megatron-LM (SC21), appendix. */
static double core_flops (const LsWorkload *workload) {
  const LsTransformer *shape = &workload->model->transformer;
  double seq = (double) workload->seq_len, width = (double) (shape->heads * shape->head_dim);

  if (workload->model->kind != LS_MODEL_TRANSFORMER)
    return 0;
  return 4.0 * (double) workload->micro_batch * seq * seq * width;
}

/* What the last layer of a segment does not run again, over all tensor ranks. */
static double skipped_flops (const LsLayerPlan *plan, const LsWorkload *workload) {
  double flops = 0;

  if (!workload->software->recompute_stops_early)
    return 0;
  for (guint i = ls_layer_plan_needed (plan); i < plan->n_forward; i++)
    if (plan->forward[i].kind == LS_KIND_MATMUL)
      flops += plan->forward[i].cost.flops *
               (double) (workload->layout.tensor * workload->layout.context);
  return flops;
}

/* What selective recompute runs again of one layer, over all tensor ranks. */
static double selected_flops (const LsLayerPlan *plan, const LsWorkload *workload) {
  double flops = 0;

  for (guint i = 0; i < plan->n_forward; i++) {
    if (!ls_layer_op_repeated (plan, i))
      continue;
    if (plan->forward[i].kind == LS_KIND_ATTENTION)
      flops += core_flops (workload);
    else if (plan->forward[i].kind == LS_KIND_MATMUL)
      flops += ls_layer_op_again (&plan->forward[i])->flops * (double) workload->layout.tensor;
  }
  return flops;
}

/* The first `n` layers of a segment, forward. */
static double model_flops (const LsChunk *chunk, guint n) {
  double flops = 0;

  for (guint i = 0; i < n; i++)
    flops += chunk->plans[i]->model_flops;
  return flops;
}

/* Of one segment. */
static double recomputed_flops (const LsChunk *chunk, const LsWorkload *workload) {
  switch (chunk->mode) {
  case LS_CHUNK_SELECTIVE:
    return selected_flops (chunk->plans[0], workload);
  case LS_CHUNK_FULL:
    return model_flops (chunk, chunk->size) -
           skipped_flops (chunk->plans[chunk->size - 1], workload);
  case LS_CHUNK_CHAIN:
    return model_flops (chunk, chunk->size - 1);
  case LS_CHUNK_KEEP:
  default:
    return 0;
  }
}

double ls_chunks_recomputed_flops (const LsChunks *chunks, const LsWorkload *workload) {
  double flops = 0;

  for (guint i = 0; i < chunks->n; i++)
    flops += chunks->chunk[i].segments * recomputed_flops (&chunks->chunk[i], workload);
  return flops;
}
