/* Number formats of a job: what one word means in bytes, who multiplies in which format, what scaling moves. */
#include <check.h>
#include <string.h>

#include "hw/catalogue.h"
#include "train/memory/gathered_bytes.h"
#include "train/memory/memory.h"

#define GPT "gpt-22b"
#define H 6144
#define F (4 * H)
#define S 2048

static LsWorkload *workload_of (const char *word, int stage, guint data) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset (GPT, NULL), data);

  workload->layout = ls_layout (1, data, 1);
  workload->micro_batch = 1;
  workload->global_batch = data;
  workload->seq_len = S;
  workload->attention = LS_ATTENTION_FLASH2;
  workload->zero.stage = stage;
  workload->precision = ls_precision_of_word (word);
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

static const LsAccelerator *gpu (const char *name) {
  const LsAccelerator *row = ls_accelerator_find (name, NULL);

  ck_assert_msg (row != NULL, "%s", name);
  return row;
}

static const LsLayerPlan *block (const LsStage *stage) {
  for (guint r = 0; r < stage->n_runs; r++)
    if (stage->runs[r].is_block)
      return stage->runs[r].plan;
  ck_abort_msg ("no block");
}

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
    g_autoptr (LsWorkload) workload = workload_of (words[i].word, 0, 1);

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
    const LsFormat runs = ls_accelerator_effective_format (gpu (cases[i].gpu), asked, &why);
    ck_assert_msg (strcmp (ls_format_name (runs), cases[i].runs) == 0, "%s on %s runs as %s",
                   cases[i].asked, cases[i].gpu, ls_format_name (runs));
    ck_assert ((why == NULL) == (runs == asked));
    ck_assert_msg (ls_accelerator_peak (gpu (cases[i].gpu), asked) == cases[i].tflops * 1e12,
                   "%s on %s: %g", cases[i].asked, cases[i].gpu,
                   ls_accelerator_peak (gpu (cases[i].gpu), asked));
  }
}
END_TEST

/* bf16 and fp16 are one speed on A100: the same block costs the same to the picosecond. */
START_TEST (half_formats_are_one_speed) {
  g_autoptr (LsWorkload) a = workload_of ("fp16", 0, 1);
  g_autoptr (LsWorkload) b = workload_of ("bf16", 0, 1);

  a->precision.gradients = b->precision.gradients;
  g_autoptr (LsStage) fp16 = ls_stage_new (a, 0, gpu ("a100"));
  g_autoptr (LsStage) bf16 = ls_stage_new (b, 0, gpu ("a100"));
  ck_assert_uint_eq (block (fp16)->n_backward, block (bf16)->n_backward);
  for (guint i = 0; i < block (fp16)->n_forward; i++)
    ck_assert_int_eq (block (fp16)->forward[i].cost.alone_ps,
                      block (bf16)->forward[i].cost.alone_ps);
  for (guint i = 0; i < block (fp16)->n_backward; i++)
    ck_assert_int_eq (block (fp16)->backward[i].cost.alone_ps,
                      block (bf16)->backward[i].cost.alone_ps);
}
END_TEST

/* Bytes that scaling moves per element of 16 bits (precision.h): delayed 2 + 1 c, current 4 + 1 c, block 2 +
 * q c, nvfp4 4 + q c with q = 1 + 1/32 and 1/2 + 1/16. */
START_TEST (scaling_moves_these_bytes) {
  LsPrecision p = ls_precision_of_word ("fp8");

  ck_assert (ls_precision_scaling_bytes (&p, LS_FORMAT_BF16, LS_FORMAT_FP8_E4M3, 2) == 4);
  ck_assert (ls_precision_scaling_bytes (&p, LS_FORMAT_BF16, LS_FORMAT_FP8_E4M3, 1) == 3);
  p.narrow.recipe = LS_FP8_ROW;
  ck_assert (ls_precision_scaling_bytes (&p, LS_FORMAT_BF16, LS_FORMAT_FP8_E4M3, 1) == 3);
  ck_assert (ls_precision_scaling_bytes (&p, LS_FORMAT_BF16, LS_FORMAT_FP8_E4M3, 2) == 3 + 5);
  p.narrow.recipe = LS_FP8_CURRENT;
  ck_assert (ls_precision_scaling_bytes (&p, LS_FORMAT_BF16, LS_FORMAT_FP8_E4M3, 2) == 6);
  p = ls_precision_of_word ("mxfp8");
  ck_assert (ls_precision_scaling_bytes (&p, LS_FORMAT_BF16, LS_FORMAT_MXFP8, 2) == 4.0625);
  p = ls_precision_of_word ("nvfp4");
  ck_assert (ls_precision_scaling_bytes (&p, LS_FORMAT_BF16, LS_FORMAT_NVFP4, 2) == 5.125);
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
    g_autoptr (LsWorkload) workload = workload_of (cases[i].word, 0, 1);

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
    g_autoptr (LsWorkload) workload = workload_of ("bf16", 0, 1);

    workload->optimizer = (LsOptimizer){.kind = cases[i].kind, .momentum = 0.9};
    ck_assert (ls_memory_bytes_per_parameter (workload) == cases[i].bytes);
  }
}
END_TEST

