/* Models from a scenario: presets with changes, transformers by sizes, networks of elements.
 *
 * Model:      elements form a graph by `after` and `with`. They run in the order in which they become
 *             ready, the first by name first, so that the order of writing never matters. Shapes follow
 *             from the sample's: windows pad so that the output is ceil (input / stride).
 * Cost:       O(elements^2), at most LS_ELEMENTS_MAX of them.
 */
#include <string.h>

#include "base/distance.h"
#include "base/error.h"
#include "train/read/experts_read.h"
#include "train/read/hf_read.h"
#include "train/read/lora_read.h"
#include "train/read/update_keys.h"
#include "train/read/workload_keys.h"

#define MODEL "workload.model"
#define LS_ELEMENTS_MAX 5000
#define SIZE_MAX_TOTAL \
  1e15 /* weights of a model, elements of a tensor per sample: beyond, products leave 64 bits */

/* --- transformers --------------------------------------------------------------------------- */

static void read_size (LsConfig *config, const char *key, gint64 *value) {
  g_autofree char *path = g_strconcat (MODEL ".", key, NULL);

  if (ls_config_has (config, path))
    *value = ls_config_get_int (config, path);
}

static void read_flag (LsConfig *config, const char *key, gboolean *value) {
  g_autofree char *path = g_strconcat (MODEL ".", key, NULL);

  if (ls_config_has (config, path))
    *value = ls_config_get_bool (config, path);
}

static gboolean is_word (LsConfig *config, const char *key, const char *word, gboolean otherwise) {
  g_autofree char *path = g_strconcat (MODEL ".", key, NULL);

  if (!ls_config_has (config, path))
    return otherwise;
  return g_strcmp0 (ls_config_get_string (config, path), word) == 0;
}

/* Keys that were given over what `t` holds; sizes that follow from others are filled after. */
static void read_sizes (LsConfig *config, LsTransformer *t) {
  read_size (config, "layers", &t->layers);
  read_size (config, "hidden", &t->hidden);
  read_size (config, "heads", &t->heads);
  read_size (config, "kv_heads", &t->kv_heads);
  read_size (config, "head_dim", &t->head_dim);
  read_size (config, "ffn", &t->ffn);
  read_size (config, "vocab", &t->vocab);
  read_size (config, "max_seq", &t->max_seq);
  read_size (config, "mtp", &t->mtp);
  read_size (config, "window", &t->window);
  read_size (config, "full_every", &t->full_every);
  read_flag (config, "tied_embeddings", &t->tied_embeddings);
  read_flag (config, "biases", &t->biases);
  read_flag (config, "dropout", &t->dropout);
  read_flag (config, "causal", &t->causal);
  read_flag (config, "qkv_biases", &t->qkv_biases);
  read_flag (config, "qk_norm", &t->qk_norm);
  read_flag (config, "embedding_norm", &t->embedding_norm);
  t->clamped = is_word (config, "activation", "clamped-swiglu", t->clamped);
  t->gated = is_word (config, "activation", "swiglu", t->gated) || t->clamped;
  t->rms_norm = is_word (config, "norm", "rmsnorm", t->rms_norm);
  t->learned_positions = is_word (config, "positions", "learned", t->learned_positions);
  t->yarn = is_word (config, "positions", "yarn", t->yarn);
  t->rotary = is_word (config, "positions", "rotary", t->rotary) || t->yarn;
}

static LsModel *read_transformer (LsConfig *config, LsConfigErrors *errors) {
  static const char *const needed[] = {"layers", "hidden", "heads", "vocab"};
  LsTransformer t = {.learned_positions = TRUE,
                     .tied_embeddings = TRUE,
                     .biases = TRUE,
                     .causal = TRUE,
                     .max_seq = 2048};
  gboolean complete = TRUE;

  for (guint i = 0; i < G_N_ELEMENTS (needed); i++) {
    g_autofree char *path = g_strconcat (MODEL ".", needed[i], NULL);

    if (ls_config_has (config, path))
      continue;
    ls_config_error_at (config, errors, MODEL,
                        "%s is missing; give a preset, or layers, hidden, heads and vocab",
                        needed[i]);
    complete = FALSE;
  }
  read_sizes (config, &t);
  if (!complete)
    return NULL;
  t.kv_heads = t.kv_heads > 0 ? t.kv_heads : t.heads;
  t.ffn = t.ffn > 0 ? t.ffn : 4 * t.hidden;
  return ls_model_new_transformer ("transformer", &t);
}

