/* One shape of node: a preset and what is written over it. */
#include "base/assert.h"
#include "hw/power.h"
#include "net/cluster_reader.h"

static const char *joint_word (guint i) {
  return ls_joint_name ((LsJoint) i);
}

/* What a node without a preset has; `gpu` NULL: a host without any. */
static void set_plain_node (LsNodeSpec *node, const LsAccelerator *gpu) {
  int generation = gpu != NULL ? gpu->pcie_generation : 4;
  const LsLink *pcie = ls_link_pcie (generation);
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
                       .hosts = 1,
                       .sockets = 1,
                       .socket_bytes_per_s = ls_link_socket (generation)->bytes_per_s,
                       .socket_efficiency = ls_link_socket (generation)->efficiency.value,
                       .launch_ps = -1,
                       .hop_ps = -1};
  if (gpu != NULL)
    ls_device_init (&node->device, gpu, LS_CLOCK_SUSTAINED, NULL);
}

/* Takes the accelerators out, and what only they have. */
static void set_host_only (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  if (node->preset == NULL)
    ls_cluster_read_no_effect (reader, base, "gpu", "the node has no accelerators");
  ls_cluster_read_no_effect (reader, base, "host.gpus_per_root", "the node has no accelerators");
  node->gpu = NULL;
  node->gpus = 0;
  node->joint = LS_JOINT_NONE;
  node->link = NULL;
  node->links = 0;
  node->in_network = FALSE;
  node->device = (LsDevice){0};
  node->gpus_per_pcie_root = 1;
}

static gboolean has_gpus (LsClusterReader *reader, const char *base) {
  return ls_cluster_read_integer (reader, base, "gpus", 1) > 0;
}

/* Preset and GPU; FALSE when nothing can be said about the node. */
static gboolean read_shape (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  GError *error = NULL;
  const char *preset = ls_cluster_read_text (reader, base, "preset");
  const char *gpu = ls_cluster_read_text (reader, base, "gpu");
  const LsAccelerator *accelerator = NULL;
  if (gpu != NULL) {
    accelerator = ls_accelerator_find (gpu, &error);
    if (accelerator == NULL)
      ls_cluster_read_unknown (reader, base, "gpu", error);
  }
  if (preset != NULL) {
    error = NULL;
    const LsNode *row = ls_node_find (preset, &error);
    if (row == NULL) {
      ls_cluster_read_unknown (reader, base, "preset", error);
      return FALSE;
    }
    ls_node_spec_from_preset (node, row);
    if (accelerator != NULL) {
      node->gpu = accelerator;
      ls_device_init (&node->device, accelerator, LS_CLOCK_SUSTAINED, NULL);
    }
  } else if (accelerator != NULL || (gpu == NULL && !has_gpus (reader, base)))
    set_plain_node (node, accelerator);
  else {
    if (gpu == NULL)
      ls_config_error_at (reader->config, reader->errors, base,
                          "a node needs a preset or a gpu; see `lockstep list nodes` and "
                          "`lockstep list gpus` (or gpus: 0: a host without any)");
    return FALSE;
  }
  node->gpus = ls_cluster_read_integer (reader, base, "gpus", node->gpus);
  return TRUE;
}

/* Before the GPU is partitioned: what the cap leaves of its clock is the same for all parts. */
static void read_power_cap (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  const double cap_w = ls_cluster_read_quantity (reader, base, "power_cap", 0);
  if (cap_w <= 0 || node->gpu == NULL)
    return;
  if (cap_w >= node->gpu->tdp_w) {
    ls_cluster_read_no_effect (reader, base, "power_cap", "the GPU draws no more than that");
    return;
  }
  if (ls_power_clock (node->gpu, cap_w) <= 0) {
    ls_cluster_read_fault_take (
        reader, base, "power_cap",
        g_strdup_printf ("%s draws %.0f W whatever its clock; give more, up to %.0f W",
                         node->gpu->name, LS_POWER_FLOOR * node->gpu->tdp_w, node->gpu->tdp_w));
    return;
  }
  node->gpu = ls_accelerator_capped (node->gpu, cap_w);
  ls_device_init (&node->device, node->gpu, LS_CLOCK_SUSTAINED, NULL);
}

