/* Pairs of rows that differ in one input, see differences.h. */
#include "cli/differences.h"

#include <math.h>
#include <string.h>

static const char *const titles[LS_N_INPUTS] = {
#define LS_INPUT_TITLE(id, title) [LS_INPUT_##id] = title,
    LS_INPUTS (LS_INPUT_TITLE)
#undef LS_INPUT_TITLE
};

static const LsPredicted *step_time (const LsPrediction *row) {
  for (guint k = 0; k < row->n; k++)
    if (g_str_equal (row->quantities[k].quantity, "step_time_s"))
      return &row->quantities[k];
  return NULL;
}

/* The one input in which two rows differ; -1 when it is none or several, or one that only one of them states. */
static int only_difference (const LsPrediction *a, const LsPrediction *b) {
  int found = -1;

  if (strcmp (a->inputs[LS_INPUT_REST], b->inputs[LS_INPUT_REST]) != 0)
    return -1;
  for (int i = LS_INPUT_REST + 1; i < LS_N_INPUTS; i++)
    if (strcmp (a->inputs[i], b->inputs[i]) != 0) {
      if (found >= 0 || !*a->inputs[i] || !*b->inputs[i])
        return -1;
      found = i;
    }
  return found;
}

/* Adds a pair whose first row is the one with the smaller measured time. */
static void add_pair (LsDifference *sum, const LsPrediction *a, const LsPrediction *b) {
  const LsPredicted *first = step_time (a), *second = step_time (b);
  double measured = second->measured / first->measured;
  double predicted = second->predicted / first->predicted;
  double error_pct = 100 * (predicted / measured - 1);

  sum->pairs++;
  sum->mean_error_pct += fabs (error_pct);
  sum->mean_signed_pct += error_pct;
  if (!sum->worst_rows[0] || fabs (error_pct) > fabs (sum->worst_pct)) {
    sum->worst_pct = error_pct;
    sum->worst_rows[0] = a->row_id;
    sum->worst_rows[1] = b->row_id;
  }
  if (measured - 1 <= LS_DIFFERENCE_JUDGED)
    return;
  sum->judged++;
  sum->agreeing += predicted > 1;
}

static void compare (const LsPredictionTable *table, LsDifference *sums, LsDifference *all) {
  for (guint i = 0; i < table->rows->len; i++)
    for (guint k = i + 1; k < table->rows->len; k++) {
      const LsPrediction *a = table->rows->pdata[i], *b = table->rows->pdata[k];
      gboolean ordered;
      int input;

      if (!a->inputs[0] || !b->inputs[0] || !step_time (a) || !step_time (b))
        continue;
      input = only_difference (a, b);
      if (input < 0)
        continue;
      ordered = step_time (a)->measured <= step_time (b)->measured;
      add_pair (&sums[input], ordered ? a : b, ordered ? b : a);
      add_pair (all, ordered ? a : b, ordered ? b : a);
    }
}

static void append (GArray *out, LsDifference *sum) {
  if (sum->pairs == 0)
    return;
  sum->mean_error_pct /= sum->pairs;
  sum->mean_signed_pct /= sum->pairs;
  g_array_append_val (out, *sum);
}

GArray *ls_differences (const LsPredictionTable *table) {
  GArray *out = g_array_new (FALSE, FALSE, sizeof (LsDifference));
  LsDifference sums[LS_N_INPUTS] = {{NULL, 0, 0, 0, 0, 0, 0, {NULL, NULL}}};
  LsDifference all = {.input = "all"};

  compare (table, sums, &all);
  for (int i = 0; i < LS_N_INPUTS; i++) {
    sums[i].input = titles[i];
    append (out, &sums[i]);
  }
  append (out, &all);
  return out;
}
