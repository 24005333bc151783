/* Flights: the messages of collectives, from start to arrival.
 *
 * Model:      a message waits its latency, loading nothing, and then moves its bytes over the resources
 *             of its path at a max-min fair rate.
 * Method:     a flight that meets nobody is light: it is counted on its resources from its start, is no
 *             flow of the sharing and has one event, at its end. It may be light while all users at
 *             their caps, light ones included, do not overfill any of its resources: then the sharing
 *             would give it its cap. It becomes a flow, as far as it has come, when flows join that
 *             could slow it down, when a capacity changes, or when a kernel starts beside it on a device
 *             whose memory it uses. Its latency counts as if it loaded, which costs time but changes no
 *             result: it goes back to waiting then. Light or not, the end is the same picosecond.
 * Invariants: no resource with light flights is overfilled. Bytes sent = received + in flight.
 * Cost:       a light flight: one event and O(resources of the path). Others: two events and the solver.
 */
#include "engine/engine_private.h"

void ls_flight_start (LsEngine *e, guint32 group, guint32 from, guint32 round,
                      const LsRoundMessage *message) {
  guint32 number;
  LS_ASSERT (message->bytes >= 0 && message->to < ls_group_at (e, group)->n && message->to != from);
  if (e->free_flights.len > 0) {
    number = ls_numbers_pop (&e->free_flights);
  } else {
    number = e->flights->len;
    g_array_set_size (e->flights, number + 1);
  }
  LsFlight *flight = ls_flight_at (e, number);
  flight->state = LS_FLIGHT_NEW;
  flight->group = group;
  flight->from = from;
  flight->to = message->to;
  flight->round = round;
  flight->bytes = message->bytes;
  flight->start_ps = e->now_ps;
  flight->n_usages = 0;
  flight->load.event = LS_EVENT_NONE;
  flight->load.bottleneck = flight->load.held = LS_NO_RESOURCE;
  flight->load.contends = FALSE;
  flight->begins = LS_EVENT_NONE;
  ls_rank_at (e, ls_group_at (e, group)->ranks[from])->sent_bytes += message->bytes;
  ls_numbers_push (&e->flights_to_go, number);
}

void ls_flights_prepare (LsEngine *e) {
  const LsLightLoad place = {.first = {LS_NONE, 0}};
  while (e->places->len < e->resource_per_s->len)
    g_array_append_val (e->places, place);
}

static inline LsLightLink *link_at (LsEngine *e, LsLightUse use) {
  return &ls_flight_at (e, use.flight)->links[use.usage];
}

/* Counts the flight on its resources, if none is overfilled by that. */
static gboolean try_light (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  const guint32 *device_of = (const guint32 *) (gpointer) e->resource_device->data;
  if (flight->cap == 0 || e->wants_rates)
    return FALSE;
  for (guint32 i = 0; i < flight->n_usages; i++) {
    LsUsage usage = flight->usages[i];
    if (usage.resource >= e->places->len)
      return FALSE; /* added after the collective began */
    LsInt128 room =
        ls_sharing_room (e->sharing, usage.resource) - ls_light_load_at (e, usage.resource)->light;
    if (room < (LsInt128) flight->cap * usage.usage)
      return FALSE;
    guint32 device = device_of[usage.resource];
    if (device != LS_NONE && ls_device_at (e, device)->active.len > 0)
      return FALSE;
  }
  if (flight->links_size < flight->n_usages) {
    flight->links = g_renew (LsLightLink, flight->links, flight->n_usages);
    flight->links_size = flight->n_usages;
  }
  for (guint32 i = 0; i < flight->n_usages; i++) {
    LsLightLoad *place = ls_light_load_at (e, flight->usages[i].resource);
    const LsLightUse here = {number, i};
    place->light += (LsInt128) flight->cap * flight->usages[i].usage;
    flight->links[i] = (LsLightLink){.next = place->first, .before = {LS_NONE, 0}};
    if (place->first.flight != LS_NONE)
      link_at (e, place->first)->before = here;
    place->first = here;
  }
  return TRUE;
}

