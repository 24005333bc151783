/* Jobs as ranks, groups and programs that net/fold.h can fold.
 *
 * Ownership: a folding owns its fold and the arrays that it reads; it borrows the jobs.
 */
#pragma once

#include "net/fold.h"
#include "train/run/simulation.h"

typedef struct {
  LsFold *fold;
  LsFoldInput input;
  guint *gpu_of_rank, *kind_of_rank;
  guint64 *label_of_rank;
  LsProgram **programs;
  LsFoldGroup *groups;
  GPtrArray *members; /* arrays of ranks in groups of later jobs */
} LsFolding;

/* Factors and labels of `options` keep ranks apart. NULL with the reason in *why when the jobs do not fold. */
LsFolding *ls_folding_new (const LsCluster *cluster, const LsJobRun *jobs, guint n_jobs,
                           const LsSimulationOptions *options, const char **why);
void ls_folding_free (LsFolding *folding);
