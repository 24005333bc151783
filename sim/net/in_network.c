/* Collectives in switches that reduce and copy.
 *
 * NVLS: member j of m owns the j-th part: the switches read it from all members and reduce on the way
 * (N up per member in all, N/m down), the owner writes it once and the switches copy it to all (N/m up,
 * N down). Between nodes two binary trees carry what the nodes have reduced. So an all-reduce moves
 * (1 + 1/m) N each way, less than a ring's 2 (m-1)/m N: bus bandwidth as nccl-tests count it then exceeds
 * the link. SHARP: the members of a node reduce among themselves, each sends its part once into the switches
 * of the fabric, which reduce, and gets the result once: N per node each way, whatever their number.
 * source: NVIDIA NVLink SHARP; NCCL's NVLS, NVLSTree and CollNet; Graham et al., COMHPC 2016 (SHARP). */
#include "net/algorithms.h"

gboolean ls_fits_nvls (const LsGroupShape *shape, LsCollectiveOp op) {
  return shape->in_network && shape->n > 2 &&
         (op == LS_COLLECTIVE_ALL_REDUCE || shape->n_nodes == 1);
}

guint ls_parts_nvls (const LsGroupShape *shape, LsCollectiveOp op) {
  if (op == LS_COLLECTIVE_BROADCAST || op == LS_COLLECTIVE_REDUCE)
    return 1;
  return op == LS_COLLECTIVE_ALL_REDUCE ? 2 * shape->most : shape->n;
}

/* Every member's part to all members of its node. */
static void write_copies (const LsGroupShape *shape, LsSchedule *schedule) {
  ls_schedule_round (schedule, LS_WAY_COPIED, 1);
  for (guint i = 0; i < shape->n_nodes; i++) {
    guint m = ls_group_members (shape, i), parts = schedule->parts;
    for (guint k = 0; k < m; k++)
      ls_schedule_move (schedule, shape->first[i] + k, shape->first[i] + (k + 1) % m, parts * k / m,
                        parts * (k + 1) / m - parts * k / m, 0);
  }
}

gboolean ls_write_nvls (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  if (op == LS_COLLECTIVE_ALL_GATHER) {
    ls_schedule_segment (schedule, TRUE);
    write_copies (shape, schedule);
    return TRUE;
  }
  if (op == LS_COLLECTIVE_BROADCAST) {
    ls_schedule_segment (schedule, TRUE);
    ls_schedule_round (schedule, LS_WAY_COPIED, 1);
    ls_schedule_move (schedule, 0, 1, 0, 1, 0);
    return TRUE;
  }
  if (op != LS_COLLECTIVE_ALL_REDUCE)
    return FALSE;
  g_autoptr (LsSchedule) down = ls_schedule_new (schedule->parts);
  ls_schedule_together (down, TRUE);
  ls_write_trees_down (shape, down);
  write_copies (shape, down);
  ls_schedule_append_joined (schedule, down);
  return TRUE;
}

/* --- switches of the fabric ------------------------------------------------------------------- */

gboolean ls_fits_sharp (const LsGroupShape *shape, LsCollectiveOp op) {
  (void) op;
  if (shape->n_nodes < 2)
    return FALSE;
  const LsNicSet *set = ls_node_compute_nics (ls_group_spec (shape, 0));
  return ls_cluster_fabric (shape->topology->cluster, set->fabric)->in_network;
}

/* The part of member k of m to every other member of its node. */
static void write_parts_to_all (const LsGroupShape *shape, LsSchedule *schedule) {
  guint parts = schedule->parts;
  ls_schedule_round (schedule, LS_WAY_PATH, 1);
  for (guint i = 0; i < shape->n_nodes; i++) {
    guint m = ls_group_members (shape, i);
    for (guint k = 0; k < m; k++)
      for (guint r = 1; r < m; r++)
        ls_schedule_move (schedule, shape->first[i] + k, shape->first[i] + (k + r) % m,
                          parts * k / m, parts * (k + 1) / m - parts * k / m, 0);
  }
}

/* One pass through the fabric puts N on the way out and in of every node, as a ring of one round does, and
 * crosses every trunk once: the switches reduce what meets. */
gboolean ls_write_sharp (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  if (op != LS_COLLECTIVE_ALL_REDUCE)
    return FALSE;
  g_autoptr (LsSchedule) copies = ls_schedule_new (schedule->parts);
  ls_schedule_together (copies, TRUE);
  if (shape->in_network)
    write_copies (shape, copies);
  else if (shape->most > 1)
    write_parts_to_all (shape, copies);
  ls_schedule_append (schedule, copies, TRUE);
  ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
  for (guint i = 0; i < shape->n_nodes; i++)
    ls_schedule_move (schedule, shape->first[i], shape->first[(i + 1) % shape->n_nodes], 0,
                      schedule->parts, 0);
  ls_schedule_append_rounds (schedule, copies);
  return TRUE;
}
