#pragma once
/* Software generations: what a training framework of a given year adds to, or saves on, the hardware.
 *
 * Constants per generation only, never per model or per measurement. A generation says how far apart
 * kernels start on the device, how long the host needs to launch one, and which kernels are fused; the
 * training part builds its programs from these flags.
 * Ownership: rows and strings are static. */
#include <glib.h>

#include "hw/facts.h"
#include "hw/tuning.h"

/* What lives of the logits between the loss and its backward pass, and what that needs beside it; per
 * logit, with 16-bit logits:
 *   SOFTMAX      the logits and a softmax in fp32; backward a gradient (Megatron-LM's vocabulary-parallel
 *                cross entropy)
 *   LOGITS       the logits alone; backward a gradient (flash-attention's, or compiled)
 *   NOTHING      the logits, which the gradient replaces in place (TransformerEngine's Triton kernel,
 *                common/triton/cross_entropy.py: backward scales what forward wrote over its input)
 *   LOG_SOFTMAX  a log-softmax in fp32 and no logits; forward an fp32 copy of them beside it, backward two
 *                gradients in fp32, of nll_loss and of log_softmax (torch.nn.functional.cross_entropy on
 *                pred.float(), and pred deleted before backward: torchtitan train.py at 9dec370); over a split
 *                vocabulary forward one more, backward three (torch/distributed/tensor/parallel/loss.py) */
typedef enum {
  LS_LOSS_SOFTMAX,
  LS_LOSS_LOGITS,
  LS_LOSS_NOTHING,
  LS_LOSS_LOG_SOFTMAX,
} LsLossKeeps;

/* Which launches of a layer are replayed from a graph, one forward and one backward. X(ID, "word") */
#define LS_LAYER_GRAPHS(X)                                                                   \
  X (NONE, "none")                                                                           \
  X (ROUTER, "router") /* of a mixture of experts: from the norm to what is sent, and the */ \
  /* shared experts; Megatron-Core's scopes moe_router and moe_preprocess */                 \
  X (ATTENTION, "attention") /* ...and norm and attention of every layer: its scope attn too */

#define LS_ENUM_LAYER_GRAPHS(id, word) LS_LAYER_GRAPHS_##id,
typedef enum { LS_LAYER_GRAPHS (LS_ENUM_LAYER_GRAPHS) LS_N_LAYER_GRAPHS } LsLayerGraphs;
const char *ls_layer_graphs_name (LsLayerGraphs graphs);

