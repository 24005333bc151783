/* Low-rank adapters beside frozen maps: counts, FLOPs and bytes against closed forms; runs of many layouts. */
#include <check.h>
#include <math.h>

#include "hw/nodes.h"
#include "suite.h"
#include "train/memory/memory.h"
#include "train/model/flops.h"
#include "train/run/summary.h"

#define H 512
#define F 1024
#define KV 256
#define SEQ 512
#define RANK 8
#define LAYERS 4
#define ALL_TARGETS ((1u << LS_N_LORA_TARGETS) - 1)
#define ATTENTION_ONLY (1u << LS_LORA_QKV | 1u << LS_LORA_PROJ)

/* A small Llama: grouped queries, SwiGLU, RMS norms. */
static LsModel *small_model (guint targets, gboolean dropout) {
  const LsTransformer t = {
      .layers = LAYERS,
      .hidden = H,
      .heads = 8,
      .kv_heads = 4,
      .head_dim = 64,
      .ffn = F,
      .vocab = 8192,
      .max_seq = SEQ,
      .gated = TRUE,
      .rms_norm = TRUE,
      .rotary = TRUE,
      .causal = TRUE,
      .lora = {.rank = targets > 0 ? RANK : 0, .targets = targets, .dropout = dropout}};

  return ls_model_new_transformer ("small", &t);
}

static LsWorkload *new_workload (guint targets, guint tensor, guint data, guint pipeline) {
  LsWorkload *w = ls_workload_new_default (small_model (targets, FALSE), tensor * data * pipeline);

  w->layout = ls_layout (tensor, data, pipeline);
  w->sequence_parallel = tensor > 1;
  w->global_batch = data * pipeline;
  w->seq_len = SEQ;
  ck_assert (ls_workload_resolve (w, NULL));
  return w;
}

static LsStage *stage_of (const LsWorkload *w) {
  return ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
}

/* The n-th run of blocks of a stage. */
static const LsLayerPlan *block_of (const LsStage *stage, guint n) {
  for (guint i = 0; i < stage->n_runs; i++)
    if (stage->runs[i].is_block && n-- == 0)
      return stage->runs[i].plan;
  return NULL;
}

static double matmul_flops (const LsLayerOp *ops, guint n) {
  double flops = 0;

  for (guint i = 0; i < n; i++)
    flops += ops[i].kind == LS_KIND_MATMUL ? ops[i].cost.flops : 0;
  return flops;
}

static const LsLayerOp *find (const LsLayerOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (g_str_equal (ops[i].name, name))
      return &ops[i];
  return NULL;
}

START_TEST (adapters_have_as_many_parameters_as_published)
/* r (in + out) per adapted map. Llama-2 70B, r = 16, beside qkv (8192 to 10240) and proj (8192 to 8192):
 * 80 x 16 x (18432 + 16384) = 44,564,480: MLPerf's 44.6 M. With fc1 (8192 to 57344) and fc2 (28672 to 8192):
 * 80 x 16 x 137216. What was there before is frozen. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("llama2-70b", NULL);
  const gint64 base = ls_model_parameters (model);

  ck_assert_int_eq (ls_model_trained_parameters (model), base);
  model->transformer.lora = (LsLora){.rank = 16, .targets = ATTENTION_ONLY};
  ck_assert_int_eq (ls_model_trained_parameters (model), 44564480);
  ck_assert_int_eq (ls_model_parameters (model), base + 44564480);
  model->transformer.lora.targets = ALL_TARGETS;
  ck_assert_int_eq (ls_model_trained_parameters (model), 80 * 16 * 137216);
}
END_TEST

START_TEST (training_costs_four_flops_per_frozen_weight)
/* Frozen maps have a forward pass and the gradient of their input: 4 N per token. Adapters have 6 per
 * parameter; attention's core, 4 s^2 h forward, three times as ever. */
{
  g_autoptr (LsModel) base = small_model (0, FALSE), model = small_model (1u << _i, FALSE);
  const double tokens = SEQ, core = LAYERS * 4.0 * SEQ * SEQ * H;
  const double maps = ls_model_forward_flops (base, 1, SEQ) - core; /* 2 N per token */
  const double adapters = (double) ls_model_trained_parameters (model);

  ck_assert_double_eq_tol (ls_model_training_flops (base, 1, SEQ), 3 * (maps + core), 1);
  ck_assert_double_eq_tol (ls_model_training_flops (model, 1, SEQ),
                           2 * maps + 6 * tokens * adapters + 3 * core, 1);
}
END_TEST

