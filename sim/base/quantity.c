/*
 * Reading and writing quantities with units; see quantity.h for the rules.
 *
 * Model: a unit is a prefix and a stem. Each row of the stem table names a dimension, a stem, its
 * factor to the base unit, and which prefixes it takes. A unit text matches a row when it ends in
 * the stem and what stands before is one of the row's prefixes (or nothing). Tables are walked in
 * order and only whole matches count, so the order of rows does not matter for reading.
 */
#include "base/quantity.h"

#include "base/assert.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

enum {
  PREFIX_NONE = 0,
  PREFIX_LARGE = 1 << 0,  /* k, M, G, T, P, E */
  PREFIX_SMALL = 1 << 1,  /* m, u, n, p */
  PREFIX_BINARY = 1 << 2, /* Ki, Mi, Gi, Ti, Pi */
  ANY_CASE = 1 << 3,      /* the stem may be written in any case (never the prefix) */
};

/* What a unit does to a number: value = number x 10^exponent x times / over. Powers of ten are
 * applied to the decimal text, so that 500 ns is the double nearest to 5e-7 and not a product. */
typedef struct {
  int exponent;
  double times;
  double over;
} Scale;

typedef struct {
  const char *text;
  Scale scale;
  int kind;
} Prefix;

static const Prefix prefixes[] = {
    {"k", {3, 1, 1}, PREFIX_LARGE},
    {"K", {3, 1, 1}, PREFIX_LARGE},
    {"M", {6, 1, 1}, PREFIX_LARGE},
    {"G", {9, 1, 1}, PREFIX_LARGE},
    {"T", {12, 1, 1}, PREFIX_LARGE},
    {"P", {15, 1, 1}, PREFIX_LARGE},
    {"E", {18, 1, 1}, PREFIX_LARGE},
    {"Ki", {0, 1024.0, 1}, PREFIX_BINARY},
    {"Mi", {0, 1048576.0, 1}, PREFIX_BINARY},
    {"Gi", {0, 1073741824.0, 1}, PREFIX_BINARY},
    {"Ti", {0, 1099511627776.0, 1}, PREFIX_BINARY},
    {"Pi", {0, 1125899906842624.0, 1}, PREFIX_BINARY},
    {"m", {-3, 1, 1}, PREFIX_SMALL},
    {"u", {-6, 1, 1}, PREFIX_SMALL},
    {"\xc2\xb5", {-6, 1, 1}, PREFIX_SMALL}, /* micro sign */
    {"\xce\xbc", {-6, 1, 1}, PREFIX_SMALL}, /* Greek mu */
    {"n", {-9, 1, 1}, PREFIX_SMALL},
    {"p", {-12, 1, 1}, PREFIX_SMALL},
};

typedef struct {
  LsDimension dimension;
  const char *stem;
  Scale scale;
  int flags;
} Stem;

#define DATA (PREFIX_LARGE | PREFIX_BINARY)
#define KWH 3.6e6               /* joules in a kilowatt hour, by definition */
#define MONTH (30.4375 * 86400) /* seconds in a mean month of the Julian year, 365.25 d / 12 */

