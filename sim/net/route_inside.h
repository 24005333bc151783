/* Paths inside a node, in pieces, for route.c. */
#pragma once

#include "net/route.h"

/* As ls_route_inside(), without counting what is sent and received. */
LsHop ls_route_between_devices (const LsTopology *topology, LsUsages *usages, guint from, guint to,
                                double amount);
/* Between a device and an adapter of its node: PCIe, and sockets where they differ. */
void ls_route_device_nic (const LsTopology *topology, LsUsages *usages, guint gpu,
                          const LsNicSet *set, guint nic, gboolean out, double amount);
/* Steps between two devices of a torus; 0: not in one. */
guint ls_route_torus_steps (const LsTopology *topology, guint from, guint to);
