/* Shapes of pipelines, and what their orders share; see pipeline.h. */
#include "train/pipeline/pipeline.h"

#include "base/assert.h"

static const LsPipeline *const pipelines[LS_N_SCHEDULES] = {
    [LS_SCHEDULE_GPIPE] = &ls_pipeline_gpipe,
    [LS_SCHEDULE_1F1B] = &ls_pipeline_1f1b,
    [LS_SCHEDULE_INTERLEAVED] = &ls_pipeline_interleaved,
    [LS_SCHEDULE_ZB_H1] = &ls_pipeline_zb_h1,
    [LS_SCHEDULE_ZB_H2] = &ls_pipeline_zb_h2,
    [LS_SCHEDULE_ZB_V] = &ls_pipeline_zb_v,
    [LS_SCHEDULE_DUALPIPE] = &ls_pipeline_dualpipe,
    [LS_SCHEDULE_DUALPIPEV] = &ls_pipeline_dualpipev,
};

const char *ls_schedule_name (LsScheduleKind kind) {
#define NAME_OF(id, name) name,
  static const char *const names[] = {LS_SCHEDULES (NAME_OF)};
#undef NAME_OF

  LS_REQUIRE ((guint) kind < LS_N_SCHEDULES, "schedule %d", (int) kind);
  return names[kind];
}

const LsPipeline *ls_pipeline_get (LsScheduleKind kind) {
  LS_REQUIRE ((guint) kind < LS_N_SCHEDULES, "schedule %d", (int) kind);
  return pipelines[kind];
}

/* Lists of actions are held in memory. */
#define LARGEST_LIST 1000000

const char *ls_pipeline_fault (const LsPipeline *pipeline, const LsPipelineSize *size) {
  if (pipeline->shape == LS_SHAPE_LINE && !pipeline->splits && !size->paired)
    return NULL;
  if (size->microbatches * ls_pipeline_n_parts (pipeline, size) > LARGEST_LIST)
    return "needs at most a million forwards per device and step";
  return pipeline->fault != NULL ? pipeline->fault (size) : NULL;
}

void ls_pipeline_add (GArray *actions, LsActionKind kind, guint part, gint64 microbatch) {
  LsAction action = {
      .kind = (guint8) kind, .part = (guint8) part, .microbatch = (gint32) microbatch};
  g_array_append_val (actions, action);
}

static gboolean adds_gradients (const LsAction *action, guint *part) {
  *part = action->kind == LS_ACTION_PAIR ? action->other_part : action->part;
  return action->kind != LS_ACTION_FORWARD && action->kind != LS_ACTION_INPUT;
}

GArray *ls_pipeline_actions (const LsPipeline *pipeline, const LsPipelineSize *size, guint device) {
  GArray *actions = g_array_new (FALSE, TRUE, sizeof (LsAction));
  guint left = ls_pipeline_n_parts (pipeline, size), part = 0;
  g_autofree gboolean *seen = g_new0 (gboolean, left);

  pipeline->order (actions, size, device);
  for (guint i = actions->len; left > 0 && i-- > 0;) {
    LsAction *action = &g_array_index (actions, LsAction, i);
    if (!adds_gradients (action, &part) || seen[part])
      continue;
    action->last = 1;
    seen[part] = TRUE;
    left--;
  }
  LS_REQUIRE (left == 0, "a part without a backward");
  return actions;
}

guint ls_pipeline_n_parts (const LsPipeline *pipeline, const LsPipelineSize *size) {
  switch (pipeline->shape) {
  case LS_SHAPE_RING:
    return size->virtual_stages;
  case LS_SHAPE_V:
  case LS_SHAPE_MIRROR:
    return 2;
  case LS_SHAPE_LINE:
  default:
    return 1;
  }
}

guint ls_pipeline_n_stages (const LsPipeline *pipeline, const LsPipelineSize *size) {
  guint parts = ls_pipeline_n_parts (pipeline, size);

  return size->devices * (pipeline->shape == LS_SHAPE_MIRROR ? 1 : parts);
}

guint ls_pipeline_stage (const LsPipeline *pipeline, const LsPipelineSize *size, guint device,
                         guint part) {
  if (pipeline->shape == LS_SHAPE_RING)
    return part * size->devices + device;
  return part == 0 ? device : ls_pipeline_n_stages (pipeline, size) - 1 - device;
}

gint ls_pipeline_to_next (const LsPipeline *pipeline, const LsPipelineSize *size, guint device,
                          guint part) {
  if (pipeline->shape == LS_SHAPE_V && part == 0 && device + 1 == size->devices)
    return 0;
  return part == 0 || pipeline->shape == LS_SHAPE_RING ? 1 : -1;
}

gint ls_pipeline_to_previous (const LsPipeline *pipeline, const LsPipelineSize *size, guint device,
                              guint part) {
  if (pipeline->shape == LS_SHAPE_V && part == 1 && device + 1 == size->devices)
    return 0;
  return part == 0 || pipeline->shape == LS_SHAPE_RING ? -1 : 1;
}

gint64 ls_pipeline_part_microbatches (const LsPipeline *pipeline, const LsPipelineSize *size) {
  return pipeline->shape == LS_SHAPE_MIRROR ? size->microbatches / 2 : size->microbatches;
}
