/* Where the ranks of a job run: `workload.placement`.
 *
 * Model:      a placement gives places, each a list of GPUs in nodes, for all ranks, or for ranges of
 *             pipeline stages, or for ranges of replicas (data-parallel ranks). The ranks of a place, in
 *             order, take its GPUs in the order of the distribution, in Slurm's words: block fills one
 *             node after another; plane=N deals N ranks to each node in turn; cyclic is plane=1. Nodes
 *             stand in the order given.
 * Invariants: a GPU is in a placement once; ranges do not overlap.
 *
 * Ownership: a placement owns its lists.
 */
#pragma once

#include "train/read/workload_reader.h"

typedef struct {
  char *path;        /* of the key, for faults */
  guint first, last; /* stages or replicas; of all ranks: 0 and G_MAXUINT */
  GArray *gpus;      /* guint, in the order in which ranks take them */
} LsPlace;

typedef struct {
  LsAxis axis;       /* of the ranges: PIPELINE, DATA, or NONE: one place for all */
  GPtrArray *places; /* LsPlace, ascending */
  guint n_gpus;      /* of all */
} LsPlacement;

/* Reads the key; the whole cluster when it is not given. NULL after adding faults. */
LsPlacement *ls_placement_new (LsWorkloadReader *reader);
void ls_placement_free (LsPlacement *placement);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsPlacement, ls_placement_free)

/* The most data-parallel ranks that have room with so many ranks per stage and stages per replica; 0: not
 * even one. */
guint ls_placement_data (const LsPlacement *placement, guint per_stage, guint pipeline);
/* Fills the workload's gpu_of_rank for its layout; FALSE after adding faults. */
gboolean ls_placement_apply (const LsPlacement *placement, LsWorkloadReader *reader);
