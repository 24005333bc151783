/* FLOPs of a model by the conventions of published tables.
 *
 * Model:      one multiply-add is two. Only matrix products count, attention in full (not halved for
 *             causal masks), backward = 2 x forward, recomputation not counted.
 *             Transformer of l layers, h hidden, V vocabulary, B sequences of s tokens, GPT shape:
 *             forward per layer 24 B s h^2 + 4 B s^2 h, logits 2 B s h V; training
 *             72 B s l h^2 (1 + s/(6h) + V/(12 l h)), and with a full recompute
 *             96 B s l h^2 (1 + s/(6h) + V/(16 l h)).
 *             source: Narayanan et al., SC21, appendix.
 *             Latent attention counts its maps as they are written (keys and values made from the latent for
 *             every token), scores at query width, weighting at value width.
 * Left out:   norms, activations, softmax, embedding look-ups, the optimizer.
 */
#pragma once

#include "train/model/models.h"

/* Forward pass of one dense block, of one with experts (those that a token meets, and the router), of the
 * logits, of patches' embedding, of all that predicts further tokens, of one element, for `batch` samples
 * of `seq` tokens. */
double ls_transformer_block_flops (const LsTransformer *transformer, gint64 window, gint64 batch,
                                   gint64 seq);
double ls_transformer_expert_block_flops (const LsTransformer *transformer, gint64 window,
                                          gint64 batch, gint64 seq);
double ls_transformer_embedding_flops (const LsTransformer *transformer, gint64 batch, gint64 seq);
double ls_transformer_head_flops (const LsTransformer *transformer, gint64 vocab, gint64 batch,
                                  gint64 seq);
double ls_element_flops (const LsElement *element, gint64 batch);
/* Forward pass of the whole model. */
double ls_model_forward_flops (const LsModel *model, gint64 batch, gint64 seq);
/* Forward and backward: 3 x forward; with adapters, frozen maps have no gradients of their own and count twice,
 * while adapters and the attention core count three times: 4 N per token in place of 6 N.
 * source: NVIDIA Megatron-Bridge, training/utils/flop_utils.py (frozen x 2/3 + attention). That nothing is needed
 * below the lowest adapter is not counted. */
double ls_model_training_flops (const LsModel *model, gint64 batch, gint64 seq);

/* What of that are scores and weightings of attention, in full. */
double ls_model_attention_flops (const LsModel *model, gint64 batch, gint64 seq);

/* The closed forms above: one training step of `batch` sequences. */
double ls_flops_megatron (gint64 batch, gint64 seq, gint64 layers, gint64 hidden, gint64 vocab);
double ls_flops_megatron_recompute (gint64 batch, gint64 seq, gint64 layers, gint64 hidden,
                                    gint64 vocab);
/* Per token, 6 N + 12 l h s: the form of PaLM's appendix B and of llm-foundry. */
double ls_flops_per_token_6n (double parameters, gint64 layers, gint64 hidden, gint64 seq);
