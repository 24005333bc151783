/* Reading tables: RFC 4180, and what must be refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "cli/csv.h"

static LsCsv *parse (const char *text, GError **error) {
  return ls_csv_parse ("t.csv", text, strlen (text), error);
}

/* RFC 4180 sections 2.5 to 2.7: quotes, commas and line breaks in fields, doubled quotes; a byte
 * order mark, CRLF and blanks around fields besides. */
START_TEST (reads_quotes_breaks_and_crlf) {
  g_autoptr (GError) error = NULL;
  g_autoptr (LsCsv) csv =
      parse ("\357\273\277b,a\r\n\"x,\"\"y\"\"\", 7 \r\n\r\n\"two\nlines\",\r\n", &error);

  ck_assert_ptr_nonnull (csv);
  ck_assert_uint_eq (ls_csv_rows (csv), 2);
  ck_assert_str_eq (ls_csv_field (csv, 0, "b"), "x,\"y\"");
  ck_assert_str_eq (ls_csv_field (csv, 0, "a"), "7");
  ck_assert_str_eq (ls_csv_field (csv, 1, "b"), "two\nlines");
  ck_assert_str_eq (ls_csv_field (csv, 1, "a"), "");
  ck_assert_str_eq (ls_csv_field (csv, 1, "absent"), "");
  ck_assert_int_eq (ls_csv_column (csv, "a"), 1);
}
END_TEST

static const struct {
  const char *text, *says;
} wrong[] = {
    {"", "t.csv:1:1: error: an empty table"},
    {"\na,b\n", "t.csv:2:3: error: 2 fields in a table of 1 column; a comma"},
    {"a,b\n1\n", "t.csv:2:2: error: 1 field in a table of 2 columns; an empty field"},
    {"a,b\r\n1\r\n", "t.csv:2:2: error: 1 field in"},
    {"a,b\n\"1\n2\"", "t.csv:3:3: error: 1 field in"},
    {"a,b\n1,2,3\n", "t.csv:2:5: error: 3 fields in a table of 2 columns; a comma"},
    {"a,b\n\303\244,2,3,4\n", "t.csv:2:5: error: 4 fields"}, /* a character of two bytes */
    {"a,b,a\n", "t.csv:1:5: error: the column 'a' is named twice"},
    {"a\n\"open\n", "t.csv:2:1: error: a quote is opened"},
    {"a\n\"x\"y\n", "t.csv:2:4: error: text after a closing quote"},
    {"a\n\"x\" \"y\n", "t.csv:2:4: error: text after a closing quote"},
    {"a\nb\377\376\n", "t.csv:2:2: error: this byte is no text"},
    /* All at once. */
    {"a,b\n1\n2,3\n4,5,6\n\"7\"x,8\n\"9\n",
     "t.csv:2:2: error: 1 field in a table of 2 columns; an empty field still needs its comma\n"
     "t.csv:4:5: error: 3 fields in a table of 2 columns; a comma inside a field needs quotes\n"
     "t.csv:5:4: error: text after a closing quote; a quote inside quotes is doubled\n"
     "t.csv:6:1: error: a quote is opened here and never closed"},
};

START_TEST (refuses) {
  g_autoptr (GError) error = NULL;
  g_autoptr (LsCsv) csv = parse (wrong[_i].text, &error);

  ck_assert_ptr_null (csv);
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_CONFIG));
  ck_assert_msg (strstr (error->message, wrong[_i].says) != NULL, "%s", error->message);
}
END_TEST

/* A screen of faults, then how many more there are. */
START_TEST (a_thousand_faults_are_counted) {
  g_autoptr (GString) text = g_string_new ("a,b\n");
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 1000; i++)
    g_string_append (text, "1\n");
  ck_assert_ptr_null (parse (text->str, &error));
  ck_assert_ptr_nonnull (strstr (error->message, "t.csv:21:2: error: "));
  ck_assert_ptr_null (strstr (error->message, "t.csv:22:2: error: "));
  ck_assert_ptr_nonnull (strstr (error->message, "\nt.csv: error: 980 more faults"));
}
END_TEST

/* Cost goes with the bytes: a line of 200,000 fields, too many of them or all names of columns, took
 * seconds when the column of each was counted from the line's beginning and each name compared with all before it.
 * Both are less than 0.1 s of CPU now; 2 s leave room for sanitizers. */
START_TEST (long_lines_cost_their_bytes) {
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LsCsv) csv = NULL;
  clock_t start = clock ();

  for (guint i = 0; i < 200000; i++)
    g_string_append_printf (text, "%sc%u", i > 0 ? "," : "", i);
  g_string_append (text, "\n");
  for (guint i = 0; i < 200000; i++)
    g_string_append (text, "7,");
  g_string_truncate (text, text->len - 1);
  csv = parse (text->str, &error);
  ck_assert_ptr_nonnull (csv);
  ck_assert_str_eq (ls_csv_field (csv, 0, "c199999"), "7");
  g_string_prepend (text, "a,b\n");
  ck_assert_ptr_null (parse (text->str, &error));
  ck_assert_ptr_nonnull (strstr (error->message, "t.csv:2:7: error: 200000 fields"));
  ck_assert_msg ((double) (clock () - start) / CLOCKS_PER_SEC < 2, "quadratic");
}
END_TEST

/* Every prefix of a good table is read or refused, never more than that (run under sanitizers). */
START_TEST (survives_truncation) {
  const char *text = "a,b\r\n\"x\"\"\",\"y\nz\"\r\n1,2\r\n";

  for (gsize length = 0; length <= strlen (text); length++) {
    g_autofree char *part = g_memdup2 (text, length + 1);
    g_autoptr (GError) error = NULL;
    g_autoptr (LsCsv) csv = ls_csv_parse ("t.csv", part, length, &error);

    ck_assert ((csv == NULL) == (error != NULL));
  }
}
END_TEST

/* What is written reads back the same. */
START_TEST (round_trip) {
  const char *const fields[] = {"", "a,b", "say \"so\"", "two\nlines", "plain"};
  g_autoptr (GString) out = g_string_new ("v,w,x,y,z\n");
  g_autoptr (LsCsv) csv = NULL;

  ls_csv_append_row (out, fields, G_N_ELEMENTS (fields));
  csv = ls_csv_parse ("t.csv", out->str, out->len, NULL);
  ck_assert_ptr_nonnull (csv);
  ck_assert_str_eq (ls_csv_field (csv, 0, "v"), fields[0]);
  ck_assert_str_eq (ls_csv_field (csv, 0, "w"), fields[1]);
  ck_assert_str_eq (ls_csv_field (csv, 0, "x"), fields[2]);
  ck_assert_str_eq (ls_csv_field (csv, 0, "y"), fields[3]);
  ck_assert_str_eq (ls_csv_field (csv, 0, "z"), fields[4]);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("csv");
  TCase *all = tcase_create ("all");
  SRunner *runner;
  int failed;

  tcase_add_test (all, reads_quotes_breaks_and_crlf);
  tcase_add_loop_test (all, refuses, 0, G_N_ELEMENTS (wrong));
  tcase_add_test (all, a_thousand_faults_are_counted);
  tcase_add_test (all, long_lines_cost_their_bytes);
  tcase_add_test (all, survives_truncation);
  tcase_add_test (all, round_trip);
  suite_add_tcase (suite, all);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
