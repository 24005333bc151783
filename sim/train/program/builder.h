/* The pen with which a rank's program is written: streams by role, loops that all streams share, and
 * waits that are put on the next compute operation.
 *
 * Model:      a step is written once, in the order in which the compute stream runs it. Loops are
 *             opened for all streams at once, but a stream gets a loop only when an operation is
 *             added to it inside, so that loop levels mean the same in every stream: level 0 steps,
 *             level 1 micro-batches of one section, level 2 segments of layers.
 * Invariants: a stream never holds an empty loop. A compute operation without pending waits keeps the
 *             run of kernels that the engine makes one event of.
 * Call order: new, sections in order, finish. Pure: sees neither clock nor network.
 *
 * Ownership: the builder borrows all it is given; ls_builder_finish() hands the program over.
 */
#pragma once

#include "engine/program.h"
#include "train/layer/chunk.h"
#include "train/pipeline/pipeline.h"
#include "train/program/expert_load.h"
#include "train/program/tables.h"

/* Streams of a rank. X (ID, "name in the trace") */
#define LS_ROLES(X)                                                                          \
  X (COMPUTE, "compute")                                                                     \
  X (TENSOR, "tensor")              /* tensor-parallel collectives */                        \
  X (NEXT, "pipeline_next")         /* messages to and from the next stage */                \
  X (PREVIOUS, "pipeline_previous") /* messages to and from the previous stage */            \
  X (REDUCE, "gradients")           /* all-reduce or reduce-scatter of gradients */          \
  X (GATHER, "parameters")          /* all-gather of parameters */                           \
  X (RELEASE, "release")            /* frees what was gathered, one operation per gather */  \
  X (STORAGE, "storage")            /* reads samples */                                      \
  X (LOADER, "loader")              /* host threads that decode them */                      \
  X (HOST, "host")                  /* launches of kernels (launch_program.h) */             \
  X (COPY, "copy")                  /* host to device */                                     \
  X (CONSUMED, "consumed")          /* frees input buffers, one operation per micro-batch */ \
  X (CONTEXT, "context")            /* exchanges of the parts of a sequence */               \
  X (EXPERT, "expert")              /* all-to-alls of tokens, collectives inside experts */  \
  X (DRAIN, "drain")                /* writes a checkpoint to storage beside the step */     \
  X (OFFLOAD, "offload")            /* the host's update of what lies in its memory */       \
  X (NVME_READ, "nvme_reads")       /* from the drives of the node: states, parameters */    \
  X (NVME_WRITE, "nvme_writes")     /* and to them */                                        \
  X (STORE, "activations_out")      /* inputs of layers to the host */                       \
  X (FETCH, "activations_in")       /* and back */                                           \
  /* Of schedules that are lists of actions (action_program.h), beside NEXT and PREVIOUS. */ \
  X (SEND_BACK_NEXT, "send_backward_next")                                                   \
  X (SEND_BACK_PREVIOUS, "send_forward_previous")                                            \
  X (FORWARD_PREVIOUS, "forward_from_previous")                                              \
  X (FORWARD_NEXT, "forward_from_next")                                                      \
  X (BACKWARD_NEXT, "backward_from_next")                                                    \
  X (BACKWARD_PREVIOUS, "backward_from_previous")                                            \
  X (REDUCED, "reduced") /* counts segments whose gradients are with their shard */

#define LS_ENUM_ROLE(id, name) LS_ROLE_##id,
typedef enum { LS_ROLES (LS_ENUM_ROLE) LS_N_ROLES } LsRole;

#define LS_MAX_PENDING 12
/* Loop levels: of the step; of the micro-batches in schedules that write one loop around each section. The
 * loop over segments of layers is the innermost, whatever the number of loops around it. */
enum { LS_LEVEL_STEP, LS_LEVEL_MICROBATCH };

/* Numbers of the engine's tables of work (drawn.h), fixed, so that programs can name them before there is an engine. */
enum { LS_TABLE_GATE, LS_TABLE_ATTENTION, LS_TABLE_EVALUATION, LS_TABLE_LOGGING };

