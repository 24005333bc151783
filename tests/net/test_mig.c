/* A node whose GPUs are partitioned: its resources, names and routes, and collectives between instances
 * against the alpha-beta formula of what they really cross. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "net/topology.h"
#include "scenario_text.h"

static TestScenario read_node (const char *node) {
  g_autofree char *text = g_strdup_printf ("cluster: {node: %s}\n", node);
  TestScenario scenario = test_scenario (NULL, text, NULL);
  g_autofree char *faults = test_scenario_faults (&scenario);
  ck_assert_str_eq (faults, "");
  return scenario;
}

/* Two of 3g and seven of 1g on two GPUs: numbers, names, capacities. */
START_TEST (resources_of_instances) {
  TestScenario scenario =
      read_node ("{gpu: h100-sxm-80gb, gpus: 2, mig: 1g.10gb, mig_gpus: {0: [3g.40gb, 3g.40gb]}}");
  const LsCluster *cluster = scenario.cluster;
  ck_assert_uint_eq (ls_cluster_n_gpus (cluster), 9);
  g_autoptr (LsTopology) topology = ls_topology_new (cluster, NULL);
  double sum[2] = {0, 0};
  for (guint gpu = 0; gpu < 9; gpu++) {
    g_autofree char *name = ls_cluster_device_name (cluster, gpu);
    g_autofree char *expected = gpu < 2 ? g_strdup_printf ("main[0]/gpu0/mig%u", gpu)
                                        : g_strdup_printf ("main[0]/gpu1/mig%u", gpu - 2);
    g_autofree char *hbm = ls_topology_resource_name (topology, topology->hbm[gpu]);
    g_autofree char *pcie = ls_topology_resource_name (topology, topology->pcie_up[gpu]);
    g_autofree char *with_hbm = g_strconcat (expected, "/hbm", NULL);
    ck_assert_str_eq (name, expected);
    ck_assert_str_eq (hbm, with_hbm);
    ck_assert_str_eq (pcie, gpu < 2 ? "main[0]/gpu0/pcie.up" : "main[0]/gpu1/pcie.up");
    ck_assert_uint_eq (topology->link_up[gpu], LS_NO_NUMBER);
    sum[gpu < 2 ? 0 : 1] += ls_topology_resource (topology, topology->hbm[gpu])->per_s;
  }
  double whole = ls_cluster_node (cluster, 0)->device.hbm_bytes_per_s;
  ck_assert (fabs (sum[0] / whole - 1) < 1e-12);
  ck_assert (fabs (sum[1] / (whole * 7 / 8) - 1) < 1e-12);
  /* 3g has three copy engines, 1g one; each keeps one direction of PCIe full. */
  double link = ls_topology_resource (topology, topology->pcie_up[0])->per_s;
  ck_assert (ls_topology_resource (topology, topology->copy[0])->per_s == 3 * link);
  ck_assert (ls_topology_resource (topology, topology->copy[8])->per_s == link);
  test_scenario_clear (&scenario);
}
END_TEST

/* Ring all-reduce of two instances under the ideal protocol: 2 (p - 1) rounds of N / p; a GPU's PCIe carries
 * both sends each way, so on one GPU a round takes 2 (N / p) / B, on two GPUs (N / p) / B. */
START_TEST (instances_talk_through_the_host) {
  const gint64 bytes = 1 << 30;
  TestScenario scenario =
      read_node ("{gpu: h100-sxm-80gb, gpus: 2, mig: 1g.10gb, tuning: {protocol: ideal}, "
                 "host: {memory_bandwidth: 10 TB/s}}");
  LsNet *net = ls_net_new (scenario.cluster, NULL);
  const LsDescriptor what = {
      .op = LS_COLLECTIVE_ALL_REDUCE, .algorithm = LS_ALGORITHM_RING, .bytes = bytes};
  const guint same[] = {0, 3}, other[] = {0, 9};
  double link = ls_cluster_node (scenario.cluster, 0)->pcie_bytes_per_s;
  double one = ls_net_estimate (net, same, 2, &what).time_s;
  double two = ls_net_estimate (net, other, 2, &what).time_s;
  ck_assert_msg (fabs (one / (2.0 * (double) bytes / link) - 1) < 1e-6, "%g s", one);
  ck_assert_msg (fabs (two / ((double) bytes / link) - 1) < 1e-6, "%g s", two);
  ls_net_free (net);
  test_scenario_clear (&scenario);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, resources_of_instances);
  tcase_add_test (tcase, instances_talk_through_the_host);
}

int main (void) {
  Suite *suite = suite_create ("mig");
  TCase *tcase = tcase_create ("mig");
  add (tcase);
  suite_add_tcase (suite, tcase);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
