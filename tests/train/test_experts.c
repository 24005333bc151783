/* Mixtures of experts and latent attention: sizes against closed forms, and runs of random layouts. */
#include <check.h>
#include <math.h>

#include "base/random.h"
#include "base/time.h"
#include "fold_case.h"
#include "hw/nodes.h"
#include "suite.h"
#include "train/flops.h"
#include "train/memory.h"
#include "train/simulation.h"
#include "train/summary.h"

#define H 512
#define SEQ 512

/* 4 blocks, the first dense; 8 experts of 256, two per token, one shared; latent attention. */
static LsModel *small_model (void) {
  const LsTransformer t = {
      .layers = 4,
      .hidden = H,
      .heads = 8,
      .kv_heads = 8,
      .head_dim = 48,
      .ffn = 1024,
      .vocab = 8192,
      .max_seq = SEQ,
      .gated = TRUE,
      .rms_norm = TRUE,
      .rotary = TRUE,
      .causal = TRUE,
      .latent = {.q_rank = 128, .kv_rank = 64, .nope = 32, .rope = 16, .value = 32},
      .experts = {.count = 8, .top_k = 2, .ffn = 256, .shared_ffn = 256, .dense_first = 1}};

  return ls_model_new_transformer ("small", &t);
}

static LsWorkload *new_workload (guint tensor, guint data, guint expert, guint expert_tensor) {
  LsWorkload *w = ls_workload_new_default (small_model (), tensor * data);

  w->layout = ls_layout (tensor, data, 1);
  w->layout.expert = expert;
  w->layout.expert_tensor = expert_tensor;
  w->sequence_parallel = tensor > 1;
  w->global_batch = data;
  w->seq_len = SEQ;
  ck_assert (ls_workload_resolve (w, NULL));
  return w;
}

static const LsLayerPlan *expert_block (const LsStage *stage) {
  for (guint i = 0; i < stage->n_runs; i++)
    if (stage->runs[i].plan->expert_parameters > 0)
      return stage->runs[i].plan;
  return NULL;
}

/* Bytes of all collectives of an axis in a list, and how many there are. */
static gint64 bytes_on (const LsLayerOp *ops, guint n, LsAxis axis, guint *count) {
  gint64 bytes = 0;

  *count = 0;
  for (guint i = 0; i < n; i++)
    if (ops[i].is_collective && ops[i].axis == axis) {
      bytes += ops[i].collective_bytes;
      ++*count;
    }
  return bytes;
}

START_TEST (all_to_alls_carry_k_rows_per_token)
/* Each rank has n = s / t tokens, and every token goes to k = 2 experts: n k h 16-bit numbers leave a rank in
 * dispatch and in combine, forward and backward; none without expert ranks. Between x ranks that split an
 * expert, x times as many are gathered and scattered. */
{
  static const guint layouts[][4] = {{1, 1, 1, 0}, {1, 8, 8, 0}, {1, 8, 2, 0},
                                     {2, 4, 4, 2}, {4, 2, 8, 1}, {4, 2, 2, 2}};
  const guint tensor = layouts[_i][0], expert = layouts[_i][2];
  g_autoptr (LsWorkload) w = new_workload (tensor, layouts[_i][1], expert, layouts[_i][3]);
  const guint split = ls_layout_size (&w->layout, LS_AXIS_EXPERT_TENSOR);
  g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  const LsLayerPlan *plan = expert_block (stage);
  const gint64 rows = (gint64) SEQ / tensor * 2 * H * 2;
  guint forward, backward;

  ck_assert_int_eq (bytes_on (plan->forward, plan->n_forward, LS_AXIS_EXPERT, &forward),
                    expert > 1 ? 2 * rows : 0);
  ck_assert_int_eq (bytes_on (plan->backward, plan->n_backward, LS_AXIS_EXPERT, &backward),
                    expert > 1 ? 2 * rows : 0);
  ck_assert_uint_eq (forward, expert > 1 ? 2 : 0);
  ck_assert_uint_eq (backward, forward);
  ck_assert_int_eq (bytes_on (plan->forward, plan->n_forward, LS_AXIS_EXPERT_TENSOR, &forward),
                    split > 1 ? 2 * rows * split : 0);
}
END_TEST

/* Bytes and kernels of the operations whose names begin so. */
static gint64 bytes_of (const LsLayerOp *ops, guint n, const char *name, guint *kernels) {
  gint64 bytes = 0;

  *kernels = 0;
  for (guint i = 0; i < n; i++)
    if (!ops[i].is_collective && g_str_has_prefix (ops[i].name, name)) {
      bytes += ops[i].cost.bytes;
      *kernels += (guint) ops[i].cost.kernels;
    }
  return bytes;
}

