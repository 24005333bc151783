/* Rows of training runs: the scenarios that a row may mean, the steps that they need, and what the row calls its
 * measurements. */
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"
#include "cli/predict.h"
#include "cli/scenario.h"
#include "cli/step_book.h"
#include "cli/table_columns.h"
#include "cli/training_row.h"

/* One setting of what the row leaves open, and what came of it. */
typedef struct {
  gint64 micro_batch;
  gint64 virtual_stages;
  const char *recompute;
  char *yaml;
  char *fault; /* why it cannot run; NULL: it can */
  gboolean fits;
  double step_s;
  gint64 memory_bytes[LS_ROW_DEVICE + 1]; /* at the peak */
  gint64 beside_bytes;                    /* context and communicators */
  double model_flops, row_flops, peak_flops_per_s;
  /* The whole step, or a short one and, beside it, a longer one that the whole is extended from. */
  const LsBookedStep *step, *longer;
  gint64 n, n_step, n_longer; /* their micro-batches */
} Setting;

struct LsTrainingPlan {
  LsTrainingRow row;
  const LsCsv *csv;
  guint number;
  GArray *settings;
};

static void setting_clear (gpointer data) {
  g_free (((Setting *) data)->yaml);
  g_free (((Setting *) data)->fault);
}

/* Within what measured peaks differ from the model: of a run that ran, and does not say that it runs layers again, that is
 * likelier than that it did so for a few per cent of its memory. */
static gboolean may_fit (const LsMemoryEstimate *estimate) {
  return ls_memory_host_fits (estimate) &&
         (double) estimate->reserved_bytes <=
             (double) estimate->capacity_bytes * (1 + LS_MEMORY_ERROR);
}

/* Does it fit, by the static model: cheap, so that only what fits is simulated. */
static void judge (Setting *setting, const LsTrainingRow *row) {
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("row", setting->yaml);
  g_autofree const LsAccelerator **gpus = NULL;
  LsMemoryEstimate estimate;

  setting->fault = ls_scenario_first_fault (scenario);
  if (setting->fault != NULL)
    return;
  gpus = ls_scenario_stage_gpus (scenario, 0);
  ls_memory_fullest (scenario->workload, gpus, &estimate);
  setting->fits = estimate.fits || (row->recompute == NULL && may_fit (&estimate));
  setting->beside_bytes = estimate.context_bytes + estimate.communication_bytes;
  setting->model_flops = ls_workload_model_flops (scenario->workload);
  setting->row_flops = ls_training_row_flops (row, scenario->workload, row->flops_def);
  setting->peak_flops_per_s = ls_workload_peak_flops_per_s (scenario->workload, row->gpu);
}

static const char *const modes[] = {"none", "selective", "full"};

static void add_setting (GArray *settings, const LsTrainingRow *row, gint64 micro_batch,
                         const char *recompute) {
  Setting setting = {
      .micro_batch = micro_batch, .virtual_stages = row->virtual_stages, .recompute = recompute};

  setting.yaml = ls_training_scenario (row, micro_batch, recompute);
  judge (&setting, row);
  g_array_append_val (settings, setting);
}

/* Can the row's layers and micro-batches be interleaved so? As Megatron-LM asks; or with embedding and head as a
 * layer each (Llama-3 405B: 126 + 2). */
static gboolean may_interleave (const LsTrainingRow *row, gint64 micro_batch, gint64 stages) {
  return (row->layers % (row->pp * stages) == 0 || (row->layers + 2) % (row->pp * stages) == 0) &&
         row->global_batch / row->dp / micro_batch % row->pp == 0;
}

/* All micro-batches. Where the recompute mode is open, each with the lightest mode that fits, because
 * more recompute only takes longer, and the smallest also with full recompute, for the range. */
static void add_settings (GArray *settings, const LsTrainingRow *row) {
  g_autoptr (GArray) sizes = ls_training_row_micro_batches (row);

  for (guint i = 0; i < sizes->len; i++) {
    gint64 size = g_array_index (sizes, gint64, i);

    for (guint m = 0; m < G_N_ELEMENTS (modes) && !row->recompute; m++) {
      add_setting (settings, row, size, modes[m]);
      if (g_array_index (settings, Setting, settings->len - 1).fits)
        break;
    }
    if (row->recompute || i == 0)
      add_setting (settings, row, size, row->recompute ? row->recompute : "full");
  }
}

/* Where a row says that it interleaves and not how: none, two, and one layer per stage (or embedding, head or layer), as far
 * as each may be. */
static GArray *settings_of (const LsTrainingRow *row) {
  GArray *settings = g_array_new (FALSE, TRUE, sizeof (Setting));
  const gint64 open[] = {1, 2, row->layers / row->pp,
                         (row->layers + 2) % row->pp == 0 ? (row->layers + 2) / row->pp : 0};
  const gint64 micro_batch = MAX (row->micro_batch, 1);

  g_array_set_clear_func (settings, setting_clear);
  if (row->virtual_stages > 0)
    add_settings (settings, row);
  for (guint i = 0; i < G_N_ELEMENTS (open) && row->virtual_stages == 0; i++) {
    LsTrainingRow one = *row;

    one.virtual_stages = open[i];
    if (i == 0 || (open[i] > open[i - 1] && may_interleave (row, micro_batch, open[i])))
      add_settings (settings, &one);
  }
  return settings;
}

