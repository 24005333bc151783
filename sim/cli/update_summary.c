/* Summaries of runs of updates, see update_summary.h. */
#include "cli/update_summary.h"

#include <math.h>

#include "base/quantity.h"
#include "base/time.h"
#include "cli/json.h"

/* Longest list of workers in JSON; the trace has all. */
#define WORKERS_SHOWN 1024

static double end_s (LsUpdateRun *run) {
  return ls_time_s_from_ps (ls_update_totals (ls_update_run_update (run)).end_ps);
}

static guint n_workers (LsUpdateRun *run) {
  return ls_update_spec (ls_update_run_update (run))->workers;
}

/* Mean over workers of the time spent so, in seconds. */
static double span_s (LsUpdateRun *run, LsUpdateSpan span) {
  double sum = 0;

  for (guint w = 0; w < n_workers (run); w++)
    sum += ls_time_s_from_ps (ls_update_span_ps (ls_update_run_update (run), w, span));
  return sum / n_workers (run);
}

static void put_histogram (LsJson *json, const LsUpdate *update, gint worker) {
  guint n;
  const guint64 *bins = ls_update_histogram (update, worker, &n);

  ls_json_open_array (json, "histogram");
  for (guint i = 0; i < n; i++)
    ls_json_integer (json, NULL, (gint64) bins[i]);
  ls_json_close (json);
}

static void put_staleness (LsJson *json, LsUpdateRun *run, const LsUpdateTotals *t) {
  if (ls_update_spec (ls_update_run_update (run))->policy->local || t->applied == 0)
    return;
  ls_json_open_object (json, "staleness");
  ls_json_number (json, "mean", t->staleness_mean);
  ls_json_integer (json, "p50", t->staleness_p50);
  ls_json_integer (json, "p99", t->staleness_p99);
  ls_json_integer (json, "max", t->staleness_max);
  put_histogram (json, ls_update_run_update (run), -1);
  ls_json_close (json);
}

/* In the order of the run's time; mean over workers. Sums to `run_time_s`. */
static void put_breakdown (LsJson *json, LsUpdateRun *run) {
  gboolean collective = ls_update_spec (ls_update_run_update (run))->collective;

  ls_json_open_object (json, "time_breakdown_s");
  ls_json_number (json, "compute", span_s (run, LS_SPAN_COMPUTE));
  ls_json_number (json, "straggler_wait", span_s (run, LS_SPAN_WAIT));
  ls_json_open_object (json, "exposed_communication");
  if (!collective)
    ls_json_number (json, "server", span_s (run, LS_SPAN_PUSH) + span_s (run, LS_SPAN_PULL));
  ls_json_number (json, "data", span_s (run, LS_SPAN_AVERAGE));
  ls_json_close (json);
  ls_json_number (json, "recovery", span_s (run, LS_SPAN_AWAY));
  ls_json_close (json);
}

LsMemorySummary ls_update_memory (LsUpdateRun *run) {
  LsReplicas *replicas = ls_update_run_replicas (run);
  guint per_worker = ls_update_run_gpus_per_worker (run);
  guint communicators = ls_memory_communicators (ls_update_run_workload (run));
  LsMemorySummary memory = {.fits = TRUE};

  for (guint rank = 0; replicas != NULL && rank < n_workers (run) * per_worker; rank++) {
    gint64 by_kind[LS_MEMORY_KINDS];
    const LsJob *job = ls_replicas_job (replicas, rank / per_worker);
    gint64 peak = ls_engine_memory_peak (ls_update_run_engine (run), rank, by_kind);
    gint64 capacity =
        ls_memory_capacity (ls_job_kind (job, rank % per_worker)->accelerator, communicators);
    gint64 reserved = ls_memory_held (ls_update_run_workload (run),
                                      ls_job_kind (job, rank % per_worker)->stage, peak, capacity);
    if (rank > 0 && capacity - reserved >= memory.capacity_bytes - memory.reserved_bytes)
      continue;
    memory = (LsMemorySummary){.peak_bytes = peak,
                               .reserved_bytes = reserved,
                               .capacity_bytes = capacity,
                               .fits = reserved <= capacity,
                               .rank = rank};
    for (guint kind = 0; kind < LS_N_MEMORY; kind++)
      memory.by_kind[kind] = by_kind[kind];
  }
  return memory;
}