/* Weights of all blocks, or more; of the ends, their largest. In double, since it may leave 64 bits. */
static double most_weights (const LsTransformer *t) {
  const LsLatent *l = &t->latent;
  const LsExperts *e = &t->experts;
  const double hidden = (double) t->hidden, heads = (double) t->heads;
  const double ranks = (double) l->q_rank + (double) l->kv_rank;
  double widths = 4 * heads * (double) t->head_dim + 3 * (double) t->ffn +
                  3 * (double) e->count * (double) e->ffn + 3 * (double) e->shared_ffn;

  if (l->kv_rank > 0)
    widths += ranks + heads * ((double) l->nope + (double) l->rope + (double) l->value) *
                          (1 + ranks / hidden);
  return MAX ((double) t->layers * hidden * widths, hidden * (double) MAX (t->vocab, t->max_seq));
}

/* Sizes that contradict each other. head_dim follows from hidden and heads unless it was given. */
static gboolean check_transformer (LsConfig *config, LsConfigErrors *errors, LsTransformer *t) {
  gboolean fine = TRUE;

  /* Latent attention's heads have widths of their own. */
  if (t->latent.kv_rank == 0 && (t->head_dim == 0 || (!ls_config_has (config, MODEL ".head_dim") &&
                                                      (ls_config_has (config, MODEL ".hidden") ||
                                                       ls_config_has (config, MODEL ".heads"))))) {
    if (t->hidden % t->heads != 0) {
      ls_config_error_at (config, errors, MODEL ".heads",
                          "%" G_GINT64_FORMAT " heads do not divide hidden = %" G_GINT64_FORMAT
                          "; use a divisor or give head_dim",
                          t->heads, t->hidden);
      fine = FALSE;
    } else {
      t->head_dim = t->hidden / t->heads;
    }
  }
  if (t->heads % t->kv_heads != 0) {
    ls_config_error_at (config, errors,
                        ls_config_has (config, MODEL ".kv_heads") ? MODEL ".kv_heads"
                                                                  : MODEL ".heads",
                        "%" G_GINT64_FORMAT " key and value heads do not divide %" G_GINT64_FORMAT
                        " heads; use a divisor",
                        t->kv_heads, t->heads);
    fine = FALSE;
  }
  if (t->window > 0 && !t->causal) {
    ls_config_error_at (config, errors,
                        ls_config_has (config, MODEL ".window") ? MODEL ".window" : MODEL ".causal",
                        "a window looks back from each token; it needs causal: true");
    fine = FALSE;
  }
  if (t->window == 0)
    ls_config_no_effect (config, MODEL ".full_every", "model.window is 0");
  if (most_weights (t) > SIZE_MAX_TOTAL || (double) t->heads * (double) t->head_dim > 1e9 ||
      t->layers > 1000000) {
    ls_config_error_at (config, errors, MODEL, "the model is too large to simulate");
    fine = FALSE;
  }
  return fine;
}

/* --- networks of elements ------------------------------------------------------------------- */

typedef struct {
  char *name;
  char *path;      /* "workload.model.elements.NAME" */
  int after, with; /* numbers of elements; -1: the sample, or none */
  gboolean done;
  LsElement element;
} Node;

typedef struct {
  LsConfig *config;
  LsConfigErrors *errors;
  GArray *nodes; /* Node */
  gboolean fine;
} Graph;

static Node *node_at (Graph *graph, int i) {
  return &g_array_index (graph->nodes, Node, (guint) i);
}

static void clear_node (gpointer data) {
  Node *node = data;

  g_free (node->name);
  g_free (node->path);
  g_free (node->element.block);
}

static gint64 element_int (Graph *graph, const Node *node, const char *key) {
  g_autofree char *path = g_strconcat (node->path, ".", key, NULL);

  return ls_config_get_int (graph->config, path);
}

static const char *element_text (Graph *graph, const Node *node, const char *key) {
  g_autofree char *path = g_strconcat (node->path, ".", key, NULL);

  return ls_config_has (graph->config, path) ? ls_config_get_string (graph->config, path) : NULL;
}

