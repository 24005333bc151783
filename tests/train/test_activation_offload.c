/* Inputs of recomputed layers in the memory of the host: bytes and times of their copies, what lies where. */
#include "harness.h"

#include "train/memory/activation_offload.h"
#include "train/memory/memory.h"

#define LAYERS 6
#define STEPS 2
#define FORWARD_PS 100000
#define BACKWARD_PS 200000
#define LATENCY_PS 2000
#define PS_PER_BYTE 10
/* Of a micro-batch of the second step; the segment runs again before its backward. */
#define AGAIN_PS (FORWARD_PS + BACKWARD_PS)
static const TestNet net = {.latency_ps = LATENCY_PS, .bytes_per_s = 1e12 / PS_PER_BYTE};

static gint64 copy_ps (gint64 bytes) {
  return LATENCY_PS + bytes * PS_PER_BYTE;
}

static TestLayer layer_of (gint64 input_bytes) {
  return (TestLayer){.forward_ps = FORWARD_PS,
                     .backward_ps = BACKWARD_PS,
                     .saved_bytes = 4000,
                     .input_bytes = input_bytes};
}

static LsWorkload *offload_workload (guint pipeline, gint64 m, gint64 every, gboolean overlap) {
  LsWorkload *workload = test_workload (1, 1, pipeline, LAYERS, m);

  workload->optimizer.clip = LS_NORM_CLIP_OFF;
  workload->recompute.mode = LS_RECOMPUTE_FULL;
  workload->recompute.every = every;
  workload->recompute.offload = TRUE;
  workload->recompute.offload_overlap = overlap;
  workload->steps = STEPS;
  return workload;
}

START_TEST (beside_nothing_all_of_it_shows)
/* m micro-batches of n segments: 2 n m copies. Exact. */
{
  for (gint64 every = 1; every <= 3; every++)
    for (gint64 m = 1; m <= 3; m++) {
      const TestLayer layer = layer_of (5000);
      g_autoptr (TestRun) run = test_run (offload_workload (1, m, every, FALSE), &layer, &net);

      ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD),
                        STEPS * m * 2 * (LAYERS / every) * copy_ps (5000));
    }
}
END_TEST

START_TEST (beside_compute_the_excess_shows)
/* Forward n max (f, c): n (c - f) shows. Backward, b the second forward and the backward of a segment: the first fetch,
 * c, and where c > b also (n - 1) (c - b). Copies of 52, 302 and 402 ns; f 100, 200, 300 ns and b 300, 600, 900 ns for
 * segments of 1, 2, 3 layers. Exact. */
{
  static const gint64 sizes[] = {5000, 30000, 40000};

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (gint64 every = 1; every <= 3; every++)
      for (gint64 m = 1; m <= 3; m++) {
        const TestLayer layer = layer_of (sizes[i]);
        const gint64 c = copy_ps (sizes[i]), n = LAYERS / every;
        const gint64 forward = n * MAX (c - every * FORWARD_PS, 0);
        const gint64 backward = c + (n - 1) * MAX (c - every * AGAIN_PS, 0);
        g_autoptr (TestRun) run = test_run (offload_workload (1, m, every, TRUE), &layer, &net);

        ck_assert_int_eq (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD),
                          STEPS * m * (forward + backward));
      }
}
END_TEST

START_TEST (device_keeps_two_inputs)
/* Without offload n inputs and what one layer saves; with it one input beside nothing, two beside compute. Device s of p
 * holds min (p - s, m) times n / p inputs on its host, in place of as many on the device. Exact. */
{
  const TestLayer layer = layer_of (5000);
  LsWorkload *kept = offload_workload (1, 4, 1, TRUE);

  kept->recompute.offload = FALSE;
  g_autoptr (TestRun) all = test_run (kept, &layer, &net);
  g_autoptr (TestRun) blocking = test_run (offload_workload (1, 4, 1, FALSE), &layer, &net);
  g_autoptr (TestRun) ahead = test_run (offload_workload (1, 4, 1, TRUE), &layer, &net);
  ck_assert_int_eq (test_peak_activations (all, 0), LAYERS * 5000 + 4000);
  ck_assert_int_eq (test_peak_activations (blocking, 0), 5000 + 4000);
  ck_assert_int_eq (test_peak_activations (ahead, 0), 2 * 5000 + 4000);

  for (guint p = 1; p <= 3; p++)
    for (gint64 m = 1; m <= 4; m++) {
      g_autoptr (TestRun) run = test_run (offload_workload (p, m, 1, TRUE), &layer, &net);

      for (guint device = 0; device < p; device++)
        ck_assert_int_eq (
            ls_activations_host_bytes (run->workload, device, run->job->kinds[device].stage),
            MIN (p - device, m) * LAYERS / p * 5000);
    }
}
END_TEST

START_TEST (every_schedule_runs)
/* Copies pair up in every order of micro-batches, whole and halved backwards: 2 copies per segment and micro-batch show
 * beside nothing, and nothing stays claimed (activations are back to 0: the ledger's own assertion). At least; waits for
 * neighbours' copies count too. */
{
  static const LsScheduleKind kinds[] = {LS_SCHEDULE_GPIPE,       LS_SCHEDULE_1F1B,
                                         LS_SCHEDULE_INTERLEAVED, LS_SCHEDULE_ZB_H1,
                                         LS_SCHEDULE_ZB_V,        LS_SCHEDULE_DUALPIPE};
  TestLayer layer = layer_of (5000);

  layer.weight_ps = BACKWARD_PS / 2;
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    for (gboolean overlap = FALSE; overlap <= TRUE; overlap++) {
      LsWorkload *workload = test_workload (1, 1, 2, 12, 8);

      workload->optimizer.clip = LS_NORM_CLIP_OFF;
      workload->recompute.mode = LS_RECOMPUTE_FULL;
      workload->recompute.offload = TRUE;
      workload->recompute.offload_overlap = overlap;
      workload->steps = STEPS;
      test_set_schedule (workload, kinds[i],
                         kinds[i] == LS_SCHEDULE_INTERLEAVED || kinds[i] == LS_SCHEDULE_ZB_V ? 2
                                                                                             : 1);
      g_autoptr (TestRun) run = test_run (workload, &layer, &net);
      const gint64 shown = test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD);

      ck_assert_int_ge (shown, overlap ? 1 : STEPS * 8 * 2 * 6 * copy_ps (5000));
    }
}
END_TEST

int main (void) {
  const TTest *const tests[] = {beside_nothing_all_of_it_shows, beside_compute_the_excess_shows,
                                device_keeps_two_inputs, every_schedule_runs};
  return test_main ("activation_offload", tests, G_N_ELEMENTS (tests));
}
