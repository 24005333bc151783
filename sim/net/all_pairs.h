/* The phase of an all-to-all whose messages are all in flight, without a walk over the n (n - 1) pairs.
 *
 * Model:      a message between nodes uses its sender's way out, which is the same to every receiver, its
 *             receiver's way in, which is the same from every sender, and links between the switches of the two,
 *             which are the same for all members with adapters on the same switches (an *end*). So ways out and in
 *             are laid once per member, times the members of other nodes, links between switches once per pair of
 *             ends, times their pairs of members, and pairs inside nodes one by one. The figures are those of
 *             phases.h for the round table of `direct`, sums in another order (tested: to 1e-12).
 * Applies:    equal parts; one node is left to the round table; one fabric, a switch or a tree, whose even routing
 *             looks at switches alone: not ECMP's hash of the adapters, static routes by destination, rails that
 *             the sender changes, graphs.
 * Cost:       O(n m + e^2 links), m members per node, e ends: 32,768 GPUs in 0.2 s, where a billion pairs took an
 *             hour and more memory than arrays have.
 */
#pragma once

#include "net/phases.h"

/* From how many members on it is used: below, pairs are few. */
#define LS_ALL_PAIRS_MIN 256

/* Members of a group whose messages are laid pair by pair: 67 million pairs, a minute and 2 GB. source: measured. */
#define LS_PAIRS_MOST 8192

/* How many members `op` may have, so that reading a scenario refuses what would take hours and more memory than there
 * is; G_MAXUINT: any number. `messages`: they run one by one whatever the cluster says. */
guint ls_pairs_most (const LsCluster *cluster, LsCollectiveOp op, LsAlgorithm algorithm,
                     gboolean messages);

gboolean ls_all_pairs_apply (const LsGroupShape *shape, LsCollectiveOp op);
/* As ls_phases_new() of the round table with a window of `window` peers in flight; one phase. */
LsPhaseLoad *ls_all_pairs_new (const LsGroupShape *shape, guint window, LsUsages *usages);
