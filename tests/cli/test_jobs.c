/* Several jobs on one network: the laws that sharing obeys, whatever the jobs are called. Scenarios are
 * text, run as `lockstep run` does. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "cli/scenario.h"
#include "train/run/summary.h"

/* Four leaves of five nodes with one GPU and one adapter each; a leaf has one adapter's rate upwards. Large
 * messages, so that latencies (some 10 us of 50 ms) hide below the tolerance of 0.1 %. */
#define CLUSTER                                                                          \
  "lockstep: 1\n"                                                                        \
  "cluster:\n"                                                                           \
  "  nodes: 20\n"                                                                        \
  "  node: {gpu: h100-sxm-80gb, gpus: 1, nics: {compute: {rate: 400 Gb/s, count: 1}}}\n" \
  "  fabric: {kind: fat-tree, link: 400 Gb/s, leaf_radix: 6, oversubscription: 5}\n"
#define FLOW "model: {kind: traffic, operation: send_recv, size: 2 GB, repeat: %d}"
#define TOLERANCE 1e-3

/* The summary of a scenario that must be good (transfer full). */
static LsSummary *run_text (const char *text, gboolean fold) {
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("test", text);
  g_autofree char *faults = ls_config_errors_text (scenario->errors);
  g_autoptr (LsTables) tables = ls_tables_new ();
  const LsSimulationOptions options = {.fold = fold};
  LsSimulationJob jobs[4];
  LsSimulation *simulation;
  LsSummary *summary;

  ck_assert_msg (scenario->workload != NULL && !ls_config_errors_any (scenario->errors), "%s\n%s",
                 faults, text);
  ck_assert_uint_le (scenario->n_jobs, G_N_ELEMENTS (jobs));
  for (guint j = 0; j < scenario->n_jobs; j++) {
    LsJob *job = ls_job_build_with (scenario->jobs[j].workload, scenario->cluster, tables, NULL);
    ck_assert_ptr_nonnull (job);
    jobs[j] = (LsSimulationJob){scenario->jobs[j].name, scenario->jobs[j].workload, job,
                                scenario->jobs[j].start_ps};
  }
  simulation =
      ls_simulation_new_with (scenario->cluster, jobs, scenario->n_jobs, scenario->seed, &options);
  ck_assert (ls_simulation_run (simulation, NULL, NULL));
  summary = ls_summary_new (simulation);
  ls_simulation_free (simulation);
  for (guint j = 0; j < scenario->n_jobs; j++)
    ls_job_free ((LsJob *) jobs[j].job);
  return summary;
}

static const LsSummary *job_of (const LsSummary *summary, const char *name) {
  for (guint j = 0; j < summary->n_jobs; j++)
    if (strcmp (summary->jobs[j]->name, name) == 0)
      return summary->jobs[j];
  ck_abort_msg ("no job %s", name);
}

/* Mean time of an operation of a job. */
static double time_of (const char *text, const char *name) {
  g_autoptr (LsSummary) summary = run_text (text, FALSE);

  return (summary->n_jobs == 0 ? summary : job_of (summary, name))->traffic.time_s;
}

static char *flow (const char *name, const char *nodes, int repeat, const char *more) {
  g_autofree char *what = g_strdup_printf (FLOW, repeat);

  return g_strdup_printf ("  %s: {placement: \"main[%s]\", %sworkload: {%s}}\n", name, nodes, more,
                          what);
}

START_TEST (two_flows_share_an_uplink_equally)
/* Both cross the uplink of leaf 0: each takes twice as long as alone, to the same picosecond. */
{
  g_autofree char *a = flow ("a", "0,5", 2, ""), *b = flow ("b", "1,10", 2, "");
  g_autofree char *one = g_strconcat (CLUSTER "jobs:\n", a, NULL);
  g_autofree char *two = g_strconcat (one, b, NULL);
  double alone = time_of (one, "a");

  ck_assert_double_eq_tol (time_of (two, "a") / alone, 2, 2 * TOLERANCE);
  ck_assert_double_eq (time_of (two, "a"), time_of (two, "b"));
}
END_TEST

