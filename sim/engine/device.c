/* Devices: the second layer of sharing, where kernels get what transfers leave.
 *
 * Model:      a kernel's progress is ps of running alone, at most 1 per ps. With SM share a and
 *             memory share b left for it, its rate is min(1, a / u_sm, b / u_hbm). Transfers hold
 *             SMs (at most half together) and use memory bandwidth. Several kernels on one device
 *             share a and b max-min fairly.
 * Method:     a block of consecutive kernels is one event; it is cut (progress brought up to now)
 *             when the shares change, and expanded kernel by kernel only if it was cut, is
 *             observed, or its work is drawn. Ends are sums of the same integers either way.
 * Invariants: every kernel ends at a whole ps, at the same ps however often its block was cut.
 * Cost:       O(1) per undisturbed block; O(kernels) per cut block.
 */
#include "engine/engine_private.h"

static LsKernelBlock *block_of (LsEngine *e, guint32 rank, guint stream, guint32 pc) {
  const LsInstruction *instruction = ls_instruction_at (e, rank, stream, pc);
  return &ls_rank_at (e, rank)->program->blocks[instruction->block];
}

/* Index after the last kernel of the run that `pc` is in; host operations run one by one. */
static guint32 run_end (LsEngine *e, guint32 rank, guint stream, guint32 pc) {
  const LsInstruction *instruction = ls_instruction_at (e, rank, stream, pc);
  return instruction->block == LS_NO_BLOCK ? pc + 1 : block_of (e, rank, stream, pc)->end;
}

static guint32 device_of (LsEngine *e, guint32 rank, const LsStream *st) {
  LsRankState *state = ls_rank_at (e, rank);
  return st->device_kind ? state->host_device : state->device;
}

void ls_device_touch (LsEngine *e, guint32 number) {
  LsEngineDevice *device = ls_device_at (e, number);
  if (device->dirty)
    return;
  device->dirty = TRUE;
  ls_numbers_push (&e->dirty_devices, number);
}

void ls_device_hold (LsEngine *e, guint32 rank, gint64 sm_held) {
  guint32 number = ls_rank_at (e, rank)->device;
  if (sm_held == 0 || number == LS_NONE)
    return;
  ls_convoy_leaves_rank (e, rank);
  LsEngineDevice *device = ls_device_at (e, number);
  device->held += sm_held;
  if (device->active.len > 0)
    ls_device_touch (e, number);
}

static gint64 available_sm (const LsEngineDevice *device) {
  gint64 held = MIN (device->held, LS_USAGE_ONE / 2);
  if (device->speed == LS_USAGE_ONE)
    return LS_USAGE_ONE - held;
  return (gint64) (((LsInt128) (LS_USAGE_ONE - held) * device->speed) >> LS_USAGE_BITS);
}

static gint64 available_hbm (const LsEngineDevice *device) {
  if (device->speed == 0)
    return 0; /* it stands still: nothing that loads memory runs either */
  if (device->hbm_used == 0 || device->hbm_rate == 0)
    return LS_USAGE_ONE;
  /* What is used rounds up, so that shares never overfill. */
  gint64 used = (gint64) ((device->hbm_used + (LS_USAGE_ONE - 1)) >> LS_USAGE_BITS);
  gint64 left = MAX (device->hbm_rate - used, 0);
  return (gint64) (((LsInt128) left << LS_USAGE_BITS) / device->hbm_rate);
}

/* min (1, share / usage), rounded down. */
static inline gint64 limited_rate (gint64 share, gint64 usage, gint64 rate) {
  if (usage <= share)
    return rate;
  gint64 limit = (gint64) (((LsInt128) share << LS_RATE_BITS) / usage);
  return MIN (limit, rate);
}

static inline gint64 kernel_rate (const LsStream *st, const LsOp *op) {
  if (st->rate >= 0)
    return st->rate;
  return limited_rate (st->hbm_share, op->hbm_usage,
                       limited_rate (st->sm_share, op->sm_usage, LS_RATE_ONE));
}

static inline gboolean is_free (const LsStream *st) {
  return st->rate < 0 && st->sm_share == LS_USAGE_ONE && st->hbm_share == LS_USAGE_ONE;
}

static void begin_kernel (LsEngine *e, guint32 rank, guint stream, LsStream *st, guint32 pc) {
  const LsOp *op = &ls_instruction_at (e, rank, stream, pc)->op;
  gint64 ordinal = st->position + (pc - st->pc);
  st->run_pc = pc;
  st->kernel_start_ps = st->run_time_ps;
  st->kernel_work_ps = ls_executor_work_ps (e, rank, stream, ordinal, op);
  st->claimed = FALSE;
  st->remaining = ls_work_from_units (st->kernel_work_ps);
}

