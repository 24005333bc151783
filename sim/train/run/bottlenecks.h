/* What held transfers down in a run: the resources of the top lines of a summary.
 *
 * Model:      shares are of the time from a job's (or the run's) start to its end: while a resource set
 *             the rate of some transfer, and while it set one below what that transfer would have alone
 *             (engine/holding.h). Bytes and utilisation are of all jobs together. Those that limit longest
 *             come first, then the most contended; of equals the lowest number. One stands for those that differ from
 *             it in the numbers of node, GPU and adapter alone and whose shares are within half a percent of the time.
 *             When ranks are folded, resources of nodes that are alike stand for each other.
 *
 * Cost:       a name for each resource that held something down, until `limit` are listed.
 *
 * Ownership: a list owns its names.
 */
#pragma once

#include "train/run/simulation.h"

typedef struct {
  char *resource;
  const char *kind, *tier; /* static */
  double limiting_share, contended_share;
  double bytes, utilisation; /* carried by ended transfers; mean share of its capacity */
} LsBottleneck;

/* At most `limit` of one job, or of the whole run with LS_ALL_TAGS (transfer full). */
GPtrArray *ls_bottlenecks_new (LsSimulation *simulation, guint job, guint limit);
