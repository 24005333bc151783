/* Gradient norm, update, end of the step; see optimizer_program.h. */
#include "train/program/optimizer_program.h"

#include "train/program/gather_program.h"
#include "train/program/largest_program.h"
#include "train/program/offload_program.h"
#include "train/program/pause_program.h"

/* Gradient norm: one single-precision number; and the flag of infinities that goes with it. */
#define NORM_BYTES 4
static gint64 owned_parameters (const LsBuilder *builder) {
  const LsStage *stage = builder->spec->stage;

  return ls_workload_owned (builder->spec->workload, stage->parameters, stage->expert_parameters);
}

static void add_kernel (LsBuilder *builder, const char *name, LsKernelCost cost) {
  ls_kernel_finish (&cost, builder->spec->workload->software);
  LsOp op = ls_builder_kernel (builder, name, LS_KIND_OPTIMIZER_UPDATE, LS_PHASE_OPTIMIZER, &cost);
  op.part = LS_PART_OPTIMIZER;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

static void add_sum (LsBuilder *builder, const char *name, gint64 bytes, LsSlot slot, LsAxis axis,
                     LsPart part, LsPart wait_part) {
  LsOp op =
      ls_builder_collective (builder, name, LS_COLLECTIVE_ALL_REDUCE, bytes, slot, axis, part);

  op.wait_part = (guint8) wait_part;
  op.phase = LS_PHASE_OPTIMIZER;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

/* The gradient of a tied embedding, whose two copies are on the first and the last stage. */
static void add_embedding_sum (LsBuilder *builder) {
  gint64 elements = builder->spec->stage->embedding_gradient_elements;

  if (elements > 0 && builder->spec->embedding_shared)
    add_sum (builder, "sum_embedding_gradients", ls_builder_reduce_bytes (builder, elements),
             LS_SLOT_EMBEDDING, LS_AXIS_PIPELINE, LS_PART_EXPOSED_PIPELINE,
             LS_PART_PIPELINE_BUBBLE);
}

/* Both devices of a mirrored pair hold the same stages, and each the gradients of its own micro-batches: of the
 * rank's share of them. */
static void add_mirror_sum (LsBuilder *builder) {
  gint64 parameters = owned_parameters (builder);

  if (ls_workload_pipeline (builder->spec->workload)->shape == LS_SHAPE_MIRROR && parameters > 0)
    add_sum (builder, "sum_mirrored_gradients", ls_builder_reduce_bytes (builder, parameters),
             LS_SLOT_PIPELINE_MIRROR, LS_AXIS_PIPELINE, LS_PART_EXPOSED_PIPELINE,
             LS_PART_PIPELINE_BUBBLE);
}

/* Does each stage update without waiting for the others? */
static gboolean updates_alone (const LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  return workload->post_validation && ls_workload_pipeline (workload)->parallelogram;
}

/* Sums of a few numbers over one axis; nothing where it has one rank. */
static void add_tensor_sum (LsBuilder *builder, const char *name, gint64 bytes) {
  if (builder->spec->workload->layout.tensor > 1)
    add_sum (builder, name, bytes, LS_SLOT_TENSOR_SYNC, LS_AXIS_TENSOR, LS_PART_EXPOSED_TENSOR,
             LS_PART_STRAGGLER_WAIT);
}

static void add_pipeline_sum (LsBuilder *builder, const char *name, gint64 bytes) {
  if (builder->spec->workload->layout.pipeline > 1 && !updates_alone (builder))
    add_sum (builder, name, bytes, LS_SLOT_PIPELINE_SYNC, LS_AXIS_PIPELINE,
             LS_PART_EXPOSED_PIPELINE, LS_PART_PIPELINE_BUBBLE);
}

static void add_copies_sum (LsBuilder *builder, const char *name, gint64 bytes) {
  const gboolean sharded = builder->spec->workload->zero.stage >= 1;

  if (ls_layout_copies (&builder->spec->workload->layout) > 1)
    add_sum (builder, name, bytes, LS_SLOT_COPIES_SYNC, sharded ? LS_AXIS_ZERO : LS_AXIS_DATA,
             sharded ? LS_PART_EXPOSED_ZERO : LS_PART_EXPOSED_DATA, LS_PART_STRAGGLER_WAIT);
}

/* The norm of all gradients: each rank's own, then sums of one number over the ranks that hold others: tensor
 * ranks, shards (their gradients differ with ZeRO) and stages. The number of infinities of 16-bit formats goes
 * with it, so that stages and tensor ranks sum it without clipping too. Scaling the gradients, in the steps whose
 * norm is above the limit, is taken to be part of the update (Apex, TransformerEngine and DeepSpeed pass the
 * factor to it). source: Megatron-LM, clip_grads.py (get_grad_norm_fp32 over grad_stats_parallel_group);
 * PyTorch FSDP, clip_grad_norm_. */
static void add_norm (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  gint64 parameters = owned_parameters (builder);
  gint64 bytes = parameters * ls_format_bytes (workload->precision.gradients);

  if (ls_workload_clips (workload) && parameters > 0)
    add_kernel (builder, "gradient_norm",
                ls_kernel_stream (builder->spec->device, bytes, 2.0 * (double) parameters));
  add_tensor_sum (builder, "sum_gradient_norm", NORM_BYTES);
  if (ls_workload_clips (workload) && workload->zero.stage > 0 && ls_workload_shards (workload) > 1)
    add_sum (builder, "sum_gradient_norm", NORM_BYTES, LS_SLOT_ZERO_SYNC, LS_AXIS_ZERO,
             LS_PART_EXPOSED_ZERO, LS_PART_STRAGGLER_WAIT);
  add_pipeline_sum (builder, "sum_gradient_norm", NORM_BYTES);
}

/* Gradients over the number of their copies, all that this rank has of them: before they are reduced, wherever in the
 * backward pass that is. */
static void add_average (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const LsStage *stage = builder->spec->stage;
  const gint64 parameters = stage->parameters + stage->expert_parameters;
  const gint64 bytes = 2 * parameters * ls_format_bytes (workload->precision.gradients);

  if (workload->software->separate_scaling && workload->zero.stage < 2 && parameters > 0 &&
      ls_layout_copies (&workload->layout) > 1)
    add_kernel (builder, "average_gradients",
                ls_kernel_stream (builder->spec->device, bytes, (double) parameters));
}

/* Masters are read once more, to become parameters (the update counts the writing). */
static void add_copy (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const gint64 parameters = owned_parameters (builder);

  if (workload->software->separate_scaling && workload->precision.master_used && parameters > 0 &&
      !ls_offload_updates (builder))
    add_kernel (builder, "copy_masters",
                ls_kernel_stream (builder->spec->device,
                                  parameters * ls_format_bytes (workload->precision.master), 0));
}

static void add_update (LsBuilder *builder) {
  const gint64 parameters = owned_parameters (builder);

  if (parameters == 0)
    return;
  if (ls_offload_updates (builder)) {
    ls_offload_update (builder, parameters);
    return;
  }
  add_kernel (
      builder, "update",
      ls_stage_update (builder->spec->stage, builder->spec->workload, builder->spec->device));
}

static void add_clear (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const gint64 bytes = owned_parameters (builder) * ls_format_bytes (workload->precision.gradients);
  const gboolean optional = builder->optional;

  builder->optional = FALSE;
  /* Those that go to the host with every micro-batch are written over there. */
  if (bytes > 0 && !(ls_offload_updates (builder) && workload->zero.stage >= 2))
    add_kernel (builder, "clear_gradients", ls_kernel_stream (builder->spec->device, bytes, 0));
  builder->optional = optional;
}

/* Loss scaling: gradients are divided by the scale and searched for infinities, and all ranks agree on what
 * they found. What follows is left out of a step that overflowed (loss_scaling.h). */
static void add_unscale (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const gint64 parameters = owned_parameters (builder);
  const gint64 bytes = 2 * parameters * ls_format_bytes (workload->precision.gradients);

  if (workload->loss_scaling.scaler.kind == LS_LOSS_SCALE_NONE)
    return;
  if (parameters > 0 && ls_offload_updates (builder))
    ls_offload_pass (builder, "unscale_gradients", (double) bytes);
  else if (parameters > 0)
    add_kernel (builder, "unscale_gradients",
                ls_kernel_stream (builder->spec->device, bytes, (double) parameters));
  add_tensor_sum (builder, "sum_overflow_flag", NORM_BYTES);
  if (workload->zero.stage >= 1)
    add_copies_sum (builder, "sum_overflow_flag", NORM_BYTES);
  add_pipeline_sum (builder, "sum_overflow_flag", NORM_BYTES);
  builder->optional = TRUE;
}

/* The weights of linear maps in their narrow format, once a step: where nobody gathers them anew. */
static void add_narrow_weights (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const LsStage *stage = builder->spec->stage;
  const gboolean frozen = stage->frozen_parameters > 0;
  const LsPrecision of_frozen = ls_precision_of_frozen (&workload->precision);
  const LsPrecision *p = frozen ? &of_frozen : &workload->precision;
  LsFormat forward = p->narrow.forward, gradient = p->narrow.gradient;

  /* Frozen ones that are stored so never change, nor does the copy by columns. */
  if (stage->narrow_bytes == 0 || (frozen && ls_format_is_narrow (p->parameters)) ||
      !ls_precision_narrow_on (p, builder->spec->device->accelerator, &forward, &gradient))
    return;
  const int copies = ls_precision_made_copies (p, builder->spec->device->accelerator);
  const double bytes = (double) stage->narrow_parameters *
                       ls_precision_scaling_bytes (p, p->parameters, forward, copies);

  add_kernel (builder, "scale_weights",
              ls_kernel_stream (builder->spec->device, (gint64) bytes,
                                2.0 * (double) stage->narrow_parameters));
}

void ls_optimizer_begin_step (LsBuilder *builder) {
  if (!updates_alone (builder))
    return;
  LsOp op = ls_builder_memory (builder, "step_begin");
  op.flags = LS_OP_MARK;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

/* All ranks meet, and the step ends. */
static void end_step (LsBuilder *builder) {
  LsOp op = ls_builder_collective (builder, "step_end", LS_COLLECTIVE_BARRIER, 0, LS_SLOT_WORLD,
                                   LS_AXIS_NONE, LS_PART_OTHER);

  op.flags = LS_OP_MARK;
  op.phase = LS_PHASE_OPTIMIZER;
  if (updates_alone (builder))
    op.wait_part = LS_PART_PIPELINE_BUBBLE;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

void ls_optimizer_write (LsBuilder *builder) {
  add_embedding_sum (builder);
  add_mirror_sum (builder);
  add_unscale (builder);
  add_average (builder);
  add_norm (builder);
  add_update (builder);
  add_copy (builder);
  add_clear (builder);
  ls_gather_updated (builder);
  add_narrow_weights (builder);
  builder->optional = FALSE;
  ls_largest_end_step (builder);
  ls_pauses_write (builder);
  if (!updates_alone (builder))
    end_step (builder);
}

void ls_optimizer_finish (LsBuilder *builder) {
  if (updates_alone (builder))
    end_step (builder);
}
