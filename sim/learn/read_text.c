/* A cursor over lines of text data, see read_text.h. */
#include "learn/read_text.h"

#include <math.h>
#include <stdarg.h>

#define LONGEST_NUMBER 64

void ls_text_init (LsTextCursor *cursor, LsTextFaults *faults, const char *text, gsize length) {
  *cursor = (LsTextCursor){.faults = faults, .at = text, .end = text + length, .line_start = text};
  if (length >= 3 && memcmp (text, "\xEF\xBB\xBF", 3) == 0)
    cursor->at += 3; /* a byte order mark */
}

gboolean ls_text_next (LsTextCursor *cursor, const char **line, const char **line_end) {
  const char *newline;

  if (cursor->at >= cursor->end)
    return FALSE;
  newline = memchr (cursor->at, '\n', (gsize) (cursor->end - cursor->at));
  *line = cursor->line_start = cursor->at;
  *line_end = newline != NULL ? newline : cursor->end;
  cursor->at = newline != NULL ? newline + 1 : cursor->end;
  if (*line_end > *line && (*line_end)[-1] == '\r')
    (*line_end)--;
  cursor->line++;
  return TRUE;
}

gboolean ls_text_fault (const LsTextCursor *cursor, const char *place, const char *format, ...) {
  va_list arguments;
  g_autofree char *message = NULL;

  if (cursor == NULL)
    return FALSE;
  va_start (arguments, format);
  message = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  return ls_text_faults_add (cursor->faults, cursor->line,
                             ls_text_column (cursor->line_start, place), "%s", message);
}

char *ls_text_quote (const char *from, const char *to) {
  GString *out = g_string_new ("'");

  for (; from < to && out->len < 21; from++)
    g_string_append_c (out, g_ascii_isprint (*from) ? *from : '?');
  g_string_append (out, from < to ? "...'" : "'");
  return g_string_free (out, FALSE);
}

gboolean ls_text_number (const LsTextCursor *cursor, const char *from, const char *to,
                         const char *what, double *value) {
  char copy[LONGEST_NUMBER + 1], *end = NULL;
  g_autofree char *quoted = NULL;
  const char *place = from;

  while (from < to && (*from == ' ' || *from == '\t'))
    from++;
  while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
    to--;
  if (from == to)
    return ls_text_fault (cursor, place, "%s is missing", what);
  quoted = ls_text_quote (from, to);
  if (to - from > LONGEST_NUMBER)
    return ls_text_fault (cursor, from, "%s %s is too long for a number", what, quoted);
  memcpy (copy, from, (gsize) (to - from));
  copy[to - from] = 0;
  *value = g_ascii_strtod (copy, &end);
  /* strtod also takes hexadecimal and the words inf and nan, which no file of data should hold. */
  if (end != copy + (to - from) || strpbrk (copy, "xXnN") != NULL) {
    if (g_ascii_strncasecmp (copy + strspn (copy, "+-"), "nan", 3) == 0 ||
        g_ascii_strncasecmp (copy + strspn (copy, "+-"), "inf", 3) == 0)
      return ls_text_fault (cursor, from, "%s %s is not finite", what, quoted);
    return ls_text_fault (cursor, from, "%s %s is no number", what, quoted);
  }
  if (!isfinite (*value))
    return ls_text_fault (cursor, from, "%s %s is too large", what, quoted);
  return TRUE;
}
