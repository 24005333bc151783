/* The shipped queries: all run here and in the plain SQLite shell with the same answer, on a trace, on
 * one of level `steps` and on one without a step; and what they say is what the run was. */
#include "trace/check_sql.h"
#include "trace/query.h"
#include "trace/query_run.h"
#include "trace/synthetic.h"

#include <stdlib.h>
#include <string.h>

static char *folder, *path;
static GPtrArray *queries;
static LsTraceDatabase *database;

/* What the toy run has not: two days of a campaign with a failure, three gradients at a server, and a
 * span of a timed worker (of step 0, which no query looks at by itself). */
static const char other_rows[] =
    "INSERT INTO "
    "fault(id,replica,job_id,component,kind,node,start_us,end_us,lost_gpu_s,cause,n_nodes)"
    " VALUES (1,0,0,'gpu','stop',0,60000000000,60600000000,7200,'gpu',1);"
    "INSERT INTO "
    "interval(id,replica,job_id,kind,start_us,end_us,gpus,spares_free,steps,tokens,fault_id)"
    " VALUES (1,0,0,'train',0,60000000000,4,1,100,409600,NULL),"
    " (2,0,0,'restart',60000000000,60600000000,4,0,0,0,1),"
    " (3,0,0,'train',60600000000,172800000000,4,0,150,614400,NULL);"
    "INSERT INTO gradient(id,replica,job_id,worker,clock,read_version,applied_version,staleness,"
    "read_ns,computed_ns,arrived_ns,applied_ns,action,scale,samples)"
    " VALUES (1,0,0,0,0,0,1,0,0,1000,1100,1200,'apply',1,32),"
    " (2,0,0,1,0,0,2,1,0,1500,1600,1700,'apply',1,32),"
    " (3,0,0,0,1,1,3,1,1200,2200,2300,2400,'apply',1,32);"
    "INSERT INTO "
    "update_log(id,replica,job_id,operation,worker,shard,version,gradient_id,t_ns,closes)"
    " VALUES (1,0,0,'apply',0,0,1,1,1200,1),(2,0,0,'apply',1,0,2,2,1700,1),"
    " (3,0,0,'apply',0,0,3,3,2400,1);"
    "INSERT INTO metric(replica,job_id,name,updates,samples,t_ns,value)"
    " VALUES (0,0,'loss',0,0,0,2.5),(0,0,'accuracy',0,0,0,0.1),"
    " (0,0,'loss',3,96,2400,1.25),(0,0,'accuracy',3,96,2400,0.5),(1,0,'loss',0,0,0,9);"
    "INSERT INTO stream(id,name) VALUES (1000,'update');"
    "INSERT INTO event(id,step,rank,stream_id,kind_id,name_id,start_ns,end_ns)"
    " SELECT 1000000,0,0,1000,(SELECT id FROM kind WHERE name='step'),min(id),0,1000 FROM string;";

static void add_other_rows (void) {
  sqlite3 *db = NULL;
  char *message = NULL;

  ck_assert_int_eq (sqlite3_open (path, &db), SQLITE_OK);
  ck_assert_msg (sqlite3_exec (db, other_rows, NULL, NULL, &message) == SQLITE_OK, "%s", message);
  sqlite3_close (db);
}

static void set_up (void) {
  folder = synthetic_folder_new ();
  path = g_build_filename (folder, "trace.db", NULL);
  Synthetic run = SYNTHETIC_SMALL;
  LsRecorderOptions options = {.level = LS_TRACE_OPS};
  ck_assert (synthetic_record (&run, path, &options, NULL));
  add_other_rows ();
  database = ls_trace_database_open (path, NULL);
  g_autofree char *shipped = g_build_filename (LS_TEST_SOURCE_DIR, "tools", "queries", NULL);
  GError *error = NULL;
  queries = ls_queries_load (shipped, &error);
  ck_assert_msg (queries != NULL, "%s", error != NULL ? error->message : "");
}

