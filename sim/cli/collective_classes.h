/* Errors of predicted collectives by class, as geometric means: exp (mean |ln (predicted / measured)|) - 1.
 *
 * Classes: inside a node from 1 MiB, between nodes from 1 MiB, and below 1 MiB; each over all machines and
 * for each. Logs of one kind of machine disagree among themselves: where several rows measure the same,
 * the second error counts from the nearest of their measurements if the prediction lies outside their
 * range, and is nothing inside it; the spread is the geometric mean of largest / smallest.
 */
#pragma once

#include "cli/predict.h"

G_BEGIN_DECLS

typedef struct {
  const char *name;
  const char *machine; /* NULL: all */
  guint count;
  double error_pct, interval_pct;
  guint disagreeing; /* settings with several rows */
  double spread_pct; /* of those */
} LsCollectiveClass;

/* Classes that have rows; empty for tables of other kinds (array of LsCollectiveClass, transfer full). */
GArray *ls_collective_classes (const LsPredictionTable *table);

G_END_DECLS