START_TEST (kernels_do_the_flops_of_the_closed_form)
/* The kernels that run: forward 2 T (N + A), backward 2 T N + 4 T A. In the first block of the model nothing
 * below the lowest adapter needs a gradient: the gradients of the inputs of that map, of its adapter's A and of
 * all maps before it are not made. */
{
  static const gint64 maps[] = {H * (H + 2 * KV), H * H, 2 * H * F, F * H};
  static const gint64 inputs[] = {H, H, H, F}, outputs[] = {H + 2 * KV, H, 2 * F, H};
  g_autoptr (LsWorkload) w = new_workload ((guint) _i, 1, 1, 1);
  g_autoptr (LsStage) stage = stage_of (w);
  const LsLayerPlan *first = block_of (stage, 0), *other = block_of (stage, 1);
  double all = 0, adapters = 0, spared = 0;
  gboolean above = FALSE;

  for (guint i = 0; i < LS_N_LORA_TARGETS; i++) {
    const gboolean has = (_i & 1 << i) != 0;

    all += (double) maps[i];
    adapters += has ? RANK * (double) (inputs[i] + outputs[i]) : 0;
    spared += above ? 0 : (double) maps[i] + (has ? RANK * (double) inputs[i] : 0);
    above = above || has;
  }
  ck_assert_double_eq_tol (matmul_flops (other->forward, other->n_forward),
                           2.0 * SEQ * (all + adapters), 1);
  ck_assert_double_eq_tol (matmul_flops (other->backward, other->n_backward),
                           2.0 * SEQ * all + 4.0 * SEQ * adapters, 1);
  ck_assert_double_eq_tol (matmul_flops (first->backward, first->n_backward),
                           2.0 * SEQ * (all - spared) + 4.0 * SEQ * adapters, 1);
}
END_TEST

START_TEST (nothing_is_done_for_what_is_frozen)
/* No gradients of frozen weights, no backward pass of the embedding. */
{
  g_autoptr (LsWorkload) w = new_workload (ATTENTION_ONLY, 1, 1, 1);
  g_autoptr (LsStage) stage = stage_of (w);
  const LsLayerPlan *embedding = stage->runs[0].plan;
  const LsLayerPlan *head = stage->runs[stage->n_runs - 1].plan;

  for (guint run = 0; run < stage->n_runs; run++)
    for (guint i = 0; i < stage->runs[run].plan->n_backward; i++) {
      const char *name = stage->runs[run].plan->backward[i].name;

      ck_assert_msg (!strstr (name, "weight_grad") || strstr (name, "lora"), "%s", name);
    }
  ck_assert_uint_eq (embedding->n_backward, 0);
  ck_assert_int_eq (ls_layer_plan_saved_bytes (embedding), 0);
  ck_assert_int_eq (head->parameters, 0);
  ck_assert_int_eq (stage->parameters, ls_model_trained_parameters (w->model));
  ck_assert_int_eq (stage->parameters + stage->frozen_parameters, ls_model_parameters (w->model));
}
END_TEST

START_TEST (frozen_maps_keep_no_input)
/* Kept of a block, in 16 bits and T tokens, adapters beside qkv and proj: inputs of both norms 2 h, queries, keys
 * and values q + 2 kv, attention's output q (which its backward pass and proj's A read), gate and up 2 f, the
 * input of qkv's A h, and r before each B. With dropout a mask of one byte over qkv's and proj's input, and the
 * dropped input of proj's A. Trained whole, a block keeps h of qkv, h of fc1 and f of fc2 besides. */
{
  const gint64 t = SEQ, kept = 2 * H + (H + 2 * KV) + H + 2 * F;
  g_autoptr (LsWorkload) base = new_workload (0, 1, 1, 1);
  g_autoptr (LsWorkload) w = new_workload (ATTENTION_ONLY, 1, 1, 1);
  g_autoptr (LsStage) whole = stage_of (base), stage = stage_of (w), dropped = NULL;

  ck_assert_int_eq (ls_layer_plan_saved_bytes (block_of (whole, 0)), 2 * t * (kept + 2 * H + F));
  ck_assert_int_eq (ls_layer_plan_saved_bytes (block_of (stage, 1)), 2 * t * (kept + H + 2 * RANK));
  w->model->transformer.lora.dropout = TRUE;
  dropped = stage_of (w);
  ck_assert_int_eq (ls_layer_plan_saved_bytes (block_of (dropped, 1)),
                    2 * t * (kept + H + 2 * RANK) + 2 * t * H + 2 * t * H);
}
END_TEST

