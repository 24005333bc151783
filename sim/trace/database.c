/* Creating, failing and closing the file of a trace. See database.h. */
#include "trace/database.h"

#include "base/error.h"
#include "trace/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Dirty pages kept in memory before they are written inside a transaction, which would lock readers
 * out: 4096 pages of 64 KiB are 256 MB, more than the rows between two commits need. */
#define SPILL_PAGES 4096

/* What is written beside a file that it will replace is called so, and how many such names are tried. */
#define BESIDE ".new"
#define BESIDE_TRIES 1000

static void unlink_side_files (const char *path) {
  static const char *const suffixes[] = {"-journal", "-wal", "-shm"};
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++) {
    g_autofree char *name = g_strconcat (path, suffixes[i], NULL);
    g_unlink (name);
  }
}

static void discard_file (const char *path) {
  g_unlink (path);
  unlink_side_files (path);
}

static gboolean fail_errno (const char *path, const char *what, GError **error) {
  int saved = errno;
  g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: %s: %s", path, what, g_strerror (saved));
  return FALSE;
}

/* Whether what lies at `path`, which is there, is ours to replace. */
static gboolean check_old (const char *path, const struct stat *info, GError **error) {
  if (!S_ISREG (info->st_mode)) {
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: not a regular file, not replaced", path);
    return FALSE;
  }
  char head[16] = "";
  int fd = g_open (path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0)
    return fail_errno (path, "cannot replace", error);
  gssize n = read (fd, head, sizeof head);
  close (fd);
  if (n != 0 && (n != sizeof head || memcmp (head, "SQLite format 3", 16) != 0)) {
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: not a database, not replaced", path);
    return FALSE;
  }
  return TRUE;
}

/* Makes an empty file that did not exist before; FALSE with errno. */
static gboolean make_file (const char *path) {
  int fd = g_open (path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0)
    return FALSE;
  close (fd);
  unlink_side_files (path); /* left by a run that was killed and whose database was removed */
  return TRUE;
}

/* An empty file beside `path` (transfer full). */
static char *claim_beside (const char *path, GError **error) {
  for (guint i = 1; i <= BESIDE_TRIES; i++) {
    g_autofree char *name =
        i == 1 ? g_strconcat (path, BESIDE, NULL) : g_strdup_printf ("%s" BESIDE "-%u", path, i);
    if (make_file (name))
      return g_steal_pointer (&name);
    if (errno != EEXIST) {
      fail_errno (name, "cannot create", error);
      return NULL;
    }
  }
  g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s" BESIDE " and many like it are there already",
               path);
  return NULL;
}

/* The empty file to write into (transfer full): `path`, or one beside it where it replaces another. */
static char *claim_path (const char *path, gboolean force, GError **error) {
  struct stat info;
  if (make_file (path))
    return g_strdup (path);
  if (errno != EEXIST) {
    fail_errno (path, "cannot create", error);
    return NULL;
  }
  if (!force) {
    g_set_error (error, LS_ERROR, LS_ERROR_IO,
                 "%s: exists already, not overwritten (--force replaces it)", path);
    return NULL;
  }
  if (lstat (path, &info) != 0) {
    fail_errno (path, "cannot replace", error);
    return NULL;
  }
  return check_old (path, &info, error) ? claim_beside (path, error) : NULL;
}

gboolean ls_database_fail (sqlite3 *db, GError **error) {
  g_set_error (error, LS_ERROR, LS_ERROR_IO, "cannot write %s: %s",
               db != NULL ? sqlite3_db_filename (db, "main") : "the database",
               db != NULL ? sqlite3_errmsg (db) : "out of memory");
  return FALSE;
}

gboolean ls_database_run (sqlite3 *db, const char *sql, GError **error) {
  if (sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return ls_database_fail (db, error);
  return TRUE;
}

static gboolean set_up (sqlite3 *db, guint page_bytes, GError **error) {
  sqlite3_busy_timeout (db, 60000);
  /* cache_size: what is committed need not stay in memory; spilling is SPILL_PAGES' affair. */
  g_autofree char *pragmas =
      g_strdup_printf ("PRAGMA page_size=%u;PRAGMA journal_mode=TRUNCATE;PRAGMA synchronous=OFF;"
                       "PRAGMA secure_delete=OFF;PRAGMA cache_size=-8192;PRAGMA cache_spill=%d;"
                       "PRAGMA application_id=%d;PRAGMA user_version=%d;",
                       page_bytes, SPILL_PAGES, LS_TRACE_APPLICATION_ID, LS_TRACE_USER_VERSION);
  g_autofree char *tables = ls_schema_tables ();
  return ls_database_run (db, pragmas, error) && ls_database_run (db, "BEGIN", error) &&
         ls_database_run (db, tables, error) && ls_database_run (db, ls_schema_views (), error) &&
         ls_database_run (db, "COMMIT", error);
}

sqlite3 *ls_database_create (const char *path, gboolean force, const char *vfs, guint page_bytes,
                             GError **error) {
  /* Absolute, so that no name (":memory:", "file:...") means something special to SQLite. */
  g_autofree char *absolute = g_canonicalize_filename (path, NULL);
  g_autofree char *file = claim_path (absolute, force, error);
  if (file == NULL)
    return NULL;
  sqlite3 *db = NULL;
  int rc = sqlite3_open_v2 (file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs);
  if (rc != SQLITE_OK)
    ls_database_fail (db, error);
  else if (set_up (db, page_bytes, error))
    return db;
  sqlite3_close_v2 (db);
  discard_file (file);
  return NULL;
}

gboolean ls_database_close (sqlite3 *db, const char *path, gboolean discard, GError **error) {
  g_autofree char *absolute = g_canonicalize_filename (path, NULL);
  if (db == NULL)
    return TRUE;
  g_autofree char *file = g_strdup (sqlite3_db_filename (db, "main"));
  /* _v2: statements of an aborted writer may outlive the connection's handle. */
  sqlite3_close_v2 (db);
  if (discard)
    discard_file (file);
  if (discard || g_str_equal (file, absolute))
    return TRUE;
  unlink_side_files (absolute); /* a journal of the old one would be rolled back into the new one */
  if (g_rename (file, absolute) == 0)
    return TRUE;
  g_autofree char *what = g_strdup_printf ("the finished trace stays at %s", file);
  return fail_errno (absolute, what, error);
}