static void record_kernel (LsEngine *e, guint32 rank, guint stream, LsStream *st, const LsOp *op,
                           gint64 end_ps) {
  gint64 ordinal = st->position + (st->run_pc - st->pc);
  gboolean first = st->run_pc == st->pc;
  LsEngineDevice *device = ls_device_at (e, device_of (e, rank, st));
  LsHistory span = {.ordinal = ordinal,
                    .ready_ps = st->kernel_start_ps,
                    .start_ps = st->kernel_start_ps,
                    .end_ps = end_ps,
                    .cause = first ? st->cause : (LsCause){rank, (guint16) stream, ordinal - 1}};
  LsOpRecord record = ls_account_new_record (e, rank, stream, op, &span, NULL, -1);
  record.alone_ps = st->kernel_work_ps;
  if (op->hbm_usage > 0 || op->sm_usage > 0)
    record.bottleneck = op->hbm_usage > op->sm_usage ? device->hbm : device->sm;
  ls_account_record (e, &record);
}

/* The current kernel has ended at `end_ps`; memory and time are accounted. */
static void end_kernel (LsEngine *e, guint32 rank, guint stream, LsStream *st, const LsOp *op,
                        gint64 end_ps) {
  LsRankState *state = ls_rank_at (e, rank);
  if (op->release_bytes)
    ls_account_memory (e, rank, op->release_kind, -op->release_bytes, end_ps);
  state->flops += (LsInt128) op->flops;
  if (stream == LS_MAIN_STREAM)
    ls_account_busy (e, rank, op->part, end_ps - st->kernel_start_ps);
  if (state->observed)
    record_kernel (e, rank, stream, st, op, end_ps);
}

/* Moves progress of the run to `to_ps` under the present shares. Returns TRUE when the run has ended. */
static gboolean progress_to (LsEngine *e, guint32 rank, guint stream, gint64 to_ps) {
  LsStream *st = ls_stream_at (e, rank, stream);
  guint32 end = run_end (e, rank, stream, st->pc);
  st->pristine = FALSE;
  while (st->run_pc < end) {
    const LsOp *op = &ls_instruction_at (e, rank, stream, st->run_pc)->op;
    if (!st->claimed) {
      st->claimed = TRUE;
      if (op->claim_bytes)
        ls_account_memory (e, rank, op->claim_kind, op->claim_bytes, st->kernel_start_ps);
    }
    gint64 rate = st->remaining == 0 ? LS_RATE_ONE : kernel_rate (st, op);
    gint64 needed = rate == 0 ? G_MAXINT64 : ls_work_duration_ps (st->remaining, rate);
    if (needed > to_ps - st->run_time_ps) {
      st->remaining -= (LsInt128) rate * (to_ps - st->run_time_ps);
      st->run_time_ps = to_ps;
      LS_ASSERT (st->remaining > 0);
      return FALSE;
    }
    st->run_time_ps += needed;
    end_kernel (e, rank, stream, st, op, st->run_time_ps);
    if (st->run_pc + 1 < end)
      begin_kernel (e, rank, stream, st, st->run_pc + 1);
    else
      st->run_pc = end;
  }
  return TRUE;
}

/* When the run ends under constant shares; G_MAXINT64: never. */
static gint64 predict_end (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  if (st->pristine)
    return st->run_start_ps + block_of (e, rank, stream, st->pc)->total_ps;
  guint32 end = run_end (e, rank, stream, st->pc);
  gint64 time_ps = st->run_time_ps;
  LsInt128 remaining = st->remaining;
  for (guint32 pc = st->run_pc; pc < end; pc++) {
    const LsOp *op = &ls_instruction_at (e, rank, stream, pc)->op;
    if (pc > st->run_pc)
      remaining = ls_work_from_units (
          ls_executor_work_ps (e, rank, stream, st->position + (pc - st->pc), op));
    gint64 rate = kernel_rate (st, op);
    if (rate == 0 && remaining > 0)
      return G_MAXINT64;
    time_ps += remaining == 0 ? 0 : ls_work_duration_ps (remaining, rate);
    if (st->rate >= 0)
      break; /* shared with other kernels: only as far as the end of this one */
  }
  return time_ps;
}

