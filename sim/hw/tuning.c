/* What accelerators achieve of their data sheets: one record per product or family.
 *
 * Sources used again and again:
 *   MAMF     stas00/ml-engineering compute/accelerator/README.md @744d01e: the best matmul of a sweep over
 *            shapes, a maximum, not a mean.
 *   FLASH    the FlashAttention-2 and -3 papers' benchmark figures (H100 SXM5, head dimension 128, 16k
 *            tokens): forward without mask FA2 370, FA3 648 TFLOP/s, backward 322 and 561.
 *   OVERLAP  arXiv 2507.03114: computing beside communication is 18.9 % slower on average.
 * What no source gives is marked LS_FACT_ASSUMED and says from what it was carried over. */
#include "hw/tuning.h"

#include "base/assert.h"
#include "hw/fact_list.h"

#define FOUND(v, s) \
  { .value = (v), .status = LS_FACT_FOUND, .source = (s) }
#define RECALLED(v, s) \
  { .value = (v), .status = LS_FACT_RECALLED, .source = (s) }
#define DERIVED(v, s) \
  { .value = (v), .status = LS_FACT_DERIVED, .source = (s) }
#define FITTED(v, s) \
  { .value = (v), .status = LS_FACT_FITTED, .source = (s) }
#define ASSUMED(v, s) \
  { .value = (v), .status = LS_FACT_ASSUMED, .source = (s) }

#define MAMF "stas00/ml-engineering compute/accelerator/README.md @744d01e (MAMF)"
#define FLASH "FlashAttention-2/3 benchmark figures, H100 SXM5, head dimension 128, 16k tokens"
#define STEP_ROWS                                                                              \
  "a rough sum of one layer's kernels against step times of train_megatron.csv (clocks under " \
  "power)"
#define FSDP_ROWS \
  "rows of train_llmfoundry_fsdp.csv with sequences of 16k and more, which attention dominates"
#define SIMUMAX                                                                              \
  "kernel times measured on a B200 by MooreThreads/SimuMax, configs/system/b200_bf16_ceperm" \
  ".json @e691807, under load (clocks under power)"
#define SIMUMAX_STEPS                                                                     \
  "dense rows of train_simumax_b200.csv; products longer than 0.3 ms, measured alone in " \
  "SimuMax's system file, ask for 0.65"
#define KERNELS_A100                                                              \
  "46 products of 1 to 2,000 GFLOP measured on an A100 by MooreThreads/SimuMax, " \
  "configs/system/a100_pcie.json @3005b17 (4,096 to 33,024 tokens; forward and gradients)"
#define BENCHMARK "the benchmarks of attention are long loops, at the clocks that power allows"
#define BRIDGE_ROWS                                                                         \
  "fp8 and mxfp8 rows of Llama-3 8B on 8 x B200 and GB200, train_nvidia_nemo_mbridge.csv: " \
  "mbridge-25.09-607*, -618*, mbridge-25.11-565*, -578*"
#define ULTRA                                                                                      \
  RECALLED (1.2, "Blackwell Ultra computes exponentials at twice Blackwell's rate, which softmax " \
                 "is bound by in part")
/* Both formats in one run each, 128 query and 8 key heads of 128, causal; TFLOP/s at 32k tokens, where tiles' ends do not
 * count. Fixed times per tile make it less for short sequences, as measured: B200 at 8k 1.09 and 1.26. */
#define NARROW_ATTENTION                                                                 \
  "NVIDIA/cudnn-frontend @0b1577c, benchmark/sdpa_benchmark_training/artifacts/sdpa_fp8" \
  "_benchmark_results_NVIDIA_"
#define RAMP                                                                                      \
  "about 1 us to fill a tile's pipeline and write it back, at the SM's rate; the best shapes of " \
  "the MAMF table then reach their published rate"
#define OVERHEAD "start, tail and drain of one kernel, a few microseconds"
#define VECTOR "instruction mix of elementwise kernels: not every issue slot is a multiply-add"
#define NCCL_SMS                                                                                \
  "24 blocks of an all-gather seen on H100 (NVIDIA developer forum, thread 337991); one block " \
  "holds one SM; 24 of 132 also fits the 18.9 % by which arXiv 2507.03114 finds compute slowed"
/* With 24 of 132 SMs held, the product of 1.77 ms does 24/132 x t less while the gather lasts: t = (2.02 - 1.77) x
 * 132/24 = 1.375 ms, of which it needs 2.96 - 1.77 = 1.19 ms alone. */
#define BESIDE                                                                                    \
  "PyTorch pull request 172714, 8 H100: a product of 8192^3 in fp16 and an all-gather of 64 MiB " \
  "a rank take 2.96 ms one after the other, 2.02 beside each other, 1.77 with copy engines; 24 "  \
  "of 132 SMs held"
#define AS_HOPPER "as Hopper, whose factor is measured"
#define CONTEXT "CUDA context and library workspaces of one process (cuBLAS, NCCL bootstrap)"

/* Tiles of output a matmul library chooses from. Small tiles reload their operands more often and run
 * at a lower rate. Source: tiles_ampere, with the ramp of Ampere and the cost of split loops, fitted on
 * KERNELS_A100 (mean error 3.1 %, with tiles_small 7.2 %); the others: ratio of operand traffic per multiply,
 * for Hopper and later in keeping with the best shape of its MAMF, which whole waves of large tiles would miss
 * by 19 % (persistent kernels share out the last wave). */
