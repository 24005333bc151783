/* A transformer block while it is being planned: what the files that write its parts share.
 *
 * layer_transformer.c writes plain attention, the dense MLP and the order of everything; layer_experts.c
 * a mixture of experts; layer_latent.c multi-head latent attention.
 */
#pragma once

#include "train/layer/layer_builder.h"

typedef struct {
  LsLayerBuilder b;
  const LsTransformer *t;
  gint64 q, kv, f; /* on this rank; f: of the MLP that is being written */
  gint64 rows;     /* tokens of the split part of the layer: T, or T / t */
  gint64 wide;     /* bytes of the residual stream of all T tokens */
  gint64 window;   /* keys that a query sees; 0: all before it */
  gboolean routed; /* experts in place of the MLP */
  gboolean flash;
  gboolean fused_rotary; /* no flag of its own: goes with fused activations */
  gboolean chunked;      /* collectives run beside their matmul as if nothing depended on them */
  gboolean async;        /* collectives whole beside a gradient that does not need them */
  guint pieces;          /* collectives and their matmuls are cut into; 0: not */
  gboolean lowest;       /* of adapters, nobody needs the gradient of its input */
} LsBlock;

/* The activation between the two maps of an MLP of k->f columns on k->b.tokens tokens, and its gradient. */
void ls_block_activation (LsBlock *block);
void ls_block_activation_grad (LsBlock *block);

/* Do the products of experts activate what they made and scale it? */
gboolean ls_block_activates_in_product (const LsBlock *block);

/* layer_experts.c: router, dispatch, routed experts and combine, between the norm and the sum. */
void ls_block_experts (LsBlock *block);
void ls_block_experts_grad (LsBlock *block);
/* Parameters on this rank: the router and what goes with it; the routed experts, which are summed over the
 * expert-data group. */
gint64 ls_block_router_parameters (const LsBlock *block);
gint64 ls_block_expert_parameters (const LsBlock *block);

/* layer_latent.c: from the norm to queries, keys and values, and back. */
void ls_block_latent (LsBlock *block);
void ls_block_latent_grad (LsBlock *block);
gint64 ls_block_latent_parameters (const LsBlock *block); /* without the projection back */

/* layer_lora.c: what runs beside a map of `in` x `out` columns on this rank, if it has an adapter; and its gradients,
 * before those of the map's input are summed over the tensor ranks. */
void ls_block_adapter (LsBlock *block, LsLoraTarget target, gint64 in, gint64 out);
void ls_block_adapter_grad (LsBlock *block, LsLoraTarget target, gint64 in, gint64 out);
/* Does anything below the map need the gradient of its input? */
gboolean ls_block_goes_below (const LsBlock *block, LsLoraTarget target);

/* layer_passes.c: the copy of what a chain of attention made, of `columns` on this rank, and the gradients of queries, keys
 * and values in one tensor; nothing with a flash kernel. */
void ls_block_copy_context (LsBlock *block, gint64 columns);
void ls_block_join_gradients (LsBlock *block);
/* The bias of queries, keys and values where it is no part of their product; its gradient; that of another bias, a sum of
 * `elements` over the tokens. */
void ls_block_qkv_bias (LsBlock *block);
void ls_block_qkv_bias_grad (LsBlock *block);
void ls_block_bias_gradient (LsBlock *block, const char *name, gint64 elements);
/* Queries, keys and values, of `columns` in all on this rank, into 8 bits where attention reads them so (the backward pass
 * does too); their gradients back. */
void ls_block_scale_heads (LsBlock *block, gint64 columns);
void ls_block_widen_gradients (LsBlock *block, gint64 columns);
/* Rotary positions of queries and keys, or their gradient; keys and values for each head of the queries, where the software
 * writes them so, or their gradients. */
void ls_block_turn (LsBlock *block, const char *name);
void ls_block_repeat_keys (LsBlock *block, const char *name);
/* Of software that splits the second dimension (hw/software.h, splits_second), with sequence parallelism: a pass that puts
 * `bytes` in order behind a gather, one that copies the own part of them to where other ranks read it, before a gather
 * that is fused with its product, one of what a reduce-scatter reads before it, and the sum of what ranks sent of a product
 * that was fused with its reduce-scatter. Nothing elsewhere. */
void ls_block_order_gathered (LsBlock *block, gint64 bytes);
void ls_block_copy_shard (LsBlock *block, gint64 bytes);
void ls_block_order_partials (LsBlock *block);
void ls_block_sum_partials (LsBlock *block);
/* Gradients of norms and biases are added to what was accumulated tensor by tensor; `up`: columns of the MLP's first map. */
void ls_block_accumulate_vectors (LsBlock *block, gint64 up);
