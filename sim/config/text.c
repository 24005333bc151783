/*
 * JSON pieces for output.c and errors.c.
 */
#include "config/text.h"

static void append_escape (GString *out, gunichar c) {
  switch (c) {
  case '"':
    g_string_append (out, "\\\"");
    return;
  case '\\':
    g_string_append (out, "\\\\");
    return;
  case '\n':
    g_string_append (out, "\\n");
    return;
  case '\t':
    g_string_append (out, "\\t");
    return;
  default:
    if (c < 0x20 || c == 0x7f)
      g_string_append_printf (out, "\\u%04x", c);
    else
      g_string_append_unichar (out, c);
  }
}

void ls_config_json_string (GString *out, const char *text) {
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  g_string_append_c (out, '"');
  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    append_escape (out, g_utf8_get_char (p));
  g_string_append_c (out, '"');
}

void ls_config_json_key (GString *out, const char *key) {
  ls_config_json_string (out, key);
  g_string_append (out, ": ");
}

void ls_config_json_break (GString *out, int indent, int depth) {
  if (indent <= 0)
    return;
  g_string_append_printf (out, "\n%*s", indent * depth, "");
}

void ls_config_json_next (GString *out, int indent, int depth, gboolean *first) {
  if (!*first)
    g_string_append (out, indent > 0 ? "," : ", ");
  *first = FALSE;
  ls_config_json_break (out, indent, depth);
}
