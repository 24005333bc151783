/* `cluster` in scenario files: shipped topologies, short forms, defaults, and every fault of meaning
 * with the place and the words of its message. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "clusters.h"
#include "config/tables.h"

typedef struct {
  LsConfigSchema *schema;
  LsConfigErrors *errors;
  LsConfigBuilder *builder;
  LsConfig *config;
  LsCluster *cluster;
} Bench;

/* Reads `text` (NULL: none) over the file (NULL: none), with one --set (NULL: none). */
static Bench read_cluster (const char *file, const char *text, const char *set) {
  static const LsConfigKey *const tables[] = {ls_config_keys, ls_config_later_keys, ls_cluster_keys,
                                              NULL};
  Bench bench = {.schema = ls_config_schema_new (tables), .errors = ls_config_errors_new ()};
  bench.builder = ls_config_builder_new (bench.schema);
  if (file != NULL) {
    g_autofree char *path = g_build_filename (LS_TEST_SOURCE_DIR, file, NULL);
    ls_config_builder_add_file (bench.builder, path);
  }
  if (text != NULL)
    ls_config_builder_add_text (bench.builder, "test.yaml", text, -1);
  if (set != NULL)
    ls_config_builder_set (bench.builder, set);
  ls_config_builder_optional (bench.builder, "lockstep");
  ls_config_builder_optional (bench.builder, "jobs");
  bench.config = ls_config_builder_build (bench.builder, bench.errors);
  if (bench.config != NULL && ls_config_is_readable (bench.config))
    bench.cluster = ls_cluster_new (bench.config, bench.errors);
  return bench;
}

static void finish (Bench *bench) {
  ls_cluster_free (bench->cluster);
  ls_config_free (bench->config);
  ls_config_builder_free (bench->builder);
  ls_config_errors_free (bench->errors);
  ls_config_schema_free (bench->schema);
}

static LsCluster *good (Bench *bench) {
  g_autofree char *text = ls_config_errors_text (bench->errors);
  ck_assert_msg (bench->cluster != NULL && text[0] == '\0', "faults:\n%s", text);
  return bench->cluster;
}

START_TEST (shipped_topologies) {
  static const struct {
    const char *file;
    guint gpus, fabrics;
  } rows[] = {{"topologies/dgx1-v100.yaml", 8, 1},
              {"topologies/dgx-a100.yaml", 128, 2},
              {"topologies/dgx-h100.yaml", 64, 2},
              {"topologies/pcie-workstation.yaml", 0, 1},
              {"topologies/cloud-8gpu.yaml", 8, 1}};
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Bench bench = read_cluster (rows[i].file, NULL, NULL);
    LsCluster *cluster = good (&bench);
    if (rows[i].gpus > 0)
      ck_assert_uint_eq (ls_cluster_n_gpus (cluster), rows[i].gpus);
    ck_assert_uint_eq (ls_cluster_n_fabrics (cluster), rows[i].fabrics);
    g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
    guint gpus[] = {0, 1};
    LsDescriptor all_reduce = {.op = LS_COLLECTIVE_ALL_REDUCE, .bytes = 1 << 26};
    ck_assert (ls_net_estimate (net, gpus, 2, &all_reduce).time_s > 0);
    g_autofree char *text = ls_net_describe (cluster);
    ck_assert_ptr_nonnull (strstr (text, ls_cluster_gpu (cluster, 0)->title));
    finish (&bench);
  }
}
END_TEST

START_TEST (nodes_can_be_overridden) {
  Bench bench = read_cluster ("topologies/dgx-a100.yaml", NULL, "cluster.nodes=128");
  ck_assert_uint_eq (ls_cluster_n_gpus (good (&bench)), 1024);
  ck_assert_uint_eq (ls_cluster_gpu_node (bench.cluster, 1023), 127);
  ck_assert_uint_eq (ls_cluster_gpu_local (bench.cluster, 1023), 7);
  finish (&bench);
}
END_TEST