START_TEST (states_are_those_of_adapters)
/* Frozen weights take their own bytes, 16 bits here or 8 or 4.5 (nvfp4: 4 bits and a scale of 8 per 16), and
 * the rest of the states is of adapters alone: gradients 4 A, master and moments 12 A / d (ZeRO-1). Norms,
 * embedding and output matrix stay in 16 bits. Stage 3 shards frozen ones as well. */
{
  static const LsFormat formats[] = {LS_FORMAT_BF16, LS_FORMAT_FP8_E4M3, LS_FORMAT_NVFP4};
  static const double sizes[] = {2, 1, 4.5 / 8};
  g_autoptr (LsWorkload) w = new_workload (ATTENTION_ONLY, 1, 4, 1);
  g_autoptr (LsStage) stage = NULL;
  LsStaticMemory memory;

  w->precision.frozen = formats[_i];
  w->zero.stage = 1;
  stage = stage_of (w);
  const gint64 maps = LAYERS * (H * (H + 2 * KV) + H * H + 3 * H * F), a = stage->parameters;
  const gint64 frozen =
      (gint64) ceil (sizes[_i] * (double) maps + 2 * (double) (stage->frozen_parameters - maps));

  ck_assert_int_eq (stage->frozen_map_parameters, maps);
  memory = ls_memory_static_stage (w, stage);
  ck_assert_int_eq (memory.frozen_bytes, frozen);
  ck_assert_int_eq (memory.parameters_bytes, frozen + 2 * a);
  ck_assert_int_eq (memory.gradients_bytes, 4 * a);
  ck_assert_int_eq (memory.optimizer_bytes, 12 * (a / 4));
  w->zero.stage = 3;
  memory = ls_memory_static_stage (w, stage);
  ck_assert_int_eq (memory.frozen_bytes, (frozen + 3) / 4);
}
END_TEST

START_TEST (narrow_weights_are_expanded_for_each_product)
/* QLoRA: weights of 8 bits under 16-bit products are read and written out before every forward product and every
 * input gradient: 4 maps in a block, each twice, (1 + 2) bytes per weight. */
{
  g_autoptr (LsWorkload) w = new_workload (ALL_TARGETS, 1, 1, 1);
  g_autoptr (LsStage) stage = NULL;
  gint64 weights = 0;
  guint n = 0;

  w->precision.frozen = LS_FORMAT_FP8_E4M3;
  stage = stage_of (w);
  const LsLayerPlan *plan = block_of (stage, 1);
  for (guint i = 0; i < plan->n_forward; i++)
    if (g_str_equal (plan->forward[i].name, "expand_weight")) {
      weights += plan->forward[i].workspace_bytes / 2;
      n++;
    }
  ck_assert_uint_eq (n, 4);
  ck_assert_int_eq (weights, H * (H + 2 * KV) + H * H + 3 * H * F);
  n = 0;
  for (guint i = 0; i < plan->n_backward; i++)
    n += g_str_equal (plan->backward[i].name, "expand_weight") ? 1 : 0;
  ck_assert_uint_eq (n, 4);
}
END_TEST

