/* Folded runs are unfolded ones, to the bit: every rank's account of every step, its bytes, FLOPs and memory, and
 * the summary. Exact equality, because rates are integers and sums of usages exact (engine/fixed.h).
 *
 * LS_FOLD_SEEDS in the environment is the number of random scenarios (tools/fold-check sets 1,000) from seed LS_TEST_SEED on;
 * LS_FOLD_SHOW prints each. */
#include <check.h>

#include "fold_case.h"
#include "suite.h"
#include "train/pipeline/pipeline.h"

static FoldResult compare (const FoldCase *test) {
  FoldResult result = fold_compare (test);
  g_autofree char *text = fold_describe (test);
  ck_assert_msg (result.differs == NULL, "%s: %s", text, result.differs);
  /* Devices with several stages may be neighbours in more than one way; then all ranks run. */
  ck_assert_msg (result.ranks == 0 || result.why == NULL ||
                     ls_pipeline_get (test->schedule)->shape != LS_SHAPE_LINE,
                 "%s: %s", text, result.why);
  if (g_getenv ("LS_FOLD_SHOW"))
    g_printerr ("%s: %u ranks, %u classes, %" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT "\n",
                text, result.ranks, result.classes, result.events, result.folded_events);
  return result;
}

START_TEST (random_scenarios_fold_exactly) {
  const char *wanted = g_getenv ("LS_FOLD_SEEDS");
  guint64 n = wanted != NULL ? g_ascii_strtoull (wanted, NULL, 10) : test_scaled (30);
  for (guint64 seed = 0; seed < n; seed++) {
    FoldCase test = fold_random (test_seed () + seed);
    compare (&test);
  }
}
END_TEST

/* preset, nodes, kind, routing, rails, radix, oversubscription, t, d, p, zero, input, straggler */
#define CASE(PRESET, NODES, KIND, ROUTING, RAILS, RADIX, OVER, T, D, P, ZERO, INPUT, SLOW)       \
  {                                                                                              \
    .preset = PRESET, .nodes = NODES, .kind = LS_FABRIC_##KIND, .routing = LS_ROUTING_##ROUTING, \
    .rails = RAILS, .leaf_radix = RADIX, .oversubscription = OVER, .tensor = T, .data = D,       \
    .pipeline = P, .zero = ZERO, .overlap = TRUE, .sequence_parallel = TRUE,                     \
    .schedule = LS_SCHEDULE_1F1B, .microbatches = 3, .steps = 2, .input = INPUT,                 \
    .straggler = SLOW, .factor = 1.5, .model = "gpt2-medium"                                     \
  }

