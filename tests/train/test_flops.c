/* FLOPs: shapes against the published closed forms. */
#include <check.h>
#include <math.h>

#include "train/layer/stage.h"
#include "train/model/flops.h"

#define CLOSE(a, b, tolerance)                                                                  \
  ck_assert_msg (fabs ((a) - (b)) <= (tolerance) *fabs (b), "%.17g is not %.17g", (double) (a), \
                 (double) (b))

START_TEST (gpt_equals_megatrons_formula)
/* 72 B s l h^2 (1 + s/(6h) + V/(12 l h)) = 3 x (l (24 B s h^2 + 4 B s^2 h) + 2 B s h V): Narayanan et al.,
 * SC21, appendix. Equal as polynomials; tolerance: rounding of doubles. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("gpt3-175b", NULL);
  const double step = 3 * ls_model_forward_flops (model, 1536, 2048);

  CLOSE (step, ls_flops_megatron (1536, 2048, 96, 12288, 51200), 1e-14);
}
END_TEST

START_TEST (recompute_adds_one_forward_of_the_blocks)
/* 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) is the model's FLOPs and the blocks' forward once more. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("gpt-7.5b", NULL);
  const double blocks = 36 * ls_transformer_block_flops (&model->transformer, 0, 512, 2048);

  CLOSE (ls_flops_megatron (512, 2048, 36, 4096, 51200) + blocks,
         ls_flops_megatron_recompute (512, 2048, 36, 4096, 51200), 1e-14);
}
END_TEST

/* GPT-OSS 20B: 12 of 24 blocks see 128 of 4096 keys. Full attention of width q = 64 x 64 less theirs is
 * 12 x 4 B s (s - 128) q; and the stage alternates, a run of blocks for each. */
START_TEST (windows_leave_keys_out) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset ("gpt-oss-20b", NULL), 1);
  g_autoptr (LsWorkload) owned = workload;
  g_autoptr (LsModel) full = ls_model_copy (workload->model);
  guint runs = 0;

  full->transformer.window = 0;
  workload->layout = ls_layout (1, 1, 1);
  workload->seq_len = 4096;
  ck_assert (ls_workload_resolve (workload, NULL));
  CLOSE (ls_model_forward_flops (full, 2, 4096) - ls_model_forward_flops (workload->model, 2, 4096),
         12 * 4.0 * 2 * 4096 * (4096 - 128) * 4096, 1e-9);
  g_autoptr (LsStage) stage = ls_stage_new (workload, 0, ls_accelerator_find ("h100", NULL));
  for (guint i = 0; i < stage->n_runs; i++)
    runs += stage->runs[i].is_block ? stage->runs[i].count : 0;
  ck_assert_uint_eq (runs, 24);
  ck_assert_uint_eq (stage->n_runs, 26); /* each block a run, and the ends */
  for (guint i = 0; i < 24; i++)
    ck_assert_int_eq (ls_transformer_window (&workload->model->transformer, i),
                      i % 2 == 0 ? 128 : 0);
}
END_TEST

/* Matrix FLOPs of the kernels that a plan really runs, all passes once, over all tensor ranks. */
static double built_flops (const LsStage *stage, guint tensor) {
  double flops = 0;

  for (guint r = 0; r < stage->n_runs; r++) {
    const LsLayerPlan *plan = stage->runs[r].plan;

    for (guint i = 0; i < plan->n_forward + plan->n_backward; i++) {
      const LsLayerOp *op =
          i < plan->n_forward ? &plan->forward[i] : &plan->backward[i - plan->n_forward];

      if (op->kind == LS_KIND_MATMUL || op->kind == LS_KIND_ATTENTION)
        flops += op->cost.flops * stage->runs[r].count * tensor;
    }
  }
  return flops;
}

START_TEST (built_kernels_sum_to_the_formula)
/* The matmuls and unfused attention of a built stage, tensor 1 and 8, one micro-batch: equal to
 * Megatron's formula up to the softmax inside the attention kernel, which the formula leaves out:
 * some 10 FLOPs per score against 4 head_dim = 512 forward, hence 3 % of a tenth of the work. */
{
  static const guint tensors[] = {1, 8};
  const guint tensor = tensors[_i];
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset ("gpt3-175b", NULL), tensor);
  g_autoptr (LsWorkload) owned = workload;
  g_autoptr (LsStage) stage = NULL;
  double built = 0, formula = 0;

  workload->layout = ls_layout (tensor, 1, 1);
  workload->global_batch = workload->micro_batch = 2;
  workload->attention = LS_ATTENTION_FUSED_SOFTMAX;
  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, ls_accelerator_find ("a100-sxm-80gb", NULL));
  built = built_flops (stage, tensor);
  formula = ls_flops_megatron (2, 2048, 96, 12288, 51200);
  CLOSE (built, formula, 5e-3);
  CLOSE (ls_workload_model_flops (workload), formula, 1e-14);
}
END_TEST

