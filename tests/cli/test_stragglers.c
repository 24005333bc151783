/* Stragglers in simulated jobs: order statistics, closed forms of clocks, equal bits folded and not, draws
 * that do not depend on other stragglers. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "cli/scenario.h"
#include "faults/stragglers_run.h"
#include "suite.h"
#include "train/run/summary.h"

/* A data-parallel job of `n` GPUs of one node; `nodes` of them in all. */
static char *scenario_text (guint nodes, guint gpus, guint steps, const char *stragglers) {
  /* One GPU alone has long kernels, so that the fixed time of a step is little of it. */
  guint micro = gpus == 1 ? 8 : 1;

  return g_strdup_printf (
      "lockstep: 1\n"
      "cluster: {nodes: %u, node: dgx-a100, fabric: {kind: fat-tree, link: 200 Gb/s}}\n"
      "workload:\n"
      "  model: {kind: transformer, layers: 2, hidden: 1024, heads: 8, ffn: 4096, vocab: 1024}\n"
      "  parallel: {data: %u}\n"
      "  precision: bf16\n"
      "  batch: {global: %u, micro: %u, seq_len: %u}\n"
      "  stop: {steps: %u}\n"
      "%s%s",
      nodes, gpus, gpus * micro, micro, gpus == 1 ? 2048u : 128u, steps,
      stragglers != NULL ? "faults:\n  stragglers:\n" : "", stragglers != NULL ? stragglers : "");
}

typedef struct {
  GArray *step_ps; /* gint64 */
  guint places;
  gint64 caused_ps[64];
  LsSlowdown slow;                                   /* against a run without */
  double parts_s[LS_N_PARTS], without_s[LS_N_PARTS]; /* of the mean step, mean over ranks */
} Outcome;

static void outcome_clear (Outcome *outcome) {
  g_array_unref (outcome->step_ps);
}

static LsSimulation *simulate (const LsScenario *scenario, const LsJob *job, gboolean fold,
                               const LsStragglers *stragglers, LsStragglersRun **slow) {
  const LsSimulationJob one = {.workload = scenario->workload, .job = job};
  LsSimulationOptions how = {.fold = fold};
  g_autoptr (GError) error = NULL;
  ls_stragglers_set_options (stragglers, &how);
  LsSimulation *simulation =
      ls_simulation_new_with (scenario->cluster, &one, 1, scenario->seed, &how);
  *slow = ls_stragglers_install (stragglers, simulation);
  ck_assert_msg (ls_simulation_run (simulation, NULL, &error), "%s",
                 error != NULL ? error->message : "");
  return simulation;
}

static Outcome run (const char *text, gboolean fold) {
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("test.yaml", text);
  g_autoptr (GError) error = NULL;
  Outcome out = {.step_ps = g_array_new (FALSE, FALSE, sizeof (gint64))};
  ck_assert_msg (!ls_config_errors_any (scenario->errors), "faults in %s", text);
  g_autoptr (LsJob) job = ls_job_build (scenario->workload, scenario->cluster, &error);
  LsStragglersRun *slow, *none;
  LsSimulation *simulation = simulate (scenario, job, fold, scenario->stragglers, &slow);
  LsSimulation *without = simulate (scenario, job, TRUE, NULL, &none);
  const LsJobRun *job_run = ls_simulation_job (simulation, 0);
  g_array_append_vals (out.step_ps, job_run->step_ps->data, job_run->step_ps->len);
  out.places = ls_simulation_n_places (simulation);
  out.slow = ls_slowdown (simulation, without, 0);
  for (guint rank = 0; rank < MIN (job->n_ranks, 64); rank++)
    out.caused_ps[rank] = ls_engine_caused_wait_ps (ls_simulation_engine (simulation),
                                                    ls_simulation_place (simulation, rank));
  g_autoptr (LsSummary) summary = ls_summary_new (simulation), base = ls_summary_new (without);
  memcpy (out.parts_s, summary->parts_s, sizeof out.parts_s);
  memcpy (out.without_s, base->parts_s, sizeof out.without_s);
  ls_stragglers_run_free (slow);
  ls_simulation_free (simulation);
  ls_simulation_free (without);
  return out;
}

