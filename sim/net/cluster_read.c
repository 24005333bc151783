/* From the scenario to the record: fabrics first, then node groups, then storage.
 *
 * Faults of meaning (a name that no catalogue has, an adapter on a fabric that is not there) go to the
 * error list with the place of the key; reading goes on so that all are found. Keys that cannot matter
 * here are warned about. */
#include "net/cluster.h"

#include "base/assert.h"
#include "base/distance.h"
#include "base/time.h"

typedef struct {
  LsConfig *config;
  LsConfigErrors *errors;
  GArray *fabrics;  /* LsFabricSpec */
  GPtrArray *names; /* of fabrics */
} Reader;

static char *key (const char *base, const char *name) {
  return g_strconcat (base, ".", name, NULL);
}

static gboolean has (Reader *reader, const char *base, const char *name) {
  g_autofree char *path = key (base, name);
  return ls_config_has (reader->config, path);
}

static double quantity (Reader *reader, const char *base, const char *name, double otherwise) {
  g_autofree char *path = key (base, name);
  return ls_config_has (reader->config, path) ? ls_config_get_quantity (reader->config, path)
                                              : otherwise;
}

static guint integer (Reader *reader, const char *base, const char *name, guint otherwise) {
  g_autofree char *path = key (base, name);
  return ls_config_has (reader->config, path) ? (guint) ls_config_get_int (reader->config, path)
                                              : otherwise;
}

static gint64 time_ps (Reader *reader, const char *base, const char *name, gint64 otherwise) {
  g_autofree char *path = key (base, name);
  return ls_config_has (reader->config, path) ? ls_config_get_time_ps (reader->config, path)
                                              : otherwise;
}

/* The text of a key, NULL when it was not given. */
static const char *text (Reader *reader, const char *base, const char *name) {
  g_autofree char *path = key (base, name);
  return ls_config_has (reader->config, path) ? ls_config_get_string (reader->config, path) : NULL;
}

static void fault (Reader *reader, const char *base, const char *name, const char *message) {
  g_autofree char *path = key (base, name);
  ls_config_error_at (reader->config, reader->errors, path, "%s", message);
}

/* A catalogue's "unknown name" error becomes a fault at the key. */
static void unknown (Reader *reader, const char *base, const char *name, GError *error) {
  fault (reader, base, name, error->message);
  g_error_free (error);
}

static void no_effect (Reader *reader, const char *base, const char *name, const char *reason) {
  g_autofree char *path = key (base, name);
  ls_config_no_effect (reader->config, path, reason);
}

/* The position of `word` in a list of words that the schema has checked already. */
static guint index_of (const char *word, const char *(*name) (guint), guint n) {
  guint i = 0;
  while (i < n && !g_str_equal (word, name (i)))
    i++;
  LS_REQUIRE (i < n, "the word %s passed the schema", word);
  return i;
}

static const char *fabric_word (guint i) {
  return ls_fabric_kind_name ((LsFabricKind) i);
}

static const char *routing_word (guint i) {
  return ls_routing_name ((LsRouting) i);
}

static const char *joint_word (guint i) {
  return ls_joint_name ((LsJoint) i);
}

/* --- fabrics -------------------------------------------------------------------------------- */

static void read_fabric (Reader *reader, const char *name) {
  g_autofree char *base = ls_config_path ("cluster", "fabrics", name, NULL);
  g_autofree char *kind = key (base, "kind");
  g_autofree char *routing = key (base, "routing");
  g_autofree char *oversubscription = key (base, "oversubscription");
  g_autofree char *radix = key (base, "leaf_radix");
  g_autofree char *latency = key (base, "hop_latency");
  g_autofree char *in_network = key (base, "in_network");
  LsConfig *config = reader->config;
  LsFabricSpec fabric = {
      .name = g_strdup (name),
      .kind = index_of (ls_config_get_string (config, kind), fabric_word, LS_N_FABRIC_KINDS),
      .routing = index_of (ls_config_get_string (config, routing), routing_word, LS_N_ROUTINGS),
      .link_bytes_per_s = quantity (reader, base, "link", 0),
      .hop_latency_ps = ls_config_get_time_ps (config, latency),
      .rails = integer (reader, base, "rails", 0),
      .leaf_radix = (guint) ls_config_get_int (config, radix),
      .oversubscription = ls_config_get_number (config, oversubscription),
      .in_network = ls_config_get_bool (config, in_network),
      .efficiency = quantity (reader, base, "tuning.efficiency", 0),
      .hop_ps = time_ps (reader, base, "tuning.hop", -1),
  };
  if (fabric.kind == LS_FABRIC_SINGLE_SWITCH) {
    static const char *const of_trees[] = {"rails", "leaf_radix", "oversubscription", "routing"};
    for (guint i = 0; i < G_N_ELEMENTS (of_trees); i++)
      no_effect (reader, base, of_trees[i], "a single switch has one path between any two ports");
    fabric.rails = 1;
  }
  if (has (reader, base, "tuning.hop"))
    no_effect (reader, base, "hop_latency", "tuning.hop includes the switches");
  g_array_append_val (reader->fabrics, fabric);
  g_ptr_array_add (reader->names, fabric.name);
}

