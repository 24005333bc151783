/* Number formats for real, see number.h.
 *
 * Rounding a normal value: the bits of a double below the format's last place are rounded off by
 * adding half a place (less one, plus the last kept bit) to the integer that the bits are; the carry
 * runs into the exponent as it should. Below the smallest normal the last place is fixed, and value /
 * place is rounded to an integer, which is exact in a double.
 */
#include "learn/number.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char *name;
  int mantissa_bits;
  int min_exponent;
  double max;
  int exponent_bits;
  gboolean infinity;
} Row;

static const struct {
  LsFormat format;
  gboolean infinity;
  const char *meaning;
} numbers[] = {
#define NUMBER_ROW(id, name, format, inf, meaning) {LS_FORMAT_##format, inf, meaning},
    LS_NUMBERS (NUMBER_ROW)
#undef NUMBER_ROW
};

static Row row_of (LsNumber number) {
  LS_REQUIRE ((guint) number < LS_N_NUMBERS, "number format %d", (int) number);
  const LsFormatInfo *info = ls_format_info (numbers[number].format);
  int exponent;

  frexp (info->min_normal, &exponent); /* a power of two: 1/2 x 2^exponent */
  return (Row){.name = info->name,
               .mantissa_bits = info->mantissa_bits,
               .min_exponent = exponent - 1,
               .max = info->max,
               .exponent_bits = info->exponent_bits,
               .infinity = numbers[number].infinity};
}

const char *ls_number_name (LsNumber number) {
  return row_of (number).name;
}

const char *ls_number_meaning (LsNumber number) {
  LS_REQUIRE ((guint) number < LS_N_NUMBERS, "number format %d", (int) number);
  return numbers[number].meaning;
}

double ls_number_max (LsNumber number) {
  return row_of (number).max;
}

gboolean ls_number_from_name (const char *name, LsNumber *number) {
  for (guint i = 0; i < LS_N_NUMBERS; i++)
    if (g_strcmp0 (ls_number_name ((LsNumber) i), name) == 0) {
      *number = (LsNumber) i;
      return TRUE;
    }
  return FALSE;
}

static guint64 bits_of (double value) {
  guint64 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static double double_of (guint64 bits) {
  double value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

/* `smallest` is the smallest normal, `place` the gap below it. */
static inline double round_to (const Row *row, double smallest, double place, double value) {
  double size = fabs (value), rounded;

  if (!isfinite (value))
    return row->infinity ? value : (double) NAN;
  if (size >= smallest) {
    int drop = 52 - row->mantissa_bits;
    guint64 bits = bits_of (size), half = G_GUINT64_CONSTANT (1) << (drop - 1);

    bits += half - 1 + ((bits >> drop) & 1);
    bits &= ~((half << 1) - 1);
    rounded = double_of (bits);
    if (rounded > row->max)
      rounded = row->infinity ? (double) INFINITY : (double) NAN;
  } else
    rounded = nearbyint (size / place) * place;
  return copysign (rounded, value);
}

double ls_number_round (LsNumber number, double value) {
  const Row row_of_it = row_of (number), *row = &row_of_it;
  double smallest = ldexp (1, row->min_exponent);

  if (number == LS_NUMBER_FP64)
    return value;
  return round_to (row, smallest, ldexp (smallest, -row->mantissa_bits), value);
}

void ls_number_round_all (LsNumber number, double *values, gsize n, LsNumberCounts *counts) {
  const Row row_of_it = row_of (number), *row = &row_of_it;
  double smallest = ldexp (1, row->min_exponent);
  double place = ldexp (smallest, -row->mantissa_bits);
  guint64 overflows = 0, underflows = 0;

  if (number == LS_NUMBER_FP64)
    return;
  for (gsize i = 0; i < n; i++) {
    double rounded = round_to (row, smallest, place, values[i]);

    if (G_UNLIKELY (!isfinite (rounded)))
      overflows += isfinite (values[i]) ? 1 : 0;
    else if (rounded == 0 && values[i] != 0)
      underflows++;
    values[i] = rounded;
  }
  if (counts != NULL) {
    counts->values += n;
    counts->overflows += overflows;
    counts->underflows += underflows;
  }
}

/* --- codes ---------------------------------------------------------------------------------- */

guint ls_number_bits (LsNumber number) {
  const Row row_of_it = row_of (number), *row = &row_of_it;

  return (guint) (1 + row->exponent_bits + row->mantissa_bits);
}

double ls_number_decode (LsNumber number, guint code) {
  const Row row_of_it = row_of (number), *row = &row_of_it;
  const guint mantissa_mask = (1U << row->mantissa_bits) - 1;
  const guint exponent_mask = (1U << row->exponent_bits) - 1;
  guint mantissa = code & mantissa_mask, exponent = (code >> row->mantissa_bits) & exponent_mask;
  gboolean negative = (code >> (row->mantissa_bits + row->exponent_bits)) != 0;
  double size;

  LS_REQUIRE (ls_number_bits (number) <= 16, "%s has no short codes", row->name);
  if (exponent == exponent_mask && (row->infinity || mantissa == mantissa_mask))
    size = row->infinity && mantissa == 0 ? (double) INFINITY : (double) NAN;
  else if (exponent == 0)
    size = ldexp (mantissa, row->min_exponent - row->mantissa_bits);
  else
    size = ldexp (mantissa + mantissa_mask + 1,
                  row->min_exponent - row->mantissa_bits + (int) exponent - 1);
  return negative ? -size : size;
}

guint ls_number_encode (LsNumber number, double value) {
  const Row row_of_it = row_of (number), *row = &row_of_it;
  const guint mantissa_mask = (1U << row->mantissa_bits) - 1;
  const guint exponent_mask = (1U << row->exponent_bits) - 1;
  double rounded = ls_number_round (number, value), size = fabs (rounded);
  guint sign = (signbit (rounded) ? 1U : 0U) << (row->mantissa_bits + row->exponent_bits);
  int exponent;
  double fraction;

  LS_REQUIRE (ls_number_bits (number) <= 16, "%s has no short codes", row->name);
  if (isnan (rounded))
    return exponent_mask << row->mantissa_bits | mantissa_mask;
  if (isinf (rounded))
    return sign | exponent_mask << row->mantissa_bits;
  if (size < ldexp (1, row->min_exponent))
    return sign | (guint) ldexp (size, row->mantissa_bits - row->min_exponent);
  fraction = frexp (size, &exponent); /* size = fraction x 2^exponent, fraction in [1/2, 1) */
  return sign | (guint) (exponent - row->min_exponent) << row->mantissa_bits |
         ((guint) ldexp (fraction, row->mantissa_bits + 1) & mantissa_mask);
}
