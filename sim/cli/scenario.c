/* Reading scenarios for commands, see scenario.h. */
#include "cli/scenario.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/data_files.h"
#include "cli/learning.h"
#include "config/output.h"
#include "config/path.h"
#include "config/tables.h"
#include "train/read/update_keys.h"

/* Making it costs more than reading a small scenario: once for all that a process reads. */
LsConfigSchema *ls_scenario_schema (void) {
  static LsConfigSchema *made;
  const LsConfigKey *const tables[] = {ls_config_keys,
                                       ls_cluster_keys,
                                       ls_model_keys,
                                       ls_precision_keys,
                                       ls_workload_keys,
                                       ls_update_keys,
                                       ls_stragglers_keys,
                                       ls_failure_keys,
                                       ls_campaign_keys,
                                       ls_cost_keys,
                                       ls_learn_keys,
                                       ls_config_later_keys,
                                       NULL};

  if (g_once_init_enter (&made))
    g_once_init_leave (&made, ls_config_schema_new (tables));
  return ls_config_schema_ref (made);
}

static LsScenario *scenario_new (void) {
  LsScenario *scenario = g_new0 (LsScenario, 1);

  scenario->schema = ls_scenario_schema ();
  scenario->errors = ls_config_errors_new ();
  return scenario;
}

void ls_scenario_free (LsScenario *scenario) {
  if (!scenario)
    return;
  for (guint j = 0; j < scenario->n_jobs; j++) {
    ls_workload_free (scenario->jobs[j].workload);
    g_free (scenario->jobs[j].name);
  }
  g_free (scenario->jobs);
  ls_learn_settings_free (scenario->learn);
  ls_step_times_free (scenario->step_times);
  ls_cost_free (scenario->cost);
  ls_campaign_plan_free (scenario->campaign);
  ls_campaign_plan_free (scenario->failures);
  ls_stragglers_free (scenario->stragglers);
  ls_cluster_free (scenario->cluster);
  ls_config_free (scenario->config);
  ls_config_errors_free (scenario->errors);
  ls_config_schema_free (scenario->schema);
  g_free (scenario->name);
  g_free (scenario);
}

/* What a run records: the keys are read again by the recorder; here they count as read, or as without
 * effect, so that every command gives the same warnings. */
static void read_trace (LsConfig *config) {
  const char *level = ls_config_get_string (config, "trace.level");
  static const char *const keys[] = {"trace.ranks", "trace.steps"};

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_autoptr (GArray) indexes = ls_config_get_indexes (config, keys[i]);

    (void) indexes;
  }
  if (strcmp (level, "ops") != 0 && strcmp (level, "messages") != 0)
    ls_config_no_effect (config, "trace.ranks", "only with trace.level ops or messages");
  if (strcmp (level, "none") == 0)
    ls_config_no_effect (config, "trace.steps", "trace.level is none");
}

/* May both have ranks on one GPU? */
static gboolean may_share (const LsWorkload *a, const LsWorkload *b) {
  return a->share != LS_SHARE_NONE && a->share == b->share;
}

/* No GPU has ranks of two jobs unless all of them share it: each later job, by name, against those before. */
static gboolean keep_apart (LsScenario *scenario) {
  g_autofree guint *owner = g_new0 (guint, MAX (ls_cluster_n_gpus (scenario->cluster), 1u));
  gboolean good = TRUE;

  for (guint j = 0; j < scenario->n_jobs; j++) {
    const LsWorkload *workload = scenario->jobs[j].workload;

    for (guint rank = 0; rank < workload->layout.ranks; rank++) {
      guint gpu = workload->gpu_of_rank[rank];
      g_autofree char *node = NULL;

      if (owner[gpu] == 0) {
        owner[gpu] = j + 1;
        continue;
      }
      if (may_share (scenario->jobs[owner[gpu] - 1].workload, workload))
        continue;
      node = ls_cluster_device_name (scenario->cluster, gpu);
      ls_config_error_at (scenario->config, scenario->errors, "jobs",
                          "jobs %s and %s both have a rank on %s; give each a placement, "
                          "or let both share it (placement.share)",
                          scenario->jobs[owner[gpu] - 1].name, scenario->jobs[j].name, node);
      good = FALSE;
      break;
    }
  }
  return good;
}

