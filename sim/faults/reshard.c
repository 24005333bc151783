/* Overlaps of two cuts of a flat buffer. */
#include "faults/reshard.h"

#include "base/assert.h"
#include "engine/fixed.h"

static gint64 cut (gint64 bytes, guint rank, guint n) {
  return (gint64) ((LsInt128) bytes * rank / n);
}

/* What the new rank takes from the old ranks' shards. */
typedef struct {
  gint64 low, high;
  guint first;   /* old shard that reaches into it first */
  guint sources; /* how many do */
} Need;

static gint64 overlap (gint64 bytes, guint old, guint from, const Need *need) {
  gint64 shared =
      MIN (need->high, cut (bytes, old + 1, from)) - MAX (need->low, cut (bytes, old, from));
  return MAX (shared, 0);
}

/* Where the new rank sits, as the number of an old one; `from` or more: on a rank without a shard. */
static guint place (gint64 bytes, guint from, guint rank, const Need *need, guint8 *taken,
                    gboolean relabel) {
  gint64 most = 0;
  guint best = from;

  if (!relabel)
    return rank;
  for (guint old = need->first; old < need->first + need->sources; old++) {
    gint64 shared = taken[old] ? 0 : overlap (bytes, old, from, need);
    if (shared > most) {
      most = shared;
      best = old;
    }
  }
  if (best < from)
    taken[best] = 1;
  return best;
}

LsReshard ls_reshard (gint64 bytes, guint from, guint to, gboolean relabel) {
  LsReshard result = {0};
  guint first = 0;

  LS_REQUIRE (bytes >= 0 && from > 0 && to > 0, "reshard from %u to %u ranks", from, to);
  g_autofree guint8 *taken = g_new0 (guint8, from);
  for (guint rank = 0; rank < to; rank++) {
    Need need = {.low = cut (bytes, rank, to), .high = cut (bytes, rank + 1, to)};
    while (first + 1 < from && cut (bytes, first + 1, from) <= need.low)
      first++;
    need.first = first;
    while (first + need.sources < from && cut (bytes, first + need.sources, from) < need.high)
      need.sources++;
    guint seat = place (bytes, from, rank, &need, taken, relabel);
    gint64 own = seat < from ? overlap (bytes, seat, from, &need) : 0;
    result.stays_bytes += own;
    result.most_read_bytes = MAX (result.most_read_bytes, need.high - need.low);
    result.most_moved_bytes = MAX (result.most_moved_bytes, need.high - need.low - own);
    result.most_sources = MAX (result.most_sources, need.sources);
  }
  result.moves_bytes = bytes - result.stays_bytes;
  return result;
}

/* One flat buffer, cut or whole before and after. */
static void add_kind (LsReshard *sum, gint64 bytes, guint from, gboolean from_cut, guint to,
                      gboolean to_cut) {
  LsReshard kind = {0};

  if (from_cut && to_cut) {
    kind = ls_reshard (bytes, from, to, FALSE);
  } else {
    for (guint rank = 0; rank < to; rank++) {
      gint64 needs = to_cut ? cut (bytes, rank + 1, to) - cut (bytes, rank, to) : bytes;
      gint64 has = rank >= from ? 0
                   : from_cut   ? cut (bytes, rank + 1, from) - cut (bytes, rank, from)
                                : bytes;
      gint64 stays =
          MIN (needs, has); /* at most one of the two is cut: the smaller lies in the other */
      kind.stays_bytes += stays;
      kind.moves_bytes += needs - stays;
      kind.most_read_bytes = MAX (kind.most_read_bytes, needs);
      kind.most_moved_bytes = MAX (kind.most_moved_bytes, needs - stays);
    }
    kind.most_sources = from_cut ? from : 1;
  }
  sum->stays_bytes += kind.stays_bytes;
  sum->moves_bytes += kind.moves_bytes;
  sum->most_read_bytes += kind.most_read_bytes;
  sum->most_moved_bytes += kind.most_moved_bytes;
  sum->most_sources = MAX (sum->most_sources, kind.most_sources);
}

LsReshard ls_reshard_stage (gint64 parameters_bytes, gint64 optimizer_bytes, guint from,
                            int from_stage, guint to, int to_stage) {
  LsReshard sum = {0};

  add_kind (&sum, parameters_bytes, from, from_stage >= 3, to, to_stage >= 3);
  add_kind (&sum, optimizer_bytes, from, from_stage >= 1, to, to_stage >= 1);
  return sum;
}
