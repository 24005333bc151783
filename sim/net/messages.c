/* Round tables as messages; see messages.h. */
#include "net/messages.h"

#include <math.h>

#include "base/assert.h"
#include "base/time.h"

/* Messages of one flow at most: a bound on events; the best count is seldom beyond it. */
#define MOST_CHUNKS 64

/* A segment, or one round of it that repeats: rounds of messages in a row. */
typedef struct {
  guint first;  /* round of messages with which it begins */
  guint count;  /* rounds of messages */
  guint round;  /* of the schedule: first stage, or the round that repeats */
  guint stages; /* 1, or of the pipeline */
  guint chunks;
  double launch_s; /* on its first round */
} Stretch;

typedef struct {
  LsUsage *usages;
  guint n;
  double link_rate; /* bytes per second that links allow this message alone */
  LsHop hop;
} Path;

/* Moves sorted by one of their ends and then by round. */
typedef struct {
  guint *start; /* by member */
  guint *moves;
} Index;

struct LsMessages {
  LsRoundTable table;
  const LsGroupShape *shape;
  const LsAlgorithmRecord *algorithm;
  LsProtocol protocol;
  gint64 bytes;
  LsSchedule *schedule;
  LsUsages *usages;
  GArray *stretches;
  guint *round_of;  /* by move */
  guint *member_of; /* by place; NULL: the same */
  guint *place_of;
  guint *fan;     /* by round: most messages of one member */
  double *memory; /* by way */
  Index out, in;
  Path **paths; /* by move */
};

/* --- building --------------------------------------------------------------------------------- */

static void index_moves (Index *index, const LsSchedule *schedule, guint n, gboolean senders) {
  guint n_moves = schedule->moves->len;
  index->start = g_new0 (guint, n + 1);
  index->moves = g_new (guint, MAX (1, n_moves));
  for (guint i = 0; i < n_moves; i++) {
    const LsMove *move = ls_schedule_move_at (schedule, i);
    index->start[(senders ? move->from : move->to) + 1]++;
  }
  for (guint i = 0; i < n; i++)
    index->start[i + 1] += index->start[i];
  g_autofree guint *at = g_memdup2 (index->start, n * sizeof (guint));
  for (guint i = 0; i < n_moves; i++) { /* moves are in the order of rounds */
    const LsMove *move = ls_schedule_move_at (schedule, i);
    index->moves[at[senders ? move->from : move->to]++] = i;
  }
}

/* Chunks for a pipeline of the segment: the hop is that of its last stage, the rate that of one link. */
static guint chunks_of (LsMessages *m, const LsPhaseLoad *load, const LsSegment *segment) {
  if (!segment->chunked || segment->n_rounds < 2 || m->bytes == 0)
    return 1;
  double flow = load->flow * (double) m->bytes, hop = 0;
  for (guint i = 0; i < load->n_latencies; i++)
    hop = MAX (hop, ls_cost_hop_s (m->shape, m->algorithm, load->latencies[i].hop,
                                   load->latencies[i].switched, m->protocol, 0, m->bytes));
  if (hop <= 0)
    return (guint) MIN (MOST_CHUNKS, MAX (1, flow));
  double rate = ls_cost_phase (m->shape, m->algorithm, load, m->protocol, m->bytes).rate;
  double best = sqrt ((segment->n_rounds - 1) * flow / rate / hop);
  return (guint) CLAMP (best, 1, MOST_CHUNKS);
}

static void add_stretch (LsMessages *m, Stretch stretch) {
  stretch.first = m->table.n_rounds;
  m->table.n_rounds += stretch.count;
  g_array_append_val (m->stretches, stretch);
}

static void add_segment (LsMessages *m, const LsPlan *plan, guint s) {
  const LsSegment *segment = ls_schedule_segment_at (m->schedule, s);
  double launch_s =
      s > 0 && segment->launches ? ls_cost_launch_s (m->shape, m->algorithm, m->protocol) : 0;
  if (segment->together) {
    guint chunks = chunks_of (m, &plan->phases[MIN (s, plan->n_phases - 1)], segment);
    add_stretch (m, (Stretch){.count = segment->n_rounds + chunks - 1,
                              .round = segment->first_round,
                              .stages = segment->n_rounds,
                              .chunks = chunks,
                              .launch_s = launch_s});
    return;
  }
  for (guint r = 0; r < segment->n_rounds; r++) {
    const LsRound *round = ls_schedule_round_at (m->schedule, segment->first_round + r);
    add_stretch (m, (Stretch){.count = round->repeat,
                              .round = segment->first_round + r,
                              .stages = 1,
                              .chunks = 1,
                              .launch_s = r == 0 ? launch_s : 0});
  }
}

