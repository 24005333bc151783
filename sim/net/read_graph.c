/* Graphs as given: switches or sites, cables between them, ports of hosts, routes.
 *
 * Ends of cables are names of switches or sites, names of hosts, or nodes of the cluster: GROUP, GROUP[i],
 * GROUP[i-j], with /nicK (or /SETK) for one adapter. Cables between switches are read with the fabric;
 * those to nodes when all groups are known. A node's adapters are plugged in in the order of the cables'
 * names, unless a cable names one. */
#include <string.h>

#include "base/assert.h"
#include "base/distance.h"
#include "net/cluster_reader.h"

static guint find_vertex (const LsFabricSpec *fabric, const char *name) {
  for (guint i = 0; i < fabric->n_vertices; i++)
    if (g_str_equal (fabric->vertices[i].name, name))
      return i;
  return G_MAXUINT;
}

/* --- switches and sites ----------------------------------------------------------------------- */

static gboolean is_host (LsClusterReader *reader, const char *base) {
  g_autofree char *kind = ls_cluster_read_key (base, "kind");
  return ls_config_is_word (reader->config, kind, "host");
}

static void read_vertices (LsClusterReader *reader, const char *base, LsFabricSpec *fabric) {
  gboolean wan = fabric->kind == LS_FABRIC_WAN;
  g_autofree char *map = ls_cluster_read_key (base, wan ? "sites" : "nodes");
  g_auto (GStrv) names = ls_config_get_names (reader->config, map);
  fabric->vertices = g_new0 (LsFabricVertex, g_strv_length (names) + 1);
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *item = ls_cluster_read_below (map, names[i]);
    g_autofree char *kind = ls_cluster_read_key (item, "kind");
    if (!wan) {
      ls_config_get_string (reader->config, kind);
      ls_cluster_read_text (reader, item, "host");
    }
    if (!wan && is_host (reader, item)) {
      ls_cluster_read_no_effect (reader, item, "latency", "a host passes nothing on");
      ls_cluster_read_no_effect (reader, item, "radix", "a host has its adapters");
      if (!ls_cluster_read_has (reader, item, "host"))
        ls_cluster_read_fault (reader, item, "host",
                               "which nodes is this host? give main[0], for one");
      continue;
    }
    LsFabricVertex *vertex = &fabric->vertices[fabric->n_vertices++];
    vertex->name = g_strdup (names[i]);
    if (wan) {
      const char *site = ls_cluster_read_text (reader, item, "fabric");
      vertex->fabric = ls_cluster_read_find_fabric (reader, item, site);
      vertex->gateway = g_strdup (ls_cluster_read_text (reader, item, "gateway"));
    } else {
      vertex->latency_ps = ls_cluster_read_time_ps (reader, item, "latency", -1);
      vertex->radix = ls_cluster_read_integer (reader, item, "radix", 0);
      ls_cluster_read_no_effect (reader, item, "host", "it is a switch");
    }
  }
  if (fabric->n_vertices == 0)
    ls_cluster_read_fault (reader, base, wan ? "sites" : "nodes",
                           wan ? "a WAN needs its sites" : "a graph needs its switches");
}

/* --- cables between switches ------------------------------------------------------------------ */

static LsFabricEdge read_edge (LsClusterReader *reader, const char *item, const char *name,
                               const LsFabricSpec *fabric) {
  return (LsFabricEdge){
      .name = g_strdup (name),
      .count = ls_cluster_read_count (reader, item, "count"),
      .bytes_per_s = ls_cluster_read_quantity (reader, item, "rate", fabric->link_bytes_per_s),
      .latency_ps = ls_cluster_read_time_ps (reader, item, "latency", 0)};
}

static void check_duplicate (LsClusterReader *reader, const char *item,
                             const LsFabricSpec *fabric) {
  const LsFabricEdge *last = &fabric->edges[fabric->n_edges - 1];
  for (guint i = 0; i + 1 < fabric->n_edges; i++) {
    const LsFabricEdge *other = &fabric->edges[i];
    if ((other->a == last->a && other->b == last->b) ||
        (other->a == last->b && other->b == last->a))
      ls_config_error_at (reader->config, reader->errors, item,
                          "duplicate link: %s joins the same ends; write count: 2 for two cables",
                          other->name);
  }
}

