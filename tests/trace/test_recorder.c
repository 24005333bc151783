/* The recorder: what it writes obeys the laws of the run it saw, and depends on nothing else. */
#include "trace/check_sql.h"
#include "trace/recorder.h"
#include "trace/synthetic.h"

#include "base/time.h"

static char *folder;

static void set_up (void) {
  folder = synthetic_folder_new ();
}

static void tear_down (void) {
  synthetic_folder_remove (folder);
}

static sqlite3 *record (const Synthetic *run, const char *name, const LsRecorderOptions *options) {
  g_autofree char *path = g_build_filename (folder, name, NULL);
  GError *error = NULL;
  ck_assert_msg (synthetic_record (run, path, options, &error), "%s",
                 error != NULL ? error->message : "");
  return sql_open (folder, name);
}

static const LsRecorderOptions ops = {.level = LS_TRACE_OPS};

START_TEST (every_operation_has_a_row) {
  Synthetic run = SYNTHETIC_SMALL;
  sqlite3 *db = record (&run, "a.db", &ops);
  /* per step: kernels on every rank, a send and a receive per pair and micro-batch, all-reduce, barrier */
  gint64 per_step = 4 * 3 * 8 + 2 * 3 * 2 + 4 + 4;
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM event"), 3 * per_step);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM events"), 3 * per_step);
  ck_assert_int_eq (sql_integer (db, "SELECT max(id) FROM event"), 3 * per_step);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM collective"), 3 * 3);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM comm_member"), 2 + 2 + 4);
  g_autofree char *status = sql_text (db, "SELECT value FROM run WHERE key='status'");
  ck_assert_str_eq (status, "complete");
  sqlite3_close (db);
}
END_TEST

START_TEST (nothing_starts_before_its_cause_ends) {
  Synthetic run = SYNTHETIC_SMALL;
  sqlite3 *db = record (&run, "a.db", &ops);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM event e JOIN event c ON c.id=e.cause_id"
                                     " WHERE c.end_ns>e.start_ns"),
                    0);
  /* only the very first operation of a stream has none */
  ck_assert_int_le (sql_integer (db, "SELECT count(*) FROM event WHERE cause_id IS NULL"), 4 * 4);
  /* operations of a stream do not overlap, and what follows at once shares the instant */
  ck_assert_int_eq (
      sql_integer (db, "SELECT count(*) FROM (SELECT start_ns,lag(end_ns) OVER (PARTITION BY"
                       " rank,stream_id ORDER BY id) before FROM event) WHERE start_ns<before"),
      0);
  ck_assert_int_gt (
      sql_integer (db, "SELECT count(*) FROM (SELECT start_ns,lag(end_ns) OVER (PARTITION BY"
                       " rank,stream_id ORDER BY id) before FROM event WHERE stream_id=0)"
                       " WHERE start_ns=before"),
      3 * 4 * 3 * 7 - 1);
  sqlite3_close (db);
}
END_TEST

START_TEST (busy_and_idle_make_the_makespan) {
  /* per rank and step: time in operations of the compute stream + gaps = end - start of the step */
  Synthetic run = SYNTHETIC_SMALL;
  sqlite3 *db = record (&run, "a.db", &ops);
  ck_assert_int_eq (
      sql_integer (
          db,
          "WITH gap AS (SELECT rank,step,start_ns,end_ns,coalesce(lag(end_ns) OVER (PARTITION BY "
          "rank"
          " ORDER BY id),0) before FROM event WHERE stream_id=0),"
          " total AS (SELECT rank,step,sum(end_ns-start_ns)+sum(start_ns-before) ns FROM gap"
          " GROUP BY rank,step)"
          " SELECT count(*) FROM total t JOIN step s USING(step) WHERE t.ns<>s.end_ns-s.start_ns"),
      0);
  sqlite3_close (db);
}
END_TEST

