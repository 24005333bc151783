/* Number formats: one row per format, ranges written as exact hexadecimal constants.
 *
 * For a binary format with e exponent and m mantissa bits and IEEE-like codes: max = (2 - 2^-m) 2^E with
 * E = 2^(e-1) - 1, min normal = 2^(1-E), min subnormal = 2^(1-E-m), epsilon = 2^-m, and nearest even
 * overflows from (2 - 2^-(m+1)) 2^E on. fp8_e4m3 is the exception: it gives the infinities up and keeps
 * only one NaN code, so its largest value is 448. */
#include "base/number_format.h"

#include "base/assert.h"

static const LsFormatInfo formats[] = {
#define LS_FORMAT_ROW(ID, NAME, ALIASES, BITS, BYTES, EXPONENT, MANTISSA, MAX, NORMAL, SUBNORMAL, \
                      EPSILON, FROM, OVERFLOW, BLOCK, SCALE, SOURCE)                              \
  [LS_FORMAT_##ID] = {.id = LS_FORMAT_##ID,                                                       \
                      .name = NAME,                                                               \
                      .aliases = ALIASES,                                                         \
                      .bits = BITS,                                                               \
                      .bytes = BYTES,                                                             \
                      .exponent_bits = EXPONENT,                                                  \
                      .mantissa_bits = MANTISSA,                                                  \
                      .max = MAX,                                                                 \
                      .min_normal = NORMAL,                                                       \
                      .min_subnormal = SUBNORMAL,                                                 \
                      .epsilon = EPSILON,                                                         \
                      .overflow_from = FROM,                                                      \
                      .overflow = OVERFLOW,                                                       \
                      .block = BLOCK,                                                             \
                      .scale_bits = SCALE,                                                        \
                      .source = SOURCE},
    LS_FORMATS (LS_FORMAT_ROW)
#undef LS_FORMAT_ROW
};

const LsFormatInfo *ls_format_info (LsFormat format) {
  LS_REQUIRE (format < LS_N_FORMATS, "format %d", (int) format);
  return &formats[format];
}

const char *ls_format_name (LsFormat format) {
  return ls_format_info (format)->name;
}

int ls_format_bytes (LsFormat format) {
  return ls_format_info (format)->bytes;
}

double ls_format_size (LsFormat format) {
  const LsFormatInfo *info = ls_format_info (format);

  if (info->block == 1)
    return info->bytes;
  return (info->bits + (double) info->scale_bits / info->block) / 8;
}

gboolean ls_format_is_narrow (LsFormat format) {
  return ls_format_info (format)->bits < 16;
}
