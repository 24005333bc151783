/*
 * One walk over document and schema that finds every fault of meaning.
 *
 * Model: the document is walked, the schema beside it; a key is unknown when the schema has no
 * child for it. Scalars are read once, by value.c, and the number stays in the node. Required keys
 * are looked for in every map that is there. A value that is refused leaves valid = FALSE in its
 * node, and getters then answer with the default, so that later checks can go on.
 *
 * Cost: linear in the document times the keys per map.
 */
#include "config/check.h"

#include "base/distance.h"
#include "base/error.h"
#include "config/path.h"
#include "config/suggest.h"
#include "config/value.h"

#include <string.h>

typedef struct {
  LsConfigErrors *errors;
  const LsSchemaNode *root;
  const char *const *optional;
  gboolean dropped;
  GString *path; /* as the user would write it */
  gboolean readable;
} Check;

static void check_value (Check *c, LsConfigNode *node, const LsSchemaNode *schema,
                         LsConfigPosition key);

G_GNUC_PRINTF (3, 4)
static void fault (Check *c, LsConfigPosition position, const char *format, ...) {
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  ls_config_errors_add (c->errors, LS_CONFIG_FAULT_ERROR, position, "%s", message);
  c->readable = FALSE;
}

static void not_yet (Check *c, LsConfigPosition position, const char *later) {
  ls_config_errors_add (c->errors, LS_CONFIG_FAULT_ERROR, position, "%s: not yet: %s", c->path->str,
                        later);
}

char *ls_config_resolve_file (LsConfigPosition position, const char *text) {
  g_autofree char *folder = NULL;

  if (g_path_is_absolute (text) || position.file == NULL || position.line == 0)
    return g_strdup (text);
  folder = g_path_get_dirname (position.file);
  return strcmp (folder, ".") == 0 ? g_strdup (text) : g_build_filename (folder, text, NULL);
}

static void check_file (Check *c, LsConfigNode *node) {
  g_autofree char *file = ls_config_resolve_file (node->position, node->text);

  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    fault (c, node->position,
           "%s: there is no file '%s'; names are relative to the file that holds them",
           c->path->str, file);
}

static const char *kind_phrase (const LsConfigNode *node) {
  switch (node->kind) {
  case LS_CONFIG_NODE_MAP:
    return "a map";
  case LS_CONFIG_NODE_LIST:
    return "a list";
  default:
    return ls_config_node_is_null (node) ? "nothing" : "a single value";
  }
}

static void check_scalar (Check *c, LsConfigNode *node, const LsSchemaNode *schema) {
  const LsConfigKey *row = schema->row;
  g_autoptr (GError) error = NULL;
  LsConfigValue value;

  if (node->kind != LS_CONFIG_NODE_SCALAR || ls_config_node_is_null (node)) {
    g_autofree char *takes = ls_config_key_takes (row);

    fault (c, node->position, "%s: %s stands here; takes %s", c->path->str, kind_phrase (node),
           takes);
    return;
  }
  if (!ls_config_value_read (row, node->text, &value, &error)) {
    g_autofree char *beside = ls_config_suggest_beside (schema, node->text);

    ls_config_errors_add (c->errors, LS_CONFIG_FAULT_ERROR, node->position, "%s: %s%s",
                          c->path->str, error->message, beside);
    c->readable = c->readable && error->code == LS_ERROR_UNSUPPORTED;
    return;
  }
  node->valid = TRUE;
  node->number = value.number;
  node->percent = value.percent;
  node->file = row->type == LS_CONFIG_FILE && !value.word;
  if (node->file)
    check_file (c, node);
}

/* {from, to, step | times}: what axes of studies are made of. */
static void check_range (Check *c, LsConfigNode *node) {
  static const char *const keys[] = {"from", "to", "step", "times", NULL};

  if (node->kind != LS_CONFIG_NODE_MAP) {
    fault (c, node->position, "%s: %s stands here; takes %s", c->path->str, kind_phrase (node),
           ls_config_type_phrase (LS_CONFIG_RANGE));
    return;
  }
  for (guint i = 0; i < node->entries->len; i++) {
    const LsConfigEntry *entry = node->entries->pdata[i];

    if (!g_strv_contains (keys, entry->key))
      fault (c, entry->position, "%s: unknown key '%s'; takes %s", c->path->str, entry->key,
             ls_config_type_phrase (LS_CONFIG_RANGE));
  }
  if (ls_config_node_get (node, "from") == NULL || ls_config_node_get (node, "to") == NULL ||
      (ls_config_node_get (node, "step") == NULL) == (ls_config_node_get (node, "times") == NULL))
    fault (c, node->position, "%s: not a range; takes %s", c->path->str,
           ls_config_type_phrase (LS_CONFIG_RANGE));
  else
    node->valid = TRUE;
}

