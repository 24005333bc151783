/* Copies of activations; see activation_program.h. */
#include "train/program/activation_program.h"

#include "train/memory/activation_offload.h"
#include "train/program/offload_program.h"

static gboolean leaves (const LsBuilder *builder, const LsChunk *chunk) {
  return ls_activations_leave (builder->spec->workload, chunk);
}

static gboolean overlaps (const LsBuilder *builder) {
  return builder->spec->workload->recompute.offload_overlap;
}

void ls_activations_begin_forward (LsBuilder *builder, const LsChunk *chunk) {
  const gint64 bytes = ls_chunk_input_bytes (chunk);

  if (!leaves (builder, chunk))
    return;
  LsMark there = ls_builder_claim (builder, "input", LS_MEMORY_ACTIVATIONS, bytes);
  LsOp op = ls_offload_copy (builder, "offload_activations", LS_COLLECTIVE_DEVICE_TO_HOST, bytes,
                             LS_PHASE_FORWARD);
  builder->stored = ls_builder_add (builder, LS_ROLE_STORE, &op);
  ls_program_wait_same (builder->program, builder->stored, there);
  if (!overlaps (builder))
    ls_builder_wait (builder, builder->stored);
}

void ls_activations_end_forward (LsBuilder *builder, const LsChunk *chunk) {
  if (!leaves (builder, chunk))
    return;
  if (overlaps (builder))
    ls_builder_wait (builder, builder->stored);
  ls_builder_release (builder, "input", LS_MEMORY_ACTIVATIONS, ls_chunk_input_bytes (chunk));
}

void ls_activations_begin_chunk (LsBuilder *builder, const LsChunk *chunk) {
  if (!leaves (builder, chunk) || builder->backward == LS_ACTION_WEIGHT)
    return;
  LsMark before = ls_builder_last (builder);
  LsOp op = ls_builder_memory (builder, "backward");
  LsMark start = ls_builder_add (builder, LS_ROLE_FETCH, &op);
  ls_program_wait_same (builder->program, start, before);
}

void ls_activations_begin_backward (LsBuilder *builder, const LsChunk *chunk) {
  const gint64 bytes = ls_chunk_input_bytes (chunk);

  if (!leaves (builder, chunk) || builder->backward == LS_ACTION_WEIGHT)
    return;
  LsMark before = {0};
  if (!overlaps (builder))
    before = ls_builder_last (builder);
  LsOp op = ls_offload_copy (builder, "fetch_activations", LS_COLLECTIVE_HOST_TO_DEVICE, bytes,
                             LS_PHASE_BACKWARD);
  op.claim_kind = LS_MEMORY_ACTIVATIONS;
  op.claim_bytes = bytes;
  builder->fetched = ls_builder_add (builder, LS_ROLE_FETCH, &op);
  if (before.valid)
    ls_program_wait_same (builder->program, builder->fetched, before);
  ls_builder_wait (builder, builder->fetched);
}

/* The input after the next is fetched when this segment is done. */
void ls_activations_end_backward (LsBuilder *builder, const LsChunk *chunk) {
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];

  if (!leaves (builder, chunk) || builder->backward == LS_ACTION_WEIGHT || !overlaps (builder) ||
      chunk->segments < 2)
    return;
  LsMark last = ls_builder_last (builder);
  ls_builder_map_back (builder, 2, maps);
  ls_program_wait (builder->program, builder->fetched, last, maps, builder->depth);
}
