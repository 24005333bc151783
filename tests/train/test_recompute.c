/* Recompute as a choice: named operations, the square-root rule, mode fit, the curve; depth of gathering. */
#include "harness.h"

#include <string.h>

#include "train/layer/chunk.h"
#include "train/memory/gather_depth.h"
#include "train/memory/memory_walk.h"
#include "train/memory/recompute.h"

static const LsAccelerator *gpu (void) {
  return ls_accelerator_find ("a100-sxm-80gb", NULL);
}

static LsWorkload *gpt (guint layers) {
  LsModel *model = ls_model_new_preset ("gpt-7.5b", NULL);
  LsWorkload *workload = NULL;

  model->transformer.layers = layers;
  workload = ls_workload_new_default (model, 1);
  workload->attention = LS_ATTENTION_FUSED_SOFTMAX;
  workload->seq_len = 2048;
  workload->global_batch = 1;
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

/* Activations that live between forward and backward. */
static gint64 kept (const LsWorkload *workload) {
  g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ());
  LsMemoryWalk walk;

  ls_memory_walk (stage, &workload->recompute, NULL, &walk);
  return walk.kept;
}

START_TEST (named_operations_drop_their_outputs)
/* Korthikanti's table per layer, bytes: the outputs of the two norms, which the maps behind them keep, are
 * 2 sbh each, the output of the GeLU, which the second map keeps, 8 sbh, of the first map 8 sbh; the attention core by
 * name is selective's own 5 a s^2 b. Exact. */
{
  static const struct {
    const char *names[4];
    gint64 sbh, scores;
  } cases[] = {{{"norm1", "norm2", NULL, NULL}, 4, 0},
               {{"gelu", NULL, NULL, NULL}, 8, 0},
               {{"mlp_up", "gelu", "norm2", NULL}, 18, 0},
               {{"attention", NULL, NULL, NULL}, 0, 5}};
  g_autoptr (LsWorkload) workload = gpt (36);
  const gint64 all = kept (workload), s = 2048, h = 4096, a = 32;

  workload->recompute.mode = LS_RECOMPUTE_SELECTIVE;
  workload->recompute.operations = g_strdupv ((char **) cases[_i].names);
  ck_assert_int_eq (all - kept (workload),
                    36 * (cases[_i].sbh * s * h + cases[_i].scores * a * s * s));
}
END_TEST

START_TEST (what_is_dropped_is_made_again)
/* For any single operation of a block: tensors dropped = tensors remade, the named operation runs again, and so do
 * producers only back to a kept tensor (an addition needs the projection before it, whose input is kept). */
{
  g_autoptr (LsWorkload) workload = gpt (1);
  g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ());
  LsLayerPlan *plan = stage->runs[1].plan;

  for (guint i = 0; i < plan->n_forward; i++) {
    const char *names[] = {plan->forward[i].name, NULL};
    const gint64 dropped = ls_layer_plan_select (plan, names);
    gint64 remade = 0;

    for (guint k = 0; k < plan->n_forward; k++)
      remade += ls_layer_op_remade_bytes (plan, k);
    ck_assert_int_eq (dropped, remade);
    ck_assert (ls_layer_op_repeated (plan, i));
    if (strcmp (names[0], "attention_add") == 0)
      ck_assert (ls_layer_op_repeated (plan, i - 1) && !ls_layer_op_repeated (plan, i - 2));
  }
}
END_TEST

static LsWorkload *llama (const char *software, gboolean recomputes) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset ("llama3-8b", NULL), 1);

  workload->software = ls_software_find (software, NULL);
  workload->attention = LS_ATTENTION_FLASH2;
  workload->recompute.mode = recomputes ? LS_RECOMPUTE_MATMULS : LS_RECOMPUTE_NONE;
  workload->seq_len = 8192;
  workload->global_batch = 1;
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