START_TEST (parts_sum_to_the_step) {
  Synthetic run = SYNTHETIC_SMALL;
  run.n_steps = 20;
  sqlite3 *db = record (&run, "a.db", &ops);
#define PLUS(id, name) "+" name "_ns"
#define SUM "0" LS_PARTS (PLUS)
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM step WHERE " SUM "=end_ns-start_ns"),
                    20);
  ck_assert_int_eq (
      sql_integer (db, "SELECT count(*) FROM step_rank r JOIN step s USING(job_id,step) WHERE "
                       "r.compute_ns+r.exposed_data_ns+r.pipeline_bubble_ns+r.straggler_wait_ns"
                       "=s.end_ns-s.start_ns"),
      20 * 4);
  /* steps follow each other without a gap, and the mean over ranks is the mean to a ns */
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM step a JOIN step b ON b.step=a.step+1"
                                     " WHERE b.start_ns=a.end_ns"),
                    19);
  ck_assert_double_le (sql_real (db,
                                 "SELECT max(abs(s.compute_ns-m.v)) FROM step s JOIN (SELECT step,"
                                 "avg(compute_ns) v FROM step_rank GROUP BY step) m USING(step)"),
                       2);
  sqlite3_close (db);
}
END_TEST

START_TEST (rows_say_what_the_records_said) {
  Synthetic run = SYNTHETIC_SMALL;
  sqlite3 *db = record (&run, "a.db", &ops);
  /* the first kernel of each micro-batch was made 1234567 ps slower than alone */
  ck_assert_int_eq (
      sql_integer (db,
                   "SELECT min(slowed_ns)||0=max(slowed_ns)||0 AND max(slowed_ns)=1235 FROM events"
                   " WHERE kind='matmul' AND layer=0"),
      1);
  ck_assert_int_eq (
      sql_integer (db, "SELECT max(slowed_ns) FROM events WHERE kind='matmul' AND layer>0"), 0);
  ck_assert_int_eq (sql_integer (db, "SELECT max(microbatch) FROM events WHERE kind='matmul'"), 2);
  ck_assert_double_eq (sql_real (db, "SELECT flops FROM event WHERE id=1"), 1e12);
  ck_assert_int_eq (sql_integer (db, "SELECT bytes FROM events WHERE kind='all_reduce' LIMIT 1"),
                    96 << 20);
  ck_assert_int_eq (
      sql_integer (db,
                   "SELECT count(*) FROM collective WHERE algorithm='ring' AND protocol='simple'"
                   " AND message_bytes=64<<20"),
      9);
  /* the last to come came last */
  ck_assert_int_eq (
      sql_integer (db, "SELECT count(*) FROM collective c JOIN event e ON e.collective_id=c.id"
                       " WHERE e.start_ns<>c.last_ready_ns OR c.first_ready_ns>c.last_ready_ns"),
      0);
  /* who does not communicate has no exposed time, who has no peer none */
  ck_assert_int_eq (
      sql_integer (
          db,
          "SELECT count(*) FROM events WHERE (class='communication')<>(exposed_ns IS NOT NULL)"),
      0);
  ck_assert_int_eq (
      sql_integer (
          db, "SELECT count(*) FROM events WHERE (kind IN('send','recv'))<>(peer IS NOT NULL)"),
      0);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM event WHERE axis_id=0 OR phase_id=0"),
                    0);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM events WHERE members<>1"), 0);
  sqlite3_close (db);
}
END_TEST

START_TEST (equal_runs_have_equal_dumps) {
  Synthetic run = SYNTHETIC_SMALL;
  run.n_steps = 40; /* several chunks */
  sqlite3 *a = record (&run, "a.db", &ops), *b = record (&run, "b.db", &ops);
  g_autofree char *left = sql_dump (a), *right = sql_dump (b);
  ck_assert (g_str_equal (left, right));
  run.seed = 2;
  sqlite3 *c = record (&run, "c.db", &ops);
  g_autofree char *other = sql_dump (c);
  ck_assert (!g_str_equal (left, other));
  sqlite3_close (a);
  sqlite3_close (b);
  sqlite3_close (c);
}
END_TEST

START_TEST (level_steps_has_steps_only) {
  Synthetic run = SYNTHETIC_SMALL;
  LsRecorderOptions options = {.level = LS_TRACE_STEPS};
  sqlite3 *db = record (&run, "a.db", &options);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM event"), 0);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM sample"), 0);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM step"), 3);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM step_rank"), 12);
  sqlite3_close (db);
}
END_TEST

