/* Transfers of updates; see update_net.h. */
#include "train/run/update_net.h"

#include <math.h>

#include "base/assert.h"
#include "base/time.h"
#include "net/route.h"
#include "net/usage.h"

/* What the software of a parameter server adds to one message, both ends together.
 * source: assumption; ps-lite and gRPC over kernel TCP take 20 to 100 us for a small round trip. */
#define MESSAGE_OVERHEAD_S 20e-6

#define NOT_MADE (G_MAXUINT - 1)

struct LsUpdateNet {
  const LsUpdatePlan *plan;
  LsNet *net;
  LsEngine *engine;
  const LsCluster *cluster;
  const LsTopology *topology;
  LsUsages usages;
  guint *gpus;
  guint per_worker;
  guint *ways; /* [(way x workers + worker) x shards + shard]: a transfer, NOT_MADE before */
  guint *work; /* [shard x 2 + step] */
  guint *reduce;
  guint n_reduce;
  GHashTable *exchanges; /* from << 32 | to -> transfer */
  GPtrArray *transfers;  /* own LsTransfer */
};

static void transfer_free (gpointer data) {
  LsTransfer *transfer = data;

  for (guint i = 0; i < transfer->n_phases; i++)
    g_free ((gpointer) transfer->phases[i].usages);
  g_free ((gpointer) transfer->phases);
  g_free (transfer);
}

LsUpdateNet *ls_update_net_new (const LsUpdatePlan *plan, LsNet *net, LsEngine *engine,
                                const LsCluster *cluster, const guint *gpus,
                                guint gpus_per_worker) {
  LsUpdateNet *n = g_new0 (LsUpdateNet, 1);
  guint ways = LS_N_UPDATE_WAYS * plan->spec.workers * plan->spec.shards;

  n->plan = plan;
  n->net = net;
  n->engine = engine;
  n->cluster = cluster;
  n->topology = ls_net_topology (net);
  n->per_worker = gpus_per_worker;
  n->gpus = g_memdup2 (gpus, sizeof *gpus * plan->spec.workers * gpus_per_worker);
  ls_usages_init (&n->usages, ls_topology_n_resources (n->topology));
  n->ways = g_new (guint, ways);
  for (guint i = 0; i < ways; i++)
    n->ways[i] = NOT_MADE;
  n->work = g_new (guint, 2 * plan->spec.shards);
  for (guint i = 0; i < 2 * plan->spec.shards; i++)
    n->work[i] = NOT_MADE;
  n->exchanges = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  n->transfers = g_ptr_array_new_with_free_func (transfer_free);
  return n;
}

void ls_update_net_free (LsUpdateNet *n) {
  if (n == NULL)
    return;
  ls_usages_clear (&n->usages);
  g_hash_table_unref (n->exchanges);
  g_ptr_array_unref (n->transfers);
  g_free (n->gpus);
  g_free (n->ways);
  g_free (n->work);
  g_free (n->reduce);
  g_free (n);
}

/* One phase over what has been added to the accumulator. */
static guint make (LsUpdateNet *n, gint64 latency_ps, gint64 bytes) {
  guint n_amounts;
  double sent, received;
  g_autofree LsAmount *amounts = ls_usages_take (&n->usages, &n_amounts, &sent, &received);

  if (latency_ps == 0 && bytes == 0)
    return LS_UPDATE_NOTHING;
  LsUsage *usages = g_new (LsUsage, MAX (1, n_amounts));
  for (guint i = 0; i < n_amounts; i++)
    usages[i] =
        (LsUsage){.resource = ls_topology_resource (n->topology, amounts[i].resource)->number,
                  .usage = MAX (1, ls_usage_from_double (amounts[i].amount))};
  LsPhase *phase = g_new0 (LsPhase, 1);
  *phase = (LsPhase){.latency_ps = latency_ps,
                     .work_bytes = bytes,
                     .n_usages = bytes > 0 ? n_amounts : 0,
                     .usages = usages};
  LsTransfer *transfer = g_new0 (LsTransfer, 1);
  *transfer = (LsTransfer){.n_phases = 1,
                           .phases = phase,
                           .beside_compute = LS_USAGE_ONE,
                           .message_bytes = bytes,
                           .wire_bytes = bytes};
  g_ptr_array_add (n->transfers, transfer);
  return ls_engine_add_transfer (n->engine, transfer);
}

