/* Memory: ZeRO's and Korthikanti's figures, recomputation on chains and blocks, measured peaks. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "train/layer/layer_plans.h"
#include "train/memory/gathered_bytes.h"
#include "train/memory/memory.h"
#include "train/memory/memory_walk.h"
#include "train/pipeline/pipeline.h"

#define CLOSE(a, b, tolerance)                                                           \
  ck_assert_msg (fabs ((double) (a) - (double) (b)) <= (tolerance) *fabs ((double) (b)), \
                 "%.17g is not %.17g", (double) (a), (double) (b))
#define GIB(x) ((double) (x) *1073741824.0)

static const LsAccelerator *gpu (const char *name) {
  const LsAccelerator *accelerator = ls_accelerator_find (name, NULL);

  ck_assert_ptr_nonnull (accelerator);
  return accelerator;
}

START_TEST (zero_states_of_a_7_5b_model_on_64_ranks)
/* Rajbhandari et al. 2019, table 1: 120, 31.4, 16.6 and 1.88 GB with 16-bit gradients; formulas 16 Psi,
 * 4 Psi + 12 Psi/N, 2 Psi + 14 Psi/N, 16 Psi/N. Tolerance: half of the last printed digit. */
{
  static const double published_gb[] = {120, 31.4, 16.6, 1.88};
  static const double tolerance_gb[] = {0.5, 0.05, 0.05, 0.005};
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt-7.5b", NULL), 64);
  LsStaticMemory states;
  double gb = 0;

  workload->precision.gradients = LS_FORMAT_BF16;
  workload->zero.stage = _i;
  ck_assert (ls_workload_resolve (workload, NULL));
  states = ls_memory_static (workload, G_GINT64_CONSTANT (7500000000));
  gb = (double) (states.parameters_bytes + states.gradients_bytes + states.optimizer_bytes) / 1e9;
  ck_assert_msg (fabs (gb - published_gb[_i]) <= tolerance_gb[_i], "stage %d: %.3f GB", _i, gb);
}
END_TEST

START_TEST (zero_states_of_every_size)
/* Every stage on d = 1, 2, 4, ..., 1024 ranks, 16-bit parameters and gradients with Adam (K = 12), SGD with momentum
 * (K = 8) and SGD (K = 4): (2 + 2 + K) P; 4 P + K P/d; 2 P + (2 + K) P/d; (4 + K) P/d, a shard rounded up to whole
 * parameters. Rajbhandari et al. 2019, section 5. P is no multiple of d. Exact. */
{
  static const struct {
    LsOptimizer optimizer;
    gint64 k;
  } cases[] = {{{.kind = LS_OPTIMIZER_ADAM}, 12},
               {{.kind = LS_OPTIMIZER_SGD, .momentum = 0.9}, 8},
               {{.kind = LS_OPTIMIZER_SGD}, 4}};
  const gint64 p = G_GINT64_CONSTANT (7500000001), k = cases[_i].k;

  for (guint d = 1; d <= 1024; d *= 2) {
    const gint64 own = (p + d - 1) / d;
    const gint64 laws[] = {(4 + k) * p, 4 * p + k * own, 2 * p + (2 + k) * own, (4 + k) * own};
    g_autoptr (LsWorkload) workload =
        ls_workload_new_default (ls_model_new_preset ("gpt-7.5b", NULL), d);

    workload->precision.gradients = LS_FORMAT_BF16;
    workload->optimizer = cases[_i].optimizer;
    ck_assert (ls_workload_resolve (workload, NULL));
    for (int stage = 0; stage <= 3; stage++) {
      workload->zero.stage = stage;
      const LsStaticMemory states = ls_memory_static (workload, p);

      ck_assert_int_eq (states.parameters_bytes + states.gradients_bytes + states.optimizer_bytes,
                        laws[stage]);
    }
  }
}
END_TEST

