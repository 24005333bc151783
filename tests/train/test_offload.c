/* Offloaded states: bytes and times of the copies, the host's update, what lies where. */
#include "harness.h"

#include "train/memory/memory.h"
#include "train/program/offload_program.h"

#define LAYERS 6
#define PARAMETERS 4000 /* per layer */
#define STEPS 3
/* As in harness.c; reads of gradient, master copy and moments, writes of the latter and of a 16-bit copy. */
#define HOST_BYTES_PER_S 1e11
#define UPDATE_BYTES (4 + 2 * (4 + 4 + 4) + 2)
static const TestLayer layer = {
    .forward_ps = 100000, .backward_ps = 200000, .parameters = PARAMETERS};
#define LATENCY_PS 2000
#define PS_PER_BYTE 10
static const TestNet net = {.latency_ps = LATENCY_PS, .bytes_per_s = 1e12 / PS_PER_BYTE};

static LsWorkload *offload_workload (int stage, LsOffload offload, gboolean overlap, guint ranks,
                                     gint64 m) {
  LsWorkload *workload = test_workload (1, ranks, 1, LAYERS, m);

  workload->optimizer.clip = LS_NORM_CLIP_OFF; /* its pass is no part of the closed forms */
  workload->zero.stage = stage;
  workload->zero.overlap = overlap;
  workload->zero.offload = offload;
  workload->zero.bucket_bytes = PARAMETERS * 2; /* one layer of 16-bit gradients */
  workload->steps = STEPS;
  return workload;
}

static gint64 copy_ps (gint64 bytes) {
  return LATENCY_PS + bytes * PS_PER_BYTE;
}

/* Of `parameters` alone on the host. */
static double update_ps (double parameters) {
  return 1e12 * parameters * UPDATE_BYTES / (HOST_BYTES_PER_S * LS_OFFLOAD_UPDATE_SHARE);
}

START_TEST (one_rank_copies_gradients_out_and_parameters_back)
/* One rank without overlap: 4 bytes of each gradient leave it, layer by layer (in stage 1 buckets of one layer), once a
 * step in stage 1 and with each of m micro-batches from stage 2 on; 2 bytes of each parameter come back once. All of it
 * shows. source: Ren et al. 2021, section 4: M gradients and M parameters per step. Exact. */
{
  for (int stage = 1; stage <= 3; stage++)
    for (gint64 m = 1; m <= 3; m++) {
      g_autoptr (TestRun) run =
          test_run (offload_workload (stage, LS_OFFLOAD_OPTIMIZER, FALSE, 1, m), &layer, &net);
      const gint64 times = stage == 1 ? 1 : m;
      const gint64 step_ps =
          times * LAYERS * copy_ps (PARAMETERS * 4) + copy_ps (LAYERS * PARAMETERS * 2);

      ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD), STEPS * step_ps);
    }
}
END_TEST

START_TEST (copies_hide_behind_the_backward)
/* With overlap a bucket's copy (162 ns) is shorter than the backward of a layer (200 ns): only the last shows, and the
 * way back. Exact. */
{
  for (int stage = 1; stage <= 3; stage++) {
    g_autoptr (TestRun) run =
        test_run (offload_workload (stage, LS_OFFLOAD_OPTIMIZER, TRUE, 1, 1), &layer, &net);

    ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD),
                      STEPS * (copy_ps (PARAMETERS * 4) + copy_ps (LAYERS * PARAMETERS * 2)));
  }
}
END_TEST

START_TEST (parameters_are_fetched_layer_by_layer)
/* Parameters on the host of one rank: each layer is fetched forward and backward, its gradient leaves it, and nothing
 * comes back at the end. Without overlap all of it shows. Exact. */
{
  for (gint64 m = 1; m <= 3; m++) {
    g_autoptr (TestRun) run =
        test_run (offload_workload (3, LS_OFFLOAD_PARAMETERS, FALSE, 1, m), &layer, &net);

    ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD),
                      STEPS * m * LAYERS *
                          (2 * copy_ps (PARAMETERS * 2) + copy_ps (PARAMETERS * 4)));
  }
}
END_TEST

START_TEST (shards_alone_are_copied)
/* Four ranks without overlap: a quarter of each gradient leaves each rank behind its reduce-scatter; a quarter of the
 * parameters comes back, before it is gathered. Between the ranks the same is sent as without offload. Exact, where a chain
 * of waits is no longer than the account remembers (not in stage 1: there the sum is). */
{
  for (int stage = 1; stage <= 3; stage++) {
    g_autoptr (TestRun) run =
        test_run (offload_workload (stage, LS_OFFLOAD_OPTIMIZER, FALSE, 4, 1), &layer, &net);
    g_autoptr (TestRun) without =
        test_run (offload_workload (stage, LS_OFFLOAD_NONE, FALSE, 4, 1), &layer, &net);

    const gint64 copies_ps =
        STEPS * (LAYERS * copy_ps (PARAMETERS) + copy_ps (LAYERS * PARAMETERS * 2 / 4));
    const gint64 sums_ps = test_part_ps (without, 0, LS_PART_EXPOSED_ZERO);

    ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD) +
                          test_part_ps (run, 0, LS_PART_EXPOSED_ZERO),
                      copies_ps + sums_ps);
    if (stage >= 2)
      ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD), copies_ps);
  }
}
END_TEST