/* A preset alone; nodes default to one, the fabric to the defaults. */
START_TEST (short_form) {
  Bench bench = read_cluster (NULL, "cluster: {nodes: 2, node: dgx-h100}", NULL);
  const LsCluster *cluster = good (&bench);
  const LsNodeSpec *node = ls_cluster_node (cluster, 0);
  ck_assert_uint_eq (node->gpus, 8);
  ck_assert_uint_eq (node->nic_sets[0].count, 8);
  ck_assert (fabs (node->nic_sets[0].bytes_per_s - 50e9) < 1);
  ck_assert_str_eq (ls_cluster_fabric (cluster, 0)->name, "compute");
  ck_assert_uint_eq (ls_cluster_fabric (cluster, 0)->rails, 8);
  finish (&bench);
}
END_TEST

/* 72 adapters of a rack, and switches of 64 ports: up to 32 racks are under one leaf switch of each of 72 rails; more need
 * pods, and a pod of 32 leaf switches holds no rail of each: then 24 rails, of three adapters of a rack each. */
START_TEST (racks_of_many_adapters) {
  const struct { guint racks, rails; } cases[] = {{1, 72}, {32, 72}, {33, 24}, {80, 24}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *text =
        g_strdup_printf ("cluster: {nodes: %u, node: gb200-nvl72}", cases[i].racks);
    Bench bench = read_cluster (NULL, text, NULL);
    ck_assert_uint_eq (ls_cluster_fabric (good (&bench), 0)->rails, cases[i].rails);
    finish (&bench);
  }
}
END_TEST

/* Keys over a preset, and a node from nothing. */
START_TEST (keys_over_presets) {
  Bench bench =
      read_cluster (NULL,
                    "cluster:\n  node:\n    preset: dgx-a100\n    gpu: a100-sxm-40gb\n    nics: 4\n"
                    "    intra: {rate: 20 GB/s}\n    host: {pcie: pcie5, cores: 32}\n"
                    "    tuning: {protocol: ideal, hop: 2 us, efficiency: 90 %}\n",
                    NULL);
  const LsNodeSpec *node = ls_cluster_node (good (&bench), 0);
  ck_assert_str_eq (node->gpu->name, "a100-sxm-40gb");
  ck_assert_uint_eq (node->nic_sets[0].count, 4);
  ck_assert (fabs (node->link_bytes_per_s - 20e9) < 1);
  ck_assert (fabs (node->pcie_bytes_per_s - 63e9) < 1);
  ck_assert_uint_eq (node->host_cores, 32);
  ck_assert (node->ideal && node->hop_ps == 2000000);
  ck_assert (fabs (ls_node_link_efficiency (node) - 0.9) < 1e-12);
  finish (&bench);
  bench = read_cluster (NULL, "cluster: {nodes: 3, node: {gpu: l4, gpus: 4, nic: roce-100}}", NULL);
  node = ls_cluster_node (good (&bench), 0);
  ck_assert_int_eq (node->joint, LS_JOINT_NONE);
  ck_assert_uint_eq (node->nic_sets[0].count, 1);
  ck_assert_uint_eq (ls_cluster_n_gpus (bench.cluster), 12);
  finish (&bench);
}
END_TEST

