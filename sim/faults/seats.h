/* Which node sits where in a job, and which are free: the book-keeping of failures, spares and shrinking.
 *
 * Model:      a job has seats, replica by replica; the first `used` replicas run. A node is seated, free
 *             or down (held down by one or more failed components). A vacated seat is filled by a free
 *             node, the longest free first, or, when the job shrinks, by a node of a replica that is
 *             given up.
 * Cost:       O(nodes of what changes), never of the cluster.
 *
 * Ownership: owns its arrays.
 */
#pragma once

#include <glib.h>

typedef struct LsSeats LsSeats;

/* Nodes beyond replicas x nodes_per_replica are free at the start. */
LsSeats *ls_seats_new (guint n_nodes, guint replicas, guint nodes_per_replica);
void ls_seats_free (LsSeats *seats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsSeats, ls_seats_free)

/* A component took `node` down; TRUE when that vacates a seat of a replica that runs. */
gboolean ls_seats_down (LsSeats *seats, guint node);
/* A component of `node` is whole again. */
void ls_seats_up (LsSeats *seats, guint node);
/* Replicas that could run with the nodes that are up, at most all. */
guint ls_seats_possible (const LsSeats *seats);
/* Fills the first `replicas` <= possible; TRUE when a node was seated anew. */
gboolean ls_seats_fill (LsSeats *seats, guint replicas);
guint ls_seats_used (const LsSeats *seats);
/* Nodes that are up and not seated in a replica that runs. */
guint ls_seats_idle (const LsSeats *seats);
/* Replica in which a node runs; G_MAXUINT: in none. */
guint ls_seats_replica (const LsSeats *seats, guint node);
