/* Time series, selection of ranks and maps of ids, each against what it must be in closed form. */
#include "trace/check_sql.h"
#include "trace/id_map.h"
#include "trace/synthetic.h"

#include "base/time.h"
#include "engine/fixed.h"

#include <math.h>

static char *folder, *path;
static LsTraceMeta *meta;
static LsRecorder *recorder;
static const LsObserver *observer;
static const LsRecorderOptions ops = {.level = LS_TRACE_OPS};

static void set_up (void) {
  Synthetic run = SYNTHETIC_SMALL;
  folder = synthetic_folder_new ();
  path = g_build_filename (folder, "trace.db", NULL);
  meta = synthetic_meta_new (&run);
  recorder = ls_recorder_new (path, meta, &ops, NULL);
  observer = ls_recorder_observer (recorder);
}

static void tear_down (void) {
  ls_recorder_free (recorder);
  synthetic_meta_free (meta);
  g_free (path);
  synthetic_folder_remove (folder);
}

static sqlite3 *finish (gint64 end_ps) {
  ck_assert (ls_recorder_finish (recorder, "complete", end_ps, NULL));
  return sql_open (folder, "trace.db");
}

#define US LS_PS_PER_US

START_TEST (memory_rows_are_its_changes) {
  observer->memory (recorder, 1, LS_MEMORY_ACTIVATIONS, 0,
                    100); /* at t = 0: no row of 0 before it */
  observer->memory (recorder, 1, LS_MEMORY_ACTIVATIONS, 2 * US, 300);
  observer->memory (recorder, 1, LS_MEMORY_ACTIVATIONS, 2 * US,
                    200); /* same instant: the last counts */
  observer->memory (recorder, 1, LS_MEMORY_ACTIVATIONS, 3 * US, 200); /* no change */
  observer->memory (recorder, 1, LS_MEMORY_ACTIVATIONS, 4 * US, 50);
  sqlite3 *db = finish (5 * US);
  g_autofree char *rows =
      sql_text (db, "SELECT group_concat(t_ns||':'||cast(value AS INTEGER),' ') FROM (SELECT * FROM"
                    " sample JOIN string ON id=name_id WHERE sample.rank=1 AND string.value="
                    "'memory_activations' ORDER BY t_ns)");
  sqlite3_close (db);
  ck_assert_str_eq (rows, "0:100 2000:200 4000:50 5000:50");
}
END_TEST

START_TEST (every_series_has_its_ends) {
  sqlite3 *db = finish (7 * US);
  /* 4 ranks x 5 kinds, held from 0 to the end; static memory included */
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM sample"), 40);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM sample WHERE t_ns IN(0,7000)"), 40);
  ck_assert_int_eq (sql_integer (db, "SELECT sum(value) FROM sample WHERE t_ns=0 AND rank=0"),
                    1 << 30);
  sqlite3_close (db);
}
END_TEST

START_TEST (use_is_the_mean_of_windows) {
  /* windows of 10 us; capacity 50 GB/s. 25 GB/s from 5 to 10 us: mean of window 0 is a quarter; 50 GB/s
   * until 32 us: windows 1, 2 are 1; the window that the end at 40 us closes: 2/10 */
  observer->rate (recorder, 0, 5 * US, ls_rate_from_per_s (25e9));
  observer->rate (recorder, 0, 10 * US, ls_rate_from_per_s (50e9));
  observer->rate (recorder, 0, 32 * US, 0);
  sqlite3 *db = finish (40 * US);
  g_autofree char *rows = sql_text (
      db, "SELECT group_concat(t_ns||':'||value,' ') FROM (SELECT t_ns,s.value FROM sample s JOIN"
          " string n ON id=name_id WHERE resource_id=0 AND n.value='utilisation' ORDER BY t_ns)");
  ck_assert_str_eq (rows, "0:0.25 10000:1.0 30000:0.2 40000:0.2");
  /* 25 GB/s x 5 us + 50 GB/s x 22 us = 1.225 MB, to the rounding of a rate (2^-56 units per ps) */
  ck_assert_double_eq_tol (
      sql_real (
          db,
          "SELECT max(s.value) FROM sample s JOIN string n ON id=name_id WHERE n.value='carried'"),
      1225000, 1e-6);
  /* a link that never carried anything has no series */
  ck_assert_int_eq (
      sql_integer (db,
                   "SELECT count(DISTINCT resource_id) FROM sample WHERE resource_id IS NOT NULL"),
      1);
  sqlite3_close (db);
}
END_TEST

