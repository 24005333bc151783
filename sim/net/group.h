/* The members of a collective, as the network sees them: by node, the root first.
 *
 * Order: nodes ascending but beginning with the root's, GPUs of a node ascending but beginning with
 * the root; the root is the group's first member. Rings and trees follow this order, whatever the
 * order of ranks in the group.
 *
 * Ownership: owns its arrays.
 */
#pragma once

#include "net/route.h"

typedef struct {
  const LsTopology *topology;
  guint n;     /* members */
  guint *gpus; /* in the order above */
  guint n_nodes;
  guint *first; /* members of node i: gpus[first[i] .. first[i + 1]) */
  guint **nics; /* by node: the adapters that its members own, ascending, without repeats */
  guint *n_nics;
  guint most, least;   /* members per node */
  gboolean inside;     /* links (not PCIe) join the members of every node */
  gboolean in_network; /* every node's switches reduce and it has two members or more */
  gint64 path_ps; /* switches and cables, the largest between neighbouring nodes; 0: one node */
} LsGroupShape;

/* `gpus` are distinct. */
LsGroupShape *ls_group_shape_new (const LsTopology *topology, const guint *gpus, guint n);
void ls_group_shape_free (LsGroupShape *shape);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsGroupShape, ls_group_shape_free)

static inline guint ls_group_members (const LsGroupShape *shape, guint node) {
  return shape->first[node + 1] - shape->first[node];
}
/* Node of the cluster on which the members of node `i` of the shape are. */
guint ls_group_node (const LsGroupShape *shape, guint i);
const LsNodeSpec *ls_group_spec (const LsGroupShape *shape, guint i);
/* Do the links alone join the members of node i (a mesh need not)? */
gboolean ls_group_joined (const LsGroupShape *shape, guint i);