static void put_memory (LsJson *json, LsUpdateRun *run) {
  LsMemorySummary memory = ls_update_memory (run);

  if (memory.capacity_bytes == 0)
    return;
  ls_json_open_object (json, "memory");
  ls_json_integer (json, "peak_bytes", memory.peak_bytes);
  ls_json_integer (json, "reserved_bytes", memory.reserved_bytes);
  ls_json_integer (json, "capacity_bytes", memory.capacity_bytes);
  ls_json_boolean (json, "fits", memory.fits);
  ls_json_integer (json, "rank", memory.rank);
  for (guint kind = 0; kind < LS_N_MEMORY; kind++) {
    g_autofree char *key = g_strdup_printf ("%s_bytes", ls_memory_name ((LsMemoryKind) kind));
    ls_json_integer (json, key, memory.by_kind[kind]);
  }
  ls_json_close (json);
}

static void put_workers (LsJson *json, LsUpdateRun *run) {
  LsUpdate *update = ls_update_run_update (run);

  ls_json_open_array (json, "per_worker");
  for (guint w = 0; w < MIN (n_workers (run), WORKERS_SHOWN); w++) {
    ls_json_open_object (json, NULL);
    ls_json_integer (json, "steps", ls_update_clock (update, w));
    ls_json_number (json, "idle_fraction", ls_update_idle_fraction (update, w));
    if (!ls_update_spec (update)->policy->local)
      put_histogram (json, update, (gint) w);
    ls_json_close (json);
  }
  ls_json_close (json);
}

/* Of workers that run a model: what the samples come to. */
static void put_rates (LsJson *json, LsUpdateRun *run, double samples_per_s) {
  const LsWorkload *w = ls_update_run_workload (run);
  double gpus = n_workers (run) * ls_update_run_gpus_per_worker (run), peak = 0;

  if (w->update.timed)
    return;
  for (guint i = 0; i < n_workers (run); i++)
    for (guint k = 0; k < ls_update_run_gpus_per_worker (run); k++)
      peak += ls_workload_peak_flops_per_s (
          w, ls_cluster_gpu (ls_update_run_cluster (run), ls_update_run_gpus (run, i)[k]));
  double flops = ls_workload_model_flops (w) / (double) w->global_batch * samples_per_s / gpus;
  if (ls_model_has_tokens (w->model)) {
    double tokens = samples_per_s * (double) w->seq_len;
    ls_json_number (json, "tokens_per_s", tokens);
    ls_json_number (json, "tokens_per_s_per_gpu", tokens / gpus);
  }
  ls_json_number (json, "model_tflops_per_gpu", flops / 1e12);
  ls_json_number (json, "peak_tflops_per_gpu", peak / gpus / 1e12);
  ls_json_number (json, "mfu", flops * gpus / peak);
}

/* Of gradients that were used: applied, or stepped on a worker's own copy. */
static gint64 used_samples (LsUpdateRun *run, const LsUpdateTotals *t) {
  return (gint64) (t->applied + t->local) * ls_update_spec (ls_update_run_update (run))->samples;
}

static void put_counts (LsJson *json, LsUpdateRun *run, const LsUpdateTotals *t) {
  double seconds = end_s (run);
  gint64 samples = used_samples (run, t);

  ls_json_integer (json, "updates", (gint64) t->updates);
  ls_json_number (json, "updates_per_s", (double) t->updates / seconds);
  ls_json_integer (json, "samples", samples);
  ls_json_integer (json, "samples_evaluated", t->samples);
  ls_json_number (json, "samples_per_s", (double) samples / seconds);
  put_rates (json, run, (double) samples / seconds);
  ls_json_open_object (json, "gradients");
  ls_json_integer (json, "evaluated", (gint64) t->evaluated);
  ls_json_integer (json, "applied", (gint64) t->applied);
  ls_json_integer (json, "local", (gint64) t->local);
  ls_json_integer (json, "dropped", (gint64) t->dropped);
  ls_json_integer (json, "cancelled_steps", (gint64) t->cancelled);
  ls_json_integer (json, "in_flight", (gint64) t->in_flight);
  ls_json_close (json);
}

