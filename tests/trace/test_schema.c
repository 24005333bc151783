/* The schema of the trace: names of tables, columns, views and indexes that scripts rely on. */
#include "trace/check_sql.h"
#include "trace/database.h"
#include "trace/schema.h"
#include "trace/synthetic.h"

/* Tables and their columns, in order. step and step_rank have one column more per account part. */
static const char *const contract[][2] = {
    {"run", "key value"},
    {"string", "id value"},
    {"kind", "id name class"},
    {"axis", "id name"},
    {"phase", "id name"},
    {"job", "id name policy gpus start_ns summary"},
    {"node", "id name node_group gpu rack"},
    {"rank_class", "class rank size"},
    {"rank", "rank job_id job_rank role node device mig class dp tp pp cp ep"},
    {"resource", "id kind name node rank source target tier capacity unit"},
    {"stream", "id name"},
    {"comm_group", "id job_id axis_id size"},
    {"comm_member", "group_id position rank"},
    {"collective",
     "id group_id sequence algorithm protocol message_bytes first_ready_ns last_ready_ns "
     "last_rank"},
    {"event",
     "id step rank stream_id kind_id axis_id phase_id name_id layer microbatch chunk "
     "collective_id peer start_ns end_ns wait_ns slowed_ns exposed_ns flops bytes cause_id "
     "cause_rank cause_resource_id bottleneck_id"},
    {"sample", "rank resource_id name_id t_ns value"},
    {"step",
     "job_id step start_ns end_ns tokens compute_ns memory_bound_ns exposed_tensor_ns "
     "exposed_data_ns exposed_zero_ns exposed_pipeline_ns exposed_expert_ns exposed_context_ns "
     "exposed_server_ns pipeline_bubble_ns straggler_wait_ns optimizer_ns input_ns "
     "checkpoint_ns recovery_ns other_ns exposed_offload_ns"},
    {"step_rank",
     "job_id step rank compute_ns memory_bound_ns exposed_tensor_ns exposed_data_ns "
     "exposed_zero_ns exposed_pipeline_ns exposed_expert_ns exposed_context_ns "
     "exposed_server_ns pipeline_bubble_ns straggler_wait_ns optimizer_ns input_ns "
     "checkpoint_ns recovery_ns other_ns exposed_offload_ns caused_wait_ns peak_bytes"},
    {"fault",
     "id replica job_id component kind node rank resource_id domain start_us end_us lost_gpu_s "
     "cause n_nodes"},
    {"interval", "id replica job_id kind start_us end_us gpus spares_free steps tokens fault_id"},
    {"gradient", "id replica job_id worker clock read_version applied_version staleness read_ns "
                 "computed_ns arrived_ns applied_ns action reason scale samples"},
    {"update_log",
     "id replica job_id operation worker shard version peer_set gradient_id t_ns peer closes"},
    {"kept_steps", "replica job_id start_us end_us steps workers samples"},
    {"metric", "replica job_id name updates samples t_ns value"},
    {"events",
     "id job step rank node dp tp pp stream kind class axis phase name layer microbatch chunk "
     "collective_id peer start_ns end_ns duration_ns wait_ns slowed_ns exposed_ns flops bytes "
     "cause_id cause_resource bottleneck members"},
    {"sample_spans", "rank resource_id name_id start_ns end_ns value"},
    /* as in Perfetto's trace processor */
    {"slice", "id ts dur track_id category name depth parent_id arg_set_id"},
    {"thread_track", "id name utid"},
    {"process_track", "id name upid"},
    {"thread", "utid tid name upid"},
    {"process", "upid pid name"},
    {"counter", "id ts track_id value"},
    {"counter_track", "id name"},
};

static const char *const index_contract[] = {"event_rank_start", "event_cause", "event_step_end",
                                             "event_collective", "sample_rank", "sample_resource"};

static char *folder;
static sqlite3 *db;

static void set_up (void) {
  folder = synthetic_folder_new ();
  g_autofree char *path = g_build_filename (folder, "a.db", NULL);
  Synthetic run = SYNTHETIC_SMALL;
  LsRecorderOptions options = {.level = LS_TRACE_OPS};
  GError *error = NULL;
  ck_assert_msg (synthetic_record (&run, path, &options, &error), "%s",
                 error != NULL ? error->message : "");
  db = sql_open (folder, "a.db");
}

static void tear_down (void) {
  sqlite3_close (db);
  synthetic_folder_remove (folder);
}

START_TEST (columns_are_those_of_the_contract) {
  for (gsize i = 0; i < G_N_ELEMENTS (contract); i++) {
    g_autofree char *sql =
        g_strdup_printf ("SELECT coalesce(group_concat(name,' '),'') FROM (SELECT name FROM "
                         "pragma_table_info('%s') ORDER BY cid)",
                         contract[i][0]);
    g_autofree char *columns = sql_text (db, sql);
    if (!g_str_equal (columns, contract[i][1]))
      ck_abort_msg ("%s has columns\n  %s, not\n  %s", contract[i][0], columns, contract[i][1]);
  }
}
END_TEST

START_TEST (indexes_exist_after_closing) {
  for (gsize i = 0; i < G_N_ELEMENTS (index_contract); i++) {
    g_autofree char *sql = g_strdup_printf (
        "SELECT count(*) FROM sqlite_master WHERE type='index' AND name='%s'", index_contract[i]);
    ck_assert_int_eq (sql_integer (db, sql), 1);
  }
}
END_TEST

START_TEST (file_says_what_it_is) {
  /* the bytes LOCK */
  ck_assert_int_eq (sql_integer (db, "PRAGMA application_id"), 0x4c4f434b);
  ck_assert_int_eq (sql_integer (db, "PRAGMA user_version"), 1);
  g_autofree char *journal = sql_text (db, "PRAGMA journal_mode");
  ck_assert_str_eq (journal, "delete");
  g_autofree char *health = sql_text (db, "PRAGMA integrity_check");
  ck_assert_str_eq (health, "ok");
  /* STRICT tables would keep readers older than SQLite 3.37 out */
  ck_assert_int_eq (
      sql_integer (db, "SELECT count(*) FROM sqlite_master WHERE sql LIKE '%STRICT%'"), 0);
}
END_TEST

START_TEST (perfetto_views_show_the_same_events) {
  ck_assert_int_eq (sql_integer (db, "SELECT count(*) FROM slice"),
                    sql_integer (db, "SELECT count(*) FROM event"));
  /* every slice is on a track of a thread of a process */
  ck_assert_int_eq (
      sql_integer (db, "SELECT count(*) FROM slice s JOIN thread_track t ON t.id=s.track_id"
                       " JOIN thread USING(utid) JOIN process USING(upid)"),
      sql_integer (db, "SELECT count(*) FROM event"));
  ck_assert_int_eq (
      sql_integer (db, "SELECT count(*) FROM counter c JOIN counter_track t ON t.id=c.track_id"),
      sql_integer (db, "SELECT count(*) FROM sample"));
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("trace/schema");
  TCase *tests = tcase_create ("schema");
  tcase_add_checked_fixture (tests, set_up, tear_down);
  tcase_add_test (tests, columns_are_those_of_the_contract);
  tcase_add_test (tests, indexes_exist_after_closing);
  tcase_add_test (tests, file_says_what_it_is);
  tcase_add_test (tests, perfetto_views_show_the_same_events);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed != 0;
}
