/* What Megatron-Bridge's performance recipes set and its result tables do not print, by model, accelerator, number format
 * and release.
 *
 * Model:      one row per recipe in force, looked up by what a measured row states; the first that fits. A release that
 *             a row does not state is the newest.
 * Source:     NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs/MODEL/MODEL_workload_base_configs.py and, later,
 *             src/megatron/bridge/perf_recipes/MODEL/GPU; the row says at which commits. Which release first had a
 *             recipe follows from the micro-batches, stages and expert ranks that the result tables print with it; where
 *             they do not tell, the row says so.
 * Left out:   recompute of moe_act beside shared experts; releases before 26.02, whose recipes and printed layouts
 *             do not agree.
 */
#pragma once

#include "cli/training_row.h"

G_BEGIN_DECLS

typedef struct {
  const char *dispatch; /* as workload.parallel.expert_dispatch */
  gboolean overlap;     /* as workload.parallel.expert_overlap: moe_a2a_overlap */
  gboolean graphs;      /* whole iterations are replayed: cuda_graph_impl full_iteration */
  /* As workload.software.layer_graphs: cuda_graph_scope of cuda_graph_impl transformer_engine. */
  const char *parts;
  const char *again;    /* operations that run again, between commas: recompute_modules */
  gboolean fused;       /* as workload.precision.fused_scaling: cutedsl_fused_grouped_mlp */
  gboolean attention;   /* multiplies in 8 bits: fp8_dot_product_attention */
  gboolean logits;      /* so do they: fp8_output_proj */
  gboolean interleaved; /* only of rows that state virtual stages */
} LsBridgeRecipe;

/* The recipe of a mixture of experts; NULL where none is known. Static. */
const LsBridgeRecipe *ls_bridge_recipe (const LsTrainingRow *row);

/* The attention kernel of a release of Megatron-Bridge, a mixture of experts or not; NULL: that of its generation. Its
 * containers have cuDNN 9.11 (25.09), 9.13.1 (25.11), 9.18 (26.02) and 9.20 (26.04). source: Megatron-Bridge @2075a5b,
 * docs/releases/software-versions.md. */
const char *ls_bridge_attention (const LsTrainingRow *row);

G_END_DECLS
