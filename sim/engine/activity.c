/* Activities: transfers in flight, phase by phase; the first layer of sharing seen from the clock.
 *
 * Model:      a phase waits its latency, then loads its resources until its bytes have moved (load.c).
 * Invariants: an activity that loads has a flow in sharing.
 * Cost:       one event per latency and per phase, plus one per change of rate.
 */
#include "engine/engine_private.h"
#include "engine/holding.h"

LsCachedTransfer *ls_cached_transfer_new (const LsTransfer *transfer) {
  LsCachedTransfer *cached = g_new0 (LsCachedTransfer, 1);
  cached->transfer = transfer;
  cached->alone_rate = g_new0 (gint64, MAX (transfer->n_phases, 1u));
  cached->bottleneck = g_new0 (guint32, MAX (transfer->n_phases, 1u));
  return cached;
}

void ls_cached_transfer_free (LsCachedTransfer *cached) {
  if (!cached)
    return;
  g_free (cached->alone_rate);
  g_free (cached->bottleneck);
  g_free (cached);
}

LsCachedTransfer *ls_cached_transfer_at (GPtrArray *list, guint index) {
  return index < list->len ? g_ptr_array_index (list, index) : NULL;
}

/* Rates alone, for the capacities of now. */
static void refresh (LsEngine *e, LsCachedTransfer *cached) {
  if (cached->epoch == e->capacity_epoch)
    return;
  cached->epoch = e->capacity_epoch;
  for (guint32 p = 0; p < cached->transfer->n_phases; p++) {
    const LsPhase *phase = &cached->transfer->phases[p];
    gboolean folded = phase->alone != NULL;
    cached->alone_rate[p] = ls_sharing_alone_rate (
        e->sharing, phase->rate_cap, folded ? phase->n_alone : phase->n_usages,
        folded ? phase->alone : phase->usages, &cached->bottleneck[p]);
  }
}

guint32 ls_activity_start (LsEngine *e, LsCachedTransfer *cached, LsOwnerKind kind, guint32 owner,
                           guint32 stream, gint64 bytes_override) {
  guint32 number;
  if (e->free_activities.len > 0) {
    number = ls_numbers_pop (&e->free_activities);
  } else {
    number = e->activities->len;
    g_array_set_size (e->activities, number + 1);
  }
  *ls_activity_at (e, number) =
      (LsActivity){.cached = cached,
                   .state = LS_ACTIVITY_LATENCY,
                   .owner_kind = (guint8) kind,
                   .owner = owner,
                   .owner_stream = stream,
                   .load = {.flow = LS_NONE, .bottleneck = LS_NO_RESOURCE},
                   .bytes_override = bytes_override,
                   .start_ps = e->now_ps};
  return number;
}

static void free_activity (LsEngine *e, guint32 number) {
  ls_activity_at (e, number)->state = LS_ACTIVITY_FREE;
  ls_numbers_push (&e->free_activities, number);
}

static gint64 phase_bytes (const LsActivity *activity) {
  const LsTransfer *transfer = activity->cached->transfer;
  if (activity->bytes_override >= 0 && activity->phase + 1 == transfer->n_phases)
    return activity->bytes_override;
  return transfer->phases[activity->phase].work_bytes;
}

gint64 ls_activity_bytes (const LsActivity *activity) {
  return activity->bytes_override >= 0 ? activity->bytes_override
                                       : activity->cached->transfer->message_bytes;
}

static void owner_ended (LsEngine *e, guint32 number) {
  const LsActivity *activity = ls_activity_at (e, number);
  const guint32 owner = activity->owner;
  switch ((LsOwnerKind) activity->owner_kind) {
  case LS_OWNER_GROUP:
    ls_group_ended (e, owner);
    break;
  case LS_OWNER_MESSAGE:
    ls_message_ended (e, owner);
    break;
  case LS_OWNER_COPY:
    ls_copy_ended (e, owner, activity->owner_stream, number);
    break;
  case LS_OWNER_OUTSIDE:
    ls_outside_ended (e, owner);
    break;
  }
  free_activity (e, number);
}

