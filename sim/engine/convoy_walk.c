/* Convoys, second half: a convoy's way through its program, and what its members have done on it.
 *
 * Model:      two cursors stand for the two streams of every member. A leg ends; its stream goes on, and so
 *             does the other if it waited for it, by the rules of executor.c. If exactly one of them issues
 *             something, and that is a block of kernels or the group's collective, it is the next leg.
 * Invariants: until ls_convoy_commit() nothing but the walk changes. The sums are those of account.c,
 *             device.c and group.c for the same operations: the main stream is idle between its blocks
 *             and charged to the collectives that it waits for; kernels leave no history, so a collective
 *             that a kernel let start is blamed on what it says itself (wait_part).
 * Cost:       O(1) per leg, without memory of its own; a commit is O(1), however many legs there were.
 */
#include <string.h>

#include "engine/convoy_private.h"

/* --- memory --- */

static void claim (LsConvoyMemory *memory, guint kind, gint64 bytes, gint64 t_ps) {
  if (memory->last_ps < 0) {
    memory->first_ps = t_ps;
  } else if (t_ps > memory->last_ps && memory->total > memory->peak) {
    memory->peak = memory->total;
    memcpy (memory->at_peak, memory->now, sizeof memory->now);
  }
  memory->last_ps = t_ps;
  memory->now[kind] += bytes;
  memory->total += bytes;
}

static void commit_memory (LsRankMemory *memory, const LsConvoyMemory *walked) {
  if (walked->last_ps < 0)
    return;
  if (walked->first_ps > memory->time_ps && memory->total > memory->peak_total) {
    memory->peak_total = memory->total;
    memcpy (memory->peak_by_kind, memory->now, sizeof memory->now);
  }
  if (walked->peak > G_MININT64 && memory->total + walked->peak > memory->peak_total) {
    memory->peak_total = memory->total + walked->peak;
    for (guint k = 0; k < LS_MEMORY_KINDS; k++)
      memory->peak_by_kind[k] = memory->now[k] + walked->at_peak[k];
  }
  for (guint k = 0; k < LS_MEMORY_KINDS; k++)
    memory->now[k] += walked->now[k];
  memory->total += walked->total;
  memory->time_ps = walked->last_ps;
}

/* --- the way --- */

static const LsInstruction *instruction_at (const LsConvoy *convoy, guint which, guint32 pc) {
  return &convoy->program->streams[convoy->stream[which]].instructions[pc];
}

gint64 ls_convoy_outer_position (const LsConvoy *convoy, guint stream) {
  const LsGroup *group = ls_group_at (convoy->e, convoy->group);
  gint64 least = G_MAXINT64;
  for (guint32 i = 0; i < group->n; i++)
    least = MIN (least, ls_stream_at (convoy->e, group->ranks[i], stream)->position);
  return least;
}

static gboolean pass_waits (const LsConvoy *convoy, LsWalk *walk, guint which,
                            const LsInstruction *instruction) {
  LsCursor *cursor = &walk->cursor[which];
  for (; cursor->wait_index < instruction->n_waits; cursor->wait_index++) {
    guint32 index = instruction->first_wait + cursor->wait_index;
    const LsWait *wait = &convoy->program->waits[index];
    gint64 ordinal = ls_wait_ordinal (wait, cursor->counters, instruction->depth);
    guint other = which ^ 1u;
    gboolean inside = convoy->n_cursors == 2 && wait->stream == convoy->stream[other];
    gint64 position =
        inside ? walk->cursor[other].position : ls_convoy_outer_position (convoy, wait->stream);
    gboolean passed = position > ordinal;
    if (convoy->watching && (inside || passed))
      ls_convoy_ask (convoy->watching, which, index, instruction->depth, inside, ordinal);
    if (passed)
      continue;
    if (inside)
      walk->cursor[other].waiters |= 1u << convoy->stream[which];
    else
      walk->stuck = TRUE;
    cursor->state = LS_STREAM_BLOCKED;
    return FALSE;
  }
  return TRUE;
}

static gboolean next_block (const LsConvoy *convoy, LsLeg *leg, const LsInstruction *first,
                            guint32 pc) {
  if (first->block == LS_NO_BLOCK)
    return FALSE;
  const LsKernelBlock *block = &convoy->program->blocks[first->block];
  if (block->varying || block->begin != pc || block->total_ps == 0 ||
      (instruction_at (convoy, 0, block->end - 1)->op.flags & LS_OP_MARK))
    return FALSE;
  leg->block = block;
  leg->n = block->end - block->begin;
  leg->end_ps = leg->start_ps + block->total_ps;
  return TRUE;
}

