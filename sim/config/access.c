/*
 * Typed reading of a resolved scenario.
 *
 * A getter finds the row and the node of a path, marks the node as used, and answers with the value
 * that the check has stored, or with the row's default where nothing legal was given. Asking for a
 * key that the schema lacks, or by the wrong type, is a bug.
 *
 * Cost: O(depth x keys per map) per call; meant for set-up, not for inner loops.
 */
#include "base/assert.h"
#include "base/error.h"
#include "base/time.h"
#include "config/check.h"
#include "config/document.h"
#include "config/path.h"
#include "config/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ls_config_free (LsConfig *config) {
  if (config == NULL)
    return;
  ls_config_node_free (config->root);
  g_string_chunk_free (config->names);
  g_hash_table_unref (config->no_effect);
  g_hash_table_unref (config->settled);
  g_tree_unref (config->defaults);
  g_hash_table_unref (config->inert);
  g_free (config->redirect_from);
  g_free (config->redirect_to);
  g_free (config);
}

gboolean ls_config_is_readable (const LsConfig *config) {
  return config->readable;
}

static LsConfigNode *step (LsConfigNode *node, const char *segment, const LsConfigEntry **entry) {
  int index;

  *entry = NULL;
  if (node == NULL)
    return NULL;
  if (node->kind == LS_CONFIG_NODE_MAP) {
    *entry = ls_config_node_entry (node, segment);
    return *entry != NULL ? (*entry)->value : NULL;
  }
  index = ls_config_path_index (segment);
  if (node->kind == LS_CONFIG_NODE_LIST && index >= 0 && (guint) index < node->items->len)
    return node->items->pdata[index];
  /* A single value that stands for a list of one. */
  return node->kind == LS_CONFIG_NODE_SCALAR && index == 0 ? node : NULL;
}

/* The description of an item of a list of scalars is that of the list. */
static const LsSchemaNode *step_schema (const LsSchemaNode *schema, const char *segment) {
  const LsSchemaNode *child = ls_schema_child (schema, segment);

  if (child == NULL && schema != NULL && ls_schema_is_list (schema) &&
      ls_config_path_index (segment) >= 0)
    return schema;
  return child;
}

LsConfigFound ls_config_find_below (LsConfigNode *node, const LsSchemaNode *schema,
                                    char *const *segments) {
  LsConfigFound found = {schema, node, NULL};

  for (; *segments != NULL && found.schema != NULL; segments++) {
    const LsSchemaNode *child = step_schema (found.schema, *segments);

    if (child != NULL && child->alias != NULL) {
      g_auto (GStrv) target = ls_config_path_split (child->alias, NULL, NULL);

      found = ls_config_find_below (found.node, found.schema, target);
      continue;
    }
    found.schema = child;
    found.node = step (found.node, *segments, &found.entry);
  }
  if (found.node != NULL && ls_config_node_is_null (found.node))
    found.node = NULL;
  return found;
}

void ls_config_redirect (LsConfig *config, const char *from, const char *to) {
  g_free (config->redirect_from);
  g_free (config->redirect_to);
  config->redirect_from = g_strdup (from);
  config->redirect_to = g_strdup (to);
}

char *ls_config_redirected (const LsConfig *config, const char *path) {
  gsize n = config->redirect_from != NULL ? strlen (config->redirect_from) : 0;

  if (n == 0 || strncmp (path, config->redirect_from, n) != 0 || (path[n] != '.' && path[n] != 0))
    return g_strdup (path);
  return g_strconcat (config->redirect_to, path + n, NULL);
}

LsConfigFound ls_config_find (const LsConfig *config, const char *path) {
  g_autofree char *real = ls_config_redirected (config, path);
  g_auto (GStrv) segments = ls_config_path_split (real, NULL, NULL);

  LS_REQUIRE (segments != NULL, "'%s' is no path", path);
  return ls_config_find_below (config->root, ls_schema_root (config->schema), segments);
}

