/* Models from a Hugging Face config.json: decoder-only families whose shape this program has.
 *
 * Model:      keys of the families llama, mistral, qwen2, qwen3, mixtral, qwen3_moe, deepseek_v2 and _v3, gpt_oss,
 *             and of gpt2. What a key leaves out is the default of the model's class in the transformers library:
 *             num_key_value_heads as heads, head_dim hidden / heads. Others are refused by name, because a model
 *             of the wrong shape is worse than none.
 * Left out:   rope scaling, the storage type (precision is the scenario's).
 */
#include "train/hf_read.h"

#include "base/quantity.h"
#include "config/node.h"

static gint64 number (const LsConfigNode *map, const char *key, gint64 otherwise) {
  const LsConfigNode *node = ls_config_node_get (map, key);
  double value = 0;

  if (node == NULL || node->kind != LS_CONFIG_NODE_SCALAR || ls_config_node_is_null (node) ||
      !ls_number_parse (node->text, &value) || value < 0 || value > 1e9)
    return otherwise;
  return (gint64) value;
}

static gboolean flag (const LsConfigNode *map, const char *key, gboolean otherwise) {
  const LsConfigNode *node = ls_config_node_get (map, key);

  return node == NULL || node->kind != LS_CONFIG_NODE_SCALAR
             ? otherwise
             : g_ascii_strcasecmp (node->text, "true") == 0;
}

static gboolean is_one_of (const char *word, const char *const *words) {
  return word != NULL && g_strv_contains (words, word);
}

static LsTransformer gpt2 (const LsConfigNode *root) {
  const gint64 h = number (root, "n_embd", 0);

  return (LsTransformer){.layers = number (root, "n_layer", 0),
                         .hidden = h,
                         .heads = number (root, "n_head", 0),
                         .kv_heads = number (root, "n_head", 0),
                         .ffn = number (root, "n_inner", 4 * h),
                         .vocab = number (root, "vocab_size", 0),
                         .max_seq = number (root, "n_positions", 1024),
                         .tied_embeddings = TRUE,
                         .learned_positions = TRUE,
                         .biases = TRUE,
                         .dropout = TRUE,
                         .causal = TRUE};
}

static LsExperts experts (const LsConfigNode *root, const char *type) {
  const gboolean deepseek = g_str_has_prefix (type, "deepseek");
  const gint64 count = number (root, "num_local_experts",
                               number (root, "num_experts", number (root, "n_routed_experts", 0)));
  const gint64 ffn = number (root, "moe_intermediate_size", number (root, "intermediate_size", 0));

  if (count == 0)
    return (LsExperts){0};
  return (LsExperts){.count = count,
                     .top_k = number (root, "num_experts_per_tok", 2),
                     .ffn = ffn,
                     .shared_ffn = ffn * number (root, "n_shared_experts", 0),
                     .dense_first = number (root, "first_k_dense_replace", 0),
                     .every = number (root, "decoder_sparse_step", 1),
                     .selection_bias = deepseek && g_str_has_suffix (type, "v3")};
}

static LsTransformer llama_like (const LsConfigNode *root, const char *type) {
  LsTransformer t = {.layers = number (root, "num_hidden_layers", 0),
                     .hidden = number (root, "hidden_size", 0),
                     .heads = number (root, "num_attention_heads", 0),
                     .head_dim = number (root, "head_dim", 0),
                     .ffn = number (root, "intermediate_size", 0),
                     .vocab = number (root, "vocab_size", 0),
                     .max_seq = number (root, "max_position_embeddings", 2048),
                     .gated = TRUE,
                     .rms_norm = TRUE,
                     .rotary = TRUE,
                     .causal = TRUE,
                     .tied_embeddings = flag (root, "tie_word_embeddings", FALSE),
                     .qkv_biases = g_str_has_prefix (type, "qwen2"),
                     .qk_norm = g_str_has_prefix (type, "qwen3"),
                     .experts = experts (root, type)};

  t.kv_heads = number (root, "num_key_value_heads", t.heads);
  /* Qwen's files name a window that they do not use. */
  if (!g_str_has_prefix (type, "qwen"))
    t.window = number (root, "sliding_window", 0);
  if (g_str_equal (type, "gpt_oss")) {
    t.full_every = 2; /* layer_types: in turn */
    t.biases = TRUE;
    t.extra_parameters = t.layers * (t.experts.count + t.heads); /* router biases, sinks */
  }
  t.latent = (LsLatent){.q_rank = number (root, "q_lora_rank", 0),
                        .kv_rank = number (root, "kv_lora_rank", 0),
                        .nope = number (root, "qk_nope_head_dim", 0),
                        .rope = number (root, "qk_rope_head_dim", 0),
                        .value = number (root, "v_head_dim", 0)};
  return t;
}

static LsModel *make (LsConfig *config, LsConfigErrors *errors, const char *at, const char *path,
                      const LsConfigNode *root) {
  static const char *const known[] = {"llama",   "mistral",   "qwen2",       "qwen3",
                                      "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3",
                                      "gpt_oss", NULL};
  const LsConfigNode *node = ls_config_node_get (root, "model_type");
  const char *type = node != NULL && node->kind == LS_CONFIG_NODE_SCALAR ? node->text : NULL;
  LsTransformer t;
  g_autofree char *name = g_path_get_basename (path);

  if (type == NULL || (!g_str_equal (type, "gpt2") && !is_one_of (type, known))) {
    ls_config_error_at (
        config, errors, at,
        "%s: model_type \"%s\" is not known; gpt2, llama, mistral, qwen2, qwen3, "
        "mixtral, qwen3_moe, deepseek_v2, deepseek_v3 and gpt_oss are; or give the sizes",
        path, type != NULL ? type : "");
    return NULL;
  }
  t = g_str_equal (type, "gpt2") ? gpt2 (root) : llama_like (root, type);
  if (t.layers < 1 || t.hidden < 1 || t.heads < 1 || t.kv_heads < 1 || t.vocab < 1 || t.ffn < 1 ||
      (t.latent.kv_rank > 0 && (t.latent.nope < 1 || t.latent.rope < 1 || t.latent.value < 1))) {
    ls_config_error_at (config, errors, at,
                        "%s: layers, hidden size, heads, MLP width or vocabulary are missing",
                        path);
    return NULL;
  }
  return ls_model_new_transformer (name, &t);
}

LsModel *ls_read_hf_config (LsConfig *config, LsConfigErrors *errors, const char *at,
                            const char *path) {
  GStringChunk *names = g_string_chunk_new (256);
  g_autoptr (LsConfigErrors) inner = ls_config_errors_new ();
  LsConfigNode *root = ls_config_node_read_file (path, names, inner);
  LsModel *model = NULL;

  if (root == NULL)
    ls_config_error_at (config, errors, at, "%s cannot be read as JSON", path);
  else
    model = make (config, errors, at, path, root);
  ls_config_node_free (root);
  g_string_chunk_free (names);
  return model;
}
