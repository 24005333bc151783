/* Published failure rates as sets of sources.
 *
 * Model:      each cause was counted over machines x days; every component of the kind gets the same
 *             exponential lifetime, components x days / count. Repair times are those published with the
 *             counts where there are any, else those of another cluster, and the row says so.
 * Left out:   rates that change over time, and that one rate does not explain all job sizes (theory
 *             of the RSC clusters: 8 GPUs fail every 47.7 days, 1,024 every 7.9 hours, which no one rate
 *             per node gives).
 *
 * Ownership: rows are static.
 */
#pragma once

#include "faults/campaign.h"

typedef struct {
  const char *name;
  LsComponent component;
  double count; /* in the window; or per 1,000 node-days where the preset has no window */
  double repair_median_h, repair_sigma; /* lognormal; 0: as the preset */
} LsFaultCause;

typedef struct {
  const char *name;
  const char *summary;
  guint nodes, gpus_per_node; /* of the window */
  double days;                /* 0: counts are per 1,000 node-days */
  double repair_median_h, repair_sigma;
  const char *source;
  const char *repair_source;
  const LsFaultCause *causes;
  guint n_causes;
} LsFaultPreset;

guint ls_fault_preset_count (void);
const LsFaultPreset *ls_fault_preset_get (guint i);
const LsFaultPreset *ls_fault_preset_find (const char *name);
/* Names, ended by NULL. */
const char *const *ls_fault_preset_names (void);
/* The source that a cause becomes in a cluster with `gpus_per_node`. */
LsFailureSource ls_fault_preset_source (const LsFaultPreset *preset, guint cause,
                                        guint gpus_per_node);
/* Components of a kind that a node has when nothing else is said; 0: one for a domain of nodes. */
guint ls_component_per_node (LsComponent component, guint gpus_per_node);
/* Does its failure leave all nodes whole (storage, software)? */
gboolean ls_component_keeps_nodes (LsComponent component);
