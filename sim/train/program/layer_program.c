/* Layers as operations of a program; see layer_program.h. */
#include "train/program/layer_program.h"

#include "base/assert.h"
#include "train/memory/activation_offload.h"
#include "train/program/activation_program.h"
#include "train/program/gather_forward.h"
#include "train/program/gather_program.h"
#include "train/program/largest_program.h"
#include "train/program/launch_program.h"
#include "train/program/layer_operation.h"
#include "train/program/reduce_program.h"

/* Which operations of a forward list run, and which of them keep what they save. */
typedef enum { KEEP_ALL, KEEP_NONE, KEEP_UNSELECTED, RUN_SELECTED } Keep;

static Keep keep_of (const LsChunk *chunk, guint layer) {
  switch (chunk->mode) {
  case LS_CHUNK_SELECTIVE:
    return KEEP_UNSELECTED;
  case LS_CHUNK_FULL:
    return KEEP_NONE;
  case LS_CHUNK_CHAIN:
    return layer + 1 == chunk->size ? KEEP_ALL : KEEP_NONE;
  case LS_CHUNK_KEEP:
  default:
    return KEEP_ALL;
  }
}

/* Of what operation `i` saves: what stays behind when it runs. */
static gint64 kept_bytes (const LsLayerPlan *plan, guint i, Keep keep) {
  switch (keep) {
  case KEEP_NONE:
    return 0;
  case KEEP_UNSELECTED:
    return plan->forward[i].saved_bytes - ls_layer_op_dropped_bytes (plan, i);
  case RUN_SELECTED:
    return ls_layer_op_remade_bytes (plan, i);
  case KEEP_ALL:
  default:
    return plan->forward[i].saved_bytes;
  }
}

static LsLabel label_of (const LsBuilder *builder, const LsChunk *chunk, guint layer,
                         gboolean backward) {
  if (chunk->first < 0)
    return LS_LABEL_NONE;
  gint32 first = chunk->first + (gint32) layer;
  gboolean looped = builder->depth > builder->section_depth;
  gint32 unrolled = (gint32) (builder->segment * chunk->size);
  if (backward)
    first += (gint32) ((chunk->segments - 1) * chunk->size);
  first += backward ? -unrolled : unrolled;
  if (!looped || chunk->segments == 1 || builder->script != NULL)
    return ls_label (first, 0, -1);
  gint8 step = (gint8) chunk->size;
  return ls_label (first, backward ? (gint8) -step : step, (gint8) builder->section_depth);
}

/* Of a backward list: does it belong to what is being written? */
static gboolean is_in_half (const LsBuilder *builder, const LsLayerOp *op) {
  if (builder->backward == LS_ACTION_BACKWARD)
    return TRUE;
  return (op->phase == LS_PHASE_WEIGHT_GRAD) == (builder->backward == LS_ACTION_WEIGHT);
}

/* What operation `i` of a forward list holds, `input_bytes` beside what it saves. */
static LsClaims forward_claims (const LsLayerPlan *plan, guint i, Keep keep, gint64 input_bytes) {
  const LsLayerOp *op = &plan->forward[i];
  const gint64 kept = kept_bytes (plan, i, keep);
  const gint64 passing = op->workspace_bytes + (keep == RUN_SELECTED ? 0 : op->saved_bytes - kept);

  return (LsClaims){passing + kept + input_bytes, passing, keep == RUN_SELECTED};
}

static gboolean runs (const LsLayerPlan *plan, guint i, Keep keep) {
  return keep != RUN_SELECTED || ls_layer_op_repeated (plan, i);
}

/* Is operation `i` the first of two in pieces? A map of which only a part runs again is not. */
static gboolean runs_cut (const LsLayerPlan *plan, guint i, Keep keep) {
  const LsLayerOp *op = &plan->forward[i];
  const gboolean in_part = keep == RUN_SELECTED && (op[0].in_part || op[1].in_part);

  return ls_layer_is_cut (op) && runs (plan, i + 1, keep) && !in_part;
}

static const LsLayerItem end_of_list = {0};

