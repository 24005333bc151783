/* Costs of kernels: the roofline's parts, sequences, what software adds, and limits. */
#include <check.h>
#include <math.h>

#include "base/time.h"
#include "hw/kernel.h"
#include "run.h"

static LsDevice device_of (const char *gpu) {
  LsDevice device;
  const LsAccelerator *row = ls_accelerator_find (gpu, NULL);
  ck_assert_msg (row != NULL, "%s", gpu);
  ls_device_init (&device, row, LS_CLOCK_SUSTAINED, NULL);
  return device;
}

static double share (gint64 usage) {
  return (double) usage / (double) LS_USAGE_ONE;
}

/* t_alone = max (t_compute, t_memory) + overhead, usages are the parts over the whole. Tolerances: half a
 * picosecond of rounding, and 2^-40 of flooring. */
START_TEST (roofline_parts) {
  LsDevice device = device_of ("a100");
  const struct {
    double flops;
    gint64 bytes;
  } cases[] = {{1e12, 1000000}, {1e9, 4000000000}, {3e11, 2500000000}, {1, 1}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    LsKernelCost cost =
        ls_kernel_roofline (&device, LS_FORMAT_BF16, cases[i].flops, cases[i].bytes);
    double compute = cases[i].flops / device.matmul_flops_per_s[LS_FORMAT_BF16];
    double memory = (double) cases[i].bytes / device.hbm_bytes_per_s;
    double alone = (compute > memory ? compute : memory) + device.kernel_overhead_s;
    ck_assert (fabs (ls_time_s_from_ps (cost.alone_ps) - alone) <= 0.51e-12 + 1e-15 * alone);
    ck_assert (fabs (share (cost.sm_usage) - compute / alone) < 1e-12);
    ck_assert (fabs (share (cost.hbm_usage) - memory / alone) < 1e-12);
    ck_assert (cost.sm_usage <= LS_USAGE_ONE && cost.hbm_usage <= LS_USAGE_ONE);
    ck_assert_int_eq (cost.memory_bound, memory > compute);
    ck_assert_int_eq (cost.kernels, 1);
  }
}
END_TEST

START_TEST (nothing_costs_nothing) {
  LsDevice device = device_of ("a100");
  LsMatmul none = {.m = 0, .n = 8, .k = 8, .batch = 1, .format = LS_FORMAT_FP16};
  const LsKernelCost costs[] = {
      ls_kernel_matmul (&device, &none), ls_kernel_stream (&device, 0, 0),
      ls_kernel_roofline (&device, LS_FORMAT_FP16, 0, 0),
      ls_kernel_norm (&device, 0, 1024, LS_FORMAT_FP16, TRUE, LS_PASS_FORWARD),
      ls_kernel_sequence (NULL, 0)};
  const LsSoftware *software = ls_software_find ("generic", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (costs); i++) {
    LsKernelCost cost = costs[i];
    ls_kernel_finish (&cost, software);
    ck_assert_int_eq (cost.alone_ps, 0);
    ck_assert_int_eq (cost.kernels, 0);
    ck_assert_int_eq (ls_kernel_host_ps (&cost, software, LS_PASS_FORWARD), 0);
  }
}
END_TEST

