/* Software generations, one row per framework and year.
 *
 * Launch costs: a launch takes the host 4-6 us in the driver (susun-blog.com, pegainfer 3), and a framework
 * in Python adds its own dispatch; two kernels queued on one stream start about 1 us apart. */
#include "hw/software.h"

#include "base/assert.h"
#include "hw/catalogue.h"

#define FITTED(v, s) \
  { .value = (v), .status = LS_FACT_FITTED, .source = (s) }
#define FOUND(v, s) \
  { .value = (v), .status = LS_FACT_FOUND, .source = (s) }
#define ASSUMED(v, s) \
  { .value = (v), .status = LS_FACT_ASSUMED, .source = (s) }
#define GAP "queued kernels of one stream start about 1 us apart"
#define LAUNCH "4-6 us in the driver (susun-blog.com pegainfer 3) and the framework's dispatch"
#define EAGER_EXPERTS                                                                            \
  "train_nvidia_nemo_mbridge.csv, rows mbridge-25.11-582 and mbridge-26.02-529 (Qwen3 30B in "   \
  "MXFP8 on B200, one sample per micro-batch, 16 experts a rank; no graphs, and those of the "   \
  "router alone): host-bound, within 1 %; vTrain's rows of Megatron-DeepSpeed, too, have 43 us " \
  "where forward and backward count alike"
/* 18.3, 19.5, 19.0 and 19.8 ms for each pair of virtual stages of 1, 2, 2.9 and 2.9 layers, with two, one, one and one sample. A
 * fifth, of pull request 1760 in MXFP8 (20.1 s with pairs, 16.9 without), comes out at 19.8 s with the 6 layers of @767255d. */
#define PAIRS                                                                         \
  "mbridge-25.11-593, mbridge-26.02-530, mbridge-26.02-538, mbridge-26.02.01-453 of " \
  "train_nvidia_nemo_mbridge.csv (Qwen3 in 8 bits, all-to-alls overlapped without graphs)"
#define PAIRS_WIDE "Megatron-Bridge pull request 1760: Qwen3 235B in bf16, 17.2 and 16.0 s"
/* The same page compares runs with and without it: 91.0 and 97.2 TFLOP/s on 80 GPUs (0.04 ms for each launch), 90.3 and 90.3
 * on 160; the dispatch alone is 43 us in vTrain's rows of the same code, both passes alike. The rest is what 8 hosts wait for
 * each other. */
#define BLOCKED                                                                               \
  "train_bigscience_jeanzay.csv, pairs of rows that differ in the micro-batch: error of the " \
  "ratio 4.4 % (4.8 with 42 us, 4.7 with 90, 6.2 with 140)"
/* Modules in Python forward, autograd's engine in C++ backward (torch/csrc/autograd/engine.cpp). One time for both would be 43
 * us: steps 5.0 % and pairs 3.8 there, 10.1 and 8.0 in the rows of hidden size 2048, which took no part (9.7 and 5.7 so).
 * From 85 and 12 us to 95 and 7 both errors differ by 0.1. */
#define VTRAIN_LAUNCHES                                                                      \
  "train_vtrain_a100.csv, rows vtrain-single-* of hidden size 1024, most of which the host " \
  "bounds: least error of steps (4.9 %) and of the ratios of pairs (3.7 %)"
/* Least squares per (hidden, tensor, micro-batch) over rows of one stage: layers and micro-batches apart. */
#define VTRAIN_STEP                                                                             \
  "train_vtrain_a100.csv, rows vtrain-single-*: what a step takes beside its micro-batches is " \
  "0.2 to 3.8 ms, and the optimizer's kernels are 0.2 to 4.0"
/* Between both the step of 1.2 B on one V100 fell from 1288 to 1121 ms, of 8.7 B on 8 from 1508 to 1407. */
#define FUSED_2020                                                                              \
  "Megatron-LM v1.1.5 has fused_softmax.py and the flags --bias-dropout-fusion and "            \
  "--scaled-upper-triang-masked-softmax-fusion (its copy in DeepSpeedExamples); that the runs " \
  "of images/tables.tex used them is an inference from their times"
