/* Programs of ranks: every combination runs to its end, recomputation costs what it should, memory is
 * given back, two runs agree. */
#include "harness.h"

#include <string.h>

#include "train/pipeline/pipeline.h"

static const TestLayer layer = {.forward_ps = 10000,
                                .backward_ps = 20000,
                                .saved_bytes = 1000,
                                .input_bytes = 60,
                                .parameters = 400,
                                .boundary_bytes = 96,
                                .tensor_collectives = TRUE};
static const TestNet free_net = {0, 0};
static const TestNet net = {.latency_ps = 3000, .bytes_per_s = 1e12};

static const LsRecompute recomputes[] = {
    {.mode = LS_RECOMPUTE_NONE, .unit = LS_RECOMPUTE_UNIT_BLOCK, .every = 1, .layers = 0},
    {.mode = LS_RECOMPUTE_SELECTIVE, .unit = LS_RECOMPUTE_UNIT_BLOCK, .every = 1, .layers = 100},
    {.mode = LS_RECOMPUTE_FULL, .unit = LS_RECOMPUTE_UNIT_BLOCK, .every = 1, .layers = 100},
    {.mode = LS_RECOMPUTE_FULL, .unit = LS_RECOMPUTE_UNIT_BLOCK, .every = 2, .layers = 3},
    {.mode = LS_RECOMPUTE_FULL, .unit = LS_RECOMPUTE_UNIT_OPERATION, .every = 2, .layers = 100},
};

/* Times a layer's forward runs again in a step of one micro-batch, in thousandths of a layer, for
 * `layers` layers on a stage. */
static gint64 again_of (const LsRecompute *recompute, gint64 layers) {
  const gint64 n = MIN (recompute->layers, layers), k = MIN (recompute->every, MAX (n, 1));

  switch (recompute->mode) {
  case LS_RECOMPUTE_SELECTIVE:
    return n * 500;
  case LS_RECOMPUTE_FULL:
    if (recompute->unit == LS_RECOMPUTE_UNIT_BLOCK)
      return n * 1000;
    return (n - (n + k - 1) / k) * 1000;
  case LS_RECOMPUTE_NONE:
  default:
    return 0;
  }
}

static void check_run (const TestRun *run, const LsRecompute *recompute) {
  const LsWorkload *w = run->workload;

  for (guint rank = 0; rank < w->layout.ranks; rank++) {
    const LsPipeline *pipeline = ls_workload_pipeline (w);
    const LsPipelineSize size = ls_workload_pipeline_size (w);
    gint64 step_ps = 0;
    for (guint part = 0; part < ls_pipeline_n_parts (pipeline, &size); part++) {
      const gint64 layers = w->layers_per_stage[ls_pipeline_stage (
          pipeline, &size, run->job->coordinates[rank].stage, part)];
      step_ps += ls_pipeline_part_microbatches (pipeline, &size) *
                 (layers * (layer.forward_ps + layer.backward_ps) +
                  again_of (recompute, layers) * layer.forward_ps / 1000);
    }
    ck_assert_int_eq (test_part_ps (run, rank, LS_PART_COMPUTE), w->steps * step_ps);
    ck_assert_int_eq (ls_engine_memory_now (run->engine, rank, LS_MEMORY_ACTIVATIONS), 0);
    ck_assert_int_eq (ls_engine_bytes_sent (run->engine, rank) > 0, w->layout.ranks > 1);
  }
}

START_TEST (every_combination_runs)
/* No deadlock, compute time as counted by hand, all activations released; for pipelines longer than the
 * number of micro-batches too. */
{
  const LsRecompute *recompute = &recomputes[_i % (int) G_N_ELEMENTS (recomputes)];
  const int zero = _i / (int) G_N_ELEMENTS (recomputes);
  for (guint shape = 0; shape < 16; shape++)
    for (gint64 m = 1; m <= 9; m += m == 5 ? 3 : 2)
      for (guint kind = 0; kind < LS_N_SCHEDULES; kind++) {
        const guint t = 1 + (shape & 1), d = 1 + ((shape >> 1) & 1), p = 1 + (shape >> 2);
        LsWorkload *workload = test_workload (t, d, p, 6 * p, m);
        workload->zero.stage = zero;
        workload->zero.overlap = (shape + m) % 3 != 0;
        workload->zero.bucket_bytes = 700 + 900 * (gint64) kind;
        workload->zero.prefetch = m / 2;
        test_set_schedule (workload, (LsScheduleKind) kind, 3);
        workload->recompute = *recompute;
        const LsPipelineSize size = ls_workload_pipeline_size (workload);
        if (ls_pipeline_fault (ls_workload_pipeline (workload), &size) != NULL) {
          ls_workload_free (workload);
          continue;
        }
        g_autoptr (TestRun) run = test_run (workload, &layer, shape % 2 ? &net : &free_net);
        check_run (run, recompute);
      }
}
END_TEST