static void leave_places (LsEngine *e, const LsFlight *flight) {
  for (guint32 i = 0; i < flight->n_usages; i++) {
    LsLightLoad *place = ls_light_load_at (e, flight->usages[i].resource);
    const LsLightLink *link = &flight->links[i];
    place->light -= (LsInt128) flight->cap * flight->usages[i].usage;
    if (link->next.flight != LS_NONE)
      link_at (e, link->next)->before = link->before;
    if (link->before.flight != LS_NONE)
      link_at (e, link->before)->next = link->next;
    else
      place->first = link->next;
  }
}

static void join (LsEngine *e, guint32 number, LsInt128 work) {
  LsFlight *flight = ls_flight_at (e, number);
  flight->state = LS_FLIGHT_LOADING;
  ls_load_join (e, &flight->load, number | LS_OWNER_FLIGHT, flight->cap, flight->n_usages,
                flight->usages, work);
  ls_load_set_base (e, &flight->load, flight->rate_cap, flight->factor, flight->n_usages,
                    flight->usages);
}

/* What is left of its work, when it runs at its cap. */
static LsInt128 light_work (const LsFlight *flight, gint64 now_ps) {
  LsInt128 work = ls_work_from_units (flight->bytes);
  if (now_ps > flight->load_ps)
    work -= (LsInt128) flight->cap * (now_ps - flight->load_ps);
  return MAX (work, 0);
}

/* A light flight becomes a flow; or waits to be one, if its latency is not over. */
static void make_heavy (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  leave_places (e, flight);
  ls_load_let_go_light (e, number);
  if (flight->load_ps > e->now_ps) {
    flight->state = LS_FLIGHT_LATENCY;
    ls_event_queue_reschedule (e->queue, flight->load.event, flight->load_ps);
    return;
  }
  join (e, number, light_work (flight, e->now_ps));
}

void ls_flights_make_way (LsEngine *e, guint32 n_usages, const LsUsage *usages) {
  if (e->places->len == 0)
    return;
  for (guint32 i = 0; i < n_usages; i++) {
    if (usages[i].resource >= e->places->len)
      continue;
    const LsLightLoad *place = ls_light_load_at (e, usages[i].resource);
    while (place->first.flight != LS_NONE &&
           ls_sharing_room (e->sharing, usages[i].resource) < place->light)
      make_heavy (e, place->first.flight);
  }
}

void ls_flights_weigh (LsEngine *e, guint32 resource) {
  if (e->places->len == 0)
    return;
  if (resource != LS_NONE) {
    if (resource >= e->places->len)
      return;
    const LsLightLoad *place = ls_light_load_at (e, resource);
    while (place->first.flight != LS_NONE)
      make_heavy (e, place->first.flight);
    return;
  }
  for (guint32 f = 0; f < e->flights->len; f++)
    if (ls_flight_at (e, f)->state == LS_FLIGHT_LIGHT && ls_flight_at (e, f)->n_usages > 0)
      make_heavy (e, f);
}

/* Rate of a message alone on its path: what the sender's last message got there, if it was the same.
 * Sets the flight's cap to what compute beside it leaves of that. */
static gint64 alone_rate (LsEngine *e, LsFlight *flight) {
  LsRoundMember *member = &ls_group_at (e, flight->group)->rounds->members[flight->from];
  if (member->path_usages != flight->usages || member->path_n != flight->n_usages ||
      member->path_cap != flight->rate_cap || member->path_epoch != e->capacity_epoch) {
    member->path_usages = flight->usages;
    member->path_n = flight->n_usages;
    member->path_cap = flight->rate_cap;
    member->path_epoch = e->capacity_epoch;
    member->path_rate = ls_sharing_alone_rate (e->sharing, flight->rate_cap, flight->n_usages,
                                               flight->usages, &member->path_bottleneck);
  }
  flight->load.bottleneck = member->path_bottleneck;
  flight->cap = (gint64) (((LsInt128) member->path_rate * flight->factor) >> LS_USAGE_BITS);
  return member->path_rate;
}

