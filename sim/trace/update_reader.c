/* Reading an update log back from a trace, see update_reader.h. */
#include "trace/update_reader.h"

#include <sqlite3.h>

#include "base/error.h"
#include "base/time.h"
#include "trace/query_run.h"
#include "train/update/sync_log.h"
#include "train/update/update_check.h"

/* Records between two looks at progress and stop. */
#define LOOK_EVERY 1024
/* source: choice; more are no log of ours */
#define MAX_WORKERS 1000000
#define MAX_SHARDS 100000
#define MOST_NS (G_MAXINT64 / LS_PS_PER_NS)

struct LsUpdateReader {
  sqlite3 *db;
  char *path, *policy;
  LsUpdateLogInfo info;
  GPtrArray *peer_sets; /* GArray of guint32, or NULL */
};

static gboolean fail (LsUpdateReader *r, GError **error) {
  g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: %s", r->path, sqlite3_errmsg (r->db));
  return FALSE;
}

/* The first number of the first row, @otherwise without one. */
static gint64 number (LsUpdateReader *r, const char *sql, gint64 otherwise) {
  sqlite3_stmt *statement = NULL;
  gint64 value = otherwise;

  if (sqlite3_prepare_v2 (r->db, sql, -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step (statement) == SQLITE_ROW &&
      sqlite3_column_type (statement, 0) == SQLITE_INTEGER)
    value = sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  return value;
}

char *ls_update_reader_text (LsUpdateReader *r, const char *key) {
  sqlite3_stmt *statement = NULL;
  char *text = NULL;

  if (sqlite3_prepare_v2 (r->db, "SELECT value FROM run WHERE key = ?", -1, &statement, NULL) ==
          SQLITE_OK &&
      sqlite3_bind_text (statement, 1, key, -1, SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_step (statement) == SQLITE_ROW)
    text = g_strdup ((const char *) sqlite3_column_text (statement, 0));
  sqlite3_finalize (statement);
  return text;
}

static char *read_policy (LsUpdateReader *r) {
  sqlite3_stmt *statement = NULL;
  char *text = NULL;

  if (sqlite3_prepare_v2 (r->db, "SELECT policy FROM job ORDER BY id", -1, &statement, NULL) ==
          SQLITE_OK &&
      sqlite3_step (statement) == SQLITE_ROW)
    text = g_strdup ((const char *) sqlite3_column_text (statement, 0));
  sqlite3_finalize (statement);
  return text != NULL ? text : g_strdup ("unknown");
}

/* What the rows come to; FALSE when there is nothing to replay. */
static gboolean read_info (LsUpdateReader *r, GError **error) {
  LsUpdateLogInfo *info = &r->info;
  gint64 workers, shards;

  info->n_records = number (r, "SELECT count(*) FROM update_log WHERE replica = 0", 0);
  info->from_steps = info->n_records == 0;
  if (info->from_steps) {
    workers = number (r, "SELECT max(dp) + 1 FROM rank WHERE job_id = 0", 0);
    shards = 1;
    info->n_records = number (r, "SELECT count(*) FROM step WHERE job_id = 0", 0) * workers * 3;
    gint64 kept = number (r, "SELECT sum(steps) FROM kept_steps WHERE replica = 0", 0);
    info->from_campaign = kept > 0;
    if (info->from_campaign) {
      workers = number (r, "SELECT max(workers) FROM kept_steps WHERE replica = 0", 0);
      info->n_records = kept * workers * 3;
    }
  } else {
    workers = number (r,
                      "SELECT max(w) + 1 FROM (SELECT max(worker) w FROM update_log"
                      " UNION ALL SELECT max(peer) FROM update_log"
                      " UNION ALL SELECT max(worker) FROM peer_set)",
                      0);
    shards = number (r, "SELECT max(shard) + 1 FROM update_log", 1);
  }
  if (info->n_records <= 0) {
    g_set_error (
        error, LS_ERROR, LS_ERROR_USAGE,
        "%s: holds neither an update log nor steps; record a run with trace.level steps or "
        "ops",
        r->path);
    return FALSE;
  }
  if (workers < 1 || workers > MAX_WORKERS || shards < 1 || shards > MAX_SHARDS) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s: an update log of %" G_GINT64_FORMAT " workers and %" G_GINT64_FORMAT
                 " shards",
                 r->path, workers, shards);
    return FALSE;
  }
  info->workers = (guint) workers;
  info->shards = (guint) shards;
  info->seed = number (r, "SELECT CAST(value AS INTEGER) FROM run WHERE key = 'seed'", 1);
  info->policy = r->policy = read_policy (r);
  return TRUE;
}

