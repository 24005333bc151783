/*
 * From files and options to a resolved scenario: read, expand, layer, check.
 *
 * Each option is a small document of its own, made of the segments of its path around the parsed
 * value, so that options obey the same rules of short forms and layering as files do.
 */
#include "base/assert.h"
#include "config/check.h"
#include "config/document.h"
#include "config/layer.h"
#include "config/path.h"
#include "config/sugar.h"

#include <string.h>

typedef enum { LAYER_FILE, LAYER_TEXT, LAYER_SET, LAYER_OPTION, LAYER_UNSET } LayerKind;

typedef struct {
  LayerKind kind;
  char *name; /* file name, or "--set #2" */
  char *text; /* of a text, an assignment or a path */
  gsize length;
} Layer;

struct LsConfigBuilder {
  const LsConfigSchema *schema;
  GPtrArray *files;    /* Layer */
  GPtrArray *options;  /* Layer, over all files */
  GPtrArray *optional; /* names of top-level keys */
  guint sets;
  guint unsets;
};

static void layer_free (gpointer data) {
  Layer *layer = data;

  g_free (layer->name);
  g_free (layer->text);
  g_free (layer);
}

static void add_layer (GPtrArray *layers, LayerKind kind, char *name, const char *text,
                       gsize length) {
  Layer *layer = g_new0 (Layer, 1);

  layer->kind = kind;
  layer->name = name;
  layer->text = g_malloc (length + 1);
  if (length > 0)
    memcpy (layer->text, text, length);
  layer->text[length] = '\0';
  layer->length = length;
  g_ptr_array_add (layers, layer);
}

LsConfigBuilder *ls_config_builder_new (const LsConfigSchema *schema) {
  LsConfigBuilder *builder = g_new0 (LsConfigBuilder, 1);

  builder->schema = schema;
  builder->files = g_ptr_array_new_with_free_func (layer_free);
  builder->options = g_ptr_array_new_with_free_func (layer_free);
  builder->optional = g_ptr_array_new_with_free_func (g_free);
  return builder;
}

void ls_config_builder_free (LsConfigBuilder *builder) {
  if (builder == NULL)
    return;
  g_ptr_array_unref (builder->files);
  g_ptr_array_unref (builder->options);
  g_ptr_array_unref (builder->optional);
  g_free (builder);
}

void ls_config_builder_add_file (LsConfigBuilder *builder, const char *path) {
  add_layer (builder->files, LAYER_FILE, g_strdup (path), "", 0);
}

void ls_config_builder_add_text (LsConfigBuilder *builder, const char *name, const char *text,
                                 gssize length) {
  add_layer (builder->files, LAYER_TEXT, g_strdup (name), text,
             length < 0 ? strlen (text) : (gsize) length);
}

void ls_config_builder_set (LsConfigBuilder *builder, const char *assignment) {
  add_layer (builder->options, LAYER_SET, g_strdup_printf ("--set #%u", ++builder->sets),
             assignment, strlen (assignment));
}

void ls_config_builder_unset (LsConfigBuilder *builder, const char *path) {
  add_layer (builder->options, LAYER_UNSET, g_strdup_printf ("--unset #%u", ++builder->unsets),
             path, strlen (path));
}

void ls_config_builder_set_as (LsConfigBuilder *builder, const char *option, const char *path,
                               const char *value) {
  g_autofree char *assignment = g_strdup_printf ("%s=%s", path, value);

  add_layer (builder->options, LAYER_OPTION, g_strdup (option), assignment, strlen (assignment));
}

void ls_config_builder_optional (LsConfigBuilder *builder, const char *key) {
  g_ptr_array_add (builder->optional, g_strdup (key));
}

/* Puts @value (transfer full) at the end of a path of new maps; empties @segments. A map that the
 * schema knows as a list becomes a patch when the next segment is an index. */
static LsConfigNode *wrap_in_path (const LsConfigSchema *schema, const char *path, char **segments,
                                   const char *file, LsConfigNode *value) {
  guint count = g_strv_length (segments);

  for (guint i = count; i-- > 0;) {
    LsConfigPosition position = {file, 0, 1 + ls_config_path_offset (path, i)};
    LsConfigNode *map = ls_config_node_new_map (position);
    g_autofree char *next = g_steal_pointer (&segments[i]);
    const LsSchemaNode *parent = ls_schema_walk (ls_schema_root (schema), segments);

    if (i > 0 && parent != NULL && ls_schema_is_list (parent) && ls_config_path_index (next) >= 0)
      map->kind = LS_CONFIG_NODE_PATCH;
    ls_config_node_put (map, next, position, value);
    value = map;
  }
  return value;
}

