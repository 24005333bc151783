/* The machine as a trace tells it; see inventory.h. Cost O(nodes), and O(1) for each rank and resource. */
#include "cli/inventory.h"

#include "base/assert.h"

/* Takes `text` over (NULL: nothing) and returns it. */
static const char *own (LsInventory *inventory, char *text) {
  if (text != NULL)
    g_ptr_array_add (inventory->owned, text);
  return text;
}

void ls_inventory_init (LsInventory *inventory, const LsCluster *cluster) {
  guint n = ls_cluster_n_nodes (cluster);

  inventory->owned = g_ptr_array_new_with_free_func (g_free);
  inventory->nodes = g_new0 (LsTraceNode, n);
  for (guint node = 0; node < n; node++) {
    const LsNodeSpec *spec = ls_cluster_node (cluster, node);

    inventory->nodes[node] = (LsTraceNode){
        .name = own (inventory, ls_cluster_node_name (cluster, node)),
        .group = ls_cluster_group (cluster, ls_cluster_node_group (cluster, node))->name,
        .gpu = spec->gpu != NULL ? spec->gpu->name : NULL};
  }
  inventory->meta.n_nodes = n;
  inventory->meta.nodes = inventory->nodes;
  inventory->meta.streams = inventory->streams;
}

void ls_inventory_clear (LsInventory *inventory) {
  g_free (inventory->nodes);
  g_ptr_array_unref (inventory->owned);
}

guint16 ls_inventory_stream (LsInventory *inventory, const char *name) {
  guint i = 0;

  while (i < inventory->meta.n_streams && !g_str_equal (inventory->streams[i], name))
    i++;
  if (i == inventory->meta.n_streams) {
    LS_REQUIRE (i < G_N_ELEMENTS (inventory->streams), "stream %s is one too many", name);
    inventory->streams[inventory->meta.n_streams++] = name;
  }
  return (guint16) i;
}

void ls_inventory_place (LsInventory *inventory, const LsCluster *cluster, guint gpu,
                         LsTraceRank *rank) {
  const guint node = ls_cluster_gpu_node (cluster, gpu);
  const LsNodeSpec *spec = ls_cluster_node (cluster, node);
  const guint local = ls_cluster_gpu_local (cluster, gpu);

  rank->node = (gint) node;
  rank->device = (gint) ls_node_physical (spec, local);
  if (spec->mig != NULL)
    rank->mig = own (inventory, g_strdup_printf ("mig%u:%s", spec->mig->instances[local].number,
                                                 spec->mig->instances[local].profile->profile));
}

LsTraceResource ls_inventory_resource (LsInventory *inventory, const LsEngine *engine, guint i,
                                       const LsTopology *topology, guint index,
                                       const LsNetResource *resource) {
  LsTraceResource out = {.kind = "other",
                         .unit = "1/s",
                         .node = LS_TRACE_ABSENT,
                         .rank = LS_TRACE_ABSENT,
                         .capacity = ls_engine_resource_per_s (engine, i)};

  if (resource == NULL) {
    out.name = ls_engine_resource_name (engine, i);
    return out;
  }
  out.name = own (inventory, ls_topology_resource_name (topology, index));
  out.kind = ls_resource_kind_name (resource->kind);
  out.unit = ls_resource_kind_unit (resource->kind);
  out.tier = ls_resource_kind_tier (resource->kind);
  out.source = own (inventory, ls_topology_resource_source (topology, index));
  out.target = own (inventory, ls_topology_resource_target (topology, index));
  if (resource->node >= 0)
    out.node = resource->node;
  return out;
}
