/* Cutting a stage's runs of equal layers into chunks; see chunk.h.
 *
 * The first `recompute.layers` blocks of the stage are recomputed, `every` at a time; what does not
 * divide is a shorter segment at the end. A segment of more than 127 layers is a chunk of its own,
 * because a label steps by at most that much per loop iteration.
 */
#include "train/chunk.h"

#include <math.h>

#include "base/assert.h"

#define MAX_LOOPED_SIZE 127

static void append (GArray *chunks, const LsLayerRun *run, guint offset, LsChunkMode mode,
                    guint segments, guint size) {
  LsChunk chunk = {.plan = run->plan, .mode = mode, .segments = segments, .size = size};

  if (segments == 0 || size == 0)
    return;
  chunk.first = run->first < 0 ? run->first : run->first + (gint32) offset;
  g_array_append_val (chunks, chunk);
}

/* `count` layers from `offset` on, recomputed in segments of `size`. */
static void append_segments (GArray *chunks, const LsLayerRun *run, guint offset, LsChunkMode mode,
                             guint count, guint size) {
  guint whole = count / size, rest = count % size;

  if (size <= MAX_LOOPED_SIZE)
    append (chunks, run, offset, mode, whole, size);
  else
    for (guint i = 0; i < whole; i++)
      append (chunks, run, offset + i * size, mode, 1, size);
  append (chunks, run, offset + whole * size, mode, 1, rest);
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

  return (guint) CLAMP (every, 1, (gint64) again);
}

LsChunks *ls_chunks_new (const LsStage *stage, const LsRecompute *recompute) {
  GArray *list = g_array_new (FALSE, TRUE, sizeof (LsChunk));
  gint64 left = recompute->mode == LS_RECOMPUTE_NONE ? 0 : recompute->layers;

  for (guint i = 0; i < stage->n_runs; i++) {
    const LsLayerRun *run = &stage->runs[i];
    guint again = run->is_block ? (guint) CLAMP (left, 0, (gint64) run->count) : 0;
    if (again > 0) {
      LsChunkMode mode = mode_of (recompute);
      guint size = mode == LS_CHUNK_SELECTIVE ? 1 : size_of (recompute, again);
      append_segments (list, run, 0, mode, again, size);
      left -= again;
    }
    append (list, run, again, LS_CHUNK_KEEP, run->count - again, 1);
  }
  LsChunks *chunks = g_new0 (LsChunks, 1);
  chunks->n = list->len;
  chunks->chunk = (LsChunk *) (gpointer) g_array_free (list, FALSE);
  return chunks;
}

void ls_chunks_free (LsChunks *chunks) {
  if (chunks == NULL)
    return;
  g_free (chunks->chunk);
  g_free (chunks);
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

double ls_chunks_recomputed_flops (const LsChunks *chunks, const LsWorkload *workload) {
  double flops = 0;

  for (guint i = 0; i < chunks->n; i++) {
    const LsChunk *chunk = &chunks->chunk[i];
    switch (chunk->mode) {
    case LS_CHUNK_SELECTIVE:
      flops += chunk->segments * selected_flops (chunk->plan, workload);
      break;
    case LS_CHUNK_FULL:
      flops += (double) chunk->segments *
               (chunk->size * chunk->plan->model_flops - skipped_flops (chunk->plan, workload));
      break;
    case LS_CHUNK_CHAIN:
      flops += (double) chunk->segments * (chunk->size - 1) * chunk->plan->model_flops;
      break;
    case LS_CHUNK_KEEP:
    default:
      break;
    }
  }
  return flops;
}
