/* `lockstep explain DB`: why a step takes what it takes, in words and numbers. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/explanation.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"

/* How much more of each resource is tried: enough to move a step, little enough that the effect is nearly linear. */
#define DEFAULT_PERCENT 10

static const LsOption options[] = {
    {"job", 0, LS_OPTION_STRING, "NAME", "of a run with several jobs; the first by name", NULL},
    {"by", 0, LS_OPTION_INTEGER, "PERCENT", "how much more of each resource; 10", NULL},
    {"verbose", 'v', LS_OPTION_FLAG, NULL, "all numbers that it rests on", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

void ls_explanation_free (LsExplanation *x) {
  if (x == NULL)
    return;
  g_free (x->name);
  g_free (x->job);
  ls_summary_free (x->summary);
  g_clear_pointer (&x->path, g_ptr_array_unref);
  g_clear_pointer (&x->rests, g_array_unref);
  g_clear_pointer (&x->keys, g_array_unref);
  g_free (x);
}

/* The scenario that the trace holds; NULL after an error. */
static LsScenario *stored_scenario (LsCli *cli, LsTraceDatabase *database, GError **error) {
  g_autofree char *text =
      ls_trace_database_text (database, "SELECT value FROM run WHERE key = 'scenario'", error);
  g_autoptr (LsScenario) scenario = NULL;

  if (text == NULL) {
    if (*error == NULL)
      g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, "the database holds no scenario");
    return NULL;
  }
  scenario = ls_scenario_from_text ("the scenario in the trace", text);
  if (ls_config_errors_any (scenario->errors)) {
    ls_scenario_report (cli, scenario);
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "this version cannot read the scenario in the trace");
    return NULL;
  }
  if (scenario->workload == NULL || scenario->jobs[0].workload->update.active) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "only runs with steps can be explained; asynchronous updates have none");
    return NULL;
  }
  return g_steal_pointer (&scenario);
}

static gboolean choose_job (LsExplanation *x, LsCli *cli, const LsScenario *scenario,
                            GError **error) {
  const char *wanted = ls_args_string (cli->args, "job");
  g_autoptr (GString) names = g_string_new (NULL);

  x->n_jobs = scenario->n_jobs;
  for (guint j = 0; j < scenario->n_jobs; j++) {
    g_string_append_printf (names, "%s%s", j > 0 ? ", " : "", scenario->jobs[j].name);
    if (wanted != NULL ? g_str_equal (scenario->jobs[j].name, wanted) : j == 0) {
      x->job_index = j;
      if (scenario->n_jobs > 1)
        x->job = g_strdup (scenario->jobs[j].name);
      if (wanted == NULL || scenario->n_jobs == 1)
        return TRUE;
      wanted = NULL;
      return TRUE;
    }
  }
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "no job '%s' in the trace; there are %s", wanted,
               names->str);
  return FALSE;
}

static double number_of (LsTraceDatabase *database, const char *sql) {
  g_autofree char *text = ls_trace_database_text (database, sql, NULL);

  return text != NULL ? g_ascii_strtod (text, NULL) : 0;
}

/* Mean step of the job in the trace. */
static double traced_step_s (LsTraceDatabase *database, const LsExplanation *x) {
  g_autofree char *sql = g_strdup_printf (
      "SELECT avg(end_ns - start_ns) FROM step WHERE job_id = (SELECT id FROM job ORDER BY name "
      "LIMIT 1 OFFSET %u)",
      x->job_index);

  return number_of (database, sql) * 1e-9;
}

/* Of an interrupted run only the steps that it finished are simulated again: those that it was going to run may be
 * millions. At least one. */
static void keep_finished_steps (LsCli *cli, const LsScenario *scenario,
                                 LsTraceDatabase *database) {
  g_autofree char *status =
      ls_trace_database_text (database, "SELECT value FROM run WHERE key = 'status'", NULL);

  if (g_strcmp0 (status, "interrupted") != 0)
    return;
  for (guint j = 0; j < scenario->n_jobs; j++) {
    g_autofree char *sql = g_strdup_printf (
        "SELECT count(*) FROM step WHERE job_id = (SELECT id FROM job ORDER BY name LIMIT 1 OFFSET "
        "%u)",
        j);
    LsWorkload *workload = scenario->jobs[j].workload;
    const gint64 all = workload->steps;

    workload->steps = CLAMP ((gint64) number_of (database, sql), 1, all);
    ls_cli_note (cli,
                 "the run was interrupted: %" G_GINT64_FORMAT " of its %" G_GINT64_FORMAT
                 " steps are simulated again",
                 workload->steps, all);
  }
}

static gint by_gain (gconstpointer a, gconstpointer b, gpointer data) {
  const LsExplanation *x = data;
  double p = x->knobs[*(const LsKnob *) a].gain, q = x->knobs[*(const LsKnob *) b].gain;

  return p > q ? -1 : p < q ? 1 : 0;
}

