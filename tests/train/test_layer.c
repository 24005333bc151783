/* Layers: saved bytes against Korthikanti's formulas, collectives where Megatron has them. */
#include <check.h>
#include <math.h>

#include "train/layer/stage.h"

/* b = 2 samples of s tokens; sizes of Megatron's 22B model (Korthikanti et al. 2022, table 3). */
#define B 2
#define S 2048
#define H 6144
#define A 64

typedef struct {
  const char *model;
  guint tensor;
  gboolean sequence_parallel;
  LsAttention attention;
} Case;

static LsWorkload *workload_for (const Case *c) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset (c->model, NULL), c->tensor);

  workload->layout = ls_layout (c->tensor, 1, 1);
  workload->micro_batch = workload->global_batch = B;
  workload->seq_len = S;
  workload->sequence_parallel = c->sequence_parallel;
  workload->attention = c->attention;
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

/* The run of blocks of a one-stage workload; the stage stays the caller's. */
static const LsLayerPlan *block (const LsStage *stage) {
  for (guint r = 0; r < stage->n_runs; r++)
    if (stage->runs[r].is_block)
      return stage->runs[r].plan;
  return NULL;
}

START_TEST (gpt_saves_what_korthikanti_says)
/* Bytes per layer and micro-batch, 16 bit: t tensor ranks: s b h (10 + 24/t + 5 a s/(h t)) (eq. 2; t = 1
 * gives 34 + 5as/h, eq. 1); with sequence parallelism s b h / t (34 + 5 a s / h) (eq. 4); with selective
 * recompute, or a flash kernel, the term in a s goes: 34 s b h / t. Integers, exact. */
{
  static const Case cases[] = {
      {"gpt-22b", 1, FALSE, LS_ATTENTION_FUSED_SOFTMAX},
      {"gpt-22b", 8, FALSE, LS_ATTENTION_UNFUSED},
      {"gpt-22b", 8, TRUE, LS_ATTENTION_FUSED_SOFTMAX},
      {"gpt-22b", 4, TRUE, LS_ATTENTION_FLASH2},
      {"gpt-22b", 4, FALSE, LS_ATTENTION_FLASH2},
  };
  const Case *c = &cases[_i];
  const gint64 t = c->tensor, sbh = (gint64) S * B * H, core = 5 * (gint64) A * S * S * B / t;
  const gboolean flash = ls_attention_is_flash (c->attention);
  g_autoptr (LsWorkload) workload = workload_for (c);
  g_autoptr (LsStage) stage =
      ls_stage_new (workload, 0, ls_accelerator_find ("a100-sxm-80gb", NULL));
  const gint64 saved = ls_layer_plan_saved_bytes (block (stage));
  const gint64 saved_core = ls_layer_plan_saved_core_bytes (block (stage));
  const gint64 rest = c->sequence_parallel ? 34 * sbh / t : 10 * sbh + 24 * sbh / t;

  ck_assert_int_eq (saved_core, flash ? 0 : core);
  ck_assert_int_eq (saved, rest + (flash ? 0 : core));
  ck_assert_int_eq (block (stage)->input_bytes, 2 * sbh / (c->sequence_parallel ? t : 1));
}
END_TEST

START_TEST (llama_saves_the_sum_of_its_tensors)
/* No dropout, no biases. In elements per token, q = h, kv = h/8, f = 3.5 h (llama2-70b), fused SwiGLU,
 * flash: norm inputs 2 h, qkv input h, q + 2 kv = 1.25 h, projection input h, up input h, gate and up
 * 2 f, down input f: (6.25 + 10.5) h = 16.75 h; sequence parallelism splits all of it. */
{
  const Case c = {"llama2-70b", 8, TRUE, LS_ATTENTION_FLASH3};
  g_autoptr (LsWorkload) workload = workload_for (&c);
  g_autoptr (LsStage) stage =
      ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  const gint64 elements = (gint64) B * S * 8192 / 8 * 67 / 4;

  ck_assert_int_eq (ls_layer_plan_saved_bytes (block (stage)), 2 * elements);
}
END_TEST

