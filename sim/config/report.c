/*
 * Talking about keys: where they were given, what is wrong with them, which had no effect.
 */
#include "base/assert.h"
#include "config/document.h"
#include "config/path.h"
#include "config/suggest.h"

#include <string.h>

/* The place of the deepest given key on the way to @segments. */
static LsConfigPosition nearest_position (const LsConfig *config, char **segments) {
  for (guint count = g_strv_length (segments); count > 0; count--) {
    LsConfigFound found =
        ls_config_find_below (config->root, ls_schema_root (config->schema), segments);

    if (found.node != NULL)
      return found.entry != NULL ? found.entry->position : found.node->position;
    g_clear_pointer (&segments[count - 1], g_free);
  }
  return config->root->position;
}

/* The key itself when it was given: faults point at the value, which is what is wrong. */
static LsConfigPosition value_position (const LsConfig *config, const char *path) {
  LsConfigFound found = ls_config_find (config, path);

  if (found.node != NULL && found.node->kind == LS_CONFIG_NODE_SCALAR)
    return found.node->position;
  return ls_config_position (config, path);
}

LsConfigPosition ls_config_position (const LsConfig *config, const char *path) {
  g_autofree char *real = ls_config_redirected (config, path);
  g_auto (GStrv) segments = ls_config_path_split (real, NULL, NULL);

  LS_REQUIRE (segments != NULL, "'%s' is no path", path);
  return nearest_position (config, segments);
}

static void add_fault (const LsConfig *config, LsConfigErrors *errors, LsConfigFaultKind kind,
                       const char *path, const char *format, va_list args) {
  g_autofree char *message = g_strdup_vprintf (format, args);
  g_autofree char *real = ls_config_redirected (config, path);

  ls_config_errors_add (errors, kind, value_position (config, path), "%s: %s", real, message);
}

void ls_config_error_at (const LsConfig *config, LsConfigErrors *errors, const char *path,
                         const char *format, ...) {
  va_list args;

  va_start (args, format);
  add_fault (config, errors, LS_CONFIG_FAULT_ERROR, path, format, args);
  va_end (args);
}

void ls_config_warning_at (const LsConfig *config, LsConfigErrors *errors, const char *path,
                           const char *format, ...) {
  va_list args;

  va_start (args, format);
  add_fault (config, errors, LS_CONFIG_FAULT_WARNING, path, format, args);
  va_end (args);
}

void ls_config_no_effect (LsConfig *config, const char *path, const char *reason) {
  LsConfigFound found = ls_config_find (config, path);

  LS_REQUIRE (found.schema != NULL, "the schema has no key '%s'", path);
  if (found.node != NULL)
    g_hash_table_replace (config->no_effect, found.node, g_strdup (reason));
  else
    g_hash_table_add (config->inert, ls_config_full_path (config, path));
}

static void settled_free (gpointer data) {
  LsConfigSettled *settled = data;

  g_free (settled->value);
  g_free (settled->from);
  g_free (settled);
}

GHashTable *ls_config_settled_table (void) {
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, settled_free);
}

void ls_config_settled (LsConfig *config, const char *path, const char *from, const char *format,
                        ...) {
  LsConfigSettled *settled = g_new0 (LsConfigSettled, 1);
  va_list args;

  va_start (args, format);
  settled->value = g_strdup_vprintf (format, args);
  va_end (args);
  settled->from = g_strdup (from);
  g_hash_table_replace (config->settled, ls_config_full_path (config, path), settled);
}

const LsConfigSettled *ls_config_find_settled (const LsConfig *config, const char *path) {
  g_autofree char *full = ls_config_full_path (config, path);

  return g_hash_table_lookup (config->settled, full);
}

typedef struct {
  LsConfig *config;
  LsConfigErrors *errors;
  GString *path;
} Unused;

