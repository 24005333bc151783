/* What DeepSpeed keeps beside the states: flat copies, autograd's gradients, messages. */
#include <check.h>

#include "train/memory/deepspeed_memory.h"
#include "train/memory/memory.h"

#define BUCKET (G_GINT64_CONSTANT (500000000) * 2)

/* A stage of `p` parameters over d shards under `software`. */
static LsWorkload *case_of (const char *software, LsFormat compute, int zero, guint d) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset ("gpt2-medium", NULL), d);

  workload->software = ls_software_find (software, NULL);
  workload->precision.compute = compute;
  workload->zero.stage = zero;
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

START_TEST (flat_copies)
/* Bytes per parameter, by the lines of DeepSpeed that deepspeed_memory.h names: fp16 without ZeRO 4 + 4 of all; stage 1
 * and 2: 2 + 2 + 4 of the shard and a bucket of 5e8 gradients; bf16: 2 of the shard; nothing in stage 3 or in other
 * software. Shards are rounded up. Exact. */
{
  const LsStage stage = {.parameters = 1000001};

  for (guint d = 1; d <= 64; d *= 4)
    for (int zero = 0; zero <= 3; zero++) {
      const gint64 own = zero == 0 ? 1000001 : (1000001 + d - 1) / d;
      const gint64 fp16[] = {8 * own, 8 * own + BUCKET, 8 * own + BUCKET, 0};
      const gint64 bf16[] = {2 * own, 2 * own, 2 * own, 0};
      g_autoptr (LsWorkload) half = case_of ("megatron-deepspeed", LS_FORMAT_FP16, zero, d);
      g_autoptr (LsWorkload) brain = case_of ("megatron-deepspeed", LS_FORMAT_BF16, zero, d);
      g_autoptr (LsWorkload) other = case_of ("megatron-2022", LS_FORMAT_FP16, zero, d);

      ck_assert_int_eq (ls_deepspeed_apart (half, &stage), fp16[zero]);
      ck_assert_int_eq (ls_deepspeed_apart (brain, &stage), bf16[zero]);
      ck_assert_int_eq (ls_deepspeed_apart (other, &stage), 0);
    }
}
END_TEST

START_TEST (copies_and_activations_take_turns)
/* 100 MB allocated, 103.3 reserved, and 8 MB of copies: 111.3 where there is room; as much as there is where there is
 * less; what either phase needs where there is less than that. One million parameters in stage 0. Exact. */
{
  const LsStage stage = {.parameters = 1000000};
  g_autoptr (LsWorkload) workload = case_of ("megatron-deepspeed", LS_FORMAT_FP16, 0, 1);
  const gint64 all = ls_memory_reserved (100000000, 8000000),
               one = ls_memory_reserved (100000000, 0);
  const gint64 room[] = {200000000, all, 108000000, one, 50000000};
  const gint64 held[] = {all, all, 108000000, one, one};

  for (guint i = 0; i < G_N_ELEMENTS (room); i++)
    ck_assert_int_eq (ls_memory_held (workload, &stage, 100000000, room[i]), held[i]);
  /* The update alone: 2 + 4 + 12 of the preset with fp32 gradients, and 8. */
  ck_assert_int_eq (ls_memory_held (workload, &stage, 20000000, 10), 26000000);
}
END_TEST

START_TEST (gradients_of_autograd)
/* BF16_Optimizer sums in fp32 and keeps the bf16 gradients too: 2 bytes a parameter; none where sums are in bf16 or the
 * format is fp16 (FP16_DeepSpeedZeroOptimizer sums in autograd's own). Exact. */
{
  g_autoptr (LsWorkload) brain = case_of ("megatron-deepspeed", LS_FORMAT_BF16, 1, 4);
  g_autoptr (LsWorkload) half = case_of ("megatron-deepspeed", LS_FORMAT_FP16, 1, 4);

  brain->precision.gradients = half->precision.gradients = LS_FORMAT_FP32;
  ck_assert_int_eq (ls_deepspeed_narrow_gradients (brain, 1000), 2000);
  ck_assert_int_eq (ls_deepspeed_narrow_gradients (half, 1000), 0);
  brain->precision.gradients = LS_FORMAT_BF16;
  ck_assert_int_eq (ls_deepspeed_narrow_gradients (brain, 1000), 0);
}
END_TEST