/* Messages of a collective tend to be alike. */
static gint64 duration_ps (LsEngine *e, gint64 bytes, gint64 rate) {
  if (e->lately.bytes != bytes || e->lately.rate != rate)
    e->lately =
        (LsFlightDuration){bytes, rate, ls_work_duration_ps (ls_work_from_units (bytes), rate)};
  return e->lately.duration_ps;
}

/* Factor on the rate, fixed when the message starts: 1 - (1 - beside) x share of its two ends that compute. */
static gint64 compute_factor (LsEngine *e, const LsGroup *group, const LsFlight *flight) {
  gint64 beside = group->rounds->cached->transfer->beside_compute;
  if (beside == LS_USAGE_ONE || beside == 0)
    return LS_USAGE_ONE;
  guint32 ends[] = {group->ranks[flight->from], group->ranks[flight->to]};
  gint64 busy = 0;
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    busy += ls_stream_at (e, ends[i], LS_MAIN_STREAM)->state == LS_STREAM_RUNNING;
  return LS_USAGE_ONE - (LS_USAGE_ONE - beside) / 2 * busy;
}

static void record (LsEngine *e, const LsFlight *flight) {
  const LsGroup *group = ls_group_at (e, flight->group);
  const LsRounds *rounds = group->rounds;
  const guint32 from = group->ranks[flight->from];
  const guint16 stream = group->streams[flight->from];
  const LsStream *st = ls_stream_at (e, from, stream);
  const LsMessageRecord message = {
      .group = flight->group,
      .sequence = rounds->meeting.sequence,
      .round = flight->round,
      .from = from,
      .to = group->ranks[flight->to],
      .stream = stream,
      .op = &ls_instruction_at (e, from, stream, st->pc)->op,
      .counters = st->counters,
      .transfer = rounds->cached->transfer,
      .bytes = flight->bytes,
      .start_ps = flight->start_ps,
      .end_ps = e->now_ps,
      .alone_ps = MIN (flight->alone_ps - rounds->members[flight->from].alone_ps,
                       e->now_ps - flight->start_ps),
      .bottleneck = flight->load.bottleneck,
      .first_ready_ps = rounds->meeting.first_ready_ps,
      .last_ready_ps = rounds->meeting.last_ready_ps,
      .last_rank = rounds->meeting.last_rank};
  for (guint o = 0; o < e->n_observers; o++)
    if (e->observers[o]->message)
      e->observers[o]->message (e->observer_selves[o], &message);
}

static void arrive (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  const LsGroup *group = ls_group_at (e, flight->group);
  ls_rank_at (e, group->ranks[flight->to])->received_bytes += flight->bytes;
  ls_load_carried (e, flight->n_usages, flight->usages, ls_work_from_units (flight->bytes));
  if (e->wants_messages && ls_rank_at (e, group->ranks[flight->from])->observed)
    record (e, flight);
  const LsFlight done = *flight;
  flight->state = LS_FLIGHT_FREE;
  ls_numbers_push (&e->free_flights, number);
  ls_rounds_arrived (e, &done);
}

/* It may load from now on. */
static void begin_load (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  alone_rate (e, flight);
  join (e, number, ls_work_from_units (flight->bytes));
  ls_flights_make_way (e, flight->n_usages, flight->usages);
}

