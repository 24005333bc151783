/* Tables of predictions: spreading rows over cores, and summing up. */
#include "cli/predict.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/parallel.h"
#include "cli/table_columns.h"

typedef struct {
  const LsCsv *csv;
  const LsPredictOptions *how;
  gboolean collectives;
  GPtrArray *rows;
  GArray *numbers;  /* row of the table for each prediction */
  GPtrArray *plans; /* LsTrainingPlan of each that has one */
  LsStepBook *book;
} Work;

static void prediction_free (gpointer data) {
  LsPrediction *prediction = data;

  g_free (prediction->row_id);
  g_free (prediction->skipped);
  g_free (prediction->remark);
  g_free (prediction->scenario);
  g_free (prediction->setting);
  for (guint i = 0; i < LS_N_INPUTS; i++)
    g_free (prediction->inputs[i]);
  g_free (prediction);
}

void ls_prediction_table_free (LsPredictionTable *table) {
  if (!table)
    return;
  g_free (table->file);
  g_ptr_array_unref (table->rows);
  g_free (table);
}

static void predict_one (guint index, gpointer self) {
  const Work *work = self;
  LsPrediction *out = work->rows->pdata[index];
  guint row = g_array_index (work->numbers, guint, index);

  if (ls_interrupt_requested ())
    out->interrupted = TRUE;
  else if (work->collectives)
    ls_predict_collective (out, work->csv, row, work->how);
  else
    work->plans->pdata[index] = ls_training_plan_new (out, work->csv, row, work->how, work->book);
}

static void plan_free (gpointer plan) {
  ls_training_plan_free (plan);
}

/* All rows; those of training runs once their steps have been simulated. */
static void predict_all (Work *work, LsStepBookProgress progress, gpointer data) {
  g_autoptr (LsStepBook) book = work->book = ls_step_book_new ();
  g_autoptr (GPtrArray) plans = work->plans = g_ptr_array_new_with_free_func (plan_free);

  g_ptr_array_set_size (plans, (gint) work->rows->len);
  ls_parallel (work->rows->len, predict_one, work);
  ls_step_book_run (book, progress, data);
  for (guint i = 0; i < plans->len; i++)
    if (plans->pdata[i] != NULL)
      ls_training_plan_finish (plans->pdata[i], work->rows->pdata[i]);
}

static char *row_id (const LsCsv *csv, guint row, gboolean collectives) {
  const char *run = ls_csv_field (csv, row, "run_id");

  if (!collectives)
    return g_strdup (ls_csv_field (csv, row, "row_id"));
  if (*run)
    return g_strdup_printf ("%s:%s:%s", run, ls_csv_field (csv, row, "collective"),
                            ls_csv_field (csv, row, "size_bytes"));
  return g_strdup_printf ("%s-x%s:%s:%s", ls_csv_field (csv, row, "gpu"),
                          ls_csv_field (csv, row, "ranks"), ls_csv_field (csv, row, "collective"),
                          ls_csv_field (csv, row, "size_bytes"));
}

static gboolean is_training_table (const LsCsv *csv, const char *path, GError **error) {
  const LsTableKind meant =
      ls_csv_column (csv, "collective") >= 0 ? LS_TABLE_COLLECTIVE : LS_TABLE_TRAINING;
  g_autofree char *missing = ls_table_missing (csv, meant);

  if (meant == LS_TABLE_TRAINING && missing == NULL)
    return TRUE;
  g_set_error (
      error, LS_ERROR, LS_ERROR_CONFIG,
      "%s: no table of %s (it lacks %s%s)%s; lockstep validate --columns lists the columns", path,
      meant == LS_TABLE_TRAINING ? "training runs" : "collectives",
      missing != NULL && strchr (missing, ',') ? "the columns " : "the column ",
      missing != NULL ? missing : "oop_time_us or time_us",
      meant == LS_TABLE_TRAINING ? " nor of collectives" : "");
  return FALSE;
}

