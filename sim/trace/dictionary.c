/* The small tables of a trace. See dictionary.h. */
#include "trace/dictionary.h"

#include "base/time.h"
#include "trace/database.h"

#include <string.h>

/* Where rows go; `ok` turns FALSE, and `error` is set, at the first failure. */
typedef struct {
  sqlite3 *db;
  GError **error;
  gboolean ok;
} Sink;

static void fail (Sink *sink) {
  if (sink->ok)
    ls_database_fail (sink->db, sink->error);
  sink->ok = FALSE;
}

/* Inserts one row; `types` has a letter per value: s text or NULL, i a gint64,
 * n the same with LS_TRACE_ABSENT for NULL, r a double. Does nothing after a failure. */
static void insert (Sink *sink, sqlite3_stmt *statement, const char *types, ...) {
  if (!sink->ok)
    return;
  va_list values;
  va_start (values, types);
  int rc = SQLITE_OK;
  for (int i = 1; rc == SQLITE_OK && types[i - 1] != '\0'; i++) {
    gint64 integer;
    switch (types[i - 1]) {
    case 's':
      rc = sqlite3_bind_text (statement, i, va_arg (values, const char *), -1, SQLITE_STATIC);
      break;
    case 'r':
      rc = sqlite3_bind_double (statement, i, va_arg (values, double));
      break;
    default:
      integer = va_arg (values, gint64);
      rc = types[i - 1] == 'n' && integer == LS_TRACE_ABSENT
               ? sqlite3_bind_null (statement, i)
               : sqlite3_bind_int64 (statement, i, integer);
    }
  }
  va_end (values);
  if (rc == SQLITE_OK)
    sqlite3_step (statement);
  if (sqlite3_reset (statement) != SQLITE_OK || rc != SQLITE_OK)
    fail (sink);
}

static sqlite3_stmt *prepare (Sink *sink, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sink->ok && sqlite3_prepare_v2 (sink->db, sql, -1, &statement, NULL) != SQLITE_OK)
    fail (sink);
  return statement;
}

#define VOCABULARY_NAME(id, name) name,
#define VOCABULARY_KIND(id, name, class) {name, class},
#define VOCABULARY_MEMORY(id, name) "memory_" name,

static void write_vocabulary (Sink *sink) {
  static const char *const axes[] = {LS_AXES (VOCABULARY_NAME)};
  static const char *const phases[] = {LS_PHASES (VOCABULARY_NAME)};
  static const char *const kinds[][2] = {LS_KINDS (VOCABULARY_KIND)};
  sqlite3_stmt *axis = prepare (sink, "INSERT INTO axis VALUES(?,?)");
  for (gsize i = 0; i < G_N_ELEMENTS (axes); i++)
    if (axes[i] != NULL)
      insert (sink, axis, "is", (gint64) i, axes[i]);
  sqlite3_stmt *phase = prepare (sink, "INSERT INTO phase VALUES(?,?)");
  for (gsize i = 0; i < G_N_ELEMENTS (phases); i++)
    if (phases[i] != NULL)
      insert (sink, phase, "is", (gint64) i, phases[i]);
  sqlite3_stmt *kind = prepare (sink, "INSERT INTO kind VALUES(?,?,?)");
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    insert (sink, kind, "iss", (gint64) i, kinds[i][0], kinds[i][1]);
  sqlite3_finalize (axis);
  sqlite3_finalize (phase);
  sqlite3_finalize (kind);
}

/* Number of a word of the recorder's own: an equal string of the programs, or a new one at *next. */
static gint64 own_string (Sink *sink, sqlite3_stmt *statement, const LsTraceMeta *meta,
                          const char *word, gint64 *next) {
  for (guint i = 0; i < meta->n_strings; i++)
    if (strcmp (meta->strings[i], word) == 0)
      return i;
  insert (sink, statement, "is", *next, word);
  return (*next)++;
}

/* The stream "messages", which is behind those of the programs unless they have it. */
static void write_streams (Sink *sink, const LsTraceMeta *meta, gboolean messages,
                           LsTraceNames *names) {
  sqlite3_stmt *stream = prepare (sink, "INSERT INTO stream VALUES(?,?)");
  names->messages = meta->n_streams;
  for (guint i = 0; i < meta->n_streams; i++) {
    insert (sink, stream, "is", (gint64) i, meta->streams[i]);
    if (strcmp (meta->streams[i], "messages") == 0)
      names->messages = i;
  }
  if (messages && names->messages == meta->n_streams)
    insert (sink, stream, "is", names->messages, "messages");
  sqlite3_finalize (stream);
}

