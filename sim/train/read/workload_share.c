/* `batch.share`: micro-batches per replica by group of nodes, for clusters of unlike GPUs.
 *
 * Model:      a replica on a group of share s runs s x u micro-batches per step, with one u for all, so
 *             that micro x u x (sum of shares over replicas) = global. Gradients are averaged over all
 *             samples of a step, so shares change timing, never what is trained.
 */
#include "config/path.h"
#include "train/read/workload_reader.h"

#define SHARE "workload.batch.share"

/* The group whose nodes a replica is on; NULL after a fault. */
static const LsNodeGroup *group_of_replica (LsWorkloadReader *r, guint data) {
  const LsWorkload *w = r->workload;
  const LsNodeGroup *group = NULL;

  for (guint rank = 0; rank < w->layout.ranks; rank++) {
    if (ls_layout_position (&w->layout, LS_AXIS_DATA, rank) != data)
      continue;
    guint node = ls_cluster_gpu_node (r->cluster, w->gpu_of_rank[rank]);
    const LsNodeGroup *here =
        ls_cluster_group (r->cluster, ls_cluster_node_group (r->cluster, node));
    if (group != NULL && here != group) {
      ls_reader_fault (
          r, SHARE,
          "replica %u is on nodes of both %s and %s; a share needs each replica in one "
          "group (placement.replicas)",
          data, group->name, here->name);
      return NULL;
    }
    group = here;
  }
  return group;
}

/* The share of a group; 0 after a fault. */
static gint64 share_of (LsWorkloadReader *r, const LsNodeGroup *group, char **names, guint data) {
  g_autoptr (GString) path = g_string_new (SHARE);

  if (!g_strv_contains ((const char *const *) names, group->name)) {
    ls_reader_fault (r, SHARE, "replica %u is on nodes of %s, which has no share", data,
                     group->name);
    return 0;
  }
  ls_config_path_append (path, group->name);
  return ls_config_get_int (r->config, path->str);
}

/* Shares of groups that no replica is on. */
static void check_names (LsWorkloadReader *r, char **names, const gboolean *used) {
  for (guint i = 0; names[i] != NULL; i++) {
    g_autoptr (GString) path = g_string_new (SHARE);
    gboolean known = FALSE;

    ls_config_path_append (path, names[i]);
    for (guint g = 0; g < ls_cluster_n_groups (r->cluster); g++) {
      const LsNodeGroup *group = ls_cluster_group (r->cluster, g);

      known = known || g_str_equal (group->name, names[i]);
      if (g_str_equal (group->name, names[i]) && !used[g])
        ls_reader_fault (r, path->str, "no replica is on nodes of %s%s", names[i],
                         group->node.gpus == 0 ? ", which have no GPUs" : "");
    }
    if (!known) {
      g_autofree char *groups = ls_reader_groups (r->cluster);

      ls_reader_fault (r, path->str, "there are no nodes %s; the cluster has %s", names[i], groups);
    }
  }
}

/* What runs per micro-batch must be the same on all members of a collective. */
static gboolean refuse_zero (LsWorkloadReader *r) {
  if (r->workload->zero.stage < 2 || r->workload->layout.data == 1)
    return FALSE;
  ls_reader_fault (r, SHARE,
                   "with zero.stage %d every micro-batch has collectives over all replicas, which "
                   "therefore run equally many; use stage 0 or 1",
                   r->workload->zero.stage);
  return TRUE;
}

static void deal (LsWorkloadReader *r, const gint64 *shares, gint64 sum) {
  LsWorkload *w = r->workload;
  const gint64 one = w->micro_batch * sum;

  if (!ls_reader_has (r, "workload.batch.global"))
    w->global_batch = one;
  if (w->global_batch % one != 0) {
    ls_reader_fault (r, SHARE,
                     "the global batch %" G_GINT64_FORMAT
                     " is no multiple of micro-batch %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                     " shares of all replicas = %" G_GINT64_FORMAT,
                     w->global_batch, w->micro_batch, sum, one);
    return;
  }
  w->microbatches_of = g_new (gint64, w->layout.data);
  for (guint data = 0; data < w->layout.data; data++)
    w->microbatches_of[data] = shares[data] * (w->global_batch / one);
}

gboolean ls_reader_share (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  g_auto (GStrv) names = NULL;
  g_autofree gint64 *shares = NULL;
  g_autofree gboolean *used = NULL;
  gint64 sum = 0;

  if (!ls_reader_has (r, SHARE))
    return FALSE;
  names = ls_config_get_names (r->config, SHARE);
  if (r->cluster == NULL || w->gpu_of_rank == NULL || refuse_zero (r))
    return TRUE;
  shares = g_new0 (gint64, w->layout.data);
  used = g_new0 (gboolean, ls_cluster_n_groups (r->cluster));
  for (guint data = 0; data < w->layout.data; data++) {
    const LsNodeGroup *group = group_of_replica (r, data);

    if (group == NULL || (shares[data] = share_of (r, group, names, data)) == 0)
      return TRUE;
    for (guint g = 0; g < ls_cluster_n_groups (r->cluster); g++)
      used[g] = used[g] || ls_cluster_group (r->cluster, g) == group;
    sum += shares[data];
  }
  check_names (r, names, used);
  if (r->fine)
    deal (r, shares, sum);
  return TRUE;
}
