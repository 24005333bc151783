/* Parallel axes: bytes and FLOPs of attention over a split sequence, memory, and random layouts that run. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "fold_case.h"
#include "harness.h"
#include "hw/nodes.h"
#include "suite.h"
#include "train/layer/stage.h"
#include "train/memory/memory.h"
#include "train/run/drawn.h"
#include "train/run/summary.h"

#define SEQ 4096
#define MICRO 2

static LsWorkload *workload_for (const char *model, guint tensor, guint context,
                                 LsContextKind kind) {
  LsWorkload *workload =
      ls_workload_new_default (ls_model_new_preset (model, NULL), tensor * context);

  workload->layout = ls_layout (tensor, 1, 1);
  workload->layout.context = context;
  workload->context_kind = kind;
  workload->micro_batch = workload->global_batch = MICRO;
  workload->seq_len = SEQ;
  workload->sequence_parallel = tensor > 1;
  workload->attention = LS_ATTENTION_FLASH2;
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

static LsStage *stage_of (const LsWorkload *workload) {
  return ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
}

static const LsLayerPlan *block (const LsStage *stage) {
  for (guint r = 0; r < stage->n_runs; r++)
    if (stage->runs[r].is_block)
      return stage->runs[r].plan;
  return NULL;
}

/* Bytes that one rank sends along an axis of n ranks for a list of operations, by the usual algorithms: an
 * all-reduce twice (n-1)/n of its buffer, reduce-scatter, all-gather and all-to-all once, a message itself. */
static double sent_bytes (const LsLayerOp *ops, guint n_ops, LsAxis axis, double n) {
  double bytes = 0;

  for (guint i = 0; i < n_ops; i++) {
    const double size = (double) ops[i].collective_bytes;

    if (!ops[i].is_collective || ops[i].axis != axis)
      continue;
    switch (ops[i].collective) {
    case LS_COLLECTIVE_ALL_REDUCE:
      bytes += 2 * size * (n - 1) / n;
      break;
    case LS_COLLECTIVE_SEND_RECV:
      bytes += size;
      break;
    default:
      bytes += size * (n - 1) / n;
    }
  }
  return bytes;
}

static double attention_flops (const LsLayerOp *ops, guint n) {
  double flops = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == LS_KIND_ATTENTION)
      flops += ops[i].cost.flops;
  return flops;
}

static const struct {
  const char *model;
  guint tensor, context;
} shapes[] = {
    {"llama2-7b", 1, 2},   {"llama2-70b", 1, 8}, {"llama2-70b", 2, 4},
    {"gpt2-medium", 1, 4}, {"llama3-8b", 4, 2},
};

START_TEST (bytes_along_the_context_axis)
/* Per layer and micro-batch, with T = b s/c tokens of a rank, Q = T q/t and KV = 2 T kv/t elements of 2 bytes:
 *   ring        forward (c-1) KV, backward 2 (c-1) KV (keys and values again, and their gradients)
 *   all-to-all  forward and backward (c-1)/c (2 Q + KV) each
 *   all-gather  forward (c-1) KV, backward 2 (c-1) KV
 * Sums of integers up to 2^53: exact but for the division by c, 1e-12. */
{
  const guint t = shapes[_i].tensor, c = shapes[_i].context;

  for (guint kind = 0; kind < LS_N_CONTEXT_KINDS; kind++) {
    if (SEQ % (2 * c) != 0 && kind != LS_CONTEXT_ALL_TO_ALL)
      continue;
    if (kind == LS_CONTEXT_ALL_TO_ALL && (SEQ % c != 0))
      continue;
    g_autoptr (LsWorkload) workload = workload_for (shapes[_i].model, t, c, (LsContextKind) kind);
    const LsTransformer *m = &workload->model->transformer;
    g_autoptr (LsStage) stage = stage_of (workload);
    const LsLayerPlan *plan = block (stage);
    const double tokens = (double) MICRO * SEQ / c;
    const double q = 2 * tokens * (double) (m->heads * m->head_dim) / t;
    const double kv = 2 * 2 * tokens * (double) (m->kv_heads * m->head_dim) / t;
    const double once = kind == LS_CONTEXT_ALL_TO_ALL ? (2 * q + kv) * (c - 1) / c : kv * (c - 1);
    const double back = kind == LS_CONTEXT_ALL_TO_ALL ? once : 2 * once;

    ck_assert_double_eq_tol (sent_bytes (plan->forward, plan->n_forward, LS_AXIS_CONTEXT, c), once,
                             once * 1e-12);
    ck_assert_double_eq_tol (sent_bytes (plan->backward, plan->n_backward, LS_AXIS_CONTEXT, c),
                             back, back * 1e-12);
  }
}
END_TEST

