/* One collective on the engine, alone on a cluster, beside its closed form.
 *
 * Cost:       a bench lays an operation over the cluster once, for all sizes and both models: phases do not depend on
 *             the number of bytes (net/plan.h). Each run then registers the cluster with an engine of its own.
 * Ownership:  a bench borrows the cluster.
 */
#pragma once

#include "net/net.h"

G_BEGIN_DECLS

/* What the runs of a command share. */
typedef struct LsCollectiveBench LsCollectiveBench;

LsCollectiveBench *ls_collective_bench_new (const LsCluster *cluster);
void ls_collective_bench_free (LsCollectiveBench *bench);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCollectiveBench, ls_collective_bench_free)

typedef struct {
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
gboolean ls_collective_run (LsCollectiveBench *bench, const LsCollectiveJob *job,
                            const LsDescriptor *descriptor, LsCollectiveResult *result,
                            GError **error);

G_END_DECLS
