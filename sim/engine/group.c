/* Collectives: the members of a group meet, then one activity, or messages, carry them all.
 *
 * Model:      the k-th collective of a group pairs the k-th arrival of every member. It starts when
 *             the last has come. By phases (activity.c) all members end with it; as messages
 *             (rounds.c) each ends by itself. The SMs of its kernel are held on each member from that
 *             member's own arrival to its end.
 * Invariants: a group serves one stream of each member (like a communicator), so at most one
 *             collective of a group gathers its members, and at most one runs; all members must ask
 *             for the same descriptor.
 * Cost:       O(members) at the start and at the end; the template is asked for once.
 * Left out:   phases that some members leave early (broadcast trees end together there).
 */
#include "base/error.h"
#include "engine/engine_private.h"

static const LsOp *member_op (LsEngine *e, guint32 rank, guint stream) {
  return &ls_instruction_at (e, rank, stream, ls_stream_at (e, rank, stream)->pc)->op;
}

LsCachedTransfer *ls_group_transfer (LsEngine *e, guint32 number, guint descriptor) {
  LsGroup *group = ls_group_at (e, number);
  LsCachedTransfer *cached = ls_cached_transfer_at (group->cached, descriptor);
  if (cached)
    return cached;
  LS_REQUIRE (e->expander, "a collective without an expander");
  cached = ls_cached_transfer_new (e->expander->collective (e->expander_self, number, descriptor));
  if (group->cached->len <= descriptor)
    g_ptr_array_set_size (group->cached, (gint) descriptor + 1);
  g_ptr_array_index (group->cached, descriptor) = cached;
  return cached;
}

static void record_member (LsEngine *e, guint32 number, const LsMeeting *meeting,
                           const LsHistory *span, guint32 rank, guint stream,
                           const LsActivity *activity) {
  LsStream *st = ls_stream_at (e, rank, stream);
  LsOpRecord record = ls_account_new_record (e, rank, stream, member_op (e, rank, stream), span,
                                             activity, st->busy_at_start_ps);
  record.group = number;
  record.sequence = meeting->sequence;
  record.first_ready_ps = meeting->first_ready_ps;
  record.last_ready_ps = meeting->last_ready_ps;
  record.last_rank = meeting->last_rank;
  record.cause = meeting->last_cause; /* what let the last member come let it start */
  ls_account_record (e, &record);
}

/* For how long the rank has computed without a pause; 0: it does not now. */
static gint64 computing_ps (LsEngine *e, guint32 rank) {
  ls_convoy_leaves_rank (e, rank);
  const LsRankState *state = ls_rank_at (e, rank);
  if (ls_stream_at (e, rank, LS_MAIN_STREAM)->state != LS_STREAM_RUNNING &&
      state->accounted_ps < e->now_ps)
    return 0;
  return e->now_ps - state->resumed_ps;
}

/* One member is done: what it held is let go, its time is accounted. Streams go on afterwards. */
static void end_member (LsEngine *e, guint32 number, guint32 position, const LsMeeting *meeting,
                        const LsActivity *activity) {
  const LsGroup *group = ls_group_at (e, number);
  guint32 rank = group->ranks[position];
  guint stream = group->streams[position];
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsOp *op = member_op (e, rank, stream);
  LsRankState *state = ls_rank_at (e, rank);
  if (activity) {
    ls_device_hold (e, rank, -activity->cached->transfer->sm_held);
    if (!activity->cached->transfer->rounds) { /* messages are counted one by one */
      state->sent_bytes += activity->cached->transfer->wire_bytes;
      state->received_bytes += activity->cached->transfer->wire_bytes;
    }
  }
  ls_account_release (e, rank, stream, op);
  LsHistory entry = {.ordinal = st->position,
                     .ready_ps = st->ready_ps,
                     .start_ps = st->start_ps,
                     .end_ps = e->now_ps,
                     .cause = st->cause,
                     .part = op->part,
                     .blame = meeting->blame,
                     .late_ps = meeting->late_ps,
                     .covered = st->start_ps > st->ready_ps && meeting->late_ps > 0 &&
                                computing_ps (e, meeting->last_rank) >= e->now_ps - st->start_ps};
  ls_account_ended (e, rank, stream, &entry);
  if (state->observed)
    record_member (e, number, meeting, &entry, rank, stream, activity);
  if (op->flags & LS_OP_MARK)
    ls_account_mark (e, rank, op, st->counters);
}

static LsMeeting meeting_of (const LsGroup *group) {
  return (LsMeeting){.sequence = group->sequence,
                     .first_ready_ps = group->first_ready_ps,
                     .last_ready_ps = group->last_ready_ps,
                     .last_rank = group->last_rank,
                     .last_cause = group->last_cause,
                     .blame = group->blame,
                     .late_ps = group->late_ps};
}

static void end_meeting (LsEngine *e, guint32 number, const LsActivity *activity) {
  LsGroup *group = ls_group_at (e, number);
  const LsMeeting meeting = meeting_of (group);
  for (guint32 i = 0; i < group->n; i++)
    end_member (e, number, i, &meeting, activity);
  group->arrived = 0;
  group->sequence++;
  for (guint32 i = 0; i < group->n; i++) {
    group->here[i] = FALSE;
    ls_executor_complete (e, group->ranks[i], group->streams[i], 1);
  }
}