static const LsTile tiles_ampere[] = {{256, 128, 1.00}, {128, 256, 1.00}, {128, 128, 0.95},
                                      {128, 64, 0.70},  {64, 128, 0.70},  {64, 64, 0.50},
                                      {0, 0, 0}};
static const LsTile tiles_small[] = {{256, 128, 1.00}, {128, 256, 1.00}, {128, 128, 0.95},
                                     {128, 64, 0.82},  {64, 128, 0.82},  {64, 64, 0.66},
                                     {0, 0, 0}};
static const LsTile tiles_large[] = {{256, 256, 1.00}, {256, 128, 0.98}, {128, 256, 0.98},
                                     {128, 128, 0.90}, {128, 64, 0.72},  {64, 128, 0.72},
                                     {64, 64, 0.55},   {0, 0, 0}};

const LsTuning ls_tuning_volta = {
    .name = "volta",
    .matmul_ceiling = {[LS_FORMAT_FP16] =
                           ASSUMED (0.86, "as Ampere (no sweep of V100 found): 107 of 125 TFLOP/s"),
                       [LS_FORMAT_FP32] = ASSUMED (0.92, "vector units, large tiles")},
    .matmul_sustained = FITTED (0.90, STEP_ROWS ": mlm2020-mp-V100-*"),
    .vector_fraction = ASSUMED (0.60, VECTOR),
    .hbm_fraction = RECALLED (0.88, "STREAM-like copies on V100, about 790 of 900 GB/s"),
    .depth_ramp = ASSUMED (48, RAMP),
    .kernel_overhead_s = ASSUMED (2.5e-6, OVERHEAD),
    .collective_sms = ASSUMED (16, "NCCL channels on NVLink 2: two rings of up to 8"),
    .collective_slowdown =
        RECALLED (0.86, "Rashidi et al., ISCA 2021 (arXiv 2007.00156): an all-reduce of 100 MB on "
                        "8 V100 takes 1.16 x beside products of 1000^3"),
    .context_bytes = RECALLED (0.75 * (1 << 30), CONTEXT),
    .tiles = tiles_small,
};

const LsTuning ls_tuning_turing = {
    .name = "turing",
    .matmul_ceiling = {[LS_FORMAT_FP16] =
                           ASSUMED (0.60, "T4 at 70 W cannot hold its clocks: about 40 of 65"),
                       [LS_FORMAT_INT8] = ASSUMED (0.60, "as fp16"),
                       [LS_FORMAT_FP32] = ASSUMED (0.70, "vector units under 70 W")},
    .matmul_sustained = ASSUMED (0.80, "70 W limit"),
    .vector_fraction = ASSUMED (0.50, VECTOR),
    .hbm_fraction = RECALLED (0.80, "copies on T4, about 250 of 320 GB/s"),
    .depth_ramp = ASSUMED (48, RAMP),
    .kernel_overhead_s = ASSUMED (3e-6, OVERHEAD),
    .flash_forward = {[LS_ATTENTION_FLASH1] = ASSUMED (0.30, "FA1 supports Turing; as A100")},
    .flash_backward = {[LS_ATTENTION_FLASH1] = ASSUMED (0.25, "FA1 supports Turing; as A100")},
    .collective_sms = ASSUMED (4, "PCIe only: few channels"),
    .collective_slowdown = ASSUMED (0.87, AS_HOPPER),
    .context_bytes = RECALLED (0.5 * (1 << 30), CONTEXT),
    .tiles = tiles_small,
};

const LsTuning ls_tuning_ampere = {
    .name = "ampere",
    .matmul_ceiling = {[LS_FORMAT_BF16] = FOUND (0.8692, MAMF ": 271.2 of 312, 1024x10240x5120"),
                       [LS_FORMAT_FP16] = DERIVED (0.8692, "as bf16: same units and rate"),
                       [LS_FORMAT_TF32] = ASSUMED (0.85, "as bf16, operands twice as wide"),
                       [LS_FORMAT_INT8] = ASSUMED (0.80, "as bf16, operand traffic grows"),
                       [LS_FORMAT_FP32] = ASSUMED (0.92, "vector units, large tiles")},
    .matmul_sustained = FITTED (
        0.85, STEP_ROWS ": sc21-t1-*, sc21-t2-7, sc21-t2-11, mlm2020-mp-A100-*, korth-t5-22B-*; "
                        "the A100 rows of train_llmfoundry_fsdp.csv, vtrain-multi-*"),
    .vector_fraction = ASSUMED (0.60, VECTOR),
    .hbm_fraction = RECALLED (0.88, "STREAM-like copies on A100 80 GB, about 1.79 of 2.04 TB/s"),
    .depth_ramp = FITTED (128, KERNELS_A100),
    .split_cost = FITTED (1.15, KERNELS_A100),
    .kernel_overhead_s = ASSUMED (2.0e-6, OVERHEAD),
    .flash_forward = {[LS_ATTENTION_FLASH1] = FITTED (
                          0.435, FSDP_ROWS ", A100; the FlashAttention-2 paper says 25-40 %"),
                      [LS_ATTENTION_FLASH2] =
                          FOUND (0.72, "FlashAttention-2 paper: up to 73 % of A100 forward")},
    .flash_backward = {[LS_ATTENTION_FLASH1] = FITTED (
                           0.415, FSDP_ROWS ", A100; the FlashAttention-2 paper says 25-40 %"),
                       [LS_ATTENTION_FLASH2] =
                           RECALLED (0.63, "FlashAttention-2 paper: up to 63 % of A100 backward")},
    .collective_sms = ASSUMED (24, NCCL_SMS),
    .collective_slowdown = ASSUMED (0.87, AS_HOPPER),
    .context_bytes = RECALLED (1.0 * (1 << 30), CONTEXT),
    .tiles = tiles_ampere,
};