static void find_fans (LsMessages *m) {
  guint n = m->shape->n;
  g_autofree guint *sends = g_new0 (guint, n);
  g_autofree guint *receives = g_new0 (guint, n);
  m->fan = g_new0 (guint, MAX (1, m->schedule->rounds->len));
  m->round_of = g_new (guint, MAX (1, m->schedule->moves->len));
  for (guint r = 0; r < m->schedule->rounds->len; r++) {
    const LsRound *round = ls_schedule_round_at (m->schedule, r);
    for (guint i = round->first_move; i < round->first_move + round->n_moves; i++) {
      const LsMove *move = ls_schedule_move_at (m->schedule, i);
      m->round_of[i] = r;
      guint out = ++sends[move->from], in = ++receives[move->to];
      m->fan[r] = MAX (m->fan[r], MAX (out, in));
    }
    for (guint i = round->first_move; i < round->first_move + round->n_moves; i++)
      sends[ls_schedule_move_at (m->schedule, i)->from] =
          receives[ls_schedule_move_at (m->schedule, i)->to] = 0;
  }
}

/* --- questions -------------------------------------------------------------------------------- */

static const Stretch *stretch_of (const LsMessages *m, guint round) {
  guint low = 0, high = m->stretches->len - 1;
  while (low < high) {
    guint middle = (low + high + 1) / 2;
    if (g_array_index (m->stretches, Stretch, middle).first <= round)
      low = middle;
    else
      high = middle - 1;
  }
  return &g_array_index (m->stretches, Stretch, low);
}