/* Bytes through memory of the operations of that name. */
static double passed_bytes (const LsLayerOp *ops, guint n, const char *name) {
  double bytes = 0;

  for (guint i = 0; i < n; i++)
    if (g_str_equal (ops[i].name, name))
      bytes += (double) ops[i].cost.bytes;
  return bytes;
}

START_TEST (rings_copy_what_they_send_and_what_they_add_to)
/* TransformerEngine, context_parallel.py: keys and values are copied into the buffer that is sent (torch.cat, and copy_
 * backward), 2 KV; the first step's output and gradients to where others are added (clone, copy_), 2 Q and 2 (Q + KV), and
 * each of c - 1 more is read with the sum, which is written: 3 times as much. Whole bytes: exact. */
{
  const guint t = shapes[_i].tensor, c = shapes[_i].context;
  g_autoptr (LsWorkload) workload = workload_for (shapes[_i].model, t, c, LS_CONTEXT_RING);
  g_autoptr (LsStage) stage = stage_of (workload);
  const LsTransformer *m = &workload->model->transformer;
  const LsLayerPlan *plan = block (stage);
  const double tokens = (double) MICRO * SEQ / c;
  const double q = 2 * tokens * (double) (m->heads * m->head_dim) / t;
  const double kv = 2 * 2 * tokens * (double) (m->kv_heads * m->head_dim) / t;
  const double times = 2 + 3 * (c - 1);

  ck_assert_double_eq (passed_bytes (plan->forward, plan->n_forward, "join_keys"), 2 * kv);
  ck_assert_double_eq (passed_bytes (plan->backward, plan->n_backward, "join_keys"), 2 * kv);
  ck_assert_double_eq (passed_bytes (plan->forward, plan->n_forward, "merge_attention"), times * q);
  ck_assert_double_eq (passed_bytes (plan->backward, plan->n_backward, "add_attention_grads"),
                       times * (q + kv));
}
END_TEST

/* Context operations that do not hold up what follows, and all of them. */
static guint beside (const LsLayerOp *ops, guint n, guint *all) {
  guint overlapping = 0;

  *all = 0;
  for (guint i = 0; i < n; i++)
    if (ops[i].is_collective && ops[i].axis == LS_AXIS_CONTEXT) {
      *all += 1;
      overlapping += ops[i].overlaps_next ? 1 : 0;
    }
  return overlapping;
}

START_TEST (pytorch_rings_gather_repeated_keys_and_return_sums)
/* torch/distributed/tensor/experimental/_attention.py behind torchtitan's repeat_kv, with KV the bytes of keys and
 * values of as many heads as queries: forward one gather, (c-1) KV; backward the same and c messages of their
 * gradients in fp32, 2 c KV. All but the last message run beside attention, or none does. FLOPs: those of
 * another ring. Sums of integers up to 2^53: exact but for the division by c, 1e-12. */
{
  const guint t = shapes[_i].tensor, c = shapes[_i].context;
  g_autoptr (LsWorkload) workload = workload_for (shapes[_i].model, t, c, LS_CONTEXT_RING);
  g_autoptr (LsStage) ring = stage_of (workload);
  const double flops = attention_flops (block (ring)->backward, block (ring)->n_backward);
  const LsTransformer *m = &workload->model->transformer;
  const double kv = 2 * 2.0 * MICRO * SEQ / c * (double) (m->heads * m->head_dim) / t;

  workload->software = ls_software_find ("pytorch-fsdp2-2024", NULL);
  for (guint waits = 0; waits < 2; waits++) {
    workload->context_overlap = waits ? LS_CONTEXT_OVERLAP_AUTO : LS_CONTEXT_OVERLAP_BESIDE;
    g_autoptr (LsStage) stage = stage_of (workload);
    const LsLayerPlan *plan = block (stage);
    guint all;

    ck_assert_double_eq_tol (sent_bytes (plan->forward, plan->n_forward, LS_AXIS_CONTEXT, c),
                             kv * (c - 1), kv * 1e-12);
    ck_assert_double_eq_tol (sent_bytes (plan->backward, plan->n_backward, LS_AXIS_CONTEXT, c),
                             kv * (c - 1) + 2 * c * kv, kv * 1e-12);
    ck_assert_uint_eq (beside (plan->forward, plan->n_forward, &all), waits ? 0 : 1);
    ck_assert_uint_eq (all, 1);
    ck_assert_uint_eq (beside (plan->backward, plan->n_backward, &all), waits ? 0 : c);
    ck_assert_uint_eq (all, c + 1);
    ck_assert_double_eq_tol (attention_flops (plan->backward, plan->n_backward), flops,
                             flops * 1e-12);
  }
}
END_TEST

