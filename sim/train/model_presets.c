/* The table of model presets, with the parameter count that its source prints.
 *
 * Rows are written through one macro per family: what a family shares stands once.
 *   GPT      LayerNorm, GeLU, biases, dropout, learned positions, tied embeddings, f = 4 h
 *   MPT      as GPT without dropout (its training recipes set it to 0)
 *   LLAMA    RMSNorm, SwiGLU, rotary positions, untied embeddings, no biases, no dropout
 * Left out: mixtures of experts; the tables of other tasks' heads.
 */
#include "train/models.h"

#include "base/distance.h"
#include "base/error.h"
#include "train/resnet.h"

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

#define GPT2_SOURCE "Radford et al. 2019; sizes and counts of the released checkpoints"
#define SC21_SOURCE "Narayanan et al., SC21 (arXiv 2104.04473), table 1"
#define MPT_SOURCE                                                                               \
  "MosaicML llm-foundry, scripts/train/benchmarking; rows printed at 65,536 positions less the " \
  "positions above 2,048"
#define LLAMA2_SOURCE "Touvron et al. 2023 and config.json of the released checkpoint"
#define LLAMA3_SOURCE "Llama team 2024 and config.json of the released checkpoint"
#define RESNET_SOURCE "He et al. 2016; torchvision's count of parameters"