/* Links of kind `node->joint`: from the link's row, the accelerator, and the keys over them. */
static void read_links (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  GError *error = NULL;
  const char *name = ls_cluster_read_text (reader, base, "intra.link");
  if (name == NULL && node->link == NULL)
    name = node->gpu->link;
  if (name != NULL) {
    node->link = ls_link_find (name, &error);
    if (node->link == NULL) {
      ls_cluster_read_unknown (reader, base, "intra.link", error);
      return;
    }
    node->link_bytes_per_s = node->link->bytes_per_s;
    if (node->links == 0)
      node->links = (guint) node->gpu->links;
  }
  node->links = ls_cluster_read_integer (reader, base, "intra.links", node->links);
  node->link_bytes_per_s =
      ls_cluster_read_quantity (reader, base, "intra.rate", node->link_bytes_per_s);
  if (node->links == 0)
    ls_cluster_read_fault (reader, base, "intra.links",
                           "this accelerator has no links of its own; say how many, or "
                           "use intra.kind: pcie");
  else if (node->link_bytes_per_s <= 0)
    ls_cluster_read_fault (reader, base, "intra.rate",
                           "no link is known for this accelerator; give intra.link or a "
                           "rate");
}

/* Sizes of a torus, which must make up the devices of the node. */
static void read_torus (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  g_autofree char *intra = ls_cluster_read_key (base, "intra");
  guint64 product = 1;
  if (node->joint != LS_JOINT_TORUS) {
    ls_cluster_read_no_effect (reader, base, "intra.dims", "only a torus has dimensions");
    ls_cluster_read_no_effect (reader, base, "intra.wrap", "only a torus has dimensions");
    return;
  }
  if (ls_cluster_read_has (reader, base, "intra.dims"))
    node->n_dimensions = ls_cluster_read_dimensions (reader, intra, node->size, node->wrap);
  else if (ls_cluster_read_has (reader, base, "intra.wrap")) {
    guint size[LS_MAX_DIMENSIONS];
    gboolean wrap = TRUE;
    g_autofree char *first = ls_cluster_read_key (base, "intra.wrap.0");
    ls_cluster_read_dimensions (reader, intra, size, &wrap);
    for (guint i = 0; i < node->n_dimensions; i++) {
      g_autofree char *item = g_strdup_printf ("%s.wrap.%u", intra, i);
      g_autofree char *list = ls_cluster_read_key (intra, "wrap");
      node->wrap[i] = ls_config_get_bool (
          reader->config, ls_config_get_length (reader->config, list) > i ? item : first);
    }
  }
  for (guint i = 0; i < node->n_dimensions; i++)
    product = MIN (product * node->size[i], G_MAXUINT);
  if (node->n_dimensions == 0)
    ls_cluster_read_fault (reader, base, "intra.kind",
                           "a torus needs its dimensions; give intra.dims");
  else if (product != node->gpus)
    ls_cluster_read_fault_take (
        reader, base, ls_cluster_read_has (reader, base, "intra.dims") ? "intra.dims" : "gpus",
        g_strdup_printf ("the dimensions multiply to %" G_GUINT64_FORMAT
                         ", but the node has %u accelerators; give intra.dims that multiply to %u",
                         product, node->gpus, node->gpus));
}

/* Accelerators that have links to their like, in a node that says nothing of them (instances of MIG use none): what a preset with the same part
 * does is the line to write. A bridge joins pairs only, so that a node of such cards is one over PCIe as it stands. */
static void warn_unjoined (LsClusterReader *reader, const char *base, const LsNodeSpec *node) {
  const LsAccelerator *gpu = node->gpu;
  const LsNode *like = NULL;
  g_autofree char *path = ls_cluster_read_key (base, "gpu");
  if (node->joint != LS_JOINT_NONE || node->gpus < 2 || gpu->link == NULL || gpu->link_is_bridge ||
      ls_cluster_read_has (reader, base, "intra.kind") ||
      ls_cluster_read_has (reader, base, "mig") || !ls_config_has (reader->config, path))
    return;
  for (guint i = 0; i < ls_node_count () && like == NULL; i++)
    if (g_str_equal (ls_node_get (i)->gpu, gpu->name))
      like = ls_node_get (i);
  ls_config_warning_at (
      reader->config, reader->errors, path,
      "%u %s are joined over PCIe: the node does not say how their %s is wired; write intra: %s%s%s"
      "%s, or intra: pcie when PCIe is meant",
      node->gpus, gpu->name, gpu->link, like != NULL ? ls_joint_name (like->joint) : "switch",
      like != NULL ? " (as node preset " : "", like != NULL ? like->name : "",
      like != NULL ? ")" : "");
}