static const LsBookedStep *ask (LsStepBook *book, const char *yaml, const LsTrainingRow *row,
                                gint64 microbatches) {
  return ls_step_book_ask (book, yaml, (double) row->layers * (double) microbatches);
}

/* The same job with another number of micro-batches per replica. */
static const LsBookedStep *ask_short (LsStepBook *book, const Setting *setting,
                                      const LsTrainingRow *row, gint64 microbatches) {
  LsTrainingRow shorter = *row;
  g_autofree char *yaml = NULL;

  shorter.virtual_stages = setting->virtual_stages;
  shorter.global_batch = row->dp * setting->micro_batch * microbatches;
  yaml = ls_training_scenario (&shorter, setting->micro_batch, setting->recompute);
  return ask (book, yaml, row, microbatches);
}

/* Once the pipeline is full, every further micro-batch takes the same time: T (m) is a line for m >= p
 * (Narayanan et al. 2021, section 2.2: T = (m + p - 1) t). So a step of many micro-batches follows
 * from two short ones; tests/cli/validate.sh holds that to the whole. */
static void ask_steps (LsStepBook *book, Setting *setting, const LsTrainingRow *row,
                       gboolean whole) {
  const gint64 first = MAX (row->pp, 2);

  setting->n = row->global_batch / row->dp / setting->micro_batch;
  setting->n_step = first;
  setting->n_longer = first + MAX (row->pp / 2, 4);
  /* Interleaved micro-batches come in groups of p; both directions of DualPipe take p at least. */
  if (setting->virtual_stages > 1 || row->schedule != NULL) {
    setting->n_step = 2 * row->pp;
    setting->n_longer = 3 * row->pp;
  }
  if (whole || setting->n < 2 * setting->n_longer) {
    setting->step = ask (book, setting->yaml, row, setting->n);
    return;
  }
  setting->step = ask_short (book, setting, row, setting->n_step);
  setting->longer = ask_short (book, setting, row, setting->n_longer);
}

/* What fits is simulated; everything when nothing does. */
static void ask_all (LsStepBook *book, const LsTrainingPlan *plan, gboolean whole) {
  gboolean any = FALSE;

  for (guint i = 0; i < plan->settings->len; i++)
    any = any || g_array_index (plan->settings, Setting, i).fits;
  for (guint i = 0; i < plan->settings->len; i++) {
    Setting *setting = &g_array_index (plan->settings, Setting, i);

    if (!setting->fault && (setting->fits || !any))
      ask_steps (book, setting, &plan->row, whole);
  }
}

/* What came of the steps that were asked for; FALSE: interrupted before. */
static gboolean take_steps (Setting *setting) {
  const LsBookedStep *step = setting->step, *longer = setting->longer;
  const LsBookedStep *last = longer != NULL ? longer : step;

  if (step == NULL)
    return TRUE;
  if (!step->done || !last->done)
    return FALSE;
  if (step->fault != NULL || last->fault != NULL) {
    setting->fault = g_strdup (step->fault != NULL ? step->fault : last->fault);
    return TRUE;
  }
  setting->memory_bytes[LS_ROW_ALLOCATED] = last->peak_bytes;
  setting->memory_bytes[LS_ROW_RESERVED] = last->reserved_bytes;
  setting->memory_bytes[LS_ROW_DEVICE] = last->reserved_bytes + setting->beside_bytes;
  setting->step_s = step->step_s;
  if (longer != NULL)
    setting->step_s += (double) (setting->n - setting->n_step) * (longer->step_s - step->step_s) /
                       (double) (setting->n_longer - setting->n_step);
  return TRUE;
}

/* The fastest, NULL when none ran. */
static const Setting *fastest (const GArray *settings) {
  const Setting *best = NULL;

  for (guint i = 0; i < settings->len; i++) {
    const Setting *setting = &g_array_index (settings, Setting, i);

    if (setting->step_s > 0 && (!best || setting->step_s < best->step_s))
      best = setting;
  }
  return best;
}

/* A measured quantity as the setting predicts it; 0 when it is none of ours. */
static double value_of (const char *quantity, const Setting *setting, const LsTrainingRow *row) {
  double flops_per_s = setting->row_flops / setting->step_s / (double) row->gpus;

  if (g_str_equal (quantity, "step_time_s"))
    return setting->step_s;
  if (g_str_equal (quantity, "tokens_per_s_per_gpu"))
    return (double) row->global_batch * (double) row->seq / setting->step_s / (double) row->gpus;
  if (g_str_equal (quantity, "tflops_per_gpu"))
    return flops_per_s / 1e12;
  if (g_str_equal (quantity, "mfu_pct")) {
    gboolean counts_recompute =
        row->flops_def == LS_FLOPS_MEGATRON_HARDWARE || row->flops_def == LS_FLOPS_EIGHT_N;
    double model = counts_recompute ? setting->model_flops : setting->row_flops;
    double peak = row->peak_tflops > 0 ? row->peak_tflops * 1e12 : setting->peak_flops_per_s;

    return 100 * model / setting->step_s / (double) row->gpus / peak;
  }
  return (double) setting->memory_bytes[row->memory_def] / 1e9; /* peak_mem_gb */
}

