/* Trees: two complementary binary trees over nodes with chains inside them, and binomial trees.
 *
 * Double tree: each tree carries half of the bytes in pipelined chunks; a node inside one tree is a
 * leaf of the other. All-reduce goes up both trees and down again. A broadcast leaves the root out of
 * the trees and feeds their roots. source: Sanders, Speck, Traeff, "Two-tree algorithms for full
 * bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009); NCCL's shape of it.
 * Binomial: in round k every member that has the data gives it to one that is 2^k away, largest
 * distance first; of a scatter only the blocks that belong there. */
#include "base/assert.h"
#include "net/algorithms.h"

/* Parent in an in-order binary tree over 0 .. n - 1 with root 0: odd numbers are leaves. */
static guint tree_parent (guint r, guint n) {
  if (r == 0)
    return 0;
  guint bit = r & (~r + 1);
  guint parent = (r ^ bit) | (bit << 1);
  return parent < n ? parent : r ^ bit;
}

/* The second tree is the first with mirrored numbers (even n) or shifted ones (odd n). */
guint ls_double_tree_parent (guint tree, guint r, guint n) {
  if (tree == 0)
    return tree_parent (r, n);
  if (n % 2 == 0)
    return n - 1 - tree_parent (n - 1 - r, n);
  return (tree_parent ((r + n - 1) % n, n) + 1) % n;
}

static guint depth_of (guint tree, guint r, guint n) {
  guint depth = 0;
  for (guint parent; (parent = ls_double_tree_parent (tree, r, n)) != r; r = parent)
    depth++;
  return depth;
}

void ls_write_chains (const LsGroupShape *shape, LsSchedule *schedule, guint count) {
  for (guint k = 0; k + 1 < shape->most; k++) {
    ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
    for (guint i = 0; i < shape->n_nodes; i++)
      if (k + 1 < ls_group_members (shape, i))
        ls_schedule_move (schedule, shape->first[i] + k, shape->first[i] + k + 1, 0, count, 0);
  }
}

/* Both trees over nodes skip .. q - 1. */
static void trees_down (const LsGroupShape *shape, LsSchedule *schedule, guint skip) {
  guint n = shape->n_nodes - skip, deepest = 0;
  g_autofree guint *depth = g_new (guint, 2 * MAX (1, n));
  for (guint tree = 0; tree < 2; tree++)
    for (guint r = 0; r < n; r++) {
      depth[tree * n + r] = depth_of (tree, r, n);
      deepest = MAX (deepest, depth[tree * n + r]);
    }
  for (guint level = 1; level <= deepest; level++) {
    ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
    for (guint tree = 0; tree < 2; tree++)
      for (guint r = 0; r < n; r++)
        if (depth[tree * n + r] == level)
          ls_schedule_move (schedule, shape->first[skip + ls_double_tree_parent (tree, r, n)],
                            shape->first[skip + r], tree * schedule->parts / 2, schedule->parts / 2,
                            0);
  }
}

void ls_write_trees_down (const LsGroupShape *shape, LsSchedule *schedule) {
  trees_down (shape, schedule, 0);
}

static void write_broadcast (const LsGroupShape *shape, LsSchedule *schedule) {
  ls_schedule_together (schedule, TRUE);
  if (shape->n_nodes > 1) {
    guint n = shape->n_nodes - 1;
    ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
    for (guint tree = 0; tree < 2; tree++)
      for (guint r = 0; r < n; r++)
        if (ls_double_tree_parent (tree, r, n) == r)
          ls_schedule_move (schedule, 0, shape->first[1 + r], tree, 1, 0);
    trees_down (shape, schedule, 1);
  }
  ls_write_chains (shape, schedule, schedule->parts);
}

guint ls_parts_double_tree (const LsGroupShape *shape, LsCollectiveOp op) {
  return op == LS_COLLECTIVE_ALL_REDUCE ? 2 * shape->most : 2;
}

/* As many chains as a node has members, each beginning with another one and carrying its part: so every
 * member is an end equally often, and links carry (m-1)/m N each way. */
static void write_turning_chains (const LsGroupShape *shape, LsSchedule *schedule) {
  guint parts = schedule->parts;
  for (guint k = 0; k + 1 < shape->most; k++) {
    ls_schedule_round (schedule, LS_WAY_CHANNELS, 1);
    for (guint i = 0; i < shape->n_nodes; i++) {
      guint m = ls_group_members (shape, i), first = shape->first[i];
      for (guint c = 0; c < m && k + 1 < m; c++)
        ls_schedule_move (schedule, first + (c + k) % m, first + (c + k + 1) % m, parts * c / m,
                          parts * (c + 1) / m - parts * c / m, 0);
    }
  }
}

gboolean ls_write_double_tree (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  if (op == LS_COLLECTIVE_BROADCAST) {
    write_broadcast (shape, schedule);
    return TRUE;
  }
  if (op != LS_COLLECTIVE_ALL_REDUCE)
    return FALSE;
  g_autoptr (LsSchedule) down = ls_schedule_new (schedule->parts);
  ls_schedule_together (down, TRUE);
  trees_down (shape, down, 0);
  write_turning_chains (shape, down);
  ls_schedule_append_joined (schedule, down);
  return TRUE;
}

/* --- binomial --------------------------------------------------------------------------------- */

guint ls_parts_binomial (const LsGroupShape *shape, LsCollectiveOp op) {
  return op == LS_COLLECTIVE_SCATTER || op == LS_COLLECTIVE_GATHER ? shape->n : 1;
}

/* The ends of a round meet; backwards (reduce, gather) a sender waits until its receiver is there, where
 * members without work in earlier rounds would otherwise run ahead. */
static void write_credits (LsSchedule *schedule, guint n, guint stride) {
  ls_schedule_round (schedule, LS_WAY_CREDIT, 1);
  for (guint a = 0; a + stride < n; a += 2 * stride)
    ls_schedule_move (schedule, a + stride, a, 0, 0, 0);
}

gboolean ls_write_binomial (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  gboolean barrier = op == LS_COLLECTIVE_BARRIER, scatter = op == LS_COLLECTIVE_SCATTER;
  guint n = shape->n;
  if (op != LS_COLLECTIVE_BROADCAST && !scatter && !barrier)
    return FALSE;
  g_autoptr (LsSchedule) down = ls_schedule_new (schedule->parts);
  ls_schedule_segment (down, TRUE);
  for (guint stride = 1u << (ls_log2_ceil (n) - 1); stride > 0; stride /= 2) {
    ls_schedule_round (down, LS_WAY_PATH, 1);
    for (guint a = 0; a + stride < n; a += 2 * stride) {
      guint b = a + stride;
      guint count = scatter ? MIN (stride, n - b) : barrier ? 0 : 1;
      ls_schedule_move (down, a, b, scatter ? b : 0, count, 0);
    }
    if (stride > 1)
      write_credits (down, n, stride);
  }
  if (barrier)
    ls_schedule_append (schedule, down, TRUE);
  guint before = schedule->segments->len;
  ls_schedule_append (schedule, down, FALSE);
  ls_schedule_segment_at (schedule, before)->launches = !barrier;
  return TRUE;
}
