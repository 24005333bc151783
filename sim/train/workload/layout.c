/* Parallel layout: coordinates of ranks as digits of a mixed-radix number.
 *
 * Model:      a view is a list of digits, innermost first, of a number that stands for a rank: the rank
 *             itself for dense axes; stage x ranks of a stage + the number within the stage for experts.
 *             The group number of an axis is the number with its digits taken out, the position the
 *             number that they make.
 * Cost:       O(1) each; members O(size).
 */
#include "train/workload/layout.h"

#include "base/assert.h"

typedef struct {
  LsAxis axis;
  guint size;
} Digit;

typedef struct {
  Digit digit[LS_LAYOUT_AXES];
  guint n;
  gboolean by_stage; /* the number is by stage, not the rank */
} View;

LsLayout ls_layout (guint tensor, guint data, guint pipeline) {
  return (LsLayout){
      .tensor = tensor,
      .context = 1,
      .data = data,
      .pipeline = pipeline,
      .expert = 1,
      .ranks = tensor * data * pipeline,
      .order = {LS_AXIS_TENSOR, LS_AXIS_CONTEXT, LS_AXIS_EXPERT, LS_AXIS_DATA, LS_AXIS_PIPELINE},
  };
}

guint ls_layout_replica (const LsLayout *layout) {
  return layout->tensor * layout->context * layout->pipeline;
}

guint ls_layout_copies (const LsLayout *layout) {
  return layout->data * layout->context;
}

static guint expert_tensor (const LsLayout *layout) {
  return layout->expert_tensor > 0 ? layout->expert_tensor : layout->tensor;
}

static guint stage_ranks (const LsLayout *layout) {
  return layout->tensor * layout->context * layout->data;
}

gboolean ls_layout_experts_fit (const LsLayout *layout) {
  const guint64 one = (guint64) expert_tensor (layout) * layout->expert;

  return one <= stage_ranks (layout) && stage_ranks (layout) % one == 0;
}

guint ls_layout_size (const LsLayout *layout, LsAxis axis) {
  switch (axis) {
  case LS_AXIS_TENSOR:
    return layout->tensor;
  case LS_AXIS_CONTEXT:
    return layout->context;
  case LS_AXIS_DATA:
    return layout->data;
  case LS_AXIS_PIPELINE:
    return layout->pipeline;
  case LS_AXIS_DATA_CONTEXT:
    return layout->data * layout->context;
  case LS_AXIS_EXPERT:
    return layout->expert;
  case LS_AXIS_EXPERT_TENSOR:
    return expert_tensor (layout);
  case LS_AXIS_EXPERT_DATA:
    return stage_ranks (layout) / (expert_tensor (layout) * layout->expert);
  default:
    return 1;
  }
}

static gboolean is_of_experts (LsAxis axis) {
  return axis == LS_AXIS_EXPERT || axis == LS_AXIS_EXPERT_TENSOR || axis == LS_AXIS_EXPERT_DATA;
}

/* Is the digit of this axis among those that an axis's groups run over? */
static gboolean is_part (LsAxis digit, LsAxis axis) {
  return digit == axis ||
         (axis == LS_AXIS_DATA_CONTEXT && (digit == LS_AXIS_DATA || digit == LS_AXIS_CONTEXT));
}

static void add_digit (const LsLayout *layout, View *view, LsAxis axis) {
  view->digit[view->n++] = (Digit){axis, ls_layout_size (layout, axis)};
}

static void dense_view (const LsLayout *layout, View *view) {
  *view = (View){.n = 0};
  for (guint i = 0; i < LS_LAYOUT_AXES; i++)
    if (layout->order[i] != LS_AXIS_EXPERT)
      add_digit (layout, view, layout->order[i]);
}

static void expert_view (const LsLayout *layout, View *view) {
  *view = (View){.by_stage = TRUE};
  for (guint i = 0; i < LS_LAYOUT_AXES; i++)
    switch (layout->order[i]) {
    case LS_AXIS_TENSOR:
      add_digit (layout, view, LS_AXIS_EXPERT_TENSOR);
      break;
    case LS_AXIS_EXPERT:
      add_digit (layout, view, LS_AXIS_EXPERT);
      break;
    case LS_AXIS_DATA:
      add_digit (layout, view, LS_AXIS_EXPERT_DATA);
      break;
    default:
      break;
    }
  add_digit (layout, view, LS_AXIS_PIPELINE);
}

static void view_of (const LsLayout *layout, LsAxis axis, View *view) {
  if (is_of_experts (axis))
    expert_view (layout, view);
  else
    dense_view (layout, view);
}