static double step_s (const Outcome *outcome, guint step) {
  return ls_time_s_from_ps (g_array_index (outcome->step_ps, gint64, step));
}

/* Step time is a + b x (largest factor) when factors are of steps and communication costs the same. */
static Outcome run_with (guint nodes, guint gpus, guint steps, const char *stragglers,
                         gboolean fold) {
  g_autofree char *text = scenario_text (nodes, gpus, steps, stragglers);
  return run (text, fold);
}

typedef struct {
  const char *dist;
  double expected; /* E of the largest of 8 */
} Golden;

/* theory: order statistics of iid draws; values by H_8, Gamma functions and integration.
 * exp(1): H_8 = 2.717857; 1+exp(1): 3.717857; Pareto(2, 3): 5.491653; lognormal(0, 0.5): 2.138940. */
static const Golden golden[] = {
    {"{dist: exponential, mean: 1}", 2.717857},
    {"{dist: shifted-exponential, shift: 1, mean: 1}", 3.717857},
    {"{dist: pareto, minimum: 2, shape: 3}", 5.491653},
    {"{dist: lognormal, median: 1, sigma: 0.5}", 2.138940},
};

/* The step of eight ranks on NVLink, which is not free: its part is taken out by two runs with constant
 * factors 20 and 40 for all, where communication hides behind kernels as far as it can. The mean over N
 * steps then lies within four standard errors of the sample, plus 2 % for hidden communication that short
 * kernels show. The first step also fills pipelines and is left out. */
START_TEST (test_order_statistics) {
  enum { N = 1500 };
  const Golden *row = &golden[_i];
  Outcome once = run_with (1, 8, 3, "    a: {target: {all: true}, time_factor: 20}\n", TRUE);
  Outcome twice = run_with (1, 8, 3, "    a: {target: {all: true}, time_factor: 40}\n", TRUE);
  g_autofree char *drawn =
      g_strdup_printf ("    scale: {target: {all: true}, time_factor: 20}\n"
                       "    b: {target: {all: true}, time_factor: %s, per: step}\n",
                       row->dist);
  Outcome out = run_with (1, 8, N + 1, drawn, FALSE);
  double per_factor = step_s (&twice, 2) - step_s (&once, 2);
  double fixed = step_s (&once, 2) - per_factor, sum = 0, squares = 0;
  for (guint step = 1; step <= N; step++) {
    double largest = (step_s (&out, step) - fixed) / per_factor;
    sum += largest;
    squares += largest * largest;
  }
  double mean = sum / N, error = sqrt ((squares / N - mean * mean) / N);
  ck_assert_msg (fabs (mean - row->expected) < 4 * error + 0.005 * row->expected,
                 "%s: %g of %g, standard error %g", row->dist, mean, row->expected, error);
  ck_assert_double_gt (error, 0);
  outcome_clear (&once);
  outcome_clear (&twice);
  outcome_clear (&out);
}
END_TEST

static gboolean same_steps (const Outcome *a, const Outcome *b) {
  return a->step_ps->len == b->step_ps->len &&
         memcmp (a->step_ps->data, b->step_ps->data, a->step_ps->len * sizeof (gint64)) == 0;
}

static const char *const folded[] = {
    "    a: {target: {rank: 3}, time_factor: 1.5}\n",
    "    a: {target: {node: \"main[1]\"}, time_factor: 2, from: 10 ms, until: 60 ms}\n",
    "    a: {target: {rank: 3}, time_factor: {dist: gamma, mean: 2, shape: 2}, per: step}\n",
    "    a: {target: {ranks: 4-6}, time_factor: {dist: weibull, scale: 1, shape: 2}, per: "
    "operation}\n",
    "    a: {target: {rank: 9}, time_factor: 3, normal_for: {dist: exponential, mean: 10 ms}, "
    "slow_for: {dist: exponential, mean: 10 ms}}\n",
    "    a: {target: {rank: 9}, affects: host, normal_for: 10 ms, slow_for: 3 ms}\n"
    "    b: {target: {ranks: 0-3}, time_factor: {dist: uniform, low: 1, high: 2}}\n",
};