/* Bytes that each streaming kernel moves, counted by hand for 1000 x 512 values of 2 bytes. */
START_TEST (streamed_bytes) {
  LsDevice device = device_of ("h100");
  const gint64 tensor = 1000 * 512 * 2;
  const struct {
    const char *what;
    LsKernelCost cost;
    gint64 bytes;
  } cases[] = {
      {"stream", ls_kernel_stream (&device, 2 * tensor, 0), 2 * tensor},
      {"add", ls_kernel_elementwise (&device, 1000 * 512, 2, 1, 1, LS_FORMAT_FP16), 3 * tensor},
      {"norm", ls_kernel_norm (&device, 1000, 512, LS_FORMAT_BF16, TRUE, LS_PASS_FORWARD),
       2 * tensor},
      {"norm backward", ls_kernel_norm (&device, 1000, 512, LS_FORMAT_BF16, TRUE, LS_PASS_BACKWARD),
       5 * tensor},
      {"embedding", ls_kernel_embedding (&device, 1000, 512, LS_FORMAT_BF16, LS_PASS_FORWARD),
       2 * tensor},
      {"loss",
       ls_kernel_cross_entropy (&device, 1000, 512, LS_FORMAT_BF16, LS_LOSS_KERNEL_FUSED,
                                LS_PASS_FORWARD),
       tensor},
      /* cast 2 + 4, log-softmax 4 + 4 bytes per logit */
      {"eager loss",
       ls_kernel_cross_entropy (&device, 1000, 512, LS_FORMAT_BF16, LS_LOSS_KERNEL_PASSES,
                                LS_PASS_FORWARD),
       7 * tensor},
      /* cast 2 + 4, maximum 4, subtract 8, exponential 8, sum 4, divide 8 */
      {"loss of a split vocabulary",
       ls_kernel_cross_entropy (&device, 1000, 512, LS_FORMAT_BF16, LS_LOSS_KERNEL_PARALLEL,
                                LS_PASS_FORWARD),
       19 * tensor},
      {"its gradient",
       ls_kernel_cross_entropy (&device, 1000, 512, LS_FORMAT_BF16, LS_LOSS_KERNEL_PARALLEL,
                                LS_PASS_BACKWARD),
       7 * tensor},
      {"Adam", ls_kernel_optimizer (&device, 1000, LS_FORMAT_BF16, 28, 1), 28000},
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    ck_assert_msg (cases[i].cost.bytes == cases[i].bytes,
                   "%s moves %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT, cases[i].what,
                   cases[i].cost.bytes, cases[i].bytes);
    ck_assert_msg (cases[i].cost.memory_bound, "%s", cases[i].what);
  }
}
END_TEST

/* A chain of unfused norm kernels moves more and launches more than the fused one. */
START_TEST (fusion_saves) {
  LsDevice device = device_of ("a100");
  for (int pass = LS_PASS_FORWARD; pass <= LS_PASS_BACKWARD; pass++) {
    LsKernelCost fused = ls_kernel_norm (&device, 8192, 4096, LS_FORMAT_BF16, TRUE, (LsPass) pass);
    LsKernelCost chain = ls_kernel_norm (&device, 8192, 4096, LS_FORMAT_BF16, FALSE, (LsPass) pass);
    ck_assert (chain.bytes > fused.bytes && chain.kernels > fused.kernels);
    ck_assert (chain.alone_ps > 3 * fused.alone_ps);
  }
}
END_TEST

/* A sequence takes the sum of its parts to the picosecond, and uses the device as much as they do. */
START_TEST (sequences_add_up) {
  LsDevice device = device_of ("a100");
  LsMatmul shape = {.m = 4096,
                    .n = 4096,
                    .k = 4096,
                    .batch = 1,
                    .format = LS_FORMAT_BF16,
                    .output = LS_FORMAT_BF16};
  const LsKernelCost parts[] = {ls_kernel_matmul (&device, &shape),
                                ls_kernel_stream (&device, 100000000, 1e6),
                                ls_kernel_stream (&device, 1554, 0)};
  LsKernelCost sum = ls_kernel_sequence (parts, 3);
  ck_assert_int_eq (sum.alone_ps, parts[0].alone_ps + parts[1].alone_ps + parts[2].alone_ps);
  ck_assert_int_eq (sum.bytes, parts[0].bytes + parts[1].bytes + parts[2].bytes);
  ck_assert_int_eq (sum.kernels, parts[0].kernels + parts[1].kernels + parts[2].kernels);
  double used = 0;
  for (int i = 0; i < 3; i++)
    used += share (parts[i].sm_usage) * (double) parts[i].alone_ps;
  ck_assert (fabs (share (sum.sm_usage) * (double) sum.alone_ps / used - 1) < 1e-9);

  LsKernelCost ten = ls_kernel_times (&parts[1], 10);
  ck_assert_int_eq (ten.alone_ps, 10 * parts[1].alone_ps);
  ck_assert_int_eq (ten.kernels, 10);
  ck_assert_int_eq (ten.hbm_usage, parts[1].hbm_usage);
  ck_assert_int_eq (ls_kernel_times (&parts[1], 0).alone_ps, 0);
}
END_TEST

