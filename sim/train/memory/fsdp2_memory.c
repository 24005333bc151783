/* FSDP2's flat buffers and the messages of its pipelines; see fsdp2_memory.h. */
#include "train/memory/fsdp2_memory.h"

#include "train/memory/gathered_bytes.h"

static gboolean gathers (const LsWorkload *workload) {
  return workload->software->root_stays_gathered && workload->zero.stage >= 1 &&
         (ls_workload_shards (workload) > 1 || workload->zero.offload == LS_OFFLOAD_PARAMETERS);
}

static gint64 sharded_gradients (const LsWorkload *workload, const LsStage *stage) {
  return workload->zero.stage > 1
             ? 0
             : ls_workload_owned (workload, stage->parameters, stage->expert_parameters) *
                   ls_format_bytes (workload->precision.gradients);
}

gint64 ls_fsdp2_apart (const LsWorkload *workload, const LsStage *stage) {
  gint64 root = 0, block = 0;

  if (!gathers (workload))
    return 0;
  for (guint i = 0; i < stage->n_runs; i++) {
    const LsLayerRun *run = &stage->runs[i];
    const gint64 bytes = ls_gathered_bytes (run->plan, &workload->precision).dense;

    if (run->plan->is_root)
      root += bytes * run->count;
    if (run->is_block)
      block = MAX (block, bytes);
  }
  return root + block * (root < block ? 2 : 1) + sharded_gradients (workload, stage);
}

/* Micro-batches in flight at the most, of a device with one stage; of one with several all, as an upper bound. */
static gint64 in_flight (const LsWorkload *workload, guint device) {
  const gint64 m = workload->microbatches;
  const gboolean line =
      workload->schedule == LS_SCHEDULE_1F1B && ls_workload_n_parts (workload) == 1;

  return line ? MIN ((gint64) workload->layout.pipeline - device, m) : m;
}

gint64 ls_fsdp2_messages (const LsWorkload *workload, guint device, gint64 sent_bytes,
                          gint64 received_bytes) {
  const gint64 m = workload->microbatches, f = in_flight (workload, device);

  return (m + f) * sent_bytes + (m - f) * received_bytes;
}
