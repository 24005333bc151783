/* Executor: moves the streams of ranks through their programs.
 *
 * Model:      a stream is at an instruction with loop counters. Control instructions take no time.
 *             An operation is issued once its waits are passed: that instant is its ready time. The
 *             operation whose end made it ready last is its cause.
 * Invariants: position counts ended operations; a blocked stream is on the waiters mask of exactly
 *             one other stream of its rank; a stream is in the todo list at most once.
 * Cost:       O(1) per operation, no allocation. Streams to advance are queued, so chains of ends at
 *             one instant do not recurse.
 */
#include "base/memory.h"
#include "engine/engine_private.h"

#define MAX_CONTROL_STEPS (1u << 20)

static void queue (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  if (st->queued)
    return;
  st->queued = TRUE;
  LsStreamRef ref = {rank, (guint16) stream};
  ls_stream_refs_push (&e->todo, ref);
}

/* Passes waits in order; FALSE when the stream is now blocked on one. */
static gboolean pass_waits (LsEngine *e, guint32 rank, guint stream, LsStream *st,
                            const LsInstruction *instruction) {
  const LsProgram *program = ls_rank_at (e, rank)->program;
  for (; st->wait_index < instruction->n_waits; st->wait_index++) {
    const LsWait *wait = &program->waits[instruction->first_wait + st->wait_index];
    LsStream *target = ls_stream_at (e, rank, wait->stream);
    ls_convoy_leaves_rank (e, rank);
    if (target->position > ls_wait_ordinal (wait, st->counters, instruction->depth))
      continue;
    target->waiters |= 1u << stream;
    st->state = LS_STREAM_BLOCKED;
    return FALSE;
  }
  return TRUE;
}

/* `stream` has advanced past something watched: blocked streams look again. */
static void wake_waiters (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsProgram *program = ls_rank_at (e, rank)->program;
  guint32 mask = st->waiters;
  while (mask) {
    guint other = (guint) __builtin_ctz (mask);
    mask &= mask - 1;
    LsStream *blocked = ls_stream_at (e, rank, other);
    const LsInstruction *instruction = &program->streams[other].instructions[blocked->pc];
    const LsWait *wait = &program->waits[instruction->first_wait + blocked->wait_index];
    if (st->position <= ls_wait_ordinal (wait, blocked->counters, instruction->depth))
      continue;
    st->waiters &= ~(1u << other);
    blocked->cause = (LsCause){rank, (guint16) stream, st->last_ordinal};
    blocked->state = LS_STREAM_READY;
    blocked->wait_index++;
    queue (e, rank, other);
  }
}

gint64 ls_executor_work_ps (LsEngine *e, guint32 rank, guint stream, gint64 ordinal,
                            const LsOp *op) {
  gint64 work_ps = op->work_ps;
  if (op->flags & LS_OP_WORK_TABLE)
    work_ps = ls_table_value (e, op->table, rank, stream, op);
  if (op->flags & LS_OP_DRAWN)
    work_ps = e->draw_func (e->draw_self, rank, op, ls_stream_at (e, rank, stream)->counters);
  if (e->work_func && op->kind != LS_OP_MEMORY && !ls_rank_at (e, rank)->steady)
    work_ps = e->work_func (e->work_self, rank, stream, ordinal, op, work_ps);
  LS_ASSERT (work_ps >= 0);
  return work_ps;
}

LsSlotEntry ls_executor_slot (LsEngine *e, guint32 rank, const LsOp *op) {
  const LsRankState *state = ls_rank_at (e, rank);
  LS_REQUIRE (op->slot < state->n_slots && ls_slot_at (e, state, op->slot)->group != LS_NONE,
              "rank %u has no group in slot %u", rank, op->slot);
  return *ls_slot_at (e, state, op->slot);
}

guint32 ls_executor_peer (LsEngine *e, guint32 rank, const LsOp *op, LsSlotEntry slot) {
  gint64 peer = op->peer;
  if (op->flags & LS_OP_PEER_TABLE)
    peer = g_array_index (e->tables, LsTable, (guint) op->peer).values[rank];
  const LsGroup *group = ls_group_at (e, slot.group);
  guint32 position = group->positions ? group->positions[slot.position] : slot.position;
  if (op->flags & LS_OP_PEER_RELATIVE)
    peer += position;
  LS_REQUIRE (peer >= 0 && peer < group->size && peer != position,
              "rank %u: peer %" G_GINT64_FORMAT " is not another member", rank, peer);
  if (group->peers)
    return group->peers[(gsize) slot.position * group->size + (gsize) peer];
  LS_REQUIRE (group->size == group->n, "a folded group without peers sends");
  return group->ranks[peer];
}

gboolean ls_executor_skips (LsEngine *e, guint32 rank, const LsStream *st, const LsOp *op) {
  const guint8 *skips = ls_rank_at (e, rank)->skips;
  return (op->flags & LS_OP_OPTIONAL) != 0 && skips != NULL && skips[st->counters[0]] != 0;
}

