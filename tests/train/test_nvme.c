/* Offloaded states on drives (ZeRO-Infinity): bytes and times of reads and writes, what overlaps, what lies where. */
#include "harness.h"

#include "train/memory/memory.h"
#include "train/program/offload_program.h"

#define LAYERS 6
#define PARAMETERS 4000 /* per layer */
#define ALL (LAYERS * PARAMETERS)
#define STEPS 3
#define GROUPS 4
/* Master copy and two moments; a gradient. Of a host of 100 GB/s (harness.c). */
#define STATES 12
#define GRADIENT 4
#define UPDATE_BYTES (GRADIENT + 2 * STATES + 2)
#define HOST_BYTES_PER_S 1e11
static const TestLayer layer = {
    .forward_ps = 100000, .backward_ps = 200000, .parameters = PARAMETERS};
#define LATENCY_PS 2000
#define PS_PER_BYTE 10
static const TestNet net = {.latency_ps = LATENCY_PS, .bytes_per_s = 1e12 / PS_PER_BYTE};

static LsWorkload *on_drives (LsOffload offload, LsOffload nvme, gboolean overlap, gint64 m) {
  LsWorkload *workload = test_workload (1, 1, 1, LAYERS, m);

  workload->optimizer.clip = LS_NORM_CLIP_OFF; /* its pass is no part of the closed forms */
  workload->zero.stage = 3;
  workload->zero.overlap = overlap;
  workload->zero.offload = offload;
  workload->zero.nvme = nvme;
  workload->zero.sub_group = ALL / GROUPS;
  workload->steps = STEPS;
  return workload;
}

static gint64 copy_ps (gint64 bytes) {
  return LATENCY_PS + bytes * PS_PER_BYTE;
}

static double pass_ps (double parameters) {
  return 1e12 * parameters * UPDATE_BYTES / (HOST_BYTES_PER_S * LS_OFFLOAD_UPDATE_SHARE);
}

/* What is waited for and updated in a step. */
static double offload_ps (const TestRun *run) {
  return (double) (test_part_ps (run, 0, LS_PART_EXPOSED_OFFLOAD) +
                   test_part_ps (run, 0, LS_PART_OPTIMIZER)) /
         STEPS;
}

START_TEST (states_go_round_in_groups)
/* One rank, one micro-batch, no overlap: each gradient of 4 bytes goes to the host and on to the drives; 16 bytes of each
 * parameter are read, updated and 12 written, group by group, one after another; 2 come back to the device. Of the drives
 * that is 2 x 16 bytes per parameter. Rounded to 1 ps per group. source: Rajbhandari et al. 2021, ZeRO-Infinity (arXiv
 * 2104.07857), section 4.1 (2 x 16 x parameters). */
{
  g_autoptr (TestRun) run =
      test_run (on_drives (LS_OFFLOAD_OPTIMIZER, LS_OFFLOAD_OPTIMIZER, FALSE, 1), &layer, &net);
  const gint64 n = ALL / GROUPS;
  const double group =
      (double) (copy_ps (n * (STATES + GRADIENT)) + copy_ps (n * STATES)) + pass_ps ((double) n);

  ck_assert_double_eq_tol (offload_ps (run),
                           LAYERS * 2.0 * (double) copy_ps (PARAMETERS * GRADIENT) +
                               GROUPS * group + (double) copy_ps (ALL * 2),
                           GROUPS + 1);
}
END_TEST

START_TEST (groups_overlap)
/* With overlap, on drives that share nothing (this network): updates, which take longest here, follow one another; the first
 * read and the last write show, and beside that write the shorter way of parameters to the device. Gradients hide behind a
 * backward pass that is longer than their ways to host and drives, all but the last layer's. */
{
  TestLayer slow = layer;
  slow.backward_ps = 4 * copy_ps (PARAMETERS * GRADIENT);
  g_autoptr (TestRun) run =
      test_run (on_drives (LS_OFFLOAD_OPTIMIZER, LS_OFFLOAD_OPTIMIZER, TRUE, 1), &slow, &net);
  const gint64 n = ALL / GROUPS;
  const gint64 shown = copy_ps (n * (STATES + GRADIENT)) + copy_ps (n * STATES);

  ck_assert_double_eq_tol (offload_ps (run),
                           2.0 * (double) copy_ps (PARAMETERS * GRADIENT) + (double) shown +
                               GROUPS * pass_ps ((double) n),
                           GROUPS + 1);
}
END_TEST

