/* Tables of `lockstep check`, see check_tables.h. */
#include "cli/check_tables.h"

#include <string.h>

#include "base/prose.h"
#include "base/quantity.h"
#include "cli/check_zero.h"
#include "train/memory/recompute.h"
#include "train/program/expert_load.h"
#include "train/workload/traffic.h"

/* What a traffic job does. */
static void traffic_card (GString *out, const LsScenario *scenario, const LsWorkload *w) {
  const LsTraffic *traffic = w->traffic;
  g_autofree char *size = ls_quantity_format_decimal ((double) traffic->bytes, LS_DIMENSION_BYTES);
  gboolean messages = traffic->operation == LS_COLLECTIVE_SEND_RECV;

  g_autofree char *gpus = ls_quantity_format_counted (ls_cluster_n_gpus (scenario->cluster), "GPU");
  g_autofree char *nodes =
      ls_quantity_format_counted (ls_cluster_n_nodes (scenario->cluster), "node");
  g_autofree char *groups = ls_quantity_format_counted (traffic->groups, "group");
  g_autofree char *ranks = ls_quantity_format_counted (traffic->group_size, "rank");

  g_string_append_printf (out, "cluster   %s in %s\n", gpus, nodes);
  g_string_append_printf (out, "traffic   %s%s%s of %s, %s of %s, %" G_GINT64_FORMAT " times\n",
                          ls_collective_op_name (traffic->operation), messages ? " " : "",
                          messages ? ls_traffic_pattern_name (traffic->pattern) : "", size, groups,
                          ranks, w->steps);
}

static void window_card (GString *out, const LsTransformer *t) {
  gint64 blocks = 0;

  for (gint64 i = 0; i < t->layers; i++)
    blocks += ls_transformer_window (t, i) > 0 ? 1 : 0;
  g_string_append_printf (out,
                          "attention a window of %" G_GINT64_FORMAT " tokens in %" G_GINT64_FORMAT
                          " of %" G_GINT64_FORMAT " layers\n",
                          t->window, blocks, t->layers);
}

/* What a token meets of a mixture of experts, and who holds them. */
static void experts_card (GString *out, const LsScenario *scenario, const LsWorkload *w) {
  const LsTransformer *t = &w->model->transformer;
  const guint ranks = ls_layout_size (&w->layout, LS_AXIS_EXPERT);
  g_autofree char *active =
      ls_quantity_format ((double) ls_model_active_parameters (w->model), LS_DIMENSION_COUNT);
  g_autofree char *capacity =
      t->experts.capacity_factor > 0
          ? g_strdup_printf ("capacity factor %g, padded, %.1f %% of the rows dropped",
                             t->experts.capacity_factor,
                             100 * ls_expert_dropped (&t->experts, scenario->seed, 1000))
          : g_strdup ("dropless");

  g_string_append_printf (
      out,
      "experts   %" G_GINT64_FORMAT " per layer in %" G_GINT64_FORMAT " layers, %" G_GINT64_FORMAT
      " per token%s, %s; %s parameters active; expert %u x "
      "expert_tensor %u x expert_data %u\n",
      t->experts.count, ls_transformer_expert_blocks (t, t->layers), t->experts.top_k,
      t->experts.shared_ffn > 0 ? " and shared ones" : "", capacity, active, ranks,
      ls_layout_size (&w->layout, LS_AXIS_EXPERT_TENSOR),
      ls_layout_size (&w->layout, LS_AXIS_EXPERT_DATA));
}

/* Adapters: how many parameters are trained, beside which maps. */
static void lora_card (GString *out, const LsWorkload *w) {
  const LsLora *lora = &w->model->transformer.lora;
  g_autofree char *trained =
      ls_quantity_format ((double) ls_model_trained_parameters (w->model), LS_DIMENSION_COUNT);
  const char *between = "";

  g_string_append_printf (out,
                          "trained   %s parameters: adapters of rank %" G_GINT64_FORMAT " beside ",
                          trained, lora->rank);
  for (guint i = 0; i < LS_N_LORA_TARGETS; i++)
    if (ls_lora_has (lora, (LsLoraTarget) i)) {
      g_string_append_printf (out, "%s%s", between, ls_lora_target_name ((LsLoraTarget) i));
      between = ", ";
    }
  g_string_append (out, "; all others are frozen\n");
}

