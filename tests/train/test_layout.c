/* Layout: ranks, coordinates and groups. */
#include <check.h>
#include <string.h>

#include "train/layout.h"

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

static const LsAxis axes[] = {LS_AXIS_TENSOR, LS_AXIS_DATA, LS_AXIS_PIPELINE};

static const LsAxis orders[][3] = {
    {LS_AXIS_TENSOR, LS_AXIS_DATA, LS_AXIS_PIPELINE},
    {LS_AXIS_TENSOR, LS_AXIS_PIPELINE, LS_AXIS_DATA},
    {LS_AXIS_DATA, LS_AXIS_TENSOR, LS_AXIS_PIPELINE},
    {LS_AXIS_DATA, LS_AXIS_PIPELINE, LS_AXIS_TENSOR},
    {LS_AXIS_PIPELINE, LS_AXIS_TENSOR, LS_AXIS_DATA},
    {LS_AXIS_PIPELINE, LS_AXIS_DATA, LS_AXIS_TENSOR},
};

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

START_TEST (coordinates_and_ranks_are_inverse_and_groups_partition)
/* For every order of axes: rank -> coordinates -> rank is the identity, and the groups of an axis hold
 * every rank once, at the position of its coordinate. */
{
  LsLayout layout = ls_layout (2, 3, 5);

  memcpy (layout.order, orders[_i], sizeof layout.order);
  for (guint rank = 0; rank < layout.ranks; rank++)
    ck_assert_uint_eq (ls_layout_rank (&layout, ls_layout_coordinates (&layout, rank)), rank);
  for (guint a = 0; a < G_N_ELEMENTS (axes); a++) {
    const guint size = ls_layout_size (&layout, axes[a]);
    guint seen[30] = {0}, members[5];

    ck_assert_uint_eq (ls_layout_n_groups (&layout, axes[a]) * size, layout.ranks);
    for (guint group = 0; group < ls_layout_n_groups (&layout, axes[a]); group++) {
      ls_layout_members (&layout, axes[a], group, members);
      for (guint i = 0; i < size; i++) {
        seen[members[i]]++;
        ck_assert_uint_eq (ls_layout_group (&layout, axes[a], members[i]), group);
        ck_assert_uint_eq (ls_layout_position (&layout, axes[a], members[i]), i);
      }
    }
    for (guint rank = 0; rank < layout.ranks; rank++)
      ck_assert_uint_eq (seen[rank], 1);
  }
}
END_TEST

MAIN_WITH (tcase_add_test (tcase, megatron_order_is_tensor_then_data_then_pipeline);
           tcase_add_loop_test (tcase, coordinates_and_ranks_are_inverse_and_groups_partition, 0,
                                (int) G_N_ELEMENTS (orders));)
