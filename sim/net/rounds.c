/* Writing and reading round tables; see rounds.h. */
#include "net/rounds.h"

#include "base/assert.h"

guint ls_log2_ceil (guint n) {
  guint bits = 0;
  while ((1u << bits) < n)
    bits++;
  return bits;
}

LsSchedule *ls_schedule_new (guint parts) {
  LS_REQUIRE (parts > 0, "a schedule of no parts");
  LsSchedule *schedule = g_new0 (LsSchedule, 1);
  schedule->parts = parts;
  schedule->segments = g_array_new (FALSE, FALSE, sizeof (LsSegment));
  schedule->rounds = g_array_new (FALSE, FALSE, sizeof (LsRound));
  schedule->moves = g_array_new (FALSE, FALSE, sizeof (LsMove));
  return schedule;
}

void ls_schedule_free (LsSchedule *schedule) {
  if (schedule == NULL)
    return;
  g_array_unref (schedule->segments);
  g_array_unref (schedule->rounds);
  g_array_unref (schedule->moves);
  g_free (schedule);
}

LsSegment *ls_schedule_segment (LsSchedule *schedule, gboolean launches) {
  LsSegment segment = {.first_round = schedule->rounds->len, .launches = launches};
  g_array_append_val (schedule->segments, segment);
  return ls_schedule_segment_at (schedule, schedule->segments->len - 1);
}

void ls_schedule_together (LsSchedule *schedule, gboolean chunked) {
  LsSegment *segment = ls_schedule_segment (schedule, TRUE);
  segment->together = TRUE;
  segment->chunked = chunked;
}

void ls_schedule_round (LsSchedule *schedule, LsWay way, guint repeat) {
  LsRound round = {.way = way, .repeat = repeat, .first_move = schedule->moves->len};
  LS_REQUIRE (schedule->segments->len > 0 && repeat > 0, "a round without a segment");
  LsSegment *segment = ls_schedule_segment_at (schedule, schedule->segments->len - 1);
  LS_REQUIRE (!segment->together || repeat == 1, "a stage that repeats");
  segment->n_rounds++;
  g_array_append_val (schedule->rounds, round);
}

void ls_schedule_move (LsSchedule *schedule, guint from, guint to, guint first, guint count,
                       gint drift) {
  LsMove move = {.from = from, .to = to, .first = first, .count = count, .drift = drift};
  LS_REQUIRE (from != to && count <= schedule->parts && schedule->rounds->len > 0,
              "a move from %u to %u of %u blocks", from, to, count);
  g_array_append_val (schedule->moves, move);
  ls_schedule_round_at (schedule, schedule->rounds->len - 1)->n_moves++;
}

/* Range of a move after all repetitions but one, cyclic. */
static guint last_first (const LsSchedule *schedule, const LsMove *move, guint repeat) {
  gint64 first = move->first + (gint64) move->drift * (repeat - 1), parts = schedule->parts;
  return (guint) ((first % parts + parts) % parts);
}

static void append_round (LsSchedule *schedule, const LsSchedule *other, const LsRound *round,
                          gboolean backwards) {
  LsWay way = round->way;
  if (backwards && way == LS_WAY_COPIED)
    way = LS_WAY_REDUCED;
  else if (backwards && way == LS_WAY_REDUCED)
    way = LS_WAY_COPIED;
  ls_schedule_round (schedule, way, round->repeat);
  for (guint i = 0; i < round->n_moves; i++) {
    const LsMove *move = ls_schedule_move_at (other, round->first_move + i);
    if (backwards)
      ls_schedule_move (schedule, move->to, move->from, last_first (other, move, round->repeat),
                        move->count, -move->drift);
    else
      ls_schedule_move (schedule, move->from, move->to, move->first, move->count, move->drift);
  }
}

void ls_schedule_append (LsSchedule *schedule, const LsSchedule *other, gboolean backwards) {
  LS_REQUIRE (schedule->parts == other->parts, "%u parts after %u", other->parts, schedule->parts);
  for (guint s = 0; s < other->segments->len; s++) {
    const LsSegment *segment =
        ls_schedule_segment_at (other, backwards ? other->segments->len - 1 - s : s);
    LsSegment *copy = ls_schedule_segment (schedule, segment->launches);
    copy->together = segment->together;
    copy->chunked = segment->chunked;
    for (guint r = 0; r < segment->n_rounds; r++)
      append_round (schedule, other,
                    ls_schedule_round_at (other, segment->first_round +
                                                     (backwards ? segment->n_rounds - 1 - r : r)),
                    backwards);
  }
}

void ls_schedule_append_rounds (LsSchedule *schedule, const LsSchedule *other) {
  LS_REQUIRE (other->segments->len == 1, "%u segments", other->segments->len);
  for (guint r = 0; r < other->rounds->len; r++)
    append_round (schedule, other, ls_schedule_round_at (other, r), FALSE);
}

void ls_schedule_append_joined (LsSchedule *schedule, const LsSchedule *other) {
  LS_REQUIRE (other->segments->len == 1, "%u segments", other->segments->len);
  ls_schedule_append (schedule, other, TRUE);
  ls_schedule_append_rounds (schedule, other);
}

/* Where block `at` of `parts` begins, without overflow. */
static gint64 begin_of (const LsSchedule *schedule, guint64 at, gint64 bytes) {
  if (schedule->bounds != NULL)
    return schedule->bounds[at];
  gint64 parts = schedule->parts, whole = bytes / parts, rest = bytes % parts;
  return whole * (gint64) at + rest * (gint64) at / parts;
}

gint64 ls_schedule_bytes (const LsSchedule *schedule, gint64 first, guint count, gint64 bytes) {
  gint64 parts = schedule->parts;
  guint64 at = (guint64) ((first % parts + parts) % parts), end = at + count;
  if (end <= schedule->parts)
    return begin_of (schedule, end, bytes) - begin_of (schedule, at, bytes);
  return begin_of (schedule, schedule->parts, bytes) - begin_of (schedule, at, bytes) +
         begin_of (schedule, end - schedule->parts, bytes);
}

double ls_schedule_weight (const LsSchedule *schedule, const LsMove *move) {
  if (schedule->bounds == NULL)
    return move->count;
  return (double) ls_schedule_bytes (schedule, move->first, move->count, 0);
}

double ls_schedule_whole (const LsSchedule *schedule) {
  if (schedule->bounds == NULL)
    return schedule->parts;
  return (double) MAX (1, schedule->bounds[schedule->parts]);
}
