/* Words of others: another spelling, a synonym, the longest of those that a text has in it. */
#include <check.h>

#include "base/distance.h"
#include "base/synonyms.h"
#include "suite.h"

static const char *const schedules[] = {"gpipe", "1f1b",     "interleaved-1f1b", "zb-h1", "zb-h2",
                                        "zb-v",  "dualpipe", "dualpipev",        NULL};
static const char *const collectives[] = {"all_reduce", "all_to_all", "all_to_allv", "send_recv",
                                          NULL};

START_TEST (spelling_does_not_count) {
  ck_assert (ls_same_letters ("AllToAll", "all_to_all"));
  ck_assert (ls_same_letters ("zero-bubble V", "Zero Bubble-v"));
  ck_assert (!ls_same_letters ("all_to_all", "all_to_allv"));
  ck_assert (!ls_same_letters ("dragonfly", "dragonfly+"));
  ck_assert_str_eq (ls_meant ("alltoall", collectives), "all_to_all");
  ck_assert_str_eq (ls_meant ("sendrecv", collectives), "send_recv");
  ck_assert_str_eq (ls_meant ("All-Reduce", collectives), "all_reduce");
}
END_TEST

START_TEST (synonyms_are_found_among_the_candidates_alone) {
  ck_assert_str_eq (ls_meant ("a2a", collectives), "all_to_all");
  ck_assert_ptr_null (ls_meant ("a2a", schedules));
  ck_assert_ptr_null (ls_meant ("bcast", collectives));
  ck_assert_str_eq (ls_nearest ("zerobubble", schedules), "zb-h1");
  ck_assert_str_eq (ls_nearest ("Zero-Bubble V", schedules), "zb-v");
}
END_TEST

/* Fields of tables say more than the name. "zero bubble" alone is zb-h1, and stands in names of others. */
START_TEST (the_longest_word_within_a_text_counts) {
  ck_assert_str_eq (ls_meant_within ("zero-bubble V", schedules), "zb-v");
  ck_assert_str_eq (ls_meant_within ("ScheduleZBVZeroBubble (torch)", schedules), "zb-v");
  ck_assert_str_eq (ls_meant_within ("zero bubble", schedules), "zb-h1");
  ck_assert_str_eq (ls_meant_within ("ZB-H2, as in the paper", schedules), "zb-h2");
  ck_assert_str_eq (ls_meant_within ("DualPipeV", schedules), "dualpipev");
  ck_assert_str_eq (ls_meant_within ("interleaved 1F1B where pp > 1", schedules),
                    "interleaved-1f1b");
  ck_assert_str_eq (ls_meant_within ("PipeDream-Flush", schedules), "1f1b");
  ck_assert_ptr_null (ls_meant_within ("something else", schedules));
}
END_TEST

/* "GPT-3" is two edits from mpt-3b, and spells the beginning of gpt3-175b. */
START_TEST (a_beginning_is_nearer_than_two_edits) {
  static const char *const models[] = {"mpt-3b", "gpt3-175b", NULL};

  ck_assert_str_eq (ls_nearest ("GPT-3", models), "gpt3-175b");
  ck_assert_str_eq (ls_nearest ("mpt-3", models), "mpt-3b");
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, spelling_does_not_count);
  tcase_add_test (tcase, synonyms_are_found_among_the_candidates_alone);
  tcase_add_test (tcase, the_longest_word_within_a_text_counts);
  tcase_add_test (tcase, a_beginning_is_nearer_than_two_edits);
}

LS_TEST_MAIN ("synonyms", add)