/* Folded equals unfolded to the picosecond, classes are fewer than ranks, and the job is slower than without. */
START_TEST (test_folded_equals_unfolded) {
  Outcome all = run_with (2, 16, 6, folded[_i], FALSE),
          some = run_with (2, 16, 6, folded[_i], TRUE);
  Outcome none = run_with (2, 16, 6, NULL, TRUE);
  ck_assert (same_steps (&all, &some));
  ck_assert_uint_eq (all.places, 16);
  ck_assert_uint_lt (some.places, 16);
  ck_assert (!same_steps (&all, &none));
  ck_assert_double_gt (all.slow.slowdown, 1);
  outcome_clear (&all);
  outcome_clear (&some);
  outcome_clear (&none);
}
END_TEST

/* A GPU at a speed of zero half of the time: the step of one rank, which nothing overlaps, is longer by the
 * pauses that fall into it: p ms of work with a pause of d after every w of running. */
START_TEST (test_pauses) {
  Outcome none = run_with (1, 1, 3, NULL, FALSE);
  double step = step_s (&none, 0) + step_s (&none, 1) + step_s (&none, 2);
  g_autofree char *text = g_strdup_printf (
      "    gc: {target: {rank: 0}, affects: host, normal_for: %.9f s, slow_for: 7 ms}\n",
      step * 0.3);
  Outcome out = run_with (1, 1, 3, text, FALSE);
  double slow = step_s (&out, 0) + step_s (&out, 1) + step_s (&out, 2);
  /* Pauses begin after 0.3, 0.6 and 0.9 of the work; kernels that load neither SMs nor memory (none is
   * longer than 10 us) may run on in one. */
  ck_assert_double_eq_tol (slow - step, 0.021, 4e-5);
  outcome_clear (&none);
  outcome_clear (&out);
}
END_TEST

/* Constant clocks for a while: before and after steps are as without, and one within the time is as one of a
 * run that is throttled throughout. */
START_TEST (test_throttled) {
  Outcome none = run_with (1, 1, 8, NULL, FALSE);
  double step = step_s (&none, 4);
  Outcome whole =
      run_with (1, 1, 8, "    t: {target: {rank: 0}, time_factor: 2, until: 1000 s}\n", FALSE);
  g_autofree char *text =
      g_strdup_printf ("    t: {target: {rank: 0}, time_factor: 2, from: %.9f s, until: %.9f s}\n",
                       step * 1.5, step * 4.5);
  Outcome some = run_with (1, 1, 8, text, FALSE);
  double slow = step_s (&whole, 4);
  ck_assert_double_gt (slow, step * 1.1);
  ck_assert_double_le (slow, step * 2 * (1 + 1e-9));
  ck_assert_double_eq_tol (step_s (&some, 0), step_s (&none, 0), 1e-12);
  ck_assert_double_eq_tol (step_s (&some, 7), step_s (&none, 7), 1e-12);
  ck_assert_double_eq_tol (step_s (&some, 2), slow, 1e-9);
  outcome_clear (&none);
  outcome_clear (&whole);
  outcome_clear (&some);
}
END_TEST

/* A slow adapter makes exposed communication longer, a link without traffic changes nothing. */
START_TEST (test_bad_cable) {
  Outcome none = run_with (2, 16, 3, NULL, FALSE);
  Outcome cable = run_with (2, 16, 3,
                            "    c: {target: {nic: \"main[1]/nic0\"}, affects: network, "
                            "time_factor: 50}\n",
                            FALSE);
  Outcome later = run_with (2, 16, 3,
                            "    c: {target: {nic: \"main[1]/nic0\"}, affects: network, "
                            "time_factor: 50, from: 1000 s}\n",
                            FALSE);
  ck_assert_double_gt (cable.slow.slowdown, 1.05);
  ck_assert (same_steps (&none, &later));
  outcome_clear (&none);
  outcome_clear (&cable);
  outcome_clear (&later);
}
END_TEST