/* Convoys on the links that the phase is going to load, and those of members at whose main streams
 * compute_factor() is going to look, dissolve. */
static void make_way (LsEngine *e, const LsActivity *activity) {
  const LsTransfer *transfer = activity->cached->transfer;
  const LsPhase *phase = &transfer->phases[activity->phase];
  gboolean looks = activity->owner_kind == LS_OWNER_GROUP;
  guint32 number = activity->owner;
  ls_convoys_off_links (e, phase->n_usages, phase->usages);
  if (!looks || transfer->beside_compute == LS_USAGE_ONE)
    return;
  const LsGroup *group = ls_group_at (e, number);
  for (guint32 i = 0; i < group->n; i++)
    ls_convoy_leaves_rank (e, group->ranks[i]);
}

/* TRUE when the phase has bytes to move, from this instant's solve on. */
static gboolean begin_load (LsEngine *e, guint32 number) {
  LsActivity *activity = ls_activity_at (e, number);
  if (phase_bytes (activity) == 0)
    return FALSE;
  if (e->n_convoys > 0) {
    make_way (e, activity);
    activity = ls_activity_at (e, number);
  }
  activity->state = LS_ACTIVITY_STARTING;
  ls_numbers_push (&e->starting, number);
  return TRUE;
}

/* Enters the current phase, or the first later one that takes time; ends the activity if there is none. */
void ls_activity_go (LsEngine *e, guint32 number) {
  LsActivity *activity = ls_activity_at (e, number);
  const LsTransfer *transfer = activity->cached->transfer;
  for (; activity->phase < transfer->n_phases; activity->phase++) {
    const LsPhase *phase = &transfer->phases[activity->phase];
    if (phase->latency_ps > 0) {
      activity->state = LS_ACTIVITY_LATENCY;
      activity->alone_ps += phase->latency_ps;
      activity->load.event = ls_event_queue_push (e->queue, e->now_ps + phase->latency_ps, 1,
                                                  (LsEvent){LS_EVENT_LATENCY_END, number, 0});
      return;
    }
    if (begin_load (e, number))
      return;
  }
  owner_ended (e, number);
}

void ls_activity_latency_end (LsEngine *e, guint32 number) {
  LsActivity *activity = ls_activity_at (e, number);
  activity->load.event = LS_EVENT_NONE;
  if (begin_load (e, number))
    return;
  activity->phase++;
  ls_activity_go (e, number);
}

void ls_activity_transfer_end (LsEngine *e, guint32 number) {
  LsActivity *activity = ls_activity_at (e, number);
  const LsPhase *phase = &activity->cached->transfer->phases[activity->phase];
  activity->load.event = LS_EVENT_NONE;
  ls_load_leave (e, &activity->load);
  ls_load_carried (e, phase->n_usages, phase->usages, ls_work_from_units (phase_bytes (activity)));
  activity->phase++;
  ls_activity_go (e, number);
}

/* Factor on the rate, fixed when the activity first loads: 1 - (1 - beside) x share of members that compute. */
static gint64 compute_factor (LsEngine *e, const LsActivity *activity) {
  gint64 beside = activity->cached->transfer->beside_compute;
  if (activity->owner_kind != LS_OWNER_GROUP || beside == LS_USAGE_ONE || beside == 0)
    return LS_USAGE_ONE;
  const LsGroup *group = ls_group_at (e, activity->owner);
  guint32 busy = 0;
  for (guint32 i = 0; i < group->n; i++)
    if (ls_stream_at (e, group->ranks[i], LS_MAIN_STREAM)->state == LS_STREAM_RUNNING)
      busy += ls_group_count (group, i);
  return LS_USAGE_ONE -
         (gint64) ((LsInt128) (LS_USAGE_ONE - beside) * busy / MAX (group->size, 1u));
}

