/*
 * Expansion of short forms in one layer, top down.
 *
 * At each map, first scalars that stand where a map is wanted are wrapped, then aliases are moved
 * to their targets (which may then exist already and are joined), then the values are expanded in
 * turn. So a target is always expanded after everything has arrived in it. Example:
 *     {nic: cx7, nics: 8}  ->  {nic: cx7, nics: {compute: {count: 8}}}
 *                          ->  {nics: {compute: {count: 8, preset: cx7}}}
 *
 * Invariant: no key is lost without an error. Cost: linear in the layer.
 */
#include "config/sugar.h"

#include "config/path.h"

#include <string.h>

typedef struct {
  LsConfigErrors *errors;
  GString *path; /* of the map being expanded */
} Expansion;

/* Does a scalar read as a number or a quantity rather than as a name? */
static gboolean looks_numeric (const char *text) {
  if (*text == '+' || *text == '-')
    text++;
  if (*text == '.')
    text++;
  return g_ascii_isdigit (*text);
}

/* The words that the key behind .word takes, so that a name may begin with a digit. */
static gboolean is_known_word (const LsSchemaNode *schema, const char *text) {
  g_auto (GStrv) segments = ls_config_path_split (schema->row->word, NULL, NULL);
  const LsSchemaNode *target = segments != NULL ? ls_schema_walk (schema, segments) : NULL;
  const char *const *choices =
      target != NULL && target->row != NULL ? ls_config_key_choices (target->row) : NULL;

  return choices != NULL && g_strv_contains (choices, text);
}

static const char *wrapping_path (const LsSchemaNode *schema, const LsConfigNode *node) {
  const LsConfigKey *row = schema->row;

  if (row->word != NULL && is_known_word (schema, node->text))
    return row->word;
  if (row->number != NULL && looks_numeric (node->text))
    return row->number;
  return row->word;
}

/* Wraps a scalar that stands where a map is wanted: "llama" becomes {preset: llama}. Returns @node
 * itself when there is nothing to do (transfer full both ways). */
static LsConfigNode *wrap (LsConfigNode *node, const LsSchemaNode *schema) {
  g_auto (GStrv) segments = NULL;
  const char *path;

  if (schema == NULL || schema->row == NULL || schema->row->type != LS_CONFIG_MAP ||
      node->kind != LS_CONFIG_NODE_SCALAR || ls_config_node_is_null (node))
    return node;
  path = wrapping_path (schema, node);
  if (path == NULL)
    return node;
  segments = ls_config_path_split (path, NULL, NULL);
  for (guint i = g_strv_length (segments); i-- > 0;) {
    LsConfigNode *map = ls_config_node_new_map (node->position);

    ls_config_node_put (map, segments[i], node->position, node);
    node = map;
  }
  return node;
}

static char *path_of (const char *map_path, const char *key) {
  GString *path = g_string_new (map_path);

  ls_config_path_append (path, key);
  return g_string_free (path, FALSE);
}

/* @base and the way from there to what is given, as long as it is one. */
static char *only_path (const char *base, const LsConfigNode *node) {
  GString *path = g_string_new (base);

  while (node->kind == LS_CONFIG_NODE_MAP && node->entries->len == 1) {
    const LsConfigEntry *entry = node->entries->pdata[0];

    ls_config_path_append (path, entry->key);
    node = entry->value;
  }
  return g_string_free (path, FALSE);
}

void ls_config_sugar_refuse_names (LsConfigErrors *errors, const LsConfigEntry *entry,
                                   const LsConfigNode *names, const char *map_path) {
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_autofree char *list = NULL, *first = NULL, *rest = NULL;

  for (guint i = 0; i < names->entries->len; i++) {
    const LsConfigEntry *other = names->entries->pdata[i];

    if (other != entry && !ls_config_node_is_null (other->value))
      g_ptr_array_add (words, other->key);
  }
  first = path_of (map_path, words->len > 0 ? words->pdata[0] : "NAME");
  g_ptr_array_add (words, NULL);
  list = g_strjoinv (", ", (char **) words->pdata);
  rest = only_path (first, entry->value);
  ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, entry->position,
                        "'%s' is short for a key of %s.%s, but %s has %s; write %s%s", entry->alias,
                        map_path, entry->key, map_path, list, rest,
                        words->len > 2 ? ", or the same of another" : "");
}

static gboolean has_names (const LsConfigNode *map) {
  for (guint i = 0; i < map->entries->len; i++)
    if (!ls_config_node_is_null (((const LsConfigEntry *) map->entries->pdata[i])->value))
      return TRUE;
  return FALSE;
}

static void refuse_twice (Expansion *x, const LsConfigEntry *alias, const char *target,
                          LsConfigPosition other) {
  g_autofree char *place = ls_config_position_text (other);
  g_autofree char *full = path_of (x->path->str, alias->key);

  ls_config_errors_add (x->errors, LS_CONFIG_FAULT_ERROR, alias->position,
                        "%s is given twice; it means %s%s%s, which is also given at %s", full,
                        x->path->str, x->path->len > 0 ? "." : "", target, place);
}

/* Moves all entries of @from into @to; a key that both have is an error. */
static void join_maps (Expansion *x, LsConfigNode *to, LsConfigNode *from,
                       const LsConfigEntry *alias, const char *target) {
  while (from->entries->len > 0) {
    LsConfigEntry *entry = from->entries->pdata[0];
    LsConfigEntry *there = ls_config_node_entry (to, entry->key);

    if (there == NULL)
      g_ptr_array_add (to->entries, g_ptr_array_steal_index (from->entries, 0));
    else {
      if (there->value->kind == LS_CONFIG_NODE_MAP && entry->value->kind == LS_CONFIG_NODE_MAP)
        join_maps (x, there->value, entry->value, alias, target);
      else
        refuse_twice (x, alias, target, there->position);
      g_ptr_array_remove_index (from->entries, 0);
    }
  }
}

