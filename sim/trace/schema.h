/* The schema of the trace database: tables, views and indexes, and the statements that fill them.
 *
 * Model:      names, keys and meanings that stay (docs/architecture.md); one `_ns` column per account
 *             part of train/vocabulary.h in `step` and `step_rank`. Times are integer ns from the start
 *             of the run, absent is NULL. Only SQL of SQLite 3.34 and older; no STRICT tables.
 * Left out:   the tables of a sweep, which are sim/study's.
 *
 * Ownership: strings returned as char * are the caller's, const char * are static.
 */
#pragma once

#include "trace/rows.h"

#define LS_TRACE_APPLICATION_ID 0x4c4f434b /* "LOCK" */
#define LS_TRACE_USER_VERSION 1

/* Tables, to be run in an empty database. */
char *ls_schema_tables (void);
/* Views: events and sample_spans, and those named as in Perfetto's trace processor (slice, thread,
 * process, thread_track, process_track, counter, counter_track). */
const char *ls_schema_views (void);
/* Indexes, one statement each, NULL-terminated. Built when the trace is closed. */
const char *const *ls_schema_indexes (void);
/* INSERT (or, for LS_ROW_CAUSE, UPDATE) of a row of cells. */
char *ls_schema_statement (LsRowTable table);
guint ls_row_columns (LsRowTable table);
/* Bit i is set where column i holds a double. */
guint32 ls_row_doubles (LsRowTable table);
/* Bit i is set where column i holds the address of a static string. */
guint32 ls_row_texts (LsRowTable table);
