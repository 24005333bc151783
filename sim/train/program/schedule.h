/* Pipeline schedules: in which order a stage runs the forwards and backwards of its micro-batches,
 * and when it exchanges activations and gradients with its neighbours.
 *
 * Model:      a schedule is a few sections, each a loop over micro-batches that runs a forward, a
 *             backward, or one of each. Messages go on two streams, one per neighbour, and pair up
 *             with the neighbour's by order.
 *             Schedules other than GPipe and 1F1B are lists of actions (pipeline.h, action_program.h).
 *             Idle time of equal stages on a network that costs nothing: (p - 1) (t_f + t_b) in each
 *             stage, a fraction (p - 1)/m of the ideal time. source: Narayanan et al., Megatron-LM
 *             (SC21), section 2.2.
 * Invariants: the n-th message that a stage sends to a neighbour is the n-th that the neighbour
 *             expects, for any number of stages and micro-batches.
 */
#pragma once

#include "train/program/builder.h"

/* Writes one step's forwards, backwards and messages, at loop depth 1, in the order that the workload's stages really
 * follow: a single one follows 1F1B, or runs in pairs. */
void ls_schedule_build (LsBuilder *builder);
/* Of these two kinds. */
void ls_schedule_build_gpipe (LsBuilder *builder);
void ls_schedule_build_1f1b (LsBuilder *builder);

/* First and last compute operation of one forward or backward inside the loop over micro-batches. */
typedef struct {
  LsMark first, last;
} LsSection;

/* One forward (backward) of the stage for micro-batch first + step x counter of the loop. A forward of
 * the first stage waits for its input; `has_last`: the loop holds the step's last backward. */
LsSection ls_section_forward (LsBuilder *builder, gint64 first);
LsSection ls_section_backward (LsBuilder *builder, gint64 first, gint step, gboolean has_last);

gboolean ls_builder_has_next (const LsBuilder *builder);
gboolean ls_builder_has_previous (const LsBuilder *builder);
/* By part, the bytes that the stage before it sends (transfer full). */
gint64 *ls_builder_received (const LsBuilder *builder);
/* Messages: activations forward, gradients backward. */
typedef enum { LS_SEND_FORWARD, LS_RECV_FORWARD, LS_SEND_BACKWARD, LS_RECV_BACKWARD } LsMessage;
/* The stream that carries them, with the step's loop open. */
guint ls_message_stream (LsBuilder *builder, LsMessage message);
LsOp ls_message_op (LsBuilder *builder, LsMessage message, gint64 first, gint step,
                    gboolean looped);
/* A send and a receive with the same neighbour, issued together. */
typedef struct {
  LsMark start, end; /* what waits, what is waited for */
} LsBundle;
LsBundle ls_message_bundle (LsBuilder *builder, const LsOp *send, const LsOp *recv, guint stream);
