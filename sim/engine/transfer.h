/* Templates of transfers: what sim/net tells the engine about a collective, a message or a copy.
 *
 * Model:      a transfer is a list of phases, run one after another. A phase first waits latency_ps,
 *             loading nothing, then moves work_bytes (bytes of its largest flow) at a max-min fair
 *             rate: progress in bytes of that flow, using usage[i] x progress of resource[i].
 * Invariants: a resource occurs once per phase; usages > 0.
 * Ownership: templates belong to the expander and live as long as the engine.
 */
#pragma once

#include "engine/fixed.h"

typedef struct {
  guint32 resource;
  gint64 usage; /* LS_USAGE_ONE = one byte of the resource per byte of progress */
} LsUsage;

typedef struct {
  gint64 latency_ps;
  gint64 work_bytes;
  gint64 rate_cap; /* LS_RATE fixed point; 0: only the resources limit it */
  guint32 n_usages;
  const LsUsage *usages;
  /* Of a transfer that stands for several alike (ls_engine_add_folded_group()): `usages` are sums over all
   * of them, and these the usages of one, which decide how fast it is alone. NULL: the same. */
  guint32 n_alone;
  const LsUsage *alone;
} LsPhase;

/* One message of the message model. */
typedef struct {
  guint32 to; /* position in the group */
  gint64 bytes;
} LsRoundMessage;

/* A collective as single messages, in rounds: what the message model runs in place of phases. Positions
 * count the members of the group from 0.
 *
 * Model:      `launch_ps` after the last member has come, round 0 begins. A member sends what it has to
 *             send in round r when all that it receives in the rounds before has arrived and all that it
 *             sent in the rounds before has ended; the messages that one member sends in one round start
 *             together. A message waits the latency of its path, loading nothing, and then moves its bytes
 *             over the path's resources at a max-min fair rate. A member is done when it has sent and
 *             received all of its own.
 * Invariants: functions are pure; every message that is sent in round r is counted by its receiver in
 *             round r.
 */
typedef struct {
  guint32 n_rounds;
  gint64 launch_ps;
  /* The k-th message (k = 0, 1, ...) that `from` sends in `round`; FALSE: there is none. */
  gboolean (*send) (gconstpointer self, guint32 from, guint32 round, guint32 k,
                    LsRoundMessage *message);
  /* How many messages `to` receives in `round`. */
  guint32 (*receives) (gconstpointer self, guint32 to, guint32 round);
  /* The path of a message of `bytes` in `round`: latency, cap and usages per byte (`work_bytes` means
   * nothing). What it points to lives as long as the table. */
  void (*path) (gconstpointer self, guint32 from, guint32 to, guint32 round, gint64 bytes,
                LsPhase *path);
  gconstpointer self;
} LsRoundTable;

typedef struct {
  guint32 n_phases;
  const LsPhase *phases;
  const LsRoundTable *rounds; /* NULL: the fluid model, by phases */
  /* Fraction of each member's SMs held from its arrival to the end (usage fixed point) */
  gint64 sm_held;
  /* Factor on the rate when all members compute (usage fixed point; LS_USAGE_ONE: none) */
  gint64 beside_compute;
  gint64 message_bytes;  /* size as the caller counts it, for the trace */
  gint64 wire_bytes;     /* bytes that one member sends, mean over members */
  const char *algorithm; /* static strings for the trace; NULL: none */
  const char *protocol;
} LsTransfer;

/* The engine asks once per (group, descriptor), (from, to, descriptor) or (rank, descriptor) and keeps the pointer. */
typedef struct {
  const LsTransfer *(*collective) (gpointer self, guint group, guint descriptor);
  const LsTransfer *(*message) (gpointer self, guint rank_from, guint rank_to, guint descriptor);
  const LsTransfer *(*copy) (gpointer self, guint rank, guint descriptor);
} LsExpander;