/* At a quarter of its rate a kernel takes four times as long, holds its SMs through what is added, and moves the same bytes, so
 * that it uses a quarter of the bandwidth that it did. 1e-9: usages are whole numbers of some 2^40. */
START_TEST (a_slow_kernel_moves_the_same) {
  LsDevice device = device_of ("a100");
  const LsKernelCost kernel = ls_kernel_stream (&device, 100000000, 0);
  const LsKernelCost slow = ls_kernel_slowed (&kernel, 0.25);
  const double added = 0.75;

  ck_assert_int_eq (slow.alone_ps, 4 * kernel.alone_ps);
  ck_assert_int_eq (slow.bytes, kernel.bytes);
  ck_assert (fabs (share (slow.hbm_usage) / share (kernel.hbm_usage) - 0.25) < 1e-9);
  ck_assert (fabs (share (slow.sm_usage) - added - share (kernel.sm_usage) / 4) < 1e-9);
}
END_TEST

/* The gap is added once per launch and uses neither SMs nor memory; the host pays its own time. 1e-6: seven
 * roundings to the picosecond of some 3 us. */
START_TEST (software_adds_gaps) {
  LsDevice device = device_of ("a100");
  const LsSoftware *software = ls_software_find ("megatron-2021", NULL);
  LsKernelCost kernel = ls_kernel_stream (&device, 1000000, 0);
  LsKernelCost cost = ls_kernel_times (&kernel, 7);
  gint64 before_ps = cost.alone_ps;
  double used = share (cost.hbm_usage) * (double) cost.alone_ps;
  ls_kernel_finish (&cost, software);
  ck_assert_int_eq (cost.alone_ps - before_ps,
                    ls_time_ps_from_s_checked (7 * software->gap_s.value));
  ck_assert (fabs (share (cost.hbm_usage) * (double) cost.alone_ps / used - 1) < 1e-6);
  ck_assert_int_eq (ls_kernel_host_ps (&cost, software, LS_PASS_FORWARD),
                    ls_time_ps_from_s_checked (7 * software->host_launch_s.value));
  LsSoftware graphs = *software;
  graphs.cuda_graphs = TRUE;
  ck_assert_int_eq (ls_kernel_host_ps (&cost, &graphs, LS_PASS_FORWARD), 0);
}
END_TEST

/* The backward pass has a time of its own where the software states one, and the forward pass's where not. */
START_TEST (passes_are_launched_at_their_own_cost) {
  LsDevice device = device_of ("a100");
  const LsKernelCost kernel = ls_kernel_stream (&device, 1000000, 0);
  const LsKernelCost cost = ls_kernel_times (&kernel, 7);
  LsSoftware software = *ls_software_find ("megatron-2021", NULL);

  software.host_launch_s.value = 50e-6;
  ck_assert_int_eq (ls_kernel_host_ps (&cost, &software, LS_PASS_BACKWARD),
                    ls_time_ps_from_s_checked (350e-6));
  software.host_backward_launch_s.value = 10e-6;
  ck_assert_int_eq (ls_kernel_host_ps (&cost, &software, LS_PASS_FORWARD),
                    ls_time_ps_from_s_checked (350e-6));
  ck_assert_int_eq (ls_kernel_host_ps (&cost, &software, LS_PASS_BACKWARD),
                    ls_time_ps_from_s_checked (70e-6));
  ck_assert_int_eq (ls_kernel_launch_ps (&software, LS_PASS_BACKWARD),
                    ls_time_ps_from_s_checked (10e-6));
  software.cuda_graphs = TRUE;
  ck_assert_int_eq (ls_kernel_launch_ps (&software, LS_PASS_BACKWARD), 0);
}
END_TEST

