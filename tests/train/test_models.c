/* Models: every preset has exactly the parameters that its source publishes. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/model/models.h"

START_TEST (presets_have_the_published_parameters)
/* Counts of released checkpoints are exact (tolerance 0); counts printed in billions to some digits carry
 * the relative size of half their last digit, or what the row's source leaves out, as tolerance. */
{
  const LsModelPreset *preset = ls_model_preset_get ((guint) _i);
  g_autoptr (GError) error = NULL;
  g_autoptr (LsModel) model = ls_model_new_preset (preset->name, &error);
  double parameters = 0;

  ck_assert_ptr_nonnull (model);
  parameters = (double) ls_model_parameters (model);
  ck_assert_msg (fabs (parameters - preset->published_parameters) <=
                     preset->published_tolerance * preset->published_parameters,
                 "%s: %.0f, published %.0f", preset->name, parameters,
                 preset->published_parameters);
  if (preset->published_active > 0)
    ck_assert_msg (fabs ((double) ls_model_active_parameters (model) - preset->published_active) <=
                       preset->active_tolerance * preset->published_active,
                   "%s: %.0f active", preset->name, (double) ls_model_active_parameters (model));
  else
    ck_assert_int_eq (ls_model_active_parameters (model), ls_model_parameters (model));
  ck_assert_ptr_nonnull (preset->source);
  ck_assert_uint_gt (ls_model_n_layers (model), 0);
}
END_TEST

START_TEST (transformer_presets_have_consistent_sizes)
/* heads x head_dim = hidden but for families whose config.json states another head_dim, and key/value heads
 * divide heads; experts are at least as many as a token meets. */
{
  const LsModelPreset *preset = ls_model_preset_get ((guint) _i);
  const LsTransformer *t = &preset->transformer;

  if (t->layers == 0)
    return;
  if (!t->qk_norm && t->latent.kv_rank == 0 && t->window == 0)
    ck_assert_int_eq (t->heads * t->head_dim, t->hidden);
  ck_assert_int_ge (t->experts.count, t->experts.top_k);
  ck_assert_int_eq (t->heads % t->kv_heads, 0);
}
END_TEST

START_TEST (block_of_gpt_is_12_h_squared_and_13_h)
/* P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)): Narayanan et al., SC21, eq. (2), without the final
 * norm's 2 h. Exact in integers. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("gpt-7.5b", NULL);
  const gint64 h = model->transformer.hidden, l = model->transformer.layers;
  const gint64 expected = l * (12 * h * h + 13 * h) + (51200 + 2048) * h + 2 * h;

  ck_assert_int_eq (ls_transformer_block_parameters (&model->transformer), 12 * h * h + 13 * h);
  ck_assert_int_eq (ls_model_parameters (model), expected);
}
END_TEST

START_TEST (experts_and_latents_by_hand)
/* DeepSeek-V3, table of section 4.2, by hand. Attention: 7168 x 1536 + 1536 + 1536 x 128 x 192 for queries,
 * 7168 x (512 + 64) + 512 + 512 x 128 x (128 + 128) for keys and values, 128 x 128 x 7168 back. An expert:
 * 3 x 7168 x 2048; a block has 256, one shared, the router, its biases and two norms. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("deepseek-v3", NULL);
  const LsTransformer *t = &model->transformer;
  const gint64 attention = 11010048 + 1536 + 37748736 + 4128768 + 512 + 16777216 + 117440512;

  ck_assert_int_eq (ls_transformer_attention_parameters (t), attention);
  ck_assert_int_eq (ls_transformer_expert_parameters (t), 44040192);
  const gint64 of_61_layers = ls_model_parameters (model);
  model->transformer.layers++;
  ck_assert_int_eq (ls_model_parameters (model) - of_61_layers,
                    attention + 257 * 44040192LL + 256 * 7168 + 256 + 2 * 7168);
  model->transformer.layers--;
  ck_assert_int_eq (ls_transformer_expert_blocks (t, t->layers), 58);
  ck_assert (!ls_transformer_is_expert_block (t, 2) && ls_transformer_is_expert_block (t, 3));
  model->transformer.experts.every = 2;
  ck_assert (!ls_transformer_is_expert_block (t, 3) && ls_transformer_is_expert_block (t, 4));
  ck_assert_int_eq (ls_transformer_expert_blocks (t, 7), 2);
}
END_TEST

START_TEST (unknown_name_is_an_error_with_the_nearest) {
  g_autoptr (GError) error = NULL;

  ck_assert_ptr_null (ls_model_new_preset ("lama2-7b", &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_CONFIG));
  ck_assert_ptr_nonnull (strstr (error->message, "llama2-7b"));
}
END_TEST

START_TEST (resnet_has_its_layers_and_flops)
/* 16 bottlenecks, stem and head; He et al. 2016 print 53 convolutions in ResNet-50 (49 on the main
 * path, 4 projections), 161 tensors of parameters. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("resnet-50", NULL);
  guint convolutions = 0, shared = 0;

  for (guint i = 0; i < model->n_elements; i++) {
    convolutions += model->elements[i].kind == LS_ELEMENT_CONVOLUTION;
    shared += model->elements[i].shares_input ? 1 : 0;
  }
  ck_assert_uint_eq (ls_model_n_layers (model), 18);
  ck_assert_uint_eq (convolutions, 53);
  ck_assert_uint_eq (shared, 4);
}
END_TEST

START_TEST (copies_are_independent) {
  g_autoptr (LsModel) model = ls_model_new_preset ("mlp-mnist", NULL);
  g_autoptr (LsModel) copy = ls_model_copy (model);

  copy->elements[0].out_channels = 1;
  ck_assert_int_eq (model->elements[0].out_channels, 1024);
  ck_assert_str_eq (copy->elements[0].name, "hidden1.linear");
  ck_assert_ptr_ne (copy->elements[0].name, model->elements[0].name);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("models");
  TCase *tcase = tcase_create ("models");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_add_loop_test (tcase, presets_have_the_published_parameters, 0,
                       (int) ls_model_preset_count ());
  tcase_add_loop_test (tcase, transformer_presets_have_consistent_sizes, 0,
                       (int) ls_model_preset_count ());
  tcase_add_test (tcase, block_of_gpt_is_12_h_squared_and_13_h);
  tcase_add_test (tcase, experts_and_latents_by_hand);
  tcase_add_test (tcase, unknown_name_is_an_error_with_the_nearest);
  tcase_add_test (tcase, resnet_has_its_layers_and_flops);
  tcase_add_test (tcase, copies_are_independent);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