START_TEST (plans_count_what_the_model_counts)
/* Of every preset: the plans' own model FLOPs, summed over the layers, are the model's forward pass, and
 * their parameters the model's. */
{
  const char *name = ls_model_preset_get ((guint) _i)->name;
  g_autoptr (LsWorkload) workload = ls_workload_new_default (ls_model_new_preset (name, NULL), 1);
  g_autoptr (LsStage) stage = NULL;
  double flops = 0;

  workload->global_batch = workload->micro_batch = 4;
  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  for (guint r = 0; r < stage->n_runs; r++)
    flops += stage->runs[r].plan->model_flops * stage->runs[r].count;
  CLOSE (flops, ls_model_forward_flops (workload->model, 4, workload->seq_len), 1e-14);
  ck_assert_int_eq (stage->parameters + stage->expert_parameters + stage->table_parameters,
                    ls_model_parameters (workload->model));
}
END_TEST

/* Forward and backward of 8 sequences of 4096 tokens, 32 layers of 4096: 3 x 4 B s^2 h l; a window of 128 has 1/32 of it. */
START_TEST (attention_is_this_part_of_a_model) {
  LsModel model = {
      .kind = LS_MODEL_TRANSFORMER,
      .transformer = {.layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128}};
  const double full = 12.0 * 8 * 4096 * 4096 * 4096 * 32;

  ck_assert_double_eq (ls_model_attention_flops (&model, 8, 4096), full);
  model.transformer.window = 128;
  ck_assert_double_eq (ls_model_attention_flops (&model, 8, 4096), full / 32);
}
END_TEST

START_TEST (resnet_50_is_four_billion_multiply_adds)
/* torchvision prints 4.09 GMACs for ResNet-50 v1.5 at 224 x 224; half a digit. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("resnet-50", NULL);

  CLOSE (ls_model_forward_flops (model, 1, 1) / 2, 4.09e9, 0.005);
}
END_TEST

START_TEST (groups_divide_a_convolution)
/* 2 b H W k^2 in out / groups: 64 channels of 3 x 3 on 56 x 56, depthwise a 64th of the whole. */
{
  LsElement e = {.kind = LS_ELEMENT_CONVOLUTION,
                 .in_channels = 64,
                 .out_channels = 64,
                 .out_height = 56,
                 .out_width = 56,
                 .kernel_height = 3,
                 .kernel_width = 3,
                 .groups = 64};

  ck_assert_double_eq (ls_element_flops (&e, 2), 2.0 * 2 * 56 * 56 * 9 * 64);
  e.groups = 1;
  ck_assert_double_eq (ls_element_flops (&e, 2), 2.0 * 2 * 56 * 56 * 9 * 64 * 64);
}
END_TEST

START_TEST (six_n_agrees_for_large_models)
/* 6 N + 12 l h s per token counts embeddings as if they were multiplied: for llama2-70b (untied) the
 * input embedding V h is 0.4 % of N; that is the difference, exactly (norms: 1.3 M parameters). */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("llama2-70b", NULL);
  const double n = (double) ls_model_parameters (model) - 32000.0 * 8192 - 161.0 * 8192;

  CLOSE (3 * ls_model_forward_flops (model, 1, 4096) / 4096,
         ls_flops_per_token_6n (n, 80, 8192, 4096), 1e-14);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("flops");
  TCase *tcase = tcase_create ("flops");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_add_test (tcase, gpt_equals_megatrons_formula);
  tcase_add_test (tcase, recompute_adds_one_forward_of_the_blocks);
  tcase_add_test (tcase, windows_leave_keys_out);
  tcase_add_loop_test (tcase, built_kernels_sum_to_the_formula, 0, 2);
  tcase_add_loop_test (tcase, plans_count_what_the_model_counts, 0, (int) ls_model_preset_count ());
  tcase_add_test (tcase, attention_is_this_part_of_a_model);
  tcase_add_test (tcase, resnet_50_is_four_billion_multiply_adds);
  tcase_add_test (tcase, groups_divide_a_convolution);
  tcase_add_test (tcase, six_n_agrees_for_large_models);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
