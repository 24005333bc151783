/* The cost of a kernel: roofline, sequences of kernels, and what the software adds.
 *
 * Model:      t_alone = max (t_compute, t_memory) + overhead; usage = t / t_alone, floored to 2^-40.
 * Invariants: 0 <= usage <= 1; more flops, more bytes or more launches never shorten a cost; work of
 *             nothing takes no time.
 * Arithmetic: doubles, only + - * / and comparisons, so that every machine gets the same bits.
 * Left out:   reuse of tensors that still lie in L2 from the kernel before (it makes small tensors
 *             faster than modelled). */
#include "base/assert.h"
#include "hw/kernel_cost.h"

static double larger (double a, double b) {
  return a > b ? a : b;
}

/* part / whole as fixed point; both are seconds, 0 <= part <= whole. */
static gint64 usage (double part_s, double whole_s) {
  if (!(whole_s > 0))
    return 0;
  double share = part_s / whole_s;
  return (gint64) ((share < 1 ? share : 1) * (double) LS_USAGE_ONE);
}

/* Settles the usages of a cost whose compute_s, memory_s and duration are known. */
static void set_duration (LsKernelCost *cost, double alone_s) {
  if (alone_s > LS_KERNEL_LONGEST_S) {
    cost->overflow = TRUE;
    alone_s = LS_KERNEL_LONGEST_S;
  }
  cost->alone_ps = ls_time_ps_from_s_checked (alone_s);
  if (cost->alone_ps == 0 && alone_s > 0)
    cost->alone_ps = 1;
  cost->sm_usage = usage (cost->compute_s, alone_s);
  cost->hbm_usage = usage (cost->memory_s, alone_s);
  cost->memory_bound = cost->memory_s > cost->compute_s;
}

LsKernelCost ls_kernel_settle (double compute_s, double memory_s, double overhead_s, double flops,
                               double bytes, int kernels) {
  LS_REQUIRE (compute_s >= 0 && memory_s >= 0 && overhead_s >= 0, "times %g %g %g", compute_s,
              memory_s, overhead_s);
  LsKernelCost cost = {.flops = flops, .compute_s = compute_s, .memory_s = memory_s};
  if (flops <= 0 && bytes <= 0)
    return cost;
  cost.overhead_s = overhead_s * kernels;
  cost.kernels = kernels;
  /* 2^62: sums of two still fit. */
  if (bytes > 0x1p62) {
    cost.overflow = TRUE;
    bytes = 0x1p62;
  }
  cost.bytes = (gint64) bytes;
  set_duration (&cost, larger (compute_s, memory_s) + cost.overhead_s);
  return cost;
}

LsKernelCost ls_kernel_measured (const LsDevice *device, LsKernelOp op, const gint64 *size, guint n,
                                 LsFormat format, LsKernelCost cost) {
  gint64 sizes[LS_KERNEL_SIZES];
  LsKernelRow *row = NULL;

  if (device->kernels == NULL || cost.kernels == 0)
    return cost;
  for (guint i = 0; i < LS_KERNEL_SIZES; i++)
    sizes[i] = i < n ? size[i] : 1;
  row = ls_kernel_table_find (device->kernels, op, sizes, format, device->accelerator);
  if (row == NULL)
    return cost;
  row->impossible = row->impossible ||
                    cost.flops / row->time_s > ls_accelerator_peak (device->accelerator, format);
  cost.overhead_s = 0;
  set_duration (&cost, row->time_s);
  return cost;
}

LsKernelCost ls_kernel_roofline (const LsDevice *device, LsFormat format, double flops,
                                 gint64 bytes) {
  LS_REQUIRE (format < LS_N_FORMATS && flops >= 0 && bytes >= 0, "format %d", (int) format);
  return ls_kernel_settle (flops / device->matmul_flops_per_s[format],
                           (double) bytes / device->hbm_bytes_per_s, device->kernel_overhead_s,
                           flops, (double) bytes, 1);
}

LsKernelCost ls_kernel_stream_real (const LsDevice *device, double bytes, double vector_flops,
                                    int kernels) {
  return ls_kernel_settle (vector_flops / device->vector_flops_per_s,
                           bytes / device->hbm_bytes_per_s, device->kernel_overhead_s, vector_flops,
                           bytes, kernels);
}

LsKernelCost ls_kernel_stream (const LsDevice *device, gint64 bytes, double vector_flops) {
  LS_REQUIRE (bytes >= 0 && vector_flops >= 0, "work %g", vector_flops);
  return ls_kernel_stream_real (device, (double) bytes, vector_flops, 1);
}

