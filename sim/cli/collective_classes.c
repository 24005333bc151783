/* Summing up errors of collectives; see collective_classes.h. */
#include "cli/collective_classes.h"

#include <math.h>

#define MIB 1048576.0

static const struct {
  const char *name;
  gboolean small, across; /* `across` of small ones means nothing */
} kinds[] = {
    {"inside, from 1 MiB", FALSE, FALSE},
    {"between, from 1 MiB", FALSE, TRUE},
    {"below 1 MiB", TRUE, FALSE},
};

/* Range of what rows of one setting measured. */
typedef struct {
  double low, high;
  guint count;
} Range;

static gboolean counts (const LsPrediction *row, guint kind, const char *machine) {
  gboolean small = row->size_bytes < MIB;

  return row->n > 0 && row->setting && small == kinds[kind].small &&
         (small || (row->nodes > 1) == kinds[kind].across) &&
         (!machine || row->machine == machine || g_strcmp0 (row->machine, machine) == 0);
}

static GHashTable *ranges_new (const LsPredictionTable *table) {
  GHashTable *ranges = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);

  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];
    if (row->n == 0 || !row->setting)
      continue;
    double measured = row->quantities[0].measured;
    Range *range = g_hash_table_lookup (ranges, row->setting);
    if (!range) {
      range = g_new (Range, 1);
      *range = (Range){.low = measured, .high = measured};
      g_hash_table_insert (ranges, row->setting, range);
    }
    range->low = MIN (range->low, measured);
    range->high = MAX (range->high, measured);
    range->count++;
  }
  return ranges;
}

static double outside (const Range *range, double predicted) {
  if (predicted < range->low)
    return log (range->low / predicted);
  return predicted > range->high ? log (predicted / range->high) : 0;
}

static LsCollectiveClass sum_up (const LsPredictionTable *table, GHashTable *ranges, guint kind,
                                 const char *machine) {
  LsCollectiveClass result = {.name = kinds[kind].name, .machine = machine};
  double error = 0, interval = 0, spread = 0, rows_in_settings = 0;

  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];
    if (!counts (row, kind, machine))
      continue;
    const LsPredicted *q = &row->quantities[0];
    const Range *range = g_hash_table_lookup (ranges, row->setting);
    result.count++;
    error += fabs (log (q->predicted / q->measured));
    interval += outside (range, q->predicted);
    if (range->count > 1) { /* each setting once in all */
      rows_in_settings += 1.0 / range->count;
      spread += log (range->high / range->low) / range->count;
    }
  }
  if (result.count > 0) {
    result.error_pct = 100 * expm1 (error / result.count);
    result.interval_pct = 100 * expm1 (interval / result.count);
  }
  result.disagreeing = (guint) lround (rows_in_settings);
  if (result.disagreeing > 0)
    result.spread_pct = 100 * expm1 (spread / rows_in_settings);
  return result;
}

static void add_machine (GPtrArray *machines, const char *machine) {
  for (guint i = 0; i < machines->len; i++)
    if (g_str_equal (machines->pdata[i], machine))
      return;
  g_ptr_array_add (machines, (gpointer) machine);
}

GArray *ls_collective_classes (const LsPredictionTable *table) {
  GArray *classes = g_array_new (FALSE, FALSE, sizeof (LsCollectiveClass));
  g_autoptr (GHashTable) ranges = ranges_new (table);
  g_autoptr (GPtrArray) machines = g_ptr_array_new ();

  for (guint i = 0; i < table->rows->len; i++) {
    const LsPrediction *row = table->rows->pdata[i];
    if (row->n > 0 && row->setting)
      add_machine (machines, row->machine);
  }
  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    for (guint m = 0; m <= machines->len; m++) {
      LsCollectiveClass one = sum_up (table, ranges, kind, m == 0 ? NULL : machines->pdata[m - 1]);
      if (one.count > 0)
        g_array_append_val (classes, one);
    }
  return classes;
}
