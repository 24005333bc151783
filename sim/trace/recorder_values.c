/* Words and numbers about a run: table `run`, summaries of jobs, levels by name, expected sizes. */
#include "base/time.h"
#include "trace/recorder_private.h"

#include <sqlite3.h>
#include <string.h>

static void add_value (LsRecorder *recorder, char *sql) {
  g_ptr_array_add (recorder->values, sql);
}

/* Takes a string of sqlite3_mprintf(). */
static void add_sqlite_value (LsRecorder *recorder, char *sql) {
  add_value (recorder, g_strdup (sql));
  sqlite3_free (sql);
}

void ls_recorder_set_text (LsRecorder *recorder, const char *key, const char *value) {
  add_sqlite_value (recorder,
                    sqlite3_mprintf ("INSERT OR REPLACE INTO run VALUES(%Q,%Q);", key, value));
}

void ls_recorder_set_integer (LsRecorder *recorder, const char *key, gint64 value) {
  add_sqlite_value (recorder, sqlite3_mprintf ("INSERT OR REPLACE INTO run VALUES(%Q,%lld);", key,
                                               (sqlite3_int64) value));
}

void ls_recorder_set_real (LsRecorder *recorder, const char *key, double value) {
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (digits, sizeof digits, "%.17g", value);
  gboolean whole = strpbrk (digits, ".en") == NULL;
  add_sqlite_value (recorder, sqlite3_mprintf ("INSERT OR REPLACE INTO run VALUES(%Q,%s%s);", key,
                                               digits, whole ? ".0" : ""));
}

void ls_recorder_set_job_summary (LsRecorder *recorder, guint job, const char *summary) {
  add_sqlite_value (recorder,
                    sqlite3_mprintf ("UPDATE job SET summary=%Q WHERE id=%u;", summary, job));
}

gboolean ls_recorder_has_step (const LsRecorderOptions *options, gint64 step) {
  if (!options->filter_steps)
    return TRUE;
  if (options->n_steps == 0)
    return step >= options->first_step && step <= options->last_step;
  for (guint i = 0; i < options->n_steps; i++)
    if (options->steps[i] == step)
      return TRUE;
  return FALSE;
}

#define LEVEL_NAME(id, name, meaning) name,
static const char *const level_names[] = {LS_TRACE_LEVELS (LEVEL_NAME)};

const char *ls_trace_level_name (LsTraceLevel level) {
  return level < LS_N_TRACE_LEVELS ? level_names[level] : NULL;
}

gboolean ls_trace_level_from_name (const char *name, LsTraceLevel *level) {
  for (guint i = 0; i < LS_N_TRACE_LEVELS; i++)
    if (strcmp (name, level_names[i]) == 0) {
      *level = (LsTraceLevel) i;
      return TRUE;
    }
  return FALSE;
}

gint64 ls_trace_estimate_bytes (LsTraceLevel level, gint64 n_events, guint n_ranks,
                                guint n_resources, gint64 n_steps) {
  if (level == LS_TRACE_NONE)
    return 0;
  /* source: measured on closed databases of the shipped workloads: 153 to 171 bytes per event, its
   * indexes and about one sample of memory included (Llama 2 7B ZeRO-3, GPT-3 175B, tests/trace) */
  gint64 dictionary = (gint64) n_ranks * 60 + (gint64) n_resources * 100;
  gint64 steps = n_steps * (60 + (gint64) n_ranks * 70);
  if (level == LS_TRACE_STEPS)
    return 200000 + dictionary + steps;
  return 2500000 + dictionary + steps + n_events * 160;
}

void ls_recorder_metric (LsRecorder *recorder, guint replica, guint job, const char *name,
                         gint64 updates, gint64 samples, gint64 t_ps, double value) {
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_METRIC);

  row[0] = ls_cell (replica);
  row[1] = ls_cell (job);
  row[2] = ls_cell_text (name);
  row[3] = ls_cell (updates);
  row[4] = ls_cell (samples);
  row[5] = ls_cell (ls_time_ns_from_ps (t_ps));
  row[6] = ls_cell_real (value);
}
