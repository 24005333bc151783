/* Optimizers: what each keeps per parameter. What an update reads and writes is in workload.h, since it depends on formats.
 *
 * Ownership: plain records.
 */
#pragma once

#include <glib.h>

/* X(ID, "word of a scenario"). */
#define LS_OPTIMIZERS(X) \
  X (ADAM, "adam")       \
  X (ADAMW, "adamw")     \
  X (SGD, "sgd")         \
  X (LAMB, "lamb")       \
  X (LARS, "lars")       \
  X (LION, "lion")       \
  X (ADAFACTOR, "adafactor")

#define LS_ENUM_OPTIMIZER(id, name) LS_OPTIMIZER_##id,
typedef enum { LS_OPTIMIZERS (LS_ENUM_OPTIMIZER) LS_N_OPTIMIZERS } LsOptimizerKind;

typedef enum {
  LS_NORM_CLIP_AUTO, /* clips, but not with SGD */
  LS_NORM_CLIP_OFF,
  LS_NORM_CLIP_ON
} LsNormClip;

typedef struct {
  LsOptimizerKind kind;
  LsNormClip clip; /* of gradients by their global norm: one pass and sums of a number */
  double momentum; /* SGD and LARS: 0 keeps no moment */
} LsOptimizer;

/* Moments that the optimizer keeps per parameter: Adam and LAMB 2, Lion 1, SGD and LARS 1 with momentum, else
 * 0. Adafactor keeps a row and a column per matrix instead of its second moment, which counts as none.
 * source: You et al. 2019 (LAMB, arXiv 1904.00962), You et al. 2017 (LARS, arXiv 1708.03888), Chen et al.
 * 2023 (Lion, arXiv 2302.06675), Shazeer and Stern 2018 (Adafactor, arXiv 1804.04235). */
guint ls_optimizer_moments (const LsOptimizer *optimizer);
const char *ls_optimizer_name (LsOptimizerKind kind);
