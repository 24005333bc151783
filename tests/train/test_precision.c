/* Number formats of a job: what one word means in bytes, who multiplies in which format, what updates move and gathers carry. */
#include <check.h>
#include <string.h>

#include "hw/catalogue.h"
#include "precision_case.h"
#include "train/memory/gathered_bytes.h"
#include "train/memory/memory.h"

/* Bytes per parameter with Adam, parameters + gradients + master + two moments. fp32 and tf32 4 + 4 + 8; fp16
 * 2 + 2 + 4 + 8 (Micikevicius et al. 2018); bf16 with fp32 gradients 2 + 4 + 4 + 8 (Megatron-LM); 8 and 4 bit
 * products keep the states of bf16 (Transformer Engine: weights stay in high precision). */
START_TEST (a_word_means_bytes) {
  static const struct {
    const char *word;
    double bytes;
  } words[] = {{"fp32", 16}, {"tf32", 16},     {"fp16", 16},  {"bf16", 18},
               {"fp8", 18},  {"fp8_e4m3", 18}, {"mxfp8", 18}, {"nvfp4", 18}};

  for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
    g_autoptr (LsWorkload) workload = precision_case_new_workload (words[i].word, 0, 1);

    ck_assert_msg (ls_memory_bytes_per_parameter (workload) == words[i].bytes, "%s: %g",
                   words[i].word, ls_memory_bytes_per_parameter (workload));
  }
}
END_TEST

/* "fp8" is the hybrid of Transformer Engine's DelayedScaling; the other words are one format both ways. */
START_TEST (hybrid_is_both_formats) {
  const LsPrecision fp8 = ls_precision_of_word ("fp8"), e4m3 = ls_precision_of_word ("fp8_e4m3");
  const LsPrecision mx = ls_precision_of_word ("mxfp8"), bf16 = ls_precision_of_word ("bf16");

  ck_assert (fp8.narrow.used && fp8.narrow.forward == LS_FORMAT_FP8_E4M3 &&
             fp8.narrow.gradient == LS_FORMAT_FP8_E5M2 && fp8.narrow.recipe == LS_FP8_DELAYED);
  ck_assert (e4m3.narrow.gradient == LS_FORMAT_FP8_E4M3);
  ck_assert (mx.narrow.forward == LS_FORMAT_MXFP8 && mx.narrow.recipe == LS_FP8_BLOCK);
  ck_assert (!bf16.narrow.used && ls_precision_matmul (&bf16) == LS_FORMAT_BF16);
  ck_assert (fp8.compute == LS_FORMAT_BF16 && ls_precision_matmul (&fp8) == LS_FORMAT_FP8_E4M3);
}
END_TEST

/* Who has which matrix units, by architecture, for every row of the catalogue. Sources: V100 and Turing
 * whitepapers (fp16), A100 (tf32, bf16), H100 and Ada (fp8), Blackwell brief (mxfp8, nvfp4); AMD CDNA2/3 ISA
 * guides; Google's TPU pages. A row of a new architecture has to be added here. */
START_TEST (support_matrix) {
  static const struct {
    const char *architecture, *formats;
  } matrix[] = {{"Volta", "fp16"},
                {"Turing", "fp16 int8"},
                {"Ampere", "tf32 fp16 bf16 int8"},
                {"Ada", "tf32 fp16 bf16 fp8_e4m3 fp8_e5m2 int8"},
                {"Hopper", "tf32 fp16 bf16 fp8_e4m3 fp8_e5m2 int8"},
                {"Blackwell", "tf32 fp16 bf16 fp8_e4m3 fp8_e5m2 int8 mxfp8 nvfp4"},
                {"CDNA2", "fp16 bf16 int8"},
                {"CDNA3", "tf32 fp16 bf16 fp8_e4m3 fp8_e5m2 int8"},
                {"CDNA4", "fp16 bf16 fp8_e4m3 fp8_e5m2 int8 mxfp8"}};

  for (guint i = 0; i < ls_accelerator_count (); i++) {
    const LsAccelerator *row = ls_accelerator_get (i);
    g_autoptr (GString) native = g_string_new (NULL);
    gboolean known = FALSE;

    for (int f = 0; f < LS_N_FORMATS; f++)
      if (ls_accelerator_is_native (row, (LsFormat) f))
        g_string_append_printf (native, "%s%s", native->len > 0 ? " " : "",
                                ls_format_name ((LsFormat) f));
    for (guint k = 0; k < G_N_ELEMENTS (matrix); k++)
      if (strcmp (matrix[k].architecture, row->architecture) == 0) {
        known = TRUE;
        ck_assert_msg (strcmp (native->str, matrix[k].formats) == 0, "%s: %s, not %s", row->name,
                       native->str, matrix[k].formats);
      }
    ck_assert_msg (known || strcmp (row->vendor, "NVIDIA") != 0, "%s: architecture %s", row->name,
                   row->architecture);
  }
}
END_TEST