static void append_full (GString *full, const LsSchemaNode *schema, char *const *segments) {
  for (; *segments != NULL; segments++) {
    const LsSchemaNode *child = step_schema (schema, *segments);

    if (child != NULL && child->alias != NULL) {
      g_auto (GStrv) target = ls_config_path_split (child->alias, NULL, NULL);

      append_full (full, schema, target);
      schema = ls_schema_walk (schema, target);
    } else {
      ls_config_path_append (full, *segments);
      schema = child;
    }
  }
}

char *ls_config_full_path (const LsConfig *config, const char *path) {
  g_autofree char *real = ls_config_redirected (config, path);
  g_auto (GStrv) segments = ls_config_path_split (real, NULL, NULL);
  GString *full = g_string_new (NULL);

  append_full (full, ls_schema_root (config->schema), segments);
  return g_string_free (full, FALSE);
}

/* Finds a key that must be described, and marks what was given as used, or the default as read. */
static LsConfigFound use (LsConfig *config, const char *path) {
  LsConfigFound found = ls_config_find (config, path);

  LS_REQUIRE (found.schema != NULL, "the schema has no key '%s'", path);
  if (found.node != NULL)
    found.node->used = TRUE;
  else if (found.schema->row != NULL && found.schema->row->default_text != NULL)
    g_tree_insert (config->defaults, ls_config_full_path (config, path), GINT_TO_POINTER (1));
  return found;
}

static const LsConfigKey *row_of (LsConfigFound found, const char *path) {
  LS_REQUIRE (found.schema->row != NULL, "'%s' is a map and has no value", path);
  return found.schema->row;
}

/* The number of a key of one of two types. */
static double get_number (LsConfig *config, const char *path, LsConfigType type,
                          LsConfigType other) {
  LsConfigFound found = use (config, path);
  const LsConfigKey *row = row_of (found, path);
  LsConfigValue value = {0};

  LS_REQUIRE (row->type == type || row->type == other, "'%s' is %s", path,
              ls_config_type_phrase (row->type));
  if (found.node != NULL && found.node->valid)
    return found.node->number;
  if (row->default_text != NULL)
    ls_config_value_read (row, row->default_text, &value, NULL);
  return value.number;
}

gboolean ls_config_has (const LsConfig *config, const char *path) {
  LsConfigFound found = ls_config_find (config, path);

  LS_REQUIRE (found.schema != NULL, "the schema has no key '%s'", path);
  return found.node != NULL && found.node->valid;
}

gboolean ls_config_get_bool (LsConfig *config, const char *path) {
  return get_number (config, path, LS_CONFIG_BOOLEAN, LS_CONFIG_BOOLEAN) != 0;
}

gint64 ls_config_get_int (LsConfig *config, const char *path) {
  return (gint64) get_number (config, path, LS_CONFIG_INTEGER, LS_CONFIG_INTEGER);
}

double ls_config_get_number (LsConfig *config, const char *path) {
  return get_number (config, path, LS_CONFIG_NUMBER, LS_CONFIG_INTEGER);
}

double ls_config_get_quantity (LsConfig *config, const char *path) {
  return get_number (config, path, LS_CONFIG_QUANTITY, LS_CONFIG_QUANTITY);
}

gint64 ls_config_get_size_bytes (LsConfig *config, const char *path) {
  double bytes = ls_config_get_quantity (config, path);

  return bytes < 0x1p63 ? (gint64) llround (bytes) : G_MAXINT64;
}

gint64 ls_config_get_time_ps (LsConfig *config, const char *path) {
  double seconds = ls_config_get_quantity (config, path);
  gint64 ps = G_MAXINT64;

  ls_time_ps_from_s (seconds, &ps, NULL);
  return ps;
}

const char *ls_config_get_string (LsConfig *config, const char *path) {
  LsConfigFound found = use (config, path);
  const LsConfigKey *row = row_of (found, path);

  if (found.node != NULL && found.node->valid && found.node->kind == LS_CONFIG_NODE_SCALAR)
    return found.node->text;
  return row->default_text;
}

gboolean ls_config_is_word (LsConfig *config, const char *path, const char *word) {
  LsConfigFound found = ls_config_find (config, path);
  const char *text;

  LS_REQUIRE (found.schema != NULL, "the schema has no key '%s'", path);
  text = found.node != NULL && found.node->valid ? found.node->text
                                                 : row_of (found, path)->default_text;
  if (text == NULL || strcmp (text, word) != 0)
    return FALSE;
  use (config, path);
  return TRUE;
}

