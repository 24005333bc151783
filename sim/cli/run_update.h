/* `lockstep run` for a scenario whose run is one of updates (asynchronous policies, timed workers). */
#pragma once

#include "cli/scenario.h"
#include "trace/recorder.h"

G_BEGIN_DECLS

/* Runs it, writes its trace as `options` say (level NONE: none) and prints its summary; the program's
 * exit status. */
int ls_run_updates (LsCli *cli, const LsScenario *scenario, const LsRecorderOptions *options,
                    GError **error);

G_END_DECLS
