/* Gathers and reductions in few bits; see quantized_program.h. */
#include "train/program/quantized_program.h"

/* Values with one scale of 4 bytes. RECALLED: DeepSpeed's CUDAQuantizer (groups below 8000 values, best at 4k); Wang et
 * al. 2023, ZeRO++ (arXiv 2306.10209), section 3.1 (blocks, INT8). Of gradients DeepSpeed makes as many blocks as the
 * larger side of a matrix is long, so that they have as many values as the smaller: some thousands too. */
#define BLOCK 4096
#define SCALE_BYTES 4
#define PARAMETER_BITS 8
#define GRADIENT_BITS 4

/* Of `n` values of so many bits with their scales. */
static gint64 narrow_bytes (gint64 n, guint bits) {
  return (n * bits + 7) / 8 + SCALE_BYTES * ((n + BLOCK - 1) / BLOCK);
}

/* A pass that reads and writes `bytes` and does two operations on each of `n` values. */
static LsOp pass (LsBuilder *builder, const char *name, gint64 bytes, gint64 n, LsPhaseName phase) {
  LsKernelCost cost = ls_kernel_stream (builder->spec->device, bytes, 2.0 * (double) n);

  ls_kernel_finish (&cost, builder->spec->workload->software);
  LsOp op = ls_builder_kernel (builder, name, LS_KIND_ELEMENTWISE, phase, &cost);
  op.part = op.wait_part = LS_PART_EXPOSED_ZERO;
  return op;
}

/* Reads one format, writes the other. */
static LsOp convert (LsBuilder *builder, const char *name, gint64 parameters) {
  const gint64 wide = ls_format_bytes (builder->spec->workload->precision.compute);

  return pass (builder, name, parameters * (PARAMETER_BITS / 8 + wide), parameters,
               LS_PHASE_FORWARD);
}

static gint64 values_in (const LsBuilder *builder, gint64 size) {
  return size / ls_format_bytes (builder->spec->workload->precision.compute);
}

gint64 ls_quantized_size (const LsBuilder *builder, gint64 size) {
  return narrow_bytes (values_in (builder, size), PARAMETER_BITS);
}

LsOp ls_quantized_shard (LsBuilder *builder, gint64 size, guint shards) {
  return convert (builder, "quantize_parameters",
                  (values_in (builder, size) + shards - 1) / shards);
}

LsOp ls_quantized_restore (LsBuilder *builder, gint64 size) {
  return convert (builder, "restore_parameters", values_in (builder, size));
}

/* One hop: `n` narrow gradients of each of `ranks` go to those that sum them up. */
static LsOp exchange (LsBuilder *builder, const char *name, gint64 n, LsSlot slot) {
  LsOp op = ls_builder_collective (builder, name, LS_COLLECTIVE_ALL_TO_ALL,
                                   narrow_bytes (n, GRADIENT_BITS), slot, LS_AXIS_ZERO,
                                   LS_PART_EXPOSED_ZERO);

  op.phase = LS_PHASE_BACKWARD;
  return op;
}

LsMark ls_quantized_reduce (LsBuilder *builder, guint stream, gint64 bytes, LsMark *first) {
  const LsWorkload *workload = builder->spec->workload;
  const gint64 wide = ls_format_bytes (workload->precision.communication);
  const gboolean hops = ls_workload_reduces_in_hops (workload);
  const guint inside = hops ? workload->zero.node_group : 1;
  const guint across = ls_workload_shards (workload) / inside;
  const gint64 n = bytes / wide, sums = (n + inside - 1) / inside;
  const gint64 narrow = narrow_bytes (n, GRADIENT_BITS);
  const gint64 narrow_sums = narrow_bytes (sums, GRADIENT_BITS);
  LsOp ops[5];
  guint count = 0;
  LsMark mark = {0};

  ops[count++] = pass (builder, "quantize_gradients", bytes + narrow, n, LS_PHASE_BACKWARD);
  if (hops) {
    ops[count++] = exchange (builder, "exchange_gradients", n, LS_SLOT_ZERO_INSIDE);
    ops[count++] = pass (builder, "sum_gradients", narrow + narrow_sums, n, LS_PHASE_BACKWARD);
  }
  ops[count++] = exchange (builder, hops ? "exchange_sums" : "exchange_gradients", sums,
                           hops ? LS_SLOT_ZERO_ACROSS : LS_SLOT_ZERO_REDUCE);
  /* Restored in one pass, summed in a second one. */
  ops[count++] = pass (builder, "restore_gradients",
                       narrow_sums + 2 * sums * wide + (sums + across - 1) / across * wide, sums,
                       LS_PHASE_BACKWARD);
  ops[count - 1].release_kind = LS_MEMORY_BUFFERS;
  ops[count - 1].release_bytes = bytes;
  for (guint i = 0; i < count; i++) {
    mark = ls_program_add (builder->program, stream, &ops[i]);
    if (i == 0)
      *first = mark;
  }
  return mark;
}
