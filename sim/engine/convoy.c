/* Convoys: ranks that compute and meet in lockstep, with nobody near, run as one event.
 *
 * Model:      the members of a group (tensor parallel ranks, or the one that runs for all of them) are at
 *             the same place of the same program, and nothing but their own blocks of kernels and their
 *             own collectives happens on their devices and links. What they do next is then known: legs, one
 *             after the other, of known length (convoy_walk.c). As far as that goes is one event.
 * Method:     as with blocks of kernels (device.c): whoever is about to touch or to look at what a convoy
 *             has (a device, a link, a stream, an account) dissolves it first. The legs passed until now are
 *             accounted, the one that runs is put down as it stands, and everything goes on one by
 *             one, to the bit as if there had been no convoy. The planned end is such a dissolution too.
 * Invariants: a resource, a device and a rank belong to one convoy at most; while they do, no flow, no
 *             kernel and no held SM but the convoy's own is on them. The walk's last leg ends at the event.
 * Call order: ls_convoys_note() when a collective begins; ls_convoys_begin() once the streams of the
 *             instant have come to rest; ls_convoy_..._needed() before anything is touched.
 * Cost:       per convoy, O(members + usages) and what its walk costs per leg; a walk is as long as the last
 *             ones of its group were good for, so that a convoy that is often dissolved costs little.
 * Left out:   observed ranks, work that is drawn or slowed, messages in place of phases, links that
 *             others load at the same time.
 */
#include <string.h>

#include "engine/convoy_private.h"
#include "engine/holding.h"

#define MIN_LEGS 2u
#define FIRST_LIMIT 16u
#define MAX_LIMIT 1024u
#define MAX_FAILURES 5u

void ls_convoys_init (LsEngine *e) {
  e->convoy_of = g_array_new (FALSE, TRUE, sizeof (guint32));
  e->convoys = g_ptr_array_new_with_free_func (g_free);
  e->convoy_memos = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, g_free);
}

void ls_convoys_free (LsEngine *e) {
  g_array_unref (e->convoy_of);
  g_free (e->free_convoys.data);
  g_free (e->convoy_groups.data);
  g_ptr_array_unref (e->convoys);
  g_hash_table_unref (e->convoy_memos);
  g_free (e->convoy_scratch);
}

static LsConvoy *convoy_at (const LsEngine *e, guint32 number) {
  return g_ptr_array_index (e->convoys, number - 1);
}

static guint32 *mark_of (const LsEngine *e, guint32 resource) {
  return &g_array_index (e->convoy_of, guint32, resource);
}

/* --- what belongs to a convoy --- */

static gboolean resource_is_free (const LsConvoy *convoy, guint32 resource) {
  LsEngine *e = convoy->e;
  guint32 owner = *mark_of (e, resource);
  if (owner != 0)
    return owner == convoy->number;
  return ls_sharing_n_users (e->sharing, resource) == 0;
}

/* The memory of a device that no member has may be loaded, if nothing runs there. */
static gboolean device_is_free (const LsConvoy *convoy, guint32 resource) {
  LsEngine *e = convoy->e;
  guint32 number = g_array_index (e->resource_device, guint32, resource);
  if (number == LS_NONE)
    return TRUE;
  const LsEngineDevice *device = ls_device_at (e, number);
  return device->active.len == 0 && (device->convoy == 0 || device->convoy == convoy->number);
}

static void mark_transfer (const LsConvoy *convoy, const LsTransfer *transfer, guint32 mark) {
  LsEngine *e = convoy->e;
  for (guint32 p = 0; p < transfer->n_phases; p++)
    for (guint32 i = 0; i < transfer->phases[p].n_usages; i++) {
      guint32 resource = transfer->phases[p].usages[i].resource;
      guint32 device = g_array_index (e->resource_device, guint32, resource);
      *mark_of (e, resource) = mark;
      if (device != LS_NONE)
        ls_device_at (e, device)->convoy = mark;
    }
}