const LsTuning ls_tuning_ada = {
    .name = "ada",
    .matmul_ceiling = {[LS_FORMAT_BF16] = ASSUMED (0.88, "as Ampere"),
                       [LS_FORMAT_FP16] = ASSUMED (0.88, "as Ampere"),
                       [LS_FORMAT_FP8_E4M3] = ASSUMED (0.80, "as Hopper against its bf16"),
                       [LS_FORMAT_FP8_E5M2] = ASSUMED (0.80, "as Hopper against its bf16"),
                       [LS_FORMAT_TF32] = ASSUMED (0.85, "as Ampere"),
                       [LS_FORMAT_INT8] = ASSUMED (0.80, "as Ampere"),
                       [LS_FORMAT_FP32] = ASSUMED (0.85, "vector units share issue slots")},
    .matmul_sustained = ASSUMED (0.90, "as Ampere"),
    .vector_fraction = ASSUMED (0.50, VECTOR),
    .hbm_fraction = RECALLED (0.90, "GDDR6 copies, about 0.9 of the data sheet"),
    .depth_ramp = ASSUMED (64, RAMP),
    .kernel_overhead_s = ASSUMED (2.0e-6, OVERHEAD),
    .flash_forward = {[LS_ATTENTION_FLASH1] = ASSUMED (0.40, "as A100"),
                      [LS_ATTENTION_FLASH2] = ASSUMED (0.75, "as A100")},
    .flash_backward = {[LS_ATTENTION_FLASH1] = ASSUMED (0.34, "as A100"),
                       [LS_ATTENTION_FLASH2] = ASSUMED (0.63, "as A100")},
    .collective_sms = ASSUMED (4, "PCIe only: few channels"),
    .collective_slowdown = ASSUMED (0.87, AS_HOPPER),
    .context_bytes = RECALLED (0.5 * (1 << 30), CONTEXT),
    .tiles = tiles_small,
};

#define HOPPER_COMMON                                                                            \
  .matmul_ceiling = {[LS_FORMAT_BF16] = FOUND (0.8034, MAMF ": 794.5 of 989, 2048x2048x13312"),  \
                     [LS_FORMAT_FP16] = DERIVED (0.8034, "as bf16: same units and rate"),        \
                     [LS_FORMAT_FP8_E4M3] =                                                      \
                         FOUND (0.7087, MAMF ": 1402.6 of 1979, 1024x9216x14336"),               \
                     [LS_FORMAT_FP8_E5M2] = DERIVED (0.7087, "as e4m3: same units and rate"),    \
                     [LS_FORMAT_TF32] = ASSUMED (0.80, "as bf16"),                               \
                     [LS_FORMAT_INT8] = ASSUMED (0.70, "as fp8"),                                \
                     [LS_FORMAT_FP32] = ASSUMED (0.90, "vector units, large tiles")},            \
  .vector_fraction = ASSUMED (0.60, VECTOR), .depth_ramp = ASSUMED (64, RAMP),                   \
  .kernel_overhead_s = ASSUMED (2.0e-6, OVERHEAD),                                               \
  .flash_forward = {[LS_ATTENTION_FLASH1] = FITTED (0.20, FSDP_ROWS ", H100"),                   \
                    [LS_ATTENTION_FLASH2] = FOUND (0.375, FLASH ": 370 of 989"),                 \
                    [LS_ATTENTION_FLASH3] = FOUND (0.66, FLASH ": 648 of 989")},                 \
  .flash_backward = {[LS_ATTENTION_FLASH1] = FITTED (0.18, FSDP_ROWS ", H100"),                  \
                     [LS_ATTENTION_FLASH2] = FOUND (0.335, FLASH ": 322 of 989 at 16k"),         \
                     [LS_ATTENTION_FLASH3] = FOUND (0.585, FLASH ": 561 of 989 at 16k")},        \
  .flash_narrow_forward =                                                                        \
      FOUND (1.48, "NVIDIA/cudnn-frontend @bf19761, benchmark/attention_training/results/"       \
                   "llama3.1/h200 (cuDNN 9.26), 8k tokens, causal: 961 and 651 TFLOP/s"),        \
  .flash_narrow_backward =                                                                       \
      FOUND (1.19, "NVIDIA/cudnn-frontend @b740542, benchmark/README.md (cuDNN 9.1): 418 and "   \
                   "351 TFLOP/s; 9.26 computes what is masked: 0.64 of a causal one, as above"), \
  .collective_slowdown = FOUND (0.87, BESIDE),                                                   \
  .context_bytes = RECALLED (1.0 * (1 << 30), CONTEXT), .tiles = tiles_small

const LsTuning ls_tuning_hopper = {
    .name = "hopper",
    HOPPER_COMMON,
    .matmul_sustained =
        FITTED (0.78, STEP_ROWS ": mcore08-weak-*, and the H100 rows of train_llmfoundry_fsdp.csv"),
    .flash_sustained = ASSUMED (1.0, BENCHMARK),
    .hbm_fraction = RECALLED (0.90, "copies on H100 SXM, about 3.0 of 3.35 TB/s"),
    .collective_sms = FOUND (24, NCCL_SMS),
};

