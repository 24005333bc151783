/* A cluster with what its routes weigh, and the message model as a recurrence of its own.
 *
 * A member begins round r when all that it sent and received before has ended; a message takes its latency and
 * bytes / rate, the rate of one link split among the messages that its sender sends and its receiver receives
 * in that round. That is exact where messages of a round share links evenly, as on one switch, and where
 * messages in flight share no link. */
#pragma once

#include "clusters.h"
#include "net/algorithms.h"
#include "net/messages.h"

typedef struct {
  LsCluster *cluster; /* owned */
  LsTopology *topology;
  LsUsages usages;
  const LsNetResource **by_number;
} World;

World world_new (LsCluster *cluster);
void world_clear (World *world);

/* Seconds that the table takes. `disjoint` (or NULL): nothing is split, every message has its links to itself;
 * *disjoint says whether that is so: no two messages move bytes over one link at one time. */
double recurrence_s (const World *world, const LsRoundTable *table, guint n, gboolean *disjoint);
