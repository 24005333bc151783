/* The table of model presets, with the parameter count that its source prints.
 *
 * Rows are written through one macro per family: what a family shares stands once.
 *   GPT      LayerNorm, GeLU, biases, dropout, learned positions, tied embeddings, f = 4 h
 *   OPT      as GPT, with two more positions than its context
 *   MPT      as GPT without dropout (its training recipes set it to 0)
 *   LLAMA    RMSNorm, SwiGLU, rotary positions, untied embeddings, no biases, no dropout
 *   QWEN2, QWEN3, MIXTRAL, LLAMA4, DEEPSEEK   as LLAMA, with what the macro adds
 * Counts with tolerance 0 are those of the released checkpoints to the last parameter; others are printed
 * with so many digits as the tolerance says.
 */
#include "train/model/dlrm.h"
#include "train/model/models.h"
#include "train/model/resnet.h"

#define GPT(l, h, a, v, s)                                                              \
  {                                                                                     \
    .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (a), .head_dim = (h) / (a), \
    .ffn = 4 * (h), .vocab = (v), .max_seq = (s), .tied_embeddings = TRUE,              \
    .learned_positions = TRUE, .biases = TRUE, .dropout = TRUE, .causal = TRUE          \
  }

#define MPT(l, h, a)                                                                    \
  {                                                                                     \
    .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (a), .head_dim = (h) / (a), \
    .ffn = 4 * (h), .vocab = 50368, .max_seq = 2048, .tied_embeddings = TRUE,           \
    .learned_positions = TRUE, .biases = TRUE, .causal = TRUE                           \
  }

#define LLAMA(l, h, a, kv, f, v, s)                                                            \
  {                                                                                            \
    .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (kv), .head_dim = (h) / (a),       \
    .ffn = (f), .vocab = (v), .max_seq = (s), .gated = TRUE, .rms_norm = TRUE, .rotary = TRUE, \
    .causal = TRUE                                                                             \
  }

#define OPT(l, h, a)                                                                     \
  {                                                                                      \
    .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (a), .head_dim = (h) / (a),  \
    .ffn = 4 * (h), .vocab = 50272, .max_seq = 2048, .extra_parameters = 2 * (h),        \
    .tied_embeddings = TRUE, .learned_positions = TRUE, .biases = TRUE, .dropout = TRUE, \
    .causal = TRUE                                                                       \
  }

/* What Llama's descendants share; sizes follow in the row. */
#define LLAMA_LIKE(l, h, a, kv, v, s)                                                  \
  .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (kv), .head_dim = (h) / (a), \
  .vocab = (v), .max_seq = (s), .gated = TRUE, .rms_norm = TRUE, .rotary = TRUE, .causal = TRUE

#define QWEN2(l, h, a, kv, f, v, tied) \
  { LLAMA_LIKE (l, h, a, kv, v, 32768), .ffn = (f), .tied_embeddings = (tied), .qkv_biases = TRUE }

#define QWEN3(l, h, a, kv, f)                                                                  \
  {                                                                                            \
    .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (kv), .head_dim = 128, .ffn = (f), \
    .vocab = 151936, .max_seq = 40960, .gated = TRUE, .rms_norm = TRUE, .rotary = TRUE,        \
    .causal = TRUE, .qk_norm = TRUE                                                            \
  }

#define QWEN3_MOE(l, h, a, kv, f, w)                                                           \
  {                                                                                            \
    .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (kv), .head_dim = 128, .ffn = (f), \
    .vocab = 151936, .max_seq = 40960, .gated = TRUE, .rms_norm = TRUE, .rotary = TRUE,        \
    .causal = TRUE, .qk_norm = TRUE, .experts = {                                              \
      .count = 128,                                                                            \
      .top_k = 8,                                                                              \
      .ffn = (w)                                                                               \
    }                                                                                          \
  }

/* Router biases and attention sinks are the extra parameters. What the card calls active (5.13 and 3.61 G) leaves out
 * the embedding, which ls_model_active_parameters() counts. */
