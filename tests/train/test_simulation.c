/* A whole run: real models on a real network through LsSimulation and LsSummary. */
#include <math.h>

#include "harness.h"

#include "base/error.h"
#include "base/time.h"
#include "hw/nodes.h"
#include "train/model/flops.h"
#include "train/pipeline/pipeline.h"
#include "train/run/summary.h"

/* `nodes` nodes of a preset on one non-blocking switch. */
static LsCluster *new_cluster (const char *preset, guint nodes) {
  const LsNode *node = ls_node_find (preset, NULL);
  const LsFabricSpec fabric = {.name = (char *) "compute",
                               .kind = LS_FABRIC_SINGLE_SWITCH,
                               .hop_latency_ps = 500000,
                               .rails = 1,
                               .leaf_radix = 64,
                               .oversubscription = 1,
                               .hop_ps = -1};
  LsNodeGroup group = {.name = (char *) "main", .nodes = nodes};

  ck_assert_ptr_nonnull (node);
  ls_node_spec_from_preset (&group.node, node);
  return ls_cluster_new_from (&group, 1, &fabric, 1, NULL);
}

static LsWorkload *new_workload (const char *model, guint t, guint d, guint p) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset (model, NULL), t * d * p);

  workload->layout = ls_layout (t, d, p);
  workload->seq_len = 1024;
  workload->global_batch = 4 * d;
  workload->steps = 3;
  return workload;
}

typedef struct {
  LsCluster *cluster;
  LsWorkload *workload;
  LsJob *job;
  LsSimulation *simulation;
} Run;

static void run_new (Run *run, LsWorkload *workload, const char *preset, guint nodes) {
  g_autoptr (GError) error = NULL;

  run->cluster = new_cluster (preset, nodes);
  run->workload = workload;
  ck_assert_msg (ls_workload_resolve (workload, &error), "%s", error ? error->message : "");
  run->job = ls_job_build (workload, run->cluster, &error);
  ck_assert_msg (run->job != NULL, "%s", error ? error->message : "");
  run->simulation = ls_simulation_new (run->cluster, workload, run->job, 1);
}

static void run_clear (Run *run) {
  ls_simulation_free (run->simulation);
  ls_job_free (run->job);
  ls_workload_free (run->workload);
  ls_cluster_free (run->cluster);
}

static LsSummary *run_to_end (Run *run) {
  g_autoptr (GError) error = NULL;
  gboolean good = ls_simulation_run (run->simulation, NULL, &error);

  ck_assert_msg (good, "%s", error ? error->message : "");
  return ls_summary_new (run->simulation);
}

START_TEST (breakdown_sums_to_the_step)
/* Parts of the summary, means over ranks and steps, sum to step_time_s; 1e-12 relative: sums of doubles whose
 * integer sources sum exactly (asserted in every run). */
{
  for (int zero = 0; zero <= 3; zero++) {
    LsWorkload *workload = new_workload ("gpt2-small", 2, 2, 2);
    Run run;
    workload->zero.stage = zero;
    run_new (&run, workload, "dgx-a100", 1);
    g_autoptr (LsSummary) summary = run_to_end (&run);
    double sum = 0;
    for (guint part = 0; part < LS_N_PARTS; part++)
      sum += summary->parts_s[part];
    ck_assert_double_eq_tol (sum / summary->step_time_s, 1, 1e-12);
    ck_assert_uint_eq (summary->steps, 3);
    ck_assert_uint_eq (summary->gpus, 8);
    ck_assert_uint_eq (summary->gpus_idle, 0);
    ck_assert_double_gt (summary->parts_s[LS_PART_COMPUTE], 0);
    ck_assert_double_gt (summary->parts_s[LS_PART_PIPELINE_BUBBLE], 0);
    run_clear (&run);
  }
}
END_TEST