static void tear_down (void) {
  ls_trace_database_close (database);
  g_ptr_array_unref (queries);
  g_free (path);
  synthetic_folder_remove (folder);
}

static gboolean gather (gpointer self, const char *text, gsize size) {
  g_string_append_len (self, text, (gssize) size);
  return TRUE;
}

static char *run_query (LsTraceDatabase *on, const char *name, const char *const *parameters) {
  const LsQuery *query = ls_queries_find (queries, name);
  ck_assert_msg (query != NULL, "no query %s", name);
  GString *text = g_string_new (NULL);
  LsQueryOptions options = {.format = LS_QUERY_CSV};
  GError *error = NULL;
  ck_assert_msg (ls_trace_database_query (on, ls_query_sql (query), parameters, &options, gather,
                                          text, NULL, &error),
                 "%s: %s", name, error != NULL ? error->message : "");
  return g_string_free (text, FALSE);
}

/* Cell of a result without quotes, by column name and row (from 1; 0 is the header). */
static char *cell (const char *csv, guint row, const char *column) {
  g_auto (GStrv) lines = g_strsplit (csv, "\n", -1);
  g_auto (GStrv) names = g_strsplit (lines[0], ",", -1);
  ck_assert_msg (row < g_strv_length (lines) - 1, "no row %u", row);
  g_auto (GStrv) cells = g_strsplit (lines[row], ",", -1);
  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_equal (names[i], column))
      return g_strdup (cells[i]);
  ck_abort_msg ("no column %s in %s", column, lines[0]);
}

static double number (const char *csv, guint row, const char *column) {
  g_autofree char *text = cell (csv, row, column);
  return g_ascii_strtod (text, NULL);
}

static guint n_rows (const char *csv) {
  g_auto (GStrv) lines = g_strsplit (csv, "\n", -1);
  return g_strv_length (lines) - 2;
}

START_TEST (all_say_what_they_answer) {
  ck_assert_uint_ge (queries->len, 12);
  for (guint i = 0; i < queries->len; i++) {
    const LsQuery *query = g_ptr_array_index (queries, i);
    ck_assert_msg (g_str_has_suffix (ls_query_question (query), "?"), "%s", ls_query_name (query));
    /* every parameter of the SQL is explained with its default, and every one explained is there */
    for (guint p = 0; p < ls_query_n_parameters (query); p++) {
      const LsQueryParameter *parameter = ls_query_parameter (query, p);
      g_autofree char *use = g_strdup_printf ("coalesce(:%s", parameter->name);
      g_autofree char *equal = g_strdup_printf ("= :%s)", parameter->name);
      ck_assert_msg (strstr (ls_query_sql (query), use) != NULL ||
                         strstr (ls_query_sql (query), equal) != NULL,
                     "%s: %s has no default in the SQL", ls_query_name (query), parameter->name);
      ck_assert_msg (strstr (parameter->meaning, "(default: ") != NULL, "%s: %s",
                     ls_query_name (query), parameter->name);
    }
  }
}
END_TEST

START_TEST (all_have_an_answer) {
  for (guint i = 0; i < queries->len; i++) {
    const LsQuery *query = g_ptr_array_index (queries, i);
    g_autofree char *csv = run_query (database, ls_query_name (query), NULL);
    ck_assert_msg (n_rows (csv) >= 1, "%s has no rows", ls_query_name (query));
  }
}
END_TEST

