/* Running SQL on a trace. See query_run.h. */
#include "trace/query_run.h"

#include "base/distance.h"
#include "base/error.h"
#include "trace/query_output.h"
#include "trace/schema.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Steps of SQLite's machine between two looks at the clock (some 0.1 ms). */
#define PROGRESS_STEPS 10000
/* How long a query waits for the commit of a run that is still writing. */
#define BUSY_MS 10000

struct LsTraceDatabase {
  sqlite3 *db;
  char *path;
  const LsQueryOptions *options; /* of the running query */
  gint64 deadline_us;
};

/* ---- opening ---- */

static int try_open (LsTraceDatabase *database, int flags) {
  sqlite3_close (database->db);
  database->db = NULL;
  int rc = sqlite3_open_v2 (database->path, &database->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
  if (rc != SQLITE_OK)
    return rc;
  sqlite3_busy_timeout (database->db, BUSY_MS);
  sqlite3_db_config (database->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config (database->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  return sqlite3_exec (database->db, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL);
}

static gint64 pragma (LsTraceDatabase *database, const char *sql) {
  sqlite3_stmt *statement = NULL;
  gint64 value = -1;
  if (sqlite3_prepare_v2 (database->db, sql, -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step (statement) == SQLITE_ROW)
    value = sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  return value;
}

static gboolean check_format (LsTraceDatabase *database, GError **error) {
  if (pragma (database, "PRAGMA application_id") != LS_TRACE_APPLICATION_ID) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "%s: a database, but not one of Lockstep",
                 database->path);
    return FALSE;
  }
  gint64 version = pragma (database, "PRAGMA user_version");
  if (version <= LS_TRACE_USER_VERSION)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "%s: written by a newer Lockstep (format %" G_GINT64_FORMAT
               ", this one reads up to %d)",
               database->path, version, LS_TRACE_USER_VERSION);
  return FALSE;
}

static gboolean is_scenario (const char *path) {
  return g_str_has_suffix (path, ".yaml") || g_str_has_suffix (path, ".yml") ||
         g_str_has_suffix (path, ".json");
}

LsTraceDatabase *ls_trace_database_open (const char *path, GError **error) {
  if (g_access (path, R_OK) != 0 || g_file_test (path, G_FILE_TEST_IS_DIR)) {
    int saved = g_file_test (path, G_FILE_TEST_IS_DIR) ? EISDIR : errno;
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: %s", path, g_strerror (saved));
    return NULL;
  }
  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR)) { /* SQLite would wait for whoever writes */
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "%s: no file but a pipe or a device; a trace is a database", path);
    return NULL;
  }
  g_autoptr (LsTraceDatabase) database = g_new0 (LsTraceDatabase, 1);
  database->path = g_canonicalize_filename (path, NULL);
  int rc = try_open (database, SQLITE_OPEN_READONLY);
  g_autofree char *journal = g_strconcat (database->path, "-journal", NULL);
  if (rc != SQLITE_OK && g_file_test (journal, G_FILE_TEST_EXISTS)) {
    /* Its writer was killed within a transaction: undoing that needs to write, once. */
    try_open (database, SQLITE_OPEN_READWRITE);
    rc = try_open (database, SQLITE_OPEN_READONLY);
  }
  if (rc == SQLITE_NOTADB && is_scenario (database->path)) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "%s: a scenario and no trace; 'lockstep run' makes one of it", database->path);
    return NULL;
  }
  if (rc != SQLITE_OK) {
    g_set_error (error, LS_ERROR, rc == SQLITE_NOTADB ? LS_ERROR_USAGE : LS_ERROR_IO, "%s: %s",
                 database->path, sqlite3_errmsg (database->db));
    return NULL;
  }
  return check_format (database, error) ? g_steal_pointer (&database) : NULL;
}

void ls_trace_database_close (LsTraceDatabase *database) {
  if (database == NULL)
    return;
  sqlite3_close (database->db);
  g_free (database->path);
  g_free (database);
}

/* ---- statements and parameters ---- */

static void finalize (gpointer statement) {
  sqlite3_finalize (statement);
}