START_TEST (biases_of_experts_are_added_one_by_one)
/* Of 8 experts on e ranks each has 512 x 2 / 8 rows per rank. In bf16 a value costs a product (2 bytes written), a sum
 * (2 + 2 + 2) and a join (2 + 2): 12 bytes, in 2 x 8/e + 1 kernels. With a fused dispatch weights are fp32: 4, 2 + 4 + 4,
 * 4 + 4 and a cast of 4 + 2: 28. Backward 2 x (2 + 2 + 2) + 4 = 16, or 6 + 6 + 2 x 12 + 4 = 40. A compiler: one pass. */
{
  static const struct {
    LsExpertDispatch dispatch;
    const char *software;
    gint64 forward, backward;
    guint each, once;
  } cases[] = {{LS_EXPERT_DISPATCH_ALL_TO_ALL, "megatron-bridge", 12, 16, 2, 1},
               {LS_EXPERT_DISPATCH_FUSED, "megatron-bridge", 28, 40, 2, 2},
               {LS_EXPERT_DISPATCH_FUSED, "pytorch-fsdp2", 4, 2, 0, 1}};
  const gint64 values = SEQ * 2 * H;

  for (guint biased = 0; biased < 2; biased++) {
    g_autoptr (LsWorkload) w = new_workload (1, 8, 4, 0);
    gint64 backward;
    guint kernels;

    w->model->transformer.biases = biased > 0;
    w->expert_dispatch = cases[_i].dispatch;
    w->software = ls_software_find (cases[_i].software, NULL);
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
    const LsLayerPlan *plan = expert_block (stage);
    gint64 forward = bytes_of (plan->forward, plan->n_forward, "experts_bias", &kernels);

    ck_assert_uint_eq (kernels, biased * MAX (2 * cases[_i].each, cases[_i].each > 0 ? 0u : 1u));
    forward += bytes_of (plan->forward, plan->n_forward, "join_experts", &kernels);
    ck_assert_uint_eq (kernels, cases[_i].each > 0 ? biased * cases[_i].once : 0);
    backward = bytes_of (plan->backward, plan->n_backward, "experts_bias", &kernels) +
               bytes_of (plan->backward, plan->n_backward, "join_experts", &kernels);
    ck_assert_int_eq (forward, biased * cases[_i].forward * values);
    ck_assert_int_eq (backward, biased * cases[_i].backward * values);
  }
}
END_TEST

START_TEST (scaled_rotary_positions_are_not_fused)
/* Plain: queries and keys read and written, 4 bytes a value, each way. YaRN under Megatron-Core: six passes over either
 * (2 + 1 + 2 + 2 + 3 + 2 values moved: 24 bytes) and back seven (2 + 1 + 2 + 2 + 3 + 1 + 3: 28). A compiler makes one. */
{
  static const struct {
    const char *software;
    gint64 forward, backward;
    guint kernels;
  } cases[] = {
      {"megatron-bridge", 24, 28, 12}, {"megatron-core", 24, 28, 12}, {"pytorch-fsdp2", 4, 4, 1}};

  for (guint yarn = 0; yarn < 2; yarn++) {
    g_autoptr (LsWorkload) w = new_workload (1, 8, 4, 0);
    guint kernels;

    w->model->transformer.latent = (LsLatent){0};
    w->model->transformer.yarn = yarn > 0;
    w->software = ls_software_find (cases[_i].software, NULL);
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
    const LsLayerPlan *plan = expert_block (stage);
    const gint64 values = SEQ * 2 * 8 * 48;

    ck_assert_int_eq (bytes_of (plan->forward, plan->n_forward, "rotary", &kernels),
                      values * (yarn > 0 ? cases[_i].forward : 4));
    ck_assert_uint_eq (kernels, yarn > 0 ? cases[_i].kernels : 1);
    ck_assert_int_eq (bytes_of (plan->backward, plan->n_backward, "rotary", &kernels),
                      values * (yarn > 0 ? cases[_i].backward : 4));
  }
}
END_TEST