static void schedule_end (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  gint64 end_ps = predict_end (e, rank, stream);
  if (end_ps == G_MAXINT64) {
    if (st->event != LS_EVENT_NONE)
      ls_event_queue_cancel (e->queue, st->event);
    st->event = LS_EVENT_NONE;
  } else if (st->event != LS_EVENT_NONE) {
    ls_event_queue_reschedule (e->queue, st->event, end_ps);
  } else {
    st->event =
        ls_event_queue_push (e->queue, end_ps, 1, (LsEvent){LS_EVENT_BLOCK_END, rank, stream});
  }
}

/* New shares for one stream; its run is cut only if they differ. */
static void set_shares (LsEngine *e, LsStreamRef ref, gint64 sm_share, gint64 hbm_share,
                        gint64 rate) {
  LsStream *st = ls_stream_at (e, ref.rank, ref.stream);
  gboolean same = st->sm_share == sm_share && st->hbm_share == hbm_share && st->rate == rate;
  if (same && st->event != LS_EVENT_NONE)
    return;
  gboolean is_new = st->sm_share < 0;
  if (!is_new)
    progress_to (e, ref.rank, ref.stream, e->now_ps);
  st->sm_share = sm_share;
  st->hbm_share = hbm_share;
  st->rate = rate;
  if (!is_free (st))
    st->pristine = FALSE;
  schedule_end (e, ref.rank, ref.stream);
}

/* One round of progressive filling: the level at which SMs, memory or the cap of 1 is reached. */
static gint64 sharer_level (const LsSharer *sharers, guint n, gint64 left, gsize usage_offset) {
  LsInt128 open = 0;
  for (guint i = 0; i < n; i++)
    if (!sharers[i].fixed)
      open += (LsInt128) sharers[i].weight * G_STRUCT_MEMBER (gint64, sharers[i].op, usage_offset);
  if (open == 0)
    return LS_RATE_MAX;
  LsInt128 level = ((LsInt128) left << LS_RATE_BITS) / open;
  return level > LS_RATE_MAX ? LS_RATE_MAX : (gint64) level;
}

/* What kernels already fixed leave of a share, rounded down. */
static gint64 sharer_left (const LsSharer *sharers, guint n, gint64 share, gsize usage_offset) {
  LsInt128 left = (LsInt128) share << LS_RATE_BITS;
  for (guint i = 0; i < n; i++)
    if (sharers[i].fixed)
      left -= (LsInt128) sharers[i].rate * sharers[i].weight *
              G_STRUCT_MEMBER (gint64, sharers[i].op, usage_offset);
  return left > 0 ? (gint64) (left >> LS_RATE_BITS) : 0;
}

/* Max-min fair rates of `n` kernels (each as often as it weighs) that run at once on shares `sm` and `hbm`. */
static void share_device (LsSharer *sharers, guint n, gint64 sm, gint64 hbm) {
  const gsize sm_offset = G_STRUCT_OFFSET (LsOp, sm_usage),
              hbm_offset = G_STRUCT_OFFSET (LsOp, hbm_usage);
  guint fixed = 0;
  for (guint i = 0; i < n; i++)
    fixed += sharers[i].fixed ? 1 : 0;
  while (fixed < n) {
    gint64 sm_level = sharer_level (sharers, n, sharer_left (sharers, n, sm, sm_offset), sm_offset);
    gint64 hbm_level =
        sharer_level (sharers, n, sharer_left (sharers, n, hbm, hbm_offset), hbm_offset);
    gint64 level = MIN (MIN (sm_level, hbm_level), LS_RATE_ONE);
    for (guint i = 0; i < n; i++)
      sharers[i].chosen =
          !sharers[i].fixed &&
          (level == LS_RATE_ONE || (sm_level == level && sharers[i].op->sm_usage > 0) ||
           (hbm_level == level && sharers[i].op->hbm_usage > 0));
    for (guint i = 0; i < n; i++)
      if (sharers[i].chosen) {
        sharers[i].rate = level;
        sharers[i].fixed = TRUE;
        fixed++;
      }
  }
}

/* Kernels that the stream's kernel stands for on its device. */
static guint32 weight_on (LsEngine *e, LsStreamRef ref) {
  return ls_stream_at (e, ref.rank, ref.stream)->device_kind ? ls_rank_at (e, ref.rank)->host_weight
                                                             : 1;
}

/* The kernel that a stream is in; one whose run has just ended takes nothing. */
static LsSharer sharer_of (LsEngine *e, LsStreamRef ref) {
  LsStream *st = ls_stream_at (e, ref.rank, ref.stream);
  gboolean ended = st->run_pc >= run_end (e, ref.rank, ref.stream, st->pc);
  guint32 pc = ended ? st->run_pc - 1 : st->run_pc;
  return (LsSharer){.op = &ls_instruction_at (e, ref.rank, ref.stream, pc)->op,
                    .weight = weight_on (e, ref),
                    .rate = ended ? 0 : LS_RATE_ONE,
                    .fixed = ended};
}

