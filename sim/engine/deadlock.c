/* Deadlock report: when nothing can happen any more, the cycle of who waits for whom.
 *
 * Model:      each unfinished stream waits for one other: the stream of its rank that it is blocked
 *             on, a member that has not come to its collective, or the other side of its message.
 *             From the first unfinished stream that chain is followed until it closes.
 */
#include "base/error.h"
#include "base/time.h"
#include "engine/engine_private.h"

/* The stream of `rank` that has an operation for `group` still to come; LS_MAIN_STREAM if none. */
static guint16 stream_serving (LsEngine *e, guint32 rank, guint32 group) {
  const LsRankState *state = ls_rank_at (e, rank);
  for (guint s = 0; s < state->n_streams; s++) {
    if (ls_stream_at (e, rank, s)->state == LS_STREAM_FINISHED)
      continue;
    const LsStreamCode *code = &state->program->streams[s];
    for (guint32 i = 0; i < code->n_instructions; i++) {
      guint16 slot = code->instructions[i].op.slot;
      if (slot < state->n_slots && ls_slot_at (e, state, slot)->group == group)
        return (guint16) s;
    }
  }
  return LS_MAIN_STREAM;
}

static LsStreamRef missing_member (LsEngine *e, guint32 number) {
  LsGroup *group = ls_group_at (e, number);
  for (guint32 i = 0; i < group->n; i++)
    if (!group->here[i])
      return (LsStreamRef){group->ranks[i], stream_serving (e, group->ranks[i], number)};
  return (LsStreamRef){LS_NO_RANK, 0};
}

/* The other side of the first send or receive of the stream that has not been answered. */
static LsStreamRef silent_peer (LsEngine *e, guint32 rank, guint stream, const LsOp *op,
                                guint32 pc) {
  guint32 n = op->kind == LS_OP_BUNDLE ? op->descriptor : 1;
  guint32 first = op->kind == LS_OP_BUNDLE ? pc + 1 : pc;
  for (guint32 i = 0; i < n; i++) {
    const LsOp *child = &ls_instruction_at (e, rank, stream, first + i)->op;
    LsSlotEntry slot = ls_executor_slot (e, rank, child);
    guint32 peer = ls_executor_peer (e, rank, child, slot);
    for (guint m = 0; m < e->messages->len; m++) {
      const LsMessage *message = ls_message_at (e, m);
      const LsChannel *channel = ls_channel_at (e, message->channel);
      gboolean waits = child->kind == LS_OP_RECV
                           ? channel->from == peer && channel->to == rank && !message->sent
                           : channel->from == rank && channel->to == peer && !message->posted;
      if (waits && !message->ended && channel->group == slot.group)
        return (LsStreamRef){peer, stream_serving (e, peer, slot.group)};
    }
  }
  return (LsStreamRef){LS_NO_RANK, 0};
}

/* Whom the stream waits for; appends a line that says so. */
static LsStreamRef explain (LsEngine *e, LsStreamRef ref, GString *text) {
  LsStream *st = ls_stream_at (e, ref.rank, ref.stream);
  const LsProgram *program = ls_rank_at (e, ref.rank)->program;
  LsStreamRef next = {LS_NO_RANK, 0};
  g_string_append_printf (text, "\n  rank %u, stream %s, operation %" G_GINT64_FORMAT, ref.rank,
                          program->streams[ref.stream].name, st->position);
  if (st->state == LS_STREAM_FINISHED || st->pc >= program->streams[ref.stream].n_instructions) {
    g_string_append (text, " has finished");
    return next;
  }
  const LsInstruction *instruction = ls_instruction_at (e, ref.rank, ref.stream, st->pc);
  LsSlotEntry slot;
  switch ((LsStreamState) st->state) {
  case LS_STREAM_BLOCKED:
    next = (LsStreamRef){ref.rank, program->waits[instruction->first_wait + st->wait_index].stream};
    g_string_append_printf (text, " waits for stream %s of its rank",
                            program->streams[next.stream].name);
    break;
  case LS_STREAM_MEETING:
    slot = ls_executor_slot (e, ref.rank, &instruction->op);
    if (ls_rounds_has (e, slot.group, slot.position))
      return (LsStreamRef){ls_rounds_explain (e, slot.group, slot.position, text),
                           (guint16) ref.stream};
    next = missing_member (e, slot.group);
    if (next.rank == LS_NO_RANK)
      g_string_append (text, " is in a transfer that stands still (a resource has no capacity)");
    else
      g_string_append_printf (text, " waits in a collective for rank %u", next.rank);
    break;
  case LS_STREAM_MESSAGE:
    if (st->activity == LS_NONE)
      next = silent_peer (e, ref.rank, ref.stream, &instruction->op, st->pc);
    if (next.rank == LS_NO_RANK)
      g_string_append (text, " is in a transfer that stands still (a resource has no capacity)");
    else
      g_string_append_printf (text, " waits in a send or receive for rank %u", next.rank);
    break;
  case LS_STREAM_RUNNING:
    g_string_append (text, " runs a kernel that stands still (its device has no speed)");
    break;
  case LS_STREAM_READY:
  case LS_STREAM_DELAYED:
  case LS_STREAM_FINISHED:
    break;
  }
  return next;
}

GError *ls_deadlock_error (LsEngine *e) {
  LsStreamRef ref = {LS_NO_RANK, 0};
  for (guint32 rank = 0; rank < e->ranks->len && ref.rank == LS_NO_RANK; rank++)
    for (guint s = 0; s < ls_rank_at (e, rank)->n_streams; s++)
      if (ls_stream_at (e, rank, s)->state != LS_STREAM_FINISHED) {
        ref = (LsStreamRef){rank, (guint16) s};
        break;
      }
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GArray) seen = g_array_new (FALSE, TRUE, sizeof (gboolean));
  g_array_set_size (seen, e->streams->len);
  gboolean closed = FALSE;
  while (ref.rank != LS_NO_RANK && ls_rank_at (e, ref.rank)->n_streams > ref.stream) {
    guint32 number = ls_rank_at (e, ref.rank)->first_stream + ref.stream;
    closed = g_array_index (seen, gboolean, number);
    if (closed)
      break;
    g_array_index (seen, gboolean, number) = TRUE;
    ref = explain (e, ref, text);
  }
  if (closed)
    g_string_append_printf (text, "\n  and so back to rank %u", ref.rank);
  return g_error_new (LS_ERROR, LS_ERROR_RUN,
                      "deadlock at %.9f s: %" G_GUINT64_FORMAT
                      " streams cannot go on; who waits for whom:%s",
                      ls_time_s_from_ps (e->now_ps), e->n_open, text->str);
}
