/* Sums of the largest values of delayed scaling, see largest_program.h. */
#include "train/program/largest_program.h"

#define VALUE_BYTES 4
/* Of a block, and values of each: of input and weight forward, of the gradient backward. */
#define MAPS_PER_LAYER 4
#define VALUES_PER_MAP 3
/* Its values from the buffer, the largest of the history, the scale, its inverse, the history moved on. */
#define LAUNCHES_PER_MAP 5

static void add_sum (LsBuilder *builder, gint64 bytes, LsPhaseName phase, LsSlot slot, LsAxis axis,
                     LsPart part) {
  LsOp op = ls_builder_collective (builder, "sum_largest_values", LS_COLLECTIVE_ALL_REDUCE, bytes,
                                   slot, axis, part);

  op.wait_part = LS_PART_STRAGGLER_WAIT;
  op.phase = (guint8) phase;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

static void add_sums (LsBuilder *builder, gint64 bytes, LsPhaseName phase) {
  const LsWorkload *workload = builder->spec->workload;
  const gboolean sharded = workload->zero.stage >= 1;

  if (workload->layout.tensor > 1)
    add_sum (builder, bytes, phase, LS_SLOT_TENSOR_SYNC, LS_AXIS_TENSOR, LS_PART_EXPOSED_TENSOR);
  if (ls_layout_copies (&workload->layout) > 1)
    add_sum (builder, bytes, phase, LS_SLOT_COPIES_SYNC, sharded ? LS_AXIS_ZERO : LS_AXIS_DATA,
             sharded ? LS_PART_EXPOSED_ZERO : LS_PART_EXPOSED_DATA);
}

static gboolean each_pass (const LsWorkload *workload) {
  return ls_workload_scales_delayed (workload) && workload->software->sums_largest_each_pass;
}

static gint64 layers_of (const LsChunks *chunks) {
  gint64 layers = 0;

  for (guint i = 0; i < chunks->n; i++)
    if (chunks->chunk[i].first >= 0)
      layers += (gint64) chunks->chunk[i].segments * chunks->chunk[i].size;
  return layers;
}

void ls_largest_end_pass (LsBuilder *builder, LsPhaseName phase) {
  const LsWorkload *workload = builder->spec->workload;
  const gint64 maps = MAPS_PER_LAYER * layers_of (builder->current);
  const gint64 bytes = VALUE_BYTES * VALUES_PER_MAP * maps;

  if (!each_pass (workload) || maps == 0)
    return;
  add_sums (builder, bytes, phase);
  const LsKernelCost one =
      ls_kernel_stream (builder->spec->device, 2 * VALUE_BYTES * VALUES_PER_MAP, 0);
  LsKernelCost cost = ls_kernel_times (&one, (int) (LAUNCHES_PER_MAP * maps));

  ls_kernel_finish (&cost, workload->software);
  const LsOp op = ls_builder_kernel (builder, "update_scales", LS_KIND_ELEMENTWISE, phase, &cost);
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

void ls_largest_end_step (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const guint pipeline = workload->layout.pipeline;
  const gint64 layers = (ls_model_n_layers (workload->model) + pipeline - 1) / pipeline;

  if (ls_workload_scales_delayed (workload) && !workload->software->sums_largest_each_pass)
    add_sums (builder, VALUE_BYTES * VALUES_PER_MAP * MAPS_PER_LAYER * layers, LS_PHASE_OPTIMIZER);
}
