/* Attention over a sequence that c ranks share, each with s/c tokens of queries, keys and values.
 *
 * Model:      T = b s/c tokens per rank, Q and KV their bytes of queries (and output) and of keys and values.
 *   ring        c steps. In step i a rank attends with its queries to the keys and values of the rank i before
 *               it, while it sends on those that it has and receives the next: c - 1 messages of KV per rank.
 *               The outputs of the steps are merged at the end by their softmax statistics. The backward pass
 *               sends keys and values round once more, and their gradients behind them until they are home:
 *               c - 1 messages of KV each, the first step with keys and values alone, the last with gradients
 *               alone. Under a causal mask each rank holds chunks r and 2c - 1 - r of 2c (zigzag), so that all
 *               steps but the own block are half a block on every rank: half of the keys, or half of the
 *               queries; it is timed as half of the keys for all.
 *               source: Liu et al. 2023 (arXiv 2310.01889); TransformerEngine, context_parallel.py,
 *               AttnFuncWithCPAndKVP2P (order of messages, double buffer, merging after the last step; copies of keys
 *               and values into the buffer that is sent, torch.cat and copy_, of the first step's output, clone, and
 *               gradients, dq.copy_ and dk.copy_: read at pggPL/TransformerEngine @3b69c72).
 *               With software that gathers (context_gathers: PyTorch's _templated_ring_attention), keys and values
 *               are repeated to the heads of the queries (R times their bytes) and gathered whole, beside the own
 *               block, once a pass; outputs are merged in fp32 step by step; gradients of keys and values go
 *               round in fp32, c messages of 2 R KV, the last of them home beside nothing.
 *               What waits (parallel.context_overlap) is started where it is waited for, beside nothing.
 *               source: torch/distributed/tensor/experimental/_attention.py of PyTorch 2.6; torchtitan
 *               context_parallel_rotate_method, allgather unless set.
 *   all-to-all  heads instead of tokens: three all-to-alls of queries, keys and values, attention of 1/c of the
 *               heads on the whole sequence, one all-to-all back; the same four backward. Each moves (c-1)/c
 *               of its tensor. Tensors are put in order before and after (a pass each).
 *               source: Jacobs et al. 2023, DeepSpeed-Ulysses (arXiv 2309.14509), section 3.
 *   all-gather  keys and values of all ranks are gathered, attention of the own queries (zigzag: two chunks),
 *               and backward gathered again, their gradients reduce-scattered.
 *               source: Llama Team 2024 (arXiv 2407.21783), section 3.3.2.
 * Invariants: FLOPs over the group are those of attention without a split, up to half a tile of each causal
 *             diagonal that flash kernels walk in full.
 * Memory:     the ring holds one more block of keys and values (two buffers) and, until they are merged, c
 *             outputs; PyTorch's the keys and values of all, and its sums in fp32; gathering holds keys and values of the whole sequence.
 * In 8 bits (train/workload/precision.h) what is exchanged, ordered and gathered is 1 byte an element, gradients too; merging and
 * adding stay as they are.
 * source: TransformerEngine, context_parallel.py (AttnFuncWithCPAndQKVOA2A and AttnFuncWithCPAndKVP2P quantize first).
 * Left out:   softmax statistics (4 bytes per head and token), overlap of gathers with anything.
 */
#include "train/layer/layer_context.h"

typedef struct {
  LsLayerBuilder *b;
  const LsContextAttention *a;
  gint64 ranks;
  gint64 queries, outputs, keys,
      values; /* elements on this rank, before any exchange; keys: and values */
} Context;

static Context context_of (LsLayerBuilder *builder, const LsContextAttention *attention) {
  return (Context){.b = builder,
                   .a = attention,
                   .ranks = builder->workload->layout.context,
                   .queries = builder->tokens * attention->query_width,
                   .outputs = builder->tokens * attention->output_width,
                   .keys = builder->tokens * attention->key_value_width,
                   .values = builder->tokens * attention->kv_heads * attention->value_dim};
}

