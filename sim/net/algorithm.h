/* The algorithms of collectives as a registry: what help, documents, tests and the choice iterate.
 *
 * An algorithm writes operations on a group as round tables (rounds.h). To add one: an entry in
 * LS_COLLECTIVE_ALGORITHMS, a writer in algorithms.h and a record here.
 *
 * Operations follow from one another: a reduce-scatter is an all-gather backwards, a reduce a
 * broadcast, a gather a scatter; an all-reduce is a reduce-scatter and an all-gather. A writer
 * leaves those to ls_algorithm_schedule() unless it knows better.
 */
#pragma once

#include "net/collective.h"
#include "net/group.h"
#include "net/rounds.h"

#define LS_OP_BIT(op) (1u << (op))

typedef struct {
  LsAlgorithm id;
  const char *name;
  const char *summary;
  const char *formula; /* its main operation on one switch of equal ports */
  const char *source;
  guint ops;          /* LS_OP_BIT of the operations that it can do */
  guint offered;      /* of those, what `auto` considers: what NCCL has */
  guint offered_flat; /* the same with protocol ideal, where latencies are the scenario's own */
  gboolean tree;      /* latencies of NCCL's trees, else of its rings */
  gboolean in_network;
  /* NULL: every group. */
  gboolean (*fits) (const LsGroupShape *shape, LsCollectiveOp op);
  /* Parts that N is cut into for `op`; NULL: one per member. */
  guint (*parts) (const LsGroupShape *shape, LsCollectiveOp op);
  /* FALSE, and nothing written: the operation follows from others. */
  gboolean (*write) (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
  /* Seconds alone on one switch of equal ports, a the latency of a round, b seconds per byte; < 0:
   * there is no closed form. */
  double (*closed_form) (LsCollectiveOp op, guint n, double bytes, double a, double b);
} LsAlgorithmRecord;

guint ls_algorithm_count (void);
const LsAlgorithmRecord *ls_algorithm_get (guint i);
/* NULL for LS_ALGORITHM_AUTO. */
const LsAlgorithmRecord *ls_algorithm_find (LsAlgorithm id);
gboolean ls_algorithm_applies (const LsAlgorithmRecord *algorithm, const LsGroupShape *shape,
                               LsCollectiveOp op);
/* The round table of an operation that applies, on two members or more (transfer full). `bounds`:
 * of all_to_allv, the block from i to j is i x n + j in the order of the shape, else NULL. */
LsSchedule *ls_algorithm_schedule (const LsAlgorithmRecord *algorithm, const LsGroupShape *shape,
                                   LsCollectiveOp op, const gint64 *bounds);
/* "all_reduce, all_gather" (transfer full). */
char *ls_algorithm_ops (const LsAlgorithmRecord *algorithm);
