/* Scaling to narrow formats: which operands are scaled, by whom, in how many bytes, fused into what, and what is kept of them. */
#include <check.h>
#include <string.h>

#include "precision_case.h"

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
    g_autoptr (LsWorkload) workload = precision_case_new_workload ("fp8", 0, 1);
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, precision_case_gpu (cases[i].gpu));
    const LsLayerPlan *plan = precision_case_block (stage);
    const gint64 sh = (gint64) S * H, matrices = 12 * (gint64) H * H;

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_input"),
                      7 * sh * cases[i].per_element);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "scale_gradient"),
                      9 * sh * cases[i].per_element);
    ck_assert_int_eq (plan->narrow_bytes, matrices * cases[i].copies);
  }
  g_autoptr (LsWorkload) sharded = precision_case_new_workload ("fp8", 3, 8);
  g_autoptr (LsStage) stage = ls_stage_new (sharded, 0, precision_case_gpu ("h100"));
  const LsLayerPlan *plan = precision_case_block (stage);
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
    g_autoptr (LsWorkload) workload = precision_case_new_workload ("fp8", 0, 1);
    const gint64 sh = (gint64) S * H;
    workload->software = &compiled;
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, precision_case_gpu (cases[i].gpu));
    const LsLayerPlan *plan = precision_case_block (stage);

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
    g_autoptr (LsWorkload) workload = precision_case_new_workload ("fp8", zero, 8);

    workload->software = ls_software_find ("pytorch-fsdp2", NULL);
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, precision_case_gpu ("h100"));
    const LsLayerPlan *plan = precision_case_block (stage);
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
    g_autoptr (LsWorkload) workload = precision_case_new_workload ("fp8", 0, 1);

    workload->layout = ls_layout (4, 1, 1);
    workload->sequence_parallel = TRUE;
    workload->precision.narrow.recipe = cases[i].recipe;
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, precision_case_gpu ("h100"));
    const LsLayerPlan *plan = precision_case_block (stage);
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
      g_autoptr (LsWorkload) workload = precision_case_new_workload ("fp8_e4m3", 0, 1);

      workload->layout = ls_layout (cases[i].tensor, 1, 1);
      workload->precision.narrow.recipe = row ? LS_FP8_ROW : LS_FP8_CURRENT;
      g_autoptr (LsStage) stage = ls_stage_new (workload, 0, precision_case_gpu ("h100"));
      const LsLayerPlan *plan = precision_case_block (stage);

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
    g_autoptr (LsWorkload) workload = precision_case_new_workload ("fp8", 0, 1);

    workload->layout = ls_layout (4, 1, 1);
    workload->sequence_parallel = TRUE;
    workload->tensor_overlap = LS_TENSOR_OVERLAP_IDEAL;
    workload->precision.narrow.recipe = recipes[i];
    g_autoptr (LsStage) stage = ls_stage_new (workload, 0, precision_case_gpu ("h100"));
    const LsLayerPlan *plan = precision_case_block (stage);

    ck_assert_int_eq (
        plan->forward[index_of (plan->forward, plan->n_forward, "gather_qkv")].overlaps_next,
        recipes[i] == LS_FP8_CURRENT);
  }
}
END_TEST

/* Korthikanti's 34 s b h less the dropout of this preset; in fp8 the inputs of the four linear maps, 7 s b h
 * elements, are kept in 1 byte instead of 2: 7 s b h bytes less. */
START_TEST (saved_inputs_are_narrow) {
  g_autoptr (LsWorkload) wide = precision_case_new_workload ("bf16", 0, 1);
  g_autoptr (LsWorkload) narrow = precision_case_new_workload ("fp8", 0, 1);
  g_autoptr (LsStage) bf16 = ls_stage_new (wide, 0, precision_case_gpu ("h100"));
  g_autoptr (LsStage) fp8 = ls_stage_new (narrow, 0, precision_case_gpu ("h100"));

  ck_assert_int_eq (ls_layer_plan_saved_bytes (precision_case_block (bf16)) -
                        ls_layer_plan_saved_bytes (precision_case_block (fp8)),
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
  return ls_stage_new (workload, 0, precision_case_gpu (name));
}

START_TEST (attention_in_8_bits_moves_these_bytes) {
  static const struct {
    LsFp8Recipe recipe;
    int scaled, widened;
  } cases[] = {{LS_FP8_DELAYED, 3, 3}, {LS_FP8_CURRENT, 5, 0}};
  const gint64 sh = (gint64) S * H;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) wide = precision_case_new_workload ("fp8", 0, 1),
                           narrow = precision_case_new_workload ("fp8", 0, 1);
    g_autoptr (LsStage) all =
        attention_stage (wide, LS_ATTENTION_FLASH3, cases[i].recipe, FALSE, "b200");
    g_autoptr (LsStage) eight =
        attention_stage (narrow, LS_ATTENTION_FLASH3, cases[i].recipe, TRUE, "b200");
    const LsLayerPlan *plan = precision_case_block (eight);

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_heads"),
                      3 * sh * cases[i].scaled);
    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "widen_attention"),
                      sh * cases[i].widened);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "scale_attention_grad"),
                      sh * cases[i].scaled);
    ck_assert_int_eq (scaled_bytes (plan->backward, plan->n_backward, "widen_heads_grad"),
                      3 * sh * cases[i].widened);
    ck_assert_int_eq (ls_layer_plan_saved_bytes (precision_case_block (all)) -
                          ls_layer_plan_saved_bytes (plan),
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
    g_autoptr (LsWorkload) wide = precision_case_new_workload ("fp8", 0, 1),
                           narrow = precision_case_new_workload ("fp8", 0, 1);
    g_autoptr (LsStage) all =
        attention_stage (wide, cases[i].kernel, LS_FP8_DELAYED, FALSE, cases[i].gpu);
    g_autoptr (LsStage) eight =
        attention_stage (narrow, cases[i].kernel, LS_FP8_DELAYED, TRUE, cases[i].gpu);

    ck_assert_uint_eq (precision_case_block (all)->n_forward,
                       precision_case_block (eight)->n_forward);
    ck_assert_uint_eq (precision_case_block (all)->n_backward,
                       precision_case_block (eight)->n_backward);
    ck_assert_int_eq (ls_layer_plan_saved_bytes (precision_case_block (all)),
                      ls_layer_plan_saved_bytes (precision_case_block (eight)));
  }
}
END_TEST

