/* Data parallelism and ZeRO: bytes on the wire, overlap, live buffers. */
#include "harness.h"

#define LAYERS 6
#define PARAMETERS 4000 /* per layer */
static const TestLayer layer = {
    .forward_ps = 100000, .backward_ps = 200000, .parameters = PARAMETERS};
static const TestNet free_net = {0, 0};

static LsWorkload *zero_workload (int stage, gboolean overlap, guint ranks, gint64 m) {
  LsWorkload *workload = test_workload (1, ranks, 1, LAYERS, m);

  workload->optimizer.clip =
      LS_NORM_CLIP_OFF; /* its sums of a number are no part of the closed forms */
  workload->zero.stage = stage;
  workload->zero.overlap = overlap;
  workload->steps = 3;
  return workload;
}

START_TEST (traffic_per_step)
/* Elements that a rank sends per step, of Psi parameters on n ranks, each counted (n - 1)/n: data parallel
 * and stage 1: 2 Psi; stage 2 with m micro-batches: (m + 1) Psi; stage 3: 3 Psi m. Rajbhandari et al.,
 * ZeRO (SC20), section 7; stage 2 reduces the gradients of every micro-batch. 2 bytes per element; sizes
 * are multiples of n, so exact. */
{
  const guint n = 4;
  for (gint64 m = 1; m <= 3; m++)
    for (gint64 bucket = 1000; bucket <= 100000; bucket *= 10)
      for (int overlap = 0; overlap <= 1; overlap++) {
        const gint64 units[] = {2, 2, m + 1, 3 * m};
        for (int stage = 0; stage <= 3; stage++) {
          LsWorkload *workload = zero_workload (stage, overlap, n, m);
          workload->zero.bucket_bytes = bucket;
          g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
          const gint64 psi = LAYERS * PARAMETERS;
          for (guint rank = 0; rank < n; rank++) {
            ck_assert_msg (ls_engine_bytes_sent (run->engine, rank) ==
                               3 * units[stage] * psi * 2 * (n - 1) / n,
                           "stage %d, m %d, overlap %d: %" G_GINT64_FORMAT, stage, (int) m, overlap,
                           ls_engine_bytes_sent (run->engine, rank));
            ck_assert_int_eq (ls_engine_bytes_sent (run->engine, rank),
                              ls_engine_bytes_received (run->engine, rank));
          }
        }
      }
}
END_TEST

START_TEST (live_layers_are_prefetch_plus_one)
/* Stage 3 on a network that is faster than compute gathers as far ahead as it may: prefetch + 1 layers of
 * 2 bytes per parameter are live, and in a backward the gradient of one layer beside them. */
{
  for (gint64 prefetch = 0; prefetch < LAYERS - 1; prefetch++) {
    LsWorkload *workload = zero_workload (3, TRUE, 2, 2);
    workload->zero.prefetch = prefetch;
    g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
    ck_assert_int_eq (test_peak_activations (run, 0), (prefetch + 1 + 1) * PARAMETERS * 2);
    ck_assert_int_eq (ls_engine_memory_now (run->engine, 0, LS_MEMORY_BUFFERS), 0);
  }
}
END_TEST

/* A gather (or reduce-scatter) of one layer on 2 ranks: latency + half of it at the rate. */
#define LATENCY_PS 2000
static const TestNet slow_net = {.latency_ps = LATENCY_PS, .bytes_per_s = 1e11};
static const gint64 one_ps = LATENCY_PS + PARAMETERS * 2 / 2 * 10;

START_TEST (gathers_hide_behind_compute)
/* With overlap and communication shorter than compute only the first gather and the last
 * reduce-scatter of a step show; without, all 3 per layer. Exact. */
{
  g_autoptr (TestRun) with = test_run (zero_workload (3, TRUE, 2, 1), &layer, &slow_net);
  g_autoptr (TestRun) without = test_run (zero_workload (3, FALSE, 2, 1), &layer, &slow_net);

  ck_assert_int_eq (test_part_ps (with, 0, LS_PART_EXPOSED_ZERO), 3 * 2 * one_ps);
  ck_assert_int_eq (test_part_ps (without, 0, LS_PART_EXPOSED_ZERO), 3 * 3 * LAYERS * one_ps);
  ck_assert_int_eq (ls_engine_now_ps (without->engine) - ls_engine_now_ps (with->engine),
                    3 * (3 * LAYERS - 2) * one_ps);
}
END_TEST

START_TEST (buckets_hide_behind_the_last_backward)
/* Data parallel with one bucket per layer: all but the last all-reduce hide; micro-batches before the last
 * reduce nothing. A bucket of three layers shows whole. Without overlap everything shows. Exact; an all-reduce
 * on 2 ranks sends its buffer once. */
{
  const gint64 layer_bytes = PARAMETERS * 2;
  for (gint64 per_bucket = 1; per_bucket <= 3; per_bucket += 2)
    for (int overlap = 0; overlap <= 1; overlap++) {
      LsWorkload *workload = zero_workload (0, overlap, 2, 3);
      workload->zero.bucket_bytes = per_bucket * layer_bytes;
      g_autoptr (TestRun) run = test_run (workload, &layer, &slow_net);
      const gint64 bucket_ps = LATENCY_PS + per_bucket * layer_bytes * 10;
      ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_DATA),
                        3 * (overlap ? 1 : LAYERS / per_bucket) * bucket_ps);
    }
}
END_TEST

