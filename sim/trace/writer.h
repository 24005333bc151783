/* The writing thread: takes rows from the simulating thread and inserts them.
 *
 * Model:      chunks of cells go round between two queues, full ones to the writer and empty ones
 *             back; when no empty one is left the producer waits (back pressure). The writer binds
 *             only cells that differ from the row before in the same table, and commits about once a
 *             second, so that readers see the trace grow. When it commits depends on the wall clock;
 *             what is written does not.
 * Invariants: rows are inserted in the order in which they were handed over. After an error the
 *             writer takes and drops what still comes, so that the producer never hangs.
 * Call order: new, row..., finish or free.
 * Cost:       a fixed number of chunks (about 7 MB), whatever the run.
 *
 * Ownership: the writer owns the connection that it is given.
 */
#pragma once

#include "trace/rows.h"

#include <sqlite3.h>

typedef struct LsTraceWriter LsTraceWriter;

/* `stop` (or NULL) is set to 1 when writing fails, so that a simulation can end early. */
LsTraceWriter *ls_trace_writer_new (sqlite3 *db, volatile gint *stop, GError **error);
/* Room for one row of `table`; fill every cell before the next call. Waits when the writer is behind. */
LsCell *ls_trace_writer_row (LsTraceWriter *writer, LsRowTable table);
/* Hands over what is there, so that readers see it soon. */
void ls_trace_writer_flush (LsTraceWriter *writer);
/* FALSE with the writer's error once it has failed. */
gboolean ls_trace_writer_check (LsTraceWriter *writer, GError **error);
/* Hands over the last rows, waits for them to be committed and ends the thread. The connection is
 * then idle and may be used until ls_trace_writer_free(). */
gboolean ls_trace_writer_finish (LsTraceWriter *writer, GError **error);
/* Ends the thread if it still runs; what is queued is dropped. Does not close the connection. */
void ls_trace_writer_free (LsTraceWriter *writer);
