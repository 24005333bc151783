/* The registry of algorithms, and what follows from what. Notation: n members, q nodes, m = n / q
 * members of a node, N bytes of the descriptor, p = 2^floor (lg n). */
#include "net/algorithm.h"

#include "base/assert.h"
#include "net/algorithms.h"

#define THAKUR "Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005)"
#define BIT(op) LS_OP_BIT (LS_COLLECTIVE_##op)
#define AR BIT (ALL_REDUCE)
#define RS BIT (REDUCE_SCATTER)
#define AG BIT (ALL_GATHER)
#define ROOTED (BIT (BROADCAST) | BIT (REDUCE))
#define A2A (BIT (ALL_TO_ALL) | BIT (ALL_TO_ALLV))
#define GS (BIT (GATHER) | BIT (SCATTER))

static const LsAlgorithmRecord records[] = {
    {.id = LS_ALGORITHM_RING,
     .name = "ring",
     .summary = "each member passes blocks to its next, over all channels; broadcast: a chain",
     .formula = "all-reduce 2 (n-1) a + 2 (n-1)/n N b; broadcast (n-1) a + N b",
     .source = THAKUR,
     .ops = AR | RS | AG | ROOTED,
     .offered = AR | RS | AG | ROOTED,
     .offered_flat = AR | RS | AG | ROOTED,
     .write = ls_write_ring,
     .closed_form = ls_closed_ring},
    {.id = LS_ALGORITHM_BIDIRECTIONAL,
     .name = "bidirectional",
     .summary = "a ring both ways at once: half the rounds, both directions of every link",
     .formula = "all-reduce 2 floor(n/2) a + 2 (n-1)/n N b (half of that b where links to the two "
                "neighbours are apart)",
     .source = "Google, How to Scale Your Model (TPU rings)",
     .ops = AR | RS | AG,
     .parts = ls_parts_bidirectional,
     .write = ls_write_bidirectional,
     .closed_form = ls_closed_bidirectional},
    {.id = LS_ALGORITHM_TREE,
     .name = "tree",
     .summary = "two complementary binary trees over nodes, chains inside, pipelined",
     .formula = "all-reduce 2 (ceil(lg q) + m-1) a + 2 N b",
     .source = "Sanders, Speck, Traeff, Parallel Computing 35 (2009)",
     .ops = AR | ROOTED,
     .offered = AR,
     .offered_flat = AR | ROOTED,
     .tree = TRUE,
     .parts = ls_parts_double_tree,
     .write = ls_write_double_tree},
    {.id = LS_ALGORITHM_BINOMIAL,
     .name = "binomial",
     .summary = "a binomial tree from the root, whole messages",
     .formula = "broadcast ceil(lg n) (a + N b); scatter ceil(lg n) a + (n-1)/n N b",
     .source = THAKUR,
     .ops = AR | ROOTED | GS | BIT (BARRIER),
     .offered_flat = ROOTED,
     .parts = ls_parts_binomial,
     .write = ls_write_binomial,
     .closed_form = ls_closed_binomial},
    {.id = LS_ALGORITHM_HALVING,
     .name = "halving",
     .summary = "recursive halving and doubling (Rabenseifner), van de Geijn's broadcast",
     .formula = "all-reduce 2 lg p a + 2 (p-1)/p N b, no power of two: + 2 (a + N b)",
     .source = THAKUR,
     .ops = AR | RS | AG | ROOTED,
     .parts = ls_parts_halving,
     .write = ls_write_halving,
     .closed_form = ls_closed_halving},
    {.id = LS_ALGORITHM_DOUBLING,
     .name = "doubling",
     .summary = "recursive doubling of whole buffers: fewest rounds",
     .formula = "all-reduce lg p (a + N b), no power of two: + 2 (a + N b)",
     .source = THAKUR,
     .ops = AR | BIT (BARRIER),
     .parts = ls_parts_doubling,
     .write = ls_write_doubling,
     .closed_form = ls_closed_doubling},
    {.id = LS_ALGORITHM_BRUCK,
     .name = "bruck",
     .summary = "doubling distances, any number of members; barrier: dissemination",
     .formula = "all-gather ceil(lg n) a + (n-1)/n N b; all-to-all lg n (a + N/2 b)",
     .source = "Bruck et al., IEEE TPDS 8 (1997)",
     .ops = AR | RS | AG | BIT (ALL_TO_ALL) | BIT (BARRIER),
     .offered = BIT (BARRIER),
     .offered_flat = BIT (BARRIER),
     .parts = ls_parts_exchange,
     .write = ls_write_bruck,
     .closed_form = ls_closed_bruck},
    {.id = LS_ALGORITHM_DIRECT,
     .name = "direct",
     .summary = "every message straight to its receiver, all in flight: NCCL's grouped sends and "
                "receives",
     .formula = "all-to-all a + (n-1)/n N b; NCCL: ceil((n-1)/8) a",
     .source = "NCCL @5067397 src/enqueue.cc",
     .ops = AR | RS | AG | ROOTED | A2A | GS | BIT (SEND_RECV) | BIT (BARRIER),
     .offered = A2A | GS | BIT (SEND_RECV),
     .offered_flat = A2A | GS | BIT (SEND_RECV),
     .parts = ls_parts_exchange,
     .write = ls_write_direct,
     .closed_form = ls_closed_direct},
    {.id = LS_ALGORITHM_PAIRWISE,
     .name = "pairwise",
     .summary = "round r: to the member r further, from the one r before",
     .formula = "all-to-all (n-1) a + (n-1)/n N b",
     .source = THAKUR,
     .ops = AR | RS | AG | A2A,
     .parts = ls_parts_exchange,
     .write = ls_write_pairwise,
     .closed_form = ls_closed_pairwise},
    {.id = LS_ALGORITHM_HIERARCHICAL,
     .name = "hierarchical",
     .summary = "inside nodes, then rail by rail between them",
     .formula = "all-reduce 2 (m-1) a1 + 2 (m-1)/m N b1 + 2 (q-1) a2 + 2 (q-1)/q N/m b2",
     .source = THAKUR ", applied per level",
     .ops = AR | RS | AG | ROOTED | BIT (ALL_TO_ALL),
     .offered_flat = AR | RS | AG,
     .fits = ls_fits_hierarchical,
     .parts = ls_parts_hierarchical,
     .write = ls_write_hierarchical},
    {.id = LS_ALGORITHM_NVLS,
     .name = "nvls",
     .summary = "the switches of a node reduce and copy (NVLink SHARP), trees over nodes",
     .formula = "all-reduce a + (1 + 1/m) N b",
     .source = "NVIDIA NVLink SHARP: each buffer goes up once and comes down once, and each member "
               "moves the m-th part twice",
     .ops = AR | RS | AG | ROOTED,
     .offered = AR,
     .offered_flat = AR,
     .tree = TRUE,
     .in_network = TRUE,
     .fits = ls_fits_nvls,
     .parts = ls_parts_nvls,
     .write = ls_write_nvls},
    {.id = LS_ALGORITHM_SHARP,
     .name = "sharp",
     .summary = "the switches of the fabric reduce and copy (SHARP, NCCL's CollNet)",
     .formula = "all-reduce a + N b per node, whatever their number",
     .source = "Graham et al., COMHPC (2016)",
     .ops = AR,
     .offered = AR,
     .offered_flat = AR,
     .tree = TRUE,
     .in_network = TRUE,
     .fits = ls_fits_sharp,
     .parts = ls_parts_nvls,
     .write = ls_write_sharp},
    {.id = LS_ALGORITHM_TORUS,
     .name = "torus",
     .summary = "bidirectional rings along all dimensions of a torus at once",
     .formula = "all-gather sum floor(X_i/2) a + (n-1)/n N/(2 d) b, d rings of X_i devices",
     .source = "Google, How to Scale Your Model; Sack, Gropp, ACM TOPC 1 (2015)",
     .ops = AR | RS | AG | BIT (ALL_TO_ALL),
     .offered = AR | RS | AG,
     .offered_flat = AR | RS | AG,
     .fits = ls_fits_torus,
     .parts = ls_parts_torus,
     .write = ls_write_torus},
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

gboolean ls_algorithm_applies (const LsAlgorithmRecord *algorithm, const LsGroupShape *shape,
                               LsCollectiveOp op) {
  return (algorithm->ops & LS_OP_BIT (op)) != 0 &&
         (algorithm->fits == NULL || algorithm->fits (shape, op));
}

/* The operation that `op` is backwards. */
static gboolean forwards (LsCollectiveOp op, LsCollectiveOp *other) {
  switch (op) {
  case LS_COLLECTIVE_REDUCE_SCATTER:
    *other = LS_COLLECTIVE_ALL_GATHER;
    return TRUE;
  case LS_COLLECTIVE_REDUCE:
    *other = LS_COLLECTIVE_BROADCAST;
    return TRUE;
  case LS_COLLECTIVE_GATHER:
    *other = LS_COLLECTIVE_SCATTER;
    return TRUE;
  default:
    return FALSE;
  }
}

static guint parts_of (const LsAlgorithmRecord *algorithm, const LsGroupShape *shape,
                       LsCollectiveOp op) {
  return algorithm->parts != NULL ? algorithm->parts (shape, op) : shape->n;
}

LsSchedule *ls_algorithm_schedule (const LsAlgorithmRecord *algorithm, const LsGroupShape *shape,
                                   LsCollectiveOp op, const gint64 *bounds) {
  LsCollectiveOp other = LS_COLLECTIVE_BROADCAST;
  LS_REQUIRE (shape->n > 1 && ls_algorithm_applies (algorithm, shape, op), "%s of %s on %u members",
              ls_collective_op_name (op), algorithm->name, shape->n);
  LsSchedule *schedule = ls_schedule_new (parts_of (algorithm, shape, op));
  schedule->bounds = bounds;
  if (algorithm->write (shape, op, schedule))
    return schedule;
  gboolean twice = op == LS_COLLECTIVE_ALL_REDUCE;
  if (twice && (algorithm->ops & AG) != 0)
    other = LS_COLLECTIVE_ALL_GATHER;
  else if (!twice)
    LS_REQUIRE (forwards (op, &other), "%s writes no %s", algorithm->name,
                ls_collective_op_name (op));
  g_autoptr (LsSchedule) base = ls_schedule_new (parts_of (algorithm, shape, other));
  LS_REQUIRE (algorithm->write (shape, other, base), "%s writes no %s", algorithm->name,
              ls_collective_op_name (other));
  ls_schedule_append (schedule, base, TRUE);
  guint before = schedule->segments->len;
  if (twice) { /* in the kernel of what came before */
    ls_schedule_append (schedule, base, FALSE);
    ls_schedule_segment_at (schedule, before)->launches = FALSE;
  }
  return schedule;
}

char *ls_algorithm_ops (const LsAlgorithmRecord *algorithm) {
  GString *text = g_string_new (NULL);
  for (guint op = 0; op < LS_N_COLLECTIVE_OPS; op++)
    if ((algorithm->ops & LS_OP_BIT (op)) != 0)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "",
                              ls_collective_op_name ((LsCollectiveOp) op));
  return g_string_free (text, FALSE);
}
