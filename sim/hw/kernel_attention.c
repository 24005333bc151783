/* Attention: flash kernels, and the older chain of batched matmuls and softmax passes.
 *
 * Flash, forward: each SM takes tiles of 128 queries and walks over the keys. With q tiles Q = ceil(s_q/128),
 * keys per tile K (half of them under a causal mask, plus half a tile of the diagonal),
 *   t_compute = max (1, batch heads Q / SMs) x (4 128 K d / rate of one SM + tile overhead),
 * and never less than its longest tile: under a mask the last queries walk over all keys, on one SM. That is what few
 * heads wait for: 8 heads of 4096 queries on a B200 take 98 us where the mean tile would be done in 37.
 * A window of w keys per query shortens the walk to w, and a tile at each end of it (not backward in 8 bits).
 * Backward does five products instead of two (2.5 x the flops), and streams the fp32 gradient of the queries
 * through memory in two small kernels around the main one.
 * Conventions: flops are those executed (a causal flash kernel does about half of 4 b h s_q s_kv d). */
#include "base/assert.h"
#include "hw/kernel_cost.h"

/* Queries of a tile. Source: FlashAttention-2 and -3 kernels for head dimension 128. */
#define TILE 128
/* Rate of heads whose keys are wider than their values (latent attention, 192 and 128), relative to one width.
 * source: fitted on twelve kernels of 16 to 128 such heads, 4k and 32k tokens, forward and backward, measured on a B200
 * by MooreThreads/SimuMax (configs/system/b200_bf16_ceperm.json @e691807): 0.81 to 0.94, mean 0.88. */
#define UNEVEN_RATE 0.88
/* The same of cuDNN 9.18 and later. source: NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training/results, causal, 4k to
 * 16k tokens on GB200 and GB300: heads of 192 and 128 in gb200_918_only_cudnn and gb300_918_only_cudnn, dsv3, @9072c4e and @b8c0656, of 128 in
 * llama3.1_*.csv beside them: 0.90 to 0.98, mean 0.94; in MXFP8 (9.22, {dsv3,llama3.1} of GB200 and GB300, 20260424 @60e572b) 1.05 to
 * 1.09 forward, 1.23 to 1.33 backward. */
#define UNEVEN_RATE_4 0.94
#define UNEVEN_NARROW_FORWARD 1.07
#define UNEVEN_NARROW_BACKWARD 1.28
/* Start and end of a tile. Source: fitted on the FlashAttention-2/3 forward figures of H100 SXM5, head
 * dimension 128, 512 to 16k tokens, with and without mask: both versions lose 1.9-2.0 us per tile. */
#define TILE_OVERHEAD_S 1.9e-6
/* Rate under a causal mask / without. Source: the same figures at 16k: 335 / 370 and 616 / 648. */
#define CAUSAL_RATE 0.93
/* Smaller heads spend more on the exponentials: rate ~ d / (d + 20), relative to d = 128. Source: fitted on
 * the same figures' backward rates at d = 64 and 128: 291 / 322 (FA2) and 474 / 561 (FA3). */
#define HEAD_HALF 20.0
#define HEAD_FULL 128.0

static double larger (double a, double b) {
  return a > b ? a : b;
}

static double head_factor (const LsDevice *device, gint64 head_dim, LsPass pass) {
  const LsTuning *t = device->accelerator->tuning;
  const double own =
      pass == LS_PASS_FORWARD ? t->flash_half_forward.value : t->flash_half_backward.value;
  const double half = own > 0 ? own : HEAD_HALF, d = (double) head_dim;
  const double factor = d / (d + half) * (HEAD_FULL + half) / HEAD_FULL;

  return factor < 1 ? factor : 1;
}

static double uneven_factor (LsAttention attention, const LsAttentionShape *shape, LsPass pass) {
  if (shape->value_dim == 0 || shape->value_dim == shape->head_dim)
    return 1;
  if (attention != LS_ATTENTION_FLASH4)
    return UNEVEN_RATE;
  if (!ls_format_is_narrow (shape->format))
    return UNEVEN_RATE_4;
  return pass == LS_PASS_FORWARD ? UNEVEN_NARROW_FORWARD : UNEVEN_NARROW_BACKWARD;
}

static gboolean windowed (const LsAttentionShape *shape) {
  return shape->causal && shape->window > 0 && shape->window < shape->kv_length;
}

/* The share of the score matrix that a causal mask keeps, queries aligned with the last keys. Of a window of w keys the
 * first queries, that have fewer than w before them, see a triangle. */
static double kept_share (const LsAttentionShape *shape) {
  if (!shape->causal)
    return 1;
  double queries = (double) shape->query_length, keys = (double) shape->kv_length;
  if (windowed (shape)) {
    double window = (double) shape->window, before = keys - queries;
    double growing = window > before ? window - before : 0;
    growing = growing < queries ? growing : queries;
    return ((queries - growing) * window + growing * (before + growing / 2)) / (queries * keys);
  }
  return queries < keys ? 1 - queries / (2 * keys) : 0.5;
}

