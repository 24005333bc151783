/* Kernels of mixtures of experts by software: which there are, what they move, and the launches that they wait for. */
#include <check.h>
#include <math.h>

#include "base/time.h"
#include "expert_case.h"
#include "hw/nodes.h"
#include "suite.h"
#include "train/run/simulation.h"

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
    g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 4, 0);
    gint64 backward;
    guint kernels;

    w->model->transformer.biases = biased > 0;
    w->expert_dispatch = cases[_i].dispatch;
    w->software = ls_software_find (cases[_i].software, NULL);
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
    const LsLayerPlan *plan = expert_case_block (stage);
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
    g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 4, 0);
    guint kernels;

    w->model->transformer.latent = (LsLatent){0};
    w->model->transformer.yarn = yarn > 0;
    w->software = ls_software_find (cases[_i].software, NULL);
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
    const LsLayerPlan *plan = expert_case_block (stage);
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
 * 11 and 8 bytes of masks (30), in 7. A compiler fuses them, and so does the product in MXFP8 that activates. What is clamped
 * is kept as well. */
{
  static const struct {
    const char *software;
    gboolean in_product;
    gint64 forward, backward;
    guint kernels;
  } cases[] = {{"megatron-bridge", FALSE, 16, 30, 3},
               {"megatron-bridge", TRUE, 0, 0, 0},
               {"pytorch-fsdp2", FALSE, 0, 0, 0}};
  const gint64 values = SEQ * 2 * 256;
  gint64 kept[2], forward, backward;

  for (guint clamped = 0; clamped < 2; clamped++) {
    g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 4, 0);
    guint kernels;

    w->model->transformer.clamped = clamped > 0;
    w->model->transformer.experts.shared_ffn = 0;
    w->software = ls_software_find (cases[_i].software, NULL);
    if (cases[_i].in_product) {
      w->precision = ls_precision_of_word ("mxfp8");
      w->precision.narrow.fused = TRUE;
    }
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, ls_accelerator_find ("b200", NULL));
    const LsLayerPlan *plan = expert_case_block (stage);

    forward = bytes_of (plan->forward, plan->n_forward, "clamp", &kernels);
    ck_assert_int_le (clamped * values * cases[_i].forward - forward, kernels);
    ck_assert_int_le (forward, clamped * values * cases[_i].forward);
    ck_assert_uint_eq (kernels, clamped * cases[_i].kernels);
    backward = bytes_of (plan->backward, plan->n_backward, "clamp", &kernels);
    ck_assert_int_le (clamped * values * cases[_i].backward - backward, kernels);
    ck_assert_int_le (backward, clamped * values * cases[_i].backward);
    ck_assert_uint_eq (kernels, clamped * (cases[_i].kernels > 0 ? 7 : 0));
    kept[clamped] = 0;
    for (guint i = 0; i < plan->n_forward; i++)
      kept[clamped] += plan->forward[i].saved_bytes;
  }
  ck_assert_int_eq (kept[1] - kept[0], cases[_i].kernels > 0 ? 2 * 2 * values : 0);
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
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 8, 0);
  const LsAccelerator *gpu = ls_accelerator_find ("h100-sxm-80gb", NULL);
  const double bytes = (1 + 2) * SEQ * H * 2;
  g_autoptr (LsStage) plain = NULL;
  g_autoptr (LsStage) fused = NULL;

  w->software = ls_software_find ("megatron-core", NULL);
  plain = ls_stage_new (w, 0, gpu);
  w->software = ls_software_find ("megatron-bridge", NULL);
  fused = ls_stage_new (w, 0, gpu);
  const LsLayerOp *rows = op_named (expert_case_block (plain), "permute");
  const LsLayerOp *copied = op_named (expert_case_block (fused), "permute");
  ck_assert_int_eq (op_named (expert_case_block (plain), "route")->cost.kernels, 40);
  ck_assert_int_eq (op_named (expert_case_block (fused), "route")->cost.kernels, 1);
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
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 4, 0);
  guint casts[2], passes[2];
  gint64 swiglu_ps[2], kept[2];

  w->precision = ls_precision_of_word ("mxfp8");
  for (guint fused = 0; fused < 2; fused++) {
    w->precision.narrow.fused = fused == 1;
    g_autoptr (LsStage) stage = ls_stage_new (w, 0, gpu);
    const LsLayerPlan *plan = expert_case_block (stage);

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

START_TEST (biases_slow_a_product_of_one_release)
/* cudnn-frontend issue 256: the product whose epilogue activates backward took 8.76 times as long where it summed biases'
 * gradients beside it, and only there. */
{
  const LsAccelerator *gpu = ls_accelerator_find ("b200", NULL);
  static const char *const releases[] = {"megatron-bridge", "megatron-bridge-26.06.01"};
  gint64 product_ps[2][2][2];
  guint found;

  for (guint release = 0; release < 2; release++)
    for (guint biased = 0; biased < 2; biased++)
      for (guint fused = 0; fused < 2; fused++) {
        g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 4, 0);

        w->software = ls_software_find (releases[release], NULL);
        w->model->transformer.biases = biased == 1;
        w->precision = ls_precision_of_word ("mxfp8");
        w->precision.narrow.fused = fused == 1;
        g_autoptr (LsStage) stage = ls_stage_new (w, 0, gpu);
        const LsLayerPlan *plan = expert_case_block (stage);

        product_ps[release][biased][fused] =
            time_of (plan->backward, plan->n_backward, "experts_down_grad", &found);
        ck_assert_uint_eq (found, 1);
      }
  for (guint biased = 0; biased < 2; biased++)
    for (guint fused = 0; fused < 2; fused++) {
      const double ratio =
          (double) product_ps[1][biased][fused] / (double) product_ps[0][biased][fused];
      const double expected = biased == 1 && fused == 1 ? 1362.768 / 155.632 : 1;

      ck_assert_msg (fabs (ratio / expected - 1) < 1e-6, "biased %u fused %u: %g", biased, fused,
                     ratio);
    }
}
END_TEST

