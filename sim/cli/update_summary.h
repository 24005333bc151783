/* The summary of a run of updates, as JSON and for people. */
#pragma once

#include "cli/scenario.h"
#include "train/update_run.h"

G_BEGIN_DECLS

/* `lasting`: without wall time and path, which differ between equal runs (transfer full). */
char *ls_update_summary_json (LsCli *cli, LsUpdateRun *run, const char *path, gboolean lasting);
char *ls_update_summary_text (LsUpdateRun *run, const char *title, const char *path);

G_END_DECLS
