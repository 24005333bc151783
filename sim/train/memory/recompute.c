/* Choosing what to recompute, and the curve over k; see recompute.h. */
#include "train/memory/recompute.h"

#include "base/assert.h"
#include "train/layer/chunk.h"
#include "train/memory/memory_walk.h"

char *ls_recompute_text (const LsRecompute *recompute) {
  GString *text = g_string_new (ls_recompute_mode_name (recompute->mode));

  if (recompute->mode == LS_RECOMPUTE_SELECTIVE && recompute->operations != NULL) {
    g_autofree char *names = g_strjoinv (", ", recompute->operations);

    g_string_append_printf (text, " (%s)", names);
  }
  if (recompute->mode == LS_RECOMPUTE_FULL) {
    if (recompute->unit == LS_RECOMPUTE_UNIT_OPERATION)
      g_string_append (text, " by operation");
    if (recompute->every == LS_RECOMPUTE_SQRT)
      g_string_append (text, ", every sqrt (n) layers");
    else if (recompute->every > 1)
      g_string_append_printf (text, ", every %" G_GINT64_FORMAT " layers", recompute->every);
  }
  if (recompute->mode != LS_RECOMPUTE_NONE && recompute->layers != G_MAXINT64)
    g_string_append_printf (text, ", the first %" G_GINT64_FORMAT " layers of each stage",
                            recompute->layers);
  if (recompute->offload)
    g_string_append (text, ", inputs on the host");
  if (recompute->fitted)
    g_string_append (text, " (chosen by mode fit)");
  return g_string_free (text, FALSE);
}

/* --- extra compute -------------------------------------------------------------------------- */

/* Kernels of the first `n` forward operations; `selected`: those that selective recompute repeats. */
static gint64 kernels_ps (const LsLayerPlan *plan, guint n, gboolean selected) {
  gint64 ps = 0;

  for (guint i = 0; i < n; i++)
    if (!plan->forward[i].is_collective && (!selected || ls_layer_op_repeated (plan, i)))
      ps += selected ? ls_layer_op_again (&plan->forward[i])->alone_ps
                     : plan->forward[i].cost.alone_ps;
  return ps;
}

/* One segment's second forward pass. */
static gint64 segment_ps (const LsChunk *chunk, const LsWorkload *workload) {
  const LsLayerPlan *last = chunk->plans[chunk->size - 1];
  const guint needed =
      workload->software->recompute_stops_early ? ls_layer_plan_needed (last) : last->n_forward;
  gint64 before = 0; /* the last layer */

  for (guint i = 0; i + 1 < chunk->size; i++)
    before += kernels_ps (chunk->plans[i], chunk->plans[i]->n_forward, FALSE);
  switch (chunk->mode) {
  case LS_CHUNK_SELECTIVE:
    return kernels_ps (last, last->n_forward, TRUE);
  case LS_CHUNK_FULL:
    return before + kernels_ps (last, needed, FALSE);
  case LS_CHUNK_CHAIN:
    return before;
  case LS_CHUNK_KEEP:
  default:
    return 0;
  }
}

gint64 ls_recompute_extra_ps (const LsStage *stage, const LsWorkload *workload) {
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, &workload->recompute);
  gint64 ps = 0;

  for (guint i = 0; i < chunks->n; i++)
    ps += chunks->chunk[i].segments * segment_ps (&chunks->chunk[i], workload);
  return ps;
}

/* Time alone of the kernels of its whole forward pass, per micro-batch. */
static gint64 forward_alone_ps (const LsStage *stage) {
  gint64 ps = 0;

  for (guint i = 0; i < stage->n_runs; i++)
    ps += stage->runs[i].count *
          kernels_ps (stage->runs[i].plan, stage->runs[i].plan->n_forward, FALSE);
  return ps;
}

/* Blocks of a stage. */
static gint64 layers_of (const LsStage *stage) {
  gint64 layers = 0;

  for (guint i = 0; i < stage->n_runs; i++)
    layers += stage->runs[i].is_block ? stage->runs[i].count : 0;
  return layers;
}

/* --- fit ------------------------------------------------------------------------------------ */

typedef struct {
  LsRecompute recompute; /* owns its names */
  gint64 extra_ps;       /* of the stage with most */
  gint64 over_bytes;     /* reserved - capacity of the fullest stage */
} Candidate;

