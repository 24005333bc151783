/* Deriving phases from rounds; see phases.h. */
#include "net/phases.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"

#define SAME 1e-9 /* relative: amounts of one proportion, added in another order */

typedef struct {
  const LsGroupShape *shape;
  LsCollectiveOp op;
  const LsSchedule *schedule;
  LsUsages *usages;
  double sent; /* per member over the whole schedule */
  GArray *phases;
  GArray *latencies; /* of the phase being made */
} Derivation;

double ls_schedule_sent (const LsSchedule *schedule, guint n) {
  double sent = 0;
  for (guint r = 0; r < schedule->rounds->len; r++) {
    const LsRound *round = ls_schedule_round_at (schedule, r);
    for (guint i = 0; i < round->n_moves; i++)
      sent += round->repeat *
              ls_schedule_weight (schedule, ls_schedule_move_at (schedule, round->first_move + i));
  }
  return sent / ls_schedule_whole (schedule) / n;
}

double ls_amounts_rate (const LsTopology *topology, const LsAmount *amounts, guint n,
                        LsHop inside_hop, double *link) {
  double all = INFINITY;
  *link = INFINITY;
  for (guint i = 0; i < n; i++) {
    const LsNetResource *resource = ls_topology_resource (topology, amounts[i].resource);
    gboolean memory =
        resource->kind == LS_RESOURCE_HBM || resource->kind == LS_RESOURCE_HOST_MEMORY;
    double rate = (memory ? 0.5 : 1) * resource->per_s / amounts[i].amount;
    all = MIN (all, rate);
    if (resource->kind == LS_RESOURCE_LINK ||
        (inside_hop == LS_HOP_PCIE && resource->kind == LS_RESOURCE_PCIE))
      *link = MIN (*link, rate);
  }
  return all;
}

void ls_phase_take (const LsTopology *topology, LsUsages *usages, LsPhaseLoad *phase) {
  double received;
  phase->amounts = ls_usages_take (usages, &phase->n_amounts, &phase->sent, &received);
  LS_REQUIRE (phase->in_network || fabs (phase->sent - received) <= 1e-9 * phase->sent,
              "sent %g, received %g", phase->sent, received);
  phase->rate = ls_amounts_rate (topology, phase->amounts, phase->n_amounts, phase->inside_hop,
                                 &phase->link_rate);
}

guint ls_phases_bottleneck (const LsTopology *topology, const LsUsages *usages) {
  guint found = LS_NO_NUMBER;
  double worst = 0;
  for (guint i = 0; i < usages->n_touched; i++) {
    guint r = usages->touched[i];
    const LsNetResource *resource = ls_topology_resource (topology, r);
    double seconds = usages->amount[r] / resource->per_s;
    if (resource->kind == LS_RESOURCE_HBM || resource->kind == LS_RESOURCE_HOST_MEMORY)
      continue;
    if (seconds > worst || (found != LS_NO_NUMBER && r < found && !(seconds < worst))) {
      worst = seconds;
      found = r;
    }
  }
  return found;
}

void ls_phase_scale (LsPhaseLoad *phase, double scale, guint members) {
  for (guint i = 0; i < phase->n_amounts; i++)
    phase->amounts[i].amount /= scale;
  phase->sent /= scale * members;
  phase->rate *= scale;
  phase->link_rate *= scale;
}

/* --- latencies -------------------------------------------------------------------------------- */

static void add_latency (Derivation *d, LsPhaseLatency latency) {
  for (guint i = 0; i < d->latencies->len; i++) {
    LsPhaseLatency *have = &g_array_index (d->latencies, LsPhaseLatency, i);
    if (have->hop == latency.hop && have->switched == latency.switched &&
        fabs (have->chunk - latency.chunk) <= SAME * latency.chunk) {
      have->count += latency.count;
      return;
    }
  }
  if (latency.count > 0)
    g_array_append_val (d->latencies, latency);
}

/* The hops of a block that is passed on `repeat` times around the ring of the first mover: of the one
 * that crosses the fewest slow ones, as NCCL counts (n - 1 hops of a ring over q nodes cross q - 1). */
