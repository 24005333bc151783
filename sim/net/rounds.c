/* Laying the patterns of rounds.h over a cluster. */
#include "net/rounds.h"

#include <math.h>

#include "base/assert.h"

const char *ls_pattern_summary (LsPattern pattern) {
#define SUMMARY_OF(id, summary) summary,
  static const char *const summaries[] = {LS_PATTERNS (SUMMARY_OF)};
#undef SUMMARY_OF
  LS_REQUIRE (pattern < LS_N_PATTERNS, "pattern %d", (int) pattern);
  return summaries[pattern];
}

guint ls_log2_ceil (guint n) {
  guint bits = 0;
  while ((1u << bits) < n)
    bits++;
  return bits;
}

/* --- two trees over nodes --------------------------------------------------------------------- */

/* Parent in an in-order binary tree over 0 .. n - 1 with root 0: odd numbers are leaves. */
static guint tree_parent (guint r, guint n) {
  if (r == 0)
    return 0;
  guint bit = r & (~r + 1);
  guint parent = (r ^ bit) | (bit << 1);
  return parent < n ? parent : r ^ bit;
}

/* Two binary trees such that a node inside one is a leaf of the other: the second is the first with
 * mirrored numbers (even n) or shifted ones (odd n).
 * source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", Parallel Computing 35 (2009). */
guint ls_double_tree_parent (guint tree, guint r, guint n) {
  if (tree == 0)
    return tree_parent (r, n);
  if (n % 2 == 0)
    return n - 1 - tree_parent (n - 1 - r, n);
  return (tree_parent ((r + n - 1) % n, n) + 1) % n;
}

/* --- inside a node ---------------------------------------------------------------------------- */

/* All links of a mesh used evenly: the decomposition into rings that fills them. */
static void spread_over_mesh (const LsGroupShape *shape, LsUsages *usages, guint i, guint member,
                              gboolean reversed, double amount) {
  const LsTopology *topology = shape->topology;
  const LsNodeSpec *node = ls_group_spec (shape, i);
  guint n = ls_group_members (shape, i), total = 0;
  const guint *gpus = shape->gpus + shape->first[i];
  for (guint pass = 0; pass < 2; pass++)
    for (guint other = 0; other < n; other++) {
      guint a = topology->gpu_local[gpus[member]], b = topology->gpu_local[gpus[other]];
      int links = ls_node_links_between (node->joint, (int) node->gpus, (int) node->links, (int) a,
                                         (int) b);
      if (pass == 0)
        total += (guint) links;
      else if (links > 0)
        ls_usages_add (usages,
                       reversed ? topology->mesh[gpus[other]][a] : topology->mesh[gpus[member]][b],
                       amount * links / total);
    }
}

/* How the ends of a chain of members hang together. */
typedef struct {
  gboolean first_receives, last_sends; /* from and to another node, or each other */
  gboolean wraps;                      /* the last sends to the first */
  gboolean reversed;
} Ends;

/* Members of node i pass `amount` on to their next. */
static void ring_in_node (const LsGroupShape *shape, LsUsages *usages, guint i, double amount,
                          Ends ends) {
  const LsTopology *topology = shape->topology;
  guint n = ls_group_members (shape, i);
  const guint *gpus = shape->gpus + shape->first[i];
  if (n < 2)
    return;
  gboolean joined = ls_group_joined (shape, i);
  for (guint k = 0; k < n; k++) {
    gboolean sends = k + 1 < n || ends.last_sends, receives = k > 0 || ends.first_receives;
    gboolean reversed = ends.reversed;
    if (topology->link_up[gpus[k]] != LS_NO_NUMBER) {
      guint out = reversed ? topology->link_down[gpus[k]] : topology->link_up[gpus[k]];
      guint in = reversed ? topology->link_up[gpus[k]] : topology->link_down[gpus[k]];
      ls_usages_add (usages, out, sends ? amount : 0);
      ls_usages_add (usages, in, receives ? amount : 0);
    } else if (joined) {
      if (sends)
        spread_over_mesh (shape, usages, i, k, reversed, amount);
    } else if (k + 1 < n || ends.wraps) {
      guint next = gpus[(k + 1) % n];
      ls_route_inside (topology, usages, reversed ? next : gpus[k], reversed ? gpus[k] : next,
                       amount);
    }
  }
}

/* --- between nodes ---------------------------------------------------------------------------- */

