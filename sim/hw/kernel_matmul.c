/* Matrix products: tiles, waves and depth.
 *
 * A matmul library cuts the output C[m,n] into tiles, one SM computes a tile at a time, and the k loop may
 * be split s ways, whose partial sums are then added up. With T = ceil(m/tm) ceil(n/tn) batch s tiles on S
 * SMs of rate r each:
 *
 *   t_compute = ceil (T / S) x 2 tm tn (ceil(k/s) + ramp) / (r efficiency(tile))
 *   t_memory  = (A + B + C once each + 2 x 4 s m n if s > 1) / bandwidth
 *
 * and the library takes the tile and split of least max (t_compute, t_memory). Every choice is open at every size
 * (shallow splits are dear by their ramp) and monotone in m, n and k, hence so is their minimum. Worked instance:
 * m = n = 2048, k = 13312 on 132 SMs with tiles of 128 x 256: 128 tiles, one wave, 128/132 = 97 % of the rate,
 * times 13312/13376 for the ramp.
 * A product that adds to C in memory (fused gradient accumulation) reads C where the tile ends, when its matrix
 * units have nothing else to do: a share of that traffic is not hidden and lengthens t_compute.
 * A product of 16-bit values whose rows in memory do not all begin at multiples of 16 bytes is copied to shared memory
 * in smaller pieces, and runs slower by a factor of the alignment (`unaligned`). And the vector units may do it, without
 * tiles or padding: t_compute = 2 m n k batch / their rate; that is what is left of a product with a vector (GEMV), and of
 * a batch of unaligned ones (`only_on_vectors`).
 * Left out: operands read again when they exceed the L2 cache. */
#include "base/assert.h"
#include "hw/kernel_cost.h"

/* Splits of the k loop that are tried. Source: powers of two, as cuBLAS's split-k kernels. */
static const gint64 splits[] = {1, 2, 4, 8, 16, 32};

/* Share of the traffic of C that an accumulating product cannot hide. Source: fitted on kernel times measured by
 * MooreThreads/SimuMax (configs/system/a100_pcie.json @3005b17, b200_bf16_ceperm.json @e691807): weight gradients
 * of 4096 tokens that accumulate in fp32 reach 0.71 of the peak on A100 where plain products reach 0.75 (38 % of the
 * traffic), 0.455 instead of 0.49 on B200 (50 %); with 24k tokens and more the difference is gone, as it should be. */
#define ACCUMULATE_SHARE 0.4
/* ...of products over experts, of which few waves follow each other. Source: fitted, with STREAMS, on 72 grouped
 * products of 20 to 256 experts and 128 to 9,832 rows each, forward and gradients, in SimuMax's file for the B200:
 * mean error 10 %, signed -2 %, where the host does not bound them (9 us a launch). */
#define GROUPED_ACCUMULATE_SHARE 0.8
/* Streams that products over experts are dealt to. Source: TransformerEngine, cublaslt_gemm.cu,
 * nvte_multi_tensor_gemm (num_streams = 4). */
#define STREAMS 4

/* Time of an unaligned product over that of an aligned one, by the bytes that its rows are aligned to. Ampere's
 * asynchronous copies take 16, 8 or 4 bytes, and two bytes go through registers (CUDA C++ Programming Guide, memcpy_async;
 * CUTLASS's kernels of alignment 8, 4, 2 and 1 elements). Fitted, on what a micro-batch adds to vtrain-single-* of hidden
 * size 2048 less what it adds to 1024 (loss and launches drop out) with t = 1, 2, 4 and 8 tensor ranks: 80, 216, 162 and
 * 133 TFLOP/s of the logits' three products on an A100, read as those of 50257 / t rows (so vTrain's src/config.py; the
 * table says padded to 51200, which explains no dependence on t). An inference: no table of kernels was found.
 * A Hopper product of 8-byte rows takes 3.5 times as long, since its own kernels want 16 (m87-labs/kestrel, pull request
 * 143: 9477 x 1152 x 588); other devices than Ampere take its factors. */