static double narrow_factor (const LsTuning *t, LsAttention attention, LsFormat format,
                             LsPass pass) {
  const gboolean forward = pass == LS_PASS_FORWARD;

  if (attention != LS_ATTENTION_FLASH4)
    return forward ? t->flash_narrow_forward.value : t->flash_narrow_backward.value;
  if (format == LS_FORMAT_MXFP8)
    return forward ? t->flash4_block_forward.value : t->flash4_block_backward.value;
  return forward ? t->flash4_tensor_forward.value : t->flash4_tensor_backward.value;
}

/* Rates are those of 16-bit formats; fp32 slows a flash kernel as it slows matmuls, 8 bits speed it up as measured where
 * the device has such a kernel: products only, the exponentials stay. */
static double format_factor (const LsDevice *device, LsAttention attention, LsFormat format,
                             LsPass pass) {
  if (ls_format_is_narrow (format) && ls_device_attends_narrow (device, attention))
    return narrow_factor (device->accelerator->tuning, attention, format, pass);
  double half = larger (device->matmul_flops_per_s[LS_FORMAT_BF16],
                        device->matmul_flops_per_s[LS_FORMAT_FP16]);
  double own = device->matmul_flops_per_s[format];
  return own < half ? own / half : 1;
}

static double flash_rate (const LsDevice *device, LsAttention attention,
                          const LsAttentionShape *shape, LsPass pass) {
  const double *rates = pass == LS_PASS_FORWARD ? device->flash_forward_flops_per_s
                                                : device->flash_backward_flops_per_s;

  return rates[attention] * format_factor (device, attention, shape->format, pass) *
         head_factor (device, shape->head_dim, pass) * (shape->causal ? CAUSAL_RATE : 1) *
         uneven_factor (attention, shape, pass);
}

static double value_dim (const LsAttentionShape *shape) {
  return (double) (shape->value_dim > 0 ? shape->value_dim : shape->head_dim);
}

/* Of a query with its output, and of a key with its value. */
static double mean_dim (const LsAttentionShape *shape) {
  return ((double) shape->head_dim + value_dim (shape)) / 2;
}

/* Width of `products` matrix products in sum over head_dim: of two, one is as wide as a value; of the
 * backward's five, two are (weights' gradient and the values' own). */
static double product_width (const LsAttentionShape *shape, double products) {
  double of_values = (double) (gint64) (products / 2);
  return (products - of_values) * (double) shape->head_dim + of_values * value_dim (shape);
}

/* Elements of the query (or output) and of the key (or value) tensor. */
static double query_elements (const LsAttentionShape *shape) {
  return (double) shape->batch * (double) shape->heads * (double) shape->query_length *
         mean_dim (shape);
}

static double key_elements (const LsAttentionShape *shape) {
  return (double) shape->batch * (double) shape->kv_heads * (double) shape->kv_length *
         mean_dim (shape);
}

/* Of one tile of `rows` rows that walks over `length` rows of the other operand. */
static double tile_seconds (double rows, double length, double width, double per_sm,
                            double overhead_s) {
  return 2.0 * rows * length * width / per_sm + overhead_s;
}

/* t_compute of a flash kernel that walks `products` matrix products per tile of `outer` rows, of which an SM takes
 * `unit` at a time. */
static double flash_seconds (const LsDevice *device, const LsAttentionShape *shape, double rate,
                             double unit, gint64 outer, gint64 inner, double products,
                             double overhead_s) {
  const gint64 rows = outer / TILE + (outer % TILE != 0 ? 1 : 0);
  double tiles = (double) shape->batch * (double) shape->heads * (double) rows;
  /* Tiles on an edge of what is kept are walked in full: the diagonal, and the far end of a window. */
  double edges = windowed (shape) ? 2 : shape->causal ? 1 : 0;
  double length = (double) inner * kept_share (shape) + edges * TILE / 2.0;
  double longest = windowed (shape) ? (double) shape->window + TILE : (double) inner;
  double width = product_width (shape, products);
  double per_sm = rate / device->sms;
  double speedup = device->accelerator->sm_speedup > 0 ? device->accelerator->sm_speedup : 1;
  double mean_s = tile_seconds (TILE, length, width, per_sm, overhead_s / speedup);
  double longest_s = tile_seconds (unit, longest, width, per_sm, overhead_s / speedup);
  return larger (larger (1, tiles / device->sms) * mean_s, longest_s);
}

