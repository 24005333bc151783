/* Mixtures of experts and latent attention: sizes against closed forms, and runs of random layouts. */
#include <check.h>
#include <math.h>

#include "base/random.h"
#include "base/time.h"
#include "expert_case.h"
#include "fold_case.h"
#include "hw/nodes.h"
#include "suite.h"
#include "train/memory/memory.h"
#include "train/model/flops.h"
#include "train/run/simulation.h"
#include "train/run/summary.h"

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
  g_autoptr (LsWorkload) w =
      expert_case_new_workload (tensor, layouts[_i][1], expert, layouts[_i][3]);
  const guint split = ls_layout_size (&w->layout, LS_AXIS_EXPERT_TENSOR);
  g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  const LsLayerPlan *plan = expert_case_block (stage);
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
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, e, 0);
  gint64 alone_ps[LS_N_EXPERT_DISPATCHES] = {0};
  guint n;

  for (guint d = 0; d < LS_N_EXPERT_DISPATCHES; d++) {
    w->expert_dispatch = (LsExpertDispatch) d;
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, gpu);
    const LsLayerPlan *plan = expert_case_block (stage);
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
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 8, 0);
  g_autoptr (LsStage) stage = NULL;
  const LsLayerPlan *plan = NULL;
  guint count;

  w->model->transformer.experts.capacity_factor = 2.5;
  stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  plan = expert_case_block (stage);
  ck_assert_int_eq (bytes_on (plan->forward, plan->n_forward, LS_AXIS_EXPERT, &count),
                    2LL * 320 * 8 * H * 2);
}
END_TEST

START_TEST (experts_are_dealt_to_ranks)
/* E experts over e x x ranks: expert ranks x what each holds is all of them; the dense part is what tensor
 * parallelism leaves. States of experts are sharded over the expert-data ranks, of all else over data. */
{
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 16, 4, 0);
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
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 1, 1, 0);
  g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  const LsLayerPlan *plan = expert_case_block (stage);

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

START_TEST (shares_above_the_most_go_to_the_others)
/* A token goes to k experts at most once, so that none has more than 1 / k. Zipf over 8 with k = 7: two are above 1/7 at
 * once, and what they have too much goes to the rest in proportion until nothing is above: all end at 1/7 but those of the
 * smallest shares. Dirichlet of a tiny concentration: most draws underflow, at times all, and one expert would have everything.
 * The sum stays 1. */
{
  static const struct {
    LsSkew skew;
    gint64 top_k;
  } cases[] = {{{.exponent = 1}, 7},
               {{.exponent = 3}, 4},
               {{.concentration = 0.001}, 1},
               {{.concentration = 0.001}, 2},
               {{.concentration = 0.01}, 3}};
  gsl_rng *rng = ls_random_gsl_new (1, "test", 0);

  for (guint draw = 0; draw < 1000; draw++) {
    const double limit = 1.0 / (double) cases[_i].top_k;
    double shares[8], most = 0, sum = 0;

    ls_expert_shares (&cases[_i].skew, 8, cases[_i].top_k, rng, shares);
    for (guint i = 0; i < 8; i++) {
      most = MAX (most, shares[i]);
      sum += shares[i];
    }
    ck_assert_double_eq_tol (sum, 1, 1e-9);
    ck_assert_double_le (most, limit * (1 + 1e-9));
    /* Small is unequal: one expert or two have all that they may have. */
    ck_assert_double_ge (most, 0.4 * limit);
  }
  gsl_rng_free (rng);
}
END_TEST

/* Step time of the small model on 8 GPUs, one expert each. */
static gint64 skewed_ps (LsSkew skew, guint64 seed, guint *differing) {
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 8, 0);
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
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 8, 0);
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

START_TEST (ledger_peak_is_what_the_model_says)
/* As in test_ledger.c, for stages of ZeRO with expert groups of 2 and 4 of 8 ranks, and for stage 1 in pairs of a forward
 * and a backward: 0 to + 5 %. */
{
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, _i % 2 == 0 ? 2 : 4, 0);
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
    test.new_model = expert_case_new_model;
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

static void add_tests (TCase *tcase) {
  tcase_add_loop_test (tcase, all_to_alls_carry_k_rows_per_token, 0, 6);
  tcase_add_loop_test (tcase, fused_dispatch_sends_a_token_once_to_each_rank, 0, 3);
  tcase_add_test (tcase, embedding_tables_are_dealt_to_data_ranks);
  tcase_add_test (tcase, capacity_pads_every_expert);
  tcase_add_test (tcase, experts_are_dealt_to_ranks);
  tcase_add_loop_test (tcase, flops_per_token_are_twice_the_active_parameters, 0, 2);
  tcase_add_test (tcase, latents_are_kept_under_selective_recompute);
  tcase_add_test (tcase, shares_are_as_unequal_as_asked);
  tcase_add_loop_test (tcase, shares_above_the_most_go_to_the_others, 0, 5);
  tcase_add_test (tcase, nothing_is_dropped_that_was_not_kept);
  tcase_add_test (tcase, skew_makes_steps_longer);
  tcase_add_loop_test (tcase, ledger_peak_is_what_the_model_says, 0, 10);
  tcase_add_test (tcase, random_layouts_run_and_fold_exactly);
}

LS_TEST_MAIN ("experts", add_tests)
