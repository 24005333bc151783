/* Which ranks have rows in the trace, and for how many each of them stands.
 *
 * Model:      by default all ranks up to 64, above that the first of each class; or a list, or all.
 *             A rank without rows is stood for by the first rank with rows of its class. In the
 *             database each rank with rows is a class of its own, so that weighting rows by
 *             rank_class.size counts every rank once; a class of which nobody has rows stays as it is.
 * Cost:       O(ranks).
 *
 * Ownership: the selection is freed with ls_trace_selection_free().
 */
#pragma once

#include "trace/meta.h"

/* Up to so many ranks all have rows by default. */
#define LS_TRACE_ALL_RANKS_UP_TO 64
#define LS_TRACE_NOBODY G_MAXUINT32

typedef struct {
  guint n_ranks;
  guint n_recorded;
  guint32 *representative; /* of each rank: itself if it has rows, or LS_TRACE_NOBODY */
  guint n_classes;         /* classes of the database */
  guint32 *class_of;       /* database class of each rank */
  guint32 *class_rank;     /* of each database class, the rank that stands for it */
  guint32 *class_size;
} LsTraceSelection;

/* `ranks` with n_ranks > 0: exactly these (numbers out of range are ignored); else by default or, with
 * `all`, everyone. */
LsTraceSelection *ls_trace_selection_new (const LsTraceMeta *meta, gboolean all, const guint *ranks,
                                          guint n_ranks);
void ls_trace_selection_free (LsTraceSelection *selection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsTraceSelection, ls_trace_selection_free)

static inline gboolean ls_trace_selection_has (const LsTraceSelection *selection, guint rank) {
  return rank < selection->n_ranks && selection->representative[rank] == rank;
}
