/* What it takes to restore a sharded checkpoint on another number of ranks.
 *
 * Model:      a flat buffer of `bytes` is cut into equal contiguous shards, rank by rank, by `from` ranks
 *             when it was written and by `to` ranks when it is read. Rank r of the new world reads
 *             [r, r + 1) x bytes / to. What it holds already stays (it may come from local storage); the
 *             rest moves over the network. With `relabel` the new ranks sit where they hold most: each, in
 *             order, takes the old rank whose shard overlaps its own most and that no other has taken;
 *             else rank r sits where rank r sat.
 *             Cuts are at floor (r x bytes / n).
 * Cost:       O(from + to).
 * Pure.
 */
#pragma once

#include <glib.h>

typedef struct {
  gint64 stays_bytes;     /* over all ranks */
  gint64 moves_bytes;     /* the rest; their sum is `bytes` */
  gint64 most_read_bytes; /* by one rank */
  gint64 most_moved_bytes;
  guint most_sources; /* shards that one rank reads from */
} LsReshard;

LsReshard ls_reshard (gint64 bytes, guint from, guint to, gboolean relabel);

/* The states of one model-parallel part when the ZeRO stage changes too: parameters are cut with stage 3,
 * the optimizer's states with stage 1 and above; what is not cut, every rank holds and needs whole.
 * `stays_bytes` is what ranks hold already of what they need, by rank number; stays + moves is what
 * all new ranks need. */
LsReshard ls_reshard_stage (gint64 parameters_bytes, gint64 optimizer_bytes, guint from,
                            int from_stage, guint to, int to_stage);
