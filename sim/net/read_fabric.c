/* Fabrics: keys to records, which keys matter to which kind, and whether the nodes fit. */
#include "base/assert.h"
#include "base/time.h"
#include "net/cluster_reader.h"

static const char *fabric_word (guint i) {
  return ls_fabric_kind_name ((LsFabricKind) i);
}

static const char *routing_word (guint i) {
  return ls_routing_name ((LsRouting) i);
}

#define TREE (1u << LS_FABRIC_FAT_TREE)
#define DRAGONFLY (1u << LS_FABRIC_DRAGONFLY)
#define TORUS (1u << LS_FABRIC_TORUS)
#define WAN (1u << LS_FABRIC_WAN)
#define CUSTOM (1u << LS_FABRIC_CUSTOM)

/* Keys that only some kinds have. */
static const struct {
  const char *name;
  guint kinds;
} special_keys[] = {
    {"rails", TREE},
    {"rail_only", TREE},
    {"tiers", TREE},
    {"leaf_radix", TREE | DRAGONFLY},
    {"spine_radix", TREE | DRAGONFLY},
    {"oversubscription", TREE | DRAGONFLY},
    {"spine_oversubscription", TREE},
    {"groups", DRAGONFLY},
    {"leaves", DRAGONFLY},
    {"spines", DRAGONFLY},
    {"nodes_per_leaf", DRAGONFLY},
    {"global_links", DRAGONFLY},
    {"dims", TORUS},
    {"wrap", TORUS},
    {"nodes", CUSTOM},
    {"sites", WAN},
    {"links", CUSTOM | WAN},
    {"routing", TREE | DRAGONFLY | TORUS | CUSTOM | WAN},
    {"routes", TREE | DRAGONFLY | TORUS | CUSTOM},
    {"hop_latency", TREE | DRAGONFLY | TORUS | CUSTOM | (1u << LS_FABRIC_SINGLE_SWITCH)},
};

static void warn_keys (LsClusterReader *reader, const char *base, const LsFabricSpec *fabric) {
  for (guint i = 0; i < G_N_ELEMENTS (special_keys); i++) {
    if (special_keys[i].kinds & (1u << fabric->kind))
      continue;
    g_autofree char *reason =
        fabric->kind == LS_FABRIC_SINGLE_SWITCH
            ? g_strdup ("a single switch has one path between any two ports")
            : g_strdup_printf ("the kind %s has no such thing", ls_fabric_kind_name (fabric->kind));
    ls_cluster_read_no_effect (reader, base, special_keys[i].name, reason);
  }
  if (fabric->routing != LS_ROUTING_STATIC)
    ls_cluster_read_no_effect (reader, base, "routes", "only static routing follows them");
  if (ls_cluster_read_has (reader, base, "tuning.hop")) {
    ls_cluster_read_no_effect (reader, base, "hop_latency", "tuning.hop includes the switches");
    ls_cluster_read_no_effect (reader, base, "tuning.step", "tuning.hop includes the ends");
  }
}

static void read_sizes (LsClusterReader *reader, const char *base, LsFabricSpec *fabric) {
  g_autofree char *tiers = ls_cluster_read_key (base, "tiers");
  fabric->rails = ls_cluster_read_integer (reader, base, "rails", 0);
  fabric->rail_only = ls_cluster_read_bool (reader, base, "rail_only");
  if (!ls_config_is_word (reader->config, tiers, "auto"))
    fabric->tiers = (guint) ls_config_get_int (reader->config, tiers);
  fabric->leaf_radix = ls_cluster_read_count (reader, base, "leaf_radix");
  fabric->spine_radix = ls_cluster_read_integer (reader, base, "spine_radix", fabric->leaf_radix);
  fabric->oversubscription = ls_cluster_read_number (reader, base, "oversubscription");
  fabric->spine_oversubscription = ls_cluster_read_number (reader, base, "spine_oversubscription");
  fabric->groups = ls_cluster_read_count (reader, base, "groups");
  fabric->group_leaves = ls_cluster_read_count (reader, base, "leaves");
  fabric->group_spines = ls_cluster_read_count (reader, base, "spines");
  fabric->nodes_per_leaf = ls_cluster_read_count (reader, base, "nodes_per_leaf");
  fabric->global_links = ls_cluster_read_count (reader, base, "global_links");
}

