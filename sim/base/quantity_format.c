/*
 * Writing quantities for people; the counterpart of quantity.c.
 *
 * Each dimension has a ladder of units in ascending order; the largest that keeps the number at
 * one or more is taken, the smallest one for what lies below.
 */
#include "base/quantity.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

typedef struct {
  LsDimension dimension;
  double factor;
  const char *unit;
} Rung;

#define SI_LADDER(D, U)                                                           \
  {D, 1, U}, {D, 1e3, "k" U}, {D, 1e6, "M" U}, {D, 1e9, "G" U}, {D, 1e12, "T" U}, \
      {D, 1e15, "P" U}, {                                                         \
    D, 1e18, "E" U                                                                \
  }

#define KWH 3.6e6 /* joules in a kilowatt hour, by definition */

static const Rung rungs[] = {
    {LS_DIMENSION_NONE, 1, ""},
    {LS_DIMENSION_COUNT, 1, ""},
    {LS_DIMENSION_COUNT, 1e6, "M"},
    {LS_DIMENSION_COUNT, 1e9, "G"},
    {LS_DIMENSION_COUNT, 1e12, "T"},
    SI_LADDER (LS_DIMENSION_BYTES, "B"),
    SI_LADDER (LS_DIMENSION_BYTES_PER_S, "B/s"),
    SI_LADDER (LS_DIMENSION_FLOPS, "FLOP"),
    SI_LADDER (LS_DIMENSION_FLOPS_PER_S, "FLOP/s"),
    {LS_DIMENSION_TIME, 1e-12, "ps"},
    {LS_DIMENSION_TIME, 1e-9, "ns"},
    {LS_DIMENSION_TIME, 1e-6, "us"},
    {LS_DIMENSION_TIME, 1e-3, "ms"},
    {LS_DIMENSION_TIME, 1, "s"},
    {LS_DIMENSION_TIME, 60, "min"},
    {LS_DIMENSION_TIME, 3600, "h"},
    {LS_DIMENSION_TIME, 86400, "d"},
    SI_LADDER (LS_DIMENSION_FREQUENCY, "Hz"),
    SI_LADDER (LS_DIMENSION_POWER, "W"),
    {LS_DIMENSION_ENERGY, 1, "J"},
    {LS_DIMENSION_ENERGY, 3600, "Wh"},
    {LS_DIMENSION_ENERGY, KWH, "kWh"},
    {LS_DIMENSION_ENERGY, KWH * 1e3, "MWh"},
    {LS_DIMENSION_FRACTION, 0.01, "%"},
    SI_LADDER (LS_DIMENSION_COUNT_PER_S, "/s"),
    {LS_DIMENSION_MONEY, 1, "USD"},
    {LS_DIMENSION_MONEY_PER_TIME, 1.0 / 3600, "USD/h"},
    {LS_DIMENSION_MONEY_PER_ENERGY, 1.0 / KWH, "USD/kWh"},
    {LS_DIMENSION_MONEY_PER_BYTE_TIME, 1e-9 / (30.4375 * 86400), "USD/GB/month"},
    {LS_DIMENSION_MASS_PER_ENERGY, 1.0 / KWH, "kg/kWh"},
};

static const Rung binary_rungs[] = {
    {LS_DIMENSION_BYTES, 1048576.0, "MiB"},
    {LS_DIMENSION_BYTES, 1073741824.0, "GiB"},
    {LS_DIMENSION_BYTES, 1099511627776.0, "TiB"},
};

/* Whole multiples of a binary unit that are no round decimal size are binary sizes. */
static const Rung *binary_rung (double value, LsDimension dimension) {
  const Rung *best = NULL;

  if (dimension != LS_DIMENSION_BYTES || fmod (value, 1e6) == 0)
    return NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (binary_rungs); i++)
    if (fabs (value) >= binary_rungs[i].factor && fmod (value, binary_rungs[i].factor) == 0)
      best = &binary_rungs[i];
  /* 38.25 GiB is a whole number of MiB, but nobody reads 39168 MiB. */
  return best != NULL && fabs (value) < 1024 * best->factor ? best : NULL;
}

