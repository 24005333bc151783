/* The file of a trace: never over another one, never a partial one, readable while it grows. */
#include "trace/check_sql.h"
#include "trace/failing_vfs.h"
#include "trace/query_run.h"
#include "trace/synthetic.h"

#include "base/error.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder, *path;
static const LsRecorderOptions ops = {.level = LS_TRACE_OPS};
static const Synthetic small = SYNTHETIC_SMALL;

static void set_up (void) {
  folder = synthetic_folder_new ();
  path = g_build_filename (folder, "trace.db", NULL);
}

static void tear_down (void) {
  g_free (path);
  synthetic_folder_remove (folder);
}

/* Files in the folder beside those named *.keep. */
static guint n_files (void) {
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  guint n = 0;
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    n += !g_str_has_suffix (name, ".keep");
  return n;
}

static void expect_failure (const char *where, const LsRecorderOptions *options,
                            const char *message) {
  GError *error = NULL;
  ck_assert (!synthetic_record (&small, where, options, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_IO));
  if (strstr (error->message, message) == NULL)
    ck_abort_msg ("\"%s\" does not say \"%s\"", error->message, message);
  g_error_free (error);
}

START_TEST (a_closed_trace_is_one_file) {
  ck_assert (synthetic_record (&small, path, &ops, NULL));
  ck_assert_uint_eq (n_files (), 1);
}
END_TEST

START_TEST (an_existing_file_is_not_overwritten) {
  ck_assert (g_file_set_contents (path, "mine", -1, NULL));
  expect_failure (path, &ops, "exists already");
  g_autofree char *text = NULL;
  ck_assert (g_file_get_contents (path, &text, NULL, NULL));
  ck_assert_str_eq (text, "mine");
  /* nor, by force, a file that is no database */
  LsRecorderOptions force = ops;
  force.force = TRUE;
  expect_failure (path, &force, "not a database");
  g_unlink (path);
  ck_assert (synthetic_record (&small, path, &ops, NULL));
  expect_failure (path, &ops, "exists already");
  ck_assert (synthetic_record (&small, path, &force, NULL));
  sqlite3 *db = sql_open (folder, "trace.db");
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM step"), 3);
  sqlite3_close (db);
}
END_TEST

/* An old trace, whether it was closed or killed, is there until its successor is finished. */
START_TEST (a_replaced_file_goes_when_the_new_one_is_finished) {
  LsRecorderOptions force = ops;
  force.force = TRUE;
  ck_assert (synthetic_record (&small, path, &ops, NULL));
  g_autofree char *journal = g_strconcat (path, "-journal", NULL);
  g_autofree char *beside = g_strconcat (path, ".new", NULL);
  g_autofree char *before = NULL, *after = NULL;
  gsize n_before, n_after;
  ck_assert (g_file_get_contents (path, &before, &n_before, NULL));
  LsRecorderOptions failing = force;
  failing.vfs = failing_vfs_register ();
  failing_vfs_arm (3, SQLITE_FULL);
  expect_failure (path, &failing, "full");
  failing_vfs_arm (0, SQLITE_FULL);
  ck_assert_uint_eq (n_files (), 1);
  ck_assert (g_file_get_contents (path, &after, &n_after, NULL));
  ck_assert_mem_eq (before, after, MIN (n_before, n_after));
  ck_assert_uint_eq (n_before, n_after);
  /* a name in use beside it is left alone; a journal of the old file is not played into the new */
  ck_assert (g_file_set_contents (beside, "mine", -1, NULL));
  ck_assert (g_file_set_contents (journal, "old", -1, NULL));
  ck_assert (synthetic_record (&small, path, &force, NULL));
  ck_assert_uint_eq (n_files (), 2);
  ck_assert (!g_file_test (journal, G_FILE_TEST_EXISTS));
  sqlite3 *db = sql_open (folder, "trace.db");
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM step"), 3);
  sqlite3_close (db);
}
END_TEST

