/* Paths inside a node; route.h says which are taken. */
#pragma once

#include "net/topology.h"
#include "net/usage.h"

/* What a hop crosses, in order of latency. */
typedef enum { LS_HOP_NONE, LS_HOP_LINK, LS_HOP_PCIE, LS_HOP_NET } LsHop;

/* Adds a flow of `amount` bytes per byte of progress from one GPU to another of the node, whatever joins them. */
LsHop ls_route_inside (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                       double amount);
/* The same without counting what is sent and received. */
LsHop ls_route_between_devices (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                                double amount);
/* Between a device and an adapter of its node: PCIe, and sockets where they differ. */
void ls_route_device_nic (const LsTopology *topology, LsUsages *usages, guint gpu,
                          const LsNicSet *set, guint nic, gboolean out, double amount);
/* Steps between two devices of a torus; 0: not in one. */
guint ls_route_torus_steps (const LsTopology *topology, guint from, guint to);
/* Between a GPU and its host: up (to the host) or down, host memory included. */
void ls_route_host (const LsTopology *topology, LsUsages *usages, guint gpu, gboolean up,
                    double amount);
