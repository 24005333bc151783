/* The table of ZeRO's stages; see check_zero.h. Each row is the memory model's own estimate of the same
 * workload with another stage. */
#include "cli/check_zero.h"

#include "base/quantity.h"
#include "train/memory.h"
#include "train/stage.h"

#define N_STAGES 4

/* Workers of a policy with replicas out of step share no states: stage 0 is all there is (update_read.c). */
static int n_stages (const LsWorkload *w) {
  return w->update.active ? 1 : N_STAGES;
}

static LsMemoryEstimate estimate_of (const LsScenario *scenario, guint job, int stage) {
  g_autofree const LsAccelerator **gpus = ls_scenario_stage_gpus (scenario, job);
  g_autoptr (LsWorkload) copy = ls_workload_copy (scenario->jobs[job].workload);
  LsMemoryEstimate estimate;

  copy->zero.stage = stage;
  copy->zero.offload = LS_OFFLOAD_NONE;
  ls_memory_fullest (copy, gpus, &estimate);
  return estimate;
}

/* Bytes per parameter of parameters, gradients, and optimizer states. */
typedef struct {
  int p, g, o;
} Sizes;

static Sizes sizes_of (const LsWorkload *w) {
  const int p = ls_format_bytes (w->precision.parameters);
  const int g = ls_format_bytes (w->precision.gradients);

  return (Sizes){p, g, (int) ls_memory_bytes_per_parameter (w) - p - g};
}

/* States of the trained parameters P by stage. */
static char *trained_law (const LsWorkload *w, int stage) {
  const Sizes s = sizes_of (w);
  const guint d = ls_workload_shards (w);

  switch (stage) {
  case 0:
    return g_strdup_printf ("%d P", s.p + s.g + s.o);
  case 1:
    return g_strdup_printf ("%d P + %d P/%u", s.p + s.g, s.o, d);
  case 2:
    return g_strdup_printf ("%d P + %d P/%u", s.p, s.g + s.o, d);
  default:
    return g_strdup_printf ("%d P/%u", s.p + s.g + s.o, d);
  }
}

/* With frozen parameters F, which only stage 3 shards. */
static char *law_of (const LsWorkload *w, int stage) {
  g_autofree char *trained = trained_law (w, stage);

  if (w->model->transformer.lora.rank == 0)
    return g_steal_pointer (&trained);
  return stage < 3 ? g_strdup_printf ("F + %s", trained)
                   : g_strdup_printf ("F/%u + %s", ls_workload_shards (w), trained);
}

/* What P is and, with adapters, F. */
static char *legend_of (const LsScenario *scenario, guint job) {
  const LsMemoryEstimate whole = estimate_of (scenario, job, 0);
  g_autofree char *frozen = NULL;

  if (scenario->jobs[job].workload->model->transformer.lora.rank == 0)
    return g_strdup ("P parameters");
  frozen = ls_quantity_format_decimal ((double) whole.frozen_bytes, LS_DIMENSION_BYTES);
  return g_strdup_printf ("P trained parameters beside F = %s of frozen ones", frozen);
}

/* Elements that a rank sends per step, in parameters, of m micro-batches. source: ibid., section 7, and
 * gradients that are reduced after every micro-batch from stage 2 on. */
static gint64 traffic_of (const LsWorkload *w, int stage) {
  const gint64 m = w->microbatches;

  return stage < 2 ? 2 : stage == 2 ? m + 1 : 3 * m;
}

static void append_cell (GString *out, double bytes) {
  g_autofree char *text = ls_quantity_format_decimal (bytes, LS_DIMENSION_BYTES);

  g_string_append_printf (out, " %12s", text);
}

void ls_check_zero (GString *out, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;

  const gboolean offloads = w->zero.offload != LS_OFFLOAD_NONE;
  g_autofree char *legend = NULL;

  if (ls_workload_shards (w) <= 1)
    return;
  legend = legend_of (scenario, job);
  g_string_append_printf (out,
                          "\nZeRO stages on the fullest GPU%s, %s on a rank, %u shards (* this "
                          "scenario)\n%-6s %12s %12s %12s %12s %12s %12s   %-18s %s\n",
                          offloads ? " without offload" : "", legend, ls_workload_shards (w),
                          "stage", "parameters", "gradients", "optimizer", "activations", "buffers",
                          "reserved", "states, bytes", "sent per step, elements");
  for (int stage = 0; stage < n_stages (w); stage++) {
    const LsMemoryEstimate estimate = estimate_of (scenario, job, stage);
    g_autofree char *law = law_of (w, stage);

    g_string_append_printf (out, "%d%-5s", stage, stage == w->zero.stage && !offloads ? " *" : "");
    for (guint kind = 0; kind < LS_N_MEMORY; kind++)
      append_cell (out, (double) estimate.bytes[kind]);
    append_cell (out, (double) estimate.reserved_bytes);
    g_string_append_printf (out, "   %-18s %" G_GINT64_FORMAT " P (d-1)/d%s\n", law,
                            traffic_of (w, stage), estimate.fits ? "" : "; does not fit");
  }
  if (n_stages (w) == 1)
    g_string_append_printf (out,
                            "Stages 1 to 3 share states among replicas in step, which workers "
                            "of %s are not.\n",
                            w->update.spec.policy->name);
}

void ls_check_zero_json (LsJson *json, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;

  ls_json_open_array (json, "zero_stages");
  for (int stage = 0; ls_workload_shards (w) > 1 && stage < n_stages (w); stage++) {
    const LsMemoryEstimate estimate = estimate_of (scenario, job, stage);
    g_autofree char *law = law_of (w, stage);

    ls_json_open_object (json, NULL);
    ls_json_integer (json, "stage", stage);
    ls_json_boolean (json, "this", stage == w->zero.stage && w->zero.offload == LS_OFFLOAD_NONE);
    for (guint kind = 0; kind < LS_N_MEMORY; kind++) {
      g_autofree char *key = g_strconcat (ls_memory_name ((LsMemoryKind) kind), "_bytes", NULL);

      ls_json_integer (json, key, estimate.bytes[kind]);
    }
    ls_json_integer (json, "reserved_bytes", estimate.reserved_bytes);
    ls_json_boolean (json, "fits", estimate.fits);
    ls_json_string (json, "states_law", law);
    ls_json_integer (json, "sent_parameters_per_step", traffic_of (w, stage));
    ls_json_close (json);
  }
  ls_json_close (json);
}