/* A product that is split over k is two kernels and one call: the second costs the host what the driver takes (5 us), and
 * never more than a launch. In groups each has both. */
START_TEST (sums_of_split_products_are_launched_by_the_driver) {
  LsDevice device = device_of ("a100");
  const LsMatmul deep = {.m = 128,
                         .n = 128,
                         .k = 65536,
                         .batch = 1,
                         .format = LS_FORMAT_BF16,
                         .output = LS_FORMAT_BF16};
  const LsKernelCost one = ls_kernel_matmul (&device, &deep);
  const LsKernelCost eight = ls_kernel_times (&one, 8);
  LsSoftware software = *ls_software_find ("megatron-bridge", NULL);
  const double each_s = software.host_launch_s.value;
  ck_assert_int_eq (one.kernels, 2);
  ck_assert_int_eq (one.sums, 1);
  ck_assert_int_eq (ls_kernel_host_ps (&one, &software, LS_PASS_FORWARD),
                    ls_time_ps_from_s_checked (each_s + 5e-6));
  ck_assert_int_eq (ls_kernel_host_ps (&eight, &software, LS_PASS_FORWARD),
                    ls_time_ps_from_s_checked (8 * (each_s + 5e-6)));
  software.host_launch_s.value = 3e-6;
  ck_assert_int_eq (ls_kernel_host_ps (&one, &software, LS_PASS_FORWARD),
                    ls_time_ps_from_s_checked (6e-6));
}
END_TEST

/* Work beyond the clock is marked, not wrapped: sizes of 2^40 and sums of many of them. */
START_TEST (too_much_is_marked) {
  LsDevice device = device_of ("t4");
  gint64 huge = G_GINT64_CONSTANT (1) << 40;
  LsMatmul shape = {.m = huge,
                    .n = huge,
                    .k = huge,
                    .batch = 1,
                    .format = LS_FORMAT_FP32,
                    .output = LS_FORMAT_FP32};
  LsKernelCost cost = ls_kernel_matmul (&device, &shape);
  ck_assert (cost.overflow && cost.alone_ps > 0 && cost.bytes > 0);
  const LsKernelCost parts[] = {cost, cost, cost, cost, cost};
  LsKernelCost sum = ls_kernel_sequence (parts, 5);
  ck_assert (sum.overflow && sum.alone_ps > 0 && sum.bytes > 0);
  sum = ls_kernel_times (&parts[0], huge);
  ck_assert (sum.overflow && sum.alone_ps > 0 && sum.bytes > 0);
  LsKernelCost small = ls_kernel_stream (&device, 2, 0);
  ck_assert (!small.overflow && small.alone_ps > 0);
}
END_TEST

/* What was measured on a B200 (MooreThreads/SimuMax, b200_bf16_ceperm.json @e691807): TransformerEngine's permute and
 * unpermute take what 2 + 6 k rows per token take at 4.30 TB/s, k = 6 and 8 (3 %: one rate for both k); its cross
 * entropy, forward and backward, what 4 passes over the logits take at 2.40 TB/s. Less the overhead of two kernels. */
