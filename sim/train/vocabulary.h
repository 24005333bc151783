/* The words of a training run that programs, accounts, traces and summaries share.
 *
 * Each list is an X-macro: X(ID, "name in files", ...). Order is the number stored in LsOp fields,
 * in account parts and in the trace's small tables; append only.
 */
#pragma once

#include <glib.h>

/* Parts of time_breakdown_s: what every picosecond of a rank's main stream is charged to. */
#define LS_PARTS(X)                        \
  X (COMPUTE, "compute")                   \
  X (MEMORY_BOUND, "memory_bound")         \
  X (EXPOSED_TENSOR, "exposed_tensor")     \
  X (EXPOSED_DATA, "exposed_data")         \
  X (EXPOSED_ZERO, "exposed_zero")         \
  X (EXPOSED_PIPELINE, "exposed_pipeline") \
  X (EXPOSED_EXPERT, "exposed_expert")     \
  X (EXPOSED_CONTEXT, "exposed_context")   \
  X (EXPOSED_SERVER, "exposed_server")     \
  X (PIPELINE_BUBBLE, "pipeline_bubble")   \
  X (STRAGGLER_WAIT, "straggler_wait")     \
  X (OPTIMIZER, "optimizer")               \
  X (INPUT, "input")                       \
  X (CHECKPOINT, "checkpoint")             \
  X (RECOVERY, "recovery")                 \
  X (OTHER, "other")                       \
  X (EXPOSED_OFFLOAD, "exposed_offload")

/* Axes of communication groups (trace table `axis`). */
#define LS_AXES(X)                   \
  X (NONE, NULL)                     \
  X (TENSOR, "tensor")               \
  X (DATA, "data")                   \
  X (PIPELINE, "pipeline")           \
  X (EXPERT, "expert")               \
  X (CONTEXT, "context")             \
  X (ZERO, "zero")                   \
  X (SERVER, "server")               \
  X (CHECKPOINT, "checkpoint")       \
  X (EXPERT_TENSOR, "expert_tensor") \
  X (EXPERT_DATA, "expert_data")     \
  X (DATA_CONTEXT, "data_context")   \
  X (OFFLOAD, "offload")

/* Phases of a step (trace table `phase`). */
#define LS_PHASES(X)             \
  X (NONE, NULL)                 \
  X (FORWARD, "forward")         \
  X (BACKWARD, "backward")       \
  X (INPUT_GRAD, "input_grad")   \
  X (WEIGHT_GRAD, "weight_grad") \
  X (RECOMPUTE, "recompute")     \
  X (OPTIMIZER, "optimizer")     \
  X (INPUT, "input")             \
  X (CHECKPOINT, "checkpoint")

/* Kinds of operations and their class (trace table `kind`). */
#define LS_KINDS(X)                                     \
  X (MATMUL, "matmul", "compute")                       \
  X (ATTENTION, "attention", "compute")                 \
  X (CONVOLUTION, "convolution", "compute")             \
  X (NORM, "norm", "compute")                           \
  X (ELEMENTWISE, "elementwise", "compute")             \
  X (SOFTMAX, "softmax", "compute")                     \
  X (EMBEDDING, "embedding", "compute")                 \
  X (LOSS, "loss", "compute")                           \
  X (OPTIMIZER_UPDATE, "optimizer_update", "compute")   \
  X (DEVICE_COPY, "device_copy", "memory")              \
  X (MEMORY, "memory", "memory")                        \
  X (ALL_REDUCE, "all_reduce", "communication")         \
  X (REDUCE_SCATTER, "reduce_scatter", "communication") \
  X (ALL_GATHER, "all_gather", "communication")         \
  X (BROADCAST, "broadcast", "communication")           \
  X (REDUCE, "reduce", "communication")                 \
  X (ALL_TO_ALL, "all_to_all", "communication")         \
  X (BARRIER, "barrier", "communication")               \
  X (SEND, "send", "communication")                     \
  X (RECV, "recv", "communication")                     \
  X (PUT, "put", "communication")                       \
  X (HOST_COPY, "host_copy", "communication")           \
  X (STORAGE_READ, "storage_read", "storage")           \
  X (STORAGE_WRITE, "storage_write", "storage")         \
  X (HOST_WORK, "host_work", "host")                    \
  X (DELAY, "delay", "wait")                            \
  X (MESSAGE, "message", "communication")               \
  X (STEP, "step", "compute")                           \
  X (PUSH, "push", "communication")                     \
  X (PULL, "pull", "communication")                     \
  X (GATHER, "gather", "communication")                 \
  X (SCATTER, "scatter", "communication")

