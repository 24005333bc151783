/* Rings and chains: every member passes on to its neighbour.
 *
 * All-gather: member i begins with its block i and passes on what it has just received, n - 1 times.
 * Broadcast: chunks run down a chain from the root. The bidirectional ring sends both ways, so that a
 * block travels half of the ring: floor (n / 2) rounds, in the last one of an even ring half a block
 * each way. source: Thakur, Rabenseifner, Gropp (2005); both ways: Jain, Sabharwal (2010), TPU rings. */
#include "net/algorithms.h"

gboolean ls_write_ring (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  guint n = shape->n;
  if (op == LS_COLLECTIVE_ALL_GATHER) {
    ls_schedule_segment (schedule, TRUE);
    ls_schedule_round (schedule, LS_WAY_CHANNELS, n - 1);
    for (guint i = 0; i < n; i++)
      ls_schedule_move (schedule, i, (i + 1) % n, i, 1, -1);
    return TRUE;
  }
  if (op != LS_COLLECTIVE_BROADCAST)
    return FALSE;
  ls_schedule_together (schedule, TRUE);
  for (guint i = 0; i + 1 < n; i++) {
    ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
    ls_schedule_move (schedule, i, i + 1, 0, n, 0);
  }
  return TRUE;
}

guint ls_parts_bidirectional (const LsGroupShape *shape, LsCollectiveOp op) {
  (void) op;
  return 2 * shape->n;
}

gboolean ls_write_bidirectional (const LsGroupShape *shape, LsCollectiveOp op,
                                 LsSchedule *schedule) {
  guint n = shape->n, whole = (n - 1) / 2;
  if (op != LS_COLLECTIVE_ALL_GATHER)
    return FALSE;
  ls_schedule_segment (schedule, TRUE);
  if (whole > 0) {
    ls_schedule_round (schedule, LS_WAY_CHANNELS, whole);
    for (guint i = 0; i < n; i++) {
      ls_schedule_move (schedule, i, (i + 1) % n, 2 * i, 2, -2);
      ls_schedule_move (schedule, i, (i + n - 1) % n, 2 * i, 2, 2);
    }
  }
  if (n % 2 == 0) {
    ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
    for (guint i = 0; i < n; i++) {
      ls_schedule_move (schedule, i, (i + 1) % n, 2 * ((i + n - whole) % n), 1, 0);
      ls_schedule_move (schedule, i, (i + n - 1) % n, 2 * ((i + whole) % n) + 1, 1, 0);
    }
  }
  return TRUE;
}
