/* From the scenario to the record: fabrics, node groups in the order of their names, whether they fit,
 * storage, links that are not as their kind.
 *
 * Faults of meaning (a name that no catalogue has, an adapter on a fabric that is not there) go to the
 * error list with the place of the key; reading goes on so that all are found. Keys that cannot matter
 * here are warned about. */
#include "base/assert.h"
#include "net/cluster_reader.h"

static const LsFabricSpec *fabric_at (const LsClusterReader *reader, guint f) {
  return &g_array_index (reader->fabrics, LsFabricSpec, f);
}

static const LsNodeGroup *group_at (const LsClusterReader *reader, guint g) {
  return &g_array_index (reader->groups, LsNodeGroup, g);
}

/* The slower of port and adapter rules: the faster has no effect. A port is slower for one group and
 * faster for another: both count. */
static void warn_rates (LsClusterReader *reader, guint f) {
  const LsFabricSpec *fabric = fabric_at (reader, f);
  gboolean any = FALSE, counts = FALSE;
  for (guint g = 0; g < reader->groups->len; g++) {
    const LsNodeGroup *group = group_at (reader, g);
    for (guint s = 0; s < group->node.n_nic_sets; s++) {
      const LsNicSet *set = &group->node.nic_sets[s];
      if (set->fabric != f || fabric->link_bytes_per_s <= 0)
        continue;
      any = TRUE;
      counts |= fabric->link_bytes_per_s <= set->bytes_per_s;
      if (fabric->link_bytes_per_s >= set->bytes_per_s)
        continue;
      g_autofree char *base =
          ls_config_path ("cluster", "groups", group->name, "node", "nics", set->name, NULL);
      ls_cluster_read_no_effect (reader, base, "rate", "the ports of its fabric are slower");
    }
  }
  g_autofree char *base = ls_config_path ("cluster", "fabrics", fabric->name, NULL);
  if (any && !counts && fabric->kind != LS_FABRIC_CUSTOM)
    ls_cluster_read_no_effect (reader, base, "link", "the adapters plugged in are slower");
}

/* Adapters and accelerators that do not share evenly: collectives wait for the accelerator with the least, so that
 * 9 or 15 adapters to 8 do as 8, and 6 as 4. */
static void warn_uneven (LsClusterReader *reader, const LsNodeGroup *group, const char *base) {
  const LsNicSet *set = ls_node_compute_nics (&group->node);
  const guint gpus = group->node.gpus > 0 ? ls_node_n_physical (&group->node) : 0;
  g_autofree char *given = ls_cluster_read_key (base, "node.nics");
  if (set == NULL || gpus == 0 || !ls_config_has (reader->config, given))
    return;
  const guint even =
      set->count >= gpus ? set->count / gpus * gpus : gpus / ((gpus + set->count - 1) / set->count);
  g_autofree char *path = ls_cluster_read_below (given, set->name);
  if (even < set->count)
    ls_config_warning_at (reader->config, reader->errors, path,
                          "%u adapters do not share evenly among %u accelerators: collectives run "
                          "at the pace of %u, the others idle for part of the time",
                          set->count, gpus, even);
}

static void check_adapters (LsClusterReader *reader) {
  guint nodes = 0;
  for (guint g = 0; g < reader->groups->len; g++)
    nodes += group_at (reader, g)->nodes;
  for (guint g = 0; g < reader->groups->len; g++) {
    const LsNodeGroup *group = group_at (reader, g);
    g_autofree char *base = ls_config_path ("cluster", "groups", group->name, NULL);
    if (nodes > 1 && group->node.n_nic_sets == 0)
      ls_config_error_at (reader->config, reader->errors, base,
                          "%u node%s without network adapters cannot reach %s; give node.nics",
                          group->nodes, group->nodes == 1 ? "" : "s",
                          group->nodes == 1 ? "the others" : "each other");
    if (nodes > 1)
      warn_uneven (reader, group, base);
  }
  if (nodes == 1 && !ls_config_has (reader->config, "cluster.storage"))
    ls_config_no_effect (reader->config, "cluster.fabrics",
                         "one node and no shared storage use no fabric");
}