START_TEST (softmax_without_dropout_is_kept_once)
/* Without dropout the same tensor serves the softmax's backward and the weighting's: 2 a s^2 b bytes. */
{
  const Case c = {"llama2-7b", 1, FALSE, LS_ATTENTION_FUSED_SOFTMAX};
  g_autoptr (LsWorkload) workload = workload_for (&c);
  g_autoptr (LsStage) stage =
      ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));

  ck_assert_int_eq (ls_layer_plan_saved_core_bytes (block (stage)), 2 * (gint64) 32 * S * S * B);
}
END_TEST

START_TEST (logits_are_kept_as_the_loss_needs_them)
/* Head: norm input and matrix input 2 x 2 s b h, logits 2 s b V and their softmax 4 s b V; the 16-bit gradient
 * 2 s b V is the workspace of the loss's backward. Not fused: an fp32 copy of the logits besides, while the
 * loss runs. flash-attention's loss (llm-foundry): nothing in fp32. V split over t. */
{
  static const struct {
    const char *software;
    gint64 kept, workspace;
  } rows[] = {{"generic", 6, 0}, {"megatron-2021", 6, 4}, {"pytorch-fsdp-2.1", 2, 0}};
  const Case c = {"llama2-7b", 2, FALSE, LS_ATTENTION_FLASH2};
  g_autoptr (LsWorkload) workload = workload_for (&c);
  g_autoptr (LsStage) stage = NULL;
  const gint64 logits = (gint64) B * S * 32000 / 2, wide = (gint64) B * S * 4096;
  const LsLayerPlan *head = NULL;

  workload->software = ls_software_find (rows[_i].software, NULL);
  stage = ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  head = stage->runs[stage->n_runs - 1].plan;
  ck_assert_str_eq (head->name, "head");
  ck_assert_int_eq (ls_layer_plan_saved_bytes (head), 4 * wide + rows[_i].kept * logits);
  for (guint i = 0; i < head->n_forward; i++)
    if (head->forward[i].kind == LS_KIND_LOSS)
      ck_assert_int_eq (head->forward[i].workspace_bytes, rows[_i].workspace * logits);
  ck_assert_str_eq (head->backward[0].name, "loss_grad");
  ck_assert_int_eq (head->backward[0].workspace_bytes, 2 * logits);
}
END_TEST

static guint count (const LsLayerOp *ops, guint n, LsCollectiveOp op, gint64 bytes) {
  guint found = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].is_collective && ops[i].collective == op && ops[i].collective_bytes == bytes)
      found++;
  return found;
}

START_TEST (collectives_of_a_block_are_megatrons)
/* Tensor parallel: 2 all-reduces of 2 s b h bytes forward and 2 backward (Shoeybi et al., figure 4). With
 * sequence parallelism 2 all-gathers and 2 reduce-scatters forward; backward 2 gathers of gradients, 2 of
 * kept inputs, 2 reduce-scatters (Korthikanti et al., section 4.2.2). One rank: none. */
{
  static const Case cases[] = {
      {"gpt-22b", 1, FALSE, LS_ATTENTION_FUSED_SOFTMAX},
      {"gpt-22b", 8, FALSE, LS_ATTENTION_FUSED_SOFTMAX},
      {"gpt-22b", 8, TRUE, LS_ATTENTION_FUSED_SOFTMAX},
  };
  static const guint expected[3][6] = {{0, 0, 0, 0, 0, 0}, {2, 0, 0, 2, 0, 0}, {0, 2, 2, 0, 4, 2}};
  static const LsCollectiveOp ops[] = {LS_COLLECTIVE_ALL_REDUCE, LS_COLLECTIVE_ALL_GATHER,
                                       LS_COLLECTIVE_REDUCE_SCATTER};
  g_autoptr (LsWorkload) workload = workload_for (&cases[_i]);
  g_autoptr (LsStage) stage =
      ls_stage_new (workload, 0, ls_accelerator_find ("a100-sxm-80gb", NULL));
  const LsLayerPlan *plan = block (stage);
  const gint64 bytes = 2 * (gint64) S * B * H;

  for (guint i = 0; i < 3; i++) {
    ck_assert_uint_eq (count (plan->forward, plan->n_forward, ops[i], bytes), expected[_i][i]);
    ck_assert_uint_eq (count (plan->backward, plan->n_backward, ops[i], bytes),
                       expected[_i][3 + i]);
  }
}
END_TEST

/* Bytes of the operations of that name. */
static gint64 moved (const LsLayerOp *ops, guint n, const char *name) {
  gint64 bytes = 0;

  for (guint i = 0; i < n; i++)
    if (g_strcmp0 (ops[i].name, name) == 0)
      bytes += ops[i].cost.bytes;
  return bytes;
}

