/* All pairs at once; see all_pairs.h. */
#include "net/all_pairs.h"

#include "base/assert.h"

/* Members with adapters of the same numbers on the same switches. */
typedef struct {
  GArray *members; /* guint: positions in the shape */
} End;

typedef struct {
  const LsGroupShape *shape;
  LsUsages *usages;
  GArray *ends;    /* End */
  guint *end_of;   /* by member */
  guint *node_of;  /* by member: node of the shape */
  double *pairs;   /* by end: pairs of members on different nodes with the end at hand */
  guint8 *crosses; /* by end: do messages from the end at hand cross the link that is looked at? */
} AllPairs;

/* --- ends ------------------------------------------------------------------------------------- */

static const LsFabricSpec *fabric_of (const LsCluster *cluster, const LsNodeSpec *node) {
  const LsNicSet *set = ls_node_compute_nics (node);
  return set == NULL ? NULL : ls_cluster_fabric (cluster, set->fabric);
}

/* Does its routing look at nothing but switches? */
static gboolean is_even (const LsFabricSpec *fabric) {
  return fabric != NULL && (fabric->kind == LS_FABRIC_SINGLE_SWITCH ||
                            (fabric->kind == LS_FABRIC_FAT_TREE &&
                             fabric->routing == LS_ROUTING_SPRAY && !fabric->rail_only));
}

gboolean ls_all_pairs_apply (const LsGroupShape *shape, LsCollectiveOp op) {
  const LsCluster *cluster = shape->topology->cluster;
  const LsFabricSpec *fabric = fabric_of (cluster, ls_group_spec (shape, 0));

  if (op != LS_COLLECTIVE_ALL_TO_ALL || shape->n < LS_ALL_PAIRS_MIN || shape->n_nodes < 2 ||
      !is_even (fabric))
    return FALSE;
  for (guint i = 0; i < shape->n_nodes; i++)
    if (fabric_of (cluster, ls_group_spec (shape, i)) != fabric)
      return FALSE;
  return TRUE;
}

static gboolean is_pairwise (LsCollectiveOp op, LsAlgorithm algorithm) {
  if (algorithm == LS_ALGORITHM_AUTO)
    return op == LS_COLLECTIVE_ALL_TO_ALL || op == LS_COLLECTIVE_ALL_TO_ALLV;
  return (algorithm == LS_ALGORITHM_DIRECT || algorithm == LS_ALGORITHM_PAIRWISE) &&
         op <= LS_COLLECTIVE_BARRIER && op != LS_COLLECTIVE_SEND_RECV &&
         op != LS_COLLECTIVE_BROADCAST && op != LS_COLLECTIVE_REDUCE &&
         op != LS_COLLECTIVE_SCATTER && op != LS_COLLECTIVE_GATHER;
}

guint ls_pairs_most (const LsCluster *cluster, LsCollectiveOp op, LsAlgorithm algorithm,
                     gboolean messages) {
  const LsFabricSpec *fabric = fabric_of (cluster, &ls_cluster_group (cluster, 0)->node);
  gboolean at_once = op == LS_COLLECTIVE_ALL_TO_ALL && algorithm != LS_ALGORITHM_PAIRWISE &&
                     !messages && is_even (fabric) && !fabric->messages;

  if (!is_pairwise (op, algorithm))
    return G_MAXUINT;
  for (guint g = 0; g < ls_cluster_n_groups (cluster) && at_once; g++)
    at_once = fabric_of (cluster, &ls_cluster_group (cluster, g)->node) == fabric;
  return at_once ? G_MAXUINT : LS_PAIRS_MOST;
}

/* One adapter faces whatever the other side has, so only its switch counts; of several the numbers too (route.c). */
static GBytes *end_key (const LsTopology *topology, guint gpu) {
  const LsLiveNics live = ls_route_live_nics (topology, gpu);
  g_autoptr (GArray) key = g_array_new (FALSE, FALSE, sizeof (guint));
  guint node = topology->gpu_node[gpu];
  const LsNodeSpec *spec = ls_cluster_node (topology->cluster, node);
  guint set = (guint) (ls_node_compute_nics (spec) - spec->nic_sets);

  for (guint i = 0; i < live.n; i++) {
    guint nic = live.nics[i];
    guint at = ls_route_switch_of (topology, (LsAdapter){node, set, nic});

    g_array_append_val (key, at);
    if (live.n > 1)
      g_array_append_val (key, nic);
  }
  return g_bytes_new (key->data, key->len * sizeof (guint));
}

