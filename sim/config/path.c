/*
 * Splitting and joining paths; see path.h for the syntax.
 */
#include "config/path.h"

#include "base/error.h"
#include "config/config.h"

#include <string.h>

static gboolean needs_quotes (const char *segment) {
  return segment[0] == '\0' || strpbrk (segment, ".\"\\= \t\n") != NULL;
}

void ls_config_path_append (GString *path, const char *segment) {
  if (path->len > 0)
    g_string_append_c (path, '.');
  if (!needs_quotes (segment)) {
    g_string_append (path, segment);
    return;
  }
  g_string_append_c (path, '"');
  for (; *segment != '\0'; segment++) {
    if (*segment == '"' || *segment == '\\')
      g_string_append_c (path, '\\');
    g_string_append_c (path, *segment);
  }
  g_string_append_c (path, '"');
}

char *ls_config_path (const char *first, ...) {
  GString *path = g_string_new (NULL);
  va_list args;

  va_start (args, first);
  for (const char *segment = first; segment != NULL; segment = va_arg (args, const char *))
    ls_config_path_append (path, segment);
  va_end (args);
  return g_string_free (path, FALSE);
}

/* Paths without quotes, which nearly all are: NULL when a segment is empty. */
static char **split_plain (const char *path) {
  char **segments = g_strsplit (path, ".", -1);

  for (char **segment = segments; *segment != NULL; segment++)
    if (**segment == '\0') {
      g_strfreev (segments);
      return NULL;
    }
  return segments;
}

/* Reads one quoted segment from the byte after its opening quote; returns the byte after the
 * closing one, NULL when there is none. */
static const char *read_quoted (const char *p, GString *segment) {
  for (; *p != '\0'; p++) {
    if (*p == '"')
      return p + 1;
    if (*p == '\\' && (p[1] == '"' || p[1] == '\\'))
      p++;
    g_string_append_c (segment, *p);
  }
  return NULL;
}

static const char *read_plain (const char *p, GString *segment) {
  while (*p != '\0' && *p != '.' && *p != '"')
    g_string_append_c (segment, *p++);
  return p;
}

/* Reads the segment at @p; NULL with a reason when it is malformed. */
static const char *read_segment (const char *p, GString *segment, const char **reason) {
  if (*p == '"') {
    p = read_quoted (p + 1, segment);
    if (p == NULL)
      *reason = "a quote is not closed";
    else if (*p != '\0' && *p != '.') {
      *reason = "a dot must follow a quoted segment";
      return NULL;
    }
    return p;
  }
  p = read_plain (p, segment);
  if (*p == '"') {
    *reason = "a quote may only open a segment";
    return NULL;
  }
  if (segment->len == 0) {
    *reason = "a segment is empty";
    return NULL;
  }
  return p;
}

static char **split_quoted (const char *path, int *column, GError **error) {
  g_autoptr (GPtrArray) segments = g_ptr_array_new_with_free_func (g_free);
  const char *p = path;

  for (;;) {
    g_autoptr (GString) segment = g_string_new (NULL);
    const char *reason = NULL;
    const char *next = read_segment (p, segment, &reason);

    if (next == NULL) {
      if (column != NULL)
        *column = (int) (p - path);
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                   "'%s' is not a path: %s; write words joined by dots, such as "
                   "workload.parallel.tensor",
                   path, reason);
      return NULL;
    }
    g_ptr_array_add (segments, g_strdup (segment->str));
    if (*next == '\0')
      break;
    p = next + 1;
  }
  g_ptr_array_add (segments, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&segments), FALSE);
}

char **ls_config_path_split (const char *path, int *column, GError **error) {
  char **segments = strchr (path, '"') == NULL && *path != '\0' ? split_plain (path) : NULL;

  return segments != NULL ? segments : split_quoted (path, column, error);
}

int ls_config_path_end (const char *assignment) {
  gboolean quoted = FALSE;

  for (const char *p = assignment; *p != '\0'; p++) {
    if (quoted && *p == '\\' && p[1] != '\0')
      p++;
    else if (*p == '"')
      quoted = !quoted;
    else if (*p == '=' && !quoted)
      return (int) (p - assignment);
  }
  return -1;
}

int ls_config_path_offset (const char *path, guint index) {
  gboolean quoted = FALSE;
  const char *p = path;

  for (; *p != '\0' && index > 0; p++) {
    if (quoted && *p == '\\' && p[1] != '\0')
      p++;
    else if (*p == '"')
      quoted = !quoted;
    else if (*p == '.' && !quoted)
      index--;
  }
  return (int) (p - path);
}

int ls_config_path_index (const char *segment) {
  gint64 index = 0;

  if (!g_ascii_isdigit (segment[0]) || (segment[0] == '0' && segment[1] != '\0'))
    return -1;
  for (; *segment != '\0'; segment++) {
    if (!g_ascii_isdigit (*segment) || index > 100000000)
      return -1;
    index = 10 * index + (*segment - '0');
  }
  return (int) index;
}