static const struct {
  gint64 bytes;
  double time;
} unaligned[] = {{2, 2.7}, {4, 1.7}, {8, 1.3}};

gint64 ls_kernel_pitch (gint64 a, gint64 b) {
  const gint64 both = a | b;

  return both & -both;
}

static double alignment_factor (const LsMatmul *shape) {
  const gint64 bytes = shape->pitch * (gint64) ls_format_bytes (shape->format);

  if (shape->pitch == 0 || ls_format_bytes (shape->format) != 2)
    return 1;
  for (guint i = 0; i < G_N_ELEMENTS (unaligned); i++)
    if (bytes % (2 * unaligned[i].bytes) != 0)
      return unaligned[i].time;
  return 1;
}

/* cuBLAS 11 has no matrix-unit kernel for a strided batch of 16-bit products whose rows are unaligned. Source: PyTorch
 * issue 83272 (CUDA 11.6; by its rates an A100 of 40 GB): 384 x 1024 x 1024 x 140 in bf16 runs at 12.2 TFLOP/s, 512 with
 * 128 for 140 at 132.7, bound by memory; the fp32 units' peak is 19.5. In fp16 that one shape reached 53.9, which is not
 * modelled: the products of BigScience's heads of 150 take as long in fp16 as in bf16 (chronicles-prequel.md, "Best
 * TFLOPs": 844.8 and 853.8 s on 80 GPUs), and what runs of such heads take longer than those of 224 is that of 10
 * TFLOP/s. Later cuBLAS and other devices are taken to be alike. */
static gboolean only_on_vectors (const LsMatmul *shape, gboolean strided) {
  return strided && shape->batch > 1 && alignment_factor (shape) > 1;
}

static double ceil_div (gint64 a, gint64 b) {
  const gint64 whole = a / b + (a % b != 0 ? 1 : 0);

  return (double) whole;
}

static double round_up (double x) {
  double whole = (double) (gint64) x;
  return whole < x ? whole + 1 : whole;
}

typedef struct {
  double compute_s, memory_s;
  int kernels;
} Choice;

/* t_compute of one tile shape and split. */
static double tiled_seconds (const LsDevice *device, const LsMatmul *shape, const LsTile *tile,
                             gint64 split) {
  double tiles = ceil_div (shape->m, tile->m) * ceil_div (shape->n, tile->n) *
                 (double) shape->batch * (double) split;
  /* Tile counts stay below 2^53 for sizes that fit memory; above, a wave more or less is nothing. */
  double waves = tiles < 0x1p52 ? round_up (tiles / device->sms) : tiles / device->sms;
  double rate = device->matmul_flops_per_s[shape->format] / device->sms * tile->efficiency;
  double depth = ceil_div (shape->k, split) + device->depth_ramp;
  return waves * 2.0 * tile->m * tile->n * depth / rate;
}

static double alone_s (const LsDevice *device, const Choice *choice) {
  return (choice->compute_s > choice->memory_s ? choice->compute_s : choice->memory_s) +
         choice->kernels * device->kernel_overhead_s;
}

static Choice on_vector_units (const LsDevice *device, const LsMatmul *shape, double bytes) {
  return (Choice){.compute_s = 2.0 * (double) shape->m * (double) shape->n * (double) shape->k *
                               (double) shape->batch / device->vector_flops_per_s,
                  .memory_s = bytes / device->hbm_bytes_per_s,
                  .kernels = 1};
}

/* `strided`: the batch is one kernel, not kernels beside each other. */
static Choice best_choice (const LsDevice *device, const LsMatmul *shape, double bytes,
                           gboolean strided) {
  Choice best = on_vector_units (device, shape, bytes);
  const double slower = alignment_factor (shape);
  double sums = 2.0 * 4.0 * (double) shape->m * (double) shape->n * (double) shape->batch;
  double own = device->accelerator->tuning->split_cost.value, split_cost = own > 0 ? own : 1;

  if (only_on_vectors (shape, strided))
    return best;
  for (const LsTile *tile = device->accelerator->tuning->tiles; tile->m > 0; tile++)
    for (guint i = 0; i < G_N_ELEMENTS (splits); i++) {
      gint64 split = splits[i];
      double traffic = split > 1 ? bytes + sums * (double) split : bytes;
      const Choice choice = {.compute_s = tiled_seconds (device, shape, tile, split) * slower *
                                          (split > 1 ? split_cost : 1),
                             .memory_s = traffic / device->hbm_bytes_per_s,
                             .kernels = split > 1 ? 2 : 1};
      if (alone_s (device, &choice) < alone_s (device, &best))
        best = choice;
    }
  return best;
}

