/* Stragglers in a simulation: work functions, timers and capacities on its engine.
 *
 * Model:      what stragglers.h says. Factors of the run are the simulation's own (LsSimulationOptions) when
 *             nothing is drawn later; else all kernels of the ranks concerned are asked here. Timers set the
 *             speed of devices and the capacity of links, and end with the last step.
 * Folding:    ranks with the same label and factor stand for each other; one that draws by itself stands
 *             alone. Slow links are not folded.
 * Cost:       nothing without stragglers; one hash and one draw per operation and straggler; one event per
 *             change of state.
 *
 * Ownership: borrows the stragglers and the simulation; freed before them.
 */
#pragma once

#include "faults/stragglers.h"
#include "train/run/update_run.h"

typedef struct LsStragglersRun LsStragglersRun;

/* What a simulation must know before it is built; `stragglers` may be NULL. */
void ls_stragglers_set_options (const LsStragglers *stragglers, LsSimulationOptions *options);
/* Before the run. NULL when there is nothing to do beyond the options. */
LsStragglersRun *ls_stragglers_install (const LsStragglers *stragglers, LsSimulation *simulation);
/* The same on the engine of a run of updates whose workers run programs (not timed ones): factors, draws, times and
 * links as above; steps are those of a worker. */
LsStragglersRun *ls_stragglers_install_updates (const LsStragglers *stragglers,
                                                LsUpdateRun *updates);
void ls_stragglers_run_free (LsStragglersRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsStragglersRun, ls_stragglers_run_free)
