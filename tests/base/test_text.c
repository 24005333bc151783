/* Messages that repeat what a file said: nothing of it reaches a terminal as a command, and no line is forged. */
#include <check.h>
#include <string.h>

#include "base/text_faults.h"
#include "suite.h"

static void expect (const char *text, gboolean keep_lines, const char *plain) {
  g_autofree char *shown = ls_text_plain (text, keep_lines);

  ck_assert_str_eq (shown, plain);
}

START_TEST (control_characters_are_written_out) {
  expect ("plain, caf\xc3\xa9 \xf0\x9f\x98\x80", FALSE, "plain, caf\xc3\xa9 \xf0\x9f\x98\x80");
  expect ("a\033[2Jb\x7f\b", TRUE, "a\\x1b[2Jb\\x7f\\x08");
  expect ("one\ntwo\r\n", TRUE, "one\ntwo\\x0d\n");
  expect ("one\ntwo", FALSE, "one\\x0atwo");
  expect ("\xc2\x9b"
          "31m",
          TRUE, "\\u009b31m"); /* CSI in one character */
  expect ("cut \xff\xe2\x82", TRUE, "cut \\xff\\xe2\\x82");
  expect ("", TRUE, "");
}
END_TEST

START_TEST (long_words_are_cut) {
  g_autofree char *word = g_strnfill (LS_TEXT_WORD_SHOWN, '[');
  g_autofree char *fits = g_strdup_printf ("'%s' x", word + 1);
  g_autofree char *longer = g_strdup_printf ("a %s[[[ b %s[", word, word);
  g_autofree char *cut =
      g_strdup_printf ("a %s... (3 bytes more) b %s... (1 bytes more)", word, word);

  fits[LS_TEXT_WORD_SHOWN] = ' ';
  expect (fits, FALSE, fits);
  expect (longer, FALSE, cut);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, control_characters_are_written_out);
  tcase_add_test (tcase, long_words_are_cut);
}

LS_TEST_MAIN ("text", add)