START_TEST (small_kernels_are_megatrons)
/* What Megatron-LM of 2021 runs beside its products, in bytes per token, 16 bits, h of hidden size on t ranks: the bias of
 * queries, keys and values is added in place of 3 h / t (4 bytes each), the context copied (h / t), a dropout's mask is a
 * byte; backward the biases' gradients are sums (read once), and those of queries and keys are scaled (4 bytes) and joined
 * with the values' (3 h / t, 4 bytes). Without the masks 25 h / t + 2 h values. With TransformerEngine the bias is part
 * of its product, forward and backward, and flash attention copies nothing. Sources: sim/train/layer/layer_transformer.c. */
{
  const gint64 t = 4, token = (gint64) B * S, wide = token * H, slim = wide / t;
  const struct {
    const char *name;
    gboolean backward;
    gint64 megatron_2021, megatron_core;
  } kernels[] = {
      {"qkv_bias", FALSE, 12 * slim, 0},
      {"context_copy", FALSE, 4 * slim, 0},
      {"attention_add", FALSE, 7 * wide, 7 * wide},
      {"mlp_dropout_grad", TRUE, 5 * wide, 5 * wide},
      {"mlp_down_bias_grad", TRUE, 2 * wide, 2 * wide},
      {"up_bias_grad", TRUE, 8 * slim, 8 * slim},
      {"projection_bias_grad", TRUE, 2 * wide, 2 * wide},
      {"scale_query_grad", TRUE, 4 * slim, 0},
      {"scale_key_grad", TRUE, 4 * slim, 0},
      {"join_qkv_grad", TRUE, 12 * slim, 0},
      {"qkv_bias_grad", TRUE, 6 * slim, 0},
  };
  const gboolean core = _i == 1;
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt-22b", NULL), (guint) t);

  workload->software = ls_software_find (core ? "megatron-core" : "megatron-2021", NULL);
  workload->layout = ls_layout ((guint) t, 1, 1);
  workload->micro_batch = workload->global_batch = B;
  workload->seq_len = S;
  workload->attention = core ? LS_ATTENTION_FLASH2 : LS_ATTENTION_FUSED_SOFTMAX;
  ck_assert (ls_workload_resolve (workload, NULL));
  g_autoptr (LsStage) stage =
      ls_stage_new (workload, 0, ls_accelerator_find ("a100-sxm-80gb", NULL));
  const LsLayerPlan *plan = block (stage);
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    ck_assert_msg (moved (kernels[i].backward ? plan->backward : plan->forward,
                          kernels[i].backward ? plan->n_backward : plan->n_forward,
                          kernels[i].name) ==
                       (core ? kernels[i].megatron_core : kernels[i].megatron_2021),
                   "%s", kernels[i].name);
  /* Four of norms and four of biases, added to gradients in fp32. */
  const LsLayerOp *last = &plan->backward[plan->n_backward - 1];
  ck_assert_str_eq (last->name, "accumulate_vectors");
  ck_assert_int_eq (last->cost.kernels, 8);
}
END_TEST

START_TEST (parameters_of_the_ranks_add_up)
/* t ranks hold the model's parameters, plus t - 1 more copies of norms and of the biases of
 * row-parallel maps: l (2 x 2h + 2h) + 2h for GPT, and of the positions. */
{
  const Case c = {"gpt-22b", 8, FALSE, LS_ATTENTION_FUSED_SOFTMAX};
  g_autoptr (LsWorkload) workload = workload_for (&c);
  g_autoptr (LsStage) stage =
      ls_stage_new (workload, 0, ls_accelerator_find ("a100-sxm-80gb", NULL));
  const gint64 copied = 48 * 6 * H + 2 * H + 2048 * (gint64) H;

  ck_assert_int_eq (8 * stage->parameters - 7 * copied, ls_model_parameters (workload->model));
}
END_TEST

