/*
 * Trees of maps, lists and scalars: making, copying, looking up. Reading is in node_read.c.
 *
 * Lookup in a map is a scan: scenario maps have tens of keys. Maps that grow large (a generated
 * list of links) cost O(n) per lookup.
 */
#include "config/node.h"

#include "base/assert.h"

#include <string.h>

static void entry_free (gpointer data) {
  LsConfigEntry *entry = data;

  g_free (entry->key);
  g_free (entry->alias);
  ls_config_node_free (entry->value);
  g_free (entry);
}

static void item_free (gpointer data) {
  ls_config_node_free (data);
}

LsConfigNode *ls_config_node_new_scalar (const char *text, LsConfigPosition position) {
  LsConfigNode *node = g_new0 (LsConfigNode, 1);

  node->kind = LS_CONFIG_NODE_SCALAR;
  node->position = position;
  node->text = g_strdup (text);
  node->length = strlen (text);
  return node;
}

LsConfigNode *ls_config_node_new_list (LsConfigPosition position) {
  LsConfigNode *node = g_new0 (LsConfigNode, 1);

  node->kind = LS_CONFIG_NODE_LIST;
  node->position = position;
  node->items = g_ptr_array_new_with_free_func (item_free);
  return node;
}

LsConfigNode *ls_config_node_new_map (LsConfigPosition position) {
  LsConfigNode *node = g_new0 (LsConfigNode, 1);

  node->kind = LS_CONFIG_NODE_MAP;
  node->position = position;
  node->entries = g_ptr_array_new_with_free_func (entry_free);
  return node;
}

void ls_config_node_free (LsConfigNode *node) {
  if (node == NULL)
    return;
  g_free (node->text);
  if (node->items != NULL)
    g_ptr_array_unref (node->items);
  if (node->entries != NULL)
    g_ptr_array_unref (node->entries);
  g_free (node);
}

LsConfigNode *ls_config_node_copy (const LsConfigNode *node) {
  LsConfigNode *copy;

  if (node == NULL)
    return NULL;
  copy = g_new0 (LsConfigNode, 1);
  *copy = *node;
  copy->text = g_strdup (node->text);
  if (node->items != NULL) {
    copy->items = g_ptr_array_new_with_free_func (item_free);
    for (guint i = 0; i < node->items->len; i++)
      g_ptr_array_add (copy->items, ls_config_node_copy (node->items->pdata[i]));
  }
  if (node->entries != NULL) {
    copy->entries = g_ptr_array_new_with_free_func (entry_free);
    for (guint i = 0; i < node->entries->len; i++) {
      const LsConfigEntry *entry = node->entries->pdata[i];
      LsConfigEntry *twin = g_new0 (LsConfigEntry, 1);

      twin->key = g_strdup (entry->key);
      twin->alias = g_strdup (entry->alias);
      twin->implied = entry->implied;
      twin->position = entry->position;
      twin->value = ls_config_node_copy (entry->value);
      g_ptr_array_add (copy->entries, twin);
    }
  }
  return copy;
}

/* YAML 1.2 core schema, 10.3.2: tag:yaml.org,2002:null */
gboolean ls_config_node_is_null (const LsConfigNode *node) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};

  return node->kind == LS_CONFIG_NODE_SCALAR && !node->quoted &&
         g_strv_contains (nulls, node->text);
}

LsConfigEntry *ls_config_node_entry (const LsConfigNode *map, const char *key) {
  if (map == NULL || map->entries == NULL)
    return NULL;
  for (guint i = 0; i < map->entries->len; i++) {
    LsConfigEntry *entry = map->entries->pdata[i];

    if (strcmp (entry->key, key) == 0)
      return entry;
  }
  return NULL;
}

LsConfigNode *ls_config_node_get (const LsConfigNode *map, const char *key) {
  LsConfigEntry *entry = ls_config_node_entry (map, key);

  return entry != NULL ? entry->value : NULL;
}

LsConfigEntry *ls_config_node_put (LsConfigNode *map, const char *key, LsConfigPosition position,
                                   LsConfigNode *value) {
  LsConfigEntry *entry = ls_config_node_entry (map, key);

  LS_REQUIRE (map->entries != NULL, "'%s' put into what is no map", key);
  if (entry == NULL) {
    entry = g_new0 (LsConfigEntry, 1);
    entry->key = g_strdup (key);
    g_ptr_array_add (map->entries, entry);
  } else {
    ls_config_node_free (entry->value);
    g_clear_pointer (&entry->alias, g_free);
    entry->implied = FALSE;
  }
  entry->position = position;
  entry->value = value;
  return entry;
}

LsConfigNode *ls_config_node_take (LsConfigNode *map, const char *key) {
  LsConfigEntry *entry = ls_config_node_entry (map, key);
  LsConfigNode *value;

  if (entry == NULL)
    return NULL;
  value = g_steal_pointer (&entry->value);
  g_ptr_array_remove (map->entries, entry);
  return value;
}