/* A copy of @value in the maps of @segments. */
static LsConfigNode *wrapped (char **segments, const LsConfigNode *value) {
  LsConfigNode *node = ls_config_node_copy (value);

  for (guint i = g_strv_length (segments); i-- > 0;) {
    LsConfigNode *map = ls_config_node_new_map (node->position);

    ls_config_node_put (map, segments[i], node->position, node);
    node = map;
  }
  return node;
}

/* The map at the first of @segments of @map, made if need be; NULL after an error. */
static LsConfigEntry *enter (Expansion *x, LsConfigNode *map, const LsSchemaNode *schema,
                             char **segments, const LsConfigEntry *alias, GString *path) {
  const char *segment = segments[0];
  LsConfigEntry *entry = ls_config_node_entry (map, segment);
  const LsSchemaNode *child = ls_schema_child (schema, segment);

  if (entry == NULL) {
    gboolean others = child != NULL && child == ls_schema_star (schema) && has_names (map);

    entry = ls_config_node_put (map, segment, alias->position,
                                ls_config_node_new_map (alias->position));
    entry->alias = g_strdup (alias->key);
    entry->implied = TRUE;
    if (others) {
      ls_config_node_free (entry->value);
      entry->value = wrapped (segments + 1, alias->value);
      ls_config_sugar_refuse_names (x->errors, entry, map, path->str);
      ls_config_node_free (ls_config_node_take (map, segment));
      return NULL;
    }
    return entry;
  }
  entry->value = wrap (entry->value, child);
  if (entry->value->kind != LS_CONFIG_NODE_MAP) {
    refuse_twice (x, alias, path->str, entry->position);
    return NULL;
  }
  return entry;
}

/* Puts the value of a short form where it belongs; takes the value out of @alias. */
static void move_to_target (Expansion *x, LsConfigNode *map, const LsSchemaNode *schema,
                            LsConfigEntry *alias, const char *target) {
  g_auto (GStrv) segments = ls_config_path_split (target, NULL, NULL);
  g_autoptr (GString) path = g_string_new (x->path->str);
  guint last = g_strv_length (segments) - 1;
  g_autoptr (LsConfigNode) value = NULL;
  LsConfigEntry *entry;

  for (guint i = 0; i < last; i++) {
    entry = enter (x, map, schema, segments + i, alias, path);
    if (entry == NULL)
      return;
    ls_config_path_append (path, segments[i]);
    schema = ls_schema_child (schema, segments[i]);
    map = entry->value;
  }
  schema = ls_schema_child (schema, segments[last]);
  value = wrap (g_steal_pointer (&alias->value), schema);
  entry = ls_config_node_entry (map, segments[last]);
  if (entry == NULL) {
    entry = ls_config_node_put (map, segments[last], alias->position, g_steal_pointer (&value));
    entry->alias = g_strdup (alias->key);
    return;
  }
  entry->value = wrap (entry->value, schema);
  if (entry->value->kind == LS_CONFIG_NODE_MAP && value->kind == LS_CONFIG_NODE_MAP)
    join_maps (x, entry->value, value, alias, target);
  else
    refuse_twice (x, alias, target, entry->position);
}

static void expand (Expansion *x, LsConfigNode *node, const LsSchemaNode *schema);

/* Removes one short form at a time, since moving it may add entries. */
static void move_aliases (Expansion *x, LsConfigNode *map, const LsSchemaNode *schema) {
  guint i = 0;

  while (i < map->entries->len) {
    LsConfigEntry *entry = map->entries->pdata[i];
    const LsSchemaNode *child = ls_schema_child (schema, entry->key);

    if (child == NULL || child->alias == NULL) {
      i++;
      continue;
    }
    entry = g_ptr_array_steal_index (map->entries, i);
    move_to_target (x, map, schema, entry, child->alias);
    g_free (entry->key);
    g_free (entry->alias);
    ls_config_node_free (entry->value);
    g_free (entry);
  }
}

static void expand_entries (Expansion *x, LsConfigNode *map, const LsSchemaNode *schema) {
  for (guint i = 0; i < map->entries->len; i++) {
    LsConfigEntry *entry = map->entries->pdata[i];

    entry->value = wrap (entry->value, ls_schema_child (schema, entry->key));
  }
  if (map->kind == LS_CONFIG_NODE_MAP)
    move_aliases (x, map, schema);
  for (guint i = 0; i < map->entries->len; i++) {
    LsConfigEntry *entry = map->entries->pdata[i];
    gsize length = x->path->len;

    ls_config_path_append (x->path, entry->key);
    expand (x, entry->value, ls_schema_child (schema, entry->key));
    g_string_truncate (x->path, length);
  }
}

static void expand (Expansion *x, LsConfigNode *node, const LsSchemaNode *schema) {
  if (schema == NULL || (schema->row != NULL && (schema->row->flags & LS_CONFIG_OPEN) != 0))
    return;
  if (node->entries != NULL)
    expand_entries (x, node, schema);
  for (guint i = 0; node->items != NULL && i < node->items->len; i++)
    expand (x, node->items->pdata[i], ls_schema_star (schema));
}

void ls_config_sugar_expand (LsConfigNode *root, const LsSchemaNode *schema,
                             LsConfigErrors *errors) {
  Expansion x = {.errors = errors, .path = g_string_new (NULL)};

  expand (&x, root, schema);
  g_string_free (x.path, TRUE);
}
