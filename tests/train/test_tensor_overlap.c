/* Tensor-parallel collectives beside matmuls: the ring of pieces against its recurrence, and what cutting costs. */
#include <check.h>

#include "harness.h"
#include "train/stage.h"

#define FORWARD_PS 700
#define BACKWARD_PS 900
#define LAYERS 3
#define MICROBATCHES 2

/* Compute and what the main stream waits for collectives of tensor ranks, which are all alike. */
static gint64 busy_ps (guint t, const TestLayer *layer, gint64 latency_ps) {
  LsWorkload *workload = test_workload (t, 1, 1, LAYERS, MICROBATCHES);
  const TestNet net = {.latency_ps = latency_ps, .bytes_per_s = 1e12}; /* a byte in a picosecond */
  g_autoptr (TestRun) run = NULL;

  workload->steps = 1;
  run = test_run (workload, layer, &net);
  return test_part_ps (run, 0, LS_PART_COMPUTE) + test_part_ps (run, 0, LS_PART_EXPOSED_TENSOR);
}

/* Time of one pair, with piece times m of the matmul and c of a message: what a run with one in each layer takes
 * beyond a run without. */
static gint64 pair_ps (guint t, gint64 m, gint64 c, gint64 latency_ps, gboolean gathers) {
  TestLayer layer = {
      .forward_ps = FORWARD_PS, .backward_ps = BACKWARD_PS, .boundary_bytes = (c - latency_ps) * t};
  const gint64 without_ps = busy_ps (t, &layer, latency_ps);

  layer.gather_piece_ps = gathers ? m : 0;
  layer.scatter_piece_ps = gathers ? 0 : m;
  const gint64 pairs_ps = busy_ps (t, &layer, latency_ps) - without_ps;
  ck_assert_int_eq (pairs_ps % (LAYERS * MICROBATCHES), 0);
  return pairs_ps / (LAYERS * MICROBATCHES);
}

/* What layer_operation.h says, event by event: matmul i of a gather waits for message i, message i of a scatter
 * for matmul i - 1. */
static gint64 recurrence_ps (guint t, gint64 m, gint64 c, gboolean gathers) {
  gint64 matmul = 0, message = 0; /* ends of the newest */

  for (guint i = 0; i < t; i++) {
    if (gathers) {
      matmul = MAX (matmul, i > 0 ? message : 0) + m;
      message += c;
      continue;
    }
    matmul += m;
    if (i + 1 < t)
      message = MAX (message, matmul) + c;
  }
  return MAX (matmul, gathers ? 0 : message);
}

START_TEST (ring_is_its_recurrence)
/* n = t pieces: max (t m, m + (t - 1) c), whichever of compute and link dominates; integers, exact. One piece of
 * compute is never hidden, nor is more than the other t - 1 of the link: never below t m or (t - 1) c. */
{
  static const struct {
    gint64 m, c, latency;
  } times[] = {{1000, 100, 0},  {1000, 999, 500}, {1000, 1000, 0},
               {1000, 1001, 1}, {100, 1000, 0},   {1, 5000, 4000}};

  for (guint t = 2; t <= 8; t++)
    for (guint i = 0; i < G_N_ELEMENTS (times); i++)
      for (guint gathers = 0; gathers < 2; gathers++) {
        const gint64 m = times[i].m, c = times[i].c;
        const gint64 took = pair_ps (t, m, c, times[i].latency, gathers == 1);

        ck_assert_int_eq (took, MAX (t * m, m + (t - 1) * c));
        ck_assert_int_eq (took, recurrence_ps (t, m, c, gathers == 1));
      }
}
END_TEST

static LsStage *stage_of (LsTensorOverlap overlap, guint tensor, const char *model,
                          LsWorkload **out) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset (model, NULL), tensor);

  workload->layout = ls_layout (tensor, 1, 1);
  workload->seq_len = 4096;
  workload->sequence_parallel = TRUE;
  workload->tensor_overlap = overlap;
  workload->attention = LS_ATTENTION_FLASH2;
  workload->software = ls_software_find ("megatron-core-serial", NULL);
  ck_assert (ls_workload_resolve (workload, NULL));
  *out = workload;
  return ls_stage_new (workload, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
}

static const LsLayerPlan *block_of (const LsStage *stage) {
  for (guint r = 0; r < stage->n_runs; r++)
    if (stage->runs[r].is_block)
      return stage->runs[r].plan;
  return NULL;
}

typedef struct {
  double flops;
  gint64 ps, bytes;
  guint cut;
} Sums;

static Sums sums_of (const LsLayerOp *ops, guint n) {
  Sums sums = {0};

  for (guint i = 0; i < n; i++) {
    if (ops[i].is_collective) {
      sums.bytes += ops[i].collective_bytes;
      sums.cut += ops[i].pieces > 0;
    } else if (ops[i].kind == LS_KIND_MATMUL) {
      sums.flops += ops[i].cost.flops;
      sums.ps += ops[i].cost.alone_ps;
      if (ops[i].piece.alone_ps > 0)
        ck_assert_double_eq (ops[i].piece.flops * 8, ops[i].cost.flops);
    }
  }
  return sums;
}

START_TEST (pieces_do_the_same_work_at_a_price)
/* The same FLOPs (exact: powers of two and small factors) and bytes, the same kept tensors; t matmuls of 1/t of
 * the rows take no less than one of all. Forward 4 collectives of a dense block are cut (two gathers, two
 * scatters), backward the two gathers before the row-parallel maps' gradients; the columns' two stay bulk. */
{
  static const char *const models[] = {"llama2-70b", "gpt3-175b", "llama3-8b"};

  for (guint i = 0; i < G_N_ELEMENTS (models); i++) {
    LsWorkload *workloads[2];
    g_autoptr (LsStage) whole = stage_of (LS_TENSOR_OVERLAP_BULK, 8, models[i], &workloads[0]);
    g_autoptr (LsStage) cut = stage_of (LS_TENSOR_OVERLAP_PIECES, 8, models[i], &workloads[1]);
    const LsLayerPlan *a = block_of (whole), *b = block_of (cut);
    const Sums fa = sums_of (a->forward, a->n_forward), fb = sums_of (b->forward, b->n_forward);
    const Sums ba = sums_of (a->backward, a->n_backward);
    const Sums bb = sums_of (b->backward, b->n_backward);

    ck_assert_double_eq (fa.flops, fb.flops);
    ck_assert_double_eq (ba.flops, bb.flops);
    ck_assert_int_eq (fa.bytes, fb.bytes);
    ck_assert_int_eq (ba.bytes, bb.bytes);
    ck_assert_int_gt (fb.ps, fa.ps);
    ck_assert_int_gt (bb.ps, ba.ps);
    ck_assert_uint_eq (fa.cut + ba.cut, 0);
    ck_assert_uint_eq (fb.cut, 4);
    ck_assert_uint_eq (bb.cut, 2);
    ck_assert_int_eq (ls_layer_plan_saved_bytes (a), ls_layer_plan_saved_bytes (b));
    ls_workload_free (workloads[0]);
    ls_workload_free (workloads[1]);
  }
}
END_TEST

int main (void) {
  const TTest *const tests[] = {ring_is_its_recurrence, pieces_do_the_same_work_at_a_price};

  return test_main ("tensor_overlap", tests, G_N_ELEMENTS (tests));
}
