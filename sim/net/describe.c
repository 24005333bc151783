/* The cluster as text for people: `check --topology` and `check --route A B`. */
#include "base/assert.h"
#include "base/time.h"
#include "net/describe_text.h"
#include "net/net.h"
#include "net/route_list.h"

char *ls_describe_rate (double bytes_per_s) {
  return ls_quantity_format (bytes_per_s, LS_DIMENSION_BYTES_PER_S);
}

char *ls_describe_time (gint64 ps) {
  return ls_quantity_format (ls_time_s_from_ps (ps), LS_DIMENSION_TIME);
}

static void describe_overrides (GString *text, const LsCluster *cluster) {
  for (guint i = 0; i < ls_cluster_n_overrides (cluster); i++) {
    const LsLinkOverride *override = ls_cluster_override (cluster, i);
    g_autofree char *rate = ls_describe_rate (override->bytes_per_s);
    g_string_append_printf (text, "link %s (%s): ", override->target, override->name);
    if (override->down)
      g_string_append (text, "down\n");
    else if (override->bytes_per_s > 0)
      g_string_append_printf (text, "%s\n", rate);
    else
      g_string_append_printf (text, "%g %% of its rate\n", override->share * 100);
  }
}

char *ls_net_describe (const LsCluster *cluster) {
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  const LsStorageSpec *storage = ls_cluster_storage (cluster);
  GString *text = g_string_new (NULL);
  g_autofree char *gpus = ls_quantity_format_counted (ls_cluster_n_gpus (cluster), "GPU");
  g_autofree char *nodes = ls_quantity_format_counted (ls_cluster_n_nodes (cluster), "node");
  g_string_append_printf (
      text, "%s%s in %s\n", gpus,
      ls_cluster_n_instances (cluster) > 0 ? ", each MIG instance counted," : "", nodes);
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++)
    ls_describe_group (text, cluster, g);
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++)
    if (topology->n_nodes > 1 || storage->present)
      ls_describe_fabric (text, topology, f);
  describe_overrides (text, cluster);
  if (storage->present) {
    g_autofree char *reads = ls_describe_rate (storage->read_bytes_per_s);
    g_autofree char *writes = ls_describe_rate (storage->write_bytes_per_s);
    g_autofree char *latency = ls_describe_time (storage->latency_ps);
    g_string_append_printf (
        text, "storage: reads %s, writes %s, %s to the first byte, on fabric %s\n", reads, writes,
        latency, ls_cluster_fabric (cluster, storage->fabric)->name);
  }
  return g_string_free (text, FALSE);
}

#define MOST_LINES 60 /* of a route that is spread widely */

static void describe_hops (GString *text, const LsTopology *topology, const LsRouteList *list) {
  for (guint i = 0; i < list->hops->len; i++) {
    const LsRouteHop *hop = &g_array_index (list->hops, LsRouteHop, i);
    if (i == MOST_LINES) {
      g_string_append_printf (text, "  ... and %u more (--json lists all)\n",
                              list->hops->len - MOST_LINES);
      return;
    }
    g_autofree char *rate =
        ls_describe_rate (ls_topology_resource (topology, hop->resource)->per_s);
    g_autofree char *name = ls_topology_resource_name (topology, hop->resource);
    g_autofree char *latency = ls_describe_time (hop->latency_ps);
    g_string_append_printf (text, "  %6.1f %%  %12s  %10s  %s\n", hop->share * 100, rate,
                            hop->latency_ps > 0 ? latency : "", name);
  }
}

char *ls_topology_describe_route (const LsTopology *topology, guint gpu_a, guint gpu_b) {
  GString *text = g_string_new (NULL);
  if (gpu_a == gpu_b) {
    g_string_append_printf (text, "GPU %u to itself: no link\n", gpu_a);
    return g_string_free (text, FALSE);
  }
  g_autoptr (LsRouteList) list = ls_route_list_new (topology, gpu_a, gpu_b);
  g_autofree char *at_most = ls_describe_rate (list->bytes_per_s);
  g_autofree char *latency = ls_describe_time (list->latency_ps);
  g_string_append_printf (text, "GPU %u to GPU %u, %s\n", gpu_a, gpu_b,
                          list->kind == LS_HOP_NET    ? "over the network"
                          : list->kind == LS_HOP_LINK ? "over links of their node"
                                                      : "over PCIe");
  g_string_append_printf (text, "  %8s  %12s  %10s  %s\n", "share", "capacity", "latency",
                          "resource, in the order of the path");
  describe_hops (text, topology, list);
  if (list->kind == LS_HOP_NET) {
    const LsNicSet *set =
        ls_node_compute_nics (ls_cluster_node (topology->cluster, topology->gpu_node[gpu_a]));
    const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, set->fabric);
    g_string_append_printf (text, "  %.0f equal path%s told apart, routing %s: %s\n", list->n_paths,
                            list->n_paths == 1 ? "" : "s", ls_routing_name (fabric->routing),
                            ls_routing_meaning (fabric->routing));
  }
  g_string_append_printf (text, "  at most %s; switches and cables take %s\n", at_most, latency);
  return g_string_free (text, FALSE);
}
