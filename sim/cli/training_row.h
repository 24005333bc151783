/* One row of a table of measured training runs, and the one mapping from it to a scenario.
 *
 * docs/validation.md states the mapping; sim/cli/training_row.c (columns to numbers), training_model.c,
 * training_node.c, training_inputs.c and training_precision.c beside it, and training_scenario.c (numbers to YAML) are the whole of it. No column of measurements, no
 * identifier and no note is looked at; of sources only what docs/validation.md names.
 * Errors:     a row that cannot be predicted sets LS_ERROR, code UNSUPPORTED, with the reason.
 * Ownership:  plain records; strings belong to the table or are static.
 */
#pragma once

#include "cli/predict.h"
#include "hw/accelerators.h"
#include "hw/nodes.h"
#include "hw/software.h"
#include "train/workload/workload.h"

G_BEGIN_DECLS

/* What a `tflops_per_gpu` or `mfu_pct` of the row counts. X (ID, meaning) */
#define LS_FLOPS_DEFS(X)                                                                        \
  X (MODEL,                                                                                     \
     "the model's FLOPs: Megatron's formula without the recomputed forward, attention in full") \
  X (MEGATRON_HARDWARE, "96 B s l h^2 (1 + s/6h + V/16lh): counts one recomputed forward")      \
  X (SIX_N, "6 N + 12 L d s per token, N with embeddings")                                      \
  X (EIGHT_N, "8 N per token: counts one recomputed forward, no attention")

/* Accelerators of a rack that is one NVLink domain. */
#define LS_NVL72_GPUS 72

typedef enum {
#define LS_FLOPS_DEF_ID(id, meaning) LS_FLOPS_##id,
  LS_FLOPS_DEFS (LS_FLOPS_DEF_ID)
#undef LS_FLOPS_DEF_ID
} LsFlopsDef;

/* What a row's peak memory counts: what tensors take; what the allocator holds; or all that is taken on the device,
 * with context and communicators. */
typedef enum { LS_ROW_ALLOCATED, LS_ROW_RESERVED, LS_ROW_DEVICE } LsRowMemory;

typedef struct {
  const LsAccelerator *gpu;
  const LsNode *node;
  const LsSoftware *software;
  const char *release; /* of the software, as the row states it (cli/release.h); "": not stated */
  /* What the row says and the reader does not know, as it stands there; NULL: nothing. The table's, as long as that lives. */
  const char *unknown_framework, *unknown_precision, *unknown_schedule;
  double nic_gbit_s; /* per GPU; 0 not stated */
  gint64 nics;       /* adapters of a node; 0: not stated, as the node preset's */
  int torus[3]; /* sides of the node's torus, the least first (1: none); all 0: it is no torus */
  gint64 gpus, gpus_per_node;
  gint64 layers, hidden, heads, kv_heads, ffn, vocab, seq;
  /* A published model whose name gives what columns leave out; or NULL */
  const LsModelPreset *preset;
  gint64 mtp;         /* its blocks of multi-token prediction */
  gint64 dense_first; /* of its experts, where the row says otherwise; -1: as the preset */
  gboolean light_end; /* the last stage has three layers less */
  gint64 lora_rank;   /* adapters beside frozen maps; 0: all parameters are trained */
  const char *lora_targets;
  gboolean lora_dropout;
  gboolean lora_fused;        /* into products */
  gint64 documents;           /* tokens of those packed into a sequence; 0: one */
  gboolean narrow_weights;    /* frozen maps are stored as they are multiplied */
  gboolean narrow_attention;  /* attention multiplies in 8 bits */
  gboolean narrow_activation; /* the input of the MLP's activation is kept in 8 bits */
  gint64 ep;                  /* expert ranks */
  double capacity;            /* factor of experts that are padded; 0: none */
  gboolean gated, tied, learned_positions, biases, llama, dropout;
  gint64 virtual_stages; /* per device; 0: interleaved, with how many is not said */
  const char *schedule;  /* of a pipeline without virtual stages; NULL: not said */
  gint64 tp, pp, dp, cp;
  /* What cp ranks do, if it is not a ring: heads all-to-all; keys and values gathered before attention. */
  gboolean exchanges_heads, gathers_keys;
  gint64 zero_stage;
  /* States are sharded in each node and repeated over nodes; they and the parameters are in the host's memory. */
  gboolean hybrid, offloads;
  gint64 shard_group; /* ranks that states are sharded over, which is no node; 0: not stated */
  gint64 micro_batch; /* 0 not stated: swept */
  gint64 global_batch;
  const char *recompute;     /* mode, or NULL not stated: swept */
  gint64 recompute_layers;   /* 0: all */
  gboolean prunes_recompute; /* of full, what no gradient reads does not run again (JAX) */
  gboolean keeps_qkv, keeps_projection;
  gboolean sequence_parallel;
  const char *tensor_overlap; /* as workload.parallel.tensor_overlap */
  const char *compute_format; /* as workload.precision.compute */
  const char *scaling;        /* as workload.precision.scaling; NULL: its default */
  gboolean pure_16_bit;       /* gradients reduced and states kept in 16 bits */
  gboolean half_gradients;    /* gradients kept and reduced in 16 bits beside fp32 states */
  gboolean fp32_reduce;       /* gradients reduced in fp32 */
  gboolean overlap;           /* data-parallel collectives beside compute */
  int overlap_gather; /* of updated parameters beside the next forward pass; -1: as the framework */
  gboolean core_buckets;      /* gradients are reduced in the buckets of Megatron-Core */
  gint64 bucket_parameters;   /* reduced and gathered together; 0: the program's own */
  gboolean narrow_parameters; /* linear maps are kept and gathered in the compute format */
  int cuda_graphs;            /* launches are replayed; -1: as the framework */
  LsFlopsDef flops_def;
  LsRowMemory memory_def;
  double peak_tflops; /* the denominator of mfu_pct; 0 not stated */
} LsTrainingRow;

/* Sets @error with all reasons that there are, joined by semicolons. */
gboolean ls_training_row_read (LsTrainingRow *out, const LsCsv *csv, guint row, GError **error);
/* TRUE when its model is a mixture of experts. */
gboolean ls_training_row_has_experts (const LsTrainingRow *row);
/* FLOPs of one step by the row's own definition, over all GPUs. */
double ls_training_row_flops (const LsTrainingRow *row, const LsWorkload *workload,
                              LsFlopsDef definition);
/* Legal micro-batch sizes of a row: divisors of global / dp up to 64; only the stated one if there
 * is one (transfer full: array of gint64). */
GArray *ls_training_row_micro_batches (const LsTrainingRow *row);
/* The inputs in words, for comparing rows: LS_N_INPUTS strings, empty where the row does not state it (transfer full). */
void ls_training_row_inputs (const LsTrainingRow *row, char **inputs);
/* The scenario as YAML (transfer full). */
char *ls_training_scenario (const LsTrainingRow *row, gint64 micro_batch, const char *recompute);

G_END_DECLS
