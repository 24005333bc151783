/* Rows of a result as text. See query_output.h.
 *
 * Model:      `begin`, `row` and `end` of a format, in a table; table and markdown gather cells and
 *             write all of it at the end, when the widths are known.
 */
#include "trace/query_output.h"

#include <math.h>
#include <string.h>

#include "base/quantity.h"

struct LsQueryOutput {
  sqlite3_stmt *statement;
  LsQueryFormat format;
  LsQuerySink sink;
  gpointer self;
  guint n_columns;
  gint64 n_rows;
  GString *line;
  GPtrArray *cells;  /* gathered: text, row after row, the header first */
  gboolean *is_text; /* gathered: the column has a value that is no number */
};

static gboolean is_gathered (LsQueryFormat format) {
  return format == LS_QUERY_TABLE || format == LS_QUERY_MARKDOWN;
}

static void append_blob (GString *line, sqlite3_stmt *statement, int column) {
  const guint8 *bytes = sqlite3_column_blob (statement, column);
  int n = sqlite3_column_bytes (statement, column);
  for (int i = 0; i < n; i++)
    g_string_append_printf (line, "%02x", bytes[i]);
}

/* The value as plain text; NULL is nothing. */
static void append_value (GString *line, sqlite3_stmt *statement, int column) {
  switch (sqlite3_column_type (statement, column)) {
  case SQLITE_NULL:
    break;
  case SQLITE_FLOAT:
    ls_quantity_append_shortest (line, sqlite3_column_double (statement, column));
    break;
  case SQLITE_BLOB:
    append_blob (line, statement, column);
    break;
  default:
    g_string_append (line, (const char *) sqlite3_column_text (statement, column));
  }
}

static gboolean put (LsQueryOutput *output) {
  gboolean more = output->sink (output->self, output->line->str, output->line->len);
  g_string_truncate (output->line, 0);
  return more;
}

/* ---- csv and tsv ---- */

static void append_separated (LsQueryOutput *output, const char *text) {
  GString *line = output->line;
  if (output->format == LS_QUERY_TSV) {
    for (const char *c = text; *c != '\0'; c++)
      g_string_append_c (line, strchr ("\t\r\n", *c) != NULL ? ' ' : *c);
    return;
  }
  if (strpbrk (text, ",\"\r\n") == NULL) {
    g_string_append (line, text);
    return;
  }
  g_string_append_c (line, '"');
  for (const char *c = text; *c != '\0'; c++) {
    if (*c == '"')
      g_string_append_c (line, '"');
    g_string_append_c (line, *c);
  }
  g_string_append_c (line, '"');
}

static gboolean put_separated (LsQueryOutput *output, gboolean header) {
  char separator = output->format == LS_QUERY_TSV ? '\t' : ',';
  g_autoptr (GString) value = g_string_new (NULL);
  for (guint i = 0; i < output->n_columns; i++) {
    g_string_truncate (value, 0);
    if (header)
      g_string_append (value, sqlite3_column_name (output->statement, (int) i));
    else
      append_value (value, output->statement, (int) i);
    if (i > 0)
      g_string_append_c (output->line, separator);
    append_separated (output, value->str);
  }
  g_string_append_c (output->line, '\n');
  return put (output);
}

/* ---- json ---- */

static void append_json_string (GString *line, const char *text) {
  g_string_append_c (line, '"');
  for (const char *c = text; *c != '\0'; c++) {
    if (*c == '"' || *c == '\\')
      g_string_append_c (line, '\\');
    if ((guchar) *c < 0x20)
      g_string_append_printf (line, "\\u%04x", (guint) (guchar) *c);
    else
      g_string_append_c (line, *c);
  }
  g_string_append_c (line, '"');
}

static gboolean put_json (LsQueryOutput *output) {
  GString *line = output->line;
  g_autoptr (GString) value = g_string_new (NULL);
  g_string_append (line, output->n_rows == 0 ? "[\n  {" : ",\n  {");
  for (guint i = 0; i < output->n_columns; i++) {
    int type = sqlite3_column_type (output->statement, (int) i);
    g_string_truncate (value, 0);
    append_value (value, output->statement, (int) i);
    g_string_append (line, i > 0 ? ", " : "");
    append_json_string (line, sqlite3_column_name (output->statement, (int) i));
    g_string_append (line, ": ");
    if (type == SQLITE_NULL ||
        (type == SQLITE_FLOAT && !isfinite (sqlite3_column_double (output->statement, (int) i))))
      g_string_append (line, "null");
    else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
      g_string_append (line, value->str);
    else
      append_json_string (line, value->str);
  }
  g_string_append_c (line, '}');
  return put (output);
}

/* ---- table and markdown ---- */

/* Text of several lines (a scenario, SQL) is shown by its start in a table; csv, json and raw have all of it. */
static void shorten (GString *value) {
  const glong shown = 60;

  if (strchr (value->str, '\n') == NULL || g_utf8_strlen (value->str, -1) <= shown)
    return;
  g_string_truncate (value, (gsize) (g_utf8_offset_to_pointer (value->str, shown) - value->str));
  g_string_append (value, "...");
}

