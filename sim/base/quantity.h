/*
 * Physical quantities as people write them: "80 GiB", "400 Gb/s", "2.5 us", "12 %", "15 T".
 *
 * Reading turns a number with a unit into a double in the base unit of its dimension; the unit is
 * mandatory wherever the dimension has one. Decimal and binary prefixes, bits and bytes are kept
 * apart strictly: GB = 1e9 bytes, GiB = 2^30 bytes, Gb = 1e9 bits = 1.25e8 bytes. A unit whose
 * upper and lower case do not decide that ("gb/s") is refused with both readings.
 *
 * Strings returned as char * belong to the caller, const char * to the library.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* X (NAME, word for people, base unit, units it takes) */
#define LS_DIMENSION_MAP(X)                                                                   \
  X (NONE, "number", "", "a plain number")                                                    \
  X (COUNT, "count", "", "a plain number or k, M, G (or B), T as in 15 T")                    \
  X (BYTES, "size", "B", "B, kB, MB, GB, TB, PB or KiB, MiB, GiB, TiB (or bits: Gb)")         \
  X (BYTES_PER_S, "data rate", "B/s", "GB/s, TB/s, GiB/s (bytes) or Mb/s, Gb/s, Gbps (bits)") \
  X (FLOPS, "arithmetic work", "FLOP", "FLOP, GFLOP, TFLOP, PFLOP")                           \
  X (FLOPS_PER_S, "arithmetic rate", "FLOP/s", "GFLOP/s, TFLOP/s, PFLOP/s (or TFLOPS)")       \
  X (TIME, "time", "s", "ps, ns, us, ms, s, min, h, d")                                       \
  X (FREQUENCY, "frequency", "Hz", "Hz, kHz, MHz, GHz")                                       \
  X (POWER, "power", "W", "W, kW, MW")                                                        \
  X (ENERGY, "energy", "J", "J, kJ, MJ, Wh, kWh, MWh")                                        \
  X (FRACTION, "share", "", "%")                                                              \
  X (COUNT_PER_S, "rate of things", "1/s", "1/s, k/s, M/s (or samples/s, tokens/s)")          \
  X (MONEY, "money", "USD", "USD, kUSD, MUSD")                                                \
  X (MONEY_PER_TIME, "price per time", "USD/s", "USD/h, USD/d")                               \
  X (MONEY_PER_ENERGY, "price per energy", "USD/J", "USD/kWh, USD/MWh")                       \
  X (MONEY_PER_BYTE_TIME, "price of storage", "USD/(B s)", "USD/GB/month, USD/TB/month")      \
  X (MASS_PER_ENERGY, "carbon intensity", "kg/J", "kg/kWh, g/kWh")

typedef enum {
#define X(NAME, WORD, BASE, UNITS) LS_DIMENSION_##NAME,
  LS_DIMENSION_MAP (X)
#undef X
      LS_N_DIMENSIONS
} LsDimension;

/* "size", "data rate", ... */
const char *ls_dimension_word (LsDimension dimension);

/* The unit of the parsed value: "B", "s", ...; "" for plain numbers and shares. */
const char *ls_dimension_base_unit (LsDimension dimension);

/* The units that may be written, as a phrase for messages. */
const char *ls_dimension_units (LsDimension dimension);

/* FALSE for NONE and COUNT, where a bare number is right. */
gboolean ls_dimension_needs_unit (LsDimension dimension);

/* Reads @text, white space around it allowed, into the base unit (a share: 12 % -> 0.12).
 * Fails with LS_ERROR_CONFIG on anything but one finite number with a unit of this dimension; the
 * message says what is wrong and which units are taken. *value is then untouched. */
gboolean ls_quantity_parse (const char *text, LsDimension dimension, double *value, GError **error);

/* A plain finite decimal number, nothing else beside it; FALSE when @text is not one. */
gboolean ls_number_parse (const char *text, double *value);

/* For people: at most four significant digits and the largest unit that keeps the number at one
 * or more, e.g. "85.9 GB", "1.23 ms". A size that is a whole number (below 1024) of a
 * binary unit and no whole number of MB is written in that unit ("80 GiB"). Reading it back gives
 * the value to the digits shown. */
char *ls_quantity_format (double value, LsDimension dimension);

/* The same without binary units, for numbers that stand side by side: "40.8 GB of 38 GiB" is hard to
 * compare. */
char *ls_quantity_format_decimal (double value, LsDimension dimension);

/* A time of a step or of a part of one: as ls_quantity_format(), but never in a unit above the second, so that steps can be
 * compared at a glance ("939 s", not "15.65 min"). */
char *ls_quantity_format_seconds (double seconds);

/* A plain number from 0 with its thousands apart: "1,234,568"; below 100 three significant digits. */
char *ls_quantity_format_grouped (double value);

/* "1 node", "16,384 GPUs". */
char *ls_quantity_format_counted (gint64 n, const char *noun);

/* The same as ls_quantity_format() with as many digits as it takes to read back @value exactly (for prices and intensities,
 * whose units are quotients, within one unit of the last place). */
char *ls_quantity_format_exact (double value, LsDimension dimension);

/* Appends the shortest decimal that reads back as the same double; @value: finite. */
void ls_quantity_append_shortest (GString *out, double value);

G_END_DECLS