START_TEST (messages_in_flight)
/* Device s of p holds min (p - s, m) micro-batches in flight under 1F1B: as many outputs; with one tensor rank as many
 * inputs too (each forward pass clones what came). Exact. */
{
  for (guint device = 0; device < 4; device++)
    for (gint64 m = 1; m <= 8; m++) {
      g_autoptr (LsWorkload) workload = case_of ("megatron-deepspeed", LS_FORMAT_FP16, 1, 8);
      const gint64 in_flight = MIN (4 - (gint64) device, m);

      workload->layout.pipeline = 4;
      workload->microbatches = m;
      ck_assert_int_eq (ls_deepspeed_messages (workload, device, 100, 70), 170 * in_flight);
      workload->layout.tensor = 2;
      ck_assert_int_eq (ls_deepspeed_messages (workload, device, 100, 70), 100 * in_flight);
      workload->software = ls_software_find ("megatron-2022", NULL);
      ck_assert_int_eq (ls_deepspeed_messages (workload, device, 100, 70), 0);
    }
}
END_TEST

START_TEST (measured_peaks_of_bloom)
/* GB on the fullest GPU of A100-80GB nodes, model of 72 layers, hidden 14336, 64 heads, vocabulary 250,880, tensor 8, full
 * recompute, fp16: bigscience train/tr11-176B-ml/chronicles-prequel.md at 9e64ede, rows of 02-21 to 02-25 (bloom-sweep-*:
 * 607, 608, 609, 610, 615, 616, 617, 670, 788, 791). Not fitted. Tolerance 10 %: they are printed as whole GB, repeats of
 * one setting differ by up to 16 % (800 and 801 against 802). */
{
  static const struct {
    guint pipeline, data;
    int zero;
    gint64 micro;
    double gb;
  } cases[] = {{12, 4, 1, 1, 29}, {12, 4, 1, 2, 37}, {12, 4, 1, 4, 49}, {12, 4, 1, 8, 69},
               {6, 8, 1, 1, 38},  {6, 8, 1, 2, 44},  {6, 8, 1, 4, 56},  {12, 4, 0, 2, 72},
               {8, 6, 1, 4, 52},  {2, 24, 1, 1, 65}};
  const guint p = cases[_i].pipeline, d = cases[_i].data;
  const LsAccelerator *gpu = ls_accelerator_find ("a100-sxm-80gb", NULL);
  LsModel *model = ls_model_new_preset ("gpt3-175b", NULL);
  LsMemoryEstimate estimate;
  GError *error = NULL;

  model->transformer.layers = 72;
  model->transformer.hidden = 14336;
  model->transformer.heads = model->transformer.kv_heads = 64;
  model->transformer.head_dim = 14336 / 64;
  model->transformer.ffn = 4 * 14336;
  model->transformer.vocab = 250880;
  g_autoptr (LsWorkload) workload = ls_workload_new_default (model, 8 * p * d);
  workload->software = ls_software_find ("megatron-deepspeed-bigscience", NULL);
  workload->attention = workload->software->attention;
  workload->precision.compute = workload->precision.gradients = LS_FORMAT_FP16;
  workload->layout = ls_layout (8, d, p);
  workload->zero.stage = cases[_i].zero;
  workload->micro_batch = cases[_i].micro;
  workload->global_batch = cases[_i].micro * d * 4 * p;
  workload->recompute.mode = LS_RECOMPUTE_FULL;
  g_free (workload->layers_per_stage);
  workload->layers_per_stage = NULL;
  ck_assert_msg (ls_workload_resolve (workload, &error), "%s", error ? error->message : "");
  g_autofree const LsAccelerator **gpus = g_new (const LsAccelerator *, p);
  for (guint i = 0; i < p; i++)
    gpus[i] = gpu;
  ls_memory_fullest (workload, gpus, &estimate);
  const double gb =
      (double) (estimate.reserved_bytes + estimate.context_bytes + estimate.communication_bytes) /
      1e9;
  ck_assert_msg (gb > 0.9 * cases[_i].gb && gb < 1.1 * cases[_i].gb, "%.1f GB, measured %.0f", gb,
                 cases[_i].gb);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("deepspeed_memory");
  TCase *tcase = tcase_create ("deepspeed_memory");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_add_test (tcase, flat_copies);
  tcase_add_test (tcase, copies_and_activations_take_turns);
  tcase_add_test (tcase, gradients_of_autograd);
  tcase_add_test (tcase, messages_in_flight);
  tcase_add_loop_test (tcase, measured_peaks_of_bloom, 0, 10);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