static guint server_node (const LsUpdateNet *n, guint shard) {
  return n->plan->server_nodes[shard % n->plan->n_server_nodes];
}

/* Switches and cables between the first live adapters of two nodes that reach each other. */
static gint64 path_latency_ps (const LsUpdateNet *n, guint node_a, guint set_a, guint node_b,
                               guint set_b) {
  g_autoptr (GArray) from = ls_route_node_nics (n->topology, node_a);
  g_autoptr (GArray) to = ls_route_node_nics (n->topology, node_b);
  gint64 latency_ps = 0;

  for (guint i = 0; i < from->len; i++)
    for (guint k = 0; k < to->len; k++) {
      const LsAdapter a = {node_a, set_a, g_array_index (from, guint, i)};
      const LsAdapter b = {node_b, set_b, g_array_index (to, guint, k)};
      if (ls_route_adapters (n->topology, NULL, a, b, 0, &latency_ps))
        return latency_ps;
    }
  LS_REQUIRE (FALSE, "node %u cannot reach the server on node %u", node_a, node_b);
  return 0;
}

/* Software on both ends, adapters, and the switches between two nodes. */
static gint64 latency_ps (const LsUpdateNet *n, guint node_a, guint node_b) {
  const LsNodeSpec *spec = ls_cluster_node (n->cluster, node_a);
  gint64 overhead = n->plan->overhead_ps;

  if (overhead < 0)
    overhead = spec->ideal ? 0 : ls_time_ps_from_s_checked (MESSAGE_OVERHEAD_S);
  if (node_a == node_b)
    return overhead;
  const LsNicSet *set = ls_node_compute_nics (spec);
  const LsNodeSpec *other = ls_cluster_node (n->cluster, node_b);
  const LsNicSet *other_set = ls_node_compute_nics (other);
  const LsFabricSpec *fabric = ls_cluster_fabric (n->cluster, set->fabric);
  if (fabric->hop_ps >= 0)
    return overhead + fabric->hop_ps;
  gint64 path = path_latency_ps (n, node_a, (guint) (set - spec->nic_sets), node_b,
                                 (guint) (other_set - other->nic_sets));
  if (set->nic != NULL && !spec->ideal)
    path += ls_time_ps_from_s_checked (2 * set->nic->latency_s.value);
  return overhead + path;
}

/* Adds a flow between a worker and its server, a share of it over each of the worker's GPUs. */
static void route (LsUpdateNet *n, guint worker, guint node, gboolean up) {
  double share = 1.0 / n->per_worker;

  for (guint i = 0; i < n->per_worker; i++) {
    guint gpu = n->gpus[worker * n->per_worker + i];
    guint own = ls_cluster_gpu_node (n->cluster, gpu);
    ls_route_host (n->topology, &n->usages, gpu, up, share);
    if (own == node)
      continue;
    const LsLiveNics live = ls_route_live_nics (n->topology, gpu);
    g_autoptr (GArray) servers = ls_route_node_nics (n->topology, node);
    const guint *server_nics = (const guint *) (gconstpointer) servers->data;
    if (up)
      ls_route_nics (n->topology, &n->usages, own, live.nics, live.n, node, server_nics,
                     servers->len, share);
    else
      ls_route_nics (n->topology, &n->usages, node, server_nics, servers->len, own, live.nics,
                     live.n, share);
    ls_usages_add (&n->usages, n->topology->host_memory[node], share);
  }
}