static void start_loading (LsEngine *e, guint32 number) {
  LsActivity *activity = ls_activity_at (e, number);
  LsCachedTransfer *cached = activity->cached;
  const LsPhase *phase = &cached->transfer->phases[activity->phase];
  if (e->n_convoys > 0) { /* of this instant */
    make_way (e, activity);
    activity = ls_activity_at (e, number);
  }
  refresh (e, cached);
  if (activity->factor == 0)
    activity->factor = compute_factor (e, activity);
  gint64 alone = cached->alone_rate[activity->phase];
  gint64 cap = (gint64) (((LsInt128) alone * activity->factor) >> LS_USAGE_BITS);
  activity->load.bottleneck = cached->bottleneck[activity->phase];
  LsInt128 work = ls_work_from_units (phase_bytes (activity));
  ls_load_join (e, &activity->load, number, cap, phase->n_usages, phase->usages, work);
  ls_load_set_base (e, &activity->load, phase->rate_cap, activity->factor, phase->n_usages,
                    phase->usages);
  ls_flights_make_way (e, phase->n_usages, phase->usages);
  if (alone > 0)
    activity->alone_ps += ls_work_duration_ps (work, alone);
  activity->state = LS_ACTIVITY_LOADING;
}

void ls_activity_settle (LsEngine *e) {
  for (guint i = 0; i < e->starting.len; i++) {
    guint32 number = e->starting.data[i];
    if (ls_activity_at (e, number)->state == LS_ACTIVITY_STARTING)
      start_loading (e, number);
  }
  e->starting.len = 0;
}

/* Takes an activity away as it stands; what it moved so far counts as carried. */
void ls_activity_drop (LsEngine *e, guint32 number) {
  LsActivity *activity = ls_activity_at (e, number);
  if (activity->state == LS_ACTIVITY_LOADING) {
    const LsPhase *phase = &activity->cached->transfer->phases[activity->phase];
    LsInt128 left = ls_load_leave (e, &activity->load);
    ls_load_carried (e, phase->n_usages, phase->usages,
                     ls_work_from_units (phase_bytes (activity)) - left);
  } else if (activity->load.event != LS_EVENT_NONE) {
    ls_event_queue_cancel (e->queue, activity->load.event);
  }
  free_activity (e, number);
}

/* --- where nobody else is: convoy.c --- */

static gint64 load_ps (const LsCachedTransfer *cached, guint32 p) {
  gint64 bytes = cached->transfer->phases[p].work_bytes;
  if (bytes == 0)
    return 0;
  return MAX (ls_work_duration_ps (ls_work_from_units (bytes), cached->alone_rate[p]), 1);
}

/* Whether the phase runs at its rate alone: a folded one counts on its resources as often as it occurs. */
static gboolean fits (LsEngine *e, const LsCachedTransfer *cached, guint32 p) {
  const LsPhase *phase = &cached->transfer->phases[p];
  gint64 rate = cached->alone_rate[p];
  if (rate <= 0)
    return phase->work_bytes == 0;
  for (guint32 i = 0; i < phase->n_usages; i++) {
    LsInt128 capacity = ls_sharing_capacity (e->sharing, phase->usages[i].resource);
    if ((LsInt128) rate * phase->usages[i].usage > capacity << LS_USAGE_BITS)
      return FALSE;
  }
  return TRUE;
}

static gint64 solo_ps (LsEngine *e, const LsCachedTransfer *cached) {
  const LsTransfer *transfer = cached->transfer;
  gint64 sum_ps = 0;
  if (transfer->rounds || transfer->n_phases == 0 || transfer->phases[0].latency_ps <= 0)
    return 0;
  for (guint32 p = 0; p < transfer->n_phases; p++) {
    if (!fits (e, cached, p))
      return 0;
    sum_ps += transfer->phases[p].latency_ps + load_ps (cached, p);
  }
  return sum_ps;
}