static void add_quantity (LsPrediction *out, const char *quantity, double measured,
                          const GArray *settings, const Setting *best, const LsTrainingRow *row) {
  LsPredicted *predicted = &out->quantities[out->n++];

  predicted->quantity = quantity;
  predicted->measured = measured;
  predicted->predicted = predicted->low = predicted->high = value_of (quantity, best, row);
  predicted->ranged = row->micro_batch == 0 || !row->recompute || row->virtual_stages == 0;
  for (guint i = 0; i < settings->len; i++) {
    const Setting *setting = &g_array_index (settings, Setting, i);

    if (setting->step_s <= 0)
      continue;
    predicted->low = MIN (predicted->low, value_of (quantity, setting, row));
    predicted->high = MAX (predicted->high, value_of (quantity, setting, row));
  }
}

static void add_quantities (LsPrediction *out, const LsCsv *csv, guint number,
                            const GArray *settings, const Setting *best, const LsTrainingRow *row) {
  const char *unusable = NULL; /* a column that has something else than a measurement */

  for (const LsTableColumn *c = ls_table_columns (LS_TABLE_TRAINING); c->name != NULL; c++) {
    const char *field = c->use == LS_COLUMN_MEASURED ? ls_csv_field (csv, number, c->name) : NULL;
    double measured;

    if (field == NULL || *field == '\0')
      continue;
    if (!ls_number_parse (field, &measured) || measured <= 0) {
      unusable = c->name;
      continue;
    }
    add_quantity (out, c->name, measured, settings, best, row);
    if (g_str_equal (c->name, "step_time_s"))
      out->measured_mfu =
          best->model_flops / measured / (double) row->gpus / best->peak_flops_per_s;
  }
  if (out->n == 0)
    out->skipped = unusable != NULL ? g_strdup_printf ("%s: '%s' is no number above 0", unusable,
                                                       ls_csv_field (csv, number, unusable))
                                    : g_strdup ("nothing measured that is predicted");
}

static void add_remark (GString *out, const char *column, const char *said, const char *taken) {
  if (said != NULL)
    g_string_append_printf (out, "%s%s '%s' is taken as %s", out->len > 0 ? "; " : "", column, said,
                            taken);
}

/* What of the row was not understood, beside what it was taken for; NULL: nothing. */
static char *remark_of (const LsTrainingRow *row) {
  g_autoptr (GString) remark = g_string_new (NULL);

  add_remark (remark, "framework", row->unknown_framework, row->software->name);
  add_remark (remark, "precision", row->unknown_precision, row->compute_format);
  add_remark (remark, "pp_schedule", row->unknown_schedule,
              row->virtual_stages > 1 ? "interleaved 1F1B" : "1F1B");
  return remark->len > 0 ? g_string_free (g_steal_pointer (&remark), FALSE) : NULL;
}

LsTrainingPlan *ls_training_plan_new (LsPrediction *out, const LsCsv *csv, guint number,
                                      const LsPredictOptions *how, LsStepBook *book) {
  g_autoptr (LsTrainingPlan) plan = g_new0 (LsTrainingPlan, 1);
  g_autoptr (GError) error = NULL;

  plan->csv = csv;
  plan->number = number;
  if (!ls_training_row_read (&plan->row, csv, number, &error)) {
    out->skipped = g_strdup (error->message);
    return NULL;
  }
  out->gpu = plan->row.gpu->name;
  out->remark = remark_of (&plan->row);
  ls_training_row_inputs (&plan->row, out->inputs);
  plan->settings = settings_of (&plan->row);
  out->scenario = g_strdup (g_array_index (plan->settings, Setting, 0).yaml);
  if (how->dry)
    return NULL;
  ask_all (book, plan, how->whole);
  return g_steal_pointer (&plan);
}

void ls_training_plan_free (LsTrainingPlan *plan) {
  if (plan == NULL)
    return;
  if (plan->settings != NULL)
    g_array_unref (plan->settings);
  g_free (plan);
}

void ls_training_plan_finish (LsTrainingPlan *plan, LsPrediction *out) {
  const GArray *settings = plan->settings;
  const Setting *best;

  for (guint i = 0; i < settings->len; i++)
    if (!take_steps (&g_array_index (settings, Setting, i))) {
      out->interrupted = TRUE;
      return;
    }
  best = fastest (settings);
  if (!best) {
    const char *fault = g_array_index (settings, Setting, 0).fault;

    out->skipped = g_strdup (fault ? fault : "no setting could be simulated");
    return;
  }
  g_free (out->scenario);
  out->scenario = g_strdup (best->yaml);
  out->too_large = !best->fits;
  add_quantities (out, plan->csv, plan->number, settings, best, &plan->row);
}
