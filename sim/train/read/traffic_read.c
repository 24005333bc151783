/* Traffic workloads from a scenario: `workload.model` of kind traffic; see traffic.h. */
#include "train/workload/traffic.h"

#include "net/algorithm.h"
#include "net/all_pairs.h"
#include "train/read/placement.h"
#include "train/read/workload_reader.h"

#define W "workload."
#define M W "model."

static const char *operation_name (guint i) {
  return ls_collective_op_name ((LsCollectiveOp) i);
}
static const char *pattern_name (guint i) {
  return ls_traffic_pattern_name ((LsTrafficPattern) i);
}
static const char *algorithm_name (guint i) {
  return ls_algorithm_name ((LsAlgorithm) i);
}

/* Everything that only training has. */
static void mark_unused (LsWorkloadReader *r) {
  static const char *const maps[] = {
      W "precision",       W "batch",    W "parallel",   W "zero",     W "recompute",
      W "optimizer",       W "software", W "input",      W "update",   M "layers",
      M "hidden",          M "heads",    M "kv_heads",   M "head_dim", M "ffn",
      M "vocab",           M "max_seq",  M "activation", M "norm",     M "positions",
      M "tied_embeddings", M "biases",   M "dropout",    M "causal",   M "input",
      M "elements"};

  for (guint i = 0; i < G_N_ELEMENTS (maps); i++)
    ls_reader_no_effect (r, maps[i], "a traffic job moves bytes and trains nothing");
}

static void read_pattern (LsWorkloadReader *r, LsTraffic *traffic) {
  if (traffic->operation != LS_COLLECTIVE_SEND_RECV) {
    ls_reader_no_effect (r, M "pattern", "only with model.operation send_recv");
    ls_reader_no_effect (r, M "shift", "only with model.operation send_recv");
    return;
  }
  ls_reader_no_effect (r, M "algorithm", "messages go their way alone");
  traffic->pattern =
      (LsTrafficPattern) ls_reader_word (r, M "pattern", pattern_name, LS_N_TRAFFIC_PATTERNS);
  if (traffic->pattern != LS_TRAFFIC_SHIFT) {
    ls_reader_no_effect (r, M "shift", "only with model.pattern shift");
    return;
  }
  traffic->shift = (guint) ls_config_get_int (r->config, M "shift");
  if (traffic->shift % traffic->group_size == 0)
    ls_reader_fault (r, M "shift", "%u in groups of %u is nobody else", traffic->shift,
                     traffic->group_size);
}

static void check_algorithm (LsWorkloadReader *r, const LsTraffic *traffic) {
  const LsAlgorithmRecord *record = ls_algorithm_find (traffic->algorithm);
  g_autofree char *ops = NULL;

  if (record == NULL || (record->ops & LS_OP_BIT (traffic->operation)) != 0)
    return;
  ops = ls_algorithm_ops (record);
  ls_reader_fault (r, M "algorithm", "%s does not do %s; it does %s", record->name,
                   ls_collective_op_name (traffic->operation), ops);
}

static void read_groups (LsWorkloadReader *r, LsTraffic *traffic, guint ranks) {
  gboolean by_size = ls_reader_has (r, M "group_size"), by_number = ls_reader_has (r, M "groups");

  if (!ls_collective_is_group (traffic->operation) &&
      traffic->operation != LS_COLLECTIVE_SEND_RECV) {
    static const char *const keys[] = {M "group_size", M "groups", M "interleave", M "algorithm"};

    for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
      ls_reader_no_effect (r, keys[i], "every rank copies for itself");
    traffic->group_size = 1;
    traffic->groups = ranks;
    return;
  }
  if (ls_collective_is_group (traffic->operation))
    check_algorithm (r, traffic);
  traffic->groups = by_number ? (guint) ls_config_get_int (r->config, M "groups") : 1;
  traffic->group_size =
      by_size ? (guint) ls_config_get_int (r->config, M "group_size") : ranks / traffic->groups;
  if (by_size && by_number)
    ls_reader_fault (r, M "groups", "give groups or group_size; each follows from the other");
  else if (by_size)
    traffic->groups = ranks / MAX (traffic->group_size, 1u);
  if (traffic->group_size < 2 || traffic->groups == 0 ||
      traffic->group_size * traffic->groups != ranks)
    ls_reader_fault (r,
                     by_size     ? M "group_size"
                     : by_number ? M "groups"
                                 : W "model",
                     "the %u ranks of the job do not form equal groups of two or more this way",
                     ranks);
  traffic->interleaved = ls_config_get_bool (r->config, M "interleave");
  if (traffic->groups == 1)
    ls_reader_no_effect (r, M "interleave", "there is one group");
}

