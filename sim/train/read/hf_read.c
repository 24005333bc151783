/* Models from a Hugging Face config.json: decoder-only families whose shape this program has.
 *
 * Model:      keys of the families llama, mistral, qwen2, qwen3, mixtral, qwen3_moe, deepseek_v2 and _v3, gpt_oss,
 *             and of gpt2. What a key leaves out is the default of the model's class in the transformers library:
 *             num_key_value_heads as heads, head_dim hidden / heads. Others are refused by name, because a model
 *             of the wrong shape is worse than none. Faults are told at their line, all at once; keys that change the
 *             model and are not read are warned of.
 * Left out:   rope scaling, the storage type (precision is the scenario's).
 */
#include "train/read/hf_read.h"

#include <math.h>

#include "base/quantity.h"
#include "config/node.h"

typedef struct {
  const LsConfigNode *root;
  LsConfigErrors *errors;
  gboolean fine; /* no fault yet */
} Reader;

static void fault (Reader *r, const LsConfigNode *node, const char *key, const char *allowed) {
  ls_config_errors_add (r->errors, LS_CONFIG_FAULT_ERROR, node->position, "%s is %s%s%s; %s", key,
                        node->kind != LS_CONFIG_NODE_SCALAR ? "a map or a list"
                        : node->quoted                      ? "the text \""
                                                            : "",
                        node->kind == LS_CONFIG_NODE_SCALAR ? node->text : "",
                        node->kind == LS_CONFIG_NODE_SCALAR && node->quoted ? "\"" : "", allowed);
  r->fine = FALSE;
}

/* A key that is there with a value. */
static const LsConfigNode *given (const Reader *r, const char *key) {
  const LsConfigNode *node = ls_config_node_get (r->root, key);

  return node == NULL || ls_config_node_is_null (node) ? NULL : node;
}

static gint64 number (Reader *r, const char *key, gint64 otherwise) {
  const LsConfigNode *node = given (r, key);
  double value = 0;

  if (node == NULL)
    return otherwise;
  if (node->kind == LS_CONFIG_NODE_SCALAR && !node->quoted &&
      ls_number_parse (node->text, &value) && value >= 0 && value <= 1e9 && value == floor (value))
    return (gint64) value;
  fault (r, node, key, "a whole number from 0 to 1000000000 belongs there");
  return otherwise;
}

static gboolean flag (Reader *r, const char *key, gboolean otherwise) {
  const LsConfigNode *node = given (r, key);

  if (node == NULL)
    return otherwise;
  if (node->kind == LS_CONFIG_NODE_SCALAR && !node->quoted &&
      (g_str_equal (node->text, "true") || g_str_equal (node->text, "false")))
    return g_str_equal (node->text, "true");
  fault (r, node, key, "true or false belongs there");
  return otherwise;
}

static gboolean is_one_of (const char *word, const char *const *words) {
  return word != NULL && g_strv_contains (words, word);
}

static LsTransformer gpt2 (Reader *r) {
  const gint64 h = number (r, "n_embd", 0);

  return (LsTransformer){.layers = number (r, "n_layer", 0),
                         .hidden = h,
                         .heads = number (r, "n_head", 0),
                         .kv_heads = number (r, "n_head", 0),
                         .ffn = number (r, "n_inner", 4 * h),
                         .vocab = number (r, "vocab_size", 0),
                         .max_seq = number (r, "n_positions", 1024),
                         .tied_embeddings = TRUE,
                         .learned_positions = TRUE,
                         .biases = TRUE,
                         .dropout = TRUE,
                         .causal = TRUE};
}

static LsExperts experts (Reader *r, const char *type) {
  const gboolean deepseek = g_str_has_prefix (type, "deepseek");
  const gint64 count =
      number (r, "num_local_experts", number (r, "num_experts", number (r, "n_routed_experts", 0)));
  const gint64 ffn = number (r, "moe_intermediate_size", number (r, "intermediate_size", 0));

  if (count == 0)
    return (LsExperts){0};
  return (LsExperts){.count = count,
                     .top_k = number (r, "num_experts_per_tok", 2),
                     .ffn = ffn,
                     .groups = number (r, "n_group", 1),
                     .top_groups = number (r, "topk_group", 1),
                     .shared_ffn = ffn * number (r, "n_shared_experts", 0),
                     .dense_first = number (r, "first_k_dense_replace", 0),
                     .every = number (r, "decoder_sparse_step", 1),
                     .selection_bias = deepseek && g_str_has_suffix (type, "v3")};
}

