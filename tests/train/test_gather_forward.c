/* Updated parameters gathered beside the next forward pass: what shows is a closed form, bytes are those of gathers at
 * the end of the step, nothing is slower, and folded, traced and plain runs are the same to the bit. */
#include "base/random.h"
#include "fold_case.h"
#include "harness.h"
#include "suite.h"
#include "train/program/gather_buckets.h"

#define LAYERS 6
#define PARAMETERS 4000 /* per layer */
#define STEPS 3
#define FORWARD_PS 100000
static const TestLayer layer = {
    .forward_ps = FORWARD_PS, .backward_ps = 200000, .parameters = PARAMETERS};

static LsWorkload *workload_of (gboolean ahead, gint64 bucket_bytes, gint64 m) {
  LsWorkload *workload = test_workload (1, 2, 1, LAYERS, m);

  workload->optimizer.clip = LS_NORM_CLIP_OFF;
  workload->zero =
      (LsZero){.stage = 1, .overlap = TRUE, .overlap_gather = ahead, .bucket_bytes = bucket_bytes};
  workload->steps = STEPS;
  return workload;
}

/* On 2 ranks half of 2-byte parameters arrives, at 0.1 byte a picosecond. */
#define LATENCY_PS 2000
#define PS_PER_PARAMETER 10

START_TEST (what_forward_does_not_cover_shows)
/* Buckets of k layers take t = latency + 10 ps k P each, and the one that is left over at the front r < k layers: the
 * first shows whole and each other one max (0, t - the forward of the one before it), whether nothing more shows or
 * much, with one or several micro-batches. The reductions of the backward pass show the last one of theirs. Exact. */
{
  for (gint64 k = 1; k <= LAYERS; k++)
    for (gint64 latency_ps = LATENCY_PS; latency_ps < 20 * k * FORWARD_PS; latency_ps *= 7)
      for (gint64 m = 1; m <= 2; m++) {
        const TestNet net = {.latency_ps = latency_ps, .bytes_per_s = 1e11};
        const gint64 layer_ps = PARAMETERS * PS_PER_PARAMETER, rest = LAYERS % k;
        const gint64 bucket_ps = latency_ps + k * layer_ps;
        const gint64 rest_ps = rest > 0 ? latency_ps + rest * layer_ps : 0;
        gint64 shown_ps = rest > 0 ? rest_ps : bucket_ps;
        if (rest > 0)
          shown_ps += MAX (0, bucket_ps - rest * FORWARD_PS);
        for (gint64 i = 1; i < LAYERS / k; i++)
          shown_ps += MAX (0, bucket_ps - k * FORWARD_PS);
        LsWorkload *alone = workload_of (TRUE, k * PARAMETERS * 2, m);
        LsWorkload *at_end = workload_of (FALSE, k * PARAMETERS * 2, m);
        g_autoptr (TestRun) with = test_run (alone, &layer, &net);
        g_autoptr (TestRun) without = test_run (at_end, &layer, &net);
        const gint64 end_ps = LAYERS / k * bucket_ps + rest_ps;
        ck_assert_int_eq (ls_engine_now_ps (without->engine) - ls_engine_now_ps (with->engine),
                          STEPS * (end_ps - shown_ps));
        ck_assert_int_eq (test_part_ps (without, 0, LS_PART_EXPOSED_ZERO) -
                              test_part_ps (with, 0, LS_PART_EXPOSED_ZERO),
                          STEPS * (end_ps - shown_ps));
      }
}
END_TEST

START_TEST (a_layer_with_more_than_a_bucket)
/* A bucket of a fourth of a layer: a layer waits for its four, t = 4 latencies + 10 ps P, and those of the next start
 * when it has them. Exact. */
{
  const TestNet net = {.latency_ps = 30000, .bytes_per_s = 1e11};
  const gint64 layer_ps = 4 * 30000 + PARAMETERS * PS_PER_PARAMETER;
  g_autoptr (TestRun) with = test_run (workload_of (TRUE, PARAMETERS * 2 / 4, 1), &layer, &net);
  g_autoptr (TestRun) without = test_run (workload_of (FALSE, PARAMETERS * 2 / 4, 1), &layer, &net);

  ck_assert_int_eq (ls_engine_now_ps (without->engine) - ls_engine_now_ps (with->engine),
                    STEPS *
                        (LAYERS * layer_ps - (layer_ps + (LAYERS - 1) * (layer_ps - FORWARD_PS))));
}
END_TEST