static void add_walk (Derivation *d, const LsRound *round, const LsHop *hops, double chunk) {
  const LsSchedule *schedule = d->schedule;
  guint length = 0, laps, rest, count[LS_HOP_NET + 1] = {0}, best[LS_HOP_NET + 1] = {0};
  g_autofree guint *mover = g_new (guint, d->shape->n);
  g_autofree LsHop *ring = g_new (LsHop, d->shape->n);
  for (guint i = 0; i < d->shape->n; i++)
    mover[i] = G_MAXUINT;
  for (guint i = round->n_moves; i-- > 0;)
    mover[ls_schedule_move_at (schedule, round->first_move + i)->from] = i;
  guint start = ls_schedule_move_at (schedule, round->first_move)->from, at = start;
  do {
    LS_REQUIRE (mover[at] != G_MAXUINT && length < d->shape->n, "a block stays at member %u", at);
    ring[length++] = hops[mover[at]];
    at = ls_schedule_move_at (schedule, round->first_move + mover[at])->to;
  } while (at != start);
  laps = round->repeat / length;
  rest = round->repeat % length;
  for (guint i = 0; i < rest; i++)
    count[ring[i]]++;
  memcpy (best, count, sizeof best);
  for (guint i = 0; i + 1 < length && rest > 0; i++) {
    count[ring[i]]--;
    count[ring[(i + rest) % length]]++;
    if (count[LS_HOP_NET] < best[LS_HOP_NET] ||
        (count[LS_HOP_NET] == best[LS_HOP_NET] && count[LS_HOP_PCIE] < best[LS_HOP_PCIE]))
      memcpy (best, count, sizeof best);
  }
  for (guint i = 0; i < length && laps > 0; i++)
    best[ring[i]] += laps;
  for (guint hop = 0; hop <= LS_HOP_NET; hop++)
    add_latency (d, (LsPhaseLatency){.hop = (LsHop) hop, .count = best[hop], .chunk = chunk});
}

/* --- rounds ----------------------------------------------------------------------------------- */

typedef struct {
  double largest; /* weight of the largest move */
  LsHop worst;
} RoundLoad;

static RoundLoad lay_round (Derivation *d, const LsRound *round, LsHop *hops) {
  RoundLoad load = {.worst = LS_HOP_NONE};
  double memory = ls_way_memory (round->way, d->op, d->sent);
  for (guint i = 0; i < round->n_moves; i++) {
    const LsMove *move = ls_schedule_move_at (d->schedule, round->first_move + i);
    double weight = ls_schedule_weight (d->schedule, move);
    LsHop hop = ls_way_add (d->shape, d->usages, round->way, move->from, move->to, weight, memory);
    if (hops != NULL)
      hops[i] = hop;
    load.worst = MAX (load.worst, hop);
    load.largest = MAX (load.largest, weight);
  }
  return load;
}

static gboolean is_switched (LsWay way) {
  return way == LS_WAY_REDUCED || way == LS_WAY_COPIED;
}

/* --- phases ----------------------------------------------------------------------------------- */

static LsPhaseLoad *current (Derivation *d) {
  return d->phases->len == 0 ? NULL : &g_array_index (d->phases, LsPhaseLoad, d->phases->len - 1);
}

static void close_phase (Derivation *d) {
  LsPhaseLoad *phase = current (d);
  if (phase == NULL || phase->latencies != NULL)
    return;
  phase->n_latencies = d->latencies->len;
  phase->latencies = g_memdup2 (d->latencies->data, d->latencies->len * sizeof (LsPhaseLatency));
  g_array_set_size (d->latencies, 0);
}

static gboolean same_proportion (const LsPhaseLoad *phase, const LsAmount *amounts, guint n) {
  if (phase->n_amounts != n)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (phase->amounts[i].resource != amounts[i].resource ||
        fabs (phase->amounts[i].amount - amounts[i].amount) > SAME * amounts[i].amount)
      return FALSE;
  return TRUE;
}

/* What has been laid becomes part of the current phase, or the next one. `scale`: weight of its largest
 * move, which the amounts come to be per; weights are whole numbers, so sums of them have no order. */
static void take (Derivation *d, gboolean launches, gboolean switched, guint repeat, double scale) {
  double flow = scale * repeat / ls_schedule_whole (d->schedule);
  LsPhaseLoad *phase = current (d);
  LsPhaseLoad next = {.launches = launches,
                      .in_network = switched,
                      .inside_hop = d->shape->inside ? LS_HOP_LINK : LS_HOP_PCIE,
                      .flow = flow};
  ls_phase_take (d->shape->topology, d->usages, &next);
  scale = scale > 0 ? scale : 1;
  ls_phase_scale (&next, scale, d->shape->n);
  gboolean open = phase != NULL && phase->latencies == NULL && !launches;
  if (open && (flow <= 0 || same_proportion (phase, next.amounts, next.n_amounts))) {
    phase->flow += flow;
    g_free (next.amounts);
    return;
  }
  if (open && phase->flow <= 0) { /* only latencies so far */
    next.launches = phase->launches;
    g_free (phase->amounts);
    *phase = next;
    return;
  }
  close_phase (d);
  g_array_append_val (d->phases, next);
}

