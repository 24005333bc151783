/* The writing thread of a trace. See writer.h. */
#include "trace/writer.h"

#include "base/assert.h"
#include "trace/database.h"
#include "trace/schema.h"

/* 8 chunks of 0.9 MB: enough to ride out a commit, little enough to stay near the cache. */
#define N_CHUNKS 8
#define CHUNK_CELLS (112 * 1024)
/* Commit after this time, or after so many rows (about 60 MB). */
#define COMMIT_US G_TIME_SPAN_SECOND
#define COMMIT_ROWS 1000000
/* Chunk flag: the writer ends after it. */
#define CHUNK_LAST 1

typedef struct {
  guint n_cells;
  guint flags;
  LsCell cells[CHUNK_CELLS];
} Chunk;

/* A prepared statement and what is bound to it. */
typedef struct {
  sqlite3_stmt *statement;
  guint n_columns;
  guint32 doubles, texts;
  LsCell bound[LS_ROW_MAX_COLUMNS];
} Inserter;

struct LsTraceWriter {
  sqlite3 *db;
  GThread *thread; /* NULL once joined */
  GAsyncQueue *full, *empty;
  Chunk *current; /* the producer's */
  volatile gint *stop;
  /* the writing thread's */
  Inserter inserters[LS_N_ROWS];
  gint64 uncommitted_rows;
  gint64 committed_us;
  /* shared: `failed` is set after `failure` */
  gint failed;
  GError *failure;
};

static gboolean bind_cell (Inserter *inserter, guint column, LsCell cell) {
  sqlite3_stmt *statement = inserter->statement;
  int index = (int) column + 1;
  if (cell.i == LS_CELL_NULL)
    return sqlite3_bind_null (statement, index) == SQLITE_OK;
  if ((inserter->doubles >> column & 1) != 0)
    return sqlite3_bind_double (statement, index, cell.r) == SQLITE_OK;
  if ((inserter->texts >> column & 1) != 0)
    return sqlite3_bind_text (statement, index, GSIZE_TO_POINTER ((gsize) cell.i), -1,
                              SQLITE_STATIC) == SQLITE_OK;
  return sqlite3_bind_int64 (statement, index, cell.i) == SQLITE_OK;
}

static gboolean insert_row (Inserter *inserter, const LsCell *cells) {
  gboolean ok = TRUE;
  for (guint i = 0; i < inserter->n_columns; i++)
    if (cells[i].i != inserter->bound[i].i) {
      ok = bind_cell (inserter, i, cells[i]) && ok;
      inserter->bound[i] = cells[i];
    }
  sqlite3_step (inserter->statement);
  return sqlite3_reset (inserter->statement) == SQLITE_OK && ok;
}

/* Commits and begins anew. A reader that is in the way makes it try again later, until too much has
 * gathered: then it waits for the reader. */
static gboolean commit (LsTraceWriter *writer, gboolean last, GError **error) {
  gboolean must = last || writer->uncommitted_rows >= COMMIT_ROWS;
  sqlite3_busy_timeout (writer->db, must ? 10 * 60 * 1000 : 0);
  int rc = sqlite3_exec (writer->db, "COMMIT", NULL, NULL, NULL);
  if (rc == SQLITE_BUSY && !must) {
    writer->committed_us = g_get_monotonic_time ();
    return TRUE;
  }
  if (rc != SQLITE_OK)
    return ls_database_fail (writer->db, error);
  writer->uncommitted_rows = 0;
  writer->committed_us = g_get_monotonic_time ();
  return last || ls_database_run (writer->db, "BEGIN", error);
}

static gboolean write_chunk (LsTraceWriter *writer, const Chunk *chunk, GError **error) {
  for (guint at = 0; at < chunk->n_cells;) {
    Inserter *inserter = &writer->inserters[chunk->cells[at].i];
    if (!insert_row (inserter, &chunk->cells[at + 1]))
      return ls_database_fail (writer->db, error);
    at += 1 + inserter->n_columns;
    writer->uncommitted_rows++;
  }
  gboolean last = (chunk->flags & CHUNK_LAST) != 0;
  gint64 waited_us = g_get_monotonic_time () - writer->committed_us;
  if (last || waited_us >= COMMIT_US || writer->uncommitted_rows >= COMMIT_ROWS)
    return commit (writer, last, error);
  return TRUE;
}

/* The next full chunk. While none comes, what is there is committed, for readers. */
static Chunk *next_chunk (LsTraceWriter *writer, GError **error) {
  Chunk *chunk = g_async_queue_try_pop (writer->full);
  if (chunk == NULL && writer->uncommitted_rows > 0)
    chunk = g_async_queue_timeout_pop (writer->full, COMMIT_US);
  if (chunk == NULL && writer->uncommitted_rows > 0)
    commit (writer, FALSE, error);
  return chunk != NULL ? chunk : g_async_queue_pop (writer->full);
}

