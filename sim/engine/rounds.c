/* Collectives as messages: how the members of a group go through the rounds of a table.
 *
 * Model:      engine/transfer.h, LsRoundTable. Each member is in a round of its own: it goes on when all
 *             that it sends in the round has ended and all that it receives in it has come. Nobody waits
 *             for a receiver: what comes early is counted for its round. Members end one by one.
 * Invariants: a member is never in a later round than a message that is still on its way to it.
 * Cost:       O(1) per message, no look-up and, once warm, no allocation. A member that is far behind
 *             its senders needs 16 bytes per round that it is behind.
 * Left out:   rendezvous (a message starts without its receiver), work from per-rank tables.
 */
#include "engine/engine_private.h"

static LsRounds *rounds_of (LsEngine *e, guint32 group) {
  return ls_group_at (e, group)->rounds;
}

static const LsRoundTable *table_of (const LsRounds *rounds) {
  return rounds->cached->transfer->rounds;
}

static LsRounds *rounds_new (guint32 n) {
  LsRounds *rounds = g_new0 (LsRounds, 1);
  rounds->members = g_new0 (LsRoundMember, n);
  rounds->early = g_new0 (LsEarly, (gsize) n * LS_EARLY_ROUNDS);
  for (guint32 i = 0; i < n; i++) {
    rounds->members[i].window = LS_EARLY_ROUNDS;
    rounds->members[i].early = &rounds->early[(gsize) i * LS_EARLY_ROUNDS];
  }
  return rounds;
}

void ls_rounds_free (LsRounds *rounds, guint32 n) {
  if (!rounds)
    return;
  for (guint32 i = 0; i < n; i++)
    if (rounds->members[i].window > LS_EARLY_ROUNDS)
      g_free (rounds->members[i].early);
  g_free (rounds->members);
  g_free (rounds->early);
  g_free (rounds);
}

static void end_member (LsEngine *e, guint32 group, guint32 position) {
  LsRounds *rounds = rounds_of (e, group);
  LsRoundMember *member = &rounds->members[position];
  const LsActivity done = {.cached = rounds->cached,
                           .bytes_override = -1,
                           .alone_ps = table_of (rounds)->launch_ps + member->alone_ps,
                           .load = {.flow = LS_NONE, .bottleneck = member->bottleneck}};
  const LsMeeting meeting = rounds->meeting;
  member->ended = TRUE;
  rounds->n_open--;
  ls_group_member_ended (e, group, position, &meeting, &done);
}

/* The member enters the round it now stands at: what it waits for, and what it sends. */
static void enter_round (LsEngine *e, guint32 group, guint32 position, const LsRoundTable *table,
                         LsRoundMember *member) {
  const guint32 round = member->round;
  LsEarly *early = &member->early[round & (member->window - 1)];
  guint32 all = table->receives (table->self, position, round);
  LS_REQUIRE (early->count <= all,
              "round table: member %u receives more than it counts in round %u", position, round);
  member->due = all - early->count;
  member->alone_ps = member->alone_next_ps;
  member->alone_next_ps = MAX (member->alone_next_ps, early->alone_ps);
  *early = (LsEarly){0, 0};
  LsRoundMessage message;
  guint32 k = 0;
  for (; table->send (table->self, position, round, k, &message); k++)
    ls_flight_start (e, group, position, round, &message);
  member->open_sends = k;
}

/* Through the rounds as far as nothing is waited for; the member ends behind the last. */
static void advance (LsEngine *e, guint32 group, guint32 position) {
  LsRounds *rounds = rounds_of (e, group);
  const LsRoundTable *table = table_of (rounds);
  LsRoundMember *member = &rounds->members[position];
  while (member->open_sends == 0 && member->due == 0) {
    if (++member->round < table->n_rounds) {
      enter_round (e, group, position, table, member);
      continue;
    }
    member->alone_ps = member->alone_next_ps;
    end_member (e, group, position);
    return;
  }
}

void ls_rounds_begin (LsEngine *e, guint32 number) {
  LsRounds *rounds = rounds_of (e, number);
  const LsRoundTable *table = table_of (rounds);
  guint32 n = ls_group_at (e, number)->n;
  rounds->event = LS_EVENT_NONE;
  for (guint32 i = 0; i < n; i++) {
    if (table->n_rounds > 0) {
      enter_round (e, number, i, table, &rounds->members[i]);
      advance (e, number, i);
    } else {
      end_member (e, number, i);
    }
  }
}