/* What is skipped is a delay of no time. */
static void start_delay (LsEngine *e, guint32 rank, guint stream, LsStream *st, const LsOp *op) {
  gint64 work_ps = ls_executor_skips (e, rank, st, op)
                       ? 0
                       : ls_executor_work_ps (e, rank, stream, st->position, op);
  st->start_ps = e->now_ps;
  st->state = LS_STREAM_DELAYED;
  ls_account_claim (e, rank, stream, op);
  LsEvent event = {LS_EVENT_DELAY_END, rank, stream};
  st->event = ls_event_queue_push (e->queue, e->now_ps + work_ps, 1, event);
}

static void issue (LsEngine *e, guint32 rank, guint stream, LsStream *st, const LsOp *op) {
  st->ready_ps = e->now_ps;
  if (stream == LS_MAIN_STREAM)
    ls_account_main_start (e, rank);
  if (ls_executor_skips (e, rank, st, op)) {
    start_delay (e, rank, stream, st, op);
    return;
  }
  switch ((LsOpKind) op->kind) {
  case LS_OP_KERNEL:
  case LS_OP_MEMORY:
  case LS_OP_HOST:
    ls_device_start_block (e, rank, stream);
    break;
  case LS_OP_COLLECTIVE:
    ls_group_arrive (e, rank, stream);
    break;
  case LS_OP_SEND:
  case LS_OP_RECV:
  case LS_OP_PUT:
  case LS_OP_BUNDLE:
    ls_message_issue (e, rank, stream);
    break;
  case LS_OP_COPY:
    ls_copy_issue (e, rank, stream);
    break;
  case LS_OP_DELAY:
    start_delay (e, rank, stream, st, op);
    break;
  case LS_OP_REPEAT:
  case LS_OP_END:
    LS_REQUIRE (FALSE, "a control instruction was issued");
  }
}

static void finish_stream (LsEngine *e, guint32 rank, LsStream *st) {
  st->state = LS_STREAM_FINISHED;
  ls_rank_at (e, rank)->n_open--;
  e->n_open--;
}

/* Goes through control instructions to the next operation and issues it if it may run. */
static void advance (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  if (st->state != LS_STREAM_READY)
    return;
  const LsStreamCode *code = &ls_rank_at (e, rank)->program->streams[stream];
  for (guint steps = 0;; steps++) {
    LS_REQUIRE (steps < MAX_CONTROL_STEPS, "rank %u: a repeat without operations", rank);
    if (st->pc >= code->n_instructions) {
      finish_stream (e, rank, st);
      return;
    }
    const LsInstruction *instruction = &code->instructions[st->pc];
    if (instruction->op.kind == LS_OP_REPEAT) {
      st->counters[instruction->depth] = 0;
      st->pc = instruction->count > 0 ? st->pc + 1 : instruction->jump;
    } else if (instruction->op.kind == LS_OP_END) {
      gboolean again = ++st->counters[instruction->depth] < instruction->count;
      st->pc = again ? instruction->jump : st->pc + 1;
    } else {
      if (pass_waits (e, rank, stream, st, instruction))
        issue (e, rank, stream, st, &instruction->op);
      return;
    }
  }
}

void ls_executor_drain (LsEngine *e) {
  /* FIFO: the list grows while it is walked. */
  for (guint i = 0; i < e->todo.len; i++) {
    LsStreamRef ref = e->todo.data[i];
    ls_stream_at (e, ref.rank, ref.stream)->queued = FALSE;
    advance (e, ref.rank, ref.stream);
  }
  e->todo.len = 0;
}

void ls_executor_complete (LsEngine *e, guint32 rank, guint stream, guint32 n) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsInstruction *first = ls_instruction_at (e, rank, stream, st->pc);
  guint32 length = first->op.kind == LS_OP_BUNDLE ? n + 1 : n;
  st->position += n;
  st->last_ordinal = st->position - 1;
  st->pc += length;
  st->wait_index = 0;
  st->state = LS_STREAM_READY;
  st->event = LS_EVENT_NONE;
  st->cause = (LsCause){rank, (guint16) stream, st->last_ordinal};
  e->n_operations += n;
  if (st->waiters)
    wake_waiters (e, rank, stream);
  queue (e, rank, stream);
}

void ls_executor_start_rank (LsEngine *e, guint32 rank) {
  const LsRankState *state = ls_rank_at (e, rank);
  ls_account_busy (e, rank, e->idle_part, e->now_ps - state->accounted_ps);
  for (guint s = 0; s < state->n_streams; s++)
    queue (e, rank, s);
}

void ls_executor_start (LsEngine *e) {
  /* Zeroed, and untouched until something is written: most ranks never need all of it. */
  e->history = ls_memory_new_sparse ((gsize) e->streams->len * LS_HISTORY, sizeof (LsHistory));
  e->memory = ls_memory_new_sparse (e->ranks->len, sizeof (LsRankMemory));
  for (guint32 rank = 0; rank < e->ranks->len; rank++) {
    const LsRankState *state = ls_rank_at (e, rank);
    if (state->start_ps <= e->now_ps)
      ls_executor_start_rank (e, rank);
    else if (state->n_streams > 0)
      ls_event_queue_push (e->queue, state->start_ps, 1, (LsEvent){LS_EVENT_RANK_START, rank, 0});
  }
}