/* What is computed and kept in which format. */
static void precision_card (GString *out, const LsWorkload *w) {
  const LsPrecision *p = &w->precision;
  const guint moments = ls_optimizer_moments (&w->optimizer);

  g_string_append_printf (out, "precision products %s, activations %s; parameters %s, gradients %s",
                          ls_format_name (p->narrow.used ? p->narrow.forward : p->compute),
                          ls_format_name (p->compute), ls_format_name (p->parameters),
                          ls_format_name (p->gradients));
  if (p->master_used)
    g_string_append_printf (out, ", master copy %s", ls_format_name (p->master));
  if (moments > 0)
    g_string_append_printf (out, ", %u moment%s %s", moments, moments == 1 ? "" : "s",
                            ls_format_name (p->optimizer));
  g_string_append_printf (out, ": %g B per %sparameter\n", ls_memory_bytes_per_parameter (w),
                          w->model->transformer.lora.rank > 0 ? "trained " : "");
}

/* The pipeline's schedule, and the framework. */
static void software_card (GString *out, const LsWorkload *w) {
  if (w->layout.pipeline > 1) {
    const guint parts = ls_workload_n_parts (w);

    g_string_append_printf (out, "pipeline  %s", ls_schedule_name (w->schedule));
    if (parts > 1)
      g_string_append_printf (out, ", %u stages on each device", parts);
    g_string_append_c (out, '\n');
  }
  g_string_append_printf (out, "software  %s\n", w->software->name);
}

/* "16 x h100-sxm-80gb", and of a mixed cluster each kind in the order of its nodes: "8 x a, 16 x b". */
static char *gpus_text (const LsCluster *cluster) {
  const guint n = ls_cluster_n_gpus (cluster);
  GString *out = g_string_new (NULL);
  guint from = 0;

  for (guint node = 1; node <= ls_cluster_n_nodes (cluster); node++) {
    const guint to =
        node < ls_cluster_n_nodes (cluster) ? ls_cluster_node_first_gpu (cluster, node) : n;

    if (to == from || (to < n && g_str_equal (ls_cluster_gpu (cluster, to)->name,
                                              ls_cluster_gpu (cluster, from)->name)))
      continue;
    g_autofree char *count = ls_quantity_format_grouped (to - from);

    g_string_append_printf (out, "%s%s x %s", out->len > 0 ? ", " : "", count,
                            ls_cluster_gpu (cluster, from)->name);
    from = to;
  }
  return g_string_free (out, FALSE);
}

/* How the ranks are laid out, and what a step of them takes in. */
static void layout_card (GString *out, const LsWorkload *w) {
  g_autofree char *replicas = ls_quantity_format_counted (w->layout.data, "replica");
  g_autofree char *context =
      w->layout.context > 1 ? g_strdup_printf (" x context %u", w->layout.context) : g_strdup ("");
  g_autofree char *experts =
      ls_workload_has_experts (w)
          ? g_strdup_printf (" (experts: tensor %u x expert %u x data %u per stage)",
                             ls_layout_size (&w->layout, LS_AXIS_EXPERT_TENSOR), w->layout.expert,
                             ls_layout_size (&w->layout, LS_AXIS_EXPERT_DATA))
          : g_strdup ("");
  g_autofree char *recompute = ls_recompute_text (&w->recompute);
  g_autofree char *ranks = ls_quantity_format_counted (w->layout.ranks, "rank");
  g_autofree char *samples = ls_quantity_format_counted (w->global_batch, "sample");

  g_string_append_printf (
      out, "layout    tensor %u%s x pipeline %u x data %u = %s%s; ZeRO stage %d, recompute %s\n",
      w->layout.tensor, context, w->layout.pipeline, w->layout.data, ranks, experts, w->zero.stage,
      recompute);
  g_string_append_printf (out,
                          "batch     %s per step: %s x %" G_GINT64_FORMAT
                          " micro-batch%s of %" G_GINT64_FORMAT " sample%s",
                          samples, replicas, w->microbatches, w->microbatches == 1 ? "" : "es",
                          w->micro_batch, w->micro_batch == 1 ? "" : "s");
  if (ls_model_has_tokens (w->model))
    g_string_append_printf (out, " of %" G_GINT64_FORMAT " tokens", w->seq_len);
  g_string_append_c (out, '\n');
}

