/* Running SQL: formats, parameters, limits, and what is refused. */
#include "trace/check_sql.h"
#include "trace/query.h"
#include "trace/query_run.h"
#include "trace/synthetic.h"

#include "base/error.h"

#include <string.h>

static char *folder, *path;
static LsTraceDatabase *database;

static void set_up (void) {
  folder = synthetic_folder_new ();
  path = g_build_filename (folder, "trace.db", NULL);
  Synthetic run = SYNTHETIC_SMALL;
  LsRecorderOptions options = {.level = LS_TRACE_OPS};
  ck_assert (synthetic_record (&run, path, &options, NULL));
  database = ls_trace_database_open (path, NULL);
  ck_assert_ptr_nonnull (database);
}

static void tear_down (void) {
  ls_trace_database_close (database);
  g_free (path);
  synthetic_folder_remove (folder);
}

static gboolean gather (gpointer self, const char *text, gsize size) {
  g_string_append_len (self, text, (gssize) size);
  return TRUE;
}

/* The output of a query that must succeed. */
static char *output (const char *sql, LsQueryFormat format, const char *const *parameters,
                     gint64 limit) {
  GString *text = g_string_new (NULL);
  LsQueryOptions options = {.format = format, .limit = limit};
  GError *error = NULL;
  ck_assert_msg (
      ls_trace_database_query (database, sql, parameters, &options, gather, text, NULL, &error),
      "%s", error != NULL ? error->message : "");
  return g_string_free (text, FALSE);
}

static void expect (const char *sql, LsQueryFormat format, const char *wanted) {
  g_autofree char *text = output (sql, format, NULL, 0);
  ck_assert_str_eq (text, wanted);
}

static void expect_error (const char *sql, const char *const *parameters, const char *message) {
  GString *text = g_string_new (NULL);
  LsQueryOptions options = {0};
  GError *error = NULL;
  ck_assert (
      !ls_trace_database_query (database, sql, parameters, &options, gather, text, NULL, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_USAGE));
  if (strstr (error->message, message) == NULL)
    ck_abort_msg ("\"%s\" does not say \"%s\"", error->message, message);
  ck_assert_uint_eq (text->len, 0);
  g_error_free (error);
  g_string_free (text, TRUE);
}

START_TEST (formats_are_as_documented) {
  const char *sql = "SELECT 'a' name,1 n,NULL note UNION ALL SELECT 'b,\"c',22.5,'x|y'";
  expect (sql, LS_QUERY_CSV, "name,n,note\na,1,\n\"b,\"\"c\",22.5,x|y\n");
  expect (sql, LS_QUERY_TSV, "name\tn\tnote\na\t1\t\nb,\"c\t22.5\tx|y\n");
  expect (sql, LS_QUERY_JSON,
          "[\n  {\"name\": \"a\", \"n\": 1, \"note\": null},\n"
          "  {\"name\": \"b,\\\"c\", \"n\": 22.5, \"note\": \"x|y\"}\n]\n");
  expect (sql, LS_QUERY_TABLE,
          "name     n  note\n----  ----  ----\na        1\nb,\"c  22.5  x|y\n");
  expect (sql, LS_QUERY_MARKDOWN,
          "| name |    n | note |\n| ---- | ---: | ---- |\n| a    |    1 |      |\n| b,\"c | 22.5 "
          "| x\\|y |\n");
}
END_TEST

START_TEST (nothing_found_is_a_header) {
  const char *sql = "SELECT 1 AS a, 2 AS b WHERE 0";
  expect (sql, LS_QUERY_CSV, "a,b\n");
  expect (sql, LS_QUERY_JSON, "[]\n");
  expect (sql, LS_QUERY_TABLE, "a  b\n-  -\n");
}
END_TEST

START_TEST (numbers_read_back_the_same) {
  expect ("SELECT 0.1 a, 1e300 b, 9007199254740993 c, 1.0/3 d", LS_QUERY_CSV,
          "a,b,c,d\n0.1,1e+300,9007199254740993,0.3333333333333333\n");
}
END_TEST

START_TEST (width_counts_characters) {
  expect ("SELECT 'µs' a, 1 b UNION ALL SELECT 'ab', 2", LS_QUERY_TABLE,
          "a   b\n--  -\nµs  1\nab  2\n");
}
END_TEST