const LsTuning ls_tuning_hopper_500w = {
    .name = "hopper-500w",
    HOPPER_COMMON,
    .matmul_sustained = FITTED (
        0.643, "bf16 rows of train_torchtitan.csv with torch.compile: titan-2, -9, -19, -20"),
    .flash_sustained = ASSUMED (0.852, BENCHMARK "; clock of 500 of 700 W by hw/power.h's law"),
    .hbm_fraction = ASSUMED (0.90, "as H100 SXM"),
    .collective_sms = FOUND (24, NCCL_SMS),
};

const LsTuning ls_tuning_hopper_pcie = {
    .name = "hopper-pcie",
    HOPPER_COMMON,
    .matmul_sustained = ASSUMED (0.65, "clocks under 350 W: half the power of the SXM part"),
    .flash_sustained = ASSUMED (0.79, BENCHMARK "; clocks as the cube root of 350 / 700 W"),
    .hbm_fraction = RECALLED (0.90, "copies on H100 PCIe, about 1.8 of 2.0 TB/s"),
    .collective_sms = ASSUMED (16, "fewer channels than on NVLink 4"),
};

#define NARROW_B200                                                                                \
  .flash_narrow_forward = FOUND (1.18, NARROW_ATTENTION "B200.csv (cuDNN 9.13.1): 1781 and 1515"), \
  .flash_narrow_backward = FOUND (1.34, NARROW_ATTENTION "B200.csv (cuDNN 9.13.1): 1582 and 1180")
#define NARROW_GB300                                                            \
  .flash_narrow_forward =                                                       \
      FOUND (1.25, NARROW_ATTENTION "GB300.csv (cuDNN 9.13.1): 2352 and 1884"), \
  .flash_narrow_backward =                                                      \
      FOUND (1.39, NARROW_ATTENTION "GB300.csv (cuDNN 9.13.1): 1880 and 1350")
/* Of cuDNN 9.18 to 9.22, 64 query and 8 key heads of 128, causal, 8k tokens. */
#define CUDNN_2026                                                                          \
  "NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training/results, llama3.1, 8k tokens: " \
  "time in bf16 / in 8 bits, "
#define FLASH4_B200                                                                            \
  .flash4_tensor_forward = FOUND (1.24, CUDNN_2026 "GB200, 9.18 to 9.22: 1.19, 1.24, 1.30"),   \
  .flash4_tensor_backward = FOUND (1.13, CUDNN_2026 "GB200, 9.18 to 9.22: 1.16, 1.13, 1.09"),  \
  .flash4_block_forward = FOUND (1.22, CUDNN_2026 "GB200, 9.22 @60e572b: 1.397 and 1.156 ms"), \
  .flash4_block_backward = FOUND (0.98, CUDNN_2026 "GB200, 9.22 @60e572b: 4.127 and 4.272 ms")
#define FLASH4_GB300                                                                           \
  .flash4_tensor_forward = FOUND (1.45, CUDNN_2026 "GB300, 9.18 to 9.22: 1.32, 1.47, 1.56"),   \
  .flash4_tensor_backward = FOUND (1.17, CUDNN_2026 "GB300, 9.18 to 9.22: 1.14, 1.15, 1.24"),  \
  .flash4_block_forward = FOUND (1.41, CUDNN_2026 "GB300, 9.22 @60e572b: 1.185 and 0.856 ms"), \
  .flash4_block_backward = FOUND (0.99, CUDNN_2026 "GB300, 9.22 @60e572b: 3.832 and 3.917 ms")
/* One GPU, one benchmark, two releases: the share of the older one, whose clocks under load were measured, times how much
 * faster the newer runs. At 8k and 32k tokens 1.12 and 1.08 forward, 1.21 and 1.15 backward. */
#define SINCE_918                                                                                \
  "flash-3's by cuDNN 9.13.1 / 9.18 on one GB300, a head of 128, 8k and 32k tokens, causal: "    \
  "NVIDIA/cudnn-frontend @bb37575, artifacts/sdpa_bf16_benchmark_results_NVIDIA_GB300.csv (128 " \
  "heads: fp8's file has 1.281 and 18.680, 4.778 and 65.150 ms in bf16), and @b8c0656, results/" \
  "gb300_918_only_cudnn/llama3.1_20260126_110426.csv (64: 0.571 and 8.663, 1.976 and 28.331)"
/* Per score, forward and backward, against heads of 128 at 8k tokens (llama3.1). */
#define NARROW_HEADS                                                                             \
  "heads of 64 of NVIDIA/cudnn-frontend, benchmark/sdpa_benchmark_training/results, GB200 and "  \
  "GB300: windows of 1024 (9.19, gb200_919_only_cudnn/gpt_oss @afa9f7c), of 128 and, in 8 bits " \
  "backward, none (9.22, gpt_oss/gb200 @60e572b)"
#define WIDE_B200 FITTED (0.60, SIMUMAX_STEPS)
/* 0.60, at 1,000 W, would be 1,093 TFLOP/s: less than a whole step of Llama 3.1 405B has by its makers (1,134 model TFLOP/s). */
#define WIDE_GB200                                                                           \
  DERIVED (0.68, "as in 8 bits, of the same part at 1,200 W; six runs of Nemotron 4 340B "   \
                 "and Llama 3.1 405B in bf16 (train_reports.csv) then err by 0 to 4 %, and " \
                 "by 12 to 16 at the B200's 0.60")
