/*
 * Suggestions for keys; see suggest.h.
 *
 * A key that is unknown where it stands is looked for, in this order: among the keys of the same map as another way to
 * write one (base/synonyms.h); below the maps around it, from the nearest outwards, by what others call it and by its
 * name; among the keys of the same map by spelling; and failing all the map's keys are listed, or the
 * command that lists them.
 */
#include "config/suggest.h"

#include "base/distance.h"
#include "base/synonyms.h"
#include "config/output.h"
#include "config/path.h"

#include <string.h>

/* Longer lists of keys are not spelt out: a command shows them. */
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

/* Do the last segments of the path of @node read @name ("batch.global")? */
static gboolean is_called (const LsSchemaNode *node, const char *name) {
  const char *dot = strrchr (name, '.');
  g_autofree char *outer = dot != NULL ? g_strndup (name, (gsize) (dot - name)) : NULL;

  return node != NULL && node->name != NULL &&
         strcmp (node->name, dot != NULL ? dot + 1 : name) == 0 &&
         (outer == NULL || is_called (node->parent, outer));
}

/* The first key called @name, @depth levels below @node, that can be used now. */
static const LsSchemaNode *find_at (const LsSchemaNode *node, const char *name, guint depth) {
  const LsSchemaNode *found = NULL;

  for (guint i = 0; i < node->children->len && found == NULL; i++) {
    const LsSchemaNode *child = node->children->pdata[i];

    if (depth > 1)
      found = find_at (child, name, depth - 1);
    else if (is_called (child, name) && child->row != NULL && child->row->later == NULL)
      found = child;
  }
  return found == NULL && node->star != NULL && depth > 1 ? find_at (node->star, name, depth - 1)
                                                          : found;
}

/* The nearest to the top is what people mean. */
static const LsSchemaNode *find_below (const LsSchemaNode *map, const char *name) {
  const LsSchemaNode *found = NULL;

  for (guint depth = 1; depth <= DEPTH_MAX && found == NULL; depth++)
    found = find_at (map, name, depth);
  return found;
}

/* The key below @map that others call @name, else the one that is called so. Synonyms without a dot mean something only
 * among the keys beside the wrong one. */
static const LsSchemaNode *find_meant (const LsSchemaNode *map, const char *name) {
  const LsSchemaNode *found = NULL;
  const char *synonym;

  for (guint i = 0; found == NULL && (synonym = ls_synonym (name, i)) != NULL; i++)
    if (strchr (synonym, '.') != NULL)
      found = find_below (map, synonym);
  return found != NULL ? found : find_below (map, name);
}

/* The same around @map, from the nearest map outwards. */
static const LsSchemaNode *find_around (const LsSchemaNode *root, const LsSchemaNode *map,
                                        const char *name) {
  const LsSchemaNode *found = NULL;

  for (map = map->link != NULL ? map->link : map; map != NULL && found == NULL; map = map->parent)
    found = find_meant (map, name);
  return found != NULL ? found : find_meant (root, name);
}

/* The path as people write it: by the short form of a map around it, "cluster.node.gpus". */
static char *written_path (const LsSchemaNode *node) {
  char *path = ls_schema_path (node);

  for (const LsSchemaNode *map = node->parent; map != NULL; map = map->parent)
    for (guint i = 0; i < map->children->len; i++) {
      const LsSchemaNode *form = map->children->pdata[i];
      g_autofree char *above = map->parent != NULL ? ls_schema_path (map) : NULL;
      g_auto (GStrv) target = form->alias != NULL ? g_strsplit (form->alias, ".", -1) : NULL;
      const LsSchemaNode *stands_for = target != NULL ? ls_schema_walk (map, target) : NULL;
      g_autofree char *whole = stands_for != NULL ? ls_schema_path (stands_for) : NULL;
      const gsize length = whole != NULL ? strlen (whole) : 0;

      if (above == NULL || whole == NULL || !g_str_has_prefix (path, whole) ||
          (path[length] != '.' && path[length] != '\0'))
        continue;
      char *shorter = g_strconcat (above, ".", form->name, path + length, NULL);
      g_free (path);
      path = shorter;
    }
  return path;
}

char *ls_config_find_key (const LsConfigSchema *schema, const char *name) {
  const LsSchemaNode *found = find_meant (ls_schema_root (schema), name);

  return found != NULL ? written_path (found) : NULL;
}

char *ls_config_list_keys (const LsSchemaNode *map) {
  g_autoptr (GPtrArray) names = names_of (map);
  g_autofree char *list = NULL;

  if (names->len <= 1)
    return g_strdup ("");
  if (names->len > KEYS_MAX + 1) {
    g_autofree char *path = written_path (map);

    return g_strdup_printf ("; `lockstep list keys %s` shows those here", path);
  }
  list = g_strjoinv (", ", (char **) names->pdata);
  return g_strdup_printf ("; keys here are %s", list);
}

char *ls_config_suggest_key (const LsSchemaNode *root, const LsSchemaNode *map, const char *key) {
  g_autoptr (GPtrArray) names = names_of (map);
  const char *const *here = (const char *const *) names->pdata;
  const char *nearest = ls_meant (key, here);
  /* The very name in another place is a better guess than a similar name here. */
  const LsSchemaNode *elsewhere = nearest == NULL ? find_around (root, map, key) : NULL;

  if (elsewhere != NULL && elsewhere->parent == (map->link != NULL ? map->link : map))
    nearest = elsewhere->name;
  else if (elsewhere != NULL) {
    g_autofree char *path = written_path (elsewhere);

    return g_strdup_printf ("; did you mean %s?", path);
  }
  if (nearest == NULL)
    nearest = ls_nearest (key, here);
  return nearest != NULL ? g_strdup_printf ("; did you mean '%s'?", nearest)
                         : ls_config_list_keys (map);
}

char *ls_config_suggest_beside (const LsSchemaNode *key, const char *value) {
  const LsSchemaNode *beside = key->parent != NULL ? find_at (key->parent, value, 1) : NULL;
  g_autofree char *path = beside != NULL && beside != key ? written_path (beside) : NULL;

  return path != NULL ? g_strdup_printf ("; did you mean the key %s?", path) : g_strdup ("");
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
