/* One collective on the engine, alone on a cluster, beside its closed form. */
#pragma once

#include "net/net.h"

G_BEGIN_DECLS

typedef struct {
  const LsCluster *cluster;
  const guint *gpus; /* the root first */
  guint n;
  guint iterations;
  gboolean fluid, message; /* which models; neither: as the cluster's tuning says */
} LsCollectiveJob;

typedef struct {
  LsNetEstimate estimate;    /* the closed form, what was chosen */
  double fluid_s, message_s; /* per iteration; < 0: not run */
} LsCollectiveResult;

/* FALSE on an interrupt or a fault of the run. Asserts that no link carried more than it can. */
gboolean ls_collective_run (const LsCollectiveJob *job, const LsDescriptor *descriptor,
                            LsCollectiveResult *result, GError **error);

G_END_DECLS
