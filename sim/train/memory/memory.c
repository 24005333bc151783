/* The static memory model: states, shards, activations, buffers, capacity; see memory.h.
 *
 * Model:      with P parameters on the rank and d data-parallel ranks, bytes per parameter p of the
 *             parameters, g of the gradients, o of master copy and moments together:
 *               stage 0  (p + g + o) P          stage 1  (p + g) P + o P / d
 *               stage 2  p P + (g + o) P / d    stage 3  (p + g + o) P / d
 *             source: Rajbhandari et al. 2019 (arXiv 1910.02054), section 5. With p = 2, g = 4, o = 12
 *             stage 1 is Megatron's distributed optimizer, 6 + 12/d. With a secondary partition of s ranks (ZeRO++ hpZ)
 *             p P / s more. source: Wang et al. 2023 (arXiv 2306.10209), section 3.2.
 *             Activations and buffers: see memory_walk.h.
 * Left out:   temporary copies inside libraries (workspaces of matmuls), and flat copies of gradients but
 *             DeepSpeed's (deepspeed_memory.h).
 */
#include "train/memory/memory.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "train/memory/activation_offload.h"
#include "train/memory/deepspeed_memory.h"
#include "train/memory/fsdp2_memory.h"
#include "train/memory/gather_depth.h"
#include "train/memory/gathered_bytes.h"
#include "train/memory/memory_actions.h"

/* Peak reserved / peak allocated: the median over 12 runs of Megatron-LM on 8 B200 that print both (1.03;
 * range 1.028 to 1.093). source: MooreThreads/SimuMax, docs/b200 at 4dcaae5. FITTED on those rows. */
#define RESERVED_FACTOR 1.033
/* Device memory of one communicator: channels x (simple, LL and LL128 buffers) per connection. ASSUMED: some
 * 24 channels of 4 MiB and their staging, as NCCL takes by default (NCCL_BUFFSIZE = 4 MiB). */
#define COMMUNICATOR_BYTES (128 << 20)

static gint64 shard (gint64 n, guint ranks) {
  return (n + ranks - 1) / ranks;
}

gint64 ls_memory_states_bytes (const LsWorkload *workload) {
  const LsPrecision *p = &workload->precision;

  return (p->master_used ? ls_format_bytes (p->master) : 0) +
         (gint64) ls_optimizer_moments (&workload->optimizer) * ls_format_bytes (p->optimizer);
}

/* On the device. Offloaded gradients leave it as they are reduced; those of stage 1 are summed on it first. */
static LsStaticMemory states (const LsWorkload *workload, gint64 parameters, guint shards) {
  const gint64 own = shard (parameters, shards);
  const int stage = workload->zero.stage;
  const LsOffload offload = workload->zero.offload;

  return (LsStaticMemory){
      .parameters_bytes =
          offload == LS_OFFLOAD_PARAMETERS
              ? 0
              : (stage >= 3 ? own : parameters) * ls_format_bytes (workload->precision.parameters),
      .gradients_bytes =
          offload != LS_OFFLOAD_NONE && stage >= 2
              ? 0
              : (stage >= 2 ? own : parameters) * ls_format_bytes (workload->precision.gradients),
      .optimizer_bytes = offload != LS_OFFLOAD_NONE
                             ? 0
                             : (stage >= 1 ? own : parameters) * ls_memory_states_bytes (workload),
  };
}

/* Shards of dense parameters that a rank has once more for the backward pass (zero.secondary_group). */
static gint64 secondary_bytes (const LsWorkload *workload, double bytes) {
  const guint shards = ls_workload_backward_shards (workload);

  return shards < ls_workload_shards (workload) ? shard ((gint64) ceil (bytes), shards) : 0;
}

/* Parameters that are not trained: sharded like the others with stage 3, else whole on every rank. */
static gint64 frozen_bytes (const LsWorkload *workload, const LsStage *stage) {
  const gboolean shards = workload->zero.stage >= 3;
  const gint64 maps = stage->frozen_map_parameters;
  const double map_size = ls_precision_frozen_size (&workload->precision);
  const double size = ls_format_bytes (workload->precision.parameters);
  const double dense = (double) maps * map_size + (double) (stage->frozen_parameters - maps) * size;
  const double experts = (double) stage->frozen_expert_parameters * map_size;

  return secondary_bytes (workload, dense) +
         shard ((gint64) ceil (dense), shards ? ls_workload_shards (workload) : 1) +
         shard ((gint64) ceil (experts), shards ? ls_workload_expert_shards (workload) : 1);
}