/* The slow rank is found, and its own slow-down is its factor. */
START_TEST (test_blame) {
  Outcome out = run_with (2, 16, 3, "    a: {target: {rank: 11}, time_factor: 1.5}\n", FALSE);
  ck_assert_uint_ge (out.slow.n_ranks, 1);
  ck_assert_uint_eq (out.slow.ranks[0].rank, 11);
  ck_assert_double_eq_tol (out.slow.ranks[0].slowdown, 1.5, 1e-3);
  ck_assert_double_gt (out.slow.ranks[0].caused_share, 0.5);
  outcome_clear (&out);
}
END_TEST

/* Waiting is not communication. One rank computes three times as long; the others' step is its step, and what
 * they lose is straggler wait, however many collectives run beside the slow one's computing (more than an account
 * remembers: LS_HISTORY). With a network without time no communication is exposed; with one that takes time it
 * is no more than without the straggler, but for the gathers of the first layer and reductions of the last one. */
START_TEST (test_waiting_is_no_communication) {
  const gboolean fast = _i % 2 == 0;
  const int stage = _i / 2 == 0 ? 0 : 3;
  g_autofree char *text = g_strdup_printf (
      "lockstep: 1\n"
      "cluster: {nodes: 1, node: {preset: dgx-a100, intra: {rate: %s}%s}}\n"
      "workload:\n"
      "  model: {kind: transformer, layers: 24, hidden: 2048, heads: 16, ffn: 8192, vocab: 1024}\n"
      "  precision: bf16\n"
      "  zero: {stage: %d}\n"
      "  batch: {global: 32, micro: 4, seq_len: 1024}\n"
      "  stop: {steps: 2}\n"
      "faults: {stragglers: {a: {target: {rank: 5}, time_factor: 3}}}\n",
      fast ? "1000000 GB/s" : "300 GB/s",
      fast ? ", tuning: {protocol: ideal, efficiency: 100 %, launch: 0 s, hop: 0 s}" : "", stage);
  Outcome out = run (text, FALSE);
  const LsPart part = stage == 0 ? LS_PART_EXPOSED_DATA : LS_PART_EXPOSED_ZERO;
  const double step = step_s (&out, 1);

  ck_assert_double_gt (out.slow.slowdown, 2);
  ck_assert_double_gt (out.parts_s[LS_PART_STRAGGLER_WAIT], 0.4 * step);
  if (fast)
    ck_assert_double_le (out.parts_s[part], 1e-3 * step);
  else
    ck_assert_double_le (out.parts_s[part], 1.1 * out.without_s[part]);
  outcome_clear (&out);
}
END_TEST

/* Streams: the draws of one do not depend on another before it in name and order, nor on its ranks; same
 * seed, same bits. With a factor of one the other straggler takes part and changes no time. */
START_TEST (test_streams) {
  const char *one =
      "    m: {target: {all: true}, time_factor: {dist: lognormal, median: 1, sigma: 0.2}, "
      "per: operation}\n";
  g_autofree char *two = g_strconcat (
      "    a: {target: {rank: 2}, time_factor: {dist: uniform, low: 1, high: 1}, per: operation}\n",
      one,
      "    z: {target: {rank: 2}, time_factor: {dist: bimodal, fast: 1, slow: 1, slow_share: 50 "
      "%}, "
      "per: step}\n",
      NULL);
  Outcome first = run_with (1, 8, 4, one, FALSE), again = run_with (1, 8, 4, one, FALSE);
  Outcome more = run_with (1, 8, 4, two, FALSE);
  ck_assert (same_steps (&first, &again));
  ck_assert (same_steps (&first, &more));
  ck_assert_int_ne (g_array_index (first.step_ps, gint64, 2),
                    g_array_index (first.step_ps, gint64, 3));
  outcome_clear (&first);
  outcome_clear (&again);
  outcome_clear (&more);
}
END_TEST

/* --- closed forms beyond the drawn factor ------------------------------------------------------ */

/* Largest of 64 lognormal(0, 0.5) draws 3.315357, of 64 exponential ones H_64 = 4.743891: golden values as above,
 * on eight nodes, whose communication is again taken out by constant factors. */