static void read_fabrics (Reader *reader) {
  g_auto (GStrv) names = ls_config_get_names (reader->config, "cluster.fabrics");
  for (guint i = 0; names[i] != NULL; i++)
    read_fabric (reader, names[i]);
  if (reader->fabrics->len == 0) {
    LsFabricSpec fabric = {.name = g_strdup ("compute"),
                           .hop_latency_ps = 500 * LS_PS_PER_NS,
                           .leaf_radix = 64,
                           .oversubscription = 1,
                           .hop_ps = -1};
    g_array_append_val (reader->fabrics, fabric);
    g_ptr_array_add (reader->names, fabric.name);
  }
  g_ptr_array_add (reader->names, NULL);
}

/* The fabric called `name`; a fault at BASE.fabric when there is none. */
static guint find_fabric (Reader *reader, const char *base, const char *name) {
  const char *const *names = (const char *const *) reader->names->pdata;
  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_equal (names[i], name))
      return i;
  const char *near = ls_nearest (name, names);
  g_autofree char *message =
      g_strdup_printf ("no fabric is called \"%s\"; there is %s%s%s%s", name, names[0],
                       names[1] != NULL ? " and others" : "", near != NULL ? "; did you mean " : "",
                       near != NULL ? near : "");
  fault (reader, base, "fabric", message);
  return 0;
}

/* --- nodes ---------------------------------------------------------------------------------- */

/* What a node without a preset has. */
static void set_plain_node (LsNodeSpec *node, const LsAccelerator *gpu) {
  const LsLink *pcie = ls_link_pcie (gpu->pcie_generation);
  if (pcie == NULL)
    pcie = ls_link_pcie (4);
  *node = (LsNodeSpec){.gpu = gpu,
                       .gpus = 1,
                       .joint = LS_JOINT_NONE,
                       .gpus_per_pcie_root = 1,
                       .pcie_bytes_per_s = pcie->bytes_per_s,
                       .pcie_efficiency = pcie->efficiency.value,
                       .host_cores = 64,
                       .host_memory_bytes = G_GINT64_CONSTANT (1) << 40,
                       .host_memory_bytes_per_s = 200e9,
                       .launch_ps = -1,
                       .hop_ps = -1};
  ls_device_init (&node->device, gpu, LS_CLOCK_SUSTAINED, NULL);
}

/* Preset and GPU; FALSE when nothing can be said about the node. */
static gboolean read_shape (Reader *reader, const char *base, LsNodeSpec *node) {
  GError *error = NULL;
  const char *preset = text (reader, base, "preset");
  const char *gpu = text (reader, base, "gpu");
  const LsAccelerator *accelerator = NULL;
  if (gpu != NULL) {
    accelerator = ls_accelerator_find (gpu, &error);
    if (accelerator == NULL)
      unknown (reader, base, "gpu", error);
  }
  if (preset != NULL) {
    error = NULL;
    const LsNode *row = ls_node_find (preset, &error);
    if (row == NULL) {
      unknown (reader, base, "preset", error);
      return FALSE;
    }
    ls_node_spec_from_preset (node, row);
    if (accelerator != NULL) {
      node->gpu = accelerator;
      ls_device_init (&node->device, accelerator, LS_CLOCK_SUSTAINED, NULL);
    }
  } else if (accelerator != NULL)
    set_plain_node (node, accelerator);
  else {
    if (gpu == NULL)
      ls_config_error_at (reader->config, reader->errors, base,
                          "a node needs a preset or a gpu; see `lockstep list nodes` and "
                          "`lockstep list gpus`");
    return FALSE;
  }
  node->gpus = integer (reader, base, "gpus", node->gpus);
  return TRUE;
}

