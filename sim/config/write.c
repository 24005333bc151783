/*
 * Writing a resolved scenario as YAML and JSON.
 *
 * Both walk document and schema together; removed keys (null) are left out. Order is that of the
 * layers; defaults that were read come after what was given in the same map. Values that are the
 * default of their key are marked so in a comment.
 */
#include "config/document.h"
#include "config/output.h"
#include "config/path.h"
#include "config/scalar.h"
#include "config/text.h"
#include "config/value.h"

#include <string.h>

#define YAML_INDENT 2

/* A list default "[a, b]" or a scalar. */
static LsConfigNode *default_node (const LsConfigKey *row) {
  LsConfigPosition nowhere = {NULL, 0, 0};
  const char *text = row->default_text;
  gsize length = strlen (text);
  g_autofree char *inner = NULL;
  g_auto (GStrv) items = NULL;
  LsConfigNode *list;

  if (length < 2 || text[0] != '[' || text[length - 1] != ']')
    return ls_config_node_new_scalar (text, nowhere);
  inner = g_strndup (text + 1, length - 2);
  items = g_strsplit (inner, ",", -1);
  list = ls_config_node_new_list (nowhere);
  for (char **item = items; inner[0] != '\0' && *item != NULL; item++)
    g_ptr_array_add (list->items, ls_config_node_new_scalar (g_strstrip (*item), nowhere));
  return list;
}

/* Puts the default of @path into @root, making the maps on the way. */
static void put_default (LsConfigNode *root, const LsSchemaNode *schema, const char *path) {
  LsConfigPosition nowhere = {NULL, 0, 0};
  g_auto (GStrv) segments = ls_config_path_split (path, NULL, NULL);
  guint last = g_strv_length (segments) - 1;
  LsConfigNode *map = root;

  for (guint i = 0; i < last; i++) {
    LsConfigNode *inner = ls_config_node_get (map, segments[i]);

    schema = ls_schema_child (schema, segments[i]);
    if (inner == NULL || ls_config_node_is_null (inner)) {
      inner = ls_config_node_new_map (nowhere);
      ls_config_node_put (map, segments[i], nowhere, inner);
    }
    if (inner->kind != LS_CONFIG_NODE_MAP)
      return; /* an item of a list: its map is complete as it stands */
    map = inner;
  }
  schema = ls_schema_child (schema, segments[last]);
  if (schema != NULL && schema->row != NULL)
    ls_config_node_put (map, segments[last], nowhere, default_node (schema->row));
}

typedef struct {
  const LsConfig *config;
  LsConfigNode *root;
} Defaults;

/* Was the key, or a map that holds it, declared to have no effect? Given, it would be warned about. */
static gboolean is_inert (const LsConfig *config, const char *path) {
  g_autofree char *outer = g_strdup (path);

  for (char *dot = outer; dot != NULL; dot = strrchr (outer, '.')) {
    if (dot != outer)
      *dot = 0;
    if (g_hash_table_contains (config->inert, outer))
      return TRUE;
  }
  return FALSE;
}

static gboolean put_one (gpointer path, gpointer unused, gpointer data) {
  Defaults *defaults = data;

  (void) unused;
  if (!is_inert (defaults->config, path))
    put_default (defaults->root, ls_schema_root (defaults->config->schema), path);
  return FALSE;
}

/* A copy of the document in which the defaults that were read stand as values without a position;
 * transfer full. */
static LsConfigNode *with_defaults (const LsConfig *config) {
  Defaults defaults = {config, ls_config_node_copy (config->root)};

  g_tree_foreach (config->defaults, put_one, &defaults);
  return defaults.root;
}

/* Is what was written the default of its key, given or not? Then a second writing says so too. */
static gboolean is_default (const char *written, const LsConfigNode *node, const LsConfigKey *row) {
  LsConfigValue value, preset;

  if (row == NULL || row->default_text == NULL)
    return FALSE;
  if (strcmp (written, row->default_text) == 0)
    return TRUE;
  return node->kind == LS_CONFIG_NODE_SCALAR && row->type >= LS_CONFIG_INTEGER &&
         row->type <= LS_CONFIG_BOOLEAN && ls_config_value_read (row, node->text, &value, NULL) &&
         ls_config_value_read (row, row->default_text, &preset, NULL) && !value.word &&
         !preset.word && value.number == preset.number && value.percent == preset.percent;
}

static void yaml_map (GString *out, const LsConfigNode *map, const LsSchemaNode *schema, int depth);

/* "[a, b]" with the items of a list of scalars. */
static void yaml_flow_list (GString *out, const LsConfigNode *list, const LsSchemaNode *schema) {
  const LsConfigKey *row = schema != NULL ? schema->row : NULL;

  g_string_append_c (out, '[');
  for (guint i = 0; i < list->items->len; i++) {
    const LsConfigNode *item = list->items->pdata[i];

    if (i > 0)
      g_string_append (out, ", ");
    if (item->kind == LS_CONFIG_NODE_SCALAR)
      ls_config_scalar_yaml (out, item, row);
    else if (item->kind == LS_CONFIG_NODE_LIST)
      yaml_flow_list (out, item, NULL);
    else
      g_string_append (out, "{}");
  }
  g_string_append_c (out, ']');
}

static gboolean holds_maps (const LsConfigNode *list) {
  for (guint i = 0; i < list->items->len; i++)
    if (((const LsConfigNode *) list->items->pdata[i])->kind == LS_CONFIG_NODE_MAP)
      return TRUE;
  return FALSE;
}

