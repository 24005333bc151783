/* Groups of ranks: who communicates with whom on which axis. See job.h for the list.
 *
 * Order is fixed: the world, then per axis by lowest rank, so that group numbers mean the same in
 * every run.
 */
#include "train/program/job_groups.h"

#include "train/pipeline/pipeline.h"

static void append (GArray *groups, LsAxis axis, LsSlot first_slot, LsSlot slot, const guint *ranks,
                    guint n) {
  LsJobGroup group = {.axis = axis, .slot = slot, .first_slot = first_slot, .n_ranks = n};

  group.ranks = g_new (guint, n);
  for (guint i = 0; i < n; i++)
    group.ranks[i] = ranks[i];
  g_array_append_val (groups, group);
}

/* All groups of an axis of the layout, under one slot. */
static void append_axis (GArray *groups, const LsLayout *layout, LsAxis of_layout, LsAxis axis,
                         LsSlot slot) {
  guint size = ls_layout_size (layout, of_layout);
  g_autofree guint *ranks = g_new (guint, size);

  if (size == 1)
    return;
  for (guint i = 0; i < ls_layout_n_groups (layout, of_layout); i++) {
    ls_layout_members (layout, of_layout, i, ranks);
    append (groups, axis, slot, slot, ranks, size);
  }
}

/* Devices between which messages pass: neighbours, the last and the first where stages lie on a ring, and
 * once more each pair where flows lead both ways. */
static void append_links (GArray *groups, LsPipelineShape shape, const guint *ranks, guint size) {
  const guint links = shape == LS_SHAPE_RING ? size : size - 1;
  const gboolean back = shape == LS_SHAPE_V || shape == LS_SHAPE_MIRROR;

  for (guint i = 0; i < links; i++) {
    const guint ends[] = {ranks[i], ranks[(i + 1) % size]};
    append (groups, LS_AXIS_PIPELINE, LS_SLOT_PIPELINE, LS_SLOT_PIPELINE_PREVIOUS, ends, 2);
    if (back)
      append (groups, LS_AXIS_PIPELINE, LS_SLOT_PIPELINE_BACK, LS_SLOT_PIPELINE_BACK_PREVIOUS, ends,
              2);
  }
  /* The two that hold the same stages of the two copies. */
  for (guint i = 0; shape == LS_SHAPE_MIRROR && i < size / 2; i++) {
    const guint ends[] = {ranks[i], ranks[size - 1 - i]};
    append (groups, LS_AXIS_PIPELINE, LS_SLOT_PIPELINE_MIRROR, LS_SLOT_PIPELINE_MIRROR, ends, 2);
  }
}

/* Pairs of neighbouring stages, and of the first and the last for tied embeddings. */
static void append_pipeline (GArray *groups, const LsWorkload *workload) {
  const LsLayout *layout = &workload->layout;
  guint size = layout->pipeline;
  g_autofree guint *ranks = g_new (guint, size);

  if (size == 1)
    return;
  for (guint i = 0; i < ls_layout_n_groups (layout, LS_AXIS_PIPELINE); i++) {
    ls_layout_members (layout, LS_AXIS_PIPELINE, i, ranks);
    append_links (groups, ls_workload_pipeline (workload)->shape, ranks, size);
    const guint ends[] = {ranks[0], ranks[size - 1]};
    append (groups, LS_AXIS_PIPELINE, LS_SLOT_EMBEDDING, LS_SLOT_EMBEDDING, ends, 2);
    append (groups, LS_AXIS_PIPELINE, LS_SLOT_PIPELINE_SYNC, LS_SLOT_PIPELINE_SYNC, ranks, size);
  }
}

/* Ranks that shard states among them: `shards` neighbours among those that hold the same parameters, a group of `axis`. */
static void append_shards (GArray *groups, const LsLayout *layout, LsAxis axis, guint shards,
                           LsSlot slot) {
  const guint copies = ls_layout_size (layout, axis);
  g_autofree guint *ranks = g_new (guint, copies);

  if (shards == 1)
    return;
  for (guint i = 0; i < ls_layout_n_groups (layout, axis); i++) {
    ls_layout_members (layout, axis, i, ranks);
    for (guint first = 0; first < copies; first += shards)
      append (groups, LS_AXIS_ZERO, slot, slot, &ranks[first], shards);
  }
}

/* Ranks at the same place of each group of `shards` neighbours, among `within` neighbours: of all that hold the same
 * parameters those with the same shard. */
static void append_replicas (GArray *groups, const LsLayout *layout, LsAxis axis, guint within,
                             guint shards, LsAxis of, LsSlot slot) {
  const guint copies = ls_layout_size (layout, axis), replicas = within / shards;
  g_autofree guint *ranks = g_new (guint, copies), *same = g_new (guint, replicas);

  for (guint i = 0; i < ls_layout_n_groups (layout, axis); i++) {
    ls_layout_members (layout, axis, i, ranks);
    for (guint place = 0; place < copies; place++) {
      if (place % within >= shards)
        continue;
      for (guint k = 0; k < replicas; k++)
        same[k] = ranks[place + k * shards];
      append (groups, of, slot, slot, same, replicas);
    }
  }
}

