/* `lockstep run`: simulates a scenario, writes its trace, prints its summary. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"
#include "cli/dry_run.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/recording.h"
#include "cli/run_campaign.h"
#include "cli/run_learn.h"
#include "cli/run_update.h"
#include "cli/scenario.h"
#include "config/output.h"
#include "faults/stragglers_run.h"
#include "train/run/summary.h"

/* A database of more than this is announced. */
#define LARGE_BYTES 2e9
/* Rows that one second simulates one by one, writes and indexes. source: measured, DeepSeek-V3 on 2,048 GPUs with
 * 1F1B and with DualPipe, 3.2 million rows in 12 to 14 s of processor time (untraced: 0.3 s). */
#define ROWS_PER_S 2.5e5

static const LsOption options[] = {
    {"trace", 0, LS_OPTION_STRING, "LEVEL", "none, steps, ops or messages (the key trace.level)",
     "none steps ops messages"},
    {"ranks", 0, LS_OPTION_STRING, "RANKS",
     "ranks with a row per operation: all, or as in 0-7,16 (the key trace.ranks)", NULL},
    {"fold", 0, LS_OPTION_STRING, "HOW",
     "auto: of ranks that are alike one runs for all; off: every rank runs (the answer is the "
     "same)",
     "auto off"},
    {"dry-run", 0, LS_OPTION_FLAG, NULL,
     "only say how many operations, how large a database and how long", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

/* What one run needs; freed together. */
typedef struct {
  gint64 start_us; /* on the wall */
  LsScenario *scenario;
  guint n_jobs;
  LsJob **jobs; /* in the order of the scenario's */
  LsSimulation *simulation;
  LsStragglersRun *slow;  /* NULL: nothing is slow, or from the start and alike */
  LsRecording *recording; /* NULL with trace.level none */
  LsRunLearn *learn;      /* NULL without a learn section */
  LsRecorderOptions recorder;
  GArray *ranks; /* guint */
  GArray *steps; /* gint64; NULL: all */
  char *path;
  LsCampaignOutcome *campaign; /* NULL: none */
} Run;

static void run_clear (Run *run) {
  ls_campaign_outcome_free (run->campaign);
  ls_run_learn_free (run->learn);
  ls_recording_free (run->recording);
  ls_stragglers_run_free (run->slow);
  ls_simulation_free (run->simulation);
  for (guint j = 0; j < run->n_jobs; j++)
    ls_job_free (run->jobs[j]);
  g_free (run->jobs);
  ls_scenario_free (run->scenario);
  if (run->ranks)
    g_array_unref (run->ranks);
  if (run->steps)
    g_array_unref (run->steps);
  g_free (run->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_clear)

/* The keys under `trace`. */
static void read_trace (Run *run) {
  LsConfig *config = run->scenario->config;
  g_autoptr (GArray) ranks = NULL;
  gint64 n_ranks = 0, n_steps = 0;

  for (guint j = 0; j < run->scenario->n_jobs; j++) {
    n_ranks += run->scenario->jobs[j].workload->layout.ranks;
    n_steps = MAX (n_steps, run->scenario->jobs[j].workload->steps);
  }

  ls_trace_level_from_name (ls_config_get_string (config, "trace.level"), &run->recorder.level);
  run->ranks = g_array_new (FALSE, FALSE, sizeof (guint));
  run->recorder.all_ranks = ls_config_is_word (config, "trace.ranks", "all");
  ranks = ls_config_get_indexes (config, "trace.ranks");
  for (guint i = 0; ranks && i < ranks->len; i++) {
    gint64 index = g_array_index (ranks, gint64, i);
    guint rank = (guint) index;

    if (index < n_ranks)
      g_array_append_val (run->ranks, rank);
    else
      ls_config_warning_at (config, run->scenario->errors, "trace.ranks",
                            "there is no rank %" G_GINT64_FORMAT
                            "; ranks go from 0 to %" G_GINT64_FORMAT,
                            index, n_ranks - 1);
  }
  run->recorder.ranks = (const guint *) (gpointer) run->ranks->data;
  run->recorder.n_ranks = run->ranks->len;
  run->steps = ls_config_get_indexes (config, "trace.steps");
  if (run->steps && run->steps->len > 0) {
    run->recorder.filter_steps = TRUE;
    run->recorder.steps = (const gint64 *) (gpointer) run->steps->data;
    run->recorder.n_steps = run->steps->len;
    if (g_array_index (run->steps, gint64, run->steps->len - 1) >= n_steps)
      ls_config_warning_at (config, run->scenario->errors, "trace.steps",
                            "the run has %" G_GINT64_FORMAT " steps, numbered from 0", n_steps);
  }
}

/* Ranks of all jobs. */
static guint n_ranks (const Run *run) {
  guint sum = 0;

  for (guint j = 0; j < run->scenario->n_jobs; j++)
    sum += run->scenario->jobs[j].workload->layout.ranks;
  return sum;
}

/* Alike ranks run once, unless --fold off says otherwise or rows of every rank are wanted. */
static gboolean folds (LsCli *cli, const Run *run) {
  const char *how = ls_args_string (cli->args, "fold");
  const LsRecorderOptions *recorder = &run->recorder;

  if (how && g_str_equal (how, "off"))
    return FALSE;
  if (recorder->level == LS_TRACE_NONE)
    return TRUE;
  return n_ranks (run) > LS_TRACE_ALL_RANKS_UP_TO && !recorder->all_ranks && recorder->n_ranks == 0;
}

/* Compiles all jobs with common tables and puts them on one engine. */
static gboolean build (LsCli *cli, Run *run, GError **error) {
  const LsScenario *scenario = run->scenario;
  g_autofree LsSimulationJob *jobs = g_new0 (LsSimulationJob, scenario->n_jobs);
  g_autoptr (LsTables) tables = ls_tables_new ();

  run->jobs = g_new0 (LsJob *, scenario->n_jobs);
  for (; run->n_jobs < scenario->n_jobs; run->n_jobs++) {
    const LsScenarioJob *job = &scenario->jobs[run->n_jobs];
    LsJob *built = ls_job_build_with (job->workload, scenario->cluster, tables, error);

    if (!built)
      return FALSE;
    run->jobs[run->n_jobs] = built;
    jobs[run->n_jobs] = (LsSimulationJob){scenario->n_jobs > 1 ? job->name : NULL, job->workload,
                                          built, job->start_ps};
  }
  LsSimulationOptions how = {.fold = folds (cli, run)};
  ls_stragglers_set_options (scenario->stragglers, &how);
  run->simulation =
      ls_simulation_new_with (scenario->cluster, jobs, run->n_jobs, scenario->seed, &how);
  if (how.fold && ls_simulation_unfolded_why (run->simulation))
    ls_cli_note (cli, "every rank runs, alike or not: %s",
                 ls_simulation_unfolded_why (run->simulation));
  run->slow = ls_stragglers_install (scenario->stragglers, run->simulation);
  return TRUE;
}

/* The same run without its stragglers, in whatever form is the quickest, to compare with. Nothing when it
 * is interrupted. */
static void compare (Run *run, LsSummary *summary) {
  const LsScenario *scenario = run->scenario;
  const LsSimulationOptions how = {.fold = TRUE};
  const LsRunOptions stop = {.stop = ls_interrupt_flag ()};
  g_autofree LsSimulationJob *jobs = g_new0 (LsSimulationJob, run->n_jobs);

  for (guint j = 0; j < run->n_jobs; j++)
    jobs[j] = (LsSimulationJob){NULL, scenario->jobs[j].workload, run->jobs[j],
                                scenario->jobs[j].start_ps};
  g_autoptr (LsSimulation) without =
      ls_simulation_new_with (scenario->cluster, jobs, run->n_jobs, scenario->seed, &how);
  if (ls_simulation_run (without, &stop, NULL))
    ls_summary_compare (summary, run->simulation, without);
}

static gboolean prepare (LsCli *cli, Run *run, GError **error) {
  run->scenario = ls_scenario_from_args (cli, FALSE, error);
  if (!run->scenario)
    return FALSE;
  if (run->scenario->workload && !ls_config_errors_any (run->scenario->errors))
    read_trace (run);
  if (!ls_scenario_report (cli, run->scenario))
    return FALSE;
  return TRUE;
}

static gboolean is_of_updates (const Run *run) {
  for (guint j = 0; j < run->scenario->n_jobs; j++)
    if (run->scenario->jobs[j].workload->update.active)
      return TRUE;
  return FALSE;
}

/* --- dry run ------------------------------------------------------------------------------------ */

/* What it took to come here, where paths are laid out (an all-to-all's may take longer than all that follows), is added; of
 * the rest, simulates for a moment and extrapolates seconds and events. */
static void probe_run (Run *run, LsExpectation *expected) {
  const double built_s = (double) (g_get_monotonic_time () - run->start_us) / 1e6;
  LsProbe probe = ls_probe_begin (0);
  const LsRunOptions how = {
      .progress = ls_probe_progress, .progress_self = &probe, .stop = &probe.stop};

  ls_simulation_run (run->simulation, &how, NULL);
  expected->seconds += built_s;
  if (probe.share > 0) {
    expected->seconds += probe.seconds / probe.share;
    expected->events =
        (double) ls_engine_n_events (ls_simulation_engine (run->simulation)) / probe.share;
  }
}

static int dry_run (LsCli *cli, Run *run, GError **error) {
  gint64 operations = ls_simulation_n_operations (run->simulation);
  LsRecordingSize size = ls_recording_size (run->simulation, &run->recorder);
  LsExpectation expected = {.operations = (double) operations,
                            .rows = (double) size.events,
                            .bytes = (double) size.bytes,
                            .seconds = (double) size.events / ROWS_PER_S};
  g_autofree char *all = ls_quantity_format_grouped ((double) operations);
  g_autofree char *some = ls_quantity_format_grouped ((double) size.events);
  g_autofree char *ranks =
      ls_quantity_format_counted (ls_simulation_n_ranks (run->simulation), "rank");
  g_autofree char *work = g_strdup_printf ("%s operations of %s", all, ranks);
  g_autofree char *rows = g_strdup_printf ("%s rows of operations", some);

  probe_run (run, &expected);
  return ls_expectation_write (cli, &expected, work, rows, error);
}

/* --- the run ------------------------------------------------------------------------------------ */

static double usd_per_s (const Run *run, guint job) {
  const LsScenario *scenario = run->scenario;

  return scenario->cost == NULL ? 0
                                : ls_cost_job_usd_per_s (scenario->cost, scenario->cluster,
                                                         scenario->jobs[job].workload);
}

static gboolean start_recording (LsCli *cli, Run *run, GError **error) {
  LsRecorder *recorder;
  LsRecordingSize size;
  g_autofree char *resolved = NULL;

  if (run->recorder.level == LS_TRACE_NONE)
    return TRUE;
  run->path = ls_output_choose (cli, run->scenario->name, run->scenario->seed, error);
  if (!run->path)
    return FALSE;
  size = ls_recording_size (run->simulation, &run->recorder);
  if ((double) size.bytes > LARGE_BYTES) {
    g_autofree char *bytes = ls_quantity_format ((double) size.bytes, LS_DIMENSION_BYTES);

    ls_cli_warn (cli, "the database will hold about %s; --trace steps or --ranks makes it smaller",
                 bytes);
  }
  run->recorder.force = ls_args_has (cli->args, "force");
  run->recorder.stop = ls_interrupt_flag ();
  run->recording = ls_recording_new (run->path, run->simulation, &run->recorder, error);
  if (!run->recording)
    return FALSE;
  recorder = ls_recording_recorder (run->recording);
  resolved = ls_config_to_yaml (run->scenario->config, LS_CONFIG_WRITE_DEFAULTS);
  ls_recorder_set_text (recorder, "scenario", resolved);
  ls_recorder_set_text (recorder, "version", LS_VERSION);
  ls_recorder_set_text (recorder, "name", run->scenario->name);
  ls_recorder_set_integer (recorder, "seed", (gint64) run->scenario->seed);
  if (run->n_jobs == 1 && usd_per_s (run, 0) > 0)
    ls_recorder_set_real (recorder, "usd_per_s", usd_per_s (run, 0));
  return TRUE;
}

static void on_progress (gpointer self, double share) {
  ls_progress_update (self, share, NULL);
}

/* A step goes to the trace, then to the learner. */
static gboolean on_step (gpointer self, const LsStepResult *step, GError **error) {
  Run *run = self;

  if (run->recording && !ls_recording_step (run->recording, step, error))
    return FALSE;
  if (run->learn)
    ls_run_learn_step (run->learn, step);
  return TRUE;
}

/* TRUE when the run is complete or was interrupted (*interrupted). */
static gboolean simulate (LsCli *cli, Run *run, gboolean *interrupted, GError **error) {
  g_autoptr (LsProgress) progress = ls_progress_new (cli, "simulating");
  g_autoptr (GError) local = NULL;
  const LsRunOptions how = {.step = on_step,
                            .step_self = run,
                            .progress = on_progress,
                            .progress_self = progress,
                            .stop = ls_interrupt_flag ()};

  *interrupted = FALSE;
  if (ls_simulation_run (run->simulation, &how, &local))
    return TRUE;
  /* A writer that fails stops the simulation in the same way: its error comes first. */
  if (run->recording && !ls_recorder_check (ls_recording_recorder (run->recording), error))
    return FALSE;
  if (g_error_matches (local, LS_ERROR, LS_ERROR_INTERRUPTED)) {
    *interrupted = TRUE;
    return TRUE;
  }
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* Steps that have ended, of all jobs. */
static guint n_steps (const Run *run) {
  guint sum = 0;

  for (guint j = 0; j < run->n_jobs; j++)
    sum += ls_simulation_n_steps (run->simulation, j);
  return sum;
}

/* What the jobs cost by the second and, where no campaign follows that costs more, in all. */
static void price (const Run *run, LsSummary *summary) {
  if (summary->n_jobs == 0)
    summary->usd_per_s = usd_per_s (run, 0);
  summary->cost_usd = summary->usd_per_s * (summary->end_s - summary->start_s);
  for (guint j = 0; j < summary->n_jobs; j++) {
    LsSummary *job = summary->jobs[j];

    job->usd_per_s = usd_per_s (run, j);
    job->cost_usd = job->usd_per_s * (job->end_s - job->start_s);
    summary->cost_usd += job->cost_usd;
  }
  if (run->scenario->campaign != NULL)
    summary->cost_usd = 0;
}

static LsSummary *make_summary (LsCli *cli, Run *run) {
  LsSummary *summary;

  if (n_steps (run) == 0)
    return NULL;
  summary = ls_summary_new (run->simulation);
  price (run, summary);
  summary->version = g_strdup (LS_VERSION);
  summary->trace = g_strdup (run->path);
  summary->title = ls_scenario_heading (cli, run->scenario);
  for (guint i = 0; i < cli->warnings->len; i++)
    g_ptr_array_add (summary->warnings, g_strdup (cli->warnings->pdata[i]));
  return summary;
}

/* The summary as the database keeps it: without wall time and path, which differ between equal runs. */
static char *lasting_json (const LsSummary *summary) {
  g_autofree char *json = ls_summary_to_json (summary);
  const char *cut = strstr (json, ", \"wall_s\": ");
  const char *rest = cut ? strstr (cut, ", \"warnings\": ") : NULL;

  return rest ? g_strdup_printf ("%.*s%s", (int) (cut - json), json, rest) : g_strdup (json);
}

/* `own` with what learning and the campaign add (transfer full); takes it. */
static char *whole_json (const Run *run, char *own) {
  g_autofree char *alone = own;
  g_autofree char *learnt =
      run->learn ? ls_run_learn_extend_json (run->learn, alone) : g_strdup (alone);

  return run->campaign ? ls_campaign_outcome_json (run->campaign, learnt)
                       : g_steal_pointer (&learnt);
}

static gboolean finish_recording (Run *run, const LsSummary *summary, gboolean interrupted,
                                  GError **error) {
  LsRecorder *recorder;
  gint64 end_ps = ls_engine_now_ps (ls_simulation_engine (run->simulation));

  if (!run->recording)
    return TRUE;
  recorder = ls_recording_recorder (run->recording);
  if (summary) {
    g_autofree char *json = whole_json (run, lasting_json (summary));

    ls_recorder_set_text (recorder, "summary", json);
    if (summary->n_jobs == 0)
      ls_recorder_set_job_summary (recorder, 0, json);
    for (guint j = 0; j < summary->n_jobs; j++) {
      g_autofree char *of_job = ls_summary_job_to_json (summary->jobs[j]);

      ls_recorder_set_job_summary (recorder, j, of_job);
    }
  }
  ls_recorder_set_real (recorder, "wall_s", ls_simulation_wall_s (run->simulation));
  if (!ls_recorder_finish (recorder, interrupted ? "interrupted" : "complete", end_ps, error))
    return FALSE;
  ls_output_remember (run->path);
  return TRUE;
}

static gint64 file_bytes (const char *path) {
  GStatBuf status;

  return path && g_stat (path, &status) == 0 ? (gint64) status.st_size : 0;
}

static void show (LsCli *cli, const Run *run, const LsSummary *summary, gboolean interrupted) {
  g_autofree char *text = NULL;
  g_autofree char *json = NULL;

  if (interrupted)
    ls_cli_note (cli, "interrupted after %u whole steps%s%s", n_steps (run),
                 run->path ? "; what was done is in " : "", run->path ? run->path : "");
  if (!summary)
    return;
  if (cli->json) {
    json = whole_json (run, ls_summary_to_json (summary));
    text = g_strconcat (json, "\n", NULL);
  } else if (!cli->quiet) {
    g_autofree char *own = ls_summary_to_text (summary);

    text = run->learn ? ls_run_learn_extend_text (run->learn, own) : g_strdup (own);
  }
  if (text) {
    fputs (text, stdout);
    if (run->campaign && !cli->json) {
      g_autofree char *months = ls_campaign_outcome_text (run->campaign);
      fputs (months, stdout);
    }
    fflush (stdout);
  }
}

static int run_run (LsCli *cli, GError **error) {
  g_auto (Run) run = {.start_us = g_get_monotonic_time ()};
  g_autoptr (LsSummary) summary = NULL;
  gboolean interrupted;

  if (!prepare (cli, &run, error))
    return 2;
  if (is_of_updates (&run))
    return ls_run_updates (cli, run.scenario, &run.recorder, error);
  if (!build (cli, &run, error))
    return 2;
  if (ls_args_has (cli->args, "dry-run"))
    return dry_run (cli, &run, error);
  if (run.scenario->learn) {
    run.learn = ls_run_learn_new_sync (run.scenario, error);
    if (!run.learn)
      return 2;
  }
  if (!start_recording (cli, &run, error) || !simulate (cli, &run, &interrupted, error))
    return 1;
  if (run.learn)
    ls_run_learn_finish (run.learn, run.recording ? ls_recording_recorder (run.recording) : NULL);
  summary = make_summary (cli, &run);
  if (summary && run.scenario->stragglers && !interrupted)
    compare (&run, summary);
  if (run.scenario->campaign != NULL && !interrupted) {
    LsRecorder *recorder = run.recording ? ls_recording_recorder (run.recording) : NULL;
    run.campaign = ls_campaign_outcome_new (cli, run.scenario, recorder);
    interrupted = !run.campaign || ls_interrupt_requested ();
  }
  if (!finish_recording (&run, summary, interrupted, error))
    return 1;
  if (summary)
    summary->trace_bytes = file_bytes (run.path);
  show (cli, &run, summary, interrupted);
  if (interrupted)
    return 130;
  if (!summary || summary->memory.fits)
    return 0;
  ls_cli_note (cli, "does not fit in memory; it was simulated as if it did (exit status 3)");
  return 3;
}

const LsCommand ls_command_run = {
    .name = "run",
    .usage = "FILE... [options]",
    .summary = "simulate a scenario, print its summary and write its trace",
    .description = "Reads the files in the order given, each over the ones before, then --set and "
                   "--unset, and simulates every "
                   "rank.\nThe trace goes to results/NAME-SEED.db under the working directory "
                   "(NAME-SEED-2.db, ... when taken), or "
                   "to the file of -o, which is overwritten only with --force; @last means it in "
                   "`lockstep query`.\nA scenario that "
                   "does not fit in memory is simulated as if it did; the summary says so and the "
                   "exit status is 3. Ctrl-C closes "
                   "the trace in good order.\nNo figure depends on what is recorded, but for "
                   "`events` of --json, the events "
                   "that the simulation took: kernels that nobody records one by one may be one "
                   "event. `operations` and "
                   "all else are the same.",
    .examples = "a shipped scenario on one node\tlockstep run topologies/dgx-h100.yaml "
                "workloads/llama2-7b-zero3.yaml\n"
                "another layout, no trace, for a script\tlockstep run mine.yaml --set "
                "workload.parallel.tensor=4 --trace none --json\n"
                "how long would it take\tlockstep run topologies/dgx-a100.yaml "
                "workloads/gpt3-175b.yaml --dry-run\n",
    .positional = "@file",
    .options = options,
    .takes_scenario = TRUE,
    .run = run_run,
};
