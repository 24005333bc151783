/* Pauses between steps; see pause_program.h. */
#include "train/program/pause_program.h"

static void add_pause (LsBuilder *builder, const char *name, guint16 table, gint64 ps) {
  LsOp op = ls_builder_memory (builder, name);

  if (ps <= 0)
    return;
  op.kind = LS_OP_DELAY;
  op.trace_kind = LS_KIND_DELAY;
  op.part = LS_PART_OTHER;
  op.flags = LS_OP_WORK_TABLE | LS_OP_TABLE_FOLDS;
  op.table = table;
  op.work_ps = ps;
  ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

/* Kernels of one forward pass of the stage. */
static gint64 forward_ps (const LsStage *stage) {
  gint64 sum = 0;

  for (guint r = 0; r < stage->n_runs; r++) {
    const LsLayerPlan *plan = stage->runs[r].plan;

    for (guint i = 0; i < plan->n_forward; i++)
      if (!plan->forward[i].is_collective)
        sum += plan->forward[i].cost.alone_ps * stage->runs[r].count;
  }
  return sum;
}

void ls_pauses_write (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const LsPause *evaluation = &workload->evaluation, *logging = &workload->logging;
  gint64 one_ps = evaluation->time_ps;

  if (evaluation->every > 0 && one_ps < 0)
    one_ps = forward_ps (builder->spec->stage) *
             (workload->microbatches + workload->layout.pipeline - 1);
  if (evaluation->every > 0)
    add_pause (builder, "evaluation", LS_TABLE_EVALUATION, one_ps * evaluation->steps);
  if (logging->every > 0)
    add_pause (builder, "logging", LS_TABLE_LOGGING, logging->time_ps);
}
