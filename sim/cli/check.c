/* `lockstep check`: reads a scenario, reports every fault, and shows what it means, without running
 * anything. */
#include <string.h>

#include "base/error.h"
#include "base/prose.h"
#include "cli/check_checkpoint.h"
#include "cli/check_recompute.h"
#include "cli/check_tables.h"
#include "cli/run_learn.h"
#include "config/output.h"
#include "net/net.h"

static const LsOption options[] = {
    {"resolved", 0, LS_OPTION_FLAG, NULL,
     "the whole scenario as YAML, defaults filled in; it runs the same", NULL},
    {"explain", 0, LS_OPTION_STRING, "KEY",
     "type, unit, range, default, meaning and value of a key", "@keys"},
    {"diff", 0, LS_OPTION_PAIR, "A B",
     "keys that differ between two files, each over the files named before", "@file"},
    {"memory", 0, LS_OPTION_FLAG, NULL, "memory per pipeline stage, and what would make it fit",
     NULL},
    {"layout", 0, LS_OPTION_FLAG, NULL, "which rank is on which GPU, its stage and groups", NULL},
    {"topology", 0, LS_OPTION_FLAG, NULL, "nodes, links and fabrics", NULL},
    {"route", 0, LS_OPTION_PAIR, "A B", "the links between two GPUs, numbers or NODE/gpuN", NULL},
    {"recompute-curve", 0, LS_OPTION_FLAG, NULL,
     "peak memory against extra compute when activations are kept every k layers", NULL},
    {"checkpoint", 0, LS_OPTION_FLAG, NULL,
     "size, time and traffic of the kinds of checkpoint, and of restoring on another size", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

static int explain (LsCli *cli, GError **error) {
  const char *key = ls_args_string (cli->args, "explain");
  g_autoptr (LsScenario) scenario = NULL;
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *text = NULL;
  LsConfig *config = NULL;

  if (ls_args_positional (cli->args)->len > 0) {
    scenario = ls_scenario_from_args (cli, TRUE, error);
    /* A key can be explained in a scenario that is not whole, say a workload without its cluster. */
    if (!scenario->config) {
      ls_scenario_report (cli, scenario);
      return 2;
    }
    config = scenario->config;
  }
  text = cli->json
             ? ls_config_explain_json (scenario ? scenario->schema : schema, config, key, error)
             : ls_config_explain (scenario ? scenario->schema : schema, config, key, error);
  return text && ls_cli_write (cli, text, error) ? 0 : 2;
}

/* The common files with one more on top. */
static LsScenario *with_file (LsCli *cli, const char *path) {
  const GPtrArray *common = ls_args_positional (cli->args);
  g_autoptr (GPtrArray) files = g_ptr_array_new ();

  for (guint i = 0; i < common->len; i++)
    g_ptr_array_add (files, common->pdata[i]);
  g_ptr_array_add (files, (gpointer) path);
  return ls_scenario_from_files (cli, files, TRUE);
}

static int diff (LsCli *cli, GError **error) {
  g_autoptr (GPtrArray) paths = ls_args_list (cli->args, "diff");
  g_autoptr (LsScenario) a = with_file (cli, paths->pdata[0]);
  g_autoptr (LsScenario) b = with_file (cli, paths->pdata[1]);
  g_autofree char *text = NULL;

  if (!a->config || !b->config || !ls_config_is_readable (a->config) ||
      !ls_config_is_readable (b->config)) {
    gboolean good = ls_scenario_report (cli, a);

    if (good)
      ls_scenario_report (cli, b);
    return 2;
  }
  text = cli->json ? ls_config_diff_json (a->config, b->config, 2)
                   : ls_config_diff (a->config, b->config);
  return ls_cli_write (cli, text, error) ? 0 : 2;
}

static int route (LsCli *cli, const LsScenario *scenario, GError **error) {
  g_autoptr (GPtrArray) ends = ls_args_list (cli->args, "route");
  g_autofree char *text =
      ls_check_route (scenario, ends->pdata[0], ends->pdata[1], cli->json, error);

  return text && ls_cli_write (cli, text, error) ? 0 : 2;
}

static void json_job (LsCli *cli, LsJson *json, const LsScenario *scenario, guint job) {
  if (ls_scenario_has_memory (scenario, job))
    ls_check_memory_json (json, scenario, job);
  if (ls_args_has (cli->args, "layout"))
    ls_check_layout_json (json, scenario, job);
  if (ls_args_has (cli->args, "recompute-curve") && ls_scenario_has_memory (scenario, job))
    ls_check_recompute_json (json, scenario, job);
}

static char *as_json (LsCli *cli, const LsScenario *scenario) {
  LsJson *json = ls_json_new ();
  g_autofree char *resolved = ls_scenario_json (scenario);

  ls_json_open_object (json, NULL);
  ls_json_boolean (json, "valid", TRUE);
  ls_json_raw (json, "scenario", g_strchomp (resolved));
  if (scenario->n_jobs == 1) {
    json_job (cli, json, scenario, 0);
  } else {
    ls_json_open_object (json, "jobs");
    for (guint job = 0; job < scenario->n_jobs; job++) {
      ls_json_open_object (json, scenario->jobs[job].name);
      json_job (cli, json, scenario, job);
      ls_json_close (json);
    }
    ls_json_close (json);
  }
  if (ls_args_has (cli->args, "topology"))
    ls_check_topology_json (json, scenario);
  ls_json_strings (json, "warnings", cli->warnings);
  ls_json_close (json);
  return ls_json_finish (json);
}

static void append_card (GString *out, const LsScenario *scenario, guint job,
                         const LsMemoryEstimate *fullest) {
  g_autofree char *reserved =
      ls_quantity_format_decimal ((double) fullest->reserved_bytes, LS_DIMENSION_BYTES);
  g_autofree char *capacity =
      ls_quantity_format_decimal ((double) fullest->capacity_bytes, LS_DIMENSION_BYTES);

  ls_check_card (out, scenario, job);
  if (!ls_scenario_has_memory (scenario, job))
    return;
  g_string_append_printf (out, "memory    %s of %s on the fullest GPU (stage %u): %s\n", reserved,
                          capacity, fullest->stage,
                          fullest->fits ? "fits" : "does not fit; --memory says what would");
}

/* What memory and the curve of recomputing are asked of; a job that holds nothing says so. */
static void append_memory (GString *out, const LsScenario *scenario, guint job, gboolean memory,
                           gboolean curve) {
  if (!ls_scenario_has_memory (scenario, job)) {
    g_string_append (out, scenario->jobs[job].workload->traffic
                              ? "a traffic job trains nothing; its memory is not modelled\n"
                              : "timed workers hold nothing; their memory is not modelled\n");
    return;
  }
  if (memory)
    ls_check_memory (out, scenario, job);
  if (curve)
    ls_check_recompute (out, scenario, job);
}

/* What is asked of one job (transfer full). */
static char *job_text (LsCli *cli, const LsScenario *scenario, guint job,
                       const LsMemoryEstimate *fullest) {
  GString *out = g_string_new (NULL);
  gboolean memory = ls_args_has (cli->args, "memory"), layout = ls_args_has (cli->args, "layout");
  gboolean curve = ls_args_has (cli->args, "recompute-curve");

  if (!memory && !layout && !curve && !ls_args_has (cli->args, "topology"))
    append_card (out, scenario, job, fullest);
  if (memory || curve)
    append_memory (out, scenario, job, memory, curve);
  if (layout)
    ls_check_layout (out, scenario, job);
  return g_string_free (out, FALSE);
}

/* Names of all jobs (free the list alone). */
static const char **job_names (const LsScenario *scenario) {
  const char **names = g_new (const char *, scenario->n_jobs);

  for (guint job = 0; job < scenario->n_jobs; job++)
    names[job] = scenario->jobs[job].name;
  return names;
}

static char *as_text (LsCli *cli, const LsScenario *scenario, const LsMemoryEstimate *fullest) {
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree const char **names = job_names (scenario);
  g_auto (GStrv) texts = g_new0 (char *, scenario->n_jobs + 1);

  if (ls_args_has (cli->args, "resolved"))
    return ls_config_to_yaml (scenario->config, LS_CONFIG_WRITE_DEFAULTS);
  if (ls_args_has (cli->args, "topology")) {
    g_autofree char *text = ls_net_describe (scenario->cluster);

    g_string_append (out, text);
  }
  for (guint job = 0; job < scenario->n_jobs; job++)
    texts[job] = job_text (cli, scenario, job, &fullest[job]);
  if (scenario->n_jobs == 1)
    g_string_append (out, texts[0]);
  else
    ls_prose_append_jobs (out, names, (const char *const *) texts, scenario->n_jobs);
  return g_strdup (out->str);
}

/* Questions about a cluster alone need no workload. */
static gboolean of_cluster (LsCli *cli) {
  return ls_args_has (cli->args, "route") || ls_args_has (cli->args, "topology");
}

static char *topology (LsCli *cli, const LsScenario *scenario) {
  LsJson *json;

  if (!cli->json)
    return ls_net_describe (scenario->cluster);
  json = ls_json_new ();
  ls_json_open_object (json, NULL);
  ls_check_topology_json (json, scenario);
  ls_json_close (json);
  return ls_json_finish (json);
}

/* 3 when some job does not fit, with the reason of each; alike neighbours share it. */
static int memory_status (LsCli *cli, const LsScenario *scenario, const LsMemoryEstimate *fullest) {
  g_autofree const char **names = job_names (scenario);
  g_auto (GStrv) verdicts = g_new0 (char *, scenario->n_jobs + 1);
  int status = 0;

  for (guint job = 0; job < scenario->n_jobs; job++) {
    g_autofree const LsAccelerator **gpus = ls_scenario_stage_gpus (scenario, job);

    verdicts[job] = fullest[job].fits
                        ? g_strdup ("")
                        : ls_memory_verdict (scenario->jobs[job].workload, gpus, &fullest[job]);
    status = fullest[job].fits ? status : 3;
  }
  if (cli->json || ls_args_has (cli->args, "memory"))
    return status;
  for (guint from = 0, to; from < scenario->n_jobs; from = to) {
    g_autofree char *alike =
        ls_prose_alike (names, (const char *const *) verdicts, scenario->n_jobs, from, &to);

    if (!fullest[from].fits)
      ls_cli_note (cli, "%s%s%s", scenario->n_jobs > 1 ? alike : "",
                   scenario->n_jobs > 1 ? ": " : "", g_strchomp (verdicts[from]));
  }
  return status;
}

static int checkpoint (LsCli *cli, const LsScenario *scenario, GError **error) {
  g_autofree char *text = NULL;

  if (scenario->n_jobs > 1 || scenario->workload->traffic || scenario->workload->update.timed) {
    g_set_error_literal (
        error, LS_ERROR, LS_ERROR_USAGE,
        "--checkpoint is about one job that trains a model; timed workers hold none");
    return 2;
  }
  text = ls_check_checkpoint (scenario, cli->json);
  return ls_cli_write (cli, text, error) ? 0 : 2;
}

/* Data of a learner are read and dealt out as the run would. */
static gboolean check_learning (LsCli *cli, const LsScenario *scenario, GError **error) {
  gboolean missing = FALSE;

  if (!scenario->learn || !scenario->workload)
    return TRUE;
  if (!ls_run_learn_check (scenario, &missing, error))
    return FALSE;
  if (missing)
    ls_cli_note (cli,
                 "learn.data: the data set %s is not on this machine, so that it is not known "
                 "whether its rows can be dealt out; `tools/get-%s` fetches it",
                 scenario->learn->data.preset, scenario->learn->data.preset);
  return TRUE;
}

static int run_check (LsCli *cli, GError **error) {
  g_autoptr (LsScenario) scenario = NULL;
  g_autofree LsMemoryEstimate *fullest = NULL;
  g_autofree char *text = NULL;

  if (ls_args_has (cli->args, "explain"))
    return explain (cli, error);
  if (ls_args_has (cli->args, "diff"))
    return diff (cli, error);
  scenario = ls_scenario_from_args (cli, of_cluster (cli), error);
  if (!scenario || !ls_scenario_report (cli, scenario))
    return 2;
  if (!check_learning (cli, scenario, error))
    return 2;
  if (ls_args_has (cli->args, "route"))
    return route (cli, scenario, error);
  if (!scenario->workload) {
    text = topology (cli, scenario);
    return ls_cli_write (cli, text, error) ? 0 : 2;
  }
  if (ls_args_has (cli->args, "checkpoint"))
    return checkpoint (cli, scenario, error);
  fullest = g_new (LsMemoryEstimate, scenario->n_jobs);
  for (guint job = 0; job < scenario->n_jobs; job++) {
    fullest[job] = ls_scenario_fullest (scenario, job);
  }
  text = cli->json ? as_json (cli, scenario) : as_text (cli, scenario, fullest);
  if (!ls_cli_write (cli, text, error))
    return 2;
  return memory_status (cli, scenario, fullest);
}

const LsCommand ls_command_check = {
    .name = "check",
    .usage = "FILE... [options]",
    .summary = "validate a scenario and show what it means; runs nothing",
    .description = "Reads the files in the order given, each over the ones before, then --set and "
                   "--unset. Every fault is shown "
                   "with its file, line and column.\nWithout an option a short card is printed. "
                   "Exit status 3 means that the "
                   "scenario is valid but does not fit in memory.",
    .examples = "is it right, and does it fit\tlockstep check topologies/dgx-h100.yaml "
                "workloads/llama2-70b.yaml\n"
                "what a key means and what it is here\tlockstep check mine.yaml --explain "
                "workload.zero.stage\n"
                "memory per stage with another layout\tlockstep check mine.yaml --memory --set "
                "workload.parallel.pipeline=4\n",
    .positional = "@file",
    .options = options,
    .takes_scenario = TRUE,
    .run = run_check,
};
