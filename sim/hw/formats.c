/* Number formats: one row per format, ranges written as exact hexadecimal constants.
 *
 * For a binary format with e exponent and m mantissa bits and IEEE-like codes: max = (2 - 2^-m) 2^E with
 * E = 2^(e-1) - 1, min normal = 2^(1-E), min subnormal = 2^(1-E-m), epsilon = 2^-m, and nearest even
 * overflows from (2 - 2^-(m+1)) 2^E on. fp8_e4m3 is the exception: it gives the infinities up and keeps
 * only one NaN code, so its largest value is 448. */
#include "hw/formats.h"

#include "base/assert.h"
#include "hw/catalogue.h"
#include "hw/fact_list.h"

static const LsFormatInfo formats[] = {
#define LS_FORMAT_ROW(ID, NAME, ALIASES, BITS, BYTES, EXPONENT, MANTISSA, MAX, NORMAL, SUBNORMAL, \
                      EPSILON, FROM, OVERFLOW, SOURCE)                                            \
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

gboolean ls_format_parse (const char *name, LsFormat *format, GError **error) {
  int row = ls_catalogue_lookup (&ls_format_catalogue, name, error);
  if (row < 0)
    return FALSE;
  *format = (LsFormat) row;
  return TRUE;
}

/* The rows as a catalogue. */

static guint row_count (void) {
  return LS_N_FORMATS;
}

static const char *row_name (guint row) {
  return ls_format_info ((LsFormat) row)->name;
}

static const char *row_title (guint row) {
  static const char *const titles[LS_N_FORMATS] = {
      [LS_FORMAT_FP64] = "64 bits: 11 of exponent, 52 of fraction",
      [LS_FORMAT_FP32] = "32 bits: 8 of exponent, 23 of fraction",
      [LS_FORMAT_TF32] = "19 bits: 8 of exponent, 10 of fraction; products of fp32 tensors",
      [LS_FORMAT_FP16] = "16 bits: 5 of exponent, 10 of fraction; up to 65504",
      [LS_FORMAT_BF16] = "16 bits: 8 of exponent, 7 of fraction",
      [LS_FORMAT_FP8_E4M3] = "8 bits: 4 of exponent, 3 of fraction; up to 448",
      [LS_FORMAT_FP8_E5M2] = "8 bits: 5 of exponent, 2 of fraction; up to 57344",
      [LS_FORMAT_INT8] = "8 bits: whole numbers",
  };
  return titles[row];
}

static const char *row_aliases (guint row) {
  return ls_format_info ((LsFormat) row)->aliases;
}

static const char *row_notes (guint row) {
  return row == LS_FORMAT_TF32 ? "a compute format: tensors are stored in 4 bytes" : NULL;
}

static gboolean row_fact (guint row, guint i, LsFact *fact) {
  const LsFormatInfo *format = ls_format_info ((LsFormat) row);
  const struct {
    const char *field;
    double value;
    LsDimension dimension;
  } numbers[] = {
      {"bits", format->bits, LS_DIMENSION_COUNT},
      {"stored", format->bytes, LS_DIMENSION_BYTES},
      {"exponent_bits", format->exponent_bits, LS_DIMENSION_COUNT},
      {"mantissa_bits", format->mantissa_bits, LS_DIMENSION_COUNT},
      {"max", format->max, LS_DIMENSION_NONE},
      {"min_normal", format->min_normal, LS_DIMENSION_NONE},
      {"min_subnormal", format->min_subnormal, LS_DIMENSION_NONE},
      {"epsilon", format->epsilon, LS_DIMENSION_NONE},
      {"overflow_from", format->overflow_from, LS_DIMENSION_NONE},
  };
  LsFactList list = {.n = 0};
  for (guint k = 0; k < G_N_ELEMENTS (numbers); k++)
    ls_fact_list_add (&list, numbers[k].field, numbers[k].dimension, numbers[k].value,
                      LS_FACT_DERIVED, format->source);
  ls_fact_list_add_text (&list, "overflow", format->overflow, LS_FACT_FOUND, format->source);
  return ls_fact_list_get (&list, i, fact);
}

const LsCatalogue ls_format_catalogue = {.noun = "number format",
                                         .kind = "formats",
                                         .summary = "number formats and their ranges",
                                         .count = row_count,
                                         .name = row_name,
                                         .title = row_title,
                                         .aliases = row_aliases,
                                         .notes = row_notes,
                                         .fact = row_fact};
