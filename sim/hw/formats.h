#pragma once
/* Number formats: their sizes, ranges and names.
 *
 * A format is both how a tensor is stored (bytes per element) and how a matrix unit computes. tf32 is
 * a compute format only: tensors of it are stored in 4 bytes.
 * Ranges: theory of binary floating point; checked in tests against the published table.
 * Ownership: all strings are static. */
#include <glib.h>

/* id, name, aliases, bits, stored bytes, exponent bits, mantissa bits (without the hidden one),
 * largest value, smallest normal, smallest subnormal, gap above 1, first value that rounds to no
 * finite one, what then happens, source. */
#define LS_FORMATS(X)                                                                             \
  X (FP64, "fp64", "float64 double", 64, 8, 11, 52, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, \
     0x1p-52, G_MAXDOUBLE, "infinity", LS_FORMAT_IEEE)                                            \
  X (FP32, "fp32", "float32 float single", 32, 4, 8, 23, 0x1.fffffep127, 0x1p-126, 0x1p-149,      \
     0x1p-23, 0x1.ffffffp127, "infinity", LS_FORMAT_IEEE)                                         \
  X (TF32, "tf32", "tensorfloat32", 19, 4, 8, 10, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-10,       \
     0x1.ffep127, "infinity", "8 exponent and 10 mantissa bits (NVIDIA A100 whitepaper)")         \
  X (FP16, "fp16", "float16 half", 16, 2, 5, 10, 0x1.ffcp15, 0x1p-14, 0x1p-24, 0x1p-10,           \
     0x1.ffep15, "infinity", LS_FORMAT_IEEE)                                                      \
  X (BF16, "bf16", "bfloat16", 16, 2, 8, 7, 0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-7, 0x1.ffp127,   \
     "infinity", "the upper half of fp32; hardware may flush subnormals to zero")                 \
  X (FP8_E4M3, "fp8_e4m3", "fp8 e4m3 float8_e4m3fn", 8, 1, 4, 3, 448.0, 0x1p-6, 0x1p-9, 0x1p-3,   \
     464.0, "above 464: NaN, or saturates at 448", LS_FORMAT_OCP8)                                \
  X (FP8_E5M2, "fp8_e5m2", "e5m2 float8_e5m2", 8, 1, 5, 2, 57344.0, 0x1p-14, 0x1p-16, 0x1p-2,     \
     61440.0, "infinity, or saturates at 57344", LS_FORMAT_OCP8)                                  \
  X (INT8, "int8", "i8", 8, 1, 0, 7, 127.0, 1.0, 1.0, 1.0, 127.5, "saturates", "two's complement")

#define LS_FORMAT_IEEE "IEEE 754-2019, from the format's bits"
#define LS_FORMAT_OCP8 "OCP 8-bit floating point specification 1.0, from the format's bits"

typedef enum {
#define LS_FORMAT_ID(id, ...) LS_FORMAT_##id,
  LS_FORMATS (LS_FORMAT_ID)
#undef LS_FORMAT_ID
      LS_N_FORMATS
} LsFormat;

typedef struct {
  LsFormat id;
  const char *name;
  const char *aliases; /* separated by spaces */
  int bits;            /* that carry information */
  int bytes;           /* per stored element */
  int exponent_bits;   /* 0 for integers */
  int mantissa_bits;
  double max;           /* largest finite value */
  double min_normal;    /* smallest positive normal value; 1 for integers */
  double min_subnormal; /* smallest positive value; 1 for integers */
  double epsilon;       /* gap above 1 */
  double overflow_from; /* values from here on do not round to a finite one (nearest even) */
  const char *overflow; /* what then happens */
  const char *source;
} LsFormatInfo;

/* The row of a format; never NULL for id < LS_N_FORMATS. */
const LsFormatInfo *ls_format_info (LsFormat format);
const char *ls_format_name (LsFormat format);
int ls_format_bytes (LsFormat format);
/* Looks a name or alias up; unknown names set LS_ERROR_CONFIG with a suggestion and the list. */
gboolean ls_format_parse (const char *name, LsFormat *format, GError **error);
