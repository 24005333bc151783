/* Models: what is trained, as numbers and not yet as work.
 *
 * Two kinds. A transformer is described by its sizes, and its layers are an embedding, `layers`
 * equal blocks and a head. A layer list is a chain of elements (convolution, linear, norm, ...) that
 * are grouped into named blocks; each block is one layer of the model.
 * Presets are a static table with a source and the published parameter count per row.
 *
 * Ownership: a model owns its strings and elements; rows of the preset table are static.
 */
#pragma once

#include <glib.h>

#include "train/model/lora.h"

typedef enum { LS_NORM_LAYER, LS_NORM_RMS } LsNormKind;

/* How unequally routed tokens are spread over experts (expert_load.h): at most one is set, 0: balanced. */
typedef struct {
  double ratio;         /* load of the fullest expert over the mean */
  double exponent;      /* Zipf */
  double concentration; /* Dirichlet */
} LsSkew;

/* Experts in place of the MLP (mixture of experts). A router sends each token to `top_k` of `count`
 * MLPs of width `ffn`; all tokens also pass shared ones of `shared_ffn` together. The first `dense_first`
 * blocks keep the dense MLP, and after them all but every `every`-th. count = 0: a dense model. */
typedef struct {
  gint64 count, top_k, ffn;
  gint64 groups;           /* equal parts of the experts; 0: one */
  gint64 top_groups;       /* of these, those that a token's experts may be in */
  gint64 shared_ffn;       /* 0: none */
  gint64 dense_first;      /* blocks */
  gint64 every;            /* 0, 1: all blocks after those */
  gboolean shared_gate;    /* one more weight per width, that scales the shared output (Qwen) */
  gboolean selection_bias; /* one number per expert, that only routing sees (DeepSeek-V3) */
  double capacity_factor;  /* slots per expert over its mean; what overflows is dropped, what stays
                            * empty is padded. 0: dropless */
  LsSkew skew;
} LsExperts;

/* Multi-head latent attention: keys and values of all heads come from one vector of kv_rank per token, and
 * only that and one rotary key are kept. Queries may come from a vector of q_rank too. kv_rank = 0: plain
 * attention. source: DeepSeek-V2 (arXiv 2405.04434), section 2.1. */
typedef struct {
  gint64 q_rank; /* 0: straight from the residual stream */
  gint64 kv_rank;
  gint64 nope, rope; /* parts of a query and key head without and with positions */
  gint64 value;      /* value head */
} LsLatent;

/* Sizes of a decoder-only (or, with `bidirectional`, encoder) transformer. */
typedef struct {
  gint64 layers, hidden, heads, kv_heads, head_dim, ffn, vocab; /* ffn: of dense blocks */
  gint64 max_seq; /* longest sequence; learned positions are a table of this many rows */
  /* Before padding to a multiple that tensor parallelism can divide; 0: as vocab */
  gint64 published_vocab;
  gboolean gated;    /* SwiGLU: gate, up and down matrices; else up, activation (GeLU), down */
  gboolean clamped;  /* ...of which gate and up are held within limits (GPT-OSS) */
  gboolean rms_norm; /* one vector of weights; else LayerNorm with weights and biases */
  gboolean tied_embeddings;
  gboolean learned_positions; /* else rotary or ALiBi: no parameters */
  gboolean rotary;            /* an extra elementwise pass over queries and keys */
  gboolean yarn;    /* ...whose cosines and sines are scaled (arXiv 2309.00071, section 3.4) */
  gboolean biases;  /* of every linear map (and of LayerNorm) */
  gboolean dropout; /* hidden and attention dropout, with masks of one byte per element */
  gboolean causal;
  gboolean qkv_biases;     /* of the map to queries, keys and values alone (Qwen) */
  gboolean qk_norm;        /* an RMSNorm over each head's queries and keys (Qwen 3) */
  gboolean embedding_norm; /* LayerNorm behind the embedding (BLOOM) */
  gint64 patch; /* a picture model: numbers per patch, that one linear map embeds in place of
                            * a vocabulary; `vocab` is then the number of classes. 0: tokens */
  /* At the ends: segments, poolers, class tokens; counted, no work of note */
  gint64 extra_parameters;
  gint64 window;     /* keys that a query of attention sees, its own with them; 0: all before it */
  gint64 full_every; /* of so many blocks in a row the last sees all keys; 0: none does */
  gint64 mtp;        /* blocks that predict further tokens (DeepSeek-V3, section 2.2) */
  LsExperts experts;
  LsLatent latent;
  LsLora lora;
} LsTransformer;

/* Elements of a layer list. X(ID, "word") */
#define LS_ELEMENTS(X)                                                              \
  X (CONVOLUTION, "convolution")                                                    \
  X (LINEAR, "linear")                                                              \
  X (BATCH_NORM, "batch_norm")                                                      \
  X (LAYER_NORM, "layer_norm")                                                      \
  X (RELU, "relu")                                                                  \
  X (GELU, "gelu")                                                                  \
  X (ADD, "add")                                                                    \
  X (MAX_POOL, "max_pool")                                                          \
  X (AVERAGE_POOL, "average_pool")                                                  \
  X (DROPOUT, "dropout")                                                            \
  X (CROSS_ENTROPY, "cross_entropy")                                                \
  X (EMBEDDING_TABLES, "embedding_tables") /* dealt by columns to all data ranks */ \
  X (INTERACTION, "interaction")           /* dot products of all pairs of vectors */

