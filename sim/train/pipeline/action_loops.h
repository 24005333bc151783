/* A list of actions as nested loops, so that a program for a thousand micro-batches stays small.
 *
 * Model:      where a run of actions repeats with all its micro-batches moved on by one step, it becomes a
 *             loop; the body may hold one more level of them. The longest gain is taken first, then
 *             what is before, inside and behind it. An action with `last` set is never part of a loop:
 *             what follows it is known when the program is written.
 * Invariants: running the code yields the list.
 * Cost:       O(n x longest body) per level.
 *
 * Ownership: code is (transfer full).
 */
#pragma once

#include "train/pipeline/pipeline.h"

#define LS_ACTION_LOOP_DEPTH 2

typedef enum { LS_CODE_ACTION, LS_CODE_REPEAT, LS_CODE_END } LsActionCodeKind;

typedef struct {
  LsActionCodeKind kind;
  LsAction action; /* in the first iteration of all loops around it */
  gint64 count;    /* of a repeat */
  gint32 step;     /* of a repeat: micro-batches per iteration */
} LsActionCode;

/* LsActionCode of a list of LsAction. */
GArray *ls_action_loops (const GArray *actions);
