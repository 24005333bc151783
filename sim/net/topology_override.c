/* Links found by name, and those that are not as their kind. */
#include <string.h>

#include "base/assert.h"
#include "base/distance.h"
#include "net/topology_build.h"

static gboolean is_link (const LsNetResource *resource) {
  switch (resource->kind) {
  case LS_RESOURCE_LINK:
  case LS_RESOURCE_PCIE:
  case LS_RESOURCE_PCIE_ROOT:
  case LS_RESOURCE_SOCKET:
  case LS_RESOURCE_NIC:
  case LS_RESOURCE_TRUNK:
    return TRUE;
  default:
    return FALSE;
  }
}

/* A link's name without its direction: "main[3]/nic5"; between two devices "main[3]/gpu0-gpu4". */
static char *base_name (const LsTopology *topology, guint index) {
  const LsNetResource *resource = ls_topology_resource (topology, index);
  char *name = ls_topology_resource_name (topology, index);
  if (resource->part != LS_PART_PEER) {
    *strrchr (name, '.') = '\0';
    return name;
  }
  guint a = topology->gpu_local[resource->gpu], b = resource->peer & 0xffffff;
  char *slash = strchr (name, '/');
  *slash = '\0';
  char *base = g_strdup_printf ("%s/gpu%u-gpu%u", name, MIN (a, b), MAX (a, b));
  g_free (name);
  return base;
}

/* What a target can lie in, by its first part: a node, a fabric, or anything for a pattern. */
typedef struct {
  gint64 node, fabric; /* < 0: not one */
  gboolean pattern;
} Scope;

static gboolean read_scope (const LsTopology *topology, const char *target, Scope *scope) {
  const LsCluster *cluster = topology->cluster;
  *scope = (Scope){.node = -1, .fabric = -1};
  scope->pattern = strpbrk (target, "*?") != NULL;
  const char *slash = strchr (target, '/');
  if (scope->pattern || slash == NULL)
    return scope->pattern;
  g_autofree char *place = g_strndup (target, (gsize) (slash - target));
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++)
    if (g_str_equal (ls_cluster_fabric (cluster, f)->name, place))
      scope->fabric = f;
  char *bracket = strrchr (place, '[');
  guint64 number;
  if (bracket == NULL || !g_str_has_suffix (bracket, "]"))
    return scope->fabric >= 0;
  bracket[strlen (bracket) - 1] = '\0';
  *bracket++ = '\0';
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, g);
    if (g_str_equal (group->name, place) &&
        g_ascii_string_to_unsigned (bracket, 10, 0, group->nodes - 1, &number, NULL))
      scope->node = group->first_node + (gint64) number;
  }
  return scope->node >= 0 || scope->fabric >= 0;
}

static gboolean is_in_scope (const LsNetResource *resource, const Scope *scope) {
  if (!is_link (resource))
    return FALSE;
  if (scope->pattern)
    return TRUE;
  return resource->kind == LS_RESOURCE_TRUNK ? resource->peer == scope->fabric
                                             : resource->node == scope->node;
}

/* Names that a message may offer: of the links of the scope, else of nodes and fabrics. */
static char *find_near (const LsTopology *topology, const char *target, const Scope *scope,
                        gboolean has_scope) {
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const LsCluster *cluster = topology->cluster;
  for (guint i = 0; has_scope && i < topology->resources->len && names->len < 20000; i++)
    if (!scope->pattern && is_in_scope (ls_topology_resource (topology, i), scope))
      g_ptr_array_add (names, base_name (topology, i));
  for (guint g = 0; !has_scope && g < ls_cluster_n_groups (cluster); g++)
    g_ptr_array_add (names, g_strdup_printf ("%s[0]/nic0", ls_cluster_group (cluster, g)->name));
  for (guint f = 0; !has_scope && f < ls_cluster_n_fabrics (cluster); f++)
    g_ptr_array_add (names, g_strdup_printf ("%s/leaf0", ls_cluster_fabric (cluster, f)->name));
  g_ptr_array_add (names, NULL);
  const char *near = ls_nearest (target, (const char *const *) names->pdata);
  if (near == NULL && names->len > 1)
    near = names->pdata[0];
  return g_strdup (near);
}

GArray *ls_topology_find_links (const LsTopology *topology, const char *target, char **near) {
  GArray *found = g_array_new (FALSE, FALSE, sizeof (guint));
  Scope scope;
  gboolean has_scope = read_scope (topology, target, &scope);
  g_autoptr (GPatternSpec) pattern = g_pattern_spec_new (target);
  if (near != NULL)
    *near = NULL;
  for (guint i = 0; has_scope && i < topology->resources->len; i++) {
    if (!is_in_scope (ls_topology_resource (topology, i), &scope))
      continue;
    g_autofree char *full = ls_topology_resource_name (topology, i);
    g_autofree char *base = base_name (topology, i);
    if (g_pattern_spec_match_string (pattern, full) || g_pattern_spec_match_string (pattern, base))
      g_array_append_val (found, i);
  }
  if (found->len > 0)
    return found;
  g_array_unref (found);
  if (near != NULL)
    *near = find_near (topology, target, &scope, has_scope);
  return NULL;
}

/* Share of its data sheet rate that payload reaches on a link. */
static double efficiency_of (const LsTopology *topology, const LsNetResource *resource) {
  const LsCluster *cluster = topology->cluster;
  const LsNodeSpec *node =
      ls_cluster_node (cluster, resource->node >= 0 ? (guint) resource->node : 0);
  double share = 0;
  switch (resource->kind) {
  case LS_RESOURCE_LINK:
    return ls_node_link_efficiency (node);
  case LS_RESOURCE_SOCKET:
    return node->ideal ? 1 : node->socket_efficiency;
  case LS_RESOURCE_NIC:
    return ls_nic_set_efficiency (cluster, node, &node->nic_sets[resource->peer >> 16]);
  case LS_RESOURCE_TRUNK: /* as the adapters on the fabric */
    for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
      node = &ls_cluster_group (cluster, g)->node;
      for (guint s = 0; s < node->n_nic_sets; s++)
        if (node->nic_sets[s].fabric == resource->peer)
          share = MAX (share, ls_nic_set_efficiency (cluster, node, &node->nic_sets[s]));
    }
    return share > 0 ? share : 1;
  default:
    return node->ideal ? 1 : node->pcie_efficiency;
  }
}

static void apply (LsTopology *topology, const LsLinkOverride *override, guint index) {
  LsNetResource *resource = ls_topology_resource_at (topology, index);
  if (override->down)
    resource->per_s = 0;
  else if (override->bytes_per_s > 0)
    resource->per_s = override->bytes_per_s * efficiency_of (topology, resource);
  else
    resource->per_s *= override->share;
  if (resource->kind != LS_RESOURCE_TRUNK || resource->per_s > 0)
    return;
  LsFabricMap *map = &topology->fabrics[resource->peer];
  if (map->graph != NULL)
    ls_graph_set_down (map->graph, (index - map->trunk_up) / 2, resource->part == LS_PART_DOWN);
}

/* Targets that name nothing are left alone here: reading refuses them. */
void ls_topology_apply_overrides (LsTopology *topology) {
  for (guint i = 0; i < ls_cluster_n_overrides (topology->cluster); i++) {
    const LsLinkOverride *override = ls_cluster_override (topology->cluster, i);
    g_autoptr (GArray) links = ls_topology_find_links (topology, override->target, NULL);
    for (guint k = 0; links != NULL && k < links->len; k++)
      apply (topology, override, g_array_index (links, guint, k));
  }
}