/* ZeRO++: a second set of shards, and the two hops of quantised sums. */
static void append_plus (GArray *groups, const LsWorkload *workload) {
  const guint shards = ls_workload_shards (workload);
  const guint secondary = ls_workload_backward_shards (workload);
  const LsAxis axis = LS_AXIS_DATA_CONTEXT;

  if (secondary < shards)
    append_shards (groups, &workload->layout, axis, secondary, LS_SLOT_ZERO_SECONDARY);
  if (!ls_workload_reduces_in_hops (workload))
    return;
  append_shards (groups, &workload->layout, axis, workload->zero.node_group, LS_SLOT_ZERO_INSIDE);
  append_replicas (groups, &workload->layout, axis, shards, workload->zero.node_group, LS_AXIS_ZERO,
                   LS_SLOT_ZERO_ACROSS);
}

/* Dispatch of tokens, collectives inside experts, and sums and gathers of their states. */
static void append_experts (GArray *groups, const LsWorkload *workload) {
  const LsLayout *layout = &workload->layout;

  append_axis (groups, layout, LS_AXIS_EXPERT, LS_AXIS_EXPERT, LS_SLOT_EXPERT);
  append_axis (groups, layout, LS_AXIS_EXPERT_TENSOR, LS_AXIS_TENSOR, LS_SLOT_EXPERT_TENSOR);
  if (workload->zero.stage == 0) {
    append_axis (groups, layout, LS_AXIS_EXPERT_DATA, LS_AXIS_DATA, LS_SLOT_EXPERT_DATA);
    return;
  }
  const guint shards = ls_workload_expert_shards (workload);
  append_shards (groups, layout, LS_AXIS_EXPERT_DATA, shards, LS_SLOT_EXPERT_GATHER);
  append_shards (groups, layout, LS_AXIS_EXPERT_DATA, shards, LS_SLOT_EXPERT_REDUCE);
  if (ls_workload_is_hybrid (workload))
    append_replicas (groups, layout, LS_AXIS_EXPERT_DATA, ls_workload_expert_copies (workload),
                     shards, LS_AXIS_DATA, LS_SLOT_EXPERT_REPLICATE);
}

void ls_job_add_groups (LsJob *job, const LsWorkload *workload) {
  GArray *groups = g_array_new (FALSE, FALSE, sizeof (LsJobGroup));
  const LsLayout *layout = &workload->layout;
  g_autofree guint *world = g_new (guint, job->n_ranks);

  for (guint rank = 0; rank < job->n_ranks; rank++)
    world[rank] = rank;
  append (groups, LS_AXIS_NONE, LS_SLOT_WORLD, LS_SLOT_WORLD, world, job->n_ranks);
  append_axis (groups, layout, LS_AXIS_TENSOR, LS_AXIS_TENSOR, LS_SLOT_TENSOR);
  append_axis (groups, layout, LS_AXIS_TENSOR, LS_AXIS_TENSOR, LS_SLOT_TENSOR_SYNC);
  if (workload->zero.stage == 0 || ls_workload_shards (workload) == 1) {
    append_axis (groups, layout, LS_AXIS_DATA_CONTEXT, LS_AXIS_DATA, LS_SLOT_DATA);
  } else {
    const guint shards = ls_workload_shards (workload);
    append_shards (groups, layout, LS_AXIS_DATA_CONTEXT, shards, LS_SLOT_ZERO_GATHER);
    append_shards (groups, layout, LS_AXIS_DATA_CONTEXT, shards, LS_SLOT_ZERO_REDUCE);
    if (ls_workload_clips (workload))
      append_shards (groups, layout, LS_AXIS_DATA_CONTEXT, shards, LS_SLOT_ZERO_SYNC);
    if (ls_workload_is_hybrid (workload))
      append_replicas (groups, layout, LS_AXIS_DATA_CONTEXT, ls_layout_copies (layout), shards,
                       LS_AXIS_DATA, LS_SLOT_ZERO_REPLICATE);
    append_plus (groups, workload);
  }
  if (ls_workload_syncs_copies (workload))
    append_axis (groups, layout, LS_AXIS_DATA_CONTEXT,
                 workload->zero.stage == 0 ? LS_AXIS_DATA : LS_AXIS_ZERO, LS_SLOT_COPIES_SYNC);
  append_pipeline (groups, workload);
  append_axis (groups, layout, LS_AXIS_CONTEXT, LS_AXIS_CONTEXT, LS_SLOT_CONTEXT);
  if (ls_workload_has_experts (workload))
    append_experts (groups, workload);
  job->n_groups = groups->len;
  job->groups = (LsJobGroup *) (gpointer) g_array_free (groups, FALSE);
}
