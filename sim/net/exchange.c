/* Exchanges between all pairs, and Bruck's short cuts.
 *
 * Pairwise: in round r member i sends to i + r and receives from i - r.
 * Direct: the same messages at once, as NCCL's grouped sends and receives; its peers per channel bound
 * how many are in flight. Broadcast, gather and scatter go straight between the root and each member.
 * Bruck: ceil (lg n) rounds for any n: an all-gather doubles what a member holds, the last round the
 * rest; an all-to-all forwards all blocks whose distance has bit k (N/2 per round at powers of two); a
 * barrier is the same with nothing to send (dissemination).
 * source: Thakur, Rabenseifner, Gropp (2005); Bruck et al., IEEE TPDS 8 (1997); Hensgen, Finkel,
 * Manber, IJPP 17 (1988). */
#include "base/assert.h"
#include "net/algorithms.h"
#include "net/all_pairs.h"
#include "net/protocol.h"

guint ls_parts_exchange (const LsGroupShape *shape, LsCollectiveOp op) {
  switch (op) {
  case LS_COLLECTIVE_ALL_TO_ALLV:
    LS_REQUIRE (shape->n <= LS_PAIRS_MOST, "all_to_allv of %u", shape->n);
    return shape->n * shape->n;
  case LS_COLLECTIVE_BROADCAST:
  case LS_COLLECTIVE_REDUCE:
  case LS_COLLECTIVE_SEND_RECV:
  case LS_COLLECTIVE_BARRIER:
    return 1;
  default:
    return shape->n;
  }
}

guint ls_exchange_window (const LsGroupShape *shape) {
  return ls_group_spec (shape, 0)->ideal ? 0 : ls_protocol_peers_in_flight (LS_PROTOCOL_SIMPLE);
}

/* --- Bruck ------------------------------------------------------------------------------------ */

/* How many of 1 .. n - 1 have this bit. */
static guint with_bit (guint n, guint bit) {
  guint count = 0;
  for (guint d = 1; d < n; d++)
    count += (d & bit) != 0;
  return count;
}

gboolean ls_write_bruck (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  guint n = shape->n;
  if (op != LS_COLLECTIVE_ALL_GATHER && op != LS_COLLECTIVE_ALL_TO_ALL &&
      op != LS_COLLECTIVE_BARRIER)
    return FALSE;
  ls_schedule_segment (schedule, TRUE);
  for (guint bit = 1; bit < n; bit *= 2) {
    guint count = 0;
    if (op == LS_COLLECTIVE_ALL_GATHER)
      count = MIN (bit, n - bit);
    else if (op == LS_COLLECTIVE_ALL_TO_ALL)
      count = with_bit (n, bit);
    ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint i = 0; i < n; i++) {
      gboolean gather = op == LS_COLLECTIVE_ALL_GATHER;
      ls_schedule_move (schedule, i, gather ? (i + n - bit) % n : (i + bit) % n, gather ? i : 0,
                        count, 0);
    }
  }
  return TRUE;
}

/* --- pairwise and direct ---------------------------------------------------------------------- */

/* What `from` has for `to`. */
static void write_pair (LsSchedule *schedule, LsCollectiveOp op, guint n, guint from, guint to) {
  if (op == LS_COLLECTIVE_ALL_TO_ALLV)
    ls_schedule_move (schedule, from, to, from * n + to, 1, 0);
  else
    ls_schedule_move (schedule, from, to, op == LS_COLLECTIVE_ALL_GATHER ? from : to, 1, 0);
}

gboolean ls_write_pairwise (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  guint n = shape->n;
  if (op != LS_COLLECTIVE_ALL_GATHER && op != LS_COLLECTIVE_ALL_TO_ALL &&
      op != LS_COLLECTIVE_ALL_TO_ALLV)
    return FALSE;
  ls_schedule_segment (schedule, TRUE);
  for (guint r = 1; r < n; r++) {
    ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint i = 0; i < n; i++)
      write_pair (schedule, op, n, i, (i + r) % n);
  }
  return TRUE;
}

/* From the root to each: everything, the share of each, or nothing. */
static void write_from_root (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule,
                             guint window) {
  for (guint i = 1; i < shape->n; i++) {
    if ((i - 1) % window == 0)
      ls_schedule_round (schedule, LS_WAY_PATH, 1);
    ls_schedule_move (schedule, 0, i, op == LS_COLLECTIVE_SCATTER ? i : 0, 1, 0);
  }
}

static void write_to_all (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule,
                          guint window) {
  guint n = shape->n;
  for (guint r = 1; r < n; r++) {
    if ((r - 1) % window == 0)
      ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint i = 0; i < n; i++)
      if (op == LS_COLLECTIVE_BARRIER)
        ls_schedule_move (schedule, i, (i + r) % n, 0, 0, 0);
      else
        write_pair (schedule, op, n, i, (i + r) % n);
  }
}

gboolean ls_write_direct (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  guint window = ls_exchange_window (shape);
  window = window == 0 ? shape->n : window;
  switch (op) {
  case LS_COLLECTIVE_SEND_RECV:
    ls_schedule_segment (schedule, TRUE);
    ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint i = 0; i < shape->n; i++)
      ls_schedule_move (schedule, i, (i + 1) % shape->n, 0, 1, 0);
    return TRUE;
  case LS_COLLECTIVE_BROADCAST:
  case LS_COLLECTIVE_SCATTER:
    ls_schedule_together (schedule, FALSE);
    write_from_root (shape, op, schedule, window);
    return TRUE;
  case LS_COLLECTIVE_ALL_GATHER:
  case LS_COLLECTIVE_ALL_TO_ALL:
  case LS_COLLECTIVE_ALL_TO_ALLV:
  case LS_COLLECTIVE_BARRIER:
    ls_schedule_together (schedule, FALSE);
    write_to_all (shape, op, schedule, window);
    return TRUE;
  default:
    return FALSE;
  }
}
