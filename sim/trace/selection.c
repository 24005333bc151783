/* Choice of the ranks that have rows. See selection.h. */
#include "trace/selection.h"

static guint highest_class (const LsTraceMeta *meta) {
  guint highest = 0;
  for (guint r = 0; r < meta->n_ranks; r++)
    highest = MAX (highest, meta->ranks[r].class_id);
  return highest;
}

/* Marks the chosen ranks as their own representatives. */
static void choose (LsTraceSelection *selection, const LsTraceMeta *meta, gboolean all,
                    const guint *ranks, guint n_ranks, guint32 *first_of_class) {
  if (n_ranks > 0) {
    for (guint i = 0; i < n_ranks; i++)
      if (ranks[i] < meta->n_ranks)
        selection->representative[ranks[i]] = ranks[i];
    return;
  }
  gboolean everyone = all || meta->n_ranks <= LS_TRACE_ALL_RANKS_UP_TO;
  for (guint r = 0; r < meta->n_ranks; r++) {
    guint32 *first = &first_of_class[meta->ranks[r].class_id];
    if (everyone || *first == LS_TRACE_NOBODY)
      selection->representative[r] = r;
    *first = MIN (*first, r);
  }
}

/* The classes of the database; first_of_class[] comes in as the first rank with rows of each class. */
static void classify (LsTraceSelection *selection, const LsTraceMeta *meta,
                      const guint32 *first_of_class, guint32 *class_without_rows) {
  for (guint r = 0; r < meta->n_ranks; r++) {
    guint class_id = meta->ranks[r].class_id;
    if (selection->representative[r] == LS_TRACE_NOBODY)
      selection->representative[r] = first_of_class[class_id];
    gboolean own = selection->representative[r] == r;
    gboolean new_class = own || (selection->representative[r] == LS_TRACE_NOBODY &&
                                 class_without_rows[class_id] == LS_TRACE_NOBODY);
    if (!new_class)
      continue;
    if (!own)
      class_without_rows[class_id] = selection->n_classes;
    selection->class_rank[selection->n_classes] = r;
    selection->class_of[r] = selection->n_classes++;
  }
  for (guint r = 0; r < meta->n_ranks; r++) {
    guint32 stands_for = selection->representative[r];
    if (stands_for == LS_TRACE_NOBODY)
      selection->class_of[r] = class_without_rows[meta->ranks[r].class_id];
    else
      selection->class_of[r] = selection->class_of[stands_for];
    selection->class_size[selection->class_of[r]]++;
  }
}

LsTraceSelection *ls_trace_selection_new (const LsTraceMeta *meta, gboolean all, const guint *ranks,
                                          guint n_ranks) {
  LsTraceSelection *selection = g_new0 (LsTraceSelection, 1);
  gsize n = meta->n_ranks, n_ids = (gsize) highest_class (meta) + 1;
  selection->n_ranks = meta->n_ranks;
  selection->representative = g_new (guint32, n);
  selection->class_of = g_new0 (guint32, n);
  selection->class_rank = g_new0 (guint32, n);
  selection->class_size = g_new0 (guint32, n);
  g_autofree guint32 *first_of_class = g_new (guint32, n_ids);
  g_autofree guint32 *class_without_rows = g_new (guint32, n_ids);
  for (gsize r = 0; r < n; r++)
    selection->representative[r] = LS_TRACE_NOBODY;
  for (gsize c = 0; c < n_ids; c++)
    first_of_class[c] = class_without_rows[c] = LS_TRACE_NOBODY;

  choose (selection, meta, all, ranks, n_ranks, first_of_class);
  for (gsize c = 0; c < n_ids; c++)
    first_of_class[c] = LS_TRACE_NOBODY;
  for (guint r = 0; r < meta->n_ranks; r++) {
    if (selection->representative[r] != r)
      continue;
    selection->n_recorded++;
    guint32 *first = &first_of_class[meta->ranks[r].class_id];
    *first = MIN (*first, r);
  }
  classify (selection, meta, first_of_class, class_without_rows);
  return selection;
}

void ls_trace_selection_free (LsTraceSelection *selection) {
  if (selection == NULL)
    return;
  g_free (selection->representative);
  g_free (selection->class_of);
  g_free (selection->class_rank);
  g_free (selection->class_size);
  g_free (selection);
}