START_TEST (clamped_activations_have_kernels_of_their_own)
/* 512 x 2 / 4 rows of 256 columns per half, in bf16. Forward 8 values of each half's moved (16 bytes), in 3 kernels; back
 * 11 and 7 bytes of masks (29), in 6. A compiler fuses them, and so does the product in MXFP8 that activates. What is clamped
 * is kept as well. */
{
  static const struct {
    const char *software;
    gboolean in_product;
    gint64 forward, backward;
    guint kernels;
  } cases[] = {{"megatron-bridge", FALSE, 16, 29, 3},
               {"megatron-bridge", TRUE, 0, 0, 0},
               {"pytorch-fsdp2", FALSE, 0, 0, 0}};
  const gint64 values = SEQ * 2 * 256;
  gint64 kept[2], forward, backward;

  for (guint clamped = 0; clamped < 2; clamped++) {
    g_autoptr (LsWorkload) w = new_workload (1, 8, 4, 0);
    guint kernels;

    w->model->transformer.clamped = clamped > 0;
    w->model->transformer.experts.shared_ffn = 0;
    w->software = ls_software_find (cases[_i].software, NULL);
    if (cases[_i].in_product) {
      w->precision = ls_precision_of_word ("mxfp8");
      w->precision.narrow.fused = TRUE;
    }
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("b200", NULL));
    const LsLayerPlan *plan = expert_block (stage);

    forward = bytes_of (plan->forward, plan->n_forward, "clamp", &kernels);
    ck_assert_int_le (clamped * values * cases[_i].forward - forward, kernels);
    ck_assert_int_le (forward, clamped * values * cases[_i].forward);
    ck_assert_uint_eq (kernels, clamped * cases[_i].kernels);
    backward = bytes_of (plan->backward, plan->n_backward, "clamp", &kernels);
    ck_assert_int_le (clamped * values * cases[_i].backward - backward, kernels);
    ck_assert_int_le (backward, clamped * values * cases[_i].backward);
    kept[clamped] = 0;
    for (guint i = 0; i < plan->n_forward; i++)
      kept[clamped] += plan->forward[i].saved_bytes;
  }
  ck_assert_int_eq (kept[1] - kept[0], cases[_i].kernels > 0 ? 2 * 2 * values : 0);
}
END_TEST

/* Mean number of ranks that hold a pair of different experts of 8, of e ranks, by counting all pairs. */
static double ranks_of_pairs (gint64 e) {
  gint64 ranks = 0, pairs = 0;

  for (gint64 a = 0; a < 8; a++)
    for (gint64 b = 0; b < 8; b++) {
      if (a == b)
        continue;
      ranks += a * e / 8 == b * e / 8 ? 1 : 2;
      pairs++;
    }
  return (double) ranks / (double) pairs;
}

START_TEST (fused_dispatch_sends_a_token_once_to_each_rank)
/* What a rank sends in dispatch and in combine: n tokens for each rank that has one of their 2 experts of 8; as many
 * kernels that put rows in order as before, less those that sort by sender. */
{
  static const guint experts[] = {2, 4, 8};
  const guint e = experts[_i];
  const LsAccelerator *gpu = ls_accelerator_find ("h100-sxm-80gb", NULL);
  g_autoptr (LsWorkload) w = new_workload (1, 8, e, 0);
  gint64 alone_ps[LS_N_EXPERT_DISPATCHES] = {0};
  guint n;

  for (guint d = 0; d < LS_N_EXPERT_DISPATCHES; d++) {
    w->expert_dispatch = (LsExpertDispatch) d;
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, gpu);
    const LsLayerPlan *plan = expert_block (stage);
    const gboolean once = d == LS_EXPERT_DISPATCH_FUSED;
    const double rows = once ? ceil (SEQ * ranks_of_pairs (e) - 1e-9) : SEQ * 2.0;

    ck_assert_int_eq (bytes_on (plan->forward, plan->n_forward, LS_AXIS_EXPERT, &n),
                      2 * (gint64) rows * H * 2);
    ck_assert_int_eq (bytes_on (plan->backward, plan->n_backward, LS_AXIS_EXPERT, &n),
                      2 * (gint64) rows * H * 2);
    for (guint i = 0; i < plan->n_forward; i++)
      alone_ps[d] += plan->forward[i].cost.alone_ps;
  }
  /* HybridEP sums rows as slowly as an index gathers them: what it saves is sorting. */
  if (e < 8)
    ck_assert_int_lt (alone_ps[LS_EXPERT_DISPATCH_FUSED], alone_ps[LS_EXPERT_DISPATCH_ALL_TO_ALL]);
}
END_TEST

START_TEST (embedding_tables_are_dealt_to_data_ranks)
/* DLRM on 8 ranks, b samples each: every rank holds 1/8 of the tables, in fp32 and without other states, and
 * sends b x 26 x 128 numbers in each of two all-to-alls, beside 8-byte indices; the MLPs alone are reduced. */
{
  g_autoptr (LsWorkload) w = ls_workload_new_default (ls_model_new_preset ("dlrm-mlperf", NULL), 8);
  g_autoptr (LsStage) stage = NULL;
  guint count;
  gint64 bytes = 0;

  w->micro_batch = 1024;
  w->global_batch = 8192;
  ck_assert (ls_workload_resolve (w, NULL));
  stage = ls_stage_new (w, 0, ls_accelerator_find ("a100-sxm-80gb", NULL));
  for (guint i = 0; i < stage->n_runs; i++) {
    const LsLayerPlan *plan = stage->runs[i].plan;

    bytes += bytes_on (plan->forward, plan->n_forward, LS_AXIS_EXPERT, &count);
    bytes += bytes_on (plan->backward, plan->n_backward, LS_AXIS_EXPERT, &count);
  }
  ck_assert_int_eq (bytes, 2LL * 1024 * 26 * 128 * 2 + 1024 * 26 * 8);
  ck_assert_int_eq (8 * stage->table_parameters, 187767399LL * 128);
  ck_assert_int_eq (stage->parameters, 2368897);
  ck_assert_int_eq (ls_memory_static_stage (w, stage).parameters_bytes,
                    2 * 2368897 + 4 * stage->table_parameters);
}
END_TEST

