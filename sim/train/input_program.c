/* Reading, decoding and copying samples; see input_program.h. */
#include "train/input_program.h"

#include "base/assert.h"
#include "base/time.h"

/* Micro-batches on the device: the one that computes and the one behind it. source: the double
 * buffering of common data prefetchers (assumption). */
#define ON_DEVICE 2

struct LsInputState {
  LsMark read, decoded, copied; /* of micro-batch 0 of the step; one per iteration */
  LsMark consumed;              /* the first section's */
};

LsInputState *ls_input_state_new (void) {
  return g_new0 (LsInputState, 1);
}

void ls_input_state_free (LsInputState *state) {
  g_free (state);
}

gboolean ls_input_runs (const LsBuilder *builder) {
  return builder->spec->workload->input.threads > 0 && builder->spec->index == 0;
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

/* Adds `op` in a loop over the step's micro-batches, after `before` (of another stream) if that is valid. */
static LsMark add_stage (LsBuilder *builder, LsRole role, const LsOp *op, LsMark before) {
  LsMark mark = ls_builder_add (builder, role, op);

  if (before.valid)
    ls_program_wait_same (builder->program, mark, before);
  return mark;
}

void ls_input_write (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  LsInputState *state = builder->input;
  LsMark newest = {0};

  if (!ls_input_runs (builder))
    return;
  gint64 read_bytes = workload->input.bytes_per_sample * workload->micro_batch;
  gint64 copy_bytes = workload->input.device_bytes_per_sample * workload->micro_batch;
  ls_builder_open (builder, workload->microbatches);
  builder->microbatch = (LsLabel){0, 1, LS_LEVEL_MICROBATCH};
  if (read_bytes > 0) {
    LsOp op = copy_op (builder, "read_samples", LS_COLLECTIVE_STORAGE_READ, read_bytes);
    newest = state->read = add_stage (builder, LS_ROLE_STORAGE, &op, newest);
  }
  LsOp decode = decode_op (builder);
  newest = state->decoded = add_stage (builder, LS_ROLE_LOADER, &decode, newest);
  if (copy_bytes > 0) {
    LsOp op = copy_op (builder, "copy_samples", LS_COLLECTIVE_HOST_TO_DEVICE, copy_bytes);
    state->copied = add_stage (builder, LS_ROLE_COPY, &op, newest);
  }
  builder->microbatch = LS_LABEL_NONE;
  ls_builder_close (builder);
}

void ls_input_await (LsBuilder *builder, gint64 first) {
  const LsLoopMap maps[] = {LS_LOOP_SAME (LS_LEVEL_STEP),
                            LS_LOOP_SHIFT (LS_LEVEL_MICROBATCH, first)};
  LsInputState *state = builder->input;

  if (ls_input_runs (builder))
    ls_builder_wait_maps (builder, state->copied.valid ? state->copied : state->decoded, maps, 2);
}

void ls_input_consumed (LsBuilder *builder, LsMark mark) {
  if (!ls_input_runs (builder))
    return;
  LsOp op = ls_builder_memory (builder, "release_samples");
  LsMark consumed = ls_builder_add (builder, LS_ROLE_CONSUMED, &op);
  ls_program_wait_same (builder->program, consumed, mark);
  if (!builder->input->consumed.valid)
    builder->input->consumed = consumed;
}

void ls_input_finish (LsBuilder *builder) {
  LsInputState *state = builder->input;
  gint64 prefetch = MAX (builder->spec->workload->input.prefetch, 1);

  if (!ls_input_runs (builder))
    return;
  LS_REQUIRE (state->consumed.valid);
  /* Ordinals of the stream run through the step's sections, so the first one serves all. */
  LsLoopMap maps[] = {LS_LOOP_SAME (LS_LEVEL_STEP), LS_LOOP_SHIFT (LS_LEVEL_MICROBATCH, -prefetch)};
  ls_program_wait (builder->program, state->read.valid ? state->read : state->decoded,
                   state->consumed, maps, 2);
  maps[1] = LS_LOOP_SHIFT (LS_LEVEL_MICROBATCH, -ON_DEVICE);
  if (state->copied.valid)
    ls_program_wait (builder->program, state->copied, state->consumed, maps, 2);
}