static void model_card (GString *out, const LsScenario *scenario, const LsWorkload *w) {
  g_autofree char *parameters =
      ls_quantity_format ((double) ls_model_parameters (w->model), LS_DIMENSION_COUNT);

  g_string_append_printf (out, "model     %s, %s parameters, %u layers\n", w->model->name,
                          parameters, ls_model_n_layers (w->model));
  if (w->model->transformer.window > 0)
    window_card (out, &w->model->transformer);
  if (w->model->transformer.experts.count > 0)
    experts_card (out, scenario, w);
  if (w->model->transformer.lora.rank > 0)
    lora_card (out, w);
}

void ls_check_card (GString *out, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  const LsAccelerator *gpu = ls_cluster_gpu (scenario->cluster, 0);

  if (w->traffic) {
    traffic_card (out, scenario, w);
    return;
  }
  g_autofree char *gpus = gpus_text (scenario->cluster);
  g_autofree char *nodes =
      ls_quantity_format_counted (ls_cluster_n_nodes (scenario->cluster), "node");

  g_string_append_printf (out, "cluster   %s in %s\n", gpus, nodes);
  if (gpu->clock > 0)
    g_string_append_printf (out, "          capped at %.0f W each: %.1f %% of their clock\n",
                            gpu->tdp_w, 100 * gpu->clock);
  model_card (out, scenario, w);
  layout_card (out, w);
  if (!w->update.timed) {
    precision_card (out, w);
    software_card (out, w);
  }
  if (w->kernels != NULL)
    g_string_append_printf (out, "kernels   %u of %u rows of %s are used\n",
                            ls_kernel_table_n_used (w->kernels), ls_kernel_table_size (w->kernels),
                            ls_kernel_table_name (w->kernels));
  if (w->update.active)
    g_string_append_printf (out, "updates   %s over %u workers%s\n", w->update.spec.policy->name,
                            w->update.spec.workers,
                            w->update.n_server_nodes > 0 ? ", with servers" : "");
  if (w->layout.ranks < w->gpus) {
    g_autofree char *idle = ls_quantity_format_grouped (w->gpus - w->layout.ranks);
    g_autofree char *all = ls_quantity_format_counted (w->gpus, "GPU");

    g_string_append_printf (out, "idle      %s of %s have no rank\n", idle, all);
  }
}

static void append_cell (GString *out, double bytes) {
  g_autofree char *text = ls_quantity_format_decimal (bytes, LS_DIMENSION_BYTES);

  g_string_append_printf (out, " %12s", text);
}

/* What zero.offload and recompute.offload put elsewhere: of each rank of a stage, in the memory of its host. */
static void host_table (GString *out, const LsWorkload *w, const LsAccelerator *const *gpus) {
  if (w->zero.offload == LS_OFFLOAD_NONE && !w->recompute.offload)
    return;
  g_string_append_printf (
      out, "in the memory of the host, of each rank\n%-6s %12s %12s %12s %12s %12s %12s\n", "stage",
      "parameters", "gradients", "optimizer", "activations", "sum", "share");
  for (guint stage = 0; stage < w->layout.pipeline; stage++) {
    LsMemoryEstimate estimate;

    ls_memory_estimate (w, stage, gpus[stage], &estimate);
    g_string_append_printf (out, "%-6u", stage);
    append_cell (out, (double) estimate.host.parameters_bytes);
    append_cell (out, (double) estimate.host.gradients_bytes);
    append_cell (out, (double) estimate.host.optimizer_bytes);
    append_cell (out, (double) estimate.host_activations_bytes);
    append_cell (out, (double) estimate.host_bytes);
    append_cell (out, (double) estimate.host_capacity_bytes);
    g_string_append (out, ls_memory_host_fits (&estimate) ? "\n" : "  does not fit\n");
  }
}

