/* Number formats against their definitions: every code of the short formats, ties, ranges. */
#include <math.h>
#include <string.h>

#include "hw/formats.h"
#include "learn/number.h"
#include "suite.h"

static const LsNumber short_formats[] = {LS_NUMBER_FP16, LS_NUMBER_BF16, LS_NUMBER_E4M3,
                                         LS_NUMBER_E5M2};

START_TEST (every_code_goes_round) {
  /* decode (code) is a value of the format, so rounding leaves it and encoding gives the code back:
   * 65,536 codes of fp16 and bf16, 256 of each fp8. NaNs keep being NaN. Exact. */
  for (guint f = 0; f < G_N_ELEMENTS (short_formats); f++) {
    LsNumber number = short_formats[f];
    guint codes = 1U << ls_number_bits (number), nans = 0;

    for (guint code = 0; code < codes; code++) {
      double value = ls_number_decode (number, code), rounded = ls_number_round (number, value);

      if (isnan (value)) {
        nans += isnan (rounded) ? 1 : 0;
        continue;
      }
      if (rounded != value || ls_number_encode (number, value) != code)
        ck_abort_msg ("%s: code %#x", ls_number_name (number), code);
    }
    ck_assert_uint_eq (nans, number == LS_NUMBER_FP16   ? 2 * 1023
                             : number == LS_NUMBER_BF16 ? 2 * 127
                             : number == LS_NUMBER_E5M2 ? 2 * 3
                                                        : 2);
  }
}
END_TEST

START_TEST (between_neighbours_the_nearest_wins_and_ties_go_to_even) {
  /* For all neighbours a < b of a format: just below the middle rounds to a, just above to b, the middle
   * to the one with an even code. Exact, IEEE 754-2019 section 4.3.1. */
  for (guint f = 0; f < G_N_ELEMENTS (short_formats); f++) {
    LsNumber number = short_formats[f];
    guint half = 1U << (ls_number_bits (number) - 1);

    for (guint code = 0; code + 1 < half; code++) {
      double a = ls_number_decode (number, code), b = ls_number_decode (number, code + 1);
      double middle = (a + b) / 2;

      if (!isfinite (a) || !isfinite (b))
        continue;
      if (ls_number_round (number, nextafter (middle, a)) != a ||
          ls_number_round (number, nextafter (middle, b)) != b ||
          ls_number_round (number, middle) != (code % 2 == 0 ? a : b) ||
          ls_number_round (number, -middle) != -(code % 2 == 0 ? a : b))
        ck_abort_msg ("%s: beside code %#x", ls_number_name (number), code);
    }
  }
}
END_TEST

START_TEST (ranges_are_those_of_the_table_of_formats) {
  /* The catalogue of hardware states the same formats from their own sources. */
  static const struct {
    LsNumber number;
    LsFormat format;
  } pairs[] = {{LS_NUMBER_FP64, LS_FORMAT_FP64},     {LS_NUMBER_FP32, LS_FORMAT_FP32},
               {LS_NUMBER_FP16, LS_FORMAT_FP16},     {LS_NUMBER_BF16, LS_FORMAT_BF16},
               {LS_NUMBER_E4M3, LS_FORMAT_FP8_E4M3}, {LS_NUMBER_E5M2, LS_FORMAT_FP8_E5M2}};

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++) {
    const LsFormatInfo *info = ls_format_info (pairs[i].format);
    LsNumber number = pairs[i].number;

    ck_assert_str_eq (ls_number_name (number), info->name);
    ck_assert (ls_number_max (number) == info->max);
    if (number == LS_NUMBER_FP64)
      continue;
    ck_assert (ls_number_round (number, info->min_subnormal) == info->min_subnormal);
    ck_assert (ls_number_round (number, info->min_subnormal / 2) == 0);
    ck_assert (ls_number_round (number, info->min_subnormal * 0.51) == info->min_subnormal);
    ck_assert (ls_number_round (number, 1 + info->epsilon) == 1 + info->epsilon);
    ck_assert (ls_number_round (number, 1 + info->epsilon / 2) == 1);
    ck_assert (ls_number_round (number, info->max) == info->max);
    ck_assert (isfinite (ls_number_round (number, nextafter (info->overflow_from, 0))));
    ck_assert (!isfinite (ls_number_round (number, nextafter (info->overflow_from, INFINITY))));
  }
}
END_TEST

START_TEST (thresholds_of_overflow) {
  /* fp16: 65520 is the middle between 65504 and 65536 and goes to even, infinity; E5M2 likewise at
   * 61440; E4M3 keeps 464 (a tie to 448) and has no infinity: NaN above. OCP 8-bit specification 1.0. */
  ck_assert (ls_number_round (LS_NUMBER_FP16, 65519.999) == 65504);
  ck_assert (isinf (ls_number_round (LS_NUMBER_FP16, 65520)));
  ck_assert (ls_number_round (LS_NUMBER_E5M2, 61439) == 57344);
  ck_assert (isinf (ls_number_round (LS_NUMBER_E5M2, 61440)));
  ck_assert (ls_number_round (LS_NUMBER_E4M3, 464) == 448);
  ck_assert (isnan (ls_number_round (LS_NUMBER_E4M3, 464.001)));
  ck_assert (isnan (ls_number_round (LS_NUMBER_E4M3, (double) INFINITY)));
  ck_assert (ls_number_round (LS_NUMBER_BF16, 3.3895e38) == 0x1.fep127);
  ck_assert (isinf (ls_number_round (LS_NUMBER_BF16, 3.4e38)));
}
END_TEST

START_TEST (fp32_rounds_as_the_machine_does) {
  /* The machine's conversion from double to float is IEEE's: same bits for random patterns. */
  for (guint i = 0; i < 1000000; i++) {
    guint64 bits = (guint64) i * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
    double value;
    float as_float;

    memcpy (&value, &bits, sizeof value);
    if (i % 2 == 0)
      value = ldexp (1 + (double) (bits >> 12) * 0x1p-52, (int) (bits % 290) - 155);
    as_float = (float) value;
    if (!isnan (value) && ls_number_round (LS_NUMBER_FP32, value) != (double) as_float)
      ck_abort_msg ("%a", value);
  }
}
END_TEST

START_TEST (what_is_lost_is_counted) {
  double values[] = {1, 1e-9, 70000, -70000, 0, 6e-8, (double) INFINITY};
  LsNumberCounts counts = {0};

  ls_number_round_all (LS_NUMBER_FP16, values, G_N_ELEMENTS (values), &counts);
  ck_assert_uint_eq (counts.values, 7);
  ck_assert_uint_eq (counts.overflows, 2); /* an infinity that comes in is not one that was made */
  ck_assert_uint_eq (counts.underflows, 1);
  ck_assert (values[5] == 0x1p-24);
  ls_number_round_all (LS_NUMBER_FP64, values, G_N_ELEMENTS (values), &counts);
  ck_assert_uint_eq (counts.values, 7);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, every_code_goes_round);
  tcase_add_test (tcase, between_neighbours_the_nearest_wins_and_ties_go_to_even);
  tcase_add_test (tcase, ranges_are_those_of_the_table_of_formats);
  tcase_add_test (tcase, thresholds_of_overflow);
  tcase_add_test (tcase, fp32_rounds_as_the_machine_does);
  tcase_add_test (tcase, what_is_lost_is_counted);
}

LS_TEST_MAIN ("number", add_tests)
