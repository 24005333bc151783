#pragma once
/* How the kernel files turn seconds into a cost; for those files only. */
#include "hw/kernel.h"

/* max (compute, memory) + overhead, in ticks, with usages as fixed point. Nothing to do (no flops, no
 * bytes) costs nothing, whatever the overhead. */
LsKernelCost ls_kernel_settle (double compute_s, double memory_s, double overhead_s, double flops,
                               double bytes, int kernels);
/* One kernel that streams `bytes`. */
LsKernelCost ls_kernel_stream_real (const LsDevice *device, double bytes, double vector_flops,
                                    int kernels);

/* The cost with the time of the device's table where it has this kernel; `n` sizes, the rest are 1. */
LsKernelCost ls_kernel_measured (const LsDevice *device, LsKernelOp op, const gint64 *size, guint n,
                                 LsFormat format, LsKernelCost cost);
/* a x b for sizes >= 0, clamped to 2^62: what is that large ends in a cost that is marked as overflowing. */
static inline gint64 ls_kernel_product (gint64 a, gint64 b) {
  gint64 product = 0;
  const gint64 limit = G_GINT64_CONSTANT (1) << 62;
  return __builtin_mul_overflow (a, b, &product) || product > limit ? limit : product;
}