/* attention_bias: of the maps to queries, keys and values and of the one behind them; mlp_bias: of the MLP's three.
 * source: LlamaAttention, LlamaMLP, Qwen3Attention and DeepseekV3Attention of the transformers library; the other
 * classes do not read them. */
static void add_biases (Reader *r, LsTransformer *t, const char *type) {
  const gboolean attention = flag (r, "attention_bias", FALSE), mlp = flag (r, "mlp_bias", FALSE);
  const gboolean deepseek = g_str_has_prefix (type, "deepseek");
  gint64 extra = 0;

  if (t->biases)
    return;
  if (g_str_equal (type, "llama") && attention && mlp) {
    t->biases = TRUE;
    return;
  }
  if (attention && deepseek)
    extra += t->latent.q_rank + t->latent.kv_rank + t->latent.rope + t->hidden;
  else if (attention && (g_str_equal (type, "llama") || g_str_has_prefix (type, "qwen3"))) {
    t->qkv_biases = TRUE;
    extra += t->hidden;
  }
  if (mlp && g_str_equal (type, "llama"))
    extra += 2 * t->ffn + t->hidden;
  t->extra_parameters += t->layers * extra;
}

static LsTransformer llama_like (Reader *r, const char *type) {
  LsTransformer t = {.layers = number (r, "num_hidden_layers", 0),
                     .hidden = number (r, "hidden_size", 0),
                     .heads = number (r, "num_attention_heads", 0),
                     .head_dim = number (r, "head_dim", 0),
                     .ffn = number (r, "intermediate_size", 0),
                     .vocab = number (r, "vocab_size", 0),
                     .max_seq = number (r, "max_position_embeddings", 2048),
                     .gated = TRUE,
                     .rms_norm = TRUE,
                     .rotary = TRUE,
                     .causal = TRUE,
                     .tied_embeddings = flag (r, "tie_word_embeddings", FALSE),
                     .qkv_biases = g_str_has_prefix (type, "qwen2"),
                     .qk_norm = g_str_has_prefix (type, "qwen3"),
                     .experts = experts (r, type)};

  t.kv_heads = number (r, "num_key_value_heads", t.heads);
  /* Qwen's files name a window that they do not use. */
  if (!g_str_has_prefix (type, "qwen"))
    t.window = number (r, "sliding_window", 0);
  if (g_str_equal (type, "gpt_oss")) {
    t.full_every = 2;                                            /* layer_types: in turn */
    t.biases = t.yarn = t.clamped = TRUE;                        /* swiglu_limit */
    t.extra_parameters = t.layers * (t.experts.count + t.heads); /* router biases, sinks */
  }
  t.latent = (LsLatent){.q_rank = number (r, "q_lora_rank", 0),
                        .kv_rank = number (r, "kv_lora_rank", 0),
                        .nope = number (r, "qk_nope_head_dim", 0),
                        .rope = number (r, "qk_rope_head_dim", 0),
                        .value = number (r, "v_head_dim", 0)};
  add_biases (r, &t, type);
  return t;
}

/* Keys that change the model in ways that are not read; `neutral` changes nothing (NULL: any value does). */
static void warn_of_others (const Reader *r, const char *type) {
  static const struct {
    const char *key, *neutral, *instead;
  } others[] = {
      {"quantization_config", NULL, "the formats are the scenario's: workload.precision"},
      {"use_sliding_window", "false", "all layers see all keys; workload.model.window limits them"},
      {"add_cross_attention", "false", "decoders alone are built"},
      {"is_encoder_decoder", "false", "decoders alone are built"},
      {"mlp_only_layers", "", "every layer has its experts"},
      {"moe_layer_freq", "1", "every layer behind the first dense ones has its experts"},
  };
  static const char *const biases[] = {"attention_bias", "mlp_bias"};

  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    const LsConfigNode *node = given (r, others[i].key);
    const gboolean empty =
        node != NULL && node->kind == LS_CONFIG_NODE_LIST && node->items->len == 0;

    if (node == NULL || empty ||
        (others[i].neutral != NULL && g_strcmp0 (node->text, others[i].neutral) == 0))
      continue;
    ls_config_errors_add (r->errors, LS_CONFIG_FAULT_WARNING, node->position,
                          "%s has no effect here; %s", others[i].key, others[i].instead);
  }
  for (guint i = 0; i < G_N_ELEMENTS (biases); i++) {
    const LsConfigNode *node = given (r, biases[i]);
    const gboolean read =
        g_str_equal (type, "llama") || g_str_equal (type, "gpt_oss") ||
        (i == 0 && (g_str_has_prefix (type, "qwen3") || g_str_has_prefix (type, "deepseek")));

    if (node != NULL && !read && g_strcmp0 (node->text, "true") == 0)
      ls_config_errors_add (r->errors, LS_CONFIG_FAULT_WARNING, node->position,
                            "%s has no effect here; models of type %s do not read it", biases[i],
                            type);
  }
}

