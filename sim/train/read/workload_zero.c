/* ZeRO from a scenario once the layout is known: sizes of its groups, what contradicts them, and what cannot matter.
 *
 * Invariants: every contradiction is reported, each where the user can mend it.
 */
#include "train/read/workload_reader.h"

#define W "workload."

/* Members of each group of copies that follow one another on a node; 0 when they differ. */
static guint copies_per_node (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const guint copies = ls_layout_copies (&w->layout);
  g_autofree guint *ranks = g_new (guint, copies);
  guint all = 0;

  for (guint g = 0; g < ls_layout_n_groups (&w->layout, LS_AXIS_DATA_CONTEXT); g++) {
    guint run = 0, node = G_MAXUINT;

    ls_layout_members (&w->layout, LS_AXIS_DATA_CONTEXT, g, ranks);
    for (guint i = 0; i <= copies; i++) {
      const guint here =
          i < copies ? ls_cluster_gpu_node (r->cluster, w->gpu_of_rank[ranks[i]]) : G_MAXUINT;

      if (i > 0 && here != node) {
        if (all > 0 && run != all)
          return 0;
        all = run;
        run = 0;
      }
      node = here;
      run++;
    }
  }
  return all;
}

/* Experts are repeated as often as all else, so that each group of shards needs as many of their copies. */
static void check_expert_shards (LsWorkloadReader *r, const char *path) {
  const LsWorkload *w = r->workload;
  const guint copies = ls_workload_expert_copies (w), replicas = ls_workload_replicas (w);

  if (!ls_workload_has_experts (w))
    return;
  if (w->zero.shard_group == 1)
    ls_reader_fault (r, path, "of 1 shards nothing; with experts use more, or zero.stage 0");
  else if (copies % replicas != 0)
    ls_reader_fault (r, path,
                     "%u makes %u groups, which do not divide the %u ranks that hold the same "
                     "experts; use a multiple of %u",
                     w->zero.shard_group, replicas, copies, ls_layout_copies (&w->layout) / copies);
}

/* Hybrid sharding: the size of a shard group. */
static void read_shard_group (LsWorkloadReader *r) {
  const char *const path = W "zero.shard_group";
  LsWorkload *w = r->workload;
  const guint copies = ls_layout_copies (&w->layout);
  gint64 size;

  if (ls_config_is_word (r->config, path, "all") || w->gpu_of_rank == NULL || r->cluster == NULL)
    return;
  if (copies == 1 || w->zero.stage == 0) {
    ls_reader_no_effect (r, path,
                         copies == 1 ? "there is one data-parallel rank" : "zero.stage is 0");
    return;
  }
  size = ls_config_is_word (r->config, path, "node") ? copies_per_node (r)
                                                     : ls_config_get_int (r->config, path);
  if (size == 0) {
    ls_reader_fault (r, path, "nodes hold unequal parts of the %u copies; give a number", copies);
  } else if (copies % size != 0) {
    g_autofree char *legal = ls_reader_divisors (copies);

    ls_reader_fault (
        r, path,
        "%" G_GINT64_FORMAT
        " does not divide the %u ranks that hold the same parameters (data x context); "
        "use one of %s",
        size, copies, legal);
  } else {
    w->zero.shard_group = (guint) size;
    check_expert_shards (r, path);
  }
  if (size == 1 && !ls_workload_has_experts (w))
    ls_config_warning_at (r->config, r->errors, path,
                          "shard groups of one rank: nothing is sharded, all copies are summed");
}

