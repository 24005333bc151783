/* The summary as JSON: keys as documented, those that do not apply left out. See summary.h. */
#include <math.h>

#include "train/run/summary.h"

/* The shortest of the usual precisions that reads back as the same double; JSON has no NaN. */
static void put_number (GString *out, double value) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite (value)) {
    g_string_append (out, "null");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    g_autofree char *format = g_strdup_printf ("%%.%dg", digits);
    g_ascii_formatd (text, sizeof text, format, value);
    if (g_ascii_strtod (text, NULL) == value)
      break;
  }
  g_string_append (out, text);
}

static void put_string (GString *out, const char *text) {
  if (text == NULL) {
    g_string_append (out, "null");
    return;
  }
  g_string_append_c (out, '"');
  for (const char *c = text; *c != '\0'; c++)
    if (*c == '"' || *c == '\\')
      g_string_append_printf (out, "\\%c", *c);
    else if ((guchar) *c < 0x20)
      g_string_append_printf (out, "\\u%04x", (guint) (guchar) *c);
    else
      g_string_append_c (out, *c);
  g_string_append_c (out, '"');
}

/* Opens a member: a comma unless it is the first of its object. */
static void put_key (GString *out, const char *key) {
  if (out->len > 0 && out->str[out->len - 1] != '{')
    g_string_append (out, ", ");
  put_string (out, key);
  g_string_append (out, ": ");
}

static void put_member (GString *out, const char *key, double value) {
  put_key (out, key);
  put_number (out, value);
}

static void put_integer (GString *out, const char *key, gint64 value) {
  put_key (out, key);
  g_string_append_printf (out, "%" G_GINT64_FORMAT, value);
}

static void put_unsigned (GString *out, const char *key, guint64 value) {
  put_key (out, key);
  g_string_append_printf (out, "%" G_GUINT64_FORMAT, value);
}

/* Exposed communication is an object of its own, by axis. */
static void put_breakdown (GString *out, const LsSummary *summary) {
  static const char prefix[] = "exposed_";
  gboolean any = FALSE;

  put_key (out, "time_breakdown_s");
  g_string_append_c (out, '{');
  for (guint part = 0; part < LS_N_PARTS; part++) {
    const char *name = ls_part_name ((LsPart) part);
    if (g_str_has_prefix (name, prefix))
      any = any || summary->applies[part];
    else if (summary->applies[part])
      put_member (out, name, summary->parts_s[part]);
  }
  if (any) {
    put_key (out, "exposed_communication");
    g_string_append_c (out, '{');
    for (guint part = 0; part < LS_N_PARTS; part++) {
      const char *name = ls_part_name ((LsPart) part);
      if (summary->applies[part] && g_str_has_prefix (name, prefix))
        put_member (out, name + sizeof prefix - 1, summary->parts_s[part]);
    }
    g_string_append_c (out, '}');
  }
  g_string_append_c (out, '}');
}

static void put_memory (GString *out, const LsMemorySummary *memory) {
  put_key (out, "memory");
  g_string_append_c (out, '{');
  put_integer (out, "peak_bytes", memory->peak_bytes);
  put_integer (out, "reserved_bytes", memory->reserved_bytes);
  put_integer (out, "capacity_bytes", memory->capacity_bytes);
  put_key (out, "fits");
  g_string_append (out, memory->fits ? "true" : "false");
  put_integer (out, "rank", memory->rank);
  for (guint kind = 0; kind < LS_N_MEMORY; kind++) {
    g_autofree char *key = g_strdup_printf ("%s_bytes", ls_memory_name ((LsMemoryKind) kind));
    put_integer (out, key, memory->by_kind[kind]);
  }
  if (memory->host_bytes > 0) {
    put_integer (out, "host_bytes", memory->host_bytes);
    put_integer (out, "host_capacity_bytes", memory->host_capacity_bytes);
  }
  if (memory->drives_bytes > 0) {
    put_integer (out, "drives_bytes", memory->drives_bytes);
    put_integer (out, "drives_capacity_bytes", memory->drives_capacity_bytes);
  }
  g_string_append_c (out, '}');
}

