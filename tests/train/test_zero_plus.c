/* ZeRO++: bytes of quantised gathers and sums, the secondary partition, what both add to time and memory. */
#include "harness.h"

#include "train/memory/memory.h"

#define LAYERS 6
#define PARAMETERS 32768 /* per layer: 8 blocks of a scale */
#define STEPS 3
#define RANKS 8
#define PER_NODE 4
static const TestLayer layer = {
    .forward_ps = 100000, .backward_ps = 200000, .parameters = PARAMETERS};
static const TestNet free_net = {0, 0};

static LsWorkload *plus (gboolean weights, gboolean gradients, guint secondary) {
  LsWorkload *workload = test_workload (1, RANKS, 1, LAYERS, 1);

  workload->optimizer.clip = LS_NORM_CLIP_OFF;
  workload->zero.stage = 3;
  workload->zero.overlap = FALSE;
  workload->zero.quantized_weights = weights;
  workload->zero.quantized_gradients = gradients;
  workload->zero.node_group = gradients ? PER_NODE : 0;
  workload->zero.secondary_group = secondary;
  workload->steps = STEPS;
  return workload;
}

/* Of n values with a scale of 4 bytes per 4096. */
static gint64 narrow (gint64 n, gint64 bits) {
  return n * bits / 8 + 4 * (n / 4096);
}

START_TEST (bytes_of_each_part)
/* Sent by a rank per layer and step, 8 ranks on nodes of 4. Forward: 7/8 of the parameters, in 2 bytes or 1. Backward: the
 * same, or with a secondary partition 3/4, none of it between nodes. Gradients: 7/8 of 2 bytes, or in half a byte 3/4 inside
 * the node and 1/2 of a quarter of them across. Between nodes a rank's M = 2 x parameters make 0.5 M + 0 + 0.25 M of 3 M,
 * times what a flat collective crosses. Exact. source: Wang et al. 2023, ZeRO++ (arXiv 2306.10209), table 1. */
{
  for (guint i = 0; i < 8; i++) {
    const gboolean weights = (i & 1) != 0, gradients = (i & 2) != 0, second = (i & 4) != 0;
    g_autoptr (TestRun) run =
        test_run (plus (weights, gradients, second ? PER_NODE : 0), &layer, &free_net);
    const gint64 gathered = weights ? narrow (PARAMETERS, 8) : PARAMETERS * 2;
    const gint64 forward = gathered * 7 / 8, backward = second ? gathered * 3 / 4 : forward;
    const gint64 sums = gradients ? narrow (PARAMETERS, 4) * 3 / 4 + narrow (PARAMETERS / 4, 4) / 2
                                  : PARAMETERS * 2 * 7 / 8;

    for (guint rank = 0; rank < RANKS; rank++)
      ck_assert_int_eq (ls_engine_bytes_sent (run->engine, rank),
                        STEPS * LAYERS * (forward + backward + sums));
  }
}
END_TEST

START_TEST (one_hop_inside_one_node)
/* Where all shards lie on one node, or each on its own, gradients make one hop. Exact. */
{
  static const guint groups[] = {0, 1, RANKS, 2 * RANKS};

  for (guint i = 0; i < G_N_ELEMENTS (groups); i++) {
    LsWorkload *workload = plus (FALSE, TRUE, 0);
    workload->zero.node_group = groups[i];
    g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);

    ck_assert_int_eq (ls_engine_bytes_sent (run->engine, 0),
                      STEPS * LAYERS *
                          (2 * PARAMETERS * 2 * 7 / 8 + narrow (PARAMETERS, 4) * 7 / 8));
  }
}
END_TEST

START_TEST (latencies_count_the_collectives)
/* Without overlap a step waits for each collective: a latency longer by L makes it longer by 3 L per layer, with two hops by
 * 4 L, and by L for the barrier at its end; kernels stay. Exact. */
{
  const gint64 more_ps = 5000000;
  const TestNet slow = {.latency_ps = 2000, .bytes_per_s = 1e11},
                slower = {.latency_ps = 2000 + more_ps, .bytes_per_s = 1e11};

  for (guint gradients = 0; gradients <= 1; gradients++) {
    g_autoptr (TestRun) a = test_run (plus (TRUE, gradients == 1, PER_NODE), &layer, &slow);
    g_autoptr (TestRun) b = test_run (plus (TRUE, gradients == 1, PER_NODE), &layer, &slower);

    ck_assert_int_eq (ls_engine_now_ps (b->engine) - ls_engine_now_ps (a->engine),
                      STEPS * (LAYERS * (3 + (gint64) gradients) + 1) * more_ps);
  }
}
END_TEST

START_TEST (kernels_cost_time)
/* On a free network nothing is won: kernels that make values narrow and wide again make a step longer, each part alone and
 * both together by their sum. */
{
  gint64 ps[4];

  for (guint i = 0; i < 4; i++) {
    g_autoptr (TestRun) run = test_run (plus ((i & 1) != 0, (i & 2) != 0, 0), &layer, &free_net);
    ps[i] = ls_engine_now_ps (run->engine);
  }
  ck_assert_int_gt (ps[1], ps[0]);
  ck_assert_int_gt (ps[2], ps[0]);
  ck_assert_int_eq (ps[3] - ps[0], ps[1] - ps[0] + ps[2] - ps[0]);
}
END_TEST

START_TEST (secondary_shards_take_memory)
/* A rank of 8 holds 2/8 bytes of each parameter, and 2/s more with a secondary partition of s ranks, which no other stage
 * has; what is trained, summed and updated is the same. source: Wang et al. 2023, section 3.2. */
{
  const gint64 n = LAYERS * PARAMETERS;

  for (guint s = 2; s < RANKS; s *= 2)
    for (int stage = 0; stage <= 3; stage++) {
      g_autoptr (LsWorkload) with = plus (FALSE, FALSE, s), without = plus (FALSE, FALSE, 0);
      with->zero.stage = without->zero.stage = stage;
      const LsStaticMemory a = ls_memory_static (with, n), b = ls_memory_static (without, n);

      ck_assert_int_eq (a.parameters_bytes - b.parameters_bytes, stage == 3 ? 2 * n / s : 0);
      ck_assert_int_eq (a.gradients_bytes, b.gradients_bytes);
      ck_assert_int_eq (a.optimizer_bytes, b.optimizer_bytes);
    }
}
END_TEST

START_TEST (hybrid_shards_are_summed_in_few_bits_too)
/* Two shard groups of 4 ranks, each on a node: one hop of 3/4 in int4, then the all-reduce of the shard between both, which
 * sends it once. Exact. */
{
  LsWorkload *workload = plus (FALSE, TRUE, 0);

  workload->zero.shard_group = PER_NODE;
  g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);

  ck_assert_int_eq (
      ls_engine_bytes_sent (run->engine, 0),
      STEPS * LAYERS *
          (2 * PARAMETERS * 2 * 3 / 4 + narrow (PARAMETERS, 4) * 3 / 4 + PARAMETERS * 2 / 4));
}
END_TEST

int main (void) {
  const TTest *const tests[] = {
      bytes_of_each_part, one_hop_inside_one_node,      latencies_count_the_collectives,
      kernels_cost_time,  secondary_shards_take_memory, hybrid_shards_are_summed_in_few_bits_too};
  return test_main ("zero_plus", tests, G_N_ELEMENTS (tests));
}
