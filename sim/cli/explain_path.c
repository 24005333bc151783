/* The critical path of a job's last step, grouped; see explanation.h.
 *
 * Model:   from the operation of the job that ends last, cause by cause, to the start of the step. An operation
 *          counts from its start, or that of the step; gaps between two are a group of their own.
 * Guard:   a path of more operations than the trace has goes in a circle, which only a file altered since can: an
 *          error. Ids and times do not tell it sooner: a cause may be handed over after what it let start.
 */
#include <string.h>

#include "base/error.h"
#include "cli/explanation.h"
#include "cli/interrupt.h"

static const char path_sql[] =
    "WITH RECURSIVE\n"
    "w AS (SELECT s.step AS step, s.start_ns AS start_ns, s.job_id AS job_id FROM step s\n"
    "  JOIN job j ON j.id = s.job_id WHERE j.name = coalesce(:job, j.name)\n"
    "  AND EXISTS (SELECT 1 FROM event e WHERE e.step = s.step) ORDER BY s.step DESC LIMIT 1),\n"
    "n AS (SELECT count(*) AS events FROM event),\n"
    "path(id, depth) AS (\n"
    "  SELECT (SELECT e.id FROM event e JOIN rank r ON r.rank = e.rank, w WHERE e.step = w.step\n"
    "          AND r.job_id = w.job_id ORDER BY e.end_ns DESC, e.id LIMIT 1), 0 FROM w\n"
    "  UNION ALL\n"
    "  SELECT e.cause_id, path.depth + 1 FROM path JOIN event e ON e.id = path.id JOIN w JOIN n\n"
    "  WHERE e.cause_id IS NOT NULL AND e.start_ns > w.start_ns AND path.depth < n.events),\n"
    "circle AS (SELECT count(*) > 0 AS found FROM path JOIN n JOIN event e ON e.id = path.id\n"
    "  WHERE path.depth = n.events),\n"
    "on_path AS (\n"
    "  SELECT k.name AS kind, coalesce(a.name, '') AS axis, coalesce(p.name, '') AS phase,\n"
    "         e.end_ns - max(e.start_ns, w.start_ns) AS ns,\n"
    "         max(e.start_ns, w.start_ns)\n"
    "           - coalesce(lag(e.end_ns) OVER (ORDER BY path.depth DESC), w.start_ns) AS gap_ns\n"
    "  FROM path JOIN w JOIN event e ON e.id = path.id JOIN kind k ON k.id = e.kind_id\n"
    "  LEFT JOIN axis a ON a.id = e.axis_id LEFT JOIN phase p ON p.id = e.phase_id\n"
    "  WHERE e.end_ns > w.start_ns),\n"
    "parts AS (\n"
    "  SELECT kind, axis, phase, count(*) AS n, sum(ns) AS ns FROM on_path GROUP BY kind, axis, "
    "phase\n"
    "  UNION ALL SELECT '(gaps)', '', '', count(*), sum(gap_ns) FROM on_path WHERE gap_ns > 0)\n"
    "SELECT (SELECT step FROM w) AS step, kind, axis, phase, n, ns,\n"
    "  found AS circle FROM parts, circle WHERE ns > 0 OR found\n"
    "ORDER BY ns DESC, kind, axis, phase";

enum { STEP, KIND, AXIS, PHASE, N, NS, CIRCLE, N_COLUMNS };

static void group_free (gpointer data) {
  LsPathGroup *group = data;

  g_free (group->kind);
  g_free (group->axis);
  g_free (group->phase);
  g_free (group);
}

static gboolean to_string (gpointer self, const char *text, gsize size) {
  g_string_append_len (self, text, (gssize) size);
  return TRUE;
}

gboolean ls_explain_path (LsExplanation *explanation, LsTraceDatabase *database, GError **error) {
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *job =
      explanation->job != NULL ? g_strconcat ("job=", explanation->job, NULL) : NULL;
  const char *parameters[] = {job, NULL};
  const LsQueryOptions how = {.format = LS_QUERY_TSV, .stop = ls_interrupt_flag ()};

  explanation->path = g_ptr_array_new_with_free_func (group_free);
  explanation->path_step = -1;
  if (!ls_trace_database_query (database, path_sql, parameters, &how, to_string, text, NULL, error))
    return FALSE;
  g_auto (GStrv) lines = g_strsplit (text->str, "\n", -1);
  for (guint i = 1; lines[0] != NULL && lines[i] != NULL; i++) {
    g_auto (GStrv) cells = g_strsplit (lines[i], "\t", -1);
    LsPathGroup *group;

    if (g_strv_length (cells) != N_COLUMNS)
      continue;
    if (!g_str_equal (cells[CIRCLE], "0")) {
      g_set_error_literal (
          error, LS_ERROR, LS_ERROR_USAGE,
          "the causes of the trace's operations go in a circle: the file is not as "
          "a run wrote it");
      return FALSE;
    }
    group = g_new0 (LsPathGroup, 1);
    explanation->path_step = g_ascii_strtoll (cells[STEP], NULL, 10);
    group->kind = g_strdup (cells[KIND]);
    group->axis = g_strdup (cells[AXIS]);
    group->phase = g_strdup (cells[PHASE]);
    group->operations = g_ascii_strtoll (cells[N], NULL, 10);
    group->seconds = g_ascii_strtod (cells[NS], NULL) * 1e-9;
    g_ptr_array_add (explanation->path, group);
  }
  return TRUE;
}