static const FoldCase varied[] = {
    /* one switch: every axis, every stage of ZeRO */
    CASE ("dgx-h100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 8, 2, 1, 0, FALSE, -1),
    CASE ("dgx-h100", 4, SINGLE_SWITCH, SPRAY, 1, 64, 1, 8, 2, 2, 1, FALSE, -1),
    CASE ("dgx-h100", 4, SINGLE_SWITCH, SPRAY, 1, 64, 1, 4, 4, 2, 2, FALSE, -1),
    CASE ("dgx-h100", 4, SINGLE_SWITCH, SPRAY, 1, 64, 1, 2, 4, 4, 3, FALSE, -1),
    CASE ("dgx-a100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 1, 16, 1, 3, FALSE, -1),
    CASE ("dgx-1-v100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 4, 2, 2, 1, FALSE, -1),
    /* rails and leaves that do not fill: uneven last switches */
    CASE ("dgx-h100", 6, FAT_TREE, SPRAY, 8, 8, 1, 8, 6, 1, 1, FALSE, -1),
    CASE ("dgx-h100", 6, FAT_TREE, SPRAY, 8, 8, 1, 8, 3, 2, 3, FALSE, -1),
    CASE ("dgx-a100", 5, FAT_TREE, SPRAY, 4, 8, 1, 8, 5, 1, 0, FALSE, -1),
    CASE ("dgx-a100", 6, FAT_TREE, SPRAY, 2, 12, 1, 4, 4, 3, 2, FALSE, -1),
    /* trunks with too little, where flows do share */
    CASE ("dgx-h100", 8, FAT_TREE, SPRAY, 8, 4, 3, 8, 8, 1, 1, FALSE, -1),
    CASE ("dgx-h100", 8, FAT_TREE, SPRAY, 1, 24, 2, 8, 4, 2, 0, FALSE, -1),
    CASE ("dgx-a100", 4, FAT_TREE, SPRAY, 4, 6, 2, 2, 8, 2, 3, FALSE, -1),
    CASE ("dgx-1-v100", 4, FAT_TREE, SPRAY, 4, 4, 3, 2, 16, 1, 2, FALSE, -1),
    /* routes by hash */
    CASE ("dgx-h100", 4, FAT_TREE, ECMP, 8, 8, 1, 8, 4, 1, 1, FALSE, -1),
    CASE ("dgx-h100", 6, FAT_TREE, ECMP, 1, 24, 2, 8, 3, 2, 3, FALSE, -1),
    CASE ("dgx-a100", 4, FAT_TREE, ECMP, 4, 8, 1, 4, 4, 2, 0, FALSE, -1),
    /* hosts and storage that ranks share */
    CASE ("dgx-h100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 2, 8, 1, 1, TRUE, -1),
    CASE ("dgx-a100", 4, FAT_TREE, SPRAY, 8, 4, 1, 8, 2, 2, 2, TRUE, -1),
    /* memory of the host, of which transfers use half: in nothing's way, it still holds a ring down */
    CASE ("pcie-workstation", 1, SINGLE_SWITCH, SPRAY, 1, 64, 1, 1, 4, 1, 0, FALSE, -1),
    CASE ("cloud-8x-l40s", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 8, 2, 1, 1, FALSE, -1),
    CASE ("pcie-8x-h100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 4, 2, 2, 3, FALSE, -1),
    /* a straggler in each kind of place */
    CASE ("dgx-h100", 4, SINGLE_SWITCH, SPRAY, 1, 64, 1, 8, 4, 1, 0, FALSE, 0),
    CASE ("dgx-h100", 4, SINGLE_SWITCH, SPRAY, 1, 64, 1, 8, 2, 2, 3, FALSE, 13),
    CASE ("dgx-h100", 8, FAT_TREE, SPRAY, 8, 4, 3, 8, 8, 1, 1, FALSE, 27),
    CASE ("dgx-a100", 4, FAT_TREE, ECMP, 4, 8, 1, 4, 4, 2, 2, FALSE, 31),
    CASE ("dgx-a100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 1, 16, 1, 3, TRUE, 5),
};

START_TEST (varied_scenarios_fold_exactly) {
  FoldResult result = compare (&varied[_i]);
  ck_assert_uint_gt (result.ranks, 0);
  ck_assert_uint_le (result.folded_events, result.events);
}
END_TEST

/* Ranks of a node take turns on its memory and on the PCIe links that they share; those of one node may be of several
 * classes. */
START_TEST (offload_folds_exactly) {
  static const FoldCase cases[] = {
      CASE ("dgx-a100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 1, 16, 1, 1, FALSE, -1),
      CASE ("dgx-h100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 2, 8, 1, 2, TRUE, -1),
      CASE ("dgx-a100", 4, FAT_TREE, SPRAY, 8, 4, 1, 8, 2, 2, 3, FALSE, -1),
      CASE ("dgx-1-v100", 2, SINGLE_SWITCH, SPRAY, 1, 64, 1, 4, 2, 2, 3, FALSE, -1),
  };
  FoldCase test = cases[_i];

  for (guint offload = LS_OFFLOAD_OPTIMIZER; offload < LS_N_OFFLOADS; offload++) {
    if (offload == LS_OFFLOAD_PARAMETERS && test.zero < 3)
      continue;
    test.offload = (LsOffload) offload;
    FoldResult result = compare (&test);
    ck_assert_uint_gt (result.ranks, 0);
    ck_assert_uint_lt (result.classes, result.ranks);
  }
}
END_TEST

/* Trunks that must not be left out of the classes: below a core with too little, though leaves have enough; and a link
 * of one node that is slower than the others'. */
START_TEST (bottlenecks_anywhere_fold_exactly) {
  static const struct {
    double spines;
    const char *slow;
  } cases[] = {{1, NULL}, {4, NULL}, {1, "main[1]/nic0"}, {4, "main[5]/nic3"}};
  FoldCase test = CASE ("dgx-h100", 8, FAT_TREE, SPRAY, 8, 4, 1, 2, 32, 1, 1, FALSE, -1);

  test.tiers = 3;
  test.spine_radix = 4;
  test.spine_oversubscription = cases[_i].spines;
  test.slow = cases[_i].slow;
  FoldResult result = compare (&test);
  ck_assert_uint_gt (result.ranks, 0);
  ck_assert_ptr_null (result.why);
}
END_TEST

/* On one switch the ranks of a stage are alike. A straggler makes four classes of each stage: the one whose
 * coordinates but the stage are the straggler's, the others of that data rank, the others of that tensor rank, and
 * the rest; pipelines carry that from stage to stage, and nothing splits further. */
START_TEST (a_straggler_splits_what_it_touches) {
  for (guint stages = 1; stages <= 4; stages *= 2) {
    FoldCase test =
        CASE ("dgx-h100", 4 * stages, SINGLE_SWITCH, SPRAY, 1, 64, 1, 8, 4, stages, 1, FALSE, -1);
    FoldResult result = compare (&test);
    ck_assert_uint_eq (result.classes, stages);
    test.straggler = 9;
    result = compare (&test);
    ck_assert_uint_eq (result.classes, 4 * stages);
  }
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, random_scenarios_fold_exactly);
  tcase_add_loop_test (tcase, varied_scenarios_fold_exactly, 0, G_N_ELEMENTS (varied));
  tcase_add_loop_test (tcase, offload_folds_exactly, 0, 4);
  tcase_add_loop_test (tcase, bottlenecks_anywhere_fold_exactly, 0, 4);
  tcase_add_test (tcase, a_straggler_splits_what_it_touches);
}

LS_TEST_MAIN ("fold", add_tests)