static void read_fabric (LsClusterReader *reader, const char *name) {
  g_autofree char *base = ls_config_path ("cluster", "fabrics", name, NULL);
  g_autofree char *kind = ls_cluster_read_key (base, "kind");
  g_autofree char *routing = ls_cluster_read_key (base, "routing");
  g_autofree char *latency = ls_cluster_read_key (base, "hop_latency");
  LsConfig *config = reader->config;
  LsFabricSpec fabric = {
      .name = g_strdup (name),
      .kind = ls_cluster_read_index_of (ls_config_get_string (config, kind), fabric_word,
                                        LS_N_FABRIC_KINDS),
      .routing = ls_cluster_read_index_of (ls_config_get_string (config, routing), routing_word,
                                           LS_N_ROUTINGS),
      .link_bytes_per_s = ls_cluster_read_quantity (reader, base, "link", 0),
      .hop_latency_ps = ls_config_get_time_ps (config, latency),
      .in_network = ls_cluster_read_bool (reader, base, "in_network"),
      .efficiency = ls_cluster_read_quantity (reader, base, "tuning.efficiency", 0),
      .hop_ps = ls_cluster_read_time_ps (reader, base, "tuning.hop", -1),
      .step_ps = ls_cluster_read_time_ps (reader, base, "tuning.step", -1),
  };
  g_autofree char *model = ls_cluster_read_key (base, "tuning.model");
  fabric.messages = ls_config_is_word (config, model, "message");
  read_sizes (reader, base, &fabric);
  if (fabric.kind == LS_FABRIC_TORUS) {
    fabric.n_dimensions = ls_cluster_read_dimensions (reader, base, fabric.size, fabric.wrap);
    if (fabric.n_dimensions == 0) {
      ls_cluster_read_fault (reader, base, "dims", "a torus needs its dimensions, such as [4, 4]");
      fabric.n_dimensions = fabric.size[0] = 1;
    }
  }
  warn_keys (reader, base, &fabric);
  if (fabric.kind != LS_FABRIC_FAT_TREE)
    fabric.rails = 1;
  g_array_append_val (reader->fabrics, fabric);
  g_ptr_array_add (reader->names, fabric.name);
}

void ls_cluster_read_fabrics (LsClusterReader *reader) {
  g_auto (GStrv) names = ls_config_get_names (reader->config, "cluster.fabrics");
  for (guint i = 0; names[i] != NULL; i++)
    read_fabric (reader, names[i]);
  if (reader->fabrics->len == 0) {
    LsFabricSpec fabric = {.name = g_strdup ("compute"),
                           .hop_latency_ps = 500 * LS_PS_PER_NS,
                           .leaf_radix = 64,
                           .spine_radix = 64,
                           .oversubscription = 1,
                           .spine_oversubscription = 1,
                           .hop_ps = -1,
                           .step_ps = -1};
    g_array_append_val (reader->fabrics, fabric);
    g_ptr_array_add (reader->names, fabric.name);
  }
  g_ptr_array_add (reader->names, NULL);
  for (guint f = 0; f < reader->fabrics->len; f++) {
    LsFabricSpec *fabric = &g_array_index (reader->fabrics, LsFabricSpec, f);
    g_autofree char *base = ls_config_path ("cluster", "fabrics", fabric->name, NULL);
    ls_cluster_read_graph (reader, base, fabric);
  }
}

/* --- do the nodes fit? ------------------------------------------------------------------------ */

/* The nodes on a fabric. */
typedef struct {
  guint nodes, most_adapters;
  guint64 ports;
} Plugged;

static Plugged plugged_into (LsClusterReader *reader, guint f) {
  Plugged sum = {0};
  for (guint g = 0; g < reader->groups->len; g++) {
    const LsNodeGroup *group = &g_array_index (reader->groups, LsNodeGroup, g);
    guint adapters = ls_node_adapters (&group->node, f);
    sum.nodes += adapters > 0 ? group->nodes : 0;
    sum.most_adapters = MAX (sum.most_adapters, adapters);
    sum.ports += (guint64) adapters * group->nodes;
  }
  return sum;
}