#define GPT_OSS(l, e)                                                                              \
  {                                                                                                \
    .layers = (l), .hidden = 2880, .heads = 64, .kv_heads = 8, .head_dim = 64, .ffn = 2880,        \
    .vocab = 201088, .max_seq = 131072, .gated = TRUE, .rms_norm = TRUE, .rotary = TRUE,           \
    .biases = TRUE, .causal = TRUE, .window = 128, .full_every = 2, .yarn = TRUE, .clamped = TRUE, \
    .extra_parameters = (l) * ((e) + 64), .experts = {                                             \
      .count = (e),                                                                                \
      .top_k = 4,                                                                                  \
      .ffn = 2880                                                                                  \
    }                                                                                              \
  }

#define MIXTRAL(l, h, a, kv, f, v, s)                                                            \
  {                                                                                              \
    LLAMA_LIKE (l, h, a, kv, v, s), .ffn = (f), .experts = {.count = 8, .top_k = 2, .ffn = (f) } \
  }

/* Text alone. Attention in chunks of 8,192 tokens in three of four blocks is taken as a window: the same up to as many tokens,
 * twice the keys beyond. Without what has no parameters: norms of queries and keys (Scout's), scores of a sigmoid. */
#define LLAMA4(experts_, step, s)                                                           \
  {                                                                                         \
    LLAMA_LIKE (48, 5120, 40, 8, 202048, s), .ffn = 16384, .window = 8192, .full_every = 4, \
                                             .experts = {                                   \
                                               .count = (experts_),                         \
                                               .top_k = 1,                                  \
                                               .ffn = 8192,                                 \
                                               .shared_ffn = 8192,                          \
                                               .every = (step)                              \
                                             }                                              \
  }

/* Group-limited routing: DeepSeek-V2, section 2.2.2 (8 groups, 3 of them), V3, section 2.1.2 (8, 4); config.json (n_group,
 * topk_group), where V2-Lite and Kimi K2 have one. Sizes of dense MLP, of one expert, of all shared ones together. */
#define DEEPSEEK(l, h, a, f, v, s, q, dense, e, k, w, shared, bias, parts, chosen)                 \
  {                                                                                                \
    .layers = (l), .hidden = (h), .heads = (a), .kv_heads = (a), .head_dim = 192, .ffn = (f),      \
    .vocab = (v), .max_seq = (s), .gated = TRUE, .rms_norm = TRUE, .rotary = TRUE, .causal = TRUE, \
    .latent = {.q_rank = (q), .kv_rank = 512, .nope = 128, .rope = 64, .value = 128}, .experts = { \
      .count = (e),                                                                                \
      .top_k = (k),                                                                                \
      .ffn = (w),                                                                                  \
      .groups = (parts),                                                                           \
      .top_groups = (chosen),                                                                      \
      .shared_ffn = (shared),                                                                      \
      .dense_first = (dense),                                                                      \
      .selection_bias = (bias)                                                                     \
    }                                                                                              \
  }

#define GPT2_SOURCE "Radford et al. 2019; sizes and counts of the released checkpoints"
#define SC21_SOURCE "Narayanan et al., SC21 (arXiv 2104.04473), table 1"
#define MPT_SOURCE                                                                               \
  "MosaicML llm-foundry, scripts/train/benchmarking; rows printed at 65,536 positions less the " \
  "positions above 2,048"
#define LLAMA2_SOURCE "Touvron et al. 2023 and config.json of the released checkpoint"
#define LLAMA3_SOURCE "Llama team 2024 and config.json of the released checkpoint"
#define LLAMA4_SOURCE                                                                           \
  "config.json of the released checkpoint (text_config) and its count less the 871,932,416 of " \
  "images; torchtitan, models/llama4 (17bx16e, 17bx128e)"
#define GPT3_SOURCE \
  "Brown et al. 2020, table 2.1 (all attention dense), with GPT-2's vocabulary; digits as printed"
#define OPT_SOURCE \
  "Zhang et al. 2022 (arXiv 2205.01068), table 1 and config.json of the released checkpoint"
#define QWEN2_SOURCE "Qwen2.5 report (arXiv 2412.15115) and config.json of the released checkpoint"
#define QWEN3_SOURCE \
  "Qwen3 report (arXiv 2505.09388), tables 1 and 2, and config.json of the released checkpoint"
#define GPT_OSS_SOURCE                                                                    \
  "OpenAI 2025, gpt-oss model card (arXiv 2508.10925), table 1 (116.83 and 20.91 G) and " \
  "config.json of the released checkpoints"
