/* What `workload.update` and the timed model come to: all that a run of updates needs beside the
 * cluster. Part of an LsWorkload.
 *
 * Ownership: a plan owns its arrays and its distribution.
 */
#pragma once

#include "train/update/update.h"

typedef struct {
  LsUpdateSpec spec;
  gboolean active;  /* the run is one of updates (update_run.h); FALSE: steps of all ranks */
  gboolean network; /* transfers take time on the cluster's links */
  guint n_server_nodes;
  guint *server_nodes; /* node numbers; shard s lies on server_nodes[s % n] */
  gint64 overhead_ps;  /* of a message to or from a server, beside the path; < 0: as fitted */
  gint64 push_bytes, model_bytes; /* of a whole gradient, a whole model */
  double step_bytes; /* that a server reads and writes in one update of the whole model */
  gboolean timed;    /* workers draw their steps from `compute` */
  LsDistribution compute;
  double *factors; /* of each worker's time; NULL: all 1 */
} LsUpdatePlan;

void ls_update_plan_copy (LsUpdatePlan *to, const LsUpdatePlan *from);
void ls_update_plan_clear (LsUpdatePlan *plan);
