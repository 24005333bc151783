/* The summary of a run of updates, as JSON and for people. */
#pragma once

#include "cli/scenario.h"
#include "train/summary.h"
#include "train/update_run.h"

G_BEGIN_DECLS

/* Memory of the fullest GPU of workers that run programs; capacity_bytes 0: workers are timed. */
LsMemorySummary ls_update_memory (LsUpdateRun *run);
/* `lasting`: without wall time and path, which differ between equal runs (transfer full). */
char *ls_update_summary_json (LsCli *cli, LsUpdateRun *run, const char *path, gboolean lasting);
/* `bytes`: size of the trace at `path`. */
char *ls_update_summary_text (LsUpdateRun *run, const char *title, const char *path, gint64 bytes);

G_END_DECLS
