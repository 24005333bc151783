/* Convoys, third part: ways that were walked before.
 *
 * Model:      a micro-batch is like the one before it. A walk depends on where its cursors are, on the loops
 *             that it goes round, on how long each collective takes, and on whether each wait that it meets
 *             is passed. The same again but for outer loops that have gone on, it is the same walk, later
 *             and further: positions, ordinals and instants are shifted, sums are what they were.
 * Exactness:  a wait between the two streams asks for an ordinal that is affine in the waiter's counters. It is
 *             answered as before if the target's position has moved by as much as the ordinal. One on a
 *             third stream was passed, and is so again if that stream is beyond the furthest that was asked
 *             for. Shorter than it could be is no fault: any beginning of a walk is one.
 * Cost:       O(waits + loops) per walk remembered, and a copy of its sums; one walk is kept for each place in
 *             a program and length of its first collective.
 */
#include <string.h>

#include "engine/convoy_private.h"

static gint64 key_of (const LsConvoy *convoy) {
  const LsCursor *cursor = convoy->walk.cursor;
  guint64 key = (guint64) GPOINTER_TO_SIZE (convoy->program);
  guint64 parts[] = {cursor[0].pc, cursor[1].pc, convoy->stream[1],
                     (guint64) convoy->used[0]->solo_ps};
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    key = (key ^ parts[i]) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return (gint64) key;
}

/* How much further the ordinal is that the wait asks for, by the loops that the walk did not go round. */
static gint64 shift_of (const LsConvoyMemo *memo, const LsCursor *now, const LsAsked *asked) {
  const LsWait *wait = &memo->program->waits[asked->wait];
  gint64 shift = 0;
  for (guint level = 0; level < asked->depth; level++)
    if ((memo->turned[asked->which] & (1u << level)) == 0)
      shift += wait->coefficient[level] *
               (now[asked->which].counters[level] - memo->start[asked->which].counters[level]);
  return shift;
}

static gboolean same_start (const LsConvoyMemo *memo, const LsConvoy *convoy, guint which) {
  const LsCursor *then = &memo->start[which], *now = &convoy->walk.cursor[which];
  guint32 pair = (1u << convoy->stream[0]) | (1u << convoy->stream[1]);
  if (then->pc != now->pc || then->wait_index != now->wait_index || then->state != now->state ||
      ((then->waiters ^ now->waiters) & pair) != 0)
    return FALSE;
  for (guint level = 0; level < LS_MAX_LOOP_DEPTH; level++)
    if ((memo->turned[which] & (1u << level)) != 0 && then->counters[level] != now->counters[level])
      return FALSE;
  return memo->walk.cursor[which].position + now->position - then->position <= convoy->bound[which];
}

static gboolean same_answers (const LsConvoyMemo *memo, const LsConvoy *convoy) {
  const LsCursor *now = convoy->walk.cursor;
  for (guint i = 0; i < memo->n_asked; i++) {
    const LsAsked *asked = &memo->asked[i];
    gint64 shift = shift_of (memo, now, asked);
    guint target = asked->which ^ 1u;
    if (asked->inside
            ? now[target].position - memo->start[target].position != shift
            : ls_convoy_outer_position (convoy, memo->program->waits[asked->wait].stream) <=
                  asked->furthest + shift)
      return FALSE;
  }
  return TRUE;
}

/* The same collectives, as long as then, on links that are free. */
static gboolean same_transfers (const LsConvoyMemo *memo, LsConvoy *convoy) {
  for (guint i = 0; i < memo->n_used; i++) {
    LsCachedTransfer *cached = ls_group_transfer (convoy->e, convoy->group, memo->descriptors[i]);
    if (i < convoy->n_used ? convoy->used[i] != cached : !ls_convoy_claim (convoy, cached))
      return FALSE;
    if (cached->solo_ps != memo->solo_ps[i])
      return FALSE;
  }
  return TRUE;
}