LsUpdateReader *ls_update_reader_new (const char *path, GError **error) {
  g_autoptr (LsTraceDatabase) checked = ls_trace_database_open (path, error);
  g_autoptr (LsUpdateReader) r = NULL;

  if (checked == NULL)
    return NULL;
  r = g_new0 (LsUpdateReader, 1);
  r->path = g_strdup (path);
  r->peer_sets = g_ptr_array_new ();
  if (sqlite3_open_v2 (path, &r->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
    fail (r, error);
    return NULL;
  }
  return read_info (r, error) ? g_steal_pointer (&r) : NULL;
}

void ls_update_reader_free (LsUpdateReader *r) {
  if (r == NULL)
    return;
  for (guint i = 0; i < r->peer_sets->len; i++)
    if (r->peer_sets->pdata[i] != NULL)
      g_array_unref (r->peer_sets->pdata[i]);
  g_ptr_array_unref (r->peer_sets);
  sqlite3_close (r->db);
  g_free (r->path);
  g_free (r->policy);
  g_free (r);
}

const LsUpdateLogInfo *ls_update_reader_info (const LsUpdateReader *r) {
  return &r->info;
}

/* --- records -------------------------------------------------------------------------------- */

static gboolean read_peer_sets (LsUpdateReader *r, GError **error) {
  sqlite3_stmt *statement = NULL;
  int rc;

  if (sqlite3_prepare_v2 (r->db, "SELECT id, worker FROM peer_set ORDER BY id, position", -1,
                          &statement, NULL) != SQLITE_OK)
    return fail (r, error);
  while ((rc = sqlite3_step (statement)) == SQLITE_ROW) {
    gint64 id = sqlite3_column_int64 (statement, 0), worker = sqlite3_column_int64 (statement, 1);
    guint32 member = (guint32) worker;

    if (id < 0 || id > MAX_WORKERS || worker < 0 || worker >= (gint64) r->info.workers)
      continue; /* a record that names it will say so */
    if (r->peer_sets->len <= id)
      g_ptr_array_set_size (r->peer_sets, (gint) id + 1);
    if (r->peer_sets->pdata[id] == NULL)
      r->peer_sets->pdata[id] = g_array_new (FALSE, FALSE, sizeof (guint32));
    g_array_append_val (r->peer_sets->pdata[id], member);
  }
  sqlite3_finalize (statement);
  return rc == SQLITE_DONE || fail (r, error);
}

static gint64 column (sqlite3_stmt *statement, int i) {
  return sqlite3_column_type (statement, i) == SQLITE_NULL ? -1
                                                           : sqlite3_column_int64 (statement, i);
}

/* A row that no run of ours writes; the learner would take it for a bug. */
static gboolean strange (LsUpdateReader *r, sqlite3_stmt *statement, const char *what,
                         GError **error) {
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: row %" G_GINT64_FORMAT " of update_log %s",
               r->path, (gint64) sqlite3_column_int64 (statement, 0), what);
  return FALSE;
}

