/* Differences: do predictions move as measurements do when one input of a run changes?
 *
 * Model:      over all pairs of rows of one table that differ in exactly one input (and in nothing else that the
 *             mapping of docs/validation.md reads; what follows from it, as the data-parallel size from the number
 *             of GPUs, may move along):
 *             the measured change is m2 / m1 of the step time, the predicted one p2 / p1; the pair's error is
 *             (p2 / p1) / (m2 / m1) - 1; its sign is judged where the measured change exceeds 5 %.
 *             A release of the software that rows state is an input (cli/release.h); an input that only one of two
 *             rows states is not known to differ, and they are no pair.
 * Cost:       quadratic in the rows: a third of a million comparisons for the largest table here.
 * Left out:   pairs that differ in two inputs on purpose (weak scaling: GPUs and batch together), and in the release alone.
 */
#pragma once

#include "cli/predict.h"

G_BEGIN_DECLS

/* Below this the sign of a measured change is taken for noise. Source: the project's own target; single
 * iterations of the tables repeat within 1-2 %. */
#define LS_DIFFERENCE_JUDGED 0.05

typedef struct {
  const char *input; /* which one differs, static; "all" for the sum */
  guint pairs;
  double mean_error_pct;  /* mean of |error| */
  double mean_signed_pct; /* mean of error, from the smaller to the larger measured time */
  guint judged, agreeing; /* pairs with a measured change beyond 5 %; of these, sign as measured */
  double worst_pct;       /* error of the worst pair ... */
  const char *worst_rows[2]; /* ... and its rows (owned by the table) */
} LsDifference;

/* One record per input with pairs, then "all"; empty when there are none (array of LsDifference, transfer full). */
GArray *ls_differences (const LsPredictionTable *table);

G_END_DECLS
