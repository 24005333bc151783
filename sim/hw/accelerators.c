/* The catalogue of accelerators: finding rows, what runs natively, and every number's provenance. */
#include "hw/accelerators.h"

#include <string.h>

#include "base/assert.h"
#include "hw/accelerator_rows.h"
#include "hw/catalogue.h"
#include "hw/fact_list.h"

guint ls_accelerator_count (void) {
  return ls_accelerator_n_rows;
}

const LsAccelerator *ls_accelerator_get (guint i) {
  LS_REQUIRE (i < ls_accelerator_n_rows, "accelerator %u", i);
  return &ls_accelerator_rows[i];
}

const LsAccelerator *ls_accelerator_find (const char *name, GError **error) {
  int row = ls_catalogue_lookup (&ls_gpu_catalogue, name, error);
  return row < 0 ? NULL : &ls_accelerator_rows[row];
}

/* The row of `text`, or of it without the vendor, or of its first words. Consumes the string. */
static const LsAccelerator *find_words (char *owned) {
  g_autofree char *text = owned;
  char *start = g_strstrip (text);
  static const char *const vendors[] = {"nvidia ", "amd ",     "google ",   "intel ", "habana ",
                                        "tesla ",  "geforce ", "instinct ", "dgx ",   "hgx "};
  for (guint i = 0; i < G_N_ELEMENTS (vendors); i++)
    if (g_ascii_strncasecmp (start, vendors[i], strlen (vendors[i])) == 0)
      start += strlen (vendors[i]);
  while (*start != '\0') {
    int row = ls_catalogue_row (&ls_gpu_catalogue, start);
    if (row >= 0)
      return &ls_accelerator_rows[row];
    char *space = strrchr (start, ' ');
    if (space == NULL)
      break;
    *space = '\0';
    g_strchomp (start);
  }
  return NULL;
}

/* A product of the same chip on another card: where the text says PCIe or NVL, and not SXM, and its first words name the SXM
 * module ("A100 80GB PCIe"), the card's row, or none ("H200-NVL-141GB"). */
static const LsAccelerator *as_card (const LsAccelerator *row, const char *text) {
  g_autofree char *folded = g_ascii_strdown (text, -1);
  const gboolean pcie = strstr (folded, "pcie") != NULL;
  const char *nvl = strstr (folded, "nvl"), *module = strstr (row->name, "-sxm");

  if (module == NULL || strstr (folded, "sxm") != NULL ||
      !(pcie || (nvl != NULL && !g_ascii_isalnum (nvl[strlen ("nvl")]))))
    return row;
  g_auto (GStrv) parts = g_strsplit (row->name, "-sxm", 2);
  g_autofree char *card = g_strconcat (parts[0], pcie ? "-pcie" : "-nvl", parts[1], NULL);
  const int found = ls_catalogue_row (&ls_gpu_catalogue, card);
  return found < 0 ? NULL : &ls_accelerator_rows[found];
}

static const LsAccelerator *find_text (const char *text) {
  const char *open = strchr (text, '(');
  const LsAccelerator *row =
      find_words (open != NULL ? g_strndup (text, (gsize) (open - text)) : g_strdup (text));
  if (row != NULL || open == NULL)
    return row;
  const char *close = strchr (open, ')');
  return find_words (
      g_strndup (open + 1, close != NULL ? (gsize) (close - open - 1) : strlen (open + 1)));
}

const LsAccelerator *ls_accelerator_for_text (const char *text) {
  if (text == NULL)
    return NULL;
  /* "Intel(R) Gaudi(R) 2" */
  g_auto (GStrv) parts = g_strsplit (text, "(R)", -1);
  g_autofree char *plain = g_strjoinv ("", parts);
  const LsAccelerator *row = find_text (plain);
  return row != NULL ? as_card (row, plain) : NULL;
}

gboolean ls_accelerator_is_native (const LsAccelerator *accelerator, LsFormat format) {
  LS_REQUIRE (format < LS_N_FORMATS, "format %d", (int) format);
  return accelerator->peak_flops_per_s[format] > 0;
}

/* The next format to try, and the sentence that a warning says about having left `from`. Every chain
 * ends in fp32, which the vector units always run. */
