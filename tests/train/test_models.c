/* Models: every preset has exactly the parameters that its source publishes. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/models.h"

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
  ck_assert_ptr_nonnull (preset->source);
  ck_assert_uint_gt (ls_model_n_layers (model), 0);
}
END_TEST

START_TEST (transformer_presets_have_consistent_sizes)
/* heads x head_dim = hidden for every family here, and key/value heads divide heads. */
{
  const LsModelPreset *preset = ls_model_preset_get ((guint) _i);
  const LsTransformer *t = &preset->transformer;

  if (t->layers == 0)
    return;
  ck_assert_int_eq (t->heads * t->head_dim, t->hidden);
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
  tcase_add_test (tcase, unknown_name_is_an_error_with_the_nearest);
  tcase_add_test (tcase, resnet_has_its_layers_and_flops);
  tcase_add_test (tcase, copies_are_independent);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
