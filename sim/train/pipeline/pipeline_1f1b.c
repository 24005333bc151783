/* GPipe, 1F1B and interleaved 1F1B; see pipeline.h.
 *
 * Model:      interleaved: a device passes groups of p micro-batches through its parts in turn:
 *             forwards go part 0 .. v - 1, backwards part v - 1 .. 0. With T = m v forwards it warms up
 *             with w = min (2 (p - d - 1) + (v - 1) p, T) of them, then alternates one forward and one
 *             backward, then drains.
 *             Idle: (p - 1)(t_f + t_b)/v in every device for any times, when m is a multiple of p.
 *             source: Narayanan et al., Megatron-LM (SC21), section 2.2.
 *             Paired, on one device or interleaved: a forward and the backward that follows it are one action, and
 *             the warm-up is one forward longer, or a pair's backward could be that of its own forward.
 *             source: Megatron-Core, pipeline_parallel/schedules.py, get_pp_rank_microbatches with
 *             overlap_moe_expert_parallel_comm, and combined_1f1b.py.
 */
#include "train/pipeline/pipeline.h"

static void gpipe (GArray *actions, const LsPipelineSize *size, guint device) {
  (void) device;
  for (gint64 i = 0; i < size->microbatches; i++)
    ls_pipeline_add (actions, LS_ACTION_FORWARD, 0, i);
  for (gint64 i = size->microbatches; i-- > 0;)
    ls_pipeline_add (actions, LS_ACTION_BACKWARD, 0, i);
}

static void add_pair (GArray *actions, const LsAction *forward, const LsAction *backward) {
  const LsAction pair = {.kind = LS_ACTION_PAIR,
                         .part = forward->part,
                         .other_part = backward->part,
                         .microbatch = forward->microbatch,
                         .other = backward->microbatch};

  g_array_append_val (actions, pair);
}

/* Of two actions that stand last, a forward and a backward, makes one. */
static void join_last (GArray *actions) {
  const LsAction forward = g_array_index (actions, LsAction, actions->len - 2);
  const LsAction backward = g_array_index (actions, LsAction, actions->len - 1);

  g_array_set_size (actions, actions->len - 2);
  add_pair (actions, &forward, &backward);
}

static void one_forward_one_backward (GArray *actions, const LsPipelineSize *size, guint device) {
  const gint64 m = size->microbatches;
  const gint64 w = MIN ((gint64) size->devices - 1 - device + (size->paired ? 1 : 0), m);

  for (gint64 i = 0; i < w; i++)
    ls_pipeline_add (actions, LS_ACTION_FORWARD, 0, i);
  for (gint64 i = 0; i < m; i++) {
    if (w + i < m)
      ls_pipeline_add (actions, LS_ACTION_FORWARD, 0, w + i);
    ls_pipeline_add (actions, LS_ACTION_BACKWARD, 0, i);
    if (size->paired && w + i < m)
      join_last (actions);
  }
}

/* The k-th forward or backward of a device. */
static void add_interleaved (GArray *actions, const LsPipelineSize *size, LsActionKind kind,
                             gint64 k) {
  const gint64 p = size->devices, v = size->virtual_stages;
  const gint64 group = k / (p * v), within = k % (p * v);
  const gint64 part = kind == LS_ACTION_FORWARD ? within / p : v - 1 - within / p;

  ls_pipeline_add (actions, kind, (guint) part, group * p + within % p);
}

static void interleaved (GArray *actions, const LsPipelineSize *size, guint device) {
  const gint64 p = size->devices, v = size->virtual_stages, total = size->microbatches * v;
  const gint64 w = MIN (2 * (p - device - 1) + (v - 1) * p + (size->paired ? 1 : 0), total);

  for (gint64 k = 0; k < w; k++)
    add_interleaved (actions, size, LS_ACTION_FORWARD, k);
  for (gint64 k = 0; k < total; k++) {
    if (w + k < total)
      add_interleaved (actions, size, LS_ACTION_FORWARD, w + k);
    add_interleaved (actions, size, LS_ACTION_BACKWARD, k);
    if (size->paired && w + k < total)
      join_last (actions);
  }
}

static const char *interleaved_fault (const LsPipelineSize *size) {
  return size->microbatches % size->devices == 0
             ? NULL
             : "needs micro-batches per replica that are a multiple of the pipeline's size";
}

const LsPipeline ls_pipeline_gpipe = {.shape = LS_SHAPE_LINE, .order = gpipe};
const LsPipeline ls_pipeline_1f1b = {.shape = LS_SHAPE_LINE, .order = one_forward_one_backward};
const LsPipeline ls_pipeline_interleaved = {
    .shape = LS_SHAPE_RING, .order = interleaved, .fault = interleaved_fault};