static void write_strings (Sink *sink, const LsTraceMeta *meta, gboolean messages,
                           LsTraceNames *names) {
  static const char *const memory[] = {LS_MEMORY (VOCABULARY_MEMORY)};
  sqlite3_stmt *string = prepare (sink, "INSERT INTO string VALUES(?,?)");
  for (guint i = 0; i < meta->n_strings; i++)
    insert (sink, string, "is", (gint64) i, meta->strings[i]);
  gint64 next = meta->n_strings;
  for (guint i = 0; i < LS_N_MEMORY; i++)
    names->memory[i] = own_string (sink, string, meta, memory[i], &next);
  names->utilisation = own_string (sink, string, meta, "utilisation", &next);
  names->carried = own_string (sink, string, meta, "carried", &next);
  if (messages)
    names->message = own_string (sink, string, meta, "message", &next);
  sqlite3_finalize (string);
}

static void write_places (Sink *sink, const LsTraceMeta *meta) {
  sqlite3_stmt *job = prepare (sink, "INSERT INTO job VALUES(?,?,?,?,?,NULL)");
  for (guint i = 0; i < meta->n_jobs; i++) {
    const LsTraceJob *j = &meta->jobs[i];
    insert (sink, job, "issii", (gint64) i, j->name, j->policy, (gint64) j->gpus,
            ls_time_ns_from_ps (j->start_ps));
  }
  sqlite3_stmt *node = prepare (sink, "INSERT INTO node VALUES(?,?,?,?,?)");
  for (guint i = 0; i < meta->n_nodes; i++) {
    const LsTraceNode *n = &meta->nodes[i];
    insert (sink, node, "issss", (gint64) i, n->name, n->group, n->gpu, n->rack);
  }
  sqlite3_stmt *resource = prepare (sink, "INSERT INTO resource VALUES(?,?,?,?,?,?,?,?,?,?)");
  for (guint i = 0; i < meta->n_resources; i++) {
    const LsTraceResource *r = &meta->resources[i];
    insert (sink, resource, "issnnsssrs", (gint64) i, r->kind, r->name, (gint64) r->node,
            (gint64) r->rank, r->source, r->target, r->tier, r->capacity, r->unit);
  }
  sqlite3_finalize (job);
  sqlite3_finalize (node);
  sqlite3_finalize (resource);
}

static void write_ranks (Sink *sink, const LsTraceMeta *meta, const LsTraceSelection *selection,
                         gboolean messages, const LsTraceNames *names) {
  sqlite3_stmt *rank_class = prepare (sink, "INSERT INTO rank_class VALUES(?,?,?)");
  for (guint i = 0; i < selection->n_classes; i++)
    insert (sink, rank_class, "iii", (gint64) i, (gint64) selection->class_rank[i],
            (gint64) selection->class_size[i]);
  sqlite3_stmt *rank = prepare (sink, "INSERT INTO rank VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  sqlite3_stmt *stream = prepare (sink, "INSERT OR IGNORE INTO rank_stream VALUES(?,?,?)");
  for (guint i = 0; i < meta->n_ranks; i++) {
    const LsTraceRank *r = &meta->ranks[i];
    insert (sink, rank, "iiisnnsinnnnn", (gint64) i, (gint64) r->job, (gint64) r->job_rank, r->role,
            (gint64) r->node, (gint64) r->device, r->mig, (gint64) selection->class_of[i],
            (gint64) r->dp, (gint64) r->tp, (gint64) r->pp, (gint64) r->cp, (gint64) r->ep);
    for (guint s = 0; s < r->n_streams && ls_trace_selection_has (selection, i); s++)
      insert (sink, stream, "iii", (gint64) i, (gint64) r->streams[s], (gint64) s);
    if (messages && r->n_streams > 0 && ls_trace_selection_has (selection, i))
      insert (sink, stream, "iii", (gint64) i, names->messages, (gint64) r->n_streams);
  }
  sqlite3_finalize (rank_class);
  sqlite3_finalize (rank);
  sqlite3_finalize (stream);
}

gboolean ls_dictionary_write (sqlite3 *db, const LsTraceMeta *meta,
                              const LsTraceSelection *selection, gboolean messages,
                              LsTraceNames *names, GError **error) {
  if (!ls_database_run (db, "BEGIN", error))
    return FALSE;
  Sink sink = {db, error, TRUE};
  write_vocabulary (&sink);
  write_strings (&sink, meta, messages, names);
  write_streams (&sink, meta, messages, names);
  write_places (&sink, meta);
  write_ranks (&sink, meta, selection, messages, names);
  return sink.ok && ls_database_run (db, "COMMIT", error);
}