/* Every parameter bound at once: step=1, rank=1 and so on. */
START_TEST (all_take_their_parameters) {
  for (guint i = 0; i < queries->len; i++) {
    const LsQuery *query = g_ptr_array_index (queries, i);
    g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
    for (guint p = 0; p < ls_query_n_parameters (query); p++) {
      const char *name = ls_query_parameter (query, p)->name;
      const char *value = g_str_equal (name, "kind")       ? "nic"
                          : g_str_equal (name, "class")    ? "compute"
                          : g_str_equal (name, "resource") ? "rank0/nic"
                          : g_str_equal (name, "tier")     ? "leaf"
                          : g_str_equal (name, "from")     ? "0"
                          : g_str_equal (name, "from_ms")  ? "0"
                                                           : "1";
      g_ptr_array_add (words, g_strdup_printf ("%s=%s", name, value));
    }
    g_ptr_array_add (words, NULL);
    g_autofree char *csv =
        run_query (database, ls_query_name (query), (const char *const *) words->pdata);
    ck_assert_msg (n_rows (csv) >= 1, "%s has no rows", ls_query_name (query));
  }
}
END_TEST

START_TEST (all_run_without_events_or_steps) {
  Synthetic run = SYNTHETIC_SMALL;
  for (guint variant = 0; variant < 2; variant++) {
    LsRecorderOptions options = {.level = variant == 0 ? LS_TRACE_STEPS : LS_TRACE_OPS,
                                 .force = TRUE};
    run.n_steps = variant == 0 ? 3 : 0;
    g_autofree char *other = g_build_filename (folder, "other.db", NULL);
    ck_assert (synthetic_record (&run, other, &options, NULL));
    g_autoptr (LsTraceDatabase) opened = ls_trace_database_open (other, NULL);
    for (guint i = 0; i < queries->len; i++)
      g_free (run_query (opened, ls_query_name (g_ptr_array_index (queries, i)), NULL));
  }
}
END_TEST

START_TEST (all_run_in_the_plain_shell) {
  g_autofree char *shell = g_find_program_in_path ("sqlite3");
  if (shell == NULL)
    return; /* the shell is not part of the build set */
  for (guint i = 0; i < queries->len; i++) {
    const LsQuery *query = g_ptr_array_index (queries, i);
    g_autofree char *file =
        g_strdup_printf ("%s/tools/queries/%s.sql", LS_TEST_SOURCE_DIR, ls_query_name (query));
    g_autofree char *command = g_strdup_printf (".read '%s'", file);
    const char *const argv[] = {shell, "-batch", "-header", "-csv", path, command, NULL};
    g_autofree char *out = NULL, *err = NULL;
    gint status = 0;
    ck_assert (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err,
                             &status, NULL));
    ck_assert_msg (status == 0 && *err == '\0', "%s: %s", ls_query_name (query), err);
    g_autofree char *ours = run_query (database, ls_query_name (query), NULL);
    g_auto (GStrv) lines = g_strsplit (ours, "\n", -1), theirs = g_strsplit (out, "\n", -1);
    ck_assert_msg (g_strv_length (lines) == g_strv_length (theirs), "%s", ls_query_name (query));
  }
}
END_TEST

START_TEST (the_learning_curve_has_a_row_per_measurement) {
  g_autofree char *csv = run_query (database, "learning_curve", NULL);

  ck_assert_uint_eq (n_rows (csv), 2);
  ck_assert_double_eq (number (csv, 2, "updates"), 3);
  ck_assert_double_eq (number (csv, 2, "samples"), 96);
  ck_assert_double_eq (number (csv, 2, "loss"), 1.25);
  ck_assert_double_eq (number (csv, 2, "accuracy"), 0.5);
}
END_TEST

START_TEST (breakdown_is_the_whole_step) {
  g_autofree char *csv = run_query (database, "time_breakdown", NULL);
  double share_pct = 0;
  for (guint r = 1; r <= n_rows (csv); r++)
    share_pct += number (csv, r, "share_pct");
  ck_assert_double_eq_tol (share_pct, 100, 0.05); /* rounded to 0.01 each */
  g_autofree char *ranks = run_query (database, "temporal_breakdown", NULL);
  for (guint r = 1; r <= 4; r++)
    ck_assert_double_eq_tol (number (ranks, r, "compute_pct") +
                                 number (ranks, r, "non_compute_pct") +
                                 number (ranks, r, "idle_pct"),
                             100, 0.02);
}
END_TEST

