/* A fabric drawn in text: its tiers from the top down, how many of what, what halves can exchange. */
#include "base/assert.h"
#include "net/describe_text.h"
#include "net/route.h"

/* "[leaf0] [leaf1] ... [leaf7]" */
static void draw_row (GString *text, const char *stem, guint n) {
  g_string_append (text, "   ");
  for (guint i = 0; i < n; i++) {
    if (n > 4 && i == 2) {
      g_string_append (text, " ...");
      i = n - 1;
    }
    g_string_append_printf (text, " [%s%u]", stem, i);
  }
}

static void draw_nodes (GString *text, const LsTopology *topology, guint f) {
  const LsFabricMap *map = &topology->fabrics[f];
  for (guint g = 0; g < ls_cluster_n_groups (topology->cluster); g++) {
    const LsFabricGroup *place = &map->groups[g];
    const LsNodeGroup *group = ls_cluster_group (topology->cluster, g);
    if (place->adapters == 0)
      continue;
    g_string_append_printf (text, "    %s: %u node%s with %u adapter%s each", group->name,
                            group->nodes, group->nodes == 1 ? "" : "s", place->adapters,
                            place->adapters == 1 ? "" : "s");
    if (ls_cluster_fabric (topology->cluster, f)->kind == LS_FABRIC_FAT_TREE)
      g_string_append_printf (text, ", %u node%s and %u port%s of each under a leaf switch",
                              MIN (place->nodes_per_leaf, group->nodes),
                              MIN (place->nodes_per_leaf, group->nodes) == 1 ? "" : "s",
                              place->per_rail, place->per_rail == 1 ? "" : "s");
    g_string_append_c (text, '\n');
  }
}

static void draw_tree (GString *text, const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  const LsFabricMap *map = &topology->fabrics[f];
  g_autofree char *leaf = ls_describe_rate (map->leaf_per_s);
  g_autofree char *pod = ls_describe_rate (map->pod_per_s);
  if (map->tiers > 2) {
    g_string_append (text, "    [ cores ]\n");
    g_string_append_printf (text, "     |   |   |   %s each way per pod (%g : 1)\n", pod,
                            fabric->spine_oversubscription);
    draw_row (text, "spines of pod ", map->pods);
    g_string_append_c (text, '\n');
  } else if (map->tiers > 1)
    g_string_append (text,
                     fabric->rail_only ? "    [ spines of each rail ]\n" : "    [ spines ]\n");
  if (map->tiers > 1)
    g_string_append_printf (text, "     |   |   |   %s each way per leaf switch (%g : 1)%s\n", leaf,
                            fabric->oversubscription,
                            map->spines > 1 ? ", link by link" : ", spread evenly");
  draw_row (text, "leaf", MAX (1, map->leaves));
  g_string_append_printf (text, "   %u rail%s x %u, %u ports each\n", fabric->rails,
                          fabric->rails == 1 ? "" : "s", MAX (1, map->blocks), fabric->leaf_radix);
  g_string_append (text, "     |   |   |\n");
}

static void draw_dragonfly (GString *text, const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  const LsGraph *graph = topology->fabrics[f].graph;
  g_autofree char *local = ls_describe_rate (ls_graph_rate (graph, 0));
  g_autofree char *global = ls_describe_rate (ls_graph_rate (graph, ls_graph_n_edges (graph) - 1));
  draw_row (text, "group", fabric->groups);
  if (fabric->groups > 1)
    g_string_append_printf (text, "   each two joined by %u cables of %s\n", fabric->global_links,
                            global);
  else
    g_string_append_c (text, '\n');
  g_string_append (text, "    a group:\n");
  draw_row (text, "spine", fabric->group_spines);
  g_string_append_printf (text, "\n      | X | X |   every leaf to every spine: %s\n", local);
  draw_row (text, "leaf", fabric->group_leaves);
  g_string_append_printf (text, "   %u nodes under each\n", fabric->nodes_per_leaf);
}

static void draw_torus (GString *text, const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  const LsGraph *graph = topology->fabrics[f].graph;
  guint n = fabric->n_dimensions;
  g_autofree char *rate =
      ls_describe_rate (ls_graph_n_edges (graph) > 0 ? ls_graph_rate (graph, 0) : 0);
  g_string_append (text, "    routers ");
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s%u%s", i > 0 ? " x " : "", fabric->size[i],
                            fabric->wrap[i] ? " (ring)" : " (line)");
  g_string_append_printf (text, ", one at each node; %s each way between neighbours\n", rate);
  for (guint row = 0; n == 2 && row < MIN (fabric->size[0], 6); row++) {
    g_string_append (text, "    ");
    for (guint column = 0; column < MIN (fabric->size[1], 8); column++)
      g_string_append_printf (text, "%s(%u.%u)", column > 0 ? "--" : "", row, column);
    g_string_append (text, fabric->wrap[1] && fabric->size[1] > 1 ? "--(first)\n" : "\n");
    if (row + 1 < MIN (fabric->size[0], 6)) {
      g_string_append (text, "    ");
      for (guint column = 0; column < MIN (fabric->size[1], 8); column++)
        g_string_append (text, "  |    ");
      g_string_append_c (text, '\n');
    }
  }
}