gint64 ls_update_net_bytes (const LsUpdateNet *n, LsUpdateWay way) {
  gint64 bytes = way == LS_UPDATE_WAY_PUSH    ? n->plan->push_bytes
                 : way == LS_UPDATE_WAY_MODEL ? n->plan->model_bytes
                                              : 0;
  gint64 shards = n->plan->spec.shards;

  return (bytes + shards - 1) / shards;
}

guint ls_update_net_transfer (LsUpdateNet *n, LsUpdateWay way, guint worker, guint shard) {
  guint *made = &n->ways[(way * n->plan->spec.workers + worker) * n->plan->spec.shards + shard];

  if (*made != NOT_MADE)
    return *made;
  guint node = server_node (n, shard);
  guint own = ls_cluster_gpu_node (n->cluster, n->gpus[worker * n->per_worker]);
  gboolean up = way == LS_UPDATE_WAY_PUSH || way == LS_UPDATE_WAY_REQUEST;
  gint64 bytes = ls_update_net_bytes (n, way);
  if (bytes > 0)
    route (n, worker, node, up);
  *made = make (n, latency_ps (n, own, node), bytes);
  return *made;
}

guint ls_update_net_work (LsUpdateNet *n, guint shard, gboolean step) {
  guint *made = &n->work[2 * shard + (step ? 1 : 0)];

  if (*made != NOT_MADE)
    return *made;
  double shards = n->plan->spec.shards;
  gboolean alone = n->plan->spec.policy->whole && step; /* adding was work of its own */
  double bytes = (alone ? 0 : (double) n->plan->push_bytes) + (step ? n->plan->step_bytes : 0);
  guint node = server_node (n, shard);
  /* Transfers may use half of a memory's bandwidth: with a usage of one half, work that is alone runs
   * at all of it. */
  if (!ls_cluster_node (n->cluster, node)->ideal && bytes > 0)
    ls_usages_add (&n->usages, n->topology->host_memory[node], 0.5);
  else
    bytes = 0;
  *made = make (n, 0, (gint64) llround (bytes / shards));
  return *made;
}

const guint *ls_update_net_reduce (LsUpdateNet *n, guint *count) {
  guint workers = n->plan->spec.workers;

  if (n->reduce == NULL) {
    gint64 bytes = (n->plan->push_bytes + n->per_worker - 1) / n->per_worker;
    LsDescriptor what = {.op = LS_COLLECTIVE_ALL_REDUCE, .bytes = bytes};
    g_autofree guint *gpus = g_new (guint, workers);
    n->n_reduce = n->per_worker;
    n->reduce = g_new (guint, n->n_reduce);
    for (guint i = 0; i < n->per_worker; i++) {
      for (guint w = 0; w < workers; w++)
        gpus[w] = n->gpus[w * n->per_worker + i];
      const LsTransfer *transfer = ls_net_transfer (n->net, gpus, workers, &what);
      n->reduce[i] = bytes == 0 || workers < 2 ? LS_UPDATE_NOTHING
                                               : ls_engine_add_transfer (n->engine, transfer);
    }
  }
  *count = n->n_reduce;
  return n->reduce;
}

guint ls_update_net_exchange (LsUpdateNet *n, guint from, guint to) {
  gint64 key = ((gint64) from << 32) | to;
  gpointer found;
  LsDescriptor what = {.op = LS_COLLECTIVE_SEND_RECV, .bytes = n->plan->model_bytes};
  const guint gpus[2] = {n->gpus[from * n->per_worker], n->gpus[to * n->per_worker]};

  if (what.bytes == 0)
    return LS_UPDATE_NOTHING;
  if (g_hash_table_lookup_extended (n->exchanges, &key, NULL, &found))
    return GPOINTER_TO_UINT (found);
  what.bytes = (what.bytes + n->per_worker - 1) / n->per_worker;
  guint made = ls_engine_add_transfer (n->engine, ls_net_transfer (n->net, gpus, 2, &what));
  g_hash_table_insert (n->exchanges, g_memdup2 (&key, sizeof key), GUINT_TO_POINTER (made));
  return made;
}
