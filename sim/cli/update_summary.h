/* The summary of a run of updates, as JSON and for people. */
#pragma once

#include "cli/scenario.h"
#include "train/run/summary.h"
#include "train/run/update_run.h"

G_BEGIN_DECLS

/* Memory of the fullest GPU of workers that run programs; capacity_bytes 0: workers are timed. */
LsMemorySummary ls_update_memory (LsUpdateRun *run);
/* `lasting`: without wall time and path, which differ between equal runs; `usd_per_s`: price of all
 * workers, 0: not known (transfer full). */
char *ls_update_summary_json (LsCli *cli, LsUpdateRun *run, const char *path, gboolean lasting,
                              double usd_per_s);
/* `bytes`: size of the trace at `path`. */
char *ls_update_summary_text (LsUpdateRun *run, const char *title, const char *path, gint64 bytes,
                              double usd_per_s);

G_END_DECLS
