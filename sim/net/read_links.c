/* Overrides of single links, and what only a topology can tell: whether the names are links, whether
 * routes connect, whether every GPU reaches every other. */
#include "base/assert.h"
#include "net/cluster_reader.h"
#include "net/route.h"
#include "net/topology_build.h"

/* --- overrides -------------------------------------------------------------------------------- */

static void read_override (LsClusterReader *reader, LsCluster *cluster, const char *name) {
  g_autofree char *base = ls_config_path ("cluster", "links", name, NULL);
  g_autofree char *state = ls_cluster_read_key (base, "state");
  g_autofree char *rate = ls_cluster_read_key (base, "rate");
  LsLinkOverride override = {.name = (char *) name,
                             .target = (char *) ls_cluster_read_text (reader, base, "target"),
                             .down = ls_config_is_word (reader->config, state, "down"),
                             .share = 1};
  ls_config_get_string (reader->config, state);
  if (ls_config_has (reader->config, rate)) {
    double value = ls_config_get_quantity (reader->config, rate);
    if (ls_config_is_percent (reader->config, rate))
      override.share = value;
    else
      override.bytes_per_s = value;
    if (override.down)
      ls_config_no_effect (reader->config, rate, "the link is down");
  } else if (!override.down)
    ls_config_warning_at (reader->config, reader->errors, base,
                          "no effect: neither a rate nor state: down is given");
  ls_cluster_add_override (cluster, &override);
}

/* Is all that the override names passed by other ways when it is down? Links of devices, adapters and cables are (route.h);
 * what joins a device to its host is not. */
static gboolean has_ways_around (const LsTopology *topology, const GArray *found) {
  for (guint i = 0; i < found->len; i++) {
    const guint8 kind = ls_topology_resource (topology, g_array_index (found, guint, i))->kind;
    if (kind != LS_RESOURCE_LINK && kind != LS_RESOURCE_NIC && kind != LS_RESOURCE_TRUNK)
      return FALSE;
  }
  return TRUE;
}

static void check_target (LsClusterReader *reader, const LsTopology *topology,
                          const LsLinkOverride *override) {
  g_autofree char *base = ls_config_path ("cluster", "links", override->name, NULL);
  g_autofree char *near = NULL;
  g_autoptr (GArray) found = ls_topology_find_links (topology, override->target, &near);
  if (found == NULL)
    ls_cluster_read_fault_take (
        reader, base, "target",
        g_strdup_printf ("no link is called %s%s%s; `lockstep check --route A B` prints names",
                         override->target, near != NULL ? "; did you mean " : "",
                         near != NULL ? near : ""));
  else if (override->down && !has_ways_around (topology, found))
    ls_cluster_read_fault_take (
        reader, base, "state",
        g_strdup_printf ("nothing leads around %s; give a rate, or leave the GPUs behind it out "
                         "(workload.placement)",
                         override->target));
}

/* --- reach ------------------------------------------------------------------------------------ */

/* Up to as many, every pair of nodes is tried (2,016 routes). */
#define FEW_NODES 64

/* Nodes that may be special: all where there are few or the network is not a plain tree; else the first and
 * the last of every group. */
static GArray *nodes_to_check (const LsCluster *cluster) {
  GArray *nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  gboolean all = ls_cluster_n_nodes (cluster) <= FEW_NODES || ls_cluster_n_overrides (cluster) > 0;
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++)
    all |= ls_cluster_fabric (cluster, f)->kind == LS_FABRIC_CUSTOM;
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, g);
    for (guint i = 0; i < group->nodes; i++) {
      guint node = group->first_node + i;
      if (all || i == 0 || i + 1 == group->nodes)
        g_array_append_val (nodes, node);
    }
  }
  return nodes;
}

/* The key to blame: the fabric of a node's adapters if it was given. */
static char *blamed_key (LsClusterReader *reader, const LsCluster *cluster, guint node) {
  const LsNicSet *set = ls_node_compute_nics (ls_cluster_node (cluster, node));
  char *path = ls_config_path (
      "cluster", "fabrics", ls_cluster_fabric (cluster, set != NULL ? set->fabric : 0)->name, NULL);
  if (set != NULL && ls_config_has (reader->config, path))
    return path;
  g_free (path);
  return g_strdup ("cluster.groups");
}

/* The devices of node `a` and a host without any; both ways. */
static gboolean check_host (LsClusterReader *reader, const LsTopology *topology, guint a,
                            guint host) {
  const LsCluster *cluster = topology->cluster;
  for (guint i = 0; i < ls_cluster_node (cluster, a)->gpus; i++) {
    if (ls_route_reaches_host (topology, ls_cluster_node_first_gpu (cluster, a) + i, host))
      continue;
    g_autofree char *name_a = ls_cluster_node_name (cluster, a);
    g_autofree char *name_host = ls_cluster_node_name (cluster, host);
    g_autofree char *path = blamed_key (reader, cluster, host);
    ls_config_error_at (reader->config, reader->errors, path,
                        "GPU %u of %s and the adapters of %s cannot reach each other: no live "
                        "links lead there",
                        i, name_a, name_host);
    return FALSE;
  }
  return TRUE;
}

