/* The round table of collectives: who sends what to whom, round by round. One description serves both
 * models: the fluid one loads the links of all moves of a round at once (phases.h), the message one
 * runs every move by itself (messages.h).
 *
 * Model:      the N bytes of a descriptor are cut into `parts` blocks; a move carries a cyclic range of
 *             them from one member to another. A round is a set of moves that begin together; `repeat`
 *             equal rounds in a row stand once, each move's range then drifts by `drift` blocks per
 *             repetition. Rounds form segments. In a segment that runs TOGETHER rounds are stages of a
 *             pipeline (or a window of messages in flight): they overlap.
 * Invariants: members are positions of the group's shape (group.h); from != to; in a repeated round
 *             every sender's first move leads along the way that data takes.
 * Cost:       O(distinct moves). Ownership: a schedule owns its arrays; `bounds` is borrowed.
 */
#pragma once

#include <glib.h>

/* What a move crosses. id, summary. */
#define LS_WAYS(X)                                                                               \
  X (PATH, "the path between two members")                                                       \
  X (CHANNELS, "to the neighbour, spread over channels: all links of a mesh, all adapters that " \
               "the members of both nodes own")                                                  \
  X (REDUCED, "the switches of a node read it from all members and reduce; `to` receives it")    \
  X (COPIED, "`from` sends it once, the switches of the node copy it to all members")            \
  X (CREDIT, "nothing and at once: a receiver is ready, so that trees go round by round")

#define LS_ENUM_WAY(id, summary) LS_WAY_##id,
typedef enum { LS_WAYS (LS_ENUM_WAY) LS_N_WAYS } LsWay;

typedef struct {
  guint32 from, to;
  guint32 first, count; /* blocks */
  gint32 drift;         /* of `first` per repetition */
} LsMove;

typedef struct {
  LsWay way;
  guint repeat;
  guint first_move, n_moves;
} LsRound;

typedef struct {
  guint first_round, n_rounds;
  gboolean launches; /* begins a kernel: launch and base latency come first */
  gboolean together; /* its rounds overlap */
  gboolean chunked;  /* together as a pipeline of chunks; else all in flight at once */
} LsSegment;

typedef struct {
  guint parts;
  const gint64 *bounds; /* block b is bytes [bounds[b], bounds[b + 1]); NULL: equal parts */
  GArray *segments, *rounds, *moves;
} LsSchedule;

LsSchedule *ls_schedule_new (guint parts);
void ls_schedule_free (LsSchedule *schedule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsSchedule, ls_schedule_free)

/* Writing: a segment, its rounds, their moves, in this order. */
LsSegment *ls_schedule_segment (LsSchedule *schedule, gboolean launches);
/* A segment of overlapping rounds. */
void ls_schedule_together (LsSchedule *schedule, gboolean chunked);
void ls_schedule_round (LsSchedule *schedule, LsWay way, guint repeat);
void ls_schedule_move (LsSchedule *schedule, guint from, guint to, guint first, guint count,
                       gint drift);
/* Appends `other` as it is, or backwards in time: senders receive, the last round comes first, copies
 * become reductions. A reduce-scatter is an all-gather backwards, a reduce a broadcast. */
void ls_schedule_append (LsSchedule *schedule, const LsSchedule *other, gboolean backwards);
/* Appends the rounds of the only segment of `other` to the last segment. */
void ls_schedule_append_rounds (LsSchedule *schedule, const LsSchedule *other);
/* Appends the only segment of `other` backwards and then as it is, as one segment. */
void ls_schedule_append_joined (LsSchedule *schedule, const LsSchedule *other);

#define ls_schedule_segment_at(schedule, i) (&g_array_index ((schedule)->segments, LsSegment, i))
#define ls_schedule_round_at(schedule, i) (&g_array_index ((schedule)->rounds, LsRound, i))
#define ls_schedule_move_at(schedule, i) (&g_array_index ((schedule)->moves, LsMove, i))

/* Bytes of a range of blocks of `bytes`; with bounds `bytes` means nothing. */
gint64 ls_schedule_bytes (const LsSchedule *schedule, gint64 first, guint count, gint64 bytes);
/* What a move carries, as a whole number: blocks, with bounds bytes; and all of N in that unit. */
double ls_schedule_weight (const LsSchedule *schedule, const LsMove *move);
double ls_schedule_whole (const LsSchedule *schedule);

/* ceil (log2 n), n >= 1. */
guint ls_log2_ceil (guint n);
