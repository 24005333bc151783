/* Building a layer plan; see layer_builder.h.
 *
 * Model:      a linear map of i inputs and o outputs on T tokens is 2 T i o FLOPs forward, the same
 *             for the gradient of its input and again for that of its weights.
 * Invariants: every kernel of a plan has been finished with the software's gaps; zero-size kernels
 *             are never added, so that each operation of a trace really ran.
 */
#include "train/layer/layer_builder.h"

#include "base/assert.h"

void ls_layer_builder_init (LsLayerBuilder *builder, const LsWorkload *workload,
                            const LsAccelerator *accelerator, const char *name) {
  *builder = (LsLayerBuilder){
      .workload = workload,
      .format = workload->precision.compute,
      .tensor = workload->layout.tensor,
      .sequence_parallel = workload->sequence_parallel,
      .batch = workload->micro_batch,
      .seq = workload->seq_len / workload->layout.context,
      .tokens = workload->micro_batch * (workload->seq_len / workload->layout.context),
      .groups = 1,
      .plan = g_new0 (LsLayerPlan, 1),
  };
  ls_device_init (&builder->device, accelerator, LS_CLOCK_SUSTAINED, workload->software);
  builder->device.kernels = workload->kernels;
  builder->attention = ls_device_attention (&builder->device, workload->attention);
  builder->element_bytes = ls_format_bytes (builder->format);
  builder->plan->name = g_strdup (name);
  builder->frozen =
      workload->model->kind == LS_MODEL_TRANSFORMER && workload->model->transformer.lora.rank > 0;
}

/* What was counted so far is trained, or frozen beside adapters that are. */
static void freeze (LsLayerBuilder *builder) {
  LsLayerPlan *plan = builder->plan;

  if (!builder->frozen)
    return;
  plan->frozen_parameters = plan->parameters;
  plan->frozen_expert_parameters = plan->expert_parameters;
  plan->parameters = builder->adapter_parameters;
  plan->expert_parameters = 0;
}

LsLayerPlan *ls_layer_builder_finish (LsLayerBuilder *builder) {
  /* A map whose input another operation keeps has been told to keep nothing itself. */
  for (guint i = 0; i < builder->plan->n_forward; i++) {
    LsLayerOp *op = &builder->plan->forward[i];

    op->saved_input_bytes = MIN (op->saved_input_bytes, op->saved_bytes - op->saved_output_bytes);
  }
  freeze (builder);
  return g_steal_pointer (&builder->plan);
}

void ls_layer_builder_side (LsLayerBuilder *builder, LsSide side) {
  builder->side = side;
}

/* Appends an operation to the current side. Arrays grow by doubling at powers of two. */
static LsLayerOp *append (LsLayerBuilder *builder, const LsLayerOp *op) {
  const gboolean forward = builder->side == LS_SIDE_FORWARD;
  LsLayerOp **ops = forward ? &builder->plan->forward : &builder->plan->backward;
  guint *n = forward ? &builder->plan->n_forward : &builder->plan->n_backward;

  if ((*n & (*n - 1)) == 0)
    *ops = g_renew (LsLayerOp, *ops, MAX (1, 2 * *n));
  (*ops)[*n] = *op;
  return &(*ops)[(*n)++];
}

LsLayerOp *ls_layer_add_kernel (LsLayerBuilder *builder, const char *name, LsKind kind,
                                LsKernelCost cost) {
  LsLayerOp op = {
      .name = name,
      .part = builder->part,
      .kind = kind,
      .cost = cost,
      .phase = builder->side == LS_SIDE_FORWARD ? LS_PHASE_FORWARD : LS_PHASE_BACKWARD,
  };

  ls_kernel_finish (&op.cost, builder->workload->software);
  return append (builder, &op);
}

LsLayerOp *ls_layer_add_collective (LsLayerBuilder *builder, const char *name,
                                    LsCollectiveOp collective, gint64 bytes) {
  return ls_layer_add_collective_on (builder, name, collective, bytes, LS_AXIS_TENSOR);
}