typedef struct {
  const char *name;
  const char *aliases; /* separated by spaces */
  const char *title;
  LsSourced matmul_factor; /* rate of its matmuls / the device's sustained rate (older libraries) */
  /* Rate of its flash attention / that of the kernels' own package, which the device's rates are; 0: the same. */
  LsSourced attention_factor;
  /* Rate of the product that makes the gradient of experts' activations and sums the biases' beside it (MXFP8) / that of other
   * products; 0: the same. */
  LsSourced biased_grad_factor;
  LsSourced gap_s; /* idle time on the device between two kernels of one stream */
  /* Host time per kernel launched: a step is never faster than its launches */
  LsSourced host_launch_s;
  /* ...in the backward pass, whose kernels autograd's engine launches in C++ and not modules in Python; 0: the same */
  LsSourced host_backward_launch_s;
  /* What-if: fixed times of the host are divided by it; 0: 1 */
  double speedup;
  LsSourced host_step_s; /* host time per step outside launches: data loader, logging, schedulers */
  /* Host time of a forward and a backward that run as one block (train/program/pair_program.h), beyond launches, with
   * products in 16 bits and in fewer. It does not apply to replayed launches. */
  LsSourced host_pair_s, host_pair_8_s;
  LsAttention attention;      /* best kernel it uses where the device has it, else fused softmax */
  gboolean fused_bias_gelu;   /* bias + activation in one pass */
  gboolean fused_dropout_add; /* bias + dropout + residual in one pass */
  /* Biases that no pass beside them takes up (queries', keys' and values') are added in a pass of their own: before
   * cuBLASLt's epilogues (Megatron-LM v2.4 to v3.0, mpu/layers.py: F.linear of three dimensions, then output + bias). */
  gboolean bias_passes;
  /* ...and the gradient of such a bias comes out of the product for that of the weights (TransformerEngine,
   * module/layernorm_linear.py: an epilogue), instead of a sum over the tokens. */
  gboolean fused_bias_gradient;
  gboolean fused_norm; /* one kernel forward, two backward, instead of elementwise chains */
  gboolean fused_cross_entropy; /* logits are not copied to fp32 in separate passes */
  LsLossKeeps loss_keeps;
  /* Scores, choice and auxiliary loss of a mixture's router in a kernel each. */
  gboolean fused_router;
  /* Tokens are put in order for their experts while they travel (DeepEP, HybridEP), at the rate of copies. */
  gboolean fused_dispatch;
  /* FALSE: plain tensor code, for Adam 9 launches per tensor and 84 bytes per parameter in fp32. */
  gboolean fused_optimizer; /* multi-tensor update: few launches for all parameters */
  /* Gradients are divided by the number of their copies before they are reduced, and masters are copied to parameters
   * after the update, in passes of their own (megatron/core/distributed/param_and_grad_buffer.py, start_grad_sync;
   * optimizer/distrib_optimizer.py, _copy_main_params_to_model_params). */
  gboolean separate_scaling;
  gboolean fused_weight_gradient; /* weight gradients accumulate in fp32 inside the matmul */
  /* ...and autograd is handed 16-bit placeholders: for the linear maps of blocks one per shape, which stays
   * (TransformerEngine 2, module/base.py, get_dummy_wgrad), for the output matrix one while it runs
   * (megatron/core/tensor_parallel/layers.py). */
  gboolean gradient_placeholders;
  /* Sequence-parallel collectives in chunks beside the matmul they belong to */
  gboolean overlaps_tensor;
  /* Collectives of tensor parallelism run beside nothing, backward neither */
  gboolean waits_for_tensor;
  gboolean recompute_stops_early; /* a layer is run again only as far as its backward needs it */
  /* ZeRO stage 3 without a flat buffer per layer: each weight matrix is gathered and reduced by itself... */
  gboolean zero_per_matrix;
  /* ...and host time per rank of the group in each, for the list of pieces */
  LsSourced zero_piece_s;
  /* Updated parameters are gathered beside the next forward pass (train/program/gather_forward.h)... */
  gboolean gathers_ahead;
  /* ...and only the first stage of a pipeline, of its parts the first, has buckets of gradients and parameters: what
   * others communicate is not on the way of the step (megatron/core/distributed/distributed_data_parallel.py). */
  gboolean buckets_first_stage;
  /* With stages 1 and 2 a layer is a bucket, however large (FSDP's units, one per block: torch/distributed/fsdp,
   * _runtime_utils.py, _pre_forward_unshard and _post_backward_hook; _fully_shard/_fsdp_param_group.py, post_backward). */
  gboolean unit_buckets;
  /* FSDP2: embedding, last norm and output matrix are one unit, gathered from the start of the forward pass to the end
   * of the backward pass; gathers arrive in a flat buffer that only their stream may use again
   * (torch/distributed/fsdp/_fully_shard: _fsdp_state.py, _lazy_init; _fsdp_collectives.py, foreach_all_gather). */
  gboolean root_stays_gathered;
  /* ...and a pipeline is torch.distributed.pipelining's, which keeps a buffer for each micro-batch and message that comes
   * (train/memory/fsdp2_memory.h). */
  gboolean posts_all_receives;
  /* ...and stage 3 copies what was gathered into parameters, and gradients into what is sent, on the compute stream
   * (_fsdp_collectives.py, foreach_all_gather_copy_out and foreach_reduce_scatter_copy_in). */
  gboolean copies_shards;
  /* FSDP of flat parameters, stages 2 and 3: the backward pass of their views joins the gradients of a layer in one tensor; in the
   * stream of the reductions that is converted to what is sent and divided by a part of the group's size
   * (torch/distributed/fsdp/flat_param.py, _get_unflat_views; _runtime_utils.py, _post_backward_hook and _reduce_grad). */
  gboolean flat_gradients;
  /* DeepSpeed's optimizers and pipeline engine keep copies of their own: deepspeed_memory.h of sim/train. */
  gboolean deepspeed_copies;
  /* A ring of context parallelism is PyTorch's (torch/distributed/tensor/experimental/_attention.py): keys and
   * values, repeated to the heads of the queries before (torchtitan, model.py, repeat_kv), are gathered once a
   * pass, their gradients go round in fp32, and outputs are merged in fp32. */
  gboolean context_gathers;
  /* ...behind a compiler that starts each exchange where it is waited for, and hides none (torch/_inductor/fx_passes/
   * post_grad.py, reorder_for_locality, until PyTorch's pull request 150074 of March 2025 left waits out). */
  gboolean context_waits;
  /* Linear maps of one input (queries, keys, values; gate and up) are products by themselves, and the gradients of that
   * input are added up; keys and values are written once for each head of the queries (torchtitan, models/llama/model.py:
   * wq, wk, wv, w1, w3, repeat_kv). */
  gboolean separate_maps;
  /* Tensor parallelism is DTensor's over the second dimension of [batch, sequence, hidden]. What was gathered is kept for
   * the backward pass as any input is; a collective that is not fused with its product works along the first dimension,
   * so that its result is put in order by a pass behind a gather, its input by one before a reduce-scatter; one that is
   * fused leaves partial sums of all ranks to one more (torch/distributed/_functional_collectives.py: all_gather_tensor,
   * reduce_scatter_tensor; _symmetric_memory: _fused_matmul_reduce_scatter_impl; torchtitan, parallelize_llama.py). */
  gboolean splits_second;
  /* Weights in 8 bits are made of the wide ones in every forward pass, with any ZeRO stage: nothing stays from one
   * micro-batch to the next (torchao, float8/float8_linear.py, Float8Linear.forward; TransformerEngine caches them:
   * is_first_microbatch). */
  gboolean scales_each_pass;
  /* With delayed scaling the ranks of a stage agree on the largest values behind each pass over its layers, and wait for it
   * (TransformerEngine 0.8, fp8.py: setup_amax_forward_global_reduce_func), where others do so once a step or among the
   * tensor ranks alone (NVTE_DP_AMAX_REDUCE_INTERVAL=0). */
  gboolean sums_largest_each_pass;
  gboolean compiled; /* a compiler fuses its elementwise chains; the row NAME-eager is without it */
  gboolean cuda_graphs; /* launches replayed: host_launch_s does not apply */
  LsLayerGraphs layer_graphs;
  /* The host reads the number of tokens of each expert once per layer, forward, and waits for it (train/program/launch_program.h). */
  gboolean expert_sync;
  /* Every message between stages ends in torch.cuda.synchronize(): the host's lead is gone (train/program/launch_program.h). */
  gboolean messages_synchronize;
  /* host_launch_s was fitted on times that are sums over layers' lists, each by itself: what lead one leaves to the next is
   * in it. */
  gboolean launch_by_list;
  gboolean serial_launches; /* every launch waits for its kernel (CUDA_LAUNCH_BLOCKING=1) */
  const char *source;       /* of the flags */
} LsSoftware;