START_TEST (capacity_pads_every_expert)
/* With capacity factor c an expert has ceil (c n k / E) slots per sending rank, used or not: 2.5 x 1024 / 8 =
 * 320 rows for each of 8 experts, whatever the load. */
{
  g_autoptr (LsWorkload) w = new_workload (1, 8, 8, 0);
  g_autoptr (LsStage) stage = NULL;
  const LsLayerPlan *plan = NULL;
  guint count;

  w->model->transformer.experts.capacity_factor = 2.5;
  stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  plan = expert_block (stage);
  ck_assert_int_eq (bytes_on (plan->forward, plan->n_forward, LS_AXIS_EXPERT, &count),
                    2LL * 320 * 8 * H * 2);
}
END_TEST

START_TEST (experts_are_dealt_to_ranks)
/* E experts over e x x ranks: expert ranks x what each holds is all of them; the dense part is what tensor
 * parallelism leaves. States of experts are sharded over the expert-data ranks, of all else over data. */
{
  g_autoptr (LsWorkload) w = new_workload (1, 16, 4, 0);
  g_autoptr (LsStage) stage = NULL;
  const LsTransformer *t = &w->model->transformer;
  LsStaticMemory memory;

  w->zero.stage = 1;
  stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  ck_assert_int_eq (4 * stage->expert_parameters, 3 * 8 * ls_transformer_expert_parameters (t));
  ck_assert_int_eq (stage->parameters + 4 * stage->expert_parameters,
                    ls_model_parameters (w->model));
  memory = ls_memory_static_stage (w, stage);
  ck_assert_int_eq (memory.parameters_bytes, 2 * (stage->parameters + stage->expert_parameters));
  ck_assert_int_eq (memory.optimizer_bytes, 12 * ((stage->parameters + 15) / 16) +
                                                12 * ((stage->expert_parameters + 3) / 4));
}
END_TEST

START_TEST (flops_per_token_are_twice_the_active_parameters)
/* A forward pass is two FLOPs per parameter that a token meets, input embedding and norms left out, and the
 * attention core, nothing at one token. Published active parameters: DeepSeek-V3 37B, Mixtral 8x7B 12.9B. */
{
  static const struct {
    const char *name;
    double published, tolerance;
  } cases[] = {{"mixtral-8x7b", 12.9e9, 0.012}, {"deepseek-v3", 37e9, 0.012}};
  g_autoptr (LsModel) model = ls_model_new_preset (cases[_i].name, NULL);
  const LsTransformer *t = &model->transformer;
  const double maps = ls_model_forward_flops (model, 1, 1) / 2;
  const double embedding = (double) (t->vocab * t->hidden);

  ck_assert_double_le (fabs (maps - cases[_i].published),
                       cases[_i].tolerance * cases[_i].published);
  ck_assert_double_le (fabs (maps + embedding - (double) ls_model_active_parameters (model)),
                       2e-4 * maps);
}
END_TEST

START_TEST (latents_are_kept_under_selective_recompute)
/* Kept of attention per token under selective recompute: input h, latents before and after their norms,
 * 2 (r_q + r_kv) + rope, and the heads' values for the projection. Dropped: q, k and v. */
{
  g_autoptr (LsWorkload) w = new_workload (1, 1, 1, 0);
  g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  const LsLayerPlan *plan = expert_block (stage);

  ck_assert_int_eq (ls_layer_plan_saved_core_bytes (plan),
                    2LL * SEQ * 8 * ((32 + 16) + (32 + 16) + 32));
}
END_TEST

