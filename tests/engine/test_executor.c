/* Executor: waits, loops, bundles, messages, collectives, deadlock, accounts; fused and observed runs agree. */
#include "bed.h"

#define US G_GINT64_CONSTANT (1000000)

typedef struct {
  gint64 end_ps[64];
  guint n;
  GArray *records; /* LsOpRecord, pointers not to be followed */
} Log;

static void log_op (gpointer self, const LsOpRecord *record) {
  Log *log = self;
  ck_assert_int_le (record->ready_ps, record->start_ps);
  ck_assert_int_le (record->start_ps, record->end_ps);
  ck_assert_int_le (record->alone_ps, record->end_ps - record->start_ps);
  g_array_append_val (log->records, *record);
}

static const LsObserver log_observer = {.op = log_op};

static Log *log_new (Bed *bed) {
  Log *log = g_new0 (Log, 1);
  log->records = g_array_new (FALSE, TRUE, sizeof (LsOpRecord));
  ls_engine_add_observer (bed->engine, &log_observer, log);
  for (guint r = 0; r < bed->n_ranks; r++)
    ls_engine_observe_rank (bed->engine, r, TRUE);
  return log;
}

static void log_free (Log *log) {
  g_array_unref (log->records);
  g_free (log);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Log, log_free)

static const LsOpRecord *log_find (Log *log, guint rank, guint stream, gint64 ordinal) {
  for (guint i = 0; i < log->records->len; i++) {
    const LsOpRecord *record = &g_array_index (log->records, LsOpRecord, i);
    if (record->rank == rank && record->stream == stream && record->ordinal == ordinal)
      return record;
  }
  ck_abort_msg ("no record of rank %u stream %u ordinal %d", rank, stream, (int) ordinal);
  return NULL;
}

START_TEST (kernels_in_nested_repeats) {
  /* 2 x (3 x 10 us + 5 us) = 70 us, 8 operations; one event per block. */
  g_autoptr (LsProgram) program = ls_program_new ("loops");
  guint s = ls_program_add_stream (program, "compute");
  LsOp ten = bed_kernel (10 * US, 1, 0.5), five = bed_kernel (5 * US, 1, 0.5);
  ls_program_repeat (program, s, 2);
  ls_program_repeat (program, s, 3);
  ls_program_add (program, s, &ten);
  ls_program_end_repeat (program, s);
  ls_program_add (program, s, &five);
  ls_program_end_repeat (program, s);
  bed_freeze (program);
  ck_assert_int_eq (ls_program_n_executed (program), 8);
  g_autoptr (Bed) bed = bed_new (1, 1e9, &program, 1);
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 70 * US);
  ck_assert_uint_eq (ls_engine_n_operations (bed->engine), 8);
  gint64 parts[LS_MAX_PARTS];
  ls_engine_account (bed->engine, 0, parts);
  ck_assert_int_eq (parts[0], 70 * US);
}
END_TEST

START_TEST (blocks_are_one_event) {
  g_autoptr (LsProgram) program = ls_program_new ("block");
  guint s = ls_program_add_stream (program, "compute");
  LsOp op = bed_kernel (US, 1, 0.5);
  for (guint i = 0; i < 100; i++)
    ls_program_add (program, s, &op);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (1, 1e9, &program, 1);
  bed_run (bed);
  ck_assert_uint_eq (ls_engine_n_events (bed->engine), 1);
  ck_assert_uint_eq (ls_engine_n_operations (bed->engine), 100);
}
END_TEST

