/* Provided queries: .sql files that say what they answer.
 *
 * Model:      a query file begins with comment lines: the question; then `Parameters:` with one line
 *             `:name  meaning (default: ...)` each; then `Reading:` and how to read the result. The SQL
 *             after it takes its defaults itself (coalesce (:rank, 0)), so the same file runs in any
 *             SQLite shell. The name of a query is its file's, without .sql.
 * Invariants: queries of a folder are in order of name.
 *
 * Ownership: a query owns its strings; arrays of queries free their elements.
 */
#pragma once

#include <glib.h>

typedef struct {
  char *name;    /* without the colon */
  char *meaning; /* with its default */
} LsQueryParameter;

typedef struct LsQuery LsQuery;

/* Reads one file; LS_ERROR_IO, or LS_ERROR_CONFIG when its head is not as above. */
LsQuery *ls_query_load (const char *path, GError **error);
void ls_query_free (LsQuery *query);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsQuery, ls_query_free)

const char *ls_query_name (const LsQuery *query);
const char *ls_query_question (const LsQuery *query); /* one line */
const char *ls_query_reading (const LsQuery *query);  /* one line */
const char *ls_query_sql (const LsQuery *query);      /* the whole file */
guint ls_query_n_parameters (const LsQuery *query);
const LsQueryParameter *ls_query_parameter (const LsQuery *query, guint index);

/* All *.sql of a folder (transfer full: of LsQuery). */
GPtrArray *ls_queries_load (const char *folder, GError **error);
/* NULL when there is none of that name. */
const LsQuery *ls_queries_find (const GPtrArray *queries, const char *name);
