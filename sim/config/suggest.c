/*
 * Suggestions for keys; see suggest.h.
 *
 * A key that is unknown where it stands is looked for, in this order: among the keys of the same
 * map by spelling, below the maps around it from the nearest outwards by name, and failing both the map's keys are
 * listed.
 */
#include "config/suggest.h"

#include "base/distance.h"
#include "config/output.h"
#include "config/path.h"

#include <string.h>

/* Longer lists of keys are not spelt out. */
#define KEYS_MAX 20

static GPtrArray *names_of (const LsSchemaNode *map) {
  const GPtrArray *children = ls_schema_children (map);
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < children->len; i++)
    g_ptr_array_add (names, ((const LsSchemaNode *) children->pdata[i])->name);
  g_ptr_array_add (names, NULL);
  return names;
}

/* Deepest level of keys that is searched. */
#define DEPTH_MAX 8

/* The first key called @name, @depth levels below @node, that can be used now. */
static const LsSchemaNode *find_at (const LsSchemaNode *node, const char *name, guint depth) {
  const LsSchemaNode *found = NULL;

  for (guint i = 0; i < node->children->len && found == NULL; i++) {
    const LsSchemaNode *child = node->children->pdata[i];

    if (depth > 1)
      found = find_at (child, name, depth - 1);
    else if (strcmp (child->name, name) == 0 && child->row != NULL && child->row->later == NULL)
      found = child;
  }
  return found == NULL && node->star != NULL && depth > 1 ? find_at (node->star, name, depth - 1)
                                                          : found;
}

/* The nearest to the top is what people mean. */
static const LsSchemaNode *find_anywhere (const LsSchemaNode *root, const char *name) {
  const LsSchemaNode *found = NULL;

  for (guint depth = 1; depth <= DEPTH_MAX && found == NULL; depth++)
    found = find_at (root, name, depth);
  return found;
}

char *ls_config_find_key (const LsConfigSchema *schema, const char *name) {
  const LsSchemaNode *found = find_anywhere (ls_schema_root (schema), name);

  return found != NULL ? ls_schema_path (found) : NULL;
}

char *ls_config_list_keys (const LsSchemaNode *map) {
  g_autoptr (GPtrArray) names = names_of (map);
  g_autofree char *list = NULL;

  if (names->len <= 1 || names->len > KEYS_MAX + 1)
    return g_strdup ("");
  list = g_strjoinv (", ", (char **) names->pdata);
  return g_strdup_printf ("; keys here are %s", list);
}

char *ls_config_suggest_key (const LsSchemaNode *root, const LsSchemaNode *map, const char *key) {
  g_autoptr (GPtrArray) names = names_of (map);
  const char *nearest = ls_nearest (key, (const char *const *) names->pdata);
  const LsSchemaNode *const here = map, *elsewhere;

  /* The very name in another place is a better guess than a similar name here. */
  for (elsewhere = NULL; map != NULL && elsewhere == NULL; map = map->parent)
    elsewhere = find_anywhere (map, key);
  if (elsewhere == NULL)
    elsewhere = find_anywhere (root, key);
  if (elsewhere != NULL) {
    g_autofree char *path = ls_schema_path (elsewhere);

    return g_strdup_printf ("; did you mean %s?", path);
  }
  if (nearest != NULL)
    return g_strdup_printf ("; did you mean '%s'?", nearest);
  return ls_config_list_keys (here);
}

static gboolean is_required (const LsSchemaNode *map, const char *alias) {
  g_auto (GStrv) segments = g_strsplit (alias, ".", -1);
  const LsSchemaNode *node = ls_schema_walk (map, segments);

  return node != NULL && node->row != NULL && (node->row->flags & LS_CONFIG_REQUIRED) != 0;
}

char *ls_config_short_forms (const LsSchemaNode *map, const char *key) {
  const GPtrArray *children = ls_schema_children (map);
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_autofree char *list = NULL;
  gboolean fills = FALSE;

  for (guint i = 0; i < children->len; i++) {
    const LsSchemaNode *child = children->pdata[i];
    gsize length = strlen (key);

    if (child->alias != NULL && strncmp (child->alias, key, length) == 0 &&
        child->alias[length] == '.') {
      g_ptr_array_add (words, child->name);
      fills = fills || is_required (map, child->alias);
    }
  }
  if (!fills)
    return g_strdup ("");
  g_ptr_array_add (words, NULL);
  list = g_strjoinv (", ", (char **) words->pdata);
  return g_strdup_printf (" (short: %s)", list);
}

/* Replaces @tail at the end of @path, at a segment boundary, by @name. */
static gboolean replace_tail (GString *path, const char *tail, const char *name) {
  gsize length = strlen (tail);

  if (path->len < length || strcmp (path->str + path->len - length, tail) != 0)
    return FALSE;
  if (path->len > length && path->str[path->len - length - 1] != '.')
    return FALSE;
  g_string_truncate (path, path->len - length);
  g_string_append (path, name);
  return TRUE;
}

void ls_config_shorten_path (GString *path, const LsConfigEntry *entry, const LsSchemaNode *child) {
  if (child->link != NULL && child->link->alias != NULL &&
      strcmp (path->str, child->link->alias) == 0) {
    g_string_assign (path, child->link->name);
    return;
  }
  if (entry->alias == NULL || entry->implied)
    return;
  for (const LsSchemaNode *map = child->parent; map != NULL; map = map->parent) {
    const LsSchemaNode *alias = ls_schema_child (map, entry->alias);

    if (alias != NULL && alias->alias != NULL && replace_tail (path, alias->alias, alias->name))
      return;
  }
}