START_TEST (long_chains_are_charged_in_full)
/* Without overlap 24 reductions of a quarter of a layer follow each other: all their time is exposed data
 * communication, however many they are. Exact. */
{
  LsWorkload *workload = zero_workload (0, FALSE, 2, 1);
  workload->zero.bucket_bytes = PARAMETERS * 2 / 4;
  g_autoptr (TestRun) run = test_run (workload, &layer, &slow_net);
  ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_DATA),
                    3 * LAYERS * 4 * (LATENCY_PS + PARAMETERS * 2 / 4 * 10));
}
END_TEST

START_TEST (small_buckets_cut_a_layer)
/* A bucket smaller than a layer's gradients: the layer is reduced in equal parts, no more than its backward
 * has operations; the bytes are the same. */
{
  LsWorkload *workload = zero_workload (0, TRUE, 2, 1);
  workload->zero.bucket_bytes = PARAMETERS / 4;
  g_autoptr (TestRun) run = test_run (workload, &layer, &free_net);
  ck_assert_int_eq (ls_engine_bytes_sent (run->engine, 0), 3 * LAYERS * PARAMETERS * 2);
}
END_TEST

START_TEST (reductions_do_not_run_away)
/* Stage 3 with a network slower than compute: a backward waits for the reduction two layers before, so
 * gradients of at most three layers are live (two being reduced or queued, one being computed). */
{
  const TestNet slower = {.latency_ps = 1000000, .bytes_per_s = 1e11};
  g_autoptr (TestRun) run = test_run (zero_workload (3, TRUE, 2, 1), &layer, &slower);
  ck_assert_int_le (test_peak_activations (run, 0), (2 + 3) * PARAMETERS * 2);
}
END_TEST

START_TEST (matrix_by_matrix_pays_latency_and_pieces)
/* Software that gathers and reduces each of 4 matrices by itself, with 5 ns of host time per rank and
 * collective, adds 3 x (3 latencies + 4 x 2 x 5 ns) per layer and step on 2 ranks; the bytes are the same. With
 * full recompute the second forward pass gathers once more. Exact. */
{
  LsSoftware software = *ls_software_get (0);
  TestLayer four = layer;
  four.matrices = 4;
  software.zero_per_matrix = TRUE;
  software.zero_piece_s.value = 5e-9;
  const gint64 split_ps = 4 * (LATENCY_PS + 2 * 5000) + PARAMETERS * 10;
  for (int again = 0; again <= 1; again++) {
    LsWorkload *workload = zero_workload (3, FALSE, 2, 1);
    if (again)
      workload->recompute.mode = LS_RECOMPUTE_FULL;
    workload->software = &software;
    g_autoptr (TestRun) run = test_run (workload, &four, &slow_net);
    ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_ZERO),
                      3 * LAYERS * (3 + again) * split_ps);
    ck_assert_int_eq (ls_engine_bytes_sent (run->engine, 0),
                      3 * (3 + again) * LAYERS * PARAMETERS * 2 / 2);
  }
}
END_TEST

START_TEST (flat_gradients_are_joined_and_divided)
/* FSDP's flat parameters: the bytes on the wire are the same; each layer and step has two passes more, one in the stream of
 * compute and one before the reduction, which is waited for where nothing overlaps. Twice the layers, twice of that. */
{
  LsSoftware software = *ls_software_get (0);
  gint64 more_ps[2] = {0, 0};

  software.flat_gradients = TRUE;
  for (guint twice = 0; twice <= 1; twice++) {
    const guint layers = twice ? 2 * LAYERS : LAYERS;
    LsWorkload *flat = test_workload (1, 2, 1, layers, 1);
    LsWorkload *plain = test_workload (1, 2, 1, layers, 1);

    flat->software = &software;
    plain->software = ls_software_get (0);
    flat->zero.stage = plain->zero.stage = 3;
    flat->zero.overlap = plain->zero.overlap = FALSE;
    g_autoptr (TestRun) with = test_run (flat, &layer, &free_net);
    g_autoptr (TestRun) without = test_run (plain, &layer, &free_net);

    ck_assert_int_eq (ls_engine_bytes_sent (with->engine, 0),
                      ls_engine_bytes_sent (without->engine, 0));
    ck_assert_int_gt (test_part_ps (with, 0, LS_PART_EXPOSED_ZERO),
                      test_part_ps (without, 0, LS_PART_EXPOSED_ZERO));
    more_ps[twice] = ls_engine_now_ps (with->engine) - ls_engine_now_ps (without->engine);
  }
  ck_assert_int_gt (more_ps[0], 0);
  ck_assert_int_eq (more_ps[1], 2 * more_ps[0]);
}
END_TEST