START_TEST (test_order_statistics_of_many) {
  enum { N = 250 };
  static const Golden many[] = {{"{dist: lognormal, median: 1, sigma: 0.5}", 3.315357},
                                {"{dist: exponential, mean: 1}", 4.743891}};
  const Golden *row = &many[_i];
  guint steps = MAX (test_scaled (N), 50u);
  Outcome once = run_with (8, 64, 3, "    a: {target: {all: true}, time_factor: 200}\n", TRUE);
  Outcome twice = run_with (8, 64, 3, "    a: {target: {all: true}, time_factor: 400}\n", TRUE);
  g_autofree char *drawn =
      g_strdup_printf ("    scale: {target: {all: true}, time_factor: 200}\n"
                       "    b: {target: {all: true}, time_factor: %s, per: step}\n",
                       row->dist);
  Outcome out = run_with (8, 64, steps + 1, drawn, FALSE);
  double per_factor = step_s (&twice, 2) - step_s (&once, 2);
  double fixed = step_s (&once, 2) - per_factor, sum = 0, squares = 0;
  for (guint step = 1; step <= steps; step++) {
    double largest = (step_s (&out, step) - fixed) / per_factor;
    sum += largest;
    squares += largest * largest;
  }
  double mean = sum / steps, error = sqrt ((squares / steps - mean * mean) / steps);
  ck_assert_msg (fabs (mean - row->expected) < 4 * error + 0.005 * row->expected,
                 "%s: %g of %g, standard error %g", row->dist, mean, row->expected, error);
  outcome_clear (&once);
  outcome_clear (&twice);
  outcome_clear (&out);
}
END_TEST

/* An all-reduce of a ring over four nodes of one adapter each, without latency: 2 (n - 1)/n S / B. One cable at a
 * quarter of its rate sets the pace of all rounds: four times as long, exactly; slow half of the time, the time of
 * N in a row is in between by the bytes that pass: per second as many as (1 + 1/4)/2 of the whole rate. */
START_TEST (test_one_bad_cable_is_its_closed_form) {
  static const char *const cables[] = {"",
                                       "c: {target: {nic: \"main[2]/nic0\"}, affects: network, "
                                       "time_factor: 4}",
                                       "c: {target: {nic: \"main[2]/nic0\"}, affects: network, "
                                       "time_factor: 4, normal_for: 10 ms, slow_for: 10 ms}"};
  const double expected[] = {1, 4, 1 / 0.625}, tolerance[] = {1e-6, 1e-6, 0.01};
  double seconds[3];
  for (guint i = 0; i < 3; i++) {
    g_autofree char *text = g_strdup_printf (
        "lockstep: 1\n"
        "cluster: {nodes: 4, node: {gpu: h100-sxm-80gb, gpus: 1, nics: {compute: {rate: 80 Gb/s, "
        "count: 1}}, tuning: {protocol: ideal}}, fabric: {kind: single-switch, link: 80 Gb/s, "
        "hop_latency: 0 s, tuning: {efficiency: 100 %%}}}\n"
        "workload: {model: {kind: traffic, operation: all_reduce, size: 100 MB, algorithm: ring, "
        "repeat: 200}}\n"
        "faults: {stragglers: {%s}}\n",
        cables[i]);
    Outcome out = run (text, FALSE);
    seconds[i] = 0;
    for (guint step = 0; step < out.step_ps->len; step++)
      seconds[i] += step_s (&out, step);
    outcome_clear (&out);
  }
  ck_assert_double_eq_tol (seconds[0], 200 * 1.5 * 100e6 / 10e9, 1e-6 * seconds[0]);
  for (guint i = 0; i < 3; i++)
    ck_assert_double_eq_tol (seconds[i] / seconds[0], expected[i], tolerance[i] * expected[i]);
}
END_TEST

static Outcome run_loader (guint steps, const char *straggler) {
  g_autofree char *text = g_strdup_printf (
      "lockstep: 1\n"
      "cluster: {nodes: 1, node: {preset: dgx-a100, gpus: 1}}\n"
      "workload:\n"
      "  model: {kind: transformer, layers: 2, hidden: 1024, heads: 8, ffn: 4096, vocab: 1024}\n"
      "  precision: bf16\n"
      "  batch: {global: 4, micro: 4, seq_len: 128}\n"
      "  input: {threads: 1, cpu_time_per_sample: 1 s, prefetch: 1}\n"
      "  stop: {steps: %u}\n"
      "%s%s",
      steps, straggler != NULL ? "faults:\n  stragglers:\n" : "",
      straggler != NULL ? straggler : "");
  return run (text, FALSE);
}

