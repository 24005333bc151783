/* Quantities: what people write, what is refused and why, and writing back. */
#include "base/error.h"
#include "base/quantity.h"
#include "base/random.h"
#include "suite.h"

#include <math.h>

typedef struct {
  const char *text;
  LsDimension dimension;
  double value;
} Written;

/* Expected values by the definitions of the prefixes: k = 1e3 ..., Ki = 2^10 ..., a byte is 8
 * bits. Exact, because decimal prefixes shift the decimal exponent before the one rounding. */
static const Written legal[] = {
    {"80 GiB", LS_DIMENSION_BYTES, 85899345920.0},
    {"80GiB", LS_DIMENSION_BYTES, 85899345920.0},
    {" 1.5 MB ", LS_DIMENSION_BYTES, 1.5e6},
    {"8 b", LS_DIMENSION_BYTES, 1},
    {"1 KB", LS_DIMENSION_BYTES, 1000},
    {"400 Gb/s", LS_DIMENSION_BYTES_PER_S, 5e10},
    {"400 Gbps", LS_DIMENSION_BYTES_PER_S, 5e10},
    {"400 Gbit/s", LS_DIMENSION_BYTES_PER_S, 5e10},
    {"50 GB/s", LS_DIMENSION_BYTES_PER_S, 5e10},
    {"50 GBps", LS_DIMENSION_BYTES_PER_S, 5e10},
    {"3.35 TB/s", LS_DIMENSION_BYTES_PER_S, 3.35e12},
    {"989 TFLOP/s", LS_DIMENSION_FLOPS_PER_S, 9.89e14},
    {"989 TFLOPS", LS_DIMENSION_FLOPS_PER_S, 9.89e14},
    {"989 Tflops", LS_DIMENSION_FLOPS_PER_S, 9.89e14},
    {"2.5 us", LS_DIMENSION_TIME, 2.5e-6},
    {"2.5 \xc2\xb5s", LS_DIMENSION_TIME, 2.5e-6},
    {"500 ns", LS_DIMENSION_TIME, 5e-7},
    {"1e3 ps", LS_DIMENSION_TIME, 1e-9},
    {"5 min", LS_DIMENSION_TIME, 300},
    {"54 d", LS_DIMENSION_TIME, 54 * 86400.0},
    {"50000 h", LS_DIMENSION_TIME, 1.8e8},
    {"12 %", LS_DIMENSION_FRACTION, 0.12},
    {"7%", LS_DIMENSION_FRACTION, 0.07},
    {"700 W", LS_DIMENSION_POWER, 700},
    {"1.4 GHz", LS_DIMENSION_FREQUENCY, 1.4e9},
    {"3 kWh", LS_DIMENSION_ENERGY, 3 * 3.6e6},
    {"2.10 USD/h", LS_DIMENSION_MONEY_PER_TIME, 2.10 / 3600},
    {"0.08 USD/kWh", LS_DIMENSION_MONEY_PER_ENERGY, 0.08 / 3.6e6},
    {"0.4 kg/kWh", LS_DIMENSION_MASS_PER_ENERGY, 0.4 / 3.6e6},
    {"15 T", LS_DIMENSION_COUNT, 1.5e13},
    {"15e12", LS_DIMENSION_COUNT, 1.5e13},
    {"70 B", LS_DIMENSION_COUNT, 7e10},
    {"1536", LS_DIMENSION_COUNT, 1536},
    {"-3.5", LS_DIMENSION_NONE, -3.5},
    {".5", LS_DIMENSION_NONE, 0.5},
};

START_TEST (legal_texts_have_their_defined_values) {
  const Written *row = &legal[_i];
  g_autoptr (GError) error = NULL;
  double value = NAN;

  ck_assert_msg (ls_quantity_parse (row->text, row->dimension, &value, &error), "%s: %s", row->text,
                 error != NULL ? error->message : "");
  ck_assert_msg (value == row->value, "%s is %.17g, not %.17g", row->text, value, row->value);
}
END_TEST

typedef struct {
  const char *text;
  LsDimension dimension;
  const char *fragment; /* what the message must say */
} Refused;