START_TEST (stages_add_up)
/* Pipeline 4: blocks dealt evenly; the embedding matrix is on the first and, tied, on the last stage, and
 * its gradients are summed over the two. The boundary is 2 s b h, sent in t parts and gathered. */
{
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt-22b", NULL), 8);
  const LsAccelerator *gpu = ls_accelerator_find ("a100-sxm-80gb", NULL);
  gint64 parameters = 0;

  workload->layout = ls_layout (2, 1, 4);
  workload->global_batch = 8;
  ck_assert (ls_workload_resolve (workload, NULL));
  for (guint i = 0; i < 4; i++) {
    g_autoptr (LsStage) stage = ls_stage_new (workload, i, gpu);
    const gboolean ends = i == 0 || i == 3;

    ck_assert_uint_eq (workload->layers_per_stage[i], 12);
    ck_assert_int_eq (stage->boundary_gather_bytes, 2 * (gint64) S * H);
    ck_assert_int_eq (stage->boundary_bytes, (gint64) S * H);
    ck_assert_int_eq (stage->embedding_gradient_elements, ends ? 25600 * (gint64) H : 0);
    parameters += stage->parameters;
  }
  ck_assert_int_eq (2 * parameters - (48 * 6 * H + 2 * H + 2048 * (gint64) H) - 51200 * (gint64) H,
                    ls_model_parameters (workload->model));
}
END_TEST

START_TEST (every_operation_costs_something)
/* Over all presets on one GPU: kernels take time, collectives carry bytes, nothing is negative. */
{
  g_autoptr (LsWorkload) workload = ls_workload_new_default (
      ls_model_new_preset (ls_model_preset_get ((guint) _i)->name, NULL), 1);
  g_autoptr (LsStage) stage = NULL;

  workload->seq_len = MIN (workload->seq_len, 2048);
  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, ls_accelerator_find ("v100-sxm-32gb", NULL));
  for (guint r = 0; r < stage->n_runs; r++) {
    const LsLayerPlan *plan = stage->runs[r].plan;

    ck_assert_uint_gt (plan->n_forward, 0);
    ck_assert_uint_gt (plan->n_backward, 0);
    for (guint i = 0; i < plan->n_forward + plan->n_backward; i++) {
      const LsLayerOp *op =
          i < plan->n_forward ? &plan->forward[i] : &plan->backward[i - plan->n_forward];

      ck_assert_int_gt (op->is_collective ? op->collective_bytes : op->cost.alone_ps, 0);
      ck_assert (!op->cost.overflow);
      ck_assert_int_ge (op->saved_bytes, 0);
      ck_assert_int_ge (op->workspace_bytes, 0);
    }
  }
}
END_TEST

/* Bytes that the operations of one name move, in the backward pass or the forward one. */
static gint64 bytes_of (const LsLayerPlan *plan, const char *name, gboolean backward) {
  const LsLayerOp *ops = backward ? plan->backward : plan->forward;
  gint64 bytes = 0;

  for (guint i = 0; i < (backward ? plan->n_backward : plan->n_forward); i++)
    bytes += g_str_equal (ops[i].name, name) ? ops[i].cost.bytes : 0;
  return bytes;
}

START_TEST (torchtitan_moves_what_its_operations_do)
/* Llama-3 8B: T tokens of h = 4096, keys of 1024, in 16 bits. Eager, operation by operation (kernel_layers.c,
 * layer_transformer.c): norms 18 and 46 passes of T h, rotary 10 of queries and keys, the gate's gradient two products of
 * 3. Keys and values are written for each head of the queries, gradients of three and of two maps' input added up. */
{
  const gint64 t = (gint64) B * S, h = 4096, kv = 1024, f = 14336;
  const gboolean eager = _i == 0;
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("llama3-8b", NULL), 1);

  workload->software = ls_software_find (eager ? "pytorch-fsdp2-eager" : "pytorch-fsdp2", NULL);
  workload->layout = ls_layout (1, 1, 1);
  workload->micro_batch = workload->global_batch = B;
  workload->seq_len = S;
  ck_assert (ls_workload_resolve (workload, NULL));
  g_autoptr (LsStage) stage =
      ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-96gb", NULL));
  const LsLayerPlan *plan = block (stage);

  ck_assert_int_eq (bytes_of (plan, "norm1", FALSE), 2 * t * h * (eager ? 18 : 2));
  ck_assert_int_eq (bytes_of (plan, "norm1_grad", TRUE), 2 * t * h * (eager ? 46 : 5));
  ck_assert_int_eq (bytes_of (plan, "rotary", FALSE), 2 * t * (h + kv) * (eager ? 10 : 2));
  ck_assert_int_eq (bytes_of (plan, "rotary_grad", TRUE), 2 * t * (h + kv) * (eager ? 10 : 2));
  ck_assert_int_eq (bytes_of (plan, "repeat_keys", FALSE), 4 * t * (eager ? h + kv : h));
  ck_assert_int_eq (bytes_of (plan, "sum_repeated_keys", TRUE), 4 * t * (eager ? h + kv : h));
  ck_assert_int_eq (bytes_of (plan, "sum_input_grads", TRUE), 2 * t * h * (eager ? 9 : 3));
  ck_assert_int_eq (bytes_of (plan, eager ? "gate_grad" : "swiglu_grad", TRUE),
                    2 * t * f * (eager ? 6 : 5));
}
END_TEST

