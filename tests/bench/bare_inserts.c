/* Inserting the rows of a trace by SQLite alone. See bare_inserts.h. */
#include "bare_inserts.h"

#include "base/error.h"
#include "trace/database.h"
#include "trace/schema.h"

#include <string.h>

/* Rows held in memory; more are made by repeating them with new ids. */
#define MOST_ROWS 500000

/* The cells of up to `n_rows` events. */
static LsCell *read_rows (const char *recorded, gint64 *n_rows, GError **error) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  guint n_columns = ls_row_columns (LS_ROW_EVENT);
  guint32 doubles = ls_row_doubles (LS_ROW_EVENT);
  LsCell *cells = g_new (LsCell, (gsize) *n_rows * n_columns);
  gint64 n = 0;
  int rc = sqlite3_open_v2 (recorded, &db, SQLITE_OPEN_READONLY, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_prepare_v2 (db, "SELECT * FROM event ORDER BY id", -1, &statement, NULL);
  while (rc == SQLITE_OK && n < *n_rows && sqlite3_step (statement) == SQLITE_ROW) {
    LsCell *row = cells + n++ * n_columns;
    for (guint i = 0; i < n_columns; i++)
      if (sqlite3_column_type (statement, (int) i) == SQLITE_NULL)
        row[i] = ls_cell (LS_CELL_NULL);
      else if ((doubles >> i & 1) != 0)
        row[i] = ls_cell_real (sqlite3_column_double (statement, (int) i));
      else
        row[i] = ls_cell (sqlite3_column_int64 (statement, (int) i));
  }
  *n_rows = n;
  if (n == 0)
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: no events: %s", recorded, sqlite3_errmsg (db));
  sqlite3_finalize (statement);
  sqlite3_close (db);
  if (n == 0)
    g_clear_pointer (&cells, g_free);
  return cells;
}

static void insert_row (sqlite3_stmt *statement, gint64 id, const LsCell *row) {
  guint n_columns = ls_row_columns (LS_ROW_EVENT);
  guint32 doubles = ls_row_doubles (LS_ROW_EVENT);
  sqlite3_bind_int64 (statement, 1, id);
  for (guint i = 1; i < n_columns; i++)
    if (row[i].i == LS_CELL_NULL)
      sqlite3_bind_null (statement, (int) i + 1);
    else if ((doubles >> i & 1) != 0)
      sqlite3_bind_double (statement, (int) i + 1, row[i].r);
    else
      sqlite3_bind_int64 (statement, (int) i + 1, row[i].i);
  sqlite3_step (statement);
  sqlite3_reset (statement);
}

static double seconds_since (gint64 start_us) {
  return (double) MAX (g_get_monotonic_time () - start_us, 1) / (double) G_USEC_PER_SEC;
}

/* Builds the indexes of table event. */
static gboolean build_indexes (sqlite3 *db, double *index_s, GError **error) {
  gint64 start_us = g_get_monotonic_time ();
  for (const char *const *sql = ls_schema_indexes (); *sql != NULL; sql++)
    if (strstr (*sql, " ON event(") != NULL && !ls_database_run (db, *sql, error))
      return FALSE;
  *index_s = seconds_since (start_us);
  return TRUE;
}

gboolean bench_bare_insert_rate (const char *recorded, const char *scratch, gint64 n_rows,
                                 double *rows_per_s, double *index_s, GError **error) {
  gint64 n_read = MIN (n_rows, MOST_ROWS);
  g_autofree LsCell *cells = read_rows (recorded, &n_read, error);
  if (cells == NULL)
    return FALSE;
  sqlite3 *db = ls_database_create (scratch, TRUE, NULL, LS_DATABASE_PAGE_LARGE, error);
  if (db == NULL)
    return FALSE;
  g_autofree char *sql = ls_schema_statement (LS_ROW_EVENT);
  sqlite3_stmt *statement = NULL;
  gboolean ok = ls_database_run (db, "PRAGMA journal_mode=OFF;BEGIN", error) &&
                (sqlite3_prepare_v2 (db, sql, -1, &statement, NULL) == SQLITE_OK ||
                 ls_database_fail (db, error));
  gint64 start_us = g_get_monotonic_time ();
  for (gint64 i = 0; ok && i < n_rows; i++)
    insert_row (statement, i + 1, cells + i % n_read * ls_row_columns (LS_ROW_EVENT));
  sqlite3_finalize (statement);
  ok = ok && ls_database_run (db, "COMMIT", error);
  *rows_per_s = (double) n_rows / seconds_since (start_us);
  ok = ok && (index_s == NULL || build_indexes (db, index_s, error));
  ls_database_close (db, scratch, TRUE, NULL);
  return ok;
}
