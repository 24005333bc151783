/* Layout: ranks, coordinates and groups. */
#include <check.h>
#include <string.h>

#include "train/workload/layout.h"

#define MAIN_WITH(...)                        \
  int main (void) {                           \
    Suite *suite = suite_create ("layout");   \
    TCase *tcase = tcase_create ("layout");   \
    SRunner *runner = srunner_create (suite); \
    int failed = 0;                           \
    __VA_ARGS__                               \
    suite_add_tcase (suite, tcase);           \
    srunner_run_all (runner, CK_NORMAL);      \
    failed = srunner_ntests_failed (runner);  \
    srunner_free (runner);                    \
    return failed == 0 ? 0 : 1;               \
  }

static const LsAxis axes[] = {LS_AXIS_TENSOR,        LS_AXIS_CONTEXT,    LS_AXIS_DATA,
                              LS_AXIS_PIPELINE,      LS_AXIS_EXPERT,     LS_AXIS_DATA_CONTEXT,
                              LS_AXIS_EXPERT_TENSOR, LS_AXIS_EXPERT_DATA};

/* The n-th permutation of the five axes. */
static void permute (LsLayout *layout, guint n) {
  LsAxis left[] = {LS_AXIS_TENSOR, LS_AXIS_CONTEXT, LS_AXIS_EXPERT, LS_AXIS_DATA, LS_AXIS_PIPELINE};

  for (guint i = 0, size = LS_LAYOUT_AXES; i < LS_LAYOUT_AXES; i++, size--) {
    guint pick = n % size;

    n /= size;
    layout->order[i] = left[pick];
    memmove (&left[pick], &left[pick + 1], (size - pick - 1) * sizeof *left);
  }
}

START_TEST (megatron_order_is_tensor_then_data_then_pipeline)
/* Shoeybi et al. / Narayanan et al.: 16 GPUs, tensor 2, pipeline 4, data 2: tensor groups [0,1] [2,3] ...,
 * data groups [0,2] [1,3] [4,6] ..., pipeline groups [0,4,8,12] [1,5,9,13] ... (the example in the
 * comment of Megatron's initialize_model_parallel). */
{
  const LsLayout layout = ls_layout (2, 2, 4);
  guint members[4];

  ls_layout_members (&layout, LS_AXIS_TENSOR, 1, members);
  ck_assert_uint_eq (members[0], 2);
  ck_assert_uint_eq (members[1], 3);
  ls_layout_members (&layout, LS_AXIS_DATA, 2, members);
  ck_assert_uint_eq (members[0], 4);
  ck_assert_uint_eq (members[1], 6);
  ls_layout_members (&layout, LS_AXIS_PIPELINE, 1, members);
  for (guint i = 0; i < 4; i++)
    ck_assert_uint_eq (members[i], 1 + 4 * i);
}
END_TEST

START_TEST (experts_take_their_ranks_from_tensor_context_and_data)
/* 16 ranks of one stage, tensor 2, context 2, data 4; experts: tensor 1, expert 8, data 2. In the usual order
 * rank = expert + 8 x expert_data, whatever tensor and context are. Dense gradients are summed over data and
 * context: ranks of equal tensor coordinate, 0 2 4 ... and 1 3 5 ...
 * source of the rule: Megatron-LM, parallel_state.py, expert_decoder_rank_generator. */
{
  LsLayout layout = ls_layout (2, 4, 1);
  guint members[8];

  layout.context = 2;
  layout.expert = 8;
  layout.expert_tensor = 1;
  layout.ranks = 16;
  ck_assert (ls_layout_experts_fit (&layout));
  ck_assert_uint_eq (ls_layout_size (&layout, LS_AXIS_EXPERT_DATA), 2);
  ls_layout_members (&layout, LS_AXIS_EXPERT, 1, members);
  for (guint i = 0; i < 8; i++)
    ck_assert_uint_eq (members[i], 8 + i);
  ls_layout_members (&layout, LS_AXIS_EXPERT_DATA, 3, members);
  ck_assert_uint_eq (members[0], 3);
  ck_assert_uint_eq (members[1], 11);
  ls_layout_members (&layout, LS_AXIS_DATA_CONTEXT, 1, members);
  for (guint i = 0; i < 8; i++)
    ck_assert_uint_eq (members[i], 1 + 2 * i);
  layout.expert_tensor = 0; /* as tensor: 2 x 8 leaves one copy of each expert */
  ck_assert_uint_eq (ls_layout_size (&layout, LS_AXIS_EXPERT_TENSOR), 2);
  ck_assert_uint_eq (ls_layout_size (&layout, LS_AXIS_EXPERT_DATA), 1);
  layout.expert = 3;
  ck_assert (!ls_layout_experts_fit (&layout));
}
END_TEST

