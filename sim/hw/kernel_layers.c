/* Kernels that stream: elementwise work, norms, embeddings, losses and optimizer updates.
 *
 * Each is bound by memory on every accelerator of the catalogue; what matters is how many bytes it moves.
 * Passes below count reads and writes of the whole tensor. */
#include "base/assert.h"
#include "hw/kernel_cost.h"

/* Bytes per second that one SM moves in Triton kernels whose blocks take a row each and wait for its loads (no copies
 * in the background). Sources: MooreThreads/SimuMax, configs/system/b200_bf16_ceperm.json @e691807 with
 * simu_tools/efficency_test/test_ce_permute_efficiency.py, measured on a B200 with 148 SMs: TransformerEngine's cross
 * entropy forward and backward take what 4 passes over the logits take at 2.40 TB/s, and are 5; its permute and
 * unpermute of k rows per token take (2 + 6 k) rows at 4.30 TB/s, and move 2 + 2 k (k = 6 and 8). That the rate goes
 * with the SMs of other devices is assumed. */
#define ROW_LOSS_PER_SM_BPS (5.0 / 4 * 2.40e12 / 148)
#define PERMUTE_PER_SM_BPS (0.36 * 4.30e12 / 148)
/* HybridEP's, which order rows where tokens have come once. Source: deepseek-ai/DeepEP issue 590, measured on B300 (148
 * SMs), 4096 tokens of 7168 to 8 of 128 experts on 16 ranks in bf16: 394 MB received become 470 MB of rows in what dispatch
 * with permutation takes longer than without, 3113.6 - 2884.3 us, and back in 3687.6 - 3054.8 us. */
#define SPREAD_PER_SM_BPS (864e6 / 229.3e-6 / 148)
#define JOIN_PER_SM_BPS (864e6 / 632.8e-6 / 148)
/* A row costs what is not its bytes: 128 threads take a token and go through the rank's experts in turn, each time waiting for
 * the index and for memory (DeepEP @13d8379, csrc/hybrid_ep/extension/permute.cu), so that rows of 4 KB go slower than those
 * of 14 KB that were measured. source: fitted on Qwen3 30B (rows of 4 KB) on GB300 and B300, rows mbridge-26.02.01-441, -443,
 * mbridge-26.04-344, -346 and mbridge-26.04.01-244, -246 of train_nvidia_nemo_mbridge.csv. */
#define ARRIVE_WAIT_BYTES 3000.0
#define ARRIVE_MEASURED_BYTES 14336.0
/* Blocks of 32 that share a scale, bf16 to MXFP8 by rows and columns at once. Source: ROCm/TransformerEngine pull request
 * 598, its column for NVIDIA's kernels on a B200: 8192 x 8192 take 52.34 us, 2 of them overhead (by rows alone 34.84, 12 %
 * faster than at this rate); bound by their instructions (NVIDIA/TransformerEngine pull request 1628). */
#define BLOCK_SCALE_PER_SM_BPS (8192.0 * 8192 * 4.0625 / 50.34e-6 / 148)

/* Values per second that one SM reads and writes in PyTorch's kernels for operands that are views or repeated: these go value
 * by value, each with an address of its own, not in vectors of 16 bytes (aten/src/ATen/native/cuda/CUDALoops.cuh, what is not
 * contiguous; Shape.cu, torch.cat of what is not). Source: sgl-project/sglang pull request 36577, LongCat-Image in bf16 on an
 * H100 (132 SMs): 1,576 products with a repeated row, 2 values moved each, take 45.017 ms and 790 sums, 3 values in vectors,
 * 23.194; the sums at the catalogue's share of HBM. Assumed: that these are of one shape; that the rate goes with the SMs of
 * other devices. Two older ones are slower, 4.2e9 (PyTorch pull request 137053, casts on an H100 PCIe under its power limit)
 * and 4.4e9 (150233, torch.cat in bf16, if on an A100). */
#define VALUES_PER_SM_PER_S (2.0 / 3 * (23.194 / 790) / (45.017 / 1576) * 0.90 * 3.35e12 / 2 / 132)

LsKernelCost ls_kernel_elementwise (const LsDevice *device, gint64 elements, int reads, int writes,
                                    double flops_per_element, LsFormat format) {
  LS_REQUIRE (elements >= 0 && reads >= 0 && writes >= 0 && flops_per_element >= 0,
              "negative elementwise work");
  double bytes = (double) elements * (reads + writes) * ls_format_bytes (format);
  const gint64 sizes[] = {elements, reads, writes};
  return ls_kernel_measured (
      device, LS_KERNEL_ELEMENTWISE, sizes, G_N_ELEMENTS (sizes), format,
      ls_kernel_stream_real (device, bytes, flops_per_element * (double) elements, 1));
}

