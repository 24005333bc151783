/* JSON writer, see json.h. Two spaces of indent per level; arrays and objects open on the line of
 * their key, so that documents can be read and compared line by line. */
#include "cli/json.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/quantity.h"

struct LsJson {
  GString *text;
  GString *stack;    /* closing characters of what is open */
  gboolean has_item; /* the open level holds something already */
};

LsJson *ls_json_new (void) {
  LsJson *json = g_new0 (LsJson, 1);

  json->text = g_string_new (NULL);
  json->stack = g_string_new (NULL);
  return json;
}

void ls_json_free (LsJson *json) {
  if (!json)
    return;
  g_string_free (json->text, TRUE);
  g_string_free (json->stack, TRUE);
  g_free (json);
}

char *ls_json_finish (LsJson *json) {
  char *text;

  LS_REQUIRE (json->stack->len == 0, "%s still open", json->stack->str);
  g_string_append_c (json->text, '\n');
  text = g_string_free (g_steal_pointer (&json->text), FALSE);
  g_string_free (json->stack, TRUE);
  g_free (json);
  return text;
}

static void indent (LsJson *json) {
  g_string_append_c (json->text, '\n');
  for (gsize i = 0; i < json->stack->len; i++)
    g_string_append (json->text, "  ");
}

/* Control characters and what JSON reserves; invalid UTF-8 is replaced, never passed on. */
static void append_quoted (GString *out, const char *value) {
  g_autofree char *valid = g_utf8_make_valid (value, -1);

  g_string_append_c (out, '"');
  for (const char *p = valid; *p; p++) {
    if (*p == '"' || *p == '\\')
      g_string_append_printf (out, "\\%c", *p);
    else if (*p == '\n')
      g_string_append (out, "\\n");
    else if (*p == '\t')
      g_string_append (out, "\\t");
    else if ((guchar) *p < 0x20)
      g_string_append_printf (out, "\\u%04x", (guint) *p);
    else
      g_string_append_c (out, *p);
  }
  g_string_append_c (out, '"');
}

static void begin_item (LsJson *json, const char *key) {
  if (json->has_item)
    g_string_append_c (json->text, ',');
  if (json->stack->len > 0)
    indent (json);
  json->has_item = TRUE;
  if (key) {
    append_quoted (json->text, key);
    g_string_append (json->text, ": ");
  }
}

static void open_level (LsJson *json, const char *key, char opening, char closing) {
  begin_item (json, key);
  g_string_append_c (json->text, opening);
  g_string_append_c (json->stack, closing);
  json->has_item = FALSE;
}

void ls_json_open_object (LsJson *json, const char *key) {
  open_level (json, key, '{', '}');
}

void ls_json_open_array (LsJson *json, const char *key) {
  open_level (json, key, '[', ']');
}

void ls_json_close (LsJson *json) {
  char closing;

  LS_REQUIRE (json->stack->len > 0, "nothing is open");
  closing = json->stack->str[json->stack->len - 1];
  g_string_truncate (json->stack, json->stack->len - 1);
  if (json->has_item)
    indent (json);
  g_string_append_c (json->text, closing);
  json->has_item = TRUE;
}

void ls_json_string (LsJson *json, const char *key, const char *value) {
  begin_item (json, key);
  if (value)
    append_quoted (json->text, value);
  else
    g_string_append (json->text, "null");
}

void ls_json_integer (LsJson *json, const char *key, gint64 value) {
  begin_item (json, key);
  g_string_append_printf (json->text, "%" G_GINT64_FORMAT, value);
}

void ls_json_number (LsJson *json, const char *key, double value) {
  if (!isfinite (value)) {
    ls_json_null (json, key);
    return;
  }
  begin_item (json, key);
  ls_quantity_append_shortest (json->text, value);
}

void ls_json_boolean (LsJson *json, const char *key, gboolean value) {
  ls_json_raw (json, key, value ? "true" : "false");
}

void ls_json_null (LsJson *json, const char *key) {
  ls_json_raw (json, key, "null");
}

void ls_json_raw (LsJson *json, const char *key, const char *text) {
  begin_item (json, key);
  g_string_append (json->text, text);
}

void ls_json_strings (LsJson *json, const char *key, const GPtrArray *values) {
  ls_json_open_array (json, key);
  for (guint i = 0; i < values->len; i++)
    ls_json_string (json, NULL, values->pdata[i]);
  ls_json_close (json);
}
