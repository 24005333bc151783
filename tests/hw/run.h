#pragma once
/* One test program: a suite of one case. */
#include <check.h>
#include <stdlib.h>

static inline int run_tests (const char *name, const TTest *const *tests, unsigned n) {
  Suite *suite = suite_create (name);
  TCase *tcase = tcase_create (name);
  tcase_set_timeout (tcase, 120);
  for (unsigned i = 0; i < n; i++)
    tcase_add_test (tcase, tests[i]);
  suite_add_tcase (suite, tcase);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
