/* Writing a program stream by stream; see builder.h.
 *
 * Loops are opened lazily: opening one only counts it, and a stream catches up when it gets its next
 * operation. So all streams agree on what a loop level means and none holds an empty loop.
 */
#include "train/program/builder.h"

#include "base/assert.h"
#include "base/time.h"
#include "train/program/gather_forward.h"
#include "train/program/gather_program.h"
#include "train/program/input_program.h"
#include "train/program/launch_program.h"
#include "train/program/reduce_program.h"

static const char *const role_names[LS_N_ROLES] = {
#define ROLE_NAME(id, name) [LS_ROLE_##id] = name,
    LS_ROLES (ROLE_NAME)
#undef ROLE_NAME
};

LsBuilder *ls_builder_new (const LsProgramSpec *spec, LsTables *tables, const char *name) {
  LsBuilder *builder = g_new0 (LsBuilder, 1);

  builder->spec = spec;
  builder->tables = tables;
  builder->program = ls_program_new (name);
  builder->microbatch = LS_LABEL_NONE;
  builder->layer = LS_LABEL_NONE;
  for (guint role = 0; role < LS_N_ROLES; role++)
    builder->stream[role] = LS_NO_INDEX;
  /* The engine accounts stream 0, which must therefore be the compute stream. */
  builder->stream[LS_ROLE_COMPUTE] =
      (guint16) ls_program_add_stream (builder->program, role_names[LS_ROLE_COMPUTE]);
  builder->chunks = ls_chunks_new (spec->stage, &spec->workload->recompute);
  builder->current = builder->chunks;
  builder->backward = LS_ACTION_BACKWARD;
  builder->host_clock = ls_launch_needs_clock (builder);
  builder->reduce = ls_reduce_state_new ();
  builder->gather = ls_gather_state_new ();
  builder->forward = ls_gather_forward_new ();
  builder->input = ls_input_state_new ();
  return builder;
}

void ls_builder_free (LsBuilder *builder) {
  if (builder == NULL)
    return;
  g_clear_pointer (&builder->program, ls_program_unref);
  ls_chunks_free (builder->chunks);
  ls_reduce_state_free (builder->reduce);
  ls_gather_state_free (builder->gather);
  ls_gather_forward_free (builder->forward);
  ls_input_state_free (builder->input);
  g_free (builder);
}

LsProgram *ls_builder_finish (LsBuilder *builder, GError **error) {
  LS_REQUIRE (builder->depth == 0 && builder->n_pending == 0, "an unfinished program");
  if (!ls_program_freeze (builder->program, error))
    return NULL;
  return g_steal_pointer (&builder->program);
}

void ls_builder_open (LsBuilder *builder, gint64 count) {
  LS_REQUIRE (count >= 1 && builder->depth < LS_MAX_LOOP_DEPTH, "loop of %" G_GINT64_FORMAT, count);
  ls_builder_join (builder);
  builder->counts[builder->depth++] = count;
  builder->last.valid = FALSE;
}

void ls_builder_close (LsBuilder *builder) {
  LS_REQUIRE (builder->depth > 0);
  ls_builder_join (builder);
  for (guint role = 0; role < LS_N_ROLES; role++)
    if (builder->opened[role] == builder->depth) {
      ls_program_end_repeat (builder->program, builder->stream[role]);
      builder->opened[role]--;
    }
  builder->depth--;
  builder->last.valid = FALSE;
}

guint ls_builder_stream (LsBuilder *builder, LsRole role, guint depth) {
  LS_REQUIRE (depth <= builder->depth && builder->opened[role] <= depth,
              "stream %s has %u loops open and should have %u", role_names[role],
              builder->opened[role], depth);
  if (builder->stream[role] == LS_NO_INDEX)
    builder->stream[role] = (guint16) ls_program_add_stream (builder->program, role_names[role]);
  guint stream = builder->stream[role];
  while (builder->opened[role] < depth)
    ls_program_repeat (builder->program, stream, builder->counts[builder->opened[role]++]);
  return stream;
}

