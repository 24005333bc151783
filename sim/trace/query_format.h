/* The formats in which rows of a result are written, and who takes the text. */
#pragma once

#include <glib.h>

/* X (ID, name, what it looks like) */
#define LS_QUERY_FORMATS(X)                                        \
  X (TABLE, "table", "aligned columns for people")                 \
  X (CSV, "csv", "comma-separated, with a header line (RFC 4180)") \
  X (TSV, "tsv", "tab-separated, with a header line")              \
  X (JSON, "json", "an array of objects")                          \
  X (MARKDOWN, "markdown", "a table in Markdown")

#define LS_ENUM_QUERY_FORMAT(id, name, looks) LS_QUERY_##id,
typedef enum { LS_QUERY_FORMATS (LS_ENUM_QUERY_FORMAT) LS_N_QUERY_FORMATS } LsQueryFormat;

/* FALSE: no format of that name. */
gboolean ls_query_format_from_name (const char *name, LsQueryFormat *format);
const char *ls_query_format_name (LsQueryFormat format);

/* Takes text of `size` bytes; FALSE ends the query without an error (a closed pipe). */
typedef gboolean (*LsQuerySink) (gpointer self, const char *text, gsize size);
