/* Ranks that go in convoy (sim/engine/convoy.c) do what they do one event at a time in a traced run, to the bit: every rank's
 * account of every step, its bytes, FLOPs and memory, what held transfers down, and the summary. Exact
 * equality: the ends of legs are sums of the same integers.
 *
 * LS_CONVOY_SEEDS in the environment is the number of random scenarios; LS_FOLD_SHOW prints each. */
#include <check.h>

#include "fold_case.h"
#include "suite.h"

static guint64 compare (const FoldCase *test) {
  FoldResult result = fold_compare_convoys (test);
  g_autofree char *text = fold_describe (test);
  ck_assert_msg (result.differs == NULL, "%s: %s", text, result.differs);
  ck_assert_uint_le (result.folded_events, result.events);
  if (g_getenv ("LS_FOLD_SHOW"))
    g_printerr ("%s: %u ranks, %" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT "\n", text,
                result.ranks, result.events, result.folded_events);
  return result.events - result.folded_events;
}

static guint64 n_seeds (guint64 usual) {
  const char *wanted = g_getenv ("LS_CONVOY_SEEDS");
  return wanted != NULL ? g_ascii_strtoull (wanted, NULL, 10) : test_scaled ((guint) usual);
}

START_TEST (random_scenarios_are_the_same) {
  guint64 saved = 0;
  for (guint64 seed = 0, n = n_seeds (20); seed < n; seed++) {
    FoldCase test = fold_random (test_seed () + seed + 1000);
    saved += compare (&test);
  }
  ck_assert_uint_gt (saved, 0);
}
END_TEST

START_TEST (random_axes_are_the_same) {
  for (guint64 seed = 0, n = n_seeds (15); seed < n; seed++) {
    FoldCase test = fold_random_axes (test_seed () + seed + 1000);
    compare (&test);
  }
}
END_TEST

/* Eight tensor parallel ranks alone, without overlap: all that remains are the events of the ends of convoys and of
 * what they meet with, not one for each of some 24 x 4 collectives x 8 ranks and micro-batch. Launches are replayed: a host that
 * bounds layers is a stream of its own, and ranks whose kernels wait for it go one by one. */
START_TEST (tensor_parallel_ranks_are_one_event) {
  const LsSoftware *software = ls_software_find ("generic", NULL);
  FoldCase test = {.preset = "dgx-h100",
                   .nodes = 1,
                   .kind = LS_FABRIC_SINGLE_SWITCH,
                   .rails = 1,
                   .leaf_radix = 64,
                   .oversubscription = 1,
                   .tensor = 8,
                   .data = 1,
                   .pipeline = 1,
                   .schedule = LS_SCHEDULE_1F1B,
                   .microbatches = 8,
                   .steps = 2,
                   .straggler = -1,
                   .factor = 1.5,
                   .software = ls_software_with (software, (LsSoftwareChoice){.cuda_graphs = 1,
                                                                              .compiled = -1,
                                                                              .fused_optimizer = -1,
                                                                              .expert_sync = -1}),
                   .model = "gpt2-medium"};
  FoldResult result = fold_compare_convoys (&test);
  ck_assert_msg (result.differs == NULL, "%s", result.differs);
  ck_assert_uint_lt (result.folded_events * 10, result.events);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, random_scenarios_are_the_same);
  tcase_add_test (tcase, random_axes_are_the_same);
  tcase_add_test (tcase, tensor_parallel_ranks_are_one_event);
}

LS_TEST_MAIN ("convoys", add_tests)