/* What zero.nvme puts on drives, and what of the host's memory it passes through. */
static void drives_table (GString *out, const LsWorkload *w, const LsAccelerator *const *gpus) {
  if (ls_workload_nvme (w) == LS_OFFLOAD_NONE)
    return;
  g_string_append_printf (
      out, "on the drives of the node, of each rank\n%-6s %12s %12s %12s %12s %12s %12s\n", "stage",
      "parameters", "gradients", "optimizer", "sum", "share", "staging");
  for (guint stage = 0; stage < w->layout.pipeline; stage++) {
    LsMemoryEstimate estimate;

    ls_memory_estimate (w, stage, gpus[stage], &estimate);
    g_string_append_printf (out, "%-6u", stage);
    append_cell (out, (double) estimate.drives.parameters_bytes);
    append_cell (out, (double) estimate.drives.gradients_bytes);
    append_cell (out, (double) estimate.drives.optimizer_bytes);
    append_cell (out, (double) estimate.drives_bytes);
    append_cell (out, (double) estimate.drives_capacity_bytes);
    append_cell (out, (double) estimate.host_staging_bytes);
    g_string_append (out, ls_memory_drives_fit (&estimate) ? "\n" : "  does not fit\n");
  }
  g_string_append (out, "staging: in the memory of the host, in its sum\n");
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
  host_table (out, w, gpus);
  drives_table (out, w, gpus);
  ls_memory_fullest (w, gpus, &fullest);
  if (fullest.frozen_bytes > 0) {
    g_string_append (out, "frozen");
    append_cell (out, (double) fullest.frozen_bytes);
    g_string_append (out, " of the parameters on the fullest GPU\n");
  }
  if (fullest.communication_bytes > 0) {
    g_string_append_printf (out, "%u communicators hold", ls_memory_communicators (w));
    append_cell (out, (double) fullest.communication_bytes);
    g_string_append (out, " of each GPU outside its capacity\n");
  }
  verdict = ls_memory_verdict (w, gpus, &fullest);
  ls_prose_append (out, g_strchomp (verdict), LS_PROSE_WIDTH, 2, 0);
  ls_check_zero (out, scenario, job);
}