START_TEST (steps_can_be_chosen) {
  Synthetic run = SYNTHETIC_SMALL;
  run.n_steps = 6;
  LsRecorderOptions options = {
      .level = LS_TRACE_OPS, .filter_steps = TRUE, .first_step = 2, .last_step = 3};
  sqlite3 *db = record (&run, "a.db", &options);
  ck_assert_int_eq (sql_integer (db, "SELECT min(step)*10+max(step) FROM event"), 23);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM step"), 2);
  /* series begin and end with the chosen steps */
  ck_assert_int_eq (sql_integer (db,
                                 "SELECT min(t_ns)=(SELECT min(start_ns) FROM step) AND max(t_ns)="
                                 "(SELECT max(end_ns) FROM step) FROM sample"),
                    1);
  sqlite3_close (db);
}
END_TEST

START_TEST (ranks_without_rows_have_representatives) {
  Synthetic run = SYNTHETIC_SMALL;
  run.n_ranks = 80; /* above 64: one per class, and there are two (a class per stage) */
  sqlite3 *db = record (&run, "a.db", &ops);
  g_autofree char *ranks =
      sql_text (db, "SELECT group_concat(rank) FROM (SELECT DISTINCT rank FROM event ORDER BY 1)");
  ck_assert_str_eq (ranks, "0,40");
  ck_assert_int_eq (sql_integer (db, "SELECT sum(size) FROM rank_class"), 80);
  ck_assert_int_eq (sql_integer (db, "SELECT min(members)*100+max(members) FROM events"),
                    40 * 100 + 40);
  /* the last of a data group is hardly ever rank 0: its representative's kernel stands for it */
  ck_assert_int_gt (sql_integer (db, "SELECT count(*) FROM event WHERE cause_rank IS NOT NULL"), 0);
  ck_assert_int_eq (
      sql_integer (
          db, "SELECT count(*) FROM event e JOIN event c ON c.id=e.cause_id JOIN rank x ON"
              " x.rank=e.cause_rank JOIN rank_class k ON k.class=x.class WHERE k.rank<>c.rank"),
      0);
  ck_assert_int_eq (
      sql_integer (db, "SELECT count(*) FROM event e JOIN collective c ON c.id=e.collective_id"
                       " WHERE coalesce(e.cause_rank,(SELECT rank FROM event WHERE "
                       "id=e.cause_id))<>c.last_rank"),
      0);
  sqlite3_close (db);

  guint chosen[] = {3, 50};
  LsRecorderOptions options = {.level = LS_TRACE_OPS, .ranks = chosen, .n_ranks = 2};
  db = record (&run, "b.db", &options);
  g_autofree char *two =
      sql_text (db, "SELECT group_concat(rank) FROM (SELECT DISTINCT rank FROM event ORDER BY 1)");
  ck_assert_str_eq (two, "3,50");
  sqlite3_close (db);
  options = (LsRecorderOptions){.level = LS_TRACE_OPS, .all_ranks = TRUE};
  db = record (&run, "c.db", &options);
  ck_assert_int_eq (sql_integer (db, "SELECT count(DISTINCT rank) FROM event"), 80);
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM event WHERE cause_rank IS NOT NULL"), 0);
  sqlite3_close (db);
}
END_TEST

START_TEST (steps_can_be_listed) {
  Synthetic run = SYNTHETIC_SMALL;
  run.n_steps = 7;
  const gint64 steps[] = {0, 3, 5};
  LsRecorderOptions options = {
      .level = LS_TRACE_OPS, .filter_steps = TRUE, .steps = steps, .n_steps = 3};
  sqlite3 *db = record (&run, "a.db", &options);
  g_autofree char *events =
      sql_text (db, "SELECT group_concat(step) FROM (SELECT DISTINCT step FROM event ORDER BY 1)");
  g_autofree char *rows = sql_text (db, "SELECT group_concat(step) FROM step");
  ck_assert_str_eq (events, "0,3,5");
  ck_assert_str_eq (rows, "0,3,5");
  /* no sample within a step left out */
  ck_assert_int_eq (sql_integer (db,
                                 "SELECT count(*) FROM sample WHERE NOT EXISTS (SELECT 1 FROM step"
                                 " WHERE t_ns BETWEEN start_ns AND end_ns)"),
                    0);
  sqlite3_close (db);
}
END_TEST

/* A minimal record of a kernel of rank 0's stream 0. */
static LsOpRecord kernel_record (const LsOp *op, const gint32 *counters, gint64 ordinal,
                                 gint64 start_ps, gint64 end_ps) {
  return (LsOpRecord){.ordinal = ordinal,
                      .op = op,
                      .counters = counters,
                      .ready_ps = start_ps,
                      .start_ps = start_ps,
                      .end_ps = end_ps,
                      .alone_ps = end_ps - start_ps,
                      .cause = {0, 0, ordinal - 1},
                      .cause_resource = LS_NO_RESOURCE,
                      .bottleneck = LS_NO_RESOURCE,
                      .group = LS_NO_GROUP,
                      .last_rank = LS_NO_RANK,
                      .peer = LS_NO_RANK};
}