#define BLACKWELL_COMMON(wide, narrow, flash)                                                     \
  .narrow_columns = TRUE, .matmul_sustained = wide, .narrow_sustained = narrow,                   \
  .flash_sustained = flash, .vector_fraction = ASSUMED (0.60, VECTOR),                            \
  .hbm_fraction = ASSUMED (0.88, "as Hopper and Ampere"), .depth_ramp = ASSUMED (64, RAMP),       \
  .kernel_overhead_s = ASSUMED (2.0e-6, OVERHEAD),                                                \
  .flash_forward = {[LS_ATTENTION_FLASH1] = ASSUMED (0.10, "FA1 : FA2 as on A100"),               \
                    [LS_ATTENTION_FLASH2] = ASSUMED (0.18, "Hopper's absolute rate x 1.1"),       \
                    [LS_ATTENTION_FLASH3] =                                                       \
                        FITTED (0.54, SIMUMAX ": sdp_fwd, 64 heads, 4k to 128k tokens, causal"),  \
                    [LS_ATTENTION_FLASH4] = DERIVED (0.594, SINCE_918 ": 1.10")},                 \
  .flash_backward = {[LS_ATTENTION_FLASH1] = ASSUMED (0.09, "FA1 : FA2 as on A100"),              \
                     [LS_ATTENTION_FLASH2] = ASSUMED (0.16, "Hopper's absolute rate x 1.1"),      \
                     [LS_ATTENTION_FLASH3] = FITTED (0.46, SIMUMAX ": sdp_bwd, the same shapes"), \
                     [LS_ATTENTION_FLASH4] = DERIVED (0.543, SINCE_918 ": 1.18")},                \
  .flash_half_forward = FITTED (1000, NARROW_HEADS ": a score takes as long at either width"),    \
  .flash_half_backward = FITTED (200, NARROW_HEADS),                                              \
  .flash_rows = FITTED (256, SIMUMAX ": sdp_fwd of 4 and 8 heads, 4k tokens (92 and 98 us); two " \
                                     "tiles of 128 in turn, as in FlashAttention-4"),             \
  .collective_sms = ASSUMED (24, "as Hopper"), .collective_slowdown = ASSUMED (0.87, AS_HOPPER),  \
  .context_bytes = RECALLED (1.0 * (1 << 30), CONTEXT), .tiles = tiles_large

/* Ceilings of the B200 and of the GB200; the Ultra parts have none published and take theirs. */
/* Twelve products of a layer, 0.3 to 1.4 ms each in bf16, timed alone; the model's own time for them at its ceilings is
 * 11.316, 5.771 and, at 0.65 of nvfp4's peak, 2.354 ms (tests/hw/test_matmul.c). */
#define ALONE_B300                                                                         \
  "12 products on a B300, NVIDIA/TransformerEngine @3329417, docs/features/low_precision_" \
  "training/gemm_profiling: "
#define IN_STEPS ", times 0.60 / 0.65, what is left of a B200's in steps"
#define NO_SWEEP ASSUMED (0.65, "no sweep found: less than fp8, whose operands arrive half as fast")
#define BLACKWELL_CEILINGS(fp4)                                                           \
  .matmul_ceiling = {                                                                     \
      [LS_FORMAT_BF16] = FOUND (0.7756, MAMF ": 1745 of 2250, 1792x16128x3072"),          \
      [LS_FORMAT_FP16] = DERIVED (0.7756, "as bf16: same units and rate"),                \
      [LS_FORMAT_FP8_E4M3] = FOUND (0.7628, MAMF ": 3432.5 of 4500, 15360x4096x3072"),    \
      [LS_FORMAT_FP8_E5M2] = DERIVED (0.7628, "as e4m3: same units and rate"),            \
      [LS_FORMAT_MXFP8] = DERIVED (0.7628, "as e4m3: the units scale blocks themselves"), \
      [LS_FORMAT_NVFP4] = fp4,                                                            \
      [LS_FORMAT_TF32] = ASSUMED (0.77, "as bf16"),                                       \
      [LS_FORMAT_INT8] = ASSUMED (0.75, "as fp8"),                                        \
      [LS_FORMAT_FP32] = ASSUMED (0.90, "vector units, large tiles")}
#define GRACE_BLACKWELL_CEILINGS(fp4)                                                     \
  .matmul_ceiling = {                                                                     \
      [LS_FORMAT_BF16] = FOUND (0.7288, MAMF ": 1822 of 2500, 4096x9728x2048"),           \
      [LS_FORMAT_FP16] = DERIVED (0.7288, "as bf16: same units and rate"),                \
      [LS_FORMAT_FP8_E4M3] = FOUND (0.7231, MAMF ": 3615.6 of 5000, 19456x5120x1536"),    \
      [LS_FORMAT_FP8_E5M2] = DERIVED (0.7231, "as e4m3: same units and rate"),            \
      [LS_FORMAT_MXFP8] = DERIVED (0.7231, "as e4m3: the units scale blocks themselves"), \
      [LS_FORMAT_NVFP4] = fp4,                                                            \
      [LS_FORMAT_TF32] = ASSUMED (0.73, "as bf16"),                                       \
      [LS_FORMAT_INT8] = ASSUMED (0.72, "as fp8"),                                        \
      [LS_FORMAT_FP32] = ASSUMED (0.90, "vector units, large tiles")}

const LsTuning ls_tuning_blackwell = {
    .name = "blackwell",
    BLACKWELL_CEILINGS (NO_SWEEP),
    BLACKWELL_COMMON (WIDE_B200, FITTED (0.68, BRIDGE_ROWS), ASSUMED (1.0, BENCHMARK)),
    NARROW_B200,
    FLASH4_B200,
};

