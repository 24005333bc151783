/* Passes that scale operands of linear maps and of attention into narrow formats; see precision.h and layer_builder.h.
 *
 * Model:      each pass moves ls_precision_scaling_bytes per element, and what a compiler reads again, less what it need not.
 * Invariants: nothing is scaled twice: not behind a pass that wrote it so, nor what came in 8 bits.
 */
#include "train/layer/layer_builder.h"

/* --- narrow formats (train/workload/precision.h) ------------------------------------------------------- */

void ls_layer_builder_narrow (LsLayerBuilder *builder) {
  const LsPrecision *precision = &builder->workload->precision;
  const LsAccelerator *accelerator = builder->device.accelerator;

  builder->narrow = ls_precision_narrow_on (precision, accelerator, &builder->narrow_forward,
                                            &builder->narrow_gradient);
  if (builder->narrow && precision->narrow.recipe == LS_FP8_ROW) {
    const double rate =
        builder->workload->layout.tensor > 1 ? LS_ROW_SCALED_TENSOR_RATE : LS_ROW_SCALED_RATE;

    builder->device.matmul_flops_per_s[builder->narrow_forward] *= rate;
    if (builder->narrow_gradient != builder->narrow_forward)
      builder->device.matmul_flops_per_s[builder->narrow_gradient] *= rate;
  }
  builder->attends_narrow = builder->narrow && precision->narrow_attention &&
                            ls_device_attends_narrow (&builder->device, builder->attention);
  builder->maps = TRUE;
  builder->expands =
      builder->frozen &&
      ls_precision_expands (precision, builder->narrow ? builder->narrow_forward : builder->format);
  builder->by_row = builder->narrow && precision->narrow.recipe == LS_FP8_ROW;
  builder->gathers_narrow = builder->narrow && !builder->by_row;
  builder->copies = builder->narrow ? ls_precision_copies (precision, accelerator) : 0;
}

/* Reads of what is scaled that a compiler saves: the pass that computes it finds its largest values as it writes (one for
 * the tensor), or scales it at once (one for each row). Not of what is gathered, or made by attention or by another block:
 * that is one kernel's output and another's input.
 * source: PyTorch pull request 111122 (a norm and its largest value take as long as the norm: 83 and 96 us); torchao,
 * testing/training/roofline_utils.py, fuse_with_prev (read at @0598012). */
static int reads_saved (const LsLayerBuilder *builder) {
  const gboolean forward = builder->side == LS_SIDE_FORWARD;
  const guint n = forward ? builder->plan->n_forward : builder->plan->n_backward;
  const LsLayerOp *before = forward ? builder->plan->forward : builder->plan->backward;
  const LsFp8Recipe recipe = builder->workload->precision.narrow.recipe;

  if (!builder->workload->software->compiled || builder->frozen || n == 0 ||
      (recipe != LS_FP8_CURRENT && recipe != LS_FP8_ROW))
    return 0;
  before += n - 1;
  return (before->kind == LS_KIND_ELEMENTWISE || before->kind == LS_KIND_NORM) &&
                 before->cost.flops > 0
             ? 1
             : 0;
}

/* One pass that scales `elements` into a narrow format, and reads them `again` more than it must. */
static LsLayerOp *scale_reading (LsLayerBuilder *builder, const char *name, gint64 elements,
                                 LsFormat from, LsFormat to, int copies, int again) {
  const LsPrecision *precision = &builder->workload->precision;
  const double bytes =
      (double) elements *
      (ls_precision_scaling_bytes (precision, from, to, copies) + again * ls_format_size (from));
  /* Experts' operands are scaled one by one but for scales that are known before. source: Transformer Engine, pytorch/csrc/
   * extensions/cast.cpp, multi_tensor_quantize_impl: "only have fused kernel for FP8 delayed scaling". */
  const gint64 apart = precision->narrow.recipe == LS_FP8_DELAYED ? 1 : builder->groups;
  const gint64 kernels = apart * ls_precision_scaling_kernels (precision, to, copies);

  return ls_layer_add_kernel (
      builder, name, LS_KIND_ELEMENTWISE,
      ls_kernel_scale (&builder->device, elements, to, (gint64) bytes, (int) kernels));
}

static LsLayerOp *scale (LsLayerBuilder *builder, const char *name, gint64 elements, LsFormat from,
                         LsFormat to, int copies) {
  return scale_reading (builder, name, elements, from, to, copies, 0);
}

/* The copy by columns of an operand with a scale per row, for a product of the backward pass. */
static void scale_columns (LsLayerBuilder *builder, const char *name, gint64 elements,
                           LsPhaseName phase) {
  const LsPrecision *precision = &builder->workload->precision;
  const LsFormat to = builder->narrow_forward;
  const double bytes =
      (double) elements * (ls_precision_scaling_bytes (precision, builder->format, to, 2) -
                           ls_precision_scaling_bytes (precision, builder->format, to, 1));
  LsKernelCost cost = ls_kernel_stream (&builder->device, (gint64) bytes / 2, (double) elements);

  if (builder->by_row && !builder->frozen)
    ls_layer_add_kernel (builder, name, LS_KIND_ELEMENTWISE, ls_kernel_times (&cost, 2))->phase =
        phase;
}

static gint64 narrow_bytes (const LsLayerBuilder *builder, gint64 elements) {
  return (gint64) ((double) elements * ls_format_size (builder->narrow_forward));
}

/* Does every micro-batch find the weights anew, as gathered, or does the software keep nothing? Else they are scaled once
 * a step, after the update (optimizer_program.h), and their copies stay. */
