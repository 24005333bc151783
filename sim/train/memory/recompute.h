/* Activation recomputation as a choice: what fits in memory at the least recompute, and the curve of
 * memory against extra compute over k.
 *
 * Model:      extra compute of a setting = time alone of what runs again per micro-batch, on the stage
 *             where it is largest (kernels only; collectives that run again are not counted). Memory is
 *             ls_memory_estimate()'s: one model, whoever asks.
 *             Mode fit tries none; selective: the attention core, then norms, then norms and
 *             elementwise passes whose input is kept; matmuls; full, each on the first n layers of a
 *             stage; full every k. For each family the least n that fits (memory falls
 *             with n), then the family with the least extra compute; of equals the earlier. When none
 *             fits: the one with the least memory. Chains (unit: operation) are left out: at the same
 *             extra compute full on n layers keeps as many whole layers and less besides.
 * Cost:       fit: O(families x log layers + layers) estimates of all stages; a curve: one per k.
 * Invariants: deterministic: no clock, no random numbers, ties by order.
 *
 * Ownership: arrays and text are (transfer full).
 */
#pragma once

#include "train/memory/memory.h"

/* "full, every 4 layers, the first 12 of each stage" (transfer full). */
char *ls_recompute_text (const LsRecompute *recompute);
/* Replaces mode fit of a resolved workload by what it chooses, marked `fitted`; any other mode stays. */
void ls_recompute_fit (LsWorkload *workload, const LsAccelerator *const *accelerators);
/* Time alone of the kernels that run again per micro-batch of a stage. */
gint64 ls_recompute_extra_ps (const LsStage *stage, const LsWorkload *workload);

/* A point of the curve: all layers recomputed every `k`, in one unit. */
typedef struct {
  gint64 k;
  /* The textbook: what is stored, as a share of no recompute, and forward passes. */
  double law_stored, law_work;
  /* This workload, on one stage: forward passes over its layers counted; time of what runs again as a
   * share of the forward pass. */
  double work, extra_share;
  gint64 extra_ps;
  gint64 activations_bytes, allocated_bytes, reserved_bytes;
  gboolean fits;
} LsRecomputePoint;

/* Points k = 1 .. layers of the stage; point 0 is no recompute (k = 0). */
GArray *ls_recompute_curve (const LsWorkload *workload, guint stage,
                            const LsAccelerator *accelerator, LsRecomputeUnit unit);
/* Of those with k >= 1: the one with the least memory; of equals the least k. */
guint ls_recompute_curve_best (const GArray *curve);
