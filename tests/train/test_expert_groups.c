/* Group-limited routing: how many ranks a token travels to, against counting all choices. */
#include <check.h>
#include <math.h>

#include "suite.h"
#include "train/layer/stage.h"
#include "train/workload/workload.h"

#define H 512
#define SEQ 512

/* Bytes that a rank sends in dispatch and combine of a block, forward, experts over `expert` of 8 ranks. */
static gint64 sent_bytes_of (const LsTransformer *t, guint expert) {
  g_autoptr (LsWorkload) w = ls_workload_new_default (ls_model_new_transformer ("small", t), 8);
  g_autoptr (LsStage) stage = NULL;
  gint64 bytes = 0;

  w->layout = ls_layout (1, 8, 1);
  w->layout.expert = expert;
  w->expert_dispatch = LS_EXPERT_DISPATCH_FUSED;
  w->global_batch = 8;
  w->seq_len = SEQ;
  ck_assert (ls_workload_resolve (w, NULL));
  stage = ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
  for (guint run = 0; run < stage->n_runs; run++)
    for (guint i = 0; i < stage->runs[run].plan->n_forward; i++)
      if (stage->runs[run].plan->forward[i].axis == LS_AXIS_EXPERT)
        bytes += stage->runs[run].plan->forward[i].collective_bytes;
  return bytes;
}

/* Of 8 experts in 4 groups, two of them per token; top_groups 0: in none. */
static gint64 sent_bytes (guint expert, gint64 top_groups) {
  const LsTransformer t = {.layers = 2,
                           .hidden = H,
                           .heads = 8,
                           .kv_heads = 8,
                           .head_dim = 64,
                           .ffn = 1024,
                           .vocab = 8192,
                           .max_seq = SEQ,
                           .gated = TRUE,
                           .rms_norm = TRUE,
                           .rotary = TRUE,
                           .causal = TRUE,
                           .experts = {.count = 8,
                                       .top_k = 2,
                                       .ffn = 256,
                                       .groups = top_groups > 0 ? 4 : 0,
                                       .top_groups = top_groups}};

  return sent_bytes_of (&t, expert);
}

/* Mean number of ranks that hold a pair of different experts in `top` of the 4 groups of two, of e ranks, by counting: each
 * choice of groups, and each pair in them, as often as any other. */
static double ranks_of_pairs (gint64 e, gint64 top) {
  double ranks = 0, pairs = 0;

  for (guint chosen = 0; chosen < 16; chosen++)
    for (gint64 a = 0; a < 8; a++)
      for (gint64 b = 0; b < 8; b++) {
        if (__builtin_popcount (chosen) != top || a == b || !(chosen >> (a / 2) & 1) ||
            !(chosen >> (b / 2) & 1))
          continue;
        ranks += a * e / 8 == b * e / 8 ? 1 : 2;
        pairs += 1;
      }
  return ranks / pairs;
}

START_TEST (tokens_of_groups_go_to_fewer_ranks)
/* On 2, 4 and 8 ranks (whole groups, one, half of one on each), a token's two experts in 1, 2, 3 or all groups: what a fused
 * dispatch sends is the count over all choices; all groups are as none. */
{
  static const guint experts[] = {2, 4, 8};
  const guint e = experts[_i / 4];
  const gint64 top = _i % 4 + 1;
  const gint64 rows = (gint64) ceil (SEQ * ranks_of_pairs (e, top) - 1e-9);

  ck_assert_int_eq (sent_bytes (e, top), 2 * rows * H * 2);
  if (top == 4)
    ck_assert_int_eq (sent_bytes (e, top), sent_bytes (e, 0));
}
END_TEST

START_TEST (deepseek_v3_sends_to_four_groups)
/* Eight ranks hold a group each: of a token's eight experts, among the 128 of its four groups, a group has none with the chance
 * C(96, 8) / C(128, 8) = 0.0927, so that it travels to 3.63 ranks, where without groups it would to 5.29. */
{
  g_autoptr (LsModel) model = ls_model_new_preset ("deepseek-v3", NULL);
  LsTransformer t = model->transformer;
  double none = 1;

  for (int i = 0; i < 8; i++)
    none *= (96.0 - i) / (128.0 - i);
  ck_assert (fabs (none - 0.0927) < 1e-4);
  t.layers = 2;
  t.experts.dense_first = 0;
  ck_assert_int_eq (sent_bytes_of (&t, 8), 2 * (gint64) ceil (SEQ * 4 * (1 - none)) * t.hidden * 2);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_loop_test (tcase, tokens_of_groups_go_to_fewer_ranks, 0, 12);
  tcase_add_test (tcase, deepseek_v3_sends_to_four_groups);
}

LS_TEST_MAIN ("expert_groups", add_tests)
