/* Building the clusters of clusters.h. */
#include "clusters.h"

#include "base/assert.h"

LsCluster *test_cluster (const TestCluster *test) {
  guint nics = test->nics > 0 ? test->nics : test->gpus;
  LsFabricSpec fabric = {.name = (char *) "compute",
                         .kind = test->kind,
                         .routing = test->routing,
                         .rails = test->rails > 0 ? test->rails : nics,
                         .leaf_radix = test->leaf_radix > 0 ? test->leaf_radix : 64,
                         .oversubscription =
                             test->oversubscription > 0 ? test->oversubscription : 1,
                         .hop_ps = test->alpha_across_ps,
                         .step_ps = -1};
  LsNodeGroup group = {.name = (char *) "main", .nodes = test->nodes};
  group.node = (LsNodeSpec){.gpu = ls_accelerator_find ("h100-sxm-80gb", NULL),
                            .gpus = test->gpus,
                            .joint = test->joint,
                            .link = ls_link_find ("nvlink4", NULL),
                            .links = 1,
                            .link_bytes_per_s = test->inside_bytes_per_s,
                            .in_network = test->in_network,
                            .gpus_per_pcie_root = 1,
                            .pcie_bytes_per_s = 1e12,
                            .pcie_efficiency = 1,
                            .n_nic_sets = 1,
                            .host_cores = 64,
                            .host_memory_bytes = 1 << 30,
                            .host_memory_bytes_per_s = 1e13,
                            .ideal = TRUE,
                            .launch_ps = -1,
                            .hop_ps = test->alpha_inside_ps};
  LS_REQUIRE (group.node.gpu != NULL && group.node.link != NULL, "catalogue");
  if (test->joint == LS_JOINT_NONE) {
    group.node.link = NULL;
    group.node.pcie_bytes_per_s = test->inside_bytes_per_s;
  }
  group.node.nic_sets[0] = (LsNicSet){
      .name = (char *) "compute", .bytes_per_s = test->across_bytes_per_s, .count = nics};
  ls_device_init (&group.node.device, group.node.gpu, LS_CLOCK_SUSTAINED, NULL);
  return ls_cluster_new_from (&group, 1, &fabric, 1, NULL);
}

LsCluster *test_preset (const char *preset, guint nodes) {
  const LsNode *row = ls_node_find (preset, NULL);
  LS_REQUIRE (row != NULL, "preset %s", preset);
  LsNodeGroup group = {.name = (char *) "main", .nodes = nodes};
  ls_node_spec_from_preset (&group.node, row);
  LsFabricSpec fabric = {.name = (char *) "compute",
                         .hop_latency_ps = 500000,
                         .rails = (guint) MAX (1, row->nics),
                         .leaf_radix = 64,
                         .oversubscription = 1,
                         .hop_ps = -1,
                         .step_ps = -1};
  return ls_cluster_new_from (&group, 1, &fabric, 1, NULL);
}

guint *test_range (guint n) {
  guint *gpus = g_new (guint, n);
  for (guint i = 0; i < n; i++)
    gpus[i] = i;
  return gpus;
}
