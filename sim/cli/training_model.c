/* Which model a row of a training table names: the preset behind its name, or the sizes that its columns state, and adapters
 * beside them. docs/validation.md states the mapping.
 *
 * Invariants: a stated size beats the preset's, but for mixtures of experts, of which tables print few sizes.
 * Leaves out: how the model is laid out and trained, training_row.c. */
#include <string.h>

#include "base/distance.h"
#include "cli/training_reader.h"

/* Mixtures of experts by name: tables print few of their sizes. */
static const struct {
  const char *word, *preset;
} published[] = {
    {"deepseek-v2-lite", "deepseek-v2-lite"},
    {"deepseekv2-lite", "deepseek-v2-lite"},
    {"deepseek-v2", "deepseek-v2"},
    {"deepseekv2", "deepseek-v2"},
    {"deepseek-v3", "deepseek-v3"},
    {"deepseekv3", "deepseek-v3"},
    {"qwen3_30b_a3b", "qwen3-30b-a3b"},
    {"qwen3-30b-a3b", "qwen3-30b-a3b"},
    {"qwen3_235b_a22b", "qwen3-235b-a22b"},
    {"qwen3-235b-a22b", "qwen3-235b-a22b"},
    {"kimi_k2", "kimi-k2"},
    {"kimi-k2", "kimi-k2"},
    {"llama-4-scout", "llama4-scout"},
    {"llama 4 scout", "llama4-scout"},
    {"llama4-scout", "llama4-scout"},
    {"llama4 scout", "llama4-scout"},
    {"17bx16e", "llama4-scout"},
    {"llama-4-maverick", "llama4-maverick"},
    {"llama 4 maverick", "llama4-maverick"},
    {"llama4-maverick", "llama4-maverick"},
    {"llama4 maverick", "llama4-maverick"},
    {"17bx128e", "llama4-maverick"},
    {"dbrx", "dbrx"},
    {"gpt oss 120b", "gpt-oss-120b"},
    {"gpt-oss-120b", "gpt-oss-120b"},
    {"gpt_oss_120b", "gpt-oss-120b"},
    {"gpt oss 20b", "gpt-oss-20b"},
    {"gpt-oss-20b", "gpt-oss-20b"},
    {"mixtral-8x7b", "mixtral-8x7b"},
    {"mixtral 8x7b", "mixtral-8x7b"},
    {"mixtral_8x7b", "mixtral-8x7b"},
    {"mixtral-8x22b", "mixtral-8x22b"},
    {"mixtral 8x22b", "mixtral-8x22b"},
    {"mixtral_8x22b", "mixtral-8x22b"},
};

/* The model's name as presets are written: "Llama3 8B" and "llama3_8b" are llama3-8b. */
static char *preset_name (const Reader *reader) {
  g_autofree char *trimmed = g_strstrip (g_strdup (text (reader, "model")));

  return g_strdelimit (g_ascii_strdown (trimmed, -1), " _", '-');
}

/* The same but for dashes: "Llama 2 7B" is llama2-7b. */
static gboolean same_name (const char *a, const char *b) {
  for (;; a++, b++) {
    a += strspn (a, "-");
    b += strspn (b, "-");
    if (*a != *b || *a == '\0')
      return *a == *b;
  }
}

static const LsModelPreset *preset_called (const char *name) {
  for (guint i = 0; i < ls_model_preset_count (); i++)
    if (same_name (ls_model_preset_get (i)->name, name))
      return ls_model_preset_get (i);
  return NULL;
}

static const LsModelPreset *find_published (const Reader *reader) {
  for (guint i = 0; i < G_N_ELEMENTS (published); i++)
    if (says (reader, "model", published[i].word))
      return preset_called (published[i].preset);
  return NULL;
}

/* Columns that a model's name may stand for and the row leaves empty, joined by commas; NULL: none. */
static char *unstated_sizes (const Reader *reader) {
  static const char *const sizes[] = {"layers", "hidden", "heads"};
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (!*text (reader, sizes[i]))
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", sizes[i]);
  return names->len > 0 ? g_string_free (g_steal_pointer (&names), FALSE) : NULL;
}

