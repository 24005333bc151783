/* Number formats of a training job; see precision.h. */
#include "train/workload/precision.h"

#include "base/assert.h"

static const struct {
  const char *name, *meaning;
} recipes[] = {
#define RECIPE_ROW(id, name, meaning) [LS_FP8_##id] = {name, meaning},
    LS_FP8_RECIPES (RECIPE_ROW)
#undef RECIPE_ROW
};

const char *ls_fp8_recipe_name (LsFp8Recipe recipe) {
  LS_REQUIRE ((guint) recipe < LS_N_FP8_RECIPES, "recipe %d", (int) recipe);
  return recipes[recipe].name;
}

const char *ls_fp8_recipe_meaning (LsFp8Recipe recipe) {
  LS_REQUIRE ((guint) recipe < LS_N_FP8_RECIPES, "recipe %d", (int) recipe);
  return recipes[recipe].meaning;
}

static LsFormat format_of (const char *word) {
  LsFormat format = LS_FORMAT_BF16;
  const gboolean known = ls_format_parse (word, &format, NULL);

  LS_REQUIRE (known, "the word %s passed the schema", word);
  return format;
}

LsPrecision ls_precision_of_word (const char *word) {
  const LsFormat format = format_of (word);
  const gboolean narrow = ls_format_is_narrow (format);
  const LsFormat wide = narrow ? LS_FORMAT_BF16 : format;
  const gboolean half = wide == LS_FORMAT_FP16 || wide == LS_FORMAT_BF16;
  LsPrecision p = {
      .compute = wide,
      .parameters = half ? wide : LS_FORMAT_FP32,
      .gradients = wide == LS_FORMAT_FP16 ? wide : LS_FORMAT_FP32,
      .master = LS_FORMAT_FP32,
      .master_used = half,
      .optimizer = LS_FORMAT_FP32,
  };

  p.communication = p.gradients;
  p.frozen = p.parameters;
  if (narrow) {
    p.narrow = (LsNarrow){.used = TRUE, .forward = format, .gradient = format};
    /* "fp8" alone is the hybrid of both 8-bit formats; "fp8_e4m3" is that format throughout. */
    if (g_ascii_strcasecmp (word, "fp8") == 0)
      p.narrow.gradient = LS_FORMAT_FP8_E5M2;
    if (ls_format_info (format)->block > 1)
      p.narrow.recipe = LS_FP8_BLOCK;
  }
  return p;
}

LsFormat ls_precision_matmul (const LsPrecision *precision) {
  return precision->narrow.used ? precision->narrow.forward : precision->compute;
}

gboolean ls_precision_narrow_on (const LsPrecision *precision, const LsAccelerator *accelerator,
                                 LsFormat *forward, LsFormat *gradient) {
  if (!precision->narrow.used)
    return FALSE;
  *forward = ls_accelerator_effective_format (accelerator, precision->narrow.forward, NULL);
  *gradient = ls_accelerator_effective_format (accelerator, precision->narrow.gradient, NULL);
  return ls_format_is_narrow (*forward) && ls_format_is_narrow (*gradient);
}

int ls_precision_copies (const LsPrecision *precision, const LsAccelerator *accelerator) {
  const gboolean by_direction =
      precision->narrow.recipe == LS_FP8_BLOCK || precision->narrow.recipe == LS_FP8_ROW;

  return by_direction || !accelerator->tuning->narrow_columns ? 2 : 1;
}

int ls_precision_made_copies (const LsPrecision *precision, const LsAccelerator *accelerator) {
  return ls_precision_copies (precision, accelerator) -
         (ls_format_is_narrow (precision->parameters) ? 1 : 0);
}

LsPrecision ls_precision_of_frozen (const LsPrecision *precision) {
  LsPrecision frozen = *precision;

  frozen.parameters = precision->frozen;
  return frozen;
}

double ls_precision_frozen_size (const LsPrecision *precision) {
  return ls_format_size (precision->frozen);
}

/* Bytes per element of a parameter of a linear map on its way to the ranks that lack it. */
static double gather_size (const LsPrecision *precision) {
  return precision->narrow.used && precision->narrow.gathered
             ? ls_format_size (precision->narrow.forward)
             : ls_format_bytes (precision->compute);
}

double ls_precision_frozen_gather_size (const LsPrecision *precision) {
  return MIN (ls_precision_frozen_size (precision), gather_size (precision));
}

gboolean ls_precision_expands (const LsPrecision *precision, LsFormat format) {
  return precision->frozen != format &&
         ls_format_size (precision->frozen) < ls_format_size (format);
}

gint64 ls_precision_gathered_bytes (const LsPrecision *precision, gint64 parameters,
                                    gint64 narrow) {
  const gint64 maps = CLAMP (narrow, 0, parameters);

  return (gint64) ((double) maps * gather_size (precision)) +
         (parameters - maps) * ls_format_bytes (precision->compute);
}

/* nvfp4 scales its block scales by one number per tensor, so that its largest value is needed first. */
static gboolean reads_twice (const LsPrecision *precision, LsFormat to) {
  return precision->narrow.recipe == LS_FP8_CURRENT || to == LS_FORMAT_NVFP4;
}

double ls_precision_scaling_bytes (const LsPrecision *precision, LsFormat from, LsFormat to,
                                   int copies) {
  const double in = ls_format_size (from);

  if (precision->narrow.recipe == LS_FP8_ROW)
    return (in + ls_format_size (to)) * copies + in * (copies - 1);
  return in * (reads_twice (precision, to) ? 2 : 1) + ls_format_size (to) * copies;
}

gboolean ls_precision_scales_as_written (const LsPrecision *precision, LsFormat to) {
  return precision->narrow.fused && precision->narrow.recipe != LS_FP8_ROW &&
         !reads_twice (precision, to);
}

int ls_precision_scaling_kernels (const LsPrecision *precision, LsFormat to, int copies) {
  if (precision->narrow.recipe == LS_FP8_ROW)
    return 2 * copies - 1;
  return reads_twice (precision, to) ? 2 : 1;
}
