/* The static memory model: states, shards, activations, buffers, capacity; see memory.h.
 *
 * Model:      with P parameters on the rank and d data-parallel ranks, bytes per parameter p of the
 *             parameters, g of the gradients, o of master copy and moments together:
 *               stage 0  (p + g + o) P          stage 1  (p + g) P + o P / d
 *               stage 2  p P + (g + o) P / d    stage 3  (p + g + o) P / d
 *             source: Rajbhandari et al. 2019 (arXiv 1910.02054), section 5. With p = 2, g = 4, o = 12
 *             stage 1 is Megatron's distributed optimizer, 6 + 12/d.
 *             Buffers: stage 3 holds up to prefetch + 1 gathered layers and the gradients of two
 *             layers; stage 2 the gradients of one segment beyond a bucket.
 * Left out:   temporary copies inside libraries (workspaces of matmuls).
 */
#include "train/memory.h"

#include "base/assert.h"
#include "train/memory_walk.h"

/* Peak reserved / peak allocated: the median over 12 runs of Megatron-LM on 8 B200 that print both (1.03;
 * range 1.028 to 1.093). source: MooreThreads/SimuMax, docs/b200 at 4dcaae5. FITTED on those rows. */
#define RESERVED_FACTOR 1.033
/* Device memory of one communicator: channels x (simple, LL and LL128 buffers) per connection. ASSUMED: some
 * 24 channels of 4 MiB and their staging, as NCCL takes by default (NCCL_BUFFSIZE = 4 MiB). */
#define COMMUNICATOR_BYTES (128 << 20)
/* Gradients of this many layers wait for their reduction at once, stage 3. source: FSDP's limit of two
 * in-flight reductions (PyTorch, limit_all_gathers and the reduce-scatter queue). */
#define REDUCTIONS_IN_FLIGHT 2

static gint64 shard (gint64 n, guint ranks) {
  return (n + ranks - 1) / ranks;
}

static gint64 optimizer_bytes (const LsWorkload *workload) {
  const LsPrecision *p = &workload->precision;

  return (p->master_used ? ls_format_bytes (p->master) : 0) +
         (gint64) ls_optimizer_moments (&workload->optimizer) * ls_format_bytes (p->optimizer);
}

LsStaticMemory ls_memory_static (const LsWorkload *workload, gint64 parameters) {
  const gint64 own = shard (parameters, workload->layout.data);
  const int stage = workload->zero.stage;

  return (LsStaticMemory){
      .parameters_bytes =
          (stage >= 3 ? own : parameters) * ls_format_bytes (workload->precision.parameters),
      .gradients_bytes =
          (stage >= 2 ? own : parameters) * ls_format_bytes (workload->precision.gradients),
      .optimizer_bytes = (stage >= 1 ? own : parameters) * optimizer_bytes (workload),
  };
}

double ls_memory_bytes_per_parameter (const LsWorkload *workload) {
  return (double) (ls_format_bytes (workload->precision.parameters) +
                   ls_format_bytes (workload->precision.gradients) + optimizer_bytes (workload));
}

/* Parameters of the stage's layers one by one, no more of a run of equal layers than `most`. */
static GArray *unit_parameters (const LsStage *stage, guint most) {
  GArray *units = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint r = 0; r < stage->n_runs; r++)
    for (guint i = 0; i < MIN (stage->runs[r].count, most); i++)
      if (stage->runs[r].plan->parameters > 0)
        g_array_append_val (units, stage->runs[r].plan->parameters);
  return units;
}

/* The largest sum of `width` neighbours. */
static gint64 largest_window (const GArray *units, guint width) {
  gint64 sum = 0, largest = 0;

  for (guint i = 0; i < units->len; i++) {
    sum += g_array_index (units, gint64, i);
    if (i >= width)
      sum -= g_array_index (units, gint64, i - width);
    largest = MAX (largest, sum);
  }
  return largest;
}

static void buffers (const LsWorkload *workload, guint number, const LsStage *stage,
                     LsMemoryEstimate *estimate) {
  const LsZero *zero = &workload->zero;
  const guint width = zero->overlap ? (guint) CLAMP (zero->prefetch, 0, 1000) + 1 : 1;
  const gint64 gather = ls_format_bytes (workload->precision.compute);
  const gint64 reduce = ls_format_bytes (workload->precision.communication);
  g_autoptr (GArray) units = unit_parameters (stage, width + REDUCTIONS_IN_FLIGHT);

  estimate->gathered_bytes = estimate->reduced_bytes = estimate->message_bytes = 0;
  if (workload->layout.data > 1 && zero->stage == 3) {
    estimate->gathered_bytes = gather * largest_window (units, width);
    estimate->reduced_bytes = reduce * largest_window (units, REDUCTIONS_IN_FLIGHT);
  } else if (workload->layout.data > 1 && zero->stage == 2) {
    const gint64 all = reduce * stage->parameters;
    const gint64 segment =
        reduce * largest_window (units, 1) *
        (workload->recompute.mode == LS_RECOMPUTE_FULL ? workload->recompute.every : 1);

    estimate->reduced_bytes = zero->overlap ? MIN (all, zero->bucket_bytes + 2 * segment) : all;
  }
  /* An activation and its gradient towards each neighbour. */
  if (workload->layout.pipeline > 1)
    estimate->message_bytes = 2 * stage->boundary_bytes *
                              (number == 0 || number + 1 == workload->layout.pipeline ? 1 : 2);
}

