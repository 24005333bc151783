/* Tables of `lockstep check`, see check_tables.h. */
#include "cli/check_tables.h"

#include <string.h>

#include "base/quantity.h"
#include "train/traffic.h"

char *ls_plural (gint64 n, const char *noun) {
  return g_strdup_printf ("%" G_GINT64_FORMAT " %s%s", n, noun, n == 1 ? "" : "s");
}

/* What a traffic job does. */
static void traffic_card (GString *out, const LsScenario *scenario, const LsWorkload *w) {
  const LsTraffic *traffic = w->traffic;
  g_autofree char *size = ls_quantity_format_decimal ((double) traffic->bytes, LS_DIMENSION_BYTES);
  gboolean messages = traffic->operation == LS_COLLECTIVE_SEND_RECV;

  g_string_append_printf (out, "cluster   %u GPUs in %u nodes\n",
                          ls_cluster_n_gpus (scenario->cluster),
                          ls_cluster_n_nodes (scenario->cluster));
  g_string_append_printf (
      out, "traffic   %s%s%s of %s, %u group%s of %u ranks, %" G_GINT64_FORMAT " times\n",
      ls_collective_op_name (traffic->operation), messages ? " " : "",
      messages ? ls_traffic_pattern_name (traffic->pattern) : "", size, traffic->groups,
      traffic->groups == 1 ? "" : "s", traffic->group_size, w->steps);
}

void ls_check_card (GString *out, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  const LsAccelerator *gpu = ls_cluster_gpu (scenario->cluster, 0);
  g_autofree char *nodes = ls_plural (ls_cluster_n_nodes (scenario->cluster), "node");
  if (w->traffic) {
    traffic_card (out, scenario, w);
    return;
  }
  g_autofree char *parameters =
      ls_quantity_format ((double) ls_model_parameters (w->model), LS_DIMENSION_COUNT);
  g_autofree char *replicas = ls_plural (w->layout.data, "replica");

  g_string_append_printf (out, "cluster   %u x %s in %s\n", ls_cluster_n_gpus (scenario->cluster),
                          gpu->name, nodes);
  g_string_append_printf (out, "model     %s, %s parameters, %u layers\n", w->model->name,
                          parameters, ls_model_n_layers (w->model));
  g_string_append_printf (
      out, "layout    tensor %u x pipeline %u x data %u = %u ranks; ZeRO stage %d, recompute %s\n",
      w->layout.tensor, w->layout.pipeline, w->layout.data, w->layout.ranks, w->zero.stage,
      ls_recompute_mode_name (w->recompute.mode));
  g_string_append_printf (out,
                          "batch     %" G_GINT64_FORMAT " samples per step: %s x %" G_GINT64_FORMAT
                          " micro-batches of %" G_GINT64_FORMAT " sample%s",
                          w->global_batch, replicas, w->microbatches, w->micro_batch,
                          w->micro_batch == 1 ? "" : "s");
  if (ls_model_has_tokens (w->model))
    g_string_append_printf (out, " of %" G_GINT64_FORMAT " tokens", w->seq_len);
  g_string_append_c (out, '\n');
  if (w->update.active)
    g_string_append_printf (out, "updates   %s over %u workers%s\n", w->update.spec.policy->name,
                            w->update.spec.workers,
                            w->update.n_server_nodes > 0 ? ", with servers" : "");
  if (w->layout.ranks < w->gpus)
    g_string_append_printf (out, "idle      %u of %u GPUs have no rank\n",
                            w->gpus - w->layout.ranks, w->gpus);
}

static void append_cell (GString *out, double bytes) {
  g_autofree char *text = ls_quantity_format_decimal (bytes, LS_DIMENSION_BYTES);

  g_string_append_printf (out, " %12s", text);
}

void ls_check_memory (GString *out, const LsScenario *scenario, guint job) {
  g_autofree const LsAccelerator **gpus = ls_scenario_stage_gpus (scenario, job);
  const LsWorkload *w = scenario->jobs[job].workload;
  LsMemoryEstimate fullest;
  g_autofree char *verdict = NULL;

  g_string_append_printf (out, "%-6s %12s %12s %12s %12s %12s %12s %12s\n", "stage", "parameters",
                          "gradients", "optimizer", "activations", "buffers", "reserved",
                          "capacity");
  for (guint stage = 0; stage < w->layout.pipeline; stage++) {
    LsMemoryEstimate estimate;

    ls_memory_estimate (w, stage, gpus[stage], &estimate);
    g_string_append_printf (out, "%-6u", stage);
    for (guint kind = 0; kind < LS_N_MEMORY; kind++)
      append_cell (out, (double) estimate.bytes[kind]);
    append_cell (out, (double) estimate.reserved_bytes);
    append_cell (out, (double) estimate.capacity_bytes);
    g_string_append (out, estimate.fits ? "\n" : "  does not fit\n");
  }
  ls_memory_fullest (w, gpus, &fullest);
  verdict = ls_memory_verdict (w, gpus, &fullest);
  g_string_append_printf (out, "%s\n", g_strchomp (verdict));
}