static void read_storage (LsClusterReader *reader, LsStorageSpec *storage) {
  LsConfig *config = reader->config;
  if (!ls_config_has (config, "cluster.storage"))
    return;
  storage->present = TRUE;
  storage->read_bytes_per_s = ls_config_get_quantity (config, "cluster.storage.read");
  storage->write_bytes_per_s = ls_config_get_quantity (config, "cluster.storage.write");
  storage->latency_ps = ls_config_get_time_ps (config, "cluster.storage.latency");
  storage->fabric = ls_cluster_read_find_fabric (
      reader, "cluster.storage", ls_config_get_string (config, "cluster.storage.fabric"));
  for (guint g = 0; g < reader->groups->len; g++)
    if (group_at (reader, g)->node.gpus > 0 &&
        ls_node_adapters (&group_at (reader, g)->node, storage->fabric) == 0) {
      ls_config_error_at (
          config, reader->errors, "cluster.storage.fabric",
          "no adapter of the nodes%s%s is on this fabric; give them a set of adapters on it "
          "(node.nics.storage: {preset: ..., fabric: ...}; another node preset drops those "
          "of lower files)",
          reader->groups->len > 1 ? " of " : "",
          reader->groups->len > 1 ? group_at (reader, g)->name : "");
      return;
    }
}

/* All groups, numbered; FALSE when no node could be made of one. */
static gboolean read_groups (LsClusterReader *reader) {
  g_auto (GStrv) names = ls_config_get_names (reader->config, "cluster.groups");
  guint node = 0, gpu = 0;
  gboolean good = TRUE;
  if (names[0] == NULL) {
    ls_config_error_at (reader->config, reader->errors, "cluster.groups",
                        "there are no nodes; give cluster.node");
    return FALSE;
  }
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *base = ls_config_path ("cluster", "groups", names[i], NULL);
    g_autofree char *shape = ls_cluster_read_key (base, "node");
    LsNodeGroup group = {.first_node = node, .first_gpu = gpu};
    group.nodes = ls_cluster_read_count (reader, base, "nodes");
    if (!ls_cluster_read_node (reader, shape, &group.node)) {
      good = FALSE;
      continue;
    }
    group.name = g_strdup (names[i]);
    node += group.nodes;
    gpu += group.nodes * group.node.gpus;
    g_array_append_val (reader->groups, group);
  }
  return good;
}

/* More GPUs than numbers; far above what anybody builds. */
#define MOST_GPUS 16000000u

static gboolean is_small_enough (LsClusterReader *reader) {
  guint64 gpus = 0;
  for (guint g = 0; g < reader->groups->len; g++)
    gpus += (guint64) group_at (reader, g)->nodes * group_at (reader, g)->node.gpus;
  if (gpus > MOST_GPUS)
    ls_config_error_at (reader->config, reader->errors, "cluster.groups",
                        "%" G_GUINT64_FORMAT " accelerators; at most %u", gpus, MOST_GPUS);
  if (gpus == 0)
    ls_config_error_at (reader->config, reader->errors, "cluster.groups",
                        "no node has an accelerator; some must");
  return gpus > 0 && gpus <= MOST_GPUS;
}

static LsCluster *build (LsClusterReader *reader) {
  guint before = ls_config_errors_count (reader->errors, LS_CONFIG_FAULT_ERROR);
  LsStorageSpec storage = {0};
  ls_cluster_read_fabrics (reader);
  if (!read_groups (reader) || !is_small_enough (reader))
    return NULL;
  check_adapters (reader);
  for (guint f = 0; f < reader->fabrics->len; f++)
    warn_rates (reader, f);
  ls_cluster_read_finish_fabrics (reader);
  read_storage (reader, &storage);
  if (ls_config_errors_count (reader->errors, LS_CONFIG_FAULT_ERROR) > before)
    return NULL;
  LsCluster *cluster = ls_cluster_new_from (
      (LsNodeGroup *) (void *) reader->groups->data, reader->groups->len,
      (LsFabricSpec *) (void *) reader->fabrics->data, reader->fabrics->len, &storage);
  ls_cluster_read_links (reader, cluster);
  if (ls_config_errors_count (reader->errors, LS_CONFIG_FAULT_ERROR) > before)
    g_clear_pointer (&cluster, ls_cluster_free);
  return cluster;
}

LsCluster *ls_cluster_new (LsConfig *config, LsConfigErrors *errors) {
  LsClusterReader reader = {.config = config,
                            .errors = errors,
                            .fabrics = g_array_new (FALSE, TRUE, sizeof (LsFabricSpec)),
                            .names = g_ptr_array_new (),
                            .groups = g_array_new (FALSE, TRUE, sizeof (LsNodeGroup))};
  LsCluster *cluster = build (&reader);
  if (cluster != NULL)
    ls_cluster_reader_settled (config, cluster);
  for (guint i = 0; i < reader.fabrics->len; i++)
    ls_fabric_spec_clear (&g_array_index (reader.fabrics, LsFabricSpec, i));
  for (guint i = 0; i < reader.groups->len; i++) {
    g_free (g_array_index (reader.groups, LsNodeGroup, i).name);
    ls_mig_unref (g_array_index (reader.groups, LsNodeGroup, i).node.mig);
  }
  g_array_unref (reader.fabrics);
  g_array_unref (reader.groups);
  g_ptr_array_unref (reader.names);
  return cluster;
}