/* A group of more members than pairs of them are laid one by one. */
static void check_pairs (LsWorkloadReader *r, const LsTraffic *traffic) {
  guint most;

  if (!r->fine || !ls_collective_is_group (traffic->operation))
    return;
  most = ls_pairs_most (r->cluster, traffic->operation, traffic->algorithm, FALSE);
  if (traffic->group_size > most)
    ls_reader_fault (r, M "operation",
                     "%s among %u ranks is %.3g messages, which this algorithm, model and routing "
                     "lay one by one; the most is %u ranks: form groups (model.group_size), or "
                     "choose algorithm auto and a switch or a tree with routing spray",
                     ls_collective_op_name (traffic->operation), traffic->group_size,
                     (double) traffic->group_size * (traffic->group_size - 1.0), most);
}

static void read_size (LsWorkloadReader *r, LsTraffic *traffic) {
  if (!ls_reader_has (r, M "operation"))
    ls_reader_fault (r, W "model", "a traffic job needs an operation (model.operation)");
  if (!ls_reader_has (r, M "size"))
    ls_reader_fault (r, W "model", "a traffic job needs a size (model.size)");
  if (!r->fine)
    return;
  traffic->operation =
      (LsCollectiveOp) ls_reader_word (r, M "operation", operation_name, LS_N_COLLECTIVE_OPS);
  traffic->bytes = ls_config_get_size_bytes (r->config, M "size");
  traffic->gap_ps = ls_config_get_time_ps (r->config, M "gap");
  traffic->algorithm =
      (LsAlgorithm) ls_reader_word (r, M "algorithm", algorithm_name, LS_N_ALGORITHMS);
  if ((traffic->operation == LS_COLLECTIVE_STORAGE_READ ||
       traffic->operation == LS_COLLECTIVE_STORAGE_WRITE) &&
      r->cluster != NULL && !ls_cluster_storage (r->cluster)->present)
    ls_reader_fault (r, M "operation", "the cluster has no storage; give cluster.storage");
  if ((traffic->operation == LS_COLLECTIVE_NVME_READ ||
       traffic->operation == LS_COLLECTIVE_NVME_WRITE) &&
      r->cluster != NULL && !ls_reader_has_drives (r))
    ls_reader_fault (r, M "operation", "a node has no drives; give host.nvme");
}

static void read_steps (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;

  if (!ls_reader_has (r, M "repeat")) {
    w->steps = ls_config_get_int (r->config, W "stop.steps");
    return;
  }
  w->steps = ls_config_get_int (r->config, M "repeat");
  ls_reader_no_effect (r, W "stop.steps", "model.repeat says how often");
}

LsWorkload *ls_traffic_workload_new (LsConfig *config, const LsCluster *cluster, guint64 seed,
                                     LsConfigErrors *errors) {
  g_autoptr (LsWorkload) workload = ls_workload_new_default (ls_model_new_layers ("traffic"), 1);
  g_autofree LsTraffic *traffic = g_new0 (LsTraffic, 1);
  LsWorkloadReader r = {config, cluster, errors, workload, TRUE};
  g_autoptr (LsPlacement) placement = NULL;

  traffic->seed = seed;
  mark_unused (&r);
  read_size (&r, traffic);
  read_steps (&r);
  placement = cluster != NULL ? ls_placement_new (&r) : NULL;
  if (placement == NULL || !r.fine)
    return NULL;
  workload->gpus = placement->n_gpus;
  workload->layout = ls_layout (1, placement->n_gpus, 1);
  read_groups (&r, traffic, placement->n_gpus);
  check_pairs (&r, traffic);
  if (r.fine)
    read_pattern (&r, traffic);
  if (!ls_placement_apply (placement, &r) || !r.fine)
    return NULL;
  workload->microbatches = 1;
  workload->layers_per_stage = g_new0 (guint, 1);
  workload->traffic = g_steal_pointer (&traffic);
  return g_steal_pointer (&workload);
}