LsLayerOp *ls_layer_add_collective_on (LsLayerBuilder *builder, const char *name,
                                       LsCollectiveOp collective, gint64 bytes, LsAxis axis) {
  LsLayerOp op = {
      .name = name,
      .part = builder->part,
      .axis = axis,
      .is_collective = TRUE,
      .collective = collective,
      .collective_bytes = bytes,
      .phase = builder->side == LS_SIDE_FORWARD ? LS_PHASE_FORWARD : LS_PHASE_BACKWARD,
  };

  if (ls_layout_size (&builder->workload->layout, axis) == 1)
    return NULL;
  switch (collective) {
  case LS_COLLECTIVE_ALL_REDUCE:
    op.kind = LS_KIND_ALL_REDUCE;
    break;
  case LS_COLLECTIVE_ALL_GATHER:
    op.kind = LS_KIND_ALL_GATHER;
    break;
  case LS_COLLECTIVE_REDUCE_SCATTER:
    op.kind = LS_KIND_REDUCE_SCATTER;
    break;
  case LS_COLLECTIVE_ALL_TO_ALL:
    op.kind = LS_KIND_ALL_TO_ALL;
    break;
  case LS_COLLECTIVE_SEND_RECV: /* each member to the next */
    op.kind = LS_KIND_SEND;
    break;
  default:
    LS_REQUIRE (FALSE, "collective %d in a layer", (int) collective);
  }
  return append (builder, &op);
}

/* Tokens of one matrix product. */
static gint64 group_tokens (const LsLayerBuilder *builder) {
  return (builder->tokens + builder->groups - 1) / builder->groups;
}

/* The formats that matrix units read and write; `row` is the other length of rows in memory beside n. */
static LsKernelCost matmul (const LsLayerBuilder *builder, gint64 m, gint64 n, gint64 k, gint64 row,
                            LsFormat output, gboolean accumulate) {
  const gboolean backward = builder->side == LS_SIDE_BACKWARD;
  const LsMatmul shape = {
      .m = m,
      .n = n,
      .k = k,
      .batch = 1,
      .format = !builder->narrow ? builder->format
                : backward       ? builder->narrow_gradient
                                 : builder->narrow_forward,
      .output = output,
      .accumulate = accumulate || builder->adds,
      .pitch = ls_kernel_pitch (n, row),
  };

  /* A matrix for each group is a kernel for each: TransformerEngine's GroupedLinear calls cuBLAS expert by expert. */
  return ls_kernel_grouped_matmul (&builder->device, &shape, builder->groups);
}

/* The most maps of one input that a builder is given. */
#define MOST_MAPS 3

/* Products of one operand, in one kernel or, where the software keeps them apart, in one each. */
typedef LsKernelCost (*Product) (const LsLayerBuilder *builder, gint64 rows, gint64 in, gint64 out);

static LsKernelCost products (const LsLayerBuilder *builder, Product product, gint64 rows,
                              gint64 in, const gint64 *outs, guint n) {
  LsKernelCost costs[MOST_MAPS];
  gint64 out = 0;

  LS_REQUIRE (n <= MOST_MAPS, "%u maps of one input", n);
  for (guint i = 0; i < n; i++) {
    out += outs[i];
    costs[i] = product (builder, rows, in, outs[i]);
  }
  return n > 1 && builder->workload->software->separate_maps ? ls_kernel_sequence (costs, n)
                                                             : product (builder, rows, in, out);
}

static LsKernelCost map_product (const LsLayerBuilder *builder, gint64 rows, gint64 in,
                                 gint64 out) {
  return matmul (builder, rows, out, in, in, builder->format, FALSE);
}

static LsKernelCost input_product (const LsLayerBuilder *builder, gint64 rows, gint64 in,
                                   gint64 out) {
  return matmul (builder, rows, in, out, out, builder->format, FALSE);
}

static gboolean fuses_weight_gradient (const LsWorkload *workload) {
  return workload->software->fused_weight_gradient && workload->zero.stage < 2;
}

static LsKernelCost weight_product (const LsLayerBuilder *builder, gint64 rows, gint64 in,
                                    gint64 out) {
  const gboolean fused = fuses_weight_gradient (builder->workload);

  return matmul (builder, out, in, rows, out,
                 fused ? builder->workload->precision.gradients : builder->format, fused);
}

/* A product of the tokens' rows, whole or in pieces that its collective is cut into as well: each is a kernel
 * with tiles and waves of its own. */