char *ls_update_summary_json (LsCli *cli, LsUpdateRun *run, const char *path, gboolean lasting,
                              double usd_per_s) {
  LsJson *json = ls_json_new ();
  LsUpdate *update = ls_update_run_update (run);
  LsUpdateTotals t = ls_update_totals (update);
  guint gpus = n_workers (run) * ls_update_run_gpus_per_worker (run);

  ls_json_open_object (json, NULL);
  ls_json_integer (json, "schema", 1);
  ls_json_string (json, "lockstep", LS_VERSION);
  ls_json_integer (json, "seed", (gint64) ls_update_run_seed (run));
  ls_json_integer (json, "gpus", gpus);
  ls_json_integer (json, "gpus_idle", ls_cluster_n_gpus (ls_update_run_cluster (run)) - gpus);
  ls_json_integer (json, "workers", n_workers (run));
  ls_json_string (json, "policy", ls_update_spec (update)->policy->name);
  ls_json_number (json, "run_time_s", end_s (run));
  put_counts (json, run, &t);
  if (usd_per_s > 0) {
    ls_json_number (json, "usd_per_h", 3600 * usd_per_s);
    ls_json_number (json, "cost_usd", usd_per_s * end_s (run));
  }
  put_staleness (json, run, &t);
  if (t.left > 0)
    ls_json_integer (json, "failures", (gint64) t.left);
  put_breakdown (json, run);
  put_memory (json, run);
  ls_json_number (json, "communication_bytes_per_gpu", ls_update_run_sent_bytes (run) / gpus);
  put_workers (json, run);
  ls_json_integer (json, "events", (gint64) ls_engine_n_events (ls_update_run_engine (run)));
  if (!lasting) {
    ls_json_number (json, "wall_s", ls_update_run_wall_s (run));
    ls_json_string (json, "trace", path);
  }
  ls_json_strings (json, "warnings", cli->warnings);
  ls_json_close (json);
  return ls_json_finish (json);
}

