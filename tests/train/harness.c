/* See harness.h. */
#include "harness.h"

#include <stdlib.h>

#include "base/time.h"
#include "hw/accelerators.h"

LsWorkload *test_workload (guint tensor, guint data, guint pipeline, guint layers, gint64 m) {
  LsWorkload *workload = g_new0 (LsWorkload, 1);

  workload->name = g_strdup ("test");
  workload->model = ls_model_new_layers ("test");
  workload->precision = (LsPrecision){.compute = LS_FORMAT_BF16,
                                      .parameters = LS_FORMAT_BF16,
                                      .gradients = LS_FORMAT_FP32,
                                      .master = LS_FORMAT_FP32,
                                      .master_used = TRUE,
                                      .optimizer = LS_FORMAT_FP32,
                                      .communication = LS_FORMAT_BF16};
  workload->software = ls_software_get (0);
  workload->layout = ls_layout (tensor, data, pipeline);
  workload->gpus = workload->layout.ranks;
  workload->gpu_of_rank = g_new0 (guint, workload->layout.ranks);
  for (guint rank = 0; rank < workload->layout.ranks; rank++)
    workload->gpu_of_rank[rank] = rank;
  workload->micro_batch = 1;
  workload->global_batch = m * data;
  workload->microbatches = m;
  workload->seq_len = 1;
  workload->schedule = LS_SCHEDULE_1F1B;
  workload->virtual_stages = 1;
  workload->post_validation = TRUE;
  workload->layers_per_stage = g_new0 (guint, pipeline);
  for (guint stage = 0; stage < pipeline; stage++)
    workload->layers_per_stage[stage] = layers / pipeline;
  workload->zero = (LsZero){.overlap = TRUE, .bucket_bytes = 1000, .prefetch = 1};
  workload->recompute = (LsRecompute){.every = 1, .layers = layers};
  workload->optimizer.kind = LS_OPTIMIZER_ADAM;
  workload->steps = 2;
  return workload;
}

void test_set_schedule (LsWorkload *workload, LsScheduleKind kind, guint virtual_stages) {
  guint layers = 0;

  for (guint stage = 0; stage < ls_workload_n_stages (workload); stage++)
    layers += workload->layers_per_stage[stage];
  workload->schedule = kind;
  workload->virtual_stages = virtual_stages;
  const guint stages = ls_workload_n_stages (workload);
  workload->layers_per_stage = g_renew (guint, workload->layers_per_stage, stages);
  for (guint stage = 0; stage < stages; stage++)
    workload->layers_per_stage[stage] = layers / stages;
}

static LsLayerOp kernel (const char *name, gint64 ps, gint64 saved_bytes, LsPhaseName phase) {
  LsLayerOp op = {.name = name, .kind = LS_KIND_MATMUL, .saved_bytes = saved_bytes, .phase = phase};

  op.cost = (LsKernelCost){
      .alone_ps = ps, .sm_usage = LS_USAGE_ONE, .flops = 1, .bytes = 1, .kernels = 0};
  return op;
}

/* A matmul in pieces and its collective, in this order or the other. */
static void add_cut (LsLayerPlan *plan, LsCollectiveOp op, gint64 bytes, guint n, gint64 piece_ps) {
  const gboolean gathers = op == LS_COLLECTIVE_ALL_GATHER;
  LsLayerOp *collective = &plan->forward[plan->n_forward + (gathers ? 0 : 1)];
  LsLayerOp *matmul = &plan->forward[plan->n_forward + (gathers ? 1 : 0)];

  *collective = (LsLayerOp){.name = "cut",
                            .is_collective = TRUE,
                            .collective = op,
                            .collective_bytes = bytes,
                            .pieces = n};
  *matmul = kernel ("map", piece_ps * n, 0, LS_PHASE_FORWARD);
  matmul->piece = kernel ("map", piece_ps, 0, LS_PHASE_FORWARD).cost;
  plan->n_forward += 2;
}

static void add_exchange (LsLayerOp *ops, guint *n, const TestLayer *layer) {
  if (layer->exchange_bytes > 0)
    ops[(*n)++] = (LsLayerOp){.name = "exchange",
                              .kind = LS_KIND_ALL_TO_ALL,
                              .is_collective = TRUE,
                              .axis = LS_AXIS_EXPERT,
                              .collective = LS_COLLECTIVE_ALL_TO_ALL,
                              .collective_bytes = layer->exchange_bytes,
                              .phase = LS_PHASE_BACKWARD};
}

static void add_order (LsLayerOp *ops, guint *n, const TestLayer *layer, LsPhaseName phase) {
  if (layer->order_ps == 0)
    return;
  ops[*n] = kernel ("order", layer->order_ps, 0, phase);
  ops[*n].cost.sm_usage = layer->order_sms;
  ops[(*n)++].travels = TRUE;
}

