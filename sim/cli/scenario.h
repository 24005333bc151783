/* From files and settings to a cluster and a workload: the way every command reads scenarios.
 *
 * All faults are collected in `errors`; a scenario with faults is still returned, so that they can
 * be shown together, but its cluster or workload may then be NULL.
 * Ownership: a scenario owns all its parts. Nothing here prints except ls_scenario_report().
 */
#pragma once

#include "cli/cli.h"
#include "config/config.h"
#include "faults/campaign_times.h"
#include "faults/stragglers.h"
#include "learn/settings.h"
#include "net/cluster.h"
#include "study/cost.h"
#include "train/memory/memory.h"
#include "train/read/workload_keys.h"

G_BEGIN_DECLS

/* One job of a scenario. */
typedef struct {
  char *name;
  LsWorkload *workload; /* NULL after faults */
  gint64 start_ps;
} LsScenarioJob;

typedef struct {
  LsConfigSchema *schema;
  LsConfigErrors *errors;
  LsConfig *config;   /* NULL when a file is no YAML at all */
  LsCluster *cluster; /* NULL after faults, or when the scenario has none */
  guint n_jobs;
  LsScenarioJob *jobs;      /* by name; none in a scenario without a workload */
  LsWorkload *workload;     /* of the first job, NULL when there is none or any is faulty */
  LsCampaignPlan *campaign; /* NULL: no campaign, or a faulty one */
  LsCost *cost;             /* NULL: no prices */
  LsStepTimes *step_times;  /* of the campaign */
  LsLearnSettings *learn;   /* NULL: no learn section, or a faulty one */
  LsCampaignPlan *failures; /* of workers, in a run of updates; NULL: none */
  LsStragglers *stragglers; /* of all jobs; NULL: none, or faulty ones */
  guint64 seed;
  char *name; /* for file names: stems of the files, joined by dashes */
} LsScenario;

/* The schema of all parts (transfer full). */
LsConfigSchema *ls_scenario_schema (void);

/* Reads what the command line names. Sets @error only when no file is named. With @cluster_only a
 * scenario without a workload is good too. */
LsScenario *ls_scenario_from_args (LsCli *cli, gboolean cluster_only, GError **error);
/* The same for a list of files (char *), with the command line's settings on top. */
LsScenario *ls_scenario_from_files (LsCli *cli, const GPtrArray *files, gboolean cluster_only);
/* A scenario from memory, with or without a workload; @name stands for its file in messages. */
LsScenario *ls_scenario_from_text (const char *name, const char *text);
/* A file with settings "path=value" (ended by NULL; NULL: none) on top. */
LsScenario *ls_scenario_from_path (const char *path, const char *const *settings);
void ls_scenario_free (LsScenario *scenario);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsScenario, ls_scenario_free)

/* Shows warnings and errors; FALSE when there was any error (exit with 2 then). */
gboolean ls_scenario_report (LsCli *cli, const LsScenario *scenario);

/* The first error of a scenario that must have a workload, warnings passed over; NULL: it is good (transfer full). */
char *ls_scenario_first_fault (const LsScenario *scenario);

/* The accelerator of each pipeline stage of a job, by its first rank (transfer container). */
const LsAccelerator **ls_scenario_stage_gpus (const LsScenario *scenario, guint job);
/* FALSE: it holds no tensors that are modelled (traffic, timed workers). */
gboolean ls_scenario_has_memory (const LsScenario *scenario, guint job);
/* The memory of the fullest GPU of a job; of one without: nothing, which fits. */
LsMemoryEstimate ls_scenario_fullest (const LsScenario *scenario, guint job);
/* What heads the summary of a run: the title and what the command line set beside it, so that it does not speak of
 * another cluster or model (transfer full); NULL: no title. */
char *ls_scenario_heading (const LsCli *cli, const LsScenario *scenario);
/* The resolved scenario as JSON with defaults (transfer full). */
char *ls_scenario_json (const LsScenario *scenario);
/* The `title` of a scenario file, else its first comment line, or NULL (transfer full). */
char *ls_scenario_file_title (const char *path);
/* The whole of docs/scenario.md (transfer full). */
char *ls_scenario_reference (void);

G_END_DECLS
