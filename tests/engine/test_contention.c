/* The two layers together, control from outside, and the engine as a queueing system (M/M/1). */
#include <math.h>

#include "bed.h"

#define US G_GINT64_CONSTANT (1000000)

static void note_mark (gpointer self, guint rank, const LsOp *op, const gint32 *counters,
                       gint64 t_ps) {
  (void) rank, (void) op, (void) counters;
  *(gint64 *) self = t_ps;
}

static const LsObserver mark_observer = {.mark = note_mark};

/* End of a kernel of 10 us alone beside a copy of `bytes` over a link of 10 GB/s that starts with it. */
static gint64 kernel_beside_copy (double sm, double hbm, double sm_held, double memory_usage,
                                  gint64 bytes) {
  g_autoptr (LsProgram) program = ls_program_new ("beside");
  guint compute = ls_program_add_stream (program, "compute"),
        copies = ls_program_add_stream (program, "copy");
  LsOp kernel = bed_kernel (10 * US, sm, hbm), copy = bed_op (LS_OP_COPY, 0, 0);
  kernel.flags = LS_OP_MARK;
  ls_program_add (program, compute, &kernel);
  ls_program_add (program, copies, &copy);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (1, 1e10, &program, 1);
  bed->transfers[0] =
      (BedTransfer){.bytes = bytes, .memory_usage = memory_usage, .sm_held = sm_held};
  gint64 kernel_end_ps = -1;
  ls_engine_add_observer (bed->engine, &mark_observer, &kernel_end_ps);
  bed_run (bed);
  return kernel_end_ps;
}

START_TEST (kernel_loses_held_sms) {
  /* 25 % of the SMs held all along: a compute-bound kernel takes 10 / 0.75 us. */
  ck_assert_int_eq (kernel_beside_copy (1, 0, 0.25, 0, 200000),
                    (gint64) llround (10e6 / 0.75)); /* the copy lasts 20 us */
}
END_TEST

START_TEST (held_sms_are_at_most_half) {
  ck_assert_int_eq (kernel_beside_copy (1, 0, 0.9, 0, 300000), 20 * US);
}
END_TEST

START_TEST (cut_at_the_end_of_the_transfer) {
  /* 20 % held for 5 us: 4 us of work done; the other 6 us alone: 11 us. */
  ck_assert_int_eq (kernel_beside_copy (1, 0, 0.2, 0, 50000), 11 * US);
}
END_TEST

START_TEST (kernel_shares_memory_bandwidth) {
  /* Device memory 1 TB/s; the copy at 10 GB/s uses 30 bytes of memory per byte = 300 GB/s, leaving 0.7.
   * A memory-bound kernel takes 10 / 0.7 us; one that needs only 0.6 of it is not slowed. */
  ck_assert_int_eq (kernel_beside_copy (0.5, 1, 0, 30, 150000), (gint64) llround (10e6 / 0.7));
  ck_assert_int_eq (kernel_beside_copy (1, 0.6, 0, 30, 90000), 10 * US);
}
END_TEST

START_TEST (transfers_get_at_most_half_the_memory) {
  /* 100 bytes of memory per byte at 10 GB/s would be the whole 1 TB/s: it gets half, so 50 kB take 10 us,
   * and a memory-bound kernel beside it runs at half speed for those: 5 us of work; it ends at 15 us. */
  ck_assert_int_eq (kernel_beside_copy (0.1, 1, 0, 100, 50000), 15 * US);
}
END_TEST

START_TEST (collective_suffers_beside_compute) {
  /* Both members compute when it starts and the factor is 0.5: 20 kB at 5 GB/s = 4 us. With one of two: 0.75. */
  for (guint busy = 0; busy <= 2; busy++) {
    LsProgram *programs[2];
    for (guint i = 0; i < 2; i++) {
      programs[i] = ls_program_new ("beside");
      guint compute = ls_program_add_stream (programs[i], "compute"),
            comm = ls_program_add_stream (programs[i], "comm");
      LsOp kernel = bed_kernel (2 * US, 1, 0), collective = bed_op (LS_OP_COLLECTIVE, 0, 0);
      if (i < busy)
        ls_program_add (programs[i], compute, &kernel);
      ls_program_add (programs[i], comm, &collective);
      bed_freeze (programs[i]);
    }
    g_autoptr (Bed) bed = bed_new (2, 1e10, programs, 2);
    bed->transfers[0] = (BedTransfer){.bytes = 20000, .beside = 0.5};
    bed_run (bed);
    double expected_us = 2 / (1 - 0.25 * busy);
    ck_assert_int_eq (ls_engine_now_ps (bed->engine), (gint64) llround (expected_us * 1e6));
    for (guint i = 0; i < 2; i++)
      ls_program_unref (programs[i]);
  }
}
END_TEST