static void on_progress (gpointer self, guint done, guint all) {
  ls_progress_update (self, (double) done / all, NULL);
}

/* The base and one run per knob. */
static gboolean simulate (LsExplanation *x, LsCli *cli, const LsScenario *scenario,
                          GError **error) {
  g_autofree LsSimulationJob *jobs = g_new0 (LsSimulationJob, scenario->n_jobs);
  g_autoptr (LsProgress) progress = ls_progress_new (cli, "simulating again");
  double one[LS_N_KNOBS];
  LsScene scene = {.cluster = scenario->cluster,
                   .jobs = jobs,
                   .n_jobs = scenario->n_jobs,
                   .stragglers = scenario->stragglers,
                   .seed = scenario->seed};

  for (guint j = 0; j < scenario->n_jobs; j++)
    jobs[j] = (LsSimulationJob){.name = scenario->n_jobs > 1 ? scenario->jobs[j].name : NULL,
                                .workload = scenario->jobs[j].workload,
                                .start_ps = scenario->jobs[j].start_ps};
  for (guint k = 0; k < LS_N_KNOBS; k++) {
    one[k] = 1;
    x->order[k] = (LsKnob) k;
  }
  x->summary = ls_scene_run (&scene, one, ls_interrupt_flag (), error);
  if (x->summary == NULL)
    return FALSE;
  x->of_job = x->summary->n_jobs > 0 ? x->summary->jobs[x->job_index] : x->summary;
  x->step_s = ls_scene_step_s (x->summary, x->job_index);
  if (scenario->stragglers != NULL) {
    LsScene alike = scene;
    alike.stragglers = NULL;
    g_autoptr (LsSummary) without = ls_scene_run (&alike, one, ls_interrupt_flag (), error);
    if (without == NULL)
      return FALSE;
    x->without_slow_s = ls_scene_step_s (without, x->job_index);
  }
  if (!ls_sensitivity (&scene, x->job_index, x->step_s, x->factor, x->knobs, on_progress, progress,
                       ls_interrupt_flag (), error))
    return FALSE;
  g_qsort_with_data (x->order, LS_N_KNOBS, sizeof *x->order, by_gain, x);
  return TRUE;
}

static int explain (LsCli *cli, const char *path, GError **error) {
  g_autofree char *file = ls_output_resolve (path, error);
  g_autoptr (LsTraceDatabase) database = file ? ls_trace_database_open (file, error) : NULL;
  g_autoptr (LsScenario) scenario = NULL;
  g_autoptr (LsExplanation) x = g_new0 (LsExplanation, 1);
  g_autofree char *text = NULL;

  if (!database) {
    if (error && *error)
      (*error)->code = LS_ERROR_USAGE;
    return 2;
  }
  x->factor = 1 + (double) ls_args_integer (cli->args, "by", DEFAULT_PERCENT) / 100;
  if (x->factor <= 1) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, "--by takes a percentage above 0");
    return 2;
  }
  scenario = stored_scenario (cli, database, error);
  if (!scenario || !choose_job (x, cli, scenario, error))
    return 2;
  if (!ls_explain_path (x, database, error))
    return ls_interrupt_requested () ? 130 : 2;
  x->name = ls_trace_database_text (database, "SELECT value FROM run WHERE key = 'name'", NULL);
  if (x->name == NULL)
    x->name = g_path_get_basename (file);
  x->traced_s = traced_step_s (database, x);
  keep_finished_steps (cli, scenario, database);
  if (scenario->cost != NULL)
    x->usd_per_s = ls_cost_job_usd_per_s (scenario->cost, scenario->cluster,
                                          scenario->jobs[x->job_index].workload);
  if (!simulate (x, cli, scenario, error))
    return ls_interrupt_requested () ? 130 : 1;
  ls_explain_rests (x, scenario);
  text = cli->json ? ls_explain_json (x, cli->warnings)
                   : ls_explain_text (x, ls_args_has (cli->args, "verbose"));
  return ls_cli_write (cli, text, error) ? 0 : 2;
}

static int run_explain (LsCli *cli, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);

  if (words->len != 1) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "explain takes one trace database; @last is that of the last run");
    return 2;
  }
  return explain (cli, words->pdata[0], error);
}

const LsCommand ls_command_explain = {
    .name = "explain",
    .usage = "DB [--job NAME] [--by PERCENT] [--verbose]",
    .summary = "say why a step takes the time it takes",
    .description =
        "Reads the scenario that a trace holds and simulates it again, as it is and with 10 % more "
        "of one thing at a time: compute, memory, links, adapters, latencies, software and so on. "
        "Says what the step follows and by how much, where its time goes, what the critical path "
        "of the traced step is made of, which links held transfers down, and which numbers of the "
        "catalogue it rests on, with their sources. DB may be @last.",
    .examples = "what would make the last run faster\tlockstep explain @last\n"
                "for a script, twice of everything\tlockstep explain @last --by 100 --json\n",
    .positional = "@file",
    .options = options,
    .run = run_explain,
};