/* What is offloaded, wherever it lies. */
static LsStaticMemory offloaded (const LsWorkload *workload, const LsStage *stage) {
  const LsPrecision *p = &workload->precision;
  const gint64 own = ls_workload_owned (workload, stage->parameters, stage->expert_parameters);

  if (workload->zero.offload == LS_OFFLOAD_NONE)
    return (LsStaticMemory){0};
  return (LsStaticMemory){
      .parameters_bytes =
          workload->zero.offload == LS_OFFLOAD_PARAMETERS
              ? own * ls_format_bytes (p->parameters) + frozen_bytes (workload, stage)
              : 0,
      .gradients_bytes = own * ls_format_bytes (p->gradients),
      .optimizer_bytes = own * ls_memory_states_bytes (workload),
  };
}

LsStaticMemory ls_memory_drives (const LsWorkload *workload, const LsStage *stage) {
  const LsStaticMemory all = offloaded (workload, stage);
  const LsOffload nvme = ls_workload_nvme (workload);

  return (LsStaticMemory){
      .parameters_bytes = nvme == LS_OFFLOAD_PARAMETERS ? all.parameters_bytes : 0,
      .gradients_bytes = ls_workload_drops_gradients (workload) ? all.gradients_bytes : 0,
      .optimizer_bytes = nvme != LS_OFFLOAD_NONE ? all.optimizer_bytes : 0,
  };
}

LsStaticMemory ls_memory_host (const LsWorkload *workload, const LsStage *stage) {
  const LsStaticMemory all = offloaded (workload, stage),
                       drives = ls_memory_drives (workload, stage);

  return (LsStaticMemory){
      .parameters_bytes = all.parameters_bytes - drives.parameters_bytes,
      .gradients_bytes = all.gradients_bytes - drives.gradients_bytes,
      .optimizer_bytes = all.optimizer_bytes - drives.optimizer_bytes,
  };
}

/* The largest layer, as it is gathered. */
static gint64 largest_layer (const LsWorkload *workload, const LsStage *stage) {
  gint64 most = 0;

  for (guint i = 0; i < stage->n_runs; i++) {
    const LsGatheredBytes bytes = ls_gathered_bytes (stage->runs[i].plan, &workload->precision);
    most = MAX (most, shard (bytes.dense, ls_workload_shards (workload)) +
                          shard (bytes.experts, ls_workload_expert_shards (workload)));
  }
  return most;
}

gint64 ls_memory_staging (const LsWorkload *workload, const LsStage *stage) {
  const LsStaticMemory drives = ls_memory_drives (workload, stage);
  const gint64 own = ls_workload_owned (workload, stage->parameters, stage->expert_parameters);
  const gint64 groups = ls_workload_sub_groups (workload, own);
  const gint64 live = MIN (groups, workload->zero.overlap ? LS_SUB_GROUPS_LIVE : 1);
  const gint64 states = drives.gradients_bytes + drives.optimizer_bytes;

  if (ls_workload_nvme (workload) == LS_OFFLOAD_NONE)
    return 0;
  return live * shard (states, (guint) MAX (groups, 1)) +
         (drives.parameters_bytes > 0
              ? ((gint64) ls_gather_depth (workload, stage) + LS_READ_AHEAD) *
                    largest_layer (workload, stage)
              : 0);
}

LsStaticMemory ls_memory_static (const LsWorkload *workload, gint64 parameters) {
  LsStaticMemory memory = states (workload, parameters, ls_workload_shards (workload));

  memory.parameters_bytes += secondary_bytes (
      workload, (double) (parameters * ls_format_bytes (workload->precision.parameters)));
  return memory;
}

LsStaticMemory ls_memory_static_stage (const LsWorkload *workload, const LsStage *stage) {
  const LsStaticMemory dense = ls_memory_static (workload, stage->parameters);
  const LsStaticMemory experts =
      states (workload, stage->expert_parameters, ls_workload_expert_shards (workload));
  const gint64 frozen =
      workload->zero.offload == LS_OFFLOAD_PARAMETERS ? 0 : frozen_bytes (workload, stage);

  return (LsStaticMemory){
      /* Tables are fp32, and SGD on the rows that a batch touches keeps nothing beside them. */
      .parameters_bytes = dense.parameters_bytes + experts.parameters_bytes +
                          stage->table_parameters * ls_format_bytes (LS_FORMAT_FP32) + frozen,
      .frozen_bytes = frozen,
      .gradients_bytes = dense.gradients_bytes + experts.gradients_bytes,
      .optimizer_bytes = dense.optimizer_bytes + experts.optimizer_bytes,
  };
}