/* The remembered walk from where the convoy is now. */
static void shift_walk (const LsConvoyMemo *memo, LsConvoy *convoy) {
  const LsCursor now[2] = {convoy->walk.cursor[0], convoy->walk.cursor[1]};
  const gint64 later = convoy->start_ps - memo->start_ps;
  const guint side = convoy->n_cursors == 2 ? 1 : 0;
  LsWalk *walk = &convoy->walk;
  const gint64 further[2] = {now[0].position - memo->start[0].position,
                             now[1].position - memo->start[1].position};
  *walk = memo->walk;
  for (guint i = 0; i < convoy->n_cursors; i++) {
    LsCursor *cursor = &walk->cursor[i];
    cursor->position += further[i];
    cursor->cause_ordinal += further[cursor->cause_stream == convoy->stream[0] ? 0 : side];
    for (guint level = 0; level < LS_MAX_LOOP_DEPTH; level++)
      if ((memo->turned[i] & (1u << level)) == 0)
        cursor->counters[level] = now[i].counters[level];
  }
  walk->leg.start_ps += later;
  walk->leg.end_ps += later;
  walk->first_end_ps += later;
  if (walk->resumed_ps > 0)
    walk->resumed_ps += later;
  if (walk->memory.last_ps >= 0) {
    walk->memory.first_ps += later;
    walk->memory.last_ps += later;
  }
  for (guint i = 0; i < MIN (walk->n_history, LS_HISTORY); i++) {
    LsHistory *entry = &walk->history[i];
    entry->ordinal += further[side];
    entry->ready_ps += later;
    entry->start_ps += later;
    entry->end_ps += later;
    entry->cause.ordinal += further[entry->cause.stream == convoy->stream[0] ? 0 : side];
  }
}

gboolean ls_convoy_recall (LsConvoy *convoy, guint32 limit) {
  gint64 key = key_of (convoy);
  const LsConvoyMemo *memo = g_hash_table_lookup (convoy->e->convoy_memos, &key);
  if (!memo || memo->program != convoy->program || memo->stream != convoy->stream[1] ||
      memo->slot != convoy->slot || (memo->limited && memo->walk.n_legs < limit))
    return FALSE;
  for (guint i = 0; i < convoy->n_cursors; i++)
    if (!same_start (memo, convoy, i))
      return FALSE;
  if (!same_answers (memo, convoy) || !same_transfers (memo, convoy))
    return FALSE;
  shift_walk (memo, convoy);
  return TRUE;
}

void ls_convoy_ask (LsConvoyMemo *memo, guint which, guint32 wait, guint depth, gboolean inside,
                    gint64 ordinal) {
  for (guint i = 0; i < memo->n_asked; i++)
    if (memo->asked[i].wait == wait && memo->asked[i].which == which) {
      memo->asked[i].furthest = MAX (memo->asked[i].furthest, ordinal);
      return;
    }
  if (memo->n_asked == LS_CONVOY_MAX_ASKED) {
    memo->useless = TRUE;
    return;
  }
  memo->asked[memo->n_asked++] = (LsAsked){.wait = wait,
                                           .which = (guint8) which,
                                           .depth = (guint8) depth,
                                           .inside = (guint8) inside,
                                           .furthest = ordinal};
}

/* From here on the walk is watched. */
LsConvoyMemo *ls_convoy_watch (const LsConvoy *convoy) {
  if (!convoy->e->convoy_scratch)
    convoy->e->convoy_scratch = g_new0 (LsConvoyMemo, 1);
  LsConvoyMemo *memo = convoy->e->convoy_scratch;
  memo->turned[0] = memo->turned[1] = 0;
  memo->n_asked = 0;
  memo->useless = FALSE;
  memo->program = convoy->program;
  memo->stream = convoy->stream[1];
  memo->slot = convoy->slot;
  memo->start_ps = convoy->start_ps;
  memo->start[0] = convoy->walk.cursor[0];
  memo->start[1] = convoy->walk.cursor[1];
  memo->key = key_of (convoy);
  return memo;
}

/* Both streams have gone on in the walk, so that what let them is in it. */
static gboolean is_closed (const LsConvoy *convoy, const LsConvoyMemo *memo) {
  for (guint i = 0; i < convoy->n_cursors; i++) {
    const LsCursor *cursor = &convoy->walk.cursor[i];
    if (cursor->position == memo->start[i].position ||
        (cursor->cause_stream != convoy->stream[0] && cursor->cause_stream != convoy->stream[1]))
      return FALSE;
  }
  return TRUE;
}

void ls_convoy_remember (LsConvoy *convoy, LsConvoyMemo *memo, guint32 limit) {
  if (memo->useless || !is_closed (convoy, memo))
    return;
  memo->walk = convoy->walk;
  memo->limited = convoy->walk.n_legs >= limit;
  memo->n_used = convoy->n_used;
  for (guint i = 0; i < convoy->n_used; i++) {
    memo->solo_ps[i] = convoy->used[i]->solo_ps;
    memo->descriptors[i] = convoy->descriptors[i];
  }
  convoy->e->convoy_scratch = NULL; /* the next watched walk has another */
  g_hash_table_replace (convoy->e->convoy_memos, &memo->key, memo);
}
