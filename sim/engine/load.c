/* Loads: flows of the sharing, seen from the clock. What activities and flights have in common.
 *
 * Model:      a load moves its work at the rate that sharing.c gives its flow; rates change once per
 *             instant, and what is left is exact (rate x dt).
 * Invariants: a load that runs has one event, at its end; one that stands still has none. Memory use
 *             of a device by transfers is the sum over flows of usage x rate of its memory resource.
 * Cost:       one event per load, moved at every change of its rate.
 */
#include "engine/engine_private.h"
#include "engine/holding.h"

/* A flow's rate went from `old_rate` to `new_rate`: memory bandwidth left on devices, and who watches. */
static void account_rate (LsEngine *e, guint32 n_usages, const LsUsage *usages, gint64 old_rate,
                          gint64 new_rate) {
  const guint32 *device_of = (const guint32 *) (gpointer) e->resource_device->data;
  for (guint32 i = 0; i < n_usages; i++) {
    guint32 number = device_of[usages[i].resource];
    if (number != LS_NONE) {
      LsEngineDevice *device = ls_device_at (e, number);
      device->hbm_used += ((LsInt128) new_rate - old_rate) * usages[i].usage;
      if (device->active.len > 0)
        ls_device_touch (e, number);
    }
    if (!e->wants_rates)
      continue;
    gint64 load = ls_sharing_load (e->sharing, usages[i].resource);
    for (guint o = 0; o < e->n_observers; o++)
      if (e->observers[o]->rate)
        e->observers[o]->rate (e->observer_selves[o], usages[i].resource, e->now_ps, load);
  }
}

/* The tag of the ranks that a load is for; LS_ALL_TAGS: of none. */
static guint tag_of (LsEngine *e, guint32 owner) {
  guint32 rank = LS_NONE;
  if (owner & LS_OWNER_FLIGHT) {
    rank = ls_group_at (e, ls_flight_at (e, owner & ~LS_OWNER_FLIGHT)->group)->ranks[0];
  } else {
    const LsActivity *activity = ls_activity_at (e, owner);
    if (activity->owner_kind == LS_OWNER_GROUP)
      rank = ls_group_at (e, activity->owner)->ranks[0];
    else if (activity->owner_kind == LS_OWNER_MESSAGE)
      rank = ls_channel_at (e, ls_message_at (e, activity->owner)->channel)->from;
    else if (activity->owner_kind == LS_OWNER_COPY)
      rank = activity->owner;
  }
  return rank == LS_NONE ? LS_ALL_TAGS : ls_rank_at (e, rank)->tag;
}

/* What holds the load from `t_ps` on. */
static void hold_from (LsEngine *e, LsLoad *load, guint32 owner, guint32 resource,
                       gboolean contends, gint64 t_ps) {
  if (load->held == resource && load->contends == contends)
    return;
  ls_holdings_change (e->holdings, tag_of (e, owner), e->resource_names->len,
                      (LsHold){load->held, load->contends}, (LsHold){resource, contends}, t_ps);
  load->held = resource;
  load->contends = contends;
}

/* ...from now on, behind what light flights began to load meanwhile. */
static void hold (LsEngine *e, LsLoad *load, guint32 owner, guint32 resource, gboolean contends) {
  while (!ls_event_queue_is_empty (e->light_begins) &&
         ls_event_queue_peek_time (e->light_begins) <= e->now_ps) {
    const gint64 t_ps = ls_event_queue_peek_time (e->light_begins);
    guint32 freed;
    const guint32 number = ls_event_queue_pop (e->light_begins, &freed).a;
    LsFlight *flight = ls_flight_at (e, number);
    flight->begins = LS_EVENT_NONE;
    hold_from (e, &flight->load, number | LS_OWNER_FLIGHT, flight->load.bottleneck, FALSE, t_ps);
  }
  hold_from (e, load, owner, resource, contends, e->now_ps);
}

void ls_load_hold_light (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  if (e->holdings == NULL || flight->load.bottleneck == LS_NO_RESOURCE)
    return;
  if (flight->load_ps <= e->now_ps)
    hold (e, &flight->load, number | LS_OWNER_FLIGHT, flight->load.bottleneck, FALSE);
  else
    flight->begins = ls_event_queue_push (e->light_begins, flight->load_ps, 0,
                                          (LsEvent){LS_EVENT_FLIGHT, number, 0});
}

void ls_load_let_go_light (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  if (e->holdings == NULL)
    return;
  if (flight->begins != LS_EVENT_NONE && flight->load_ps > e->now_ps) {
    ls_event_queue_cancel (e->light_begins, flight->begins);
    flight->begins = LS_EVENT_NONE;
  }
  hold (e, &flight->load, number | LS_OWNER_FLIGHT, LS_NO_RESOURCE, FALSE);
}