/* With a row of the table for a kernel over rows of a width. */
static LsKernelCost by_rows (const LsDevice *device, LsKernelOp op, gint64 rows, gint64 width,
                             LsFormat format, LsKernelCost cost) {
  const gint64 sizes[] = {rows, width};
  return ls_kernel_measured (device, op, sizes, G_N_ELEMENTS (sizes), format, cost);
}

/* Passes and launches of a norm. Fused: forward reads and writes once; backward reads input and gradient and
 * writes one for the input's gradient, and reads both again for the weights'.
 * Unfused, in passes of 16 bits, what is in fp32 counts twice: cast 3, square 4, mean 2, scale 4, cast 3, weight 2.
 * Backward: weight 2 and 4 with the sum, cast 3, scale 4 and 8 with the sum, mean 2, square 14 (power of 1, factor,
 * product), sum of both gradients 6, cast 3. source: counted operation by operation from RMSNorm of torchtitan
 * (models/norms.py of 2024) and PyTorch's derivatives.yaml, mul, pow_backward and mean_backward of FunctionsManual.cpp;
 * nn.RMSNorm (ATen layer_norm.cpp, rms_norm_symint) multiplies by the weight in fp32 and moves some more. */
static const struct {
  double passes;
  int kernels;
} norms[2][2] = {
    [FALSE] = {[LS_PASS_FORWARD] = {18, 8}, [LS_PASS_BACKWARD] = {46, 17}},
    [TRUE] = {[LS_PASS_FORWARD] = {2, 1}, [LS_PASS_BACKWARD] = {5, 2}},
};

LsKernelCost ls_kernel_norm (const LsDevice *device, gint64 rows, gint64 width, LsFormat format,
                             gboolean fused, LsPass pass) {
  LS_REQUIRE (rows >= 0 && width >= 0, "negative size of a norm");
  double elements = (double) rows * (double) width;
  int row = fused ? 1 : 0;
  return by_rows (
      device, pass == LS_PASS_FORWARD ? LS_KERNEL_NORM : LS_KERNEL_NORM_GRAD, rows, width, format,
      ls_kernel_stream_real (device, elements * ls_format_bytes (format) * norms[row][pass].passes,
                             8 * elements, norms[row][pass].kernels));
}

LsKernelCost ls_kernel_embedding (const LsDevice *device, gint64 rows, gint64 width,
                                  LsFormat format, LsPass pass) {
  LS_REQUIRE (rows >= 0 && width >= 0, "negative size of an embedding");
  double elements = (double) rows * (double) width;
  /* Backward: the tokens are sorted (a few small kernels), gradients read, table rows read and written. */
  gboolean forward = pass == LS_PASS_FORWARD;
  return by_rows (
      device, forward ? LS_KERNEL_EMBEDDING : LS_KERNEL_EMBEDDING_GRAD, rows, width, format,
      ls_kernel_stream_real (device, elements * ls_format_bytes (format) * (forward ? 2 : 3),
                             elements, forward ? 1 : 4));
}

/* A kernel whose blocks move rows at a rate per SM, if HBM lets them. */
static LsKernelCost row_by_row (const LsDevice *device, double bytes, double per_sm_Bps) {
  return ls_kernel_settle (bytes / (per_sm_Bps * device->sms), bytes / device->hbm_bytes_per_s,
                           device->kernel_overhead_s, 0, bytes, 1);
}

LsKernelCost ls_kernel_value_by_value (const LsDevice *device, gint64 values, gint64 bytes) {
  LS_REQUIRE (values >= 0 && bytes >= 0, "values %" G_GINT64_FORMAT, values);
  return ls_kernel_settle ((double) values / (VALUES_PER_SM_PER_S * device->sms),
                           (double) bytes / device->hbm_bytes_per_s, device->kernel_overhead_s,
                           (double) values, (double) bytes, 1);
}

LsKernelCost ls_kernel_scale (const LsDevice *device, gint64 elements, LsFormat to, gint64 bytes,
                              int kernels) {
  LS_REQUIRE (bytes >= 0 && kernels >= 1, "bytes %" G_GINT64_FORMAT, bytes);
  const gint64 each = bytes / kernels;
  /* Formats whose blocks share scales. */
  const LsKernelCost one = to == LS_FORMAT_MXFP8
                               ? row_by_row (device, (double) each, BLOCK_SCALE_PER_SM_BPS)
                               : ls_kernel_stream (device, each, 2.0 * (double) elements / kernels);

  return ls_kernel_measured (device, LS_KERNEL_SCALE, &elements, 1, to,
                             ls_kernel_times (&one, kernels));
}

LsKernelCost ls_kernel_arrive (const LsDevice *device, gint64 bytes, gint64 row_bytes,
                               gboolean back) {
  LS_REQUIRE (bytes >= 0 && row_bytes > 0, "bytes %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, bytes,
              row_bytes);
  const double slower = (1 + ARRIVE_WAIT_BYTES / (double) row_bytes) /
                        (1 + ARRIVE_WAIT_BYTES / ARRIVE_MEASURED_BYTES);

  return row_by_row (device, (double) bytes, (back ? JOIN_PER_SM_BPS : SPREAD_PER_SM_BPS) / slower);
}