START_TEST (wrong_places_are_clean_errors) {
  LsRecorderOptions force = ops;
  force.force = TRUE;
  expect_failure (folder, &ops, "exists already");
  expect_failure (folder, &force, "not a regular file");
  g_autofree char *nowhere = g_build_filename (folder, "no", "such", "folder.db", NULL);
  expect_failure (nowhere, &ops, "No such file or directory");
  g_autofree char *below_file = g_build_filename ("/dev/null", "x.db", NULL);
  expect_failure (below_file, &ops, "Not a directory");
  expect_failure ("/dev/full", &force, "not a regular file");
  ck_assert_uint_eq (n_files (), 0);
}
END_TEST

START_TEST (a_read_only_folder_is_a_clean_error) {
  if (geteuid () == 0)
    return; /* root may write anywhere */
  g_chmod (folder, 0500);
  expect_failure (path, &ops, "Permission denied");
  g_chmod (folder, 0700);
}
END_TEST

START_TEST (names_mean_nothing_special) {
  g_autofree char *old = g_get_current_dir ();
  ck_assert_int_eq (g_chdir (folder), 0);
  ck_assert (synthetic_record (&small, ":memory:", &ops, NULL));
  ck_assert (synthetic_record (&small, "file:x.db?mode=memory", &ops, NULL));
  ck_assert_int_eq (g_chdir (old), 0);
  ck_assert_uint_eq (n_files (), 2);
}
END_TEST

/* Fails write number n = 1, 2, 3, ... of a whole recording until one succeeds; no file may stay. */
START_TEST (a_full_disk_leaves_nothing) {
  LsRecorderOptions options = ops;
  options.vfs = failing_vfs_register ();
  int code = _i == 0 ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  gint n = 0;
  for (gboolean tripped = TRUE; tripped;) {
    failing_vfs_arm (++n, code);
    GError *error = NULL;
    gboolean ok = synthetic_record (&small, path, &options, &error);
    tripped = failing_vfs_tripped ();
    ck_assert_msg (ok == !tripped, "write %d", n);
    ck_assert (ok || g_error_matches (error, LS_ERROR, LS_ERROR_IO));
    ck_assert_uint_eq (n_files (), ok ? 1 : 0);
    g_clear_error (&error);
  }
  ck_assert_int_gt (n, 20); /* there were writes to fail */
}
END_TEST

START_TEST (a_failing_writer_stops_the_run) {
  LsTraceMeta *meta = synthetic_meta_new (&small);
  Synthetic run = small;
  volatile gint stop = 0;
  LsRecorderOptions options = ops;
  options.vfs = failing_vfs_register ();
  options.stop = &stop;
  failing_vfs_arm (0, SQLITE_FULL);
  LsRecorder *recorder = ls_recorder_new (path, meta, &options, NULL);
  ck_assert_ptr_nonnull (recorder);
  failing_vfs_arm (1, SQLITE_FULL);
  run.n_steps = G_MAXUINT; /* until stopped; the first commit comes after a second at the latest */
  gint64 end_ps;
  GError *error = NULL;
  gboolean ok = synthetic_play (&run, meta, recorder, &stop, &end_ps, &error);
  ck_assert_int_eq (stop, 1);
  if (ok)
    ck_assert (!ls_recorder_check (recorder, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_IO));
  ck_assert_ptr_nonnull (strstr (error->message, "full"));
  g_error_free (error);
  ck_assert (!ls_recorder_finish (recorder, "complete", end_ps, NULL));
  ls_recorder_free (recorder);
  synthetic_meta_free (meta);
  ck_assert_uint_eq (n_files (), 0);
}
END_TEST

START_TEST (a_size_limit_is_a_clean_error) {
  /* the system's own refusal to write more, instead of a made-up one */
  struct rlimit limit = {1 << 20, 1 << 20};
  signal (SIGXFSZ, SIG_IGN);
  ck_assert_int_eq (setrlimit (RLIMIT_FSIZE, &limit), 0);
  expect_failure (path, &ops, "trace.db");
  ck_assert_uint_eq (n_files (), 0);
}
END_TEST

START_TEST (an_abandoned_recorder_leaves_nothing) {
  LsTraceMeta *meta = synthetic_meta_new (&small);
  LsRecorder *recorder = ls_recorder_new (path, meta, &ops, NULL);
  gint64 end_ps;
  ck_assert (synthetic_play (&small, meta, recorder, NULL, &end_ps, NULL));
  ls_recorder_free (recorder);
  synthetic_meta_free (meta);
  ck_assert_uint_eq (n_files (), 0);
}
END_TEST