/* "- key: value" blocks: the first key stands on the line of the dash. */
static void yaml_block_list (GString *out, const LsConfigNode *list, const LsSchemaNode *schema,
                             int depth) {
  const LsSchemaNode *star = schema != NULL ? ls_schema_star (schema) : NULL;

  for (guint i = 0; i < list->items->len; i++) {
    g_autoptr (GString) block = g_string_new (NULL);
    const LsConfigNode *item = list->items->pdata[i];

    if (item->kind == LS_CONFIG_NODE_MAP)
      yaml_map (block, item, star, depth + 1);
    if (block->len == 0) {
      g_string_append_printf (out, "%*s- ", YAML_INDENT * depth, "");
      if (item->kind == LS_CONFIG_NODE_SCALAR)
        ls_config_scalar_yaml (out, item, NULL);
      else
        g_string_append (out, item->kind == LS_CONFIG_NODE_MAP ? "{}" : "[]");
      g_string_append_c (out, '\n');
      continue;
    }
    block->str[YAML_INDENT * depth] = '-';
    g_string_append (out, block->str);
  }
}

static void yaml_entry (GString *out, const LsConfigEntry *entry, const LsSchemaNode *child,
                        int depth) {
  const LsConfigNode *value = entry->value;
  const LsConfigKey *row = child != NULL ? child->row : NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (out, "%*s", YAML_INDENT * depth, "");
  ls_config_text_yaml (out, entry->key);
  g_string_append_c (out, ':');
  if (value->kind == LS_CONFIG_NODE_MAP) {
    g_autoptr (GString) inner = g_string_new (NULL);

    yaml_map (inner, value, child, depth + 1);
    g_string_append (out, inner->len > 0 ? "\n" : " {}\n");
    g_string_append (out, inner->str);
    return;
  }
  if (value->kind == LS_CONFIG_NODE_LIST && holds_maps (value)) {
    g_string_append_c (out, '\n');
    yaml_block_list (out, value, child, depth + 1);
    return;
  }
  if (value->kind == LS_CONFIG_NODE_LIST)
    yaml_flow_list (text, value, child);
  else
    ls_config_scalar_yaml (text, value, row);
  g_string_append_printf (out, " %s%s\n", text->str,
                          is_default (text->str, value, row) ? "  # default" : "");
}

static void yaml_map (GString *out, const LsConfigNode *map, const LsSchemaNode *schema,
                      int depth) {
  for (guint i = 0; i < map->entries->len; i++) {
    const LsConfigEntry *entry = map->entries->pdata[i];

    if (!ls_config_node_is_null (entry->value))
      yaml_entry (out, entry, ls_schema_child (schema, entry->key), depth);
  }
}

char *ls_config_to_yaml (const LsConfig *config, LsConfigWrite what) {
  GString *out = g_string_new (NULL);
  const LsSchemaNode *schema = ls_schema_root (config->schema);
  g_autoptr (LsConfigNode) full = what & LS_CONFIG_WRITE_DEFAULTS ? with_defaults (config) : NULL;

  yaml_map (out, full != NULL ? full : config->root, schema, 0);
  if (out->len == 0)
    g_string_append (out, "{}\n");
  return g_string_free (out, FALSE);
}

static void json_value (GString *out, const LsConfigNode *node, const LsSchemaNode *schema,
                        int indent, int depth);

static void json_map (GString *out, const LsConfigNode *map, const LsSchemaNode *schema, int indent,
                      int depth) {
  gboolean first = TRUE;

  g_string_append_c (out, '{');
  for (guint i = 0; i < map->entries->len; i++) {
    const LsConfigEntry *entry = map->entries->pdata[i];

    if (ls_config_node_is_null (entry->value))
      continue;
    ls_config_json_next (out, indent, depth + 1, &first);
    ls_config_json_key (out, entry->key);
    json_value (out, entry->value, ls_schema_child (schema, entry->key), indent, depth + 1);
  }
  if (!first)
    ls_config_json_break (out, indent, depth);
  g_string_append_c (out, '}');
}

static void json_list (GString *out, const LsConfigNode *list, const LsSchemaNode *schema,
                       int indent, int depth) {
  const LsSchemaNode *star = schema != NULL ? ls_schema_star (schema) : NULL;
  gboolean first = TRUE;

  g_string_append_c (out, '[');
  for (guint i = 0; i < list->items->len; i++) {
    const LsConfigNode *item = list->items->pdata[i];

    ls_config_json_next (out, holds_maps (list) ? indent : 0, depth + 1, &first);
    json_value (out, item, item->kind == LS_CONFIG_NODE_SCALAR ? schema : star, indent, depth + 1);
  }
  if (!first && holds_maps (list))
    ls_config_json_break (out, indent, depth);
  g_string_append_c (out, ']');
}

static void json_value (GString *out, const LsConfigNode *node, const LsSchemaNode *schema,
                        int indent, int depth) {
  if (node->kind == LS_CONFIG_NODE_MAP)
    json_map (out, node, schema, indent, depth);
  else if (node->kind == LS_CONFIG_NODE_LIST)
    json_list (out, node, schema, indent, depth);
  else if (ls_config_node_is_null (node))
    g_string_append (out, "null");
  else
    ls_config_scalar_json (out, node, schema != NULL ? schema->row : NULL);
}

char *ls_config_to_json (const LsConfig *config, LsConfigWrite what, int indent) {
  GString *out = g_string_new (NULL);
  g_autoptr (LsConfigNode) full = what & LS_CONFIG_WRITE_DEFAULTS ? with_defaults (config) : NULL;

  json_map (out, full != NULL ? full : config->root, ls_schema_root (config->schema), indent, 0);
  return g_string_free (out, FALSE);
}
