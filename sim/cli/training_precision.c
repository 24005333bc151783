/* Number formats of a row of a training table, see docs/validation.md. */
#include "cli/training_reader.h"

/* NVIDIA's Llama 405B of MLPerf 5.1 on GB300: the table's script is that of 8 bits, but the submission names the one of 4 bits
 * beside it (training_results_v5.1, NVIDIA/benchmarks/llama31_405b/implementations/theia_ngpu512_ngc25.09_nemo/README-*.md:
 * config_GB300_128x4x72xtp2pp8cp2_cg_fp4.sh), as those on GB200 do (tyche, hsg). It leaves TP_COMM_OVERLAP out, which is
 * false in the table's row of its like on GB200. */
gboolean ls_training_runs_in_fp4 (const Reader *reader) {
  return says (reader, "source", "training_results_v5.1") && says (reader, "model", "405b") &&
         says (reader, "gpu", "gb300");
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
  /* The release pages of Megatron-Bridge leave out the format where it is their default: 8 bits. */
  gboolean unsaid = says (reader, "precision", "default of this release");

  out->compute_format =
      says (reader, "precision", "fp4") || ls_training_runs_in_fp4 (reader) ? "nvfp4"
      : says (reader, "precision", "mxfp8")                                 ? "mxfp8"
      : says (reader, "precision", "fp8-mx")                                ? "mxfp8"
      : says (reader, "precision", "fp8") || says (reader, "precision", "float8") || unsaid ? "fp8"
      : says (reader, "precision", "fp16")                                                  ? "fp16"
      : says (reader, "precision", "fp32") && !says (reader, "precision", "bf16")           ? "fp32"
                                                                                  : "bf16";
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
  /* Performance recipes of NeMo 2 and Megatron-Bridge reduce and keep gradients in 16 bits. */
  const gboolean fp16 = g_str_equal (out->compute_format, "fp16");

  /* DeepSpeed's FP16 optimizers sum micro-batches in what autograd makes, fp16 (stage_1_and_2.py). */
  out->half_gradients = fp16 ? says (reader, framework (reader), "deepspeed")
                             : of_nemo (reader) && strstr (out->compute_format, "fp");
  out->pure_16_bit = says (reader, "other_config", "mixed_precision=pure");
  /* torchtitan's training.mixed_precision_reduce is float32. */
  out->fp32_reduce =
      of_torchtitan (reader) || says (reader, "other_config", "grads reduced fp32") ||
      says (reader, "precision", "fp32 grad") || says (reader, "precision", "fp32 reduce") ||
      says (reader, "precision", "fp32 grad accumulation");
}
