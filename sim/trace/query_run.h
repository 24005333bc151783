/* Running SQL on a finished or growing trace, and writing its rows as text.
 *
 * Model:      a database is opened read-only; statements that could write are refused. Results go as
 *             text to the caller's function, piece by piece. NULL is nothing (null in JSON).
 * Cost:       csv, tsv and json stream; table and markdown hold the rows to find the widths.
 * Left out:   deciding where text goes, and paging.
 *
 * Ownership: the database is closed with ls_trace_database_close().
 */
#pragma once

#include "trace/query_format.h"

typedef struct LsTraceDatabase LsTraceDatabase;

/* LS_ERROR_IO when it cannot be read, LS_ERROR_USAGE when it is not a database of Lockstep. A trace
 * whose program was killed is first rolled back to its last commit. */
LsTraceDatabase *ls_trace_database_open (const char *path, GError **error);
void ls_trace_database_close (LsTraceDatabase *database);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsTraceDatabase, ls_trace_database_close)

typedef struct {
  LsQueryFormat format;
  gint64 limit;              /* rows at most; 0: all */
  double time_limit_s;       /* 0: none */
  const volatile gint *stop; /* non-zero ends it with LS_ERROR_INTERRUPTED; or NULL */
} LsQueryOptions;

typedef struct {
  gint64 n_rows;
  gboolean cut; /* there were more than `limit` */
} LsQueryResult;

/* Runs one or more SELECT statements. `parameters` are "name=value" words, NULL-terminated (NULL: none):
 * numbers are bound as numbers, an empty value as NULL. Errors: LS_ERROR_USAGE with SQLite's message
 * for wrong SQL, writes and unknown parameters; LS_ERROR_RUN past the time limit; LS_ERROR_IO.
 * `result` may be NULL. */
gboolean ls_trace_database_query (LsTraceDatabase *database, const char *sql,
                                  const char *const *parameters, const LsQueryOptions *options,
                                  LsQuerySink sink, gpointer self, LsQueryResult *result,
                                  GError **error);
/* The text of one value of the first row, NULL if there is none: for values of table `run`. */
char *ls_trace_database_text (LsTraceDatabase *database, const char *sql, GError **error);