G_GNUC_PRINTF (4, 5)
static void element_fault (Graph *graph, const Node *node, const char *key, const char *format,
                           ...) {
  g_autofree char *path = g_strconcat (node->path, key != NULL ? "." : NULL, key, NULL);
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  ls_config_error_at (graph->config, graph->errors, path, "%s", message);
  graph->fine = FALSE;
}

/* Number of the element that a key names; -1 when the key is absent, after a fault when unknown. */
static int element_link (Graph *graph, const Node *node, const char *key,
                         const char *const *names) {
  const char *name = element_text (graph, node, key);
  const char *near = NULL;

  if (name == NULL)
    return -1;
  for (guint i = 0; i < graph->nodes->len; i++)
    if (strcmp (node_at (graph, (int) i)->name, name) == 0)
      return (int) i;
  near = ls_nearest (name, names);
  element_fault (graph, node, key, "there is no element \"%s\"%s%s%s", name,
                 near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
                 near != NULL ? "\"" : "");
  return -1;
}

static LsElementKind element_kind (Graph *graph, const Node *node) {
  const char *word = element_text (graph, node, "kind");
  guint kind = 0;

  while (kind + 1 < LS_N_ELEMENTS && g_strcmp0 (ls_element_name ((LsElementKind) kind), word) != 0)
    kind++;
  return (LsElementKind) kind;
}

static void read_nodes (Graph *graph) {
  g_auto (GStrv) names = ls_config_get_names (graph->config, MODEL ".elements");

  for (char **name = names; *name != NULL; name++) {
    Node node = {.name = g_strdup (*name),
                 .path = ls_config_path ("workload", "model", "elements", *name, NULL)};

    g_array_append_val (graph->nodes, node);
  }
  for (guint i = 0; i < graph->nodes->len; i++) {
    Node *node = node_at (graph, (int) i);
    const char *block = element_text (graph, node, "block");
    g_autofree char *bias = g_strconcat (node->path, ".bias", NULL);

    node->after = element_link (graph, node, "after", (const char *const *) names);
    node->with = element_link (graph, node, "with", (const char *const *) names);
    node->element.name = node->name;
    node->element.block = g_strdup (block != NULL ? block : node->name);
    node->element.kind = element_kind (graph, node);
    if (node->element.kind == LS_ELEMENT_EMBEDDING_TABLES ||
        node->element.kind == LS_ELEMENT_INTERACTION)
      element_fault (graph, node, "kind", "only the preset dlrm-mlperf has such elements");
    node->element.kernel_height = node->element.kernel_width = element_int (graph, node, "kernel");
    node->element.stride = element_int (graph, node, "stride");
    node->element.groups = element_int (graph, node, "groups");
    node->element.bias = ls_config_get_bool (graph->config, bias);
    if (node->element.kind == LS_ELEMENT_ADD && element_text (graph, node, "with") == NULL)
      element_fault (graph, node, NULL, "with is missing; name the element whose output is added");
  }
}

/* Output shape from the input's; faults when a size is missing or does not fit. */
static void set_shape (Graph *graph, Node *node) {
  LsElement *e = &node->element;
  g_autofree char *out = g_strconcat (node->path, ".out", NULL);
  const gboolean makes = e->kind == LS_ELEMENT_CONVOLUTION || e->kind == LS_ELEMENT_LINEAR;
  const gboolean windowed = e->kind == LS_ELEMENT_CONVOLUTION || e->kind == LS_ELEMENT_MAX_POOL;

  e->out_channels = e->in_channels;
  e->out_height = windowed ? (e->in_height + e->stride - 1) / e->stride : e->in_height;
  e->out_width = windowed ? (e->in_width + e->stride - 1) / e->stride : e->in_width;
  if (e->kind == LS_ELEMENT_AVERAGE_POOL)
    e->out_height = e->out_width = 1;
  if (e->kind == LS_ELEMENT_LINEAR) {
    e->in_channels *= e->in_height * e->in_width; /* flattened */
    e->in_height = e->in_width = e->out_height = e->out_width = 1;
  }
  if (makes && !ls_config_has (graph->config, out))
    element_fault (graph, node, NULL, "out is missing; give the channels or features it makes");
  else if (makes)
    e->out_channels = ls_config_get_int (graph->config, out);
  else
    ls_config_no_effect (graph->config, out, "this kind keeps the channels of its input");
  if (e->kind == LS_ELEMENT_CONVOLUTION &&
      (e->in_channels % e->groups != 0 || e->out_channels % e->groups != 0))
    element_fault (graph, node, "groups",
                   "%" G_GINT64_FORMAT " groups do not divide %" G_GINT64_FORMAT
                   " input and %" G_GINT64_FORMAT " output channels",
                   e->groups, e->in_channels, e->out_channels);
  if ((double) e->out_channels * (double) e->out_height * (double) e->out_width > SIZE_MAX_TOTAL ||
      (double) e->in_channels * (double) e->out_channels > SIZE_MAX_TOTAL)
    element_fault (graph, node, NULL, "the element is too large to simulate");
}