gint64 ls_activity_solo_ps (LsEngine *e, LsCachedTransfer *cached) {
  if (cached->solo_epoch != e->capacity_epoch) {
    refresh (e, cached);
    cached->solo_epoch = e->capacity_epoch;
    cached->solo_ps = solo_ps (e, cached);
  }
  return cached->solo_ps;
}

static void account_phase (LsEngine *e, const LsCachedTransfer *cached, guint32 p, guint tag,
                           gint64 times) {
  const LsPhase *phase = &cached->transfer->phases[p];
  if (phase->work_bytes == 0)
    return;
  ls_load_carried (e, phase->n_usages, phase->usages,
                   ls_work_from_units (phase->work_bytes) * times);
  if (e->holdings)
    ls_holdings_add (e->holdings, tag, e->resource_names->len, cached->bottleneck[p],
                     load_ps (cached, p) * times);
}

void ls_activity_solo_account (LsEngine *e, LsCachedTransfer *cached, guint tag, gint64 times) {
  for (guint32 p = 0; p < cached->transfer->n_phases; p++)
    account_phase (e, cached, p, tag, times);
}

/* The phase loads since `since_ps`. */
static void resume_load (LsEngine *e, guint32 number, gint64 since_ps, gint64 end_ps, guint tag) {
  LsActivity *activity = ls_activity_at (e, number);
  const LsCachedTransfer *cached = activity->cached;
  const LsPhase *phase = &cached->transfer->phases[activity->phase];
  gint64 rate = cached->alone_rate[activity->phase];
  LsInt128 work = ls_work_from_units (phase->work_bytes);
  activity->state = LS_ACTIVITY_LOADING;
  activity->factor = LS_USAGE_ONE;
  activity->load.bottleneck = cached->bottleneck[activity->phase];
  ls_load_join (e, &activity->load, number, rate, phase->n_usages, phase->usages, work);
  ls_load_set_base (e, &activity->load, phase->rate_cap, LS_USAGE_ONE, phase->n_usages,
                    phase->usages);
  ls_load_settle_alone (e, &activity->load);
  activity->load.remaining = work - (LsInt128) rate * (e->now_ps - since_ps);
  activity->alone_ps += ls_work_duration_ps (work, rate);
  if (e->holdings)
    ls_holdings_add (e->holdings, tag, e->resource_names->len, activity->load.bottleneck,
                     e->now_ps - since_ps);
  activity->load.event =
      ls_event_queue_push (e->queue, end_ps, 1, (LsEvent){LS_EVENT_TRANSFER_END, number, 0});
}

guint32 ls_activity_resume (LsEngine *e, LsCachedTransfer *cached, guint32 group, gint64 start_ps) {
  guint tag = ls_rank_at (e, ls_group_at (e, group)->ranks[0])->tag;
  guint32 number = ls_activity_start (e, cached, LS_OWNER_GROUP, group, 0, -1);
  LsActivity *activity = ls_activity_at (e, number);
  activity->start_ps = start_ps;
  for (gint64 t_ps = start_ps; activity->phase < cached->transfer->n_phases; activity->phase++) {
    const LsPhase *phase = &cached->transfer->phases[activity->phase];
    t_ps += phase->latency_ps;
    activity->alone_ps += phase->latency_ps;
    if (phase->latency_ps > 0 && t_ps >= e->now_ps) {
      activity->load.event =
          ls_event_queue_push (e->queue, t_ps, 1, (LsEvent){LS_EVENT_LATENCY_END, number, 0});
      return number;
    }
    gint64 end_ps = t_ps + load_ps (cached, activity->phase);
    if (phase->work_bytes > 0 && end_ps >= e->now_ps) {
      resume_load (e, number, t_ps, end_ps, tag);
      return number;
    }
    activity->factor = phase->work_bytes > 0 ? LS_USAGE_ONE : activity->factor;
    activity->alone_ps += end_ps - t_ps;
    account_phase (e, cached, activity->phase, tag, 1);
    t_ps = end_ps;
  }
  LS_REQUIRE (FALSE, "a transfer of group %u is put down after its end", group);
  return number;
}