static const LsModelPreset presets[] = {
    {"gpt2-small", "GPT-2 124M", GPT (12, 768, 12, 50257, 1024), NULL, 124439808, 0, GPT2_SOURCE},
    {"gpt2-medium", "GPT-2 355M", GPT (24, 1024, 16, 50257, 1024), NULL, 354823168, 0, GPT2_SOURCE},
    {"gpt2-large", "GPT-2 774M", GPT (36, 1280, 20, 50257, 1024), NULL, 774030080, 0, GPT2_SOURCE},
    {"gpt2-xl", "GPT-2 1.5B", GPT (48, 1600, 25, 50257, 1024), NULL, 1557611200, 0, GPT2_SOURCE},
    {"gpt-1.7b", "Megatron GPT 1.7B", GPT (24, 2304, 24, 51200, 2048), NULL, 1.7e9, 0.03,
     SC21_SOURCE},
    {"gpt-3.6b", "Megatron GPT 3.6B", GPT (30, 3072, 32, 51200, 2048), NULL, 3.6e9, 0.02,
     SC21_SOURCE},
    {"gpt-7.5b", "Megatron GPT 7.5B", GPT (36, 4096, 32, 51200, 2048), NULL, 7.5e9, 0.007,
     SC21_SOURCE},
    {"gpt-18.4b", "Megatron GPT 18.4B", GPT (40, 6144, 48, 51200, 2048), NULL, 18.4e9, 0.003,
     SC21_SOURCE},
    {"gpt-39.1b", "Megatron GPT 39.1B", GPT (48, 8192, 64, 51200, 2048), NULL, 39.1e9, 0.0015,
     SC21_SOURCE},
    {"gpt-76.1b", "Megatron GPT 76.1B", GPT (60, 10240, 80, 51200, 2048), NULL, 76.1e9, 0.001,
     SC21_SOURCE},
    {"gpt-145.6b", "Megatron GPT 145.6B", GPT (80, 12288, 96, 51200, 2048), NULL, 145.6e9, 0.0005,
     SC21_SOURCE},
    {"gpt3-175b", "GPT-3 175B as Megatron trains it", GPT (96, 12288, 96, 51200, 2048), NULL,
     174.6e9, 0.0005, "Narayanan et al., SC21, table 2; sizes from Brown et al. 2020"},
    {"gpt-310.1b", "Megatron GPT 310.1B", GPT (96, 16384, 128, 51200, 2048), NULL, 310.1e9, 0.0003,
     SC21_SOURCE},
    {"gpt-529.6b", "Megatron-Turing NLG 530B", GPT (105, 20480, 128, 51200, 2048), NULL, 529.6e9,
     0.0002, SC21_SOURCE},
    {"gpt-1008b", "Megatron GPT 1T", GPT (128, 25600, 160, 51200, 2048), NULL, 1008e9, 0.0005,
     SC21_SOURCE},
    {"gpt-22b", "Megatron GPT 22B", GPT (48, 6144, 64, 51200, 2048), NULL, 22e9, 0.01,
     "Korthikanti et al. 2022 (arXiv 2205.05198), table 3"},
    {"bert-large",
     "BERT large (trunk, embedding and tied output)",
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
      .dropout = TRUE},
     NULL,
     340e6,
     0.02,
     "Devlin et al. 2019; segment embeddings and pooler left out"},
    {"mpt-125m", "MPT 125M", MPT (12, 768, 12), NULL, 125311488, 0, MPT_SOURCE},
    {"mpt-350m", "MPT 350M", MPT (24, 1024, 16), NULL, 355985408, 0, MPT_SOURCE},
    {"mpt-760m", "MPT 760M", MPT (24, 1536, 12), NULL, 760.471e6, 1e-5, MPT_SOURCE},
    {"mpt-1b", "MPT 1B", MPT (24, 2048, 16), NULL, 1315.950592e6, 1e-5, MPT_SOURCE},
    {"mpt-3b", "MPT 3B", MPT (32, 2560, 20), NULL, 2651.837e6, 1e-5, MPT_SOURCE},
    {"mpt-7b", "MPT 7B", MPT (32, 4096, 32), NULL, 6658.859e6, 1e-5, MPT_SOURCE},
    {"mpt-13b", "MPT 13B", MPT (40, 5120, 40), NULL, 12853.955e6, 1e-5, MPT_SOURCE},
    {"mpt-30b", "MPT 30B", MPT (48, 7168, 56), NULL, 29975.214e6, 1e-5, MPT_SOURCE},
    {"mpt-70b", "MPT 70B", MPT (80, 8192, 64), NULL, 64862.437e6, 1e-5, MPT_SOURCE},
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
      .causal = TRUE},
     NULL,
     176247271424,
     1e-6,
     "config.json of the released checkpoint; embedding norm left out"},
    {"llama-7b", "Llama 7B", LLAMA (32, 4096, 32, 32, 11008, 32000, 2048), NULL, 6738415616, 0,
     "Touvron et al. 2023, table 2"},
    {"llama2-7b", "Llama 2 7B", LLAMA (32, 4096, 32, 32, 11008, 32000, 4096), NULL, 6738415616, 0,
     LLAMA2_SOURCE},
    {"llama2-13b", "Llama 2 13B", LLAMA (40, 5120, 40, 40, 13824, 32000, 4096), NULL, 13015864320,
     0, LLAMA2_SOURCE},
    {"llama2-70b", "Llama 2 70B", LLAMA (80, 8192, 64, 8, 28672, 32000, 4096), NULL, 68976648192, 0,
     LLAMA2_SOURCE},
    {"llama3-8b", "Llama 3 8B", LLAMA (32, 4096, 32, 8, 14336, 128256, 8192), NULL, 8030261248, 0,
     LLAMA3_SOURCE},
    {"llama3-70b", "Llama 3 70B", LLAMA (80, 8192, 64, 8, 28672, 128256, 8192), NULL, 70553706496,
     0, LLAMA3_SOURCE},
    {"llama3-405b", "Llama 3.1 405B", LLAMA (126, 16384, 128, 8, 53248, 128256, 8192), NULL,
     405853388800, 0, LLAMA3_SOURCE},
    {"mistral-7b", "Mistral 7B v0.3", LLAMA (32, 4096, 32, 8, 14336, 32768, 32768), NULL,
     7248023552, 0, "Jiang et al. 2023 and config.json of the released checkpoint"},
    {"resnet-50",
     "ResNet-50, 224 x 224, 1000 classes",
     {0},
     ls_resnet_50_new,
     25557032,
     0,
     RESNET_SOURCE},
    {"resnet-101",
     "ResNet-101, 224 x 224, 1000 classes",
     {0},
     ls_resnet_101_new,
     44549160,
     0,
     RESNET_SOURCE},
    {"resnet-152",
     "ResNet-152, 224 x 224, 1000 classes",
     {0},
     ls_resnet_152_new,
     60192808,
     0,
     RESNET_SOURCE},
    {"mlp-mnist",
     "Two hidden layers of 1,024 on 28 x 28 pixels, 10 classes",
     {0},
     ls_mlp_mnist_new,
     1863690,
     0,
     "784 x 1024 + 1024 + 1024 x 1024 + 1024 + 1024 x 10 + 10"},
};

guint ls_model_preset_count (void) {
  return G_N_ELEMENTS (presets);
}

const LsModelPreset *ls_model_preset_get (guint i) {
  return i < G_N_ELEMENTS (presets) ? &presets[i] : NULL;
}

const char *const *ls_model_preset_names (void) {
  static const char *names[G_N_ELEMENTS (presets) + 1];
  static gsize ready = 0;

  if (g_once_init_enter (&ready)) {
    for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
      names[i] = presets[i].name;
    g_once_init_leave (&ready, 1);
  }
  return names;
}

LsModel *ls_model_new_preset (const char *name, GError **error) {
  const char *near = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (presets); i++) {
    const LsModelPreset *preset = &presets[i];

    if (g_ascii_strcasecmp (preset->name, name) != 0)
      continue;
    return preset->build != NULL ? preset->build (preset->name)
                                 : ls_model_new_transformer (preset->name, &preset->transformer);
  }
  near = ls_nearest (name, ls_model_preset_names ());
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
               "there is no model \"%s\"%s%s%s; `list models` shows all", name,
               near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
               near != NULL ? "\"" : "");
  return NULL;
}
