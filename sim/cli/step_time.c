/* One scenario simulated for its numbers alone, see step_time.h. */
#include "cli/step_time.h"

#include "cli/interrupt.h"

LsSummary *ls_scenario_simulate (LsScenario *scenario, gint64 steps, GError **error) {
  const LsRunOptions how = {.stop = ls_interrupt_flag ()};
  const LsSimulationOptions how_built = {.fold = TRUE};
  g_autoptr (LsSimulation) simulation = NULL;
  g_autoptr (LsJob) job = NULL;

  if (steps > 0)
    scenario->workload->steps = steps;
  job = ls_job_build (scenario->workload, scenario->cluster, error);
  if (job == NULL)
    return NULL;
  const LsSimulationJob one = {.workload = scenario->workload, .job = job};

  simulation = ls_simulation_new_with (scenario->cluster, &one, 1, scenario->seed, &how_built);
  return ls_simulation_run (simulation, &how, error) ? ls_summary_new (simulation) : NULL;
}
