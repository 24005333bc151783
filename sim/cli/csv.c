/* CSV reader, see csv.h: a small state machine over the bytes; cost O(bytes). */
#include "cli/csv.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"

struct LsCsv {
  char *name;
  GPtrArray *columns; /* char * */
  GPtrArray *rows;    /* GPtrArray of char * */
  GArray *lines;      /* guint */
};

typedef struct {
  const char *at, *end;
  guint line;
} Cursor;

void ls_csv_free (LsCsv *csv) {
  if (!csv)
    return;
  g_free (csv->name);
  g_clear_pointer (&csv->columns, g_ptr_array_unref);
  g_clear_pointer (&csv->rows, g_ptr_array_unref);
  g_clear_pointer (&csv->lines, g_array_unref);
  g_free (csv);
}

static gboolean fail (const LsCsv *csv, guint line, GError **error, const char *what) {
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s:%u: %s", csv->name, line, what);
  return FALSE;
}

/* What stands in quotes; the cursor is behind the opening one. */
static gboolean read_quoted (const LsCsv *csv, Cursor *cursor, GString *field, GError **error) {
  guint first = cursor->line;

  for (; cursor->at < cursor->end; cursor->at++) {
    if (*cursor->at == '"') {
      if (cursor->at + 1 < cursor->end && cursor->at[1] == '"') {
        cursor->at++;
      } else {
        cursor->at++;
        return TRUE;
      }
    }
    if (*cursor->at == '\n')
      cursor->line++;
    g_string_append_c (field, *cursor->at);
  }
  return fail (csv, first, error, "a quote is opened here and never closed");
}

/* One field; *last tells whether it ended its row. */
static gboolean read_field (const LsCsv *csv, Cursor *cursor, GPtrArray *row, gboolean *last,
                            GError **error) {
  g_autoptr (GString) field = g_string_new (NULL);

  if (cursor->at < cursor->end && *cursor->at == '"') {
    cursor->at++;
    if (!read_quoted (csv, cursor, field, error))
      return FALSE;
    if (cursor->at < cursor->end && !strchr (",\r\n", *cursor->at))
      return fail (csv, cursor->line, error,
                   "text after a closing quote; a quote inside quotes is doubled");
  } else {
    for (; cursor->at < cursor->end && *cursor->at != ',' && *cursor->at != '\n'; cursor->at++)
      g_string_append_c (field, *cursor->at);
  }
  g_strstrip (field->str);
  g_ptr_array_add (row, g_strdup (field->str));
  if (cursor->at < cursor->end && *cursor->at == '\r')
    cursor->at++;
  *last = cursor->at >= cursor->end || *cursor->at == '\n';
  if (cursor->at < cursor->end) {
    if (*cursor->at == '\n')
      cursor->line++;
    cursor->at++;
  }
  return TRUE;
}

static gboolean read_row (const LsCsv *csv, Cursor *cursor, GPtrArray *row, GError **error) {
  gboolean last = FALSE;

  while (!last)
    if (!read_field (csv, cursor, row, &last, error))
      return FALSE;
  return TRUE;
}

static gboolean take_header (LsCsv *csv, GPtrArray *row, GError **error) {
  for (guint i = 0; i < row->len; i++)
    for (guint k = 0; k < i; k++)
      if (g_str_equal (row->pdata[i], row->pdata[k])) {
        g_autofree char *what =
            g_strdup_printf ("the column '%s' is named twice", (char *) row->pdata[i]);

        return fail (csv, 1, error, what);
      }
  csv->columns = g_ptr_array_ref (row);
  return TRUE;
}

static gboolean take_row (LsCsv *csv, GPtrArray *row, guint line, GError **error) {
  if (!csv->columns)
    return take_header (csv, row, error);
  if (row->len == 1 && *(char *) row->pdata[0] == 0 && csv->columns->len > 1)
    return TRUE;
  if (row->len != csv->columns->len) {
    g_autofree char *what =
        g_strdup_printf ("%u fields in a table of %u columns", row->len, csv->columns->len);

    return fail (csv, line, error, what);
  }
  g_ptr_array_add (csv->rows, g_ptr_array_ref (row));
  g_array_append_val (csv->lines, line);
  return TRUE;
}

LsCsv *ls_csv_parse (const char *name, const char *text, gsize length, GError **error) {
  g_autoptr (LsCsv) csv = g_new0 (LsCsv, 1);
  Cursor cursor = {text, text + length, 1};

  csv->name = g_strdup (name);
  csv->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  csv->lines = g_array_new (FALSE, FALSE, sizeof (guint));
  if (memchr (text, 0, length) || !g_utf8_validate_len (text, length, NULL)) {
    fail (csv, 1, error, "no text table (binary, or not UTF-8)");
    return NULL;
  }
  if (length >= 3 && memcmp (text, "\357\273\277", 3) == 0)
    cursor.at += 3;
  while (cursor.at < cursor.end) {
    g_autoptr (GPtrArray) row = g_ptr_array_new_with_free_func (g_free);
    guint line = cursor.line;

    if (!read_row (csv, &cursor, row, error) || !take_row (csv, row, line, error))
      return NULL;
  }
  if (!csv->columns) {
    fail (csv, 1, error, "an empty table: the first line must name the columns");
    return NULL;
  }
  return g_steal_pointer (&csv);
}

LsCsv *ls_csv_read (const char *path, GError **error) {
  g_autofree char *text = NULL;
  g_autofree char *name = g_path_get_basename (path);
  g_autoptr (GError) local = NULL;
  gsize length;

  if (!ls_file_read (path, LS_FILE_MAX, &text, &length, &local)) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: the table %s", path, local->message);
    return NULL;
  }
  return ls_csv_parse (name, text, length, error);
}

guint ls_csv_rows (const LsCsv *csv) {
  return csv->rows->len;
}

int ls_csv_column (const LsCsv *csv, const char *name) {
  for (guint i = 0; i < csv->columns->len; i++)
    if (g_str_equal (csv->columns->pdata[i], name))
      return (int) i;
  return -1;
}

const char *ls_csv_field (const LsCsv *csv, guint row, const char *column) {
  int at = ls_csv_column (csv, column);

  return at < 0 ? "" : ((GPtrArray *) csv->rows->pdata[row])->pdata[at];
}

guint ls_csv_line (const LsCsv *csv, guint row) {
  return g_array_index (csv->lines, guint, row);
}

static void append_field (GString *out, const char *field) {
  if (!strpbrk (field, ",\"\r\n")) {
    g_string_append (out, field);
    return;
  }
  g_string_append_c (out, '"');
  for (const char *p = field; *p; p++) {
    if (*p == '"')
      g_string_append_c (out, '"');
    g_string_append_c (out, *p);
  }
  g_string_append_c (out, '"');
}

void ls_csv_append_row (GString *out, const char *const *fields, guint n) {
  for (guint i = 0; i < n; i++) {
    if (i > 0)
      g_string_append_c (out, ',');
    append_field (out, fields[i]);
  }
  g_string_append_c (out, '\n');
}
