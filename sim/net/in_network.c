/* Collectives in switches that reduce and copy.
 *
 * NVLS: member j of m owns the j-th part: the switches read it from all members and reduce on the way
 * (N up per member in all, N/m down), the owner writes it once and the switches copy it to all (N/m up,
 * N down). Between nodes two binary trees carry what the nodes have reduced. So an all-reduce moves
 * (1 + 1/m) N each way, less than a ring's 2 (m-1)/m N: bus bandwidth as nccl-tests count it then exceeds
 * the link. source: NVIDIA NVLink SHARP; NCCL's NVLS and NVLSTree. */
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