START_TEST (every_other_matmul_is_kept)
/* Llama-3 8B, per token and layer: input h, queries h, values kv, attention h, gate f, in 16 bits; eager also the
 * output h of the seventh matmul, which nobody reads. Without recompute h + h + (h + 2 kv) + h + h + h + 3 f, where
 * the activation is fused, and one f more where not. Run again are the products for keys, projection and up,
 * 2 (h kv + h^2 + h f) FLOPs per token, and no attention. Exact. */
{
  const gint64 h = 4096, kv = 1024, f = 14336, tokens = 8192, layers = 32;
  const char *software = _i == 0 ? "pytorch-fsdp2" : "pytorch-fsdp2-eager";
  g_autoptr (LsWorkload) all = llama (software, FALSE), some = llama (software, TRUE);
  g_autoptr (LsStage) stage = ls_stage_new (some, 0, gpu ());
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, &some->recompute);
  const gint64 whole = 6 * h + 2 * kv + (3 + _i) * f, left = (3 + _i) * h + kv + f;

  ck_assert_int_eq (kept (all) - kept (some), layers * tokens * 2 * (whole - left));
  ck_assert_double_eq_tol (ls_chunks_recomputed_flops (chunks, some),
                           2.0 * (double) (layers * tokens * (h * kv + h * h + h * f)), 1e3);
}
END_TEST

START_TEST (all_kinds_of_blocks_can_keep_matmuls)
/* Dropped = remade, whatever the block: GeLU, latent attention with routed experts, context ranks, scores kept by an
 * unfused kernel. Attention itself runs again only where it keeps its scores. */
{
  static const struct {
    const char *model;
    LsAttention attention;
    guint context;
  } cases[] = {{"gpt-7.5b", LS_ATTENTION_FUSED_SOFTMAX, 1},
               {"deepseek-v3", LS_ATTENTION_FLASH2, 1},
               {"llama2-7b", LS_ATTENTION_FLASH2, 2},
               {"mixtral-8x7b", LS_ATTENTION_FLASH2, 1}};
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset (cases[_i].model, NULL), cases[_i].context);
  g_autoptr (LsStage) stage = NULL;

  workload->layout.context = cases[_i].context;
  workload->layout.data = 1;
  workload->attention = cases[_i].attention;
  workload->recompute.mode = LS_RECOMPUTE_MATMULS;
  workload->global_batch = 1;
  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, gpu ());
  for (guint run = 0; run < stage->n_runs; run++) {
    const LsLayerPlan *plan = stage->runs[run].plan;
    gint64 dropped = 0, remade = 0;

    for (guint i = 0; stage->runs[run].is_block && i < plan->n_forward; i++) {
      dropped += ls_layer_op_dropped_bytes (plan, i);
      remade += ls_layer_op_remade_bytes (plan, i);
      if (plan->forward[i].kind == LS_KIND_ATTENTION)
        ck_assert_int_eq (ls_layer_op_repeated (plan, i), _i == 0);
      ck_assert_int_ge (ls_layer_op_dropped_bytes (plan, i), 0);
    }
    ck_assert_int_eq (dropped, remade);
    ck_assert (dropped > 0 || !stage->runs[run].is_block);
  }
}
END_TEST

START_TEST (the_square_root_rule)
/* 96 layers: k = round (sqrt 96) = 10: nine segments of ten and one of six. 100 layers: ten of ten. */
{
  g_autoptr (LsWorkload) workload = gpt (_i == 0 ? 96 : 100);
  g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ());
  const LsRecompute rule = {
      .mode = LS_RECOMPUTE_FULL, .every = LS_RECOMPUTE_SQRT, .layers = G_MAXINT64};
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, &rule);

  ck_assert_uint_eq (chunks->chunk[1].size, 10);
  ck_assert_uint_eq (chunks->chunk[1].segments, _i == 0 ? 9 : 10);
  if (_i == 0)
    ck_assert_uint_eq (chunks->chunk[2].size, 6);
}
END_TEST