static LsLayerOp *add_rows_matmul (LsLayerBuilder *builder, const char *name, Product product,
                                   gint64 in, const gint64 *outs, guint n) {
  const gint64 rows = group_tokens (builder), pieces = MAX (builder->pieces, 1);
  LsKernelCost piece = products (builder, product, (rows + pieces - 1) / pieces, in, outs, n);
  LsLayerOp *op = NULL;

  if (pieces == 1)
    return ls_layer_add_kernel (builder, name, LS_KIND_MATMUL, piece);
  op = ls_layer_add_kernel (builder, name, LS_KIND_MATMUL, ls_kernel_times (&piece, pieces));
  ls_kernel_finish (&piece, builder->workload->software);
  op->piece = piece;
  return op;
}

/* Numbers the maps of an operation, and prices those of even number by themselves. */
static void count_maps (LsLayerBuilder *builder, LsLayerOp *op, gint64 in, const gint64 *outs,
                        guint n) {
  gint64 even = 0, all = 0;

  for (guint i = 0; i < n; i++) {
    builder->matmuls++;
    even += builder->matmuls % 2 == 0 ? outs[i] : 0;
    all += outs[i];
  }
  op->output_elements = builder->tokens * all;
  op->even_elements = builder->tokens * even;
  op->in_part = even > 0 && even < all;
  if (!op->in_part)
    return;
  op->again = map_product (builder, group_tokens (builder), in, even);
  ls_kernel_finish (&op->again, builder->workload->software);
}

/* Frozen weights that are stored narrower than their product reads them are expanded before each.
 * source: Dettmers et al. 2023 (QLoRA, arXiv 2305.14314), section 3: dequantized to the compute type, then multiplied. */
static void expand_weights (LsLayerBuilder *builder, gint64 in, gint64 out) {
  const gint64 n = in * out * builder->groups;
  const double size =
      ls_precision_frozen_size (&builder->workload->precision) + (double) builder->element_bytes;

  if (!builder->expands)
    return;
  ls_layer_add_kernel (
      builder, "expand_weight", LS_KIND_ELEMENTWISE,
      ls_kernel_stream (&builder->device, (gint64) ((double) n * size), 2.0 * (double) n))
      ->workspace_bytes = ls_layer_bytes (builder, n);
}

LsLayerOp *ls_layer_add_linear (LsLayerBuilder *builder, const char *name, gint64 in, gint64 out) {
  return ls_layer_add_linears (builder, name, in, &out, 1);
}

LsLayerOp *ls_layer_add_linears (LsLayerBuilder *builder, const char *name, gint64 in,
                                 const gint64 *outs, guint n) {
  LsLayerOp *op = NULL;
  gint64 out = 0;

  for (guint i = 0; i < n; i++)
    out += outs[i];
  if (!builder->scaled)
    ls_layer_scale_operands (builder, builder->tokens, in, out);
  builder->scaled = FALSE;
  if (builder->frozen && builder->maps)
    builder->plan->frozen_map_parameters += in * out * builder->groups;
  expand_weights (builder, in, out);
  op = add_rows_matmul (builder, name, map_product, in, outs, n);
  op->saved_bytes = ls_layer_kept_bytes (builder, builder->tokens * in);
  op->saved_input_bytes = op->saved_bytes;
  count_maps (builder, op, in, outs, n);
  return op;
}

void ls_layer_move_collective (LsLayerBuilder *builder) {
  const gboolean forward = builder->side == LS_SIDE_FORWARD;
  LsLayerOp *ops = forward ? builder->plan->forward : builder->plan->backward;
  const guint n = forward ? builder->plan->n_forward : builder->plan->n_backward;
  guint at = n;

  while (at > 0 && !ops[at - 1].is_collective)
    at--;
  if (at == 0)
    return;
  const LsLayerOp collective = ops[at - 1];
  for (guint i = at - 1; i + 2 < n; i++)
    ops[i] = ops[i + 1];
  ops[n - 2] = collective;
}

void ls_layer_op_keeps_nothing (LsLayerOp *op) {
  op->saved_bytes = op->saved_input_bytes = 0;
}

/* Each map made a gradient of its own of the input they share. A compiler adds them all in one pass, which is part of the
 * norm's gradient unless they are summed over tensor ranks first. */
static void sum_input_gradients (LsLayerBuilder *builder, gint64 elements, guint n) {
  LsLayerOp *op = NULL;

  if (builder->workload->software->compiled)
    op = ls_layer_add_pass (builder, "sum_input_grads", elements,
                            builder->tensor > 1 ? (int) n : (int) n - 1, builder->tensor > 1);
  else
    op = ls_layer_add_pass (builder, "sum_input_grads", elements, 2 * ((int) n - 1), (int) n - 1);
  op->phase = LS_PHASE_INPUT_GRAD;
}

