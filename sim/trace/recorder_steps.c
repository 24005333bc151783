/* Steps become rows: the window of a step and its time breakdown, of each rank and in the mean.
 *
 * Model:      parts come in ps and are written in ns. The step's ns is the difference of its rounded
 *             ends; parts are rounded down and the ns that are missing go to the largest remainders
 *             (of equals the first part), so parts sum to the step in every row.
 * Invariants: the parts of a rank sum to the step to within the rounding of a mean.
 */
#include "trace/recorder_private.h"

#include "base/assert.h"
#include "base/time.h"
#include "engine/fixed.h"

/* parts_ns[] sum to duration_ns. */
static void round_parts (const gint64 *parts_ps, gint64 duration_ns, LsCell *parts_ns) {
  gint64 remainders[LS_N_PARTS];
  gint64 missing_ns = duration_ns;
  for (guint i = 0; i < LS_N_PARTS; i++) {
    parts_ns[i].i = parts_ps[i] / LS_PS_PER_NS;
    remainders[i] = parts_ps[i] % LS_PS_PER_NS;
    missing_ns -= parts_ns[i].i;
  }
  LS_REQUIRE (ABS (missing_ns) <= LS_N_PARTS + 1,
              "parts of a step of %" G_GINT64_FORMAT " ns miss it by %" G_GINT64_FORMAT " ns",
              duration_ns, missing_ns);
  for (; missing_ns > 0; missing_ns--) {
    guint most = 0;
    for (guint i = 1; i < LS_N_PARTS; i++)
      if (remainders[i] > remainders[most])
        most = i;
    remainders[most] -= LS_PS_PER_NS;
    parts_ns[most].i++;
  }
  for (; missing_ns < 0; missing_ns++) {
    guint largest = 0;
    for (guint i = 1; i < LS_N_PARTS; i++)
      if (parts_ns[i].i > parts_ns[largest].i)
        largest = i;
    parts_ns[largest].i--;
  }
}

static gint64 duration_ns (const LsTraceStep *step) {
  return ls_time_ns_from_ps (step->end_ps) - ls_time_ns_from_ps (step->start_ps);
}

static void write_step (LsRecorder *recorder, const LsTraceStep *step, const LsTraceStepRank *ranks,
                        guint n_ranks) {
  LsInt128 sums[LS_N_PARTS] = {0};
  gint64 weights = 0;
  for (guint r = 0; r < n_ranks; r++) {
    gint64 weight = MAX (ranks[r].weight, 1);
    weights += weight;
    for (guint i = 0; i < LS_N_PARTS; i++)
      sums[i] += (LsInt128) ranks[r].parts_ps[i] * weight;
  }
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_STEP);
  row[0] = ls_cell (step->job);
  row[1] = ls_cell (step->step);
  row[2] = ls_cell (ls_time_ns_from_ps (step->start_ps));
  row[3] = ls_cell (ls_time_ns_from_ps (step->end_ps));
  row[4] = ls_cell_positive (step->tokens);
  if (weights == 0) {
    for (guint i = 0; i < LS_N_PARTS; i++)
      row[5 + i] = ls_cell (LS_CELL_NULL);
    return;
  }
  gint64 means_ps[LS_N_PARTS];
  for (guint i = 0; i < LS_N_PARTS; i++)
    means_ps[i] = (gint64) (sums[i] / weights);
  round_parts (means_ps, duration_ns (step), row + 5);
}

static void write_step_rank (LsRecorder *recorder, const LsTraceStep *step,
                             const LsTraceStepRank *rank) {
  gint64 caused_ps = rank->caused_wait_ps;
  if (caused_ps < 0 && recorder->options.level >= LS_TRACE_OPS &&
      rank->rank < recorder->meta->n_ranks)
    caused_ps = recorder->caused_wait_ps[rank->rank];
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_STEP_RANK);
  row[0] = ls_cell (step->job);
  row[1] = ls_cell (step->step);
  row[2] = ls_cell (rank->rank);
  round_parts (rank->parts_ps, duration_ns (step), row + 3);
  row[3 + LS_N_PARTS] =
      caused_ps < 0 ? ls_cell (LS_CELL_NULL) : ls_cell (ls_time_ns_from_ps (caused_ps));
  row[4 + LS_N_PARTS] = ls_cell_positive (rank->peak_bytes);
}

/* Forgets ids that no cause names any more: those of steps of the job before its last one. Causes
 * stay within a job. */
static void forget_old_ids (LsRecorder *recorder, guint job) {
  for (guint r = 0; r < recorder->meta->n_ranks; r++) {
    if (recorder->meta->ranks[r].job != job || recorder->streams[r] == NULL)
      continue;
    for (guint s = 0; s < recorder->meta->ranks[r].n_streams; s++)
      ls_id_map_drop (&recorder->streams[r][s], recorder->old_events[job]);
  }
  recorder->old_events[job] = recorder->last_events[job];
  recorder->last_events[job] = recorder->n_events;
}

/* Is any job in a step with rows? */
static gboolean records_now (const LsRecorder *recorder) {
  for (guint job = 0; job < MAX (recorder->meta->n_jobs, 1); job++)
    if (ls_recorder_has_step (&recorder->options, recorder->next_step[job]))
      return TRUE;
  return FALSE;
}

gboolean ls_recorder_step (LsRecorder *recorder, const LsTraceStep *step,
                           const LsTraceStepRank *ranks, guint n_ranks, GError **error) {
  LS_REQUIRE (!recorder->finished, "step after the end of the trace");
  const LsRecorderOptions *options = &recorder->options;
  gboolean on = ls_recorder_has_step (options, step->step);
  if (on) {
    write_step (recorder, step, ranks, n_ranks);
    for (guint r = 0; r < n_ranks; r++)
      write_step_rank (recorder, step, &ranks[r]);
    recorder->n_steps++;
  }
  recorder->next_step[step->job] = step->step + 1;
  for (guint r = 0; r < recorder->meta->n_ranks; r++)
    if (recorder->meta->ranks[r].job == step->job)
      recorder->caused_wait_ps[r] = 0;
  if (options->level >= LS_TRACE_OPS) {
    ls_recorder_settle_causes (recorder);
    forget_old_ids (recorder, step->job);
    if (options->filter_steps)
      ls_trace_series_record (recorder->series, records_now (recorder), step->end_ps);
  }
  ls_trace_writer_flush (recorder->writer);
  return ls_trace_writer_check (recorder->writer, error);
}