static gboolean overlap (const LsWorkload *a, const LsWorkload *b) {
  for (guint i = 0; i < a->layout.ranks; i++)
    for (guint k = 0; k < b->layout.ranks; k++)
      if (a->gpu_of_rank[i] == b->gpu_of_rank[k])
        return TRUE;
  return FALSE;
}

/* What jobs that share GPUs leave to each other of the memory: at most, as if the fullest rank of each lay
 * where the others are. */
static void share_memory (LsScenario *scenario) {
  g_autofree gint64 *held = g_new0 (gint64, scenario->n_jobs);

  for (guint j = 0; j < scenario->n_jobs; j++) {
    LsMemoryEstimate one;
    if (scenario->jobs[j].workload->share == LS_SHARE_NONE)
      continue;
    one = ls_scenario_fullest (scenario, j);
    held[j] = one.reserved_bytes + one.context_bytes + one.communication_bytes;
  }
  for (guint j = 0; j < scenario->n_jobs; j++) {
    LsWorkload *own = scenario->jobs[j].workload;
    gboolean shared = FALSE;

    for (guint k = 0; k < scenario->n_jobs && own->share != LS_SHARE_NONE; k++)
      if (k != j && scenario->jobs[k].workload->share == own->share &&
          overlap (own, scenario->jobs[k].workload)) {
        own->others_bytes += held[k];
        shared = TRUE;
      }
    if (!shared) {
      g_autofree char *path =
          ls_config_path ("jobs", scenario->jobs[j].name, "workload", "placement", "share", NULL);
      g_autofree char *of_job =
          ls_config_path ("jobs", scenario->jobs[j].name, "placement", "share", NULL);
      ls_config_no_effect (scenario->config, path, "no other job is on its GPUs");
      ls_config_no_effect (scenario->config, of_job, "no other job is on its GPUs");
      own->share = LS_SHARE_NONE;
    }
  }
}

/* One workload after another, by name. */
static void read_jobs (LsScenario *scenario) {
  LsConfig *config = scenario->config;
  g_auto (GStrv) names = ls_config_get_names (config, "jobs");
  gboolean good = TRUE;

  scenario->n_jobs = g_strv_length (names);
  scenario->jobs = g_new0 (LsScenarioJob, MAX (scenario->n_jobs, 1u));
  for (guint j = 0; j < scenario->n_jobs; j++) {
    LsScenarioJob *job = &scenario->jobs[j];
    g_autoptr (GString) path = g_string_new ("jobs");
    g_autofree char *start = NULL;

    job->name = g_strdup (names[j]);
    ls_config_path_append (path, names[j]);
    start = g_strconcat (path->str, ".start", NULL);
    job->start_ps = ls_config_get_time_ps (config, start);
    job->workload = ls_workload_new_job (config, names[j], scenario->cluster, scenario->errors);
    good = good && job->workload != NULL;
  }
  for (guint j = 0; good && j < scenario->n_jobs && scenario->n_jobs > 1; j++)
    if (scenario->jobs[j].workload->update.active) {
      ls_config_error_at (config, scenario->errors, "jobs",
                          "job %s has an asynchronous policy or timed workers, which run alone; "
                          "give it a scenario of its own",
                          scenario->jobs[j].name);
      good = FALSE;
    }
  if (good && scenario->n_jobs > 0 && keep_apart (scenario)) {
    scenario->workload = scenario->jobs[0].workload;
    share_memory (scenario);
  }
}