START_TEST (real_models_run_in_every_layout)
/* A GPT with tied embeddings and a Llama (untied, GQA, SwiGLU), all ways to place 8 ranks, all stages, with and
 * without sequence parallelism, recompute by turns: each ends, and its parts sum (asserted inside). */
{
  static const char *const models[] = {"gpt2-medium", "llama-7b"};
  guint turn = 0;
  for (guint t = 1; t <= 4; t *= 2)
    for (guint p = 1; p <= 8 / t; p *= 2)
      for (int zero = 0; zero <= 3; zero++, turn++) {
        Run run;
        LsWorkload *workload = new_workload (models[_i], t, 8 / t / p, p);
        workload->zero.stage = zero;
        workload->zero.overlap = turn % 3 != 0;
        workload->sequence_parallel = t > 1 && turn % 2 == 0;
        workload->schedule = (LsScheduleKind) (turn % LS_N_SCHEDULES);
        const LsPipelineSize size = ls_workload_pipeline_size (workload);
        if (ls_pipeline_fault (ls_workload_pipeline (workload), &size) != NULL ||
            24 % ls_pipeline_n_stages (ls_workload_pipeline (workload), &size) != 0)
          workload->schedule = LS_SCHEDULE_1F1B; /* not for this size */
        workload->recompute.mode = (LsRecomputeMode) (turn % LS_N_RECOMPUTE_MODES);
        workload->recompute.every = 1 + turn % 2;
        workload->steps = 2;
        run_new (&run, workload, "dgx-a100", 1);
        g_autoptr (LsSummary) summary = run_to_end (&run);
        ck_assert_uint_eq (summary->steps, 2);
        ck_assert_double_gt (summary->mfu, 0);
        ck_assert_double_le (summary->mfu, summary->hfu * (1 + 1e-12));
        run_clear (&run);
      }
}
END_TEST

START_TEST (utilisation_is_flops_over_peak)
/* mfu = model FLOPs / (step x GPUs x peak), by definition; between 5 and 70 % for a GPT on A100s, where
 * published runs lie. */
{
  Run run;
  run_new (&run, new_workload ("gpt2-small", 1, 8, 1), "dgx-a100", 1);
  g_autoptr (LsSummary) summary = run_to_end (&run);
  const double flops = ls_workload_model_flops (run.workload);
  ck_assert_double_eq_tol (summary->mfu / (flops / summary->step_time_s / 8 / 312e12), 1, 1e-12);
  ck_assert_double_gt (summary->mfu, 0.05);
  ck_assert_double_lt (summary->mfu, 0.70);
  ck_assert_double_eq_tol (summary->tokens_per_s * summary->step_time_s, 4 * 8 * 1024, 1e-6);
  run_clear (&run);
}
END_TEST

START_TEST (hardware_flops_add_the_recompute)
/* Without recompute hfu = mfu; with every block run again the blocks' forward is counted a fourth time. Megatron
 * (SC21, appendix): 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) against 72 B s l h^2 (1 + s/(6h) + V/(12 l h)); the same
 * V/(l h) term in absolute FLOPs, as the logits are not run again. Selective adds 4 B s^2 h per layer. 1e-12.
 * DualPipe's devices hold two stages and run half of the micro-batches through each. */
{
  static const struct {
    LsRecomputeMode mode;
    LsScheduleKind schedule;
  } cases[] = {
      {LS_RECOMPUTE_NONE, LS_SCHEDULE_1F1B},      {LS_RECOMPUTE_FULL, LS_SCHEDULE_1F1B},
      {LS_RECOMPUTE_SELECTIVE, LS_SCHEDULE_1F1B}, {LS_RECOMPUTE_FULL, LS_SCHEDULE_DUALPIPE},
      {LS_RECOMPUTE_FULL, LS_SCHEDULE_DUALPIPEV}, {LS_RECOMPUTE_SELECTIVE, LS_SCHEDULE_ZB_V}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    Run run;
    LsWorkload *workload = new_workload ("gpt2-small", 1, 2, 2);
    workload->schedule = cases[i].schedule;
    workload->recompute = (LsRecompute){.mode = cases[i].mode, .every = 1, .layers = 12};
    /* A flash kernel keeps nothing of the core, so that selective would repeat nothing. */
    workload->attention = LS_ATTENTION_FUSED_SOFTMAX;
    run_new (&run, workload, "dgx-a100", 1);
    g_autoptr (LsSummary) summary = run_to_end (&run);
    const gint64 b = 8, s = 1024, h = 768, l = 12, v = workload->vocab;
    const double model = ls_flops_megatron (b, s, l, h, v);
    const double core = 4.0 * (double) (b * s * s * h * l);
    const double hardware = cases[i].mode == LS_RECOMPUTE_NONE ? model
                            : cases[i].mode == LS_RECOMPUTE_FULL
                                ? ls_flops_megatron_recompute (b, s, l, h, v)
                                : model + core;
    ck_assert_double_eq_tol (summary->hfu / summary->mfu, hardware / model, 1e-12);
    run_clear (&run);
  }
}
END_TEST

