/* What pipeline schedules share: sections and messages. See schedule.h. */
#include "train/program/schedule.h"

#include "base/assert.h"
#include "train/pipeline/pipeline.h"
#include "train/program/action_program.h"
#include "train/program/input_program.h"
#include "train/program/launch_program.h"
#include "train/program/layer_program.h"
#include "train/program/reduce_program.h"

void ls_schedule_build (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const gboolean alone = workload->layout.pipeline == 1;
  /* A single stage accumulates gradients: one forward, one backward, so that the activations of one
   * micro-batch are live; of two, where they run in pairs. */
  const LsScheduleKind kind = alone ? LS_SCHEDULE_1F1B : workload->schedule;

  if (kind == LS_SCHEDULE_GPIPE)
    ls_schedule_build_gpipe (builder);
  else if (kind == LS_SCHEDULE_1F1B && !(alone && ls_workload_pipeline_size (workload).paired))
    ls_schedule_build_1f1b (builder);
  else
    ls_actions_build (builder);
}

gboolean ls_builder_has_next (const LsBuilder *builder) {
  return builder->spec->index + 1 < builder->spec->workload->layout.pipeline;
}

gboolean ls_builder_has_previous (const LsBuilder *builder) {
  return builder->spec->index > 0;
}

LsSection ls_section_forward (LsBuilder *builder, gint64 first) {
  LsSection section;

  builder->microbatch = ls_label ((gint32) first, 1, LS_LEVEL_MICROBATCH);
  builder->section_depth = builder->depth;
  ls_input_await (builder, first);
  section.first = ls_builder_point (builder, "forward");
  ls_launch_message (builder, section.first);
  if (ls_builder_has_previous (builder))
    ls_layers_gather_boundary (builder, builder->spec->before[0]->boundary_gather_bytes,
                               LS_PHASE_FORWARD);
  ls_layers_forward (builder);
  section.last = ls_builder_point (builder, "forward_done");
  ls_input_consumed (builder, section.last);
  builder->microbatch = LS_LABEL_NONE;
  return section;
}

LsSection ls_section_backward (LsBuilder *builder, gint64 first, gint step, gboolean has_last) {
  LsSection section;

  builder->microbatch = ls_label ((gint32) first, (gint8) step, LS_LEVEL_MICROBATCH);
  builder->section_depth = builder->depth;
  ls_reduce_begin_section (builder, has_last);
  section.first = ls_builder_point (builder, "backward");
  ls_launch_message (builder, section.first);
  if (ls_builder_has_next (builder))
    ls_layers_gather_boundary (builder, builder->spec->stage->boundary_gather_bytes,
                               LS_PHASE_BACKWARD);
  ls_layers_backward (builder);
  section.last = ls_builder_point (builder, "backward_done");
  ls_reduce_end_section (builder);
  builder->microbatch = LS_LABEL_NONE;
  return section;
}

gint64 *ls_builder_received (const LsBuilder *builder) {
  const LsProgramSpec *spec = builder->spec;
  const guint n = MAX (spec->stage->n_parts, 1);
  gint64 *received = g_new0 (gint64, n);

  for (guint part = 0; part < n; part++)
    received[part] = spec->before[part] != NULL ? spec->before[part]->boundary_bytes : 0;
  return received;
}

static gboolean goes_to_next (LsMessage message) {
  return message == LS_SEND_FORWARD || message == LS_RECV_BACKWARD;
}

guint ls_message_stream (LsBuilder *builder, LsMessage message) {
  return ls_builder_stream (builder, goes_to_next (message) ? LS_ROLE_NEXT : LS_ROLE_PREVIOUS,
                            LS_LEVEL_STEP + 1);
}

LsOp ls_message_op (LsBuilder *builder, LsMessage message, gint64 first, gint step,
                    gboolean looped) {
  static const char *const names[] = {[LS_SEND_FORWARD] = "send_forward",
                                      [LS_RECV_FORWARD] = "recv_forward",
                                      [LS_SEND_BACKWARD] = "send_backward",
                                      [LS_RECV_BACKWARD] = "recv_backward"};
  gboolean next = goes_to_next (message);
  gboolean send = message == LS_SEND_FORWARD || message == LS_SEND_BACKWARD;
  gboolean forward = message == LS_SEND_FORWARD || message == LS_RECV_FORWARD;
  gint64 bytes =
      next ? builder->spec->stage->boundary_bytes : builder->spec->before[0]->boundary_bytes;
  /* Tied to the link's group of two: the earlier stage is its position 0. */
  LsOp op = ls_builder_collective (builder, names[message], LS_COLLECTIVE_SEND_RECV, bytes,
                                   next ? LS_SLOT_PIPELINE : LS_SLOT_PIPELINE_PREVIOUS,
                                   LS_AXIS_PIPELINE, LS_PART_EXPOSED_PIPELINE);

  op.kind = send ? LS_OP_SEND : LS_OP_RECV;
  op.trace_kind = send ? LS_KIND_SEND : LS_KIND_RECV;
  op.peer = next ? 1 : 0;
  op.phase = forward ? LS_PHASE_FORWARD : LS_PHASE_BACKWARD;
  op.wait_part = LS_PART_PIPELINE_BUBBLE;
  op.microbatch = looped ? ls_label ((gint32) first, (gint8) step, LS_LEVEL_MICROBATCH)
                         : ls_label ((gint32) first, 0, -1);
  return op;
}

LsBundle ls_message_bundle (LsBuilder *builder, const LsOp *send, const LsOp *recv, guint stream) {
  LsOp op = *send;
  LsBundle bundle;

  op.kind = LS_OP_BUNDLE;
  op.name = ls_tables_name (builder->tables, "send_recv");
  op.descriptor = 2;
  bundle.start = ls_program_add (builder->program, stream, &op);
  ls_program_add (builder->program, stream, send);
  bundle.end = ls_program_add (builder->program, stream, recv);
  return bundle;
}
