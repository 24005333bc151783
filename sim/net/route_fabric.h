/* From adapter to adapter: which links between switches a flow loads, and what they cost in latency.
 *
 * Trees: by arithmetic, O(1) where equal links are one resource, else O(paths). Graphs: shares of
 * graph.h, kept per pair of switches. Between two fabrics: up to the top of the first, over the WAN that
 * has both as sites, and down the second.
 */
#pragma once

#include "net/topology.h"
#include "net/usage.h"

/* An adapter: node, set of its node, number in the set. */
typedef struct {
  guint node, set, nic;
} LsAdapter;

/* Adds `amount` on every link from the one to the other, both adapters included. Both may be NULL: only
 * the answer counts. FALSE: there is no way (usages are then untouched). *latency_ps: switches and cables
 * of the slowest path. */
gboolean ls_route_adapters (const LsTopology *topology, LsUsages *usages, LsAdapter from,
                            LsAdapter to, double amount, gint64 *latency_ps);
/* The same on one fabric without the adapters: what lies between their switches. */
gboolean ls_route_switches (const LsTopology *topology, LsUsages *usages, LsAdapter from,
                            LsAdapter to, double amount);
/* Between an adapter and what is reached at the top of its fabric (storage): `out` away from the node. */
void ls_route_adapter_top (const LsTopology *topology, LsUsages *usages, LsAdapter adapter,
                           gboolean out, double amount);
/* The leaf switch or vertex that an adapter is plugged into; LS_NO_NUMBER: none. */
guint ls_route_switch_of (const LsTopology *topology, LsAdapter adapter);
/* Latency of the cable between an adapter and its switch. */
gint64 ls_route_cable_ps (const LsTopology *topology, LsAdapter adapter);
/* Its rail, 0 .. rails - 1. */
guint ls_route_rail_of (const LsTopology *topology, LsAdapter adapter);
/* Number of equal paths between two adapters of one fabric; 0: no way. */
double ls_route_n_paths (const LsTopology *topology, LsAdapter from, LsAdapter to);
/* The path (0 .. n - 1) that ECMP picks for a pair of adapters: a hash of what would be the five-tuple. */
guint ls_route_hash (guint node_a, guint nic_a, guint node_b, guint nic_b, guint n);