typedef struct {
  LsWorkload *workload; /* a copy to try settings on */
  const LsAccelerator *const *accelerators;
  gint64 layers; /* blocks of the stage with most */
  Candidate best, least;
  gboolean found; /* best fits */
} Search;

static void take (Candidate *to, const Candidate *from) {
  g_strfreev (to->recompute.operations);
  *to = *from;
  to->recompute.operations = g_strdupv (from->recompute.operations);
}

/* Costs of a setting, whose names are borrowed. */
static Candidate try (Search *s, LsRecompute recompute) {
  Candidate candidate = {.recompute = recompute};
  LsMemoryEstimate estimate;

  s->workload->recompute = recompute;
  ls_memory_fullest (s->workload, s->accelerators, &estimate);
  candidate.over_bytes = estimate.reserved_bytes - estimate.capacity_bytes;
  for (guint number = 0; number < s->workload->layout.pipeline; number++) {
    g_autoptr (LsStage) stage = ls_stage_new (s->workload, number, s->accelerators[number]);

    candidate.extra_ps = MAX (candidate.extra_ps, ls_recompute_extra_ps (stage, s->workload));
  }
  s->workload->recompute.operations = NULL;
  if (s->least.recompute.mode == LS_RECOMPUTE_FIT || candidate.over_bytes < s->least.over_bytes)
    take (&s->least, &candidate);
  if (candidate.over_bytes <= 0 && (!s->found || candidate.extra_ps < s->best.extra_ps)) {
    take (&s->best, &candidate);
    s->found = TRUE;
  }
  return candidate;
}

/* The least n of a family that fits, by halving. */
static void try_layers (Search *s, LsRecompute recompute) {
  gint64 too_few = 0, enough = s->layers;

  recompute.layers = G_MAXINT64;
  if (try (s, recompute).over_bytes > 0)
    return;
  while (enough - too_few > 1) {
    recompute.layers = too_few + (enough - too_few) / 2;
    if (try (s, recompute).over_bytes <= 0)
      enough = recompute.layers;
    else
      too_few = recompute.layers;
  }
}

/* Norms, and elementwise passes too, whose input is kept and whose output the next kernel keeps: they cost
 * a pass over memory each and need nothing else to run again. NULL when there are none. */
static char **cheap_operations (const LsStage *stage, gboolean elementwise) {
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint run = 0; run < stage->n_runs; run++)
    for (guint i = 0; stage->runs[run].is_block && i < stage->runs[run].plan->n_forward; i++) {
      const LsLayerOp *op = &stage->runs[run].plan->forward[i];
      const gboolean cheap =
          op->kind == LS_KIND_NORM || (elementwise && op->kind == LS_KIND_ELEMENTWISE);

      if (cheap && op->saved_input_bytes > 0 &&
          !g_ptr_array_find_with_equal_func (names, op->name, g_str_equal, NULL))
        g_ptr_array_add (names, (gpointer) op->name);
    }
  if (names->len == 0)
    return NULL;
  g_ptr_array_add (names, NULL);
  return g_strdupv ((char **) names->pdata);
}

static void try_all (Search *s) {
  const LsRecompute none = {.mode = LS_RECOMPUTE_NONE, .every = 1, .layers = G_MAXINT64};
  LsRecompute setting = none;

  if (try (s, none).over_bytes <= 0)
    return;
  setting.mode = LS_RECOMPUTE_SELECTIVE;
  try_layers (s, setting);
  for (int elementwise = 0; elementwise <= 1; elementwise++) {
    g_autoptr (LsStage) stage = ls_stage_new (s->workload, 0, s->accelerators[0]);
    g_auto (GStrv) names = cheap_operations (stage, elementwise);

    setting.operations = names;
    if (names != NULL)
      try_layers (s, setting);
  }
  setting = none;
  setting.mode = LS_RECOMPUTE_MATMULS;
  try_layers (s, setting);
  setting.mode = LS_RECOMPUTE_FULL;
  try_layers (s, setting);
  for (gint64 k = 2; k <= s->layers && !s->found; k++) {
    setting.every = k;
    try (s, setting);
  }
}