/* What an accumulating product cannot hide. */
static double accumulate_seconds (const LsDevice *device, const LsMatmul *shape, double share) {
  if (!shape->accumulate)
    return 0;
  return share * 2 * (double) shape->m * (double) shape->n * (double) shape->batch *
         ls_format_bytes (shape->output) / device->hbm_bytes_per_s;
}

static LsKernelCost with_sums (LsKernelCost cost) {
  cost.sums = cost.kernels - 1;
  return cost;
}

/* A matmul whose traffic to HBM is `bytes` instead of its three matrices once each. */
static LsKernelCost matmul_with_bytes (const LsDevice *device, const LsMatmul *shape,
                                       double bytes) {
  LS_REQUIRE (shape->m >= 0 && shape->n >= 0 && shape->k >= 0 && shape->batch >= 0,
              "negative size of a matmul");
  LS_REQUIRE (shape->format < LS_N_FORMATS, "format %d", (int) shape->format);
  double flops =
      2.0 * (double) shape->m * (double) shape->n * (double) shape->k * (double) shape->batch;
  if (flops <= 0)
    return (LsKernelCost){.alone_ps = 0};
  Choice choice = best_choice (device, shape, bytes, TRUE);
  choice.compute_s += accumulate_seconds (device, shape, ACCUMULATE_SHARE);
  return with_sums (ls_kernel_settle (choice.compute_s, choice.memory_s, device->kernel_overhead_s,
                                      flops, choice.memory_s * device->hbm_bytes_per_s,
                                      choice.kernels));
}

static double matrix_bytes (const LsMatmul *shape) {
  double m = (double) shape->m, n = (double) shape->n, k = (double) shape->k;
  double in = (m * k + k * n) * ls_format_size (shape->format);
  double out = m * n * ls_format_size (shape->output) * (shape->accumulate ? 2 : 1);
  return (in + out) * (double) shape->batch;
}

LsKernelCost ls_kernel_matmul (const LsDevice *device, const LsMatmul *shape) {
  LS_REQUIRE (shape->format < LS_N_FORMATS && shape->output < LS_N_FORMATS, "format");
  const gint64 sizes[] = {shape->m, shape->n, shape->k, shape->batch};
  return ls_kernel_measured (device, LS_KERNEL_MATMUL, sizes, G_N_ELEMENTS (sizes), shape->format,
                             matmul_with_bytes (device, shape, matrix_bytes (shape)));
}

LsKernelCost ls_kernel_grouped_matmul (const LsDevice *device, const LsMatmul *shape,
                                       gint64 groups) {
  LS_REQUIRE (shape->batch == 1 && groups >= 1, "%" G_GINT64_FORMAT " groups of %" G_GINT64_FORMAT,
              groups, shape->batch);
  const gint64 sizes[] = {shape->m, shape->n, shape->k, 1};
  const double beside = (double) MIN (groups, STREAMS);
  LsMatmul turn = *shape;
  LsKernelCost one = ls_kernel_matmul (device, shape);

  if (groups == 1 || one.kernels == 0)
    return one;
  turn.batch = (gint64) beside;
  Choice choice = best_choice (device, &turn, matrix_bytes (&turn), FALSE);
  choice.compute_s += accumulate_seconds (device, &turn, GROUPED_ACCUMULATE_SHARE);
  one = with_sums (ls_kernel_settle (
      choice.compute_s / beside, choice.memory_s / beside, device->kernel_overhead_s / beside,
      one.flops, choice.memory_s / beside * device->hbm_bytes_per_s, choice.kernels));
  one = ls_kernel_measured (device, LS_KERNEL_MATMUL, sizes, G_N_ELEMENTS (sizes), shape->format,
                            one);
  return ls_kernel_times (&one, groups);
}