START_TEST (the_curve_and_its_laws)
/* 96 layers. Operation: forward work 2 - 1/k where k divides 96; activations rise again beyond the best k, which is
 * near sqrt 96. Block: all run again whatever k is, and the best k is small, since a block's inside is some 17 times
 * its input (2 N/k + 34 k sbh: least at k = 2; a little later here,
 * because the logits are live beside all the kept inputs). Point 0 is no recompute. */
{
  g_autoptr (LsWorkload) workload = gpt (96);
  g_autoptr (GArray) chain = NULL, blocks = NULL;

  workload->attention = LS_ATTENTION_FLASH2;
  chain = ls_recompute_curve (workload, 0, gpu (), LS_RECOMPUTE_UNIT_OPERATION);
  blocks = ls_recompute_curve (workload, 0, gpu (), LS_RECOMPUTE_UNIT_BLOCK);
  ck_assert_uint_eq (chain->len, 97);
  for (guint k = 1; k <= 96; k++) {
    const LsRecomputePoint *a = &g_array_index (chain, LsRecomputePoint, k);
    const LsRecomputePoint *b = &g_array_index (blocks, LsRecomputePoint, k);

    if (96 % k == 0)
      ck_assert_double_eq_tol (a->work, a->law_work, 1e-12);
    ck_assert_double_eq_tol (b->work, 2, 1e-12);
    ck_assert_double_eq_tol (b->law_stored, 1.0 / k, 1e-12);
  }
  ck_assert_uint_ge (ls_recompute_curve_best (chain), 8);
  ck_assert_uint_le (ls_recompute_curve_best (chain), 12);
  ck_assert_uint_ge (ls_recompute_curve_best (blocks), 2);
  ck_assert_uint_le (ls_recompute_curve_best (blocks), 4);
  ck_assert_int_eq (g_array_index (chain, LsRecomputePoint, 0).extra_ps, 0);
  ck_assert_int_eq (g_array_index (chain, LsRecomputePoint, 1).allocated_bytes,
                    g_array_index (chain, LsRecomputePoint, 0).allocated_bytes);
}
END_TEST

/* Blocks that differ: every other attention has a window; pictures shrink; the first block has no experts. */
static const struct {
  const char *preset;
  guint layers, every;
  guint sizes[3]; /* of segments, the first two chunks of blocks and the last */
} unlike[] = {{"gpt-oss-20b", 24, 4, {4, 0, 0}},
              {"gpt-oss-20b", 24, 3, {3, 3, 3}},
              {"resnet-50", 18, 5, {5, 5, 3}},
              {"deepseek-v2-lite", 27, 3, {3, 3, 0}}};

START_TEST (segments_of_unlike_layers)
/* A segment has as many layers whatever their kinds, as Megatron-LM's uniform method counts them: 24 layers whose
 * windows alternate are six equal segments of four or eight of three, 18 of a ResNet three of five and one of
 * three, 27 with one dense one first one segment with it and eight without. The curve's forward work is the
 * textbook's where k divides their number, and all are in a segment once. */
{
  LsModel *model = ls_model_new_preset (unlike[_i].preset, NULL);
  g_autoptr (LsWorkload) workload = ls_workload_new_default (model, 1);

  workload->attention = LS_ATTENTION_FLASH2;
  workload->seq_len = model->kind == LS_MODEL_TRANSFORMER ? 1024 : 0;
  workload->global_batch = 1;
  ck_assert (ls_workload_resolve (workload, NULL));
  g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ());
  const LsRecompute every = {
      .mode = LS_RECOMPUTE_FULL, .every = unlike[_i].every, .layers = G_MAXINT64};
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, &every);
  guint layers = 0, seen = 0;

  for (guint i = 0; i < chunks->n; i++) {
    const LsChunk *chunk = &chunks->chunk[i];
    if (chunk->mode != LS_CHUNK_FULL)
      continue;
    if (chunk->first + (gint32) (chunk->segments * chunk->size) == (gint32) unlike[_i].layers &&
        unlike[_i].sizes[2] > 0)
      ck_assert_uint_eq (chunk->size, unlike[_i].sizes[2]);
    else if (seen < 2)
      ck_assert_uint_eq (chunk->size, unlike[_i].sizes[seen]);
    layers += chunk->segments * chunk->size;
    seen++;
  }
  ck_assert_uint_eq (layers, unlike[_i].layers);
  if (unlike[_i].every == 4) /* both kinds in each: one loop */
    ck_assert_uint_eq (seen, 1);

  g_autoptr (GArray) chain = ls_recompute_curve (workload, 0, gpu (), LS_RECOMPUTE_UNIT_OPERATION);
  ck_assert_uint_eq (chain->len, layers + 1);
  for (guint k = 1; k <= layers; k++) {
    const LsRecomputePoint *point = &g_array_index (chain, LsRecomputePoint, k);
    if (layers % k == 0)
      ck_assert_double_eq_tol (point->work, point->law_work, 1e-12);
    ck_assert_int_eq (point->extra_ps > 0, k > 1);
  }
}
END_TEST

