/* The algorithms: each a predicate and a table of runs. Notation: n members, q nodes, m = n / q
 * members of a node, N bytes of the descriptor. */
#include "net/algorithm.h"

#include "base/assert.h"

#define THAKUR "Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005)"

/* HBM: an operand is read once and a result written once; what is passed on lies in caches. */
static double ring_memory (double n) {
  return n / (n - 1);
}

/* --- ring ------------------------------------------------------------------------------------- */

static gboolean ring_applies (const LsGroupShape *shape, LsCollectiveOp op) {
  (void) shape;
  return op <= LS_COLLECTIVE_REDUCE;
}

static guint ring_runs (const LsGroupShape *shape, LsCollectiveOp op, LsRun *runs) {
  double n = shape->n, share = (n - 1) / n;
  runs[0] = (LsRun){.pattern = LS_PATTERN_RING,
                    .launches = TRUE,
                    .rounds = shape->n - 1,
                    .flow = share,
                    .memory = ring_memory (n)};
  if (op == LS_COLLECTIVE_ALL_REDUCE) {
    runs[0].rounds = 2 * (shape->n - 1);
    runs[0].flow = 2 * share;
  } else if (op == LS_COLLECTIVE_BROADCAST || op == LS_COLLECTIVE_REDUCE) {
    runs[0].pattern = LS_PATTERN_CHAIN;
    runs[0].reversed = op == LS_COLLECTIVE_REDUCE;
    runs[0].flow = 1;
    runs[0].memory = 1;
  }
  return 1;
}

/* --- tree ------------------------------------------------------------------------------------- */

static gboolean tree_applies (const LsGroupShape *shape, LsCollectiveOp op) {
  (void) shape;
  return op == LS_COLLECTIVE_ALL_REDUCE || op == LS_COLLECTIVE_BROADCAST ||
         op == LS_COLLECTIVE_REDUCE;
}

static guint tree_runs (const LsGroupShape *shape, LsCollectiveOp op, LsRun *runs) {
  if (op == LS_COLLECTIVE_ALL_REDUCE) {
    runs[0] = (LsRun){
        .pattern = LS_PATTERN_DOUBLE_TREE, .launches = TRUE, .rounds = 1, .flow = 1, .memory = 2};
    return 1;
  }
  guint depth = ls_log2_ceil (shape->n);
  for (guint k = 0; k < depth; k++) {
    gboolean reduce = op == LS_COLLECTIVE_REDUCE;
    runs[k] = (LsRun){.pattern = LS_PATTERN_BINOMIAL,
                      .launches = k == 0,
                      .reversed = reduce,
                      .rounds = 1,
                      .stride = 1u << (reduce ? k : depth - 1 - k),
                      .flow = 1};
  }
  return depth;
}

/* --- hierarchical ----------------------------------------------------------------------------- */

static gboolean hierarchical_applies (const LsGroupShape *shape, LsCollectiveOp op) {
  return op <= LS_COLLECTIVE_ALL_GATHER && shape->n_nodes > 1 && shape->least > 1 &&
         shape->least == shape->most;
}

static guint hierarchical_runs (const LsGroupShape *shape, LsCollectiveOp op, LsRun *runs) {
  double q = shape->n_nodes, m = shape->most;
  LsRun inside = {.pattern = LS_PATTERN_RING_INSIDE,
                  .launches = TRUE,
                  .rounds = shape->most - 1,
                  .flow = (m - 1) / m,
                  .memory = ring_memory (m)};
  LsRun across = {.pattern = LS_PATTERN_RING_ACROSS,
                  .launches = TRUE,
                  .rounds = shape->n_nodes - 1,
                  .flow = (q - 1) / q / m,
                  .memory = ring_memory (q)};
  guint n = 0;
  if (op != LS_COLLECTIVE_ALL_GATHER)
    runs[n++] = inside;
  if (op == LS_COLLECTIVE_ALL_REDUCE) {
    across.rounds *= 2;
    across.flow *= 2;
  }
  runs[n++] = across;
  if (op != LS_COLLECTIVE_REDUCE_SCATTER)
    runs[n++] = inside;
  return n;
}

