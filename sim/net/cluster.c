/* The record of a cluster: ownership, numbering of nodes and GPUs, presets. Reading it from a
 * scenario is in cluster_read.c. */
#include "net/cluster.h"

#include <string.h>

#include "base/assert.h"

struct LsCluster {
  guint n_groups, n_fabrics;
  guint n_nodes, n_gpus;
  LsNodeGroup *groups;
  LsFabricSpec *fabrics;
  LsStorageSpec storage;
  GArray *overrides; /* LsLinkOverride */
  LsClusterScale scale;
};

/* Numbers nodes and GPUs of `cluster` in the order of its groups. */
static void number (LsCluster *cluster) {
  for (guint i = 0; i < cluster->n_groups; i++) {
    LsNodeGroup *group = &cluster->groups[i];
    group->first_node = cluster->n_nodes;
    group->first_gpu = cluster->n_gpus;
    cluster->n_nodes += group->nodes;
    cluster->n_gpus += group->nodes * group->node.gpus;
  }
}

static void require_node (const LsNodeSpec *node, guint n_fabrics) {
  LS_REQUIRE ((node->gpu != NULL) == (node->gpus > 0), "%u GPUs of no kind", node->gpus);
  LS_REQUIRE (node->joint == LS_JOINT_NONE || (node->links > 0 && node->link_bytes_per_s > 0),
              "links of a node");
  LS_REQUIRE (node->pcie_bytes_per_s > 0 && node->host_memory_bytes_per_s > 0, "host of a node");
  LS_REQUIRE (node->n_nic_sets <= LS_MAX_NIC_SETS, "%u sets of adapters", node->n_nic_sets);
  for (guint i = 0; i < node->n_nic_sets; i++)
    LS_REQUIRE (node->nic_sets[i].count > 0 && node->nic_sets[i].bytes_per_s > 0 &&
                    node->nic_sets[i].fabric < n_fabrics,
                "adapters %s", node->nic_sets[i].name);
}

static void require_fabric (const LsFabricSpec *fabric) {
  LS_REQUIRE (fabric->rails > 0 && fabric->leaf_radix > 1 && fabric->oversubscription >= 1,
              "fabric %s", fabric->name);
  LS_REQUIRE (fabric->kind != LS_FABRIC_TORUS || fabric->n_dimensions > 0, "torus %s",
              fabric->name);
  LS_REQUIRE (fabric->kind != LS_FABRIC_DRAGONFLY ||
                  (fabric->groups > 0 && fabric->group_leaves > 0 && fabric->group_spines > 0 &&
                   fabric->nodes_per_leaf > 0),
              "dragonfly+ %s", fabric->name);
}

LsCluster *ls_cluster_new_from (const LsNodeGroup *groups, guint n_groups,
                                const LsFabricSpec *fabrics, guint n_fabrics,
                                const LsStorageSpec *storage) {
  LsCluster *cluster = g_new0 (LsCluster, 1);
  cluster->scale = (LsClusterScale){1, 1, 1, 1, 1, 1, 1};
  cluster->n_groups = n_groups;
  cluster->n_fabrics = n_fabrics;
  cluster->groups = g_new0 (LsNodeGroup, n_groups);
  cluster->fabrics = g_new0 (LsFabricSpec, n_fabrics + 1);
  for (guint i = 0; i < n_groups; i++) {
    LS_REQUIRE (groups[i].nodes > 0, "group %s without nodes", groups[i].name);
    require_node (&groups[i].node, n_fabrics);
    cluster->groups[i] = groups[i];
    cluster->groups[i].name = g_strdup (groups[i].name);
    ls_mig_ref (groups[i].node.mig);
    for (guint j = 0; j < groups[i].node.n_nic_sets; j++)
      cluster->groups[i].node.nic_sets[j].name = g_strdup (groups[i].node.nic_sets[j].name);
  }
  for (guint i = 0; i < n_fabrics; i++) {
    require_fabric (&fabrics[i]);
    cluster->fabrics[i] = ls_fabric_spec_copy (&fabrics[i]);
  }
  cluster->overrides = g_array_new (FALSE, TRUE, sizeof (LsLinkOverride));
  if (storage != NULL)
    cluster->storage = *storage;
  number (cluster);
  return cluster;
}

