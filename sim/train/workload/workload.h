/* A workload: one training job, resolved. What program builders, the memory model and the summary
 * read; nothing here is still "auto".
 *
 * It comes from `workload.*` of a scenario by ls_workload_new(), or from ls_workload_new_default()
 * with fields set by hand and ls_workload_resolve() after.
 *
 * Ownership: a workload owns its model, arrays and strings; software rows are static.
 */
#pragma once

#include "base/distribution.h"
#include "hw/device.h"
#include "hw/formats.h"
#include "hw/software.h"
#include "train/model/models.h"
#include "train/pipeline/pipeline.h"
#include "train/update/update_plan.h"
#include "train/workload/layout.h"
#include "train/workload/loss_scaling.h"
#include "train/workload/optimizer.h"
#include "train/workload/precision.h"
#include "train/workload/traffic.h"
#include "train/workload/workload_words.h"
#include "train/workload/zero.h"

typedef struct {
  LsRecomputeMode mode;
  LsRecomputeUnit unit;
  gint64 every;  /* k: one kept input per k layers; LS_RECOMPUTE_SQRT: by the square-root rule */
  gint64 layers; /* how many layers of each stage are recomputed; the rest keep all */
  char **operations; /* of selective, names of forward operations; NULL: the attention core */
  gboolean offload;  /* inputs that are kept go to the memory of the host, */
  gboolean offload_overlap; /* beside compute */
  gboolean fitted;          /* chosen by mode fit */
} LsRecompute;

/* k = round (sqrt (layers that are recomputed together)). source: Chen et al. 2016 (arXiv 1604.06174). */
#define LS_RECOMPUTE_SQRT 0

/* Input pipeline of one rank; off when threads = 0 (batches are then always ready). */
typedef struct {
  gint64 threads;                 /* loader threads per rank */
  gint64 bytes_per_sample;        /* from storage */
  double cpu_s_per_sample;        /* one core, decoding */
  gint64 prefetch;                /* micro-batches that may be ready ahead */
  gint64 device_bytes_per_sample; /* host to device */
} LsInput;

/* A pause after every n-th step. */
typedef struct {
  gint64 every;   /* 0: never */
  gint64 steps;   /* so often time_ps */
  gint64 time_ps; /* < 0: of a forward pass (pause_program.h) */
} LsPause;

typedef struct {
  char *name;
  LsModel *model;
  LsTraffic *traffic; /* NULL: it trains `model`; else only steps and placement mean something */
  LsPrecision precision;
  LsLossScaling loss_scaling;
  const LsSoftware *software;
  LsKernelTable *kernels; /* measured times; NULL: none */
  LsAttention attention;  /* what the software asks for, before the device's own limits */
  LsLayout layout;
  guint gpus;          /* of the cluster; ranks <= gpus, the rest idle */
  guint *gpu_of_rank;  /* layout.ranks entries */
  LsShare share;       /* of its GPUs with other jobs */
  gint64 others_bytes; /* that other jobs hold on them */
  /* Of the host's memory and of its drives for each rank, where ranks are most; 0: unknown */
  gint64 host_bytes, nvme_bytes;
  gint64 global_batch, micro_batch; /* samples */
  gint64 microbatches;              /* per replica and step: global / (micro x data); the most */
  gint64 *microbatches_of;          /* by data rank, where they differ; NULL: all as above */
  gint64 seq_len;                   /* tokens per sample; 1 for models without tokens */
  gboolean sequence_parallel;
  LsTensorOverlap tensor_overlap;   /* with layout.tensor > 1 */
  LsExpertDispatch expert_dispatch; /* with layout.expert > 1 */
  gboolean expert_overlap;    /* a forward and a backward hide each other's all-to-alls of tokens */
  LsContextKind context_kind; /* with layout.context > 1 */
  LsContextOverlap context_overlap; /* of a ring */
  LsScheduleKind schedule;
  guint virtual_stages;     /* stages per device of interleaved 1F1B; 0 and 1: one */
  gboolean post_validation; /* zero-bubble: the update does not wait for the global gradient norm */
  /* One per stage of the model, in the model's order (pipeline.h): pipeline entries, or as many times more as
   * devices have stages; sum ls_model_n_layers() */
  guint *layers_per_stage;
  gint64 vocab; /* of the model, padded so that tensor divides it; 0 for layer lists */
  LsZero zero;
  LsRecompute recompute;
  LsOptimizer optimizer;
  LsInput input;
  /* Tokens of the documents packed into a sequence; no kind: one per sequence */
  LsDistribution documents;
  LsPause evaluation, logging;
  LsUpdatePlan update; /* policies other than plain sync, timed workers */
  gint64 drain_bytes; /* of a checkpoint, that each rank writes to storage beside a step; 0: none */
  gint64 steps;
} LsWorkload;

/* One rank each on `ranks` GPUs, all data parallel, bf16, AdamW, micro-batch 1, one micro-batch, 1
 * step; takes the model. Fields may be changed; then ls_workload_resolve(). */
LsWorkload *ls_workload_new_default (LsModel *model, guint ranks);
/* Fills what follows from the rest: layout.ranks and data (when data = 0: from `gpus`), microbatches,
 * layers_per_stage (when NULL), gpu_of_rank, vocab. LS_ERROR_CONFIG with the first contradiction. */
