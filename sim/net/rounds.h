/* The round table of collectives: who sends to whom, how often, how much.
 *
 * An algorithm is a short list of *runs*. A run is a maximal series of rounds in which the same links
 * carry load in equal proportion; the fluid model makes one phase of it: the latencies of its rounds
 * are summed, its bytes move at once over all its links. What a pattern puts on which link is here;
 * how many rounds and bytes, in algorithm.c; what a round costs, in cost.c.
 *
 * A run of pipelined chunks (rings of broadcasts, trees, in-network) counts the rounds that the first
 * chunk needs; the chunks behind it fill the links meanwhile.
 */
#pragma once

#include "net/group.h"

/* id, summary. */
#define LS_PATTERNS(X)                                                                          \
  X (RING, "each member sends to the next; between nodes over all adapters of its members")     \
  X (CHAIN, "as the ring, from the root to the last: nothing comes back")                       \
  X (RING_INSIDE, "a ring inside each node")                                                    \
  X (RING_ACROSS, "a ring over the k-th members of all nodes, for each k")                      \
  X (PAIRS, "each member sends to every other")                                                 \
  X (DOUBLE_TREE, "chains inside nodes, two complementary binary trees over them, up and down") \
  X (BINOMIAL, "round k of a binomial tree from the root")                                      \
  X (IN_NETWORK, "switches of the node reduce and copy, double binary trees over the nodes")

#define LS_ENUM_PATTERN(id, summary) LS_PATTERN_##id,
typedef enum { LS_PATTERNS (LS_ENUM_PATTERN) LS_N_PATTERNS } LsPattern;

typedef struct {
  LsPattern pattern;
  gboolean reversed; /* towards the root */
  gboolean launches; /* begins a kernel: launch and base latency come first */
  guint rounds;
  guint stride;  /* BINOMIAL: distance in members */
  double flow;   /* bytes of the largest flow over the whole run / bytes of the descriptor */
  double memory; /* bytes that a member reads and writes in its memory per byte of flow; patterns of
                  * single messages add one at each end themselves */
} LsRun;

#define LS_MAX_RUNS 34 /* binomial trees of 2^32 members, and two more */

/* A run laid over the cluster. */
typedef struct {
  LsRun run;
  guint n_amounts;
  LsAmount *amounts; /* per byte of flow */
  double sent;       /* bytes that a member sends per byte of flow, mean over members */
  guint inside_rounds, across_rounds;
  LsHop inside_hop; /* LINK or PCIE: what the inside rounds cross */
  double
      link_rate; /* bytes of flow per second that links inside nodes allow; INFINITY: none used */
  double rate;   /* that all resources allow, at most half of any memory */
} LsRunLoad;

/* `usages` must be empty, and is again afterwards. The caller frees load->amounts. */
void ls_run_load (const LsGroupShape *shape, const LsRun *run, LsUsages *usages, LsRunLoad *load);
/* For a message or copy: takes what has been added to `usages` as a run of one round. */
void ls_run_load_take (const LsTopology *topology, LsUsages *usages, LsRunLoad *load);
const char *ls_pattern_summary (LsPattern pattern);
/* ceil (log2 n), n >= 1. */
guint ls_log2_ceil (guint n);
/* Parent of node r (of n, the root being 0) in tree 0 or 1 of the two trees; r itself at their roots. */
guint ls_double_tree_parent (guint tree, guint r, guint n);
