/* See stragglers.h. */
#include "faults/stragglers.h"

#include "engine/fixed.h"

static const char *const affects[] = {"compute", NULL};
static const char *const affects_later[] = {"memory", "network", "host", NULL};

const LsConfigKey ls_stragglers_keys[] = {
    {.path = "faults", .type = LS_CONFIG_MAP, .meaning = "what is slow, and what fails how often"},
    {.path = "faults.stragglers",
     .type = LS_CONFIG_MAP,
     .meaning = "slow ranks by a name of your own"},
    {.path = "faults.stragglers.*", .type = LS_CONFIG_MAP, .meaning = "ranks that are slow alike"},
    {.path = "faults.stragglers.*.target",
     .type = LS_CONFIG_MAP,
     .flags = LS_CONFIG_REQUIRED,
     .meaning = "which ranks: one of rank, ranks, node"},
    {.path = "faults.stragglers.*.target.rank", .type = LS_CONFIG_INTEGER, .meaning = "one rank"},
    {.path = "faults.stragglers.*.target.ranks",
     .type = LS_CONFIG_INDEXES,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "several, such as 0-7"},
    {.path = "faults.stragglers.*.target.node",
     .type = LS_CONFIG_STRING,
     .meaning = "all ranks on a node, such as main[3]"},
    {.path = "faults.stragglers.*.affects",
     .type = LS_CONFIG_WORD,
     .choices = affects,
     .later_choices = affects_later,
     .default_text = "compute",
     .source = "the usual case: a GPU with lower clocks",
     .meaning = "what is slow: the kernels of the ranks"},
    {.path = "faults.stragglers.*.time_factor",
     .type = LS_CONFIG_NUMBER,
     .minimum = 1,
     .maximum = 1000,
     .flags = LS_CONFIG_REQUIRED,
     .meaning = "how many times as long it takes"},
    {.path = "faults.stragglers.*.from",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .later = "stragglers that come and go",
     .meaning = "when it begins"},
    {.path = "faults.stragglers.*.per",
     .type = LS_CONFIG_STRING,
     .later = "factors that are drawn",
     .meaning = "how often the factor is drawn anew"},
    {0},
};

typedef struct {
  LsConfig *config;
  LsConfigErrors *errors;
  const LsCluster *cluster;
  const guint *gpu_of_rank;
  guint n_ranks;
  gint64 *factors;
  gboolean good;
} Reader;

static void slow (Reader *reader, const char *path, gint64 rank, gint64 factor) {
  if (rank < 0 || rank >= reader->n_ranks) {
    ls_config_error_at (reader->config, reader->errors, path,
                        "there is no rank %" G_GINT64_FORMAT "; ranks go from 0 to %u", rank,
                        reader->n_ranks - 1);
    reader->good = FALSE;
    return;
  }
  LsInt128 product = (LsInt128) reader->factors[rank] * factor;
  reader->factors[rank] = (gint64) ((product + LS_USAGE_ONE / 2) >> LS_USAGE_BITS);
}

static void slow_node (Reader *reader, const char *path, const char *wanted, gint64 factor) {
  guint n = 0;
  for (guint rank = 0; rank < reader->n_ranks; rank++) {
    guint node = ls_cluster_gpu_node (reader->cluster, reader->gpu_of_rank[rank]);
    g_autofree char *name = ls_cluster_node_name (reader->cluster, node);
    if (!g_str_equal (name, wanted))
      continue;
    slow (reader, path, rank, factor);
    n++;
  }
  if (n > 0)
    return;
  ls_config_error_at (reader->config, reader->errors, path,
                      "no rank runs on a node %s; nodes are called as %s", wanted,
                      "main[0], by their group and number");
  reader->good = FALSE;
}

static void read_one (Reader *reader, const char *name) {
  LsConfig *config = reader->config;
  g_autofree char *self = ls_config_path ("faults", "stragglers", name, NULL);
  g_autofree char *target = g_strconcat (self, ".target", NULL);
  g_autofree char *rank = g_strconcat (target, ".rank", NULL);
  g_autofree char *ranks = g_strconcat (target, ".ranks", NULL);
  g_autofree char *node = g_strconcat (target, ".node", NULL);
  g_autofree char *what = g_strconcat (self, ".affects", NULL);
  g_autofree char *times = g_strconcat (self, ".time_factor", NULL);
  double number = ls_config_get_number (config, times);
  gint64 factor = ls_usage_from_double (number);
  guint given = (ls_config_has (config, rank) ? 1u : 0u) +
                (ls_config_has (config, ranks) ? 1u : 0u) +
                (ls_config_has (config, node) ? 1u : 0u);

  ls_config_get_string (config, what);
  if (given != 1) {
    ls_config_error_at (config, reader->errors, target, "takes one of rank, ranks, node");
    reader->good = FALSE;
    return;
  }
  if (ls_config_has (config, rank))
    slow (reader, rank, ls_config_get_int (config, rank), factor);
  if (ls_config_has (config, node))
    slow_node (reader, node, ls_config_get_string (config, node), factor);
  g_autoptr (GArray) list =
      ls_config_has (config, ranks) ? ls_config_get_indexes (config, ranks) : NULL;
  for (guint i = 0; list != NULL && i < list->len; i++)
    slow (reader, ranks, g_array_index (list, gint64, i), factor);
}

gint64 *ls_stragglers_read (LsConfig *config, LsConfigErrors *errors, const LsCluster *cluster,
                            const guint *gpu_of_rank, guint n_ranks) {
  Reader reader = {.config = config,
                   .errors = errors,
                   .cluster = cluster,
                   .gpu_of_rank = gpu_of_rank,
                   .n_ranks = n_ranks,
                   .good = TRUE};

  if (!ls_config_has (config, "faults.stragglers"))
    return NULL;
  g_auto (GStrv) names = ls_config_get_names (config, "faults.stragglers");
  reader.factors = g_new (gint64, MAX (n_ranks, 1u));
  for (guint rank = 0; rank < n_ranks; rank++)
    reader.factors[rank] = LS_USAGE_ONE;
  for (guint i = 0; names[i] != NULL; i++)
    read_one (&reader, names[i]);
  if (!reader.good)
    g_clear_pointer (&reader.factors, g_free);
  return reader.factors;
}