START_TEST (bytes_per_parameter_of_the_common_presets)
/* 16: ZeRO's mixed precision; 18: fp32 gradients (Korthikanti et al.); 6 + 12/d: Megatron's distributed
 * optimizer with d = 8; fp32 Adam 16; fp32 SGD with momentum 12, without 8. Exact. */
{
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt-7.5b", NULL), 8);
  LsStaticMemory states;

  ck_assert (ls_workload_resolve (workload, NULL));
  ck_assert_double_eq (ls_memory_bytes_per_parameter (workload), 18);
  workload->zero.stage = 1;
  states = ls_memory_static (workload, 8000);
  ck_assert_int_eq (states.parameters_bytes + states.gradients_bytes, 6 * 8000);
  ck_assert_int_eq (states.optimizer_bytes, 12 * 1000);
  workload->precision.gradients = LS_FORMAT_BF16;
  ck_assert_double_eq (ls_memory_bytes_per_parameter (workload), 16);
  workload->precision = (LsPrecision){.compute = LS_FORMAT_FP32,
                                      .parameters = LS_FORMAT_FP32,
                                      .gradients = LS_FORMAT_FP32,
                                      .optimizer = LS_FORMAT_FP32,
                                      .communication = LS_FORMAT_FP32};
  ck_assert_double_eq (ls_memory_bytes_per_parameter (workload), 16);
  workload->optimizer = (LsOptimizer){.kind = LS_OPTIMIZER_SGD, .momentum = 0.9};
  ck_assert_double_eq (ls_memory_bytes_per_parameter (workload), 12);
  workload->optimizer.momentum = 0;
  ck_assert_double_eq (ls_memory_bytes_per_parameter (workload), 8);
}
END_TEST

START_TEST (korthikantis_figure_1)
/* Activations per GPU of the first stage in GiB, all micro-batches in flight: Korthikanti et al. 2022,
 * figure 1 (figures as in Calculon's validation at caa4b11): 22B on 8 GPUs, micro-batch 4: 59.25 with tensor
 * parallelism alone, 9.5625 with sequence parallelism and selective recompute; 1T on 512: 131.25 and
 * 26.5625. Blocks only, as the paper counts; exact (multiples of 2^-4 GiB). */
{
  static const struct {
    const char *model;
    guint pipeline;
    gint64 micro;
    gboolean improved;
    double gib;
  } rows[] = {{"gpt-22b", 1, 4, FALSE, 59.25},
              {"gpt-22b", 1, 4, TRUE, 9.5625},
              {"gpt-1008b", 64, 1, FALSE, 131.25},
              {"gpt-1008b", 64, 1, TRUE, 26.5625}};
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset (rows[_i].model, NULL), 8 * rows[_i].pipeline);
  g_autoptr (LsStage) stage = NULL;
  LsMemoryWalk all, ends;

  workload->layout = ls_layout (8, 1, rows[_i].pipeline);
  workload->micro_batch = rows[_i].micro;
  workload->global_batch = 512;
  workload->attention = LS_ATTENTION_FUSED_SOFTMAX;
  workload->sequence_parallel = rows[_i].improved;
  workload->recompute.mode = rows[_i].improved ? LS_RECOMPUTE_SELECTIVE : LS_RECOMPUTE_NONE;
  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, gpu ("a100-sxm-80gb"));
  ls_memory_walk (stage, &workload->recompute, NULL, &all);
  /* Embedding and head by themselves: the same stage without its blocks. */
  stage->runs[1].count = 0;
  ls_memory_walk (stage, &workload->recompute, NULL, &ends);
  ck_assert_double_eq ((double) ((all.kept - ends.kept) *
                                 MIN ((gint64) workload->layout.pipeline, workload->microbatches)) /
                           GIB (1),
                       rows[_i].gib);
}
END_TEST

START_TEST (korthikantis_figure_7)
/* Activations of a layer in per cent of those with tensor parallelism alone: Korthikanti et al. 2022, figure 7 (figures
 * as in Calculon's validation at caa4b11), 22B and 530B on 8 tensor ranks: sequence parallelism, selective recompute,
 * both, full recompute. The paper's bars count some bytes more than its formulas: 0.15 points. */
{
  static const struct {
    const char *model;
    gboolean sequence;
    LsRecomputeMode mode;
    double percent;
  } rows[] = {{"gpt-22b", TRUE, LS_RECOMPUTE_NONE, 66.84},
              {"gpt-22b", FALSE, LS_RECOMPUTE_SELECTIVE, 49.42},
              {"gpt-22b", TRUE, LS_RECOMPUTE_SELECTIVE, 16.18},
              {"gpt-22b", FALSE, LS_RECOMPUTE_FULL, 7.64},
              {"gpt-529.6b", TRUE, LS_RECOMPUTE_NONE, 58.31},
              {"gpt-529.6b", FALSE, LS_RECOMPUTE_SELECTIVE, 62.04},
              {"gpt-529.6b", TRUE, LS_RECOMPUTE_SELECTIVE, 20.27},
              {"gpt-529.6b", FALSE, LS_RECOMPUTE_FULL, 9.42}};
  gint64 kept[2];

  for (guint i = 0; i < 2; i++) {
    LsModel *model = ls_model_new_preset (rows[_i].model, NULL);
    g_autoptr (LsWorkload) workload = NULL;
    g_autoptr (LsStage) stage = NULL;
    LsMemoryWalk all, ends;

    model->transformer.layers = 8;
    workload = ls_workload_new_default (model, 8);
    workload->layout = ls_layout (8, 1, 1);
    workload->attention = LS_ATTENTION_FUSED_SOFTMAX;
    workload->sequence_parallel = i > 0 && rows[_i].sequence;
    workload->recompute.mode = i > 0 ? rows[_i].mode : LS_RECOMPUTE_NONE;
    workload->seq_len = 2048;
    ck_assert (ls_workload_resolve (workload, NULL));
    stage = ls_stage_new (workload, 0, gpu ("a100-sxm-80gb"));
    ls_memory_walk (stage, &workload->recompute, NULL, &all);
    stage->runs[1].count = 0;
    ls_memory_walk (stage, &workload->recompute, NULL, &ends);
    kept[i] = all.kept - ends.kept;
  }
  ck_assert_double_eq_tol (100 * (double) kept[1] / (double) kept[0], rows[_i].percent, 0.15);
}
END_TEST