START_TEST (bytes_along_the_tensor_axis_shrink_with_context)
/* Megatron: per layer four exchanges of 2 b s h bytes forward and backward (two all-reduces each; with sequence
 * parallelism as many all-gathers and reduce-scatters, and two gathers more for the inputs kept in shards:
 * 4 + 6 halves of an all-reduce). A context rank has s/c tokens. Narayanan et al. SC21; Korthikanti et al. */
{
  g_autoptr (LsWorkload) one = workload_for ("llama2-70b", 4, 1, LS_CONTEXT_RING);
  g_autoptr (LsWorkload) two = workload_for ("llama2-70b", 4, 2, LS_CONTEXT_RING);
  g_autoptr (LsStage) a = stage_of (one), b = stage_of (two);
  const double wide = 2.0 * MICRO * SEQ * 8192;

  for (guint i = 0; i < 2; i++) {
    const LsLayerPlan *plan = block (i == 0 ? a : b);
    const double bytes = sent_bytes (plan->forward, plan->n_forward, LS_AXIS_TENSOR, 4) +
                         sent_bytes (plan->backward, plan->n_backward, LS_AXIS_TENSOR, 4);

    ck_assert_double_eq_tol (bytes, (4 + 6) * wide / (i + 1) * 3 / 4, 1e-9 * wide);
  }
}
END_TEST

START_TEST (ring_all_to_all_and_gather_do_the_same_work)
/* Flash attention under a causal mask does half of 4 b s^2 q FLOPs forward and 5/2 of that backward, whoever
 * does it: FLOPs per rank x c = FLOPs without a split. The small kernels around the backward one do 3 FLOPs per
 * element of the queries, in every step of a ring. Rounding only: 1e-12. What is kept is the same too, but that
 * all-to-all keeps attention's output twice: as heads and as tokens. Exact. */
{
  const guint t = shapes[_i].tensor, c = shapes[_i].context;

  for (guint kind = 0; kind < LS_N_CONTEXT_KINDS; kind++) {
    if (SEQ % (4 * c) != 0)
      continue;
    g_autoptr (LsWorkload) whole = workload_for (shapes[_i].model, t, 1, LS_CONTEXT_RING);
    g_autoptr (LsWorkload) split = workload_for (shapes[_i].model, t, c, (LsContextKind) kind);
    g_autoptr (LsStage) a = stage_of (whole), b = stage_of (split);
    const LsLayerPlan *one = block (a), *part = block (b);
    const LsTransformer *m = &whole->model->transformer;
    const double forward = 2.0 * MICRO * SEQ * SEQ * (double) (m->heads * m->head_dim) / (double) t;
    const double again = kind == LS_CONTEXT_RING ? forward / (2.0 * SEQ) * (c - 1) : 0;

    ck_assert_double_eq_tol (attention_flops (one->forward, one->n_forward), forward,
                             forward * 1e-12);
    ck_assert_double_eq_tol (c * attention_flops (part->forward, part->n_forward), forward,
                             forward * 1e-12);
    ck_assert_double_eq_tol (attention_flops (one->backward, one->n_backward) + 3 * again,
                             c * attention_flops (part->backward, part->n_backward),
                             forward * 1e-12);
    const gint64 twice =
        kind == LS_CONTEXT_ALL_TO_ALL ? 2 * MICRO * SEQ * ls_transformer_value_width (m) / t : 0;
    ck_assert_int_eq (ls_layer_plan_saved_bytes (one) + twice,
                      c * ls_layer_plan_saved_bytes (part));
    ck_assert_int_eq (one->input_bytes, c * part->input_bytes);
    ck_assert_int_eq (one->parameters, part->parameters);
  }
}
END_TEST