/* Which part of the job the program is for. */
typedef struct {
  const LsWorkload *workload;
  const LsStage *stage;
  guint index;                  /* of the device in the pipeline */
  const LsStage *const *before; /* by part, the stage before it in the model; NULL for the first */
  const LsExpertLoad *load;     /* of experts; NULL: balanced */
  const LsDevice *device;       /* for the costs that no layer plan holds: optimizer, norms */
  double host_cores;            /* of one node, for loader threads; > 0 */
  double host_bytes_per_s;      /* of the memory of its hosts; 0: nothing is offloaded */
  gboolean embedding_shared; /* tied embedding on another stage: its gradient is summed with it */
} LsProgramSpec;

typedef struct LsReduceState LsReduceState;     /* reduce_program.h */
typedef struct LsGatherState LsGatherState;     /* gather_program.h */
typedef struct LsGatherForward LsGatherForward; /* gather_forward.h */
typedef struct LsInputState LsInputState;       /* input_program.h */

typedef struct {
  LsMark target;
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];
  guint n_maps;
  gboolean counted; /* see ls_program_wait_count; of the target only the stream counts */
  gint64 base, coefficients[LS_MAX_LOOP_DEPTH];
} LsPendingWait;

typedef struct {
  const LsProgramSpec *spec;
  LsTables *tables;
  LsProgram *program;
  guint16 stream[LS_N_ROLES]; /* engine stream, LS_NO_INDEX before its first operation */
  guint opened[LS_N_ROLES];   /* loops that are open in the stream */
  guint depth;                /* loops that are open in the text */
  gint64 counts[LS_MAX_LOOP_DEPTH];
  LsPendingWait pending[LS_MAX_PENDING]; /* of the next compute operation */
  guint n_pending;
  LsMark last;             /* newest compute operation; invalid at the borders of loops */
  LsLabel microbatch;      /* of the section that is being written */
  LsLabel layer;           /* of the layer that is being written */
  gint64 behind_ps;        /* of recomputed lists: launches - kernels (launch_program.h) */
  gboolean host_clock;     /* the host has a stream of its own (launch_program.h) */
  gboolean optional;       /* kernels and collectives are left out of skipped steps from now on */
  LsChunks *chunks;        /* owned; of all layers of the device */
  const LsChunks *current; /* those of the part that is being written */
  LsActionKind backward;   /* what of the backward is being written: BACKWARD, INPUT or WEIGHT */
  GArray *script;          /* LsLayerItem: layers are noted down and not written; NULL: written */
  guint segment;           /* of a chunk's loop that is noted down, where loops are unrolled */
  guint section_depth;     /* loops around the section that is being written, the step's included */
  LsMark stored, fetched;  /* the newest copies of activations (activation_offload.h) */
  guint part;              /* of the device, whose section is being written */
  LsReduceState *reduce;   /* owned */
  LsGatherState *gather;   /* owned */
  LsGatherForward *forward; /* owned */
  LsInputState *input;      /* owned */
} LsBuilder;

LsBuilder *ls_builder_new (const LsProgramSpec *spec, LsTables *tables, const char *name);
void ls_builder_free (LsBuilder *builder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsBuilder, ls_builder_free)
/* Freezes and returns the program (transfer full); the builder may only be freed after. */
LsProgram *ls_builder_finish (LsBuilder *builder, GError **error);

/* A loop of `count` >= 1 iterations around what follows, in every stream that is used inside. */
void ls_builder_open (LsBuilder *builder, gint64 count);
void ls_builder_close (LsBuilder *builder);
/* Appends to a stream, opening the loops that it lacks; a compute operation takes the pending waits. */
LsMark ls_builder_add (LsBuilder *builder, LsRole role, const LsOp *op);
/* The engine's stream of a role, with the loops of the first `depth` levels open, for builders that
 * write the loops of a stream by hand. */
guint ls_builder_stream (LsBuilder *builder, LsRole role, guint depth);