static void put_line (GString *out, const char *what, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void put_line (GString *out, const char *what, const char *format, ...) {
  va_list arguments;

  g_string_append_printf (out, "%-16s", what);
  va_start (arguments, format);
  g_string_append_vprintf (out, format, arguments);
  va_end (arguments);
  g_string_append_c (out, '\n');
}

static void put_memory_line (GString *out, LsUpdateRun *run) {
  LsMemorySummary memory = ls_update_memory (run);
  g_autofree char *reserved =
      ls_quantity_format_decimal ((double) memory.reserved_bytes, LS_DIMENSION_BYTES);
  g_autofree char *capacity =
      ls_quantity_format_decimal ((double) memory.capacity_bytes, LS_DIMENSION_BYTES);

  if (memory.capacity_bytes > 0)
    put_line (out, "memory", "%s of %s usable on the fullest GPU (rank %u): %s", reserved, capacity,
              memory.rank, memory.fits ? "fits" : "DOES NOT FIT");
}

static void put_idle (GString *out, LsUpdateRun *run) {
  LsUpdate *update = ls_update_run_update (run);
  guint least = 0, most = 0;
  double sum = 0;

  for (guint w = 0; w < n_workers (run); w++) {
    double idle = ls_update_idle_fraction (update, w);
    sum += idle;
    least = idle < ls_update_idle_fraction (update, least) ? w : least;
    most = idle > ls_update_idle_fraction (update, most) ? w : most;
  }
  put_line (out, "idle",
            "%.1f %% of the time in the mean; least %.1f %% (worker %u), most %.1f %% (worker %u)",
            100 * sum / n_workers (run), 100 * ls_update_idle_fraction (update, least), least,
            100 * ls_update_idle_fraction (update, most), most);
}

static void put_time (GString *out, LsUpdateRun *run) {
  static const char *const words[LS_N_SPANS] = {"compute", "push, server busy", "wait for others",
                                                "pull",    "averages",          "failed, away"};

  g_string_append (out, "where the time goes, mean over workers\n");
  for (guint span = 0; span < LS_N_SPANS; span++) {
    double seconds = span_s (run, (LsUpdateSpan) span);
    g_autofree char *time = ls_quantity_format_seconds (seconds);
    if (seconds > 0)
      g_string_append_printf (out, "  %-22s %5.1f %%  %s\n", words[span],
                              100 * seconds / end_s (run), time);
  }
}

static void put_cost (GString *out, LsUpdateRun *run, double usd_per_s) {
  g_autofree char *hour = ls_quantity_format_grouped (3600 * usd_per_s);
  g_autofree char *all = ls_quantity_format (usd_per_s * end_s (run), LS_DIMENSION_MONEY);

  if (usd_per_s > 0)
    put_line (out, "cost", "%s USD/h: %s in all", hour, all);
}

static void put_progress (GString *out, LsUpdateRun *run, const LsUpdateTotals *t) {
  g_autofree char *time = ls_quantity_format (end_s (run), LS_DIMENSION_TIME);
  g_autofree char *updates = ls_quantity_format_grouped ((double) t->updates);
  g_autofree char *samples = ls_quantity_format_grouped ((double) used_samples (run, t));

  put_line (out, "updates", "%s in %s: %.4g per second", updates, time,
            (double) t->updates / end_s (run));
  put_line (out, "samples", "%s used: %.4g per second", samples,
            (double) used_samples (run, t) / end_s (run));
}

static void put_gradients (GString *out, const LsUpdateSpec *spec, const LsUpdateTotals *t) {
  g_autofree char *local = ls_quantity_format_grouped ((double) t->local);
  g_autofree char *applied = ls_quantity_format_grouped ((double) t->applied);
  g_autofree char *dropped = ls_quantity_format_grouped ((double) t->dropped);
  g_autofree char *cancelled = ls_quantity_format_grouped ((double) t->cancelled);

  if (spec->policy->local)
    put_line (out, "gradients", "%s local steps", local);
  else
    put_line (out, "gradients", "%s applied, %s dropped, %s steps cancelled", applied, dropped,
              cancelled);
  if (!spec->policy->local && t->applied > 0)
    put_line (out, "staleness",
              "%.4g in the mean, median %" G_GINT64_FORMAT ", p99 %" G_GINT64_FORMAT
              ", most %" G_GINT64_FORMAT,
              t->staleness_mean, t->staleness_p50, t->staleness_p99, t->staleness_max);
}

char *ls_update_summary_text (LsUpdateRun *run, const char *title, const char *path, gint64 bytes,
                              double usd_per_s) {
  GString *out = g_string_new (NULL);
  LsUpdate *update = ls_update_run_update (run);
  const LsUpdateSpec *spec = ls_update_spec (update);
  LsUpdateTotals t = ls_update_totals (update);
  g_autofree char *events =
      ls_quantity_format_grouped ((double) ls_engine_n_events (ls_update_run_engine (run)));
  g_autofree char *wall = ls_quantity_format (ls_update_run_wall_s (run), LS_DIMENSION_TIME);

  if (title != NULL)
    g_string_append_printf (out, "%s\n", title);
  put_line (out, "workers", "%u, each of %u GPU%s", spec->workers,
            ls_update_run_gpus_per_worker (run),
            ls_update_run_gpus_per_worker (run) > 1 ? "s" : "");
  put_line (out, "policy", "%s: %s", spec->policy->name, spec->policy->title);
  put_progress (out, run, &t);
  put_cost (out, run, usd_per_s);
  put_gradients (out, spec, &t);
  if (t.left > 0)
    put_line (out, "failures", "%" G_GUINT64_FORMAT " of workers", t.left);
  put_idle (out, run);
  put_time (out, run);
  put_memory_line (out, run);
  put_line (out, "simulated", "%s events in %s", events, wall);
  if (path != NULL) {
    g_autofree char *size = ls_quantity_format_decimal ((double) bytes, LS_DIMENSION_BYTES);
    put_line (out, "trace", "%s (%s)", path, size);
  }
  return g_string_free (out, FALSE);
}