static gint64 scaled_bytes (const LsLayerOp *ops, guint n, const char *name) {
  gint64 bytes = 0;

  for (guint i = 0; i < n; i++)
    if (strcmp (ops[i].name, name) == 0)
      bytes += ops[i].cost.bytes;
  return bytes;
}

static double logits_ps (const LsLayerPlan *plan) {
  for (guint i = 0; i < plan->n_forward; i++)
    if (strcmp (plan->forward[i].name, "logits") == 0)
      return (double) plan->forward[i].cost.alone_ps;
  ck_abort_msg ("no logits");
}

/* A GPT block has linear maps of inputs h, h, h, 4h and outputs 3h, h, 4h, h: per token 7 h inputs and 9 h
 * gradients are scaled. On H100 both passes need a copy (4 bytes each with delayed scaling), on B200 one does
 * for both (3 bytes); A100 scales nothing. Weights: 12 h^2 in 1 byte, twice, once; gathered ones (stage 3) are
 * scaled in the layer and one copy is kept for the backward pass. */
START_TEST (operands_are_scaled) {
  static const struct {
    const char *gpu;
    int per_element, copies;
  } cases[] = {{"h100", 4, 2}, {"b200", 3, 1}, {"a100", 0, 0}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) workload = workload_of ("fp8", 0, 1);
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu (cases[i].gpu));
    const LsLayerPlan *plan = block (stage);
    const gint64 sh = (gint64) S * H, matrices = 12 * (gint64) H * H;

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_input"),
                      7 * sh * cases[i].per_element);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "scale_gradient"),
                      9 * sh * cases[i].per_element);
    ck_assert_int_eq (plan->narrow_bytes, matrices * cases[i].copies);
  }
  g_autoptr (LsWorkload) sharded = workload_of ("fp8", 3, 8);
  g_autoptr (LsStage) stage = ls_stage_new (sharded, 0, gpu ("h100"));
  const LsLayerPlan *plan = block (stage);
  ck_assert_int_eq (plan->narrow_bytes, 0);
  ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_weight"),
                    4 * 12 * (gint64) H * H);
}
END_TEST

/* PyTorch's compiler reads a gradient for each of its two narrow copies: 2 bytes more of each where there are two (H100),
 * none where one does for both (B200); inputs are as without it. source: PyTorch issue 133242. */
START_TEST (a_compiler_reads_gradients_for_each_copy) {
  static const struct {
    const char *gpu;
    int per_input, per_gradient;
  } cases[] = {{"h100", 4, 4 + 2}, {"b200", 3, 3}};
  LsSoftware compiled = *ls_software_get (0);

  compiled.compiled = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) workload = workload_of ("fp8", 0, 1);
    const gint64 sh = (gint64) S * H;
    workload->software = &compiled;
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu (cases[i].gpu));
    const LsLayerPlan *plan = block (stage);

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_input"),
                      7 * sh * cases[i].per_input);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "scale_gradient"),
                      9 * sh * cases[i].per_gradient);
  }
}
END_TEST

/* torchao makes the narrow weights of the wide ones in every forward pass, whatever the stage: nothing stays, and a pass
 * reads 2 bytes and writes two copies (delayed scaling: one read). */
START_TEST (weights_are_scaled_in_each_pass_by_torchao) {
  for (int zero = 0; zero <= 3; zero += 1) {
    g_autoptr (LsWorkload) workload = workload_of ("fp8", zero, 8);

    workload->software = ls_software_find ("pytorch-fsdp2", NULL);
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ("h100"));
    const LsLayerPlan *plan = block (stage);
    ck_assert_int_eq (plan->narrow_bytes, 0);
    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_weight"),
                      4 * 12 * (gint64) H * H);
  }
}
END_TEST