static void find_ends (AllPairs *a) {
  const LsGroupShape *shape = a->shape;
  g_autoptr (GHashTable) known =
      g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, NULL);

  for (guint i = 0; i < shape->n_nodes; i++)
    for (guint m = shape->first[i]; m < shape->first[i + 1]; m++) {
      GBytes *key = end_key (shape->topology, shape->gpus[m]);
      guint end = GPOINTER_TO_UINT (g_hash_table_lookup (known, key)); /* counted from 1 */

      a->node_of[m] = i;
      if (end == 0) {
        End made = {g_array_new (FALSE, FALSE, sizeof (guint))};
        g_array_append_val (a->ends, made);
        end = a->ends->len;
      }
      g_hash_table_replace (known, key, GUINT_TO_POINTER (end));
      g_array_append_val (g_array_index (a->ends, End, end - 1).members, m);
      a->end_of[m] = end - 1;
    }
}

static const GArray *members_of (const AllPairs *a, guint end) {
  return g_array_index (a->ends, End, end).members;
}

static guint member_at (const AllPairs *a, guint end, guint i) {
  return g_array_index (members_of (a, end), guint, i);
}

/* Members on other nodes than member m's. */
static guint others (const AllPairs *a, guint m) {
  return a->shape->n - ls_group_members (a->shape, a->node_of[m]);
}

/* --- laying all ------------------------------------------------------------------------------- */

static void lay_inside (AllPairs *a, guint m) {
  const LsGroupShape *shape = a->shape;
  guint node = a->node_of[m];

  for (guint k = shape->first[node]; k < shape->first[node + 1]; k++)
    if (k != m)
      ls_route_inside (shape->topology, a->usages, shape->gpus[m], shape->gpus[k], 1);
}

static void lay_member (AllPairs *a, guint m) {
  const LsTopology *topology = a->shape->topology;
  guint gpu = a->shape->gpus[m];
  double outside = others (a, m);

  ls_usages_add (a->usages, topology->hbm[gpu], 2.0 * (a->shape->n - 1));
  lay_inside (a, m);
  ls_route_end (topology, a->usages, gpu, TRUE, outside);
  ls_route_end (topology, a->usages, gpu, FALSE, outside);
}

/* Pairs of members on different nodes, from `end` to every end. */
static void count_pairs (AllPairs *a, guint end) {
  const LsGroupShape *shape = a->shape;
  const GArray *senders = members_of (a, end);

  for (guint to = 0; to < a->ends->len; to++)
    a->pairs[to] = (double) senders->len * members_of (a, to)->len;
  for (guint i = 0; i < senders->len; i++) {
    guint node = a->node_of[g_array_index (senders, guint, i)];

    for (guint k = shape->first[node]; k < shape->first[node + 1]; k++)
      a->pairs[a->end_of[k]] -= 1;
  }
}

static void lay_between (AllPairs *a, guint from, guint to, double amount) {
  const LsGroupShape *shape = a->shape;

  ls_route_between_ends (shape->topology, a->usages, shape->gpus[member_at (a, from, 0)],
                         shape->gpus[member_at (a, to, 0)], amount);
}

static void lay_all (AllPairs *a) {
  for (guint m = 0; m < a->shape->n; m++)
    lay_member (a, m);
  for (guint from = 0; from < a->ends->len; from++) {
    count_pairs (a, from);
    for (guint to = 0; to < a->ends->len; to++)
      if (a->pairs[to] > 0)
        lay_between (a, from, to, a->pairs[to]);
  }
}

/* --- what one sender has of the link that is filled first --------------------------------------- */

static void drop (AllPairs *a) {
  guint n;
  double sent, received;

  g_free (ls_usages_take (a->usages, &n, &sent, &received));
}

/* Has what was laid since `before` used the link? */
static gboolean uses (const AllPairs *a, guint link, double before) {
  return a->usages->amount[link] > before;
}

static gboolean end_uses (AllPairs *a, guint m, gboolean out, guint link) {
  double before = a->usages->amount[link];

  ls_route_end (a->shape->topology, a->usages, a->shape->gpus[m], out, 1);
  return uses (a, link, before);
}

