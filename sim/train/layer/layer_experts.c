/* A mixture of experts on one rank: router, dispatch, grouped expert matmuls, combine.
 *
 * Model:      n = tokens of this rank (T, or T / t with sequence parallelism), k = top_k, E experts of width
 *             f over e expert ranks, each split over x expert-tensor ranks. The router sends every token to
 *             k experts: n k rows of h leave the rank, and as many come, when all experts are equally
 *             loaded (skew: train/program/expert_load.h). With a capacity factor c each expert has
 *             ceil (c n k / E) slots per sending rank: what overflows is dropped, what stays empty is
 *             padded and computed, so sizes do not depend on the load (GShard; Megatron's
 *             moe-pad-expert-input-to-capacity).
 *             Forward: router n x E; scores and choice; permutation n h -> n k h; all-to-all of n k h over
 *             the expert group; [all-gather over x]; rows sorted by expert where a rank has several;
 *             E / e matmuls of n k x / (E / e) rows each, as one grouped kernel; activation; the second
 *             map; all the way back, and the weighted sum of k rows per token. Backward is the mirror:
 *             as many all-to-alls again.
 *             Dispatched "fused" (DeepEP, HybridEP): a token travels once to each rank that has one of its experts,
 *             e (1 - prod (E - E/e - i) / (E - i), i < k) ranks of e when any k experts are as likely (of g groups of G
 *             that its experts are in: any g, and any k of theirs; ranks_of_token), and becomes
 *             rows for its experts there; on the way back what a rank's experts made of it is summed first. Rows are
 *             put in order at HybridEP's rates (hw/kernel_layers.c).
 *             The bias of the second map is added behind it, times the weight of the row, expert by expert: n tensors
 *             of h a row written, read and joined, in fp32 where weights are (add_bias).
 *             Kept: the norm's output n h and scores n E (fp32, and a byte of the choice); rows at the
 *             experts n k x h; input of the activation and of the second map.
 *             source: Shazeer et al. 2017 (arXiv 1701.06538); Lepikhin et al. 2020 (GShard, arXiv 2006.16668);
 *             Megatron-core, moe/token_dispatcher.py (all-to-all dispatcher) and moe/experts.py.
 * Left out:   z-loss and the auxiliary loss's scalar sums over ranks, whose latencies are far below those of
 *             the all-to-alls; its pass over the scores is in "route".
 */
#include <math.h>

#include "base/assert.h"
#include "train/layer/layer_block.h"

#define SCORE_BYTES \
  5 /* per token and expert: an fp32 score and one byte that says whether it was chosen */
/* Traffic of scores per token and expert: logits read, fp32 softmax written and read by top-k and by the
 * auxiliary loss, scores and choices written. */
#define ROUTE_BYTES(element) ((element) + 3 * 4 + SCORE_BYTES)
/* Vector operations per score: exponential, sums, comparisons. Assumption; the bytes above take longer on every accelerator. */
#define ROUTE_FLOPS 10.0
/* Kernels of a router that is not fused, forward and backward: softmax, groups and their masks, choice (topk sorts and
 * gathers), scatters of scores and choices with their zeros and casts, and the auxiliary loss, which scores and chooses
 * again: 32 to 42; backward those of them that have a gradient, 20 to 25. source: tensor operations of Megatron-Core,
 * transformer/moe/moe_utils.py, counted in topk_routing_with_score_function and compute_routing_scores_for_aux_loss;
 * assumed (recalled, not counted): those of group_limited_topk and of the auxiliary loss, the backward pass's, and
 * which of all launch two kernels. */
#define ROUTE_KERNELS 40
#define ROUTE_GRAD_KERNELS 25

typedef struct {
  gint64 rows; /* for experts: top_k of each token, or the slots of all */
  gint64 sent; /* that leave this rank (and come to it): the same, or a token once for each rank */
  gboolean once; /* ...so that they become rows for experts where they have come */
  gint64 routed; /* at this rank's experts: those of all ranks that split an expert */
  gint64 local;  /* experts of this rank */
  gint64 width;  /* columns of one of them on this rank */
  guint ranks, split;
} Experts;