/* A stage of n equal layers that save `inside` in one operation and keep `input` when recomputed. */
static LsStage *synthetic_stage (guint n, gint64 input, gint64 inside) {
  LsStage *stage = g_new0 (LsStage, 1);
  LsLayerPlan *plan = g_new0 (LsLayerPlan, 1);

  plan->name = g_strdup ("layer");
  plan->forward = g_new0 (LsLayerOp, 1);
  plan->n_forward = 1;
  plan->forward[0].saved_bytes = inside;
  plan->input_bytes = input;
  stage->runs = g_new0 (LsLayerRun, 1);
  stage->n_runs = 1;
  stage->runs[0] = (LsLayerRun){plan, n, 0, TRUE};
  return stage;
}

START_TEST (recompute_on_a_chain)
/* N = 96 layers of one activation, every k-th kept: forward work N (2 - 1/k), peak N/k + k - 1, least near
 * k = sqrt N; k = 8 gives 19, k = 96 gives 96. Exact for divisors of N. */
{
  static const gint64 ks[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96};
  const gint64 k = ks[_i];
  const LsRecompute recompute = {.mode = LS_RECOMPUTE_FULL,
                                 .unit = LS_RECOMPUTE_UNIT_OPERATION,
                                 .every = k,
                                 .layers = G_MAXINT64};
  g_autoptr (LsStage) stage = synthetic_stage (96, 1, 1);
  LsMemoryWalk walk;

  ls_memory_walk (stage, &recompute, NULL, &walk);
  ck_assert_int_eq (walk.kept, 96 / k);
  ck_assert_int_eq (walk.peak, 96 / k + k - 1);
  ck_assert_double_eq ((double) walk.peak, ls_recompute_chain_peak (96, k));
  CLOSE (walk.forward_layers, ls_recompute_chain_work (96, k), 1e-15);
  ck_assert_double_ge (ls_recompute_chain_peak (96, k), 2 * sqrt (96) - 1);
}
END_TEST

START_TEST (recompute_on_blocks)
/* 96 transformer blocks, inputs 2 sbh kept every k, 34 sbh inside: forward work 2 N for every k, peak
 * 2 N/k + 34 k: 226, 164, 556, 3266 sbh at k = 1, 2, 16, 96; 3264 without recompute. */
{
  static const gint64 ks[] = {1, 2, 16, 96}, peaks[] = {226, 164, 556, 3266};
  const LsRecompute recompute = {.mode = LS_RECOMPUTE_FULL,
                                 .unit = LS_RECOMPUTE_UNIT_BLOCK,
                                 .every = ks[_i],
                                 .layers = G_MAXINT64};
  const LsRecompute none = {
      .mode = LS_RECOMPUTE_NONE, .unit = LS_RECOMPUTE_UNIT_BLOCK, .every = 1, .layers = G_MAXINT64};
  g_autoptr (LsStage) stage = synthetic_stage (96, 2, 34);
  LsMemoryWalk walk;

  ls_memory_walk (stage, &recompute, NULL, &walk);
  ck_assert_int_eq (walk.peak, peaks[_i]);
  ck_assert_double_eq (ls_recompute_block_peak (96, ks[_i], 2, 34), (double) peaks[_i]);
  ck_assert_int_eq (walk.forward_layers, 2 * 96);
  ls_memory_walk (stage, &none, NULL, &walk);
  ck_assert_int_eq (walk.peak, 3264);
  ck_assert_int_eq (walk.forward_layers, 96);
}
END_TEST