START_TEST (stages_of_one_device_are_cut_apart)
/* 8 layers, two devices with two stages of two each: of `layers: 1` each stage of the model repeats one, as the
 * device's programs do, so two on a device; and segments of 4 end with their stage. */
{
  LsModel *model = ls_model_new_preset ("gpt-7.5b", NULL);
  g_autoptr (LsWorkload) workload = NULL;
  LsRecompute one = {.mode = LS_RECOMPUTE_FULL, .every = 4, .layers = 1}, all = one;

  model->transformer.layers = 8;
  workload = ls_workload_new_default (model, 2);
  workload->layout = ls_layout (1, 1, 2);
  workload->schedule = LS_SCHEDULE_INTERLEAVED;
  workload->virtual_stages = 2;
  workload->seq_len = 2048;
  workload->global_batch = 4;
  ck_assert (ls_workload_resolve (workload, NULL));
  g_autoptr (LsStage) stage = ls_stage_new (workload, 1, gpu ());
  g_autoptr (LsChunks) first = ls_chunks_new (stage, &one);
  all.layers = G_MAXINT64;
  g_autoptr (LsChunks) whole = ls_chunks_new (stage, &all);
  guint again = 0;

  for (guint i = 0; i < first->n; i++)
    again +=
        first->chunk[i].mode == LS_CHUNK_FULL ? first->chunk[i].segments * first->chunk[i].size : 0;
  ck_assert_uint_eq (again, 2);
  for (guint i = 0; i < whole->n; i++)
    ck_assert_uint_le (whole->chunk[i].size, 2);
}
END_TEST

START_TEST (fit_repeats_least)
/* What fits without recompute keeps all. With activations too large: the choice fits, what repeats one layer less
 * in the same way does not, and of every mode on any number of layers nothing that fits repeats less. With a flash
 * kernel, which keeps no scores, that is matmuls. */
{
  g_autoptr (LsWorkload) small = gpt (2), large = gpt (8);
  const LsAccelerator *accelerators[] = {gpu ()};
  LsMemoryEstimate estimate;
  g_autofree char *text = NULL;

  small->recompute.mode = LS_RECOMPUTE_FIT;
  ls_recompute_fit (small, accelerators);
  ck_assert (small->recompute.mode == LS_RECOMPUTE_NONE && small->recompute.fitted);

  large->attention = _i == 0 ? LS_ATTENTION_FUSED_SOFTMAX : LS_ATTENTION_FLASH2;
  large->micro_batch = large->global_batch = _i == 0 ? 8 : 24;
  large->recompute.mode = LS_RECOMPUTE_FIT;
  ls_recompute_fit (large, accelerators);
  text = ls_recompute_text (&large->recompute);
  ck_assert_ptr_nonnull (strstr (text, "chosen by mode fit"));
  ck_assert (large->recompute.mode != LS_RECOMPUTE_NONE);
  ls_memory_fullest (large, accelerators, &estimate);
  ck_assert_msg (estimate.fits, "%s", text);
  g_autoptr (LsStage) stage = ls_stage_new (large, 0, gpu ());
  const gint64 chosen_ps = ls_recompute_extra_ps (stage, large);
  large->recompute.layers = MIN (large->recompute.layers, 8) - 1;
  ls_memory_fullest (large, accelerators, &estimate);
  ck_assert_msg (!estimate.fits, "%s, one layer less", text);
  g_clear_pointer (&large->recompute.operations, g_strfreev);
  for (guint mode = LS_RECOMPUTE_SELECTIVE; mode <= LS_RECOMPUTE_FULL; mode++)
    for (gint64 layers = 1; layers <= 8; layers++) {
      large->recompute =
          (LsRecompute){.mode = (LsRecomputeMode) mode, .every = 1, .layers = layers};
      g_autoptr (LsStage) other = ls_stage_new (large, 0, gpu ());
      ls_memory_fullest (large, accelerators, &estimate);
      ck_assert_msg (!estimate.fits || ls_recompute_extra_ps (other, large) >= chosen_ps,
                     "%s repeats more than %s of %d layers", text,
                     ls_recompute_mode_name ((LsRecomputeMode) mode), (int) layers);
    }
}
END_TEST

