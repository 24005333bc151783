/*
 * `check --explain KEY`: all that is known of one key, and where its value comes from.
 */
#include "base/error.h"
#include "base/prose.h"
#include "config/document.h"
#include "config/output.h"
#include "config/path.h"
#include "config/scalar.h"
#include "config/suggest.h"
#include "config/text.h"
#include "config/value.h"

#include <string.h>

/* Facts about a key in the order in which they are shown. */
typedef struct {
  GPtrArray *names;        /* static strings */
  GPtrArray *values;       /* owned */
  const LsSchemaNode *map; /* whose keys are shown; NULL: of no map */
} Facts;

static void add_fact (Facts *facts, const char *name, const char *value) {
  if (value == NULL || value[0] == '\0')
    return;
  g_ptr_array_add (facts->names, (gpointer) name);
  g_ptr_array_add (facts->values, g_strdup (value));
}

static Facts *facts_new (void) {
  Facts *facts = g_new0 (Facts, 1);

  facts->names = g_ptr_array_new ();
  facts->values = g_ptr_array_new_with_free_func (g_free);
  return facts;
}

static void facts_free (Facts *facts) {
  if (facts == NULL)
    return;
  g_ptr_array_unref (facts->names);
  g_ptr_array_unref (facts->values);
  g_free (facts);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Facts, facts_free)

/* What a key that was left open, or left to a word, came to. */
static void add_settled (Facts *facts, const LsConfig *config, const char *path, const char *name) {
  const LsConfigSettled *settled = ls_config_find_settled (config, path);

  if (settled == NULL)
    return;
  add_fact (facts, name, settled->value);
  add_fact (facts, strcmp (name, "value") == 0 ? "from" : "as", settled->from);
}

static gboolean is_open_word (const LsConfigNode *node) {
  return node->kind == LS_CONFIG_NODE_SCALAR && g_strcmp0 (node->text, "auto") == 0;
}

/* The value in a config as one line, and its origin. */
static void add_value (Facts *facts, LsConfig *config, const char *path, const LsConfigKey *row) {
  LsConfigFound found = ls_config_find (config, path);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *place = NULL;

  if (found.node == NULL && row != NULL && row->default_text != NULL) {
    add_fact (facts, "value", row->default_text);
    add_fact (facts, "from", "default");
    add_settled (facts, config, path, "here");
    return;
  }
  if (found.node == NULL && ls_config_find_settled (config, path) != NULL) {
    add_settled (facts, config, path, "value");
    return;
  }
  if (found.node == NULL) {
    add_fact (facts, "from", "not given");
    return;
  }
  if (found.node->kind == LS_CONFIG_NODE_SCALAR)
    ls_config_scalar_yaml (text, found.node, row);
  else if (found.node->kind == LS_CONFIG_NODE_LIST) {
    for (guint i = 0; i < found.node->items->len; i++) {
      const LsConfigNode *item = found.node->items->pdata[i];

      g_string_append (text, i > 0 ? ", " : "[");
      if (item->kind == LS_CONFIG_NODE_SCALAR)
        ls_config_scalar_yaml (text, item, row);
      else
        g_string_append (text, "{...}");
    }
    g_string_append (text, found.node->items->len > 0 ? "]" : "[]");
  }
  place = ls_config_position_text (found.node->position);
  add_fact (facts, "value", text->str);
  add_fact (facts, "from", place);
  if (is_open_word (found.node))
    add_settled (facts, config, path, "here");
}

static void add_row_facts (Facts *facts, const LsConfigKey *row) {
  g_autofree char *takes = ls_config_key_takes (row);
  g_autofree char *later = ls_config_enumerate (row->later_choices);

  add_fact (facts, "meaning", row->meaning);
  add_fact (facts, "takes", takes);
  add_fact (facts, "unit",
            row->type == LS_CONFIG_QUANTITY ? ls_dimension_units (row->dimension) : NULL);
  add_fact (facts, "default", row->default_text);
  add_fact (facts, "source", row->source);
  add_fact (facts, "effect", row->when);
  add_fact (facts, "not yet", row->later);
  add_fact (facts, "words to come", later);
  if (row->flags & LS_CONFIG_REQUIRED)
    add_fact (facts, "needed", "yes");
  if (row->flags & LS_CONFIG_DISCRIMINATOR)
    add_fact (facts, "layering", "changing it drops its siblings of lower layers");
}

