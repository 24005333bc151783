#pragma once
/* The catalogue of accelerators: what the data sheet says, and where it was read.
 *
 * Peaks are dense (no structured sparsity) with fp32 accumulation, in flop/s where one multiply-add is
 * two. Bandwidths are decimal bytes per second, memory sizes are exact bytes. What a part achieves in
 * practice is another record, see tuning.h.
 * Ownership: rows and strings are static. */
#include <glib.h>

#include "hw/facts.h"
#include "hw/formats.h"
#include "hw/tuning.h"

/* id, field of the row, dimension: the numbers of a row beside its peaks per format. */
#define LS_ACCELERATOR_FIELDS(X)               \
  X (SMS, sms, COUNT)                          \
  X (VECTOR, vector_flops_per_s, FLOPS_PER_S)  \
  X (HBM_NOMINAL, hbm_nominal_bytes, BYTES)    \
  X (HBM, hbm_bytes, BYTES)                    \
  X (HBM_RATE, hbm_bytes_per_s, BYTES_PER_S)   \
  X (L2, l2_bytes, BYTES)                      \
  X (LINKS, links, COUNT)                      \
  X (LINK_RATE, link_bytes_per_s, BYTES_PER_S) \
  X (PCIE, pcie_generation, COUNT)             \
  X (TDP, tdp_w, POWER)

enum {
#define LS_ACCELERATOR_FIELD_ID(id, field, dimension) LS_ACCELERATOR_##id,
  LS_ACCELERATOR_FIELDS (LS_ACCELERATOR_FIELD_ID)
#undef LS_ACCELERATOR_FIELD_ID
      LS_N_ACCELERATOR_FIELDS
};

typedef struct {
  const char *name;    /* as scenarios write it: "h100-sxm-80gb" */
  const char *aliases; /* further names, separated by spaces */
  const char *title;   /* the product's name */
  const char *vendor;
  const char *architecture;
  double peak_flops_per_s[LS_N_FORMATS]; /* dense, on the matrix units; 0: not native */
  double vector_flops_per_s;             /* fp32 on the vector units */
  int sms;                  /* SMs, compute units or tensor cores: what tiles are dealt to */
  gint64 hbm_nominal_bytes; /* as the label says: 80 GB means 80e9 */
  gint64 hbm_bytes;         /* what the driver reports as total */
  double hbm_bytes_per_s;   /* data sheet */
  gint64 l2_bytes;          /* last cache before HBM; 0 unknown */
  const char *link;         /* row of links.h that joins it to its like, NULL none */
  int links;                /* how many of them */
  double link_bytes_per_s;  /* all links together, one direction */
  gboolean link_is_bridge;  /* joins pairs of cards only */
  int pcie_generation;      /* x16; 0 none */
  double tdp_w;
  double sm_speedup;      /* what-if: fixed times on its SMs are divided by it; 0: 1 */
  double clock;           /* share of its clock that a power cap leaves (power.h); 0: all of it */
  const LsTuning *tuning; /* what it achieves */
  const char *source;     /* of all fields that `recalled` does not name */
  guint recalled;         /* bit LS_ACCELERATOR_x: that field is LS_FACT_RECALLED */
  gboolean peaks_recalled;
  const char *notes; /* conflicts between sources and what was decided; may be NULL */
} LsAccelerator;

guint ls_accelerator_count (void);
/* Row i in catalogue order. */
const LsAccelerator *ls_accelerator_get (guint i);
/* Looks a name or alias up, whatever its case and with '_' or ' ' for '-'. Unknown names set
 * LS_ERROR_CONFIG with the nearest name. */
const LsAccelerator *ls_accelerator_find (const char *name, GError **error);

/* Finds the row that a free text of a table of measurements means: "NVIDIA H100-SXM5-80GB", "A100-SXM-40GB
 * (DGX-A100)", "NVIDIA Blackwell GPU (B200-SXM-180GB)". Tries the text before and inside parentheses,
 * without the vendor, with last words dropped; "PCIe" and "NVL" among them keep their meaning. NULL when none of that is a
 * name. */
const LsAccelerator *ls_accelerator_for_text (const char *text);

/* TRUE when the matrix units compute in this format. */
gboolean ls_accelerator_is_native (const LsAccelerator *accelerator, LsFormat format);
/* The format in which work asked for in `wanted` really runs: itself where native, else the next of
 * mxfp8, nvfp4 -> fp8 -> bf16 -> fp32, fp16 -> bf16 -> fp32, int8 -> fp16 -> fp32, tf32 -> fp32. fp32 itself always
 * runs (vector units where there is no matrix path). `why`, when not NULL, receives a static sentence
 * for a warning, or NULL when wanted is native. */
LsFormat ls_accelerator_effective_format (const LsAccelerator *accelerator, LsFormat wanted,
                                          const char **why);
/* The dense peak at which `format` is counted (the MFU denominator): of its effective format. */
double ls_accelerator_peak (const LsAccelerator *accelerator, LsFormat format);
/* Number i of the row with its provenance; FALSE past the last. */
gboolean ls_accelerator_fact (const LsAccelerator *accelerator, guint i, LsFact *fact);
