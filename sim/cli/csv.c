/* CSV reader, see csv.h: a small state machine over the bytes; cost O(bytes). */
#include "cli/csv.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text_faults.h"

struct LsCsv {
  GPtrArray *columns; /* char * */
  /* Column by name; the names are those of columns. */
  GHashTable *numbers;
  GPtrArray *rows; /* GPtrArray of char * */
};

/* A place in the text; its column is counted when a fault is told, so that a line of a million fields
 * costs its bytes. */
typedef struct {
  guint line;
  const char *line_start, *at;
} Place;

typedef struct {
  const char *at, *end;
  const char *line_start;
  guint line;
  GPtrArray *row; /* char *: the fields of the row that is being read */
  GArray *places; /* Place, where each of them begins, and behind them where the row ends */
  LsTextFaults *faults;
} Cursor;

void ls_csv_free (LsCsv *csv) {
  if (!csv)
    return;
  g_clear_pointer (&csv->numbers, g_hash_table_unref);
  g_clear_pointer (&csv->columns, g_ptr_array_unref);
  g_clear_pointer (&csv->rows, g_ptr_array_unref);
  g_free (csv);
}

static Place place_of (const Cursor *cursor) {
  return (Place){cursor->line, cursor->line_start, cursor->at};
}

static void mark (Cursor *cursor) {
  const Place place = place_of (cursor);

  g_array_append_val (cursor->places, place);
}

static gboolean fault_at (Cursor *cursor, Place place, const char *what) {
  return ls_text_faults_add (cursor->faults, place.line,
                             ls_text_column (place.line_start, place.at), "%s", what);
}

static Place place_of_field (const Cursor *cursor, guint field) {
  return g_array_index (cursor->places, Place, field);
}

/* Steps over one byte, counting lines. */
static void step (Cursor *cursor) {
  if (*cursor->at++ == '\n') {
    cursor->line++;
    cursor->line_start = cursor->at;
  }
}

/* What stands in quotes; the cursor is on the opening one and goes behind the closing one. */
static gboolean read_quoted (Cursor *cursor, GString *field) {
  const Place first = place_of (cursor);

  for (cursor->at++; cursor->at < cursor->end; step (cursor)) {
    if (*cursor->at == '"') {
      cursor->at++;
      if (cursor->at >= cursor->end || *cursor->at != '"')
        return TRUE;
    }
    g_string_append_c (field, *cursor->at);
  }
  return fault_at (cursor, first, "a quote is opened here and never closed");
}

static gboolean ends_field (const Cursor *cursor) {
  return cursor->at >= cursor->end || *cursor->at == ',' || *cursor->at == '\n';
}

/* One field; returns whether another follows in its row. */
static gboolean read_field (Cursor *cursor) {
  g_autoptr (GString) field = g_string_new (NULL);
  gboolean another;

  mark (cursor);
  if (cursor->at < cursor->end && *cursor->at == '"' && read_quoted (cursor, field) &&
      !ends_field (cursor) && *cursor->at != '\r')
    fault_at (cursor, place_of (cursor),
              "text after a closing quote; a quote inside quotes is doubled");
  for (; !ends_field (cursor); cursor->at++)
    g_string_append_c (field, *cursor->at);
  g_strstrip (field->str);
  g_ptr_array_add (cursor->row, g_strdup (field->str));
  another = cursor->at < cursor->end && *cursor->at == ',';
  if (!another) {
    if (cursor->at > cursor->line_start && cursor->at[-1] == '\r')
      cursor->at--;
    mark (cursor);
    while (!ends_field (cursor))
      cursor->at++;
  }
  if (cursor->at < cursor->end)
    step (cursor);
  return another;
}

static void take_header (LsCsv *csv, Cursor *cursor) {
  GPtrArray *row = cursor->row;

  csv->columns = g_ptr_array_ref (row);
  for (guint i = 0; i < row->len; i++)
    if (!g_hash_table_insert (csv->numbers, row->pdata[i], GUINT_TO_POINTER (i))) {
      g_autofree char *what =
          g_strdup_printf ("the column '%s' is named twice", (char *) row->pdata[i]);

      fault_at (cursor, place_of_field (cursor, i), what);
    }
}

/* A row of another length is told where its surplus begins or where what is missing would stand. */
static void take_row (LsCsv *csv, Cursor *cursor) {
  const guint n = cursor->row->len, columns = csv->columns->len;

  if (n == 1 && *(char *) cursor->row->pdata[0] == 0 && columns > 1)
    return;
  if (n != columns) {
    g_autofree char *what = g_strdup_printf ("%u field%s in a table of %u column%s; %s", n,
                                             n == 1 ? "" : "s", columns, columns == 1 ? "" : "s",
                                             n > columns ? "a comma inside a field needs quotes"
                                                         : "an empty field still needs its comma");

    fault_at (cursor, place_of_field (cursor, MIN (n, columns)), what);
    return;
  }
  g_ptr_array_add (csv->rows, g_ptr_array_ref (cursor->row));
}

static void read_rows (LsCsv *csv, Cursor *cursor) {
  while (cursor->at < cursor->end) {
    const guint faults = ls_text_faults_count (cursor->faults);

    cursor->row = g_ptr_array_new_with_free_func (g_free);
    g_array_set_size (cursor->places, 0);
    while (read_field (cursor))
      ;
    if (csv->columns && ls_text_faults_count (cursor->faults) == faults)
      take_row (csv, cursor);
    else if (!csv->columns)
      take_header (csv, cursor);
    g_ptr_array_unref (cursor->row);
  }
}

LsCsv *ls_csv_parse (const char *name, const char *text, gsize length, GError **error) {
  g_autoptr (LsCsv) csv = g_new0 (LsCsv, 1);
  g_autoptr (LsTextFaults) faults = ls_text_faults_new (name);
  g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (Place));
  Cursor cursor = {text, text + length, text, 1, NULL, places, faults};

  csv->numbers = g_hash_table_new (g_str_hash, g_str_equal);
  csv->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  if (length >= 3 && memcmp (text, "\357\273\277", 3) == 0)
    cursor.line_start = cursor.at += 3;
  if (ls_text_check (faults, text, length)) {
    read_rows (csv, &cursor);
    if (!csv->columns)
      ls_text_faults_add (faults, 1, 1, "an empty table: the first line must name the columns");
  }
  return ls_text_faults_check (faults, error) ? g_steal_pointer (&csv) : NULL;
}

LsCsv *ls_csv_read (const char *path, GError **error) {
  g_autofree char *text = NULL;
  g_autoptr (GError) local = NULL;
  gsize length;

  if (!ls_file_read (path, LS_FILE_MAX, &text, &length, &local)) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: the table %s", path, local->message);
    return NULL;
  }
  return ls_csv_parse (path, text, length, error);
}

guint ls_csv_rows (const LsCsv *csv) {
  return csv->rows->len;
}

const GPtrArray *ls_csv_columns (const LsCsv *csv) {
  return csv->columns;
}

int ls_csv_column (const LsCsv *csv, const char *name) {
  gpointer number = NULL;

  return g_hash_table_lookup_extended (csv->numbers, name, NULL, &number)
             ? (int) GPOINTER_TO_UINT (number)
             : -1;
}

const char *ls_csv_field (const LsCsv *csv, guint row, const char *column) {
  int at = ls_csv_column (csv, column);

  return at < 0 ? "" : ((GPtrArray *) csv->rows->pdata[row])->pdata[at];
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
