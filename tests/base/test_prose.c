/* Text for people: no line is wider than asked, no word is lost, and neighbours share what is the same. */
#include <check.h>
#include <string.h>

#include "base/prose.h"
#include "suite.h"

START_TEST (words_are_folded_at_blanks) {
  g_autoptr (GString) out = g_string_new ("  name  ");

  ls_prose_append (out, "one two three four", 16, 8, 8);
  ck_assert_str_eq (out->str, "  name  one two\n        three\n        four\n");
}
END_TEST

START_TEST (a_wide_word_stands_alone) {
  g_autoptr (GString) out = g_string_new (NULL);

  ls_prose_append (out, "a bbbbbbbbbbbb c", 8, 2, 0);
  ck_assert_str_eq (out->str, "a\n  bbbbbbbbbbbb\n  c\n");
}
END_TEST

START_TEST (alike_neighbours_share_their_text) {
  static const char *const names[] = {"a", "b", "c", "d"};
  static const char *const texts[] = {"x\n", "x\n", "y\n", "x\n"};
  g_autoptr (GString) out = g_string_new (NULL);

  ls_prose_append_jobs (out, names, texts, 4);
  ck_assert_str_eq (out->str, "jobs a, b: each\nx\n\njob c\ny\n\njob d\nx\n");
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, words_are_folded_at_blanks);
  tcase_add_test (tcase, a_wide_word_stands_alone);
  tcase_add_test (tcase, alike_neighbours_share_their_text);
}

LS_TEST_MAIN ("prose", add)
