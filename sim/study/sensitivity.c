/* Runs of a scene with one knob turned; see sensitivity.h. */
#include "study/sensitivity.h"

#include "base/assert.h"
#include "faults/stragglers_run.h"

/* What one run needs, freed together. */
typedef struct {
  LsWhatIf *what_if;
  guint n;
  LsWorkload **workloads;
  LsJob **jobs;
  LsSimulation *simulation;
  LsStragglersRun *slow;
} Rig;

static void rig_clear (Rig *rig) {
  ls_stragglers_run_free (rig->slow);
  ls_simulation_free (rig->simulation);
  for (guint j = 0; j < rig->n; j++) {
    ls_job_free (rig->jobs[j]);
    ls_workload_free (rig->workloads[j]);
  }
  g_free (rig->jobs);
  g_free (rig->workloads);
  ls_what_if_free (rig->what_if);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rig, rig_clear)

static gboolean build (Rig *rig, const LsScene *scene, GError **error) {
  g_autofree LsSimulationJob *jobs = g_new0 (LsSimulationJob, scene->n_jobs);
  g_autoptr (LsTables) tables = ls_tables_new ();
  const LsCluster *cluster = ls_what_if_cluster (rig->what_if);
  rig->workloads = g_new0 (LsWorkload *, scene->n_jobs);
  rig->jobs = g_new0 (LsJob *, scene->n_jobs);
  for (guint j = 0; j < scene->n_jobs; j++) {
    rig->workloads[j] = ls_what_if_workload (rig->what_if, scene->jobs[j].workload);
    rig->n = j + 1;
    rig->jobs[j] = ls_job_build_with (rig->workloads[j], cluster, tables, error);
    if (rig->jobs[j] == NULL)
      return FALSE;
    jobs[j] = scene->jobs[j];
    jobs[j].workload = rig->workloads[j];
    jobs[j].job = rig->jobs[j];
  }
  LsSimulationOptions how = {.fold = TRUE};
  ls_stragglers_set_options (scene->stragglers, &how);
  rig->simulation = ls_simulation_new_with (cluster, jobs, scene->n_jobs, scene->seed, &how);
  rig->slow = ls_stragglers_install (scene->stragglers, rig->simulation);
  return TRUE;
}

LsSummary *ls_scene_run (const LsScene *scene, const double speedup[LS_N_KNOBS],
                         const volatile gint *stop, GError **error) {
  g_auto (Rig) rig = {.what_if = ls_what_if_new (scene->cluster, speedup)};
  const LsRunOptions how = {.stop = (volatile gint *) stop};
  if (!build (&rig, scene, error) || !ls_simulation_run (rig.simulation, &how, error))
    return NULL;
  return ls_summary_new (rig.simulation);
}

double ls_scene_step_s (const LsSummary *summary, guint job) {
  LS_REQUIRE (job < MAX (summary->n_jobs, 1u), "job %u", job);
  return summary->n_jobs > 0 ? summary->jobs[job]->step_time_s : summary->step_time_s;
}

gboolean ls_sensitivity (const LsScene *scene, guint job, double base_s, double factor,
                         LsSensitivity out[LS_N_KNOBS], LsSensitivityProgress progress,
                         gpointer self, const volatile gint *stop, GError **error) {
  LS_REQUIRE (factor > 1 && base_s > 0, "factor %g, step %g s", factor, base_s);
  for (guint knob = 0; knob < LS_N_KNOBS; knob++) {
    double speedup[LS_N_KNOBS];
    for (guint k = 0; k < LS_N_KNOBS; k++)
      speedup[k] = k == knob ? factor : 1;
    if (progress != NULL)
      progress (self, knob, LS_N_KNOBS);
    g_autoptr (LsSummary) summary = ls_scene_run (scene, speedup, stop, error);
    if (summary == NULL)
      return FALSE;
    out[knob].step_s = ls_scene_step_s (summary, job);
    out[knob].gain = 1 - out[knob].step_s / base_s;
    out[knob].rules = out[knob].gain / (1 - 1 / factor);
  }
  return TRUE;
}