static void read_intra (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  const char *kind = ls_cluster_read_text (reader, base, "intra.kind");
  g_autofree char *in_network = ls_cluster_read_key (base, "intra.in_network");
  if (node->gpus == 0) {
    static const char *const all[] = {"intra.kind",       "intra.link", "intra.links", "intra.rate",
                                      "intra.in_network", "intra.dims", "intra.wrap"};
    for (guint i = 0; i < G_N_ELEMENTS (all); i++)
      ls_cluster_read_no_effect (reader, base, all[i], "the node has no accelerators");
    set_host_only (reader, base, node);
    return;
  }
  if (kind != NULL)
    node->joint = (LsJoint) ls_cluster_read_index_of (kind, joint_word, LS_N_JOINTS);
  warn_unjoined (reader, base, node);
  read_torus (reader, base, node);
  if (node->joint == LS_JOINT_CUBE_MESH && node->gpus != 8)
    ls_cluster_read_fault (reader, base, "intra.kind",
                           "a cube mesh has 8 accelerators; set gpus: 8 or another kind");
  if (node->joint == LS_JOINT_FULL_MESH && node->gpus > 1 && node->links < node->gpus - 1 &&
      !ls_cluster_read_has (reader, base, "intra.links") && node->gpu->links < (int) node->gpus - 1)
    ls_cluster_read_fault (reader, base, "intra.kind",
                           "a full mesh needs a link to each other accelerator");
  if (node->joint == LS_JOINT_NONE) {
    static const char *const of_links[] = {"intra.link", "intra.links", "intra.rate",
                                           "intra.in_network"};
    for (guint i = 0; i < G_N_ELEMENTS (of_links); i++)
      ls_cluster_read_no_effect (reader, base, of_links[i],
                                 "accelerators joined over PCIe have no links");
    node->link = NULL;
    node->links = 0;
    node->in_network = FALSE;
    return;
  }
  read_links (reader, base, node);
  if (ls_config_has (reader->config, in_network))
    node->in_network = ls_config_get_bool (reader->config, in_network);
  if (node->joint != LS_JOINT_SWITCH) {
    ls_cluster_read_no_effect (reader, base, "intra.in_network", "only switches reduce");
    node->in_network = FALSE;
  }
}

/* Machines and sockets; the links between sockets follow the generation of PCIe. */
static void read_sockets (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  node->hosts = ls_cluster_read_integer (reader, base, "host.count", node->hosts);
  node->sockets = ls_cluster_read_integer (reader, base, "host.sockets", node->sockets);
  if (node->sockets % node->hosts != 0 && ls_cluster_read_has (reader, base, "host.sockets"))
    ls_cluster_read_fault_take (reader, base, "host.sockets",
                                g_strdup_printf ("%u sockets cannot be shared out to %u hosts",
                                                 node->sockets, node->hosts));
  node->socket_bytes_per_s =
      ls_cluster_read_quantity (reader, base, "host.socket_link", node->socket_bytes_per_s);
  if (node->sockets < 2)
    ls_cluster_read_no_effect (reader, base, "host.socket_link", "the node has one socket");
}

/* What drives have beside their rate. */
static void read_drives (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  g_autofree char *size = ls_cluster_read_key (base, "host.nvme_size");

  node->nvme_write_bytes_per_s =
      ls_cluster_read_quantity (reader, base, "host.nvme_write", node->nvme_write_bytes_per_s);
  if (ls_config_has (reader->config, size))
    node->nvme_bytes = ls_config_get_size_bytes (reader->config, size);
  if (node->nvme_bytes_per_s > 0)
    return;
  ls_cluster_read_no_effect (reader, base, "host.nvme_write", "the node has no drives");
  ls_cluster_read_no_effect (reader, base, "host.nvme_size", "the node has no drives");
}

