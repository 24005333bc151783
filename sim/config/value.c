/*
 * Reading one scalar by its row: type, unit, range, words.
 *
 * Every refusal says what is wrong, then what the key takes, then what may have been meant.
 */
#include "config/value.h"

#include "base/assert.h"
#include "base/distance.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

/* Whole numbers up to here are exact in a double. */
#define INTEGER_MAX 9007199254740992.0

/* More indexes than this in one key are a mistake, and would only cost memory. */
#define INDEXES_MAX 4000000

/* "; did you mean 'x'?" or nothing (transfer full). */
static char *suggestion_text (const char *word, const char *const *candidates) {
  const char *nearest = candidates != NULL ? ls_nearest (word, candidates) : NULL;

  return nearest != NULL ? g_strdup_printf ("; did you mean '%s'?", nearest) : g_strdup ("");
}

char *ls_config_enumerate (const char *const *words) {
  GString *out = g_string_new (NULL);

  for (guint i = 0; words != NULL && words[i] != NULL; i++)
    g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", words[i]);
  return g_string_free (out, FALSE);
}

static gboolean refuse (const LsConfigKey *row, GError **error, const char *text,
                        const char *what) {
  g_autofree char *takes = ls_config_key_takes (row);
  g_autofree char *suggestion = suggestion_text (text, ls_config_key_choices (row));

  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "'%s' %s; takes %s%s", text, what, takes,
               suggestion);
  return FALSE;
}

static gboolean contains (const char *const *words, const char *text) {
  return words != NULL && g_strv_contains (words, text);
}

/* The words that a key of another type takes beside its values, and those of WORD itself. */
static gboolean read_word (const LsConfigKey *row, const char *text, gboolean *known,
                           GError **error) {
  *known = contains (ls_config_key_choices (row), text);
  if (*known)
    return TRUE;
  if (contains (row->later_choices, text)) {
    g_autofree char *takes = ls_config_key_takes (row);

    *known = TRUE;
    g_set_error (error, LS_ERROR, LS_ERROR_UNSUPPORTED, "not yet: '%s'; takes %s", text, takes);
    return FALSE;
  }
  return TRUE;
}

static gboolean is_not_finite (const char *text) {
  static const char *const words[] = {"nan", ".nan", "inf", ".inf", "infinity", NULL};
  g_autofree char *lower = g_ascii_strdown (text, -1);
  const char *bare = lower[0] == '-' || lower[0] == '+' ? lower + 1 : lower;

  return g_strv_contains (words, bare);
}

/* Bounds of any number, in the base unit. */
static gboolean check_range (const LsConfigKey *row, const char *text, double number,
                             GError **error) {
  if (number < 0 && (row->flags & LS_CONFIG_SIGNED) == 0)
    return refuse (row, error, text, "is negative");
  if (number == 0 && (row->flags & LS_CONFIG_POSITIVE))
    return refuse (row, error, text, "is zero");
  if ((row->minimum != 0 || !(row->flags & LS_CONFIG_SIGNED)) && number < row->minimum)
    return refuse (row, error, text, "is too small");
  if (row->maximum != 0 && number > row->maximum)
    return refuse (row, error, text, "is too large");
  return TRUE;
}

static gboolean read_plain_number (const LsConfigKey *row, const char *text, double *number,
                                   GError **error) {
  if (row->dimension == LS_DIMENSION_COUNT
          ? ls_quantity_parse (text, LS_DIMENSION_COUNT, number, NULL)
          : ls_number_parse (text, number))
    return TRUE;
  if (is_not_finite (text))
    return refuse (row, error, text, "is not finite");
  return refuse (row, error, text, "is no number");
}

static gboolean read_integer (const LsConfigKey *row, const char *text, double *number,
                              GError **error) {
  if (!read_plain_number (row, text, number, error))
    return FALSE;
  if (fabs (*number) > INTEGER_MAX)
    return refuse (row, error, text,
                   row->maximum > 0 ? "is too large" : "is beyond 9007199254740992 (2^53)");
  if (*number != floor (*number))
    return refuse (row, error, text, "is not whole");
  return check_range (row, text, *number, error);
}

static gboolean read_quantity (const LsConfigKey *row, const char *text, LsConfigValue *value,
                               GError **error) {
  g_autoptr (GError) why = NULL;

  if ((row->flags & LS_CONFIG_OR_PERCENT) && strchr (text, '%') != NULL) {
    value->percent = ls_quantity_parse (text, LS_DIMENSION_FRACTION, &value->number, &why);
    if (value->percent)
      return value->number >= 0 ? TRUE : refuse (row, error, text, "is negative");
  } else if (ls_quantity_parse (text, row->dimension, &value->number, &why))
    return check_range (row, text, value->number, error);
  if (is_not_finite (text))
    return refuse (row, error, text, "is not finite");
  /* Words beside quantities ("auto") are named by refuse(); else the reason is exact already. */
  if (ls_config_key_choices (row) != NULL && !g_ascii_isdigit (text[0]))
    return refuse (row, error, text, "is neither a quantity nor a word known here");
  g_propagate_error (error, g_steal_pointer (&why));
  return FALSE;
}