#define RESNET_SOURCE "He et al. 2016; torchvision's count of parameters"

const LsModelPreset ls_model_rows[] = {
    {"gpt2-small", "GPT-2 124M", GPT (12, 768, 12, 50257, 1024), NULL, 124439808, 0,
     .source = GPT2_SOURCE},
    {"gpt2-medium", "GPT-2 355M", GPT (24, 1024, 16, 50257, 1024), NULL, 354823168, 0,
     .source = GPT2_SOURCE},
    {"gpt2-large", "GPT-2 774M", GPT (36, 1280, 20, 50257, 1024), NULL, 774030080, 0,
     .source = GPT2_SOURCE},
    {"gpt2-xl", "GPT-2 1.5B", GPT (48, 1600, 25, 50257, 1024), NULL, 1557611200, 0,
     .source = GPT2_SOURCE},
    {"gpt-1.7b", "Megatron GPT 1.7B", GPT (24, 2304, 24, 51200, 2048), NULL, 1.7e9, 0.03,
     .source = SC21_SOURCE},
    {"gpt-3.6b", "Megatron GPT 3.6B", GPT (30, 3072, 32, 51200, 2048), NULL, 3.6e9, 0.02,
     .source = SC21_SOURCE},
    {"gpt-7.5b", "Megatron GPT 7.5B", GPT (36, 4096, 32, 51200, 2048), NULL, 7.5e9, 0.007,
     .source = SC21_SOURCE},
    {"gpt-18.4b", "Megatron GPT 18.4B", GPT (40, 6144, 48, 51200, 2048), NULL, 18.4e9, 0.003,
     .source = SC21_SOURCE},
    {"gpt-39.1b", "Megatron GPT 39.1B", GPT (48, 8192, 64, 51200, 2048), NULL, 39.1e9, 0.0015,
     .source = SC21_SOURCE},
    {"gpt-76.1b", "Megatron GPT 76.1B", GPT (60, 10240, 80, 51200, 2048), NULL, 76.1e9, 0.001,
     .source = SC21_SOURCE},
    {"gpt-145.6b", "Megatron GPT 145.6B", GPT (80, 12288, 96, 51200, 2048), NULL, 145.6e9, 0.0005,
     .source = SC21_SOURCE},
    {"gpt3-175b", "GPT-3 175B as Megatron trains it", GPT (96, 12288, 96, 51200, 2048), NULL,
     174.6e9, 0.0005, .source = "Narayanan et al., SC21, table 2; sizes from Brown et al. 2020"},
    {"gpt-310.1b", "Megatron GPT 310.1B", GPT (96, 16384, 128, 51200, 2048), NULL, 310.1e9, 0.0003,
     .source = SC21_SOURCE},
    {"gpt-529.6b", "Megatron-Turing NLG 530B", GPT (105, 20480, 128, 51200, 2048), NULL, 529.6e9,
     0.0002, .source = SC21_SOURCE},
    {"gpt-1008b", "Megatron GPT 1T", GPT (128, 25600, 160, 51200, 2048), NULL, 1008e9, 0.0005,
     .source = SC21_SOURCE},
    {"gpt-22b", "Megatron GPT 22B", GPT (48, 6144, 64, 51200, 2048), NULL, 22e9, 0.01,
     .source = "Korthikanti et al. 2022 (arXiv 2205.05198), table 3"},
    {"bert-large",
     "BERT large",
     {.layers = 24,
      .hidden = 1024,
      .heads = 16,
      .kv_heads = 16,
      .head_dim = 64,
      .ffn = 4096,
      .vocab = 30522,
      .max_seq = 512,
      .tied_embeddings = TRUE,
      .learned_positions = TRUE,
      .biases = TRUE,
      .dropout = TRUE,
      /* two segments, pooler, transform and bias of the masked head, next-sentence head */
      .extra_parameters = 2 * 1024 + 2 * (1024 * 1024 + 1024) + 2 * 1024 + 30522 + 2 * 1024 + 2},
     NULL,
     336226108,
     0,
     .source =
         "Devlin et al. 2019 (prints 340M); count of the released checkpoint with both heads"},
    {"mpt-125m", "MPT 125M", MPT (12, 768, 12), NULL, 125311488, 0, .source = MPT_SOURCE},
    {"mpt-350m", "MPT 350M", MPT (24, 1024, 16), NULL, 355985408, 0, .source = MPT_SOURCE},
    {"mpt-760m", "MPT 760M", MPT (24, 1536, 12), NULL, 760.471e6, 1e-5, .source = MPT_SOURCE},
    {"mpt-1b", "MPT 1B", MPT (24, 2048, 16), NULL, 1315.950592e6, 1e-5, .source = MPT_SOURCE},
    {"mpt-3b", "MPT 3B", MPT (32, 2560, 20), NULL, 2651.837e6, 1e-5, .source = MPT_SOURCE},
    {"mpt-7b", "MPT 7B", MPT (32, 4096, 32), NULL, 6658.859e6, 1e-5, .source = MPT_SOURCE},
    {"mpt-13b", "MPT 13B", MPT (40, 5120, 40), NULL, 12853.955e6, 1e-5, .source = MPT_SOURCE},
    {"mpt-30b", "MPT 30B", MPT (48, 7168, 56), NULL, 29975.214e6, 1e-5, .source = MPT_SOURCE},
    {"mpt-70b", "MPT 70B", MPT (80, 8192, 64), NULL, 64862.437e6, 1e-5, .source = MPT_SOURCE},
    {"bloom-176b",
     "BLOOM 176B",
     {.layers = 70,
      .hidden = 14336,
      .heads = 112,
      .kv_heads = 112,
      .head_dim = 128,
      .ffn = 57344,
      .vocab = 250880,
      .max_seq = 2048,
      .tied_embeddings = TRUE,
      .biases = TRUE,
      .causal = TRUE,
      .embedding_norm = TRUE},
     NULL,
     176247271424,
     0,
     .source = "config.json of the released checkpoint; BigScience 2022 (arXiv 2211.05100) prints "
               "176,247,271,424"},
    {"llama-7b", "Llama 7B", LLAMA (32, 4096, 32, 32, 11008, 32000, 2048), NULL, 6738415616, 0,
     .source = "Touvron et al. 2023, table 2"},
    {"llama2-7b", "Llama 2 7B", LLAMA (32, 4096, 32, 32, 11008, 32000, 4096), NULL, 6738415616, 0,
     .source = LLAMA2_SOURCE},
    {"llama2-13b", "Llama 2 13B", LLAMA (40, 5120, 40, 40, 13824, 32000, 4096), NULL, 13015864320,
     0, .source = LLAMA2_SOURCE},
    {"llama2-70b", "Llama 2 70B", LLAMA (80, 8192, 64, 8, 28672, 32000, 4096), NULL, 68976648192, 0,
     .source = LLAMA2_SOURCE},
    {"llama3-8b", "Llama 3 8B", LLAMA (32, 4096, 32, 8, 14336, 128256, 8192), NULL, 8030261248, 0,
     .source = LLAMA3_SOURCE},
    {"llama3-70b", "Llama 3 70B", LLAMA (80, 8192, 64, 8, 28672, 128256, 8192), NULL, 70553706496,
     0, .source = LLAMA3_SOURCE},
    {"llama3-405b", "Llama 3.1 405B", LLAMA (126, 16384, 128, 8, 53248, 128256, 8192), NULL,
     405853388800, 0, .source = LLAMA3_SOURCE},
    {"mistral-7b", "Mistral 7B v0.3", LLAMA (32, 4096, 32, 8, 14336, 32768, 32768), NULL,
     7248023552, 0, .source = "Jiang et al. 2023 and config.json of the released checkpoint"},
    {"gpt3-125m", "GPT-3 small", GPT (12, 768, 12, 50257, 2048), NULL, 125e6, 0.004,
     .source = GPT3_SOURCE},
    {"gpt3-350m", "GPT-3 medium", GPT (24, 1024, 16, 50257, 2048), NULL, 350e6, 0.02,
     .source = GPT3_SOURCE},
    {"gpt3-760m", "GPT-3 large", GPT (24, 1536, 16, 50257, 2048), NULL, 760e6, 0.001,
     .source = GPT3_SOURCE},
    {"gpt3-1.3b", "GPT-3 XL, 16 heads of 128 (the table's 24 do not fit its width)",
     GPT (24, 2048, 16, 50257, 2048), NULL, 1.3e9, 0.02, .source = GPT3_SOURCE},
    {"gpt3-2.7b", "GPT-3 2.7B", GPT (32, 2560, 32, 50257, 2048), NULL, 2.7e9, 0.02,
     .source = GPT3_SOURCE},
    {"gpt3-6.7b", "GPT-3 6.7B", GPT (32, 4096, 32, 50257, 2048), NULL, 6.7e9, 0.01,
     .source = GPT3_SOURCE},
    {"gpt3-13b", "GPT-3 13B, width 5120 (40 heads of 128; the table prints 5140)",
     GPT (40, 5120, 40, 50257, 2048), NULL, 13e9, 0.012, .source = GPT3_SOURCE},
    {"opt-125m", "OPT 125M", OPT (12, 768, 12), NULL, 125239296, 0, .source = OPT_SOURCE},
    {"opt-1.3b", "OPT 1.3B", OPT (24, 2048, 32), NULL, 1315758080, 0, .source = OPT_SOURCE},
    {"opt-2.7b", "OPT 2.7B", OPT (32, 2560, 32), NULL, 2651596800, 0, .source = OPT_SOURCE},
    {"opt-6.7b", "OPT 6.7B", OPT (32, 4096, 32), NULL, 6658473984, 0, .source = OPT_SOURCE},
    {"opt-13b", "OPT 13B", OPT (40, 5120, 40), NULL, 12853473280, 0, .source = OPT_SOURCE},
    {"opt-30b", "OPT 30B", OPT (48, 7168, 56), NULL, 29974540288, 0, .source = OPT_SOURCE},
    {"opt-66b", "OPT 66B", OPT (64, 9216, 72), NULL, 65719701504, 0, .source = OPT_SOURCE},
    {"opt-175b", "OPT 175B", OPT (96, 12288, 96), NULL, 175e9, 0.003, .source = OPT_SOURCE},
    {"llama-13b", "Llama 13B", LLAMA (40, 5120, 40, 40, 13824, 32000, 2048), NULL, 13015864320, 0,
     .source = "Touvron et al. 2023, table 2"},
    {"llama-33b", "Llama 33B", LLAMA (60, 6656, 52, 52, 17920, 32000, 2048), NULL, 32528943616, 0,
     .source = "Touvron et al. 2023, table 2"},
    {"llama-65b", "Llama 65B", LLAMA (80, 8192, 64, 64, 22016, 32000, 2048), NULL, 65285660672, 0,
     .source = "Touvron et al. 2023, table 2"},
    {"llama3.1-8b", "Llama 3.1 8B", LLAMA (32, 4096, 32, 8, 14336, 128256, 131072), NULL,
     8030261248, 0, .source = LLAMA3_SOURCE},
    {"llama3.1-70b", "Llama 3.1 70B", LLAMA (80, 8192, 64, 8, 28672, 128256, 131072), NULL,
     70553706496, 0, .source = LLAMA3_SOURCE},
    {"llama3.1-405b", "Llama 3.1 405B", LLAMA (126, 16384, 128, 8, 53248, 128256, 131072), NULL,
     405853388800, 0, .source = LLAMA3_SOURCE},
    {"llama3.2-1b",
     "Llama 3.2 1B",
     {LLAMA_LIKE (16, 2048, 32, 8, 128256, 131072), .ffn = 8192, .tied_embeddings = TRUE},
     NULL,
     1235814400,
     0,
     .source = "config.json of the released checkpoint"},
    {"llama3.2-3b",
     "Llama 3.2 3B",
     {LLAMA_LIKE (28, 3072, 24, 8, 128256, 131072), .ffn = 8192, .tied_embeddings = TRUE},
     NULL,
     3212749824,
     0,
     .source = "config.json of the released checkpoint"},
    {"qwen2.5-0.5b", "Qwen 2.5 0.5B", QWEN2 (24, 896, 14, 2, 4864, 151936, TRUE), NULL, 494032768,
     0, .source = QWEN2_SOURCE},
    {"qwen2.5-1.5b", "Qwen 2.5 1.5B", QWEN2 (28, 1536, 12, 2, 8960, 151936, TRUE), NULL, 1543714304,
     0, .source = QWEN2_SOURCE},
    {"qwen2.5-3b", "Qwen 2.5 3B", QWEN2 (36, 2048, 16, 2, 11008, 151936, TRUE), NULL, 3085938688, 0,
     .source = QWEN2_SOURCE},
    {"qwen2.5-7b", "Qwen 2.5 7B", QWEN2 (28, 3584, 28, 4, 18944, 152064, FALSE), NULL, 7615616512,
     0, .source = QWEN2_SOURCE},
    {"qwen2.5-14b", "Qwen 2.5 14B", QWEN2 (48, 5120, 40, 8, 13824, 152064, FALSE), NULL,
     14770033664, 0, .source = QWEN2_SOURCE},
    {"qwen2.5-32b", "Qwen 2.5 32B", QWEN2 (64, 5120, 40, 8, 27648, 152064, FALSE), NULL,
     32763876352, 0, .source = QWEN2_SOURCE},
    {"qwen2.5-72b", "Qwen 2.5 72B", QWEN2 (80, 8192, 64, 8, 29568, 152064, FALSE), NULL,
     72706203648, 0, .source = QWEN2_SOURCE},
    {"qwen3-8b", "Qwen 3 8B", QWEN3 (36, 4096, 32, 8, 12288), NULL, 8190735360, 0,
     .source = QWEN3_SOURCE},
    {"qwen3-14b", "Qwen 3 14B", QWEN3 (40, 5120, 40, 8, 17408), NULL, 14768307200, 0,
     .source = QWEN3_SOURCE},
    {"qwen3-32b", "Qwen 3 32B", QWEN3 (64, 5120, 64, 8, 25600), NULL, 32762123264, 0,
     .source = QWEN3_SOURCE},
    {"mixtral-8x7b", "Mixtral 8x7B", MIXTRAL (32, 4096, 32, 8, 14336, 32000, 32768), NULL,
     46702792704, 0,
     "Jiang et al. 2024 (arXiv 2401.04088) and config.json of the released checkpoint", 12.9e9,
     0.004},
    {"mixtral-8x22b", "Mixtral 8x22B v0.1", MIXTRAL (56, 6144, 48, 8, 16384, 32000, 65536), NULL,
     140620634112, 0, "announcement of 2024-04-17 and config.json of the released checkpoint", 39e9,
     0.012},
    {"dbrx",
     "DBRX 132B",
     {LLAMA_LIKE (40, 6144, 48, 8, 100352, 32768), .ffn = 10752,
      .experts = {.count = 16, .top_k = 4, .ffn = 10752}},
     NULL,
     132e9,
     0.004,
     "announcement of 2024-03-27 and config.json; its LayerNorms without biases are taken as "
     "RMSNorm",
     36e9,
     0.02},
    {"qwen1.5-moe-a2.7b",
     "Qwen 1.5 MoE A2.7B",
     {LLAMA_LIKE (24, 2048, 16, 16, 151936, 8192), .ffn = 5632, .qkv_biases = TRUE,
      .experts = {.count = 60, .top_k = 4, .ffn = 1408, .shared_ffn = 5632, .shared_gate = TRUE}},
     NULL,
     14315784192,
     0,
     "announcement of 2024-03-28 and config.json of the released checkpoint",
     2.7e9,
     0.02},
    {"qwen2-57b-a14b",
     "Qwen 2 57B A14B",
     {LLAMA_LIKE (28, 3584, 28, 4, 151936, 32768), .ffn = 18944, .qkv_biases = TRUE,
      .experts = {.count = 64, .top_k = 8, .ffn = 2560, .shared_ffn = 20480, .shared_gate = TRUE}},
     NULL,
     57.4e9,
     0.001,
     "Qwen2 report (arXiv 2407.10671), table 1, and config.json of the released checkpoint",
     14e9,
     0.02},
    {"qwen3-30b-a3b", "Qwen 3 30B A3B", QWEN3_MOE (48, 2048, 32, 4, 6144, 768), NULL, 30532122624,
     0, QWEN3_SOURCE, 3.3e9, 0.02},
    {"qwen3-235b-a22b", "Qwen 3 235B A22B", QWEN3_MOE (94, 4096, 64, 4, 12288, 1536), NULL,
     235093634560, 0, QWEN3_SOURCE, 22e9, 0.01},
    {"gpt-oss-20b", "GPT-OSS 20B", GPT_OSS (24, 32), NULL, 20914757184, 0, GPT_OSS_SOURCE,
     3.61e9 + 201088.0 * 2880, 0.002},
    {"gpt-oss-120b", "GPT-OSS 120B", GPT_OSS (36, 128), NULL, 116829156672, 0, GPT_OSS_SOURCE,
     5.13e9 + 201088.0 * 2880, 0.002},
    {"llama4-scout", "Llama 4 Scout 17B 16E", LLAMA4 (16, 1, 10485760), NULL, 107769861120, 0,
     LLAMA4_SOURCE, 17e9, 0.015},
    {"llama4-maverick", "Llama 4 Maverick 17B 128E", LLAMA4 (128, 2, 1048576), NULL, 400711848960,
     0, LLAMA4_SOURCE, 17e9, 0.015},
    {"deepseek-v2-lite", "DeepSeek-V2-Lite",
     DEEPSEEK (27, 2048, 16, 10944, 102400, 32768, 0, 1, 64, 6, 1408, 2 * 1408, FALSE, 1, 1), NULL,
     15706484224, 0, "DeepSeek-V2 (arXiv 2405.04434), appendix B, and config.json", 2.4e9, 0.11},
    {"deepseek-v2", "DeepSeek-V2",
     DEEPSEEK (60, 5120, 128, 12288, 102400, 131072, 1536, 1, 160, 6, 1536, 2 * 1536, FALSE, 8, 3),
     NULL, 235741434880, 0, "DeepSeek-V2 (arXiv 2405.04434), section 3.1, and config.json", 21e9,
     0.02},
    {"deepseek-v3", "DeepSeek-V3",
     DEEPSEEK (61, 7168, 128, 18432, 129280, 131072, 1536, 3, 256, 8, 2048, 2048, TRUE, 8, 4), NULL,
     671026419200, 0,
     "DeepSeek-V3 (arXiv 2412.19437), section 4.2, and config.json; without its "
     "module of multi-token prediction",
     37e9, 0.02},
    {"kimi-k2", "Kimi K2",
     DEEPSEEK (61, 7168, 64, 18432, 163840, 131072, 1536, 1, 384, 8, 2048, 2048, TRUE, 1, 1), NULL,
     1026408232448, 0, "Kimi K2 report (arXiv 2507.20534), table 2, and config.json", 32.6e9, 0.01},
    {"vit-l-16",
     "ViT-L/16, 224 x 224, 1000 classes",
     {.layers = 24,
      .hidden = 1024,
      .heads = 16,
      .kv_heads = 16,
      .head_dim = 64,
      .ffn = 4096,
      .vocab = 1000,
      .max_seq = 197,
      .patch = 768,
      .learned_positions = TRUE,
      .biases = TRUE,
      .extra_parameters = 1024 /* the class token */},
     NULL,
     304326632,
     0,
     .source = "Dosovitskiy et al. 2021; torchvision's count of vit_l_16"},
    {"resnet-50",
     "ResNet-50, 224 x 224, 1000 classes",
     {0},
     ls_resnet_50_new,
     25557032,
     0,
     .source = RESNET_SOURCE},
    {"resnet-101",
     "ResNet-101, 224 x 224, 1000 classes",
     {0},
     ls_resnet_101_new,
     44549160,
     0,
     .source = RESNET_SOURCE},
    {"resnet-152",
     "ResNet-152, 224 x 224, 1000 classes",
     {0},
     ls_resnet_152_new,
     60192808,
     0,
     .source = RESNET_SOURCE},
    {"dlrm-mlperf",
     "DLRM of MLPerf Training v0.7 to v2.1 (Criteo 1 TB)",
     {0},
     ls_dlrm_new,
     24036595969.0,
     0,
     .source = "Naumov et al. 2019; MLPerf's recommendation reference: 187,767,399 rows of 128 and "
               "2,368,897 weights of its MLPs"},
    {"mlp-mnist",
     "Two hidden layers of 1,024 on 28 x 28 pixels, 10 classes",
     {0},
     ls_mlp_mnist_new,
     1863690,
     0,
     .source = "784 x 1024 + 1024 + 1024 x 1024 + 1024 + 1024 x 10 + 10"},
};

const guint ls_model_row_count = G_N_ELEMENTS (ls_model_rows);
