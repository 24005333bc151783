/* Steps that several ask for are simulated once, and come out as the scenario alone gives them. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "cli/interrupt.h"
#include "cli/step_book.h"
#include "cli/step_time.h"

#define SCENARIO                                                                     \
  "lockstep: 1\n"                                                                    \
  "cluster: {nodes: 1, node: {preset: dgx-h100}}\n"                                  \
  "workload:\n"                                                                      \
  "  model: {kind: transformer, layers: 4, hidden: 1024, heads: 16, vocab: 32000}\n" \
  "  batch: {global: %d, micro: 1, seq_len: 1024}\n"                                 \
  "  parallel: {tensor: %d}\n"                                                       \
  "  stop: {steps: 1}\n"                                                             \
  "trace: {level: none}\n"

typedef struct {
  guint calls;
  double last;
} Seen;

static void on_progress (double share, gpointer self) {
  Seen *seen = self;

  ck_assert_double_ge (share, seen->last);
  seen->last = share;
  seen->calls++;
}

START_TEST (equal_texts_are_one_step) {
  g_autoptr (LsStepBook) book = ls_step_book_new ();
  g_autofree char *small = g_strdup_printf (SCENARIO, 8, 1);
  g_autofree char *again = g_strdup (small);
  g_autofree char *large = g_strdup_printf (SCENARIO, 64, 1);
  const LsBookedStep *first = ls_step_book_ask (book, small, 1);
  const LsBookedStep *longer = ls_step_book_ask (book, large, 8);
  Seen seen = {0};

  ck_assert_ptr_eq (ls_step_book_ask (book, again, 1), first);
  ck_assert_ptr_ne (longer, first);
  ck_assert_uint_eq (ls_step_book_n_steps (book), 2);
  ls_step_book_run (book, on_progress, &seen);
  ck_assert_uint_eq (seen.calls, 2);
  ck_assert_double_eq (seen.last, 1);
  ck_assert (first->done && longer->done);
  ck_assert_ptr_null (first->fault);
  /* Eight micro-batches in place of one; what comes once a step is less than the other seven. */
  ck_assert_double_gt (longer->step_s, first->step_s);

  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("row", small);
  g_autoptr (LsSummary) summary = ls_scenario_simulate (scenario, 0, NULL);
  ck_assert_double_eq (first->step_s, summary->step_time_s);
  ck_assert_int_eq (first->peak_bytes, summary->memory.peak_bytes);
  ck_assert_int_eq (first->reserved_bytes, summary->memory.reserved_bytes);
}
END_TEST

START_TEST (a_fault_is_told) {
  g_autoptr (LsStepBook) book = ls_step_book_new ();
  g_autofree char *yaml = g_strdup_printf (SCENARIO, 8, 3);
  const LsBookedStep *step = ls_step_book_ask (book, yaml, 1);

  ls_step_book_run (book, NULL, NULL);
  ck_assert (step->done);
  ck_assert_ptr_nonnull (step->fault);
  ck_assert_ptr_nonnull (strstr (step->fault, "error: "));
}
END_TEST

/* What an interrupt left undone is no result. */
START_TEST (an_interrupt_leaves_steps_undone) {
  g_autoptr (LsStepBook) book = ls_step_book_new ();
  g_autofree char *yaml = g_strdup_printf (SCENARIO, 8, 1);
  const LsBookedStep *step = ls_step_book_ask (book, yaml, 1);

  g_atomic_int_set (ls_interrupt_flag (), 1);
  ls_step_book_run (book, NULL, NULL);
  g_atomic_int_set (ls_interrupt_flag (), 0);
  ck_assert (!step->done);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, equal_texts_are_one_step);
  tcase_add_test (tcase, a_fault_is_told);
  tcase_add_test (tcase, an_interrupt_leaves_steps_undone);
}

LS_TEST_MAIN ("step_book", add)