/* The next compute operation waits for `target`, at the same loop counters (see ls_program_wait_same). */
void ls_builder_wait (LsBuilder *builder, LsMark target);
/* The same with explicit maps. */
void ls_builder_wait_maps (LsBuilder *builder, LsMark target, const LsLoopMap *maps, guint n_maps);
/* For operation base + sum of coefficient x counter of a stream without kernels. */
void ls_builder_wait_count (LsBuilder *builder, guint stream, gint64 base,
                            const gint64 coefficients[LS_MAX_LOOP_DEPTH]);
/* Maps of an operation `back` iterations of the innermost open loop before; ordinals run through loops. */
void ls_builder_map_back (const LsBuilder *builder, gint64 back, LsLoopMap maps[]);
/* Puts pending waits, if any, on an empty compute operation. */
void ls_builder_join (LsBuilder *builder);
/* An empty compute operation that others may wait for, or that claims and releases; takes pending waits. */
LsMark ls_builder_point (LsBuilder *builder, const char *name);
LsMark ls_builder_claim (LsBuilder *builder, const char *name, LsMemoryKind kind, gint64 bytes);
LsMark ls_builder_release (LsBuilder *builder, const char *name, LsMemoryKind kind, gint64 bytes);
/* A compute operation that the collective or copy `after` in another stream may wait for. */
LsMark ls_builder_last (LsBuilder *builder);
/* Time on the compute stream that loads nothing: launches, the framework between steps. */
void ls_builder_delay (LsBuilder *builder, const char *name, gint64 ps, LsPart part);

/* Time on the host's stream, which the next compute operation waits for. */
void ls_builder_host (LsBuilder *builder, const char *name, gint64 ps);

/* FSDP's copies between flat buffers and tensors: `bytes` read and written on the compute stream, where the software
 * makes them. */
void ls_builder_shard_copy (LsBuilder *builder, const char *name, gint64 bytes, LsPhaseName phase);
/* Operations with the common fields filled: name, kind for the trace, phase, layer, micro-batch. */
LsOp ls_builder_memory (LsBuilder *builder, const char *name);
LsOp ls_builder_kernel (LsBuilder *builder, const char *name, LsKind kind, LsPhaseName phase,
                        const LsKernelCost *cost);
LsOp ls_builder_collective (LsBuilder *builder, const char *name, LsCollectiveOp collective,
                            gint64 bytes, LsSlot slot, LsAxis axis, LsPart part);
/* Bytes of so many gradients while they are reduced. */
gint64 ls_builder_reduce_bytes (const LsBuilder *builder, gint64 parameters);
/* Bytes of gradients that stages 0 and 1 reduce together in the part that is being written; G_MAXINT64: all. */
gint64 ls_builder_bucket_bytes (const LsBuilder *builder);
/* Whether layers are gathered: ZeRO stage 3 on more than one rank, or with parameters on the host. */
gboolean ls_builder_gathers (const LsBuilder *builder);
/* Collectives that move one layer's parameters or gradients with ZeRO stage 3: 1, or one per matrix where
 * the software does so. */
guint ls_builder_zero_parts (const LsBuilder *builder, const LsLayerPlan *plan);
/* Parameters of a layer that other ranks have in common with this one: dense ones with all data x context
 * ranks, those of experts with the expert-data ranks. Nothing where there is no other. */
typedef struct {
  gint64 dense, experts;
} LsShared;
LsShared ls_builder_shared (const LsBuilder *builder, gint64 dense, gint64 experts);
/* Of those, what is sharded over ranks: with hybrid sharding experts need not be. */
LsShared ls_builder_sharded (const LsBuilder *builder, gint64 dense, gint64 experts);
/* The same and what moves between the GPU and the host where zero.offload is `least` or more. */
LsShared ls_builder_moved (const LsBuilder *builder, LsOffload least, gint64 dense, gint64 experts);
/* Adds the host's time for the pieces of such a collective behind it; returns what ends last. */
LsMark ls_builder_zero_pieces (LsBuilder *builder, LsRole role, LsMark collective);