/* Does `target` name a link of fabric `name`? */
static gboolean is_of_fabric (const char *target, const char *name) {
  gsize n = strlen (name);
  return strncmp (target, name, n) == 0 && target[n] == '/';
}

void ls_cluster_add_override (LsCluster *cluster, const LsLinkOverride *override) {
  LsLinkOverride copy = *override;
  copy.name = g_strdup (override->name);
  copy.target = g_strdup (override->target);
  g_array_append_val (cluster->overrides, copy);
  for (guint i = 0; i < cluster->n_fabrics; i++)
    if (is_of_fabric (copy.target, cluster->fabrics[i].name))
      cluster->fabrics[i].single_links = TRUE;
}

void ls_cluster_set_scale (LsCluster *cluster, const LsClusterScale *scale) {
  const double *factors = &scale->link;
  for (guint i = 0; i < sizeof *scale / sizeof *factors; i++)
    LS_REQUIRE (factors[i] > 0, "factor %u", i);
  cluster->scale = *scale;
}

const LsClusterScale *ls_cluster_scale (const LsCluster *cluster) {
  return &cluster->scale;
}

void ls_cluster_free (LsCluster *cluster) {
  if (cluster == NULL)
    return;
  for (guint i = 0; i < cluster->n_groups; i++) {
    g_free (cluster->groups[i].name);
    ls_mig_unref (cluster->groups[i].node.mig);
    for (guint j = 0; j < cluster->groups[i].node.n_nic_sets; j++)
      g_free (cluster->groups[i].node.nic_sets[j].name);
  }
  for (guint i = 0; i < cluster->n_fabrics; i++)
    ls_fabric_spec_clear (&cluster->fabrics[i]);
  for (guint i = 0; i < cluster->overrides->len; i++) {
    g_free (g_array_index (cluster->overrides, LsLinkOverride, i).name);
    g_free (g_array_index (cluster->overrides, LsLinkOverride, i).target);
  }
  g_array_unref (cluster->overrides);
  g_free (cluster->groups);
  g_free (cluster->fabrics);
  g_free (cluster);
}

void ls_node_spec_from_preset (LsNodeSpec *spec, const LsNode *preset) {
  *spec = (LsNodeSpec){
      .preset = preset,
      .gpu = ls_accelerator_find (preset->gpu, NULL),
      .gpus = (guint) preset->gpus,
      .joint = preset->joint,
      .in_network = preset->in_network,
      .gpus_per_pcie_root = (guint) MAX (1, preset->gpus_per_pcie_root),
      .host_cores = (guint) preset->host_cores,
      .host_memory_bytes = preset->host_memory_bytes,
      .host_memory_bytes_per_s = preset->host_memory_bytes_per_s,
      .nvme_bytes_per_s = preset->nvme_bytes_per_s,
      .nvme_bytes = preset->nvme_bytes,
      .hosts = (guint) MAX (1, preset->hosts),
      .sockets = (guint) MAX (1, preset->host_sockets),
      .launch_ps = -1,
      .hop_ps = -1,
  };
  for (guint i = 0; i < G_N_ELEMENTS (preset->torus) && preset->torus[i] > 0; i++) {
    spec->size[spec->n_dimensions] = (guint) preset->torus[i];
    spec->wrap[spec->n_dimensions++] = preset->wrapped;
  }
  const LsLink *socket = ls_link_socket (preset->pcie_generation);
  spec->socket_bytes_per_s = socket->bytes_per_s;
  spec->socket_efficiency = socket->efficiency.value;
  LS_REQUIRE (spec->gpu != NULL, "node %s has the unknown GPU %s", preset->name, preset->gpu);
  ls_device_init (&spec->device, spec->gpu, LS_CLOCK_SUSTAINED, NULL);
  if (preset->link != NULL) {
    spec->link = ls_link_find (preset->link, NULL);
    LS_REQUIRE (spec->link != NULL, "node %s has the unknown link %s", preset->name, preset->link);
    spec->link_bytes_per_s = spec->link->bytes_per_s;
    spec->links = (guint) spec->gpu->links;
  }
  const LsLink *pcie = ls_link_pcie (preset->pcie_generation);
  if (pcie == NULL)
    pcie = ls_link_pcie (3);
  spec->pcie_bytes_per_s = pcie->bytes_per_s;
  spec->pcie_efficiency = pcie->efficiency.value;
  if (preset->nic != NULL && preset->nics > 0) {
    const LsNic *nic = ls_nic_find (preset->nic, NULL);
    LS_REQUIRE (nic != NULL, "node %s has the unknown adapter %s", preset->name, preset->nic);
    spec->n_nic_sets = 1;
    spec->nic_sets[0] = (LsNicSet){.name = (char *) "compute",
                                   .nic = nic,
                                   .bytes_per_s = nic->bytes_per_s,
                                   .count = (guint) preset->nics};
  }
}