/* Has anything at or below @node been read, or been refused already? */
static gboolean is_touched (const LsConfig *config, const LsConfigNode *node) {
  if (node->used && node->kind == LS_CONFIG_NODE_SCALAR)
    return TRUE;
  if (!node->valid || g_hash_table_contains (config->no_effect, node))
    return TRUE;
  if (node->kind == LS_CONFIG_NODE_LIST && node->used)
    return TRUE;
  for (guint i = 0; node->items != NULL && i < node->items->len; i++)
    if (is_touched (config, node->items->pdata[i]))
      return TRUE;
  for (guint i = 0; node->entries != NULL && i < node->entries->len; i++) {
    const LsConfigEntry *entry = node->entries->pdata[i];

    if (!ls_config_node_is_null (entry->value) && is_touched (config, entry->value))
      return TRUE;
  }
  return node->entries != NULL && node->entries->len == 0;
}

/* What the schema does not look into is read as a whole. */
static gboolean is_opaque (const LsConfigKey *row) {
  return row != NULL && (row->type == LS_CONFIG_ANY || row->type == LS_CONFIG_RANGE ||
                         (row->flags & LS_CONFIG_OPEN) != 0);
}

static void warn_map (Unused *u, LsConfigNode *map, const LsSchemaNode *schema);

/* The maps of a list. */
static void warn_items (Unused *u, const LsConfigNode *list, const LsSchemaNode *schema) {
  gsize length = u->path->len;

  for (guint i = 0; i < list->items->len; i++) {
    LsConfigNode *item = list->items->pdata[i];

    g_string_append_printf (u->path, ".%u", i);
    if (item->kind == LS_CONFIG_NODE_MAP)
      warn_map (u, item, schema);
    g_string_truncate (u->path, length);
  }
}

static void warn_entry (Unused *u, const LsConfigEntry *entry, const LsSchemaNode *child) {
  const char *reason = g_hash_table_lookup (u->config->no_effect, entry->value);
  const char *when = child->row != NULL ? child->row->when : NULL;

  /* A neutral value of a later feature says what holds anyway. */
  if (child->row != NULL && child->row->later != NULL && child->row->type != LS_CONFIG_MAP)
    return;
  if (reason == NULL && is_opaque (child->row) && entry->value->used)
    return;
  if (reason == NULL && !is_opaque (child->row) &&
      (entry->implied || is_touched (u->config, entry->value))) {
    if (entry->value->kind == LS_CONFIG_NODE_MAP)
      warn_map (u, entry->value, child);
    if (entry->value->kind == LS_CONFIG_NODE_LIST && ls_schema_star (child) != NULL)
      warn_items (u, entry->value, ls_schema_star (child));
    return;
  }
  /* A map with one key has no better reason than the key. */
  if (reason == NULL && when == NULL && !is_opaque (child->row) &&
      entry->value->kind == LS_CONFIG_NODE_MAP && entry->value->entries->len == 1) {
    warn_map (u, entry->value, child);
    return;
  }
  ls_config_errors_add (u->errors, LS_CONFIG_FAULT_WARNING, entry->position,
                        "%s has no effect here%s%s", u->path->str,
                        reason != NULL || when != NULL ? "; " : "",
                        reason != NULL ? reason : (when != NULL ? when : ""));
}

static void warn_map (Unused *u, LsConfigNode *map, const LsSchemaNode *schema) {
  if (schema->row != NULL && (schema->row->flags & LS_CONFIG_OPEN) != 0)
    return;
  for (guint i = 0; i < map->entries->len; i++) {
    const LsConfigEntry *entry = map->entries->pdata[i];
    const LsSchemaNode *child = ls_schema_child (schema, entry->key);
    g_autofree char *outer = g_strdup (u->path->str);

    if (child == NULL || ls_config_node_is_null (entry->value) || !entry->value->valid)
      continue;
    ls_config_path_append (u->path, entry->key);
    ls_config_shorten_path (u->path, entry, child);
    warn_entry (u, entry, child);
    g_string_assign (u->path, outer);
  }
}

void ls_config_warn_unused (LsConfig *config, LsConfigErrors *errors) {
  Unused u = {.config = config, .errors = errors, .path = g_string_new (NULL)};

  warn_map (&u, config->root, ls_schema_root (config->schema));
  g_string_free (u.path, TRUE);
}
