/* Number formats for real: rounding to nearest even, with counts of what is lost.
 *
 * Model:      every value is held in a double; a format says which doubles may occur. Rounding goes
 *             from double to the format in one step, so it is never rounded twice. Overflow: fp32,
 *             fp16, bf16 and E5M2 become infinite, E4M3 (which has no infinity) becomes NaN.
 * Ranges:     those of base/number_format.h. Subnormals are kept.
 * Left out:   tf32 (a way to multiply, not to store), saturating conversion, stochastic rounding.
 * Cost:       nothing for fp64, 2 to 4 ns per value otherwise.
 */
#pragma once

#include "base/number_format.h"

/* id, name, row of base/number_format.h (the same name; bits, ranges), has infinity, meaning */
#define LS_NUMBERS(X)                                                                     \
  X (FP64, "fp64", FP64, TRUE, "no rounding at all")                                      \
  X (FP32, "fp32", FP32, TRUE, "IEEE single precision")                                   \
  X (BF16, "bf16", BF16, TRUE, "the upper half of fp32: its range, 3 digits")             \
  X (FP16, "fp16", FP16, TRUE, "IEEE half precision: 3 digits, at most 65504")            \
  X (E4M3, "fp8_e4m3", FP8_E4M3, FALSE, "8 bits with 3 of mantissa, at most 448, no inf") \
  X (E5M2, "fp8_e5m2", FP8_E5M2, TRUE, "8 bits with 2 of mantissa, at most 57344")

typedef enum {
#define LS_NUMBER_ID(id, ...) LS_NUMBER_##id,
  LS_NUMBERS (LS_NUMBER_ID)
#undef LS_NUMBER_ID
      LS_N_NUMBERS
} LsNumber;

/* What rounding lost. */
typedef struct {
  guint64 values;     /* rounded */
  guint64 overflows;  /* finite values that became infinite or NaN */
  guint64 underflows; /* values other than 0 that became 0 */
} LsNumberCounts;

const char *ls_number_name (LsNumber number);
const char *ls_number_meaning (LsNumber number);
gboolean ls_number_from_name (const char *name, LsNumber *number);
double ls_number_max (LsNumber number);

/* The nearest value of the format, ties to the even one. */
double ls_number_round (LsNumber number, double value);
/* All of an array; counts may be NULL. */
void ls_number_round_all (LsNumber number, double *values, gsize n, LsNumberCounts *counts);

/* Bits of the formats of 16 and 8 bits: what a code means, and the code of a value of the format
 * (rounded if it is none). */
double ls_number_decode (LsNumber number, guint code);
guint ls_number_encode (LsNumber number, double value);
guint ls_number_bits (LsNumber number);
