/* Paths as usages of resources; see route.h. */
#include "net/route.h"

#include "base/assert.h"
#include "net/route_inside.h"
#include "net/topology_build.h"

static const LsNodeSpec *node_of (const LsTopology *topology, guint node) {
  return ls_cluster_node (topology->cluster, node);
}

/* The set that collectives use and its number among the sets; NULL: the node has none. */
static const LsNicSet *compute_set (const LsTopology *topology, guint node, guint *number) {
  const LsNodeSpec *spec = node_of (topology, node);
  const LsNicSet *set = ls_node_compute_nics (spec);
  *number = set != NULL ? (guint) (set - spec->nic_sets) : 0;
  return set;
}

/* --- adapters of a GPU ------------------------------------------------------------------------ */

/* The adapters of the compute set that GPU `local` of a node of this shape owns: the first and how many. */
static guint gpu_nics (const LsNodeSpec *node, const LsNicSet *set, guint local, guint *count) {
  guint gpu = ls_node_physical (node, local), gpus = ls_node_n_physical (node);
  guint first = gpu * set->count / gpus;
  guint last = (gpu + 1) * set->count / gpus;
  *count = MAX (1, last - first);
  return MIN (first, set->count - 1);
}

/* The first device that owns an adapter. */
static guint owner_of (const LsNodeSpec *node, const LsNicSet *set, guint nic) {
  guint gpus = ls_node_n_physical (node);
  guint64 gpu = ((guint64) nic * gpus + set->count - 1) / set->count;
  return ls_node_first_device (node, (guint) MIN (gpu, gpus - 1));
}

static gboolean is_live (const LsTopology *topology, guint node, guint set, guint nic) {
  guint tx = topology->nic[node][set] + 2 * nic;
  return ls_topology_resource (topology, tx)->per_s > 0 &&
         ls_topology_resource (topology, tx + 1)->per_s > 0 &&
         ls_route_switch_of (topology, (LsAdapter){node, set, nic}) != LS_NO_NUMBER;
}

/* Its own; where none of them is live, the next of the node that is. */
static void add_live_nics (const LsTopology *topology, guint gpu, GArray *nics) {
  guint node = topology->gpu_node[gpu], number, count;
  const LsNicSet *set = compute_set (topology, node, &number);
  const guint before = nics->len;
  if (set == NULL)
    return;
  guint first = gpu_nics (node_of (topology, node), set, topology->gpu_local[gpu], &count);
  for (guint nic = first; nic < first + count; nic++)
    if (is_live (topology, node, number, nic))
      g_array_append_val (nics, nic);
  for (guint i = 1; nics->len == before && i < set->count; i++) {
    guint nic = (first + i) % set->count;
    if (is_live (topology, node, number, nic))
      g_array_append_val (nics, nic);
  }
}

void ls_topology_find_live_nics (LsTopology *topology) {
  GArray *nics = g_array_new (FALSE, FALSE, sizeof (guint));
  topology->live_first = g_new (guint, (gsize) topology->n_gpus + 1);
  for (guint gpu = 0; gpu < topology->n_gpus; gpu++) {
    topology->live_first[gpu] = nics->len;
    add_live_nics (topology, gpu, nics);
  }
  topology->live_first[topology->n_gpus] = nics->len;
  topology->live_nics = (guint *) (gpointer) g_array_free (nics, FALSE);
}

LsLiveNics ls_route_live_nics (const LsTopology *topology, guint gpu) {
  const guint first = topology->live_first[gpu];
  return (LsLiveNics){.nics = topology->live_nics + first,
                      .n = topology->live_first[gpu + 1] - first};
}

GArray *ls_route_node_nics (const LsTopology *topology, guint node) {
  guint number;
  const LsNicSet *set = compute_set (topology, node, &number);
  GArray *nics = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint nic = 0; set != NULL && nic < set->count; nic++)
    if (is_live (topology, node, number, nic))
      g_array_append_val (nics, nic);
  return nics;
}

/* --- between nodes ---------------------------------------------------------------------------- */

/* A flow between the compute sets of two nodes. */
typedef struct {
  const LsTopology *topology;
  LsUsages *usages;
  guint node_a, set_a, node_b, set_b;
  gboolean by_rail; /* rails are changed inside the sending node */
} Between;

static LsAdapter sender (const Between *between, guint nic) {
  return (LsAdapter){between->node_a, between->set_a, nic};
}