/* Names every size that is missing or zero. */
static gboolean is_complete (Reader *r, const LsTransformer *t, const char *type) {
  const gboolean gpt = g_str_equal (type, "gpt2"), latent = t->latent.kv_rank > 0;
  const struct {
    const char *key;
    gint64 value;
  } sizes[] = {{gpt ? "n_layer" : "num_hidden_layers", t->layers},
               {gpt ? "n_embd" : "hidden_size", t->hidden},
               {gpt ? "n_head" : "num_attention_heads", t->heads},
               {"num_key_value_heads", t->heads > 0 ? t->kv_heads : 1},
               {gpt ? "n_inner" : "intermediate_size", gpt && t->hidden < 1 ? 1 : t->ffn},
               {"vocab_size", t->vocab},
               {"qk_nope_head_dim", latent ? t->latent.nope : 1},
               {"qk_rope_head_dim", latent ? t->latent.rope : 1},
               {"v_head_dim", latent ? t->latent.value : 1}};

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const LsConfigNode *node = given (r, sizes[i].key);

    if (sizes[i].value >= 1)
      continue;
    if (node == NULL)
      ls_config_errors_add (r->errors, LS_CONFIG_FAULT_ERROR, r->root->position, "%s is missing",
                            sizes[i].key);
    else if (r->fine)
      fault (r, node, sizes[i].key, "1 at least");
    r->fine = FALSE;
  }
  return r->fine;
}

static LsModel *make (LsConfig *config, LsConfigErrors *errors, const char *at, const char *path,
                      const LsConfigNode *root) {
  static const char *const known[] = {"llama",   "mistral",   "qwen2",       "qwen3",
                                      "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3",
                                      "gpt_oss", NULL};
  const LsConfigNode *node = ls_config_node_get (root, "model_type");
  const char *type = node != NULL && node->kind == LS_CONFIG_NODE_SCALAR ? node->text : NULL;
  Reader r = {.root = root, .errors = errors, .fine = TRUE};
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
  t = g_str_equal (type, "gpt2") ? gpt2 (&r) : llama_like (&r, type);
  if (!is_complete (&r, &t, type))
    return NULL;
  warn_of_others (&r, type);
  return ls_model_new_transformer (name, &t);
}

/* Why the file cannot be read: syntax at its own place, what the system says at the key that names it. */
static void tell (LsConfig *config, LsConfigErrors *errors, const char *at, const char *path,
                  const LsConfigErrors *inner) {
  for (guint i = 0; i < ls_config_errors_length (inner); i++) {
    const LsConfigFault fault = ls_config_errors_get (inner, i);

    if (fault.line > 0)
      ls_config_errors_add (
          errors, fault.kind,
          (LsConfigPosition){.file = fault.file, .line = fault.line, .column = fault.column}, "%s",
          fault.message);
    else
      ls_config_error_at (config, errors, at, "%s %s", path, fault.message);
  }
}

LsModel *ls_read_hf_config (LsConfig *config, LsConfigErrors *errors, const char *at,
                            const char *path) {
  GStringChunk *names = g_string_chunk_new (256);
  g_autoptr (LsConfigErrors) inner = ls_config_errors_new ();
  LsConfigNode *root = ls_config_node_read_file (path, names, inner);
  LsModel *model = NULL;

  if (root == NULL)
    tell (config, errors, at, path, inner);
  else
    model = make (config, errors, at, path, root);
  ls_config_node_free (root);
  g_string_chunk_free (names);
  return model;
}
