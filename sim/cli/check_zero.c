/* The table of ZeRO's stages; see check_zero.h. Each row is the memory model's own estimate of the same
 * workload with another stage. */
#include "cli/check_zero.h"

#include <string.h>

#include "base/prose.h"
#include "base/quantity.h"
#include "train/layer/stage.h"
#include "train/memory/memory.h"

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

/* Does the job deal routed experts to ranks? Their states are sharded over fewer. */
static gboolean has_experts (const LsWorkload *w) {
  return w->model->kind == LS_MODEL_TRANSFORMER && ls_workload_has_experts (w);
}

/* The same with another stage of ZeRO (transfer full). */
static LsWorkload *of_stage (const LsWorkload *w, int stage) {
  LsWorkload *copy = ls_workload_copy (w);

  copy->zero.stage = stage;
  return copy;
}

/* "16/4 P", "14 (P/16 + E/2)": so many bytes per parameter, whole or in shards (transfer full). */
static char *term (const LsWorkload *w, int bytes, gboolean shards) {
  const guint d = ls_workload_shards (w);

  if (!has_experts (w))
    return shards ? g_strdup_printf ("%d P/%u", bytes, d) : g_strdup_printf ("%d P", bytes);
  return shards ? g_strdup_printf ("%d (P/%u + E/%u)", bytes, d, ls_workload_expert_shards (w))
                : g_strdup_printf ("%d (P + E)", bytes);
}

/* Ranks that hold all dense parameters once more in this stage (zero.secondary_group); 0: none do. */
static guint secondary_of (const LsWorkload *of, int stage) {
  g_autoptr (LsWorkload) w = of_stage (of, stage);
  const guint shards = ls_workload_backward_shards (w);

  return shards < ls_workload_shards (w) ? shards : 0;
}

/* States of the trained parameters by stage (transfer full). */
static char *trained_law (const LsWorkload *w, int stage) {
  const Sizes s = sizes_of (w);
  const int sharded = stage == 0 ? 0 : stage == 1 ? s.o : stage == 2 ? s.g + s.o : s.p + s.g + s.o;
  const int whole = s.p + s.g + s.o - sharded;
  g_autofree char *first = term (w, whole, FALSE), *second = term (w, sharded, TRUE);

  if (secondary_of (w, stage) > 0)
    return g_strdup_printf ("%s + %d P/%u", second, s.p, secondary_of (w, stage));
  if (whole == 0)
    return g_steal_pointer (&second);
  return sharded == 0 ? g_steal_pointer (&first) : g_strdup_printf ("%s + %s", first, second);
}

/* Copies in 8 or 4 bits of the fullest stage, which stay there. */
static gint64 narrow_bytes (const LsScenario *scenario, guint job, int stage) {
  g_autofree const LsAccelerator **gpus = ls_scenario_stage_gpus (scenario, job);
  g_autoptr (LsWorkload) w = of_stage (scenario->jobs[job].workload, stage);
  const guint fullest = estimate_of (scenario, job, stage).stage;
  g_autoptr (LsStage) held = ls_stage_new (w, fullest, gpus[fullest]);

  return held->narrow_bytes;
}

/* With frozen parameters F, which only stage 3 shards, embedding tables T or narrow copies C, which no stage does. */
static char *law_of (const LsScenario *scenario, guint job, int stage) {
  g_autoptr (LsWorkload) w = of_stage (scenario->jobs[job].workload, stage);
  g_autofree char *states = trained_law (w, stage);
  g_autofree char *trained = narrow_bytes (scenario, job, stage) > 0
                                 ? g_strdup_printf ("C + %s", states)
                                 : g_strdup (states);

  if (ls_model_table_parameters (w->model) > 0)
    return g_strdup_printf ("T + %s", trained);
  if (w->model->transformer.lora.rank == 0)
    return g_steal_pointer (&trained);
  return stage < 3 ? g_strdup_printf ("F + %s", trained)
                   : g_strdup_printf ("F/%u + %s", ls_workload_shards (w), trained);
}

/* Elements that a rank sends per step and parameter, of m micro-batches: in gathers and reductions. source: ibid.,
 * section 7, and gradients that are reduced after every micro-batch from stage 2 on. */
static gint64 traffic_of (const LsWorkload *w, int stage) {
  const gint64 m = w->microbatches;

  return stage < 2 ? 2 : stage == 2 ? m + 1 : 3 * m;
}

/* The same as a law. With hybrid sharding each reduction ends in a sum over the q groups of a shard; with stage 0 there
 * are none, and n = d q ranks sum. Frozen parameters are gathered twice a micro-batch with stage 3 (transfer full). */