guint ls_software_count (void);
const LsSoftware *ls_software_get (guint i);
/* Looks a name or alias up; unknown names set LS_ERROR_CONFIG with a suggestion. */
const LsSoftware *ls_software_find (const char *name, GError **error);
/* Chooses a generation by the free text of a framework column ("Megatron-LM 2021", "Composer +
 * PyTorch FSDP (...)"): by the words it contains, "generic" when nothing fits. Never NULL. */
const LsSoftware *ls_software_for_framework (const char *framework);
/* What a job changes of a generation; -1: nothing.
 * Graphs: launches are replayed, the host has none, and kernels start closer to each other.
 * Compiled: chains of elementwise work, norms and the loss are fused. Not compiled: the row NAME-eager, where
 * a compiler did it; kernels that were fused by hand stay.
 * Fused optimizer: one launch for all tensors and one pass over their states, or plain tensor code.
 * Layer graphs: launches of parts of a layer are replayed.
 * Expert sync: the host waits for the numbers of tokens of experts, or not. */
typedef struct {
  int cuda_graphs, compiled, fused_optimizer, expert_sync;
  LsLayerGraphs layer_graphs; /* NONE: nothing is changed */
} LsSoftwareChoice;
/* The generation so changed, of the same name unless it is the eager one. Equal choices give the same row,
 * which lives as long as the process. */
const LsSoftware *ls_software_with (const LsSoftware *software, LsSoftwareChoice choice);
/* Number i of the row with its provenance; FALSE past the last. */
gboolean ls_software_fact (const LsSoftware *software, guint i, LsFact *fact);
