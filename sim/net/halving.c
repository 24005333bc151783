/* Recursive halving and doubling: partners at distance 2^k.
 *
 * All-gather: in round k a member gives all that it has to the member whose number differs in bit k.
 * All-reduce (Rabenseifner): halving, then doubling. Broadcast (van de Geijn): a binomial scatter, then
 * doubling. "doubling" alone exchanges whole buffers: an all-reduce of lg p rounds.
 * Groups that are no power of two fold: of the first 2 e members (e = n - 2^floor (lg n)) every odd one
 * hands its part to the even one before it, sits out, and gets the result at the end; an all-reduce then
 * costs two more steps of N. source: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005). */
#include "net/algorithms.h"

typedef struct {
  guint n, power; /* members, and those that take part */
  guint extra;    /* members that sit out */
  gboolean even;  /* blocks are `power` equal ones, else one per member */
} Fold;

static Fold fold_of (guint n, gboolean even) {
  Fold fold = {.n = n, .power = 1, .even = even};
  while (2 * fold.power <= n)
    fold.power *= 2;
  fold.extra = n - fold.power;
  return fold;
}

static guint member_of (const Fold *fold, guint v) {
  return v < fold->extra ? 2 * v : v + fold->extra;
}

/* First block of participant v; participants that took another's part in have two. */
static guint block_of (const Fold *fold, guint v) {
  if (fold->even)
    return v;
  return v < fold->power ? member_of (fold, v) : fold->n;
}

static void write_doubling_rounds (LsSchedule *schedule, const Fold *fold) {
  for (guint bit = 1; bit < fold->power; bit *= 2) {
    ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint v = 0; v < fold->power; v++) {
      guint base = v & ~(bit - 1), first = block_of (fold, base);
      ls_schedule_move (schedule, member_of (fold, v), member_of (fold, v ^ bit), first,
                        block_of (fold, base + bit) - first, 0);
    }
  }
}

/* Those that sit out hand over (or get back) `count` blocks beginning with `first` + 2 j + 1. */
static void write_fold (LsSchedule *schedule, const Fold *fold, gboolean back, guint first,
                        guint count) {
  if (fold->extra == 0)
    return;
  ls_schedule_round (schedule, LS_WAY_PATH, 1);
  for (guint j = 0; j < fold->extra; j++) {
    guint even = 2 * j, odd = 2 * j + 1;
    ls_schedule_move (schedule, back ? even : odd, back ? odd : even,
                      fold->even ? 0 : (first + odd) % schedule->parts, count, 0);
  }
}

static void write_gather (LsSchedule *schedule, guint n, gboolean launches) {
  Fold fold = fold_of (n, FALSE);
  ls_schedule_segment (schedule, launches);
  write_fold (schedule, &fold, FALSE, 0, 1);
  write_doubling_rounds (schedule, &fold);
  write_fold (schedule, &fold, TRUE, 1, n - 1);
}

guint ls_parts_halving (const LsGroupShape *shape, LsCollectiveOp op) {
  return op == LS_COLLECTIVE_ALL_REDUCE ? fold_of (shape->n, TRUE).power : shape->n;
}

gboolean ls_write_halving (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  if (op == LS_COLLECTIVE_ALL_GATHER) {
    write_gather (schedule, shape->n, TRUE);
    return TRUE;
  }
  if (op == LS_COLLECTIVE_BROADCAST) {
    ls_write_binomial (shape, LS_COLLECTIVE_SCATTER, schedule);
    write_gather (schedule, shape->n, FALSE);
    return TRUE;
  }
  if (op != LS_COLLECTIVE_ALL_REDUCE)
    return FALSE;
  Fold fold = fold_of (shape->n, TRUE);
  g_autoptr (LsSchedule) down = ls_schedule_new (schedule->parts);
  ls_schedule_segment (down, TRUE);
  write_doubling_rounds (down, &fold);
  write_fold (down, &fold, TRUE, 0, schedule->parts);
  ls_schedule_append_joined (schedule, down);
  return TRUE;
}

guint ls_parts_doubling (const LsGroupShape *shape, LsCollectiveOp op) {
  (void) shape;
  (void) op;
  return 1;
}

gboolean ls_write_doubling (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  guint count = op == LS_COLLECTIVE_BARRIER ? 0 : 1;
  Fold fold = fold_of (shape->n, TRUE);
  ls_schedule_segment (schedule, TRUE);
  write_fold (schedule, &fold, FALSE, 0, count);
  for (guint bit = 1; bit < fold.power; bit *= 2) {
    ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint v = 0; v < fold.power; v++)
      ls_schedule_move (schedule, member_of (&fold, v), member_of (&fold, v ^ bit), 0, count, 0);
  }
  write_fold (schedule, &fold, TRUE, 0, count);
  return TRUE;
}
