/* Copies of activations to the memory of the host and back, where activation_offload.h has them, as operations of a rank's
 * program: calls around a segment's forward and backward.
 *
 * Invariants: where a chunk's input stays on the device nothing is written.
 */
#pragma once

#include "train/program/builder.h"

/* Around a segment's forward: the input is there, and goes; it has gone. */
void ls_activations_begin_forward (LsBuilder *builder, const LsChunk *chunk);
void ls_activations_end_forward (LsBuilder *builder, const LsChunk *chunk);
/* Before the backward of a chunk, and around that of each of its segments. */
void ls_activations_begin_chunk (LsBuilder *builder, const LsChunk *chunk);
void ls_activations_begin_backward (LsBuilder *builder, const LsChunk *chunk);
void ls_activations_end_backward (LsBuilder *builder, const LsChunk *chunk);