/* Failures of workers in a run of updates: those that take nodes along, under policies that bear it. */
static void read_worker_failures (LsScenario *scenario) {
  LsConfig *config = scenario->config;
  const LsUpdatePlan *plan = &scenario->workload->update;

  if (!ls_config_has (config, "faults.failures") && !ls_config_has (config, "faults.preset")) {
    ls_config_no_effect (config, "workload.update.away", "no worker fails");
    return;
  }
  scenario->failures = ls_campaign_plan_new_failures (config, scenario->errors, scenario->cluster,
                                                      scenario->workload);
  if (scenario->failures == NULL)
    return;
  const char *path =
      ls_config_has (config, "faults.failures") ? "faults.failures" : "faults.preset";
  if (!plan->timed || !ls_update_may_leave (&plan->spec))
    ls_config_error_at (
        config, scenario->errors, path,
        "workers that fail need model.kind timed and a policy with servers, not %s%s; "
        "failures of synchronous training belong to a campaign",
        plan->spec.policy->name, plan->timed ? "" : " of programs");
  for (guint i = 0; i < scenario->failures->spec.n_sources; i++) {
    LsFailureSource *source = &scenario->failures->sources[i];
    if (source->effect == LS_EFFECT_STOP && !source->keeps_nodes)
      continue;
    ls_config_warning_at (
        config, scenario->errors, path,
        "%s has no effect in a run of updates: only failures that take nodes along do",
        source->name);
  }
}

/* A campaign that cannot be, and what else stands there for its sake. */
static void refuse_campaign (LsScenario *scenario, const char *why) {
  static const char *const paths[] = {"campaign", "faults.failures", "faults.preset"};
  LsConfig *config = scenario->config;

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    if (ls_config_has (config, paths[i]))
      ls_config_get_node (config, paths[i]);
  ls_config_error_at (config, scenario->errors, "campaign", "%s", why);
}

/* The campaign of the one job that the scenario has. */
static void read_campaign (LsScenario *scenario) {
  LsConfig *config = scenario->config;

  if (!ls_config_has (config, "campaign") && scenario->workload != NULL && scenario->n_jobs == 1 &&
      scenario->workload->update.active) {
    read_worker_failures (scenario);
    return;
  }
  if (!ls_config_has (config, "campaign")) {
    ls_config_no_effect (config, "faults.preset",
                         "failures belong to a campaign, and there is none");
    ls_config_no_effect (config, "faults.failures",
                         "failures belong to a campaign, and there is none");
    return;
  }
  if (scenario->workload == NULL)
    return;
  if (scenario->n_jobs > 1) {
    g_autofree char *why =
        g_strdup_printf ("is of one job, and the scenario has %u", scenario->n_jobs);

    refuse_campaign (scenario, why);
    return;
  }
  if (scenario->workload->traffic != NULL || scenario->workload->update.active) {
    refuse_campaign (scenario,
                     scenario->workload->traffic != NULL
                         ? "is of synchronous training by steps, and a traffic job trains nothing"
                         : "is of synchronous training by steps, and this is a run of updates; "
                           "failures of its workers stand under faults.failures alone");
    return;
  }
  scenario->campaign =
      ls_campaign_plan_new (config, scenario->errors, scenario->cluster, scenario->workload);
  if (scenario->campaign == NULL)
    return;
  scenario->campaign->spec.seed = scenario->seed;
  scenario->step_times =
      ls_step_times_new (config, scenario->errors, scenario->cluster, scenario->workload,
                         scenario->stragglers, scenario->campaign);
  if (scenario->step_times == NULL)
    g_clear_pointer (&scenario->campaign, ls_campaign_plan_free);
}

/* Keys of learning that only some policies use. */
static void mark_learning (LsScenario *scenario) {
  const LsWorkload *workload = scenario->workload;

  if (workload)
    ls_learning_mark (scenario->config,
                      workload->update.active ? workload->update.spec.policy->name : "sync");
}

/* Slow ranks, numbered over all jobs. Timed workers draw their own times. */
static void read_stragglers (LsScenario *scenario) {
  g_autoptr (GArray) gpus = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint j = 0; j < scenario->n_jobs; j++) {
    const LsWorkload *workload = scenario->jobs[j].workload;

    if (workload->update.active && workload->update.timed) {
      ls_config_no_effect (scenario->config, "faults.stragglers",
                           "the times of timed workers are model.compute, model.time_factors and "
                           "model.time_factor_by_group");
      return;
    }
    g_array_append_vals (gpus, workload->gpu_of_rank, workload->layout.ranks);
  }
  scenario->stragglers =
      ls_stragglers_read (scenario->config, scenario->errors, scenario->cluster,
                          (const guint *) (gconstpointer) gpus->data, gpus->len, scenario->seed);
}