static char *sent_law (const LsWorkload *of, int stage) {
  g_autoptr (LsWorkload) w = of_stage (of, stage);
  const gint64 all = traffic_of (w, stage), sums = 2 * (stage < 2 ? 1 : w->microbatches);
  const gboolean hybrid = ls_workload_is_hybrid (w);
  const guint secondary = secondary_of (of, stage);
  const gint64 second = secondary > 0 ? w->microbatches : 0; /* one gather of three a micro-batch */
  const gboolean one = stage == 0 && ls_workload_shards (w) < ls_layout_copies (&w->layout);
  const char *d = one ? "n" : "d", *e = one ? "(e q)" : "e";
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%" G_GINT64_FORMAT " P (%s-1)/%s", all - second, d, d);
  if (second > 0)
    g_string_append_printf (text, " + %" G_GINT64_FORMAT " P (%u-1)/%u", second, secondary,
                            secondary);
  if (hybrid)
    g_string_append_printf (text, " + %" G_GINT64_FORMAT " P/d (q-1)/q", sums);
  if (has_experts (w) && ls_workload_expert_shards (w) > 1)
    g_string_append_printf (text, " + %" G_GINT64_FORMAT " E (%.*s-1)/%s", all, one ? 3 : 1,
                            one ? e + 1 : e, e);
  if (has_experts (w) && hybrid)
    g_string_append_printf (text, " + %" G_GINT64_FORMAT " E/e (q-1)/q", sums);
  if (stage == 3 && w->model->kind == LS_MODEL_TRANSFORMER && w->model->transformer.lora.rank > 0)
    g_string_append_printf (text, " + %" G_GINT64_FORMAT " F (d-1)/d bytes", 2 * w->microbatches);
  return g_string_free (text, FALSE);
}

/* What P is and, where they are, E, F, T, and the numbers of shards (transfer full). */
static char *legend_of (const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  const LsMemoryEstimate whole = estimate_of (scenario, job, 0);
  const gint64 narrow = narrow_bytes (scenario, job, 0);
  GString *text = g_string_new (has_experts (w) ? "P dense parameters" : "P parameters");

  if (w->model->kind == LS_MODEL_TRANSFORMER && w->model->transformer.lora.rank > 0) {
    g_autofree char *frozen =
        ls_quantity_format_decimal ((double) whole.frozen_bytes, LS_DIMENSION_BYTES);
    g_string_printf (text, "P trained parameters beside F = %s of frozen ones", frozen);
  }
  if (ls_model_table_parameters (w->model) > 0)
    g_string_append (text, " beside T bytes of tables");
  if (narrow > 0) {
    g_autofree char *copies = ls_quantity_format_decimal ((double) narrow, LS_DIMENSION_BYTES);
    g_string_append_printf (text, "%s C = %s of narrow copies",
                            strstr (text->str, " beside ") != NULL ? " and" : " beside", copies);
  }
  g_string_append_printf (text, " on a rank, d = %u shards", ls_workload_shards (w));
  if (has_experts (w))
    g_string_append_printf (text, "; E of routed experts, e = %u", ls_workload_expert_shards (w));
  if (ls_workload_is_hybrid (w))
    g_string_append_printf (text, "; q = %u groups of shards, n = %u ranks",
                            ls_workload_replicas (w), ls_layout_copies (&w->layout));
  return g_string_free (text, FALSE);
}

static void append_cell (GString *out, double bytes) {
  g_autofree char *text = ls_quantity_format_decimal (bytes, LS_DIMENSION_BYTES);

  g_string_append_printf (out, " %12s", text);
}

/* Of the laws of states, which differ in length. */
static int law_width (const LsScenario *scenario, guint job) {
  int width = 18;

  for (int stage = 0; stage < n_stages (scenario->jobs[job].workload); stage++) {
    g_autofree char *law = law_of (scenario, job, stage);

    width = MAX (width, (int) strlen (law) + 1);
  }
  return width;
}

void ls_check_zero (GString *out, const LsScenario *scenario, guint job) {
  const LsWorkload *w = scenario->jobs[job].workload;
  const gboolean offloads = w->zero.offload != LS_OFFLOAD_NONE;
  const int width = law_width (scenario, job);
  g_autofree char *legend = NULL;

  if (ls_workload_shards (w) <= 1)
    return;
  legend = legend_of (scenario, job);
  g_autofree char *heading =
      g_strdup_printf ("ZeRO stages on the fullest GPU%s, %s (* this scenario)",
                       offloads ? " without offload" : "", legend);
  g_string_append_c (out, '\n');
  ls_prose_append (out, heading, LS_PROSE_WIDTH, 2, 0);
  g_string_append_printf (out, "%-6s %12s %12s %12s %12s %12s %12s   %-*s %s\n", "stage",
                          "parameters", "gradients", "optimizer", "activations", "buffers",
                          "reserved", width, "states, bytes", "sent per step, elements");
  for (int stage = 0; stage < n_stages (w); stage++) {
    const LsMemoryEstimate estimate = estimate_of (scenario, job, stage);
    g_autofree char *law = law_of (scenario, job, stage), *sent = sent_law (w, stage);

    g_string_append_printf (out, "%d%-5s", stage, stage == w->zero.stage && !offloads ? " *" : "");
    for (guint kind = 0; kind < LS_N_MEMORY; kind++)
      append_cell (out, (double) estimate.bytes[kind]);
    append_cell (out, (double) estimate.reserved_bytes);
    g_string_append_printf (out, "   %-*s %s%s\n", width, law, sent,
                            estimate.fits ? "" : "; does not fit");
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
    g_autofree char *law = law_of (scenario, job, stage), *sent = sent_law (w, stage);

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
    ls_json_string (json, "sent_law", sent);
    ls_json_close (json);
  }
  ls_json_close (json);
}