LsMark ls_builder_add (LsBuilder *builder, LsRole role, const LsOp *op) {
  guint stream = ls_builder_stream (builder, role, builder->depth);
  LsMark mark = ls_program_add (builder->program, stream, op);

  if (role != LS_ROLE_COMPUTE)
    return mark;
  for (guint i = 0; i < builder->n_pending; i++) {
    const LsPendingWait *wait = &builder->pending[i];
    if (wait->counted)
      ls_program_wait_count (builder->program, mark, wait->target.stream, wait->base,
                             wait->coefficients, builder->depth);
    else
      ls_program_wait (builder->program, mark, wait->target, wait->maps, wait->n_maps);
  }
  builder->n_pending = 0;
  builder->last = mark;
  return mark;
}

void ls_builder_wait_maps (LsBuilder *builder, LsMark target, const LsLoopMap *maps, guint n_maps) {
  LS_REQUIRE (builder->n_pending < LS_MAX_PENDING && target.valid);
  LsPendingWait *wait = &builder->pending[builder->n_pending++];
  wait->target = target;
  wait->counted = FALSE;
  wait->n_maps = n_maps;
  for (guint i = 0; i < n_maps; i++)
    wait->maps[i] = maps[i];
}

void ls_builder_wait (LsBuilder *builder, LsMark target) {
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];
  guint n = MIN (builder->depth, ls_program_depth (builder->program, target));

  for (guint i = 0; i < n; i++)
    maps[i] = LS_LOOP_SAME ((gint8) i);
  ls_builder_wait_maps (builder, target, maps, n);
}

void ls_builder_wait_count (LsBuilder *builder, guint stream, gint64 base,
                            const gint64 coefficients[LS_MAX_LOOP_DEPTH]) {
  LS_REQUIRE (builder->n_pending < LS_MAX_PENDING);
  LsPendingWait *wait = &builder->pending[builder->n_pending++];
  *wait = (LsPendingWait){.target.stream = (guint16) stream, .counted = TRUE, .base = base};
  for (guint level = 0; level < LS_MAX_LOOP_DEPTH; level++)
    wait->coefficients[level] = coefficients[level];
}

void ls_builder_map_back (const LsBuilder *builder, gint64 back, LsLoopMap maps[]) {
  for (guint level = 0; level < builder->depth; level++)
    maps[level] = LS_LOOP_SAME ((gint8) level);
  maps[builder->depth - 1].offset = -back;
}

void ls_builder_join (LsBuilder *builder) {
  if (builder->n_pending > 0)
    ls_builder_point (builder, "join");
}

LsOp ls_builder_memory (LsBuilder *builder, const char *name) {
  LsOp op = LS_OP_INIT;

  op.kind = LS_OP_MEMORY;
  op.trace_kind = LS_KIND_MEMORY;
  op.name = ls_tables_name (builder->tables, name);
  op.part = LS_PART_COMPUTE;
  op.wait_part = LS_PART_STRAGGLER_WAIT;
  op.microbatch = builder->microbatch;
  op.layer = builder->layer;
  return op;
}

