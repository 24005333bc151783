/* Folded runs are unfolded ones, to the bit: every rank's account of every step, its bytes, FLOPs and memory, and
 * the summary. Exact equality, because rates are integers and sums of usages exact (engine/fixed.h). */
#include <check.h>

#include "fold_case.h"
#include "suite.h"

static FoldResult compare (const FoldCase *test) {
  FoldResult result = fold_compare (test);
  g_autofree char *text = fold_describe (test);
  ck_assert_msg (result.differs == NULL, "%s: %s", text, result.differs);
  ck_assert_msg (result.ranks == 0 || result.why == NULL, "%s: %s", text, result.why);
  if (g_getenv ("LS_FOLD_SHOW"))
    g_printerr ("%s: %u ranks, %u classes, %" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT "\n",
                text, result.ranks, result.classes, result.events, result.folded_events);
  return result;
}

START_TEST (random_scenarios_fold_exactly) {
  for (guint64 seed = 0; seed < test_scaled (60); seed++) {
    FoldCase test = fold_random (seed);
    compare (&test);
  }
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, random_scenarios_fold_exactly);
}

LS_TEST_MAIN ("fold", add_tests)
