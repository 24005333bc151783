/* The kinds of layers that plans are built for.
 *
 * Ownership: (transfer full).
 */
#pragma once

#include "train/layer/layer.h"
#include "train/workload/workload.h"

/* Vocabulary and position embedding of a transformer. */
LsLayerPlan *ls_layer_embedding_new (const LsWorkload *workload, const LsAccelerator *accelerator);
/* The transformer's block `block` (from 0; further ones predict further tokens). Blocks of one kind have equal plans. With
 * adapters, nothing below the lowest one of block 0 has a backward pass. */
LsLayerPlan *ls_layer_block_new (const LsWorkload *workload, const LsAccelerator *accelerator,
                                 gint64 block);
gboolean ls_layer_block_alike (const LsTransformer *transformer, gint64 block, gint64 other);
/* What joins the residual stream and the embedding of the next token, before a block that predicts a further
 * one. */
LsLayerPlan *ls_layer_mtp_new (const LsWorkload *workload, const LsAccelerator *accelerator);
/* Final norm, logits and loss. Owns its matrix when embeddings are untied or on another stage. */
LsLayerPlan *ls_layer_head_new (const LsWorkload *workload, const LsAccelerator *accelerator);
/* Block `index` (from 0) of a layer list. */
LsLayerPlan *ls_layer_list_new (const LsWorkload *workload, guint index,
                                const LsAccelerator *accelerator);
