/* The recompute curve as a table and as JSON; see check_recompute.h and train/memory/recompute.h.
 *
 * The textbook's law (Chen et al. 2016, every k-th activation kept) counts what is stored, 1/k, and forward
 * work 2 - 1/k. The segment that is run again is live too, so that memory is least at some k and not at the
 * largest; and blocks whose inputs are kept run again all of them, whatever k is.
 */
#include "cli/check_recompute.h"

#include <math.h>

#include "base/prose.h"
#include "base/quantity.h"
#include "train/memory/recompute.h"

typedef struct {
  guint stage;
  GArray *by_unit[LS_N_RECOMPUTE_UNITS];
} Curves;

static Curves curves_new (const LsScenario *scenario, guint job) {
  g_autofree const LsAccelerator **gpus = ls_scenario_stage_gpus (scenario, job);
  const LsWorkload *workload = scenario->jobs[job].workload;
  Curves curves = {0};
  LsMemoryEstimate fullest;

  ls_memory_fullest (workload, gpus, &fullest);
  curves.stage = fullest.stage;
  for (guint unit = 0; unit < LS_N_RECOMPUTE_UNITS; unit++)
    curves.by_unit[unit] =
        ls_recompute_curve (workload, curves.stage, gpus[curves.stage], (LsRecomputeUnit) unit);
  return curves;
}

static void curves_clear (Curves *curves) {
  for (guint unit = 0; unit < LS_N_RECOMPUTE_UNITS; unit++)
    g_clear_pointer (&curves->by_unit[unit], g_array_unref);
}

static const LsRecomputePoint *point_of (const Curves *curves, LsRecomputeUnit unit, guint i) {
  return &g_array_index (curves->by_unit[unit], LsRecomputePoint, i);
}

static void append_point (GString *out, const LsRecomputePoint *point, gboolean best) {
  g_autofree char *activations =
      ls_quantity_format_decimal ((double) point->activations_bytes, LS_DIMENSION_BYTES);
  g_autofree char *reserved =
      ls_quantity_format_decimal ((double) point->reserved_bytes, LS_DIMENSION_BYTES);

  g_string_append_printf (out, " | %6.3f %+7.1f %% %11s %11s%c%c", point->work,
                          100 * point->extra_share, activations, reserved, best ? '*' : ' ',
                          point->fits ? ' ' : '!');
}

/* Ends a line of the table without the blanks of its last column. */
static void end_line (GString *out) {
  while (out->len > 0 && out->str[out->len - 1] == ' ')
    g_string_truncate (out, out->len - 1);
  g_string_append_c (out, '\n');
}

static void append_legend (GString *out, const LsWorkload *workload) {
  ls_prose_append (
      out,
      "textbook: 1/k of the activations is stored, and forward work is 2 - 1/k passes. work: "
      "forward passes that really run; extra: time of what runs again, as a share of one; "
      "activations: at the peak, with the segment that is run again. *: least memory; !: "
      "does not fit",
      LS_PROSE_WIDTH, 0, 0);
  if (ls_workload_pipeline (workload)->splits) {
    g_autofree char *text = g_strdup_printf (
        "%s puts weight gradients off: until then it holds both operands of each, which "
        "recomputation does not lessen (docs/pipelines.md)",
        ls_schedule_name (workload->schedule));

    ls_prose_append (out, text, LS_PROSE_WIDTH, 0, 0);
  }
}

void ls_check_recompute (GString *out, const LsScenario *scenario, guint job) {
  Curves curves = curves_new (scenario, job);
  const guint n = curves.by_unit[0]->len;
  guint best[LS_N_RECOMPUTE_UNITS];

  for (guint unit = 0; unit < LS_N_RECOMPUTE_UNITS; unit++)
    best[unit] = ls_recompute_curve_best (curves.by_unit[unit]);
  g_string_append_printf (
      out,
      "recompute.mode full, every k of %u layers, on the fullest GPU (stage %u)\n"
      "%4s %8s %6s | %-41s | %s\n%4s %8s %6s",
      n - 1, curves.stage, "", "textbook", "", "unit: block (inputs kept)",
      "unit: operation (every k-th layer kept)", "k", "stored", "work");
  for (guint unit = 0; unit < LS_N_RECOMPUTE_UNITS; unit++)
    g_string_append_printf (out, " | %6s %9s %11s %11s  ", "work", "extra", "activations",
                            "reserved");
  end_line (out);
  for (guint i = 0; i < n; i++) {
    const LsRecomputePoint *law = point_of (&curves, (LsRecomputeUnit) 0, i);

    if (i == 0)
      g_string_append_printf (out, "%4s %8.4f %6.3f", "none", law->law_stored, law->law_work);
    else
      g_string_append_printf (out, "%4u %8.4f %6.3f", i, law->law_stored, law->law_work);
    for (guint unit = 0; unit < LS_N_RECOMPUTE_UNITS; unit++)
      append_point (out, point_of (&curves, (LsRecomputeUnit) unit, i), i > 0 && i == best[unit]);
    end_line (out);
  }
  g_string_append_printf (out, "least memory: k = %u by block, %u by operation; sqrt is k = %.0f\n",
                          best[LS_RECOMPUTE_UNIT_BLOCK], best[LS_RECOMPUTE_UNIT_OPERATION],
                          round (sqrt (n - 1.0)));
  append_legend (out, scenario->jobs[job].workload);
  curves_clear (&curves);
}

static void json_point (LsJson *json, const LsRecomputePoint *point) {
  ls_json_open_object (json, NULL);
  ls_json_integer (json, "k", point->k);
  ls_json_number (json, "law_stored", point->law_stored);
  ls_json_number (json, "law_work", point->law_work);
  ls_json_number (json, "work", point->work);
  ls_json_number (json, "extra_share", point->extra_share);
  ls_json_number (json, "extra_s_per_micro_batch", (double) point->extra_ps / 1e12);
  ls_json_integer (json, "activations_bytes", point->activations_bytes);
  ls_json_integer (json, "peak_bytes", point->allocated_bytes);
  ls_json_integer (json, "reserved_bytes", point->reserved_bytes);
  ls_json_boolean (json, "fits", point->fits);
  ls_json_close (json);
}

void ls_check_recompute_json (LsJson *json, const LsScenario *scenario, guint job) {
  Curves curves = curves_new (scenario, job);

  ls_json_open_object (json, "recompute_curve");
  ls_json_integer (json, "stage", curves.stage);
  ls_json_integer (json, "layers", curves.by_unit[0]->len - 1);
  for (guint unit = 0; unit < LS_N_RECOMPUTE_UNITS; unit++) {
    ls_json_open_object (json, ls_recompute_unit_name ((LsRecomputeUnit) unit));
    ls_json_integer (json, "best_k", ls_recompute_curve_best (curves.by_unit[unit]));
    ls_json_open_array (json, "points");
    for (guint i = 0; i < curves.by_unit[unit]->len; i++)
      json_point (json, point_of (&curves, (LsRecomputeUnit) unit, i));
    ls_json_close (json);
    ls_json_close (json);
  }
  ls_json_close (json);
  curves_clear (&curves);
}
