/* Reading tables of comma-separated values (RFC 4180): quoted fields, doubled quotes, line breaks
 * inside quotes, a byte order mark, LF or CRLF, blank lines between rows ignored.
 *
 * The first line names the columns. Every row must have as many fields as there are columns; a
 * column named twice, a stray quote, a NUL byte or text that is not UTF-8 is a fault. A table with faults
 * is refused as a whole, all of them told with line and column (base/text_faults.h): a row with a comma too
 * many has its values in the wrong columns, and no other row is proof against the same hand.
 * Ownership: a table owns all texts; fields are valid as long as it lives.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct LsCsv LsCsv;

/* @name stands for the table in messages. */
LsCsv *ls_csv_parse (const char *name, const char *text, gsize length, GError **error);
LsCsv *ls_csv_read (const char *path, GError **error);
void ls_csv_free (LsCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCsv, ls_csv_free)

guint ls_csv_rows (const LsCsv *csv);
/* Names of the columns, char *, in order (transfer none). */
const GPtrArray *ls_csv_columns (const LsCsv *csv);
/* Number of the column, or -1. */
int ls_csv_column (const LsCsv *csv, const char *name);
/* The field, white space around it removed; "" when empty or when there is no such column. */
const char *ls_csv_field (const LsCsv *csv, guint row, const char *column);

/* Appends a line of @n fields, quoted where they must be. */
void ls_csv_append_row (GString *out, const char *const *fields, guint n);

G_END_DECLS
