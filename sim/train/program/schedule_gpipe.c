/* GPipe: all forwards, then all backwards, the last micro-batch first.
 *
 * Model:      messages travel beside compute: a stage computes micro-batch i while it receives i + 1
 *             and sends i - 1. A receive buffer is free again when the compute that read it has ended,
 *             and there are two, so receive i waits for compute i - 2.
 *             source of the order: Huang et al., GPipe (NeurIPS 2019), section 2.2.
 * Memory:     the activations of all m micro-batches at once.
 */
#include "train/program/schedule.h"

/* Receive i, two computations ahead at most, and compute i waits for it. */
static void add_receives (LsBuilder *builder, LsMessage message, gint64 m, gint64 first, gint step,
                          LsSection section) {
  const LsLoopMap two_before[] = {LS_LOOP_SAME (LS_LEVEL_STEP),
                                  LS_LOOP_SHIFT (LS_LEVEL_MICROBATCH, -2)};
  guint stream = ls_message_stream (builder, message);

  ls_program_repeat (builder->program, stream, m);
  LsOp op = ls_message_op (builder, message, first, step, TRUE);
  LsMark mark = ls_program_add (builder->program, stream, &op);
  ls_program_wait (builder->program, mark, section.last, two_before, 2);
  ls_program_wait_same (builder->program, section.first, mark);
  ls_program_end_repeat (builder->program, stream);
}

static LsMark add_sends (LsBuilder *builder, LsMessage message, gint64 m, gint64 first, gint step,
                         LsSection section) {
  guint stream = ls_message_stream (builder, message);

  ls_program_repeat (builder->program, stream, m);
  LsOp op = ls_message_op (builder, message, first, step, TRUE);
  LsMark mark = ls_program_add (builder->program, stream, &op);
  ls_program_wait_same (builder->program, mark, section.last);
  ls_program_end_repeat (builder->program, stream);
  return mark;
}

void ls_schedule_build_gpipe (LsBuilder *builder) {
  gint64 m = builder->spec->workload->microbatches;

  ls_builder_open (builder, m);
  LsSection forward = ls_section_forward (builder, 0);
  ls_builder_close (builder);
  ls_builder_open (builder, m);
  LsSection backward = ls_section_backward (builder, m - 1, -1, TRUE);
  ls_builder_close (builder);
  if (ls_builder_has_previous (builder)) {
    add_receives (builder, LS_RECV_FORWARD, m, 0, 1, forward);
    /* The step is not over before its last gradient is sent. */
    ls_builder_wait (builder, add_sends (builder, LS_SEND_BACKWARD, m, m - 1, -1, backward));
  }
  if (ls_builder_has_next (builder)) {
    add_sends (builder, LS_SEND_FORWARD, m, 0, 1, forward);
    add_receives (builder, LS_RECV_BACKWARD, m, m - 1, -1, backward);
  }
}