/* The reason of a row that leaves sizes out and names no transformer that has them. */
static gboolean no_model (const Reader *reader, const char *unstated, GError **error) {
  g_autofree char *name = preset_name (reader);
  const char *near = ls_nearest (name, ls_model_preset_names ());

  if (!*name)
    return ls_training_skip (error, "%s not stated, and no model named", unstated);
  if (preset_called (name) != NULL)
    return ls_training_skip (error, "model '%s' is no transformer", name);
  return ls_training_skip (error, "%s not stated, and model '%s' is no preset%s%s%s", unstated,
                           text (reader, "model"), near != NULL ? " (did you mean '" : "",
                           near != NULL ? near : "", near != NULL ? "'?)" : "");
}

/* The preset's sizes but for those that are stated. Megatron-Bridge trains DeepSeek-V3 with one block of multi-token
 * prediction unless the row says that it did not. */
static gboolean read_published (const Reader *reader, LsTrainingRow *out, GError **error) {
  const LsTransformer *t = &out->preset->transformer;
  const gboolean experts = t->experts.count > 0;
  gboolean good = TRUE;

  if (says (reader, "model", "tokendrop"))
    return ls_training_skip (error, "the capacity factor is not stated");
  out->gated = experts || t->gated;
  out->llama = experts || t->rms_norm;
  out->biases = t->biases;
  out->hidden = t->hidden;
  out->heads = t->heads;
  out->kv_heads = t->kv_heads;
  out->ffn = t->ffn;
  out->vocab = t->vocab;
  out->dense_first = says (reader, "arch", " 1 dense layer") ? 1 : -1;
  /* SimuMax's scripts pad experts to a capacity of 1 (run_pretrain_deepseekv2.sh @1b8ca90). */
  out->capacity = says (reader, "source", "simumax") ? 1 : 0;
  out->light_end = of_nemo (reader) && (g_str_equal (out->preset->name, "deepseek-v3") ||
                                        g_str_equal (out->preset->name, "kimi-k2"));
  out->mtp = of_nemo (reader) && g_str_equal (out->preset->name, "deepseek-v3") &&
             !says (reader, "model", "w/o mtp");
  good = ls_training_integer (reader, "layers", 1, t->layers, &out->layers, error);
  good = ls_training_integer (reader, "seq", 1, -1, &out->seq, error) && good;
  if (experts)
    return good;
  /* Tables print few sizes of mixtures of experts, and not always the preset's. */
  good = ls_training_integer (reader, "hidden", 1, t->hidden, &out->hidden, error) && good;
  good = ls_training_integer (reader, "heads", 1, t->heads, &out->heads, error) && good;
  good = ls_training_integer (reader, "kv_heads", 1, t->kv_heads, &out->kv_heads, error) && good;
  good = ls_training_integer (reader, "ffn", 1, t->ffn, &out->ffn, error) && good;
  return ls_training_integer (reader, "vocab", 1, t->vocab, &out->vocab, error) && good;
}

/* Of SQuAD's prompts with their answers, in tokens of Llama. ASSUMED: paragraphs of some 120 words, a question of 10, at
 * 1.3 tokens a word, and the template; attention, that alone depends on it, is 5 % of what it is unpacked. */
#define SQUAD_TOKENS 190

/* Adapters. MLPerf's benchmark: rank 16 beside qkv and proj, dropout 0.1, sequences as one document (mlcommons/training,
 * llama2_70b_lora; NVIDIA's train.py: return_cu_seqlen False), weights initialized in 8 bits (custom_llama.py:
 * te.fp8_model_init); in round 5.1 fused into products (USE_TE_OPS, Transformer Engine 2.7; that its adapters' script
 * sets it is assumed, the script was not seen). NeMo's and Megatron-Bridge's performance runs: rank 32 beside qkv, SQuAD
 * packed (scripts/performance/configs/llama/llama3_llm_finetune.py; peft/lora.py). */
