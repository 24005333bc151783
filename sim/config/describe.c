/*
 * The schema as documents: tables of docs/scenario.md, JSON for `list keys`, completion.
 *
 * All walk the rows in the order of the tables, so the documents read as the tables do.
 */
#include "config/document.h"
#include "config/output.h"
#include "config/path.h"
#include "config/text.h"
#include "config/value.h"

#include <string.h>

/* The top-level key of a path. */
static char *section_of (const char *path) {
  const char *dot = strchr (path, '.');

  return dot != NULL ? g_strndup (path, (gsize) (dot - path)) : g_strdup (path);
}

static void append_cell (GString *out, const char *text) {
  for (; text != NULL && *text != '\0'; text++) {
    if (*text == '|')
      g_string_append_c (out, '\\');
    g_string_append_c (out, *text == '\n' ? ' ' : *text);
  }
}

/* What the third column says where there is no default. */
static void append_default (GString *out, const LsConfigKey *row) {
  if (row->flags & LS_CONFIG_REQUIRED)
    g_string_append (out, "**needed**");
  else if (row->default_text != NULL) {
    g_string_append_c (out, '`');
    append_cell (out, row->default_text);
    g_string_append_c (out, '`');
  }
}

static void append_meaning (GString *out, const LsConfigKey *row) {
  append_cell (out, row->meaning);
  if (row->when != NULL) {
    g_string_append (out, "; ");
    append_cell (out, row->when);
  }
  if (row->later_choices != NULL) {
    g_autofree char *words = ls_config_enumerate (row->later_choices);

    g_string_append (out, "; not yet: ");
    append_cell (out, words);
  }
  if (row->later != NULL) {
    g_string_append (out, "; **not yet**: ");
    append_cell (out, row->later);
  }
  if (row->source != NULL) {
    g_string_append (out, " (default: ");
    append_cell (out, row->source);
    g_string_append_c (out, ')');
  }
}

static void append_row (GString *out, const LsConfigKey *row) {
  g_autofree char *takes = ls_config_key_takes (row);

  g_string_append (out, "| `");
  append_cell (out, row->path);
  g_string_append (out, "` | ");
  if (row->type == LS_CONFIG_ALIAS) {
    const char *dot = strrchr (row->path, '.');

    g_string_append (out, "short for `");
    g_string_append_len (out, row->path, dot != NULL ? dot - row->path + 1 : 0);
    append_cell (out, row->alias);
    g_string_append (out, "` | | |\n");
    return;
  }
  append_cell (out, takes);
  g_string_append (out, " | ");
  append_default (out, row);
  g_string_append (out, " | ");
  append_meaning (out, row);
  g_string_append (out, " |\n");
}

char *ls_config_schema_markdown (const LsConfigSchema *schema) {
  GString *out = g_string_new (NULL);
  g_autoptr (GHashTable) done = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    g_autofree char *section = section_of (ls_config_schema_row (schema, i)->path);

    if (g_hash_table_contains (done, section))
      continue;
    g_string_append_printf (out,
                            "%s## `%s`\n\n| key | takes | default | meaning |\n"
                            "|---|---|---|---|\n",
                            i > 0 ? "\n" : "", section);
    for (guint j = i; j < ls_config_schema_size (schema); j++) {
      g_autofree char *other = section_of (ls_config_schema_row (schema, j)->path);

      if (strcmp (section, other) == 0)
        append_row (out, ls_config_schema_row (schema, j));
    }
    g_hash_table_add (done, g_steal_pointer (&section));
  }
  return g_string_free (out, FALSE);
}

static void append_member (GString *out, const char *name, const char *value) {
  g_string_append (out, ", ");
  ls_config_json_key (out, name);
  if (value != NULL)
    ls_config_json_string (out, value);
  else
    g_string_append (out, "null");
}

static void append_row_json (GString *out, const LsConfigKey *row) {
  g_autofree char *takes = ls_config_key_takes (row);

  g_string_append_c (out, '{');
  ls_config_json_key (out, "key");
  ls_config_json_string (out, row->path);
  append_member (out, "takes", takes);
  append_member (out, "unit", ls_dimension_base_unit (row->dimension));
  append_member (out, "default", row->default_text);
  append_member (out, "meaning", row->meaning);
  append_member (out, "source", row->source);
  append_member (out, "when", row->when);
  append_member (out, "short_for", row->type == LS_CONFIG_ALIAS ? row->alias : NULL);
  append_member (out, "not_yet", row->later);
  g_string_append_printf (out, ", \"needed\": %s}",
                          row->flags & LS_CONFIG_REQUIRED ? "true" : "false");
}

char *ls_config_schema_json (const LsConfigSchema *schema, int indent) {
  GString *out = g_string_new ("[");
  gboolean first = TRUE;

  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    ls_config_json_next (out, indent, 1, &first);
    append_row_json (out, ls_config_schema_row (schema, i));
  }
  ls_config_json_break (out, indent, 0);
  g_string_append_c (out, ']');
  return g_string_free (out, FALSE);
}

static int compare_paths (gconstpointer a, gconstpointer b) {
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Adds the paths of a row, with every `*` replaced by each name there is; `*` itself stays where
 * there is no config. */
static void add_paths (GPtrArray *paths, const LsConfig *config, GString *path, char **segments) {
  gsize length = path->len;
  LsConfigFound found;

  if (*segments == NULL) {
    g_ptr_array_add (paths, g_strdup (path->str));
    return;
  }
  if (strcmp (*segments, "*") != 0 || config == NULL) {
    ls_config_path_append (path, *segments);
    add_paths (paths, config, path, segments + 1);
    g_string_truncate (path, length);
    return;
  }
  found = ls_config_find (config, path->str);
  for (guint i = 0;
       found.node != NULL && found.node->entries != NULL && i < found.node->entries->len; i++) {
    ls_config_path_append (path, ((const LsConfigEntry *) found.node->entries->pdata[i])->key);
    add_paths (paths, config, path, segments + 1);
    g_string_truncate (path, length);
  }
}

char **ls_config_complete (const LsConfigSchema *schema, const LsConfig *config,
                           const char *prefix) {
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_free);
  GPtrArray *kept = g_ptr_array_new ();

  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    const LsConfigKey *row = ls_config_schema_row (schema, i);
    g_auto (GStrv) segments = ls_config_path_split (row->path, NULL, NULL);
    g_autoptr (GString) path = g_string_new (NULL);

    if (row->later == NULL)
      add_paths (all, config, path, segments);
  }
  g_ptr_array_sort (all, compare_paths);
  for (guint i = 0; i < all->len; i++) {
    gboolean repeated = i > 0 && strcmp (all->pdata[i], all->pdata[i - 1]) == 0;

    if (!repeated && g_str_has_prefix (all->pdata[i], prefix))
      g_ptr_array_add (kept, g_strdup (all->pdata[i]));
  }
  g_ptr_array_add (kept, NULL);
  return (char **) g_ptr_array_free (kept, FALSE);
}
