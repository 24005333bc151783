/* Checkpoints: how large they are, and how long writing and reading them takes on the cluster.
 *
 * Model:      a checkpoint holds the parameters as they are resident, the master copy and the moments of
 *             the optimizer, each in its format; no gradients. What several data-parallel replicas hold
 *             alike is written once, in equal shares by all of them.
 *             sharded: each rank copies its share to host memory over PCIe and writes it to storage.
 *             unified: the shares of each model-parallel part are gathered by its first replica, over the
 *             network; only that one writes, and any layout can read the result.
 *             async: training waits for the copy to host memory (and the gather); storage is written beside
 *             it.
 *             Reading: each rank reads its share and copies it to the device, then parameters that are
 *             not sharded are gathered over the data-parallel ranks. From the memory of a peer: the
 *             ranks of one node get their shares from another node, all others from their host.
 *             All times come from the engine with all ranks at once, so links, adapters and storage are shared
 *             as in training.
 * Resharding: a sharded checkpoint read by another number of replicas also sends what lies elsewhere
 *             (reshard.h) and holds the old and the new shards for a while; a unified one is read by its
 *             first replicas and scattered.
 * Left out:   metadata, file creation, compression.
 *
 * Ownership: plain records.
 */
#pragma once

#include "faults/campaign_keys.h"

typedef struct {
  gint64 bytes;            /* of the whole checkpoint */
  gint64 parameters_bytes; /* part of it, */
  gint64 tables_bytes;     /* embedding tables another; */
  gint64 experts_bytes;    /* of the parameters and of the rest those of routed experts */
  gint64 experts_optimizer_bytes;
  double bytes_per_parameter;
  gint64 most_rank_bytes;                  /* written by one rank */
  guint writers;                           /* ranks that write */
  gint64 network_bytes;                    /* gathered, in all */
  gint64 gather_us, snapshot_us, write_us; /* each alone, one after another */
  gint64 read_us, load_us, spread_us; /* from storage, to the devices, parameters to replicas */
  gint64 peer_us;                     /* from a peer's memory, to the devices included */
  gboolean storage;                   /* is there anything to write to? */
  gboolean drives; /* and it is the nodes' own drives: a lost node takes its shards along */
} LsCheckpointTimes;

/* For the job as it stands; `async` and intervals do not matter here. */
void ls_checkpoint_times (const LsCluster *cluster, const LsWorkload *workload,
                          LsCheckpointLayout layout, LsCheckpointTimes *times);
/* Training stands still for; durable after another. */
gint64 ls_checkpoint_blocking_us (const LsCheckpointTimes *times, gboolean async);
gint64 ls_checkpoint_drain_us (const LsCheckpointTimes *times, gboolean async);

/* Going from `from` to `to` replicas. */
typedef struct {
  gint64 stays_bytes, moves_bytes, read_bytes;
  gint64 temporary_bytes; /* on one rank, beside what it will keep */
  gint64 us;              /* beside the read of a checkpoint of equal size */
} LsReshardCost;
void ls_checkpoint_reshard (const LsCluster *cluster, const LsWorkload *workload,
                            LsCheckpointLayout layout, guint from, guint to, LsReshardCost *cost);

/* The ledger of a rank of stage 0 while a sharded checkpoint of `from` replicas is restored by `workload`: its
 * states, and beside them the old shard that it sorts out. */
typedef struct {
  gint64 parameters_bytes, gradients_bytes, optimizer_bytes, old_shards_bytes;
  gint64 total_bytes, training_bytes, capacity_bytes; /* training: reserved in a step */
  gboolean fits;                                      /* both */
} LsRestoreLedger;
LsRestoreLedger ls_checkpoint_restore_ledger (const LsCluster *cluster, const LsWorkload *workload,
                                              LsCheckpointLayout layout, guint from);