static void read_edges (LsClusterReader *reader, const char *base, LsFabricSpec *fabric) {
  g_autofree char *map = ls_cluster_read_key (base, "links");
  g_auto (GStrv) names = ls_config_get_names (reader->config, map);
  fabric->edges = g_new0 (LsFabricEdge, g_strv_length (names) + 1);
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *item = ls_cluster_read_below (map, names[i]);
    guint a = find_vertex (fabric, ls_cluster_read_text (reader, item, "from"));
    guint b = find_vertex (fabric, ls_cluster_read_text (reader, item, "to"));
    if (a == G_MAXUINT || b == G_MAXUINT) {
      if (fabric->kind == LS_FABRIC_WAN)
        ls_cluster_read_fault_take (
            reader, item, a == G_MAXUINT ? "from" : "to",
            g_strdup_printf ("no site is called %s",
                             ls_cluster_read_text (reader, item, a == G_MAXUINT ? "from" : "to")));
      continue; /* custom: perhaps a host, see ls_cluster_read_finish_graph() */
    }
    if (a == b) {
      ls_cluster_read_fault (reader, item, "to", "a link joins two ends, not one with itself");
      continue;
    }
    fabric->edges[fabric->n_edges] = read_edge (reader, item, names[i], fabric);
    fabric->edges[fabric->n_edges].a = a;
    fabric->edges[fabric->n_edges++].b = b;
    if (fabric->kind == LS_FABRIC_WAN && fabric->edges[fabric->n_edges - 1].bytes_per_s <= 0)
      ls_cluster_read_fault (reader, item, "rate", "a link of a WAN needs its rate");
    check_duplicate (reader, item, fabric);
  }
}

static void read_routes (LsClusterReader *reader, const char *base, LsFabricSpec *fabric) {
  g_autofree char *map = ls_cluster_read_key (base, "routes");
  g_auto (GStrv) names = ls_config_get_names (reader->config, map);
  if (fabric->routing != LS_ROUTING_STATIC)
    return;
  fabric->routes = g_new0 (LsFabricRoute, g_strv_length (names) + 1);
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *item = ls_cluster_read_below (map, names[i]);
    fabric->routes[fabric->n_routes++] =
        (LsFabricRoute){.name = g_strdup (names[i]),
                        .from = g_strdup (ls_cluster_read_text (reader, item, "from")),
                        .to = g_strdup (ls_cluster_read_text (reader, item, "to")),
                        .via = ls_cluster_read_words (reader, item, "via")};
  }
}

void ls_cluster_read_graph (LsClusterReader *reader, const char *base, LsFabricSpec *fabric) {
  if (fabric->kind == LS_FABRIC_CUSTOM || fabric->kind == LS_FABRIC_WAN) {
    read_vertices (reader, base, fabric);
    read_edges (reader, base, fabric);
  }
  read_routes (reader, base, fabric);
}

/* --- ports of nodes --------------------------------------------------------------------------- */

/* An end of a cable that is nodes. */
typedef struct {
  guint first, last; /* nodes of the cluster */
  gint64 nic;        /* number on the fabric; < 0: the next free one */
} NodesEnd;

/* "[3]", "[0-7]" or "" at `rest` into a range of the group. */
static gboolean read_range (const char *rest, const LsNodeGroup *group, NodesEnd *end) {
  guint64 first = 0, last = group->nodes - 1;
  if (*rest != '\0') {
    g_auto (GStrv) parts = NULL;
    g_autofree char *inner = g_strdup (rest + 1);
    if (*rest != '[' || !g_str_has_suffix (rest, "]"))
      return FALSE;
    inner[strlen (inner) - 1] = '\0';
    parts = g_strsplit (inner, "-", 2);
    if (parts[0] == NULL ||
        !g_ascii_string_to_unsigned (parts[0], 10, 0, group->nodes - 1, &first, NULL))
      return FALSE;
    last = first;
    if (parts[1] != NULL &&
        !g_ascii_string_to_unsigned (parts[1], 10, first, group->nodes - 1, &last, NULL))
      return FALSE;
  }
  end->first = group->first_node + (guint) first;
  end->last = group->first_node + (guint) last;
  return TRUE;
}