void ls_group_ended (LsEngine *e, guint32 number) {
  LsActivity activity = *ls_activity_at (e, ls_group_at (e, number)->activity);
  ls_group_at (e, number)->activity = LS_NONE;
  end_meeting (e, number, &activity);
}

void ls_group_member_ended (LsEngine *e, guint32 number, guint32 position, const LsMeeting *meeting,
                            const LsActivity *done) {
  const LsGroup *group = ls_group_at (e, number);
  end_member (e, number, position, meeting, done);
  ls_executor_complete (e, group->ranks[position], group->streams[position], 1);
}

/* The collective runs as messages: the group may gather for the next. */
static void start_rounds (LsEngine *e, guint32 number, LsCachedTransfer *cached) {
  LsGroup *group = ls_group_at (e, number);
  const LsMeeting meeting = meeting_of (group);
  group->arrived = 0;
  group->sequence++;
  for (guint32 i = 0; i < group->n; i++)
    group->here[i] = FALSE;
  ls_rounds_start (e, number, cached, &meeting);
}

/* The last member has come. */
static void start_meeting (LsEngine *e, guint32 number) {
  LsGroup *group = ls_group_at (e, number);
  guint last_stream = 0;
  for (guint32 i = 0; i < group->n; i++) {
    LsStream *st = ls_stream_at (e, group->ranks[i], group->streams[i]);
    st->start_ps = e->now_ps;
    if (ls_rank_at (e, group->ranks[i])->observed)
      st->busy_at_start_ps = ls_account_busy_ps (e, group->ranks[i]);
    if (group->ranks[i] == group->last_rank)
      last_stream = group->streams[i];
  }
  const LsOp *op = member_op (e, group->last_rank, last_stream);
  group->last_cause = ls_stream_at (e, group->last_rank, last_stream)->cause;
  group->blame = ls_account_blame (e, group->last_cause, op->wait_part);
  group->late_ps = group->blame == op->wait_part && group->first_ready_ps < e->now_ps
                       ? computing_ps (e, group->last_rank)
                       : 0;
  LsInt128 waited = (LsInt128) group->size * e->now_ps - group->sum_ready_ps;
  LsRankState *last = ls_rank_at (e, group->last_rank);
  last->caused_wait_ps += (gint64) waited;
  /* The group stands for as many as those that are like the last fill. */
  last->all_caused_ps += waited * (last->n_alike / ls_group_count (group, group->last_member));
  if (group->size == 1) {
    end_meeting (e, number, NULL);
    return;
  }
  gint64 bytes = -1;
  if (op->flags & LS_OP_WORK_TABLE)
    bytes = ls_table_value (e, op->table, group->last_rank, last_stream, op);
  LsCachedTransfer *cached = ls_group_transfer (e, number, group->descriptor);
  if (cached->transfer->rounds) {
    start_rounds (e, number, cached);
    return;
  }
  guint32 activity = ls_activity_start (e, cached, LS_OWNER_GROUP, number, 0, bytes);
  ls_group_at (e, number)->activity = activity;
  ls_activity_go (e, activity);
  ls_convoys_note (e, number);
}

static void set_fault (LsEngine *e, guint32 rank, const LsOp *op, const LsGroup *group) {
  if (e->fault)
    return;
  g_set_error (&e->fault, LS_ERROR, LS_ERROR_RUN,
               "rank %u calls collective %u of its group while another member is in collective %u "
               "(sequence %" G_GINT64_FORMAT
               "), or calls it from two streams: the programs of the group do not match",
               rank, op->descriptor, group->descriptor, group->sequence);
}

/* What the member calls, in this iteration. */
static guint16 descriptor_of (LsEngine *e, guint32 rank, const LsOp *op, const LsStream *st) {
  return op->flags & LS_OP_DRAWN ? (guint16) e->draw_func (e->draw_self, rank, op, st->counters)
                                 : op->descriptor;
}

void ls_group_arrive (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsOp *op = member_op (e, rank, stream);
  const guint16 descriptor = descriptor_of (e, rank, op, st);
  LsSlotEntry slot = ls_executor_slot (e, rank, op);
  LsGroup *group = ls_group_at (e, slot.group);
  st->state = LS_STREAM_MEETING;
  if ((group->arrived > 0 && group->descriptor != descriptor) || group->here[slot.position]) {
    set_fault (e, rank, op, group);
    return;
  }
  if (group->arrived == 0) {
    group->descriptor = descriptor;
    group->first_ready_ps = e->now_ps;
    group->sum_ready_ps = 0;
    group->last_ready_ps = -1;
  }
  group->here[slot.position] = TRUE;
  group->streams[slot.position] = (guint16) stream;
  group->arrived++;
  group->sum_ready_ps += (LsInt128) ls_group_count (group, slot.position) * e->now_ps;
  /* Of equals the lowest rank; where members stand for others, the first, which stands for the lowest. */
  gboolean lower = group->counts ? slot.position < group->last_member : rank < group->last_rank;
  if (e->now_ps > group->last_ready_ps || lower) {
    group->last_rank = rank;
    group->last_member = slot.position;
  }
  group->last_ready_ps = e->now_ps;
  ls_account_claim (e, rank, stream, op);
  if (group->size > 1)
    ls_device_hold (e, rank, ls_group_transfer (e, slot.group, descriptor)->transfer->sm_held);
  group = ls_group_at (e, slot.group);
  if (group->arrived == group->n)
    start_meeting (e, slot.group);
}