static LsAdapter receiver (const Between *between, guint nic) {
  return (LsAdapter){between->node_b, between->set_b, nic};
}

static gboolean between_nodes (const LsTopology *topology, LsUsages *usages, guint node_a,
                               guint node_b, Between *between) {
  *between = (Between){.topology = topology, .usages = usages, .node_a = node_a, .node_b = node_b};
  const LsNicSet *a = compute_set (topology, node_a, &between->set_a);
  const LsNicSet *b = compute_set (topology, node_b, &between->set_b);
  if (a == NULL || b == NULL)
    return FALSE;
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, a->fabric);
  between->by_rail = a->fabric == b->fabric && fabric->kind == LS_FABRIC_FAT_TREE &&
                     (fabric->routing == LS_ROUTING_RAIL || fabric->rail_only);
  return TRUE;
}

/* The live adapter of the sending node on the rail of the receiver's adapter `to`: one of `from` if any is,
 * else the first of the set; G_MAXUINT: none. */
static guint same_rail (const Between *between, const guint *from, guint n_from, guint to) {
  const LsTopology *topology = between->topology;
  guint rail = ls_route_rail_of (topology, receiver (between, to));
  guint count = node_of (topology, between->node_a)->nic_sets[between->set_a].count;
  for (guint i = 0; i < n_from; i++)
    if (ls_route_rail_of (topology, sender (between, from[i])) == rail)
      return from[i];
  for (guint nic = 0; nic < count; nic++)
    if (ls_route_rail_of (topology, sender (between, nic)) == rail &&
        is_live (topology, between->node_a, between->set_a, nic))
      return nic;
  return G_MAXUINT;
}

/* The nodes' own adapter pairs (i, k) of a flow: equal numbers face each other; else each with each, or by
 * rail. Calls `visit` with the share of every pair. */
typedef void (*PairFunc) (const Between *between, guint from, guint to, double share,
                          gpointer data);

static gboolean same_numbers (const guint *a, guint n_a, const guint *b, guint n_b) {
  if (n_a != n_b)
    return FALSE;
  for (guint i = 0; i < n_a; i++)
    if (a[i] != b[i])
      return FALSE;
  return TRUE;
}

static void each_pair (const Between *between, const guint *from, guint n_from, const guint *to,
                       guint n_to, PairFunc visit, gpointer data) {
  if (same_numbers (from, n_from, to, n_to)) {
    for (guint i = 0; i < n_from; i++)
      visit (between, from[i], to[i], 1.0 / n_from, data);
    return;
  }
  for (guint k = 0; k < n_to; k++) {
    guint relay = between->by_rail ? same_rail (between, from, n_from, to[k]) : G_MAXUINT;
    if (relay != G_MAXUINT)
      visit (between, relay, to[k], 1.0 / n_to, data);
    for (guint i = 0; relay == G_MAXUINT && i < n_from; i++)
      visit (between, from[i], to[k], 1.0 / n_from / n_to, data);
  }
}

/* What a pair of adapters carries of a flow from one device to another. */
typedef struct {
  guint from, to; /* GPUs; G_MAXUINT: PCIe is added by the caller */
  double amount;
} Carried;

/* The device whose adapter `nic` is: `gpu` itself if it owns it or shares it. */
static guint device_at (const Between *between, guint nic, guint gpu) {
  const LsTopology *topology = between->topology;
  const LsNodeSpec *node = node_of (topology, between->node_a);
  const LsNicSet *set = &node->nic_sets[between->set_a];
  guint count, first = gpu_nics (node, set, topology->gpu_local[gpu], &count);
  if (nic >= first && nic < first + count)
    return gpu;
  return gpu - topology->gpu_local[gpu] + owner_of (node, set, nic);
}

static void carry (const Between *between, guint nic_a, guint nic_b, double share, gpointer data) {
  const Carried *carried = data;
  const LsTopology *topology = between->topology;
  double amount = carried->amount * share;
  if (carried->from != G_MAXUINT) {
    guint device = carried->from;
    const LsLiveNics own = ls_route_live_nics (topology, carried->from);
    gboolean is_own = !between->by_rail;
    for (guint i = 0; i < own.n; i++)
      is_own |= own.nics[i] == nic_a;
    if (!is_own)
      device = device_at (between, nic_a, carried->from);
    if (device != carried->from)
      ls_route_between_devices (topology, between->usages, carried->from, device, amount);
    ls_route_device_nic (topology, between->usages, device,
                         &node_of (topology, between->node_a)->nic_sets[between->set_a], nic_a,
                         TRUE, amount);
    ls_route_device_nic (topology, between->usages, carried->to,
                         &node_of (topology, between->node_b)->nic_sets[between->set_b], nic_b,
                         FALSE, amount);
  }
  gboolean reached = ls_route_adapters (topology, between->usages, sender (between, nic_a),
                                        receiver (between, nic_b), amount, NULL);
  LS_REQUIRE (reached, "node %u cannot reach node %u", between->node_a, between->node_b);
}