START_TEST (selective_recompute_drops_the_core_only) {
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt-7.5b", NULL), 1);
  const LsRecompute none = {
      .mode = LS_RECOMPUTE_NONE, .unit = LS_RECOMPUTE_UNIT_BLOCK, .every = 1, .layers = G_MAXINT64};
  const LsRecompute selective = {.mode = LS_RECOMPUTE_SELECTIVE,
                                 .unit = LS_RECOMPUTE_UNIT_BLOCK,
                                 .every = 1,
                                 .layers = G_MAXINT64};
  g_autoptr (LsStage) stage = NULL;
  LsMemoryWalk a, b;

  workload->attention = LS_ATTENTION_FUSED_SOFTMAX;
  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, gpu ("a100-sxm-80gb"));
  ls_memory_walk (stage, &none, NULL, &a);
  ls_memory_walk (stage, &selective, NULL, &b);
  /* 36 layers, 5 a s^2 bytes each. */
  ck_assert_int_eq (a.kept - b.kept, 36 * 5 * (gint64) 32 * 2048 * 2048);
}
END_TEST

/* The most forwards of a device that no backward has answered. */
static gint64 in_flight (const LsWorkload *workload, guint device) {
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  g_autoptr (GArray) actions = ls_pipeline_actions (ls_workload_pipeline (workload), &size, device);
  gint64 now = 0, most = 0;

  for (guint i = 0; i < actions->len; i++) {
    now += g_array_index (actions, LsAction, i).kind == LS_ACTION_FORWARD ? 1 : -1;
    most = MAX (most, now);
  }
  return most;
}

START_TEST (in_flight_micro_batches)
/* GPipe all m, 1F1B min (p - stage, m): Narayanan et al., SC21, section 2.2. */
{
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt-7.5b", NULL), 4);

  workload->layout = ls_layout (1, 1, 4);
  workload->global_batch = 3;
  ck_assert (ls_workload_resolve (workload, NULL));
  ck_assert_int_eq (in_flight (workload, 0), 3);
  ck_assert_int_eq (in_flight (workload, 2), 2);
  ck_assert_int_eq (in_flight (workload, 3), 1);
  workload->schedule = LS_SCHEDULE_GPIPE;
  ck_assert_int_eq (in_flight (workload, 3), 3);
}
END_TEST

START_TEST (measured_peaks_of_llama_on_b200)
/* torch's max_memory_allocated of Megatron-LM runs on 8 B200, micro-batch 1 of 4,096 tokens, or long sequences over
 * context ranks, distributed optimizer (MooreThreads/SimuMax docs/b200 at 4dcaae5): llama3-70b cut to 12 layers,
 * llama3-405b (16 key/value heads) cut to 4. Nothing here is fitted to them; tolerance 1 %, what issue 4 asks:
 * workspaces of libraries, some 0.1 GB, are left out. */
{
  static const struct {
    const char *model;
    gint64 layers, kv_heads, seq;
    guint tensor, data, pipeline, context;
    double gb;
  } rows[] = {{"llama3-70b", 12, 8, 4096, 1, 4, 2, 1, 71.46},
              {"llama3-70b", 12, 8, 4096, 4, 2, 1, 1, 41.95},
              {"llama3-70b", 12, 8, 4096, 8, 1, 1, 1, 30.38},
              {"llama3-405b", 4, 16, 4096, 4, 2, 1, 1, 56.79},
              {"llama3-405b", 4, 16, 4096, 8, 1, 1, 1, 41.41},
              {"llama3-405b", 4, 16, 32768, 1, 1, 1, 8, 149.49},
              {"llama3-70b", 12, 8, 32768, 2, 1, 1, 4, 73.48},
              {"llama3-70b", 12, 8, 131072, 2, 1, 1, 4, 120.98}};
  LsModel *model = ls_model_new_preset (rows[_i].model, NULL);
  g_autoptr (LsWorkload) workload = NULL;
  const LsAccelerator *accelerators[2] = {gpu ("b200-sxm-180gb"), gpu ("b200-sxm-180gb")};
  LsMemoryEstimate estimate;

  model->transformer.layers = rows[_i].layers;
  model->transformer.kv_heads = rows[_i].kv_heads;
  model->transformer.max_seq = rows[_i].seq;
  workload = ls_workload_new_default (model, 8);
  workload->layout = ls_layout (rows[_i].tensor, rows[_i].data, rows[_i].pipeline);
  workload->layout.context = rows[_i].context;
  workload->context_kind = LS_CONTEXT_ALL_TO_ALL;
  workload->software = ls_software_find ("megatron-core-serial", NULL);
  workload->sequence_parallel = rows[_i].tensor > 1;
  workload->zero.stage = 1;
  workload->seq_len = rows[_i].seq;
  workload->global_batch = 4 * rows[_i].data;
  ck_assert (ls_workload_resolve (workload, NULL));
  ls_memory_fullest (workload, accelerators, &estimate);
  CLOSE ((double) estimate.allocated_bytes / 1e9, rows[_i].gb, 0.01);
}
END_TEST