/* Memory kinds of a rank (samples `memory_NAME`, summary `memory.NAME_bytes`). */
#define LS_MEMORY(X)             \
  X (PARAMETERS, "parameters")   \
  X (GRADIENTS, "gradients")     \
  X (OPTIMIZER, "optimizer")     \
  X (ACTIVATIONS, "activations") \
  X (BUFFERS, "buffers")

/* Slots: which group of a rank an operation means. */
#define LS_SLOTS(X)                                                            \
  X (WORLD, "world")                                                           \
  X (TENSOR, "tensor")                                                         \
  X (DATA, "data")                                                             \
  X (ZERO_GATHER, "zero_gather")                                               \
  X (ZERO_REDUCE, "zero_reduce")                                               \
  X (PIPELINE, "pipeline")                                                     \
  X (PIPELINE_SYNC, "pipeline_sync")                                           \
  X (EMBEDDING, "embedding")                                                   \
  X (TENSOR_SYNC, "tensor_sync")                                               \
  X (PIPELINE_PREVIOUS, "pipeline_previous")                                   \
  X (CONTEXT, "context")                                                       \
  X (EXPERT, "expert")                                                         \
  X (EXPERT_TENSOR, "expert_tensor")                                           \
  X (EXPERT_DATA, "expert_data")                                               \
  X (EXPERT_GATHER, "expert_gather")                                           \
  X (EXPERT_REDUCE, "expert_reduce")                                           \
  /* In pipelines that lead back: the flow of each device's second part. */    \
  X (PIPELINE_BACK, "pipeline_back")                                           \
  X (PIPELINE_BACK_PREVIOUS, "pipeline_back_previous")                         \
  X (PIPELINE_MIRROR, "pipeline_mirror")                                       \
  X (COPIES_SYNC, "copies_sync")                                               \
  X (ZERO_SYNC, "zero_sync")                                                   \
  X (ZERO_REPLICATE, "zero_replicate")                                         \
  X (EXPERT_REPLICATE, "expert_replicate")                                     \
  /* ZeRO++: gathers of the secondary partition, the hops of quantised sums */ \
  X (ZERO_SECONDARY, "zero_secondary")                                         \
  X (ZERO_INSIDE, "zero_inside")                                               \
  X (ZERO_ACROSS, "zero_across")

#define LS_ENUM_PART(id, name) LS_PART_##id,
typedef enum { LS_PARTS (LS_ENUM_PART) LS_N_PARTS } LsPart;
#define LS_ENUM_AXIS(id, name) LS_AXIS_##id,
typedef enum { LS_AXES (LS_ENUM_AXIS) LS_N_AXES } LsAxis;
#define LS_ENUM_PHASE(id, name) LS_PHASE_##id,
typedef enum { LS_PHASES (LS_ENUM_PHASE) LS_N_PHASES } LsPhaseName;
#define LS_ENUM_KIND(id, name, class) LS_KIND_##id,
typedef enum { LS_KINDS (LS_ENUM_KIND) LS_N_KINDS } LsKind;
#define LS_ENUM_MEMORY(id, name) LS_MEMORY_##id,
typedef enum { LS_MEMORY (LS_ENUM_MEMORY) LS_N_MEMORY } LsMemoryKind;
#define LS_ENUM_SLOT(id, name) LS_SLOT_##id,
typedef enum { LS_SLOTS (LS_ENUM_SLOT) LS_N_SLOTS } LsSlot;

const char *ls_part_name (LsPart part);
const char *ls_axis_name (LsAxis axis); /* NULL for LS_AXIS_NONE */
const char *ls_memory_name (LsMemoryKind kind);
