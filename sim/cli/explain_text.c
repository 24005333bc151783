/* An explanation as text and as JSON; see explanation.h. */
#include <math.h>
#include <string.h>

#include "base/prose.h"
#include "cli/explanation.h"
#include "cli/json.h"
#include "cli/meanings.h"
#include "train/vocabulary.h"

/* Below this a gain is said to be nothing. */
#define NOTHING 0.0005
#define MOST_PATH 8
#define MOST_BOTTLENECKS 5
/* Where the row of a fact begins, behind its knob. */
#define FACT_INDENT 12

static char *time_text (double seconds) {
  return ls_quantity_format_seconds (seconds);
}

/* What may be paid per GPU-hour for it at the same cost per step: t / t' - 1. */
static double worth (const LsExplanation *x, LsKnob knob) {
  return x->step_s / x->knobs[knob].step_s - 1;
}

static void append_head (GString *out, const LsExplanation *x) {
  g_autofree char *step = time_text (x->step_s), *traced = time_text (x->traced_s);

  g_string_append_printf (out, "%s%s%s: a step takes %s on %u GPU%s", x->name,
                          x->job != NULL ? ", job " : "", x->job != NULL ? x->job : "", step,
                          x->of_job->gpus, x->of_job->gpus == 1 ? "" : "s");
  if (x->traced_s > 0 && fabs (x->traced_s / x->step_s - 1) > 1e-5)
    g_string_append_printf (out, " (%s in the trace: it was made by another version, or stopped)",
                            traced);
  g_string_append_c (out, '\n');
  if (x->n_jobs > 1)
    g_string_append_printf (out, "It is one of %u jobs that run at once; --job explains another.\n",
                            x->n_jobs);
  if (!x->of_job->memory.fits)
    g_string_append (out, "It does not fit in memory (`lockstep check --memory` says what would); "
                          "this is the step as if it did.\n");
  g_string_append_c (out, '\n');
}

/* One or two sentences on what the step follows. */
static void append_words (GString *out, const LsExplanation *x) {
  const LsSensitivity *first = &x->knobs[x->order[0]];
  g_autoptr (GString) words = g_string_new (NULL);

  if (first->gain < NOTHING) {
    g_string_append (out, "Nothing that was tried makes the step shorter: it waits for something "
                          "that takes its own time.\n\n");
    return;
  }
  for (guint i = 0; i < LS_N_KNOBS; i++) {
    const LsSensitivity *one = &x->knobs[x->order[i]];

    if (one->rules < (i == 0 ? 0 : 0.1))
      continue;
    g_string_append_printf (words, "%s%s (%.0f %%)",
                            words->len == 0 ? "The step follows the " : ", then the ",
                            ls_knob_what (x->order[i]), one->rules * 100);
  }
  g_string_append (words, ".");
  ls_prose_append (out, words->str, LS_PROSE_WIDTH, 0, 0);
  g_string_printf (
      words,
      "%.0f %% more of the first saves %.1f %% of the step: at the same cost of a step "
      "the GPUs may then cost %.1f %% more.",
      (x->factor - 1) * 100, first->gain * 100, worth (x, x->order[0]) * 100);
  ls_prose_append (out, words->str, LS_PROSE_WIDTH, 0, 0);
  g_string_append_c (out, '\n');
}

