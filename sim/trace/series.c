/* Time series of a trace. See series.h. */
#include "trace/series.h"

#include "base/time.h"
#include "engine/fixed.h"

#include <math.h>

/* Window of the use of resources: at first, and how it grows. */
#define FIRST_WINDOW_PS (10 * LS_PS_PER_US)
#define FREE_ROWS 1000
#define ROWS_PER_EVENT 0.1

/* Memory of one rank and kind. The latest value is held back until time moves on. */
typedef struct {
  gint64 bytes, written_bytes; /* latest; of the last row, -1 if there is none */
  gint64 t_ns, written_ns;
} MemorySeries;

typedef struct {
  gboolean used;
  gint64 rate; /* since t_ps */
  gint64 t_ps; /* accounted up to here */
  gint64 window_start_ps, window_end_ps;
  LsInt128 window_work; /* rate x time in the window so far */
  LsInt128 total_work;  /* the same since recording began */
  double written;       /* value of the last row; -1 if there is none */
} UseSeries;

struct LsTraceSeries {
  const LsTraceMeta *meta;
  const LsTraceSelection *selection;
  const LsTraceNames *names;
  LsTraceWriter *writer;
  gboolean on;
  gint64 on_since_ps;
  MemorySeries *memory; /* LS_N_MEMORY per rank */
  UseSeries *use;       /* per resource */
  gint64 window_ps;
  guint64 n_rows, n_use_rows, n_used;
  guint64 next_growth; /* n_use_rows from which the window may grow again */
  gint64 n_events;
};

LsTraceSeries *ls_trace_series_new (const LsTraceMeta *meta, const LsTraceSelection *selection,
                                    const LsTraceNames *names, LsTraceWriter *writer) {
  LsTraceSeries *series = g_new0 (LsTraceSeries, 1);
  series->meta = meta;
  series->selection = selection;
  series->names = names;
  series->writer = writer;
  series->window_ps = FIRST_WINDOW_PS;
  series->memory = g_new0 (MemorySeries, (gsize) meta->n_ranks * LS_N_MEMORY);
  series->use = g_new0 (UseSeries, meta->n_resources);
  for (guint r = 0; r < meta->n_ranks; r++)
    for (guint k = 0; k < LS_N_MEMORY; k++)
      series->memory[(gsize) r * LS_N_MEMORY + k].bytes = meta->ranks[r].static_bytes[k];
  return series;
}

void ls_trace_series_free (LsTraceSeries *series) {
  if (series == NULL)
    return;
  g_free (series->memory);
  g_free (series->use);
  g_free (series);
}

guint64 ls_trace_series_rows (const LsTraceSeries *series) {
  return series->n_rows;
}

static void write_row (LsTraceSeries *series, gint64 rank, gint64 resource, gint64 name,
                       gint64 t_ns, double value) {
  LsCell *row = ls_trace_writer_row (series->writer, LS_ROW_SAMPLE);
  row[0] = ls_cell_positive (rank);
  row[1] = ls_cell_positive (resource);
  row[2] = ls_cell (name);
  row[3] = ls_cell (t_ns);
  row[4] = ls_cell_real (value);
  series->n_rows++;
}

/* Writes the value held back, if it is news. */
static void settle_memory (LsTraceSeries *series, guint rank, guint kind) {
  MemorySeries *m = &series->memory[(gsize) rank * LS_N_MEMORY + kind];
  if (!series->on || m->bytes == m->written_bytes)
    return;
  write_row (series, rank, -1, series->names->memory[kind], m->t_ns, (double) m->bytes);
  m->written_bytes = m->bytes;
  m->written_ns = m->t_ns;
}

void ls_trace_series_memory (LsTraceSeries *series, guint rank, guint kind, gint64 t_ps,
                             gint64 bytes) {
  if (kind >= LS_N_MEMORY || !ls_trace_selection_has (series->selection, rank))
    return;
  MemorySeries *m = &series->memory[(gsize) rank * LS_N_MEMORY + kind];
  /* What happened before recording began may be handed over after: it counts from then on. */
  gint64 t_ns = MAX (ls_time_ns_from_ps (t_ps), m->t_ns);
  if (t_ns > m->t_ns)
    settle_memory (series, rank, kind);
  m->bytes = bytes + series->meta->ranks[rank].static_bytes[kind];
  m->t_ns = t_ns;
}

/* Share of capacity: mean rate over capacity, to 6 digits so that equal neighbours are found. */
static double share (const LsTraceSeries *series, guint resource, LsInt128 work,
                     gint64 duration_ps) {
  double capacity = (double) ls_rate_from_per_s (series->meta->resources[resource].capacity);
  if (duration_ps <= 0 || capacity <= 0)
    return 0;
  return round ((double) work / (double) duration_ps / capacity * 1e6) / 1e6;
}

