/* Loss scaling: the automaton on scripted infinities, the steady state, and what a skipped step costs. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "net/cluster.h"
#include "train/run/simulation.h"

#define GRAD_SCALER                                          \
  ((LsLossScaling){.scaler = {.kind = LS_LOSS_SCALE_DYNAMIC, \
                              .initial = 65536,              \
                              .growth = 2,                   \
                              .backoff = 0.5,                \
                              .interval = 2000},             \
                   .threshold = 65536})

/* PyTorch's GradScaler by hand: growth after 3 good steps here. S before each step, f finite, i infinite:
 * 16 f, 16 f, 16 f -> 32 i -> 16 f, 16 i -> 8 f, 8 f, 8 f -> 16 f. A skip resets the count of good steps. */
START_TEST (scripted_infinities) {
  const LsLossScaleSettings settings = {
      .kind = LS_LOSS_SCALE_DYNAMIC, .initial = 16, .growth = 2, .backoff = 0.5, .interval = 3};
  static const struct {
    double before;
    gboolean finite;
  } trace[] = {{16, TRUE},  {16, TRUE}, {16, TRUE}, {32, FALSE}, {16, TRUE},
               {16, FALSE}, {8, TRUE},  {8, TRUE},  {8, TRUE},   {16, TRUE}};
  LsLossScale state;

  ls_loss_scale_init (&state, &settings);
  for (guint i = 0; i < G_N_ELEMENTS (trace); i++) {
    ck_assert_msg (state.scale == trace[i].before, "step %u: scale %g", i, state.scale);
    ck_assert (ls_loss_scale_update (&state, &settings, trace[i].finite) == trace[i].finite);
  }
  ck_assert_int_eq (state.skipped, 2);
}
END_TEST

static gint64 sum_of (const guint8 *skips, gint64 n) {
  gint64 sum = 0;

  for (gint64 i = 0; i < n; i++)
    sum += skips[i];
  return sum;
}

/* With a threshold that never moves, 2000 good steps, one that tries the double and is skipped, and so on:
 * one step in 2001, exactly, wherever the threshold lies; on the way there from 2^16 one skip per halving.
 * source: PyTorch GradScaler's constants. */
START_TEST (one_step_in_2001) {
  LsLossScaling scaling = GRAD_SCALER;
  const gint64 n = 10 * 2001;
  LsLossScale end;
  g_autofree guint8 *skips = ls_loss_scaling_skips (&scaling, n, 1, "main", &end);

  ck_assert_int_eq (sum_of (skips, n), 10);
  for (gint64 i = 0; i < n; i++)
    ck_assert_int_eq (skips[i], i % 2001 == 2000 ? 1 : 0);
  ck_assert (end.scale == 65536 && end.skipped == 10);

  scaling.threshold = 1000; /* 2^16 .. 2^10 are too large: 7 halvings to 512 */
  g_autofree guint8 *low = ls_loss_scaling_skips (&scaling, 7 + n, 1, "main", &end);
  ck_assert_int_eq (sum_of (low, 7), 7);
  ck_assert_int_eq (sum_of (low, 7 + n), 7 + 10);
  ck_assert (end.scale == 512);
}
END_TEST

/* The chance to overflow grows with the scale: with a spread of 1, a static scale a factor of e above the
 * threshold overflows with Phi(1) = 84.1 %, one at it with 50 %, one e below with 15.9 %; 100,000 steps, 4
 * standard errors. Streams by job and seed: the same again is the same, another job another. */
START_TEST (chance_depends_on_the_scale) {
  static const double chance[] = {0.158655, 0.5, 0.841345};
  const gint64 n = 100000;

  for (int k = -1; k <= 1; k++) {
    LsLossScaling scaling = GRAD_SCALER;
    const double p = chance[k + 1];

    scaling.scaler.kind = LS_LOSS_SCALE_STATIC;
    scaling.scaler.initial = 65536 * exp (k);
    scaling.spread = 1;
    g_autofree guint8 *skips = ls_loss_scaling_skips (&scaling, n, 7, "a", NULL);
    g_autofree guint8 *again = ls_loss_scaling_skips (&scaling, n, 7, "a", NULL);
    g_autofree guint8 *other = ls_loss_scaling_skips (&scaling, n, 7, "b", NULL);
    ck_assert (memcmp (skips, again, (gsize) n) == 0);
    ck_assert (memcmp (skips, other, (gsize) n) != 0);
    ck_assert_double_eq_tol ((double) sum_of (skips, n) / (double) n, p,
                             4 * sqrt (p * (1 - p) / (double) n));
  }
}
END_TEST

START_TEST (none_skips_nothing) {
  const LsLossScaling none = {.threshold = 1};
  LsLossScale end;

  ck_assert_ptr_null (ls_loss_scaling_skips (&none, 5, 1, "main", &end));
  ck_assert (end.scale == 1 && end.skipped == 0);
}
END_TEST

/* --- on a cluster ---------------------------------------------------------------------------- */