static void append_knobs (GString *out, const LsExplanation *x) {
  g_string_append_printf (out, "what %.0f %% more of one thing buys, simulated:\n",
                          (x->factor - 1) * 100);
  for (guint i = 0; i < LS_N_KNOBS; i++) {
    LsKnob knob = x->order[i];
    const LsSensitivity *one = &x->knobs[knob];
    g_autofree char *step = time_text (one->step_s);

    if (fabs (one->gain) < NOTHING)
      continue;
    g_string_append_printf (out,
                            "  %-9s %10s  saves %5.2f %%, rules %5.1f %%, is worth %5.2f %% of the "
                            "price  %s\n",
                            ls_knob_name (knob), step, one->gain * 100, one->rules * 100,
                            worth (x, knob) * 100, ls_knob_what (knob));
  }
  g_string_append (out, "  nothing: ");
  gboolean any = FALSE;
  for (guint i = 0; i < LS_N_KNOBS; i++)
    if (fabs (x->knobs[x->order[i]].gain) < NOTHING) {
      g_string_append_printf (out, "%s%s", any ? ", " : "", ls_knob_name (x->order[i]));
      any = TRUE;
    }
  g_string_append (out, any ? "\n" : "none\n");
  if (x->without_slow_s > 0) {
    g_autofree char *step = time_text (x->without_slow_s);
    g_string_append_printf (out, "  without its stragglers %s: they cost %.2f %%\n", step,
                            100 * (1 - x->without_slow_s / x->step_s));
  }
  g_string_append_printf (out,
                          "  price     the step stays; 10 %% less for the GPUs is 10 %% less per "
                          "step, as much as a step %.1f %% shorter\n",
                          10.0);
  if (x->usd_per_s > 0)
    g_string_append_printf (out, "  a step costs %.4g USD, at 10 %% less %.4g USD\n",
                            x->usd_per_s * x->step_s, x->usd_per_s * x->step_s * 0.9);
  g_string_append_c (out, '\n');
}

static void append_parts (GString *out, const LsExplanation *x) {
  gboolean done[LS_N_PARTS] = {FALSE};

  g_string_append (out, "where the time goes, mean over GPUs:\n");
  for (guint i = 0; i < LS_N_PARTS; i++) {
    guint best = LS_N_PARTS;

    for (guint part = 0; part < LS_N_PARTS; part++)
      if (!done[part] &&
          (best == LS_N_PARTS || x->of_job->parts_s[part] > x->of_job->parts_s[best]))
        best = part;
    done[best] = TRUE;
    if (x->of_job->parts_s[best] < 0.001 * x->step_s)
      break;
    g_autofree char *name = g_strdelimit (g_strdup (ls_part_name ((LsPart) best)), "_", ' ');
    g_string_append_printf (out, "  %5.1f %%  %-16s  %s\n",
                            100 * x->of_job->parts_s[best] / x->step_s, name,
                            ls_meaning_part ((LsPart) best));
  }
  g_string_append_c (out, '\n');
}

static void append_path (GString *out, const LsExplanation *x) {
  double sum = 0;

  if (x->path_step < 0) {
    g_string_append (out,
                     "critical path: the trace holds no operations (run with --trace ops)\n\n");
    return;
  }
  for (guint i = 0; i < x->path->len; i++)
    sum += ((const LsPathGroup *) x->path->pdata[i])->seconds;
  g_string_append_printf (out, "critical path of step %" G_GINT64_FORMAT ":\n", x->path_step);
  for (guint i = 0; i < x->path->len && i < MOST_PATH; i++) {
    const LsPathGroup *group = x->path->pdata[i];

    g_string_append_printf (out, "  %5.1f %%  %s%s%s%s%s, %" G_GINT64_FORMAT " operation%s\n",
                            100 * group->seconds / sum, group->kind, *group->axis ? " " : "",
                            group->axis, *group->phase ? " " : "", group->phase, group->operations,
                            group->operations == 1 ? "" : "s");
  }
  g_string_append_c (out, '\n');
}

static void append_bottlenecks (GString *out, const LsExplanation *x) {
  guint n = MIN (x->of_job->bottlenecks->len, (guint) MOST_BOTTLENECKS);

  if (n == 0)
    return;
  g_string_append (out, "what held transfers down, first five:\n");
  for (guint i = 0; i < n; i++) {
    const LsBottleneck *one = x->of_job->bottlenecks->pdata[i];

    if (one->limiting_share < 0.0005 && one->contended_share < 0.0005)
      continue; /* "0.0 %" */
    g_string_append_printf (out, "  %s: limits %.1f %% of the time, contended %.1f %%\n",
                            one->resource, 100 * one->limiting_share, 100 * one->contended_share);
  }
  g_string_append_c (out, '\n');
}