/* Does none of k choices of `all` experts fall on `own` of them: prod (all - own - i) / (all - i). */
static double missed (gint64 all, gint64 own, gint64 k) {
  double part = 1;

  for (gint64 i = 0; i < k; i++)
    part *= (double) MAX (all - own - i, 0) / (double) (all - i);
  return part;
}

static double choices (gint64 n, gint64 k) {
  double c = k <= n ? 1 : 0;

  for (gint64 i = 0; i < k && k <= n; i++)
    c *= (double) (n - i) / (double) (i + 1);
  return c;
}

/* Ranks that have one of a token's top_k experts, count / ranks of them on each. Its experts are in top_groups of `groups`:
 * of the `whole` groups on a rank (or the one that it has a part of) j are its token's with the chance of a draw without
 * replacement, and then j x `each` of its experts are among the candidates. */
static double ranks_of_token (const LsExperts *e, guint ranks) {
  const gint64 groups = MAX (e->groups, 1), top = groups > 1 ? e->top_groups : 1;
  const gint64 whole = MAX (groups / ranks, 1), on_rank = e->count / ranks;
  const gint64 candidates = e->count / groups * top, each = on_rank / whole;
  double none = 0;

  if (groups % ranks != 0 && ranks % groups != 0) /* ranks share groups unevenly: as without any */
    return (1 - missed (e->count, on_rank, e->top_k)) * (double) ranks;
  for (gint64 j = 0; j <= whole; j++)
    none += choices (top, j) * choices (groups - top, whole - j) / choices (groups, whole) *
            missed (candidates, j * each, e->top_k);
  return (1 - none) * (double) ranks;
}

static Experts experts_of (const LsBlock *k) {
  const LsExperts *e = &k->t->experts;
  const LsLayout *layout = &k->b.workload->layout;
  Experts x = {.ranks = ls_layout_size (layout, LS_AXIS_EXPERT),
               .split = ls_layout_size (layout, LS_AXIS_EXPERT_TENSOR),
               .rows = k->rows * e->top_k};

  LS_REQUIRE (e->count % x.ranks == 0 && e->ffn % x.split == 0,
              "%" G_GINT64_FORMAT " experts on %u x %u ranks", e->count, x.ranks, x.split);
  if (e->capacity_factor > 0)
    x.rows = e->count * (gint64) ceil (e->capacity_factor * (double) x.rows / (double) e->count);
  x.once = x.ranks > 1 && k->b.workload->expert_dispatch == LS_EXPERT_DISPATCH_FUSED;
  x.sent = x.once ? (gint64) ceil ((double) k->rows * ranks_of_token (e, x.ranks)) : x.rows;
  x.routed = x.rows * x.split;
  x.local = e->count / x.ranks;
  x.width = e->ffn / x.split;
  return x;
}

static gboolean orders_on_the_way (const LsWorkload *workload) {
  return workload->expert_dispatch == LS_EXPERT_DISPATCH_AUTO
             ? workload->software->fused_dispatch
             : workload->expert_dispatch == LS_EXPERT_DISPATCH_FUSED;
}

/* Row by row as an index says; in `blocks`, as where all slots are alike, it is a copy, and so where it happens on the
 * way. */
static LsLayerOp *move_rows (LsBlock *k, const char *name, gint64 read, gint64 written,
                             gboolean blocks) {
  const gint64 h = k->t->hidden, bytes = ls_layer_bytes (&k->b, (read + written) * h);
  LsLayerOp *op = ls_layer_add_kernel (&k->b, name, LS_KIND_ELEMENTWISE,
                                       blocks || orders_on_the_way (k->b.workload)
                                           ? ls_kernel_stream (&k->b.device, bytes, 0)
                                           : ls_kernel_permute (&k->b.device, bytes));

  op->workspace_bytes = ls_layer_bytes (&k->b, written * h);
  return op;
}

/* Rows by sender become rows by expert, or back. */
static void sort_rows (LsBlock *k, const Experts *x, const char *name) {
  if (x->ranks > 1 && x->local > 1 && !x->once)
    move_rows (k, name, x->routed, x->routed, k->t->experts.capacity_factor > 0);
}