static LsKernelCost flash_forward (const LsDevice *device, LsAttention attention,
                                   const LsAttentionShape *shape) {
  double size = ls_format_bytes (shape->format);
  double flops = 4.0 * query_elements (shape) * (double) shape->kv_length * kept_share (shape);
  double bytes = size * 2 * (query_elements (shape) + key_elements (shape));
  double rows = device->accelerator->tuning->flash_rows.value;
  double compute_s = flash_seconds (
      device, shape, flash_rate (device, attention, shape, LS_PASS_FORWARD), rows > 0 ? rows : TILE,
      shape->query_length, shape->kv_length, 2, TILE_OVERHEAD_S);
  return ls_kernel_settle (compute_s, bytes / device->hbm_bytes_per_s, device->kernel_overhead_s,
                           flops, bytes, 1);
}

/* In 8 bits the backward kernel walks all keys whatever the window (forward it does not). source: NVIDIA/cudnn-frontend
 * @03c5a5d, benchmark/sdpa_benchmark_training/results/gpt_oss/gb300/gpt_oss_20260707_182017.csv (cuDNN 9.24, 128 heads of 64,
 * a window of 128): 4096 tokens 1.497 ms, 8192 5.216, 16384 19.444, four times for twice the tokens, where bf16 takes 0.440,
 * 0.858 and 1.730; forward 0.167, 0.329 and 0.651. The same with a window of 1024 in cuDNN 9.19 (@df73764). */
static gboolean ignores_window (const LsDevice *device, LsAttention attention, LsFormat format) {
  return ls_format_is_narrow (format) && ls_device_attends_narrow (device, attention);
}

static LsKernelCost flash_backward (const LsDevice *device, LsAttention attention,
                                    const LsAttentionShape *asked) {
  LsAttentionShape walked = *asked;
  const LsAttentionShape *shape = &walked;

  if (ignores_window (device, attention, asked->format))
    walked.window = 0;
  double size = ls_format_bytes (shape->format);
  double queries = query_elements (shape), keys = key_elements (shape);
  double flops = 2.0 * product_width (shape, 5) * (double) shape->batch * (double) shape->heads *
                 (double) shape->query_length * (double) shape->kv_length * kept_share (shape);
  /* Main kernel: Q, dO and the fp32 gradient once, K, V, dK, dV once. */
  double bytes = queries * (2 * size + 4) + keys * 4 * size;
  double compute_s =
      flash_seconds (device, shape, flash_rate (device, attention, shape, LS_PASS_BACKWARD), TILE,
                     shape->kv_length, shape->query_length, 5, 2 * TILE_OVERHEAD_S);
  const LsKernelCost costs[] = {
      /* O . dO per row, and zeros for the gradient; then the gradient down to the format. */
      ls_kernel_stream_real (device, queries * (2 * size + 4), 2 * queries, 1),
      ls_kernel_settle (compute_s, bytes / device->hbm_bytes_per_s, device->kernel_overhead_s,
                        flops, bytes, 1),
      ls_kernel_stream_real (device, queries * (4 + size), queries, 1)};
  return ls_kernel_sequence (costs, G_N_ELEMENTS (costs));
}

/* Passes over the score matrix, in reads and writes of it, and their launches. Sources: Megatron-LM's unfused
 * path (mask, softmax, dropout; half a pass for the dropout mask's byte) and its fused softmax kernels: of a causal square
 * the kernel reads what the mask keeps, scores forward, gradients and weights backward, and writes whole rows
 * (megatron/fused_kernels/scaled_upper_triang_masked_softmax.h: local_seq). */
typedef struct {
  double passes;
  int kernels;
} ScorePasses;

static ScorePasses score_passes (LsAttention attention, const LsAttentionShape *shape,
                                 LsPass pass) {
  const gboolean triangle = attention == LS_ATTENTION_FUSED_SOFTMAX && shape->causal &&
                            !windowed (shape) && shape->query_length == shape->kv_length;
  const double read = triangle ? kept_share (shape) : 1;
  ScorePasses sum = {.passes = 1 + (pass == LS_PASS_FORWARD ? read : 2 * read), .kernels = 1};
  if (attention == LS_ATTENTION_UNFUSED) {
    sum.passes += 2;
    sum.kernels += 1;
  }
  if (shape->dropout) {
    sum.passes += 2.5;
    sum.kernels += 1;
  }
  return sum;
}

gboolean ls_kernel_fused_softmax_takes (const LsAttentionShape *shape) {
  return shape->kv_length > 16 && shape->kv_length <= 4096 && shape->query_length % 4 == 0 &&
         ls_kernel_product (shape->batch, shape->heads) % 4 == 0;
}