START_TEST (bytes_per_logit_at_the_loss)
/* Most that lives of tensors of the logits' size while the head runs, in 16 bits: logits, softmax in fp32 and a
 * gradient 8 bytes; logits and a gradient 4; the gradient in their place 2; a log-softmax and two gradients in fp32
 * 12, and forward beside it an fp32 copy and the logits, 10. Exact: inputs of the head are taken away. */
{
  static const struct {
    LsLossKeeps keeps;
    gint64 bytes;
  } cases[] = {
      {LS_LOSS_SOFTMAX, 8}, {LS_LOSS_LOGITS, 4}, {LS_LOSS_NOTHING, 2}, {LS_LOSS_LOG_SOFTMAX, 12}};
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("llama2-7b", NULL), 1);
  LsSoftware software = *ls_software_find ("generic", NULL);
  g_autoptr (LsLayerPlan) head = NULL;
  gint64 saved = 0, most = 0;

  software.loss_keeps = cases[_i].keeps;
  workload->software = &software;
  workload->seq_len = 4096;
  ck_assert (ls_workload_resolve (workload, NULL));
  head = ls_layer_head_new (workload, gpu ("h100-sxm-80gb"));
  for (guint i = 0; i < head->n_forward; i++) {
    const LsLayerOp *op = &head->forward[i];
    saved += op->saved_bytes;
    most = MAX (most, saved + op->workspace_bytes);
  }
  for (guint i = 0; i < head->n_backward && strcmp (head->backward[i].name, "logits_grad") != 0;
       i++)
    most = MAX (most, saved + head->backward[i].workspace_bytes);
  ck_assert_int_eq (most - 2 * (gint64) 4096 * 4096 * 2, cases[_i].bytes * 4096 * workload->vocab);
}
END_TEST

START_TEST (a_split_loss_takes_more)
/* PyTorch's plain loss over a vocabulary that two tensor ranks share: for each logit of a rank a log-softmax, zeros with
 * picks, an exponential and their sum in fp32, 16 bytes, in place of 12 without a split. The passes move 36 bytes and the
 * logit's 2, forward and backward. Exact. source: torch/distributed/tensor/parallel/loss.py. */
{
  LsSoftware software = *ls_software_find ("generic", NULL);

  software.loss_keeps = LS_LOSS_LOG_SOFTMAX;
  software.fused_cross_entropy = FALSE;
  for (guint tensor = 1; tensor <= 2; tensor++) {
    g_autoptr (LsWorkload) workload =
        ls_workload_new_default (ls_model_new_preset ("llama2-7b", NULL), tensor);
    g_autoptr (LsLayerPlan) head = NULL;
    gint64 most = 0, moved = 0;
    workload->layout = ls_layout (tensor, 1, 1);
    workload->software = &software;
    workload->seq_len = 4096;
    ck_assert (ls_workload_resolve (workload, NULL));
    const gint64 logits = 4096 * workload->vocab / tensor;
    head = ls_layer_head_new (workload, gpu ("h100-sxm-80gb"));
    for (guint i = 0; i < head->n_backward; i++)
      if (strcmp (head->backward[i].name, "loss_grad") == 0) {
        most = 4 * logits + head->backward[i].workspace_bytes;
        moved = head->backward[i].cost.bytes;
      }
    ck_assert_int_eq (most, (tensor > 1 ? 16 : 12) * logits);
    if (tensor > 1)
      ck_assert_int_eq (moved, 38 * logits);
  }
}
END_TEST