/* Where tokens have come once for each rank: to rows for experts, or (`back`) from them. */
static void arrive (LsBlock *k, const Experts *x, const char *name, gboolean back) {
  const gint64 h = k->t->hidden, bytes = ls_layer_bytes (&k->b, (x->sent + x->rows) * h);
  LsLayerOp *op =
      ls_layer_add_kernel (&k->b, name, LS_KIND_ELEMENTWISE,
                           ls_kernel_arrive (&k->b.device, bytes, ls_layer_bytes (&k->b, h), back));

  op->travels = TRUE;
  op->workspace_bytes = ls_layer_bytes (&k->b, (back ? x->sent : x->rows) * h);
}

/* Tokens become rows for their experts: before they travel or, where that happens once for each rank, after. */
static void permute (LsBlock *k, const Experts *x, const char *name, gboolean arrived) {
  if (x->once && arrived)
    arrive (k, x, name, FALSE);
  else if (!x->once && !arrived)
    move_rows (k, name, k->rows, x->rows, FALSE);
}

/* ...and back. */
static void unpermute (LsBlock *k, const Experts *x, const char *name, gboolean arrived) {
  if (x->once && !arrived)
    arrive (k, x, name, TRUE);
  else if (!x->once && arrived)
    move_rows (k, name, x->rows, k->rows, FALSE);
}

static void exchange (LsBlock *k, const Experts *x, const char *name) {
  LsLayerOp *op =
      ls_layer_add_collective_on (&k->b, name, LS_COLLECTIVE_ALL_TO_ALL,
                                  ls_layer_bytes (&k->b, x->sent * k->t->hidden), LS_AXIS_EXPERT);

  if (op != NULL)
    op->workspace_bytes = ls_layer_bytes (&k->b, x->sent * k->t->hidden);
}

/* Between the ranks that split an expert. */
static void spread (LsBlock *k, const Experts *x, const char *name, LsCollectiveOp collective) {
  LsLayerOp *op = ls_layer_add_collective_on (&k->b, name, collective,
                                              ls_layer_bytes (&k->b, x->routed * k->t->hidden),
                                              LS_AXIS_EXPERT_TENSOR);

  if (op != NULL)
    op->workspace_bytes = ls_layer_bytes (&k->b, x->routed * k->t->hidden);
}

/* Each pass of a chain has little to move: what counts is how many there are. */
static LsKernelCost route_cost (const LsBlock *k, gint64 scores, int kernels) {
  const int n = k->b.workload->software->fused_router ? 1 : kernels;
  const LsKernelCost cost =
      ls_kernel_stream (&k->b.device, scores * ROUTE_BYTES (k->b.element_bytes) / n,
                        ROUTE_FLOPS * (double) scores / n);

  return ls_kernel_times (&cost, n);
}

static void route (LsBlock *k) {
  const gint64 scores = k->rows * k->t->experts.count;
  const gboolean narrow = k->b.narrow;
  LsLayerOp *op = NULL;

  k->b.narrow = FALSE; /* routers stay in the wide format */
  op = ls_layer_add_linear (&k->b, "router", k->t->hidden, k->t->experts.count);
  op->saved_input_bytes = op->saved_bytes = ls_layer_kept_bytes (&k->b, k->rows * k->t->hidden);
  k->b.narrow = narrow;
  op = ls_layer_add_kernel (&k->b, "route", LS_KIND_SOFTMAX, route_cost (k, scores, ROUTE_KERNELS));
  op->saved_bytes = scores * SCORE_BYTES;
}

static gint64 up_columns (const LsBlock *k, const Experts *x) {
  return k->t->gated ? 2 * x->width : x->width;
}

/* Bytes of a row's weight, and of what is multiplied with it: fused dispatchers take weights in fp32 only.
 * source: Megatron-Core, transformer/moe/token_dispatcher.py ("DeepEP only supports float32 probs"). */
static gint64 weight_bytes (const LsBlock *k) {
  return orders_on_the_way (k->b.workload) ? 4 : k->b.element_bytes;
}

/* Of so many kernels, `bytes` of each value of the experts' rows; of each of those `views` values are moved one by one. */
static void pass_by_expert (LsBlock *k, const Experts *x, const char *name, gint64 bytes,
                            gint64 views, gint64 kernels) {
  const gint64 values = x->routed * k->t->hidden;
  const LsKernelCost one = views > 0
                               ? ls_kernel_value_by_value (&k->b.device, values * views / kernels,
                                                           values * bytes / kernels)
                               : ls_kernel_stream (&k->b.device, values * bytes / kernels,
                                                   2.0 * (double) values / (double) kernels);

  ls_layer_add_kernel (&k->b, name, LS_KIND_ELEMENTWISE, ls_kernel_times (&one, kernels))
      ->workspace_bytes = 2 * values * weight_bytes (k);
}