const LsTuning ls_tuning_blackwell_ultra = {
    .name = "blackwell-ultra",
    BLACKWELL_CEILINGS (
        DERIVED (0.517, ALONE_B300 "3.754 ms where the share of 8 bits leaves 2.993")),
    BLACKWELL_COMMON (DERIVED (0.834, ALONE_B300 "0.903 of the best rate in bf16" IN_STEPS),
                      DERIVED (0.727, ALONE_B300 "0.788 of it in MXFP8" IN_STEPS), ULTRA),
    NARROW_GB300,
    FLASH4_GB300,
};

const LsTuning ls_tuning_grace_blackwell = {
    .name = "grace-blackwell",
    GRACE_BLACKWELL_CEILINGS (NO_SWEEP),
    BLACKWELL_COMMON (WIDE_GB200, FITTED (0.68, BRIDGE_ROWS), ASSUMED (1.0, BENCHMARK)),
    NARROW_B200,
    FLASH4_B200,
};

const LsTuning ls_tuning_grace_blackwell_ultra = {
    .name = "grace-blackwell-ultra",
    GRACE_BLACKWELL_CEILINGS (DERIVED (0.517, "the B300's share: one chip")),
    BLACKWELL_COMMON (
        DERIVED (0.917, "its 0.80 in 8 bits by the B300's 0.903 and 0.788: one chip"),
        FITTED (0.80, "mbridge-25.11-552a, -552b of train_nvidia_nemo_mbridge.csv (GB300, 1400 W)"),
        ULTRA),
    NARROW_GB300,
    FLASH4_GB300,
};

const LsTuning ls_tuning_cdna2 = {
    .name = "cdna2",
    .matmul_ceiling = {[LS_FORMAT_BF16] = ASSUMED (0.70, "between CDNA3 and Ampere"),
                       [LS_FORMAT_FP16] = ASSUMED (0.70, "between CDNA3 and Ampere"),
                       [LS_FORMAT_INT8] = ASSUMED (0.65, "between CDNA3 and Ampere"),
                       [LS_FORMAT_FP32] = ASSUMED (0.80, "vector units")},
    .matmul_sustained = ASSUMED (0.90, "as Ampere"),
    .vector_fraction = ASSUMED (0.50, VECTOR),
    .hbm_fraction = RECALLED (0.80, "BabelStream on MI250X, about 1.3 of 1.64 TB/s per die"),
    .depth_ramp = ASSUMED (64, RAMP),
    .kernel_overhead_s = ASSUMED (4.0e-6, OVERHEAD ", ROCm"),
    .flash_forward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.40, "CDNA3's share, scaled by ceiling")},
    .flash_backward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.28, "CDNA3's share, scaled by ceiling")},
    .collective_sms = ASSUMED (16, "RCCL channels"),
    .collective_slowdown = ASSUMED (0.87, AS_HOPPER),
    .context_bytes = ASSUMED (1.0 * (1 << 30), "as CUDA"),
    .tiles = tiles_large,
};

const LsTuning ls_tuning_cdna3 = {
    .name = "cdna3",
    .matmul_ceiling = {[LS_FORMAT_BF16] = FOUND (0.5112, MAMF ": 668.4 TFLOP/s of 1307.4"),
                       [LS_FORMAT_FP16] = DERIVED (0.5112, "as bf16: same units and rate"),
                       [LS_FORMAT_FP8_E4M3] = ASSUMED (0.48, "as bf16; FNUZ variant of fp8"),
                       [LS_FORMAT_FP8_E5M2] = ASSUMED (0.48, "as bf16; FNUZ variant of fp8"),
                       [LS_FORMAT_TF32] = ASSUMED (0.51, "as bf16"),
                       [LS_FORMAT_INT8] = ASSUMED (0.48, "as bf16"),
                       [LS_FORMAT_FP32] = ASSUMED (0.60, "vector units")},
    .matmul_sustained = ASSUMED (0.92, "its ceiling is already far below the data sheet"),
    .vector_fraction = ASSUMED (0.50, VECTOR),
    .hbm_fraction = RECALLED (0.80, "BabelStream on MI300X, about 4.2 of 5.3 TB/s"),
    .depth_ramp = ASSUMED (64, RAMP),
    .kernel_overhead_s = ASSUMED (4.0e-6, OVERHEAD ", ROCm"),
    .flash_forward = {[LS_ATTENTION_FLASH2] =
                          ASSUMED (0.30, "composable-kernel attention, about 400 TFLOP/s")},
    .flash_backward = {[LS_ATTENTION_FLASH2] =
                           ASSUMED (0.21, "composable-kernel attention, about 280 TFLOP/s")},
    .collective_sms = ASSUMED (32, "RCCL channels over seven xGMI links"),
    .collective_slowdown = ASSUMED (0.87, AS_HOPPER),
    .context_bytes = ASSUMED (1.0 * (1 << 30), "as CUDA"),
    .tiles = tiles_large,
};