START_TEST (memory_is_that_of_the_fullest_rank)
/* The ledger holds at least parameters, gradients and optimizer state of the fullest stage; kinds sum to the
 * peak; reserved is what the memory model says of it. */
{
  Run run;
  run_new (&run, new_workload ("gpt2-small", 1, 2, 2), "dgx-a100", 1);
  g_autoptr (LsSummary) summary = run_to_end (&run);
  const LsMemorySummary *memory = &summary->memory;
  gint64 sum = 0;
  for (guint kind = 0; kind < LS_N_MEMORY; kind++)
    sum += memory->by_kind[kind];
  ck_assert_int_eq (sum, memory->peak_bytes);
  ck_assert_int_eq (memory->reserved_bytes, ls_memory_reserved (memory->peak_bytes, 0));
  ck_assert (memory->fits);
  for (guint rank = 0; rank < run.job->n_ranks; rank++)
    ck_assert_int_le (ls_engine_memory_peak (ls_simulation_engine (run.simulation), rank, NULL),
                      memory->peak_bytes);
  run_clear (&run);
}
END_TEST

typedef struct {
  guint steps;
  guint fail_at; /* steps; 0: never */
  gint64 end_ps;
  double share;
} Watch;

static gboolean watch_step (gpointer self, const LsStepResult *step, GError **error) {
  Watch *watch = self;

  ck_assert_int_eq (step->step, watch->steps);
  ck_assert_int_eq (step->start_ps, watch->end_ps);
  for (guint rank = 0; rank < step->n_places; rank++) {
    gint64 sum = 0;
    for (guint part = 0; part < LS_N_PARTS; part++)
      sum += step->parts_ps[rank * LS_N_PARTS + part];
    ck_assert_int_eq (sum, step->end_ps - step->start_ps);
    ck_assert_int_gt (step->peak_bytes[rank], 0);
  }
  watch->end_ps = step->end_ps;
  watch->steps++;
  if (watch->steps != watch->fail_at)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_IO, "the disk is full");
  return FALSE;
}

static void watch_progress (gpointer self, double share) {
  Watch *watch = self;

  ck_assert_double_ge (share, watch->share);
  ck_assert_double_le (share, 1);
  watch->share = share;
}

START_TEST (steps_and_progress_are_reported) {
  Run run;
  Watch watch = {0};
  const LsRunOptions options = {
      .step = watch_step, .step_self = &watch, .progress = watch_progress, .progress_self = &watch};
  run_new (&run, new_workload ("gpt2-small", 2, 2, 2), "dgx-a100", 1);
  ck_assert (ls_simulation_run (run.simulation, &options, NULL));
  ck_assert_uint_eq (watch.steps, 3);
  ck_assert_double_eq (watch.share, 1);
  run_clear (&run);
}
END_TEST

START_TEST (failing_step_function_ends_the_run)
/* The error of the function comes back, and no further step is reported as good. */
{
  Run run;
  Watch watch = {.fail_at = 2};
  g_autoptr (GError) error = NULL;
  const LsRunOptions options = {.step = watch_step, .step_self = &watch};
  run_new (&run, new_workload ("gpt2-small", 1, 2, 2), "dgx-a100", 1);
  ck_assert (!ls_simulation_run (run.simulation, &options, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_IO));
  ck_assert_uint_eq (watch.steps, 2);
  run_clear (&run);
}
END_TEST