/* Waits until a reader sees rows of `event`, at most some seconds. */
static gint64 wait_for_rows (void) {
  sqlite3 *db = sql_open (folder, "trace.db");
  gint64 n = 0;
  for (guint i = 0; i < 200 && n == 0; i++) {
    n = sql_integer (db, "SELECT count(*) FROM event");
    g_usleep (50000);
  }
  sqlite3_close (db);
  return n;
}

START_TEST (a_trace_is_readable_while_it_grows) {
  LsTraceMeta *meta = synthetic_meta_new (&small);
  LsRecorder *recorder = ls_recorder_new (path, meta, &ops, NULL);
  gint64 end_ps;
  ck_assert (synthetic_play (&small, meta, recorder, NULL, &end_ps, NULL));
  gint64 seen = wait_for_rows ();
  ck_assert_int_gt (seen, 0);
  /* views work too, and a reader that stays open does not keep the trace from being finished */
  sqlite3 *db = sql_open (folder, "trace.db");
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM events"), seen);
  g_autofree char *status = sql_text (db, "SELECT value FROM run WHERE key='status'");
  ck_assert_str_eq (status, "running");
  ck_assert (ls_recorder_finish (recorder, "complete", end_ps, NULL));
  g_autofree char *after = sql_text (db, "SELECT value FROM run WHERE key='status'");
  ck_assert_str_eq (after, "complete");
  sqlite3_close (db);
  ls_recorder_free (recorder);
  synthetic_meta_free (meta);
  ck_assert_uint_eq (n_files (), 1);
}
END_TEST

START_TEST (a_killed_run_leaves_a_readable_trace) {
  pid_t child = fork ();
  if (child == 0) {
    LsTraceMeta *meta = synthetic_meta_new (&small);
    LsRecorder *recorder = ls_recorder_new (path, meta, &ops, NULL);
    Synthetic run = small;
    gint64 end_ps;
    run.n_steps = G_MAXUINT;
    synthetic_play (&run, meta, recorder, NULL, &end_ps, NULL);
    _exit (1);
  }
  for (guint i = 0; i < 100 && !g_file_test (path, G_FILE_TEST_EXISTS); i++)
    g_usleep (20000);
  g_usleep (200000); /* until the tables are there */
  ck_assert_int_gt (wait_for_rows (), 0);
  kill (child, SIGKILL);
  waitpid (child, NULL, 0);
  GError *error = NULL;
  LsTraceDatabase *database = ls_trace_database_open (path, &error);
  ck_assert_msg (database != NULL, "%s", error != NULL ? error->message : "");
  g_autofree char *health = ls_trace_database_text (database, "PRAGMA integrity_check", NULL);
  g_autofree char *rows = ls_trace_database_text (database, "SELECT count(*)>0 FROM events", NULL);
  ck_assert_str_eq (health, "ok");
  ck_assert_str_eq (rows, "1");
  ls_trace_database_close (database);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("trace/files");
  TCase *tests = tcase_create ("files");
  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_set_timeout (tests, 120);
  tcase_add_test (tests, a_closed_trace_is_one_file);
  tcase_add_test (tests, an_existing_file_is_not_overwritten);
  tcase_add_test (tests, a_replaced_file_goes_when_the_new_one_is_finished);
  tcase_add_test (tests, wrong_places_are_clean_errors);
  tcase_add_test (tests, a_read_only_folder_is_a_clean_error);
  tcase_add_test (tests, names_mean_nothing_special);
  tcase_add_loop_test (tests, a_full_disk_leaves_nothing, 0, 2);
  tcase_add_test (tests, a_failing_writer_stops_the_run);
  tcase_add_test (tests, a_size_limit_is_a_clean_error);
  tcase_add_test (tests, an_abandoned_recorder_leaves_nothing);
  tcase_add_test (tests, a_trace_is_readable_while_it_grows);
  tcase_add_test (tests, a_killed_run_leaves_a_readable_trace);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
