/* `lockstep validate`: predicts rows of published measurements from their columns alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/collective_classes.h"
#include "cli/data_files.h"
#include "cli/differences.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/predict.h"
#include "cli/progress.h"
#include "cli/table_columns.h"

/* Rows that a note names. */
#define TOO_LARGE_SHOWN 5

static const LsOption options[] = {
    {"row", 0, LS_OPTION_STRING, "ROW_ID", "only this row", NULL},
    {"scenario", 0, LS_OPTION_FLAG, NULL, "print the scenario of each row instead of simulating it",
     NULL},
    {"columns", 0, LS_OPTION_FLAG, NULL,
     "print the columns that are read, as CSV or with --json, and stop", NULL},
    {"whole", 0, LS_OPTION_FLAG, NULL,
     "simulate every micro-batch of long steps, instead of extending shorter ones", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

/* The tables that come with the program. */
static GPtrArray *shipped_tables (GError **error) {
  g_autofree char *data = ls_data_dir ();
  g_autofree char *folder = data ? g_build_filename (data, "tests", "reference", NULL) : NULL;
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  GDir *dir = folder ? g_dir_open (folder, 0, NULL) : NULL;
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_suffix (name, ".csv"))
      g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
  if (dir)
    g_dir_close (dir);
  g_ptr_array_sort (paths, ls_cli_compare_strings);
  if (paths->len == 0) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_IO,
                         "the shipped tables (tests/reference/*.csv) are not there; name a table");
    return NULL;
  }
  return g_steal_pointer (&paths);
}

static void on_progress (double share, gpointer data) {
  ls_progress_update (data, share, NULL);
}

static char *number (double value) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  return g_strdup (g_ascii_formatd (buffer, sizeof buffer, "%.6g", value));
}

static void append_rows (GString *csv, const LsPredictionTable *table) {
  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];

    if (row->skipped || row->interrupted) {
      const char *const fields[] = {table->file,
                                    row->row_id,
                                    row->skipped ? "skipped" : "interrupted",
                                    "",
                                    row->skipped ? row->skipped : "",
                                    "",
                                    "",
                                    ""};

      ls_csv_append_row (csv, fields, G_N_ELEMENTS (fields));
    }
    for (guint k = 0; k < row->n; k++) {
      const LsPredicted *q = &row->quantities[k];
      g_autofree char *measured = number (q->measured);
      g_autofree char *predicted = number (q->predicted);
      g_autofree char *error_pct = g_strdup_printf ("%.2f", ls_predicted_error_pct (q));
      g_autofree char *low = q->ranged ? number (q->low) : g_strdup ("");
      g_autofree char *high = q->ranged ? number (q->high) : g_strdup ("");
      const char *const fields[] = {table->file, row->row_id, q->quantity, measured,
                                    predicted,   error_pct,   low,         high};

      ls_csv_append_row (csv, fields, G_N_ELEMENTS (fields));
    }
  }
}

static guint skipped_rows (const LsPredictionTable *table) {
  guint n = 0;

  for (guint i = 0; i < table->rows->len; i++)
    n += ((LsPrediction *) table->rows->pdata[i])->skipped != NULL;
  return n;
}

static guint interrupted_rows (const LsPredictionTable *table) {
  guint n = 0;

  for (guint i = 0; i < table->rows->len; i++)
    n += ((LsPrediction *) table->rows->pdata[i])->interrupted ? 1 : 0;
  return n;
}

/* What a row leaves open may be why: a ZeRO stage, recomputation, key and value heads. */
static void note_too_large (LsCli *cli, const LsPredictionTable *table) {
  g_autoptr (GString) ids = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];

    if (row->too_large && n++ < TOO_LARGE_SHOWN)
      g_string_append_printf (ids, "%s%s", ids->len > 0 ? ", " : "", row->row_id);
  }
  if (n > 0)
    ls_cli_note (
        cli,
        "  %u row%s not fit in memory with any micro-batch, recomputation and virtual stages "
        "that %s open, and %s predicted all the same: %s%s",
        n, n == 1 ? " does" : "s do", n == 1 ? "it leaves" : "they leave", n == 1 ? "is" : "are",
        ids->str, n > TOO_LARGE_SHOWN ? ", ..." : "");
}

static guint rows_remarked (const LsPredictionTable *table, const char *remark) {
  guint n = 0;

  for (guint i = 0; i < table->rows->len; i++)
    n += g_strcmp0 (((LsPrediction *) table->rows->pdata[i])->remark, remark) == 0;
  return n;
}

