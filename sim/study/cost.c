/* Prices; see cost.h. */
#include "study/cost.h"

const LsConfigKey ls_cost_keys[] = {
    {.path = "cost", .type = LS_CONFIG_MAP, .meaning = "what hardware and power cost"},
    {.path = "cost.gpu",
     .type = LS_CONFIG_MAP,
     .number = "main",
     .meaning =
         "price of GPU time by group of nodes (`cluster.groups`; `main` where there is one), "
         "all of the node included"},
    {.path = "cost.gpu.*",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_MONEY_PER_TIME,
     .maximum = 1e6 / 3600,
     .meaning = "of one GPU, as in 2.10 USD/h"},
    {.path = "cost.spares_billed",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "true",
     .source = "reserved machines are paid for",
     .meaning = "spare nodes of a campaign are paid for while they stand by"},
    {.path = "cost.storage",
     .type = LS_CONFIG_MAP,
     .later = "prices of storage",
     .meaning = "price of storage"},
    {.path = "cost.power",
     .type = LS_CONFIG_MAP,
     .later = "energy and carbon",
     .meaning = "price and carbon of power"},
    {0},
};

static guint find_group (const LsCluster *cluster, const char *name) {
  guint group = 0;

  while (group < ls_cluster_n_groups (cluster) &&
         g_strcmp0 (ls_cluster_group (cluster, group)->name, name) != 0)
    group++;
  return group;
}

/* Whoever writes a GPU's name here wants to be told what stands in its place. */
static void unknown_group (LsConfig *config, LsConfigErrors *errors, const char *path,
                           const LsCluster *cluster) {
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < ls_cluster_n_groups (cluster); i++)
    g_string_append_printf (names, "%scost.gpu.%s", i > 0 ? ", " : "",
                            ls_cluster_group (cluster, i)->name);
  ls_config_error_at (config, errors, path,
                      "prices go by group of nodes, not by kind of GPU; write %s", names->str);
}

LsCost *ls_cost_new (LsConfig *config, LsConfigErrors *errors, const LsCluster *cluster) {
  g_autoptr (LsCost) cost = g_new0 (LsCost, 1);
  gboolean good = TRUE;

  if (!ls_config_has (config, "cost.gpu")) {
    ls_config_no_effect (config, "cost.spares_billed", "no price of GPU time is given");
    return NULL;
  }
  if (!ls_config_has (config, "campaign"))
    ls_config_no_effect (config, "cost.spares_billed", "there is no campaign");
  g_auto (GStrv) names = ls_config_get_names (config, "cost.gpu");
  cost->n_groups = ls_cluster_n_groups (cluster);
  cost->usd_per_gpu_s = g_new0 (double, MAX (cost->n_groups, 1u));
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *path = ls_config_path ("cost", "gpu", names[i], NULL);
    guint group = find_group (cluster, names[i]);
    double usd_per_s = ls_config_get_quantity (config, path);

    if (group < cost->n_groups) {
      cost->usd_per_gpu_s[group] = usd_per_s;
      continue;
    }
    unknown_group (config, errors, path, cluster);
    good = FALSE;
  }
  if (ls_config_has (config, "campaign"))
    cost->spares_billed = ls_config_get_bool (config, "cost.spares_billed");
  return good ? g_steal_pointer (&cost) : NULL;
}

void ls_cost_free (LsCost *cost) {
  if (cost == NULL)
    return;
  g_free (cost->usd_per_gpu_s);
  g_free (cost);
}

static guint group_of (const LsCluster *cluster, const LsWorkload *workload, guint rank) {
  return ls_cluster_node_group (cluster,
                                ls_cluster_gpu_node (cluster, workload->gpu_of_rank[rank]));
}

/* A MIG instance is billed by its slices of memory. */
static double share_of_gpu (const LsCluster *cluster, guint gpu) {
  const LsNodeSpec *node = ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, gpu));
  const LsMigProfile *profile;
  if (node->mig == NULL)
    return 1;
  profile = node->mig->instances[ls_cluster_gpu_local (cluster, gpu)].profile;
  return (double) profile->memory_slices / profile->of_memory_slices;
}

double ls_cost_job_usd_per_s (const LsCost *cost, const LsCluster *cluster,
                              const LsWorkload *workload) {
  double sum = 0;

  for (guint rank = 0; rank < workload->layout.ranks; rank++)
    sum += cost->usd_per_gpu_s[group_of (cluster, workload, rank)] *
           share_of_gpu (cluster, workload->gpu_of_rank[rank]);
  return sum;
}

double ls_cost_spare_usd_per_s (const LsCost *cost, const LsCluster *cluster,
                                const LsWorkload *workload) {
  return cost->spares_billed ? cost->usd_per_gpu_s[group_of (cluster, workload, 0)] : 0;
}
