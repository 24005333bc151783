/* Number formats: their sizes, ranges and names.
 *
 * A format is both how a tensor is stored (bytes per element) and how a matrix unit computes. tf32 is
 * a compute format only: tensors of it are stored in 4 bytes. Formats of blocks (mxfp8, nvfp4) keep a
 * scale per block of elements beside them, so that their size per element is no whole number.
 * Ranges: theory of binary floating point; checked in tests against the published table.
 * Real arithmetic in a format is learn/number.h; who computes in it natively is hw/formats.h.
 * Ownership: all strings are static. */
#pragma once

#include <glib.h>

/* id, name, aliases, bits, stored bytes, exponent bits, mantissa bits (without the hidden one),
 * largest value, smallest normal, smallest subnormal, gap above 1, first value that rounds to no
 * finite one, what then happens, elements per block, bits of a block's scale, source. Append only. */
#define LS_FORMATS(X)                                                                             \
  X (FP64, "fp64", "float64 double", 64, 8, 11, 52, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, \
     0x1p-52, G_MAXDOUBLE, "infinity", 1, 0, LS_FORMAT_IEEE)                                      \
  X (FP32, "fp32", "float32 float single", 32, 4, 8, 23, 0x1.fffffep127, 0x1p-126, 0x1p-149,      \
     0x1p-23, 0x1.ffffffp127, "infinity", 1, 0, LS_FORMAT_IEEE)                                   \
  X (TF32, "tf32", "tensorfloat32", 19, 4, 8, 10, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-10,       \
     0x1.ffep127, "infinity", 1, 0, "8 exponent and 10 mantissa bits (NVIDIA A100 whitepaper)")   \
  X (FP16, "fp16", "float16 half", 16, 2, 5, 10, 0x1.ffcp15, 0x1p-14, 0x1p-24, 0x1p-10,           \
     0x1.ffep15, "infinity", 1, 0, LS_FORMAT_IEEE)                                                \
  X (BF16, "bf16", "bfloat16", 16, 2, 8, 7, 0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-7, 0x1.ffp127,   \
     "infinity", 1, 0, "the upper half of fp32; hardware may flush subnormals to zero")           \
  X (FP8_E4M3, "fp8_e4m3", "fp8 e4m3 float8_e4m3fn", 8, 1, 4, 3, 448.0, 0x1p-6, 0x1p-9, 0x1p-3,   \
     464.0, "above 464: NaN, or saturates at 448", 1, 0, LS_FORMAT_OCP8)                          \
  X (FP8_E5M2, "fp8_e5m2", "e5m2 float8_e5m2", 8, 1, 5, 2, 57344.0, 0x1p-14, 0x1p-16, 0x1p-2,     \
     61440.0, "infinity, or saturates at 57344", 1, 0, LS_FORMAT_OCP8)                            \
  X (INT8, "int8", "i8", 8, 1, 0, 7, 127.0, 1.0, 1.0, 1.0, 127.5, "saturates", 1, 0,              \
     "two's complement")                                                                          \
  X (MXFP8, "mxfp8", "mxfp8_e4m3", 8, 1, 4, 3, 448.0, 0x1p-6, 0x1p-9, 0x1p-3, 464.0,              \
     "saturates at 448 of its block", 32, 8, LS_FORMAT_OCPMX)                                     \
  X (NVFP4, "nvfp4", "fp4 e2m1 fp4_e2m1", 4, 1, 2, 1, 6.0, 1.0, 0.5, 0.5, 7.0,                    \
     "saturates at 6 of its block", 16, 8, LS_FORMAT_NVIDIA)

#define LS_FORMAT_IEEE "IEEE 754-2019, from the format's bits"
#define LS_FORMAT_OCP8 "OCP 8-bit floating point specification 1.0, from the format's bits"
/* Ranges of these two are those of an element without its scale. */
#define LS_FORMAT_OCPMX \
  "OCP microscaling formats specification 1.0: e4m3, an E8M0 scale per 32 elements"
#define LS_FORMAT_NVIDIA                                                                     \
  "Transformer Engine documentation, NVFP4: e2m1, an e4m3 scale per 16 elements and one in " \
  "fp32 per tensor"

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
  int bytes;           /* per stored element, rounded up; see ls_format_size */
  int exponent_bits;   /* 0 for integers */
  int mantissa_bits;
  double max;           /* largest finite value */
  double min_normal;    /* smallest positive normal value; 1 for integers */
  double min_subnormal; /* smallest positive value; 1 for integers */
  double epsilon;       /* gap above 1 */
  double overflow_from; /* values from here on do not round to a finite one (nearest even) */
  const char *overflow; /* what then happens */
  int block;            /* elements that share a scale; 1: none */
  int scale_bits;       /* of such a scale */
  const char *source;
} LsFormatInfo;

/* The row of a format; never NULL for id < LS_N_FORMATS. */
const LsFormatInfo *ls_format_info (LsFormat format);
const char *ls_format_name (LsFormat format);
/* Bytes of one stored element: whole, rounded up. */
int ls_format_bytes (LsFormat format);
/* Bytes per element with its share of the block's scale: mxfp8 1 + 1/32, nvfp4 1/2 + 1/16. */
double ls_format_size (LsFormat format);
/* Narrower than 16 bits: tensors must be scaled into it. */
gboolean ls_format_is_narrow (LsFormat format);
