/* The static memory model: what the fullest moment of a step needs on a rank, and whether it fits.
 *
 * Model:   allocated = parameters + gradients + optimizer + activations + buffers at the peak;
 *          reserved  = allocated x 1.033 + what lies apart (ls_memory_apart());
 *          capacity  = physical - runtime context - buffers of the communication library.
 *          It fits when reserved <= capacity, and what is offloaded in the memory of the host.
 *          Activations: (micro-batches in flight - 1) x kept + the peak of one more (memory_walk.h).
 * The ledger of a simulated run claims the same sizes at their real times; this is its upper bound.
 * Pure functions: values in, values out.
 *
 * Ownership: estimates are plain records; text is (transfer full).
 */
#pragma once

#include "train/layer/stage.h"

/* What measured reserved bytes differ by at most: 15 rows of train_torchtitan.csv, one 12 %, the others 8.3 % or
 * less, mean 4.0 %. A verdict nearer to the limit says so; it keeps no other reserve. */
#define LS_MEMORY_ERROR 0.09

/* What a rank holds from the first step to the last. */
typedef struct {
  gint64 parameters_bytes, gradients_bytes, optimizer_bytes;
  gint64 frozen_bytes; /* of parameters_bytes, what is not trained */
} LsStaticMemory;

typedef struct {
  gint64 bytes[LS_N_MEMORY]; /* by kind, at the peak */
  gint64 frozen_bytes;       /* part of the parameters: not trained */
  gint64 logits_bytes;       /* part of the activations: saved by the head */
  gint64 gathered_bytes;     /* part of the buffers: gathered layers of ZeRO-3 */
  gint64 reduced_bytes;      /* part of the buffers: gradients on their way to their shard */
  gint64 message_bytes;      /* part of the buffers: activations between pipeline stages */
  gint64 root_bytes;         /* part of the buffers: gathered for good (hw/software.h) */
  gint64 placeholder_bytes;  /* part of the buffers: handed to autograd for weight gradients */
  gint64 allocated_bytes;    /* sum of bytes[] */
  gint64 reserved_bytes;     /* allocated, and what the allocator holds beyond it */
  gint64 physical_bytes, context_bytes, communication_bytes;
  gint64 others_bytes;           /* of other jobs on the same devices */
  gint64 capacity_bytes;         /* physical - context - communication - others */
  LsStaticMemory host;           /* of the rank, in the memory of its host (zero.offload) */
  gint64 host_activations_bytes; /* the same (recompute.offload) */
  gint64 host_staging_bytes;     /* the same, on their way to and from drives */
  gint64 host_bytes, host_capacity_bytes; /* their sum; the rank's share of the host, 0: unknown */
  LsStaticMemory drives;                  /* of the rank, on the drives of its node (zero.nvme) */
  gint64 drives_bytes, drives_capacity_bytes; /* their sum; the rank's share, 0: unknown */
  gboolean fits;
  guint stage;
} LsMemoryEstimate;

/* For `parameters` on the rank before ZeRO. Shards are rounded up. */
LsStaticMemory ls_memory_static (const LsWorkload *workload, gint64 parameters);
/* Of a stage, whose routed experts are sharded over the expert-data ranks. */
LsStaticMemory ls_memory_static_stage (const LsWorkload *workload, const LsStage *stage);
/* What zero.offload keeps of it in the memory of the host: of each rank its shards of the optimizer's states and
 * of the gradients; with parameters these too. Not counted: pinned staging buffers. */
LsStaticMemory ls_memory_host (const LsWorkload *workload, const LsStage *stage);
/* What of that zero.nvme keeps on drives instead. */
LsStaticMemory ls_memory_drives (const LsWorkload *workload, const LsStage *stage);
/* In the memory of the host on the way to and from drives: groups of states that are read, updated and written, and the
 * rank's shards of layers that are read ahead. */