static gboolean keeps_same_shape (const LsElement *a, const LsElement *b) {
  return a->out_channels == b->out_channels && a->out_height == b->out_height &&
         a->out_width == b->out_width;
}

/* Runs one element: shapes from what it reads, then into the model. */
static void place (Graph *graph, LsModel *model, int i, const LsElement *sample) {
  Node *node = node_at (graph, i);
  const LsElement *input = node->after >= 0 ? &node_at (graph, node->after)->element : sample;

  node->done = TRUE;
  node->element.in_channels = input->out_channels;
  node->element.in_height = input->out_height;
  node->element.in_width = input->out_width;
  for (guint k = 0; k < graph->nodes->len && !node->element.shares_input; k++)
    node->element.shares_input = (int) k != i && node_at (graph, (int) k)->done &&
                                 node_at (graph, (int) k)->after == node->after;
  set_shape (graph, node);
  if (node->with >= 0 && !keeps_same_shape (&node->element, &node_at (graph, node->with)->element))
    element_fault (graph, node, "with", "the two inputs of an add have different shapes");
  ls_model_append (model, &node->element);
}

/* The next element whose inputs are there, the first by name; -1 when none is. */
static int next_ready (Graph *graph) {
  for (guint i = 0; i < graph->nodes->len; i++) {
    const Node *node = node_at (graph, (int) i);

    if (!node->done && (node->after < 0 || node_at (graph, node->after)->done) &&
        (node->with < 0 || node_at (graph, node->with)->done))
      return (int) i;
  }
  return -1;
}

/* Elements of a block must follow each other, or a block could not be one layer. */
static void check_blocks (Graph *graph, const LsModel *model) {
  for (guint i = 2; i < model->n_elements; i++)
    for (guint k = 0; k + 1 < i; k++)
      if (strcmp (model->elements[i].block, model->elements[k].block) == 0 &&
          strcmp (model->elements[i].block, model->elements[i - 1].block) != 0) {
        ls_config_error_at (graph->config, graph->errors, MODEL ".elements",
                            "block \"%s\" is interrupted by \"%s\" of block \"%s\"; elements of a "
                            "block run one after another",
                            model->elements[i].block, model->elements[i - 1].name,
                            model->elements[i - 1].block);
        graph->fine = FALSE;
        return;
      }
}

static LsModel *read_elements (LsConfig *config, LsConfigErrors *errors) {
  Graph graph = {config, errors, g_array_new (FALSE, TRUE, sizeof (Node)), TRUE};
  g_autoptr (LsModel) model = ls_model_new_layers ("layers");
  const LsElement sample = {.out_channels = ls_config_get_int (config, MODEL ".input.channels"),
                            .out_height = ls_config_get_int (config, MODEL ".input.height"),
                            .out_width = ls_config_get_int (config, MODEL ".input.width")};

  g_array_set_clear_func (graph.nodes, clear_node);
  read_nodes (&graph);
  if (graph.nodes->len == 0 || graph.nodes->len > LS_ELEMENTS_MAX) {
    ls_config_error_at (config, errors, MODEL, "needs from 1 to %d elements; has %u",
                        LS_ELEMENTS_MAX, graph.nodes->len);
    graph.fine = FALSE;
  }
  for (int i = graph.fine ? next_ready (&graph) : -1; i >= 0; i = next_ready (&graph))
    place (&graph, model, i, &sample);
  if (graph.fine && model->n_elements < graph.nodes->len) {
    ls_config_error_at (config, errors, MODEL ".elements",
                        "the elements read each other in a circle; follow `after` and `with`");
    graph.fine = FALSE;
  }
  if (graph.fine)
    check_blocks (&graph, model);
  g_array_unref (graph.nodes);
  return graph.fine ? g_steal_pointer (&model) : NULL;
}