static gboolean scales_in_pass (const LsWorkload *workload) {
  return (workload->zero.stage >= 3 && ls_workload_shards (workload) > 1) ||
         workload->software->scales_each_pass;
}

void ls_layer_scale_input_columns (LsLayerBuilder *builder, gint64 elements) {
  scale_columns (builder, "scale_input_columns", elements, LS_PHASE_WEIGHT_GRAD);
}

void ls_layer_scale_weight_columns (LsLayerBuilder *builder, gint64 elements) {
  if (scales_in_pass (builder->workload) && !builder->workload->precision.narrow.gathered)
    scale_columns (builder, "scale_weight_columns", elements, LS_PHASE_INPUT_GRAD);
}

/* Input of a linear map, and its weights where they were just gathered. The copy of the weights that the
 * backward pass reads is kept until then. */
void ls_layer_scale_operands (LsLayerBuilder *builder, gint64 rows, gint64 in, gint64 out) {
  const LsPrecision frozen = ls_precision_of_frozen (&builder->workload->precision);
  const LsPrecision *precision = builder->frozen ? &frozen : &builder->workload->precision;
  const int saved = reads_saved (builder);
  LsLayerOp *op = NULL;

  if (!builder->narrow)
    return;
  builder->scaled = TRUE;

  out *= builder->groups; /* a matrix for each */
  builder->plan->narrow_parameters += in * out;
  if (!scales_in_pass (builder->workload))
    builder->plan->narrow_bytes +=
        narrow_bytes (builder, in * out) *
        ls_precision_made_copies (precision, builder->device.accelerator);
  else if (builder->frozen ? !ls_format_is_narrow (precision->parameters)
                           : !precision->narrow.gathered) {
    op = scale (builder, "scale_weight", in * out, builder->format, builder->narrow_forward,
                builder->by_row && !builder->frozen ? 1 : builder->copies);
    op->saved_bytes = builder->by_row && !builder->frozen ? 0 : narrow_bytes (builder, in * out);
  } else if (builder->copies > 1) {
    op = scale (builder, "transpose_weight", in * out, builder->narrow_forward,
                builder->narrow_forward, 1);
    op->saved_bytes = narrow_bytes (builder, in * out);
  }
  /* Nothing behind a pass that wrote it so. */
  if (!builder->fused)
    scale_reading (builder, "scale_input", rows * in, builder->format, builder->narrow_forward,
                   builder->frozen || builder->by_row ? 1 : builder->copies, -saved)
        ->phase = LS_PHASE_FORWARD;
  builder->fused = FALSE;
}

/* PyTorch's compiler writes a gradient in 8 bits and its transpose in one kernel that reads the gradient for each: 1.4 of
 * 2.2 TB/s of what is read and written once, on an H100, which is 4 bytes an element in place of 6 (PyTorch issue 133242,
 * V. Kuznetsov, August and September 2024). */
static int reads_again (const LsLayerBuilder *builder) {
  return builder->workload->software->compiled && !builder->frozen && !builder->by_row &&
                 builder->copies > 1
             ? 1
             : 0;
}

/* Nothing behind a pass that wrote it so. */
void ls_layer_scale_gradient (LsLayerBuilder *builder, gint64 elements) {
  if (!builder->narrow)
    return;
  if (!builder->fused)
    scale_reading (builder, "scale_gradient", elements, builder->format, builder->narrow_gradient,
                   builder->frozen ? 1 : builder->copies,
                   reads_again (builder) - reads_saved (builder))
        ->phase = LS_PHASE_INPUT_GRAD;
  builder->fused = FALSE;
}

/* --- attention in 8 bits (train/workload/precision.h) -------------------------------------------------- */

LsLayerOp *ls_layer_scale_heads (LsLayerBuilder *builder, const char *name, gint64 elements) {
  const gboolean forward = builder->side == LS_SIDE_FORWARD;
  LsLayerOp *op = NULL;

  if (!builder->attends_narrow)
    return NULL;
  op = scale (builder, name, elements, builder->format,
              forward ? LS_FORMAT_FP8_E4M3 : LS_FORMAT_FP8_E5M2, 1);
  op->saved_bytes = op->saved_output_bytes = forward ? elements : 0;
  return op;
}

LsLayerOp *ls_layer_widen_heads (LsLayerBuilder *builder, const char *name, gint64 elements) {
  if (!builder->attends_narrow || builder->workload->precision.narrow.recipe != LS_FP8_DELAYED)
    return NULL;
  return ls_layer_add_kernel (builder, name, LS_KIND_ELEMENTWISE,
                              ls_kernel_stream (&builder->device,
                                                elements * (1 + builder->element_bytes),
                                                (double) elements));
}

LsFormat ls_layer_heads_format (const LsLayerBuilder *builder) {
  if (!builder->attends_narrow)
    return builder->format;
  return builder->workload->precision.compute == LS_FORMAT_MXFP8 ? LS_FORMAT_MXFP8
                                                                 : LS_FORMAT_FP8_E4M3;
}

gint64 ls_layer_heads_bytes (const LsLayerBuilder *builder, gint64 elements) {
  return builder->attends_narrow ? elements : ls_layer_bytes (builder, elements);
}

gint64 ls_layer_kept_context_bytes (const LsLayerBuilder *builder, gint64 elements) {
  return builder->workload->precision.narrow.recipe == LS_FP8_DELAYED
             ? ls_layer_heads_bytes (builder, elements)
             : ls_layer_bytes (builder, elements);
}

gint64 ls_layer_linear_bytes (const LsLayerBuilder *builder, gint64 elements) {
  return builder->narrow ? narrow_bytes (builder, elements) : ls_layer_bytes (builder, elements);
}
