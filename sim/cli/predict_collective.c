/* Rows of collectives: which cluster they mean, and how long the operation takes alone on it. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/distance.h"
#include "base/error.h"
#include "base/quantity.h"
#include "base/synonyms.h"
#include "cli/fabric_words.h"
#include "cli/predict.h"
#include "cli/scenario.h"
#include "cli/table_columns.h"
#include "hw/nodes.h"
#include "net/net.h"

typedef struct {
  const LsNode *node;
  guint nodes, per_node;
  LsFabricWords adapters;
  gboolean no_in_network;
  LsDescriptor descriptor;
} Job;

gboolean ls_collective_table (const LsCsv *csv) {
  g_autofree char *missing = ls_table_missing (csv, LS_TABLE_COLLECTIVE);

  return missing == NULL &&
         (ls_csv_column (csv, "oop_time_us") >= 0 || ls_csv_column (csv, "time_us") >= 0);
}

static const char *text (const LsCsv *csv, guint row, const char *column) {
  return ls_table_field (csv, row, LS_TABLE_COLLECTIVE, column);
}

/* Letters of the longest name of the preset that stands in the text, its own with any separators ("GCP A3 Mega"); 0: none. */
static gsize named_in (const LsNode *node, const char *fabric) {
  g_auto (GStrv) words = g_strsplit (node->aliases, " ", -1);
  g_autofree char *joined = g_strdelimit (g_strdup (fabric), " _/,;:()", '-');
  const gsize own = strlen (node->name);
  gsize longest = 0;

  for (guint i = 0; words[i]; i++)
    if (strlen (words[i]) >= 6 && strstr (fabric, words[i]))
      longest = MAX (longest, strlen (words[i]));
  for (const char *at = strstr (joined, node->name); at != NULL; at = strstr (at + 1, node->name))
    if ((at == joined || !g_ascii_isalnum (at[-1])) && !g_ascii_isalnum (at[own]))
      return MAX (longest, own);
  return longest;
}

/* The preset that the fabric names, by its longest name, else the first with the GPU that has enough of them. */
static const LsNode *find_node (const LsAccelerator *gpu, guint per_node, const char *fabric) {
  const LsNode *best = NULL;
  gsize longest = 0;

  for (guint i = 0; i < ls_node_count (); i++) {
    const LsNode *node = ls_node_get (i);
    const gsize named = named_in (node, fabric);

    if (!g_str_equal (node->gpu, gpu->name) || node->gpus < (int) per_node)
      continue;
    if (best == NULL || named > longest) {
      best = node;
      longest = named;
    }
  }
  return best;
}

/* Where a node is a rack, "per node" means one of its trays. */
static LsFabricWords adapters_of (const LsNode *node, gboolean of_trays, const char *fabric) {
  const LsNic *usual = node->nic != NULL ? ls_nic_find (node->nic, NULL) : NULL;
  const guint trays = of_trays ? (guint) MAX (node->hosts, 1) : 1;
  LsFabricWords words = ls_fabric_words (fabric, (guint) node->gpus / trays,
                                         usual != NULL ? usual->bytes_per_s * 8e-9 : 100);

  words.count *= trays;
  return words;
}

static gboolean whole (const LsCsv *csv, guint row, const char *column, double fallback,
                       double *out) {
  const char *field = text (csv, row, column);

  *out = fallback;
  return !*field ? fallback > 0 : ls_number_parse (field, out) && *out >= 1 && *out <= 1e15;
}

#define WORD(id, name) name,

/* Takes "alltoall" and "sendrecv" as well, which nccl-tests print. */
static char *read_operation (const char *word, LsCollectiveOp *op) {
  static const char *const names[] = {LS_COLLECTIVE_OPS (WORD) NULL};
  const char *meant = ls_meant (word, names);

  if (meant != NULL && ls_collective_op_parse (meant, op) &&
      (ls_collective_is_group (*op) || *op == LS_COLLECTIVE_SEND_RECV))
    return NULL;
  return ls_table_unknown ("collective", word, ls_nearest (word, names));
}