/* A number and its source, which is not said again where it is that of the number @before (or NULL). */
static void append_fact (GString *out, const LsRest *rest, const LsRest *before) {
  const gboolean again = before != NULL && g_strcmp0 (before->fact.source, rest->fact.source) == 0;
  g_autofree char *value = ls_quantity_format (rest->fact.value, rest->fact.dimension);
  g_autofree char *text = g_strdup_printf (
      "  %-9s %s %s = %s; %s: %s", ls_knob_name (rest->knob), rest->row, rest->fact.field, value,
      ls_fact_status_name (rest->fact.status), again ? "the same" : rest->fact.source);

  ls_prose_append (out, text, LS_PROSE_WIDTH, FACT_INDENT, 0);
}

/* The numbers of the three knobs that matter most; all with --verbose. */
static void append_rests (GString *out, const LsExplanation *x, gboolean verbose) {
  g_string_append (out, "it rests on");
  for (guint s = 0; s < LS_N_FACT_STATUSES; s++)
    if (x->by_status[s] > 0)
      g_string_append_printf (out, " %u %s,", x->by_status[s],
                              ls_fact_status_name ((LsFactStatus) s));
  if (out->str[out->len - 1] == ',')
    g_string_truncate (out, out->len - 1);
  g_string_append_printf (out, " numbers of the catalogue%s\n",
                          verbose ? ":" : "; those of what it follows most (--verbose: all):");
  const LsRest *before = NULL;
  for (guint i = 0; i < LS_N_KNOBS; i++) {
    if (!verbose && (i >= 3 || x->knobs[x->order[i]].gain < NOTHING))
      break;
    for (guint k = 0; k < x->rests->len; k++)
      if (g_array_index (x->rests, LsRest, k).knob == x->order[i]) {
        const LsRest *rest = &g_array_index (x->rests, LsRest, k);

        append_fact (out, rest, before);
        before = rest;
      }
  }
}

/* Keys that nobody set, or set to what they are anyway. */
static void append_keys (GString *out, const LsExplanation *x, gboolean verbose) {
  guint assumed = 0;

  for (guint i = 0; i < x->keys->len; i++)
    assumed += strstr (g_array_index (x->keys, LsRestKey, i).key->source, "assum") != NULL ? 1 : 0;
  g_string_append_printf (
      out, "and on %u keys of the workload at their defaults, %u of them assumed%s\n", x->keys->len,
      assumed, verbose ? ":" : "");
  for (guint i = 0; verbose && i < x->keys->len; i++) {
    const LsRestKey *rest = &g_array_index (x->keys, LsRestKey, i);
    g_string_append_printf (out, "  %s = %s; %s\n", rest->path, rest->key->default_text,
                            rest->key->source);
  }
}

char *ls_explain_text (const LsExplanation *x, gboolean verbose) {
  GString *out = g_string_new (NULL);

  append_head (out, x);
  append_words (out, x);
  append_knobs (out, x);
  append_parts (out, x);
  append_path (out, x);
  append_bottlenecks (out, x);
  append_rests (out, x, verbose);
  append_keys (out, x, verbose);
  return g_string_free (out, FALSE);
}

/* --- JSON --------------------------------------------------------------------------------------- */

static void put_knobs (LsJson *json, const LsExplanation *x) {
  ls_json_open_array (json, "sensitivity");
  for (guint i = 0; i < LS_N_KNOBS; i++) {
    LsKnob knob = x->order[i];

    ls_json_open_object (json, NULL);
    ls_json_string (json, "knob", ls_knob_name (knob));
    ls_json_string (json, "what", ls_knob_what (knob));
    ls_json_number (json, "factor", ls_knob_is_of_times (knob) ? 1 / x->factor : x->factor);
    ls_json_number (json, "step_time_s", x->knobs[knob].step_s);
    ls_json_number (json, "gain", x->knobs[knob].gain);
    ls_json_number (json, "rules", x->knobs[knob].rules);
    ls_json_number (json, "worth_of_price", worth (x, knob));
    ls_json_close (json);
  }
  ls_json_close (json);
}

