/* Words, copies and ends of fabrics. */
#include "net/fabric.h"

#include "base/assert.h"

#define WORD_OF(id, word, meaning) word,
#define MEANING_OF(id, word, meaning) meaning,

const char *ls_fabric_kind_name (LsFabricKind kind) {
  static const char *const words[] = {LS_FABRIC_KINDS (WORD_OF)};
  LS_REQUIRE (kind < LS_N_FABRIC_KINDS, "fabric kind %d", (int) kind);
  return words[kind];
}

const char *ls_fabric_kind_meaning (LsFabricKind kind) {
  static const char *const meanings[] = {LS_FABRIC_KINDS (MEANING_OF)};
  LS_REQUIRE (kind < LS_N_FABRIC_KINDS, "fabric kind %d", (int) kind);
  return meanings[kind];
}

const char *ls_routing_name (LsRouting routing) {
  static const char *const words[] = {LS_ROUTINGS (WORD_OF)};
  LS_REQUIRE (routing < LS_N_ROUTINGS, "routing %d", (int) routing);
  return words[routing];
}

const char *ls_routing_meaning (LsRouting routing) {
  static const char *const meanings[] = {LS_ROUTINGS (MEANING_OF)};
  LS_REQUIRE (routing < LS_N_ROUTINGS, "routing %d", (int) routing);
  return meanings[routing];
}

LsFabricSpec ls_fabric_spec_copy (const LsFabricSpec *fabric) {
  LsFabricSpec copy = *fabric;
  copy.name = g_strdup (fabric->name);
  copy.vertices = g_new0 (LsFabricVertex, fabric->n_vertices + 1);
  copy.edges = g_new0 (LsFabricEdge, fabric->n_edges + 1);
  copy.routes = g_new0 (LsFabricRoute, fabric->n_routes + 1);
  copy.ports = fabric->n_ports > 0
                   ? g_memdup2 (fabric->ports, fabric->n_ports * sizeof *fabric->ports)
                   : NULL;
  for (guint i = 0; i < fabric->n_vertices; i++) {
    copy.vertices[i] = fabric->vertices[i];
    copy.vertices[i].name = g_strdup (fabric->vertices[i].name);
    copy.vertices[i].gateway = g_strdup (fabric->vertices[i].gateway);
  }
  for (guint i = 0; i < fabric->n_edges; i++) {
    copy.edges[i] = fabric->edges[i];
    copy.edges[i].name = g_strdup (fabric->edges[i].name);
  }
  for (guint i = 0; i < fabric->n_routes; i++)
    copy.routes[i] = (LsFabricRoute){.name = g_strdup (fabric->routes[i].name),
                                     .from = g_strdup (fabric->routes[i].from),
                                     .to = g_strdup (fabric->routes[i].to),
                                     .via = g_strdupv (fabric->routes[i].via)};
  return copy;
}

void ls_fabric_spec_clear (LsFabricSpec *fabric) {
  for (guint i = 0; i < fabric->n_vertices; i++) {
    g_free (fabric->vertices[i].name);
    g_free (fabric->vertices[i].gateway);
  }
  for (guint i = 0; i < fabric->n_edges; i++)
    g_free (fabric->edges[i].name);
  for (guint i = 0; i < fabric->n_routes; i++) {
    g_free (fabric->routes[i].name);
    g_free (fabric->routes[i].from);
    g_free (fabric->routes[i].to);
    g_strfreev (fabric->routes[i].via);
  }
  g_free (fabric->vertices);
  g_free (fabric->edges);
  g_free (fabric->ports);
  g_free (fabric->routes);
  g_free (fabric->name);
  *fabric = (LsFabricSpec){.name = NULL};
}

guint ls_fabric_torus_size (const LsFabricSpec *fabric) {
  guint64 product = 1;
  for (guint i = 0; i < fabric->n_dimensions; i++)
    product = MIN (product * fabric->size[i], G_MAXUINT);
  return (guint) product;
}
