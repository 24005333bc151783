/* A route as a list for people: its resources in the order in which bytes pass them. */
#pragma once

#include "net/route.h"

typedef struct {
  guint resource;
  double share;      /* of the flow that crosses it (host memory: passes) */
  gint64 latency_ps; /* of its cable and of the switch that it leads into */
  guint stage;       /* equal stages are side by side */
} LsRouteHop;

typedef struct {
  GArray *hops; /* LsRouteHop */
  LsHop kind;
  gint64 latency_ps; /* ls_route_latency_ps() */
  /* Equal ones through the fabric, of the first pair of adapters; inside a node 1 */
  double n_paths;
  double bytes_per_s; /* at most */
} LsRouteList;

/* Different GPUs (transfer full: ls_route_list_free()). */
LsRouteList *ls_route_list_new (const LsTopology *topology, guint from, guint to);
void ls_route_list_free (LsRouteList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsRouteList, ls_route_list_free)