gboolean ls_convoy_claim (LsConvoy *convoy, LsCachedTransfer *cached) {
  const LsTransfer *transfer = cached->transfer;
  if (convoy->n_used == LS_CONVOY_MAX_USED || ls_activity_solo_ps (convoy->e, cached) <= 0)
    return FALSE;
  for (guint32 p = 0; p < transfer->n_phases; p++)
    for (guint32 i = 0; i < transfer->phases[p].n_usages; i++) {
      guint32 resource = transfer->phases[p].usages[i].resource;
      if (!resource_is_free (convoy, resource) || !device_is_free (convoy, resource))
        return FALSE;
    }
  mark_transfer (convoy, transfer, convoy->number);
  convoy->used[convoy->n_used++] = cached;
  return TRUE;
}

static gboolean claim_member (const LsConvoy *convoy, guint32 rank) {
  LsEngine *e = convoy->e;
  LsRankState *state = ls_rank_at (e, rank);
  LsEngineDevice *device = ls_device_at (e, state->device);
  gint64 held = convoy->used[0]->transfer->sm_held;
  if (state->convoy != 0 || (device->convoy != 0 && device->convoy != convoy->number) ||
      device->speed != LS_USAGE_ONE || device->hbm_used != 0 || device->held != held ||
      device->active.len > 0 || !resource_is_free (convoy, device->hbm))
    return FALSE;
  state->convoy = convoy->number;
  device->convoy = convoy->number;
  *mark_of (e, device->hbm) = convoy->number;
  return TRUE;
}

/* Nothing belongs to it any longer. */
static void disclaim (const LsConvoy *convoy) {
  LsEngine *e = convoy->e;
  const LsGroup *group = ls_group_at (e, convoy->group);
  for (guint i = 0; i < convoy->n_used; i++)
    mark_transfer (convoy, convoy->used[i]->transfer, 0);
  for (guint32 i = 0; i < group->n; i++) {
    LsRankState *state = ls_rank_at (e, group->ranks[i]);
    if (state->convoy != convoy->number)
      continue;
    state->convoy = 0;
    ls_device_at (e, state->device)->convoy = 0;
    *mark_of (e, ls_device_at (e, state->device)->hbm) = 0;
  }
}

/* --- who may go --- */

static gboolean same_place (const LsConvoy *convoy, guint32 rank) {
  LsEngine *e = convoy->e;
  guint32 pair = (1u << convoy->stream[0]) | (1u << convoy->stream[1]);
  for (guint i = 0; i < convoy->n_cursors; i++) {
    const LsStream *first = ls_stream_at (e, convoy->rank, convoy->stream[i]);
    const LsStream *st = ls_stream_at (e, rank, convoy->stream[i]);
    if (st->pc != first->pc || st->position != first->position || st->state != first->state ||
        st->wait_index != first->wait_index || ((st->waiters ^ first->waiters) & pair) != 0 ||
        memcmp (st->counters, first->counters, sizeof st->counters) != 0)
      return FALSE;
  }
  return TRUE;
}

static gboolean member_fits (const LsConvoy *convoy, guint32 rank, guint stream) {
  LsEngine *e = convoy->e;
  const LsRankState *state = ls_rank_at (e, rank);
  if (state->program != convoy->program || stream != convoy->stream[1] || state->observed ||
      state->device == LS_NONE || (e->work_func && !state->steady))
    return FALSE;
  if (convoy->n_cursors == 2) {
    const LsStream *main_stream = ls_stream_at (e, rank, LS_MAIN_STREAM);
    const LsStream *side = ls_stream_at (e, rank, stream);
    if (main_stream->state != LS_STREAM_BLOCKED || (side->waiters & (1u << LS_MAIN_STREAM)) == 0)
      return FALSE;
  }
  return rank == convoy->rank || same_place (convoy, rank);
}

