/* Errors, assertions and suggestions. */
#include "base/assert.h"
#include "base/distance.h"
#include "base/error.h"
#include "suite.h"

#include <signal.h>

START_TEST (exit_statuses_are_those_of_the_commands) {
  g_autoptr (GError) config = g_error_new (LS_ERROR, LS_ERROR_CONFIG, "x");
  g_autoptr (GError) run = g_error_new (LS_ERROR, LS_ERROR_RUN, "x");
  g_autoptr (GError) stop = g_error_new (LS_ERROR, LS_ERROR_INTERRUPTED, "x");
  g_autoptr (GError) foreign = g_error_new (G_FILE_ERROR, G_FILE_ERROR_IO, "x");

  ck_assert_int_eq (ls_error_exit_status (NULL), 0);
  ck_assert_int_eq (ls_error_exit_status (config), 2);
  ck_assert_int_eq (ls_error_exit_status (run), 1);
  ck_assert_int_eq (ls_error_exit_status (stop), 130);
  ck_assert_int_eq (ls_error_exit_status (foreign), 1);
  ck_assert_str_eq (ls_error_name (LS_ERROR_CONFIG), "config");
  ck_assert_str_eq (ls_error_name ((LsError) 99), "unknown");
  ck_assert (ls_error_meaning (LS_ERROR_USAGE)[0] != '\0');
}
END_TEST

START_TEST (require_always_aborts) {
  LS_REQUIRE (_i == 99, "loop %d at t = %d ps", _i, 17);
}
END_TEST

/* Debug assertions abort in debug builds only; a false condition is harmless elsewhere. */
START_TEST (assert_follows_the_build) {
  gboolean evaluated = FALSE;

  LS_ASSERT ((evaluated = TRUE));
#ifdef LS_DEBUG
  ck_assert (evaluated);
#else
  ck_assert (!evaluated);
  LS_ASSERT (FALSE, "never seen");
#endif
#ifndef LS_SLOW_CHECKS
  LS_ASSERT_SLOW (FALSE, "never seen");
#endif
}
END_TEST

/* Distances by hand; the swap of neighbours counts one, unlike plain Levenshtein. */
START_TEST (distances_count_edits) {
  ck_assert_uint_eq (ls_distance ("tensor", "tensor"), 0);
  ck_assert_uint_eq (ls_distance ("tensor", "Tensor"), 0);
  ck_assert_uint_eq (ls_distance ("seq_len", "seq-len"), 0);
  ck_assert_uint_eq (ls_distance ("tenosr", "tensor"), 1);
  ck_assert_uint_eq (ls_distance ("tensr", "tensor"), 1);
  ck_assert_uint_eq (ls_distance ("kitten", "sitting"), 3);
  ck_assert_uint_eq (ls_distance ("", "abc"), 3);
}
END_TEST

START_TEST (suggestions_are_near_or_absent) {
  static const char *const words[] = {"nodes", "node", "pipeline", "tensor", "fabrics", NULL};
  static const char *const none[] = {NULL};

  ck_assert_str_eq (ls_nearest ("tenosr", words), "tensor");
  ck_assert_str_eq (ls_nearest ("noeds", words), "nodes");
  ck_assert_str_eq (ls_nearest ("pipe", words), "pipeline");
  ck_assert_str_eq (ls_nearest ("fabric", words), "fabrics");
  ck_assert_ptr_null (ls_nearest ("zebra", words));
  ck_assert_ptr_null (ls_nearest ("", words));
  ck_assert_ptr_null (ls_nearest ("tensor", none));
  ck_assert_ptr_null (ls_nearest ("tensor", NULL));
}
END_TEST

/* People know a product by the part of its name that matters. */
START_TEST (a_part_of_a_name_suggests_it) {
  static const char *const words[] = {"dgx-a100", "dgx-h200", "pcie-8x-h200", "main.cost", NULL};

  ck_assert_str_eq (ls_nearest ("h200", words), "dgx-h200");
  ck_assert_str_eq (ls_nearest ("cos", words), "main.cost");
  ck_assert_ptr_null (ls_nearest ("8x", words));   /* too short to mean anything */
  ck_assert_ptr_null (ls_nearest ("x-h2", words)); /* no part begins so */
}
END_TEST

/* Words longer than any key take no part in the quadratic comparison. */
START_TEST (long_words_are_cheap) {
  g_autofree char *word = g_strnfill (100000, 'x');
  const char *const words[] = {word, "tensor", NULL};

  ck_assert_uint_eq (ls_distance (word, "tensor"), 100000);
  ck_assert_ptr_null (ls_nearest ("tenfold", words));
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, exit_statuses_are_those_of_the_commands);
  tcase_add_loop_test_raise_signal (tcase, require_always_aborts, SIGABRT, 0, 2);
  tcase_add_test (tcase, assert_follows_the_build);
  tcase_add_test (tcase, distances_count_edits);
  tcase_add_test (tcase, suggestions_are_near_or_absent);
  tcase_add_test (tcase, a_part_of_a_name_suggests_it);
  tcase_add_test (tcase, long_words_are_cheap);
}

LS_TEST_MAIN ("base", add)