/* Host memory and drives for each rank, on the node where that is least. */
static void share_host (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;

  if (w->gpu_of_rank == NULL || r->cluster == NULL)
    return;
  g_autofree guint *ranks = g_new0 (guint, ls_cluster_n_nodes (r->cluster));
  for (guint rank = 0; rank < w->layout.ranks; rank++)
    ranks[ls_cluster_gpu_node (r->cluster, w->gpu_of_rank[rank])]++;
  for (guint node = 0; node < ls_cluster_n_nodes (r->cluster); node++) {
    if (ranks[node] == 0)
      continue;
    const LsNodeSpec *spec = ls_cluster_node (r->cluster, node);
    const gint64 each = spec->host_memory_bytes / ranks[node];
    const gint64 drives = spec->nvme_bytes / ranks[node];
    if (w->host_bytes == 0 || each < w->host_bytes)
      w->host_bytes = each;
    if (drives > 0 && (w->nvme_bytes == 0 || drives < w->nvme_bytes))
      w->nvme_bytes = drives;
  }
}

/* DeepSpeed refuses the same: without a stage there is no sharded state to move, and only stage 3 fetches
 * parameters layer by layer. source: its documentation, offload_optimizer and offload_param. */
static void check_offload (LsWorkloadReader *r) {
  const char *const path = W "zero.offload";
  const LsZero *zero = &r->workload->zero;

  if (zero->offload != LS_OFFLOAD_NONE && zero->stage == 0)
    ls_reader_fault (r, path, "%s needs zero.stage 1, 2 or 3, on one GPU too; zero.stage is 0",
                     ls_offload_name (zero->offload));
  else if (zero->offload == LS_OFFLOAD_PARAMETERS && zero->stage < 3)
    ls_reader_fault (r, path,
                     "parameters needs zero.stage 3, whose layers are fetched one by one; "
                     "zero.stage is %d, which may offload the optimizer",
                     zero->stage);
}

/* Drives hold what is offloaded. source: DeepSpeed's documentation, offload_optimizer and offload_param: device nvme with
 * stage 3 only. */
static void check_nvme (LsWorkloadReader *r) {
  const char *const path = W "zero.nvme";
  const LsZero *zero = &r->workload->zero;

  if (zero->nvme == LS_OFFLOAD_NONE)
    ls_reader_no_effect (r, W "zero.sub_group", "nothing lies on drives (zero.nvme)");
  else if (zero->stage < 3)
    ls_reader_fault (r, path, "drives need zero.stage 3; zero.stage is %d", zero->stage);
  else if (zero->nvme > zero->offload)
    ls_reader_fault (r, path,
                     "%s on drives are a part of what is offloaded; zero.offload is %s, use %s",
                     zero->nvme == LS_OFFLOAD_OPTIMIZER ? "states" : "parameters",
                     ls_offload_name (zero->offload), ls_offload_name (zero->nvme));
  else if (r->cluster != NULL && !ls_reader_has_drives (r))
    ls_reader_fault (r, path, "a node that ranks run on has no drives; give host.nvme, their rate");
}

/* Why keys of ZeRO++ cannot matter; NULL: they can. */
static const char *no_gathers (const LsWorkload *w) {
  if (w->zero.stage < 3)
    return "only stage 3 gathers parameters layer by layer";
  return ls_workload_shards (w) == 1 ? "there is one rank to gather from" : NULL;
}

static void check_quantized_weights (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const char *why = no_gathers (w);

  if (why == NULL && w->precision.narrow.used && w->precision.narrow.gathered)
    why = "parameters are gathered in the format of precision.compute already";
  if (why == NULL)
    return;
  ls_reader_no_effect (r, W "zero.quantized_weights", why);
  r->workload->zero.quantized_weights = FALSE;
}

/* Gradients in int4 cross between nodes once where shard groups are whole nodes or parts of one. */
static void check_quantized_gradients (LsWorkloadReader *r) {
  const char *const path = W "zero.quantized_gradients";
  LsWorkload *w = r->workload;
  const char *why = no_gathers (w);
  const guint shards = ls_workload_shards (w);

  if (why != NULL) {
    ls_reader_no_effect (r, path, why);
    w->zero.quantized_gradients = FALSE;
  }
  if (!w->zero.quantized_gradients || w->gpu_of_rank == NULL || r->cluster == NULL)
    return;
  w->zero.node_group = copies_per_node (r);
  if (w->zero.node_group == 0)
    ls_reader_fault (r, path, "nodes hold unequal parts of the %u copies, which sum inside nodes",
                     ls_layout_copies (&w->layout));
  else if (shards % w->zero.node_group != 0 && w->zero.node_group % shards != 0)
    ls_reader_fault (r, path,
                     "shard groups of %u ranks end inside nodes, of which each holds %u; use whole "
                     "nodes or equal parts of one",
                     shards, w->zero.node_group);
}

