/* Predictions beside measurements: rows of tables become scenarios, scenarios are simulated.
 *
 * Model:      docs/validation.md. What rows need is simulated on all cores, what several need once
 *             (step_book.h); results stand in the order of the rows whatever the number of threads.
 * Ownership:  a table owns its predictions; they own their strings.
 */
#pragma once

#include "cli/csv.h"
#include "cli/step_book.h"

G_BEGIN_DECLS

/* One measured number and ours. */
typedef struct {
  const char *quantity; /* the column's name, static */
  double measured, predicted;
  double low, high; /* over the legal values of inputs that the row does not state */
  gboolean ranged;
} LsPredicted;

#define LS_PREDICTED_MAX 6

/* What may differ between two runs that are compared; REST is everything else that the mapping reads. X (ID, word) */
#define LS_INPUTS(X)             \
  X (REST, "rest")               \
  X (GLOBAL_BATCH, "batch")      \
  X (MICRO_BATCH, "micro-batch") \
  X (TENSOR, "tensor")           \
  X (VIRTUAL, "virtual-stages")  \
  X (PIPELINE, "pipeline")       \
  X (RECOMPUTE, "recompute")     \
  X (GPUS, "GPUs")               \
  X (PRECISION, "precision")

typedef enum {
#define LS_INPUT_ID(id, word) LS_INPUT_##id,
  LS_INPUTS (LS_INPUT_ID)
#undef LS_INPUT_ID
      LS_N_INPUTS
} LsRowInput;

typedef struct {
  char *row_id;
  char *skipped;        /* the reason, or NULL */
  gboolean interrupted; /* before it was predicted */
  char *remark;    /* what the row says that is not known, and what it was taken for; or NULL */
  const char *gpu; /* catalogue name, static; NULL when skipped before that was known */
  guint n;
  LsPredicted quantities[LS_PREDICTED_MAX];
  /* Model FLOPs / (peak x measured step), for the one-constant baseline; 0 none */
  double measured_mfu;
  gboolean too_large; /* no setting of what the row leaves open fits in memory */
  char *scenario;     /* the YAML that was simulated, for --scenario */
  char *inputs
      [LS_N_INPUTS]; /* in words; all NULL when the row could not be read, and for collectives */
  /* Of collectives: */
  guint nodes;
  double size_bytes;
  const char *machine; /* kind of link or adapter that rules it, static */
  char *setting;       /* equal for rows that measure the same on the same kind of machine */
} LsPrediction;

typedef struct {
  char *file;
  GPtrArray *rows; /* of LsPrediction * */
} LsPredictionTable;

typedef struct {
  const char *only; /* this row; NULL: all */
  gboolean dry;     /* make scenarios, simulate nothing */
  gboolean whole;   /* simulate every micro-batch of long steps */
} LsPredictOptions;

/* Reads the table and predicts its rows. Fails on what is no table of measurements. */
LsPredictionTable *ls_predict_table (const char *path, const LsPredictOptions *how,
                                     LsStepBookProgress progress, gpointer data, GError **error);
void ls_prediction_table_free (LsPredictionTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsPredictionTable, ls_prediction_table_free)

/* A row of training runs that is being predicted: what it may mean. */
typedef struct LsTrainingPlan LsTrainingPlan;

/* Reads row @row and asks @book for the steps that it needs. NULL when nothing is to be simulated: the row is skipped,
 * or only its scenario is wanted. */
LsTrainingPlan *ls_training_plan_new (LsPrediction *out, const LsCsv *csv, guint row,
                                      const LsPredictOptions *how, LsStepBook *book);
/* Once the book has run, fills the prediction. */
void ls_training_plan_finish (LsTrainingPlan *plan, LsPrediction *out);
void ls_training_plan_free (LsTrainingPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsTrainingPlan, ls_training_plan_free)

/* Fills a prediction from row @row of a table of collectives. */
void ls_predict_collective (LsPrediction *out, const LsCsv *csv, guint row,
                            const LsPredictOptions *how);
/* TRUE when the table has the columns of collective rows. */
gboolean ls_collective_table (const LsCsv *csv);

/* Signed error in percent. */
double ls_predicted_error_pct (const LsPredicted *predicted);

/* What is said of one quantity of a table. */
typedef struct {
  const char *quantity;
  const char *gpu; /* of these rows only; NULL: of all */
  guint count;
  double mean_absolute_pct, mean_signed_pct, worst_pct;
  const char *worst_row;
  double constant_mfu;     /* the best one for these rows; 0: does not apply */
  double constant_mfu_pct; /* its mean absolute error */
} LsPredictionSummary;

/* Summaries of all quantities of a table, in order of first appearance; where the rows are of several
 * accelerators, one more for each follows (array of LsPredictionSummary, transfer full). */
GArray *ls_prediction_summaries (const LsPredictionTable *table);

G_END_DECLS
