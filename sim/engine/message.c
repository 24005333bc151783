/* Messages: sends, receives, bundles of them, one-sided puts; and copies of one rank alone.
 *
 * Model:      the k-th send from one rank to another in a group pairs with the k-th receive. A
 *             rendezvous starts when both have come and ends for both. An eager send ends at once
 *             for the sender and travels on its own. A put needs no receive: at its end the engine
 *             calls the put handler. A bundle issues its children together and ends with the last.
 * Invariants: per channel one of the two queues (sends without receive, receives without send) is
 *             empty. A rank has at most one open copy per stream.
 * Cost:       one hash look-up per issue.
 */
#include "engine/engine_private.h"

static const LsOp *op_at (LsEngine *e, guint32 rank, guint stream, guint32 pc) {
  return &ls_instruction_at (e, rank, stream, pc)->op;
}

static guint32 find_channel (LsEngine *e, guint32 group, guint32 from, guint32 to) {
  LS_REQUIRE (group < (1u << 20) && from < (1u << 22) && to < (1u << 22),
              "too many ranks or groups for messages");
  gint64 key = ((gint64) group << 44) | ((gint64) from << 22) | to;
  gpointer found = g_hash_table_lookup (e->channel_of, &key);
  if (found)
    return GPOINTER_TO_UINT (found) - 1;
  LsChannel channel = {
      .group = group,
      .from = from,
      .to = to,
      .first_send = LS_NONE,
      .last_send = LS_NONE,
      .first_recv = LS_NONE,
      .last_recv = LS_NONE,
      .cached = g_ptr_array_new_with_free_func ((GDestroyNotify) ls_cached_transfer_free)};
  g_array_append_val (e->channels, channel);
  g_hash_table_insert (e->channel_of, g_memdup2 (&key, sizeof key),
                       GUINT_TO_POINTER (e->channels->len));
  return e->channels->len - 1;
}

static LsCachedTransfer *channel_transfer (LsEngine *e, guint32 number, guint descriptor) {
  LsChannel *channel = ls_channel_at (e, number);
  LsCachedTransfer *cached = ls_cached_transfer_at (channel->cached, descriptor);
  if (cached)
    return cached;
  LS_REQUIRE (e->expander, "a message without an expander");
  cached = ls_cached_transfer_new (
      e->expander->message (e->expander_self, channel->from, channel->to, descriptor));
  if (channel->cached->len <= descriptor)
    g_ptr_array_set_size (channel->cached, (gint) descriptor + 1);
  g_ptr_array_index (channel->cached, descriptor) = cached;
  return cached;
}

static guint32 new_message (LsEngine *e, guint32 channel) {
  guint32 number;
  if (e->free_messages.len > 0) {
    number = ls_numbers_pop (&e->free_messages);
  } else {
    number = e->messages->len;
    g_array_set_size (e->messages, number + 1);
  }
  *ls_message_at (e, number) = (LsMessage){
      .channel = channel, .next = LS_NONE, .activity = LS_NONE, .sequence = -1, .start_ps = -1};
  return number;
}

static void append_message (LsEngine *e, guint32 *first, guint32 *last, guint32 number) {
  if (*last != LS_NONE)
    ls_message_at (e, *last)->next = number;
  else
    *first = number;
  *last = number;
}

static guint32 take_message (LsEngine *e, guint32 *first, guint32 *last) {
  guint32 number = *first;
  if (number == LS_NONE)
    return LS_NONE;
  *first = ls_message_at (e, number)->next;
  if (*first == LS_NONE)
    *last = LS_NONE;
  ls_message_at (e, number)->next = LS_NONE;
  return number;
}

/* A child of the operation that the stream is in has ended. */
static void child_ended (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  LS_ASSERT (st->pending > 0);
  if (--st->pending > 0)
    return;
  const LsOp *op = op_at (e, rank, stream, st->pc);
  ls_executor_complete (e, rank, stream, op->kind == LS_OP_BUNDLE ? op->descriptor : 1);
}