START_TEST (units_are_buckets_whatever_their_size)
/* FSDP's units: a layer is gathered and reduced by itself, of which zero.bucket is no part. So with m = 1 each step lasts
 * as with buckets of one layer, with stage 1 and 2, whether zero.bucket is a fourth of a layer or all of them. Exact. */
{
  const TestNet net = {.latency_ps = 30000, .bytes_per_s = 1e11};
  LsSoftware units = *ls_software_get (0);

  units.unit_buckets = TRUE;
  for (int stage = 1; stage <= 2; stage++) {
    LsWorkload *by_layer = workload_of (TRUE, PARAMETERS * 2, 1);
    by_layer->zero.stage = stage;
    g_autoptr (TestRun) expected = test_run (by_layer, &layer, &net);
    for (gint64 bucket = PARAMETERS / 2; bucket <= 2 * LAYERS * PARAMETERS; bucket *= 4) {
      LsWorkload *workload = workload_of (TRUE, bucket, 1);
      workload->software = &units;
      workload->zero.stage = stage;
      g_autoptr (TestRun) run = test_run (workload, &layer, &net);
      ck_assert_int_eq (ls_engine_now_ps (run->engine), ls_engine_now_ps (expected->engine));
      ck_assert_int_eq (ls_engine_bytes_sent (run->engine, 0),
                        ls_engine_bytes_sent (expected->engine, 0));
      ck_assert_int_eq (test_peak_activations (run, 0), test_peak_activations (expected, 0));
    }
  }
}
END_TEST

START_TEST (fsdp_gathers_before_it_computes)
/* PyTorch's FSDP gathers in the forward pass with every sharding strategy (SHARD_GRAD_OP too), unit by unit; plain
 * generations at the end of the step. source: torch/distributed/fsdp, _runtime_utils.py, _pre_forward_unshard. */
{
  for (guint i = 0; i < ls_software_count (); i++) {
    const LsSoftware *software = ls_software_get (i);
    if (g_str_has_prefix (software->name, "pytorch-fsdp"))
      ck_assert_msg (software->gathers_ahead && software->unit_buckets, "%s", software->name);
  }
}
END_TEST

START_TEST (an_overflowing_step_gathers_all_the_same)
/* Gathers at the start of a step do not ask what became of the one before. */
{
  static const guint8 skips[STEPS] = {0, 1, 0};
  const TestNet net = {.latency_ps = LATENCY_PS, .bytes_per_s = 1e11};
  g_autoptr (TestRun) run =
      test_run_skipping (workload_of (TRUE, PARAMETERS * 2, 1), &layer, &net, skips);

  ck_assert_int_eq (ls_engine_bytes_sent (run->engine, 0), STEPS * 2 * LAYERS * PARAMETERS);
}
END_TEST

static const LsSoftware *software_of (gboolean first_stage) {
  static LsSoftware rows[2];

  rows[first_stage] = *ls_software_get (0);
  rows[first_stage].buckets_first_stage = first_stage;
  return &rows[first_stage];
}

/* The same layout with and without; returns FALSE where the schedule does not fit it. */
static void compare (LsRandom *random, guint schedule) {
  static const guint virtual_stages[LS_N_SCHEDULES] = {[LS_SCHEDULE_INTERLEAVED] = 3};
  const guint pipeline = 1 + schedule % 2 * 3, data = 2 + (guint) ls_random_below (random, 3);
  const guint per_stage = 1 + (guint) ls_random_below (random, 5);
  const gint64 m = 8, bucket = 500 + (gint64) ls_random_below (random, 60000);
  const gint64 stage = 1 + (gint64) ls_random_below (random, 2);
  const gint64 again = (gint64) ls_random_below (random, 12);
  const gboolean first_stage = ls_random_below (random, 2) == 0;
  const gint64 most = ls_random_below (random, 2) == 0 ? 3 : 200;
  const TestNet net = {.latency_ps = 1000 * (gint64) ls_random_below (random, (guint64) most),
                       .bytes_per_s = 1e11};
  TestLayer own = layer;
  TestRun *runs[2];

  own.boundary_bytes = 100;
  own.weight_ps = 80000;
  for (int ahead = 0; ahead < 2; ahead++) {
    LsWorkload *workload = test_workload (1, data, pipeline, 24 * per_stage, m);
    workload->zero = (LsZero){
        .stage = (int) stage, .overlap = TRUE, .overlap_gather = ahead, .bucket_bytes = bucket};
    workload->software = software_of (first_stage);
    workload->recompute.mode = again > 0 ? LS_RECOMPUTE_FULL : LS_RECOMPUTE_NONE;
    workload->recompute.layers = again; /* a chunk apart */
    if (pipeline > 1)
      test_set_schedule (workload, (LsScheduleKind) (schedule % LS_N_SCHEDULES),
                         MAX (virtual_stages[schedule % LS_N_SCHEDULES], 1u));
    runs[ahead] = test_run (workload, &own, &net);
  }
  for (guint rank = 0; rank < data * pipeline; rank++) {
    /* Each collective's share is rounded down by less than a byte; a layer is 8,000. */
    const gint64 more = (gint64) (ls_engine_bytes_sent (runs[1]->engine, rank) -
                                  ls_engine_bytes_sent (runs[0]->engine, rank));
    ck_assert_int_lt (ABS (more), PARAMETERS);
    ck_assert_int_eq (test_peak_activations (runs[0], rank), test_peak_activations (runs[1], rank));
  }
  /* A later stage that starts its second bucket when the first micro-batch comes may hold that up: no law with buckets
   * on later stages, nor where the network is slower than compute. A part of the model more is a bucket more, at most. */
  if (pipeline == 1 || (first_stage && net.latency_ps <= 2000))
    ck_assert_int_le (ls_engine_now_ps (runs[1]->engine),
                      ls_engine_now_ps (runs[0]->engine) + 2 * 3 * net.latency_ps);
  test_run_free (runs[0]);
  test_run_free (runs[1]);
}