LsLayerOp *ls_layer_add_input_gradient (LsLayerBuilder *builder, const char *name, gint64 in,
                                        gint64 out) {
  return ls_layer_add_input_gradients (builder, name, in, &out, 1);
}

LsLayerOp *ls_layer_add_input_gradients (LsLayerBuilder *builder, const char *name, gint64 in,
                                         const gint64 *outs, guint n) {
  LsLayerOp *op = NULL;
  gint64 out = 0;

  for (guint i = 0; i < n; i++)
    out += outs[i];
  expand_weights (builder, in, out);
  ls_layer_scale_weight_columns (builder, in * out * builder->groups);
  op = add_rows_matmul (builder, name, input_product, in, outs, n);
  op->phase = LS_PHASE_INPUT_GRAD;
  op->workspace_bytes = ls_layer_bytes (builder, builder->tokens * (in + out));
  if (n == 1 || !builder->workload->software->separate_maps)
    return op;
  const guint number = builder->plan->n_backward - 1;

  sum_input_gradients (builder, builder->tokens * in, n);
  return &builder->plan->backward[number];
}

/* Does the gradient need a pass of its own to reach the accumulated one? Not when the matmul adds to
 * it, nor when there is nothing to add to and nothing to convert; sharded gradients (stages 2 and 3)
 * are added after the reduction, where they are small. */
static gboolean needs_accumulation (const LsWorkload *workload) {
  if (workload->software->fused_weight_gradient || workload->zero.stage >= 2)
    return FALSE;
  return workload->microbatches > 1 || ls_format_bytes (workload->precision.gradients) !=
                                           ls_format_bytes (workload->precision.compute);
}

LsLayerOp *ls_layer_add_weight_gradient (LsLayerBuilder *builder, const char *name, gint64 in,
                                         gint64 out) {
  return ls_layer_add_weight_gradients (builder, name, in, &out, 1);
}

LsLayerOp *ls_layer_add_weight_gradients (LsLayerBuilder *builder, const char *name, gint64 in,
                                          const gint64 *outs, guint n) {
  const LsWorkload *workload = builder->workload;
  const gboolean fused = fuses_weight_gradient (workload);
  gint64 out = 0;

  if (builder->frozen)
    return NULL;
  for (guint i = 0; i < n; i++)
    out += outs[i];
  ls_layer_scale_input_columns (builder, builder->tokens * in);
  const LsKernelCost cost = products (builder, weight_product, group_tokens (builder), in, outs, n);
  LsLayerOp *op = ls_layer_add_kernel (builder, name, LS_KIND_MATMUL, cost);

  const guint number = builder->plan->n_backward - 1;

  if (fused && workload->software->gradient_placeholders)
    ls_layer_plan_note_shape (builder->plan, (LsMatrixShape){in, out});
  op->phase = LS_PHASE_WEIGHT_GRAD;
  op->operand_bytes = ls_layer_bytes (builder, builder->tokens * in);
  op->output_gradient_bytes = ls_layer_bytes (builder, builder->tokens * out);
  op->workspace_bytes = op->output_gradient_bytes;
  if (needs_accumulation (workload)) {
    /* Read the new gradient, read and write the accumulated one. */
    const gint64 bytes =
        in * out * builder->groups *
        (builder->element_bytes + 2 * ls_format_bytes (workload->precision.gradients));

    op->workspace_bytes += ls_layer_bytes (builder, in * out * builder->groups);
    op = ls_layer_add_kernel (
        builder, "accumulate", LS_KIND_ELEMENTWISE,
        ls_kernel_stream (&builder->device, bytes, (double) (in * out * builder->groups)));
    op->phase = LS_PHASE_WEIGHT_GRAD;
  }
  return &builder->plan->backward[number];
}

LsLayerOp *ls_layer_add_pass (LsLayerBuilder *builder, const char *name, gint64 elements, int reads,
                              int writes) {
  /* Two FLOPs per value and tensor read: small beside the bytes on every device of the catalogue. */
  const LsKernelCost cost = ls_kernel_elementwise (&builder->device, elements, reads, writes,
                                                   2.0 * reads, builder->format);

  return ls_layer_add_kernel (builder, name, LS_KIND_ELEMENTWISE, cost);
}