/* Adds two byte counts, both at most 2^62. */
static gint64 add_bytes (LsKernelCost *cost, gint64 more) {
  gint64 sum = 0;
  if (__builtin_add_overflow (cost->bytes, more, &sum)) {
    cost->overflow = TRUE;
    sum = G_MAXINT64;
  }
  return sum;
}

LsKernelCost ls_kernel_sequence (const LsKernelCost *costs, guint n) {
  LsKernelCost sum = {.alone_ps = 0};
  gint64 alone_ps = 0;
  double alone_s = 0;
  for (guint i = 0; i < n; i++) {
    const LsKernelCost *cost = &costs[i];
    sum.flops += cost->flops;
    sum.bytes = add_bytes (&sum, cost->bytes);
    sum.compute_s += cost->compute_s;
    sum.memory_s += cost->memory_s;
    sum.overhead_s += cost->overhead_s;
    sum.kernels += cost->kernels;
    sum.sums += cost->sums;
    sum.overflow = sum.overflow || cost->overflow;
    alone_s += ls_time_s_from_ps (cost->alone_ps);
    if (__builtin_add_overflow (alone_ps, cost->alone_ps, &alone_ps))
      alone_s = 2 * LS_KERNEL_LONGEST_S;
  }
  set_duration (&sum, alone_s);
  /* The exact sum of the parts, so that one activity or several take the same time. */
  if (!sum.overflow)
    sum.alone_ps = alone_ps;
  return sum;
}

LsKernelCost ls_kernel_times (const LsKernelCost *cost, gint64 times) {
  LS_REQUIRE (times >= 0, "times %" G_GINT64_FORMAT, times);
  LsKernelCost product = *cost;
  double factor = (double) times;
  product.flops *= factor;
  product.compute_s *= factor;
  product.memory_s *= factor;
  product.overhead_s *= factor;
  if (times == 0)
    return (LsKernelCost){.alone_ps = 0};
  if (__builtin_mul_overflow (cost->bytes, times, &product.bytes)) {
    product.overflow = TRUE;
    product.bytes = G_MAXINT64;
  }
  if (__builtin_mul_overflow (cost->alone_ps, times, &product.alone_ps) ||
      product.alone_ps > ls_time_ps_from_s_checked (LS_KERNEL_LONGEST_S)) {
    product.overflow = TRUE;
    product.alone_ps = ls_time_ps_from_s_checked (LS_KERNEL_LONGEST_S);
  }
  gint64 kernels = (gint64) cost->kernels;
  if (__builtin_mul_overflow (kernels, times, &kernels) || kernels > G_MAXINT) {
    product.overflow = TRUE;
    kernels = G_MAXINT;
  }
  product.kernels = (int) kernels;
  product.sums = (int) MIN ((gint64) cost->sums * times, kernels);
  return product;
}

LsKernelCost ls_kernel_slowed (const LsKernelCost *cost, double factor) {
  LS_REQUIRE (factor > 0 && factor <= 1, "factor %g", factor);
  LsKernelCost slowed = *cost;
  const double alone_s = ls_time_s_from_ps (cost->alone_ps);

  slowed.compute_s += alone_s / factor - alone_s;
  set_duration (&slowed, alone_s / factor);
  return slowed;
}

void ls_kernel_finish (LsKernelCost *cost, const LsSoftware *software) {
  if (cost->kernels == 0)
    return;
  double gap_s = software->gap_s.value * cost->kernels;
  double alone_s = ls_time_s_from_ps (cost->alone_ps) + gap_s;
  cost->overhead_s += gap_s;
  set_duration (cost, alone_s);
}

/* One launch in the driver alone, 4 to 6 us. source: susun-blog.com, pegainfer 3 (as in hw/software.c). */
#define DRIVER_LAUNCH_S 5e-6

static double launch_s (const LsSoftware *software, LsPass pass) {
  const double backward_s = software->host_backward_launch_s.value;

  return pass == LS_PASS_BACKWARD && backward_s > 0 ? backward_s : software->host_launch_s.value;
}

gint64 ls_kernel_launch_ps (const LsSoftware *software, LsPass pass) {
  return software->cuda_graphs ? 0 : ls_time_ps_from_s_checked (launch_s (software, pass));
}

gint64 ls_kernel_host_ps (const LsKernelCost *cost, const LsSoftware *software, LsPass pass) {
  if (software->cuda_graphs)
    return 0;
  /* A sum behind a split product costs what the driver takes and nothing of the framework. */
  const double speedup = software->speedup > 0 ? software->speedup : 1;
  const double each_s = launch_s (software, pass),
               driver_s = MIN (DRIVER_LAUNCH_S / speedup, each_s);
  return ls_time_ps_from_s_checked (each_s * (cost->kernels - cost->sums) + driver_s * cost->sums);
}