static void start (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  const LsGroup *group = ls_group_at (e, flight->group);
  const LsRoundTable *table = group->rounds->cached->transfer->rounds;
  LsPhase path = {0};
  table->path (table->self, flight->from, flight->to, flight->round, flight->bytes, &path);
  flight->load_ps = e->now_ps + path.latency_ps;
  flight->alone_ps = group->rounds->members[flight->from].alone_ps + path.latency_ps;
  gint64 loads_ps = 0;
  if (flight->bytes > 0) {
    flight->usages = path.usages;
    flight->n_usages = path.n_usages;
    flight->rate_cap = path.rate_cap;
    flight->factor = compute_factor (e, group, flight);
    gint64 rate = alone_rate (e, flight);
    flight->alone_ps += rate > 0 ? duration_ps (e, flight->bytes, rate) : 0;
    if (!try_light (e, number)) {
      if (path.latency_ps == 0) {
        begin_load (e, number);
        return;
      }
      flight->state = LS_FLIGHT_LATENCY;
      flight->load.event =
          ls_event_queue_push (e->queue, flight->load_ps, 1, (LsEvent){LS_EVENT_FLIGHT, number, 0});
      return;
    }
    loads_ps = duration_ps (e, flight->bytes, flight->cap);
  }
  if (path.latency_ps + loads_ps == 0) {
    arrive (e, number);
    return;
  }
  flight->state = LS_FLIGHT_LIGHT;
  ls_load_hold_light (e, number);
  flight->load.event = ls_event_queue_push (e->queue, ls_time_after (flight->load_ps, loads_ps), 1,
                                            (LsEvent){LS_EVENT_FLIGHT, number, 0});
}

void ls_flights_settle (LsEngine *e) {
  /* The list grows while it is walked, by what messages of nothing let start. */
  for (guint i = 0; i < e->flights_to_go.len; i++) {
    guint32 number = e->flights_to_go.data[i];
    guint8 state = ls_flight_at (e, number)->state;
    if (state == LS_FLIGHT_NEW)
      start (e, number);
    else if (state == LS_FLIGHT_STARTING)
      begin_load (e, number);
  }
  e->flights_to_go.len = 0;
}

void ls_flight_event (LsEngine *e, guint32 number) {
  LsFlight *flight = ls_flight_at (e, number);
  flight->load.event = LS_EVENT_NONE;
  if (flight->state == LS_FLIGHT_LATENCY) {
    e->n_events--; /* a message counts once, light or not */
    flight->state = LS_FLIGHT_STARTING;
    ls_numbers_push (&e->flights_to_go, number);
    return;
  }
  if (flight->state == LS_FLIGHT_LIGHT) {
    leave_places (e, flight);
    ls_load_let_go_light (e, number);
  } else {
    ls_load_leave (e, &flight->load);
  }
  arrive (e, number);
}

/* Sums what light flights take, in `taken`, by resource. */
static gint64 check_flight (LsEngine *e, const LsFlight *flight, LsInt128 *taken) {
  if (flight->state == LS_FLIGHT_FREE)
    return 0;
  for (guint32 i = 0; flight->state == LS_FLIGHT_LIGHT && i < flight->n_usages; i++)
    taken[flight->usages[i].resource] += (LsInt128) flight->cap * flight->usages[i].usage;
  LS_REQUIRE (ls_rounds_has (e, flight->group, flight->from) &&
                  ls_rounds_has (e, flight->group, flight->to),
              "a message of a member that has ended");
  return flight->bytes;
}

void ls_flights_check (LsEngine *e) {
  g_autofree LsInt128 *taken = g_new0 (LsInt128, MAX (e->places->len, 1u));
  gint64 in_flight = 0;
  for (guint32 f = 0; f < e->flights->len; f++)
    in_flight += check_flight (e, ls_flight_at (e, f), taken);
  for (guint32 r = 0; r < e->places->len; r++) {
    const LsLightLoad *place = ls_light_load_at (e, r);
    LS_REQUIRE (place->light == taken[r], "resource %u: light messages do not sum", r);
    LS_REQUIRE ((place->first.flight != LS_NONE) == (taken[r] > 0),
                "resource %u: light messages without a place, or a place without them", r);
    LS_REQUIRE (taken[r] == 0 || ls_sharing_room (e->sharing, r) >= taken[r],
                "resource %u: light messages where there is contention", r);
  }
  for (guint32 rank = 0; rank < e->ranks->len; rank++)
    in_flight += ls_rank_at (e, rank)->received_bytes - ls_rank_at (e, rank)->sent_bytes;
  LS_REQUIRE (in_flight == 0, "bytes sent are not bytes received and in flight");
}