static LsLayout many_axes (guint order) {
  LsLayout layout = ls_layout (2, 6, 3);

  layout.context = 2;
  layout.expert = 4;
  layout.expert_tensor = 3;
  layout.ranks *= 2;
  permute (&layout, order);
  return layout;
}

START_TEST (coordinates_and_ranks_are_inverse_and_groups_partition)
/* For every order of axes: rank -> coordinates -> rank is the identity, the groups of an axis hold every rank
 * once, at the position of its coordinate, and no group but the pipeline's leaves its stage. */
{
  for (guint order = 0; order < 120; order++) {
    const LsLayout layout = many_axes (order);

    for (guint rank = 0; rank < layout.ranks; rank++)
      ck_assert_uint_eq (ls_layout_rank (&layout, ls_layout_coordinates (&layout, rank)), rank);
    for (guint a = 0; a < G_N_ELEMENTS (axes); a++) {
      const guint size = ls_layout_size (&layout, axes[a]);
      guint seen[72] = {0}, members[12];

      ck_assert_uint_eq (ls_layout_n_groups (&layout, axes[a]) * size, layout.ranks);
      for (guint group = 0; group < ls_layout_n_groups (&layout, axes[a]); group++) {
        ls_layout_members (&layout, axes[a], group, members);
        for (guint i = 0; i < size; i++) {
          seen[members[i]]++;
          ck_assert_uint_eq (ls_layout_group (&layout, axes[a], members[i]), group);
          ck_assert_uint_eq (ls_layout_position (&layout, axes[a], members[i]), i);
          if (axes[a] != LS_AXIS_PIPELINE)
            ck_assert_uint_eq (ls_layout_position (&layout, LS_AXIS_PIPELINE, members[i]),
                               ls_layout_position (&layout, LS_AXIS_PIPELINE, members[0]));
          if (i > 0)
            ck_assert_uint_gt (members[i], members[i - 1]);
        }
      }
      for (guint rank = 0; rank < layout.ranks; rank++)
        ck_assert_uint_eq (seen[rank], 1);
    }
  }
}
END_TEST

START_TEST (copies_of_parameters_differ_in_data_and_context_only)
/* Members of a data_context group agree in tensor and stage; those of an expert_data group in expert,
 * expert_tensor and stage. */
{
  for (guint order = 0; order < 120; order++) {
    const LsLayout layout = many_axes (order);

    for (guint rank = 0; rank < layout.ranks; rank++)
      for (guint other = 0; other < layout.ranks; other++) {
        const LsCoordinates a = ls_layout_coordinates (&layout, rank),
                            b = ls_layout_coordinates (&layout, other);
        const gboolean dense = ls_layout_group (&layout, LS_AXIS_DATA_CONTEXT, rank) ==
                               ls_layout_group (&layout, LS_AXIS_DATA_CONTEXT, other);
        const gboolean experts = ls_layout_group (&layout, LS_AXIS_EXPERT_DATA, rank) ==
                                 ls_layout_group (&layout, LS_AXIS_EXPERT_DATA, other);

        ck_assert_int_eq (dense, a.tensor == b.tensor && a.stage == b.stage);
        ck_assert_int_eq (experts, a.expert == b.expert && a.expert_tensor == b.expert_tensor &&
                                       a.stage == b.stage);
      }
  }
}
END_TEST

MAIN_WITH (tcase_add_test (tcase, megatron_order_is_tensor_then_data_then_pipeline);
           tcase_add_test (tcase, experts_take_their_ranks_from_tensor_context_and_data);
           tcase_add_test (tcase, coordinates_and_ranks_are_inverse_and_groups_partition);
           tcase_add_test (tcase, copies_of_parameters_differ_in_data_and_context_only);)