/* What rows say and the reader does not know: each remark once, with its rows' number. */
static void note_remarks (LsCli *cli, const LsPredictionTable *table) {
  g_autoptr (GHashTable) said = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];

    if (row->remark != NULL && g_hash_table_add (said, row->remark)) {
      const guint n = rows_remarked (table, row->remark);

      ls_cli_note (cli, "  not known: %s (%u row%s)", row->remark, n, n == 1 ? "" : "s");
    }
  }
}

static void note_summary (LsCli *cli, const LsPredictionTable *table) {
  g_autoptr (GArray) summaries = ls_prediction_summaries (table);
  const guint interrupted = interrupted_rows (table);
  g_autofree char *rest = interrupted > 0
                              ? g_strdup_printf (", %u not predicted: interrupted", interrupted)
                              : g_strdup ("");

  ls_cli_note (cli, "%s: %u row%s, %u skipped%s", table->file, table->rows->len,
               table->rows->len == 1 ? "" : "s", skipped_rows (table), rest);
  note_too_large (cli, table);
  note_remarks (cli, table);
  for (guint i = 0; i < summaries->len; i++) {
    const LsPredictionSummary *s = &g_array_index (summaries, LsPredictionSummary, i);

    g_autofree char *what = s->gpu ? g_strdup_printf ("  on %s", s->gpu) : g_strdup (s->quantity);

    ls_cli_note (
        cli,
        "  %-20s count %3u, mean absolute %5.1f %%, mean signed %+6.1f %%, worst %+6.1f %% (%s)",
        what, s->count, s->mean_absolute_pct, s->mean_signed_pct, s->worst_pct, s->worst_row);
    if (s->constant_mfu > 0 && s->count > 1) /* one row is met by one constant */
      ls_cli_note (cli,
                   "  %-20s the best single MFU for these rows, %.1f %%, has mean absolute %.1f %%",
                   "", 100 * s->constant_mfu, s->constant_mfu_pct);
  }
}

/* Collectives by class: geometric-mean errors, raw and against the interval of logs that disagree. */
static void note_classes (LsCli *cli, const LsPredictionTable *table) {
  g_autoptr (GArray) classes = ls_collective_classes (table);

  if (classes->len > 0)
    ls_cli_note (cli,
                 "  geometric-mean errors of collectives, raw and against the interval where logs "
                 "of one kind of machine disagree (by the spread):");
  for (guint i = 0; i < classes->len; i++) {
    const LsCollectiveClass *c = &g_array_index (classes, LsCollectiveClass, i);
    g_autofree char *spread = c->disagreeing > 0 ? g_strdup_printf (", spread %5.1f %% of %u",
                                                                    c->spread_pct, c->disagreeing)
                                                 : g_strdup ("");

    ls_cli_note (cli, "  %-24s %-18s count %3u, error %5.1f %%, interval %5.1f %%%s", c->name,
                 c->machine ? c->machine : "", c->count, c->error_pct, c->interval_pct, spread);
  }
}

/* Pairs of rows that differ in one input: does the prediction move as the measurement does? */
static void note_differences (LsCli *cli, const LsPredictionTable *table) {
  g_autoptr (GArray) differences = ls_differences (table);

  if (differences->len > 0)
    ls_cli_note (cli, "  step times of pairs of rows that differ in one input (sign: where the "
                      "measured change exceeds 5 %%):");
  for (guint i = 0; i < differences->len; i++) {
    const LsDifference *d = &g_array_index (differences, LsDifference, i);

    ls_cli_note (cli,
                 "  pairs by %-11s %5u, error of the ratio %5.1f %%, signed %+5.1f %%, sign right "
                 "in %u of %u, worst %+6.1f %% (%s, %s)",
                 d->input, d->pairs, d->mean_error_pct, d->mean_signed_pct, d->agreeing, d->judged,
                 d->worst_pct, d->worst_rows[0], d->worst_rows[1]);
  }
}

static void json_differences (LsJson *json, const LsPredictionTable *table) {
  g_autoptr (GArray) differences = ls_differences (table);

  ls_json_open_array (json, "differences");
  for (guint i = 0; i < differences->len; i++) {
    const LsDifference *d = &g_array_index (differences, LsDifference, i);

    ls_json_open_object (json, NULL);
    ls_json_string (json, "input", d->input);
    ls_json_integer (json, "pairs", d->pairs);
    ls_json_number (json, "mean_ratio_error_pct", d->mean_error_pct);
    ls_json_number (json, "mean_signed_ratio_error_pct", d->mean_signed_pct);
    ls_json_integer (json, "signs_judged", d->judged);
    ls_json_integer (json, "signs_right", d->agreeing);
    ls_json_number (json, "worst_pct", d->worst_pct);
    ls_json_open_array (json, "worst_rows");
    ls_json_string (json, NULL, d->worst_rows[0]);
    ls_json_string (json, NULL, d->worst_rows[1]);
    ls_json_close (json);
    ls_json_close (json);
  }
  ls_json_close (json);
}

