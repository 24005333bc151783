/* Finding loops in lists of actions; see action_loops.h. */
#include "train/pipeline/action_loops.h"

/* A label steps by at most 127 per iteration. */
#define LARGEST_STEP 127
#define LONGEST_BODY 1024u
/* Actions that a loop must save to be worth its own instructions. */
#define LEAST_GAIN 2u

typedef struct {
  guint begin, length, count; /* actions [begin, begin + length x count) */
  gint32 step;
} Loop;

static gboolean is_alike (const LsAction *a, const LsAction *b) {
  return a->kind == b->kind && a->part == b->part && a->other_part == b->other_part && !a->last &&
         !b->last;
}

/* By how much b is a moved on; FALSE when it is another action. */
static gboolean step_between (const LsAction *a, const LsAction *b, gint32 *step) {
  if (!is_alike (a, b))
    return FALSE;
  *step = b->microbatch - a->microbatch;
  return ABS (*step) <= LARGEST_STEP && (a->kind != LS_ACTION_PAIR || b->other - a->other == *step);
}

static guint gain_of (const Loop *loop) {
  return loop->count > 1 ? loop->length * (loop->count - 1) : 0;
}

/* The best loop with bodies of `length`. */
static void try_length (const LsAction *actions, guint n, guint length, Loop *best) {
  guint run = 0; /* actions before i that are followed by themselves moved on by `step` */
  gint32 step = 0;

  for (guint i = 0; i + length <= n; i++) {
    gint32 here = 0;
    gboolean follows = i + length < n && step_between (&actions[i], &actions[i + length], &here);
    if (follows && (run == 0 || here == step)) {
      step = here;
      run++;
      continue;
    }
    Loop loop = {i - run, length, run / length + 1, step};
    if (gain_of (&loop) > gain_of (best))
      *best = loop;
    run = follows ? 1 : 0;
    step = here;
  }
}

static Loop find_loop (const LsAction *actions, guint n) {
  Loop best = {0};

  for (guint length = 1; length <= MIN (n / 2, LONGEST_BODY); length++)
    try_length (actions, n, length, &best);
  return best;
}

static void add_action (GArray *code, const LsAction *action) {
  LsActionCode one = {.kind = LS_CODE_ACTION, .action = *action};
  g_array_append_val (code, one);
}

static void emit (GArray *code, const LsAction *actions, guint n, guint depth) {
  Loop loop = depth > 0 ? find_loop (actions, n) : (Loop){0};

  if (gain_of (&loop) < LEAST_GAIN) {
    for (guint i = 0; i < n; i++)
      add_action (code, &actions[i]);
    return;
  }
  const LsActionCode repeat = {.kind = LS_CODE_REPEAT, .count = loop.count, .step = loop.step};
  const LsActionCode end = {.kind = LS_CODE_END};
  const guint after = loop.begin + loop.length * loop.count;
  emit (code, actions, loop.begin, depth);
  g_array_append_val (code, repeat);
  emit (code, &actions[loop.begin], loop.length, depth - 1);
  g_array_append_val (code, end);
  emit (code, &actions[after], n - after, depth);
}

GArray *ls_action_loops (const GArray *actions) {
  GArray *code = g_array_new (FALSE, TRUE, sizeof (LsActionCode));

  emit (code, (const LsAction *) (gconstpointer) actions->data, actions->len, LS_ACTION_LOOP_DEPTH);
  return code;
}