static void record_side (LsEngine *e, const LsMessage *message, gboolean sending,
                         const LsHistory *entry, const LsOp *op, const LsActivity *activity) {
  const LsChannel *channel = ls_channel_at (e, message->channel);
  guint32 rank = sending ? channel->from : channel->to,
          other = sending ? channel->to : channel->from;
  guint stream = sending ? message->send_stream : message->recv_stream;
  LsOpRecord record =
      ls_account_new_record (e, rank, stream, op, entry, activity,
                             sending ? message->send_busy_ps : message->recv_busy_ps);
  record.group = channel->group;
  record.sequence = message->sequence;
  record.first_ready_ps = entry->ready_ps;
  record.last_ready_ps = entry->start_ps;
  record.last_rank = rank;
  record.peer = other;
  if (entry->ready_ps < entry->start_ps) { /* it waited for the other side */
    guint other_stream = sending ? message->recv_stream : message->send_stream;
    record.last_rank = other;
    record.cause = ls_stream_at (e, other, other_stream)->cause;
  }
  ls_account_record (e, &record);
}

/* One side of the message is over for its rank. */
static void end_side (LsEngine *e, LsMessage *message, gboolean sending,
                      const LsActivity *activity) {
  const LsChannel *channel = ls_channel_at (e, message->channel);
  guint32 rank = sending ? channel->from : channel->to;
  guint stream = sending ? message->send_stream : message->recv_stream;
  const LsOp *op = op_at (e, rank, stream, sending ? message->send_pc : message->recv_pc);
  LsStream *st = ls_stream_at (e, rank, stream);
  gint64 ready_ps = sending ? message->send_ready_ps : message->recv_ready_ps;
  gint64 begin_ps = message->start_ps >= 0 ? message->start_ps : e->now_ps;
  LsHistory entry = {.ordinal = sending ? message->send_ordinal : message->recv_ordinal,
                     .ready_ps = ready_ps,
                     .start_ps = MAX (begin_ps, ready_ps),
                     .end_ps = e->now_ps,
                     .cause = st->cause,
                     .part = op->part,
                     .blame = sending ? message->send_blame : message->recv_blame};
  ls_account_release (e, rank, stream, op);
  ls_account_ended (e, rank, stream, &entry);
  if (ls_rank_at (e, rank)->observed)
    record_side (e, message, sending, &entry, op, activity);
  if (op->flags & LS_OP_MARK)
    ls_account_mark (e, rank, op, st->counters);
}

static void hold_side (LsEngine *e, const LsMessage *message, gboolean sending, gint sign) {
  const LsChannel *channel = ls_channel_at (e, message->channel);
  guint32 rank = sending ? channel->from : channel->to;
  const LsOp *op = op_at (e, rank, sending ? message->send_stream : message->recv_stream,
                          sending ? message->send_pc : message->recv_pc);
  LsCachedTransfer *cached = channel_transfer (e, message->channel, op->descriptor);
  ls_device_hold (e, rank, sign * cached->transfer->sm_held);
}

static void start_message (LsEngine *e, guint32 number) {
  LsMessage *message = ls_message_at (e, number);
  LsChannel *channel = ls_channel_at (e, message->channel);
  const LsOp *op = op_at (e, channel->from, message->send_stream, message->send_pc);
  message->start_ps = e->now_ps;
  message->sequence = channel->sequence++;
  message->send_busy_ps = ls_account_busy_ps (e, channel->from);
  message->recv_busy_ps = ls_account_busy_ps (e, channel->to);
  gint64 bytes = -1;
  if (op->flags & LS_OP_WORK_TABLE)
    bytes = ls_table_value (e, op->table, channel->from, message->send_stream, op);
  LsCachedTransfer *cached = channel_transfer (e, message->channel, op->descriptor);
  guint32 activity = ls_activity_start (e, cached, LS_OWNER_MESSAGE, number, 0, bytes);
  ls_message_at (e, number)->activity = activity;
  ls_activity_go (e, activity);
}

/* Somebody waited for `rank`, and as long for each that it stands for. */
static void charge (LsEngine *e, guint32 rank, gint64 waited_ps) {
  LsRankState *state = ls_rank_at (e, rank);
  state->caused_wait_ps += waited_ps;
  state->all_caused_ps += (LsInt128) waited_ps * state->n_alike;
}