START_TEST (placeholders_of_weight_gradients)
/* One 16-bit tensor for each shape of a block, whatever the number of blocks: with t tensor ranks 2/t bytes x the
 * block's matrices, h (q + 2 kv) + q h + 3 h f (no two of Llama's are of one shape); none under ZeRO-2, which sums
 * elsewhere, and none in other software. Exact. */
{
  const guint tensor = (guint) _i % 2 + 1;
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("llama3-8b", NULL), tensor);
  const gint64 h = 4096, f = 14336, kv = 1024;
  const gboolean reduces_later = _i / 2 == 1, other = _i / 2 == 2;
  g_autoptr (LsStage) stage = NULL;

  workload->layout = ls_layout (tensor, 1, 1);
  workload->software = ls_software_find (other ? "generic" : "megatron-bridge", NULL);
  workload->zero.stage = reduces_later ? 2 : 1;
  ck_assert (ls_workload_resolve (workload, NULL));
  stage = ls_stage_new (workload, 0, gpu ("h100-sxm-80gb"));
  ck_assert_int_eq (stage->placeholder_bytes,
                    _i < 2 ? 2 * (h * (h + 2 * kv) + h * h + 3 * h * f) / tensor : 0);
}
END_TEST

START_TEST (runs_that_ran_fit)
/* The tightest rows of llm-foundry's FSDP benchmark (scripts/train/benchmarking at 8c8dd48): MPT, flash attention,
 * stage 3, fp32 shards without a second copy, gradients reduced in fp32. They ran, so they must fit. Three times
 * the micro-batch must not by the same count, so that the test cannot pass by counting too little (no
 * measurement says so). */
{
  static const struct {
    const char *row, *model, *gpu;
    guint gpus;
    gint64 seq, micro;
    gboolean recompute;
  } rows[] = {{"llmf-295", "mpt-350m", "a100-sxm-40gb", 16, 2048, 18, FALSE},
              {"llmf-279", "mpt-760m", "a100-sxm-40gb", 8, 8192, 3, FALSE},
              {"llmf-302", "mpt-125m", "a100-sxm-40gb", 8, 4096, 13, FALSE},
              {"llmf-211", "mpt-350m", "a100-sxm-80gb", 8, 32768, 2, FALSE},
              {"llmf-146", "mpt-760m", "h100-sxm-80gb", 16, 2048, 24, FALSE},
              {"llmf-239", "mpt-13b", "a100-sxm-40gb", 64, 2048, 16, TRUE},
              {"llmf-107", "mpt-13b", "h100-sxm-80gb", 8, 16384, 3, TRUE},
              {"llmf-179", "mpt-7b", "a100-sxm-80gb", 8, 65536, 1, TRUE}};
  LsModel *model = ls_model_new_preset (rows[_i].model, NULL);
  g_autoptr (LsWorkload) workload = ls_workload_new_default (model, rows[_i].gpus);
  const LsAccelerator *accelerators[1] = {gpu (rows[_i].gpu)};
  LsMemoryEstimate estimate;

  model->transformer.max_seq = rows[_i].seq;
  workload->software = ls_software_find ("pytorch-fsdp-2.1", NULL);
  workload->attention = workload->software->attention;
  workload->precision.parameters = LS_FORMAT_FP32;
  workload->precision.master_used = FALSE;
  workload->zero.stage = 3;
  workload->recompute.mode = rows[_i].recompute ? LS_RECOMPUTE_FULL : LS_RECOMPUTE_NONE;
  workload->seq_len = rows[_i].seq;
  for (gint64 times = 1; times <= 3; times += 2) {
    workload->micro_batch = times * rows[_i].micro;
    workload->global_batch = workload->micro_batch * rows[_i].gpus;
    ck_assert (ls_workload_resolve (workload, NULL));
    ls_memory_fullest (workload, accelerators, &estimate);
    ck_assert_msg (estimate.fits == (times == 1), "%s x %d: %.1f of %.1f GiB", rows[_i].row,
                   (int) times, (double) estimate.reserved_bytes / GIB (1),
                   (double) estimate.capacity_bytes / GIB (1));
  }
}
END_TEST

START_TEST (verdict_names_parts_and_a_remedy)
/* 7B of 18 bytes per parameter is 121 GB: too much for 80 GB; sharding the optimizer over 8 ranks (6 + 12/8
 * bytes, 50.5 GB) fits, and is the first change tried that does. */
{
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("llama2-7b", NULL), 8);
  const LsAccelerator *accelerators[1] = {gpu ("h100-sxm-80gb")};
  LsMemoryEstimate estimate;
  g_autofree char *verdict = NULL;

  workload->seq_len = 2048;
  workload->global_batch = 8;
  ck_assert (ls_workload_resolve (workload, NULL));
  ls_memory_fullest (workload, accelerators, &estimate);
  ck_assert (!estimate.fits);
  verdict = ls_memory_verdict (workload, accelerators, &estimate);
  ck_assert_ptr_nonnull (strstr (verdict, "does not fit"));
  ck_assert_ptr_nonnull (strstr (verdict, "optimizer 80.9,")); /* GB: 12 x 6,738,415,616 bytes */
  ck_assert_ptr_nonnull (strstr (verdict, "would fit with workload.zero.stage=1 ("));
}
END_TEST