LsLayerOp *ls_layer_add_view_pass (LsLayerBuilder *builder, const char *name, gint64 elements,
                                   int reads, int writes) {
  const gint64 values = elements * (reads + writes);

  return ls_layer_add_kernel (
      builder, name, LS_KIND_ELEMENTWISE,
      ls_kernel_value_by_value (&builder->device, values, ls_layer_bytes (builder, values)));
}

/* Bytes per element that the next pass writes for a linear map. */
static double written_size (LsLayerBuilder *builder) {
  const gboolean forward = builder->side == LS_SIDE_FORWARD;
  const LsFormat to = forward ? builder->narrow_forward : builder->narrow_gradient;

  builder->fused =
      builder->narrow && ls_precision_scales_as_written (&builder->workload->precision, to);
  return builder->fused ? ls_format_size (to) * (builder->frozen ? 1 : builder->copies)
                        : (double) builder->element_bytes;
}

LsLayerOp *ls_layer_add_fused_pass (LsLayerBuilder *builder, const char *name, gint64 elements,
                                    int reads, int writes) {
  const double size = written_size (builder);
  const double bytes =
      (double) elements * ((double) (reads * builder->element_bytes) + writes * size);

  return !builder->fused ? ls_layer_add_pass (builder, name, elements, reads, writes)
                         : ls_layer_add_kernel (builder, name, LS_KIND_ELEMENTWISE,
                                                ls_kernel_stream (&builder->device, (gint64) bytes,
                                                                  2.0 * reads * (double) elements));
}

LsLayerOp *ls_layer_add_fused_norm (LsLayerBuilder *builder, const char *name, gint64 rows,
                                    gint64 width) {
  const double size = written_size (builder), elements = (double) rows * (double) width;
  const double bytes = elements * ((double) builder->element_bytes + size);

  return !builder->fused ? ls_layer_add_norm (builder, name, rows, width, LS_PASS_FORWARD)
                         : ls_layer_add_kernel (
                               builder, name, LS_KIND_NORM,
                               ls_kernel_stream (&builder->device, (gint64) bytes, 8 * elements));
}

LsLayerOp *ls_layer_add_masked (LsLayerBuilder *builder, const char *name, gint64 elements,
                                int reads, int writes) {
  const gint64 bytes = ls_layer_bytes (builder, elements) * (reads + writes) + elements;

  return ls_layer_add_kernel (
      builder, name, LS_KIND_ELEMENTWISE,
      ls_kernel_stream (&builder->device, bytes, 2.0 * reads * (double) elements));
}

/* Gradients that products do not accumulate themselves: all vectors, under fused accumulation too. */
void ls_layer_add_accumulation (LsLayerBuilder *builder, const char *name, gint64 elements,
                                int tensors) {
  const LsWorkload *workload = builder->workload;
  const gint64 size =
      builder->element_bytes + 2 * (gint64) ls_format_bytes (workload->precision.gradients);

  if (builder->frozen || workload->zero.stage >= 2 ||
      !(workload->software->fused_weight_gradient || needs_accumulation (workload)))
    return;
  const LsKernelCost one =
      ls_kernel_stream (&builder->device, elements * size / tensors, (double) elements / tensors);
  ls_layer_add_kernel (builder, name, LS_KIND_ELEMENTWISE, ls_kernel_times (&one, tensors))->phase =
      LS_PHASE_WEIGHT_GRAD;
}

LsLayerOp *ls_layer_add_norm (LsLayerBuilder *builder, const char *name, gint64 rows, gint64 width,
                              LsPass pass) {
  const LsKernelCost cost = ls_kernel_norm (&builder->device, rows, width, builder->format,
                                            builder->workload->software->fused_norm, pass);

  return ls_layer_add_kernel (builder, name, LS_KIND_NORM, cost);
}

void ls_layer_forget (LsLayerBuilder *builder) {
  for (guint i = 0; i < builder->plan->n_forward; i++) {
    LsLayerOp *op = &builder->plan->forward[i];

    op->saved_bytes = op->saved_input_bytes = op->saved_output_bytes = 0;
  }
}

gint64 ls_layer_kept_bytes (const LsLayerBuilder *builder, gint64 elements) {
  return builder->frozen ? 0 : ls_layer_linear_bytes (builder, elements);
}

gint64 ls_layer_bytes (const LsLayerBuilder *builder, gint64 elements) {
  return elements * builder->element_bytes;
}

void ls_layer_count_flops (LsLayerBuilder *builder, double flops) {
  builder->plan->model_flops += flops;
}