START_TEST (a_job_that_ends_frees_its_links)
/* b's three messages meet a's first only for a's time: with unit u alone, a takes 2 u (half rate),
 * and b 2 u for its first one and u for each other: 4 u in all. */
{
  g_autofree char *a = flow ("a", "0,5", 1, ""), *b = flow ("b", "1,10", 3, "");
  g_autofree char *one = g_strconcat (CLUSTER "jobs:\n", a, NULL);
  g_autofree char *two = g_strconcat (one, b, NULL);
  double u = time_of (one, "a");
  g_autoptr (LsSummary) summary = run_text (two, FALSE);

  ck_assert_double_eq_tol (job_of (summary, "a")->end_s / u, 2, 2 * TOLERANCE);
  ck_assert_double_eq_tol (job_of (summary, "b")->end_s / u, 4, 4 * TOLERANCE);
  ck_assert_double_eq (summary->end_s, job_of (summary, "b")->end_s);
}
END_TEST

START_TEST (a_job_begins_at_its_start)
/* Until then the other has the uplink alone: a message of u alone begins u/2 before b starts, so half of
 * it is left, which takes u: 1.5 u in all. b begins then and is alone after another u. */
{
  g_autofree char *a = flow ("a", "0,5", 1, "");
  g_autofree char *one = g_strconcat (CLUSTER "jobs:\n", a, NULL);
  double u = time_of (one, "a");
  g_autofree char *start = g_strdup_printf ("start: %.9f s, ", u / 2);
  g_autofree char *b = flow ("b", "1,10", 1, start);
  g_autofree char *two = g_strconcat (one, b, NULL);
  g_autoptr (LsSummary) summary = run_text (two, FALSE);

  ck_assert_double_eq_tol (job_of (summary, "b")->start_s, u / 2, 1e-9);
  ck_assert_double_eq_tol (job_of (summary, "a")->end_s / u, 1.5, 2 * TOLERANCE);
  ck_assert_double_eq_tol (job_of (summary, "b")->end_s / u, 2, 2 * TOLERANCE);
}
END_TEST

START_TEST (a_job_alone_on_its_leaf_is_not_slowed)
/* Traffic below leaf 3 crosses no trunk: not a bit changes beside a storm on all the others. */
{
  g_autofree char *a = flow ("a", "15,16", 4, "");
  g_autofree char *one = g_strconcat (CLUSTER "jobs:\n", a, NULL);
  g_autofree char *two = g_strconcat (one,
                                      "  storm: {placement: \"main[0-14]\", workload: {model: "
                                      "{kind: traffic, operation: all_to_all, "
                                      "size: 4 GB, repeat: 3}}}\n",
                                      NULL);

  ck_assert_double_eq (time_of (one, "a"), time_of (two, "a"));
}
END_TEST

START_TEST (one_flow_of_33_on_an_uplink)
/* 32 nodes of a leaf send to 32 elsewhere, one flow each, and one more flow beside them: max-min fair by
 * flow leaves it 1/33 of the uplink, which is as fast as one adapter. */
{
  static const char cluster[] =
      "lockstep: 1\n"
      "cluster:\n"
      "  nodes: 66\n"
      "  node: {gpu: h100-sxm-80gb, gpus: 1, nics: {compute: {rate: 400 Gb/s, count: 1}}}\n"
      "  fabric: {kind: fat-tree, link: 400 Gb/s, leaf_radix: 34, oversubscription: 33}\n"
      "jobs:\n"
      "  flow: {placement: \"main[32,65]\", workload: {model: {kind: traffic, operation: "
      "send_recv, "
      "size: 2 GB, repeat: 1}}}\n";
  g_autofree char *both =
      g_strconcat (cluster,
                   "  mesh: {placement: \"main[0-31,33-64]\", workload: {model: {kind: traffic, "
                   "operation: send_recv, pattern: pairs, size: 4 GB}}}\n",
                   NULL);
  double alone = time_of (cluster, "flow"), together = time_of (both, "flow");

  ck_assert_double_eq_tol (together / alone, 33, 33 * TOLERANCE);
}
END_TEST

START_TEST (incast_shares_the_port)
/* Five senders, one receiver: each gets a fifth of its port, where all of them contend. */
{
  static const char *const text[] = {
      CLUSTER "jobs: {in: {placement: \"main[0,5,10,11,12,13]\", workload: {model: {kind: traffic, "
              "operation: send_recv, pattern: incast, size: 2 GB}}}}\n",
      CLUSTER "jobs: {in: {placement: \"main[0,5]\", workload: {model: {kind: traffic, "
              "operation: send_recv, pattern: incast, size: 2 GB}}}}\n"};
  g_autoptr (LsSummary) summary = run_text (text[0], FALSE);
  const LsBottleneck *first = NULL;

  ck_assert_double_eq_tol (summary->traffic.time_s / time_of (text[1], "in"), 5, 5 * TOLERANCE);
  ck_assert_uint_gt (summary->bottlenecks->len, 0);
  first = summary->bottlenecks->pdata[0];
  ck_assert_double_ge (first->contended_share, 0.99);
  ck_assert_double_ge (first->utilisation, 0.99);
}
END_TEST

