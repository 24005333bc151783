/* Laying moves over a cluster; see ways.h. */
#include "net/ways.h"

#include "base/assert.h"

double ls_way_memory (LsWay way, LsCollectiveOp op, double sent) {
  if (way != LS_WAY_CHANNELS || sent <= 0)
    return 1;
  return MIN (1, (op == LS_COLLECTIVE_ALL_REDUCE ? 2 : 1) / (2 * sent));
}

static guint node_of_member (const LsGroupShape *shape, guint member) {
  guint low = 0, high = shape->n_nodes - 1;
  while (low < high) {
    guint middle = (low + high + 1) / 2;
    if (shape->first[middle] <= member)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* --- neighbours over all channels ------------------------------------------------------------- */

/* All links of a mesh used evenly: the decomposition into rings that fills them. */
static void spread_over_mesh (const LsGroupShape *shape, LsUsages *usages, guint i, guint gpu,
                              double amount) {
  const LsTopology *topology = shape->topology;
  const LsNodeSpec *node = ls_group_spec (shape, i);
  guint n = ls_group_members (shape, i), total = 0;
  const guint *gpus = shape->gpus + shape->first[i];
  for (guint pass = 0; pass < 2; pass++)
    for (guint other = 0; other < n; other++) {
      guint a = topology->gpu_local[gpu], b = topology->gpu_local[gpus[other]];
      int links = ls_node_links_between (node->joint, (int) node->gpus, (int) node->links, (int) a,
                                         (int) b);
      if (pass == 0)
        total += (guint) links;
      else if (links > 0)
        ls_usages_add (usages, topology->mesh[gpu][b], amount * links / total);
    }
}

/* Channels, two per adapter, are fewer than the adapters of a rack: of more than 16 members 8 lend theirs.
 * source: all-reduce of 144 ranks in two GB200 NVL72 racks, whose slope is that of 8.7 adapters of 400 Gb/s
 * per rack, and of 1440 in twenty, half of it, as rings and inner nodes of trees have over as many. */
#define MANY_MEMBERS 16
#define MEMBERS_OF_MANY 8

static guint members_with_adapters (const LsGroupShape *shape, guint i) {
  guint members = ls_group_members (shape, i);
  return members > MANY_MEMBERS ? MEMBERS_OF_MANY : members;
}

/* From the members of node i to those of node j, over all adapters they own. */
static void node_to_node (const LsGroupShape *shape, LsUsages *usages, guint i, guint j,
                          double amount) {
  const LsTopology *topology = shape->topology;
  guint m = members_with_adapters (shape, i), n = members_with_adapters (shape, j);
  guint from = shape->n_nics[i] * m / ls_group_members (shape, i);
  guint to = shape->n_nics[j] * n / ls_group_members (shape, j);
  ls_route_nics (topology, usages, ls_group_node (shape, i), shape->nics[i], MAX (1, from),
                 ls_group_node (shape, j), shape->nics[j], MAX (1, to), amount);
  for (guint k = shape->first[i]; k < shape->first[i] + m; k++)
    ls_usages_add (usages, topology->pcie_up[shape->gpus[k]], amount / m);
  for (guint k = shape->first[j]; k < shape->first[j] + n; k++)
    ls_usages_add (usages, topology->pcie_down[shape->gpus[k]], amount / n);
  usages->sent += amount;
  usages->received += amount;
}

static LsHop over_channels (const LsGroupShape *shape, LsUsages *usages, guint from, guint to,
                            double amount) {
  const LsTopology *topology = shape->topology;
  guint a = shape->gpus[from], b = shape->gpus[to];
  if (topology->gpu_node[a] != topology->gpu_node[b]) {
    node_to_node (shape, usages, node_of_member (shape, from), node_of_member (shape, to), amount);
    return LS_HOP_NET;
  }
  guint i = node_of_member (shape, from);
  if (topology->link_up[a] != LS_NO_NUMBER || topology->mesh[a] == NULL ||
      !ls_group_joined (shape, i))
    return ls_route_inside (topology, usages, a, b, amount);
  spread_over_mesh (shape, usages, i, a, amount);
  usages->sent += amount;
  usages->received += amount;
  return LS_HOP_LINK;
}

/* --- through the switches of a node ----------------------------------------------------------- */

/* Reduced: all go up and one comes down; copied: one goes up and all come down. */
static LsHop through_switches (const LsGroupShape *shape, LsUsages *usages, gboolean reduced,
                               guint from, guint to, double amount) {
  const LsTopology *topology = shape->topology;
  guint i = node_of_member (shape, from);
  const guint *all = reduced ? topology->link_up : topology->link_down;
  for (guint k = shape->first[i]; k < shape->first[i + 1]; k++) {
    ls_usages_add (usages, all[shape->gpus[k]], amount);
    ls_usages_add (usages, topology->hbm[shape->gpus[k]], amount);
  }
  ls_usages_add (
      usages, reduced ? topology->link_down[shape->gpus[to]] : topology->link_up[shape->gpus[from]],
      amount);
  const double members = ls_group_members (shape, i);
  usages->sent += reduced ? members * amount : amount;
  usages->received += reduced ? amount : members * amount;
  return LS_HOP_LINK;
}

LsHop ls_way_add (const LsGroupShape *shape, LsUsages *usages, LsWay way, guint from, guint to,
                  double amount, double memory) {
  const LsTopology *topology = shape->topology;
  LS_REQUIRE (from < shape->n && to < shape->n && from != to, "a move from %u to %u of %u", from,
              to, shape->n);
  if (way == LS_WAY_CREDIT)
    return LS_HOP_NONE;
  if (way == LS_WAY_REDUCED || way == LS_WAY_COPIED)
    return through_switches (shape, usages, way == LS_WAY_REDUCED, from, to, amount);
  ls_usages_add (usages, topology->hbm[shape->gpus[from]], amount * memory);
  ls_usages_add (usages, topology->hbm[shape->gpus[to]], amount * memory);
  if (way == LS_WAY_CHANNELS)
    return over_channels (shape, usages, from, to, amount);
  return ls_route_gpus (topology, usages, shape->gpus[from], shape->gpus[to], amount);
}