static guint index_of (const LsLayerOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (strcmp (ops[i].name, name) == 0)
      return i;
  ck_abort_msg ("no %s", name);
}

/* With sequence parallelism over t ranks an operand with one scale is scaled by its owner (1/t of it), gathered in 1
 * byte per element, and the gather is right before the product that it may run beside. One with a scale per row is
 * gathered in 2 bytes and scaled in whole behind it. */
START_TEST (operands_travel_as_they_are_scaled) {
  static const struct {
    LsFp8Recipe recipe;
    gint64 gathered;
    gboolean product_next;
    int per_element, share;
  } cases[] = {{LS_FP8_DELAYED, 1, TRUE, 4, 4}, {LS_FP8_ROW, 2, FALSE, 3, 1}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) workload = workload_of ("fp8", 0, 1);

    workload->layout = ls_layout (4, 1, 1);
    workload->sequence_parallel = TRUE;
    workload->precision.narrow.recipe = cases[i].recipe;
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ("h100"));
    const LsLayerPlan *plan = block (stage);
    const guint gather = index_of (plan->forward, plan->n_forward, "gather_qkv");
    const guint scale = index_of (plan->forward, plan->n_forward, "scale_input");
    const guint back = index_of (plan->backward, plan->n_backward, "gather_mlp_grad");

    ck_assert_int_eq (plan->forward[gather].collective_bytes, (gint64) S * H * cases[i].gathered);
    ck_assert_int_eq (plan->backward[back].collective_bytes, (gint64) S * H * cases[i].gathered);
    ck_assert ((strcmp (plan->forward[gather + 1].name, "qkv") == 0) == cases[i].product_next);
    ck_assert ((scale < gather) == cases[i].product_next);
    ck_assert_int_eq (plan->forward[scale].cost.bytes,
                      (gint64) S * H * cases[i].per_element / cases[i].share);
    if (cases[i].recipe == LS_FP8_ROW) /* by columns in the backward pass, with two reads */
      ck_assert_int_eq (
          plan->backward[index_of (plan->backward, plan->n_backward, "scale_input_columns")]
              .cost.bytes,
          (gint64) S * 4 * H / 4 * 5);
  }
}
END_TEST

/* Products with a scale per row against those with one per tensor: torchtitan commit 7a04053 without tensor ranks, torchtitan
 * issue 1207 with two. Each has two operands of 1 byte, so that its tiles and waves are the same. */
START_TEST (scales_per_row_slow_products) {
  static const struct {
    guint tensor;
    double rate;
  } cases[] = {{1, 0.80}, {2, 0.64}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double compute_s[2];

    for (guint row = 0; row < 2; row++) {
      g_autoptr (LsWorkload) workload = workload_of ("fp8_e4m3", 0, 1);

      workload->layout = ls_layout (cases[i].tensor, 1, 1);
      workload->precision.narrow.recipe = row ? LS_FP8_ROW : LS_FP8_CURRENT;
      g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ("h100"));
      const LsLayerPlan *plan = block (stage);

      compute_s[row] =
          plan->forward[index_of (plan->forward, plan->n_forward, "mlp_up")].cost.compute_s;
    }
    ck_assert_double_eq_tol (compute_s[0] / compute_s[1], cases[i].rate, 1e-3);
  }
}
END_TEST

/* Asynchronous tensor parallelism: what is scaled before it travels is gathered beside its product, what is scaled by row
 * behind its gather is not (PyTorch issue 149990). */
START_TEST (scales_per_row_part_gather_and_product) {
  static const LsFp8Recipe recipes[] = {LS_FP8_CURRENT, LS_FP8_ROW};

  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++) {
    g_autoptr (LsWorkload) workload = workload_of ("fp8", 0, 1);

    workload->layout = ls_layout (4, 1, 1);
    workload->sequence_parallel = TRUE;
    workload->tensor_overlap = LS_TENSOR_OVERLAP_IDEAL;
    workload->precision.narrow.recipe = recipes[i];
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu ("h100"));
    const LsLayerPlan *plan = block (stage);

    ck_assert_int_eq (
        plan->forward[index_of (plan->forward, plan->n_forward, "gather_qkv")].overlaps_next,
        recipes[i] == LS_FP8_CURRENT);
  }
}
END_TEST

/* Korthikanti's 34 s b h less the dropout of this preset; in fp8 the inputs of the four linear maps, 7 s b h
 * elements, are kept in 1 byte instead of 2: 7 s b h bytes less. */
