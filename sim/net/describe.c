/* The cluster as text for people: `check --topology` and `check --route A B`. */
#include <math.h>

#include "base/assert.h"
#include "base/time.h"
#include "net/net.h"
#include "net/plan.h"

static char *rate (double bytes_per_s) {
  return ls_quantity_format (bytes_per_s, LS_DIMENSION_BYTES_PER_S);
}

static char *seconds (gint64 ps) {
  return ls_quantity_format (ls_time_s_from_ps (ps), LS_DIMENSION_TIME);
}

static void describe_intra (GString *text, const LsNodeSpec *node) {
  g_autofree char *link = rate (node->link_bytes_per_s);
  g_autofree char *all = rate (node->links * node->link_bytes_per_s);
  g_autofree char *pcie = rate (node->pcie_bytes_per_s);
  double share = ls_node_link_efficiency (node) * 100;
  g_autofree char *gpus =
      node->gpus == 1 ? g_strdup ("gpu0") : g_strdup_printf ("gpu0 .. gpu%u", node->gpus - 1);
  const char *name = node->link != NULL ? node->link->title : "link";
  if (node->joint == LS_JOINT_SWITCH)
    g_string_append_printf (text, "  %s --- %u x %s: %s each way, %.1f %% reached --- switches%s\n",
                            gpus, node->links, name, all, share,
                            node->in_network ? " (reduce in the network)" : "");
  else if (node->joint != LS_JOINT_NONE)
    g_string_append_printf (text, "  %s --- %s of %u x %s: %s per link each way, %.1f %% reached\n",
                            gpus, ls_joint_name (node->joint), node->links, name, link, share);
  g_string_append_printf (text, "  %s --- PCIe: %s each way, %.1f %% reached", gpus, pcie,
                          node->pcie_efficiency * 100);
  if (node->gpus_per_pcie_root > 1)
    g_string_append_printf (text, " --- %u to a root port", node->gpus_per_pcie_root);
  g_string_append (text, " --- host\n");
}

/* The links between each two GPUs of a mesh, as `nvidia-smi topo -m` shows them. */
static void describe_mesh (GString *text, const LsNodeSpec *node) {
  if (node->joint == LS_JOINT_NONE || node->joint == LS_JOINT_SWITCH || node->gpus > 16)
    return;
  g_string_append (text, "  links  ");
  for (guint b = 0; b < node->gpus; b++)
    g_string_append_printf (text, " gpu%-2u", b);
  for (guint a = 0; a < node->gpus; a++) {
    g_string_append_printf (text, "\n    gpu%-2u", a);
    for (guint b = 0; b < node->gpus; b++) {
      int links = ls_node_links_between (node->joint, (int) node->gpus, (int) node->links, (int) a,
                                         (int) b);
      if (links > 0)
        g_string_append_printf (text, "%5d ", links);
      else
        g_string_append (text, a == b ? "    - " : "    . ");
    }
  }
  g_string_append_c (text, '\n');
}

static void describe_host (GString *text, const LsNodeSpec *node) {
  g_autofree char *memory =
      ls_quantity_format ((double) node->host_memory_bytes, LS_DIMENSION_BYTES);
  g_autofree char *dram = rate (node->host_memory_bytes_per_s);
  g_autofree char *nvme = rate (node->nvme_bytes_per_s);
  g_string_append_printf (text, "  host: %u cores, %s of memory at %s", node->host_cores, memory,
                          dram);
  if (node->nvme_bytes_per_s > 0)
    g_string_append_printf (text, ", drives at %s", nvme);
  g_string_append_c (text, '\n');
}