double ls_memory_bytes_per_parameter (const LsWorkload *workload) {
  return (double) (ls_format_bytes (workload->precision.parameters) +
                   ls_format_bytes (workload->precision.gradients) +
                   ls_memory_states_bytes (workload));
}

/* What travels beside the activations, for the walk. */
static LsMemoryBuffers buffers_of (const LsWorkload *workload, const LsStage *stage) {
  const LsZero *zero = &workload->zero;
  const gboolean moved = zero->offload != LS_OFFLOAD_NONE;
  LsMemoryBuffers buffers = {.stops_early = workload->software->recompute_stops_early,
                             .stores_inputs = workload->recompute.offload,
                             .fetches_ahead = workload->recompute.offload_overlap};

  buffers.dense = moved || ls_workload_shards (workload) > 1;
  buffers.experts =
      ls_workload_has_experts (workload) && (moved || ls_workload_expert_copies (workload) > 1);
  buffers.repeats_experts = ls_workload_expert_shards (workload) == 1 && !moved;
  if ((!buffers.dense && !buffers.experts) || zero->stage < 2)
    return buffers;
  buffers.reduce_bytes = ls_format_bytes (workload->precision.communication);
  buffers.bucket_bytes = zero->overlap ? zero->bucket_bytes : G_MAXINT64 / 4;
  if (zero->overlap && ls_workload_unit_buckets (workload))
    buffers.bucket_bytes = 1;
  buffers.by_layer = zero->stage == 3 || moved;
  buffers.in_turn = !zero->overlap;
  if (zero->stage == 3) {
    if (ls_workload_gathers (workload))
      buffers.gathers = &workload->precision;
    buffers.gathered_layers = ls_gather_depth (workload, stage);
    buffers.gathers_apart = workload->software->zero_per_matrix;
  }
  return buffers;
}