LsPredictionTable *ls_predict_table (const char *path, const LsPredictOptions *how,
                                     LsStepBookProgress progress, gpointer data, GError **error) {
  g_autoptr (LsCsv) csv = ls_csv_read (path, error);
  g_autoptr (LsPredictionTable) table = NULL;
  Work work = {.csv = csv, .how = how};

  if (!csv)
    return NULL;
  work.collectives = ls_collective_table (csv);
  if (!work.collectives && !is_training_table (csv, path, error))
    return NULL;
  table = g_new0 (LsPredictionTable, 1);
  table->file = g_path_get_basename (path);
  table->rows = g_ptr_array_new_with_free_func (prediction_free);
  work.rows = table->rows;
  work.numbers = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint row = 0; row < ls_csv_rows (csv); row++) {
    LsPrediction *prediction = g_new0 (LsPrediction, 1);

    prediction->row_id = row_id (csv, row, work.collectives);
    if (how->only && !g_str_equal (how->only, prediction->row_id)) {
      prediction_free (prediction);
      continue;
    }
    g_ptr_array_add (table->rows, prediction);
    g_array_append_val (work.numbers, row);
  }
  predict_all (&work, progress, data);
  g_array_unref (work.numbers);
  return g_steal_pointer (&table);
}

double ls_predicted_error_pct (const LsPredicted *predicted) {
  return 100 * (predicted->predicted / predicted->measured - 1);
}

/* Mean |a_i / c - 1| over the rows' measured MFUs a_i when every row is predicted with MFU c. */
static double constant_error (const GArray *mfus, double c) {
  double sum = 0;

  for (guint i = 0; i < mfus->len; i++)
    sum += fabs (g_array_index (mfus, double, i) / c - 1);
  return 100 * sum / mfus->len;
}

/* The error is convex and piecewise linear in 1/c with its corners at the a_i, so the best c is one
 * of them. */
static void best_constant (const GArray *mfus, LsPredictionSummary *summary) {
  for (guint i = 0; i < mfus->len; i++) {
    double c = g_array_index (mfus, double, i);
    double value = constant_error (mfus, c);

    if (i == 0 || value < summary->constant_mfu_pct) {
      summary->constant_mfu = c;
      summary->constant_mfu_pct = value;
    }
  }
}

static LsPredictionSummary summarize (const LsPredictionTable *table, const char *quantity,
                                      const char *gpu) {
  LsPredictionSummary summary = {.quantity = quantity, .gpu = gpu};
  g_autoptr (GArray) mfus = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];

    for (guint k = 0; k < row->n && (!gpu || g_str_equal (row->gpu, gpu)); k++) {
      double error_pct = ls_predicted_error_pct (&row->quantities[k]);

      if (!g_str_equal (row->quantities[k].quantity, quantity))
        continue;
      summary.count++;
      summary.mean_absolute_pct += fabs (error_pct);
      summary.mean_signed_pct += error_pct;
      if (!summary.worst_row || fabs (error_pct) > fabs (summary.worst_pct)) {
        summary.worst_pct = error_pct;
        summary.worst_row = row->row_id;
      }
      if (row->measured_mfu > 0)
        g_array_append_val (mfus, row->measured_mfu);
    }
  }
  summary.mean_absolute_pct /= MAX (summary.count, 1);
  summary.mean_signed_pct /= MAX (summary.count, 1);
  if (summary.count > 0 && g_str_equal (quantity, "step_time_s") && mfus->len == summary.count)
    best_constant (mfus, &summary);
  return summary;
}

static void add_unique (GPtrArray *words, const char *word) {
  for (guint i = 0; i < words->len; i++)
    if (g_str_equal (words->pdata[i], word))
      return;
  g_ptr_array_add (words, (gpointer) word);
}

GArray *ls_prediction_summaries (const LsPredictionTable *table) {
  GArray *summaries = g_array_new (FALSE, FALSE, sizeof (LsPredictionSummary));
  g_autoptr (GPtrArray) quantities = g_ptr_array_new ();
  g_autoptr (GPtrArray) gpus = g_ptr_array_new ();

  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];

    for (guint k = 0; k < row->n; k++)
      add_unique (quantities, row->quantities[k].quantity);
    if (row->n > 0)
      add_unique (gpus, row->gpu);
  }
  for (guint q = 0; q < quantities->len; q++) {
    LsPredictionSummary all = summarize (table, quantities->pdata[q], NULL);

    g_array_append_val (summaries, all);
    for (guint g = 0; g < gpus->len && gpus->len > 1; g++) {
      LsPredictionSummary one = summarize (table, quantities->pdata[q], gpus->pdata[g]);

      if (one.count > 0)
        g_array_append_val (summaries, one);
    }
  }
  return summaries;
}