/* Links of kind `node->joint`: from the link's row, the accelerator, and the keys over them. */
static void read_links (Reader *reader, const char *base, LsNodeSpec *node) {
  GError *error = NULL;
  const char *name = text (reader, base, "intra.link");
  if (name == NULL && node->link == NULL)
    name = node->gpu->link;
  if (name != NULL) {
    node->link = ls_link_find (name, &error);
    if (node->link == NULL) {
      unknown (reader, base, "intra.link", error);
      return;
    }
    node->link_bytes_per_s = node->link->bytes_per_s;
    if (node->links == 0)
      node->links = (guint) node->gpu->links;
  }
  node->links = integer (reader, base, "intra.links", node->links);
  node->link_bytes_per_s = quantity (reader, base, "intra.rate", node->link_bytes_per_s);
  if (node->links == 0)
    fault (reader, base, "intra.links",
           "this accelerator has no links of its own; say how many, or "
           "use intra.kind: pcie");
  else if (node->link_bytes_per_s <= 0)
    fault (reader, base, "intra.rate",
           "no link is known for this accelerator; give intra.link or a "
           "rate");
}

static void read_intra (Reader *reader, const char *base, LsNodeSpec *node) {
  const char *kind = text (reader, base, "intra.kind");
  g_autofree char *in_network = key (base, "intra.in_network");
  if (kind != NULL)
    node->joint = (LsJoint) index_of (kind, joint_word, LS_N_JOINTS);
  if (node->joint == LS_JOINT_TORUS)
    fault (reader, base, has (reader, base, "preset") ? "preset" : "intra",
           "not yet: nodes joined as a torus");
  if (node->joint == LS_JOINT_CUBE_MESH && node->gpus != 8)
    fault (reader, base, "intra.kind",
           "a cube mesh has 8 accelerators; set gpus: 8 or another kind");
  if (node->joint == LS_JOINT_FULL_MESH && node->gpus > 1 && node->links < node->gpus - 1 &&
      !has (reader, base, "intra.links") && node->gpu->links < (int) node->gpus - 1)
    fault (reader, base, "intra.kind", "a full mesh needs a link to each other accelerator");
  if (node->joint == LS_JOINT_NONE) {
    static const char *const of_links[] = {"intra.link", "intra.links", "intra.rate",
                                           "intra.in_network"};
    for (guint i = 0; i < G_N_ELEMENTS (of_links); i++)
      no_effect (reader, base, of_links[i], "accelerators joined over PCIe have no links");
    node->link = NULL;
    node->links = 0;
    node->in_network = FALSE;
    return;
  }
  read_links (reader, base, node);
  if (ls_config_has (reader->config, in_network))
    node->in_network = ls_config_get_bool (reader->config, in_network);
  if (node->joint != LS_JOINT_SWITCH) {
    no_effect (reader, base, "intra.in_network", "only switches reduce");
    node->in_network = FALSE;
  }
}

static void read_host (Reader *reader, const char *base, LsNodeSpec *node) {
  g_autofree char *pcie = key (base, "host.pcie");
  g_autofree char *memory = key (base, "host.memory");
  node->host_cores = integer (reader, base, "host.cores", node->host_cores);
  if (ls_config_has (reader->config, memory))
    node->host_memory_bytes = ls_config_get_size_bytes (reader->config, memory);
  node->host_memory_bytes_per_s =
      quantity (reader, base, "host.memory_bandwidth", node->host_memory_bytes_per_s);
  node->nvme_bytes_per_s = quantity (reader, base, "host.nvme", node->nvme_bytes_per_s);
  node->gpus_per_pcie_root = integer (reader, base, "host.gpus_per_root", node->gpus_per_pcie_root);
  if (!ls_config_has (reader->config, pcie))
    return;
  for (int generation = 3; generation <= 6; generation++) {
    g_autofree char *word = g_strdup_printf ("pcie%d", generation);
    if (ls_config_is_word (reader->config, pcie, word)) {
      node->pcie_bytes_per_s = ls_link_pcie (generation)->bytes_per_s;
      node->pcie_efficiency = ls_link_pcie (generation)->efficiency.value;
      return;
    }
  }
  node->pcie_bytes_per_s = ls_config_get_quantity (reader->config, pcie);
}

/* Where `name` is, or will be, among the sets of a node; NULL when there are too many. */
static LsNicSet *nic_set (LsNodeSpec *node, const char *name) {
  for (guint i = 0; i < node->n_nic_sets; i++)
    if (g_str_equal (node->nic_sets[i].name, name))
      return &node->nic_sets[i];
  if (node->n_nic_sets == LS_MAX_NIC_SETS)
    return NULL;
  LsNicSet *set = &node->nic_sets[node->n_nic_sets++];
  *set = (LsNicSet){.name = (char *) name, .count = 1};
  return set;
}