/* From the members of node i to those of node j, over all adapters they own. */
static void node_to_node (const LsGroupShape *shape, LsUsages *usages, guint i, guint j,
                          double amount) {
  const LsTopology *topology = shape->topology;
  ls_route_nics (topology, usages, ls_group_node (shape, i), shape->nics[i], shape->n_nics[i],
                 ls_group_node (shape, j), shape->nics[j], shape->n_nics[j], amount);
  for (guint k = shape->first[i]; k < shape->first[i + 1]; k++)
    ls_usages_add (usages, topology->pcie_up[shape->gpus[k]], amount / ls_group_members (shape, i));
  for (guint k = shape->first[j]; k < shape->first[j + 1]; k++)
    ls_usages_add (usages, topology->pcie_down[shape->gpus[k]],
                   amount / ls_group_members (shape, j));
}

static void ring (const LsGroupShape *shape, LsUsages *usages, gboolean closed, gboolean reversed) {
  guint q = shape->n_nodes;
  for (guint i = 0; i < q; i++) {
    gboolean passes = closed || (i > 0 && i + 1 < q);
    Ends ends = {.first_receives = passes,
                 .last_sends = passes,
                 .wraps = closed && q == 1,
                 .reversed = reversed};
    ring_in_node (shape, usages, i, 1, ends);
    if (q == 1 || (!closed && i + 1 == q))
      continue;
    guint next = (i + 1) % q;
    node_to_node (shape, usages, reversed ? next : i, reversed ? i : next, 1);
  }
  usages->sent = usages->received = closed ? shape->n : shape->n - 1;
}

static void trees_over_nodes (const LsGroupShape *shape, LsUsages *usages) {
  guint q = shape->n_nodes;
  for (guint tree = 0; tree < 2; tree++)
    for (guint r = 0; r < q; r++) {
      guint parent = ls_double_tree_parent (tree, r, q);
      if (parent == r)
        continue;
      node_to_node (shape, usages, r, parent, 0.5);
      node_to_node (shape, usages, parent, r, 0.5);
    }
}

/* Chains are laid in turns so that each member is an end equally often: 2 (m - 1) / m per link. */
static void double_tree (const LsGroupShape *shape, LsUsages *usages) {
  for (guint i = 0; i < shape->n_nodes; i++) {
    double m = ls_group_members (shape, i);
    if (m < 2)
      continue;
    if (ls_group_joined (shape, i))
      ring_in_node (shape, usages, i, 2 * (m - 1) / m,
                    (Ends){.first_receives = TRUE, .last_sends = TRUE});
    else {
      ring_in_node (shape, usages, i, 1, (Ends){.reversed = FALSE});
      ring_in_node (shape, usages, i, 1, (Ends){.reversed = TRUE});
    }
  }
  trees_over_nodes (shape, usages);
  usages->sent = usages->received = 2 * (shape->n - 1.0);
}

/* Every member's buffer goes up once and its m-th part is written back once; the same down. */
static void in_network (const LsGroupShape *shape, LsUsages *usages) {
  const LsTopology *topology = shape->topology;
  double sent = 0;
  for (guint i = 0; i < shape->n_nodes; i++) {
    double m = ls_group_members (shape, i);
    for (guint k = shape->first[i]; k < shape->first[i + 1]; k++) {
      ls_usages_add (usages, topology->link_up[shape->gpus[k]], 1 + 1 / m);
      ls_usages_add (usages, topology->link_down[shape->gpus[k]], 1 + 1 / m);
    }
    sent += m + 1;
  }
  trees_over_nodes (shape, usages);
  usages->sent = usages->received = sent + 2.0 * (shape->n_nodes - 1);
}

/* --- single messages -------------------------------------------------------------------------- */

static void message (const LsGroupShape *shape, LsUsages *usages, guint a, guint b, LsHop *worst,
                     gboolean memory) {
  LsHop hop = ls_route_gpus (shape->topology, usages, shape->gpus[a], shape->gpus[b], 1);
  *worst = MAX (*worst, hop);
  if (memory) {
    ls_usages_add (usages, shape->topology->hbm[shape->gpus[a]], 1);
    ls_usages_add (usages, shape->topology->hbm[shape->gpus[b]], 1);
  }
}

static LsHop messages (const LsGroupShape *shape, LsUsages *usages, const LsRun *run) {
  LsHop worst = LS_HOP_NONE;
  guint n = shape->n;
  if (run->pattern == LS_PATTERN_PAIRS) {
    for (guint a = 0; a < n; a++)
      for (guint b = 0; b < n; b++)
        if (a != b)
          message (shape, usages, a, b, &worst, FALSE);
    for (guint a = 0; a < n; a++)
      ls_usages_add (usages, shape->topology->hbm[shape->gpus[a]], 2.0 * (n - 1));
  } else if (run->pattern == LS_PATTERN_BINOMIAL) {
    for (guint a = 0; a + run->stride < n; a += 2 * run->stride) {
      guint b = a + run->stride;
      message (shape, usages, run->reversed ? b : a, run->reversed ? a : b, &worst, TRUE);
    }
  } else {
    for (guint i = 0; i < shape->n_nodes; i++) {
      guint next = (i + 1) % shape->n_nodes;
      for (guint k = 0; k < ls_group_members (shape, i); k++)
        message (shape, usages, shape->first[i] + k, shape->first[next] + k, &worst, FALSE);
    }
  }
  return worst;
}