static void settle_shared (LsEngine *e, LsEngineDevice *device, gint64 sm, gint64 hbm) {
  const LsStreamRef *active = device->active.data;
  guint n = device->active.len;
  g_array_set_size (e->sharers, n);
  LsSharer *sharers = (LsSharer *) (gpointer) e->sharers->data;
  for (guint i = 0; i < n; i++) {
    if (ls_stream_at (e, active[i].rank, active[i].stream)->sm_share >= 0)
      progress_to (e, active[i].rank, active[i].stream, e->now_ps);
    sharers[i] = sharer_of (e, active[i]);
  }
  share_device (sharers, n, sm, hbm);
  for (guint i = 0; i < n; i++) {
    LsStream *st = ls_stream_at (e, active[i].rank, active[i].stream);
    st->sm_share = sm;
    st->hbm_share = hbm;
    st->rate = sharers[i].rate;
    st->pristine = FALSE;
    schedule_end (e, active[i].rank, active[i].stream);
  }
}

void ls_device_settle (LsEngine *e) {
  for (guint i = 0; i < e->dirty_devices.len; i++) {
    LsEngineDevice *device = ls_device_at (e, e->dirty_devices.data[i]);
    device->dirty = FALSE;
    if (device->active.len == 0)
      continue;
    gint64 sm = available_sm (device), hbm = available_hbm (device);
    if (device->active.len == 1 && weight_on (e, device->active.data[0]) == 1)
      set_shares (e, device->active.data[0], sm, hbm, -1);
    else
      settle_shared (e, device, sm, hbm);
  }
  e->dirty_devices.len = 0;
}

/* Adds what an undisturbed block did, from its sums. */
static void account_pristine (LsEngine *e, guint32 rank, guint stream, LsStream *st,
                              const LsKernelBlock *block) {
  LsRankState *state = ls_rank_at (e, rank);
  const LsBlockMemory *memory = &state->program->memory[block->first_memory];
  for (guint32 i = 0; i < block->n_memory; i++)
    ls_account_memory (e, rank, memory[i].kind, memory[i].bytes,
                       st->run_start_ps + memory[i].offset_ps);
  state->flops += block->flops;
  if (stream == LS_MAIN_STREAM)
    for (guint p = 0; p < block->n_parts; p++)
      ls_account_busy (e, rank, block->part[p], block->part_ps[p]);
}

static void leave_device (LsEngine *e, guint32 rank, guint stream, LsStream *st) {
  guint32 number = device_of (e, rank, st);
  LsEngineDevice *device = ls_device_at (e, number);
  for (guint i = 0; i < device->active.len; i++) {
    LsStreamRef ref = device->active.data[i];
    if (ref.rank == rank && ref.stream == stream) {
      device->active.data[i] = ls_stream_refs_pop (&device->active);
      break;
    }
  }
  if (device->active.len > 0)
    ls_device_touch (e, number);
}

/* The run is over now: leave the device, go on after `n` operations. */
static void end_run (LsEngine *e, guint32 rank, guint stream, guint32 n) {
  LsStream *st = ls_stream_at (e, rank, stream);
  leave_device (e, rank, stream, st);
  if (stream == LS_MAIN_STREAM)
    ls_rank_at (e, rank)->busy_ps += e->now_ps - st->run_start_ps;
  const LsOp *last = &ls_instruction_at (e, rank, stream, st->pc + n - 1)->op;
  if (stream != LS_MAIN_STREAM) {
    /* Work beside the main stream (host work, copies) that the main stream may have waited for. */
    LsHistory entry = {.ordinal = st->position + n - 1,
                       .ready_ps = st->ready_ps,
                       .start_ps = st->run_start_ps,
                       .end_ps = e->now_ps,
                       .cause = st->cause,
                       .part = last->part,
                       .blame = last->part,
                       .known = TRUE};
    ls_account_ended (e, rank, stream, &entry);
  }
  if (last->flags & LS_OP_MARK)
    ls_account_mark (e, rank, last, st->counters);
  ls_rank_at (e, rank)->n_running--;
  ls_executor_complete (e, rank, stream, n);
}