LsKernelCost ls_kernel_permute (const LsDevice *device, gint64 bytes) {
  LS_REQUIRE (bytes >= 0, "bytes %" G_GINT64_FORMAT, bytes);
  return row_by_row (device, (double) bytes, PERMUTE_PER_SM_BPS);
}

/* Megatron-LM's loss over a vocabulary that may be split, operation by operation, in bytes per logit (of `size` bytes as
 * the product made it, then of 4) and in launches; what is of a value per token counts as a launch alone.
 * Forward: to fp32 (size + 4), maximum 4, subtract 8, exponential 8, sum 4, divide 8; 3 launches for the mask of this
 * rank's tokens, 3 for their numbers, 4 for the logits that they pick, 2 for the loss; masked, summed, divided by the
 * mask's sum and by the number of micro-batches, and times the scale of the loss: 6.
 * Backward: times the gradient 8, back to `size` (4 + size); 4 launches back through that mean, 6 for the picks.
 * source: megatron/mpu/cross_entropy.py (v2.4; megatron/core/tensor_parallel/cross_entropy.py does the same),
 * pretrain_gpt.py (loss_func), schedules.py (forward_step). */
static LsKernelCost parallel_loss (const LsDevice *device, double logits, double size,
                                   LsPass pass) {
  const gboolean forward = pass == LS_PASS_FORWARD;

  return ls_kernel_stream_real (device, logits * (forward ? size + 36 : 12 + size), 6 * logits,
                                forward ? 6 + 12 + 6 : 2 + 10);
}

/* PyTorch's over a vocabulary that is split, likewise. Forward: to fp32 (size + 4), maximum 4, subtract 8, exponential 8,
 * sum 4, subtract 8; 8 launches for the picks. Backward: zeros 4, exponential 8, add 12, multiply 8, back to `size`
 * (4 + size); 8 launches for the picks. source: torch/distributed/tensor/parallel/loss.py, _log_softmax and
 * _nll_loss_and_log_softmax_backward. */
static LsKernelCost split_loss (const LsDevice *device, double logits, double size, LsPass pass) {
  const gboolean forward = pass == LS_PASS_FORWARD;

  return ls_kernel_stream_real (device, logits * (36 + size), 6 * logits, (forward ? 6 : 5) + 8);
}

LsKernelCost ls_kernel_cross_entropy (const LsDevice *device, gint64 rows, gint64 vocabulary,
                                      LsFormat logits, LsLossKernel kernel, LsPass pass) {
  LS_REQUIRE (rows >= 0 && vocabulary >= 0, "negative size of a loss");
  double elements = (double) rows * (double) vocabulary;
  double size = ls_format_bytes (logits);
  gboolean forward = pass == LS_PASS_FORWARD;
  const LsKernelOp op = forward ? LS_KERNEL_LOSS : LS_KERNEL_LOSS_GRAD;
  if (kernel == LS_LOSS_KERNEL_IN_PLACE) /* maximum and sum, then gradients; backward scales them */
    return by_rows (device, op, rows, vocabulary, logits,
                    row_by_row (device, elements * size * (forward ? 3 : 2), ROW_LOSS_PER_SM_BPS));
  if (kernel == LS_LOSS_KERNEL_PARALLEL)
    return by_rows (device, op, rows, vocabulary, logits,
                    parallel_loss (device, elements, size, pass));
  if (kernel == LS_LOSS_KERNEL_SPLIT)
    return by_rows (device, op, rows, vocabulary, logits,
                    split_loss (device, elements, size, pass));
  if (kernel == LS_LOSS_KERNEL_FUSED) /* one read; backward one read and one write in place */
    return by_rows (
        device, op, rows, vocabulary, logits,
        ls_kernel_stream_real (device, elements * size * (forward ? 1 : 2), 6 * elements, 1));
  /* Forward: cast to fp32, then log-softmax in fp32. Backward: the loss's gradient (zeros and picks) written,
   * log-softmax backward (two reads, one write), and the cast back. */
  double bytes = forward ? size + 4 + 8 : 4 + 12 + 4 + size;
  return by_rows (device, op, rows, vocabulary, logits,
                  ls_kernel_stream_real (device, elements * bytes, 6 * elements, 3));
}

LsKernelCost ls_kernel_optimizer (const LsDevice *device, gint64 parameters, LsFormat format,
                                  double bytes_per_parameter, int launches) {
  LS_REQUIRE (parameters >= 0 && bytes_per_parameter >= 0 && launches >= 1, "optimizer work");
  /* About 12 operations per parameter for Adam. */
  return ls_kernel_measured (device, LS_KERNEL_OPTIMIZER, &parameters, 1, format,
                             ls_kernel_stream_real (device,
                                                    (double) parameters * bytes_per_parameter,
                                                    12.0 * (double) parameters, launches));
}