static LsKernelCost cost_of (const Context *c, gint64 share, gint64 query_length, gint64 kv_length,
                             gboolean causal, LsPass pass) {
  const LsAttentionShape shape = {
      .batch = c->b->batch,
      .heads = c->a->heads / share,
      .kv_heads = c->a->kv_heads / share,
      .query_length = query_length,
      .kv_length = kv_length,
      .head_dim = c->a->head_dim,
      .value_dim = c->a->value_dim,
      .causal = causal,
      .window = c->a->window,
      .dropout = c->a->dropout,
      .format = ls_layer_heads_format (c->b),
  };

  return ls_kernel_attention (&c->b->device, c->b->attention, &shape, pass);
}

/* An attention kernel over `scores` elements of the score matrix, which unfused kernels keep. */
static LsLayerOp *add_attention (Context *c, LsKernelCost cost, gint64 scores, LsPass pass) {
  const gint64 element = c->b->element_bytes;
  const gboolean forward = pass == LS_PASS_FORWARD;
  LsLayerOp *op =
      ls_layer_add_kernel (c->b, forward ? "attention" : "attention_grad", LS_KIND_ATTENTION, cost);

  if (!forward)
    op->workspace_bytes = ls_layer_bytes (c->b, c->queries + c->outputs + 2 * c->keys);
  if (ls_attention_is_flash (c->b->attention))
    return op;
  if (forward) {
    op->core = TRUE;
    op->saved_bytes = scores * (c->a->dropout ? 2 * element + 1 : element);
  }
  op->workspace_bytes += (forward ? 1 : 2) * scores * element;
  return op;
}

static void add_message (Context *c, const char *name, gint64 elements) {
  LsLayerOp *op = ls_layer_add_collective_on (
      c->b, name, LS_COLLECTIVE_SEND_RECV, ls_layer_heads_bytes (c->b, elements), LS_AXIS_CONTEXT);

  op->overlaps_next = !ls_workload_context_waits (c->b->workload);
  op->workspace_bytes = ls_layer_heads_bytes (c->b, elements);
}

static LsLayerOp *add_exchange (Context *c, const char *name, LsCollectiveOp collective,
                                gint64 elements, gint64 held) {
  LsLayerOp *op = ls_layer_add_collective_on (
      c->b, name, collective, ls_layer_heads_bytes (c->b, elements), LS_AXIS_CONTEXT);

  op->workspace_bytes = ls_layer_heads_bytes (c->b, held);
  return op;
}

/* --- ring ----------------------------------------------------------------------------------- */

/* Step 0 is the own block; the others are whole blocks, or half of one under a causal mask. */
static LsLayerOp *add_step (Context *c, gint64 step, LsPass pass) {
  const gint64 length = c->b->seq;
  const gint64 keys = step > 0 && c->a->causal ? length / 2 : length;

  return add_attention (c, cost_of (c, 1, length, keys, step == 0 && c->a->causal, pass),
                        c->a->heads * c->b->batch * length * keys, pass);
}

/* Keys and values are sent from one buffer, into which they are copied; what the first step made is copied to where the
 * others are added. */
static void ring_forward (Context *c) {
  ls_layer_add_pass (c->b, "join_keys", c->keys, 1, 1);
  for (gint64 step = 0; step < c->ranks; step++) {
    if (step + 1 < c->ranks)
      add_message (c, "send_keys", c->keys);
    add_step (c, step, LS_PASS_FORWARD);
  }
  for (gint64 step = 0; step < c->ranks; step++)
    ls_layer_add_pass (c->b, "merge_attention", c->outputs, step > 0 ? 2 : 1, 1)->workspace_bytes =
        ls_layer_bytes (c->b, (c->ranks - MAX (step - 1, 0)) * c->outputs);
}

static void ring_backward (Context *c) {
  ls_layer_add_pass (c->b, "join_keys", c->keys, 1, 1);
  for (gint64 step = 0; step < c->ranks; step++) {
    const gint64 tensors = (step + 1 < c->ranks ? 1 : 0) + (step > 0 ? 1 : 0);

    add_message (c,
                 step == 0      ? "send_keys"
                 : tensors == 1 ? "send_key_grads"
                                : "send_keys_and_grads",
                 tensors * c->keys);
    add_step (c, step, LS_PASS_BACKWARD);
    ls_layer_add_pass (c->b, "add_attention_grads", c->queries + c->keys, step > 0 ? 2 : 1, 1);
  }
}

