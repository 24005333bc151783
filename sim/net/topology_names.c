/* Names of resources, made when somebody asks: a cluster of a hundred thousand GPUs stores none.
 *
 * A name is PLACE/PART.DIRECTION. What LsNetResource.peer holds, by kind: LINK: the device of the same
 * node at the other end (LS_PART_PEER; in a torus | way << 24); PCIE and PCIE_ROOT: the PCIe switch, LS_NO_NUMBER the host; NIC:
 * set << 16 | number; SOCKET: its number; TRUNK: the fabric. */
#include "net/topology.h"

#include "base/assert.h"

typedef struct {
  char *low, *high; /* the two ends; `low` sends upwards */
  char *name;       /* without the direction */
  const char *up, *down;
} Ends;

static char *at_node (const LsTopology *topology, gint32 node, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static char *at_node (const LsTopology *topology, gint32 node, const char *format, ...) {
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *host = ls_cluster_node_name (topology->cluster, (guint) node);
  g_autofree char *rest = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  return g_strconcat (host, "/", rest, NULL);
}

static void link_ends (const LsTopology *topology, const LsNetResource *resource, Ends *ends) {
  guint local = topology->gpu_local[resource->gpu];
  ends->low = at_node (topology, resource->node, "gpu%u", local);
  if (resource->part == LS_PART_PEER && topology->torus[resource->gpu] != NULL) {
    guint way = resource->peer >> 24; /* "link.x+": one step up the first dimension */
    ends->high = at_node (topology, resource->node, "gpu%u", resource->peer & 0xffffff);
    ends->name = g_strdup_printf ("%s/link.%c%c", ends->low, "xyzw"[way / 2], way % 2 ? '-' : '+');
    return;
  }
  if (resource->part == LS_PART_PEER) {
    ends->high = at_node (topology, resource->node, "gpu%u", resource->peer);
    ends->name = g_strdup_printf ("%s/link.gpu%u", ends->low, resource->peer);
    return;
  }
  ends->high = at_node (topology, resource->node, "switch");
  ends->name = g_strconcat (ends->low, "/link", NULL);
}

static void pcie_ends (const LsTopology *topology, const LsNetResource *resource, Ends *ends) {
  if (resource->kind == LS_RESOURCE_PCIE)
    ends->low =
        at_node (topology, resource->node, "gpu%u",
                 ls_node_physical (ls_cluster_node (topology->cluster, (guint) resource->node),
                                   topology->gpu_local[resource->gpu]));
  else
    ends->low = at_node (topology, resource->node, "root%u", resource->peer);
  if (resource->kind == LS_RESOURCE_PCIE && resource->peer != LS_NO_NUMBER)
    ends->high = at_node (topology, resource->node, "root%u", resource->peer);
  else
    ends->high = at_node (topology, resource->node, "host");
  ends->name = g_strconcat (ends->low, "/pcie", NULL);
}

static void nic_ends (const LsTopology *topology, const LsNetResource *resource, Ends *ends) {
  const LsNodeSpec *node = ls_cluster_node (topology->cluster, (guint) resource->node);
  const LsNicSet *set = &node->nic_sets[resource->peer >> 16];
  const char *stem = set == ls_node_compute_nics (node) ? "nic" : set->name;
  ends->low = at_node (topology, resource->node, "%s%u", stem, resource->peer & 0xffff);
  ends->high = g_strdup (ls_cluster_fabric (topology->cluster, set->fabric)->name);
  ends->name = g_strdup (ends->low);
  ends->up = "tx";
  ends->down = "rx";
}

static void socket_ends (const LsTopology *topology, const LsNetResource *resource, Ends *ends) {
  ends->low = at_node (topology, resource->node, "socket%u", resource->peer);
  ends->high = at_node (topology, resource->node, "host");
  ends->name = g_strconcat (ends->low, "/link", NULL);
}

static void graph_ends (const LsGraph *graph, const char *fabric, guint edge, Ends *ends) {
  guint a, b;
  ls_graph_ends (graph, edge, &a, &b);
  ends->low = g_strdup_printf ("%s/%s", fabric, ls_graph_name (graph, a));
  ends->high = g_strdup_printf ("%s/%s", fabric, ls_graph_name (graph, b));
  ends->name = g_strdup_printf ("%s/%s", fabric, ls_graph_edge_name (graph, edge));
}

/* "leaf3.spine2"; "leaf3.spine" where equal links are one. */
static void leaf_ends (const LsFabricMap *map, const char *fabric, guint link, Ends *ends) {
  guint leaf = link / map->spines, spine = link % map->spines;
  g_autofree char *top = map->spines == 1 ? g_strdup ("spine") : g_strdup_printf ("spine%u", spine);
  ends->low = g_strdup_printf ("%s/leaf%u", fabric, leaf);
  ends->high = g_strdup_printf ("%s/%s", fabric, top);
  ends->name = g_strdup_printf ("%s.%s", ends->low, top);
}

/* "pod1.spine2.core3"; "pod1.core" where equal links are one. */
static void core_ends (const LsFabricMap *map, const char *fabric, guint link, Ends *ends) {
  guint core = link % map->cores, spine = link / map->cores % map->spines;
  guint pod = link / map->cores / map->spines;
  gboolean one = map->cores == 1 && map->spines == 1;
  ends->low = one ? g_strdup_printf ("%s/pod%u", fabric, pod)
                  : g_strdup_printf ("%s/pod%u.spine%u", fabric, pod, spine);
  ends->high = one ? g_strdup_printf ("%s/core", fabric)
                   : g_strdup_printf ("%s/core%u.%u", fabric, spine, core);
  ends->name =
      one ? g_strdup_printf ("%s.core", ends->low) : g_strdup_printf ("%s.core%u", ends->low, core);
}

static void trunk_ends (const LsTopology *topology, const LsNetResource *resource, guint index,
                        Ends *ends) {
  const char *fabric = ls_cluster_fabric (topology->cluster, resource->peer)->name;
  const LsFabricMap *map = &topology->fabrics[resource->peer];
  gboolean down = resource->part == LS_PART_DOWN;
  if (map->graph != NULL)
    graph_ends (map->graph, fabric, (index - map->trunk_up) / 2, ends);
  else if (map->core_up != LS_NO_NUMBER && index >= map->core_up)
    core_ends (map, fabric, index - (down ? map->core_down : map->core_up), ends);
  else
    leaf_ends (map, fabric, index - (down ? map->trunk_down : map->trunk_up), ends);
}

static Ends ends_of (const LsTopology *topology, guint index) {
  const LsNetResource *resource = ls_topology_resource (topology, index);
  Ends ends = {.up = "up", .down = "down"};
  switch (resource->kind) {
  case LS_RESOURCE_LINK:
    link_ends (topology, resource, &ends);
    break;
  case LS_RESOURCE_PCIE:
  case LS_RESOURCE_PCIE_ROOT:
    pcie_ends (topology, resource, &ends);
    break;
  case LS_RESOURCE_SOCKET:
    socket_ends (topology, resource, &ends);
    break;
  case LS_RESOURCE_NIC:
    nic_ends (topology, resource, &ends);
    break;
  case LS_RESOURCE_TRUNK:
    trunk_ends (topology, resource, index, &ends);
    break;
  default:
    break;
  }
  return ends;
}

static void ends_clear (Ends *ends) {
  g_free (ends->low);
  g_free (ends->high);
  g_free (ends->name);
}

/* Things that are no links. */
static char *plain_name (const LsTopology *topology, const LsNetResource *resource) {
  const char *kind = ls_resource_kind_name (resource->kind);
  switch (resource->kind) {
  case LS_RESOURCE_SM:
  case LS_RESOURCE_HBM:
  case LS_RESOURCE_COPY: {
    g_autofree char *device =
        ls_node_device_name (ls_cluster_node (topology->cluster, (guint) resource->node),
                             topology->gpu_local[resource->gpu]);
    return at_node (topology, resource->node, "%s/%s", device, kind);
  }
  case LS_RESOURCE_CORES:
  case LS_RESOURCE_HOST_MEMORY:
    return at_node (topology, resource->node, "host/%s", kind);
  case LS_RESOURCE_NVME:
    return at_node (topology, resource->node, "nvme");
  default:
    LS_REQUIRE (resource->kind == LS_RESOURCE_STORAGE, "kind %d", (int) resource->kind);
    return g_strdup (resource->part == LS_PART_DOWN ? "storage/write" : "storage/read");
  }
}

char *ls_topology_resource_name (const LsTopology *topology, guint index) {
  const LsNetResource *resource = ls_topology_resource (topology, index);
  Ends ends = ends_of (topology, index);
  char *name;
  if (ends.name == NULL)
    name = plain_name (topology, resource);
  else if (resource->part == LS_PART_PEER)
    name = g_strdup (ends.name);
  else
    name =
        g_strdup_printf ("%s.%s", ends.name, resource->part == LS_PART_DOWN ? ends.down : ends.up);
  ends_clear (&ends);
  return name;
}

char *ls_topology_resource_source (const LsTopology *topology, guint index) {
  Ends ends = ends_of (topology, index);
  gboolean down = ls_topology_resource (topology, index)->part == LS_PART_DOWN;
  char *source = g_strdup (down ? ends.high : ends.low);
  ends_clear (&ends);
  return source;
}

char *ls_topology_resource_target (const LsTopology *topology, guint index) {
  Ends ends = ends_of (topology, index);
  gboolean down = ls_topology_resource (topology, index)->part == LS_PART_DOWN;
  char *target = g_strdup (down ? ends.low : ends.high);
  ends_clear (&ends);
  return target;
}