/* "nic5" or SET and a number: the adapter's number among those of the node on the fabric. */
static gboolean read_nic (const LsNodeSpec *node, guint f, const char *word, gint64 *nic) {
  guint base = 0;
  for (guint s = 0; s < node->n_nic_sets; s++) {
    const LsNicSet *set = &node->nic_sets[s];
    const char *stem = set == ls_node_compute_nics (node) ? "nic" : set->name;
    guint64 number;
    if (set->fabric == f && g_str_has_prefix (word, stem) &&
        g_ascii_string_to_unsigned (word + strlen (stem), 10, 0, set->count - 1, &number, NULL)) {
      *nic = base + (gint64) number;
      return TRUE;
    }
    base += set->fabric == f ? set->count : 0;
  }
  return FALSE;
}

/* FALSE: the word is no nodes. */
static gboolean read_nodes_end (LsClusterReader *reader, guint f, const char *word, NodesEnd *end) {
  g_auto (GStrv) parts = g_strsplit (word, "/", 2);
  end->nic = -1;
  for (guint g = 0; g < reader->groups->len; g++) {
    const LsNodeGroup *group = &g_array_index (reader->groups, LsNodeGroup, g);
    if (!g_str_has_prefix (parts[0], group->name) ||
        !read_range (parts[0] + strlen (group->name), group, end))
      continue;
    return parts[1] == NULL || read_nic (&group->node, f, parts[1], &end->nic);
  }
  return FALSE;
}

typedef struct {
  LsClusterReader *reader;
  const char *base;
  guint f;
  LsFabricSpec *fabric;
  GArray *ports;   /* LsFabricPort */
  guint8 **in_use; /* [node][adapter] */
  guint *n_adapters;
} Plugging;

static void plug (Plugging *plugging, const char *item, const LsFabricEdge *edge, guint vertex,
                  guint node, gint64 nic) {
  guint n = plugging->n_adapters[node];
  guint port = nic >= 0 ? (guint) nic : 0;
  while (nic < 0 && port < n && plugging->in_use[node][port])
    port++;
  if (port >= n || plugging->in_use[node][port]) {
    ls_config_error_at (plugging->reader->config, plugging->reader->errors, item,
                        port >= n ? "the node has no adapter left on this fabric (it has %u)"
                                  : "duplicate link: adapter %u is plugged in already",
                        port >= n ? n : port);
    return;
  }
  plugging->in_use[node][port] = 1;
  LsFabricPort record = {.node = node,
                         .port = port,
                         .vertex = vertex,
                         .bytes_per_s = edge->bytes_per_s,
                         .latency_ps = edge->latency_ps};
  g_array_append_val (plugging->ports, record);
}

/* The nodes that an end means, through a host's name if it is one. */
static gboolean nodes_of_end (Plugging *plugging, const char *word, NodesEnd *end) {
  g_autofree char *map = ls_cluster_read_key (plugging->base, "nodes");
  g_autofree char *host = ls_cluster_read_below (map, word);
  if (ls_config_has (plugging->reader->config, host) && is_host (plugging->reader, host)) {
    const char *nodes = ls_cluster_read_text (plugging->reader, host, "host");
    if (nodes == NULL)
      return FALSE;
    word = nodes;
  }
  return read_nodes_end (plugging->reader, plugging->f, word, end);
}

/* Which nodes there are, of an end that names others of a group: "; storage_host is main[2-3]; nodes are main[0] to
 * main[1], cluster.nodes at FILE:LINE:COL"; NULL: it names no group. */