START_TEST (bytes_and_memory_are_the_same_and_nothing_is_slower) {
  LsRandom random;

  ls_random_init (&random, 7, "gather", 0);
  for (guint i = 0; i < test_scaled (60); i++)
    compare (&random, i);
}
END_TEST

START_TEST (buckets_are_runs_of_segments_that_fill_them)
/* Random chunks: every segment is in one bucket; a shared bucket is one run of segments; a bucket is full, without its
 * first segment it is not, but for the one at the very front, which may be smaller. */
{
  LsRandom random;

  ls_random_init (&random, 11, "cuts", 0);
  for (guint round = 0; round < test_scaled (2000); round++) {
    const guint n = 1 + (guint) ls_random_below (&random, 5);
    const gint64 bucket = 1 + (gint64) ls_random_below (&random, 400);
    gint64 segments[5], bytes[5], sums[10] = {0}, least[10];
    LsBucketCut cuts[5];
    guint last = G_MAXUINT;
    for (guint i = 0; i < n; i++) {
      segments[i] = 1 + (gint64) ls_random_below (&random, 30);
      bytes[i] = (gint64) ls_random_below (&random, 4) * (gint64) ls_random_below (&random, 50);
    }
    const guint shared = ls_buckets_cut (segments, bytes, n, bucket, cuts);
    for (guint i = 0; i < n; i++) {
      const LsBucketCut *cut = &cuts[i];
      const guint numbers[] = {cut->head_bucket, cut->tail_bucket};
      const gint64 of[] = {cut->head, cut->tail};
      ck_assert_int_eq (cut->head + cut->whole * cut->per_bucket + cut->tail,
                        bytes[i] > 0 ? segments[i] : 0);
      for (guint end = 0; end < 2; end++) {
        if (of[end] == 0)
          continue;
        ck_assert_uint_lt (numbers[end], shared);
        /* In this order, and nothing of its own between. */
        if (sums[numbers[end]] > 0)
          ck_assert_uint_eq (numbers[end], last);
        else
          least[numbers[end]] = bytes[i];
        sums[numbers[end]] += of[end] * bytes[i];
        last = end == 0 && cut->whole > 0 ? G_MAXUINT : numbers[end];
      }
      if (cut->whole > 0) {
        ck_assert_int_ge (cut->per_bucket * bytes[i], bucket);
        ck_assert_int_lt ((cut->per_bucket - 1) * bytes[i], bucket);
      }
    }
    /* Numbers are given from behind, so the highest is the foremost. */
    for (guint i = 0; i < shared; i++) {
      ck_assert_int_gt (sums[i], 0);
      if (i + 1 < shared)
        ck_assert_int_ge (sums[i], bucket);
      ck_assert_int_lt (sums[i] - least[i], bucket);
    }
  }
}
END_TEST

START_TEST (folded_and_traced_runs_are_the_same) {
  for (guint64 seed = 0; seed < test_scaled (16); seed++) {
    const guint64 drawn = test_seed () + seed + 300;
    FoldCase test = seed % 4 == 3 ? fold_random_axes (drawn) : fold_random (drawn);
    test.zero = 1 + (int) (seed % 2);
    test.overlap = test.overlap_gather = TRUE;
    test.data = MAX (test.data, 2u);
    test.nodes = (test.tensor * MAX (test.context, 1u) * test.data * test.pipeline + 7) / 8;
    test.bucket_bytes = seed % 3 == 0 ? 10000000 : seed % 3 == 1 ? 100000000 : 0;
    g_autofree char *text = fold_describe (&test);
    FoldResult folded = fold_compare (&test);
    ck_assert_msg (folded.differs == NULL, "%s: %s", text, folded.differs);
    FoldResult traced = fold_compare_convoys (&test);
    ck_assert_msg (traced.differs == NULL, "%s: %s", text, traced.differs);
  }
}
END_TEST

int main (void) {
  const TTest *const tests[] = {what_forward_does_not_cover_shows,
                                a_layer_with_more_than_a_bucket,
                                an_overflowing_step_gathers_all_the_same,
                                buckets_are_runs_of_segments_that_fill_them,
                                bytes_and_memory_are_the_same_and_nothing_is_slower,
                                folded_and_traced_runs_are_the_same,
                                units_are_buckets_whatever_their_size,
                                fsdp_gathers_before_it_computes};
  return test_main ("gather_forward", tests, G_N_ELEMENTS (tests));
}