/* Two jobs of unlike size whose rings and flows meet on trunks; `a` and `b` are their names. */
static char *pair (const char *a, const char *b, const char *nodes) {
  return g_strdup_printf (
      CLUSTER
      "jobs:\n"
      "  %s: {placement: \"main[%s]\", workload: {model: {kind: traffic, operation: "
      "all_reduce, size: 300 MB, repeat: 3}}}\n"
      "  %s: {placement: \"main[1,6,11,16]\", start: 1 ms, workload: {model: {kind: traffic, "
      "operation: send_recv, pattern: shift, shift: 3, size: 70 MB, repeat: 9}}}\n",
      a, nodes, b);
}

START_TEST (order_of_jobs_and_ranks_shows_nowhere)
/* The same jobs under names that swap their order, and with the nodes of one in another order: not a bit
 * of any time changes. */
{
  g_autofree char *ab = pair ("a", "b", "0,5,10,15"), *ba = pair ("z", "b", "0,5,10,15");
  g_autofree char *turned = pair ("a", "b", "0,15,10,5");
  g_autoptr (LsSummary) x = run_text (ab, FALSE), y = run_text (ba, FALSE),
                        z = run_text (turned, FALSE), folded = run_text (ab, TRUE);

  ck_assert_double_eq (job_of (x, "a")->step_time_s, job_of (y, "z")->step_time_s);
  ck_assert_double_eq (job_of (x, "a")->step_time_p99_s, job_of (y, "z")->step_time_p99_s);
  ck_assert_double_eq (job_of (x, "b")->step_time_s, job_of (y, "b")->step_time_s);
  ck_assert_double_eq (job_of (x, "b")->step_time_s, job_of (z, "b")->step_time_s);
  ck_assert_double_eq (job_of (x, "a")->step_time_s, job_of (z, "a")->step_time_s);
  ck_assert_double_eq (x->end_s, y->end_s);
  ck_assert_double_eq (x->end_s, folded->end_s);
}
END_TEST

START_TEST (unlike_nodes_share_a_batch)
/* Replicas on A100 run one micro-batch where those on H100 run two: 2 x 1 + 1 x 2 shares of 8 samples are
 * 2 samples each, so 2 and 4 micro-batches; the step ends for all at once. */
{
  static const char text[] =
      "lockstep: 1\n"
      "cluster:\n"
      "  groups:\n"
      "    old: {nodes: 2, node: {gpu: a100-sxm-80gb, gpus: 1, nics: {compute: {rate: 200 Gb/s, "
      "count: 1}}}}\n"
      "    new: {nodes: 1, node: {gpu: h100-sxm-80gb, gpus: 1, nics: {compute: {rate: 200 Gb/s, "
      "count: 1}}}}\n"
      "  fabrics: {compute: {kind: single-switch, link: 200 Gb/s}}\n"
      "workload:\n"
      "  model: gpt2-small\n"
      "  batch: {global: 8, micro: 1, seq_len: 512, share: {old: 1, new: 2}}\n"
      "  placement: {replicas: {0-1: old, 2: new}}\n"
      "  stop: {steps: 2}\n";
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("test", text);
  g_autofree char *faults = ls_config_errors_text (scenario->errors);
  g_autoptr (LsSummary) summary = NULL;

  ck_assert_msg (scenario->workload != NULL, "%s", faults);
  ck_assert_int_eq (ls_workload_microbatches (scenario->workload, 0), 2);
  ck_assert_int_eq (ls_workload_microbatches (scenario->workload, 2), 4);
  summary = run_text (text, FALSE);
  ck_assert_double_gt (summary->samples_per_s, 0);
  ck_assert_double_eq_tol (summary->samples_per_s * summary->step_time_s, 8, 1e-9);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, two_flows_share_an_uplink_equally);
  tcase_add_test (tcase, a_job_that_ends_frees_its_links);
  tcase_add_test (tcase, a_job_begins_at_its_start);
  tcase_add_test (tcase, a_job_alone_on_its_leaf_is_not_slowed);
  tcase_add_test (tcase, one_flow_of_33_on_an_uplink);
  tcase_add_test (tcase, incast_shares_the_port);
  tcase_add_test (tcase, order_of_jobs_and_ranks_shows_nowhere);
  tcase_add_test (tcase, unlike_nodes_share_a_batch);
}

LS_TEST_MAIN ("jobs", add)