/* Logits in 8 bits: h inputs and V gradients per token are scaled as those of blocks are (2 + 1 bytes on a B200), h inputs are
 * kept in 1 byte instead of 2, and the three products take 8 bits' rate; an A100 has none. */
START_TEST (logits_in_8_bits_are_a_linear_map_of_a_block) {
  static const char *const gpus[] = {"b200", "a100"};

  for (guint i = 0; i < G_N_ELEMENTS (gpus); i++) {
    g_autoptr (LsWorkload) wide = precision_case_new_workload ("fp8", 0, 1),
                           narrow = precision_case_new_workload ("fp8", 0, 1);
    narrow->precision.narrow_logits = TRUE;
    g_autoptr (LsStage) all = ls_stage_new (wide, 0, precision_case_gpu (gpus[i]));
    g_autoptr (LsStage) eight = ls_stage_new (narrow, 0, precision_case_gpu (gpus[i]));
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
  return ls_stage_new (workload, 0, precision_case_gpu (name));
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
    const LsLayerPlan *plan = precision_case_block (stage);

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
    const LsLayerPlan *plan = precision_case_block (stage);

    ck_assert_int_eq (scaled_bytes (plan->forward, plan->n_forward, "scale_input"),
                      s * (3 * h + f) * in - s * (2 * h + f) * less);
    /* Three kernels of a third of the bytes each, by row. */
    ck_assert_int_le (ABS (scaled_bytes (plan->backward, plan->n_backward, "scale_gradient") -
                           s * (5 * h + 2 * f) * out + s * (4 * h + 2 * f) * less),
                      3);
  }
  g_autoptr (LsWorkload) split = precision_case_new_workload ("fp8", 0, 1);
  split->software = ls_software_find ("pytorch-fsdp2", NULL);
  split->layout = ls_layout (4, 1, 1);
  split->sequence_parallel = TRUE;
  split->precision.narrow.recipe = LS_FP8_ROW;
  g_autoptr (LsStage) stage = ls_stage_new (split, 0, precision_case_gpu ("h100"));
  const LsLayerPlan *plan = precision_case_block (stage);
  const guint scale = index_of (plan->forward, plan->n_forward, "scale_input");
  ck_assert_int_eq (plan->forward[scale].cost.bytes, s * H * 3);
}
END_TEST

/* Heads that are exchanged over context ranks (all-to-all) travel in 1 byte: queries, keys, values and the output forward,
 * and their gradients, 8 s h / c elements in all. */
START_TEST (heads_are_exchanged_in_8_bits) {
  gint64 sum[2] = {0};

  for (guint narrow = 0; narrow < 2; narrow++) {
    g_autoptr (LsWorkload) workload = precision_case_new_workload ("fp8", 0, 1);

    workload->layout.context = 4;
    workload->layout.ranks = 4;
    workload->context_kind = LS_CONTEXT_ALL_TO_ALL;
    g_autoptr (LsStage) stage =
        attention_stage (workload, LS_ATTENTION_FLASH3, LS_FP8_DELAYED, narrow == 1, "b200");
    const LsLayerPlan *plan = precision_case_block (stage);

    for (guint i = 0; i < plan->n_forward; i++)
      sum[narrow] += plan->forward[i].collective_bytes;
    for (guint i = 0; i < plan->n_backward; i++)
      sum[narrow] += plan->backward[i].collective_bytes;
  }
  ck_assert_int_eq (sum[1], 8 * (gint64) S * H / 4);
  ck_assert_int_eq (sum[0], 2 * sum[1]);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("scaling");
  TCase *tests = tcase_create ("scaling");

  tcase_add_test (tests, scaling_moves_these_bytes);
  tcase_add_test (tests, operands_are_scaled);
  tcase_add_test (tests, a_compiler_reads_gradients_for_each_copy);
  tcase_add_test (tests, operands_travel_as_they_are_scaled);
  tcase_add_test (tests, weights_are_scaled_in_each_pass_by_torchao);
  tcase_add_test (tests, scales_per_row_slow_products);
  tcase_add_test (tests, scales_per_row_part_gather_and_product);
  tcase_add_test (tests, saved_inputs_are_narrow);
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