/* What really runs: format asked for, on what, in what, at what dense peak in TFLOP/s (data sheets). */
START_TEST (fall_backs) {
  static const struct {
    const char *gpu, *asked, *runs;
    double tflops;
  } cases[] = {{"v100", "fp16", "fp16", 125},         {"v100", "bf16", "fp32", 15.7},
               {"v100", "tf32", "fp32", 15.7},        {"v100", "fp8", "fp32", 15.7},
               {"t4", "bf16", "fp32", 8.1},           {"a100", "fp16", "fp16", 312},
               {"a100", "bf16", "bf16", 312},         {"a100", "fp8", "bf16", 312},
               {"a100", "mxfp8", "bf16", 312},        {"h100", "fp8", "fp8_e4m3", 1978.9},
               {"h100", "nvfp4", "fp8_e4m3", 1978.9}, {"h100", "mxfp8", "fp8_e4m3", 1978.9},
               {"b200", "mxfp8", "mxfp8", 4500},      {"b200", "nvfp4", "nvfp4", 9000},
               {"mi250x", "fp8", "bf16", 191.5},      {"mi300x", "fp8", "fp8_e4m3", 2614.9},
               {"tpu-v4", "fp16", "bf16", 275}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    LsFormat asked = LS_FORMAT_FP64;
    const char *why = NULL;

    ck_assert (ls_format_parse (cases[i].asked, &asked, NULL));
    const LsFormat runs =
        ls_accelerator_effective_format (precision_case_gpu (cases[i].gpu), asked, &why);
    ck_assert_msg (strcmp (ls_format_name (runs), cases[i].runs) == 0, "%s on %s runs as %s",
                   cases[i].asked, cases[i].gpu, ls_format_name (runs));
    ck_assert ((why == NULL) == (runs == asked));
    ck_assert_msg (ls_accelerator_peak (precision_case_gpu (cases[i].gpu), asked) ==
                       cases[i].tflops * 1e12,
                   "%s on %s: %g", cases[i].asked, cases[i].gpu,
                   ls_accelerator_peak (precision_case_gpu (cases[i].gpu), asked));
  }
}
END_TEST

/* bf16 and fp16 are one speed on A100: the same block costs the same to the picosecond. */
START_TEST (half_formats_are_one_speed) {
  g_autoptr (LsWorkload) a = precision_case_new_workload ("fp16", 0, 1);
  g_autoptr (LsWorkload) b = precision_case_new_workload ("bf16", 0, 1);

  a->precision.gradients = b->precision.gradients;
  g_autoptr (LsStage) fp16 = ls_stage_new (a, 0, precision_case_gpu ("a100"));
  g_autoptr (LsStage) bf16 = ls_stage_new (b, 0, precision_case_gpu ("a100"));
  ck_assert_uint_eq (precision_case_block (fp16)->n_backward,
                     precision_case_block (bf16)->n_backward);
  for (guint i = 0; i < precision_case_block (fp16)->n_forward; i++)
    ck_assert_int_eq (precision_case_block (fp16)->forward[i].cost.alone_ps,
                      precision_case_block (bf16)->forward[i].cost.alone_ps);
  for (guint i = 0; i < precision_case_block (fp16)->n_backward; i++)
    ck_assert_int_eq (precision_case_block (fp16)->backward[i].cost.alone_ps,
                      precision_case_block (bf16)->backward[i].cost.alone_ps);
}
END_TEST

/* Bytes per parameter that an update moves: gradient, each moment twice, master copy twice and the parameter
 * (fp32: the parameter twice). In plain tensor code Adam passes 21 times over tensors of 4 bytes. LAMB reads the
 * weights once more and writes and reads its update; LARS reads weights and gradient once more; Adafactor the
 * gradient. */
START_TEST (updates_move_these_bytes) {
  static const struct {
    const char *word;
    LsOptimizerKind kind;
    gboolean fused;
    double bytes;
  } cases[] = {{"bf16", LS_OPTIMIZER_ADAMW, TRUE, 4 + 16 + 8 + 2},
               {"fp32", LS_OPTIMIZER_ADAM, TRUE, 4 + 16 + 8},
               {"fp32", LS_OPTIMIZER_ADAM, FALSE, 84},
               {"fp16", LS_OPTIMIZER_ADAM, TRUE, 2 + 16 + 8 + 2},
               {"bf16", LS_OPTIMIZER_SGD, TRUE, 4 + 8 + 8 + 2},
               {"bf16", LS_OPTIMIZER_LION, TRUE, 4 + 8 + 8 + 2},
               {"bf16", LS_OPTIMIZER_LAMB, TRUE, 4 + 16 + 8 + 2 + 12},
               {"bf16", LS_OPTIMIZER_LARS, TRUE, 4 + 8 + 8 + 2 + 8},
               {"bf16", LS_OPTIMIZER_ADAFACTOR, TRUE, 4 + 8 + 2 + 4}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) workload = precision_case_new_workload (cases[i].word, 0, 1);

    workload->optimizer = (LsOptimizer){.kind = cases[i].kind, .momentum = 0.9};
    workload->software =
        ls_software_with (workload->software, (LsSoftwareChoice){-1, -1, cases[i].fused ? 1 : 0, -1,
                                                                 LS_LAYER_GRAPHS_NONE});
    ck_assert_msg (ls_workload_optimizer_traffic (workload) == cases[i].bytes, "case %u: %g", i,
                   ls_workload_optimizer_traffic (workload));
  }
}
END_TEST