static void derive_apart (Derivation *d, const LsSegment *segment) {
  double whole = ls_schedule_whole (d->schedule);
  for (guint r = 0; r < segment->n_rounds; r++) {
    const LsRound *round = ls_schedule_round_at (d->schedule, segment->first_round + r);
    gboolean repeats = round->repeat > 1;
    g_autofree LsHop *hops = repeats ? g_new (LsHop, round->n_moves) : NULL;
    RoundLoad load = lay_round (d, round, hops);
    take (d, segment->launches && r == 0, is_switched (round->way), round->repeat, load.largest);
    if (repeats)
      add_walk (d, round, hops, load.largest / whole);
    else
      add_latency (d, (LsPhaseLatency){.hop = load.worst,
                                       .switched = is_switched (round->way),
                                       .count = 1,
                                       .chunk = load.largest / whole});
  }
}

/* Once all is laid: what a sender with many messages in flight has of the link that they fill first: they share it as one,
 * because switches serve their ports in turn, so that beside 32 senders a flow keeps 1/33, however many
 * messages each of them sends. */
static double together_scale (const Derivation *d, const LsSegment *segment) {
  const guint link = ls_phases_bottleneck (d->shape->topology, d->usages);
  g_autofree double *of_sender = g_new0 (double, d->shape->n);
  LsUsages alone;
  double most = 0;
  if (link == LS_NO_NUMBER)
    return 0;
  ls_usages_init (&alone, ls_topology_n_resources (d->shape->topology));
  for (guint r = 0; r < segment->n_rounds; r++) {
    const LsRound *round = ls_schedule_round_at (d->schedule, segment->first_round + r);
    double memory = ls_way_memory (round->way, d->op, d->sent);
    for (guint i = 0; i < round->n_moves; i++) {
      const LsMove *move = ls_schedule_move_at (d->schedule, round->first_move + i);
      double weight = ls_schedule_weight (d->schedule, move), before = alone.amount[link];
      ls_way_add (d->shape, &alone, round->way, move->from, move->to, weight, memory);
      of_sender[move->from] += alone.amount[link] > before ? weight : 0;
    }
  }
  for (guint i = 0; i < d->shape->n; i++)
    most = MAX (most, of_sender[i]);
  ls_usages_clear (&alone);
  return most;
}

static void derive_together (Derivation *d, const LsSegment *segment) {
  gboolean switched = FALSE;
  double largest = 0, whole = ls_schedule_whole (d->schedule);
  g_autofree RoundLoad *loads = g_new (RoundLoad, MAX (1, segment->n_rounds));
  for (guint r = 0; r < segment->n_rounds; r++) {
    const LsRound *round = ls_schedule_round_at (d->schedule, segment->first_round + r);
    loads[r] = lay_round (d, round, NULL);
    switched |= is_switched (round->way);
    largest = MAX (largest, loads[r].largest);
  }
  const double shared = segment->chunked ? 0 : together_scale (d, segment);
  largest = MAX (largest, shared);
  take (d, segment->launches, switched, 1, largest);
  for (guint r = 0; r < segment->n_rounds; r++)
    add_latency (
        d, (LsPhaseLatency){
               .hop = loads[r].worst,
               .switched =
                   is_switched (ls_schedule_round_at (d->schedule, segment->first_round + r)->way),
               .count = 1,
               .chunk = loads[r].largest / whole / (segment->chunked ? segment->n_rounds : 1)});
}

LsPhaseLoad *ls_phases_new (const LsGroupShape *shape, LsCollectiveOp op,
                            const LsSchedule *schedule, LsUsages *usages, guint *n_phases) {
  Derivation d = {.shape = shape,
                  .op = op,
                  .schedule = schedule,
                  .usages = usages,
                  .sent = ls_schedule_sent (schedule, shape->n),
                  .phases = g_array_new (FALSE, FALSE, sizeof (LsPhaseLoad)),
                  .latencies = g_array_new (FALSE, FALSE, sizeof (LsPhaseLatency))};
  for (guint s = 0; s < schedule->segments->len; s++) {
    const LsSegment *segment = ls_schedule_segment_at (schedule, s);
    if (segment->together)
      derive_together (&d, segment);
    else
      derive_apart (&d, segment);
  }
  close_phase (&d);
  g_array_unref (d.latencies);
  *n_phases = d.phases->len;
  return (LsPhaseLoad *) (gpointer) g_array_free (d.phases, FALSE);
}

void ls_phases_free (LsPhaseLoad *phases, guint n) {
  for (guint i = 0; i < n; i++) {
    g_free (phases[i].amounts);
    g_free (phases[i].latencies);
  }
  g_free (phases);
}