static LsLayerPlan *new_plan (const TestLayer *layer, guint tensor) {
  LsLayerPlan *plan = g_new0 (LsLayerPlan, 1);
  const gint64 half_ps = layer->forward_ps / 2, half_bytes = layer->saved_bytes / 2;
  const LsLayerOp reduce = {.name = "sum",
                            .kind = LS_KIND_ALL_REDUCE,
                            .is_collective = TRUE,
                            .collective = LS_COLLECTIVE_ALL_REDUCE,
                            .collective_bytes = layer->boundary_bytes};

  plan->name = g_strdup ("layer");
  plan->forward = g_new0 (LsLayerOp, 11);
  plan->forward[plan->n_forward++] =
      kernel ("first", half_ps, layer->saved_bytes - half_bytes, LS_PHASE_FORWARD);
  add_exchange (plan->forward, &plan->n_forward, layer);
  add_order (plan->forward, &plan->n_forward, layer, LS_PHASE_FORWARD);
  plan->forward[plan->n_forward] =
      kernel ("core", layer->forward_ps - half_ps, half_bytes, LS_PHASE_FORWARD);
  plan->forward[plan->n_forward].cost.kernels = layer->forward_launches;
  plan->forward[plan->n_forward++].core = TRUE;
  add_order (plan->forward, &plan->n_forward, layer, LS_PHASE_FORWARD);
  add_exchange (plan->forward, &plan->n_forward, layer);
  if (layer->gather_piece_ps > 0)
    add_cut (plan, LS_COLLECTIVE_ALL_GATHER, layer->boundary_bytes, tensor, layer->gather_piece_ps);
  if (layer->scatter_piece_ps > 0)
    add_cut (plan, LS_COLLECTIVE_REDUCE_SCATTER, layer->boundary_bytes, tensor,
             layer->scatter_piece_ps);
  plan->backward = g_new0 (LsLayerOp, 8);
  add_exchange (plan->backward, &plan->n_backward, layer);
  add_order (plan->backward, &plan->n_backward, layer, LS_PHASE_BACKWARD);
  plan->backward[plan->n_backward] =
      kernel ("gradient", layer->backward_ps - layer->weight_ps, 0, LS_PHASE_BACKWARD);
  plan->backward[plan->n_backward++].cost.kernels = layer->backward_launches;
  add_order (plan->backward, &plan->n_backward, layer, LS_PHASE_BACKWARD);
  add_exchange (plan->backward, &plan->n_backward, layer);
  if (layer->weight_ps > 0) {
    plan->backward[plan->n_backward] =
        kernel ("weights", layer->weight_ps, 0, LS_PHASE_WEIGHT_GRAD);
    plan->backward[plan->n_backward++].operand_bytes = layer->put_off_bytes;
  }
  if (layer->tensor_collectives && tensor > 1) {
    plan->forward[plan->n_forward++] = reduce;
    plan->backward[plan->n_backward++] = reduce;
  }
  plan->parameters = layer->parameters;
  plan->n_matrices = layer->matrices;
  plan->input_bytes = layer->input_bytes;
  plan->output_bytes = layer->boundary_bytes;
  return plan;
}

static LsStage *new_part (const TestRun *run, const LsWorkload *workload, guint index) {
  LsStage *stage = g_new0 (LsStage, 1);

  stage->n_runs = 1;
  stage->runs = g_new0 (LsLayerRun, 1);
  stage->runs[0] = (LsLayerRun){.plan = new_plan (&run->layer, workload->layout.tensor),
                                .count = workload->layers_per_stage[index],
                                .is_block = TRUE};
  for (guint i = 0; i < index; i++)
    stage->runs[0].first += (gint32) workload->layers_per_stage[i];
  stage->parameters = run->layer.parameters * workload->layers_per_stage[index];
  stage->boundary_bytes = run->layer.boundary_bytes;
  return stage;
}

static LsStage *new_stage (gpointer self, const LsWorkload *workload, guint device,
                           const LsAccelerator *accelerator) {
  const TestRun *run = self;
  const guint n = ls_workload_n_parts (workload);

  (void) accelerator;
  if (n == 1)
    return new_part (run, workload, device);
  LsStage **parts = g_new (LsStage *, n);
  for (guint part = 0; part < n; part++)
    parts[part] = new_part (run, workload, ls_workload_stage_of (workload, device, part));
  return ls_stage_new_of_parts (workload, parts, n);
}

/* A transfer of `wire_bytes` per member at the network's latency and rate. */
static const LsTransfer *transfer_of (TestRun *run, gint64 message_bytes, gint64 wire_bytes) {
  LsTransfer *transfer = g_new0 (LsTransfer, 1);

  transfer->beside_compute = LS_USAGE_ONE;
  transfer->message_bytes = message_bytes;
  transfer->wire_bytes = wire_bytes;
  if (run->net.bytes_per_s > 0) {
    LsPhase *phase = g_new0 (LsPhase, 1);
    phase->latency_ps = run->net.latency_ps;
    phase->work_bytes = wire_bytes;
    phase->rate_cap = ls_rate_from_per_s (run->net.bytes_per_s);
    transfer->phases = phase;
    transfer->n_phases = 1;
  }
  g_ptr_array_add (run->transfers, transfer);
  return transfer;
}