START_TEST (shards_are_counted_over_data_and_context)
/* Megatron's distributed optimizer and FSDP shard over all ranks that hold the same parameters: data x context.
 * 18 bytes per parameter with 12 of them in d c shards: 6 + 12/(d c). */
{
  g_autoptr (LsWorkload) workload = workload_for ("llama2-7b", 1, 2, LS_CONTEXT_RING);

  workload->layout.data = 4;
  workload->gpus = 8;
  workload->global_batch = 4 * MICRO;
  workload->zero.stage = 1;
  g_clear_pointer (&workload->gpu_of_rank, g_free);
  ck_assert (ls_workload_resolve (workload, NULL));
  ck_assert_uint_eq (ls_workload_shards (workload), 8);
  ck_assert_uint_eq (workload->layout.ranks, 8);
}
END_TEST

START_TEST (hybrid_shards_move_what_the_closed_form_says)
/* ZeRO-3 of P parameters per layer over n = q N copies in groups of N, 16-bit gathers and reductions: per layer and
 * micro-batch two gathers and a reduce-scatter of 2 P bytes, (N-1)/N of each, and an all-reduce of 2 P/N over q
 * groups, 2 (q-1)/q of it; per step an all-reduce of 4 bytes over the shards. Integers. */
{
  static const guint groups[] = {8, 4, 2, 1};
  const gint64 P = 8000, layers = 4, m = 2, n = 8, steps = 2;
  const TestLayer layer = {
      .forward_ps = 1000, .backward_ps = 2000, .parameters = 8000, .boundary_bytes = 100};

  for (guint i = 0; i < G_N_ELEMENTS (groups); i++) {
    const gint64 N = groups[i], q = n / N;
    LsWorkload *workload = test_workload (1, (guint) n, 1, (guint) layers, m);
    const TestNet net = {.latency_ps = 10, .bytes_per_s = 1e12};

    workload->zero.stage = 3;
    workload->zero.shard_group = (guint) N;
    g_autoptr (TestRun) run = test_run (workload, &layer, &net);
    const gint64 inside = 3 * 2 * P * (N - 1) / N, across = 2 * P / N * 2 * (q - 1) / q;
    const gint64 norm = N > 1 ? 2 * 4 * (N - 1) / N : 0;
    const gint64 wanted = N > 1 ? steps * (layers * m * (inside + across) + norm) : -1;

    /* Groups of one shard nothing: one all-reduce of all gradients per step. */
    ck_assert_int_eq ((gint64) ls_engine_bytes_sent (run->engine, 3),
                      N > 1 ? wanted : steps * layers * 2 * P * 2 * (n - 1) / n);
    ck_assert_int_eq (ls_memory_static (workload, P * layers).optimizer_bytes, P * layers / N * 12);
    ck_assert_int_eq (ls_memory_static (workload, P * layers).parameters_bytes, P * layers / N * 2);
  }
}
END_TEST