START_TEST (two_kernels_share_a_device) {
  /* Two streams, both need all SMs for 10 us: each runs at half speed, both end at 20 us. */
  g_autoptr (LsProgram) program = ls_program_new ("two");
  LsOp kernel = bed_kernel (10 * US, 1, 0.1);
  for (guint i = 0; i < 2; i++)
    ls_program_add (program, ls_program_add_stream (program, "s"), &kernel);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (1, 1e9, &program, 1);
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 20 * US);
}
END_TEST

static void half_speed (gpointer self, LsEngine *engine) {
  ls_engine_set_device_speed (engine, GPOINTER_TO_UINT (self), 0.5);
}
static void full_speed (gpointer self, LsEngine *engine) {
  ls_engine_set_device_speed (engine, GPOINTER_TO_UINT (self), 1);
}
static void stop_link (gpointer self, LsEngine *engine) {
  ls_engine_set_capacity (engine, GPOINTER_TO_UINT (self), 0);
}
static void restore_link (gpointer self, LsEngine *engine) {
  ls_engine_set_capacity (engine, GPOINTER_TO_UINT (self), 1e10);
}

START_TEST (throttling_in_mid_kernel) {
  /* Full speed to 4 us, half to 8 us (2 us of work), full again: 10 us of work end at 12 us. */
  g_autoptr (LsProgram) program = ls_program_new ("throttle");
  LsOp kernel = bed_kernel (10 * US, 1, 0);
  ls_program_add (program, ls_program_add_stream (program, "s"), &kernel);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (1, 1e9, &program, 1);
  ls_engine_schedule (bed->engine, 4 * US, 0, half_speed, GUINT_TO_POINTER (0));
  ls_engine_schedule (bed->engine, 8 * US, 0, full_speed, GUINT_TO_POINTER (0));
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 12 * US);
}
END_TEST

START_TEST (link_down_and_up_again) {
  /* 100 kB at 10 GB/s = 10 us, link at zero from 3 to 8 us: ends at 15 us. */
  g_autoptr (LsProgram) program = ls_program_new ("down");
  LsOp copy = bed_op (LS_OP_COPY, 0, 0);
  ls_program_add (program, ls_program_add_stream (program, "s"), &copy);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (1, 1e10, &program, 1);
  bed->transfers[0] = (BedTransfer){.bytes = 100000};
  ls_engine_schedule (bed->engine, 3 * US, 0, stop_link, GUINT_TO_POINTER (bed->up[0]));
  ls_engine_schedule (bed->engine, 8 * US, 0, restore_link, GUINT_TO_POINTER (bed->up[0]));
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), 15 * US);
}
END_TEST

START_TEST (standing_still_for_ever_is_reported) {
  g_autoptr (LsProgram) program = ls_program_new ("stuck");
  LsOp copy = bed_op (LS_OP_COPY, 0, 0);
  ls_program_add (program, ls_program_add_stream (program, "s"), &copy);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (1, 1e10, &program, 1);
  bed->transfers[0] = (BedTransfer){.bytes = 100000};
  ls_engine_schedule (bed->engine, 3 * US, 0, stop_link, GUINT_TO_POINTER (bed->up[0]));
  g_autoptr (GError) error = NULL;
  ck_assert (!ls_engine_run (bed->engine, G_MAXINT64, NULL, &error));
  ck_assert_ptr_nonnull (strstr (error->message, "no capacity"));
}
END_TEST

START_TEST (puts_need_no_receiver) {
  g_autoptr (LsProgram) program = ls_program_new ("put");
  guint s = ls_program_add_stream (program, "s");
  LsOp put = bed_op (LS_OP_PUT, 0, 0);
  const gint64 peers[] = {1, 0};
  put.flags = LS_OP_PEER_TABLE;
  ls_program_add (program, s, &put);
  bed_freeze (program);
  g_autoptr (Bed) bed = bed_new (2, 1e9, &program, 1);
  bed->transfers[0] = (BedTransfer){.bytes = 1000};
  ls_engine_add_table (bed->engine, peers);
  bed_run (bed);
  ck_assert_int_eq (ls_engine_now_ps (bed->engine), US);
}
END_TEST