/* --- the load of a run ------------------------------------------------------------------------ */

static void count_rounds (const LsGroupShape *shape, const LsRun *run, LsHop worst,
                          LsRunLoad *load) {
  guint q = shape->n_nodes, depth = 2 * ls_log2_ceil (q);
  switch (run->pattern) {
  case LS_PATTERN_RING:
  case LS_PATTERN_CHAIN: /* of n - 1 hops from first to last member, q - 1 lie between nodes */
    load->across_rounds = shape->n > 1 ? run->rounds * (q - 1) / (shape->n - 1) : 0;
    load->inside_rounds = run->rounds - load->across_rounds;
    break;
  case LS_PATTERN_RING_INSIDE:
    load->inside_rounds = run->rounds;
    break;
  case LS_PATTERN_RING_ACROSS:
    load->across_rounds = run->rounds;
    break;
  case LS_PATTERN_PAIRS:
    load->inside_rounds = shape->most - 1;
    load->across_rounds = run->rounds - load->inside_rounds;
    break;
  case LS_PATTERN_DOUBLE_TREE:
    load->inside_rounds = 2 * (shape->most - 1);
    load->across_rounds = depth;
    break;
  case LS_PATTERN_IN_NETWORK:
    load->inside_rounds = 1;
    load->across_rounds = depth;
    break;
  default:
    load->inside_rounds = worst == LS_HOP_NET ? 0 : run->rounds;
    load->across_rounds = run->rounds - load->inside_rounds;
  }
}

void ls_run_load_take (const LsTopology *topology, LsUsages *usages, LsRunLoad *load) {
  double received;
  load->amounts = ls_usages_take (usages, &load->n_amounts, &load->sent, &received);
  LS_REQUIRE (fabs (load->sent - received) <= 1e-9 * load->sent, "sent %g, received %g", load->sent,
              received);
  load->rate = load->link_rate = INFINITY;
  for (guint i = 0; i < load->n_amounts; i++) {
    const LsNetResource *resource = ls_topology_resource (topology, load->amounts[i].resource);
    gboolean memory =
        resource->kind == LS_RESOURCE_HBM || resource->kind == LS_RESOURCE_HOST_MEMORY;
    double rate = (memory ? 0.5 : 1) * resource->per_s / load->amounts[i].amount;
    load->rate = MIN (load->rate, rate);
    if (resource->kind == LS_RESOURCE_LINK ||
        (load->inside_hop == LS_HOP_PCIE && resource->kind == LS_RESOURCE_PCIE))
      load->link_rate = MIN (load->link_rate, rate);
  }
}

void ls_run_load (const LsGroupShape *shape, const LsRun *run, LsUsages *usages, LsRunLoad *load) {
  LsHop worst = LS_HOP_NONE;
  *load = (LsRunLoad){.run = *run};
  switch (run->pattern) {
  case LS_PATTERN_RING:
    ring (shape, usages, TRUE, run->reversed);
    break;
  case LS_PATTERN_CHAIN:
    ring (shape, usages, FALSE, run->reversed);
    break;
  case LS_PATTERN_RING_INSIDE:
    for (guint i = 0; i < shape->n_nodes; i++)
      ring_in_node (shape, usages, i, 1,
                    (Ends){.first_receives = TRUE, .last_sends = TRUE, .wraps = TRUE});
    usages->sent = usages->received = shape->n;
    break;
  case LS_PATTERN_DOUBLE_TREE:
    double_tree (shape, usages);
    break;
  case LS_PATTERN_IN_NETWORK:
    in_network (shape, usages);
    break;
  default:
    worst = messages (shape, usages, run);
  }
  for (guint k = 0; k < shape->n && run->memory > 0; k++)
    ls_usages_add (usages, shape->topology->hbm[shape->gpus[k]], run->memory);
  load->inside_hop = shape->inside ? LS_HOP_LINK : LS_HOP_PCIE;
  count_rounds (shape, run, worst, load);
  ls_run_load_take (shape->topology, usages, load);
  load->sent /= shape->n;
}