static void json_classes (LsJson *json, const LsPredictionTable *table) {
  g_autoptr (GArray) classes = ls_collective_classes (table);

  ls_json_open_array (json, "classes");
  for (guint i = 0; i < classes->len; i++) {
    const LsCollectiveClass *c = &g_array_index (classes, LsCollectiveClass, i);

    ls_json_open_object (json, NULL);
    ls_json_string (json, "class", c->name);
    if (c->machine)
      ls_json_string (json, "machine", c->machine);
    ls_json_integer (json, "count", c->count);
    ls_json_number (json, "geometric_mean_error_pct", c->error_pct);
    ls_json_number (json, "interval_error_pct", c->interval_pct);
    ls_json_integer (json, "disagreeing", c->disagreeing);
    ls_json_number (json, "spread_pct", c->spread_pct);
    ls_json_close (json);
  }
  ls_json_close (json);
}

static void json_row (LsJson *json, const LsPrediction *row) {
  ls_json_open_object (json, NULL);
  ls_json_string (json, "row_id", row->row_id);
  if (row->skipped)
    ls_json_string (json, "skipped", row->skipped);
  else if (row->interrupted)
    ls_json_boolean (json, "interrupted", TRUE);
  else if (row->gpu && row->inputs[0])
    ls_json_boolean (json, "fits", !row->too_large);
  if (row->remark != NULL)
    ls_json_string (json, "remark", row->remark);
  for (guint k = 0; k < row->n; k++) {
    const LsPredicted *q = &row->quantities[k];

    ls_json_open_object (json, q->quantity);
    ls_json_number (json, "measured", q->measured);
    ls_json_number (json, "predicted", q->predicted);
    ls_json_number (json, "signed_error_pct", ls_predicted_error_pct (q));
    if (q->ranged) {
      ls_json_number (json, "low", q->low);
      ls_json_number (json, "high", q->high);
    }
    ls_json_close (json);
  }
  ls_json_close (json);
}

static void json_summary (LsJson *json, const LsPredictionSummary *s) {
  ls_json_open_object (json, NULL);
  ls_json_string (json, "quantity", s->quantity);
  if (s->gpu)
    ls_json_string (json, "gpu", s->gpu);
  ls_json_integer (json, "count", s->count);
  ls_json_number (json, "mean_absolute_pct", s->mean_absolute_pct);
  ls_json_number (json, "mean_signed_pct", s->mean_signed_pct);
  ls_json_number (json, "worst_pct", s->worst_pct);
  ls_json_string (json, "worst_row", s->worst_row);
  if (s->constant_mfu > 0) {
    ls_json_number (json, "constant_mfu", s->constant_mfu);
    ls_json_number (json, "constant_mfu_mean_absolute_pct", s->constant_mfu_pct);
  }
  ls_json_close (json);
}

static void json_table (LsJson *json, const LsPredictionTable *table) {
  g_autoptr (GArray) summaries = ls_prediction_summaries (table);

  ls_json_open_object (json, NULL);
  ls_json_string (json, "file", table->file);
  ls_json_integer (json, "skipped", skipped_rows (table));
  if (interrupted_rows (table) > 0)
    ls_json_integer (json, "interrupted", interrupted_rows (table));
  ls_json_open_array (json, "summary");
  for (guint i = 0; i < summaries->len; i++)
    json_summary (json, &g_array_index (summaries, LsPredictionSummary, i));
  ls_json_close (json);
  json_classes (json, table);
  json_differences (json, table);
  ls_json_open_array (json, "rows");
  for (guint i = 0; i < table->rows->len; i++)
    json_row (json, table->rows->pdata[i]);
  ls_json_close (json);
  ls_json_close (json);
}