static const LsTransfer *expand_collective (gpointer self, guint group, guint descriptor) {
  TestRun *run = self;
  const LsDescriptor *what = &ls_tables_descriptors (run->job->tables)[descriptor];
  const gint64 n = ls_engine_group_size (run->engine, group);
  /* Ring algorithms: reduce-scatter and all-gather (n-1)/n of the total buffer, all-reduce both. */
  const gint64 passes = what->op == LS_COLLECTIVE_ALL_REDUCE ? 2
                        : what->op == LS_COLLECTIVE_BARRIER  ? 0
                                                             : 1;

  if (what->op == LS_COLLECTIVE_SEND_RECV) /* each to the next */
    return transfer_of (run, what->bytes, what->bytes);
  return transfer_of (run, what->bytes, passes * what->bytes * (n - 1) / n);
}

static const LsTransfer *expand_message (gpointer self, guint from, guint to, guint descriptor) {
  TestRun *run = self;
  const gint64 bytes = ls_tables_descriptors (run->job->tables)[descriptor].bytes;

  (void) from;
  (void) to;
  return transfer_of (run, bytes, bytes);
}

static const LsTransfer *expand_copy (gpointer self, guint rank, guint descriptor) {
  TestRun *run = self;
  const gint64 bytes = ls_tables_descriptors (run->job->tables)[descriptor].bytes;

  (void) rank;
  return transfer_of (run, bytes, bytes);
}

TestRun *test_run (LsWorkload *workload, const TestLayer *layer, const TestNet *net) {
  return test_run_skipping (workload, layer, net, NULL);
}

TestRun *test_run_skipping (LsWorkload *workload, const TestLayer *layer, const TestNet *net,
                            const guint8 *skips) {
  static const LsExpander expander = {expand_collective, expand_message, expand_copy};
  const guint n = workload->layout.ranks;
  TestRun *run = g_new0 (TestRun, 1);
  g_autofree const LsAccelerator **accelerators = g_new0 (const LsAccelerator *, n);
  g_autofree guint *devices = g_new0 (guint, n);
  g_autofree guint *hosts = g_new0 (guint, n);
  g_autoptr (GError) error = NULL;

  run->workload = workload;
  run->layer = *layer;
  run->net = *net;
  run->transfers = g_ptr_array_new ();
  run->engine = ls_engine_new ();
  for (guint i = 0; i < n; i++) {
    accelerators[i] = ls_accelerator_get (0);
    devices[i] = ls_engine_add_device (run->engine, "gpu", 1e12);
  }
  hosts[0] = ls_engine_add_device (run->engine, "host", 1e11);
  for (guint i = 1; i < n; i++)
    hosts[i] = hosts[0];
  const LsJobSource source = {.accelerators = accelerators,
                              .host_cores = 8,
                              .host_bytes_per_s = 1e11,
                              .new_stage = new_stage,
                              .self = run};
  run->job = ls_job_build_from (workload, &source, &error);
  ck_assert_msg (run->job != NULL, "%s", error ? error->message : "");
  ls_engine_set_expander (run->engine, &expander, run);
  ls_engine_set_idle_part (run->engine, LS_PART_OTHER);
  ls_job_install (run->job, run->engine, devices, hosts);
  for (guint i = 0; i < n && skips != NULL; i++)
    ls_engine_set_skips (run->engine, i, skips);
  gboolean good = ls_engine_run (run->engine, G_MAXINT64, NULL, &error);
  ck_assert_msg (good, "%s", error ? error->message : "");
  ls_engine_check (run->engine);
  return run;
}

void test_run_free (TestRun *run) {
  if (run == NULL)
    return;
  ls_engine_free (run->engine);
  ls_job_free (run->job);
  ls_workload_free (run->workload);
  for (guint i = 0; i < run->transfers->len; i++) {
    LsTransfer *transfer = g_ptr_array_index (run->transfers, i);
    g_free ((gpointer) transfer->phases);
    g_free (transfer);
  }
  g_ptr_array_unref (run->transfers);
  g_free (run);
}

gint64 test_part_ps (const TestRun *run, guint rank, LsPart part) {
  gint64 parts_ps[LS_MAX_PARTS];

  ls_engine_account (run->engine, rank, parts_ps);
  return parts_ps[part];
}

gint64 test_peak_activations (const TestRun *run, guint rank) {
  gint64 by_kind[LS_MEMORY_KINDS];

  ls_engine_memory_peak (run->engine, rank, by_kind);
  return by_kind[LS_MEMORY_ACTIVATIONS] + by_kind[LS_MEMORY_BUFFERS];
}

int test_main (const char *name, const TTest *const *tests, guint n) {
  Suite *suite = suite_create (name);
  TCase *tcase = tcase_create (name);
  SRunner *runner;

  tcase_set_timeout (tcase, 300);
  for (guint i = 0; i < n; i++)
    tcase_add_test (tcase, tests[i]);
  suite_add_tcase (suite, tcase);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
