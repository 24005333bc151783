/* Two levels: inside nodes and, rail by rail, across them.
 *
 * Notation: q nodes of m members. All-gather: rings over the k-th members of all nodes, for each k, then
 * a ring inside each node that passes on what came over a rail. All-to-all: first to the member of the
 * own node that is on the rail of the destination, then along the rail. Broadcast: a chain over nodes,
 * then chains inside. Every level is a kernel of its own. source: Thakur, Rabenseifner, Gropp (2005),
 * applied per level; NCCL's PXN for the all-to-all. */
#include "net/algorithms.h"

gboolean ls_fits_hierarchical (const LsGroupShape *shape, LsCollectiveOp op) {
  (void) op;
  return shape->n_nodes > 1 && shape->least > 1 && shape->least == shape->most;
}

guint ls_parts_hierarchical (const LsGroupShape *shape, LsCollectiveOp op) {
  return op == LS_COLLECTIVE_BROADCAST || op == LS_COLLECTIVE_REDUCE ? 1 : shape->n;
}

/* Block of member k of node i: k q + i, so that a rail's blocks lie together. */
static void write_gather (const LsGroupShape *shape, LsSchedule *schedule) {
  guint q = shape->n_nodes, m = shape->most;
  ls_schedule_segment (schedule, TRUE);
  ls_schedule_round (schedule, LS_WAY_PATH, q - 1);
  for (guint i = 0; i < q; i++)
    for (guint k = 0; k < m; k++)
      ls_schedule_move (schedule, shape->first[i] + k, shape->first[(i + 1) % q] + k, k * q + i, 1,
                        -1);
  ls_schedule_segment (schedule, TRUE);
  ls_schedule_round (schedule, LS_WAY_CHANNELS, m - 1);
  for (guint i = 0; i < q; i++)
    for (guint k = 0; k < m; k++)
      ls_schedule_move (schedule, shape->first[i] + k, shape->first[i] + (k + 1) % m, k * q, q,
                        -(gint) q);
}

static void write_all_to_all (const LsGroupShape *shape, LsSchedule *schedule) {
  guint q = shape->n_nodes, m = shape->most, window = ls_exchange_window (shape);
  window = window == 0 ? shape->n : window;
  ls_schedule_together (schedule, FALSE);
  for (guint r = 1; r < m; r++) {
    if ((r - 1) % window == 0)
      ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint i = 0; i < q; i++)
      for (guint k = 0; k < m; k++)
        ls_schedule_move (schedule, shape->first[i] + k, shape->first[i] + (k + r) % m,
                          (k + r) % m * q, q, 0);
  }
  ls_schedule_together (schedule, FALSE);
  for (guint r = 1; r < q; r++) {
    if ((r - 1) % window == 0)
      ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint i = 0; i < q; i++)
      for (guint k = 0; k < m; k++)
        ls_schedule_move (schedule, shape->first[i] + k, shape->first[(i + r) % q] + k,
                          (i + r) % q * m, m, 0);
  }
}

gboolean ls_write_hierarchical (const LsGroupShape *shape, LsCollectiveOp op,
                                LsSchedule *schedule) {
  if (op == LS_COLLECTIVE_ALL_GATHER)
    write_gather (shape, schedule);
  else if (op == LS_COLLECTIVE_ALL_TO_ALL)
    write_all_to_all (shape, schedule);
  else if (op == LS_COLLECTIVE_BROADCAST) {
    ls_schedule_together (schedule, TRUE);
    for (guint i = 0; i + 1 < shape->n_nodes; i++) {
      ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
      ls_schedule_move (schedule, shape->first[i], shape->first[i + 1], 0, 1, 0);
    }
    ls_write_chains (shape, schedule, 1);
  } else
    return FALSE;
  return TRUE;
}
