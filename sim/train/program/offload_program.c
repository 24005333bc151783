/* Offloaded states; see offload_program.h. */
#include "train/program/offload_program.h"

#include "base/assert.h"
#include "base/time.h"
#include "train/memory/memory.h"

gboolean ls_offload_updates (const LsBuilder *builder) {
  return builder->spec->workload->zero.offload != LS_OFFLOAD_NONE;
}

gboolean ls_offload_fetches (const LsBuilder *builder) {
  return builder->spec->workload->zero.offload == LS_OFFLOAD_PARAMETERS;
}

gboolean ls_offload_reads (const LsBuilder *builder) {
  return ls_workload_nvme (builder->spec->workload) == LS_OFFLOAD_PARAMETERS;
}

guint ls_offload_shards (const LsBuilder *builder, gboolean experts) {
  const LsWorkload *workload = builder->spec->workload;

  return experts ? ls_workload_expert_shards (workload) : ls_workload_shards (workload);
}

gboolean ls_offload_has_copies (const LsBuilder *builder, gboolean experts) {
  const LsWorkload *workload = builder->spec->workload;

  return experts ? ls_workload_expert_copies (workload) > 1
                 : ls_layout_copies (&workload->layout) > 1;
}

LsOp ls_offload_copy (LsBuilder *builder, const char *name, LsCollectiveOp what, gint64 bytes,
                      LsPhaseName phase) {
  LsOp op = ls_builder_collective (builder, name, what, bytes, 0, LS_AXIS_OFFLOAD,
                                   LS_PART_EXPOSED_OFFLOAD);

  op.kind = LS_OP_COPY;
  op.slot = LS_NO_INDEX;
  op.wait_part = LS_PART_EXPOSED_OFFLOAD;
  op.phase = (guint8) phase;
  return op;
}

static gint64 shard_of (const LsBuilder *builder, gint64 n, gboolean experts) {
  const gint64 shards = ls_offload_shards (builder, experts);

  return (n + shards - 1) / shards;
}

LsOp ls_offload_drain (LsBuilder *builder, gint64 bytes, gboolean experts) {
  const LsPrecision *p = &builder->spec->workload->precision;
  const gint64 parameters = shard_of (builder, bytes / ls_format_bytes (p->communication), experts);

  return ls_offload_copy (builder, "offload_gradients", LS_COLLECTIVE_DEVICE_TO_HOST,
                          MAX (parameters, 1) * ls_format_bytes (p->gradients), LS_PHASE_BACKWARD);
}

LsOp ls_offload_fetch (LsBuilder *builder, gint64 bytes, gboolean experts) {
  return ls_offload_copy (builder, "fetch_parameters", LS_COLLECTIVE_HOST_TO_DEVICE,
                          shard_of (builder, bytes, experts), LS_PHASE_FORWARD);
}

LsMark ls_offload_read (LsBuilder *builder, gint64 dense, gint64 experts, LsPhaseName phase) {
  const gint64 bytes = shard_of (builder, dense, FALSE) + shard_of (builder, experts, TRUE);
  const LsOp op =
      ls_offload_copy (builder, "read_parameters", LS_COLLECTIVE_NVME_READ, bytes, phase);

  return ls_builder_add (builder, LS_ROLE_NVME_READ, &op);
}

LsMark ls_offload_drop (LsBuilder *builder, gint64 bytes, LsMark drained) {
  const LsOp op = ls_offload_copy (builder, "write_gradients", LS_COLLECTIVE_NVME_WRITE, bytes,
                                   LS_PHASE_BACKWARD);
  const LsMark written = ls_builder_add (builder, LS_ROLE_NVME_WRITE, &op);

  ls_program_wait_same (builder->program, written, drained);
  return written;
}

/* A pass of the host over `bytes` of its memory. */
static LsOp host_pass (LsBuilder *builder, const char *name, double bytes) {
  const double rate = builder->spec->host_bytes_per_s * LS_OFFLOAD_UPDATE_SHARE;
  LsOp op = LS_OP_INIT;

  LS_REQUIRE (rate > 0, "offload without a host");
  op.kind = LS_OP_HOST;
  op.flags = builder->optional ? LS_OP_OPTIONAL : 0;
  op.name = ls_tables_name (builder->tables, name);
  op.trace_kind = LS_KIND_HOST_WORK;
  op.axis = LS_AXIS_OFFLOAD;
  op.part = op.wait_part = LS_PART_OPTIMIZER;
  op.phase = LS_PHASE_OPTIMIZER;
  op.work_ps = ls_time_ps_from_s_checked (bytes / rate);
  op.bytes = (gint64) bytes;
  /* All cores and all of the memory: ranks of a node take their turns. */
  op.sm_usage = op.hbm_usage = LS_USAGE_ONE;
  return op;
}