static char *read_job (const LsCsv *csv, guint row, Job *job) {
  g_autofree char *fabric = g_ascii_strdown (text (csv, row, "fabric"), -1);
  const LsAccelerator *gpu = ls_accelerator_for_text (text (csv, row, "gpu"));
  double ranks, nodes, per_node, bytes;

  if (!gpu)
    return ls_table_unknown_gpu (text (csv, row, "gpu"));
  char *unknown = read_operation (text (csv, row, "collective"), &job->descriptor.op);
  if (unknown)
    return unknown;
  if (!whole (csv, row, "ranks", 0, &ranks) || !whole (csv, row, "nodes", 1, &nodes) ||
      !whole (csv, row, "gpus_per_node", ranks / nodes, &per_node) ||
      !whole (csv, row, "size_bytes", 0, &bytes))
    return g_strdup ("ranks, nodes, gpus_per_node or size_bytes is no whole number");
  if (nodes > 1 && nodes * per_node > ranks && (gint64) ranks % (gint64) nodes == 0)
    per_node = ranks / nodes;
  else if (nodes <= 1)
    per_node = ranks;
  if (nodes * per_node != ranks || ranks < 2)
    return g_strdup ("nodes x gpus_per_node is not the number of ranks");
  job->node = find_node (gpu, (guint) per_node, fabric);
  const gboolean of_trays = job->node && strstr (job->node->name, "nvl72") && nodes > 1;
  if (of_trays) { /* a node is a rack */
    nodes = ceil (ranks / job->node->gpus);
    per_node = ranks / nodes;
  }
  if (!job->node)
    return ls_node_none ((int) per_node, gpu->name);
  job->nodes = (guint) nodes;
  job->per_node = (guint) per_node;
  job->adapters = adapters_of (job->node, of_trays, text (csv, row, "fabric"));
  job->no_in_network = strstr (fabric, "nvls_enable=0") || strstr (fabric, "ring");
  job->descriptor.bytes = (gint64) bytes;
  job->descriptor.algorithm = LS_ALGORITHM_AUTO;
  return NULL;
}

static void append_adapters (GString *yaml, const LsFabricWords *adapters) {
  g_autoptr (GString) keys = g_string_new (NULL);

  if (adapters->nic != NULL)
    g_string_append_printf (keys, ", preset: %s", adapters->nic->name);
  if (adapters->count > 0)
    g_string_append_printf (keys, ", count: %u", adapters->count);
  if (adapters->gbit_s > 0)
    g_string_append_printf (keys, ", rate: %.6g Gb/s", adapters->gbit_s);
  if (keys->len > 0)
    g_string_append_printf (yaml, "        nics: {compute: {%s}}\n", keys->str + strlen (", "));
}

static char *write_scenario (const Job *job) {
  GString *yaml = g_string_new (NULL);

  g_string_append_printf (yaml,
                          "lockstep: 1\ncluster:\n  groups:\n    main:\n      nodes: %u\n      "
                          "node:\n        preset: %s\n",
                          job->nodes, job->node->name);
  append_adapters (yaml, &job->adapters);
  if (job->no_in_network)
    g_string_append (yaml, "        intra: {in_network: false}\n");
  return g_string_free (yaml, FALSE);
}

/* What rules the time, and what makes two rows the same measurement: inside a node links and ranks,
 * between nodes the whole machine. */
static void describe (LsPrediction *out, const Job *job) {
  const LsLink *link = job->node->link ? ls_link_find (job->node->link, NULL) : NULL;
  gboolean across = job->nodes > 1;

  out->nodes = job->nodes;
  out->size_bytes = (double) job->descriptor.bytes;
  out->machine = across ? job->node->name : link ? link->name : "pcie";
  out->setting = g_strdup_printf (
      "%s %ux%u nics %u of %g nvls %d %s %" G_GINT64_FORMAT, out->machine, job->nodes,
      job->per_node, across ? job->adapters.count : 0, across ? job->adapters.gbit_s : 0,
      job->no_in_network, ls_collective_op_name (job->descriptor.op), job->descriptor.bytes);
}

static void estimate (LsPrediction *out, const Job *job, const LsScenario *scenario) {
  g_autoptr (LsNet) net = ls_net_new (scenario->cluster, NULL);
  g_autofree guint *gpus = g_new (guint, job->nodes * job->per_node);
  guint n = 0;

  for (guint node = 0; node < job->nodes; node++)
    for (guint i = 0; i < job->per_node; i++)
      gpus[n++] = ls_cluster_node_first_gpu (scenario->cluster, node) + i;
  out->quantities[0].predicted = 1e6 * ls_net_estimate (net, gpus, n, &job->descriptor).time_s;
  out->n = 1;
}

void ls_predict_collective (LsPrediction *out, const LsCsv *csv, guint row,
                            const LsPredictOptions *how) {
  const char *column = ls_csv_column (csv, "oop_time_us") >= 0 ? "oop_time_us" : "time_us";
  g_autoptr (LsScenario) scenario = NULL;
  Job job = {0};

  out->skipped = read_job (csv, row, &job);
  if (out->skipped)
    return;
  LS_REQUIRE (job.node, "a collective row without a node shape is skipped");
  out->gpu = job.node->gpu;
  describe (out, &job);
  out->scenario = write_scenario (&job);
  if (how->dry)
    return;
  out->quantities[0].quantity = column;
  if (!ls_number_parse (text (csv, row, column), &out->quantities[0].measured) ||
      out->quantities[0].measured <= 0) {
    out->skipped = g_strdup_printf ("%s is not stated", column);
    return;
  }
  scenario = ls_scenario_from_text ("row", out->scenario);
  if (!scenario->cluster) {
    g_autofree char *text = ls_config_errors_text (scenario->errors);

    out->skipped = g_strdelimit (g_strdup (g_strchomp (text)), "\n", ' ');
    return;
  }
  estimate (out, &job, scenario);
}