/* Duration of two steps of the small model on 8 ranks of H100, its experts over 4. */
static gint64 step_ps (const LsSoftware *software, double launch_s, gboolean waits,
                       gboolean graphs) {
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  LsSoftware row = *software;
  g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 4, 0);
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

/* Launches of a list, of h each, that graphs of parts of a layer save: all of those parts but one. */
static gint64 replayed_ps (const LsLayerOp *ops, guint n, const LsSoftware *software, LsPass pass) {
  gint64 ps = 0;

  for (guint i = 0; i < n; i++)
    if (!ops[i].is_collective &&
        (ops[i].part == LS_PART_ROUTER ||
         (ops[i].part == LS_PART_ATTENTION && software->layer_graphs == LS_LAYER_GRAPHS_ATTENTION)))
      ps += ls_kernel_host_ps (&ops[i].cost, software, pass);
  return ps > 0 ? ps - ls_kernel_launch_ps (software, pass) : 0;
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
    g_autoptr (LsWorkload) w = expert_case_new_workload (1, 8, 4, 0);
    g_autoptr (LsStage) stage = NULL;
    gint64 saved_ps = 0;

    row.layer_graphs = (LsLayerGraphs) graphs;
    w->software = &row;
    stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
    for (guint i = 0; i < stage->n_runs; i++) {
      const LsLayerPlan *plan = stage->runs[i].plan;

      saved_ps += 2 * stage->runs[i].count *
                  (replayed_ps (plan->forward, plan->n_forward, &row, LS_PASS_FORWARD) +
                   replayed_ps (plan->backward, plan->n_backward, &row, LS_PASS_BACKWARD));
    }
    const gint64 less_ps = none_ps - step_ps (&row, 1e-3, FALSE, FALSE);
    ck_assert_int_gt (less_ps, before_ps);
    ck_assert_msg (fabs ((double) less_ps / (double) saved_ps - 1) < 0.01, "%g of %g s",
                   ls_time_s_from_ps (less_ps), ls_time_s_from_ps (saved_ps));
    before_ps = less_ps;
    ck_assert_int_eq (op_named (expert_case_block (stage), "attention")->part, LS_PART_ATTENTION);
    ck_assert_int_eq (op_named (expert_case_block (stage), "router")->part, LS_PART_ROUTER);
    ck_assert_int_eq (op_named (expert_case_block (stage), "experts_up")->part, LS_PART_REST);
  }
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_loop_test (tcase, biases_of_experts_are_added_one_by_one, 0, 3);
  tcase_add_loop_test (tcase, scaled_rotary_positions_are_not_fused, 0, 3);
  tcase_add_loop_test (tcase, clamped_activations_have_kernels_of_their_own, 0, 3);
  tcase_add_test (tcase, routers_and_rows_follow_the_software);
  tcase_add_test (tcase, experts_in_mxfp8_activate_inside_products);
  tcase_add_test (tcase, biases_slow_a_product_of_one_release);
  tcase_add_test (tcase, a_waiting_host_never_helps);
  tcase_add_test (tcase, graphs_of_parts_save_their_launches);
}

LS_TEST_MAIN ("expert_kernels", add_tests)