static const Refused refused[] = {
    {"5", LS_DIMENSION_TIME, "has no unit; a time takes ps, ns, us"},
    {"0", LS_DIMENSION_BYTES, "has no unit"},
    {"1 gb", LS_DIMENSION_BYTES, "a small b means bits, a capital B bytes"},
    {"400 gbps", LS_DIMENSION_BYTES_PER_S, "a small b means bits"},
    {"1 GB", LS_DIMENSION_TIME, "'GB' is a unit of size; a time takes"},
    {"1 GB", LS_DIMENSION_BYTES_PER_S, "'GB' is a unit of size; a data rate takes GB/s"},
    {"3 furlongs", LS_DIMENSION_TIME, "unknown unit 'furlongs'"},
    {"0.5", LS_DIMENSION_FRACTION, "a share takes %"},
    {"", LS_DIMENSION_TIME, "is not a number"},
    {"fast", LS_DIMENSION_TIME, "is not a number"},
    {"nan s", LS_DIMENSION_TIME, "is not a number"},
    {"inf s", LS_DIMENSION_TIME, "is not a number"},
    {"1e999 s", LS_DIMENSION_TIME, "too large"},
    {"0x10", LS_DIMENSION_COUNT, "unknown unit"},
    {"1,5 s", LS_DIMENSION_TIME, "unknown unit"},
    {"5 KiB/s", LS_DIMENSION_FLOPS_PER_S, "'KiB/s' is a unit of data rate"},
};

START_TEST (wrong_texts_are_refused_with_the_reason) {
  const Refused *row = &refused[_i];
  g_autoptr (GError) error = NULL;
  double value = 42;

  ck_assert (!ls_quantity_parse (row->text, row->dimension, &value, &error));
  ck_assert_msg (error->domain == LS_ERROR && error->code == LS_ERROR_CONFIG, "%s", row->text);
  ck_assert_msg (strstr (error->message, row->fragment) != NULL, "%s", error->message);
  ck_assert (value == 42);
}
END_TEST

START_TEST (plain_numbers_are_decimal_and_finite) {
  double value = 0;

  ck_assert (ls_number_parse ("-1.5e3", &value) && value == -1500);
  ck_assert (!ls_number_parse ("1.5x", &value));
  ck_assert (!ls_number_parse ("0x1p3", &value));
  ck_assert (!ls_number_parse ("nan", &value));
  ck_assert (!ls_number_parse ("1e400", &value));
  ck_assert (!ls_number_parse ("", &value));
}
END_TEST

typedef struct {
  double value;
  LsDimension dimension;
  const char *text;
} Shown;

static const Shown shown[] = {
    {85899345920.0, LS_DIMENSION_BYTES, "80 GiB"},
    {8.59e10, LS_DIMENSION_BYTES, "85.9 GB"},
    {38.25 * 1073741824.0, LS_DIMENSION_BYTES, "41.07 GB"},
    {1.23e-3, LS_DIMENSION_TIME, "1.23 ms"},
    {0, LS_DIMENSION_TIME, "0 s"},
    {5e10, LS_DIMENSION_BYTES_PER_S, "50 GB/s"},
    {0.125, LS_DIMENSION_FRACTION, "12.5 %"},
    {1536, LS_DIMENSION_COUNT, "1536"},
    {1.5e13, LS_DIMENSION_COUNT, "15 T"},
    {312e12, LS_DIMENSION_FLOPS_PER_S, "312 TFLOP/s"},
};

START_TEST (sizes_side_by_side_are_decimal) {
  g_autofree char *text = ls_quantity_format_decimal (85899345920.0, LS_DIMENSION_BYTES);
  /* Steps are never told in minutes. */
  g_autofree char *step = ls_quantity_format_seconds (939.24);
  g_autofree char *hours = ls_quantity_format_seconds (86400);
  g_autofree char *short_one = ls_quantity_format_seconds (0.00225);

  ck_assert_str_eq (step, "939.2 s");
  ck_assert_str_eq (hours, "86400 s");
  ck_assert_str_eq (short_one, "2.25 ms");

  ck_assert_str_eq (text, "85.9 GB");
}
END_TEST

