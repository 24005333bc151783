/* Accounts: where the time of each rank's main stream went, and what its memory holds.
 *
 * Model:      the main stream either runs (charged to the operation's part) or is idle. An idle gap
 *             is charged backwards along causes: the communication that ended it was on its way
 *             from start to end (its part) and waited for others from ready to start (its blame:
 *             what the rank that came last was then doing); before it was ready, its own cause.
 *             A rank that came last because it computes is waited for as long as it has computed
 *             without a pause, whatever ran here meanwhile, and so while a collective runs beside its
 *             computing: those cost the rank that waits nothing, since it would have waited anyway.
 * Invariants: the parts of a rank sum to the time accounted so far. Memory by kind sums to the total.
 * Cost:       O(1) per operation; gaps follow at most LS_HISTORY causes. A peak counts once it has
 *             lasted, so releases and claims of one instant cancel whatever their order.
 */
#include <string.h>

#include "engine/engine_private.h"

static void charge (LsRankState *state, guint part, gint64 ps) {
  LS_ASSERT (ps >= 0 && part < LS_MAX_PARTS);
  state->parts_ps[part] += ps;
  state->accounted_ps += ps;
}

void ls_account_busy (LsEngine *e, guint32 rank, guint part, gint64 ps) {
  charge (ls_rank_at (e, rank), part, ps);
}

gint64 ls_account_busy_ps (LsEngine *e, guint32 rank) {
  LsRankState *state = ls_rank_at (e, rank);
  if (state->n_streams == 0)
    return 0;
  ls_convoy_leaves_rank (e, rank);
  const LsStream *main_stream = ls_stream_at (e, rank, LS_MAIN_STREAM);
  gint64 running =
      main_stream->state == LS_STREAM_RUNNING ? e->now_ps - main_stream->run_start_ps : 0;
  return state->busy_ps + running;
}

LsHistory *ls_account_history (LsEngine *e, guint32 rank, guint stream, guint32 k) {
  return &e->history[(gsize) (k % LS_HISTORY) * e->streams->len +
                     ls_rank_at (e, rank)->first_stream + stream];
}

static const LsHistory *find_entry (LsEngine *e, LsCause cause) {
  if (cause.rank == LS_NO_RANK || cause.ordinal < 0)
    return NULL;
  ls_convoy_leaves_rank (e, cause.rank);
  /* The newest first: that is what causes mostly are. */
  guint32 next = ls_stream_at (e, cause.rank, cause.stream)->history_next;
  for (guint i = 1; i <= LS_HISTORY; i++) {
    const LsHistory *entry =
        ls_account_history (e, cause.rank, cause.stream, next + LS_HISTORY - i);
    if (!entry->known)
      return NULL;
    if (entry->ordinal == cause.ordinal)
      return entry;
  }
  return NULL;
}

/* The main stream starts something now: charges [idle since, now] from its end backwards. */
void ls_account_main_start (LsEngine *e, guint32 rank) {
  LsRankState *state = ls_rank_at (e, rank);
  const gint64 since_ps = state->accounted_ps;
  gint64 to_ps = e->now_ps; /* [to, now] is charged */
  LsCause cause = ls_stream_at (e, rank, LS_MAIN_STREAM)->cause;
  /* What is charged when the history does not reach back far enough: the part of a chain of
   * communications on one stream, each begun when the one before ended. */
  guint8 forgotten = e->idle_part;
  gboolean jumped = FALSE; /* over what ran here while the last rank computed */
  if (to_ps > since_ps)
    state->resumed_ps = to_ps;
  while (to_ps > since_ps) {
    const LsHistory *entry = find_entry (e, cause);
    if (!entry || (entry->end_ps > to_ps && !jumped)) {
      charge (state, forgotten, to_ps - since_ps);
      return;
    }
    forgotten = entry->cause.stream == cause.stream && entry->cause.ordinal >= 0 ? entry->part
                                                                                 : e->idle_part;
    gint64 end_ps = CLAMP (entry->end_ps, since_ps, to_ps);
    gint64 start_ps = CLAMP (entry->start_ps, since_ps, end_ps);
    gint64 ready_ps = CLAMP (entry->ready_ps, since_ps, start_ps);
    if (entry->start_ps > entry->ready_ps && entry->start_ps - entry->late_ps < entry->ready_ps) {
      ready_ps = CLAMP (entry->start_ps - entry->late_ps, since_ps, ready_ps);
      jumped = TRUE;
    }
    charge (state, e->idle_part, to_ps - end_ps);
    charge (state, entry->covered ? entry->blame : entry->part, end_ps - start_ps);
    charge (state, entry->blame, start_ps - ready_ps);
    to_ps = ready_ps;
    cause = entry->cause;
  }
}