#define STEP "logging, data loader hand-over, learning-rate scheduler, loss read back"

/* On one H100, head dimension 128, 512 to 16k tokens, with and without mask: 6.142 ms of flash-attn's package against
 * 6.551 of PyTorch's operator at 16k, 0.93 to 0.94 at every length (forward; backward is taken to be alike). */
#define SDPA "pytorch/benchmark pull request 2443 (August 2024): flash_v2 and sdpa, forward"
#define CONTEXT_WAITS                                                                          \
  "torch/_inductor/fx_passes/post_grad.py before PyTorch's pull request 150074 (March 2025): " \
  "reorder_for_locality moves a collective to its wait"

#define ASYNC_TP                                                                              \
  "torchtitan, parallelize_llama.py: enable_async_tensor_parallel sets inductor's "           \
  "_micro_pipeline_tp, which cuts all-gathers before and reduce-scatters behind products in " \
  "pieces beside them"

/* DeepSpeed's own pipeline (deepspeed/runtime/pipe/p2p.py @077e674) sends and receives without. */
#define P2P                                                                                 \
  "megatron/p2p_communication.py @178beeb: \"To protect against race condition when using " \
  "batch_isend_irecv()\", synchronize ()"

/* Chains of plain operations keep 1.9 times as much for the backward pass (of 405B over 8 x 16, 8 virtual stages, 134 against
 * 69 GB), twice what a GPU has beside its states; FlashAttention 3 came when the run was over (July 2024). */
#define LLAMA3_FUSIONS                                                                             \
  "an inference: The Llama 3 Herd of Models (arXiv 2407.21783), section 3.3.2, trains 405B at 8K " \
  "tokens without recompute "                                                                      \
  "on 80 GB, which only fused norms, activations and loss come near"

/* Of Megatron-LM since v1.1.5, by hand. */
#define MEGATRON_FUSIONS                                                                       \
  .attention = LS_ATTENTION_FUSED_SOFTMAX, .fused_bias_gelu = TRUE, .fused_dropout_add = TRUE, \
  .bias_passes = TRUE, .fused_norm = TRUE, .fused_optimizer = TRUE

/* What rows of torchtitan without a compiler share. */
#define FSDP2_EAGER                                                                        \
  .matmul_factor = ASSUMED (1.0, "no correction"), .attention_factor = FOUND (0.94, SDPA), \
  .gap_s = ASSUMED (1.5e-6, GAP), .host_launch_s = ASSUMED (8e-6, LAUNCH),                 \
  .host_step_s = ASSUMED (5e-3, STEP), .attention = LS_ATTENTION_FLASH2,                   \
  .loss_keeps = LS_LOSS_LOG_SOFTMAX, .fused_optimizer = TRUE, .copies_shards = TRUE,       \
  .recompute_stops_early = TRUE, .gathers_ahead = TRUE, .unit_buckets = TRUE,              \
  .root_stays_gathered = TRUE, .posts_all_receives = TRUE, .context_gathers = TRUE,        \
  .separate_maps = TRUE, .splits_second = TRUE, .scales_each_pass = TRUE

/* Medians in us after and before the mend; products without the sum have 139 in both. */
#define SLOW_DBIAS                                                                            \
  "NVIDIA/cudnn-frontend issue 256 and pull request 322: the grouped product whose epilogue " \
  "takes an activation's and the biases' gradients, on B200 at GPT-OSS's shapes"
/* What rows of Megatron-Bridge share. */
#define BRIDGE                                                                          \
  .matmul_factor = ASSUMED (1.0, "no correction"), .gap_s = ASSUMED (1.0e-6, GAP),      \
  .host_launch_s = FITTED (39e-6, EAGER_EXPERTS), .host_step_s = ASSUMED (5e-3, STEP),  \
  .host_pair_s = FITTED (10e-3, PAIRS_WIDE), .host_pair_8_s = FITTED (19.2e-3, PAIRS),  \
  .attention = LS_ATTENTION_FLASH3, .fused_bias_gelu = TRUE, .fused_dropout_add = TRUE, \
  .fused_bias_gradient = TRUE, .fused_norm = TRUE, .fused_cross_entropy = TRUE,         \
  .loss_keeps = LS_LOSS_NOTHING, .fused_optimizer = TRUE, .expert_sync = TRUE,          \
  .fused_router = TRUE, .fused_dispatch = TRUE, .fused_weight_gradient = TRUE,          \
  .gradient_placeholders = TRUE, .overlaps_tensor = TRUE, .gathers_ahead = TRUE,        \
  .buckets_first_stage = TRUE