guint ls_cluster_n_gpus (const LsCluster *cluster) {
  return cluster->n_gpus;
}

guint ls_cluster_n_instances (const LsCluster *cluster) {
  guint n = 0;

  for (guint node = 0; node < cluster->n_nodes; node++) {
    const LsNodeSpec *spec = ls_cluster_node (cluster, node);
    n += spec->mig != NULL ? spec->mig->n : 0;
  }
  return n;
}

guint ls_cluster_n_nodes (const LsCluster *cluster) {
  return cluster->n_nodes;
}

guint ls_cluster_n_groups (const LsCluster *cluster) {
  return cluster->n_groups;
}

guint ls_cluster_n_fabrics (const LsCluster *cluster) {
  return cluster->n_fabrics;
}

const LsNodeGroup *ls_cluster_group (const LsCluster *cluster, guint group) {
  LS_REQUIRE (group < cluster->n_groups, "group %u", group);
  return &cluster->groups[group];
}

const LsFabricSpec *ls_cluster_fabric (const LsCluster *cluster, guint fabric) {
  LS_REQUIRE (fabric < cluster->n_fabrics, "fabric %u", fabric);
  return &cluster->fabrics[fabric];
}

const LsStorageSpec *ls_cluster_storage (const LsCluster *cluster) {
  return &cluster->storage;
}

/* The group that GPU number `gpu` lies in. Few groups: a linear search. */
static const LsNodeGroup *group_of_gpu (const LsCluster *cluster, guint gpu) {
  LS_REQUIRE (gpu < cluster->n_gpus, "GPU %u of %u", gpu, cluster->n_gpus);
  guint i = cluster->n_groups - 1;
  while (cluster->groups[i].first_gpu > gpu)
    i--;
  return &cluster->groups[i];
}

const LsAccelerator *ls_cluster_gpu (const LsCluster *cluster, guint gpu) {
  const LsNodeSpec *node = &group_of_gpu (cluster, gpu)->node;
  return node->mig != NULL ? node->mig->instances[ls_cluster_gpu_local (cluster, gpu)].accelerator
                           : node->gpu;
}

const LsDevice *ls_cluster_device (const LsCluster *cluster, guint gpu) {
  const LsNodeSpec *node = &group_of_gpu (cluster, gpu)->node;
  return node->mig != NULL ? &node->mig->instances[ls_cluster_gpu_local (cluster, gpu)].device
                           : &node->device;
}

guint ls_node_n_physical (const LsNodeSpec *node) {
  return node->mig != NULL ? node->mig->n_gpus : node->gpus;
}