START_TEST (flat_gradients_with_stage_2)
/* The same passes with SHARD_GRAD_OP, whose reductions run beside the backward pass: L layers make the step longer by L
 * passes of compute and the last one before a reduction, so twice the layers by more than L and less than 2 L of them do. */
{
  LsSoftware units = *ls_software_get (0), flat;
  gint64 more_ps[2] = {0, 0};

  units.unit_buckets = TRUE;
  flat = units;
  flat.flat_gradients = TRUE;
  for (guint twice = 0; twice <= 1; twice++) {
    LsWorkload *workload[2];
    gint64 end_ps[2];
    for (guint i = 0; i < 2; i++) {
      workload[i] = test_workload (1, 2, 1, twice ? 2 * LAYERS : LAYERS, 1);
      workload[i]->software = i == 0 ? &units : &flat;
      workload[i]->zero.stage = 2;
      workload[i]->zero.overlap = TRUE;
      g_autoptr (TestRun) run = test_run (workload[i], &layer, &free_net);
      end_ps[i] = ls_engine_now_ps (run->engine);
    }
    more_ps[twice] = end_ps[1] - end_ps[0];
  }
  ck_assert_int_gt (more_ps[0], 0);
  ck_assert_int_gt (more_ps[1], more_ps[0]);
  ck_assert_int_lt (more_ps[1], 2 * more_ps[0]);
}
END_TEST

START_TEST (recompute_stops_early)
/* Each layer is two matmuls of half its time that save 600 bytes each: the second forward pass leaves the last
 * one out, since its input is all that it saves. So a step lasts F + F/2 + B per layer, and the peak is that
 * of a full second pass: 6 inputs of 100 bytes and one layer. Exact. */
{
  LsSoftware software = *ls_software_get (0);
  const TestLayer saving = {
      .forward_ps = 100000, .backward_ps = 200000, .saved_bytes = 1200, .input_bytes = 100};
  software.host_step_s.value = 0;
  for (int early = 0; early <= 1; early++) {
    LsWorkload *workload = test_workload (1, 1, 1, LAYERS, 1);
    software.recompute_stops_early = early;
    workload->software = &software;
    workload->recompute.mode = LS_RECOMPUTE_FULL;
    g_autoptr (TestRun) run = test_run (workload, &saving, &free_net);
    ck_assert_int_eq (ls_engine_now_ps (run->engine), 2 * LAYERS * (400000 - (early ? 50000 : 0)));
    ck_assert_int_eq (test_peak_activations (run, 0), LAYERS * 100 + 1200);
  }
}
END_TEST

START_TEST (quantized_gathers_send_half)
/* With int8 gathers and one scale of 4 bytes per 4096 values a layer of 4096 parameters is 4100 bytes instead of 8192 on the
 * wire, forward and backward; its gradients are reduced as before. Each rank makes its shard narrow and all of the layer
 * wide: both kernels run before the layer may. Exact. source: Wang et al. 2023 (arXiv 2306.10209), table 1 (0.5 M). */
{
  TestLayer even = layer;
  even.parameters = 4096;
  for (int overlap = 0; overlap <= 1; overlap++) {
    LsWorkload *workload = zero_workload (3, overlap, 4, 2);
    workload->zero.quantized_weights = TRUE;
    g_autoptr (TestRun) run = test_run (workload, &even, &free_net);
    g_autoptr (TestRun) plain = test_run (zero_workload (3, overlap, 4, 2), &even, &free_net);
    const gint64 gathers = 3 * 2 * 2 * LAYERS;

    ck_assert_int_eq (ls_engine_bytes_sent (run->engine, 0),
                      gathers * 4100 * 3 / 4 + gathers / 2 * 4096 * 2 * 3 / 4);
    ck_assert_int_eq (ls_engine_bytes_sent (plain->engine, 0),
                      gathers * 4096 * 2 * 3 / 4 + gathers / 2 * 4096 * 2 * 3 / 4);
    if (!overlap)
      ck_assert_int_gt (test_part_ps (run, 0, LS_PART_EXPOSED_ZERO), 0);
    ck_assert_int_eq (test_peak_activations (run, 0), test_peak_activations (plain, 0));
  }
}
END_TEST

int main (void) {
  const TTest *const tests[] = {traffic_per_step,
                                live_layers_are_prefetch_plus_one,
                                gathers_hide_behind_compute,
                                buckets_hide_behind_the_last_backward,
                                long_chains_are_charged_in_full,
                                small_buckets_cut_a_layer,
                                reductions_do_not_run_away,
                                matrix_by_matrix_pays_latency_and_pieces,
                                flat_gradients_are_joined_and_divided,
                                flat_gradients_with_stage_2,
                                recompute_stops_early,
                                quantized_gathers_send_half};
  return test_main ("zero", tests, G_N_ELEMENTS (tests));
}