/* The last positions of the two streams at which nobody else wakes. */
static void find_bounds (LsConvoy *convoy, guint32 rank) {
  LsEngine *e = convoy->e;
  for (guint i = 0; i < convoy->n_cursors; i++) {
    guint32 mask = ls_stream_at (e, rank, convoy->stream[i])->waiters;
    mask &= ~((1u << convoy->stream[0]) | (1u << convoy->stream[1]));
    for (; mask; mask &= mask - 1) {
      guint other = (guint) __builtin_ctz (mask);
      const LsStream *blocked = ls_stream_at (e, rank, other);
      const LsInstruction *instruction = ls_instruction_at (e, rank, other, blocked->pc);
      const LsWait *wait = &convoy->program->waits[instruction->first_wait + blocked->wait_index];
      gint64 ordinal = ls_wait_ordinal (wait, blocked->counters, instruction->depth);
      convoy->bound[i] = MIN (convoy->bound[i], ordinal);
    }
  }
}

static gboolean members_fit (LsConvoy *convoy) {
  const LsGroup *group = ls_group_at (convoy->e, convoy->group);
  for (guint32 i = 0; i < group->n; i++)
    if (!member_fits (convoy, group->ranks[i], group->streams[i]))
      return FALSE;
  for (guint32 i = 0; i < group->n; i++)
    find_bounds (convoy, group->ranks[i]);
  return TRUE;
}

/* --- beginning --- */

static LsConvoy *take_convoy (LsEngine *e) {
  if (e->free_convoys.len > 0) {
    return convoy_at (e, ls_numbers_pop (&e->free_convoys));
  }
  LsConvoy *convoy = g_new0 (LsConvoy, 1);
  convoy->e = e;
  g_ptr_array_add (e->convoys, convoy);
  convoy->number = e->convoys->len;
  return convoy;
}

static void free_convoy (LsConvoy *convoy) {
  convoy->live = FALSE;
  ls_numbers_push (&convoy->e->free_convoys, convoy->number);
}

static void prepare (LsConvoy *convoy, guint32 number) {
  LsEngine *e = convoy->e;
  const LsGroup *group = ls_group_at (e, number);
  convoy->group = number;
  convoy->rank = group->ranks[0];
  convoy->program = ls_rank_at (e, convoy->rank)->program;
  convoy->stream[0] = LS_MAIN_STREAM;
  convoy->stream[1] = group->streams[0];
  convoy->n_cursors = group->streams[0] == LS_MAIN_STREAM ? 1 : 2;
  convoy->bound[0] = convoy->bound[1] = G_MAXINT64;
  convoy->n_used = 0;
  convoy->descriptors[0] = group->descriptor;
  convoy->start_ps = e->now_ps;
  convoy->event = LS_EVENT_NONE;
  const LsStream *side = ls_stream_at (e, convoy->rank, convoy->stream[1]);
  convoy->slot = ls_instruction_at (e, convoy->rank, convoy->stream[1], side->pc)->op.slot;
}

/* As far as the program leads without anything else. */
static gboolean plan (LsConvoy *convoy, guint32 limit) {
  LsWalk *walk = &convoy->walk;
  ls_convoy_walk_start (convoy, walk);
  if (!ls_convoy_recall (convoy, limit)) {
    ls_convoy_walk_start (convoy, walk);
    convoy->watching = ls_convoy_watch (convoy);
    while (walk->n_legs < limit && ls_convoy_cross (convoy, walk))
      ;
    ls_convoy_remember (convoy, g_steal_pointer (&convoy->watching), limit);
  }
  convoy->end_ps = walk->leg.end_ps;
  return walk->n_legs >= MIN_LEGS;
}

static gboolean form (LsConvoy *convoy, guint32 number, guint32 limit) {
  LsEngine *e = convoy->e;
  const LsGroup *group = ls_group_at (e, number);
  prepare (convoy, number);
  if (!members_fit (convoy) ||
      !ls_convoy_claim (convoy, ls_group_transfer (e, number, group->descriptor)))
    return FALSE;
  for (guint32 i = 0; i < group->n; i++)
    if (!claim_member (convoy, group->ranks[i]))
      return FALSE;
  return plan (convoy, limit);
}