START_TEST (sums_of_gradients_stay_on_the_host)
/* Several micro-batches: gradients are summed in the host's memory and the drives see states only. No overlap. */
{
  for (gint64 m = 2; m <= 3; m++) {
    g_autoptr (TestRun) run =
        test_run (on_drives (LS_OFFLOAD_OPTIMIZER, LS_OFFLOAD_OPTIMIZER, FALSE, m), &layer, &net);
    const gint64 n = ALL / GROUPS;
    const double group = 2.0 * (double) copy_ps (n * STATES) + pass_ps ((double) n);

    ck_assert_double_eq_tol (offload_ps (run),
                             (double) (m * LAYERS * copy_ps (PARAMETERS * GRADIENT)) +
                                 GROUPS * group + (double) copy_ps (ALL * 2),
                             GROUPS + 1);
  }
}
END_TEST

START_TEST (parameters_are_read_before_they_are_fetched)
/* Parameters on drives without overlap: each layer is read, fetched and used, twice a step; 2 bytes of each more are
 * written with the states, and nothing comes back at the end. Reads run two layers ahead of their fetches, in a stream of
 * their own: of 2 L reads a step all but the first show at most what is longer than compute and fetch. */
{
  g_autoptr (TestRun) run =
      test_run (on_drives (LS_OFFLOAD_PARAMETERS, LS_OFFLOAD_PARAMETERS, FALSE, 1), &layer, &net);
  const gint64 n = ALL / GROUPS, layer_ps = copy_ps (PARAMETERS * 2);
  const double group = (double) (copy_ps (n * (STATES + GRADIENT)) + copy_ps (n * (STATES + 2))) +
                       pass_ps ((double) n);
  const double rest = LAYERS * 2.0 * (double) copy_ps (PARAMETERS * GRADIENT) + GROUPS * group;

  ck_assert_double_ge (offload_ps (run), (double) ((2 * LAYERS + 1) * layer_ps) + rest - GROUPS);
  ck_assert_double_le (offload_ps (run), (double) (4 * LAYERS * layer_ps) + rest + GROUPS);
}
END_TEST

START_TEST (all_of_it_lies_somewhere)
/* Device, host and drives together hold the same bytes wherever they lie; on drives 12 of each parameter of the rank, with
 * one micro-batch 4 more of its gradient and, where parameters are there too, 2. The host's memory has what is on its way. */
{
  const LsStage stage = {.parameters = ALL};

  for (guint nvme = LS_OFFLOAD_OPTIMIZER; nvme < LS_N_OFFLOADS; nvme++)
    for (gint64 m = 1; m <= 2; m++)
      for (int overlap = 0; overlap <= 1; overlap++) {
        g_autoptr (LsWorkload) w =
            on_drives (LS_OFFLOAD_PARAMETERS, (LsOffload) nvme, overlap == 1, m);
        const LsStaticMemory host = ls_memory_host (w, &stage);
        const LsStaticMemory drives = ls_memory_drives (w, &stage);
        const gint64 group = (STATES + (m == 1 ? GRADIENT : 0)) * ALL / GROUPS;

        ck_assert_int_eq (drives.optimizer_bytes, STATES * ALL);
        ck_assert_int_eq (drives.gradients_bytes, m == 1 ? GRADIENT * ALL : 0);
        ck_assert_int_eq (drives.parameters_bytes, nvme == LS_OFFLOAD_PARAMETERS ? 2 * ALL : 0);
        ck_assert_int_eq (host.optimizer_bytes, 0);
        ck_assert_int_eq (host.gradients_bytes + drives.gradients_bytes, GRADIENT * ALL);
        ck_assert_int_eq (host.parameters_bytes + drives.parameters_bytes, 2 * ALL);
        ck_assert_int_eq (ls_memory_staging (w, &stage), (overlap ? 3 : 1) * group);
        w->zero.nvme = LS_OFFLOAD_NONE;
        ck_assert_int_eq (ls_memory_drives_bytes (w, &stage), 0);
        ck_assert_int_eq (ls_memory_staging (w, &stage), 0);
      }
}
END_TEST

START_TEST (ranks_update_their_shards)
/* Of n ranks each has an n-th on the drives. Exact. */
{
  const LsStage stage = {.parameters = ALL};

  for (guint ranks = 1; ranks <= 4; ranks *= 2) {
    g_autoptr (LsWorkload) w = test_workload (1, ranks, 1, LAYERS, 1);

    w->zero.stage = 3;
    w->zero.offload = w->zero.nvme = LS_OFFLOAD_PARAMETERS;
    ck_assert_int_eq (ls_memory_drives_bytes (w, &stage), (STATES + GRADIENT + 2) * ALL / ranks);
  }
}
END_TEST

int main (void) {
  const TTest *const tests[] = {
      states_go_round_in_groups,          groups_overlap,
      sums_of_gradients_stay_on_the_host, parameters_are_read_before_they_are_fetched,
      all_of_it_lies_somewhere,           ranks_update_their_shards};
  return test_main ("nvme", tests, G_N_ELEMENTS (tests));
}
