/* Parallel layout: coordinates of ranks as digits of a mixed-radix number.
 *
 * Model:      rank = sum over axes of coordinate x stride, stride = product of the sizes of the axes
 *             inside it. The group number of an axis is the rank with that digit taken out.
 * Cost:       O(1) each; members O(size).
 */
#include "train/layout.h"

#include "base/assert.h"

LsLayout ls_layout (guint tensor, guint data, guint pipeline) {
  return (LsLayout){
      .tensor = tensor,
      .data = data,
      .pipeline = pipeline,
      .ranks = tensor * data * pipeline,
      .order = {LS_AXIS_TENSOR, LS_AXIS_DATA, LS_AXIS_PIPELINE},
  };
}

guint ls_layout_size (const LsLayout *layout, LsAxis axis) {
  switch (axis) {
  case LS_AXIS_TENSOR:
    return layout->tensor;
  case LS_AXIS_DATA:
    return layout->data;
  case LS_AXIS_PIPELINE:
    return layout->pipeline;
  default:
    return 1;
  }
}

guint ls_layout_stride (const LsLayout *layout, LsAxis axis) {
  guint stride = 1;

  for (guint i = 0; i < LS_LAYOUT_AXES && layout->order[i] != axis; i++)
    stride *= ls_layout_size (layout, layout->order[i]);
  return stride;
}

guint ls_layout_position (const LsLayout *layout, LsAxis axis, guint rank) {
  LS_REQUIRE (rank < layout->ranks, "rank %u of %u", rank, layout->ranks);
  return rank / ls_layout_stride (layout, axis) % ls_layout_size (layout, axis);
}

LsCoordinates ls_layout_coordinates (const LsLayout *layout, guint rank) {
  return (LsCoordinates){
      .tensor = ls_layout_position (layout, LS_AXIS_TENSOR, rank),
      .data = ls_layout_position (layout, LS_AXIS_DATA, rank),
      .stage = ls_layout_position (layout, LS_AXIS_PIPELINE, rank),
  };
}

guint ls_layout_rank (const LsLayout *layout, LsCoordinates at) {
  LS_REQUIRE (at.tensor < layout->tensor && at.data < layout->data && at.stage < layout->pipeline,
              "coordinates (%u, %u, %u)", at.tensor, at.data, at.stage);
  return at.tensor * ls_layout_stride (layout, LS_AXIS_TENSOR) +
         at.data * ls_layout_stride (layout, LS_AXIS_DATA) +
         at.stage * ls_layout_stride (layout, LS_AXIS_PIPELINE);
}

guint ls_layout_n_groups (const LsLayout *layout, LsAxis axis) {
  return layout->ranks / ls_layout_size (layout, axis);
}

guint ls_layout_group (const LsLayout *layout, LsAxis axis, guint rank) {
  const guint stride = ls_layout_stride (layout, axis);
  const guint span = stride * ls_layout_size (layout, axis);

  LS_REQUIRE (rank < layout->ranks, "rank %u of %u", rank, layout->ranks);
  return rank / span * stride + rank % stride;
}

void ls_layout_members (const LsLayout *layout, LsAxis axis, guint group, guint *ranks) {
  const guint stride = ls_layout_stride (layout, axis);
  const guint size = ls_layout_size (layout, axis);
  const guint first = group / stride * stride * size + group % stride;

  LS_REQUIRE (group < ls_layout_n_groups (layout, axis), "group %u", group);
  for (guint i = 0; i < size; i++)
    ranks[i] = first + i * stride;
}