/* The group's collective has begun at this instant, and waits its first latency. */
static gboolean has_begun (LsEngine *e, const LsGroup *group) {
  if (group->activity == LS_NONE)
    return FALSE;
  const LsActivity *activity = ls_activity_at (e, group->activity);
  const LsStream *side = ls_stream_at (e, group->ranks[0], group->streams[0]);
  const LsOp *op = &ls_instruction_at (e, group->ranks[0], group->streams[0], side->pc)->op;
  return activity->state == LS_ACTIVITY_LATENCY && activity->phase == 0 &&
         activity->start_ps == e->now_ps && activity->bytes_override < 0 &&
         (op->flags & (LS_OP_WORK_TABLE | LS_OP_DRAWN | LS_OP_MARK | LS_OP_OPTIONAL)) == 0;
}

static void try_group (LsEngine *e, guint32 number) {
  LsGroup *group = ls_group_at (e, number);
  if (!has_begun (e, group))
    return;
  if (group->convoy_rest > 0) {
    group->convoy_rest--;
    return;
  }
  guint32 limit = group->convoy_limit ? group->convoy_limit : FIRST_LIMIT;
  LsConvoy *convoy = take_convoy (e);
  if (!form (convoy, number, limit)) {
    disclaim (convoy);
    free_convoy (convoy);
    group->convoy_failures = (guint8) MIN (group->convoy_failures + 1u, MAX_FAILURES);
    group->convoy_rest = (guint8) ((1u << group->convoy_failures) - 1u);
    return;
  }
  group->convoy_failures = 0;
  ls_activity_drop (e, group->activity);
  group->activity = LS_NONE;
  convoy->live = TRUE;
  e->n_convoys++;
  convoy->event = ls_event_queue_push (e->queue, convoy->end_ps, 1,
                                       (LsEvent){LS_EVENT_CONVOY, convoy->number, 0});
}

void ls_convoys_note (LsEngine *e, guint32 group) {
  if (e->convoys_off || e->wants_rates || e->wants_messages)
    return;
  ls_numbers_push (&e->convoy_groups, group);
}

void ls_convoys_begin (LsEngine *e) {
  if (e->convoy_of->len < e->resource_names->len)
    g_array_set_size (e->convoy_of, e->resource_names->len);
  for (guint i = 0; i < e->convoy_groups.len; i++)
    try_group (e, e->convoy_groups.data[i]);
  e->convoy_groups.len = 0;
}

/* --- dissolving --- */

static LsInt128 ready_sum (const LsGroup *group, gint64 ps) {
  return (LsInt128) group->size * ps;
}

/* The members have come to the collective that the walk is in, all at its start. */
static void put_meeting (const LsConvoy *convoy, const LsLeg *leg) {
  LsEngine *e = convoy->e;
  LsGroup *group = ls_group_at (e, convoy->group);
  guint32 last = 0;
  for (guint32 i = 0; i < group->n; i++) {
    LsStream *st = ls_stream_at (e, group->ranks[i], convoy->stream[1]);
    st->ready_ps = st->start_ps = leg->start_ps;
    group->here[i] = TRUE;
    ls_device_hold (e, group->ranks[i], convoy->used[leg->used]->transfer->sm_held);
    if (!group->counts && group->ranks[i] < group->ranks[last])
      last = i;
  }
  group->arrived = group->n;
  group->descriptor = leg->op->descriptor;
  group->first_ready_ps = group->last_ready_ps = leg->start_ps;
  group->sum_ready_ps = ready_sum (group, leg->start_ps);
  group->last_rank = group->ranks[last];
  group->last_member = last;
  group->last_cause = ls_stream_at (e, group->last_rank, convoy->stream[1])->cause;
  group->blame = leg->blame;
}

