/* Provided queries: reading their files. See query.h. */
#include "trace/query.h"

#include "base/error.h"

#include <string.h>

struct LsQuery {
  char *name;
  char *question;
  char *reading;
  char *sql;
  GPtrArray *parameters; /* of LsQueryParameter */
};

static void free_parameter (gpointer data) {
  LsQueryParameter *parameter = data;
  g_free (parameter->name);
  g_free (parameter->meaning);
  g_free (parameter);
}

void ls_query_free (LsQuery *query) {
  if (query == NULL)
    return;
  g_free (query->name);
  g_free (query->question);
  g_free (query->reading);
  g_free (query->sql);
  g_ptr_array_unref (query->parameters);
  g_free (query);
}

/* Appends a line of text to what is there, with a space between. */
static void append_line (char **text, const char *line) {
  char *joined = **text == '\0' ? g_strdup (line) : g_strconcat (*text, " ", line, NULL);
  g_free (*text);
  *text = joined;
}

/* A line under `Parameters:`; one that does not begin with a colon continues the one before. */
static void add_parameter_line (LsQuery *query, const char *line) {
  if (*line != ':') {
    if (query->parameters->len > 0) {
      LsQueryParameter *last = g_ptr_array_index (query->parameters, query->parameters->len - 1);
      append_line (&last->meaning, line);
    }
    return;
  }
  gsize n = strcspn (line, " \t");
  LsQueryParameter *parameter = g_new0 (LsQueryParameter, 1);
  parameter->name = g_strndup (line + 1, n - 1);
  parameter->meaning = g_strstrip (g_strdup (line + n));
  g_ptr_array_add (query->parameters, parameter);
}

static void read_head (LsQuery *query) {
  enum { QUESTION, PARAMETERS, READING } part = QUESTION;
  g_auto (GStrv) lines = g_strsplit (query->sql, "\n", -1);
  for (guint i = 0; lines[i] != NULL && g_str_has_prefix (lines[i], "--"); i++) {
    const char *line = g_strstrip (lines[i] + 2);
    if (g_str_has_prefix (line, "Parameters:")) {
      part = PARAMETERS;
      line += strlen ("Parameters:");
    } else if (g_str_has_prefix (line, "Reading:")) {
      part = READING;
      line += strlen ("Reading:");
    }
    while (*line == ' ')
      line++;
    if (*line == '\0')
      continue;
    if (part == PARAMETERS)
      add_parameter_line (query, line);
    else
      append_line (part == QUESTION ? &query->question : &query->reading, line);
  }
}

LsQuery *ls_query_load (const char *path, GError **error) {
  g_autoptr (GError) local = NULL;
  g_autofree char *sql = NULL;
  if (!g_file_get_contents (path, &sql, NULL, &local)) {
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s", local->message);
    return NULL;
  }
  g_autoptr (LsQuery) query = g_new0 (LsQuery, 1);
  g_autofree char *base = g_path_get_basename (path);
  char *dot = strrchr (base, '.');
  query->name = dot != NULL ? g_strndup (base, (gsize) (dot - base)) : g_strdup (base);
  query->sql = g_steal_pointer (&sql);
  query->question = g_strdup ("");
  query->reading = g_strdup ("");
  query->parameters = g_ptr_array_new_with_free_func (free_parameter);
  read_head (query);
  if (*query->question == '\0' || *query->reading == '\0') {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s:1: a query begins with comment lines: its question, `Parameters:` if it has "
                 "any, and `Reading:`",
                 path);
    return NULL;
  }
  return g_steal_pointer (&query);
}

const char *ls_query_name (const LsQuery *query) {
  return query->name;
}

const char *ls_query_question (const LsQuery *query) {
  return query->question;
}

const char *ls_query_reading (const LsQuery *query) {
  return query->reading;
}

const char *ls_query_sql (const LsQuery *query) {
  return query->sql;
}

guint ls_query_n_parameters (const LsQuery *query) {
  return query->parameters->len;
}

const LsQueryParameter *ls_query_parameter (const LsQuery *query, guint index) {
  return g_ptr_array_index (query->parameters, index);
}

static gint compare_names (gconstpointer a, gconstpointer b) {
  const LsQuery *const *left = a;
  const LsQuery *const *right = b;
  return strcmp ((*left)->name, (*right)->name);
}

static void free_query (gpointer query) {
  ls_query_free (query);
}

GPtrArray *ls_queries_load (const char *folder, GError **error) {
  g_autoptr (GError) local = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, &local);
  if (dir == NULL) {
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s", local->message);
    return NULL;
  }
  g_autoptr (GPtrArray) queries = g_ptr_array_new_with_free_func (free_query);
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;) {
    if (!g_str_has_suffix (name, ".sql"))
      continue;
    g_autofree char *path = g_build_filename (folder, name, NULL);
    LsQuery *query = ls_query_load (path, error);
    if (query == NULL)
      return NULL;
    g_ptr_array_add (queries, query);
  }
  g_ptr_array_sort (queries, compare_names); /* names differ: no ties */
  return g_steal_pointer (&queries);
}

const LsQuery *ls_queries_find (const GPtrArray *queries, const char *name) {
  for (guint i = 0; i < queries->len; i++) {
    const LsQuery *query = g_ptr_array_index (queries, i);
    if (strcmp (query->name, name) == 0)
      return query;
  }
  return NULL;
}
