/* Folding: ranks that are alike run once.
 *
 * Model:      the classes are the coarsest equitable partition (engine/refine.h) of the graph of ranks,
 *             groups (sends and receives among them) and resources. Labels are what a rank runs, what a
 *             group's transfers are, and how much of a resource each of them uses. A resource that its users
 *             at full rate cannot overfill is no part of the graph; one that only groups of one rank use is
 *             part of the label of that rank in its group. One rank of each class, its lowest, runs on an
 *             engine; one group of each class carries the transfers of all, its usage of what it shares with
 *             its like counted as often as it occurs.
 * Invariants: a folded run gives every rank the times that an unfolded one gives it, to the bit: rates are
 *             integers and sums of usages are exact (engine/fixed.h), and where the engine prefers the lowest
 *             rank of equals, groups are of one class only if the classes of their members have the same
 *             order by lowest rank.
 * Left out:   per-rank tables and the message model: ls_fold_new() says why it cannot. Sends inside groups of
 *             more than two ranks tell their members apart by position.
 * Cost:       O(edges log edges) beside one template per group; see ls_fold_new().
 *
 * Ownership: a fold owns its classes and transfers and borrows cluster, programs and the input's arrays.
 */
#pragma once

#include "net/net.h"

typedef struct {
  guint n;
  const guint *ranks; /* in order of position */
  guint axis;
  guint slot, first_slot; /* of all members but the first, of the first */
} LsFoldGroup;

typedef struct {
  guint n_ranks;
  const guint *gpu_of_rank;     /* distinct */
  const guint *kind_of_rank;    /* index into programs */
  const guint64 *label_of_rank; /* what else tells ranks apart (job, speed, ...); NULL: nothing */
  guint n_kinds;
  LsProgram *const *programs;
  guint n_groups;
  const LsFoldGroup *groups;
  guint n_descriptors;
  const LsDescriptor *descriptors;
} LsFoldInput;

typedef struct LsFold LsFold;

/* NULL when the ranks cannot be folded, with the reason in *why (a static string). */
LsFold *ls_fold_new (const LsCluster *cluster, const LsFoldInput *input, const char **why);
void ls_fold_free (LsFold *fold);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsFold, ls_fold_free)

guint ls_fold_n_classes (const LsFold *fold);
/* [rank]: classes are numbered by their lowest rank. */
const guint32 *ls_fold_class_of_rank (const LsFold *fold);
guint ls_fold_rank (const LsFold *fold, guint class_number); /* the lowest */
guint ls_fold_size (const LsFold *fold, guint class_number);

/* Adds everything to an empty engine: rank c of the engine is class c, and groups are in order of the lowest
 * group of each class. Sets the expander; `fold` must outlive the engine. */
void ls_fold_install (LsFold *fold, LsEngine *engine);
/* Its members, by position (borrowed). */
const guint *ls_fold_group_ranks (const LsFold *fold, guint number, guint *n);
/* The rank that class `class_number` has in the group that `rank` is in and that is like group `number`: the
 * lowest; LS_NO_RANK: none. */
guint ls_fold_member (const LsFold *fold, guint rank, guint number, guint class_number);
/* The net that has the cluster's resources, without an engine. */
LsNet *ls_fold_net (const LsFold *fold);
/* Index of an engine's resource in that net; LS_NO_NUMBER: not one of its. */
guint ls_fold_resource (const LsFold *fold, guint number);