static LsFormat next_format (LsFormat from, const char **why) {
  switch (from) {
  case LS_FORMAT_FP8_E4M3:
  case LS_FORMAT_FP8_E5M2:
    *why = "no fp8 matrix units: work asked for in fp8 runs as bf16, or as what bf16 falls back to";
    return LS_FORMAT_BF16;
  case LS_FORMAT_MXFP8:
    *why =
        "no mxfp8 matrix units: work asked for in mxfp8 runs as fp8, or as what fp8 falls back to";
    return LS_FORMAT_FP8_E4M3;
  case LS_FORMAT_NVFP4:
    *why =
        "no nvfp4 matrix units: work asked for in nvfp4 runs as fp8, or as what fp8 falls back to";
    return LS_FORMAT_FP8_E4M3;
  case LS_FORMAT_INT8:
    *why = "no int8 matrix units: work asked for in int8 runs as fp16, or in fp32";
    return LS_FORMAT_FP16;
  case LS_FORMAT_BF16:
    *why = "no bf16 matrix units: work asked for in bf16 runs in fp32 on the vector units";
    return LS_FORMAT_FP32;
  case LS_FORMAT_FP16:
    *why = "no fp16 matrix units: work asked for in fp16 runs as bf16 of the same size, or in fp32";
    return LS_FORMAT_BF16;
  case LS_FORMAT_TF32:
    *why = "no tf32 matrix units: work asked for in tf32 runs in fp32 on the vector units";
    return LS_FORMAT_FP32;
  case LS_FORMAT_FP64:
    *why = "fp64 is not modelled: work asked for in fp64 is timed as fp32";
    return LS_FORMAT_FP32;
  default:
    return LS_FORMAT_FP32;
  }
}

LsFormat ls_accelerator_effective_format (const LsAccelerator *accelerator, LsFormat wanted,
                                          const char **why) {
  const char *reason = NULL;
  LsFormat format = wanted;
  while (format != LS_FORMAT_FP32 && !ls_accelerator_is_native (accelerator, format)) {
    const char *step = NULL;
    format = next_format (format, &step);
    if (reason == NULL)
      reason = step;
  }
  if (why != NULL)
    *why = reason;
  return format;
}

double ls_accelerator_peak (const LsAccelerator *accelerator, LsFormat format) {
  LsFormat effective = ls_accelerator_effective_format (accelerator, format, NULL);
  double peak = accelerator->peak_flops_per_s[effective];
  return peak > 0 ? peak : accelerator->vector_flops_per_s;
}

/* Names of the peaks as facts, so that nothing is allocated. */
static const char *const peak_fields[] = {
#define LS_FORMAT_FIELD(ID, NAME, ...) [LS_FORMAT_##ID] = "peak." NAME,
    LS_FORMATS (LS_FORMAT_FIELD)
#undef LS_FORMAT_FIELD
};

static void collect (const LsAccelerator *row, LsFactList *list) {
  ls_fact_list_add_text (list, "vendor", row->vendor, LS_FACT_FOUND, row->source);
  ls_fact_list_add_text (list, "architecture", row->architecture, LS_FACT_FOUND, row->source);
  ls_fact_list_add_text (list, "link", row->link, LS_FACT_FOUND, row->source);
#define LS_ACCELERATOR_FACT(id, field, dimension)                                            \
  ls_fact_list_add (                                                                         \
      list, #field, LS_DIMENSION_##dimension, (double) row->field,                           \
      (row->recalled & (1u << LS_ACCELERATOR_##id)) != 0 ? LS_FACT_RECALLED : LS_FACT_FOUND, \
      (row->recalled & (1u << LS_ACCELERATOR_##id)) != 0 ? "general knowledge" : row->source);
  LS_ACCELERATOR_FIELDS (LS_ACCELERATOR_FACT)
#undef LS_ACCELERATOR_FACT
  for (int f = 0; f < LS_N_FORMATS; f++)
    if (row->peak_flops_per_s[f] > 0)
      ls_fact_list_add (list, peak_fields[f], LS_DIMENSION_FLOPS_PER_S, row->peak_flops_per_s[f],
                        row->peaks_recalled ? LS_FACT_RECALLED : LS_FACT_FOUND,
                        row->peaks_recalled ? "general knowledge" : row->source);
}

gboolean ls_accelerator_fact (const LsAccelerator *accelerator, guint i, LsFact *fact) {
  LsFactList list = {.n = 0};
  collect (accelerator, &list);
  if (i < list.n)
    return ls_fact_list_get (&list, i, fact);
  return ls_tuning_fact (accelerator->tuning, i - list.n, fact);
}

/* The rows as a catalogue. */

static const char *row_name (guint row) {
  return ls_accelerator_get (row)->name;
}

static const char *row_title (guint row) {
  return ls_accelerator_get (row)->title;
}

static const char *row_aliases (guint row) {
  return ls_accelerator_get (row)->aliases;
}

static const char *row_notes (guint row) {
  return ls_accelerator_get (row)->notes;
}

static gboolean row_fact (guint row, guint i, LsFact *fact) {
  return ls_accelerator_fact (ls_accelerator_get (row), i, fact);
}

const LsCatalogue ls_gpu_catalogue = {.noun = "GPU",
                                      .kind = "gpus",
                                      .summary = "accelerators: data sheet and what they achieve",
                                      .count = ls_accelerator_count,
                                      .name = row_name,
                                      .title = row_title,
                                      .aliases = row_aliases,
                                      .notes = row_notes,
                                      .fact = row_fact};