static void put_traffic (GString *out, const LsTrafficSummary *traffic) {
  put_key (out, "traffic");
  g_string_append_c (out, '{');
  put_key (out, "operation");
  put_string (out, traffic->operation);
  if (traffic->pattern != NULL) {
    put_key (out, "pattern");
    put_string (out, traffic->pattern);
  }
  put_integer (out, "size_bytes", traffic->size_bytes);
  put_unsigned (out, "groups", traffic->groups);
  put_unsigned (out, "group_size", traffic->group_size);
  put_member (out, "time_s", traffic->time_s);
  put_member (out, "time_p50_s", traffic->time_p50_s);
  put_member (out, "time_p99_s", traffic->time_p99_s);
  put_member (out, "algbw_bytes_per_s", traffic->algbw_bytes_per_s);
  put_member (out, "busbw_bytes_per_s", traffic->busbw_bytes_per_s);
  put_member (out, "sent_bytes", traffic->sent_bytes);
  g_string_append_c (out, '}');
}

static void put_cost (GString *out, const LsSummary *summary) {
  if (summary->usd_per_s <= 0)
    return;
  put_member (out, "usd_per_h", 3600 * summary->usd_per_s);
  put_member (out, "usd_per_step", summary->usd_per_s * summary->step_time_s);
  if (summary->has_tokens)
    put_member (out, "usd_per_million_tokens", 1e6 * summary->usd_per_s / summary->tokens_per_s);
  if (summary->cost_usd > 0)
    put_member (out, "cost_usd", summary->cost_usd);
}

static void put_rates (GString *out, const LsSummary *summary) {
  put_member (out, "step_time_s", summary->step_time_s);
  put_member (out, "step_time_p50_s", summary->step_time_p50_s);
  put_member (out, "step_time_p99_s", summary->step_time_p99_s);
  if (summary->traffic.operation != NULL) {
    put_traffic (out, &summary->traffic);
    return;
  }
  if (summary->has_tokens) {
    put_member (out, "tokens_per_s", summary->tokens_per_s);
    put_member (out, "tokens_per_s_per_gpu", summary->tokens_per_s_per_gpu);
  }
  put_member (out, "samples_per_s", summary->samples_per_s);
  if (summary->decoded_samples_per_s > 0)
    put_member (out, "decoded_samples_per_s", summary->decoded_samples_per_s);
  put_cost (out, summary);
  put_member (out, "model_tflops_per_gpu", summary->model_tflops_per_gpu);
  put_member (out, "hardware_tflops_per_gpu", summary->hardware_tflops_per_gpu);
  put_member (out, "peak_tflops_per_gpu", summary->peak_tflops_per_gpu);
  put_member (out, "mfu", summary->mfu);
  put_member (out, "hfu", summary->hfu);
  if (summary->scaled) {
    put_unsigned (out, "skipped_steps", summary->skipped_steps);
    put_member (out, "loss_scale", summary->loss_scale);
  }
}

static void put_bottlenecks (GString *out, const GPtrArray *bottlenecks, gboolean of_run) {
  if (bottlenecks->len == 0)
    return;
  put_key (out, "bottlenecks");
  g_string_append_c (out, '[');
  for (guint i = 0; i < bottlenecks->len; i++) {
    const LsBottleneck *b = g_ptr_array_index (bottlenecks, i);

    g_string_append (out, i > 0 ? ", {" : "{");
    put_key (out, "resource");
    put_string (out, b->resource);
    put_key (out, "kind");
    put_string (out, b->kind);
    put_key (out, "tier");
    put_string (out, b->tier);
    put_member (out, "limiting_share", b->limiting_share);
    put_member (out, "contended_share", b->contended_share);
    if (of_run) {
      put_member (out, "utilisation", b->utilisation);
      put_member (out, "bytes", b->bytes);
    }
    g_string_append_c (out, '}');
  }
  g_string_append_c (out, ']');
}