START_TEST (text_of_many_lines_is_shown_by_its_start) {
  /* In a table only; characters are counted, not bytes. */
  const char *sql = "SELECT 1 n, replace (printf ('%.40c', 'a'), 'a', 'µ') || char (10) || "
                    "printf ('%.40c', 'b') text";
  expect (sql, LS_QUERY_TABLE,
          "n  text\n-  ---------------------------------------------------------------\n"
          "1  µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ bbbbbbbbbbbbbbbbbbb...\n");
  expect (sql, LS_QUERY_CSV,
          "n,text\n1,\"µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ\n"
          "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"\n");
}
END_TEST

START_TEST (parameters_are_bound_by_type) {
  const char *const values[] = {"a=5", "b=2.5", "c=text", "d=", NULL};
  g_autofree char *text =
      output ("SELECT typeof(:a) a, typeof(@b) b, typeof($c) c, typeof(:d) d, :a+1 e, typeof(:f) f",
              LS_QUERY_CSV, values, 0);
  ck_assert_str_eq (text, "a,b,c,d,e,f\ninteger,real,text,null,6,null\n");
}
END_TEST

START_TEST (wrong_parameters_are_errors) {
  const char *const unknown[] = {"setp=1", NULL};
  expect_error ("SELECT :step, :rank", unknown, "it takes step, rank; did you mean step?");
  expect_error ("SELECT 1", unknown, "the query has none");
  const char *const shapeless[] = {"step", NULL};
  expect_error ("SELECT :step", shapeless, "name=value");
}
END_TEST

START_TEST (wrong_sql_is_an_error) {
  expect_error ("SELEC 1", NULL, "near \"SELEC\": syntax error");
  expect_error ("SELECT colour FROM event", NULL, "no such column: colour");
  expect_error ("  -- only a comment\n", NULL, "no SQL statement");
  expect_error ("", NULL, "no SQL statement");
}
END_TEST

START_TEST (writing_is_refused) {
  static const char *const writes[] = {"DELETE FROM event",
                                       "DROP TABLE event",
                                       "CREATE TABLE x(a)",
                                       "SELECT 1; UPDATE run SET value=1",
                                       "CREATE TEMP TABLE x(a)",
                                       "PRAGMA user_version=7",
                                       "VACUUM"};
  for (gsize i = 0; i < G_N_ELEMENTS (writes); i++)
    expect_error (writes[i], NULL, "would write");
  g_autofree char *attached = g_strdup_printf ("ATTACH '%s/new.db' AS n; SELECT 1", folder);
  LsQueryOptions options = {0};
  g_autoptr (GString) text = g_string_new (NULL);
  ck_assert (
      !ls_trace_database_query (database, attached, NULL, &options, gather, text, NULL, NULL));
  g_autofree char *made = g_build_filename (folder, "new.db", NULL);
  ck_assert (!g_file_test (made, G_FILE_TEST_EXISTS));
}
END_TEST

START_TEST (several_statements_run_in_order) {
  expect ("SELECT 1 a; SELECT 2 b; -- end\n", LS_QUERY_CSV, "a\n1\nb\n2\n");
}
END_TEST

START_TEST (rows_can_be_limited) {
  LsQueryOptions options = {.format = LS_QUERY_CSV, .limit = 2};
  LsQueryResult result;
  g_autoptr (GString) text = g_string_new (NULL);
  ck_assert (ls_trace_database_query (database, "SELECT id FROM event ORDER BY id", NULL, &options,
                                      gather, text, &result, NULL));
  ck_assert_str_eq (text->str, "id\n1\n2\n");
  ck_assert_int_eq (result.n_rows, 2);
  ck_assert (result.cut);
  options.limit = 1000000;
  ck_assert (ls_trace_database_query (database, "SELECT id FROM event", NULL, &options, gather,
                                      text, &result, NULL));
  ck_assert (!result.cut);
}
END_TEST

static const char *const endless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n";

START_TEST (time_can_be_limited) {
  LsQueryOptions options = {.time_limit_s = 0.05};
  g_autoptr (GString) text = g_string_new (NULL);
  GError *error = NULL;
  ck_assert (
      !ls_trace_database_query (database, endless, NULL, &options, gather, text, NULL, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_RUN));
  ck_assert_ptr_nonnull (strstr (error->message, "time limit of 0.05 s"));
  g_error_free (error);
}
END_TEST

START_TEST (an_interrupt_ends_a_query) {
  volatile gint stop = 1;
  LsQueryOptions options = {.stop = &stop};
  g_autoptr (GString) text = g_string_new (NULL);
  GError *error = NULL;
  ck_assert (
      !ls_trace_database_query (database, endless, NULL, &options, gather, text, NULL, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_INTERRUPTED));
  g_error_free (error);
}
END_TEST

static gboolean refuse (gpointer self, const char *text, gsize size) {
  (*(guint *) self)++;
  (void) text;
  (void) size;
  return FALSE;
}

START_TEST (a_closed_pipe_ends_quietly) {
  guint calls = 0;
  LsQueryOptions options = {.format = LS_QUERY_CSV};
  ck_assert (ls_trace_database_query (database, "SELECT id FROM event; SELECT 1", NULL, &options,
                                      refuse, &calls, NULL, NULL));
  ck_assert_uint_eq (calls, 1);
}
END_TEST

static void expect_unopened (const char *where, LsError code, const char *message) {
  GError *error = NULL;
  ck_assert_ptr_null (ls_trace_database_open (where, &error));
  ck_assert (g_error_matches (error, LS_ERROR, (gint) code));
  if (strstr (error->message, message) == NULL)
    ck_abort_msg ("\"%s\" does not say \"%s\"", error->message, message);
  g_error_free (error);
}

START_TEST (other_files_are_not_opened) {
  expect_unopened ("/no/such/file.db", LS_ERROR_IO, "No such file");
  expect_unopened (folder, LS_ERROR_IO, "Is a directory");
  g_autofree char *other = g_build_filename (folder, "other.db", NULL);
  ck_assert (g_file_set_contents (
      other, "this is some text, long enough to be read as a header of a file", -1, NULL));
  expect_unopened (other, LS_ERROR_USAGE, "not a database");
  ck_assert (g_file_set_contents (other, "", -1, NULL));
  expect_unopened (other, LS_ERROR_USAGE, "not one of Lockstep");
  g_autofree char *newer = g_build_filename (folder, "newer.db", NULL);
  sqlite3 *db = NULL;
  sqlite3_open (newer, &db);
  sqlite3_exec (db, "PRAGMA application_id=0x4c4f434b;PRAGMA user_version=99", NULL, NULL, NULL);
  sqlite3_close (db);
  expect_unopened (newer, LS_ERROR_USAGE, "newer Lockstep");
}
END_TEST

START_TEST (single_values_are_text) {
  g_autofree char *status =
      ls_trace_database_text (database, "SELECT value FROM run WHERE key='status'", NULL);
  ck_assert_str_eq (status, "complete");
  ck_assert_ptr_null (ls_trace_database_text (database, "SELECT 1 WHERE 0", NULL));
}
END_TEST

START_TEST (heads_of_query_files_are_read) {
  g_autofree char *file = g_build_filename (folder, "who.sql", NULL);
  ck_assert (g_file_set_contents (
      file,
      "-- Who is it,\n-- really?\n-- Parameters:\n--   :a  one (default: 1)\n"
      "--   :bb  two,\n--     longer\n-- Reading: so\n-- and so.\nSELECT :a, :bb;\n",
      -1, NULL));
  g_autoptr (LsQuery) query = ls_query_load (file, NULL);
  ck_assert_str_eq (ls_query_name (query), "who");
  ck_assert_str_eq (ls_query_question (query), "Who is it, really?");
  ck_assert_str_eq (ls_query_reading (query), "so and so.");
  ck_assert_uint_eq (ls_query_n_parameters (query), 2);
  ck_assert_str_eq (ls_query_parameter (query, 0)->name, "a");
  ck_assert_str_eq (ls_query_parameter (query, 0)->meaning, "one (default: 1)");
  ck_assert_str_eq (ls_query_parameter (query, 1)->meaning, "two, longer");
  ck_assert (g_file_set_contents (file, "SELECT 1;\n", -1, NULL));
  GError *error = NULL;
  ck_assert_ptr_null (ls_query_load (file, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_CONFIG));
  g_error_free (error);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("trace/query");
  TCase *tests = tcase_create ("query");
  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, formats_are_as_documented);
  tcase_add_test (tests, nothing_found_is_a_header);
  tcase_add_test (tests, numbers_read_back_the_same);
  tcase_add_test (tests, width_counts_characters);
  tcase_add_test (tests, text_of_many_lines_is_shown_by_its_start);
  tcase_add_test (tests, parameters_are_bound_by_type);
  tcase_add_test (tests, wrong_parameters_are_errors);
  tcase_add_test (tests, wrong_sql_is_an_error);
  tcase_add_test (tests, writing_is_refused);
  tcase_add_test (tests, several_statements_run_in_order);
  tcase_add_test (tests, rows_can_be_limited);
  tcase_add_test (tests, time_can_be_limited);
  tcase_add_test (tests, an_interrupt_ends_a_query);
  tcase_add_test (tests, a_closed_pipe_ends_quietly);
  tcase_add_test (tests, other_files_are_not_opened);
  tcase_add_test (tests, single_values_are_text);
  tcase_add_test (tests, heads_of_query_files_are_read);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