/* One thread decodes four samples of a second each per step, and nothing else takes so long: a step is 4 s, a
 * loader three times as slow 12 s. With a hiccup of 10 x in a fifth of the batches it is 4 s (0.8 + 0.2 x 10)
 * in the mean; factors from a file of 1, 1, 4 have the mean 2. */
START_TEST (test_loader) {
  enum { N = 400 };
  g_autofree char *file = g_build_filename (g_get_tmp_dir (), "lockstep-factors-XXXXXX", NULL);
  int fd = g_mkstemp (file);
  ck_assert_int_ge (fd, 0);
  ck_assert_int_eq (write (fd, "1\n1\n4\n", 6), 6);
  close (fd);
  g_autofree char *empirical = g_strdup_printf (
      "    l: {target: {all: true}, affects: input, per: operation, time_factor: {dist: empirical, "
      "file: \"%s\"}}\n",
      file);
  const char *stragglers[] = {NULL, "    l: {target: {rank: 0}, affects: input, time_factor: 3}\n",
                              "    l: {target: {all: true}, affects: input, per: operation, "
                              "time_factor: {dist: bimodal, fast: "
                              "1, slow: 10, slow_share: 20 %}}\n",
                              empirical};
  const double mean_s[] = {4, 12, 4 * 2.8, 8}, deviation_s[] = {0, 0, 4 * 9 * 0.4, 4 * 1.4142};
  for (guint i = 0; i < G_N_ELEMENTS (stragglers); i++) {
    guint steps = i < 2 ? 6 : N;
    Outcome out = run_loader (steps, stragglers[i]);
    double sum = 0;
    for (guint step = 2; step < steps; step++)
      sum += step_s (&out, step);
    double mean = sum / (steps - 2);
    ck_assert_msg (fabs (mean - mean_s[i]) <
                       4 * deviation_s[i] / sqrt (steps - 2) + 0.005 * mean_s[i],
                   "loader %u: %g s of %g", i, mean, mean_s[i]);
    outcome_clear (&out);
  }
  g_remove (file);
}
END_TEST

/* A factor from a file per step, on eight ranks: the largest is 3 unless all of them draw one of the three lines of
 * four that say 1. */
START_TEST (test_empirical_factors) {
  enum { N = 300 };
  g_autofree char *file = g_build_filename (g_get_tmp_dir (), "lockstep-factors-XXXXXX", NULL);
  int fd = g_mkstemp (file);
  ck_assert_int_ge (fd, 0);
  ck_assert_int_eq (write (fd, "1\n1\n1\n3\n", 8), 8);
  close (fd);
  Outcome once = run_with (1, 8, 3, "    a: {target: {all: true}, time_factor: 20}\n", TRUE);
  Outcome thrice = run_with (1, 8, 3, "    a: {target: {all: true}, time_factor: 60}\n", TRUE);
  g_autofree char *drawn = g_strdup_printf (
      "    scale: {target: {all: true}, time_factor: 20}\n"
      "    b: {target: {all: true}, time_factor: {dist: empirical, file: \"%s\"}, per: step}\n",
      file);
  Outcome out = run_with (1, 8, N + 1, drawn, FALSE);
  guint fast = 0;
  for (guint step = 1; step <= N; step++) {
    double s = step_s (&out, step);
    gboolean is_fast = fabs (s - step_s (&once, 2)) < 0.02 * s;
    ck_assert_msg (is_fast || fabs (s - step_s (&thrice, 2)) < 0.02 * s, "step %u: %g s", step, s);
    fast += is_fast ? 1 : 0;
  }
  double share = pow (0.75, 8); /* all eight draw one of the three ones: 0.1001 */
  ck_assert_double_eq_tol (fast, N * share, 4 * sqrt (N * share * (1 - share)));
  outcome_clear (&once);
  outcome_clear (&thrice);
  outcome_clear (&out);
  g_remove (file);
}
END_TEST

/* Steps that each of four workers has finished when 600 updates have come in that cost no time: what the policy does
 * not couple is a race, and a worker's share of it is its speed. */