START_TEST (shares_are_as_unequal_as_asked)
/* Sum 1. Ratio r: the fullest of 8 has r / 8 and the others the rest. Zipf: the n-th fullest n^-s over the sum,
 * none above 1 / k: with s = 3 and k = 2 the first would have 0.84 and gets 1/2. Dirichlet: the mean over draws
 * of the sum of squares is (a + 1) / (n a + 1); 4 standard errors of 2,000 draws. */
{
  gsl_rng *rng = ls_random_gsl_new (1, "test", 0);
  double shares[8], most = 0, sum = 0, squares = 0;

  ls_expert_shares (&(LsSkew){.ratio = 2.5}, 8, 2, rng, shares);
  for (guint i = 0; i < 8; i++) {
    most = MAX (most, shares[i]);
    sum += shares[i];
  }
  ck_assert_double_eq_tol (most * 8, 2.5, 1e-12);
  ck_assert_double_eq_tol (sum, 1, 1e-12);
  ls_expert_shares (&(LsSkew){.exponent = 1}, 8, 1, rng, shares);
  most = sum = 0;
  for (guint i = 0; i < 8; i++) {
    most = MAX (most, shares[i]);
    sum += shares[i];
  }
  ck_assert_double_eq_tol (most, 1 / (761.0 / 280), 1e-12); /* 1 / H_8 */
  ls_expert_shares (&(LsSkew){.exponent = 3}, 8, 2, rng, shares);
  most = sum = 0;
  for (guint i = 0; i < 8; i++) {
    most = MAX (most, shares[i]);
    sum += shares[i];
  }
  ck_assert_double_eq_tol (most, 0.5, 1e-12);
  ck_assert_double_eq_tol (sum, 1, 1e-12);
  for (guint draw = 0; draw < 2000; draw++) {
    ls_expert_shares (&(LsSkew){.concentration = 2}, 8, 1, rng, shares);
    for (guint i = 0; i < 8; i++)
      squares += shares[i] * shares[i] / 2000;
  }
  ck_assert_double_eq_tol (squares, 3.0 / 17, 4 * 0.04 / sqrt (2000));
  gsl_rng_free (rng);
}
END_TEST

/* Step time of the small model on 8 GPUs, one expert each. */
static gint64 skewed_ps (LsSkew skew, guint64 seed, guint *differing) {
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  g_autoptr (LsWorkload) w = new_workload (1, 8, 8, 0);
  g_autoptr (LsCluster) cluster = NULL;
  g_autoptr (LsJob) job = NULL;
  g_autoptr (LsSimulation) simulation = NULL;
  const GArray *steps = NULL;

  ls_node_spec_from_preset (&group.node, ls_node_find ("dgx-h100", NULL));
  group.node.n_nic_sets = 0;
  cluster = ls_cluster_new_from (&group, 1, NULL, 0, NULL);
  w->model->transformer.experts.skew = skew;
  w->model->transformer.experts.ffn = 8192;
  w->micro_batch = 8;
  w->global_batch = 64;
  w->steps = 4;
  ck_assert (ls_workload_resolve (w, NULL));
  job = ls_job_build (w, cluster, NULL);
  ck_assert_int_eq (job->load != NULL, skew.ratio > 1 || skew.concentration > 0);
  simulation = ls_simulation_new (cluster, w, job, seed);
  ck_assert (ls_simulation_run (simulation, NULL, NULL));
  steps = ls_simulation_job (simulation, 0)->step_ps;
  *differing = 0;
  for (guint i = 2; i < steps->len; i++)
    *differing += g_array_index (steps, gint64, i) != g_array_index (steps, gint64, 1) ? 1 : 0;
  return g_array_index (steps, gint64, 1);
}

START_TEST (skew_makes_steps_longer)
/* The fullest rank has r times the expert work of the mean, and all wait for it: more skew is slower, every
 * step anew with a distribution, and the same seed gives the same steps. Expert kernels of the fullest rank
 * take exactly r times as long, so the step grows by (r - 1) times them, but for the all-to-alls. */
{
  guint differing = 0;
  const gint64 even = skewed_ps ((LsSkew){0}, 1, &differing);
  const gint64 r2 = skewed_ps ((LsSkew){.ratio = 2}, 1, &differing);
  const gint64 r3 = skewed_ps ((LsSkew){.ratio = 3}, 1, &differing);

  ck_assert_int_gt (r2, even);
  ck_assert_double_eq_tol ((double) (r3 - even) / (double) (r2 - even), 2, 0.03);
  const gint64 drawn = skewed_ps ((LsSkew){.concentration = 1}, 1, &differing);
  ck_assert_uint_eq (differing, 2);
  ck_assert_int_eq (skewed_ps ((LsSkew){.concentration = 1}, 1, &differing), drawn);
  ck_assert_int_ne (skewed_ps ((LsSkew){.concentration = 1}, 2, &differing), drawn);
}
END_TEST

START_TEST (nothing_is_dropped_that_was_not_kept)
/* Selective recompute drops at most what an operation keeps, and makes again what it dropped. */
{
  g_autoptr (LsWorkload) w = new_workload (1, 8, 8, 0);
  g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  gint64 dropped = 0, made = 0;

  for (guint r = 0; r < stage->n_runs; r++) {
    LsLayerPlan *plan = stage->runs[r].plan;

    ls_layer_plan_select (plan, NULL);
    for (guint i = 0; i < plan->n_forward; i++) {
      ck_assert_int_ge (ls_layer_op_dropped_bytes (plan, i), 0);
      ck_assert_int_le (ls_layer_op_dropped_bytes (plan, i), plan->forward[i].saved_bytes);
      dropped += ls_layer_op_dropped_bytes (plan, i);
      made += ls_layer_op_remade_bytes (plan, i);
    }
  }
  ck_assert_int_gt (dropped, 0);
  ck_assert_int_eq (dropped, made);
}
END_TEST

