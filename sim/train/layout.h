/* Parallel layout: which rank does which part of the work.
 *
 * Model:      ranks = tensor x data x pipeline. A rank's number is a mixed-radix number whose digits
 *             are its coordinates, in the given order, innermost first (Megatron: tensor, data,
 *             pipeline). Groups of an axis hold the ranks that differ in that coordinate only,
 *             ordered by it; groups are numbered by their lowest rank.
 * Cost:       all functions are arithmetic, O(1), and O(size) where members are listed.
 * Left out:   context and expert axes: their places in the order are kept with size 1.
 *
 * Ownership: plain record.
 */
#pragma once

#include "train/vocabulary.h"

#define LS_LAYOUT_AXES 3

typedef struct {
  guint tensor, data, pipeline;
  guint ranks; /* their product */
  LsAxis order
      [LS_LAYOUT_AXES]; /* a permutation of LS_AXIS_TENSOR, _DATA, _PIPELINE; innermost first */
} LsLayout;

typedef struct {
  guint tensor, data, stage;
} LsCoordinates;

/* Order tensor, data, pipeline. */
LsLayout ls_layout (guint tensor, guint data, guint pipeline);
guint ls_layout_size (const LsLayout *layout, LsAxis axis);
/* Distance in rank numbers between neighbours along the axis. */
guint ls_layout_stride (const LsLayout *layout, LsAxis axis);
LsCoordinates ls_layout_coordinates (const LsLayout *layout, guint rank);
guint ls_layout_rank (const LsLayout *layout, LsCoordinates at);
/* Groups of an axis: how many, which one a rank is in, its position there, and the members. */
guint ls_layout_n_groups (const LsLayout *layout, LsAxis axis);
guint ls_layout_group (const LsLayout *layout, LsAxis axis, guint rank);
guint ls_layout_position (const LsLayout *layout, LsAxis axis, guint rank);
/* Fills `ranks` with ls_layout_size() members in order of position. */
void ls_layout_members (const LsLayout *layout, LsAxis axis, guint group, guint *ranks);