gboolean ls_workload_resolve (LsWorkload *workload, GError **error);
LsWorkload *ls_workload_copy (const LsWorkload *workload);
void ls_workload_free (LsWorkload *workload);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsWorkload, ls_workload_free)

/* Ranks that the states of dense layers are sharded over where ZeRO shards them, */
guint ls_workload_shards (const LsWorkload *workload);
/* and how many groups of them repeat the shards: 1, or more with hybrid sharding. */
guint ls_workload_replicas (const LsWorkload *workload);
/* Ranks that hold the same routed experts, and those of them that shard their states: as many groups repeat these. */
guint ls_workload_expert_copies (const LsWorkload *workload);
guint ls_workload_expert_shards (const LsWorkload *workload);
/* Parameters of a rank that it updates, of so many that it holds before ZeRO; shards are rounded up. */
gint64 ls_workload_owned (const LsWorkload *workload, gint64 parameters, gint64 expert_parameters);
/* TRUE when layers' parameters come from elsewhere (stage 3): from other ranks or from the host. */
gboolean ls_workload_gathers (const LsWorkload *workload);
/* TRUE when updated parameters are gathered beside the next forward pass, where they are gathered (stages 1, 2). */
gboolean ls_workload_gathers_ahead (const LsWorkload *workload);
/* TRUE when each layer is a bucket of gradients, and of parameters that are gathered (stages 1, 2). */
gboolean ls_workload_unit_buckets (const LsWorkload *workload);
/* Ranks that gather a layer for the backward pass from each other: fewer with a secondary partition (ZeRO++ hpZ). */
guint ls_workload_backward_shards (const LsWorkload *workload);
/* What lies on drives: no more than is offloaded, with stage 3 only. */
LsOffload ls_workload_nvme (const LsWorkload *workload);
/* TRUE when gradients do too: those of several micro-batches are summed in the memory of the host and stay there. */
gboolean ls_workload_drops_gradients (const LsWorkload *workload);
/* Equal groups in which the host updates so many parameters of a rank. */
gint64 ls_workload_sub_groups (const LsWorkload *workload, gint64 parameters);
/* TRUE when quantised gradients are exchanged inside nodes first, then across. */
gboolean ls_workload_reduces_in_hops (const LsWorkload *workload);
/* TRUE when these are fewer than hold the same parameters (hybrid sharding). */
gboolean ls_workload_is_hybrid (const LsWorkload *workload);
/* TRUE when gradients are clipped by their norm. */
gboolean ls_workload_clips (const LsWorkload *workload);
/* Embedding tables are dealt to all data ranks: sets the experts' axes so, for models that have them. */
void ls_workload_deal_tables (LsWorkload *workload);
/* TRUE when ranks communicate along the experts' axes: experts, or embedding tables. */
gboolean ls_workload_has_experts (const LsWorkload *workload);
/* Do the copies of a stage (data x context) agree on numbers at the end of a step? On the flag of loss scaling
 * where each sees a shard of the gradients only (without shards the sum of gradients spreads an infinity), and
 * on the largest values of delayed scaling. */
gboolean ls_workload_syncs_copies (const LsWorkload *workload);
/* Delayed scaling of linear maps, on any device. */
gboolean ls_workload_scales_delayed (const LsWorkload *workload);
/* Equal parts that a sequence must have: context ranks (twice as many under a causal mask, see
 * layer_context.c) x tensor ranks with sequence_parallel. */
gint64 ls_workload_sequence_parts (const LsWorkload *workload);
/* TRUE when sequences are packed with documents of drawn lengths, so that replicas differ. */
gboolean ls_workload_packs (const LsWorkload *workload);
/* Micro-batches per step of a replica. */
gint64 ls_workload_microbatches (const LsWorkload *workload, guint data);
/* What its schedule is on its layout: on one device, a line. */
const LsPipeline *ls_workload_pipeline (const LsWorkload *workload);
LsPipelineSize ls_workload_pipeline_size (const LsWorkload *workload);
/* Stages that the model is cut into, and stages per device (1 but with interleaving, V and DualPipe). */
guint ls_workload_n_stages (const LsWorkload *workload);
guint ls_workload_n_parts (const LsWorkload *workload);
/* Stage of a device's part. */
guint ls_workload_stage_of (const LsWorkload *workload, guint device, guint part);
/* Bytes that one optimizer update reads and writes per parameter that the rank owns. */
double ls_workload_optimizer_traffic (const LsWorkload *workload);
/* The same of one fused pass, whatever the software does on the GPU. */
double ls_workload_fused_traffic (const LsWorkload *workload);
/* FLOPs of one step over all ranks: the model's (no recompute, attention in full). */
double ls_workload_model_flops (const LsWorkload *workload);
/* Format and dense peak against which MFU is counted, per GPU. */
double ls_workload_peak_flops_per_s (const LsWorkload *workload, const LsAccelerator *accelerator);

/* Does attention wait for each exchange of a ring? */
gboolean ls_workload_context_waits (const LsWorkload *workload);
/* What the collectives of tensor parallelism do: never AUTO. */
LsTensorOverlap ls_workload_tensor_overlap (const LsWorkload *workload);
/* Those beside a gradient that does not need them run so. */
gboolean ls_workload_tensor_bulk (const LsWorkload *workload);
