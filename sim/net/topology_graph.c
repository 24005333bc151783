/* Fabrics that are graphs: dragonfly+, torus of routers, WAN and custom. A link is two resources, forth
 * (up) and back (down), from LsFabricMap.trunk_up on.
 *
 * Dragonfly+ (Shpiner et al., HiPINEB 2017): in a group every leaf has a cable to every spine; each pair
 * of groups is joined by `global_links` cables, dealt to the spines of both in turn. */
#include "base/assert.h"
#include "net/topology_build.h"

typedef struct {
  LsTopology *topology;
  guint f;
  const LsFabricSpec *fabric;
  LsFabricMap *map;
  double efficiency;
  double port_per_s; /* of payload, of the fastest port on the fabric */
  guint leaf_ports;  /* adapters under one leaf, the most */
} Builder;

/* Share of a cable that payload reaches: as its adapters; of a WAN, as the adapters of all nodes. */
static void look_at_ports (Builder *builder) {
  const LsCluster *cluster = builder->topology->cluster;
  gboolean any = builder->fabric->kind == LS_FABRIC_WAN;
  builder->efficiency = builder->fabric->efficiency;
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeSpec *node = &ls_cluster_group (cluster, g)->node;
    for (guint s = 0; s < node->n_nic_sets; s++) {
      const LsNicSet *set = &node->nic_sets[s];
      if (!any && set->fabric != builder->f)
        continue;
      double share = ls_nic_set_efficiency (cluster, node, set);
      if (builder->fabric->efficiency <= 0)
        builder->efficiency = MAX (builder->efficiency, share);
      builder->port_per_s =
          MAX (builder->port_per_s, ls_topology_port_bytes_per_s (builder->fabric, set) * share);
    }
    builder->leaf_ports = MAX (builder->leaf_ports,
                               builder->map->groups[g].adapters * builder->fabric->nodes_per_leaf);
  }
  if (builder->efficiency <= 0)
    builder->efficiency = 1;
}

static void link_up (Builder *builder, const char *name, guint a, guint b, double per_s,
                     gint64 latency_ps) {
  LsGraph *graph = builder->map->graph;
  g_autofree char *both =
      name == NULL ? g_strdup_printf ("%s-%s", ls_graph_name (graph, a), ls_graph_name (graph, b))
                   : NULL;
  ls_graph_add_edge (graph, name != NULL ? name : both, a, b, per_s, latency_ps);
}

static void build_dragonfly (Builder *builder) {
  const LsFabricSpec *fabric = builder->fabric;
  LsGraph *graph = builder->map->graph;
  guint leaves = fabric->group_leaves, spines = fabric->group_spines;
  LS_REQUIRE (spines > 0, "a dragonfly without spines");
  g_autofree guint *next = g_new0 (guint, fabric->groups);
  double local = builder->leaf_ports * builder->port_per_s / fabric->oversubscription / spines;
  for (guint g = 0; g < fabric->groups; g++) {
    guint first = ls_graph_n_vertices (graph);
    for (guint i = 0; i < leaves + spines; i++) {
      g_autofree char *name = i < leaves ? g_strdup_printf ("group%u.leaf%u", g, i)
                                         : g_strdup_printf ("group%u.spine%u", g, i - leaves);
      ls_graph_add_vertex (graph, name, fabric->hop_latency_ps);
    }
    for (guint i = 0; i < leaves; i++)
      for (guint k = 0; k < spines; k++)
        link_up (builder, NULL, first + i, first + leaves + k, local, 0);
  }
  for (guint a = 0; a < fabric->groups; a++)
    for (guint b = a + 1; b < fabric->groups; b++)
      for (guint k = 0; k < fabric->global_links; k++) {
        guint from = a * (leaves + spines) + leaves + next[a]++ % spines;
        guint to = b * (leaves + spines) + leaves + next[b]++ % spines;
        g_autofree char *name = g_strdup_printf ("global.%u-%u.%u", a, b, k);
        link_up (builder, name, from, to, builder->port_per_s, 0);
      }
}

static void build_torus (Builder *builder) {
  const LsFabricSpec *fabric = builder->fabric;
  LsGraph *graph = builder->map->graph;
  guint n = ls_fabric_torus_size (fabric);
  for (guint i = 0; i < n; i++) {
    GString *name = g_string_new ("router");
    guint stride = n;
    for (guint d = 0; d < fabric->n_dimensions; d++) {
      stride /= fabric->size[d];
      g_string_append_printf (name, "%s%u", d > 0 ? "." : "", i / stride % fabric->size[d]);
    }
    g_autofree char *text = g_string_free (name, FALSE);
    ls_graph_add_vertex (graph, text, fabric->hop_latency_ps);
  }
  for (guint i = 0; i < n; i++) {
    guint stride = n;
    for (guint d = 0; d < fabric->n_dimensions; d++) {
      guint size = fabric->size[d];
      stride /= size;
      guint at = i / stride % size;
      if (size > 1 && (at + 1 < size || fabric->wrap[d]))
        link_up (builder, NULL, i, i - at * stride + (at + 1) % size * stride, builder->port_per_s,
                 0);
    }
  }
}