START_TEST (causes_that_come_later_are_filled_in) {
  Synthetic run = SYNTHETIC_SMALL;
  LsTraceMeta *meta = synthetic_meta_new (&run);
  g_autofree char *path = g_build_filename (folder, "a.db", NULL);
  LsRecorder *recorder = ls_recorder_new (path, meta, &ops, NULL);
  const LsObserver *observer = ls_recorder_observer (recorder);
  LsOp op = LS_OP_INIT;
  gint32 counters[2] = {0, 0};
  LsOpRecord early = kernel_record (&op, counters, 0, 5000, 9000);
  early.rank = 1;
  early.cause = (LsCause){0, 0, 1}; /* rank 0's second kernel, handed over after */
  observer->op (recorder, &early);
  for (gint64 i = 0; i < 2; i++) {
    LsOpRecord record = kernel_record (&op, counters, i, i * 2500, (i + 1) * 2500);
    observer->op (recorder, &record);
  }
  ck_assert (ls_recorder_finish (recorder, "complete", 9000, NULL));
  ls_recorder_free (recorder);
  synthetic_meta_free (meta);
  sqlite3 *db = sql_open (folder, "a.db");
  ck_assert_int_eq (sql_integer (db, "SELECT cause_id FROM event WHERE rank=1"), 3);
  /* 2500 ps are 3 ns, on both sides of the boundary; 5000 ps are 5 ns */
  ck_assert_int_eq (sql_integer (db, "SELECT end_ns FROM event WHERE id=2"), 3);
  ck_assert_int_eq (sql_integer (db, "SELECT start_ns FROM event WHERE id=3"), 3);
  ck_assert_int_eq (
      sql_integer (db,
                   "SELECT end_ns-(SELECT start_ns FROM event WHERE id=1) FROM event WHERE id=3"),
      0);
  sqlite3_close (db);
}
END_TEST

START_TEST (messages_have_rows_at_their_level) {
  Synthetic run = SYNTHETIC_SMALL;
  const LsTransfer transfer = {.algorithm = "ring", .protocol = "simple", .message_bytes = 4096};
  LsOp op = LS_OP_INIT;
  gint32 counters[2] = {0, 0};
  op.kind = LS_OP_COLLECTIVE;
  op.trace_kind = LS_KIND_ALL_REDUCE;
  op.axis = LS_AXIS_DATA;
  op.phase = LS_PHASE_BACKWARD;
  for (guint variant = 0; variant < 2; variant++) {
    const LsRecorderOptions options = {.level = variant == 0 ? LS_TRACE_OPS : LS_TRACE_MESSAGES};
    LsTraceMeta *meta = synthetic_meta_new (&run);
    g_autofree char *path = g_build_filename (folder, variant == 0 ? "a.db" : "b.db", NULL);
    LsRecorder *recorder = ls_recorder_new (path, meta, &options, NULL);
    const LsObserver *observer = ls_recorder_observer (recorder);
    ck_assert ((observer->message != NULL) == (variant == 1));
    for (guint round = 0; round < 3 && variant == 1; round++) {
      const LsMessageRecord message = {.group = 0,
                                       .sequence = 0,
                                       .round = round,
                                       .from = meta->groups[0].members[0],
                                       .to = meta->groups[0].members[1],
                                       .op = &op,
                                       .counters = counters,
                                       .transfer = &transfer,
                                       .bytes = 2048,
                                       .start_ps = 10000 * (gint64) round,
                                       .end_ps = 10000 * (gint64) round + 8000,
                                       .alone_ps = 5000,
                                       .bottleneck = 0,
                                       .last_rank = 1};
      observer->message (recorder, &message);
    }
    ck_assert (ls_recorder_finish (recorder, "complete", 30000, NULL));
    ls_recorder_free (recorder);
    sqlite3 *db = sql_open (folder, variant == 0 ? "a.db" : "b.db");
    ck_assert_int_eq (
        sql_integer (db, "SELECT count(*) FROM events WHERE kind='message' AND stream='messages'"
                         " AND class='communication' AND axis='data' AND phase='backward' AND"
                         " bytes=2048 AND duration_ns=8 AND slowed_ns=3 AND exposed_ns IS NULL AND"
                         " bottleneck IS NOT NULL AND name='message'"),
        variant == 0 ? 0 : 3);
    ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM collective JOIN event e ON"
                                       " e.collective_id=collective.id WHERE algorithm='ring' AND"
                                       " message_bytes=4096 AND e.peer<>e.rank"),
                      variant == 0 ? 0 : 3);
    /* every traced rank has the stream */
    ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM thread WHERE name='messages'"),
                      variant == 0 ? 0 : 4);
    sqlite3_close (db);
    synthetic_meta_free (meta);
  }
}
END_TEST