/* One bad scenario per row: where, and words that the message must hold. */
START_TEST (faults) {
  static const struct {
    const char *text, *at, *words;
  } rows[] = {
      {"cluster: {node: dgx-h1000}", "test.yaml:1:", "dgx-h100"},
      {"cluster:\n  node: {gpu: h100sxm}", "test.yaml:2:", "h100-sxm"},
      {"cluster: {node: {gpus: 8}}", "test.yaml:1:", "preset"},
      {"cluster: {nodes: 2, node: {gpu: l4, gpus: 4}}", "test.yaml:1:", "adapters"},
      {"cluster: {node: {gpu: l4, gpus: 4, intra: switch}}", "test.yaml:1:", "links"},
      {"cluster: {node: {gpu: h100-sxm-80gb, gpus: 4, intra: cube-mesh}}", "test.yaml:1:", "8"},
      {"cluster: {node: {gpu: h100-sxm-80gb, intra: {kind: switch, link: nvlnk4}}}",
       "test.yaml:1:", "nvlink4"},
      {"cluster: {node: {preset: dgx-h100, nic: cx99}}", "test.yaml:1:", "cx99"},
      {"cluster: {node: {preset: dgx-h100, nics: {fast: {count: 2}}}}", "test.yaml:1:", "rate"},
      {"cluster: {nodes: 2, node: {preset: dgx-h100, nics: {compute: {fabric: blue}}}}",
       "test.yaml:1:", "blue"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {rails: 9}}", "test.yaml:1:", "9 rails"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {rails: 1, leaf_radix: 8}}",
       "test.yaml:1:", "leaf switch of 8 ports"},
      {"cluster: {nodes: 0, node: dgx-h100}", "test.yaml:1:", "nodes"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {link: 0 Gb/s}}", "test.yaml:1:", "link"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {link: 400}}", "test.yaml:1:", "Gb/s"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {oversubscription: 0.5}}",
       "test.yaml:1:", "oversubscription"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {kind: dragonfly}}",
       "test.yaml:1:", "dragonfly+"},
      {"cluster: {node: {preset: dgx-h100, mig: 3g.40gb@1}}", "test.yaml:1:", "from 0 or 4"},
      {"cluster: {node: dgx-h100, links: {a: {target: x, rate: 50 %}}}",
       "test.yaml:1:", "no link is called x"},
      {"cluster: {node: {preset: dgx-h100, tuning: {efficiency: 120 %}}}",
       "test.yaml:1:", "efficiency"},
      {"cluster: {node: dgx-h100, storage: {read: 1 GB/s}}", "test.yaml:1:", "write"},
      {"cluster: {node: dgx-h100, storage: {read: 1 GB/s, write: 1 GB/s, fabric: red}}",
       "test.yaml:1:", "red"},
      {"cluster: {node: {gpu: l4}, storage: {read: 1 GB/s, write: 1 GB/s}}",
       "test.yaml:1:", "adapter"},
      {"cluster: {groups: {a: {node: dgx-h100}, b: {node: {gpu: l4}}}}",
       "test.yaml:1:", "cannot reach the others"},
      {"cluster: {node: {preset: tpu-v4-host, gpus: 8}}", "test.yaml:1:", "multiply to 4"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Bench bench = read_cluster (NULL, rows[i].text, NULL);
    g_autofree char *text = ls_config_errors_text (bench.errors);
    ck_assert_msg (ls_config_errors_any (bench.errors), "accepted: %s", rows[i].text);
    ck_assert_msg (strstr (text, rows[i].at) != NULL && strstr (text, rows[i].words) != NULL,
                   "%s\nwants \"%s\" at %s, got:\n%s", rows[i].text, rows[i].words, rows[i].at,
                   text);
    finish (&bench);
  }
}
END_TEST

/* Keys that cannot matter are warned about and the cluster is built. */
START_TEST (keys_without_effect) {
  static const struct {
    const char *text, *words;
  } rows[] = {
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {kind: single-switch, routing: ecmp}}",
       "routing"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {hop_latency: 1 us, tuning: {hop: 9 us}}}",
       "hop_latency"},
      {"cluster: {node: {gpu: l4, gpus: 4, intra: {kind: pcie, links: 4}}}", "links"},
      {"cluster: {node: dgx-h100, fabric: {link: 100 Gb/s}}", "one node"},
      {"cluster: {nodes: 2, node: dgx-h100, fabric: {link: 800 Gb/s}}", "adapters"},
      {"cluster: {nodes: 2, node: {preset: dgx-h100, nics: {compute: {rate: 400 Gb/s}}}, "
       "fabric: {link: 200 Gb/s}}",
       "ports"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    Bench bench = read_cluster (NULL, rows[i].text, NULL);
    ck_assert_ptr_nonnull (bench.cluster);
    ls_config_warn_unused (bench.config, bench.errors);
    g_autofree char *text = ls_config_errors_text (bench.errors);
    ck_assert_msg (strstr (text, "warning") != NULL && strstr (text, rows[i].words) != NULL,
                   "%s: %s", rows[i].text, text);
    finish (&bench);
  }
}
END_TEST