START_TEST (first_and_last_stage_tie_their_embeddings_without_trouble)
/* Uneven stages, an input pipeline, several steps: everything on at once still ends. */
{
  LsWorkload *workload = test_workload (2, 2, 3, 9, 4);
  workload->layers_per_stage[0] = 2;
  workload->layers_per_stage[2] = 4;
  workload->steps = 3;
  workload->input = (LsInput){.threads = 2,
                              .bytes_per_sample = 100,
                              .cpu_s_per_sample = 1e-9,
                              .prefetch = 2,
                              .device_bytes_per_sample = 50};
  g_autoptr (TestRun) run = test_run (workload, &layer, &net);
  check_run (run, &run->workload->recompute);
}
END_TEST

START_TEST (slow_input_starves_the_step)
/* Four micro-batches are ready when a step starts, the first too. The loader goes on when the first forward has used
 * its input, and from then on delivers one per loader time: the step ends t_f + (m - 4) loader + t_f + t_b
 * after its start instead of m (t_f + t_b); the difference is charged to input. A core decodes a sample in 100 ns x
 * threads: the samples of a micro-batch take turns, and more threads than the 8 cores of the host are no faster. Exact. */
{
  static const struct {
    gint64 samples, threads, loader_ps;
  } cases[] = {{1, 2, 100000}, {3, 2, 300000}, {1, 16, 200000}};
  const gint64 m = 10, steps = 4, prefetch = 4;
  LsWorkload *workload = test_workload (1, 1, 1, 1, m);
  workload->steps = steps;
  workload->micro_batch = cases[_i].samples;
  workload->input = (LsInput){.threads = cases[_i].threads,
                              .cpu_s_per_sample = 100e-9 * (double) cases[_i].threads,
                              .prefetch = prefetch};
  g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
  const gint64 compute_ps = layer.forward_ps + layer.backward_ps;
  const gint64 step_ps = layer.forward_ps + (m - prefetch) * cases[_i].loader_ps + compute_ps;
  ck_assert_int_eq (test_part_ps (run, 0, LS_PART_INPUT), steps * (step_ps - m * compute_ps));
}
END_TEST

START_TEST (slow_storage_starves_the_step)
/* The same where samples are read, 1 MB each at 1 TB/s: three of a micro-batch take 3 us and the latency, beside which
 * decoding, 1 ns each, is nothing; what reading is charged goes with the samples of a micro-batch. 1 %. */
{
  const gint64 m = 10, steps = 4, prefetch = 4, samples = 1 + 2 * _i;
  LsWorkload *workload = test_workload (1, 1, 1, 1, m);
  workload->steps = steps;
  workload->micro_batch = samples;
  workload->input = (LsInput){
      .threads = 1, .cpu_s_per_sample = 1e-9, .bytes_per_sample = 1000000, .prefetch = prefetch};
  g_autoptr (TestRun) run = test_run (workload, &layer, &net);
  const gint64 compute_ps = layer.forward_ps + layer.backward_ps;
  const gint64 read_ps = net.latency_ps + samples * 1000000;
  const gint64 step_ps = layer.forward_ps + (m - prefetch) * read_ps + compute_ps;
  const double expected = (double) (steps * (step_ps - m * compute_ps));
  ck_assert_double_eq_tol ((double) test_part_ps (run, 0, LS_PART_INPUT), expected,
                           0.01 * expected);
}
END_TEST

START_TEST (who_reads_samples)
/* The first stage, and of a pipeline that enters at both ends (DualPipe) the last too: no other has a loader. */
{
  const guint p = 4;
  LsWorkload *workload = test_workload (1, 1, p, p, 8);
  test_set_schedule (workload, _i == 0 ? LS_SCHEDULE_1F1B : LS_SCHEDULE_DUALPIPE, 1);
  workload->input = (LsInput){.threads = 1, .cpu_s_per_sample = 1e-9, .prefetch = 2};
  g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
  for (guint rank = 0; rank < p; rank++) {
    const LsProgram *program = run->job->kinds[run->job->kind_of_rank[rank]].program;
    gboolean reads = FALSE;
    for (guint s = 0; s < ls_program_n_streams (program); s++)
      reads = reads || strcmp (ls_program_stream_name (program, s), "loader") == 0;
    ck_assert_int_eq (reads, rank == 0 || (_i == 1 && rank == p - 1));
  }
}
END_TEST