static void json_estimate (LsJson *json, const LsMemoryEstimate *estimate) {
  ls_json_integer (json, "stage", estimate->stage);
  ls_json_boolean (json, "fits", estimate->fits);
  for (guint kind = 0; kind < LS_N_MEMORY; kind++) {
    g_autofree char *key = g_strconcat (ls_memory_name ((LsMemoryKind) kind), "_bytes", NULL);

    ls_json_integer (json, key, estimate->bytes[kind]);
  }
  if (estimate->frozen_bytes > 0)
    ls_json_integer (json, "frozen_bytes", estimate->frozen_bytes);
  ls_json_integer (json, "peak_bytes", estimate->allocated_bytes);
  ls_json_integer (json, "reserved_bytes", estimate->reserved_bytes);
  ls_json_integer (json, "capacity_bytes", estimate->capacity_bytes);
  if (estimate->host_bytes == 0)
    return;
  ls_json_open_object (json, "host");
  ls_json_integer (json, "parameters_bytes", estimate->host.parameters_bytes);
  ls_json_integer (json, "gradients_bytes", estimate->host.gradients_bytes);
  ls_json_integer (json, "optimizer_bytes", estimate->host.optimizer_bytes);
  ls_json_integer (json, "needed_bytes", estimate->host_bytes);
  ls_json_integer (json, "capacity_bytes", estimate->host_capacity_bytes);
  ls_json_boolean (json, "fits", ls_memory_host_fits (estimate));
  ls_json_close (json);
  if (estimate->drives_bytes == 0)
    return;
  ls_json_open_object (json, "drives");
  ls_json_integer (json, "parameters_bytes", estimate->drives.parameters_bytes);
  ls_json_integer (json, "gradients_bytes", estimate->drives.gradients_bytes);
  ls_json_integer (json, "optimizer_bytes", estimate->drives.optimizer_bytes);
  ls_json_integer (json, "staging_bytes", estimate->host_staging_bytes);
  ls_json_integer (json, "needed_bytes", estimate->drives_bytes);
  ls_json_integer (json, "capacity_bytes", estimate->drives_capacity_bytes);
  ls_json_boolean (json, "fits", ls_memory_drives_fit (estimate));
  ls_json_close (json);
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
  ls_check_zero_json (json, scenario, job);
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

/* Of a device: "0-3", or "0-1,8-9" with two stages. */
static char *layers_text (const LsWorkload *w, guint device) {
  GString *text = g_string_new (NULL);

  for (guint part = 0; part < ls_workload_n_parts (w); part++) {
    guint stage = ls_workload_stage_of (w, device, part);
    guint first = first_layer (w, stage), n = w->layers_per_stage[stage];
    if (part > 0)
      g_string_append_c (text, ',');
    if (n == 0)
      g_string_append_c (text, '-');
    else
      g_string_append_printf (text, "%u-%u", first, first + n - 1);
  }
  return g_string_free (text, FALSE);
}

/* Layers of all stages of a device, the first of the first, and each stage's where there are several. */
static void json_layers (LsJson *json, const LsWorkload *w, guint device) {
  const guint n = ls_workload_n_parts (w);
  guint layers = 0;

  for (guint part = 0; part < n; part++)
    layers += w->layers_per_stage[ls_workload_stage_of (w, device, part)];
  ls_json_integer (json, "first_layer", first_layer (w, ls_workload_stage_of (w, device, 0)));
  ls_json_integer (json, "layers", layers);
  if (n == 1)
    return;
  ls_json_open_array (json, "model_stages");
  for (guint part = 0; part < n; part++) {
    guint stage = ls_workload_stage_of (w, device, part);
    ls_json_open_object (json, NULL);
    ls_json_integer (json, "stage", stage);
    ls_json_integer (json, "first_layer", first_layer (w, stage));
    ls_json_integer (json, "layers", w->layers_per_stage[stage]);
    ls_json_close (json);
  }
  ls_json_close (json);
}

/* Axes whose groups are shown: the last ones only where they have ranks of their own. */
static const LsAxis *shown_axes (const LsWorkload *w, guint *n) {
  static const LsAxis all[] = {LS_AXIS_TENSOR,        LS_AXIS_DATA,         LS_AXIS_PIPELINE,
                               LS_AXIS_CONTEXT,       LS_AXIS_DATA_CONTEXT, LS_AXIS_EXPERT,
                               LS_AXIS_EXPERT_TENSOR, LS_AXIS_EXPERT_DATA};
  static const LsAxis dense[] = {LS_AXIS_TENSOR, LS_AXIS_DATA,          LS_AXIS_PIPELINE,
                                 LS_AXIS_EXPERT, LS_AXIS_EXPERT_TENSOR, LS_AXIS_EXPERT_DATA};

  if (w->layout.context == 1) {
    *n = ls_workload_has_experts (w) ? G_N_ELEMENTS (dense) : 3;
    return dense;
  }
  *n = ls_workload_has_experts (w) ? G_N_ELEMENTS (all) : 5;
  return all;
}

/* Coordinates beside tensor, data and stage: context, and those of the experts. */
static void append_coordinates (GString *out, const LsWorkload *w, const LsCoordinates *at) {
  const guint experts[] = {at != NULL ? at->expert_tensor : 0, at != NULL ? at->expert : 0,
                           at != NULL ? at->expert_data : 0};
  static const char *const names[] = {"e.tensor", "expert", "e.data"};

  if (w->layout.context > 1 && at == NULL)
    g_string_append_printf (out, " %7s", "context");
  else if (w->layout.context > 1)
    g_string_append_printf (out, " %7u", at->context);
  for (guint i = 0; ls_workload_has_experts (w) && i < G_N_ELEMENTS (experts); i++) {
    if (at == NULL)
      g_string_append_printf (out, " %8s", names[i]);
    else
      g_string_append_printf (out, " %8u", experts[i]);
  }
}

/* "5"; under MIG "5/mig2". */
static char *device_text (const LsCluster *cluster, guint gpu) {
  const LsNodeSpec *node = ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, gpu));
  g_autofree char *name = ls_node_device_name (node, ls_cluster_gpu_local (cluster, gpu));

  return g_strdup (name + strlen ("gpu"));
}

/* The columns of names, which are longer under MIG. */
typedef struct {
  int node, device, type;
} Widths;