static char *no_such_nodes (Plugging *plugging, const char *word) {
  LsClusterReader *reader = plugging->reader;
  g_autofree char *map = ls_cluster_read_key (plugging->base, "nodes");
  g_autofree char *host = ls_cluster_read_below (map, word);
  const char *nodes = word;
  if (ls_config_has (reader->config, host) && is_host (reader, host))
    nodes = ls_cluster_read_text (reader, host, "host");
  for (guint g = 0; nodes != NULL && g < reader->groups->len; g++) {
    const LsNodeGroup *group = &g_array_index (reader->groups, LsNodeGroup, g);
    NodesEnd end;
    if (!g_str_has_prefix (nodes, group->name) || nodes[strlen (group->name)] != '[')
      continue;
    g_auto (GStrv) parts = g_strsplit (nodes, "/", 2);
    if (read_range (parts[0] + strlen (group->name), group, &end))
      continue;
    g_autofree char *key = ls_config_path ("cluster", "groups", group->name, "nodes", NULL);
    g_autofree char *at = ls_config_position_text (ls_config_position (reader->config, key));
    g_autofree char *of_host =
        nodes != word ? g_strdup_printf ("%s is %s; ", word, nodes) : g_strdup ("");
    if (group->nodes == 1)
      return g_strdup_printf ("%sthe only node is %s[0]: the number of nodes is set to 1 by %s",
                              of_host, group->name, at);
    return g_strdup_printf ("%snodes are %s[0] to %s[%u]: their number is set to %u by %s", of_host,
                            group->name, group->name, group->nodes - 1, group->nodes, at);
  }
  return NULL;
}

/* What an end may be called. */
static char *near_end (Plugging *plugging, const char *word) {
  g_autofree char *nodes = no_such_nodes (plugging, word);
  if (nodes != NULL)
    return g_strdup_printf ("; %s", nodes);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *map = ls_cluster_read_key (plugging->base, "nodes");
  g_auto (GStrv) given = ls_config_get_names (plugging->reader->config, map);
  for (guint i = 0; given[i] != NULL; i++)
    g_ptr_array_add (names, g_strdup (given[i]));
  for (guint g = 0; g < plugging->reader->groups->len; g++)
    g_ptr_array_add (
        names,
        g_strdup_printf ("%s[0]", g_array_index (plugging->reader->groups, LsNodeGroup, g).name));
  g_ptr_array_add (names, NULL);
  const char *near = ls_nearest (word, (const char *const *) names->pdata);
  return near != NULL ? g_strdup_printf ("; did you mean %s", near)
                      : g_strdup_printf ("; there are %s, ...", (char *) names->pdata[0]);
}

static void plug_link (Plugging *plugging, const char *item, const char *name) {
  static const char *const keys[] = {"from", "to"};
  guint vertex = G_MAXUINT, unknown = 0;
  NodesEnd end, nodes = {0};
  gboolean has_nodes = FALSE;
  for (guint i = 0; i < 2; i++) {
    const char *word = ls_cluster_read_text (plugging->reader, item, keys[i]);
    guint found = find_vertex (plugging->fabric, word);
    if (found != G_MAXUINT)
      vertex = found;
    else if (nodes_of_end (plugging, word, &end)) {
      has_nodes = TRUE;
      nodes = end;
    } else {
      g_autofree char *near = near_end (plugging, word);
      ls_cluster_read_fault_take (
          plugging->reader, item, keys[i],
          g_strdup_printf ("no switch, host or node of this fabric is called %s%s", word, near));
      unknown++;
    }
  }
  if (unknown > 0)
    return;
  if (vertex == G_MAXUINT || !has_nodes) {
    ls_cluster_read_fault (plugging->reader, item, "to",
                           "a link between two hosts; one end at least is a switch");
    return;
  }
  LsFabricEdge edge = read_edge (plugging->reader, item, name, plugging->fabric);
  for (guint node = nodes.first; node <= nodes.last; node++)
    for (guint k = 0; k < edge.count; k++)
      plug (plugging, item, &edge, vertex, node, nodes.nic);
  g_free (edge.name);
}