START_TEST (fit_without_hope)
/* Nothing fits: the setting with the least memory, so that the verdict speaks of that. */
{
  g_autoptr (LsWorkload) workload = gpt (96);
  const LsAccelerator *accelerators[] = {gpu ()};

  workload->recompute.mode = LS_RECOMPUTE_FIT;
  ls_recompute_fit (workload, accelerators);
  ck_assert_int_eq (workload->recompute.mode, LS_RECOMPUTE_FULL);
  ck_assert (workload->recompute.fitted);
}
END_TEST

START_TEST (limit_on_gathered_parameters)
/* Equal layers of 4,000 parameters, prefetch 4: live at once are floor (limit / 4,000) layers, at least one and at
 * most five; the ledger holds them (2 bytes each) and the gradient of one layer beside them. Exact. */
{
  static const struct {
    gint64 limit;
    guint depth;
  } cases[] = {{1, 1}, {7999, 1}, {8000, 2}, {19999, 4}, {20000, 5}, {1000000, 5}, {0, 5}};
  static const TestNet free_net = {0, 0};
  static const TestLayer layer = {.forward_ps = 100000, .backward_ps = 200000, .parameters = 4000};
  LsWorkload *workload = test_workload (1, 2, 1, 8, 2);

  workload->zero = (LsZero){.stage = 3,
                            .overlap = TRUE,
                            .bucket_bytes = 1000,
                            .prefetch = 4,
                            .max_gathered = cases[_i].limit};
  g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
  ck_assert_uint_eq (ls_gather_depth (run->workload, run->job->kinds[0].stage), cases[_i].depth);
  ck_assert_int_eq (test_peak_activations (run, 0), (gint64) (cases[_i].depth + 1) * 4000 * 2);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("recompute");
  TCase *tcase = tcase_create ("recompute");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_add_loop_test (tcase, named_operations_drop_their_outputs, 0, 4);
  tcase_add_test (tcase, what_is_dropped_is_made_again);
  tcase_add_loop_test (tcase, every_other_matmul_is_kept, 0, 2);
  tcase_add_loop_test (tcase, all_kinds_of_blocks_can_keep_matmuls, 0, 4);
  tcase_add_loop_test (tcase, the_square_root_rule, 0, 2);
  tcase_add_test (tcase, the_curve_and_its_laws);
  tcase_add_loop_test (tcase, segments_of_unlike_layers, 0, (int) G_N_ELEMENTS (unlike));
  tcase_add_test (tcase, stages_of_one_device_are_cut_apart);
  tcase_add_loop_test (tcase, fit_repeats_least, 0, 2);
  tcase_add_test (tcase, fit_without_hope);
  tcase_add_loop_test (tcase, limit_on_gathered_parameters, 0, 7);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