#define LS_ENUM_ELEMENT(id, name) LS_ELEMENT_##id,
typedef enum { LS_ELEMENTS (LS_ENUM_ELEMENT) LS_N_ELEMENTS } LsElementKind;

/* One element, sizes per sample. Vectors have height = width = 1. */
typedef struct {
  LsElementKind kind;
  char *name;
  char *block; /* consecutive elements of one block are one layer of the model */
  gint64 in_channels, in_height, in_width;
  gint64 out_channels, out_height, out_width;
  gint64 kernel_height, kernel_width, stride, groups; /* convolution and pools */
  gint64 rows;                                        /* embedding tables: of all together */
  gint64 tables; /* and how many; interaction: how many vectors */
  gint64 width;  /* of a row, of a vector */
  gboolean bias;
  gboolean shares_input; /* reads a tensor that an earlier element reads too (a projection) */
} LsElement;

typedef enum { LS_MODEL_TRANSFORMER, LS_MODEL_LAYERS, LS_MODEL_TIMED } LsModelKind;

typedef struct {
  char *name;
  LsModelKind kind;
  LsTransformer transformer; /* of LS_MODEL_TRANSFORMER */
  LsElement *elements;       /* of LS_MODEL_LAYERS, in order of execution */
  guint n_elements;
  gint64 timed_parameters; /* of LS_MODEL_TIMED: what travels; it has no layers */
} LsModel;

typedef struct {
  const char *name;
  const char *title;
  LsTransformer transformer; /* layers = 0: a layer list made by `build` */
  LsModel *(*build) (const char *name);
  double published_parameters; /* as the source prints it */
  double published_tolerance;  /* relative: the digits printed */
  const char *source;
  /* Parameters that a token meets, of mixtures of experts; 0: not printed */
  double published_active;
  double active_tolerance;
} LsModelPreset;

/* The table (model_rows.c); `ls_model_row_count` rows. */
extern const LsModelPreset ls_model_rows[];
extern const guint ls_model_row_count;

guint ls_model_preset_count (void);
const LsModelPreset *ls_model_preset_get (guint i);
/* Names of all presets, ended by NULL. */
const char *const *ls_model_preset_names (void);
/* LS_ERROR_CONFIG with the nearest name when there is none. */
LsModel *ls_model_new_preset (const char *name, GError **error);
LsModel *ls_model_new_transformer (const char *name, const LsTransformer *transformer);
/* An empty layer list; elements are appended in order, strings copied. */
LsModel *ls_model_new_layers (const char *name);
void ls_model_append (LsModel *model, const LsElement *element);
LsModel *ls_model_copy (const LsModel *model);
void ls_model_free (LsModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsModel, ls_model_free)

/* Layers of the model that a pipeline may cut between: blocks of a transformer (embedding and head
 * stay with the first and the last), blocks of a layer list. */
guint ls_model_n_layers (const LsModel *model);
/* Exact number of parameters, adapters included; tied embeddings counted once. */
gint64 ls_model_parameters (const LsModel *model);
/* Of these, the trained ones: with adapters only they. */
gint64 ls_model_trained_parameters (const LsModel *model);
/* Parameters that one token meets: all but the routed experts that it is not sent to. */
gint64 ls_model_active_parameters (const LsModel *model);
/* Parameters of one dense transformer block, of one routed expert, of attention alone (without its norm),
 * of one element. */
gint64 ls_transformer_block_parameters (const LsTransformer *transformer);
gint64 ls_transformer_expert_parameters (const LsTransformer *transformer);
gint64 ls_transformer_attention_parameters (const LsTransformer *transformer);
/* Adapters of one block, before tensor parallelism: sum over targets of rank x (in + out). */
gint64 ls_transformer_adapter_parameters (const LsTransformer *transformer);
/* Has block `block` (from 0) experts? How many have, of the first `blocks`? */
gboolean ls_transformer_is_expert_block (const LsTransformer *transformer, gint64 block);
gint64 ls_transformer_expert_blocks (const LsTransformer *transformer, gint64 blocks);
/* Keys that a query of block `block` sees at most; 0: all before it. */
gint64 ls_transformer_window (const LsTransformer *transformer, gint64 block);
/* Widths of all queries, of all keys, and of all values together. */
gint64 ls_transformer_query_width (const LsTransformer *transformer);
gint64 ls_transformer_value_width (const LsTransformer *transformer);
gint64 ls_element_parameters (const LsElement *element);
/* Parameters in embedding tables, which are no part of a data-parallel rank's copy. */
gint64 ls_model_table_parameters (const LsModel *model);
/* TRUE when samples are sequences of tokens. */
gboolean ls_model_has_tokens (const LsModel *model);
const char *ls_element_name (LsElementKind kind);
