#pragma once
/* The time of a kernel: values in, values out, no clock.
 *
 * Model:   t_compute = flops / achievable rate of the units it uses, with tile and wave quantisation,
 *          t_memory  = bytes / achievable HBM bandwidth,
 *          t_alone   = max (t_compute, t_memory) + overhead.
 * As an activity of the engine, its work is t_alone and it uses sm_usage of the device's SMs and
 * hbm_usage of its HBM per second of progress.
 * More work is never faster. Sizes must be >= 0; zero work costs nothing. A cost too large for
 * the clock (LS_KERNEL_LONGEST_S) sets `overflow` and is clamped: the caller turns that into an error.
 * Ownership: plain values. */
#include "base/time.h"
#include "hw/device.h"

/* Longest cost: a quarter of the clock, 26.7 of its 106.75 days, so that a few can be added. */
#define LS_KERNEL_LONGEST_S (LS_TIME_MAX_S / 4)

#define LS_USAGE_BITS 40
#define LS_USAGE_ONE (G_GINT64_CONSTANT (1) << LS_USAGE_BITS)

typedef struct {
  gint64 alone_ps;  /* duration with the device to itself */
  gint64 sm_usage;  /* t_compute / t_alone, LS_USAGE_ONE = all SMs */
  gint64 hbm_usage; /* t_memory / t_alone, LS_USAGE_ONE = all achievable bandwidth */
  double flops;     /* executed, on matrix and vector units */
  gint64 bytes;     /* to and from HBM */
  double compute_s, memory_s, overhead_s;
  int kernels; /* launches */
  int sums; /* of these, the sums behind split products: launched in the same call of the library */
  gboolean memory_bound;
  gboolean overflow;
} LsKernelCost;

/* C[m,n] = A[m,k] B[k,n], batch times; accumulate also reads C. */
typedef struct {
  gint64 m, n, k, batch;
  LsFormat format; /* compute format and that of A and B */
  LsFormat output; /* of C */
  gboolean accumulate;
  gint64 pitch; /* every row in memory begins at a multiple of so many elements; 0: of 16 bytes */
} LsMatmul;

/* The pitch of matrices whose rows are `a` or `b` elements long. */
gint64 ls_kernel_pitch (gint64 a, gint64 b);

typedef struct {
  gint64 batch, heads, kv_heads, query_length, kv_length, head_dim;
  gint64 value_dim; /* of a value head; 0: as head_dim */
  gboolean causal;
  /* Under a causal mask: keys that a query sees, its own with them; 0: all. Flash kernels walk no others; the older
   * chain makes all scores and masks them. */
  gint64 window;
  gboolean dropout; /* unfused kernels then make another pass and keep a mask */
  /* Scale, mask and softmax one by one in fp32, where the fused softmax kernel does not take the shape. */
  gboolean plain_softmax;
  LsFormat format;
} LsAttentionShape;

/* 2-D convolution, NHWC. Output size must be given: (oh, ow). */
typedef struct {
  gint64 batch, in_channels, height, width, out_channels, out_height, out_width;
  gint64 kernel_height, kernel_width, groups;
  LsFormat format;
} LsConvolution;

typedef enum { LS_PASS_FORWARD, LS_PASS_BACKWARD } LsPass;

/* The plain roofline: flops at the device's matmul rate of `format` against bytes, without tiles. For
 * layers whose shape is not known. */
LsKernelCost ls_kernel_roofline (const LsDevice *device, LsFormat format, double flops,
                                 gint64 bytes);
LsKernelCost ls_kernel_matmul (const LsDevice *device, const LsMatmul *shape);
/* `groups` products of one shape (batch 1), each a kernel of its own, four at a time on streams that fill each other's
 * last waves: what frameworks call a grouped product over experts. */
LsKernelCost ls_kernel_grouped_matmul (const LsDevice *device, const LsMatmul *shape,
                                       gint64 groups);
/* The fraction of the device's dense peak that a matmul reaches (0..1). */
double ls_kernel_matmul_efficiency (const LsDevice *device, const LsMatmul *shape);

/* Does Megatron's fused softmax kernel take the shape? It works on four rows of as many heads at a time, and on 17 to 4096
 * keys. source: fused_softmax.py, FusedScaleMaskSoftmax.is_kernel_available() and forward_torch_softmax(), of Megatron-LM
 * 2021-22 and bigscience-workshop/Megatron-DeepSpeed @038bddc (2048 keys before 2022). */
