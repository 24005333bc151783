/* Low-rank adapters of a block on one tensor rank: thin products beside frozen maps.
 *
 * Model:      T tokens, map of i inputs and o outputs on this rank, rank r, t tensor ranks.
 *             Forward: dropout of T i; A; B; the output scaled, and added to that of the map. In the compute
 *             format, whatever the map multiplies in.
 *             beside a column-parallel map (qkv, fc1)      A of i x r/t, all-gather of T r, B of r x o
 *             beside a row-parallel map (proj, fc2)        A of i x r, all-reduce of T r, B of r x o/t,
 *                                                          all-gather of T o
 *             Backward: all-reduce of T r between B and A; beside a row-parallel map the gradient is gathered
 *             first where rows are split (sequence parallelism), beside a column-parallel one the gradient of
 *             A's input is summed over the ranks where they are not (else the map's reduce-scatter does it).
 *             The rows of a column-parallel map's input come gathered with those of the map.
 *             Kept: the mask T i (1 byte each), A's input T i, B's input T r. Without dropout the input of proj's A
 *             is what attention keeps.
 *             Fused (t = 1 only): B's product scales, and adds to the map's output; the map's and A's input
 *             gradients are one sum (which reads it is not told apart: A's is charged), and the scale of the gradient
 *             is part of B's. Each such product reads its output too.
 *             source: Megatron-Bridge, peft/lora_layers.py (TEFusedLoRALinear); Transformer Engine 2.7, pytorch/ops/fused
 *             (ForwardLinearScaleAdd, BackwardLinearScale, BackwardLinearAdd).
 *             source: NVIDIA NeMo, nlp/modules/common/megatron/adapters/parallel_adapters.py (ParallelLinearAdapter);
 *             Megatron-Bridge, peft/utils.py and peft/lora_layers.py (LoRALinear).
 * Invariants: parameters over all tensor ranks are r (in + out) of the whole map.
 * Left out:   NeMo's a2a_experimental, that exchanges rows for columns behind B.
 */
#include "train/layer/layer_block.h"

typedef struct {
  const char *dropout, *in, *sum, *out, *gather, *scale, *add;
  const char *gather_grad, *scale_grad, *out_grad, *out_weight_grad, *sum_grad, *in_grad,
      *in_weight_grad, *reduce_grad, *dropout_grad, *add_grad;
} Names;

#define NAMES_OF(id, t)                        \
  [LS_LORA_##id] = {t "_lora_dropout",         \
                    t "_lora_in",              \
                    t "_lora_sum",             \
                    t "_lora_out",             \
                    t "_lora_gather",          \
                    t "_lora_scale",           \
                    t "_lora_add",             \
                    t "_lora_gather_grad",     \
                    t "_lora_scale_grad",      \
                    t "_lora_out_grad",        \
                    t "_lora_out_weight_grad", \
                    t "_lora_sum_grad",        \
                    t "_lora_in_grad",         \
                    t "_lora_in_weight_grad",  \
                    t "_lora_reduce_grad",     \
                    t "_lora_dropout_grad",    \
                    t "_lora_add_grad"},
static const Names names_of[] = {LS_LORA_TARGETS (NAMES_OF)};

/* Sizes on this rank. */
typedef struct {
  gboolean row;
  gint64 in, out; /* of the map */
  gint64 rank_a;  /* columns of A */
  gint64 rank;    /* rows of B */
  gint64 out_b;   /* columns of B */
  gboolean fused;
  gint64 elements; /* of the sum */
} Adapter;

static Adapter adapter_of (const LsBlock *k, LsLoraTarget target, gint64 in, gint64 out) {
  const gboolean row = target == LS_LORA_PROJ || target == LS_LORA_FC2;
  const gint64 rank = k->t->lora.rank, t = k->b.tensor;

  return (Adapter){.row = row,
                   .in = in,
                   .out = out,
                   .rank_a = row ? rank : rank / t,
                   .rank = rank,
                   .out_b = row ? out / t : out,
                   .fused = k->t->lora.fused && t == 1,
                   .elements = (row ? k->rows : k->b.tokens) * out};
}

/* How maps are written; adapters are trained and wide. */
typedef struct {
  gboolean frozen, narrow, expands;
} Ways;

static Ways begin (LsLayerBuilder *b) {
  const Ways ways = {b->frozen, b->narrow, b->expands};

  b->frozen = b->narrow = b->expands = FALSE;
  return ways;
}

