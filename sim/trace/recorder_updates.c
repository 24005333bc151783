/* The update log becomes rows: every operation, and what became of each gradient.
 *
 * Model:      an operation is one row in the order of the log; the id of a gradient is its number; a set
 *             of peers is written when it is first named.
 * Left out:   replicas other than 0.
 */
#include "trace/recorder_private.h"

#include "base/time.h"
#include "train/update/update_log.h"

static LsCell time_cell (gint64 t_ps) {
  return t_ps < 0 ? ls_cell (LS_CELL_NULL) : ls_cell (ls_time_ns_from_ps (t_ps));
}

static void write_peer_set (LsRecorder *recorder, const LsUpdateRecord *record) {
  if (record->peer_set < recorder->n_peer_sets)
    return;
  recorder->n_peer_sets = record->peer_set + 1;
  for (guint i = 0; i < record->n_members; i++) {
    LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_PEER);
    row[0] = ls_cell (record->peer_set);
    row[1] = ls_cell (i);
    row[2] = ls_cell (record->members[i]);
  }
}

static void on_update (gpointer self, const LsUpdateRecord *record) {
  LsRecorder *recorder = self;

  if (record->peer_set >= 0)
    write_peer_set (recorder, record);
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_UPDATE);
  row[0] = ls_cell (++recorder->n_updates);
  row[1] = ls_cell (0);
  row[2] = ls_cell (0);
  row[3] = ls_cell_text (ls_update_operation_name (record->operation));
  row[4] = ls_cell_positive (record->worker);
  row[5] = ls_cell_positive (record->shard);
  row[6] = ls_cell_positive (record->version);
  row[7] = ls_cell_positive (record->peer_set);
  row[8] = ls_cell_positive (record->gradient);
  row[9] = time_cell (record->t_ps);
  row[10] = ls_cell_positive (record->peer);
  row[11] = record->operation == LS_UPDATE_APPLY ? ls_cell (record->closes ? 1 : 0)
                                                 : ls_cell (LS_CELL_NULL);
}

static void on_gradient (gpointer self, const LsGradientRecord *record) {
  LsRecorder *recorder = self;
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_GRADIENT);

  row[0] = ls_cell (record->gradient);
  row[1] = ls_cell (0);
  row[2] = ls_cell (0);
  row[3] = ls_cell (record->worker);
  row[4] = ls_cell (record->clock);
  row[5] = ls_cell (record->read_version);
  row[6] = ls_cell_positive (record->applied_version);
  row[7] = ls_cell (record->staleness);
  row[8] = time_cell (record->read_ps);
  row[9] = time_cell (record->computed_ps);
  row[10] = time_cell (record->arrived_ps);
  row[11] = time_cell (record->applied_ps);
  row[12] = ls_cell_text (record->local ? "local" : record->reason == NULL ? "apply" : "drop");
  row[13] = ls_cell_text (record->reason);
  row[14] = ls_cell (LS_CELL_NULL);
  row[15] = ls_cell (record->samples);
}

const LsUpdateSink ls_recorder_update_sink = {.update = on_update, .gradient = on_gradient};