/* Compute waits for the collective of the previous iteration (prefetch depth 1): the first passes freely. */
START_TEST (affine_waits_reach_across_iterations) {
  /* compute: 4 x 10 us, iteration i waits for collective i-1; collective i waits for compute i.
   * Collective takes 3 us: period 13 us; end = 4 x 10 + 3 x 3 + 3 (last collective). */
  g_autoptr (LsProgram) program = ls_program_new ("prefetch");
  guint compute = ls_program_add_stream (program, "compute"),
        comm = ls_program_add_stream (program, "comm");
  LsOp kernel = bed_kernel (10 * US, 1, 0.5), collective = bed_op (LS_OP_COLLECTIVE, 0, 0);
  ls_program_repeat (program, compute, 4);
  LsMark k = ls_program_add (program, compute, &kernel);
  ls_program_end_repeat (program, compute);
  ls_program_repeat (program, comm, 4);
  LsMark c = ls_program_add (program, comm, &collective);
  ls_program_end_repeat (program, comm);
  LsLoopMap previous = LS_LOOP_SHIFT (0, -1);
  ls_program_wait (program, k, c, &previous, 1);
  ls_program_wait_same (program, c, k);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (2, 1e9, &program, 1);
  bed->transfers[0] = (BedTransfer){.latency_ps = US, .bytes = 2000}; /* 1 us + 2000 B at 1 GB/s */
  g_autoptr (Log) log = log_new (bed);
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 52 * US);
  gint64 parts[LS_MAX_PARTS];
  ls_engine_account (bed->engine, 1, parts);
  ck_assert_int_eq (parts[0],
                    40 * US + 3 * US); /* kernels, and the tail after the last one (idle part 0) */
  ck_assert_int_eq (parts[2], 9 * US); /* exposed communication */
  const LsOpRecord *second = log_find (log, 0, 0, 1);
  ck_assert_uint_eq (second->cause.stream, 1);
  ck_assert_int_eq (second->cause.ordinal, 0);
  ck_assert_int_eq (log_find (log, 0, 1, 0)->exposed_ps, 3 * US);
}
END_TEST

START_TEST (overlap_hides_communication) {
  /* A collective beside a kernel that is not slowed (no SMs held, no memory): exposed 0. */
  g_autoptr (LsProgram) program = ls_program_new ("overlap");
  guint compute = ls_program_add_stream (program, "compute"),
        comm = ls_program_add_stream (program, "comm");
  LsOp kernel = bed_kernel (10 * US, 1, 0.5), collective = bed_op (LS_OP_COLLECTIVE, 0, 0);
  ls_program_add (program, compute, &kernel);
  ls_program_add (program, comm, &collective);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (2, 1e9, &program, 1);
  bed->transfers[0] = (BedTransfer){.latency_ps = US, .bytes = 2000};
  g_autoptr (Log) log = log_new (bed);
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 10 * US);
  ck_assert_int_eq (log_find (log, 0, 1, 0)->exposed_ps, 0);
}
END_TEST

START_TEST (bundles_do_not_deadlock) {
  /* Two ranks send to each other and receive at once, full duplex: 1 us + 2000 B / 1 GB/s = 3 us, not 6. */
  g_autoptr (LsProgram) program = ls_program_new ("bundle");
  guint s = ls_program_add_stream (program, "compute");
  LsOp bundle = bed_op (LS_OP_BUNDLE, 2, 0), send = bed_op (LS_OP_SEND, 0, 0),
       recv = bed_op (LS_OP_RECV, 0, 0);
  const gint64 peers[] = {1, 0};
  send.flags = recv.flags = LS_OP_PEER_TABLE;
  ls_program_add (program, s, &bundle);
  ls_program_add (program, s, &send);
  ls_program_add (program, s, &recv);
  bed_freeze (program);
  ck_assert_int_eq (ls_program_n_executed (program), 2);
  g_autoptr (Bed) bed = bed_new (2, 1e9, &program, 1);
  bed->transfers[0] = (BedTransfer){.latency_ps = US, .bytes = 2000};
  ls_engine_add_table (bed->engine, peers);
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 3 * US);
  for (guint r = 0; r < 2; r++) {
    ck_assert_int_eq (ls_engine_bytes_sent (bed->engine, r), 2000);
    ck_assert_int_eq (ls_engine_bytes_received (bed->engine, r), 2000);
  }
}
END_TEST