guint ls_node_physical (const LsNodeSpec *node, guint local) {
  return node->mig != NULL ? node->mig->instances[local].gpu : local;
}

guint ls_node_first_device (const LsNodeSpec *node, guint physical) {
  return node->mig != NULL ? ls_mig_first (node->mig, physical) : physical;
}

char *ls_node_device_name (const LsNodeSpec *node, guint local) {
  if (node->mig == NULL)
    return g_strdup_printf ("gpu%u", local);
  return g_strdup_printf ("gpu%u/mig%u", node->mig->instances[local].gpu,
                          node->mig->instances[local].number);
}

char *ls_cluster_device_name (const LsCluster *cluster, guint gpu) {
  guint node = ls_cluster_gpu_node (cluster, gpu);
  g_autofree char *host = ls_cluster_node_name (cluster, node);
  g_autofree char *device =
      ls_node_device_name (ls_cluster_node (cluster, node), ls_cluster_gpu_local (cluster, gpu));
  return g_strconcat (host, "/", device, NULL);
}

guint ls_cluster_gpu_node (const LsCluster *cluster, guint gpu) {
  const LsNodeGroup *group = group_of_gpu (cluster, gpu);
  return group->first_node + (gpu - group->first_gpu) / group->node.gpus;
}

guint ls_cluster_gpu_local (const LsCluster *cluster, guint gpu) {
  const LsNodeGroup *group = group_of_gpu (cluster, gpu);
  return (gpu - group->first_gpu) % group->node.gpus;
}

guint ls_cluster_node_group (const LsCluster *cluster, guint node) {
  LS_REQUIRE (node < cluster->n_nodes, "node %u of %u", node, cluster->n_nodes);
  guint i = cluster->n_groups - 1;
  while (cluster->groups[i].first_node > node)
    i--;
  return i;
}

guint ls_cluster_node_first_gpu (const LsCluster *cluster, guint node) {
  const LsNodeGroup *group = &cluster->groups[ls_cluster_node_group (cluster, node)];
  return group->first_gpu + (node - group->first_node) * group->node.gpus;
}

const LsNodeSpec *ls_cluster_node (const LsCluster *cluster, guint node) {
  return &cluster->groups[ls_cluster_node_group (cluster, node)].node;
}

char *ls_cluster_node_name (const LsCluster *cluster, guint node) {
  const LsNodeGroup *group = &cluster->groups[ls_cluster_node_group (cluster, node)];
  return g_strdup_printf ("%s[%u]", group->name, node - group->first_node);
}

const LsNicSet *ls_node_compute_nics (const LsNodeSpec *node) {
  for (guint i = 0; i < node->n_nic_sets; i++)
    if (g_str_equal (node->nic_sets[i].name, "compute"))
      return &node->nic_sets[i];
  return node->n_nic_sets > 0 ? &node->nic_sets[0] : NULL;
}

guint ls_cluster_n_overrides (const LsCluster *cluster) {
  return cluster->overrides->len;
}

const LsLinkOverride *ls_cluster_override (const LsCluster *cluster, guint i) {
  LS_REQUIRE (i < cluster->overrides->len, "override %u", i);
  return &g_array_index (cluster->overrides, LsLinkOverride, i);
}

guint ls_node_adapters (const LsNodeSpec *node, guint fabric) {
  guint n = 0;
  for (guint i = 0; i < node->n_nic_sets; i++)
    n += node->nic_sets[i].fabric == fabric ? node->nic_sets[i].count : 0;
  return n;
}

guint ls_node_gpu_socket (const LsNodeSpec *node, guint local) {
  guint gpu = ls_node_physical (node, local);
  return node->sockets > 1 ? (guint) ((guint64) gpu * node->sockets / ls_node_n_physical (node))
                           : 0;
}

guint ls_node_nic_socket (const LsNodeSpec *node, const LsNicSet *set, guint nic) {
  return node->sockets > 1 ? (guint) ((guint64) nic * node->sockets / set->count) : 0;
}