static gboolean read_record (LsUpdateReader *r, sqlite3_stmt *s, LsUpdateRecord *out,
                             GError **error) {
  const char *operation = (const char *) sqlite3_column_text (s, 1);
  const gint64 worker = column (s, 2), shard = column (s, 3), set = column (s, 5);
  const gint64 peer = column (s, 8), workers = r->info.workers;
  const gint64 t_ns = sqlite3_column_int64 (s, 7);
  const GArray *members = NULL;

  *out = (LsUpdateRecord){.worker = (gint32) worker,
                          .shard = (gint32) shard,
                          .peer = (gint32) peer,
                          .version = column (s, 4),
                          .peer_set = (gint32) set,
                          .gradient = column (s, 6),
                          .t_ps = CLAMP (t_ns, 0, MOST_NS) * LS_PS_PER_NS,
                          .closes = sqlite3_column_int64 (s, 9) != 0,
                          .samples = column (s, 10),
                          .clock = column (s, 11)};
  if (operation == NULL || !ls_update_operation_parse (operation, &out->operation))
    return strange (r, s, "has an unknown operation", error);
  if (t_ns < 0 || t_ns > MOST_NS)
    return strange (r, s, "has a time that cannot be", error);
  if (worker < -1 || peer < -1 || shard < -1 || worker >= workers || peer >= workers ||
      shard >= (gint64) r->info.shards)
    return strange (r, s, "names a worker or shard that is not there", error);
  if (set >= 0) {
    members = set < (gint64) r->peer_sets->len ? r->peer_sets->pdata[set] : NULL;
    if (members == NULL)
      return strange (r, s, "names a set of workers that is not there", error);
    out->members = (const guint32 *) (gconstpointer) members->data;
    out->n_members = members->len;
  }
  return TRUE;
}

typedef struct {
  const LsUpdateSink *sink;
  gpointer self;
  void (*progress) (gpointer self, double share);
  gpointer progress_self;
  const volatile gint *stop;
} Run;

static gboolean look (const LsUpdateReader *r, const Run *run, gint64 done, GError **error) {
  if (done % LOOK_EVERY != 0)
    return TRUE;
  if (run->progress != NULL)
    run->progress (run->progress_self, (double) done / (double) r->info.n_records);
  if (run->stop == NULL || *run->stop == 0)
    return TRUE;
  g_set_error_literal (error, LS_ERROR, LS_ERROR_INTERRUPTED, "stopped");
  return FALSE;
}

static gboolean replay_log (LsUpdateReader *r, const Run *run, GError **error) {
  static const char sql[] =
      "SELECT u.id, operation, u.worker, shard, version, peer_set, gradient_id, t_ns, peer, "
      "closes, "
      "CASE WHEN operation IN ('gradient', 'local_step') THEN g.samples END, g.clock "
      "FROM update_log u LEFT JOIN gradient g ON g.id = u.gradient_id "
      "WHERE u.replica = 0 ORDER BY u.id";
  g_autoptr (LsUpdateCheck) check = ls_update_check_new (r->info.workers, r->info.shards);
  sqlite3_stmt *statement = NULL;
  gboolean fine = TRUE;
  int rc = SQLITE_DONE;
  gint64 done = 0;

  if (sqlite3_prepare_v2 (r->db, sql, -1, &statement, NULL) != SQLITE_OK)
    return fail (r, error);
  while (fine && (rc = sqlite3_step (statement)) == SQLITE_ROW) {
    LsUpdateRecord record;

    fine = read_record (r, statement, &record, error) && look (r, run, ++done, error);
    const char *wrong = fine ? ls_update_check_next (check, &record) : NULL;
    if (wrong != NULL)
      fine = strange (r, statement, wrong, error);
    if (fine)
      run->sink->update (run->self, &record);
  }
  sqlite3_finalize (statement);
  return fine && (rc == SQLITE_DONE || fail (r, error));
}