/* Rank 0 sends then receives, rank 1 sends then receives, all rendezvous: a cycle. */
START_TEST (deadlock_is_a_cycle) {
  g_autoptr (LsProgram) program = ls_program_new ("deadlock");
  guint s = ls_program_add_stream (program, "pipeline");
  LsOp send = bed_op (LS_OP_SEND, 0, 0), recv = bed_op (LS_OP_RECV, 0, 0);
  const gint64 peers[] = {1, 0};
  send.flags = recv.flags = LS_OP_PEER_TABLE;
  ls_program_add (program, s, &send);
  ls_program_add (program, s, &recv);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (2, 1e9, &program, 1);
  bed->transfers[0] = (BedTransfer){.bytes = 2000};
  ls_engine_add_table (bed->engine, peers);
  g_autoptr (GError) error = NULL;
  ck_assert (!ls_engine_run (bed->engine, G_MAXINT64, NULL, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_RUN));
  ck_assert_ptr_nonnull (strstr (error->message, "rank 0, stream pipeline"));
  ck_assert_ptr_nonnull (strstr (error->message, "waits in a send or receive for rank 1"));
  ck_assert_ptr_nonnull (strstr (error->message, "and so back to rank 0"));
}
END_TEST

START_TEST (eager_sends_break_the_cycle) {
  g_autoptr (LsProgram) program = ls_program_new ("eager");
  guint s = ls_program_add_stream (program, "compute");
  LsOp send = bed_op (LS_OP_SEND, 0, 0), recv = bed_op (LS_OP_RECV, 0, 0),
       late = bed_kernel (10 * US, 1, 0);
  const gint64 peers[] = {1, 0};
  send.flags = LS_OP_PEER_TABLE | LS_OP_EAGER;
  recv.flags = LS_OP_PEER_TABLE;
  for (guint i = 0; i < 3; i++)
    ls_program_add (program, s, &send);
  ls_program_add (program, s, &late);
  for (guint i = 0; i < 3; i++)
    ls_program_add (program, s, &recv);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (2, 1e9, &program, 1);
  bed->transfers[0] =
      (BedTransfer){.bytes = 2000}; /* three at once: 6 us, hidden behind the kernel */
  ls_engine_add_table (bed->engine, peers);
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 10 * US);
  ck_assert_int_eq (ls_engine_bytes_received (bed->engine, 1), 6000);
}
END_TEST

START_TEST (mismatched_collectives_are_an_error) {
  g_autoptr (LsProgram) one = ls_program_new ("one");
  g_autoptr (LsProgram) two = ls_program_new ("two");
  LsProgram *programs[] = {one, two};
  for (guint i = 0; i < 2; i++) {
    guint s = ls_program_add_stream (programs[i], "comm");
    LsOp op = bed_op (LS_OP_COLLECTIVE, (guint16) i, 0);
    ls_program_add (programs[i], s, &op);
    bed_freeze (programs[i]);
  }
  g_autoptr (Bed) bed = bed_new (2, 1e9, programs, 2);
  g_autoptr (GError) error = NULL;
  ck_assert (!ls_engine_run (bed->engine, G_MAXINT64, NULL, &error));
  ck_assert_ptr_nonnull (strstr (error->message, "do not match"));
}
END_TEST

START_TEST (waiting_is_blamed_on_what_the_last_did) {
  /* Rank 1 computes 10 us, rank 0 only 4: rank 0 waits 6 us (wait part 3), then both communicate 3 us. */
  LsProgram *programs[2];
  for (guint i = 0; i < 2; i++) {
    programs[i] = ls_program_new ("straggler");
    guint s = ls_program_add_stream (programs[i], "compute");
    LsOp kernel = bed_kernel (i ? 10 * US : 4 * US, 1, 0.5), op = bed_op (LS_OP_COLLECTIVE, 0, 0);
    op.flags = LS_OP_MARK;
    ls_program_add (programs[i], s, &kernel);
    ls_program_add (programs[i], s, &op);
    bed_freeze (programs[i]);
  }
  g_autoptr (Bed) bed = bed_new (2, 1e9, programs, 2);
  bed->transfers[0] = (BedTransfer){.latency_ps = US, .bytes = 2000};
  g_autoptr (Log) log = log_new (bed);
  bed_run (bed);
  gint64 parts[LS_MAX_PARTS];
  ls_engine_account (bed->engine, 0, parts);
  ck_assert_int_eq (parts[0], 4 * US);
  ck_assert_int_eq (parts[2], 3 * US);
  ck_assert_int_eq (parts[3], 6 * US);
  ck_assert_int_eq (ls_engine_caused_wait_ps (bed->engine, 1), 6 * US);
  const LsOpRecord *record = log_find (log, 0, 0, 1);
  ck_assert_uint_eq (record->cause.rank, 1); /* the other's kernel let it start */
  ck_assert_uint_eq (record->last_rank, 1);
  ck_assert_int_eq (record->start_ps - record->ready_ps, 6 * US);
  for (guint i = 0; i < 2; i++)
    ls_program_unref (programs[i]);
}
END_TEST