START_TEST (saved_inputs_are_narrow) {
  g_autoptr (LsWorkload) wide = workload_of ("bf16", 0, 1);
  g_autoptr (LsWorkload) narrow = workload_of ("fp8", 0, 1);
  g_autoptr (LsStage) bf16 = ls_stage_new (wide, 0, gpu ("h100"));
  g_autoptr (LsStage) fp8 = ls_stage_new (narrow, 0, gpu ("h100"));

  ck_assert_int_eq (ls_layer_plan_saved_bytes (block (bf16)) -
                        ls_layer_plan_saved_bytes (block (fp8)),
                    7 * (gint64) S * H);
}
END_TEST

/* A GPT block on a B200 with attention in 8 bits: 3 h queries, keys and values per token are scaled (2 + 1 bytes) and kept in
 * 1 byte, h gradients of its output are scaled; with delayed scaling h outputs and 3 h gradients are widened (1 + 2
 * bytes), with current scaling none, and scaling reads twice. Saved bytes are 3 s b h less. An A100, or FlashAttention 2,
 * has no such kernel: nothing changes. source: TransformerEngine, FusedAttnFunc. */
static LsStage *attention_stage (LsWorkload *workload, LsAttention kernel, LsFp8Recipe recipe,
                                 gboolean narrow, const char *name) {
  workload->attention = kernel;
  workload->precision.narrow.recipe = recipe;
  workload->precision.narrow_attention = narrow;
  return ls_stage_new (workload, 0, gpu (name));
}

START_TEST (attention_in_8_bits_moves_these_bytes) {
  static const struct {
    LsFp8Recipe recipe;
    int scaled, widened;
  } cases[] = {{LS_FP8_DELAYED, 3, 3}, {LS_FP8_CURRENT, 5, 0}};
  const gint64 sh = (gint64) S * H;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) wide = workload_of ("fp8", 0, 1), narrow = workload_of ("fp8", 0, 1);
    g_autoptr (LsStage) all =
        attention_stage (wide, LS_ATTENTION_FLASH3, cases[i].recipe, FALSE, "b200");
    g_autoptr (LsStage) eight =
        attention_stage (narrow, LS_ATTENTION_FLASH3, cases[i].recipe, TRUE, "b200");
    const LsLayerPlan *plan = block (eight);

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_heads"),
                      3 * sh * cases[i].scaled);
    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "widen_attention"),
                      sh * cases[i].widened);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "scale_attention_grad"),
                      sh * cases[i].scaled);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "widen_heads_grad"),
                      3 * sh * cases[i].widened);
    ck_assert_int_eq (ls_layer_plan_saved_bytes (block (all)) - ls_layer_plan_saved_bytes (plan),
                      3 * sh);
  }
}
END_TEST

START_TEST (attention_stays_wide_without_a_kernel) {
  static const struct {
    const char *gpu;
    LsAttention kernel;
  } cases[] = {{"a100", LS_ATTENTION_FLASH3}, {"b200", LS_ATTENTION_FLASH2}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) wide = workload_of ("fp8", 0, 1), narrow = workload_of ("fp8", 0, 1);
    g_autoptr (LsStage) all =
        attention_stage (wide, cases[i].kernel, LS_FP8_DELAYED, FALSE, cases[i].gpu);
    g_autoptr (LsStage) eight =
        attention_stage (narrow, cases[i].kernel, LS_FP8_DELAYED, TRUE, cases[i].gpu);

    ck_assert_uint_eq (block (all)->n_forward, block (eight)->n_forward);
    ck_assert_uint_eq (block (all)->n_backward, block (eight)->n_backward);
    ck_assert_int_eq (ls_layer_plan_saved_bytes (block (all)),
                      ls_layer_plan_saved_bytes (block (eight)));
  }
}
END_TEST

/* Logits in 8 bits: h inputs and V gradients per token are scaled as those of blocks are (2 + 1 bytes on a B200), h inputs are
 * kept in 1 byte instead of 2, and the three products take 8 bits' rate; an A100 has none. */
