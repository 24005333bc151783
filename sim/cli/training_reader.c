/* Fields of a row as numbers, and the reasons why one cannot be predicted; see training_reader.h. */
#include "cli/training_reader.h"

#include <math.h>

#include "base/error.h"
#include "base/quantity.h"

gboolean ls_training_skip (GError **error, const char *format, ...) {
  va_list list;
  g_autofree char *reason = NULL;

  va_start (list, format);
  reason = g_strdup_vprintf (format, list);
  va_end (list);
  if (*error == NULL) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_UNSUPPORTED, reason);
  } else {
    char *all = g_strconcat ((*error)->message, "; ", reason, NULL);

    g_free ((*error)->message);
    (*error)->message = all;
  }
  return FALSE;
}

gboolean ls_training_skip_for (GError **error, char *reason) {
  ls_training_skip (error, "%s", reason);
  g_free (reason);
  return FALSE;
}

/* The field without what stands in parentheses behind it; of "50257 (padded to 51200)" the 51200. */
static char *without_remark (const char *field) {
  const char *remark = strstr (field, " ("), *padded = strstr (field, "(padded to ");

  if (padded)
    return g_strndup (padded + strlen ("(padded to "),
                      strcspn (padded + strlen ("(padded to "), ")"));
  return remark ? g_strndup (field, (gsize) (remark - field)) : g_strdup (field);
}

gboolean ls_training_integer (const Reader *reader, const char *column, gint64 least,
                              gint64 fallback, gint64 *out, GError **error) {
  g_autofree char *field = without_remark (text (reader, column));
  double value;

  if (!*field) {
    *out = fallback;
    return fallback >= 0 || ls_training_skip (error, "%s is not stated", column);
  }
  if (!ls_number_parse (field, &value) || value != floor (value) || value < (double) least ||
      value > 1e15)
    return ls_training_skip (error, "%s: '%s' is no whole number from %d", column, field,
                             (int) least);
  *out = (gint64) value;
  return TRUE;
}

gint64 ls_training_number_behind (const Reader *reader, const char *column, const char *word,
                                  gint64 otherwise) {
  g_autofree char *folded = g_ascii_strdown (text (reader, column), -1);
  const char *found = strstr (folded, word);
  const gint64 number = found ? g_ascii_strtoll (found + strlen (word), NULL, 10) : 0;

  return number > 0 && number < 1000000 ? number : otherwise;
}
