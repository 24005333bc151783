/* Parallel layout: which rank does which part of the work.
 *
 * Model:      ranks = tensor x context x data x pipeline. A rank's number is a mixed-radix number whose
 *             digits are its coordinates, in the given order, innermost first (Megatron: tensor, context,
 *             expert, data, pipeline). Groups of an axis hold the ranks that differ in that coordinate
 *             only, ordered by it; groups are numbered by their lowest rank.
 *             Layers of experts split the same ranks of a pipeline stage anew: expert_tensor x expert x
 *             expert_data = tensor x context x data. The digits of a rank's number within its stage are
 *             read in the same order, with expert_tensor in the place of tensor, expert_data in that of
 *             data, and no context. A group of these axes lies in one stage; they are numbered stage by
 *             stage, by their lowest rank.
 *             source: Megatron-LM, megatron/core/parallel_state.py (RankGenerator for dense layers and
 *             for experts). Megatron allows orders in which pipeline is not last only where both data
 *             sizes agree; reading the number within the stage agrees with it there and has no limits.
 *             Gradients of dense layers are summed over data_context (all ranks that hold the same
 *             parameters), those of experts over expert_data.
 * Cost:       all functions are arithmetic, O(1), and O(size) where members are listed.
 *
 * Ownership: plain record.
 */
#pragma once

#include "train/vocabulary.h"

#define LS_LAYOUT_AXES 5

typedef struct {
  guint tensor, context, data, pipeline;
  guint expert;        /* ranks that share a layer's experts among them */
  guint expert_tensor; /* ranks that split each expert; 0: as tensor */
  guint ranks;         /* tensor x context x data x pipeline */
  LsAxis order
      [LS_LAYOUT_AXES]; /* a permutation of LS_AXIS_TENSOR, _CONTEXT, _EXPERT, _DATA, _PIPELINE;
                                 * innermost first */
} LsLayout;

typedef struct {
  guint tensor, data, stage, context;
  guint expert, expert_tensor, expert_data;
} LsCoordinates;

/* Order tensor, context, expert, data, pipeline; context and expert 1. */
LsLayout ls_layout (guint tensor, guint data, guint pipeline);
/* Ranks of one replica: tensor x context x pipeline. */
guint ls_layout_replica (const LsLayout *layout);
/* Ranks that hold the same dense parameters: data x context. */
guint ls_layout_copies (const LsLayout *layout);
/* TRUE when the experts' axes divide tensor x context x data. */
gboolean ls_layout_experts_fit (const LsLayout *layout);
/* Ranks per group of an axis; LS_AXIS_EXPERT_TENSOR, _EXPERT_DATA and _DATA_CONTEXT too. */
guint ls_layout_size (const LsLayout *layout, LsAxis axis);
LsCoordinates ls_layout_coordinates (const LsLayout *layout, guint rank);
/* By tensor, context, data and stage. */
guint ls_layout_rank (const LsLayout *layout, LsCoordinates at);
/* Groups of an axis: how many, which one a rank is in, its position there, and the members. */
guint ls_layout_n_groups (const LsLayout *layout, LsAxis axis);
guint ls_layout_group (const LsLayout *layout, LsAxis axis, guint rank);
guint ls_layout_position (const LsLayout *layout, LsAxis axis, guint rank);
/* Fills `ranks` with ls_layout_size() members in order of position. */
void ls_layout_members (const LsLayout *layout, LsAxis axis, guint group, guint *ranks);
