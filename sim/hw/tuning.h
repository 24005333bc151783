#pragma once
/* What an accelerator achieves of its data sheet, with a source for every constant.
 *
 * One record per product or family, shared by rows of accelerators.h. Nothing here depends on a
 * workload or on a row of measurements; what depends on the software stack is in software.h.
 * Ownership: rows and strings are static. */
#include <glib.h>

#include "hw/facts.h"
#include "hw/formats.h"

/* Attention kernels. id, word, title. */
#define LS_ATTENTIONS(X)                                                                   \
  X (UNFUSED, "unfused", "batched matmuls with separate scale, mask, softmax and dropout") \
  X (FUSED_SOFTMAX, "fused-softmax", "batched matmuls with one scale-mask-softmax kernel") \
  X (FLASH1, "flash-1", "FlashAttention 1")                                                \
  X (FLASH2, "flash-2", "FlashAttention 2")                                                \
  X (FLASH3, "flash-3", "FlashAttention 3 or cuDNN's fused attention on Hopper and later") \
  X (FLASH4, "flash-4", "cuDNN's fused attention of 2026 (9.18 and later) on Blackwell")

typedef enum {
#define LS_ATTENTION_ID(id, word, title) LS_ATTENTION_##id,
  LS_ATTENTIONS (LS_ATTENTION_ID)
#undef LS_ATTENTION_ID
      LS_N_ATTENTIONS
} LsAttention;

/* A tile of output that one SM computes at a time. */
typedef struct {
  int m, n;          /* elements; m = 0 ends a list */
  double efficiency; /* of the SM's achievable rate once the pipeline is full */
} LsTile;

typedef struct {
  const char *name;
  LsSourced matmul_ceiling
      [LS_N_FORMATS]; /* best matmul / dense peak; a value of 0 takes the family's 16-bit one */
  LsSourced matmul_sustained; /* typical rate in a training step / best rate (clocks under power) */
  /* The same of products in 8 and 4 bits, which draw less per FLOP; 0: as those */
  LsSourced narrow_sustained;
  /* The same of flash attention; 0: as matmuls; 1: its rates are of long loops; a ratio, above 1 where a later part
   * shares the record */
  LsSourced flash_sustained;
  LsSourced vector_fraction;   /* vector units, achieved / peak */
  LsSourced hbm_fraction;      /* streaming kernels, achieved / data sheet */
  LsSourced depth_ramp;        /* elements of k that a tile's prologue and epilogue cost */
  LsSourced split_cost;        /* of a split k loop: time over that of its parts; 0: 1 */
  LsSourced kernel_overhead_s; /* start and tail of every kernel, on the device */
  /* Flash kernels: long-sequence rate / dense 16-bit peak */
  LsSourced flash_forward[LS_N_ATTENTIONS];
  LsSourced flash_backward[LS_N_ATTENTIONS]; /* 0 where that kernel does not run */
  /* Rate of FLASH3 on 8-bit queries, keys and values / on 16-bit ones; 0: it has no such kernel. */
  LsSourced flash_narrow_forward, flash_narrow_backward;
  /* The same of FLASH4, with a scale per tensor and with one per block of 32 (MXFP8). */
  LsSourced flash4_tensor_forward, flash4_tensor_backward;
  LsSourced flash4_block_forward, flash4_block_backward;
  /* The rate of a head of width d goes with d / (d + this), up to that of 128; 0: as on Hopper (kernel_attention.c). */
  LsSourced flash_half_forward, flash_half_backward;
  LsSourced flash_rows; /* queries that one SM takes at a time in a forward flash kernel; 0: 128 */
  /* Matrix units read the columns of 8-bit operands in place; else a transposed copy is made. source:
   * Transformer Engine documentation, "Performance Considerations" (Hopper transposes, Blackwell does
   * not); of other makes: assumed to transpose. */
  gboolean narrow_columns;
  LsSourced collective_sms; /* SMs held by the kernels of one running collective */
  /* Rate of a collective inside a node beside busy compute / rate alone, in (0, 1] */
  LsSourced collective_slowdown;
  LsSourced context_bytes; /* device memory taken by the runtime before any tensor */
  const LsTile *tiles;     /* the shapes a matmul library chooses from; ends with m = 0 */
} LsTuning;

const char *ls_attention_name (LsAttention attention);
/* TRUE for kernels that never write the score matrix to memory. */
gboolean ls_attention_is_flash (LsAttention attention);
/* The same rate of a collective over several nodes: as inside one where collectives hold no SMs, else one for all. */
const LsSourced *ls_tuning_network_slowdown (const LsTuning *tuning);
/* Number i of the record with its provenance; FALSE past the last. */
gboolean ls_tuning_fact (const LsTuning *tuning, guint i, LsFact *fact);

/* The records, one per product or family. */
extern const LsTuning ls_tuning_volta, ls_tuning_turing, ls_tuning_ampere, ls_tuning_ada,
    ls_tuning_hopper, ls_tuning_hopper_500w, ls_tuning_hopper_pcie, ls_tuning_blackwell,
    ls_tuning_grace_blackwell, ls_tuning_blackwell_ultra, ls_tuning_grace_blackwell_ultra,
    ls_tuning_cdna2, ls_tuning_cdna3, ls_tuning_cdna4, ls_tuning_gaudi, ls_tuning_tpu;
