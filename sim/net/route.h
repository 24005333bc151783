/* Paths through a cluster: which resources a byte from here to there uses.
 *
 * Model:      inside a node: the link between two GPUs where there is one (in a torus the shortest way
 *             dimension by dimension, half each way round where both are equal); else up over PCIe,
 *             between sockets where they differ, through host memory (written and read again, as without
 *             peer access; GPUs behind one PCIe switch do without), and down. Between nodes: from the GPU
 *             over PCIe to its own adapters (GPU k of g has the k-th share of them; over the links between
 *             sockets where they hang on another), the fabric (route_fabric.h), and back. Adapters of
 *             equal number face each other, so that rails stay apart where both ends have the same set.
 * Routing:    spray spreads over all shortest paths evenly; ECMP takes one, by a hash of both adapters;
 *             rail, and fabrics of rails alone, change rails over the links of the sending node: the
 *             GPU of the right rail passes it on; static takes the routes given.
 * Down:       a GPU whose adapters are all down uses the next live ones of its node.
 * Cost:       O(1) per adapter of the GPU in trees; see graph.h for the rest.
 */
#pragma once

#include "net/route_fabric.h"
#include "net/route_inside.h"

/* Adds a flow of `amount` bytes per byte of progress from one GPU to another, different one. */
LsHop ls_route_gpus (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                     double amount);
/* FALSE: no live adapters and links lead from the one to the other. */
gboolean ls_route_reaches (const LsTopology *topology, guint from, guint to);
/* The same, both ways, between a GPU and the adapters of a node, as servers of updates use them. */
gboolean ls_route_reaches_host (const LsTopology *topology, guint gpu, guint host);

typedef struct {
  const guint *nics; /* the topology's */
  guint n;
} LsLiveNics;
/* Those that GPU `gpu` uses, live ones; empty: none. */
LsLiveNics ls_route_live_nics (const LsTopology *topology, guint gpu);
/* All live ones of a node's compute set (transfer full). */
GArray *ls_route_node_nics (const LsTopology *topology, guint node);
/* Switches and cables on the longest way from one GPU to another, the ends (software, adapters, first
 * and last link) excluded; inside a node: the devices of a torus that pass it on, else 0. */
gint64 ls_route_latency_ps (const LsTopology *topology, guint gpu_a, guint gpu_b);
/* Adds a flow spread over adapters: `from[0..n_from)` of node a to `to[0..n_to)` of node b. */
void ls_route_nics (const LsTopology *topology, LsUsages *usages, guint node_a, const guint *from,
                    guint n_from, guint node_b, const guint *to, guint n_to, double amount);

/* The two parts of a flow between nodes under even routing: what it uses from a GPU to the switches of its adapters, or
 * from there to the GPU, and what it uses between the switches of two GPUs. */
void ls_route_end (const LsTopology *topology, LsUsages *usages, guint gpu, gboolean out,
                   double amount);
void ls_route_between_ends (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                            double amount);

/* Between a node's host memory and the storage service or, without one, its drives. FALSE: neither. */
gboolean ls_route_storage (const LsTopology *topology, LsUsages *usages, guint node, gboolean read,
                           double amount);
/* Between a node's host memory and its drives, whose capacity is what they read: a write takes more of it where they
 * write slower. FALSE: there are none. */
gboolean ls_route_drives (const LsTopology *topology, LsUsages *usages, guint node, gboolean read,
                          double amount);
/* Switches and cables between a node and the storage service; 0: drives. */
gint64 ls_route_storage_latency_ps (const LsTopology *topology, guint node);