START_TEST (verdict_when_it_fits) {
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt2-small", NULL), 1);
  const LsAccelerator *accelerators[1] = {gpu ("h100-sxm-80gb")};
  LsMemoryEstimate estimate;
  g_autofree char *verdict = NULL;

  ck_assert (ls_workload_resolve (workload, NULL));
  ls_memory_fullest (workload, accelerators, &estimate);
  ck_assert (estimate.fits);
  ck_assert_int_gt (estimate.capacity_bytes, 0);
  ck_assert_int_eq (estimate.capacity_bytes, estimate.physical_bytes - estimate.context_bytes -
                                                 estimate.communication_bytes);
  verdict = ls_memory_verdict (workload, accelerators, &estimate);
  ck_assert (g_str_has_prefix (verdict, "fits: "));
}
END_TEST

START_TEST (verdict_near_the_limit)
/* Within LS_MEMORY_ERROR of the limit, on either side, the verdict says so; beyond it does not. */
{
  static const double limits[] = {0.89, 0.93, 1, 1.07, 1.11};
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt2-small", NULL), 1);
  const LsAccelerator *accelerators[1] = {gpu ("h100-sxm-80gb")};
  LsMemoryEstimate estimate;
  g_autofree char *verdict = NULL;

  ck_assert (ls_workload_resolve (workload, NULL));
  ls_memory_fullest (workload, accelerators, &estimate);
  estimate.capacity_bytes = (gint64) (limits[_i] * (double) estimate.reserved_bytes);
  estimate.fits = estimate.reserved_bytes <= estimate.capacity_bytes;
  verdict = ls_memory_verdict (workload, accelerators, &estimate);
  ck_assert_int_eq (strstr (verdict, "; close: measured peaks differ") != NULL, _i > 0 && _i < 4);
}
END_TEST

START_TEST (verdict_when_nothing_helps)
/* GPT-3 on one GPU: 3 TB of states and no ranks to shard them over. */
{
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("gpt3-175b", NULL), 1);
  const LsAccelerator *accelerators[1] = {gpu ("h100-sxm-80gb")};
  LsMemoryEstimate estimate;
  g_autofree char *verdict = NULL;

  ck_assert (ls_workload_resolve (workload, NULL));
  ls_memory_fullest (workload, accelerators, &estimate);
  verdict = ls_memory_verdict (workload, accelerators, &estimate);
  ck_assert_ptr_nonnull (strstr (verdict, "use more GPUs"));
}
END_TEST

START_TEST (zero_3_buffers)
/* Stage 3, prefetch 1, at the peak, which is in the backward of the last block: two gathered blocks of
 * 202,383,360 parameters in 16 bits; gradients in fp32 of this block and of the head before it (32,000 x 4,096
 * and the final norm). */
{
  g_autoptr (LsWorkload) workload =
      ls_workload_new_default (ls_model_new_preset ("llama2-7b", NULL), 8);
  LsMemoryEstimate estimate;
  const gint64 block = 202383360, head = 32000 * 4096 + 4096;

  workload->zero.stage = 3;
  ck_assert (ls_workload_resolve (workload, NULL));
  ls_memory_estimate (workload, 0, gpu ("h100-sxm-80gb"), &estimate);
  ck_assert_int_eq (estimate.gathered_bytes, 2 * 2 * block);
  ck_assert_int_eq (estimate.reduced_bytes, 4 * (block + head));
}
END_TEST