static void gather (LsQueryOutput *output, gboolean header) {
  for (guint i = 0; i < output->n_columns; i++) {
    GString *value = g_string_new (NULL);
    if (header)
      g_string_append (value, sqlite3_column_name (output->statement, (int) i));
    else
      append_value (value, output->statement, (int) i);
    if (output->format == LS_QUERY_TABLE)
      shorten (value);
    for (gsize c = 0; c < value->len; c++)
      if (g_ascii_iscntrl (value->str[c]))
        value->str[c] = ' ';
    if (output->format == LS_QUERY_MARKDOWN)
      g_string_replace (value, "|", "\\|", 0);
    int type = sqlite3_column_type (output->statement, (int) i);
    if (!header && (type == SQLITE_TEXT || type == SQLITE_BLOB))
      output->is_text[i] = TRUE;
    g_ptr_array_add (output->cells, g_string_free (value, FALSE));
  }
}

static void append_padded (GString *line, const char *text, glong width, gboolean left) {
  glong pad = width - g_utf8_strlen (text, -1);
  if (left)
    g_string_append (line, text);
  for (; pad > 0; pad--)
    g_string_append_c (line, ' ');
  if (!left)
    g_string_append (line, text);
}

/* The line under the header. */
static void append_rule (LsQueryOutput *output, const glong *widths) {
  gboolean markdown = output->format == LS_QUERY_MARKDOWN;
  for (guint i = 0; i < output->n_columns; i++) {
    g_string_append (output->line, markdown ? "| " : i > 0 ? "  " : "");
    for (glong c = 0; c < widths[i]; c++)
      g_string_append_c (output->line,
                         markdown && !output->is_text[i] && c == widths[i] - 1 ? ':' : '-');
    g_string_append (output->line, markdown ? " " : "");
  }
  g_string_append (output->line, markdown ? "|\n" : "\n");
}

static gboolean ends_in_blank (const GString *line) {
  return line->len > 0 && line->str[line->len - 1] == ' ';
}

static gboolean put_gathered (LsQueryOutput *output) {
  gboolean markdown = output->format == LS_QUERY_MARKDOWN;
  guint n = output->n_columns;
  g_autofree glong *widths = g_new0 (glong, MAX (n, 1));
  for (guint i = 0; i < output->cells->len; i++)
    widths[i % n] = MAX (widths[i % n], g_utf8_strlen (g_ptr_array_index (output->cells, i), -1));
  for (guint i = 0; i < n && markdown; i++)
    widths[i] = MAX (widths[i], 3);
  for (guint i = 0; i < output->cells->len; i++) {
    guint column = i % n;
    gboolean last = column + 1 == n;
    g_string_append (output->line, markdown ? "| " : column > 0 ? "  " : "");
    glong width = last && !markdown && output->is_text[column] ? 0 : widths[column];
    append_padded (output->line, g_ptr_array_index (output->cells, i), width,
                   output->is_text[column]);
    while (last && !markdown && ends_in_blank (output->line))
      g_string_truncate (output->line, output->line->len - 1);
    g_string_append (output->line, markdown ? last ? " |\n" : " " : last ? "\n" : "");
    if (i + 1 == n)
      append_rule (output, widths);
    if (last && output->line->len > 65536 && !put (output))
      return FALSE;
  }
  return put (output);
}

LsQueryOutput *ls_query_output_new (sqlite3_stmt *statement, LsQueryFormat format, LsQuerySink sink,
                                    gpointer self) {
  LsQueryOutput *output = g_new0 (LsQueryOutput, 1);
  output->statement = statement;
  output->format = format;
  output->sink = sink;
  output->self = self;
  output->n_columns = (guint) sqlite3_column_count (statement);
  output->line = g_string_new (NULL);
  output->cells = g_ptr_array_new_with_free_func (g_free);
  output->is_text = g_new0 (gboolean, MAX (output->n_columns, 1));
  if (is_gathered (format))
    gather (output, TRUE);
  return output;
}

gboolean ls_query_output_row (LsQueryOutput *output) {
  gboolean more = TRUE;
  if (is_gathered (output->format))
    gather (output, FALSE);
  else if (output->format == LS_QUERY_JSON)
    more = put_json (output);
  else
    more = (output->n_rows > 0 || put_separated (output, TRUE)) && put_separated (output, FALSE);
  output->n_rows++;
  return more;
}

gboolean ls_query_output_end (LsQueryOutput *output) {
  if (is_gathered (output->format))
    return put_gathered (output);
  if (output->format != LS_QUERY_JSON)
    return output->n_rows > 0 || put_separated (output, TRUE);
  g_string_append (output->line, output->n_rows == 0 ? "[]\n" : "\n]\n");
  return put (output);
}

void ls_query_output_free (LsQueryOutput *output) {
  if (output == NULL)
    return;
  g_string_free (output->line, TRUE);
  g_ptr_array_unref (output->cells);
  g_free (output->is_text);
  g_free (output);
}
