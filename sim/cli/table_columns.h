/* Columns of tables of measurements: what `lockstep validate` reads of a row, and what it is compared with.
 *
 * Model:      one table of rows per kind of table. The readers (training_row.c, predict_training.c, predict_collective.c)
 *             take what is required and what is measured from here, and a reader that asks for a column
 *             which is not listed aborts; tests/cli/validate.sh holds the other direction. `lockstep validate --columns`
 *             prints the rows.
 * Left out:   what the words in a column are taken to mean: docs/validation.md.
 */
#pragma once

#include "cli/csv.h"

G_BEGIN_DECLS

/* X (NAME, word) */
#define LS_COLUMN_USES(X)                                                              \
  X (REQUIRED, "required")                                                             \
  X (MODEL, "required unless there is a column model") /* the name may stand for it */ \
  X (INPUT, "input")                                                                   \
  X (MEASURED, "measured")

typedef enum {
#define X(NAME, WORD) LS_COLUMN_##NAME,
  LS_COLUMN_USES (X)
#undef X
} LsColumnUse;

typedef enum { LS_TABLE_TRAINING, LS_TABLE_COLLECTIVE, LS_N_TABLES } LsTableKind;

typedef struct {
  const char *name;
  LsColumnUse use;
  const char *meaning; /* with its unit; where it is left empty, what holds */
} LsTableColumn;

/* Rows in the order in which they are shown, ended by one without a name. */
const LsTableColumn *ls_table_columns (LsTableKind kind);
const char *ls_table_kind_name (LsTableKind kind);
const char *ls_column_use_name (LsColumnUse use);

/* The field of row @row, "" where the table has no such column; @column must be listed. */
const char *ls_table_field (const LsCsv *csv, guint row, LsTableKind kind, const char *column);

/* The columns that @csv needs to be of that kind and lacks, joined by commas, each with one of @csv that may be it; NULL:
 * none (transfer full). */
char *ls_table_missing (const LsCsv *csv, LsTableKind kind);

/* Why a row is skipped (transfer full): "collective 'al_reduce' is not known (did you mean 'all_reduce'?)"; @near: NULL, or
 * the name that is meant. */
char *ls_table_unknown (const char *what, const char *word, const char *near);
char *ls_table_unknown_gpu (const char *word);

/* All of it as CSV "table,column,use,meaning", or as JSON (transfer full). */
char *ls_table_columns_text (gboolean as_json);

G_END_DECLS
