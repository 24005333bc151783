/* Collectives and messages: what a program asks of the network, by number.
 *
 * Sizes follow nccl-tests: all-reduce, broadcast, reduce: the buffer of one rank; all-gather and
 * reduce-scatter: the TOTAL buffer (n times the shard); all-to-all: what one rank sends in all,
 * its own share included.
 *
 * Ownership: descriptors are plain records, copied.
 */
#pragma once

#include <glib.h>

#define LS_COLLECTIVE_OPS(X)                                                   \
  X (ALL_REDUCE, "all_reduce")                                                 \
  X (REDUCE_SCATTER, "reduce_scatter")                                         \
  X (ALL_GATHER, "all_gather")                                                 \
  X (BROADCAST, "broadcast")                                                   \
  X (REDUCE, "reduce")                                                         \
  X (ALL_TO_ALL, "all_to_all")                                                 \
  X (SEND_RECV, "send_recv")                                                   \
  X (BARRIER, "barrier")               /* costs nothing: an instant meeting */ \
  X (HOST_TO_DEVICE, "host_to_device") /* copies, for LS_OP_COPY */            \
  X (DEVICE_TO_HOST, "device_to_host")                                         \
  X (STORAGE_READ, "storage_read")                                             \
  X (STORAGE_WRITE, "storage_write")

#define LS_ENUM_COLLECTIVE(id, name) LS_COLLECTIVE_##id,
typedef enum { LS_COLLECTIVE_OPS (LS_ENUM_COLLECTIVE) LS_N_COLLECTIVE_OPS } LsCollectiveOp;

#define LS_COLLECTIVE_ALGORITHMS(X) \
  X (AUTO, "auto")                  \
  X (RING, "ring")                  \
  X (TREE, "tree")                  \
  X (HIERARCHICAL, "hierarchical")  \
  X (PAIRWISE, "pairwise")          \
  X (NVLS, "nvls")

#define LS_ENUM_ALGORITHM(id, name) LS_ALGORITHM_##id,
typedef enum { LS_COLLECTIVE_ALGORITHMS (LS_ENUM_ALGORITHM) LS_N_ALGORITHMS } LsAlgorithm;

typedef struct {
  LsCollectiveOp op;
  LsAlgorithm algorithm;
  gint64 bytes;
} LsDescriptor;

const char *ls_collective_op_name (LsCollectiveOp op);
const char *ls_algorithm_name (LsAlgorithm algorithm);
/* FALSE when no such name; *op, *algorithm are then untouched. */
gboolean ls_collective_op_parse (const char *name, LsCollectiveOp *op);
gboolean ls_algorithm_parse (const char *name, LsAlgorithm *algorithm);

/* Is it a collective of a group (all_reduce .. all_to_all), not a message, barrier or copy? */
gboolean ls_collective_is_group (LsCollectiveOp op);
/* nccl-tests: busbw = bytes / time x this factor, for a group of n. */
double ls_collective_bus_factor (LsCollectiveOp op, guint n);
