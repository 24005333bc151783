/* The static memory model: what the fullest moment of a step needs on a rank, and whether it fits.
 *
 * Model:   allocated = parameters + gradients + optimizer + activations + buffers at the peak;
 *          reserved  = allocated + what the allocator holds beyond it;
 *          capacity  = physical - runtime context - communication library buffers.
 *          It fits when reserved <= capacity.
 * The ledger of a simulated run uses the same constants; its peak is the judge of this model's.
 * Pure functions: values in, values out.
 *
 * Ownership: estimates are plain records; text is (transfer full).
 */
#pragma once

#include "train/stage.h"

typedef struct {
  gint64 bytes[LS_N_MEMORY]; /* by kind, at the peak */
  gint64 logits_bytes; /* part of the activations (and of the buffers) that belongs to the logits */
  gint64 gathered_bytes;  /* part of the buffers: gathered layers of ZeRO-3 */
  gint64 bucket_bytes;    /* part of the buffers: gradient buckets */
  gint64 allocated_bytes; /* sum of bytes[] */
  gint64 reserved_bytes;
  gint64 physical_bytes, context_bytes, communication_bytes;
  gint64 capacity_bytes;
  gboolean fits;
  guint stage;
} LsMemoryEstimate;

/* What a rank holds from the first step to the last. */
typedef struct {
  gint64 parameters_bytes, gradients_bytes, optimizer_bytes;
} LsStaticMemory;

/* For `parameters` on the rank before ZeRO. */
LsStaticMemory ls_memory_static (const LsWorkload *workload, gint64 parameters);
/* Bytes per parameter of all states without ZeRO: 16 or 18 for the common presets. */
double ls_memory_bytes_per_parameter (const LsWorkload *workload);
/* Buffers of the data-parallel machinery: buckets, gathered layers. Largest layer by parameters. */
gint64 ls_memory_bucket_bytes (const LsWorkload *workload, const LsStage *stage);
gint64 ls_memory_gathered_bytes (const LsWorkload *workload, const LsStage *stage);
/* Activations of one micro-batch that are kept from forward to backward by the stage, after recompute. */
gint64 ls_memory_kept_bytes (const LsWorkload *workload, const LsStage *stage);
/* The most that is live beside the kept ones while one layer or segment is recomputed. */
gint64 ls_memory_recompute_bytes (const LsWorkload *workload, const LsStage *stage);

void ls_memory_estimate (const LsWorkload *workload, guint stage, const LsAccelerator *accelerator,
                         LsMemoryEstimate *estimate);
/* The estimate of the fullest stage. `accelerators` has one entry per stage. */
void ls_memory_fullest (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                        LsMemoryEstimate *estimate);
/* Usable bytes on a device for a job whose ranks are in `communicators` groups. */
gint64 ls_memory_capacity (const LsAccelerator *accelerator, guint communicators);
/* The allocator's reserve for an allocated peak. */
gint64 ls_memory_reserved (gint64 allocated_bytes);

/* Sentences for people: how large each part is, and, when it does not fit, the first change tried
 * that does. (transfer full) */
char *ls_memory_verdict (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                         const LsMemoryEstimate *estimate);

/* Closed forms of recomputation, for `--recompute-curve` and the tests; units of one activation.
 * (a) chain of n single-activation layers with every k-th kept: forward work n (2 - 1/k), peak
 * n/k + k - 1. (b) blocks: kept inputs of `input` every k blocks of `inside`: peak input n/k + k inside. */
double ls_recompute_chain_work (gint64 n, gint64 k);
double ls_recompute_chain_peak (gint64 n, gint64 k);
double ls_recompute_block_peak (gint64 n, gint64 k, double input, double inside);
