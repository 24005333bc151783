/* What one thing more of each resource would buy: the same jobs simulated again on what_if.h's clusters.
 *
 * Model:      for each knob one run with it alone `factor` times faster, all else as it is. gain = 1 - t'/t; a
 *             knob that rules the whole step gains 1 - 1/factor, so rules = gain / (1 - 1/factor) is the share of
 *             the step that follows it. Gains need not add up: what hides behind something else shows only when
 *             that is gone. Stragglers are those of the run.
 * Cost:       one run per knob.
 *
 * Ownership: plain records.
 */
#pragma once

#include "faults/stragglers.h"
#include "study/what_if.h"
#include "train/run/simulation.h"
#include "train/run/summary.h"

typedef struct {
  const LsCluster *cluster;
  const LsSimulationJob *jobs; /* `job` is not used: programs are built anew */
  guint n_jobs;
  const LsStragglers *stragglers; /* NULL: none */
  guint64 seed;
} LsScene;

typedef struct {
  double step_s; /* mean over the steps of the job */
  double gain;   /* 1 - step_s / step_s of the base */
  double rules;  /* share of the step that follows the knob */
} LsSensitivity;

/* Runs the scene as it is on the cluster with the speed-ups; the summary of it (transfer full). */
LsSummary *ls_scene_run (const LsScene *scene, const double speedup[LS_N_KNOBS],
                         const volatile gint *stop, GError **error);
/* Step time of a job in a summary of the run. */
double ls_scene_step_s (const LsSummary *summary, guint job);

/* Called before each run. */
typedef void (*LsSensitivityProgress) (gpointer self, guint done, guint all);

/* Fills out[knob] for a job of the scene whose base takes base_s. */
gboolean ls_sensitivity (const LsScene *scene, guint job, double base_s, double factor,
                         LsSensitivity out[LS_N_KNOBS], LsSensitivityProgress progress,
                         gpointer self, const volatile gint *stop, GError **error);