static Widths widths_of (const LsScenario *scenario, const LsWorkload *w) {
  Widths widths = {12, 4, 16};

  for (guint rank = 0; rank < w->layout.ranks; rank++) {
    const guint gpu = w->gpu_of_rank[rank];
    g_autofree char *node =
        ls_cluster_node_name (scenario->cluster, ls_cluster_gpu_node (scenario->cluster, gpu));
    g_autofree char *device = device_text (scenario->cluster, gpu);

    widths.node = MAX (widths.node, (int) strlen (node));
    widths.device = MAX (widths.device, (int) strlen (device));
    widths.type = MAX (widths.type, (int) strlen (ls_cluster_gpu (scenario->cluster, gpu)->name));
  }
  return widths;
}

void ls_check_layout (GString *out, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  const Widths widths = widths_of (scenario, w);
  guint before = first_rank (scenario, job), n_axes;
  const LsAxis *axes = shown_axes (w, &n_axes);

  g_string_append_printf (out, "%6s  %-*s %*s %-*s %6s %6s %6s %9s", "rank", widths.node, "node",
                          widths.device, "gpu", widths.type, "type", "tensor", "data", "stage",
                          "layers");
  append_coordinates (out, w, NULL);
  for (guint i = 0; i < n_axes; i++)
    g_string_append_printf (out, "%s%s", i == 0 ? "   groups " : "/", ls_axis_name (axes[i]));
  g_string_append_c (out, '\n');
  for (guint rank = 0; rank < w->layout.ranks; rank++) {
    guint gpu = w->gpu_of_rank[rank];
    LsCoordinates at = ls_layout_coordinates (&w->layout, rank);
    g_autofree char *node =
        ls_cluster_node_name (scenario->cluster, ls_cluster_gpu_node (scenario->cluster, gpu));
    g_autofree char *layers = layers_text (w, at.stage);

    g_autofree char *device = device_text (scenario->cluster, gpu);

    g_string_append_printf (out, "%6u  %-*s %*s %-*s %6u %6u %6u %9s", before + rank, widths.node,
                            node, widths.device, device, widths.type,
                            ls_cluster_gpu (scenario->cluster, gpu)->name, at.tensor, at.data,
                            at.stage, layers);
    append_coordinates (out, w, &at);
    for (guint i = 0; i < n_axes; i++)
      g_string_append_printf (out, "%s%u", i == 0 ? "   " : "/",
                              ls_layout_group (&w->layout, axes[i], rank));
    g_string_append_c (out, '\n');
  }
}

/* GPU of the node and, under MIG, the instance on it. */
static void device_json (LsJson *json, const LsCluster *cluster, guint gpu) {
  const LsNodeSpec *node = ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, gpu));
  const guint local = ls_cluster_gpu_local (cluster, gpu);

  ls_json_integer (json, "gpu", ls_node_physical (node, local));
  if (node->mig != NULL)
    ls_json_integer (json, "mig", node->mig->instances[local].number);
}

void ls_check_layout_json (LsJson *json, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  guint before = first_rank (scenario, job), n_axes;
  const LsAxis *axes = shown_axes (w, &n_axes);

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
    device_json (json, scenario->cluster, gpu);
    ls_json_string (json, "type", ls_cluster_gpu (scenario->cluster, gpu)->name);
    ls_json_integer (json, "tensor", at.tensor);
    ls_json_integer (json, "data", at.data);
    ls_json_integer (json, "stage", at.stage);
    json_layers (json, w, at.stage);
    if (w->layout.context > 1)
      ls_json_integer (json, "context", at.context);
    if (ls_workload_has_experts (w)) {
      ls_json_integer (json, "expert_tensor", at.expert_tensor);
      ls_json_integer (json, "expert", at.expert);
      ls_json_integer (json, "expert_data", at.expert_data);
    }
    for (guint i = 0; i < n_axes; i++) {
      g_autofree char *key = g_strconcat (ls_axis_name (axes[i]), "_group", NULL);

      ls_json_integer (json, key, ls_layout_group (&w->layout, axes[i], rank));
    }
    ls_json_close (json);
  }
  ls_json_close (json);
}
