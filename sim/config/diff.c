/*
 * Differences between two resolved scenarios.
 *
 * Both are flattened to leaves (scalars and lists of them); the paths of either are compared, a
 * missing value counting as the default of its row. Numbers compare by value, so 1 GB and 1000 MB
 * are equal.
 */
#include "config/document.h"
#include "config/output.h"
#include "config/path.h"
#include "config/scalar.h"
#include "config/text.h"
#include "config/value.h"

#include <string.h>

typedef struct {
  const LsConfigNode *node;
  const LsConfigKey *row;
} Leaf;

static int compare_paths (gconstpointer a, gconstpointer b, gpointer unused) {
  (void) unused;
  return strcmp (a, b);
}

/* Full path -> Leaf, in the order of paths. */
static GTree *leaves_new (void) {
  return g_tree_new_full (compare_paths, NULL, g_free, g_free);
}

static gboolean is_leaf_list (const LsConfigNode *node) {
  for (guint i = 0; i < node->items->len; i++)
    if (((const LsConfigNode *) node->items->pdata[i])->kind != LS_CONFIG_NODE_SCALAR)
      return FALSE;
  return TRUE;
}

static void flatten (GTree *leaves, GString *path, const LsConfigNode *node,
                     const LsSchemaNode *schema) {
  gsize length = path->len;

  if (node->kind == LS_CONFIG_NODE_SCALAR ||
      (node->kind == LS_CONFIG_NODE_LIST && is_leaf_list (node))) {
    Leaf *leaf = g_new0 (Leaf, 1);

    leaf->node = node;
    leaf->row = schema != NULL ? schema->row : NULL;
    if (ls_config_node_is_null (node))
      g_free (leaf);
    else
      g_tree_insert (leaves, g_strdup (path->str), leaf);
    return;
  }
  for (guint i = 0; node->items != NULL && i < node->items->len; i++) {
    g_string_append_printf (path, ".%u", i);
    flatten (leaves, path, node->items->pdata[i], schema != NULL ? ls_schema_star (schema) : NULL);
    g_string_truncate (path, length);
  }
  for (guint i = 0; node->entries != NULL && i < node->entries->len; i++) {
    const LsConfigEntry *entry = node->entries->pdata[i];

    ls_config_path_append (path, entry->key);
    flatten (leaves, path, entry->value, ls_schema_child (schema, entry->key));
    g_string_truncate (path, length);
  }
}

static GTree *flatten_config (const LsConfig *config) {
  GTree *leaves = leaves_new ();
  GString *path = g_string_new (NULL);

  flatten (leaves, path, config->root, ls_schema_root (config->schema));
  g_string_free (path, TRUE);
  return leaves;
}

/* A leaf as text; the default where it is absent; "(none)" without one. */
static char *leaf_text (const Leaf *leaf, const LsConfigKey *row) {
  GString *out = g_string_new (NULL);

  if (leaf == NULL)
    g_string_append (out, row != NULL && row->default_text != NULL ? row->default_text : "(none)");
  else if (leaf->node->kind == LS_CONFIG_NODE_SCALAR)
    ls_config_scalar_yaml (out, leaf->node, leaf->row);
  else {
    g_string_append_c (out, '[');
    for (guint i = 0; i < leaf->node->items->len; i++) {
      if (i > 0)
        g_string_append (out, ", ");
      ls_config_scalar_yaml (out, leaf->node->items->pdata[i], leaf->row);
    }
    g_string_append_c (out, ']');
  }
  return g_string_free (out, FALSE);
}

/* The number behind a leaf or the default, when there is one. */
static gboolean leaf_number (const Leaf *leaf, const LsConfigKey *row, LsConfigValue *value) {
  const char *text;

  if (row == NULL || row->type < LS_CONFIG_INTEGER || row->type > LS_CONFIG_BOOLEAN)
    return FALSE;
  if (leaf != NULL && leaf->node->kind != LS_CONFIG_NODE_SCALAR)
    return FALSE;
  text = leaf != NULL ? leaf->node->text : row->default_text;
  return text != NULL && ls_config_value_read (row, text, value, NULL) && !value->word;
}

static gboolean equal (const Leaf *a, const Leaf *b, const LsConfigKey *row, const char *a_text,
                       const char *b_text) {
  LsConfigValue left, right;

  if (leaf_number (a, row, &left) && leaf_number (b, row, &right))
    return left.number == right.number && left.percent == right.percent;
  return strcmp (a_text, b_text) == 0;
}

typedef struct {
  GTree *a;
  GTree *b;
  void (*report) (gpointer data, const char *path, const char *a, const char *b);
  gpointer data;
} Comparison;

static gboolean compare_leaf (gpointer path, gpointer unused, gpointer data) {
  const Comparison *c = data;
  const Leaf *a = g_tree_lookup (c->a, path), *b = g_tree_lookup (c->b, path);
  const LsConfigKey *row = a != NULL ? a->row : b->row;
  g_autofree char *a_text = leaf_text (a, row);
  g_autofree char *b_text = leaf_text (b, row);

  (void) unused;
  if (!equal (a, b, row, a_text, b_text))
    c->report (c->data, path, a_text, b_text);
  return FALSE;
}

static gboolean add_leaf (gpointer path, gpointer leaf, gpointer data) {
  g_tree_insert (data, path, leaf);
  return FALSE;
}

/* Walks the paths of both, in order. */
static void compare (const LsConfig *a, const LsConfig *b, Comparison *c) {
  g_autoptr (GTree) left = flatten_config (a);
  g_autoptr (GTree) right = flatten_config (b);
  g_autoptr (GTree) both = g_tree_new_with_data (compare_paths, NULL);

  c->a = left;
  c->b = right;
  g_tree_foreach (left, add_leaf, both);
  g_tree_foreach (right, add_leaf, both);
  g_tree_foreach (both, compare_leaf, c);
}

/* Paths are shown as people write them: jobs.main.workload is workload. */
static const char *shown (const char *path) {
  return g_str_has_prefix (path, "jobs.main.workload.") ? path + strlen ("jobs.main.") : path;
}

static void report_text (gpointer data, const char *path, const char *a, const char *b) {
  g_string_append_printf (data, "%s: %s -> %s\n", shown (path), a, b);
}

char *ls_config_diff (const LsConfig *a, const LsConfig *b) {
  GString *out = g_string_new (NULL);
  Comparison c = {.report = report_text, .data = out};

  compare (a, b, &c);
  return g_string_free (out, FALSE);
}

typedef struct {
  GString *out;
  int indent;
  gboolean first;
} JsonReport;

static void report_json (gpointer data, const char *path, const char *a, const char *b) {
  JsonReport *json = data;

  ls_config_json_next (json->out, json->indent, 1, &json->first);
  g_string_append_c (json->out, '{');
  ls_config_json_key (json->out, "key");
  ls_config_json_string (json->out, shown (path));
  g_string_append (json->out, ", ");
  ls_config_json_key (json->out, "a");
  ls_config_json_string (json->out, a);
  g_string_append (json->out, ", ");
  ls_config_json_key (json->out, "b");
  ls_config_json_string (json->out, b);
  g_string_append_c (json->out, '}');
}

char *ls_config_diff_json (const LsConfig *a, const LsConfig *b, int indent) {
  JsonReport json = {g_string_new ("["), indent, TRUE};
  Comparison c = {.report = report_json, .data = &json};

  compare (a, b, &c);
  if (!json.first)
    ls_config_json_break (json.out, indent, 0);
  g_string_append_c (json.out, ']');
  return g_string_free (json.out, FALSE);
}