/* The bias of the map down, times the weight of the row: for each expert a product and a sum, then all joined and cast
 * back; backward for each expert a cast, two products and a sum of each (for the bias and for the weights), the rest
 * once. Products are with what is repeated; sums, and casts to fp32, of two formats go value by value too. The kernel that
 * activates in the product adds it in its own, and its gradients take one pass.
 * source: Megatron-Core, transformer/moe/experts.py, TEGroupedMLP._apply_bias: torch.cat of t + b * p over the experts,
 * .to (dtype); its backward is autograd's. PyTorch pull requests 137053 (casts to 16 bits go in vectors) and 195542. */
static void add_bias (LsBlock *k, const Experts *x) {
  const gint64 e = k->b.element_bytes, w = weight_bytes (k);
  const gboolean once = k->b.workload->software->compiled;

  if (!k->t->biases || ls_block_activates_in_product (k))
    return;
  if (once) {
    pass_by_expert (k, x, "experts_bias", 2 * e, 0, 1);
    return;
  }
  pass_by_expert (k, x, "experts_bias", w, 1, x->local);
  pass_by_expert (k, x, "experts_bias", e + w + w, w != e ? 3 : 0, x->local);
  pass_by_expert (k, x, "join_experts", 2 * w, 0, 1);
  if (w != e)
    pass_by_expert (k, x, "join_experts", w + e, 0, 1);
}

static void bias_grad (LsBlock *k, const Experts *x) {
  const gint64 e = k->b.element_bytes, w = weight_bytes (k);

  if (!k->t->biases || k->b.frozen)
    return;
  if (k->b.workload->software->compiled || ls_block_activates_in_product (k)) {
    pass_by_expert (k, x, "experts_bias_grad", e, 0, 1);
    return;
  }
  if (w != e) {
    pass_by_expert (k, x, "join_experts_grad", w + e, 2, 1);
    pass_by_expert (k, x, "experts_bias_grad", w + e, 0, x->local);
  }
  pass_by_expert (k, x, "experts_bias_grad", 2 * (w + w), 4, 2 * x->local);
  pass_by_expert (k, x, "experts_bias_grad", 2 * w, 0, 2 * x->local);
  pass_by_expert (k, x, "join_experts_grad", 2 * e, 0, 1);
  ls_layer_add_accumulation (&k->b, "accumulate_vectors",
                             x->local * (up_columns (k, x) + k->t->hidden), (int) (2 * x->local));
}

/* What was added since there were `first` operations follows the load of the experts: kernels, and the
 * all-to-alls, the first to the experts and the last back. */
static void follow_load (const LsBlock *k, guint first) {
  LsLayerPlan *plan = k->b.plan;
  const gboolean forward = k->b.side == LS_SIDE_FORWARD;
  LsLayerOp *ops = forward ? plan->forward : plan->backward;
  gboolean seen = FALSE;

  for (guint i = first; i < (forward ? plan->n_forward : plan->n_backward); i++) {
    const gboolean exchanges = ops[i].is_collective && ops[i].axis == LS_AXIS_EXPERT;

    ops[i].by_load = !ops[i].is_collective || exchanges;
    ops[i].back = exchanges && seen;
    seen = seen || exchanges;
  }
}

void ls_block_experts (LsBlock *k) {
  const Experts x = experts_of (k);
  const gint64 tokens = k->b.tokens, f = k->f;

  k->b.tokens = k->rows;
  route (k);
  permute (k, &x, "permute", FALSE);
  k->b.part = LS_PART_REST;
  const guint first = k->b.plan->n_forward;
  exchange (k, &x, "dispatch");
  permute (k, &x, "permute", TRUE);
  spread (k, &x, "gather_experts", LS_COLLECTIVE_ALL_GATHER);
  sort_rows (k, &x, "sort_by_expert");
  k->b.tokens = x.routed;
  k->b.groups = x.local;
  k->f = x.width;
  ls_layer_add_linear (&k->b, "experts_up", k->t->hidden, up_columns (k, &x));
  ls_block_activation (k);
  ls_layer_add_linear (&k->b, "experts_down", x.width, k->t->hidden)->workspace_bytes =
      ls_layer_bytes (&k->b, x.routed * k->t->hidden);
  k->b.tokens = tokens;
  k->b.groups = 1;
  k->f = f;
  add_bias (k, &x);
  sort_rows (k, &x, "sort_by_rank");
  spread (k, &x, "reduce_experts", LS_COLLECTIVE_REDUCE_SCATTER);
  unpermute (k, &x, "unpermute", FALSE);
  exchange (k, &x, "combine");
  follow_load (k, first);
  unpermute (k, &x, "unpermute", TRUE);
}