START_TEST (communicators_of_a_rank)
/* One of all ranks, and one for each axis along which there are several: tensor, context, data (with context), pipeline,
 * and of experts expert, expert-tensor and expert-data; one more where stage 1 to 3 shards in groups of fewer than all
 * copies. One rank alone has none. */
{
  static const struct {
    guint tensor, context, data, pipeline, expert, shard_group, communicators;
  } cases[] = {{1, 1, 1, 1, 0, 0, 0}, {2, 1, 1, 1, 0, 0, 2}, {1, 1, 2, 1, 0, 0, 2},
               {1, 1, 1, 2, 0, 0, 2}, {1, 2, 1, 1, 0, 0, 3}, {2, 2, 2, 2, 0, 0, 5},
               {1, 1, 8, 1, 0, 4, 3}, {1, 1, 8, 1, 8, 0, 3}, {1, 1, 8, 1, 4, 0, 4}};
  const guint ranks = cases[_i].tensor * cases[_i].context * cases[_i].data * cases[_i].pipeline;
  g_autoptr (LsWorkload) w = ls_workload_new_default (
      ls_model_new_preset (cases[_i].expert > 0 ? "mixtral-8x7b" : "llama2-7b", NULL), ranks);

  w->layout = ls_layout (cases[_i].tensor, cases[_i].data, cases[_i].pipeline);
  w->layout.context = cases[_i].context;
  w->layout.expert = MAX (cases[_i].expert, 1u);
  w->zero.stage = cases[_i].shard_group > 0 ? 3 : 0;
  w->zero.shard_group = cases[_i].shard_group;
  w->global_batch = cases[_i].data * cases[_i].pipeline;
  ck_assert (ls_workload_resolve (w, NULL));
  ck_assert_uint_eq (ls_memory_communicators (w), cases[_i].communicators);
}
END_TEST

START_TEST (gathered_bytes_by_kind)
/* 1000 dense parameters, 600 of them in frozen linear maps, and 500 of experts, 400 of them frozen; in bf16, frozen ones in
 * NVFP4, 9/16 of a byte, which travel as they are stored: (1000 - 600) x 2 + 600 x 9/16, and 100 x 2 + 400 x 9/16. With fp8 products whose
 * operands are gathered, trained maps, 250 of the dense and all of the experts', travel in a byte. */
{
  const LsLayerPlan plan = {.parameters = 300,
                            .frozen_parameters = 700,
                            .frozen_map_parameters = 600,
                            .expert_parameters = 100,
                            .frozen_expert_parameters = 400,
                            .narrow_parameters = 250 + 600 + 100 + 400};
  LsPrecision precision = {.compute = LS_FORMAT_BF16, .frozen = LS_FORMAT_NVFP4};
  LsGatheredBytes bytes = ls_gathered_bytes (&plan, &precision);

  ck_assert_int_eq (bytes.dense, 2 * 400 + 337);
  ck_assert_int_eq (bytes.experts, 2 * 100 + 225);
  precision.narrow.used = precision.narrow.gathered = TRUE;
  precision.narrow.forward = LS_FORMAT_FP8_E4M3;
  bytes = ls_gathered_bytes (&plan, &precision);
  ck_assert_int_eq (bytes.dense, 250 + 2 * 150 + 337);
  ck_assert_int_eq (bytes.experts, 100 + 225);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("memory");
  TCase *tcase = tcase_create ("memory");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_add_loop_test (tcase, zero_states_of_a_7_5b_model_on_64_ranks, 0, 4);
  tcase_add_loop_test (tcase, zero_states_of_every_size, 0, 3);
  tcase_add_test (tcase, bytes_per_parameter_of_the_common_presets);
  tcase_add_loop_test (tcase, korthikantis_figure_1, 0, 4);
  tcase_add_loop_test (tcase, korthikantis_figure_7, 0, 8);
  tcase_add_loop_test (tcase, recompute_on_a_chain, 0, 12);
  tcase_add_loop_test (tcase, recompute_on_blocks, 0, 4);
  tcase_add_test (tcase, selective_recompute_drops_the_core_only);
  tcase_add_test (tcase, in_flight_micro_batches);
  tcase_add_loop_test (tcase, measured_peaks_of_llama_on_b200, 0, 8);
  tcase_add_loop_test (tcase, bytes_per_logit_at_the_loss, 0, 4);
  tcase_add_test (tcase, a_split_loss_takes_more);
  tcase_add_loop_test (tcase, placeholders_of_weight_gradients, 0, 6);
  tcase_add_loop_test (tcase, runs_that_ran_fit, 0, 8);
  tcase_add_test (tcase, verdict_names_parts_and_a_remedy);
  tcase_add_test (tcase, verdict_when_it_fits);
  tcase_add_loop_test (tcase, verdict_near_the_limit, 0, 5);
  tcase_add_test (tcase, verdict_when_nothing_helps);
  tcase_add_test (tcase, zero_3_buffers);
  tcase_add_loop_test (tcase, communicators_of_a_rank, 0, 9);
  tcase_add_test (tcase, gathered_bytes_by_kind);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