guint ls_memory_communicators (const LsWorkload *workload) {
  static const LsAxis dense[] = {LS_AXIS_TENSOR, LS_AXIS_CONTEXT, LS_AXIS_DATA_CONTEXT,
                                 LS_AXIS_PIPELINE};
  static const LsAxis experts[] = {LS_AXIS_EXPERT, LS_AXIS_EXPERT_TENSOR, LS_AXIS_EXPERT_DATA};
  const LsLayout *layout = &workload->layout;

  if (layout->ranks == 1)
    return 0;
  guint n = 1;

  for (guint i = 0; i < G_N_ELEMENTS (dense); i++)
    n += ls_layout_size (layout, dense[i]) > 1 ? 1 : 0;
  for (guint i = 0; ls_workload_has_experts (workload) && i < G_N_ELEMENTS (experts); i++)
    n += ls_layout_size (layout, experts[i]) > 1 ? 1 : 0;
  n += ls_workload_is_hybrid (workload) ? 1 : 0;
  n += ls_workload_backward_shards (workload) < ls_workload_shards (workload) ? 1 : 0;
  return n + (ls_workload_reduces_in_hops (workload) ? 2 : 0);
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

gint64 ls_memory_reserved (gint64 allocated_bytes, gint64 apart_bytes) {
  return (gint64) ((double) allocated_bytes * RESERVED_FACTOR) + apart_bytes;
}

/* Is anything gathered in FSDP2's way? */
static gboolean has_root (const LsWorkload *workload) {
  return workload->software->root_stays_gathered && workload->zero.stage == 3 &&
         (ls_workload_shards (workload) > 1 || workload->zero.offload == LS_OFFLOAD_PARAMETERS);
}

gint64 ls_memory_root (const LsWorkload *workload, const LsStage *stage) {
  gint64 bytes = 0;

  for (guint i = 0; has_root (workload) && i < stage->n_runs; i++)
    if (stage->runs[i].plan->is_root)
      bytes += ls_gathered_bytes (stage->runs[i].plan, &workload->precision).dense *
               stage->runs[i].count;
  return bytes;
}

/* Logits of a micro-batch in the compute format, where the stage has the head. */
static gint64 narrow_logits (const LsWorkload *workload, const LsStage *stage) {
  gint64 bytes = 0;

  for (guint i = 0; i < stage->n_runs; i++)
    if (strcmp (stage->runs[i].plan->name, "head") == 0)
      bytes = workload->micro_batch * (workload->seq_len / workload->layout.context) *
              (workload->vocab / workload->layout.tensor) *
              ls_format_bytes (workload->precision.compute);
  return bytes;
}

gint64 ls_memory_apart (const LsWorkload *workload, const LsStage *stage) {
  gint64 bytes = ls_fsdp2_apart (workload, stage);

  if (workload->software->loss_keeps == LS_LOSS_LOG_SOFTMAX)
    bytes += narrow_logits (workload, stage);
  return bytes;
}

gint64 ls_memory_held (const LsWorkload *workload, const LsStage *stage, gint64 allocated_bytes,
                       gint64 capacity_bytes) {
  const LsStaticMemory states = ls_memory_static_stage (workload, stage);
  const gint64 copies = ls_deepspeed_apart (workload, stage);
  const gint64 reserved = ls_memory_reserved (allocated_bytes, ls_memory_apart (workload, stage));
  const gint64 update =
      states.parameters_bytes + states.gradients_bytes + states.optimizer_bytes + copies;

  return copies == 0 ? reserved
                     : MAX (MAX (reserved, update), MIN (reserved + copies, capacity_bytes));
}

gint64 ls_memory_placeholders (const LsWorkload *workload, const LsStage *stage) {
  return stage->placeholder_bytes +
         ls_deepspeed_narrow_gradients (workload, stage->parameters + stage->expert_parameters);
}

static LsMemoryPeak peak_of (const LsWorkload *workload, guint device, const LsStage *stage,
                             const LsMemoryBuffers *buffers) {
  const guint n = ls_workload_n_parts (workload);
  const LsMemoryGathers gathers = {stage, buffers};
  g_autofree LsMemoryWalk *walks = g_new (LsMemoryWalk, n);

  for (guint part = 0; part < n; part++)
    ls_memory_walk (ls_stage_part (stage, part), &workload->recompute, buffers, &walks[part]);
  return ls_memory_actions (workload, device, walks, buffers->gathers != NULL ? &gathers : NULL);
}

gint64 ls_memory_messages (const LsWorkload *workload, guint device, const LsStage *stage,
                           const gint64 *received_bytes) {
  const LsPipeline *pipeline = ls_workload_pipeline (workload);
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  const guint stages = ls_pipeline_n_stages (pipeline, &size);
  gint64 sent = 0, came = 0;

  for (guint part = 0; part < ls_pipeline_n_parts (pipeline, &size); part++) {
    const LsStage *own = ls_stage_part (stage, part);
    const guint number = ls_pipeline_stage (pipeline, &size, device, part);
    if (number + 1 < stages && ls_pipeline_to_next (pipeline, &size, device, part) != 0)
      sent += own->boundary_bytes;
    if (number > 0 && ls_pipeline_to_previous (pipeline, &size, device, part) != 0)
      came += received_bytes[part];
  }
  if (workload->software->posts_all_receives)
    return ls_fsdp2_messages (workload, device, sent, came);
  return 2 * (sent + came) + ls_deepspeed_messages (workload, device, sent, came);
}

/* An activation and its gradient towards each neighbour, those that come taken to be as large as those that go. */
static gint64 message_bytes (const LsWorkload *workload, guint device, const LsStage *stage) {
  const guint n = ls_workload_n_parts (workload);
  g_autofree gint64 *received = g_new0 (gint64, n);

  for (guint part = 0; part < n; part++)
    received[part] = ls_stage_part (stage, part)->boundary_bytes;
  return ls_memory_messages (workload, device, stage, received);
}

/* Saved by the head where the device has it. */
static gint64 logits_bytes (const LsWorkload *workload, guint device, const LsStage *stage) {
  const guint stages = ls_workload_n_stages (workload);

  for (guint part = 0; part < ls_workload_n_parts (workload); part++) {
    const LsStage *own = ls_stage_part (stage, part);
    if (workload->model->kind == LS_MODEL_TRANSFORMER &&
        ls_workload_stage_of (workload, device, part) + 1 == stages)
      return ls_layer_plan_saved_bytes (own->runs[own->n_runs - 1].plan);
  }
  return 0;
}

gint64 ls_memory_host_bytes (const LsWorkload *workload, guint device, const LsStage *stage) {
  const LsStaticMemory host = ls_memory_host (workload, stage);

  return host.parameters_bytes + host.gradients_bytes + host.optimizer_bytes +
         ls_memory_staging (workload, stage) + ls_activations_host_bytes (workload, device, stage);
}

gint64 ls_memory_drives_bytes (const LsWorkload *workload, const LsStage *stage) {
  const LsStaticMemory drives = ls_memory_drives (workload, stage);

  return drives.parameters_bytes + drives.gradients_bytes + drives.optimizer_bytes;
}

static void add_host (const LsWorkload *workload, const LsStage *stage,
                      LsMemoryEstimate *estimate) {
  estimate->host = ls_memory_host (workload, stage);
  estimate->host_activations_bytes = ls_activations_host_bytes (workload, estimate->stage, stage);
  estimate->host_staging_bytes = ls_memory_staging (workload, stage);
  estimate->drives = ls_memory_drives (workload, stage);
  estimate->drives_bytes = ls_memory_drives_bytes (workload, stage);
  estimate->drives_capacity_bytes = estimate->drives_bytes > 0 ? workload->nvme_bytes : 0;
  estimate->host_bytes = ls_memory_host_bytes (workload, estimate->stage, stage);
  estimate->host_capacity_bytes = estimate->host_bytes > 0 ? workload->host_bytes : 0;
}

gboolean ls_memory_host_fits (const LsMemoryEstimate *estimate) {
  return estimate->host_capacity_bytes == 0 ||
         estimate->host_bytes <= estimate->host_capacity_bytes;
}

gboolean ls_memory_drives_fit (const LsMemoryEstimate *estimate) {
  return estimate->drives_capacity_bytes == 0 ||
         estimate->drives_bytes <= estimate->drives_capacity_bytes;
}

static gboolean fits_elsewhere (const LsMemoryEstimate *estimate) {
  return ls_memory_host_fits (estimate) && ls_memory_drives_fit (estimate);
}

/* Servers that update hold what the optimizer keeps, and the master copy (update_replica.c). */
static gboolean servers_update (const LsWorkload *workload) {
  const LsUpdatePlan *plan = &workload->update;

  return plan->active && !plan->spec.policy->local && plan->n_server_nodes > 0;
}

void ls_memory_estimate (const LsWorkload *workload, guint number, const LsAccelerator *accelerator,
                         LsMemoryEstimate *estimate) {
  g_autoptr (LsStage) stage = ls_stage_new (workload, number, accelerator);
  const LsStaticMemory held = ls_memory_static_stage (workload, stage);
  const LsMemoryBuffers buffers = buffers_of (workload, stage);
  const LsMemoryPeak peak = peak_of (workload, number, stage, &buffers);

  *estimate = (LsMemoryEstimate){.stage = number};
  capacity (accelerator, ls_memory_communicators (workload), estimate);
  estimate->others_bytes = workload->others_bytes;
  estimate->capacity_bytes -= workload->others_bytes;
  estimate->gathered_bytes = peak.gathered;
  estimate->reduced_bytes = peak.reduced;
  estimate->placeholder_bytes = ls_memory_placeholders (workload, stage);
  estimate->root_bytes = ls_memory_root (workload, stage);
  estimate->message_bytes = message_bytes (workload, number, stage);
  estimate->bytes[LS_MEMORY_PARAMETERS] = held.parameters_bytes + stage->narrow_bytes;
  estimate->frozen_bytes = held.frozen_bytes;
  estimate->bytes[LS_MEMORY_GRADIENTS] = held.gradients_bytes;
  estimate->bytes[LS_MEMORY_OPTIMIZER] = servers_update (workload) ? 0 : held.optimizer_bytes;
  estimate->bytes[LS_MEMORY_ACTIVATIONS] = peak.bytes - peak.gathered - peak.reduced;
  estimate->bytes[LS_MEMORY_BUFFERS] = peak.gathered + peak.reduced + estimate->message_bytes +
                                       estimate->placeholder_bytes + estimate->root_bytes;
  estimate->logits_bytes = logits_bytes (workload, number, stage);
  for (guint kind = 0; kind < LS_N_MEMORY; kind++)
    estimate->allocated_bytes += estimate->bytes[kind];
  estimate->reserved_bytes =
      ls_memory_held (workload, stage, estimate->allocated_bytes, estimate->capacity_bytes);
  add_host (workload, stage, estimate);
  estimate->fits =
      estimate->reserved_bytes <= estimate->capacity_bytes && fits_elsewhere (estimate);
}

gboolean ls_memory_is_fuller (const LsMemoryEstimate *a, const LsMemoryEstimate *b) {
  const gboolean fits[] = {fits_elsewhere (a), fits_elsewhere (b)};
  const gint64 over[] = {a->reserved_bytes - a->capacity_bytes,
                         b->reserved_bytes - b->capacity_bytes};

  if (over[0] <= 0 && over[1] <= 0 && fits[0] != fits[1])
    return !fits[0];
  return over[0] > over[1];
}

void ls_memory_fullest (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                        LsMemoryEstimate *estimate) {
  for (guint stage = 0; stage < workload->layout.pipeline; stage++) {
    LsMemoryEstimate one;

    ls_memory_estimate (workload, stage, accelerators[stage], &one);
    if (stage == 0 || ls_memory_is_fuller (&one, estimate))
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
