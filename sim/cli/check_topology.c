/* The cluster as `lockstep check --topology --json` shows it: groups of nodes, what joins their GPUs,
 * the fabrics. Rates are those of the data sheets, one direction. The text is ls_net_describe(). */
#include "base/time.h"
#include "cli/check_tables.h"
#include "net/topology.h"

void ls_check_topology_json (LsJson *json, const LsScenario *scenario) {
  const LsCluster *cluster = scenario->cluster;
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  double sent;

  ls_json_open_object (json, "topology");
  ls_json_open_array (json, "groups");
  for (guint i = 0; i < ls_cluster_n_groups (cluster); i++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, i);
    const LsNicSet *nics = ls_node_compute_nics (&group->node);

    ls_json_open_object (json, NULL);
    ls_json_string (json, "name", group->name);
    ls_json_integer (json, "nodes", group->nodes);
    ls_json_string (json, "preset", group->node.preset ? group->node.preset->name : NULL);
    ls_json_string (json, "gpu", group->node.gpu ? group->node.gpu->name : NULL);
    ls_json_integer (json, "gpus", group->node.gpus);
    ls_json_string (json, "joint", ls_joint_name (group->node.joint));
    ls_json_number (json, "link_bytes_per_s", group->node.link_bytes_per_s * group->node.links);
    ls_json_number (json, "pcie_bytes_per_s", group->node.pcie_bytes_per_s);
    if (nics) {
      ls_json_integer (json, "nics", nics->count);
      ls_json_number (json, "nic_bytes_per_s", nics->bytes_per_s);
    }
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_open_array (json, "fabrics");
  for (guint i = 0; i < ls_cluster_n_fabrics (cluster); i++) {
    const LsFabricSpec *fabric = ls_cluster_fabric (cluster, i);

    ls_json_open_object (json, NULL);
    ls_json_string (json, "name", fabric->name);
    ls_json_string (json, "kind", ls_fabric_kind_name (fabric->kind));
    ls_json_string (json, "routing", ls_routing_name (fabric->routing));
    ls_json_number (json, "link_bytes_per_s", fabric->link_bytes_per_s);
    ls_json_number (json, "hop_latency_s", ls_time_s_from_ps (fabric->hop_latency_ps));
    ls_json_integer (json, "rails", fabric->rails);
    ls_json_number (json, "oversubscription", fabric->oversubscription);
    ls_json_integer (json, "tiers", topology->fabrics[i].tiers);
    ls_json_number (json, "bisection_bytes_per_s", ls_topology_bisection (topology, i, &sent));
    ls_json_number (json, "injection_bytes_per_s", sent);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_close (json);
}
