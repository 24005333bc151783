/* Records of a graph, for graph.c and graph_flow.c alone. */
#pragma once

#include "net/graph.h"

/* An edge as seen from one of its vertices. */
typedef struct {
  guint edge, to;
  gboolean back;
} LsGraphOut;

typedef struct {
  char *name;
  gint64 latency_ps;
  GArray *out; /* LsGraphOut */
} LsGraphVertex;

typedef struct {
  char *name;
  guint a, b;
  double per_s;
  gint64 latency_ps;
  gboolean down[2]; /* forth, back */
} LsGraphEdge;

struct LsGraph {
  GArray *vertices;  /* LsGraphVertex */
  GArray *edges;     /* LsGraphEdge */
  GHashTable *known; /* from << 32 | to -> LsGraphPaths */
  guint distance_to; /* the vertex that the arrays below are about; G_MAXUINT: none yet */
  guint *distance, *order;
  double *ways;
};

static inline LsGraphVertex *ls_graph_vertex (const LsGraph *graph, guint vertex) {
  return &g_array_index (graph->vertices, LsGraphVertex, vertex);
}
static inline LsGraphEdge *ls_graph_edge (const LsGraph *graph, guint edge) {
  return &g_array_index (graph->edges, LsGraphEdge, edge);
}