START_TEST (ranks_of_a_node_share_its_memory)
/* n ranks of one host update an n-th of the parameters each: they take what one rank takes for all of them, n times
 * what each would take alone. Rounded to 1 ps per step and rank. */
{
  for (guint ranks = 1; ranks <= 8; ranks *= 2) {
    g_autoptr (TestRun) run =
        test_run (offload_workload (2, LS_OFFLOAD_OPTIMIZER, TRUE, ranks, 1), &layer, &net);
    const double each = update_ps (LAYERS * PARAMETERS / (double) ranks);

    for (guint rank = 0; rank < ranks; rank++)
      ck_assert_double_eq_tol ((double) test_part_ps (run, rank, LS_PART_OPTIMIZER) / STEPS,
                               ranks * each, ranks);
  }
}
END_TEST

START_TEST (device_keeps_what_is_not_offloaded)
/* The device holds the estimate without optimizer states, from stage 2 on without gradients, and without parameters
 * where these are offloaded; the host holds what it lost of the rank's shard. Of one GPU 16 bytes a parameter with fp32
 * gradients, as DeepSpeed's estimate_zero2_model_states_mem_needs says; 18 with the parameters, as
 * estimate_zero3_model_states_mem_needs. */
{
  const gint64 n = LAYERS * PARAMETERS;
  const LsStage stage_of = {.parameters = LAYERS * PARAMETERS};

  for (guint ranks = 1; ranks <= 4; ranks *= 2)
    for (int stage = 1; stage <= 3; stage++)
      for (guint offload = LS_OFFLOAD_OPTIMIZER; offload < LS_N_OFFLOADS; offload++) {
        g_autoptr (LsWorkload) w = offload_workload (stage, (LsOffload) offload, TRUE, ranks, 1);
        const LsStaticMemory device = ls_memory_static (w, n), host = ls_memory_host (w, &stage_of);
        const gint64 own = n / ranks;

        if (offload == LS_OFFLOAD_PARAMETERS && stage < 3)
          continue;
        w->zero.offload = LS_OFFLOAD_NONE;
        const LsStaticMemory whole = ls_memory_static (w, n);
        ck_assert_int_eq (device.optimizer_bytes, 0);
        ck_assert_int_eq (device.gradients_bytes, stage >= 2 ? 0 : whole.gradients_bytes);
        ck_assert_int_eq (device.parameters_bytes,
                          offload == LS_OFFLOAD_PARAMETERS ? 0 : whole.parameters_bytes);
        ck_assert_int_eq (host.optimizer_bytes, 12 * own);
        ck_assert_int_eq (host.gradients_bytes, 4 * own);
        ck_assert_int_eq (host.parameters_bytes, offload == LS_OFFLOAD_PARAMETERS ? 2 * own : 0);
      }
}
END_TEST

START_TEST (skipped_steps_leave_the_update_out)
/* With loss scaling a step that overflows neither updates nor copies back; the host's pass that unscales, 2 x 4 bytes
 * of each gradient, it runs. */
{
  static const guint8 skips[STEPS] = {FALSE, TRUE, FALSE};
  LsWorkload *workload = offload_workload (2, LS_OFFLOAD_OPTIMIZER, TRUE, 1, 1);

  workload->loss_scaling.scaler.kind = LS_LOSS_SCALE_STATIC;
  g_autoptr (TestRun) run = test_run_skipping (workload, &layer, &net, skips);
  const double n = LAYERS * PARAMETERS, pass = update_ps (n) * 8 / UPDATE_BYTES;

  ck_assert_double_eq_tol ((double) test_part_ps (run, 0, LS_PART_OPTIMIZER),
                           2 * update_ps (n) + STEPS * pass, 2 * STEPS);
  ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD),
                    STEPS * copy_ps (PARAMETERS * 4) + 2 * copy_ps (LAYERS * PARAMETERS * 2));
}
END_TEST

int main (void) {
  const TTest *const tests[] = {one_rank_copies_gradients_out_and_parameters_back,
                                copies_hide_behind_the_backward,
                                parameters_are_fetched_layer_by_layer,
                                shards_alone_are_copied,
                                ranks_of_a_node_share_its_memory,
                                device_keeps_what_is_not_offloaded,
                                skipped_steps_leave_the_update_out};
  return test_main ("offload", tests, G_N_ELEMENTS (tests));
}
