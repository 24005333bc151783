/* Colour refinement: the coarsest equitable partition of a labelled graph.
 *
 * Model:      nodes 0 .. n - 1, each with a label; undirected edges, each with a label. Two nodes are of
 *             one class only if their labels agree and they have, for every class and every edge label,
 *             equally many edges of that label into that class; and the classes are as few as that allows.
 *             Several edges may join the same two nodes; an edge may join a node to itself (it counts twice).
 * Method:     a class splits others by how often its members reach them; all new classes but the largest
 *             are splitters in turn (Hopcroft 1971, Paige and Tarjan 1987). Multisets of labels are compared
 *             by 128-bit sums of mixed labels, so that two different ones are taken for equal with a
 *             probability below 1e-20 for any graph that fits in memory.
 * Invariants: the result does not depend on the order of edges; classes are numbered by their lowest member.
 * Cost:       O((nodes + edges) log nodes), in practice a few passes over the edges.
 *
 * Ownership: a refinement owns copies of everything.
 */
#pragma once

#include <glib.h>

typedef struct LsRefinement LsRefinement;

/* All labels are 0. */
LsRefinement *ls_refinement_new (guint32 n_nodes);
void ls_refinement_free (LsRefinement *refinement);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsRefinement, ls_refinement_free)

/* Edges and labels may be added between runs. */
void ls_refinement_set_label (LsRefinement *refinement, guint32 node, guint64 label);
/* Room for this many edges in all, if the caller knows. */
void ls_refinement_reserve (LsRefinement *refinement, guint32 n_edges);
void ls_refinement_add_edge (LsRefinement *refinement, guint32 a, guint32 b, guint64 label);

/* Writes the class of each node to class_of[node]; returns how many classes there are. */
guint32 ls_refinement_run (LsRefinement *refinement, guint32 *class_of);

/* Mixing of labels, for callers that build one out of several numbers: depends on the order. */
static inline guint64 ls_refinement_mix (guint64 seed, guint64 value) {
  guint64 z = (seed ^ value) + G_GUINT64_CONSTANT (0x9E3779B97F4A7C15) + (seed << 6) + (seed >> 2);
  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94D049BB133111EB);
  return z ^ (z >> 31);
}