/* --- pairwise --------------------------------------------------------------------------------- */

static gboolean pairwise_applies (const LsGroupShape *shape, LsCollectiveOp op) {
  (void) shape;
  return op == LS_COLLECTIVE_ALL_TO_ALL;
}

static guint pairwise_runs (const LsGroupShape *shape, LsCollectiveOp op, LsRun *runs) {
  (void) op;
  runs[0] = (LsRun){.pattern = LS_PATTERN_PAIRS,
                    .launches = TRUE,
                    .rounds = shape->n - 1,
                    .flow = 1.0 / shape->n};
  return 1;
}

/* --- in-network ------------------------------------------------------------------------------- */

static gboolean nvls_applies (const LsGroupShape *shape, LsCollectiveOp op) {
  return op == LS_COLLECTIVE_ALL_REDUCE && shape->in_network && shape->n > 2;
}

static guint nvls_runs (const LsGroupShape *shape, LsCollectiveOp op, LsRun *runs) {
  (void) shape;
  (void) op;
  runs[0] = (LsRun){
      .pattern = LS_PATTERN_IN_NETWORK, .launches = TRUE, .rounds = 1, .flow = 1, .memory = 2};
  return 1;
}

static const LsAlgorithmRecord records[] = {
    {.id = LS_ALGORITHM_RING,
     .name = "ring",
     .summary = "each member passes pieces to its next; one ring per adapter across nodes",
     .formula = "2 (n-1) alpha + 2 (n-1)/n N beta",
     .source = THAKUR,
     .applies = ring_applies,
     .runs = ring_runs},
    {.id = LS_ALGORITHM_TREE,
     .name = "tree",
     .summary = "all-reduce: two binary trees over nodes, chains inside, pipelined; broadcast and "
                "reduce: binomial tree",
     .formula = "2 ceil(log2 q) alpha + 2 N beta (broadcast: ceil(log2 n) (alpha + N beta))",
     .source = "Sanders, Speck, Traeff 2009; " THAKUR,
     .applies = tree_applies,
     .runs = tree_runs},
    {.id = LS_ALGORITHM_HIERARCHICAL,
     .name = "hierarchical",
     .summary =
         "reduce-scatter inside nodes, all-reduce across them rail by rail, all-gather inside",
     .formula = "2 (m-1) a1 + 2 (m-1)/m N b1 + 2 (q-1) a2 + 2 (q-1)/q N/m b2",
     .source = THAKUR ", applied per level",
     .applies = hierarchical_applies,
     .runs = hierarchical_runs},
    {.id = LS_ALGORITHM_PAIRWISE,
     .name = "pairwise",
     .summary = "all-to-all: every member to every other at once, as a group of sends and receives",
     .formula = "(n-1) alpha + (n-1)/n N beta",
     .source = THAKUR,
     .applies = pairwise_applies,
     .runs = pairwise_runs},
    {.id = LS_ALGORITHM_NVLS,
     .name = "nvls",
     .summary = "all-reduce in the switches of a node (NVLink SHARP), trees over nodes",
     .formula = "alpha + (1 + 1/m) N beta",
     .source = "NVIDIA NVLink SHARP: each buffer goes up once and comes down once, and each member "
               "moves the m-th part twice",
     .applies = nvls_applies,
     .runs = nvls_runs},
};

guint ls_algorithm_count (void) {
  return G_N_ELEMENTS (records);
}

const LsAlgorithmRecord *ls_algorithm_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (records), "algorithm %u", i);
  return &records[i];
}

const LsAlgorithmRecord *ls_algorithm_find (LsAlgorithm id) {
  for (guint i = 0; i < G_N_ELEMENTS (records); i++)
    if (records[i].id == id)
      return &records[i];
  return NULL;
}