/* Builds the parts from what the builder has; each part checks its own keys. */
static void resolve (LsScenario *scenario, LsConfigBuilder *builder) {
  scenario->config = ls_config_builder_build (builder, scenario->errors);
  if (!scenario->config || !ls_config_is_readable (scenario->config))
    return;
  scenario->seed = (guint64) ls_config_get_int (scenario->config, "seed");
  ls_config_get_int (scenario->config, "lockstep");
  ls_config_get_string (scenario->config, "title");
  read_trace (scenario->config);
  scenario->cluster = ls_cluster_new (scenario->config, scenario->errors);
  if (scenario->cluster && ls_config_has (scenario->config, "jobs"))
    read_jobs (scenario);
  if (scenario->workload)
    read_stragglers (scenario);
  read_campaign (scenario);
  if (scenario->cluster && ls_config_has (scenario->config, "cost"))
    scenario->cost = ls_cost_new (scenario->config, scenario->errors, scenario->cluster);
  if (ls_config_has (scenario->config, "learn")) {
    scenario->learn = ls_learn_settings_new (scenario->config, scenario->errors);
    mark_learning (scenario);
  }
  if (scenario->workload)
    ls_config_warn_unused (scenario->config, scenario->errors);
}

static char *stem_of (const char *path) {
  char *base = g_path_get_basename (path);
  char *dot = strrchr (base, '.');

  if (dot && dot != base)
    *dot = 0;
  return base;
}

/* An option that stands for a key. RANKS of several parts become a list. */
static void set_key (LsConfigBuilder *builder, const char *key, const char *value) {
  gboolean list = strchr (value, ',') != NULL;
  g_autofree char *assignment =
      g_strdup_printf ("%s=%s%s%s", key, list ? "[" : "", value, list ? "]" : "");

  ls_config_builder_set (builder, assignment);
}

LsScenario *ls_scenario_from_files (LsCli *cli, const GPtrArray *files, gboolean cluster_only) {
  LsScenario *scenario = scenario_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (scenario->schema);
  g_autoptr (GString) name = g_string_new (NULL);
  const GPtrArray *settings = ls_args_settings (cli->args);
  const char *seed = ls_args_string (cli->args, "seed");

  for (guint i = 0; i < files->len; i++) {
    g_autofree char *path = ls_data_find_file (files->pdata[i]);
    g_autofree char *stem = stem_of (path);

    ls_config_builder_add_file (builder, path);
    g_string_append_printf (name, "%s%s", i > 0 ? "-" : "", stem);
  }
  for (guint i = 0; i < settings->len; i++) {
    const LsSetting *setting = settings->pdata[i];

    if (setting->unset)
      ls_config_builder_unset (builder, setting->text);
    else
      ls_config_builder_set (builder, setting->text);
  }
  if (ls_args_string (cli->args, "trace"))
    set_key (builder, "trace.level", ls_args_string (cli->args, "trace"));
  if (!cluster_only && ls_args_string (cli->args, "ranks")) /* of a collective: its GPUs */
    set_key (builder, "trace.ranks", ls_args_string (cli->args, "ranks"));
  if (seed)
    set_key (builder, "seed", seed);

  if (cluster_only)
    ls_config_builder_optional (builder, "workload");
  scenario->name = g_string_free (g_steal_pointer (&name), FALSE);
  resolve (scenario, builder);
  return scenario;
}

LsScenario *ls_scenario_from_args (LsCli *cli, gboolean cluster_only, GError **error) {
  const GPtrArray *files = ls_args_positional (cli->args);

  if (files->len == 0) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "no scenario file given; 'lockstep list topologies' and 'lockstep list "
                         "workloads' show shipped ones");
    return NULL;
  }
  return ls_scenario_from_files (cli, files, cluster_only);
}

LsScenario *ls_scenario_from_text (const char *name, const char *text) {
  LsScenario *scenario = scenario_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (scenario->schema);

  ls_config_builder_optional (builder, "workload");
  ls_config_builder_add_text (builder, name, text, -1);
  scenario->name = g_strdup (name);
  resolve (scenario, builder);
  return scenario;
}

LsScenario *ls_scenario_from_path (const char *path, const char *const *settings) {
  LsScenario *scenario = scenario_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (scenario->schema);

  ls_config_builder_add_file (builder, path);
  for (guint i = 0; settings != NULL && settings[i] != NULL; i++)
    ls_config_builder_set (builder, settings[i]);
  scenario->name = stem_of (path);
  resolve (scenario, builder);
  return scenario;
}

