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

typedef enum { LS_NORM_LAYER, LS_NORM_RMS } LsNormKind;

/* Sizes of a decoder-only (or, with `bidirectional`, encoder) transformer. */
typedef struct {
  gint64 layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
  gint64 max_seq; /* longest sequence; learned positions are a table of this many rows */
  gint64
      published_vocab; /* before padding to a multiple that tensor parallelism can divide; 0: as vocab */
  gboolean gated;      /* SwiGLU: gate, up and down matrices; else up, activation (GeLU), down */
  gboolean rms_norm; /* one vector of weights; else LayerNorm with weights and biases */
  gboolean tied_embeddings;
  gboolean learned_positions; /* else rotary or ALiBi: no parameters */
  gboolean rotary;            /* an extra elementwise pass over queries and keys */
  gboolean biases;            /* of every linear map (and of LayerNorm) */
  gboolean dropout;           /* hidden and attention dropout, with masks of one byte per element */
  gboolean causal;
} LsTransformer;

/* Elements of a layer list. X(ID, "word") */
#define LS_ELEMENTS(X)             \
  X (CONVOLUTION, "convolution")   \
  X (LINEAR, "linear")             \
  X (BATCH_NORM, "batch_norm")     \
  X (LAYER_NORM, "layer_norm")     \
  X (RELU, "relu")                 \
  X (GELU, "gelu")                 \
  X (ADD, "add")                   \
  X (MAX_POOL, "max_pool")         \
  X (AVERAGE_POOL, "average_pool") \
  X (DROPOUT, "dropout")           \
  X (CROSS_ENTROPY, "cross_entropy")

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
} LsModelPreset;

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
/* Exact number of trainable parameters; tied embeddings counted once. */
gint64 ls_model_parameters (const LsModel *model);
/* Parameters of one transformer block, of one element. */
gint64 ls_transformer_block_parameters (const LsTransformer *transformer);
gint64 ls_element_parameters (const LsElement *element);
/* TRUE when samples are sequences of tokens. */
gboolean ls_model_has_tokens (const LsModel *model);
const char *ls_element_name (LsElementKind kind);