/* --- M/M/1 --- */

typedef struct {
  LsRandom arrivals, services;
  guint in_system, left;
  gint64 last_ps;
  double area; /* of the number in the system over time */
} Station;

static gint64 exponential_ps (LsRandom *random, double mean_s) {
  return 1 + (gint64) (-log1p (-ls_random_uniform (random)) * mean_s * 1e12);
}

static void note (Station *station, LsEngine *engine) {
  station->area += (double) (ls_engine_now_ps (engine) - station->last_ps) * station->in_system;
  station->last_ps = ls_engine_now_ps (engine);
}

static void depart (gpointer self, LsEngine *engine) {
  Station *station = self;
  note (station, engine);
  if (--station->in_system > 0)
    ls_engine_schedule (engine,
                        ls_engine_now_ps (engine) + exponential_ps (&station->services, 1e-6), 1,
                        depart, self);
}

static void arrive (gpointer self, LsEngine *engine) {
  Station *station = self;
  note (station, engine);
  if (station->in_system++ == 0)
    ls_engine_schedule (engine,
                        ls_engine_now_ps (engine) + exponential_ps (&station->services, 1e-6), 1,
                        depart, self);
  if (--station->left > 0)
    ls_engine_schedule (engine,
                        ls_engine_now_ps (engine) + exponential_ps (&station->arrivals, 2e-6), 1,
                        arrive, self);
}

START_TEST (mm1_mean_number_in_system) {
  /* M/M/1 with rho = 0.5: L = rho / (1 - rho) = 1 (Kleinrock, Queueing Systems I, 3.2).
   * The estimate of L over N arrivals has a standard error near sqrt(2 rho (1 + 4 rho - 4 rho^2 + rho^3) /
   * ((1 - rho)^4 N)) (Whitt 1989, heavy-traffic sample sizes); N = 400,000: 0.0098; tolerance 4 of them. */
  g_autoptr (LsEngine) engine = ls_engine_new ();
  guint n = bed_scaled (400000);
  Station station = {.left = n};
  ls_random_init (&station.arrivals, 42, "arrivals", 0);
  ls_random_init (&station.services, 42, "services", 0);
  ls_engine_schedule (engine, 0, 1, arrive, &station);
  ck_assert (ls_engine_run (engine, G_MAXINT64, NULL, NULL));
  double mean = station.area / (double) ls_engine_now_ps (engine);
  double rho = 0.5, error = sqrt (2 * rho * (1 + 4 * rho - 4 * rho * rho + rho * rho * rho) /
                                  (pow (1 - rho, 4) * n));
  ck_assert_double_eq_tol (mean, 1.0, 4 * error);
}
END_TEST

static void count_call (gpointer self, LsEngine *engine) {
  (void) engine;
  ++*(guint *) self;
}

START_TEST (timers_by_handle) {
  g_autoptr (LsEngine) engine = ls_engine_new ();
  guint calls = 0;
  guint64 a = ls_engine_schedule (engine, 10, 1, count_call, &calls);
  guint64 b = ls_engine_schedule (engine, 20, 1, count_call, &calls);
  ck_assert (ls_engine_cancel_timer (engine, a));
  ck_assert (!ls_engine_cancel_timer (engine, a));
  ck_assert (ls_engine_run (engine, G_MAXINT64, NULL, NULL));
  ck_assert_uint_eq (calls, 1);
  ck_assert_int_eq (ls_engine_now_ps (engine), 20);
  ck_assert (!ls_engine_cancel_timer (engine, b));
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("contention");
  TCase *tcase = tcase_create ("layers");
  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, kernel_loses_held_sms);
  tcase_add_test (tcase, held_sms_are_at_most_half);
  tcase_add_test (tcase, cut_at_the_end_of_the_transfer);
  tcase_add_test (tcase, kernel_shares_memory_bandwidth);
  tcase_add_test (tcase, transfers_get_at_most_half_the_memory);
  tcase_add_test (tcase, collective_suffers_beside_compute);
  tcase_add_test (tcase, two_kernels_share_a_device);
  tcase_add_test (tcase, throttling_in_mid_kernel);
  tcase_add_test (tcase, link_down_and_up_again);
  tcase_add_test (tcase, standing_still_for_ever_is_reported);
  tcase_add_test (tcase, puts_need_no_receiver);
  tcase_add_test (tcase, mm1_mean_number_in_system);
  tcase_add_test (tcase, timers_by_handle);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