/* YAML 1.2 core schema, 10.3.2; the words of YAML 1.1 are named in the refusal. */
static gboolean read_boolean (const LsConfigKey *row, const char *text, double *number,
                              GError **error) {
  static const char *const yes[] = {"true", "True", "TRUE", NULL};
  static const char *const no[] = {"false", "False", "FALSE", NULL};
  static const char *const old_yes[] = {"yes", "on", "y", "1", NULL};
  static const char *const old_no[] = {"no", "off", "n", "0", NULL};
  g_autofree char *lower = g_ascii_strdown (text, -1);

  if (g_strv_contains (yes, text) || g_strv_contains (no, text)) {
    *number = g_strv_contains (yes, text) ? 1 : 0;
    return TRUE;
  }
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
               "'%s' is neither true nor false; takes true or false%s", text,
               g_strv_contains (old_yes, lower)  ? "; did you mean 'true'?"
               : g_strv_contains (old_no, lower) ? "; did you mean 'false'?"
                                                 : "");
  (void) row;
  return FALSE;
}

/* "3" or "0-7" as first and last. */
static gboolean read_interval (const char *text, gint64 *first, gint64 *last) {
  const char *dash = strchr (text, '-');
  g_autofree char *left =
      g_strstrip (dash != NULL ? g_strndup (text, (gsize) (dash - text)) : g_strdup (text));
  g_autofree char *right = g_strstrip (g_strdup (dash != NULL ? dash + 1 : text));

  return g_ascii_string_to_signed (left, 10, 0, G_MAXINT32, first, NULL) &&
         g_ascii_string_to_signed (right, 10, 0, G_MAXINT32, last, NULL);
}

gboolean ls_config_value_indexes (const LsConfigKey *row, const char *text, GArray *indexes,
                                  GError **error) {
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (char **part = parts; *part != NULL; part++) {
    gint64 first = 0, last = 0;

    if (!read_interval (*part, &first, &last))
      return refuse (row, error, text, "is neither an index nor a range of them");
    if (first > last)
      return refuse (row, error, text, "runs backwards");
    if (row->maximum != 0 && (double) last > row->maximum)
      return refuse (row, error, text, "is too large");
    if (last - first >= INDEXES_MAX - (gint64) indexes->len)
      return refuse (row, error, text, "names too many");
    for (gint64 i = first; i <= last; i++)
      g_array_append_val (indexes, i);
  }
  return TRUE;
}

static gboolean read_indexes (const LsConfigKey *row, const char *text, GError **error) {
  g_autoptr (GArray) indexes = g_array_new (FALSE, FALSE, sizeof (gint64));

  return ls_config_value_indexes (row, text, indexes, error);
}

gboolean ls_config_value_read (const LsConfigKey *row, const char *text, LsConfigValue *value,
                               GError **error) {
  memset (value, 0, sizeof *value);
  if (!read_word (row, text, &value->word, error))
    return FALSE;
  if (value->word)
    return TRUE;
  switch (row->type) {
  case LS_CONFIG_WORD:
    return refuse (row, error, text, "is not known");
  case LS_CONFIG_INTEGER:
    return read_integer (row, text, &value->number, error);
  case LS_CONFIG_NUMBER:
    return read_plain_number (row, text, &value->number, error) &&
           check_range (row, text, value->number, error);
  case LS_CONFIG_QUANTITY:
    return read_quantity (row, text, value, error);
  case LS_CONFIG_BOOLEAN:
    return read_boolean (row, text, &value->number, error);
  case LS_CONFIG_INDEXES:
    return read_indexes (row, text, error);
  case LS_CONFIG_STRING:
  case LS_CONFIG_FILE:
    return text[0] != '\0' ? TRUE : refuse (row, error, text, "is empty");
  default:
    return TRUE;
  }
}

/* The items of "[a, b]", or the text itself. */
static char **default_items (const char *text) {
  gsize length = strlen (text);
  g_autofree char *inner = NULL;

  if (length < 2 || text[0] != '[' || text[length - 1] != ']')
    return g_strsplit (text, "\n", -1);
  inner = g_strndup (text + 1, length - 2);
  return inner[0] == '\0' ? g_new0 (char *, 1) : g_strsplit (inner, ",", -1);
}

gboolean ls_config_value_check_default (const LsConfigKey *row, GError **error) {
  g_auto (GStrv) items = default_items (row->default_text);
  LsConfigValue value;

  /* An empty text is a legal default (no title), though nobody may write one. */
  if (row->type == LS_CONFIG_STRING && row->default_text[0] == '\0')
    return TRUE;
  for (char **item = items; *item != NULL; item++)
    if (!ls_config_value_read (row, g_strstrip (*item), &value, error))
      return FALSE;
  return TRUE;
}