gboolean ls_kernel_fused_softmax_takes (const LsAttentionShape *shape);
/* Scores, softmax and weighting. Flash kinds are one kernel forward and one (with its own recompute of
 * the scores) backward; others are two batched matmuls and the softmax passes, backward four. */
LsKernelCost ls_kernel_attention (const LsDevice *device, LsAttention attention,
                                  const LsAttentionShape *shape, LsPass pass);

/* Streams bytes through the vector units: activations, norms, dropout, residuals, casts. */
LsKernelCost ls_kernel_stream (const LsDevice *device, gint64 bytes, double vector_flops);
/* `elements` values, of which the kernel reads `reads` tensors and writes `writes` of `format`. */
LsKernelCost ls_kernel_elementwise (const LsDevice *device, gint64 elements, int reads, int writes,
                                    double flops_per_element, LsFormat format);
/* `values` of any width read and written one by one, as plain tensor code does with views and what is repeated. */
LsKernelCost ls_kernel_value_by_value (const LsDevice *device, gint64 values, gint64 bytes);
/* LayerNorm or RMSNorm over rows of `width`. */
LsKernelCost ls_kernel_norm (const LsDevice *device, gint64 rows, gint64 width, LsFormat format,
                             gboolean fused, LsPass pass);
/* Gather rows of an embedding table; backward adds gradients into it. */
LsKernelCost ls_kernel_embedding (const LsDevice *device, gint64 rows, gint64 width,
                                  LsFormat format, LsPass pass);
/* Kernels of a loss: PyTorch's three, on logits in fp32; its many over a vocabulary that is split (loss_parallel);
 * Megatron-LM's many, over one that may be; one that is fused; one in Triton that writes the gradient over the logits
 * (TransformerEngine's). */
typedef enum {
  LS_LOSS_KERNEL_PASSES,
  LS_LOSS_KERNEL_SPLIT,
  LS_LOSS_KERNEL_PARALLEL,
  LS_LOSS_KERNEL_FUSED,
  LS_LOSS_KERNEL_IN_PLACE
} LsLossKernel;
/* Loss over `rows` x `vocabulary` logits (softmax, pick, gradient). */
LsKernelCost ls_kernel_cross_entropy (const LsDevice *device, gint64 rows, gint64 vocabulary,
                                      LsFormat logits, LsLossKernel kernel, LsPass pass);
/* Rows in another order: `bytes` read and written row by row, as an index says. */
LsKernelCost ls_kernel_permute (const LsDevice *device, gint64 bytes);
/* Tokens that have come once become rows for their experts, or (`back`) those are summed to be sent: `bytes` read and written
 * in rows of `row_bytes`, each of which waits as long as for some kilobytes more. */
LsKernelCost ls_kernel_arrive (const LsDevice *device, gint64 bytes, gint64 row_bytes,
                               gboolean back);
/* `elements` into a narrow format, by so many kernels that read and write `bytes` in all. */
LsKernelCost ls_kernel_scale (const LsDevice *device, gint64 elements, LsFormat to, gint64 bytes,
                              int kernels);
/* Optimizer update of `parameters` in this format, reading and writing `bytes_per_parameter` in all. */
LsKernelCost ls_kernel_optimizer (const LsDevice *device, gint64 parameters, LsFormat format,
                                  double bytes_per_parameter, int launches);
/* Implicit GEMM; backward is the gradient of the input (if wanted) and of the weights. */
LsKernelCost ls_kernel_convolution (const LsDevice *device, const LsConvolution *shape, LsPass pass,
                                    gboolean input_gradient);

/* Several kernels in sequence as one activity: times add, usages are the averages over time. */
LsKernelCost ls_kernel_sequence (const LsKernelCost *costs, guint n);
/* `times` copies of the same kernel, one after another. */
LsKernelCost ls_kernel_times (const LsKernelCost *cost, gint64 times);
/* The same kernel at `factor` (0..1] of its rate, by a fault of its code: it holds its SMs for longer and moves the same bytes. */
LsKernelCost ls_kernel_slowed (const LsKernelCost *cost, double factor);
/* Adds the software's gap between kernels, once per launch, and recomputes the usages. */
void ls_kernel_finish (LsKernelCost *cost, const LsSoftware *software);
/* Host time of one launch in this pass (one that runs again is a forward pass); 0 with CUDA graphs. */
gint64 ls_kernel_launch_ps (const LsSoftware *software, LsPass pass);
/* Host time to launch it; 0 with CUDA graphs. */
gint64 ls_kernel_host_ps (const LsKernelCost *cost, const LsSoftware *software, LsPass pass);
