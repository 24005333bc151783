/*
 * The schema as a document: the tables of docs/scenario.md, with rows in the order of the tables in the code.
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
