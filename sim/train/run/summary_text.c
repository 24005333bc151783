/* The summary on one screen: a unit on every number, the largest parts of the time first. See
 * summary.h. */
#include "base/prose.h"
#include "base/quantity.h"
#include "train/run/summary.h"

#define TEXT_BOTTLENECKS 3
#define NO_SHARE 0.0005 /* "0.0 %" */

/* Two columns: what, how much. A continuation has no `what`. */
static void put_line (GString *out, const char *what, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void put_line (GString *out, const char *what, const char *format, ...) {
  va_list arguments;

  g_string_append_printf (out, "%-16s", what);
  va_start (arguments, format);
  g_string_append_vprintf (out, format, arguments);
  va_end (arguments);
  g_string_append_c (out, '\n');
}

static char *quantity (double value, LsDimension dimension) {
  return ls_quantity_format (value, dimension);
}

/* Sizes of memory, which readers compare. */
static char *decimal (double value, LsDimension dimension) {
  return ls_quantity_format_decimal (value, dimension);
}

static void put_traffic (GString *out, const LsSummary *summary) {
  const LsTrafficSummary *traffic = &summary->traffic;
  g_autofree char *mean = ls_quantity_format_seconds (traffic->time_s);
  g_autofree char *p50 = ls_quantity_format_seconds (traffic->time_p50_s);
  g_autofree char *p99 = ls_quantity_format_seconds (traffic->time_p99_s);
  g_autofree char *size = decimal ((double) traffic->size_bytes, LS_DIMENSION_BYTES);
  g_autofree char *algbw = decimal (traffic->algbw_bytes_per_s, LS_DIMENSION_BYTES_PER_S);
  g_autofree char *busbw = decimal (traffic->busbw_bytes_per_s, LS_DIMENSION_BYTES_PER_S);
  g_autofree char *groups = ls_quantity_format_counted (traffic->groups, "group");
  g_autofree char *ranks = ls_quantity_format_grouped (traffic->group_size);

  put_line (out, "traffic", "%s%s%s of %s in %s of %s", traffic->operation,
            traffic->pattern != NULL ? " " : "", traffic->pattern != NULL ? traffic->pattern : "",
            size, groups, ranks);
  if (summary->steps > 1)
    put_line (out, "time", "%s   (mean of %u; median %s, p99 %s)", mean, summary->steps, p50, p99);
  else
    put_line (out, "time", "%s   (once)", mean);
  put_line (out, "bandwidth", "algbw %s, busbw %s", algbw, busbw);
}

/* What the GPUs cost, by the hour, the step and the million tokens. */
static void put_cost (GString *out, const LsSummary *summary) {
  if (summary->usd_per_s <= 0)
    return;
  g_autofree char *hour = ls_quantity_format_grouped (3600 * summary->usd_per_s);
  g_autofree char *step = quantity (summary->usd_per_s * summary->step_time_s, LS_DIMENSION_MONEY);
  g_autofree char *tokens =
      summary->has_tokens
          ? quantity (1e6 * summary->usd_per_s / summary->tokens_per_s, LS_DIMENSION_MONEY)
          : NULL;

  put_line (out, "cost", "%s USD/h: %s per step%s%s%s", hour, step, tokens != NULL ? ", " : "",
            tokens != NULL ? tokens : "", tokens != NULL ? " per million tokens" : "");
}

/* Only where the loaders are the slower ones. */
static void put_loaders (GString *out, const LsSummary *summary) {
  const double decoded = summary->decoded_samples_per_s;
  g_autofree char *samples = ls_quantity_format_grouped (decoded);

  if (decoded > 0 && decoded < summary->samples_per_s * (1 - 1e-6))
    put_line (out, "loaders",
              "decode %s samples/s at most; the rest was ready at the start, so "
              "that a longer run waits",
              samples);
}

static void put_time (GString *out, const LsSummary *summary) {
  if (summary->traffic.operation != NULL) {
    put_traffic (out, summary);
    return;
  }
  g_autofree char *mean = ls_quantity_format_seconds (summary->step_time_s);
  g_autofree char *p50 = ls_quantity_format_seconds (summary->step_time_p50_s);
  g_autofree char *p99 = ls_quantity_format_seconds (summary->step_time_p99_s);
  g_autofree char *samples = ls_quantity_format_grouped (summary->samples_per_s);

  if (summary->steps > 1)
    put_line (out, "step time", "%s   (mean of %u steps; median %s, p99 %s)", mean, summary->steps,
              p50, p99);
  else
    put_line (out, "step time", "%s   (one step)", mean);
  if (summary->has_tokens) {
    g_autofree char *tokens = ls_quantity_format_grouped (summary->tokens_per_s);
    g_autofree char *each = ls_quantity_format_grouped (summary->tokens_per_s_per_gpu);
    put_line (out, "throughput", "%s tokens/s, %s tokens/s per GPU, %s samples/s", tokens, each,
              samples);
  } else {
    put_line (out, "throughput", "%s samples/s", samples);
  }
  put_loaders (out, summary);
  put_line (out, "utilisation", "MFU %.1f %%, HFU %.1f %%: %.1f model TFLOP/s per GPU of %.4g (%s)",
            100 * summary->mfu, 100 * summary->hfu, summary->model_tflops_per_gpu,
            summary->peak_tflops_per_gpu, summary->format);
  if (summary->skipped_steps > 0)
    put_line (out, "loss scale", "%.6g at the end; %u of %u steps overflowed and were skipped",
              summary->loss_scale, summary->skipped_steps, summary->steps);
  put_cost (out, summary);
}

static void put_memory_verdict (GString *out, const LsMemorySummary *memory) {
  g_autofree char *reserved = decimal ((double) memory->reserved_bytes, LS_DIMENSION_BYTES);
  g_autofree char *capacity = decimal ((double) memory->capacity_bytes, LS_DIMENSION_BYTES);

  put_line (out, "memory", "%s of %s usable: %s", reserved, capacity,
            memory->reserved_bytes <= memory->capacity_bytes ? "fits" : "DOES NOT FIT");
}

/* What lies off the device; a share of 0 is not known. */
static void put_elsewhere (GString *out, const char *where, gint64 bytes, gint64 share) {
  g_autofree char *needed = decimal ((double) bytes, LS_DIMENSION_BYTES);
  g_autofree char *there = decimal ((double) share, LS_DIMENSION_BYTES);

  if (bytes > 0 && share > 0)
    put_line (out, where, "%s of each rank, its share is %s: %s", needed, there,
              bytes <= share ? "fits" : "DOES NOT FIT");
  else if (bytes > 0)
    put_line (out, where, "%s of each rank", needed);
}

static void put_memory (GString *out, const LsMemorySummary *memory) {
  g_autofree char *peak = decimal ((double) memory->peak_bytes, LS_DIMENSION_BYTES);
  g_auto (GStrv) kind = g_new0 (char *, LS_N_MEMORY + 1);

  put_memory_verdict (out, memory);
  put_line (out, "", "%s allocated at the peak of rank %u:", peak, memory->rank);
  for (guint i = 0; i < LS_N_MEMORY; i++)
    kind[i] = decimal ((double) memory->by_kind[i], LS_DIMENSION_BYTES);
  put_line (out, "", "parameters %s, gradients %s, optimizer %s,", kind[LS_MEMORY_PARAMETERS],
            kind[LS_MEMORY_GRADIENTS], kind[LS_MEMORY_OPTIMIZER]);
  put_line (out, "", "activations %s, buffers %s", kind[LS_MEMORY_ACTIVATIONS],
            kind[LS_MEMORY_BUFFERS]);
  put_elsewhere (out, "on the host", memory->host_bytes, memory->host_capacity_bytes);
  put_elsewhere (out, "on drives", memory->drives_bytes, memory->drives_capacity_bytes);
}

/* Parts in falling order of time, equal ones in the order of the vocabulary. Traffic is nothing but transfers. */
static void put_parts (GString *out, const LsSummary *summary) {
  gboolean shown[LS_N_PARTS] = {FALSE};

  if (summary->traffic.operation != NULL)
    return;
  g_string_append (out, "where the time goes, mean over GPUs\n");
  for (guint line = 0; line < LS_N_PARTS; line++) {
    guint largest = LS_N_PARTS;
    for (guint part = 0; part < LS_N_PARTS; part++)
      if (!shown[part] && summary->parts_s[part] > 0 &&
          (largest == LS_N_PARTS || summary->parts_s[part] > summary->parts_s[largest]))
        largest = part;
    if (largest == LS_N_PARTS)
      return;
    shown[largest] = TRUE;
    double seconds = summary->parts_s[largest];
    g_autofree char *time = ls_quantity_format_seconds (seconds);
    g_autofree char *name = g_strdup (ls_part_name ((LsPart) largest));
    g_strdelimit (name, "_", ' ');
    g_string_append_printf (out, "  %-22s %5.1f %%  %s\n", name,
                            100 * seconds / summary->step_time_s, time);
  }
}

/* The resources that held transfers down, the worst first; lines that would read the same (links that are alike) once. */
static void put_bottlenecks (GString *out, const LsSummary *summary) {
  for (guint i = 0; i < MIN (summary->bottlenecks->len, TEXT_BOTTLENECKS); i++) {
    const LsBottleneck *b = g_ptr_array_index (summary->bottlenecks, i);

    if (b->limiting_share < NO_SHARE && b->contended_share < NO_SHARE)
      continue;
    put_line (out, i == 0 ? "top links" : "", "%s: limits %.1f %%, contended %.1f %%", b->resource,
              100 * b->limiting_share, 100 * b->contended_share);
  }
}

static void put_stragglers (GString *out, const LsSlowdown *slow) {
  if (!slow->known)
    return;
  g_autofree char *without = ls_quantity_format_seconds (slow->without_s);
  put_line (out, "stragglers", "step %.4g times as long as without (%s); slowest step %.4g times",
            slow->slowdown, without, slow->slowdown_max);
  if (slow->n_ranks == 0)
    return;
  g_autofree char *wait = ls_quantity_format_seconds (slow->ranks[0].caused_wait_s);
  g_autofree char *alike = slow->ranks[0].alike > 1
                               ? g_strdup_printf (", one of %u alike,", slow->ranks[0].alike)
                               : g_strdup ("");
  put_line (out, "", "rank %u%s is waited for most: %s per step, %.0f %% of all waits",
            slow->ranks[0].rank, alike, wait, 100 * slow->ranks[0].caused_share);
}

/* One job on its own lines, but for its name. */
static char *job_text (const LsSummary *job) {
  GString *out = g_string_new (NULL);
  g_autofree char *start = ls_quantity_format_seconds (job->start_s);
  g_autofree char *end = ls_quantity_format_seconds (job->end_s);
  g_autofree char *gpus = ls_quantity_format_grouped (job->gpus);

  put_line (out, "GPUs", "%s used; from %s to %s", gpus, start, end);
  if (job->steps == 0) {
    put_line (out, "step time", "no step has ended");
    return g_string_free (out, FALSE);
  }
  put_time (out, job);
  if (job->memory.capacity_bytes > 0)
    put_memory_verdict (out, &job->memory);
  g_autofree char *sent = quantity (job->communication_bytes_per_gpu, LS_DIMENSION_BYTES);
  put_line (out, "communication", "%s sent per GPU and step", sent);
  put_stragglers (out, &job->stragglers);
  put_bottlenecks (out, job);
  put_parts (out, job);
  return g_string_free (out, FALSE);
}

/* All jobs; neighbours whose lines are the same share them. */
static void put_jobs (GString *out, const LsSummary *summary) {
  g_auto (GStrv) texts = g_new0 (char *, summary->n_jobs + 1);
  g_autofree const char **names = g_new (const char *, summary->n_jobs);

  for (guint j = 0; j < summary->n_jobs; j++) {
    names[j] = summary->jobs[j]->name;
    texts[j] = job_text (summary->jobs[j]);
  }
  ls_prose_append_jobs (out, names, (const char *const *) texts, summary->n_jobs);
}

static void put_trace (GString *out, const LsSummary *summary) {
  g_autofree char *size = decimal ((double) summary->trace_bytes, LS_DIMENSION_BYTES);

  if (summary->trace != NULL && summary->trace_bytes > 0)
    put_line (out, "trace", "%s (%s)", summary->trace, size);
  else if (summary->trace != NULL)
    put_line (out, "trace", "%s", summary->trace);
}

static void put_run (GString *out, const LsSummary *summary) {
  g_autofree char *sent = quantity (summary->communication_bytes_per_gpu, LS_DIMENSION_BYTES);

  put_time (out, summary);
  if (summary->memory.capacity_bytes > 0)
    put_memory (out, &summary->memory);
  put_line (out, "communication", "%s sent per GPU and step", sent);
  put_stragglers (out, &summary->stragglers);
  put_bottlenecks (out, summary);
  put_parts (out, summary);
}

char *ls_summary_to_text (const LsSummary *summary) {
  GString *out = g_string_new (NULL);
  g_autofree char *wall = ls_quantity_format_seconds (summary->wall_s);
  g_autofree char *operations = ls_quantity_format_grouped ((double) summary->operations);
  g_autofree char *end = ls_quantity_format_seconds (summary->end_s);
  g_autofree char *used = ls_quantity_format_grouped (summary->gpus);
  g_autofree char *idle = ls_quantity_format_grouped (summary->gpus_idle);

  if (summary->title != NULL)
    g_string_append_printf (out, "%s\n", summary->title);
  put_line (out, "GPUs", "%s used, %s idle%s", used, idle,
            summary->instances > 0 ? "; each MIG instance counts as one" : "");
  if (summary->n_jobs == 0)
    put_run (out, summary);
  else
    put_line (out, "jobs", "%u, all ended after %s", summary->n_jobs, end);
  put_jobs (out, summary);
  if (summary->n_jobs > 0)
    g_string_append_c (out, '\n');
  put_line (out, "simulated", "%s operations in %s", operations, wall);
  if (summary->recompute != NULL)
    put_line (out, "recompute", "%s", summary->recompute);
  if (summary->memory_verdict != NULL)
    ls_prose_append (out, summary->memory_verdict, LS_PROSE_WIDTH, 2, 0);
  put_trace (out, summary);
  return g_string_free (out, FALSE);
}