START_TEST (row_kernels_as_measured) {
  const LsDevice device = device_of ("b200");
  const gint64 rows = 16384, row = 5120 * 2, vocabulary = 102400;
  const double overheads = 2 * device.kernel_overhead_s;
  LsKernelCost there, back;

  for (gint64 k = 6; k <= 8; k += 2) {
    there = back = ls_kernel_permute (&device, (1 + k) * rows * row);
    const double seconds = ls_time_s_from_ps (there.alone_ps + back.alone_ps) - overheads;
    const double measured = (double) ((2 + 6 * k) * rows * row) / 4.30e12;
    ck_assert_msg (fabs (seconds / measured - 1) < 0.03, "k %d: %g s, not %g s", (int) k, seconds,
                   measured);
  }
  there = ls_kernel_cross_entropy (&device, rows, vocabulary, LS_FORMAT_BF16,
                                   LS_LOSS_KERNEL_IN_PLACE, LS_PASS_FORWARD);
  back = ls_kernel_cross_entropy (&device, rows, vocabulary, LS_FORMAT_BF16,
                                  LS_LOSS_KERNEL_IN_PLACE, LS_PASS_BACKWARD);
  ck_assert_int_eq (there.bytes + back.bytes, 5 * 2 * rows * vocabulary);
  ck_assert (fabs ((ls_time_s_from_ps (there.alone_ps + back.alone_ps) - overheads) /
                       (4 * 2.0 * (double) (rows * vocabulary) / 2.40e12) -
                   1) < 1e-6);
}
END_TEST

/* Of an H100 in bf16 (sgl-project/sglang pull request 36577): 1,576 products with a repeated row take 45.017 ms, 790 sums of as
 * many values 23.194. Twice as wide, values are bound by HBM. The rate goes with the SMs. */
START_TEST (views_go_value_by_value) {
  const LsDevice h100 = device_of ("h100-sxm-80gb"), b200 = device_of ("b200");
  const gint64 n = 1 << 30;
  const LsKernelCost product = ls_kernel_value_by_value (&h100, 2 * n, 2 * 2 * n),
                     sum = ls_kernel_elementwise (&h100, n, 2, 1, 1, LS_FORMAT_BF16),
                     wide = ls_kernel_value_by_value (&h100, 2 * n, 2 * 4 * n),
                     wide_stream = ls_kernel_stream (&h100, 2 * 4 * n, 0),
                     wider = ls_kernel_value_by_value (&b200, 2 * n, 2 * 2 * n);
  const double ratio = (double) product.alone_ps / (double) sum.alone_ps;

  ck_assert_msg (fabs (ratio / (45.017 / 1576 / (23.194 / 790)) - 1) < 1e-3, "%g", ratio);
  ck_assert_int_eq (wide.alone_ps, wide_stream.alone_ps);
  ck_assert (fabs (product.compute_s / wider.compute_s / (b200.sms / (double) h100.sms) - 1) <
             1e-6);
  ck_assert (wider.alone_ps > ls_kernel_stream (&b200, 2 * 2 * n, 0).alone_ps);
  ck_assert_int_eq (ls_kernel_value_by_value (&h100, 0, 0).alone_ps, 0);
}
END_TEST

/* A B200's casts to MXFP8 of 8192 x 8192 in bf16 (ROCm/TransformerEngine pull request 598, its column for NVIDIA's kernels):
 * by rows and columns 52.34 us, which the rate is made of; by rows 34.84 us (15 %). A B300 puts 394 MB of tokens in order for
 * 470 MB of rows in 229.3 us and sums them again in 632.8 us (DeepEP issue 590), which the rates are made of. */
START_TEST (scaling_and_ordering_as_measured) {
  const LsDevice b200 = device_of ("b200"), b300 = device_of ("b300");
  const double values = 8192.0 * 8192;
  const struct {
    LsKernelCost cost;
    double seconds, tolerance;
  } cases[] = {
      {ls_kernel_scale (&b200, (gint64) values, LS_FORMAT_MXFP8,
                        (gint64) (values * (2 + 1 + 1.0 / 32)), 1),
       34.84e-6, 0.15},
      {ls_kernel_scale (&b200, (gint64) values, LS_FORMAT_MXFP8,
                        (gint64) (values * (2 + 2 + 2.0 / 32)), 1),
       52.34e-6, 0.01},
      {ls_kernel_arrive (&b300, 864000000, 14336, FALSE), 229.3e-6, 0.02},
      {ls_kernel_arrive (&b300, 864000000, 14336, TRUE), 632.8e-6, 0.02},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const double seconds = ls_time_s_from_ps (cases[i].cost.alone_ps);
    ck_assert_msg (fabs (seconds / cases[i].seconds - 1) < cases[i].tolerance, "%u: %g s, not %g s",
                   i, seconds, cases[i].seconds);
  }
}
END_TEST

