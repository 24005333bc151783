/* Failures and phases become rows, replication 0 only. */
#include "trace/recorder_campaign.h"

#include "trace/recorder_private.h"

static void on_fault (gpointer self, guint source, guint first_node, guint n_nodes, gint64 start_us,
                      gint64 end_us, double lost_gpu_s) {
  LsRecorder *recorder = self;
  const LsFailureSource *what = &recorder->sources[source];
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_FAULT);

  row[0] = ls_cell (++recorder->n_faults);
  row[1] = ls_cell (0);
  row[2] = ls_cell (0);
  row[3] = ls_cell_text (ls_component_name (what->component));
  row[4] = ls_cell_text (ls_fault_effect_name (what->effect));
  row[5] = n_nodes > 0 ? ls_cell (first_node) : ls_cell (LS_CELL_NULL);
  row[6] = ls_cell (LS_CELL_NULL);
  row[7] = ls_cell (LS_CELL_NULL);
  row[8] = ls_cell_text (n_nodes > 1 ? what->name : NULL);
  row[9] = ls_cell (start_us);
  row[10] = ls_cell (end_us);
  row[11] = ls_cell_real (lost_gpu_s);
  row[12] = ls_cell_text (what->name);
  row[13] = ls_cell (n_nodes);
}

static void on_interval (gpointer self, const char *kind, gint64 start_us, gint64 end_us,
                         guint gpus, guint spares_free, gint64 steps, gint64 tokens, gint64 fault) {
  LsRecorder *recorder = self;
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_INTERVAL);

  row[0] = ls_cell (++recorder->n_intervals);
  row[1] = ls_cell (0);
  row[2] = ls_cell (0);
  row[3] = ls_cell_text (kind);
  row[4] = ls_cell (start_us);
  row[5] = ls_cell (end_us);
  row[6] = ls_cell (gpus);
  row[7] = ls_cell (spares_free);
  row[8] = ls_cell (steps);
  row[9] = ls_cell (tokens);
  row[10] = fault < 0 ? ls_cell (LS_CELL_NULL) : ls_cell (fault + 1);
}

static void on_kept (gpointer self, gint64 start_us, gint64 end_us, gint64 steps, guint workers,
                     gint64 samples) {
  LsRecorder *recorder = self;
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_KEPT);

  row[0] = ls_cell (0);
  row[1] = ls_cell (0);
  row[2] = ls_cell (start_us);
  row[3] = ls_cell (end_us);
  row[4] = ls_cell (steps);
  row[5] = ls_cell (workers);
  row[6] = ls_cell (samples);
}

LsCampaignTrace ls_recorder_campaign_trace (LsRecorder *recorder, const LsFailureSource *sources) {
  recorder->sources = sources;
  return (LsCampaignTrace){
      .fault = on_fault, .interval = on_interval, .kept = on_kept, .self = recorder};
}
