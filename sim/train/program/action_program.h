/* Writes schedules that are lists of actions (pipeline.h) as programs.
 *
 * Model:      the compute stream runs the device's actions in order, in the loops of action_loops.h. A
 *             message is received on a stream of its own per kind and side, posted when the action before the
 *             one that needs it begins, and sent as soon as its action has ended; compute waits for what an
 *             action needs and for no send, until the step's end. So messages travel beside compute, as with
 *             Megatron-LM's overlap_p2p_communication; what is not hidden shows as exposed pipeline time, and
 *             a receive that waits holds its SMs.
 *             Between two parts of one device (the bend of a V) nothing travels.
 *             A pair waits for both of its messages, runs forward and backward one after the other, and
 *             sends both when all has ended (dualpipe.py without overlapped_forward_backward); with experts on several
 *             ranks it is one block that hides their all-to-alls (pair_program.h), unless told otherwise.
 * Invariants: messages of one kind and side are sent in the order in which the neighbour needs them, each kind on
 *             its own stream at both ends, and a receive waits only for actions before the one that needs it: so
 *             messages cannot block each other.
 */
#pragma once

#include "train/program/builder.h"

void ls_actions_build (LsBuilder *builder);