static void note_failure (LsTraceWriter *writer, GError *error) {
  writer->failure = error;
  writer->uncommitted_rows = 0; /* nothing is committed any more */
  g_atomic_int_set (&writer->failed, 1);
  if (writer->stop != NULL)
    g_atomic_int_set (writer->stop, 1);
}

static gpointer writer_thread (gpointer data) {
  LsTraceWriter *writer = data;
  for (gboolean last = FALSE; !last;) {
    g_autoptr (GError) error = NULL;
    Chunk *chunk = next_chunk (writer, &error);
    last = (chunk->flags & CHUNK_LAST) != 0;
    if (!g_atomic_int_get (&writer->failed) && error == NULL)
      write_chunk (writer, chunk, &error);
    if (!g_atomic_int_get (&writer->failed) && error != NULL)
      note_failure (writer, g_steal_pointer (&error));
    chunk->n_cells = 0;
    g_async_queue_push (writer->empty, chunk);
  }
  return NULL;
}

static gboolean prepare_all (LsTraceWriter *writer, GError **error) {
  for (guint i = 0; i < LS_N_ROWS; i++) {
    Inserter *inserter = &writer->inserters[i];
    g_autofree char *sql = ls_schema_statement ((LsRowTable) i);
    inserter->n_columns = ls_row_columns ((LsRowTable) i);
    inserter->doubles = ls_row_doubles ((LsRowTable) i);
    inserter->texts = ls_row_texts ((LsRowTable) i);
    for (guint k = 0; k < LS_ROW_MAX_COLUMNS; k++)
      inserter->bound[k].i = LS_CELL_NULL; /* an unbound parameter is NULL */
    if (sqlite3_prepare_v3 (writer->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &inserter->statement,
                            NULL) != SQLITE_OK)
      return ls_database_fail (writer->db, error);
  }
  return TRUE;
}

LsTraceWriter *ls_trace_writer_new (sqlite3 *db, volatile gint *stop, GError **error) {
  LsTraceWriter *writer = g_new0 (LsTraceWriter, 1);
  writer->db = db;
  writer->stop = stop;
  writer->full = g_async_queue_new_full (g_free);
  writer->empty = g_async_queue_new_full (g_free);
  if (!prepare_all (writer, error) || !ls_database_run (db, "BEGIN", error)) {
    ls_trace_writer_free (writer);
    return NULL;
  }
  for (guint i = 0; i < N_CHUNKS; i++)
    g_async_queue_push (writer->empty, g_new0 (Chunk, 1));
  writer->committed_us = g_get_monotonic_time ();
  writer->current = g_async_queue_pop (writer->empty);
  writer->thread = g_thread_new ("trace-writer", writer_thread, writer);
  return writer;
}

static void hand_over (LsTraceWriter *writer, guint flags) {
  writer->current->flags = flags;
  g_async_queue_push (writer->full, writer->current);
  writer->current = NULL;
}

void ls_trace_writer_flush (LsTraceWriter *writer) {
  if (writer->current->n_cells == 0)
    return;
  hand_over (writer, 0);
  writer->current = g_async_queue_pop (writer->empty);
}

LsCell *ls_trace_writer_row (LsTraceWriter *writer, LsRowTable table) {
  guint n_cells = 1 + writer->inserters[table].n_columns;
  if (writer->current->n_cells + n_cells > CHUNK_CELLS)
    ls_trace_writer_flush (writer);
  LsCell *row = &writer->current->cells[writer->current->n_cells];
  writer->current->n_cells += n_cells;
  row[0].i = table;
  return row + 1;
}

gboolean ls_trace_writer_check (LsTraceWriter *writer, GError **error) {
  if (!g_atomic_int_get (&writer->failed))
    return TRUE;
  g_propagate_error (error, g_error_copy (writer->failure));
  return FALSE;
}

static void end_thread (LsTraceWriter *writer) {
  if (writer->thread == NULL)
    return;
  hand_over (writer, CHUNK_LAST);
  g_thread_join (writer->thread);
  writer->thread = NULL;
}

gboolean ls_trace_writer_finish (LsTraceWriter *writer, GError **error) {
  end_thread (writer);
  return ls_trace_writer_check (writer, error);
}

void ls_trace_writer_free (LsTraceWriter *writer) {
  if (writer == NULL)
    return;
  if (writer->thread != NULL)
    g_atomic_int_set (&writer->failed, 1); /* aborted: what is queued is dropped */
  end_thread (writer);
  for (guint i = 0; i < LS_N_ROWS; i++)
    sqlite3_finalize (writer->inserters[i].statement);
  g_free (writer->current);
  g_async_queue_unref (writer->full);
  g_async_queue_unref (writer->empty);
  g_clear_error (&writer->failure);
  g_free (writer);
}
