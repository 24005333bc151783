/* Number formats of a row of a training table, see docs/validation.md. */
#include "cli/training_reader.h"

/* NVIDIA's Llama 405B of MLPerf 5.1 on GB300: the table's script is that of 8 bits, but the submission names the one of 4 bits
 * beside it (training_results_v5.1, NVIDIA/benchmarks/llama31_405b/implementations/theia_ngpu512_ngc25.09_nemo/README-*.md:
 * config_GB300_128x4x72xtp2pp8cp2_cg_fp4.sh), as those on GB200 do (tyche, hsg). It leaves TP_COMM_OVERLAP out, which is
 * false in the table's row of its like on GB200. Of that submission alone, by its layout. */
gboolean ls_training_runs_in_fp4 (const Reader *reader) {
  return says (reader, "source", "training_results_v5.1") && says (reader, "model", "405b") &&
         says (reader, "gpu", "gb300") && says (reader, "precision", "fp8") &&
         g_str_equal (text (reader, "gpus"), "512") && g_str_equal (text (reader, "tp"), "2");
}

/* Words of the column and the formats that they mean, the first that is in it. The release pages of Megatron-Bridge leave out
 * the format where it is their default: 8 bits. */
static const struct {
  const char *word, *format;
} words[] = {
    {"fp4", "nvfp4"},
    {"mxfp8", "mxfp8"},
    {"fp8-mx", "mxfp8"},
    {"fp8", "fp8"},
    {"float8", "fp8"},
    {"e4m3", "fp8"},
    {"default of this release", "fp8"},
    {"fp16", "fp16"},
    {"bfloat16", "bf16"},
    {"bf16", "bf16"},
    {"float16", "fp16"},
    {"half", "fp16"},
    {"tf32", "tf32"},
    {"fp32", "fp32"},
    {"float32", "fp32"},
};

/* Of a row that states none: what its framework's mixed precision is on that accelerator. */
static const char *unstated_format (const Reader *reader) {
  const LsAccelerator *gpu = ls_accelerator_for_text (text (reader, "gpu"));

  return gpu != NULL && !ls_accelerator_is_native (gpu, LS_FORMAT_BF16) &&
                 ls_accelerator_is_native (gpu, LS_FORMAT_FP16)
             ? "fp16"
             : "bf16";
}

static const char *format_of (const Reader *reader, const char **unknown) {
  const char *field = text (reader, "precision");

  if (ls_training_runs_in_fp4 (reader))
    return "nvfp4";
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (says (reader, "precision", words[i].word))
      return words[i].format;
  if (*field != '\0' && !says (reader, "precision", "not stated") &&
      !says (reader, "precision", "not found") && !says (reader, "precision", "mixed") &&
      !says (reader, "precision", "amp"))
    *unknown = field;
  return unstated_format (reader);
}

/* Attention in 8 bits: a script that says how its scales are found sets FP8_DPA (config_common_fp8attn.sh of MLPerf 5.1), and
 * so do all of NVIDIA's for adapters (config_common.sh of 5.0 and 5.1: FP8_DPA=1, NVTE_FP8_DPA_BWD=1). */
static gboolean attends_narrow (const Reader *reader, const LsTrainingRow *row) {
  LsFormat compute = LS_FORMAT_BF16;

  if (!ls_format_parse (row->compute_format, &compute, NULL) || !ls_format_is_narrow (compute) ||
      says (reader, "other_config", "nvte_dpa_fp8_recipe=f16"))
    return FALSE;
  return says (reader, "other_config", "nvte_dpa_fp8_recipe=delayedscaling") ||
         says (reader, "other_config", "nvte_dpa_fp8_recipe=float8currentscaling") ||
         (says (reader, "model", "lora") && says (reader, "model", "mlperf"));
}

void ls_training_read_precision (const Reader *reader, LsTrainingRow *out) {
  out->compute_format = format_of (reader, &out->unknown_precision);
  /* torchao finds scales from the tensor itself, one for it or one per row, and then e4m3 both ways.
   * source: torchao/float8/config.py, Float8LinearConfig. */
  if (of_torchtitan (reader) && g_str_equal (out->compute_format, "fp8"))
    out->scaling = says (reader, "precision", "rowwise") ? "row" : "current";
  /* Transformer Engine's Float8CurrentScaling, by Megatron-Core's name for it. */
  else if (g_str_equal (out->compute_format, "fp8") &&
           (says (reader, "other_config", "fp8_recipe=tensorwise") ||
            says (reader, "precision", "fp8-cs")))
    out->scaling = "current";
  if (out->scaling != NULL && g_str_equal (out->scaling, "row"))
    out->compute_format = "fp8_e4m3";
  out->narrow_attention = attends_narrow (reader, out);
  /* Performance recipes keep and reduce gradients in 16 bits: NeMo 2's beside 8-bit products, Megatron-Bridge's beside any
   * (scripts/performance/configs, grad_reduce_in_fp32 False in set_*_common_configs: deepseek @0132842, gpt_oss @0501207,
   * llama @0013c9a, qwen @05c0c90). */
  const gboolean fp16 = g_str_equal (out->compute_format, "fp16");

  /* DeepSpeed's FP16 optimizers sum micro-batches in what autograd makes, fp16 (stage_1_and_2.py). */
  out->half_gradients = fp16 ? says (reader, framework (reader), "deepspeed")
                             : of_nemo (reader) && (strstr (out->compute_format, "fp") ||
                                                    says (reader, "framework", "bridge"));
  out->pure_16_bit = says (reader, "other_config", "mixed_precision=pure");
  /* torchtitan's training.mixed_precision_reduce is float32. */
  out->fp32_reduce =
      of_torchtitan (reader) || says (reader, "other_config", "grads reduced fp32") ||
      says (reader, "precision", "fp32 grad") || says (reader, "precision", "fp32 reduce") ||
      says (reader, "precision", "fp32 grad accumulation");
}