/* Splits an option into the segments of its path and the offset of its value (the end of the text
 * for --unset). NULL after an error. */
static char **split_option (const Layer *layer, const char *file, int *value,
                            LsConfigErrors *errors) {
  int end = layer->kind == LAYER_UNSET ? -1 : ls_config_path_end (layer->text);
  g_autofree char *path =
      g_strchomp (end < 0 ? g_strdup (layer->text) : g_strndup (layer->text, (gsize) end));
  g_autoptr (GError) error = NULL;
  int column = 0;
  g_auto (GStrv) segments = ls_config_path_split (path, &column, &error);
  LsConfigPosition position = {file, 0, 1 + column};

  *value = end < 0 ? (int) layer->length : end + 1;
  if (layer->kind != LAYER_UNSET && end < 0 && (segments != NULL || path[0] == '\0')) {
    ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, position,
                          "'%s' sets nothing; write PATH=VALUE, for instance cluster.nodes=16",
                          layer->text);
    return NULL;
  }
  if (segments == NULL)
    ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, position, "%s", error->message);
  return g_steal_pointer (&segments);
}

/* The document that an option stands for; NULL after an error. */
static LsConfigNode *read_option (const LsConfigBuilder *builder, const Layer *layer,
                                  GStringChunk *names, LsConfigErrors *errors) {
  const char *file = g_string_chunk_insert_const (names, layer->name);
  LsConfigPosition position = {file, 0, 1};
  int start = 0;
  g_auto (GStrv) segments = split_option (layer, file, &start, errors);
  /* The path of an option of its own was not written by the user. */
  int column = layer->kind == LAYER_OPTION ? 1 : start + 1;
  LsConfigNode *value;

  if (segments == NULL)
    return NULL;
  if (layer->kind == LAYER_UNSET)
    value = ls_config_node_new_scalar ("null", position);
  else
    value = ls_config_node_read_option (layer->name, layer->text + start, column, names, errors);
  if (value == NULL)
    return NULL;
  return wrap_in_path (builder->schema, layer->text, segments, file, value);
}

static LsConfigNode *read_layer (const LsConfigBuilder *builder, const Layer *layer,
                                 GStringChunk *names, LsConfigErrors *errors) {
  LsConfigNode *root;

  switch (layer->kind) {
  case LAYER_FILE:
    root = ls_config_node_read_file (layer->name, names, errors);
    break;
  case LAYER_TEXT:
    root = ls_config_node_read_text (layer->name, layer->text, layer->length, names, errors);
    break;
  default:
    root = read_option (builder, layer, names, errors);
    break;
  }
  if (root != NULL && root->kind != LS_CONFIG_NODE_MAP && root->kind != LS_CONFIG_NODE_PATCH) {
    ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, root->position,
                          "a scenario is a map of keys; for instance 'lockstep: 1' and 'cluster: "
                          "...'");
    g_clear_pointer (&root, ls_config_node_free);
  }
  return root;
}

/* Is there a value at the end of the single path of @option? */
static gboolean has_target (const LsConfigNode *document, const LsConfigNode *option) {
  const LsConfigEntry *entry;
  const LsConfigNode *below;

  if (option->entries == NULL)
    return document != NULL && !ls_config_node_is_null (document);
  entry = option->entries->pdata[0];
  below = ls_config_node_get (document, entry->key);
  if (document != NULL && document->kind == LS_CONFIG_NODE_LIST) {
    int index = ls_config_path_index (entry->key);

    below =
        index >= 0 && (guint) index < document->items->len ? document->items->pdata[index] : NULL;
  }
  return has_target (below, entry->value);
}

/* An --unset of what is not there does nothing, and says so; FALSE then. A path that the schema does
 * not know goes on to be refused as an unknown key. */