/* Duration of two steps of the small model on 8 ranks of H100, its experts over 4. */
static gint64 step_ps (const LsSoftware *software, double launch_s, gboolean waits,
                       gboolean graphs) {
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  LsSoftware row = *software;
  g_autoptr (LsWorkload) w = new_workload (1, 8, 4, 0);
  g_autoptr (LsCluster) cluster = NULL;
  g_autoptr (LsJob) job = NULL;
  g_autoptr (LsSimulation) simulation = NULL;

  row.host_launch_s.value = launch_s;
  row.expert_sync = waits;
  row.cuda_graphs = graphs;
  w->software = &row;
  ls_node_spec_from_preset (&group.node, ls_node_find ("dgx-h100", NULL));
  group.node.n_nic_sets = 0;
  cluster = ls_cluster_new_from (&group, 1, NULL, 0, NULL);
  w->steps = 2;
  ck_assert (ls_workload_resolve (w, NULL));
  job = ls_job_build (w, cluster, NULL);
  simulation = ls_simulation_new (cluster, w, job, 1);
  ck_assert (ls_simulation_run (simulation, NULL, NULL));
  return ls_engine_now_ps (ls_simulation_engine (simulation));
}

START_TEST (a_waiting_host_never_helps)
/* Reading the numbers of tokens costs nothing where launches cost nothing or are replayed, never saves time, and costs more
 * the longer a launch takes while the device still hides launches alone; where the host bounds everything, waiting hardly
 * matters: at most the kernels of the list are no longer hidden. */
{
  const LsSoftware *core = ls_software_find ("megatron-core", NULL);
  gint64 before_ps = 0;

  ck_assert_int_eq (step_ps (core, 0, TRUE, FALSE), step_ps (core, 0, FALSE, FALSE));
  ck_assert_int_eq (step_ps (core, 40e-6, TRUE, TRUE), step_ps (core, 40e-6, FALSE, TRUE));
  for (guint i = 0; i < 6; i++) {
    const double launch_s = 2e-6 * (1 << i);
    const gint64 waits_ps = step_ps (core, launch_s, TRUE, FALSE);
    const gint64 alone_ps = step_ps (core, launch_s, FALSE, FALSE);

    ck_assert_int_ge (waits_ps, alone_ps);
    ck_assert_int_le (waits_ps - alone_ps, step_ps (core, 0, FALSE, FALSE));
    ck_assert_int_ge (waits_ps, before_ps);
    before_ps = waits_ps;
  }
  ck_assert_int_gt (step_ps (core, 8e-6, TRUE, FALSE), step_ps (core, 8e-6, FALSE, FALSE));
}
END_TEST

START_TEST (ledger_peak_is_what_the_model_says)
/* As in test_ledger.c, for stages of ZeRO with expert groups of 2 and 4 of 8 ranks, and for stage 1 in pairs of a forward
 * and a backward: 0 to + 5 %. */
{
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  g_autoptr (LsWorkload) w = new_workload (1, 8, _i % 2 == 0 ? 2 : 4, 0);
  g_autoptr (LsCluster) cluster = NULL;
  g_autoptr (LsJob) job = NULL;
  g_autoptr (LsSimulation) simulation = NULL;
  g_autoptr (LsSummary) summary = NULL;
  const LsAccelerator *gpu = ls_accelerator_find ("h100-sxm-80gb", NULL);
  LsMemoryEstimate estimate;

  ls_node_spec_from_preset (&group.node, ls_node_find ("dgx-h100", NULL));
  group.node.n_nic_sets = 0;
  cluster = ls_cluster_new_from (&group, 1, NULL, 0, NULL);
  w->expert_overlap = _i / 2 == 4;
  w->zero.stage = w->expert_overlap ? 1 : _i / 2;
  w->global_batch = 32;
  w->steps = 2;
  ck_assert (ls_workload_resolve (w, NULL));
  ls_memory_fullest (w, &gpu, &estimate);
  job = ls_job_build (w, cluster, NULL);
  simulation = ls_simulation_new (cluster, w, job, 1);
  ck_assert (ls_simulation_run (simulation, NULL, NULL));
  summary = ls_summary_new (simulation);
  const double ratio = (double) estimate.allocated_bytes / (double) summary->memory.peak_bytes;
  ck_assert_msg (ratio >= 1 && ratio <= 1.05, "model / ledger = %.4f", ratio);
}
END_TEST