START_TEST (interrupt_stops_it) {
  Run run;
  volatile gint stop = 1;
  g_autoptr (GError) error = NULL;
  const LsRunOptions options = {.stop = &stop};
  run_new (&run, new_workload ("gpt2-small", 2, 2, 2), "dgx-a100", 1);
  ck_assert (!ls_simulation_run (run.simulation, &options, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_INTERRUPTED));
  run_clear (&run);
}
END_TEST

START_TEST (slices_do_not_matter)
/* A run in slices, watched or not, ends at the same picosecond with the same accounts. */
{
  gint64 end_ps[2];
  LsInt128 compute_ps[2];
  for (guint i = 0; i < 2; i++) {
    Run run;
    run_new (&run, new_workload ("gpt2-small", 1, 4, 2), "dgx-a100", 1);
    if (i == 0) {
      ck_assert (ls_simulation_run (run.simulation, NULL, NULL));
    } else {
      gint64 to_ps = 0;
      LsEngine *engine = ls_simulation_engine (run.simulation);
      while (ls_simulation_n_steps (run.simulation, 0) < 2)
        ck_assert (ls_engine_run (engine, to_ps += LS_PS_PER_US * 777, NULL, NULL));
      ck_assert (ls_simulation_run (run.simulation, NULL, NULL));
    }
    end_ps[i] = ls_engine_now_ps (ls_simulation_engine (run.simulation));
    compute_ps[i] = ls_simulation_job (run.simulation, 0)->parts_ps[LS_PART_COMPUTE];
    run_clear (&run);
  }
  ck_assert_int_eq (end_ps[0], end_ps[1]);
  ck_assert (compute_ps[0] == compute_ps[1]);
}
END_TEST

static void slow_progress (gpointer self, double share) {
  (void) share;
  ++*(guint *) self;
  g_usleep (60000);
}

START_TEST (a_slow_machine_counts_the_same_events)
/* Who reports progress looks at the clock on the wall, and the engine must not: neither times nor events depend on it. Tensor
 * ranks in step go in convoys, which slices of simulated time had cut: 452 events became 2812. */
{
  guint64 events[2];
  guint n_reports = 0;
  const LsRunOptions options = {.progress = slow_progress, .progress_self = &n_reports};
  for (guint i = 0; i < 2; i++) {
    Run run;
    run_new (&run, new_workload ("gpt2-small", 2, 4, 1), "dgx-a100", 1);
    ck_assert (ls_simulation_run (run.simulation, i == 1 ? &options : NULL, NULL));
    events[i] = ls_engine_n_events (ls_simulation_engine (run.simulation));
    run_clear (&run);
  }
  ck_assert_uint_gt (n_reports, 0);
  ck_assert_uint_eq (events[0], events[1]);
}
END_TEST

/* Time of a rank that is charged to `other`, and of one forward pass of its stage's kernels. */
static gint64 other_ps (const Run *run, guint rank, gint64 *forward_ps) {
  const LsStage *stage = run->job->kinds[run->job->kind_of_rank[rank]].stage;
  gint64 parts_ps[LS_MAX_PARTS];

  *forward_ps = 0;
  for (guint r = 0; r < stage->n_runs; r++)
    for (guint i = 0; i < stage->runs[r].plan->n_forward; i++)
      if (!stage->runs[r].plan->forward[i].is_collective)
        *forward_ps += stage->runs[r].count * stage->runs[r].plan->forward[i].cost.alone_ps;
  ls_engine_account (ls_simulation_engine (run->simulation), rank, parts_ps);
  return parts_ps[LS_PART_OTHER];
}