LsMark ls_builder_point (LsBuilder *builder, const char *name) {
  LsOp op = ls_builder_memory (builder, name);
  return ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

LsMark ls_builder_claim (LsBuilder *builder, const char *name, LsMemoryKind kind, gint64 bytes) {
  LsOp op = ls_builder_memory (builder, name);
  op.claim_kind = (guint8) kind;
  op.claim_bytes = bytes;
  op.bytes = bytes;
  return ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

LsMark ls_builder_release (LsBuilder *builder, const char *name, LsMemoryKind kind, gint64 bytes) {
  LsOp op = ls_builder_memory (builder, name);
  op.release_kind = (guint8) kind;
  op.release_bytes = bytes;
  op.bytes = bytes;
  return ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

LsMark ls_builder_last (LsBuilder *builder) {
  if (!builder->last.valid || builder->n_pending > 0)
    ls_builder_point (builder, "join");
  return builder->last;
}

void ls_builder_delay (LsBuilder *builder, const char *name, gint64 ps, LsPart part) {
  LsOp op = ls_builder_memory (builder, name);

  if (ps <= 0)
    return;
  /* A kernel that uses nothing, so that it stays part of its block of kernels. */
  op.kind = LS_OP_KERNEL;
  op.trace_kind = LS_KIND_DELAY;
  op.part = (guint8) part;
  op.work_ps = ps;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

void ls_builder_host (LsBuilder *builder, const char *name, gint64 ps) {
  LsOp op = ls_builder_memory (builder, name);

  if (ps <= 0)
    return;
  op.kind = LS_OP_DELAY;
  op.trace_kind = LS_KIND_DELAY;
  op.part = LS_PART_OTHER;
  op.work_ps = ps;
  ls_builder_wait (builder, ls_builder_add (builder, LS_ROLE_HOST, &op));
}

LsOp ls_builder_kernel (LsBuilder *builder, const char *name, LsKind kind, LsPhaseName phase,
                        const LsKernelCost *cost) {
  LsOp op = LS_OP_INIT;

  op.kind = LS_OP_KERNEL;
  op.flags = builder->optional ? LS_OP_OPTIONAL : 0;
  op.name = ls_tables_name (builder->tables, name);
  op.trace_kind = (guint16) kind;
  op.phase = (guint8) phase;
  op.part = cost->memory_bound ? LS_PART_MEMORY_BOUND : LS_PART_COMPUTE;
  op.wait_part = LS_PART_STRAGGLER_WAIT;
  op.microbatch = builder->microbatch;
  op.layer = builder->layer;
  op.work_ps = cost->alone_ps;
  /* Under time-slicing a kernel has the whole device for its turns, whatever it needs of it. */
  op.sm_usage =
      builder->spec->workload->share == LS_SHARE_TIME_SLICE ? LS_USAGE_ONE : cost->sm_usage;
  op.hbm_usage = cost->hbm_usage;
  op.flops = cost->flops;
  op.bytes = cost->bytes;
  return op;
}

void ls_builder_shard_copy (LsBuilder *builder, const char *name, gint64 bytes, LsPhaseName phase) {
  const LsSoftware *software = builder->spec->workload->software;
  LsKernelCost cost = ls_kernel_stream (builder->spec->device, bytes, 0);

  if (!software->copies_shards || bytes == 0)
    return;
  ls_kernel_finish (&cost, software);
  LsOp op = ls_builder_kernel (builder, name, LS_KIND_ELEMENTWISE, phase, &cost);
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

static LsKind kind_of_collective (LsCollectiveOp collective) {
  static const LsKind kinds[LS_N_COLLECTIVE_OPS] = {
      [LS_COLLECTIVE_ALL_REDUCE] = LS_KIND_ALL_REDUCE,
      [LS_COLLECTIVE_REDUCE_SCATTER] = LS_KIND_REDUCE_SCATTER,
      [LS_COLLECTIVE_ALL_GATHER] = LS_KIND_ALL_GATHER,
      [LS_COLLECTIVE_BROADCAST] = LS_KIND_BROADCAST,
      [LS_COLLECTIVE_REDUCE] = LS_KIND_REDUCE,
      [LS_COLLECTIVE_ALL_TO_ALL] = LS_KIND_ALL_TO_ALL,
      [LS_COLLECTIVE_SEND_RECV] = LS_KIND_SEND,
      [LS_COLLECTIVE_BARRIER] = LS_KIND_BARRIER,
      [LS_COLLECTIVE_HOST_TO_DEVICE] = LS_KIND_HOST_COPY,
      [LS_COLLECTIVE_DEVICE_TO_HOST] = LS_KIND_HOST_COPY,
      [LS_COLLECTIVE_STORAGE_READ] = LS_KIND_STORAGE_READ,
      [LS_COLLECTIVE_STORAGE_WRITE] = LS_KIND_STORAGE_WRITE,
      [LS_COLLECTIVE_NVME_READ] = LS_KIND_STORAGE_READ,
      [LS_COLLECTIVE_NVME_WRITE] = LS_KIND_STORAGE_WRITE,
  };
  return kinds[collective];
}

LsOp ls_builder_collective (LsBuilder *builder, const char *name, LsCollectiveOp collective,
                            gint64 bytes, LsSlot slot, LsAxis axis, LsPart part) {
  LsOp op = LS_OP_INIT;

  op.kind = LS_OP_COLLECTIVE;
  op.flags = builder->optional ? LS_OP_OPTIONAL : 0;
  op.name = ls_tables_name (builder->tables, name);
  op.trace_kind = (guint16) kind_of_collective (collective);
  op.axis = (guint8) axis;
  op.part = (guint8) part;
  op.wait_part = LS_PART_STRAGGLER_WAIT;
  op.slot = (guint16) slot;
  op.descriptor = ls_tables_descriptor (builder->tables, collective, bytes);
  op.microbatch = builder->microbatch;
  op.layer = builder->layer;
  op.bytes = bytes;
  return op;
}

gint64 ls_builder_reduce_bytes (const LsBuilder *builder, gint64 parameters) {
  return parameters * ls_format_bytes (builder->spec->workload->precision.communication);
}

gint64 ls_builder_bucket_bytes (const LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const gboolean later = builder->spec->index > 0 || builder->part > 0;

  return workload->zero.bucket_bytes == 0 || (workload->software->buckets_first_stage && later)
             ? G_MAXINT64
             : workload->zero.bucket_bytes;
}

gboolean ls_builder_gathers (const LsBuilder *builder) {
  return ls_workload_gathers (builder->spec->workload);
}

LsShared ls_builder_shared (const LsBuilder *builder, gint64 dense, gint64 experts) {
  const LsWorkload *workload = builder->spec->workload;

  return (LsShared){
      .dense = ls_layout_copies (&workload->layout) > 1 ? dense : 0,
      .experts = ls_workload_expert_copies (workload) > 1 ? experts : 0,
  };
}

LsShared ls_builder_sharded (const LsBuilder *builder, gint64 dense, gint64 experts) {
  const LsWorkload *workload = builder->spec->workload;

  return (LsShared){
      .dense = ls_workload_shards (workload) > 1 ? dense : 0,
      .experts = ls_workload_expert_shards (workload) > 1 ? experts : 0,
  };
}

LsShared ls_builder_moved (const LsBuilder *builder, LsOffload least, gint64 dense,
                           gint64 experts) {
  if (builder->spec->workload->zero.offload >= least)
    return (LsShared){dense, experts};
  return ls_builder_shared (builder, dense, experts);
}

guint ls_builder_zero_parts (const LsBuilder *builder, const LsLayerPlan *plan) {
  return builder->spec->workload->software->zero_per_matrix ? MAX (plan->n_matrices, 1) : 1;
}

LsMark ls_builder_zero_pieces (LsBuilder *builder, LsRole role, LsMark collective) {
  const LsWorkload *workload = builder->spec->workload;
  double host_s = workload->software->zero_piece_s.value * (double) ls_workload_shards (workload);

  if (!workload->software->zero_per_matrix || host_s <= 0 || ls_workload_shards (workload) == 1)
    return collective;
  LsOp op = ls_builder_memory (builder, "pieces");
  op.kind = LS_OP_KERNEL;
  op.trace_kind = LS_KIND_DELAY;
  op.part = LS_PART_EXPOSED_ZERO;
  op.work_ps = ls_time_ps_from_s_checked (host_s);
  const LsMark pieces = ls_builder_add (builder, role, &op);
  if (pieces.stream != collective.stream)
    ls_program_wait_same (builder->program, pieces, collective);
  return pieces;
}