/* Two blocks of Mixtral on eight A100, experts on two ranks: four hold each. */
static LsSummary *run_experts (int stage, guint shard_group, LsMemoryEstimate *estimate,
                               LsStaticMemory *states, gint64 parameters[2]) {
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  LsModel *model = ls_model_new_preset ("mixtral-8x7b", NULL);
  g_autoptr (GError) error = NULL;

  model->transformer.layers = 2;
  g_autoptr (LsWorkload) w = ls_workload_new_default (model, 8);
  w->layout.expert = 2;
  w->seq_len = 512;
  w->global_batch = 16;
  w->zero.stage = stage;
  w->zero.shard_group = shard_group;
  ck_assert (ls_workload_resolve (w, &error));
  ls_node_spec_from_preset (&group.node, ls_node_find ("dgx-a100", NULL));
  group.node.n_nic_sets = 0;
  g_autoptr (LsCluster) cluster = ls_cluster_new_from (&group, 1, NULL, 0, NULL);
  g_autoptr (LsStage) all = ls_stage_new (w, 0, ls_cluster_gpu (cluster, 0));
  ls_memory_estimate (w, 0, ls_cluster_gpu (cluster, 0), estimate);
  *states = ls_memory_static_stage (w, all);
  parameters[0] = all->parameters;
  parameters[1] = all->expert_parameters;
  LsJob *job = ls_job_build (w, cluster, &error);
  ck_assert_msg (job != NULL, "%s", error != NULL ? error->message : "");
  LsSimulation *simulation = ls_simulation_new (cluster, w, job, 1);
  ck_assert (ls_simulation_run (simulation, NULL, &error));
  LsSummary *summary = ls_summary_new (simulation);
  ls_simulation_free (simulation);
  ls_job_free (job);
  return summary;
}

START_TEST (hybrid_shards_of_experts)
/* P dense parameters in q groups of N shards, E of experts on 4 ranks: e = 4/q of them shard those, and q repeat them.
 * Of m = 2 micro-batches, 16-bit gathers and fp32 gradients, r reductions and g gathers a step: stage 1 1 and 1, 2 m
 * and 1, 3 m and 2 m. A rank sends (4 r + 2 g) P (N-1)/N + 4 r 2 (q-1)/q P/N, of experts the same with e, and as much
 * of tokens whatever N is; 1e-4 for shards that are rounded up and the norm. States are 6 P and 12 P/N and so on, exact
 * but for those; the estimate covers the ledger's peak of two layers by 0 to 10 %. */
{
  static const guint groups[] = {8, 4, 2};
  const int stage = _i + 1;
  const double r = stage == 1 ? 1 : 2, g = stage == 3 ? 4 : 1;
  double tokens = 0;

  for (guint i = 0; i < G_N_ELEMENTS (groups); i++) {
    const double N = groups[i], q = 8 / N, e = 4 / q;
    LsMemoryEstimate estimate;
    LsStaticMemory states;
    gint64 parameters[2];
    g_autoptr (LsSummary) s = run_experts (stage, groups[i], &estimate, &states, parameters);
    const double P = (double) parameters[0], E = (double) parameters[1];
    const double sent = (4 * r + 2 * g) * (P * (N - 1) / N + E * (e - 1) / e) +
                        4 * r * 2 * (q - 1) / q * (P / N + E / e);
    const double rest = s->communication_bytes_per_gpu - sent;
    const double ratio = (double) estimate.allocated_bytes / (double) s->memory.peak_bytes;

    tokens = i == 0 ? rest : tokens;
    ck_assert_double_eq_tol (rest, tokens, 1e-4 * sent);
    ck_assert_double_eq_tol ((double) states.optimizer_bytes, 12 * (P / N + E / e), 100);
    ck_assert_double_eq_tol ((double) states.parameters_bytes,
                             2 * (stage == 3 ? P / N + E / e : P + E), 100);
    ck_assert_msg (ratio >= 1 && ratio <= 1.1, "stage %d, N %g: model / ledger = %.4f", stage, N,
                   ratio);
  }
}
END_TEST

START_TEST (packed_attention_is_the_sum_of_squares)
/* Documents of a constant length l that divides s: (s/l) l^2 / s^2 = l/s. One longer than s: 1. Exponential of mean
 * a much shorter than s: E sum l^2 / s^2 = 2 a/s, but for the cut at the end and rounding to tokens: 3 % for
 * a/s = 1/100 over 2,000 draws. The same key and index draw the same. */
{
  g_autoptr (LsWorkload) workload = workload_for ("llama2-7b", 1, 1, LS_CONTEXT_RING);
  double sum = 0;

  workload->seq_len = 4000;
  workload->documents = ls_distribution ("constant", 500, 0, 0);
  ck_assert_double_eq_tol (ls_drawn_attention_share (workload, 1, 2), 0.125, 1e-15);
  workload->documents = ls_distribution ("constant", 5000, 0, 0);
  ck_assert_double_eq_tol (ls_drawn_attention_share (workload, 1, 2), 1, 1e-15);
  workload->documents = ls_distribution ("exponential", 40, 0, 0);
  for (guint64 i = 0; i < 2000; i++)
    sum += ls_drawn_attention_share (workload, 7, i);
  ck_assert_double_eq_tol (sum / 2000, 0.02, 0.02 * 0.03);
  ck_assert (fabs (ls_drawn_attention_share (workload, 7, 3) -
                   ls_drawn_attention_share (workload, 7, 3)) < 1e-300);
  ck_assert (fabs (ls_drawn_attention_share (workload, 7, 3) -
                   ls_drawn_attention_share (workload, 7, 4)) > 0);
}
END_TEST

