/* A rank's program: what it holds from the start, then a loop over steps. See rank_program.h.
 *
 *   claim parameters, gradients, optimizer state, message buffers
 *   steps x [ host | input | sections of the schedule | reductions | update | barrier ]
 */
#include "train/program/rank_program.h"

#include "base/time.h"
#include "train/memory/memory.h"
#include "train/program/gather_forward.h"
#include "train/program/gather_program.h"
#include "train/program/input_program.h"
#include "train/program/launch_program.h"
#include "train/program/optimizer_program.h"
#include "train/program/reduce_program.h"
#include "train/program/schedule.h"

static void claim_if (LsBuilder *builder, const char *name, LsMemoryKind kind, gint64 bytes) {
  if (bytes > 0)
    ls_builder_claim (builder, name, kind, bytes);
}

static void add_static_memory (LsBuilder *builder) {
  const LsProgramSpec *spec = builder->spec;
  LsStaticMemory memory = ls_memory_static_stage (spec->workload, spec->stage);
  g_autofree gint64 *received = ls_builder_received (builder);

  claim_if (builder, "parameters", LS_MEMORY_PARAMETERS,
            memory.parameters_bytes + spec->stage->narrow_bytes);
  claim_if (builder, "gradients", LS_MEMORY_GRADIENTS, memory.gradients_bytes);
  claim_if (builder, "optimizer", LS_MEMORY_OPTIMIZER, memory.optimizer_bytes);
  claim_if (builder, "gradient_placeholders", LS_MEMORY_BUFFERS,
            ls_memory_placeholders (spec->workload, spec->stage));
  claim_if (builder, "root_parameters", LS_MEMORY_BUFFERS,
            ls_memory_root (spec->workload, spec->stage));
  /* An activation and its gradient towards each neighbour. */
  claim_if (builder, "messages", LS_MEMORY_BUFFERS,
            ls_memory_messages (spec->workload, spec->index, spec->stage, received));
}

/* A step of an asynchronous worker begins when the policy says so: how long it waits is in the table of gates, which
 * whoever runs the program fills. */
static void add_gate (LsBuilder *builder) {
  LsOp op = ls_builder_memory (builder, "gate");

  op.kind = LS_OP_DELAY;
  op.trace_kind = LS_KIND_DELAY;
  op.part = LS_PART_OTHER;
  op.flags = LS_OP_WORK_TABLE;
  op.table = LS_TABLE_GATE;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

/* A checkpoint on its way from host memory to storage: nobody waits for it, the next step's part follows. */
static void drain_checkpoint (LsBuilder *builder) {
  gint64 bytes = builder->spec->workload->drain_bytes;

  if (bytes == 0)
    return;
  LsOp op = ls_builder_collective (builder, "write_checkpoint", LS_COLLECTIVE_STORAGE_WRITE, bytes,
                                   0, LS_AXIS_CHECKPOINT, LS_PART_CHECKPOINT);
  op.kind = LS_OP_COPY;
  op.slot = LS_NO_INDEX;
  op.wait_part = LS_PART_CHECKPOINT;
  op.phase = LS_PHASE_CHECKPOINT;
  ls_builder_add (builder, LS_ROLE_DRAIN, &op);
}

LsProgram *ls_rank_program_new (const LsProgramSpec *spec, LsTables *tables, const char *name,
                                GError **error) {
  g_autoptr (LsBuilder) builder = ls_builder_new (spec, tables, name);
  const LsWorkload *workload = spec->workload;

  add_static_memory (builder);
  ls_builder_open (builder, workload->steps);
  ls_optimizer_begin_step (builder);
  if (workload->update.active)
    add_gate (builder);
  ls_builder_delay (builder, "host",
                    ls_time_ps_from_s_checked (workload->software->host_step_s.value),
                    LS_PART_OTHER);
  drain_checkpoint (builder);
  ls_gather_begin_step (builder);
  ls_gather_forward_begin_step (builder);
  ls_input_write (builder);
  ls_schedule_build (builder);
  ls_input_finish (builder);
  ls_reduce_finish (builder);
  ls_optimizer_write (builder);
  ls_launch_end_step (builder);
  ls_builder_close (builder);
  ls_optimizer_finish (builder);
  return ls_builder_finish (builder, error);
}