/* The table or view whose name is nearest (transfer full, NULL: none). */
static char *nearest_table (LsTraceDatabase *database, const char *name) {
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  sqlite3_stmt *statement = NULL;

  if (sqlite3_prepare_v2 (database->db,
                          "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')", -1,
                          &statement, NULL) == SQLITE_OK)
    while (sqlite3_step (statement) == SQLITE_ROW)
      g_ptr_array_add (names, g_strdup ((const char *) sqlite3_column_text (statement, 0)));
  sqlite3_finalize (statement);
  g_ptr_array_add (names, NULL);
  return g_strdup (ls_nearest (name, (const char *const *) names->pdata));
}

static void set_sql_error (LsTraceDatabase *database, GError **error) {
  static const char table[] = "no such table: ", column[] = "no such column: ";
  g_autofree char *message = g_strdup (sqlite3_errmsg (database->db));
  g_autofree char *near =
      g_str_has_prefix (message, table) ? nearest_table (database, message + strlen (table)) : NULL;

  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "SQL error: %s%s%s%s%s", message,
               near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
               near != NULL ? "'?" : "",
               g_str_has_prefix (message, table) || g_str_has_prefix (message, column)
                   ? "; docs/trace.md has tables and columns"
                   : "");
}

/* All statements of the text, each of which only reads. */
static GPtrArray *prepare_all (LsTraceDatabase *database, const char *sql, GError **error) {
  g_autoptr (GPtrArray) statements = g_ptr_array_new_with_free_func (finalize);
  while (*sql != '\0') {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2 (database->db, sql, -1, &statement, &sql) != SQLITE_OK) {
      set_sql_error (database, error);
      return NULL;
    }
    if (statement == NULL)
      continue; /* white space or a comment */
    g_ptr_array_add (statements, statement);
    if (!sqlite3_stmt_readonly (statement)) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                   "databases are opened read-only, and this would write: %s",
                   sqlite3_sql (statement));
      return NULL;
    }
  }
  if (statements->len > 0)
    return g_steal_pointer (&statements);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "no SQL statement given");
  return NULL;
}

static int bind_value (sqlite3_stmt *statement, int index, const char *value) {
  char *end = NULL;
  if (*value == '\0')
    return sqlite3_bind_null (statement, index);
  errno = 0;
  gint64 integer = g_ascii_strtoll (value, &end, 10);
  if (*end == '\0' && errno == 0)
    return sqlite3_bind_int64 (statement, index, integer);
  double real = g_ascii_strtod (value, &end);
  if (*end == '\0')
    return sqlite3_bind_double (statement, index, real);
  return sqlite3_bind_text (statement, index, value, -1, SQLITE_TRANSIENT);
}

/* Index of :name, @name or $name, 0 if the statement has none. */
static int parameter_index (sqlite3_stmt *statement, const char *name) {
  for (const char *mark = ":@$"; *mark != '\0'; mark++) {
    g_autofree char *full = g_strdup_printf ("%c%s", *mark, name);
    int index = sqlite3_bind_parameter_index (statement, full);
    if (index > 0)
      return index;
  }
  return 0;
}

static gboolean fail_parameter (const GPtrArray *statements, const char *name, GError **error) {
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint s = 0; s < statements->len; s++) {
    sqlite3_stmt *statement = g_ptr_array_index (statements, s);
    for (int i = 1; i <= sqlite3_bind_parameter_count (statement); i++)
      if (sqlite3_bind_parameter_name (statement, i) != NULL)
        g_ptr_array_add (names, (gpointer) (sqlite3_bind_parameter_name (statement, i) + 1));
  }
  g_ptr_array_add (names, NULL);
  const char *const *list = (const char *const *) names->pdata;
  const char *nearest = ls_nearest (name, list);
  g_autofree char *all = g_strjoinv (", ", (char **) names->pdata);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--param %s: no such parameter; %s%s%s%s%s", name,
               *all == '\0' ? "the query has none" : "it takes ", all,
               nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "?" : "");
  return FALSE;
}

static gboolean bind_all (const GPtrArray *statements, const char *const *parameters,
                          GError **error) {
  for (guint p = 0; parameters != NULL && parameters[p] != NULL; p++) {
    const char *equals = strchr (parameters[p], '=');
    if (equals == NULL) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--param %s: must be name=value",
                   parameters[p]);
      return FALSE;
    }
    g_autofree char *name = g_strndup (parameters[p], (gsize) (equals - parameters[p]));
    gboolean found = FALSE;
    for (guint s = 0; s < statements->len; s++) {
      sqlite3_stmt *statement = g_ptr_array_index (statements, s);
      int index = parameter_index (statement, name);
      if (index > 0)
        bind_value (statement, index, equals + 1);
      found = found || index > 0;
    }
    if (!found)
      return fail_parameter (statements, name, error);
  }
  return TRUE;
}