START_TEST (impossible_splits_are_refused)
/* The first contradiction, by name. */
{
  static const struct {
    guint tensor, context;
    LsContextKind kind;
    gint64 seq_len;
    const char *says;
  } cases[] = {
      {1, 3, LS_CONTEXT_RING, 4096, "6 divides"},
      {1, 16, LS_CONTEXT_ALL_TO_ALL, 4096, "kv_heads"},
      {1, 4, LS_CONTEXT_ALL_GATHER, 4100, "8 divides"},
      {8, 4, LS_CONTEXT_RING, 4128, "64 divides"},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (LsWorkload) workload = ls_workload_new_default (
        ls_model_new_preset ("llama2-70b", NULL), cases[i].tensor * cases[i].context);
    g_autoptr (GError) error = NULL;

    workload->layout = ls_layout (cases[i].tensor, 1, 1);
    workload->layout.context = cases[i].context;
    workload->context_kind = cases[i].kind;
    workload->seq_len = cases[i].seq_len;
    workload->global_batch = 1;
    workload->sequence_parallel = TRUE;
    ck_assert (!ls_workload_resolve (workload, &error));
    ck_assert_msg (strstr (error->message, cases[i].says) != NULL, "%s", error->message);
  }
}
END_TEST

START_TEST (random_layouts_run_and_fold_exactly)
/* tensor x context x expert x data x pipeline in any order, every kind of context and ZeRO stage: no deadlock
 * (the engine reports one), and folded runs equal unfolded ones to the bit. */
{
  guint ran = 0, split = 0;

  for (guint64 seed = 0; seed < test_scaled (24); seed++) {
    FoldCase test = fold_random_axes (test_seed () + seed);
    FoldResult result = fold_compare (&test);
    g_autofree char *text = fold_describe (&test);

    ck_assert_msg (result.differs == NULL, "%s: %s", text, result.differs);
    ck_assert_msg (result.ranks == 0 || result.why == NULL, "%s: %s", text, result.why);
    ran += result.ranks > 0;
    split += result.ranks > 0 && test.context > 1;
  }
  ck_assert_uint_gt (2 * ran, test_scaled (24));
  ck_assert_uint_gt (split, 0);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("axes");
  TCase *tcase = tcase_create ("axes");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_set_timeout (tcase, 300);
  tcase_add_loop_test (tcase, bytes_along_the_context_axis, 0, G_N_ELEMENTS (shapes));
  tcase_add_loop_test (tcase, rings_copy_what_they_send_and_what_they_add_to, 0,
                       G_N_ELEMENTS (shapes));
  tcase_add_loop_test (tcase, pytorch_rings_gather_repeated_keys_and_return_sums, 0,
                       G_N_ELEMENTS (shapes));
  tcase_add_test (tcase, bytes_along_the_tensor_axis_shrink_with_context);
  tcase_add_loop_test (tcase, ring_all_to_all_and_gather_do_the_same_work, 0,
                       G_N_ELEMENTS (shapes));
  tcase_add_test (tcase, shards_are_counted_over_data_and_context);
  tcase_add_test (tcase, hybrid_shards_move_what_the_closed_form_says);
  tcase_add_loop_test (tcase, hybrid_shards_of_experts, 0, 3);
  tcase_add_test (tcase, packed_attention_is_the_sum_of_squares);
  tcase_add_test (tcase, impossible_splits_are_refused);
  tcase_add_test (tcase, random_layouts_run_and_fold_exactly);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