START_TEST (logits_in_8_bits_are_a_linear_map_of_a_block) {
  static const char *const gpus[] = {"b200", "a100"};

  for (guint i = 0; i < G_N_ELEMENTS (gpus); i++) {
    g_autoptr (LsWorkload) wide = workload_of ("fp8", 0, 1), narrow = workload_of ("fp8", 0, 1);
    narrow->precision.narrow_logits = TRUE;
    g_autoptr (LsStage) all = ls_stage_new (wide, 0, gpu (gpus[i]));
    g_autoptr (LsStage) eight = ls_stage_new (narrow, 0, gpu (gpus[i]));
    const LsLayerPlan *before = all->runs[all->n_runs - 1].plan;
    const LsLayerPlan *plan = eight->runs[eight->n_runs - 1].plan;
    const gint64 on = i == 0 ? 1 : 0;

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_input"),
                      on * 3 * (gint64) S * H);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "scale_gradient"),
                      on * 3 * (gint64) S * wide->vocab);
    ck_assert_int_eq (ls_layer_plan_saved_bytes (before) - ls_layer_plan_saved_bytes (plan),
                      on * (gint64) S * H);
    ck_assert ((logits_ps (plan) < 0.6 * logits_ps (before)) == (on == 1));
  }
}
END_TEST

/* Llama 2 7B (h = 4096, f = 11008) with the operation fuser: of the inputs only those of qkv and the projection are scaled by
 * themselves, of the gradients not the 2 f of the map up; the norm before the MLP writes c bytes instead of 2, the activation
 * (two reads, one write of f) and its gradient (three reads, two writes) too, c copies: H100 two, B200 one. With current
 * scaling nothing changes. */
static LsStage *fused_stage (LsWorkload *workload, LsFp8Recipe recipe, gboolean fused,
                             const char *name) {
  workload->layout = ls_layout (1, 1, 1);
  workload->micro_batch = workload->global_batch = 1;
  workload->seq_len = S;
  workload->precision = ls_precision_of_word ("fp8");
  workload->precision.narrow.recipe = recipe;
  workload->precision.narrow.fused = fused;
  ck_assert (ls_workload_resolve (workload, NULL));
  return ls_stage_new (workload, 0, gpu (name));
}

START_TEST (fused_passes_write_what_products_read) {
  static const struct {
    const char *gpu;
    LsFp8Recipe recipe;
    gint64 copies;
  } cases[] = {
      {"h100", LS_FP8_DELAYED, 2}, {"b200", LS_FP8_DELAYED, 1}, {"b200", LS_FP8_CURRENT, 1}};
  const gint64 h = 4096, f = 11008, s = S;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gboolean known = cases[i].recipe == LS_FP8_DELAYED;
    const gint64 c = cases[i].copies, reads = known ? 1 : 2, written = known ? c : 2;
    g_autoptr (LsWorkload) workload =
        ls_workload_new_default (ls_model_new_preset ("llama2-7b", NULL), 1);
    g_autoptr (LsStage) stage = fused_stage (workload, cases[i].recipe, TRUE, cases[i].gpu);
    const LsLayerPlan *plan = block (stage);

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_input"),
                      s * (2 * h + (known ? 0 : h + f)) * (2 * reads + c));
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "scale_gradient"),
                      s * (5 * h + (known ? 0 : 2 * f)) * (2 * reads + c));
    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "norm2"),
                      s * h * (2 + written));
    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "swiglu"),
                      s * f * (4 + written));
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "swiglu_grad"),
                      s * f * (6 + 2 * written));
  }
}
END_TEST

/* A compiler finds the largest values of what a norm, an activation or a sum writes as it writes them, and scales rows of it
 * at once: a read of 2 bytes less an element. Not of what attention made, of a gradient that comes from the block behind,
 * nor of what was gathered (a scale per row, over tensor ranks). Without a compiler all is read. source: PyTorch pull request
 * 111122. Elements of a token: h, h, h, f forward and h, 2 f, h, 3 h backward. */
