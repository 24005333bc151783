/* Time series of a trace: memory of ranks by kind, and use of resources.
 *
 * Model:      a sample row (t, value) says what holds from t until the next row of its series.
 *             Memory is exact: one row per instant and kind at which the value differs from the row
 *             before. Use of a resource is its mean share of capacity over windows: a window is
 *             10 us at first and doubles whenever use has taken more than a tenth of the rows that
 *             events take (so it depends on the simulation alone, never on the machine); equal
 *             neighbours are one row.
 * Invariants: each series has a row at the start and one at the end of recording; the mean of the
 *             windows is the exact mean, in integers. Resources that never carried anything have none.
 * Cost:       O(1) per change.
 *
 * Ownership: borrows metadata, selection, names and writer.
 */
#pragma once

#include "trace/dictionary.h"
#include "trace/writer.h"

typedef struct LsTraceSeries LsTraceSeries;

LsTraceSeries *ls_trace_series_new (const LsTraceMeta *meta, const LsTraceSelection *selection,
                                    const LsTraceNames *names, LsTraceWriter *writer);
void ls_trace_series_free (LsTraceSeries *series);
/* As LsObserver.memory and .rate; `n_events` is the number of event rows so far. */
void ls_trace_series_memory (LsTraceSeries *series, guint rank, guint kind, gint64 t_ps,
                             gint64 bytes);
void ls_trace_series_rate (LsTraceSeries *series, guint resource, gint64 t_ps, gint64 rate,
                           gint64 n_events);
/* Starts or stops recording at `t_ps` (off at first); stopping ends each series with its last row. */
void ls_trace_series_record (LsTraceSeries *series, gboolean on, gint64 t_ps);
guint64 ls_trace_series_rows (const LsTraceSeries *series);