START_TEST (memory_peaks_are_those_that_last) {
  /* Claims 100 (kind 0) for the first kernel and 50 (kind 1) for both; 100 is released when the second claims 80. */
  g_autoptr (LsProgram) program = ls_program_new ("memory");
  guint s = ls_program_add_stream (program, "compute");
  LsOp a = bed_kernel (US, 1, 0), b = bed_kernel (US, 1, 0), keep = LS_OP_INIT;
  keep.kind = LS_OP_MEMORY;
  keep.claim_bytes = 50;
  keep.claim_kind = 1;
  a.claim_bytes = a.release_bytes = 100;
  b.claim_bytes = 80;
  ls_program_add (program, s, &keep);
  ls_program_add (program, s, &a);
  ls_program_add (program, s, &b);
  bed_freeze (program);
  for (guint observed = 0; observed < 2; observed++) {
    g_autoptr (Bed) bed = bed_new (1, 1e9, &program, 1);
    g_autoptr (Log) log = observed ? log_new (bed) : NULL;
    bed_run (bed);
    gint64 kinds[LS_MEMORY_KINDS];
    ck_assert_int_eq (ls_engine_memory_peak (bed->engine, 0, kinds), 150);
    ck_assert_int_eq (kinds[0], 100);
    ck_assert_int_eq (kinds[1], 50);
    ck_assert_int_eq (ls_engine_memory_now (bed->engine, 0, 0), 80);
  }
}
END_TEST

/* A random program of kernels and collectives on three streams; same on every rank but for jitter. */
static LsProgram *random_program (guint64 seed) {
  LsRandom random;
  ls_random_init (&random, seed, "test/program", 0);
  LsProgram *program = ls_program_new ("random");
  guint compute = ls_program_add_stream (program, "compute"),
        comm = ls_program_add_stream (program, "comm");
  LsMark last_kernel = {0}, last_collective = {0};
  ls_program_repeat (program, compute, 3);
  ls_program_repeat (program, comm, 3);
  for (guint i = 0; i < 30; i++) {
    guint64 draw = ls_random_u64 (&random);
    if (draw % 3) {
      LsOp op = bed_kernel ((gint64) (draw >> 8) % (20 * US), 0.3 + (double) (draw % 7) / 10,
                            (double) (draw % 11) / 10);
      op.claim_bytes = (gint64) (draw % 1000);
      op.release_bytes = op.claim_bytes;
      op.part = draw % 2;
      last_kernel = ls_program_add (program, compute, &op);
      if (last_collective.valid && draw % 5 == 0)
        ls_program_wait_same (program, last_kernel, last_collective);
    } else {
      LsOp op = bed_op (LS_OP_COLLECTIVE, (guint16) (draw % 4), 0);
      op.claim_bytes = op.release_bytes = 500;
      op.claim_kind = op.release_kind = 2;
      last_collective = ls_program_add (program, comm, &op);
      if (last_kernel.valid)
        ls_program_wait_same (program, last_collective, last_kernel);
    }
  }
  ls_program_end_repeat (program, compute);
  ls_program_end_repeat (program, comm);
  bed_freeze (program);
  return program;
}

static gint64 jitter (gpointer self, guint rank, guint stream, gint64 ordinal, const LsOp *op,
                      gint64 work_ps) {
  (void) op;
  guint64 draw = ls_random_hash (*(guint64 *) self, rank * 16 + stream, (guint64) ordinal);
  return work_ps + (gint64) (draw % 1000) * work_ps / 4000;
}

static gint64 identity (gpointer self, guint rank, guint stream, gint64 ordinal, const LsOp *op,
                        gint64 work_ps) {
  (void) self, (void) rank, (void) stream, (void) ordinal, (void) op;
  return work_ps;
}

typedef struct {
  gint64 end_ps, peak, parts[LS_MAX_PARTS];
} Outcome;