/* Devices of equal number of two nodes; the first pair without a way is told. */
static gboolean check_pair (LsClusterReader *reader, const LsTopology *topology, guint a, guint b) {
  const LsCluster *cluster = topology->cluster;
  guint n_a = ls_cluster_node (cluster, a)->gpus, n_b = ls_cluster_node (cluster, b)->gpus;
  if (n_a == 0 || n_b == 0)
    return n_a == 0 ? check_host (reader, topology, b, a) : check_host (reader, topology, a, b);
  for (guint i = 0; i < MAX (n_a, n_b); i++) {
    guint from = ls_cluster_node_first_gpu (cluster, a) + i % n_a;
    guint to = ls_cluster_node_first_gpu (cluster, b) + i % n_b;
    if (ls_route_reaches (topology, from, to) && ls_route_reaches (topology, to, from))
      continue;
    g_autofree char *name_a = ls_cluster_node_name (cluster, a);
    g_autofree char *name_b = ls_cluster_node_name (cluster, b);
    g_autofree char *path = blamed_key (reader, cluster, a);
    ls_config_error_at (reader->config, reader->errors, path,
                        "GPU %u of %s cannot reach GPU %u of %s: no live links lead there", i % n_a,
                        name_a, i % n_b, name_b);
    return FALSE;
  }
  return TRUE;
}

static void check_reach (LsClusterReader *reader, const LsTopology *topology) {
  g_autoptr (GArray) nodes = nodes_to_check (topology->cluster);
  gboolean few = nodes->len <= FEW_NODES;
  for (guint i = 0; i < (few ? nodes->len : 1); i++)
    for (guint k = i + 1; k < nodes->len; k++)
      if (!check_pair (reader, topology, g_array_index (nodes, guint, i),
                       g_array_index (nodes, guint, k)))
        return;
}

static void check_routes (LsClusterReader *reader, const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  for (guint i = 0; i < fabric->n_routes; i++) {
    g_autofree char *problem = ls_topology_route_problem (topology, f, i);
    if (problem == NULL)
      continue;
    g_autofree char *path =
        ls_config_path ("cluster", "fabrics", fabric->name, "routes", fabric->routes[i].name, NULL);
    ls_config_error_at (reader->config, reader->errors, path, "%s", problem);
  }
}

/* A WAN begins at the top of a tree; elsewhere at a switch that must be named. */
static void check_gateways (LsClusterReader *reader, const LsTopology *topology, guint f) {
  const LsFabricSpec *wan = ls_cluster_fabric (topology->cluster, f);
  for (guint i = 0; wan->kind == LS_FABRIC_WAN && i < wan->n_vertices; i++) {
    const LsFabricVertex *site = &wan->vertices[i];
    const LsFabricMap *map = &topology->fabrics[site->fabric];
    g_autofree char *path =
        ls_config_path ("cluster", "fabrics", wan->name, "sites", site->name, NULL);
    g_autofree char *key = ls_cluster_read_key (path, "gateway");
    if (map->graph == NULL)
      ls_config_no_effect (reader->config, key, "the WAN begins at the top of the tree");
    else if (site->gateway == NULL)
      ls_config_error_at (reader->config, reader->errors, path,
                          "at which switch of %s does the WAN begin? give gateway, such as %s",
                          ls_cluster_fabric (topology->cluster, site->fabric)->name,
                          ls_graph_name (map->graph, 0));
    else if (ls_graph_find (map->graph, site->gateway) == G_MAXUINT)
      ls_config_error_at (reader->config, reader->errors, key,
                          "no switch is called %s; there are %s, ...", site->gateway,
                          ls_graph_name (map->graph, 0));
  }
}

static gboolean is_plain (const LsCluster *cluster) {
  gboolean plain = ls_cluster_n_overrides (cluster) == 0 && ls_cluster_n_groups (cluster) == 1;
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++) {
    const LsFabricSpec *fabric = ls_cluster_fabric (cluster, f);
    plain &= fabric->kind == LS_FABRIC_SINGLE_SWITCH ||
             (fabric->kind == LS_FABRIC_FAT_TREE && fabric->routing != LS_ROUTING_STATIC);
  }
  return plain;
}

void ls_cluster_read_links (LsClusterReader *reader, LsCluster *cluster) {
  g_auto (GStrv) names = ls_config_get_names (reader->config, "cluster.links");
  for (guint i = 0; names[i] != NULL; i++)
    read_override (reader, cluster, names[i]);
  if (is_plain (cluster))
    return; /* one group on trees reaches itself */
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  guint before = ls_config_errors_count (reader->errors, LS_CONFIG_FAULT_ERROR);
  for (guint i = 0; i < ls_cluster_n_overrides (cluster); i++)
    check_target (reader, topology, ls_cluster_override (cluster, i));
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++) {
    check_routes (reader, topology, f);
    check_gateways (reader, topology, f);
  }
  if (ls_config_errors_count (reader->errors, LS_CONFIG_FAULT_ERROR) == before)
    check_reach (reader, topology);
}
