/* Traffic jobs: ranks that only communicate, again and again (`model: {kind: traffic, ...}`).
 *
 * Model:      every GPU of the placement has a rank. Ranks form groups of equal size; in each step every
 *             group runs the operation once, all groups at the same time, and a step ends when all have.
 *             A step is the gap, then the operation. Sizes are those of nccl-tests (net/collective.h).
 *             Messages (send_recv) follow a pattern within each group of g ranks:
 *                 pairs    rank i of the first half sends to i + g/2
 *                 shift    rank i sends to (i + shift) mod g
 *                 random   rank i sends to p(i), p a random permutation of one cycle, drawn per group
 *                 incast   all send to the group's first rank
 *                 outcast  the first rank sends to all others
 *
 * Ownership: plain record.
 */
#pragma once

#include "net/collective.h"

#define LS_TRAFFIC_PATTERNS(X) \
  X (PAIRS, "pairs")           \
  X (SHIFT, "shift")           \
  X (RANDOM, "random")         \
  X (INCAST, "incast")         \
  X (OUTCAST, "outcast")

#define LS_ENUM_TRAFFIC(id, name) LS_TRAFFIC_##id,
typedef enum { LS_TRAFFIC_PATTERNS (LS_ENUM_TRAFFIC) LS_N_TRAFFIC_PATTERNS } LsTrafficPattern;

/* How groups are dealt: neighbours first, or rank r to group r mod groups. */
typedef struct {
  LsCollectiveOp operation; /* a group operation, send_recv or a copy */
  LsAlgorithm algorithm;
  gint64 bytes;
  guint group_size, groups; /* group_size x groups = ranks; copies: 1 x ranks */
  gboolean interleaved;
  LsTrafficPattern pattern; /* of send_recv */
  guint shift;
  gint64 gap_ps;
  guint64 seed; /* of random patterns, the job's own */
} LsTraffic;

const char *ls_traffic_pattern_name (LsTrafficPattern pattern);
/* Words for operations that a traffic job may run, ended by NULL. */
const char *const *ls_traffic_operations (void);