static void put_blocks (const LsConvoy *convoy, const LsLeg *leg) {
  const LsGroup *group = ls_group_at (convoy->e, convoy->group);
  for (guint32 i = 0; i < group->n; i++)
    ls_device_resume_block (convoy->e, group->ranks[i], leg->start_ps, leg->end_ps);
}

/* What the group's collectives have moved and held. */
static void account_transfers (const LsConvoy *convoy, const LsWalk *walk) {
  LsEngine *e = convoy->e;
  for (guint i = 0; i < convoy->n_used; i++)
    if (walk->times[i] > 0)
      ls_activity_solo_account (e, convoy->used[i], ls_rank_at (e, convoy->rank)->tag,
                                walk->times[i]);
}

static void commit (LsConvoy *convoy, LsWalk *walk) {
  LsEngine *e = convoy->e;
  LsGroup *group = ls_group_at (e, convoy->group);
  guint8 blame = group->blame;
  for (guint32 i = 0; i < group->n; i++) {
    ls_convoy_commit (convoy, walk, group->ranks[i], blame);
    ls_device_hold (e, group->ranks[i], -convoy->used[0]->transfer->sm_held);
    group->here[i] = FALSE;
  }
  account_transfers (convoy, walk);
  group->arrived = 0;
  group->sequence += walk->n_collectives;
  if (walk->leg.block)
    put_blocks (convoy, &walk->leg);
  else
    put_meeting (convoy, &walk->leg);
}

/* How long its group's next may be: as long again if this one went all its way. */
static void learn_limit (LsConvoy *convoy) {
  LsGroup *group = ls_group_at (convoy->e, convoy->group);
  guint32 limit = group->convoy_limit ? group->convoy_limit : FIRST_LIMIT;
  limit = convoy->e->now_ps == convoy->end_ps ? limit * 2 : limit / 2;
  group->convoy_limit = (guint16) CLAMP (limit, MIN_LEGS + 2, MAX_LIMIT);
}

void ls_convoy_dissolve (LsEngine *e, guint32 number) {
  LsConvoy *convoy = convoy_at (e, number);
  LS_REQUIRE (convoy->live, "convoy %u has gone", number);
  disclaim (convoy);
  if (convoy->event != LS_EVENT_NONE)
    ls_event_queue_cancel (e->queue, convoy->event);
  convoy->live = FALSE;
  e->n_convoys--;
  learn_limit (convoy);
  LsWalk *walk = &convoy->walk;
  if (e->now_ps < convoy->end_ps) {
    ls_convoy_walk_start (convoy, walk);
    while (walk->leg.end_ps < e->now_ps) {
      gboolean crossed = ls_convoy_cross (convoy, walk);
      LS_REQUIRE (crossed, "a convoy of rank %u cannot go the way it had planned", convoy->rank);
    }
  }
  if (walk->n_legs > 0)
    commit (convoy, walk);
  if (walk->leg.block == NULL) {
    guint32 activity =
        ls_activity_resume (e, convoy->used[walk->leg.used], convoy->group, walk->leg.start_ps);
    ls_group_at (e, convoy->group)->activity = activity;
  }
  free_convoy (convoy);
}

void ls_convoy_event (LsEngine *e, guint32 number) {
  convoy_at (e, number)->event = LS_EVENT_NONE;
  ls_convoy_dissolve (e, number);
}

void ls_convoys_dissolve (LsEngine *e) {
  for (guint i = 0; i < e->convoys->len && e->n_convoys > 0; i++) {
    const LsConvoy *convoy = g_ptr_array_index (e->convoys, i);
    if (convoy->live)
      ls_convoy_dissolve (e, convoy->number);
  }
}

void ls_convoys_off_links (LsEngine *e, guint32 n_usages, const LsUsage *usages) {
  for (guint32 i = 0; i < n_usages; i++) {
    guint32 number = *mark_of (e, usages[i].resource);
    if (number != 0)
      ls_convoy_dissolve (e, number);
  }
}

void ls_engine_set_convoys (LsEngine *e, gboolean allowed) {
  e->convoys_off = !allowed;
}