static guint inside_uses (AllPairs *a, guint m, guint link) {
  const LsGroupShape *shape = a->shape;
  guint node = a->node_of[m], n = 0;

  for (guint k = shape->first[node]; k < shape->first[node + 1]; k++) {
    double before = a->usages->amount[link];

    if (k != m)
      ls_route_inside (shape->topology, a->usages, shape->gpus[m], shape->gpus[k], 1);
    n += uses (a, link, before) ? 1 : 0;
  }
  return n;
}

/* Members whose way in uses the link; they are of one node of the shape, as the link then is. */
static guint receivers (AllPairs *a, guint link, guint *node) {
  guint n = 0;

  for (guint m = 0; m < a->shape->n; m++)
    if (end_uses (a, m, FALSE, link)) {
      LS_REQUIRE (n == 0 || *node == a->node_of[m], "a way in of nodes %u and %u", *node,
                  a->node_of[m]);
      *node = a->node_of[m];
      n++;
    }
  return n;
}

/* Members to whom a sender of `end` crosses the link between switches, their nodes not looked at. */
static double mark_crossed (AllPairs *a, guint end, guint link) {
  double crossed = 0;

  for (guint to = 0; to < a->ends->len; to++) {
    double before = a->usages->amount[link];

    lay_between (a, end, to, 1);
    a->crosses[to] = uses (a, link, before) ? 1 : 0;
    crossed += a->crosses[to] ? members_of (a, to)->len : 0;
  }
  return crossed;
}

/* The most messages that one sender has on the link. */
static double most_of_sender (AllPairs *a, guint link) {
  const LsGroupShape *shape = a->shape;
  guint node_in = G_MAXUINT, n_in = receivers (a, link, &node_in);
  double most = 0;

  for (guint end = 0; end < a->ends->len; end++) {
    double crossed = mark_crossed (a, end, link);

    for (guint i = 0; i < members_of (a, end)->len; i++) {
      guint m = member_at (a, end, i), node = a->node_of[m];
      double n = crossed + (node != node_in ? n_in : 0);

      for (guint k = shape->first[node]; k < shape->first[node + 1]; k++)
        n -= a->crosses[a->end_of[k]];
      if (end_uses (a, m, TRUE, link))
        n = others (a, m);
      most = MAX (most, n + inside_uses (a, m, link));
    }
  }
  return most;
}

/* --- the phase -------------------------------------------------------------------------------- */

static void end_clear (gpointer data) {
  g_array_unref (((End *) data)->members);
}

/* As the round table's: every round of a window of peers crosses nodes. */
static void add_latencies (LsPhaseLoad *phase, const LsGroupShape *shape, guint window) {
  phase->n_latencies = 1;
  phase->latencies = g_new0 (LsPhaseLatency, 1);
  phase->latencies[0] = (LsPhaseLatency){
      .hop = LS_HOP_NET, .count = (shape->n - 2) / window + 1, .chunk = 1.0 / shape->n};
}

static LsPhaseLoad *derive (AllPairs *a, guint window) {
  const LsGroupShape *shape = a->shape;
  LsPhaseLoad *phase = g_new0 (LsPhaseLoad, 1);
  double scale = 1;
  guint link;

  lay_all (a);
  link = ls_phases_bottleneck (shape->topology, a->usages);
  drop (a);
  if (link != LS_NO_NUMBER)
    scale = MAX (1, most_of_sender (a, link));
  drop (a);
  lay_all (a);
  *phase = (LsPhaseLoad){.launches = TRUE,
                         .inside_hop = shape->inside ? LS_HOP_LINK : LS_HOP_PCIE,
                         .flow = scale / shape->n};
  ls_phase_take (shape->topology, a->usages, phase);
  ls_phase_scale (phase, scale, shape->n);
  add_latencies (phase, shape, window);
  return phase;
}

LsPhaseLoad *ls_all_pairs_new (const LsGroupShape *shape, guint window, LsUsages *usages) {
  AllPairs a = {.shape = shape,
                .usages = usages,
                .ends = g_array_new (FALSE, FALSE, sizeof (End)),
                .end_of = g_new0 (guint, shape->n),
                .node_of = g_new0 (guint, shape->n)};
  LsPhaseLoad *phase;

  g_array_set_clear_func (a.ends, end_clear);
  find_ends (&a);
  a.pairs = g_new (double, a.ends->len);
  a.crosses = g_new (guint8, a.ends->len);
  phase = derive (&a, window > 0 ? window : shape->n);
  g_array_unref (a.ends);
  g_free (a.end_of);
  g_free (a.node_of);
  g_free (a.pairs);
  g_free (a.crosses);
  return phase;
}