static void unknown_key (Check *c, const LsConfigEntry *entry, const LsSchemaNode *schema) {
  g_autofree char *hint = ls_config_suggest_key (c->root, schema, entry->key);

  if (c->path->len > 0)
    ls_config_errors_add (c->errors, LS_CONFIG_FAULT_ERROR, entry->position,
                          "unknown key '%s' in %s%s", entry->key, c->path->str, hint);
  else
    ls_config_errors_add (c->errors, LS_CONFIG_FAULT_ERROR, entry->position, "unknown key '%s'%s",
                          entry->key, hint);
}

/* Names that the user gives: free, unless the row allows only some for now. */
static gboolean check_name (Check *c, const LsConfigEntry *entry, const LsSchemaNode *schema) {
  const LsConfigKey *row = schema->row;
  const char *const *names = row != NULL ? ls_config_key_choices (row) : NULL;
  g_autofree char *list = NULL;

  if (names == NULL || g_strv_contains (names, entry->key))
    return TRUE;
  list = ls_config_enumerate (names);
  if (row->later != NULL)
    ls_config_errors_add (c->errors, LS_CONFIG_FAULT_ERROR, entry->position,
                          "%s.%s: not yet: %s; for now the only name is %s", c->path->str,
                          entry->key, row->later, list);
  else
    fault (c, entry->position, "%s: unknown name '%s'; takes %s", c->path->str, entry->key, list);
  return FALSE;
}

static gboolean has_names (const LsConfigNode *map) {
  for (guint i = 0; map->entries != NULL && i < map->entries->len; i++)
    if (!ls_config_node_is_null (((const LsConfigEntry *) map->entries->pdata[i])->value))
      return TRUE;
  return FALSE;
}

/* Looks for a key at its place, or at the target of a short form. */
static gboolean is_missing (const LsConfigNode *map, const LsSchemaNode *schema,
                            const LsSchemaNode *child) {
  const LsConfigNode *node = map;
  g_auto (GStrv) segments =
      ls_config_path_split (child->alias != NULL ? child->alias : child->name, NULL, NULL);

  for (char **segment = segments; *segment != NULL && node != NULL; segment++) {
    /* A short form stands for a name of many ("main"): another name will do, and is asked itself. */
    if (schema != NULL && segment > segments && ls_schema_star (schema) != NULL &&
        ls_schema_child (schema, *segment) == ls_schema_star (schema) && has_names (node))
      return FALSE;
    node = ls_config_node_get (node, *segment);
    schema = ls_schema_child (schema, *segment);
  }
  return node == NULL || ls_config_node_is_null (node);
}

/* An unknown key that was surely meant to be this one has been reported already. */
static gboolean is_misspelt (const LsConfigNode *map, const LsSchemaNode *schema,
                             const char *name) {
  const char *const candidates[] = {name, NULL};

  for (guint i = 0; i < map->entries->len; i++) {
    const LsConfigEntry *entry = map->entries->pdata[i];

    if (ls_schema_child (schema, entry->key) == NULL && ls_nearest (entry->key, candidates) != NULL)
      return TRUE;
  }
  return FALSE;
}

static void missing_key (Check *c, const LsConfigNode *map, const LsSchemaNode *schema,
                         const LsSchemaNode *child) {
  const LsConfigEntry *entry = ls_config_node_entry (map, child->name);
  g_autoptr (GString) path = g_string_new (c->path->str);
  g_autofree char *takes = ls_config_key_takes (child->row);
  g_autofree char *forms = ls_config_short_forms (schema, child->name);

  ls_config_path_append (path, child->name);
  if (entry != NULL)
    fault (c, entry->position, "%s is needed, but null removes it here; takes %s", path->str,
           takes);
  else
    fault (c, map->position, "%s is missing%s; takes %s%s%s", path->str, forms, takes,
           child->row->remedy != NULL ? "; " : "",
           child->row->remedy != NULL ? child->row->remedy : "");
}

static void check_required (Check *c, const LsConfigNode *map, const LsSchemaNode *schema) {
  const GPtrArray *children = ls_schema_children (schema);

  for (guint i = 0; i < children->len; i++) {
    const LsSchemaNode *child = children->pdata[i];

    if (child->row == NULL || !(child->row->flags & LS_CONFIG_REQUIRED) ||
        (child->row->later != NULL && ls_config_key_choices (child->row) == NULL))
      continue;
    if (schema->parent == NULL && (c->dropped || g_strv_contains (c->optional, child->name)))
      continue;
    if (!is_missing (map, schema, child))
      continue;
    if (is_misspelt (map, schema, child->name))
      c->readable = FALSE; /* told, but whoever reads it would still find nothing */
    else
      missing_key (c, map, schema, child);
  }
}

static void check_entry (Check *c, LsConfigEntry *entry, const LsSchemaNode *child) {
  g_autofree char *outer = g_strdup (c->path->str);

  ls_config_path_append (c->path, entry->key);
  ls_config_shorten_path (c->path, entry, child);
  check_value (c, entry->value, child, entry->position);
  g_string_assign (c->path, outer);
}