/* The first `n` operations of a layer's forward list; `input_bytes` are kept beside what they save. */
static void layer_forward (LsBuilder *builder, const LsLayerPlan *plan, guint n, Keep keep,
                           LsPhaseName phase, gint64 input_bytes) {
  LsMark deferred = {0};

  for (guint i = 0; i < n; i++) {
    const LsLayerOp *op = &plan->forward[i];
    if (!runs (plan, i, keep))
      continue;
    LsLayerItem item = {.op = op,
                        .phase = phase,
                        .claims = {forward_claims (plan, i, keep, input_bytes)},
                        .overlaps = op->overlaps_next,
                        .cut = i + 1 < n && runs_cut (plan, i, keep)};
    input_bytes = 0;
    if (item.cut)
      item.claims[1] = forward_claims (plan, ++i, keep, 0);
    ls_layer_item_put (builder, &item, &deferred);
  }
  ls_layer_item_put (builder, &end_of_list, &deferred);
  ls_launch_gap (builder, plan->forward, n, keep == RUN_SELECTED ? plan : NULL, NULL,
                 phase == LS_PHASE_RECOMPUTE ? LS_LAUNCH_AGAIN : LS_LAUNCH_FORWARD);
}

/* Claims bytes, or releases them where they are negative. */
static void put_memory (LsBuilder *builder, const char *name, gint64 bytes) {
  const LsLayerItem item = {.name = name, .claims = {{MAX (bytes, 0), MAX (-bytes, 0), FALSE}}};

  ls_layer_item_put (builder, &item, NULL);
}

/* The forward list once more, as far as the backward pass needs it where the software stops there. */
static void layer_again (LsBuilder *builder, const LsLayerPlan *plan, Keep keep, gboolean last) {
  gboolean stops = builder->spec->workload->software->recompute_stops_early && last;
  guint n = stops ? ls_layer_plan_needed (plan) : plan->n_forward;
  guint run = stops ? ls_layer_plan_rerun (plan) : plan->n_forward;

  layer_forward (builder, plan, run, keep, LS_PHASE_RECOMPUTE, 0);
  if (n < plan->n_forward && plan->forward[n].saved_bytes > 0)
    put_memory (builder, "saved", plan->forward[n].saved_bytes);
}

/* What is let go at the end of what is being written of a layer's backward; negative: what is kept besides. */
static gint64 released_bytes (const LsBuilder *builder, const LsLayerPlan *plan,
                              gint64 input_bytes) {
  switch (builder->backward) {
  case LS_ACTION_INPUT:
    return ls_layer_plan_saved_bytes (plan) + input_bytes - ls_layer_plan_put_off_bytes (plan);
  case LS_ACTION_WEIGHT:
    return ls_layer_plan_put_off_bytes (plan);
  default:
    return ls_layer_plan_saved_bytes (plan) + input_bytes;
  }
}

/* What an operation of a backward list holds; `more` of the layer goes with it. */
static LsClaims backward_claims (const LsBuilder *builder, const LsLayerOp *op, gint64 more) {
  const gboolean half = builder->backward == LS_ACTION_WEIGHT;
  const gint64 own = MAX (op->workspace_bytes - (half ? op->output_gradient_bytes : 0), 0);

  return (LsClaims){own + MAX (-more, 0), own + MAX (more, 0), FALSE};
}

/* The backward list of a layer, or a half of it; its last operation releases what the layer saved and
 * `input_bytes`. A collective overlaps only what runs right behind it in the whole list. */
