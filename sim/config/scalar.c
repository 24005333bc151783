/*
 * Scalars in a form that YAML 1.1 and 1.2 readers take for the same value.
 *
 * YAML 1.1 reads yes, no, on, off as booleans, 12:30 as 750, 010 as 8, 2026-12-01 as a date, and
 * 15e12 as a text, since its floats need a point and a signed exponent. So texts stand bare only
 * when they begin with a letter and are none of those words, or are a number and a unit; numbers
 * are written anew.
 */
#include "config/scalar.h"

#include "config/check.h"
#include "config/text.h"
#include "config/value.h"

#include <math.h>
#include <string.h>

static gboolean is_reserved (const char *text) {
  static const char *const words[] = {"y",    "n",     "yes",  "no",  "on",  "off",
                                      "true", "false", "null", "nan", "inf", NULL};
  g_autofree char *lower = g_ascii_strdown (text, -1);

  return g_strv_contains (words, lower);
}

static gboolean is_plain_char (char c) {
  return g_ascii_isalnum (c) || strchr ("_./%+- ", c) != NULL;
}

/* A word such as fat-tree or a quantity such as 400 Gb/s. */
static gboolean is_plain (const char *text) {
  gsize length = strlen (text);

  if (length == 0 || text[length - 1] == ' ')
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!is_plain_char (text[i]))
      return FALSE;
  if (g_ascii_isalpha (text[0]))
    return !is_reserved (text);
  /* A digit first: only with a blank and then a letter or %, which no number or date has. */
  if (g_ascii_isdigit (text[0])) {
    const char *blank = strchr (text, ' ');

    return blank != NULL && (g_ascii_isalpha (blank[1]) || blank[1] == '%');
  }
  return FALSE;
}

void ls_config_text_yaml (GString *out, const char *text) {
  if (is_plain (text))
    g_string_append (out, text);
  else
    ls_config_json_string (out, text);
}

/* The shortest decimal that reads back as @number; with a point or as an integer. */
static void append_number (GString *out, double number) {
  char text[64];

  if (number == floor (number) && fabs (number) < 1e15) {
    g_string_append_printf (out, "%" G_GINT64_FORMAT, (gint64) number);
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    char format[16];

    g_snprintf (format, sizeof format, "%%.%dg", digits);
    g_ascii_formatd (text, sizeof text, format, number);
    if (g_ascii_strtod (text, NULL) == number)
      break;
  }
  if (strchr (text, '.') == NULL) {
    char *exponent = strchr (text, 'e');
    gsize head = exponent != NULL ? (gsize) (exponent - text) : strlen (text);

    g_string_append_len (out, text, (gssize) head);
    g_string_append (out, ".0");
    g_string_append (out, text + head);
    return;
  }
  g_string_append (out, text);
}

typedef enum { AS_TEXT, AS_NUMBER, AS_BOOLEAN } Form;

/* How a scalar without a description reads in YAML 1.2. */
static Form undescribed_form (const LsConfigNode *node, double *number) {
  static const LsConfigKey boolean = {.path = "", .type = LS_CONFIG_BOOLEAN};
  LsConfigValue value;

  if (node->quoted)
    return AS_TEXT;
  if (ls_number_parse (node->text, number))
    return AS_NUMBER;
  if (!ls_config_value_read (&boolean, node->text, &value, NULL))
    return AS_TEXT;
  *number = value.number;
  return AS_BOOLEAN;
}

static Form form_of (const LsConfigNode *node, const LsConfigKey *row, double *number) {
  LsConfigValue value;

  if (row == NULL || row->type == LS_CONFIG_ANY)
    return undescribed_form (node, number);
  if (row->type != LS_CONFIG_INTEGER && row->type != LS_CONFIG_NUMBER &&
      row->type != LS_CONFIG_BOOLEAN)
    return AS_TEXT;
  if (!ls_config_value_read (row, node->text, &value, NULL) || value.word)
    return AS_TEXT;
  *number = value.number;
  return row->type == LS_CONFIG_BOOLEAN ? AS_BOOLEAN : AS_NUMBER;
}

/* The name of a file as it reads from any folder: what is written here is kept elsewhere, beside
 * results or in a trace. */
static void write_file (GString *out, const LsConfigNode *node,
                        void (*write_text) (GString *, const char *)) {
  g_autofree char *name = ls_config_resolve_file (node->position, node->text);
  g_autofree char *absolute = g_canonicalize_filename (name, NULL);

  write_text (out, absolute);
}

static void write_scalar (GString *out, const LsConfigNode *node, const LsConfigKey *row,
                          void (*write_text) (GString *, const char *)) {
  double number = 0;

  if (node->file) {
    write_file (out, node, write_text);
    return;
  }
  switch (form_of (node, row, &number)) {
  case AS_NUMBER:
    append_number (out, number);
    break;
  case AS_BOOLEAN:
    g_string_append (out, number != 0 ? "true" : "false");
    break;
  default:
    write_text (out, node->text);
    break;
  }
}

void ls_config_scalar_yaml (GString *out, const LsConfigNode *node, const LsConfigKey *row) {
  write_scalar (out, node, row, ls_config_text_yaml);
}

void ls_config_scalar_json (GString *out, const LsConfigNode *node, const LsConfigKey *row) {
  write_scalar (out, node, row, ls_config_json_string);
}