/* Leaves of all rails, of one rail with rail_only. */
static guint count_blocks (LsClusterReader *reader, guint f, const LsFabricSpec *fabric,
                           guint down) {
  guint blocks = 0;
  for (guint g = 0; g < reader->groups->len; g++) {
    const LsNodeGroup *group = &g_array_index (reader->groups, LsNodeGroup, g);
    guint per_rail = (ls_node_adapters (&group->node, f) + fabric->rails - 1) / fabric->rails;
    guint per_leaf = per_rail > 0 ? MAX (1, down / per_rail) : 0;
    blocks += per_leaf > 0 ? (group->nodes + per_leaf - 1) / per_leaf : 0;
  }
  return blocks;
}

/* Can spines (and cores) of that radix join so many leaf switches? */
static void check_tiers (LsClusterReader *reader, const char *base, guint f,
                         const LsFabricSpec *fabric, guint down) {
  guint blocks = count_blocks (reader, f, fabric, down);
  guint leaves = fabric->rail_only ? blocks : blocks * fabric->rails;
  double share = fabric->spine_oversubscription / (1 + fabric->spine_oversubscription);
  guint per_pod = (guint) MAX (1, fabric->spine_radix * share + 1e-9);
  guint blocks_per_pod = MAX (1, fabric->rail_only ? per_pod : per_pod / fabric->rails);
  guint pods = (blocks + blocks_per_pod - 1) / blocks_per_pod;
  const char *key =
      ls_cluster_read_has (reader, base, "spine_radix") ? "spine_radix" : "leaf_radix";
  if (leaves <= fabric->spine_radix || blocks < 2) {
    if (fabric->tiers != 3)
      ls_cluster_read_no_effect (reader, base, "spine_oversubscription", "two tiers suffice");
    return;
  }
  if (fabric->tiers == 2)
    ls_cluster_read_fault_take (
        reader, base, key,
        g_strdup_printf ("%u leaf switches do not fit under spines of %u ports; use a larger radix "
                         "or three tiers",
                         leaves, fabric->spine_radix));
  else if (pods > fabric->spine_radix || per_pod < (fabric->rail_only ? 1 : fabric->rails))
    ls_cluster_read_fault_take (
        reader, base, key,
        g_strdup_printf ("the radix is too small for the nodes: %u leaf switches make %u pods, but "
                         "switches of %u ports join %u in three tiers; use a larger radix",
                         leaves, pods, fabric->spine_radix, fabric->spine_radix));
}

/* Rails where none are stated: one for each adapter of a node, or, where a pod cannot hold a leaf switch of each (a rack with
 * 72 adapters, and more racks than two tiers join), the most that deal the adapters out evenly and that it can hold: then a
 * rack plugs several adapters into each leaf switch. source: ASSUMED; NVIDIA's DGX GB200 SuperPOD has four rails, 18 adapters of
 * a rack in each (its reference architecture; recalled). */
static guint default_rails (LsClusterReader *reader, guint f, const LsFabricSpec *fabric,
                            guint adapters) {
  const double down =
      fabric->leaf_radix * fabric->oversubscription / (1 + fabric->oversubscription);
  const double share = fabric->spine_oversubscription / (1 + fabric->spine_oversubscription);
  const guint per_pod = (guint) MAX (1, fabric->spine_radix * share + 1e-9);
  LsFabricSpec tried = *fabric;

  tried.rails = MAX (1, adapters);
  if (fabric->rail_only || tried.rails <= per_pod || fabric->tiers == 2 || down < 1)
    return tried.rails;
  const guint blocks = count_blocks (reader, f, &tried, (guint) (down + 1e-9));
  if (blocks < 2 || blocks * tried.rails <= fabric->spine_radix)
    return tried.rails;
  for (guint rails = per_pod; rails > 1; rails--)
    if (adapters % rails == 0 && adapters <= down * rails)
      return rails;
  return tried.rails;
}