#define MOST_EDGES 40

static void draw_graph (GString *text, const LsTopology *topology, guint f) {
  const LsGraph *graph = topology->fabrics[f].graph;
  for (guint i = 0; i < ls_graph_n_edges (graph) && i < MOST_EDGES; i++) {
    guint a, b;
    ls_graph_ends (graph, i, &a, &b);
    g_autofree char *rate = ls_describe_rate (ls_graph_rate (graph, i));
    g_autofree char *latency = ls_describe_time (ls_graph_latency_ps (graph, i));
    g_string_append_printf (text, "    [%s] === %s%s%s === [%s]   %s\n", ls_graph_name (graph, a),
                            rate, ls_graph_latency_ps (graph, i) > 0 ? ", " : "",
                            ls_graph_latency_ps (graph, i) > 0 ? latency : "",
                            ls_graph_name (graph, b), ls_graph_edge_name (graph, i));
  }
  if (ls_graph_n_edges (graph) > MOST_EDGES)
    g_string_append_printf (text, "    ... %u links in all\n", ls_graph_n_edges (graph));
}

/* Which nodes hang on which switch of a custom graph. */
static void draw_ports (GString *text, const LsTopology *topology, guint f) {
  const LsFabricMap *map = &topology->fabrics[f];
  guint shown = 0;
  for (guint vertex = 0; vertex < ls_graph_n_vertices (map->graph) && shown < MOST_EDGES;
       vertex++) {
    guint first = G_MAXUINT, last = 0, n = 0;
    for (guint node = 0; node < topology->n_nodes; node++) {
      guint adapters = map->groups[ls_cluster_node_group (topology->cluster, node)].adapters;
      for (guint i = 0; i < adapters; i++)
        if (map->port_vertex[map->port_first[node] + i] == vertex) {
          first = MIN (first, node);
          last = node;
          n++;
        }
    }
    if (n == 0)
      continue;
    g_autofree char *a = ls_cluster_node_name (topology->cluster, first);
    g_autofree char *b = ls_cluster_node_name (topology->cluster, last);
    g_string_append_printf (text, "    [%s] --- %u adapters of %s%s%s\n",
                            ls_graph_name (map->graph, vertex), n, a, first == last ? "" : " to ",
                            first == last ? "" : b);
    shown++;
  }
}

static void draw_bisection (GString *text, const LsTopology *topology, guint f) {
  if (topology->fabrics[f].positions < 2 ||
      ls_cluster_fabric (topology->cluster, f)->kind == LS_FABRIC_WAN)
    return;
  double sent = 0, half = ls_topology_bisection (topology, f, &sent);
  g_autofree char *rate = ls_describe_rate (half);
  g_string_append_printf (
      text,
      "    bisection (first half of the nodes to the second): %s, %.4g %% of what "
      "their adapters send\n",
      rate, sent > 0 ? 100 * half / sent : 0);
}

void ls_describe_fabric (GString *text, const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  g_autofree char *hop = ls_describe_time (fabric->hop_latency_ps);
  g_string_append_printf (text, "fabric %s: %s", fabric->name, ls_fabric_kind_name (fabric->kind));
  if (fabric->kind == LS_FABRIC_FAT_TREE)
    g_string_append_printf (text, " of %u tier%s", topology->fabrics[f].tiers,
                            topology->fabrics[f].tiers == 1 ? "" : "s");
  if (fabric->kind != LS_FABRIC_WAN)
    g_string_append_printf (text, ", %s through a switch", hop);
  if (fabric->kind != LS_FABRIC_SINGLE_SWITCH)
    g_string_append_printf (text, ", routing %s", ls_routing_name (fabric->routing));
  g_string_append (text, fabric->in_network ? ", reduces in the network\n" : "\n");
  switch (fabric->kind) {
  case LS_FABRIC_FAT_TREE:
    draw_tree (text, topology, f);
    break;
  case LS_FABRIC_SINGLE_SWITCH:
    g_string_append (text, "    [ one switch ]\n     |   |   |\n");
    break;
  case LS_FABRIC_DRAGONFLY:
    draw_dragonfly (text, topology, f);
    break;
  case LS_FABRIC_TORUS:
    draw_torus (text, topology, f);
    break;
  default:
    draw_graph (text, topology, f);
  }
  if (fabric->kind == LS_FABRIC_CUSTOM)
    draw_ports (text, topology, f);
  draw_nodes (text, topology, f);
  draw_bisection (text, topology, f);
}