static void json_estimate (LsJson *json, const LsMemoryEstimate *estimate) {
  ls_json_integer (json, "stage", estimate->stage);
  ls_json_boolean (json, "fits", estimate->fits);
  for (guint kind = 0; kind < LS_N_MEMORY; kind++) {
    g_autofree char *key = g_strconcat (ls_memory_name ((LsMemoryKind) kind), "_bytes", NULL);

    ls_json_integer (json, key, estimate->bytes[kind]);
  }
  ls_json_integer (json, "peak_bytes", estimate->allocated_bytes);
  ls_json_integer (json, "reserved_bytes", estimate->reserved_bytes);
  ls_json_integer (json, "capacity_bytes", estimate->capacity_bytes);
}

void ls_check_memory_json (LsJson *json, const LsScenario *scenario, guint job) {
  g_autofree const LsAccelerator **gpus = ls_scenario_stage_gpus (scenario, job);
  const LsWorkload *w = scenario->jobs[job].workload;
  LsMemoryEstimate fullest;
  g_autofree char *verdict = NULL;

  ls_memory_fullest (w, gpus, &fullest);
  verdict = ls_memory_verdict (w, gpus, &fullest);
  ls_json_open_object (json, "memory");
  json_estimate (json, &fullest);
  ls_json_string (json, "verdict", g_strchomp (verdict));
  ls_json_open_array (json, "stages");
  for (guint stage = 0; stage < w->layout.pipeline; stage++) {
    LsMemoryEstimate estimate;

    ls_memory_estimate (w, stage, gpus[stage], &estimate);
    ls_json_open_object (json, NULL);
    json_estimate (json, &estimate);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_close (json);
}

/* First layer of a stage. */
static guint first_layer (const LsWorkload *workload, guint stage) {
  guint first = 0;

  for (guint i = 0; i < stage; i++)
    first += workload->layers_per_stage[i];
  return first;
}

/* The number in the run of a job's first rank. */
static guint first_rank (const LsScenario *scenario, guint job) {
  guint first = 0;

  for (guint i = 0; i < job; i++)
    first += scenario->jobs[i].workload->layout.ranks;
  return first;
}

static char *layers_text (const LsWorkload *w, guint stage) {
  guint first = first_layer (w, stage), n = w->layers_per_stage[stage];

  return n == 0 ? g_strdup ("-") : g_strdup_printf ("%u-%u", first, first + n - 1);
}

void ls_check_layout (GString *out, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  guint before = first_rank (scenario, job);

  g_string_append_printf (out, "%6s  %-12s %4s %-16s %6s %6s %6s %9s   %s\n", "rank", "node", "gpu",
                          "type", "tensor", "data", "stage", "layers",
                          "groups tensor/data/pipeline");
  for (guint rank = 0; rank < w->layout.ranks; rank++) {
    guint gpu = w->gpu_of_rank[rank];
    LsCoordinates at = ls_layout_coordinates (&w->layout, rank);
    g_autofree char *node =
        ls_cluster_node_name (scenario->cluster, ls_cluster_gpu_node (scenario->cluster, gpu));
    g_autofree char *layers = layers_text (w, at.stage);

    g_string_append_printf (out, "%6u  %-12s %4u %-16s %6u %6u %6u %9s   %u/%u/%u\n", before + rank,
                            node, ls_cluster_gpu_local (scenario->cluster, gpu),
                            ls_cluster_gpu (scenario->cluster, gpu)->name, at.tensor, at.data,
                            at.stage, layers, ls_layout_group (&w->layout, LS_AXIS_TENSOR, rank),
                            ls_layout_group (&w->layout, LS_AXIS_DATA, rank),
                            ls_layout_group (&w->layout, LS_AXIS_PIPELINE, rank));
  }
}

void ls_check_layout_json (LsJson *json, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  guint before = first_rank (scenario, job);

  ls_json_open_array (json, "layout");
  for (guint rank = 0; rank < w->layout.ranks; rank++) {
    guint gpu = w->gpu_of_rank[rank];
    LsCoordinates at = ls_layout_coordinates (&w->layout, rank);
    g_autofree char *node =
        ls_cluster_node_name (scenario->cluster, ls_cluster_gpu_node (scenario->cluster, gpu));

    ls_json_open_object (json, NULL);
    ls_json_integer (json, "rank", before + rank);
    ls_json_string (json, "job", scenario->jobs[job].name);
    ls_json_integer (json, "job_rank", rank);
    ls_json_string (json, "node", node);
    ls_json_integer (json, "gpu", ls_cluster_gpu_local (scenario->cluster, gpu));
    ls_json_string (json, "type", ls_cluster_gpu (scenario->cluster, gpu)->name);
    ls_json_integer (json, "tensor", at.tensor);
    ls_json_integer (json, "data", at.data);
    ls_json_integer (json, "stage", at.stage);
    ls_json_integer (json, "first_layer", first_layer (w, at.stage));
    ls_json_integer (json, "layers", w->layers_per_stage[at.stage]);
    ls_json_integer (json, "tensor_group", ls_layout_group (&w->layout, LS_AXIS_TENSOR, rank));
    ls_json_integer (json, "data_group", ls_layout_group (&w->layout, LS_AXIS_DATA, rank));
    ls_json_integer (json, "pipeline_group", ls_layout_group (&w->layout, LS_AXIS_PIPELINE, rank));
    ls_json_close (json);
  }
  ls_json_close (json);
}