static void read_nics (Reader *reader, const char *node_base, const char *name, LsNodeSpec *node) {
  g_autofree char *nics = key (node_base, "nics");
  GString *joined = g_string_new (nics);
  g_autofree char *quoted = ls_config_path (name, NULL);
  g_string_append_printf (joined, ".%s", quoted);
  g_autofree char *base = g_string_free (joined, FALSE);
  g_autofree char *fabric = key (base, "fabric");
  GError *error = NULL;
  LsNicSet *set = nic_set (node, g_intern_string (name));
  if (set == NULL) {
    ls_config_error_at (reader->config, reader->errors, base,
                        "a node has at most %d sets of adapters", LS_MAX_NIC_SETS);
    return;
  }
  const char *preset = text (reader, base, "preset");
  if (preset != NULL) {
    set->nic = ls_nic_find (preset, &error);
    if (set->nic == NULL)
      unknown (reader, base, "preset", error);
    else
      set->bytes_per_s = set->nic->bytes_per_s;
  }
  set->count = integer (reader, base, "count", set->count);
  set->bytes_per_s = quantity (reader, base, "rate", set->bytes_per_s);
  if (set->bytes_per_s <= 0 && error == NULL) {
    ls_config_error_at (reader->config, reader->errors, base,
                        "adapters need a preset or a rate; see `lockstep list nics`");
    set->bytes_per_s = 1;
  }
  set->fabric = find_fabric (reader, base, ls_config_get_string (reader->config, fabric));
}

static void read_tuning (Reader *reader, const char *base, LsNodeSpec *node) {
  g_autofree char *protocol = key (base, "tuning.protocol");
  node->ideal = ls_config_is_word (reader->config, protocol, "ideal");
  node->efficiency = quantity (reader, base, "tuning.efficiency", 0);
  node->launch_ps = time_ps (reader, base, "tuning.launch", -1);
  node->hop_ps = time_ps (reader, base, "tuning.hop", -1);
}

static gboolean read_node (Reader *reader, const char *base, LsNodeSpec *node) {
  if (!read_shape (reader, base, node))
    return FALSE;
  read_intra (reader, base, node);
  read_host (reader, base, node);
  if (node->n_nic_sets > 0) { /* the preset's adapters go to `compute`, or to the only fabric */
    const char *const *names = (const char *const *) reader->names->pdata;
    for (guint i = 0; names[i] != NULL; i++)
      if (g_str_equal (names[i], "compute"))
        node->nic_sets[0].fabric = i;
  }
  g_autofree char *nics = key (base, "nics");
  g_auto (GStrv) sets = ls_config_get_names (reader->config, nics);
  for (guint i = 0; sets[i] != NULL; i++)
    read_nics (reader, base, sets[i], node);
  read_tuning (reader, base, node);
  return TRUE;
}

/* --- checks over all of it ------------------------------------------------------------------- */

/* Rails default to one per adapter; leaf switches must have room. */
static void finish_fabrics (Reader *reader, const LsNodeSpec *node) {
  for (guint f = 0; f < reader->fabrics->len; f++) {
    LsFabricSpec *fabric = &g_array_index (reader->fabrics, LsFabricSpec, f);
    g_autofree char *base = ls_config_path ("cluster", "fabrics", fabric->name, NULL);
    guint adapters = 0;
    for (guint i = 0; i < node->n_nic_sets; i++)
      if (node->nic_sets[i].fabric == f)
        adapters += node->nic_sets[i].count;
    if (fabric->rails > adapters && adapters > 0 && fabric->kind == LS_FABRIC_FAT_TREE)
      ls_config_error_at (
          reader->config, reader->errors, base,
          "%u rails, but a node has %u adapters on this fabric; use at most as many "
          "rails as adapters",
          fabric->rails, adapters);
    if (fabric->rails == 0)
      fabric->rails = MAX (1, adapters);
    double down = fabric->leaf_radix * fabric->oversubscription / (1 + fabric->oversubscription);
    guint per_node = (adapters + fabric->rails - 1) / fabric->rails;
    if (fabric->kind == LS_FABRIC_FAT_TREE && per_node > down)
      ls_config_error_at (
          reader->config, reader->errors, base,
          "a leaf switch of %u ports has %.0f for nodes, but a node plugs %u adapters "
          "into it; use more rails or a larger leaf_radix",
          fabric->leaf_radix, down, per_node);
  }
}

