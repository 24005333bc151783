/* All-gathers of parameters; see gather_program.h. */
#include "train/gather_program.h"

#include "base/assert.h"

struct LsGatherState {
  GArray *gathers;  /* LsMark of the units of one segment, in order */
  GArray *releases; /* the same */
};

LsGatherState *ls_gather_state_new (void) {
  LsGatherState *state = g_new0 (LsGatherState, 1);

  state->gathers = g_array_new (FALSE, FALSE, sizeof (LsMark));
  state->releases = g_array_new (FALSE, FALSE, sizeof (LsMark));
  return state;
}

void ls_gather_state_free (LsGatherState *state) {
  if (state == NULL)
    return;
  g_array_unref (state->gathers);
  g_array_unref (state->releases);
  g_free (state);
}

void ls_gather_begin_step (LsBuilder *builder) {
  if (!ls_builder_gathers (builder))
    return;
  LsMark before = ls_builder_last (builder);
  LsOp op = ls_builder_memory (builder, "step");
  LsMark start = ls_builder_add (builder, LS_ROLE_GATHER, &op);
  ls_program_wait_same (builder->program, start, before);
}

void ls_gather_begin_layer (LsBuilder *builder, const LsLayerPlan *plan, LsPhaseName phase) {
  if (!ls_builder_gathers (builder) || plan->parameters == 0)
    return;
  gint64 bytes = ls_builder_gather_bytes (builder, plan->parameters);
  guint parts = ls_builder_zero_parts (builder, plan);
  LsMark gather = {0};

  for (guint part = 0; part < parts; part++) {
    gint64 size = bytes * (part + 1) / parts - bytes * part / parts;
    LsOp op = ls_builder_collective (builder, "gather_parameters", LS_COLLECTIVE_ALL_GATHER, size,
                                     LS_SLOT_ZERO_GATHER, LS_AXIS_ZERO, LS_PART_EXPOSED_ZERO);
    op.phase = (guint8) phase;
    op.claim_kind = LS_MEMORY_BUFFERS;
    op.claim_bytes = size;
    gather = ls_builder_add (builder, LS_ROLE_GATHER, &op);
    if (part == 0)
      g_array_append_val (builder->gather->gathers, gather);
    gather = ls_builder_zero_pieces (builder, LS_ROLE_GATHER, gather);
  }
  ls_builder_wait (builder, gather);
}

void ls_gather_end_layer (LsBuilder *builder, gint64 parameters) {
  if (!ls_builder_gathers (builder) || parameters == 0)
    return;
  gint64 bytes = ls_builder_gather_bytes (builder, parameters);
  LsMark last = ls_builder_last (builder);
  LsOp op = ls_builder_memory (builder, "release_parameters");
  op.release_kind = LS_MEMORY_BUFFERS;
  op.release_bytes = bytes;
  op.bytes = bytes;
  LsMark release = ls_builder_add (builder, LS_ROLE_RELEASE, &op);
  g_array_append_val (builder->gather->releases, release);
  ls_program_wait_same (builder->program, release, last);
}

void ls_gather_end_segment (LsBuilder *builder) {
  const LsZero *zero = &builder->spec->workload->zero;
  GArray *gathers = builder->gather->gathers, *releases = builder->gather->releases;
  gint64 n = gathers->len;
  gint64 distance = zero->overlap ? MAX (zero->prefetch, 0) + 1 : 1;

  LS_REQUIRE (gathers->len == releases->len);
  for (gint64 i = 0; i < n; i++) {
    /* Unit i - distance of this iteration lies `back` iterations before it. */
    gint64 back = distance > i ? (distance - i + n - 1) / n : 0;
    gint64 unit = i - distance + back * n;
    const LsLoopMap maps[] = {LS_LOOP_SAME (LS_LEVEL_STEP), LS_LOOP_SAME (LS_LEVEL_MICROBATCH),
                              LS_LOOP_SHIFT (LS_LEVEL_SEGMENT, -back)};
    ls_program_wait (builder->program, g_array_index (gathers, LsMark, i),
                     g_array_index (releases, LsMark, unit), maps, G_N_ELEMENTS (maps));
  }
  g_array_set_size (gathers, 0);
  g_array_set_size (releases, 0);
}

void ls_gather_updated (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;

  if (ls_workload_shards (workload) == 1 || workload->zero.stage < 1 || workload->zero.stage > 2)
    return;
  gint64 bytes = ls_builder_gather_bytes (builder, builder->spec->stage->parameters);
  gint64 bucket = workload->zero.bucket_bytes > 0 ? workload->zero.bucket_bytes : bytes;
  LsMark before = ls_builder_last (builder), gathered = {0};
  gint64 whole = bytes / bucket, rest = bytes % bucket;
  for (guint part = 0; part < 2; part++) {
    gint64 size = part == 0 ? bucket : rest;
    if (size == 0 || (part == 0 && whole == 0))
      continue;
    guint stream = ls_builder_stream (builder, LS_ROLE_GATHER, builder->depth);
    if (part == 0)
      ls_program_repeat (builder->program, stream, whole);
    LsOp op = ls_builder_collective (builder, "gather_parameters", LS_COLLECTIVE_ALL_GATHER, size,
                                     LS_SLOT_ZERO_GATHER, LS_AXIS_ZERO, LS_PART_EXPOSED_ZERO);
    op.phase = LS_PHASE_OPTIMIZER;
    gathered = ls_program_add (builder->program, stream, &op);
    ls_program_wait_same (builder->program, gathered, before);
    if (part == 0)
      ls_program_end_repeat (builder->program, stream);
  }
  ls_builder_wait (builder, gathered);
}