static void read_host (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  g_autofree char *pcie = ls_cluster_read_key (base, "host.pcie");
  g_autofree char *memory = ls_cluster_read_key (base, "host.memory");
  node->host_cores = ls_cluster_read_integer (reader, base, "host.cores", node->host_cores);
  if (ls_config_has (reader->config, memory))
    node->host_memory_bytes = ls_config_get_size_bytes (reader->config, memory);
  node->host_memory_bytes_per_s = ls_cluster_read_quantity (reader, base, "host.memory_bandwidth",
                                                            node->host_memory_bytes_per_s);
  node->nvme_bytes_per_s =
      ls_cluster_read_quantity (reader, base, "host.nvme", node->nvme_bytes_per_s);
  read_drives (reader, base, node);
  node->gpus_per_pcie_root =
      ls_cluster_read_integer (reader, base, "host.gpus_per_root", node->gpus_per_pcie_root);
  read_sockets (reader, base, node);
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

static void read_nics (LsClusterReader *reader, const char *node_base, const char *name,
                       LsNodeSpec *node) {
  g_autofree char *nics = ls_cluster_read_key (node_base, "nics");
  g_autofree char *base = ls_cluster_read_below (nics, name);
  g_autofree char *fabric = ls_cluster_read_key (base, "fabric");
  static const char *const keys[] = {"count", "preset", "rate", "fabric", NULL};
  GError *error = NULL;
  if (g_strv_contains (keys, name)) {
    ls_config_error_at (reader->config, reader->errors, base,
                        "%s is a key of a set of adapters; write nics.compute.%s", name, name);
    return;
  }
  LsNicSet *set = nic_set (node, g_intern_string (name));
  if (set == NULL) {
    ls_config_error_at (reader->config, reader->errors, base,
                        "a node has at most %d sets of adapters", LS_MAX_NIC_SETS);
    return;
  }
  const char *preset = ls_cluster_read_text (reader, base, "preset");
  if (preset != NULL) {
    set->nic = ls_nic_find (preset, &error);
    if (set->nic == NULL)
      ls_cluster_read_unknown (reader, base, "preset", error);
    else
      set->bytes_per_s = set->nic->bytes_per_s;
  }
  set->count = ls_cluster_read_integer (reader, base, "count", set->count);
  set->bytes_per_s = ls_cluster_read_quantity (reader, base, "rate", set->bytes_per_s);
  if (set->bytes_per_s <= 0 && error == NULL) {
    ls_config_error_at (reader->config, reader->errors, base,
                        "adapters need a preset or a rate; see `lockstep list nics`");
    set->bytes_per_s = 1;
  }
  set->fabric =
      ls_cluster_read_find_fabric (reader, base, ls_config_get_string (reader->config, fabric));
}

static void read_tuning (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  g_autofree char *protocol = ls_cluster_read_key (base, "tuning.protocol");
  node->ideal = ls_config_is_word (reader->config, protocol, "ideal");
  node->efficiency = ls_cluster_read_quantity (reader, base, "tuning.efficiency", 0);
  node->launch_ps = ls_cluster_read_time_ps (reader, base, "tuning.launch", -1);
  node->hop_ps = ls_cluster_read_time_ps (reader, base, "tuning.hop", -1);
  g_autofree char *model = ls_cluster_read_key (base, "tuning.model");
  node->messages = ls_config_is_word (reader->config, model, "message");
  if (node->ideal) {
    static const char *const of_nccl[] = {"tuning.ll_efficiency", "tuning.ll128_efficiency",
                                          "tuning.nvls_efficiency"};
    for (guint i = 0; i < G_N_ELEMENTS (of_nccl); i++)
      ls_cluster_read_no_effect (reader, base, of_nccl[i], "the protocol is ideal");
    return;
  }
  node->ll_efficiency = ls_cluster_read_quantity (reader, base, "tuning.ll_efficiency", 0);
  node->ll128_efficiency = ls_cluster_read_quantity (reader, base, "tuning.ll128_efficiency", 0);
  node->nvls_efficiency = ls_cluster_read_quantity (reader, base, "tuning.nvls_efficiency", 0);
}

gboolean ls_cluster_read_node (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  if (!read_shape (reader, base, node))
    return FALSE;
  read_power_cap (reader, base, node);
  read_intra (reader, base, node);
  ls_cluster_read_mig (reader, base, node);
  read_host (reader, base, node);
  if (node->n_nic_sets > 0) { /* the preset's adapters go to `compute`, or to the only fabric */
    const char *const *names = (const char *const *) reader->names->pdata;
    for (guint i = 0; names[i] != NULL; i++)
      if (g_str_equal (names[i], "compute"))
        node->nic_sets[0].fabric = i;
  }
  g_autofree char *nics = ls_cluster_read_key (base, "nics");
  g_auto (GStrv) sets = ls_config_get_names (reader->config, nics);
  for (guint i = 0; sets[i] != NULL; i++)
    read_nics (reader, base, sets[i], node);
  read_tuning (reader, base, node);
  return TRUE;
}