void ls_device_sync_rank (LsEngine *e, guint32 rank, guint except) {
  ls_convoy_leaves_rank (e, rank);
  guint others = ls_rank_at (e, rank)->n_running;
  others -= ls_stream_at (e, rank, except)->state == LS_STREAM_RUNNING;
  if (others == 0)
    return;
  for (guint s = 0; s < ls_rank_at (e, rank)->n_streams; s++)
    if (s != except) {
      LsStream *st = ls_stream_at (e, rank, s);
      if (st->state == LS_STREAM_RUNNING && st->sm_share >= 0 && st->run_time_ps < e->now_ps)
        progress_to (e, rank, s, e->now_ps);
    }
}

void ls_device_block_end (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  st->event = LS_EVENT_NONE;
  guint32 end = run_end (e, rank, stream, st->pc);
  ls_device_sync_rank (e, rank, stream);
  if (st->pristine) {
    account_pristine (e, rank, stream, st, block_of (e, rank, stream, st->pc));
  } else if (!progress_to (e, rank, stream, e->now_ps)) {
    ls_device_touch (e, device_of (e, rank, st));
    return;
  }
  end_run (e, rank, stream, end - st->pc);
}

/* No kernel of the run takes time. */
static gboolean run_is_nothing (LsEngine *e, guint32 rank, guint stream, const LsStream *st) {
  const LsInstruction *instruction = ls_instruction_at (e, rank, stream, st->pc);
  if (instruction->block != LS_NO_BLOCK)
    return block_of (e, rank, stream, st->pc)->total_ps == 0;
  return st->kernel_work_ps == 0;
}

void ls_device_start_block (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsInstruction *instruction = ls_instruction_at (e, rank, stream, st->pc);
  st->device_kind = instruction->op.kind == LS_OP_HOST;
  guint32 device = device_of (e, rank, st);
  LS_REQUIRE (device != LS_NONE, "rank %u runs a kernel without a device", rank);
  LsEngineDevice *place = ls_device_at (e, device);
  if (G_UNLIKELY (place->convoy != 0))
    ls_convoy_dissolve (e, place->convoy);
  st->state = LS_STREAM_RUNNING;
  ls_rank_at (e, rank)->n_running++;
  st->start_ps = st->run_start_ps = st->run_time_ps = e->now_ps;
  st->sm_share = st->hbm_share = st->rate = -1;
  gboolean varying =
      instruction->block != LS_NO_BLOCK && block_of (e, rank, stream, st->pc)->varying;
  /* Blocks are entered at their begin: nothing ends in the middle of one. */
  LS_ASSERT (instruction->block == LS_NO_BLOCK ||
             block_of (e, rank, stream, st->pc)->begin == st->pc);
  const LsRankState *state = ls_rank_at (e, rank);
  gboolean drawn = e->work_func && !state->steady;
  st->pristine = instruction->block != LS_NO_BLOCK && !varying && !drawn && !state->observed;
  st->event = LS_EVENT_NONE;
  begin_kernel (e, rank, stream, st, st->pc);
  LsStreamRef ref = {rank, (guint16) stream};
  ls_stream_refs_push (&place->active, ref);
  gboolean nothing = !varying && run_is_nothing (e, rank, stream, st);
  if (!nothing) {
    ls_flights_weigh (e, place->hbm); /* what they take of the memory counts from now on */
    ls_device_touch (e, device);
    return;
  }
  /* Work of nothing ends at once, before the instant is solved. */
  ls_device_sync_rank (e, rank, stream);
  st->sm_share = st->hbm_share = LS_USAGE_ONE;
  progress_to (e, rank, stream, e->now_ps);
  end_run (e, rank, stream, run_end (e, rank, stream, st->pc) - st->pc);
}

void ls_device_resume_block (LsEngine *e, guint32 rank, gint64 start_ps, gint64 end_ps) {
  LsStream *st = ls_stream_at (e, rank, LS_MAIN_STREAM);
  st->device_kind = 0;
  st->state = LS_STREAM_RUNNING;
  ls_rank_at (e, rank)->n_running++;
  st->ready_ps = st->start_ps = st->run_start_ps = st->run_time_ps = start_ps;
  st->sm_share = st->hbm_share = LS_USAGE_ONE;
  st->rate = -1;
  st->pristine = TRUE;
  begin_kernel (e, rank, LS_MAIN_STREAM, st, st->pc);
  LsStreamRef ref = {rank, LS_MAIN_STREAM};
  ls_stream_refs_push (&ls_device_at (e, ls_rank_at (e, rank)->device)->active, ref);
  st->event = ls_event_queue_push (e->queue, end_ps, 1,
                                   (LsEvent){LS_EVENT_BLOCK_END, rank, LS_MAIN_STREAM});
}