double ls_kernel_matmul_efficiency (const LsDevice *device, const LsMatmul *shape) {
  LsKernelCost cost = ls_kernel_matmul (device, shape);
  if (cost.alone_ps == 0)
    return 0;
  double peak = ls_accelerator_peak (device->accelerator, shape->format);
  return cost.flops / ((double) cost.alone_ps * 1e-12) / peak;
}

/* Bytes of a convolution's tensors. */
typedef struct {
  double input, weights, output;
} ConvolutionBytes;

static ConvolutionBytes convolution_bytes (const LsConvolution *shape) {
  double size = ls_format_bytes (shape->format);
  double window = (double) shape->kernel_height * (double) shape->kernel_width;
  return (ConvolutionBytes){
      .input = size * (double) shape->batch * (double) shape->in_channels * (double) shape->height *
               (double) shape->width,
      .weights = size * window * (double) shape->out_channels * (double) shape->in_channels /
                 (double) shape->groups,
      .output = size * (double) shape->batch * (double) shape->out_channels *
                (double) shape->out_height * (double) shape->out_width,
  };
}

/* A measured time, if there is one. The stride follows from the two heights. */
static LsKernelCost measured_convolution (const LsDevice *device, LsKernelOp op,
                                          const LsConvolution *shape, LsKernelCost cost) {
  const gint64 sizes[] = {shape->batch,
                          shape->in_channels,
                          shape->out_channels,
                          shape->kernel_height,
                          shape->out_height,
                          shape->out_width,
                          (shape->height + shape->out_height - 1) / shape->out_height,
                          shape->groups};

  return ls_kernel_measured (device, op, sizes, G_N_ELEMENTS (sizes), shape->format, cost);
}

/* Implicit GEMM: the patches of the input are never written out, so the traffic is that of the tensors. */
LsKernelCost ls_kernel_convolution (const LsDevice *device, const LsConvolution *shape, LsPass pass,
                                    gboolean input_gradient) {
  LS_REQUIRE (shape->groups > 0, "groups %" G_GINT64_FORMAT, shape->groups);
  ConvolutionBytes bytes = convolution_bytes (shape);
  double all = bytes.input + bytes.weights + bytes.output;
  gint64 pixels =
      ls_kernel_product (ls_kernel_product (shape->batch, shape->out_height), shape->out_width);
  gint64 in = shape->in_channels / shape->groups, out = shape->out_channels / shape->groups;
  gint64 window = ls_kernel_product (shape->kernel_height, shape->kernel_width);
  LsMatmul matmul = {.m = pixels,
                     .n = out,
                     .k = ls_kernel_product (in, window),
                     .batch = shape->groups,
                     .format = shape->format,
                     .output = shape->format};
  if (pass == LS_PASS_FORWARD)
    return measured_convolution (device, LS_KERNEL_CONVOLUTION, shape,
                                 matmul_with_bytes (device, &matmul, all));

  /* Both gradients do the same multiplications as the forward pass, along other axes. */
  LsMatmul weights = matmul;
  weights.m = out;
  weights.n = ls_kernel_product (in, window);
  weights.k = pixels;
  LsKernelCost costs[2] = {measured_convolution (device, LS_KERNEL_CONVOLUTION_WEIGHTS, shape,
                                                 matmul_with_bytes (device, &weights, all))};
  if (input_gradient) {
    LsMatmul data = matmul;
    data.n = ls_kernel_product (in, window);
    data.k = out;
    costs[1] = measured_convolution (device, LS_KERNEL_CONVOLUTION_DATA, shape,
                                     matmul_with_bytes (device, &data, all));
  }
  return ls_kernel_sequence (costs, input_gradient ? 2 : 1);
}