void ls_route_nics (const LsTopology *topology, LsUsages *usages, guint node_a, const guint *from,
                    guint n_from, guint node_b, const guint *to, guint n_to, double amount) {
  Between between;
  Carried carried = {.from = G_MAXUINT, .amount = amount};
  gboolean possible = between_nodes (topology, usages, node_a, node_b, &between);
  LS_REQUIRE (possible, "nodes %u and %u have no adapters", node_a, node_b);
  each_pair (&between, from, n_from, to, n_to, carry, &carried);
}

LsHop ls_route_gpus (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                     double amount) {
  LS_REQUIRE (from != to, "GPU %u sends to itself", from);
  guint node_a = topology->gpu_node[from], node_b = topology->gpu_node[to];
  if (node_a == node_b)
    return ls_route_inside (topology, usages, from, to, amount);
  const LsLiveNics nics_a = ls_route_live_nics (topology, from);
  const LsLiveNics nics_b = ls_route_live_nics (topology, to);
  Between between;
  Carried carried = {.from = from, .to = to, .amount = amount};
  gboolean possible = between_nodes (topology, usages, node_a, node_b, &between);
  LS_REQUIRE (possible && nics_a.n > 0 && nics_b.n > 0, "GPU %u cannot reach GPU %u", from, to);
  usages->sent += amount;
  usages->received += amount;
  each_pair (&between, nics_a.nics, nics_a.n, nics_b.nics, nics_b.n, carry, &carried);
  return LS_HOP_NET;
}

void ls_route_end (const LsTopology *topology, LsUsages *usages, guint gpu, gboolean out,
                   double amount) {
  guint node = topology->gpu_node[gpu], set;
  const LsNicSet *nics = compute_set (topology, node, &set);
  const LsLiveNics live = ls_route_live_nics (topology, gpu);
  LS_REQUIRE (nics != NULL && live.n > 0, "GPU %u reaches no fabric", gpu);
  for (guint i = 0; i < live.n; i++) {
    guint nic = live.nics[i];
    ls_route_device_nic (topology, usages, gpu, nics, nic, out, amount / live.n);
    ls_usages_add (usages, topology->nic[node][set] + 2 * nic + (out ? 0 : 1), amount / live.n);
  }
  if (out)
    usages->sent += amount;
  else
    usages->received += amount;
}

static void join (const Between *between, guint nic_a, guint nic_b, double share, gpointer data) {
  gboolean reached = ls_route_switches (between->topology, between->usages, sender (between, nic_a),
                                        receiver (between, nic_b), *(double *) data * share);
  LS_REQUIRE (reached, "node %u cannot reach node %u", between->node_a, between->node_b);
}

void ls_route_between_ends (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                            double amount) {
  const LsLiveNics nics_a = ls_route_live_nics (topology, from);
  const LsLiveNics nics_b = ls_route_live_nics (topology, to);
  Between between;
  gboolean possible =
      between_nodes (topology, usages, topology->gpu_node[from], topology->gpu_node[to], &between);
  LS_REQUIRE (possible && !between.by_rail, "rails between GPUs %u and %u", from, to);
  each_pair (&between, nics_a.nics, nics_a.n, nics_b.nics, nics_b.n, join, &amount);
}

/* --- looking only ----------------------------------------------------------------------------- */

typedef struct {
  gboolean reached;
  gint64 latency_ps;
} Look;

static void look (const Between *between, guint nic_a, guint nic_b, double share, gpointer data) {
  Look *seen = data;
  gint64 latency_ps = 0;
  (void) share;
  seen->reached &= ls_route_adapters (between->topology, NULL, sender (between, nic_a),
                                      receiver (between, nic_b), 1, &latency_ps);
  seen->latency_ps = MAX (seen->latency_ps, latency_ps);
}