/* Distance in rank numbers between neighbours along tensor, context, data or pipeline. */
static guint stride_of (const LsLayout *layout, LsAxis axis) {
  guint stride = 1;

  for (guint i = 0; i < LS_LAYOUT_AXES && layout->order[i] != axis; i++)
    if (layout->order[i] != LS_AXIS_EXPERT)
      stride *= ls_layout_size (layout, layout->order[i]);
  return stride;
}

/* The number of a rank in a view, and back. */
static guint number_of (const LsLayout *layout, const View *view, guint rank) {
  const guint inside = stride_of (layout, LS_AXIS_PIPELINE);
  const guint stage = rank / inside % layout->pipeline;

  LS_REQUIRE (rank < layout->ranks, "rank %u of %u", rank, layout->ranks);
  if (!view->by_stage)
    return rank;
  return stage * stage_ranks (layout) + rank / (inside * layout->pipeline) * inside + rank % inside;
}

static guint rank_of (const LsLayout *layout, const View *view, guint number) {
  const guint inside = stride_of (layout, LS_AXIS_PIPELINE);
  const guint stage = number / stage_ranks (layout), local = number % stage_ranks (layout);

  if (!view->by_stage)
    return number;
  return local / inside * inside * layout->pipeline + stage * inside + local % inside;
}

/* Splits a number into the part of an axis's digits (the position) and the rest (the group). */
static void split (const View *view, LsAxis axis, guint number, guint *group, guint *position) {
  guint group_unit = 1, position_unit = 1;

  *group = *position = 0;
  for (guint i = 0; i < view->n; i++) {
    const Digit *digit = &view->digit[i];
    const guint value = number % digit->size;

    number /= digit->size;
    if (is_part (digit->axis, axis)) {
      *position += value * position_unit;
      position_unit *= digit->size;
    } else {
      *group += value * group_unit;
      group_unit *= digit->size;
    }
  }
}

static guint join (const View *view, LsAxis axis, guint group, guint position) {
  guint number = 0, unit = 1;

  for (guint i = 0; i < view->n; i++) {
    const Digit *digit = &view->digit[i];
    guint *from = is_part (digit->axis, axis) ? &position : &group;

    number += *from % digit->size * unit;
    *from /= digit->size;
    unit *= digit->size;
  }
  return number;
}

guint ls_layout_position (const LsLayout *layout, LsAxis axis, guint rank) {
  guint group, position;
  View view;

  view_of (layout, axis, &view);
  split (&view, axis, number_of (layout, &view, rank), &group, &position);
  return position;
}

guint ls_layout_group (const LsLayout *layout, LsAxis axis, guint rank) {
  guint group, position;
  View view;

  view_of (layout, axis, &view);
  split (&view, axis, number_of (layout, &view, rank), &group, &position);
  return group;
}

LsCoordinates ls_layout_coordinates (const LsLayout *layout, guint rank) {
  LsCoordinates at = {
      .tensor = ls_layout_position (layout, LS_AXIS_TENSOR, rank),
      .data = ls_layout_position (layout, LS_AXIS_DATA, rank),
      .stage = ls_layout_position (layout, LS_AXIS_PIPELINE, rank),
      .context = ls_layout_position (layout, LS_AXIS_CONTEXT, rank),
  };

  if (ls_layout_experts_fit (layout)) {
    at.expert = ls_layout_position (layout, LS_AXIS_EXPERT, rank);
    at.expert_tensor = ls_layout_position (layout, LS_AXIS_EXPERT_TENSOR, rank);
    at.expert_data = ls_layout_position (layout, LS_AXIS_EXPERT_DATA, rank);
  }
  return at;
}

guint ls_layout_rank (const LsLayout *layout, LsCoordinates at) {
  LS_REQUIRE (at.tensor < layout->tensor && at.data < layout->data && at.stage < layout->pipeline &&
                  at.context < layout->context,
              "coordinates (%u, %u, %u, %u)", at.tensor, at.context, at.data, at.stage);
  return at.tensor * stride_of (layout, LS_AXIS_TENSOR) +
         at.context * stride_of (layout, LS_AXIS_CONTEXT) +
         at.data * stride_of (layout, LS_AXIS_DATA) +
         at.stage * stride_of (layout, LS_AXIS_PIPELINE);
}

guint ls_layout_n_groups (const LsLayout *layout, LsAxis axis) {
  return layout->ranks / ls_layout_size (layout, axis);
}

void ls_layout_members (const LsLayout *layout, LsAxis axis, guint group, guint *ranks) {
  const guint size = ls_layout_size (layout, axis);
  View view;

  view_of (layout, axis, &view);
  LS_REQUIRE (group < ls_layout_n_groups (layout, axis), "group %u", group);
  for (guint i = 0; i < size; i++)
    ranks[i] = rank_of (layout, &view, join (&view, axis, group, i));
}