static void race (const char *straggler, double *steps) {
  g_autofree char *text = g_strdup_printf (
      "lockstep: 1\n"
      "cluster: {nodes: 1, node: {preset: dgx-a100, gpus: 4}}\n"
      "workload:\n"
      "  model: {kind: transformer, layers: 2, hidden: 1024, heads: 8, ffn: 4096, vocab: 1024}\n"
      "  parallel: {data: 4}\n"
      "  batch: {per_worker: 8, micro: 8, seq_len: 2048}\n"
      "  update: {policy: async, network: none}\n"
      "  stop: {updates: 600}\n"
      "faults: {stragglers: {slow: %s}}\n",
      straggler);
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("race.yaml", text);
  g_autofree char *faults = ls_config_errors_text (scenario->errors);
  g_autoptr (GError) error = NULL;

  ck_assert_str_eq (faults, "");
  g_autoptr (LsUpdateRun) run =
      ls_update_run_new (scenario->cluster, scenario->workload, scenario->seed, &error);
  g_autoptr (LsStragglersRun) slow = ls_stragglers_install_updates (scenario->stragglers, run);
  ck_assert (ls_update_run_go (run, NULL, NULL, NULL, &error));
  for (guint worker = 0; worker < 4; worker++)
    steps[worker] = (double) ls_update_clock (ls_update_run_update (run), worker);
}

/* Workers that run a model are slowed down as ranks of a synchronous job are: twice the time and half of the steps, by a
 * factor of the run, one that is drawn, or a process that stands still every other 50 ms. */
START_TEST (test_workers_of_a_policy) {
  static const char *const half[] = {
      "{target: {rank: 2}, time_factor: 2}",
      "{target: {rank: 2}, time_factor: {dist: constant, value: 2}, per: operation}",
      "{target: {rank: 2}, affects: host, normal_for: {dist: constant, value: 50 ms}, slow_for: "
      "{dist: constant, value: 50 ms}}"};
  double steps[4];

  race (half[_i], steps);
  ck_assert_double_eq_tol (steps[0], steps[1], 1.5);
  ck_assert_double_eq_tol (steps[2] / steps[0], 0.5, 0.02);
}
END_TEST

/* Two that are slow alike run once: the one that is listed says so; where every rank runs each is one. */
START_TEST (a_class_says_how_many_it_is) {
  const char *slow = "    a: {target: {rank: 2}, time_factor: 3}\n"
                     "    b: {target: {rank: 5}, time_factor: 3}\n";
  Outcome alike = run_with (1, 8, 3, slow, TRUE), whole = run_with (1, 8, 3, slow, FALSE);

  ck_assert_uint_eq (alike.slow.ranks[0].rank, 2);
  ck_assert_uint_eq (alike.slow.ranks[0].alike, 2);
  ck_assert_uint_eq (whole.slow.ranks[0].alike, 1);
  ck_assert_uint_eq (whole.slow.ranks[0].rank, 2);
  outcome_clear (&alike);
  outcome_clear (&whole);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, a_class_says_how_many_it_is);
  tcase_set_timeout (tcase, 120);
  tcase_add_loop_test (tcase, test_workers_of_a_policy, 0, 3);
  tcase_add_loop_test (tcase, test_order_statistics, 0, (int) G_N_ELEMENTS (golden));
  tcase_add_loop_test (tcase, test_folded_equals_unfolded, 0, (int) G_N_ELEMENTS (folded));
  tcase_add_test (tcase, test_pauses);
  tcase_add_test (tcase, test_throttled);
  tcase_add_test (tcase, test_bad_cable);
  tcase_add_loop_test (tcase, test_order_statistics_of_many, 0, 2);
  tcase_add_test (tcase, test_one_bad_cable_is_its_closed_form);
  tcase_add_test (tcase, test_loader);
  tcase_add_test (tcase, test_empirical_factors);
  tcase_add_test (tcase, test_blame);
  tcase_add_loop_test (tcase, test_waiting_is_no_communication, 0, 4);
  tcase_add_test (tcase, test_streams);
}

LS_TEST_MAIN ("stragglers", add)