/* --- both ----------------------------------------------------------------------------------- */

static const char *const transformer_keys[] = {
    "layers", "hidden",  "heads",          "kv_heads",   "head_dim",   "ffn",
    "vocab",  "max_seq", "activation",     "norm",       "positions",  "tied_embeddings",
    "biases", "dropout", "causal",         "qkv_biases", "qk_norm",    "experts",
    "latent", "mtp",     "embedding_norm", "window",     "full_every", "lora"};
static const char *const layers_keys[] = {"input", "elements"};
static const char *const traffic_keys[] = {"operation",  "size",      "groups",  "group_size",
                                           "interleave", "algorithm", "pattern", "shift",
                                           "gap",        "repeat"};

static void no_effect (LsConfig *config, const char *const *keys, guint n, const char *reason) {
  for (guint i = 0; i < n; i++) {
    g_autofree char *path = g_strconcat (MODEL ".", keys[i], NULL);

    ls_config_no_effect (config, path, reason);
  }
}

static LsModel *read_preset (LsConfig *config, LsConfigErrors *errors) {
  const char *name = ls_config_get_string (config, MODEL ".preset");
  g_autoptr (GError) error = NULL;
  LsModel *model = NULL;

  if (g_str_has_suffix (name, ".json")) {
    g_autofree char *path = ls_config_get_file (config, MODEL ".preset");

    model = ls_read_hf_config (config, errors, MODEL ".preset", path);
  } else if ((model = ls_model_new_preset (name, &error)) == NULL)
    ls_config_error_at (config, errors, MODEL ".preset", "%s", error->message);
  return model;
}

static LsModel *read_timed (LsConfig *config, LsConfigErrors *errors) {
  no_effect (config, transformer_keys, G_N_ELEMENTS (transformer_keys),
             "only a transformer has it");
  no_effect (config, layers_keys, G_N_ELEMENTS (layers_keys), "only with model.kind layers");
  return ls_update_read_timed_model (config, errors);
}

LsModel *ls_workload_read_model (LsConfig *config, LsConfigErrors *errors) {
  const gboolean preset = ls_config_has (config, MODEL ".preset");
  const gboolean kind = !preset || ls_config_has (config, MODEL ".kind");
  const gboolean elements =
      kind && g_strcmp0 (ls_config_get_string (config, MODEL ".kind"), "layers") == 0;
  if (kind && g_strcmp0 (ls_config_get_string (config, MODEL ".kind"), "timed") == 0)
    return read_timed (config, errors);
  g_autoptr (LsModel) model = preset     ? read_preset (config, errors)
                              : elements ? read_elements (config, errors)
                                         : read_transformer (config, errors);

  if (model == NULL)
    return NULL;
  no_effect (config, traffic_keys, G_N_ELEMENTS (traffic_keys), "only with model.kind traffic");
  if (preset && kind && elements != (model->kind == LS_MODEL_LAYERS)) {
    ls_config_error_at (config, errors, MODEL ".kind",
                        "the preset %s is of the other kind; drop one of the two", model->name);
    return NULL;
  }
  if (model->kind == LS_MODEL_LAYERS) {
    no_effect (config, transformer_keys, G_N_ELEMENTS (transformer_keys),
               "only a transformer has it");
    if (preset)
      no_effect (config, layers_keys, G_N_ELEMENTS (layers_keys), "the preset gives the elements");
    return g_steal_pointer (&model);
  }
  no_effect (config, layers_keys, G_N_ELEMENTS (layers_keys), "only with model.kind layers");
  if (preset)
    read_sizes (config, &model->transformer);
  const gboolean latent = ls_read_latent (config, errors, &model->transformer);
  const gboolean experts = ls_read_experts (config, errors, &model->transformer);
  const gboolean lora = ls_read_lora (config, errors, &model->transformer);
  if (!check_transformer (config, errors, &model->transformer) || !latent || !experts || !lora)
    return NULL;
  return g_steal_pointer (&model);
}