/* Tokens that arrive: the same bytes in narrower rows take longer, the same number of rows in narrower ones less, but more than
 * in proportion; a row waits as long as for 3,000 bytes more (fitted), so that those of 4 KB go at 0.70 of the rate of those
 * of 14 KB. */
START_TEST (narrow_rows_arrive_slowly) {
  const LsDevice device = device_of ("gb300");

  for (int back = 0; back < 2; back++) {
    const gint64 wide = ls_kernel_arrive (&device, 65536 * 14336, 14336, back).alone_ps;
    const gint64 cut = ls_kernel_arrive (&device, 65536 * 14336, 4096, back).alone_ps;
    const gint64 narrow = ls_kernel_arrive (&device, 65536 * 4096, 4096, back).alone_ps;

    ck_assert (fabs ((double) cut / (double) wide - (1 + 3000.0 / 4096) / (1 + 3000.0 / 14336)) <
               0.01);
    ck_assert_int_lt (narrow, wide);
    ck_assert_int_gt (narrow, wide * 4096 / 14336);
  }
}
END_TEST

/* Products of n groups: one is a plain product; 4 n are n times 4 to the picosecond; never slower than one after the
 * other, never faster than the device's peak lets them be; each is a kernel that the host launches. */
START_TEST (groups_run_four_at_a_time) {
  const LsDevice device = device_of ("b200");
  LsMatmul shape = {.n = 1408, .k = 5120, .batch = 1, .format = LS_FORMAT_BF16};

  shape.output = LS_FORMAT_BF16;
  for (shape.m = 128; shape.m <= 8192; shape.m *= 2) {
    const LsKernelCost one = ls_kernel_matmul (&device, &shape);
    const LsKernelCost single = ls_kernel_grouped_matmul (&device, &shape, 1);
    const LsKernelCost four = ls_kernel_grouped_matmul (&device, &shape, 4);
    const LsKernelCost twenty = ls_kernel_grouped_matmul (&device, &shape, 20);
    const double flops = 2.0 * (double) shape.m * 1408 * 5120;

    ck_assert_int_eq (single.alone_ps, one.alone_ps);
    ck_assert_int_eq (twenty.alone_ps, 5 * four.alone_ps);
    /* One that is cut along k to fill the device, and summed, need not be beside others. */
    ck_assert (twenty.kernels % 20 == 0 && twenty.kernels <= 20 * one.kernels);
    ck_assert_int_le (four.alone_ps, 4 * one.alone_ps);
    ck_assert (ls_time_s_from_ps (four.alone_ps) >=
               4 * flops / device.matmul_flops_per_s[LS_FORMAT_BF16]);
    ck_assert (fabs (twenty.flops / (20 * flops) - 1) < 1e-9);
  }
}
END_TEST

int main (void) {
  const TTest *const tests[] = {roofline_parts,
                                nothing_costs_nothing,
                                streamed_bytes,
                                fusion_saves,
                                sequences_add_up,
                                a_slow_kernel_moves_the_same,
                                software_adds_gaps,
                                passes_are_launched_at_their_own_cost,
                                sums_of_split_products_are_launched_by_the_driver,
                                too_much_is_marked,
                                row_kernels_as_measured,
                                views_go_value_by_value,
                                scaling_and_ordering_as_measured,
                                groups_run_four_at_a_time,
                                narrow_rows_arrive_slowly};
  return run_tests ("kernel", tests, G_N_ELEMENTS (tests));
}
