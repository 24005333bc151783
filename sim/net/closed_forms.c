/* Closed forms on one switch of equal ports: a seconds per round, b seconds per byte, n members.
 * source: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), unless said. < 0: none is known. */
#include "net/algorithms.h"

/* Of an all-gather that sends (n-1)/n N in `rounds` rounds, and of what follows from it. */
static double like_gather (LsCollectiveOp op, double rounds, double n, double bytes, double a,
                           double b) {
  double once = rounds * a + (n - 1) / n * bytes * b;
  switch (op) {
  case LS_COLLECTIVE_ALL_REDUCE:
    return 2 * once;
  case LS_COLLECTIVE_ALL_GATHER:
  case LS_COLLECTIVE_REDUCE_SCATTER:
  case LS_COLLECTIVE_ALL_TO_ALL:
  case LS_COLLECTIVE_GATHER:
  case LS_COLLECTIVE_SCATTER:
    return once;
  default:
    return -1;
  }
}

/* Broadcast and reduce: an unbroken stream down a chain. */
double ls_closed_ring (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  if (op == LS_COLLECTIVE_BROADCAST || op == LS_COLLECTIVE_REDUCE)
    return (n - 1) * a + bytes * b;
  return like_gather (op, n - 1, n, bytes, a, b);
}

double ls_closed_bidirectional (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  guint rounds = n / 2; /* rounded down */
  return like_gather (op, rounds, n, bytes, a, b);
}

double ls_closed_binomial (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  double depth = ls_log2_ceil (n);
  switch (op) {
  case LS_COLLECTIVE_BROADCAST:
  case LS_COLLECTIVE_REDUCE:
    return depth * (a + bytes * b);
  case LS_COLLECTIVE_ALL_REDUCE:
    return 2 * depth * (a + bytes * b);
  case LS_COLLECTIVE_BARRIER:
    return 2 * depth * a;
  default: /* the root sends (or receives) everything but its own share */
    return depth * a + (n - 1.0) / n * bytes * b;
  }
}

double ls_closed_halving (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  guint power = 1;
  while (2 * power <= n)
    power *= 2;
  if (op == LS_COLLECTIVE_ALL_REDUCE)
    return like_gather (op, ls_log2_ceil (power), power, bytes, a, b) +
           (power < n ? 2 * (a + bytes * b) : 0);
  if (power < n)
    return -1;
  if (op == LS_COLLECTIVE_BROADCAST || op == LS_COLLECTIVE_REDUCE)
    return 2 * like_gather (LS_COLLECTIVE_ALL_GATHER, ls_log2_ceil (n), n, bytes, a, b);
  return like_gather (op, ls_log2_ceil (n), n, bytes, a, b);
}

double ls_closed_doubling (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  guint rounds = 0;
  while ((2u << rounds) <= n)
    rounds++;
  if ((1u << rounds) < n)
    rounds += 2;
  return rounds * (op == LS_COLLECTIVE_BARRIER ? a : a + bytes * b);
}

/* All-to-all: the blocks whose distance has bit k, for every k. source: Bruck et al. (1997) */
double ls_closed_bruck (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  double rounds = ls_log2_ceil (n), blocks = 0;
  if (op == LS_COLLECTIVE_BARRIER)
    return rounds * a;
  if (op != LS_COLLECTIVE_ALL_TO_ALL)
    return like_gather (op, rounds, n, bytes, a, b);
  for (guint bit = 1; bit < n; bit *= 2)
    for (guint d = 1; d < n; d++)
      blocks += (d & bit) != 0;
  return rounds * a + blocks / n * bytes * b;
}

double ls_closed_pairwise (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  return like_gather (op, n - 1, n, bytes, a, b);
}

/* All messages start at once: one latency, then the busiest port. */
double ls_closed_direct (LsCollectiveOp op, guint n, double bytes, double a, double b) {
  switch (op) {
  case LS_COLLECTIVE_BROADCAST:
  case LS_COLLECTIVE_REDUCE:
    return a + (n - 1) * bytes * b;
  case LS_COLLECTIVE_SEND_RECV:
    return a + bytes * b;
  case LS_COLLECTIVE_BARRIER:
    return a;
  default:
    return like_gather (op, 1, n, bytes, a, b);
  }
}