START_TEST (people_see_few_digits_and_fitting_units) {
  g_autofree char *text = ls_quantity_format (shown[_i].value, shown[_i].dimension);

  ck_assert_str_eq (text, shown[_i].text);
}
END_TEST

/* Dimensions whose units are products of whole numbers and powers of ten. */
static const LsDimension exact_dimensions[] = {
    LS_DIMENSION_NONE,        LS_DIMENSION_COUNT,  LS_DIMENSION_BYTES,
    LS_DIMENSION_BYTES_PER_S, LS_DIMENSION_TIME,   LS_DIMENSION_FLOPS_PER_S,
    LS_DIMENSION_POWER,       LS_DIMENSION_ENERGY, LS_DIMENSION_FRACTION};

/* format_exact() promises to read back the same bits; drawn over 36 decades. For shares the
 * value is drawn as a whole number of hundredths of percent, the form in which they are written. */
START_TEST (exact_texts_read_back_the_same_bits) {
  LsRandom random;

  ls_random_init (&random, 1, "quantities", 0);
  for (guint i = 0; i < test_scaled (20000); i++) {
    LsDimension dimension =
        exact_dimensions[ls_random_below (&random, G_N_ELEMENTS (exact_dimensions))];
    double value = pow (10, ls_random_uniform (&random) * 36 - 18);
    double back = 0;
    g_autofree char *text = NULL;

    if (dimension == LS_DIMENSION_FRACTION)
      value = (double) ls_random_below (&random, 10000) / 10000;
    text = ls_quantity_format_exact (value, dimension);
    if (!ls_quantity_parse (text, dimension, &back, NULL) || back != value)
      ck_abort_msg ("%s: %.17g is not %.17g", text, back, value);
  }
}
END_TEST

START_TEST (every_dimension_has_a_word_and_units) {
  for (int d = 0; d < LS_N_DIMENSIONS; d++) {
    g_autofree char *text = ls_quantity_format (1.0, (LsDimension) d);

    ck_assert (ls_dimension_word ((LsDimension) d)[0] != '\0');
    ck_assert (ls_dimension_units ((LsDimension) d)[0] != '\0');
    ck_assert (text[0] != '\0');
  }
  ck_assert (!ls_dimension_needs_unit (LS_DIMENSION_COUNT));
  ck_assert (ls_dimension_needs_unit (LS_DIMENSION_FRACTION));
}
END_TEST

START_TEST (thousands_are_apart) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {
      {0, "0"},         {1.2345, "1.23"},    {99.4, "99.4"},      {100, "100"},
      {999.6, "1,000"}, {12345.6, "12,346"}, {999999, "999,999"}, {1234567.8, "1,234,568"}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *text = ls_quantity_format_grouped (cases[i].value);

    ck_assert_str_eq (text, cases[i].text);
  }
}
END_TEST

START_TEST (counts_have_their_noun) {
  g_autofree char *none = ls_quantity_format_counted (0, "GPU");
  g_autofree char *one = ls_quantity_format_counted (1, "node");
  g_autofree char *many = ls_quantity_format_counted (16384, "rank");

  ck_assert_str_eq (none, "0 GPUs");
  ck_assert_str_eq (one, "1 node");
  ck_assert_str_eq (many, "16,384 ranks");
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_loop_test (tcase, legal_texts_have_their_defined_values, 0, G_N_ELEMENTS (legal));
  tcase_add_loop_test (tcase, wrong_texts_are_refused_with_the_reason, 0, G_N_ELEMENTS (refused));
  tcase_add_test (tcase, plain_numbers_are_decimal_and_finite);
  tcase_add_loop_test (tcase, people_see_few_digits_and_fitting_units, 0, G_N_ELEMENTS (shown));
  tcase_add_test (tcase, sizes_side_by_side_are_decimal);
  tcase_add_test (tcase, thousands_are_apart);
  tcase_add_test (tcase, counts_have_their_noun);
  tcase_add_test (tcase, exact_texts_read_back_the_same_bits);
  tcase_add_test (tcase, every_dimension_has_a_word_and_units);
}

LS_TEST_MAIN ("quantity", add)
