/* Number formats against the published table of their ranges, and name parsing. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "hw/formats.h"
#include "run.h"

/* Printed values, six digits: NVIDIA, Intel FP8 toolkit and OCP tables. Tolerance: half the last digit. */
static const struct {
  LsFormat format;
  double max, min_normal, min_subnormal, epsilon;
} printed[] = {
    {LS_FORMAT_FP32, 3.40282e38, 1.17549e-38, 1.40130e-45, 1.19209e-7},
    {LS_FORMAT_TF32, 3.40116e38, 1.17549e-38, 1.14794e-41, 9.76563e-4},
    {LS_FORMAT_FP16, 65504, 6.10352e-5, 5.96046e-8, 9.76563e-4},
    {LS_FORMAT_BF16, 3.38953e38, 1.17549e-38, 9.18355e-41, 7.8125e-3},
    {LS_FORMAT_FP8_E5M2, 57344, 6.10352e-5, 1.52588e-5, 0.25},
    {LS_FORMAT_FP8_E4M3, 448, 0.015625, 1.953125e-3, 0.125},
};

static void near (double value, double expected, const char *what) {
  ck_assert_msg (fabs (value / expected - 1) < 5e-6, "%s: %.9g, printed %.9g", what, value,
                 expected);
}

START_TEST (ranges_are_the_printed_ones) {
  for (guint i = 0; i < G_N_ELEMENTS (printed); i++) {
    const LsFormatInfo *info = ls_format_info (printed[i].format);
    near (info->max, printed[i].max, info->name);
    near (info->min_normal, printed[i].min_normal, info->name);
    near (info->min_subnormal, printed[i].min_subnormal, info->name);
    near (info->epsilon, printed[i].epsilon, info->name);
  }
}
END_TEST

/* For IEEE-like formats max = (2 - eps) 2^E with E = 2^(e-1) - 1, min normal = 2^(1-E), subnormal = normal x
 * eps, and rounding overflows half a step above max. Exact: all are powers of two or few bits. */
START_TEST (ranges_follow_from_the_bits) {
  for (int f = 0; f < LS_N_FORMATS; f++) {
    const LsFormatInfo *info = ls_format_info ((LsFormat) f);
    if (f == LS_FORMAT_INT8 || f == LS_FORMAT_FP8_E4M3 || info->block > 1)
      continue;
    int top = (1 << (info->exponent_bits - 1)) - 1;
    ck_assert (info->epsilon == ldexp (1, -info->mantissa_bits));
    ck_assert (info->max == ldexp (2 - info->epsilon, top));
    ck_assert (info->min_normal == ldexp (1, 1 - top));
    ck_assert (info->min_subnormal == info->min_normal * info->epsilon);
    if (f != LS_FORMAT_FP64)
      ck_assert (info->overflow_from == ldexp (2 - info->epsilon / 2, top));
    ck_assert_int_eq (info->bits, 1 + info->exponent_bits + info->mantissa_bits);
  }
}
END_TEST

START_TEST (overflow_thresholds) {
  ck_assert (ls_format_info (LS_FORMAT_FP16)->overflow_from == 65520);
  ck_assert (ls_format_info (LS_FORMAT_FP8_E5M2)->overflow_from == 61440);
  ck_assert (ls_format_info (LS_FORMAT_FP8_E4M3)->overflow_from == 464);
}
END_TEST

START_TEST (storage_sizes) {
  const struct {
    LsFormat format;
    int bytes;
  } sizes[] = {{LS_FORMAT_FP32, 4}, {LS_FORMAT_TF32, 4},     {LS_FORMAT_FP16, 2},
               {LS_FORMAT_BF16, 2}, {LS_FORMAT_FP8_E4M3, 1}, {LS_FORMAT_FP8_E5M2, 1},
               {LS_FORMAT_INT8, 1}, {LS_FORMAT_FP64, 8},     {LS_FORMAT_MXFP8, 1},
               {LS_FORMAT_NVFP4, 1}};
  ck_assert_uint_eq (G_N_ELEMENTS (sizes), LS_N_FORMATS);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    ck_assert_int_eq (ls_format_bytes (sizes[i].format), sizes[i].bytes);
}
END_TEST

/* Elements and their share of the block's 8-bit scale: OCP MX (32), NVFP4 (16). e2m1 holds 0, 1/2, 1, 3/2, 2,
 * 3, 4, 6 and nothing else. */
START_TEST (blocks_have_scales) {
  const LsFormatInfo *fp4 = ls_format_info (LS_FORMAT_NVFP4);

  ck_assert (ls_format_size (LS_FORMAT_MXFP8) == 1 + 1.0 / 32);
  ck_assert (ls_format_size (LS_FORMAT_NVFP4) == 0.5 + 1.0 / 16);
  for (int f = 0; f < LS_N_FORMATS; f++)
    if (ls_format_info ((LsFormat) f)->block == 1)
      ck_assert (ls_format_size ((LsFormat) f) == ls_format_bytes ((LsFormat) f));
  ck_assert (fp4->max == 6 && fp4->min_normal == 1 && fp4->min_subnormal == 0.5 &&
             fp4->epsilon == 0.5 && fp4->overflow_from == 7);
  ck_assert (ls_format_is_narrow (LS_FORMAT_FP8_E4M3) && !ls_format_is_narrow (LS_FORMAT_BF16));
}
END_TEST

START_TEST (names_parse) {
  const struct {
    const char *name;
    LsFormat format;
  } names[] = {{"bf16", LS_FORMAT_BF16},     {"BF16", LS_FORMAT_BF16},
               {"bfloat16", LS_FORMAT_BF16}, {"half", LS_FORMAT_FP16},
               {"fp8", LS_FORMAT_FP8_E4M3},  {"fp8-e5m2", LS_FORMAT_FP8_E5M2},
               {"tf32", LS_FORMAT_TF32}};
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    LsFormat format = LS_FORMAT_FP64;
    g_autoptr (GError) error = NULL;
    ck_assert_msg (ls_format_parse (names[i].name, &format, &error), "%s", names[i].name);
    ck_assert_int_eq (format, names[i].format);
  }
  for (int f = 0; f < LS_N_FORMATS; f++) {
    LsFormat format = LS_N_FORMATS;
    ck_assert (ls_format_parse (ls_format_name ((LsFormat) f), &format, NULL));
    ck_assert_int_eq (format, f);
  }
}
END_TEST

START_TEST (unknown_names_suggest) {
  LsFormat format = LS_FORMAT_FP64;
  g_autoptr (GError) error = NULL;
  ck_assert (!ls_format_parse ("bf61", &format, &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_CONFIG));
  ck_assert_msg (strstr (error->message, "did you mean 'bf16'") != NULL, "%s", error->message);
  ck_assert_int_eq (format, LS_FORMAT_FP64);
}
END_TEST

int main (void) {
  const TTest *const tests[] = {ranges_are_the_printed_ones, ranges_follow_from_the_bits,
                                overflow_thresholds,         storage_sizes,
                                blocks_have_scales,          names_parse,
                                unknown_names_suggest};
  return run_tests ("formats", tests, G_N_ELEMENTS (tests));
}