/* ---- running ---- */

static int on_progress (gpointer self) {
  const LsTraceDatabase *database = self;
  const volatile gint *stop = database->options->stop;
  if (stop != NULL && *stop != 0)
    return 1;
  return database->deadline_us > 0 && g_get_monotonic_time () > database->deadline_us;
}

static gboolean fail_run (LsTraceDatabase *database, int rc, GError **error) {
  const volatile gint *stop = database->options->stop;
  if (rc == SQLITE_INTERRUPT && stop != NULL && *stop != 0)
    g_set_error (error, LS_ERROR, LS_ERROR_INTERRUPTED, "query interrupted");
  else if (rc == SQLITE_INTERRUPT)
    g_set_error (error, LS_ERROR, LS_ERROR_RUN, "query stopped after its time limit of %g s",
                 database->options->time_limit_s);
  else if ((rc & 0xff) == SQLITE_ERROR)
    set_sql_error (database, error);
  else
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: %s", database->path,
                 sqlite3_errmsg (database->db));
  return FALSE;
}

/* Runs one statement; `*more` turns FALSE when the sink wants no more. */
static gboolean run_statement (LsTraceDatabase *database, sqlite3_stmt *statement, LsQuerySink sink,
                               gpointer self, LsQueryResult *result, gboolean *more,
                               GError **error) {
  const LsQueryOptions *options = database->options;
  LsQueryOutput *output = NULL;
  gint64 n_rows = 0;
  int rc = SQLITE_DONE;
  while (*more && (rc = sqlite3_step (statement)) == SQLITE_ROW) {
    if (output == NULL)
      output = ls_query_output_new (statement, options->format, sink, self);
    if (options->limit > 0 && n_rows == options->limit) {
      result->cut = TRUE;
      rc = SQLITE_DONE;
      break;
    }
    *more = ls_query_output_row (output);
    n_rows++;
  }
  gboolean ok = rc == SQLITE_DONE || rc == SQLITE_ROW || fail_run (database, rc, error);
  if (ok && output == NULL && sqlite3_column_count (statement) > 0)
    output = ls_query_output_new (statement, options->format, sink, self);
  if (ok && *more && output != NULL)
    *more = ls_query_output_end (output);
  result->n_rows += n_rows;
  ls_query_output_free (output);
  sqlite3_reset (statement);
  return ok;
}

gboolean ls_trace_database_query (LsTraceDatabase *database, const char *sql,
                                  const char *const *parameters, const LsQueryOptions *options,
                                  LsQuerySink sink, gpointer self, LsQueryResult *result,
                                  GError **error) {
  LsQueryResult unused = {0};
  result = result != NULL ? result : &unused;
  *result = (LsQueryResult){0};
  g_autoptr (GPtrArray) statements = prepare_all (database, sql, error);
  if (statements == NULL || !bind_all (statements, parameters, error))
    return FALSE;
  database->options = options;
  database->deadline_us = options->time_limit_s > 0
                              ? g_get_monotonic_time () + (gint64) (options->time_limit_s * 1e6)
                              : 0;
  sqlite3_progress_handler (database->db, PROGRESS_STEPS, on_progress, database);
  gboolean ok = TRUE, more = TRUE;
  for (guint i = 0; ok && more && i < statements->len; i++)
    ok = run_statement (database, g_ptr_array_index (statements, i), sink, self, result, &more,
                        error);
  sqlite3_progress_handler (database->db, 0, NULL, NULL);
  return ok;
}

char *ls_trace_database_text (LsTraceDatabase *database, const char *sql, GError **error) {
  static const LsQueryOptions no_options = {0};
  g_autoptr (GPtrArray) statements = prepare_all (database, sql, error);
  if (statements == NULL)
    return NULL;
  database->options = &no_options;
  sqlite3_stmt *statement = g_ptr_array_index (statements, 0);
  int rc = sqlite3_step (statement);
  if (rc == SQLITE_ROW)
    return g_strdup ((const char *) sqlite3_column_text (statement, 0));
  if (rc != SQLITE_DONE)
    fail_run (database, rc, error);
  return NULL;
}
