/* Runs of timed workers without a network, for tests of update policies. */
#pragma once

#include <check.h>

#include "suite.h"
#include "train/update/update_timed.h"

typedef struct {
  LsEngine *engine;
  LsTimedWorkers *timed;
  LsUpdate *update;
  LsUpdateTotals totals;
} UpdateCase;

/* A specification with the usual values: no bound, no discard, one shard, stops after `updates`. */
LsUpdateSpec update_spec (const char *policy, guint n, guint k, gint64 updates);
/* Runs it to its end; asserts that it gets there. */
UpdateCase update_case (const LsUpdateSpec *spec, const LsDistribution *compute,
                        const double *factors, guint64 seed, const LsUpdateSink *sink,
                        gpointer sink_self);
/* The same on a host of the caller's, whose `compute` and `abandon` are the timed workers'. */
UpdateCase update_case_on (const LsUpdateSpec *spec, const LsDistribution *compute,
                           const double *factors, guint64 seed, const LsUpdateSink *sink,
                           gpointer sink_self, LsEngine *engine, const LsUpdateHost *host);
void update_case_clear (UpdateCase *run);
/* The log as text, one operation a line. */
void update_log_line (gpointer text, const LsUpdateRecord *record);
extern const LsUpdateSink update_log_sink;
