/* The writers of round tables behind the registry of algorithm.h, one file per idea. */
#pragma once

#include "net/algorithm.h"

/* rings.c */
gboolean ls_write_ring (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
gboolean ls_write_bidirectional (const LsGroupShape *shape, LsCollectiveOp op,
                                 LsSchedule *schedule);
guint ls_parts_bidirectional (const LsGroupShape *shape, LsCollectiveOp op);

/* trees.c */
gboolean ls_write_double_tree (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
gboolean ls_write_binomial (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
guint ls_parts_double_tree (const LsGroupShape *shape, LsCollectiveOp op);
guint ls_parts_binomial (const LsGroupShape *shape, LsCollectiveOp op);
/* Chains from the first member of every node to its last, stage by stage. */
void ls_write_chains (const LsGroupShape *shape, LsSchedule *schedule, guint count);
/* Both trees over all nodes, from the roots down, half of the blocks on each. */
void ls_write_trees_down (const LsGroupShape *shape, LsSchedule *schedule);
/* Parent of node r (of n, the root being 0) in tree 0 or 1 of the two trees; r itself at their roots. */
guint ls_double_tree_parent (guint tree, guint r, guint n);

/* halving.c */
gboolean ls_write_halving (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
gboolean ls_write_doubling (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
guint ls_parts_halving (const LsGroupShape *shape, LsCollectiveOp op);
guint ls_parts_doubling (const LsGroupShape *shape, LsCollectiveOp op);

/* exchange.c */
gboolean ls_write_bruck (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
gboolean ls_write_pairwise (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
gboolean ls_write_direct (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
guint ls_parts_exchange (const LsGroupShape *shape, LsCollectiveOp op);
/* Messages of a member that are in flight at once; 0: all. */
guint ls_exchange_window (const LsGroupShape *shape);

/* hierarchical.c */
gboolean ls_fits_hierarchical (const LsGroupShape *shape, LsCollectiveOp op);
gboolean ls_write_hierarchical (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
guint ls_parts_hierarchical (const LsGroupShape *shape, LsCollectiveOp op);

/* in_network.c */
gboolean ls_fits_nvls (const LsGroupShape *shape, LsCollectiveOp op);
gboolean ls_write_nvls (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
guint ls_parts_nvls (const LsGroupShape *shape, LsCollectiveOp op);
gboolean ls_fits_sharp (const LsGroupShape *shape, LsCollectiveOp op);
gboolean ls_write_sharp (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);

/* torus.c */
gboolean ls_fits_torus (const LsGroupShape *shape, LsCollectiveOp op);
gboolean ls_write_torus (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule);
guint ls_parts_torus (const LsGroupShape *shape, LsCollectiveOp op);

/* closed_forms.c: on one switch of equal ports. */
double ls_closed_ring (LsCollectiveOp op, guint n, double bytes, double a, double b);
double ls_closed_bidirectional (LsCollectiveOp op, guint n, double bytes, double a, double b);
double ls_closed_binomial (LsCollectiveOp op, guint n, double bytes, double a, double b);
double ls_closed_halving (LsCollectiveOp op, guint n, double bytes, double a, double b);
double ls_closed_doubling (LsCollectiveOp op, guint n, double bytes, double a, double b);
double ls_closed_bruck (LsCollectiveOp op, guint n, double bytes, double a, double b);
double ls_closed_pairwise (LsCollectiveOp op, guint n, double bytes, double a, double b);
double ls_closed_direct (LsCollectiveOp op, guint n, double bytes, double a, double b);