static void print_json_errors (const LsScenario *scenario) {
  g_autofree char *list =
      ls_config_errors_json (scenario->errors, ls_error_name (LS_ERROR_CONFIG), 0);

  fprintf (stdout, "{\"error\": %s}\n", g_strchomp (list));
}

/* Does the list hold the same entry before @index? */
static gboolean said_before (const LsConfigErrors *errors, guint index) {
  const LsConfigFault fault = ls_config_errors_get (errors, index);

  for (guint i = 0; i < index; i++) {
    const LsConfigFault other = ls_config_errors_get (errors, i);

    if (other.line == fault.line && other.column == fault.column &&
        g_strcmp0 (other.file, fault.file) == 0 && g_str_equal (other.message, fault.message))
      return TRUE;
  }
  return FALSE;
}

char *ls_scenario_first_fault (const LsScenario *scenario) {
  g_autofree char *text = ls_config_errors_text (scenario->errors);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  if (scenario->workload != NULL && !ls_config_errors_any (scenario->errors))
    return NULL;
  for (guint i = 0; lines[i]; i++)
    if (strstr (lines[i], ": error: ") != NULL)
      return g_strdup (lines[i]);
  return g_strdup (lines[0] != NULL ? lines[0] : "");
}

gboolean ls_scenario_report (LsCli *cli, const LsScenario *scenario) {
  g_autofree char *text = NULL;

  ls_config_errors_sort (scenario->errors);
  if (!ls_config_errors_any (scenario->errors)) {
    for (guint i = 0; i < ls_config_errors_length (scenario->errors); i++) {
      const LsConfigFault fault = ls_config_errors_get (scenario->errors, i);

      if (!said_before (scenario->errors, i))
        ls_cli_warn_at (cli, fault.file, fault.line, fault.column, fault.message);
    }
    return TRUE;
  }
  text = ls_config_errors_text (scenario->errors);
  fputs (text, stderr);
  if (cli->json)
    print_json_errors (scenario);
  return FALSE;
}

const LsAccelerator **ls_scenario_stage_gpus (const LsScenario *scenario, guint job) {
  const LsWorkload *workload = scenario->jobs[job].workload;
  const LsLayout *layout = &workload->layout;
  const LsAccelerator **gpus = g_new0 (const LsAccelerator *, layout->pipeline);

  for (guint stage = 0; stage < layout->pipeline; stage++) {
    LsCoordinates at = {.stage = stage};
    guint rank = ls_layout_rank (layout, at);

    gpus[stage] = ls_cluster_gpu (scenario->cluster, workload->gpu_of_rank[rank]);
  }
  return gpus;
}

/* What a kind of rank may differ in, as far as memory goes. */
typedef struct {
  guint stage;
  const LsAccelerator *gpu;
  gint64 microbatches;
} MemoryKind;

static gboolean is_new (GArray *seen, const MemoryKind *kind) {
  for (guint i = 0; i < seen->len; i++) {
    const MemoryKind *other = &g_array_index (seen, MemoryKind, i);

    if (other->stage == kind->stage && other->gpu == kind->gpu &&
        other->microbatches == kind->microbatches)
      return FALSE;
  }
  g_array_append_val (seen, *kind);
  return TRUE;
}

gboolean ls_scenario_has_memory (const LsScenario *scenario, guint job) {
  const LsWorkload *workload = scenario->jobs[job].workload;

  return workload->traffic == NULL && !workload->update.timed;
}

LsMemoryEstimate ls_scenario_fullest (const LsScenario *scenario, guint job) {
  const LsWorkload *workload = scenario->jobs[job].workload;
  LsMemoryEstimate fullest = {.fits = TRUE};
  g_autoptr (GArray) seen = g_array_new (FALSE, FALSE, sizeof (MemoryKind));

  for (guint rank = 0; ls_scenario_has_memory (scenario, job) && rank < workload->layout.ranks;
       rank++) {
    LsCoordinates at = ls_layout_coordinates (&workload->layout, rank);
    const MemoryKind kind = {at.stage,
                             ls_cluster_gpu (scenario->cluster, workload->gpu_of_rank[rank]),
                             ls_workload_microbatches (workload, at.data)};
    LsWorkload own = *workload;
    LsMemoryEstimate one;

    if (!is_new (seen, &kind))
      continue;
    own.microbatches = kind.microbatches;
    ls_memory_estimate (&own, kind.stage, kind.gpu, &one);
    if (seen->len == 1 || ls_memory_is_fuller (&one, &fullest))
      fullest = one;
  }
  return fullest;
}