static void check_tree (LsClusterReader *reader, const char *base, guint f, LsFabricSpec *fabric,
                        const Plugged *plugged) {
  if (fabric->rails > plugged->most_adapters && plugged->most_adapters > 0)
    ls_cluster_read_fault_take (
        reader, base, "rails",
        g_strdup_printf ("%u rails, but a node has %u adapters on this fabric; use at most as many "
                         "rails as adapters",
                         fabric->rails, plugged->most_adapters));
  if (fabric->rails == 0)
    fabric->rails = default_rails (reader, f, fabric, plugged->most_adapters);
  double down = fabric->leaf_radix * fabric->oversubscription / (1 + fabric->oversubscription);
  guint per_node = (plugged->most_adapters + fabric->rails - 1) / fabric->rails;
  if (per_node > down)
    ls_config_error_at (
        reader->config, reader->errors, base,
        "a leaf switch of %u ports has %.0f for nodes, but a node plugs %u adapters "
        "into it; use more rails or a larger leaf_radix",
        fabric->leaf_radix, down, per_node);
  else
    check_tiers (reader, base, f, fabric, (guint) MAX (1, down + 1e-9));
}

static void check_dragonfly (LsClusterReader *reader, const char *base, const LsFabricSpec *fabric,
                             const Plugged *plugged) {
  guint64 room = (guint64) fabric->groups * fabric->group_leaves * fabric->nodes_per_leaf;
  guint leaf_ports = fabric->nodes_per_leaf * plugged->most_adapters + fabric->group_spines;
  guint64 global = (guint64) (fabric->groups - 1) * fabric->global_links;
  guint64 spine_ports =
      fabric->group_leaves + (global + fabric->group_spines - 1) / fabric->group_spines;
  if (plugged->nodes > room)
    ls_cluster_read_fault_take (
        reader, base, "groups",
        g_strdup_printf ("%u groups of %u leaf switches with %u nodes each have "
                         "room for %" G_GUINT64_FORMAT " nodes, not %u",
                         fabric->groups, fabric->group_leaves, fabric->nodes_per_leaf, room,
                         plugged->nodes));
  if (leaf_ports > fabric->leaf_radix)
    ls_cluster_read_fault_take (
        reader, base, "leaf_radix",
        g_strdup_printf ("the radix is too small for the nodes: a leaf switch needs %u ports (%u "
                         "nodes with %u adapters, %u spines), but has %u",
                         leaf_ports, fabric->nodes_per_leaf, plugged->most_adapters,
                         fabric->group_spines, fabric->leaf_radix));
  if (spine_ports > fabric->spine_radix)
    ls_cluster_read_fault_take (
        reader, base, "spine_radix",
        g_strdup_printf (
            "a spine switch needs %" G_GUINT64_FORMAT
            " ports (%u leaves and its share of the links to other groups), but has %u",
            spine_ports, fabric->group_leaves, fabric->spine_radix));
}

static void check_torus (LsClusterReader *reader, const char *base, const LsFabricSpec *fabric,
                         const Plugged *plugged) {
  guint size = ls_fabric_torus_size (fabric);
  if (plugged->nodes > 0 && size != plugged->nodes)
    ls_cluster_read_fault_take (
        reader, base, "dims",
        g_strdup_printf ("the dimensions multiply to %u, but %u nodes are on this "
                         "fabric; give dims that multiply to %u",
                         size, plugged->nodes, plugged->nodes));
}

void ls_cluster_read_finish_fabrics (LsClusterReader *reader) {
  for (guint f = 0; f < reader->fabrics->len; f++) {
    LsFabricSpec *fabric = &g_array_index (reader->fabrics, LsFabricSpec, f);
    g_autofree char *base = ls_config_path ("cluster", "fabrics", fabric->name, NULL);
    Plugged plugged = plugged_into (reader, f);
    if (fabric->kind == LS_FABRIC_FAT_TREE)
      check_tree (reader, base, f, fabric, &plugged);
    else if (fabric->kind == LS_FABRIC_DRAGONFLY)
      check_dragonfly (reader, base, fabric, &plugged);
    else if (fabric->kind == LS_FABRIC_TORUS)
      check_torus (reader, base, fabric, &plugged);
    else if (fabric->kind == LS_FABRIC_CUSTOM)
      ls_cluster_read_finish_graph (reader, base, f);
    fabric->rails = MAX (1, fabric->rails);
  }
}