START_TEST (adapters_are_split_over_tensor_ranks)
/* t ranks hold r (in + out) / t each. With sequence parallelism: beside qkv T r is gathered forward and summed
 * backward; beside proj T r is summed and T h gathered forward, T h gathered and T r summed backward. No rank
 * gathers what it kept of qkv's input once more: nobody needs it. */
{
  const guint t = 2;
  g_autoptr (LsWorkload) w = new_workload (ATTENTION_ONLY, t, 1, 1);
  g_autoptr (LsStage) stage = stage_of (w);
  const LsLayerPlan *plan = block_of (stage, 1);
  const gint64 thin = 2 * SEQ * RANK, wide = 2 * SEQ * H;
  const struct {
    const char *name;
    gboolean forward;
    LsKind kind;
    gint64 bytes;
  } expected[] = {{"qkv_lora_sum", TRUE, LS_KIND_ALL_GATHER, thin},
                  {"proj_lora_sum", TRUE, LS_KIND_ALL_REDUCE, thin},
                  {"proj_lora_gather", TRUE, LS_KIND_ALL_GATHER, wide},
                  {"qkv_lora_sum_grad", FALSE, LS_KIND_ALL_REDUCE, thin},
                  {"proj_lora_gather_grad", FALSE, LS_KIND_ALL_GATHER, wide},
                  {"proj_lora_sum_grad", FALSE, LS_KIND_ALL_REDUCE, thin}};

  ck_assert_int_eq (t * plan->parameters, RANK * (H + H + 2 * KV + H + H));
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++) {
    const LsLayerOp *op = expected[i].forward
                              ? find (plan->forward, plan->n_forward, expected[i].name)
                              : find (plan->backward, plan->n_backward, expected[i].name);

    ck_assert_msg (op != NULL, "%s", expected[i].name);
    ck_assert_int_eq (op->kind, expected[i].kind);
    ck_assert_int_eq (op->collective_bytes, expected[i].bytes);
  }
  ck_assert_ptr_null (find (plan->backward, plan->n_backward, "gather_qkv_input"));
  ck_assert_ptr_null (find (plan->backward, plan->n_backward, "qkv_lora_reduce_grad"));
}
END_TEST

typedef struct {
  guint tensor, data, pipeline;
  int zero;
  gboolean overlap;
  LsRecomputeMode recompute;
  LsScheduleKind schedule;
  guint targets;
  LsFormat frozen;
} Case;

static const Case cases[] = {
    {1, 1, 1, 0, TRUE, LS_RECOMPUTE_NONE, LS_SCHEDULE_1F1B, ATTENTION_ONLY, LS_FORMAT_BF16},
    {1, 4, 1, 0, TRUE, LS_RECOMPUTE_NONE, LS_SCHEDULE_1F1B, ATTENTION_ONLY, LS_FORMAT_BF16},
    {1, 4, 1, 1, TRUE, LS_RECOMPUTE_FULL, LS_SCHEDULE_1F1B, ALL_TARGETS, LS_FORMAT_FP8_E4M3},
    {1, 4, 1, 1, FALSE, LS_RECOMPUTE_NONE, LS_SCHEDULE_1F1B, 1u << LS_LORA_FC2, LS_FORMAT_BF16},
    {1, 4, 1, 2, TRUE, LS_RECOMPUTE_SELECTIVE, LS_SCHEDULE_1F1B, ALL_TARGETS, LS_FORMAT_BF16},
    {1, 4, 1, 3, TRUE, LS_RECOMPUTE_FULL, LS_SCHEDULE_1F1B, ATTENTION_ONLY, LS_FORMAT_BF16},
    {1, 4, 1, 3, FALSE, LS_RECOMPUTE_NONE, LS_SCHEDULE_1F1B, ALL_TARGETS, LS_FORMAT_FP8_E4M3},
    {2, 2, 1, 1, TRUE, LS_RECOMPUTE_NONE, LS_SCHEDULE_1F1B, ALL_TARGETS, LS_FORMAT_BF16},
    {2, 1, 2, 1, TRUE, LS_RECOMPUTE_FULL, LS_SCHEDULE_1F1B, ATTENTION_ONLY, LS_FORMAT_BF16},
    {1, 2, 2, 0, TRUE, LS_RECOMPUTE_NONE, LS_SCHEDULE_GPIPE, ALL_TARGETS, LS_FORMAT_BF16},
    {1, 2, 2, 1, TRUE, LS_RECOMPUTE_NONE, LS_SCHEDULE_ZB_H1, ATTENTION_ONLY, LS_FORMAT_BF16},
    {1, 2, 2, 1, TRUE, LS_RECOMPUTE_NONE, LS_SCHEDULE_ZB_V, ALL_TARGETS, LS_FORMAT_BF16},
};

