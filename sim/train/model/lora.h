/* Low-rank adapters: which linear maps of a transformer's blocks have one.
 *
 * Model:      beside a map W of in x out the product of two thin ones, A of in x rank and B of rank x out,
 *             whose output is scaled and added to that of W. Adapters alone are trained: all other parameters of the model
 *             are frozen, have no gradients and no states of the optimizer, and their maps keep no input.
 *             source: Hu et al. 2021 (LoRA, arXiv 2106.09685), section 4.1.
 * Left out:   the scale, which costs nothing of note; adapters of experts, of latent attention, of embeddings.
 *
 * Ownership: plain records; strings are static.
 */
#pragma once

#include <glib.h>

/* In the order in which they run. X (ID, "word") */
#define LS_LORA_TARGETS(X)                             \
  X (QKV, "qkv")   /* queries, keys and values: one */ \
  X (PROJ, "proj") /* attention's output */            \
  X (FC1, "fc1")   /* up, with the gate: one */        \
  X (FC2, "fc2")   /* down */

typedef enum {
#define LS_LORA_TARGET_ID(id, name) LS_LORA_##id,
  LS_LORA_TARGETS (LS_LORA_TARGET_ID)
#undef LS_LORA_TARGET_ID
      LS_N_LORA_TARGETS
} LsLoraTarget;

typedef struct {
  gint64 rank;      /* 0: no adapters, all parameters are trained */
  guint targets;    /* bit 1 << LsLoraTarget each; at least one */
  gboolean dropout; /* on the input of A, with a mask of one byte per element */
  gboolean fused;   /* scaling and sums are part of products, where a map is not split */
} LsLora;

const char *ls_lora_target_name (LsLoraTarget target);
/* Is there an adapter beside it? */
gboolean ls_lora_has (const LsLora *lora, LsLoraTarget target);
/* The first in the order in which they run. */
LsLoraTarget ls_lora_first (const LsLora *lora);