static gboolean replay_steps (LsUpdateReader *r, const Run *run, GError **error) {
  static const char sql[] = "SELECT start_ns, end_ns FROM step WHERE job_id = 0 ORDER BY step";
  gint64 last_ns = 0;
  LsSyncLog log = {.workers = r->info.workers, .sink = run->sink, .self = run->self};
  sqlite3_stmt *statement = NULL;
  gboolean fine = TRUE;
  int rc = SQLITE_DONE;

  if (sqlite3_prepare_v2 (r->db, sql, -1, &statement, NULL) != SQLITE_OK)
    return fail (r, error);
  while (fine && (rc = sqlite3_step (statement)) == SQLITE_ROW) {
    gint64 start_ns = sqlite3_column_int64 (statement, 0),
           end_ns = sqlite3_column_int64 (statement, 1);

    if (start_ns < last_ns || end_ns < start_ns || end_ns > MOST_NS) {
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: step has a row whose times cannot be",
                   r->path);
      fine = FALSE;
      break;
    }
    last_ns = end_ns;
    ls_sync_log_step (&log, start_ns * LS_PS_PER_NS, end_ns * LS_PS_PER_NS);
    fine = look (r, run, log.version * LOOK_EVERY, error);
  }
  sqlite3_finalize (statement);
  return fine && (rc == SQLITE_DONE || fail (r, error));
}

/* The kept steps of a campaign, in their own time; what failures took is in none of them. */
static gboolean replay_campaign (LsUpdateReader *r, const Run *run, GError **error) {
  static const char sql[] = "SELECT start_us, end_us, steps, workers, samples FROM kept_steps "
                            "WHERE replica = 0 ORDER BY start_us";
  LsSyncLog log = {.sink = run->sink, .self = run->self};
  sqlite3_stmt *statement = NULL;
  gboolean fine = TRUE;
  int rc = SQLITE_DONE;

  if (sqlite3_prepare_v2 (r->db, sql, -1, &statement, NULL) != SQLITE_OK)
    return fail (r, error);
  while (fine && (rc = sqlite3_step (statement)) == SQLITE_ROW) {
    gint64 start_us = sqlite3_column_int64 (statement, 0);
    gint64 span_us = sqlite3_column_int64 (statement, 1) - start_us;
    gint64 steps = sqlite3_column_int64 (statement, 2),
           workers = sqlite3_column_int64 (statement, 3);

    if (start_us < 0 || span_us < 0 || start_us + span_us > G_MAXINT64 / LS_PS_PER_US ||
        steps < 0 || workers < 1 || workers > (gint64) r->info.workers) {
      g_set_error (
          error, LS_ERROR, LS_ERROR_CONFIG,
          "%s: kept_steps has a row that cannot be (or after 106 days, where learning ends)",
          r->path);
      fine = FALSE;
    }
    log.workers = (guint) workers;
    log.samples = MAX (1, sqlite3_column_int64 (statement, 4) / MAX (workers, 1));
    for (gint64 step = 0; fine && step < steps; step++) {
      gint64 from_us = start_us + (gint64) ((double) span_us * (double) step / (double) steps);
      gint64 to_us = start_us + (gint64) ((double) span_us * (double) (step + 1) / (double) steps);
      ls_sync_log_step (&log, from_us * LS_PS_PER_US, to_us * LS_PS_PER_US);
      fine = look (r, run, log.version * LOOK_EVERY, error);
    }
  }
  sqlite3_finalize (statement);
  return fine && (rc == SQLITE_DONE || fail (r, error));
}

gboolean ls_update_reader_run (LsUpdateReader *r, const LsUpdateSink *sink, gpointer self,
                               void (*progress) (gpointer progress_self, double share),
                               gpointer progress_self, const volatile gint *stop, GError **error) {
  const Run run = {sink, self, progress, progress_self, stop};

  if (r->info.from_campaign)
    return replay_campaign (r, &run, error);
  if (r->info.from_steps)
    return replay_steps (r, &run, error);
  return read_peer_sets (r, error) && replay_log (r, &run, error);
}
