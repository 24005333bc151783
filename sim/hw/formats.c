/* The catalogue of number formats: names, facts, and which accelerators compute in each. */
#include "hw/formats.h"

#include <string.h>

#include "base/assert.h"
#include "hw/accelerators.h"
#include "hw/catalogue.h"
#include "hw/fact_list.h"

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
      [LS_FORMAT_FP64] = "exponent 11, fraction 52",
      [LS_FORMAT_FP32] = "exponent 8, fraction 23",
      [LS_FORMAT_TF32] = "exponent 8, fraction 10; products of fp32",
      [LS_FORMAT_FP16] = "exponent 5, fraction 10",
      [LS_FORMAT_BF16] = "exponent 8, fraction 7",
      [LS_FORMAT_FP8_E4M3] = "exponent 4, fraction 3",
      [LS_FORMAT_FP8_E5M2] = "exponent 5, fraction 2",
      [LS_FORMAT_INT8] = "whole numbers",
      [LS_FORMAT_MXFP8] = "e4m3, a power of two per 32",
      [LS_FORMAT_NVFP4] = "exponent 2, fraction 1, e4m3 scale per 16",
  };
  return titles[row];
}

static const char *row_aliases (guint row) {
  return ls_format_info ((LsFormat) row)->aliases;
}

static const char *row_notes (guint row) {
  return row == LS_FORMAT_TF32 ? "a compute format: tensors are stored in 4 bytes" : NULL;
}

/* Accelerators of an architecture that compute natively in a format, "tpu-v5p, tpu-v6e"; NULL: all of them do (transfer
 * full). */
static char *natives_of (const char *architecture, LsFormat format) {
  g_autoptr (GString) names = g_string_new (NULL);
  gboolean all = TRUE;

  for (guint i = 0; i < ls_accelerator_count (); i++) {
    const LsAccelerator *gpu = ls_accelerator_get (i);

    if (strcmp (gpu->architecture, architecture) != 0)
      continue;
    if (ls_accelerator_is_native (gpu, format))
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", gpu->name);
    else
      all = FALSE;
  }
  return all ? NULL : g_strdup (names->str);
}

/* The architectures whose matrix units compute in it, "Hopper, TPU (tpu-v5p, tpu-v6e), Ada"; static. */
static const char *native_on (LsFormat format) {
  g_autoptr (GString) names = g_string_new (NULL);
  g_autoptr (GHashTable) said = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < ls_accelerator_count (); i++) {
    const LsAccelerator *gpu = ls_accelerator_get (i);

    if (!ls_accelerator_is_native (gpu, format) ||
        !g_hash_table_add (said, (gpointer) gpu->architecture))
      continue;
    g_autofree char *some = natives_of (gpu->architecture, format);

    g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", gpu->architecture);
    if (some != NULL)
      g_string_append_printf (names, " (%s)", some);
  }
  if (names->len == 0)
    g_string_append (names, format == LS_FORMAT_FP32 ? "vector units of all"
                                                     : "no matrix units of the catalogue");
  return g_intern_string (names->str);
}

static gboolean row_fact (guint row, guint i, LsFact *fact) {
  const LsFormatInfo *format = ls_format_info ((LsFormat) row);
  const struct {
    const char *field;
    double value;
    LsDimension dimension;
  } numbers[] = {
      {"bits", format->bits, LS_DIMENSION_COUNT},
      {"stored", ls_format_size (format->id), LS_DIMENSION_BYTES},
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
  ls_fact_list_add_text (&list, "native", native_on (format->id), LS_FACT_DERIVED,
                         "architectures of `lockstep list gpus` with a peak in it");
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