static const Rung *decimal_rung (double value, LsDimension dimension) {
  const Rung *best = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (rungs); i++)
    if (rungs[i].dimension == dimension && (best == NULL || fabs (value) >= rungs[i].factor))
      best = &rungs[i];
  /* Nothing reads better without a prefix: "0 s", not "0 ps". */
  for (gsize i = 0; value == 0 && i < G_N_ELEMENTS (rungs); i++)
    if (rungs[i].dimension == dimension && rungs[i].factor == 1)
      best = &rungs[i];
  LS_REQUIRE (best != NULL, "no unit to write a %s in", ls_dimension_word (dimension));
  return best;
}

static const Rung *choose_rung (double value, LsDimension dimension) {
  const Rung *rung = binary_rung (value, dimension);

  return rung != NULL ? rung : decimal_rung (value, dimension);
}

static char *join (const char *number, const char *unit) {
  return unit[0] == '\0' ? g_strdup (number) : g_strdup_printf ("%s %s", number, unit);
}

static char *format_in (const Rung *rung, double value) {
  double scaled = value / rung->factor;
  char number[64];

  /* Four significant digits, but whole numbers are never cut: 1536 GPUs, not 1.536e+03. */
  if (fabs (scaled) >= 1000 && fabs (scaled) < 1e15)
    g_ascii_formatd (number, sizeof number, "%.0f", scaled);
  else
    g_ascii_formatd (number, sizeof number, "%.4g", scaled);
  return join (number, rung->unit);
}

char *ls_quantity_format (double value, LsDimension dimension) {
  return format_in (choose_rung (value, dimension), value);
}

char *ls_quantity_format_seconds (double seconds) {
  static const Rung second = {LS_DIMENSION_TIME, 1, "s"};
  const Rung *rung = decimal_rung (seconds, LS_DIMENSION_TIME);

  return format_in (rung->factor > 1 ? &second : rung, seconds);
}

char *ls_quantity_format_decimal (double value, LsDimension dimension) {
  return format_in (decimal_rung (value, dimension), value);
}

char *ls_quantity_format_grouped (double value) {
  g_autofree char *digits = g_strdup_printf ("%.0f", value);
  gsize n = strlen (digits);
  GString *out = g_string_new (NULL);

  if (value < 100) {
    g_string_printf (out, "%.3g", value);
    return g_string_free (out, FALSE);
  }
  for (gsize i = 0; i < n; i++) {
    if (i > 0 && (n - i) % 3 == 0)
      g_string_append_c (out, ',');
    g_string_append_c (out, digits[i]);
  }
  return g_string_free (out, FALSE);
}

char *ls_quantity_format_counted (gint64 n, const char *noun) {
  g_autofree char *count = ls_quantity_format_grouped ((double) n);

  return g_strdup_printf ("%s %s%s", count, noun, n == 1 ? "" : "s");
}

/* @scaled with the fewest digits that read back as @value, or NULL. */
static char *shortest (double value, double scaled, const char *unit, LsDimension dimension) {
  char number[64];

  for (int digits = 1; digits <= 17; digits++) {
    g_autofree char *format = g_strdup_printf ("%%.%dg", digits);
    g_autofree char *text = NULL;
    double back = 0;

    g_ascii_formatd (number, sizeof number, format, scaled);
    if (strchr (number, 'e') != NULL && fabs (scaled) >= 1e-4 && fabs (scaled) < 1e15)
      continue; /* 80, not 8e+01 */
    text = join (number, unit);
    if (ls_quantity_parse (text, dimension, &back, NULL) && back == value)
      return g_steal_pointer (&text);
  }
  return NULL;
}

/* The fewest digits that read back to the same double after the unit is applied; first in the unit
 * for people, then in the base unit, where no division can lose a bit. */
char *ls_quantity_format_exact (double value, LsDimension dimension) {
  const Rung *rung = choose_rung (value, dimension);
  double scaled = value / rung->factor;
  char *text = shortest (value, scaled, rung->unit, dimension);
  char number[64];

  if (text == NULL)
    text = shortest (value, value, ls_dimension_base_unit (dimension), dimension);
  if (text != NULL)
    return text;
  /* Division by the factor lost the last bit: this is the nearest that can be written. */
  g_ascii_formatd (number, sizeof number, "%.17g", scaled);
  return join (number, rung->unit);
}

void ls_quantity_append_shortest (GString *out, double value) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  for (int digits = 15; digits <= 17; digits++) {
    char format[8];

    g_snprintf (format, sizeof format, "%%.%dg", digits);
    g_ascii_formatd (text, sizeof text, format, value);
    if (g_ascii_strtod (text, NULL) == value)
      break;
  }
  g_string_append (out, text);
}
