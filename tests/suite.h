/*
 * The main function of a test program, and how long its random tests run.
 *
 * LS_TEST_SCALE in the environment multiplies the number of random draws (sanitizer builds run a
 * tenth), LS_TEST_SEED moves where their streams start; LS_TEST_MAIN ("name", add) runs the suite that add (TCase *) fills.
 */
#pragma once

#include <check.h>
#include <glib.h>

static inline guint test_scaled (guint draws) {
  const char *text = g_getenv ("LS_TEST_SCALE");
  double scale = text != NULL ? g_ascii_strtod (text, NULL) : 1;

  return (guint) MAX (1, draws * scale);
}

/* Added to the seeds of random tests: 0, or what a longer search asks for. */
static inline guint64 test_seed (void) {
  const char *text = g_getenv ("LS_TEST_SEED");

  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : 0;
}

/* The step through a complete list of cases: 1, and some 1 / LS_TEST_SCALE (odd) where that is below 1. */
static inline guint test_stride (void) {
  return (1000 / test_scaled (1000)) | 1u;
}

#define LS_TEST_MAIN(name, add)               \
  int main (void) {                           \
    Suite *suite = suite_create (name);       \
    TCase *tcase = tcase_create (name);       \
    SRunner *runner = srunner_create (suite); \
    int failed;                               \
                                              \
    add (tcase);                              \
    suite_add_tcase (suite, tcase);           \
    srunner_run_all (runner, CK_NORMAL);      \
    failed = srunner_ntests_failed (runner);  \
    srunner_free (runner);                    \
    return failed == 0 ? 0 : 1;               \
  }