/* The keys directly below a map. */
static void add_keys (Facts *facts, const LsSchemaNode *node) {
  const GPtrArray *children = ls_schema_children (node);
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; i < children->len; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "",
                            ((const LsSchemaNode *) children->pdata[i])->name);
  add_fact (facts, "keys", list->str);
  facts->map = node;
  if (ls_schema_star (node) != NULL && !ls_schema_is_list (node))
    add_fact (facts, "names", "chosen by you");
}

static Facts *collect (const LsConfigSchema *schema, LsConfig *config, const char *path,
                       GError **error) {
  g_auto (GStrv) segments = ls_config_path_split (path, NULL, error);
  const LsSchemaNode *root = ls_schema_root (schema);
  const LsSchemaNode *node = segments != NULL ? ls_schema_walk (root, segments) : NULL;
  g_autoptr (Facts) facts = facts_new ();
  gboolean pattern = segments != NULL && g_strv_contains ((const char *const *) segments, "*");

  if (segments == NULL)
    return NULL;
  if (node == NULL) {
    guint last = g_strv_length (segments) - 1;
    g_autofree char *name = g_steal_pointer (&segments[last]);
    const LsSchemaNode *map = ls_schema_walk (root, segments);
    g_autofree char *hint = ls_config_suggest_key (root, map != NULL ? map : root, name);

    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "there is no key '%s'%s", path, hint);
    return NULL;
  }
  if (node->row != NULL && node->row->type != LS_CONFIG_ALIAS)
    add_row_facts (facts, node->row);
  if (ls_schema_is_map (node) || ls_schema_star (node) != NULL)
    add_keys (facts, node);
  if (config != NULL) {
    g_autofree char *full = ls_config_full_path (config, path);

    if (strcmp (full, path) != 0)
      add_fact (facts, "short for", full);
    if (!pattern && !ls_schema_is_map (node))
      add_value (facts, config, path, node->row);
  }
  return g_steal_pointer (&facts);
}

/* The keys of a map, a line each. */
static void append_keys (GString *out, const LsSchemaNode *map) {
  const GPtrArray *children = ls_schema_children (map);
  int width = 0;

  if (children->len > 0)
    g_string_append (out, "  keys\n");
  for (guint i = 0; i < children->len; i++)
    width = MAX (width, (int) strlen (((const LsSchemaNode *) children->pdata[i])->name));
  for (guint i = 0; i < children->len; i++) {
    const LsSchemaNode *child = children->pdata[i];
    const char *meaning = child->row != NULL ? child->row->meaning : NULL;

    g_string_append_printf (out, "    %-*s", meaning != NULL ? width + 2 : 0, child->name);
    ls_prose_append (out, meaning != NULL ? meaning : "", LS_PROSE_WIDTH, (guint) width + 6,
                     (guint) width + 6);
  }
}

char *ls_config_explain (const LsConfigSchema *schema, LsConfig *config, const char *path,
                         GError **error) {
  g_autoptr (Facts) facts = collect (schema, config, path, error);
  GString *out;

  if (facts == NULL)
    return NULL;
  out = g_string_new (path);
  g_string_append_c (out, '\n');
  for (guint i = 0; i < facts->names->len; i++)
    if (strcmp (facts->names->pdata[i], "keys") != 0) {
      g_string_append_printf (out, "  %-14s", (const char *) facts->names->pdata[i]);
      ls_prose_append (out, facts->values->pdata[i], LS_PROSE_WIDTH, 16, 16);
    }
  if (facts->map != NULL)
    append_keys (out, facts->map);
  return g_string_free (out, FALSE);
}

char *ls_config_explain_json (const LsConfigSchema *schema, LsConfig *config, const char *path,
                              GError **error) {
  g_autoptr (Facts) facts = collect (schema, config, path, error);
  GString *out;

  if (facts == NULL)
    return NULL;
  out = g_string_new ("{");
  ls_config_json_key (out, "key");
  ls_config_json_string (out, path);
  for (guint i = 0; i < facts->names->len; i++) {
    g_autofree char *name = g_strdelimit (g_strdup (facts->names->pdata[i]), " ", '_');

    g_string_append (out, ", ");
    ls_config_json_key (out, name);
    ls_config_json_string (out, facts->values->pdata[i]);
  }
  g_string_append_c (out, '}');
  return g_string_free (out, FALSE);
}