START_TEST (maps_apart_do_the_same_work)
/* A product for each of three and of two maps: the FLOPs of one, a kernel more each (narrow ones may split their depth). */
{
  static const char *const names[] = {"pytorch-fsdp2", "megatron-core"};
  double flops[2] = {0, 0};
  int kernels[2] = {0, 0};

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    g_autoptr (LsWorkload) workload =
        ls_workload_new_default (ls_model_new_preset ("llama3-8b", NULL), 1);

    workload->software = ls_software_find (names[i], NULL);
    workload->layout = ls_layout (1, 1, 1);
    ck_assert (ls_workload_resolve (workload, NULL));
    g_autoptr (LsStage) stage =
        ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-96gb", NULL));
    const LsLayerPlan *plan = block (stage);

    for (guint k = 0; k < plan->n_forward; k++)
      if (plan->forward[k].kind == LS_KIND_MATMUL) {
        flops[i] += plan->forward[k].cost.flops;
        kernels[i] += plan->forward[k].cost.kernels;
      }
    for (guint k = 0; k < plan->n_backward; k++)
      if (plan->backward[k].kind == LS_KIND_MATMUL) {
        flops[i] += plan->backward[k].cost.flops;
        kernels[i] += plan->backward[k].cost.kernels;
      }
  }
  ck_assert (flops[0] > 0 && flops[0] == flops[1]);
  ck_assert_int_ge (kernels[0], kernels[1] + 3 * (2 + 1));
}
END_TEST

START_TEST (resnet_50_saves_known_tensors)
/* Per sample in 16 bits, elements kept: stem convolution input 3 x 224^2, its norm's input and the pool's
 * input 64 x 112^2 each, and 8 bytes per output of the pool 64 x 56^2; the first bottleneck: its input 64 x 56^2
 * once for conv1 and projection, and six more tensors. */
{
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("resnet-50", NULL), 1);
  g_autoptr (LsStage) stage = NULL;
  const gint64 n = 56 * 56;

  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, ls_accelerator_find ("v100-sxm-32gb", NULL));
  ck_assert_int_eq (ls_layer_plan_saved_bytes (stage->runs[0].plan),
                    2 * (3 * 224 * 224 + 2 * 64 * 112 * 112) + 8 * 64 * n);
  /* conv1 in 64, norm 64, conv2 in 64, norm 64, conv3 in 64, norm 256, projection's norm 256. */
  ck_assert_int_eq (ls_layer_plan_saved_bytes (stage->runs[1].plan), 2 * n * (5 * 64 + 2 * 256));
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("layer");
  TCase *tcase = tcase_create ("layer");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_add_loop_test (tcase, gpt_saves_what_korthikanti_says, 0, 5);
  tcase_add_test (tcase, llama_saves_the_sum_of_its_tensors);
  tcase_add_test (tcase, softmax_without_dropout_is_kept_once);
  tcase_add_loop_test (tcase, logits_are_kept_as_the_loss_needs_them, 0, 3);
  tcase_add_loop_test (tcase, collectives_of_a_block_are_megatrons, 0, 3);
  tcase_add_loop_test (tcase, small_kernels_are_megatrons, 0, 2);
  tcase_add_test (tcase, parameters_of_the_ranks_add_up);
  tcase_add_test (tcase, stages_add_up);
  tcase_add_loop_test (tcase, every_operation_costs_something, 0, (int) ls_model_preset_count ());
  tcase_add_loop_test (tcase, torchtitan_moves_what_its_operations_do, 0, 2);
  tcase_add_test (tcase, maps_apart_do_the_same_work);
  tcase_add_test (tcase, resnet_50_saves_known_tensors);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