static void layer_backward (LsBuilder *builder, const LsLayerPlan *plan, gint64 input_bytes) {
  gint64 released = released_bytes (builder, plan, input_bytes);
  LsMark deferred = {0};
  guint n = plan->n_backward;

  while (n > 0 && !is_in_half (builder, &plan->backward[n - 1]))
    n--;
  for (guint i = 0; i < n; i++) {
    const LsLayerOp *op = &plan->backward[i];
    if (!is_in_half (builder, op))
      continue;
    const gboolean next = i + 1 < n && is_in_half (builder, op + 1);
    LsLayerItem item = {.op = op,
                        .phase = op->phase,
                        .claims = {backward_claims (builder, op, i + 1 == n ? released : 0)},
                        .overlaps = op->overlaps_next && next,
                        .cut = next && ls_layer_is_cut (op)};
    if (item.cut) {
      i++;
      item.claims[1] = backward_claims (builder, op + 1, i + 1 == n ? released : 0);
    }
    LsMark mark = ls_layer_item_put (builder, &item, &deferred);
    if (mark.valid && (item.cut || !op->is_collective) && builder->backward != LS_ACTION_INPUT)
      ls_reduce_note (builder, mark);
  }
  ls_layer_item_put (builder, &end_of_list, &deferred);
  if (n == 0 && released != 0)
    put_memory (builder, released > 0 ? "release" : "keep", -released);
  if (n == 0 &&
      builder->backward == LS_ACTION_WEIGHT) /* gradients that came with those of the inputs */
    ls_reduce_note (builder, ls_builder_point (builder, "weights"));
  ls_launch_gap (builder, plan->backward, plan->n_backward, NULL, is_in_half, LS_LAUNCH_BACKWARD);
}

static gboolean is_looped (const LsBuilder *builder, const LsChunk *chunk) {
  /* Limits on gathers and on reductions by layer are stated by iterations of this loop, so it is there even for one. */
  return builder->script == NULL &&
         (chunk->segments > 1 || ls_builder_gathers (builder) || ls_reduce_by_layer (builder));
}

static gint64 input_of (const LsChunk *chunk, guint layer) {
  return chunk->mode == LS_CHUNK_FULL && layer == 0 ? ls_chunk_input_bytes (chunk) : 0;
}

static void segment_forward (LsBuilder *builder, const LsChunk *chunk) {
  const gboolean leaves = ls_activations_leave (builder->spec->workload, chunk);

  ls_gather_forward_begin_segment (builder);
  for (guint layer = 0; layer < chunk->size; layer++) {
    const LsLayerPlan *plan = chunk->plans[layer];

    builder->layer = label_of (builder, chunk, layer, FALSE);
    if (layer == 0)
      ls_activations_begin_forward (builder, chunk);
    ls_gather_begin_layer (builder, plan, LS_PHASE_FORWARD);
    layer_forward (builder, plan, plan->n_forward, keep_of (chunk, layer), LS_PHASE_FORWARD,
                   leaves ? 0 : input_of (chunk, layer));
    ls_gather_end_layer (builder, plan);
  }
  ls_activations_end_forward (builder, chunk);
  builder->layer = LS_LABEL_NONE;
  ls_gather_end_segment (builder);
  ls_gather_forward_end_segment (builder);
}

/* What is noted down has no loops: a segment is noted as often as it runs. */
static void unroll (LsBuilder *builder, const LsChunk *chunk,
                    void (*segment) (LsBuilder *, const LsChunk *)) {
  const guint n = builder->script != NULL ? chunk->segments : 1;

  for (builder->segment = 0; builder->segment < n; builder->segment++)
    segment (builder, chunk);
  builder->segment = 0;
}

static void chunk_forward (LsBuilder *builder, const LsChunk *chunk) {
  ls_gather_forward_chunk (builder, chunk);
  if (is_looped (builder, chunk))
    ls_builder_open (builder, chunk->segments);
  unroll (builder, chunk, segment_forward);
  if (is_looped (builder, chunk))
    ls_builder_close (builder);
}

/* Is the segment gathered for its second forward pass and then again for the backward pass? A segment of one
 * layer is gathered once for both, except where the software lets go of each matrix after its use. */
static gboolean gathers_apart (const LsBuilder *builder, const LsChunk *chunk) {
  return chunk->size > 1 ||
         (builder->spec->workload->software->zero_per_matrix && chunk->mode == LS_CHUNK_FULL);
}