guint8 ls_account_blame (LsEngine *e, LsCause cause, guint8 wait_part) {
  for (guint hops = 0; hops < LS_HISTORY; hops++) {
    const LsHistory *entry = find_entry (e, cause);
    if (!entry)
      return wait_part; /* a kernel, or nothing yet */
    if (entry->end_ps > entry->start_ps)
      return entry->part;
    if (entry->start_ps > entry->ready_ps)
      return entry->blame;
    cause = entry->cause;
  }
  return wait_part;
}

void ls_account_ended (LsEngine *e, guint32 rank, guint stream, const LsHistory *entry) {
  LsStream *st = ls_stream_at (e, rank, stream);
  LsHistory *kept = ls_account_history (e, rank, stream, st->history_next);
  *kept = *entry;
  kept->known = TRUE;
  st->history_next = (st->history_next + 1) % LS_HISTORY;
  if (stream != LS_MAIN_STREAM)
    return;
  LsRankState *state = ls_rank_at (e, rank);
  gint64 from_ps = state->accounted_ps;
  gint64 start_ps = CLAMP (entry->start_ps, from_ps, MAX (entry->end_ps, from_ps));
  charge (state, entry->blame, start_ps - from_ps);
  charge (state, entry->part, MAX (entry->end_ps, from_ps) - start_ps);
}

void ls_account_memory (LsEngine *e, guint32 rank, guint kind, gint64 bytes, gint64 t_ps) {
  LsRankMemory *memory = &e->memory[rank];
  LS_ASSERT (kind < LS_MEMORY_KINDS);
  if (t_ps > memory->time_ps) {
    if (memory->total > memory->peak_total) {
      memory->peak_total = memory->total;
      memcpy (memory->peak_by_kind, memory->now, sizeof memory->now);
    }
    memory->time_ps = t_ps;
  }
  memory->now[kind] += bytes;
  memory->total += bytes;
  LS_REQUIRE (memory->now[kind] >= 0, "rank %u releases more memory of kind %u than it holds", rank,
              kind);
  if (!ls_rank_at (e, rank)->observed)
    return;
  for (guint o = 0; o < e->n_observers; o++)
    if (e->observers[o]->memory)
      e->observers[o]->memory (e->observer_selves[o], rank, kind, t_ps, memory->now[kind]);
}

void ls_account_claim (LsEngine *e, guint32 rank, guint stream, const LsOp *op) {
  if (op->claim_bytes == 0)
    return;
  ls_device_sync_rank (e, rank, stream);
  ls_account_memory (e, rank, op->claim_kind, op->claim_bytes, e->now_ps);
}

void ls_account_release (LsEngine *e, guint32 rank, guint stream, const LsOp *op) {
  if (op->release_bytes == 0)
    return;
  ls_device_sync_rank (e, rank, stream);
  ls_account_memory (e, rank, op->release_kind, -op->release_bytes, e->now_ps);
}

LsOpRecord ls_account_new_record (LsEngine *e, guint32 rank, guint stream, const LsOp *op,
                                  const LsHistory *span, const LsActivity *activity,
                                  gint64 busy_at_start_ps) {
  gint64 length_ps = span->end_ps - span->start_ps;
  LsOpRecord record = {.rank = rank,
                       .stream = (guint16) stream,
                       .ordinal = span->ordinal,
                       .op = op,
                       .counters = ls_stream_at (e, rank, stream)->counters,
                       .ready_ps = span->ready_ps,
                       .start_ps = span->start_ps,
                       .end_ps = span->end_ps,
                       .alone_ps = length_ps,
                       .cause = span->cause,
                       .cause_resource = LS_NO_RESOURCE,
                       .bottleneck = LS_NO_RESOURCE,
                       .group = LS_NO_GROUP,
                       .last_rank = LS_NO_RANK,
                       .peer = LS_NO_RANK};
  if (busy_at_start_ps >= 0) {
    gint64 busy_ps = ls_account_busy_ps (e, rank) - busy_at_start_ps;
    record.exposed_ps =
        stream == LS_MAIN_STREAM ? length_ps : CLAMP (length_ps - busy_ps, 0, length_ps);
  }
  if (activity) {
    record.alone_ps = MIN (activity->alone_ps, length_ps);
    record.bottleneck = activity->load.bottleneck;
    record.transfer = activity->cached->transfer;
    record.transfer_bytes = ls_activity_bytes (activity);
  }
  return record;
}

void ls_account_record (LsEngine *e, LsOpRecord *record) {
  for (guint o = 0; o < e->n_observers; o++)
    if (e->observers[o]->op)
      e->observers[o]->op (e->observer_selves[o], record);
}

void ls_account_mark (LsEngine *e, guint32 rank, const LsOp *op, const gint32 *counters) {
  ls_convoys_dissolve (e); /* who is told may look at anything */
  for (guint o = 0; o < e->n_observers; o++)
    if (e->observers[o]->mark)
      e->observers[o]->mark (e->observer_selves[o], rank, op, counters, e->now_ps);
}
