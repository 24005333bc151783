/*
 * Joining the tables of keys into a tree; see schema.h for the rules of rows.
 *
 * Invariants, asserted when a schema is made: a path is described by one row (a short form and the
 * map it abbreviates may share a path); defaults are legal values of their own type; choices
 * stand where words are taken. Cost: O(rows x depth) to make, O(depth x keys per map) to look up.
 */
#include "config/schema.h"

#include "base/assert.h"
#include "config/path.h"
#include "config/schema_tree.h"
#include "config/value.h"

#include <string.h>

struct LsConfigSchema {
  gatomicrefcount refs;
  LsSchemaNode *root;
  GPtrArray *rows; /* const LsConfigKey */
};

static void schema_node_free (gpointer data) {
  LsSchemaNode *node = data;

  if (node == NULL)
    return;
  g_ptr_array_unref (node->children);
  schema_node_free (node->star);
  g_free (node->name);
  g_free (node);
}

static LsSchemaNode *schema_node_new (const char *name, LsSchemaNode *parent) {
  LsSchemaNode *node = g_new0 (LsSchemaNode, 1);

  node->name = g_strdup (name);
  node->parent = parent;
  node->children = g_ptr_array_new_with_free_func (schema_node_free);
  return node;
}

static LsSchemaNode *find_named (const GPtrArray *children, const char *name) {
  for (guint i = 0; i < children->len; i++) {
    LsSchemaNode *child = children->pdata[i];

    if (strcmp (child->name, name) == 0)
      return child;
  }
  return NULL;
}

static LsSchemaNode *descend (LsSchemaNode *node, const char *segment) {
  LsSchemaNode *child;

  if (strcmp (segment, "*") == 0) {
    if (node->star == NULL)
      node->star = schema_node_new ("*", node);
    return node->star;
  }
  child = find_named (node->children, segment);
  if (child == NULL) {
    child = schema_node_new (segment, node);
    g_ptr_array_add (node->children, child);
  }
  return child;
}

/* What a row must not be. */
static void check_row (const LsConfigKey *row) {
  g_autoptr (GError) error = NULL;

  LS_REQUIRE (row->meaning != NULL || row->type == LS_CONFIG_ALIAS, "%s has no meaning", row->path);
  LS_REQUIRE (row->type != LS_CONFIG_ALIAS || row->alias != NULL, "%s names no target", row->path);
  LS_REQUIRE (row->type != LS_CONFIG_WORD || ls_config_key_choices (row) != NULL, "%s has no words",
              row->path);
  LS_REQUIRE ((row->word == NULL && row->number == NULL) || row->type == LS_CONFIG_MAP,
              "%s: only a map has short forms", row->path);
  LS_REQUIRE (row->type == LS_CONFIG_MAP || row->default_text == NULL ||
                  ls_config_value_check_default (row, &error),
              "the default of %s: %s", row->path, error != NULL ? error->message : "");
}

static void add_row (LsConfigSchema *schema, const LsConfigKey *row) {
  g_auto (GStrv) segments = ls_config_path_split (row->path, NULL, NULL);
  LsSchemaNode *node = schema->root;

  LS_REQUIRE (segments != NULL, "'%s' is no path", row->path);
  for (char **segment = segments; *segment != NULL; segment++)
    node = descend (node, *segment);
  if (row->type == LS_CONFIG_ALIAS) {
    LS_REQUIRE (node->alias == NULL, "%s is a short form twice", row->path);
    node->alias = row->alias;
  }
  if (row->type != LS_CONFIG_ALIAS || node->row == NULL) {
    LS_REQUIRE (node->row == NULL || node->row->type == LS_CONFIG_ALIAS, "%s is described twice",
                row->path);
    node->row = row;
  }
  check_row (row);
  g_ptr_array_add (schema->rows, (gpointer) row);
}

