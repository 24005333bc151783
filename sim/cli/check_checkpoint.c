/* Checkpoints for people and scripts. */
#include "cli/check_checkpoint.h"

#include "base/quantity.h"
#include "cli/json.h"
#include "faults/checkpoint.h"
#include "faults/reshard.h"

#define WIDTH 12
#define LABEL 22

/* The numbers of replicas that a restore on another size is shown for: half, seven eighths, double. */
static guint other_size (guint data, guint i) {
  const guint sizes[] = {data / 2, data - data / 8, 2 * data};
  return i < G_N_ELEMENTS (sizes) && sizes[i] != data ? sizes[i] : 0;
}

static void cell (GString *out, double value, LsDimension dimension) {
  g_autofree char *text = ls_quantity_format_decimal (value, dimension);
  g_string_append_printf (out, "  %*s", WIDTH, text);
}

/* "64 -> 32 replicas", as wide as the head of its column. */
static void sizes_label (GString *out, guint from, guint to) {
  g_autofree char *text = g_strdup_printf ("%u -> %u replica%s", from, to, to == 1 ? "" : "s");
  g_string_append_printf (out, "%-*s", LABEL, text);
}

static void text_kind (GString *out, const LsScenario *scenario, LsCheckpointLayout layout,
                       gboolean async) {
  LsCheckpointTimes times;

  ls_checkpoint_times (scenario->cluster, scenario->workload, layout, &times);
  g_string_append_printf (out, "%-8s  %-5s",
                          layout == LS_CHECKPOINT_UNIFIED ? "unified" : "sharded",
                          async ? "async" : "sync");
  cell (out, (double) times.most_rank_bytes, LS_DIMENSION_BYTES);
  cell (out, (double) times.network_bytes, LS_DIMENSION_BYTES);
  if (!times.storage) {
    g_string_append (out, "  nowhere to write to: the cluster has neither storage nor drives\n");
    return;
  }
  cell (out, (double) ls_checkpoint_blocking_us (&times, async) / 1e6, LS_DIMENSION_TIME);
  cell (out, (double) ls_checkpoint_drain_us (&times, async) / 1e6, LS_DIMENSION_TIME);
  cell (out, (double) (times.read_us + times.load_us + times.spread_us) / 1e6, LS_DIMENSION_TIME);
  cell (out, (double) (times.peer_us + times.spread_us) / 1e6, LS_DIMENSION_TIME);
  g_string_append_c (out, '\n');
}

/* Parameters and optimizer of each of `parts` parts, which `copies` ranks hold, to another ZeRO stage there. */
static void add_stage (LsReshard *sum, gint64 parameters, gint64 optimizer, guint parts,
                       guint copies, int from, int to) {
  const LsReshard one =
      ls_reshard_stage (parameters / parts, optimizer / parts, copies, from, copies, to);

  sum->stays_bytes += one.stays_bytes * parts;
  sum->moves_bytes += one.moves_bytes * parts;
  sum->most_moved_bytes += one.most_moved_bytes;
}

/* To another ZeRO stage on the same ranks, over all ranks. Embedding tables stay where they are. */
static LsReshard to_stage (const LsScenario *scenario, const LsCheckpointTimes *times, int stage) {
  const LsLayout *layout = &scenario->workload->layout;
  const guint expert_parts = ls_layout_size (layout, LS_AXIS_EXPERT) *
                             ls_layout_size (layout, LS_AXIS_EXPERT_TENSOR) * layout->pipeline;
  const gint64 optimizer = times->bytes - times->tables_bytes - times->parameters_bytes;
  const int from = scenario->workload->zero.stage;
  LsReshard sum = {.stays_bytes = times->tables_bytes};

  add_stage (&sum, times->parameters_bytes - times->experts_bytes,
             optimizer - times->experts_optimizer_bytes, layout->tensor * layout->pipeline,
             ls_layout_copies (layout), from, stage);
  add_stage (&sum, times->experts_bytes, times->experts_optimizer_bytes, expert_parts,
             ls_layout_size (layout, LS_AXIS_EXPERT_DATA), from, stage);
  return sum;
}

/* The job on `to` replicas; NULL: it cannot run on so many here. */
static LsWorkload *on_replicas (const LsScenario *scenario, guint to) {
  g_autoptr (LsWorkload) workload = ls_workload_copy (scenario->workload);
  gint64 per_round = workload->micro_batch * to;

  workload->layout.data = to;
  workload->layout.ranks = 0;
  workload->global_batch = (workload->global_batch + per_round - 1) / per_round * per_round;
  g_clear_pointer (&workload->gpu_of_rank, g_free);
  return ls_workload_resolve (workload, NULL) ? g_steal_pointer (&workload) : NULL;
}