/* The slower of port and adapter rules: the faster has no effect. */
static void warn_rates (Reader *reader, const char *group, const LsNodeSpec *node) {
  for (guint i = 0; i < node->n_nic_sets; i++) {
    const LsNicSet *set = &node->nic_sets[i];
    const LsFabricSpec *fabric = &g_array_index (reader->fabrics, LsFabricSpec, set->fabric);
    if (fabric->link_bytes_per_s <= 0)
      continue;
    if (fabric->link_bytes_per_s > set->bytes_per_s) {
      g_autofree char *base = ls_config_path ("cluster", "fabrics", fabric->name, NULL);
      no_effect (reader, base, "link", "the adapters plugged in are slower");
    } else if (fabric->link_bytes_per_s < set->bytes_per_s) {
      g_autofree char *base =
          ls_config_path ("cluster", "groups", group, "node", "nics", set->name, NULL);
      no_effect (reader, base, "rate", "the ports of its fabric are slower");
    }
  }
}

static void check_reach (Reader *reader, const char *group, const LsNodeGroup *record) {
  const LsNodeSpec *node = &record->node;
  g_autofree char *base = ls_config_path ("cluster", "groups", group, NULL);
  if (record->nodes > 1 && node->n_nic_sets == 0)
    ls_config_error_at (reader->config, reader->errors, base,
                        "%u nodes without network adapters cannot reach each other; give node.nics",
                        record->nodes);
  if (record->nodes == 1 && !ls_config_has (reader->config, "cluster.storage") &&
      ls_config_has (reader->config, "cluster.fabrics"))
    ls_config_warning_at (reader->config, reader->errors, "cluster.fabrics",
                          "no effect: one node and no shared storage use no fabric");
}

static void read_storage (Reader *reader, const LsNodeSpec *node, LsStorageSpec *storage) {
  LsConfig *config = reader->config;
  if (!ls_config_has (config, "cluster.storage"))
    return;
  storage->present = TRUE;
  storage->read_bytes_per_s = ls_config_get_quantity (config, "cluster.storage.read");
  storage->write_bytes_per_s = ls_config_get_quantity (config, "cluster.storage.write");
  storage->latency_ps = ls_config_get_time_ps (config, "cluster.storage.latency");
  storage->fabric = find_fabric (reader, "cluster.storage",
                                 ls_config_get_string (config, "cluster.storage.fabric"));
  gboolean reachable = FALSE;
  for (guint i = 0; i < node->n_nic_sets; i++)
    reachable |= node->nic_sets[i].fabric == storage->fabric;
  if (!reachable)
    ls_config_error_at (
        config, reader->errors, "cluster.storage.fabric",
        "no adapter of the nodes is on this fabric; give them a set of adapters on it "
        "(node.nics.storage: {preset: ..., fabric: ...}; another node preset drops those "
        "of lower files)");
}

/* Reads the one group there may be; FALSE when no node could be made of it. */
static gboolean read_groups (Reader *reader, LsNodeGroup *group) {
  g_auto (GStrv) names = ls_config_get_names (reader->config, "cluster.groups");
  if (names[0] == NULL) {
    ls_config_error_at (reader->config, reader->errors, "cluster.groups",
                        "there are no nodes; give cluster.node");
    return FALSE;
  }
  if (names[1] != NULL) {
    ls_config_error_at (reader->config, reader->errors, "cluster.groups",
                        "several groups of nodes (%s, %s, ...) are not supported yet; use one",
                        names[0], names[1]);
    return FALSE;
  }
  g_autofree char *base = ls_config_path ("cluster", "groups", names[0], NULL);
  g_autofree char *node = key (base, "node");
  g_autofree char *nodes = key (base, "nodes");
  group->name = g_strdup (names[0]);
  group->nodes = (guint) ls_config_get_int (reader->config, nodes);
  if (!read_node (reader, node, &group->node))
    return FALSE;
  check_reach (reader, names[0], group);
  warn_rates (reader, names[0], &group->node);
  return TRUE;
}

LsCluster *ls_cluster_new (LsConfig *config, LsConfigErrors *errors) {
  Reader reader = {.config = config,
                   .errors = errors,
                   .fabrics = g_array_new (FALSE, TRUE, sizeof (LsFabricSpec)),
                   .names = g_ptr_array_new ()};
  guint before = ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR);
  LsNodeGroup group = {0};
  LsStorageSpec storage = {0};
  LsCluster *cluster = NULL;
  read_fabrics (&reader);
  if (read_groups (&reader, &group)) {
    finish_fabrics (&reader, &group.node);
    read_storage (&reader, &group.node, &storage);
    if (ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR) == before)
      cluster = ls_cluster_new_from (&group, 1, (LsFabricSpec *) (void *) reader.fabrics->data,
                                     reader.fabrics->len, &storage);
  }
  g_free (group.name);
  for (guint i = 0; i < reader.fabrics->len; i++)
    g_free (g_array_index (reader.fabrics, LsFabricSpec, i).name);
  g_array_unref (reader.fabrics);
  g_ptr_array_unref (reader.names);
  return cluster;
}