static Outcome run_random (LsProgram *program, gboolean observed, LsWorkFunc func, guint64 seed) {
  g_autoptr (Bed) bed = bed_new (4, 5e10, &program, 1);
  for (guint i = 0; i < 4; i++)
    bed->transfers[i] = (BedTransfer){.latency_ps = (gint64) i * US,
                                      .bytes = 40000 * i,
                                      .memory_usage = 1.5,
                                      .sm_held = 0.1 * i,
                                      .beside = 0.8};
  g_autoptr (Log) log = observed ? log_new (bed) : NULL;
  if (func)
    ls_engine_set_work_func (bed->engine, func, &seed);
  bed_run (bed);
  Outcome outcome = {.end_ps = ls_engine_now_ps (bed->engine),
                     .peak = ls_engine_memory_peak (bed->engine, 1, NULL)};
  ls_engine_account (bed->engine, 1, outcome.parts);
  gint64 sum = 0;
  for (guint p = 0; p < LS_MAX_PARTS; p++)
    sum += outcome.parts[p];
  ck_assert_int_eq (sum, outcome.end_ps);
  return outcome;
}

START_TEST (fused_observed_and_kernel_by_kernel_agree) {
  /* However blocks are cut or expanded, every time, peak and account is the same to the picosecond. */
  g_autoptr (LsProgram) program = random_program ((guint64) _i);
  Outcome fused = run_random (program, FALSE, NULL, 0),
          observed = run_random (program, TRUE, NULL, 0);
  Outcome walked = run_random (program, FALSE, identity, 0);
  ck_assert_mem_eq (&fused, &observed, sizeof fused);
  ck_assert_mem_eq (&fused, &walked, sizeof fused);
  guint64 seed = (guint64) _i;
  Outcome once = run_random (program, FALSE, jitter, seed),
          twice = run_random (program, TRUE, jitter, seed);
  ck_assert_mem_eq (&once, &twice, sizeof once);
}
END_TEST

START_TEST (two_engines_do_not_disturb_each_other) {
  g_autoptr (LsProgram) program = random_program (99);
  Outcome alone = run_random (program, FALSE, NULL, 0);
  g_autoptr (Bed) other = bed_new (4, 1e9, &program, 1);
  for (guint i = 0; i < 4; i++)
    other->transfers[i] = (BedTransfer){.latency_ps = US, .bytes = 1000};
  g_autoptr (GError) error = NULL;
  ck_assert (ls_engine_run (other->engine, 50 * US, NULL, &error)); /* stopped in the middle */
  Outcome beside = run_random (program, FALSE, NULL, 0);
  ck_assert_mem_eq (&alone, &beside, sizeof alone);
  bed_run (other);
}
END_TEST

START_TEST (interrupt_is_an_error_of_its_own) {
  g_autoptr (LsProgram) program = ls_program_new ("long");
  guint s = ls_program_add_stream (program, "compute");
  LsOp op = bed_op (LS_OP_DELAY, 0, 0);
  op.work_ps = US;
  ls_program_repeat (program, s, 100000);
  ls_program_add (program, s, &op);
  ls_program_end_repeat (program, s);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (1, 1e9, &program, 1);
  gint stop = 1;
  g_autoptr (GError) error = NULL;
  ck_assert (!ls_engine_run (bed->engine, G_MAXINT64, &stop, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_INTERRUPTED));
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("executor");
  TCase *tcase = tcase_create ("programs");
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, kernels_in_nested_repeats);
  tcase_add_test (tcase, blocks_are_one_event);
  tcase_add_test (tcase, affine_waits_reach_across_iterations);
  tcase_add_test (tcase, overlap_hides_communication);
  tcase_add_test (tcase, bundles_do_not_deadlock);
  tcase_add_test (tcase, deadlock_is_a_cycle);
  tcase_add_test (tcase, eager_sends_break_the_cycle);
  tcase_add_test (tcase, mismatched_collectives_are_an_error);
  tcase_add_test (tcase, waiting_is_blamed_on_what_the_last_did);
  tcase_add_test (tcase, memory_peaks_are_those_that_last);
  tcase_add_loop_test (tcase, fused_observed_and_kernel_by_kernel_agree, 0, 60);
  tcase_add_test (tcase, two_engines_do_not_disturb_each_other);
  tcase_add_test (tcase, interrupt_is_an_error_of_its_own);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
