/* 1F1B: a stage warms up with w = min (p - 1 - stage, m) forwards, then alternates one forward and one
 * backward for the r = m - w others, and drains with w backwards.
 *
 * Model:      as Megatron-LM runs it: compute waits for every message. In the steady part a forward's
 *             send and the receive of a gradient with the next stage are one bundle, and so are a
 *             backward's send and the receive of an activation with the previous one: issued apart,
 *             both neighbours would wait to send.
 *             source: Narayanan et al., Megatron-LM (SC21), section 2.2; PipeDream-Flush.
 *
 *   to the next stage       w x send | r x [send + recv]           | w x recv
 *   to the previous stage   w x recv | recv, (r-1) x [send + recv], send | w x send
 *
 *             The next stage has w - 1 and r + 1 of them, so that the two rows pair up one to one,
 *             for m < p too.
 * Invariants: a wait that steps one iteration back from a loop's first iteration means the operation
 *             just before the loop: ordinals run through loops. Several waits below rest on it.
 * Memory:     the activations of min (p - stage, m) micro-batches.
 */
#include "train/program/schedule.h"

static const LsLoopMap before[] = {LS_LOOP_SAME (LS_LEVEL_STEP),
                                   LS_LOOP_SHIFT (LS_LEVEL_MICROBATCH, -1)};

typedef struct {
  LsBuilder *builder;
  LsProgram *program;
  gint64 m, w, r;
  LsSection warm, steady_forward, steady_backward, drain; /* valid when w, r, r, w > 0 */
} Plan;

static void add_compute (Plan *plan) {
  LsBuilder *builder = plan->builder;

  if (plan->w > 0) {
    ls_builder_open (builder, plan->w);
    plan->warm = ls_section_forward (builder, 0);
    ls_builder_close (builder);
  }
  if (plan->r > 0) {
    ls_builder_open (builder, plan->r);
    plan->steady_forward = ls_section_forward (builder, plan->w);
    plan->steady_backward = ls_section_backward (builder, 0, 1, plan->w == 0);
    ls_builder_close (builder);
  }
  if (plan->w > 0) {
    ls_builder_open (builder, plan->w);
    plan->drain = ls_section_backward (builder, plan->r, 1, TRUE);
    ls_builder_close (builder);
  }
}

/* A message in a loop of its own over micro-batches; returns its mark. */
static LsMark add_looped (Plan *plan, LsMessage message, gint64 count, gint64 first) {
  guint stream = ls_message_stream (plan->builder, message);

  ls_program_repeat (plan->program, stream, count);
  LsOp op = ls_message_op (plan->builder, message, first, 1, TRUE);
  LsMark mark = ls_program_add (plan->program, stream, &op);
  ls_program_end_repeat (plan->program, stream);
  return mark;
}

static void add_next (Plan *plan) {
  guint stream = ls_message_stream (plan->builder, LS_SEND_FORWARD);

  if (plan->w > 0) {
    LsMark send = add_looped (plan, LS_SEND_FORWARD, plan->w, 0);
    ls_program_wait_same (plan->program, send, plan->warm.last);
    ls_program_wait (plan->program, plan->warm.first, send, before, 2);
  }
  if (plan->r > 0) {
    ls_program_repeat (plan->program, stream, plan->r);
    LsOp send = ls_message_op (plan->builder, LS_SEND_FORWARD, plan->w, 1, TRUE);
    LsOp recv = ls_message_op (plan->builder, LS_RECV_BACKWARD, 0, 1, TRUE);
    LsBundle bundle = ls_message_bundle (plan->builder, &send, &recv, stream);
    ls_program_end_repeat (plan->program, stream);
    ls_program_wait_same (plan->program, bundle.start, plan->steady_forward.last);
    ls_program_wait_same (plan->program, plan->steady_backward.first, bundle.end);
    /* In the first iteration: the last send of the warm-up. */
    ls_program_wait (plan->program, plan->steady_forward.first, bundle.end, before, 2);
  }
  if (plan->w > 0) {
    LsMark recv = add_looped (plan, LS_RECV_BACKWARD, plan->w, plan->r);
    ls_program_wait (plan->program, recv, plan->drain.last, before, 2);
    ls_program_wait_same (plan->program, plan->drain.first, recv);
  }
}

/* Receives of the warm-up, and the one before the steady part. */
static void add_previous_warm (Plan *plan) {
  guint stream = ls_message_stream (plan->builder, LS_RECV_FORWARD);

  if (plan->w > 0) {
    LsMark recv = add_looped (plan, LS_RECV_FORWARD, plan->w, 0);
    ls_program_wait (plan->program, recv, plan->warm.last, before, 2);
    ls_program_wait_same (plan->program, plan->warm.first, recv);
  }
  if (plan->r > 0) {
    LsOp op = ls_message_op (plan->builder, LS_RECV_FORWARD, plan->w, 0, FALSE);
    LsMark recv = ls_program_add (plan->program, stream, &op);
    if (plan->w > 0)
      ls_program_wait (plan->program, recv, plan->warm.last, before, 1);
    if (plan->r == 1)
      ls_program_wait (plan->program, plan->steady_forward.first, recv, before, 1);
  }
}

static void add_previous (Plan *plan) {
  guint stream = ls_message_stream (plan->builder, LS_SEND_BACKWARD);

  add_previous_warm (plan);
  if (plan->r > 1) {
    ls_program_repeat (plan->program, stream, plan->r - 1);
    LsOp send = ls_message_op (plan->builder, LS_SEND_BACKWARD, 0, 1, TRUE);
    LsOp recv = ls_message_op (plan->builder, LS_RECV_FORWARD, plan->w + 1, 1, TRUE);
    LsBundle bundle = ls_message_bundle (plan->builder, &send, &recv, stream);
    ls_program_end_repeat (plan->program, stream);
    ls_program_wait_same (plan->program, bundle.start, plan->steady_backward.last);
    /* In the first iteration: the receive before the loop. */
    ls_program_wait (plan->program, plan->steady_forward.first, bundle.end, before, 2);
  }
  LsMark last = {0};
  if (plan->r > 0) {
    const LsLoopMap final[] = {LS_LOOP_SAME (LS_LEVEL_STEP), LS_LOOP_AT (plan->r - 1)};
    LsOp op = ls_message_op (plan->builder, LS_SEND_BACKWARD, plan->r - 1, 0, FALSE);
    last = ls_program_add (plan->program, stream, &op);
    ls_program_wait (plan->program, last, plan->steady_backward.last, final, 2);
  }
  if (plan->w > 0) {
    last = add_looped (plan, LS_SEND_BACKWARD, plan->w, plan->r);
    ls_program_wait_same (plan->program, last, plan->drain.last);
    /* In the first iteration: the send that ends the steady part. */
    ls_program_wait (plan->program, plan->drain.first, last, before, 2);
  }
  ls_builder_wait (plan->builder, last);
}

void ls_schedule_build_1f1b (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  gint64 m = workload->microbatches;
  gint64 w = MIN ((gint64) workload->layout.pipeline - 1 - builder->spec->index, m);
  Plan plan = {.builder = builder, .program = builder->program, .m = m, .w = w, .r = m - w};

  add_compute (&plan);
  if (ls_builder_has_next (builder))
    add_next (&plan);
  if (ls_builder_has_previous (builder))
    add_previous (&plan);
}