const LsTuning ls_tuning_cdna4 = {
    .name = "cdna4",
    .matmul_ceiling = {[LS_FORMAT_BF16] =
                           FOUND (0.626, MAMF ": MI355X 1565 TFLOP/s, 12288x8192x8192, of 2500"),
                       [LS_FORMAT_FP16] = DERIVED (0.626, "as bf16: same units and rate"),
                       [LS_FORMAT_FP8_E4M3] = ASSUMED (0.59, "fp8 : bf16 as on CDNA3"),
                       [LS_FORMAT_FP8_E5M2] = ASSUMED (0.59, "fp8 : bf16 as on CDNA3"),
                       [LS_FORMAT_MXFP8] = ASSUMED (0.59, "as fp8"),
                       [LS_FORMAT_INT8] = ASSUMED (0.59, "as fp8"),
                       [LS_FORMAT_FP32] = ASSUMED (0.60, "vector units")},
    .matmul_sustained = ASSUMED (0.92, "as CDNA3"),
    .vector_fraction = ASSUMED (0.50, VECTOR),
    .hbm_fraction = ASSUMED (0.80, "as CDNA3"),
    .depth_ramp = ASSUMED (64, RAMP),
    .kernel_overhead_s = ASSUMED (4.0e-6, OVERHEAD ", ROCm"),
    .flash_forward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.37, "CDNA3's share, scaled by ceiling")},
    .flash_backward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.26, "CDNA3's share, scaled by ceiling")},
    .collective_sms = ASSUMED (32, "as CDNA3"),
    .collective_slowdown = ASSUMED (0.87, AS_HOPPER),
    .context_bytes = ASSUMED (1.0 * (1 << 30), "as CUDA"),
    .tiles = tiles_large,
};

const LsTuning ls_tuning_gaudi = {
    .name = "gaudi",
    .matmul_ceiling = {[LS_FORMAT_BF16] =
                           FOUND (0.9692, MAMF ": Gaudi 2 418.7 TFLOP/s of 432, 14336x15360x2048"),
                       [LS_FORMAT_FP16] = ASSUMED (0.9692, "as bf16"),
                       [LS_FORMAT_FP8_E4M3] =
                           FOUND (0.9555, MAMF ": Gaudi 2 826.5 TFLOP/s of 865, 6144x11264x5120"),
                       [LS_FORMAT_FP8_E5M2] = DERIVED (0.9555, "as e4m3: same units and rate"),
                       [LS_FORMAT_TF32] = ASSUMED (0.9692, "as bf16"),
                       [LS_FORMAT_FP32] = ASSUMED (0.60, "vector units")},
    .matmul_sustained = ASSUMED (0.90, "its ceiling is close to the data sheet; as Ampere"),
    .vector_fraction = ASSUMED (0.50, VECTOR),
    .hbm_fraction = ASSUMED (0.88, "as other HBM parts"),
    .depth_ramp = ASSUMED (64, RAMP),
    .kernel_overhead_s = ASSUMED (3.0e-6, "operations of one compiled graph"),
    .flash_forward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.40, "fused attention of its library")},
    .flash_backward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.30, "fused attention of its library")},
    .collective_sms = ASSUMED (0, "the ports have their own engines"),
    .collective_slowdown = ASSUMED (0.95, "shares memory bandwidth only"),
    .context_bytes = ASSUMED (1.0 * (1 << 30), "runtime and compiled graph"),
    .tiles = tiles_small,
};

const LsTuning ls_tuning_tpu = {
    .name = "tpu",
    .matmul_ceiling = {[LS_FORMAT_BF16] = ASSUMED (0.90, "systolic array, statically scheduled"),
                       [LS_FORMAT_FP8_E4M3] = ASSUMED (0.90, "as bf16"),
                       [LS_FORMAT_FP8_E5M2] = ASSUMED (0.90, "as bf16"),
                       [LS_FORMAT_INT8] = ASSUMED (0.90, "as bf16"),
                       [LS_FORMAT_FP32] = ASSUMED (0.90, "emulated by passes of bf16")},
    .matmul_sustained = ASSUMED (0.95, "clocks are fixed"),
    .vector_fraction = ASSUMED (0.50, VECTOR),
    .hbm_fraction = ASSUMED (0.90, "statically scheduled copies"),
    .depth_ramp = ASSUMED (128, "one pass through a 128-deep array"),
    .kernel_overhead_s = ASSUMED (1.0e-6, "operations of one compiled program"),
    .flash_forward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.55, "Pallas kernels")},
    .flash_backward = {[LS_ATTENTION_FLASH2] = ASSUMED (0.45, "Pallas kernels")},
    .collective_sms = ASSUMED (0, "the interconnect has its own engines"),
    .collective_slowdown = ASSUMED (1.0, "the interconnect has its own engines"),
    .context_bytes = ASSUMED (0.25 * (1 << 30), "runtime and compiled program"),
    .tiles = tiles_small,
};

static const char *const attentions[] = {
#define LS_ATTENTION_ROW(id, word, title) [LS_ATTENTION_##id] = word,
    LS_ATTENTIONS (LS_ATTENTION_ROW)
#undef LS_ATTENTION_ROW
};

const char *ls_attention_name (LsAttention attention) {
  LS_REQUIRE (attention < LS_N_ATTENTIONS, "attention %d", (int) attention);
  return attentions[attention];
}

gboolean ls_attention_is_flash (LsAttention attention) {
  return attention >= LS_ATTENTION_FLASH1;
}

/* Static names of the per-format and per-kernel fields, so that facts need no allocation. */
static const char *const ceiling_fields[] = {
#define LS_FORMAT_FIELD(ID, NAME, ...) [LS_FORMAT_##ID] = "matmul_ceiling." NAME,
    LS_FORMATS (LS_FORMAT_FIELD)
#undef LS_FORMAT_FIELD
};
static const char *const forward_fields[] = {
#define LS_ATTENTION_FIELD(id, word, title) [LS_ATTENTION_##id] = "attention_forward." word,
    LS_ATTENTIONS (LS_ATTENTION_FIELD)
#undef LS_ATTENTION_FIELD
};
static const char *const backward_fields[] = {
#define LS_ATTENTION_FIELD(id, word, title) [LS_ATTENTION_##id] = "attention_backward." word,
    LS_ATTENTIONS (LS_ATTENTION_FIELD)
#undef LS_ATTENTION_FIELD
};