static void put_stragglers (GString *out, const LsSlowdown *slow) {
  if (!slow->known)
    return;
  put_key (out, "stragglers");
  g_string_append_c (out, '{');
  put_member (out, "slowdown", slow->slowdown);
  put_member (out, "slowdown_p50", slow->slowdown_p50);
  put_member (out, "slowdown_max", slow->slowdown_max);
  put_member (out, "step_time_without_s", slow->without_s);
  put_member (out, "caused_wait_s", slow->caused_wait_s);
  put_key (out, "by_rank");
  g_string_append_c (out, '[');
  for (guint i = 0; i < slow->n_ranks; i++) {
    const LsSlowRank *row = &slow->ranks[i];
    g_string_append (out, i > 0 ? ", {" : "{");
    put_unsigned (out, "rank", row->rank);
    put_unsigned (out, "alike", row->alike);
    put_member (out, "caused_wait_s", row->caused_wait_s);
    put_member (out, "caused_share", row->caused_share);
    if (row->slowdown > 0)
      put_member (out, "slowdown", row->slowdown);
    g_string_append_c (out, '}');
  }
  g_string_append (out, "]}");
}

static void put_warnings (GString *out, const GPtrArray *warnings) {
  put_key (out, "warnings");
  g_string_append_c (out, '[');
  for (guint i = 0; i < warnings->len; i++) {
    if (i > 0)
      g_string_append (out, ", ");
    put_string (out, g_ptr_array_index (warnings, i));
  }
  g_string_append_c (out, ']');
}

/* What a job came to: absent while it has not ended a step. */
static void put_results (GString *out, const LsSummary *summary) {
  put_rates (out, summary);
  put_breakdown (out, summary);
  if (summary->memory.capacity_bytes > 0)
    put_memory (out, &summary->memory);
  if (summary->recompute != NULL) {
    put_key (out, "recompute");
    put_string (out, summary->recompute);
  }
  put_member (out, "communication_bytes_per_gpu", summary->communication_bytes_per_gpu);
  put_stragglers (out, &summary->stragglers);
}

static void put_gpus (GString *out, const LsSummary *summary) {
  put_unsigned (out, "gpus", summary->gpus);
  put_unsigned (out, "gpus_idle", summary->gpus_idle);
  put_unsigned (out, "steps", summary->steps);
}

static void put_job (GString *out, const LsSummary *job) {
  g_string_append_c (out, '{');
  put_gpus (out, job);
  put_member (out, "start_s", job->start_s);
  put_member (out, "end_s", job->end_s);
  if (job->steps > 0)
    put_results (out, job);
  put_bottlenecks (out, job->bottlenecks, FALSE);
  g_string_append_c (out, '}');
}

char *ls_summary_job_to_json (const LsSummary *job) {
  GString *out = g_string_new (NULL);

  put_job (out, job);
  return g_string_free (out, FALSE);
}

static void put_jobs (GString *out, const LsSummary *summary) {
  put_member (out, "duration_s", summary->end_s);
  if (summary->memory.capacity_bytes > 0)
    put_memory (out, &summary->memory);
  put_key (out, "jobs");
  g_string_append_c (out, '{');
  for (guint j = 0; j < summary->n_jobs; j++) {
    put_key (out, summary->jobs[j]->name);
    put_job (out, summary->jobs[j]);
  }
  g_string_append_c (out, '}');
}

char *ls_summary_to_json (const LsSummary *summary) {
  GString *out = g_string_new ("{");

  put_integer (out, "schema", 1);
  if (summary->version != NULL) {
    put_key (out, "lockstep");
    put_string (out, summary->version);
  }
  put_unsigned (out, "seed", summary->seed);
  put_gpus (out, summary);
  if (summary->n_jobs > 0)
    put_jobs (out, summary);
  else
    put_results (out, summary);
  put_bottlenecks (out, summary->bottlenecks, TRUE);
  put_unsigned (out, "events", summary->events);
  put_unsigned (out, "operations", summary->operations);
  put_member (out, "wall_s", summary->wall_s);
  put_key (out, "trace");
  put_string (out, summary->trace);
  if (summary->trace_bytes > 0)
    put_integer (out, "trace_bytes", summary->trace_bytes);
  put_warnings (out, summary->warnings);
  g_string_append_c (out, '}');
  return g_string_free (out, FALSE);
}