/* --- ring that gathers (PyTorch) -------------------------------------------------------------- */

#define FP32_BYTES 4

/* Keys and values in one buffer for all ranks, beside the own block or behind it. */
static void gather_beside_own (Context *c, LsPass pass) {
  const gboolean waits = ls_workload_context_waits (c->b->workload);

  ls_layer_add_pass (c->b, "join_keys", c->keys, 1, 1);
  if (waits)
    add_step (c, 0, pass);
  add_exchange (c, "gather_keys", LS_COLLECTIVE_ALL_GATHER, c->ranks * c->keys, c->ranks * c->keys)
      ->overlaps_next = !waits;
  if (!waits)
    add_step (c, 0, pass);
}

/* A later step, with what is gathered and `sums` elements in fp32 beside it. */
static void add_gathered_step (Context *c, gint64 step, gint64 sums, LsPass pass) {
  add_step (c, step, pass)->workspace_bytes +=
      ls_layer_bytes (c->b, c->ranks * c->keys) + FP32_BYTES * sums;
}

/* One pass that adds to sums in fp32 (twice as wide: two reads and two writes) where a compiler fuses it; else
 * conversion, difference, product and sum by themselves. */
static void add_to_sums (Context *c, const char *name, gint64 elements) {
  const gboolean fused = c->b->workload->software->compiled;

  ls_layer_add_pass (c->b, name, elements, fused ? 3 : 11, fused ? 2 : 8);
}

static void gathered_forward (Context *c) {
  gather_beside_own (c, LS_PASS_FORWARD);
  for (gint64 step = 1; step < c->ranks; step++) {
    add_gathered_step (c, step, c->outputs, LS_PASS_FORWARD);
    add_to_sums (c, "merge_attention", c->outputs);
  }
}

/* Gradients of keys and values leave with each step and are home when they have gone round. */
static void send_sums (Context *c, gboolean last) {
  LsLayerOp *op = ls_layer_add_collective_on (c->b, "send_key_grads", LS_COLLECTIVE_SEND_RECV,
                                              FP32_BYTES * c->keys, LS_AXIS_CONTEXT);

  op->overlaps_next = !last && !ls_workload_context_waits (c->b->workload);
  op->workspace_bytes = FP32_BYTES * c->keys;
}

static void gathered_backward (Context *c) {
  gather_beside_own (c, LS_PASS_BACKWARD);
  for (gint64 step = 0; step < c->ranks; step++) {
    if (step > 0)
      add_gathered_step (c, step, c->queries + 2 * c->keys, LS_PASS_BACKWARD);
    add_to_sums (c, "add_attention_grads", c->queries + c->keys);
    send_sums (c, step + 1 == c->ranks);
  }
}

/* Keys and values as they are before they are exchanged: a pair for each head of the queries. */
static LsContextAttention repeated (const LsContextAttention *attention) {
  LsContextAttention all = *attention;

  all.kv_heads = attention->heads;
  all.key_value_width = attention->query_width + attention->output_width;
  return all;
}

/* --- all-to-all ----------------------------------------------------------------------------- */

static void reorder (Context *c, gint64 elements) {
  ls_layer_add_kernel (c->b, "reorder_heads", LS_KIND_ELEMENTWISE,
                       ls_kernel_stream (&c->b->device, 2 * ls_layer_heads_bytes (c->b, elements),
                                         2.0 * (double) elements));
}

static void exchange_inputs (Context *c, gboolean back) {
  static const char *const names[][3] = {
      {"exchange_queries", "exchange_keys", "exchange_values"},
      {"return_query_grads", "return_key_grads", "return_value_grads"}};
  const gint64 elements[] = {c->queries, c->keys - c->values, c->values};

  for (guint i = 0; i < G_N_ELEMENTS (elements); i++)
    add_exchange (c, names[back ? 1 : 0][i], LS_COLLECTIVE_ALL_TO_ALL, elements[i], elements[i]);
  reorder (c, c->queries + c->keys);
}