/* Adapters without a cable, switches without or with too many. */
static void check_ports (Plugging *plugging) {
  const LsFabricSpec *fabric = plugging->fabric;
  LsClusterReader *reader = plugging->reader;
  g_autofree guint *used = g_new0 (guint, fabric->n_vertices + 1);
  for (guint i = 0; i < fabric->n_edges; i++) {
    used[fabric->edges[i].a] += fabric->edges[i].count;
    used[fabric->edges[i].b] += fabric->edges[i].count;
  }
  for (guint i = 0; i < plugging->ports->len; i++)
    used[g_array_index (plugging->ports, LsFabricPort, i).vertex]++;
  g_autofree char *map = ls_cluster_read_key (plugging->base, "nodes");
  for (guint i = 0; i < fabric->n_vertices; i++) {
    g_autofree char *item = ls_cluster_read_below (map, fabric->vertices[i].name);
    if (used[i] == 0)
      ls_config_error_at (reader->config, reader->errors, item,
                          "isolated: no link leads to this switch");
    else if (fabric->vertices[i].radix > 0 && used[i] > fabric->vertices[i].radix)
      ls_config_error_at (reader->config, reader->errors, item,
                          "the radix is too small: %u cables end here, but it has %u ports",
                          used[i], fabric->vertices[i].radix);
  }
  for (guint g = 0; g < reader->groups->len; g++) {
    const LsNodeGroup *group = &g_array_index (reader->groups, LsNodeGroup, g);
    for (guint node = group->first_node; node < group->first_node + group->nodes; node++)
      for (guint port = 0; port < plugging->n_adapters[node]; port++)
        if (!plugging->in_use[node][port]) {
          ls_config_error_at (reader->config, reader->errors, plugging->base,
                              "isolated port: no link leads to adapter %u of %s[%u]", port,
                              group->name, node - group->first_node);
          return;
        }
  }
}

void ls_cluster_read_finish_graph (LsClusterReader *reader, const char *base, guint f) {
  LsFabricSpec *fabric = &g_array_index (reader->fabrics, LsFabricSpec, f);
  g_autofree char *map = ls_cluster_read_key (base, "links");
  g_auto (GStrv) names = ls_config_get_names (reader->config, map);
  guint n = 0;
  for (guint g = 0; g < reader->groups->len; g++)
    n += g_array_index (reader->groups, LsNodeGroup, g).nodes;
  g_autofree guint *n_adapters = g_new0 (guint, n + 1);
  g_autofree guint8 **in_use = g_new0 (guint8 *, n + 1);
  for (guint g = 0, node = 0; g < reader->groups->len; g++)
    for (guint i = 0; i < g_array_index (reader->groups, LsNodeGroup, g).nodes; i++, node++) {
      n_adapters[node] = ls_node_adapters (&g_array_index (reader->groups, LsNodeGroup, g).node, f);
      in_use[node] = g_new0 (guint8, n_adapters[node] + 1);
    }
  Plugging plugging = {.reader = reader,
                       .base = base,
                       .f = f,
                       .fabric = fabric,
                       .ports = g_array_new (FALSE, FALSE, sizeof (LsFabricPort)),
                       .in_use = in_use,
                       .n_adapters = n_adapters};
  guint before = ls_config_errors_count (reader->errors, LS_CONFIG_FAULT_ERROR);
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *item = ls_cluster_read_below (map, names[i]);
    guint a = find_vertex (fabric, ls_cluster_read_text (reader, item, "from"));
    guint b = find_vertex (fabric, ls_cluster_read_text (reader, item, "to"));
    if (a == G_MAXUINT || b == G_MAXUINT)
      plug_link (&plugging, item, names[i]);
  }
  if (ls_config_errors_count (reader->errors, LS_CONFIG_FAULT_ERROR) == before)
    check_ports (&plugging);
  for (guint node = 0; node < n; node++)
    g_free (in_use[node]);
  fabric->n_ports = plugging.ports->len;
  fabric->ports = (LsFabricPort *) (gpointer) g_array_free (plugging.ports, FALSE);
}
