/* The layers of a stage, forward or backward, for one micro-batch, at the builder's current loops.
 *
 * Model:      chunks in order; a loop over a chunk's segments; the layers of a segment one by one.
 *             Forward operations claim what they save, backward operations release it at the end of
 *             their layer. What is recomputed claims only what its mode keeps (chunk.h), and claims
 *             the rest when it is run again before the segment's backward.
 *             Tensor-parallel collectives run on a stream of their own and compute waits for them,
 *             as frameworks do that do not split a layer to overlap them.
 *             Where the host needs longer to launch a layer's kernels than the device to run them, compute
 *             waits for it (launch_program.h).
 * Invariants: what a micro-batch's forward claims, its backward releases.
 */
#pragma once

#include "train/program/builder.h"

/* Of the builder's current part; the backward as a whole or the half that the builder says. */
void ls_layers_forward (LsBuilder *builder);
void ls_layers_backward (LsBuilder *builder);
/* Makes whole what came from a neighbouring stage in parts, one per tensor rank. */
void ls_layers_gather_boundary (LsBuilder *builder, gint64 bytes, LsPhaseName phase);