START_TEST (critical_path_is_unbroken_and_as_long_as_the_step) {
  g_autofree char *csv = run_query (database, "critical_path", NULL);
  double sum_us = 0;
  for (guint r = 1; r <= n_rows (csv); r++) {
    sum_us += number (csv, r, "duration_us") + number (csv, r, "gap_us");
    if (r > 1) /* here nothing starts later than its cause ends */
      ck_assert_double_eq (number (csv, r, "gap_us"), 0);
  }
  g_autofree char *steps = run_query (database, "step_times", NULL);
  ck_assert_double_eq_tol (sum_us / 1e3, number (steps, 3, "step_ms"), 0.001);
  g_autofree char *summary = run_query (database, "critical_path_summary", NULL);
  double share_pct = 0;
  for (guint r = 1; r <= n_rows (summary); r++)
    share_pct += number (summary, r, "share_pct");
  ck_assert_double_eq_tol (share_pct, 100, 0.05);
}
END_TEST

START_TEST (memory_peaks_are_those_of_the_run) {
  /* static 2^30 bytes and 1 MiB per kernel: 3 micro-batches x 8 kernels */
  double peak_gb = (double) ((1 << 30) + 24 * (1 << 20)) / 1e9;
  g_autofree char *csv = run_query (database, "memory_peak", NULL);
  ck_assert_uint_eq (n_rows (csv), 4);
  ck_assert_double_eq_tol (number (csv, 1, "peak_gb"), peak_gb, 1e-4);
  g_autofree char *timeline = run_query (database, "memory_timeline", NULL);
  double highest_gb = 0;
  for (guint r = 1; r <= n_rows (timeline); r++)
    highest_gb = MAX (highest_gb, number (timeline, r, "total_gb"));
  ck_assert_double_eq_tol (highest_gb, peak_gb, 1e-4);
}
END_TEST

START_TEST (communication_is_as_it_was) {
  g_autofree char *csv = run_query (database, "comm_comp_overlap", NULL);
  for (guint r = 1; r <= n_rows (csv); r++) {
    g_autofree char *axis = cell (csv, r, "axis");
    if (g_str_equal (axis, "data")) /* the all-reduce runs when computing is over */
      ck_assert_double_eq (number (csv, r, "overlap_pct"), 0);
  }
  g_autofree char *links = run_query (database, "bytes_per_link", NULL);
  /* 40 GB/s for 51.000501 us in each of 3 steps */
  ck_assert_double_eq_tol (number (links, 1, "carried_gb"), 3 * 40e9 * 51.000501e-6 / 1e9, 1e-4);
  g_autofree char *bubble = run_query (database, "pipeline_bubble", NULL);
  ck_assert_uint_eq (n_rows (bubble), 2);
  /* (p-1)/(m+p-1), 2 stages and 3 micro-batches */
  ck_assert_double_eq_tol (number (bubble, 1, "ideal_pct"), 25, 0.01);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("trace/queries");
  TCase *tests = tcase_create ("queries");
  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_set_timeout (tests, 120);
  tcase_add_test (tests, all_say_what_they_answer);
  tcase_add_test (tests, all_have_an_answer);
  tcase_add_test (tests, all_take_their_parameters);
  tcase_add_test (tests, all_run_without_events_or_steps);
  tcase_add_test (tests, all_run_in_the_plain_shell);
  tcase_add_test (tests, the_learning_curve_has_a_row_per_measurement);
  tcase_add_test (tests, breakdown_is_the_whole_step);
  tcase_add_test (tests, critical_path_is_unbroken_and_as_long_as_the_step);
  tcase_add_test (tests, memory_peaks_are_those_of_the_run);
  tcase_add_test (tests, communication_is_as_it_was);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