/* The host's proxies, buffers in the HBM and channels that wait for both. Rows of one GPU or node take no part in the fit:
 * docs/kernels.md, "Beside communication". */
static const LsSourced network_slowdown = FITTED (
    0.5, "H100 rows of train_llmfoundry_fsdp.csv over several nodes, which take 0.3 by themselves, "
         "and mlperf_llm_step_times.csv, which errs least here (4.0 %; 4.6 with 0.4, 4.2 with "
         "0.87); NCCL issue 1433: sends beside a product take up to twice the time");

const LsSourced *ls_tuning_network_slowdown (const LsTuning *tuning) {
  return tuning->collective_sms.value > 0 ? &network_slowdown : &tuning->collective_slowdown;
}

gboolean ls_tuning_fact (const LsTuning *tuning, guint i, LsFact *fact) {
  LsFactList list = {.n = 0};
  for (int f = 0; f < LS_N_FORMATS; f++)
    if (tuning->matmul_ceiling[f].value > 0)
      ls_fact_list_add_sourced (&list, ceiling_fields[f], LS_DIMENSION_FRACTION,
                                &tuning->matmul_ceiling[f]);
  ls_fact_list_add_sourced (&list, "matmul_sustained", LS_DIMENSION_FRACTION,
                            &tuning->matmul_sustained);
  if (tuning->narrow_sustained.value > 0)
    ls_fact_list_add_sourced (&list, "narrow_sustained", LS_DIMENSION_FRACTION,
                              &tuning->narrow_sustained);
  if (tuning->flash_sustained.value > 0)
    ls_fact_list_add_sourced (&list, "flash_sustained", LS_DIMENSION_NONE,
                              &tuning->flash_sustained);
  ls_fact_list_add_sourced (&list, "vector_fraction", LS_DIMENSION_FRACTION,
                            &tuning->vector_fraction);
  ls_fact_list_add_sourced (&list, "hbm_fraction", LS_DIMENSION_FRACTION, &tuning->hbm_fraction);
  ls_fact_list_add_sourced (&list, "depth_ramp", LS_DIMENSION_COUNT, &tuning->depth_ramp);
  if (tuning->split_cost.value > 0)
    ls_fact_list_add_sourced (&list, "split_cost", LS_DIMENSION_NONE, &tuning->split_cost);
  ls_fact_list_add_sourced (&list, "kernel_overhead", LS_DIMENSION_TIME,
                            &tuning->kernel_overhead_s);
  for (int a = 0; a < LS_N_ATTENTIONS; a++) {
    if (tuning->flash_forward[a].value > 0)
      ls_fact_list_add_sourced (&list, forward_fields[a], LS_DIMENSION_FRACTION,
                                &tuning->flash_forward[a]);
    if (tuning->flash_backward[a].value > 0)
      ls_fact_list_add_sourced (&list, backward_fields[a], LS_DIMENSION_FRACTION,
                                &tuning->flash_backward[a]);
  }
  if (tuning->flash_narrow_forward.value > 0) {
    ls_fact_list_add_sourced (&list, "attention_narrow.forward", LS_DIMENSION_NONE,
                              &tuning->flash_narrow_forward);
    ls_fact_list_add_sourced (&list, "attention_narrow.backward", LS_DIMENSION_NONE,
                              &tuning->flash_narrow_backward);
  }
  if (tuning->flash_half_forward.value > 0) {
    ls_fact_list_add_sourced (&list, "flash_half.forward", LS_DIMENSION_COUNT,
                              &tuning->flash_half_forward);
    ls_fact_list_add_sourced (&list, "flash_half.backward", LS_DIMENSION_COUNT,
                              &tuning->flash_half_backward);
  }
  if (tuning->flash4_tensor_forward.value > 0) {
    ls_fact_list_add_sourced (&list, "attention_flash-4.tensor.forward", LS_DIMENSION_NONE,
                              &tuning->flash4_tensor_forward);
    ls_fact_list_add_sourced (&list, "attention_flash-4.tensor.backward", LS_DIMENSION_NONE,
                              &tuning->flash4_tensor_backward);
    ls_fact_list_add_sourced (&list, "attention_flash-4.block.forward", LS_DIMENSION_NONE,
                              &tuning->flash4_block_forward);
    ls_fact_list_add_sourced (&list, "attention_flash-4.block.backward", LS_DIMENSION_NONE,
                              &tuning->flash4_block_backward);
  }
  if (tuning->flash_rows.value > 0)
    ls_fact_list_add_sourced (&list, "flash_rows", LS_DIMENSION_COUNT, &tuning->flash_rows);
  ls_fact_list_add_sourced (&list, "collective_sms", LS_DIMENSION_COUNT, &tuning->collective_sms);
  ls_fact_list_add_sourced (&list, "collective_slowdown", LS_DIMENSION_FRACTION,
                            &tuning->collective_slowdown);
  ls_fact_list_add_sourced (&list, "network_slowdown", LS_DIMENSION_FRACTION,
                            ls_tuning_network_slowdown (tuning));
  ls_fact_list_add_sourced (&list, "context", LS_DIMENSION_BYTES, &tuning->context_bytes);
  return ls_fact_list_get (&list, i, fact);
}