guint ls_memory_communicators (const LsWorkload *workload) {
  const LsLayout *layout = &workload->layout;

  if (layout->ranks == 1)
    return 0;
  return 1u + (layout->tensor > 1 ? 1u : 0u) + (layout->data > 1 ? 1u : 0u) +
         (layout->pipeline > 1 ? 1u : 0u);
}

static void capacity (const LsAccelerator *accelerator, guint communicators,
                      LsMemoryEstimate *estimate) {
  LsDevice device;

  ls_device_init (&device, accelerator, LS_CLOCK_SUSTAINED, NULL);
  estimate->physical_bytes = device.hbm_bytes;
  estimate->context_bytes = device.context_bytes;
  estimate->communication_bytes = (gint64) communicators * COMMUNICATOR_BYTES;
  estimate->capacity_bytes =
      device.hbm_bytes - device.context_bytes - estimate->communication_bytes;
}

gint64 ls_memory_capacity (const LsAccelerator *accelerator, guint communicators) {
  LsMemoryEstimate estimate;

  capacity (accelerator, communicators, &estimate);
  return estimate.capacity_bytes;
}

gint64 ls_memory_reserved (gint64 allocated_bytes) {
  return (gint64) ((double) allocated_bytes * RESERVED_FACTOR);
}

void ls_memory_estimate (const LsWorkload *workload, guint number, const LsAccelerator *accelerator,
                         LsMemoryEstimate *estimate) {
  g_autoptr (LsStage) stage = ls_stage_new (workload, number, accelerator);
  const LsStaticMemory states = ls_memory_static (workload, stage->parameters);
  const LsLayerRun *last = &stage->runs[stage->n_runs - 1];
  LsMemoryWalk walk;

  *estimate = (LsMemoryEstimate){.stage = number};
  ls_memory_walk (stage, &workload->recompute, &walk);
  buffers (workload, number, stage, estimate);
  capacity (accelerator, ls_memory_communicators (workload), estimate);
  estimate->bytes[LS_MEMORY_PARAMETERS] = states.parameters_bytes;
  estimate->bytes[LS_MEMORY_GRADIENTS] = states.gradients_bytes;
  estimate->bytes[LS_MEMORY_OPTIMIZER] = states.optimizer_bytes;
  estimate->bytes[LS_MEMORY_ACTIVATIONS] =
      (ls_workload_in_flight (workload, number) - 1) * walk.kept + walk.peak;
  estimate->bytes[LS_MEMORY_BUFFERS] =
      estimate->gathered_bytes + estimate->reduced_bytes + estimate->message_bytes;
  if (workload->model->kind == LS_MODEL_TRANSFORMER && !last->is_block)
    estimate->logits_bytes = ls_layer_plan_saved_bytes (last->plan);
  for (guint kind = 0; kind < LS_N_MEMORY; kind++)
    estimate->allocated_bytes += estimate->bytes[kind];
  estimate->reserved_bytes = ls_memory_reserved (estimate->allocated_bytes);
  estimate->fits = estimate->reserved_bytes <= estimate->capacity_bytes;
}

void ls_memory_fullest (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                        LsMemoryEstimate *estimate) {
  for (guint stage = 0; stage < workload->layout.pipeline; stage++) {
    LsMemoryEstimate one;

    ls_memory_estimate (workload, stage, accelerators[stage], &one);
    if (stage == 0 || one.reserved_bytes - one.capacity_bytes >
                          estimate->reserved_bytes - estimate->capacity_bytes)
      *estimate = one;
  }
}

double ls_recompute_chain_work (gint64 n, gint64 k) {
  return (double) n * (2 - 1 / (double) k);
}

double ls_recompute_chain_peak (gint64 n, gint64 k) {
  return (double) n / (double) k + (double) k - 1;
}

double ls_recompute_block_peak (gint64 n, gint64 k, double input, double inside) {
  return input * (double) n / (double) k + (double) k * inside;
}