static LsWorkload *small (guint data, gint64 steps) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset ("gpt2-small", NULL), data);

  workload->layout = ls_layout (1, data, 1);
  workload->global_batch = data;
  workload->seq_len = 256;
  workload->steps = steps;
  workload->zero.stage = 1;
  workload->precision = ls_precision_of_word ("fp16");
  workload->loss_scaling = GRAD_SCALER;
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

/* Eight A100 of one node. */
static LsCluster *one_node (void) {
  const LsFabricSpec fabric = {.name = (char *) "compute",
                               .kind = LS_FABRIC_SINGLE_SWITCH,
                               .hop_latency_ps = 500000,
                               .rails = 1,
                               .leaf_radix = 64,
                               .oversubscription = 1,
                               .hop_ps = -1};
  LsNodeGroup group = {.name = (char *) "main", .nodes = 1};

  ls_node_spec_from_preset (&group.node, ls_node_find ("dgx-a100", NULL));
  return ls_cluster_new_from (&group, 1, &fabric, 1, NULL);
}

/* Steps of a run; one rank's part of a step. */
typedef struct {
  GArray *step_ps;
  gint64 sent;
} Ran;

static Ran run (const LsWorkload *workload, const LsCluster *cluster) {
  g_autoptr (GError) error = NULL;
  g_autoptr (LsJob) job = ls_job_build (workload, cluster, &error);

  ck_assert_msg (job != NULL, "%s", error != NULL ? error->message : "");
  LsSimulation *simulation = ls_simulation_new (cluster, workload, job, 1);
  ck_assert_msg (ls_simulation_run (simulation, NULL, &error), "%s",
                 error != NULL ? error->message : "");
  Ran ran = {g_array_ref (ls_simulation_job (simulation, 0)->step_ps),
             ls_engine_bytes_sent (ls_simulation_engine (simulation), 0)};
  ls_simulation_free (simulation);
  return ran;
}

/* Steps 0 and 1 overflow from four times the threshold, steps 2 and 3 do not. A skipped step is shorter by
 * what the update, the norm and the gather of parameters take; good steps are as if none had been skipped.
 * Bytes sent: the gather of 2 of the 4 steps is missing. */
START_TEST (skipped_steps_have_no_update) {
  LsCluster *cluster = one_node ();
  g_autoptr (LsWorkload) workload = small (8, 4);
  g_autoptr (LsWorkload) calm = small (8, 4);

  workload->loss_scaling.scaler.initial = 4 * 65536.0;
  Ran skips = run (workload, cluster), good = run (calm, cluster);
  const gint64 *a = (const gint64 *) (gconstpointer) skips.step_ps->data;
  const gint64 *b = (const gint64 *) (gconstpointer) good.step_ps->data;
  for (guint i = 0; i < 4; i++)
    if (i < 2)
      ck_assert_int_lt (a[i], b[i]);
    else
      ck_assert_int_eq (a[i], b[i]);
  ck_assert_int_eq (a[0], a[1]);
  /* All-gather over 8 ranks: each sends 7/8 of the parameters in 2 bytes, per step that has it. */
  const gint64 gathered = ls_model_parameters (workload->model) * 2 / 8 * 7;
  ck_assert_double_eq_tol ((double) (good.sent - skips.sent), 2.0 * (double) gathered,
                           0.001 * (double) gathered);
  g_array_unref (skips.step_ps);
  g_array_unref (good.step_ps);
  ls_cluster_free (cluster);
}
END_TEST

/* Folded, one rank of a class stands for all: the same steps to the picosecond, skipped ones too. */
START_TEST (folded_runs_skip_the_same) {
  LsCluster *cluster = one_node ();
  g_autoptr (LsWorkload) workload = small (8, 4);
  g_autoptr (GError) error = NULL;

  workload->loss_scaling.scaler.initial = 2 * 65536.0;
  g_autoptr (LsJob) job = ls_job_build (workload, cluster, &error);
  ck_assert_ptr_nonnull (job);
  gint64 step_ps[2][4];
  for (guint fold = 0; fold < 2; fold++) {
    const LsSimulationJob one = {.workload = workload, .job = job};
    const LsSimulationOptions options = {.fold = fold == 1};
    LsSimulation *simulation = ls_simulation_new_with (cluster, &one, 1, 1, &options);

    ck_assert_int_eq (ls_simulation_is_folded (simulation), fold == 1);
    ck_assert (ls_simulation_run (simulation, NULL, &error));
    memcpy (step_ps[fold], ls_simulation_job (simulation, 0)->step_ps->data, sizeof step_ps[fold]);
    ls_simulation_free (simulation);
  }
  ck_assert (memcmp (step_ps[0], step_ps[1], sizeof step_ps[0]) == 0);
  ck_assert_int_lt (step_ps[0][0], step_ps[0][1]); /* step 0 is skipped */
  ls_cluster_free (cluster);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("loss_scaling");
  TCase *tests = tcase_create ("loss_scaling");

  tcase_add_test (tests, scripted_infinities);
  tcase_add_test (tests, one_step_in_2001);
  tcase_add_test (tests, chance_depends_on_the_scale);
  tcase_add_test (tests, none_skips_nothing);
  tcase_add_test (tests, skipped_steps_have_no_update);
  tcase_add_test (tests, folded_runs_skip_the_same);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  const int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