static void end (LsLayerBuilder *b, Ways ways) {
  b->frozen = ways.frozen;
  b->narrow = ways.narrow;
  b->expands = ways.expands;
}

gboolean ls_block_goes_below (const LsBlock *k, LsLoraTarget target) {
  return !k->lowest || target != ls_lora_first (&k->t->lora);
}

static void forward (LsBlock *k, const Names *n, const Adapter *a, gboolean input_is_kept) {
  LsLayerBuilder *b = &k->b;
  const gint64 input = b->tokens * a->in, thin = ls_layer_bytes (b, b->tokens * a->rank);
  const gboolean dropout = k->t->lora.dropout;
  LsLayerOp *op = NULL;

  if (dropout)
    ls_layer_add_pass (b, n->dropout, input, 1, 1)->saved_bytes = input; /* the mask */
  op = ls_layer_add_linear (b, n->in, a->in, a->rank_a);
  op->saved_input_bytes = dropout ? op->saved_bytes : 0;
  if (!dropout && input_is_kept)
    ls_layer_op_keeps_nothing (op);
  ls_layer_add_collective (b, n->sum, a->row ? LS_COLLECTIVE_ALL_REDUCE : LS_COLLECTIVE_ALL_GATHER,
                           thin);
  b->adds = a->fused;
  op = ls_layer_add_linear (b, n->out, a->rank, a->out_b);
  b->adds = FALSE;
  op->workspace_bytes = ls_layer_bytes (b, b->tokens * a->out);
  if (a->row)
    ls_layer_add_collective (b, n->gather, LS_COLLECTIVE_ALL_GATHER, k->wide);
  if (a->fused)
    return;
  ls_layer_add_pass (b, n->scale, a->elements, 1, 1)->workspace_bytes =
      ls_layer_bytes (b, 2 * a->elements);
  ls_layer_add_pass (b, n->add, a->elements, 2, 1)->workspace_bytes =
      ls_layer_bytes (b, 2 * a->elements);
}

void ls_block_adapter (LsBlock *k, LsLoraTarget target, gint64 in, gint64 out) {
  const Adapter a = adapter_of (k, target, in, out);

  if (!ls_lora_has (&k->t->lora, target))
    return;
  const Ways ways = begin (&k->b);
  forward (k, &names_of[target], &a, target == LS_LORA_PROJ && k->flash);
  end (&k->b, ways);
  k->b.adapter_parameters += a.in * a.rank_a + a.rank * a.out_b;
}

static void backward (LsBlock *k, const Names *n, const Adapter *a, gboolean below) {
  LsLayerBuilder *b = &k->b;
  const gint64 input = b->tokens * a->in, thin = ls_layer_bytes (b, b->tokens * a->rank);

  if (!a->fused)
    ls_layer_add_pass (b, n->scale_grad, a->elements, 1, 1)->workspace_bytes =
        ls_layer_bytes (b, 2 * a->elements);
  if (a->row && b->sequence_parallel)
    ls_layer_add_collective (b, n->gather_grad, LS_COLLECTIVE_ALL_GATHER, k->wide);
  ls_layer_add_input_gradient (b, n->out_grad, a->rank, a->out_b);
  ls_layer_add_collective (b, n->sum_grad, LS_COLLECTIVE_ALL_REDUCE, thin);
  ls_layer_add_weight_gradient (b, n->out_weight_grad, a->rank, a->out_b);
  if (below) {
    b->adds = a->fused;
    ls_layer_add_input_gradient (b, n->in_grad, a->in, a->rank_a);
    b->adds = FALSE;
    if (!a->row && !b->sequence_parallel)
      ls_layer_add_collective (b, n->reduce_grad, LS_COLLECTIVE_ALL_REDUCE,
                               ls_layer_bytes (b, input));
  }
  ls_layer_add_weight_gradient (b, n->in_weight_grad, a->in, a->rank_a);
  if (!below)
    return;
  if (k->t->lora.dropout)
    ls_layer_add_pass (b, n->dropout_grad, input, 1, 1);
  if (!a->fused)
    ls_layer_add_pass (b, n->add_grad, input, 2, 1)->workspace_bytes =
        ls_layer_bytes (b, 2 * input);
}

void ls_block_adapter_grad (LsBlock *k, LsLoraTarget target, gint64 in, gint64 out) {
  const Adapter a = adapter_of (k, target, in, out);

  if (!ls_lora_has (&k->t->lora, target))
    return;
  const Ways ways = begin (&k->b);
  backward (k, &names_of[target], &a, ls_block_goes_below (k, target));
  end (&k->b, ways);
}
