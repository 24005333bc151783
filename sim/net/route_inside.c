/* Paths inside a node; see route.h and route_inside.h. */
#include "net/route_inside.h"

#include "base/assert.h"

static gboolean is_live (const LsTopology *topology, guint resource) {
  return resource != LS_NO_NUMBER && ls_topology_resource (topology, resource)->per_s > 0;
}

/* --- PCIe ------------------------------------------------------------------------------------- */

static void add_if (LsUsages *usages, guint resource, double amount) {
  if (resource != LS_NO_NUMBER)
    ls_usages_add (usages, resource, amount);
}

/* From one socket to another of the node. */
static void between_sockets (const LsTopology *topology, LsUsages *usages, guint node, guint from,
                             guint to, double amount) {
  if (from == to)
    return;
  ls_usages_add (usages, topology->socket[node] + 2 * from, amount);
  ls_usages_add (usages, topology->socket[node] + 2 * to + 1, amount);
}

static LsHop over_pcie (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                        double amount) {
  guint node = topology->gpu_node[from];
  const LsNodeSpec *spec = ls_cluster_node (topology->cluster, node);
  /* Instances have no peers, not even behind one switch: through the memory of the host. */
  gboolean one_switch = spec->mig == NULL && topology->root_up[from] != LS_NO_NUMBER &&
                        topology->root_up[from] == topology->root_up[to];
  ls_usages_add (usages, topology->pcie_up[from], amount);
  ls_usages_add (usages, topology->pcie_down[to], amount);
  if (one_switch)
    return LS_HOP_PCIE;
  add_if (usages, topology->root_up[from], amount);
  add_if (usages, topology->root_down[to], amount);
  between_sockets (topology, usages, node, ls_node_gpu_socket (spec, topology->gpu_local[from]),
                   ls_node_gpu_socket (spec, topology->gpu_local[to]), amount);
  ls_usages_add (usages, topology->host_memory[node], 2 * amount);
  return LS_HOP_PCIE;
}

void ls_route_device_nic (const LsTopology *topology, LsUsages *usages, guint gpu,
                          const LsNicSet *set, guint nic, gboolean out, double amount) {
  guint node = topology->gpu_node[gpu];
  const LsNodeSpec *spec = ls_cluster_node (topology->cluster, node);
  guint at = ls_node_gpu_socket (spec, topology->gpu_local[gpu]);
  guint there = ls_node_nic_socket (spec, set, nic);
  ls_usages_add (usages, out ? topology->pcie_up[gpu] : topology->pcie_down[gpu], amount);
  if (at == there)
    return;
  add_if (usages, out ? topology->root_up[gpu] : topology->root_down[gpu], amount);
  between_sockets (topology, usages, node, out ? at : there, out ? there : at, amount);
}

/* --- torus ------------------------------------------------------------------------------------ */

/* Walks `steps` along a dimension from `gpu`; adds `amount` unless usages is NULL. FALSE: a link is down
 * or missing. *end: where it arrives. */
static gboolean walk (const LsTopology *topology, LsUsages *usages, guint gpu, guint dimension,
                      gboolean up, guint steps, double amount, guint *end) {
  guint first = gpu - topology->gpu_local[gpu];
  for (guint i = 0; i < steps; i++) {
    guint link = ls_topology_torus_link (topology, gpu, dimension, up);
    if (!is_live (topology, link))
      return FALSE;
    if (usages != NULL)
      ls_usages_add (usages, link, amount);
    gpu = first + (ls_topology_resource (topology, link)->peer & 0xffffff);
  }
  *end = gpu;
  return TRUE;
}

/* Steps up and down a dimension; G_MAXUINT: that way does not lead there. */
static void steps_of (const LsTorusPlace *a, const LsTorusPlace *b, guint d, guint *up,
                      guint *down) {
  guint size = a->size[d];
  *up = (b->at[d] + size - a->at[d]) % size;
  *down = (size - *up) % size;
  if (!a->wrap[d] && b->at[d] < a->at[d])
    *up = G_MAXUINT;
  if (!a->wrap[d] && b->at[d] > a->at[d])
    *down = G_MAXUINT;
}