static char *output_text (const GPtrArray *tables, gboolean as_json, gboolean scenarios) {
  GString *out = g_string_new (NULL);
  LsJson *json;

  if (as_json && !scenarios) {
    g_string_free (out, TRUE);
    json = ls_json_new ();
    ls_json_open_object (json, NULL);
    ls_json_open_array (json, "tables");
    for (guint i = 0; i < tables->len; i++)
      json_table (json, tables->pdata[i]);
    ls_json_close (json);
    ls_json_close (json);
    return ls_json_finish (json);
  }
  if (!scenarios)
    g_string_append (out, "file,row_id,quantity,measured,predicted,signed_error_pct,low,high\n");
  for (guint i = 0; i < tables->len; i++) {
    const LsPredictionTable *table = tables->pdata[i];

    if (!scenarios)
      append_rows (out, table);
    for (guint k = 0; scenarios && k < table->rows->len; k++) {
      const LsPrediction *row = table->rows->pdata[k];

      g_string_append_printf (out, "# %s %s%s%s\n%s", table->file, row->row_id,
                              row->skipped ? ": skipped: " : "", row->skipped ? row->skipped : "",
                              row->scenario ? row->scenario : "");
    }
  }
  return g_string_free (out, FALSE);
}

static int print_columns (LsCli *cli, GError **error) {
  static const char *const others[] = {"row", "scenario", "whole"};
  g_autofree char *text = ls_table_columns_text (cli->json);

  if (ls_args_positional (cli->args)->len > 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "--columns lists what any table may hold; it reads none, and '%s' is given",
                 (const char *) ls_args_positional (cli->args)->pdata[0]);
    return 2;
  }
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (ls_args_has (cli->args, others[i])) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                   "--columns predicts nothing: --%s does not go with it", others[i]);
      return 2;
    }
  return ls_cli_write (cli, text, error) ? 0 : 2;
}

static int run_validate (LsCli *cli, GError **error) {
  if (ls_args_has (cli->args, "columns"))
    return print_columns (cli, error);
  const GPtrArray *given = ls_args_positional (cli->args);
  g_autoptr (GPtrArray) paths =
      given->len > 0 ? g_ptr_array_ref ((GPtrArray *) given) : shipped_tables (error);
  g_autoptr (GPtrArray) tables =
      g_ptr_array_new_with_free_func ((GDestroyNotify) ls_prediction_table_free);
  gboolean scenarios = ls_args_has (cli->args, "scenario");
  const LsPredictOptions how = {.only = ls_args_string (cli->args, "row"),
                                .dry = scenarios,
                                .whole = ls_args_has (cli->args, "whole")};
  guint rows = 0;
  g_autofree char *text = NULL;

  if (!paths)
    return 2;
  for (guint i = 0; i < paths->len; i++) {
    g_autofree char *name = g_path_get_basename (paths->pdata[i]);
    g_autoptr (LsProgress) progress = ls_progress_new (cli, name);
    LsPredictionTable *table =
        ls_predict_table (paths->pdata[i], &how, on_progress, progress, error);

    if (!table)
      return 2;
    g_ptr_array_add (tables, table);
    rows += table->rows->len;
  }
  if (rows == 0) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         how.only != NULL ? "no such row in these tables"
                                          : "the tables have headings and no rows");
    return 2;
  }
  text = output_text (tables, cli->json, scenarios);
  if (!ls_cli_write (cli, text, error))
    return 2;
  for (guint i = 0; i < tables->len && !scenarios; i++) {
    if (how.only != NULL && ((LsPredictionTable *) tables->pdata[i])->rows->len == 0)
      continue;
    note_summary (cli, tables->pdata[i]);
    note_classes (cli, tables->pdata[i]);
    note_differences (cli, tables->pdata[i]);
  }
  return ls_interrupt_requested () ? 130 : 0;
}

const LsCommand ls_command_validate = {
    .name = "validate",
    .usage = "[TABLE.csv...] [options]",
    .summary = "predict published measurements from their columns and show the errors",
    .description =
        "Each row of a table becomes a scenario by the one mapping that docs/validation.md states, "
        "and is simulated. "
        "Standard output is CSV: "
        "file,row_id,quantity,measured,predicted,signed_error_pct,low,high; low and high where an "
        "input that the row does not state was swept over its legal values. A row that cannot be "
        "predicted has the quantity 'skipped' and the reason under 'predicted'; after Ctrl-C the "
        "rows that were done are written, and those that were not have the quantity "
        "'interrupted'. Count, mean "
        "absolute, mean signed and worst error per table go to "
        "standard error, beside the "
        "error of the best single MFU for the same rows, and how well the change between rows that "
        "differ in one input is predicted. Without a table, the shipped ones are "
        "used.",
    .examples = "how good are we on the shipped tables\tlockstep validate > errors.csv\n"
                "your own measurements\tlockstep validate mine.csv --json\n"
                "what a row is taken to mean\tlockstep validate --row llmf-84 --scenario\n"
                "which columns a table may have\tlockstep validate --columns\n",
    .positional = "@file",
    .options = options,
    .run = run_validate,
};