/* Sum of the times of operations that together use everything in the cluster. */
static double times_of (const LsCluster *cluster) {
  static const LsDescriptor all[] = {
      {.op = LS_COLLECTIVE_ALL_REDUCE, .bytes = 1 << 28},
      {.op = LS_COLLECTIVE_ALL_TO_ALL, .bytes = 1 << 28},
      {.op = LS_COLLECTIVE_HOST_TO_DEVICE, .bytes = 1 << 28},
      {.op = LS_COLLECTIVE_STORAGE_READ, .bytes = 1 << 28},
      {.op = LS_COLLECTIVE_STORAGE_WRITE, .bytes = 1 << 28},
  };
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  g_autofree guint *gpus = test_range (ls_cluster_n_gpus (cluster));
  double sum = 0;
  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    sum += ls_net_estimate (net, gpus, ls_cluster_n_gpus (cluster), &all[i]).time_s;
    sum += ls_net_estimate (net, gpus, 4, &all[i]).time_s;
  }
  return sum;
}

/* An input that changes nothing is a fault of a simulator: every rate, latency and share of the
 * network, 10 % different, moves an answer. Rates that another hides are set low first. */
START_TEST (every_number_counts) {
  static const char *const linked =
      "cluster:\n  nodes: 16\n"
      "  node: {gpu: h100-sxm-80gb, gpus: 4, nics: {compute: {rate: 400 Gb/s, count: 4}},\n"
      "    intra: {kind: switch}}\n"
      "  fabric: {leaf_radix: 4, spine_radix: 64, oversubscription: 2}\n"
      "  storage: {read: 10 GB/s, write: 5 GB/s, latency: 1 ms}\n";
  static const char *const plain = "cluster: {node: {gpu: l4, gpus: 4, host: {nvme: 1 GB/s}}}";
  static const struct {
    gboolean linked;
    const char *key, *before, *after;
  } rows[] = {
      {TRUE, "groups.main.node.intra.rate", "25 GB/s", "27.5 GB/s"},
      {TRUE, "groups.main.node.nics.compute.rate", "400 Gb/s", "440 Gb/s"},
      {TRUE, "groups.main.node.tuning.efficiency", "80 %", "88 %"},
      {TRUE, "groups.main.node.tuning.launch", "10 us", "11 us"},
      {TRUE, "groups.main.node.tuning.hop", "10 us", "11 us"},
      {TRUE, "groups.main.node.host.pcie", "20 GB/s", "22 GB/s"},
      {TRUE, "fabrics.compute.link", "200 Gb/s", "220 Gb/s"},
      {TRUE, "fabrics.compute.hop_latency", "1 us", "1.1 us"},
      {TRUE, "fabrics.compute.oversubscription", "4", "4.4"},
      {TRUE, "fabrics.compute.tuning.efficiency", "80 %", "88 %"},
      {TRUE, "fabrics.compute.tuning.hop", "10 us", "11 us"},
      {TRUE, "storage.read", "10 GB/s", "11 GB/s"},
      {TRUE, "storage.write", "5 GB/s", "5.5 GB/s"},
      {TRUE, "storage.latency", "1 ms", "1.1 ms"},
      {FALSE, "groups.main.node.host.pcie", "10 GB/s", "11 GB/s"},
      {FALSE, "groups.main.node.host.memory_bandwidth", "50 GB/s", "55 GB/s"},
      {FALSE, "groups.main.node.host.nvme", "1 GB/s", "1.1 GB/s"},
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    double sums[2];
    for (guint changed = 0; changed < 2; changed++) {
      g_autofree char *set =
          g_strdup_printf ("cluster.%s=%s", rows[i].key, changed ? rows[i].after : rows[i].before);
      Bench bench = read_cluster (NULL, rows[i].linked ? linked : plain, set);
      ck_assert_msg (bench.cluster != NULL, "%s", set);
      sums[changed] = times_of (bench.cluster);
      finish (&bench);
    }
    ck_assert_msg (fabs (sums[1] / sums[0] - 1) > 1e-6, "%s changes nothing", rows[i].key);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net config");
  TCase *tests = tcase_create ("config");
  tcase_add_test (tests, shipped_topologies);
  tcase_add_test (tests, nodes_can_be_overridden);
  tcase_add_test (tests, short_form);
  tcase_add_test (tests, racks_of_many_adapters);
  tcase_add_test (tests, keys_over_presets);
  tcase_add_test (tests, faults);
  tcase_add_test (tests, keys_without_effect);
  tcase_add_test (tests, every_number_counts);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