START_TEST (use_stays_small_and_keeps_its_mean) {
  /* a link that toggles each 7 us for 350 ms with no events beside it: windows grow until rows stay few,
   * and the mean over time stays a half of 80 % (tolerance: 6 digits kept per row) */
  for (gint64 i = 0; i < 50000; i++)
    observer->rate (recorder, 0, i * 7 * US, i % 2 == 0 ? ls_rate_from_per_s (40e9) : 0);
  sqlite3 *db = finish (50000 * 7 * US);
  ck_assert_int_le (sql_integer (db, "SELECT count(*) FROM sample WHERE resource_id=0"), 3000);
  ck_assert_double_eq_tol (
      sql_real (
          db,
          "SELECT sum(v.value*(end_ns-start_ns))/max(end_ns) FROM sample_spans v JOIN string n ON"
          " n.id=name_id WHERE resource_id=0 AND n.value='utilisation' AND end_ns IS NOT NULL"),
      0.4, 1e-5);
  sqlite3_close (db);
}
END_TEST

START_TEST (ids_are_found_until_dropped) {
  LsIdMap map = {0};
  ck_assert_uint_eq (ls_id_map_get (&map, -1), LS_ID_NONE);
  ck_assert_uint_eq (ls_id_map_get (&map, 0), LS_ID_UNKNOWN);
  for (guint32 i = 0; i < 5000; i++)
    if (i % 3 != 0)
      ls_id_map_put (&map, i, i + 1);
  ck_assert_uint_eq (ls_id_map_get (&map, 4999), 5000);
  ck_assert_uint_eq (ls_id_map_get (&map, 3), LS_ID_UNKNOWN);
  ls_id_map_drop (&map, 2048); /* rows up to id 2048 are the first two blocks */
  ck_assert_uint_eq (ls_id_map_get (&map, 2047), LS_ID_NONE);
  ck_assert_uint_eq (ls_id_map_get (&map, 2048), 2049);
  ls_id_map_drop (&map, 5000); /* the newest block stays */
  ck_assert_uint_eq (ls_id_map_get (&map, 4999), 5000);
  ck_assert_uint_eq (map.n_blocks, 1);
  ls_id_map_clear (&map);
}
END_TEST

START_TEST (classes_count_every_rank_once) {
  /* property: whatever is chosen, sizes sum to the ranks, and who has rows stands for itself */
  Synthetic run = SYNTHETIC_SMALL;
  run.n_ranks = 70;
  LsTraceMeta *large = synthetic_meta_new (&run);
  for (guint draw = 0; draw < 200; draw++) {
    guint ranks[5];
    for (guint i = 0; i < 5; i++)
      ranks[i] = (draw * 31 + i * i * 17) % 75; /* some out of range */
    g_autoptr (LsTraceSelection) selection =
        ls_trace_selection_new (large, draw == 1, ranks, draw % 6);
    guint sum = 0, recorded = 0;
    for (guint c = 0; c < selection->n_classes; c++)
      sum += selection->class_size[c];
    for (guint r = 0; r < 70; r++) {
      recorded += ls_trace_selection_has (selection, r) ? 1 : 0;
      guint32 stands_for = selection->representative[r];
      if (stands_for != LS_TRACE_NOBODY) {
        ck_assert (ls_trace_selection_has (selection, stands_for));
        ck_assert_uint_eq (large->ranks[r].class_id, large->ranks[stands_for].class_id);
        ck_assert_uint_eq (selection->class_rank[selection->class_of[r]], stands_for);
      }
    }
    ck_assert_uint_eq (sum, 70);
    ck_assert_uint_eq (recorded, selection->n_recorded);
  }
  synthetic_meta_free (large);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("trace/series");
  TCase *tests = tcase_create ("series");
  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, memory_rows_are_its_changes);
  tcase_add_test (tests, every_series_has_its_ends);
  tcase_add_test (tests, use_is_the_mean_of_windows);
  tcase_add_test (tests, use_stays_small_and_keeps_its_mean);
  tcase_add_test (tests, ids_are_found_until_dropped);
  tcase_add_test (tests, classes_count_every_rank_once);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