static void read_lora (const Reader *reader, LsTrainingRow *out) {
  const gboolean mlperf = says (reader, "model", "mlperf");

  if (!says (reader, "model", "lora") && !says (reader, "other_config", "lora"))
    return;
  out->lora_rank = ls_training_number_behind (reader, "model", "rank", mlperf ? 16 : 32);
  out->lora_targets = mlperf ? "qkv, proj" : "qkv";
  out->lora_dropout = mlperf;
  out->lora_fused = mlperf && says (reader, "source", "training_results_v5.1");
  out->documents = mlperf ? 0 : SQUAD_TOKENS;
  out->narrow_weights = !says (reader, framework (reader), "nemo 24.");
  out->narrow_activation = says (reader, "other_config", "fp8_act=1") ||
                           says (reader, "other_config", "fp8_activation=true");
  out->exchanges_heads = out->exchanges_heads || mlperf;
}

/* Of those that are no preset. */
static gboolean names_experts (const Reader *reader) {
  static const char *const words[] = {"moe",     "8x",   "llama4",  "llama-4",
                                      "llama 4", "grok", "mixtral", "arctic"};

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (says (reader, "model", words[i]))
      return TRUE;
  return FALSE;
}

gboolean ls_training_read_model (const Reader *reader, LsTrainingRow *out, GError **error) {
  g_autofree char *unstated = unstated_sizes (reader);
  gboolean good = TRUE;

  out->preset = find_published (reader);
  if (out->preset == NULL && unstated != NULL) {
    g_autofree char *name = preset_name (reader);

    out->preset = preset_called (name);
  }
  if (out->preset != NULL && out->preset->transformer.layers > 0) {
    read_lora (reader, out);
    return read_published (reader, out, error);
  }
  out->preset = NULL;
  /* "swiglu", "geglu", "reglu": three matrices, whatever the gate. */
  out->gated = says (reader, "ffn_act", "glu") || says (reader, "ffn_act", "silu");
  out->llama = out->gated || says (reader, "arch", "llama") || says (reader, "model", "llama");
  if (says (reader, "arch", "moe") || names_experts (reader))
    return ls_training_skip (error, "a mixture of experts whose sizes are not stated");
  if (says (reader, "model", "flux") || says (reader, "model", "diffusion"))
    return ls_training_skip (error, "a model of diffusion, which reads no tokens");
  if (says (reader, "framework", "megascale"))
    return ls_training_skip (error,
                             "MegaScale changes the model (parallel block, sliding window, LAMB)");
  if (unstated != NULL)
    return no_model (reader, unstated, error);
  good = ls_training_integer (reader, "layers", 1, -1, &out->layers, error);
  good = ls_training_integer (reader, "hidden", 1, -1, &out->hidden, error) && good;
  good = ls_training_integer (reader, "heads", 1, -1, &out->heads, error) && good;
  good = ls_training_integer (reader, "seq", 1, -1, &out->seq, error) && good;
  good = ls_training_integer (reader, "kv_heads", 1, out->heads, &out->kv_heads, error) && good;
  good =
      ls_training_integer (reader, "ffn", 1, out->gated ? -1 : 4 * out->hidden, &out->ffn, error) &&
      good;
  good = ls_training_integer (reader, "vocab", 1, 51200, &out->vocab, error) && good;
  if (!good)
    return FALSE;
  out->tied =
      *text (reader, "tied_embeddings") ? says (reader, "tied_embeddings", "yes") : !out->llama;
  /* Nemotron 3 and 4: rotary positions and no biases beside layer norm. source: NVIDIA/NeMo
   * nemo/collections/llm/gpt/model/nemotron.py @0037ec8. Their squared ReLU moves what GELU does: one fused pass. */
  const gboolean nemotron = says (reader, "model", "nemotron") && !out->llama;
  out->learned_positions = !out->llama && !nemotron;
  out->biases = !out->llama && !nemotron;
  read_lora (reader, out);
  /* Megatron's GPT runs train with dropout 0.1; llm-foundry's benchmarks and Llama without. */
  out->dropout = !out->llama && of_megatron (reader);
  return TRUE;
}

gboolean ls_training_row_has_experts (const LsTrainingRow *row) {
  return row->preset != NULL && row->preset->transformer.experts.count > 0;
}
