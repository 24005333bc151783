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
} LsPhase;

typedef struct {
  guint32 n_phases;
  const LsPhase *phases;
  gint64
      sm_held; /* fraction of each member's SMs held from its arrival to the end (usage fixed point) */
  gint64
      beside_compute; /* factor on the rate when all members compute (usage fixed point; LS_USAGE_ONE: none) */
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