START_TEST (random_layouts_run_and_fold_exactly)
/* No deadlock, bytes conserved (asserted in every run), folded = unfolded to the bit. */
{
  static const guint sizes[] = {1, 2, 4, 8};

  for (guint64 seed = 0; seed < test_scaled (24); seed++) {
    LsRandom random;
    FoldCase test = fold_random (test_seed () + seed);

    ls_random_init (&random, test_seed () + seed, "experts", 0);
    test.new_model = small_model;
    test.tensor = sizes[ls_random_below (&random, 3)];
    test.data = sizes[ls_random_below (&random, 4)];
    test.pipeline = sizes[ls_random_below (&random, 3)];
    test.expert_tensor = sizes[ls_random_below (&random, 2)];
    test.expert = sizes[ls_random_below (&random, 4)];
    test.sequence_parallel = TRUE;
    test.schedule = LS_SCHEDULE_1F1B; /* sizes were chosen after it */
    test.preset = "dgx-h100";
    test.straggler = -1;
    /* Others need more layers per stage than this model has. */
    test.schedule = seed % 2 == 0 ? LS_SCHEDULE_1F1B : LS_SCHEDULE_GPIPE;
    test.nodes = (test.tensor * test.data * test.pipeline + 7) / 8;
    while (test.expert_tensor * test.expert > test.tensor * test.data)
      test.expert_tensor > 1 ? (test.expert_tensor /= 2) : (test.expert /= 2);
    FoldResult result = fold_compare (&test);
    g_autofree char *text = fold_describe (&test);
    ck_assert_msg (result.ranks > 0, "%s e%u x%u", text, test.expert, test.expert_tensor);
    ck_assert_msg (result.differs == NULL, "%s e%u x%u: %s", text, test.expert, test.expert_tensor,
                   result.differs);
  }
}
END_TEST

static const LsLayerOp *op_named (const LsLayerPlan *plan, const char *name) {
  for (guint i = 0; i < plan->n_forward; i++)
    if (g_str_equal (plan->forward[i].name, name))
      return &plan->forward[i];
  return NULL;
}

START_TEST (routers_and_rows_follow_the_software)
/* A router of plain tensor code is 40 kernels, a fused one one (layer_experts.c). Rows that an index orders go at the
 * rate of a gather, 0.36 x 4.30 TB/s x 132 / 148 = 1.381 TB/s on H100, where the dispatch does not order them: (1 + k)
 * n h numbers, k = 2. */
{
  g_autoptr (LsWorkload) w = new_workload (1, 8, 8, 0);
  const LsAccelerator *gpu = ls_accelerator_find ("h100-sxm-80gb", NULL);
  const double bytes = (1 + 2) * SEQ * H * 2;
  g_autoptr (LsStage) plain = NULL;
  g_autoptr (LsStage) fused = NULL;

  w->software = ls_software_find ("megatron-core", NULL);
  plain = ls_stage_new (w, 0, gpu);
  w->software = ls_software_find ("megatron-bridge", NULL);
  fused = ls_stage_new (w, 0, gpu);
  const LsLayerOp *rows = op_named (expert_block (plain), "permute");
  const LsLayerOp *copied = op_named (expert_block (fused), "permute");
  ck_assert_int_eq (op_named (expert_block (plain), "route")->cost.kernels, 40);
  ck_assert_int_eq (op_named (expert_block (fused), "route")->cost.kernels, 1);
  /* 1.14 us against 0.58 us at 2.7 TB/s or more, beside the same overheads. */
  const double more = ls_time_s_from_ps (rows->cost.alone_ps - copied->cost.alone_ps);
  ck_assert_msg (more > 0 && more < bytes / 1.381e12, "%g s", more);
}
END_TEST

/* Time of all operations of a list that have this name; how many there are. */
static gint64 time_of (const LsLayerOp *ops, guint n, const char *name, guint *count) {
  gint64 ps = 0;

  *count = 0;
  for (guint i = 0; i < n; i++)
    if (g_str_equal (ops[i].name, name)) {
      ps += ops[i].cost.alone_ps;
      ++*count;
    }
  return ps;
}

START_TEST (experts_in_mxfp8_activate_inside_products)
/* With precision.fused_scaling one SwiGLU of two (experts' and the shared one's) takes no time, casts
 * behind activations are gone, and what is kept stays the same. */
{
  const LsAccelerator *gpu = ls_accelerator_find ("b200", NULL);
  g_autoptr (LsWorkload) w = new_workload (1, 8, 4, 0);
  guint casts[2], passes[2];
  gint64 swiglu_ps[2], kept[2];

  w->precision = ls_precision_of_word ("mxfp8");
  for (guint fused = 0; fused < 2; fused++) {
    w->precision.narrow.fused = fused == 1;
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, gpu);
    const LsLayerPlan *plan = expert_block (stage);

    time_of (plan->forward, plan->n_forward, "scale_input", &casts[fused]);
    swiglu_ps[fused] = time_of (plan->forward, plan->n_forward, "swiglu", &passes[fused]);
    kept[fused] = ls_layer_plan_saved_bytes (plan);
  }
  ck_assert_uint_eq (passes[0], 2);
  ck_assert_uint_eq (passes[1], 2);
  ck_assert_int_lt (swiglu_ps[1], swiglu_ps[0]);
  ck_assert_uint_lt (casts[1], casts[0]);
  ck_assert_int_eq (kept[1], kept[0]);
}
END_TEST