/* Both sides are there: who came first has waited for the other. */
static void meet (LsEngine *e, guint32 number) {
  LsMessage *message = ls_message_at (e, number);
  LsChannel *channel = ls_channel_at (e, message->channel);
  LsCause send_cause = ls_stream_at (e, channel->from, message->send_stream)->cause;
  LsCause recv_cause = ls_stream_at (e, channel->to, message->recv_stream)->cause;
  const LsOp *send_op = op_at (e, channel->from, message->send_stream, message->send_pc);
  const LsOp *recv_op = op_at (e, channel->to, message->recv_stream, message->recv_pc);
  if (message->recv_ready_ps < e->now_ps) {
    message->recv_blame = ls_account_blame (e, send_cause, recv_op->wait_part);
    charge (e, channel->from, e->now_ps - message->recv_ready_ps);
  }
  if (message->send_ready_ps < e->now_ps) {
    message->send_blame = ls_account_blame (e, recv_cause, send_op->wait_part);
    charge (e, channel->to, e->now_ps - message->send_ready_ps);
  }
  start_message (e, number);
}

static void free_message (LsEngine *e, guint32 number) {
  ls_message_at (e, number)->ended = TRUE;
  ls_numbers_push (&e->free_messages, number);
}

/* An eager message has arrived and is received: the receiver's part is over. */
static void receive_delivered (LsEngine *e, guint32 number) {
  LsMessage message = *ls_message_at (e, number);
  guint32 to = ls_channel_at (e, message.channel)->to;
  end_side (e, &message, FALSE, NULL);
  free_message (e, number);
  child_ended (e, to, message.recv_stream);
}

void ls_message_ended (LsEngine *e, guint32 number) {
  LsMessage message = *ls_message_at (e, number);
  LsActivity activity = *ls_activity_at (e, message.activity);
  LsChannel channel = *ls_channel_at (e, message.channel);
  gint64 bytes = ls_activity_bytes (&activity);
  ls_rank_at (e, channel.from)->sent_bytes += bytes;
  ls_rank_at (e, channel.to)->received_bytes += bytes;
  hold_side (e, &message, TRUE, -1);
  if (message.posted)
    hold_side (e, &message, FALSE, -1);
  if (!message.eager)
    end_side (e, &message, TRUE, &activity);
  if (message.posted)
    end_side (e, &message, FALSE, &activity);
  if (message.put || message.posted)
    free_message (e, number);
  else
    ls_message_at (e, number)->delivered = TRUE;
  if (!message.eager)
    child_ended (e, channel.from, message.send_stream);
  if (message.posted)
    child_ended (e, channel.to, message.recv_stream);
}

static void issue_send (LsEngine *e, guint32 rank, guint stream, guint32 pc, gint64 ordinal) {
  const LsOp *op = op_at (e, rank, stream, pc);
  LsSlotEntry slot = ls_executor_slot (e, rank, op);
  guint32 number = find_channel (e, slot.group, rank, ls_executor_peer (e, rank, op, slot));
  LsChannel *channel = ls_channel_at (e, number);
  gboolean put = op->kind == LS_OP_PUT;
  guint32 m = put ? LS_NONE : take_message (e, &channel->first_recv, &channel->last_recv);
  gboolean paired = m != LS_NONE;
  if (!paired)
    m = new_message (e, number);
  LsMessage *message = ls_message_at (e, m);
  message->sent = TRUE;
  message->put = put;
  message->eager = (op->flags & LS_OP_EAGER) != 0;
  message->send_stream = (guint16) stream;
  message->send_pc = pc;
  message->send_ordinal = ordinal;
  message->send_ready_ps = e->now_ps;
  if (!paired && !put)
    append_message (e, &channel->first_send, &channel->last_send, m);
  ls_account_claim (e, rank, stream, op);
  hold_side (e, message, TRUE, 1);
  gboolean eager = message->eager;
  if (eager)
    end_side (e, message, TRUE, NULL);
  if (paired)
    meet (e, m);
  else if (eager || put)
    start_message (e, m);
  if (eager)
    child_ended (e, rank, stream);
}

