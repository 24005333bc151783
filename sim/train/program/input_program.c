/* Reading, decoding and copying samples; see input_program.h. */
#include "train/program/input_program.h"

#include "base/assert.h"
#include "base/time.h"

/* Micro-batches on the device: the one that computes and the one behind it. source: the double
 * buffering of common data prefetchers (assumption). */
#define ON_DEVICE 2

struct LsInputState {
  LsMark read, decoded, copied; /* one operation per micro-batch of the step */
  LsMark consumed;              /* the first section's */
};

LsInputState *ls_input_state_new (void) {
  return g_new0 (LsInputState, 1);
}

void ls_input_state_free (LsInputState *state) {
  g_free (state);
}

/* TRUE when the workload describes an input pipeline and this stage reads it. */
static gboolean input_runs (const LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const guint device = builder->spec->index;
  const gboolean mirrored = ls_workload_pipeline (workload)->shape == LS_SHAPE_MIRROR;

  return workload->input.threads > 0 &&
         (device == 0 || (mirrored && device + 1 == workload->layout.pipeline));
}

/* Micro-batches of a step that enter the model on this device. */
static gint64 microbatches_of (const LsBuilder *builder) {
  const LsPipelineSize size = ls_workload_pipeline_size (builder->spec->workload);
  return ls_pipeline_part_microbatches (ls_workload_pipeline (builder->spec->workload), &size);
}

static LsOp copy_op (LsBuilder *builder, const char *name, LsCollectiveOp what, gint64 bytes) {
  LsOp op = ls_builder_collective (builder, name, what, bytes, 0, LS_AXIS_NONE, LS_PART_INPUT);

  op.kind = LS_OP_COPY;
  op.slot = LS_NO_INDEX;
  op.wait_part = LS_PART_INPUT;
  op.phase = LS_PHASE_INPUT;
  return op;
}

static LsOp decode_op (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  /* More threads than cores share them. */
  double cores = builder->spec->host_cores;
  double threads = MIN ((double) workload->input.threads, cores);
  double alone_s = workload->input.cpu_s_per_sample * (double) workload->micro_batch / threads;
  LsOp op = LS_OP_INIT;

  op.kind = LS_OP_HOST;
  op.name = ls_tables_name (builder->tables, "decode");
  op.trace_kind = LS_KIND_HOST_WORK;
  op.part = op.wait_part = LS_PART_INPUT;
  op.phase = LS_PHASE_INPUT;
  op.microbatch = builder->microbatch;
  op.work_ps = ls_time_ps_from_s_checked (alone_s);
  op.sm_usage = (gint64) ((double) LS_USAGE_ONE * threads / cores);
  return op;
}

static gint64 prefetch_of (const LsBuilder *builder) {
  return MAX (builder->spec->workload->input.prefetch, 1);
}

static gint64 on_device (const LsBuilder *builder) {
  return MIN (prefetch_of (builder), ON_DEVICE);
}

/* The same step, `shift` micro-batches away (ordinals run across the borders of steps). */
static void shifted (gint64 shift, LsLoopMap maps[2]) {
  maps[0] = LS_LOOP_SAME (LS_LEVEL_STEP);
  maps[1] = LS_LOOP_SHIFT (LS_LEVEL_MICROBATCH, shift);
}

void ls_input_write (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  LsInputState *state = builder->input;
  LsLoopMap maps[2];

  if (!input_runs (builder))
    return;
  gint64 read_bytes = workload->input.bytes_per_sample * workload->micro_batch;
  gint64 copy_bytes = workload->input.device_bytes_per_sample * workload->micro_batch;
  ls_builder_open (builder, microbatches_of (builder));
  builder->microbatch = ls_label ((gint32) prefetch_of (builder), 1, LS_LEVEL_MICROBATCH);
  if (read_bytes > 0) {
    LsOp op = copy_op (builder, "read_samples", LS_COLLECTIVE_STORAGE_READ, read_bytes);
    state->read = ls_builder_add (builder, LS_ROLE_STORAGE, &op);
  }
  LsOp decode = decode_op (builder);
  state->decoded = ls_builder_add (builder, LS_ROLE_LOADER, &decode);
  if (state->read.valid)
    ls_program_wait_same (builder->program, state->decoded, state->read);
  if (copy_bytes > 0) {
    builder->microbatch.first = (gint32) on_device (builder);
    LsOp op = copy_op (builder, "copy_samples", LS_COLLECTIVE_HOST_TO_DEVICE, copy_bytes);
    state->copied = ls_builder_add (builder, LS_ROLE_COPY, &op);
    shifted (on_device (builder) - prefetch_of (builder), maps);
    ls_program_wait (builder->program, state->copied, state->decoded, maps, 2);
  }
  builder->microbatch = LS_LABEL_NONE;
  ls_builder_close (builder);
}

void ls_input_await (LsBuilder *builder, gint64 first) {
  LsInputState *state = builder->input;
  gboolean copies = state->copied.valid;
  LsLoopMap maps[2];

  if (!input_runs (builder))
    return;
  shifted (first - (copies ? on_device (builder) : prefetch_of (builder)), maps);
  ls_builder_wait_maps (builder, copies ? state->copied : state->decoded, maps, 2);
}

void ls_input_await_label (LsBuilder *builder, LsLabel microbatch) {
  LsInputState *state = builder->input;
  gboolean copies = state->copied.valid;
  gint64 coefficients[LS_MAX_LOOP_DEPTH] = {microbatches_of (builder)};

  if (!input_runs (builder))
    return;
  if (microbatch.level >= 0) {
    coefficients[microbatch.level] += microbatch.step;
    coefficients[microbatch.level2] += microbatch.step2;
  }
  ls_builder_wait_count (builder, copies ? state->copied.stream : state->decoded.stream,
                         microbatch.first - (copies ? on_device (builder) : prefetch_of (builder)),
                         coefficients);
}

void ls_input_consumed (LsBuilder *builder, LsMark mark) {
  if (!input_runs (builder))
    return;
  LsOp op = ls_builder_memory (builder, "release_samples");
  LsMark consumed = ls_builder_add (builder, LS_ROLE_CONSUMED, &op);
  ls_program_wait_same (builder->program, consumed, mark);
  if (!builder->input->consumed.valid)
    builder->input->consumed = consumed;
}

void ls_input_finish (LsBuilder *builder) {
  LsInputState *state = builder->input;
  const gint64 coefficients[] = {microbatches_of (builder), 1};

  if (!input_runs (builder))
    return;
  LS_REQUIRE (state->consumed.valid);
  /* One operation per micro-batch, whatever the loops that it stands in. */
  ls_program_wait_count (builder->program, state->read.valid ? state->read : state->decoded,
                         state->consumed.stream, 0, coefficients, 2);
  if (state->copied.valid)
    ls_program_wait_count (builder->program, state->copied, state->consumed.stream, 0, coefficients,
                           2);
}