static void describe_group (GString *text, const LsCluster *cluster, guint g) {
  const LsNodeGroup *group = ls_cluster_group (cluster, g);
  const LsNodeSpec *node = &group->node;
  g_autofree char *hbm = ls_quantity_format ((double) node->gpu->hbm_bytes, LS_DIMENSION_BYTES);
  g_string_append_printf (text, "%s: %u node%s of %u x %s (%s)%s%s\n", group->name, group->nodes,
                          group->nodes == 1 ? "" : "s", node->gpus, node->gpu->title, hbm,
                          node->preset != NULL ? ", shape " : "",
                          node->preset != NULL ? node->preset->name : "");
  describe_intra (text, node);
  describe_mesh (text, node);
  describe_host (text, node);
  for (guint i = 0; i < node->n_nic_sets; i++) {
    const LsNicSet *set = &node->nic_sets[i];
    g_autofree char *per_s = rate (set->bytes_per_s);
    g_string_append_printf (text, "  %s: %u x %s at %s each way, %.1f %% reached, on fabric %s\n",
                            set->name, set->count, set->nic != NULL ? set->nic->title : "adapter",
                            per_s, ls_nic_set_efficiency (cluster, node, set) * 100,
                            ls_cluster_fabric (cluster, set->fabric)->name);
  }
}

static void describe_fabric (GString *text, const LsTopology *topology, guint f) {
  const LsFabricSpec *fabric = ls_cluster_fabric (topology->cluster, f);
  const LsFabricMap *map = &topology->fabrics[f];
  g_autofree char *hop = seconds (fabric->hop_latency_ps);
  if (topology->n_nodes < 2 && !ls_cluster_storage (topology->cluster)->present)
    return;
  g_string_append_printf (text, "fabric %s: %s, %s through a switch%s%s\n", fabric->name,
                          ls_fabric_kind_name (fabric->kind), hop,
                          fabric->kind == LS_FABRIC_FAT_TREE ? ", routing " : "",
                          fabric->kind == LS_FABRIC_FAT_TREE ? ls_routing_name (fabric->routing)
                                                             : "");
  (void) map;
}

char *ls_net_describe (const LsCluster *cluster) {
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  const LsStorageSpec *storage = ls_cluster_storage (cluster);
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "%u GPUs in %u node%s\n", ls_cluster_n_gpus (cluster),
                          ls_cluster_n_nodes (cluster),
                          ls_cluster_n_nodes (cluster) == 1 ? "" : "s");
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++)
    describe_group (text, cluster, g);
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++)
    describe_fabric (text, topology, f);
  if (storage->present) {
    g_autofree char *reads = rate (storage->read_bytes_per_s);
    g_autofree char *writes = rate (storage->write_bytes_per_s);
    g_autofree char *latency = seconds (storage->latency_ps);
    g_string_append_printf (
        text, "storage: reads %s, writes %s, %s to the first byte, on fabric %s\n", reads, writes,
        latency, ls_cluster_fabric (cluster, storage->fabric)->name);
  }
  return g_string_free (text, FALSE);
}

char *ls_topology_describe_route (const LsTopology *topology, guint gpu_a, guint gpu_b) {
  GString *text = g_string_new (NULL);
  if (gpu_a == gpu_b) {
    g_string_append_printf (text, "GPU %u to itself: no link\n", gpu_a);
    return g_string_free (text, FALSE);
  }
  LsUsages usages;
  guint n;
  double sent, received, slowest = INFINITY;
  ls_usages_init (&usages, ls_topology_n_resources (topology));
  LsHop hop = ls_route_gpus (topology, &usages, gpu_a, gpu_b, 1);
  g_autofree LsAmount *amounts = ls_usages_take (&usages, &n, &sent, &received);
  ls_usages_clear (&usages);
  g_string_append_printf (text, "GPU %u to GPU %u, %s\n", gpu_a, gpu_b,
                          hop == LS_HOP_NET    ? "over the network"
                          : hop == LS_HOP_LINK ? "over links of their node"
                                               : "over PCIe");
  g_string_append_printf (text, "  %8s  %12s  %s\n", "share", "capacity", "resource");
  for (guint i = 0; i < n; i++) {
    const LsNetResource *resource = ls_topology_resource (topology, amounts[i].resource);
    g_autofree char *per_s = rate (resource->per_s);
    g_autofree char *name = ls_topology_resource_name (topology, amounts[i].resource);
    g_string_append_printf (text, "  %6.1f %%  %12s  %s\n", amounts[i].amount * 100, per_s, name);
    slowest = MIN (slowest, resource->per_s / amounts[i].amount);
  }
  g_autofree char *at_most = rate (slowest);
  g_string_append_printf (text, "  at most %s\n", at_most);
  return g_string_free (text, FALSE);
}