void ls_offload_pass (LsBuilder *builder, const char *name, double bytes) {
  LsMark before = ls_builder_last (builder);
  const LsOp op = host_pass (builder, name, bytes);
  const LsMark done = ls_builder_add (builder, LS_ROLE_OFFLOAD, &op);

  ls_program_wait_same (builder->program, done, before);
  ls_builder_wait (builder, done);
}

/* Bytes of so many parameters that are read from drives before they are updated, and written after. */
static gint64 read_bytes (const LsWorkload *workload, gint64 parameters) {
  const gint64 gradient = ls_format_bytes (workload->precision.gradients);

  return parameters * (ls_memory_states_bytes (workload) +
                       (ls_workload_drops_gradients (workload) ? gradient : 0));
}

static gint64 written_bytes (const LsWorkload *workload, gint64 parameters) {
  const gint64 parameter = ls_format_bytes (workload->precision.parameters);

  return parameters * (ls_memory_states_bytes (workload) +
                       (ls_workload_nvme (workload) == LS_OFFLOAD_PARAMETERS ? parameter : 0));
}

/* Groups of parameters one after another, each read, updated and written; inside the loop over them. The read of a
 * group waits until an earlier one is written. */
static LsMark update_group (LsBuilder *builder, gint64 parameters, LsMark before) {
  const LsWorkload *workload = builder->spec->workload;
  const gint64 live = workload->zero.overlap ? LS_SUB_GROUPS_LIVE : 1;
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];
  LsOp op = ls_offload_copy (builder, "read_states", LS_COLLECTIVE_NVME_READ,
                             read_bytes (workload, parameters), LS_PHASE_OPTIMIZER);
  const LsMark read = ls_builder_add (builder, LS_ROLE_NVME_READ, &op);

  ls_program_wait_same (builder->program, read, before);
  op = host_pass (builder, "update", (double) parameters * ls_workload_fused_traffic (workload));
  const LsMark updated = ls_builder_add (builder, LS_ROLE_OFFLOAD, &op);
  ls_program_wait_same (builder->program, updated, read);
  op = ls_offload_copy (builder, "write_states", LS_COLLECTIVE_NVME_WRITE,
                        written_bytes (workload, parameters), LS_PHASE_OPTIMIZER);
  const LsMark written = ls_builder_add (builder, LS_ROLE_NVME_WRITE, &op);
  ls_program_wait_same (builder->program, written, updated);
  ls_builder_map_back (builder, live, maps);
  ls_program_wait (builder->program, read, written, maps, builder->depth);
  return written;
}

/* Compute waits for the last one, which is returned. */
static LsMark update_on_drives (LsBuilder *builder, gint64 parameters) {
  const gint64 groups = ls_workload_sub_groups (builder->spec->workload, parameters);
  const LsMark before = ls_builder_last (builder);

  ls_builder_open (builder, groups);
  const LsMark written = update_group (builder, (parameters + groups - 1) / groups, before);
  ls_builder_close (builder);
  ls_builder_wait (builder, written);
  return written;
}

void ls_offload_update (LsBuilder *builder, gint64 parameters) {
  const LsWorkload *workload = builder->spec->workload;
  const gint64 bytes = parameters * ls_format_bytes (workload->precision.parameters);
  LsMark written = {0};

  if (ls_workload_nvme (workload) != LS_OFFLOAD_NONE)
    written = update_on_drives (builder, parameters);
  else
    ls_offload_pass (builder, "update", (double) parameters * ls_workload_fused_traffic (workload));
  if (ls_offload_fetches (builder))
    return;
  LsOp op = ls_offload_copy (builder, "return_parameters", LS_COLLECTIVE_HOST_TO_DEVICE, bytes,
                             LS_PHASE_OPTIMIZER);
  /* In the stream of updates: behind the last one, with overlap beside its way to the drives. */
  const LsMark returned = ls_builder_add (builder, LS_ROLE_OFFLOAD, &op);
  if (written.valid && !workload->zero.overlap)
    ls_program_wait_same (builder->program, returned, written);
  ls_builder_wait (builder, returned);
}