static void put_path (LsJson *json, const LsExplanation *x) {
  if (x->path_step < 0) {
    ls_json_null (json, "critical_path");
    return;
  }
  ls_json_open_object (json, "critical_path");
  ls_json_integer (json, "step", x->path_step);
  ls_json_open_array (json, "groups");
  for (guint i = 0; i < x->path->len; i++) {
    const LsPathGroup *group = x->path->pdata[i];

    ls_json_open_object (json, NULL);
    ls_json_string (json, "kind", group->kind);
    if (*group->axis)
      ls_json_string (json, "axis", group->axis);
    if (*group->phase)
      ls_json_string (json, "phase", group->phase);
    ls_json_integer (json, "operations", group->operations);
    ls_json_number (json, "time_s", group->seconds);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_close (json);
}

static void put_bottlenecks (LsJson *json, const LsExplanation *x) {
  ls_json_open_array (json, "bottlenecks");
  for (guint i = 0; i < MIN (x->of_job->bottlenecks->len, (guint) MOST_BOTTLENECKS); i++) {
    const LsBottleneck *one = x->of_job->bottlenecks->pdata[i];

    ls_json_open_object (json, NULL);
    ls_json_string (json, "resource", one->resource);
    ls_json_string (json, "kind", one->kind);
    ls_json_number (json, "limiting_share", one->limiting_share);
    ls_json_number (json, "contended_share", one->contended_share);
    ls_json_close (json);
  }
  ls_json_close (json);
}

static void put_rests (LsJson *json, const LsExplanation *x) {
  ls_json_open_object (json, "provenance");
  ls_json_open_object (json, "count");
  for (guint s = 0; s < LS_N_FACT_STATUSES; s++)
    ls_json_integer (json, ls_fact_status_name ((LsFactStatus) s), x->by_status[s]);
  ls_json_close (json);
  ls_json_open_array (json, "numbers");
  for (guint i = 0; i < x->rests->len; i++) {
    const LsRest *rest = &g_array_index (x->rests, LsRest, i);

    ls_json_open_object (json, NULL);
    ls_json_string (json, "knob", ls_knob_name (rest->knob));
    ls_json_string (json, "row", rest->row);
    ls_json_string (json, "field", rest->fact.field);
    ls_json_number (json, "value", rest->fact.value);
    ls_json_string (json, "unit", ls_dimension_base_unit (rest->fact.dimension));
    ls_json_string (json, "status", ls_fact_status_name (rest->fact.status));
    ls_json_string (json, "source", rest->fact.source);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_open_array (json, "defaults");
  for (guint i = 0; i < x->keys->len; i++) {
    const LsRestKey *rest = &g_array_index (x->keys, LsRestKey, i);

    ls_json_open_object (json, NULL);
    ls_json_string (json, "key", rest->path);
    ls_json_string (json, "value", rest->key->default_text);
    ls_json_string (json, "source", rest->key->source);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_close (json);
}

char *ls_explain_json (const LsExplanation *x, const GPtrArray *warnings) {
  LsJson *json = ls_json_new ();

  ls_json_open_object (json, NULL);
  ls_json_string (json, "name", x->name);
  if (x->job != NULL)
    ls_json_string (json, "job", x->job);
  ls_json_integer (json, "gpus", x->of_job->gpus);
  ls_json_number (json, "step_time_s", x->step_s);
  if (x->traced_s > 0)
    ls_json_number (json, "traced_step_time_s", x->traced_s);
  ls_json_open_object (json, "time_breakdown_s");
  for (guint part = 0; part < LS_N_PARTS; part++)
    if (x->of_job->parts_s[part] > 0)
      ls_json_number (json, ls_part_name ((LsPart) part), x->of_job->parts_s[part]);
  ls_json_close (json);
  put_knobs (json, x);
  if (x->without_slow_s > 0)
    ls_json_number (json, "step_time_without_stragglers_s", x->without_slow_s);
  ls_json_open_object (json, "price");
  ls_json_number (json, "factor", 0.9);
  ls_json_number (json, "cost_of_step", 0.9);
  if (x->usd_per_s > 0)
    ls_json_number (json, "step_usd", x->usd_per_s * x->step_s);
  ls_json_close (json);
  put_path (json, x);
  put_bottlenecks (json, x);
  put_rests (json, x);
  ls_json_strings (json, "warnings", warnings);
  ls_json_close (json);
  return ls_json_finish (json);
}