/* Maps that take their rows from another path. */
static void resolve_links (LsSchemaNode *node, LsSchemaNode *root) {
  if (node->row != NULL && node->row->type == LS_CONFIG_MAP && node->row->alias != NULL) {
    node->link = find_named (root->children, node->row->alias);
    LS_REQUIRE (node->link != NULL, "%s links to unknown %s", node->row->path, node->row->alias);
  }
  for (guint i = 0; i < node->children->len; i++)
    resolve_links (node->children->pdata[i], root);
  if (node->star != NULL)
    resolve_links (node->star, root);
}

LsConfigSchema *ls_config_schema_new (const LsConfigKey *const *tables) {
  LsConfigSchema *schema = g_new0 (LsConfigSchema, 1);

  g_atomic_ref_count_init (&schema->refs);
  schema->root = schema_node_new ("", NULL);
  schema->rows = g_ptr_array_new ();
  for (; *tables != NULL; tables++)
    for (const LsConfigKey *row = *tables; row->path != NULL; row++)
      add_row (schema, row);
  resolve_links (schema->root, schema->root);
  return schema;
}

LsConfigSchema *ls_config_schema_ref (LsConfigSchema *schema) {
  g_atomic_ref_count_inc (&schema->refs);
  return schema;
}

void ls_config_schema_free (LsConfigSchema *schema) {
  if (schema == NULL || !g_atomic_ref_count_dec (&schema->refs))
    return;
  schema_node_free (schema->root);
  g_ptr_array_unref (schema->rows);
  g_free (schema);
}

guint ls_config_schema_size (const LsConfigSchema *schema) {
  return schema->rows->len;
}

const LsConfigKey *ls_config_schema_row (const LsConfigSchema *schema, guint index) {
  LS_REQUIRE (index < schema->rows->len, "row %u of %u", index, schema->rows->len);
  return schema->rows->pdata[index];
}

const LsSchemaNode *ls_schema_root (const LsConfigSchema *schema) {
  return schema->root;
}

const GPtrArray *ls_schema_children (const LsSchemaNode *node) {
  return node->link != NULL ? node->link->children : node->children;
}

const LsSchemaNode *ls_schema_star (const LsSchemaNode *node) {
  return node->link != NULL ? node->link->star : node->star;
}

const LsSchemaNode *ls_schema_child (const LsSchemaNode *node, const char *name) {
  const LsSchemaNode *child;

  if (node == NULL)
    return NULL;
  child = find_named (ls_schema_children (node), name);
  return child != NULL ? child : ls_schema_star (node);
}

const LsSchemaNode *ls_schema_walk (const LsSchemaNode *node, char *const *segments) {
  for (; *segments != NULL && node != NULL; segments++) {
    const LsSchemaNode *child = ls_schema_child (node, *segments);

    if (child != NULL && child->alias != NULL) {
      g_auto (GStrv) target = ls_config_path_split (child->alias, NULL, NULL);

      child = ls_schema_walk (node, target);
    }
    node = child;
  }
  return node;
}

gboolean ls_schema_is_map (const LsSchemaNode *node) {
  if (node->row != NULL && node->row->type != LS_CONFIG_ALIAS)
    return node->row->type == LS_CONFIG_MAP && (node->row->flags & LS_CONFIG_LIST) == 0;
  return ls_schema_children (node)->len > 0 || ls_schema_star (node) != NULL;
}

gboolean ls_schema_is_list (const LsSchemaNode *node) {
  return node->row != NULL && (node->row->flags & LS_CONFIG_LIST) != 0;
}

static void append_path (const LsSchemaNode *node, GString *path) {
  if (node->parent == NULL)
    return;
  append_path (node->parent, path);
  ls_config_path_append (path, node->name);
}

char *ls_schema_path (const LsSchemaNode *node) {
  GString *path = g_string_new (NULL);

  append_path (node, path);
  return g_string_free (path, FALSE);
}

const LsConfigKey *ls_config_schema_find (const LsConfigSchema *schema, const char *path) {
  g_auto (GStrv) segments = ls_config_path_split (path, NULL, NULL);
  const LsSchemaNode *node = segments != NULL ? ls_schema_walk (schema->root, segments) : NULL;

  return node != NULL ? node->row : NULL;
}