void ls_load_join (LsEngine *e, LsLoad *load, guint32 owner, gint64 cap, guint32 n_usages,
                   const LsUsage *usages, LsInt128 work) {
  load->flow = ls_sharing_add_flow (e->sharing, cap, load->bottleneck, n_usages, usages, owner);
  load->remaining = work;
  load->last_ps = e->now_ps;
  load->cap = cap;
  load->held = LS_NO_RESOURCE;
  load->contends = FALSE;
}

void ls_load_set_base (LsEngine *e, LsLoad *load, gint64 rate_cap, gint64 factor, guint32 n_usages,
                       const LsUsage *usages) {
  gint64 rate = rate_cap > 0 ? rate_cap : LS_RATE_MAX;
  if (e->nominal == NULL)
    return;
  for (guint32 i = 0; i < n_usages; i++) {
    const gint64 *nominal = g_hash_table_lookup (e->nominal, GUINT_TO_POINTER (usages[i].resource));
    gint64 capacity =
        nominal != NULL ? *nominal : ls_sharing_capacity (e->sharing, usages[i].resource);
    rate = (gint64) MIN ((LsInt128) rate, ((LsInt128) capacity << LS_USAGE_BITS) / usages[i].usage);
  }
  ls_sharing_set_base (e->sharing, load->flow,
                       (gint64) (((LsInt128) rate * factor) >> LS_USAGE_BITS));
}

void ls_load_settle_alone (LsEngine *e, LsLoad *load) {
  guint32 n;
  const LsUsage *usages = ls_sharing_usages (e->sharing, load->flow, &n);
  ls_sharing_settle_alone (e->sharing, load->flow);
  if (e->holdings)
    hold (e, load, ls_sharing_owner (e->sharing, load->flow), load->bottleneck, FALSE);
  account_rate (e, n, usages, 0, load->cap);
}

LsInt128 ls_load_leave (LsEngine *e, LsLoad *load) {
  guint32 n;
  const LsUsage *usages = ls_sharing_usages (e->sharing, load->flow, &n);
  gint64 rate = ls_sharing_rate (e->sharing, load->flow);
  if (load->event != LS_EVENT_NONE)
    ls_event_queue_cancel (e->queue, load->event);
  load->event = LS_EVENT_NONE;
  if (e->holdings)
    hold (e, load, ls_sharing_owner (e->sharing, load->flow), LS_NO_RESOURCE, FALSE);
  ls_sharing_remove_flow (e->sharing, load->flow);
  account_rate (e, n, usages, rate, 0);
  load->flow = LS_NONE;
  return load->remaining - (LsInt128) rate * (e->now_ps - load->last_ps);
}

void ls_load_carried (LsEngine *e, guint32 n_usages, const LsUsage *usages, LsInt128 work) {
  LsInt128 *carried = (LsInt128 *) (gpointer) e->resource_carried->data;
  for (guint32 i = 0; i < n_usages; i++)
    carried[usages[i].resource] += (work >> LS_RATE_BITS) * usages[i].usage;
}

static void apply_change (LsEngine *e, const LsRateChange *change) {
  guint32 owner = ls_sharing_owner (e->sharing, change->flow);
  gboolean flight = (owner & LS_OWNER_FLIGHT) != 0;
  guint32 number = owner & ~LS_OWNER_FLIGHT;
  LsLoad *load = flight ? &ls_flight_at (e, number)->load : &ls_activity_at (e, number)->load;
  gint64 rate = ls_sharing_rate (e->sharing, change->flow);
  load->remaining -= (LsInt128) change->old_rate * (e->now_ps - load->last_ps);
  load->last_ps = e->now_ps;
  load->bottleneck = ls_sharing_bottleneck (e->sharing, change->flow);
  if (e->holdings)
    hold (e, load, owner, load->bottleneck, rate < load->cap);
  guint32 n;
  const LsUsage *usages = ls_sharing_usages (e->sharing, change->flow, &n);
  account_rate (e, n, usages, change->old_rate, rate);
  if (rate == 0) {
    if (load->event != LS_EVENT_NONE)
      ls_event_queue_cancel (e->queue, load->event);
    load->event = LS_EVENT_NONE;
    return;
  }
  gint64 end_ps =
      ls_time_after (e->now_ps, MAX (ls_work_duration_ps (MAX (load->remaining, 0), rate), 1));
  if (load->event != LS_EVENT_NONE) {
    ls_event_queue_reschedule (e->queue, load->event, end_ps);
    return;
  }
  LsEvent event = {flight ? LS_EVENT_FLIGHT : LS_EVENT_TRANSFER_END, number, 0};
  load->event = ls_event_queue_push (e->queue, end_ps, 1, event);
}

void ls_load_solve (LsEngine *e) {
  const LsRateChange *changes;
  guint n = ls_sharing_solve (e->sharing, &changes);
  for (guint i = 0; i < n; i++)
    apply_change (e, &changes[i]);
}
