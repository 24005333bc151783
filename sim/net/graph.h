/* A graph of switches and cables, and the shortest paths through it.
 *
 * Model:      vertices with a latency, undirected edges with a rate and a latency and one state per
 *             direction. A path is shortest when it has the fewest edges. Over k shortest paths an ideal
 *             spread lays 1/k on each, so an edge carries (shortest paths through it) / k.
 * Invariants: shares out of every vertex but the last equal the shares into it; they leave the first and
 *             reach the last as 1. Results do not depend on the order in which edges were added.
 * Cost:       breadth first once per pair of vertices, O(vertices + edges), kept.
 *
 * Ownership: a graph owns everything; results live as long as it does.
 */
#pragma once

#include <glib.h>

typedef struct LsGraph LsGraph;

/* One direction of an edge on the way. */
typedef struct {
  guint edge;
  gboolean back; /* from b to a */
  double share;
} LsGraphHop;

typedef struct {
  /* Entries, in order of distance from the start; 0: unreachable, or both ends are one */
  guint n_hops;
  LsGraphHop *hops;
  gboolean reachable;
  guint length;      /* edges of each path */
  double n_paths;    /* equal ones */
  gint64 latency_ps; /* of the slowest of them: edges, and vertices with both ends */
} LsGraphPaths;

LsGraph *ls_graph_new (void);
void ls_graph_free (LsGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsGraph, ls_graph_free)

guint ls_graph_add_vertex (LsGraph *graph, const char *name, gint64 latency_ps);
/* Names belong to the caller's messages and may be equal; they are copied. */
guint ls_graph_add_edge (LsGraph *graph, const char *name, guint a, guint b, double per_s,
                         gint64 latency_ps);
/* A direction that is down carries nothing. Before the first question about paths. */
void ls_graph_set_down (LsGraph *graph, guint edge, gboolean back);
gboolean ls_graph_is_down (const LsGraph *graph, guint edge, gboolean back);

guint ls_graph_n_vertices (const LsGraph *graph);
guint ls_graph_n_edges (const LsGraph *graph);
const char *ls_graph_name (const LsGraph *graph, guint vertex);
/* The vertex called so; G_MAXUINT: none. */
guint ls_graph_find (const LsGraph *graph, const char *name);
void ls_graph_ends (const LsGraph *graph, guint edge, guint *a, guint *b);
double ls_graph_rate (const LsGraph *graph, guint edge);
gint64 ls_graph_latency_ps (const LsGraph *graph, guint edge); /* of the cable */
const char *ls_graph_edge_name (const LsGraph *graph, guint edge);

const LsGraphPaths *ls_graph_paths (LsGraph *graph, guint from, guint to);
/* One of the equal paths, by a number (a hash or a destination): its hops are written to `hops`
 * (ls_graph_paths()->length entries, share 1). FALSE: unreachable. */
gboolean ls_graph_choose (LsGraph *graph, guint from, guint to, guint64 number, LsGraphHop *hops);
/* The largest flow per second from all of `sources` together to all of `sinks` together, each limited by
 * its own rate; for bisections. */
double ls_graph_max_flow (const LsGraph *graph, const double *sources, const double *sinks);