/* The size of a secondary partition, which divides the ranks of a shard group. */
static void read_secondary_group (LsWorkloadReader *r) {
  const char *const path = W "zero.secondary_group";
  LsWorkload *w = r->workload;
  const guint shards = ls_workload_shards (w);
  const char *why = no_gathers (w);
  gint64 size;

  if (ls_config_is_word (r->config, path, "none") || w->gpu_of_rank == NULL || r->cluster == NULL)
    return;
  if (why != NULL) {
    ls_reader_no_effect (r, path, why);
    return;
  }
  size = ls_config_is_word (r->config, path, "node") ? copies_per_node (r)
                                                     : ls_config_get_int (r->config, path);
  if (w->zero.offload == LS_OFFLOAD_PARAMETERS) {
    ls_reader_fault (
        r, path,
        "a second copy on the GPUs makes no sense where zero.offload keeps the first on the host; "
        "use zero.offload optimizer or leave it out");
  } else if (size <= 1) {
    ls_reader_fault (r, path,
                     size == 0 ? "nodes hold unequal parts of the copies; give a number"
                               : "each node holds one of the copies; give a number");
  } else if (size == shards) {
    ls_reader_no_effect (r, path, "it is the shard group");
  } else if (shards % size != 0) {
    ls_reader_fault (r, path,
                     "%" G_GINT64_FORMAT " does not divide the %u ranks of a shard group; use a "
                     "divisor of it, larger than 1",
                     size, shards);
  } else {
    w->zero.secondary_group = (guint) size;
  }
}

/* Keys of `zero` that cannot matter in this layout. */
void ls_reader_check_zero (LsWorkloadReader *r) {
  static const char *const keys[] = {W "zero.stage",        W "zero.overlap",
                                     W "zero.bucket",       W "zero.prefetch",
                                     W "zero.max_gathered", W "zero.overlap_gather"};
  const guint first_of_3 = 3, last_of_3 = 4, overlap_gather = 5;
  const LsZero *zero = &r->workload->zero;

  read_shard_group (r);
  check_offload (r);
  check_nvme (r);
  check_quantized_weights (r);
  check_quantized_gradients (r);
  read_secondary_group (r);
  share_host (r);
  if (ls_layout_copies (&r->workload->layout) == 1 && zero->offload == LS_OFFLOAD_NONE) {
    for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
      if (i > 0 || zero->stage > 0)
        ls_reader_no_effect (r, keys[i],
                             "there is one data-parallel rank: nothing to shard or reduce");
    return;
  }
  if (zero->stage == 3 || (zero->stage == 2 && zero->offload != LS_OFFLOAD_NONE))
    ls_reader_no_effect (r, keys[2],
                         zero->stage == 3 ? "stage 3 reduces layer by layer"
                                          : "gradients go to the host layer by layer");
  else if (ls_workload_unit_buckets (r->workload) && ls_workload_gathers_ahead (r->workload))
    ls_reader_no_effect (r, keys[2], "with this software each layer is a bucket");
  if (zero->stage < 1 || zero->stage > 2)
    ls_reader_no_effect (r, keys[overlap_gather],
                         "only stages 1 and 2 gather what was updated once a step");
  else if (!zero->overlap)
    ls_reader_no_effect (r, keys[overlap_gather], "zero.overlap is false");
  for (guint i = first_of_3; i <= last_of_3; i++)
    if (zero->stage < 3)
      ls_reader_no_effect (r, keys[i], "only stage 3 gathers parameters layer by layer");
    else if (!zero->overlap)
      ls_reader_no_effect (r, keys[i], "zero.overlap is false");
}