static const LsSoftware generations[] = {
    {.name = "eager-2020",
     .aliases = "megatron-v1.0 megatron-lm-v1.0",
     .title = "Megatron-LM 1.0 (May 2020) on eager PyTorch 1.5",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = ASSUMED (9e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_UNFUSED,
     .fused_bias_gelu = TRUE,
     .bias_passes = TRUE,
     .fused_norm = TRUE,
     .fused_optimizer = TRUE,
     .source = "Megatron-LM v1.0 (apex layer norm and Adam, bias-gelu by the JIT)"},
    {.name = "megatron-2020",
     .aliases = "megatron-lm-2020",
     .title = "Megatron-LM 1.1 (later in 2020): fused softmax and dropout",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = ASSUMED (9e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     MEGATRON_FUSIONS,
     .source = FUSED_2020},
    {.name = "megatron-2021",
     .aliases = "megatron-lm-2021",
     .title = "Megatron-LM of 2021 (SC21 paper)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = ASSUMED (7e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     MEGATRON_FUSIONS,
     .messages_synchronize = TRUE,
     .source =
         "Narayanan et al. SC21, section 4.2: fused bias-gelu, bias-dropout-add and softmax; " P2P},
    {.name = "megatron-2022",
     .aliases = "megatron-lm-2022",
     .title = "Megatron-LM of 2022 (Korthikanti et al.)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = ASSUMED (7e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     MEGATRON_FUSIONS,
     .fused_weight_gradient = TRUE,
     .messages_synchronize = TRUE,
     .source = "Megatron-LM v3.0 (gradient accumulation fusion); " P2P},
    {.name = "deepspeed-2021",
     .aliases = "deepspeed-zero3-2021",
     .title = "Megatron-LM of 2021 under DeepSpeed ZeRO-3",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = ASSUMED (7e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     MEGATRON_FUSIONS,
     .deepspeed_copies = TRUE,
     .zero_per_matrix = TRUE,
     .zero_piece_s = FITTED (
         18e-6, "train_megatron.csv, rows sc21-t2-1, -3, -4, -6: the excess over compute grows "
                "by 0.24-0.27 ms per layer and rank, over 16 collectives per layer"),
     .source = "DeepSpeed 0.3: stage 3 fetches parameter by parameter with the list form of "
               "all_gather, one view and one copy per rank; biases and norms stay whole "
               "(stage3_param_persistence_threshold)"},
    {.name = "megatron-deepspeed",
     .aliases = "megatron-deepspeed-2022",
     .title = "Megatron-DeepSpeed of 2022 (BigScience, vTrain)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = FITTED (88e-6, VTRAIN_LAUNCHES),
     .host_backward_launch_s = FITTED (10e-6, VTRAIN_LAUNCHES),
     .host_step_s = FITTED (0, VTRAIN_STEP),
     MEGATRON_FUSIONS,
     .deepspeed_copies = TRUE,
     .launch_by_list = TRUE,
     .source = "bigscience-workshop/Megatron-DeepSpeed: Megatron-LM v2.4 under DeepSpeed; its "
               "launches, list by list, as in "
               "vTrain's rows, sums over one profiled layer (docs/validation.md)"},
    {.name = "megatron-deepspeed-bigscience",
     .aliases = "",
     .title = "Megatron-DeepSpeed of February 2022 on Jean Zay, every launch waited for",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = FITTED (70e-6, BLOCKED),
     .host_step_s = ASSUMED (5e-3, STEP),
     MEGATRON_FUSIONS,
     .deepspeed_copies = TRUE,
     .serial_launches = TRUE,
     .source = "bigscience train/tr11-176B-ml/chronicles-prequel.md @9e64ede: runs of this size "
               "hung unless CUDA_LAUNCH_BLOCKING=1 was set, which they then kept"},
    {.name = "megatron-core",
     .aliases = "mcore megatron-core-0.8 nemo",
     .title = "Megatron-Core with Transformer Engine (2024)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH3,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_bias_gradient = TRUE,
     .fused_norm = TRUE,
     .fused_optimizer = TRUE,
     .expert_sync = TRUE,
     .separate_scaling = TRUE,
     .fused_weight_gradient = TRUE,
     .overlaps_tensor = TRUE,
     .gathers_ahead = TRUE,
     .buckets_first_stage = TRUE,
     .source =
         "Megatron-Core 0.8 with Transformer Engine (cuDNN fused attention, tp-comm-overlap); "
         "its loss is fused only by an option"},
    {.name = "megatron-core-serial",
     .aliases = "",
     .title = "Megatron-Core of 2025-26 with Transformer Engine, overlap switched off",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH3,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_bias_gradient = TRUE,
     .fused_norm = TRUE,
     .fused_cross_entropy = TRUE,
     .loss_keeps = LS_LOSS_NOTHING,
     .fused_optimizer = TRUE,
     .expert_sync = TRUE,
     .separate_scaling = TRUE,
     .fused_weight_gradient = TRUE,
     .gradient_placeholders = TRUE,
     .waits_for_tensor = TRUE,
     .source = "SimuMax docs/b200/b200_real_repro_guide.md: Megatron-LM of April 2026 with "
               "TransformerEngine 2.11 (its Triton cross entropy, its placeholders of weight "
               "gradients), tensor, data and pipeline overlap off"},
    {.name = "nemo-2023-04",
     .aliases = "",
     .title = "NeMo 1.17 with Transformer Engine 0.8 (spring of 2023)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH1,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_bias_gradient = TRUE,
     .fused_norm = TRUE,
     .fused_optimizer = TRUE,
     .fused_weight_gradient = TRUE,
     .overlaps_tensor = TRUE,
     .gathers_ahead = TRUE,
     .buckets_first_stage = TRUE,
     .sums_largest_each_pass = TRUE,
     .source =
         "mlcommons/training_results_v3.0 @9f08e30, "
         "NVIDIA_CoreWeave/benchmarks/gpt3/implementations/"
         "pytorch: Dockerfile (NeMo 1.17, TransformerEngine 0.8), requirements.txt (flash_attn "
         "1.0.5), conf/megatron_gpt_config.yaml (gradients and parameters beside the passes); no "
         "parameters in 8 bits, no fused loss"},
    {.name = "nemo-2023",
     .aliases = "",
     .title = "NeMo 1.20 with Transformer Engine of autumn 2023",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH2,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_bias_gradient = TRUE,
     .fused_norm = TRUE,
     .fused_optimizer = TRUE,
     .fused_weight_gradient = TRUE,
     .overlaps_tensor = TRUE,
     .gathers_ahead = TRUE,
     .buckets_first_stage = TRUE,
     .source = "mlcommons/training_results_v3.1 @5b62935, "
               "NVIDIA/benchmarks/gpt3/implementations/pytorch: "
               "Dockerfile (NeMo 1.20, flash-attn 2.0.8); else as nemo-2023-04"},
    {.name = "nemo-2024",
     .aliases = "",
     .title =
         "NeMo 24.03 to 24.07 (Megatron-Core, Transformer Engine 1.5 to 1.8, cuDNN 8.9 and 9.0)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH2,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_bias_gradient = TRUE,
     .fused_norm = TRUE,
     .fused_optimizer = TRUE,
     .fused_weight_gradient = TRUE,
     .overlaps_tensor = TRUE,
     .source =
         "as megatron-core; its attention by train_nvidia_nemo_mbridge.csv, rows "
         "nemo-longseq-LLAMA2-7B: 549 TFLOP/s at 512k tokens, where attention is all, counted "
         "in full (nemo2407-18 and -24 print tokens/s too, which gives what is counted), so "
         "275 of causal ones, FlashAttention 2's rate on H100"},
    {.name = "nemo-2024-09",
     .aliases = "",
     .title = "NeMo 24.09 to 24.12 (Megatron-Core 0.9, Transformer Engine 1.10 and later)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH3,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_bias_gradient = TRUE,
     .fused_norm = TRUE,
     .fused_optimizer = TRUE,
     .fused_weight_gradient = TRUE,
     .overlaps_tensor = TRUE,
     .source =
         "as nemo-2024; its attention by train_reports.csv, rows dgxc-*: Llama 3.1 8B at 8k tokens "
         "is 13 % too slow at FlashAttention 2's rate in bf16 and in fp8, 3 and 0 % at cuDNN's on "
         "Hopper, which Transformer Engine prefers there (get_attention_backend)"},
    {.name = "megatron-bridge",
     .aliases = "nemo-2025",
     .title = "Megatron-Bridge and NeMo 2 of 2025-26 (Megatron-Core, Transformer Engine 2)",
     BRIDGE,
     .source = "NVIDIA-NeMo/Megatron-Bridge @067f987, its performance recipes: cross entropy of "
               "TransformerEngine, tp-comm-overlap, gradient accumulation fusion"},
    {.name = "megatron-bridge-26.06.01",
     .aliases = "",
     .title =
         "Megatron-Bridge of NeMo 26.06.01, whose cuDNN frontend sums biases' gradients slowly",
     BRIDGE,
     .biased_grad_factor = FOUND (155.632 / 1362.768, SLOW_DBIAS),
     .source = "as megatron-bridge; the fault by its release notes of 0.5.1"},
    {.name = "pytorch-fsdp-2.1",
     .aliases = "fsdp composer llm-foundry pytorch-fsdp",
     .title = "PyTorch 2.1 FSDP, eager (Composer, llm-foundry)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.5e-6, GAP),
     .host_launch_s = ASSUMED (8e-6, LAUNCH),
     .host_step_s = ASSUMED (8e-3, STEP),
     .attention = LS_ATTENTION_FLASH1,
     .fused_norm = TRUE,
     .loss_keeps = LS_LOSS_LOGITS,
     .gathers_ahead = TRUE,
     .unit_buckets = TRUE,
     .flat_gradients = TRUE,
     .recompute_stops_early = TRUE,
     .source =
         "llm-foundry @8c8dd48: eager modules, non-reentrant checkpoints, the cross entropy of "
         "flash-attention (which keeps the 16-bit logits alone), its long-sequence rows run at "
         "FlashAttention-1 speed; Composer's DecoupledAdamW is plain tensor code"},
    {.name = "pytorch-fsdp2",
     .aliases = "torchtitan fsdp2",
     .title = "PyTorch 2.5 FSDP2 with torch.compile (torchtitan)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .attention_factor = FOUND (0.94, SDPA),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (5e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH2,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_norm = TRUE,
     .fused_cross_entropy = TRUE,
     .loss_keeps = LS_LOSS_LOGITS,
     .fused_optimizer = TRUE,
     .copies_shards = TRUE,
     .recompute_stops_early = TRUE,
     .gathers_ahead = TRUE,
     .unit_buckets = TRUE,
     .root_stays_gathered = TRUE,
     .posts_all_receives = TRUE,
     .context_gathers = TRUE,
     .separate_maps = TRUE,
     .splits_second = TRUE,
     .scales_each_pass = TRUE,
     .compiled = TRUE,
     .source = "torchtitan: non-reentrant checkpoints, per-block torch.compile, fused AdamW; since "
               "2025 (components/loss.py) the loss is compiled too"},
    {.name = "pytorch-fsdp2-2024",
     .aliases = "torchtitan-2024 fsdp2-2024",
     .title = "PyTorch 2.6 FSDP2 with torch.compile, the loss without (torchtitan of 2024)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .attention_factor = FOUND (0.94, SDPA),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (5e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH2,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_norm = TRUE,
     .loss_keeps = LS_LOSS_LOG_SOFTMAX,
     .fused_optimizer = TRUE,
     .copies_shards = TRUE,
     .recompute_stops_early = TRUE,
     .gathers_ahead = TRUE,
     .unit_buckets = TRUE,
     .root_stays_gathered = TRUE,
     .posts_all_receives = TRUE,
     .context_gathers = TRUE,
     .separate_maps = TRUE,
     .splits_second = TRUE,
     .scales_each_pass = TRUE,
     .context_waits = TRUE,
     .compiled = TRUE,
     .source =
         "torchtitan at 9dec370 (26 December 2024), train.py: \"compiling loss function causes "
         "CUDA errors, turning off for now\"; " CONTEXT_WAITS},
    {.name = "pytorch-fsdp2-async-tp",
     .aliases = "",
     .title = "PyTorch 2.5 FSDP2 with torch.compile and asynchronous tensor parallelism",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .attention_factor = FOUND (0.94, SDPA),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (5e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH2,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_norm = TRUE,
     .fused_cross_entropy = TRUE,
     .loss_keeps = LS_LOSS_LOGITS,
     .fused_optimizer = TRUE,
     .overlaps_tensor = TRUE,
     .copies_shards = TRUE,
     .recompute_stops_early = TRUE,
     .gathers_ahead = TRUE,
     .unit_buckets = TRUE,
     .root_stays_gathered = TRUE,
     .posts_all_receives = TRUE,
     .context_gathers = TRUE,
     .separate_maps = TRUE,
     .splits_second = TRUE,
     .scales_each_pass = TRUE,
     .compiled = TRUE,
     .source = "as pytorch-fsdp2; " ASYNC_TP},
    {.name = "pytorch-fsdp2-2024-async-tp",
     .aliases = "",
     .title = "PyTorch 2.6 FSDP2 of 2024 with asynchronous tensor parallelism",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .attention_factor = FOUND (0.94, SDPA),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (5e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH2,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_norm = TRUE,
     .loss_keeps = LS_LOSS_LOG_SOFTMAX,
     .fused_optimizer = TRUE,
     .overlaps_tensor = TRUE,
     .copies_shards = TRUE,
     .recompute_stops_early = TRUE,
     .gathers_ahead = TRUE,
     .unit_buckets = TRUE,
     .root_stays_gathered = TRUE,
     .posts_all_receives = TRUE,
     .context_gathers = TRUE,
     .separate_maps = TRUE,
     .splits_second = TRUE,
     .scales_each_pass = TRUE,
     .context_waits = TRUE,
     .compiled = TRUE,
     .source = "as pytorch-fsdp2-2024; " ASYNC_TP},
    {.name = "pytorch-fsdp2-eager",
     .aliases =
         "torchtitan-eager fsdp2-eager pytorch-fsdp2-2024-eager pytorch-fsdp2-async-tp-eager "
         "pytorch-fsdp2-2024-async-tp-eager",
     .title = "PyTorch 2.5 FSDP2 without torch.compile (torchtitan)",
     FSDP2_EAGER,
     .source = "torchtitan with torch.compile=False: norms, activations and loss in plain tensor "
               "operations"},
    {.name = "meta-2024",
     .aliases = "",
     .title = "Meta's trainer of Llama 3 (4D parallel)",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH2,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_norm = TRUE,
     .fused_cross_entropy = TRUE,
     .fused_optimizer = TRUE,
     .recompute_stops_early = TRUE,
     .gathers_ahead = TRUE,
     .unit_buckets = TRUE,
     .source = LLAMA3_FUSIONS},
    {.name = "pytorch-fsdp2-2024-04-eager",
     .aliases = "torchtitan-2024-04",
     .title = "PyTorch of April 2024, FSDP2 without torch.compile (torchtitan's first tables)",
     FSDP2_EAGER,
     .fused_norm = TRUE,
     .source = "as pytorch-fsdp2-eager; its presets said norm_type = \"fused_rmsnorm\" until pull "
               "request 297 "
               "(2 May 2024), and its A100 tables came with pull requests 237 and 255 (16 and 18 "
               "April 2024)"},
    {.name = "generic",
     .aliases = "",
     .title = "a current framework with flash attention and the usual fusions",
     .matmul_factor = ASSUMED (1.0, "no correction"),
     .gap_s = ASSUMED (1.0e-6, GAP),
     .host_launch_s = ASSUMED (6e-6, LAUNCH),
     .host_step_s = ASSUMED (5e-3, STEP),
     .attention = LS_ATTENTION_FLASH3,
     .fused_bias_gelu = TRUE,
     .fused_dropout_add = TRUE,
     .fused_norm = TRUE,
     .fused_cross_entropy = TRUE,
     .fused_router = TRUE,
     .fused_dispatch = TRUE,
     .fused_optimizer = TRUE,
     .source = "assumed: the usual fusions of 2024"},
};

guint ls_software_count (void) {
  return G_N_ELEMENTS (generations);
}

const LsSoftware *ls_software_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (generations), "software %u", i);
  return &generations[i];
}

const LsSoftware *ls_software_find (const char *name, GError **error) {
  int row = ls_catalogue_lookup (&ls_software_catalogue, name, error);
  return row < 0 ? NULL : &generations[row];
}

#define WORD_OF(id, word) word,
const char *ls_layer_graphs_name (LsLayerGraphs graphs) {
  static const char *const words[] = {LS_LAYER_GRAPHS (WORD_OF)};

  return words[graphs];
}

/* Gap between kernels of one graph / of one stream: 2.9 us kernels end every 3.4 us from a graph and every 3.8
 * us from a stream. source: NVIDIA developer blog, "Getting Started with CUDA Graphs" (2019); recalled. */
#define GRAPH_GAP (0.5 / 0.9)

static LsSoftware changed (const LsSoftware *software, LsSoftwareChoice choice) {
  LsSoftware row = *software;

  if (choice.compiled == 1)
    row.compiled = row.fused_bias_gelu = row.fused_dropout_add = row.fused_norm =
        row.fused_cross_entropy = TRUE;
  if (choice.compiled == 1 && row.loss_keeps == LS_LOSS_LOG_SOFTMAX)
    row.loss_keeps = LS_LOSS_LOGITS;
  if (choice.cuda_graphs >= 0) {
    if (choice.cuda_graphs == 1 && !row.cuda_graphs)
      row.gap_s.value *= GRAPH_GAP;
    row.cuda_graphs = choice.cuda_graphs == 1;
  }
  if (choice.fused_optimizer >= 0)
    row.fused_optimizer = choice.fused_optimizer == 1;
  if (choice.expert_sync >= 0)
    row.expert_sync = choice.expert_sync == 1;
  row.layer_graphs = MAX (row.layer_graphs, choice.layer_graphs);
  return row;
}

typedef struct {
  const LsSoftware *base;
  LsSoftwareChoice choice;
  LsSoftware row;
} Changed;

const LsSoftware *ls_software_with (const LsSoftware *software, LsSoftwareChoice choice) {
  static GMutex lock;
  static GPtrArray *made; /* Changed, never freed: rows are static to everybody else */
  const LsSoftware *row = NULL;

  if (choice.compiled == 0 && software->compiled) {
    g_autofree char *eager = g_strconcat (software->name, "-eager", NULL);

    software = ls_software_find (eager, NULL);
    LS_REQUIRE (software != NULL, "no row %s", eager);
  }
  g_mutex_lock (&lock);
  if (made == NULL)
    made = g_ptr_array_new ();
  for (guint i = 0; row == NULL && i < made->len; i++) {
    const Changed *other = made->pdata[i];

    if (other->base == software && other->choice.cuda_graphs == choice.cuda_graphs &&
        other->choice.compiled == choice.compiled &&
        other->choice.fused_optimizer == choice.fused_optimizer &&
        other->choice.expert_sync == choice.expert_sync &&
        other->choice.layer_graphs == choice.layer_graphs)
      row = &other->row;
  }
  if (row == NULL) {
    Changed *other = g_new0 (Changed, 1);

    *other = (Changed){.base = software, .choice = choice, .row = changed (software, choice)};
    g_ptr_array_add (made, other);
    row = &other->row;
  }
  g_mutex_unlock (&lock);
  return row;
}
