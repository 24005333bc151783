/* The largest flow through a graph by augmenting shortest paths (Edmonds and Karp, JACM 19, 1972):
 * exact, O(V E^2) at worst, small graphs only. */
#include <math.h>

#include "net/graph_private.h"

/* Residual rates: [edge][0] from a to b, [edge][1] back; and what sources and sinks have left. */
typedef struct {
  const LsGraph *graph;
  double *left;
  double *sources, *sinks;
  guint *came_from; /* edge << 1 | back; G_MAXUINT: not reached, G_MAXUINT - 1: a source */
  guint *queue;
} Flow;

#define NOT_REACHED G_MAXUINT
#define SOURCE (G_MAXUINT - 1)

/* A vertex with an open sink, reached breadth first from open sources; G_MAXUINT: none. */
static guint search (Flow *flow) {
  guint n = flow->graph->vertices->len, head = 0, tail = 0;
  for (guint i = 0; i < n; i++) {
    flow->came_from[i] = flow->sources[i] > 0 ? SOURCE : NOT_REACHED;
    if (flow->sources[i] > 0)
      flow->queue[tail++] = i;
  }
  while (head < tail) {
    guint at = flow->queue[head++];
    if (flow->sinks[at] > 0)
      return at;
    const GArray *out = ls_graph_vertex (flow->graph, at)->out;
    for (guint i = 0; i < out->len; i++) {
      const LsGraphOut *way = &g_array_index (out, LsGraphOut, i);
      guint entry = way->edge << 1 | (way->back ? 1 : 0);
      if (flow->left[entry] <= 0 || flow->came_from[way->to] != NOT_REACHED)
        continue;
      flow->came_from[way->to] = entry;
      flow->queue[tail++] = way->to;
    }
  }
  return G_MAXUINT;
}

static guint start_of (const Flow *flow, guint entry) {
  const LsGraphEdge *edge = ls_graph_edge (flow->graph, entry >> 1);
  return (entry & 1) ? edge->b : edge->a;
}

static double augment (Flow *flow, guint end) {
  double amount = flow->sinks[end];
  guint at = end;
  for (; flow->came_from[at] != SOURCE; at = start_of (flow, flow->came_from[at]))
    amount = MIN (amount, flow->left[flow->came_from[at]]);
  amount = MIN (amount, flow->sources[at]);
  flow->sources[at] -= amount;
  flow->sinks[end] -= amount;
  for (at = end; flow->came_from[at] != SOURCE; at = start_of (flow, flow->came_from[at])) {
    flow->left[flow->came_from[at]] -= amount;
    flow->left[flow->came_from[at] ^ 1] += amount;
  }
  return amount;
}

double ls_graph_max_flow (const LsGraph *graph, const double *sources, const double *sinks) {
  guint n = graph->vertices->len, m = graph->edges->len;
  g_autofree double *left = g_new0 (double, 2 * m + 1);
  g_autofree double *out = g_memdup2 (sources, n * sizeof *sources);
  g_autofree double *in = g_memdup2 (sinks, n * sizeof *sinks);
  g_autofree guint *came_from = g_new (guint, n);
  g_autofree guint *queue = g_new (guint, n);
  Flow flow = {.graph = graph,
               .left = left,
               .sources = out,
               .sinks = in,
               .came_from = came_from,
               .queue = queue};
  double sum = 0;
  for (guint i = 0; i < m; i++)
    for (guint back = 0; back < 2; back++)
      left[2 * i + back] =
          ls_graph_edge (graph, i)->down[back] ? 0 : ls_graph_edge (graph, i)->per_s;
  for (guint end = search (&flow); end != G_MAXUINT; end = search (&flow))
    sum += augment (&flow, end);
  return sum;
}