static gboolean next_collective (LsConvoy *convoy, LsLeg *leg, const LsOp *op) {
  if (op->slot != convoy->slot)
    return FALSE;
  LsCachedTransfer *cached = ls_group_transfer (convoy->e, convoy->group, op->descriptor);
  guint used = 0;
  while (used < convoy->n_used && convoy->used[used] != cached)
    used++;
  if (used == convoy->n_used && !(convoy->watching && ls_convoy_claim (convoy, cached)))
    return FALSE;
  convoy->descriptors[used] = op->descriptor;
  leg->used = used;
  leg->n = 1;
  leg->end_ps = leg->start_ps + cached->solo_ps;
  return TRUE;
}

/* The stream issues this. */
static void issue (LsConvoy *convoy, LsWalk *walk, guint which, LsLeg *next,
                   const LsInstruction *instruction) {
  const guint8 unfit = LS_OP_WORK_TABLE | LS_OP_DRAWN | LS_OP_MARK | LS_OP_OPTIONAL;
  const LsOp *op = &instruction->op;
  LsCursor *cursor = &walk->cursor[which];
  *next = (LsLeg){.start_ps = walk->leg.end_ps, .op = op};
  gboolean fits = FALSE;
  if (!walk->issued && (op->flags & unfit) == 0) {
    if (which == 0 && ls_op_is_kernel (op->kind))
      fits = next_block (convoy, next, instruction, cursor->pc);
    else if (which == convoy->n_cursors - 1 && op->kind == LS_OP_COLLECTIVE)
      fits = next_collective (convoy, next, op);
  }
  cursor->state = next->block ? LS_STREAM_RUNNING : LS_STREAM_MEETING;
  walk->issued = TRUE;
  walk->stuck |= !fits;
}

static void advance (LsConvoy *convoy, LsWalk *walk, guint which, LsLeg *next) {
  const LsStreamCode *code = &convoy->program->streams[convoy->stream[which]];
  LsCursor *cursor = &walk->cursor[which];
  for (guint steps = 0; cursor->state == LS_STREAM_READY && !walk->stuck; steps++) {
    if (cursor->pc >= code->n_instructions || steps > 4u * LS_MAX_LOOP_DEPTH) {
      walk->stuck = TRUE;
      return;
    }
    const LsInstruction *instruction = &code->instructions[cursor->pc];
    guint8 kind = instruction->op.kind;
    if (convoy->watching && (kind == LS_OP_REPEAT || kind == LS_OP_END))
      convoy->watching->turned[which] |= 1u << instruction->depth;
    if (kind == LS_OP_REPEAT) {
      cursor->counters[instruction->depth] = 0;
      cursor->pc = instruction->count > 0 ? cursor->pc + 1 : instruction->jump;
    } else if (kind == LS_OP_END) {
      gboolean again = ++cursor->counters[instruction->depth] < instruction->count;
      cursor->pc = again ? instruction->jump : cursor->pc + 1;
    } else if (pass_waits (convoy, walk, which, instruction)) {
      issue (convoy, walk, which, next, instruction);
    }
  }
}

/* The other stream waited for what has ended: it goes on first, as in the executor. */
static void wake (const LsConvoy *convoy, LsWalk *walk, guint which) {
  guint other = which ^ 1u;
  LsCursor *ended = &walk->cursor[which], *blocked = &walk->cursor[other];
  walk->stuck |= ended->position > convoy->bound[which];
  if (convoy->n_cursors < 2 || (ended->waiters & (1u << convoy->stream[other])) == 0)
    return;
  const LsInstruction *instruction = instruction_at (convoy, other, blocked->pc);
  guint32 index = instruction->first_wait + blocked->wait_index;
  gint64 ordinal =
      ls_wait_ordinal (&convoy->program->waits[index], blocked->counters, instruction->depth);
  if (convoy->watching)
    ls_convoy_ask (convoy->watching, other, index, instruction->depth, TRUE, ordinal);
  if (ended->position <= ordinal)
    return;
  ended->waiters &= ~(1u << convoy->stream[other]);
  blocked->cause_stream = convoy->stream[which];
  blocked->cause_ordinal = ended->position - 1;
  blocked->state = LS_STREAM_READY;
  blocked->wait_index++;
}

/* --- its sums --- */

static guint side_of (const LsConvoy *convoy) {
  return convoy->n_cursors - 1;
}

static void charge (LsWalk *walk, guint part, gint64 ps) {
  walk->parts_ps[part] += ps;
  walk->accounted_ps += ps;
}

static void block_ended (const LsConvoy *convoy, LsWalk *walk, const LsLeg *leg) {
  const LsKernelBlock *block = leg->block;
  const LsBlockMemory *memory = &convoy->program->memory[block->first_memory];
  for (guint32 i = 0; i < block->n_memory; i++)
    claim (&walk->memory, memory[i].kind, memory[i].bytes, leg->start_ps + memory[i].offset_ps);
  for (guint p = 0; p < block->n_parts; p++)
    charge (walk, block->part[p], block->part_ps[p]);
  walk->flops += block->flops;
  walk->busy_ps += block->total_ps;
}