/* First of a member's moves in `round` of the schedule or later. */
static guint lower_bound (const LsMessages *m, const Index *index, guint member, guint round) {
  guint low = index->start[member], high = index->start[member + 1];
  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (m->round_of[index->moves[middle]] < round)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

typedef struct {
  const Stretch *stretch;
  guint lap;         /* round of messages inside the stretch */
  guint first, last; /* rounds of the schedule that take part in it */
} Window;

static Window window_of (const LsMessages *m, guint round) {
  Window window = {.stretch = stretch_of (m, round)};
  const Stretch *stretch = window.stretch;
  window.lap = round - stretch->first;
  window.first = window.last = stretch->round;
  if (stretch->stages > 1) {
    window.first += window.lap >= stretch->chunks ? window.lap - stretch->chunks + 1 : 0;
    window.last += MIN (window.lap, stretch->stages - 1);
  }
  return window;
}

static guint member_at (const LsMessages *m, guint place) {
  return m->member_of != NULL ? m->member_of[place] : place;
}

static gint64 move_bytes (const LsMessages *m, const Window *window, guint i) {
  const LsMove *move = ls_schedule_move_at (m->schedule, i);
  const Stretch *stretch = window->stretch;
  if (stretch->stages == 1 && stretch->chunks == 1)
    return ls_schedule_bytes (m->schedule, move->first + (gint64) move->drift * window->lap,
                              move->count, m->bytes);
  gint64 bytes = ls_schedule_bytes (m->schedule, move->first, move->count, m->bytes);
  gint64 chunk = window->lap - (m->round_of[i] - stretch->round), chunks = stretch->chunks;
  gint64 whole = bytes / chunks, rest = bytes % chunks;
  return whole + rest * (chunk + 1) / chunks - rest * chunk / chunks;
}

static gboolean table_send (gconstpointer self, guint32 from, guint32 round, guint32 k,
                            LsRoundMessage *message) {
  const LsMessages *m = self;
  guint member = member_at (m, from);
  Window window = window_of (m, round);
  guint at = lower_bound (m, &m->out, member, window.first) + k;
  if (at >= m->out.start[member + 1] || m->round_of[m->out.moves[at]] > window.last)
    return FALSE;
  guint i = m->out.moves[at], to = ls_schedule_move_at (m->schedule, i)->to;
  message->to = m->place_of != NULL ? m->place_of[to] : to;
  message->bytes = move_bytes (m, &window, i);
  return TRUE;
}

static guint32 table_receives (gconstpointer self, guint32 to, guint32 round) {
  const LsMessages *m = self;
  guint member = member_at (m, to);
  Window window = window_of (m, round);
  return lower_bound (m, &m->in, member, window.last + 1) -
         lower_bound (m, &m->in, member, window.first);
}

static const Path *path_of (const LsMessages *m, guint i) {
  if (m->paths[i] != NULL)
    return m->paths[i];
  const LsMove *move = ls_schedule_move_at (m->schedule, i);
  LsWay way = ls_schedule_round_at (m->schedule, m->round_of[i])->way;
  Path *path = g_new0 (Path, 1);
  double sent, received;
  path->hop = ls_way_add (m->shape, m->usages, way, move->from, move->to, 1, m->memory[way]);
  g_autofree LsAmount *amounts = ls_usages_take (m->usages, &path->n, &sent, &received);
  ls_amounts_rate (m->shape->topology, amounts, path->n,
                   m->shape->inside ? LS_HOP_LINK : LS_HOP_PCIE, &path->link_rate);
  path->usages =
      ls_usages_of_amounts (m->shape->topology, amounts, path->n, ls_cost_wire (m->protocol));
  m->paths[i] = path;
  return path;
}

static void table_path (gconstpointer self, guint32 from, guint32 to, guint32 round, gint64 bytes,
                        LsPhase *phase) {
  const LsMessages *m = self;
  guint member = member_at (m, from), other = member_at (m, to);
  Window window = window_of (m, round);
  guint at = lower_bound (m, &m->out, member, window.first);
  while (ls_schedule_move_at (m->schedule, m->out.moves[at])->to != other)
    at++;
  guint i = m->out.moves[at], in_schedule = m->round_of[i];
  LS_REQUIRE (in_schedule <= window.last, "no message from %u to %u in round %u", from, to, round);
  const Path *path = path_of (m, i);
  LsWay way = ls_schedule_round_at (m->schedule, in_schedule)->way;
  gboolean switched = way == LS_WAY_REDUCED || way == LS_WAY_COPIED;
  double latency_s = ls_cost_hop_s (m->shape, m->algorithm, path->hop, switched, m->protocol,
                                    (double) bytes, m->bytes);
  if (window.lap == 0)
    latency_s += window.stretch->launch_s;
  double share = ls_cost_link_share (m->shape, m->algorithm, switched, m->protocol);
  *phase = (LsPhase){.latency_ps = ls_time_ps_from_s_checked (latency_s),
                     .work_bytes = bytes,
                     .n_usages = path->n,
                     .usages = path->usages};
  if (share < 1 && isfinite (path->link_rate))
    phase->rate_cap = ls_rate_from_per_s (share * path->link_rate / m->fan[in_schedule]);
}

/* --- life ------------------------------------------------------------------------------------- */

LsMessages *ls_messages_new (const LsGroupShape *shape, const guint *place_of, LsPlan *plan,
                             LsProtocol protocol, gint64 bytes, LsUsages *usages) {
  LsMessages *m = g_new0 (LsMessages, 1);
  *m = (LsMessages){.shape = shape,
                    .algorithm = plan->algorithm,
                    .protocol = protocol,
                    .bytes = bytes,
                    .schedule = ls_plan_schedule (plan, shape),
                    .usages = usages,
                    .stretches = g_array_new (FALSE, FALSE, sizeof (Stretch))};
  m->table = (LsRoundTable){
      .launch_ps = ls_time_ps_from_s_checked (ls_cost_launch_s (shape, plan->algorithm, protocol)),
      .send = table_send,
      .receives = table_receives,
      .path = table_path,
      .self = m};
  double sent = ls_schedule_sent (m->schedule, shape->n);
  m->memory = g_new (double, LS_N_WAYS);
  for (guint way = 0; way < LS_N_WAYS; way++)
    m->memory[way] = ls_way_memory ((LsWay) way, plan->op, sent);
  for (guint s = 0; s < m->schedule->segments->len; s++)
    add_segment (m, plan, s);
  find_fans (m);
  index_moves (&m->out, m->schedule, shape->n, TRUE);
  index_moves (&m->in, m->schedule, shape->n, FALSE);
  m->paths = g_new0 (Path *, MAX (1, m->schedule->moves->len));
  if (place_of != NULL) {
    m->place_of = g_memdup2 (place_of, shape->n * sizeof (guint));
    m->member_of = g_new (guint, shape->n);
    for (guint i = 0; i < shape->n; i++)
      m->member_of[place_of[i]] = i;
  }
  return m;
}

void ls_messages_free (LsMessages *m) {
  if (m == NULL)
    return;
  for (guint i = 0; i < m->schedule->moves->len; i++)
    if (m->paths[i] != NULL) {
      g_free (m->paths[i]->usages);
      g_free (m->paths[i]);
    }
  g_free (m->paths);
  g_free (m->out.start);
  g_free (m->out.moves);
  g_free (m->in.start);
  g_free (m->in.moves);
  g_free (m->fan);
  g_free (m->round_of);
  g_free (m->memory);
  g_free (m->member_of);
  g_free (m->place_of);
  g_array_unref (m->stretches);
  ls_schedule_free (m->schedule);
  g_free (m);
}

const LsRoundTable *ls_messages_table (const LsMessages *messages) {
  return &messages->table;
}
