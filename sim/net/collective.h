/* Collectives and messages: what a program asks of the network, by number.
 *
 * Sizes follow nccl-tests: all-reduce, broadcast, reduce: the buffer of one rank; all-gather and
 * reduce-scatter, gather, scatter: the TOTAL buffer (n times the shard); all-to-all: what one rank sends
 * in all, its own share included; all-to-allv: the sum of all splits; send-recv: one message (of a group:
 * each member sends one to the next).
 *
 * Ownership: descriptors are plain records, copied.
 */
#pragma once

#include <glib.h>

#define LS_COLLECTIVE_OPS(X)                                         \
  X (ALL_REDUCE, "all_reduce")                                       \
  X (REDUCE_SCATTER, "reduce_scatter")                               \
  X (ALL_GATHER, "all_gather")                                       \
  X (BROADCAST, "broadcast")                                         \
  X (REDUCE, "reduce")                                               \
  X (ALL_TO_ALL, "all_to_all")                                       \
  X (ALL_TO_ALLV, "all_to_allv")                                     \
  X (GATHER, "gather")                                               \
  X (SCATTER, "scatter")                                             \
  X (SEND_RECV, "send_recv")                                         \
  X (BARRIER, "barrier")               /* instant, unless `timed` */ \
  X (HOST_TO_DEVICE, "host_to_device") /* copies, for LS_OP_COPY */  \
  X (DEVICE_TO_HOST, "device_to_host")                               \
  X (STORAGE_READ, "storage_read")                                   \
  X (STORAGE_WRITE, "storage_write")                                 \
  X (NVME_READ, "nvme_read") /* of the node's own drives */          \
  X (NVME_WRITE, "nvme_write")

#define LS_ENUM_COLLECTIVE(id, name) LS_COLLECTIVE_##id,
typedef enum { LS_COLLECTIVE_OPS (LS_ENUM_COLLECTIVE) LS_N_COLLECTIVE_OPS } LsCollectiveOp;

#define LS_COLLECTIVE_ALGORITHMS(X)  \
  X (AUTO, "auto")                   \
  X (RING, "ring")                   \
  X (BIDIRECTIONAL, "bidirectional") \
  X (TREE, "tree")                   \
  X (BINOMIAL, "binomial")           \
  X (HALVING, "halving")             \
  X (DOUBLING, "doubling")           \
  X (BRUCK, "bruck")                 \
  X (DIRECT, "direct")               \
  X (PAIRWISE, "pairwise")           \
  X (HIERARCHICAL, "hierarchical")   \
  X (NVLS, "nvls")                   \
  X (SHARP, "sharp")                 \
  X (TORUS, "torus")

#define LS_ENUM_ALGORITHM(id, name) LS_ALGORITHM_##id,
typedef enum { LS_COLLECTIVE_ALGORITHMS (LS_ENUM_ALGORITHM) LS_N_ALGORITHMS } LsAlgorithm;

typedef struct {
  LsCollectiveOp op;
  LsAlgorithm algorithm;
  gint64 bytes;
  guint protocols;      /* bits of the protocols (protocol.h) to choose from; 0: all */
  gboolean timed;       /* BARRIER: with messages and their latency, not an instant meeting */
  const gint64 *splits; /* ALL_TO_ALLV: bytes from i to j at i x n + j, in the order of the group;
                         * borrowed for as long as the net lives. NULL else. */
} LsDescriptor;

const char *ls_collective_op_name (LsCollectiveOp op);
const char *ls_algorithm_name (LsAlgorithm algorithm);
/* FALSE when no such name; *op, *algorithm are then untouched. */
gboolean ls_collective_op_parse (const char *name, LsCollectiveOp *op);
gboolean ls_algorithm_parse (const char *name, LsAlgorithm *algorithm);

/* Is it a collective of a group (all_reduce .. scatter), not a message, barrier or copy? */
gboolean ls_collective_is_group (LsCollectiveOp op);
/* nccl-tests: busbw = bytes / time x this factor, for a group of n. */
double ls_collective_bus_factor (LsCollectiveOp op, guint n);