/* `before`: the stream as it was in the leg. */
static void collective_ended (const LsConvoy *convoy, LsWalk *walk, const LsLeg *leg,
                              const LsCursor *before) {
  const LsOp *op = leg->op;
  gint64 length_ps = leg->end_ps - leg->start_ps;
  if (op->release_bytes)
    claim (&walk->memory, op->release_kind, -op->release_bytes, leg->end_ps);
  walk->n_collectives++;
  walk->wire_bytes += convoy->used[leg->used]->transfer->wire_bytes;
  walk->times[leg->used]++;
  if (walk->n_legs == 0) {
    walk->first_end_ps = leg->end_ps;
    return; /* what its members waited for is in their streams: ls_convoy_commit() */
  }
  walk->history[walk->n_history++ % LS_HISTORY] =
      (LsHistory){.ordinal = before->position,
                  .ready_ps = leg->start_ps,
                  .start_ps = leg->start_ps,
                  .end_ps = leg->end_ps,
                  .cause = {.stream = before->cause_stream, .ordinal = before->cause_ordinal},
                  .part = op->part,
                  .blame = leg->blame,
                  .known = TRUE};
  if (convoy->n_cursors == 1) {
    charge (walk, op->part, length_ps);
    return;
  }
  walk->gaps[walk->n_gaps].ps = length_ps;
  walk->gaps[walk->n_gaps++].part = op->part;
}

static void begin_leg (const LsConvoy *convoy, LsWalk *walk, const LsLeg *next, const LsOp *last) {
  walk->leg = *next;
  if (next->block) {
    for (guint i = 0; i < walk->n_gaps; i++) {
      charge (walk, walk->gaps[i].part, walk->gaps[i].ps);
      if (walk->gaps[i].ps > 0)
        walk->resumed_ps = next->start_ps;
    }
    walk->n_gaps = 0;
    return;
  }
  if (next->op->claim_bytes)
    claim (&walk->memory, next->op->claim_kind, next->op->claim_bytes, next->start_ps);
  const LsCursor *side = &walk->cursor[side_of (convoy)];
  gboolean chained = last && side->cause_stream == convoy->stream[side_of (convoy)];
  walk->leg.blame = chained ? last->part : next->op->wait_part;
}

/* The first leg is followed by a block: what the main stream waited for until then is in real histories. */
static gboolean follows (const LsWalk *walk, const LsLeg *next) {
  return next->block || (walk->n_legs > 0 && walk->n_gaps < LS_CONVOY_MAX_GAPS);
}

/* Tries what comes after the leg; the walk is as it was if there is nothing for a convoy. */
static gboolean go_on (LsConvoy *convoy, LsWalk *walk, guint which, LsLeg *next) {
  const LsCursor before[2] = {walk->cursor[0], walk->cursor[1]};
  LsConvoyMemo *watching = convoy->watching;
  guint n_asked = watching ? watching->n_asked : 0;
  guint32 turned[2] = {watching ? watching->turned[0] : 0, watching ? watching->turned[1] : 0};
  LsCursor *cursor = &walk->cursor[which];
  walk->stuck = walk->issued = FALSE;
  cursor->position += walk->leg.n;
  cursor->pc += walk->leg.n;
  cursor->wait_index = 0;
  cursor->state = LS_STREAM_READY;
  cursor->cause_stream = convoy->stream[which];
  cursor->cause_ordinal = cursor->position - 1;
  wake (convoy, walk, which);
  if (convoy->n_cursors == 2)
    advance (convoy, walk, which ^ 1u, next);
  advance (convoy, walk, which, next);
  if (!walk->stuck && walk->issued && follows (walk, next))
    return TRUE;
  walk->cursor[0] = before[0];
  walk->cursor[1] = before[1];
  if (watching) { /* what was met on this way that leads nowhere does not count */
    watching->n_asked = n_asked;
    watching->turned[0] = turned[0];
    watching->turned[1] = turned[1];
  }
  return FALSE;
}

gboolean ls_convoy_cross (LsConvoy *convoy, LsWalk *walk) {
  const LsLeg ended = walk->leg;
  guint which = ended.block ? 0 : side_of (convoy);
  const LsCursor before = walk->cursor[which];
  LsLeg next = {0};
  if (!go_on (convoy, walk, which, &next))
    return FALSE;
  if (ended.block)
    block_ended (convoy, walk, &ended);
  else
    collective_ended (convoy, walk, &ended, &before);
  walk->n_legs++;
  walk->n_operations += ended.n;
  begin_leg (convoy, walk, &next, ended.block ? NULL : ended.op);
  return TRUE;
}

