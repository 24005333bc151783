/* Clusters for tests, made from numbers. */
#pragma once

#include "net/net.h"

/* alpha-beta: `nodes` x `gpus` H100s with links of `inside` B/s per GPU and direction and one adapter
 * of `across` B/s per GPU, protocol ideal, hops of alpha_inside and alpha_across, one switch. */
typedef struct {
  guint nodes, gpus;
  double inside_bytes_per_s, across_bytes_per_s;
  gint64 alpha_inside_ps, alpha_across_ps;
  LsJoint joint;
  gboolean in_network;
  guint nics;              /* 0: one per GPU */
  LsFabricKind kind;       /* default fat tree */
  guint rails, leaf_radix; /* 0: one per adapter; 64 */
  double oversubscription; /* 0: 1 */
  LsRouting routing;
} TestCluster;

LsCluster *test_cluster (const TestCluster *test);
/* A preset on `nodes` nodes, 500 ns per switch. */
LsCluster *test_preset (const char *preset, guint nodes);
/* GPUs 0 .. n - 1 (transfer full). */
guint *test_range (guint n);