gboolean ls_config_is_percent (LsConfig *config, const char *path) {
  LsConfigFound found = use (config, path);
  const char *preset = row_of (found, path)->default_text;

  if (found.node != NULL && found.node->valid)
    return found.node->percent;
  return preset != NULL && strchr (preset, '%') != NULL;
}

char *ls_config_get_file (LsConfig *config, const char *path) {
  LsConfigFound found = use (config, path);
  const LsConfigKey *row = row_of (found, path);

  if (found.node != NULL && found.node->valid) {
    found.node->file = TRUE;
    return ls_config_resolve_file (found.node->position, found.node->text);
  }
  return g_strdup (row->default_text);
}

guint ls_config_get_length (LsConfig *config, const char *path) {
  LsConfigFound found = use (config, path);

  LS_REQUIRE (ls_schema_is_list (found.schema), "'%s' is no list", path);
  if (found.node == NULL || !found.node->valid)
    return 0;
  return found.node->kind == LS_CONFIG_NODE_LIST ? found.node->items->len : 1;
}

static int compare_names (gconstpointer a, gconstpointer b) {
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **ls_config_get_names (LsConfig *config, const char *path) {
  LsConfigFound found = use (config, path);
  GPtrArray *names = g_ptr_array_new ();

  LS_REQUIRE (ls_schema_star (found.schema) != NULL, "'%s' is no named map", path);
  for (guint i = 0;
       found.node != NULL && found.node->entries != NULL && i < found.node->entries->len; i++) {
    const LsConfigEntry *entry = found.node->entries->pdata[i];

    if (entry->value->valid && !ls_config_node_is_null (entry->value))
      g_ptr_array_add (names, g_strdup (entry->key));
  }
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

static int compare_indexes (gconstpointer a, gconstpointer b) {
  gint64 left = *(const gint64 *) a, right = *(const gint64 *) b;

  return left < right ? -1 : left > right;
}

/* Ascending, each once. */
static void sort_unique (GArray *indexes) {
  guint kept = 0;

  g_array_sort (indexes, compare_indexes);
  for (guint i = 0; i < indexes->len; i++) {
    gint64 value = g_array_index (indexes, gint64, i);

    if (kept == 0 || g_array_index (indexes, gint64, kept - 1) != value)
      g_array_index (indexes, gint64, kept++) = value;
  }
  g_array_set_size (indexes, kept);
}

GArray *ls_config_get_indexes (LsConfig *config, const char *path) {
  LsConfigFound found = use (config, path);
  const LsConfigKey *row = row_of (found, path);
  g_autoptr (GArray) indexes = g_array_new (FALSE, FALSE, sizeof (gint64));
  const LsConfigNode *node = found.node;
  gboolean legal = TRUE;

  LS_REQUIRE (row->type == LS_CONFIG_INDEXES, "'%s' is %s", path,
              ls_config_type_phrase (row->type));
  if (node == NULL || !node->valid)
    return NULL;
  if (node->kind == LS_CONFIG_NODE_SCALAR)
    legal = ls_config_value_indexes (row, node->text, indexes, NULL);
  for (guint i = 0; node->kind == LS_CONFIG_NODE_LIST && i < node->items->len; i++)
    legal = ls_config_value_indexes (row, ((const LsConfigNode *) node->items->pdata[i])->text,
                                     indexes, NULL) &&
            legal;
  if (!legal)
    return NULL; /* a word such as "all" */
  sort_unique (indexes);
  return g_steal_pointer (&indexes);
}

static void mark_used (LsConfigNode *node) {
  node->used = TRUE;
  for (guint i = 0; node->items != NULL && i < node->items->len; i++)
    mark_used (node->items->pdata[i]);
  for (guint i = 0; node->entries != NULL && i < node->entries->len; i++)
    mark_used (((LsConfigEntry *) node->entries->pdata[i])->value);
}

const LsConfigNode *ls_config_get_node (LsConfig *config, const char *path) {
  LsConfigFound found = use (config, path);

  if (found.node == NULL)
    return NULL;
  mark_used (found.node);
  return found.node;
}