void ls_rounds_start (LsEngine *e, guint32 number, LsCachedTransfer *cached,
                      const LsMeeting *meeting) {
  LsGroup *group = ls_group_at (e, number);
  LS_REQUIRE (group->size == group->n, "messages of a group whose members stand for others");
  if (!group->rounds)
    group->rounds = rounds_new (group->n);
  LsRounds *rounds = group->rounds;
  ls_flights_prepare (e);
  ls_convoys_dissolve (e);
  e->convoys_off = TRUE; /* light messages are on no flow that a convoy could see */
  LS_REQUIRE (rounds->n_open == 0, "a group runs two collectives at once");
  rounds->cached = cached;
  rounds->meeting = *meeting;
  rounds->n_open = group->n;
  for (guint32 i = 0; i < group->n; i++) {
    LsRoundMember *member = &rounds->members[i];
    member->ended = FALSE;
    member->round = member->open_sends = member->due = 0;
    member->alone_ps = member->alone_next_ps = 0;
    member->last_ps = e->now_ps;
    member->bottleneck = LS_NO_RESOURCE;
  }
  if (table_of (rounds)->launch_ps > 0)
    rounds->event = ls_event_queue_push (e->queue, e->now_ps + table_of (rounds)->launch_ps, 1,
                                         (LsEvent){LS_EVENT_ROUNDS, number, 0});
  else
    ls_rounds_begin (e, number);
}

/* Room for messages of `round`, counted from the one the member is in. */
static void widen (LsRoundMember *member, guint32 round) {
  guint32 window = member->window;
  while (round - member->round >= window)
    window *= 2;
  LsEarly *early = g_new0 (LsEarly, window);
  for (guint32 i = 0; i < member->window; i++) {
    guint32 of = member->round + i;
    early[of & (window - 1)] = member->early[of & (member->window - 1)];
  }
  if (member->window > LS_EARLY_ROUNDS)
    g_free (member->early);
  member->early = early;
  member->window = window;
}

static void receive (LsRoundMember *member, const LsFlight *flight) {
  if (flight->round == member->round) {
    LS_REQUIRE (member->due > 0 && !member->ended,
                "round table: member %u receives more than it counts in round %u", flight->to,
                flight->round);
    member->due--;
    member->alone_next_ps = MAX (member->alone_next_ps, flight->alone_ps);
    return;
  }
  LS_REQUIRE (flight->round > member->round,
              "round table: member %u does not count a message of round %u", flight->to,
              flight->round);
  if (flight->round - member->round >= member->window)
    widen (member, flight->round);
  LsEarly *early = &member->early[flight->round & (member->window - 1)];
  early->count++;
  early->alone_ps = MAX (early->alone_ps, flight->alone_ps);
}

static void note_bottleneck (LsRoundMember *member, guint32 bottleneck, gint64 now_ps) {
  member->bottleneck = now_ps > member->last_ps ? bottleneck : MIN (member->bottleneck, bottleneck);
  member->last_ps = now_ps;
}

void ls_rounds_arrived (LsEngine *e, const LsFlight *flight) {
  LsRounds *rounds = rounds_of (e, flight->group);
  LsRoundMember *sender = &rounds->members[flight->from];
  LsRoundMember *receiver = &rounds->members[flight->to];
  sender->open_sends--;
  sender->alone_next_ps = MAX (sender->alone_next_ps, flight->alone_ps);
  note_bottleneck (sender, flight->load.bottleneck, e->now_ps);
  note_bottleneck (receiver, flight->load.bottleneck, e->now_ps);
  receive (receiver, flight);
  if (sender->open_sends == 0 && sender->due == 0)
    advance (e, flight->group, flight->from);
  if (receiver->open_sends == 0 && receiver->due == 0 && !receiver->ended)
    advance (e, flight->group, flight->to);
}

gboolean ls_rounds_has (LsEngine *e, guint32 group, guint32 position) {
  const LsRounds *rounds = rounds_of (e, group);
  return rounds && rounds->n_open > 0 && !rounds->members[position].ended;
}

guint32 ls_rounds_explain (LsEngine *e, guint32 number, guint32 position, GString *text) {
  const LsGroup *group = ls_group_at (e, number);
  const LsRounds *rounds = group->rounds;
  const LsRoundMember *member = &rounds->members[position];
  g_string_append_printf (text, " is in round %u of a collective", member->round);
  for (guint32 f = 0; f < e->flights->len; f++) {
    const LsFlight *flight = ls_flight_at (e, f);
    if (flight->state == LS_FLIGHT_FREE || flight->group != number ||
        (flight->from != position && flight->to != position))
      continue;
    g_string_append_printf (text, ": the message from rank %u to rank %u stands still",
                            group->ranks[flight->from], group->ranks[flight->to]);
    const char *name = flight->load.bottleneck == LS_NO_RESOURCE
                           ? NULL
                           : ls_engine_resource_name (e, flight->load.bottleneck);
    g_string_append_printf (text, " (%s has no capacity)", name ? name : "a resource");
    return LS_NO_RANK;
  }
  guint32 last = LS_NONE;
  for (guint32 i = 0; i < group->n; i++)
    if (i != position && !rounds->members[i].ended &&
        (last == LS_NONE || rounds->members[i].round < rounds->members[last].round))
      last = i;
  if (last == LS_NONE)
    return LS_NO_RANK;
  g_string_append_printf (text, " and waits for rank %u, which is in round %u", group->ranks[last],
                          rounds->members[last].round);
  return group->ranks[last];
}