static gboolean has_effect (const LsConfigBuilder *builder, const Layer *layer,
                            const LsConfig *config, const LsConfigNode *option,
                            LsConfigErrors *errors) {
  if (layer->kind != LAYER_UNSET || option->entries->len == 0 ||
      ls_config_schema_find (builder->schema, layer->text) == NULL ||
      has_target (config->root, option))
    return TRUE;
  ls_config_errors_add (errors, LS_CONFIG_FAULT_WARNING, option->position,
                        "%s is not given; there is nothing to remove", layer->text);
  return FALSE;
}

/* Texts about the whole scenario: of files laid on one another each has said its part. */
static void join_texts (const LsConfigNode *lower, const LsConfigNode *upper,
                        const LsSchemaNode *schema) {
  for (guint i = 0; i < upper->entries->len; i++) {
    const LsConfigEntry *entry = upper->entries->pdata[i];
    const LsSchemaNode *child = ls_schema_child (schema, entry->key);
    const LsConfigNode *old = ls_config_node_get (lower, entry->key);
    LsConfigNode *text = entry->value;

    if (child == NULL || child->row == NULL || !(child->row->flags & LS_CONFIG_JOINED) ||
        old == NULL || old->kind != LS_CONFIG_NODE_SCALAR || ls_config_node_is_null (old) ||
        text->kind != LS_CONFIG_NODE_SCALAR || ls_config_node_is_null (text))
      continue;
    if (!g_str_equal (old->text, text->text)) {
      char *joined = g_strconcat (old->text, "; ", text->text, NULL);
      g_free (text->text);
      text->text = joined;
      text->length = strlen (joined);
    }
  }
}

/* Reads and merges some layers; FALSE when one of them could not be read. */
static gboolean merge_layers (const LsConfigBuilder *builder, const GPtrArray *layers,
                              LsConfig *config, LsConfigLosses *losses, LsConfigErrors *errors) {
  const LsSchemaNode *schema = ls_schema_root (builder->schema);
  gboolean complete = TRUE;

  for (guint i = 0; i < layers->len; i++) {
    LsConfigNode *node = read_layer (builder, layers->pdata[i], config->names, errors);

    if (node == NULL) {
      complete = FALSE;
      continue;
    }
    ls_config_sugar_expand (node, schema, errors);
    if (!has_effect (builder, layers->pdata[i], config, node, errors)) {
      ls_config_node_free (node);
      continue;
    }
    if (config->root->position.file == NULL)
      config->root->position = node->position;
    if (layers == builder->files)
      join_texts (config->root, node, schema);
    ls_config_layer_merge (config->root, node, schema, losses, errors);
  }
  return complete;
}

/* Faults come in the order of files and options, whoever finds them. */
static void know_layers (const GPtrArray *layers, LsConfigErrors *errors) {
  for (guint i = 0; i < layers->len; i++)
    ls_config_errors_know (errors, ((const Layer *) layers->pdata[i])->name);
}

static int compare_paths (gconstpointer a, gconstpointer b, gpointer unused) {
  (void) unused;
  return strcmp (a, b);
}

LsConfig *ls_config_builder_build (LsConfigBuilder *builder, LsConfigErrors *errors) {
  g_autoptr (LsConfig) config = g_new0 (LsConfig, 1);
  g_autoptr (LsConfigLosses) losses = ls_config_losses_new ();
  guint before = ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR);
  gboolean complete;
  guint after;

  config->schema = builder->schema;
  config->names = g_string_chunk_new (256);
  config->no_effect = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  config->settled = ls_config_settled_table ();
  config->defaults = g_tree_new_full (compare_paths, NULL, g_free, NULL);
  config->inert = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  config->root = ls_config_node_new_map ((LsConfigPosition){NULL, 0, 0});
  know_layers (builder->files, errors);
  know_layers (builder->options, errors);
  complete = merge_layers (builder, builder->files, config, losses, errors);
  complete = merge_layers (builder, builder->options, config, losses, errors) && complete;
  ls_config_losses_warn (losses, config->root, errors);
  if (!complete)
    return NULL;
  after = ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR);
  if (config->root->position.file != NULL)
    config->root->position = (LsConfigPosition){config->root->position.file, 1, 1};
  g_ptr_array_add (builder->optional, NULL);
  config->readable =
      ls_config_check (config->root, ls_schema_root (builder->schema),
                       (const char *const *) builder->optional->pdata, after != before, errors);
  g_ptr_array_set_size (builder->optional, (int) builder->optional->len - 1);
  config->readable = config->readable && after == before;
  return g_steal_pointer (&config);
}
