/* The input pipeline of a rank of the first stage: storage, loader threads, copy to the device.
 *
 * Model:      one micro-batch after another: read from storage -> decode on `threads` cores -> copy to
 *             the device -> compute. `prefetch` micro-batches may be read but not consumed, and two of
 *             them be on the device. It runs across the borders of steps, and starts with full buffers:
 *             loader threads begin while the model is still being built. An input that is slower than
 *             compute starves it: the wait is charged to `input`.
 *             Rate of the loader: threads / (samples x CPU seconds per sample) micro-batches per second.
 * Invariants: each stream holds one operation per micro-batch of the step, so that limits are
 *             ordinals that differ by a constant: operation k loads micro-batch k + prefetch, when
 *             micro-batch k has been consumed, and copies k + 2.
 * Left out:   input on the last stage (labels: some bytes per token).
 */
#pragma once

#include "train/program/builder.h"

LsInputState *ls_input_state_new (void);
void ls_input_state_free (LsInputState *state);

/* The streams of one step; before its sections are written. */
void ls_input_write (LsBuilder *builder);
/* The next compute operation waits for the input of micro-batch first + counter of the loop. */
void ls_input_await (LsBuilder *builder, gint64 first);
/* The same for a label's micro-batch, in whatever loops; counted from 0 on this device. */
void ls_input_await_label (LsBuilder *builder, LsLabel microbatch);
/* The input of the section's micro-batch is free once `mark` has ended. */
void ls_input_consumed (LsBuilder *builder, LsMark mark);
/* After all sections: puts the waits for consumption. */
void ls_input_finish (LsBuilder *builder);