/* What one rank holds while it restores: only for sizes that the cluster has room for. */
static void text_ledger (GString *out, const LsScenario *scenario) {
  guint data = scenario->workload->layout.data;

  g_string_append_printf (out, "\n%-*s  %*s  %*s  %*s  %*s  %*s\n", LABEL, "on a rank, restoring",
                          WIDTH, "parameters", WIDTH, "gradients", WIDTH, "optimizer", WIDTH,
                          "old shards", WIDTH, "of usable");
  for (guint i = 0; i < 3; i++) {
    guint to = i < 2 ? other_size (data, i) : data;
    g_autoptr (LsWorkload) workload = to > 0 ? on_replicas (scenario, to) : NULL;
    if (workload == NULL)
      continue;
    LsRestoreLedger ledger =
        ls_checkpoint_restore_ledger (scenario->cluster, workload, LS_CHECKPOINT_SHARDED, data);
    sizes_label (out, data, to);
    cell (out, (double) ledger.parameters_bytes, LS_DIMENSION_BYTES);
    cell (out, (double) ledger.gradients_bytes, LS_DIMENSION_BYTES);
    cell (out, (double) ledger.optimizer_bytes, LS_DIMENSION_BYTES);
    cell (out, (double) ledger.old_shards_bytes, LS_DIMENSION_BYTES);
    cell (out, (double) ledger.capacity_bytes, LS_DIMENSION_BYTES);
    g_string_append (out, ledger.fits ? "  fits\n" : "  does not fit\n");
  }
}

static void text_stages (GString *out, const LsScenario *scenario, const LsCheckpointTimes *times) {
  g_string_append_printf (out, "\n%-*s  %*s  %*s  %*s\n", LABEL, "sharded, ZeRO stage", WIDTH,
                          "stays", WIDTH, "moves", WIDTH, "to one rank");
  for (int stage = 0; stage < 4; stage++) {
    LsReshard cost = to_stage (scenario, times, stage);
    if (stage == scenario->workload->zero.stage)
      continue;
    g_string_append_printf (out, "%d -> %-*d", scenario->workload->zero.stage, LABEL - 5, stage);
    cell (out, (double) cost.stays_bytes, LS_DIMENSION_BYTES);
    cell (out, (double) cost.moves_bytes, LS_DIMENSION_BYTES);
    cell (out, (double) cost.most_moved_bytes, LS_DIMENSION_BYTES);
    g_string_append_c (out, '\n');
  }
}

static char *as_text (const LsScenario *scenario) {
  GString *out = g_string_new (NULL);
  const LsWorkload *workload = scenario->workload;
  guint data = workload->layout.data;
  LsCheckpointTimes times;

  ls_checkpoint_times (scenario->cluster, workload, LS_CHECKPOINT_SHARDED, &times);
  g_autofree char *bytes = ls_quantity_format_decimal ((double) times.bytes, LS_DIMENSION_BYTES);
  g_string_append_printf (
      out, "checkpoint  %s: parameters, master copy and optimizer%s, %.4g B per parameter\n", bytes,
      times.tables_bytes > 0 ? ", embedding tables" : "", times.bytes_per_parameter);
  if (times.storage)
    g_string_append_printf (out, "written to  %s\n",
                            times.drives
                                ? "the nodes' own drives; a lost node takes its shards along"
                                : "cluster.storage");
  g_string_append_c (out, '\n');
  g_string_append_printf (out, "%-8s  %-5s  %*s  %*s  %*s  %*s  %*s  %*s\n", "layout", "mode",
                          WIDTH, "per writer", WIDTH, "network", WIDTH, "training", WIDTH,
                          "then until", WIDTH, "restore", WIDTH, "from a");
  g_string_append_printf (out, "%-8s  %-5s  %*s  %*s  %*s  %*s  %*s  %*s\n", "", "", WIDTH, "",
                          WIDTH, "", WIDTH, "stands still", WIDTH, "durable", WIDTH, "", WIDTH,
                          "peer");
  for (guint kind = 0; kind < 4; kind++)
    text_kind (out, scenario, kind < 2 ? LS_CHECKPOINT_SHARDED : LS_CHECKPOINT_UNIFIED, kind % 2);
  g_string_append_printf (out, "\n%-*s  %*s  %*s  %*s  %*s\n", LABEL, "sharded, restored on", WIDTH,
                          "stays", WIDTH, "moves", WIDTH, "takes more", WIDTH, "memory");
  for (guint i = 0; i < 3; i++) {
    guint to = other_size (data, i);
    LsReshardCost cost;
    if (to == 0)
      continue;
    ls_checkpoint_reshard (scenario->cluster, workload, LS_CHECKPOINT_SHARDED, data, to, &cost);
    sizes_label (out, data, to);
    g_string_append_printf (out, "  %*.1f %%", WIDTH - 2,
                            100.0 * (double) cost.stays_bytes / (double) MAX (1, cost.read_bytes));
    cell (out, (double) cost.moves_bytes, LS_DIMENSION_BYTES);
    cell (out, (double) cost.us / 1e6, LS_DIMENSION_TIME);
    cell (out, (double) cost.temporary_bytes, LS_DIMENSION_BYTES);
    g_string_append_c (out, '\n');
  }
  if (ls_layout_copies (&workload->layout) > 1)
    text_stages (out, scenario, &times);
  text_ledger (out, scenario);
  return g_string_free (out, FALSE);
}

