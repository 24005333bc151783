/* What keys of nodes that a scenario leaves open came to, for `check --explain`: of the node's preset, of the accelerator.
 *
 * Invariants: nothing is decided here: values are read back from the cluster as it will be simulated.
 * Left out:   keys of fabrics and tuning that each path or protocol sets (check --route shows them).
 */
#include "base/quantity.h"
#include "net/cluster_reader.h"

typedef struct {
  LsConfig *config;
  const char *base; /* "cluster.groups.main.node" */
  const char *from;
} Teller;

static void say (const Teller *teller, const char *key, const char *value) {
  g_autofree char *path = g_strconcat (teller->base, ".", key, NULL);

  ls_config_settled (teller->config, path, teller->from, "%s", value);
}

static void say_count (const Teller *teller, const char *key, guint value) {
  g_autofree char *text = g_strdup_printf ("%u", value);

  say (teller, key, text);
}

static void say_quantity (const Teller *teller, const char *key, double value,
                          LsDimension dimension) {
  g_autofree char *text = ls_quantity_format (value, dimension);

  say (teller, key, text);
}

static void settle_nics (const Teller *teller, const LsNodeSpec *node) {
  for (guint i = 0; i < node->n_nic_sets; i++) {
    const LsNicSet *set = &node->nic_sets[i];
    g_autofree char *base = ls_config_path ("nics", set->name, NULL);
    g_autofree char *preset = g_strconcat (base, ".preset", NULL);
    g_autofree char *count = g_strconcat (base, ".count", NULL);
    g_autofree char *rate = g_strconcat (base, ".rate", NULL);

    if (set->nic != NULL)
      say (teller, preset, set->nic->name);
    say_count (teller, count, set->count);
    say_quantity (teller, rate, set->bytes_per_s, LS_DIMENSION_BYTES_PER_S);
  }
}

static void settle_intra (const Teller *teller, const LsNodeSpec *node) {
  say (teller, "intra.kind", node->link != NULL ? ls_joint_name (node->joint) : "pcie");
  if (node->link == NULL)
    return;
  say (teller, "intra.link", node->link->name);
  say_count (teller, "intra.links", node->links);
  say_quantity (teller, "intra.rate", node->link_bytes_per_s, LS_DIMENSION_BYTES_PER_S);
  say (teller, "intra.in_network", node->in_network ? "true" : "false");
}

static void settle_host (const Teller *teller, const LsNodeSpec *node) {
  const double memory = (double) node->host_memory_bytes;

  say_count (teller, "host.cores", node->host_cores);
  say_quantity (teller, "host.memory", memory, LS_DIMENSION_BYTES);
  say_quantity (teller, "host.memory_bandwidth", node->host_memory_bytes_per_s,
                LS_DIMENSION_BYTES_PER_S);
  say_quantity (teller, "host.pcie", node->pcie_bytes_per_s, LS_DIMENSION_BYTES_PER_S);
  say_count (teller, "host.gpus_per_root", node->gpus_per_pcie_root);
  say_count (teller, "host.count", node->hosts);
  say_count (teller, "host.sockets", node->sockets);
  if (node->nvme_bytes_per_s > 0)
    say_quantity (teller, "host.nvme", node->nvme_bytes_per_s, LS_DIMENSION_BYTES_PER_S);
  else
    say (teller, "host.nvme", "none");
  if (node->nvme_bytes_per_s > 0 && node->nvme_bytes > 0)
    say_quantity (teller, "host.nvme_size", (double) node->nvme_bytes, LS_DIMENSION_BYTES);
}

void ls_cluster_reader_settled (LsConfig *config, const LsCluster *cluster) {
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, g);
    const LsNodeSpec *node = &group->node;
    g_autofree char *base = ls_config_path ("cluster", "groups", group->name, "node", NULL);
    g_autofree char *from = node->preset != NULL
                                ? g_strdup_printf ("node preset %s", node->preset->name)
                                : g_strdup ("the accelerator and the defaults of nodes");
    const Teller teller = {config, base, from};

    if (node->gpu != NULL)
      say (&teller, "gpu", node->gpu->name);
    say_count (&teller, "gpus", node->gpus);
    settle_nics (&teller, node);
    settle_intra (&teller, node);
    settle_host (&teller, node);
  }
}