void ls_recompute_fit (LsWorkload *workload, const LsAccelerator *const *accelerators) {
  g_autoptr (LsWorkload) copy = NULL;
  Search search = {.accelerators = accelerators};

  if (workload->recompute.mode != LS_RECOMPUTE_FIT)
    return;
  copy = ls_workload_copy (workload);
  g_clear_pointer (&copy->recompute.operations, g_strfreev);
  search.workload = copy;
  search.least.recompute.mode = LS_RECOMPUTE_FIT;
  for (guint number = 0; number < workload->layout.pipeline; number++) {
    g_autoptr (LsStage) stage = ls_stage_new (copy, number, accelerators[number]);

    search.layers = MAX (search.layers, layers_of (stage));
  }
  try_all (&search);
  g_clear_pointer (&workload->recompute.operations, g_strfreev);
  workload->recompute = (search.found ? search.best : search.least).recompute;
  workload->recompute.fitted = TRUE;
  g_strfreev ((search.found ? search.least : search.best).recompute.operations);
}

/* --- the curve ------------------------------------------------------------------------------ */

/* Forward passes over the recomputed layers, in passes over all of them. */
static double count_work (const LsStage *stage, const LsRecompute *recompute, gint64 layers) {
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, recompute);
  gint64 again = 0;

  for (guint i = 0; i < chunks->n; i++) {
    const LsChunk *chunk = &chunks->chunk[i];

    if (chunk->mode == LS_CHUNK_FULL)
      again += (gint64) chunk->segments * chunk->size;
    else if (chunk->mode == LS_CHUNK_CHAIN)
      again += (gint64) chunk->segments * (chunk->size - 1);
  }
  return 1 + (double) again / (double) layers;
}

static LsRecomputePoint point_at (LsWorkload *workload, guint number,
                                  const LsAccelerator *accelerator) {
  g_autoptr (LsStage) stage = ls_stage_new (workload, number, accelerator);
  const gint64 forward_ps = forward_alone_ps (stage);
  const gint64 layers = layers_of (stage);
  LsRecomputePoint point = {.extra_ps = ls_recompute_extra_ps (stage, workload)};
  LsMemoryEstimate estimate;

  ls_memory_estimate (workload, number, accelerator, &estimate);
  point.work = layers > 0 ? count_work (stage, &workload->recompute, layers) : 1;
  point.extra_share = forward_ps > 0 ? (double) point.extra_ps / (double) forward_ps : 0;
  point.activations_bytes = estimate.bytes[LS_MEMORY_ACTIVATIONS];
  point.allocated_bytes = estimate.allocated_bytes;
  point.reserved_bytes = estimate.reserved_bytes;
  point.fits = estimate.fits;
  return point;
}

GArray *ls_recompute_curve (const LsWorkload *workload, guint number,
                            const LsAccelerator *accelerator, LsRecomputeUnit unit) {
  GArray *curve = g_array_new (FALSE, FALSE, sizeof (LsRecomputePoint));
  g_autoptr (LsWorkload) copy = ls_workload_copy (workload);
  g_autoptr (LsStage) stage = ls_stage_new (workload, number, accelerator);
  const gint64 layers = layers_of (stage);

  LS_REQUIRE (number < workload->layout.pipeline, "stage %u", number);
  g_clear_pointer (&copy->recompute.operations, g_strfreev);
  for (gint64 k = 0; k <= layers; k++) {
    copy->recompute = (LsRecompute){.mode = k == 0 ? LS_RECOMPUTE_NONE : LS_RECOMPUTE_FULL,
                                    .unit = unit,
                                    .every = MAX (k, 1),
                                    .layers = G_MAXINT64};
    LsRecomputePoint point = point_at (copy, number, accelerator);

    point.k = k;
    point.law_stored = k == 0 ? 1 : 1 / (double) k;
    point.law_work = k == 0 ? 1 : 2 - 1 / (double) k;
    g_array_append_val (curve, point);
  }
  return curve;
}

guint ls_recompute_curve_best (const GArray *curve) {
  guint best = MIN (1, curve->len - 1);

  for (guint i = 1; i < curve->len; i++)
    if (g_array_index (curve, LsRecomputePoint, i).allocated_bytes <
        g_array_index (curve, LsRecomputePoint, best).allocated_bytes)
      best = i;
  return best;
}
