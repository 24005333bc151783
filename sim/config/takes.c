/*
 * What a key takes, in words: for messages, --explain and the documents.
 */
#include "config/schema.h"
#include "config/value.h"

/* Longer lists of words are not spelt out in one message. */
#define WORDS_MAX 16

static const char *const type_phrases[] = {
#define X(NAME, PHRASE) [LS_CONFIG_##NAME] = PHRASE,
    LS_CONFIG_TYPE_MAP (X)
#undef X
};

const char *ls_config_type_phrase (LsConfigType type) {
  return type_phrases[type];
}

const char *const *ls_config_key_choices (const LsConfigKey *key) {
  return key->choices_list != NULL ? key->choices_list () : key->choices;
}

static void append_words (GString *out, const LsConfigKey *key) {
  const char *const *words = ls_config_key_choices (key);
  guint count = words != NULL ? g_strv_length ((char **) words) : 0;
  g_autofree char *list = NULL;

  if (count == 0 || key->type == LS_CONFIG_MAP)
    return;
  if (key->type != LS_CONFIG_WORD)
    g_string_append (out, " or ");
  if (count > WORDS_MAX) {
    g_string_append_printf (out, "one of %u words", count);
    return;
  }
  list = ls_config_enumerate (words);
  g_string_append (out, list);
}

static void append_bound (GString *out, const LsConfigKey *key, const char *prefix, double bound) {
  g_autofree char *text = ls_quantity_format (bound, key->dimension);

  g_string_append_printf (out, "%s%s", prefix, text);
}

static void append_range (GString *out, const LsConfigKey *key) {
  gboolean positive = (key->flags & LS_CONFIG_POSITIVE) != 0;

  if (key->minimum != 0 && key->minimum == key->maximum) {
    append_bound (out, key, ", namely ", key->minimum);
    return;
  }
  if (key->minimum != 0)
    append_bound (out, key, ", at least ", key->minimum);
  else if (positive)
    g_string_append (out, ", more than 0");
  else if ((key->flags & LS_CONFIG_SIGNED) == 0)
    g_string_append (out, key->type == LS_CONFIG_QUANTITY ? ", not negative" : ", at least 0");
  if (key->maximum != 0)
    append_bound (out, key, ", at most ", key->maximum);
}

static void append_type (GString *out, const LsConfigKey *key) {
  switch (key->type) {
  case LS_CONFIG_WORD:
    break;
  case LS_CONFIG_QUANTITY:
    g_string_append_printf (out, "a %s with a unit (%s)", ls_dimension_word (key->dimension),
                            ls_dimension_units (key->dimension));
    if (key->flags & LS_CONFIG_OR_PERCENT)
      g_string_append (out, " or a share in %");
    append_range (out, key);
    break;
  case LS_CONFIG_INTEGER:
  case LS_CONFIG_NUMBER:
    g_string_append (out, ls_config_type_phrase (key->type));
    if (key->dimension == LS_DIMENSION_COUNT)
      g_string_append (out, " (or k, M, G or B, T of them)");
    append_range (out, key);
    break;
  default:
    g_string_append (out, ls_config_type_phrase (key->type));
    break;
  }
}

char *ls_config_key_takes (const LsConfigKey *key) {
  GString *out = g_string_new (NULL);

  if (key->type == LS_CONFIG_MAP && (key->flags & LS_CONFIG_LIST))
    return g_string_free (g_string_append (out, "a list of maps"), FALSE);
  if (key->flags & LS_CONFIG_LIST)
    g_string_append (out,
                     key->flags & LS_CONFIG_ONE_OR_LIST ? "one or a list of: " : "a list of: ");
  append_type (out, key);
  append_words (out, key);
  if (key->type == LS_CONFIG_MAP) {
    if (key->word != NULL)
      g_string_append_printf (out, " or a word (its %s)", key->word);
    if (key->number != NULL)
      g_string_append_printf (out, " or a number (its %s)", key->number);
  }
  return g_string_free (out, FALSE);
}