static void json_kind (LsJson *json, const LsScenario *scenario, LsCheckpointLayout layout) {
  LsCheckpointTimes times;

  ls_checkpoint_times (scenario->cluster, scenario->workload, layout, &times);
  ls_json_open_object (json, layout == LS_CHECKPOINT_UNIFIED ? "unified" : "sharded");
  ls_json_integer (json, "most_rank_bytes", times.most_rank_bytes);
  ls_json_integer (json, "writers", times.writers);
  ls_json_integer (json, "network_bytes", times.network_bytes);
  for (guint async = 0; times.storage && async < 2; async++) {
    ls_json_open_object (json, async ? "async" : "sync");
    ls_json_number (json, "blocking_s",
                    (double) ls_checkpoint_blocking_us (&times, (gboolean) async) / 1e6);
    ls_json_number (json, "drain_s",
                    (double) ls_checkpoint_drain_us (&times, (gboolean) async) / 1e6);
    ls_json_close (json);
  }
  if (times.storage)
    ls_json_number (json, "restore_s",
                    (double) (times.read_us + times.load_us + times.spread_us) / 1e6);
  ls_json_number (json, "peer_restore_s", (double) (times.peer_us + times.spread_us) / 1e6);
  ls_json_close (json);
}

static char *as_json (const LsScenario *scenario) {
  g_autoptr (LsJson) json = ls_json_new ();
  const LsWorkload *workload = scenario->workload;
  guint data = workload->layout.data;
  LsCheckpointTimes times;

  ls_checkpoint_times (scenario->cluster, workload, LS_CHECKPOINT_SHARDED, &times);
  ls_json_open_object (json, NULL);
  ls_json_integer (json, "bytes", times.bytes);
  if (times.storage)
    ls_json_string (json, "written_to", times.drives ? "drives" : "storage");
  ls_json_integer (json, "parameters_bytes", times.parameters_bytes);
  ls_json_integer (json, "tables_bytes", times.tables_bytes);
  ls_json_number (json, "bytes_per_parameter", times.bytes_per_parameter);
  json_kind (json, scenario, LS_CHECKPOINT_SHARDED);
  json_kind (json, scenario, LS_CHECKPOINT_UNIFIED);
  ls_json_open_array (json, "reshard");
  for (guint i = 0; i < 3; i++) {
    guint to = other_size (data, i);
    LsReshardCost cost;
    if (to == 0)
      continue;
    ls_checkpoint_reshard (scenario->cluster, workload, LS_CHECKPOINT_SHARDED, data, to, &cost);
    ls_json_open_object (json, NULL);
    ls_json_integer (json, "from_replicas", data);
    ls_json_integer (json, "to_replicas", to);
    ls_json_integer (json, "stays_bytes", cost.stays_bytes);
    ls_json_integer (json, "moves_bytes", cost.moves_bytes);
    ls_json_integer (json, "read_bytes", cost.read_bytes);
    ls_json_integer (json, "temporary_bytes", cost.temporary_bytes);
    ls_json_number (json, "extra_s", (double) cost.us / 1e6);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_open_array (json, "restage");
  for (int stage = 0; stage < 4; stage++) {
    LsReshard cost = to_stage (scenario, &times, stage);
    ls_json_open_object (json, NULL);
    ls_json_integer (json, "from_stage", workload->zero.stage);
    ls_json_integer (json, "to_stage", stage);
    ls_json_integer (json, "stays_bytes", cost.stays_bytes);
    ls_json_integer (json, "moves_bytes", cost.moves_bytes);
    ls_json_integer (json, "most_moved_bytes", cost.most_moved_bytes);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_close (json);
  return ls_json_finish (g_steal_pointer (&json));
}

char *ls_check_checkpoint (const LsScenario *scenario, gboolean json) {
  return json ? as_json (scenario) : as_text (scenario);
}
