/* Round tables for tests: lists of messages, and patterns of collectives written from their definitions.
 *
 * A message from member a to member b waits toy->latency_ps (plus what toy->slower says) and loads the
 * resources toy->usages[a * n + b]: by default a's up and b's down link of the bed.
 */
#pragma once

#include "bed.h"

typedef struct {
  guint32 from, to, round;
  gint64 bytes;
} ToyMessage;

typedef struct {
  guint n, n_rounds;
  gint64 latency_ps;
  const gint64 *latencies; /* by from * n + to; NULL: latency_ps for all */
  GArray *messages;        /* ToyMessage */
  guint32 *n_receives;     /* by to * n_rounds + round */
  guint32 *first;          /* by from * n_rounds + round: index in sorted */
  ToyMessage *sorted;      /* by from, round, order of adding */
  LsUsage (*usages)[4];    /* by from * n + to */
  guint8 *n_usages;
  LsRoundTable table;
  LsTransfer transfer;
} Toy;

static gboolean toy_send (gconstpointer self, guint32 from, guint32 round, guint32 k,
                          LsRoundMessage *message) {
  const Toy *toy = self;
  guint32 index = from * toy->n_rounds + round;
  if (toy->first[index] + k >= toy->first[index + 1])
    return FALSE;
  const ToyMessage *wanted = &toy->sorted[toy->first[index] + k];
  *message = (LsRoundMessage){wanted->to, wanted->bytes};
  return TRUE;
}

static guint32 toy_receives (gconstpointer self, guint32 to, guint32 round) {
  const Toy *toy = self;
  return toy->n_receives[to * toy->n_rounds + round];
}

static void toy_path (gconstpointer self, guint32 from, guint32 to, guint32 round, gint64 bytes,
                      LsPhase *path) {
  const Toy *toy = self;
  guint32 pair = from * toy->n + to;
  (void) round, (void) bytes;
  *path = (LsPhase){.latency_ps = toy->latencies ? toy->latencies[pair] : toy->latency_ps,
                    .n_usages = toy->n_usages[pair],
                    .usages = toy->usages[pair]};
}

static inline Toy *toy_new (guint n, gint64 latency_ps) {
  Toy *toy = g_new0 (Toy, 1);
  toy->n = n;
  toy->latency_ps = latency_ps;
  toy->messages = g_array_new (FALSE, TRUE, sizeof (ToyMessage));
  toy->usages = g_malloc0_n ((gsize) n * n, sizeof *toy->usages);
  toy->n_usages = g_new0 (guint8, (gsize) n * n);
  return toy;
}

static inline void toy_free (Toy *toy) {
  if (!toy)
    return;
  g_array_unref (toy->messages);
  g_free (toy->n_receives);
  g_free (toy->first);
  g_free (toy->sorted);
  g_free (toy->usages);
  g_free (toy->n_usages);
  g_free (toy);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Toy, toy_free)

static inline void toy_add (Toy *toy, guint from, guint to, guint round, gint64 bytes) {
  ToyMessage message = {from, to, round, bytes};
  g_array_append_val (toy->messages, message);
  toy->n_rounds = MAX (toy->n_rounds, round + 1);
}

static inline void toy_use (Toy *toy, guint from, guint to, guint resource, double usage) {
  guint pair = from * toy->n + to;
  toy->usages[pair][toy->n_usages[pair]++] = (LsUsage){resource, ls_usage_from_double (usage)};
}

/* Sorts what was added; the table may be used then. */
static inline const LsTransfer *toy_finish (Toy *toy) {
  guint cells = toy->n * toy->n_rounds, next = 0;
  toy->n_receives = g_new0 (guint32, MAX (cells, 1u));
  toy->first = g_new0 (guint32, cells + 1);
  toy->sorted = g_new0 (ToyMessage, MAX (toy->messages->len, 1u));
  for (guint from = 0; from < toy->n; from++)
    for (guint round = 0; round < toy->n_rounds; round++) {
      toy->first[from * toy->n_rounds + round] = next;
      for (guint i = 0; i < toy->messages->len; i++) {
        const ToyMessage *message = &g_array_index (toy->messages, ToyMessage, i);
        if (message->from != from || message->round != round)
          continue;
        toy->sorted[next++] = *message;
        toy->n_receives[message->to * toy->n_rounds + round]++;
      }
    }
  toy->first[cells] = next;
  toy->table = (LsRoundTable){.n_rounds = toy->n_rounds,
                              .send = toy_send,
                              .receives = toy_receives,
                              .path = toy_path,
                              .self = toy};
  toy->transfer = (LsTransfer){.rounds = &toy->table, .beside_compute = LS_USAGE_ONE};
  return &toy->transfer;
}

/* Every member reaches every other over its own up and the other's down link: one ideal switch. */
static inline void toy_switch (Toy *toy, const Bed *bed) {
  for (guint a = 0; a < toy->n; a++)
    for (guint b = 0; b < toy->n; b++)
      if (a != b) {
        toy_use (toy, a, b, bed->up[a], 1);
        toy_use (toy, a, b, bed->down[b], 1);
      }
}

/* All-reduce on a ring: 2 (p - 1) rounds in which each sends one share to the next (Patarasuk & Yuan,
 * "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). */
static inline void toy_ring (Toy *toy, gint64 share) {
  for (guint round = 0; round < 2 * (toy->n - 1); round++)
    for (guint i = 0; i < toy->n; i++)
      toy_add (toy, i, (i + 1) % toy->n, round, share);
}

/* All-gather or all-to-all at once: each sends a share to every other in one round. */
static inline void toy_direct (Toy *toy, gint64 share) {
  for (guint i = 0; i < toy->n; i++)
    for (guint r = 1; r < toy->n; r++)
      toy_add (toy, i, (i + r) % toy->n, 0, share);
}

/* All-to-all in p - 1 rounds, to the r-th next in round r (Thakur, Rabenseifner & Gropp, "Optimization
 * of collective communication operations in MPICH", 2005). */
static inline void toy_pairwise (Toy *toy, gint64 share) {
  for (guint r = 1; r < toy->n; r++)
    for (guint i = 0; i < toy->n; i++)
      toy_add (toy, i, (i + r) % toy->n, r - 1, share);
}

/* Broadcast from 0 by a binomial tree: in round k those below 2^k send to the one 2^k above (ibid.). */
static inline void toy_binomial (Toy *toy, gint64 bytes) {
  for (guint round = 0, d = 1; d < toy->n; round++, d *= 2)
    for (guint i = 0; i < d && i + d < toy->n; i++)
      toy_add (toy, i, i + d, round, bytes);
}

/* All-gather in ceil (log2 p) rounds: in round k each sends min (2^k, p - 2^k) shares to the one 2^k
 * below (Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
 * systems", 1997). */
static inline void toy_bruck (Toy *toy, gint64 share) {
  for (guint round = 0, d = 1; d < toy->n; round++, d *= 2)
    for (guint i = 0; i < toy->n; i++)
      toy_add (toy, i, (i + toy->n - d) % toy->n, round, share * MIN (d, toy->n - d));
}