static void issue_recv (LsEngine *e, guint32 rank, guint stream, guint32 pc, gint64 ordinal) {
  const LsOp *op = op_at (e, rank, stream, pc);
  LsSlotEntry slot = ls_executor_slot (e, rank, op);
  guint32 number = find_channel (e, slot.group, ls_executor_peer (e, rank, op, slot), rank);
  LsChannel *channel = ls_channel_at (e, number);
  guint32 m = take_message (e, &channel->first_send, &channel->last_send);
  gboolean paired = m != LS_NONE;
  if (!paired) {
    m = new_message (e, number);
    append_message (e, &channel->first_recv, &channel->last_recv, m);
  }
  LsMessage *message = ls_message_at (e, m);
  message->posted = TRUE;
  message->recv_stream = (guint16) stream;
  message->recv_pc = pc;
  message->recv_ordinal = ordinal;
  message->recv_ready_ps = e->now_ps;
  message->recv_busy_ps = ls_account_busy_ps (e, rank);
  ls_account_claim (e, rank, stream, op);
  if (paired && message->delivered) {
    message->start_ps = -1;
    receive_delivered (e, m);
    return;
  }
  hold_side (e, message, FALSE, 1);
  if (paired && !message->eager)
    meet (e, m);
}

void ls_message_issue (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsOp *op = op_at (e, rank, stream, st->pc);
  guint32 n = op->kind == LS_OP_BUNDLE ? op->descriptor : 1;
  guint32 first = op->kind == LS_OP_BUNDLE ? st->pc + 1 : st->pc;
  st->state = LS_STREAM_MESSAGE;
  st->start_ps = e->now_ps;
  st->activity = LS_NONE;
  st->pending = n + 1; /* one more, so that it cannot end while children are being issued */
  gint64 position = st->position;
  for (guint32 i = 0; i < n; i++) {
    if (op_at (e, rank, stream, first + i)->kind == LS_OP_RECV)
      issue_recv (e, rank, stream, first + i, position + i);
    else
      issue_send (e, rank, stream, first + i, position + i);
  }
  child_ended (e, rank, stream);
}

void ls_copy_issue (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsOp *op = op_at (e, rank, stream, st->pc);
  gint64 key = ((gint64) rank << 16) | op->descriptor;
  LsCachedTransfer *cached = g_hash_table_lookup (e->copy_of, &key);
  if (!cached) {
    LS_REQUIRE (e->expander, "a copy without an expander");
    cached = ls_cached_transfer_new (e->expander->copy (e->expander_self, rank, op->descriptor));
    g_hash_table_insert (e->copy_of, g_memdup2 (&key, sizeof key), cached);
  }
  gint64 bytes = -1;
  if (op->flags & LS_OP_WORK_TABLE)
    bytes = ls_table_value (e, op->table, rank, stream, op);
  st->state = LS_STREAM_MESSAGE;
  st->pending = 1;
  st->start_ps = e->now_ps;
  st->busy_at_start_ps = ls_account_busy_ps (e, rank);
  ls_account_claim (e, rank, stream, op);
  ls_device_hold (e, rank, cached->transfer->sm_held);
  guint32 activity = ls_activity_start (e, cached, LS_OWNER_COPY, rank, stream, bytes);
  ls_stream_at (e, rank, stream)->activity = activity;
  ls_activity_go (e, activity);
}

void ls_copy_ended (LsEngine *e, guint32 rank, guint32 stream, guint32 number) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsActivity *activity = ls_activity_at (e, number);
  const LsTransfer *transfer = activity->cached->transfer;
  const LsOp *op = op_at (e, rank, stream, st->pc);
  ls_device_hold (e, rank, -transfer->sm_held);
  ls_account_release (e, rank, stream, op);
  LsHistory entry = {.ordinal = st->position,
                     .ready_ps = st->ready_ps,
                     .start_ps = st->start_ps,
                     .end_ps = e->now_ps,
                     .cause = st->cause,
                     .part = op->part,
                     .blame = op->wait_part};
  ls_account_ended (e, rank, stream, &entry);
  LsOpRecord record =
      ls_account_new_record (e, rank, stream, op, &entry, activity, st->busy_at_start_ps);
  if (ls_rank_at (e, rank)->observed)
    ls_account_record (e, &record);
  if (op->flags & LS_OP_MARK)
    ls_account_mark (e, rank, op, st->counters);
  st->activity = LS_NONE;
  ls_executor_complete (e, rank, stream, 1);
}
