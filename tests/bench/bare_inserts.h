/* How fast SQLite alone takes the rows of a trace: the yardstick of the recorder.
 *
 * Model:      event rows of a finished trace are read into memory, then inserted into a new file with
 *             the same page size by one prepared statement, every column bound, in one transaction,
 *             without journal, sync or a second thread; the inserts and the commit are timed, and
 *             apart from them the building of the indexes of `event` over the same rows.
 */
#pragma once

#include <glib.h>

/* Inserts up to *n_rows event rows of `recorded`, again and again until there are *n_rows, into the new
 * file `scratch` (removed afterwards). By the wall clock: `rows_per_s` of the inserts alone, and seconds
 * of the indexes (index_s, may be NULL: not built). LS_ERROR_IO. */
gboolean bench_bare_insert_rate (const char *recorded, const char *scratch, gint64 n_rows,
                                 double *rows_per_s, double *index_s, GError **error);