START_TEST (chain_of_activations)
/* A chain of N layers with one activation each, every k-th kept: forward work F (2 - 1/k) and peak N/k + k - 1
 * activations (the segment that is run again is live too). Chen et al. 2016, counted exactly; k divides N. */
{
  const guint n = 96;
  static const guint every[] = {1, 2, 4, 8, 12, 48, 96};
  for (guint i = 0; i < G_N_ELEMENTS (every); i++) {
    const gint64 k = every[i];
    LsWorkload *workload = test_workload (1, 1, 1, n, 1);
    TestLayer chain = {.forward_ps = 1000, .backward_ps = 2000, .saved_bytes = 16};
    workload->recompute = (LsRecompute){
        .mode = LS_RECOMPUTE_FULL, .unit = LS_RECOMPUTE_UNIT_OPERATION, .every = k, .layers = n};
    workload->steps = 1;
    g_autoptr (TestRun) run = test_run (workload, &chain, &free_net);
    ck_assert_int_eq (test_part_ps (run, 0, LS_PART_COMPUTE), 1000 * (2 * n - n / k) + 2000 * n);
    ck_assert_int_eq (test_peak_activations (run, 0), 16 * (n / k + k - 1));
  }
}
END_TEST

START_TEST (blocks_with_kept_inputs)
/* Blocks whose inputs are kept every k: all of them are run again, forward work 2 F for every k, and the peak is
 * input N/k + k x inside. theory: Korthikanti et al. 2022 for k = 1 (2sbh L + what one layer saves). Exact. */
{
  const guint n = 96;
  static const guint every[] = {1, 2, 16, 96};
  for (guint i = 0; i < G_N_ELEMENTS (every); i++) {
    const gint64 k = every[i];
    LsWorkload *workload = test_workload (1, 1, 1, n, 1);
    TestLayer block = {
        .forward_ps = 1000, .backward_ps = 2000, .saved_bytes = 34, .input_bytes = 2};
    workload->recompute = (LsRecompute){
        .mode = LS_RECOMPUTE_FULL, .unit = LS_RECOMPUTE_UNIT_BLOCK, .every = k, .layers = n};
    workload->steps = 1;
    g_autoptr (TestRun) run = test_run (workload, &block, &free_net);
    ck_assert_int_eq (test_part_ps (run, 0, LS_PART_COMPUTE), 1000 * 2 * n + 2000 * n);
    ck_assert_int_eq (test_peak_activations (run, 0), 2 * (n / k) + k * 34);
  }
}
END_TEST

START_TEST (program_size_is_constant)
/* Neither micro-batches nor steps nor equal layers make a program longer. */
{
  gsize size[3];
  for (guint i = 0; i < 3; i++) {
    LsWorkload *workload = test_workload (1, 2, 2, i == 1 ? 64 : 8, i == 2 ? 64 : 4);
    workload->steps = i == 2 ? 50 : 2;
    g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
    size[i] = ls_program_size_bytes (run->job->kinds[0].program);
    ck_assert_uint_eq (run->job->n_kinds, 2);
  }
  ck_assert_uint_eq (size[0], size[1]);
  ck_assert_uint_eq (size[0], size[2]);
}
END_TEST

START_TEST (two_runs_agree)
/* Same input, same bits: time and every account of every rank. */
{
  guint64 sums[2] = {0, 0};
  for (guint i = 0; i < 2; i++) {
    LsWorkload *workload = test_workload (2, 2, 4, 8, 6);
    workload->zero.stage = 2;
    g_autoptr (TestRun) run = test_run (workload, &layer, &net);
    for (guint rank = 0; rank < 16; rank++)
      for (guint part = 0; part < LS_N_PARTS; part++)
        sums[i] = sums[i] * 31 + (guint64) test_part_ps (run, rank, (LsPart) part);
    sums[i] += (guint64) ls_engine_now_ps (run->engine);
  }
  ck_assert_uint_eq (sums[0], sums[1]);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("programs");
  TCase *tcase = tcase_create ("programs");
  tcase_set_timeout (tcase, 300);
  tcase_add_loop_test (tcase, every_combination_runs, 0, 4 * (int) G_N_ELEMENTS (recomputes));
  tcase_add_test (tcase, first_and_last_stage_tie_their_embeddings_without_trouble);
  tcase_add_loop_test (tcase, slow_input_starves_the_step, 0, 3);
  tcase_add_loop_test (tcase, slow_storage_starves_the_step, 0, 2);
  tcase_add_loop_test (tcase, who_reads_samples, 0, 2);
  tcase_add_test (tcase, chain_of_activations);
  tcase_add_test (tcase, blocks_with_kept_inputs);
  tcase_add_test (tcase, program_size_is_constant);
  tcase_add_test (tcase, two_runs_agree);
  suite_add_tcase (suite, tcase);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