/* Custom graphs and WANs: as given. */
static void build_given (Builder *builder) {
  const LsFabricSpec *fabric = builder->fabric;
  gboolean wan = fabric->kind == LS_FABRIC_WAN;
  for (guint i = 0; i < fabric->n_vertices; i++) {
    const LsFabricVertex *vertex = &fabric->vertices[i];
    gint64 latency_ps = vertex->latency_ps >= 0 ? vertex->latency_ps
                        : wan                   ? 0
                                                : fabric->hop_latency_ps;
    ls_graph_add_vertex (builder->map->graph, vertex->name, latency_ps);
  }
  for (guint i = 0; i < fabric->n_edges; i++) {
    const LsFabricEdge *edge = &fabric->edges[i];
    for (guint k = 0; k < edge->count; k++) {
      g_autofree char *name =
          edge->count > 1 ? g_strdup_printf ("%s#%u", edge->name, k) : g_strdup (edge->name);
      double per_s =
          edge->bytes_per_s > 0 ? edge->bytes_per_s * builder->efficiency : builder->port_per_s;
      link_up (builder, name, edge->a, edge->b, per_s, edge->latency_ps);
    }
  }
}

/* Which adapter is plugged into which vertex; a slower cable slows its adapter down. */
static void plug_in (Builder *builder) {
  LsTopology *topology = builder->topology;
  LsFabricMap *map = builder->map;
  guint n = 0;
  map->port_first = g_new (guint, topology->n_nodes);
  for (guint node = 0; node < topology->n_nodes; node++) {
    map->port_first[node] = n;
    n += map->groups[ls_cluster_node_group (topology->cluster, node)].adapters;
  }
  map->port_vertex = g_new (guint, n + 1);
  map->port_latency_ps = g_new0 (gint64, n + 1);
  for (guint i = 0; i < n; i++)
    map->port_vertex[i] = LS_NO_NUMBER;
  for (guint i = 0; i < builder->fabric->n_ports; i++) {
    const LsFabricPort *port = &builder->fabric->ports[i];
    const LsNodeSpec *node = ls_cluster_node (topology->cluster, port->node);
    map->port_vertex[map->port_first[port->node] + port->port] = port->vertex;
    map->port_latency_ps[map->port_first[port->node] + port->port] = port->latency_ps;
    guint rest = port->port, set = 0;
    while (node->nic_sets[set].fabric != builder->f || rest >= node->nic_sets[set].count) {
      rest -= node->nic_sets[set].fabric == builder->f ? node->nic_sets[set].count : 0;
      set++;
    }
    for (guint way = 0; way < 2 && port->bytes_per_s > 0; way++) {
      LsNetResource *nic =
          ls_topology_resource_at (topology, topology->nic[port->node][set] + 2 * rest + way);
      nic->per_s = MIN (nic->per_s, port->bytes_per_s * builder->efficiency);
    }
  }
}

void ls_topology_add_graph (LsTopology *topology, guint f) {
  Builder builder = {.topology = topology,
                     .f = f,
                     .fabric = ls_cluster_fabric (topology->cluster, f),
                     .map = &topology->fabrics[f]};
  LsFabricMap *map = builder.map;
  map->graph = ls_graph_new ();
  look_at_ports (&builder);
  if (builder.fabric->kind == LS_FABRIC_DRAGONFLY)
    build_dragonfly (&builder);
  else if (builder.fabric->kind == LS_FABRIC_TORUS)
    build_torus (&builder);
  else
    build_given (&builder);
  if (builder.fabric->kind == LS_FABRIC_CUSTOM)
    plug_in (&builder);
  map->trunk_up = topology->resources->len;
  map->trunk_down = map->trunk_up + 1;
  for (guint i = 0; i < ls_graph_n_edges (map->graph); i++)
    ls_topology_add_pair (topology, (LsNetResource){.kind = LS_RESOURCE_TRUNK,
                                                    .node = -1,
                                                    .gpu = -1,
                                                    .peer = f,
                                                    .per_s = ls_graph_rate (map->graph, i)});
}