/* Bytes per score where plain tensor code scales, masks and takes the softmax in fp32. Forward: to fp32 (2 + 4), scale
 * (4 + 4), mask (4 + 1 + 4), softmax (4 + 4), back (4 + 2). Backward: to fp32 (2 + 4), softmax (two tensors, 8 + 4), mask
 * (9), scale (8), back (6). Rows of more than 1024 do not stay in registers: the softmax reads them three times, its
 * gradient twice. source: forward_torch_softmax() above; PyTorch, aten/src/ATen/native/cuda/SoftMax.cu
 * (dispatch_softmax_forward up to 1024, else cunn_SoftMaxForward: maximum, sum, result). Against the 7.6 ms that
 * EleutherAI/cookbook (benchmarks/sizing/sample_results/transformer.out @0f810f8, A100, 64 heads of 2048) measured for the
 * forward pass it gives 6.8. */
#define REGISTER_ROW 1024

static double plain_bytes (const LsAttentionShape *shape, LsPass pass) {
  const gboolean long_rows = shape->kv_length > REGISTER_ROW;

  return pass == LS_PASS_FORWARD ? 37 + (long_rows ? 8 : 0) : 41 + (long_rows ? 8 : 0);
}

/* Of either pass, as listed above. */
#define PLAIN_KERNELS 5

/* Softmax and what belongs to it. */
static LsKernelCost softmax_cost (const LsDevice *device, LsAttention attention,
                                  const LsAttentionShape *shape, LsPass pass, double elements) {
  LsAttentionShape bare = *shape;
  ScorePasses passes = score_passes (attention, shape, pass);
  double bytes = ls_format_bytes (shape->format) * passes.passes;

  bare.dropout = FALSE;
  if (shape->plain_softmax) {
    const ScorePasses fused = score_passes (LS_ATTENTION_FUSED_SOFTMAX, &bare, pass);

    passes = score_passes (LS_ATTENTION_FUSED_SOFTMAX, shape, pass);
    bytes = ls_format_bytes (shape->format) * (passes.passes - fused.passes) +
            plain_bytes (shape, pass);
    passes.kernels += PLAIN_KERNELS - fused.kernels;
  }
  return ls_kernel_stream_real (device, elements * bytes, 8 * elements, passes.kernels);
}

/* Scores: [s_q, d] x [d, s_kv]; weighting: [s_q, s_kv] x [s_kv, d]; gradients the same, transposed. */
static LsKernelCost chain (const LsDevice *device, LsAttention attention,
                           const LsAttentionShape *shape, LsPass pass) {
  gint64 q = shape->query_length, kv = shape->kv_length, d = shape->head_dim;
  LsMatmul scores = {.m = q,
                     .n = kv,
                     .k = d,
                     .batch = ls_kernel_product (shape->batch, shape->heads),
                     .format = shape->format,
                     .output = shape->format,
                     .pitch = ls_kernel_pitch (d, kv)};
  LsMatmul values = scores;
  values.n = (gint64) value_dim (shape);
  values.k = kv;
  LsMatmul keys = scores;
  keys.m = kv;
  keys.n = d;
  keys.k = q;
  double elements = (double) scores.batch * (double) q * (double) kv;
  LsKernelCost softmax = softmax_cost (device, attention, shape, pass, elements);
  if (pass == LS_PASS_FORWARD) {
    const LsKernelCost costs[] = {ls_kernel_matmul (device, &scores), softmax,
                                  ls_kernel_matmul (device, &values)};
    return ls_kernel_sequence (costs, G_N_ELEMENTS (costs));
  }
  const LsKernelCost costs[] = {
      ls_kernel_matmul (device, &scores), ls_kernel_matmul (device, &keys), softmax,
      ls_kernel_matmul (device, &values), ls_kernel_matmul (device, &keys)};
  return ls_kernel_sequence (costs, G_N_ELEMENTS (costs));
}

LsKernelCost ls_kernel_attention (const LsDevice *device, LsAttention attention,
                                  const LsAttentionShape *shape, LsPass pass) {
  LS_REQUIRE (shape->batch >= 0 && shape->heads >= 0 && shape->kv_heads >= 0 &&
                  shape->query_length >= 0 && shape->kv_length >= 0 && shape->head_dim >= 0,
              "negative size of an attention");
  if (shape->batch == 0 || shape->heads == 0 || shape->query_length == 0 || shape->kv_length == 0 ||
      shape->head_dim == 0)
    return (LsKernelCost){.alone_ps = 0};
  LsAttention runs = ls_device_attention (device, attention);
  const gboolean forward = pass == LS_PASS_FORWARD;
  const gint64 sizes[] = {shape->batch, shape->heads, shape->query_length, shape->kv_length,
                          shape->head_dim};
  LsKernelCost cost = !ls_attention_is_flash (runs) ? chain (device, runs, shape, pass)
                      : forward                     ? flash_forward (device, runs, shape)
                                                    : flash_backward (device, runs, shape);

  return ls_kernel_measured (device, forward ? LS_KERNEL_ATTENTION : LS_KERNEL_ATTENTION_GRAD,
                             sizes, G_N_ELEMENTS (sizes), shape->format, cost);
}
