/* `lockstep run` of updates; see run_update.h. */
#include "cli/run_update.h"

#include <glib/gstdio.h>
#include <stdio.h>

#include "base/error.h"
#include "base/quantity.h"
#include "cli/dry_run.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_learn.h"
#include "cli/update_recording.h"
#include "cli/update_summary.h"
#include "config/output.h"
#include "faults/stragglers_run.h"
#include "faults/update_failures.h"
#include "trace/recorder_campaign.h"

typedef struct {
  LsUpdateRun *run;
  LsUpdateRecording *recording; /* NULL: no trace */
  LsRunLearn *learn;            /* NULL without a learn section */
  LsUpdateFailures *failures;   /* NULL: no worker fails */
  LsStragglersRun *stragglers;  /* NULL: no worker is slowed down */
  char *path;
  double usd_per_s; /* of all workers; 0: no price is given */
} Updates;

static void updates_clear (Updates *u) {
  ls_run_learn_free (u->learn);
  ls_update_recording_free (u->recording);
  ls_update_failures_free (u->failures);
  ls_stragglers_run_free (u->stragglers);
  ls_update_run_free (u->run);
  g_free (u->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Updates, updates_clear)

static gboolean start_recording (LsCli *cli, Updates *u, const LsScenario *scenario,
                                 const LsRecorderOptions *options, GError **error) {
  LsRecorderOptions own = *options;
  g_autofree char *resolved = NULL;
  LsRecorder *recorder;

  if (options->level == LS_TRACE_NONE)
    return TRUE;
  u->path = ls_output_choose (cli, scenario->name, scenario->seed, error);
  if (u->path == NULL)
    return FALSE;
  own.force = ls_args_has (cli->args, "force");
  own.stop = ls_interrupt_flag ();
  u->recording = ls_update_recording_new (u->path, u->run, &own, error);
  if (u->recording == NULL)
    return FALSE;
  recorder = ls_update_recording_recorder (u->recording);
  resolved = ls_config_to_yaml (scenario->config, LS_CONFIG_WRITE_DEFAULTS);
  ls_recorder_set_text (recorder, "scenario", resolved);
  ls_recorder_set_text (recorder, "version", LS_VERSION);
  ls_recorder_set_text (recorder, "name", scenario->name);
  ls_recorder_set_integer (recorder, "seed", (gint64) scenario->seed);
  if (u->usd_per_s > 0)
    ls_recorder_set_real (recorder, "usd_per_s", u->usd_per_s);
  return TRUE;
}

/* The learner listens to the log as the trace does. */
static gboolean start_learning (Updates *u, const LsScenario *scenario, GError **error) {
  LsUpdate *update = ls_update_run_update (u->run);
  const LsUpdateSpec *spec = ls_update_spec (update);

  if (scenario->learn == NULL)
    return TRUE;
  u->learn = ls_run_learn_new (scenario, spec->policy->name, spec->workers, spec->shards, error);
  if (u->learn == NULL)
    return FALSE;
  ls_update_add_sink (update, &ls_ensemble_sink, ls_run_learn_ensemble (u->learn));
  return TRUE;
}

static char *summary_json (LsCli *cli, Updates *u, gboolean lasting) {
  char *json = ls_update_summary_json (cli, u->run, u->path, lasting, u->usd_per_s);

  if (u->learn == NULL)
    return json;
  g_autofree char *own = json;
  return ls_run_learn_extend_json (u->learn, own);
}

static void on_progress (gpointer self, double share) {
  ls_progress_update (self, share, NULL);
}

/* TRUE when the run is complete or was interrupted (*interrupted). */
static gboolean simulate (LsCli *cli, Updates *u, gboolean *interrupted, GError **error) {
  g_autoptr (LsProgress) progress = ls_progress_new (cli, "simulating");
  g_autoptr (GError) local = NULL;

  *interrupted = FALSE;
  if (ls_update_run_go (u->run, ls_interrupt_flag (), on_progress, progress, &local))
    return TRUE;
  if (u->recording != NULL &&
      !ls_recorder_check (ls_update_recording_recorder (u->recording), error))
    return FALSE;
  if (g_error_matches (local, LS_ERROR, LS_ERROR_INTERRUPTED)) {
    *interrupted = TRUE;
    return TRUE;
  }
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static void record_failures (const Updates *u, const LsScenario *scenario) {
  guint n;
  const LsFailure *list = ls_update_failures_list (u->failures, &n);
  const LsCampaignTrace trace = ls_recorder_campaign_trace (
      ls_update_recording_recorder (u->recording), scenario->failures->sources);

  for (guint i = 0; i < n; i++)
    trace.fault (trace.self, list[i].source, list[i].first_node, list[i].n_nodes, list[i].t_us,
                 list[i].t_us + list[i].repair_us, 0);
}

static gboolean finish_recording (LsCli *cli, Updates *u, gboolean interrupted, GError **error) {
  g_autofree char *json = NULL;
  LsRecorder *recorder;

  if (u->recording == NULL)
    return TRUE;
  recorder = ls_update_recording_recorder (u->recording);
  json = g_strchomp (summary_json (cli, u, TRUE));
  ls_recorder_set_text (recorder, "summary", json);
  ls_recorder_set_job_summary (recorder, 0, json);
  ls_recorder_set_real (recorder, "wall_s", ls_update_run_wall_s (u->run));
  if (!ls_recorder_finish (recorder, interrupted ? "interrupted" : "complete",
                           ls_engine_now_ps (ls_update_run_engine (u->run)), error))
    return FALSE;
  ls_output_remember (u->path);
  return TRUE;
}

static void show (LsCli *cli, Updates *u, const LsScenario *scenario) {
  g_autofree char *text = NULL;
  const char *title = ls_config_has (scenario->config, "title")
                          ? ls_config_get_string (scenario->config, "title")
                          : NULL;

  if (cli->json) {
    g_autofree char *json = g_strchomp (summary_json (cli, u, FALSE));

    text = g_strconcat (json, "\n", NULL);
  } else if (!cli->quiet) {
    GStatBuf status;
    gint64 bytes = u->path != NULL && g_stat (u->path, &status) == 0 ? (gint64) status.st_size : 0;
    g_autofree char *own = ls_update_summary_text (u->run, title, u->path, bytes, u->usd_per_s);

    text = u->learn != NULL ? ls_run_learn_extend_text (u->learn, own) : g_strdup (own);
  }
  if (text == NULL)
    return;
  fputs (text, stdout);
  fflush (stdout);
}

/* --- dry run ------------------------------------------------------------------------------------ */

/* Rows of the log and of gradients per update, and of events; what one second writes beside the run: measured, 11.2 M rows in
 * 23.5 s of two cores that others shared (7.4 s of a core's own time; an idle machine is up to twice as fast). */
#define ROWS_PER_GRADIENT 7
#define ROWS_PER_S 4.8e5
#define BYTES_PER_ROW 60

/* Runs for a moment and extrapolates. */
static int dry_run (LsCli *cli, Updates *u, const LsRecorderOptions *options, GError **error) {
  LsProbe probe = ls_probe_begin (1);
  gboolean whole = ls_update_run_go (u->run, &probe.stop, ls_probe_progress, &probe, NULL);
  LsUpdateTotals t = ls_update_totals (ls_update_run_update (u->run));
  double share = whole || probe.share <= 0 ? 1 : probe.share;
  double seconds = whole ? ls_update_run_wall_s (u->run) : probe.seconds / share;
  double events = (double) ls_engine_n_events (ls_update_run_engine (u->run)) / share;
  double operations = (double) ls_engine_n_operations (ls_update_run_engine (u->run)) / share;
  double recorded = options->level < LS_TRACE_OPS ? 0 : operations;
  double rows =
      options->level == LS_TRACE_NONE ? 0 : (double) t.evaluated / share * ROWS_PER_GRADIENT;
  double file = rows * BYTES_PER_ROW;

  if (options->level != LS_TRACE_NONE) /* tables and indexes, and what is recorded of programs */
    file += (double) ls_trace_estimate_bytes (
        options->level, (gint64) recorded, ls_engine_n_ranks (ls_update_run_engine (u->run)),
        ls_engine_n_resources (ls_update_run_engine (u->run)), 0);
  rows += recorded;
  seconds += rows / ROWS_PER_S;
  const LsExpectation expected = {
      .operations = operations, .events = events, .rows = rows, .bytes = file, .seconds = seconds};
  g_autofree char *all = g_strdup_printf ("about %.3g events of %u workers", events,
                                          ls_update_spec (ls_update_run_update (u->run))->workers);
  g_autofree char *written = g_strdup_printf ("%.3g rows", rows);
  return ls_expectation_write (cli, &expected, all, written, error);
}

int ls_run_updates (LsCli *cli, const LsScenario *scenario, const LsRecorderOptions *options,
                    GError **error) {
  g_auto (Updates) u = {0};
  gboolean interrupted;

  u.run = ls_update_run_new (scenario->cluster, scenario->workload, scenario->seed, error);
  if (u.run == NULL)
    return 1;
  if (scenario->cost != NULL)
    u.usd_per_s = ls_cost_job_usd_per_s (scenario->cost, scenario->cluster, scenario->workload);
  if (scenario->failures != NULL)
    u.failures = ls_update_failures_new (scenario->failures->sources,
                                         scenario->failures->spec.n_sources, u.run);
  if (ls_args_has (cli->args, "dry-run"))
    return dry_run (cli, &u, options, error);
  u.stragglers = ls_stragglers_install_updates (scenario->stragglers, u.run);
  if (!start_learning (&u, scenario, error))
    return 2;
  if (!start_recording (cli, &u, scenario, options, error) ||
      !simulate (cli, &u, &interrupted, error))
    return 1;
  if (u.learn != NULL)
    ls_run_learn_finish (u.learn,
                         u.recording != NULL ? ls_update_recording_recorder (u.recording) : NULL);
  if (u.failures != NULL && u.recording != NULL)
    record_failures (&u, scenario);
  if (!finish_recording (cli, &u, interrupted, error))
    return 1;
  if (interrupted)
    ls_cli_note (cli, "interrupted%s%s", u.path != NULL ? "; what was done is in " : "",
                 u.path != NULL ? u.path : "");
  show (cli, &u, scenario);
  if (interrupted)
    return 130;
  if (ls_update_memory (u.run).fits)
    return 0;
  ls_cli_note (cli, "does not fit in memory; it was simulated as if it did (exit status 3)");
  return 3;
}