START_TEST (summaries_and_values_are_kept) {
  Synthetic run = SYNTHETIC_SMALL;
  LsTraceMeta *meta = synthetic_meta_new (&run);
  g_autofree char *path = g_build_filename (folder, "a.db", NULL);
  LsRecorder *recorder = ls_recorder_new (path, meta, &ops, NULL);
  ls_recorder_set_text (recorder, "scenario", "title: it's quoted\n");
  ls_recorder_set_real (recorder, "wall_s", 0.1);
  ls_recorder_set_real (recorder, "whole", 3);
  ls_recorder_set_integer (recorder, "seed", G_MAXINT64);
  ls_recorder_set_job_summary (recorder, 0, "{\"a\": 'b'}");
  ck_assert (ls_recorder_finish (recorder, "interrupted", 0, NULL));
  ls_recorder_free (recorder);
  synthetic_meta_free (meta);
  sqlite3 *db = sql_open (folder, "a.db");
  g_autofree char *scenario = sql_text (db, "SELECT value FROM run WHERE key='scenario'");
  g_autofree char *status = sql_text (db, "SELECT value FROM run WHERE key='status'");
  g_autofree char *summary = sql_text (db, "SELECT summary FROM job");
  g_autofree char *type = sql_text (db, "SELECT typeof(value) FROM run WHERE key='whole'");
  ck_assert_str_eq (scenario, "title: it's quoted\n");
  ck_assert_str_eq (status, "interrupted");
  ck_assert_str_eq (summary, "{\"a\": 'b'}");
  ck_assert_str_eq (type, "real");
  ck_assert_double_eq (sql_real (db, "SELECT value FROM run WHERE key='wall_s'"), 0.1);
  ck_assert_int_eq (sql_integer (db, "SELECT value FROM run WHERE key='seed'"), G_MAXINT64);
  sqlite3_close (db);
}
END_TEST

START_TEST (size_is_estimated) {
  /* within a third, for a run whose rows outweigh the fixed part */
  Synthetic run = {.n_ranks = 16, .n_steps = 10, .n_microbatches = 8, .n_kernels = 100, .seed = 1};
  sqlite3 *db = record (&run, "a.db", &ops);
  gint64 events = sql_integer (db, "SELECT count(*) FROM event");
  double bytes = (double) sql_integer (
      db, "SELECT page_count*page_size FROM pragma_page_count,pragma_page_size");
  double estimate = (double) ls_trace_estimate_bytes (LS_TRACE_OPS, events, 16, 16, 10);
  ck_assert_double_ge (estimate / bytes, 0.67);
  ck_assert_double_le (estimate / bytes, 1.5);
  sqlite3_close (db);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("trace/recorder");
  TCase *tests = tcase_create ("recorder");
  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, every_operation_has_a_row);
  tcase_add_test (tests, nothing_starts_before_its_cause_ends);
  tcase_add_test (tests, busy_and_idle_make_the_makespan);
  tcase_add_test (tests, parts_sum_to_the_step);
  tcase_add_test (tests, rows_say_what_the_records_said);
  tcase_add_test (tests, equal_runs_have_equal_dumps);
  tcase_add_test (tests, level_steps_has_steps_only);
  tcase_add_test (tests, steps_can_be_chosen);
  tcase_add_test (tests, steps_can_be_listed);
  tcase_add_test (tests, ranks_without_rows_have_representatives);
  tcase_add_test (tests, causes_that_come_later_are_filled_in);
  tcase_add_test (tests, messages_have_rows_at_their_level);
  tcase_add_test (tests, summaries_and_values_are_kept);
  tcase_add_test (tests, size_is_estimated);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
