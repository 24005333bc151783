/* Transfers of updates on a cluster: what pushes, models, messages, averages and the servers' work load.
 *
 * Model:      a push goes from the worker's GPUs over PCIe to their host and, when the server is
 *             another node, over the adapters of those GPUs to all compute adapters of the server, and
 *             into its memory; a model the other way. A worker of several GPUs sends from all of them
 *             evenly, as one flow. So what meets at the server's adapters shares them (incast).
 *             A message waits its path's switches, twice the adapter's latency and the software's
 *             overhead on both ends; small ones move nothing.
 *             Adding a gradient reads it from the server's memory; an update reads and writes what it
 *             needs. Alone, both run at the memory's whole bandwidth.
 *             Averages are all-reduces of the engine's collectives, one per rank of a replica, at once;
 *             an exchange of two workers is a send each way.
 * Cost:       templates are made once; memory per worker and shard.
 *
 * Ownership: borrows all it is given; the engine must be freed first.
 */
#pragma once

#include "net/net.h"
#include "train/workload/workload.h"

typedef struct LsUpdateNet LsUpdateNet;

/* `gpus[worker * gpus_per_worker + i]`. */
LsUpdateNet *ls_update_net_new (const LsUpdatePlan *plan, LsNet *net, LsEngine *engine,
                                const LsCluster *cluster, const guint *gpus, guint gpus_per_worker);
void ls_update_net_free (LsUpdateNet *net);

/* For an LsUpdateHost; `self` is the LsUpdateNet. */
guint ls_update_net_transfer (LsUpdateNet *net, LsUpdateWay way, guint worker, guint shard);
guint ls_update_net_work (LsUpdateNet *net, guint shard, gboolean step);
const guint *ls_update_net_reduce (LsUpdateNet *net, guint *count);
guint ls_update_net_exchange (LsUpdateNet *net, guint from, guint to);
/* Bytes of one transfer of this way. */
gint64 ls_update_net_bytes (const LsUpdateNet *net, LsUpdateWay way);
