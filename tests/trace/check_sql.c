/* SQL in tests. See check_sql.h. */
#include "trace/check_sql.h"

sqlite3 *sql_open (const char *folder, const char *name) {
  g_autofree char *path = g_build_filename (folder, name, NULL);
  sqlite3 *db = NULL;
  ck_assert_int_eq (sqlite3_open_v2 (path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  sqlite3_busy_timeout (db, 10000);
  return db;
}

static sqlite3_stmt *first_row (sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2 (db, sql, -1, &statement, NULL) != SQLITE_OK)
    ck_abort_msg ("%s: %s", sql, sqlite3_errmsg (db));
  if (sqlite3_step (statement) != SQLITE_ROW)
    ck_abort_msg ("%s: no row: %s", sql, sqlite3_errmsg (db));
  return statement;
}

gint64 sql_integer (sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = first_row (db, sql);
  gint64 value = sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  return value;
}

double sql_real (sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = first_row (db, sql);
  double value = sqlite3_column_double (statement, 0);
  sqlite3_finalize (statement);
  return value;
}

char *sql_text (sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = first_row (db, sql);
  char *value = g_strdup ((const char *) sqlite3_column_text (statement, 0));
  sqlite3_finalize (statement);
  return value;
}

static void dump_table (sqlite3 *db, const char *table, GString *text) {
  g_autofree char *sql = g_strdup_printf ("SELECT * FROM \"%s\"", table);
  sqlite3_stmt *statement = NULL;
  ck_assert_int_eq (sqlite3_prepare_v2 (db, sql, -1, &statement, NULL), SQLITE_OK);
  while (sqlite3_step (statement) == SQLITE_ROW) {
    const char *first = (const char *) sqlite3_column_text (statement, 0);
    if (g_str_equal (table, "run") && g_str_has_prefix (first, "wall_"))
      continue;
    g_string_append (text, table);
    for (int i = 0; i < sqlite3_column_count (statement); i++) {
      const char *value = (const char *) sqlite3_column_text (statement, i);
      g_string_append_printf (text, "|%d:%s", sqlite3_column_type (statement, i),
                              value != NULL ? value : "");
    }
    g_string_append_c (text, '\n');
  }
  sqlite3_finalize (statement);
}

char *sql_dump (sqlite3 *db) {
  GString *text = g_string_new (NULL);
  sqlite3_stmt *tables = NULL;
  ck_assert_int_eq (sqlite3_prepare_v2 (db,
                                        "SELECT name,type,sql FROM sqlite_master"
                                        " WHERE sql IS NOT NULL ORDER BY name",
                                        -1, &tables, NULL),
                    SQLITE_OK);
  while (sqlite3_step (tables) == SQLITE_ROW) {
    const char *name = (const char *) sqlite3_column_text (tables, 0);
    g_string_append_printf (text, "%s\n", (const char *) sqlite3_column_text (tables, 2));
    if (g_str_equal ((const char *) sqlite3_column_text (tables, 1), "table"))
      dump_table (db, name, text);
  }
  sqlite3_finalize (tables);
  return g_string_free (text, FALSE);
}