START_TEST (fused_adapters_have_no_passes_but_products_read_what_they_add_to)
/* B's product of T x o, in 16 bits, reads T o more; A's input gradient T i more; scale and sums are gone. */
{
  g_autoptr (LsWorkload) plain = new_workload (ATTENTION_ONLY, 1, 1, 1);
  g_autoptr (LsWorkload) fused = new_workload (ATTENTION_ONLY, 1, 1, 1);
  g_autoptr (LsStage) before = NULL, after = NULL;
  const char *const gone[] = {"qkv_lora_scale", "qkv_lora_add", "proj_lora_scale", "proj_lora_add"};
  const char *const gone_back[] = {"proj_lora_scale_grad", "proj_lora_add_grad"};

  fused->model->transformer.lora.fused = TRUE;
  before = stage_of (plain);
  after = stage_of (fused);
  const LsLayerPlan *p = block_of (before, 1), *f = block_of (after, 1);

  for (guint i = 0; i < G_N_ELEMENTS (gone); i++) {
    ck_assert_ptr_nonnull (find (p->forward, p->n_forward, gone[i]));
    ck_assert_ptr_null (find (f->forward, f->n_forward, gone[i]));
  }
  for (guint i = 0; i < G_N_ELEMENTS (gone_back); i++) {
    ck_assert_ptr_nonnull (find (p->backward, p->n_backward, gone_back[i]));
    ck_assert_ptr_null (find (f->backward, f->n_backward, gone_back[i]));
  }
  ck_assert_int_eq (find (f->forward, f->n_forward, "qkv_lora_out")->cost.bytes -
                        find (p->forward, p->n_forward, "qkv_lora_out")->cost.bytes,
                    2 * SEQ * (H + 2 * KV));
  ck_assert_int_eq (find (f->backward, f->n_backward, "proj_lora_in_grad")->cost.bytes -
                        find (p->backward, p->n_backward, "proj_lora_in_grad")->cost.bytes,
                    2 * SEQ * H);
}
END_TEST

START_TEST (ledger_peak_is_what_the_model_says)
/* Runs end, and what they hold at most is what the static model says, which is an upper bound: 0 to + 5 %. */
{
  const Case *c = &cases[_i];
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};
  g_autoptr (LsWorkload) w = new_workload (c->targets, c->tensor, c->data, c->pipeline);
  g_autoptr (LsCluster) cluster = NULL;
  g_autoptr (LsJob) job = NULL;
  g_autoptr (LsSimulation) simulation = NULL;
  g_autoptr (LsSummary) summary = NULL;
  const LsAccelerator *gpu[2] = {ls_accelerator_find ("h100-sxm-80gb", NULL)};
  LsMemoryEstimate estimate;

  gpu[1] = gpu[0];
  ls_node_spec_from_preset (&group.node, ls_node_find ("dgx-h100", NULL));
  group.node.n_nic_sets = 0;
  cluster = ls_cluster_new_from (&group, 1, NULL, 0, NULL);
  w->zero.stage = c->zero;
  w->zero.overlap = c->overlap;
  w->recompute.mode = c->recompute;
  w->schedule = c->schedule;
  w->precision.frozen = c->frozen;
  w->model->transformer.lora.dropout = TRUE;
  g_clear_pointer (&w->layers_per_stage, g_free);
  w->global_batch = 4 * c->data * c->pipeline;
  w->steps = 2;
  ck_assert (ls_workload_resolve (w, NULL));
  ls_memory_fullest (w, gpu, &estimate);
  job = ls_job_build (w, cluster, NULL);
  ck_assert_ptr_nonnull (job);
  simulation = ls_simulation_new (cluster, w, job, 1);
  ck_assert (ls_simulation_run (simulation, NULL, NULL));
  summary = ls_summary_new (simulation);
  const double ratio = (double) estimate.allocated_bytes / (double) summary->memory.peak_bytes;
  ck_assert_msg (ratio >= 1 && ratio <= 1.05, "model / ledger = %.4f", ratio);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, adapters_have_as_many_parameters_as_published);
  tcase_add_loop_test (tcase, training_costs_four_flops_per_frozen_weight, 0, LS_N_LORA_TARGETS);
  tcase_add_loop_test (tcase, kernels_do_the_flops_of_the_closed_form, 1, ALL_TARGETS + 1);
  tcase_add_test (tcase, nothing_is_done_for_what_is_frozen);
  tcase_add_test (tcase, frozen_maps_keep_no_input);
  tcase_add_loop_test (tcase, states_are_those_of_adapters, 0, 3);
  tcase_add_test (tcase, narrow_weights_are_expanded_for_each_product);
  tcase_add_test (tcase, adapters_are_split_over_tensor_ranks);
  tcase_add_test (tcase, fused_adapters_have_no_passes_but_products_read_what_they_add_to);
  tcase_add_loop_test (tcase, ledger_peak_is_what_the_model_says, 0, G_N_ELEMENTS (cases));
}

LS_TEST_MAIN ("lora", add_tests)