static void write_use (LsTraceSeries *series, guint resource, gint64 t_ps, double value) {
  UseSeries *use = &series->use[resource];
  if (!series->on || value == use->written)
    return;
  write_row (series, -1, resource, series->names->utilisation, ls_time_ns_from_ps (t_ps), value);
  use->written = value;
  series->n_use_rows++;
  if (series->n_use_rows < series->next_growth ||
      (double) series->n_use_rows < FREE_ROWS + ROWS_PER_EVENT * (double) series->n_events)
    return;
  series->window_ps *= 2;
  /* Each series may write a row before the wider window is felt. */
  series->next_growth = series->n_use_rows + series->n_used + 256;
}

static void open_window (LsTraceSeries *series, UseSeries *use) {
  use->window_start_ps = use->t_ps;
  use->window_end_ps = (use->t_ps / series->window_ps + 1) * series->window_ps;
  use->window_work = 0;
}

/* Accounts the rate up to t_ps, closing the windows that end on the way. */
static void advance (LsTraceSeries *series, guint resource, gint64 t_ps) {
  UseSeries *use = &series->use[resource];
  if (t_ps <= use->t_ps)
    return;
  use->total_work += (LsInt128) use->rate * (t_ps - use->t_ps);
  while (use->t_ps < t_ps) {
    gint64 end_ps = MIN (t_ps, use->window_end_ps);
    use->window_work += (LsInt128) use->rate * (end_ps - use->t_ps);
    use->t_ps = end_ps;
    if (end_ps < use->window_end_ps)
      return;
    write_use (series, resource, use->window_start_ps,
               share (series, resource, use->window_work, end_ps - use->window_start_ps));
    gint64 whole = (t_ps - end_ps) / series->window_ps * series->window_ps;
    if (whole > 0) { /* windows of one rate: a row for all of them */
      write_use (series, resource, end_ps, share (series, resource, use->rate, 1));
      use->t_ps += whole;
    }
    open_window (series, use);
  }
}

void ls_trace_series_rate (LsTraceSeries *series, guint resource, gint64 t_ps, gint64 rate,
                           gint64 n_events) {
  if (resource >= series->meta->n_resources)
    return;
  UseSeries *use = &series->use[resource];
  series->n_events = n_events;
  if (!use->used) {
    use->used = TRUE;
    use->t_ps = series->on_since_ps;
    use->written = -1;
    series->n_used++;
    open_window (series, use);
  }
  advance (series, resource, t_ps);
  use->rate = rate;
}

static void start_series (LsTraceSeries *series, gint64 t_ps) {
  for (gsize i = 0; i < (gsize) series->meta->n_ranks * LS_N_MEMORY; i++) {
    series->memory[i].t_ns = ls_time_ns_from_ps (t_ps);
    series->memory[i].written_bytes = -1;
  }
  for (guint r = 0; r < series->meta->n_resources; r++) {
    if (!series->use[r].used)
      continue;
    advance (series, r, t_ps);
    series->use[r].written = -1;
    series->use[r].total_work = 0;
    open_window (series, &series->use[r]);
  }
}

/* Closes the open windows and repeats each last value at t_ps. */
static void end_series (LsTraceSeries *series, gint64 t_ps) {
  gint64 t_ns = ls_time_ns_from_ps (t_ps);
  for (guint r = 0; r < series->meta->n_ranks; r++) {
    if (!ls_trace_selection_has (series->selection, r))
      continue;
    for (guint k = 0; k < LS_N_MEMORY; k++) {
      MemorySeries *m = &series->memory[(gsize) r * LS_N_MEMORY + k];
      settle_memory (series, r, k);
      if (m->written_ns < t_ns)
        write_row (series, r, -1, series->names->memory[k], t_ns, (double) m->bytes);
    }
  }
  for (guint r = 0; r < series->meta->n_resources; r++) {
    UseSeries *use = &series->use[r];
    if (!use->used)
      continue;
    advance (series, r, t_ps);
    if (use->t_ps > use->window_start_ps)
      write_use (series, r, use->window_start_ps,
                 share (series, r, use->window_work, use->t_ps - use->window_start_ps));
    write_row (series, -1, r, series->names->utilisation, t_ns, MAX (use->written, 0));
    write_row (series, -1, r, series->names->carried, ls_time_ns_from_ps (series->on_since_ps), 0);
    write_row (series, -1, r, series->names->carried, t_ns,
               (double) use->total_work / (double) LS_RATE_ONE);
  }
}

void ls_trace_series_record (LsTraceSeries *series, gboolean on, gint64 t_ps) {
  if (on == series->on)
    return;
  if (on) {
    series->on_since_ps = t_ps;
    start_series (series, t_ps);
  } else {
    end_series (series, t_ps);
  }
  series->on = on;
}
