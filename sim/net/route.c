/* Paths as usages of resources; see route.h. */
#include "net/route.h"

#include "base/assert.h"
#include "base/random.h"

static const LsNodeSpec *node_of (const LsTopology *topology, guint node) {
  return ls_cluster_node (topology->cluster, node);
}

/* The set that collectives use and its number among the sets; it must exist. */
static const LsNicSet *compute_set (const LsTopology *topology, guint node, guint *number) {
  const LsNodeSpec *spec = node_of (topology, node);
  const LsNicSet *set = ls_node_compute_nics (spec);
  LS_REQUIRE (set != NULL, "node %u has no adapter", node);
  *number = (guint) (set - spec->nic_sets);
  return set;
}

/* --- inside a node ---------------------------------------------------------------------------- */

static LsHop over_pcie (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                        double amount) {
  guint node = topology->gpu_node[from];
  gboolean one_switch =
      topology->root_up[from] != LS_NO_NUMBER && topology->root_up[from] == topology->root_up[to];
  ls_usages_add (usages, topology->pcie_up[from], amount);
  ls_usages_add (usages, topology->pcie_down[to], amount);
  if (one_switch)
    return LS_HOP_PCIE;
  if (topology->root_up[from] != LS_NO_NUMBER)
    ls_usages_add (usages, topology->root_up[from], amount);
  if (topology->root_down[to] != LS_NO_NUMBER)
    ls_usages_add (usages, topology->root_down[to], amount);
  ls_usages_add (usages, topology->host_memory[node], 2 * amount);
  return LS_HOP_PCIE;
}

LsHop ls_route_inside (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                       double amount) {
  usages->sent += amount;
  usages->received += amount;
  if (topology->link_up[from] != LS_NO_NUMBER) {
    ls_usages_add (usages, topology->link_up[from], amount);
    ls_usages_add (usages, topology->link_down[to], amount);
    return LS_HOP_LINK;
  }
  if (topology->mesh[from] != NULL) {
    guint link = topology->mesh[from][topology->gpu_local[to]];
    if (link != LS_NO_NUMBER) {
      ls_usages_add (usages, link, amount);
      return LS_HOP_LINK;
    }
  }
  return over_pcie (topology, usages, from, to, amount);
}

/* --- between nodes ---------------------------------------------------------------------------- */

guint ls_route_gpu_nics (const LsNodeSpec *node, const LsNicSet *set, guint local, guint *count) {
  guint first = local * set->count / node->gpus;
  guint last = (local + 1) * set->count / node->gpus;
  *count = MAX (1, last - first);
  return MIN (first, set->count - 1);
}

guint ls_route_hash (guint node_a, guint nic_a, guint node_b, guint nic_b, guint n) {
  guint64 from = (guint64) node_a << 32 | nic_a, to = (guint64) node_b << 32 | nic_b;
  return (guint) (ls_random_hash (0, from, to) % n);
}

/* Number of an adapter on its fabric, over all sets of the node that are plugged into it. */
static guint port_of (const LsNodeSpec *node, guint set, guint nic) {
  guint port = nic;
  for (guint i = 0; i < set; i++)
    if (node->nic_sets[i].fabric == node->nic_sets[set].fabric)
      port += node->nic_sets[i].count;
  return port;
}

static guint leaf_of (const LsTopology *topology, const LsFabricSpec *fabric,
                      const LsFabricMap *map, guint node, guint port) {
  (void) topology;
  return port % fabric->rails * map->blocks + node / map->nodes_per_leaf;
}

gint64 ls_route_latency_ps (const LsTopology *topology, guint gpu_a, guint gpu_b) {
  guint node_a = topology->gpu_node[gpu_a], node_b = topology->gpu_node[gpu_b], set_number;
  if (node_a == node_b)
    return 0;
  const LsNicSet *set = compute_set (topology, node_a, &set_number);
  const LsFabricMap *map = &topology->fabrics[set->fabric];
  gint64 hop_ps = ls_cluster_fabric (topology->cluster, set->fabric)->hop_latency_ps;
  gboolean one_leaf =
      map->trunk_up == LS_NO_NUMBER || node_a / map->nodes_per_leaf == node_b / map->nodes_per_leaf;
  return (one_leaf ? 1 : 3) * hop_ps;
}

/* One adapter to one adapter. */
static void nic_to_nic (const LsTopology *topology, LsUsages *usages, guint node_a, guint set_a,
                        guint nic_a, guint node_b, guint set_b, guint nic_b, double amount) {
  const LsNicSet *set = &node_of (topology, node_a)->nic_sets[set_a];
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, set->fabric);
  const LsFabricMap *map = &topology->fabrics[set->fabric];
  ls_usages_add (usages, topology->nic[node_a][set_a] + 2 * nic_a, amount);
  ls_usages_add (usages, topology->nic[node_b][set_b] + 2 * nic_b + 1, amount);
  if (map->trunk_up == LS_NO_NUMBER)
    return;
  guint leaf_a =
      leaf_of (topology, fabric, map, node_a, port_of (node_of (topology, node_a), set_a, nic_a));
  guint leaf_b =
      leaf_of (topology, fabric, map, node_b, port_of (node_of (topology, node_b), set_b, nic_b));
  if (leaf_a == leaf_b)
    return;
  guint spine = ls_route_hash (node_a, nic_a, node_b, nic_b, map->spines);
  ls_usages_add (usages, map->trunk_up + leaf_a * map->spines + spine, amount);
  ls_usages_add (usages, map->trunk_down + leaf_b * map->spines + spine, amount);
}