gint64 ls_memory_staging (const LsWorkload *workload, const LsStage *stage);
/* The host's, staging and activations (activation_offload.h), of a device of the pipeline. */
gint64 ls_memory_host_bytes (const LsWorkload *workload, guint device, const LsStage *stage);
gint64 ls_memory_drives_bytes (const LsWorkload *workload, const LsStage *stage);
/* Bytes per parameter of master copy and moments. */
gint64 ls_memory_states_bytes (const LsWorkload *workload);
/* Bytes per parameter of all states without ZeRO: 16 or 18 for the common presets. */
double ls_memory_bytes_per_parameter (const LsWorkload *workload);

/* Fills the estimate of one stage, or of the fullest one (largest reserved - capacity). `accelerators`
 * has one entry per stage. */
void ls_memory_estimate (const LsWorkload *workload, guint stage, const LsAccelerator *accelerator,
                         LsMemoryEstimate *estimate);
void ls_memory_fullest (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                        LsMemoryEstimate *estimate);

/* TRUE when `a` has less room on its device; where both devices have room, when its host alone lacks it. */
gboolean ls_memory_is_fuller (const LsMemoryEstimate *a, const LsMemoryEstimate *b);
/* TRUE when the host, or its drives, have room for what is offloaded to them, or it is not known how much they have. */
gboolean ls_memory_host_fits (const LsMemoryEstimate *estimate);
gboolean ls_memory_drives_fit (const LsMemoryEstimate *estimate);

/* Groups that a rank communicates in: one per axis with more than one rank, and the world. */
guint ls_memory_communicators (const LsWorkload *workload);
/* Bytes that tensors may use on a device for a job with so many communicators. */
gint64 ls_memory_capacity (const LsAccelerator *accelerator, guint communicators);
/* Of the embedding, last norm and output matrix, what stays gathered with ZeRO stage 3; 0 where nothing does. */
gint64 ls_memory_root (const LsWorkload *workload, const LsStage *stage);
/* Handed to autograd for weight gradients, or under DeepSpeed all that autograd makes. */
gint64 ls_memory_placeholders (const LsWorkload *workload, const LsStage *stage);
/* Activations and gradients to and from neighbours for which a device has buffers: one of each per part and
 * neighbour, and what DeepSpeed (deepspeed_memory.h) or PyTorch (fsdp2_memory.h) keeps of them; `received_bytes` by
 * part, what the stage before sends. */
gint64 ls_memory_messages (const LsWorkload *workload, guint device, const LsStage *stage,
                           const gint64 *received_bytes);
/* What the allocator holds that the peak cannot use, because it is another stream's or too small a hole: FSDP2's flat
 * buffers (fsdp2_memory.h), and the 16-bit logits, let go before the larger tensors of an
 * fp32 loss are made. */
gint64 ls_memory_apart (const LsWorkload *workload, const LsStage *stage);
/* What the allocator holds for an allocated peak. */
gint64 ls_memory_reserved (gint64 allocated_bytes, gint64 apart_bytes);
/* The same on a device with `capacity_bytes`, and DeepSpeed's flat copies (deepspeed_memory.h): beside it while there is
 * room; else activations and copies, which are never there together, take turns, as the allocator lets go of what it
 * caches before it gives up. source: PyTorch, CUDACachingAllocator.cpp, malloc(): release_cached_blocks(). */
gint64 ls_memory_held (const LsWorkload *workload, const LsStage *stage, gint64 allocated_bytes,
                       gint64 capacity_bytes);

/* Sentences for people: how large each part is, and, when it does not fit, the first change tried
 * that does (transfer full). */
char *ls_memory_verdict (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                         const LsMemoryEstimate *estimate);

/* Closed forms of recomputation, for the curve over k and the tests. (a) chain of n layers of one
 * activation each, every k-th kept: forward work n (2 - 1/k), peak n/k + k - 1 activations.
 * (b) blocks: an input kept every k blocks, `inside` saved by each while its segment is run again:
 * work 2 n, peak input n/k + k inside.
 * source: Chen et al. 2016 (arXiv 1604.06174) for (a); Korthikanti et al. 2022 for the sizes of (b). */
double ls_recompute_chain_work (gint64 n, gint64 k);
double ls_recompute_chain_peak (gint64 n, gint64 k);
double ls_recompute_block_peak (gint64 n, gint64 k, double input, double inside);