static void exchange_output (Context *c, const char *name) {
  reorder (c, c->outputs);
  add_exchange (c, name, LS_COLLECTIVE_ALL_TO_ALL, c->outputs, c->outputs);
}

/* What attention made, in heads, is kept beside what the projection reads, in tokens (TransformerEngine from 2.8
 * on: SimuMax docs/b200/b200_real_repro_guide.md). Unfused kernels keep their scores instead. */
static void add_heads (Context *c, LsPass pass) {
  const gint64 length = c->b->seq * c->ranks;
  LsLayerOp *op = NULL;

  op = add_attention (c, cost_of (c, c->ranks, length, length, c->a->causal, pass),
                      c->a->heads / c->ranks * c->b->batch * length * length, pass);
  if (pass == LS_PASS_FORWARD && ls_attention_is_flash (c->b->attention))
    op->saved_bytes = op->saved_output_bytes = ls_layer_kept_context_bytes (c->b, c->outputs);
}

/* --- all-gather ----------------------------------------------------------------------------- */

/* Under a causal mask two chunks of q = s/2c queries, r and 2c - 1 - r, whose last keys are (r + 1) q and
 * (2c - r) q: (s + q)/2 on average, whatever r. */
static void add_own_queries (Context *c, LsPass pass) {
  const gint64 length = c->b->seq, all = length * c->ranks;
  const gint64 scores = c->a->heads * c->b->batch * length * all;

  if (c->a->causal) {
    const LsKernelCost half = cost_of (c, 1, length / 2, all / 2 + length / 4, TRUE, pass);
    add_attention (c, ls_kernel_times (&half, 2), scores / 2 + scores / (4 * c->ranks), pass);
  } else {
    add_attention (c, cost_of (c, 1, length, all, FALSE, pass), scores, pass);
  }
}

static gboolean gathers (const LsLayerBuilder *builder) {
  return builder->workload->context_kind == LS_CONTEXT_RING &&
         builder->workload->software->context_gathers;
}

void ls_context_forward (LsLayerBuilder *builder, const LsContextAttention *attention) {
  const LsContextAttention all = repeated (attention);
  Context c = context_of (builder, gathers (builder) ? &all : attention);

  switch (builder->workload->context_kind) {
  case LS_CONTEXT_ALL_TO_ALL:
    exchange_inputs (&c, FALSE);
    add_heads (&c, LS_PASS_FORWARD);
    exchange_output (&c, "return_attention");
    break;
  case LS_CONTEXT_ALL_GATHER:
    add_exchange (&c, "gather_keys", LS_COLLECTIVE_ALL_GATHER, c.ranks * c.keys, c.ranks * c.keys);
    add_own_queries (&c, LS_PASS_FORWARD);
    break;
  case LS_CONTEXT_RING:
  case LS_N_CONTEXT_KINDS:
  default:
    gathers (builder) ? gathered_forward (&c) : ring_forward (&c);
    break;
  }
}

void ls_context_backward (LsLayerBuilder *builder, const LsContextAttention *attention) {
  const LsContextAttention all = repeated (attention);
  Context c = context_of (builder, gathers (builder) ? &all : attention);

  switch (builder->workload->context_kind) {
  case LS_CONTEXT_ALL_TO_ALL:
    exchange_output (&c, "exchange_attention_grad");
    add_heads (&c, LS_PASS_BACKWARD);
    exchange_inputs (&c, TRUE);
    break;
  case LS_CONTEXT_ALL_GATHER:
    add_exchange (&c, "gather_keys", LS_COLLECTIVE_ALL_GATHER, c.ranks * c.keys, c.ranks * c.keys);
    add_own_queries (&c, LS_PASS_BACKWARD);
    add_exchange (&c, "reduce_key_grads", LS_COLLECTIVE_REDUCE_SCATTER, c.ranks * c.keys,
                  c.ranks * c.keys);
    break;
  case LS_CONTEXT_RING:
  case LS_N_CONTEXT_KINDS:
  default:
    gathers (builder) ? gathered_backward (&c) : ring_backward (&c);
    break;
  }
}
