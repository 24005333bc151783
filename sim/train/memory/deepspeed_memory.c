/* DeepSpeed's own copies; see deepspeed_memory.h. */
#include "train/memory/deepspeed_memory.h"

/* Elements of a bucket. source: DeepSpeed, runtime/zero/config.py, reduce_bucket_size (its default). */
#define BUCKET_GRADIENTS 500000000

static gboolean copies (const LsWorkload *workload) {
  return workload->software->deepspeed_copies && workload->zero.stage <= 2 &&
         workload->zero.offload == LS_OFFLOAD_NONE;
}

static gboolean in_bf16 (const LsWorkload *workload) {
  return workload->precision.compute == LS_FORMAT_BF16;
}

gint64 ls_deepspeed_apart (const LsWorkload *workload, const LsStage *stage) {
  const gint64 narrow = ls_format_bytes (workload->precision.compute);
  const gint64 all = stage->parameters + stage->expert_parameters;
  const gint64 own = ls_workload_owned (workload, stage->parameters, stage->expert_parameters);

  if (!copies (workload))
    return 0;
  if (in_bf16 (workload))
    return own * narrow;
  if (workload->zero.stage == 0)
    return all * 2 * ls_format_bytes (LS_FORMAT_FP32);
  return own * (2 * narrow + ls_format_bytes (LS_FORMAT_FP32)) + BUCKET_GRADIENTS * narrow;
}

gint64 ls_deepspeed_narrow_gradients (const LsWorkload *workload, gint64 parameters) {
  const gint64 narrow = ls_format_bytes (workload->precision.compute);

  return copies (workload) && in_bf16 (workload) &&
                 ls_format_bytes (workload->precision.gradients) > narrow
             ? parameters * narrow
             : 0;
}

gint64 ls_deepspeed_messages (const LsWorkload *workload, guint device, gint64 sent_bytes,
                              gint64 received_bytes) {
  const gint64 in_flight =
      MIN ((gint64) workload->layout.pipeline - device, workload->microbatches);

  if (!workload->software->deepspeed_copies || workload->schedule != LS_SCHEDULE_1F1B)
    return 0;
  return in_flight * (sent_bytes + (workload->layout.tensor > 1 ? 0 : received_bytes));
}
