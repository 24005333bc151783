/* A list of faults, see text_faults.h. Cost: O(1) each beyond those shown. */
#include "base/text_faults.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"

struct LsTextFaults {
  char *name;
  LsTextFault shown[LS_TEXT_FAULTS_SHOWN]; /* the first n */
  guint n;
};

static guint n_shown (const LsTextFaults *faults) {
  return MIN (faults->n, LS_TEXT_FAULTS_SHOWN);
}

LsTextFaults *ls_text_faults_new (const char *name) {
  LsTextFaults *faults = g_new0 (LsTextFaults, 1);

  faults->name = g_strdup (name);
  return faults;
}

void ls_text_faults_free (LsTextFaults *faults) {
  if (faults == NULL)
    return;
  for (guint i = 0; i < n_shown (faults); i++)
    g_free ((char *) faults->shown[i].message);
  g_free (faults->name);
  g_free (faults);
}

guint ls_text_column (const char *line_start, const char *place) {
  guint column = 1;

  for (; line_start < place; line_start++)
    column += (*(const guint8 *) line_start & 0xC0) != 0x80; /* no byte inside a character */
  return column;
}

/* Bytes of the character at @p, and whether it may be printed as it is. */
static gsize take_character (const char *p, gboolean *printable) {
  gunichar c = g_utf8_get_char_validated (p, -1);
  gboolean valid = (c & 0x80000000u) == 0; /* else it is (gunichar) -1 or -2 */

  *printable = valid && !g_unichar_iscntrl (c) && c != 0x2028 && c != 0x2029;
  return valid ? (gsize) (g_utf8_next_char (p) - p) : 1;
}

static void append_plain (GString *out, const char *p, gsize size) {
  if (size == 1)
    g_string_append_printf (out, "\\x%02x", *(const guint8 *) p);
  else
    g_string_append_printf (out, "\\u%04x", g_utf8_get_char (p));
}

char *ls_text_plain (const char *text, gboolean keep_lines) {
  GString *out = g_string_new (NULL);
  gsize word = 0, hidden = 0, size = 0;

  for (const char *p = text;; p += size) {
    gboolean blank = strchr (" \n", *p) != NULL, printable = FALSE; /* the end too */

    if (blank && hidden > 0)
      g_string_append_printf (out, "... (%" G_GSIZE_FORMAT " bytes more)", hidden);
    if (*p == '\0')
      return g_string_free (out, FALSE);
    size = take_character (p, &printable);
    word = blank ? 0 : word + size;
    hidden = word > LS_TEXT_WORD_SHOWN ? hidden + size : 0;
    if (hidden > 0)
      continue;
    if (printable || (keep_lines && *p == '\n'))
      g_string_append_len (out, p, (gssize) size);
    else
      append_plain (out, p, size);
  }
}

gboolean ls_text_faults_add (LsTextFaults *faults, guint line, guint column, const char *format,
                             ...) {
  va_list list;

  if (faults->n < LS_TEXT_FAULTS_SHOWN) {
    va_start (list, format);
    g_autofree char *message = g_strdup_vprintf (format, list);
    va_end (list);
    faults->shown[faults->n] = (LsTextFault){line, column, ls_text_plain (message, FALSE)};
  }
  faults->n++;
  return FALSE;
}

gboolean ls_text_check (LsTextFaults *faults, const char *text, gsize length) {
  const char *bad = NULL, *start = text;
  guint line = 1;

  if (g_utf8_validate_len (text, length, &bad)) /* a NUL byte ends it too */
    return TRUE;
  for (const char *p = text; p < bad; p++)
    if (*p == '\n') {
      line++;
      start = p + 1;
    }
  return ls_text_faults_add (
      faults, line, ls_text_column (start, bad),
      "this byte is no text (UTF-8); the file is binary or in another encoding");
}

guint ls_text_faults_count (const LsTextFaults *faults) {
  return faults->n;
}

LsTextFault ls_text_faults_get (const LsTextFaults *faults, guint index) {
  LS_REQUIRE (index < n_shown (faults), "fault %u", index);
  return faults->shown[index];
}

const char *ls_text_faults_name (const LsTextFaults *faults) {
  return faults->name;
}

gboolean ls_text_faults_check (const LsTextFaults *faults, GError **error) {
  g_autoptr (GString) text = g_string_new (NULL);

  if (faults->n == 0)
    return TRUE;
  for (guint i = 0; i < n_shown (faults); i++) {
    const LsTextFault *fault = &faults->shown[i];

    g_string_append_printf (text, "%s%s", i > 0 ? "\n" : "", faults->name);
    if (fault->line > 0)
      g_string_append_printf (text, ":%u:%u", fault->line, fault->column);
    g_string_append_printf (text, ": error: %s", fault->message);
  }
  if (faults->n > LS_TEXT_FAULTS_SHOWN)
    g_string_append_printf (text, "\n%s: error: %u more faults", faults->name,
                            faults->n - LS_TEXT_FAULTS_SHOWN);
  g_set_error_literal (error, LS_ERROR, LS_ERROR_CONFIG, text->str);
  return FALSE;
}