/* States per parameter beside weights and gradients in bf16: master 4 bytes and 4 per moment. */
START_TEST (moments_of_optimizers) {
  static const struct {
    LsOptimizerKind kind;
    double bytes;
  } cases[] = {{LS_OPTIMIZER_ADAM, 18}, {LS_OPTIMIZER_LAMB, 18}, {LS_OPTIMIZER_LION, 14},
               {LS_OPTIMIZER_LARS, 14}, {LS_OPTIMIZER_SGD, 14},  {LS_OPTIMIZER_ADAFACTOR, 10}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) workload = precision_case_new_workload ("bf16", 0, 1);

    workload->optimizer = (LsOptimizer){.kind = cases[i].kind, .momentum = 0.9};
    ck_assert (ls_memory_bytes_per_parameter (workload) == cases[i].bytes);
  }
}
END_TEST

/* The kernel model at its best: a block's matmuls in fp8 take less than in bf16, and at least half. */
START_TEST (narrow_products_are_faster) {
  g_autoptr (LsWorkload) wide = precision_case_new_workload ("bf16", 0, 1);
  g_autoptr (LsWorkload) narrow = precision_case_new_workload ("fp8", 0, 1);
  g_autoptr (LsStage) bf16 = ls_stage_new (wide, 0, precision_case_gpu ("h100"));
  g_autoptr (LsStage) fp8 = ls_stage_new (narrow, 0, precision_case_gpu ("h100"));
  gint64 sum[2] = {0};

  for (guint which = 0; which < 2; which++) {
    const LsLayerPlan *plan = precision_case_block (which == 0 ? bf16 : fp8);

    for (guint i = 0; i < plan->n_forward; i++)
      if (plan->forward[i].kind == LS_KIND_MATMUL)
        sum[which] += plan->forward[i].cost.alone_ps;
  }
  ck_assert_int_lt (sum[1], sum[0]);
  ck_assert_int_gt (2 * sum[1], sum[0]);
}
END_TEST

/* Of one block, or of all that is not a block. */
static gint64 gathered_of (const LsStage *stage, const LsPrecision *precision, gboolean of_block,
                           gint64 *parameters) {
  gint64 bytes = 0;

  *parameters = 0;
  for (guint r = 0; r < stage->n_runs; r++) {
    const LsLayerRun *run = &stage->runs[r];
    if (run->is_block != of_block)
      continue;
    bytes += ls_gathered_bytes (run->plan, precision).dense * (of_block ? 1 : run->count);
    *parameters += run->plan->parameters * (of_block ? 1 : run->count);
  }
  return bytes;
}

/* Of what stage 3 gathers of GPT only the linear maps of blocks, 12 h^2 each, are ever narrow: 1 byte in fp8, 9/16 in
 * nvfp4 (Blackwell). The other 13 h of a block, both tables and the last norm are 2 bytes as they are without it, and so
 * is all of it where parameters are kept wide or a GPU multiplies in 16 bits. */
START_TEST (only_linear_maps_are_gathered_narrow) {
  static const struct {
    const char *word, *gpu;
    gboolean kept;
    double size;
  } cases[] = {{"fp8", "h100", TRUE, 1},
               {"fp8", "h100", FALSE, 2},
               {"fp8", "a100", TRUE, 2},
               {"nvfp4", "b200", TRUE, 0.5625},
               {"bf16", "h100", FALSE, 2}};
  const gint64 maps = 12 * (gint64) H * H;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) workload = precision_case_new_workload (cases[i].word, 3, 8);

    workload->precision.narrow.gathered = cases[i].kept;
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, precision_case_gpu (cases[i].gpu));
    gint64 of_block, rest;
    const gint64 narrow = gathered_of (stage, &workload->precision, TRUE, &of_block);
    const gint64 wide = gathered_of (stage, &workload->precision, FALSE, &rest);

    ck_assert_int_eq (of_block, maps + 13 * (gint64) H);
    ck_assert_int_eq (narrow, (gint64) ((double) maps * cases[i].size) + 2 * 13 * (gint64) H);
    ck_assert_int_gt (rest, 0);
    ck_assert_int_eq (wide, 2 * rest);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("precision");
  TCase *tests = tcase_create ("precision");

  tcase_add_test (tests, a_word_means_bytes);
  tcase_add_test (tests, hybrid_is_both_formats);
  tcase_add_test (tests, support_matrix);
  tcase_add_test (tests, fall_backs);
  tcase_add_test (tests, half_formats_are_one_speed);
  tcase_add_test (tests, updates_move_these_bytes);
  tcase_add_test (tests, moments_of_optimizers);
  tcase_add_test (tests, narrow_products_are_faster);
  tcase_add_test (tests, only_linear_maps_are_gathered_narrow);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  const int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