/* One dimension: the shorter way; both by halves where they are equal; the longer when the shorter is down. */
static gboolean along (const LsTopology *topology, LsUsages *usages, guint gpu, guint d, guint up,
                       guint down, double amount, guint *end) {
  gboolean ways[2]; /* up, down */
  ways[0] = up != G_MAXUINT && walk (topology, NULL, gpu, d, TRUE, up, 0, end);
  ways[1] = down != G_MAXUINT && walk (topology, NULL, gpu, d, FALSE, down, 0, end);
  if (ways[0] && ways[1] && up != down)
    ways[up < down ? 1 : 0] = FALSE;
  double share = ways[0] && ways[1] ? amount / 2 : amount;
  if (ways[0])
    walk (topology, usages, gpu, d, TRUE, up, share, end);
  if (ways[1])
    walk (topology, usages, gpu, d, FALSE, down, share, end);
  return ways[0] || ways[1];
}

/* FALSE: links are down so that no such way is left (then nothing is added). */
static gboolean through_torus (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                               double amount) {
  LsTorusPlace a, b;
  ls_topology_torus (topology, from, &a);
  ls_topology_torus (topology, to, &b);
  for (guint pass = 0; pass < 2; pass++) {
    guint at = from;
    for (guint d = 0; d < a.n_dimensions; d++) {
      guint up, down;
      steps_of (&a, &b, d, &up, &down);
      if (a.at[d] != b.at[d] &&
          !along (topology, pass == 0 ? NULL : usages, at, d, up, down, amount, &at))
        return FALSE;
    }
    LS_REQUIRE (at == to, "a way through the torus ends at GPU %u, not %u", at, to);
  }
  return TRUE;
}

guint ls_route_torus_steps (const LsTopology *topology, guint from, guint to) {
  LsTorusPlace a, b;
  guint steps = 0;
  if (!ls_topology_torus (topology, from, &a))
    return 0;
  ls_topology_torus (topology, to, &b);
  for (guint d = 0; d < a.n_dimensions; d++) {
    guint up, down;
    steps_of (&a, &b, d, &up, &down);
    steps += a.at[d] != b.at[d] ? MIN (up, down) : 0;
  }
  return steps;
}

/* --- any two devices -------------------------------------------------------------------------- */

LsHop ls_route_between_devices (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                                double amount) {
  if (is_live (topology, topology->link_up[from]) && is_live (topology, topology->link_down[to])) {
    ls_usages_add (usages, topology->link_up[from], amount);
    ls_usages_add (usages, topology->link_down[to], amount);
    return LS_HOP_LINK;
  }
  if (topology->mesh[from] != NULL) {
    guint link = topology->mesh[from][topology->gpu_local[to]];
    if (is_live (topology, link)) {
      ls_usages_add (usages, link, amount);
      return LS_HOP_LINK;
    }
  }
  if (topology->torus[from] != NULL && through_torus (topology, usages, from, to, amount))
    return LS_HOP_LINK;
  return over_pcie (topology, usages, from, to, amount);
}

LsHop ls_route_inside (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                       double amount) {
  usages->sent += amount;
  usages->received += amount;
  return ls_route_between_devices (topology, usages, from, to, amount);
}

void ls_route_host (const LsTopology *topology, LsUsages *usages, guint gpu, gboolean up,
                    double amount) {
  ls_usages_add (usages, up ? topology->pcie_up[gpu] : topology->pcie_down[gpu], amount);
  add_if (usages, up ? topology->root_up[gpu] : topology->root_down[gpu], amount);
  add_if (usages, topology->copy[gpu], amount);
  ls_usages_add (usages, topology->host_memory[topology->gpu_node[gpu]], amount);
}