static const Stem stems[] = {
    {LS_DIMENSION_COUNT, "", {0, 1, 1}, PREFIX_LARGE | PREFIX_BINARY},
    {LS_DIMENSION_COUNT, "B", {9, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_COUNT, "tokens", {0, 1, 1}, PREFIX_LARGE},
    {LS_DIMENSION_COUNT, "samples", {0, 1, 1}, PREFIX_LARGE},
    {LS_DIMENSION_BYTES, "B", {0, 1, 1}, DATA},
    {LS_DIMENSION_BYTES, "bytes", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_BYTES, "byte", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_BYTES, "b", {0, 0.125, 1}, DATA},
    {LS_DIMENSION_BYTES, "bit", {0, 0.125, 1}, DATA},
    {LS_DIMENSION_BYTES_PER_S, "B/s", {0, 1, 1}, DATA},
    {LS_DIMENSION_BYTES_PER_S, "Bps", {0, 1, 1}, DATA},
    {LS_DIMENSION_BYTES_PER_S, "b/s", {0, 0.125, 1}, DATA},
    {LS_DIMENSION_BYTES_PER_S, "bps", {0, 0.125, 1}, DATA},
    {LS_DIMENSION_BYTES_PER_S, "bit/s", {0, 0.125, 1}, DATA},
    {LS_DIMENSION_FLOPS, "FLOP", {0, 1, 1}, PREFIX_LARGE | ANY_CASE},
    {LS_DIMENSION_FLOPS_PER_S, "FLOP/s", {0, 1, 1}, PREFIX_LARGE | ANY_CASE},
    {LS_DIMENSION_FLOPS_PER_S, "FLOPS", {0, 1, 1}, PREFIX_LARGE | ANY_CASE},
    {LS_DIMENSION_FLOPS_PER_S, "FLOPS/s", {0, 1, 1}, PREFIX_LARGE | ANY_CASE},
    {LS_DIMENSION_TIME, "s", {0, 1, 1}, PREFIX_SMALL},
    {LS_DIMENSION_TIME, "sec", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "second", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "seconds", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "min", {0, 60, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "minute", {0, 60, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "minutes", {0, 60, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "h", {0, 3600, 1}, PREFIX_LARGE},
    {LS_DIMENSION_TIME, "hour", {0, 3600, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "hours", {0, 3600, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "d", {0, 86400, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "day", {0, 86400, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "days", {0, 86400, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "week", {0, 7 * 86400, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "weeks", {0, 7 * 86400, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "year", {0, 365.25 * 86400, 1}, PREFIX_NONE},
    {LS_DIMENSION_TIME, "years", {0, 365.25 * 86400, 1}, PREFIX_NONE},
    {LS_DIMENSION_FREQUENCY, "Hz", {0, 1, 1}, PREFIX_LARGE},
    {LS_DIMENSION_POWER, "W", {0, 1, 1}, PREFIX_LARGE | PREFIX_SMALL},
    {LS_DIMENSION_ENERGY, "J", {0, 1, 1}, PREFIX_LARGE | PREFIX_SMALL},
    {LS_DIMENSION_ENERGY, "Wh", {0, 3600, 1}, PREFIX_LARGE},
    {LS_DIMENSION_FRACTION, "%", {-2, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_FRACTION, "percent", {-2, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_COUNT_PER_S, "/s", {0, 1, 1}, PREFIX_LARGE},
    {LS_DIMENSION_COUNT_PER_S, "1/s", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_COUNT_PER_S, "samples/s", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_COUNT_PER_S, "tokens/s", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_MONEY, "USD", {0, 1, 1}, PREFIX_LARGE},
    {LS_DIMENSION_MONEY, "$", {0, 1, 1}, PREFIX_LARGE},
    {LS_DIMENSION_MONEY_PER_TIME, "USD/s", {0, 1, 1}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_TIME, "USD/h", {0, 1, 3600}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_TIME, "$/h", {0, 1, 3600}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_TIME, "USD/d", {0, 1, 86400}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_TIME, "USD/month", {0, 1, MONTH}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_ENERGY, "USD/kWh", {0, 1, KWH}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_ENERGY, "$/kWh", {0, 1, KWH}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_ENERGY, "USD/MWh", {-3, 1, KWH}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_BYTE_TIME, "USD/GB/month", {-9, 1, MONTH}, PREFIX_NONE},
    {LS_DIMENSION_MONEY_PER_BYTE_TIME, "USD/TB/month", {-12, 1, MONTH}, PREFIX_NONE},
    {LS_DIMENSION_MASS_PER_ENERGY, "kg/kWh", {0, 1, KWH}, PREFIX_NONE},
    {LS_DIMENSION_MASS_PER_ENERGY, "g/kWh", {-3, 1, KWH}, PREFIX_NONE},
};

typedef struct {
  const char *word;
  const char *base_unit;
  const char *units;
} DimensionRow;

static const DimensionRow dimension_rows[LS_N_DIMENSIONS] = {
#define X(NAME, WORD, BASE, UNITS) [LS_DIMENSION_##NAME] = {WORD, BASE, UNITS},
    LS_DIMENSION_MAP (X)
#undef X
};

static const DimensionRow *dimension_row (LsDimension dimension) {
  LS_REQUIRE ((guint) dimension < LS_N_DIMENSIONS, "dimension %d", (int) dimension);
  return &dimension_rows[dimension];
}

const char *ls_dimension_word (LsDimension dimension) {
  return dimension_row (dimension)->word;
}

const char *ls_dimension_base_unit (LsDimension dimension) {
  return dimension_row (dimension)->base_unit;
}

const char *ls_dimension_units (LsDimension dimension) {
  return dimension_row (dimension)->units;
}

gboolean ls_dimension_needs_unit (LsDimension dimension) {
  return dimension != LS_DIMENSION_NONE && dimension != LS_DIMENSION_COUNT;
}

/* Length of the decimal number at the start of @text, 0 when there is none. Hexadecimal, "inf" and
 * "nan", which strtod would take, are none. */
static gsize number_length (const char *text) {
  const char *p = text;
  gsize digits = 0;

  if (*p == '+' || *p == '-')
    p++;
  for (; g_ascii_isdigit (*p); p++)
    digits++;
  if (*p == '.')
    for (p++; g_ascii_isdigit (*p); p++)
      digits++;
  if (digits == 0)
    return 0;
  if (*p == 'e' || *p == 'E') {
    const char *q = p + 1;

    if (*q == '+' || *q == '-')
      q++;
    if (g_ascii_isdigit (*q)) {
      while (g_ascii_isdigit (*q))
        q++;
      p = q;
    }
  }
  return (gsize) (p - text);
}

gboolean ls_number_parse (const char *text, double *value) {
  gsize length = number_length (text);
  double v;

  if (length == 0 || text[length] != '\0')
    return FALSE;
  v = g_ascii_strtod (text, NULL);
  if (!isfinite (v))
    return FALSE;
  *value = v;
  return TRUE;
}

/* The prefix @text of @length bytes among those that @stem takes, or NULL. */
static const Prefix *find_prefix (const Stem *stem, const char *text, gsize length,
                                  gboolean any_case) {
  for (gsize i = 0; i < G_N_ELEMENTS (prefixes); i++) {
    const Prefix *prefix = &prefixes[i];

    if ((stem->flags & prefix->kind) == 0 || strlen (prefix->text) != length)
      continue;
    if (any_case ? g_ascii_strncasecmp (text, prefix->text, length) == 0
                 : strncmp (text, prefix->text, length) == 0)
      return prefix;
  }
  return NULL;
}

/* Matches a whole unit text against one row. */
static gboolean stem_match (const Stem *stem, const char *unit, gboolean any_case, Scale *scale) {
  gsize unit_length = strlen (unit), stem_length = strlen (stem->stem);
  const Prefix *prefix;
  const char *tail;

  if (unit_length < stem_length)
    return FALSE;
  tail = unit + (unit_length - stem_length);
  if (any_case || (stem->flags & ANY_CASE) ? g_ascii_strcasecmp (tail, stem->stem) != 0
                                           : strcmp (tail, stem->stem) != 0)
    return FALSE;
  *scale = stem->scale;
  if (tail == unit)
    return TRUE;
  prefix = find_prefix (stem, unit, (gsize) (tail - unit), any_case);
  if (prefix == NULL)
    return FALSE;
  scale->exponent += prefix->scale.exponent;
  scale->times *= prefix->scale.times;
  return TRUE;
}

static gboolean unit_scale (const char *unit, LsDimension dimension, gboolean any_case,
                            Scale *scale) {
  for (gsize i = 0; i < G_N_ELEMENTS (stems); i++)
    if (stems[i].dimension == dimension && stem_match (&stems[i], unit, any_case, scale))
      return TRUE;
  return FALSE;
}

/* Explains why @unit is not one of @dimension, as exactly as can be told. */
static void set_unit_error (GError **error, const char *text, const char *unit,
                            LsDimension dimension) {
  const char *word = ls_dimension_word (dimension), *units = ls_dimension_units (dimension);
  Scale ignored;

  if (unit[0] == '\0') {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "'%s' has no unit; a %s takes %s", text, word,
                 units);
    return;
  }
  if (unit_scale (unit, dimension, TRUE, &ignored) &&
      (dimension == LS_DIMENSION_BYTES || dimension == LS_DIMENSION_BYTES_PER_S)) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "'%s' is not clear: a small b means bits, a capital B bytes, and prefixes are k, "
                 "M, G, T; a %s takes %s",
                 unit, word, units);
    return;
  }
  for (int other = LS_DIMENSION_BYTES; other < LS_N_DIMENSIONS; other++)
    if (other != (int) dimension && unit_scale (unit, (LsDimension) other, FALSE, &ignored)) {
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "'%s' is a unit of %s; a %s takes %s", unit,
                   ls_dimension_word ((LsDimension) other), word, units);
      return;
    }
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "unknown unit '%s'; a %s takes %s", unit, word,
               units);
}

/* number x 10^exponent, rounded once. */
static double shift_decimal (const char *number, gsize length, int exponent) {
  gsize mantissa = 0;
  gint64 own = 0;
  g_autofree char *text = NULL;

  while (mantissa < length && number[mantissa] != 'e' && number[mantissa] != 'E')
    mantissa++;
  if (mantissa < length)
    own = CLAMP (g_ascii_strtoll (number + mantissa + 1, NULL, 10), -100000, 100000);
  text = g_strdup_printf ("%.*se%d", (int) mantissa, number, (int) own + exponent);
  return g_ascii_strtod (text, NULL);
}

gboolean ls_quantity_parse (const char *text, LsDimension dimension, double *value,
                            GError **error) {
  g_autofree char *copy = g_strstrip (g_strdup (text));
  gsize length = number_length (copy);
  const char *unit = copy + length;
  Scale scale = {0, 1, 1};
  double v;

  if (length == 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "'%s' is not a number with a unit; a %s takes %s", copy,
                 ls_dimension_word (dimension), ls_dimension_units (dimension));
    return FALSE;
  }
  while (g_ascii_isspace (*unit))
    unit++;
  if ((unit[0] != '\0' || ls_dimension_needs_unit (dimension)) &&
      !unit_scale (unit, dimension, FALSE, &scale)) {
    set_unit_error (error, copy, unit, dimension);
    return FALSE;
  }
  v = shift_decimal (copy, length, scale.exponent) * scale.times / scale.over;
  if (!isfinite (v)) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "'%s' is too large to compute with", copy);
    return FALSE;
  }
  *value = v;
  return TRUE;
}
