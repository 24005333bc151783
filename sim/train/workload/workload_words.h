/* Words of `workload` in a scenario: modes and units of recompute, ways to share a GPU, kinds of context
 * parallelism and of overlap. Each list makes an enumeration and the table of its names.
 */
#pragma once

#include <glib.h>

/* Words of a scenario; X(ID, "word"). */
#define LS_RECOMPUTE_MODES(X)                                                          \
  X (NONE, "none")                                                                     \
  X (SELECTIVE, "selective") /* the attention core, or named operations, run again */  \
  X (MATMULS, "matmuls")     /* all but attention and every other matmul runs again */ \
  X (FULL, "full")           /* layers are run again from their kept input */          \
  X (FIT, "fit")             /* the least of these that fits in memory (recompute.h) */
#define LS_RECOMPUTE_UNITS(X)                                                          \
  X (BLOCK, "block")         /* inputs kept every k layers; each layer is run again */ \
  X (OPERATION, "operation") /* every k-th layer keeps all; the chain between is run again */
#define LS_SHARES(X)                                                                  \
  X (NONE, "none")             /* no other job on its GPUs */                         \
  X (TIME_SLICE, "time-slice") /* contexts take turns: a kernel has all or nothing */ \
  X (CONCURRENT, "concurrent") /* kernels of all jobs run side by side (MPS) */
#define LS_CONTEXT_KINDS(X)                                                             \
  X (RING, "ring")             /* keys and values are sent round, beside attention */   \
  X (ALL_TO_ALL, "all-to-all") /* heads instead of tokens during attention (Ulysses) */ \
  X (ALL_GATHER, "all-gather") /* keys and values of the whole sequence on every rank */

#define LS_CONTEXT_OVERLAPS(X)                                      \
  X (AUTO, "auto")     /* as the software generation does */        \
  X (BESIDE, "beside") /* a message beside attention to the last */ \
  X (NONE, "none")     /* attention waits for each */

#define LS_OFFLOADS(X)                                                                      \
  X (NONE, "none")             /* all states on the GPU */                                  \
  X (OPTIMIZER, "optimizer")   /* master copy, moments and sharded gradients on the host */ \
  X (PARAMETERS, "parameters") /* and the parameters (stage 3) */

#define LS_ENUM_OFFLOAD(id, name) LS_OFFLOAD_##id,
typedef enum { LS_OFFLOADS (LS_ENUM_OFFLOAD) LS_N_OFFLOADS } LsOffload;
/* How tensor-parallel collectives and the matmuls beside them share time (layer_transformer.c). */
#define LS_TENSOR_OVERLAPS(X)                                                                     \
  X (AUTO, "auto") /* as the software generation does */                                          \
  X (NONE, "none") /* compute waits for each */                                                   \
  X (BULK, "bulk") /* whole, beside the weight or input gradient that does not need them */       \
  X (PIECES,                                                                                      \
     "pieces")       /* bulk, and the others as a ring of pieces beside pieces of their matmul */ \
  X (IDEAL, "ideal") /* bulk, and the others beside their matmul as if nothing depended */

/* How tokens travel to experts (layer_experts.c). */
#define LS_EXPERT_DISPATCHES(X)                                                                  \
  X (AUTO, "auto") /* a row for each expert, in order as the software generation does */         \
  X (ALL_TO_ALL, "all-to-all") /* a row for each expert, which kernels before and after order */ \
  X (FUSED, "fused")           /* a row for each rank, which orders it on the way */

#define LS_ENUM_EXPERT_DISPATCH(id, name) LS_EXPERT_DISPATCH_##id,
typedef enum {
  LS_EXPERT_DISPATCHES (LS_ENUM_EXPERT_DISPATCH) LS_N_EXPERT_DISPATCHES
} LsExpertDispatch;
#define LS_ENUM_TENSOR_OVERLAP(id, name) LS_TENSOR_OVERLAP_##id,
typedef enum { LS_TENSOR_OVERLAPS (LS_ENUM_TENSOR_OVERLAP) LS_N_TENSOR_OVERLAPS } LsTensorOverlap;
#define LS_ENUM_CONTEXT(id, name) LS_CONTEXT_##id,
typedef enum { LS_CONTEXT_KINDS (LS_ENUM_CONTEXT) LS_N_CONTEXT_KINDS } LsContextKind;
#define LS_ENUM_CONTEXT_OVERLAP(id, name) LS_CONTEXT_OVERLAP_##id,
typedef enum {
  LS_CONTEXT_OVERLAPS (LS_ENUM_CONTEXT_OVERLAP) LS_N_CONTEXT_OVERLAPS
} LsContextOverlap;

#define LS_ENUM_RECOMPUTE(id, name) LS_RECOMPUTE_##id,
typedef enum { LS_RECOMPUTE_MODES (LS_ENUM_RECOMPUTE) LS_N_RECOMPUTE_MODES } LsRecomputeMode;
#define LS_ENUM_RECOMPUTE_UNIT(id, name) LS_RECOMPUTE_UNIT_##id,
typedef enum { LS_RECOMPUTE_UNITS (LS_ENUM_RECOMPUTE_UNIT) LS_N_RECOMPUTE_UNITS } LsRecomputeUnit;
#define LS_ENUM_SHARE(id, name) LS_SHARE_##id,
typedef enum { LS_SHARES (LS_ENUM_SHARE) LS_N_SHARES } LsShare;

/* "[11, 11, 10]": layers dealt to stages; where they do not divide, the last ones, one of which has the head, have fewer
 * (transfer full). */
char *ls_layers_dealt_text (guint layers, guint stages);

const char *ls_share_name (LsShare share);
const char *ls_offload_name (LsOffload offload);
const char *ls_context_kind_name (LsContextKind kind);
const char *ls_context_overlap_name (LsContextOverlap overlap);
const char *ls_tensor_overlap_name (LsTensorOverlap overlap);
const char *ls_expert_dispatch_name (LsExpertDispatch dispatch);
const char *ls_recompute_mode_name (LsRecomputeMode mode);
const char *ls_recompute_unit_name (LsRecomputeUnit unit);
