/* How long a step of a scenario takes, for commands that compare scenarios. */
#pragma once

#include "cli/scenario.h"
#include "train/run/summary.h"

G_BEGIN_DECLS

/* Simulates @steps steps (0: as many as the scenario says) of the first job, alike ranks once, without a trace.
 * NULL with the error of the run; an interrupt ends it (transfer full). */
LsSummary *ls_scenario_simulate (LsScenario *scenario, gint64 steps, GError **error);

G_END_DECLS