/* Runs the segment's forward again, all but what its mode kept. */
static void recompute_segment (LsBuilder *builder, const LsChunk *chunk) {
  guint again = chunk->mode == LS_CHUNK_CHAIN ? chunk->size - 1 : chunk->size;
  const gboolean again_gathered = gathers_apart (builder, chunk);

  if (chunk->mode == LS_CHUNK_KEEP)
    return;
  for (guint layer = 0; layer < again; layer++) {
    const LsLayerPlan *plan = chunk->plans[layer];

    builder->layer = label_of (builder, chunk, layer, TRUE);
    if (again_gathered)
      ls_gather_begin_layer (builder, plan, LS_PHASE_RECOMPUTE);
    layer_again (builder, plan, chunk->mode == LS_CHUNK_SELECTIVE ? RUN_SELECTED : KEEP_ALL,
                 chunk->mode == LS_CHUNK_FULL && layer + 1 == again);
    if (again_gathered)
      ls_gather_end_layer (builder, plan);
  }
}

/* One layer's backward or a half of it: parameters are gathered for the gradients of inputs, gradients of
 * weights are reduced. */
static void chunk_layer_backward (LsBuilder *builder, const LsChunk *chunk, guint layer) {
  const gboolean inputs = builder->backward != LS_ACTION_WEIGHT;
  const gboolean weights = builder->backward != LS_ACTION_INPUT;
  const LsLayerPlan *plan = chunk->plans[layer];

  builder->layer = label_of (builder, chunk, layer, TRUE);
  if (inputs)
    ls_gather_begin_layer (builder, plan, LS_PHASE_BACKWARD);
  if (weights)
    ls_reduce_begin_layer (builder, plan);
  if (inputs && !gathers_apart (builder, chunk))
    recompute_segment (builder, chunk);
  layer_backward (builder, plan, input_of (chunk, layer));
  /* In this order: without overlap the next gather waits for the reduction. */
  if (weights)
    ls_reduce_end_layer (builder, plan);
  if (inputs)
    ls_gather_end_layer (builder, plan);
}

static void segment_backward (LsBuilder *builder, const LsChunk *chunk) {
  const gboolean weights = builder->backward != LS_ACTION_INPUT;

  if (weights)
    ls_reduce_begin_segment (builder, chunk);
  builder->layer = label_of (builder, chunk, 0, TRUE);
  ls_activations_begin_backward (builder, chunk);
  if (builder->backward != LS_ACTION_WEIGHT && gathers_apart (builder, chunk))
    recompute_segment (builder, chunk);
  for (guint i = 0; i < chunk->size; i++)
    chunk_layer_backward (builder, chunk, chunk->size - 1 - i);
  ls_activations_end_backward (builder, chunk);
  builder->layer = LS_LABEL_NONE;
  ls_gather_end_segment (builder);
  if (weights)
    ls_reduce_end_segment (builder);
}

static void chunk_backward (LsBuilder *builder, const LsChunk *chunk) {
  ls_activations_begin_chunk (builder, chunk);
  if (is_looped (builder, chunk))
    ls_builder_open (builder, chunk->segments);
  unroll (builder, chunk, segment_backward);
  if (is_looped (builder, chunk))
    ls_builder_close (builder);
  if (builder->backward != LS_ACTION_INPUT)
    ls_reduce_end_chunk (builder, chunk);
}

void ls_layers_gather_boundary (LsBuilder *builder, gint64 bytes, LsPhaseName phase) {
  const LsLayerOp gather = {.name = "gather_boundary",
                            .is_collective = TRUE,
                            .collective = LS_COLLECTIVE_ALL_GATHER,
                            .collective_bytes = bytes};

  if (bytes > 0 && builder->spec->workload->layout.tensor > 1)
    ls_builder_wait (builder, ls_layer_write_collective (builder, &gather, phase, (LsClaims){0}));
}

void ls_layers_forward (LsBuilder *builder) {
  ls_gather_forward_begin (builder);
  for (guint i = 0; i < builder->current->n; i++)
    chunk_forward (builder, &builder->current->chunk[i]);
  ls_gather_forward_end (builder);
  ls_largest_end_pass (builder, LS_PHASE_FORWARD);
}

void ls_layers_backward (LsBuilder *builder) {
  for (guint i = builder->current->n; i > 0; i--)
    chunk_backward (builder, &builder->current->chunk[i - 1]);
  if (builder->backward != LS_ACTION_INPUT)
    ls_largest_end_pass (builder, LS_PHASE_BACKWARD);
}