/* Settings that a heading names. */
#define MOST_SETTINGS 3

char *ls_scenario_heading (const LsCli *cli, const LsScenario *scenario) {
  const GPtrArray *settings = ls_args_settings (cli->args);
  GString *out = g_string_new (NULL);
  guint n = 0;

  if (!ls_config_has (scenario->config, "title"))
    return g_string_free (out, TRUE);
  g_string_append (out, ls_config_get_string (scenario->config, "title"));
  for (guint i = 0; i < settings->len; i++) {
    const LsSetting *setting = settings->pdata[i];

    if (g_str_has_prefix (setting->text, "title"))
      continue;
    if (n++ < MOST_SETTINGS)
      g_string_append_printf (out, "%s %s%s", n == 1 ? ", with" : ",", setting->unset ? "no " : "",
                              setting->text);
  }
  if (n > MOST_SETTINGS)
    g_string_append_printf (out, " and %u more", n - MOST_SETTINGS);
  return g_string_free (out, FALSE);
}

char *ls_scenario_json (const LsScenario *scenario) {
  return ls_config_to_json (scenario->config, LS_CONFIG_WRITE_DEFAULTS, 2);
}

/* The first line that is a comment, without its mark; NULL when the file does not begin with one. */
static char *first_comment (const char *path) {
  g_autofree char *text = NULL;
  char *end;

  if (!g_file_get_contents (path, &text, NULL, NULL) || text[0] != '#')
    return NULL;
  end = strchr (text, '\n');
  if (end)
    *end = 0;
  return g_strdup (g_strstrip (text + 1));
}

char *ls_scenario_file_title (const char *path) {
  g_autoptr (GStringChunk) names = g_string_chunk_new (256);
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsConfigNode) root = ls_config_node_read_file (path, names, errors);
  const LsConfigNode *title = root ? ls_config_node_get (root, "title") : NULL;

  if (title && title->kind == LS_CONFIG_NODE_SCALAR)
    return g_strdup (title->text);
  return first_comment (path);
}

static const char reference_head[] =
    "# Scenario files\n\n"
    "<!-- Made by `lockstep help --scenario` from the schema in the code; a test keeps it up to "
    "date. -->\n\n"
    "A scenario is one or more YAML 1.2 files (JSON is a subset), layered in the order given, then "
    "`--set path=value`\n"
    "and `--unset path` in the order given.\n\n"
    "- Maps merge key by key; scalars and plain lists replace; `null` removes a key.\n"
    "- Changing a discriminator (`kind`, `policy`, `preset`) drops its siblings from lower "
    "layers.\n"
    "- Short forms are expanded first: a word where a map may stand means `{preset: word}` (or "
    "`kind`, or `policy`, as\n"
    "  the tables say).\n"
    "- Quantities carry units: `80 GiB`, `3.35 TB/s` (bytes), `400 Gb/s` (bits), `2.5 us`, `12 %`, "
    "`15 T`.\n"
    "  A bare number where a unit belongs is an error.\n"
    "- A path may quote a segment: `cluster.links.\"leaf0-spine1\".rate`. Relative file names are "
    "relative to the file\n"
    "  that holds them.\n"
    "- Every fault of a file is reported, as `FILE:LINE:COL: error: what is wrong; what is "
    "allowed; did you mean ...`,\n"
    "  and nothing runs. A key without effect is a warning.\n\n"
    "`lockstep check FILE --explain KEY` shows one key with its value; `lockstep check FILE "
    "--resolved` writes the whole\n"
    "scenario with everything expanded. In the tables, `*` stands for a name of your own.\n\n";

char *ls_scenario_reference (void) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *tables = ls_config_schema_markdown (schema);

  return g_strconcat (reference_head, tables, NULL);
}