static Look look_over (const LsTopology *topology, guint node_a, LsLiveNics nics_a, guint node_b,
                       LsLiveNics nics_b) {
  Between between;
  Look seen = {.reached = nics_a.n > 0 && nics_b.n > 0};
  if (!between_nodes (topology, NULL, node_a, node_b, &between) || !seen.reached)
    return (Look){.reached = FALSE};
  each_pair (&between, nics_a.nics, nics_a.n, nics_b.nics, nics_b.n, look, &seen);
  return seen;
}

static Look look_between (const LsTopology *topology, guint from, guint to) {
  const LsLiveNics nics_a = ls_route_live_nics (topology, from);
  const LsLiveNics nics_b = ls_route_live_nics (topology, to);
  return look_over (topology, topology->gpu_node[from], nics_a, topology->gpu_node[to], nics_b);
}

gboolean ls_route_reaches_host (const LsTopology *topology, guint gpu, guint host) {
  guint node = topology->gpu_node[gpu];
  const LsLiveNics own = ls_route_live_nics (topology, gpu);
  g_autoptr (GArray) live = ls_route_node_nics (topology, host);
  const LsLiveNics other = {.nics = (const guint *) (gconstpointer) live->data, .n = live->len};
  return node == host || (look_over (topology, node, own, host, other).reached &&
                          look_over (topology, host, other, node, own).reached);
}

gboolean ls_route_reaches (const LsTopology *topology, guint from, guint to) {
  return topology->gpu_node[from] == topology->gpu_node[to] ||
         look_between (topology, from, to).reached;
}

gint64 ls_route_latency_ps (const LsTopology *topology, guint gpu_a, guint gpu_b) {
  guint node = topology->gpu_node[gpu_a];
  if (node != topology->gpu_node[gpu_b])
    return look_between (topology, gpu_a, gpu_b).latency_ps;
  guint steps = ls_route_torus_steps (topology, gpu_a, gpu_b);
  const LsLink *link = node_of (topology, node)->link;
  return steps > 1 && link != NULL ? (gint64) (steps - 1) * (gint64) (link->latency_s.value * 1e12)
                                   : 0;
}

/* --- storage ---------------------------------------------------------------------------------- */

/* Over the live adapters on a fabric, evenly; FALSE: there are none. */
static gboolean over_adapters (const LsTopology *topology, LsUsages *usages, guint node,
                               guint fabric, gboolean read, double amount) {
  const LsNodeSpec *spec = node_of (topology, node);
  guint n = 0;
  for (guint pass = 0; pass < 2; pass++)
    for (guint s = 0; s < spec->n_nic_sets; s++)
      for (guint i = 0; spec->nic_sets[s].fabric == fabric && i < spec->nic_sets[s].count; i++) {
        if (!is_live (topology, node, s, i))
          continue;
        if (pass == 0)
          n++;
        else
          ls_route_adapter_top (topology, usages, (LsAdapter){node, s, i}, !read, amount / n);
      }
  return n > 0;
}

gboolean ls_route_drives (const LsTopology *topology, LsUsages *usages, guint node, gboolean read,
                          double amount) {
  const LsNodeSpec *spec = node_of (topology, node);
  const double writes = spec->nvme_write_bytes_per_s;
  const double slower = read || writes <= 0 ? 1 : spec->nvme_bytes_per_s / writes;

  if (topology->nvme[node] == LS_NO_NUMBER)
    return FALSE;
  ls_usages_add (usages, topology->nvme[node], amount * slower);
  ls_usages_add (usages, topology->host_memory[node], amount);
  return TRUE;
}

gboolean ls_route_storage (const LsTopology *topology, LsUsages *usages, guint node, gboolean read,
                           double amount) {
  const LsStorageSpec *storage = ls_cluster_storage (topology->cluster);
  if (!storage->present)
    return ls_route_drives (topology, usages, node, read, amount);
  if (!over_adapters (topology, usages, node, storage->fabric, read, amount))
    return FALSE;
  ls_usages_add (usages, read ? topology->storage_read : topology->storage_write, amount);
  ls_usages_add (usages, topology->host_memory[node], amount);
  return TRUE;
}

/* The service hangs on the top of a tree. */
gint64 ls_route_storage_latency_ps (const LsTopology *topology, guint node) {
  const LsStorageSpec *storage = ls_cluster_storage (topology->cluster);
  if (!storage->present || ls_node_adapters (node_of (topology, node), storage->fabric) == 0)
    return 0;
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, storage->fabric);
  return topology->fabrics[storage->fabric].tiers * fabric->hop_latency_ps;
}