START_TEST (evaluation_is_forward_passes)
/* Every second of four steps ends with 3 batches of m = 4 micro-batches forward through p stages: m + p - 1 passes of the
 * slowest stage's kernels a batch, that no gradient follows; a faster one waits, where it had waited
 * for others a little already: 0.1 %, beside the same run without them. */
{
  const guint p = (guint) _i + 1;
  gint64 without[2], with[2], slowest_ps = 0;

  for (guint evaluates = 0; evaluates <= 1; evaluates++) {
    Run run;
    LsWorkload *workload = new_workload ("gpt2-small", 1, 1, p);

    workload->steps = 4;
    if (evaluates)
      workload->evaluation = (LsPause){.every = 2, .steps = 3, .time_ps = -1};
    run_new (&run, workload, "dgx-a100", 1);
    g_autoptr (LsSummary) summary = run_to_end (&run);
    /* Of two short steps and two long ones half do not exceed the short time; the mean is between. */
    ck_assert_double_le (summary->step_time_p50_s, summary->step_time_s * (1 + 1e-9));
    if (evaluates) {
      ck_assert_double_lt (summary->step_time_p50_s, summary->step_time_s);
      ck_assert_double_gt (summary->step_time_p99_s, summary->step_time_s);
    }
    for (guint rank = 0; rank < p; rank++) {
      gint64 forward_ps;

      (evaluates ? with : without)[rank] = other_ps (&run, rank, &forward_ps);
      slowest_ps = MAX (slowest_ps, forward_ps);
    }
    run_clear (&run);
  }
  for (guint rank = 0; rank < p; rank++)
    ck_assert_double_eq_tol ((double) (with[rank] - without[rank]) / (double) slowest_ps,
                             2 * 3 * (4 + p - 1), 1e-3 * 30);
}
END_TEST

START_TEST (summary_as_json_and_text)
/* Every key that applies is there, those that do not are not; the text fits a screen of 24 x 80. */
{
  static const char *const present[] = {"\"schema\": 1",
                                        "\"step_time_s\": ",
                                        "\"step_time_p50_s\": ",
                                        "\"step_time_p99_s\": ",
                                        "\"tokens_per_s\": ",
                                        "\"mfu\": ",
                                        "\"hfu\": ",
                                        "\"time_breakdown_s\": {",
                                        "\"compute\": ",
                                        "\"pipeline_bubble\": ",
                                        "\"exposed_communication\": {",
                                        "\"pipeline\": ",
                                        "\"memory\": {",
                                        "\"fits\": true",
                                        "\"activations_bytes\": ",
                                        "\"events\": ",
                                        "\"trace\": null",
                                        "\"warnings\": [\"a \\\"quoted\\\" one\"]",
                                        "\"gpus_idle\": 6"};
  static const char *const absent[] = {"expert",   "server", "checkpoint",
                                       "recovery", "input",  "\"tensor\""};
  Run run;
  run_new (&run, new_workload ("gpt2-small", 1, 1, 2), "dgx-a100", 1);
  g_autoptr (LsSummary) summary = run_to_end (&run);
  g_ptr_array_add (summary->warnings, g_strdup ("a \"quoted\" one"));
  g_autofree char *json = ls_summary_to_json (summary);
  for (guint i = 0; i < G_N_ELEMENTS (present); i++)
    ck_assert_msg (strstr (json, present[i]) != NULL, "%s not in %s", present[i], json);
  for (guint i = 0; i < G_N_ELEMENTS (absent); i++)
    ck_assert_msg (strstr (json, absent[i]) == NULL, "%s in %s", absent[i], json);
  g_autofree char *text = ls_summary_to_text (summary);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  ck_assert_uint_le (g_strv_length (lines), 25);
  for (guint i = 0; lines[i] != NULL; i++)
    ck_assert_msg (strlen (lines[i]) <= 80, "%s", lines[i]);
  run_clear (&run);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("simulation");
  TCase *tcase = tcase_create ("simulation");
  tcase_set_timeout (tcase, 300);
  tcase_add_test (tcase, breakdown_sums_to_the_step);
  tcase_add_loop_test (tcase, real_models_run_in_every_layout, 0, 2);
  tcase_add_test (tcase, utilisation_is_flops_over_peak);
  tcase_add_test (tcase, hardware_flops_add_the_recompute);
  tcase_add_test (tcase, memory_is_that_of_the_fullest_rank);
  tcase_add_test (tcase, steps_and_progress_are_reported);
  tcase_add_test (tcase, failing_step_function_ends_the_run);
  tcase_add_test (tcase, interrupt_stops_it);
  tcase_add_test (tcase, slices_do_not_matter);
  tcase_add_test (tcase, a_slow_machine_counts_the_same_events);
  tcase_add_loop_test (tcase, evaluation_is_forward_passes, 0, 2);
  tcase_add_test (tcase, summary_as_json_and_text);
  suite_add_tcase (suite, tcase);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