static void check_map (Check *c, LsConfigNode *map, const LsSchemaNode *schema) {
  for (guint i = 0; i < map->entries->len; i++) {
    LsConfigEntry *entry = map->entries->pdata[i];
    const LsSchemaNode *child = ls_schema_child (schema, entry->key);

    if (child == NULL)
      unknown_key (c, entry, schema);
    else if (!ls_config_node_is_null (entry->value) &&
             (child != ls_schema_star (schema) || check_name (c, entry, schema)))
      check_entry (c, entry, child);
  }
  check_required (c, map, schema);
  map->valid = TRUE;
}

static void check_list (Check *c, LsConfigNode *list, const LsSchemaNode *schema) {
  const LsConfigKey *row = schema->row;

  list->valid = TRUE;
  for (guint i = 0; i < list->items->len; i++) {
    LsConfigNode *item = list->items->pdata[i];
    gsize length = c->path->len;

    g_string_append_printf (c->path, ".%u", i);
    if (row->type != LS_CONFIG_MAP)
      check_scalar (c, item, schema);
    else if (item->kind == LS_CONFIG_NODE_MAP && ls_schema_star (schema) != NULL)
      check_map (c, item, ls_schema_star (schema));
    else
      fault (c, item->position, "%s: %s stands here; takes a map", c->path->str,
             kind_phrase (item));
    g_string_truncate (c->path, length);
    list->valid = list->valid && item->valid;
  }
}

/* A key of a later feature may be given if it says what holds anyway. */
static gboolean is_neutral (const LsConfigNode *node, const LsConfigKey *row) {
  LsConfigValue given, neutral;

  if (row->default_text == NULL || node->kind != LS_CONFIG_NODE_SCALAR)
    return FALSE;
  if (strcmp (node->text, row->default_text) == 0)
    return TRUE;
  return ls_config_value_read (row, node->text, &given, NULL) && !given.word &&
         row->type >= LS_CONFIG_INTEGER && row->type <= LS_CONFIG_BOOLEAN &&
         ls_config_value_read (row, row->default_text, &neutral, NULL) && !neutral.word &&
         given.number == neutral.number;
}

static gboolean is_later (const LsConfigNode *node, const LsSchemaNode *schema) {
  const LsConfigKey *row = schema->row;

  if (row == NULL || row->later == NULL || is_neutral (node, row))
    return FALSE;
  /* A named map that only waits for more names. */
  return !(row->type == LS_CONFIG_MAP && ls_config_key_choices (row) != NULL);
}

static void check_map_value (Check *c, LsConfigNode *node, const LsSchemaNode *schema) {
  const LsConfigKey *row = schema->row;

  if (node->kind == LS_CONFIG_NODE_MAP && row != NULL && (row->flags & LS_CONFIG_OPEN))
    node->valid = TRUE;
  else if (node->kind == LS_CONFIG_NODE_MAP)
    check_map (c, node, schema);
  else {
    g_autofree char *takes =
        row != NULL ? ls_config_key_takes (row) : g_strdup (ls_config_type_phrase (LS_CONFIG_MAP));
    g_autofree char *keys = ls_config_list_keys (schema);

    fault (c, node->position, "%s: %s stands here; takes %s%s", c->path->str, kind_phrase (node),
           takes, keys);
  }
}

/* A word beside a list of numbers: "all". The words of a list of words are its items. */
static gboolean stands_for_list (const LsConfigNode *node, const LsConfigKey *row) {
  return node->kind == LS_CONFIG_NODE_SCALAR && row->type != LS_CONFIG_WORD &&
         ls_config_key_choices (row) != NULL &&
         g_strv_contains (ls_config_key_choices (row), node->text);
}

static void check_value (Check *c, LsConfigNode *node, const LsSchemaNode *schema,
                         LsConfigPosition key) {
  const LsConfigKey *row = schema->row;

  if (is_later (node, schema))
    not_yet (c, key, row->later);
  else if (ls_schema_is_map (schema))
    check_map_value (c, node, schema);
  else if (row == NULL || row->type == LS_CONFIG_ALIAS || row->type == LS_CONFIG_ANY)
    node->valid = TRUE;
  else if (row->type == LS_CONFIG_RANGE)
    check_range (c, node);
  else if (!ls_schema_is_list (schema))
    check_scalar (c, node, schema);
  else if (node->kind == LS_CONFIG_NODE_LIST)
    check_list (c, node, schema);
  else if ((row->flags & LS_CONFIG_ONE_OR_LIST) || stands_for_list (node, row))
    check_scalar (c, node, schema);
  else {
    g_autofree char *takes = ls_config_key_takes (row);

    fault (c, node->position, "%s: %s stands here; takes %s", c->path->str, kind_phrase (node),
           takes);
  }
}

gboolean ls_config_check (LsConfigNode *root, const LsSchemaNode *schema,
                          const char *const *optional, gboolean dropped, LsConfigErrors *errors) {
  static const char *const none[] = {NULL};
  Check c = {.errors = errors,
             .root = schema,
             .optional = optional != NULL ? optional : none,
             .dropped = dropped,
             .path = g_string_new (NULL),
             .readable = TRUE};

  check_map (&c, root, schema);
  g_string_free (c.path, TRUE);
  return c.readable;
}
