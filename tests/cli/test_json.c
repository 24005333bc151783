/* The JSON writer: escapes, numbers that read back exactly, nesting. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"

START_TEST (escapes) {
  LsJson *json = ls_json_new ();
  g_autofree char *text = NULL;

  ls_json_open_object (json, NULL);
  ls_json_string (json, "a\"b", "tab\t line\n back\\ \001 \377");
  ls_json_string (json, "none", NULL);
  ls_json_number (json, "nan", NAN);
  ls_json_open_array (json, "empty");
  ls_json_close (json);
  ls_json_close (json);
  text = ls_json_finish (json);
  ck_assert_str_eq (text, "{\n  \"a\\\"b\": \"tab\\t line\\n back\\\\ \\u0001 \357\277\275\",\n"
                          "  \"none\": null,\n  \"nan\": null,\n  \"empty\": []\n}\n");
}
END_TEST

/* 17 significant digits always suffice for a double (IEEE 754-2019, 5.12.2). */
START_TEST (numbers_read_back) {
  const double values[] = {0,    0.1,          1.0 / 3, 1e22, 5e-324, 1.7976931348623157e308,
                           -2.5, 123456789.125};

  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    LsJson *json = ls_json_new ();
    g_autofree char *text = NULL;

    ls_json_number (json, NULL, values[i]);
    text = ls_json_finish (json);
    ck_assert_double_eq (g_ascii_strtod (text, NULL), values[i]);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("json");
  TCase *all = tcase_create ("all");
  SRunner *runner;
  int failed;

  tcase_add_test (all, escapes);
  tcase_add_test (all, numbers_read_back);
  suite_add_tcase (suite, all);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