/* Launches of a list, of h each, that graphs of parts of a layer save: all of those parts but one. */
static gint64 replayed_ps (const LsLayerOp *ops, guint n, const LsSoftware *software) {
  gint64 ps = 0;

  for (guint i = 0; i < n; i++)
    if (!ops[i].is_collective &&
        (ops[i].part == LS_PART_ROUTER ||
         (ops[i].part == LS_PART_ATTENTION && software->layer_graphs == LS_LAYER_GRAPHS_ATTENTION)))
      ps += ls_kernel_host_ps (&ops[i].cost, software);
  return ps > 0 ? ps - ls_kernel_launch_ps (software) : 0;
}

START_TEST (graphs_of_parts_save_their_launches)
/* Of a step that the host bounds (1 ms for each launch) graphs save the launches of their parts but one a list; those of
 * attention save more, and parts are what they say: attention is in one, experts in none. */
{
  LsSoftware row = *ls_software_find ("megatron-core", NULL);
  const gint64 none_ps = step_ps (&row, 1e-3, FALSE, FALSE);
  gint64 before_ps = 0;

  row.host_launch_s.value = 1e-3;
  for (guint graphs = LS_LAYER_GRAPHS_ROUTER; graphs < LS_N_LAYER_GRAPHS; graphs++) {
    g_autoptr (LsWorkload) w = new_workload (1, 8, 4, 0);
    g_autoptr (LsStage) stage = NULL;
    gint64 saved_ps = 0;

    row.layer_graphs = (LsLayerGraphs) graphs;
    w->software = &row;
    stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
    for (guint i = 0; i < stage->n_runs; i++) {
      const LsLayerPlan *plan = stage->runs[i].plan;

      saved_ps += 2 * stage->runs[i].count *
                  (replayed_ps (plan->forward, plan->n_forward, &row) +
                   replayed_ps (plan->backward, plan->n_backward, &row));
    }
    const gint64 less_ps = none_ps - step_ps (&row, 1e-3, FALSE, FALSE);
    ck_assert_int_gt (less_ps, before_ps);
    ck_assert_msg (fabs ((double) less_ps / (double) saved_ps - 1) < 0.01, "%g of %g s",
                   ls_time_s_from_ps (less_ps), ls_time_s_from_ps (saved_ps));
    before_ps = less_ps;
    ck_assert_int_eq (op_named (expert_block (stage), "attention")->part, LS_PART_ATTENTION);
    ck_assert_int_eq (op_named (expert_block (stage), "router")->part, LS_PART_ROUTER);
    ck_assert_int_eq (op_named (expert_block (stage), "experts_up")->part, LS_PART_REST);
  }
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, experts_in_mxfp8_activate_inside_products);
  tcase_add_loop_test (tcase, all_to_alls_carry_k_rows_per_token, 0, 6);
  tcase_add_loop_test (tcase, biases_of_experts_are_added_one_by_one, 0, 3);
  tcase_add_loop_test (tcase, scaled_rotary_positions_are_not_fused, 0, 3);
  tcase_add_loop_test (tcase, clamped_activations_have_kernels_of_their_own, 0, 3);
  tcase_add_test (tcase, a_waiting_host_never_helps);
  tcase_add_test (tcase, graphs_of_parts_save_their_launches);
  tcase_add_loop_test (tcase, fused_dispatch_sends_a_token_once_to_each_rank, 0, 3);
  tcase_add_test (tcase, embedding_tables_are_dealt_to_data_ranks);
  tcase_add_test (tcase, capacity_pads_every_expert);
  tcase_add_test (tcase, routers_and_rows_follow_the_software);
  tcase_add_test (tcase, experts_are_dealt_to_ranks);
  tcase_add_loop_test (tcase, flops_per_token_are_twice_the_active_parameters, 0, 2);
  tcase_add_test (tcase, latents_are_kept_under_selective_recompute);
  tcase_add_test (tcase, shares_are_as_unequal_as_asked);
  tcase_add_test (tcase, nothing_is_dropped_that_was_not_kept);
  tcase_add_test (tcase, skew_makes_steps_longer);
  tcase_add_loop_test (tcase, ledger_peak_is_what_the_model_says, 0, 10);
  tcase_add_test (tcase, random_layouts_run_and_fold_exactly);
}

LS_TEST_MAIN ("experts", add_tests)