/* The product that makes the gradient of what was activated, where it sums the biases' gradients beside it. */
static void slow_biased (const LsBlock *k, LsLayerOp *op) {
  const double factor = k->b.workload->software->biased_grad_factor.value;

  if (factor > 0 && k->t->biases && ls_block_activates_in_product (k))
    op->cost = ls_kernel_slowed (&op->cost, factor);
}

static void maps_grad (LsBlock *k, const Experts *x) {
  const gint64 tokens = k->b.tokens, f = k->f, h = k->t->hidden, up = up_columns (k, x);

  k->b.tokens = x->routed;
  k->b.groups = x->local;
  k->f = x->width;
  ls_layer_scale_gradient (&k->b, x->routed * h);
  slow_biased (k, ls_layer_add_input_gradient (&k->b, "experts_down_grad", x->width, h));
  ls_layer_add_weight_gradient (&k->b, "experts_down_weight_grad", x->width, h);
  ls_block_activation_grad (k);
  ls_layer_scale_gradient (&k->b, x->routed * up);
  ls_layer_add_input_gradient (&k->b, "experts_up_grad", h, up);
  ls_layer_add_weight_gradient (&k->b, "experts_up_weight_grad", h, up);
  k->b.tokens = tokens;
  k->b.groups = 1;
  k->f = f;
}

static void route_grad (LsBlock *k) {
  const gint64 tokens = k->b.tokens, scores = k->rows * k->t->experts.count;
  const gboolean narrow = k->b.narrow;

  k->b.tokens = k->rows;
  k->b.narrow = FALSE;
  ls_layer_add_kernel (&k->b, "route_grad", LS_KIND_SOFTMAX,
                       route_cost (k, scores, ROUTE_GRAD_KERNELS));
  ls_layer_add_input_gradient (&k->b, "router_grad", k->t->hidden, k->t->experts.count);
  ls_layer_add_weight_gradient (&k->b, "router_weight_grad", k->t->hidden, k->t->experts.count);
  k->b.narrow = narrow;
  k->b.tokens = tokens;
}

void ls_block_experts_grad (LsBlock *k) {
  const Experts x = experts_of (k);

  permute (k, &x, "unpermute_grad", FALSE);
  const guint first = k->b.plan->n_backward;
  exchange (k, &x, "combine_grad");
  permute (k, &x, "unpermute_grad", TRUE);
  spread (k, &x, "gather_experts_grad", LS_COLLECTIVE_ALL_GATHER);
  sort_rows (k, &x, "sort_by_expert_grad");
  bias_grad (k, &x);
  maps_grad (k, &x);
  sort_rows (k, &x, "sort_by_rank_grad");
  spread (k, &x, "reduce_experts_grad", LS_COLLECTIVE_REDUCE_SCATTER);
  unpermute (k, &x, "permute_grad", FALSE);
  exchange (k, &x, "dispatch_grad");
  follow_load (k, first);
  k->b.part = LS_PART_ROUTER;
  unpermute (k, &x, "permute_grad", TRUE);
  route_grad (k);
}

gint64 ls_block_router_parameters (const LsBlock *k) {
  const LsExperts *e = &k->t->experts;

  return k->t->hidden * e->count + (e->selection_bias ? e->count : 0) +
         (e->shared_gate ? k->t->hidden : 0);
}

gint64 ls_block_expert_parameters (const LsBlock *k) {
  const Experts x = experts_of (k);
  const gint64 h = k->t->hidden, up = up_columns (k, &x);

  return x.local * (h * up + x.width * h + (k->t->biases ? up + h : 0));
}