START_TEST (a_compiler_scales_what_it_writes) {
  static const struct {
    const char *software;
    LsFp8Recipe recipe;
    gint64 input, gradient, saved;
  } cases[] = {{"pytorch-fsdp2", LS_FP8_CURRENT, 6, 8, 2},
               {"pytorch-fsdp2", LS_FP8_ROW, 3, 8, 2},
               {"pytorch-fsdp2-eager", LS_FP8_CURRENT, 6, 6, 0}};
  const gint64 h = 4096, f = 11008, s = S;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gint64 in = cases[i].input, out = cases[i].gradient, less = cases[i].saved;
    g_autoptr (LsWorkload) workload =
        ls_workload_new_default (ls_model_new_preset ("llama2-7b", NULL), 1);
    workload->software = ls_software_find (cases[i].software, NULL);
    g_autoptr (LsStage) stage = fused_stage (workload, cases[i].recipe, FALSE, "h100");
    const LsLayerPlan *plan = block (stage);

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_input"),
                      s * (3 * h + f) * in - s * (2 * h + f) * less);
    /* Three kernels of a third of the bytes each, by row. */
    ck_assert_int_le (ABS (scaled_bytes (plan->backward, plan->n_backward, "scale_gradient") -
                           s * (5 * h + 2 * f) * out + s * (4 * h + 2 * f) * less),
                      3);
  }
  g_autoptr (LsWorkload) split = workload_of ("fp8", 0, 1);
  split->software = ls_software_find ("pytorch-fsdp2", NULL);
  split->layout = ls_layout (4, 1, 1);
  split->sequence_parallel = TRUE;
  split->precision.narrow.recipe = LS_FP8_ROW;
  g_autoptr (LsStage) stage = ls_stage_new (split, 0, gpu ("h100"));
  const LsLayerPlan *plan = block (stage);
  const guint scale = index_of (plan->forward, plan->n_forward, "scale_input");
  ck_assert_int_eq (plan->forward[scale].cost.bytes, s * H * 3);
}
END_TEST

/* Heads that are exchanged over context ranks (all-to-all) travel in 1 byte: queries, keys, values and the output forward,
 * and their gradients, 8 s h / c elements in all. */
START_TEST (heads_are_exchanged_in_8_bits) {
  gint64 sum[2] = {0};

  for (guint narrow = 0; narrow < 2; narrow++) {
    g_autoptr (LsWorkload) workload = workload_of ("fp8", 0, 1);

    workload->layout.context = 4;
    workload->layout.ranks = 4;
    workload->context_kind = LS_CONTEXT_ALL_TO_ALL;
    g_autoptr (LsStage) stage =
        attention_stage (workload, LS_ATTENTION_FLASH3, LS_FP8_DELAYED, narrow == 1, "b200");
    const LsLayerPlan *plan = block (stage);

    for (guint i = 0; i < plan->n_forward; i++)
      sum[narrow] += plan->forward[i].collective_bytes;
    for (guint i = 0; i < plan->n_backward; i++)
      sum[narrow] += plan->backward[i].collective_bytes;
  }
  ck_assert_int_eq (sum[1], 8 * (gint64) S * H / 4);
  ck_assert_int_eq (sum[0], 2 * sum[1]);
}
END_TEST

/* The kernel model at its best: a block's matmuls in fp8 take less than in bf16, and at least half. */
START_TEST (narrow_products_are_faster) {
  g_autoptr (LsWorkload) wide = workload_of ("bf16", 0, 1);
  g_autoptr (LsWorkload) narrow = workload_of ("fp8", 0, 1);
  g_autoptr (LsStage) bf16 = ls_stage_new (wide, 0, gpu ("h100"));
  g_autoptr (LsStage) fp8 = ls_stage_new (narrow, 0, gpu ("h100"));
  gint64 sum[2] = {0};

  for (guint which = 0; which < 2; which++) {
    const LsLayerPlan *plan = block (which == 0 ? bf16 : fp8);

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
    g_autoptr (LsWorkload) workload = workload_of (cases[i].word, 3, 8);

    workload->precision.narrow.gathered = cases[i].kept;
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, gpu (cases[i].gpu));
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
  tcase_add_test (tests, scaling_moves_these_bytes);
  tcase_add_test (tests, operands_are_scaled);
  tcase_add_test (tests, a_compiler_reads_gradients_for_each_copy);
  tcase_add_test (tests, operands_travel_as_they_are_scaled);
  tcase_add_test (tests, weights_are_scaled_in_each_pass_by_torchao);
  tcase_add_test (tests, scales_per_row_slow_products);
  tcase_add_test (tests, scales_per_row_part_gather_and_product);
  tcase_add_test (tests, saved_inputs_are_narrow);
  tcase_add_test (tests, updates_move_these_bytes);
  tcase_add_test (tests, moments_of_optimizers);
  tcase_add_test (tests, narrow_products_are_faster);
  tcase_add_test (tests, only_linear_maps_are_gathered_narrow);
  tcase_add_test (tests, attention_in_8_bits_moves_these_bytes);
  tcase_add_test (tests, attention_stays_wide_without_a_kernel);
  tcase_add_test (tests, logits_in_8_bits_are_a_linear_map_of_a_block);
  tcase_add_test (tests, heads_are_exchanged_in_8_bits);
  tcase_add_test (tests, fused_passes_write_what_products_read);
  tcase_add_test (tests, a_compiler_scales_what_it_writes);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  const int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