static LsCursor cursor_of (const LsStream *st) {
  LsCursor cursor = {.position = st->position,
                     .cause_ordinal = st->cause.ordinal,
                     .pc = st->pc,
                     .waiters = st->waiters,
                     .cause_stream = st->cause.stream,
                     .state = st->state,
                     .wait_index = st->wait_index};
  memcpy (cursor.counters, st->counters, sizeof cursor.counters);
  return cursor;
}

void ls_convoy_walk_start (const LsConvoy *convoy, LsWalk *walk) {
  memset (walk, 0, sizeof *walk);
  for (guint i = 0; i < convoy->n_cursors; i++)
    walk->cursor[i] = cursor_of (ls_stream_at (convoy->e, convoy->rank, convoy->stream[i]));
  const LsCursor *side = &walk->cursor[side_of (convoy)];
  walk->leg = (LsLeg){.start_ps = convoy->start_ps,
                      .end_ps = convoy->start_ps + convoy->used[0]->solo_ps,
                      .op = &instruction_at (convoy, side_of (convoy), side->pc)->op,
                      .n = 1};
  walk->memory.last_ps = -1;
  walk->memory.peak = G_MININT64;
}

/* --- what its members have done --- */

/* The first collective ends, with what happened before it; the main stream goes on. */
static void commit_first (const LsConvoy *convoy, const LsWalk *walk, guint32 rank, guint8 blame) {
  LsEngine *e = convoy->e;
  guint stream = convoy->stream[side_of (convoy)];
  LsStream *side = ls_stream_at (e, rank, stream);
  const LsOp *op = &ls_instruction_at (e, rank, stream, side->pc)->op;
  const LsHistory entry = {.ordinal = side->position,
                           .ready_ps = side->ready_ps,
                           .start_ps = side->start_ps,
                           .end_ps = walk->first_end_ps,
                           .cause = side->cause,
                           .part = op->part,
                           .blame = blame};
  gint64 now_ps = e->now_ps;
  e->now_ps = walk->first_end_ps;
  ls_account_ended (e, rank, stream, &entry);
  ls_stream_at (e, rank, LS_MAIN_STREAM)->cause = (LsCause){rank, (guint16) stream, side->position};
  ls_account_main_start (e, rank);
  e->now_ps = now_ps;
}

static void commit_history (const LsConvoy *convoy, const LsWalk *walk, guint32 rank) {
  guint stream = convoy->stream[side_of (convoy)];
  LsStream *side = ls_stream_at (convoy->e, rank, stream);
  guint32 next = side->history_next + walk->n_history;
  guint32 n = MIN (walk->n_history, LS_HISTORY);
  for (guint32 back = n; back > 0; back--) {
    LsHistory *entry = ls_account_history (convoy->e, rank, stream, next - back);
    *entry = walk->history[(walk->n_history - back) % LS_HISTORY];
    entry->cause.rank = rank;
  }
  side->history_next = next % LS_HISTORY;
}

static void commit_stream (LsStream *st, const LsCursor *cursor, guint32 rank) {
  if (cursor->position != st->position)
    st->last_ordinal = cursor->position - 1;
  st->position = cursor->position;
  st->pc = cursor->pc;
  st->waiters = cursor->waiters | st->waiters;
  st->state = cursor->state;
  st->wait_index = cursor->wait_index;
  st->cause = (LsCause){rank, cursor->cause_stream, cursor->cause_ordinal};
  memcpy (st->counters, cursor->counters, sizeof st->counters);
}

void ls_convoy_commit (const LsConvoy *convoy, const LsWalk *walk, guint32 rank, guint8 blame) {
  LsEngine *e = convoy->e;
  LsRankState *state = ls_rank_at (e, rank);
  commit_first (convoy, walk, rank, blame);
  for (guint p = 0; p < LS_MAX_PARTS; p++)
    state->parts_ps[p] += walk->parts_ps[p];
  state->accounted_ps += walk->accounted_ps;
  state->busy_ps += walk->busy_ps;
  if (walk->resumed_ps > 0)
    state->resumed_ps = walk->resumed_ps;
  state->flops += walk->flops;
  state->sent_bytes += walk->wire_bytes;
  state->received_bytes += walk->wire_bytes;
  commit_memory (&e->memory[rank], &walk->memory);
  commit_history (convoy, walk, rank);
  for (guint i = 0; i < convoy->n_cursors; i++) {
    guint32 pair = (1u << convoy->stream[0]) | (1u << convoy->stream[1]);
    LsStream *st = ls_stream_at (e, rank, convoy->stream[i]);
    st->waiters &= ~pair; /* those of the two are in the cursor; others are as they were */
    LsCursor cursor = walk->cursor[i];
    cursor.waiters &= pair;
    commit_stream (st, &cursor, rank);
  }
  e->n_operations += (guint64) walk->n_operations;
}
