/* Tensor-parallel collectives beside matmuls: the ring of pieces against its recurrence, and what cutting costs. */
#include <check.h>

#include "harness.h"
#include "train/layer/stage.h"

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

/* --- DTensor's tensor parallelism (hw/software.h, splits_second) ------------------------------- */

#define T 8
#define B 2
#define SEQ 2048
#define HIDDEN 4096

/* One stage of Llama-3 8B on T tensor ranks with sequence parallelism. */
static LsStage *titan_of (const char *software, LsTensorOverlap overlap, LsWorkload **workload) {
  LsWorkload *w = ls_workload_new_default (ls_model_new_preset ("llama3-8b", NULL), T);

  w->software = ls_software_find (software, NULL);
  w->layout = ls_layout (T, 1, 1);
  w->micro_batch = w->global_batch = B;
  w->seq_len = SEQ;
  w->sequence_parallel = TRUE;
  w->tensor_overlap = overlap;
  w->recompute.mode = LS_RECOMPUTE_FULL;
  ck_assert (ls_workload_resolve (w, NULL));
  *workload = w;
  return ls_stage_new (w, 0, ls_accelerator_find ("h100-sxm-80gb", NULL));
}

static gint64 bytes_of (const LsLayerOp *ops, guint n, const char *name) {
  gint64 bytes = 0;

  for (guint i = 0; i < n; i++)
    bytes += g_str_equal (ops[i].name, name) ? ops[i].cost.bytes : 0;
  return bytes;
}

static guint count_of (const LsLayerOp *ops, guint n, const char *prefix) {
  guint count = 0;

  for (guint i = 0; i < n; i++)
    count += g_str_has_prefix (ops[i].name, prefix) ? 1 : 0;
  return count;
}

/* Plain collectives, W = 2 T h bytes: behind each of two gathers forward and two backward (of gradients) W is read and
 * written, before each of two reduce-scatters forward too; backward a compiler does that in the sum of the maps' gradients.
 * Fused ones: a gather copies W / t, a reduce-scatter leaves t parts of W / t and their sum. The gathered input stays: no
 * gather of it backward, unlike Megatron's, which keeps 1 / t of it for each of two. */
static void check_order (gboolean fused) {
  LsWorkload *owned[2] = {NULL, NULL};
  g_autoptr (LsStage) stage = titan_of (fused ? "pytorch-fsdp2-async-tp" : "pytorch-fsdp2",
                                        LS_TENSOR_OVERLAP_AUTO, &owned[0]);
  g_autoptr (LsStage) megatron = titan_of ("megatron-core", LS_TENSOR_OVERLAP_AUTO, &owned[1]);
  const LsLayerPlan *p = block_of (stage), *m = block_of (megatron);
  const gint64 wide = 2 * (gint64) B * SEQ * HIDDEN;

  ck_assert_int_eq (bytes_of (p->forward, p->n_forward, "order_gathered"),
                    fused ? 0 : 2 * 2 * wide);
  ck_assert_int_eq (bytes_of (p->forward, p->n_forward, "order_partials"),
                    fused ? 0 : 2 * 2 * wide);
  ck_assert_int_eq (bytes_of (p->backward, p->n_backward, "order_gathered"),
                    fused ? 0 : 2 * 2 * wide);
  ck_assert_int_eq (bytes_of (p->backward, p->n_backward, "order_partials"), 0);
  ck_assert_int_eq (bytes_of (p->forward, p->n_forward, "copy_shard"),
                    fused ? 2 * 2 * wide / T : 0);
  ck_assert_int_eq (bytes_of (p->forward, p->n_forward, "sum_pieces"),
                    fused ? 2 * (wide + wide / T) : 0);
  ck_assert_uint_eq (count_of (p->backward, p->n_backward, "gather_"), 2);
  ck_assert_uint_eq (count_of (m->backward, m->n_backward, "gather_"), 4);
  ck_assert_int_eq (ls_layer_plan_saved_bytes (p) - ls_layer_plan_saved_bytes (m),
                    2 * (wide - wide / T));
  for (guint i = 0; i < G_N_ELEMENTS (owned); i++)
    ls_workload_free (owned[i]);
}

START_TEST (second_dimension_is_put_in_order) {
  check_order (FALSE);
  check_order (TRUE);
}
END_TEST

/* A second forward pass ends before the last product, and without the reduce-scatter that would run beside it. */
static void check_rerun (const char *software, LsTensorOverlap overlap) {
  LsWorkload *owned = NULL;
  g_autoptr (LsStage) stage = titan_of (software, overlap, &owned);
  const LsLayerPlan *plan = block_of (stage);
  const guint needed = ls_layer_plan_needed (plan), rerun = ls_layer_plan_rerun (plan);

  ck_assert_str_eq (plan->forward[needed].name, "mlp_down");
  ck_assert_uint_eq (needed - rerun, overlap == LS_TENSOR_OVERLAP_IDEAL ? 1 : 0);
  for (guint i = 0; i < rerun; i++)
    ck_assert_str_ne (plan->forward[i].name, "reduce_mlp");
  ls_workload_free (owned);
}

START_TEST (stopping_early_drops_the_reduction) {
  check_rerun ("pytorch-fsdp2", LS_TENSOR_OVERLAP_AUTO);
  check_rerun ("pytorch-fsdp2-async-tp", LS_TENSOR_OVERLAP_AUTO);
  check_rerun ("pytorch-fsdp2-async-tp", LS_TENSOR_OVERLAP_IDEAL);
}
END_TEST

int main (void) {
  const TTest *const tests[] = {ring_is_its_recurrence, pieces_do_the_same_work_at_a_price,
                                second_dimension_is_put_in_order,
                                stopping_early_drops_the_reduction};

  return test_main ("tensor_overlap", tests, G_N_ELEMENTS (tests));
}