static gboolean same_numbers (const guint *a, guint n_a, const guint *b, guint n_b) {
  if (n_a != n_b)
    return FALSE;
  for (guint i = 0; i < n_a; i++)
    if (a[i] != b[i])
      return FALSE;
  return TRUE;
}

void ls_route_nics (const LsTopology *topology, LsUsages *usages, guint node_a, const guint *from,
                    guint n_from, guint node_b, const guint *to, guint n_to, double amount) {
  guint set_a, set_b;
  compute_set (topology, node_a, &set_a);
  compute_set (topology, node_b, &set_b);
  if (same_numbers (from, n_from, to, n_to)) {
    for (guint i = 0; i < n_from; i++)
      nic_to_nic (topology, usages, node_a, set_a, from[i], node_b, set_b, to[i], amount / n_from);
    return;
  }
  for (guint i = 0; i < n_from; i++)
    for (guint j = 0; j < n_to; j++)
      nic_to_nic (topology, usages, node_a, set_a, from[i], node_b, set_b, to[j],
                  amount / n_from / n_to);
}

static guint own_nics (const LsTopology *topology, guint gpu, guint **nics) {
  guint node = topology->gpu_node[gpu], number, count;
  const LsNicSet *set = compute_set (topology, node, &number);
  guint first = ls_route_gpu_nics (node_of (topology, node), set, topology->gpu_local[gpu], &count);
  *nics = g_new0 (guint, count);
  for (guint i = 0; i < count; i++)
    (*nics)[i] = first + i;
  return count;
}

LsHop ls_route_gpus (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                     double amount) {
  LS_REQUIRE (from != to, "GPU %u sends to itself", from);
  guint node_a = topology->gpu_node[from], node_b = topology->gpu_node[to];
  if (node_a == node_b)
    return ls_route_inside (topology, usages, from, to, amount);
  g_autofree guint *nics_a = NULL;
  g_autofree guint *nics_b = NULL;
  guint n_a = own_nics (topology, from, &nics_a), n_b = own_nics (topology, to, &nics_b);
  usages->sent += amount;
  usages->received += amount;
  ls_usages_add (usages, topology->pcie_up[from], amount);
  ls_usages_add (usages, topology->pcie_down[to], amount);
  ls_route_nics (topology, usages, node_a, nics_a, n_a, node_b, nics_b, n_b, amount);
  return LS_HOP_NET;
}

/* --- host and storage ------------------------------------------------------------------------- */

void ls_route_host (const LsTopology *topology, LsUsages *usages, guint gpu, gboolean up,
                    double amount) {
  guint root = up ? topology->root_up[gpu] : topology->root_down[gpu];
  ls_usages_add (usages, up ? topology->pcie_up[gpu] : topology->pcie_down[gpu], amount);
  if (root != LS_NO_NUMBER)
    ls_usages_add (usages, root, amount);
  ls_usages_add (usages, topology->host_memory[topology->gpu_node[gpu]], amount);
}

/* Over the adapters on storage's fabric, evenly. */
static void over_adapters (const LsTopology *topology, LsUsages *usages, guint node, guint fabric,
                           gboolean read, double amount) {
  const LsNodeSpec *spec = node_of (topology, node);
  guint n = 0;
  for (guint s = 0; s < spec->n_nic_sets; s++)
    n += spec->nic_sets[s].fabric == fabric ? spec->nic_sets[s].count : 0;
  for (guint s = 0; s < spec->n_nic_sets; s++)
    for (guint i = 0; spec->nic_sets[s].fabric == fabric && i < spec->nic_sets[s].count; i++)
      ls_usages_add (usages, topology->nic[node][s] + 2 * i + (read ? 1 : 0), amount / n);
}

gboolean ls_route_storage (const LsTopology *topology, LsUsages *usages, guint node, gboolean read,
                           double amount) {
  const LsStorageSpec *storage = ls_cluster_storage (topology->cluster);
  if (storage->present) {
    ls_usages_add (usages, read ? topology->storage_read : topology->storage_write, amount);
    over_adapters (topology, usages, node, storage->fabric, read, amount);
  } else if (topology->nvme[node] != LS_NO_NUMBER)
    ls_usages_add (usages, topology->nvme[node], amount);
  else
    return FALSE;
  ls_usages_add (usages, topology->host_memory[node], amount);
  return TRUE;
}
